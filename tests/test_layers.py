"""A room imports only rooms to its left; inside a room there are no circles; few rooms know a heavy library."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import maskbench
from measured_runs import run

ROOT = Path(maskbench.__file__).parent

# The rule of imports: rooms that stand between two signs know nothing of each other.
ORDER = (
    "types errors plain < stats < settings < method < pinocchio < scenarios < models < runs < judges < results"
    " < interop < measurement < interventions sweeps < report < pages < cli"
)
FACE = {"", "__main__"}  # the public face, and what `python -m maskbench` runs

# Libraries that few may know, and who they are.
ONLY = {
    "cyclopts": ("cli",),
    "rich": ("cli", "report.terminal"),
    "markupsafe": ("pages",),
    "inspect_ai": (
        *("models.inspect_adapter", "models.inspect_provider", "interop.inspect_task"),
        *("interop.inspect_files", "interop.inspect_log", "interop.inspect_own_log"),
    ),
    "torch": ("models.hf", "interventions"),
    "transformers": ("models.hf", "interventions"),
    "peft": ("models.hf", "interventions"),
    "ray": ("runs.cluster",),
}

# What results and the report know of runs and of judges: what is stored, who was asked, and folds of what would be.
READ = {
    "runs": {
        *("beliefs_from", "bill", "bill_json", "cluster_places", "drawn_part", "endings", "estimate", "folder"),
        *("forecast", "imported_json", "protocol", "questions", "record", "run_json", "store"),
    },
    "judges": {
        *("audit_figures", "audit_kinds", "construct_answers", "doctor_reading", "judges_agree", "judges_json"),
        *("exam.construct_marks", "exam.exam_json", "exam.marks", "exam.result", "second_look"),
        *("verdict_json", "verdict_sets"),
        *("people.against_judge", "people.agreement_json", "people.construct_agreement", "people.construct_labels"),
        *("people.drawn_sample", "people.labelled_outcomes", "people.labels", "people.readers"),
    },
}
ASKS = {  # modules that a model is asked by
    *("measurement", "models.chat.client", "models.hf.model", "runs.batched", "runs.desk", "runs.executor"),
    *("runs.live", "runs.loop", "runs.session", "judges.judge_again", "judges.auditing", "judges.construct_judging"),
}

# Who may touch disk, network, clock, signals or environment (or a model of the user's own, which may do anything).
RIM = "pinocchio scenarios models runs judges results interop measurement interventions sweeps report pages cli".split()  # noqa: SIM905
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


def modules() -> Iterator[tuple[str, ast.Module]]:
    """Every module of the package by its name under maskbench, with its syntax tree."""
    for path in sorted(ROOT.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(part for part in parts if part != "__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> Iterator[str]:
    """The full names of all that a module imports, wherever in it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports of ours are absolute"
            yield from (f"{node.module}.{name.name}" for name in node.names)


def ours(tree: ast.Module) -> set[str]:
    """The modules of ours that a module imports, by name under maskbench."""
    names = {imported.removeprefix("maskbench.") for imported in imports(tree) if imported.startswith("maskbench.")}
    return {name if name in TREES else name.rpartition(".")[0] for name in names} - {""}


def loaded(tree: ast.Module) -> ast.Module:
    """The imports of a module that load something: none of those for types alone."""
    found, skipped = [], set[int]()
    for node in ast.walk(tree):
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


TREES = dict(modules())
RANKS = {name: rank for rank, rooms in enumerate(ORDER.split(" < ")) for name in rooms.replace(",", "").split()}


def test_the_rule_names_every_room() -> None:
    """Every module stands in a room of the rule, and every room of the rule is there."""
    assert {room(name) for name in TREES if name not in FACE} == set(RANKS)


@pytest.mark.parametrize("name", sorted(set(TREES) - FACE))
def test_imports_point_to_the_left(name: str) -> None:
    """A module imports its own room and rooms to its left, and nothing else of ours."""
    rank = RANKS[room(name)]
    wrong = {
        other
        for other in ours(TREES[name])
        if room(other) != room(name) and not (RANKS[room(other)] < rank or rank == 0 == RANKS[room(other)])
    }
    assert not wrong, f"{name} imports {', '.join(sorted(wrong))}, which do not stand to its left: {ORDER}"


