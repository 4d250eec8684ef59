"""Audits of a judge: planted instabilities are found, nothing is generated, and nothing is done twice."""

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import Ended, Recorder, command, letter, scenario, typed, verdict_a
from maskbench.errors import RunMismatch, UsageError
from maskbench.interop.export import write
from maskbench.judges.audit_figures import AuditData, audits, figures
from maskbench.judges.audit_kinds import exchanged
from maskbench.judges.auditing import audit, forecast
from maskbench.judges.judge_again import judge
from maskbench.judges.people.against_judge import measured
from maskbench.judges.people.labelled_outcomes import drawn, labels_of, prepare
from maskbench.judges.second_look import Look
from maskbench.judges.verdict_sets import listed, reading
from maskbench.measurement import measure
from maskbench.method.proposition import options
from maskbench.method.rules import named
from maskbench.models.families import kinship
from maskbench.models.scripted import Script, ScriptedModel
from maskbench.presentation.sections.judges import audit_blocks
from maskbench.presentation.terminal import text
from maskbench.results.leaderboard import not_ranked
from maskbench.results.scored import result, score
from maskbench.runs.folder import RunFolder
from maskbench.runs.record import Audit
from maskbench.types import Ask, Failure
from measured_runs import change, real, run


def audited(path: Path, kind: str, **how: Any) -> AuditData:
    """Audit a run, and say what was found."""
    wanted = Audit(kind, how.pop("of", "default"), **how)
    audit(RunFolder(path), wanted)
    return figures(path, wanted)


def judged_by(path: Path, judge_name: str, **options: Any) -> Path:
    """A run with many replies, judged by that judge."""
    return run(path, "sim", judge=judge_name, numeric_judge=judge_name, **options)


def by_script(path: Path, kind: str, script: Script, **how: Any) -> Recorder:
    """Audit a scripted judge's verdict set `a`, with another script."""
    seen = Recorder(script)
    model = ScriptedModel(seen, "the judge")
    audit(RunFolder(path), Audit(kind, "a", **how), judges={"binary": model, "numerical": model})
    return seen


def scripted(path: Path, **options: Any) -> Path:
    """A simulated run with a verdict set `a` by a scripted judge that always says A."""
    run(path, **options)
    folder, model = RunFolder(path), ScriptedModel(verdict_a, "the judge")
    made = folder.settings().having(judge="the judge", numeric_judge="the judge")
    judge(folder, made, "a", {}, judges={"binary": model, "numerical": model})
    return path


# What it finds


def test_swap_recovers_a_planted_preference_for_the_first_option(tmp_path: Path) -> None:
    """A judge that says the first option with chance 0.2 flips so many replies, every one of them to the first."""
    by = audited(judged_by(tmp_path / "run", "sim-judge/first=0.2", statements=4, beliefs=4), "swap").by
    every = by.pop("all")
    low, high = every.flipped.ci95 or (0, 1)
    assert low < 0.2 < high
    assert high - low < 0.15
    assert every.first_both == every.flipped_count > 50
    assert every.second_both == 0
    assert "statistics" not in by
    assert sum(group.n for group in by.values()) == every.n


def test_swap_finds_nothing_where_errors_do_not_hang_on_places(tmp_path: Path) -> None:
    """A judge that is wrong in one reply of five whatever the order does not flip, and P(lie) stays."""
    seen = audited(judged_by(tmp_path / "run", "sim-judge/accuracy=0.8"), "swap")
    assert (seen.by["all"].changed_count, seen.by["all"].kappa) == (0, 1)
    assert seen.p_lie is not None
    assert seen.p_lie.difference == 0
    assert seen.outcomes.agree == 1


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_repeat_recovers_planted_noise(tmp_path: Path, noise: float) -> None:
    """Two verdicts that each turn to one of two others with chance 0.1 differ in 0.185 of all replies."""
    path = judged_by(tmp_path / "run", f"sim-judge/noise={noise},seed=1", statements=3)
    seen = audited(path, "repeat")
    changed, expected = seen.by["all"].changed, 2 * noise * (1 - noise) + noise**2 / 2
    assert changed.value is not None
    assert abs(changed.value - expected) <= 4 * math.sqrt(expected * (1 - expected) / changed.n)
    assert "statistics" in seen.by
    assert (seen.outcomes.agree == 1) == (noise == 0)


