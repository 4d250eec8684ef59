"""People answer the questions on statements: which ones are drawn, what is shown of them, and what people say.

The sample is a run's second one, kept beside the other in construct_labels.sqlite. Its strata are what the judge made
of a statement, lie or not, by what it answered on it, through all archetypes: non-lies are drawn, too, since the judge
may have missed a lie. An answer is stored by its letter, as a judge's is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import cast

from maskbench.errors import UsageError
from maskbench.judges.construct_answers import Answers, answers_of
from maskbench.judges.people.as_shown import Shown, conversation, labelled, part_id, shown
from maskbench.judges.people.drawn_sample import Design, Key, draw
from maskbench.judges.people.labelled_outcomes import Drawn, all_scored, checked, drawn, together, with_sample
from maskbench.judges.people.labels import LabelStore, standing
from maskbench.judges.verdict_sets import OpenRun
from maskbench.method.construct import QUESTIONS, answer_of
from maskbench.method.forms.questions import prompt_of
from maskbench.method.outcomes import score
from maskbench.method.rules import RuleSet, named
from maskbench.models.chat.control_marks import before_mark
from maskbench.types import OUTCOMES, Item, OutcomeName, Reply, Scenario, Verdict

FILE = "construct_labels.sqlite"


@dataclass(frozen=True, slots=True)
class PeopleSay:
    """What people say of one statement of the sample: their answers, and whether it is a lie (None: not labelled).

    `stratum` is the one that it was drawn from; `raters` has the answers of each rater.
    """

    answers: Answers
    lies: bool | None
    stratum: str
    raters: Mapping[str, Answers]


def construct_store(run: OpenRun, folder: Path | None = None) -> LabelStore:
    """Where people's answers on this run's statements are kept: in its folder, or in another one."""
    return LabelStore(folder or run.folder.path, FILE, by_archetype=False)


def prepare_construct(
    run: OpenRun,
    size: int | None = None,
    seed: int | None = None,
    verdicts: str | None = None,
    folder: Path | None = None,
) -> LabelStore:
    """The run's store of answers, the sample being drawn or enlarged where that is asked for.

    Raises UsageError where what is asked for is not what was drawn, and for a run whose judge was not asked.
    """
    return with_sample(construct_store(run, folder), partial(_design, run), size, seed, verdicts)


def _design(run: OpenRun, size: int, seed: int, verdicts: str | None) -> Design:
    judged, path = run.verdicts(verdicts), run.folder.path
    answers = answers_of(run)
    if not answers:
        raise UsageError(
            f"{path}: nobody was asked the questions on statements, so there is nothing to hold people's answers "
            f"against. Ask the judge first: maskbench judge {path} --construct"
        )
    rules = named(run.settings.design.rules)
    strata = {
        row.key: stratum(row.outcomes[0] == "lie", answers.get((row.key, 1), {}))
        for row in all_scored(run, judged, rules)
        if row.outcomes[0] in OUTCOMES[:4]
    }
    salt = construct_store(run).kept_salt()
    design = draw(cast(Mapping[Key, OutcomeName], strata), size, seed, judged.name, rules.name, salt)
    return replace(checked(design, path), by_archetype=False)


def stratum(lies: bool, answers: Answers) -> str:
    """What the judge made of a statement: lie or not, which narrower reading fits, and whether anybody asked for it."""
    known = [name for name in ("performance", "addressee", "harm") if name in answers]
    counts = {name: QUESTIONS[name].is_positive(answers[name]) for name in known}
    if counts.get("performance"):
        level = "performance"
    elif counts.get("addressee") is False:
        level = "nobody else"
    else:
        level = "high harm" if counts.get("harm") else "to others" if counts else "unknown"
    asked = answers.get("asked_by")
    return f"{'lie' if lies else 'no lie'}, {level}{', not asked for' if asked == 'nobody' else ''}"


def construct_drawn(
    run: OpenRun, labels: LabelStore, names: Sequence[str] = tuple(QUESTIONS), *, outcomes: bool = False
) -> list[Drawn]:
    """Every scenario of the sample with these questions, and with `outcomes` all that its outcome hangs on, too."""
    design = labels.design()

    def parts(scenario: Scenario, items: Sequence[Item]) -> list[Shown]:
        own = shown(scenario, items, run.settings, design.salt) if outcomes else ()
        return [*own, *_parts(scenario, items, names, design.salt)]

    return drawn(run, design, parts)


def _parts(scenario: Scenario, items: Sequence[Item], names: Sequence[str], salt: str) -> list[Shown]:
    texts = [
        before_mark(item.reply.text)
        for item in items
        if (item.elicitation, item.run) == (0, 1) and isinstance(item.reply, Reply)
    ]
    return [_part(scenario, name, text, salt) for text in texts for name in names]


def _part(scenario: Scenario, name: str, text: str, salt: str) -> Shown:
    """One question on the first statement, with the words that the judge has of it."""
    question, turns = QUESTIONS[name], conversation(scenario, "statement", 0)
    return Shown(
        id=part_id("q", salt, *scenario.key, name, question.answers, turns, text),
        call="statement",
        kind="binary",
        archetype=scenario.archetype,
        claims=question.answers,
        conversation=turns,
        replies=(text,),
        places=((question.elicitation, 1),),
        people=_told(name),
        question=question.sentence,
    )


def _told(name: str) -> tuple[str, ...]:
    """What the judge is told on this question, line by line, without its form."""
    own = prompt_of(QUESTIONS[name]).split("\n## ", 1)[1].split("\n\n", 1)[1]
    lines = [line.removeprefix("- ").strip() for line in own.splitlines() if line.strip()]
    return tuple(lines[:-1])


def people_say(run: OpenRun, rules: RuleSet) -> dict[Key, PeopleSay]:
    """Every statement of the sample, with what people say of it as far as they do; empty where nothing was drawn."""
    labels = construct_store(run)
    if not labels.exists:
        return {}
    latest = {rater: standing(given) for rater, given in labels.latest().items()}
    roles = labels.raters()
    people = together(latest, roles)
    raters = {name: latest.get(name, {}) for name, role in roles.items() if role == "rater"}
    sample = {}
    for each in construct_drawn(run, labels, outcomes=True):
        own = [part for part in each.parts if part.question]
        sample[each.scenario.key] = PeopleSay(
            answers_by(own, people),
            _lies(each, people, run, rules),
            each.stratum[1],
            {name: answers_by(own, verdicts) for name, verdicts in raters.items()},
        )
    return sample


def answers_by(parts: Sequence[Shown], verdicts: Mapping[str, Verdict]) -> Answers:
    """Somebody's answers on one statement, by the question's name."""
    questions = {question.elicitation: question for question in QUESTIONS.values()}
    answers = {}
    for part in parts:
        question = questions[part.places[0][0]]
        if part.id in verdicts and (answer := answer_of(question, verdicts[part.id])) is not None:
            answers[question.name] = answer
    return answers


def _lies(about: Drawn, verdicts: Mapping[str, Verdict], run: OpenRun, rules: RuleSet) -> bool | None:
    """Whether the statement is a lie by people's verdicts; None where they have not labelled all that this hangs on."""
    parts = [part for part in about.parts if not part.question]
    items = labelled(about.scenario, about.items, run.settings, parts, verdicts)
    if items is None:
        return None
    outcome = score(about.scenario, about.weight, items, run.settings, rules).outcomes[0]
    return outcome == "lie" if outcome in OUTCOMES[:4] else None


def sizes_of(labels: LabelStore) -> Counter[str]:
    """How many statements each stratum has in the run."""
    return Counter(outcome for _, outcome in labels.design().population)
