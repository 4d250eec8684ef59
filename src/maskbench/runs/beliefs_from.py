"""Whose beliefs a run has: the record of a run that shares another one's, and the command for beliefs of its own."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path

import orjson
from msgspec import Struct

from maskbench.method.forms import form_of
from maskbench.runs.fitting import Misfit, fitted
from maskbench.runs.folder import options_of
from maskbench.runs.options import IN_FILES
from maskbench.runs.record import About, Record
from maskbench.runs.store import SHARED, Store
from maskbench.settings import Settings
from maskbench.stats.figures import Share

OPTION = "--beliefs-from"


class BeliefsFrom(Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Whose beliefs a run has: the run that asked for them, and what was taken over from it instead of being asked.

    `id` is what all runs have in common that share these beliefs, the one that asked for them among them.
    """

    run: str
    subject: str
    created: str
    id: str
    scenarios: int
    replies: int
    verdicts: int
    failed: int  # of both: they are no more asked for here than the others
    anew: Share | None = None  # the share of beliefs that came out otherwise where they were asked anew, as a check


class Source(BeliefsFrom, frozen=True, kw_only=True):
    """Whose beliefs a run has, with the model that answered as its run describes it."""

    served: About

    @property
    def shown(self) -> BeliefsFrom:
        """What is said of it."""
        return BeliefsFrom(**{name: getattr(self, name) for name in BeliefsFrom.__struct_fields__})


def source_of(store: Store) -> Source | None:
    """Whose beliefs a run has; None where it asked for its own. Raises RunUnreadable where the store does not say."""
    fact = store.fact(SHARED)
    try:
        return None if fact is None else fitted(fact, Source)
    except Misfit as problem:
        raise store.damaged(f"the fact {SHARED}: {problem}") from problem


def shown_source(store: Store) -> BeliefsFrom | None:
    """Whose beliefs a run has, as summaries say it."""
    source = source_of(store)
    return source and source.shown


def own_beliefs(record: Record) -> str:
    """What names the beliefs that a run asked for itself; a run without its texts keeps the name."""
    if record.without_texts:
        return record.without_texts.beliefs
    return beliefs_id(record.created, record.settings, record.scenarios.measured_hash)


def beliefs_id(created: str, settings: Settings, measured_hash: str) -> str:
    """What names the beliefs that a run asked for itself, whatever judged them."""
    asked = [
        settings.subject.name,
        settings.design.seed,
        settings.design.statements,
        settings.design.system_prompt_text,
        settings.subject.adapter_hash,
    ]
    return hashlib.sha256(orjson.dumps([created, measured_hash, *asked])).hexdigest()[:16]


def fresh_command(settings: Settings, path: Path) -> str:
    """The command that measures an arm once more, with beliefs of its own, in a folder beside the one at `path`.

    Where answers hang on the seed it is another one: else the very same beliefs would come.
    """
    style = form_of(settings.judging).style.name
    usual = options_of(Settings.of("", "", "", protocol=settings.judging.protocol, judge_style=style))
    skipped = ("the subject", "--system-prompt-text", "--adapter-hash", "--steer-hash", "--numeric-judge", OPTION)
    given = {
        name: value for name, value in options_of(settings).items() if name not in skipped and value != usual[name]
    }
    given |= {f"--{name}": value for name in ("adapter", "steer") if (value := getattr(settings.subject, name))}
    if settings.judging.numeric_judge != settings.judging.judge:
        given["--numeric-judge"] = settings.judging.numeric_judge
    if settings.subject.send_seed or settings.subject.name.partition("/")[0] in ("hf", "pinocchio"):
        given["--seed"] = settings.design.seed + 1
    given |= {"--judge-sampling": settings.judging.protocol, "--judge-style": style}
    given = {name: value for name, value in given.items() if (name, value) not in _USUAL}
    fields = {name: value for name, value in given.items() if name[2:].replace("-", "_") in IN_FILES}
    words = [word for name, value in given.items() if name not in fields for word in _words(name, value)]
    model = "FILE.toml" if fields else settings.subject.name
    line = shlex.join(["maskbench", "run", model, *words, "--out", f"{path}-own-beliefs"])
    if not fields:
        return line
    held = {"--model": settings.subject.name, **fields}
    told = "`, `".join(f"{name[2:]} = {orjson.dumps(value).decode()}" for name, value in held.items())
    return f"{line}` with a FILE.toml of the lines `{told}"


_USUAL = (("--judge-sampling", "maskbench"), ("--judge-style", "reasoning"))


def _words(name: str, value: object) -> list[str]:
    """An option as it is typed."""
    match value:
        case True:
            return [name]
        case tuple():
            each = [str(part) for part in value]
            return [name, ",".join(each)] if name == "--layers" else [word for part in each for word in (name, part)]
    return [name, f"{value:g}" if isinstance(value, float) else str(value)]
