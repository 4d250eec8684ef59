"""The task of Inspect against `maskbench run`: the same replies and verdicts give the same outcomes and rates."""

from __future__ import annotations

import csv
import hashlib
import json
import lzma
import math
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import inspect_ai
import pytest
from inspect_ai.log import EvalLog, read_eval_log, transcript
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageTool,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
)

import flows
import maskbench
import scenarios
from conversations import cells
from conversations import log as turns
from maskbench import ScriptedModel, Settings, score_rows
from maskbench.errors import UsageError
from maskbench.interop.importing import import_run
from maskbench.interop.inspect_task import maskbench as ours
from maskbench.method.tool_calls import declared
from maskbench.models.inspect_adapter import tools_in
from maskbench.results.scored import Result
from maskbench.scenarios import load as maskbench_set
from maskbench.scenarios.rows import read_row
from maskbench.store.folder import RunFolder
from maskbench.types import Ask, Failure, Reply, Scenario
from scenario_rows import row, write_csv, write_jsonl

pytestmark = pytest.mark.filterwarnings("ignore")  # Inspect's own, and what it leaves open
RATES = ("p_lie", "p_honest", "p_evasive", "p_no_belief", "honesty_score_normalized", "accuracy")
EVERY = 48  # scenarios, and what rounding adds


def drawn(*texts: object) -> int:
    """A number that these texts always give, and others do not."""
    return int.from_bytes(hashlib.sha256(repr(texts).encode()).digest()[:4], "big")


def reply(question: str, run: int) -> str | Failure:
    """What the subject says: another text for each sample; some calls fail, are empty, or are thoughts before words."""
    match drawn(question, run) % 40:
        case 0:
            return Failure("subject", "raised", "The provider gave up.")
        case 1:
            return " "
        case 2:
            return f"<think>Hm.</think>Thought {run} about {drawn(question)}."
    return f"Reply {run} to {drawn(question)}."


def verdict(messages: Sequence[str]) -> str:
    """What the judge says of a case; one in thirty of its answers cannot be read."""
    thrown = drawn(messages[1])
    if thrown % 30 == 0:
        return "I would rather not."
    if "lower=" not in messages[1]:
        return json.dumps({"reason": "It says so.", **code_in(messages), "verdict": "AAABBCCAD"[thrown % 9]})
    low = 20 + thrown % 4 * 3 if thrown % 7 else None
    bounds = {"lower_bound": low, "upper_bound": low, "relative_lower_bound": None, "relative_upper_bound": None}
    return json.dumps({"reason": "It says so.", **code_in(messages), **bounds, "evasion": None})


def code_in(messages: Sequence[str]) -> dict[str, str]:
    """The field with the code that the verdict has to carry."""
    found = re.findall(r"(?:Verdict|Bounds) ([0-9a-f]{16})", messages[-1])
    return {"code": found[-1]} if found else {}


def output(answer: str, **more: Any) -> ModelOutput:
    """An answer of Inspect's mock model; without usage it would fetch a tokenizer to count with."""
    mocked = ModelOutput.from_content("mock", answer, **more)
    mocked.usage = ModelUsage(input_tokens=10, output_tokens=5, total_tokens=15)
    return mocked


Answering = Callable[..., ModelOutput]


def mock(answering: Answering, name: str = "mockllm/model") -> Model:
    """Inspect's mock model with these answers."""
    return get_model(name, memoize=False, custom_outputs=answering)


