"""Beliefs once: what may be shared, what is taken over and never asked, what is refused, and what is said of it."""

import shlex
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat_server import Body, ChatServer, fail, sometimes
from flows import (
    MODELS,
    Answered,
    Ended,
    command,
    environ,
    kill,
    letter,
    maskbench,
    number,
    reply_to,
    run,
    serving,
    six_files,
)
from flows import until as wait_until
from maskbench.cli.asked import new
from maskbench.errors import RunMismatch, RunUnreadable, UsageError
from maskbench.measurement import measure
from maskbench.method.asks import VERDICTS, subject_ask, subject_asks
from maskbench.method.outline import outline, own_parts
from maskbench.models.scripted import ScriptedModel
from maskbench.pages.server.live import plan as live_plan
from maskbench.pages.server.live import progress
from maskbench.presentation.of_one_run import result as blocks_of
from maskbench.presentation.terminal import text
from maskbench.results.scored import score
from maskbench.runs.beliefs_from import BeliefsFrom, fresh_command, source_of
from maskbench.runs.drawn_part import ANEW_PART
from maskbench.runs.folder import RunFolder
from maskbench.runs.shared_beliefs import as_served, differences, sharing
from maskbench.runs.watching import Unwatched
from maskbench.settings import Settings, reply_key
from maskbench.stats.figures import Share
from maskbench.types import Judgement
from measured_runs import EVERYDAY, change, reply_keys, settings
from there import there

HONEST = ("--system-prompt", "honest")


def is_statement(body: Body) -> bool:
    """Whether a request to the subject is no belief question: these have the published code's system prompt alone."""
    return bool(body["messages"][0]["content"] != "You are a helpful assistant.")


def asked(server: ChatServer) -> Counter[str]:
    """What the server was asked so far: statements, beliefs, and verdicts."""
    kinds = ("verdicts" if body["model"] == "judge" else is_statement(body) for body in server.bodies)
    names = {True: "statements", False: "beliefs"}
    return Counter(kind if isinstance(kind, str) else names[kind] for kind in kinds)


def measured(server: ChatServer, out: Path, *options: object) -> Ended:
    """`maskbench run` between the server's subject and judge."""
    return command("run", *MODELS, "--out", out, *options, env=environ(server))


def beliefs(path: Path) -> list[tuple[Any, ...]]:
    """Every neutral reply of a run with its verdict, without their keys."""
    query = """
        SELECT r.archetype, r.task_id, r.elicitation, r.run, r.text, r.at, v.verdict, v.at FROM replies r
        LEFT JOIN judged j USING (archetype, task_id, elicitation, run) LEFT JOIN verdicts v ON v.key = j.key
        WHERE r.elicitation BETWEEN 1 AND 3 AND r.run < 1000 ORDER BY 1, 2, 3, 4
    """
    with closing(sqlite3.connect(path / "run.sqlite")) as database:
        return database.execute(query).fetchall()


@pytest.fixture
def source(tmp_path: Path) -> Iterator[tuple[ChatServer, Path, Path]]:
    """A server, a scenario set, and a run of it with beliefs of its own."""
    scenarios = six_files(tmp_path / "set", 2)
    with serving(reply=reply_to, honours_n=False) as server:
        assert measured(server, tmp_path / "plain", "--scenarios", scenarios).code == 0
        server.bodies.clear()
        yield server, scenarios, tmp_path / "plain"


# What is taken over


def test_belief_questions_go_out_as_a_check_alone(source: tuple[ChatServer, Path, Path], tmp_path: Path) -> None:
    """All statements, and the beliefs of one of twelve scenarios; they are the other run's, verdicts and times too."""
    server, scenarios, plain = source
    arm = tmp_path / "arm"
    ended = measured(server, arm, "--scenarios", scenarios, *HONEST, "--beliefs-from", plain)
    assert ended.code == 0, ended.err
    anew = asked(server)["beliefs"]
    assert asked(server) == {"statements": 12, "beliefs": anew, "verdicts": 12}  # equal replies share their verdicts
    assert 0 < anew <= 5
    assert beliefs(arm) == beliefs(plain)
    assert f"The beliefs are those of {plain}: 46 replies and 42 verdicts are not asked for." in ended.err
    usage = score(arm).summary.usage
    assert (usage.subject.answers, usage.judge.answers) == (12 + anew, 12)
    server.bodies.clear()
    assert measured(server, arm, "--scenarios", scenarios, *HONEST, "--beliefs-from", plain).code == 0
    assert not server.bodies


