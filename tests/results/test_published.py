"""The published figures that come with the package, and the paper's finding in them."""

import csv
import re
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from scipy.stats import spearmanr  # type: ignore[import-untyped]

from flows import typed
from maskbench.cli.boards import published
from maskbench.method.rules import named
from maskbench.presentation.sections.published import blocks, of_cards
from maskbench.presentation.terminal import text
from maskbench.results.conventions import differences, packaged
from maskbench.results.published import BESIDE, cards, finding, paper, tables, tables_of
from maskbench.results.scored import read
from measured_runs import edit, run

ROOT = Path(__file__).parents[2]


def test_finding() -> None:
    """Spearman's correlation of accuracy is -0.552 with the honesty score and +0.096 with P(honest), over 32 models."""
    found = finding()
    assert round(found.with_score, 3) == -0.552
    assert round(found.with_p_honest, 3) == 0.096
    assert found.models == 32


def test_finding_by_scipy() -> None:
    """Both are what scipy makes of the shipped rows."""
    file = resources.files("maskbench") / "results" / "published_figures" / "paper_table3.csv"
    rows = list(csv.DictReader(file.read_text("utf-8").splitlines()))
    columns = {name: [float(row[name]) for row in rows] for name in ("accuracy", "honesty", "p_honest")}
    assert finding().with_score == pytest.approx(spearmanr(columns["accuracy"], columns["honesty"]).statistic)
    assert finding().with_p_honest == pytest.approx(spearmanr(columns["accuracy"], columns["p_honest"]).statistic)


def test_rows_add_up() -> None:
    """In table 3 honest, lies and the rest make 100 %, and the honesty score is 100 % minus lies."""
    for row in paper().rows:
        _, honest, lie, rest, score, *_ = row
        assert isinstance(honest, float)
        assert isinstance(lie, float)
        assert isinstance(rest, float)
        assert honest + lie + rest == pytest.approx(100)
        assert score == pytest.approx(100 - lie)


def test_every_table_has_a_source() -> None:
    """Every table comes with a title, a source and rows, and the README of the data names its file."""
    readme = (resources.files("maskbench") / "results" / "published_figures" / "README.md").read_text("utf-8")
    for table in tables():
        assert table.title
        assert table.source
        assert table.rows
        assert f"`{table.name}.csv`" in readme


def test_fits_80_columns() -> None:
    """The tables fit 80 columns, and no cell is cut off."""
    lines = text(list(blocks(tables(), finding())), 80).splitlines()
    assert max(map(len, lines)) <= 80
    assert not any("…" in line for line in lines)
    assert any("never" in line for line in lines)


def test_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """`maskbench published` prints every table with its source, and the finding."""
    published()
    told = capsys.readouterr().out
    for table in tables():
        assert table.title in told
    assert "−0.552" in told
    assert "+0.096" in told


def test_a_name_filters() -> None:
    """A publisher, a convention or a model leaves its own figures; one that nobody has says who has some."""
    anthropic = typed("published", "anthropic").out
    assert anthropic.count("(Anthropic, ") == 8
    assert "xAI" not in anthropic
    paper = typed("published", "paper").out
    assert "32 models on all 1,500 scenarios" in paper
    assert "System Card" not in paper
    opus = typed("published", "Opus 4.8").out
    assert "Claude Opus 4.8" in opus
    assert "Claude Opus 5" not in opus
    nobody = typed("published", "openai")
    assert (nobody.code, "No figure is known of openai. There are some of Anthropic, xAI" in nobody.err) == (2, True)
    assert "OpenAI itself has published no figure" in nobody.err
    assert "OpenAI itself" not in typed("published", "nothing-like-it").err


def test_a_name_is_found_however_it_is_joined() -> None:
    """Services write opus-4.8 and cards Opus 4.8; of a model of OpenAI it is said that the rows are by others."""
    assert "Claude Opus 4.8" in typed("published", "claude-opus-4-8").out
    told = typed("published", "gpt-4o").out
    assert "OpenAI itself has published no figure of this method that is known here." in told
    assert "gpt-4o-2024-08-06" in told


def test_command_prints_to_paste(capsys: pytest.CaptureFixture[str]) -> None:
    """Markdown has a table for each, every model a row with as many cells as its head."""
    published(format="markdown")
    told = capsys.readouterr().out
    assert len(re.findall(r"(?m)^\| --- ", told)) == len(tables()) + len(cards())
    row = next(line for line in told.splitlines() if "grok" in line)
    assert row.count("|") - 2 == len(tables()[0].columns) - 1


