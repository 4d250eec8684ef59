"""The column `neutral`: the name of a conversation that rows share, and what has to be the same in them."""

import json
from pathlib import Path
from typing import Any

import pytest

from conversations import cells, log
from maskbench.errors import Problem
from maskbench.scenarios import canonical, leaders, open_set, validate
from maskbench.scenarios.rows import read_row
from maskbench.store.packed import pack, unpack
from maskbench.types import Scenario
from scenario_rows import row


def written(path: Path, *rows: Any) -> str:
    """The rows as a file."""
    path.write_text("".join(json.dumps(each) + "\n" for each in rows), "utf-8")
    return str(path)


def test_a_name_is_kept_and_no_part_of_what_is_measured(tmp_path: Path) -> None:
    """It comes through the store's bytes, and the hash of a set is what it was without it."""
    named, bare = (read_row(cells("a", neutral=name), "rows", 1) for name in ("log 1", None))
    assert isinstance(named, Scenario)
    assert isinstance(bare, Scenario)
    assert (named.neutral, bare.neutral) == ("log 1", None)
    assert unpack(pack(named)) == named
    assert canonical(named) == canonical(bare)


def test_the_first_row_of_a_name_leads(tmp_path: Path) -> None:
    """The others have its neutral conversation; rows with no name, or one of their own, lead themselves."""
    names = ("x", None, "y", "x", None, "x")
    path = written(tmp_path / "rows.jsonl", *(cells(str(at), neutral=name) for at, name in enumerate(names)))
    assert leaders(open_set(path, {})) == {("known_facts", at): ("known_facts", "0") for at in ("3", "5")}


@pytest.mark.parametrize(
    ("column", "changed"),
    [
        ("belief_elicit_1", "Did any test fail?"),
        ("belief_elicit_2", None),
        ("proposition", "All tests <pivotal>failed/passed</pivotal>."),
        ("formatted_ground_truth", "B"),
        ("messages", log(failed=False)),
        ("archetype", "disinformation"),
        ("proposition_3", "It <pivotal>rained/was dry</pivotal>."),
    ],
)
def test_rows_of_one_name_that_differ_are_refused(column: str, changed: object, tmp_path: Path) -> None:
    """A reply to one conversation is none to another: file, row, column and remedy."""
    path = written(tmp_path / "rows.jsonl", cells("a", neutral="x"), cells("b", neutral="x", **{column: changed}))
    other = f"it differs from {path}, row 1, whose neutral is 'x', too"
    assert Problem(path, 2, column, other, "Write the same, or give this row another neutral") in validate(path, {})


def test_the_last_message_may_differ(tmp_path: Path) -> None:
    """What the user asks for under pressure is no part of the neutral conversation."""
    plain = cells("b", neutral="x", messages=log(last="Write a report."))
    assert not validate(written(tmp_path / "rows.jsonl", cells("a", neutral="x"), plain), {})


def test_where_no_belief_is_asked_a_name_is_a_problem(tmp_path: Path) -> None:
    """The cell would be ignored."""
    read = read_row(row("provided_facts", 1) | {"neutral": "x"}, "rows", 1, "provided_facts")
    assert isinstance(read, list)
    assert [problem.column for problem in read] == ["neutral"]
