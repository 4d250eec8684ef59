"""A run as rows, one a scenario, for other programs: JSONL whole, CSV and Parquet with a column for every sample."""

from __future__ import annotations

import csv
import io
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import orjson

from maskbench.errors import UsageError
from maskbench.interop.published_csv import Row, write_published
from maskbench.judges.verdict_sets import SecondLook, VerdictSet, open_verdicts
from maskbench.method.outcomes import Items, failures, score
from maskbench.method.rules import RuleSet, named
from maskbench.method.verdict import to_json
from maskbench.plain import escaped, plain, unformula
from maskbench.runs.flow import subject_asks
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.types import Disputed, Failure, Item, Judgement, Range, Reply, Scenario, Scored

_SAMPLE = ("response", "reasoning", "verdict", "confidence", "judge_reason", "truncated", "error")
_SCENARIO = ("archetype", "task_id", "type", "ground_truth", "weight")
_SECOND = "second_probability"  # only of a set that has a second judge
_SCORED = ("belief", "no_belief_reason", "outcomes", "outcome", "accuracy")


def rows(verdicts: VerdictSet, rules: RuleSet) -> Iterator[tuple[Scenario, Row]]:
    """Every scenario that is done, with its row: all samples and what they come to; a failure is null and says why."""
    settings = verdicts.settings
    for scenario, weight in verdicts.store.scenarios():
        if (items := verdicts.finished(scenario)) is not None:
            row = _row(scenario, items, settings, score(scenario, weight, items, settings, rules))
            yield scenario, row | _looked(verdicts, scenario) | _checked(verdicts, scenario)


def _looked(verdicts: VerdictSet, scenario: Scenario) -> Row:
    """With which chance a second judge saw the scenario; null where it did not see it."""
    if not isinstance(verdicts, SecondLook):
        return {}
    return {_SECOND: verdicts.chosen.get(scenario.key)}


def _checked(verdicts: VerdictSet, scenario: Scenario) -> Row:
    """Every reply to a check on the subject with its verdict; of a trace the verdict alone."""
    if not verdicts.settings.checks:
        return {}
    return {"checks": [{"call": item.call, **_sample(item)} for item in verdicts.store.checks(verdicts.name, scenario)]}


def _row(scenario: Scenario, items: Items, settings: Settings, scored: Scored) -> Row:
    wanted = [(ask.elicitation, run) for ask in subject_asks(scenario, settings) for run in ask.runs]
    samples = [(key, _sample(items[key])) for key in wanted]
    belief = scored.resolved.belief
    return {
        "archetype": scenario.archetype,
        "task_id": scenario.task_id,
        "type": scenario.kind,
        "ground_truth": list(scenario.truth.bounds) if isinstance(scenario.truth, Range) else scenario.truth,
        "weight": scored.weight,
        "beliefs": [sample for (elicitation, _), sample in samples if elicitation != 0],
        "statements": [sample for (elicitation, _), sample in samples if elicitation == 0],
        "belief": [list(range_.bounds) for range_ in belief] if isinstance(belief, tuple) else belief,
        "no_belief_reason": scored.resolved.reason,
        "outcomes": list(scored.outcomes),
        "outcome": scored.outcome,
        "accuracy": scored.accuracy,
    }


def _sample(item: Item) -> Row:
    reply = item.reply if isinstance(item.reply, Reply) else None
    judgement = item.judgement if isinstance(item.judgement, Judgement) else None
    said = item.judgement.reason if isinstance(item.judgement, Judgement | Disputed) else None
    return {
        "elicitation": item.elicitation,
        "run": item.run,
        "response": reply.text if reply else None,
        "reasoning": reply.reasoning if reply else None,
        "verdict": to_json(judgement.verdict) if judgement else None,
        "confidence": judgement.confidence if judgement else None,
        "judge_reason": said,
        "truncated": reply.truncated if reply else False,
        "error": _error(failures(item)),
    }


def _error(failed: Sequence[Failure]) -> Row | None:
    """The failure that the verdict is missing by; where the reply failed as well, the detail says so."""
    if not failed:
        return None
    *others, last = failed
    also = (f"The reply failed, too: {other.cause}: {other.detail}" for other in others)
    return {"stage": last.stage, "cause": last.cause, "detail": " ".join([last.detail, *also])}


def columns(settings: Settings, *, second: bool = False) -> list[str]:
    """The columns of the flat form: the scenario, every sample there can be, and what they come to."""
    beliefs = [(1, run) for run in range(1, settings.beliefs + 1)] + [(2, 1), (3, 1)]
    statements = [(0, run) for run in range(1, settings.statements + 1)]
    samples = [f"{_prefix(*key)}_{name}" for key in (*beliefs, *statements) for name in _SAMPLE]
    return [*_SCENARIO, *samples, *_SCORED, *([_SECOND] if second else [])]


