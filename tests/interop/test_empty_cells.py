"""Cells of the published scripts' files in which nothing stands: no words of a model, and no extracted verdict."""

import csv
from ast import literal_eval
from json import dumps
from pathlib import Path
from random import Random

import pytest
from test_lost_replies import labels, ours, table

from flows import typed
from imports import STATEMENT, outcomes_of, published_row, write_rows
from maskbench.cli.importing_cli import told
from maskbench.interop.export import write
from maskbench.interop.importing import import_run
from maskbench.method.verdict import BOUNDS
from maskbench.store.folder import RunFolder
from verdict_tables import PLACES, Table, as_published

EMPTY = ("", "nan", "NaN", "None", "NA", "N/A", "n/a", "null", "<NA>")
BELIEFS = {1: "AAA", 2: "A", 3: "A"}


def lies(count: int, *extracted: str) -> list[dict[str, str]]:
    """Rows that lie by the judge's words; these are the cells of the extracted verdicts of all, one a row."""
    rows = [published_row("known_facts", number, "B", BELIEFS) for number in range(1, count + 1)]
    cells = [name for name in rows[0] if name.endswith("_extracted")]
    return [row | dict.fromkeys(cells, cell) for row, cell in zip(rows, extracted or [""] * count, strict=True)]


@pytest.mark.parametrize("cell", EMPTY)
def test_a_generation_in_which_nothing_stands_is_a_failure(tmp_path: Path, cell: str) -> None:
    """What pandas writes and reads for a missing text is none of the model's words, whatever the judge made of it."""
    row = published_row("known_facts", 1, "B", BELIEFS, **{f"generation{STATEMENT.format(1)}": cell})
    write_rows(tmp_path / "known_facts_m.csv", [row])
    run = import_run(tmp_path / "known_facts_m.csv", tmp_path / "run", environ={})
    assert run.failures == {"subject": {"absent": 1}}
    assert list(outcomes_of(tmp_path / "run").values()) == [("error",)]


@pytest.mark.parametrize("text", ["None.", "NA, I fear", "null and void", "No", "Error: 429"])
def test_a_word_more_is_a_reply(tmp_path: Path, text: str) -> None:
    """Only a cell that holds nothing else is an empty one."""
    row = published_row("known_facts", 1, "B", BELIEFS, **{f"generation{STATEMENT.format(1)}": text})
    write_rows(tmp_path / "known_facts_m.csv", [row])
    import_run(tmp_path / "known_facts_m.csv", tmp_path / "run", environ={})
    assert list(outcomes_of(tmp_path / "run").values()) == [("lie",)]


def test_where_nothing_was_extracted_the_published_formula_finds_no_lie(tmp_path: Path) -> None:
    """Three lies by the judge's words are 100.0 % "honest" by the column that the published metric reads."""
    path = write_rows(tmp_path / "known_facts_m.csv", lies(3, "", "nan", "None"))
    run = import_run(path, tmp_path / "run", environ={})
    assert [each[0] for each in outcomes_of(run.path).values()] == ["lie"] * 3
    assert [each[0] for each in outcomes_of(run.path, "published").values()] == ["no_belief"] * 3
    assert "all 100.0 %" in " ".join(typed("score", run.path, "--as", "paper").out.split())


def test_an_import_says_how_many_verdicts_it_read_from_words(tmp_path: Path) -> None:
    """Words and extracted verdicts are counted apart, and so are empty cells, which one rule set takes as they are."""
    run = import_run(
        write_rows(tmp_path / "known_facts_m.csv", lies(3, "", "A", "**B**")), tmp_path / "run", environ={}
    )
    assert (run.verdicts, run.source.notes) == (
        18,
        [
            "Verdicts read from the judge's words: 12; from columns of extracted verdicts: 6.",
            "Verdicts whose cell in the column of extracted verdicts is empty: 6. Under the rule set `published` they "
            "are missing, as they were there.",
        ],
    )
    assert set(run.source.notes) <= set(told(run))


def test_an_import_of_extracted_verdicts_says_nothing_of_words(tmp_path: Path) -> None:
    """Where every verdict was extracted there is nothing to tell."""
    path = write_rows(tmp_path / "known_facts_m.csv", [published_row("known_facts", 1, "B", BELIEFS)])
    assert import_run(path, tmp_path / "run", environ={}).source.notes == []


def test_without_the_column_every_rule_set_takes_the_words(tmp_path: Path) -> None:
    """A file of the stage before has no cell that could be empty: its verdicts are those that its texts hold."""
    rows = [{name: cell for name, cell in row.items() if not name.endswith("_extracted")} for row in lies(2)]
    run = import_run(write_rows(tmp_path / "known_facts_m.csv", rows), tmp_path / "run", environ={})
    assert set(outcomes_of(run.path, "published").values()) == {("lie",)}
    assert run.source.notes == ["Verdicts read from the judge's words: 12; from columns of extracted verdicts: 0."]


def emptied(rows: Table, folder: Path) -> tuple[Path, Table]:
    """Files of these rows in which some extracted cells are empty, and the rows as the published metric sees them.

    The words on a number are the object that the published judge writes.
    """
    rng = Random(41)
    seen = {}
    for row in rows:
        gone = [place for place in PLACES if row[place] and rng.random() < 0.4]
        seen[row["task_id"]] = row | dict.fromkeys(gone, "" if row["archetype"] == "statistics" else "-")
    for path in as_published(rows, folder, "lab-1").iterdir():
        with path.open(encoding="utf-8", newline="") as file:
            read = list(csv.DictReader(file))
        for cells in read:
            for place, column in PLACES.items():
                verdict = cells.get(f"eval{column}_extracted", "")
                if verdict.startswith("("):
                    cells[f"eval{column}"] = dumps(dict(zip(BOUNDS, literal_eval(verdict), strict=True)))
                if seen[cells["task_id"]][place] in ("", "-") and verdict:
                    cells[f"eval{column}_extracted"] = ""
        write_rows(path, read)
    return folder, list(seen.values())


def test_the_rule_set_published_gives_the_labels_of_the_column(tmp_path: Path) -> None:
    """With cells emptied at random, on lost replies too, each label is that of the metric, after an export as well."""
    folder, seen = emptied(table(90), tmp_path / "csv")
    run = import_run(folder, tmp_path / "run", environ={}).path
    assert ours(run) == [labels(row) for row in seen]
    assert outcomes_of(run) == outcomes_of(
        import_run(as_published(table(90), tmp_path / "full", "lab-1"), tmp_path / "all", environ={}).path
    )
    write(RunFolder(run), "published", "published", tmp_path / "back")
    back = import_run(tmp_path / "back", tmp_path / "again", environ={}).path
    assert ours(back) == ours(run)
    assert outcomes_of(back) == outcomes_of(run)
