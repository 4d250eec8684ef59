"""Stored replies judged once more: into a set of its own, resumable, with its own provenance, and never generating."""

import math
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec.structs import replace as with_parts

from chat_server import Answer, Body
from flows import MODELS, Answered, Ended, Recorder, command, end, environ, serving, six_files, until, verdict_a
from flows import maskbench as process
from maskbench.asking.forecast import tokens
from maskbench.asking.judging.judge_again import default_name, forecast, judge, set_job
from maskbench.asking.passes import steps_left
from maskbench.cli import main
from maskbench.errors import RunLocked, RunMismatch, UnknownModel, UsageError
from maskbench.measurement import measure
from maskbench.method.forms import prompts_of
from maskbench.method.rules import RULES
from maskbench.models.scripted import Script, ScriptedModel
from maskbench.results.judges_agree import Alike, agreement
from maskbench.results.readers import OtherSetsReader
from maskbench.results.scored import result
from maskbench.results.summary import Summary
from maskbench.settings import JUDGE_SAMPLING
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import listed, reading
from maskbench.types import Ask, Failure, Kind, Model
from measured_runs import EVERYDAY, change, run, settings
from there import there

pytestmark = pytest.mark.slow


def judged(path: Path, name: str, judge_name: str = "sim-judge", **options: Any) -> Summary:
    """Judge a run by a simulated judge, and score it by that."""
    folder = RunFolder(path)
    made = folder.settings().having(judge=judge_name, numeric_judge=judge_name, **options)
    judge(folder, made, name, {})
    return result(folder, verdicts=name)


def own(script: Script, name: str = "the judge") -> Mapping[Kind, Model]:
    """A scripted judge for both kinds of scenario."""
    model = ScriptedModel(script, name)
    return {"binary": model, "numerical": model}


def by_script(path: Path, name: str, script: Script, **options: Any) -> None:
    """Judge a run by a scripted judge."""
    folder = RunFolder(path)
    made = folder.settings().having(judge="the judge", numeric_judge="the judge", **options)
    judge(folder, made, name, {}, judges=own(script))


# What a set is


def test_another_judge_gives_what_a_run_with_it_would_have_given(tmp_path: Path) -> None:
    """Equal figures and the same protocol id as a run measured with that judge; the run's own result stays."""
    one = run(tmp_path / "one")
    before = result(RunFolder(one))
    other = run(tmp_path / "other", judge="sim-judge/accuracy=0.8", numeric_judge="sim-judge/accuracy=0.8")
    found, wanted = judged(one, "other", "sim-judge/accuracy=0.8"), result(RunFolder(other))
    assert found.counts == wanted.counts != before.counts
    assert found.rates == wanted.rates
    assert found.protocol == wanted.protocol != before.protocol
    assert found.judge.binary["name"] == "sim-judge/accuracy=0.8"
    assert (found.verdicts, before.verdicts) == ("other", "default")
    after = result(RunFolder(one), judges=False)
    assert after.of(OtherSetsReader) == ["other"]
    assert with_parts(after, judges=None, other_verdicts=None) == with_parts(before, judges=None)
    assert found.usage.subject == before.usage.subject


def test_run_json_says_where_a_set_comes_from(tmp_path: Path) -> None:
    """Judge, settings, prompts, models, protocol id, version and sessions; the run's own entries are as they were."""
    path = run(tmp_path / "run")
    before = RunFolder(path).record()
    judge(RunFolder(path), RunFolder(path).settings(), "again", {}, command=["maskbench", "judge"])
    record = RunFolder(path).record()
    entry = record.pop("verdict_sets")["again"]
    assert record == before
    assert entry["judging"]["judge"] == entry["models"]["binary"]["name"] == "sim-judge"
    assert entry["protocol"] == before["protocol"]
    assert entry["prompts"] == before["prompts"]
    assert entry["models"]["numeric"]["resolved"] == ["sim-judge"]
    assert [session["command"] for session in entry["sessions"]] == [["maskbench", "judge"]]


