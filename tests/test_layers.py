"""No modules import each other in a circle; few rooms know a heavy library; few touch the world."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import maskbench
from maskbench import doors
from measured_runs import run

ROOT = Path(maskbench.__file__).parent

FACE = {"", "__main__", "doors"}  # the public faces, and what `python -m maskbench` runs

# Libraries that few may know, and who they are.
ONLY = {
    "cyclopts": ("cli",),
    "rich": ("cli", "presentation.terminal", "asking.progress"),
    "markupsafe": ("presentation.page",),
    "inspect_ai": (
        *("models.inspect_adapter", "models.inspect_provider", "interop.inspect_task"),
        *("interop.inspect_files", "interop.inspect_log", "interop.inspect_own_log"),
    ),
}

ASKS = {  # modules that a model is asked by
    *("measurement", "models.chat.client", "asking.batched", "asking.desk", "asking.executor"),
    *("asking.live", "asking.loop", "asking.session", "asking.judging.judge_again"),
}

# Who may touch disk, network, clock, signals or environment (or a model of the user's own, which may do anything).
RIM = (
    "scenarios",
    "store",
    "models",
    "asking",
    "results",
    "presentation",
    "measurement",
    "sweeps",
    "interop",
    "cli",
    "install",
)
WORLD = {
    *("aiohttp", "datetime", "filelock", "getpass", "http", "huggingface_hub", "locale", "logging", "os", "platform"),
    *("shutil", "signal", "socket", "sqlite3", "ssl", "subprocess", "sys", "tempfile", "threading", "time", "urllib"),
}
DISK = {
    *("open", "read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "rmdir", "touch", "stat"),
    *("exists", "is_dir", "is_file", "iterdir", "glob", "rglob", "cwd", "home"),
}
# Slow to load: only inside the function that needs them, so that `maskbench --help` and short runs start at once.
HEAVY = (
    *("polars", "arro3", "scipy", "huggingface_hub", "rich", "numpy", "aiohttp", "torch", "transformers", "peft"),
    *("inspect_ai", "yaml"),
)


@cache
def trees() -> dict[str, ast.Module]:
    """The syntax tree of every module of the package, by the module's name under maskbench."""
    found = {}
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        found[name] = ast.parse(path.read_text(encoding="utf-8"))
    return found


@cache
def nodes(tree: ast.Module) -> tuple[ast.AST, ...]:
    """Every node of a module's tree."""
    return tuple(ast.walk(tree))


def faults(names: Collection[str], wrong: Callable[[str, ast.Module], Collection[str]]) -> dict[str, list[str]]:
    """Every module that breaks a rule, with what is wrong in it."""
    assert names, "the rule is for some module"
    return {name: sorted(found) for name in names if (found := wrong(name, trees()[name]))}


@cache
def imports(tree: ast.Module) -> frozenset[str]:
    """The full names of all that a module imports, wherever in it."""
    return frozenset(_imports(tree))


