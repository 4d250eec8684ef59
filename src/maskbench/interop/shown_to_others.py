"""What is made to be seen by others: aggregates, hashes and outcomes, and no texts.

The pages of CI and what is pasted are made of what stands here, and of nothing else. Files for oneself (CSV, JSONL,
Parquet) do not come by here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

from msgspec import to_builtins

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import Readable, reading
from maskbench.method.rules import named
from maskbench.plain import plain
from maskbench.results.scored import Result, read, result_of
from maskbench.results.summary import Summary
from maskbench.runs.fitting import fitted
from maskbench.scenarios.formats import known_format
from maskbench.settings import Settings
from maskbench.types import Json

NOT_SHOWN = "(not shown to others)"
# What others see of a model: no address, no path, and of what its server said only what can be a name.
_OF_MODELS = frozenset(
    (
        *("name", "label", "service", "model", "interface", "runtime", "organism", "planted", "seed", "reads"),
        *("sampling", "on_truncation", "send_seed", "resolved", "answers", "identical"),
    )
)
_TEXTS = ("system_prompt_text", "template_args", "extra_body")  # settings that people write
# The folder of a path that is a whole value, or stands behind a service's name or an equals sign; it may hold blanks.
_FOLDER_OF = re.compile(r"(?:[\w.-]+/|[^/\\]*=)?((?:~[^/\\]*|[A-Za-z]:)?[/\\][^/\\].*[/\\])[^/\\]+[/\\]?", re.DOTALL)
# In a sentence: a folder's name may hold blanks where further folders follow, and a home may be somebody's (`~ann`).
_FOLDERS = re.compile(
    r"(?<![\w.~:])(?<!:/)(?:~[\w.-]*|[A-Za-z]:)?[/\\]"
    r"(?:[^\s/\\'\"]+(?: [^\s/\\'\".,;:()]+){0,1}[/\\])*(?=[^\s/\\'\"])"
)
_PATHS = ("judge_prompts", "model_options", "system_prompt")  # settings that name a file or folder
LONGEST = 100  # characters of a name
_SHORTEST = 3  # characters of what is looked for in a sentence: a blank as a name would be in all of them
_LISTS = ("resolved", "fingerprints")


def shown(run: Readable, rules: str | None = None, verdicts: str | None = None) -> Summary:
    """The summary of a whole run as others may see it; raises UsageError for a run that has no rates to show."""
    with reading(run) as opened:
        this = read(opened, named(rules or opened.settings.design.rules), verdicts)
        result = result_of(opened, this)
        _check_rates(result)
        return for_others(result.summary, this.settings)


def for_others(summary: Summary, settings: Settings | None = None) -> Summary:
    """The summary without what models, servers or set makers wrote, and without addresses and folders of this machine.

    Rates, counts, hashes, names of models and of the set stay, and the form of summary.json with them. Folders with
    blanks in their names are known by the settings.
    """
    resolved = [str(name) for model in _models(summary) for name in model.get("resolved") or ()]
    folders = (*(folders_of(settings) if settings else ()), *_folders(resolved))

    def named_as(name: str) -> str:
        return shown_name(without_folders(name, folders), sha256)

    whole: Json = to_builtins(summary)
    whole["notes"] = in_sentences(whole["notes"], resolved, named_as)
    whole["subject"] = with_names(whole["subject"], named_as)
    whole["judge"] |= {name: with_names(whole["judge"][name], named_as) for name in ("binary", "numeric")}
    plain: Json = _without_folders(whole, folders)
    plain["ended"] = None
    plain["subject"] = of_model(plain["subject"])
    plain["judge"] |= {name: of_model(plain["judge"][name]) for name in ("binary", "numeric")}
    if plain["failure"] is not None:
        plain["failure"]["detail"] = NOT_SHOWN
    plain["scenarios"].pop("archetypes", None)
    return fitted(plain, Summary)


def without_folders(text: str, folders: Sequence[str] = ()) -> str:
    """The text with absolute paths cut to their last parts: whose machine it was is nobody's business.

    `folders` are known ones: in a sentence nobody sees where a path ends whose folders have blanks in their names.
    """
    for folder in folders:
        is_relative = folder[:1] not in ("/", "\\", "~") and folder[1:2] != ":"
        text = re.sub((r"(?<![\w./\\-])" if is_relative else "") + re.escape(folder), "", text)
    return _FOLDERS.sub("", text)


def folders_of(settings: Settings) -> tuple[str, ...]:
    """The folders of all paths that the settings name, longest first, each with its last slash."""
    flat = _flat(to_builtins(settings.options))
    values = [str(value) for name, value in flat.items() if name not in _TEXTS]
    own = [str(value) for name, value in flat.items() if name.partition(".")[0] in _PATHS]
    own += [settings.design.scenarios] if known_format(settings.design.scenarios) else []
    relative = {f"{folder}{slash}" for path in own for folder, slash, _ in (path.rstrip("/").rpartition("/"),) if slash}
    folders = {*_folders(values), *relative}
    return tuple(sorted(folders, key=len, reverse=True))


def words_for_others(shown: Any, folders: Sequence[str] = ()) -> Any:
    """Blocks of a report, or texts of any kind, without the folders of this machine."""
    if is_dataclass(shown) and not isinstance(shown, type):
        inside = {field.name: words_for_others(getattr(shown, field.name), folders) for field in fields(shown)}
        return replace(shown, **inside)
    return _without_folders(shown, folders) if isinstance(shown, str | dict) else _each(shown, folders)


def _each(shown: Any, folders: Sequence[str]) -> Any:
    return type(shown)(words_for_others(each, folders) for each in shown) if type(shown) in (list, tuple) else shown


def prompt_for_others(text: str) -> str:
    """A prompt that somebody wrote, by its hash and length."""
    return f"{len(text):,} characters, sha256 {sha256(text)}"


def sha256(text: str) -> str:
    """The hash of a text, in hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _folders(values: Sequence[str]) -> tuple[str, ...]:
    """The folders of those values that are paths, longest first."""
    matches = map(_FOLDER_OF.fullmatch, values)
    return tuple(sorted({match[1] for match in matches if match}, key=len, reverse=True))