def test_every_reply_is_judged_and_none_is_generated(tmp_path: Path) -> None:
    """The judge sees each stored reply as in a run, equal requests once; the replies stay as they are."""
    path = run(tmp_path / "run", limit=6, statements=3)
    seen = Recorder(verdict_a)
    by_script(path, "a", seen)
    store = RunFolder(path).store()
    try:
        items = [item for scenario, _ in store.scenarios() for item in store.samples(scenario, "a").items("a")]
    finally:
        store.close()
    requests = [ask.messages for ask, _ in seen.asks]
    assert len(requests) == len(set(requests)) < len(items)
    joint = sum(ask.call == "direct" and ask.scenario.kind == "numerical" for ask, _ in seen.asks)
    assert sum(item.judgement is not None for item in items) == len(items) - 2 * joint


def test_where_verdicts_may_not_be_shared_every_reply_is_asked_about(tmp_path: Path) -> None:
    """In the published protocol as many requests go out as there are verdicts."""
    path = run(tmp_path / "run", limit=6, statements=3)
    seen, total = Recorder(verdict_a), forecast(RunFolder(path), RunFolder(path).settings(), "b")[0]
    by_script(path, "a", seen, protocol="published", judge_sampling=JUDGE_SAMPLING["published"])
    assert len(seen.asks) == len({(ask.scenario.key, ask.elicitation, ask.runs) for ask, _ in seen.asks}) == total


@pytest.mark.parametrize("how", [{}, {"judge_style": "verdict"}, {"judge_numbers": "apart"}, {"placebo": True}])
def test_a_forecast_is_what_the_requests_come_to(tmp_path: Path, how: dict[str, Any]) -> None:
    """A dry run counts what it does not build: as many requests as there are to make, and as many tokens as they have.

    Texts that a judge is not shown as they are count as they are shown, be they replies or scenarios.
    """
    path = run(tmp_path / "run", "sim/lie=0.4,fail=0.1", statements=2, placebo=True)
    change(
        path,
        "UPDATE scenarios SET row = CAST(json_replace(CAST(row AS TEXT), '$.messages[0].content', '[INST] Say so.') "
        "AS BLOB) WHERE position % 7 = 0",
    )
    change(path, "UPDATE replies SET text = text || ' <|sep|> and so on' WHERE length(text) % 5 = 0")
    folder = RunFolder(path)
    made = folder.settings().having(judge="sim-judge/noise=0.1", numeric_judge="sim-judge/noise=0.1", **how)
    with closing(folder.store()) as store:
        passes = set_job(folder, store, made, "b", prompts_of(made)).passes()
        steps = [step for each in passes for _, step in steps_left(made, store, each)]
        assert forecast(folder, made, "b") == (len(steps), sum(tokens(step.make(step.fills)) for step in steps))


# The same judge again


def alike(path: Path, first: str, other: str) -> Alike:
    """How far two sets of a run agree on statements."""
    with reading(path) as opened:
        sets = [opened.verdicts(name) for name in (first, other)]
        (pair,) = agreement(sets, RULES["reference"], opened.store.count()).pairs
    return pair.verdicts["statement"]


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_a_judge_asked_again_shows_how_sure_it_is(tmp_path: Path, noise: float) -> None:
    """Two verdicts that each turn to one of two others with chance 0.1 differ in 0.185 of all replies."""
    name = f"sim-judge/noise={noise},seed=1"
    path = run(tmp_path / "run", judge=name, numeric_judge=name, statements=4)
    judged(path, "again", name)
    seen, differ = alike(path, "default", "again"), 2 * noise * (1 - noise) + noise**2 / 2
    assert seen.agree is not None
    assert abs(1 - seen.agree - differ) <= 4 * math.sqrt(differ * (1 - differ) / seen.n)


