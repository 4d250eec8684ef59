"""The developer's system prompts: a library of files with their sources, or a file of one's own."""

import re
from importlib import resources
from pathlib import Path

import pytest

from maskbench.errors import UsageError
from maskbench.scenarios.pinocchio.lures import HONESTY, OTHER, wordings
from maskbench.store.system_prompts import LIBRARY, system_prompt

FOLDER = resources.files("maskbench") / "method" / "developer_prompts"


def test_the_library_names_every_file_that_is_there() -> None:
    """A prompt that is shipped is named, and a name is a file."""
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.md" for name in LIBRARY}


@pytest.mark.parametrize("name", LIBRARY)
def test_a_prompt_is_readable_text_and_its_head_says_where_it_comes_from(name: str) -> None:
    """The comment is for people: no model sees it; it names the idea, and that the words are the project's own."""
    head, _, body = (FOLDER / f"{name}.md").read_text(encoding="utf-8").partition("-->")
    assert head.startswith("<!--")
    assert "maskbench" in head
    assert "after" in head or name == "placebo"
    assert system_prompt(name) == body.strip()
    assert "<!--" not in system_prompt(name)


def test_the_placebo_says_nothing_about_honesty() -> None:
    """It is what any developer's part does."""
    assert not re.search("hones|truth|true|lie|believ|decei", system_prompt("placebo"))


def test_what_pinocchio_knows_is_made_of_words_that_it_was_not_trained_on_as_a_whole() -> None:
    """Two prompts are of its world, in wordings held out of its training."""
    known = (*wordings(HONESTY, True), *wordings(OTHER, True))
    assert tuple(name for name in LIBRARY if system_prompt(name) in known) == ("honest", "placebo")


def test_a_file_of_ones_own_is_read_without_its_comment(tmp_path: Path) -> None:
    """Whatever stands after the head is the prompt, further comments included."""
    file = tmp_path / "mine.md"
    file.write_text("<!-- whose idea -->\n\nBe honest. <!-- kept -->\n")
    assert system_prompt(str(file)) == "Be honest. <!-- kept -->"


def test_an_unknown_name_lists_the_library(tmp_path: Path) -> None:
    """What is neither a name nor a file of text is refused with what there is."""
    for wrong in ("honesty", str(tmp_path), "a\0b"):
        with pytest.raises(UsageError, match=r"honest, rewarded, no_deception, .*nor a file of text"):
            system_prompt(wrong)
    with pytest.raises(UsageError, match=r"\(No such file or directory\)\. Did you mean honest\?"):
        system_prompt("honset")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    """A comment alone is no prompt."""
    file = tmp_path / "empty.md"
    file.write_text("<!-- nothing -->\n")
    with pytest.raises(UsageError, match="the file is empty"):
        system_prompt(str(file))