def test_repeat_shares_nothing_and_sends_no_seed_twice(tmp_path: Path) -> None:
    """Every reply is asked about on its own, with seeds that the run did not use, in the very same words."""
    path = tmp_path / "run"
    run(path, limit=6)
    first = Recorder(verdict_a)
    folder, model = RunFolder(path), ScriptedModel(first, "the judge")
    made = folder.settings().having(judge="the judge", numeric_judge="the judge")
    judge(folder, made, "a", {}, judges={"binary": model, "numerical": model})
    again = by_script(path, "repeat", verdict_a)
    assert len(again.asks) == sum(each.verdicts for each in listed(folder) if each.name == "a") > len(first.asks)
    assert {ask.messages for ask, _ in again.asks} == {ask.messages for ask, _ in first.asks}
    seeds = [ask.seeds[0] for ask, _ in (*first.asks, *again.asks)]
    assert len(seeds) == len(set(seeds))


def test_an_exchanged_verdict_is_kept_in_the_letters_of_the_scenario(tmp_path: Path) -> None:
    """A judge that always says A says the other option once they are exchanged; C and D stay what they are."""
    path = scripted(tmp_path / "run", limit=6)
    by_script(path, "swap", verdict_a)
    assert set(figures(path, Audit("swap", "a")).by["all"].counts) == {"AB"}
    by_script(path, "swap", lambda ask, _: letter("D"), sample=2)
    assert set(figures(path, Audit("swap", "a", 2)).by["all"].counts) == {"AD"}


@given(st.text("ab /", min_size=1, max_size=9), st.text("cd /", min_size=1, max_size=9))
def test_exchanging_options_exchanges_nothing_else(first: str, second: str) -> None:
    """Whatever the pivot holds, the options change places, and so does the truth."""
    made = scenario(proposition="It is <pivotal>x/y</pivotal> here.")
    made = replace(made, proposition=f"It is <pivotal>{first}/{second}</pivotal> here.")
    try:
        before = options(made.proposition)
        other = exchanged(made)
    except UsageError:
        return  # nobody can tell which slash is meant
    assert options(other.proposition) == before[::-1]
    assert {made.truth, other.truth} == {"A", "B"}
    assert replace(other, proposition=made.proposition, truth=made.truth) == made


def test_the_judge_that_reads_by_grammar_has_no_favourite_place(tmp_path: Path) -> None:
    """What comes with maskbench can be audited, too: no verdict of rules/sandbox hangs on the order of options."""
    judge_ = {"judge": "rules/sandbox", "numeric_judge": "rules/sandbox", "scenarios": "sandbox"}
    path = run(tmp_path / "run", "pinocchio", limit=60, **judge_)
    kinds: tuple[str, ...] = ("swap", "repeat")
    for kind in kinds:
        seen = audited(path, kind)
        assert seen.missing == seen.by["all"].changed_count == 0
        assert seen.by["all"].n > 100


# What it does and leaves alone


def test_an_audit_is_a_set_apart(tmp_path: Path) -> None:
    """The run's result, its agreement of judges and the majority are as before; the audit can be scored by name."""
    path = scripted(tmp_path / "run", limit=6)
    before, ensemble = result(RunFolder(path)), result(RunFolder(path), verdicts="majority")
    audited(path, "repeat")
    audited(path, "swap", sample=3)
    assert result(RunFolder(path)) == before
    assert result(RunFolder(path), verdicts="majority") == ensemble
    assert [one.set_name for one in audits(RunFolder(path))] == ["default~repeat", "default~swap-3"]
    assert result(RunFolder(path), verdicts="default~repeat").counts == before.counts


