"""Files that claim to be logs of Inspect: what is cut, damaged, too large, too deep or of another type is refused."""

from __future__ import annotations

import json
import random
import time
from pathlib import Path

import pytest

from inspect_logs import archive, call, deflated, eval_file, header, json_file, lying, read, sample
from maskbench.errors import UsageError
from maskbench.interop.importing import import_run
from maskbench.interop.inspect_files import DOCUMENT_MOST, MEMBER_MOST, is_log, opened


def refusal(path: Path) -> str:
    """What is said of a file that cannot be read."""
    with pytest.raises(UsageError) as refused:
        read(path)
    return str(refused.value)


def test_a_log_is_known_by_its_first_bytes(tmp_path: Path) -> None:
    """Both forms are recognised whatever the file is called; another archive and another document are not."""
    for path in (eval_file(tmp_path / "a.zip", [sample()]), json_file(tmp_path / "b.txt", [sample()])):
        assert is_log(path.read_bytes()[:2048])
    for path in (archive(tmp_path / "c.eval", {"x": 1}), tmp_path / "d.json"):
        path.write_text('{"version": 2}') if path.suffix == ".json" else None
        assert not is_log(path.read_bytes()[:2048])


def test_old_archives_are_read(tmp_path: Path) -> None:
    """Archives that are deflated, as Inspect wrote them before it had Zstandard, and version 1 are read."""
    head = {**header(), "version": 1}
    path = deflated(
        tmp_path / "log", {"_journal/start.json": {}, "header.json": head, "samples/a_epoch_1.json": sample()}
    )
    assert len(read(path)[1]) == 1


def test_a_cut_archive_says_what_to_do(tmp_path: Path) -> None:
    """An archive that ends in the middle has no table of contents: it is refused with what to do about it."""
    path = eval_file(tmp_path / "log.eval", [sample()])
    path.write_bytes(path.read_bytes()[:-200])
    assert "log.eval is cut off or damaged" in refusal(path)
    assert "Copy it again" in refusal(path)


def test_a_damaged_member_is_refused(tmp_path: Path) -> None:
    """A byte that changed within a sample is found, by the library or by the check sum, and the member is named."""
    path = eval_file(tmp_path / "log", [sample()])
    raw = bytearray(path.read_bytes())
    raw[raw.index(b"samples/s0") + 200] ^= 0xFF
    path.write_bytes(raw)
    assert "samples/s0_epoch_1.json" in refusal(path)


def test_an_archive_without_a_header_is_refused(tmp_path: Path) -> None:
    """An archive that holds samples and no header is no log."""
    assert "an archive without header.json" in refusal(archive(tmp_path / "log", {"samples/a_epoch_1.json": sample()}))


@pytest.mark.parametrize(("size", "data"), [(MEMBER_MOST + 1, 400_000), (2 * 2**20, 2), (40 * 2**20, 30_000)])
def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, size: int, data: int) -> None:
    """A member that says it is larger than any sample, or than its bytes can be, is refused by what it says."""
    noise = random.Random(0).randbytes(data)
    assert f"would unpack to {size:,} bytes" in refusal(lying(tmp_path / "log", "header.json", size, noise))


def test_a_bomb_that_lies_about_its_size_is_not_unpacked(tmp_path: Path) -> None:
    """A member that says it is small and is not is left at the size that it says, and refused."""
    data = b" " * (64 * 2**20)
    assert "header.json is damaged" in refusal(lying(tmp_path / "log", "header.json", 1000, data))


def test_a_document_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    """A `.json` log has to fit into memory: one that does not is refused with how to make an archive of it."""
    path = json_file(tmp_path / "log.json", [sample()])
    with path.open("r+b") as file:
        file.truncate(DOCUMENT_MOST + 1)  # a hole: nothing is written
    assert "`inspect log convert FILE --to eval --output-dir DIR`" in refusal(path)


def test_names_of_members_are_no_paths(tmp_path: Path) -> None:
    """A member whose name leads out of the archive is no sample, and nothing is written beside the log."""
    folder = tmp_path / "logs"
    folder.mkdir()
    members = {"samples/../../x.json": sample(), "samples/a/b.json": sample(), "header.json": header()}
    with opened(archive(folder / "log", members)) as log:
        assert not list(log.samples())
    assert [path.name for path in tmp_path.rglob("*")] == ["logs", "log"]