def test_the_figures_are_those_of_a_run_that_asked(source: tuple[ChatServer, Path, Path], tmp_path: Path) -> None:
    """A server that answers by the request alone gives an arm of its own beliefs the same outcomes."""
    server, scenarios, plain = source
    for name, more in (("arm", ("--beliefs-from", plain)), ("own", ())):
        assert measured(server, tmp_path / name, "--scenarios", scenarios, *HONEST, *more).code == 0
    arm, own = score(tmp_path / "arm"), score(tmp_path / "own")
    assert arm.scenarios == own.scenarios
    assert arm.summary.protocol == own.summary.protocol
    assert "beliefs_from" not in own.as_dict()
    assert arm.as_dict()["beliefs_from"]["run"] == str(plain)


def test_replies_lie_under_the_keys_of_the_run_that_has_them(tmp_path: Path) -> None:
    """With another seed every reply key is another one, and still nothing neutral is asked."""
    base = Settings.of("pinocchio", "rules/sandbox", "sandbox", limit=6)
    measure(base, tmp_path / "plain", {})
    arm = base.having(seed=7, statements=2, beliefs_from=str(tmp_path / "plain"))
    measure(arm, tmp_path / "arm", {})
    store = RunFolder(tmp_path / "arm").store()
    try:
        for scenario, _ in store.scenarios():
            wanted = [reply_key(arm, ask, number) for ask in subject_asks(scenario, arm) for number in ask.runs]
            again = [
                subject_ask(scenario, part.elicitation, part.runs, arm) for part in own_parts(scenario, arm, anew=True)
            ]
            anew = [reply_key(arm, ask, number) for ask in again for number in ask.runs]
            is_checked = scenario.key in store.chosen(ANEW_PART)
            assert reply_keys(tmp_path / "arm", scenario) == {*wanted, *(anew if is_checked else ())}
    finally:
        store.close()
    assert [row[4] for row in beliefs(tmp_path / "arm")] == [row[4] for row in beliefs(tmp_path / "plain")]


def test_a_part_of_the_scenarios_is_enough(tmp_path: Path) -> None:
    """A sample has the beliefs of the whole set's run, as far as it goes."""
    measure(settings("sim"), tmp_path / "plain", {})
    arm = settings("sim", sample=20, beliefs_from=str(tmp_path / "plain"))
    summary = measure(arm, tmp_path / "arm", {})
    assert (summary.scenarios.done, summary.usage.subject.answers) == (20, 25)  # five on the one that is checked
    assert there(source_at(tmp_path / "arm")).scenarios == 20


def source_at(path: Path) -> Any:
    """Whose beliefs a run has."""
    store = RunFolder(path).store()
    try:
        return source_of(store)
    finally:
        store.close()


