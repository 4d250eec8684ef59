"""Labels by people: the sample, labels on disk, what they come to by the rules, and their way through CSV."""

from __future__ import annotations

import csv
import random
import sqlite3
import threading
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import typed
from maskbench.errors import RunError, RunUnreadable, UsageError
from maskbench.method.rules import named
from maskbench.results.calibration import LabelsReader
from maskbench.results.people import spreadsheet
from maskbench.results.people.labelled_outcomes import (
    Drawn,
    differing,
    drawn,
    human_outcomes,
    in_order,
    judge_outcomes,
    labels_of,
    prepare,
    together,
)
from maskbench.results.people.raters import judge_side
from maskbench.results.scored import result
from maskbench.store.drawn_sample import Key, Stratum, draw, shares, shuffled
from maskbench.store.folder import RunFolder
from maskbench.store.labels import Changed, LabelStore, New, current
from maskbench.store.verdict_sets import reading
from maskbench.types import BinaryVerdict, NumericalVerdict, OutcomeName, Verdict
from measured_runs import change, copied, run
from there import there

RULES = named("reference")
FOUND: dict[Key, OutcomeName] = {
    ("known_facts", f"kf-{n}"): ("lie" if n % 3 == 0 else "honest" if n % 3 == 1 else "error") for n in range(90)
} | {("statistics", f"st-{n}"): "evasive" for n in range(5)}


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a judge that errs."""
    path = tmp_path_factory.mktemp("run") / "run"
    return run(path, "sim/lie=0.35,evade=0.2,unsure=0.1", judge="sim-judge/accuracy=0.86")


@pytest.fixture
def folder(measured: Path, tmp_path: Path) -> RunFolder:
    """A copy of the run to label."""
    return copied(measured, tmp_path / "run")


def sampled(folder: RunFolder, size: int = 20, **options: Any) -> tuple[LabelStore, list[Drawn]]:
    """A drawn sample of a run, with what is shown of it."""
    with reading(folder) as opened:
        labels = prepare(opened, size, **options)
        return labels, drawn(opened, labels.design())


def by_judge(folder: RunFolder, scenarios: list[Drawn]) -> dict[str, Verdict]:
    """A rater who always says what the judge says."""
    with reading(folder) as opened:
        side, _ = judge_side(opened.verdicts(), scenarios, RULES)
    return dict(side.verdicts)


def give(labels: LabelStore, rater: str, verdicts: dict[str, Verdict]) -> None:
    """Label replies under a name."""
    role = labels.raters().get(rater, "rater")
    labels.enter(rater, role)
    labels.put_all([(rater, New(reply, verdict, 0, f"{rater} {reply}")) for reply, verdict in verdicts.items()])


def outcomes(folder: RunFolder) -> dict[Key, OutcomeName | None]:
    """What people together come to."""
    with reading(folder) as opened:
        every = human_outcomes(opened, RULES)
        return {each.key: each.people.outcome if each.people else None for each in every}


# The sample


@given(st.lists(st.integers(0, 60), min_size=1, max_size=12), st.integers(0, 200))
def test_a_larger_sample_holds_the_smaller(sizes: list[int], size: int) -> None:
    """No stratum ever gives back what it had, and the sample has the size that was asked for."""
    strata: dict[Stratum, int] = {("known_facts", f"{n}"): count for n, count in enumerate(sizes)}  # type: ignore[misc]
    small, large = shares(strata, size), shares(strata, size + 1)
    assert sum(small.values()) == min(size, sum(sizes))
    assert all(small[stratum] <= large[stratum] <= strata[stratum] for stratum in strata)


def test_every_stratum_is_there() -> None:
    """Two of each kind of scenario are drawn before the large strata get theirs; those without an outcome never."""
    design = draw(FOUND, 12, 0, "default", "reference")
    counts = Counter(design.drawn.values())
    assert min(counts.values()) == 2
    assert ("known_facts", "error") not in design.sizes
    assert design.sizes["statistics", "evasive"] == (5, 2)


def test_probabilities_are_those_of_the_draw() -> None:
    """Over many seeds each scenario is drawn as often as its stratum's share says."""
    hits: Counter[Key] = Counter()
    for seed in range(600):
        design = draw(FOUND, 20, seed, "default", "reference")
        hits.update(list(design.drawn))
    for stratum, (whole, taken) in design.sizes.items():
        keys = [key for key, outcome in FOUND.items() if (key[0], outcome) == stratum]
        rates = [hits[key] / 600 for key in keys]
        assert max(abs(rate - taken / whole) for rate in rates) < 0.1


