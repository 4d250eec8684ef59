"""The record of Every Eval Ever has our sources, metrics and intervals; tests_outside/formats/ asks its own library."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest
from msgspec import structs

import measured_runs
import shared_runs
from flows import typed
from maskbench.interop.every_eval_ever import LOWER_IS_BETTER, aggregate, instances, model_id, write
from maskbench.interop.shown_to_others import Shown, rates_of, shown
from maskbench.method.rates import RATES
from maskbench.results.scored import score
from maskbench.types import OutcomeName

WORDS = {name: (name, "") for name in RATES}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a private set, under the name of a real model."""
    return shared_runs.real(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def seen(run: Path) -> Shown:
    """That run as others see it."""
    return shown(run)


def test_every_rate_has_its_interval_and_its_direction(run: Path, seen: Shown) -> None:
    """P(lie) is better lower, P(honest) higher; value and ends are those of `maskbench score`, between 0 and 1."""
    record = aggregate(seen, WORDS, 0)
    results = {each["evaluation_result_id"]: each for each in record["evaluation_results"]}
    for name, rate in score(run).rates.items():
        shown_as = results[f"mask/{name}"]
        assert shown_as["score_details"]["score"] == rate.value
        interval = shown_as["score_details"]["uncertainty"]["confidence_interval"]
        assert (interval["lower"], interval["upper"], interval["confidence_level"]) == (rate.low, rate.high, 0.95)
        config = shown_as["metric_config"]
        assert (config["min_score"], config["max_score"]) == (0.0, 1.0)
        assert config["lower_is_better"] == (name in LOWER_IS_BETTER)
    assert {"p_lie", "p_evasive"} <= LOWER_IS_BETTER
    assert not {"p_honest", "accuracy", "honesty_score"} & LOWER_IS_BETTER
    assert "mask.statistics/p_lie" in results
    judging = results["mask/p_lie"]["metric_config"]["llm_scoring"]
    assert [judge["model_info"]["id"] for judge in judging["judges"]] == list(seen.judges) == ["sim-judge"]
    assert record["eval_library"]["additional_details"]["protocol_id"] == seen.summary.protocol


def test_the_means_of_the_outcomes_are_the_rates(seen: Shown) -> None:
    """Who averages the lines of a rate over this unweighted set gets that rate."""
    lines = list(instances(seen, model_id(seen)))
    for name in ("p_lie", "p_honest"):
        scores = [line["evaluation"]["score"] for line in lines if line["evaluation_result_id"] == f"mask/{name}"]
        assert sum(scores) / len(scores) == pytest.approx(seen.summary.rates[name].value)
        assert len(scores) == len(seen.scenarios)


def test_a_failure_has_no_line_and_no_zero(seen: Shown) -> None:
    """A scenario without an outcome is left out and counted; one with two of three statements is over these two."""
    none, some = seen.scenarios[:2]
    mixed: tuple[tuple[OutcomeName, None], ...] = (("error", None), ("lie", None), ("honest", None))
    planted = replace(seen, scenarios=(replace(none, statements=mixed[:1]), replace(some, statements=mixed)))
    lines = list(instances(planted, "a/b"))
    assert [(line["sample_hash"], line["evaluation"]["score"]) for line in lines] == [(some.sha256, 0.5)] * 2
    assert not any(line["evaluation"]["is_correct"] for line in lines)


def test_a_second_look_has_no_rows_of_its_own(tmp_path: Path) -> None:
    """Its rates are estimated from some of the scenarios; rows would say otherwise, so it is refused by name."""
    run = measured_runs.run(tmp_path / "run", sample=40)
    assert typed("judge", run, "--second", "sim-judge/flip=0.1", "--second-share", "0.5", "--name", "look").code == 0
    ended = typed("export", run, "--format", "every-eval-ever", "--verdicts", "look", "--out", tmp_path / "out")
    assert (ended.code, "estimated from a second look" in ended.err) == (2, True)
    assert typed("export", run, "--format", "markdown", "--verdicts", "look").code == 0


def test_no_number_without_an_end_gets_out(run: Path, seen: Shown, tmp_path: Path) -> None:
    """What is infinite or no number is left out, a rate or its interval: readers of JSON know neither."""
    summary = score(run).summary
    summary.rates["p_lie"] = structs.replace(summary.rates["p_lie"], value=float("inf"))
    summary.rates["p_honest"] = structs.replace(summary.rates["p_honest"], value=float("nan"))
    summary.rates["accuracy"] = structs.replace(summary.rates["accuracy"], ci95=(0.0, float("inf")))
    names = {name: rate for archetype, name, rate in rates_of(summary) if archetype == "all"}
    assert not {"p_lie", "p_honest"} & set(names)
    assert names["accuracy"].ci95 is None
    written = write(replace(seen, summary=summary), tmp_path, WORDS, 0).read_text()
    assert "Infinity" not in written
    assert "NaN" not in written


@pytest.mark.parametrize(
    ("subject", "model"),
    [
        ("openai/gpt-9", "openai/gpt-9"),
        ("openrouter/meta/llama-9", "meta/llama-9"),
        ("hf//home/me/tuned", "hf/tuned"),
        ("pinocchio", "maskbench/pinocchio"),
        ("vllm/../..", "unnamed/unnamed"),
        ("vllm/a/b/c:d", "a/b-c-d"),
    ],
)
def test_a_model_is_its_maker_and_its_name(seen: Shown, subject: str, model: str) -> None:
    """What stands behind the service, where it names a maker; never a path out of the folder."""
    assert model_id(replace(seen, settings=seen.settings.having(subject=subject))) == model


@pytest.mark.parametrize(
    "done",
    [
        {"system_prompt": "own", "system_prompt_text": "Be honest."},
        {"adapter": "runs/step", "adapter_hash": "ab"},
        {"steer": "v.safetensors", "steer_hash": "cd", "strength": -2.0},
        {"quantize": "4bit"},
        {"run_label": "step 300"},
    ],
)
def test_a_subject_that_something_was_done_to_is_not_filed_as_the_bare_model(
    seen: Shown, tmp_path: Path, done: dict[str, Any]
) -> None:
    """It has an id and a folder of its own, in both files, and the record says which model is under it."""
    changed = replace(seen, settings=seen.settings.having(**done))
    model = model_id(changed)
    assert model.startswith("openai/gpt-9-changed-")
    assert model != model_id(replace(changed, settings=changed.settings.having(seed=1, system_prompt="other")))
    record = write(changed, tmp_path, WORDS, 0)
    about = orjson.loads(record.read_bytes())["model_info"]
    assert (about["id"], about["additional_details"]["bare_model_id"]) == (model, "openai/gpt-9")
    assert record.parent == tmp_path / "data" / "maskbench" / Path(model)
    lines = (tmp_path / "data").rglob("*_samples.jsonl")
    assert {orjson.loads(line)["model_id"] for file in lines for line in file.read_bytes().splitlines()} == {model}
    assert "bare_model_id" not in aggregate(seen, WORDS, 0)["model_info"]["additional_details"]


def test_writing_it_again_replaces_it(run: Path, tmp_path: Path) -> None:
    """The names of the files are made of the run, the second points to the first, and its checksum is right."""
    for _ in range(2):
        assert typed("export", run, "--format", "every-eval-ever", "--out", tmp_path).code == 0
    record, samples = sorted(tmp_path.rglob("*.json*"), key=lambda path: path.suffix)
    assert samples.name == f"{record.stem}_samples.jsonl"
    details = orjson.loads(record.read_bytes())["detailed_evaluation_results"]
    assert (tmp_path / details["file_path"]) == samples
    assert details["total_rows"] == len(samples.read_bytes().splitlines())
    assert record.parent == tmp_path / "data" / "maskbench" / "openai" / "gpt-9"


def test_a_weighted_sample_and_an_organism_say_so(tmp_path: Path) -> None:
    """Each line has its weight, and a simulated subject is called no real model."""
    seen = shown(measured_runs.run(tmp_path / "run", sample=12))
    assert "not_a_real_model" in aggregate(seen, WORDS, 0)["model_info"]["additional_details"]
    assert all(float(line["metadata"]["weight"]) > 0 for line in instances(seen, "a/b"))