def test_of_a_run_that_shares_beliefs_the_first_run_is_named(tmp_path: Path) -> None:
    """An arm can be a source, too: the beliefs stay those of the run that asked for them."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    measure(settings("sim", limit=6, statements=2, beliefs_from=str(tmp_path / "plain")), tmp_path / "b", {})
    measure(settings("sim", limit=6, statements=3, beliefs_from=str(tmp_path / "b")), tmp_path / "c", {})
    first, second = source_at(tmp_path / "b"), source_at(tmp_path / "c")
    assert (first.run, first.id) == (second.run, second.id)


def test_a_run_without_them_asks_as_ever(tmp_path: Path) -> None:
    """The setting that is off leaves asks, JSON and the plan as they were."""
    own = settings("sim", limit=6)
    measure(own, tmp_path / "plain", {})
    store = RunFolder(tmp_path / "plain").store()
    try:
        assert all(own_parts(scenario, own) == outline(scenario, own) for scenario, _ in store.scenarios())
    finally:
        store.close()
    assert "beliefs_from" not in orjson.loads((tmp_path / "plain" / "summary.json").read_bytes())
    assert source_at(tmp_path / "plain") is None


# Failures


def test_what_failed_there_fails_here_until_it_is_mended(tmp_path: Path) -> None:
    """A failed belief is an error of both and asked for by neither arm; once the source has it the arm takes it."""
    scenarios = six_files(tmp_path / "set", 2)
    broken = [sometimes(0.3, lambda body: None if is_statement(body) or body["model"] == "judge" else refused(body))]
    with serving(rules=broken, reply=reply_to, honours_n=False) as server:
        lax = ("--scenarios", scenarios, "--max-error-rate", "1")
        measured(server, tmp_path / "plain", *lax)
        server.rules.clear()
        server.bodies.clear()
        arm = ("--beliefs-from", tmp_path / "plain", *HONEST)
        assert measured(server, tmp_path / "arm", *lax, *arm).code == 0
        assert asked(server)["beliefs"] <= 5  # a check
        errors = [score(tmp_path / name).counts["error"] for name in ("plain", "arm")]
        assert errors[0] == errors[1] > 0
        assert there(source_at(tmp_path / "arm")).failed > 0
        measured(server, tmp_path / "plain", *lax)
        server.bodies.clear()
        assert measured(server, tmp_path / "arm", *lax, *arm).code == 0
    assert not server.bodies
    assert score(tmp_path / "arm").counts["error"] == 0
    assert there(source_at(tmp_path / "arm")).failed == 0


def refused(body: Body) -> Any:
    """A refusal of the request for good."""
    return fail(400, content={"error": {"message": "no", "type": "invalid_request_error"}})(body)


# What is asked anew


def test_the_check_finds_beliefs_that_moved(tmp_path: Path) -> None:
    """Of a model whose neutral answers are others now the share says so; of one that answers as before it is 0."""
    scenarios, moved = six_files(tmp_path / "set", 20), threading.Event()

    def reply(body: Body) -> str | Judgement:
        if body["model"] != "judge":
            return "Else." if moved.is_set() and not is_statement(body) else "So."
        is_else = "Else." in str(body["messages"][-1])
        return number(99 if is_else else 10) if "lower_bound" in str(body) else letter("B" if is_else else "A")

    with serving(reply=reply, honours_n=False) as server:
        assert measured(server, tmp_path / "plain", "--scenarios", scenarios).code == 0
        arm = ("--scenarios", scenarios, *HONEST, "--beliefs-from", tmp_path / "plain")
        assert measured(server, tmp_path / "same", *arm).code == 0
        moved.set()
        assert measured(server, tmp_path / "moved", *arm).code == 0
    same, now = (checked(tmp_path / name) for name in ("same", "moved"))
    assert (same.value, same.n) == (0.0, 5)
    assert (now.value, now.n) == (1.0, 5)
    for words in (("score", tmp_path / "moved", "--full"), ("compare", tmp_path / "plain", tmp_path / "moved")):
        assert "Of 5 beliefs that were asked anew as a check" in " ".join(command(*words, env={}).out.split())


def test_the_sample_is_kept_before_it_is_asked_and_never_drawn_twice(tmp_path: Path) -> None:
    """A run that stopped at its first call has it; taken up again with other seeds about, it asks those very ones."""
    scenarios = six_files(tmp_path / "set", 20)
    with serving(reply=reply_to, honours_n=False) as server:
        assert measured(server, tmp_path / "plain", "--scenarios", scenarios).code == 0
        arm = ("--scenarios", scenarios, "--beliefs-from", tmp_path / "plain")
        server.rules.append(lambda body: fail(401)(body))
        assert measured(server, tmp_path / "arm", *arm).code != 0
        before = drawn_at(tmp_path / "arm")
        assert len(before) == 5
        change(tmp_path / "arm", "DELETE FROM chosen WHERE task_id IN (SELECT min(task_id) FROM chosen)")
        server.rules.clear()
        assert measured(server, tmp_path / "arm", *arm).code == 0
    first = min(before, key=lambda key: key[1])
    assert drawn_at(tmp_path / "arm") == [key for key in before if key != first]
    assert checked(tmp_path / "arm").n == 4


def checked(path: Path) -> Share:
    """The share of a run's shared beliefs that came out otherwise where they were asked anew."""
    source = score(path).summary.beliefs_from
    assert isinstance(source, BeliefsFrom)
    assert isinstance(source.anew, Share)
    return source.anew