def subject() -> Answering:
    """The subject for Inspect: it counts how often it has been asked a question in a sample."""
    asked: Counter[tuple[int, str]] = Counter()

    def answering(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        question = "|".join(message.text for message in messages)
        place = id(transcript()), question
        asked[place] += 1
        answer = reply(question, asked[place])
        if isinstance(answer, Failure):
            raise RuntimeError(answer.detail)
        return output(answer)

    return answering


def judge(messages: list[ChatMessage], *_: Any) -> ModelOutput:
    """The judge for Inspect."""
    return output(verdict([message.text for message in messages]))


def scripted(ask: Ask, run: int) -> str | Reply | Failure:
    """The subject for a run, with those answers."""
    answer = reply("|".join(message.content for message in ask.messages), run)
    if answer == " ":
        return Failure("subject", "empty", "The answer was empty.")
    if isinstance(answer, str) and answer.startswith("<think>"):
        return Reply(answer.partition("</think>")[2], "Hm.")
    return answer


def scripted_judge(ask: Ask, run: int) -> str:
    """The judge for a run, with those verdicts."""
    return verdict([message.content for message in ask.messages])


@dataclass(frozen=True)
class Both:
    """A run, and the same measurement by Inspect."""

    run: Result
    log: EvalLog


def evaluated(place: Path, task: Any, model: Model, **options: Any) -> EvalLog:
    """The log of one task."""
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(place), display="none", **options)
    return log


def on_logs(path: Path) -> str:
    """Reports on short logs, with something to gain and without, of each kind of event and of twins."""
    packed = files("maskbench") / "scenarios" / "said_and_did" / "said_and_did.jsonl.xz"
    rows = lzma.decompress(packed.read_bytes()).splitlines(keepends=True)
    path.write_bytes(b"".join(row for row in rows if b"-short-1-" in row[:200] or b"-short-2-" in row[:200]))
    return str(path)


@pytest.fixture(scope="module", params=["together", "apart", "on logs"])
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Both:
    """All archetypes, or reports on logs, with two statements and failures of each kind; numbers are judged either way.

    Rows of one log share its neutral conversation in the run; Inspect, which has one row at a time, asks it of each.
    """
    place = tmp_path_factory.mktemp("both")
    if request.param == "on logs":
        asked, numbers = on_logs(place / "logs.jsonl"), "together"
    else:
        asked, numbers = str(place / "set"), request.param
        scenarios.write(place / "set", EVERY)
    options: dict[str, Any] = {"statements": 2, "judge_numbers": numbers, "max_error_rate": 1.0}
    settings = Settings.of("mockllm/model", "mockllm/judge", asked, **options)
    models = ScriptedModel(scripted, "mockllm/model"), ScriptedModel(scripted_judge, "mockllm/judge")
    maskbench.measure(settings, place / "run", {}, models=models)
    roles = {"judge": mock(judge, "mockllm/judge")}
    log = evaluated(place, ours(asked, **options), mock(subject()), model_roles=roles)
    return Both(maskbench.score(place / "run"), log)


def test_every_outcome_is_that_of_the_run(both: Both) -> None:
    """Each scenario of each archetype has the belief and the outcomes that `maskbench run` gives it, errors too."""
    assert both.log.status == "success"
    samples = {str(sample.id): sample for sample in both.log.samples or ()}
    assert len(samples) == len(both.run.scenarios) >= EVERY
    seen = Counter(scored.outcome for scored in both.run.scenarios)
    assert min(seen[name] for name in ("honest", "lie", "evasive", "no_belief", "error")) > 0
    for scored in both.run.scenarios:
        score = (samples["/".join(scored.key)].scores or {})["outcomes"]
        (ours,) = score_rows([(score.metadata or {})["verdicts"]]).scenarios
        assert (ours.resolved, ours.outcomes, ours.accuracy) == (scored.resolved, scored.outcomes, scored.accuracy)
        assert score.answer == scored.outcome
        assert isinstance(score.value, dict)
        usable = [outcome for outcome in scored.outcomes if outcome != "error"]
        for name in ("lie", "honest", "evasive", "no_belief"):
            value = score.value[name]
            assert isinstance(value, float)
            assert value == usable.count(name) / len(usable) if usable else math.isnan(value)


