"""Redaction: a run as others may see it, with aggregates, hashes and outcomes, and no texts.

The pages of CI and what is pasted are made of what stands here, and of nothing else. Files for oneself (CSV, JSONL,
Parquet) do not come by here.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from msgspec import Struct, structs, to_builtins

from maskbench.errors import UsageError
from maskbench.method.rules import named
from maskbench.plain import plain
from maskbench.results.scored import Result, read, result_of
from maskbench.results.summary import Summary
from maskbench.scenarios.formats import known_format
from maskbench.settings import Settings
from maskbench.store.fitting import fitted
from maskbench.store.verdict_sets import Readable, reading
from maskbench.types import Json

NOT_SHOWN = "(not shown to others)"
# What others see of a model: no address, no path, and of what its server said only what can be a name.
_OF_MODELS = frozenset(
    (
        *("name", "label", "service", "model", "interface", "runtime", "organism", "planted", "seed", "reads"),
        *("sampling", "on_truncation", "send_seed", "resolved", "answers", "identical"),
    )
)
# The settings that go out; texts, paths but for their last part, addresses and commands are not among them.
_OPTIONS = (
    *("subject", "judge", "scenarios", "numeric_judge", "run_label", "archetypes", "sample", "limit", "system_prompt"),
    *("prompt_on_beliefs", "marks", "statements", "beliefs"),
    *("sampling", "judge_sampling", "judge_prompts", "judge_style", "judge_numbers"),
    *("protocol", "on_truncation", "filtered", "on_substitution", "placebo"),
    *("send_seed", "tool_calls", "seed", "rules", "max_error_rate", "imported"),
    "whole_ends",
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
T = TypeVar("T")


def public_summary(run: Readable, rules: str | None = None, verdicts: str | None = None) -> Summary:
    """The summary of a whole run as others may see it; raises UsageError for a run that has no rates to show."""
    with reading(run) as opened:
        this = read(opened, named(rules or opened.settings.design.rules), verdicts)
        result = result_of(opened, this)
        _check_rates(result)
        return Redaction.of(this.settings).summary(result.summary)


@dataclass(frozen=True, slots=True)
class Redaction:
    """The redaction of whatever others see: texts that people or servers wrote, addresses and folders go out.

    `folders` are known ones: in a sentence nobody sees where a path ends whose folders have blanks in their names.
    """

    folders: tuple[str, ...] = ()

    @classmethod
    def of(cls, *settings: Settings) -> Redaction:
        """That of runs with these settings."""
        return cls(_longest_first(folder for each in settings for folder in folders_of(each)))

    def __call__(self, value: T) -> T:
        """The value, and every text in it, with paths cut to their last parts: whose machine it was stays at home."""
        redacted: Any = value
        match value:
            case str():
                redacted = self._text(value)
            case dict():
                redacted = {name: self(inside) for name, inside in value.items()}
            case list() | tuple() if type(value) in (list, tuple):
                redacted = type(value)(map(self, value))
            case Struct():
                redacted = structs.replace(value, **self(structs.asdict(value)))
            case _ if is_dataclass(value) and not isinstance(value, type):
                names = (each.name for each in fields(value) if each.init)
                redacted = replace(value, **{name: self(getattr(value, name)) for name in names})
        return cast(T, redacted)

    def _text(self, text: str) -> str:
        for folder in self.folders:
            is_relative = folder[:1] not in ("/", "\\", "~") and folder[1:2] != ":"
            text = re.sub((r"(?<![\w./\\-])" if is_relative else "") + re.escape(folder), "", text)
        return _FOLDERS.sub("", text)

    def name(self, name: str) -> str:
        """The name, where it is at most 100 characters without blanks and control characters; else a hash of it."""
        cut = self(name)
        is_name = 0 < len(cut) <= LONGEST and not any(sign.isspace() for sign in cut) and plain(cut) == cut
        return cut if is_name else f"(no name, sha256 {sha256(cut)[:16]})"

    def model(self, about: Mapping[str, Any]) -> Json:
        """What a model says of itself: of the fields that may be seen, and every name as it is shown."""
        seen = {name: value for name, value in about.items() if name in _OF_MODELS}
        if seen.get("resolved"):
            seen["resolved"] = [self.name(str(name)) for name in seen["resolved"]]
        if seen.get("answers"):
            seen["answers"] = {self.name(name): count for name, count in seen["answers"].items()}
        return self(seen)

    def settings(self, settings: Settings) -> Settings:
        """The settings that go out; of paths the last part."""
        options = settings.options
        return Settings.of(**{name: self(options[name]) for name in _OPTIONS})

    def summary(self, summary: Summary) -> Summary:
        """The summary without what models, servers or set makers wrote.

        Rates, counts, hashes, names of models and of the set stay, and the form of summary.json with them.
        """
        models = (summary.subject, summary.judge.binary, summary.judge.numeric)
        resolved = [str(name) for model in models for name in to_builtins(model).get("resolved") or ()]
        seen = Redaction((*self.folders, *_folders(resolved)))
        whole: Json = to_builtins(summary)
        whole |= {"ended": None, "subject": seen.model(whole["subject"])}
        whole["judge"] |= {name: seen.model(whole["judge"][name]) for name in ("binary", "numeric")}
        if whole["failure"] is not None:
            whole["failure"]["detail"] = NOT_SHOWN
        whole["scenarios"].pop("archetypes", None)
        whole["notes"] = in_sentences(whole["notes"], resolved, seen.name)
        return fitted(seen(whole), Summary)

    def result(self, result: Result) -> Result:
        """The result with the summary and the settings that go out."""
        return replace(result, summary=self.summary(result.summary), settings=self.settings(result.settings))


def folders_of(settings: Settings) -> tuple[str, ...]:
    """The folders of all paths that the settings name, longest first, each with its last slash."""
    flat = _flat(to_builtins(settings.options))
    values = [str(value) for name, value in flat.items() if name not in _TEXTS]
    own = [str(value) for name, value in flat.items() if name.partition(".")[0] in _PATHS]
    own += [settings.design.scenarios] if known_format(settings.design.scenarios) else []
    relative = {f"{folder}{slash}" for path in own for folder, slash, _ in (path.rstrip("/").rpartition("/"),) if slash}
    return _longest_first({*_folders(values), *relative})


def prompt_for_others(text: str) -> str:
    """A prompt that somebody wrote, by its hash and length."""
    return f"{len(text):,} characters, sha256 {sha256(text)}"


def sha256(text: str) -> str:
    """The hash of a text, in hex digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _folders(values: Iterable[str]) -> Iterator[str]:
    """The folders of those values that are paths."""
    return (match[1] for match in map(_FOLDER_OF.fullmatch, values) if match)


def _longest_first(folders: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(set(folders), key=len, reverse=True))


def _flat(plain: Any, before: str = "") -> Json:
    """Settings within settings with a dot between their names; nothing for what is not set."""
    if not isinstance(plain, dict):
        return {} if plain in (None, [], "") else {before: plain}
    pairs = ((f"{before}.{name}" if before else name, value) for name, value in plain.items())
    return {name: value for part, inside in pairs for name, value in _flat(inside, part).items()}


def _check_rates(result: Result) -> None:
    summary = result.summary
    why = summary.withheld or ("It is not complete." if not summary.complete else None)
    if summary.smoke:
        why = "It is a smoke run (--limit), which measures nothing."
    if why:
        raise UsageError(f"{result.path} has no rates that could be shown to others. {why}")


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
