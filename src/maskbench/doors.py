"""The doors: all that a distribution of models in this process needs of maskbench, beside types, errors and Settings.

`maskbench.models` is the group of its entry points, each a function `(name, options) -> Model`, where the options are
a class derived from `Options`. What is not named here may change from one version to the next.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskbench.asking.progress import stderr
    from maskbench.cli.console import command, environment, print_json, say, stdout
    from maskbench.cli.options import flag, option
    from maskbench.install import install
    from maskbench.method.control_marks import before_mark, control_mark
    from maskbench.method.elicit import neutral, under_developer
    from maskbench.method.reasoning import Split, split_reasoning, tag_warning, unknown_tag
    from maskbench.method.tool_calls import declared, uses_tools
    from maskbench.models.brought import Options, Takes, unheard
    from maskbench.models.chat.extra_fields import fields
    from maskbench.models.chat.wire import NO_VARIABLES, fold, has_system
    from maskbench.models.pinocchio.network import is_organism, packaged
    from maskbench.plain import is_visible, literal, plain
    from maskbench.scenarios.hub import TOKENS, cache_of, is_offline, status_of, token_of
    from maskbench.stats.intervals import interval
    from maskbench.store.fitting import Misfit, Unknown, fitted
    from maskbench.store.machines import read_nodes
    from maskbench.store.system_prompts import system_prompt

__all__ = [
    "NO_VARIABLES",
    "TOKENS",
    "Misfit",
    "Options",
    "Split",
    "Takes",
    "Unknown",
    "before_mark",
    "cache_of",
    "command",
    "control_mark",
    "declared",
    "environment",
    "fields",
    "fitted",
    "flag",
    "fold",
    "has_system",
    "install",
    "interval",
    "is_offline",
    "is_organism",
    "is_visible",
    "literal",
    "neutral",
    "option",
    "packaged",
    "plain",
    "print_json",
    "read_nodes",
    "say",
    "split_reasoning",
    "status_of",
    "stderr",
    "stdout",
    "system_prompt",
    "tag_warning",
    "token_of",
    "under_developer",
    "unheard",
    "unknown_tag",
    "uses_tools",
]

_HOMES = {
    "models.brought": "Options Takes unheard",  # what a model is opened with, and what it takes for itself
    "method.reasoning": "Split split_reasoning tag_warning unknown_tag",  # thinking, apart from the answer
    "method.control_marks": "before_mark control_mark",  # of templates, in an answer
    "models.chat.wire": "NO_VARIABLES fold has_system",  # conversations, as templates take them
    "models.chat.extra_fields": "fields",  # of --template-args
    "method.tool_calls": "declared uses_tools",
    "models.pinocchio.network": "is_organism packaged",  # the small model that comes with maskbench
    "scenarios.hub": "TOKENS cache_of is_offline status_of token_of",  # the hub's tokens, and its cache
    "install": "install",  # the command that installs a package
    "store.fitting": "Misfit Unknown fitted",  # a file's JSON as a type, or which part of it does not fit
    "store.system_prompts": "system_prompt",  # the developers' prompts, which a LoRA can be trained on
    "method.elicit": "neutral under_developer",  # a scenario's messages, as a run asks them
    "stats.intervals": "interval",  # around the share of pairs that a direction tells apart
    "plain": "is_visible literal plain",  # a text made harmless
    "store.machines": "read_nodes",  # what each machine did, as the report reads it
    "asking.progress": "stderr",
    "cli.console": "command environment print_json say stdout",
    "cli.options": "flag option",
}


def __getattr__(name: str) -> Any:
    """Load a name when it is first asked for: a model needs no command line."""
    for home, names in _HOMES.items():
        if name in names.split():
            return getattr(import_module(f"maskbench.{home}"), name)
    raise AttributeError(f"module 'maskbench.doors' has no attribute {name!r}")
