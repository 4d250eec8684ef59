"""The report on a run whose judge was looked at closer: by readers, by judges; what stands there and what must not."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins
from playwright.sync_api import expect
from test_against_judge import turned
from test_labels import by_judge, give, sampled
from test_report_page import Element, page, parsed, table

from browser import PHONE, Chromium, in_browser
from hostile import hostile_run
from maskbench.asking.judging.judge_again import judge
from maskbench.method.rules import named
from maskbench.presentation.format import between, interval, percent
from maskbench.presentation.format import points as difference
from maskbench.presentation.page.page import render
from maskbench.results.calibration import LabelsReader
from maskbench.results.people.against_judge import measured
from maskbench.results.scored import result
from maskbench.store.folder import RunFolder
from maskbench.types import BinaryVerdict
from measured_runs import edit, run
from there import there

pytestmark = pytest.mark.slow

RATERS = ("Anna Onomatopoeia", "Ben Onomatopoeia")
UNFOLD = "document.querySelectorAll('details').forEach((details) => { details.open = true; })"


@pytest.fixture(scope="module")
def looked_at(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with another judge, and the labels of two raters and an adjudicator."""
    path = run(
        tmp_path_factory.mktemp("looked at") / "run",
        "sim/lie=0.35,evade=0.2,unsure=0.1",
        judge="sim-judge/accuracy=0.86,first=0.1,noise=0.1",
    )
    folder = RunFolder(path)
    right = folder.settings().having(judge="sim-judge", numeric_judge="sim-judge")
    judge(folder, right, "right", {})
    labels, scenarios = sampled(folder, 90)
    verdicts = by_judge(folder, scenarios)
    other = turned(verdicts, 3)
    give(labels, RATERS[0], other)
    give(labels, RATERS[1], turned(other, 7))
    labels.enter("Cleo", "adjudicator")
    give(labels, "Cleo", {reply: other[reply] for reply in list(other)[: len(other) // 2]})
    return edit(path, scenarios="starter")


@pytest.fixture(scope="module")
def html(looked_at: Path) -> str:
    """The page on it."""
    return render([looked_at]).html


@pytest.fixture(scope="module")
def shown(html: str) -> Element:
    """That page, read."""
    return parsed(html)


def held(path: Path) -> dict[str, Any]:
    """What `maskbench label --show` finds."""
    data: dict[str, Any] = to_builtins(measured(path, None, named("reference")))
    return data


def copied(path: Path, to: Path) -> Path:
    """A copy of a run."""
    return shutil.copytree(path, to / "run")


# Judge against people


def test_the_judge_is_held_against_people(looked_at: Path, shown: Element) -> None:
    """Shares, coefficients, P(lie) by both and confusion are those of `maskbench label --show`."""
    data, section = held(looked_at), shown.at("people")
    people, sample = data["together"], data["sample"]
    assert f"2 of them with {sample['replies']} and {sample['replies']} of {sample['replies']} replies" in str(section)
    assert f"an adjudicator settled {sample['adjudicated']}" in str(section)
    assert sample["adjudicated"] < sample["differing"]
    rows = {
        "Judge and readers: statements": people["by_call"]["statement"],
        "Judge and readers: outcomes": people["outcomes"],
        "Readers 1 and 2: outcomes": data["raters"][0]["outcomes"],
        "Judge and reader 2: options": data["each"][1]["letters"],
    }
    for name, part in rows.items():
        row = table(section, name)
        assert row[1:3] == [str(part["n"]), f"{percent(part['agree'])} ({interval(part['agree_ci95'])})"]
        assert row[3].partition(" ")[0] == ("–" if part["kappa"] is None else f"{part['kappa']:.2f}")
    lies = people["outcomes"]["p_lie"]
    assert f"{percent(lies['first'])} by the judge and {percent(lies['other'])} by readers" in str(section)
    assert f"{difference(lies['difference'])} points (95 % interval {between(lies['ci95'])})" in str(section)
    both = people["outcomes"]["counts"]
    assert table(section, "lie")[1:3] == [str(both.get(f"lie/{other}", "·")) for other in ("honest", "lie")]
    letters = people["letters"]["counts"]
    assert table(section, "A")[1:] == [str(letters.get(f"A{other}", "·")) for other in "ABCD"]


def test_corrected_rates_stand_on_the_page(looked_at: Path, shown: Element) -> None:
    """Labels in the run's folder correct its rates without being asked for."""
    lie = there(result(RunFolder(looked_at)).of(LabelsReader)).metrics["p_lie"]
    assert table(shown.at("corrected"), "P(lie)")[2:4] == [percent(lie.value), interval(lie.ci95)]


def test_raters_are_numbered_and_not_named(html: str) -> None:
    """A page may be passed on: who labelled stays in the run's folder."""
    assert "Onomatopoeia" not in html
    assert "Cleo" not in html


def test_the_worst_disagreements_can_be_read(looked_at: Path, shown: Element) -> None:
    """The ten worst, each with a link to its scenario, both verdicts, the options, the reply and the reason."""
    worst = held(looked_at)["disagreements"]
    cases = shown.at("people").of("case")
    assert len(cases) == 10
    assert f"{len(worst)} replies on which they differ: the 10 worst" in str(shown.at("people"))
    for case, disagreement in zip(cases, worst, strict=False):
        (link,) = case.all("a")
        assert link.attributes["href"] == f"#scenario={disagreement['archetype']}/{disagreement['task_id']}"
        for text in (
            *disagreement["claims"],
            disagreement["replies"][0],
            disagreement["reason"],
            f"judge {disagreement['judge']}, readers {disagreement['readers']}",
        ):
            assert " ".join(text.split()) in str(case)


def test_texts_stay_away_where_the_licence_is_not_known(looked_at: Path, tmp_path: Path) -> None:
    """Then ids and verdicts are all that is shown of a disagreement, unless texts are asked for."""
    path = edit(copied(looked_at, tmp_path), scenarios="cais/MASK")
    first = held(path)["disagreements"][0]
    closed, told = page(path).at("people"), page(path, include_text=True).at("people")
    assert first["task_id"] in str(closed)
    assert not closed.all("blockquote")
    assert first["replies"][0] not in str(closed)
    assert first["replies"][0] in str(told)


def test_labels_that_decide_nothing_are_told(tmp_path: Path) -> None:
    """A drawn sample alone has no section; raters who differ on everything have a sentence."""
    path = run(tmp_path / "run", limit=12)
    labels, scenarios = sampled(RunFolder(path), 6)
    assert not [each for each in page(path) if each.attributes.get("id") == "people"]
    part = next(part for scenario in scenarios for part in scenario.parts if part.kind == "binary")
    for rater, letter in (("Anna", "A"), ("Ben", "C")):
        give(labels, rater, {part.id: BinaryVerdict(letter)})  # type: ignore[arg-type]  # both are letters
    assert "no reply yet on which readers and the judge both have a verdict" in str(page(path).at("people"))


def test_several_runs_have_their_names(looked_at: Path, tmp_path: Path) -> None:
    """On a page of several runs each section says whose it is, and links lead to that run."""
    other = run(tmp_path / "other", "sim/lie=0.1")
    section = page(other, looked_at).at("people")
    (name,) = section.all("h3")
    assert str(name).startswith("2 ")
    assert section.of("case")[0].all("a")[0].attributes["href"].endswith("&run=2")


# What else there is


def test_what_the_page_is_not_about_has_its_command(shown: Element, tmp_path: Path) -> None:
    """Other verdict sets are named with what to type."""
    assert "`maskbench score RUN --verdicts NAME`" in str(shown.at("outcomes"))
    plain = run(tmp_path / "plain", limit=6)
    assert not [each for each in page(plain) if each.attributes.get("id") in ("judges", "people")]


# In a browser


@pytest.fixture(scope="module")
def file(looked_at: Path, html: str) -> Path:
    """The page as a file."""
    to = looked_at.parent / "report.html"
    to.write_text(html, encoding="utf-8")
    return to


@pytest.mark.parametrize(("size", "dark"), [((1280, 900), False), (PHONE, True)], ids=["desk-light", "phone-dark"])
@in_browser
def test_axe_finds_no_serious_fault(chromium: Chromium, file: Path, size: tuple[int, int], dark: bool) -> None:
    """With everything unfolded, and without scrolling sideways."""
    with chromium.tab(file, size=size, dark=dark) as tab:
        tab.page.evaluate(UNFOLD)
        assert tab.width() <= size[0]
        for section in ("#judges", "#people", "#corrected"):
            assert tab.faults(section) == []


@in_browser
def test_a_disagreement_leads_to_its_scenario(chromium: Chromium, file: Path) -> None:
    """The link opens it in the explorer; the way back closes it."""
    with chromium.tab(file) as tab:
        page_ = tab.page
        page_.evaluate(UNFOLD)
        link = page_.locator("#people .case a").first
        name = (link.text_content() or "").rpartition(", ")[2]
        link.click()
        expect(page_.get_by_role("article")).to_contain_text(name)
        expect(page_.get_by_role("article")).to_be_in_viewport()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page on a run of hostile texts, each of which people read in another way than the judge."""
    place = tmp_path_factory.mktemp("hostile")
    path = hostile_run(place / "hostile")
    labels, scenarios = sampled(RunFolder(path), 60)
    give(labels, "Anna", turned(by_judge(RunFolder(path), scenarios), 1))
    to = place / "report.html"
    to.write_text(render([path], include_text=True).html, encoding="utf-8")
    return to


@in_browser
def test_hostile_replies_are_text_here_too(chromium: Chromium, hostile: Path) -> None:
    """Nothing runs, no hidden character stands in the page, and nothing makes it scroll sideways."""
    html = hostile.read_text(encoding="utf-8")
    assert len(parsed(html).at("people").of("case")) == 10
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u2028\x00\x1b]", html)
    with chromium.tab(hostile, size=PHONE) as tab:
        tab.page.evaluate(UNFOLD)
        assert tab.page.evaluate("window.ran") is None
        assert tab.width() <= PHONE[0]
