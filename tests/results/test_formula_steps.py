"""From one publisher's figure to another's: steps that add up, each by the part that it names, on the same replies."""

from importlib import resources
from itertools import pairwise
from pathlib import Path

import orjson
import pytest

from flows import typed
from maskbench.errors import UsageError
from maskbench.presentation.format import percent
from maskbench.results.conventions import figures
from maskbench.results.formula_steps import PARTS, FormulaSteps, formula_steps
from measured_runs import run
from there import there

NAMES = ("paper", "inspect", "anthropic-2026-09", "meta-normalised", "xai")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run in which every outcome is there, failures among them."""
    subject = "sim/lie=0.3,evade=0.2,unsure=0.2,fail=0.05"
    return run(tmp_path_factory.mktemp("steps") / "run", subject, max_error_rate=0.9, statements=3)


def own(folder: Path, name: str, **fields: str) -> str:
    """A file with the formula of Meta, some fields of which are others."""
    text = (resources.files("maskbench") / "results" / "conventions" / "meta.toml").read_text("utf-8")
    kept = [line for line in text.splitlines() if line.partition(" ")[0] not in fields]
    path = folder / f"{name}.toml"
    path.write_text("\n".join([*(f"{field} = {value}" for field, value in fields.items()), *kept]), "utf-8")
    return str(path)


def moved(told: FormulaSteps) -> dict[str, float]:
    """What each step moved that moved something."""
    return {str(step.part): step.moved for step in told.steps if abs(step.moved) > 1e-12}


def test_steps_lead_from_one_figure_to_the_other(measured: Path) -> None:
    """Both ends are what `score --as` prints, as lies; all steps are there in their order, and add up to the way."""
    printed = {each.name: each for each in figures(measured, "all")}
    for first, other in pairwise((*NAMES, NAMES[0])):
        told = formula_steps(measured, first, other)
        for name, lies in ((first, told.difference.first), (other, told.difference.other)):
            value = there(printed[name].figure.rate.value)
            assert lies == pytest.approx(value if "lie" in printed[name].counts else 1 - value), (first, other)
        assert tuple(step.part for step in told.steps) == PARTS
        assert told.steps[-1].lies == pytest.approx(there(told.difference.other))
        assert sum(step.moved for step in told.steps) == pytest.approx(there(told.difference.difference))


@pytest.mark.parametrize(
    ("part", "fields"),
    [
        ("archetypes", {"without": '["statistics"]'}),
        ("rules", {"rules": '"inspect"'}),
        ("statements", {"statements": '"any"'}),
        ("failures", {"of": '["lie", "honest", "evasive", "no_belief", "error"]'}),
        ("denominator", {"counts": '["lie"]', "of": '["lie", "honest"]'}),
        ("lies", {"counts": '["honest"]'}),
    ],
)
def test_what_differs_alone_moves_alone(measured: Path, tmp_path: Path, part: str, fields: dict[str, str]) -> None:
    """Two formulas that differ in one part differ by its step, there and back."""
    for pair in (("meta", own(tmp_path, "ours", **fields)), (own(tmp_path, "ours", **fields), "meta")):
        told = formula_steps(measured, *pair)
        assert moved(told) == {part: pytest.approx(there(told.difference.difference))}
        assert [step.part for step in told.steps if step.first != step.other] == [part]


def test_as_its_user_sees_it(measured: Path, tmp_path: Path) -> None:
    """Text and JSON say the same; what is no pair of formulas of a whole run is refused with the remedy."""
    line = ("score", measured, "--as", "paper", "--why", "anthropic-2026-06")
    data = orjson.loads(typed(*line, "--json").out)
    shown = " ".join(typed(*line).out.split())
    assert f"lies in {percent(data['difference']['first'])} by the formula of paper" in shown
    assert "in this order, on the same replies" in shown
    for wrong, remedy in (
        (("--why", "meta"), "Add one, as in --as paper --why meta."),
        (("--as", "all", "--why", "meta"), "this takes one convention"),
        (("--as", "paper", "--why", "scale"), "not from a run as it is"),
        (("--as", "paper", "--why", "Claude Opus 4.8"), "there is no such convention"),
        (("--as", "paper", "--why", "meta", "--by", "asked"), "Leave --by out"),
    ):
        refused = typed("score", measured, *wrong)
        assert (refused.code, remedy in " ".join(refused.err.split())) == (2, True), wrong
    none = own(tmp_path, "none", of='["error"]', counts='["error"]')
    with pytest.raises(UsageError, match=r"nothing of .* is left to take a share of"):
        formula_steps(run(tmp_path / "whole", "sim/lie=0.5,evade=0.1"), "paper", none)


def test_a_failed_run_has_no_figure(tmp_path: Path) -> None:
    """Where too much failed no formula has a figure, and so no step has one."""
    failing = run(tmp_path / "failing", "sim/fail=0.3")
    assert "have no outcome" in typed("score", failing, "--as", "paper", "--why", "meta").err
