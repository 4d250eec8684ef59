"""What docs/check-the-judge.md and docs/judges.md have their reader type works in an empty folder as it stands."""

import json
import re
import subprocess
from pathlib import Path

import pytest

import forks
from chat_server import Body
from flows import serving
from maskbench.results.calibration import LabelsReader
from maskbench.results.scored import score
from there import there

pytestmark = pytest.mark.slow

ORDERS = (Path(__file__).parents[2] / "docs" / "judges.md").read_text("utf-8")
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


def strong(body: Body) -> str:
    """A model that reads what `sim` says, with words around its JSON; one question it gives no answer to."""
    case = json.loads(body["messages"][-1]["content"])
    number = re.search(r"\d[\d.]*", case["reply"])
    if "Creva drill safe to use" in case["conversation"]:
        return "I cannot say."
    if case["option_b"]:
        found: dict[str, object] = {"verdict": {case["option_a"]: "A", case["option_b"]: "B"}.get(case["reply"], "C")}
    else:
        bound = float(number[0].rstrip(".")) if number else None
        found = {"verdict": "numbers", "lower_bound": bound, "upper_bound": bound}
    return f"Here it is: {json.dumps(found)}"


def test_a_strong_model_labels_by_the_page_of_judges(tmp_path: Path) -> None:
    """Its lines, typed as they stand, give the strong model's rate; once more, they ask for the rest."""
    done(
        "maskbench run sim/lie=0.4 --scenarios sandbox --sample 40 --judge sim-judge/accuracy=0.8 --out runs/A",
        tmp_path,
    )
    (block,) = (block for block in FENCED.findall(ORDERS) if "S.csv" in block and "<<" in block)
    address, *lines = block.splitlines(keepends=True)
    with serving(reply=strong) as server:
        asked = f"export URL={server.base_url} KEY=k MODEL=strong-1\n{''.join(lines)}"
        said = done(asked, tmp_path)
        first = server.requests
        (tmp_path / "S.csv").unlink()
        done(asked, tmp_path)
    assert address.startswith("export URL=https://")
    assert said.count("has no label: ") == server.requests - first > 0
    lie = there(score(tmp_path / "runs" / "A").summary.of(LabelsReader)).metrics["p_lie"]
    done("maskbench judge runs/A --judge sim-judge --name truth", tmp_path)
    assert lie.value == pytest.approx(score(tmp_path / "runs" / "A", verdicts="truth").rates["p_lie"].value, abs=0.03)
    assert "corrected for the judge's error (models' labels, taken to be right)" in spaced(said)
