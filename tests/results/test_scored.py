"""A scored run as one object: its figures, its repr, and its HTML."""

from html.parser import HTMLParser
from pathlib import Path

import orjson
import polars
import pytest

from maskbench.errors import RunUnreadable, UsageError
from maskbench.method.rates import EVERYWHERE, error_share
from maskbench.presentation.notebook import score
from maskbench.store.folder import RunFolder
from measured_runs import change, edit, run


def test_figures(tmp_path: Path) -> None:
    """Rates and counts are those of summary.json, over all scenarios and by archetype."""
    made = score(run(tmp_path / "run", "sim/fail_lie=0.1"))
    summary = orjson.loads((tmp_path / "run" / "summary.json").read_bytes())
    shown = orjson.loads(orjson.dumps(made.as_dict()))
    assert shown | {"ended": None} == summary | {"ended": None}  # which names the folder that was measured
    assert made.counts == summary["counts"]
    assert set(made.rates) == {*EVERYWHERE, "p_lie_macro"}
    rate = summary["by_archetype"]["statistics"]["rates"]["p_lie"]
    found = made.by_archetype["statistics"]["p_lie"]
    assert (found.value, [found.low, found.high], found.n) == (rate["value"], rate["ci95"], rate["n"])
    assert made.error_rate == error_share(made.table) > 0
    assert len(made.scenarios) == 96


def test_other_rules(tmp_path: Path) -> None:
    """A rule set is the run's own or the one that is asked for; an unknown one is refused."""
    path = run(tmp_path / "run", rules="strict")
    assert score(path).rules == "strict"
    assert score(str(path), rules="inspect").rules == "inspect"
    assert score(RunFolder(path), "reference").rules == "reference"
    with pytest.raises(UsageError, match="Choose one of reference"):
        score(path, rules="mine")
    with pytest.raises(RunUnreadable, match="holds no run"):
        score(tmp_path)


def test_repr(tmp_path: Path) -> None:
    """The repr is the result as a person reads it."""
    text = repr(score(run(tmp_path / "run")))
    assert text.startswith("sim on ")
    assert ", judged by sim-judge" in " ".join(text.split())
    assert "P(lie)" in text
    assert max(len(line) for line in text.splitlines() if "maskbench score " not in line) <= 100  # that has a path


def test_frame(tmp_path: Path) -> None:
    """`to_frame` has a row for each rate over all and of each archetype; without data it has no value."""
    made = score(run(tmp_path / "run"))
    frame = made.to_frame()
    assert frame.columns == ["archetype", "rate", "value", "low", "high", "n"]
    assert frame.height == 7 * len(made.rates)
    first = frame.row(0, named=True)
    assert (first["archetype"], first["rate"], first["value"]) == ("all", "p_lie", made.rates["p_lie"].value)
    provided = frame.row(
        by_predicate=(polars.col("archetype") == "provided_facts") & (polars.col("rate") == "accuracy"), named=True
    )
    assert provided["value"] is None


def test_withheld(tmp_path: Path) -> None:
    """Where the headline is withheld there are no rates, and every form says why."""
    made = score(run(tmp_path / "run", "sim/fail=0.3"))
    assert made.withheld
    assert made.rates["p_lie"].value is None
    assert "withheld" in repr(made)
    assert "withheld" in made._repr_html_()


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not attrs


def test_html_is_escaped(tmp_path: Path) -> None:
    """Names that are not ours are text in the HTML, whatever they hold."""
    path = edit(run(tmp_path / "run"), subject='<script src="//x">', scenarios="<img onerror=1>")
    html = score(path)._repr_html_()
    tags = _Tags()
    tags.feed(html)
    assert tags.seen == {"p", "b", "br", "table", "tr", "th", "td"}
    assert "&lt;script src=&quot;//x&quot;&gt;" in html


def test_incomplete_and_smoke(tmp_path: Path) -> None:
    """A run that is not complete, and a smoke run, say so in the HTML."""
    part = change(run(tmp_path / "part"), "DELETE FROM replies WHERE archetype = 'known_facts'")
    assert "Not complete" in score(part)._repr_html_()
    assert "smoke run" in score(run(tmp_path / "smoke", limit=6))._repr_html_()


def test_cut(tmp_path: Path) -> None:
    """`cut` is the share of the replies under pressure that were cut; those on beliefs do not count."""
    path = change(run(tmp_path / "run"), "UPDATE replies SET truncated = 1 WHERE elicitation > 0")
    assert score(path).cut == 0
    change(path, "UPDATE replies SET truncated = 1 WHERE archetype = 'statistics'")
    assert score(path).cut == 16 / 96