def _imports(tree: ast.Module) -> Iterator[str]:
    for node in nodes(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports of ours are absolute"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def ours(tree: ast.Module) -> set[str]:
    """The modules of ours that a module imports, by name under maskbench."""
    names = {imported.removeprefix("maskbench.") for imported in imports(tree) if imported.startswith("maskbench.")}
    return {name if name in trees() else name.rpartition(".")[0] for name in names} - {""}


def loaded(tree: ast.Module) -> ast.Module:
    """The imports of a module that load something: none of those for types alone."""
    found, skipped = [], set[int]()
    for node in nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            skipped |= {id(each) for each in node.body}
        elif isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in skipped:
            found.append(node)
    return ast.Module(body=list(found), type_ignores=[])


def room(name: str) -> str:
    """The room of a module: the first part of its name."""
    return name.partition(".")[0]


def is_rim(name: str) -> bool:
    """Whether a module may touch the world."""
    return room(name) in RIM


def test_nothing_names_the_libraries_of_the_white_box() -> None:
    """No module of the package knows what a model in this process is computed by, or where its copies are."""
    library = re.compile(r"\b(?:torch|transformers|peft|ray|maskbench_whitebox)\b")
    assert [path.name for path in ROOT.rglob("*.py") if library.search(path.read_text(encoding="utf-8"))] == []


def test_the_package_does_not_use_its_doors() -> None:
    """They are for others: whoever is inside knows where a thing is."""
    inside = {name for name in trees() if name != "doors"}
    assert faults(inside, lambda _, tree: ours(tree) & {"doors"}) == {}


def test_every_door_leads_somewhere() -> None:
    """What the doors name is there, and is what its own module has by that name."""
    for home, names in doors._HOMES.items():
        for name in names.split():
            assert getattr(doors, name) is getattr(importlib.import_module(f"maskbench.{home}"), name)
    assert sorted(name for names in doors._HOMES.values() for name in names.split()) == sorted(doors.__all__)
    with pytest.raises(AttributeError, match="no attribute 'window'"):
        doors.window  # noqa: B018  # asking is what is tested


def test_no_circles() -> None:
    """No modules import each other in a circle, in a function or at the top of the file."""
    try:
        TopologicalSorter({name: ours(tree) - {name} for name, tree in trees().items() if name}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


def test_scoring_loads_nothing_that_asks(tmp_path: Path) -> None:
    """A finished run is scored without a client, a flow or a session."""
    path = run(tmp_path / "run", limit=6)
    code = f"import sys; from maskbench.cli import main; sys.argv = ['maskbench', 'score', {str(path)!r}]\n"
    code += "try: main()\nexcept SystemExit as end: print(end.code, *sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    how, *modules = ended.stdout.rpartition("\n0 ")[2].split()
    assert "P(lie)" in ended.stdout
    assert "maskbench.store.store" in modules
    assert not {"aiohttp", *(f"maskbench.{name}" for name in ASKS)}.intersection((how, *modules))


def test_few_rooms_know_a_heavy_library() -> None:
    """A library that only some rooms may know is imported there alone."""

    def wrong(name: str, tree: ast.Module) -> set[str]:
        known = {full.partition(".")[0] for full in imports(tree)} & set(ONLY)
        return {library for library in known if not name.startswith(ONLY[library])}

    assert faults(trees().keys() - FACE, wrong) == {}


def test_only_the_rim_touches_the_world() -> None:
    """Disk, network, clock and environment are for the rim; package data through importlib.resources is for anyone."""

    def wrong(_: str, tree: ast.Module) -> set[str]:
        imported = {full.partition(".")[0] for full in imports(tree) if full != "os.PathLike"}  # that is a type
        calls = {
            node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            for node in nodes(tree)
            if isinstance(node, ast.Call)
        }
        reads = calls & DISK
        if any(full.startswith("importlib.resources") for full in imports(tree)):
            reads -= {"read_text", "read_bytes", "open"}
        return imported & WORLD | reads

    names = [name for name in trees() if name and not is_rim(name) and name != "__main__"]
    assert faults(names, wrong) == {}, f"only {', '.join(RIM)} may"


def test_randomness_is_passed_in() -> None:
    """Nobody draws from a global generator: of random and numpy.random only generators are made."""
    makers = {"Random", "SystemRandom", "default_rng", "Generator", "SeedSequence"}

    def wrong(_: str, tree: ast.Module) -> set[str]:
        drawn = {full for full in imports(tree) if full.startswith("random.") and full != "random.Random"}
        return drawn | {f"random.{name}" for name in attributes(tree, "random") if name not in makers}

    assert faults([name for name in trees() if name], wrong) == {}


def test_the_form_of_judging_is_asked() -> None:
    """In which form is judged is for the form to say (`form_of`): nobody else reads the settings that it comes from."""
    fields = {"style", "numbers"}

    def wrong(_: str, tree: ast.Module) -> set[str]:
        return fields.intersection(attributes(tree, "judging"))

    assert faults([name for name in trees() if not name.startswith(("method.forms", "settings"))], wrong) == {}


def attributes(tree: ast.Module, of: str) -> Iterator[str]:
    """The attributes that a module reads of what is called so."""
    for node in nodes(tree):
        if isinstance(node, ast.Attribute):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            if owner == of:
                yield node.attr


def test_starting_is_quick() -> None:
    """Loading the command line, as every `--help` and wrong option does, loads nothing heavy."""
    code = "import sys, maskbench.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_no_class_inherits_from_one_that_asks() -> None:
    """What is asked is a value of the one desk, executor or job; no second way of asking hangs on another's methods."""
    bases = {
        ast.unparse(base)
        for tree in trees().values()
        for node in nodes(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    assert not bases & {"Desk", "Live", "Batched", "Job", "Asking", "Machine"}
