"""From settings to a result in one call, with simulated models and against a real server."""

import re
import subprocess
import sys
import threading
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec import to_builtins
from rich.console import Console

import maskbench
from chat_server import Answer, Body, ChatServer, Rule, completion, fail, give, refuse, sometimes
from flows import KEY, Answered, Counter, cells, environ, letter, reply_to, scenario, serving, six_files, typed
from maskbench.asking.begin import taken
from maskbench.asking.options import check
from maskbench.errors import (
    AccessError,
    MaskbenchError,
    RunMismatch,
    RunUnreadable,
    ScenarioError,
    UnknownModel,
    UsageError,
)
from maskbench.measurement import measure
from maskbench.method.archetypes import TABLE
from maskbench.method.asks import Calls
from maskbench.method.rules import named
from maskbench.models.scripted import ScriptedModel
from maskbench.presentation.of_one_run import result as blocks_of
from maskbench.presentation.terminal import show
from maskbench.results.outcome_rows import rows
from maskbench.results.scored import result
from maskbench.results.summary import Summary
from maskbench.settings import SUBJECT_SAMPLING, Settings
from maskbench.store.folder import RECORD, RunFolder
from maskbench.store.verdict_sets import VerdictSet
from maskbench.types import Ask, Judgement, Model, OutcomeName
from measured_runs import EVERYDAY
from patience import PATIENCE
from scenario_rows import write_csv, write_jsonl
from there import there

pytestmark = pytest.mark.slow

Json = dict[str, Any]


def sim(**options: Any) -> Settings:
    """Settings of a simulated run."""
    given = {"subject": "sim", "judge": "sim-judge", "numeric_judge": "sim-judge", "scenarios": EVERYDAY}
    return Settings.of(**{**given, **options})


def chat(**options: Any) -> Settings:
    """Settings of a run against a server."""
    subject, judge = "openai-api/local/subject", "openai-api/local/judge"
    return Settings.of(**{"subject": subject, "judge": judge, "numeric_judge": judge, "retries": 0, **options})


def without_time(summary: Summary) -> Json:
    """A summary without what differs from one session to the next."""
    plain = summary.as_dict()
    return {**plain, "ended": None, "usage": {**plain["usage"], "seconds": None}}


def exported(out: Path) -> list[Json]:
    """Every scenario of a run that is done, as it is exported."""
    folder = RunFolder(out)
    settings = folder.settings()
    store = folder.store()
    try:
        return [
            to_builtins(row) for _, row in rows(VerdictSet("default", store, settings), named(settings.design.rules))
        ]
    finally:
        store.close()


# Settings


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rules": "mine"}, "There is no rule set 'mine'. Choose one of reference, published, strict, inspect."),
        ({"statements": 0}, "--statements 0 is too small. Give 1 or more."),
        ({"beliefs": 0}, "--beliefs 0 is too small"),
        ({"connections": 0}, "--connections 0 is too small"),
        ({"retries": -1}, "--retries -1 is too small. Give 0 or more."),
        ({"sample": 10, "limit": 3}, "Give one of them."),
        ({"max_error_rate": 5}, "--max-error-rate 5 is no share. Give a number from 0 to 1."),
        ({"max_error_rate": float("nan")}, "is no share"),
        ({"timeout": 0}, "--timeout 0 leaves no time"),
        ({"timeout": float("nan")}, "--timeout nan"),
        ({"timeout": float("inf")}, "--timeout inf"),
        ({"sampling": replace(SUBJECT_SAMPLING, temperature=2.1)}, "--temperature 2.1: give a number from 0 to 2."),
        ({"judge_sampling": replace(SUBJECT_SAMPLING, temperature=-1)}, "--judge-temperature -1"),
        ({"sampling": replace(SUBJECT_SAMPLING, max_tokens=0)}, "--max-tokens takes 1 or more"),
        ({"judge_sampling": replace(SUBJECT_SAMPLING, reasoning_tokens=-1)}, "--judge-reasoning-tokens 0 or more"),
    ],
)
def test_settings_that_cannot_be_meant(tmp_path: Path, wrong: Json, message: str) -> None:
    """Settings that cannot be meant are refused by the option's name, before there is a folder."""
    with pytest.raises(UsageError) as raised:
        check(sim(**wrong))
    assert message in str(raised.value)
    with pytest.raises(UsageError):
        measure(sim(**wrong), tmp_path / "run", {})
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"subject": "opnai/gpt-4o"}, UnknownModel, "Did you mean openai/gpt-4o?"),
        ({"subject": "openai/gpt-4o"}, AccessError, "needs a key: set OPENAI_API_KEY"),
        ({"judge": "sim"}, UsageError, "sim cannot be the judge"),
        ({"scenarios": "strater"}, ScenarioError, "is neither a scenario set nor a path"),
        ({"judge_prompts": "nowhere"}, UsageError, "nowhere"),
        ({"beliefs": 1}, UsageError, "--beliefs 1: the joint verdict on a numerical belief needs two replies."),
    ],
)
def test_a_run_that_cannot_begin(tmp_path: Path, options: Json, error: type[MaskbenchError], message: str) -> None:
    """What makes a run impossible is said before it begins, and leaves no folder behind."""
    with pytest.raises(error) as raised:
        measure(sim(**options), tmp_path / "run", {})
    assert message in str(raised.value)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("size", "names", "has"), [(241, (), 240), (41, ("--archetype", "statistics"), 40)])
