"""The files that Inspect writes its logs to, `.eval` and `.json`, as Inspect itself reads them: a header, and samples.

A `.eval` file is a ZIP archive with one JSON document a sample, of which a few are read at a time; a `.json` file is
all of it as one document, and is read as a whole. Both are taken for hostile: no name of a member is used as a path,
and before Inspect unpacks a member it is unpacked here piece by piece, and held against its entry and a limit. Whatever
Inspect does not take for a log of its own is refused by its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from zipfile import BadZipFile, ZipFile, ZipInfo

import msgspec

from maskbench.errors import UsageError
from maskbench.install import extra, install
from maskbench.plain import plain

if TYPE_CHECKING:
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalLog, EvalSample

MEMBER_MOST = 256 * 2**20  # bytes of a member, unpacked
RATIO_MOST = 1_000  # times that a member grows when it is unpacked; Inspect's grow tenfold
DOCUMENT_MOST = 512 * 2**20  # bytes of a `.json` file; to read it takes some five times as much memory
_SMALL = 2**20  # bytes: a member of this size may grow by any ratio
_PIECE = 2**14  # bytes that are unpacked at once
_AT_ONCE = 32  # samples
_SAMPLE = re.compile(r"samples/(.+)_epoch_(\d{1,9})\.json")  # the id of a sample may have a slash in it
_IN_PIECES = re.compile(r"samples/.+/sample\.json")
_BESIDE = ("samples/", "_journal/summaries/")  # members that a header is not made of
_T = TypeVar("_T")


class Log:
    """A log that is open: its header, and its samples as often as one likes."""

    def __init__(self, path: Path, header: EvalLog, archive: ZipFile | None) -> None:
        self.path = path
        self.header = _checked(header, path)
        self._archive = archive

    @property
    def is_ours(self) -> bool:
        """Whether the task is maskbench's own, and not the port."""
        return _task(self.header) == "maskbench"

    def samples(self) -> Iterator[tuple[str, EvalSample]]:
        """Each sample with its place in the file, its references replaced by what they stand for."""
        if self._archive is None:
            for number, sample in enumerate(_document(self.path, header_only=False).samples or (), 1):
                yield f"{self.path}, sample {number}", sample
            return
        members = [info for name, info in _members(self._archive).items() if _SAMPLE.fullmatch(name)]
        for at in range(0, len(members), _AT_ONCE):
            some = members[at : at + _AT_ONCE]
            for info in some:
                _check(self._archive, info, self._place(info))
            yield from zip(map(self._place, some), self._read(some), strict=True)

    def _place(self, info: ZipInfo) -> str:
        return f"{self.path}, {plain(info.filename)}"

    def _read(self, members: Sequence[ZipInfo]) -> list[EvalSample]:
        """Some samples of an archive; raises UsageError with the first that is none."""
        from inspect_ai.log import read_eval_log_samples_by_id

        names = [_SAMPLE.fullmatch(info.filename) for info in members]
        places = [(name[1], int(name[2])) for name in names if name]
        try:
            with _refusing(self._place(members[0])):
                read: list[EvalSample] = read_eval_log_samples_by_id(
                    str(self.path), places, resolve_attachments="full", format="eval"
                )
                return read
        except UsageError:
            if len(members) == 1:
                raise
            return [self._read([info])[0] for info in members]


@contextmanager
def opened(path: Path) -> Iterator[Log]:
    """A log of the MASK task, the port's or ours, by what is in the file and not by its name.

    Raises UsageError for what is none, and without Inspect.
    """
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise UsageError(
            f"{path} is a log of Inspect, and Inspect, which reads it, is not installed. Type: "
            f"{install(*extra('inspect'))}"
        ) from None
    with path.open("rb") as file:
        is_archive = file.read(4) == b"PK\x03\x04"
    if not is_archive:
        yield Log(path, _document(path, header_only=True), None)
        return
    with _zip(path) as archive:
        _check_header(path, archive)
        with _refusing(str(path)):
            header = read_eval_log(str(path), header_only=True, format="eval")
        yield Log(path, header, archive)


