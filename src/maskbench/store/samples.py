"""The samples of a scenario as rows of a store: replies and the verdicts of some sets, decoded when asked for."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from maskbench.method.asks import VERDICTS
from maskbench.method.control_marks import before_mark
from maskbench.method.placebo import CALL as PLACEBO
from maskbench.method.placebo import ELICITATION
from maskbench.method.reasoning import split_at_lone_closer
from maskbench.method.steps import REPLIES, Slot
from maskbench.plain import is_visible
from maskbench.store.database import damaged
from maskbench.store.fitting import misfit
from maskbench.store.heard import Marks, heard, parted
from maskbench.types import (
    BinaryVerdict,
    Call,
    Failure,
    Item,
    Judgement,
    Kind,
    NumericalVerdict,
    Place,
    Reply,
    Scenario,
    Stage,
    Usage,
    Verdict,
)

# What an outcome hangs on comes first, after the scenario's place; then words and what is known of the call.
REPLY = (
    "r.elicitation, r.run, r.truncated, r.error_cause, r.error_detail, r.text, r.reasoning, r.input_tokens, "
    "r.output_tokens, r.reasoning_tokens, r.model, r.fingerprint, r.sent, r.seconds"
)
VERDICT = "j.elicitation, j.run, v.verdict, v.error_cause, v.error_detail, v.reason, v.confidence, v.model"
_STATE = slice(1, 5)  # of a row: its sample, and what came of it

# The call of each elicitation number; after the last belief there is the placebo.
_CALLS: Mapping[int, Call] = {0: "statement", 1: "direct", 2: "consistency", 3: "consistency", ELICITATION: PLACEBO}
_LAST_BELIEF = 3


def is_neutral(elicitation: int) -> bool:
    """Whether a sample is a neutral one."""
    return 1 <= elicitation <= _LAST_BELIEF


@dataclass(frozen=True, slots=True)
class Samples:
    """The stored samples of a scenario; methods raise RunUnreadable for what maskbench did not write into `path`."""

    scenario: Scenario
    path: Path
    replies: Sequence[Any]
    verdicts: Mapping[str, Sequence[Any]]  # by verdict set
    marks: Marks

    def states(self, verdict_sets: Iterable[str]) -> Hashable:
        """The state of each sample, without its words: the same for scenarios that were answered and judged alike."""
        judged = [tuple([row[_STATE] for row in self.verdicts[name]]) for name in verdict_sets]
        lost = tuple(self.lost()) if self.marks.lone or self.marks.ended else ()
        return tuple([row[_STATE] for row in self.replies]), lost, *judged

    def lost(self) -> Iterator[Place]:
        """The samples of whose replies marks of a chat template leave nothing."""
        for row, reply in self._replies():
            if isinstance(reply, Reply) and isinstance(heard(reply, self.marks.opens), Failure):
                yield row[1], row[2]

    def known(self) -> dict[Slot, Reply | Judgement | Failure]:
        """All of it by its place, replies as a judge is shown them."""
        found: dict[Slot, Reply | Judgement | Failure] = {
            Slot(REPLIES, row[1], row[2]): heard(reply, self.marks.opens) if isinstance(reply, Reply) else reply
            for row, reply in self._replies()
        }
        for name in self.verdicts:
            found |= {Slot(name, *place): given for place, given in self.judgements(name).items()}
        return found

    def judgements(self, verdict_set: str) -> dict[Place, Judgement | Failure]:
        """The verdicts of a set by elicitation and run, whatever was asked."""
        kind = self.scenario.kind
        with decoding(self.path, "a verdict"):
            return {
                (row[1], row[2]): _judgement(row, kind if row[1] <= _LAST_BELIEF else None)
                for row in self.verdicts[verdict_set]
            }

    def judging_models(self, verdict_set: str) -> dict[Place, str | None]:
        """The name that the endpoint resolved for each verdict of a set, if it did."""
        return {(row[1], row[2]): row[8] for row in self.verdicts[verdict_set]}

    def items(self, verdict_set: str = VERDICTS) -> list[Item]:
        """Everything so far that an outcome hangs on, statements first, then beliefs, by run."""
        return self._items(verdict_set, lambda at: at <= _LAST_BELIEF)

    def placebo(self, verdict_set: str) -> Item | None:
        """One more neutral reply, so far as there is one."""
        return next(iter(self._items(verdict_set, lambda at: at > _LAST_BELIEF)), None)

    def statements(self, count: int) -> list[str | None]:
        """What was said under pressure by run, from the first to this many; None for a failure, and for what is not."""
        with decoding(self.path, "a reply"):
            found = {row[2]: self._said(row) for row in self.replies if row[1] == 0}
        return [found.get(run) for run in range(1, count + 1)]

    def shown(self) -> Iterator[tuple[Place, str]]:
        """The text of each reply as a judge is shown it, by its place; none of which marks leave nothing."""
        with decoding(self.path, "a reply"):
            for row in self.replies:
                if (said := self._said(row)) is not None:
                    text = before_mark(said)
                    if text == row[6] or is_visible(text):
                        yield (row[1], row[2]), text

    def stands(self, verdict_set: str) -> Hashable:
        """Which samples have a reply, which a verdict of this set, and what failed, without any words."""
        replies = tuple([(row[1], row[2], row[4]) for row in self.replies])
        return replies, tuple([(row[1], row[2], row[3] is None) for row in self.verdicts[verdict_set]])

    def _said(self, row: Any) -> str | None:
        """The text of a reply, without reasoning, and nothing else of it."""
        if row[4] is not None:  # what made it fail
            return None
        text, reasoning = row[6:8]
        _check_texts(text, reasoning)
        split = split_at_lone_closer(text) if self.marks.opens else None
        return split.text if split else text

    def _items(self, verdict_set: str, wanted: Callable[[int], bool]) -> list[Item]:
        """The samples whose elicitation is wanted."""
        judged = self.judgements(verdict_set)
        with decoding(self.path, "a reply"):
            rows = [row for row in self.replies if wanted(row[1])]
            if strange := {row[1] for row in rows} - _CALLS.keys():
                raise ValueError(f"there is no elicitation {min(strange)!r}")
            return [self._item(row, judged.get((row[1], row[2]))) for row in rows]

    def _item(self, row: Any, judgement: Judgement | Failure | None) -> Item:
        """One sample; a reply of which marks leave nothing, and that nobody has judged all the same, is a failure."""
        reply = self._parted(_reply(row))
        if isinstance(reply, Reply) and judgement is None and isinstance(none := heard(reply, opens=False), Failure):
            reply = none
        return Item(_CALLS[row[1]], row[1], row[2], reply, judgement)

    def _parted(self, reply: Reply | Failure) -> Reply | Failure:
        """The reply with its reasoning apart; its text is whole."""
        return parted(reply, self.marks.opens) if isinstance(reply, Reply) else reply

    def _replies(self) -> Iterator[tuple[Any, Reply | Failure]]:
        with decoding(self.path, "a reply"):
            for row in self.replies:
                yield row, _reply(row)


class decoding:
    """Whatever a row holds that maskbench did not write is a sentence that names the file.

    It is entered for each scenario that is read, and a generator takes longer there.
    """

    __slots__ = ("_path", "_what")

    def __init__(self, path: Path, what: str) -> None:
        """Begin to decode what is in this file."""
        self._path, self._what = path, what

    def __enter__(self) -> None:
        """Nothing to do yet."""

    def __exit__(self, kind: object, error: BaseException | None, at: object) -> None:
        """Raise the sentence for what no row can hold."""
        if isinstance(error, LookupError | TypeError | ValueError | AttributeError | RecursionError):
            raise damaged(self._path, f"{self._what}: {error}") from error


def _reply(row: Any) -> Reply | Failure:
    _, _, _, truncated, cause, detail, text, reasoning, *tokens, model, fingerprint, sent, seconds = row
    if cause is not None:
        return _failure("subject", cause, detail)
    _check_texts(text, reasoning)
    return Reply(text, reasoning, bool(truncated), Usage(*tokens), model, fingerprint, _sent(sent), seconds)


def _check_texts(text: Any, reasoning: Any) -> None:
    if not isinstance(text, str) or not isinstance(reasoning, str | None):
        raise ValueError("its text is none")  # of a file, not of an argument


@lru_cache(maxsize=1024)  # but for a seed, which few endpoints are sent, the replies of a run have the same
def _sent(text: str | None) -> Mapping[str, Any]:
    """The sampling parameters of a reply; nobody changes them."""
    return orjson.loads(text) if text else {}


def _judgement(row: Any, kind: Kind | None) -> Judgement | Failure:
    _, _, _, verdict, cause, detail, reason, confidence, _ = row
    return judgement_of(verdict, reason, confidence, kind) if verdict is not None else _failure("judge", cause, detail)


def judgement_of(verdict: str, reason: Any, confidence: Any, kind: Kind | None = None) -> Judgement:
    """A verdict as it is stored; raises ValueError for what is none of its kind, or of either kind (None)."""
    if not isinstance(reason, str | None) or not isinstance(confidence, float | None):
        raise ValueError(f"its reason is {reason!r}, its probability {confidence!r}")
    return Judgement(_verdict(verdict, kind), reason, confidence)


def _failure(stage: Stage, cause: Any, detail: Any) -> Failure:
    if problem := misfit(failure := Failure(stage, cause, detail), Failure):
        raise ValueError(problem)
    return failure


@lru_cache(maxsize=4096)  # most verdicts of a run are among a handful
def _verdict(text: str, kind: Kind | None) -> Verdict:
    """A verdict of that kind; the control questions of any scenario may have either (None)."""
    fields = orjson.loads(text)
    is_binary = "letter" in fields if kind is None else kind == "binary"
    verdict: Verdict = BinaryVerdict(**fields) if is_binary else NumericalVerdict(**fields)
    if problem := misfit(verdict, type(verdict)):
        raise ValueError(problem)
    return verdict