@pytest.mark.parametrize(
    ("how", "n", "part"),
    [
        ({"kind": "swap"}, 40, "40 of 48 scenarios: those that have options"),
        (
            {"kind": "swap", "sample": 9, "seed": 3},
            9,
            "9 of 48 scenarios, drawn by seed 3 from those that have options",
        ),
        ({"kind": "repeat", "sample": 12}, 12, "12 of 48 scenarios, drawn by seed 0"),
        ({"kind": "repeat"}, 48, ""),
    ],
)
def test_a_finished_audit_is_complete(tmp_path: Path, how: dict[str, Any], n: int, part: str) -> None:
    """It has all that it set out to judge: rates with intervals, and words on which scenarios they are about."""
    path = run(tmp_path / "run", limit=48)
    audited(path, **how)
    folder, audit_ = RunFolder(path), Audit(**{"of": "default", **how})
    made = result(folder, verdicts=audit_.set_name)
    assert (made.complete, made.withheld) == (True, None)
    assert made.scenarios.n == made.scenarios.done == n
    assert made.rates["p_lie"].ci95 is not None
    assert made.notes[0].startswith("An audit: the judge of default asked ")
    assert (part in made.notes[0]) == (part in made.scenarios.taken) is True
    assert not any(one.withheld for one in made.by_archetype.values())
    assert write(folder, None, "jsonl", tmp_path / "rows", verdicts=audit_.set_name)[0] == 0
    with (
        reading(folder) as opened,
        pytest.raises(UsageError, match=r"default~.* is an audit, .*: --verdicts default\."),
    ):
        prepare(opened, verdicts=audit_.set_name)


def test_an_interrupted_audit_says_so_first(tmp_path: Path) -> None:
    """How many of how many, how to go on, and no interval: what was done first is no sample. Scoring says the same."""
    path = run(tmp_path / "run", limit=24, statements=2)
    audited(path, "swap", sample=15, seed=2)
    change(path, "DELETE FROM judged WHERE verdict_set LIKE '%~%' AND archetype IN ('continuations', 'disinformation')")
    seen = figures(path, Audit("swap", "default", 15, 2))
    assert not seen.complete
    assert 0 < seen.left < seen.replies
    assert seen.p_lie is None is seen.outcomes.ci95
    assert all(share.ci95 is None for group in seen.by.values() for share in (group.changed, group.flipped))
    ended = command("judge", path, "--audit", "show", env={"COLUMNS": "400"})
    line = f"maskbench judge {path} --audit swap --sample 15 --seed 2"
    done = seen.replies - seen.left
    assert ended.code == 1
    assert f"Not complete: {done} of {seen.replies} replies are judged again" in ended.out.splitlines()[1]
    assert f"  {line}" in ended.out.splitlines()[:5]
    assert "P(lie)  " not in ended.out
    scored = command("score", path, "--verdicts", "default~swap-15-seed2", "--full", env={"COLUMNS": "400"})
    assert scored.code == 1
    assert f"represent it. Take the audit up again with `{line}`, and it goes on." in scored.out
    assert (
        f"`{line}`" in command("export", path, "--format", "jsonl", "--verdicts", "default~swap-15-seed2", env={}).err
    )
    assert command(*line.split()[1:], env={}).code == 0
    assert command("score", path, "--verdicts", "default~swap-15-seed2", env={}).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show", "--sample", "50"), "--sample says how an audit is made"),
        (("show", "--connections", "2"), "--connections says how an audit is made"),
        (("swap", "--seed", "4"), "--seed draws the scenarios of a sample, and there is none"),
        (("swap", "--judge", "sim-judge"), "--audit asks a judge as it was asked before. Leave --judge out."),
        (("swap", "--judge-style", "verdict"), "Leave --judge-style out."),
        (("swap", "--list"), "Leave --list out."),
        (("swap,show",), "--audit swap,show: give swap, repeat (with commas for several), or show."),
        (("turn",), "--audit turn: give swap, repeat"),
    ],
)
def test_an_option_that_would_do_nothing_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """By its name."""
    path = run(tmp_path / "run", limit=6)
    audited(path, "swap")
    ended = command("judge", path, "--audit", *words, env={})
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_an_audit_is_never_ranked(tmp_path: Path) -> None:
    """It is no judgement of its own, complete or not."""
    path = real(tmp_path / "run", "openai/gpt-4o", "sim")
    audited(path, "repeat")
    assert not_ranked(score(path)) is None
    assert "by an audit (default~repeat)" in str(not_ranked(score(path, verdicts="default~repeat")))


