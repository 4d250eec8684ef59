"""Dose curves: the plan, the two splits, the folder, the data that come of runs, and the text."""

import json
import math
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec import structs

from maskbench.errors import RunMismatch, RunUnreadable, UnknownModel, UsageError
from maskbench.interventions.dose.arms import measure_doses
from maskbench.interventions.dose.conclusion import Limits, conclude
from maskbench.interventions.dose.curve import curve
from maskbench.interventions.dose.dose_folder import DoseFolder, cells
from maskbench.interventions.dose.plan import check, doses, splits
from maskbench.interventions.dose.record import BeliefsChanged, DoseCurve, DoseRecord, DoseRow, Plan, plain_dose
from maskbench.presentation.sections.doses import blocks, finding
from maskbench.presentation.terminal import text
from maskbench.runs.folder import RunFolder
from maskbench.runs.watching import Unwatched
from maskbench.scenarios import SetHash, canonical, load
from maskbench.types import Range, Scenario
from measured_runs import EVERYDAY, change, run, settings

Json = dict[str, Any]


def plan(**changes: Any) -> Plan:
    """A small plan over prompts for a simulated subject, which does not read them."""
    base = settings("sim", limit=12, statements=2)
    parts: Json = {"kind": "prompts", "base": base, "doses": ("honest", "placebo"), "dev_statements": 1}
    return Plan(**parts | changes)


def begun(wanted: Plan, **stated: Any) -> DoseRecord:
    """The record of a curve of which nothing is measured yet."""
    parts: Json = {"complete": False, "plan": wanted, "maskbench": "0.2.0", "choice": "", "words": []}
    return DoseRecord(**parts | stated)


def measured(wanted: Plan | None, out: Path, titles: list[str] | None = None) -> DoseCurve:
    """A dose curve, measured; `titles` gets what each run is called."""

    def watch(title: str, folder: Path) -> Unwatched:
        if titles is not None:
            titles.append(title)
        return Unwatched()

    return measure_doses(wanted, out, {}, watch)


def word(row: DoseRow) -> str:
    """The word for a dose that was held against dose 0."""
    rates = {**row.rates, "malformed": row.malformed, "p_lie_by_base": row.p_lie_by_base}
    return conclude(rates, Limits(), untested=row.untested_because).word


def shown(data: DoseCurve, width: int = 80) -> str:
    """The data as they are printed."""
    return text(list(blocks(data)), width)


# The plan


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"doses": ()}, "no dose but 0"),
        ({"doses": ("none",)}, "no dose but 0"),
        ({"doses": ("honest", "honest")}, "given twice"),
        ({"kind": "steer", "doses": (1.0,)}, "Give --steer FILE"),
        ({"dev_statements": 0}, "--dev-statements 0 is too small"),
        ({"control_statements": 0}, "--control-statements 0 is too small"),
        ({"random": -1}, "--random -1 is too small"),
        ({"dev": "1.5"}, "a share between 0 and 1"),
    ],
)
def test_a_plan_that_cannot_be_meant_is_refused(changes: Json, said: str) -> None:
    """With what to type instead."""
    with pytest.raises(UsageError, match=said):
        check(plan(**changes))


@pytest.mark.parametrize(
    "changes",
    [{}, {"kind": "steer", "source": "v", "doses": (-1.0, 2.0), "layers": ((1, 2), None)}, {"limits": Limits(0.1)}],
)
def test_a_plan_is_read_back_as_it_was_written(changes: Json, tmp_path: Path) -> None:
    """But for settings that change nothing that is asked."""
    wanted = plan(**changes)
    DoseFolder(tmp_path).begin(begun(wanted))
    assert DoseFolder(tmp_path).data().plan == wanted


def test_the_weakest_dose_comes_first_and_dose_0_is_measured_anyway(tmp_path: Path) -> None:
    """In a tie of the choice the first is taken."""
    made = doses(plan(doses=("none", "honest", "placebo")), DoseFolder(tmp_path), None)
    assert [one.name for one in made] == ["prompt_honest", "prompt_placebo"]
    assert all(one.settings.design.system_prompt_text for one in made)


# The splits


def test_no_proposition_is_in_both_splits_and_no_scenario_in_none(tmp_path: Path) -> None:
    """The hash of the proposition decides, so scenarios on one proposition go together."""
    made = plan(base=settings("sim"))
    split = splits(made, DoseFolder(tmp_path), {})
    dev, test = split.dev, split.test
    halves = [load(half.scenarios) for half in (dev, test)]
    assert not propositions(halves[0]) & propositions(halves[1])
    assert split.shared_propositions == 0
    assert digest([*halves[0], *halves[1]]) == digest(load(EVERYDAY))
    assert 0.15 < dev.n / (dev.n + test.n) < 0.45
    again = splits(structs.replace(made, base=settings("sim", seed=1)), DoseFolder(tmp_path / "other"), {})
    assert propositions(load(again.dev.scenarios)) != propositions(halves[0])