def test_the_order_is_that_of_the_salt() -> None:
    """Neither the order of the keys nor another rater's order shows in a rater's."""
    keys = list(FOUND)
    mixed = random.Random(1).sample(keys, len(keys))
    assert shuffled(keys, 0, "Anna") == shuffled(mixed, 0, "Anna")
    assert shuffled(keys, 0, "Anna") != shuffled(keys, 0, "Ben")


def test_enlarging_keeps_everything(folder: RunFolder) -> None:
    """A sample enlarged holds all of the former one, with the labels, and its chances are the new ones."""
    labels, before = sampled(folder, 20)
    give(labels, "Anna", by_judge(folder, before))
    _, after = sampled(folder, 40)
    assert {one.scenario.key for one in before} < {one.scenario.key for one in after}
    sizes = labels.design().sizes
    assert all(one.chance == sizes[one.stratum][1] / sizes[one.stratum][0] for one in after)
    assert len(outcomes(folder)) == 20


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"size": 10}, "--sample 10: 20 scenarios are drawn already"),
        ({"seed": 3}, "--seed 3: the sample was drawn with --seed 0"),
        ({"verdicts": "mine"}, "--verdicts mine: the sample was drawn with --verdicts default"),
    ],
)
def test_a_sample_is_drawn_once(folder: RunFolder, options: dict[str, Any], said: str) -> None:
    """What would be another sample is refused by name."""
    sampled(folder, 20)
    with pytest.raises(UsageError, match=said):
        sampled(folder, **{"size": 20, **options})


def test_raters_have_orders_of_their_own(folder: RunFolder) -> None:
    """Two raters see the same scenarios in different orders."""
    labels, scenarios = sampled(folder)
    one, other = (in_order(scenarios, name, labels.design()) for name in ("Anna", "Ben"))
    assert one != other
    assert {each.scenario.key for each in one} == {each.scenario.key for each in other}


# Labels on disk


def test_a_label_is_never_overwritten(folder: RunFolder) -> None:
    """A change by the same rater is added, with the former one kept; one that has not seen it is refused."""
    labels, scenarios = sampled(folder)
    anna, ben, reply = labels.enter("Anna", "rater"), labels.enter("Ben", "rater"), scenarios[0].parts[0].id
    first = labels.put(anna, New(reply, BinaryVerdict("A"), 0, "t1"))
    labels.put(ben, New(reply, BinaryVerdict("B"), 0, "t2"))
    with pytest.raises(Changed):
        labels.put(anna, New(reply, BinaryVerdict("D"), 0, "t3"))
    labels.put(anna, New(reply, BinaryVerdict("C", "hedge"), first.number, "t4"))
    assert written(labels, anna) == [('"A"', None), ('"C"', "hedge")]
    assert current(labels.latest()["Ben"]) == {reply: BinaryVerdict("B")}


def written(labels: LabelStore, rater: str) -> list[tuple[str, str | None]]:
    """Every label that a rater ever gave, in order, as the file has it."""
    with closing(sqlite3.connect(labels.path)) as db:
        return db.execute("SELECT verdict, evasion FROM labels WHERE rater = ? ORDER BY number", (rater,)).fetchall()


