"""The report in a real browser: what a person can do with it, and what hostile texts cannot.

Every tab that these tests open fails its test where the page logs anything, breaks its policy, or asks for anything.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from markupsafe import Markup
from playwright.sync_api import Locator, Page, expect

from browser import DESK, PHONE, Chromium, in_browser
from hostile import REPLIES, SUBJECT, hostile_run
from maskbench.measurement import measure
from maskbench.models.scripted import ScriptedModel
from maskbench.presentation.blocks import seen
from maskbench.presentation.page.page import render
from maskbench.presentation.page.shell import document, environment, static
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections.cost import bill
from maskbench.results.scored import score
from maskbench.settings import Settings
from maskbench.store.bill import Bill, Charge
from maskbench.types import OUTCOMES
from measured_runs import edit, run, settings

pytestmark = pytest.mark.slow

UNFOLD = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"
TEXTS = "[...document.querySelectorAll('.explorer-reply > .explorer-text')].map((text) => text.textContent)"
LIAR = "sim/lie=0.5,evade=0.2,unsure=0.2,fail=0.03"


def page_of(place: Path, *runs: Path, include_text: bool = False) -> Path:
    """The report on these runs as a file."""
    file = place / "report.html"
    file.write_text(render(runs, include_text=include_text).html, encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run under the starter set's name with three statements a scenario, some calls of which failed."""
    path = run(tmp_path_factory.mktemp("one") / "run", LIAR, statements=3, max_error_rate=1.0)
    return edit(path, scenarios="starter")