def drawn_at(path: Path) -> list[tuple[str, str]]:
    """The scenarios whose beliefs a run asks anew."""
    store = RunFolder(path).store()
    try:
        return sorted(store.chosen(ANEW_PART))
    finally:
        store.close()


# What is refused


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"subject": "sim/lie=0.9"}, "the subject is sim/lie=0.9, there sim"),
        ({"beliefs": 5}, "--beliefs is 5, there 3"),
        ({"adapter_hash": "a"}, "--adapter is a, there none (it changes neutral answers, too)"),
        ({"steer_hash": "v"}, "--steer is v, there none (it changes neutral answers, too)"),
        ({"dtype": "bf16"}, "--dtype is bf16, there auto (it changes neutral answers, too)"),
        ({"quantize": "4bit"}, "--quantize is 4bit, there none (it changes neutral answers, too)"),
        ({"judge": "other"}, "--judge is other, there sim-judge"),
        ({"filtered": "evasive"}, "--filtered is evasive, there error"),
        ({"run_label": "step 2"}, "--label is step 2, there none"),
        ({"extra_body": "{}"}, "--extra-body is {}, there none"),
        ({"system_prompt_text": "Be honest.", "prompt_on_beliefs": True}, "(--prompt-on-beliefs)"),
        ({"seed": 1}, "another seed is another simulated model"),
    ],
)
def test_what_touches_beliefs_is_named(changes: dict[str, Any], reason: str) -> None:
    """Each of these makes neutral answers, or what is made of them, another matter."""
    assert [each for each in differences(settings("sim").having(**changes), settings("sim")) if reason in each]


@pytest.mark.parametrize(
    "changes",
    [
        {"system_prompt": "honest", "system_prompt_text": "Be honest."},
        {"statements": 10, "sample": 20, "limit": None, "archetypes": ("statistics",), "scenarios": "elsewhere"},
        {"placebo": True, "self_report": True, "connections": 2, "rules": "strict"},
    ],
)
def test_what_differs_under_pressure_alone_is_none_of_it(changes: dict[str, Any]) -> None:
    """The pressured conversation, the scenarios that are taken, controls, and how it runs."""
    assert differences(settings("sim").having(**changes), settings("sim")) == []


def test_an_arm_that_wears_what_its_source_wears_may_share() -> None:
    """An adapter under both changes nothing between them, and a prompt on both runs' belief questions neither."""
    worn = settings("sim").having(adapter_hash="a", system_prompt_text="So.", prompt_on_beliefs=True)
    assert differences(worn.having(statements=3), worn) == []


def test_a_sweep_gives_each_arm_its_beliefs_where_it_may(tmp_path: Path) -> None:
    """`sharing` puts the source into the settings of an arm, and leaves alone an arm that has to ask."""
    base = settings("sim")
    assert sharing(base.having(statements=2), base, tmp_path).design.beliefs_from == str(tmp_path)
    assert sharing(base.having(beliefs=4), base, tmp_path).design.beliefs_from is None


def test_a_refusal_names_every_reason_and_leaves_no_folder(tmp_path: Path) -> None:
    """So that the next try needs no other --out."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    wrong = settings("sim", limit=6, beliefs=4, filtered="evasive", beliefs_from=str(tmp_path / "plain"))
    with pytest.raises(RunMismatch) as refusal:
        measure(wrong, tmp_path / "arm", {})
    words = str(refusal.value)
    assert "--beliefs is 4, there 3." in words
    assert "--filtered is evasive, there error." in words
    assert words.endswith("Leave --beliefs-from out, and this run asks for beliefs of its own.")
    assert not (tmp_path / "arm").exists()


def test_scenarios_that_the_source_lacks_are_refused(tmp_path: Path) -> None:
    """By name, and none of it is copied."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    with pytest.raises(RunMismatch, match=r"it lacks \d+ scenarios \(.*, \.\.\.\) with this text"):
        measure(settings("sim", beliefs_from=str(tmp_path / "plain")), tmp_path / "arm", {})
    assert not (tmp_path / "arm").exists()


