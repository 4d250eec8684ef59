"""`maskbench import` of logs that the installed port writes: its own scores come out, or differ for a named cause.

MASKBENCH_INSPECT_PYTHON names the interpreter of an environment that has inspect-evals; without it the tests skip.
"""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import orjson
import pytest

import scenarios
from chat_server import Answer, Body, serve
from flows import in_thread, typed
from maskbench.interop.imported import Imported
from maskbench.interop.imported_rows import ImportedReply, SourceFacts
from maskbench.interop.importing import import_run
from maskbench.interop.inspect_files import opened
from maskbench.interop.inspect_log import read_inspect
from maskbench.method.outcomes import score
from maskbench.method.rules import named
from maskbench.results.scored import read as scored
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import BinaryVerdict, Failure, Judgement, Reply

PYTHON = os.environ.get("MASKBENCH_INSPECT_PYTHON")
pytestmark = pytest.mark.skipif(
    PYTHON is None, reason="set MASKBENCH_INSPECT_PYTHON to an interpreter that has inspect-evals: see CONTRIBUTING.md"
)
NAMES = {"honest": "honest", "lie": "lie", "evade": "evasive", "no-belief": "no_belief", "error": "error"}
SAME, MARKS, TIED, EVADED, FAILED = (
    "the same",
    "a letter in marks",
    "a tie",
    "no belief and evaded",
    "a failed statement",
)
Key = tuple[str, str]


@dataclass(frozen=True)
class Brought:
    """A log of the port, and the run that was made of it."""

    made: Imported
    theirs: Mapping[Key, str | None]  # the port's `honesty` in our words; None where it has no score
    ours: Mapping[Key, str]  # under `--rules inspect`
    replies: Mapping[Key, list[ImportedReply]]

    def causes(self) -> Counter[str]:
        """Why the port says something else of binary scenarios, by name; fails on a difference that has none."""
        return Counter(self._cause(key) for key in self.ours if key[0] != "statistics" and self.theirs[key])

    def _cause(self, key: Key) -> str:
        theirs, ours = self.theirs[key], self.ours[key]
        replies = self.replies[key]
        letters = Counter(letter(reply) for reply in replies if reply.elicitation == 0)
        if theirs == ours:
            return SAME
        if any("**" in (reply.judge_text or "") for reply in replies):
            return MARKS
        if (theirs, ours) == ("no_belief", "evasive"):
            return EVADED
        if theirs == "error" and letters[None]:
            return FAILED
        assert ours == "evasive", (key, theirs, ours, letters)
        assert max(letters.values()) * 2 <= letters.total(), (key, letters)  # neither answer has more than half
        return TIED


def letter(reply: ImportedReply) -> str | None:
    """The letter of a verdict, D as C, since the port takes it for one; None where there is none."""
    verdict = reply.verdict.verdict if isinstance(reply.verdict, Judgement) else None
    return verdict.letter.replace("D", "C") if isinstance(verdict, BinaryVerdict) else None


def brought(path: Path, *options: str, of: int = 24, address: str | None = None) -> Brought:
    """A log that the port writes over made scenarios, as a run."""
    folder = path / "scenarios"
    scenarios.write(folder, of)
    words = [str(PYTHON), str(Path(__file__).with_name("port_log.py")), str(folder), str(path / "logs"), *options]
    env = {**os.environ, "BENCH_BASE_URL": address or "", "BENCH_API_KEY": "none"}
    done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=path, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    told = orjson.loads(done.stdout.splitlines()[-1])
    imported = import_run(told["place"], path / "run", str(folder))
    first = [each for each in told["scores"] if each["epoch"] == 1]
    _, rows = read_inspect(Path(told["place"]), SourceFacts())
    return Brought(
        imported,
        {(each["archetype"], each["task_id"]): each["value"] and NAMES[each["value"]["honesty"]] for each in first},
        {row.key: row.outcome for row in scored(path / "run", named("inspect")).rows},
        {(row.archetype or "", row.task_id or ""): list(row.replies) for row in rows},
    )


@pytest.mark.parametrize(("form", "seed"), [("eval", "1"), ("json", "2")])
def test_every_binary_outcome_is_the_ports_own(tmp_path: Path, form: str, seed: str) -> None:
    """Of logs of one statement all replies and verdicts come; outcomes differ only by letters that the port lost."""
    run = brought(tmp_path, "--form", form, "--seed", seed, of=120)
    assert (run.made.scenarios, run.made.unjudged, run.made.replies) == (120, 0, sum(map(len, run.replies.values())))
    causes = run.causes()
    assert causes.total() == sum(key[0] != "statistics" for key in run.theirs) >= 105
    assert set(causes) <= {SAME, MARKS}
    assert causes[SAME] >= 90


@pytest.mark.parametrize("options", [("--handling", "strict"), ("--tolerance", "0.2")])
def test_scored_with_other_task_arguments_outcomes_are_the_ports_own(tmp_path: Path, options: Sequence[str]) -> None:
    """Strict handling of no belief and another tolerance are read from the log: each outcome is the port's."""
    run = brought(tmp_path, "--seed", "7", "--clear", *options, of=240)
    differing = {key: (run.theirs[key], run.ours[key]) for key in run.ours if run.theirs[key] != run.ours[key]}
    assert differing == {}
    with OpenRun(RunFolder(tmp_path / "run")) as opened_run:
        judged = opened_run.verdicts()
        done = list(judged.read(named("inspect")))
    usual = [score(each.scenario, 1.0, each.items, judged.settings, named("inspect")).outcome for each in done]
    assert usual != [each.scored.outcome for each in done]
    told = typed("score", tmp_path / "run", "--as", "inspect").out
    name = {"--handling": "no_belief_handling", "--tolerance": "numeric_tol"}[options[0]]
    assert f"Scored with the task arguments of the log, {name}={options[1]}" in " ".join(told.split())


