"""A run as a data set folder of the Hugging Face hub: a card that keeps canary and gate, and Parquet beside it.

Source: the hub's pages on data set cards, on gated data sets, and on data files by configuration.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import orjson

from maskbench.errors import UsageError
from maskbench.interop.shown_to_others import ALL, ScenarioShown, Shown, rates_of, sha256
from maskbench.plain import literal, plain
from maskbench.runs.source import UNSAID, knows_sampling
from maskbench.types import Json, Range, Sampling

Words: TypeAlias = Mapping[str, str]  # what each rate is called
Column: TypeAlias = Literal["string", "float64", "int64"]
Line: TypeAlias = tuple[str | float | int | None, ...]

OURS = ("starter", "sandbox", "said_and_did")  # sets of ours, whose licence lets everybody pass them on
LICENCE, UNKNOWN = "cc-by-4.0", "unknown"
PROMISE = "I will not put these rows, or what is made of them, where training data is gathered"
SPLIT = "test"
_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


@dataclass(frozen=True, slots=True)
class Part:
    """One configuration of the data set: its columns, its rows, and what it holds in a sentence."""

    name: str
    columns: Mapping[str, Column]
    rows: Sequence[Line]
    text: str

    @property
    def file(self) -> str:
        """Where its rows stand, as the hub names the only shard of a split."""
        return f"{self.name}/{SPLIT}-00000-of-00001.parquet"


def write(shown: Shown, folder: Path, words: Words) -> None:
    """Write the data set into a folder that is new or empty; raises UsageError for one with anything in it."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there already. Give --out a new folder: the card lists all that is in it.")
    parts = _parts(shown)
    for part in parts:
        (folder / part.name).mkdir(parents=True)
        _write_parquet(part, folder / part.file)
    (folder / "README.md").write_text(card(shown, parts, words), encoding="utf-8")


def card(shown: Shown, parts: Sequence[Part], words: Words) -> str:
    """The data set's card: YAML for the hub, and below it what a stranger has to know."""
    import yaml  # type: ignore[import-untyped] # slow to load

    named = _named(parts)
    front = yaml.safe_dump(_front(shown, named), sort_keys=False, allow_unicode=True)
    return f"---\n{front}---\n\n{_body(shown, named, words)}"


def _named(parts: Sequence[Part]) -> dict[str, Part]:
    """The parts by the names of their configurations, which end in a hash of all rows.

    The `datasets` library keeps what it has loaded by the names of folder and configuration alone: another run in a
    folder of the same name would get these rows.
    """
    digest = sha256(json.dumps([[part.name, *part.columns, *part.rows] for part in parts]))[:12]
    return {f"{part.name}-{digest}": part for part in parts}


def _front(shown: Shown, named: Mapping[str, Part]) -> Json:
    """What the hub reads of a card."""
    is_ours = shown.summary.scenarios.public in OURS
    size = next((name for most, name in _SIZES if len(shown.scenarios) < most), "n>1M")
    gate = {
        "extra_gated_prompt": "These are results on benchmark scenarios. Do not train models on them.",
        "extra_gated_fields": {PROMISE: "checkbox"},
    }
    return {
        "pretty_name": f"MASK outcomes of {_name(shown)}",
        "license": LICENCE if is_ours else UNKNOWN,
        "tags": ["maskbench", "mask", "honesty", "evaluation"],
        "size_categories": [size],
        **({} if is_ours else gate),
        "configs": [
            {
                "config_name": name,
                "data_files": [{"split": SPLIT, "path": part.file}],
                **({"default": True} if name == next(iter(named)) else {}),
            }
            for name, part in named.items()
        ],
        "dataset_info": [
            {
                "config_name": name,
                "features": [{"name": name, "dtype": kind} for name, kind in part.columns.items()],
            }
            for name, part in named.items()
        ],
    }


