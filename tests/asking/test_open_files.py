"""A run may have as many connections as its system lets it have files."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import resource
from maskbench.asking.begin import allow_files
from maskbench.asking.watching import Unwatched
class Told(Unwatched):
    def tell(self, line):
        print(line)
resource.setrlimit(resource.RLIMIT_NOFILE, {limits})
allow_files(200, Told())
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


@pytest.mark.parametrize(("limits", "left"), [((128, 1024), 1024), ((400, 400), 400)])
def test_the_limit_is_raised_as_far_as_it_may_be(limits: tuple[int, int], left: int) -> None:
    """A soft limit that is too low is raised to the hard one, and nothing is told where that will do."""
    assert said(limits) == [str(left)]


def test_a_limit_that_is_too_low_is_told() -> None:
    """Where even the hard limit is too low, the user is told how many connections fit."""
    told, left = said((128, 256))
    assert "256 files open, which is too few for --connections 200. Give 156 or fewer" in told
    assert left == "256"


def said(limits: tuple[int, int]) -> list[str]:
    """What a process with these limits says."""
    code = CODE.format(limits=limits)
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.splitlines()


def test_judging_again_has_as_many_files_as_a_run(tmp_path: Path) -> None:
    """`judge` takes the same --connections, so that its process may have as many files open."""
    code = f"""
import resource
from pathlib import Path
from maskbench.asking.judging.judge_again import judge
from maskbench.measurement import measure
from maskbench.store.folder import RunFolder
from maskbench.settings import Settings
run = Path({str(tmp_path / "run")!r})
measure(Settings.of("sim/lie=0.4", "sim-judge", "starter", limit=2), run, {{}})
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 512))
other = RunFolder(run).settings().having(judge="sim-judge/seed=2", numeric_judge="sim-judge/seed=2")
judge(RunFolder(run), other, "again", {{}})
print(resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert told.split() == ["512"]
