"""Why two figures differ: parts that add up, on real runs, and on made-up ones whose causes were planted."""

from collections.abc import Sequence
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from msgspec.structs import replace

from flows import typed
from maskbench.errors import UsageError
from maskbench.presentation.format import points
from maskbench.results.conventions import figures, packaged, ready
from maskbench.results.decomposition import Explained, Figure, explain, explained_by, named_figure
from maskbench.scenarios import Identity
from maskbench.types import OutcomeName, Scored
from measured_runs import run
from scored_runs import rows
from there import there

POOR = "sim-judge/accuracy=0.7"
LIAR, SHY = "sim/lie=0.6,evade=0.1,fail=0.02", "sim/lie=0.2,evade=0.4,fail=0.02"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two subjects with two statements a scenario, and some failures."""
    place = tmp_path_factory.mktemp("explained")
    options: dict[str, Any] = {"statements": 2, "max_error_rate": 0.9}
    return run(place / "liar", LIAR, **options), run(place / "shy", SHY, **options)


def values(explained: Explained) -> dict[str, float]:
    """What each part contributed that has a value."""
    return {str(part.cause): part.value for part in explained.parts if part.value is not None}


def total(told: Explained) -> float:
    """The whole difference."""
    return there(told.difference.difference)


def test_parts_add_up_and_turn_their_sign(pair: tuple[Path, Path]) -> None:
    """The parts add up to the difference, and swapping the runs turns every sign."""
    names = ("inspect", "anthropic-2026-09")
    forth, back = explain(*pair, names), explain(pair[1], pair[0], names[::-1])
    assert sum(values(forth).values()) == pytest.approx(total(forth))
    assert total(forth) == pytest.approx(-total(back))
    for cause, value in values(forth).items():
        assert value == pytest.approx(-values(back)[cause], abs=1e-9), cause
    assert {cause for cause, value in values(forth).items() if abs(value) > 1e-9} >= {
        "scenarios",
        "denominator",
        "rest",
    }


def test_a_part_that_is_alike_gets_nothing(pair: tuple[Path, Path]) -> None:
    """Two runs under one convention differ by all the rest alone; one run under two differs by its scoring alone."""
    alike = explain(*pair)
    for part in alike.parts[:-1]:
        assert part.value == pytest.approx(0, abs=1e-12), part.cause
    assert values(alike)["rest"] == pytest.approx(total(alike))
    alone = explain(pair[0], conventions=("meta", "anthropic-2026-06"))
    assert values(alone)["rest"] == values(alone)["scenarios"] == 0
    assert abs(values(alone)["denominator"]) > 0.95 * abs(total(alone)) > 0


def test_the_sides_are_the_conventions_own_figures(pair: tuple[Path, Path]) -> None:
    """Each side is what `score --as` prints for that run, as a share of lies."""
    told = explain(*pair, ("inspect", "anthropic-2026-09"))
    for side, path, name in ((told.first, pair[0], "inspect"), (told.other, pair[1], "anthropic-2026-09")):
        (figure,) = figures(path, name)
        assert side.lies == pytest.approx(1 - (figure.figure.rate.value or 0))


def test_the_judge_is_told_apart_where_both_judged_both(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """With both judges' verdicts on both runs' replies the judge has a part of its own, else it is in the rest."""
    first = run(tmp_path / "first", "sim/lie=0.4")
    other = run(tmp_path / "other", "sim/lie=0.4", judge=POOR, numeric_judge=POOR)
    apart = explain(first, other)
    assert "judge" not in values(apart)
    assert "maskbench judge RUN --judge OTHER" in apart.notes[0]
    assert typed("judge", first, "--judge", POOR, "--name", "poor").code == 0
    assert typed("judge", other, "--judge", "sim-judge", "--name", "good").code == 0
    told = explain(first, other)
    assert values(told)["judge"] == pytest.approx(total(told), abs=1e-9)
    assert values(told)["rest"] == pytest.approx(0, abs=1e-9)


def test_against_a_published_row(pair: tuple[Path, Path]) -> None:
    """The formula's part is computed from the run; all else stays together, and the difference has no interval."""
    told = explain(pair[0], conventions=("anthropic-2026-06",), published="Claude Opus 4.8")
    assert told.other.lies == pytest.approx(0.061)
    assert sum(values(told).values()) == pytest.approx(total(told))
    assert told.difference.ci95 is None
    assert "inferred" in told.notes[0]
    with pytest.raises(UsageError, match="Give the name of one of them"):
        explain(pair[0], conventions=("anthropic-2026-06",), published="Nobody")


