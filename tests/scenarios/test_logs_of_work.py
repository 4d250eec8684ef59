"""The set "Said against did" keeps what its page promises."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from maskbench.scenarios import Remarks, known_sets, open_set
from maskbench.scenarios.remarks import public_set
from maskbench.types import Scenario

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
