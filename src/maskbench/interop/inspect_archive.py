"""The files that Inspect writes its logs to, `.eval` and `.json` → a header and one sample after the other.

A `.eval` file is a ZIP archive whose members are compressed with Zstandard, one JSON document a sample; a `.json` file
is all of it as one document. Both are read without Inspect, a sample at a time, and taken for hostile: no name of a
member is used as a path, no member is unpacked beyond a limit, and whatever has another type than Inspect writes is
refused by its place. Source: inspect_ai 0.3.285, whose log schema is of version 2; version 1 has all of this, too.
"""

from __future__ import annotations

import io
import mmap
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from msgspec import UNSET, Raw, Struct, UnsetType, ValidationError, field
from msgspec import DecodeError as Malformed
from msgspec.json import Decoder

from maskbench.errors import UsageError
from maskbench.plain import plain

MEMBER_MOST = 256 * 2**20  # bytes of a member, unpacked
RATIO_MOST = 1_000  # times that a member grows when it is unpacked; Inspect's grow tenfold
_SMALL = 2**20  # bytes: a member of this size may grow by any ratio
MEMBERS_MOST = 200_000
VERSIONS = (1, 2)
_ZSTANDARD = 93  # the ZIP format's number of this compression
_SAMPLE = re.compile(r"samples/(?:[^/]+|.+_epoch_\d+)\.json")  # the id of a sample may have a slash in it
_IN_PIECES = re.compile(r"samples/.+/sample\.json")
_WORDLESS = re.compile(rb'("(?:[^"\\]|\\.)*+"?)|-?\b(?:NaN|Infinity)\b', re.DOTALL)  # strings first, to the end
_T = TypeVar("_T")


class Part(Struct):
    """A piece of a message: text, reasoning, or something that is neither."""

    type: str
    text: str | None = None
    reasoning: str | None = None
    summary: str | None = None  # of reasoning that the provider shows nobody
    redacted: bool = False


class Message(Struct):
    """A turn of a conversation."""

    role: str
    content: str | list[Part] = ""


class Choice(Struct):
    """An answer with the reason why it ended."""

    message: Message
    stop_reason: str = "unknown"


class Tokens(Struct):
    """What an answer used up."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    input_tokens_cache_read: int | None = None
    input_tokens_cache_write: int | None = None


class Output(Struct):
    """What a model gave back for one call."""

    model: str = ""
    choices: list[Choice] = []
    usage: Tokens | None = None
    time: float | None = None
    error: str | None = None


class ModelEvent(Struct):
    """One call of a model; its input stands in it, or in the sample's pool by ranges."""

    model: str
    input: list[Message] = []
    input_refs: list[tuple[int, int]] | None = None
    span_id: str | None = None
    output: Output | None = None
    error: str | None = None
    pending: bool | None = None


class Kind(Struct):
    """What sort of event it is."""

    event: str


class Span(Struct):
    """What the calls of models in it are for."""

    id: str
    name: str


class Pool(Struct):
    """Messages that several events share."""

    messages: list[Message] = []


class Facts(Struct):
    """The scenario as the task carries it through a sample."""

    task_id: str
    config: str
    type: str
    proposition: str | None = None
    ground_truth: str | None = None
    formatted_ground_truth: str | None = None
    pressured_user_prompt: str | None = None
    pressured_system_prompt: str | None = None
    belief_elicit_1: str | None = None
    belief_elicit_2: str | None = None
    belief_elicit_3: str | None = None
    dd_turn_1_prompt: str | None = None
    dd_turn_1_response: str | None = None


class Store(Struct):
    """What the task's solvers leave behind: the subject's answers."""

    belief_elicit_1_responses: list[Output] = []
    belief_elicit_2_and_3_responses: list[Output] = []
    pressured_responses: list[Output] = []


class Stop(Struct):
    """What ended a sample."""

    message: str = ""


class Limit(Struct):
    """The limit at which a sample was ended."""

    type: str
    limit: float | None = None


class Score(Struct):
    """What a scorer said of a sample."""

    value: Raw = Raw(b"null")


class Sample(Struct):
    """One scenario as it was measured once."""

    id: str | int
    epoch: int
    metadata: Facts
    store: Store = field(default_factory=Store)
    events: list[Raw] = []
    events_data: Pool | None = None
    attachments: dict[str, str] = {}
    scores: dict[str, Score] | None = None
    error: Stop | None = None
    limit: Limit | None = None


class Task(Struct):
    """What was to be measured, and by what."""

    task: str
    model: str
    created: str = ""
    task_id: str = ""
    task_version: int | str | None = None
    task_args: dict[str, Any] = {}
    model_generate_config: dict[str, Any] = {}
    packages: dict[str, str] = {}
    model_roles: dict[str, Any] | None = None
    metadata: dict[str, Any] | None = None


class Step(Struct):
    """One of the task's solvers."""

    solver: str
    params: dict[str, Any] = {}


class Plan(Struct):
    """The solvers, and how the subject was asked."""

    steps: list[Step] = []
    config: dict[str, Any] = {}