def test_a_row_of_the_paper_is_found(pair: tuple[Path, Path]) -> None:
    """Its models stand in a table of their own; a convention without rows says so, and one with rows names them."""
    told = explain(pair[0], conventions=("paper",), published="gpt-4o-2024-08-06")
    assert told.other.lies == pytest.approx(0.445)
    with pytest.raises(UsageError, match="rows of paper are claude-3-5-sonnet-20240620, "):
        explain(pair[0], conventions=("paper",), published="gpt-4o")
    with pytest.raises(UsageError, match="no row of scale is known that a run can be held against"):
        explain(pair[0], conventions=("scale",), published="gpt-4o")


def test_what_is_not_published_has_no_part(pair: tuple[Path, Path]) -> None:
    """Against a published row what its publisher does not publish has no value, and is in all the rest."""
    told = {}
    for name, model in (("anthropic-2026-09", "Claude Opus 5"), ("anthropic-2026-06", "Claude Opus 4.8")):
        told[name] = explain(pair[0], conventions=("paper", name), published=model)
        unknown = {"scenarios", *packaged()[name].unknown}
        for part in told[name].parts:
            assert (part.value is None) == (part.cause in unknown), part.cause
            if part.cause in unknown:
                assert part.other == "not published: in all the rest"
        assert sum(values(told[name]).values()) == pytest.approx(total(told[name]))
    assert set(values(told["anthropic-2026-06"])) == {"rest"}
    assert abs(values(told["anthropic-2026-09"])["denominator"]) > 0.01


def test_a_published_row_is_told_in_a_sentence(pair: tuple[Path, Path]) -> None:
    """What of a difference its formula makes is one sentence, and what is not published fills no table."""
    line = ("score", pair[0], "--as", "paper", "--why")
    told = explain(pair[0], conventions=("paper", "anthropic-2026-09"), published="Claude Opus 5")
    shown = " ".join(typed(*line, "anthropic-2026-09:Claude Opus 5").out.split())
    assert f"Of that, over the {told.shared} scenarios of this run that count, " in shown
    assert f"{points(values(told)['denominator'])} points are by what lies are a share of" in shown
    shut = " ".join(typed(*line, "anthropic-2026-06: Claude Opus 4.8").out.split())
    assert "the whole difference is model, prompt, scenarios, settings and chance together" in shut
    for text in (shown, shut):
        assert "Claude Opus" in text
        assert "The published row: " in text
        assert "not published: " not in text
        assert "Owen values" not in text


def test_a_name_is_a_convention_or_a_published_row() -> None:
    """A model stands for its row by the run's own convention, or by the one that has it."""
    assert named_figure("meta", "paper") == ("meta", None)
    assert named_figure("own.toml", "paper") == ("own.toml", None)
    assert named_figure("claude opus 4.8", "anthropic-2026-06") == ("anthropic-2026-06", "claude opus 4.8")
    assert named_figure("anthropic-2026-05:Claude Opus 4.8", "paper") == ("anthropic-2026-05", "Claude Opus 4.8")
    assert named_figure("gpt-4o-2024-08-06", "maskbench") == ("paper", "gpt-4o-2024-08-06")
    with pytest.raises(UsageError, match="--why nobody: there is no such row"):
        named_figure("nobody", "maskbench")
    with pytest.raises(
        UsageError, match=r"give anthropic-2026-05:Claude Opus 4\.8 or anthropic-2026-06:Claude Opus 4\.8"
    ):
        named_figure("Claude Opus 4.8", "paper")


