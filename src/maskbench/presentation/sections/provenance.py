"""The section on provenance: the run, its settings, and the source of its beliefs and replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from maskbench.plain import one_line
from maskbench.presentation.format import times
from maskbench.presentation.of_runs import Scored
from maskbench.presentation.runs_shown import Run
from maskbench.results.leaderboard import PUBLIC, is_public
from maskbench.results.readers import SourceReader
from maskbench.results.summary import ScenariosShown, Summary
from maskbench.settings import NOBODY
from maskbench.store.machines import read_nodes
from maskbench.store.record import About
from maskbench.store.source import UNSAID, knows_sampling
from maskbench.types import Sampling

_LONGEST = 300  # characters: files have the names that people give them
NOT_KNOWN = "not known"


def where_from(summary: Summary) -> str:
    """Where an imported run is from; empty for one that was measured."""
    return one_line(source.in_short, _LONGEST) if (source := summary.of(SourceReader)) else ""


def imported_note(summary: Summary) -> str:
    """That no model was asked here, and what nobody knows of how it was; empty for a run that was measured."""
    source = summary.of(SourceReader)
    if source is None:
        return ""
    absent = [each for each in source.absent if not (_is_judged_here(summary) and _is_of_judging(each))]
    lacks = f" The source does not say: {one_line(', '.join(absent), _LONGEST)}." if absent else ""
    return f"This run is {where_from(summary)}. The subject was not asked here.{lacks}"


def _is_judged_here(summary: Summary) -> bool:
    """Whether the verdicts that are shown were asked for here, whatever the source has."""
    return knows_judging(summary) and all(judge.name != NOBODY for judge in summary.judge.models)


def _is_of_judging(absent: str) -> bool:
    return absent == "verdicts" or absent.startswith("the judge")


def is_told(summary: Summary, what: str) -> bool:
    """Whether this is known of a run: of an imported one it is not, where the source does not say it."""
    source = summary.of(SourceReader)
    return source is None or not any(what in each for each in source.absent)


def knows_judging(summary: Summary) -> bool:
    """Whether it is known how the judge was asked: not where the verdicts were imported, too."""
    return summary.judge.prompts.name != UNSAID


_MACHINES = 8  # of a cluster, that are named


def identity(run: Scored) -> Iterator[tuple[str, str]]:
    """The protocol line, as labels with what is to say on each; settings where the run's folder was read, too."""
    summary = run.summary
    scenarios, judge = summary.scenarios, summary.judge
    yield "subject", _model(summary.subject, summary.subject["label"])
    if isinstance(run, Run):
        settings = run.result.settings
        each = f"{times(settings.design.statements, 'statement')} a scenario"
        yield (
            "asked with",
            _sampling(settings.subject.sampling, each) if knows_sampling(settings) else f"{NOT_KNOWN}, {each}",
        )
    yield "judge", "; ".join(dict.fromkeys(_model(about, about.name) for about in judge.models))
    prompts = f"prompts {one_line(str(judge.prompts.version), 20)} ({judge.prompts.hash[:12]})"
    sampling = f"{_sampling(run.result.settings.judging.sampling)}, " if isinstance(run, Run) else ""
    yield "judged with", f"{sampling}{prompts}" if knows_judging(summary) else NOT_KNOWN
    yield "scenarios", f"{one_line(scenarios.taken, 80)}, {scenarios.done:,} of {scenarios.n:,}"
    yield "their hash", f"{scenarios.hash[:12]}{_part(scenarios)}"
    if isinstance(run, Run):
        yield "split", _split(run)
    yield "rules", f"{summary.rules}{_verdicts(summary)}"
    yield "protocol id", one_line(summary.protocol, 40)
    if text := where_from(summary):
        yield "from", text
    if machines := read_nodes(summary.subject):
        shown = [f"{one_line(node, 60)}: {did.words}" for node, did in list(machines.items())[:_MACHINES]]
        more = len(machines) - len(shown)
        yield "computed on", "; ".join([*shown, *([f"{more:,} more machines"] if more else [])])
    if isinstance(run, Run):
        yield "begun", date(run)
    yield "maskbench", one_line(summary.version, 40)


def identities(runs: Sequence[Scored]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The protocol line: what all runs have in common under no name, then what is each one's own under its name."""
    lines = [dict(identity(run)) for run in runs]
    common = [(label, text) for label, text in lines[0].items() if all(line.get(label) == text for line in lines)]
    yield "", common
    for run, line in zip(runs, lines, strict=True):
        if own := [pair for pair in line.items() if pair not in common]:
            yield run.name, own


def _model(about: About, name: str) -> str:
    """A model as asked for, as the endpoint resolved it, and with its fingerprints."""
    answered = [one_line(name, 60) for name in about.get("resolved", ()) if name != about.name]
    marks = [one_line(mark, 40) for mark in about.get("fingerprints", ())]
    known = [f"answered as {', '.join(answered)}"] * bool(answered) + [f"fingerprint {', '.join(marks)}"] * bool(marks)
    return f"{one_line(name, 80)} ({'; '.join(known)})" if known else one_line(name, 80)


def _sampling(sampling: Sampling, *more: str) -> str:
    return ", ".join((f"temperature {sampling.temperature:g}, up to {sampling.max_tokens:,} tokens", *more))


def _part(scenarios: ScenariosShown) -> str:
    measured = scenarios.measured_hash
    return "" if measured == scenarios.hash else f", of the part that was measured {measured[:12]}"


def _split(run: Run) -> str:
    if not is_public(run.result):
        return "not a known public set"
    scenarios = run.summary.scenarios
    rows = scenarios.public
    which = f" (the rows of {one_line(rows, 40)})" if rows and not PUBLIC.fullmatch(scenarios.name) else ""
    return f"public{which}: a model may have been trained on it"


def _verdicts(summary: Summary) -> str:
    return "" if summary.verdicts == "default" else f", verdict set {one_line(summary.verdicts, 40)}"


def date(run: Run) -> str:
    """The day on which the run was begun, as people write it."""
    try:
        begun = datetime.fromisoformat(run.result.created)
    except ValueError:
        return one_line(run.result.created, 40)
    return f"{begun.day} {begun:%B %Y}"