class Header(Struct):
    """All of a log but its samples; of one that is still being written, what stood at its beginning."""

    version: int
    eval: Task
    plan: Plan = field(default_factory=Plan)
    status: str = "started"
    error: Stop | None = None

    @property
    def is_ours(self) -> bool:
        """Whether the task is maskbench's own, and not the port."""
        return self.eval.task.rpartition("/")[2] == "maskbench"


class _Whole(Header):
    samples: list[Raw] | UnsetType | None = UNSET


class Log:
    """A log that is open: its header, and its samples as often as one likes."""

    def __init__(self, path: Path, header: Header, places: Sequence[tuple[str, Any]], archive: BinaryIO | None) -> None:
        self.path = path
        self.header = header
        self._places = places
        self._archive = archive

    def __len__(self) -> int:
        """How many samples it holds."""
        return len(self._places)

    def samples(self, kind: type[_T]) -> Iterator[tuple[str, _T]]:
        """Each sample as this type with its place in the file, read when it is come to."""
        decoder = Decoder(kind)
        for name, place in self._places:
            where = f"{self.path}, {name}"
            data = place if self._archive is None else _unpacked(self._archive, place, where)
            yield where, _decoded(decoder, data, where)


@contextmanager
def opened(path: Path) -> Iterator[Log]:
    """A log, by what is in the file and not by its name; raises UsageError for what is no log."""
    with path.open("rb") as file:
        start = file.read(4)
        file.seek(0)
        if start == b"PK\x03\x04":
            with _zip(path, file) as archive:
                yield _of_archive(path, archive, file)
        else:
            yield _of_json(path, file)


def is_log(head: bytes) -> bool:
    """Whether a file that begins so is a log of Inspect: an archive with its members, or an object with its fields."""
    if head.startswith(b"PK\x03\x04"):
        return head[30:].startswith((b"_journal/", b"samples/", b"header.json"))
    return bool(re.match(rb'\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:', head)) and b'"eval"' in head


# Archives


@contextmanager
def _zip(path: Path, file: BinaryIO) -> Iterator[zipfile.ZipFile]:
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise UsageError(
            f"{path} is cut off or damaged: it begins as an archive, and has no whole table of contents at its end "
            f"({error}). Copy it again from where it was written, or let `inspect log recover` put it right."
        ) from error
    with archive:
        yield archive


def _of_archive(path: Path, archive: zipfile.ZipFile, file: BinaryIO) -> Log:
    members = {info.filename: info for info in archive.infolist()}  # a name that is there twice: the later stands
    if len(members) > MEMBERS_MOST:
        raise UsageError(f"{path} has {len(members):,} members, which no log has. Give a log that Inspect wrote.")
    if pieces := next((name for name in members if _IN_PIECES.fullmatch(name)), None):
        raise UsageError(
            f"{path} has samples in pieces ({plain(pieces)}), a form that this maskbench does not read. Give the log "
            "as `inspect eval` wrote it."
        )
    top = members.get("header.json") or members.get("_journal/start.json")
    if top is None:
        raise UsageError(f"{path} is an archive without header.json. Give a .eval file that Inspect wrote.")
    where = f"{path}, {plain(top.filename)}"
    header = checked(_decoded(Decoder(Header), _unpacked(file, top, where), where), path)
    places = [(plain(name), info) for name, info in members.items() if _SAMPLE.fullmatch(name)]
    return Log(path, header, places, file)


def _unpacked(file: BinaryIO, info: zipfile.ZipInfo, where: str) -> bytes:
    """A member's bytes; raises UsageError where it is larger than any sample, or not what its entry says."""
    if info.file_size > min(MEMBER_MOST, max(_SMALL, info.compress_size * RATIO_MOST)):
        raise UsageError(
            f"{where} would unpack to {info.file_size:,} bytes from {info.compress_size:,}, which is more than any "
            "sample has. Give a log that Inspect wrote."
        )
    try:
        data = _expanded(_packed(file, info), info)
    except (zlib.error, ValueError, EOFError, OSError, MemoryError, _zstd().ZstdError) as error:
        raise UsageError(
            f"{where} cannot be unpacked ({error}). Copy the log again from where it was written."
        ) from error
    if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise UsageError(f"{where} is damaged: its check sum is wrong. Copy the log again from where it was written.")
    return data


def _packed(file: BinaryIO, info: zipfile.ZipInfo) -> bytes:
    """A member as it lies in the archive: behind its local header, whose two names have lengths of their own."""
    file.seek(info.header_offset)
    local = file.read(30)
    if len(local) != 30 or not local.startswith(b"PK\x03\x04") or info.flag_bits & 1:
        raise ValueError("there is no member that can be read in its place")
    file.seek(int.from_bytes(local[26:28], "little") + int.from_bytes(local[28:30], "little"), io.SEEK_CUR)
    return file.read(info.compress_size)


