"""maskbench beside the MASK task of Inspect Evals: requests, tokens, money, time, processor and memory, in one command.

    python -m venv inspect-env
    inspect-env/bin/pip install -c tests_outside/port/constraints.txt inspect-evals openai
    python benchmarks/compare_inspect.py --inspect-python inspect-env/bin/python --write

measures both in the cells of GRID, some nine minutes on two cores (with `--all` in eight further cells, three minutes
more), and puts what it finds into docs/project/performance.md, docs/side_by_side.csv and the README.
`--only '500ms-200-*'` picks cells, `--alone` leaves the port out, and a row for maskbench with other options comes with
`--also 'as the port=like = "inspect"'`. `--scenarios 1000 --connections 400 --alone` measures a cell of
one's own.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from pathlib import Path

import csv_tables
import scenarios
from clients_measured import Cell, Measured, Role, inspect_evals, maskbench, port_name
from maskbench.models.prices import packaged
from maskbench.scenarios.hub import SIZES
from maskbench.store.prices import cost

ROOT = Path(__file__).resolve().parents[1]
PAGE, TABLE = ROOT / "docs" / "project" / "performance.md", csv_tables.DOCS / "side_by_side.csv"
PYTHON = "MASKBENCH_INSPECT_PYTHON"
LISTS = {  # who answers, and who judges, at the prices of models/prices.toml
    "gpt-4o, judged by gpt-4o": ("openai/gpt-4o", "openai/gpt-4o"),
    "gpt-5-mini, judged by gpt-4o": ("openai/gpt-5-mini", "openai/gpt-4o"),
    "claude-opus-5-5, judged by gpt-5-mini": ("anthropic/claude-opus-5-5", "openai/gpt-5-mini"),
}
ALONE = ("anthropic/",)  # services that give one sample a request, so that each pays for its prompt
ROLES: Sequence[Role] = ("subject", "judge")
HEADLINE = Cell(0.5, 200, 1, "different", 1000)  # and what a cell of one's own is where nothing else is said
# As many scenarios as keep the port below half a minute; with 1,000 connections more, so that there are enough to ask.
COUNTS = {(50, 1): 120, (200, 1): 120, (1000, 1): 200, (50, 10): 40, (200, 10): 40, (1000, 10): 64}
WHOLE = [
    HEADLINE if (cell := Cell(latency, connections, statements, replies, count)).name == HEADLINE.name else cell
    for replies in ("different", "alike")
    for latency in (0.5, 0.0)
    for (connections, statements), count in COUNTS.items()
]
GRID = [cell for cell in WHOLE if cell.replies == "different" or cell.connections == 200]
LIMITED = Cell(0.5, 200, 1, "different", 300, at_once=37)


def dollars(measured: Measured, models: tuple[str, str], *, cached: bool = False) -> float:
    """What the tokens of a measurement cost at list prices; `cached`: with what a cache could have held out of it."""
    prices = packaged()
    return sum(
        cost(measured.tokens(role, cached=cached, alone=model.startswith(ALONE)), prices[model])
        for role, model in zip(ROLES, models, strict=True)
    )


def row(measured: Measured, about: Mapping[str, object]) -> dict[str, object]:
    """Everything of one measurement, as a line of the CSV file."""
    cell, seen = measured.cell, measured.seen
    tokens = {role: measured.tokens(role, cached=True) for role in ROLES}
    return {
        "latency_ms": round(1000 * cell.latency),
        "connections": cell.connections,
        "statements": cell.statements,
        "replies": cell.replies,
        "scenarios": cell.scenarios,
        "client": measured.client,
        "requests": measured.requests,
        **{f"{role}_requests": each.calls for role, each in tokens.items()},
        **{f"{role}_tokens_in": round(each.input) for role, each in tokens.items()},
        **{f"{role}_tokens_out": round(each.output) for role, each in tokens.items()},
        **{f"{role}_tokens_cacheable": round(each.cached) for role, each in tokens.items()},
        **{f"dollars: {name}": f"{dollars(measured, models):.6f}" for name, models in LISTS.items()},
        **{f"dollars with cache: {name}": f"{dollars(measured, m, cached=True):.6f}" for name, m in LISTS.items()},
        "most_in_flight": seen["most_in_flight"],
        "refused": seen["refused"],
        "wall_s": f"{measured.wall:.2f}",
        "start_s": f"{measured.start:.2f}",
        "ideal_s": f"{measured.ideal:.2f}",
        "cpu_s": f"{measured.cpu:.2f}",
        "cpu_ms_a_request": f"{1000 * measured.cpu / measured.requests:.3f}",
        "peak_mb": f"{measured.peak:.0f}",
        "answered_after_ms": f"{1000 * seen['latency']:.1f}",
        "answered_late_ms": f"{1000 * seen['late']:.2f}",
        "server_cpu_s": f"{seen['cpu']:.2f}",
        **about,
    }


def machine() -> str:
    """Processor, cores, system and Python, for people."""
    info = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", info.read_text()) if info.exists() else []
    processor = names[0] if names else platform.processor() or platform.machine()
    return f"{processor}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> str:
    """A Markdown table; the first `words` columns hold words, the others numbers."""
    rule = ["---" if place < words else "---:" for place in range(len(head))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, rule, *rows])


def bill(results: Sequence[Measured]) -> str:
    """Requests, tokens and money for 1,000 scenarios: they hang on statements and replies, and not on the clock."""
    head = ["client", "statements", "replies", "requests", "tokens in, M", "tokens out, M"]
    usual = (HEADLINE.latency, HEADLINE.connections, None)
    shown = [each for each in results if (each.cell.latency, each.cell.connections, each.cell.at_once) == usual]
    rows = []
    for each in shown or results:
        scale = 1000 / each.cell.scenarios
        tokens = [each.tokens(role, cached=True) for role in ROLES]
        read = [sum(getattr(part, name) for part in tokens) for name in ("input", "output")]
        money = [f"{scale * dollars(each, models):.2f}" for models in LISTS.values()]
        counts = [f"{scale * each.requests:,.0f}", *(f"{scale * part / 1e6:.2f}" for part in read)]
        rows.append([short(each), f"{each.cell.statements}", each.cell.replies, *counts, *money])
    return table([*head, *(f"$: {name}" for name in LISTS)], rows)


def is_shown(cell: Cell) -> bool:
    """Whether the page has the seconds of a cell; the CSV file has those of all."""
    return not cell.at_once and cell.replies == "different" and cell.latency > 0


def clock(results: Sequence[Measured]) -> str:
    """A row a cell and client: seconds, processor time, memory; the CSV file has more."""
    head = ["client", "statements", "latency, ms", "connections", "scenarios"]
    head += ["wall, s", "× ideal", "ms a request", "memory, MB"]
    rows = [
        [
            short(each),
            f"{each.cell.statements}",
            f"{1000 * each.cell.latency:g}",
            f"{each.cell.connections:,}",
            f"{each.cell.scenarios:,}",
            f"{each.wall:.1f}",
            f"{each.wall / each.ideal:.2f}" if each.ideal else "",
            f"{1000 * each.cpu / each.requests:.2f}",
            f"{each.peak:.0f}",
        ]
        for each in results
    ]
    return table(head, rows)


def short(measured: Measured) -> str:
    """The client without the libraries that it stands on."""
    return measured.client.partition(" on ")[0]


def headline(results: Sequence[Measured]) -> str:
    """Calls and seconds of the first cell against the port, in sentences for the README."""
    ours, port = pair(results)
    version = port.client.split()[2]
    return (
        f"On {ours.cell.scenarios:,} generated scenarios maskbench makes {ours.requests:,} calls where the service "
        f"gives several samples for one request, and {one_by_one(ours):,} elsewhere (Anthropic's, say); the port in "
        f"Inspect Evals ({version}) makes {port.requests:,}. At a local server that answers in half a second maskbench "
        f"takes {ours.wall:.0f} seconds, and the port {port.wall:.0f}."
    )


def one_by_one(measured: Measured) -> int:
    """The calls of a run of the public set's shapes where every sample is a request of its own."""
    samples = {"provided_facts": 1, "statistics": 4}  # the others: three direct replies, two to consistency questions
    return round(measured.tokens("judge").calls) + sum(size * samples.get(name, 6) for name, size in SIZES.items())