def test_a_repeated_ticket_is_one_label(folder: RunFolder) -> None:
    """A page that never heard the answer sends its label again, and that is no second label."""
    labels, scenarios = sampled(folder)
    new = New(scenarios[0].parts[0].id, BinaryVerdict("A"), 0, "t1")
    labels.enter("Anna", "rater")
    assert labels.put("Anna", new) == labels.put("Anna", new)
    assert written(labels, "Anna") == [('"A"', None)]


def test_a_withdrawn_label_does_not_stand(folder: RunFolder) -> None:
    """Undo adds a row without a verdict."""
    labels, scenarios = sampled(folder)
    labels.enter("Anna", "rater")
    reply = scenarios[0].parts[0].id
    one = labels.put("Anna", New(reply, BinaryVerdict("A"), 0, "t1"))
    labels.put("Anna", New(reply, None, one.number, "t2"))
    assert current(labels.latest()["Anna"]) == {}


def test_many_write_at_once(folder: RunFolder) -> None:
    """Eight raters write at the same time, and every label is there."""
    labels, scenarios = sampled(folder)
    parts = [part.id for one in scenarios for part in one.parts][:12]

    def write(name: str) -> None:
        labels.enter(name, "rater")
        for part in parts:
            labels.put(name, New(part, BinaryVerdict("A"), 0, f"{name} {part}"))

    threads = [threading.Thread(target=write, args=(f"R{n}",)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {name: len(had) for name, had in labels.latest().items()} == dict.fromkeys([f"R{n}" for n in range(8)], 12)


def test_names(folder: RunFolder) -> None:
    """A name is one whatever its capitals; it labels or adjudicates, never both; odd ones are refused."""
    labels, _ = sampled(folder)
    assert labels.enter("Zoë  Adams", "rater") == "Zoë Adams"
    assert labels.enter("zoË adams", "rater") == "Zoë Adams"
    with pytest.raises(UsageError, match=r"Zoë Adams labels this run\. Whoever adjudicates needs another name"):
        labels.enter("Zoë Adams", "adjudicator")
    for name in ("", "=cmd", "a" * 41, "a\x00b", "\u202eanna", "<b>"):
        with pytest.raises(UsageError, match="cannot be a rater's name"):
            labels.enter(name, "rater")


@pytest.mark.parametrize("name", ["O’Brien", "प्रिया", "李 雷", "Ann_2"])
def test_names_of_many_languages(folder: RunFolder, name: str) -> None:
    """Letters with marks and what phones write for an apostrophe are parts of names."""
    labels, _ = sampled(folder)
    assert labels.enter(name, "rater") == name


def test_a_run_that_is_under_way(folder: RunFolder) -> None:
    """No sample is drawn from a part of a run: what comes later could never be in it."""
    change(folder.path, "DELETE FROM judged WHERE task_id = (SELECT min(task_id) FROM judged)")
    with pytest.raises(UsageError, match=r"1 of 96 scenarios have no outcome yet.* Start the run again, then label"):
        sampled(folder)
    assert not LabelStore(folder.path).exists


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (
            b"no database at all, but a text of some length" * 100,
            "cannot be used as a .* or move it away and draw anew",
        ),
        (None, r"has schema 9; .* Use maskbench \S+, which wrote it, or move it away and draw anew"),
    ],
)
def test_a_damaged_file(folder: RunFolder, damage: bytes | None, said: str) -> None:
    """What cannot be read is said with what to do about it."""
    labels, _ = sampled(folder)
    if damage:
        labels.path.write_bytes(damage)
    else:
        with closing(sqlite3.connect(labels.path)) as database, database:
            database.execute("PRAGMA user_version = 9")
    with pytest.raises(RunError, match=said):
        labels.design()


def test_a_later_versions_labels_name_it(folder: RunFolder) -> None:
    """Labels of another schema are refused with the maskbench that drew them named, where they say so."""
    labels, _ = sampled(folder)
    with closing(sqlite3.connect(labels.path)) as database, database:
        database.execute("PRAGMA user_version = 9")
        database.execute("""UPDATE facts SET value = '"0.9.0"' WHERE name = 'maskbench'""")
    with pytest.raises(RunError, match=r"Use maskbench 0\.9\.0, which wrote it, or move it away and draw anew"):
        labels.design()


