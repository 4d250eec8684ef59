"""What a maintainer of maskbench has to carry, counted in one revision or side by side in several.

    python benchmarks/house.py                    counts the working tree
    python benchmarks/house.py REVISION ...       counts these revisions of git, then the working tree
    python benchmarks/house.py --arrows           prints the arrows of the picture in docs/project/architecture.md

Rows are of the core, and where they say so of the white box (whitebox/). Lines, modules and records are read from the
source; commands and options are asked of the program itself. A refusal of one option beside another is an `if` on two
or more values at once whose body raises a UsageError. Modules that a change touched are counted over the last twenty
commits with source before the revision.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import statistics
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
RECORDS = {"Struct", "NamedTuple", "TypedDict"}
INDEX = "README.md"  # an index is no page
Function = ast.FunctionDef | ast.AsyncFunctionDef


def counted(tree: Path, revision: str) -> dict[str, str]:
    """Every figure of the tree that lies at this path, by what is counted."""
    source = tree / "src" / "maskbench"
    modules = {path: ast.parse(path.read_text("utf-8")) for path in sorted(source.rglob("*.py"))}
    functions = [node for module in modules.values() for node in ast.walk(module) if isinstance(node, Function)]
    lengths = [node.end_lineno - node.lineno + 1 for node in functions if node.end_lineno]
    records = list(_records(modules.values()))
    touched = _touched(revision)
    tests = [path.read_text("utf-8") for folder in ("tests", "tests_outside") for path in (tree / folder).rglob("*.py")]
    pages = [page for page in (tree / "docs").glob("*.md") if page.name != INDEX]
    panel = _told(tree, "run", "--help-all")
    return {
        "lines of source": f"{sum(_lines(path) for path in modules):,}",
        "of the white box": f"{_all_lines(tree / 'whitebox' / 'src'):,}",
        "modules": f"{len(modules)}",
        "own imports of a module, mean": f"{statistics.mean(map(_own_imports, modules.values())):.1f}",
        "lines of a function, median; nine in ten at most": _median_and_tenth(lengths),
        "record types": f"{len(records)}",
        "fields on records": f"{sum(_fields(record) for record in records):,}",
        "settings": f"{_settings(modules[source / 'settings.py'])}",
        "refusals of one option beside another": f"{sum(_refusals(module) for module in modules.values())}",
        "modules that a change touched, median; nine in ten at most": _median_and_tenth(touched),
        "commands": f"{len(re.findall(r'^│ [a-z]+ {2,}', _told(tree, '--help'), re.MULTILINE))}",
        "options of `run`": f"{len(set(re.findall(r'^│ (--[a-z-]+)', panel, re.MULTILINE)))}",
        "pages of docs for users": f"{len(pages)}",
        "kB of them": f"{sum(page.stat().st_size for page in pages) / 1000:.0f}",
        "test functions": f"{sum(len(re.findall(r'^ *(?:async )?def test_', text, re.MULTILINE)) for text in tests):,}",
        "lines of tests": f"{sum(text.count(chr(10)) for text in tests):,}",
        "lines of benchmarks": f"{_all_lines(tree / 'benchmarks'):,}",
        "lines of tests, benchmarks and training of the white box": f"{_beside(tree / 'whitebox'):,}",
    }


def arrows() -> list[tuple[str, str]]:
    """Which room imports which, (from, to), without those that follow from the others, for the picture."""
    sys.path.append(str(ROOT / "tests"))
    from test_layers import FACE, ours, room, trees
    from test_rooms import KNOWS

    beside = {name: set[str]() for name in KNOWS}
    for name, module in trees().items():
        if name not in FACE:
            beside[room(name)] |= {room(other) for other in ours(module)} - {room(name)}
    order = list(KNOWS)
    reached: dict[str, set[str]] = {}
    for name in order:
        reached[name] = beside[name].union(*(reached.get(other, set()) for other in beside[name]))
    return [
        (name, other)
        for name in reached
        for other in order
        if other in beside[name] and not any(other in reached[between] for between in beside[name] - {other})
    ]


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def _all_lines(folder: Path) -> int:
    return sum(_lines(path) for path in folder.rglob("*.py"))


def _beside(package: Path) -> int:
    """Lines of what lies beside the source of a package; none where there is no package."""
    return _all_lines(package) - _all_lines(package / "src")


def _median_and_tenth(counts: list[int]) -> str:
    return f"{statistics.median(counts):.0f}; {statistics.quantiles(counts, n=10)[-1]:.0f}"


def _own_imports(module: ast.Module) -> int:
    """The number of other modules of maskbench that this one imports, wherever in it."""
    froms = {node.module for node in ast.walk(module) if isinstance(node, ast.ImportFrom) and node.module}
    plain = {name.name for node in ast.walk(module) if isinstance(node, ast.Import) for name in node.names}
    return sum(name.split(".")[0] == "maskbench" for name in froms | plain)


def _records(modules: Iterable[ast.Module]) -> Iterator[ast.ClassDef]:
    """Every class that only holds fields: dataclasses, structs, named tuples, typed dictionaries, and their heirs."""
    classes = [node for module in modules for node in ast.walk(module) if isinstance(node, ast.ClassDef)]
    names = set(RECORDS)
    known: set[int] = set()
    while True:
        new = [node for node in classes if id(node) not in known and _is_record(node, names)]
        if not new:
            return
        for node in new:
            known.add(id(node))
            names.add(node.name)
            yield node


def _is_record(node: ast.ClassDef, records: set[str]) -> bool:
    bases = {ast.unparse(base).split("[")[0].split(".")[-1] for base in node.bases}
    return bool(bases & records) or any("dataclass" in ast.unparse(each) for each in node.decorator_list)


def _fields(record: ast.ClassDef) -> int:
    fields = [node for node in record.body if isinstance(node, ast.AnnAssign)]
    return sum("ClassVar" not in ast.unparse(field.annotation) for field in fields)


def _settings(module: ast.Module) -> int:
    """The number of settings: fields of `Settings`, or of the values that it is made of."""
    values = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}

    def leaves(value: ast.ClassDef) -> int:
        named = [ast.unparse(field.annotation) for field in value.body if isinstance(field, ast.AnnAssign)]
        return sum(leaves(values[name]) if name in values else 1 for name in named)

    return leaves(values["Settings"])


def _refusals(module: ast.Module) -> int:
    """The number of conditions on several values at once that end in a UsageError."""
    return sum(
        isinstance(node, ast.If) and isinstance(node.test, ast.BoolOp) and any(map(_is_usage_error, node.body))
        for node in ast.walk(module)
    )


def _is_usage_error(node: ast.stmt) -> bool:
    return isinstance(node, ast.Raise) and node.exc is not None and ast.unparse(node.exc).startswith("UsageError")


def _touched(revision: str) -> list[int]:
    """How many modules of the source each of the last twenty commits with source touched."""
    log = _git("log", "-20", "--no-merges", "--name-only", "--format=%x00", revision, "--", "src/maskbench/**.py")
    return [len(commit.split()) for commit in log.split("\0")[1:]]


def _told(tree: Path, *words: str) -> str:
    """What the program of that tree prints after these words, in 80 columns."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "COLUMNS": "80"}
    command = [sys.executable, "-m", "maskbench", *words]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def _git(*words: str) -> str:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=True).stdout