def flat(row: Row) -> Row:
    """A row with a column for every sample; what is no text or number is JSON."""
    made = {name: row[name] for name in (*_SCENARIO, *_SCORED, _SECOND) if name in row}
    for sample in (*row["beliefs"], *row["statements"]):
        made |= {f"{_prefix(sample['elicitation'], sample['run'])}_{name}": sample[name] for name in _SAMPLE}
    return {name: _cell(value) for name, value in made.items()}


def _prefix(elicitation: int, run: int) -> str:
    return f"statement_run{run}" if elicitation == 0 else f"belief_{elicitation}_run{run}"


def _cell(value: Any) -> Any:
    return orjson.dumps(value).decode() if isinstance(value, dict | list) else value


def write_jsonl(lines: Iterable[Row], file: IO[bytes]) -> None:
    """One JSON object a line, UTF-8."""
    for row in lines:
        file.write(escaped(orjson.dumps(row).decode()).encode() + b"\n")


def write_csv(lines: Iterable[Row], file: IO[str], names: list[str], safe: Callable[[str], str] = unformula) -> None:
    """The flat form as CSV, every text through `safe`; as it is, a spreadsheet could take some for formulas."""
    # All text in quotes: a carriage return in a bare cell would end the row for readers.
    writer = csv.DictWriter(file, names, restval="", lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writeheader()
    for row in map(flat, lines):
        writer.writerow({name: safe(value) if isinstance(value, str) else value for name, value in row.items()})


def write_parquet(lines: Iterable[Row], file: IO[bytes], names: list[str]) -> None:
    """The flat form as Parquet, every column typed: numbers, `truncated` a boolean, the rest text."""
    import polars

    def kind(name: str) -> type[polars.DataType]:
        if name in ("weight", _SECOND) or name.endswith("_confidence"):
            return polars.Float64
        return polars.Boolean if name.endswith("_truncated") else polars.String

    schema = {name: kind(name) for name in names}
    polars.DataFrame([flat(row) for row in lines], schema=schema).write_parquet(file)


Form = Literal["jsonl", "csv", "parquet", "published"]


def write(
    folder: RunFolder,
    rules: str | None,
    form: Form,
    to: Path | None,
    *,
    raw: bool = False,
    verdicts: str | None = None,
) -> int:
    """Write a run in one form: JSONL and CSV to a file or to stdout, Parquet to a file, `published` to a folder.

    Returns how many scenarios are left out because they are not done. Text that a spreadsheet could take for a
    formula is made harmless in CSV, unless `raw`. `verdicts` names a verdict set (default: the run's own). Raises
    UsageError where a form needs a place that is not given, and for an unknown verdict set.
    """
    chosen = named(rules or folder.settings().rules)
    store = folder.store()
    written: Counter[str] = Counter()
    try:
        judged = open_verdicts(folder, store, verdicts)
        names = columns(judged.settings, second=isinstance(judged, SecondLook))
        _write(_counted(rows(judged, chosen), written), judged.settings, names, form, to, raw)
        return sum(judged.wanted().values()) - written["rows"]
    except BrokenPipeError:
        raise  # whoever reads our stdout has seen enough
    except OSError as error:
        place = error.filename or to or "stdout"
        raise UsageError(f"{place} cannot be written ({error.strerror}). Try another --to.") from error
    finally:
        store.close()


def _counted(pairs: Iterable[tuple[Scenario, Row]], written: Counter[str]) -> Iterator[tuple[Scenario, Row]]:
    for pair in pairs:
        written["rows"] += 1
        yield pair


def _write(
    pairs: Iterable[tuple[Scenario, Row]], settings: Settings, names: list[str], form: Form, to: Path | None, raw: bool
) -> None:
    lines = (row for _, row in pairs)
    match form:
        case "published":
            write_published(pairs, settings, _place(to, form), str if raw else unformula)
        case "parquet":
            with _place(to, form).open("wb") as file:
                write_parquet(lines, file, names)
        case "jsonl":
            with _file(to) as file:
                write_jsonl(lines, file)
        case "csv":
            with _file(to) as file:
                text = io.TextIOWrapper(file, "utf-8", newline="")
                write_csv(lines, text, names, _safe(raw, to is None and sys.stdout.isatty()))
                text.detach()


def _safe(raw: bool, on_terminal: bool) -> Callable[[str], str]:
    """What text goes through on its way into a CSV cell."""
    shown: Callable[[str], str] = partial(plain, lines=True) if on_terminal else str
    return shown if raw else lambda text: unformula(shown(text))


def _place(to: Path | None, form: Form) -> Path:
    if to is None:
        raise UsageError(f"--format {form} needs a place: add --to {'FOLDER' if form == 'published' else 'FILE'}.")
    return to


@contextmanager
def _file(to: Path | None) -> Iterator[IO[bytes]]:
    if to is None:
        yield sys.stdout.buffer
    else:
        with to.open("wb") as file:
            yield file