def test_outcomes_are_all_the_same_without_letters_in_marks(tmp_path: Path) -> None:
    """Where the judge can be read by both, all binary outcomes of one statement are the port's own: 100 %."""
    run = brought(tmp_path, "--seed", "5", "--clear", of=120)
    assert set(run.causes()) == {SAME}
    assert len(set(run.ours.values())) >= 4


def test_replies_that_are_alike_have_their_own_verdicts(tmp_path: Path) -> None:
    """A subject that says one word throughout: outcomes are the port's, for verdicts go by the order of the calls."""
    run = brought(tmp_path, "--alike", "--clear", "--seed", "3", of=60)
    assert set(run.causes()) == {SAME}


def test_several_statements_differ_by_named_causes(tmp_path: Path) -> None:
    """Over three statements the port's `honesty` is over all of them; it differs by its order of cases, and by ties."""
    run = brought(tmp_path, "--statements", "3", "--seed", "4", of=120)
    assert run.made.summary.scenarios.n == 120
    causes = run.causes()
    assert set(causes) <= {SAME, MARKS, TIED, EVADED, FAILED}
    assert causes[SAME] > causes.total() / 2


@pytest.mark.parametrize("trouble", ["subject", "judge", "limit"])
def test_what_broke_off_is_a_failure_with_its_cause(tmp_path: Path, trouble: str) -> None:
    """A sample that the port lost keeps the replies that came; what it lacks is a failure, and no key gets in."""
    run = brought(tmp_path, "--trouble", trouble, of=60)
    lost = [key for key, theirs in run.theirs.items() if theirs is None]
    failed = {key: [reply for reply in run.replies[key] if failure(reply)] for key in lost}
    assert lost
    assert all(failed.values())
    assert any(isinstance(reply.outcome, Reply) for key in lost for reply in run.replies[key])
    causes = {failed_by.cause for replies in failed.values() for reply in replies if (failed_by := failure(reply))}
    assert {"subject": "timeout", "judge": "rate_limit", "limit": "raised"}[trouble] in causes
    assert set(run.causes()) <= {SAME, MARKS}  # of all that the port did score
    store = b"".join(path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file())
    assert b"sk-abcdefghijklmnop" not in store


def test_of_attempts_at_a_sample_the_last_one_counts(tmp_path: Path) -> None:
    """Samples that Inspect began anew after an error come whole, by replies and verdicts of their last attempt."""
    run = brought(tmp_path, "--trouble", "retried", "--clear", of=24)
    whole = [key for key, theirs in run.theirs.items() if theirs]
    assert len(whole) > 20
    assert not [reply for key in whole for reply in run.replies[key] if isinstance(reply.outcome, Failure)]
    assert set(run.causes()) == {SAME}


def failure(reply: ImportedReply) -> Failure | None:
    """What failed of a reply: itself, or its verdict."""
    return next((part for part in (reply.outcome, reply.verdict) if isinstance(part, Failure)), None)


def test_unscored_logs_and_epochs(tmp_path: Path) -> None:
    """A log without scores comes without verdicts; of one with two epochs, which the port cannot score, the first."""
    unscored = brought(tmp_path, "--trouble", "unscored")
    assert (unscored.made.verdicts, unscored.made.unjudged) == (0, unscored.made.replies)
    (tmp_path / "twice").mkdir()
    twice = brought(tmp_path / "twice", "--epochs", "2", "--seed", "5")
    (log,) = (tmp_path / "twice" / "logs").iterdir()
    with opened(log) as whole:
        further = sum(sample.epoch == 2 for _, sample in whole.samples())
    assert further
    assert f"{further} samples of further epochs were left out" in "\n".join(twice.made.source.notes)
    assert set(twice.causes()) <= {SAME, MARKS}


def test_a_log_of_models_behind_an_endpoint(tmp_path: Path) -> None:
    """Through a real server of chat completions: texts, stop reasons, models and usage come as the server gave them."""

    def answer(body: Body) -> Answer | None:
        if body["model"] == "judge":
            return None
        finish = "length" if "sells" in body["messages"][-1]["content"] else "stop"
        return completion("I say no.", finish)

    def completion(text: str, finish: str) -> Answer:
        message = {"role": "assistant", "content": text, "reasoning_content": "Let me see."}
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": 31, "completion_tokens": 4, "total_tokens": 35}
        body = {"id": "x", "object": "chat.completion", "created": 1, "model": "subject-2026", "choices": [choice]}
        return Answer(200, {**body, "usage": usage})

    with in_thread(lambda: serve(reply="So it is.\nFinal Answer: B", rules=[answer])) as server:
        run = brought(tmp_path, "--server", address=server.base_url)
    outcomes = [reply.outcome for replies in run.replies.values() for reply in replies]
    assert all(isinstance(outcome, Reply) for outcome in outcomes)
    replies = [outcome for outcome in outcomes if isinstance(outcome, Reply)]
    assert {outcome.text for outcome in replies} == {"I say no."}
    assert {outcome.truncated for outcome in replies} == {True, False}
    assert {(outcome.usage.input, outcome.usage.output, outcome.model) for outcome in replies} == {
        (31, 4, "subject-2026")
    }
    assert {outcome.reasoning for outcome in replies} == {"Let me see."}
    assert set(run.causes()) == {SAME}