def test_a_source_that_is_not_done_is_refused(tmp_path: Path) -> None:
    """With the command that takes it to its end."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    change(tmp_path / "plain", "DELETE FROM replies WHERE elicitation = 1 AND run = 2")
    with pytest.raises(RunMismatch, match=f"Take it up first: `maskbench run --out {tmp_path / 'plain'}`"):
        measure(settings("sim", limit=6, beliefs_from=str(tmp_path / "plain")), tmp_path / "arm", {})


@pytest.mark.parametrize(("name", "kind"), [("arm", UsageError), ("nowhere", RunUnreadable)])
def test_a_source_that_is_none_is_refused(tmp_path: Path, name: str, kind: type[Exception]) -> None:
    """A folder without a run, and the very run that is to have them."""
    with pytest.raises(kind):
        measure(settings("sim", limit=6, beliefs_from=str(tmp_path / name)), tmp_path / "arm", {})
    assert not (tmp_path / "arm").exists()


def test_another_model_that_answers_stops_the_run(source: tuple[ChatServer, Path, Path], tmp_path: Path) -> None:
    """The first statement tells: it is not kept, and the remedy is said."""
    server, scenarios, plain = source
    change(plain, "UPDATE replies SET model = 'subject-2024-06-01'")
    ended = measured(server, tmp_path / "arm", "--scenarios", scenarios, "--beliefs-from", plain, *HONEST)
    assert ended.code == 2
    assert "openai-api/local/subject answered as subject-2025-01-01, and the beliefs of" in ended.err
    assert "are of subject-2024-06-01" in ended.err
    with closing(sqlite3.connect(tmp_path / "arm" / "run.sqlite")) as database:
        assert database.execute("SELECT count(*) FROM replies WHERE elicitation = 0").fetchone() == (0,)


class Weighed(ScriptedModel):
    """A scripted model whose weights have a fingerprint."""

    def __init__(self, fingerprint: str) -> None:
        super().__init__(lambda ask, run: "text", "the subject")
        self._fingerprint = fingerprint

    def describe(self) -> dict[str, Any]:
        """With the fingerprint."""
        return {**super().describe(), "fingerprint": self._fingerprint}


def test_other_weights_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    """The file of a local model may have been trained on since."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    measure(settings("sim", limit=6, beliefs_from=str(tmp_path / "plain")), tmp_path / "arm", {})
    store = RunFolder(tmp_path / "arm").store(write=True)
    try:
        fact = store.fact("beliefs_from")
        store.remember("beliefs_from", fact | {"served": {"name": "the subject", "fingerprint": "before"}})
        assert as_served(Weighed("before"), store, Unwatched()).name == "the subject"
        with pytest.raises(RunMismatch, match=r"has other weights \(now\)"):
            as_served(Weighed("now"), store, Unwatched())
    finally:
        store.close()


def test_a_fact_that_nobody_wrote_is_no_source(tmp_path: Path) -> None:
    """A tampered database is called one."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    change(tmp_path / "plain", """INSERT INTO facts VALUES ('beliefs_from', '{"run": 3}')""")
    with pytest.raises(RunUnreadable, match="the fact beliefs_from"):
        score(tmp_path / "plain")


# Taking a run up again


def test_killed_and_taken_up_again(tmp_path: Path) -> None:
    """After kill -9 nothing that was answered is asked again, nor any belief, and the figures are the whole run's."""
    scenarios = six_files(tmp_path / "set", 8)
    options = (*MODELS, "--scenarios", scenarios, "--connections", "4")
    arm = (*options, *HONEST, "--beliefs-from", tmp_path / "plain")
    with serving(reply=reply_to, honours_n=False) as server:
        assert command("run", *options, "--out", tmp_path / "plain", env=environ(server)).code == 0
        assert command("run", *arm, "--out", tmp_path / "whole", env=environ(server)).code == 0
    answered = Answered()
    with serving(reply=answered, latency=0.03, honours_n=False) as server:
        with maskbench("run", *arm, "--out", tmp_path / "killed", env=environ(server)) as process:
            wait_until(lambda: len(answered.times) > 20)
            moment = kill(process)
        shutil.move(tmp_path / "plain", tmp_path / "moved")  # it is needed no more
        assert run("run", "--out", tmp_path / "killed", env=environ(server)).code == 0
        assert asked(server)["beliefs"] <= 3 * 5  # the checks of three scenarios
    assert not answered.before(moment - 0.1) & answered.after(moment)
    assert score(tmp_path / "killed").scenarios == score(tmp_path / "whole").scenarios


