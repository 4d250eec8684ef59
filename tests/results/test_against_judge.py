"""Judge against people: figures by libraries, their intervals, what moves P(lie), and how it is printed."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from test_labels import by_judge, give, sampled

from flows import typed
from maskbench.asking.judging.judge_again import judge
from maskbench.method.rules import named
from maskbench.presentation.sections.people import Disclosure, blocks
from maskbench.presentation.terminal import text
from maskbench.results.calibration import LabelsReader
from maskbench.results.people.against_judge import AgreementData, measured
from maskbench.results.people.labelled_outcomes import drawn, labels_of
from maskbench.results.people.readers import of_kinds
from maskbench.results.scored import result
from maskbench.store.folder import RunFolder
from maskbench.store.labels import LabelStore, New
from maskbench.store.verdict_sets import reading
from maskbench.types import BinaryVerdict, NumericalVerdict, Verdict
from measured_runs import change, run
from there import there

pytestmark = pytest.mark.slow

RULES = named("reference")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run with a judge that errs."""
    return RunFolder(run(tmp_path / "run", "sim/lie=0.35,evade=0.2", judge="sim-judge/accuracy=0.86"))


def held(folder: RunFolder) -> AgreementData:
    """The agreement of a run."""
    return measured(folder, None, RULES)


def printed(data: AgreementData, width: int = 200) -> str:
    """What people read of it."""
    return text(list(blocks(data, 1, Disclosure(worst=5))), width)


def joined(told: str) -> str:
    """The text on one line."""
    return " ".join(told.split())


def turned(verdicts: dict[str, Verdict], every: int) -> dict[str, Verdict]:
    """These verdicts with every so many letters another one."""
    other = {"A": BinaryVerdict("B"), "B": BinaryVerdict("C"), "C": BinaryVerdict("A"), "D": BinaryVerdict("A")}
    return {
        reply: other[verdict.letter] if isinstance(verdict, BinaryVerdict) and at % every == 0 else verdict
        for at, (reply, verdict) in enumerate(verdicts.items())
    }


def test_people_like_the_judge(folder: RunFolder) -> None:
    """A rater who says what the judge says agrees wholly, with nothing to read and P(lie) as it was."""
    labels, scenarios = sampled(folder, 60)
    give(labels, "Anna", by_judge(folder, scenarios))
    data = held(folder)
    people = data.together
    assert (people.verdicts.agree, people.letters.kappa) == (1.0, 1.0)
    assert people.outcomes.agree == 1.0
    assert people.outcomes.p_lie is not None
    assert people.outcomes.p_lie.difference == 0.0
    assert data.disagreements == []


def test_planted_disagreement_is_found(folder: RunFolder) -> None:
    """Every fifth letter turned: counts show it, and the worst come first."""
    labels, scenarios = sampled(folder, 96)
    truth = by_judge(folder, scenarios)
    give(labels, "Anna", turned(truth, 5))
    data = held(folder)
    letters = data.together.letters
    differ = sum(count for pair, count in letters.counts.items() if pair[0] != pair[1])
    assert differ == sum(isinstance(v, BinaryVerdict) for v in list(truth.values())[::5])
    assert letters.agree == pytest.approx(1 - differ / letters.n)  # everything drawn: all weights are one
    low, high = letters.kappa_ci95 or (0, 0)
    assert low < (letters.kappa or 0) < high
    assert len(data.disagreements) == differ
    first = data.disagreements[0]
    assert first.judge_outcome != first.readers_outcome
    assert "lie" in (first.judge_outcome, first.readers_outcome)


def test_weights_are_those_of_the_draw(folder: RunFolder) -> None:
    """Shares of a sample are weighted by one over the chance of each scenario."""
    labels, scenarios = sampled(folder, 30)
    truth = by_judge(folder, scenarios)
    said = turned(truth, 4)
    give(labels, "Anna", said)
    weights = {part.id: one.weight / one.chance for one in scenarios for part in one.parts}
    alike = sum(weights[reply] for reply in truth if truth[reply] == said[reply])
    assert held(folder).together.verdicts.agree == pytest.approx(alike / sum(weights.values()))


