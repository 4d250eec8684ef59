"""Scored runs and results written down by hand, for quick tests of what compares, ranks and gates them."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from maskbench.method.rules import named
from maskbench.results.calibration import LabelsReader
from maskbench.results.gain_minus_plain import ReportsReader
from maskbench.results.reader import Readers
from maskbench.results.scored import Result, ScoredRun
from maskbench.results.splits import AskedReader
from maskbench.results.summary import Background, summarise
from maskbench.settings import Settings
from maskbench.store.record import SCHEMA, About, Models, Record, TakenScenarios
from maskbench.store.verdict_sets import JudgeShown, JudgeUsage, RunUsage, SubjectUsage
from maskbench.types import Scored
from outcomes import one

R = TypeVar("R")
NOBODY = JudgeShown.nobody()
SETTINGS = Settings.of(subject="lab/a", judge="judge", numeric_judge="judge", scenarios="mine.csv")


def rows(letters: str, **changed: Any) -> list[Scored]:
    """Scenarios 1, 2, 3, ... with one letter each, or words apart with a letter a statement; on propositions P1, P2."""
    each = letters.split() if " " in letters else letters
    return [
        one(outcomes, **{"task_id": str(at), "proposition": f"P{at}", **changed}) for at, outcomes in enumerate(each, 1)
    ]


def scored_run(name: str, scored: str | Sequence[Scored], **changed: Any) -> ScoredRun:
    """A run of this name as one reading finds it; `changed` are fields of ScoredRun, or of its settings."""
    cells = rows(scored) if isinstance(scored, str) else list(scored)
    ours = {key: changed.pop(key) for key in list(changed) if key in SETTINGS.options}
    settings = SETTINGS.having(**{"subject": f"lab/{name}", **ours})
    taken = TakenScenarios(name="mine.csv", taken="mine.csv", hash="0" * 64, measured_hash="1" * 64, n=len(cells))
    models = Models(About(name=settings.subject.name), About(name="judge"), About(name="judge"))
    record = Record(
        schema=SCHEMA,
        maskbench="0.2.0",
        created=name,
        protocol="abc",
        prompts=NOBODY.prompts,
        models=models,
        settings=settings,
        scenarios=taken,
        sessions=[],
    )
    run = ScoredRun(
        path=Path(name),
        record=record,
        settings=settings,
        rules=named("reference"),
        verdicts="default",
        protocol="abc",
        judge=NOBODY,
        rows=tuple(cells),
        scored={row.key: row for row in cells},
        digests={row.key: hashlib.sha256(row.proposition.encode()).digest() for row in cells},
        set_name="set",
        wanted=len(cells),
        go_on="Start the run again",
        readers=Readers((reader(AskedReader), reader(ReportsReader), reader(LabelsReader, labels={}))),
    )
    return replace(run, **changed)


def reader(kind: type[R], **known: Any) -> R:
    """A reader of a run that nobody opened; `known` is what it would have found there."""
    made = object.__new__(kind)
    vars(made).update(known)
    return made


def scored_result(name: str, scored: str | Sequence[Scored], public: str | None = None, **changed: Any) -> Result:
    """A result of this name; `changed` are fields of its settings, or of Result."""
    run = scored_run(name, scored, **{key: changed.pop(key) for key in list(changed) if key in SETTINGS.options})
    nothing = RunUsage(SubjectUsage(0, 0, 0, 0, False), JudgeUsage(0, 0, 0, 0), 0.0)
    taken = replace_taken(run.record.scenarios, run.settings.design.name, public)
    background = Background(
        protocol=run.protocol,
        subject=run.record.models.subject,
        judge=NOBODY,
        judges=("judge",),
        scenarios=taken,
        usage=nothing,
        version="0.2.0",
    )
    summary = summarise(run.rows, run.settings, run.rules, background, run.readers)
    return replace(Result(run.path, name, summary, run.settings, run.rows, 0.0), **changed)


def replace_taken(taken: TakenScenarios, name: str, public: str | None) -> TakenScenarios:
    """The scenarios under another name, with the public set that they are of."""
    return TakenScenarios(
        name=name, taken=name, hash=taken.hash, measured_hash=taken.measured_hash, n=taken.n, public=public
    )
