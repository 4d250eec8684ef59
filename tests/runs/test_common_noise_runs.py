"""Runs by common noise: what is keyed by it, who may have it, how it is resumed, and what comparing says of it."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from flows import typed
from maskbench.errors import RunMismatch, UsageError
from maskbench.measurement import measure
from maskbench.method.pressure import statement_ask
from maskbench.pages.explorer import explorer
from maskbench.pinocchio import sandbox
from maskbench.report.sections.compared import comparison
from maskbench.results.comparison import compare
from maskbench.results.comparison_json import ComparisonData
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings, protocol_id, reply_key, sample_seed, seed_of
from maskbench.types import Ask, Reply
from measured_runs import change

PLAIN = Settings("pinocchio", "rules/sandbox", "sandbox", archetypes=("provided_facts",), seed=3)
COUPLED = replace(PLAIN, common_noise=True)
PLACEBO = replace(COUPLED, system_prompt="placebo")


def an_ask(runs: tuple[int, ...] = (1,)) -> Ask:
    """A statement's ask of the sandbox."""
    return replace(statement_ask(sandbox()[0], len(runs)), runs=runs)


def seed(settings: Settings, ask: Ask, run: int = 1) -> int:
    """What a sample of this ask is drawn by."""
    return sample_seed(settings, ask, run, reply_key(settings, ask, run))


# Keys


def test_two_arms_have_the_same_noise_and_keys_of_their_own() -> None:
    """Messages and subject change the key and not the seed; without common noise the seed is the key's."""
    ask = an_ask()
    pressed = replace(ask, messages=(*ask.messages, ask.messages[-1]))
    other = replace(COUPLED, subject="hf/pinocchio")
    assert seed(COUPLED, ask) == seed(COUPLED, pressed) == seed(other, ask)
    assert len({reply_key(COUPLED, ask, 1), reply_key(COUPLED, pressed, 1), reply_key(other, ask, 1)}) == 3
    assert seed(PLAIN, ask) == seed_of(reply_key(PLAIN, ask, 1)) != seed(PLAIN, pressed)


def test_noise_is_keyed_by_seed_scenario_call_elicitation_and_run() -> None:
    """Each of them alone gives another noise."""
    ask, other = an_ask(), sandbox()[1]
    seeds = [
        seed(COUPLED, ask),
        seed(replace(COUPLED, seed=4), ask),
        seed(COUPLED, replace(ask, scenario=other)),
        seed(COUPLED, replace(ask, scenario=replace(ask.scenario, archetype="statistics"))),
        seed(COUPLED, replace(ask, call="direct")),
        seed(COUPLED, replace(ask, elicitation=1)),
        seed(COUPLED, ask, 2),
    ]
    assert len(set(seeds)) == len(seeds)


def test_common_noise_is_a_protocol_of_its_own_and_nothing_else_is() -> None:
    """Where it is on, protocol id and keys of replies change; where it is off, both are what they were."""
    old = Settings(subject="sim", judge="sim-judge", numeric_judge="sim-judge", scenarios="starter")
    assert protocol_id(old, "x") == "d2fdf031320b"
    assert protocol_id(COUPLED, "x") != protocol_id(PLAIN, "x")
    assert reply_key(COUPLED, an_ask(), 1) != reply_key(PLAIN, an_ask(), 1)


# Who may have it


@pytest.mark.parametrize("subject", ["openai/gpt-4o", "sim", "vllm/mine"])
def test_models_elsewhere_are_refused_with_the_reason(subject: str, tmp_path: Path) -> None:
    """An endpoint draws its tokens itself; nothing is begun."""
    with pytest.raises(UsageError, match=rf"--common-noise says how a model in this process .* {subject} is none"):
        measure(Settings(subject, "sim-judge", "starter", common_noise=True), tmp_path / "run", {})
    assert not (tmp_path / "run").exists()


