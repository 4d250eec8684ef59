"""`--judge none`: replies now, verdicts later; the run is whole when they are there, and its first judge judges it."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from flows import Ended, typed
from maskbench import measure
from maskbench.asking.estimate import estimate, planned
from maskbench.asking.judging.judge_again import judge
from maskbench.errors import RunMismatch, UsageError
from maskbench.method.forms import prompts_of
from maskbench.models.scripted import ScriptedModel
from maskbench.results.scored import result
from maskbench.settings import NOBODY, Settings
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import listed
from maskbench.sweeps.sweeping import sweep
from maskbench.types import Ask
from measured_runs import EVERYDAY, run, settings

SIM = "sim/lie=0.4,evade=0.2,unsure=0.1"


def later(path: Path, **options: object) -> Path:
    """A run of which nobody judges anything yet."""
    return run(path, SIM, judge="none", numeric_judge="none", **options)


def keys(path: Path) -> set[tuple[object, ...]]:
    """Every reply of a run by its place, with its key and its text."""
    with closing(RunFolder(path).store()) as store:
        return set(store._rows("SELECT archetype, task_id, elicitation, run, key, seed, text FROM replies"))


@pytest.mark.parametrize("options", [{}, {"statements": 2, "placebo": True}, {"judge_numbers": "apart"}])
def test_the_replies_are_those_of_a_run_with_a_judge(options: Mapping[str, object], tmp_path: Path) -> None:
    """Every reply, numbers and controls among them, has the key and the text that it has where a judge is named."""
    without, judged = later(tmp_path / "later", **options), run(tmp_path / "now", SIM, **options)
    assert keys(without) == keys(judged)
    assert result(RunFolder(without)).usage.judge.answers == 0


def test_its_first_judge_gives_it_what_a_run_with_that_judge_has(tmp_path: Path) -> None:
    """The verdicts are the run's own, with its figures, protocol and budget; a second such line asks nothing."""
    path = later(tmp_path / "later", max_tokens_total=10**9)
    judged = result(RunFolder(run(tmp_path / "now", SIM)))
    first = typed("judge", path, "--judge", "sim-judge")
    again = typed("judge", path, "--judge", "sim-judge")
    found = result(RunFolder(path))
    assert (first.code, again.code) == (0, 0)
    assert (found.counts, found.rates, found.protocol) == (judged.counts, judged.rates, judged.protocol)
    assert [each.name for each in listed(RunFolder(path))] == ["default"]
    assert RunFolder(path).settings().budget.max_tokens_total == 10**9
    assert len(RunFolder(path).read().sessions) == 2


def test_it_goes_on_as_a_run_with_any_judge(tmp_path: Path) -> None:
    """Taken up again with a judge it is judged, and no reply is asked for twice; once judged it does not go back."""
    path = later(tmp_path / "later")
    before = keys(path)
    measure(settings(SIM), path, {})
    assert keys(path) == before
    assert result(RunFolder(path)).complete
    with pytest.raises(RunMismatch, match="leave --judge out"):
        measure(settings(SIM, judge="none", numeric_judge="none"), path, {})


def test_score_says_that_nothing_is_judged_and_what_to_type(tmp_path: Path) -> None:
    """Asking is done, so that `run` ends well; `score` counts nothing, and names the line that has it judged."""
    asked = typed("run", SIM, "--scenarios", EVERYDAY, "--judge", "none", "--out", tmp_path / "run")
    scored = typed("score", tmp_path / "run")
    assert (asked.code, scored.code) == (0, 1)
    for ended in (asked, scored):
        told = " ".join(ended.out.split())
        assert "Nothing is judged yet: 464 replies are there." in told
        assert f"maskbench judge {tmp_path / 'run'} --judge MODEL" in told.replace("` ", "`")
        assert "honest" not in told
    compared = typed("compare", tmp_path / "run", run(tmp_path / "other", SIM))
    assert f"maskbench judge {tmp_path / 'run'} --judge MODEL" in compared.err


def test_a_run_that_lost_its_replies_does_not_end_well(tmp_path: Path) -> None:
    """What is missing for a judge is excused, and what the subject did not answer is not."""
    ended = typed("run", "sim/fail=0.5", "--scenarios", EVERYDAY, "--judge", "none", "--out", tmp_path / "run")
    assert ended.code == 1


def test_nobody_is_paid(tmp_path: Path) -> None:
    """A dry run counts no verdict and no money of a judge, whatever the subject costs."""
    chosen = Settings.of("openai/gpt-4o", "none", EVERYDAY)
    plan, _ = planned(chosen, {}, prompts_of(chosen))
    assert plan.calls.verdicts == 0
    assert not [model for model in estimate(plan.loads, chosen, {}).models if model.stage == "judge"]
    shown = typed("run", "sim", "--judge", "none", "--scenarios", EVERYDAY, "--dry-run")
    assert "Nobody judges these replies" in shown.out


def test_a_named_set_stands_in_where_nobody_judged_for_the_run(tmp_path: Path) -> None:
    """Its first named set is what the run is scored by and its summary; a judge that comes then has a set beside it."""
    path = later(tmp_path / "later")
    typed("judge", path, "--judge", "sim-judge", "--name", "first")
    assert result(RunFolder(path)).verdicts == "first"
    typed("judge", path, "--judge", "sim-judge/accuracy=0.8")
    assert [each.name for each in listed(RunFolder(path))] == ["first", "sim-judge-accuracy=0.8"]
    assert result(RunFolder(path)).verdicts == "first"
    assert b'"verdicts": "first"' in (path / "summary.json").read_bytes()


def refused(*words: object) -> Ended:
    """A line that is wrong usage."""
    ended = typed(*words)
    assert ended.code == 2
    return ended


def test_somebody_judges_wherever_verdicts_are_what_is_asked_for(tmp_path: Path) -> None:
    """`judge` wants a name, in Python, too, and so does the other of two judges; `doctor` looks at the model alone."""
    path = later(tmp_path / "later")
    assert "Name the judge." in refused("judge", path, "--judge", "none").err
    assert "nobody" not in typed("doctor", "sim", "--judge", "none").out
    mixed = refused("run", "sim", "--judge", "none", "--numeric-judge", "sim-judge", "--out", tmp_path / "x")
    assert "Give both judges" in mixed.err
    with pytest.raises(UsageError, match="Name the judge"):
        judge(RunFolder(path), RunFolder(path).settings(), "x", {})


def test_a_sweep_takes_it_and_shares_its_replies(tmp_path: Path) -> None:
    """A run without a judge is done when it is asked; one that differs in its judge alone judges these replies."""
    runs = {"later": settings(SIM, judge="none", numeric_judge="none"), "judged": settings(SIM)}
    swept = sweep(runs, tmp_path, environ={})
    assert [each.state for each in swept.values()] == ["done", "done"]
    assert swept["judged"].task.folder == swept["later"].task.folder
    assert (tmp_path / "later").is_dir()
    assert not (tmp_path / "judged").exists()


def test_python_brings_a_subject_alone(tmp_path: Path) -> None:
    """A subject of one's own needs no judge beside it: `measure` takes nobody for one."""

    def answer(ask: Ask, run: int) -> str:
        return f"{ask.elicitation} {run}"

    own = ScriptedModel(answer, "own")
    found = measure(Settings.of("own", "none", EVERYDAY), tmp_path / "run", {}, models=(own, None))
    assert found.usage.subject.answers == 464
    assert found.judge.binary.name == NOBODY
