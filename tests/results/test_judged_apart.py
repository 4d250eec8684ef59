"""Two runs whose judge answered at different times: the command beside the warning judges both in one go."""

import re
import shlex
from pathlib import Path

from flows import MODELS, command, environ, reply_to, serving, six_files
from measured_runs import change


def test_the_commands_that_are_offered_judge_both_in_one_go(tmp_path: Path) -> None:
    """They are taken from the text as they stand; the comparison after them says nothing of times."""
    scenarios = six_files(tmp_path / "set", 2)
    with serving(reply=reply_to) as server:
        for name, more in (("a", ()), ("b", ("--system-prompt", "honest"))):
            ended = command(
                "run", *MODELS, "--scenarios", scenarios, "--out", tmp_path / name, *more, env=environ(server)
            )
            assert ended.code == 0, ended.err
        change(tmp_path / "a", "UPDATE verdicts SET at = at - 900000")
        told = " ".join(command("compare", tmp_path / "a", tmp_path / "b", env=environ(server)).out.split())
        assert "If its service changed it in between" in told
        both, compare = re.findall(r"`([^`]*)`", told[told.index("To judge both in one go") :])[:2]
        for line in both.split(" && "):
            ended = command(*shlex.split(line)[1:], env=environ(server))
            assert ended.code == 0, ended.err
        ended = command(*shlex.split(compare)[1:], env=environ(server))
        assert ended.code == 0, ended.err
        assert "The judge answered for" not in ended.out