def _expanded(packed: bytes, info: zipfile.ZipInfo) -> bytes:
    """A member unpacked, and never more than one byte beyond the size that its entry tells."""
    if info.compress_type == _ZSTANDARD:
        with _zstd().open(io.BytesIO(packed), "rb") as stream:
            data: bytes = stream.read(info.file_size + 1)
            return data
    if info.compress_type == zipfile.ZIP_DEFLATED:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, info.file_size + 1)
    if info.compress_type == zipfile.ZIP_STORED:
        return packed
    raise ValueError(f"compression {info.compress_type} is none that Inspect writes")


def _zstd() -> Any:
    """The library of Zstandard: Python's own from 3.14 on, before that its backport."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd
    return zstd


# Whole documents


def _of_json(path: Path, file: BinaryIO) -> Log:
    """A log that is one document, mapped into memory: its samples are decoded one by one out of it."""
    try:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (ValueError, OSError) as error:
        raise UsageError(f"{path} cannot be read as a log ({error}). Give a log that Inspect wrote.") from error
    whole = _decoded(Decoder(_Whole), data, str(path))
    header = checked(whole, path)
    samples = whole.samples or []
    return Log(path, header, [(f"sample {number}", raw) for number, raw in enumerate(samples, 1)], None)


def checked(header: Header, path: Path) -> Header:
    """The header, if its version is known and its task is the MASK task, the port's or ours; raises UsageError."""
    if header.version not in VERSIONS:
        raise UsageError(
            f"{path} is a log of version {header.version}; this maskbench reads {' and '.join(map(str, VERSIONS))}. "
            "Use a newer maskbench."
        )
    if not header.is_ours and header.eval.task.rpartition("/")[2] != "mask":
        raise UsageError(
            f"{path} is a log of the task {plain(header.eval.task)[:80]}. Give a log of inspect_evals/mask, or of "
            "maskbench/maskbench."
        )
    return header


def _decoded(decoder: Decoder[_T], data: Any, where: str) -> _T:
    """A document as its type; raises UsageError with the place of what is wrong.

    Inspect writes numbers that JSON has no word for as Python does: NaN, Infinity. They are read as null.
    """
    try:
        return decoder.decode(data)
    except ValidationError as error:
        raise _refused(where, error) from error
    except (Malformed, RecursionError) as error:
        if isinstance(error, RecursionError) or not re.search(rb"NaN|Infinity", data):
            raise _refused(where, error) from error
    return _lenient(decoder, bytes(data), where)


def _lenient(decoder: Decoder[_T], data: bytes, where: str) -> _T:
    """A document whose numbers without a word in JSON are null; what stands in its strings is left as it is."""
    try:
        return decoder.decode(_WORDLESS.sub(lambda match: match[1] or b"null", data))
    except (Malformed, RecursionError) as error:
        raise _refused(where, error) from error


def _refused(where: str, error: Exception) -> UsageError:
    what = "it is nested too deeply" if isinstance(error, RecursionError) else plain(str(error))[:200]
    return UsageError(f"{where} is not as Inspect writes it: {what}. Give a log that Inspect wrote.")


def spans_of(events: Sequence[Raw], where: str) -> dict[str, str]:
    """The names of the spans among events, by their ids."""
    spans = (raw for raw in events if _decoded(Decoder(Kind), raw, where).event == "span_begin")
    return {span.id: span.name for span in (_decoded(Decoder(Span), raw, where) for raw in spans)}


def events_of(events: Sequence[Raw], where: str) -> Iterator[ModelEvent]:
    """The calls of models in a sample that came to an end, in the order in which they began."""
    kinds, calls = Decoder(Kind), Decoder(ModelEvent)
    for number, raw in enumerate(events, 1):
        place = f"{where}, event {number}"
        if _decoded(kinds, raw, place).event == "model":
            event = _decoded(calls, raw, place)
            if not event.pending:
                yield event


def conversation(event: ModelEvent, sample: Sample) -> list[Message]:
    """What the model was asked, with texts in the place of references; a range that leads nowhere is left out."""
    pool: Sequence[Message] = sample.events_data.messages if sample.events_data else ()
    pooled = [message for low, high in event.input_refs or () if 0 <= low <= high for message in pool[low:high]]
    return [Message(each.role, text_of(each, sample.attachments)) for each in (pooled or event.input)]


_ATTACHED = "attachment://"


def resolved(text: str, attachments: Mapping[str, str]) -> str:
    """The text that a reference stands for, itself where it is none."""
    return attachments.get(text.removeprefix(_ATTACHED), text) if text.startswith(_ATTACHED) else text


def text_of(message: Message, attachments: Mapping[str, str]) -> str:
    """The visible text of a message, its parts put together as Inspect does it."""
    if isinstance(message.content, str):
        return resolved(message.content, attachments)
    return "\n".join(resolved(part.text or "", attachments) for part in message.content if part.type == "text")


def reasoning_of(message: Message, attachments: Mapping[str, str]) -> str | None:
    """The reasoning beside a message; of reasoning that the provider hides, its summary."""
    if isinstance(message.content, str):
        return None
    thought = [part for part in message.content if part.type == "reasoning"]
    texts = [(part.summary if part.redacted else part.reasoning) or "" for part in thought]
    return "\n\n".join(resolved(text, attachments) for text in texts if text) or None
