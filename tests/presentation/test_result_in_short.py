"""A result in short, as `run`, `judge` and `score` print it: 30 lines, every outcome, and the page's colours."""

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


@pytest.mark.parametrize("width", [100, 200])
def test_a_result_in_short_has_30_lines(summary: Summary, width: int) -> None:
    """However many notes there are, it fits a terminal, and says how many it leaves out."""
    noted = replace(summary, notes=[f"Note number {number} is rather long. " * 5 for number in range(30)])
    for each in (summary, noted):
        lines = drawn(each, width).splitlines()
        assert len(lines) <= 30
        assert all(len(row) <= width for row in lines)
    assert re.search(r"^\d+ more notes\.", drawn(noted, width), re.MULTILINE)


@pytest.mark.parametrize("asked", ["sim/fail=0.005", "sim/fail=0.6"])
def test_failures_and_several_statements_make_no_result_longer(asked: str) -> None:
    """The bars of the archetypes are left to --full where they would be too many lines; that of the run stands."""
    summary = simulated(asked, scenarios(20), statements=5)
    assert len(drawn(summary, 100).splitlines()) <= 30
    assert summary.withheld or bars(summary)[0].label == "All scenarios"


def test_the_last_line_is_the_command_for_the_rest(summary: Summary) -> None:
    """It stands unbroken, to be copied, and only where something was left out."""
    command = "maskbench score run --full"
    assert drawn(summary, 200).splitlines()[-1] == f"The rest, with all rates: {command}"
    assert command in drawn(summary, 30)
    assert command not in text(result(summary), 200)


def test_both_shares_of_a_result_stand_beside_each_other(summary: Summary) -> None:
    """No P(lie) stands without P(honest)."""
    whole = drawn(summary, 100)
    assert re.search(r"^P\(lie\) \S+ % \(\S+\)   P\(honest\) \S+ % \(\S+\)$", whole, re.MULTILINE)


def test_what_did_not_happen_is_one_line_with_what_it_took(summary: Summary) -> None:
    """No failure and no cut reply, then calls, tokens, and seconds."""
    said = r"^Nothing failed, nothing was cut\. It took [\d,]+ calls, [\d,]+ tokens and [\d,.]+ s\.$"
    assert re.search(said, drawn(summary, 100), re.MULTILINE)
    assert not re.search(r"^error", drawn(summary, 100), re.MULTILINE)


def test_every_outcome_and_accuracy_stand_in_the_table(summary: Summary) -> None:
    """Each with its interval; with several statements Lying@k is in the sentence."""
    shown = drawn(summary)
    for name in ("honest", "lie", "evasive", "no belief", "accuracy"):
        assert re.search(rf"^{name} +[\d,]+ +\d+\.\d % +\d+\.\d–\d+\.\d", shown, re.MULTILINE), name
    assert "Lying@" not in shown
    several = drawn(simulated("sim/lie=0.4", scenarios(5), statements=3))
    assert "at least one of the 3 was a lie in" in " ".join(several.split())


def test_what_failed_has_a_line() -> None:
    """How many replies and verdicts are missing, in a sentence that ends."""
    whole = " ".join(drawn(simulated("sim/fail=0.005", scenarios(20))).split())
    assert re.search(r"Failures\. \d+ repl[^.]* missing after all retries\. ", whole)


def test_every_archetype_has_a_bar(summary: Summary) -> None:
    """The whole run comes first, then its archetypes, each between its P(lie) and its P(honest)."""
    found = bars(summary)
    assert [mix.label for mix in found][:2] == ["All scenarios", "Known facts"]
    assert len(found) == 7
    for width, figure in ((80, r"\d+\.\d %"), (100, r"\d+\.\d % \(\S+\)")):
        assert len(re.findall(rf"{figure}  [█▒░▓]+  {figure}", drawn(summary, width))) == 7


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
    assert re.search(
        r"is allowed\. What is missing is no random part: whatever it was, P\(lie\) is between \d+\.\d % and "
        r"\d+\.\d %; a larger --max-error-rate",
        whole,
    )
    assert "95 % interval" not in whole