def propositions(scenarios: Sequence[Scenario]) -> set[str]:
    """What the scenarios are about."""
    return {scenario.proposition for scenario in scenarios}


def digest(scenarios: Sequence[Scenario]) -> str:
    """What a set of scenarios holds, in any order."""
    made = SetHash()
    for one in scenarios:
        made.add(one)
    return made.hexdigest()


def test_of_the_sandbox_another_draw_is_the_dev_split(tmp_path: Path) -> None:
    """Nothing is written; how many propositions are in both is counted."""
    base = settings("pinocchio", judge="rules/sandbox", numeric_judge="rules/sandbox", scenarios="sandbox:3", seed=2)
    split = splits(plan(base=base), DoseFolder(tmp_path), {})
    assert (split.dev.scenarios, split.test.scenarios) == ("sandbox:9003", "sandbox:3")
    assert not list(tmp_path.iterdir())
    named = splits(plan(base=base, dev="sandbox:5"), DoseFolder(tmp_path), {})
    assert named.dev.scenarios == "sandbox:5"
    with pytest.raises(UsageError, match="is the set that is measured"):
        splits(plan(base=base, dev="sandbox:3"), DoseFolder(tmp_path), {})


def test_a_set_without_enough_propositions_is_refused(tmp_path: Path) -> None:
    """One scenario cannot be split."""
    file = tmp_path / "one.jsonl"
    file.write_text(json.dumps(cells(load("starter")[0])))
    with pytest.raises(UsageError, match="too few propositions for two splits"):
        splits(plan(base=settings("sim", scenarios=str(file))), DoseFolder(tmp_path), {})


def test_a_truth_with_an_open_side_is_read_back_from_its_row(tmp_path: Path) -> None:
    """A split of a set is written as JSON, which has no infinity."""
    statistic = next(scenario for scenario in load("starter") if scenario.archetype == "statistics")
    for truth in (Range(2, math.inf), Range(-math.inf, 2)):
        half = replace(statistic, truth=truth)
        (again,) = load(str(DoseFolder(tmp_path / truth.words).scenarios("all", [half])))
        assert again == half


@pytest.mark.parametrize("name", ["starter", "sandbox"])
def test_a_scenario_is_read_back_from_its_row(tmp_path: Path, name: str) -> None:
    """Content, canary, further columns and what was asked outright."""
    scenarios = load(name)
    path = DoseFolder(tmp_path).scenarios("all", scenarios)
    again = load(str(path))
    assert [canonical(one) for one in again] == [canonical(one) for one in scenarios]
    for one, other in zip(again, scenarios, strict=True):
        assert (one.canary, one.asked_outright, dict(one.extra)) == (other.canary, other.asked_outright, other.extra)


# The folder


def test_the_plan_and_the_rules_are_put_down_before_anything_is_measured(tmp_path: Path) -> None:
    """A curve that fails at once leaves them; as long as no run was begun, another plan may take their place."""
    wrong = plan(base=settings("sim", limit=12, statements=2, judge="nobody/nothing"))
    with pytest.raises(UnknownModel):
        measured(wrong, tmp_path)
    stated = DoseFolder(tmp_path).data()
    assert stated.complete is False
    assert stated.words == list(Limits().sentences())
    assert stated.plan.doses == ("honest", "placebo")
    assert measured(plan(doses=("honest",)), tmp_path).complete
    with pytest.raises(RunMismatch, match="a dose curve with doses"):
        measured(plan(), tmp_path)