def test_a_run_keeps_to_the_beliefs_that_it_began_with(tmp_path: Path) -> None:
    """The source may lie elsewhere; none, or one where there was none, is another measurement."""
    plain, arm = tmp_path / "plain", tmp_path / "arm"
    own = settings("sim", limit=6)
    shares = own.having(beliefs_from=str(plain))
    measure(own, plain, {})
    measure(shares, arm, {})
    shutil.copytree(plain, tmp_path / "copy")
    measure(own.having(beliefs_from=str(tmp_path / "copy")), arm, {})
    with pytest.raises(RunMismatch, match="--beliefs-from another run, and this one asks for none"):
        measure(own, arm, {})
    with pytest.raises(RunMismatch, match="--beliefs-from none, and this one asks for another run"):
        measure(own.having(beliefs_from=str(arm)), plain, {})


def test_a_failed_source_gives_way_to_no_other_run(tmp_path: Path) -> None:
    """While some beliefs are missing another run's are not put beside those that are there."""
    own = settings("sim", limit=6)
    measure(own, tmp_path / "plain", {})
    measure(own.having(statements=2), tmp_path / "other", {})
    change(tmp_path / "plain", "UPDATE replies SET text = NULL, error_cause = 'timeout', error_detail = ''")
    arm = own.having(beliefs_from=str(tmp_path / "plain"), max_error_rate=1.0)
    measure(arm, tmp_path / "arm", {})
    with pytest.raises(RunMismatch, match="other has others"):
        measure(arm.having(beliefs_from=str(tmp_path / "other")), tmp_path / "arm", {})


def test_progress_counts_what_is_asked_here(tmp_path: Path) -> None:
    """A page on the run under way ends at all of its calls, which are those on statements."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    measure(settings("sim", limit=6, beliefs_from=str(tmp_path / "plain")), tmp_path / "arm", {})
    seen = progress(tmp_path / "arm", live_plan(tmp_path / "arm"))
    assert seen.settled == seen.total == 12 + 4  # the check has three replies and a joint verdict


# What is said


def test_the_dry_run_says_what_is_saved(tmp_path: Path) -> None:
    """In words and in JSON; what would be refused is refused there, too."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    words = ("run", "sim", "--scenarios", EVERYDAY, "--limit", 6, "--beliefs-from", tmp_path / "plain", "--dry-run")
    planned = orjson.loads(command(*words, "--json", env={}).out)
    assert planned["calls"]["replies"] == 6 + 3
    assert planned["anew"] == 1
    assert planned["not_asked"] == {"replies": 20, "requests": 12, "verdicts": 20}
    told = " ".join(command(*words, env={}).out.split())
    assert "20 replies and 20 verdicts less than with beliefs of its own. Those of 1 scenario are asked anew" in told
    assert command(*words, "--beliefs", 4, env={}).code == 2
    assert "not_asked" not in orjson.loads(
        command("run", "sim", "--scenarios", EVERYDAY, "--dry-run", "--json", env={}).out
    )