@pytest.fixture(scope="module")
def report(measured: Path) -> Path:
    """The report on that run."""
    return page_of(measured.parent, measured)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a simulated run of the set that comes along."""
    place = tmp_path_factory.mktemp("starter")
    subject, judge = "sim/lie=0.4,evade=0.2,unsure=0.1", "sim-judge"
    measure(Settings.of(subject=subject, judge=judge, numeric_judge=judge, scenarios="starter"), place / "run")
    return page_of(place, place / "run")


@pytest.fixture(scope="module")
def compared(measured: Path) -> Path:
    """The report on that run and two others, one with a developer's system prompt."""
    place = measured.parent / "several"
    place.mkdir()
    prompt = {"system_prompt": "honest", "system_prompt_text": "Say only what is true."}
    second = run(place / "second", "sim/lie=0.1,evade=0.2", seed=2, limit=18, **prompt)
    first, third = run(place / "first", "sim/lie=0.6", seed=1, limit=18), run(place / "third", "sim", limit=6)
    return page_of(place, *(edit(path, scenarios="starter") for path in (first, second, third)))


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report on a run over scenarios whose licence is not known, texts left out."""
    place = tmp_path_factory.mktemp("closed")
    return page_of(place, hostile_run(place / "hostile"))


@pytest.fixture(scope="module")
def hostile(closed: Path) -> Path:
    """The report on that run with all of its texts, beside a run in which nothing is hostile."""
    place = closed.parent / "open"
    place.mkdir()
    runs = (closed.parent / "hostile" / "run", run(place / "run", limit=12))
    return page_of(place, *runs, include_text=True)


def count(page: Page) -> Locator:
    """The line that says how many scenarios there are."""
    return page.get_by_role("search").get_by_role("status")


def rows(page: Page) -> Locator:
    """The links of the list that show."""
    return page.get_by_role("list", name="Scenarios").get_by_role("link")


def opened(page: Page) -> Locator:
    """The scenario that is open."""
    return page.get_by_role("article")


def chip(page: Page, facet: str, value: str) -> Locator:
    """One choice of one filter."""
    group = page.get_by_role("group", name=facet, exact=True)
    return group.get_by_role("checkbox", name=re.compile(rf"^{value} ?[\d,]+$"))


def hash_of(page: Page) -> str:
    """The `#...` part of the address."""
    return str(page.url.partition("#")[2])


# The list of contents

BOX = "(selector) => document.querySelector(selector).getBoundingClientRect().toJSON()"


@in_browser
def test_the_contents_stay_in_sight(chromium: Chromium, compared: Path) -> None:
    """Whoever jumps to a section sees its title below the list of contents, which is all in sight."""
    with chromium.tab(compared, quiet=False, reduced_motion="reduce") as tab:
        for width in (1280, 1920):
            tab.page.set_viewport_size({"width": width, "height": 800})
            tab.page.goto("about:blank")
            tab.page.goto(f"{compared.as_uri()}#explorer")
            contents, title, end = (
                tab.page.evaluate(BOX, place) for place in (".contents", "#explorer-title", ".contents li:last-child")
            )
            assert contents["top"] == 0
            assert 8 <= title["top"] - contents["bottom"] <= 40
            assert contents["left"] >= 0
            assert end["right"] <= contents["right"] <= width
            assert tab.width() <= width
        assert not tab.messages


# How long the page is, and how wide its parts

SIDEWAYS = """() => [...document.querySelectorAll("body *")]
    .filter((part) => part.scrollWidth > part.clientWidth + 1 && part.clientWidth > 0)
    .filter((part) => ["auto", "scroll"].includes(getComputedStyle(part).overflowX) && part.checkVisibility())
    .map((part) => `${part.tagName} ${part.className} in ${part.closest("section")?.id}`)"""


@in_browser
def test_a_page_on_a_run_of_starter_is_not_long(chromium: Chromium, starter: Path) -> None:
    """On a desk it is below 7,500 pixels high, and of all that is drawn the bar of the outcomes is the largest."""
    with chromium.tab(starter) as tab:
        expect(count(tab.page)).to_have_text("240 scenarios")
        assert tab.page.evaluate("document.scrollingElement.scrollHeight") < 7500
        finding, everywhere = (max(tab.page.evaluate(HEIGHTS, place)) for place in ("#outcomes rect", "rect"))
        assert finding == everywhere
        lie, honest = tab.page.evaluate(HEIGHTS, ".heads .value")
        assert lie == honest < finding / 2


HEIGHTS = "(places) => [...document.querySelectorAll(places)].map((place) => place.getBoundingClientRect().height)"


@pytest.mark.parametrize("size", [(1280, 900), PHONE], ids=["desk", "phone"])
@in_browser
def test_nothing_scrolls_sideways(chromium: Chromium, starter: Path, compared: Path, size: tuple[int, int]) -> None:
    """Neither the page nor a part of it that is not folded, such as the list of contents; on a desk no part at all."""
    for page in (starter, compared):
        with chromium.tab(page, size=size) as tab:
            expect(count(tab.page)).to_contain_text("scenarios")
            assert tab.page.evaluate(SIDEWAYS) == []
            if size != PHONE:
                tab.page.evaluate(UNFOLD)
                assert tab.page.evaluate(SIDEWAYS) == []
            assert tab.width() <= size[0]


PARTS = """{% from "parts.jinja" import content %}
<main><section class="column">{% for part in parts %}{{ content(part) }}{% endfor %}</section></main>"""


@in_browser
def test_a_bill_is_not_cut_off(chromium: Chromium, measured: Path, compared: Path, tmp_path: Path) -> None:
    """On a desk the bill of two runs, in batches and by models with long names, has all of its columns in sight."""
    name, file = "openrouter/anthropic/claude-sonnet-4.5-20250929", tmp_path / "bill.html"
    counts = (12_345, 0, 12_345_678, 1_234_567, 0, 12_345_678)
    rows = [Charge(stage, "statements", name, *counts, True, cost=1234.56) for stage in ("subject", "judge")]
    with read([measured, compared.parent / "second"], None, None) as runs:
        for each in runs:
            each.summary.bill = Bill(1234.56, False, [], rows, {})  # type: ignore[attr-defined]  # a field of its reader
        parts = [*bill(runs)]
    body = Markup(environment().from_string(PARTS).render(parts=[*seen(parts, "page")]))  # noqa: S704  # of our template
    file.write_text(document("bill", body, [static("report.css")], kind="report").html, encoding="utf-8")
    with chromium.tab(file) as tab:
        assert tab.page.locator("table").evaluate("(table) => table.rows[0].cells.length") == 8
        assert tab.page.evaluate(SIDEWAYS) == []
        assert tab.width() <= DESK[0]


# Filters, search, links


@in_browser
def test_filters_narrow_the_list_and_count_what_they_would_give(
    chromium: Chromium, report: Path, measured: Path
) -> None:
    """Every outcome's count is the run's; a choice narrows the list and the other counts, and stands in the link."""
    truth = Counter(scored.outcome for scored in score(measured).scenarios)
    with chromium.tab(report) as tab:
        page = tab.page
        expect(count(page)).to_have_text("96 scenarios")
        for outcome in OUTCOMES:
            if truth[outcome]:
                choice = chip(page, "Outcome", outcome.replace("_", " "))
                expect(choice).to_have_accessible_name(f"{outcome.replace('_', ' ')} {truth[outcome]}")
        chip(page, "Outcome", "lie").check()
        expect(count(page)).to_have_text(f"{truth['lie']} of 96 scenarios")
        chip(page, "Archetype", "continuations").check()
        chip(page, "Archetype", "statistics").check()
        liars = Counter(scored.archetype for scored in score(measured).scenarios if scored.outcome == "lie")
        both = liars["continuations"] + liars["statistics"]
        expect(count(page)).to_have_text(f"{both} of 96 scenarios")
        assert rows(page).count() == both
        assert hash_of(page) == "outcome=lie&archetype=continuations,statistics"
        page.get_by_role("button", name="Clear filters").click()
        expect(count(page)).to_have_text("96 scenarios")
        assert hash_of(page) == "explorer"


@in_browser
def test_failures_beliefs_and_all_statements_can_be_filtered(chromium: Chromium, report: Path, measured: Path) -> None:
    """A failure by stage and cause, why there is no belief, and outcomes of the first statement instead of all."""
    scored = score(measured).scenarios
    with chromium.tab(report) as tab:
        page = tab.page
        failed = sum(bool(done.failures) for done in scored)
        chip(page, "Trouble", "subject: server error").check()
        expect(count(page)).to_have_text(f"{failed} of 96 scenarios")
        assert rows(page).locator(".explorer-flag", has_text="failed").count() == failed
        page.get_by_role("button", name="Clear filters").click()
        chip(page, "Belief", "none: unsure").check()
        unsure = sum(done.resolved.reason == "unsure" for done in scored)
        expect(count(page)).to_have_text(f"{unsure} of 96 scenarios")
        page.get_by_role("button", name="Clear filters").click()
        page.get_by_label("Outcome of").select_option("the first statement")
        chip(page, "Outcome", "lie").check()
        lies = score(measured).counts["lie"]
        expect(count(page)).to_have_text(f"{lies} of 96 scenarios")
        assert lies < sum(done.outcome == "lie" for done in scored)


@in_browser
def test_search_finds_words_in_all_that_is_embedded(chromium: Chromium, report: Path) -> None:
    """All words have to be there, in any text of the scenario; quotes hold words together."""
    with chromium.tab(report) as tab:
        page, field = tab.page, tab.page.get_by_label("Search")
        field.fill("HARROW diamonds")
        expect(count(page)).to_have_text("1 of 96 scenarios")
        expect(rows(page)).to_contain_text("starter-kf-01")
        rows(page).click()
        assert page.evaluate("CSS.highlights.get('explorer-hit').size") > 1
        field.fill('"diamonds Harrow"')
        expect(count(page)).to_have_text("0 of 96 scenarios")
        expect(page.get_by_text("No scenario fits all of this.")).to_be_visible()
        field.fill("starter-st-03")
        expect(count(page)).to_have_text("1 of 96 scenarios")
        expect(opened(page)).to_contain_text("not in the list")
        field.fill("(a+)+$ [")
        expect(count(page)).to_have_text("0 of 96 scenarios")


@in_browser
def test_a_link_leads_straight_to_a_scenario(chromium: Chromium, report: Path) -> None:
    """With its filters, and with the focus on it; one that is not there is named."""
    address = "#scenario=known_facts/starter-kf-02&archetype=known_facts"
    with chromium.tab(report, address=address) as tab:
        expect(opened(tab.page)).to_contain_text("starter-kf-02")
        expect(count(tab.page)).to_have_text("16 of 96 scenarios")
        expect(opened(tab.page)).to_be_in_viewport()
        expect(tab.page.get_by_role("heading", level=3).and_(tab.page.locator(":focus"))).to_have_count(1)
        expect(rows(tab.page).and_(tab.page.locator("[aria-current=true]"))).to_be_in_viewport()
        link = opened(tab.page).get_by_role("link", name="Link to this scenario")
        assert link.get_attribute("href") == "#scenario=known_facts/starter-kf-02"
    with chromium.tab(report, address="#scenario=known_facts/<b>none</b>") as tab:
        expect(tab.page.get_by_role("alert")).to_have_text("This page has no scenario known_facts/<b>none</b>.")
        expect(opened(tab.page)).to_be_hidden()
    with chromium.tab(report, address="#limits") as tab:
        expect(count(tab.page)).to_have_text("96 scenarios")
        chip(tab.page, "Outcome", "lie").check()
        chip(tab.page, "Outcome", "lie").uncheck()
        assert hash_of(tab.page) == "explorer"


@in_browser
def test_back_and_forward_undo_and_redo_an_opening(chromium: Chromium, report: Path) -> None:
    """Opening is a step in the browser's history; going through the list from one to the next is not."""
    with chromium.tab(report) as tab:
        page = tab.page
        chip(page, "Outcome", "lie").check()
        rows(page).nth(2).click()
        expect(opened(page)).to_contain_text("3 of ")
        following = opened(page).get_by_role("button", name="Next")
        following.click()
        expect(opened(page)).to_contain_text("4 of ")
        expect(following).to_be_focused()
        page.go_back()
        expect(opened(page)).to_be_hidden()
        assert hash_of(page) == "outcome=lie"
        page.go_forward()
        expect(opened(page)).to_contain_text("4 of ")
        assert chip(page, "Outcome", "lie").is_checked()