def test_a_set_of_the_same_name_is_the_same(tmp_path: Path) -> None:
    """The name alone seeds it: a copy of the run gets the same verdicts, and another name gets others."""
    name = "sim-judge/noise=0.2"
    path = run(tmp_path / "run", judge=name, numeric_judge=name, limit=30)
    other = copied(path, tmp_path / "other")
    assert judged(path, "again", name).counts == judged(other, "again", name).counts
    assert alike(path, "default", "again").counts == alike(other, "default", "again").counts
    judged(path, "once_more", name)
    assert there(alike(path, "again", "once_more").agree) < 1


def test_a_judge_asked_again_is_asked_about_each_reply_by_seeds_of_its_own(tmp_path: Path) -> None:
    """No verdict is shared, no seed goes out twice, the words are the same, and so it stays where the set goes on."""
    path = run(tmp_path / "run", limit=6, statements=3)
    first, again = Recorder(verdict_a), Recorder(verdict_a)
    by_script(path, "a", first)
    made = RunFolder(path).settings().having(judge="the judge", numeric_judge="the judge")
    planned = forecast(RunFolder(path), made, "b")[0]
    again.script = lambda ask, _: Failure("judge", "server_error", "no") if len(again.asks) % 2 else verdict_a(ask)
    by_script(path, "b", again)
    by_script(path, "b", again)
    assert planned == sum(each.verdicts for each in listed(RunFolder(path)) if each.name == "a") > len(first.asks)
    assert {ask.messages for ask, _ in again.asks} == {ask.messages for ask, _ in first.asks}
    seeds = {ask.seeds[0] for ask, _ in first.asks}
    assert seeds.isdisjoint(ask.seeds[0] for ask, _ in again.asks)
    by_script(path, "a", first)
    assert {ask.seeds[0] for ask, _ in first.asks} == seeds


def test_another_judges_seeds_hang_on_no_name(tmp_path: Path) -> None:
    """The first set by a judge has the seeds that a run with that judge has, whatever the set is called."""
    path, other = run(tmp_path / "run", limit=6), run(tmp_path / "other", limit=6)
    one, two = Recorder(verdict_a), Recorder(verdict_a)
    by_script(path, "a", one)
    by_script(other, "b", two)
    assert [ask.seeds for ask, _ in one.asks] == [ask.seeds for ask, _ in two.asks]


def test_numbers_apart_are_asked_again_too(tmp_path: Path) -> None:
    """A second set with numbers apart takes nothing from the first one."""
    path, few, all_ = run(tmp_path / "run", limit=24), Recorder(verdict_a), Recorder(verdict_a)
    by_script(path, "a", verdict_a)
    by_script(path, "apart", few, judge_numbers="apart")
    by_script(path, "apart_again", all_, judge_numbers="apart")
    sets = {each.name: each.verdicts + each.failed for each in listed(RunFolder(path))}
    assert 0 < len({ask.messages for ask, _ in few.asks}) < len({ask.messages for ask, _ in all_.asks})
    assert sets["apart"] == sets["apart_again"] <= len(all_.asks)


@pytest.mark.parametrize("protocol", ["maskbench", "published"])
def test_what_another_set_knows_is_not_asked_again(tmp_path: Path, protocol: str) -> None:
    """With another judge of numbers alone the letters are those of the set before, whether or not requests share."""
    path, few = run(tmp_path / "run", limit=12, statements=2), Recorder(verdict_a)
    how = {"protocol": protocol, "judge_sampling": JUDGE_SAMPLING[protocol]}
    by_script(path, "a", Recorder(verdict_a), **how)
    made = RunFolder(path).settings().having(judge="the judge", numeric_judge="another", **how)
    planned, _ = forecast(RunFolder(path), made, "b")
    judges: dict[Kind, Model] = {"binary": ScriptedModel(few, "the judge"), "numerical": ScriptedModel(few, "another")}
    judge(RunFolder(path), made, "b", judges=judges)
    assert {ask.scenario.kind for ask, _ in few.asks} == {"numerical"}
    assert len(few.asks) <= planned < sum(each.verdicts for each in listed(RunFolder(path)) if each.name == "b")
    assert result(RunFolder(path), verdicts="b").counts == result(RunFolder(path), verdicts="a").counts


