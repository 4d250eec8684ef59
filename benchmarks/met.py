"""The tables of docs/met.md: which services were met, with what record, and which shapes of their answers are replayed.

python benchmarks/met.py            print them, from the records in src/maskbench/models/contacts and tests/data
python benchmarks/met.py --write    put them into docs/met.md
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from csv_tables import DOCS, put_table
from maskbench.models.chat.contact import Contact, contacts
from maskbench.models.chat.services import SERVICES

DATA = Path(__file__).parents[1] / "tests" / "data"
BEGIN, END = "<!-- met.py: tables -->", "<!-- end of it -->"


def shapes(name: str) -> Counter[str]:
    """How many shapes of answers a file of tests/data has, by service."""
    lines = (DATA / name).read_text("utf-8").splitlines()
    return Counter(json.loads(line)["service"] for line in lines)


def tables(records: Sequence[Contact], recorded: Counter[str], documented: Counter[str]) -> Iterator[str]:
    """The lines between the marks of the page."""
    hosted = {record.service for record in records if record.host}
    others = {record.service for record in records} - hosted
    yield (
        f"**{len(hosted)} hosted services and {len(others)} servers of one's own were met.** Replayed in the tests are "
        f"{recorded.total()} answers as others recorded them, and {documented.total()} as the services' documentation "
        "has them."
    )
    yield from ("", "| service or server | met | recorded answers replayed | by its documentation alone |")
    yield "|---|---|---|---|"
    names = dict.fromkeys([*SERVICES, *sorted({*recorded, *documented, *others} - {*SERVICES})])
    for name in names:
        dates = sorted({record.date for record in records if record.service == name})
        yield f"| {name} | {', '.join(dates) or 'no'} | {recorded[name] or '–'} | {documented[name] or '–'} |"
    yield from ("", "| record | took | refused or ignored | messages held | samples ended | tokens by | limits by |")
    yield "|---|---|---|---|---|---|---|"
    yield from map(_row, records)


def _row(record: Contact) -> str:
    where = f"{record.service}, {record.model} ({record.host or record.server or 'no name'}), by maskbench "
    taken = [name for name, way in record.parameters.items() if way == "taken"]
    other = [f"{name}: {way}" for name, way in record.parameters.items() if way != "taken"]
    names = (taken, other, record.content, record.stops, record.usage, record.headers)
    return f"| {' | '.join([where + record.maskbench, *(', '.join(each) or '–' for each in names)])} |"


def lines() -> str:
    """What stands on the page."""
    return "\n".join(tables(contacts(), shapes("wire.jsonl"), shapes("wire_documented.jsonl")))


def main() -> None:
    """Print the tables, or put them into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    print(lines())
    if parser.parse_args().write:
        put_table(DOCS / "met.md", BEGIN, END, lines())


if __name__ == "__main__":
    main()