# An opened scenario


@in_browser
def test_an_opened_scenario_shows_everything_about_it(chromium: Chromium, report: Path) -> None:
    """Options and truth, the outcome in words, the conversation turn by turn, statements, beliefs, verdicts."""
    address = "#scenario=doubling_down_known_facts/starter-dd-01"
    with chromium.tab(report, address=address) as tab:
        article = opened(tab.page)
        expect(article.get_by_text("true", exact=True)).to_have_count(1)
        expect(article.locator(".explorer-story")).to_have_text(
            re.compile(r"; of 3 statements under pressure it .+\.$")
        )
        roles = article.get_by_role("heading", name="Under pressure").locator("..").locator(".explorer-role")
        expect(roles).to_have_text(
            ["System prompt", "User", "Assistant, scripted", "User", "Statement", "Statement", "Statement"]
        )
        expect(article.get_by_text(re.compile("^Statement [123]: "))).to_have_count(3)
        expect(article.get_by_role("heading", name="Direct question")).to_have_count(1)
        expect(article.get_by_role("heading", name="Consistency question")).to_have_count(2)
        expect(article.get_by_text("You are a helpful assistant.")).to_have_count(1)
        expect(article.locator(".explorer-why")).to_have_text(re.compile("^(Belief [AB],|No belief:|Open:)"))
        assert article.get_by_text("Verdict: ").count() >= 4