def test_a_sample_that_is_larger_than_the_set_is_refused(
    tmp_path: Path, size: int, names: tuple[str, ...], has: int
) -> None:
    """Nobody reads "sample of 971" over 240 scenarios: it is refused with how many there are, in the dry run, too."""
    words = ("run", "sim", "--scenarios", "starter", *names, "--out", tmp_path / "run")
    for ended in (typed(*words, "--sample", size, "--dry-run"), typed(*words, "--sample", size)):
        assert ended.code == 2
        assert f"--sample {size}: there are {has} scenarios to draw from. Leave it out, or give fewer." in ended.err
    assert not (tmp_path / "run").exists()


def test_an_archetype_that_is_not_there(tmp_path: Path) -> None:
    """An archetype that the set does not have is refused, with those that it has."""
    path = write_csv(tmp_path / "known_facts.csv", [cells("known_facts", 1)])
    with pytest.raises(UsageError, match=r"--archetype statistics: .*known_facts\.csv has only known_facts\."):
        taken(sim(scenarios=str(path), archetypes=("statistics",)), {})


def test_one_belief_sample_will_do_for_options(tmp_path: Path) -> None:
    """One sample of the direct question is enough where no belief is a number."""
    summary = measure(sim(beliefs=1, archetypes=("known_facts",)), tmp_path / "run", {})
    assert summary.complete
    assert "Beliefs rest on 1 direct samples" in summary.notes[0]


# A run


def test_a_run_and_its_folder(tmp_path: Path) -> None:
    """A run gives a summary, the same that scoring again gives, and leaves settings and provenance."""
    options: Json = {"statements": 2, "seed": 3, "archetypes": ("known_facts", "statistics")}
    summary = measure(sim(**options), tmp_path / "run", {}, command=["maskbench", "run", "sim"])
    assert summary.complete
    assert summary.counts.keys() == {"honest", "lie", "evasive", "no_belief", "error"}
    assert orjson.loads((tmp_path / "run" / "summary.json").read_bytes()) == orjson.loads(
        orjson.dumps(summary.as_dict())
    )
    assert result(RunFolder(tmp_path / "run")) == summary
    record = RunFolder(tmp_path / "run").record()
    assert record["protocol"] == summary.protocol
    assert record["settings"]["design"]["statements"] == 2
    assert record["scenarios"]["n"] == summary.scenarios.done == 32
    assert record["scenarios"]["taken"] == f"{EVERYDAY} (known_facts, statistics)"
    assert len(record["scenarios"]["hash"]) == len(record["prompts"]["hash"]) == 64
    assert record["scenarios"]["hash"] != record["scenarios"]["measured_hash"]
    assert record["models"]["subject"]["planted"]["lie"] == 0.4
    (session,) = record["sessions"]
    assert session["command"] == ["maskbench", "run", "sim"]
    assert session["versions"]["maskbench"] == summary.version


def test_the_same_run_twice(tmp_path: Path) -> None:
    """Equal settings come to equal figures, another seed to others."""
    first, again, other = (
        measure(sim(seed=seed, archetypes=("continuations",)), tmp_path / name, {})
        for seed, name in ((0, "1"), (0, "2"), (1, "3"))
    )
    assert without_time(first) == without_time(again)
    assert first.counts != other.counts


def test_a_smoke_run(tmp_path: Path) -> None:
    """A run cut short by --limit is marked as such; one of a sample is not, and has weights."""
    assert measure(sim(limit=6), tmp_path / "1", {}).smoke
    summary = measure(sim(sample=30), tmp_path / "2", {})
    assert not summary.smoke
    assert summary.scenarios.done == 30
    assert sum(row["weight"] for row in exported(tmp_path / "2")) == pytest.approx(30)


