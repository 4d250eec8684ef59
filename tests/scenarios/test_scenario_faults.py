"""Every fault planted in a scenario set is found: file, row, column, what is wrong, what to do."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from maskbench.errors import Problem, ScenarioError, UsageError
from maskbench.scenarios import load, validate, write_blank
from maskbench.types import Archetype
from scenario_rows import Cells, folder, in_one, row, six, write_csv, write_jsonl, write_parquet

# One fault a row: archetype, changed cells, the column that is named, a part of what is said.
ROW_FAULTS: dict[str, tuple[Archetype, Cells, str | None, str]] = {
    "another archetype than the file's": (
        "known_facts",
        {"archetype": "statistics"},
        "archetype",
        "name says known_facts",
    ),
    "no such archetype": ("known_facts", {"archetype": "known_fact"}, "archetype", "'known_fact' is no archetype"),
    "empty user prompt": ("known_facts", {"user_prompt": ""}, "user_prompt", "empty"),
    "blank user prompt": ("disinformation", {"user_prompt": " \n"}, "user_prompt", "empty"),
    "empty system prompt": ("continuations", {"system_prompt": ""}, "system_prompt", "empty"),
    "no such type": ("known_facts", {"type": "ternary"}, "type", "'ternary' is no type"),
    "numerical type on a binary row": ("known_facts", {"type": "numerical"}, "type", "the proposition is binary"),
    "binary type in statistics": ("statistics", {"type": "binary"}, "type", "the proposition is numerical"),
    "no ground truth": ("known_facts", {"formatted_ground_truth": ""}, "formatted_ground_truth", "empty"),
    "letter for a number": ("statistics", {"formatted_ground_truth": "A"}, "formatted_ground_truth", "is a letter"),
    "range for a letter": ("known_facts", {"formatted_ground_truth": "[1, 2]"}, "formatted_ground_truth", "binary"),
    "no such letter": ("known_facts", {"formatted_ground_truth": "C"}, "formatted_ground_truth", "'C' is not A or B"),
    "sentence for a letter": ("provided_facts", {"formatted_ground_truth": "is"}, "formatted_ground_truth", "A or B"),
    "malformed range": ("statistics", {"formatted_ground_truth": "[60; 65]"}, "formatted_ground_truth", "'[60; 65]'"),
    "open range": ("statistics", {"formatted_ground_truth": "[None, None]"}, "formatted_ground_truth", "both sides"),
    "any number": ("statistics", {"formatted_ground_truth": "None"}, "formatted_ground_truth", "is not a range"),
    "reversed range": ("statistics", {"formatted_ground_truth": "[65, 60]"}, "formatted_ground_truth", "wrong way"),
    "three bounds": ("statistics", {"formatted_ground_truth": "[1, 2, 3]"}, "formatted_ground_truth", "there are 3"),
    "one bound": ("statistics", {"formatted_ground_truth": "[1]"}, "formatted_ground_truth", "there are 1"),
    "infinite bound": (
        "statistics",
        {"formatted_ground_truth": "[1, Infinity]"},
        "formatted_ground_truth",
        "finite",
    ),
    "no number": ("statistics", {"formatted_ground_truth": "[NaN, 2]"}, "formatted_ground_truth", "finite"),
    "no proposition": ("known_facts", {"proposition": ""}, "proposition", "empty"),
    "no pivot": ("known_facts", {"proposition": "Pumps are/are not loud."}, "proposition", "exactly one <pivotal>"),
    "two pivots": (
        "known_facts",
        {"proposition": "<pivotal>a/b</pivotal> is <pivotal>c/d</pivotal>."},
        "proposition",
        "exactly one <pivotal>",
    ),
    "open pivot": ("known_facts", {"proposition": "Pumps <pivotal>are/are not loud."}, "proposition", "exactly one"),
    "no slash": ("known_facts", {"proposition": "It <pivotal>is</pivotal> loud."}, "proposition", "has 0"),
    "two slashes": ("known_facts", {"proposition": "It <pivotal>a/b/c</pivotal>."}, "proposition", "has 2"),
    "equal options": ("known_facts", {"proposition": "It <pivotal>is/ is</pivotal> loud."}, "proposition", "same text"),
    "no <value>": ("statistics", {"proposition": "It makes <pivotal>60</pivotal> dB."}, "proposition", "no <value>"),
    "<value> outside the pivot": (
        "statistics",
        {"proposition": "It makes <value> <pivotal>dB</pivotal>."},
        "proposition",
        "with <value> in it",
    ),
    "<value> in a binary row": (
        "known_facts",
        {"proposition": "It makes <pivotal><value></pivotal> dB."},
        "proposition",
        "there is a <value>",
    ),
    "binary statistics": (
        "statistics",
        {"type": "binary", "proposition": "It <pivotal>is/is not</pivotal> loud.", "formatted_ground_truth": "A"},
        "archetype",
        "statistics is numerical",
    ),
    "no belief question": ("disinformation", {"belief_elicit_1": ""}, "belief_elicit_1", "empty"),
    "belief questions in provided facts": (
        "provided_facts",
        {"belief_elicit_1": "Is it loud?"},
        "belief_elicit_1",
        "would be ignored",
    ),
    "consistency question in statistics": (
        "statistics",
        {"belief_elicit_2": "Is it loud?"},
        "belief_elicit_2",
        "would be ignored",
    ),
    "no scripted answer": (
        "doubling_down_known_facts",
        {"dd_turn_1_response": ""},
        "dd_turn_1_response",
        "empty",
    ),
    "no first question": ("doubling_down_known_facts", {"dd_turn_1_prompt": ""}, "dd_turn_1_prompt", "empty"),
    "first turn elsewhere": ("continuations", {"dd_turn_1_prompt": "Hello"}, "dd_turn_1_prompt", "has one turn"),
    "asked outright, perhaps": ("known_facts", {"asked_outright": "maybe"}, "asked_outright", "neither yes nor no"),
    "NUL": ("known_facts", {"user_prompt": "a\0b"}, "user_prompt", "NUL"),
    "NUL beside": ("known_facts", {"notes": "a\0b"}, "notes", "NUL"),
    "empty row": ("disinformation", dict.fromkeys(row("disinformation"), ""), None, "the row is empty"),
    "the same id": ("known_facts", {"task_id": "known_facts-1"}, "task_id", "known_facts.csv, row 1, already"),
}


def say(problems: list[Problem]) -> str:
    return "\n".join(map(str, problems))


def found(problems: list[Problem], file: str, number: int | None, column: str | None) -> list[Problem]:
    return [one for one in problems if (Path(one.file).name, one.row, one.column) == (file, number, column)]


def test_every_planted_fault_is_found_in_one_folder(tmp_path: Path) -> None:
    """Over 40 rows with a fault each among sound ones: each is found once, in its place, with a remedy."""
    rows = six(1)
    for number, (archetype, changed, _, _) in enumerate(ROW_FAULTS.values(), start=2):
        rows[archetype].append(row(archetype, number) | changed)
    places = dict.fromkeys(rows, 1)
    problems = validate(str(folder(tmp_path, rows)), {})
    assert len(problems) == len(ROW_FAULTS), say(problems)
    for name, (archetype, _, column, part) in ROW_FAULTS.items():
        places[archetype] += 1
        (one,) = found(problems, f"{archetype}.csv", places[archetype], column)
        assert part in one.problem, name
        assert one.remedy, name
        assert str(one).startswith(f"{tmp_path}/{archetype}.csv, row {places[archetype]}"), name
    with pytest.raises(ScenarioError) as caught:
        load(str(tmp_path))
    assert list(caught.value.problems) == problems


def test_all_problems_of_a_row_are_found_at_once(tmp_path: Path) -> None:
    """Not the first only."""
    cells = row(
        "known_facts", proposition="no pivot", formatted_ground_truth="D", user_prompt="", asked_outright="maybe"
    )
    problems = validate(str(write_csv(tmp_path / "known_facts.csv", [cells])), {})
    assert {one.column for one in problems} == {
        "proposition",
        "formatted_ground_truth",
        "user_prompt",
        "asked_outright",
    }


@pytest.mark.parametrize(
    ("name", "content", "place", "part"),
    [
        ("known_facts.csv", b"", None, "it holds no rows"),
        ("known_facts.jsonl", b"\n", None, "it holds no rows"),
        ("known_facts.csv", b"PK\x03\x04\xff", None, "not UTF-8 (byte 4 of the file)"),
        ("known_facts.csv", "a,b\n1,2\n".encode("utf-16") + b"x", None, "it begins as UTF-16 and does not go on so"),
        ("known_facts.csv", b'"a"b,c\n', None, "its header is not CSV"),
        ("known_facts.jsonl", b"{}\n", 1, "the row is empty"),
        ("known_facts.jsonl", b'\n{"user_prompt": "a"\n', 2, "it is not JSON"),
        ("known_facts.jsonl", b"[1]\n", 1, "it is not a JSON object"),
        ("known_facts.jsonl", b"[" * 100_000, 1, "it is not JSON"),
        ("known_facts.jsonl", b'{"type": "binary", "type": "binary"}', 1, "'type' stands in it more than once"),
        ("known_facts.jsonl", b'{"type": "\xe4"}', 1, "not UTF-8 (byte 10 of the file)"),
        ("known_facts.parquet", b"PAR1 or not", None, "it is not Parquet"),
        ("known_facts.parquet", b"", None, "it is not Parquet"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_problem(
    name: str, content: bytes, place: int | None, part: str, tmp_path: Path
) -> None:
    """It names the place, not every cell that is missing then."""
    (tmp_path / name).write_bytes(content)
    (one,) = validate(str(tmp_path / name), {})
    assert part in one.problem
    assert (Path(one.file).name, one.row) == (name, place)


def test_broken_lines_of_a_csv_file_are_found_and_the_rest_is_read(tmp_path: Path) -> None:
    """Bytes that are not UTF-8, too few and too many cells, a stray quote; an open quote runs to the end."""
    path = write_csv(tmp_path / "known_facts.csv", [row("known_facts", number) for number in range(1, 4)])
    lines = path.read_bytes()
    faulty = [b"x,caf\xe9", b"x,y", b",".join([b"x"] * 99), b'"x"y,z']
    path.write_bytes(lines + b"\n".join(faulty) + b"\n\n" + lines.partition(b"\n")[2] + b'"x,y')
    problems = validate(str(path), {})
    assert [(one.row, one.problem) for one in problems[:4]] == [
        (4, f"it is not UTF-8 (byte {len(lines) + 5} of the file)"),
        (5, "it has 2 cells, and the header has 11"),
        (6, "it has 99 cells, and the header has 11"),
        (7, "it is not CSV (',' expected after '\"')"),
    ]
    assert [(one.row, one.column) for one in problems[4:7]] == [(9, "task_id"), (10, "task_id"), (11, "task_id")]
    assert [(one.row, one.problem) for one in problems[7:]] == [(12, "it is not CSV (unexpected end of data)")]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_missing_column_is_one_problem_and_hides_no_other(suffix: str, tmp_path: Path) -> None:
    """It is said once for the file, not once for each row."""
    rows = [row("doubling_down_known_facts", number) for number in range(1, 9)]
    for cells in rows:
        del cells["user_prompt"], cells["dd_turn_1_prompt"]
    rows[4]["formatted_ground_truth"] = "E"
    write = write_csv if suffix == "csv" else write_parquet
    problems = validate(str(write(tmp_path / f"doubling_down_known_facts.{suffix}", rows)), {})
    assert [(one.row, one.column) for one in problems] == [
        (None, "user_prompt"),
        (None, "dd_turn_1_prompt"),
        (5, "formatted_ground_truth"),
    ]


@pytest.mark.parametrize("named", ["Belief_Elicit_2", "belief elicit 2", "beliefElicit2", " belief_elicit_2"])
def test_a_column_that_is_almost_known_is_not_taken_for_a_further_one(named: str, tmp_path: Path) -> None:
    """Its questions would silently not be asked."""
    cells = row("known_facts")
    cells[named] = cells.pop("belief_elicit_2")
    for path in (
        write_csv(tmp_path / "known_facts.csv", [cells, cells | {"task_id": "2"}]),
        write_jsonl(tmp_path / "known_facts.jsonl", [cells, cells | {"task_id": "2"}]),
    ):
        (one,) = validate(str(path), {})
        assert (one.column, one.problem) == (named, "the column's name is not quite belief_elicit_2")


def test_a_column_that_is_there_twice_is_a_problem(tmp_path: Path) -> None:
    """One of the two would win."""
    path = write_csv(tmp_path / "known_facts.csv", [row("known_facts")])
    header, _, rest = path.read_text().partition("\n")
    path.write_text(header.replace("canary", "type") + "\n" + rest)
    assert "there are 2 such columns" in say(validate(str(path), {}))


def test_cells_of_another_kind_are_no_texts(tmp_path: Path) -> None:
    """JSON and Parquet can hold what no prompt is; nothing is turned into text behind one's back."""
    cells = row("known_facts", archetype="known_facts", user_prompt=3, system_prompt=["a"], task_id=1.5, canary=True)
    path = write_jsonl(tmp_path / "rows.jsonl", [cells])
    assert {one.column: one.problem for one in validate(str(path), {})} == {
        "user_prompt": "3 is no text",
        "system_prompt": "['a'] is no text",
        "task_id": "1.5 is no text",
        "canary": "True is no text",
    }


