"""Tasks as pure functions: from any state of what is known, answering what is asked ends, and then it can be scored."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from flows import scenario
from maskbench.method.folds import finished, unfold
from maskbench.method.forms import load_prompts
from maskbench.method.forms.hearing import Hearing
from maskbench.method.steps import REPLIES, Again, Known, Slot, State, Task, Unread, is_open, then
from maskbench.method.tasks import placebo, verdicts, whole
from maskbench.settings import Settings
from maskbench.types import ARCHETYPES, BinaryVerdict, Failure, Item, Judgement, NumericalVerdict, Reply, Scenario

PROMPTS = load_prompts()
BASE = Settings.of("sim", "sim-judge", "starter", statements=2, placebo=True)
APART = BASE.having(judge_numbers="apart", beliefs=2)
SETTINGS = {"plain": BASE, "numbers apart": APART}
FAILED = Failure("subject", "timeout", "No answer.")


def items_of(known: Known, into: str) -> list[Item]:
    """The samples that an outcome hangs on, with the verdicts of a set."""
    calls, items = ("statement", "direct", "consistency", "consistency"), []
    for slot, state in known.items():
        if slot.into == REPLIES and slot.elicitation < len(calls) and isinstance(state, Reply | Failure):
            judged = known.get(Slot(into, slot.elicitation, slot.run))
            judgement = judged if isinstance(judged, Judgement | Failure) else None
            items.append(Item(calls[slot.elicitation], slot.elicitation, slot.run, state, judgement))
    return items


def judging_of(settings: Settings) -> Hearing:
    """How replies are judged under these settings."""
    return Hearing(settings, PROMPTS)


def tasks_of(settings: Settings) -> dict[str, Task]:
    """Every task, by name; those that ask about replies come after the protocol."""
    judging = judging_of(settings)
    protocol = whole(judging)
    return {
        "whole": protocol,
        "placebo": then(protocol, placebo(judging, asks_subject=True)),
        "another judge": then(protocol, verdicts(replace(judging, into="another"))),
    }


def answer(about: Scenario, slot: Slot, state: State | None, rng: Random) -> State:
    """What comes for a place, at random: a reply or a verdict, an answer without a verdict once, a failure."""
    if rng.random() < 0.15:
        return FAILED if slot.into == REPLIES else replace(FAILED, stage="judge")
    if slot.into == REPLIES:
        return Reply("So it is.", reasoning=rng.choice([None, "I think."]))
    if not isinstance(state, Unread) and rng.random() < 0.2:
        return Unread(Reply("Hm."), 1)
    if about.kind == "numerical" and slot.elicitation <= 3:
        number = rng.choice([None, 1.0, 7.0])
        return Judgement(NumericalVerdict(number, number))
    return Judgement(BinaryVerdict(rng.choice("ABCD")))  # type: ignore[arg-type]


def carried_out(task: Task, about: Scenario, known: dict[Slot, State], rng: Random, most: int = 10_000) -> int:
    """Answer what is asked, some of it at a time and in any order, at most so often; returns how many answers came."""
    count = 0
    while count < most and (steps := task(about, known)):
        for step in rng.sample(steps, rng.randint(1, len(steps))):
            for slot in step.fills:
                state = known.get(slot)
                assert is_open(state) or isinstance(state, Unread), f"{slot} has its answer already"
                known[slot] = answer(about, slot, state, rng)
                count += 1
    return count


def afresh(known: Known) -> dict[Slot, State]:
    """What is known as a new session sees it: failures are asked again, and an answer without a verdict is lost."""
    states = {slot: state for slot, state in known.items() if not isinstance(state, Unread)}
    return {slot: Again(state) if isinstance(state, Failure) else state for slot, state in states.items()}


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("name", tasks_of(BASE))
@given(seed=st.integers(0, 10**6), archetype=st.sampled_from(ARCHETYPES))
@examples(max_examples=40)
def test_answering_ends_and_can_be_scored(how: str, name: str, seed: int, archetype: str) -> None:
    """Killed at any answer and gone on with, it ends, asks nothing twice that has an answer, and can be scored then."""
    settings, rng = SETTINGS[how], Random(seed)
    task, about, known = tasks_of(settings)[name], scenario(archetype, 1), dict[Slot, State]()
    carried_out(task, about, known, rng, most=rng.randint(0, 12))
    for _ in range(2):
        known = afresh(known)
        assert carried_out(task, about, known, rng) < 200
    items = items_of(known, "default")
    assert finished(about, items, settings) is not None


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("archetype", ARCHETYPES)
def test_a_fold_is_the_task_unfolded(how: str, archetype: str) -> None:
    """What is counted beforehand is what is asked where nothing fails; every place is filled once."""
    settings, about = SETTINGS[how], scenario(archetype, 1)
    steps = list(unfold(tasks_of(settings)["whole"], about, {}, lambda _: Reply("x")))
    slots = [slot for step in steps for slot in step.fills]
    assert len(slots) == len(set(slots))
    assert {slot.into for slot in slots} == {REPLIES, "default"}


def test_a_task_builds_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked next follows from the shape of a scenario: texts are made when a request goes out."""
    about = scenario("known_facts", 1)
    for name in ("forms.jointly.ask_about_beliefs", "forms.apart.ask_about"):
        monkeypatch.setattr(f"maskbench.method.{name}", None)
    monkeypatch.setattr("maskbench.method.tasks.subject_ask", None)
    task = whole(judging_of(BASE))
    known: dict[Slot, State] = {}
    assert carried_out(task, about, known, Random(1)) > 5
