"""The record of a contact with a service, written where somebody wants one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from maskbench.errors import UsageError
from maskbench.models.names import KINDS
from maskbench.types import Model

if TYPE_CHECKING:
    from maskbench.models.chat.client import ChatModel
    from maskbench.models.chat.contact import Contact


def endpoints(models: Iterable[Model]) -> Iterator[ChatModel]:
    """Those of the models that our client asks at an endpoint."""
    for model in models:
        within: Any = getattr(model, "within", model)  # a subject that is held to what it was
        if hasattr(within, "witness") and within.name.partition("/")[0] not in KINDS:
            yield within


def check_record(file: Path, names: Iterable[str]) -> None:
    """Raise UsageError where no record can be written: the file is there, or none of these models is at an endpoint."""
    if file.exists():
        raise UsageError(f"--record {file}: it is there. Give a new name, so that no earlier record is lost.")
    if not file.parent.is_dir():
        raise UsageError(f"--record {file}: there is no folder {file.parent}. Make it, or give another one.")
    if all(name.partition("/")[0] in KINDS for name in names):
        raise UsageError("--record is for a model at an endpoint. Here no service answers: leave --record out.")


def write_record(file: Path, contacts: Sequence[Contact]) -> None:
    """Write the records of contacts, one for each model at an endpoint, as a JSON list."""
    content = msgspec.json.format(msgspec.json.encode(contacts), indent=1) + b"\n"
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(f"--record {file} cannot be written ({error.strerror}). Give another file.") from error
