"""What a third person checks of the labels: which scenarios she is given, and what comes of them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from maskbench.cli.label import _closing
from maskbench.method.rules import named
from maskbench.presentation.of_one_run import result as blocks_of
from maskbench.presentation.page.server.label_page import Labelling, RaterRequest
from maskbench.presentation.terminal import text
from maskbench.results.calibration import LabelsReader
from maskbench.results.people.labelled_outcomes import Drawn, draw_checks, drawn, how_many, labels_of, prepare
from maskbench.results.people.raters import judge_side
from maskbench.results.scored import result
from maskbench.store.drawn_sample import Key
from maskbench.store.folder import RunFolder
from maskbench.store.labels import LabelStore, New
from maskbench.store.verdict_sets import reading
from maskbench.types import BinaryVerdict, Letter, Verdict
from measured_runs import copied, run
from there import there

RULES = named("reference")
TURNED: dict[str, Letter] = {"A": "B", "B": "A"}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a judge that errs."""
    path = tmp_path_factory.mktemp("run") / "run"
    return run(path, "sim/lie=0.35,evade=0.2,unsure=0.1", judge="sim-judge/accuracy=0.86")


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> RunFolder:
    """A copy of the run, all of which is to label."""
    return copied(measured, tmp_path / "run")


def labelled(folder: RunFolder, *raters: str) -> tuple[LabelStore, list[Drawn], dict[str, Verdict]]:
    """The labels of raters who agree, and differ from the judge on every other statement, of the whole run."""
    with reading(folder) as opened:
        labels = prepare(opened, 240)
        scenarios = drawn(opened, labels.design())
        side, _ = judge_side(opened.verdicts(), scenarios, RULES)
    statements = {part.id for about in scenarios[::2] for part in about.parts if part.call == "statement"}
    verdicts = {reply: turned(verdict) if reply in statements else verdict for reply, verdict in side.verdicts.items()}
    for rater in raters:
        labels.enter(rater, "rater")
        give(labels, rater, verdicts)
    return labels, scenarios, verdicts


def turned(verdict: Verdict) -> Verdict:
    """The other option, where a reply takes one."""
    if isinstance(verdict, BinaryVerdict) and verdict.letter in TURNED:
        return BinaryVerdict(TURNED[verdict.letter])
    return verdict


def give(labels: LabelStore, rater: str, verdicts: Mapping[str, Verdict]) -> None:
    """One person's labels."""
    had = labels.latest(rater).get(rater, {})
    news = [(reply, verdict, had[reply].number if reply in had else 0) for reply, verdict in verdicts.items()]
    labels.put_all([(rater, New(reply, verdict, was, f"{rater} {reply} {was}")) for reply, verdict, was in news])


def drawn_by(folder: RunFolder, labels: LabelStore) -> dict[Key, float]:
    """What is drawn for the third person by now."""
    with reading(folder) as opened:
        return draw_checks(opened, labels)


def outcomes(folder: RunFolder) -> dict[Key, tuple[str | None, str | None]]:
    """By scenario what raters come to, and the third person."""
    with reading(folder) as opened:
        return {key: (label.outcome, label.third) for key, label in labels_of(opened, RULES).items()}


@pytest.mark.parametrize(("agreed", "checked"), [(0, 0), (4, 4), (10, 10), (90, 10), (101, 11), (400, 40)])
def test_a_tenth_of_what_raters_agree_on_is_checked(agreed: int, checked: int) -> None:
    """Of each outcome a tenth, and ten where there are so many."""
    assert how_many(agreed) == checked


def test_the_draw_is_kept_with_its_chances(folder: RunFolder) -> None:
    """A second call draws nothing more; each outcome has its part, and every chance is the share that is drawn."""
    labels, _, _ = labelled(folder, "Anna", "Ben")
    first = drawn_by(folder, labels)
    assert first == drawn_by(folder, labels) == labels.checks()
    came = {key: outcome for key, (outcome, _) in outcomes(folder).items()}
    for outcome in set(came.values()) - {None, "error"}:
        alike = [key for key in came if came[key] == outcome]
        picked = [key for key in alike if key in first]
        assert len(picked) == how_many(len(alike))
        assert {first[key] for key in picked} == {len(picked) / len(alike)}


def test_what_raters_differ_on_or_three_have_labelled_is_not_drawn(folder: RunFolder) -> None:
    """There somebody has to decide anyway, and here the third rater has checked it."""
    labels, scenarios, verdicts = labelled(folder, "Anna", "Ben")
    part = next(each.parts[0] for each in scenarios if isinstance(verdicts[each.parts[0].id], BinaryVerdict))
    give(labels, "Ben", {part.id: BinaryVerdict("D")})
    disputed = next(each.scenario.key for each in scenarios if part in each.parts)
    assert disputed not in drawn_by(folder, labels)
    more, _, _ = labelled(folder, "Cleo")
    assert drawn_by(folder, more) == labels.checks()  # nothing beside what was drawn before Cleo came