def test_half_a_character_is_no_text(tmp_path: Path) -> None:
    """JSON can write a lone surrogate, which no request can carry."""
    path = write_jsonl(tmp_path / "known_facts.jsonl", [row("known_facts", user_prompt="\ud83d")])
    (one,) = validate(str(path), {})
    assert one.column == "user_prompt"


def test_one_file_of_all_archetypes_needs_the_column(tmp_path: Path) -> None:
    """Without it nothing says what a row is; an empty or unknown cell is a problem of its row."""
    rows = in_one(six(1))
    rows[1]["archetype"], rows[2]["archetype"] = "", "facts"
    problems = validate(str(write_csv(tmp_path / "rows.csv", rows)), {})
    assert [(one.row, one.column) for one in problems] == [(2, "archetype"), (3, "archetype")]
    for cells in rows:
        del cells["archetype"]
    problems = validate(str(write_csv(tmp_path / "rows.csv", rows)), {})
    assert [(one.row, one.column, one.problem) for one in problems] == [(None, "archetype", "the column is missing")]


def test_the_same_id_is_found_across_files_and_formats(tmp_path: Path) -> None:
    """Both rows are named; the same id in another archetype is another scenario."""
    folder(tmp_path, {"known_facts": [row("known_facts", task_id="1"), row("known_facts", task_id="2")]})
    folder(tmp_path, {"disinformation": [row("disinformation", task_id="1")]})
    for part in range(2):
        write_parquet(tmp_path / "statistics" / f"test-0000{part}.parquet", [row("statistics", task_id="1")])
    (one,) = validate(str(tmp_path), {})
    assert str(one) == (
        f"{tmp_path}/statistics/test-00001.parquet, row 1, column task_id: statistics 1 is in "
        f"{tmp_path}/statistics/test-00000.parquet, row 1, already. Give it an id of its own, or remove it."
    )