# Whole runs


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Runs of pinocchio on facts that it is given: two arms by common noise, a third by another seed, one without."""
    root = tmp_path_factory.mktemp("runs")
    wanted = {
        "coupled": COUPLED,
        "placebo": PLACEBO,
        "again": replace(COUPLED, seed=4),
        "own": PLAIN,
        "own_placebo": replace(PLAIN, system_prompt="placebo"),
    }
    for name, settings in wanted.items():
        measure(settings, root / name, {})
    return {name: root / name for name in wanted}


def facts(data: ComparisonData) -> dict[str, str]:
    """The labelled lines of a comparison."""
    rows = [row for block in comparison(data) for row in getattr(block, "rows", ()) if len(row) == 2]
    return {str(label): str(text) for label, text in rows}


def statements(path: Path) -> dict[str, str]:
    """The statement on each scenario of a run."""
    store = RunFolder(path).store()
    try:
        return {
            scenario.task_id: reply.text
            for scenario, _ in store.scenarios()
            for reply in store.replies(scenario).values()
            if isinstance(reply, Reply)
        }
    finally:
        store.close()


def test_arms_that_differ_little_say_mostly_the_same(runs: dict[str, Path]) -> None:
    """Under a prompt that says nothing of honesty most statements stay word for word; with own noise nearly none."""
    coupled, placebo = statements(runs["coupled"]), statements(runs["placebo"])
    own, own_placebo = statements(runs["own"]), statements(runs["own_placebo"])
    assert len(coupled) == 40
    together = sum(coupled[task] == placebo[task] for task in coupled)
    apart = sum(own[task] == own_placebo[task] for task in own)
    assert together >= 30
    assert together > 1.5 * apart


def test_the_pairing_says_that_noise_is_shared_and_names_no_scenario(runs: dict[str, Path]) -> None:
    """`compare` names the seed in its JSON and, in words, that no single scenario is a finding."""
    data = compare(runs["coupled"], runs["placebo"]).data
    (pairing,) = data.others
    assert pairing.shared_noise == 3
    assert data.as_dict()["others"][0]["shared_noise"] == 3
    assert pairing.test is not None
    shown = facts(data)
    assert shown["common noise"].startswith("Both runs draw by the same noise (--common-noise, seed 3)")
    assert shown["common noise"].endswith("no single scenario is one.")
    assert pairing.changed
    assert not any(change.task_id in shown["changed"] for change in pairing.changed)
    assert "by themselves" not in shown


def test_beside_a_retest_the_words_say_what_noise_of_their_own_would_do(runs: dict[str, Path]) -> None:
    """The figure of the retest is of runs with noise of their own, and is not read as a limit for these two."""
    data = compare(runs["coupled"], runs["placebo"], retest=runs["again"]).data
    shown = facts(data)
    assert "of 40 would change with nothing changed." in shown["common noise"]
    assert "by themselves" not in shown["changed"] + shown["McNemar's counts"]


def test_a_coupled_and_an_uncoupled_run_are_compared_as_any_two(runs: dict[str, Path]) -> None:
    """They draw from the same distributions, so there is a test, no difference of protocols, and nothing to say."""
    (pairing,) = compare(runs["coupled"], runs["own_placebo"]).data.others
    assert (pairing.test is not None, pairing.differs, pairing.warnings) == (True, [], [])
    assert "shared_noise" not in compare(runs["coupled"], runs["own_placebo"]).data.as_dict()["others"][0]


def test_another_judge_is_still_another_measurement(runs: dict[str, Path], tmp_path: Path) -> None:
    """Common noise excuses no other difference of protocols."""
    measure(replace(PLAIN, filtered="evasive"), tmp_path / "other", {})
    (pairing,) = compare(runs["coupled"], tmp_path / "other").data.others
    assert pairing.test is None
    assert [each.field for each in pairing.differs] == ["filtered"]


def test_a_retest_of_a_coupled_run_has_another_seed(runs: dict[str, Path]) -> None:
    """The run of the other seed tells what changes with noise of its own, which is more than what changed here."""
    (pairing,) = compare(runs["coupled"], runs["placebo"], retest=runs["again"]).data.others
    assert pairing.by_themselves is not None
    assert pairing.by_themselves.by_itself > len(pairing.changed)


def test_the_explorer_says_so_too(runs: dict[str, Path]) -> None:
    """Where two of a page's runs share noise, the explorer warns of reading single scenarios; else it does not."""
    assert "no single scenario that differs is a finding" in explorer([runs["coupled"], runs["placebo"]]).html
    for other in ("again", "own"):
        assert "Common noise" not in explorer([runs["coupled"], runs[other]]).html


def test_what_was_lost_is_drawn_again_word_for_word(runs: dict[str, Path], tmp_path: Path) -> None:
    """A run that is taken up again after half of its replies says what it would have said."""
    path = change(shutil.copytree(runs["coupled"], tmp_path / "run"), "DELETE FROM replies WHERE seed % 2")
    assert 0 < len(statements(path)) < 40
    measure(COUPLED, path, {})
    assert statements(path) == statements(runs["coupled"])


def test_a_dose_curve_couples_all_of_its_arms(tmp_path: Path) -> None:
    """`dose --common-noise` draws every dose by the noise of dose 0."""
    wanted = ["--archetype", "provided_facts", "--sample", "4", "--common-noise"]
    done = typed("dose", "pinocchio", "--prompts", "placebo", *wanted, "--out", str(tmp_path / "curve"))
    assert done.code == 0, done.err
    records = list((tmp_path / "curve").rglob("run.json"))
    assert len(records) == 2
    assert all(RunFolder(record.parent).settings().common_noise for record in records)


def test_a_run_goes_on_by_the_same_noise_only(runs: dict[str, Path]) -> None:
    """run.json records it, and the run is not taken up again without it."""
    assert RunFolder(runs["coupled"]).settings().common_noise
    with pytest.raises(RunMismatch, match="common-noise"):
        measure(PLAIN, runs["coupled"], {})
