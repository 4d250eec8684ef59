"""The questions on statements as a flow: every stored statement goes to the judge once more for each question.

Answers are kept like verdicts, under a set of their own for each judge, and are no verdict set: nothing is scored by
them. What has an answer keeps it, and what failed is asked again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct, to_builtins

from maskbench.errors import RunUnreadable
from maskbench.method.asks import VERDICTS
from maskbench.method.construct import BY_CALL as QUESTIONED
from maskbench.method.construct import Question, answer_of, ask_again, form, named, parts_of, prompts_hash, question_ask
from maskbench.method.controls.control import reasoning
from maskbench.runs.fitting import Misfit, fitted
from maskbench.runs.flow import Gate, JudgeFlow, together
from maskbench.runs.meter import ledger_of
from maskbench.runs.store import Store
from maskbench.runs.watching import Watcher
from maskbench.settings import Settings, verdict_key
from maskbench.types import Ask, Judgement, Kind, Model, Reply, Scenario

FACT = "construct"  # the fact under which a run remembers who was asked what about its statements


class Asked(Struct, forbid_unknown_fields=True):
    """Who was asked these questions about the statements of a run, and by which prompts (a hash for each question)."""

    judge: str
    questions: list[str]
    prompts: dict[str, str]
    maskbench: str


def set_of(judge: str) -> str:
    """The name under which a store keeps a judge's answers: no verdict set is called so."""
    return f"~construct {judge}"


def billed_sets(store: Store) -> list[str]:
    """The names under which a run keeps bills of answers that were asked for on demand."""
    return [name for asked in who_was_asked(store) if ledger_of(store, name := set_of(asked.judge))]


def construct_asks(scenario: Scenario, store: Store, settings: Settings) -> Iterator[Ask]:
    """Every question that the settings want on the stored statements of a scenario and the reasoning before them."""
    statements = [item for item in store.items(VERDICTS, scenario) if item.call == "statement"]
    for item in statements:
        if isinstance(item.reply, Reply):
            yield from _about(scenario, item.run, item.reply.text, reasoning(item), settings)


def _about(scenario: Scenario, run: int, text: str, thought: str | None, settings: Settings) -> Iterator[Ask]:
    for question in named(settings.construct):
        for part in parts_of(question):
            if not part.of_reasoning:
                yield question_ask(part, scenario, text, None, run, settings.judge_style)
            elif thought:
                yield question_ask(part, scenario, text, thought, run, settings.judge_style)


def expected(settings: Settings) -> int:
    """How many answers a scenario may need, at most: those on reasoning are needed where there is some."""
    return settings.statements * sum(len(parts_of(question)) for question in named(settings.construct))


def is_answered(store: Store, settings: Settings) -> bool:
    """Whether every question that the settings want has its answer by their judge."""
    return not settings.construct or all(there for _, there in answers_there(store, settings))


def answers_there(store: Store, settings: Settings) -> Iterator[tuple[Ask, bool]]:
    """Every question that the settings want on the stored statements, and whether its answer is there."""
    name = set_of(settings.judge)
    for scenario, _ in store.scenarios():
        asks = list(construct_asks(scenario, store, settings))
        had = store.judgements(name, scenario) if asks else {}
        for ask in asks:
            is_linked = isinstance(had.get((ask.elicitation, ask.runs[0])), Judgement)
            yield ask, is_linked and any(store.has_verdict(name, key) for key in _keys(ask, settings))


def _keys(ask: Ask, settings: Settings) -> Iterator[bytes]:
    """The keys under which this very request may have its answer."""
    for shared in (True, False):
        yield verdict_key(settings.judge, settings.judge_sampling, form(settings.judge_style).hash, ask, shared=shared)


class ConstructFlow(JudgeFlow):
    """The stored statements on their way to answers."""

    def __init__(
        self, settings: Settings, store: Store, judges: Mapping[Kind, Model], watcher: Watcher, gate: Gate | None = None
    ) -> None:
        """As for JudgeFlow; the judge of options is asked about every statement, a number's too."""
        super().__init__(settings, store, judges, form(settings.judge_style), watcher, gate, set_of(settings.judge))

    async def run(self) -> None:
        """Ask what has no answer yet; raises as JudgeFlow's does."""
        remember(self._store, self._settings)
        await super().run()

    async def _scenario(self, scenario: Scenario) -> None:
        asks = list(construct_asks(scenario, self._store, self._settings))
        spared = getattr(self._watcher, "spared", self._watcher.settled)  # a watcher of one's own may lack it
        for _ in range(expected(self._settings) - len(asks)):  # about what failed, and reasoning that there is not
            spared("judge")
        await together(partial(self._judge, ask) for ask in asks)

    def _is_an_answer(self, ask: Ask, judgement: Judgement) -> bool:
        return answer_of(QUESTIONED[ask.call], judgement.verdict) is not None

    def _again(self, ask: Ask, bad_text: str) -> Ask:
        return ask_again(ask, bad_text)


class InTurn:
    """A flow, and another that is made once the first has come to its end: stopped and run as one."""

    def __init__(self, first: JudgeFlow, then: Callable[[], JudgeFlow]) -> None:
        self._flow, self._then = first, then

    @property
    def stopped(self) -> str | None:
        """Why no further call is started; None while it runs."""
        return self._flow.stopped

    def stop(self, why: str, **how: float) -> None:
        """Stop whichever is under way."""
        self._flow.stop(why, **how)

    async def run(self) -> None:
        """Run the first, then the other; raises what they raise."""
        await self._flow.run()
        self._flow = self._then()
        await self._flow.run()


def remember(store: Store, settings: Settings) -> None:
    """Note who is asked what, with earlier questions to the same judge; who is noted last is shown."""
    from importlib.metadata import version

    known = {asked.judge: asked for asked in who_was_asked(store)}
    before = known.pop(settings.judge, None)
    wanted = {*settings.construct, *(before.questions if before else ())}
    parts = [part for question in named(wanted) for part in parts_of(question)]
    prompts = {**(before.prompts if before else {}), **_hashes(parts, settings)}
    asked = Asked(settings.judge, [question.name for question in named(wanted)], prompts, version("maskbench"))
    store.remember(FACT, [to_builtins(each) for each in (*known.values(), asked)])


def _hashes(parts: Sequence[Question], settings: Settings) -> dict[str, str]:
    return {part.name: prompts_hash(part, settings.judge_style)[:12] for part in parts}


def who_was_asked(store: Store) -> list[Asked]:
    """Who was asked about the statements of a run, the last one last; raises RunUnreadable for what is no such note."""
    try:
        return fitted(store.fact(FACT) or [], list[Asked], FACT)
    except Misfit as error:
        raise RunUnreadable(f"The run's note on --construct is none: {error}. Restore the run's database.") from None
