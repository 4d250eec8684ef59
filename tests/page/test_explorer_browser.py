"""The explorer's list in a real browser: its orders, long lists, several judges, two replies, what one takes along."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from browser import DESK, PHONE, Chromium, in_browser
from flows import letter, six_files
from maskbench.asking.judging.judge_again import judge
from maskbench.measurement import measure
from maskbench.models.scripted import ScriptedModel
from maskbench.presentation.page.page import render
from maskbench.store.folder import RunFolder
from maskbench.types import Ask, Judgement
from measured_runs import edit, run, settings

pytestmark = pytest.mark.slow

FORMULA = '=HYPERLINK("http://attacker.invalid")'
FENCE = "```\n# not a heading\n```"


def page_of(file: Path, *runs: Path, include_text: bool = False) -> Path:
    """The report on these runs as a file."""
    file.write_text(render(runs, include_text=include_text).html, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a run of 240 scenarios with two statements each."""
    place = tmp_path_factory.mktemp("long")
    return page_of(place / "long.html", run(place / "run", "sim/lie=0.6,evade=0.1", scenarios="sandbox", statements=2))


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a run that two judges read, one of whom errs."""
    place = tmp_path_factory.mktemp("judged")
    first = run(place / "run", "sim/lie=0.5", limit=18)
    folder, other = RunFolder(first), "sim-judge/accuracy=0.6"
    judge(folder, folder.settings().having(judge=other, numeric_judge=other), "second")
    return page_of(place / "judged.html", edit(first, scenarios="starter"))


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on two runs whose subjects say nearly the same under pressure, with what tries to get out of it."""
    place = tmp_path_factory.mktemp("two")
    rows = six_files(place / "six", 1)

    def subject(words: str) -> ScriptedModel:
        def says(ask: Ask, sample: int) -> str:
            return f"{FORMULA} The pump is {words}. {FENCE}" if ask.call == "statement" else "Loud."

        return ScriptedModel(says, "subject")

    def verdict(ask: Ask, sample: int) -> str | Judgement:
        return letter("B" if ask.call == "statement" else "A")

    judged_too = {"judge": "judge", "numeric_judge": "judge"}
    for seed, (name, words) in enumerate((("first", "rather quiet"), ("second", "very quiet indeed"))):
        chosen = settings("subject", scenarios=str(rows), archetypes=("known_facts",), seed=seed, **judged_too)
        measure(chosen, place / name, {}, models=(subject(words), ScriptedModel(verdict, "judge")))
    return page_of(place / "two.html", place / "first", place / "second", include_text=True)


