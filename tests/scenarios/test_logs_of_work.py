"""The set "Said against did" keeps what its page promises."""

from __future__ import annotations

import lzma
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice, pairwise
from pathlib import Path

import pytest

import maskbench
from flows import command
from maskbench.method.archetypes import EVENT
from maskbench.method.said_and_did import pair
from maskbench.scenarios import Key, Remarks, draw, known_sets, limit, open_set
from maskbench.scenarios.remarks import public_set
from maskbench.types import Scenario
from there import there

NAME = "said_and_did"
PRIVATE = f"maskbench:{NAME}:00000000-0000-5000-8000-000000000000"


@pytest.fixture(scope="module")
def logs() -> list[Scenario]:
    """The whole set, every row of which is read and found right."""
    return [row for row in open_set(NAME, {}).scan(described=True) if isinstance(row, Scenario)]


def test_the_set_has_the_rows_that_the_list_of_sets_says(logs: list[Scenario]) -> None:
    """Every row can be read, and half of the rows have the event."""
    (known,) = (known for known in known_sets() if known.name == NAME)
    assert Counter(row.archetype for row in logs) == known.sizes
    assert open_set(NAME, {}).licence == known.licence == "CC-BY-4.0"


def test_twelve_kinds_have_as_many_logs_of_each_length(logs: list[Scenario]) -> None:
    """There are six short logs, six middle ones and one long one of each kind, each with its twin."""
    counts = Counter((row.extra["kind"], row.extra["length"]) for row in logs if row.extra["report"] == "plain")
    assert len({kind for kind, _ in counts}) == 12
    assert {(length, count) for (_, length), count in counts.items()} == {("short", 12), ("middle", 12), ("long", 2)}


def test_a_log_is_asked_for_two_reports_and_told_the_same_before(logs: list[Scenario]) -> None:
    """The rows of one neutral name differ in the last message alone, and its twin has the other truth."""
    by_log: dict[str, list[Scenario]] = {}
    for row in logs:
        by_log.setdefault(row.extra["neutral"], []).append(row)
    for name, rows in by_log.items():
        plain, gain = sorted(rows, key=lambda row: row.extra["report"] == "gain")
        assert (plain.extra["report"], gain.extra["report"]) == ("plain", "gain")
        assert plain.messages[:-1] == gain.messages[:-1]
        assert (plain.questions, plain.truth, plain.proposition) == (gain.questions, gain.truth, gain.proposition)
        if name.endswith("-event"):
            assert by_log[name.removesuffix("event") + "twin"][0].truth != plain.truth


def test_no_letter_is_right_more_often(logs: list[Scenario]) -> None:
    """A model that always says A is right in about half of the rows, of both questions that name something."""
    for letters in ([row.truth for row in logs], [row.extra["formatted_ground_truth_3"] for row in logs]):
        assert 0.4 < letters.count("A") / len(logs) < 0.6


def test_the_set_is_public_and_one_of_another_seed_is_not(logs: list[Scenario]) -> None:
    """The canary tells a copy, whatever it is called; a private set has another one."""
    remarks = Remarks()
    remarks.add(logs[0])
    assert "public scenarios of said_and_did" in remarks.lines("mine.jsonl")[0]
    assert not remarks.lines(NAME)
    assert public_set(logs[0]) == NAME
    assert public_set(replace(logs[0], canary=PRIVATE)) is None


def pairs_of(logs: Sequence[Scenario]) -> dict[Key, str]:
    """Which log and twin each row is of."""
    return {row.key: there(pair(row)) for row in logs}


@pytest.mark.parametrize("n", [1, 8, 79, 120, 122, 400, 624])
def test_a_sample_has_whole_logs(logs: list[Scenario], n: int) -> None:
    """Both requests on a log and on its twin are drawn together, as near to N rows as that comes, each at weight 1."""
    groups, drawn = pairs_of(logs), [draw(pairs_of(logs), n, seed, pairs_of(logs)) for seed in range(3)]
    for taken in drawn:
        assert set(Counter(groups[key] for key in taken).values()) == {4}
        assert abs(len(taken) - n) <= (3 if n == 1 else 2)
        assert set(taken.values()) == {1.0}
    assert n == 624 or drawn[0].keys() != drawn[1].keys()
    assert drawn[0].keys() <= draw(pairs_of(logs), 624, 0, groups).keys()
    assert drawn[0] == draw(reversed(list(groups)), n, 0, groups)


def test_a_sample_of_logs_holds_the_smaller_one(logs: list[Scenario]) -> None:
    """With one seed, whatever the sizes are; other archetypes are drawn as they are without logs beside them."""
    groups = pairs_of(logs)
    drawn = [draw(groups, n, 5, groups).keys() for n in range(1, 60)]
    assert all(smaller <= larger for smaller, larger in pairwise(drawn))
    others: list[Key] = [("known_facts", str(number)) for number in range(624)]
    beside = draw([*groups, *others], 100, 5, groups)
    assert {key for key in beside if key[0] == "known_facts"} == draw(others, 50, 5).keys()
    assert sum(beside.values()) == pytest.approx(len(beside))


def test_weights_are_those_of_whole_groups() -> None:
    """Where logs have one, two or four rows, a row stands for as many groups as its own, whatever their sizes are."""
    logs: list[Key] = [("said_and_did", f"{log} {row}") for log in range(60) for row in range((1, 2, 4)[log % 3])]
    groups = {key: key[1].split()[0] for key in logs}
    others: list[Key] = [("known_facts", str(number)) for number in range(70)]
    for seed in range(20):
        taken = draw([*logs, *others], 30, seed, groups)
        rows = Counter(groups[key] for key in taken if key in groups)
        assert all(count == (1, 2, 4)[int(log) % 3] for log, count in rows.items())
        of_log, of_other = ({taken[key] for key in taken if key[0] == name} for name in (EVENT, "known_facts"))
        held = sum(key[0] == "known_facts" for key in taken)
        assert of_log.pop() / of_other.pop() == pytest.approx((60 / len(rows)) / (70 / held))
        assert not of_log | of_other
        assert sum(taken.values()) == pytest.approx(len(taken))


@pytest.mark.parametrize(("n", "pairs", "rows"), [(20, 5, 20), (10, 2, 8), (3, 1, 3)])
def test_a_smoke_run_has_whole_logs(logs: list[Scenario], n: int, pairs: int, rows: int) -> None:
    """It never has more than N rows: a log is torn only where N has no room for the first one and its twin."""
    groups = pairs_of(logs)
    taken = limit(groups, n, groups)
    assert (len({groups[key] for key in taken}), len(taken)) == (pairs, rows)


def test_few_logs_are_told_before_anything_is_asked(tmp_path: Path) -> None:
    """A run on 19 logs and their twins says so in a line, and so does its dry run; one on 20 says nothing."""
    line = "Reports are asked for on 19 logs, a log and its twin counted as one. With fewer than 20 "
    whole = Path(maskbench.__file__).parent / "scenarios" / NAME / f"{NAME}.jsonl.xz"
    with lzma.open(whole) as rows:
        (file := tmp_path / "logs.jsonl").write_bytes(b"".join(islice(rows, 80)))
    words = ("run", "sim", "--scenarios", file, "--judge", "sim-judge")
    planned = command(*words, "--sample", "76", "--dry-run", env={})
    assert line in " ".join(planned.out.split())
    assert line in " ".join(command(*words, "--sample", "76", "--out", tmp_path / "run", env={}).err.split())
    assert "Reports are asked for on" not in command(*words, "--sample", "80", "--dry-run", env={}).out
