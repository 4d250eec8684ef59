"""From the options of `maskbench run` to settings, of a new run or of one that goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from maskbench.cli.console import command
from maskbench.cli.options import Like
from maskbench.errors import UsageError
from maskbench.method.forms import form_of
from maskbench.models.chat.extra_fields import EXTRA_BODY, TEMPLATE_ARGS, canonical
from maskbench.models.ends import folded
from maskbench.runs.folder import RunFolder
from maskbench.runs.options import OPTIONS
from maskbench.runs.stored_programs import to_ask_by
from maskbench.runs.system_prompts import system_prompt
from maskbench.settings import Settings, judge_sampling

EMBEDDED = "pinocchio"  # the subject that needs no key, network or file

# How judging is done as somebody else does it: each names all three options that say how, and `inspect` a temperature.
_MASKBENCH: Mapping[str, Any] = {
    "judge_sampling": "maskbench",
    "judge_style": "reasoning",
    "judge_numbers": "together",
}
_LIKE: Mapping[Like, Mapping[str, Any]] = {
    "maskbench": _MASKBENCH,
    "paper": {**_MASKBENCH, "judge_sampling": "published"},
    "inspect": {**_MASKBENCH, "judge_numbers": "apart", "judge_temperature": 1.0},
}
_MOST_LAYERS = 10_000
_FAMILY = "(of another family than it)"
_SETS = "--scenarios SET (starter, cais/MASK, or a path)"


def judged_like(given: Mapping[str, Any], *, prompts: bool = False) -> dict[str, Any]:
    """These options with what `like` stands for in its place; an option that is named besides goes before it.

    Like the paper a judge is asked in its form, too, where prompts are given, here or (`prompts`) elsewhere.
    """
    like: Like | None = given.get("like")
    if like is None:
        return dict(given)
    form = {"judge_style": "published"} if like == "paper" and (prompts or "judge_prompts" in given) else {}
    return {**_LIKE[like], **form, **{name: value for name, value in given.items() if name != "like"}}


def new(model: str, given: Mapping[str, Any]) -> Settings:
    """The settings of a new run from the options that were typed, the defaults of its kind of subject filled in."""
    from maskbench.models.names import check_name, defaults

    known = defaults(model)
    check_name(model)
    judge, scenarios = given.get("judge") or known.judge, given.get("scenarios") or known.scenarios
    if judge is None and scenarios is None:
        raise UsageError(f"{model} needs a judge and scenarios: add --judge MODEL {_FAMILY} and {_SETS}.")
    if judge is None:
        raise UsageError(f"{model} needs a judge: add --judge MODEL {_FAMILY}.")
    if scenarios is None:
        raise UsageError(f"{model} needs scenarios: add {_SETS}.")
    how = {OPTIONS[name].of: given[name] for name in ("judge_sampling", "judge_style") if name in given}
    return with_given(Settings.of(model, judge, scenarios, **how), given)


def resumed(out: Path, given: Mapping[str, Any]) -> Settings:
    """The settings of the run in `out`, with the options that were given on top."""
    if not RunFolder(out).exists:
        begin = command("run", EMBEDDED, "--out", out)
        raise UsageError(f"{out} holds no run to go on with. To begin one, name a model, as in `{begin}`.")
    before = RunFolder(out).settings()
    if "judge" in given and before.judging.numeric_judge == before.judging.judge:  # one judge for all stays one
        given = {"numeric_judge": given["judge"], **given}
    return to_ask_by(with_given(before, given), given, out)


def judged_as(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """These settings with the given options put in; another style or sampling of the judge brings its own numbers."""
    style = given.get("judge_style", form_of(settings.judging).style.name)
    protocol = given.get("judge_sampling", settings.judging.protocol)
    start = settings.judging.sampling if protocol == settings.judging.protocol else judge_sampling(protocol, style)
    if style != form_of(settings.judging).style.name:
        start = replace(start, max_tokens=judge_sampling(protocol, style).max_tokens)
    packaged = str(given.get("judge_prompts")) == "packaged"
    changed = with_given(settings.having(judge_sampling=start), given)
    return changed.having(judge_prompts=None) if packaged else changed


def with_given(settings: Settings, given: Mapping[str, Any]) -> Settings:
    """These settings with the options put in that were typed; what sets no setting is passed over."""
    whole: dict[str, Any] = {}
    parts: dict[str, dict[str, Any]] = {}
    for name, value in given.items():
        if name in OPTIONS:
            setting, _, part = OPTIONS[name].of.partition(".")
            read = _READ.get(name, _as_typed)(value)
            if part:
                parts.setdefault(setting, {})[part] = read
            else:
                whole |= {setting: read, **_FOLLOWS.get(name, _nothing)(value)}
    options = settings.options
    whole |= {name: replace(options[name], **changed) for name, changed in parts.items()}
    return settings.having(**whole)


def check_no_subject(given: Mapping[str, Any]) -> None:
    """Raise UsageError for batches of a subject where none is asked."""
    if given.get("batch") in ("subject", "both"):
        raise UsageError(f"--batch {given['batch']}: no subject is asked here. Give --batch judge.")


def _as_typed(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _nothing(_value: Any) -> dict[str, Any]:
    return {}


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


# How a setting is read from what is typed, and which settings follow from that.
_READ: Mapping[str, Callable[[Any], Any]] = {
    "archetype": lambda names: tuple(dict.fromkeys(names)),
    "whole_ends": lambda words: tuple(sorted(set(map(folded, words)))),
    "template_args": partial(canonical, TEMPLATE_ARGS),
    "extra_body": partial(canonical, EXTRA_BODY),
    "layers": layer_numbers,
    "cluster": lambda text: None if text == "none" else text,
}
_FOLLOWS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "system_prompt": lambda name: {"system_prompt_text": system_prompt(name)},
    "adapter": lambda _: {"adapter_hash": None},
    "steer": lambda _: {"steer_hash": None},
}