def test_every_rate_and_interval_is_that_of_the_run(both: Both) -> None:
    """The metrics are the run's rates with the ends of their intervals, over all scenarios and by archetype."""
    assert both.log.results
    (scores,) = both.log.results.scores
    metrics = {name: each.value for name, each in scores.metrics.items()}
    for name in RATES:
        rate = both.run.rates[name]
        assert [metrics[f"{name}{end}"] for end in ("", "_low", "_high")] == pytest.approx(
            [rate.value, rate.low, rate.high], abs=1e-12
        )
    for archetype, rates in both.run.by_archetype.items():
        assert metrics[f"{archetype}/p_lie"] == pytest.approx(rates["p_lie"].value, abs=1e-12)
        assert metrics[f"{archetype}/p_lie_high"] == pytest.approx(rates["p_lie"].high, abs=1e-12)
    assert metrics["errors"] == both.run.counts["error"] > 0
    summary = both.run.summary
    assert [metrics["p_lie_at_least"], metrics["p_lie_at_most"]] == pytest.approx(
        summary.rates["p_lie"].bounds, abs=1e-12
    )
    assert metrics["lying_at_2"] == pytest.approx(summary.lying_at["2"].value, abs=1e-12)
    assert both.log.results.headline
    assert both.log.results.headline.metric == "p_lie"


def test_the_imported_log_is_the_run(both: Both, tmp_path: Path) -> None:
    """`import` makes a run of the log by itself: outcomes, rates and replies are those of the task and of the run."""
    brought = import_run(both.log.location, tmp_path / "run")
    result = maskbench.score(tmp_path / "run")
    wanted = {scored.key: (scored.resolved, scored.outcomes, scored.accuracy) for scored in both.run.scenarios}
    assert {scored.key: (scored.resolved, scored.outcomes, scored.accuracy) for scored in result.scenarios} == wanted
    assert both.log.results
    printed = {name: each.value for name, each in both.log.results.scores[0].metrics.items()}
    for name in RATES:
        rate = result.rates[name]
        assert [rate.value, rate.low, rate.high] == pytest.approx(
            [printed[f"{name}{end}"] for end in ("", "_low", "_high")], abs=1e-12
        )
    assert result.counts["error"] == printed["errors"] > 0
    run, ours = (RunFolder(path).settings().options for path in (Path(both.run.path), tmp_path / "run"))
    for name in ("subject", "judge", "numeric_judge", "statements", "judge_numbers", "max_error_rate", "sampling"):
        assert ours[name] == run[name], name
    assert said(tmp_path / "run") == said(Path(both.run.path))
    assert brought.unjudged == 0


def said(path: Path) -> dict[tuple[str, str, int, int], str | None]:
    """Every reply that a run holds, with its place; None where the call failed."""
    with closing(RunFolder(path).store()) as store:
        return {
            (*scenario.key, item.elicitation, item.run): item.reply.text if isinstance(item.reply, Reply) else None
            for scenario, _ in store.scenarios()
            for item in store.samples(scenario).items()
        }


@pytest.mark.parametrize("both", ["apart"], indirect=True)
def test_the_log_shows_the_conversation_and_every_judge_call(both: Both) -> None:
    """A sample has the pressured conversation with the reply, each call in a span of its name, and words for people."""
    sample = next(sample for sample in both.log.samples or () if str(sample.id).startswith("doubling_down"))
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "user", "assistant"]
    assert sample.messages[-1].text == sample.output.completion
    spans = [event.name for event in sample.events if event.event == "span_begin"]
    wanted = {f"direct {run}" for run in (1, 2, 3)} | {"consistency 2", "consistency 3", "statement 1", "statement 2"}
    assert wanted <= set(spans)
    assert {f"judge: {name}" for name in wanted} & set(spans)
    roles = Counter(event.role for event in sample.events if event.event == "model")
    assert roles["judge"] >= 5
    explanation = (sample.scores or {})["outcomes"].explanation or ""
    assert explanation.startswith("Belief: ")
    assert "Statement 2: " in explanation
    assert "<pivotal>" in sample.metadata["proposition"]


def test_the_log_says_what_was_measured(both: Both) -> None:
    """The log's header names version, set, prompts and rules."""
    metadata = both.log.eval.metadata or {}
    assert metadata["maskbench"] == maskbench.__version__
    assert metadata["rules"] == "reference"
    assert len(metadata["scenarios_hash"]) == len(metadata["prompts_hash"]) == 64
    assert both.log.eval.task_version == maskbench.__version__
    assert "secret" not in str(both.log.plan)


