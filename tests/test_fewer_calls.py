"""The ways to ask less, end to end: through a server, killed by kill -9 in the middle, and taken up again."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import orjson
import pytest

from flows import MODELS, Answered, environ, kill, maskbench, run, serving, six_files, until


class Whole(NamedTuple):
    """A run of the whole protocol, the options that it was made with, and how many requests it took."""

    path: Path
    options: tuple[str, ...]
    requests: int


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """Everything asked of everybody, of a subject whose replies follow from the request alone."""
    folder = tmp_path_factory.mktemp("fewer")
    options = (*MODELS, "--scenarios", str(six_files(folder / "set", 5)), "--connections", "4", "--send-seed")
    answered = Answered()
    with serving(reply=answered, honours_n=False) as server:
        assert run("run", *options, "--out", folder / "whole", env=environ(server)).code == 0
    return Whole(folder / "whole", options, len(answered.times))


def metrics(path: Path) -> Any:
    """The rates of a run."""
    return orjson.loads((path / "summary.json").read_bytes())["rates"]


@pytest.mark.parametrize(
    ("design", "at_most"),
    [
        (("--system-prompt", "honest", "--beliefs-from", "WHOLE"), 0.3),
    ],
    ids=["beliefs-from"],
)
def test_asking_less_survives_being_killed(
    whole: Whole, design: tuple[str, ...], at_most: float, tmp_path: Path
) -> None:
    """Fewer requests than the whole protocol takes; a killed run asks nothing again, and comes to the same rates."""
    options = (*whole.options, *(str(whole.path) if word == "WHOLE" else word for word in design))
    straight, answered = Answered(), Answered()
    with serving(reply=straight, honours_n=False) as server:
        assert run("run", *options, "--out", tmp_path / "straight", env=environ(server)).code == 0
    assert len(straight.times) <= at_most * whole.requests
    with serving(reply=answered, latency=0.02, honours_n=False) as server:
        with maskbench("run", *options, "--out", tmp_path / "killed", env=environ(server)) as process:
            until(lambda: len(answered.times) > 0.4 * len(straight.times))
            moment = kill(process)
        assert run("run", "--out", tmp_path / "killed", env=environ(server)).code == 0
    assert len(answered.before(moment - 0.1)) > 5
    assert not answered.before(moment - 0.1) & answered.after(moment)
    assert metrics(tmp_path / "killed") == metrics(tmp_path / "straight")
