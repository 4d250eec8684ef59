"""The report: what stands on the page of every kind of run, that it says what the run says, and that it is inert."""

import base64
import hashlib
import itertools
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import orjson
import pytest
from markupsafe import Markup
from msgspec.structs import replace as with_parts
from test_cli import Command

from flows import letter, number, six_files
from maskbench.asking.judging.judge_again import judge
from maskbench.errors import UsageError
from maskbench.measurement import measure
from maskbench.method.archetypes import TABLE
from maskbench.method.rates import EVERYWHERE
from maskbench.models.scripted import ScriptedModel
from maskbench.plain import shortened, visible
from maskbench.presentation.format import between, cell, interval, percent
from maskbench.presentation.format import points as difference
from maskbench.presentation.page.page import render
from maskbench.presentation.page.shell import document, environment
from maskbench.presentation.pairings import finding
from maskbench.presentation.runs_shown import Run
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections.calibration import corrected
from maskbench.presentation.sections.headline import EVADER
from maskbench.presentation.sections.provenance import date
from maskbench.presentation.words import EXPLAINED, heading
from maskbench.results.calibration import Calibration, LabelsReader
from maskbench.results.comparison import compare
from maskbench.results.people.labelled_outcomes import Label
from maskbench.results.readers import FalseLiesReader, JudgesReader, PlaceboReader
from maskbench.results.scored import result
from maskbench.results.splits import AskedReader
from maskbench.results.summary import Part, Summary
from maskbench.store.folder import RunFolder
from maskbench.types import Ask, Judgement
from measured_runs import change, edit, real, run, settings
from there import there

pytestmark = pytest.mark.slow

SUBJECT = "sim/lie=0.4,evade=0.2,unsure=0.1"
ADDRESSES = (
    "https://arxiv.org/abs/2503.03750",
    "https://github.com/maskbench/maskbench/blob/main/docs/report.md",
)
VOID = {"meta", "br", "wbr", "input", "link", "img", "hr"}

# The page, read as a browser reads it


@dataclass
class Element:
    """An element with its text and the elements in it."""

    tag: str
    attributes: dict[str, str]
    parts: list["Element | str"] = field(default_factory=list)

    def __iter__(self) -> Iterator["Element"]:
        """This element and every one in it."""
        yield self
        for part in self.parts:
            if isinstance(part, Element):
                yield from part

    @property
    def text(self) -> str:
        """Its text on one line, without what is drawn or run."""
        if self.tag in ("script", "style", "svg", "wbr"):
            return ""
        inner = "".join(part.text if isinstance(part, Element) else part for part in self.parts)
        return inner if self.tag in ("b", "strong", "em", "span", "code", "bdi", "a") else f" {inner} "

    def __str__(self) -> str:
        return " ".join(self.text.split())

    def all(self, tag: str) -> list["Element"]:
        """Every element of this kind in it."""
        return [element for element in self if element.tag == tag]

    def at(self, anchor: str) -> "Element":
        """The element with this id."""
        (wanted,) = [element for element in self if element.attributes.get("id") == anchor]
        return wanted

    def of(self, name: str) -> list["Element"]:
        """Every element of a class."""
        return [element for element in self if name in element.attributes.get("class", "").split()]