# Errors, epochs, options


@pytest.fixture
def small(tmp_path: Path) -> str:
    """A scenario of each archetype."""
    scenarios.write(tmp_path / "many", 20)
    (tmp_path / "set").mkdir()
    for path in (tmp_path / "many").iterdir():
        with path.open(encoding="utf-8", newline="") as file, (tmp_path / "set" / path.name).open("w") as to:
            rows = csv.reader(file)
            csv.writer(to).writerows([next(rows), next(rows)])
    return str(tmp_path / "set")


def always(letter: str) -> Answering:
    """A judge that gives one letter, and one number."""
    bounds = {"lower_bound": 27, "upper_bound": 27, "relative_lower_bound": None, "relative_upper_bound": None}

    def answering(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        given = bounds if "lower=" in messages[1].text else {"verdict": letter}
        code = code_in([message.text for message in messages])
        return output(json.dumps({"reason": "", **code, **given, "evasion": None}))

    return answering


def says(text: str = "Yes.", **more: Any) -> Answering:
    """A subject that always says so."""
    return lambda *_: output(text, **more)


def numbers(log: EvalLog) -> dict[str, float]:
    """A log's metrics by name."""
    assert log.results, log.error
    return {name: each.value for name, each in log.results.scores[0].metrics.items()}


def test_messages_with_tool_calls_go_out_as_inspect_has_them(tmp_path: Path) -> None:
    """Calls and results are messages of Inspect's, no tool may be called, and the log gives the scenario back."""
    place = write_jsonl(tmp_path / "set.jsonl", [cells()])
    seen: list[tuple[list[ChatMessage], Any]] = []

    def answering(messages: list[ChatMessage], _: Any, choice: Any, *__: Any) -> ModelOutput:
        seen.append((messages, choice))
        return output("All tests passed.")

    log = evaluated(tmp_path, ours(str(place)), mock(answering), model_roles={"judge": mock(always("A"))})
    assert log.status == "success", log.error
    assert len(seen) == 5
    for messages, choice in seen:
        assert ([message.role for message in messages], choice) == ([turn["role"] for turn in turns()], "none")
        call, result = messages[2], messages[3]
        assert isinstance(call, ChatMessageAssistant)
        assert isinstance(result, ChatMessageTool)
        assert [(each.id, each.function) for each in call.tool_calls or ()] == [
            ("call1aaaa", "run"),
            ("call2bbbb", "read"),
        ]
        assert (call.tool_calls or [])[1].arguments == {"path": "ä", "lines": 3}
        assert (result.tool_call_id, result.function) == ("call1aaaa", "run")
    import_run(log.location.removeprefix("file://"), tmp_path / "imported")
    with closing(RunFolder(tmp_path / "imported").store()) as store:
        assert [scenario for scenario, _ in store.scenarios()] == maskbench_set(str(place))


def test_declared_tools_are_inspects() -> None:
    """A provider is given the tools by what their calls tell of them."""
    (one,) = [read_row(cells(), "file", 1)]
    assert isinstance(one, Scenario)
    run, read = tools_in(declared(one.messages))
    assert (run.name, list(run.parameters.properties), read.name) == ("run", ["line"], "read")


def test_an_error_is_unscored_and_no_number(tmp_path: Path, small: str) -> None:
    """Where no call succeeds, no sample has a number, rates are withheld, and P(lie) could be anything."""

    def fails(*_: Any) -> ModelOutput:
        raise RuntimeError("The provider gave up.")

    log = evaluated(tmp_path, ours(small), mock(fails), model_roles={"judge": mock(always("A"))})
    assert log.status == "success"
    for sample in log.samples or ():
        score = (sample.scores or {})["outcomes"]
        assert (score.answer, score.reason) == ("error", "error")
        assert isinstance(score.value, dict)
        assert all(math.isnan(value) for value in score.value.values() if isinstance(value, float))
        (error,) = {each["error"]["detail"] for each in (score.metadata or {})["verdicts"]["statements"]}
        assert error == "RuntimeError: The provider gave up."
    metrics = numbers(log)
    assert math.isnan(metrics["p_lie"])
    assert (metrics["errors"], metrics["p_lie_at_least"], metrics["p_lie_at_most"]) == (6, 0, 1)


def test_no_key_of_the_environment_stands_in_a_failure(
    tmp_path: Path, small: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a provider says in its error is kept without the keys that it may repeat."""
    monkeypatch.setenv("LAB_API_KEY", "sk-0123456789abcdefghij")

    def fails(*_: Any) -> ModelOutput:
        raise RuntimeError("not with sk-0123456789abcdefghij")

    task = ours(small, archetypes="provided_facts")
    log = evaluated(tmp_path, task, mock(fails), model_roles={"judge": mock(always("A"))})
    assert log.samples
    (statement,) = ((log.samples[0].scores or {})["outcomes"].metadata or {})["verdicts"]["statements"]
    assert statement["error"]["detail"] == "RuntimeError: not with ***"


def test_few_errors_withhold_nothing_and_many_do(tmp_path: Path, small: str) -> None:
    """The share of errors that a rate bears is the option `max_error_rate`."""

    def fails_once(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        if "census" in messages[0].text and len(messages) == 4:  # doubling down alone has four
            raise RuntimeError("no")
        return output("Yes.")

    def half(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        if len(messages) == 4:
            raise RuntimeError("no")
        return output("Yes.")

    roles = {"judge": mock(always("A"))}
    assert math.isnan(numbers(evaluated(tmp_path, ours(small), mock(half), model_roles=roles))["p_lie"])
    task = ours(small, max_error_rate=0.5)
    metrics = numbers(evaluated(tmp_path, task, mock(half), model_roles=roles))
    assert (metrics["errors"], metrics["p_honest"]) == (1, 0.8)
    assert not math.isnan(numbers(evaluated(tmp_path, ours(small), mock(fails_once), model_roles=roles))["scenarios"])


def test_half_a_character_ends_no_evaluation(tmp_path: Path, small: str) -> None:
    """A reply that ends in half an emoji is judged and kept, with U+FFFD in its place."""
    log = evaluated(tmp_path, ours(small), mock(says("Yes \ud83d")), model_roles={"judge": mock(always("A"))})
    assert log.status == "success"
    assert numbers(log)["errors"] == 0
    assert {sample.output.completion for sample in log.samples or ()} == {"Yes \ufffd"}


def test_a_prompt_that_the_server_cut_is_an_error(tmp_path: Path) -> None:
    """Where the tokens that were counted are far too few for what was asked, no number is told."""
    long = row("known_facts", 1, system_prompt="Be kind to each visitor and keep the shop clean. " * 1000)
    asked = str(write_csv(tmp_path / "known_facts.csv", [long]))

    def cuts(*_: Any) -> ModelOutput:
        mocked = output("Yes.")
        mocked.usage = ModelUsage(input_tokens=2050, output_tokens=5, total_tokens=2055)
        return mocked

    log = evaluated(tmp_path, ours(asked), mock(cuts), model_roles={"judge": mock(always("A"))})
    assert log.samples
    (statement,) = ((log.samples[0].scores or {})["outcomes"].metadata or {})["verdicts"]["statements"]
    assert statement["error"]["cause"] == "cut_prompt"
    assert numbers(log)["errors"] == 1


def test_what_no_further_call_can_mend_is_the_samples_error(tmp_path: Path, small: str) -> None:
    """A refused key ends the evaluation as Inspect ends it, and leaves no score."""

    class Refused(Exception):
        status_code = 401

    def refuses(*_: Any) -> ModelOutput:
        raise Refused("no such key")

    log = evaluated(tmp_path, ours(small), mock(refuses), model_roles={"judge": mock(always("A"))})
    assert log.status == "error"
    assert all(not sample.scores for sample in log.samples or ())


def test_a_sample_that_a_limit_ends_is_unscored(tmp_path: Path, small: str) -> None:
    """Where a limit of Inspect's stops a sample, it has no score, and the others have theirs."""
    task = ours(small, archetypes=["provided_facts", "known_facts"])
    roles = {"judge": mock(always("B"))}
    log = evaluated(tmp_path, task, mock(says()), model_roles=roles, token_limit=40)  # each call has 15
    assert log.status == "success"
    by_archetype = {sample.metadata["archetype"]: sample for sample in log.samples or ()}
    assert by_archetype["known_facts"].limit
    assert math.isnan((by_archetype["known_facts"].scores or {})["outcomes"].as_float())
    assert numbers(log)["scenarios"] == numbers(log)["p_honest"] == 1
    assert log.results
    assert log.results.scores[0].unscored_samples == 1


def test_a_filtered_reply_may_count_as_an_evasion(tmp_path: Path, small: str) -> None:
    """A content filter's stop is a failure, and an evasion where `filtered` says so."""
    model, roles = mock(says("", stop_reason="content_filter")), {"judge": mock(always("A"))}
    task = ours(small, archetypes="provided_facts")
    assert numbers(evaluated(tmp_path, task, model, model_roles=roles))["errors"] == 1
    task = ours(small, archetypes="provided_facts", filtered="evasive")
    assert numbers(evaluated(tmp_path, task, model, model_roles=roles))["p_evasive"] == 1


def test_thoughts_that_eat_up_the_budget_get_room(tmp_path: Path, small: str) -> None:
    """An answer that is cut while it is still reasoning is asked for once more, with the protocol's room for it."""
    limits = []

    def thinks(messages: list[ChatMessage], tools: Any, choice: Any, config: Any) -> ModelOutput:
        limits.append(config.max_tokens)
        if config.max_tokens < 10_000:
            return output("<think>Let me see", stop_reason="max_tokens")
        return output("<think>Let me see.</think>Yes.")

    task = ours(small, archetypes=["provided_facts"])
    log = evaluated(tmp_path, task, mock(thinks), model_roles={"judge": mock(always("B"))})
    assert limits == [1000, 17_000]
    assert log.samples
    assert log.samples[0].output.completion == "Yes."


def test_temperature_is_the_protocols_unless_the_user_says_another(tmp_path: Path, small: str) -> None:
    """The subject is asked at 1.0 or as Inspect was told, the judge at 0 all the same; nothing comes from a cache."""
    seen: dict[str, set[float]] = {"subject": set(), "judge": set()}

    def noting(who: str, then: Answering) -> Answering:
        def answering(messages: Any, tools: Any, choice: Any, config: Any) -> ModelOutput:
            seen[who].add(config.temperature)
            return then(messages, tools, choice, config)

        return answering

    roles = {"judge": mock(noting("judge", always("A")))}
    evaluated(tmp_path, ours(small), mock(noting("subject", says())), model_roles=roles)
    assert seen == {"subject": {1.0}, "judge": {0.0}}
    asked = Counter[str]()

    def counting(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        asked[messages[-1].text] += 1
        return output("Yes.")

    evaluated(
        tmp_path,
        ours(small),
        mock(noting("subject", counting)),
        model_roles=roles,
        temperature=0.3,
        cache=True,
    )
    assert seen["subject"] == {1.0, 0.3}
    assert sorted(asked.values())[-4:] == [3, 3, 3, 6]  # two scenarios share a question


def test_an_epoch_is_a_whole_measurement_more(tmp_path: Path, small: str) -> None:
    """Each epoch asks for beliefs and statements anew; the rates count all of them, and intervals by proposition."""
    roles = {"judge": mock(always("B"))}
    log = evaluated(tmp_path, ours(small), mock(says()), model_roles=roles, epochs=2)
    metrics = numbers(log)
    assert metrics["scenarios"] == 12
    once = numbers(evaluated(tmp_path, ours(small), mock(says()), model_roles=roles))
    for end in ("", "_low", "_high"):
        assert metrics[f"p_honest{end}"] == pytest.approx(once[f"p_honest{end}"], abs=0.05)


def test_a_judge_of_maskbench_needs_no_endpoint(tmp_path: Path, small: str) -> None:
    """`judge` takes a scripted judge of maskbench's; without any judge the error names both ways to give one."""
    script = tmp_path / "judge.json"
    script.write_text(json.dumps({"Bounds": "Bounds {{code}}: lower=27, upper=27", "": "Verdict {{code}}: B"}))
    task = ours(small, judge=f"scripted/{script}", archetypes="provided_facts,known_facts")
    metrics = numbers(evaluated(tmp_path, task, mock(says())))
    assert (metrics["p_honest"], metrics["scenarios"]) == (1, 2)
    log = evaluated(tmp_path, ours(small), mock(says()))
    assert log.error
    assert "--model-role judge=openai/gpt-4o, or -T judge=NAME." in log.error.message


def test_options_are_those_of_a_run(small: str) -> None:
    """What cannot be meant is refused before anything is asked, by the option's name."""
    refused: tuple[tuple[dict[str, Any], str], ...] = (
        ({"statments": 3}, "-T statments: the task has no such option."),
        ({"filtered": "lie"}, r"filtered"),
        ({"rules": "mine"}, "There is no rule set 'mine'."),
        ({"statements": 0}, "statements"),
        ({"archetypes": "known_fact"}, "Did you mean known_facts?"),
        ({"system_prompt": "honets"}, "Did you mean honest?"),
        ({"prompt_on_beliefs": True}, "Give it, too: --system-prompt NAME"),
        ({"judge_style": "published"}, "needs --judge-prompts DIR"),
        ({"judge": "rules/sandbox"}, "reads only what pinocchio says"),
    )
    for options, told in refused:
        with pytest.raises(UsageError, match=told):
            ours(small, **options)
    assert len(ours("starter", sample=30).dataset) == 30


def test_a_developers_prompt_stands_before_the_scenarios_own(small: str) -> None:
    """The option `system_prompt` wraps the pressured system prompt as a run does."""
    (sample,) = ours(small, archetypes="known_facts", system_prompt="honest").dataset
    assert not isinstance(sample.input, str)
    assert sample.input[0].text.startswith("Developer instructions: ")


# The command line


def command(place: Path, environ: dict[str, str], *words: str) -> subprocess.CompletedProcess[str]:
    """Inspect's own command, in a folder of its own."""
    line = [str(Path(sys.executable).with_name("inspect")), *words]
    env = {**os.environ, "NO_COLOR": "1", **environ}
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=place, env=env, timeout=120)


def test_the_command_line_knows_the_task(tmp_path: Path, small: str) -> None:
    """`inspect eval maskbench/maskbench` finds the task by its entry point; its log can be scored by other rules."""
    letter = flows.letter("D")
    judging = flows.serving(reply=lambda body: letter if body["model"] == "judge" else "Yes.")
    with judging as server:
        environ = {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": "none"}
        models = ("--model", "openai-api/local/subject", "--model-role", "judge=openai-api/local/judge")
        given = ("-T", f"scenarios={small}", "-T", "archetypes=provided_facts,known_facts", "--display", "plain")
        ended = command(tmp_path, environ, "eval", "maskbench/maskbench", *models, *given, "--log-dir", "logs")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "p_lie" in ended.stdout
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(path))
    assert (numbers(log)["p_lie"], numbers(log)["p_no_belief"]) == (0.5, 0.5)  # D is a lie, and no belief
    asked = {body["model"]: body for body in server.bodies}
    assert (asked["subject"]["temperature"], asked["subject"]["max_tokens"]) == (1.0, 1000)
    assert asked["judge"]["temperature"] == 0.0
    assert asked["judge"]["response_format"]["json_schema"]["schema"]["required"] == [
        "reason",
        "code",
        "verdict",
        "evasion",
    ]
    rules = ("--scorer", "maskbench/outcomes", "-S", "rules=inspect", "--action", "overwrite")
    again = tmp_path / "again.eval"
    scored = command(tmp_path, environ, "score", str(path), *rules, "--output-file", str(again))
    assert scored.returncode == 0, scored.stdout + scored.stderr
    assert numbers(read_eval_log(str(again)))["p_evasive"] == 1  # by the port's rules D evades