def _body(shown: Shown, named: Mapping[str, Part], words: Words) -> str:
    summary = shown.summary
    held = "aggregates, hashes and outcomes, and texts" if shown.with_text else "aggregates, hashes and outcomes only"
    lines = [
        f"# MASK outcomes of {literal(_name(shown))}",
        "",
        "Whether this model says under pressure what it says when it is asked neutrally (MASK, arXiv:2503.03750), "
        f"measured by maskbench {summary.version}. This folder holds {held}.",
        "",
        *(["**Not a real model:** its makers chose how often it lies.", ""] if shown.is_simulated else []),
        "| rate | value | 95 % | n |",
        "|---|--:|--:|--:|",
        *(
            f"| {words[name]} | {100 * (rate.value or 0.0):.1f} % | {_interval(rate.low, rate.high)} | {rate.n} |"
            for archetype, name, rate in rates_of(summary)
            if archetype == ALL
        ),
        "",
        "Intervals are over propositions: sampling error only; the judge's error is not in them.",
        "",
        "| measured | |",
        "|---|---|",
        *(f"| {name} | {literal(value)} |" for name, value in _identity(shown)),
        "",
        *(f"- {literal(note)}" for note in summary.notes),
        *([""] if summary.notes else []),
        *(f"- `{name}`: {part.text}" for name, part in named.items()),
        "",
        f'`datasets.load_dataset(FOLDER, "{next(iter(named))}", split="{SPLIT}")` reads it.',
        "",
        *_marks(shown),
    ]
    return "\n".join(lines)


def _identity(shown: Shown) -> list[tuple[str, str]]:
    summary = shown.summary
    return [
        ("model", _name(shown)),
        (
            "scenarios",
            f"{summary.scenarios.taken}: {summary.scenarios.done:,}, sha256 {summary.scenarios.measured_hash}",
        ),
        ("judge", ", ".join(shown.judges)),
        ("judge's prompts", f"{summary.judge.prompts.name}, sha256 {summary.judge.prompts.hash}"),
        ("protocol id", summary.protocol),
        ("rules", summary.rules),
        *_sampling(shown),
        ("imported on" if shown.imported else "measured on", shown.created[:10]),
        *([("source", shown.imported)] if shown.imported else []),
    ]


def _sampling(shown: Shown) -> Iterator[tuple[str, str]]:
    """How often, how freely and at which length subject and judge answered; nothing of it where nobody knows."""
    settings = shown.settings
    yield "statements a scenario", str(settings.design.statements)
    yield "neutral replies to the direct belief question", str(settings.design.beliefs)
    if knows_sampling(settings):
        yield "subject's sampling", _asked(settings.subject.sampling)
    judge = shown.summary.judge
    is_known = judge.prompts.name != UNSAID and not judge.members  # of several judges each has its own
    if is_known and settings.judging.reads_prompts:
        yield "judge's sampling", _asked(settings.judging.sampling)


def _asked(sampling: Sampling) -> str:
    more = f", {sampling.reasoning_tokens:,} more where it reasons" if sampling.reasoning_tokens else ""
    return f"temperature {sampling.temperature:g}, at most {sampling.max_tokens:,} tokens{more}"


def _marks(shown: Shown) -> list[str]:
    """The canaries, letter by letter, so that who looks for them finds them, and what is left to do for a gate."""
    lines = ["## Keep this out of training data", ""]
    if shown.canaries:
        lines += ["The scenarios carry these marks of benchmark data, which stay with whatever is made of them:", ""]
        fence = "`" * max(3, 1 + max(len(run) for canary in shown.canaries for run in re.findall("`*", canary)))
        lines += [f"{fence}text", *(plain(canary) for canary in shown.canaries), fence, ""]
    lines.append(
        "The scenarios are free to pass on (CC BY 4.0)."
        if shown.summary.scenarios.public in OURS
        else "Switch on gated access in the settings of the repository; the questions of this card are asked then. "
        "Choose a licence in place of `unknown`, too."
    )
    return [*lines, ""]


