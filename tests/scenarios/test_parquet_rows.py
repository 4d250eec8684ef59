"""Parquet files are read as other libraries write them: every compression, nested columns, and what is damaged."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any, Literal

import polars
import pytest

from maskbench.scenarios.formats import Header, NotParquet, Row, ScenarioFile, read_file, read_parquet

WRITTEN = Path(__file__).parents[1] / "data" / "parquet"  # by pyarrow 26, in two groups of rows
TURNS = [{"role": "user", "content": "Hi 😀"}]


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [item for item in read_parquet(path) if isinstance(item, dict)]


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip"])
def test_what_pyarrow_wrote(compression: str) -> None:
    """Texts of every kind, numbers, nulls, lists and lists of objects come as Python's own."""
    first, second, third = rows(WRITTEN / f"pyarrow_{compression}.parquet")
    assert first == {
        "task_id": "1",
        "n": 1,
        "share": 0.5,
        "yes": True,
        "turns": TURNS,
        "tags": ["a", "b"],
        "kind": "x",
        "long": "u",
        "view": "u",
    }
    assert math.isnan(second.pop("share"))
    del second["turns"], second["tags"]
    assert second == {"task_id": "2", "n": None, "yes": None, "kind": "y", "long": "v", "view": "v"}
    assert {name for name, cell in third.items() if cell is None} == {
        "task_id",
        "share",
        "turns",
        "tags",
        "long",
        "view",
    }


@pytest.mark.parametrize("compression", ["zstd", "snappy", "gzip", "brotli", "lz4", "uncompressed"])
def test_what_polars_wrote(
    compression: Literal["zstd", "snappy", "gzip", "brotli", "lz4", "uncompressed"], tmp_path: Path
) -> None:
    """Of every compression the rows are those that were written, in their order, over several batches."""
    wanted = [{"id": str(number), "turns": TURNS * (number % 3), "x": number / 7} for number in range(600)]
    path = tmp_path / "rows.parquet"
    polars.DataFrame(wanted).write_parquet(path, compression=compression, row_group_size=250)
    assert rows(path) == wanted


def test_columns_come_before_rows_which_are_numbered(tmp_path: Path) -> None:
    """The header has the columns in their order; the first row is number 1."""
    polars.DataFrame({"b": ["x", "y"], "a": [1, 2]}).write_parquet(tmp_path / "rows.parquet")
    header, first, second = read_file(ScenarioFile(tmp_path / "rows.parquet", "rows.parquet"))
    assert header == Header(("b", "a"))
    assert (first, second) == (Row(1, {"b": "x", "a": 1}), Row(2, {"b": "y", "a": 2}))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "it does not begin as one"),
        (b"task_id,proposition\n1,It rains.\n", "it does not begin as one"),
        (b"PAR1 and no more", "its end is missing"),
        (b"PAR1PAR1", "its end is missing"),
    ],
)
def test_what_is_no_parquet_is_said_without_a_word_from_the_library(
    content: bytes, why: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A file of another kind, and one that was cut, are refused with the reason, and stderr stays empty."""
    (tmp_path / "rows.parquet").write_bytes(content)
    with pytest.raises(NotParquet, match=why):
        rows(tmp_path / "rows.parquet")
    assert capfd.readouterr().err == ""


def test_a_damaged_file_is_a_problem_of_that_file(tmp_path: Path) -> None:
    """A footer of rubbish, over which the library panics, is a problem with what to do."""
    path = tmp_path / "rows.parquet"
    path.write_bytes(b"PAR1" + b"\xff" * 64 + (60).to_bytes(4, "little") + b"PAR1")
    (problem,) = read_file(ScenarioFile(path, "rows.parquet"))
    assert str(problem).startswith("rows.parquet: it is not Parquet (")
    assert str(problem).endswith("Write the file again.")


def test_a_byte_over_which_the_library_would_end_the_process_is_a_problem(tmp_path: Path) -> None:
    """A footer with one wrong byte, a length below zero, aborts who reads it; here it is a problem of that file."""
    content = bytearray((WRITTEN / "pyarrow_gzip.parquet").read_bytes())
    content[3071] = 0o277
    path = tmp_path / "rows.parquet"
    path.write_bytes(content)
    (problem,) = read_file(ScenarioFile(path, "rows.parquet"))
    assert str(problem).startswith("rows.parquet: it is not Parquet (it is damaged inside)")


def test_a_file_that_is_not_there_is_an_oserror(tmp_path: Path) -> None:
    """A missing file is told from a damaged one."""
    with pytest.raises(FileNotFoundError):
        rows(tmp_path / "none.parquet")
