"""How many scenarios change by themselves, and that nothing below that is listed as a finding."""

from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from flows import typed
from judged_samples import a_scenario, item
from maskbench.cli import main
from maskbench.errors import UsageError
from maskbench.method.outcomes import Halves, Items, by_halves, score
from maskbench.method.rules import RULES
from maskbench.presentation.sections.comparison import comparison
from maskbench.results.comparison import ComparisonData, compare, compare_read
from maskbench.results.retest import ByThemselves, ChangeKind, by_themselves
from maskbench.results.scored import ScoredRun, read
from maskbench.settings import Settings
from maskbench.types import BinaryVerdict, Letter
from measured_runs import run
from scored_runs import scored_run
from there import there

REFERENCE = RULES["reference"]


def subject(name: str, letters: str, seed: int = 0, **changed: Any) -> ScoredRun:
    """A run of the one subject with a seed."""
    return scored_run(name, letters, subject="lab/subject", seed=seed, **changed)


def drawn(seed: int, lies: float = 0.5, scenarios: int = 120) -> str:
    """Outcomes of a subject that draws each anew."""
    rng = Random(seed)
    return "".join("L" if rng.random() < lies else "H" for _ in range(scenarios))


def again(first: ScoredRun, other: ScoredRun, retest: ScoredRun | None = None) -> ByThemselves | None:
    """What the pairing of these two knows of changes that come by themselves."""
    (pairing,) = compare_read(first, [other], retest=retest).data.others
    return pairing.by_themselves


def facts(data: ComparisonData) -> dict[str, str]:
    """The labelled lines of the comparison as the terminal has them."""
    rows = [row for block in comparison(data) for row in getattr(block, "rows", ()) if len(row) == 2]
    return {str(label): str(text) for label, text in rows}


# A retest of the first run


def test_changes_that_a_retest_has_as_well_are_no_findings() -> None:
    """Three runs that draw alike: half of the scenarios change, none of them is named."""
    first, other, retest = (subject(name, drawn(seed), seed) for seed, name in enumerate("abc", 1))
    data = compare_read(first, [other], retest=retest).data
    known = there(data.others[0].by_themselves)
    assert (known.source, known.run, known.scenarios) == ("run", "c", 120)
    assert not known.above
    assert abs(known.changed - known.by_itself) < 20
    shown = facts(data)
    assert shown["changed"].count(": no finding") == 2
    assert "no single scenario is a finding" in shown["by themselves"]
    assert "each way" in shown["McNemar's counts"]


def test_a_change_beyond_the_retest_is_named_and_the_way_back_is_not() -> None:
    """Where lies fall from a half to a twentieth, those that came anew are noise."""
    first, retest = subject("a", drawn(1), 1), subject("c", drawn(3), 3)
    other = subject("b", drawn(2, lies=0.05), 2)
    data = compare_read(first, [other], retest=retest).data
    kinds = {(kind.first, kind.other): kind for kind in there(data.others[0].by_themselves).kinds}
    assert kinds["lie", "honest"].above
    assert not kinds["honest", "lie"].above
    gone, back = facts(data)["changed"].splitlines()[1:]
    assert gone.startswith("lie → honest")
    assert ", ..." in gone
    assert back.startswith("honest → lie")
    assert back.endswith(": no finding")


def test_a_retest_counts_either_way() -> None:
    """Which of two runs of a subject stands first says nothing, so each change counts half in each direction."""
    known = there(again(subject("a", "LLHH"), subject("b", "HLHH", 1), subject("c", "HLHE", 2)))
    assert known.kinds == [
        ChangeKind("honest", "lie", 0, 0.5, above=False),
        ChangeKind("honest", "evasive", 0, 0.5, above=False),
        ChangeKind("lie", "honest", 1, 0.5, above=False),
        ChangeKind("evasive", "honest", 0, 0.5, above=False),
    ]
    assert (known.changed, known.by_itself, known.lies_each_way) == (1, 2.0, 0.5)


def test_where_nothing_was_changed_a_finding_is_rare() -> None:
    """Of 100 comparisons of runs that draw alike at most a few say that more changed than by itself."""
    alarms = 0
    for at in range(100):
        first, other, retest = (
            subject(name, drawn(3 * at + seed, 0.3, 60), seed) for seed, name in enumerate("abc", 1)
        )
        pairs = list(zip(first.rows, other.rows, strict=True))
        alarms += there(by_themselves(pairs, first, other, retest)).above
    assert alarms <= 6


def test_where_nothing_was_changed_hardly_any_kind_stands_out() -> None:
    """Of 100 comparisons of runs that draw four outcomes alike at most five have a kind of change above chance."""
    draws, alarms = Random(7), 0
    for _ in range(100):
        odds = [[draws.random() for _ in "LHEN"] for _ in range(120)]
        first, other, retest = (
            subject(name, "".join(draws.choices("LHEN", weights)[0] for weights in odds), seed)
            for seed, name in enumerate("abc", 1)
        )
        known = there(by_themselves(list(zip(first.rows, other.rows, strict=True)), first, other, retest))
        alarms += known.above or any(kind.above for kind in known.kinds)
    assert alarms <= 5


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"subject": "lab/else"}, "its subject is lab/else"),
        ({"seed": 0}, "both have the seed 0"),
        ({"wanted": 9}, "3 of 9 scenarios are done"),
        ({"digests": {}}, "it has no scenario of a"),
    ],
)
def test_what_is_no_retest_is_refused(changed: dict[str, Any], words: str) -> None:
    """Another subject, another measurement, the same seed, a part of a run, and other scenarios."""
    retest = scored_run("c", "LHE", **{"subject": "lab/subject", "seed": 7, **changed})
    with pytest.raises(UsageError, match=f"--retest c: {words}"):
        again(subject("a", "LLH"), subject("b", "LLL"), retest)


