"""The options that both commands have."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from cyclopts import Group

from maskbench.doors import flag, option

PLACE = Group("The model", sort_key=4)


class Where(TypedDict, total=False):
    """How the model is loaded and computed, as far as it was typed."""

    dtype: Annotated[
        Literal["auto", "fp32", "bf16", "fp16"],
        option(
            "NAME",
            "Weights are kept in this type: auto (the checkpoint's own, fp32 on a CPU), fp32, bf16 or fp16.",
            default="auto",
            group=PLACE,
        ),
    ]
    device: Annotated[
        str,
        option(
            "NAME",
            "The model is put on this device: cpu, cuda, cuda:1, or auto, which spreads its layers over all GPUs.",
            default="cuda where there is one",
            group=PLACE,
        ),
    ]
    threads: Annotated[int, option("N", "Torch computes with N threads on a CPU.", default="torch's own", group=PLACE)]
    trust_remote_code: Annotated[bool, flag("maskbench runs the code that the model brings along.", group=PLACE)]