def test_samples_in_pieces_are_refused(tmp_path: Path) -> None:
    """A log whose samples were taken apart is refused by name, and not read as a log without samples."""
    members = {"header.json": header(), "samples/m_epoch_1/sample.json": {}, "samples/m_epoch_1/events/0.json": []}
    assert "has samples in pieces (samples/m_epoch_1/sample.json)" in refusal(archive(tmp_path / "log", members))


def test_a_member_twice_is_the_later_one(tmp_path: Path) -> None:
    """A name that stands twice in an archive is its later member, as ZIP has it: a sample that was written anew."""
    path = eval_file(tmp_path / "log", [sample(statements=["first"])])
    with pytest.warns(UserWarning, match="Duplicate name"):
        archive(path, {"samples/s0_epoch_1.json": sample(statements=["second"])}, mode="a")
    _, (row,) = read(path)
    assert [getattr(reply.outcome, "text", None) for reply in row.replies if reply.elicitation == 0] == ["second"]


def test_a_deep_document_is_refused(tmp_path: Path) -> None:
    """A sample that is nested without end is refused, whether or not the nested field is one that is read."""
    for field in ("scores", "elsewhere"):
        text = json.dumps(sample())[:-1] + f', "{field}": ' + "[" * 100_000 + "]" * 100_000 + "}"
        path = archive(tmp_path / field, {"header.json": header(), "samples/a_epoch_1.json": text.encode()})
        assert "samples/a_epoch_1.json is not as Inspect writes it" in refusal(path)


def test_a_field_of_another_type_is_named(tmp_path: Path) -> None:
    """A field that has another type than Inspect writes is refused by its place."""
    wrong = {**sample(), "metadata": {"task_id": 7, "config": "known_facts", "type": "binary"}}
    told = refusal(eval_file(tmp_path / "log", [wrong]))
    assert "s0_epoch_1.json" in told
    assert "$.metadata.task_id" in told


def test_an_event_of_another_type_is_named(tmp_path: Path) -> None:
    """A call that is malformed is refused by its sample and its number, whatever stands in the samples beside it."""
    events = [call([]), {**call([]), "output": 5}]
    told = refusal(eval_file(tmp_path / "log", [sample(), sample(events=events, epoch=2), sample(epoch=3)]))
    assert "samples/s1_epoch_2.json is not as Inspect writes it: events.1.model.output" in told


def test_numbers_without_a_word_in_json_are_read(tmp_path: Path) -> None:
    """NaN and Infinity, which Inspect writes, are read as nothing; in a reply such words stay as they are."""
    text = json.dumps(sample(statements=['It is NaN, -Infinity: "NaN".']))
    text = text[:-1] + ', "working_time": NaN, "more": [-Infinity, Infinity]}'
    _, (row,) = read(archive(tmp_path / "log", {"header.json": header(), "samples/a_epoch_1.json": text.encode()}))
    statements = [getattr(reply.outcome, "text", None) for reply in row.replies if reply.elicitation == 0]
    assert statements == ['It is NaN, -Infinity: "NaN".']


def test_a_string_that_is_not_closed_is_read_once(tmp_path: Path) -> None:
    """A log of a megabyte that ends within a string is refused in the time that reading it takes."""
    text = json.dumps(sample())[:-1].encode() + b', "working_time": NaN, "more": "' + b'\\"' * 500_000
    began = time.process_time()
    assert "is not as Inspect writes it" in refusal(
        archive(tmp_path / "log", {"header.json": header(), "samples/a_epoch_1.json": text})
    )
    assert time.process_time() - began < 5


def test_an_unknown_version_is_refused(tmp_path: Path) -> None:
    """A log of a version that nobody has seen yet is refused by its number."""
    head = {**header(), "version": 3}
    assert "is a log of version 3; the Inspect that is installed reads up to 2" in refusal(
        eval_file(tmp_path / "log", [], head)
    )


def test_a_folder_without_a_log_is_refused(tmp_path: Path) -> None:
    """A folder that holds no log says which files it looked for."""
    assert "has no log of Inspect in it. Give a .eval or .json file" in refusal(tmp_path)


def test_a_file_that_was_not_a_log_after_all(tmp_path: Path) -> None:
    """A document that begins as a log and breaks off is refused by its name, and no run is made of it."""
    path = json_file(tmp_path / "log.json", [sample()])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(UsageError, match=r"log.json is not as Inspect writes it"):
        import_run(path, tmp_path / "run")
    assert not (tmp_path / "run").exists()
