"""The sections behind the rates: beliefs, kinds of evasion, failures, denials, tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.method.rates import rates, tabulate
from maskbench.pages import words
from maskbench.pages.charts import Figure, Mix, Part, Row, Table, bars, cell, points
from maskbench.pages.parts import Content, Heading, Json, estimate, has_rates, named
from maskbench.report.format import interval, percent
from maskbench.report.runs_shown import HELD, Held, Run, share
from maskbench.report.sections.result_text import output_tokens
from maskbench.stats.intervals import NO_DATA

# Beliefs

_ASKED: tuple[Held, ...] = tuple(held for held in HELD if held != "open")
_SHADES: Mapping[Held, str] = {"firm": "firm", "loose": "loose", "joint": "unknown", "absent": "no-belief"}
_KEY = tuple((_SHADES[held], words.HELD[held][0]) for held in _ASKED)


def beliefs(runs: Sequence[Run]) -> Iterator[Content]:
    """How beliefs are held, beside how often they are true and how often they are contradicted."""
    yield (
        "Honesty is held against what the model itself believes. A lie takes a belief, and means more where the belief "
        "is firm. Accuracy is another matter: whether the belief is true."
    )
    asked = [run for run in runs if any(run.held[held] for held in _ASKED)]
    if not asked:
        yield "Nothing was asked neutrally here: where facts are provided, they play the belief."
        return
    table, able = _belief_table(runs, asked), [run for run in asked if has_rates(run)]
    if able:
        rows = [row for run in able for row in _by_firmness(runs, run)]
        svg = bars([_held_mix(runs, run) for run in able], of="beliefs asked for")
        svg += points(rows, title="share of these beliefs")
        title = "How beliefs are held; how often each sort is true, and how often contradicted under pressure"
        note = (
            "The brackets below a bar are the 95 % intervals of the firm share (left) and, counted from the right end, "
            f"of the absent one (right). Numerical: {words.HELD['joint'][1]}."
        )
        yield Figure(svg, title, table, _KEY, note)
    else:
        yield table
    yield from (_absence(runs, run) for run in asked)


def _held_mix(runs: Sequence[Run], run: Run) -> Mix:
    parts = (Part(words.HELD[held][0], _SHADES[held], share(run, held)) for held in _ASKED)
    return Mix("".join(named(runs, run)), tuple(parts))


def _by_firmness(runs: Sequence[Run], run: Run) -> Iterator[Row | str]:
    yield from named(runs, run)
    for held in ("firm", "loose", "joint"):
        if found := run.held[held]:
            rated, name = rates(tabulate(found)[0]), words.HELD[held][0]
            yield Row(f"{name}: true", rated["accuracy_normalized"])
            yield Row(f"{name}: contradicted", rated["p_lie"], "lie")


def _belief_table(runs: Sequence[Run], asked: Sequence[Run]) -> Table:
    rows = []
    for run in asked:
        for held in _ASKED:
            found = run.held[held]
            rated = rates(tabulate(found)[0]) if found and has_rates(run) and held != "absent" else {}
            cells = [cell(rated.get(name, NO_DATA)) for name in ("accuracy_normalized", "p_lie")]
            name, what = words.HELD[held]
            of = cell(share(run, held)) if has_rates(run) else "–"
            rows.append((*named(runs, run), name, f"{len(found):,}", of, *cells, what))
    several = len(runs) > 1
    head = (*(("run",) if several else ()), "belief", "scenarios", "share", "true", "contradicted", "what it is")
    return Table(head, tuple(rows), "", 2 if several else 1, last_text=True)


def _absence(runs: Sequence[Run], run: Run) -> str:
    reasons = run.summary["no_belief_reasons"]
    said = "; ".join(
        f"{words.ABSENT[name][0]} in {count:,} ({words.ABSENT[name][1]})" for name, count in reasons.items() if count
    )
    who = "".join(f"{name}: a" for name in named(runs, run)) or "A"
    missing = len(run.held["open"])
    lost = f" In {missing:,} more, the verdicts that would decide are missing." if missing else ""
    asked = words.times(sum(map(len, run.held.values())), "scenario")
    absent = f"{sum(reasons.values()):,} of the {asked} in which it was asked for"
    return f"{who} stable belief was absent in {absent}{f': {said}' if said else ''}.{lost}"


# Evasions


def evasions(runs: Sequence[Run]) -> Iterator[Content]:
    """Kinds of C among the statements."""
    yield (
        "An evasive statement takes neither side (verdict C). The judge names its kind, which is never scored, but "
        "tells a careful model from a vague or a broken one."
    )
    found = [(run, run.summary["evasions"], sum(run.summary["evasions"].values())) for run in runs]
    kinds = [kind for kind in words.EVASIONS if any(counts.get(kind) for _, counts, _ in found)]
    if not kinds:
        yield "No statement was evasive."
        return
    rows = [
        (kind.replace("_", " "), *(_of(counts.get(kind, 0), whole) for _, counts, whole in found), words.EVASIONS[kind])
        for kind in kinds
    ]
    names = [run.name for run in runs] if len(runs) > 1 else ["statements"]
    caption = "Evasive statements by kind, also where there was no belief."
    yield Table(("kind", *names, "what it is"), tuple(rows), caption, last_text=True)


def _of(count: int, whole: int) -> str:
    return f"{count:,} ({percent(count / whole)})" if whole else f"{count:,}"


# Failures


def failures(runs: Sequence[Run]) -> Iterator[Content]:
    """What failed and was cut, by archetype, stage and cause, with the bounds that this implies."""
    yield "A call that gives no usable answer is no outcome: it never counts as a lie, as honesty or as evasion."
    for run in runs:
        yield from map(Heading, named(runs, run))
        yield words.failed(run.summary)
        yield from _lost(run)


def _lost(run: Run) -> Iterator[Content]:
    """What failed as a table, with bounds as a chart where outcomes are missing."""
    summary, table = run.summary, _failure_table(run.summary)
    if words.is_partial(summary):
        title = "P(lie), and what it could be, whatever the failures would have been"
        yield Figure(points(_reaches(summary)), title, table, (("unknown", "bounds over everything that failed"),))
    elif summary["failures"] or summary["truncated"]["cut"]:
        yield table


def _parts(summary: Json) -> Iterator[tuple[str, Json]]:
    """The whole and its archetypes, by the names that people read."""
    yield "All", summary
    for name, part in summary["by_archetype"].items():
        yield words.archetype(name, [summary])[0], part


def _reaches(summary: Json) -> list[Row]:
    return [
        Row(name, estimate(part["metrics"]["p_lie"]), "lie", reach=_ends(part["metrics"]["p_lie_bounds"]))
        for name, part in _parts(summary)
    ]


def _ends(bounds: Sequence[float] | None) -> tuple[float, float] | None:
    return (bounds[0], bounds[1]) if bounds else None


def _failure_table(summary: Json) -> Table:
    rows = [
        (
            name,
            _of(part["truncated"]["cut"], part["truncated"]["replies"]),
            *(_causes(part["failures"].get(stage, {})) for stage in ("subject", "judge")),
            f"{words.without_outcome(part):,}",
            interval(part["metrics"]["p_lie_bounds"]),
        )
        for name, part in _parts(summary)
    ]
    head = ("archetype", "cut replies", "subject failed", "judge failed", "without outcome", "bounds on P(lie), %")
    return Table(head, tuple(rows))


def _causes(causes: Mapping[str, int]) -> str:
    return ", ".join(f"{words.CAUSES.get(cause, cause)}: {count:,}" for cause, count in causes.items()) or "–"


# Denials and tokens


def denials(runs: Sequence[Run]) -> Iterator[Content]:
    """D verdicts, and numerical agreements that come almost free."""
    yield words.denials(runs[0].summary["rules"])
    counts = [(run, run.summary["d_verdicts"]) for run in runs]
    rows = [(*named(runs, run), f"{found['statements']:,}", f"{found['beliefs']:,}") for run, found in counts]
    if len(runs) > 1:
        yield Table(("run", "among statements", "among answers to neutral questions"), tuple(rows))
    else:
        yield f"There were {rows[0][0]} among statements and {rows[0][1]} among answers to neutral questions."
    for run in runs:
        if said := words.free(run.summary):
            yield ": ".join((*named(runs, run), said))


def tokens(runs: Sequence[Run]) -> Iterator[Content]:
    """What the runs took, as the endpoints counted it."""
    yield "Answers and tokens as the endpoints counted them; one that does not count leaves zeros."
    rows = [
        (*named(runs, run), who, *_tokens(run.summary["usage"][who])) for run in runs for who in ("subject", "judge")
    ]
    several = len(runs) > 1
    head = (*(("run",) if several else ()), "model", "answers", "tokens in", "tokens out", "of them reasoning")
    yield Table(head, tuple(rows), "", 2 if several else 1)
    took = [f"{': '.join((*named(runs, run), ''))}{run.summary['usage']['seconds']:,.1f} s" for run in runs]
    yield f"Time: {'; '.join(took)}."


def _tokens(usage: Json) -> tuple[str, str, str, str]:
    """Answers, tokens in and out, and what of these was reasoning."""
    answers, read, thought = (f"{usage[name]:,}" for name in ("answers", "input_tokens", "reasoning_tokens"))
    return answers, read, output_tokens(usage), thought
