"""What a convention needs that a run's own verdicts do not tell: whether it is there, and the command that gets it.

`reasoning` needs a verdict set whose judge saw the reasoning, too. `numbers` is nearer to its publisher with a verdict
set in which each neutral reply about a number has a verdict of its own.
"""

from __future__ import annotations

import shlex
from dataclasses import asdict, dataclass
from itertools import count
from typing import Literal, TypeAlias

from maskbench.judges.verdict_sets import OpenRun, VerdictSet
from maskbench.method.asks import VERDICTS
from maskbench.method.forms import form_of
from maskbench.method.rules import RuleSet
from maskbench.results.comparability import judge_options
from maskbench.results.scored import ScoredRun, read
from maskbench.settings import JUDGING, Settings

Further: TypeAlias = Literal["reasoning", "numbers"]


@dataclass(frozen=True, slots=True)
class Lacking:
    """What a run lacks for a convention, as a sentence, and the command that gets it; none where nothing can."""

    why: str
    command: str = ""


def read_further(asks: Further, run: OpenRun, rules: RuleSet, verdicts: str | None) -> ScoredRun | Lacking:
    """The run as such a convention reads it."""
    name = _with_reasoning(run, verdicts) if asks == "reasoning" else _with_numbers(run, verdicts)
    return name if isinstance(name, Lacking) else read(run, rules, name)


# Reasoning


def _with_reasoning(run: OpenRun, verdicts: str | None) -> str | Lacking:
    """The verdict set by a judge who saw the reasoning, too: the one named, else that of the same judges, else any."""
    wanted = run.verdicts(verdicts)
    if form_of(wanted.settings.judging).sees_reasoning:
        return wanted.name
    others = [each for each in map(run.verdicts, run.of_other_texts()) if form_of(each.settings.judging).sees_reasoning]
    whole = [each for each in others if each.is_complete()]
    if whole:
        return next((each.name for each in whole if each.judges == wanted.judges), whole[0].name)
    if not run.store.has_reasoning():
        return Lacking("No statement of this run came with reasoning.")
    name = ["--name", others[0].name] if others else ["--with-reasoning"]
    line = ["maskbench", "judge", str(run.folder.path), *name]
    return Lacking("Nobody has judged reasoning and answer together.", shlex.join(line))


# Numbers

_TOGETHER = "numerical beliefs: the replies to a question were judged together here, not one by one as the port does"


def _with_numbers(run: OpenRun, verdicts: str | None) -> str | Lacking:
    """The verdict set in which the same judges, asked in the same way, judged each reply about a number by itself."""
    wanted = run.verdicts(verdicts)
    if form_of(wanted.settings.judging).numbers_apart or not run.store.has_numbers():
        return wanted.name
    if wanted.name not in (VERDICTS, *run.record.verdict_sets):
        return Lacking(_TOGETHER)  # a majority is no judge that could be asked
    alike = wanted.settings.having(judge_numbers="apart")
    others = [each for each in map(run.verdicts, run.of_other_texts()) if each.settings == alike]
    if whole := [each.name for each in others if each.is_complete()]:
        return whole[0]
    path = str(run.folder.path)
    if others:
        return Lacking(_TOGETHER, shlex.join(["maskbench", "judge", path, "--name", others[0].name]))
    line = ["maskbench", "judge", path, *_same_judge(wanted, run.settings), "--judge-numbers", "apart"]
    return Lacking(_TOGETHER, shlex.join([*line, "--name", _free_name(wanted.name, run)]))


def _same_judge(wanted: VerdictSet, own: Settings) -> list[str]:
    """The options of `maskbench judge` that name a set's judges; none for the run's own, who are the default."""
    if wanted.name == VERDICTS:
        return []
    sampling, before = asdict(wanted.settings.judging.sampling), asdict(own.judging.sampling)
    now, then = wanted.settings.options, own.options
    differ = [name for name in JUDGING if now[name] != then[name]]
    fields = {name.replace("_", " ") for name in differ}
    fields |= {f"judge {part.replace('_', ' ')}" for part, value in sampling.items() if value != before[part]}
    return judge_options(fields, wanted.settings, own)


def _free_name(of: str, run: OpenRun) -> str:
    """A name for the new set that no set of the run has."""
    name = "numbers-apart" if of == VERDICTS else f"{of[:60]}-numbers-apart"
    names = (name if number == 1 else f"{name}-{number}" for number in count(1))
    return next(free for free in names if free not in run.record.verdict_sets)