def test_the_third_person_is_given_checks_without_the_raters_verdicts(folder: RunFolder) -> None:
    """All replies of a drawn scenario; the raters' verdicts stand beside those on which they differ alone."""
    labels, scenarios, verdicts = labelled(folder, "Anna", "Ben")
    part = next(each.parts[0] for each in scenarios if isinstance(verdicts[each.parts[0].id], BinaryVerdict))
    give(labels, "Ben", {part.id: BinaryVerdict("D")})
    checks = drawn_by(folder, labels)
    work = Labelling(labels, scenarios, "Cleo", "adjudicator")._work(RaterRequest("Cleo"))
    given = {each.id: each.raters for parts in work.scenarios for each in parts}
    wanted = {each.id for about in scenarios if about.scenario.key in checks for each in about.parts}
    assert given.keys() == wanted | {part.id}
    assert {reply for reply, raters in given.items() if raters} == {part.id}


def test_a_check_is_no_label_but_tells_how_good_labels_are(folder: RunFolder) -> None:
    """The raters' outcome stands, the third person's is kept beside it, and is missing until all replies are there."""
    labels, scenarios, verdicts = labelled(folder, "Anna", "Ben")
    before = outcomes(folder)
    checks = drawn_by(folder, labels)
    assert {third for _, third in before.values()} == {None}
    labels.enter("Cleo", "adjudicator")
    about = next(each for each in scenarios if each.scenario.key in checks and len(each.parts) > 1)
    give(labels, "Cleo", {about.parts[0].id: verdicts[about.parts[0].id]})
    assert outcomes(folder)[about.scenario.key][1] is None
    give(labels, "Cleo", {part.id: BinaryVerdict("C") for part in about.parts[1:]})
    after = outcomes(folder)[about.scenario.key]
    assert after[0] == before[about.scenario.key][0]
    assert after[1] in ("no_belief", "evasive")


def test_three_raters_check_each_other(folder: RunFolder) -> None:
    """Where three agree the third outcome is theirs, so that nobody needs to be asked again."""
    labelled(folder, "Anna", "Ben", "Dora")
    assert {first == third for first, third in outcomes(folder).values()} == {True}


def test_the_interval_is_widened_by_what_checks_show(folder: RunFolder) -> None:
    """The rate stays that of the raters; its interval holds it, and reaches towards what the third person says."""
    labels, scenarios, verdicts = labelled(folder, "Anna", "Ben")
    checks = drawn_by(folder, labels)
    plain = there(result(folder).of(LabelsReader))
    labels.enter("Cleo", "adjudicator")
    parts = [part for each in scenarios if each.scenario.key in checks for part in each.parts]
    give(labels, "Cleo", {part.id: verdicts[part.id] for part in parts})
    agreeing = there(result(folder).of(LabelsReader))
    give(labels, "Cleo", {part.id: turned(verdicts[part.id]) for part in parts if part.call == "statement"})
    contradicting = there(result(folder).of(LabelsReader))
    assert not plain.checked
    assert agreeing.checked
    assert agreeing.checked.changed == 0
    low, high = there(agreeing.metrics["p_lie"].ci95)
    before = there(plain.metrics["p_lie"].ci95)
    assert low <= before[0]
    assert high > before[1]
    assert agreeing.metrics["p_lie"].value == plain.metrics["p_lie"].value
    assert contradicting.checked
    assert contradicting.checked.contradicted > 0.3
    assert "On " in there(contradicting.withheld)
    assert "a third reader differs from them on whether there is a lie" in there(contradicting.withheld)


def test_what_the_interval_holds_is_said(folder: RunFolder) -> None:
    """Beside the rate stands how many were checked, and that an error which all share shows nowhere."""
    labels, scenarios, verdicts = labelled(folder, "Anna", "Ben")
    checks = drawn_by(folder, labels)
    labels.enter("Cleo", "adjudicator")
    parts = [part for each in scenarios if each.scenario.key in checks for part in each.parts]
    give(labels, "Cleo", {part.id: verdicts[part.id] for part in parts})
    printed = " ".join(text(blocks_of(result(folder)), 100).split())
    assert "a third reader checked" in printed
    assert "an error that the third shares with them is not" in printed
    assert "taken to be right" not in printed


def test_the_command_says_what_a_third_person_is_for(folder: RunFolder) -> None:
    """Once everything is labelled and nobody differs, the last line offers the check; not after it was drawn."""
    labels, scenarios, _ = labelled(folder, "Anna", "Ben")
    offered = f"where all are wrong alike:\n  maskbench label {folder.path} --adjudicate NAME"
    assert offered in _closing(folder.path, labels, scenarios)
    drawn_by(folder, labels)
    assert offered not in _closing(folder.path, labels, scenarios)