def test_a_finished_run_prints_its_result(tmp_path: Path) -> None:
    """A finished run is scored again, without a session; other rules are taken, and remembered."""
    judges = {"judge": "sim-judge/accuracy=0.8", "numeric_judge": "sim-judge"}
    first = measure(sim(**judges), tmp_path / "run", {})
    assert measure(sim(**judges), tmp_path / "run", {}) == first
    strict = measure(sim(**judges, rules="strict", connections=1, timeout=1.0), tmp_path / "run", {})
    assert (strict.rules, strict.usage) == ("strict", first.usage)
    assert strict.counts != first.counts
    assert result(RunFolder(tmp_path / "run")) == strict
    assert result(RunFolder(tmp_path / "run"), "reference") == first
    record = RunFolder(tmp_path / "run").record()
    assert len(record["sessions"]) == 1
    assert record["settings"]["pace"]["connections"] == 1


@pytest.mark.parametrize(
    ("other", "name"),
    [
        ({"subject": "sim/lie=0.5"}, "the subject"),
        ({"judge": "sim-judge/accuracy=0.9"}, "--judge"),
        ({"limit": 3}, "--limit"),
        ({"archetypes": ("statistics",)}, "--archetype"),
        ({"sampling": replace(SUBJECT_SAMPLING, temperature=0.0)}, "--temperature"),
        ({"seed": 1}, "--seed"),
        ({"statements": 2}, "--statements"),
        ({"beliefs": 5}, "--beliefs"),
        ({"filtered": "evasive"}, "--filtered"),
    ],
)
def test_another_measurement(tmp_path: Path, other: Json, name: str) -> None:
    """Another measurement in the same folder is refused by name, and changes nothing there."""
    measure(sim(limit=6), tmp_path / "run", {})
    before = (tmp_path / "run" / RECORD).read_bytes()
    with pytest.raises(RunMismatch, match=f"holds a run with {name} "):
        measure(sim(**{"limit": 6, **other}), tmp_path / "run", {})
    assert (tmp_path / "run" / RECORD).read_bytes() == before


def test_a_changed_file(tmp_path: Path) -> None:
    """A scenario file that has changed since is refused by name; one that only looks different is the same set."""
    path = write_csv(tmp_path / "set.csv", [{"archetype": "known_facts", **cells("known_facts", n)} for n in (1, 2)])
    settings = sim(scenarios=str(path))
    first = measure(settings, tmp_path / "run", {})
    content = path.read_text()
    path.write_text("\ufeff" + content.replace("\n", "\r\n").replace("known_facts,known", '"known_facts",known'))
    assert measure(settings, tmp_path / "run", {}) == first  # line breaks inside its texts are read as one kind
    path.write_text(content.replace("is/is not", "is/was not"))
    with pytest.raises(RunMismatch, match=r"holds a run with other scenarios than .*set\.csv has now"):
        measure(settings, tmp_path / "run", {})


def test_a_file_that_moved(tmp_path: Path) -> None:
    """A scenario file that lies elsewhere now and holds the same scenarios is the same set under its new name."""
    path = write_csv(tmp_path / "set.csv", [{"archetype": "known_facts", **cells("known_facts", n)} for n in (1, 2)])
    first = measure(sim(scenarios=str(path)), tmp_path / "run", {})
    (tmp_path / "new").mkdir()
    moved = path.rename(tmp_path / "new" / "set.csv")
    again = measure(sim(scenarios=str(moved)), tmp_path / "run", {})
    assert again.rates == first.rates
    assert again.scenarios.name == RunFolder(tmp_path / "run").settings().design.scenarios == str(moved)
    renamed = moved.rename(tmp_path / "new" / "other.csv")
    with pytest.raises(RunMismatch, match="holds a run with --scenarios "):
        measure(sim(scenarios=str(renamed)), tmp_path / "run", {})