def test_an_audit_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """Only what failed is asked again, a finished audit asks nothing, and failures count nowhere in its figures."""
    path = scripted(tmp_path / "run", limit=6)
    first = Recorder(verdict_a)

    def often_fails(ask: Ask, n: int) -> Any:
        first.asks.append((ask, n))
        return Failure("judge", "server_error", "no") if len(first.asks) % 3 else verdict_a(ask)

    by_script(path, "swap", often_fails)
    seen = figures(path, Audit("swap", "a"))
    assert seen.missing > 0
    left, _ = forecast(RunFolder(path), Audit("swap", "a"))
    assert left == seen.missing
    assert 0 < len(by_script(path, "swap", verdict_a).asks) <= left
    assert figures(path, Audit("swap", "a")).missing == 0
    assert not by_script(path, "swap", verdict_a).asks
    assert forecast(RunFolder(path), Audit("swap", "a")) == (0, 0)


def test_a_sample_is_drawn_by_its_seed(tmp_path: Path) -> None:
    """So many scenarios with all their replies, others for another seed; a smaller one is part of a larger one."""
    path = run(tmp_path / "run")

    def drawn(**how: Any) -> set[tuple[str, str]]:
        audited(path, "swap", **how)
        store = RunFolder(path).store()
        try:
            return set(store.chosen(Audit("swap", "default", **how).set_name))
        finally:
            store.close()

    few, more, others = drawn(sample=5), drawn(sample=9), drawn(sample=9, seed=1)
    assert (len(few), len(more)) == (5, 9)
    assert few < more != others
    assert not {archetype for archetype, _ in more | others} & {"statistics"}


def test_only_whole_sets_are_audited(tmp_path: Path) -> None:
    """What is judged first is no sample of the set, so an audit of it would measure nothing; nobody is asked."""
    path = change(
        run(tmp_path / "run", limit=6), "DELETE FROM judged WHERE task_id = (SELECT max(task_id) FROM judged)"
    )
    with pytest.raises(UsageError, match=r"default of .* is not complete, .*then audit it"):
        audited(path, "swap")
    assert not audits(RunFolder(path))


def test_nobody_looks_after_an_audit(tmp_path: Path) -> None:
    """A second look at an audit would be a measurement in disguise."""
    path = run(tmp_path / "run", limit=6)
    audited(path, "repeat")
    settings = RunFolder(path).settings().having(judge="sim-judge/seed=2")
    with pytest.raises(UsageError, match="default~repeat is an audit"):
        judge(RunFolder(path), settings, "look", {}, look=Look("default~repeat"))


def test_what_cannot_be_audited(tmp_path: Path) -> None:
    """Ensembles and audits are by no single judge, and other prompts would make another instrument."""
    path = scripted(tmp_path / "run", limit=6)
    audited(path, "swap")
    for of in ("majority", "default~swap"):
        with pytest.raises(UsageError, match="Give a set that one judge gave"):
            audited(path, "swap", of=of)
    with pytest.raises(UsageError, match="no verdict set"):
        audited(path, "swap", of="b")
    record = RunFolder(path).record()
    record["prompts"]["hash"] = "0" * 64
    RunFolder(path).write("run.json", record)
    with pytest.raises(RunMismatch, match="would compare two instruments"):
        audited(path, "repeat")


