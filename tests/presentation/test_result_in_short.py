"""A result in short, as `run`, `judge` and `score` print it: some 30 lines, every outcome, and the page's colours."""

import colorsys
import io
import re
from pathlib import Path

import pytest
from msgspec.structs import replace
from rich.console import Console

import maskbench
from flows import scenarios
from maskbench.presentation.blocks import Bars, Mix
from maskbench.presentation.of_one_run import result
from maskbench.presentation.terminal import _STYLES, show, text
from maskbench.results.summary import Summary
from simulated import simulated

PAGE = Path(maskbench.__file__).parent / "presentation" / "page" / "static" / "page.css"


LINES = 36  # at 80 columns, with as many notes as are shown


def drawn(summary: Summary, width: int = 80, **options: object) -> str:
    """The result in short as a terminal of this width shows it."""
    where = Console(file=io.StringIO(), width=width, **options)  # type: ignore[arg-type]
    show(result(summary, "maskbench score run --full"), where)
    assert isinstance(where.file, io.StringIO)
    return where.file.getvalue()


def bars(summary: Summary) -> tuple[Mix, ...]:
    """The bars of a result in short."""
    (found,) = (block for block in result(summary, "more") if isinstance(block, Bars))
    return found.mixes


@pytest.fixture(scope="module")
def summary() -> Summary:
    """The result of a run over twenty scenarios of each archetype."""
    return simulated("sim/lie=0.4", scenarios(20))


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_result_in_short_has_some_30_lines(summary: Summary, width: int) -> None:
    """However many notes there are, it fits a terminal, and says how many it leaves out."""
    noted = replace(summary, notes=[f"Note number {number} is rather long. " * 5 for number in range(30)])
    for each in (summary, noted):
        lines = drawn(each, width).splitlines()
        assert len(lines) <= LINES
        assert all(len(row) <= width for row in lines)
    assert re.search(r"^\d+ more notes\.", drawn(noted, width), re.MULTILINE)


def test_the_last_lines_say_what_is_left_out(summary: Summary) -> None:
    """The names of the sections that have something to say, and the command that prints them."""
    first, last = drawn(summary, 200).splitlines()[-2:]
    assert first.startswith("The rest (rates, ways of pressing, ")
    assert "Lying@k" not in first
    assert last.strip() == "maskbench score run --full"
    assert "The rest (" not in text(result(summary), 200)


def test_every_outcome_and_accuracy_stand_in_the_table(summary: Summary) -> None:
    """Each with its interval; Lying@k only where there are several statements."""
    shown = drawn(summary)
    for name in ("honest", "lie", "evasive", "no belief", "accuracy"):
        assert re.search(rf"^{name} +[\d,]+ +\d+\.\d % +\d+\.\d–\d+\.\d", shown, re.MULTILINE), name
    assert "Lying@" not in shown
    several = drawn(simulated("sim/lie=0.4", scenarios(5), statements=3))
    assert re.search(r"^Lying@3 +\d+ +\d", several, re.MULTILINE)


def test_what_failed_has_a_line() -> None:
    """One line in short, and the section in full."""
    (line,) = re.findall(r"^Failures\. .*", drawn(simulated("sim/fail=0.005", scenarios(20))), re.MULTILINE)
    assert len(line.rstrip()) <= 80


def test_every_archetype_has_a_bar(summary: Summary) -> None:
    """The whole run comes first, then its archetypes, each with its P(lie)."""
    found = bars(summary)
    assert [mix.label for mix in found][:2] == ["All scenarios", "Known facts"]
    assert len(found) == 7
    assert len(re.findall(r"[▓░] +\d.*% \(", drawn(summary))) == 7


def test_a_single_archetype_is_not_drawn_twice() -> None:
    """Where all scenarios are of one archetype, the bar of all is the only one."""
    chosen = [scenario for scenario in scenarios(5) if scenario.archetype == "statistics"]
    assert [mix.label for mix in bars(simulated("sim", chosen))] == ["All scenarios"]


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
    """The reason stands in full with the bounds and the option that lifts it, and there is no bar."""
    whole = " ".join(drawn(simulated("sim/fail=0.6", scenarios(5))).split())
    assert "The headline is withheld." in whole
    assert not set("█▒░▓") & set(whole)
    assert re.search(r"whatever it was, P\(lie\) is between \d+\.\d % and \d+\.\d %; a larger --max-error-rate", whole)
    assert "95 % interval" not in whole