@in_browser
def test_a_failure_is_shown_with_stage_cause_and_detail(chromium: Chromium, report: Path) -> None:
    """Where a call failed, the opened scenario says so."""
    with chromium.tab(report, address="#trouble=subject: server_error") as tab:
        rows(tab.page).first.click()
        shown = opened(tab.page)
        expect(shown.get_by_text("Failed: subject, server error").first).to_be_attached()
        expect(shown.get_by_text("The simulated endpoint failed, as planted.").first).to_be_attached()


@in_browser
def test_reasoning_is_folded_in_and_long_texts_are_cut_with_a_note(chromium: Chromium, hostile: Path) -> None:
    """One sees that there is reasoning and how much, opens it, and reads of a megabyte how much is left out."""
    number = list(REPLIES).index("megabytes")
    with chromium.tab(hostile, address=f"#q={number:02}+It+goes+on") as tab:
        page = tab.page
        expect(count(page)).to_contain_text("1 of ")
        rows(page).first.click()
        thoughts = opened(page).get_by_text(re.compile("^Reasoning, 1,140,")).first
        expect(thoughts).to_be_visible()
        inside = thoughts.locator("..").locator(".explorer-text")
        expect(inside).to_be_hidden()
        thoughts.click()
        expect(inside).to_be_visible()
        expect(inside).to_contain_text(
            re.compile(r"… 1,1\d\d,\d\d\d characters of 1,140,\d\d\d left out of this page …")
        )


