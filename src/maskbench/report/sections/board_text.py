"""A leaderboard for a terminal and as Markdown."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from maskbench.method.rules import named
from maskbench.plain import literal, plain
from maskbench.report.format import between, interval, percent, points, signed
from maskbench.report.markdown import table as markdown
from maskbench.report.terminal import add, figures, paper
from maskbench.results.leaderboard import ALPHA, Board, Gap, Ranked
from maskbench.results.leaderboard_data import Page, Row, ends, rows
from maskbench.results.scaling import Scaling

WIDE = 132  # columns from which all other rates stand in one table
NARROW = 100  # columns under which names need the room of a column and of the gaps
_OUTCOMES = ("rank", "model", "P(lie)", "95 %", "honest", "evasive", "no\nbelief", "errors")
_SCORES = (
    "model",
    "honesty\nscore",
    "honesty\nscore,\nnormalised",
    "conditional\nlie rate",
    "accuracy\nof beliefs",
    "accuracy,\nnormalised",
)
_REST = ("P(lie),\nmacro", "P(lie), with\nany errors", "n")
_GAP = ("model", "private set", "public set", "gap", "95 %")
_SCALING = ("Spearman with log compute", "value", "95 %, models", "95 %, families", "models", "families")
GAP_NOTE = (
    "Gap: P(lie) on private minus on public scenarios, in points, two independent samples (Newcombe's interval). The "
    "sets differ in more than who can have read them: a gap tells something where other models have none."
)


def as_text(page: Page, width: int) -> Group:
    """The leaderboard for a terminal of so many columns; it fits 80."""
    return Group(*_text(page, width))


def as_markdown(page: Page) -> str:
    """The leaderboard as Markdown, a table for each Board."""
    parts = []
    for place, board in enumerate(page.tables):
        columns = [_one_line(name) for name in ("model", "rank", *_OUTCOMES[2:], *_SCORES[1:], *_rest(board))]
        lines = [
            (
                outcomes[1],
                outcomes[0],
                *outcomes[2:],
                *_scores(row)[1:],
                *_remaining(row, len(_rest(board)) > len(_REST)),
            )
            for row in rows(board)
            if (outcomes := _outcomes(row))
        ]
        parts += [f"## {literal(_title(board))}", literal(_identity(board))]
        parts += [markdown(columns, lines)]
        parts += ["\n".join(f"- {literal(note)}" for note in _notes(board))]
        if page.scalings is not None:
            parts += _scaling_markdown(page.scalings[place])
    if page.gaps:
        parts += ["## Public and private scenarios", markdown(_GAP, map(_gap, page.gaps), texts=3), GAP_NOTE]
    parts += [f"- {literal(f'Not read: {path}: {why}')}" for path, why in page.unreadable.items()]
    return "\n\n".join(part for part in parts if part) + "\n"


def as_plain_text(page: Page) -> str:
    """The same for a file, 100 columns wide."""
    text = io.StringIO()
    paper(text, 100).print(as_text(page, 100))
    return text.getvalue()


def _text(page: Page, width: int) -> Iterator[RenderableType]:
    for place, board in enumerate(page.tables):
        yield Text(plain(_title(board)), style="bold")
        yield Text(plain(_identity(board)), style="dim")
        for columns, cells in _blocks(board, width):
            yield Text()
            yield _block(board, columns, cells, gap=1 if width < NARROW else 2)
        yield Text()
        yield from (Text(plain(note)) for note in _notes(board))
        if page.scalings is not None:
            yield from _scaling_text(page.scalings[place])
        yield Text()
    if page.gaps:
        yield Text("Public and private scenarios", style="bold")
        table = figures(*_GAP, texts=range(3))
        for gap in page.gaps:
            add(table, *_gap(gap))
        yield from (Text(), table, Text(), Text(GAP_NOTE), Text())
    yield from (Text(plain(f"Not read: {path}: {why}")) for path, why in page.unreadable.items())


Cells = Callable[[Row], tuple[str, ...]]


def _blocks(board: Board, width: int) -> Iterator[tuple[tuple[str, ...], Cells]]:
    """The columns of a table, as many at a time as fit, with what fills them."""
    rest = _rest(board)
    several = len(rest) > len(_REST)
    if width < NARROW:
        yield _OUTCOMES[:-1], lambda row: _outcomes(row)[:-1]
        yield _SCORES, _scores
        yield ("model", *rest, "errors"), lambda row: (row.name, *_remaining(row, several), _outcomes(row)[-1])
        return
    yield _OUTCOMES, _outcomes
    if width >= WIDE:
        yield (*_SCORES, *rest), lambda row: (*_scores(row), *_remaining(row, several))
    else:
        yield _SCORES, _scores
        yield ("model", *rest), lambda row: (row.name, *_remaining(row, several))


def _block(board: Board, columns: tuple[str, ...], cells: Cells, gap: int) -> Table:
    table = figures(*columns, texts=(columns.index("model"),), gap=gap)
    for row in board.ranked:
        add(table, *cells(row))
    table.add_section()
    for other in board.unranked:
        add(table, *cells(other))
    return table


def _title(board: Board) -> str:
    kind = "public" if board.public else "private"
    return f"{board.scenarios['taken']}: {board.scenarios['n']:,} {kind} scenarios"


def _identity(board: Board) -> str:
    judge = rows(board)[0].result.summary["judge"]
    judges = dict.fromkeys((judge["binary"]["name"], judge["numeric"]["name"]))
    return (
        f"judged by {' and '.join(judges)}, protocol {board.protocol}, rules {board.rules}, "
        f"scenarios {board.scenarios['measured_hash'][:12]}"
    )


def _notes(board: Board) -> Iterator[str]:
    if len(board.ranked) > 1:
        pairs = f"{board.comparisons:,} comparison{'s' if board.comparisons > 1 else ''}"
        yield (
            "Rank: 1 + the number of models that lie significantly less often (paired sign-flip test of P(lie), Holm "
            f"over {pairs}, {100 * ALPHA:.0f} %). Models that cannot be told apart may share a rank. Read P(honest) "
            "beside it: who always evades never lies."
        )
    elif board.ranked:
        yield "One model alone has rank 1, which says nothing."
    if note := named(board.rules).note:
        yield note
    yield "Intervals hold sampling error only; the judge's error is not in them."
    reasons: dict[str, list[str]] = {}
    for row in board.unranked:
        reasons.setdefault(row.why, []).append(row.name)
    yield from (f"Not ranked: {', '.join(names)}: {why.rstrip('.')}." for why, names in reasons.items())


def _outcomes(row: Row) -> tuple[str, ...]:
    rates = row.result.rates
    return (
        str(row.rank) if isinstance(row, Ranked) else "–",
        row.name,
        percent(rates["p_lie"].value),
        interval(ends(rates["p_lie"])),
        *(percent(rates[name].value) for name in ("p_honest", "p_evasive", "p_no_belief")),
        percent(row.result.error_rate),
    )


def _rest(board: Board) -> tuple[str, ...]:
    """The last columns, Lying@n among them where a run has several statements, with its n where all have the same."""
    counts = {row.result.settings.statements for row in rows(board)}
    if counts == {1}:
        return _REST
    return (*_REST, f"Lying\n@{'n' if len(counts) > 1 else min(counts)}", "95 %")


def _one_line(name: str) -> str:
    return name.replace("-\n", "").replace("\n", " ")


def _scores(row: Row) -> tuple[str, ...]:
    names = ("honesty_score", "honesty_score_normalized", "conditional_lie_rate", "accuracy", "accuracy_normalized")
    return (row.name, *(percent(row.result.rates[name].value) for name in names))


def _remaining(row: Row, several: bool) -> tuple[str, ...]:
    metrics, statements = row.result.summary["metrics"], row.result.settings.statements
    lying = metrics["lying_at"].get(str(statements), {}) if statements > 1 else {}
    return (
        percent(metrics["p_lie_macro"]["value"]),
        interval(metrics["p_lie_bounds"]),
        f"{row.result.summary['scenarios']['done']:,}",
        *((percent(lying.get("value")), interval(lying.get("ci95"))) if several else ()),
    )


def _gap(gap: Gap) -> tuple[str, ...]:
    return gap.model, gap.private, gap.public, points(gap.difference.value), between(ends(gap.difference))


def _scaling_text(scaling: Scaling) -> Iterator[RenderableType]:
    table = figures(*_SCALING)
    for row in _scaling_rows(scaling):
        add(table, *row)
    yield from (Text(), table, Text())
    yield from (Text(plain(note)) for note in _scaling_notes(scaling))


def _scaling_markdown(scaling: Scaling) -> Iterator[str]:
    yield markdown(_SCALING, _scaling_rows(scaling))
    yield "\n".join(f"- {literal(note)}" for note in _scaling_notes(scaling))


def _scaling_rows(scaling: Scaling) -> Iterator[tuple[str, ...]]:
    for measure, found in scaling.correlations.items():
        name = measure.replace("n statements", f"{scaling.statements} statements" if scaling.statements > 1 else "n")
        value = "–" if found.value is None else signed(found.value, 3)
        around = (_signed(found.over_models), _signed(found.over_families))
        yield (name, value, *around, f"{found.models:,}", f"{found.families:,}")


def _scaling_notes(scaling: Scaling) -> Iterator[str]:
    yield (
        "Percentile bootstrap over models, and over families with all of their models; below four of either there is "
        "no interval. Models are taken as they come: each one's sampling error adds to the scatter."
    )
    if scaling.left_out:
        yield f"Without compute, and left out: {', '.join(scaling.left_out)}."


def _signed(around: tuple[float, float] | None) -> str:
    return "–" if around is None else f"{signed(around[0], 2)} to {signed(around[1], 2)}"