def _name(shown: Shown) -> str:
    return str(shown.summary.subject.get("label") or shown.summary.subject.name)


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}"


def _parts(shown: Shown) -> list[Part]:
    """The configurations: outcomes first, since a reader who names none gets the first; texts where they are shown."""
    parts = [
        Part(
            "scenarios",
            {
                **dict.fromkeys(("scenario_sha256", "archetype", "type"), "string"),
                "weight": "float64",
                **dict.fromkeys(("outcome", "no_belief_reason", "accuracy"), "string"),
            },
            [
                (
                    each.sha256,
                    each.archetype,
                    each.kind,
                    each.weight,
                    each.outcome,
                    each.no_belief_reason,
                    each.accuracy,
                )
                for each in shown.scenarios
            ],
            "one row a scenario, known by the hash of what it says: its outcome over all statements.",
        ),
        Part(
            "statements",
            {"scenario_sha256": "string", "run": "int64", "outcome": "string", "reply": "int64"},
            [
                (each.sha256, run, *statement)
                for each in shown.scenarios
                for run, statement in enumerate(each.statements, start=1)
            ],
            "one row a statement under pressure: its outcome, and the number of its reply, which equal replies of a "
            "scenario share.",
        ),
        Part(
            "rates",
            {
                "archetype": "string",
                "rate": "string",
                **dict.fromkeys(("value", "low", "high"), "float64"),
                "n": "int64",
            },
            [(*names, rate.value, rate.low, rate.high, rate.n) for *names, rate in rates_of(shown.summary)],
            f"every rate with its 95 % interval, of the whole set (`{ALL}`) and of each archetype.",
        ),
    ]
    return [*parts, *_text_parts(shown.scenarios)] if shown.with_text else parts


def _text_parts(scenarios: Iterable[ScenarioShown]) -> list[Part]:
    with_text = [(each.sha256, *each.texts) for each in scenarios if each.texts]
    prompts: list[Line] = []
    for digest, scenario, _ in with_text:
        turn = (scenario.in_columns and scenario.first_turn) or (None, None)
        messages = None if scenario.in_columns else orjson.dumps(scenario.messages).decode()
        truth = scenario.truth.words if isinstance(scenario.truth, Range) else scenario.truth
        own = (scenario.task_id, scenario.proposition, truth, scenario.system_prompt, scenario.user_prompt)
        prompts.append((digest, *own, *turn, scenario.canary, messages))
    replies: list[Line] = [(digest, *reply) for digest, _, kept in with_text for reply in kept]
    texts = ["proposition", "truth", "system_prompt", "user_prompt", "first_user_prompt", "first_response", "canary"]
    if any(line[-1] for line in prompts):
        texts.append("messages")
    else:
        prompts = [line[:-1] for line in prompts]
    return [
        Part(
            "prompts",
            dict.fromkeys(("scenario_sha256", "task_id", *texts), "string"),
            prompts,
            "the scenarios in words, each with its canary.",
        ),
        Part(
            "replies",
            {"scenario_sha256": "string", "call": "string", "elicitation": "int64", "run": "int64", "text": "string"},
            replies,
            "what the model answered, in words, neutrally and under pressure.",
        ),
    ]


def _write_parquet(part: Part, path: Path) -> None:
    from arro3.core import Array, DataType, Field, RecordBatch, Schema, Table
    from arro3.io import write_parquet

    kinds = {"string": DataType.string(), "float64": DataType.float64(), "int64": DataType.int64()}
    fields = [Field(name, kinds[kind], nullable=True) for name, kind in part.columns.items()]
    columns = [Array([row[place] for row in part.rows], field) for place, field in enumerate(fields)]
    schema = Schema(fields)
    batch = RecordBatch.from_arrays(columns, schema=schema)
    write_parquet(Table.from_batches([batch], schema=schema), str(path), compression="zstd(3)")
