"""The first answers of each model at an endpoint, looked at as they come: most of them have to be some."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from maskbench.types import Failure, Model, Reply

FIRST = 10  # answers of a model that are looked at
_NAMED = 3  # failures that are named
# Failures of what a service did answer; others passed, or have an error of their own.
_ANSWERED = frozenset(
    ("empty", "unclosed_reasoning", "unknown_end", "truncated", "filtered", "malformed_response", "cut_prompt")
)


class FirstContact:
    """The first answers of each model, looked at as they arrive; `tell` is told what is odd about them.

    A model that answered in an earlier session is looked at no more: whoever goes on was told.
    """

    def __init__(self, tell: Callable[[str], object]) -> None:
        self._tell = tell
        self._answers: dict[int, list[Reply | Failure] | None] = {}  # by model; None: it is not looked at, or no longer

    def begin(self, model: Model) -> None:
        """Take up a model before its first call, if it is at an endpoint and has not answered yet."""
        if id(model) not in self._answers:
            learned = getattr(getattr(model, "within", model), "learned", None)  # a subject may be held to what it was
            self._answers[id(model)] = [] if learned and not learned.answered else None

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
        odd = "; ".join(_odd(looked_at))
        line = f"The first {len(looked_at)} answers of {model.name}: {odd}."
        if 2 * sum(isinstance(each, Failure) for each in looked_at) > len(looked_at):
            return f"{line} It is stopped before more is spent: `maskbench doctor {model.name}` says what to type."
        if odd:
            self._tell(line)
        return None


def _odd(answers: Sequence[Reply | Failure]) -> Iterator[str]:
    """What is odd about answers, each in a few words."""
    failures = [each for each in answers if isinstance(each, Failure)]
    if failures:
        details = list(dict.fromkeys(each.detail for each in failures))
        yield f"{len(failures)} are failures ({'; '.join(details[:_NAMED])})"
    replies = [each for each in answers if isinstance(each, Reply)]
    if replies and all(each.truncated for each in replies):
        yield "every text was cut at its limit"
    if replies and not any(each.usage.input for each in replies):
        yield "no tokens were counted"