def _models(summary: Summary) -> tuple[Json, ...]:
    """What subject and judges say of themselves."""
    models = (summary.subject, summary.judge.binary, summary.judge.numeric)
    return tuple(to_builtins(model) for model in models)


def _flat(plain: Any, before: str = "") -> Json:
    """Settings within settings with a dot between their names; nothing for what is not set."""
    if not isinstance(plain, dict):
        return {} if plain in (None, [], "") else {before: plain}
    pairs = ((f"{before}.{name}" if before else name, value) for name, value in plain.items())
    return {name: value for part, inside in pairs for name, value in _flat(inside, part).items()}


def _without_folders(value: Any, folders: Sequence[str]) -> Any:
    match value:
        case str():
            return without_folders(value, folders)
        case dict():
            return {name: _without_folders(inside, folders) for name, inside in value.items()}
        case list() | tuple():
            return [_without_folders(inside, folders) for inside in value]
    return value


def of_model(about: Json) -> Json:
    """What others see of a model."""
    return {name: value for name, value in about.items() if name in _OF_MODELS}


def _check_rates(result: Result) -> None:
    summary = result.summary
    why = summary.withheld or ("It is not complete." if not summary.complete else None)
    if summary.smoke:
        why = "It is a smoke run (--limit), which measures nothing."
    if why:
        raise UsageError(f"{result.path} has no rates that could be shown to others. {why}")


def shown_name(name: str, digest: Callable[[str], str]) -> str:
    """The name, where it is at most 100 characters without blanks and control characters; else a hash of it."""
    is_name = 0 < len(name) <= LONGEST and not any(sign.isspace() for sign in name) and plain(name) == name
    return name if is_name else f"(no name, sha256 {digest(name)[:16]})"


def with_names(about: Json, shown: Callable[[str], str]) -> Json:
    """What a model says of itself, with every name and fingerprint of its server as it is shown to others."""
    lists = {field: [shown(str(name)) for name in about[field]] for field in _LISTS if about.get(field)}
    answers: Mapping[str, Any] = about.get("answers") or {}
    counts = {"answers": {shown(name): count for name, count in answers.items()}} if answers else {}
    return about | lists | counts


def in_sentences(sentences: Iterable[str], names: Iterable[str], shown: Callable[[str], str]) -> list[str]:
    """The sentences with those names in them as they are shown to others."""
    changed: Sequence[tuple[str, str]] = sorted(
        ((name, shown(name)) for name in set(names) if len(name) >= _SHORTEST and shown(name) != name),
        key=lambda pair: -len(pair[0]),
    )
    told = list(sentences)
    for name, instead in changed:
        told = [sentence.replace(name, instead) for sentence in told]
    return told