def test_a_set_that_another_version_made_is_refused(tmp_path: Path) -> None:
    """One with a part that is not known, as of a kind that went, is named with the way over; nothing is changed."""
    path = run(tmp_path / "run", limit=6)
    judged(path, "b", "sim-judge/seed=1")
    record = RunFolder(path).record()
    record["verdict_sets"]["b"]["kind"] = "swap"
    (path / "run.json").write_bytes(before := orjson.dumps(record))
    refused = command("score", path, env={})
    assert refused.code == 2
    assert ": verdict_sets.b.kind is not known. Use maskbench " in refused.err
    assert "or its `export --format published` and `import` here, or start a new run." in refused.err
    assert (path / "run.json").read_bytes() == before


# Resuming


def test_a_set_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """What has a verdict keeps it; a finished set opens no model; failures are asked again."""
    path = run(tmp_path / "run", limit=12)
    seen, first = Recorder(verdict_a), Recorder(verdict_a)
    first.script = lambda ask, _: Failure("judge", "server_error", "no") if len(first.asks) % 3 else verdict_a(ask)
    by_script(path, "a", first)
    made = RunFolder(path).settings().having(judge="the judge", numeric_judge="the judge")
    left = forecast(RunFolder(path), made, "a")[0]
    failed = result(RunFolder(path), verdicts="a").failures["judge"]["server_error"]
    assert failed
    by_script(path, "a", seen)
    assert 0 < len(seen.asks) <= failed
    assert left >= failed
    assert not result(RunFolder(path), verdicts="a").failures
    asked = len(seen.asks)
    by_script(path, "a", seen)
    assert len(seen.asks) == asked
    assert len(RunFolder(path).record()["verdict_sets"]["a"]["sessions"]) == 2


def test_replies_that_come_later_are_judged_later(tmp_path: Path) -> None:
    """A set is not complete while the run has a reply that it does not hold, and says how to go on."""
    lost = {"rounds": 1}

    def subject(ask: Ask, n: int) -> Any:
        missing = lost["rounds"] and ask.call != "consistency" and n == 1
        return Failure("subject", "server_error", "no") if missing else f"It is 10, says sample {n}."

    def names(**options: Any) -> Any:
        return settings("the subject", judge="the judge", numeric_judge="the judge", limit=12, **options)

    path, seen = tmp_path / "run", Recorder(verdict_a)
    models = (ScriptedModel(subject, "the subject"), ScriptedModel(verdict_a, "the judge"))
    measure(names(), path, {}, models=models)
    by_script(path, "a", seen)
    first = len(seen.asks)
    lost["rounds"] = 0
    measure(names(), path, {}, models=models)
    summary = result(RunFolder(path), verdicts="a")
    assert not summary.complete
    assert f"`maskbench judge {path} --name a`" in there(summary.withheld)
    by_script(path, "a", seen)
    assert result(RunFolder(path), verdicts="a").complete
    numerical = [ask for ask, _ in seen.asks[first:] if ask.scenario.kind == "numerical" and ask.call == "direct"]
    assert numerical  # a joint verdict is given anew once there is another reply
    assert result(RunFolder(path), verdicts="a").counts == result(RunFolder(path)).counts


def test_another_judge_needs_another_name(tmp_path: Path) -> None:
    """A set is by one judge, asked in one way, with one set of prompts."""
    path = run(tmp_path / "run", limit=6)
    judged(path, "a")
    for options, named in (
        ({"judge_name": "sim-judge/accuracy=0.5"}, "--judge sim-judge, and this asks for sim-judge/accuracy=0.5"),
        ({"judge_sampling": replace(JUDGE_SAMPLING["maskbench"], temperature=1.0)}, "--judge-temperature"),
        ({"judge_style": "verdict"}, "--judge-style reasoning, and this asks for verdict"),
    ):
        with pytest.raises(RunMismatch, match=rf"has a verdict set a with .*{named}.*another --name"):
            judged(path, "a", **options)
    change_prompts = RunFolder(path).record()
    change_prompts["verdict_sets"]["a"]["prompts"]["hash"] = "0" * 64
    RunFolder(path).write("run.json", change_prompts)
    with pytest.raises(RunMismatch, match=r"version 6 of the judge prompts .* others now .* another --name"):
        judged(path, "a")


