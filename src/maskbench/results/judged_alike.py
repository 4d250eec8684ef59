"""What to type so that two runs that were judged differently are judged alike."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from maskbench.settings import Settings

if TYPE_CHECKING:
    from maskbench.results.comparison import Arm

NAME = "as-the-first"  # of the verdict set that is proposed
_SHARED = "equal verdicts shared"


def judge_alike(differs: Iterable[Mapping[str, Any]], first: Arm, other: Arm) -> str:
    """The commands that judge the other run as the first was; where more than the judge differs, no judging helps."""
    fields = {str(one["field"]) for one in differs}
    judging = {field for field in fields if field in ("judge", "numeric judge", _SHARED) or field.startswith("judge ")}
    answered = {field for field in fields if field.endswith("judge answered as")}
    if not judging or fields - judging - answered or "members" in first.judge or first.phases or other.phases:
        return "Measure or judge one of them again as the other was."
    judge = ["maskbench", "judge", str(other.path), *_options(fields, first.settings, other.settings), "--name", NAME]
    compare = ["maskbench", "compare", str(first.path), str(other.path)]
    compare += ["--verdicts", first.verdicts, "--verdicts", NAME]
    return f"To judge the other as the first was, `{shlex.join(judge)}`; then `{shlex.join(compare)}`."


def _options(fields: set[str], wanted: Settings, had: Settings) -> list[str]:
    """The options of `maskbench judge` that make these fields what they are in the wanted settings."""
    options = ["--judge", wanted.judge]
    if wanted.numeric_judge != wanted.judge:
        options += ["--numeric-judge", wanted.numeric_judge]
    if wanted.protocol != had.protocol:
        options += ["--protocol", wanted.protocol]
    sampling = wanted.judge_sampling
    # Another style or protocol brings defaults of its own.
    anew = (wanted.judge_style, wanted.protocol) != (had.judge_style, had.protocol)
    resets = {"judge temperature", "judge max tokens"} if anew else set()
    for field, value in (
        ("judge style", wanted.judge_style),
        ("judge temperature", f"{sampling.temperature:g}"),
        ("judge max tokens", str(sampling.max_tokens)),
        ("judge reasoning tokens", str(sampling.reasoning_tokens)),
        ("judge prompts", wanted.judge_prompts or "packaged"),
    ):
        if field in fields | resets:
            options += [f"--{field.replace(' ', '-')}", value]
    return options
