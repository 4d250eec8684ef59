"""The first answers of each model, looked at as they come, and what a service did, recorded on demand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from maskbench.errors import UsageError
from maskbench.models.names import KINDS
from maskbench.types import Failure, Model, Reply

if TYPE_CHECKING:
    from maskbench.models.chat.client import ChatModel
    from maskbench.models.chat.contact import Contact

FIRST = 10  # answers of a model that are looked at
_NAMED = 3  # unknown ends that are named
# Failures of what a service did answer; others passed, or have an error of their own.
_ANSWERED = frozenset(
    ("empty", "unclosed_reasoning", "unknown_end", "truncated", "filtered", "malformed_response", "cut_prompt")
)


def endpoints(models: Iterable[Model]) -> Iterator[ChatModel]:
    """Those of the models that our client asks at an endpoint."""
    for model in models:
        within: Any = getattr(model, "within", model)  # a subject that is held to what it was
        if hasattr(within, "witness") and within.name.partition("/")[0] not in KINDS:
            yield within


class FirstContact:
    """The first answers of each model, looked at as they arrive: most of them have to end as whole ones do.

    Of a service that has no record all else is looked at, too, and `tell` is told of it. A server at an http address
    under a name of the user's own is no service. A model that answered in an earlier session is looked at no more:
    whoever goes on was told.
    """

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._answers: dict[int, list[Reply | Failure] | None] = {}  # by model; None: it is not looked at, or no longer
        self._unmet: set[int] = set()  # models whose service has no record
        self._witnessed: set[int] = set()  # those of them that are seen for this alone

    def begin(self, model: Model) -> None:
        """Say before a model's first call that its service was not met, where that is so."""
        if id(model) in self._answers:
            return
        learned = getattr(getattr(model, "within", model), "learned", None)
        self._answers[id(model)] = None if getattr(learned, "answered", False) else []
        for chat in filter(_is_unmet, endpoints([model])):  # one or none
            from maskbench.models.chat.contact import Witness

            self._unmet.add(id(model))
            if chat.witness is None:
                chat.witness = Witness()
                self._witnessed.add(id(model))
            self._tell(
                f"{chat.endpoint.service} has not been met by this version; the first ten answers are looked at "
                "closely (see docs/met.md)."
            )

    def heard(self, model: Model, answers: Iterable[Reply | Failure | None]) -> str | None:
        """Take in answers; says why nothing further should be asked, once most of the first ten are none."""
        looked_at = self._answers.get(id(model))
        if looked_at is None:
            return None
        looked_at += [each for each in answers if isinstance(each, Reply) or (each and each.cause in _ANSWERED)]
        return self.concluded(model) if len(looked_at) >= FIRST else None

    def concluded(self, model: Model) -> str | None:
        """Look at the answers that there are, and at no further ones; says why to stop where most are none."""
        looked_at = self._answers.get(id(model))
        if not looked_at:
            return None
        self._answers[id(model)] = None
        why = _ended_oddly(model.name, looked_at)
        return self._of_unmet(model, looked_at, why) if id(model) in self._unmet else why

    def _of_unmet(self, model: Model, looked_at: Sequence[Reply | Failure], why: str | None) -> str | None:
        """Say what was odd; says why to stop where most have no text, unless there is a reason already."""
        (chat,) = endpoints([model])
        unread = chat.witness.seen["unread"] if chat.witness else Counter[str]()
        if id(model) in self._witnessed:
            chat.witness = None
        odd = "; ".join(_odd(looked_at, unread)) or "nothing was odd"
        self._tell(line := f"The first {len(looked_at)} answers of {chat.name}: {odd}.")
        if why or 2 * sum(isinstance(each, Failure) for each in looked_at) <= len(looked_at):
            return why
        by_inspect = "" if chat.endpoint.local else f" Or ask it by way of Inspect: inspect/{chat.name}."
        return (
            f"{line} It is stopped before more is spent: `maskbench doctor {chat.name}` says what to type.{by_inspect}"
        )


def _is_unmet(model: ChatModel) -> bool:
    from maskbench.models.chat.contact import contacts
    from maskbench.models.chat.services import SERVICES

    place = model.endpoint
    is_service = place.service in SERVICES or place.base_url.startswith("https:")
    return is_service and not model.learned.answered and all(each.service != place.service for each in contacts())


def _ended_oddly(name: str, answers: Sequence[Reply | Failure]) -> str | None:
    """Why to stop where most of the answers ended in a way that is not known: the words, and what to type."""
    ends = Counter(each.detail for each in answers if isinstance(each, Failure) and each.cause == "unknown_end")
    if 2 * ends.total() <= len(answers):
        return None
    told = "; ".join(detail for detail, _ in ends.most_common(_NAMED))
    return (
        f"{ends.total()} of the first {len(answers)} answers of {name} are failures: {told}. It is stopped before more "
        "is spent."
    )


def _odd(answers: Sequence[Reply | Failure], unread: Counter[str]) -> Iterator[str]:
    """What is odd about answers, each in a few words."""
    causes = Counter(each.cause for each in answers if isinstance(each, Failure))
    if ends := causes.pop("unknown_end", 0):
        yield f"{ends} ended with a word that is not known"
    if causes:
        named = ", ".join(f"{cause} {count}" for cause, count in causes.most_common())
        yield f"{causes.total()} gave no text ({named})"
    if unread:
        yield f"text may stand in a field that is not read ({', '.join(sorted(unread))})"
    replies = [each for each in answers if isinstance(each, Reply)]
    if replies and all(each.truncated for each in replies):
        yield "every text was cut at its limit"
    if replies and not any(each.usage.input for each in replies):
        yield "no tokens were counted"


def check_record(file: Path, names: Iterable[str]) -> None:
    """Raise UsageError where no record can be written: the file is there, or none of these models is at an endpoint."""
    if file.exists():
        raise UsageError(f"--record {file}: it is there. Give a new name, so that no earlier record is lost.")
    if not file.parent.is_dir():
        raise UsageError(f"--record {file}: there is no folder {file.parent}. Make it, or give another one.")
    if all(name.partition("/")[0] in KINDS for name in names):
        raise UsageError("--record is for a model at an endpoint. Here no service answers: leave --record out.")


def see(models: Iterable[Model]) -> None:
    """Have what endpoints do seen from now on."""
    from maskbench.models.chat.contact import Witness

    for chat in endpoints(models):
        chat.witness = Witness()


def recorded(models: Iterable[Model]) -> list[Contact]:
    """The records of what was seen, of those models that answered anything."""
    contacts = (chat.contact() for chat in endpoints(models))
    return [contact for contact in contacts if contact and contact.statuses]


def write_record(file: Path, contacts: Sequence[Contact]) -> bool:
    """Write records of contacts as a JSON list; returns whether there were any, for without them there is no file."""
    if not contacts:
        return False
    content = msgspec.json.format(msgspec.json.encode(contacts), indent=1) + b"\n"
    try:
        file.write_bytes(content)
    except OSError as error:
        raise UsageError(f"--record {file} cannot be written ({error.strerror}). Give another file.") from error
    return True
