"""How an option is typed and shown, and those that both commands have."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypedDict

from cyclopts import Group, Parameter

PLACE = Group("The model", sort_key=4)


def option(metavar: str, help: str, *, default: str | None = None, **more: Any) -> Parameter:  # as the parameter's is
    """What is shown of an option; `metavar` is empty for a flag, `default` says in words what is done without it."""
    shown = default if default is not None or metavar else False
    return Parameter(metavar=metavar or None, help=help, show_default=shown, **more)


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
    trust_remote_code: Annotated[bool, option("", "maskbench runs the code that the model brings along.", group=PLACE)]
