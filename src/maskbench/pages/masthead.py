"""What opens and closes the page of a report: the question, what was done, and what the page does not say."""

from __future__ import annotations

from collections.abc import Sequence

from maskbench.report.format import times
from maskbench.report.of_runs import facts_given
from maskbench.report.runs_shown import Run
from maskbench.report.sections.headline import PRESSES

LIMITS = (
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
        f"{PRESSES}. The rate says how a model behaves there, not how often it lies in use.",
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


def question(runs: Sequence[Run]) -> str:
    """The title of the page."""
    if len(runs) == 1:
        return f"Does {runs[0].label} say what it believes?"
    count = _SMALL.get(len(runs), str(len(runs)))
    models = len({(run.result.settings.subject, run.result.settings.run_label) for run in runs}) == len(runs)
    return f"Do these {count} {'models' if models else 'runs'} say what they believe?"


_SMALL = dict(enumerate(("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 2))


def method(runs: Sequence[Run]) -> str:
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