@in_browser
def test_several_runs_stand_side_by_side(chromium: Chromium, compared: Path) -> None:
    """Each run's answer to the same scenario, what was asked differently in its own column; one finds what differs."""
    with chromium.tab(compared, size=(1400, 900)) as tab:
        page = tab.page
        expect(count(page)).to_have_text("18 scenarios")
        page.get_by_label("Run", exact=True).select_option(index=2)
        chip(page, "Outcome", "honest").check()
        page.get_by_label("only where the runs differ").check()
        assert "differ=yes" in hash_of(page)
        assert hash_of(page).endswith("run=2")
        assert set(rows(page).locator(".explorer-run").all_text_contents()) == {"2"}
        rows(page).first.click()
        article = opened(page)
        assert article.locator(".explorer-story").count() >= 2
        first, second = (article.get_by_text("Statement", exact=True).nth(place).bounding_box() for place in (0, 1))
        assert first is not None
        assert second is not None
        assert second["x"] > first["x"] + 200
        expect(article.get_by_text("Developer instructions: Say only what is true.")).to_have_count(1)


@in_browser
def test_without_texts_the_page_says_why_and_lists_what_it_may(chromium: Chromium, closed: Path) -> None:
    """Identities, outcomes, letters and failures are there; prompts, replies and reasons are not."""
    with chromium.tab(closed) as tab:
        page = tab.page
        expect(page.get_by_text("maskbench report RUN --include-text")).to_be_visible()
        expect(count(page)).to_have_text(f"{len(REPLIES)} scenarios")
        rows(page).first.click()
        expect(opened(page)).to_contain_text("Verdict: B")
        expect(opened(page)).to_contain_text("Failed: subject, server error")
        expect(opened(page).get_by_text("System prompt")).to_have_count(0)
        chip(page, "Trouble", "cut at the token limit").check()
        assert "pump" not in page.content()
        assert "sub</title><script>" in page.title()


# Keyboard, sizes, colours, paper


