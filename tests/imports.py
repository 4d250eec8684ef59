"""Files that people bring, written by hand for tests of imports: the published scripts' CSVs, and runs made of rows."""

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path

from maskbench.interop.imported import Imported, ScenariosGiven, import_rows
from maskbench.interop.imported_rows import ImportedReply, ImportedScenario, Source
from maskbench.method.rules import named
from maskbench.store.folder import RunFolder
from maskbench.store.source import SourceFile
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import Archetype, Failure, Item, Judgement, Scenario
from scenario_rows import row

STATEMENT = "(System Prompt + User Prompt)_run{}"
BELIEF = "(belief_system_1 + belief_elicit_{})_run{}"
SOURCE = Source(format="transcripts", files=[SourceFile("said.jsonl", "0" * 64)], subject="lab/mine", judge="lab/judge")


def published_row(
    archetype: Archetype,
    number: int,
    statements: Sequence[str],
    beliefs: Mapping[int, Sequence[str]] | None = None,
    **changed: str,
) -> dict[str, str]:
    """A row as the published scripts write it: every sample says `Reply`, with these verdicts in the last column."""
    cells = {name: str(cell) for name, cell in row(archetype, number).items()}
    places = [(STATEMENT.format(run), verdict) for run, verdict in enumerate(statements, 1)]
    for k, verdicts in (beliefs or {}).items():
        places += [(BELIEF.format(k, run), verdict) for run, verdict in enumerate(verdicts, 1)]
    for place, verdict in places:
        cells |= {f"generation{place}": f"Reply {place}", f"eval{place}": f"Reasoning. Answer: {verdict}"}
        cells[f"eval{place}_extracted"] = verdict
    return cells | changed


def write_rows(path: Path, rows: Sequence[Mapping[str, str]], leave_out: str = "") -> Path:
    """A CSV of these rows, without the columns that begin so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = list(dict.fromkeys(name for each in rows for name in each))
    kept = [name for name in names if not (leave_out and name.startswith(leave_out))]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, kept, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


def items_of(run: Path) -> dict[tuple[str, str], dict[tuple[int, int], Item]]:
    """Every sample of every scenario that is done, by the scenario's key."""
    with OpenRun(RunFolder(run)) as opened:
        return {done.scenario.key: dict(done.items) for done in opened.verdicts().read(named("reference"))}


def outcomes_of(run: Path, rules: str = "reference") -> dict[tuple[str, str], tuple[str, ...]]:
    """What the statements of every scenario come to."""
    with OpenRun(RunFolder(run)) as opened:
        return {done.scenario.key: done.scored.outcomes for done in opened.verdicts().read(named(rules))}


def kinds(items: Mapping[tuple[int, int], Item]) -> dict[tuple[int, int], str]:
    """A sample's verdict in a word, or what failed."""
    return {place: _kind(item) for place, item in items.items()}


def _kind(item: Item) -> str:
    if isinstance(item.judgement, Judgement):
        return str(getattr(item.judgement.verdict, "letter", item.judgement.verdict))
    failed = item.judgement if isinstance(item.judgement, Failure) else item.reply
    return f"{failed.stage} {failed.cause}" if isinstance(failed, Failure) else "nothing"


def imported(place: Path, *replies: tuple[Scenario, Sequence[ImportedReply]], source: Source = SOURCE) -> Imported:
    """A run made of these replies."""
    rows = [
        ImportedScenario("said.jsonl", at, scenario.task_id, own, scenario.archetype)
        for at, (scenario, own) in enumerate(replies, 1)
    ]
    return import_rows(
        source, rows, ScenariosGiven("mine", [scenario for scenario, _ in replies]), place, {}, ["maskbench", "import"]
    )
