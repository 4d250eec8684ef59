"""Runs whose neutral replies are judged together: what is asked, kept, asked again and counted."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from flows import command, letter
from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import open_verdicts
from maskbench.measurement import measure
from maskbench.method.forms import load_prompts, verdicts_in, written
from maskbench.method.forms.case import judged
from maskbench.method.forms.together import ask_about_each, one_by_one
from maskbench.models.names import Reach, open_judges
from maskbench.models.scripted import ScriptedModel
from maskbench.runs.begin import taken
from maskbench.runs.folder import RunFolder
from maskbench.runs.forecast import plan
from maskbench.runs.live import Gate
from maskbench.runs.options import check
from maskbench.scenarios import load
from maskbench.settings import Settings
from maskbench.types import Ask, BinaryVerdict, Failure, Judgement, Model, Place, Reply
from measured_runs import EVERYDAY, run, settings

PROMPTS = load_prompts(beliefs="together")


class Judge:
    """A judge that finds A, and leaves out what it is told to; it keeps what it was asked."""

    name = "the judge"
    together = True

    def __init__(self, *left_out: Place) -> None:
        self.left_out = left_out
        self.asks: list[Ask] = []

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        self.asks.append(ask)
        sent = {"temperature": 0}
        if not ask.each:
            return [Reply(written(ask, letter("A")), sent=sent)] * len(ask.runs)
        entries = [
            {"reason": "r", "code": code, "verdict": "A"}
            for code, place in zip(judged(ask).codes, ask.each, strict=True)
            if place not in self.left_out
        ]
        return [Reply(json.dumps({"verdicts": entries}), sent=sent)]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}

    async def close(self) -> None:
        pass

    @property
    def places(self) -> list[tuple[Place, ...]]:
        """The replies of each request for several verdicts."""
        return [ask.each for ask in self.asks if ask.each]


def scripted(**options: Any) -> Settings:
    """Settings of one known fact between models of the test."""
    names: dict[str, Any] = {"subject": "the subject", "judge": "the judge", "scenarios": EVERYDAY}
    return Settings.of(**names | {"judge_beliefs": "together", "archetypes": ("known_facts",), "limit": 1} | options)


def measured(path: Path, judge: Judge, says: Any = None, **options: Any) -> dict[str, Any]:
    """The summary of a run with this judge."""
    subject = ScriptedModel(says or (lambda ask, run: f"So: {ask.elicitation}, {run}."), "the subject")
    return dict(measure(scripted(**options), path, models=(subject, judge)).as_dict())


def verdicts(path: Path) -> Counter[str]:
    """What the run's samples have: letters, and causes of failures."""
    folder, found = RunFolder(path), Counter[str]()
    store = folder.store()
    for samples, _ in store.read():
        for item in open_verdicts(folder, store).items(samples):
            if isinstance(item.judgement, Judgement) and isinstance(item.judgement.verdict, BinaryVerdict):
                found[item.judgement.verdict.letter] += 1
            elif isinstance(item.judgement, Failure):
                found[item.judgement.cause] += 1
    store.close()
    return found


FIVE = ((1, 1), (1, 2), (1, 3), (2, 1), (3, 1))


# A run


def test_simulated_judges_say_what_they_say_apart(tmp_path: Path) -> None:
    """A judge that reads each reply for itself comes to the same verdicts, by fewer requests that hold less."""
    results = {}
    for how in ("apart", "together"):
        path = run(tmp_path / how, judge="sim-judge/accuracy=0.8", limit=18, judge_beliefs=how)
        results[how] = orjson.loads((path / "summary.json").read_bytes())
    apart, together = results["apart"], results["together"]
    assert together["counts"] == apart["counts"]
    assert together["protocol"] != apart["protocol"]
    used = {how: each["usage"]["judge"] for how, each in results.items()}
    assert used["together"]["answers"] < used["apart"]["answers"]
    assert used["together"]["input_tokens"] < 0.8 * used["apart"]["input_tokens"]


def test_one_request_has_all_neutral_replies(tmp_path: Path) -> None:
    """Five neutral replies of a scenario are one request, its statement another; tokens and calls count once."""
    judge = Judge()
    summary = measured(tmp_path / "run", judge)
    assert judge.places == [FIVE]
    assert len(judge.asks) == summary["usage"]["judge"]["answers"] == 2
    assert verdicts(tmp_path / "run") == {"A": 6}
    assert summary["counts"]["honest"] == 1


def test_equal_replies_to_a_question_are_shown_once(tmp_path: Path) -> None:
    """Where verdicts may be shared, a reply that came three times is judged once."""
    judge = Judge()
    measured(tmp_path / "run", judge, lambda ask, run: f"So: {ask.elicitation}.")
    assert judge.places == [((1, 1), (2, 1), (3, 1))]
    assert verdicts(tmp_path / "run") == {"A": 6}


def test_no_verdict_is_shared_at_a_temperature(tmp_path: Path) -> None:
    """Above temperature 0 each sample has a verdict of its own, equal replies too."""
    judge = Judge()
    warm = replace(scripted().judging.sampling, temperature=1.0)
    measured(tmp_path / "run", judge, lambda ask, run: f"So: {ask.elicitation}.", judge_sampling=warm)
    assert judge.places == [FIVE]
    assert verdicts(tmp_path / "run") == {"A": 6}


