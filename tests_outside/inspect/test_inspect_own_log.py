"""Logs of our own task in Inspect, made of what the task leaves in them: as a run they have the task's own figures."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

import flows
import maskbench
from inspect_logs import Made, archive, call, header, output, read
from inspect_logs import sample as port_sample
from maskbench import score_rows
from maskbench.errors import UsageError
from maskbench.interop.importing import import_run
from maskbench.interop.inspect_scores import row_of
from maskbench.store.folder import RunFolder
from maskbench.store.packed import pack
from maskbench.types import (
    ARCHETYPES,
    BinaryVerdict,
    Failure,
    Item,
    Judgement,
    Letter,
    NumericalVerdict,
    Reply,
    Scenario,
    Verdict,
)

ARGUMENTS: Made = {"scenarios": "mine", "statements": 2, "beliefs": 3, "rules": "reference", "max_error_rate": 0.5}
LOST = Failure("subject", "timeout", "It was too slow.")
TOO_FEW = Failure("judge", "too_few_replies", "It needs two.")
UNREADABLE = Failure("judge", "unreadable", "It says nothing.")


def items(scenario: Scenario, letters: str) -> dict[tuple[int, int], Item]:
    """What a scenario came to: a letter a place, `-` for a lost reply and `?` for a verdict that cannot be read.

    About a number A is 61 and B is 90, and the verdict on the neutral replies is the last one's letter, A where that
    reply is lost; it needs two replies.
    """
    asked = scenario.questions[0] is not None
    places = [(1, 1), (1, 2), (1, 3)] if asked else []
    places += [(number, 1) for number in (2, 3) if scenario.questions[number - 1]]
    places += [(0, 1), (0, 2)]
    made = {}
    for place, letter in zip(places, letters[-len(places) :], strict=True):
        reply = LOST if letter == "-" else Reply(f"Said at {place}.")
        judgement = None if letter == "-" else judged(scenario, letter)
        if scenario.kind == "numerical" and place[0] == 1:
            few = letters[-len(places) :][:3].count("-") > 1
            joint = TOO_FEW if few else judged(scenario, letter.replace("-", "A"))
            judgement = joint if place[1] == 3 else None
        made[place] = Item("direct" if place[0] else "statement", *place, reply, judgement)
    return made


def judged(scenario: Scenario, letter: str) -> Judgement | Failure:
    """A verdict of the kind that the scenario has."""
    if letter == "?":
        return UNREADABLE
    known: Mapping[str, Letter] = {"A": "A", "B": "B", "C": "C"}
    numbers: Verdict = NumericalVerdict(*((61.0, 61.0) if letter == "A" else (90.0, 90.0)))
    return Judgement(numbers if scenario.kind == "numerical" else BinaryVerdict(known[letter]), "It says so.")


def sample(scenario: Scenario, letters: str, epoch: int = 1, weight: float = 1.0) -> Made:
    """A sample as the task leaves it."""
    made = items(scenario, letters)
    events: list[Made] = []
    for (elicitation, run), item in made.items():
        name = {0: f"statement {run}", 1: f"direct {run}"}.get(elicitation, f"consistency {elicitation}")
        events.append({"event": "span_begin", "id": name, "name": name})
        if isinstance(item.reply, Reply):  # the first try was all thoughts
            events.append(call([], output("<think>Let me", "max_tokens"), span_id=name))
            events.append(call([], output([{"type": "text", "text": f"attachment://{name}"}]), span_id=name))
        else:
            events.append(call([], error="TimeoutError", span_id=name))
        events.append({"event": "span_begin", "id": f"j{name}", "name": f"judge: {name}"})
        events.append(call([], output("A"), span_id=f"j{name}"))
    return {
        "id": "/".join(scenario.key),
        "epoch": epoch,
        "input": "",
        "target": "",
        "store": {"verdicts": row_of(scenario, weight, made), "scenario": orjson.loads(pack(scenario))},
        "events": events,
        "attachments": {
            event["name"]: f"<think>Hm.</think>I say {event['name']}." for event in events if "name" in event
        },
    }


def written(path: Path, samples: list[Made], **more: Any) -> Path:
    """A `.eval` file of our task, whose members have the ids of the samples with their slash."""
    told = {"task": "maskbench/maskbench", "task_args": ARGUMENTS, "metadata": {"maskbench": "0.2.0"}, **more}
    roles = {"model_roles": {"judge": {"model": "openai/gpt-4o"}}}
    members = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in samples}
    return archive(path, {**members, "header.json": header(**{**roles, **told})})


def whole() -> list[Made]:
    """Scenarios of each archetype: outcomes of each kind, lost replies, and verdicts that cannot be read."""
    letters = ("AAAAABA", "AAAAAA-", "AAABBBA", "AACAACA", "A-AAAAA", "AA?AA?B")
    some = [(each, letters[at % len(letters)]) for at, each in enumerate(flows.scenarios(2))]
    about = ("A-ABA", "AA-BA", "--AAB", "A--AB", "AA?AB", "ABAAB")
    numbers = zip(flows.scenarios(8, ["statistics"])[2:], about, strict=True)
    return [sample(each, said, weight=1 + at / 4) for at, (each, said) in enumerate([*some, *numbers])]


def test_an_imported_log_has_the_figures_of_the_task(tmp_path: Path) -> None:
    """A log becomes a run whose outcomes, rates and intervals are those that the task computes."""
    samples = whole()
    rows = [each["store"]["verdicts"] for each in samples]
    brought = import_run(written(tmp_path / "log.eval", samples), tmp_path / "run")
    wanted = score_rows(rows, max_error_rate=0.5)
    theirs = {(each.archetype, each.task_id): each for each in wanted.scenarios}
    result = maskbench.score(tmp_path / "run")
    assert {each.outcome for each in result.scenarios} >= {"lie", "honest", "evasive", "no_belief", "error"}
    for ours in result.scenarios:
        their = theirs.pop(ours.key)
        assert (ours.resolved, ours.outcomes, ours.accuracy) == (their.resolved, their.outcomes, their.accuracy)
        assert ours.weight == their.weight
    assert not theirs
    assert brought.summary.rates == wanted.whole.rates
    assert brought.summary.rates["p_lie"].value is not None
    assert (brought.scenarios, brought.unjudged) == (2 * len(ARCHETYPES) + 6, 0)
    settings = RunFolder(tmp_path / "run").settings()
    assert settings.judging.judge == settings.judging.numeric_judge == "openai/gpt-4o"
    assert (settings.design.statements, settings.design.max_error_rate) == (2, 0.5)
    assert (settings.subject.sampling.temperature, settings.subject.sampling.max_tokens) == (0.7, 900)


def test_replies_and_scenarios_come_whole(tmp_path: Path) -> None:
    """Each place has the last answer of its span, with reasoning and tokens, and each scenario all of its texts."""
    scenario = flows.scenario("known_facts", 1)
    import_run(written(tmp_path / "log.eval", [sample(scenario, "AAAAAB-")]), tmp_path / "run")
    with closing(RunFolder(tmp_path / "run").store()) as store:
        ((stored, weight),) = store.scenarios()
        there = {(item.elicitation, item.run): item for item in store.samples(scenario).items()}
    assert (stored, weight) == (scenario, 1.0)
    for place, name in {(1, 3): "direct 3", (2, 1): "consistency 2", (0, 1): "statement 1"}.items():
        reply = there[place].reply
        assert isinstance(reply, Reply)
        assert (reply.text, reply.reasoning, reply.usage.output) == (f"I say {name}.", "Hm.", 5)
    assert there[0, 2].reply == LOST


def test_a_reply_that_may_not_be_whole_is_a_failure(tmp_path: Path) -> None:
    """Where Inspect does not know how a reply ended, it is none, and the verdict on it falls with it."""
    made = sample(flows.scenario("known_facts", 1), "AAAAAAB")
    last = [event for event in made["events"] if event.get("span_id") == "statement 1"][-1]
    last["output"]["choices"][0]["stop_reason"] = "unknown"
    import_run(written(tmp_path / "log.eval", [made]), tmp_path / "run")
    with closing(RunFolder(tmp_path / "run").store()) as store:
        ((stored, _),) = store.scenarios()
        there = {(item.elicitation, item.run): item for item in store.samples(stored).items()}
    assert isinstance(there[0, 1].reply, Failure)
    assert there[0, 1].reply.cause == "unknown_end"
    assert there[0, 1].judgement is None
    assert isinstance(there[0, 2].reply, Reply)


def test_what_the_task_leaves_out_is_left_out(tmp_path: Path) -> None:
    """Further epochs and samples that ended before they were judged are counted, and are no part of the run."""
    first, second, third = (flows.scenario("known_facts", number) for number in (1, 2, 3))
    ended = {**sample(third, "AAAAAAA"), "store": {}}
    samples = [sample(first, "AAAAAAB"), sample(first, "AAAAABB", epoch=2), sample(second, "BBBBBAA"), ended]
    brought = import_run(written(tmp_path / "log.eval", samples), tmp_path / "run")
    assert brought.scenarios == 2
    assert any(note.startswith("2 samples of the log were left out") for note in brought.source.notes)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"events": []}, "has a verdict on elicitation 1, sample 1, and not the reply"),
        ({"store": {"verdicts": {"task_id": 3}}}, "is not as Inspect writes it"),
        ({"scenario": None}, "holds no sound scenario"),
        ({"scenario": {"task_id": "x"}}, "holds no sound scenario"),
        ({"scenario": {**orjson.loads(pack(flows.scenario())), "kind": "numerical"}}, "holds no sound scenario"),
    ],
)
def test_a_damaged_log_is_refused(tmp_path: Path, change: Made, told: str) -> None:
    """What the task did not write so is refused by its place, and nothing is left behind."""
    made = sample(flows.scenario(), "AAAAAAB")
    made |= {"store": {**made["store"], **change}} if "scenario" in change else change
    with pytest.raises(UsageError, match=told):
        import_run(written(tmp_path / "log.eval", [made]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_arguments_that_cannot_be_meant_are_refused(tmp_path: Path) -> None:
    """Task arguments of another type, and rules that there are not, are refused with what is wrong."""
    for arguments in ({"statements": "two"}, {"rules": "mine"}, {"system_prompt": ["honest"]}):
        path = written(tmp_path / "log.eval", [sample(flows.scenario(), "AAAAAAB")], task_args=arguments)
        with pytest.raises(UsageError, match="task arguments that cannot be meant"):
            import_run(path, tmp_path / "run")


def test_a_folder_of_several_logs_is_refused(tmp_path: Path) -> None:
    """Each log of ours is a run: of a folder one is chosen by its subject, and logs of both tasks are not mixed."""
    (tmp_path / "logs").mkdir()
    for name in ("a", "b"):
        written(tmp_path / "logs" / f"{name}.eval", [sample(flows.scenario(), "AAAAAAB")], model=f"openai/{name}")
    with pytest.raises(UsageError, match=r"has 2 logs of maskbench's own task \(a\.eval, b\.eval\)"):
        import_run(tmp_path / "logs", tmp_path / "run")
    assert import_run(tmp_path / "logs", tmp_path / "run", subject="openai/b").scenarios == 1
    archive(tmp_path / "logs" / "0.eval", {"samples/1_epoch_1.json": port_sample(), "header.json": header()})
    with pytest.raises(UsageError, match="a log of maskbench's own task, and not of the port"):
        read(tmp_path / "logs")


def test_a_developers_prompt_is_the_arms(tmp_path: Path) -> None:
    """The system prompt's name and text are those of the task."""
    told = {"maskbench": "0.2.0", "system_prompt_text": "Be short."}
    given: dict[str, Any] = {"task_args": {**ARGUMENTS, "system_prompt": "honest"}, "metadata": told}
    import_run(written(tmp_path / "log.eval", [sample(flows.scenario(), "AAAAAAB")], **given), tmp_path / "run")
    settings = RunFolder(tmp_path / "run").settings()
    assert (settings.design.system_prompt, settings.design.system_prompt_text) == ("honest", "Be short.")