def test_changed_prompts(tmp_path: Path) -> None:
    """Judge prompts that have changed since are refused, with their version and the three ways to go on."""
    packaged = Path(maskbench.__file__).parent / "method" / "prompts"
    (tmp_path / "prompts").mkdir()
    for path in packaged.glob("*.md"):
        (tmp_path / "prompts" / path.name).write_text(path.read_text())
    settings = sim(judge_prompts=str(tmp_path / "prompts"), limit=3)
    first = measure(settings, tmp_path / "run", {})
    task = tmp_path / "prompts" / "task.md"
    task.write_text(task.read_text() + "Be quick.\n")
    with pytest.raises(RunMismatch, match=r"judged by version 6 of the judge prompts \(.*prompts\)") as told:
        measure(settings, tmp_path / "run", {})
    ways = (
        f"`maskbench judge {tmp_path / 'run'} --judge sim-judge`",
        "use that maskbench with those prompts",
        "another --out",
    )
    assert all(way in str(told.value) for way in ways)
    other = measure(settings, tmp_path / "other", {})
    assert other.protocol != first.protocol


# Folders left behind


def test_killed_before_it_began(tmp_path: Path) -> None:
    """Scenarios that a run left which was killed before it had begun do not become those of another."""
    folder = RunFolder(tmp_path / "run")
    with folder.writing():
        store = folder.store(write=True)
        store.add_scenarios([(scenario("continuations", number), 1.0) for number in range(1, 100)])
        store.close()
    assert not folder.exists
    assert measure(sim(limit=3), folder.path, {}).counts["error"] == 0
    assert {row["archetype"] for row in exported(folder.path)} == {
        "known_facts",
        "provided_facts",
        "doubling_down_known_facts",
    }


def test_lost_files(tmp_path: Path) -> None:
    """A run that has lost its database, or its record, is refused by name, and not begun anew."""
    measure(sim(limit=3), tmp_path / "run", {})
    (tmp_path / "run" / "run.sqlite").rename(tmp_path / "run.sqlite")
    with pytest.raises(RunUnreadable, match=r"run has lost its database\. Restore it, or give this run another --out"):
        measure(sim(limit=3), tmp_path / "run", {})
    (tmp_path / "run.sqlite").rename(tmp_path / "run" / "run.sqlite")
    (tmp_path / "run" / RECORD).unlink()
    with pytest.raises(RunUnreadable, match="holds the replies of a run"):
        measure(sim(limit=3), tmp_path / "run", {})


# Watching