def test_a_rule_is_audited_under_other_prompts(tmp_path: Path) -> None:
    """It never reads them; its run goes on under them, too, and judges what is missing as before."""
    judge_ = {"judge": "rules/sandbox", "numeric_judge": "rules/sandbox", "scenarios": "sandbox"}
    path = run(tmp_path / "run", "pinocchio", limit=6, **judge_)
    before = score(path).summary
    record = RunFolder(path).record()
    record["prompts"]["hash"] = "0" * 64
    RunFolder(path).write("run.json", record)
    assert audited(path, "swap").complete
    change(path, "DELETE FROM judged WHERE elicitation = 0 AND verdict_set = 'default'")
    assert score(path).summary.counts != before.counts
    after = measure(RunFolder(path).settings(), path, {})
    assert after.counts == before.counts
    assert after.usage.subject == before.usage.subject


# Kin


@pytest.mark.parametrize(
    ("subject", "judges", "said"),
    [
        ("openai/gpt-4o", ("openrouter/gpt-4o",), "is the subject itself"),
        ("openai/gpt-4o-mini", ("openai/gpt-4o", "openai/o3-mini"), "one family"),
        ("hf/meta-llama/Llama-2-7b", ("vllm/Llama-3.1-70B",), "one family"),
        ("openai/gpt-4o", ("anthropic/claude-sonnet-4-5",), None),
        ("sim", ("sim-judge",), None),
        ("pinocchio", ("rules/sandbox",), None),
    ],
)
def test_kinship(subject: str, judges: tuple[str, ...], said: str | None) -> None:
    """A judge that is the subject, or of its family by name, is pointed out; simulated ones have no kin."""
    warning = kinship(subject, judges)
    assert warning is None if said is None else said in str(warning)


def test_kin_is_noted_in_every_result(tmp_path: Path) -> None:
    """A result by a judge of the subject's family carries a warning, and a majority does for any of its judges."""
    path = scripted(tmp_path / "run", limit=6)
    assert not result(RunFolder(path)).notes[:-1]
    record = RunFolder(path).record()
    record["settings"]["subject"]["name"] = "openai/gpt-4o"
    record["verdict_sets"]["a"]["judging"]["judge"] = "openai/gpt-4o-mini"
    RunFolder(path).write("run.json", record)
    for name in ("a", "majority"):
        assert any("look like one family" in note for note in result(RunFolder(path), verdicts=name).notes)
    assert not any("family" in note for note in result(RunFolder(path)).notes)


# As its user sees it


def test_what_is_printed_fits_80_columns(tmp_path: Path) -> None:
    """Both audits, with the archetypes in full."""
    path = judged_by(tmp_path / "run", "sim-judge/first=0.2,noise=0.1")
    for kind in ("swap", "repeat"):
        seen = audited(path, kind)
        with reading(path) as opened:
            lines = text(list(audit_blocks(opened, seen)), 80).splitlines()
        assert max(map(len, lines)) <= 80
        assert any(line.startswith("Doubling down ") for line in lines)


def test_an_open_run_is_not_read_again(tmp_path: Path) -> None:
    """What a page says of an audit and of people's labels comes from the record that was read once."""
    path = run(tmp_path / "run", limit=6)
    audited(path, "swap")
    with reading(path) as opened:
        (path / "run.json").unlink()
        (plan,) = audits(opened)
        assert "Known facts" in text(list(audit_blocks(opened, figures(opened, plan))), 80)
        labels = prepare(opened, 4)
        assert len(drawn(opened, labels.design())) == 4
        assert labels_of(opened, named("reference")) == {}
        assert measured(opened, None).sample.scenarios == 4


def test_the_command(tmp_path: Path) -> None:
    """It audits and prints, counts without calling, prints what is there, and says what to type where nothing is."""
    path = run(tmp_path / "run", limit=6)

    def audit(*words: str) -> Ended:
        return typed("judge", path, "--audit", *words)

    assert "has no audit yet" in audit("show").err
    assert "verdicts by sim-judge are to be had for default~swap" in audit("swap", "--dry-run").out
    assert "has no audit yet" in audit("show").err
    assert "The options exchanged" in audit("swap", "--sample", "4").out
    assert "The same words once more" in audit("repeat").out
    both = " ".join(audit("show").out.split())
    assert "with the options exchanged, on 4 scenarios drawn by seed 0" in both
    assert "in the same words, at temperature 0" in both
    assert '"kind": "swap"' in audit("show", "--json").out