@in_browser
def test_everything_can_be_done_with_the_keyboard(chromium: Chromium, report: Path) -> None:
    """Filter, go through the list, open, go on, close, and stand where one was."""
    with chromium.tab(report) as tab:
        page, press = tab.page, tab.page.keyboard.press
        page.get_by_label("Search").focus()
        for _ in range(60):
            press("Tab")
            if page.evaluate("document.activeElement.closest('label')?.textContent ?? ''").startswith("lie"):
                break
        press("Space")
        expect(count(page)).to_contain_text(" of 96 scenarios")
        for _ in range(60):
            press("Tab")
            if page.evaluate("document.activeElement.matches('li a[href^=\"#scenario\"]')"):
                break
        names = [re.sub(r"\s+", " ", text) for text in rows(page).all_inner_texts()[:3]]
        assert names[0][:20] in re.sub(r"\s+", " ", page.evaluate("document.activeElement.innerText"))
        for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("Home", 0), ("ArrowDown", 1)):
            press(key)
            expect(rows(page).nth(place)).to_be_focused()
        press("Enter")
        expect(page.get_by_role("heading", level=3).and_(page.locator(":focus"))).to_have_count(1)
        expect(opened(page)).to_contain_text("2 of ")
        press("ArrowRight")
        expect(opened(page)).to_contain_text("3 of ")
        press("ArrowLeft")
        expect(opened(page)).to_contain_text("2 of ")
        press("Escape")
        expect(opened(page)).to_be_hidden()
        expect(rows(page).nth(1)).to_be_focused()
        press("Shift+Tab")
        press("Tab")
        expect(rows(page).nth(1)).to_be_focused()


@in_browser
def test_no_width_makes_the_page_scroll_sideways(chromium: Chromium, hostile: Path, compared: Path) -> None:
    """A phone, a small one, a desk at 200 % zoom: with a scenario open and with words that never end, too."""
    word = list(REPLIES).index("long word")
    for page, address in ((compared, ""), (hostile, f"#q={word:02}+AAAA")):
        with chromium.tab(page, size=(320, 800), address=address) as tab:
            for width in (320, 390, 640):
                tab.page.set_viewport_size({"width": width, "height": 800})
                expect(count(tab.page)).to_contain_text("scenario")
                assert tab.width() <= width
                rows(tab.page).first.click()
                expect(opened(tab.page)).to_be_visible()
                assert tab.width() <= width
                tab.page.keyboard.press("Escape")
                expect(opened(tab.page)).to_be_hidden()


@in_browser
def test_on_a_phone_the_open_scenario_takes_the_place_of_the_list(chromium: Chromium, report: Path) -> None:
    """The list gives way and comes back; filters are folded away until they are wanted."""
    with chromium.tab(report, size=PHONE, has_touch=True) as tab:
        page = tab.page
        expect(page.get_by_role("group", name="Outcome")).to_be_hidden()
        page.get_by_text("Filters", exact=True).tap()
        expect(page.get_by_role("group", name="Outcome")).to_be_visible()
        rows(page).nth(3).tap()
        expect(opened(page)).to_be_in_viewport()
        expect(rows(page)).to_have_count(0)
        opened(page).get_by_role("button", name="Close").tap()
        expect(rows(page).nth(3)).to_be_in_viewport()


@in_browser
def test_dark_mode_is_dark(chromium: Chromium, report: Path) -> None:
    """The page follows the system's choice of light or dark."""
    ground = "getComputedStyle(document.body).backgroundColor"
    shades = []
    with chromium.tab(report) as tab:
        for scheme in ("light", "dark"):
            tab.page.emulate_media(color_scheme=scheme)
            shades.append(sum(map(int, re.findall(r"\d+", tab.page.evaluate(ground))[:3])))
    assert shades[0] > 3 * 230
    assert shades[1] < 3 * 60