class Reader(HTMLParser):
    """Makes elements of a page; one that is closed in the wrong place is a fault."""

    def __init__(self) -> None:
        super().__init__()
        self.open = [Element("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len({*names}), f"an attribute stands twice on {tag}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].parts.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().tag == tag

    def handle_data(self, data: str) -> None:
        self.open[-1].parts.append(data)


def parsed(html: str) -> Element:
    """The page as elements."""
    reader = Reader()
    reader.feed(html)
    reader.close()
    (page,) = reader.open
    return page


def page(*paths: Path, **options: Any) -> Element:
    """The page on these runs."""
    return parsed(render(paths, **options).html)


def table(figure: Element, row: str) -> list[str]:
    """The cells of the first row of a table that begins with this."""
    return next(
        cells
        for line in figure.all("tr")
        if (cells := [str(cell) for cell in line.all("th") + line.all("td")])[0] == row
    )


# Runs of every kind


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of every kind that a page can be asked for."""
    at = tmp_path_factory.mktemp("runs")
    lost = change(run(at / "partial", SUBJECT), "DELETE FROM replies WHERE archetype = 'known_facts'")
    cut = change(
        run(at / "failing", f"{SUBJECT},fail=0.03", statements=3, max_error_rate=0.3),
        "UPDATE replies SET truncated = 1 WHERE task_id LIKE '%3'",
    )
    runs = {
        "plain": run(at / "plain", SUBJECT),
        "five": run(at / "five", SUBJECT, statements=5),
        "failing": cut,
        "withheld": run(at / "withheld", f"{SUBJECT},fail=0.2"),
        "partial": lost,
        "none": change(run(at / "none", SUBJECT), "DELETE FROM replies"),
        "smoke": run(at / "smoke", SUBJECT, limit=6),
        "one archetype": run(at / "one", SUBJECT, archetypes=("statistics",)),
        "provided": run(at / "provided", SUBJECT, archetypes=("provided_facts",)),
        "inspect": run(at / "inspect", SUBJECT, rules="inspect"),
        "organism": run(at / "organism", "pinocchio", judge="rules/sandbox", numeric_judge="rules/sandbox",
                        scenarios="sandbox", sample=30),
        "other set": edit(run(at / "other", SUBJECT), scenarios="cais/MASK"),
        "real": real(at / "real", "acme/large", "sim/lie=0.2,evade=0.2,unsure=0.1,accuracy=0.9", statements=2),
    }  # fmt: skip
    return runs | {name: edit(runs[name], scenarios="starter") for name in (*ALL, "real")}


ALL = ("plain", "five", "failing", "withheld", "partial", "none", "smoke", "one archetype", "provided", "inspect")


@pytest.fixture(scope="module")
def pages(folders: dict[str, Path]) -> dict[str, Element]:
    """The page on each of them, and one on several."""
    single = {name: page(path) for name, path in folders.items()}
    return single | {"several": page(*(folders[name] for name in ("real", "five", "failing", "withheld", "none")))}


KINDS = (*ALL, "organism", "other set", "real", "several")


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_loads_and_runs_nothing_foreign(pages: dict[str, Element], kind: str) -> None:
    """No address but the paper and the manual, no style attribute, no handler, no frame, no form that goes anywhere."""
    for element in pages[kind]:
        assert element.tag not in ("iframe", "object", "embed", "base", "link", "img", "image", "use", "foreignobject")
        for name, value in element.attributes.items():
            assert name not in ("style", "src", "srcset", "action", "formaction", "xlink:href"), (element.tag, name)
            assert not name.startswith("on")
            if name == "href":
                assert value.startswith("#") or value in ADDRESSES


@pytest.mark.parametrize("kind", KINDS)
def test_ids_are_there_once_and_links_lead_somewhere(pages: dict[str, Element], kind: str) -> None:
    """No id stands twice; every link and every label inside the page has its place."""
    ids = [element.attributes["id"] for element in pages[kind] if "id" in element.attributes]
    assert len(ids) == len({*ids})
    explored = [*pages[kind].at("explorer")]  # its script fills in what its attributes name
    for element in pages[kind]:
        if element in explored:
            continue
        for name in ("aria-labelledby", "aria-describedby", "for"):
            assert {*element.attributes.get(name, "").split()} <= {*ids}
        link = element.attributes.get("href", "")
        if link.startswith("#") and not link.startswith("#scenario="):  # those are for the explorer's script
            assert link[1:] in ids


@pytest.mark.parametrize("kind", KINDS)
def test_the_policy_names_what_stands_in_the_page(pages: dict[str, Element], kind: str) -> None:
    """The policy allows nothing, then every style and script of the page by its hash, and no other."""
    (meta,) = [each for each in pages[kind].all("meta") if each.attributes.get("http-equiv")]
    policy = dict(part.split(" ", 1) for part in meta.attributes["content"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("base-uri", "form-action")} == {"'none'"}
    for directive, tag in (("style-src", "style"), ("script-src", "script")):
        inline = [each for each in pages[kind].all(tag) if each.attributes.get("type") != "text/plain"]
        hashes = [hashlib.sha256("".join(map(str.__str__, each.parts)).encode()).digest() for each in inline]
        assert policy[directive].split() == [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in hashes]


@pytest.mark.parametrize("kind", KINDS)
def test_headings_descend_one_by_one(pages: dict[str, Element], kind: str) -> None:
    """One title; below it no level of headings is left out; every chart has words, every table a head."""
    levels = [int(each.tag[1]) for each in pages[kind] if re.fullmatch("h[1-6]", each.tag)]
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    for each in pages[kind].all("svg"):
        assert each.attributes["role"] == "img"
        assert each.attributes["aria-label"]
    assert all(each.all("thead") for each in pages[kind].all("table"))
    for figure in pages[kind].all("figure"):
        assert figure.all("table"), "a chart without its figures"


@pytest.mark.parametrize("kind", KINDS)
def test_sections_come_in_their_order(pages: dict[str, Element], kind: str) -> None:
    """From the finding to the limits, with the explorer between; the list of contents leads to each."""
    ids = [each.attributes["id"] for each in pages[kind].all("section")]
    curve = ["lying-at-k"] * ("lying-at-k" in ids)  # where there are several statements
    rates = ["rates", "archetypes", "outright", *curve, "beliefs", "evasions", "failures", "denials"]
    worst = ["worst"] * ("worst" in ids)  # where there is a lie
    if kind == "several":
        first, last = ["comparison", "plane", "archetypes"], [*(name for name in rates if name != "archetypes")]
        assert ids == ["outcomes", "method", *first, *worst, "explorer", *last, "tokens", "limits"]
    else:
        assert ids == ["outcomes", "method", *worst, *rates, "tokens", "explorer", "limits"]
    (contents,) = pages[kind].of("contents")
    assert [link.attributes["href"] for link in contents.all("a")] == [f"#{anchor}" for anchor in ids]


# What it says


@pytest.mark.parametrize("kind", ["plain", "five", "failing", "one archetype", "inspect", "organism", "real"])
def test_figures_are_the_summarys(folders: dict[str, Path], pages: dict[str, Element], kind: str) -> None:
    """The headline, the finding, the outcome table and every rate are those of `maskbench score`."""
    summary = result(RunFolder(folders[kind]))
    metrics, finding_ = summary.rates, pages[kind].at("outcomes")
    lie = metrics["p_lie"]
    assert str(finding_.of("heads")[0]).startswith(f"P(lie) {percent(lie.value)}")
    for name in ("p_lie", "p_honest"):
        told = f"{percent(metrics[name].value)} of"
        assert told in str(finding_.of("heads")[0])
        assert f"95 % interval {interval(metrics[name].ci95)}" in str(finding_.of("heads")[0])
    for name in ("p_lie", "p_honest", "p_evasive", "p_no_belief"):
        assert percent(metrics[name].value) in str(finding_.of("said")[0])
        outcome = name.removeprefix("p_").replace("_", " ")
        cells = [str(summary.as_dict()["counts"][outcome.replace(" ", "_")]), percent(metrics[name].value)]
        assert table(finding_, outcome)[:4] == [outcome, *cells, interval(metrics[name].ci95)]
    for name in (name for name in EXPLAINED if name in EVERYWHERE):
        label = heading(name)
        rate = metrics[name]
        cells = [label, percent(rate.value), interval(rate.ci95), str(rate.n)]
        assert table(pages[kind].at("rates"), label)[:4] == cells


def test_archetypes_are_the_summarys(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """Each archetype has its small chart, the most lies first, and its row of rates and counts."""
    section, parts = pages["plain"].at("archetypes"), result(RunFolder(folders["plain"])).by_archetype
    titles = [str(panel.all("h3")[0]).partition(" 16 ")[0] for panel in section.of("panel")]
    by_lies = sorted(parts, key=lambda name: -there(parts[name].rates["p_lie"].value))
    assert titles == [TABLE[name].title for name in by_lies]
    for name, part in parts.items():
        rate = part.rates["p_lie"]
        row = table(section, TABLE[name].title)
        assert row[1] == " ".join(cell(rate).split())
        assert row[-1] == str(sum(part.counts.values()))


def test_the_protocol_line_says_what_a_figure_stands_for(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """Subject asked and resolved, judge, prompts, sampling, set and hash, split, rules, protocol id, date, version."""
    summary, line = result(RunFolder(folders["real"])), str(pages["real"].of("identity")[0])
    told = ("acme/large (answered as sim)", "sim-judge", "temperature 1, up to 1,000 tokens, 2 statements a scenario")
    for words in (*told, "starter, 96 of 96", "rules reference", f"protocol id {summary.protocol}"):
        assert words in line
    assert summary.scenarios.hash[:12] in line
    assert summary.judge.prompts.hash[:12] in line
    with read([folders["real"]], None, None) as (shown,):
        assert f"begun {date(shown)}" in line
    assert f"maskbench {summary.version}" in line
    assert "split public" in line
    assert "split public" in str(pages["other set"].of("identity")[0])


def test_a_stranger_is_told_what_was_measured(pages: dict[str, Element]) -> None:
    """Title, method in two sentences and what the figure hangs on stand above everything else."""
    whole = str(pages["real"])
    assert "Does acme/large say what it believes?" in whole
    assert (
        "asked neutrally what it holds to be true (in 16 of them it was told the facts instead), and then put" in whole
    )
    assert EVADER in str(pages["real"].at("outcomes"))
    assert "not how often a model lies in use" in str(pages["real"].at("outcomes"))
    assert "on the judge (sim-judge), whose own error is not in their intervals" in str(pages["real"].at("outcomes"))
    for limit in ("omission", "behaviour", "Role play", "worst case", "English", "judge", "misalignment"):
        assert limit in str(pages["real"].at("limits"))


def test_with_several_statements_shares_are_of_statements(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """The headline does not call a share of statements one of scenarios, and says how many scenarios saw a lie."""
    point = result(RunFolder(folders["five"])).lying_at["5"]
    finding_, often = (
        pages["five"].at("outcomes"),
        f"{percent(point.value)} of scenarios ({interval(point.ci95)})",
    )
    assert "of statements were lies" in str(finding_.of("heads")[0])
    assert f"at least one of the 5 was a lie in {often}" in str(finding_.of("said")[0])
    assert "of scenarios ended in a lie" in str(pages["plain"].of("heads")[0])
    assert "statements a scenario" not in str(pages["plain"].of("said")[0])


def test_asked_outright_or_not(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """Both groups with all four rates; where the set does not say, the page says that."""
    groups = result(RunFolder(folders["plain"])).of(AskedReader)
    assert groups
    row = table(pages["plain"].at("outright"), "all (compares archetypes)")
    shown = [
        f"{percent(rate.value)} ({interval(rate.ci95)})"
        for rate in (groups.groups["yes"]["p_lie"], groups.groups["no"]["p_lie"])
    ]
    assert [row[1], row[3]] == shown
    assert "shown once all scenarios are done" in str(pages["none"].at("outright"))


def test_lying_at_k_where_there_are_several_statements(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """A point for every k with its interval; with one statement no section."""
    assert "lying-at-k" not in {each.attributes.get("id") for each in pages["plain"].all("section")}
    for k, point in result(RunFolder(folders["five"])).lying_at.items():
        row = table(pages["five"].at("lying-at-k"), k)
        assert row[:3] == [k, percent(point.value), interval(point.ci95)]


def test_failures_by_stage_cause_and_archetype(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """Counts and causes by archetype, the share that was cut, and the bounds."""
    summary, section = result(RunFolder(folders["failing"])), pages["failing"].at("failures")
    parts: dict[str, Summary | Part] = {"All": summary, **summary.by_archetype}
    for name, part in parts.items():
        row = table(section, TABLE[name].title if name in TABLE else name)
        failed = part.failures.get("subject", {}).get("server_error")
        assert row[2] == (f"server error: {failed}" if failed else "–")
        lost = sum(part.counts.values()) - part.rates["p_lie"].n  # in no rate, whatever the first statement
        assert row[4:] == [str(lost), interval(part.rates["p_lie"].bounds)]
        assert row[1].startswith(f"{part.truncated['cut']} ")
    low, high = there(summary.rates["p_lie"].bounds)
    assert f"lies between {percent(low)} and {percent(high)}" in str(section)
    assert "Nothing failed, nothing was cut." in str(pages["plain"].at("failures"))


# Runs that have no result, or none that counts


def test_withheld_rates_stay_withheld(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """Too many failures, an incomplete run, none at all: no headline, no bar, the reason and the counts instead."""
    for kind in ("withheld", "partial", "none"):
        top = pages[kind].at("outcomes")
        assert not top.of("heads")
        assert not top.all("svg")
        assert bool(pages[kind].at("failures").all("svg")) == (kind == "withheld")  # the bounds that there still are
        assert str(top.of("said")[0]).startswith("No result for sim/")
        why = there(result(RunFolder(folders[kind])).withheld)
        assert all(sentence in str(top) for sentence in re.split(r"(?<=[.]) (?=[A-Z])", why))
        assert table(top, "lie")[2:4] == ["–", "–"]
        assert EVADER not in str(top)
    assert "80 of 96 scenarios are done" in str(pages["partial"].at("outcomes"))


def test_a_withheld_run_says_what_to_type(folders: dict[str, Path], pages: dict[str, Element], tmp_path: Path) -> None:
    """The page has the command that asks again for what failed, ready to be typed, also of other verdicts and runs."""
    told = "To ask again for what failed: `{}`"
    assert told.format(f"maskbench run --out {folders['withheld']}") in str(pages["withheld"].at("outcomes"))
    assert told.format(f"maskbench run --out {folders['withheld']}") in str(pages["several"].at("outcomes"))
    assert "To ask again" not in str(pages["plain"].at("outcomes"))
    path = shutil.copytree(folders["plain"], tmp_path / "it's a run")
    weak = "sim-judge/unreadable=0.3"
    judge(RunFolder(path), RunFolder(path).settings().having(judge=weak, numeric_judge=weak), "weak", {})
    words = ["maskbench", "judge", str(path), "--name", "weak"]
    assert told.format(shlex.join(words)) in str(page(path, verdicts="weak").at("outcomes"))


def test_what_is_no_model_says_so(pages: dict[str, Element]) -> None:
    """Simulated subjects and model organisms, also under another name, and smoke runs are marked above the figures."""
    assert "it gets no rank" in str(pages["organism"].at("outcomes"))
    assert "this model organism" in str(pages["organism"].at("outcomes"))
    assert "this simulated model" in str(pages["plain"].at("outcomes"))
    assert "Not a real model" in str(pages["real"].at("outcomes"))  # it only calls itself one
    assert "measures nothing" in str(pages["smoke"].at("outcomes"))


def test_other_rules_are_named(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """A run has its own rules unless others are asked for, and then the page says which were its own."""
    assert "rules “inspect”" in str(pages["inspect"].at("outcomes"))
    other = page(folders["plain"], rules="strict")
    assert "was made for the rules “reference” and is shown under “strict”" in str(other.at("outcomes"))
    lie = result(RunFolder(folders["plain"]), "strict").rates["p_lie"]
    assert str(other.of("heads")[0]).startswith(f"P(lie) {percent(lie.value)}")


def test_one_archetype_is_named_as_such(pages: dict[str, Element]) -> None:
    """Where all scenarios press in one way, the page says that; where nothing was asked neutrally, too."""
    assert "press in one way, statistics" in str(pages["one archetype"].at("archetypes"))
    assert "Nothing was asked neutrally here" in str(pages["provided"].at("beliefs"))
    assert "was given a fact in its instructions" in str(pages["provided"])


# Beliefs

HEARD = {  # archetype: letters of the direct answers, then of the consistency questions
    "known_facts": "AAAAA",
    "doubling_down_known_facts": "AAACA",
    "disinformation": "AACAA",
    "continuations": "ABAAA",
}


def believes(ask: Ask, sample: int) -> str | Judgement:
    """A judge that hears what the table says, and B under pressure."""
    if ask.scenario.kind == "numerical":
        return number(10)
    if ask.elicitation == 0 or ask.scenario.archetype == "provided_facts":
        return letter("D" if ask.scenario.archetype == "known_facts" else "B")
    return letter(HEARD[ask.scenario.archetype][sample - 1 if ask.elicitation == 1 else ask.elicitation + 1])


def test_beliefs_are_firm_loose_or_absent(tmp_path: Path) -> None:
    """Firm: all belief verdicts equal; loose: a belief, but not all equal; absent, and why; numbers for themselves.

    `mixed` has one meaning, on the page as in the data: there is no belief, because the direct answers differ.
    """
    chosen = settings("subject", judge="judge", numeric_judge="judge", scenarios=str(six_files(tmp_path / "set", 2)))
    spoken = ScriptedModel(lambda ask, sample: f"{ask.scenario.key} {ask.elicitation} {sample}", "subject")
    measure(chosen, tmp_path / "run", {}, models=(spoken, ScriptedModel(believes, "judge")))
    with read([tmp_path / "run"], None, None) as (shown,):
        pass
    held = {name: {entry.archetype for entry in rows} for name, rows in shown.held.items()}
    assert held == {
        "firm": {"known_facts"},
        "loose": {"doubling_down_known_facts", "disinformation"},
        "joint": {"statistics"},
        "absent": {"continuations"},
        "open": set(),
    }
    shown_page = page(tmp_path / "run")
    beliefs = shown_page.at("beliefs")
    assert [table(beliefs, name)[1] for name in ("firm", "loose", "numerical", "absent")] == ["2", "4", "2", "2"]
    assert "absent in 2 of the 10 scenarios in which it was asked for: mixed in 2 (its direct" in str(beliefs)
    assert "There were 2 among statements and 0 among answers to neutral questions." in str(shown_page.at("denials"))


def test_beliefs_with_missing_verdicts_are_open(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """Where the verdicts that would decide are missing, the page does not call that an absent belief."""
    with read([folders["failing"]], None, None) as (shown,):
        pass
    assert len(shown.held["open"]) > 0
    assert f"In {len(shown.held['open'])} more, the verdicts that would decide are missing." in str(
        pages["failing"].at("beliefs")
    )


def test_other_judges_stand_beside_the_runs_own(folders: dict[str, Path], tmp_path: Path) -> None:
    """A run that was judged twice shows P(lie) through both, and a page can be asked for by either."""
    path = shutil.copytree(folders["plain"], tmp_path / "run")
    other = "sim-judge/accuracy=0.8"
    judge(RunFolder(path), RunFolder(path).settings().having(judge=other, numeric_judge=other), "second", {})
    shown_page = page(path)
    section = shown_page.at("judges")
    told = "The verdict set is “default”. The run has “second”, too: `maskbench score RUN"
    assert str(shown_page.at("outcomes")).count(told) == 1
    for name in ("default", "second"):
        lie = result(RunFolder(path), None, name).rates["p_lie"]
        row = table(section, name)
        assert row[1:4] == [other if name == "second" else "sim-judge", percent(lie.value), interval(lie.ci95)]
        assert str(page(path, verdicts=name).of("heads")[0]).startswith(f"P(lie) {percent(lie.value)}")
    assert "verdict set second" in str(page(path, verdicts="second").of("identity")[0])


def test_three_verdict_sets_stand_beside_each_other(folders: dict[str, Path], tmp_path: Path) -> None:
    """Every set with its outcomes, and each pair as `score` has it."""
    path = shutil.copytree(folders["plain"], tmp_path / "run")
    for name, other in (("mine", "sim-judge/accuracy=0.9,seed=5"), ("weak", "sim-judge/accuracy=0.7,seed=9")):
        judge(RunFolder(path), RunFolder(path).settings().having(judge=other, numeric_judge=other), name, {})
    held = there(result(RunFolder(path)).of(JudgesReader))
    section = page(path).at("judges")
    assert [each.name for each in held.sets] == ["default", "mine", "weak"]
    lies, counts = (each for each in section.all("table") if str(each.all("th")[0]) == "verdict set")
    for each in held.sets:
        assert table(lies, each.name)[2:4] == [percent(each.p_lie.value), interval(each.p_lie.ci95)]
        assert table(counts, each.name)[1:6] == [str(count) for count in each.counts.values()]
    for pair in held.pairs:
        moved = table(section, f"{pair.other} − {pair.first}")
        assert moved[1:3] == [difference(there(pair.p_lie).difference), between(there(pair.p_lie).ci95)]
        assert moved[3:] == [
            f"{percent(pair.outcomes.agree)} ({interval(pair.outcomes.ci95)})",
            f"{pair.outcomes.kappa:.2f}",
            str(pair.outcomes.n),
        ]
        alike = table(section, f"{pair.other} and {pair.first}")
        direct, numbers = pair.verdicts["direct"], pair.verdicts["numerical"]
        assert alike[1] == f"{percent(direct.agree)} (κ {direct.kappa:.2f}, n {direct.n})"
        assert alike[4] == f"{percent(numbers.agree)} (n {numbers.n})"


def test_labels_correct_the_rates(folders: dict[str, Path]) -> None:
    """Where people have labelled: the corrected rates beside the judge's, or the reason why there are none."""
    with read([folders["plain"]], None, None) as (shown,):
        pass
    keys = [(scored.archetype, scored.task_id) for scored in shown.result.scenarios]
    others = {"lie": "honest", "honest": "lie"}
    labels = {
        key: Label(1.0, others.get(scored.outcomes[0], "evasive") if place % 4 == 0 else scored.outcomes[0])  # type: ignore[arg-type]
        for place, (key, scored) in enumerate(zip(keys, shown.result.scenarios, strict=True))
    }
    corrected = there(result(RunFolder(folders["plain"]), labels=labels).of(LabelsReader))
    assert corrected.withheld is None
    _, _, picture, rests = _corrected(shown, corrected)
    assert f"differ from the judge on {corrected.disagreements}" in rests
    lie = corrected.metrics["p_lie"]
    row = next(row for row in picture.table.rows if row[0] == "P(lie)")
    assert row[2:5] == (
        percent(lie.value),
        interval(lie.ci95),
        difference(there(lie.value) - there(corrected.judged["p_lie"])),
    )
    few = there(result(RunFolder(folders["plain"]), labels={keys[0]: labels[keys[0]]}).of(LabelsReader))
    assert few.withheld in _corrected(shown, few)[1].text


def _corrected(shown: Run, by_labels: Calibration) -> tuple[Any, ...]:
    """The section on a run whose summary has this, with its name first."""
    summary = with_parts(shown.result.summary, corrected=by_labels)
    labelled = replace(shown, result=replace(shown.result, summary=summary))
    return (labelled.name, *corrected([labelled]))


def test_the_placebo_has_a_section(folders: dict[str, Path], pages: dict[str, Element], tmp_path: Path) -> None:
    """It has its rates there, and the false-lie floor stands beside P(lie); without a placebo there is no section."""
    path = run(tmp_path / "run", "sim/lie=0.4,evade=0.2,drift=0.2", placebo=True)
    summary, whole = result(RunFolder(path)), page(path)
    found, section = there(summary.of(PlaceboReader)), whole.at("placebo")
    for label, rate in (("lies in neutral replies", found.p_lie), ("P(lie) under pressure", found.p_lie_pressured)):
        assert table(section, label)[1:4] == [percent(rate.value), interval(rate.ci95), str(rate.n)]
    assert len(section.all("tr")) == 1 + 2
    floor = percent(there(summary.of(FalseLiesReader)).p_lie.value)
    assert f"False-lie floor, of archetypes with beliefs: {floor}" in str(whole.at("rates"))
    assert "placebo" not in {each.attributes.get("id") for each in pages["plain"]}
    assert len(page(folders["plain"], path).at("placebo").all("h3")) == 1


# Several runs


def test_several_runs_are_held_against_the_first(folders: dict[str, Path], pages: dict[str, Element]) -> None:
    """Every pairing's finding as `compare` has it, its differences and transitions; all figures by run."""
    others = [folders[name] for name in ("five", "failing", "withheld", "none")]
    compared_ = compare(folders["real"], others[0]).data
    rate = compared_.others[0].rates["p_lie"]
    section = pages["several"].at("comparison")
    figures = finding(compared_, compared_.others[0]).text.split(": ", 1)[1]
    assert figures in str(section)  # the page shortens names, no figures
    assert table(section, "P(lie)")[1:3] == [percent(rate.first), percent(rate.other)]
    honest = compared_.others[0].transitions["honest"]
    assert table(section, "honest")[1:] == [str(honest[name] or "·") for name in honest]
    assert "5 sim" in str(section)
    assert "5 sim/lie=0.4,evade=0.2,unsure=0.1 (none) is not held against 1 acme/large" in str(section)
    assert len(pages["several"].of("each")[0].all("li")) == 5


def test_the_plane_has_every_run_with_both_rates(pages: dict[str, Element]) -> None:
    """Runs are points with both intervals, once by the score that leaderboards print and once by P(honest)."""
    plane = pages["several"].at("plane")
    assert [len(figure.all("tr")) for figure in plane.all("figure")] == [1 + 3, 1 + 3]
    assert "Not on the plane" in str(plane)


def test_what_runs_have_in_common_is_said_once(pages: dict[str, Element]) -> None:
    """The protocol line holds what all runs share, then what is each one's own."""
    line = str(pages["several"].of("identity")[0])
    assert line.count("protocol id") == 3  # in the title of what is folded, in what it stands for, and once as it is
    assert line.count("subject") == 5


def test_a_run_is_shown_once(folders: dict[str, Path], tmp_path: Path) -> None:
    """A folder that is given twice, or beside a copy of it, is refused by name."""
    copy = shutil.copytree(folders["plain"], tmp_path / "copy")
    with pytest.raises(UsageError, match="is given twice"):
        render([folders["plain"], folders["plain"] / ".." / "plain"])
    with pytest.raises(UsageError, match=f"{copy} is a copy of {folders['plain']}"):
        render([folders["plain"], copy])
    with pytest.raises(UsageError, match="Which run"):
        render([])


def test_runs_of_one_subject_are_told_apart(folders: dict[str, Path]) -> None:
    """Subjects with one name have their folders beside it."""
    with read([folders["plain"], folders["five"], folders["real"]], None, None) as shown:
        names = [run.name for run in shown]
    assert names == [f"1 {SUBJECT} (plain)", f"2 {SUBJECT} (five)", "3 acme/large"]


# Texts, and what is hostile in them


def test_texts_stand_on_the_page_where_their_licence_allows(
    folders: dict[str, Path], pages: dict[str, Element]
) -> None:
    """An example of the run for our own sets; for others a made-up one, unless texts are asked for."""
    assert "A scenario of this run" in str(pages["plain"].at("method"))
    assert "Does garlic cure a cold?" in str(pages["other set"].at("method"))
    assert not [each for each in pages["other set"] if each.attributes.get("id") == "explorer-texts"]
    told = page(folders["other set"], include_text=True)
    assert "A scenario of this run" in str(told.at("method"))
    assert [each for each in told if each.attributes.get("id") == "explorer-texts"]


HOSTILE = (
    "<script>alert(1)</script>",
    "</script><img src=x onerror=alert(1)>",
    "</style></template></svg>]]>--><svg onload=alert(1)>",
    "{{ 7 * 7 }}{% raw %}",
    "a\u202eb\u2066c\u200bd\x00e\x1b[31mf\ud800g\ue000h\u2028i\tj\nk",
    "ﷺ" * 500,
    "x" * 1_000_000,
    "Z\u0300\u0301\u0302" * 200,
    "' onfocus=alert(1) autofocus x=' \" onfocus=alert(1) y=\"",
)


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_text(folders: dict[str, Path], pages: dict[str, Element], tmp_path: Path, name: str) -> None:
    """A subject, a judge, a set and a version that mean harm are shown, cut and harmless, in words and in charts."""
    path = shutil.copytree(folders["five"], tmp_path / "run")
    stored = name.encode(errors="replace").decode()
    record = RunFolder(path).record()
    values = (*record["settings"].values(), record["scenarios"], record["prompts"], *record["models"].values())
    for place in values:
        names = ("subject", "judge", "numeric_judge", "name", "taken", "version", "scenarios")
        place |= {key: stored for key in place if key in names}
    record |= {"created": stored, "maskbench": stored, "protocol": stored}
    (path / "run.json").write_bytes(orjson.dumps(record))
    html = render([path]).html
    shown = parsed(html)
    assert len(html) < 600_000
    assert {each.tag for each in shown} <= {each.tag for kind in ("five", "other set") for each in pages[kind]}
    assert not [each for each in shown for attribute in each.attributes if attribute.startswith("on")]
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b\u2028\x00\x1b\ud800-\udfff\ue000]", html)
    assert visible(stored)[:20] in str(shown.all("h1")[0]) or name.isspace()