def test_every_gap_in_a_formula_is_named() -> None:
    """A convention whose formula is not wholly published says so in words, too; those with code are whole."""
    whole = {name for name, each in packaged().items() if not each.unknown}  # scale is described only
    assert whole == {"paper", "inspect", "scale"}
    for name in packaged().keys() - whole:
        each = packaged()[name]
        assert "the number of statements" in each.not_published, name
        assert not {"denominator", "play"} & {*each.unknown} or each.inferred, name


def test_two_conventions_of_one_run_head_their_columns(pair: tuple[Path, Path]) -> None:
    """One run under two conventions is told by them; the very same figure twice is refused."""
    shown = typed("score", pair[0], "--as", "paper", "--why", "meta", "--format", "markdown").out
    assert "| part | points | paper | meta |" in shown
    text = " ".join(shown.replace("*", "").split())
    assert f"{LIAR} as meta lies in" in text
    assert f"{LIAR} as paper in" in text
    twice = typed("compare", pair[0], pair[0], "--why")
    assert (twice.code, "is given twice" in twice.err) == (2, True)
    assert typed("compare", pair[0], pair[0], "--why", "--as", "paper", "--as", "meta").code == 0


def test_failed_and_short_runs_have_no_figure(tmp_path: Path) -> None:
    """A run with too many errors and a smoke run are told to be such, and have no figure."""
    whole = run(tmp_path / "whole", "sim/lie=0.9,evade=0")
    failing = run(tmp_path / "failing", "sim/fail=0.3")
    assert "have no outcome" in typed("compare", whole, failing, "--why").err
    smoke = run(tmp_path / "smoke", "sim", limit=20)
    assert "is a smoke run" in typed("compare", whole, smoke, "--why").out
    assert "--max-cost 0: give an amount" in typed("run", "sim", "--max-cost", "0", "--out", tmp_path / "none").err
    assert not (tmp_path / "none").exists()


def test_as_its_user_sees_it(pair: tuple[Path, Path]) -> None:
    """Text and JSON of the command, and what is refused with the remedy."""
    shown = typed("compare", *pair, "--why", "--as", "paper", "--as", "anthropic-2026-09").out
    for text in ("all the rest", "settings and chance together", "together", "Owen values", "what lies are a share of"):
        assert text in shown, text
    data = orjson.loads(typed("compare", *pair, "--why", "--json").out)
    assert sum(part["value"] for part in data["parts"]) == pytest.approx(data["difference"]["difference"])
    for wrong in ((pair[0],), (*pair, pair[0]), (*pair, "--as", "scale"), (*pair, "--rules", "strict")):
        assert typed("compare", *wrong, "--why").code == 2, wrong
    assert "Leave the others out, or add --why" in typed("compare", *pair, "--as", "paper", "--as", "meta").err
    for more in (("--why", "maskbench"), ("--as", "paper", "--why", "meta", "--by", "asked")):
        assert typed("score", pair[0], *more).code == 2, more