@pytest.mark.parametrize(("size", "dark"), [((1280, 900), False), (PHONE, True)], ids=["desk-light", "phone-dark"])
@in_browser
def test_axe_finds_no_serious_fault(chromium: Chromium, compared: Path, size: tuple[int, int], dark: bool) -> None:
    """Neither in the list nor with a scenario open: names, contrast, roles, order of headings, focus."""
    with chromium.tab(compared, size=size, dark=dark) as tab:
        page = tab.page
        page.get_by_label("Search").fill("the")
        expect(count(page)).to_contain_text(" of ")
        page.evaluate(UNFOLD)
        assert tab.faults() == []
        rows(page).nth(1).click()
        expect(opened(page)).to_be_visible()
        page.evaluate(UNFOLD)
        assert tab.faults("#explorer") == []


@in_browser
def test_it_prints(chromium: Chromium, report: Path) -> None:
    """To PDF, without controls; an open scenario is printed, and where none is a line says where they are."""
    with chromium.tab(report) as tab:
        page = tab.page
        assert page.pdf(format="A4").startswith(b"%PDF-")
        page.emulate_media(media="print")
        expect(page.get_by_text("The explorer is for the screen")).to_be_visible()
        expect(page.get_by_label("Search")).to_be_hidden()
        expect(rows(page)).to_have_count(0)
        page.emulate_media(media="screen")
        rows(page).first.click()
        expect(opened(page)).to_be_visible()
        page.emulate_media(media="print")
        expect(opened(page).get_by_role("heading", level=3)).to_be_visible()
        expect(opened(page).get_by_role("button", name="Close")).to_be_hidden()
        expect(page.get_by_text("The explorer is for the screen")).to_be_hidden()
        assert page.pdf(format="A4").startswith(b"%PDF-")


@in_browser
def test_without_javascript_all_but_the_explorer_stands(chromium: Chromium, report: Path) -> None:
    """The finding and its sections are there, and the explorer says what it needs."""
    with chromium.tab(report, java_script_enabled=False) as tab:
        expect(tab.page.locator("noscript p")).to_be_visible()
        expect(tab.page.get_by_role("heading", level=1)).to_be_visible()
        expect(tab.page.get_by_label("Search")).to_be_hidden()


# Hostile texts


@in_browser
def test_nothing_runs_from_hostile_texts_and_all_of_them_show_as_text(chromium: Chromium, hostile: Path) -> None:
    """Every scenario is opened and unfolded: no code runs, nothing is asked for, and every text is there to be read."""
    with chromium.tab(hostile) as tab:
        page = tab.page
        expect(count(page)).to_have_text(f"{len(REPLIES) + 12} scenarios")
        for place, (name, text) in enumerate(REPLIES.items()):
            page.evaluate("(place) => document.querySelectorAll('.explorer-list a')[place].click()", place)
            expect(opened(page).locator(".explorer-tags")).to_contain_text(f"{place:02} ")
            page.evaluate(UNFOLD)
            shown = page.evaluate(f"{TEXTS}.at(-1)")
            assert plain_part(text) in shown, name
            assert not HIDDEN.search(shown), name
        assert page.evaluate("window.ran") is None
        ours = "[style]:not(.explorer-list)"  # lengths of its own
        foreign = f"img, iframe, object, embed, form[action], link, base, meta[http-equiv=refresh], {ours}, [onload]"
        assert page.evaluate(f"document.querySelectorAll('{foreign}').length") == 0
        assert page.evaluate("document.scripts.length") == 5  # three of ours, the index and the texts
        page.mouse.move(300, 300)
        page.wait_for_timeout(100)


HIDDEN = re.compile(
    "[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u200b-\u200c\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e01ef]"
)


def plain_part(text: str) -> str:
    """The longest piece of a text in which nothing is hidden, as far as it is short enough not to be cut."""
    return max(re.split(r"[^ -~\u05d0-\u064a]+", text), key=len)[:200]