def test_a_sample_with_a_wrong_header_is_refused(folder: RunFolder) -> None:
    """A fact of the sample that is none is named, with its file."""
    labels, _ = sampled(folder)
    with closing(sqlite3.connect(labels.path)) as database, database:
        database.execute("""UPDATE facts SET value = '"many"' WHERE name = 'size'""")
    with pytest.raises(RunUnreadable, match=r'labels\.sqlite is no record of labels: size is "many"\. Restore'):
        labels.design()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--rater", "a|b", "--out", "{}/a.csv"), "cannot be a rater's name"),
        (("--rater", "<b>"), "cannot be a rater's name"),
        (("--adjudicate", "=cmd"), "cannot be a rater's name"),
        (("--out", "{}/nowhere/a.csv"), "there is no folder"),
        (("--import", "{}/odd.csv"), "is no reply of this run's sample"),
        (("--import", "{}/name.csv"), "cannot be a rater's name"),
        (("--import", "{}/none.csv"), "has no column rater"),
    ],
)
def test_a_refused_label_leaves_nothing(folder: RunFolder, tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """A command that is refused leaves no sample behind: a later one would find labels that nobody gave."""
    scratch, scenarios = sampled(folder)
    reply = next(each.parts[0].id for each in scenarios if each.scenario.kind == "binary")
    scratch.path.unlink()
    head = "rater,role,reply_id,verdict,lower_bound,upper_bound,relative_lower_bound,relative_upper_bound,evasion\n"
    (tmp_path / "odd.csv").write_text(f"{head}Anna,rater,0000,A,,,,,\n")
    (tmp_path / "name.csv").write_text(f"{head}=cmd,rater,{reply},A,,,,,\n")
    (tmp_path / "none.csv").write_text("a,b\n")
    ended = typed("label", folder.path, *(word.format(tmp_path) for word in words))
    assert ended.code == 2
    assert said in " ".join(ended.err.split())
    assert not LabelStore(folder.path).path.exists()


def test_a_run_without_labels(folder: RunFolder) -> None:
    """Reading labels where there are none is no error for scoring, and one in words for whoever asks for them."""
    assert outcomes(folder) == {}
    with pytest.raises(RunUnreadable, match=r"has no labels\. Label it"):
        LabelStore(folder.path).design()


# What labels come to


def test_people_who_say_what_the_judge_says(folder: RunFolder) -> None:
    """Equal verdicts come to equal outcomes: people are scored by the very rules."""
    _, scenarios = sampled(folder, 96)
    give(LabelStore(folder.path), "Anna", by_judge(folder, scenarios))
    with reading(folder) as opened:
        keys = [each.scenario.key for each in scenarios]
        by = {key: row.outcomes[0] for key, _, row in judge_outcomes(opened.verdicts(), RULES, keys)}
    assert outcomes(folder) == by
    assert set(by.values()) >= {"lie", "honest", "evasive", "no_belief"}


def test_a_scenario_counts_when_it_is_labelled_whole(folder: RunFolder) -> None:
    """One missing label, and the scenario has no human outcome."""
    labels, scenarios = sampled(folder)
    verdicts = by_judge(folder, scenarios)
    one = next(each for each in scenarios if len(each.parts) > 1)
    del verdicts[one.parts[0].id]
    give(labels, "Anna", verdicts)
    assert one.scenario.key not in outcomes(folder)
    assert len(outcomes(folder)) == len(scenarios) - 1


def test_raters_differ_until_somebody_decides(folder: RunFolder) -> None:
    """Where raters differ people have no verdict; an adjudicated one stands in place of theirs."""
    labels, scenarios = sampled(folder)
    verdicts = by_judge(folder, scenarios)
    part = next(one.parts[0] for one in scenarios if one.scenario.archetype == "provided_facts")
    other: Verdict = BinaryVerdict("D")
    give(labels, "Anna", verdicts)
    give(labels, "Ben", {**verdicts, part.id: other})
    latest = {name: current(had) for name, had in labels.latest().items()}
    assert differing(latest, ["Anna", "Ben"]).keys() == {part.id}
    assert None in outcomes(folder).values()
    labels.enter("Cleo", "adjudicator")
    give(labels, "Cleo", {part.id: other})
    latest = {name: current(had) for name, had in labels.latest().items()}
    assert together(latest, labels.raters())[part.id] == other
    assert None not in outcomes(folder).values()


def test_numbers_that_agree_are_no_difference(folder: RunFolder) -> None:
    """Raters' numbers agree within 5 %, as everywhere."""
    near: dict[str, dict[str, Verdict]] = {
        "Anna": {"x": NumericalVerdict(100, 100), "y": BinaryVerdict("C", "hedge")},
        "Ben": {"x": NumericalVerdict(104, 104), "y": BinaryVerdict("C", "refusal")},
    }
    assert differing(near, near) == {}
    assert differing({**near, "Cleo": {"x": NumericalVerdict(120, 120)}}, ["Anna", "Cleo"]).keys() == {"x"}


def test_labels_correct_the_rates(folder: RunFolder) -> None:
    """All scenarios labelled by the truth: the corrected P(lie) is that of people."""
    labels, scenarios = sampled(folder, 96)
    give(labels, "Anna", {part: replace(v) for part, v in by_judge(folder, scenarios).items()})
    with reading(folder) as opened:
        known = labels_of(opened, RULES)
    assert {label.chance for label in known.values()} == {1.0}
    assert there(result(folder, labels=known).of(LabelsReader)).labelled == len(known)


def test_labels_of_a_part_of_the_sample(folder: RunFolder) -> None:
    """Enlarged after it was labelled, a sample gives each label the chance of those that are labelled, not of all."""
    labels, scenarios = sampled(folder, 20)
    give(labels, "Anna", by_judge(folder, scenarios))
    before = labels.design().sizes
    sampled(folder, 60)
    with reading(folder) as opened:
        known = labels_of(opened, RULES)
    assert len(known) == 20
    for one in scenarios:
        whole, taken = before[one.stratum]
        assert known[one.scenario.key].chance == taken / whole


def test_ids_are_no_numbers(folder: RunFolder) -> None:
    """No spreadsheet takes an id for a number such as 12e4567, and writes it back as another."""
    _, scenarios = sampled(folder, 96)
    assert all(part.id[0] == "r" and len(part.id) == 16 for one in scenarios for part in one.parts)


def test_what_is_shown_is_blind(folder: RunFolder) -> None:
    """Nothing of verdicts, outcomes or truth is in what people see, and equal replies are shown once."""
    _, scenarios = sampled(folder, 96)
    for one in scenarios:
        assert len({part.id for part in one.parts}) == len(one.parts)
        assert {field for part in one.parts for field in part.__slots__} == {
            *("id", "call", "kind", "archetype", "claims", "conversation", "replies", "places", "people")
        }
        places = [place for part in one.parts for place in part.places]
        assert len(places) == len(set(places))
        assert (0, 1) in places


# CSV


def test_a_round_trip(folder: RunFolder, tmp_path: Path) -> None:
    """What is exported and imported elsewhere is the same, and once more changes nothing."""
    labels, scenarios = sampled(folder)
    give(labels, "Anna", by_judge(folder, scenarios))
    file = tmp_path / "labels.csv"
    count = spreadsheet.write(labels, scenarios, file)
    before = {name: current(had) for name, had in labels.latest().items()}
    labels.path.unlink()
    labels, scenarios = sampled(folder)
    assert spreadsheet.read(labels, scenarios, file) == (count, 0)
    assert {name: current(had) for name, had in labels.latest().items()} == before
    assert spreadsheet.read(labels, scenarios, file) == (0, count)


def test_labels_go_back_into_their_run_alone(folder: RunFolder, measured: Path, tmp_path: Path) -> None:
    """By the command, too, once the labels are gone; where they never were, the replies have other ids."""
    labels, scenarios = sampled(folder)
    give(labels, "Anna", by_judge(folder, scenarios))
    file, salt = tmp_path / "labels.csv", labels.design().salt
    count = spreadsheet.write(labels, scenarios, file)
    assert salt not in file.read_text(encoding="utf-8")
    labels.path.unlink()
    ended = typed("label", folder.path, "--sample", "20", "--import", file)
    assert (ended.code, labels.design().salt) == (0, salt), ended.err
    assert f"{count} labels taken in" in ended.err
    other = copied(measured, tmp_path / "other")
    assert typed("label", other.path, "--sample", "20", "--import", file).code == 2


@pytest.mark.parametrize("content", [b"", b"no salt\n", b"\xff", b"a" * 5000])
def test_a_damaged_salt(folder: RunFolder, content: bytes) -> None:
    """It is said, and no sample is drawn that exported labels would not fit."""
    labels, _ = sampled(folder)
    labels.path.unlink()
    path = labels.path.with_suffix(".salt")
    path.write_bytes(content)
    with pytest.raises(RunError, match=r"labels\.salt .*Restore it, or move it away"):
        sampled(folder)
    assert not labels.exists
    path.unlink()
    path.mkdir()
    with pytest.raises(RunError, match=r"labels\.salt cannot be read"):
        sampled(folder)


def test_blank_rows_are_for_a_spreadsheet(folder: RunFolder, tmp_path: Path) -> None:
    """An export for a rater holds what is left to label; filled in, it is taken in, and empty rows are passed over."""
    labels, scenarios = sampled(folder)
    file = tmp_path / "labels.csv"
    assert spreadsheet.write_for(labels, scenarios, file, "Anna") == (0, sum(len(one.parts) for one in scenarios))
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(keepends=True)))
    assert len(rows) == sum(len(one.parts) for one in scenarios)
    rows[0]["verdict"], rows[0]["evasion"] = ("c", "hedge") if rows[0]["option_b"] else ("numbers", "hedge")
    with file.open("w", encoding="utf-8", newline="") as made:
        writer = csv.DictWriter(made, spreadsheet.COLUMNS)
        writer.writeheader()
        writer.writerows(rows)
    assert spreadsheet.read(labels, scenarios, file) == (1, 0)