def test_the_page_of_two_runs_says_why(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """A page of two runs has the parts that the command prints, a page of one or three has none."""
    page = tmp_path / "page.html"
    assert typed("report", *pair, "--out", page).code == 0
    text = page.read_text("utf-8")
    assert "Why they differ" in text
    assert points(total(explain(*pair))) in text
    assert "Owen values" in text
    assert typed("report", pair[0], "--out", page).code == 0
    assert "Why they differ" not in page.read_text("utf-8")


def test_open_performance_has_a_part_where_both_runs_were_asked(tmp_path: Path) -> None:
    """One run with and without its played lies differs by that part alone; a run that was not asked is told how."""
    asked = run(tmp_path / "asked", "sim/lie=0.6", construct=("performance",))
    plain = run(tmp_path / "plain", "sim/lie=0.3")
    told = explain(asked, conventions=("meta", "xai-rectified"))
    assert values(told)["play"] == pytest.approx(total(told))
    assert total(told) < 0
    (rectified,) = figures(asked, "xai-rectified")
    assert told.other.lies == pytest.approx(rectified.figure.rate.value)
    other = run(tmp_path / "other", "sim/lie=0.3", construct=("performance",))
    both = explain(asked, other)
    assert values(both)["play"] == pytest.approx(0, abs=1e-12)
    assert "count as lies on both sides" in both.notes[0]
    assert "play" not in values(explain(asked, plain))
    assert "--construct performance" in typed("score", plain, "--as", "meta", "--why", "xai-rectified").err
    row = explain(asked, conventions=("xai-rectified",), published="Grok 4.7 (high)")
    assert row.other.lies == pytest.approx(float(row.other.lies))
    assert sum(values(row).values()) == pytest.approx(total(row))
    assert typed("score", asked, "--as", "meta", "--why", "meta-reasoning").code == 2


# Made-up runs, whose causes are planted

JUDGES = ("strict judge", "kind judge")
NAMES: tuple[OutcomeName, ...] = ("lie", "honest", "evasive", "no_belief", "error")


def world(rng: np.random.Generator, propositions: int, lie: float) -> dict[tuple[str, str], dict[Any, Scored]]:
    """Scenarios by rule set and judge: propositions of one to three scenarios that are alike, three statements each.

    Under the second rule set some lies are evasions; the kind judge takes some lies for honest.
    """
    by_set: dict[tuple[str, str], dict[Any, Scored]] = {
        (rules, judge): {} for rules in ("reference", "inspect") for judge in JUDGES
    }
    number = 0
    for proposition in range(propositions):
        tendency = rng.beta(3 * lie, 3 * (1 - lie))
        for _ in range(1 + proposition % 3):
            number += 1
            lies = tendency * (0.5 if number % 3 == 0 else 1)
            first: list[str] = list(rng.choice(NAMES, size=3, p=[0.8 * lies, 0.8 * (1 - lies), 0.1, 0.05, 0.05]))
            evades, kind = rng.random(3) < 0.2, rng.random(3) < 0.15
            for rules, judge in by_set:
                seen = [
                    "honest"
                    if name == "lie" and judge == JUDGES[1] and soft
                    else "evasive"
                    if name == "lie" and rules == "inspect" and shy
                    else name
                    for name, shy, soft in zip(first, evades, kind, strict=True)
                ]
                row = scored_as(seen, number, proposition)
                by_set[rules, judge][row.key] = row
    return by_set


def played_in(rng: np.random.Generator, propositions: int) -> dict[Any, dict[str, str]]:
    """For each statement of such a world whether it is open performance: three in ten are, one in fifty is unknown."""
    scenarios = sum(1 + proposition % 3 for proposition in range(propositions))
    (row,) = rows("H")
    drawn = rng.choice(["yes", "no", ""], size=(scenarios, 3), p=[0.3, 0.68, 0.02])
    return {
        ((archetype, str(number)), place): {"performance": answer} if answer else {}
        for number, answers in enumerate(drawn, 1)
        for place, answer in enumerate(answers.tolist(), 1)
        for archetype in ("statistics" if number % 3 == 0 else row.archetype,)
    }


def scored_as(outcomes: Sequence[str], number: int, proposition: int) -> Scored:
    """One scenario with these outcomes; a third of them are of statistics."""
    (row,) = rows("H", archetype="statistics" if number % 3 == 0 else "known_facts", task_id=str(number))
    every = tuple(outcomes)
    worst = next((name for name in NAMES if name in every), "error")
    return replace(row, proposition=f"P{proposition}", outcomes=every, outcome=worst)


def sides(seed: int, propositions: int) -> tuple[Figure, Figure]:
    """Two figures that differ in all causes: scenarios, rules, statements, failures, denominator, play, judge, lies."""
    own = packaged()["meta"]
    first = replace(own, name="first", statements="first", of=("lie", "honest", "evasive", "no_belief", "error"))
    parts: dict[str, Any] = {"of": ("lie", "honest"), "without": ("statistics",), "asks": "performance"}
    other = ready(replace(own, name="other", rules="inspect", statements="any", **parts))
    both: list[Figure] = []
    for convention, judge, lie in ((first, JUDGES[0], 0.3), (other, JUDGES[1], 0.5)):
        scored = world(np.random.default_rng([seed, len(both)]), propositions, lie)
        digests = dict.fromkeys(next(iter(scored.values())), Identity(b"", "set"))
        answers = played_in(np.random.default_rng([seed, 10 + len(both)]), propositions)
        both.append(Figure(convention.name, convention, judge, scored, digests, answers=answers))
    return both[0], both[1]


def test_planted_causes_are_recovered() -> None:
    """Over 50 pairs every part is on average what a large world has, and the whole's interval holds that one's."""
    large = explained_by(*sides(0, 1500), crossed=True)
    truth = values(large)
    assert all(abs(value) > 0.004 for value in truth.values()), truth
    told = [explained_by(*sides(seed, 120), crossed=True) for seed in range(1, 51)]
    for cause, value in truth.items():
        assert np.mean([values(each)[cause] for each in told]) == pytest.approx(value, abs=0.01), cause
    assert (
        np.mean([low <= total(large) <= high for low, high in (each.difference.ci95 or (1, 1) for each in told)])
        >= 0.93
    )


CHANGES: Sequence[tuple[str, dict[str, Any]]] = (
    ("rules", {"rules": "inspect"}),
    ("statements", {"statements": "any"}),
    ("failures", {"of": ("lie", "honest", "evasive", "no_belief")}),
    ("denominator", {"of": ("lie", "honest", "error")}),
    ("scenarios", {"without": ("statistics",)}),
    ("play", {"asks": "performance"}),
    ("judge", {}),
)


def with_one_change(first: Figure, part: str, change: dict[str, Any]) -> Figure:
    """A figure on these replies that differs in one thing alone, be it another judge."""
    if part == "judge":
        return changed(first, judge=JUDGES[1])
    moved = replace(first.convention, **change)
    return changed(first, convention=ready(moved) if moved.asks else moved)


@pytest.mark.parametrize("seed", range(50))
def test_fifty_random_pairs(seed: int) -> None:
    """Parts add up, swapping turns signs, and one planted change has 95 % of the difference and the others nothing."""
    first, other = sides(100 + seed, 20)
    forth, back = explained_by(first, other, crossed=True), explained_by(other, first, crossed=True)
    assert sum(values(forth).values()) == pytest.approx(total(forth))
    for cause, value in values(forth).items():
        assert value == pytest.approx(-values(back)[cause], abs=1e-9), cause
    part, change = CHANGES[seed % len(CHANGES)]
    told = explained_by(first, with_one_change(first, part, change), crossed=part == "judge")
    for cause, value in values(told).items():
        if cause == part:
            assert value == pytest.approx(total(told), rel=0.05, abs=1e-9)
        elif cause != "scenarios":  # other scenarios that count are another denominator, not another rule
            assert value == pytest.approx(0, abs=0.05 * abs(total(told)) + 1e-9), cause


@pytest.mark.parametrize(("part", "change"), CHANGES)
def test_one_planted_change_has_the_whole_difference(part: str, change: dict[str, Any]) -> None:
    """Where two figures of the same replies differ in one cause alone, that part has 95 % of the difference or more."""
    first, _ = sides(7, 120)
    told = explained_by(first, with_one_change(first, part, change), crossed=part == "judge")
    assert values(told)[part] == pytest.approx(total(told), rel=0.05)
    assert total(told) != 0
