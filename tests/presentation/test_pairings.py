"""Two runs held against each other: every figure stands beside the name of its own run, in every medium."""

import io
import re
from html import unescape
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs
from rich.console import Console

from maskbench.cli.sections.sweep import checkpoints
from maskbench.presentation.blocks import Figure
from maskbench.presentation.format import percent, points, stacked, times
from maskbench.presentation.notebook import ShownComparison
from maskbench.presentation.page.page import render
from maskbench.presentation.pairings import believing, both, finding
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections import calibration, gate
from maskbench.presentation.sections.comparison import comparison, transitions
from maskbench.presentation.sections.comparison_as_text import in_brief, in_full, shortly
from maskbench.presentation.sections.failures import failed
from maskbench.presentation.sections.runs_together import compared
from maskbench.presentation.terminal import show, text
from maskbench.results.calibration import CorrectedPair
from maskbench.results.comparison import ComparisonData, Pairing, compare
from maskbench.results.contrasts import few_changes, of_tested
from maskbench.results.gate import Limits, check_run
from maskbench.results.scored import score
from maskbench.stats.figures import Difference
from measured_runs import run
from there import there

LIAR, HONEST = "sim/lie=0.7", "sim/lie=0.1"
SHORT = ("lie=0.7", "lie=0.1")  # on a page of several runs that one service answered


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A run of a simulated liar and one of a nearly honest subject, both read by a judge that now and then fails."""
    place, judge = tmp_path_factory.mktemp("pair"), "sim-judge/unreadable=0.01"
    return run(place / "a", LIAR, sample=60, judge=judge), run(place / "b", HONEST, sample=60, judge=judge)


def pairing_of(data: ComparisonData) -> Pairing:
    """The one pairing of a comparison."""
    (pairing,) = data.others
    return pairing


def as_text(data: ComparisonData) -> str:
    """What a terminal of 100 columns shows."""
    return text(list(comparison(data)), 100)


def joined(text: str) -> str:
    """The text on one line."""
    return " ".join(text.split())


@pytest.mark.parametrize("turned", [False, True])
def test_the_finding_names_each_run_beside_its_own_figure(pair: tuple[Path, Path], turned: bool) -> None:
    """Whichever run is first: no reader can take one's figure for the other's."""
    first, other = reversed(pair) if turned else pair
    data = compare(first, other).data
    pairing = pairing_of(data)
    names = (HONEST, LIAR) if turned else (LIAR, HONEST)
    said, beside = finding(data, pairing), believing(pairing, *names)
    verdict = "less honest" if turned else "more honest"
    assert said.text.startswith(
        f"{names[1]} is {verdict} than {names[0]}: lies {points(pairing.rates['p_lie'].difference)}"
    )
    rate = there(pairing.with_beliefs)["p_lie"]
    for name, share in zip(names, (rate.first, rate.other), strict=True):
        assert re.search(rf"{name}: honest [\d.]+ %, lies {percent(share)}", beside)
    for told in (said.text, beside):
        short = told.replace("sim/", "")
        assert short in joined(as_text(shortly(data)[0]))
        assert short in joined(unescape(re.sub("<[^>]+>", "", ShownComparison(data)._repr_html_())))


def test_a_difference_without_a_test_has_both_figures_beside_their_runs(pair: tuple[Path, Path]) -> None:
    """Where nothing was tested there is no verdict, and P(lie) stands beside the name of each run."""
    data = compare(*pair).data
    pairing = pairing_of(data)
    pairing.test = pairing.verdict = None
    said = finding(data, pairing).text
    assert said.startswith("NOT TESTED")
    assert both(pairing.rates["p_lie"], LIAR, HONEST) in said


def test_no_two_figures_of_the_terminal_stand_without_names(pair: tuple[Path, Path]) -> None:
    """Every table of shares has the names of both runs in its head, in the order of its columns."""
    data = compare(*pair).data
    out = io.StringIO()
    show(list(comparison(data)), Console(file=out, width=80))
    text = out.getvalue()
    rate = pairing_of(data).rates["p_lie"]
    assert re.search(rf"^P\(lie\) +{percent(rate.first)} +{percent(rate.other)} ", text, re.M)
    assert not re.search(r"% → ", text)
    for head in ("rate ", "P(lie) is  "):
        lines = text.splitlines()
        place = next(at for at, line in enumerate(lines) if line.startswith(head))
        assert "lie=0.7" in lines[place]
        assert lines[place].index("lie=0.7") < lines[place].index("lie=0.1")
    assert f"{LIAR} ↓  {HONEST} →" in text
    assert max(map(len, text.splitlines())) <= 80


def test_the_page_has_the_names_in_its_head_and_in_every_table(pair: tuple[Path, Path]) -> None:
    """The finding on top of the page has both names, without the service that both share, and so has every head."""
    page = render(pair).html
    with read(pair, None, None) as shown:
        (told,) = compared(shown).findings
    assert told in joined(unescape(re.sub("<[^>]+>", "", page))).replace("\u00a0", " ")
    section = page.split('id="comparison"')[1].split("</section>")[0]
    liar, honest = SHORT
    for head in re.findall(r"<thead>.*?</thead>", section, re.S):
        assert liar in head
        assert honest in head
        assert head.index(liar) < head.index(honest)
    assert ">first<" not in section
    assert ">other<" not in section


def test_terminal_and_page_have_one_table_of_what_became_of_what(pair: tuple[Path, Path]) -> None:
    """Outcomes are rows and columns in both, and every shared scenario is counted in both."""
    data = compare(*pair).data
    counts = pairing_of(data).transitions
    figure = transitions(counts, *SHORT)
    assert isinstance(figure, Figure)
    rows = figure.table.rows
    shared = pairing_of(data).shared.scenarios
    assert sum(int(str(cell)) for row in rows for cell in row[1:] if cell != "·") == shared == 60
    with read(pair, None, None) as shown:
        found = compared(shown)
    assert figure in list(comparison(found.data))
    text = as_text(data)
    for row in rows:
        assert re.search(rf"^{row[0]} +{' +'.join(re.escape(str(cell)) for cell in row[1:])}$", text, re.M)


def test_terminal_and_page_have_one_list_of_facts(pair: tuple[Path, Path]) -> None:
    """McNemar's counts, what changed and the bounds over failures stand on the page as in the terminal."""
    text = joined(as_text(compare(*pair).data))
    page = joined(re.sub("<[^>]+>", " ", render(pair).html))
    for label in ("McNemar's counts", "whatever failed", "shared scenarios"):
        assert label in text
        assert label.replace("'", "&#39;") in page
    assert f"only {LIAR} lied in" in text
    assert f"only {SHORT[0]} lied in" in page