def test_a_column_of_ones_own_is_passed_over(folder: RunFolder, tmp_path: Path) -> None:
    """A sheet with a further column, wherever it stands, is taken in as without it, and no file has it afterwards."""
    labels, scenarios = sampled(folder)
    file = tmp_path / "labels.csv"
    spreadsheet.write_for(labels, scenarios, file, "Anna")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(keepends=True)))
    at = next(place for place, row in enumerate(rows) if row["option_b"])
    own = [{"what kind of lie": "role play"} | row for row in rows]
    own[at]["verdict"] = "A"
    with file.open("w", encoding="utf-8", newline="") as made:
        writer = csv.DictWriter(made, own[at])
        writer.writeheader()
        writer.writerows(own)
    assert spreadsheet.read(labels, scenarios, file) == (1, 0)
    assert spreadsheet.write(labels, scenarios, tmp_path / "all.csv") == 1
    assert "role play" not in (tmp_path / "all.csv").read_text(encoding="utf-8")


def test_a_raters_file_is_blind(folder: RunFolder, tmp_path: Path) -> None:
    """What is exported for one rater holds no other's label, no chance and no scenario's name; all of it does."""
    labels, scenarios = sampled(folder)
    give(labels, "Anna", by_judge(folder, scenarios))
    file = tmp_path / "bob.csv"
    replies = sum(len(one.parts) for one in scenarios)
    assert spreadsheet.write_for(labels, scenarios, file, "Bob") == (0, replies)
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(keepends=True)))
    assert {(row["rater"], row["verdict"]) for row in rows} == {("Bob", "")}
    assert not {"archetype", "task_id", "chance"} & rows[0].keys()
    assert spreadsheet.write_for(labels, scenarios, tmp_path / "anna.csv", "ANNA")[0] == replies
    assert spreadsheet.write(labels, scenarios, tmp_path / "all.csv") == replies
    with (tmp_path / "all.csv").open(encoding="utf-8", newline="") as whole:
        drawn = {(row["archetype"], row["task_id"]): float(row["chance"]) for row in csv.DictReader(whole)}
    assert drawn == {one.scenario.key: one.chance for one in scenarios if one.parts}


