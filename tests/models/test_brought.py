"""What a model of another distribution declares, and what comes of what is typed for it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from maskbench.doors import Options, Takes
from maskbench.errors import RunMismatch, UsageError
from maskbench.settings import Mark, Settings

SETTINGS = Settings.of("toy/x", "sim-judge", "starter")


@dataclass(frozen=True, kw_only=True)
class ToyOptions(Options):
    """What a toy takes."""

    voice: Annotated[Literal["high", "low"], Takes("How it sounds", kept=True)] = "low"
    times: Annotated[Annotated[int, Meta(ge=1)] | None, Takes("So many words", kept=True)] = None
    loud: Annotated[bool, Takes("It shouts")] = False
    song: Annotated[Path | None, Takes("A file of words")] = None
    place: Annotated[str, Takes("Where it stands", shapes=False)] = "here"


def made(**typed: Any) -> Options:
    """A toy's options as they were typed."""
    return ToyOptions.made("toy/x", typed, settings=SETTINGS, environ={})


def test_text_is_read_as_what_an_option_takes() -> None:
    """A number, yes and no, a choice and a path; `none` leaves one out, and run.json keeps values as JSON has them."""
    typed = {"times": "3", "loud": "true", "voice": "high", "song": "a/b.txt", "place": "none"}
    toy = made(**typed)
    assert (toy.times, toy.loud, toy.voice, toy.song) == (3, True, "high", Path("a/b.txt"))  # type: ignore[attr-defined]
    read = {"times": 3, "loud": True, "voice": "high", "song": "a/b.txt"}
    assert ToyOptions.read("toy/x", typed) == read == ToyOptions.read("toy/x", read)


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"tims": "3"}, r"-M tims: toy/x has no such option. Did you mean times \(So many words\)\?"),
        ({"q": "3"}, r"has no such option. There are voice \(How it sounds\); times \(So many words\); loud"),
        ({"times": "0"}, r"-M times=0: toy/x cannot take it \(Expected `int` >= 1\)"),
        ({"times": "many"}, r"-M times=many: toy/x cannot take it"),
        ({"voice": "shrill"}, r"-M voice=shrill: toy/x cannot take it \(Invalid enum value 'shrill'\)"),
        ({"loud": "perhaps"}, r"-M loud=perhaps: toy/x cannot take it"),
    ],
)
def test_what_cannot_be_meant_is_refused(typed: dict[str, str], said: str) -> None:
    """An unknown name comes with the nearest and its words, or with all; a value with what is expected."""
    with pytest.raises(UsageError, match=said):
        made(**typed)


def test_what_shapes_answers_is_marked(tmp_path: Path) -> None:
    """Values that are no defaults, and of a file its content, wherever it lies; where a model stands is no mark."""
    song = tmp_path / "song.txt"
    song.write_text("la")
    marks = made(song=str(song), loud=True, place="there").marks({})
    assert marks["loud"] == Mark(True, "loud")
    assert (len(marks["song"].value), marks["song"].words) == (16, "song.txt")
    assert marks.keys() == {"loud", "song"}
    assert made(voice="low").marks({}) == {}
    moved = song.rename(tmp_path / "other.txt")
    assert made(song=str(moved)).marks({})["song"].value == marks["song"].value
    assert made(song=str(song)).marks(marks)["song"] == marks["song"]  # a finished run needs its files no more
    with pytest.raises(UsageError, match=r"song.txt cannot be read"):
        made(song=str(song)).marks({})
    moved.write_text("lo")
    with pytest.raises(RunMismatch, match=r"other.txt has changed since the run was begun"):
        made(song=str(moved)).marks(marks)


def test_a_folder_keeps_what_the_model_lets_it() -> None:
    """Whatever the model does not call harmless has to be typed again, a name that it does not know among it."""
    stored = {"voice": "high", "times": 2, "loud": True, "song": "a", "place": "there", "unknown": 1}
    assert set(ToyOptions.typed_again(stored)) == {"loud", "song", "place", "unknown"}


def test_an_option_without_words_or_default_is_a_fault_of_its_model() -> None:
    """So is one that is called as a part of every key is."""

    @dataclass(frozen=True, kw_only=True)
    class Bare(Options):
        bare: int = 1

    @dataclass(frozen=True, kw_only=True)
    class Seeded(Options):
        seed: Annotated[int, Takes("Its own seed")] = 1

    for kind, said in ((Bare, "bare: an option of a model is Annotated"), (Seeded, "cannot be called seed")):
        with pytest.raises(TypeError, match=said):
            kind.typed_again({"x": 1})