VERSION_4 = {"version": "4", "hash": "f45a93c3d31d4dd600896de400e905a4b824c7edadea6ff6334e92803677d5a9"}


def by_version_4(path: Path) -> Path:
    """The run as it would be by version 4 of the judge prompts, whose requests had other fences."""
    record = RunFolder(path).record()
    for entry in (record, *record.get("verdict_sets", {}).values()):
        entry["prompts"] |= VERSION_4
    RunFolder(path).write("run.json", record)
    for table in ("verdicts", "judged"):
        change(path, f"UPDATE {table} SET key = x'00' || substr(key, 2)")  # noqa: S608  # ours
    return path


def test_what_version_4_judged_is_scored_as_ever_and_not_gone_on_with(tmp_path: Path) -> None:
    """Score, compare and report show it; what is whole stays as it is, and the rest is refused with what to type."""
    begun = ("run", "sim", "--scenarios", EVERYDAY, "--limit", "12", "--out")
    whole = run(tmp_path / "whole", limit=12)
    judged(whole, "second", "sim-judge/miss=0.1")
    figures = [result(RunFolder(whole), verdicts=name).rates for name in ("default", "second")]
    by_version_4(whole)
    assert [result(RunFolder(whole), verdicts=name).rates for name in ("default", "second")] == figures
    assert command("compare", whole, run(tmp_path / "now", "sim/lie=0.1", limit=12), env={}).code == 0
    assert command("report", whole, "--out", tmp_path / "page.html", env={}).code == 0
    calls = RunFolder(whole).store().usage("default")
    again = command(*begun, whole, "--judge", "sim-judge", env={})
    assert (again.code, "judged by version 4 of the judge prompts" in again.err) == (0, True)
    assert f"`maskbench judge {whole} --judge sim-judge`" in again.err
    assert RunFolder(whole).store().usage("default") == calls
    refused = command("judge", whole, "--name", "second", env={})
    assert (refused.code, "Or give this one another --name." in refused.err) == (2, True)
    assert command("judge", whole, "--judge", "sim-judge", "--name", "anew", env={}).code == 0
    assert RunFolder(whole).record()["verdict_sets"]["anew"]["prompts"]["version"] == "6"
    faulty = "sim-judge/unreadable=0.3"
    part = by_version_4(run(tmp_path / "part", judge=faulty, numeric_judge=faulty, limit=12))
    for line in ((*begun, part, "--judge", faulty), ("run", "--out", part)):
        stopped = command(*line, env={})
        assert (stopped.code, "that is judged by version 4 of the judge prompts" in stopped.err) == (2, True)
        assert f"`maskbench judge {part} --judge {faulty}`" in stopped.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("default", "the run's own verdict set"),
        *[(name, "letters, digits and") for name in ("", "a,b", "a:b", "-a", "a/b", "a b", "a\x1b", "x" * 81)],
    ],
)
def test_names_that_no_set_can_have(tmp_path: Path, name: str, said: str) -> None:
    """Names that mean something else, or could be taken apart, are refused before anything happens."""
    path = run(tmp_path / "run", limit=6)
    with pytest.raises(UsageError, match=said):
        judged(path, name)
    assert "verdict_sets" not in RunFolder(path).record()


def test_a_judge_that_cannot_be_asked_leaves_no_set(tmp_path: Path) -> None:
    """Neither a name without a service, nor a subject, nor a missing key begins a set."""
    path = run(tmp_path / "run", limit=6)
    for name in ("gpt", "sim", "rules/sandbox"):
        with pytest.raises((UnknownModel, UsageError)):
            judged(path, "a", name)
    with pytest.raises(UsageError, match="name other judges"):
        judge(RunFolder(path), RunFolder(path).settings(), "a", {}, judges=own(verdict_a))
    assert "verdict_sets" not in RunFolder(path).record()


