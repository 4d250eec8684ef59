"""The first steps and the how-tos of docs/: their commands run in order in one folder and print what the pages show."""

import json
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path

import pytest

import forks

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[1] / "docs"
# In this order: later pages use the runs of earlier ones.
PAGES = (
    *("install", "first-figure", "models", "comparing", "gate-in-ci", "scenarios", "said-and-did"),
    *("coming-from", "publish-a-figure", "leaderboard", "real-runs"),
    *(["detectors"] if find_spec("sklearn") else []),
)
RUN = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)  # `bash` blocks need a key or a model
SHOWN = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SAVED = re.compile(r"Save this as `([\w.]+)`:\n\n```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
GATE_HELD = (0, 3)  # what is shown to fail the gate ends so
WITHHELD = 1  # where too much is missing for a figure


# What sentences say of the runs of these pages: ids of protocol and scenarios, seeds, and figures.
ID = re.compile(r"(?<!-)\b(?=[a-f]*\d)[0-9a-f]{12}\b")
SEED = re.compile(r"\(seed (\d+)\)")
FIGURE = re.compile(r"(?<![\d.])\d+\.\d(?![\d.])")
EXAMPLE = re.compile(r"^## Try it without a key\n.*?^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOLD = re.compile(r"^> .*(?:\n> .*)*", re.MULTILINE)  # a sentence to be copied


def spaced(text: str) -> str:
    """The text with every run of white space as one space: tables are set to another width elsewhere."""
    return " ".join(text.split())


def printed(block: str, folder: Path) -> str:
    """What a block of commands prints; each has to succeed, or to be the gate that holds, or a figure withheld."""
    ended = subprocess.run(
        ["bash", "-ec", block],
        cwd=folder,
        env={"PATH": forks.path(), "HOME": str(folder), "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    is_withheld = ended.returncode == WITHHELD and "The headline is withheld." in ended.stdout
    assert is_withheld or ended.returncode in GATE_HELD, f"{block}\n{ended.stdout}"
    return ended.stdout


def test_the_pages_do_what_they_say(tmp_path: Path) -> None:
    """Nothing stops on the way, and every line of output on a page is printed by that page's own commands.

    What sentences say of these runs is as the runs have it: ids and seeds on every page, and figures to be copied.
    """
    (tmp_path / "examples").symlink_to(DOCS.parent / "examples")
    logs = []
    for name in PAGES:
        page = (DOCS / f"{name}.md").read_text("utf-8")
        for file, content in SAVED.findall(page):
            (tmp_path / file).write_text(content)
        log = spaced("\n".join(printed(block, tmp_path) for block in RUN.findall(page)))
        lines = [line for block in SHOWN.findall(page) for line in block.splitlines()]
        assert [line for line in lines if spaced(line) not in log] == [], name
        logs.append(log)
    records = [json.loads(path.read_text("utf-8")) for path in tmp_path.glob("runs/*/run.json")]
    for path in (DOCS.parent / "README.md", *DOCS.glob("*.md")):
        page, known = path.read_text("utf-8"), " ".join(logs)
        assert [each for each in ID.findall(page) if each not in known] == [], path.name
        assert {int(seed) for seed in SEED.findall(page)} <= {
            record["settings"]["design"]["seed"] for record in records
        }, path.name
        sentences = [*TOLD.findall(page), *EXAMPLE.findall(page)]
        assert [each for each in FIGURE.findall(" ".join(sentences)) if each not in known] == [], path.name