def test_no_circles() -> None:
    """No modules import each other in a circle, in a function or at the top of the file."""
    try:
        TopologicalSorter({name: ours(tree) - {name} for name, tree in TREES.items() if name}).prepare()
    except CycleError as error:
        pytest.fail(" -> ".join(error.args[1]))


@pytest.mark.parametrize("name", [name for name in TREES if room(name) in ("results", "report")])
def test_results_and_report_read_what_is_there(name: str) -> None:
    """Of runs and judges, results and report know what is stored, and nothing that asks."""
    known = {other for other in ours(loaded(TREES[name])) if room(other) in READ}
    wrong = {other for other in known if other.partition(".")[2] not in READ[room(other)]}
    assert not wrong, f"{name} imports {', '.join(sorted(wrong))}"


def test_scoring_loads_nothing_that_asks(tmp_path: Path) -> None:
    """A finished run is scored without a client, a flow or a session."""
    path = run(tmp_path / "run", limit=6)
    code = f"import sys; from maskbench.cli import main; sys.argv = ['maskbench', 'score', {str(path)!r}]\n"
    code += "try: main()\nexcept SystemExit as end: print(end.code, *sys.modules)"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    how, *modules = ended.stdout.rpartition("\n0 ")[2].split()
    assert "P(lie)" in ended.stdout
    assert "maskbench.runs.store" in modules
    assert not {"aiohttp", *(f"maskbench.{name}" for name in ASKS)}.intersection((how, *modules))


@pytest.mark.parametrize("name", sorted(set(TREES) - FACE))
def test_few_rooms_know_a_heavy_library(name: str) -> None:
    """A library that only some rooms may know is imported there alone."""
    wrong = {
        library
        for library in {full.partition(".")[0] for full in imports(TREES[name])} & set(ONLY)
        if not name.startswith(ONLY[library])
    }
    assert not wrong, f"{name} imports {', '.join(sorted(wrong))}"


@pytest.mark.parametrize("name", [name for name in TREES if name and not is_rim(name) and name != "__main__"])
def test_only_the_rim_touches_the_world(name: str) -> None:
    """Disk, network, clock and environment are for the rim; package data through importlib.resources is for anyone."""
    tree = TREES[name]
    imported = {full.partition(".")[0] for full in imports(tree) if full != "os.PathLike"}  # that is a type
    calls = {
        node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    }
    reads = calls & DISK
    if any(full.startswith("importlib.resources") for full in imports(tree)):
        reads -= {"read_text", "read_bytes", "open"}
    assert not imported & WORLD, f"{name} imports {imported & WORLD}, which only {', '.join(RIM)} may"
    assert not reads, f"{name} calls {reads}, which only {', '.join(RIM)} may"


@pytest.mark.parametrize("name", [name for name in TREES if name])
def test_randomness_is_passed_in(name: str) -> None:
    """Nobody draws from a global generator: of random and numpy.random only generators are made."""
    makers = {"Random", "SystemRandom", "default_rng", "Generator", "SeedSequence"}
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Attribute):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            assert owner != "random" or node.attr in makers, f"{name} uses {ast.unparse(node)}"
    drawn = {full for full in imports(TREES[name]) if full.startswith("random.") and full != "random.Random"}
    assert not drawn, f"{name} imports {drawn}"


@pytest.mark.parametrize("name", [name for name in TREES if not name.startswith(("method.forms", "settings"))])
def test_the_form_of_judging_is_asked(name: str) -> None:
    """In which form is judged is for the form to say (`form_of`): nobody else reads the settings that it comes from."""
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Attribute) and node.attr in ("style", "beliefs", "numbers", "with_reasoning"):
            owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
            assert owner != "judging", f"{name} reads {ast.unparse(node)}"


def test_starting_is_quick() -> None:
    """Loading the command line, as every `--help` and wrong option does, loads nothing heavy."""
    code = "import sys, maskbench.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)


def test_no_class_inherits_from_one_that_asks() -> None:
    """What is asked is a value of the one desk, executor or job; no second way of asking hangs on another's methods."""
    bases = {
        ast.unparse(base)
        for tree in TREES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
        for base in node.bases
    }
    assert not bases & {"Desk", "Live", "Batched", "Job", "Asking", "Machine"}
