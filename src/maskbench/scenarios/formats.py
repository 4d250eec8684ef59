"""A CSV, JSONL or Parquet file → its rows, one at a time, and whatever keeps a row from being read."""

from __future__ import annotations

import csv
import json
import lzma
import re
import subprocess
import sys
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from io import BytesIO
from itertools import chain, islice
from typing import IO, Any

from maskbench.errors import Problem
from maskbench.types import Archetype

CELL_LIMIT = 2**31 - 1  # bytes; the csv module's own 131,072 is less than a long document in a prompt
BATCH = 256  # rows in memory at a time
MARK = b"PAR1"  # a Parquet file begins and ends with it
_THROUGH = f"""
import sys
from arro3.io import read_parquet
for _ in read_parquet(sys.argv[1], batch_size={BATCH}):
    pass
"""


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """One file of a set: where it is, the name that problems give it, the archetype that its name gives."""

    place: Traversable
    shown: str
    archetype: Archetype | None = None

    @property
    def suffix(self) -> str:
        """Which format it has, by its name."""
        return _suffix(self.place.name.removesuffix(".xz"))

    def open(self) -> IO[bytes]:
        """Its bytes; a set that comes with the package may be compressed, and what is in UTF-16 comes as UTF-8."""
        if self.place.name.endswith(".xz"):
            return BytesIO(lzma.decompress(self.place.read_bytes()))
        stream = self.place.open("rb")
        if stream.read(len(BOM_UTF16_LE)) in (BOM_UTF16_LE, BOM_UTF16_BE):
            with stream:
                stream.seek(0)
                return BytesIO(stream.read().decode("utf-16").encode())
        stream.seek(0)
        return stream

    def problem(self, row: int | None, column: str | None, problem: str, remedy: str) -> Problem:
        """A problem of this file."""
        return Problem(self.shown, row, column, problem, remedy)


@dataclass(frozen=True, slots=True)
class Header:
    """The columns that every row of the file has."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of data, the first is number 1."""

    number: int
    cells: dict[str, Any]


Item = Header | Row | Problem


def known_format(name: str) -> bool:
    """Whether a file of that name can be read."""
    return _suffix(name) in FORMATS


def read_file(file: ScenarioFile) -> Iterator[Item]:
    """The file's header, where its format has one, and its rows; a row that cannot be read is a Problem."""
    empty = True
    if file.suffix not in FORMATS:
        yield file.problem(None, None, "it is no file that can be read", f"Give a file: {', '.join(sorted(FORMATS))}")
        return
    try:
        for item in FORMATS[file.suffix](file):
            empty = empty and isinstance(item, Header)
            yield item
    except OSError as error:
        yield file.problem(None, None, f"it cannot be read ({error.strerror or error})", "Check path and rights")
    except UnicodeError:
        yield file.problem(None, None, "it begins as UTF-16 and does not go on so", "Save the file as UTF-8")
    else:
        if empty:
            yield file.problem(None, None, "it holds no rows", "Add scenarios, or remove the file")