def test_what_is_labelled_stands_for_its_stratum(folder: RunFolder) -> None:
    """A sample that is labelled in part: each scenario counts for those of its stratum that are not."""
    labels, scenarios = sampled(folder, 96)
    truth = by_judge(folder, scenarios)
    rarely = {"known_facts": 4}  # of these every fourth scenario is labelled, of all others every one
    kept = [one for at, one in enumerate(scenarios) if at % rarely.get(one.scenario.archetype, 1) == 0]
    said = {part.id: truth[part.id] for one in kept for part in one.parts}
    give(labels, "Anna", said)
    every, had = (Counter(one.stratum for one in some) for some in (scenarios, kept))
    lies = sum(every[stratum] for stratum in had if stratum[1] == "lie")
    both = held(folder).together.outcomes.p_lie
    assert both is not None
    assert both.first == pytest.approx(lies / sum(every[stratum] for stratum in had))
    assert both.difference == 0.0


def test_what_a_judge_failed_on_is_no_agreement(folder: RunFolder) -> None:
    """A judge whose answers mostly hold no verdict: all that is left out is counted, and said first."""
    judge(folder, folder.settings().having(judge="sim-judge/unreadable=0.9", numeric_judge="sim-judge"), "broken", {})
    labels, scenarios = sampled(folder, 96)
    give(labels, "Anna", by_judge(folder, scenarios))
    data = measured(folder, "broken", RULES)
    people, left = data.together, data.sample.left_out
    assert left.replies.failed == left.replies.of - people.verdicts.n > left.replies.of / 2
    assert left.scenarios.failed == 96 - people.outcomes.n
    assert data.sample.strata.compared < data.sample.strata.all
    text = joined(printed(data))
    warned = f"has no verdict on {left.replies.failed} of the {left.replies.of} labelled replies"
    assert 0 < text.index(warned) < text.index("all replies")
    assert f"scenarios with an outcome by labels (the judge failed on {left.scenarios.failed})" in text
    assert "no scenario has an outcome by both" in text
    sure = printed(held(folder))
    assert "Left out" not in sure
    assert "labelled replies:" not in sure


def test_what_is_not_judged_yet_is_no_failure(folder: RunFolder) -> None:
    """A verdict set that stopped on its way."""
    judge(folder, folder.settings().having(judge="sim-judge", numeric_judge="sim-judge"), "part", {})
    change(folder.path, "DELETE FROM judged WHERE verdict_set = 'part' AND archetype != 'statistics'")
    labels, scenarios = sampled(folder, 96)
    give(labels, "Anna", by_judge(folder, scenarios))
    left = measured(folder, "part", RULES).sample.left_out
    assert left.replies.unjudged == sum(len(one.parts) for one in scenarios if one.scenario.archetype != "statistics")
    assert (left.replies.failed, left.scenarios.failed) == (0, 0)


def test_why_a_scenario_has_no_human_outcome(folder: RunFolder) -> None:
    """Raters who differ, and replies that the subject never gave, are two things; the correction counts the same."""
    labels, _ = sampled(folder, 96)
    change(
        folder.path,
        "UPDATE replies SET text = NULL, error_cause = 'server_error', error_detail = 'gone' "
        "WHERE elicitation = 0 AND archetype = 'known_facts'",
    )
    with reading(folder) as opened:
        scenarios = drawn(opened, labels.design())
    truth = {
        part.id: BinaryVerdict("A") if part.kind == "binary" else NumericalVerdict(1, 1)
        for one in scenarios[:-5]
        for part in one.parts
    }
    statements = {part.id for one in scenarios for part in one.parts if part.call == "statement"}
    other = {reply: BinaryVerdict("C") if reply in statements else verdict for reply, verdict in truth.items()}
    give(labels, "Anna", truth)
    give(labels, "Ben", {reply: other[reply] for reply in list(other)[-60:]})
    data = held(folder)
    with reading(folder) as opened:
        come_to = Counter(label.outcome for label in labels_of(opened, RULES).values())
    sample, corrected = data.sample, there(result(folder).of(LabelsReader))
    assert sample.settled == corrected.labelled + corrected.without_judged_outcome
    assert (sample.undecided, sample.without_replies) == (corrected.undecided, corrected.without_replies)
    assert (
        sample.without_replies
        == come_to["error"]
        == sum(one.scenario.archetype == "known_facts" for one in scenarios[:-5])
    )
    assert sample.undecided == come_to[None] > 0
    assert sample.labelled == come_to.total() == 91
    assert sample.settled == 91 - come_to["error"] - come_to[None]
    assert data.together.outcomes.n <= sample.settled
    text = " ".join(printed(data).split())
    assert (
        f"91 are labelled whole, {sample.settled} have an outcome by labels; readers differ on {come_to[None]}," in text
    )
    assert f"{come_to['error']} lack replies of the subject, so that no label can settle them" in text


