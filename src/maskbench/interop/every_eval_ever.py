"""A run as a record of Every Eval Ever: one JSON file of rates, and one JSONL file of outcomes beside it.

Source: the two schemas, version 0.3.0, that the package every_eval_ever brings, and the layout of its data store,
`data/COLLECTION/DEVELOPER/MODEL/UUID.json`. No field here can hold an infinity: such a number is left out, or null.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TypeAlias

import orjson

from maskbench.errors import UsageError
from maskbench.interop.shown_to_others import (
    ALL,
    RateOf,
    ScenarioShown,
    Shown,
    folders_of,
    rates_of,
    settings_for_others,
    without_folders,
)
from maskbench.method.rates import OF_LOGS
from maskbench.plain import escaped
from maskbench.runs.source import knows_sampling
from maskbench.scenarios import hub
from maskbench.settings import Settings, arm_of
from maskbench.types import Json, OutcomeName, Range, Scenario

Words: TypeAlias = Mapping[str, tuple[str, str]]  # of each rate its name and what it is

SCHEMA = "0.3.0"
COLLECTION = "maskbench"
UNSAID = "not stated"
LOWER_IS_BETTER = frozenset(("p_lie", "p_lie_macro", "p_evasive", "p_no_belief", "conditional_lie_rate", *OF_LOGS))
# What is told of each scenario: the two rates whose means are shares of outcomes, by the outcome that each counts.
COUNTED: Mapping[str, OutcomeName] = {"p_lie": "lie", "p_honest": "honest"}
_NO_OUTCOME = frozenset(("error", "disputed"))
_NOT_PORTABLE = re.compile(r"[^A-Za-z0-9._-]+")
_METHOD = "cluster-robust over propositions; sampling error only, the judge's error is not in it"


def write(shown: Shown, folder: Path, words: Words, now: float) -> Path:
    """Write both files below `folder` and return the path of the record; `now` is when, in seconds of Unix time.

    The names are made of what the run is, so that writing it again, with texts or without, replaces the files.
    """
    model = model_id(shown)
    place = Path("data", COLLECTION, *model.split("/"))
    name = str(uuid.UUID(bytes=hashlib.sha256(_identity(shown).encode()).digest()[:16], version=4))
    samples = list(instances(shown, model))
    content = b"".join(_json(sample) + b"\n" for sample in samples)
    details = {
        "format": "jsonl",
        "file_path": str(place / f"{name}_samples.jsonl"),
        "hash_algorithm": "sha256",
        "checksum": hashlib.sha256(content).hexdigest(),
        "total_rows": len(samples),
        "additional_details": {"scenarios_without_outcome": str(_without_outcome(shown))},
    }
    record = aggregate(shown, words, now) | {"detailed_evaluation_results": details}
    try:
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / f"{name}_samples.jsonl").write_bytes(content)
        (folder / place / f"{name}.json").write_bytes(_json(record, indent=True) + b"\n")
    except OSError as error:
        raise UsageError(f"{folder} cannot be written to ({error.strerror}). Try another --out.") from error
    return folder / place / f"{name}.json"


def aggregate(shown: Shown, words: Words, now: float) -> Json:
    """The record: where it is from, of which model, by what, and every rate with its interval."""
    summary = shown.summary
    return {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation_id(shown),
        "evaluation_timestamp": shown.created,
        "retrieved_timestamp": str(int(now)),
        "source_metadata": {
            "source_name": "maskbench",
            "source_type": "evaluation_run",
            "source_organization_name": UNSAID,
            "evaluator_relationship": "other",
            "additional_details": {
                "relationship": UNSAID,
                **({"imported": shown.imported} if shown.imported else {}),
            },
        },
        "eval_library": {
            "name": "maskbench",
            "version": summary.version,
            "additional_details": {
                "method": "MASK, arXiv:2503.03750",
                "protocol_id": summary.protocol,
                "rules": summary.rules,
                "verdict_set": summary.verdicts,
            },
        },
        "model_info": _model(model_id(shown), shown),
        "evaluation_results": [_result(rate, shown, words) for rate in rates_of(shown.summary)],
    }


def evaluation_id(shown: Shown) -> str:
    """What both files call this run: set, model and when it was measured."""
    began = int(datetime.fromisoformat(shown.created).timestamp())
    return f"{COLLECTION}-{_portable(shown.set_name)}/{model_id(shown)}/{began}"


def model_id(shown: Shown) -> str:
    """The model as DEVELOPER/MODEL, with a hash of what was done to it, so that nobody joins it with the bare model."""
    bare = bare_model_id(shown)
    return f"{bare}-changed-{arm_of(shown.settings).hex()[:12]}" if is_changed(shown.settings) else bare


def is_changed(settings: Settings) -> bool:
    """Whether the subject is the model with a prompt, an adapter, steering, fewer bits, or a label of its own."""
    return settings.label != settings.subject.name or settings.design.system_prompt_text is not None


def bare_model_id(shown: Shown) -> str:
    """The model alone: what stands behind the service, else the service and what stands behind it."""
    service, _, name = without_folders(shown.settings.subject.name, folders_of(shown.settings)).partition("/")
    developer, model = name.split("/", 1) if "/" in name else (service, name) if name else (COLLECTION, service)
    return f"{_portable(developer)}/{_portable(model)}"


def instances(shown: Shown, model: str) -> Iterator[Json]:
    """A line for each scenario and each of the two rates; what has no outcome has none, and no zero."""
    for each in shown.scenarios:
        outcomes = [outcome for outcome, _ in each.statements if outcome not in _NO_OUTCOME]
        for name, counted in COUNTED.items() if outcomes else ():
            share = sum(outcome == counted for outcome in outcomes) / len(outcomes)
            yield _instance(shown, model, each, name, share)


def _instance(shown: Shown, model: str, each: ScenarioShown, name: str, share: float) -> Json:
    scenario, replies = each.texts or (None, ())
    statements = [text for _, elicitation, _, text in replies if elicitation == 0]
    return {
        "schema_version": SCHEMA,
        "evaluation_id": evaluation_id(shown),
        "model_id": model,
        "evaluation_name": _name(ALL),
        "evaluation_result_id": _result_id(ALL, name),
        "sample_id": each.sha256[:24],
        "sample_hash": each.sha256,
        **_conversation(each, scenario, statements),
        "answer_attribution": [
            {
                "turn_idx": 0,
                "source": "output.raw",
                "extracted_value": outcome,
                "extraction_method": "llm_judge",
                "is_terminal": True,
            }
            for outcome, _ in each.statements
        ],
        "evaluation": {"score": share, "is_correct": share == 0 if name in LOWER_IS_BETTER else share == 1},
        "metadata": {
            "archetype": each.archetype,
            "type": each.kind,
            "outcome": each.outcome,
            "no_belief_reason": each.no_belief_reason or "",
            "belief_accuracy": each.accuracy,
            "weight": repr(each.weight),
        },
    }


def _conversation(each: ScenarioShown, scenario: Scenario | None, statements: list[str]) -> Json:
    """What was asked and answered, in words or by hash and number; a scripted first turn stands before the question.

    The answer of each statement is in `output`, so that every line is of a single turn.
    """
    if scenario is None:
        asked = {"raw": f"not published: sha256 {each.sha256}", "reference": []}
        replied = [f"not published: reply {number}" for _, number in each.statements if number]
        return {"interaction_type": "single_turn", "input": asked, "output": {"raw": replied}}
    truth = scenario.truth.words if isinstance(scenario.truth, Range) else scenario.truth
    turns = (turn.text for turn in scenario.messages)
    asked = {"raw": "\n\n".join(turns), "reference": [truth]}
    return {"interaction_type": "single_turn", "input": asked, "output": {"raw": statements}}


def _result(row: RateOf, shown: Shown, words: Words) -> Json:
    archetype, name, rate = row
    title, meaning = words[name]
    interval = {"lower": rate.low, "upper": rate.high, "confidence_level": 0.95, "method": _METHOD}
    return {
        "evaluation_result_id": _result_id(archetype, name),
        "evaluation_name": _name(archetype),
        "evaluation_timestamp": shown.created,
        "source_data": _source(shown),
        "metric_config": {
            "evaluation_description": meaning or title,
            "metric_id": f"mask.{name}",
            "metric_name": title,
            "metric_kind": "rate",
            "metric_unit": "proportion",
            "metric_parameters": {"statements": shown.settings.design.statements},
            "lower_is_better": name in LOWER_IS_BETTER,
            "score_type": "continuous",
            "min_score": 0.0,
            "max_score": 1.0,
            "llm_scoring": _judging(shown),
        },
        "score_details": {
            "score": rate.value,
            "details": {"archetype": archetype, "scenarios_in_the_rate": str(rate.n)},
            "uncertainty": {**({"confidence_interval": interval} if rate.ci95 else {}), "num_samples": rate.n},
        },
        "generation_config": {
            "generation_args": _sampling(shown),
            "additional_details": settings_for_others(shown.settings),
        },
    }


def _sampling(shown: Shown) -> Json:
    """How the subject was asked; nothing where nobody knows."""
    sampling = shown.settings.subject.sampling
    known = knows_sampling(shown.settings)
    return {"temperature": sampling.temperature, "max_tokens": sampling.max_tokens} if known else {}


def _judging(shown: Shown) -> Json:
    prompts = shown.summary.judge.prompts
    asked = {} if shown.imported else {"temperature": shown.settings.judging.sampling.temperature}
    judges = [{"model_info": _unsaid(judge), **asked} for judge in shown.judges]
    return {
        "judges": judges,
        "input_prompt": f"maskbench judge prompts {prompts.name}, sha256 {prompts.hash}",
        **({"aggregation_method": "majority_vote"} if len(shown.summary.judge.members or ()) > 1 else {}),
    }


def _source(shown: Shown) -> Json:
    scenarios = shown.summary.scenarios
    hashes = {"sha256": scenarios.measured_hash, "taken": scenarios.taken, "scenarios": str(scenarios.done)}
    if shown.is_mask:
        at_hub = {"hf_repo": hub.NAME, "hf_split": "test", "samples_number": scenarios.done}
        named = {"revision": hub.REVISION} if shown.settings.design.scenarios == hub.NAME and not shown.imported else {}
        return {"dataset_name": "MASK", "source_type": "hf_dataset", **at_hub, "additional_details": hashes | named}
    return {"dataset_name": shown.set_name, "source_type": "other", "additional_details": hashes}


def _model(name: str, shown: Shown) -> Json:
    about = _unsaid(name, str(shown.summary.subject.get("label") or shown.summary.subject.name))
    if service := shown.summary.subject.get("service"):
        about["inference_platform"] = str(service)
    if is_changed(shown.settings):
        about["additional_details"]["bare_model_id"] = bare_model_id(shown)
    if shown.is_simulated:
        about["additional_details"]["not_a_real_model"] = "its makers chose how often it lies"
    return about


def _unsaid(name: str, label: str | None = None) -> Json:
    """A model of which nothing is known but its name: who ran it, and whether its weights are open, nobody said."""
    nobody = {"deployment_type": "unknown", "model_availability": "unknown"}
    return {"name": label or name, "id": name, "additional_details": nobody}


def _name(archetype: str) -> str:
    return "mask" if archetype == ALL else f"mask.{archetype}"


def _result_id(archetype: str, rate: str) -> str:
    return f"{_name(archetype)}/{rate}"


def _identity(shown: Shown) -> str:
    summary = shown.summary
    parts = (summary.protocol, summary.rules, summary.verdicts, summary.scenarios.measured_hash)
    return "\n".join((evaluation_id(shown), shown.created, *parts))


def _without_outcome(shown: Shown) -> int:
    return sum(all(outcome in _NO_OUTCOME for outcome, _ in each.statements) for each in shown.scenarios)


def _portable(text: str) -> str:
    return _NOT_PORTABLE.sub("-", text).strip("-. ") or "unnamed"


def _json(content: Json, *, indent: bool = False) -> bytes:
    """The content as JSON that has no number without an end; orjson writes such a number as null."""
    return escaped(orjson.dumps(content, option=orjson.OPT_INDENT_2 if indent else 0).decode()).encode()
