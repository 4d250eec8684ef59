"""What does not go together is refused from each door that has all of it, with the sentence of its row in the table."""

import ast
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import maskbench
from flows import typed
from maskbench.asking import options as asking
from maskbench.asking.options import IN_FILES, OPTIONS
from maskbench.cli.option_file import FIELDS
from maskbench.errors import MaskbenchError
from maskbench.interop.export import write
from maskbench.measurement import measure
from maskbench.presentation.page.report_file import report
from maskbench.results import together as reading
from maskbench.results.gate import Limits, check_run
from maskbench.scenarios.exam.papers import paper_for
from maskbench.settings import PLACES, Settings
from maskbench.together import Clash, alone, typed_as

CLASHES = {**asking.CLASHES, **reading.CLASHES}
ROWS = [(command, clash) for command, clashes in CLASHES.items() for clash in clashes]
ALL = {typed_as(name) for _, clash in ROWS for name in clash.options} | {typed_as(name) for name in OPTIONS}
Values = Mapping[str, Any]

# What to type of an option, where that is no flag; and of rows that two given options alone do not make.
TYPED: Values = {
    "sample": 3,
    "limit": 3,
    "seed": 3,
    "port": 3,
    "worst": 3,
    "timeout": 3.0,
    "max_tokens": 3,
    "max_error_rate": 0.5,
    "temperature": 0.5,
    "non_inferiority": 0.1,
    "reasoning_tokens": 3,
    "judge_temperature": 0.5,
    "judge_max_tokens": 3,
    "judge_reasoning_tokens": 3,
    "tool_calls": "text",
    "scenarios": "said_and_did",
    "rules": "published",
    "as_": "paper",
    "why": "paper",
    "rates": "corrected",
    "extra_body": '{"top_k":1}',
    "template_args": '{"a":1}',
    "model_options": "a=b",
    "batch": "judge",
    **dict.fromkeys(("connections", "retries", "rpm", "tpm", "max_cost", "max_tokens_total"), 3),
    **dict.fromkeys(("rater", "adjudicate", "readers", "out", "import_", "to", "by", "archetype", "answered_by"), "x"),
    **dict.fromkeys(("where", "without", "judge", "judge_prompts", "baseline", "baseline_verdicts", "compute"), "x"),
    **dict.fromkeys(("from_", "requests", "numeric_judge"), "x"),
}
MEETING: Mapping[tuple[str, tuple[str, ...]], Values] = {
    ("run", ("judge_style", "judge_prompts")): {"judge_style": "published"},
    ("run", ("batch", "subject")): {"batch": "both", "subject": "sim"},
    ("run", ("batch", "judge")): {"batch": "judge", "judge": "sim-judge"},
    ("run", ("batch", "numeric_judge")): {"batch": "judge", "judge": "openai/x", "numeric_judge": "groq/x"},
    ("run", ("template_args", "subject")): {"template_args": '{"a":1}', "subject": "sim"},
    ("run", ("extra_body", "subject")): {"extra_body": '{"a":1}', "subject": "scripted/x.json"},
    ("run", ("scenarios", "subject")): {"scenarios": "starter", "subject": "pinocchio"},
    ("run", ("judge", "numeric_judge")): {"judge": "none", "numeric_judge": "sim-judge"},
    ("run", ("judge", "subject")): {"judge": "rules/sandbox", "subject": "sim"},
    ("run", ("numeric_judge", "subject")): {"numeric_judge": "rules/sandbox", "subject": "sim"},
    ("judge", ("batch",)): {"batch": "subject"},
    ("judge", ("judge",)): {"judge": "none"},
    ("exam", ("batch",)): {"batch": "both"},
    ("exam", ("short", "model")): {"short": True, "model": "sim-judge"},
    ("exam", ("scenarios", "model")): {"scenarios": "said_and_did", "model": "rules/sandbox"},
    ("label", ("rater", "import_", "out")): {"rater": "x", "import_": "x.csv"},
    ("check", ("json", "format")): {"json": True, "format": "markdown"},
    ("check", ("max_lie", "max_", "baseline")): {},
    ("check", ("as_", "max_lie", "baseline", "rules")): {"as_": "paper", "max_lie": 0.5, "rules": "published"},
    ("compare", ("json", "format")): {"json": True, "format": "markdown"},
    ("score", ("with_prompt", "format")): {"with_prompt": True},
    ("score", ("json", "format")): {"json": True, "format": "card"},
    ("score", ("why", "format")): {"why": "paper", "format": "card"},
    ("export", ("format", "raw", "rules", "verdicts")): {"format": "run", "raw": True},
    ("export", ("raw", "format")): {"raw": True, "format": "markdown"},
}


def values(command: str, clash: Clash) -> Iterator[Values]:
    """Values with which a row refuses: those above, or the first option alone, or beside each of the others."""
    first, *others = clash.options
    if (command, clash.options) in MEETING:
        yield MEETING[command, clash.options]
    elif (command, clash.options) == ("export", ("format", "out")):
        yield from ({"format": form} for form in ("run", "published", "parquet") if clash.is_there(form, None))
    elif clash.is_there is alone:
        yield {first: TYPED.get(first, True)}
    else:
        yield from ({name: TYPED.get(name, True) for name in (first, other)} for other in others if other != "format")