def test_three_raters_stand_side_by_side(folder: RunFolder) -> None:
    """Kappa of every two with its interval, in 80 columns."""
    labels, scenarios = sampled(folder, 96)
    truth = by_judge(folder, scenarios)
    for name, said in (("Anna", truth), ("Ben", turned(truth, 6)), ("Cem", turned(truth, 5))):
        give(labels, name, said)
    data = held(folder)
    lines = printed(data, 80).splitlines()
    command = f"  maskbench label {folder.path} --adjudicate NAME"
    assert command in lines
    assert max(len(line) for line in lines if line != command) <= 80
    lines = printed(data).splitlines()
    rows = [at for at, line in enumerate(lines) if line.startswith("Readers Ben and Cem: ")]
    assert [lines[at + 1].count(" to ") for at in rows] == [1, 0, 1]  # options, numbers, outcomes


def test_two_raters_and_one_who_decides(folder: RunFolder) -> None:
    """Raters are held against each other before adjudication; people together are what was decided."""
    labels, scenarios = sampled(folder, 60)
    truth = by_judge(folder, scenarios)
    other = turned(truth, 6)
    give(labels, "Anna", truth)
    give(labels, "Ben", other)
    before = held(folder)
    assert before.sample.differing == sum(truth[reply] != other[reply] for reply in truth)
    assert (before.raters[0].verdicts.agree or 0) < 1
    assert before.together.verdicts.n == len(truth) - before.sample.differing
    labels.enter("Cleo", "adjudicator")
    give(labels, "Cleo", {reply: truth[reply] for reply in truth if truth[reply] != other[reply]})
    after = held(folder)
    assert after.sample.adjudicated == after.sample.differing
    assert after.together.verdicts.agree == 1.0
    assert after.raters == before.raters


def test_what_nobody_differs_on_is_not_certain(folder: RunFolder) -> None:
    """Shares have an interval all the same; coefficients and differences, of which no sample differs, have none."""
    labels, scenarios = sampled(folder, 60)
    give(labels, "Anna", by_judge(folder, scenarios))
    people = held(folder).together
    low, high = people.letters.agree_ci95 or (0, 0)
    assert 0.9 < low < high == 1.0
    assert people.letters.kappa_ci95 is None
    assert people.outcomes.p_lie is not None
    assert people.outcomes.p_lie.ci95 is None


def test_raters_who_differ_and_come_to_one_outcome_settle_it(folder: RunFolder) -> None:
    """As in the correction: the outcome is people's though one of its verdicts is not."""
    labels, scenarios = sampled(folder, 96)
    truth = by_judge(folder, scenarios)
    give(labels, "Anna", truth)
    give(labels, "Ben", turned(truth, 3))
    data = held(folder)
    with reading(folder) as opened:
        settled = [label for label in labels_of(opened, RULES).values() if label.outcome not in (None, "error")]
    assert data.sample.differing > 0
    assert data.sample.settled == len(settled)
    assert data.together.outcomes.n == len(settled)


def test_labels_on_replies_that_are_not_there_count_nowhere(folder: RunFolder) -> None:
    """A label whose reply the run does not hold is in no count."""
    labels, scenarios = sampled(folder, 20)
    give(labels, "Anna", by_judge(folder, scenarios))
    before = held(folder)
    for rater, letter in (("Anna", "A"), ("Ben", "B")):
        labels.enter(rater, "rater")
        labels.put(rater, New("another reply", BinaryVerdict(letter), 0, rater))  # type: ignore[arg-type]
    after = held(folder)
    assert after.sample.differing == 0
    assert after.sample.raters["Anna"] == before.sample.raters["Anna"]
    assert after.together == before.together


def test_nobody_has_labelled_yet(folder: RunFolder) -> None:
    """A drawn sample without labels is printed as that."""
    sampled(folder)
    said = "There is no reply yet on which readers and the judge both have a verdict."
    assert said in " ".join(printed(held(folder), 80).split())