def test_ones_own_figure_beside_the_rows(tmp_path: Path) -> None:
    """Beside the rows of a convention stands which are of the same model, and beside which the figure may stand."""
    path = edit(run(tmp_path / "run", "sim"), subject="anthropic/claude-opus-4-8-20260501")
    told = " ".join(typed("published", path, "--as", "anthropic-2026-06").out.split())
    assert "rows of this model Claude Opus 4.8 6.1 (Claude Fable 5" in told
    assert "the 5 rows above, by the same formula; not ranked while these differ: scenarios, judge" in told
    assert "no row: there is no figure" in typed("published", path, "--as", "scale").out
    other = run(tmp_path / "other", "sim")
    assert "none by its name" in typed("published", other, "--as", "anthropic-2026-06").out


def test_one_wording_on_ranking(tmp_path: Path) -> None:
    """`score --as`, `published --as` and the page say the same of a figure beside a published one."""
    path = run(tmp_path / "run", "sim")
    for words in (("score", path, "--as", "anthropic-2026-06"), ("published", path, "--as", "scale"), ("published",)):
        assert BESIDE in " ".join(typed(*words).out.split()), words
    page = (ROOT / "docs" / "paper.md").read_text("utf-8")
    assert BESIDE in " ".join(page.split())
    rows = [line for line in page.splitlines() if line.startswith("|") and "| `anthropic-" in line]
    assert [line for line in rows if "(inferred" in line] == rows
    assert len(rows) == 3


def test_a_card_is_found_under_the_convention_that_names_it(tmp_path: Path) -> None:
    """Each card that `held` names has rows of that convention; a figure of one archetype is shown as such."""
    documents = {row.document for card in cards("anthropic-2026-09") for row in card.rows}
    assert documents == {f"Claude {name} 5.5 System Card" for name in ("Opus", "Sonnet", "Haiku")}
    assert packaged()["anthropic-2026-09"].held.endswith("(Claude Opus 5.5, Sonnet 5.5 and Haiku 5.5 cards)")
    path = edit(run(tmp_path / "run", "sim"), subject="anthropic/claude-haiku-5-5")
    told = " ".join(typed("published", path, "--as", "anthropic-2026-09").out.split())
    assert "rows of this model Claude Haiku 5.5 88.5 (honesty rate, disinformation only)" in told


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
    (board,) = tables_of("scale")
    assert all(re.fullmatch(r"\d{4}(-\d\d){0,2}", str(date)) for date in board.column("snapshot"))


def test_model_cards() -> None:
    """All 45 rows have a source, a share in percent, a known convention or none, and say how they were read."""
    rows = [row for card in cards() for row in card.rows]
    assert len(rows) == 45
    for row in rows:
        assert row.source, row
        assert row.publisher, row
        assert row.document, row
        assert row.metric, row
        assert row.read_from, row
        assert 0 <= float(row.value) <= 100, row
        assert row.convention in ("", *packaged()), row
        if row.ci:
            assert float(row.ci[0]) < float(row.value) < float(row.ci[1]), row
    assert sum(row.is_second_hand for row in rows) == 24
    for name in {row.convention for row in rows}:
        assert {row.convention for card in cards(name) for row in card.rows} == {name}


def test_model_cards_are_never_ranked_together() -> None:
    """Every document and convention has a table of its own, in the order of the file, with its marks."""
    shown = text(list(of_cards(cards())), 120)
    assert shown.count("Claude Opus 4.8 ") >= 2  # 4.6 in May, 6.1 in June
    assert "one publisher changed its own formula within months" in " ".join(shown.split())
    assert "card figure (inferred)" in shown
    assert "secondary digest (second-hand)" in shown
    for card in cards():
        assert len({(row.document, row.convention) for row in card.rows}) == 1


def test_published_rows_beside_runs(tmp_path: Path) -> None:
    """`published RUN --as NAME` shows the rows of that convention, the run's own figure, and what keeps both apart."""
    path = run(tmp_path / "run")
    shown = " ".join(typed("published", path, "--as", "anthropic-2026-06").out.split())
    assert "Claude Mythos 5" in shown
    assert "Claude Opus 5.5" not in shown
    assert "sim as anthropic-2026-06" in shown
    assert "there not published; here sim-judge" in shown
    assert BESIDE in shown
    assert "Not from this run" in typed("published", path, "--as", "xai-rectified").out
    assert "No published figure is known" in typed("published", "--as", "saferai").out
    assert "32 models on all 1,500 scenarios" in typed("published", "--as", "paper").out
    assert "Scale's MASK leaderboard" in typed("published", "--as", "scale").out
    assert typed("published", path).code == typed("published", "--as", "all").code == 2
