"""Runs that are handed to others: of a set of one's own with a canary, of copies of the public set, of a real name."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import measured_runs
import published_layout
import scenario_rows
from maskbench.method.asks import VERDICTS
from maskbench.store.verdict_sets import OpenRun, names
from maskbench.types import ARCHETYPES, Judgement, Reply

CANARY = "canary 1"  # of every row of `own`
TEXT = "ump"  # what stands in every text of that set, and in no name, number or sentence of ours
MODEL, SUBJECT = "openai/gpt-9", "sim/lie=0.4,evade=0.1"


def own(place: Path, **options: object) -> Path:
    """A finished run of a private set: 24 scenarios of all archetypes, in a folder that is nobody's business."""
    source = scenario_rows.folder(place / "secret-place" / "own", scenario_rows.six(4))
    return measured_runs.run(place / "run", SUBJECT, scenarios=str(source), **options)


def real(place: Path) -> Path:
    """A finished run of that private set, under the name of a real model."""
    return measured_runs.edit(own(place), subject=MODEL)


def public(place: Path, archetypes: Sequence[str] = ARCHETYPES, each: int = 3) -> Path:
    """A finished run of a part of a copy of the public set, in CSV files of any name."""
    rows = {name: [published_layout.row(name, number) for number in range(each)] for name in archetypes}
    source = scenario_rows.folder(place / "copy" / "my rows", rows)
    return measured_runs.run(place / "run", "sim/lie=0.4", scenarios=str(source))


def texts_of(run: OpenRun) -> Iterator[str]:
    """Every text of a run: of scenarios, of replies, and of judges' reasons."""
    sets = names(run.record, run.store)
    for samples, _ in run.store.read(*sets):
        scenario = samples.scenario
        yield from (scenario.proposition, scenario.system_prompt, scenario.user_prompt)
        yield from (*(text or "" for text in scenario.questions), *(turn.text for turn in scenario.earlier))
        for item in filter(None, (*samples.items(VERDICTS), samples.placebo(VERDICTS))):
            if isinstance(item.reply, Reply):
                yield from (item.reply.text, item.reply.reasoning or "")
        given = (each for name in sets for each in samples.judgements(name).values())
        yield from (each.reason or "" for each in given if isinstance(each, Judgement))