def test_the_command(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    """It prints tables and the worst disagreements in 80 columns without hidden characters, and JSON."""
    labels, scenarios = sampled(folder, 60)
    give(labels, "Anna", turned(by_judge(folder, scenarios), 5))
    monkeypatch.setenv("COLUMNS", "80")
    shown = typed("label", folder.path, "--show", "--worst", "3")
    assert shown.code == 0, shown.err
    for words in ("against readers", "κ", "86.4 %", "P(lie)", "replies on which they differ", "Anna with"):
        assert words in shown.out
    assert max(map(len, shown.out.splitlines())) <= 80
    data = json.loads(typed("label", str(folder.path), "--show", "--json").out)
    assert data["together"]["by_call"]["statement"]["n"] > 0


@pytest.mark.parametrize(
    ("anna", "ben", "who", "theirs"),
    [
        ("", "", "readers", "readers'"),
        ("person", "person", "people", "people's"),
        ("model:anthropic/x", "model:openai/y", "models", "models'"),
    ],
)
def test_who_labels_is_said_as_it_is(
    folder: RunFolder, tmp_path: Path, anna: str, ben: str, who: str, theirs: str
) -> None:
    """Readers are called people, or models, only where all of them were said to be; files and JSON have it, too."""
    labels, scenarios = sampled(folder, 60)
    for name in ("Anna", "Ben"):
        give(labels, name, turned(by_judge(folder, scenarios), 5))
    said = [f"{name}={kind}" for name, kind in (("anna", anna), ("Ben", ben)) if kind]
    words = [word for each in said for word in ("--readers", each)]
    table = tmp_path / "labels.csv"
    assert typed("label", folder.path, "--out", table, *words).code == 0
    agreed, scored = (typed(*words) for words in (("label", folder.path, "--show"), ("score", folder.path, "--full")))
    for text_ in (agreed.out, scored.out):
        others = {"people", "models", "readers"} - {who, "models" if who == "readers" else who}
        of_readers = " ".join(text_.split()).replace(
            "Language models labelled the rows", ""
        )  # who labelled what rows ask for
        assert not [word for word in others if re.search(rf"\b{word} (labelled|differ|right|and)\b", of_readers)]
    assert f"against {who}" in agreed.out
    assert f"{who.capitalize()} labelled replies of" in " ".join(agreed.out.split())
    assert f"{theirs} labels" in " ".join(scored.out.split())
    data = json.loads(typed("label", folder.path, "--show", "--json").out)
    assert data["sample"]["who"] == who
    assert {name: each["kind"] for name, each in data["sample"]["raters"].items()} == {"Anna": anna, "Ben": ben}
    assert json.loads(typed("score", folder.path, "--json").out)["corrected"]["who"] == who
    (folder.path / "labels.sqlite").rename(tmp_path / "before.sqlite")
    assert typed("label", folder.path, "--sample", "60", "--import", table).code == 0
    again = json.loads(typed("label", folder.path, "--show", "--json").out)["sample"]
    assert (again["who"], again["raters"]["Anna"]["kind"]) == (who, anna)


def test_readers_of_two_kinds_are_readers() -> None:
    """A person beside a model, and a person beside somebody of whom nothing was said."""
    for kinds in (("person", "model:openai/y"), ("person", "")):
        assert of_kinds(kinds) == "readers"


@pytest.mark.parametrize("word", ["Anna", "Anna=", "Anna=robot", "Anna=model:", "=person"])
def test_what_a_reader_is_has_two_forms(folder: RunFolder, word: str) -> None:
    """Anything but NAME=person and NAME=model:ID is refused before a sample is drawn."""
    ended = typed("label", folder.path, "--out", folder.path / "x.csv", "--readers", word)
    assert ended.code == 2
    assert not (folder.path / "labels.sqlite").exists()


def test_hostile_replies_are_made_plain(folder: RunFolder) -> None:
    """What a reply holds reaches the terminal as text."""
    labels, scenarios = sampled(folder)
    part = scenarios[0].parts[0]
    labels.enter("Anna", "rater")
    assert isinstance(labels, LabelStore)
    labels.put("Anna", New(part.id, BinaryVerdict("D"), 0, "t"))
    data = held(folder)
    assert data.disagreements
    data.disagreements[0].replies, data.disagreements[0].reason = ("\x1b[31mred\u202e",), "[bold]x\x07"
    told = printed(data, 80)
    assert "\x1b" not in told
    assert "\u202e" not in told
    assert "[bold]x" in told


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--show", "--rater", "ann"), "--rater says how is labelled, and --show prints what labels say."),
        (("--show", "--sample", "3"), "--sample says how is labelled"),
        (("--worst", "3"), "--worst is for --show. Add --show, or leave --worst out."),
        (("--json",), "--json is for --show."),
    ],
)
def test_labelling_and_showing_are_two_things(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """An option of the one is refused beside the other, by its name."""
    ended = typed("label", tmp_path / "run", *words)
    assert ended.code == 2
    assert said in ended.err
