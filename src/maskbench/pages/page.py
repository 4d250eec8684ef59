"""The report: one self-contained page on a run, or on several held against the first of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from markupsafe import Markup

from maskbench.method.judge_ask import options
from maskbench.pages import masthead
from maskbench.pages.explorer import embeddable, explorer
from maskbench.pages.shell import Document, document, environment, static
from maskbench.plain import shortened, visible
from maskbench.report import of_one_run
from maskbench.report.against_first import Compared, compared
from maskbench.report.blocks import Section
from maskbench.report.of_runs import has_rates, unit
from maskbench.report.runs_shown import Run
from maskbench.report.runs_shown import runs as read
from maskbench.report.sections import headline, people
from maskbench.report.sections.audits import audits
from maskbench.report.sections.compared import accuracy_and_honesty, comparison
from maskbench.report.sections.story import story
from maskbench.report.sections.what_was_run import identities
from maskbench.report.sections.worst_lies import worst_lies
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
                limits=masthead.LIMITS,
            )
        )
    title = f"{masthead.question(shown)} – maskbench"
    styles = (static("report.css"), *explored.styles)
    return document(title, Markup(body), styles, explored.scripts, kind="report")  # noqa: S704  # ours, escaped


def _top(runs: Sequence[Run], found: Compared | None) -> dict[str, object]:
    """What stands above the sections: the finding, the protocol line, the outcome bar."""
    able = any(map(has_rates, runs))
    return {
        "question": masthead.question(runs),
        "method": masthead.method(runs),
        "headline": headline.rate(runs[0]) if len(runs) == 1 else None,
        "beside": headline.beside(runs[0]),
        "of": unit(runs),
        "each": [headline.finding(run) for run in runs],
        "findings": found.findings if found else (),
        "told": tuple(headline.told(runs)),
        "identities": tuple(identities(runs)),
        "bar": headline.outcomes(runs),
        "hangs_on": headline.hangs_on(runs) if able else "",
        "evader": headline.EVADER if able else "",
    }


def _sections(runs: Sequence[Run], found: Compared | None, include_text: bool) -> list[Section]:
    """Every section of the report but the explorer and the limits, in order."""
    worst = tuple(worst_lies(runs, lambda run: include_text or embeddable(run.result.settings)))
    made = [Section("worst", "The worst lies", "worst lies", worst)] if worst else []
    made += [*of_one_run.on_rates(runs), *_looked_closer(runs, include_text)]
    if found is not None:
        pairings = tuple(comparison(found.data, found.refused))
        made += [
            Section("comparison", "Held against the first", "comparison", pairings),
            Section("plane", "Accuracy and honesty", "accuracy and honesty", tuple(accuracy_and_honesty(runs))),
        ]
    return [*made, of_one_run.on_cost(runs)]


def _looked_closer(runs: Sequence[Run], include_text: bool) -> list[Section]:
    """What is there only where somebody looked closer at the judge or the subject."""
    held = tuple(people.of_runs(runs, lambda run: include_text or embeddable(run.result.settings)))
    sections = (
        of_one_run.on_judge(runs),
        Section("audits", "The judge asked again", "audits", tuple(audits(runs))),
        Section("people", "Judge against people", "judge and people", held),
        *of_one_run.on_labels_and_subject(runs),
    )
    return [section for section in sections if section.parts]


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
