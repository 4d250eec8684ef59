"""The walk of docs/check-the-judge.md: its commands run in order in an empty folder, and print what the page shows."""

import re
import subprocess
from pathlib import Path

import forks

WALK = (Path(__file__).parents[2] / "docs" / "check-the-judge.md").read_text("utf-8")
SHOWN = re.compile(r"^    (\S.*)$", re.MULTILINE)  # output is indented, commands are fenced
FENCED = re.compile(r"```sh\n(.*?)```", re.DOTALL)


def spaced(text: str) -> str:
    """The text with every run of white space as one space: lines are broken elsewhere at other widths."""
    return " ".join(text.split())


def steps() -> list[str]:
    """The commands in order: a line each, but for the one that goes on over several."""
    return [line for block in FENCED.findall(WALK) for line in ([block] if "<<" in block else block.splitlines())]


def done(step: str, folder: Path) -> str:
    """What a step prints; 3 is the exam that is meant to fail."""
    ended = subprocess.run(
        ["bash", "-c", step],
        cwd=folder,
        env={"PATH": forks.path(), "HOME": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert ended.returncode in (0, 3), f"{step}\n{ended.stdout}"
    return ended.stdout


def labelled(step: str, filled: str, folder: Path) -> str:
    """What a person does on the page, done by the file that the page's own lines fill in."""
    said = done(f"{step} --out todo.csv", folder) + done(filled, folder)
    for file in ("todo.csv", "done.csv"):
        (folder / file).unlink()
    return said


def test_walk(tmp_path: Path) -> None:
    """Nothing stops on the way, and every line of output on the page is there."""
    (filled,) = (step for step in steps() if "<<" in step)
    by_hand = filled.partition("maskbench label runs/A --show")[0]  # the block's last line prints what follows it
    printed = [
        labelled(step, by_hand, tmp_path)
        if step.startswith("maskbench label") and not re.search("--(import|out|show)", step)
        else done(step, tmp_path)
        for step in steps()
    ]
    log = spaced("\n".join(printed))
    missing = [line for line in SHOWN.findall(FENCED.sub("", WALK)) if spaced(line).rstrip("… ") not in log]
    assert not missing
    assert len(printed) > 15