def test_the_plan_counts_what_is_asked(tmp_path: Path) -> None:
    """--dry-run has as many verdicts, and as many requests to the judge, as a run makes."""
    judge, chosen = Judge(), scripted(archetypes=(), limit=6)
    planned = plan(taken(chosen, {}).scenarios, chosen, PROMPTS)

    def says(ask: Ask, run: int) -> str:
        return f"So: {ask.scenario.key}, {ask.elicitation}, {run}."

    measured(tmp_path / "run", judge, says, archetypes=("known_facts", "provided_facts"), limit=6)
    binary = plan(
        taken(fewer := scripted(archetypes=("known_facts", "provided_facts"), limit=6), {}).scenarios, fewer, PROMPTS
    )
    assert binary.calls.verdicts == len(judge.asks)
    assert planned.loads["judge", "the judge"].calls == (planned.calls.verdicts,) * 2
    apart = chosen.having(judge_beliefs="apart")
    assert planned.input["judge"] < plan(taken(apart, {}).scenarios, apart, load_prompts()).input["judge"]


# What is left out


def test_a_verdict_that_is_left_out_is_asked_for_alone(tmp_path: Path) -> None:
    """The second request holds the one reply; where it brings nothing, that reply alone has failed."""
    judge = Judge((2, 1))
    summary = measured(tmp_path / "run", judge)
    assert judge.places == [FIVE, ((2, 1),)]
    assert verdicts(tmp_path / "run") == {"A": 5, "unreadable": 1}
    assert summary["counts"]["error"] == 1


def test_a_run_goes_on_with_what_failed(tmp_path: Path) -> None:
    """Taken up again the run asks for the one verdict that it lacks, and then for nothing."""
    measured(tmp_path / "run", Judge((1, 2), (3, 1)))
    assert verdicts(tmp_path / "run") == {"A": 4, "unreadable": 2}
    second, third = Judge(), Judge()
    measured(tmp_path / "run", second)
    assert second.places == [((1, 2), (3, 1))]
    assert verdicts(tmp_path / "run") == {"A": 6}
    measured(tmp_path / "run", third)
    assert third.asks == []


def test_a_reply_that_comes_late_is_judged_by_itself(tmp_path: Path) -> None:
    """The others keep the verdicts that they have."""

    def fails(ask: Ask, run: int) -> str | Failure:
        return Failure("subject", "timeout", "Late.") if ask.elicitation == 2 else f"So: {ask.elicitation}, {run}."

    first, second = Judge(), Judge()
    measured(tmp_path / "run", first, fails)
    assert first.places == [tuple(place for place in FIVE if place[0] != 2)]
    measured(tmp_path / "run", second)
    assert second.places == [((2, 1),)]
    assert verdicts(tmp_path / "run") == {"A": 6}


def test_a_judge_without_any_verdict_is_told_the_form(tmp_path: Path) -> None:
    """Where nothing could be read the same case goes out again, with the answer and a reminder."""
    judge = Judge(*FIVE)
    measured(tmp_path / "run", judge)
    assert judge.places == [FIVE, FIVE]
    assert [len(ask.messages) for ask in judge.asks if ask.each] == [2, 4]
    assert verdicts(tmp_path / "run") == {"A": 1, "unreadable": 5}


# Verdict sets


def test_a_run_is_judged_again_in_this_form(tmp_path: Path) -> None:
    """`judge --judge-beliefs together` makes a set of its own, says what it would ask, and goes on by its name."""
    path = run(tmp_path / "run", limit=12)
    words = ("judge", path, "--judge", "sim-judge", "--judge-beliefs", "together")
    told = command(*words, "--dry-run", env={}).out
    assert command(*words, env={}).code == 0
    entry = RunFolder(path).record()["verdict_sets"]["sim-judge-together"]
    assert entry["judging"]["beliefs"] == "together"
    assert entry["prompts"]["hash"] == PROMPTS.hash
    asked = plan(taken(chosen := settings("sim", limit=12, judge_beliefs="together"), {}).scenarios, chosen, PROMPTS)
    assert f"{asked.calls.verdicts} verdicts" in told
    assert "0 verdicts" in command("judge", path, "--name", "sim-judge-together", "--dry-run", env={}).out


def test_two_forms_are_two_protocols(tmp_path: Path) -> None:
    """A comparison of both names what differs, and with which command the other is judged as the first was."""
    paths = [run(tmp_path / how, limit=12, judge_beliefs=how) for how in ("together", "apart")]
    told = command("compare", *paths, env={"COLUMNS": "200"})
    assert "judge beliefs" in told.err + told.out
    assert "--judge-beliefs together" in told.err + told.out


# Judges that are programs


async def _asked(judge: Model, ask: Ask) -> Sequence[Reply | Failure | None]:
    return await judge.ask(ask)


def test_the_rule_judge_answers_this_form() -> None:
    """`rules/sandbox` gives every reply of the sandbox a verdict, and leaves out what is none."""
    chosen = Settings.of("pinocchio", "rules/sandbox", "sandbox", judge_beliefs="together")
    judge = open_judges(chosen, Reach({}, Gate(1)))["binary"]
    scenario = next(each for each in load("sandbox", {}) if each.kind == "binary" and each.questions[0])
    ask = ask_about_each(scenario, {(1, 1): "Nothing that it can say.", (2, 1): "x" * 3_000}, PROMPTS)
    (answer,) = asyncio.run(_asked(judge, ask))
    assert isinstance(answer, Reply)
    assert [each and each.verdict for each in verdicts_in(ask, answer)] == [BinaryVerdict("C", "garbled"), None]
    assert [judged(part).replies[0][:7] for part in one_by_one(ask)] == ["Nothing", "xxxxxxx"]


# What does not go together


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"judge_style": "verdict"}, "one probability cannot belong to several verdicts"),
        ({"protocol": "published"}, "judges every binary reply alone"),
    ],
)
def test_what_does_not_go_together(options: dict[str, Any], why: str) -> None:
    """Settings that would contradict it are refused before anything is written, with what to leave out."""
    with pytest.raises(UsageError, match=why):
        check(settings("sim", judge_beliefs="together", **options))
