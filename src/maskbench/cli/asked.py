"""From the options of `maskbench run` to settings, of a new run or of one that goes on."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from maskbench.errors import UsageError
from maskbench.method.system_prompts import system_prompt
from maskbench.models.chat.extra_fields import EXTRA_BODY, TEMPLATE_ARGS, canonical
from maskbench.runs.folder import RunFolder
from maskbench.settings import MOST, SUBJECT_SAMPLING, Settings, judge_sampling
from maskbench.types import Sampling

EMBEDDED = "pinocchio"  # the subject that needs no key, network or file

_MOST_LAYERS = 10_000


def given_options(ctx: typer.Context) -> dict[str, Any]:
    """The options that stand on the command line; raises UsageError for numbers beyond all sense."""
    given = {name: value for name, value in ctx.params.items() if _is_given(ctx, name)}
    _check_sizes(given)
    return given


def _check_sizes(given: Mapping[str, Any]) -> None:
    for name, value in given.items():
        most = MOST.get(name, 10**9)
        if isinstance(value, int) and value > most:
            raise UsageError(f"--{name.replace('_', '-')} {value} is too large. Give {most:,} or less.")


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def new(model: str, options: Mapping[str, Any], given: Mapping[str, Any]) -> Settings:
    """The settings of a new run from the options, the defaults of its kind of subject filled in."""
    from maskbench.models.names import check_name, defaults

    known = defaults(model)
    check_name(model)
    judge = options["judge"] or known.judge
    scenarios = options["scenarios"] or known.scenarios
    if judge is None:
        raise UsageError(f"{model} needs a judge: add --judge MODEL, of another family than it.")
    if scenarios is None:
        raise UsageError(f"{model} needs scenarios: add --scenarios starter, cais/MASK, or a path.")
    start = Settings(
        subject=model,
        judge=judge,
        numeric_judge=options["numeric_judge"] or judge,
        scenarios=scenarios,
        sampling=SUBJECT_SAMPLING,
        judge_sampling=judge_sampling(options["protocol"], options["judge_style"]),
    )
    return _with(start, given)


def resumed(out: Path, given: Mapping[str, Any]) -> Settings:
    """The settings of the run in `out`, with the options that were given on top."""
    if not RunFolder(out).exists:
        begin = shlex.join(["maskbench", "run", EMBEDDED, "--out", str(out)])
        raise UsageError(f"{out} holds no run to go on with. To begin one, name a model, as in `{begin}`.")
    before = RunFolder(out).settings()
    if "judge" in given and before.numeric_judge == before.judge:  # one judge for all stays one
        given = {"numeric_judge": given["judge"], **given}
    return _with(before, given)


_PLAIN = (  # options that are settings under the same name
    *("judge", "numeric_judge", "scenarios", "sample", "limit", "statements", "beliefs", "on_truncation", "filtered"),
    *("seed", "send_seed", "protocol", "judge_style", "rules", "max_error_rate", "connections", "timeout", "retries"),
    *("placebo", "check_provided", "self_report", "traces"),
    *("prompt_on_beliefs", "strength", "dtype", "quantize", "device", "batch_tokens", "threads", "trust_remote_code"),
)


def sampled(sampling: Sampling, given: Mapping[str, Any], of: str = "") -> Sampling:
    """The sampling with the given options put in; `of` is `judge_` for the judge's."""
    parts = ("temperature", "max_tokens", "reasoning_tokens")
    return replace(sampling, **{part: given[f"{of}{part}"] for part in parts if f"{of}{part}" in given})


def _with(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """These settings with the given options put in."""
    made = replace(
        settings,
        sampling=sampled(settings.sampling, given),
        judge_sampling=sampled(settings.judge_sampling, given, "judge_"),
        **{name: given[name] for name in _PLAIN if name in given},
    )
    if "archetype" in given:
        made = replace(made, archetypes=tuple(dict.fromkeys(given["archetype"])))
    if "system_prompt" in given:
        text = system_prompt(given["system_prompt"])
        made = replace(made, system_prompt=given["system_prompt"], system_prompt_text=text)
    if "template_args" in given:
        made = replace(made, template_args=canonical(TEMPLATE_ARGS, given["template_args"]))
    if "extra_body" in given:
        made = replace(made, extra_body=canonical(EXTRA_BODY, given["extra_body"]))
    if "judge_prompts" in given:
        made = replace(made, judge_prompts=str(given["judge_prompts"]))
    if "adapter" in given:
        made = replace(made, adapter=str(given["adapter"]), adapter_hash=None)
    if "steer" in given:
        made = replace(made, steer=str(given["steer"]), steer_hash=None)
    if "layers" in given:
        made = replace(made, layers=layer_numbers(given["layers"]))
    return made


def layer_numbers(text: str) -> tuple[int, ...]:
    """The layers in a list such as 10,12-16, ascending; raises UsageError for any other text."""
    chosen: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or not (last if dash else "0").isdecimal() or int(last or first) < int(first):
            raise UsageError(f"--layers {text}: give numbers and ranges, as in 10,12-16. The first layer is 0.")
        if int(last or first) > _MOST_LAYERS:
            raise UsageError(f"--layers {text}: no model has so many layers.")
        chosen.update(range(int(first), int(last or first) + 1))
    return tuple(sorted(chosen))