def test_the_gate_names_what_it_takes_from_what(pair: tuple[Path, Path]) -> None:
    """The condition against a baseline is a difference that says of whom, and the note names the baseline's subject."""
    result, checked = check_run(pair[1], Limits(max_lie=0.9), baseline=pair[0])
    told = text(list(gate.blocks(result, checked)), 100)
    assert told.startswith(f"{HONEST} on ")
    assert "P(lie) minus baseline's" in told
    assert f"Baseline: {LIAR} in {pair[0]}" in joined(told).replace(" /", "/").replace("in/", "in /")


def test_checkpoints_have_a_line_each(pair: tuple[Path, Path]) -> None:
    """The rates of runs in a row begin with the name of their run."""
    data = pairing_of(compare(*pair).data).rates["p_lie"]
    told = text(list(checkpoints(pair, "reference")), 100)
    for name, side in (("a", "first"), ("b", "other")):
        assert re.search(rf"^{name} +{percent(getattr(data, side))}", told, re.M)


def test_no_page_of_the_docs_leaves_figures_without_names() -> None:
    """README and docs show what the program prints now: no arrow from one share to another."""
    root = Path(__file__).parents[2]
    arrow = re.compile(r"\d %?\s*→\s*\d+(\.\d)? %")
    assert [
        path.name for path in (root / "README.md", *(root / "docs").glob("*.md")) if arrow.search(path.read_text())
    ] == []


@given(st.text(alphabet="ab/-_:,= é漢[]", max_size=80), st.integers(min_value=1, max_value=20))
def test_a_stacked_name_loses_nothing(name: str, width: int) -> None:
    """Broken over lines, a name has all of its letters in their order; a line is longer where it is a part unbroken."""
    lines = stacked(name, width).split("\n")
    assert "".join(lines).replace(" ", "") == name.replace(" ", "")
    assert all(len(line) <= width or (len(line) <= 25 and not re.search(r"[-/_:, ].", line)) for line in lines)


def test_a_name_with_markup_is_shown_as_it_is(pair: tuple[Path, Path]) -> None:
    """A subject that calls itself `[red]x` is text, in heads of tables too."""
    data = compare(*pair).data
    data.first.subject = "[red]x"
    out = io.StringIO()
    show(list(comparison(data)), Console(file=out, width=80))
    assert out.getvalue().count("[red]x") >= 4


def test_a_page_counts_as_lost_what_is_in_no_rate(tmp_path: Path) -> None:
    """With several statements a scenario whose first one failed may still count: only those without any are lost."""
    path = run(tmp_path / "run", "sim/lie=0.5,fail=0.05", statements=3, max_error_rate=1, sample=60)
    result = score(path)
    lost = 60 - result.rates["p_lie"].n
    assert 0 < lost < result.counts["error"]
    told = f"That left {times(lost, 'scenario')} without an outcome, outside every rate"
    assert told in failed(result.summary)


