"""A run's folder: run.json (settings and provenance), run.sqlite (replies and verdicts), summary.json, run.log."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shlex
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict
from difflib import get_close_matches
from itertools import chain, islice
from os import PathLike
from pathlib import Path
from shutil import rmtree
from types import TracebackType
from typing import Any
from uuid import uuid4

import orjson
from msgspec import Struct

from maskbench.errors import RunError, RunLocked, RunMismatch, RunUnreadable, UsageError
from maskbench.settings import JUDGING, MAY_CHANGE, Settings
from maskbench.store.disk import create, make_folder, read_whole, write_whole
from maskbench.store.fitting import MOVING, from_file
from maskbench.store.record import SCHEMA, Record, VerdictSetRecord, judged_settings, plain_record, record_from
from maskbench.store.store import Store
from maskbench.types import Json

RECORD = "run.json"
DATABASE = "run.sqlite"
SUMMARY = "summary.json"
LOG = "run.log"
_NAMED = 5  # runs that are listed


class RunFolder:
    """A run on disk. Many may read it; `with folder.writing():` makes this process its one writer."""

    is_exam = False

    def __init__(self, path: str | PathLike[str]) -> None:
        """Nothing is read or made yet."""
        self.path = Path(path)

    @property
    def log(self) -> Path:
        """The path of the run's log."""
        return self.path / LOG

    @property
    def exists(self) -> bool:
        """Whether a run has been begun here."""
        return os.path.lexists(self.path / RECORD)  # what cannot be followed is none to begin anew on

    def read(self) -> Record:
        """The record in run.json; raises RunUnreadable where there is none, or none that this version can read."""
        path = self.path / RECORD
        try:
            plain = orjson.loads(read_whole(path))
        except (FileNotFoundError, NotADirectoryError):
            raise RunUnreadable(no_run(self.path)) from None
        except orjson.JSONDecodeError as error:
            raise RunUnreadable(f"{path} cannot be read ({error}).{self._remedy()}") from error
        except OSError as error:
            raise RunUnreadable(
                f"{path} cannot be read ({error.strerror}). Restore the file, or start anew."
            ) from error
        record = from_file(path, plain, SCHEMA, record_from, "a run", "start a new run", MOVING)
        if bool(record.exam) != self.is_exam:
            raise RunUnreadable(_the_other(self.path, record))
        return record

    def record(self) -> Json:
        """The record as JSON has it, for those who show it as it is."""
        return plain_record(self.read())

    def settings(self) -> Settings:
        """The settings that the run was made with; raises RunUnreadable as `read` does."""
        return self.read().settings

    def write(self, name: str, content: Mapping[str, Any] | Struct) -> None:
        """Write one of the folder's JSON files, whole or not at all; raises RunError where that fails."""
        path = self.path / name
        content = plain_record(content) if isinstance(content, Struct) else content
        data = orjson.dumps(content, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
        try:
            if name == RECORD:
                self._keep_copy(content)
            write_whole(path, data)
        except OSError as error:
            raise _unwritable(path, error) from error

    def restore(self) -> str | None:
        """Write a run.json that was cut short anew from its copy in the database, and say so in a line.

        None where nothing was to be done, or nothing can be: then `record` says what is the matter.
        """
        if not self._is_torn() or (copy := self._copy()) is None:
            return None
        with self.writing():
            self.write(RECORD, copy)
        return f"{self.path / RECORD} was empty or cut short; it is restored from its copy in {DATABASE}."

    def _is_torn(self) -> bool:
        try:
            orjson.loads(read_whole(self.path / RECORD))
        except orjson.JSONDecodeError:
            return True
        except OSError:
            return False
        return False

    def _keep_copy(self, content: Mapping[str, Any]) -> None:
        """Put the record into the database, too, before the file: of the two a power cut leaves one."""
        if (self.path / DATABASE).exists():
            store = self.store(write=True)
            try:
                store.remember(RECORD, content)
            finally:
                store.close()

    def _copy(self) -> dict[str, Any] | None:
        """The copy of run.json; None where there is none that can be read."""
        try:
            store = self.store()
        except RunUnreadable:
            return None
        try:
            copy = store.fact(RECORD)
        except RunUnreadable:
            return None
        finally:
            store.close()
        return copy if isinstance(copy, dict) else None

    def _remedy(self) -> str:
        if self._copy() is None:
            return " Restore the file, or start anew."
        line = shlex.join(["maskbench", "run", "--out", str(self.path)])
        return f" There is a copy of it in {DATABASE}: `{line}` goes on from that."

    def sessions(self) -> int | None:
        """How many sessions have measured here; None where no run was begun."""
        return len(self.read().sessions) if self.exists else None

    def complete_since(self) -> str:
        """When the last answer of a run came that is complete."""
        sessions = self.read().sessions
        if sessions and sessions[-1].ended:
            return sessions[-1].ended.at
        store = self.store()
        try:
            return store.latest()
        finally:
            store.close()

    def may_lack_answers(self) -> bool:
        """Whether the last session has no end and its write-ahead log is not here: a copy may lack its answers."""
        sessions = self.read().sessions
        if not sessions or sessions[-1].ended or not (self.path / DATABASE).exists():
            return False
        with closing(self.store()) as store:
            return store.lacked_log

    def move_aside(self, stamp: str) -> Path:
        """Give the run's folder another name, beside it, so that this one is free; returns where it is now.

        Raises RunLocked where somebody is writing to it.
        """
        names = (f"{self.path.name}.before-{stamp}{more}" for more in ("", *(f"-{number}" for number in range(2, 99))))
        aside = next(place for name in names if not os.path.lexists(place := self.path.with_name(name)))
        with self.writing():
            try:
                self.path.rename(aside)
            except OSError as error:
                raise _unwritable(aside, error) from error
        return aside

    def store(self, *, write: bool = False, clock: Callable[[], float] = time.time) -> Store:
        """The run's database; `clock` tells when an answer came.

        Raises RunUnreadable where there is none yet, and UsageError where a run without its texts is to be written.
        """
        if write and self.exists and not self._is_torn():  # what is torn is restored from its copy
            self.check_texts("nothing can be asked or judged here")
        return Store(self.path / DATABASE, write=write, clock=clock)

    def check_texts(self, so: str) -> None:
        """Raise UsageError for a run without its texts; `so` says what cannot be done with it."""
        if self.read().without_texts:
            raise UsageError(
                f"{self.path} is a run without its texts (`export --format run`): its figures can be computed from it, "
                f"and {so}. Take the run itself, or ask whoever has it."
            )

    def writing(self, otherwise: str = "give this run another --out") -> _Writing:
        """Be the only writer for as long as this context is open; raises RunLocked where another process is.

        `otherwise` is what the user can do but wait for the other one or stop it.
        """
        return _Writing(self.path, otherwise)


class ExamFolder(RunFolder):
    """The exam of a judge on disk: a run whose replies are those of a paper. Nothing but an exam reads it."""

    is_exam = True


def is_exam(path: Path) -> bool:
    """Whether a folder holds the exam of a judge; False where nothing in it can be read."""
    try:
        return ExamFolder(path).read().exam
    except RunUnreadable:
        return False


def _the_other(path: Path, record: Record) -> str:
    """That a folder holds an exam where a run is meant, or a run where an exam is."""
    if not record.exam:
        return f"{path} holds a run. Give this exam another --out."
    judge = record.settings.judging.judge
    return (
        f"{path} holds the exam of a judge ({judge}), and no run of a model: "
        f"`{shlex.join(['maskbench', 'score', str(path)])}` prints its marks."
    )


class _Writing:
    def __init__(self, path: Path, otherwise: str) -> None:
        self._path = path
        self._otherwise = otherwise

    def __enter__(self) -> None:
        from filelock import FileLock, Timeout

        try:
            make_folder(self._path)
            create(self._path / "run.lock")
            self._lock = FileLock(self._path / "run.lock")
            self._lock.acquire(timeout=0.2, poll_interval=0.05)  # `view` may be looking at it for an instant
        except Timeout:
            raise RunLocked(
                f"Another maskbench is writing to {self._path}. Wait for it, stop it, or {self._otherwise}."
            ) from None
        except OSError as error:
            raise _unwritable(Path(error.filename or self._path), error) from error

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()


def runs_below(root: Path) -> Iterator[Path]:
    """Every folder with a run in it below this one, or this one, in order; links are not followed.

    A run.json that is no file, or leads nowhere, counts: whoever reads that run says so.
    """
    for folder, inside, files in os.walk(root):
        inside.sort()
        if RECORD in files or RECORD in inside:
            yield Path(folder)


def under_way(folder: Path) -> bool:
    """Whether another process is writing to this run.

    Its lock is shared for an instant, and only where a log says that somebody may be writing, so that a run which is
    just beginning does not find it taken.
    """
    if not any((folder / name).exists() for name in (f"{DATABASE}-wal", f"{DATABASE}-journal")):
        return False
    try:
        lock = os.open(folder / "run.lock", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False  # a file system without locks
    finally:
        os.close(lock)
    return False


_ADDED = "--placebo"  # a run that is taken up again may add it, and does not drop it


def check_same(folder: RunFolder, settings: Settings, hashes: Mapping[str, str]) -> None:
    """Raise RunMismatch, by name, where the run in the folder asks something else than these settings.

    `hashes` are those of the scenario set and of the judge's prompts.
    """
    record = folder.read()
    holds = f"{folder.path} holds {'an exam' if folder.is_exam else 'a run'}"
    before, now = _side_by_side(record.settings, settings)
    names = (Path(each.design.scenarios).name for each in (record.settings, settings))
    elsewhere = len(set(names)) == 1 and hashes.get("scenarios") == record.scenarios.hash  # what it holds has moved
    for option in now:
        if option == _ADDED and before[option] and not now[option]:
            raise RunMismatch(
                f"{folder.path} holds a run with {option}, which cannot be taken away. Give {option}, too, "
                f"or leave the model out (`maskbench run --out {folder.path}`), or give this one another --out."
            )
        if before[option] != now[option] and option != _ADDED and not (option == "--scenarios" and elsewhere):
            was, is_ = _in_words(option, (record.settings, before[option]), (settings, now[option]))
            raise RunMismatch(
                f"{holds} with {'the paper' if folder.is_exam and option == '--scenarios' else option} "
                f"{was}, and this one asks for {is_}."
                f"{_judged_instead(folder, settings, option, now[option])} this one another --out."
            )
    told = {name: value for name, value in hashes.items() if name != "prompts" or settings.judging.reads_prompts}
    if "prompts" in told and record.prompts.hash != told["prompts"]:
        words = shlex.join(_judge_words(folder.path, settings))
        again = f"To keep its replies and have them judged by the present ones, `{words}`. " * (not folder.is_exam)
        raise RunMismatch(
            f"{holds} {_other_prompts(record, told['prompts'])} {again}To go on as it began, use that maskbench with "
            "those prompts. Or give this one another --out."
        )
    scenarios = told.get("scenarios", record.scenarios.hash)
    if record.scenarios.hash != scenarios:
        raise RunMismatch(
            f"{holds} with other scenarios than {record.scenarios.name} has now "
            f"(hash {record.scenarios.hash[:12]}, now {scenarios[:12]}). Give this one another --out."
        )


def complete_by_others(folder: RunFolder, settings: Settings, prompts_hash: str) -> str:
    """The line for a complete run that was judged by other prompts than there are now."""
    held = f"{'exam' if folder.is_exam else 'run'} {_other_prompts(folder.read(), prompts_hash)}"
    again = (
        "To examine the judge with the present ones, give another --out."
        if folder.is_exam
        else f"To have its replies judged by the present ones, `{shlex.join(_judge_words(folder.path, settings))}`."
    )
    return f"{folder.path} holds a complete {held} It is shown as it was judged. {again}"


def check_same_judge(folder: RunFolder, name: str, settings: Settings, prompts_hash: str) -> None:
    """Raise RunMismatch, by name, where the verdict set of that name is by another judge than these settings have."""
    about = folder.read().verdict_sets[name]
    before, now = options_of(judged_settings(settings, about)), options_of(settings)
    for option in now:
        if before[option] != now[option]:
            raise RunMismatch(
                f"{folder.path} has a verdict set {name} with {option} {shown_value(before[option])}, and this asks "
                f"for {shown_value(now[option])}. Give this one another --name."
            )
    if settings.judging.reads_prompts and about.prompts.hash != prompts_hash:
        raise RunMismatch(
            f"{folder.path} has a verdict set {name} {_other_prompts(about, prompts_hash)} To go on with it, use that "
            "maskbench with those prompts. Or give this one another --name."
        )


def _other_prompts(judged: Record | VerdictSetRecord, now: str) -> str:
    """That something was judged by other prompts than there are now, as the end of a sentence."""
    before = judged.prompts
    return (
        f"that is judged by version {before.version or '?'} of the judge prompts ({before.name}), as maskbench "
        f"{judged.maskbench or '?'} had them; they are others now (hash {before.hash[:12]}, now {now[:12]}), "
        "and two versions make no one measurement."
    )


def _in_words(option: str, *had: tuple[Settings, object]) -> list[str]:
    """Two values of an option as people read them; what an option of a model's own makes of it in its words."""
    marks = [settings.subject.marks.get(option.removeprefix("-M ")) for settings, _ in had]
    words = [
        mark.words.removeprefix(f"{option.removeprefix('-M ')}=") if mark and mark.words else shown_value(value)
        for mark, (_, value) in zip(marks, had, strict=True)
    ]
    return words if words[0] != words[1] else [shown_value(value) for _, value in had]


def _side_by_side(before: Settings, now: Settings) -> tuple[dict[str, object], dict[str, object]]:
    """The options of both, each with those that only the other has as none."""
    old, new = options_of(before), options_of(now)
    return {**dict.fromkeys(new), **old}, {**dict.fromkeys(old), **new}


def options_of(settings: Settings) -> dict[str, object]:
    """Every setting that may not change, under its name on the command line."""
    named = {
        "subject": "the subject",
        "archetypes": "--archetype",
        "run_label": "--label",
        "protocol": "--judge-sampling",
    }
    options: dict[str, Any] = {}
    sampling: dict[str, Any] = {}
    for name, value in settings.options.items():
        if name in MAY_CHANGE:
            continue
        if name in ("sampling", "judge_sampling"):
            parts = asdict(value).items()
            sampling |= {_option(f"{name.removesuffix('sampling')}{part}"): number for part, number in parts}
        elif name != "marks":
            options[named.get(name) or _option(name)] = value
    options |= {f"-M {name}": mark.value for name, mark in settings.subject.marks.items()}
    return options | sampling  # these last: where a style or a protocol brought them, that is what was typed


def _judged_instead(folder: RunFolder, settings: Settings, option: str, value: Any) -> str:
    """How to judge the stored replies in the way that is asked for, where it is about judging; and the next word."""
    judging = {_option(name) for name in JUDGING}
    if folder.is_exam or (option not in judging and not option.startswith("--judge-")):
        return " Give"
    if settings.judging.is_later:
        return " To go on with it, leave --judge out. Or give"
    words = _judge_words(folder.path, settings)
    words += [] if option == "--judge" else [option, "packaged" if value is None else str(value)]
    return f" To keep its replies and have them judged like that, `{shlex.join(words)}`. Or give"


def _judge_words(path: Path, settings: Settings) -> list[str]:
    return ["maskbench", "judge", str(path), "--judge", settings.judging.judge]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def shown_value(value: Any) -> str:
    """A setting's value in a sentence."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return "none" if value is None else str(value)


def _unwritable(path: Path, error: OSError) -> RunError:
    return RunError(
        f"{path} cannot be written ({error.strerror or error}). Make room or mend its rights, or give another --out."
    )


def default_name(settings: Settings, now: str) -> str:
    """The name of a new run's folder: time, subject, and a short hash of all settings."""
    subject = re.sub(r"[^A-Za-z0-9.=-]+", "-", settings.subject.name).strip("-.")[:60]
    digest = hashlib.sha256(orjson.dumps(settings, option=orjson.OPT_SORT_KEYS)).hexdigest()[:6]
    return f"{now}-{subject}-{digest}"


def no_run(path: Path) -> str:
    """The sentence that a path is no run's folder, with what to give in its place."""
    if path.is_file():
        has_run = (path.parent / RECORD).is_file()
        return f"{path} is a file. Give the run's folder{f': {path.parent}' if has_run else ''}."
    return f"{path} holds no run: there is no {RECORD} in it.{_advice(path)}"


def _advice(path: Path) -> str:
    if not path.exists():
        meant = _alike(path)
        return f" There is no such folder.{f' Did you mean {meant}?' if meant else ''}"
    if below := _below(path, _NAMED + 1):
        more = ", and more" if len(below) > _NAMED else ""
        return f" There are runs below it: {', '.join(map(str, below[:_NAMED]))}{more}. Give a run's own folder."
    if not any(path.iterdir()):
        line = shlex.join(["maskbench", "run", "pinocchio", "--out", str(path)])
        return f" The folder is empty. To measure a model into it, name one, as in `{line}`."
    return ""


def _below(folder: Path, most: int) -> Sequence[Path]:
    """Runs in this folder and in its folders, so many at most: a whole disk is not searched."""
    files = chain.from_iterable(sorted(folder.glob(f"{folders}/{RECORD}")) for folders in ("*", "*/*"))
    return [file.parent for file in islice(files, most)]


def _alike(path: Path) -> str | None:
    """A run whose name is nearly this one, beside it or in runs/, where people have them."""
    places = dict.fromkeys((path.parent, Path("runs")))
    known = {str(run): run for place in places if place.is_dir() for run in _below(place, 1000)}
    close = get_close_matches(str(path), known, 1, 0.75)
    return close[0] if close else next((name for name, run in known.items() if run.name == path.name), None)


@contextmanager
def new_folder(out: Path) -> Iterator[RunFolder]:
    """A folder beside `out` that becomes `out` once everything is in it: a kill leaves nothing at `out`."""
    making = RunFolder(out.with_name(f".{out.name}.importing-{uuid4().hex[:8]}"))
    try:
        make_folder(making.path)
        yield making
        making.path.rename(out)
    except OSError as error:
        raise RunError(f"{out} cannot be written ({error.strerror or error}). Give another --out.") from error
    finally:
        rmtree(making.path, ignore_errors=True)
