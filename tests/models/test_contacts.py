"""The records of contacts that come with maskbench: nothing in them that somebody wrote, or that is private.

Whoever sends a record puts the file that `--record` of doctor or run wrote into src/maskbench/models/contacts, as it
is. What is wrong with it is said here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import pytest

import met
import schemas
from csv_tables import DOCS
from maskbench.models import contacts as packaged
from maskbench.models.chat.contact import Contact, contacts, plain_name
from maskbench.models.chat.services import SERVICES

FOLDER = Path(next(iter(packaged.__path__)))
AGAIN = "Make the record again, by --record, and leave it as it is."
LONG_LETTERS = re.compile(r"[A-Za-z0-9]{20,}")  # as keys have them
ADDRESS = re.compile(r"https?://|localhost|\d{1,3}(\.\d{1,3}){3}|:\d{2,5}\b")


def problems(content: bytes) -> Iterator[str]:
    """What keeps a file from being a record that may be published, each as a sentence for whoever sends it."""
    try:
        records = msgspec.json.decode(content, type=list[Contact])
    except msgspec.MsgspecError as error:
        yield f"It is no list of records: {error}. {AGAIN}"
        return
    if not records:
        yield f"It is empty. {AGAIN}"
    for word in _words(json.loads(content)):
        if plain_name(word) != word and word != "(other)":
            yield f"{word!r} is no name: it may be a text. {AGAIN}"
        if LONG_LETTERS.search(word):
            yield f"{word!r} may be a key, or a name that only one account has. Ask for a model that others have, too."
        if ADDRESS.search(word):
            yield f"{word!r} may be the address of a machine. {AGAIN}"
    for record in records:
        yield from _of_one(record)


def _words(value: Any) -> Iterator[str]:
    """Every word in a record: its names of things, and its values."""
    if isinstance(value, dict):
        value = [*value, *value.values()]
    if isinstance(value, list):
        for each in value:
            yield from _words(each)
    elif isinstance(value, str):
        yield value


def _of_one(record: Contact) -> Iterator[str]:
    known = SERVICES.get(record.service)
    own = known is None or known.local
    if own and record.host:
        yield f"{record.service} has no host of its own, and {record.host} is written. {AGAIN}"
    if not own and not record.host:
        yield f"{record.service} was asked at another address than its own: this is no contact with it. Leave it out."
    if record.host and (own or record.host not in known.address):  # type: ignore[union-attr]
        yield f"{record.host} is not the address of {record.service}. {AGAIN}"
    if own and "/" in record.model:
        yield f"{record.model!r} may be a path of a machine. {AGAIN}"
    if not record.statuses.get("200"):
        yield f"{record.service} answered nothing: a record needs an answer. Look at what the doctor says."


FILES = sorted(FOLDER.iterdir())


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_record_may_be_published(file: Path) -> None:
    """It is what the command writes, and holds no text, no key, no private host and no path."""
    assert file.suffix == ".json", f"{file.name}: only records lie here."
    assert not list(problems(file.read_bytes())), f"{file.name}: " + " ".join(problems(file.read_bytes()))
    for record in json.loads(file.read_bytes()):
        jsonschema.validate(record, json.loads(schemas.schema(Contact)))


def test_the_records_come_with_the_package() -> None:
    """What lies in the folder is what the program knows of."""
    assert len(contacts()) == sum(len(json.loads(file.read_bytes())) for file in FILES) > 0


def test_the_page_has_what_the_records_say() -> None:
    """docs/met.md is what `python benchmarks/met.py --write` makes of records and of the shapes that are replayed."""
    assert met.lines() in (DOCS / "met.md").read_text("utf-8")


def _with(**changed: Any) -> Callable[[], bytes]:
    sound = {"service": "groq", "model": "m/n", "maskbench": "0.2.0", "date": "2026-11-24", "host": "api.groq.com"}
    return lambda: json.dumps([{**sound, "statuses": {"200": 3}, **changed}]).encode()


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (_with(), ""),
        (_with(stops={"It is so, as I told you.": 1}), "may be a text"),
        (_with(served=["sk-proj-aB3xK9aB3xK9aB3xK9aB3xK9aB3xK9"]), "may be a key"),
        (_with(served=["10.0.0.7"]), "may be the address of a machine"),
        (_with(host="gpu7.example.org"), "is not the address of groq"),
        (_with(host=None), "no contact with it"),
        (_with(service="mine"), "has no host of its own"),
        (_with(service="llama-cpp", host=None, model="home/me/m.gguf"), "may be a path"),
        (_with(statuses={"401": 3}), "answered nothing"),
        (_with(prompt="Is it so?"), "no list of records"),
        (_with(date="yesterday"), "no list of records"),
        (lambda: b"[]", "It is empty"),
    ],
)
def test_what_is_wrong_is_said(content: Callable[[], bytes], says: str) -> None:
    """A contributor reads what is wrong with a record, and what to do."""
    found = " ".join(problems(content()))
    assert says in found if says else not found