def pair(results: Sequence[Measured]) -> tuple[Measured, Measured]:
    """maskbench as it is and the port, in the headline's cell."""
    both = [each for each in results if (each.cell.name, each.cell.at_once) == (HEADLINE.name, None)]
    ours = next(each for each in both if re.fullmatch(r"maskbench \S+", each.client))
    return ours, next(each for each in both if each.client.startswith("Inspect"))


def limited(measured: Measured) -> str:
    """How a server went that allows fewer requests at once than there are connections, as a sentence."""
    refused, sent = int(measured.seen["refused"]), measured.requests + int(measured.seen["refused"])
    return (
        f"With {measured.cell.connections} connections at a server that refuses more than {measured.cell.at_once} "
        f"requests at once, {measured.client} had {refused:,} of {sent:,} requests refused "
        f"({100 * refused / sent:.1f} %), lost none, and took {measured.wall / measured.ideal:.2f} times the ideal "
        f"({measured.wall:.1f} s for {measured.cell.scenarios:,} scenarios)."
    )


def page(results: Sequence[Measured], about: Mapping[str, object]) -> str:
    """All that goes into docs/project/performance.md."""
    clients = "; ".join(dict.fromkeys(each.client for each in results))
    stated = f"{clients}; {about['machine']}; {about['busy_beforehand']} processes busy beforehand; {about['date']}."
    every = sorted(results, key=lambda each: each.cell.name != HEADLINE.name)
    shown = [each for each in every if is_shown(each.cell)] or [each for each in every if not each.cell.at_once]
    parts = [stated, bill(results), clock(shown)]
    return "\n\n".join([*parts, *(limited(each) for each in results if each.cell.at_once)])