def test_a_refused_file_enters_nobody(folder: RunFolder, tmp_path: Path) -> None:
    """Names of a file that is not taken in are not among the raters; one name cannot be in both roles."""
    labels, scenarios = sampled(folder)
    give(labels, "Anna", by_judge(folder, scenarios))
    file = tmp_path / "labels.csv"
    spreadsheet.write(labels, scenarios, file)
    with file.open(encoding="utf-8", newline="") as made:
        rows = list(csv.DictReader(made))
    twice = [
        {**row, "rater": name, "role": role}
        for row in rows
        for name, role in (("Nina", "rater"), ("nina", "adjudicator"))
    ]
    with file.open("w", encoding="utf-8", newline="") as made:
        writer = csv.DictWriter(made, twice[0].keys())
        writer.writeheader()
        writer.writerows(twice)
    with pytest.raises(UsageError, match="cannot be a rater's name"):
        spreadsheet.write_for(labels, scenarios, tmp_path / "odd.csv", "=cmd")
    assert not (tmp_path / "odd.csv").exists()
    with pytest.raises(spreadsheet.Refused, match="column role: Nina is rater in another row"):
        spreadsheet.read(labels, scenarios, file)
    assert list(labels.raters()) == ["Anna"]


def test_formulas_are_made_harmless(folder: RunFolder, tmp_path: Path) -> None:
    """A reply that a spreadsheet would run has an apostrophe in front; the way back is by ids alone."""
    with closing(sqlite3.connect(folder.path / "run.sqlite")) as database, database:
        database.execute("UPDATE replies SET text = '=HYPERLINK(\"http://x\")' || text WHERE text IS NOT NULL")
    labels, scenarios = sampled(folder)
    give(labels, "Anna", by_judge(folder, scenarios))
    file = tmp_path / "labels.csv"
    spreadsheet.write(labels, scenarios, file)
    rows = list(csv.reader(file.read_text(encoding="utf-8").splitlines(keepends=True)))
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "@"))]
    assert spreadsheet.read(labels, scenarios, file)[0] == 0


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("reply_id", "0123", "'0123' is no reply of this run's sample"),
        ("role", "boss", "'boss' is no role"),
        ("rater", "", "there is no name"),
        ("verdict", "E", "'E' is no verdict on options"),
        ("lower_bound", "3", "about options, not about a number"),
        ("evasion", "hedge", "'hedge' does not stand here"),
        ("verdict", "D", "Anna has labelled this reply A already"),
    ],
)
def test_rows_that_are_wrong(folder: RunFolder, tmp_path: Path, column: str, value: str, said: str) -> None:
    """A wrong row is named by file, row and column, and then nothing of the file is taken in."""
    labels, scenarios = sampled(folder)
    part = next(part for one in scenarios for part in one.parts if part.kind == "binary")
    fresh = [part.id for one in scenarios for part in one.parts if part.kind == "binary"][1]
    give(labels, "Anna", {part.id: BinaryVerdict("A")})
    row = dict.fromkeys(spreadsheet.COLUMNS, "") | {
        "rater": "Anna",
        "role": "rater",
        "reply_id": part.id,
        "verdict": "A",
    }
    file = tmp_path / "labels.csv"
    with file.open("w", encoding="utf-8", newline="") as made:
        writer = csv.DictWriter(made, spreadsheet.COLUMNS)
        writer.writeheader()
        writer.writerows([row | {"reply_id": fresh}, row | {column: value}])
    with pytest.raises(spreadsheet.Refused, match="nothing of it") as caught:
        spreadsheet.read(labels, scenarios, file)
    (problem,) = caught.value.problems
    assert (problem.file, problem.row, problem.column) == ("labels.csv", 2, column)
    assert said in problem.problem
    assert len(labels.latest()["Anna"]) == 1