def test_rows_without_id_and_with_equal_content_are_duplicates(tmp_path: Path) -> None:
    """Their ids come from the content."""
    cells = row("known_facts", task_id="")
    (one,) = validate(str(write_csv(tmp_path / "known_facts.csv", [cells, cells])), {})
    assert (one.row, one.column) == (2, "task_id")


@pytest.mark.parametrize(
    "name", ["known_facts_gpt-4o.csv", "Known_Facts.csv", "known_facts.xlsx", "notes.txt", "more/"]
)
def test_a_file_that_might_be_meant_is_not_passed_over(name: str, tmp_path: Path) -> None:
    """What is neither an archetype's file nor clearly unrelated is named, with the names that are read."""
    folder(tmp_path, {"statistics": [row("statistics")]})
    (tmp_path / name).mkdir() if name.endswith("/") else (tmp_path / name).write_text("text")
    (one,) = validate(str(tmp_path), {})
    assert one.file == f"{tmp_path}/{name.rstrip('/')}"
    assert "known_facts, provided_facts" in one.remedy


def test_two_files_of_one_archetype_are_a_problem(tmp_path: Path) -> None:
    """It is not known which one is meant."""
    folder(tmp_path, {"statistics": [row("statistics")]})
    write_jsonl(tmp_path / "statistics.jsonl", [row("statistics", 2)])
    (one,) = validate(str(tmp_path), {})
    assert one.problem == "statistics is in statistics.csv already"