def put(path: Path, name: str, text: str) -> None:
    """Put a text between its marks in a page, in place of what is there; raises ValueError where they are missing."""
    begin, end = f"<!-- compare_inspect.py: {name} -->", "<!-- end of it -->"
    before, after = path.read_text(encoding="utf-8").split(begin)
    _, after = after.split(end, 1)
    gap = "\n\n" if "\n" in text else ""
    path.write_text(f"{before}{begin}{gap}{text}{gap}{end}{after}", encoding="utf-8")


def cells(arguments: argparse.Namespace) -> list[Cell]:
    """The cells that were asked for; stops where there is none of that name."""
    names = ("latency", "connections", "statements", "replies", "scenarios", "at_once")
    own = {name: value for name in names if (value := getattr(arguments, name)) is not None}
    if own:
        return [replace(HEADLINE, **own)]
    grid = [*(WHOLE if arguments.all else GRID), *([LIMITED] if arguments.only == "*" else [])]
    chosen = [cell for cell in grid if fnmatch(cell.name, arguments.only)]
    if not chosen:
        sys.exit(f"There is no cell {arguments.only}. These are there: {', '.join(cell.name for cell in WHOLE)}")
    return [replace(cell, scenarios=max(6, round(arguments.share * cell.scenarios))) for cell in chosen]


def measured(cell: Cell, arguments: argparse.Namespace) -> Iterator[Measured]:
    """One cell with each client in turn."""
    with tempfile.TemporaryDirectory() as name:
        scratch = Path(name)
        folder = scratch / "scenarios"
        count = scenarios.write(folder, cell.scenarios)
        cell = replace(cell, scenarios=count)
        yield maskbench(cell, folder, scratch / "plain", own=arguments.own)
        for place, also in enumerate(arguments.also):
            title, _, field = also.partition("=")
            yield maskbench(cell, folder, scratch / str(place), title, field, own=arguments.own)
        if not (arguments.alone or cell.at_once):
            yield inspect_evals(cell, folder, scratch, arguments.inspect_python)


def parsed() -> argparse.Namespace:
    """The command line; stops where the port is wanted and not there, and where `--write` would leave gaps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inspect-python", default=os.environ.get(PYTHON, sys.executable), help="it has the port")
    parser.add_argument("--alone", action="store_true", help="measure maskbench without the port")
    parser.add_argument("--also", action="append", default=[], metavar="NAME=FIELD", help="one row more of maskbench")
    parser.add_argument("--only", default="*", metavar="PATTERN", help="cells by name, such as '500ms-200-*'")
    parser.add_argument("--all", action="store_true", help="replies alike at 50 and 1,000 connections, too")
    parser.add_argument("--share", type=float, default=1.0, help="of the grid's scenarios, for a quick look")
    parser.add_argument("--write", action="store_true", help="put everything into docs/ and the README")
    parser.add_argument("--own", action="store_true", help="as on a server of one's own: all connections at once")
    parser.add_argument("--latency", type=float, help="of a cell of one's own: mean seconds to an answer")
    for name in ("--connections", "--statements", "--scenarios", "--at-once"):
        parser.add_argument(name, type=int, help="of a cell of one's own")
    parser.add_argument("--replies", choices=["different", "alike"], help="of a cell of one's own")
    arguments = parser.parse_args()
    if not arguments.alone:
        port_name(arguments.inspect_python)  # now, not after a minute's measuring
    if arguments.write and (arguments.alone or not cells(arguments)[-1].at_once):
        parser.error("--write needs both programs in all cells.")
    return arguments


def main() -> None:
    """Measure, print, and write where that is asked for."""
    arguments = parsed()
    about = {
        "machine": machine(),
        "busy_beforehand": f"{os.getloadavg()[0]:.1f}",
        "date": f"{datetime.now(UTC):%Y-%m-%d}",
    }
    results: list[Measured] = []
    for cell in cells(arguments):
        for each in measured(cell, arguments):
            results.append(each)
            print(f"{cell.name}: {each.client}: {each.wall:.1f} s", file=sys.stderr, flush=True)
    text = page(results, about)
    print(text)
    if arguments.write:
        csv_tables.write(TABLE, [row(each, about) for each in results])
        put(PAGE, "results", text)
        put(ROOT / "README.md", "headline", headline(results))


if __name__ == "__main__":
    main()
