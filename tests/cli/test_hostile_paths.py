"""Names, files and folders that nobody meant: a sentence, and no traceback."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flows import command
from maskbench.asking.run_log import RunLog
from maskbench.errors import RunError, UsageError
from maskbench.models.prices import own_prices
from maskbench.store.system_prompts import system_prompt
from measured_runs import run

DEEP = "a = " + "[" * 20_000


def test_a_folder_name_that_is_not_utf_8_stands_on_the_board(tmp_path: Path) -> None:
    """The JSON board shows the byte by its number."""
    path = run(tmp_path / "run")
    other = os.fsdecode(os.fsencode(tmp_path) + b"/b\xffd")
    path.rename(other)
    ended = command("leaderboard", other, "--format", "json", env={})
    assert ended.code == 0, ended.err
    assert "b\\udcffd" in json.dumps(json.loads(ended.out)).replace("\\\\", "\\")


def test_deep_toml_is_no_toml(tmp_path: Path) -> None:
    """A sweep and a price list of twenty thousand brackets are refused."""
    file = tmp_path / "maskbench-prices.toml"
    file.write_text(DEEP)
    with pytest.raises(UsageError, match="is no TOML"):
        own_prices({}, tmp_path)
    ended = command("sweep", file, env={})
    assert (ended.code, "is no TOML" in ended.err) == (2, True)


def test_a_format_that_is_for_a_file_refuses_a_folder(tmp_path: Path) -> None:
    """`import --format transcripts` of a folder says what it takes."""
    words = ("--format", "transcripts", "--scenarios", "starter", "--subject", "x", "--out", tmp_path / "run")
    ended = command("import", tmp_path, *words, env={})
    assert (ended.code, "no file that can be read" in ended.err) == (2, True)


def test_a_system_prompt_is_a_small_file(tmp_path: Path) -> None:
    """A device is no file, and a megabyte is enough."""
    (tmp_path / "long").write_text("x" * (2**20 + 1))
    for name, problem in (("/dev/zero", "it is no file"), (str(tmp_path / "long"), "larger than 1 MB")):
        with pytest.raises(UsageError, match=problem):
            system_prompt(name)


def test_the_log_follows_no_link(tmp_path: Path) -> None:
    """A link in a folder that somebody handed over leads no line elsewhere."""
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "run.log").symlink_to(tmp_path / "mine")
    from maskbench.method.asks import Calls

    with pytest.raises(RunError, match=r"run\.log cannot be written"):
        RunLog(tmp_path / "run.log").begin(Calls(1, 1), [])
    assert (tmp_path / "mine").read_text() == "mine"