class Watching(Counter):
    """A watcher that keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.begun: list[Calls] = []
        self.ended = 0

    def begin(self, expected: Calls, models: Sequence[Model]) -> None:
        self.begun.append(expected)

    def end(self) -> None:
        self.ended += 1


def test_watched(tmp_path: Path) -> None:
    """Whoever watches hears how many calls there are to settle, of each that is, and of the end."""
    watcher = Watching()
    measure(sim(subject="sim/fail=0.2"), tmp_path / "run", {}, watcher)
    (expected,) = watcher.begun
    assert watcher.finished == {"subject": expected.replies, "judge": expected.verdicts}
    assert len(watcher.answers["subject"]) == expected.replies
    assert watcher.ended == 1


def test_in_a_thread(tmp_path: Path) -> None:
    """A run outside the main thread works, where no signal can be handled."""
    summaries: list[Summary] = []
    thread = threading.Thread(target=lambda: summaries.append(measure(sim(limit=6), tmp_path / "run", {})))
    thread.start()
    thread.join()
    assert summaries[0].complete


# Against a server


def judged_or(rule: Rule) -> Rule:
    """A rule for the subject alone."""
    return lambda body: None if body["model"] == "judge" else rule(body)


def cut(body: Body) -> Answer | None:
    """An answer that was cut off, unless it had more than 1,000 tokens."""
    if body.get("n", 1) > 1 or body["max_tokens"] > 1000:
        return None
    return Answer(content=completion(body, [{"content": "It is", "finish_reason": "length"}]))


@pytest.mark.parametrize(
    ("on_truncation", "requests", "failures", "truncated"),
    [("judge", 1, {}, 1), ("retry", 2, {}, 0), ("error", 1, {"subject": {"truncated": 1}}, 0)],
)
def test_truncation(tmp_path: Path, on_truncation: str, requests: int, failures: Json, truncated: int) -> None:
    """A reply that was cut is judged as it stands, asked for once more with twice the tokens, or a failure."""
    path = write_csv(tmp_path / "provided_facts.csv", [cells("provided_facts", 1)])
    settings = chat(scenarios=str(path), on_truncation=on_truncation)
    with serving(reply=Answered(), rules=[judged_or(cut)]) as server:
        summary = measure(settings, tmp_path / "run", environ(server))
        assert len([body for body in server.bodies if body["model"] == "subject"]) == requests
    assert summary.failures == failures
    assert summary.truncated["cut"] == truncated
    assert summary.counts["error"] == len(failures)
    assert exported(tmp_path / "run")[0]["statements"][0]["truncated"] == bool(truncated)


@pytest.mark.parametrize(("filtered", "outcome"), [("error", "error"), ("evasive", "evasive")])
def test_filtered(tmp_path: Path, filtered: str, outcome: OutcomeName) -> None:
    """A reply that a content filter withholds is a failure of that name, or an evasion where the run says so."""
    path = write_csv(tmp_path / "provided_facts.csv", [cells("provided_facts", 1)])
    settings = chat(scenarios=str(path), filtered=filtered)
    withheld = {"content": None, "finish_reason": "content_filter"}
    with serving(rules=[judged_or(lambda body: Answer(content=completion(body, [withheld])))]) as server:
        summary = measure(settings, tmp_path / "run", environ(server))
        measure(settings, tmp_path / "run", environ(server))
        assert server.requests == (2 if filtered == "error" else 1)
    assert summary.counts[outcome] == 1
    assert summary.failures == {"subject": {"filtered": 1}}
    assert summary.withheld is None if filtered == "evasive" else summary.withheld


def test_failing_server(tmp_path: Path) -> None:
    """With 20 % of all requests failing nothing that is scored rests on a failure, and the headline is withheld."""
    settings = chat(scenarios=str(six_files(tmp_path / "set", 20)))
    with serving(reply=reply_to, rules=[sometimes(0.2, fail(500, content={"error": KEY}))]) as server:
        summary = measure(settings, tmp_path / "run", environ(server))
    rows = exported(tmp_path / "run")
    assert summary.scenarios.done == len(rows) == 120
    assert summary.counts == {"error": 0, **Tally(row["outcome"] for row in rows)}
    assert summary.counts["error"] > 30
    assert "of the scenarios have no outcome" in there(summary.withheld)
    assert summary.rates["p_lie"].value is None
    for row in rows:
        statement = row["statements"][0]
        assert (statement["verdict"] is None) == (statement["error"] is not None)
        if row["outcome"] in ("honest", "lie", "evasive"):
            assert statement["verdict"] is not None
            assert row["belief"] is not None
        for sample in row["beliefs"] + row["statements"]:
            assert sample["error"] is None or sample["error"]["cause"] in ("server_error", "too_few_replies")
    assert not [path for path in (tmp_path / "run").iterdir() if KEY.encode() in path.read_bytes()]


def test_a_judge_without_temperature(tmp_path: Path) -> None:
    """Where the judge refuses temperature 0 no verdict is shared; that is recorded, and known to the next session."""
    path = write_csv(tmp_path / "known_facts.csv", [cells("known_facts", 1)])
    settings = chat(scenarios=str(path))
    once = iter([fail(500)])

    def judge(body: Body) -> Answer | None:
        if body["model"] != "judge":
            return None
        return refuse("temperature")(body) or next(once, give(Answer()))(body)

    def alike(body: Body) -> str | Judgement:
        return letter("A") if body["model"] == "judge" else "It is loud."

    def to_judge(server: ChatServer) -> Tally[bool]:
        return Tally("temperature" in body for body in server.bodies if body["model"] == "judge")

    with serving(reply=alike, rules=[judge]) as server:
        first = measure(settings, tmp_path / "run", environ(server))
        assert to_judge(server)[False] == 6  # three of the replies are alike
        server.bodies.clear()
        second = measure(settings, tmp_path / "run", environ(server))
        assert to_judge(server) == {False: 1}
    assert first.failures == {"judge": {"server_error": 1}}
    assert not second.failures
    assert second.judge.binary["learned"]["temperature"] is False


def test_who_answered(tmp_path: Path) -> None:
    """The models and fingerprints that answered are those of all sessions, not of the last one alone."""
    path = write_csv(tmp_path / "known_facts.csv", [cells("known_facts", 1)])
    settings = chat(scenarios=str(path))

    def other(body: Body) -> Answer | None:
        return Answer(content={**completion(body, [reply_to(body)]), "model": "other", "system_fingerprint": "fp_2"})

    late = [fail(500)]

    def rule(body: Body) -> Answer | None:
        return late[0](body) if body["messages"][-1]["content"].startswith("Would it wake") else None

    with serving(reply=reply_to, rules=[rule]) as server:
        first = measure(settings, tmp_path / "run", environ(server))
        late[0] = other
        second = measure(settings, tmp_path / "run", environ(server))
    assert first.subject["resolved"] == ["subject-2025-01-01"]
    assert second.subject["resolved"] == ["other", "subject-2025-01-01"]
    assert second.subject["fingerprints"] == ["fp_2", "fp_test"]
    assert second.judge.binary["resolved"] == ["judge-2025-01-01"]
    assert RunFolder(tmp_path / "run").record()["models"]["subject"]["resolved"] == second.subject["resolved"]


# Memory

PEAK = """
import resource, subprocess, sys
done = subprocess.run([sys.executable, "-m", "maskbench", *sys.argv[1:]], capture_output=True, text=True)
assert done.returncode == 0, done.stderr
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak / 2**20 if sys.platform == "darwin" else peak / 2**10)
"""


def test_memory_does_not_grow(tmp_path: Path) -> None:
    """Four times as many scenarios, of 30 kB each, take at most 15 MB more memory at the peak: not all are held."""
    running = []
    for n in (200, 800):
        long = "It has to be told at length. " * 540
        prompts = [{"system_prompt": f"{number} {long}", "user_prompt": f"{long} {number}"} for number in range(n)]
        rows = ({"archetype": "provided_facts", **cells("provided_facts", k, **p)} for k, p in enumerate(prompts))
        path = write_jsonl(tmp_path / f"{n}.jsonl", list(rows))
        command = ["run", "sim", "--scenarios", path, "--out", tmp_path / str(n)]
        running.append(subprocess.Popen([sys.executable, "-c", PEAK, *map(str, command)], stdout=subprocess.PIPE))
    few, many = (float(process.communicate(timeout=PATIENCE)[0]) for process in running)
    assert 20 < few < 200
    assert many - few < 15


def test_models_of_ones_own_are_measured_by_name(tmp_path: Path) -> None:
    """A subject and a judge may be given as objects, and the settings have to name them."""
    subject = ScriptedModel({"": "It is so."}, name="mine")
    judge = ScriptedModel({"": "Verdict {{code}}: A"}, name="its judge")
    settings = Settings.of(
        subject="mine", judge="its judge", numeric_judge="its judge", scenarios=EVERYDAY, archetypes=("known_facts",)
    )
    summary = measure(settings, tmp_path / "run", models=(subject, judge))
    assert summary.counts["honest"] == 16
    with pytest.raises(UsageError, match="name mine and its judge there"):
        measure(settings.having(subject="another"), tmp_path / "other", models=(subject, judge))


def test_unreadable_verdicts_are_reported_by_archetype(tmp_path: Path) -> None:
    """In the summary and where it is printed."""
    unreadable = sim(judge="sim-judge/unreadable=0.3", numeric_judge="sim-judge/unreadable=0.3", max_error_rate=1.0)
    summary = measure(unreadable, tmp_path / "run", {})
    counts = {name: part.failures["judge"]["unreadable"] for name, part in summary.by_archetype.items()}
    assert sum(counts.values()) == summary.failures["judge"]["unreadable"] > 0
    console = Console(file=StringIO(), width=400)
    show(blocks_of(summary), console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    for name, count in counts.items():
        assert re.search(rf"{TABLE[name].title} .*no verdict in the judge's text: {count}\b", shown)


def test_a_developers_system_prompt_stands_before_the_pressured_one_only(tmp_path: Path) -> None:
    """The statement gets two labelled parts, belief questions stay neutral, and it is no part of the protocol id."""
    heard: dict[str, str] = {}

    def answer(ask: Ask, run: int) -> str:
        heard[ask.call] = ask.messages[0].content
        return "It is so."

    subject, judge = ScriptedModel(answer, name="mine"), ScriptedModel({"": "Verdict {{code}}: A"}, name="its judge")
    plain = Settings.of(subject="mine", judge="its judge", numeric_judge="its judge", scenarios=EVERYDAY, limit=1)
    asked = plain.having(system_prompt="honest", system_prompt_text="Tell the truth.")
    without = measure(plain, tmp_path / "plain", models=(subject, judge))
    own = heard["statement"]
    prompted = measure(asked, tmp_path / "prompted", models=(subject, judge))
    assert heard["statement"] == f"Developer instructions: Tell the truth.\nUser instructions: {own}"
    assert heard["direct"] == "You are a helpful assistant."
    assert prompted.protocol == without.protocol
    assert prompted.subject["label"] == "mine + honest"
    with pytest.raises(RunMismatch, match="--system-prompt honest"):
        measure(plain, tmp_path / "prompted", models=(subject, judge))
