"""From the options of `maskbench run` to settings, of a new run or of one that goes on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from maskbench.asking.options import OPTIONS
from maskbench.asking.stored_programs import to_ask_by
from maskbench.cli.console import command
from maskbench.cli.options import Like
from maskbench.errors import UsageError
from maskbench.method.ends import folded
from maskbench.method.forms import form_of
from maskbench.models.brought import NONE
from maskbench.models.chat.extra_fields import EXTRA_BODY, TEMPLATE_ARGS, canonical
from maskbench.settings import Settings, judge_sampling
from maskbench.store.folder import RunFolder
from maskbench.store.system_prompts import system_prompt

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


def resumed(folder: RunFolder, given: Mapping[str, Any]) -> Settings:
    """The settings of the run in this folder, with the options that were given on top."""
    if not folder.exists:
        begin = command("run", EMBEDDED, "--out", folder.path)
        raise UsageError(f"{folder.path} holds no run to go on with. To begin one, name a model, as in `{begin}`.")
    before = folder.settings()
    if "judge" in given and before.judging.numeric_judge == before.judging.judge:  # one judge for all stays one
        given = {"numeric_judge": given["judge"], **given}
    return to_ask_by(with_given(before, given), named_values(given.get("model_options", {})), folder.path)


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
    if "model_options" in whole:  # one by one, and what they make of the model is looked at anew
        own = {**settings.subject.options, **whole["model_options"]}
        kept = {name: value for name, value in own.items() if value != NONE}
        whole |= {"model_options": kept, "marks": {}}
    whole |= {name: replace(options[name], **changed) for name, changed in parts.items()}
    return settings.having(**whole)


def _as_typed(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def _nothing(_value: Any) -> dict[str, Any]:
    return {}


def named_values(typed: Sequence[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Options of a model's own by name, as `-M NAME=VALUE` was typed, or as a file has them already."""
    if isinstance(typed, Mapping):
        return dict(typed)
    values: dict[str, Any] = {}
    for each in typed:
        name, sign, value = each.partition("=")
        if not sign or not name:
            raise UsageError(f"-M {each}: give a name and a value, as in -M adapter=DIR.")
        if name in values:
            raise UsageError(f"-M {name} stands there more than once. Give it once.")
        values[name] = value
    return values


def joined(told: Mapping[str, Any], typed: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a file with those that were typed in their place, a model's own one by one."""
    own = {**named_values(told.get("model_options", {})), **named_values(typed.get("model_options", {}))}
    return {**told, **typed, **({"model_options": own} if own else {})}


# How a setting is read from what is typed, and which settings follow from that.
_READ: Mapping[str, Callable[[Any], Any]] = {
    "archetype": lambda names: tuple(dict.fromkeys(names)),
    "whole_ends": lambda words: tuple(sorted(set(map(folded, words)))),
    "template_args": partial(canonical, TEMPLATE_ARGS),
    "extra_body": partial(canonical, EXTRA_BODY),
    "model_options": named_values,
}
_FOLLOWS: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "system_prompt": lambda name: {"system_prompt_text": system_prompt(name)},
}
