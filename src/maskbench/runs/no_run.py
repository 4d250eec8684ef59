"""What to type where a path is no run's folder: the folder of a file, the runs below, or the run that was meant."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from difflib import get_close_matches
from itertools import chain, islice
from pathlib import Path

_NAMED = 5  # runs that are listed


def no_run(path: Path, record: str) -> str:
    """That a path is no run's folder, and what to give in its place; `record` is the file that a run has."""
    if path.is_file():
        has_run = (path.parent / record).is_file()
        return f"{path} is a file. Give the run's folder{f': {path.parent}' if has_run else ''}."
    return f"{path} holds no run: there is no {record} in it.{_advice(path, record)}"


def _advice(path: Path, record: str) -> str:
    if not path.exists():
        meant = _alike(path, record)
        return f" There is no such folder.{f' Did you mean {meant}?' if meant else ''}"
    if below := _below(path, record, _NAMED + 1):
        more = ", and more" if len(below) > _NAMED else ""
        return f" There are runs below it: {', '.join(map(str, below[:_NAMED]))}{more}. Give a run's own folder."
    if (path / "dose.json").is_file():
        return f" It holds a dose curve: `{shlex.join(['maskbench', 'report', str(path)])}` shows it."
    if not any(path.iterdir()):
        line = shlex.join(["maskbench", "run", "pinocchio", "--out", str(path)])
        return f" The folder is empty. To measure a model into it, name one, as in `{line}`."
    return ""


def _below(folder: Path, record: str, most: int) -> Sequence[Path]:
    """Runs in this folder and in its folders, so many at most: a whole disk is not searched."""
    files = chain.from_iterable(sorted(folder.glob(f"{folders}/{record}")) for folders in ("*", "*/*"))
    return [file.parent for file in islice(files, most)]


def _alike(path: Path, record: str) -> str | None:
    """A run whose name is nearly this one, beside it or in runs/, where people have them."""
    places = dict.fromkeys((path.parent, Path("runs")))
    known = {str(run): run for place in places if place.is_dir() for run in _below(place, record, 1000)}
    close = get_close_matches(str(path), known, 1, 0.75)
    return close[0] if close else next((name for name, run in known.items() if run.name == path.name), None)