def test_corrected_rates_stand_below_the_names_of_their_runs() -> None:
    """The table by people's labels has both names in its head, and says whose labels are how many."""
    rates = {"p_lie": Difference(0.2, 0.1, -0.1, (-0.2, 0.0), 1200)}
    data = CorrectedPair(None, (1200, 30), (30, 12), rates, "readers")
    out = io.StringIO()
    show(list(calibration.difference(data, "acme/large", "acme/large + honest")), Console(file=out, width=80))
    head, told = out.getvalue().split("─", 1)
    assert head.count("large") == 2
    assert "Scenarios labelled: 1,200 of acme/large and 30 of acme/large + honest" in joined(told)


def test_a_mid_p_is_not_called_exact(pair: tuple[Path, Path]) -> None:
    """What the test is says that its p is a mid-p, and shows no other p beside it; the data have the exact one."""
    data = compare(*pair).data
    words = " ".join(as_text(data).split())
    assert "mid-p by all sign patterns; with both tests corrected together, p of P(lie) is" in words
    lie = pairing_of(data).rates["p_lie"]
    assert there(lie.p) < there(lie.p_exact)


def test_many_small_changes_one_way_get_a_wider_interval(tmp_path: Path) -> None:
    """A subject that never lies against one that lies a little everywhere: not shown, how wide it is, and why.

    `check` with the first as a baseline passes, since nothing is shown, and says by how much it could be worse.
    """
    paths = [run(tmp_path / name, f"sim/lie={lie}", sample=30, statements=5) for name, lie in (("a", 0), ("b", 0.08))]
    data = compare(*paths, non_inferiority=0.5).data
    pairing = pairing_of(data)
    lie = pairing.rates["p_lie"]
    assert there(lie.low) < 0 < there(lie.high)
    assert (pairing.significant, pairing.untested_because) == (False, [])
    assert there(pairing.non_inferiority).all_shown is True
    words = " ".join(as_text(data).split())
    assert (
        f"the intervals of P(lie) and P(honest) are {100 * there(lie.widened):.1f} points wider at either end" in words
    )
    assert "by the wider interval: p is the smallest level at which it leaves out 0" in words
    assert "lies more" not in words
    _, checked = check_run(paths[1], Limits(max_lie=0.9, min_honest=0.01), baseline=paths[0])
    assert checked.verdict == "passed"
    assert few_changes(of_tested(pairing.rates)) in there(checked.conditions[-2].note)


def test_two_runs_are_compared_in_thirty_lines_with_the_verdicts_first(pair: tuple[Path, Path]) -> None:
    """The margin's verdict and that of both tests begin in the first four lines; two rates have a p; ids in full."""
    data = compare(*pair, non_inferiority=0.03).data
    brief, full = (text(list(blocks(data)), 80) for blocks in (in_brief, in_full))
    lines = brief.splitlines()
    assert len(lines) <= 30
    assert lines[1].startswith("NOT SHOWN: nothing worse by 3 points (")
    assert any(line.startswith("lie=0.1 is more honest than lie=0.7: lies −") for line in lines[:4])
    assert len(re.findall(r"^P\(.*%.* (< )?0\.\d{2,4} +\d+$", brief, re.M)) == 2
    changed = pairing_of(data).changed[0].task_id
    assert changed not in brief
    assert "McNemar's counts" in full


def test_runs_of_one_subject_are_named_by_what_differs(pair: tuple[Path, Path]) -> None:
    """A prompt is named, its absence is, too; without prompts a run is as it is; others lose what all names share."""
    data = compare(*pair).data
    for added, without, name in (
        ("honest", "no prompt", "prompt honest"),
        ("2 × vector", "the model as it is", "2 × vector"),
    ):
        first = structs.replace(data.first, subject="lab/model")
        named = structs.replace(
            data, first=first, others=[structs.replace(data.others[0], subject=f"lab/model + {added}")]
        )
        shown, subject = shortly(named)
        assert (shown.first.subject, shown.others[0].subject, subject) == (without, name, "lab/model")
    shown, subject = shortly(data)
    assert (shown.first.subject, shown.others[0].subject, subject) == ("lie=0.7", "lie=0.1", "")


def test_several_runs_have_a_line_each(pair: tuple[Path, Path], tmp_path: Path) -> None:
    """Against the first, with both rates and the verdict in a word or two."""
    third = run(tmp_path / "third", "sim/lie=0.69", sample=60)
    brief = text(list(in_brief(compare(*pair, third).data)), 100)
    assert "2 runs against" in brief
    assert re.search(r"more honest$", brief, re.M)
    assert re.search(r"(no difference shown|not tested)$", brief, re.M)
