"""Imported rows held against scenarios: by task_id, by what they say, and by the questions that there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from maskbench.errors import Problem, ScenarioError, UsageError
from maskbench.interop.imported_rows import ImportedReply, ImportedScenario
from maskbench.interop.published_verdicts import bounds_of
from maskbench.method.said_and_did import is_on_log
from maskbench.plain import common_form, plain
from maskbench.types import BinaryVerdict, Judgement, Range, Reply, Scenario

Pair: TypeAlias = tuple[Scenario, ImportedScenario]

_QUESTIONS = ("belief_elicit_1", "belief_elicit_2", "belief_elicit_3")
_TURN = ("dd_turn_1_prompt", "dd_turn_1_response")
_SAMPLES = 1000  # of one question at most


def matched(rows: Sequence[ImportedScenario], scenarios: Sequence[Scenario], name: str) -> list[Pair]:
    """Every row with its scenario, in the order of the set; scenarios that no row is about are left out.

    Raises ScenarioError with every row that has none, that says something else, or stands twice.
    """
    known = _Known(scenarios, name)
    problems: list[Problem] = []
    pairs: dict[tuple[str, str], Pair] = {}
    for row in rows:
        scenario = known.scenario_of(row)
        if isinstance(scenario, Problem):
            problems.append(scenario)
            continue
        problems += _misfits(row, scenario, name)
        if twin := pairs.get(scenario.key):
            first = f"{twin[1].file}, row {twin[1].row}"
            problems.append(_problem(row, "task_id", f"{scenario.task_id} stands in {first} already", "Remove one"))
        pairs[scenario.key] = scenario, row
    if problems:
        raise ScenarioError(f"The rows do not match the scenarios of {name}; nothing was written:", problems)
    if not pairs:
        raise ScenarioError("There is no row to import. Give a source that holds one.")
    return [pairs[scenario.key] for scenario in scenarios if scenario.key in pairs]


def as_asked(scenarios: Sequence[Scenario], asked: Sequence[str]) -> list[Scenario]:
    """The scenarios without the neutral questions that nobody asked; raises UsageError for an unknown name.

    On an agent's log the three questions ask for three things, so they stay.
    """
    if (others := sorted({*asked} - {*_QUESTIONS})) or _QUESTIONS[0] not in asked:
        what = f"{plain(others[0])} is no neutral question" if others else f"{_QUESTIONS[0]} is not among them"
        raise UsageError(f"--asked: {what}. Name those of {', '.join(_QUESTIONS)} that were asked, and the first.")
    return [each if is_on_log(each) else _as_asked(each, asked) for each in scenarios]


def _as_asked(scenario: Scenario, asked: Sequence[str]) -> Scenario:
    first, second, third = scenario.questions
    return replace(
        scenario,
        questions=(first, second if _QUESTIONS[1] in asked else None, third if _QUESTIONS[2] in asked else None),
    )


def without(rows: Sequence[ImportedScenario], asked: Sequence[str]) -> list[ImportedScenario]:
    """The rows without the texts of neutral questions that nobody asked."""
    left = {*_QUESTIONS} - {*asked}
    return [replace(row, texts={name: text for name, text in row.texts.items() if name not in left}) for row in rows]


class _Known:
    """The scenarios of a set by task_id, and by what they say."""

    def __init__(self, scenarios: Sequence[Scenario], name: str) -> None:
        self._name = name
        self._by_id: defaultdict[str, list[Scenario]] = defaultdict(list)
        self._by_text: defaultdict[tuple[str, ...], list[Scenario]] = defaultdict(list)
        for scenario in scenarios:
            self._by_id[scenario.task_id].append(scenario)
            self._by_text[_said(columns(scenario))].append(scenario)

    def scenario_of(self, row: ImportedScenario) -> Scenario | Problem:
        """The scenario that the row is about, by task_id or, where that is missing, by its texts."""
        if row.task_id:
            there = self._by_id.get(row.task_id, [])
        elif {"system_prompt", "user_prompt", "proposition"} <= row.texts.keys():
            there = self._by_text.get(_said(row.texts), [])
        else:
            return _problem(row, "task_id", "the cell is empty", "Write the task_id of the scenario")
        fitting = [each for each in there if row.archetype in (None, each.archetype)]
        if len(fitting) == 1:
            return fitting[0]
        what = row.task_id or "a scenario with these texts"
        if fitting:
            several = f"{what} is in {self._name} in {', '.join(sorted(each.archetype for each in fitting))}"
            return _problem(row, "archetype", several, "Write which of them is meant")
        if there:
            other = f"{what} is of {there[0].archetype} in {self._name}, and of {row.archetype} here"
            return _problem(row, "archetype", other, "Give the scenarios that were asked")
        return _problem(row, "task_id", f"{what} is not in {self._name}", "Give the scenarios that were asked")


def columns(scenario: Scenario) -> dict[str, str]:
    """The texts of a scenario by the columns of the data set; what it does not have is empty."""
    questions = dict(zip(_QUESTIONS, (question or "" for question in scenario.questions), strict=True))
    turn = dict(zip(_TURN, scenario.first_turn or ("", ""), strict=True))
    own = {"system_prompt": scenario.system_prompt, "user_prompt": scenario.user_prompt}
    return {**own, "proposition": scenario.proposition, **questions, **turn}


def _misfits(row: ImportedScenario, scenario: Scenario, name: str) -> Iterator[Problem]:
    """Everything in which a row is not about this scenario."""
    own = columns(scenario)
    remedy = "Give the scenarios that were asked, or mend the cell"
    for column, text in row.texts.items():
        if column in own and common_form(text).strip() != common_form(own[column]).strip():
            yield _problem(row, column, f"it is another text than {name} has for {scenario.task_id}", remedy)
    if (truth := row.texts.get("formatted_ground_truth")) and not _is_truth(truth, scenario):
        yield _problem(row, "formatted_ground_truth", f"{name} has another one for {scenario.task_id}", remedy)
    places = [(reply.elicitation, reply.sample) for reply in row.replies]
    for place in sorted({place for place in places if places.count(place) > 1}):
        yield _problem(row, None, f"{_named(*place)} stands more than once", "Remove all but one")
    for reply in row.replies:
        yield from _unasked(row, reply, scenario)


def _unasked(row: ImportedScenario, reply: ImportedReply, scenario: Scenario) -> Iterator[Problem]:
    """What a sample is that its scenario has no place for: nobody could ask that."""
    asked = {0, *(number for number, question in enumerate(scenario.questions, 1) if question)}
    most = _SAMPLES if reply.elicitation <= 1 else 1
    sample = _named(reply.elicitation, reply.sample)
    if isinstance(reply.outcome, Reply) and reply.elicitation not in asked:
        yield _problem(row, sample, f"{scenario.task_id} has no such question", "Remove it, or mend the scenario")
    elif not 1 <= reply.sample <= most:
        yield _problem(row, sample, f"samples go from 1 to {most}", "Mend the number")
    if isinstance(reply.verdict, Judgement):
        is_binary = isinstance(reply.verdict.verdict, BinaryVerdict)
        if is_binary != (scenario.kind == "binary"):
            has = "a letter" if is_binary else "bounds"
            yield _problem(row, sample, f"its verdict is {has}, and {scenario.task_id} is {scenario.kind}", "Mend it")


def _named(elicitation: int, sample: int) -> str:
    return f"statement, sample {sample}" if elicitation == 0 else f"belief_elicit_{elicitation}, sample {sample}"


def _is_truth(text: str, scenario: Scenario) -> bool:
    if not isinstance(scenario.truth, Range):
        return text.strip().upper() == scenario.truth
    bounds = bounds_of(text)
    return bounds is not None and len(bounds) == 2 and Range.between(*bounds) == scenario.truth


def _said(texts: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(common_form(texts[name]).strip() for name in ("system_prompt", "user_prompt", "proposition"))


def _problem(row: ImportedScenario, column: str | None, problem: str, remedy: str) -> Problem:
    return Problem(row.file, row.row, column, problem, remedy)
