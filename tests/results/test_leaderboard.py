"""Leaderboards: who is ranked with whom and how, what is shown apart, and what every form of them holds."""

import csv
import io
from pathlib import Path
from typing import Any

import orjson
import pytest

from maskbench.cli.boards import leaderboard
from maskbench.errors import RunUnreadable, UsageError
from maskbench.method.rates import COMPARED, EVERYWHERE
from maskbench.presentation.of_one_run import result as told_of
from maskbench.presentation.sections.board import blocks
from maskbench.presentation.terminal import text as shown
from maskbench.presentation.words import EXPLAINED, RATES, heading
from maskbench.results.leaderboard import boards
from maskbench.results.leaderboard_data import Page
from maskbench.results.scored import score
from measured_runs import edit, real, run

pytestmark = pytest.mark.slow


def printed(capsys: pytest.CaptureFixture[str], *paths: Path, **options: Any) -> str:
    """What the command prints."""
    leaderboard(*paths, **options)
    return capsys.readouterr().out


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """A folder with runs of several models on a public set."""
    runs = tmp_path / "runs"
    for at, (name, lie) in enumerate({"openai/gpt-9": 0.1, "meta/llama-9": 0.8, "x/<b>|[y](z)\x1b[2J": 0.4}.items()):
        edit(real(runs / str(at), name, f"sim/lie={lie},evade=0.1", statements=2), scenarios="starter")
    edit(run(runs / "sim"), scenarios="starter")
    return runs