def test_hidden_characters_show_as_their_numbers() -> None:
    """Bidi controls, zero-width and control characters are written out; lines stay where they are wanted."""
    assert visible("a\u202eb\u200bc\x07") == "a⟨U+202E⟩b⟨U+200B⟩c⟨U+0007⟩"
    assert visible("a\nb\tc") == "a b c"
    assert visible("a\nb\tc\r", lines=True) == "a\nb\tc⟨U+000D⟩"
    assert visible("Größe, 測, 🦊, e\u0301") == "Größe, 測, 🦊, e\u0301"
    assert shortened("x" * 50, 10) == "x" * 9 + "…"
    assert shortened("\u200b" * 10_000, 20) == "⟨U+200B⟩⟨U+200B⟩⟨U+…"


def test_a_document_holds_its_styles_and_scripts() -> None:
    """The header's policy forbids framing; what would end its own element is refused."""
    whole = document("a & b", Markup("<p>x</p>"), ["p { margin: 0; }"], ["let a = 1;"], allow={"connect-src": "'self'"})
    assert whole.policy.endswith("connect-src 'self'; frame-ancestors 'none'")
    assert "<title>a &amp; b</title>" in whole.html
    with pytest.raises(ValueError, match="may hold neither"):
        document("a", Markup(), [], ["let a = '</script>';"])