@pytest.fixture(scope="module")
def textless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a run whose texts may not stand in it, some calls of which failed."""
    place = tmp_path_factory.mktemp("textless")
    return page_of(place / "textless.html", run(place / "run", "sim/lie=0.5,fail=0.05", max_error_rate=1.0))


def rows_of(page: Page) -> Locator:
    """The links of the list that are there."""
    return page.get_by_role("list", name="Scenarios").get_by_role("link")


def places(page: Page) -> list[int]:
    """Where the rows that are there stand in the whole list."""
    rows = page.get_by_role("list", name="Scenarios").get_by_role("listitem")
    return [int(str(row.get_attribute("aria-posinset"))) for row in rows.all()]


@in_browser
def test_of_a_long_list_only_the_rows_in_view_are_there(chromium: Chromium, long: Path) -> None:
    """Some rows of 240 are made; End goes to the last, a link into the middle, and a short list is whole."""
    with chromium.tab(long) as tab:
        page = tab.page
        expect(page.get_by_text("240 scenarios").first).to_be_visible()
        assert 5 < rows_of(page).count() < 100
        rows_of(page).first.focus()
        page.keyboard.press("End")
        assert places(page)[-1] == 240
        assert "240" in str(page.evaluate("document.activeElement.parentElement.getAttribute('aria-posinset')"))
        page.keyboard.press("Home")
        assert places(page)[0] == 1
        page.evaluate("location.hash = 'scenario=statistics/sandbox-0-st-20'")
        expect(page.locator(".explorer-list [aria-current]")).to_be_visible()
        page.get_by_role("group", name="Archetype").get_by_role("checkbox").first.check()
        expect(rows_of(page)).to_have_count(40)


@pytest.mark.parametrize("size", [PHONE, DESK])
@in_browser
def test_what_a_page_does_not_have_leaves_no_word(chromium: Chromium, textless: Path, size: tuple[int, int]) -> None:
    """A page without texts prints no null, undefined, None or NaN: not in its list, nor in a scenario of the list."""
    with chromium.tab(textless, size=size) as tab:
        page = tab.page
        expect(page.get_by_role("search").get_by_role("status")).to_have_text("96 scenarios")
        listed = page.locator("body").inner_text()
        rows_of(page).first.click()
        expect(page.get_by_role("article")).to_be_visible()
        opened = page.locator("body").inner_text()
        assert not re.findall(r"\b(?:null|undefined|None|NaN)\b", listed + opened)


@in_browser
def test_under_the_lie_filter_the_worst_come_first(chromium: Chromium, long: Path) -> None:
    """Two lies of two stand before one of two; another order can be chosen and stands in the link."""
    with chromium.tab(long, address="#outcome=lie") as tab:
        page = tab.page
        order = page.get_by_label("Order")
        assert order.input_value() == "worst"
        first = rows_of(page).first
        expect(first.locator(".explorer-shift")).to_have_text(re.compile(r"→ 2 [ABD]$"))
        expect(first.locator(".explorer-quote")).to_have_text(re.compile(r"^“.+”$"))
        order.select_option("length")
        assert "order=length" in page.url
        for name in ("belief", "apart", "page"):
            order.select_option(name)
            assert order.input_value() == name


@in_browser
def test_every_judge_stands_beside_the_other(chromium: Chromium, judged: Path) -> None:
    """A filter leaves what they judge differently; each verdict has its judge's name, with the page's own first."""
    with chromium.tab(judged) as tab:
        page = tab.page
        page.get_by_label("only where the judges differ").check()
        shown = rows_of(page).count()
        assert 0 < shown < 18
        assert rows_of(page).filter(has_text="judges differ").count() == shown
        assert "judges=differ" in page.url
        rows_of(page).first.click()
        judges = page.get_by_role("article").locator(".explorer-judges").first.locator(".explorer-who")
        assert judges.all_text_contents() == ["sim-judge", "sim-judge/accuracy=0.6"]
        assert not tab.faults("article")


@in_browser
def test_two_replies_are_held_against_each_other(chromium: Chromium, two: Path) -> None:
    """What only one of two runs said is marked, word by word; the rest stands once."""
    with chromium.tab(two) as tab:
        page = tab.page
        rows_of(page).first.click()
        page.get_by_text("What differs between two replies").click()
        difference = page.locator(".explorer-diff")
        assert "rather" in "".join(difference.locator("del").all_text_contents())
        assert "very" in "".join(difference.locator("ins").all_text_contents())
        assert str(difference.text_content()).count("The pump is") == 1
        assert not tab.faults("article")


@in_browser
def test_a_scenario_is_copied_as_markdown(chromium: Chromium, two: Path) -> None:
    """Question, replies and verdicts; no text of a model can end its fence and become a heading."""
    with chromium.tab(two, permissions=["clipboard-read", "clipboard-write"]) as tab:
        page = tab.page
        rows_of(page).first.click()
        page.get_by_role("button", name="Copy as Markdown").click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        text = str(page.evaluate("navigator.clipboard.readText()"))
        assert text.startswith("## Pump 1 is/is not loud.")
        assert "````text\n=HYPERLINK" in text
        assert "Verdict by judge: **B**" in text
        assert text.count("### 1 subject") == text.count("### 2 subject") == 1


@in_browser
def test_the_list_is_taken_along_as_csv(chromium: Chromium, two: Path) -> None:
    """A line for each scenario and run, and no cell that a spreadsheet takes for a formula."""
    with chromium.tab(two, quiet=False, accept_downloads=True) as tab:
        page = tab.page
        with page.expect_download() as waiting:
            page.get_by_role("button", name="CSV of these").click()
        text = Path(waiting.value.path()).read_text(encoding="utf-8-sig")
        lines = list(csv.DictReader(io.StringIO(text)))
        assert [line["run"][:1] for line in lines] == ["1", "2"]
        assert {line["outcome"] for line in lines} == {"lie"}
        assert lines[0]["statement"].startswith(f"'{FORMULA}")
        assert not tab.messages
