"""The state of the source, counted: the table and the arrows of the picture in docs/architecture.md.

    python benchmarks/house.py            prints the table
    python benchmarks/house.py --write    writes both into docs/architecture.md, between their marks

Which room may import which is said once, in tests/test_layers.py, and read from there.
"""

from __future__ import annotations

import argparse
import ast
import re
import statistics
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
sys.path.append(str(ROOT / "tests"))

from test_layers import FACE, ORDER, RANKS, TREES, ours, room  # noqa: E402 # found only once its folder is known
from test_layers import ROOT as SOURCE  # noqa: E402

PAGE = ROOT / "docs" / "architecture.md"
LOOSE = r"dict\[str, Any\]|\bJson\b"  # a dictionary that says nothing of what is in it
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the table: what is counted, how much is allowed, what it is now, and whether a test holds it."""

    what: str
    allowed: str
    now: str
    held: bool = False


def table() -> list[Line]:
    """Every line of the table, counted in the source as it stands."""
    functions = list(_functions())
    lengths = [function.end_lineno - function.lineno + 1 for function in functions if function.end_lineno]
    dictionaries = sum(bool(re.search(LOOSE, _signature(function))) for function in functions)
    most = max(functions, key=lambda function: len(_parameters(function)))
    lines = sum(len(path.read_text("utf-8").splitlines()) for path in SOURCE.rglob("*.py"))
    return [
        Line("rooms", "", f"{len(rooms())}", held=True),
        Line("modules that stand loose at the top", "8", f"{len(list(SOURCE.glob('*.py')))}", held=True),
        Line("modules in circles of imports", "0", f"{len(in_circles())}", held=True),
        Line("imports against the rule", "0", f"{len(list(against_the_rule()))} of {len(TREES)} modules"),
        Line("file names that occur twice, but for `__init__.py`", "0", f"{_twice()}", held=True),
        Line("lines of a function, median", "", f"{statistics.median(lengths):.0f}"),
        Line("lines of a function, nine in ten have at most", "", f"{statistics.quantiles(lengths, n=10)[-1]:.0f}"),
        Line("parameters of a function, most", "12", f"{len(_parameters(most))} (`{most.name}`)"),
        Line("signatures with a `dict[str, Any]`", "under 2 %", f"{100 * dictionaries / len(functions):.1f} %"),
        Line("lines of source", "", f"{lines:,}"),
    ]


def as_markdown(lines: list[Line]) -> str:
    """The table as the page has it."""
    rows = [f"| {line.what} | {line.allowed} | {line.now} |" for line in lines]
    return "\n".join(["| counted | at most | now |", "|---|---|---|", *rows])


def rooms() -> list[str]:
    """The rooms from left to right: the folders of the package."""
    return [name for name in sorted(RANKS, key=_place) if (SOURCE / name).is_dir()]


def in_circles() -> set[str]:
    """The modules that stand in a circle of imports, or between two: what is left once all others are taken away."""
    left = {name: ours(tree) - {name} for name, tree in TREES.items() if name not in FACE}
    while free := left.keys() - {name for name, imported in left.items() if imported & left.keys()}:
        left = {name: imported for name, imported in left.items() if name not in free}
    while free := left.keys() - set[str]().union(*left.values()):
        left = {name: imported for name, imported in left.items() if name not in free}
    return set(left)


def against_the_rule() -> Iterator[tuple[str, str]]:
    """Every import of a module that does not stand to the left, as (who imports, what)."""
    for name, tree in TREES.items():
        if name not in FACE:
            for other in ours(tree):
                if room(other) != room(name) and RANKS[room(other)] > RANKS[room(name)]:
                    yield name, other


def arrows() -> list[tuple[str, str]]:
    """Which place imports which, (from, to), without those that follow from the others, for the picture."""
    beside = {name: set[str]() for name in RANKS}
    for name, tree in TREES.items():
        if name not in FACE:
            beside[room(name)] |= {room(other) for other in ours(tree)} - {room(name)}
    reached: dict[str, set[str]] = {}
    for name in sorted(RANKS, key=_place):
        reached[name] = beside[name].union(*(reached.get(other, set()) for other in beside[name]))
    return [
        (name, other)
        for name in reached
        for other in sorted(beside[name], key=_place)
        if not any(other in reached[between] for between in beside[name] - {other})
    ]


def as_mermaid() -> str:
    """The arrows as Mermaid has them."""
    return "\n".join(f"  {name} --> {other}" for name, other in arrows())


def written(page: str) -> str:
    """The page with the table and the arrows of now between their marks."""
    parts = {
        r"(<!-- house\.py: passes -->\n).*?(\n<!-- end of passes -->)": passed(),
        r"(<!-- house\.py: table -->\n).*?(\n<!-- end -->)": as_markdown(table()),
        r"(%% house\.py: arrows\n).*?(\n  %% end)": as_mermaid(),
    }
    for marks, text in parts.items():
        pieces = re.split(marks, page, flags=re.DOTALL)
        if len(pieces) != 4:
            raise SystemExit(f"{PAGE.name} needs the marks {marks} once.")
        page = "".join([*pieces[:2], text, *pieces[2:]])
    return page


def passed() -> str:
    """How often each command reads a run, counted on small runs that are measured for it."""
    from passes import passes
    from passes import table as of_passes

    with TemporaryDirectory() as scratch:
        return of_passes(passes(Path(scratch)))


def _place(name: str) -> tuple[int, str]:
    """Where a room stands in the rule, from left to right."""
    return RANKS[name], name


def _functions() -> Iterator[Function]:
    for tree in TREES.values():
        yield from (node for node in ast.walk(tree) if isinstance(node, Function))


def _parameters(function: Function) -> list[str]:
    """The names of a function's parameters, `self` and `cls` left out."""
    given = function.args
    all_of_them = (*given.posonlyargs, *given.args, given.vararg, *given.kwonlyargs, given.kwarg)
    return [each.arg for each in all_of_them if each and each.arg not in ("self", "cls")]


def _signature(function: Function) -> str:
    returns = ast.unparse(function.returns) if function.returns else ""
    return f"{ast.unparse(function.args)} -> {returns}"


def _twice() -> int:
    names = Counter(path.name for path in SOURCE.rglob("*.py") if path.name != "__init__.py")
    return sum(count > 1 for count in names.values())


def main() -> None:
    """Print the table, or write it."""
    parser = argparse.ArgumentParser(description="Count the state of the source.")
    parser.add_argument("--write", action="store_true", help=f"write table and arrows into {PAGE.name}")
    if parser.parse_args().write:
        PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")
    print(as_markdown(table()), f"\nThe rule: {ORDER}", sep="\n")


if __name__ == "__main__":
    main()