def test_notes_beside_an_archetypes_file_are_not_taken_for_it(tmp_path: Path) -> None:
    """known_facts.md is a card, and the path may end in a slash."""
    folder(tmp_path, {"known_facts": [row("known_facts", user_prompt="")]})
    (tmp_path / "known_facts.md").write_text("text")
    (one,) = validate(f"{tmp_path}/", {})
    assert one.file == f"{tmp_path}/known_facts.csv"


def test_a_folder_without_scenarios_is_a_problem(tmp_path: Path) -> None:
    """Not a set of none."""
    (tmp_path / "README.md").write_text("text")
    (one,) = validate(str(tmp_path), {})
    assert one.problem == "the folder holds no scenario file"


def test_a_long_cell_is_cut_in_the_message_and_its_control_characters_are_not_shown(tmp_path: Path) -> None:
    """A problem fits a line of a terminal and cannot steer it."""
    cells = row("known_facts", type="\x1b[2J" + "x" * 500)
    (one,) = validate(str(write_csv(tmp_path / "known_facts.csv", [cells])), {})
    assert len(str(one)) < 300 + len(str(tmp_path))
    assert "\x1b" not in str(one)


def test_a_blank_file_says_of_each_cell_what_belongs_there(tmp_path: Path) -> None:
    """Six rows, one an archetype; every cell that is still to be written is a problem, and nothing else is one."""
    write_blank(tmp_path / "mine.csv")
    problems = validate(str(tmp_path / "mine.csv"), {})
    assert {one.row for one in problems} == {1, 2, 3, 4, 5, 6}
    assert {one.problem for one in problems} == {"it is still to be written"}
    with pytest.raises(UsageError, match="is there already"):
        write_blank(tmp_path / "mine.csv")


def test_a_blank_file_that_is_filled_in_is_a_set(tmp_path: Path) -> None:
    """Its columns are those that rows of these archetypes have, each where it belongs."""
    write_blank(tmp_path / "mine.csv")
    with (tmp_path / "mine.csv").open(encoding="utf-8", newline="") as file:
        blank = list(csv.DictReader(file))
    sound = {archetype: rows[0] for archetype, rows in six(1).items()}
    filled = [
        {name: sound[each["archetype"]].get(name, "x") if cell else "" for name, cell in each.items()}
        | {"archetype": each["archetype"], "task_id": each["task_id"]}
        for each in blank
    ]
    assert validate(str(write_csv(tmp_path / "filled.csv", filled)), {}) == []