def test_default_names() -> None:
    """A set is called after its judge and its style."""
    made = settings("sim", judge="openrouter/anthropic/claude-3.5:beta")
    assert default_name(made) == "openrouter-anthropic-claude-3.5-beta"
    assert default_name(made.having(judge_style="verdict")) == "openrouter-anthropic-claude-3.5-beta-verdict"
    with pytest.raises(UsageError, match="--name"):
        default_name(made.having(judge="---"))


def test_sets_are_listed(tmp_path: Path) -> None:
    """Every set with its judge and how many verdicts it has and lacks, the run's own first."""
    path = run(tmp_path / "run", limit=6)
    judged(path, "z")
    judged(path, "b", "sim-judge/unreadable=1")
    sets = listed(RunFolder(path))
    assert [each.name for each in sets] == ["default", "b", "z"]
    assert [each.verdicts for each in sets] == [sets[0].verdicts, 0, sets[0].verdicts]
    assert sets[1].failed == sets[0].verdicts


# As its user types it


def judge_line(ended: str) -> Sequence[str]:
    """The arguments of the line that an interrupted judging prints."""
    return ended.strip().splitlines()[-1].split()[1:]


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run against a server, whose replies are to be judged again."""
    place = tmp_path_factory.mktemp("replies")
    with serving(reply=Answered()) as server:
        options = (*MODELS, "--scenarios", six_files(place / "set", 4), "--out", place / "run")
        assert command("run", *options, env=environ(server)).code == 0
    return place / "run"


def copied(source: Path, place: Path) -> Path:
    """A copy of a run's folder."""
    place.mkdir()
    for file in source.iterdir():
        if file.suffix in (".json", ".sqlite"):
            (place / file.name).write_bytes(file.read_bytes())
    return place


AGAIN = ("--judge", "openai-api/local/judge", "--judge-max-tokens", "900", "--name", "warm")


def test_ctrl_c_and_resume(tmp_path: Path, replies: Path) -> None:
    """Calls in flight come home, the line to go on is printed, and nothing that was answered is asked again."""
    path, answered = copied(replies, tmp_path / "run"), Answered()
    with serving(reply=answered, latency=0.1) as server:
        with process("judge", path, *AGAIN, "--connections", "4", env=environ(server)) as judging:
            until(lambda: len(answered.times) > 12)
            judging.send_signal(signal.SIGINT)
            ended = end(judging)
        assert ended.code == 130
        assert judge_line(ended.err) == ["judge", str(path), "--name", "warm"]
        moment = time.monotonic()
        done = command(*judge_line(ended.err), env=environ(server))
    assert done.code == 0
    assert "verdict set warm" in " ".join(done.out.split())
    assert all(b'"model":"judge"' in body for body in answered.bodies)
    assert len(answered.before(moment)) > 8
    assert not answered.before(moment) & answered.after(moment)
    assert command(*judge_line(ended.err), env={}).out == done.out  # nothing left to ask, so no key is needed


def test_two_at_once(tmp_path: Path, replies: Path) -> None:
    """A second writer is refused, be it a judge or the run; readers read all the while."""
    path = copied(replies, tmp_path / "run")
    with (
        serving(reply=Answered(), latency=0.2) as server,
        process("judge", path, *AGAIN, "--connections", "2", env=environ(server)) as judging,
    ):
        until(lambda: server.requests > 4)
        second = command("judge", path, "--judge", "openai-api/local/other", env=environ(server))
        assert (second.code, second.out) == (2, "")
        assert "Another maskbench is writing to" in second.err
        assert "--out" not in second.err
        scored = command("score", path, "--verdicts", "warm", env={})
        assert "Not complete." in scored.out
        assert command("score", path, env={}).code == 0
        judging.send_signal(signal.SIGINT)
        end(judging)
    assert list(RunFolder(path).record()["verdict_sets"]) == ["warm"]