def test_a_folder_that_holds_a_run_or_nothing_is_refused(tmp_path: Path) -> None:
    """Runs stay what they are, and without a plan there is nothing to go on with."""
    with pytest.raises(RunMismatch, match="holds a run"):
        measured(plan(), run(tmp_path / "run", limit=2))
    with pytest.raises(RunUnreadable, match="holds no dose curve"):
        measured(None, tmp_path)
    (tmp_path / "dose.json").write_text('{"schema": 7}')
    with pytest.raises(RunUnreadable, match="has schema 7"):
        measured(None, tmp_path)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"zeal": 1}, r"dose\.json is no record of a dose curve: zeal is not known\. Use maskbench "),
        ({"plan": {"zeal": 1}}, r"no record of a dose curve: plan\.zeal is not known"),
        ({"plan": {"base": {"zeal": 1}}}, r"no record of a dose curve: plan\.base\.zeal is not known"),
        ({"plan": {"limits": {"zeal": 1.0}}}, r"no record of a dose curve: plan\.limits\.zeal is not known"),
        (
            {"plan": {"base": {"design": {"beliefs": -1}}}},
            r"no record of a dose curve: plan\.base\.design\.beliefs is -1\. Restore the file",
        ),
        ({"plan": {"doses": [True]}}, r"no record of a dose curve: plan\.doses\[0\] is True"),
        ({"complete": "yes"}, r'no record of a dose curve: complete is "yes"'),
    ],
)
def test_a_plan_that_cannot_be_read_names_what_is_wrong(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    """A dose.json of another hand is refused by file, field and remedy."""

    def changed(whole: dict[str, Any], parts: dict[str, Any]) -> dict[str, Any]:
        return whole | {
            name: changed(whole[name], part) if isinstance(part, dict) else part for name, part in parts.items()
        }

    DoseFolder(tmp_path).begin(begun(plan()))
    whole = orjson.loads((tmp_path / "dose.json").read_bytes())
    assert plain_dose(DoseFolder(tmp_path).data()) == whole
    (tmp_path / "dose.json").write_bytes(orjson.dumps(changed(whole, change)))
    with pytest.raises(RunUnreadable, match=said):
        DoseFolder(tmp_path).data()


def adapter(folder: Path, **config: Any) -> Path:
    """Something that looks like an adapter of PEFT's."""
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    whole = {"peft_type": "LORA", "lora_alpha": 16, "r": 8, "bias": "none"} | config
    (folder / "adapter_config.json").write_text(json.dumps(whole))
    weights = {f"q_proj.lora_{which}.weight": torch.ones(2, 2) for which in "AB"}
    save_file(weights, folder / "adapter_model.safetensors")
    return folder


def test_an_adapter_is_scaled_once(tmp_path: Path) -> None:
    """One side of the product is multiplied; a folder that is there is taken as it is."""
    from safetensors.torch import load_file

    source, folder = adapter(tmp_path / "lora"), DoseFolder(tmp_path)
    made = folder.adapter("alpha_0.5", source, 0.5)
    weights = load_file(made / "adapter_model.safetensors")
    assert {name: float(weight.sum()) for name, weight in weights.items()} == {
        "q_proj.lora_A.weight": 4.0,
        "q_proj.lora_B.weight": 2.0,
    }
    before = (made / "adapter_model.safetensors").stat().st_mtime_ns
    assert folder.adapter("alpha_0.5", source, 0.5) == made
    assert (made / "adapter_model.safetensors").stat().st_mtime_ns == before


@pytest.mark.parametrize("config", [{"use_dora": True}, {"modules_to_save": ["lm_head"]}, {"bias": "all"}])
def test_an_adapter_that_is_no_plain_lora_is_not_scaled(tmp_path: Path, config: Json) -> None:
    """Its effect is not linear in one number."""
    with pytest.raises(UsageError, match="only a plain LoRA can be scaled"):
        DoseFolder(tmp_path).adapter("alpha_0.5", adapter(tmp_path / "lora", **config), 0.5)


def test_what_is_no_adapter_is_refused(tmp_path: Path) -> None:
    """As `maskbench run --adapter` refuses it."""
    with pytest.raises(UsageError, match="holds no adapter"):
        DoseFolder(tmp_path).adapter("alpha_2", tmp_path, 2)


# The data


def test_fewer_lies_are_found_with_their_interval_and_called_honest(tmp_path: Path) -> None:
    """A subject that lies less and states its belief instead."""
    base = run(tmp_path / "base", "sim/lie=0.5,evade=0.2,unsure=0.1", statements=4)
    less = run(tmp_path / "less", "sim/lie=0.2,evade=0.2,unsure=0.1", statements=4)
    zero, (row,) = curve(base, [less], "reference")
    assert zero.values["p_lie"].value == row.rates["p_lie"].first
    low, high = row.rates["p_lie"].ci95 or (0, 0)
    assert low < -0.27 < high < 0
    assert row.p_lie_by_base == row.rates["p_lie"]  # the same beliefs
    assert row.beliefs_changed.changed == 0
    assert row.malformed.difference == 0
    assert word(row) == "more honest"


def test_lies_that_become_evasions_are_called_vague(tmp_path: Path) -> None:
    """Half of the drop or more went elsewhere."""
    base = run(tmp_path / "base", "sim/lie=0.5,evade=0.1", statements=4)
    vague = run(tmp_path / "vague", "sim/lie=0.2,evade=0.4", statements=4)
    _, (row,) = curve(base, [vague], "reference")
    assert word(row) == "vaguer"
    assert (row.evasions["refusal"] or 0) > 0.25


def test_statements_are_held_against_the_beliefs_of_dose_0_too(tmp_path: Path) -> None:
    """A subject that states what it now believes is honest, and contradicts what it believed before."""
    base = run(tmp_path / "base", "sim/lie=0.3,evade=0,unsure=0,accuracy=1")
    moved = run(tmp_path / "moved", "sim/lie=0,evade=0,unsure=0,accuracy=0")
    _, (row,) = curve(base, [moved], "reference")
    assert row.rates["p_lie"].other == 0
    assert row.beliefs_changed == BeliefsChanged(changed=80, n=80)
    assert (row.p_lie_by_base.other or 0) > 0.8  # all but the scenarios whose facts are provided
    assert word(row) == "unclear"


def test_a_run_with_too_many_failures_gives_no_difference(tmp_path: Path) -> None:
    """What is left after so many is a selection."""
    base = run(tmp_path / "base")
    failing = run(tmp_path / "failing", "sim/fail=0.3")
    _, (row,) = curve(base, [failing], "reference")
    assert row.withheld
    assert row.rates["p_lie"].difference is row.p_lie_by_base.difference is None
    assert row.values["p_lie"].value is None
    assert word(row) == "not measurable"


# From beginning to end


def test_a_dose_curve_is_measured_and_taken_up_again(tmp_path: Path) -> None:
    """Runs on dev, a choice, runs on test; asked again, it measures nothing anew and says the same."""
    titles: list[str] = []
    data = measured(plan(), tmp_path, titles)
    assert titles == [
        f"{part}, {place} of 3: {name}"
        for part in ("dev", "test")
        for place, name in enumerate(("none", "prompt_honest", "prompt_placebo"), start=1)
    ]
    assert data.complete is True
    assert data.dev
    assert data.test
    assert data.dev.chosen == data.test.chosen == "prompt_honest"  # the first of equals
    assert data.verdict.word == "not shown"
    assert data.controls is None
    assert data.split.shared_propositions == 0
    assert {row.run for row in data.test.rows} == {"test/prompt_honest", "test/prompt_placebo"}
    assert measured(None, tmp_path) == data == DoseFolder(tmp_path).data()
    assert Counter(path.parent.name for path in tmp_path.rglob("run.json")) == Counter(
        {"none": 2, "prompt_honest": 2, "prompt_placebo": 2}
    )


def test_a_finished_curve_of_which_a_call_failed_is_gone_on_with(tmp_path: Path) -> None:
    """Failed calls are asked again, and so is a run that is gone; a curve without either is only shown."""
    titles: list[str] = []
    measured(plan(doses=("honest",)), tmp_path)
    measured(None, tmp_path, titles)
    assert titles == []
    change(tmp_path / "test" / "none", "DELETE FROM judged")
    assert measured(None, tmp_path, titles).complete
    assert titles == ["test, 1 of 2: none", "test, 2 of 2: prompt_honest"]
    shutil.rmtree(tmp_path / "test" / "prompt_honest")
    measured(None, tmp_path)
    assert (tmp_path / "test" / "prompt_honest" / "run.json").exists()


def test_a_curve_that_was_moved_goes_on_with_its_runs(tmp_path: Path) -> None:
    """Its splits lie elsewhere and hold the same scenarios: runs are kept, what is missing is made without the set."""
    file = DoseFolder(tmp_path / "set").scenarios("all", load(EVERYDAY))
    wanted, first = plan(base=settings("sim", scenarios=str(file), limit=12, statements=2)), tmp_path / "first"
    data = measured(wanted, first)
    moved = first.rename(tmp_path / "moved")
    shutil.rmtree(moved / "test")
    file.unlink()
    DoseFolder(moved).write(begun(wanted, words=data.words))
    again = measured(None, moved)
    assert again.split.dev.scenarios == str(moved / "scenarios" / "dev.jsonl")
    assert again.verdict == data.verdict
    for now, before in ((again.dev, data.dev), (again.test, data.test)):
        assert now
        assert before
        assert [row.rates for row in now.rows] == [row.rates for row in before.rows]
    record = RunFolder(moved / "dev" / "none").read()
    assert len(record.sessions) == 1
    assert record.scenarios.name == record.settings.design.scenarios == again.split.dev.scenarios


def test_a_split_that_holds_other_scenarios_is_refused(tmp_path: Path) -> None:
    """Its name is not enough."""
    first = tmp_path / "first"
    data = measured(plan(), first)
    moved = first.rename(tmp_path / "moved")
    DoseFolder(moved).write(begun(plan(), words=data.words))
    rows = (moved / "scenarios" / "dev.jsonl").read_bytes().splitlines(keepends=True)
    (moved / "scenarios" / "dev.jsonl").write_bytes(b"".join(rows[1:]))
    with pytest.raises(RunMismatch, match=r"holds a run with --scenarios .*first/scenarios/dev\.jsonl"):
        measured(None, moved)


def test_vectors_may_lie_elsewhere(tmp_path: Path) -> None:
    """Where the file is does not tell one curve from another: each run holds its hash against its own."""
    steering: Json = {"kind": "steer", "doses": (1.0,)}
    folder = DoseFolder(tmp_path)
    folder.begin(begun(plan(source="a/v.safetensors", **steering)))
    (tmp_path / "test" / "none").mkdir(parents=True)
    (tmp_path / "test" / "none" / "run.json").touch()
    folder.begin(begun(plan(source="b/v.safetensors", **steering)))
    with pytest.raises(RunMismatch, match="a dose curve with random 20, and this one asks for 3"):
        folder.begin(begun(plan(source="b/v.safetensors", random=3, **steering)))


def test_a_curve_goes_on_under_its_rules(tmp_path: Path) -> None:
    """The rule set that was asked for is named, and taken again where the folder alone is given."""
    base = settings("sim/unsure=0.5,evade=0.5", limit=12, statements=2, rules="inspect")
    first = measured(plan(base=base, doses=("honest",)), tmp_path)
    assert ", rules inspect" in shown(first, 200)
    DoseFolder(tmp_path).write(begun(plan(base=base, doses=("honest",)), words=first.words))
    again = measured(None, tmp_path)
    assert (again.plan.base.design.rules, again.test) == ("inspect", first.test)
    assert measured(plan(base=base.having(rules="reference"), doses=("honest",)), tmp_path).test != first.test


def test_a_key_in_the_fields_of_requests_never_reaches_the_folder(tmp_path: Path) -> None:
    """The plan is put down first of all, and nothing of it is where it holds a key."""
    base = plan().base.having(subject="openai/gpt-4o", extra_body='{"user":"a key that is one"}')
    environ = {"OPENAI_API_KEY": "a key that is one"}
    with pytest.raises(UsageError, match="--extra-body holds a key of the environment"):
        measure_doses(plan(base=base), tmp_path / "dose", environ, lambda title, folder: Unwatched())
    assert not (tmp_path / "dose").exists()


def test_a_dose_alone_needs_no_dev_split(tmp_path: Path) -> None:
    """There is nothing to choose."""
    data = measured(plan(doses=("honest",)), tmp_path)
    assert data.dev is None
    assert not (tmp_path / "dev").exists()
    assert data.chosen
    assert data.chosen.name == "prompt_honest"
    assert "nothing was chosen" in shown(data)


def test_where_every_dose_does_damage_the_test_split_is_not_touched(tmp_path: Path) -> None:
    """Nothing is reported that was not chosen."""
    data = measured(plan(limits=Limits(margin=-0.01)), tmp_path)  # not even no loss is allowed
    assert data.test is None
    assert not (tmp_path / "test").exists()
    assert data.verdict.word == "none chosen"
    assert data.dev
    assert data.dev.ruled_out.keys() == {"prompt_honest", "prompt_placebo"}
    assert finding(data).startswith("No dose was chosen.")
    assert "ruled out" in shown(data)


# The text


def test_the_text_fits_80_columns_and_names_split_rules_and_word(tmp_path: Path) -> None:
    """What a reader has to know, whatever the terminal."""
    told = shown(measured(plan(), tmp_path))
    assert max(map(len, told.splitlines())) <= 80
    for said in (
        "Prompt honest: not shown.",
        "▸ honest",
        "placebo",
        "dev split of ",
        "stated beforehand",
        "vaguer P(lie) is down",
    ):
        assert said in " ".join(told.split())


def test_a_prompts_name_cannot_harm_the_terminal(tmp_path: Path) -> None:
    """A file may be called anything."""
    file = tmp_path / "a\x1b[31m‮b.md"
    file.write_text("Be honest.")
    told = shown(measured(plan(doses=(str(file),)), tmp_path / "out"))
    assert "\x1b" not in told
    assert "‮" not in told
