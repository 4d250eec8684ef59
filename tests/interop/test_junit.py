"""The check as JUnit XML: a condition is a case, what fails is a failure, what cannot be measured is an error."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

import measured_runs
from flows import typed
from maskbench.interop.junit import JunitCase, xml

HOSTILE = 'a & b <script>"\x00\x1b[31m\x0b\ufffe\ud800 ]]> </failure>\u202e'


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that lies in about four of ten."""
    return measured_runs.run(tmp_path_factory.mktemp("junit") / "run", "sim/lie=0.4", sample=60)


def cases(path: Path) -> list[tuple[str, str | None]]:
    """Each case of a file, with what stands in it but for what was printed."""
    suites = ElementTree.parse(path).getroot()  # noqa: S314  # we wrote it
    (suite,) = suites
    for each in (suites, suite):
        assert int(each.attrib["tests"]) == len(suite)
        assert int(each.attrib["failures"]) == len(suite.findall("*/failure"))
        assert int(each.attrib["errors"]) == len(suite.findall("*/error"))
    ends = [[child.tag for child in case if child.tag != "system-out"] for case in suite]
    return [(case.attrib["name"], end[0] if end else None) for case, end in zip(suite, ends, strict=True)]


def test_each_condition_is_a_case(run: Path, tmp_path: Path) -> None:
    """A limit that does not hold is a failure with its reason; the others pass, and the exit code is the check's."""
    place = tmp_path / "new" / "check.xml"
    assert typed("check", run, "--max-lie", "0.1", "--junit", place).code == 3
    shown = dict(cases(place))
    assert len(shown) == 4
    assert [name for name, end in shown.items() if end] == ["P(lie), upper 95 % bound, errors as lies"]
    assert "not &lt; 10.0 %" in place.read_text("utf-8")
    assert typed("check", run, "--max-lie", "0.9", "--junit", place).code == 0
    assert set(dict(cases(place)).values()) == {None}


def test_what_cannot_be_measured_is_an_error(tmp_path: Path) -> None:
    """A smoke run has no conditions, but one error, which no reader takes for a pass."""
    smoke = measured_runs.run(tmp_path / "smoke", limit=3)
    assert typed("check", smoke, "--max-lie", "0.5", "--junit", tmp_path / "check.xml").code == 1
    assert cases(tmp_path / "check.xml") == [("measurable", "error")]


def test_a_check_that_cannot_begin_leaves_no_file_of_before(run: Path, tmp_path: Path) -> None:
    """Where there is no run, the file of the last check, which passed, becomes an error."""
    place = tmp_path / "check.xml"
    assert typed("check", run, "--max-lie", "0.9", "--junit", place).code == 0
    ended = typed("check", tmp_path / "none", "--max-lie", "0.9", "--junit", place)
    assert ended.code == 2
    assert cases(place) == [("the check", "error")]
    assert "holds no run" in place.read_text("utf-8")


def test_hostile_text_is_text() -> None:
    """Markup, control characters and what XML has no way to say change nothing of the document."""
    for ended in ("passed", "failure", "error"):
        content = xml([JunitCase(HOSTILE, HOSTILE, ended)], HOSTILE)
        root = ElementTree.fromstring(content)  # noqa: S314  # we wrote it
        (case,) = root.iter("testcase")
        assert "<script>" in case.attrib["name"]
        assert [len(list(root.iter(tag))) for tag in ("testsuite", "testcase", "script")] == [1, 1, 0]
        assert not {chr(number) for number in (*range(9), 11, 12, 27, 0x202E)} & set(content.decode())


def test_a_place_that_cannot_be_written_is_named(run: Path, tmp_path: Path) -> None:
    """The error says which option to change."""
    (tmp_path / "file").write_text("")
    ended = typed("check", run, "--max-lie", "0.9", "--junit", tmp_path / "file" / "check.xml")
    assert (ended.code, "Try another --junit" in ended.err) == (2, True)


def test_a_check_as_markdown_and_json_are_two_forms(run: Path) -> None:
    """--format markdown prints a table to paste; with --json it is refused."""
    assert "| P(lie), upper 95 % bound" in typed("check", run, "--max-lie", "0.9", "--format", "markdown").out
    ended = typed("check", run, "--max-lie", "0.9", "--format", "markdown", "--json")
    assert (ended.code, "two forms" in ended.err) == (2, True)


def test_what_ci_shows_holds_no_folder_of_this_machine(tmp_path: Path) -> None:
    """A developer's prompt is called by its last part in XML and Markdown, though a blank stands in its folder."""
    prompt = tmp_path / "Ann Lee" / "prompt.txt"
    prompt.parent.mkdir()
    prompt.write_text("Be kind.")
    place = measured_runs.run(tmp_path / "mine", "sim/lie=0.4", sample=24, system_prompt=str(prompt))
    ended = typed("check", place, "--max-lie", "0.9", "--junit", tmp_path / "check.xml", "--format", "markdown")
    for text in (ended.out, (tmp_path / "check.xml").read_text("utf-8")):
        assert "prompt.txt" in text
        assert "Ann" not in text
        assert str(tmp_path) not in text
    ended = typed("check", tmp_path / "none", "--max-lie", "0.9", "--junit", tmp_path / "check.xml")
    assert ended.code == 2
    assert "none" in (text := (tmp_path / "check.xml").read_text("utf-8"))
    assert str(tmp_path) not in text
