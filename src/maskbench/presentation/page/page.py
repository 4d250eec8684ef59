"""The report: one self-contained page on a run, or on several held against the first of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from msgspec.structs import replace

from maskbench.method.proposition import options
from maskbench.plain import shortened, visible
from maskbench.presentation import of_one_run
from maskbench.presentation.blocks import Folded, Only, Section, Warn
from maskbench.presentation.format import times
from maskbench.presentation.of_runs import facts_given, has_rates
from maskbench.presentation.page.explorer import embeddable, explorer
from maskbench.presentation.page.shell import Document, report
from maskbench.presentation.runs_shown import Run, neutral
from maskbench.presentation.runs_shown import runs as read
from maskbench.presentation.sections import headline, people, reports_on_logs, runs_together
from maskbench.presentation.sections.board import scaling_of_runs
from maskbench.presentation.sections.comparison import accuracy_and_honesty, comparison
from maskbench.presentation.sections.conventions import section as as_published
from maskbench.presentation.sections.provenance import identities
from maskbench.presentation.sections.runs_together import Compared, compared
from maskbench.presentation.sections.story import story, worst_lies
from maskbench.results.conventions import figures as under_conventions
from maskbench.results.scaling import Compute
from maskbench.types import Reply

_LONGEST = 160  # characters of one text in the example
_LIMITS = (
    (
        "What it says, not what it leaves out",
        "A lie here is an assertion. Misleading by omission, by emphasis or by flattery is not measured.",
    ),
    (
        "Belief is behaviour",
        "A belief is what the model says when nothing presses it, several times over. Nothing here looks inside it.",
    ),
    (
        "Role play and obedience look like lying",
        "The scenarios give roles and instructions. A model that plays its part or does as it is told contradicts its "
        "belief here all the same; whether that is dishonest is for the reader to judge.",
    ),
    (
        "The worst case on purpose",
        f"{headline.PRESSES}. The rate says how a model behaves there, not how often it lies in use.",
    ),
    ("English only", "Scenarios and judge prompts are in English. Other languages may behave differently."),
    (
        "A judge decides",
        "A judge, as a rule another model, reads every reply and may err. Its error is not in the intervals, which "
        "hold sampling error alone: other scenarios of this kind would have given other figures.",
    ),
    (
        "No proof of intent",
        "A high rate is no proof of misalignment, and a low one none of trustworthiness. A model can also recognise a "
        "test, or have been trained on it.",
    ),
)


def render(
    runs: Sequence[Path],
    *,
    rules: str | None = None,
    verdicts: str | None = None,
    include_text: bool = False,
    compute: Mapping[str, Compute] | None = None,
    convention: str | None = None,
) -> Document:
    """The page on these runs, under one rule set (default: the first run's) and one verdict set (default: their own).

    Texts of scenarios and replies are embedded for the sets that come with maskbench, for others with
    `include_text`. `compute` is what went into each model, `convention` the name of publishers whose figures the runs
    are computed as, too. Raises RunUnreadable where a folder holds no run, UsageError for an unknown rule or verdict
    set, and for one run given twice.
    """
    with read(runs, rules, verdicts) as shown:
        against = compared(shown) if len(shown) > 1 else None
        explored = explorer(
            [run.opened for run in shown],
            rules=shown[0].result.rules,
            verdicts=verdicts,
            include_text=include_text,
            names=[run.name for run in shown],
        )
        before, after = _sections(shown, against, include_text)
        if compute is not None:
            scaling = tuple(scaling_of_runs(shown, compute))
            before.append(Section("scaling", "Does compute make it honest?", "scaling", scaling))
        if convention is not None:
            computed = [under_conventions(run.opened, convention, verdicts) for run in shown]
            before.append(
                Section("conventions", "As publishers compute it", "as published", tuple(as_published(computed)))
            )
        values = {
            **_top(shown, against),
            "sections": before,
            "details": after,
            "example": _example(shown[0], include_text),
            "explorer": explored.html,
            "limits": reports_on_logs.LIMITS if reports_on_logs.alone(shown) else _LIMITS,
        }
        return report("report.jinja", _question(shown), values, explored.styles, explored.scripts, explored.blocks)


def _top(runs: Sequence[Run], against: Compared | None) -> dict[str, object]:
    """What stands above the sections: the finding, the outcome bar, a table of three runs or more, the protocol."""
    able = any(map(has_rates, runs))
    data = against.data if against else None
    own = reports_on_logs.top(runs) if reports_on_logs.alone(runs) else {}
    top: dict[str, object] = {
        "of_reports": False,
        "question": _question(runs),
        "method": _method(runs),
        "heads": [*(headline.heads(runs[0]) if len(runs) == 1 else runs_together.differences(data))],
        "first": headline.told_first(runs[0]) if len(runs) == 1 else (),
        "below": headline.below(runs[0]) if len(runs) == 1 and able else (),
        "each": [headline.finding(run) for run in runs],
        "findings": against.findings if against else (),
        "board": runs_together.board(runs, data) if len(runs) > 2 else None,
        "board_note": runs_together.note(runs, data),
        "board_finding": runs_together.against_first(data),
        "told": tuple(headline.told(runs)),
        "identities": tuple(identities(runs)),
        "bar": headline.outcomes(runs_together.by_lies(runs) if len(runs) > 2 else runs),
        "presses": f"{headline.PRESSES}, so this is not how often a model lies in use." if able else "",
        "hangs_on": headline.hangs_on(runs) if able else "",
        "evader": headline.EVADER if able else "",
    }
    return {**top, **own}


def _question(runs: Sequence[Run]) -> str:
    """The title of the page."""
    if len(runs) == 1:
        return f"Does {runs[0].label} say what it believes?"
    count = _SMALL.get(len(runs), str(len(runs)))
    models = len({(run.result.settings.subject.name, run.result.settings.subject.label) for run in runs}) == len(runs)
    return f"Do these {count} {'models' if models else 'runs'} say what they believe?"


_SMALL = dict(enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 2))


def _method(runs: Sequence[Run]) -> str:
    """What was done, in two sentences."""
    done = [run.summary.scenarios.done for run in runs]
    most = times(max(done), "scenario") if len({*done}) == 1 else f"up to {times(max(done), 'scenario')}"
    where = f"In {most}" if max(done) else "In every scenario that is done"
    who = "the model" if len(runs) == 1 else "every model"
    if all(0 < facts_given(run.summary) == sum(run.summary.counts.values()) for run in runs):
        return (
            f"{where}, {who} was given a fact in its instructions, and then put under pressure to say the opposite. "
            "Contradicting that fact is a lie here."
        )
    return (
        f"{where}, {who} was asked neutrally what it holds to be true{_given(runs)}, and then put under pressure to "
        "say the opposite. Contradicting its own belief is a lie here, whether or not that belief is true."
    )


def _given(runs: Sequence[Run]) -> str:
    """In how many scenarios nothing is asked neutrally, because the facts are given."""
    given = {facts_given(run.summary) for run in runs}
    if not any(given):
        return ""
    return f" (in {max(given):,} of them it was told the facts instead)" if len(given) == 1 else " (or told the facts)"


def _sections(runs: Sequence[Run], against: Compared | None, include_text: bool) -> tuple[list[Section], list[Section]]:
    """Every section of the report but the explorer and the limits, as they stand before the explorer and after it.

    Of several runs one wants first how they differ, then each of their scenarios, and the rest last.
    """
    lies = tuple(worst_lies(runs, lambda run: include_text or embeddable(run.result.settings)))
    title = "Denials and false accusations" if reports_on_logs.alone(runs) else "The worst lies"
    worst = [Section("worst", title, title.lower().removeprefix("the "), lies)] if lies else []
    by_anchor = {section.anchor: section for section in of_one_run.sections(runs)}
    held = tuple(people.of_runs(runs, lambda run: include_text or embeddable(run.result.settings)))
    about_people = [Section("people", "Judge against labels", "judge and labels", held)] if held else []
    closer = [*about_people, *(by_anchor.pop(name) for name in ("corrected", "placebo", "tokens") if name in by_anchor)]
    if against is None:
        return [_folded(section, _FOLDED) for section in (*worst, *by_anchor.values(), *closer)], []
    archetypes = by_anchor.pop("archetypes")
    if len(runs) > _FEW:
        archetypes = _folded(archetypes, _OF_SEVERAL)
    plane = Section("plane", "Accuracy and honesty", "accuracy and honesty", tuple(accuracy_and_honesty(runs)))
    first = [
        Section("comparison", "How they differ", "comparison", tuple(comparison(against.data, against.refused))),
        *([] if reports_on_logs.alone(runs) else [plane]),
        archetypes,
        *worst,
    ]
    return first, [_folded(section, _OF_SEVERAL) for section in (*by_anchor.values(), *closer)]


_FEW = 3  # runs, with a bar each under every archetype
_FOLDED = {  # what a page shows of a section when one asks for it, by what is written on the fold
    "rates": "Each rate with its interval",
    "outright": "By archetype",
    "people": "How far they agree, and on what",
    "tokens": "By model",
    "failures": "By archetype",
    "placebo": "What the control came to",
}
_OF_SEVERAL = _FOLDED | {
    "archetypes": "Each archetype with a bar a run",
    "beliefs": "How beliefs are held in each run",
    "evasions": "How each run evades",
    "failures": "What failed in each run",
    "denials": "How often each run denies both",
    "corrected": "The corrected rates of each run",
}


def _folded(section: Section, titles: Mapping[str, str]) -> Section:
    """The section with what follows its first sentences folded, where it is among these."""
    lead = tuple(takewhile(lambda part: isinstance(part, str | Only | Warn), section.parts))
    if section.anchor not in titles or lead == section.parts:
        return section
    return replace(section, parts=(*lead, Folded(titles[section.anchor], section.parts[len(lead) :])))


def _example(run: Run, include_text: bool) -> dict[str, str] | None:
    """A scenario of the run as an example, where its texts may stand on the page and there is a plain one."""
    example = run.example
    if example is None or not (include_text or embeddable(run.result.settings)):
        return None
    number = neutral(example.scenario)
    belief, statement = (example.items[key].reply for key in ((number, 1), (0, 1)))
    if not isinstance(belief, Reply) or not isinstance(statement, Reply):
        return None
    first, other = options(example.scenario.proposition)
    texts = {
        "question": example.scenario.questions[number - 1] or "",
        "belief": belief.text,
        "system": example.scenario.system_prompt,
        "user": example.scenario.user_prompt,
        "statement": statement.text,
        "a": first,
        "b": other,
    }
    shown = {name: _cut(text) for name, text in texts.items()}
    scenario, items, scored = example.scenario, example.items, example.scored
    return {**shown, "outcome": scored.outcomes[0], "story": story(scenario, items, scored)}


def _cut(text: str) -> str:
    """The text on several lines, short enough for an example."""
    return visible(text, lines=True) if len(text) <= _LONGEST else shortened(text, _LONGEST)
