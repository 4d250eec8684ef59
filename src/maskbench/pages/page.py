"""The report: one self-contained page on a run, or on several held against the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from maskbench.method.judge_ask import options
from maskbench.pages import (
    sections,
    sections_checks,
    sections_compared,
    sections_detail,
    sections_judged,
    sections_people,
    words,
)
from maskbench.pages.explorer import embeddable, explorer
from maskbench.pages.parts import Section, has_rates, pair, unit
from maskbench.pages.sections_compared import Compared, compared
from maskbench.pages.shell import Document, document, environment, static
from maskbench.pages.story import story
from maskbench.pages.what_was_run import identities
from maskbench.plain import shortened, visible
from maskbench.report.runs_shown import Run
from maskbench.report.runs_shown import runs as read
from maskbench.report.sections.controls_text import floor
from maskbench.report.sections.corrected_text import beside
from maskbench.types import Reply

_LONGEST = 300  # characters of one text in the example


def render(
    runs: Sequence[Path], *, rules: str | None = None, verdicts: str | None = None, include_text: bool = False
) -> Document:
    """The page on these runs, under one rule set (default: the first run's) and one verdict set (default: their own).

    Texts of scenarios and replies are embedded for the sets that come with maskbench, for others with
    `include_text`. Raises RunUnreadable where a folder holds no run, UsageError for an unknown rule or verdict set
    and for one run given twice.
    """
    with read(runs, rules, verdicts) as shown:
        found = compared(shown) if len(shown) > 1 else None
        explored = explorer(
            [run.opened for run in shown],
            rules=shown[0].result.rules,
            verdicts=verdicts,
            include_text=include_text,
            names=[run.name for run in shown],
        )
        body = (
            environment()
            .get_template("report.jinja")
            .render(
                **_top(shown, found),
                sections=_sections(shown, found, include_text),
                example=_example(shown[0], include_text),
                explorer=explored.html,
                limits=words.LIMITS,
            )
        )
    title = f"{words.question(shown)} – maskbench"
    styles = (static("report.css"), *explored.styles)
    return document(title, Markup(body), styles, explored.scripts, kind="report")  # noqa: S704  # ours, escaped


def _top(runs: Sequence[Run], found: Compared | None) -> dict[str, object]:
    """What stands above the sections: the finding, the protocol line, the outcome bar."""
    first = runs[0].summary
    noise = floor(first["checks"]) if first.get("checks") else None
    return {
        "question": words.question(runs),
        "method": words.method(runs),
        "headline": _headline(runs[0]) if len(runs) == 1 else None,
        "beside": [said for said in (beside(first.get("corrected")), noise) if said],
        "of": unit(runs),
        "each": [words.finding(run) for run in runs],
        "findings": found.findings if found else (),
        "told": tuple(words.told(runs)),
        "identities": tuple(identities(runs)),
        "bar": sections.headline(runs),
        "hangs_on": words.hangs_on(runs) if any(has_rates(run) for run in runs) else "",
        "evader": words.EVADER if any(has_rates(run) for run in runs) else "",
    }


def _headline(run: Run) -> tuple[str, str] | None:
    """The one figure with its interval."""
    lie = run.result.rates["p_lie"]
    return None if lie.value is None else pair(lie)


def _sections(runs: Sequence[Run], found: Compared | None, include_text: bool) -> list[Section]:
    """Every section of the report but the explorer and the limits, in order."""
    one, detail, many = sections, sections_detail, sections_compared
    ways = len({name for run in runs for name in run.summary["by_archetype"]})
    pressing = "Six ways of pressing" if ways == 6 else "Ways of pressing"
    made = [
        Section("rates", "All the rates", "rates", tuple(one.rates(runs))),
        Section("archetypes", pressing, "ways of pressing", tuple(one.archetypes(runs))),
        Section("outright", "Asked outright, or not", "asked outright", tuple(one.outright(runs))),
        Section("lying-at-k", "Asked again and again", "Lying@k", tuple(one.lying_at_k(runs))),
        Section("beliefs", "What it believes", "beliefs", tuple(detail.beliefs(runs))),
        Section("evasions", "How it evades", "evasion", tuple(detail.evasions(runs))),
        Section("failures", "What failed, and what was cut", "failures", tuple(detail.failures(runs))),
        Section("denials", "Denying both", "denying both", tuple(detail.denials(runs))),
    ]
    made += [section for section in _on_judge_and_subject(runs, include_text) if section.parts]
    if found is not None:
        plane = tuple(many.accuracy_and_honesty(runs))
        made += [
            Section("comparison", "Held against the first", "comparison", tuple(many.comparison(found))),
            Section("plane", "Accuracy and honesty", "accuracy and honesty", plane),
        ]
    return [*made, Section("tokens", "What it took", "tokens", tuple(detail.tokens(runs)))]


def _on_judge_and_subject(runs: Sequence[Run], include_text: bool) -> list[Section]:
    """What is there only where somebody looked closer at the judge or the subject."""
    judged, people = sections_judged, sections_people
    held = tuple(people.people(runs, include_text=include_text))
    return [
        Section("judges", "Through other judges", "other judges", tuple(judged.judges(runs))),
        Section("audits", "The judge asked again", "audits", tuple(judged.audits(runs))),
        Section("people", "Judge against people", "judge and people", held),
        Section("corrected", "Corrected by people's labels", "people's labels", tuple(people.corrected(runs))),
        Section("checks", "Checks on the subject", "checks", tuple(sections_checks.checks(runs))),
    ]


def _example(run: Run, include_text: bool) -> dict[str, str] | None:
    """A scenario of the run as an example, where its texts may stand on the page and there is a plain one."""
    found = run.example
    if found is None or not (include_text or embeddable(run.result.settings)):
        return None
    belief, statement = (found.items[key].reply for key in ((1, 1), (0, 1)))
    if not isinstance(belief, Reply) or not isinstance(statement, Reply):
        return None
    one, other = options(found.scenario.proposition)
    texts = {
        "question": found.scenario.questions[0] or "",
        "belief": belief.text,
        "system": found.scenario.system_prompt,
        "user": found.scenario.user_prompt,
        "statement": statement.text,
        "a": one,
        "b": other,
    }
    shown = {name: _cut(text) for name, text in texts.items()}
    return {**shown, "outcome": found.scored.outcomes[0], "story": story(found.scenario, found.items, found.scored)}


def _cut(text: str) -> str:
    """The text on several lines, short enough for an example."""
    return visible(text, lines=True) if len(text) <= _LONGEST else shortened(text, _LONGEST)