def _in_revision(revision: str) -> dict[str, str]:
    """The figures of a revision of git, whose files lie in a temporary folder meanwhile."""
    with TemporaryDirectory() as folder:
        archive = subprocess.Popen(["git", "-C", str(ROOT), "archive", revision], stdout=subprocess.PIPE)
        subprocess.run(["tar", "-x", "-C", folder], stdin=archive.stdout, check=True)
        if archive.wait():
            raise SystemExit(f"{revision} is no revision of this repository.")
        return counted(Path(folder), revision)


def main() -> None:
    """Print a table in Markdown with a column for each revision, or the arrows as Mermaid has them."""
    parser = argparse.ArgumentParser(description="Count what a maintainer has to carry.")
    parser.add_argument(
        "revisions", nargs="*", metavar="REVISION", help="revisions of git, counted beside the working tree"
    )
    parser.add_argument("--arrows", action="store_true", help="print which room imports which, for the picture")
    given = parser.parse_args()
    if given.arrows:
        print(*(f"  {name} --> {other}" for name, other in arrows()), sep="\n")
        return
    columns = {revision: _in_revision(revision) for revision in given.revisions} | {"now": counted(ROOT, "HEAD")}
    print(f"| counted | {' | '.join(columns)} |", f"|---|{'--:|' * len(columns)}", sep="\n")
    for what in columns["now"]:
        print(f"| {what} | {' | '.join(figures[what] for figures in columns.values())} |")


if __name__ == "__main__":
    main()
