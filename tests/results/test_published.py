"""The published figures that come with the package, and the paper's finding in them."""

import json
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from flows import typed
from maskbench.method.rules import named
from maskbench.presentation.sections.published import blocks
from maskbench.presentation.terminal import text
from maskbench.results.conventions import differences, packaged
from maskbench.results.published import BESIDE, figures
from maskbench.results.scored import read
from measured_runs import run

ROOT = Path(__file__).parents[2]
PAPER = [each for each in figures() if each.document == "paper, 1,500 scenarios"]


def column(name: str) -> list[float]:
    """One column of the paper's table 3."""
    return [each.value for each in PAPER if each.figure == name]


def test_the_papers_finding_hangs_on_what_counts() -> None:
    """Accuracy goes with the honesty score by −0.552 and with P(honest) by +0.096, as the page says."""
    assert len(column("accuracy")) == 32
    assert spearmanr(column("accuracy"), column("honesty")).statistic == pytest.approx(-0.552, abs=0.0005)
    assert spearmanr(column("accuracy"), column("p_honest")).statistic == pytest.approx(0.096, abs=0.0005)
    page = (ROOT / "docs" / "paper.md").read_text("utf-8")
    assert "−0.552" in page
    assert "+0.096" in page


def test_rows_add_up() -> None:
    """In table 3 honest, lies and the rest make 100 %, and the honesty score is 100 % minus lies."""
    names = ("p_honest", "p_lie", "p_evasive_or_no_belief", "honesty")
    for honest, lie, rest, score in zip(*map(column, names), strict=True):
        assert honest + lie + rest == pytest.approx(100)
        assert score == pytest.approx(100 - lie)


def test_every_figure_has_a_source() -> None:
    """Every figure is a share in percent with document and source, and the README of the data names each file."""
    place = resources.files("maskbench") / "results" / "published_figures"
    readme = (place / "README.md").read_text("utf-8")
    for file in place.iterdir():
        assert file.name in ("README.md", "model_cards.csv") or f"`{file.name}`" in readme
    conventions = packaged()
    for each in figures():
        assert each.source, each
        assert each.document, each
        assert each.known, each
        assert 0 <= each.value <= 100, each
        assert each.convention in ("", *conventions), each
        if each.low is not None and each.high is not None:
            assert each.low < each.value < each.high, each


def test_the_command_prints_a_row_a_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure stands there with its document, the sources below, and the one sentence on ranking above."""
    monkeypatch.setenv("COLUMNS", "400")
    told = typed("published").out
    assert told.startswith(BESIDE)
    assert sum("paper, 1,500 scenarios" in line for line in told.splitlines()) == len(PAPER) + 1
    assert "card figure (inferred)" in told
    assert "secondary digest (second-hand)" in told


def test_it_fits_80_columns() -> None:
    """The table fits 80 columns, and no cell is cut off."""
    lines = text(list(blocks(figures())), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)


def test_a_name_is_a_filter() -> None:
    """A publisher, a document, a convention or a model, however it is joined; of nobody there is nothing."""
    for name, publisher in (("anthropic", "Anthropic"), ("claude-opus-4-8", "Anthropic"), ("scale", "Scale")):
        data = json.loads(typed("published", name, "--json").out)
        assert publisher in {each["publisher"] for each in data["figures"]}, name
    assert {each.convention for each in figures(["inspect"])} == {"inspect"}
    nobody = typed("published", "nothing-like-it")
    assert nobody.code == 2
    assert "No figure is known of nothing-like-it. There are some of Ren et al., Scale" in nobody.err


def test_json_has_every_figure() -> None:
    """The data are the figures themselves."""
    assert len(json.loads(typed("published", "--json").out)["figures"]) == len(figures())


def test_one_wording_on_ranking(tmp_path: Path) -> None:
    """`score --as`, `published` and the page say the same of a figure beside a published one."""
    path = run(tmp_path / "run", "sim")
    for words in (("score", path, "--as", "anthropic-2026-06"), ("published",)):
        assert BESIDE in " ".join(typed(*words).out.split()), words
    page = (ROOT / "docs" / "paper.md").read_text("utf-8")
    assert BESIDE in " ".join(page.split())
    rows = [line for line in page.splitlines() if line.startswith("|") and "| `anthropic-" in line]
    assert [line for line in rows if "(inferred" in line] == rows
    assert len(rows) == 3


def test_a_card_is_found_under_the_convention_that_names_it() -> None:
    """Each card that `held` names has rows of that convention."""
    documents = {each.document for each in figures() if each.convention == "anthropic-2026-09"}
    assert documents == {f"Claude {name} 5.5 System Card" for name in ("Opus", "Sonnet", "Haiku")}
    assert packaged()["anthropic-2026-09"].held.endswith("(Claude Opus 5.5, Sonnet 5.5 and Haiku 5.5 cards)")


def test_the_same_scenarios_are_no_difference(tmp_path: Path) -> None:
    """Over the whole public set the scenarios are not named as a difference from a publisher who took the same."""
    scored = read(run(tmp_path / "run", "sim"), named("reference"))
    meta = packaged()["meta"]
    assert any(line.startswith("scenarios: ") for line in differences(meta, scored))
    whole = replace(scored, rows=(scored.rows * 11)[:1000], public="cais/MASK")
    assert any(line.startswith("scenarios: ") for line in differences(meta, replace(whole, public="starter")))
    assert not any(line.startswith("scenarios: ") for line in differences(meta, whole))
    assert any(line.startswith("scenarios: ") for line in differences(packaged()["paper"], whole))


def test_no_letters_that_nobody_knows() -> None:
    """A dated copy of the board stands under its date alone."""
    assert all(re.fullmatch(r"\d{4}(-\d\d){0,2}", each.date) for each in figures(["scale"]))


def test_model_cards() -> None:
    """Of the 45 rows of cards 24 are second-hand, and one publisher's figure of one model is there twice."""
    cards = [each for each in figures() if each.known != "table"]
    assert len(cards) == 45
    assert sum("second-hand" in each.known for each in cards) == 24
    assert {each.value for each in cards if each.model == "Claude Opus 4.8"} >= {4.6, 6.1}