def is_log(head: bytes) -> bool:
    """Whether a file that begins so is a log of Inspect: an archive with its members, or an object with its fields."""
    if head.startswith(b"PK\x03\x04"):
        return head[30:].startswith((b"_journal/", b"samples/", b"header.json"))
    return bool(re.match(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:', head)) and b'"eval"' in head


def _document(path: Path, *, header_only: bool) -> EvalLog:
    """A `.json` file."""
    from inspect_ai.log import read_eval_log

    if (size := path.stat().st_size) > DOCUMENT_MOST:
        raise UsageError(
            f"{path} has {size:,} bytes, and such a file is read as a whole. Make an archive of it, which is read "
            "sample by sample: `inspect log convert FILE --to eval --output-dir DIR`."
        )
    with _refusing(str(path)):
        return read_eval_log(str(path), header_only=header_only, resolve_attachments="full", format="json")


def _task(header: EvalLog) -> str:
    return str(header.eval.task).rpartition("/")[2]


def _checked(header: EvalLog, path: Path) -> EvalLog:
    """The header, if its version is known and its task the MASK task; raises UsageError."""
    newest = type(header).model_fields["version"].default
    if header.version > newest:
        raise UsageError(
            f"{path} is a log of version {header.version}; the Inspect that is installed reads up to {newest}. Install "
            "a newer one."
        )
    if _task(header) not in ("mask", "maskbench"):
        raise UsageError(
            f"{path} is a log of the task {plain(header.eval.task)[:80]}. Give a log of inspect_evals/mask, or of "
            "maskbench/maskbench."
        )
    return header


# Archives


@contextmanager
def _zip(path: Path) -> Iterator[ZipFile]:
    try:
        archive = ZipFile(path)
    except (BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(
            f"{path} is cut off or damaged: it begins as an archive, and has no whole table of contents at its end "
            f"({error}). Copy it again from where it was written, or let `inspect log recover` put it right."
        ) from error
    with archive:
        yield archive


def _members(archive: ZipFile) -> Mapping[str, ZipInfo]:
    """The members by name: of a name that is there twice, the later stands."""
    return {info.filename: info for info in archive.infolist()}


def _check_header(path: Path, archive: ZipFile) -> None:
    """Raise UsageError for an archive without a header that can be unpacked, and for samples in pieces."""
    members = _members(archive)
    if pieces := next((name for name in members if _IN_PIECES.fullmatch(name)), None):
        raise UsageError(
            f"{path} has samples in pieces ({plain(pieces)}), a form that this maskbench does not read. Give the log "
            "as `inspect eval` wrote it."
        )
    if not {"header.json", "_journal/start.json"} & members.keys():
        raise UsageError(f"{path} is an archive without header.json. Give a .eval file that Inspect wrote.")
    for name, info in members.items():
        if not name.startswith(_BESIDE):
            _check(archive, info, f"{path}, {plain(name)}")


def _check(archive: ZipFile, info: ZipInfo, where: str) -> None:
    """Raise UsageError where a member is larger than any sample, or not what its entry says."""
    if info.file_size > min(MEMBER_MOST, max(_SMALL, info.compress_size * RATIO_MOST)):
        raise UsageError(
            f"{where} would unpack to {info.file_size:,} bytes from {info.compress_size:,}, which is more than any "
            "sample has. Give a log that Inspect wrote."
        )
    entry, size = copy(info), 0
    entry.file_size += 1  # else what is beyond the size that it tells would be left unread
    try:
        with archive.open(entry) as member:
            while size <= info.file_size and (piece := member.read(_PIECE)):
                size += len(piece)
        if size != info.file_size:
            raise BadZipFile("its entry tells another size")
    except Exception as error:  # of zipfile and of the libraries of each compression
        raise UsageError(
            f"{where} is damaged ({plain(str(error))[:200]}). Copy the log again from where it was written."
        ) from error


# What a file holds


@contextmanager
def _refusing(where: str) -> Iterator[None]:
    """Raise UsageError with the place for what Inspect cannot read."""
    try:
        yield
    except Exception as error:  # whatever a reader raises of a file that may hold anything
        raise UsageError(
            f"{where} is not as Inspect writes it: {_said(error)}. Give a log that Inspect wrote."
        ) from error


def _said(error: Exception) -> str:
    """What is wrong, with the first field that is where a library says one."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    for field in getattr(error, "errors", list)():  # pydantic's
        return plain(f"{'.'.join(map(str, field['loc']))}: {field['msg']}")[:200]
    return plain(str(error))[:200]


def kept_in(sample: EvalSample, kind: type[_T], where: str) -> _T:
    """What a task left in the metadata and the store of a sample, as this type; raises UsageError with the field."""
    with _refusing(where):
        return msgspec.convert({"metadata": sample.metadata, "store": sample.store}, kind)


def outputs(stored: Sequence[Any], where: str) -> list[Any]:
    """Answers that a task left in a sample's store, as outputs of Inspect."""
    from inspect_ai.model import ModelOutput

    with _refusing(where):
        return [ModelOutput.model_validate(each) for each in stored]


def calls_of(sample: EvalSample) -> list[ModelEvent]:
    """The calls of models in a sample that came to an end, in the order in which they began."""
    return [event for event in sample.events if event.event == "model" and not event.pending]


def spans_of(sample: EvalSample) -> dict[str, str]:
    """What the calls of models are for: the names of a sample's spans, by their ids."""
    return {event.id: event.name for event in sample.events if event.event == "span_begin"}