def test_text(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text holds ranks and why a run has none; with `--full` it has every rate, and else says how to get it."""
    short, text = printed(capsys, page), printed(capsys, page, full=True)
    assert f"maskbench leaderboard {page} --full" in short
    assert "normalised" not in short
    assert len(short) < len(text)
    assert "starter: 96 public scenarios" in text
    for label in ("honest", "evasive", "belief", "errors", "normalised", "lie rate", "accuracy", "macro", "Lying"):
        assert label in text
    assert "Holm over 3 comparisons" in " ".join(text.split())
    assert "Not ranked: sim. Simulated" in text
    assert "\x1b" not in text
    assert text.index("openai/gpt-9") < text.index("x/<b>|[y](z)") < text.index("meta/llama-9")


def test_one_term_for_one_rate(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Terminal, Markdown, the pages and the report call a rate the same."""
    heads = (line for line in printed(capsys, page, format="markdown").splitlines() if line.startswith("| model"))
    columns = {cell.strip() for head in heads for cell in head.strip("|").split("|")}
    assert {RATES[name] for name in EVERYWHERE} <= columns
    assert {heading(rate) for rate in RATES} >= set(map(heading, EXPLAINED))
    assert set(COMPARED) <= set(RATES)
    told = shown(told_of(score(page / "0").summary), 200)
    for rate in ("honesty_score", "honesty_score_normalized", "conditional_lie_rate", "accuracy", "p_lie_macro"):
        assert heading(rate) in told


@pytest.mark.parametrize("width", [80, 120])
def test_fits(page: Path, width: int) -> None:
    """Every line fits 80 columns and 120, and no cell is cut off."""
    tables = boards([score(path) for path in sorted(page.iterdir())])
    lines = shown(list(blocks(Page(tables, (), None, {}))), width).splitlines()
    assert max(map(len, lines)) <= width
    assert not any("…" in line for line in lines)


def test_markdown(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Markdown has a row a run with as many cells as columns, and shows hostile names as they are."""
    text = printed(capsys, page, format="markdown")
    tables = [part.splitlines() for part in text.split("\n\n") if part.startswith("| model")]
    for rows in tables:
        assert len({len([cell for cell in row.replace(r"\|", "").split("|") if cell]) for row in rows}) == 1
        assert len(rows) == 6  # four runs below the head and its rule
    assert len(tables) == 2
    assert r"x/\<b\>\|\[y\](z)\[2J" in text
    assert "| openai/gpt-9 | 1 |" in text


def test_csv(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """CSV has a row a run: rank or reason, every rate with its interval, protocol and scenarios."""
    rows = list(csv.DictReader(io.StringIO(printed(capsys, page, format="csv"))))
    assert [row["rank"] for row in rows] == ["1", "2", "3", ""]
    assert rows[3]["not_ranked_because"].startswith("simulated")
    first = score(page / "0").rates["p_honest"]
    assert float(rows[0]["p_honest"]) == first.value
    assert float(rows[0]["p_honest_low"]) == first.low
    assert float(rows[0]["lying_at_2"]) > 0
    assert all(row["protocol"] and row["scenarios_hash"] and row["public"] == "true" for row in rows)


def test_json(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """JSON holds tables with ranks, metrics as in summary.json, and who lies significantly less."""
    data = orjson.loads(printed(capsys, page, format="json"))
    (table,) = data["tables"]
    assert [row["rank"] for row in table["ranked"]] == [1, 2, 3]
    assert table["ranked"][1]["lies_significantly_less"] == ["openai/gpt-9"]
    assert table["ranked"][0]["rates"] == score(page / "0").as_dict()["rates"]
    assert [row["model"] for row in table["not_ranked"]] == ["sim"]
    assert data["public_private_gaps"] == []


def test_one_rule_set(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All runs are scored under one rule set, whatever each was run with."""
    rows = csv.DictReader(io.StringIO(printed(capsys, page, format="csv", rules="strict")))
    assert {row["rules"] for row in rows} == {"strict"}


def test_to_file(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`--to` writes the same to a file."""
    for form in ("text", "markdown", "csv", "json"):
        assert printed(capsys, page, format=form, out=tmp_path / form) == ""
        assert "openai/gpt-" in (tmp_path / form).read_text()
    with pytest.raises(UsageError, match="Try another --out"):
        leaderboard(page, format="csv", out=tmp_path / "missing" / "board.csv")


def test_a_run_twice(page: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run that is given twice, by itself and by its folder, is one run."""
    rows = csv.DictReader(io.StringIO(printed(capsys, page, page / "0", format="csv")))
    assert len(list(rows)) == 4


def test_unreadable(page: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A run in a folder that cannot be read is named; one that was asked for by itself is an error."""
    edit(page / "1", schema=99)
    assert "Not read" in printed(capsys, page)
    with pytest.raises(RunUnreadable, match="schema 99"):
        leaderboard(page / "1")
    with pytest.raises(UsageError, match="maskbench leaderboard runs/"):
        leaderboard()
    (tmp_path / "empty").mkdir()
    with pytest.raises(RunUnreadable, match="holds no run"):
        leaderboard(tmp_path / "empty")


def test_compute(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """`--compute` adds the scaling analysis with both intervals, and says whose compute is missing."""
    monkeypatch.setenv("COLUMNS", "120")
    for at in range(6):
        real(tmp_path / "runs" / str(at), f"lab/m{at}", f"sim/lie={0.1 + 0.1 * at},evade=0.1", seed=at)
    file = tmp_path / "compute.csv"
    file.write_text("Model,FLOP,family\n" + "".join(f"m{at},{10 + at}e22,f{at}\n" for at in range(5)))
    text = " ".join(printed(capsys, tmp_path / "runs", compute=file).split())
    assert "Spearman with log compute" in text
    assert "share of consistent beliefs" in text
    assert "left out: lab/m5" in text
    data = orjson.loads(printed(capsys, tmp_path / "runs", compute=file, format="json"))
    found = data["tables"][0]["scaling"]["spearman"]["honesty score"]
    assert found["value"] < -0.8
    assert found["models"] == found["families"] == 5
    assert "Spearman with log compute" in printed(capsys, tmp_path / "runs", compute=file, format="markdown")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name,flop\na,1\n", "row 1: it needs a model and a flop"),
        ("model,flop\na,much\n", "row 1, column flop: 'much' is no number"),
        ("model,flop\na,1\nb,-3\n", "row 2, column flop: '-3' is no number"),
        ("model,flop\na,1\nA,2\n", "row 2, column model: a is there already"),
    ],
)
def test_wrong_compute(tmp_path: Path, text: str, said: str) -> None:
    """A compute file that cannot be read says which row and column, and what to write."""
    file = tmp_path / "compute.csv"
    file.write_text(text)
    with pytest.raises(UsageError, match=said):
        leaderboard(run(tmp_path / "run"), compute=file)
    with pytest.raises(UsageError, match="cannot be read"):
        leaderboard(tmp_path / "run", compute=tmp_path / "missing.csv")