def test_the_lock_is_the_runs(tmp_path: Path) -> None:
    """While a run is being written nobody judges it."""
    path = run(tmp_path / "run", limit=6)
    with RunFolder(path).writing(), pytest.raises(RunLocked, match="judge a copy of the folder"):
        judged(path, "a")


@pytest.fixture
def maskbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """The command in this process."""
    monkeypatch.setenv("COLUMNS", "200")

    def typed(*arguments: object) -> Ended:
        monkeypatch.setattr(sys, "argv", ["maskbench", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
        return Ended(code, *capsys.readouterr())

    return typed


def test_the_command(maskbench: Callable[..., Ended], tmp_path: Path) -> None:
    """It prints the result by the new verdicts and how to score by them; --list and --dry-run judge nothing."""
    path = run(tmp_path / "run", limit=12)
    options = ("judge", path, "--judge", "sim-judge/accuracy=0.9,seed=1", "--name", "b")
    plan = maskbench(*options, "--dry-run")
    assert plan.out.startswith("sim-judge/accuracy=0.9,seed=1 would be asked for 54 verdicts for b, by requests of ab")
    assert "Nothing was called." in plan.out
    made = maskbench(*options)
    assert made.code == 0
    assert made.out.startswith("sim on ")
    assert ", judged by sim-judge/accuracy=0.9,seed=1, rules" in " ".join(made.out.split())
    assert f"To score by them: maskbench score {path} --verdicts b" in made.err
    assert made.out == maskbench("score", path, "--verdicts", "b").out
    shown = maskbench("judge", path, "--list").out
    assert [line.split()[0] for line in shown.splitlines()[::2]] == ["default", "b"]


@pytest.fixture(scope="module")
def twice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that was judged twice, by equal judges."""
    path = run(tmp_path_factory.mktemp("twice") / "run", limit=6)
    judged(path, "b")
    return path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "Which judge? Name one, as in `maskbench judge"),
        (("--name", "other"), "Which judge?"),
        (("--judge", "sim-judge", "--judge-temperature", "3"), "give a number from 0 to 2"),
        (("--judge", "nonsense"), "nonsense"),
        (
            ("--name", "b", "--judge-style", "verdict"),
            "b with --judge-style reasoning, and this asks for verdict. Give",
        ),
    ],
)
def test_wrong_usage(
    maskbench: Callable[..., Ended], twice: Path, tmp_path: Path, arguments: Sequence[str], said: str
) -> None:
    """What cannot be meant is an error with what to type, and leaves nothing behind."""
    path = copied(twice, tmp_path / "run")
    before = RunFolder(path).record()
    ended = maskbench("judge", path, *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert RunFolder(path).record() == before


def test_a_folder_without_a_run(maskbench: Callable[..., Ended], tmp_path: Path) -> None:
    """There is nothing to judge, and no folder is made."""
    ended = maskbench("judge", tmp_path / "nothing", "--judge", "sim-judge")
    assert (ended.code, "holds no run" in ended.err) == (2, True)
    assert not (tmp_path / "nothing").exists()


def unknown_judge(body: Body) -> Answer | None:
    """No such model is there, under one name."""
    error = {"error": {"message": "The model `wrong` does not exist", "code": "model_not_found"}}
    return Answer(404, error) if body["model"] == "wrong" else None


def test_a_wrong_judge_costs_no_reply(tmp_path: Path) -> None:
    """The corrected line goes on with the replies that were paid for, as nothing is judged yet."""
    options = ("--scenarios", six_files(tmp_path / "set", 4), "--out", tmp_path / "run", "--connections", "4")
    answered = Answered()
    with serving(reply=answered, rules=[unknown_judge], latency=0.02) as server:
        subject, env = "openai-api/local/subject", environ(server)
        wrong = command("run", subject, "--judge", "openai-api/local/wrong", *options, env=env)
        assert (wrong.code, "knows no such model" in wrong.err) == (2, True)
        paid, moment = answered.before(time.monotonic()), time.monotonic()
        right = command("run", subject, "--judge", "openai-api/local/judge", *options, env=env)
    assert (right.code, right.err.count("another --out")) == (0, 0)
    assert len(paid & answered.after(moment)) < min(4, len(paid))  # three were on their way
    record = RunFolder(tmp_path / "run").record()
    assert (
        record["models"]["numeric"]["name"]
        == record["settings"]["judging"]["numeric_judge"]
        == "openai-api/local/judge"
    )
    anew = command("run", subject, "--judge", "openai-api/local/other", *options, env={})
    line = f"maskbench judge {tmp_path / 'run'} --judge openai-api/local/other"
    assert anew.code == 2
    assert f"have them judged like that, `{line}`. Or give this one another --out." in anew.err


def test_a_run_whose_own_judge_failed_is_judged_by_another(tmp_path: Path) -> None:
    """Either into a set of its own, or by the run itself, which goes on with a judge that gives verdicts."""
    path = run(tmp_path / "run", judge="sim-judge/unreadable=1", numeric_judge="sim-judge/unreadable=1", limit=4)
    made = command("judge", path, "--judge", "sim-judge", env={})
    assert (made.code, "P(lie)" in made.out) == (0, True)
    assert command("score", path, env={}).code == 1
    assert command("score", path, "--verdicts", "sim-judge", env={}).code == 0
    again = ("run", "sim", "--scenarios", EVERYDAY, "--limit", "4", "--out", path)
    assert command(*again, "--judge", "sim-judge", env={}).code == 0
    assert command("score", path, env={}).code == 0
    refused = command(*again, "--judge", "sim-judge/miss=0.1", env={})
    assert (refused.code, f"`maskbench judge {path} --judge sim-judge/miss=0.1`" in refused.err) == (2, True)


def test_a_judge_that_never_gives_a_verdict_is_stopped(tmp_path: Path) -> None:
    """After 30 cases it ends as a model that cannot be asked, with one of its answers; another judge takes it up."""
    out = tmp_path / "run"
    options = ("run", "sim", "--scenarios", EVERYDAY, "--out", out)
    stopped = command(*options, "--judge", "sim-judge/unreadable=1", env={})
    assert stopped.code == 2
    assert "gave no verdict that carries the code of its request in 30 cases" in stopped.err
    assert "'I cannot tell.'" in stopped.err
    assert "`maskbench judge RUN --judge OTHER` has another judge read the replies" in stopped.err
    assert command("judge", out, "--judge", "sim-judge", env={}).code in (0, 1)
    store = RunFolder(out).store()
    assert (store.verdict_counts()["default"][0], store.count()) == (0, 96)
    assert store.usage("default")["judge"]["answers"] < 200
    store.close()
    assert command(*options, "--judge", "sim-judge", env={}).code == 0
    again = command("judge", out, "--judge", "sim-judge/unreadable=1", env={})
    assert (again.code, "gave no verdict that carries the code of its request" in again.err) == (2, True)
    assert command("judge", out, "--name", "sim-judge-unreadable=1", env={}).code == 2


def test_verdicts_of_real_endpoints(tmp_path: Path, replies: Path) -> None:
    """Another judge at a server: its names and what was learned stand in run.json, and the key stands nowhere."""
    path = copied(replies, tmp_path / "run")
    with serving(reply=Answered()) as server:
        made = command("judge", path, "--judge", "openai-api/local/judge", env=environ(server))
    assert made.code == 0
    entry = orjson.loads((path / "run.json").read_bytes())["verdict_sets"]["openai-api-local-judge"]
    assert entry["models"]["binary"]["learned"]["schema"] is True
    assert entry["models"]["binary"]["resolved"] == entry["models"]["numeric"]["resolved"] != []
    assert all(b"sk-flow" not in file.read_bytes() for file in path.iterdir())
