"""Checks and audits that are killed go on, as processes against a real server."""

from pathlib import Path

import orjson
import pytest

from flows import MODELS, Answered, environ, kill, maskbench, run, serving, six_files, until


@pytest.mark.parametrize(
    "more",
    [
        ("run", "--placebo", "--self-report", "--check-provided", "--traces"),
        ("judge", "--audit", "swap,repeat"),
    ],
)
def test_killed_and_taken_up_again(tmp_path: Path, more: tuple[str, ...]) -> None:
    """What was answered before kill -9 is not asked again, and the figures are those of one that nobody killed."""
    command, *options = more
    one, other = tmp_path / "one", tmp_path / "other"

    def add(path: Path) -> tuple[str, ...]:
        return (command, *(("--out", str(path)) if command == "run" else (str(path),)), *options)

    with serving(reply=Answered()) as server:
        sure = (*MODELS, "--scenarios", six_files(tmp_path / "six", 3), "--connections", 8)
        for path in (one, other):
            assert run("run", *sure, "--out", path, env=environ(server)).code == 0
        assert run(*add(one), env=environ(server)).code == 0
    answered = Answered()
    with serving(reply=answered, latency=0.1) as server:
        with maskbench(*add(other), env=environ(server)) as process:
            until(lambda: len(answered.times) >= 24)
            moment = kill(process)
        assert run(*add(other), env=environ(server)).code == 0
    lost = answered.before(moment - 0.2) & answered.after(moment)
    assert not lost
    told = ("score", ()) if command == "run" else ("judge", ("--audit", "show"))
    found = [orjson.loads(run(told[0], path, *told[1], "--json", env={}).out) for path in (one, other)]
    keys = ("checks", "metrics", "counts") if command == "run" else ()
    one_, other_ = ([part[key] for key in keys] if keys else part for part in found)
    assert one_ == other_