# The doors: each takes values, and is asked for nothing where it does not have them all


def line(command: str, given: Values, place: Path) -> str:
    """What the command line says to these options."""
    given = dict(given)
    known = {"label": [place], "check": [place], "score": [place], "export": [place], "judge": [place]}
    named = known.get(command, [place, place])
    if command in ("run", "exam", "doctor"):
        model = given.pop("subject" if command == "run" else "model", "openai/x" if command == "exam" else "sim")
        named = [] if command == "doctor" else [model]
    if command == "export":
        given.setdefault("format", "csv")
    words = [word for name, value in given.items() for word in (typed_as(name), *(() if value is True else (value,)))]
    ended = typed(command, *named, *words)
    assert ended.code == 2, ended
    return ended.err


def fields(given: Values) -> str:
    """Options as a file has them."""
    names = {"subject": "model"}
    known = {"subject": "sim", "judge": "sim-judge", "scenarios": "starter", **given}
    return "\n".join(f"{names.get(name, name.replace('_', '-'))} = {json.dumps(each)}" for name, each in known.items())


def file(given: Values, place: Path) -> str:
    """What a run whose options stand in a file is told."""
    (path := place / "run.toml").write_text(fields(given), "utf-8")
    ended = typed("run", path, "--out", place / "none")
    assert ended.code == 2, ended
    return ended.err


def sweep(given: Values, place: Path) -> str:
    """What a sweep is told of a run with these options."""
    (path := place / "sweep.toml").write_text(f"[[run]]\n{fields(given)}", "utf-8")
    ended = typed("sweep", path, "--out", place / "none")
    assert ended.code == 2, ended
    return ended.err


def python(given: Values, place: Path) -> str:
    """What `measure` raises for settings with these options."""
    known = {"subject": "sim", "judge": "sim-judge", "scenarios": "starter", **given}
    return raised(lambda: measure(Settings.of(**known), place / "none", {}))


def raised(does: Callable[[], object]) -> str:
    """What an error says."""
    with pytest.raises(MaskbenchError) as error:
        does()
    return str(error.value)


def check(given: Values, place: Path) -> str:
    """What a check from Python raises."""
    names = {"as_": "convention"}
    how = {names.get(name, name): value for name, value in given.items() if name != "max_lie"}
    return raised(lambda: check_run(place, Limits(given.get("max_lie")), **how))


PYTHON: Mapping[str, tuple[set[str], Callable[[Values, Path], str]]] = {
    "report": ({"public", "include_text"}, lambda given, place: raised(lambda: report(place, **given))),
    "check": ({"max_lie", "max_", "baseline", "baseline_verdicts", "baseline_lies_only", "rules", "as_"}, check),
    "exam": (
        {"short", "scenarios", "model"},
        lambda given, _: raised(
            lambda: paper_for(given.get("model", "openai/x"), given.get("short", False), "scenarios" in given)
        ),
    ),
    "export": (
        {"format", "out"},
        lambda given, place: raised(lambda: write(place, None, given["format"], None)),
    ),
}


def doors(command: str, clash: Clash) -> Iterator[Callable[[Values, Path], str]]:
    """The doors that have all options of a row, but for the task in Inspect, which tests_outside/inspect asks."""
    has = set(clash.options)
    if not has & set(IN_FILES) or command != "run":
        yield lambda given, place: line(command, given, place)
    if command in PYTHON and has <= PYTHON[command][0] and "markdown" not in clash.why:
        yield PYTHON[command][1]
    if command == "run" and has <= {"subject", *OPTIONS}:
        assert has <= {"subject", *(name.replace("-", "_") for name in FIELDS)}
        assert has <= set(PLACES)
        yield from (file, sweep, python)


@pytest.mark.parametrize(("command", "clash"), ROWS, ids=[f"{each}-{'-'.join(clash.options)}" for each, clash in ROWS])
def test_each_row_is_refused_from_each_door(command: str, clash: Clash, tmp_path: Path) -> None:
    """Whoever gives options that do not go together is told so in one sentence, wherever they are given."""
    for given in values(command, clash):
        said = f"{clash.why} {clash.remedy}".format_map(given)
        for door in doors(command, clash):
            assert said in " ".join(door(given, tmp_path).split()), (door, given)
    assert not (tmp_path / "none").exists()


def test_nowhere_else_is_an_option_refused_beside_another() -> None:
    """A refusal that names two options stands in the table, but for those that hang on what a file or a run holds."""
    beside = {
        "label.py": "a file that is there may hold labels",
        "begin.py": "the set has numbers",
        "formula_steps.py": "the run has nothing to take a share of",
        "boards.py": "the run is missing",
    }
    root, found = Path(maskbench.__file__).parent, set[str]()
    for path in root.rglob("*.py"):
        raises = (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Raise))
        texts = (ast.unparse(node.exc) for node in raises if node.exc and "hf" not in path.parts)
        named = (set(re.findall(r"(?<![\w-])--[a-z-]+", text)) & ALL for text in texts if text.startswith("UsageError"))
        found |= {path.name for names in named if len(names) > 1}
    assert found == beside.keys()