@in_browser
def test_hidden_characters_are_shown_by_their_codes(chromium: Chromium, hostile: Path) -> None:
    """Direction marks, zero-width characters, tags, escapes: named in place, equal ones together; emoji stay whole."""
    wanted = {
        "bidi override": "⟨U+202E⟩This line is turned around⟨U+202C⟩ and ⟨U+2066⟩this isolated⟨U+2069⟩ ⟨U+200F⟩rtl",
        "zero width": "li⟨U+200B⟩ar, zero⟨U+200C⟩width⟨U+200D⟩joiners⟨U+2060⟩and⟨U+FEFF⟩marks",
        "soft hyphens and fillers": "so⟨U+00AD⟩ft⟨U+034F⟩ ⟨U+115F⟩⟨U+3164⟩⟨U+2800⟩ end",
        "control characters": "bell⟨U+0007⟩, back⟨U+0008 ×4⟩, null⟨U+0000⟩, form⟨U+000C⟩",
        "terminal": "⟨U+001B⟩]0;title⟨U+0007⟩⟨U+001B⟩[31mred⟨U+001B⟩[2J",
        "carriage return": "It is safe.⟨U+000D⟩It is dangerous.⟨U+2028⟩Third⟨U+2029⟩fourth",
        "emoji": REPLIES["emoji"],
        "many lines": "⟨3,000 blank characters⟩at last",
    }
    with chromium.tab(hostile) as tab:
        page = tab.page
        expect(count(page)).to_contain_text("scenarios")
        for name, text in wanted.items():
            place = list(REPLIES).index(name)
            page.evaluate("(place) => document.querySelectorAll('.explorer-list a')[place].click()", place)
            page.wait_for_timeout(20)
            replies = page.evaluate(TEXTS)
            assert any(text in reply for reply in replies), (name, replies)
        assert "⟨U+202E⟩" in page.content()
        assert SUBJECT not in page.content()


@in_browser
def test_the_policy_stops_whatever_would_get_through(chromium: Chromium, report: Path) -> None:
    """A script, a handler, a picture and a style that are put into the page all the same do nothing."""
    with chromium.tab(report, quiet=False) as tab:
        got: list[str] = []
        tab.page.on("response", lambda response: got.append(response.url))
        tab.page.evaluate(
            """() => {
                const holder = document.createElement("div");
                holder.innerHTML = "<img src=x onerror='window.ran=1'><img src=http://attacker.invalid/x>" +
                    "<p style='position:fixed'>x</p>";
                const script = document.createElement("script");
                script.textContent = "window.ran = 2";
                document.body.append(holder, script);
            }"""
        )
        tab.page.wait_for_timeout(200)
        assert tab.page.evaluate("window.ran") is None
        assert len(tab.messages) >= 4
        assert all("Content Security Policy" in line for line in tab.messages)
        assert got == []


@in_browser
def test_half_a_page_says_what_is_wrong(chromium: Chromium, report: Path, tmp_path: Path) -> None:
    """A page that was cut off or damaged on its way says that the explorer cannot start; the rest stands."""
    text = report.read_text(encoding="utf-8")
    damaged = tmp_path / "damaged.html"
    damaged.write_text(re.sub(r'(id="explorer-index">).{40}', r"\1", text), encoding="utf-8")
    with chromium.tab(damaged) as tab:
        expect(tab.page.get_by_text("The explorer cannot start in this browser")).to_be_visible()


@in_browser
def test_a_subject_that_says_nothing_is_shown(chromium: Chromium, empty: Path) -> None:
    """A reply without text is a failure, and the page says which."""
    with chromium.tab(empty) as tab:
        rows(tab.page).first.click()
        expect(opened(tab.page)).to_contain_text("Failed: subject, empty")


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report on a run in which nothing could be had."""
    from maskbench.types import Failure

    place = tmp_path_factory.mktemp("empty")
    nothing = ScriptedModel(lambda ask, sample: Failure("subject", "empty", ""), "silent")
    chosen = settings("silent", judge="judge", numeric_judge="judge", limit=6)
    measure(chosen, place / "run", {}, models=(nothing, ScriptedModel({"": "Verdict {{code}}: A"}, "judge")))
    return page_of(place, place / "run")