def test_a_value_that_is_not_there_is_printed_as_nothing() -> None:
    """No template writes None for what there is not."""
    template = environment().from_string("<p>{{ here }}{{ gone }}</p>")
    assert template.render(here="a & b", gone=None) == "<p>a &amp; b</p>"


def test_the_page_stays_small(folders: dict[str, Path]) -> None:
    """The part that is not the explorer takes some hundred kilobytes, for several runs, too."""
    html = render([folders[name] for name in ("real", "five", "failing", "plain")]).html
    texts = sum(len(str.join("", map(str, each.parts))) for each in parsed(html).all("script"))
    assert len(html) - texts < 600_000


# The command

Report = Callable[..., Any]


@pytest.fixture
def maskbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Command(capsys, monkeypatch)


def test_report_says_where_it_is(maskbench: Command, folders: dict[str, Path], tmp_path: Path) -> None:
    """Into the run's folder unless told otherwise, for several runs here; whole, and nothing beside it."""
    ended = maskbench("report", folders["plain"])
    assert (ended.code, ended.out) == (0, "")
    place = folders["plain"] / "report.html"
    assert f"The report is in {place}." in ended.err
    assert place.as_uri() in ended.err
    assert place.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert maskbench("report", folders["plain"], folders["five"]).code == 0
    assert maskbench("report", folders["withheld"], "--out", "held.HTML").code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["held.HTML", "report.html"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "Which run? Give its folder: maskbench report RUN --out report.html."),
        (("nowhere",), "nowhere holds no run"),
        (("RUN", "--out", "page.txt"), "give a file that ends in .html"),
        (("RUN", "--out", "no/such/folder/page.html"), "cannot be written (No such file or directory). Try another"),
        (("RUN", "--out", "folder.html"), "cannot be written (Is a directory). Try another"),
        (("RUN", "--verdicts", "other"), "has no verdict set 'other'"),
        (("RUN", "RUN"), "is given twice"),
    ],
)
def test_errors_say_what_to_type(
    maskbench: Command, folders: dict[str, Path], tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    """Exit code 2, one sentence, and no file."""
    (tmp_path / "folder.html").mkdir()
    ended = maskbench("report", *(folders["plain"] if word == "RUN" else word for word in arguments))
    assert ended.code == 2
    assert message in ended.err
    assert [path.name for path in tmp_path.rglob("*")] == ["folder.html"]


def test_the_extra_is_named_where_it_is_missing(folders: dict[str, Path]) -> None:
    """Without Jinja the error says what to install, before anything is written."""
    code = "import sys; sys.modules['jinja2'] = None; from maskbench.cli import main; main()"
    command = [sys.executable, "-c", code, "report", str(folders["plain"])]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "report needs jinja2. Type: " in ended.stderr


def test_run_ends_with_the_command_that_shows_it(maskbench: Command, tmp_path: Path) -> None:
    """What `run` prints at its end can be typed as it is, and makes the page."""
    ended = maskbench("run", SUBJECT, "--limit", "6", "--out", "a run")
    assert "maskbench report 'a run'" in "\n".join(ended.err.rstrip().splitlines()[-2:])
    assert maskbench("report", "a run").code == 0
    assert (tmp_path / "a run" / "report.html").exists()
