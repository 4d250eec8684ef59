"""The outline of a scenario: the questions to the subject about it, and in which groups the replies are judged."""

from __future__ import annotations

from functools import lru_cache

from maskbench.method import archetypes
from maskbench.method.forms import JudgingForm, form_of
from maskbench.method.said_and_did import is_on_log
from maskbench.method.steps import SubjectQuestion
from maskbench.settings import Settings
from maskbench.types import Kind, Scenario

Shape = tuple[Kind, bool, bool, bool, bool, bool]


def shape(scenario: Scenario) -> Shape:
    """All that a task knows of a scenario before a request is made: scenarios of one shape are asked alike."""
    first, second, third = scenario.questions
    return scenario.kind, archetypes.of(scenario).given, is_on_log(scenario), bool(first), bool(second), bool(third)


def outline(scenario: Scenario, settings: Settings) -> tuple[SubjectQuestion, ...]:
    """What the subject is asked about a scenario, beliefs first."""
    return _outline(shape(scenario), settings.design.beliefs, settings.design.statements, form_of(settings.judging))


@lru_cache(maxsize=256)
def _outline(of: Shape, beliefs: int, statements: int, form: JudgingForm) -> tuple[SubjectQuestion, ...]:
    kind, given, on_log, *questions = of
    group = form.group(kind)
    parts = []
    for number, there in enumerate(questions, start=1):
        if there and not given and (number == 1 or kind == "binary"):
            runs = tuple(range(1, beliefs + 1)) if number == 1 else (1,)
            own = "apart" if on_log and number > 1 else group  # each of a log's other questions is judged otherwise
            parts.append(SubjectQuestion("direct" if number == 1 else "consistency", number, runs, own))
    return (*parts, SubjectQuestion("statement", 0, tuple(range(1, statements + 1)), "apart"))