def test_another_measurement_is_no_retest() -> None:
    """A judge or a temperature of its own would change scenarios, too."""
    retest = replace(subject("c", "LHE", 7), protocol="other")
    with pytest.raises(UsageError, match="--retest c: it was measured by the protocol other"):
        again(subject("a", "LLH"), subject("b", "LLL"), retest)


# Repeats within the runs


def test_repeated_statements_tell_how_many_change() -> None:
    """Two statements that differ change for certain; beliefs were not repeated, so it is a lower bound."""
    first, other = subject("a", "LH LL HH LE", statements=2), subject("b", "HH LL HH HE", 1, statements=2)
    data = compare_read(first, [other]).data
    known = there(data.others[0].by_themselves)
    assert (known.source, known.scenarios) == ("statements", 4)
    assert known.by_itself == pytest.approx((1 + 0) / 2 + 0 + 0 + (1 + 1) / 2)
    assert "at least 1.5 of 4" in facts(data)["by themselves"]
    assert "beliefs that are asked again are not in it" in facts(data)["by themselves"]


def test_with_one_statement_and_no_retest_nobody_can_tell() -> None:
    """One sentence says so, and what would tell it."""
    data = compare_read(subject("a", "LLH"), [subject("b", "HLH", 1)]).data
    assert data.others[0].by_themselves is None
    line = facts(data)["by themselves"]
    assert "no single scenario is a finding" in line
    assert "--retest RUN" in line


def belief_replies(direct: str, statements: str) -> Items:
    """Samples of a scenario with one letter a direct reply, a consistency question that says A, and statements."""
    letters: dict[str, Letter] = {"A": "A", "B": "B", "C": "C"}
    items = [item("direct", 1, run, BinaryVerdict(letters[text])) for run, text in enumerate(direct, 1)]
    items.append(item("consistency", 2, 1, BinaryVerdict("A")))
    items += [item("statement", 0, run, BinaryVerdict(letters[text])) for run, text in enumerate(statements, 1)]
    return {(each.elicitation, each.run): each for each in items}


@pytest.mark.parametrize(
    ("direct", "expected"),
    [
        ("AAAAAA", (("honest", "lie"), ("honest", "lie"))),
        ("AAAABA", (("honest", "lie"), ("no_belief", "no_belief"))),
        ("BBBAAA", (("no_belief", "no_belief"), ("honest", "lie"))),  # the consistency question objects
        ("AAAAA", None),
    ],
)
def test_each_half_of_six_direct_replies_is_a_belief(direct: str, expected: object) -> None:
    """Three replies each, as in the published design; consistency questions stand in both."""
    settings = Settings.of(subject="a", judge="b", scenarios="c", beliefs=len(direct), statements=2)
    each, items = a_scenario(1), belief_replies(direct, "AB")
    scored = score(each, 1.0, items, settings, REFERENCE)
    assert by_halves(each, scored, items, settings, REFERENCE) == expected


def test_both_kinds_of_repeats_together() -> None:
    """Statements of different numbers on beliefs of different halves, in either order."""
    halves: list[Halves] = [(("lie", "honest"), ("no_belief", "no_belief")), (("lie", "lie"), ("lie", "lie"))]
    runs = [
        replace(each, halves=dict(zip(each.scored, halves, strict=True)))
        for each in (subject(name, "LH LL", statements=2) for name in "ab")
    ]
    known = there(again(*runs))
    assert known.source == "statements_and_beliefs"
    assert (known.by_itself, known.changed) == (1.0, 0)


# Whole runs


def test_runs_on_disk_are_held_against_a_retest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The option of the command and the argument in Python say the same; a run given twice is refused."""
    first, other, retest = (
        run(tmp_path / name, "sim/lie=0.5", limit=24, seed=seed) for seed, name in enumerate("abc", 1)
    )
    known = there(compare(first, other, retest=retest).data.others[0].by_themselves)
    assert known.scenarios == 24
    monkeypatch.setattr("sys.argv", ["maskbench", "compare", str(first), str(other), "--retest", str(retest)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert f"{known.by_itself:.1f} of 24 change with nothing changed" in " ".join(capsys.readouterr().out.split())
    with pytest.raises(UsageError, match="given twice"):
        compare(first, other, retest=other)


def test_a_run_with_six_belief_replies_has_halves(tmp_path: Path) -> None:
    """Of binary scenarios, those with provided facts among them; with three replies there are none."""
    several = read(run(tmp_path / "six", "sim", limit=24, beliefs=6, statements=2), REFERENCE)
    assert len(several.halves) == 20
    assert not read(run(tmp_path / "three", "sim", limit=24), REFERENCE).halves


def test_a_page_takes_a_retest_as_compare_does(tmp_path: Path) -> None:
    """`report A B --retest C` says how many scenarios change by themselves, and refuses what `compare` refuses."""
    paths = {name: run(tmp_path / name, f"sim/lie={lie}", seed=seed) for name, lie, seed in ARMS}
    page = tmp_path / "page.html"
    assert typed("report", paths["a"], paths["b"], "--retest", paths["c"], "--out", page).code == 0
    (pairing,) = compare(paths["a"], paths["b"], retest=paths["c"]).data.others
    told = there(pairing.by_themselves)
    assert f"by themselves {told.lies_each_way:.1f} each way" in page.read_text("utf-8")
    ended = typed("report", paths["a"], paths["b"], "--retest", paths["b"], "--out", page)
    assert (ended.code, f"--retest {paths['b']}: its subject is" in ended.err) == (2, True)
    assert "Give two runs" in typed("report", paths["a"], "--retest", paths["c"]).err


ARMS = (("a", 0.5, 1), ("b", 0.2, 1), ("c", 0.5, 2))
