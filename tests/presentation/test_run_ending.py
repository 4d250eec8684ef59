"""How a run ends on a terminal: in 25 lines, with every figure that a reader needs, and in the page's colours."""

import colorsys
import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

import maskbench
from flows import scenarios
from maskbench.presentation.blocks import text_of
from maskbench.presentation.of_runs import Alone
from maskbench.presentation.sections.run_ending import LINES, ending
from maskbench.presentation.terminal import _STYLES, bars, line, show
from maskbench.results.summary import Summary
from simulated import simulated

PAGE = Path(maskbench.__file__).parent / "pages" / "static" / "page.css"


def drawn(summary: Summary, width: int = 80, **options: object) -> str:
    """The ending as a terminal of this width shows it."""
    where = Console(file=io.StringIO(), width=width, **options)  # type: ignore[arg-type]
    shown = ending(Alone(summary), "maskbench score run", width)
    show(shown.opening, where)
    where.print()
    if shown.bars:
        where.print(bars(shown.bars, where))
        show(shown.below, where)
    where.print("\nTo look further: maskbench report run")
    where.print(line(shown.last))
    assert isinstance(where.file, io.StringIO)
    return where.file.getvalue()


@pytest.fixture(scope="module")
def summary() -> Summary:
    """The result of a run over twenty scenarios of each archetype."""
    return simulated("sim/lie=0.4", scenarios(20))


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_run_ends_in_25_lines(summary: Summary, width: int) -> None:
    """However many notes there are, the ending fits a small terminal, and says how many it leaves out."""
    noted = replace(summary, notes=[f"Note number {number} is rather long. " * 5 for number in range(30)])
    for each in (summary, noted):
        lines = drawn(each, width).splitlines()
        assert len(lines) <= LINES
        assert all(len(row) <= width for row in lines)
    assert re.search(r"There are \d+ more notes: maskbench score run", drawn(noted, width))


def test_the_last_line_has_the_figures(summary: Summary) -> None:
    """P(lie) with its interval and the other three outcomes stand in one line, in percent."""
    last = "".join(map(text_of, ending(Alone(summary), "more", 80).last))
    number = r"\d+\.\d"
    pattern = rf"P\(lie\) {number} % \({number}–{number}\) · honest {number} · evasive {number} · no belief {number}"
    assert re.fullmatch(pattern, last)
    shares = [float(share) for share in re.findall(r"(?:lie\)|honest|evasive|belief) ([\d.]+)", last)]
    assert sum(shares) == pytest.approx(100, abs=0.25)


def test_every_archetype_has_a_bar(summary: Summary) -> None:
    """The whole run comes first, then its archetypes, each with its P(lie)."""
    shown = ending(Alone(summary), "more", 80).bars
    assert [mix.label for mix in shown][:2] == ["All scenarios", "Known facts"]
    assert len(shown) == 7
    assert len(re.findall(r"% \(", drawn(summary).split("no belief  ")[1].split("P(lie) with")[0])) == 7


def test_a_single_archetype_is_not_drawn_twice() -> None:
    """Where all scenarios are of one archetype, the bar of all is the only one."""
    chosen = [scenario for scenario in scenarios(5) if scenario.archetype == "statistics"]
    assert [mix.label for mix in ending(Alone(simulated("sim", chosen)), "more", 80).bars] == ["All scenarios"]


def test_the_parts_of_a_bar_are_as_long_as_their_shares(summary: Summary) -> None:
    """Lies stand on the left and honesty on the right, each within one column of its share."""
    row = next(row for row in drawn(summary, 100).splitlines() if row.startswith("All scenarios"))
    bar = re.findall(r"[█▒░▓]", row)
    assert bar == sorted(bar, key="█▒░▓".index)
    for fill, rate in zip("█▒░▓", ("p_lie", "p_evasive", "p_no_belief", "p_honest"), strict=True):
        share = summary.rates[rate].value
        assert share is not None
        assert abs(bar.count(fill) - len(bar) * share) <= 1


def test_colours_are_those_of_the_page() -> None:
    """An outcome has the colour that the page has for it; honesty has its hue, lighter for dark terminals."""
    css = PAGE.read_text(encoding="utf-8").partition("prefers-color-scheme")[0]
    of_page = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", css))
    named = {"lie": "lie", "error": "error", "evasive": "evasive-line", "no_belief": "no-belief-line"}
    assert {how: _STYLES[how] for how in named} == {how: of_page[name] for how, name in named.items()}
    assert hue(_STYLES["honest"]) == pytest.approx(hue(of_page["honest"]), abs=0.02)


def hue(colour: str) -> float:
    """The hue of a colour in hexadecimal digits, as a share of the circle."""
    red, green, blue = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    return colorsys.rgb_to_hls(red, green, blue)[0]


def test_bars_can_be_read_without_colours(summary: Summary, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe and NO_COLOR get a shade for each outcome, a coloured terminal full blocks."""
    assert set("█▒░▓") <= set(drawn(summary))
    coloured = drawn(summary, force_terminal=True, color_system="truecolor")
    assert "38;2;200;76;0" in coloured
    assert not set("▒░▓") & set(coloured)
    monkeypatch.setenv("NO_COLOR", "1")
    plain = drawn(summary, force_terminal=True, color_system="truecolor")
    assert set("█▒░▓") <= set(plain)
    assert "38;2" not in plain


def test_a_withheld_result_has_no_figures() -> None:
    """The reason stands in full, there is no bar, and the last line says that there is no P(lie)."""
    text = drawn(simulated("sim/fail=0.6", scenarios(5)))
    assert "The headline is withheld." in text
    assert not set("█▒░▓") & set(text)
    assert text.splitlines()[-1] == "There is no P(lie) for this run"