class _Lines:
    """The lines of a file in UTF-8; `bad` is the first byte since it was last cleared that is none."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._offset = 0
        self.bad: int | None = None

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline()
        if not line:
            raise StopIteration
        start, self._offset = self._offset, self._offset + len(line)
        try:
            text = line.decode()
        except UnicodeDecodeError as error:
            self.bad = start + error.start if self.bad is None else self.bad
            text = line.decode(errors="replace")
        return text.removeprefix("\ufeff") if start == 0 else text


def _not_utf8(file: ScenarioFile, row: int | None, lines: _Lines) -> Problem:
    place, lines.bad = lines.bad, None
    return file.problem(row, None, f"it is not UTF-8 (byte {place} of the file)", "Save the file as UTF-8")


def _csv(file: ScenarioFile) -> Iterator[Item]:
    with file.open() as stream:
        lines = _Lines(stream)
        first = list(islice(lines, 1))
        if said := re.fullmatch("sep=(.)\r?\n", "".join(first)):  # as spreadsheets write it
            first = []
        records = _records(chain(first, lines), said[1] if said else _separator("".join(first)))
        header = next(records, None)
        if header is None:
            return
        if lines.bad is not None:
            yield _not_utf8(file, None, lines)
            return
        if isinstance(header, csv.Error):
            yield file.problem(None, None, f"its header is not CSV ({header})", QUOTE)
            return
        yield Header(tuple(header))
        for number, record in enumerate(records, 1):
            if lines.bad is not None:
                yield _not_utf8(file, number, lines)
            elif isinstance(record, csv.Error):
                yield file.problem(number, None, f"it is not CSV ({record})", QUOTE)
            elif len(record) == len(header):
                yield Row(number, dict(zip(header, record, strict=True)))
            elif record:  # a blank line is no row
                cells = f"it has {len(record)} cells, and the header has {len(header)}"
                yield file.problem(number, None, cells, QUOTE)


QUOTE = 'Put cells that hold commas, quotes or line breaks into quotes, and write a quote in them as ""'


def _separator(first: str) -> str:
    """What separates the columns of a CSV file by its first line: a semicolon or a tab where it has no comma."""
    return "," if "," in first else next((mark for mark in ";\t" if mark in first), ",")


def _records(lines: Iterable[str], separator: str) -> Iterator[list[str] | csv.Error]:
    """The records of a CSV file; a broken one is an error in its place, and the next ones follow.

    The csv module's limit on a cell's length is one for the whole process: it is lifted for each record and put
    back at once, so that nobody else's reading changes.
    """
    reader = csv.reader(lines, strict=True, delimiter=separator)
    while True:
        record: list[str] | csv.Error
        limit = csv.field_size_limit(CELL_LIMIT)
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            record = error
        finally:
            csv.field_size_limit(limit)
        yield record


def _jsonl(file: ScenarioFile) -> Iterator[Item]:
    with file.open() as stream:
        lines = _Lines(stream)
        for number, line in enumerate(lines, 1):
            if lines.bad is not None:
                yield _not_utf8(file, number, lines)
            elif line.strip():
                yield _json_row(file, number, line)


def _json_row(file: ScenarioFile, number: int, line: str) -> Row | Problem:
    try:
        cells = json.loads(line, object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        return file.problem(number, None, f"it is not JSON ({error})", "Write one JSON object a line")
    if not isinstance(cells, dict):
        return file.problem(number, None, "it is not a JSON object", "Write one JSON object a line")
    return Row(number, cells)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
    if repeated:
        raise ValueError(f"{repeated[0]!r} stands in it more than once")
    return dict(pairs)


def _parquet(file: ScenarioFile) -> Iterator[Item]:
    try:
        for number, item in enumerate(read_parquet(file.place)):
            yield Row(number, item) if isinstance(item, dict) else Header(item)
    except NotParquet as error:
        yield file.problem(None, None, f"it is not Parquet ({error})", "Write the file again")


FORMATS: dict[str, Callable[[ScenarioFile], Iterator[Item]]] = {
    ".csv": _csv,
    ".jsonl": _jsonl,
    ".ndjson": _jsonl,
    ".parquet": _parquet,
}


def _suffix(name: str) -> str:
    return name[name.rfind(".") :].lower() if "." in name else ""


class NotParquet(Exception):
    """The file is none, or it is damaged; the text says how."""


def read_parquet(place: Traversable) -> Iterator[tuple[str, ...] | dict[str, Any]]:
    """The names of the columns first, then each row by them; raises NotParquet and OSError.

    Of two columns with one name the row has the last; the names tell of both.
    """
    _check(place)
    _survive(place)
    from arro3.io import read_parquet as opened

    try:
        batches = opened(str(place), batch_size=BATCH)
        names = tuple(batches.schema.names)
        yield names
        for batch in batches:
            columns = (batch.column(number).to_pylist() for number in range(batch.num_columns))
            yield from (dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True))
    except OSError:
        raise
    except BaseException as error:  # a library in Rust panics over what is damaged, which is no Exception
        if isinstance(error, Exception) or type(error).__name__ == "PanicException":
            raise NotParquet(str(error).partition("\n")[0][:200]) from None
        raise


def _check(place: Traversable) -> None:
    """Raise NotParquet for what is plainly none, or was cut."""
    with place.open("rb") as file:
        first = file.read(len(MARK))
        file.seek(0, 2)
        size = file.tell()
        file.seek(max(0, size - len(MARK)))
        last = file.read()
    if first != MARK:
        raise NotParquet("it does not begin as one")
    if last != MARK or size < 3 * len(MARK):
        raise NotParquet("its end is missing")


def _survive(place: Traversable) -> None:
    """Raise NotParquet for a file over which the library would end this process.

    Of files with a wrong byte four in a thousand make it panic where no error can be raised. So another process reads
    the file through first, which takes a tenth of a second.
    """
    if not sys.executable:  # Python inside of another program
        return
    line = [sys.executable, "-I", "-c", _THROUGH, str(place)]
    if subprocess.run(line, capture_output=True, check=False).returncode < 0:  # noqa: S603  # our own interpreter
        raise NotParquet("it is damaged inside")
