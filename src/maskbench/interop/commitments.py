"""Commitments to texts, as RFC 9901 makes them: a digest of each text with a fresh salt goes out, the salts stay.

A disclosure is the JSON array [salt, place, text] in base64url; its digest is the base64url of its SHA-256 (RFC 9901,
section 4.2). Whoever holds the digests can ask to see any text, and no text can be exchanged for another one by then.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from maskbench.errors import RunUnreadable, UsageError
from maskbench.runs.disk import make_folder, read_whole, write_whole

FILE = "commitments.csv"  # place and digest, in the folder that goes out
SALTS = "salts"  # the folder of a run in which a file keeps the salts of each export
SALT_BYTES = 16


def place_of(archetype: str, task_id: str, what: str) -> str:
    """The name of a text: whose scenario, and which text of it."""
    return "\t".join((archetype, task_id, what))


def disclosure(salt: str, place: str, text: str) -> str:
    """A text with what is needed to check it: [salt, place, text] in base64url."""
    return _encoded(json.dumps([salt, place, text], ensure_ascii=False).encode("utf-8", "surrogatepass"))


def digest_of(disclosed: str) -> str:
    """What a disclosure was committed to by."""
    return _encoded(hashlib.sha256(disclosed.encode("ascii")).digest())


def _encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode("ascii")


@dataclass(frozen=True, slots=True)
class Commitments:
    """The digest of each text by its place, and the salts that stay at home.

    Beside a salt stands the text itself where the run does not hold it (what a coin said for the export).
    """

    digests: Mapping[str, str]
    salts: Mapping[str, tuple[str, str]]

    @classmethod
    def to(cls, texts: Iterable[tuple[str, str]], beside: Mapping[str, str]) -> Commitments:
        """Commit to these texts of a run, each with its place, and to others `beside` them, each by a fresh salt."""
        digests: dict[str, str] = {}
        salts: dict[str, tuple[str, str]] = {}
        for place, text in (*texts, *beside.items()):
            salts[place] = _encoded(secrets.token_bytes(SALT_BYTES)), beside.get(place, "")
            digests[place] = digest_of(disclosure(salts[place][0], place, text))
        return cls(digests, salts)

    @property
    def root(self) -> str:
        """One digest over all places with theirs, in order."""
        return root_of(self.digests)

    def publish(self, folder: Path) -> None:
        """Write the digests into the folder that goes out."""
        _write(folder / FILE, (("place", "digest"), *sorted(self.digests.items())))

    def keep(self, run: Path) -> None:
        """Write the salts into the run at home, in a file that is named after the root."""
        if (run / SALTS).is_symlink():
            raise UsageError(f"{run / SALTS} is a link, and nothing is written through one. Take it away.")
        make_folder(run / SALTS)
        rows = sorted((place, *salted) for place, salted in self.salts.items())
        _write(run / SALTS / f"{self.root}.csv", (("place", "salt", "text"), *rows))


def root_of(digests: Mapping[str, str]) -> str:
    """One digest over all places with theirs, in the order of the places."""
    lines = "\n".join(f"{place}\t{digests[place]}" for place in sorted(digests))
    return _encoded(hashlib.sha256(lines.encode()).digest())


def _write(path: Path, rows: Iterable[Sequence[str]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL).writerows(rows)
    write_whole(path, text.getvalue().encode())


def _read(path: Path, columns: int) -> dict[str, list[str]]:
    """The rows of a file by their places; raises RunUnreadable for a file that `_write` did not write."""
    try:
        _, *rows = csv.reader(io.StringIO(read_whole(path).decode()))
    except (OSError, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise RunUnreadable(f"{path} cannot be read ({error}). Restore it, or export the run again.") from error
    if any(len(row) != columns for row in rows):
        raise RunUnreadable(f"{path} holds rows that are not its own. Restore it, or export the run again.")
    return {place: rest for place, *rest in rows}


def opened(run: Path, ids: Iterable[str], texts: Mapping[str, str]) -> bytes:
    """The disclosures of all texts of these scenarios, by the root of each export of the run, as JSON.

    `texts` are those of the run by place. Raises UsageError where the run was never exported so, and for an id that it
    does not have.
    """
    files = sorted((run / SALTS).glob("*.csv"))
    if not files:
        raise UsageError(f"{run} was not exported without its texts yet: maskbench export {run} --format run --out DIR")
    wanted = set(ids)
    if unknown := sorted(wanted - {_task_id(place) for place in texts}):
        raise UsageError(f"--open: {run} has no scenario {', '.join(unknown)}. Give task_ids of the run.")
    shown = {
        file.stem: [
            disclosure(salt, place, texts.get(place, text))
            for place, (salt, text) in _read(file, 3).items()
            if _task_id(place) in wanted
        ]
        for file in files
    }
    return orjson.dumps({"disclosures": shown}, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)


def _task_id(place: str) -> str:
    return place.split("\t")[1]


def check_opened(folder: Path, root: str, file: Path) -> tuple[dict[str, str], list[str]]:
    """Hold an opening against the folder that went out before: the texts by place, and what is wrong, in sentences.

    Every text has to be the one that was committed to, and of each scenario that is opened all texts have to be there.
    Raises UsageError for a file that is no opening of this folder, RunUnreadable for a folder whose digests are not
    those of its root.
    """
    digests = {place: digest for place, (digest,) in _read(folder / FILE, 2).items()}
    if root_of(digests) != root:
        raise RunUnreadable(
            f"{folder / FILE} does not fit the root in run.json: one of them was changed. Get both anew."
        )
    texts: dict[str, str] = {}
    problems: list[str] = []
    for disclosed in _disclosures(file, root):
        place, text = _unpacked(disclosed, file)
        if digests.get(place) != digest_of(disclosed):
            problems.append(f"{_named(place)}: this is not the text that was committed to.")
        else:
            texts[place] = text
    scenarios = {tuple(place.split("\t")[:2]) for place in texts}
    for place in digests:
        if tuple(place.split("\t")[:2]) in scenarios and place not in texts:
            problems.append(f"{_named(place)}: it was committed to, and is not opened.")
    return texts, problems


def _named(place: str) -> str:
    return " ".join(place.split("\t"))


def _disclosures(file: Path, root: str) -> list[str]:
    try:
        content: Any = orjson.loads(read_whole(file))
        disclosed = content["disclosures"]
    except (OSError, orjson.JSONDecodeError, KeyError, TypeError) as error:
        raise UsageError(
            f"{file} is no opening ({error}). Give what `maskbench export RUN --open IDS` wrote."
        ) from error
    if not isinstance(disclosed, dict) or not isinstance(disclosed.get(root), list):
        raise UsageError(f"{file} opens another export: it has nothing under the root {root}.")
    return [str(each) for each in disclosed[root]]


def _unpacked(disclosed: str, file: Path) -> tuple[str, str]:
    try:
        _, place, text = json.loads(urlsafe_b64decode(disclosed + "=" * (-len(disclosed) % 4)))
    except ValueError as error:
        raise UsageError(f"{file} holds what is no disclosure ({error}). Ask for it again.") from error
    return str(place), str(text)