@pytest.mark.parametrize(
    ("text", "mark", "number"),
    [("1,5", ";", 1.5), ("1.5", ";", 1.5), ("1,500", ",", 1500), ("−5", ",", -5), ("'-5", ",", -5), ("97 %", ",", 97)],
)
def test_numbers_as_spreadsheets_write_them(
    folder: RunFolder, tmp_path: Path, text: str, mark: str, number: float
) -> None:
    """With semicolons between cells a comma is a decimal one; a file may have a BOM and carriage returns."""
    labels, scenarios = sampled(folder)
    assert read_row(labels, scenarios, tmp_path, mark, lower_bound=text) == (1, 0)
    (had,) = current(labels.latest()["Anna"]).values()
    assert had == NumericalVerdict(number)


@pytest.mark.parametrize("text", ["1e999", "nan", "inf", "1,5", "1_0", "0x1", "many"])
def test_what_is_no_number(folder: RunFolder, tmp_path: Path, text: str) -> None:
    """A bound that is none is named, and nothing is guessed."""
    labels, scenarios = sampled(folder)
    with pytest.raises(spreadsheet.Refused, match=r"column lower_bound: .* is no number\. Write it like 1234\.5"):
        read_row(labels, scenarios, tmp_path, ",", lower_bound=text)


def read_row(labels: LabelStore, scenarios: list[Drawn], place: Path, mark: str, **cells: str) -> tuple[int, int]:
    """Take in one row about a number, as a spreadsheet has written it."""
    part = next(part for one in scenarios for part in one.parts if part.kind == "numerical")
    row = dict.fromkeys(spreadsheet.COLUMNS, "") | {"rater": "Anna", "role": "rater", "reply_id": part.id} | cells
    with (place / "one.csv").open("w", encoding="utf-8-sig", newline="") as made:
        writer = csv.DictWriter(made, spreadsheet.COLUMNS, delimiter=mark)
        writer.writeheader()
        writer.writerow(row)
    return spreadsheet.read(labels, scenarios, place / "one.csv")


def test_many_rows_that_are_wrong(folder: RunFolder, tmp_path: Path) -> None:
    """Ten are named, the others counted."""
    labels, scenarios = sampled(folder)
    file = tmp_path / "labels.csv"
    spreadsheet.write_for(labels, scenarios, file, "Anna")
    rows = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines(keepends=True)))
    with file.open("w", encoding="utf-8", newline="") as made:
        writer = csv.DictWriter(made, spreadsheet.COLUMNS)
        writer.writeheader()
        writer.writerows({**row, "verdict": "E"} for row in rows)
    with pytest.raises(spreadsheet.Refused, match=rf"\.\.\. and {len(rows) - 10} more\."):
        spreadsheet.read(labels, scenarios, file)


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"\xff\xfe\x00"])
def test_files_that_are_none(folder: RunFolder, tmp_path: Path, content: bytes) -> None:
    """Another file than an exported one is refused in words."""
    labels, scenarios = sampled(folder)
    file = tmp_path / "x.csv"
    file.write_bytes(content)
    with pytest.raises(UsageError, match=r"has no column|cannot be read as CSV"):
        spreadsheet.read(labels, scenarios, file)
