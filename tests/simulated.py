"""Simulated models measured without a store: the same asks, verdicts and scoring as in a run, and quicker."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from maskbench.method.asks import subject_asks
from maskbench.method.folds import finished
from maskbench.method.forms import USUAL, ask_about, ask_about_beliefs, load_prompts, verdict_in
from maskbench.method.outcomes import score
from maskbench.method.rules import named
from maskbench.models.sim import SimJudge, SimSubject
from maskbench.results.gain_minus_plain import ReportsReader
from maskbench.results.reader import Readers
from maskbench.results.readers import PlantedReader
from maskbench.results.splits import AskedReader
from maskbench.results.summary import Background, Summary, summarise
from maskbench.settings import Settings
from maskbench.store.fitting import fitted
from maskbench.store.record import About, TakenScenarios
from maskbench.store.verdict_sets import JudgeShown, JudgeUsage, RunUsage, SubjectUsage
from maskbench.types import Ask, Failure, Item, Judgement, Model, Reply, Scenario, Scored
from scored_runs import reader

PROMPTS = load_prompts()


def settings(subject: str = "sim", judge: str = "sim-judge", **options: Any) -> Settings:
    """Settings of a run between simulated models."""
    return Settings.of(subject=subject, judge=judge, numeric_judge=judge, scenarios="made up", **options)


Verdicts = dict[tuple[object, ...], Judgement | Failure]


def measured(
    subject: Model,
    judge: Model,
    scenarios: Iterable[Scenario],
    chosen: Settings,
    known: Verdicts | None = None,
) -> list[Scored]:
    """Every scenario, asked, judged and scored; `known` keeps verdicts, for judges that always say the same."""

    async def run() -> list[Scored]:
        rows = []
        for scenario in scenarios:
            items = finished(scenario, await _items(scenario, chosen, subject, judge, known), chosen)
            assert items is not None
            rows.append(score(scenario, 1.0, items, chosen, named(chosen.design.rules)))
        return rows

    return asyncio.run(run())


def simulated(
    name: str,
    scenarios: Sequence[Scenario],
    *,
    judge: str = "sim-judge",
    seed: int = 0,
    known: Verdicts | None = None,
    **options: Any,
) -> Summary:
    """The summary of a simulated subject under a simulated judge."""
    chosen = settings(name, judge, seed=seed, **options)
    subject = SimSubject(name, seed, chosen.design.beliefs)
    rows = measured(subject, SimJudge(judge, seed), scenarios, chosen, known)
    return summarised(rows, chosen, subject=subject.describe())


def summarised(rows: Iterable[Scored], chosen: Settings, **about: Any) -> Summary:
    """The summary of scored scenarios, with something to stand where a run's record would.

    `about` replaces fields of the background; of `subject`, `judge` and `scenarios` it has what JSON would have.
    """
    rows = list(rows)
    judge = {
        "binary": {"name": chosen.judging.judge},
        "numeric": {"name": chosen.judging.numeric_judge},
        "prompts": {"name": "packaged", "version": "1", "hash": "b" * 64},
    } | about.pop("judge", {})
    taken = {"name": "made up", "taken": "made up", "hash": "a" * 64, "n": len(rows)} | about.pop("scenarios", {})
    background = Background(
        protocol="0123456789ab",
        subject=About(about.pop("subject", {"name": chosen.subject.name})),
        judge=fitted(judge, JudgeShown),
        judges=(chosen.judging.judge, chosen.judging.numeric_judge),
        scenarios=TakenScenarios(measured_hash=taken["hash"], public=None, **taken),
        usage=RunUsage(SubjectUsage(1, 1, 1, 1, at_least=False), JudgeUsage(1, 1, 1, 1), 1.0),
        version="0.0",
    )
    readers = Readers((reader(AskedReader), reader(PlantedReader), reader(ReportsReader)))
    return summarise(rows, chosen, named(chosen.design.rules), replace(background, **about), readers)


async def _items(
    scenario: Scenario, chosen: Settings, subject: Model, judge: Model, known: Verdicts | None
) -> list[Item]:
    items: list[Item] = []
    for ask in subject_asks(scenario, chosen):
        replies = await subject.ask(ask)
        verdicts = await _verdicts(ask, replies, judge, known)
        items += [
            Item(ask.call, ask.elicitation, run, reply, verdict)
            for run, reply, verdict in zip(ask.runs, replies, verdicts, strict=True)
        ]
    return items


async def _verdicts(
    ask: Ask, replies: Sequence[Reply | Failure | None], judge: Model, known: Verdicts | None
) -> list[Judgement | Failure | None]:
    texts = [reply.text if isinstance(reply, Reply) else None for reply in replies]
    if USUAL.is_joint(ask):
        had = [text for text in texts if text is not None]
        joint = await _verdict(ask, ask.runs[-1], had, judge, known) if len(had) > 1 else None
        return [*[None] * (len(replies) - 1), joint]
    return [
        None if text is None else await _verdict(ask, run, [text], judge, known)
        for run, text in zip(ask.runs, texts, strict=True)
    ]


async def _verdict(
    ask: Ask, run: int, texts: Sequence[str], judge: Model, known: Verdicts | None
) -> Judgement | Failure:
    key = (ask.scenario.key, ask.elicitation, *texts)
    if known is not None and key in known:
        return known[key]
    if USUAL.is_joint(ask):
        about = replace(ask_about_beliefs(ask.scenario, texts, PROMPTS), runs=(run,))
    else:
        about = ask_about(ask.scenario, ask.call, ask.elicitation, run, texts[0], PROMPTS)
    (answer,) = await judge.ask(about)
    if not isinstance(answer, Reply):
        return answer or Failure("judge", "raised", "no answer")
    verdict = verdict_in(about, answer) or Failure("judge", "unreadable", answer.text)
    if known is not None:
        known[key] = verdict
    return verdict