def test_figures_of_the_source_are_called_so(tmp_path: Path) -> None:
    """P(no belief) and accuracy are marked wherever the result is printed, and whose they are stands above."""
    measure(settings("sim", limit=12), tmp_path / "plain", {})
    measure(settings("sim", limit=12, beliefs_from=str(tmp_path / "plain")), tmp_path / "arm", {})
    told, own = (" ".join(text(blocks_of(score(tmp_path / name).summary), 300).split()) for name in ("arm", "plain"))
    assert (
        f"Shared beliefs. Nothing was asked neutrally here but to check: the beliefs are those of {tmp_path / 'plain'}"[
            :90
        ]
        in told
    )
    assert "shared, not measured: beliefs that are true, among those asked for" in told
    assert "(shared, not measured)." in told
    assert "no belief (shared, not measured)" in told
    assert "shared" not in own


def test_exports_name_the_source(tmp_path: Path) -> None:
    """Each line and each row of a run that shares beliefs, and no column where a run asked for its own."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    measure(settings("sim", limit=6, beliefs_from=str(tmp_path / "plain")), tmp_path / "arm", {})
    lines = command("export", tmp_path / "arm", "--format", "jsonl", env={}).out.splitlines()
    assert {orjson.loads(line)["beliefs_from"] for line in lines} == {str(tmp_path / "plain")}
    head, first, *_ = command("export", tmp_path / "arm", "--format", "csv", env={}).out.splitlines()
    assert head.endswith('"beliefs_from"')
    assert first.endswith(f'"{tmp_path / "plain"}"')
    assert "beliefs_from" not in command("export", tmp_path / "plain", "--format", "csv", env={}).out


# With beliefs of its own


def test_the_command_for_fresh_beliefs_asks_for_all_else_as_it_was(tmp_path: Path) -> None:
    """It is typed back to the settings of the arm, without the source."""
    arm = Settings.of(
        "openai-api/local/subject",
        "openai-api/local/judge",
        EVERYDAY,
        archetypes=("statistics", "known_facts"),
        system_prompt="honest",
        statements=4,
        placebo=True,
        beliefs_from="plain",
    )
    program, verb, subject, *words = shlex.split(fresh_command(arm, tmp_path / "arm"))
    assert (program, verb, subject) == ("maskbench", "run", arm.subject.name)
    assert words[-2:] == ["--out", f"{tmp_path / 'arm'}-own-beliefs"]
    given: dict[str, Any] = {}
    for word in words[:-2]:
        if word.startswith("--"):
            name = word[2:].replace("-", "_")
            given.setdefault(name, [])
        else:
            given[name].append(word)
    single = {name: values[0] if values else True for name, values in given.items()}
    single |= {"archetype": given["archetype"], "statements": int(single["statements"])}
    typed = new(subject, single)
    assert typed.having(system_prompt_text=None) == arm.having(beliefs_from=None)


def test_what_stands_in_a_file_alone_is_said_for_a_file(tmp_path: Path) -> None:
    """The command names a file, and the lines that it has to hold."""
    told = fresh_command(settings("sim", limit=6, judge_numbers="apart"), tmp_path / "arm")
    assert told.startswith("maskbench run FILE.toml --")
    assert told.endswith(' with a FILE.toml of the lines `model = "sim"`, `judge-numbers = "apart"')


def test_where_answers_hang_on_the_seed_another_one_is_taken(tmp_path: Path) -> None:
    """Else a model in this process would give the very same beliefs again."""
    assert "--seed 1 " in fresh_command(settings("hf/pinocchio"), tmp_path / "arm")
    assert "--seed" not in fresh_command(settings("openai-api/local/subject"), tmp_path / "arm")


def test_another_judge_still_judges_all(tmp_path: Path) -> None:
    """A verdict set of an arm is about beliefs, too, and its calls are counted as its own."""
    measure(settings("sim", limit=6), tmp_path / "plain", {})
    measure(settings("sim", limit=6, beliefs_from=str(tmp_path / "plain")), tmp_path / "arm", {})
    assert command("judge", tmp_path / "arm", "--judge", "sim-judge/flip=0.1", "--name", "b", env={}).code == 0
    assert score(tmp_path / "arm", verdicts="b").summary.usage.judge.answers > 6
    assert score(tmp_path / "arm", verdicts=VERDICTS).summary.usage.judge.answers == 6
