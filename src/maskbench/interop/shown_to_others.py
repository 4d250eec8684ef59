"""What is made to be seen by others: aggregates, hashes and outcomes, and texts only where somebody asks for them.

Data set folders, records for other people's databases, and the pages of CI are all made
of what stands here, and of nothing else. Texts of cais/MASK are refused whoever asks: a benchmark that stands where
training data is gathered measures nothing any more. Files for oneself (CSV, JSONL, Parquet) do not come by here.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, TypeAlias

from msgspec import structs, to_builtins

from maskbench.errors import UsageError
from maskbench.judges.verdict_sets import Done, OpenRun, Readable, reading
from maskbench.method.rules import named
from maskbench.plain import plain
from maskbench.results.leaderboard import is_simulated
from maskbench.results.scored import Result, read, result_of
from maskbench.results.summary import Summary
from maskbench.runs.fitting import fitted
from maskbench.runs.source import UNSAID, knows_sampling
from maskbench.scenarios import hub
from maskbench.scenarios.formats import known_format
from maskbench.scenarios.identity import canonical
from maskbench.scenarios.remarks import public_set
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.types import Accuracy, Call, Json, Kind, NoBelief, OutcomeName, Reply, Scenario

ALL = "all"  # in the place of an archetype: the whole set
NOT_SHOWN = "(not shown to others)"
# What others see of a model: no address, no path, and of what its server said only what can be a name.
_OF_MODELS = frozenset(
    (
        *("name", "label", "service", "model", "interface", "runtime", "organism", "planted", "seed", "reads"),
        *("sampling", "on_truncation", "send_seed", "resolved", "answers", "identical"),
    )
)
_TEXTS = ("system_prompt_text", "template_args", "extra_body")  # settings that people write, hashed
_OF_THIS_MACHINE = frozenset(("cluster",))  # addresses, which are nobody's business
_KEPT = frozenset(  # settings that stand there whatever they are
    (
        *("subject", "judge", "scenarios", "statements", "beliefs", "seed", "rules"),
        *("sampling.temperature", "sampling.max_tokens", "judge_sampling.temperature"),
    )
)
# The folder of a path that is a whole value, or stands behind a service's name or an equals sign; it may hold blanks.
_FOLDER_OF = re.compile(r"(?:[\w.-]+/|[^/\\]*=)?((?:~[^/\\]*|[A-Za-z]:)?[/\\][^/\\].*[/\\])[^/\\]+[/\\]?", re.DOTALL)
# In a sentence: a folder's name may hold blanks where further folders follow, and a home may be somebody's (`~ann`).
_FOLDERS = re.compile(
    r"(?<![\w.~:])(?<!:/)(?:~[\w.-]*|[A-Za-z]:)?[/\\]"
    r"(?:[^\s/\\'\"]+(?: [^\s/\\'\".,;:()]+){0,1}[/\\])*(?=[^\s/\\'\"])"
)
_PATHS = ("judge_prompts", "adapter", "steer", "system_prompt")  # settings that name a file or folder
LONGEST = 100  # characters of a name
_SHORTEST = 3  # characters of what is looked for in a sentence: a blank as a name would be in all of them
_LISTS = ("resolved", "fingerprints")


ReplyText: TypeAlias = tuple[Call, int, int, str]  # of which call, elicitation and run a reply is, and its text
RateOf: TypeAlias = tuple[str, str, Share]  # an archetype or `all`, the name of a rate, and the rate


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioShown:
    """A scenario that is done, by the hash of what it says; `texts` are it and its replies, where they are shown.

    `statements` has of each statement its outcome and which reply of the scenario it is (None where there is none);
    equal replies share a number. No hash of a reply goes out: who guesses "Yes." could confirm it.
    """

    sha256: str
    archetype: str
    kind: Kind
    weight: float
    outcome: OutcomeName
    no_belief_reason: NoBelief | None
    accuracy: Accuracy
    statements: tuple[tuple[OutcomeName, int | None], ...]
    texts: tuple[Scenario, tuple[ReplyText, ...]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A run as others may see it; `canaries` mark its scenarios as benchmark data, and go wherever rows of it go."""

    summary: Summary
    settings: Settings
    created: str
    scenarios: tuple[ScenarioShown, ...]
    canaries: tuple[str, ...]
    is_mask: bool  # whether the scenarios are known to be those of cais/MASK
    is_simulated: bool
    with_text: bool
    imported: str | None = None  # where replies and verdicts are from, where no run asked for them

    @property
    def set_name(self) -> str:
        """The scenario set by name, a file by its last part."""
        return hub.NAME if self.is_mask else self.summary.scenarios.name

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the models that judged."""
        members = self.summary.judge.members or ()
        names = [member.judge for member in members] or [judge.name for judge in self.summary.judge.models]
        return tuple(dict.fromkeys(without_folders(name) for name in names))


def shown(run: Readable, rules: str | None = None, verdicts: str | None = None, *, with_text: bool = False) -> Shown:
    """A whole run, read once, as others may see it; its texts are among it where `with_text` asks for them.

    Raises UsageError for a run that has no rates to show, and for texts of cais/MASK.
    """
    with reading(run) as opened:
        rows: list[ScenarioShown] = []
        canaries: dict[str, None] = {}
        is_mask = _is_mask(opened)
        if with_text:
            _check_texts(opened, is_mask=is_mask)

        def see(done: Done) -> None:
            rows.append(_row(done, with_text=with_text))
            if done.scenario.canary:
                canaries[done.scenario.canary] = None

        this = read(opened, named(rules or opened.settings.design.rules), verdicts, see)
        result = result_of(opened, this)
        _check_rates(result)
        return Shown(
            summary=for_others(result.summary, this.settings),
            settings=this.settings,
            created=opened.record.created,
            scenarios=tuple(rows),
            canaries=tuple(canaries),
            is_mask=is_mask,
            is_simulated=is_simulated(result),
            with_text=with_text,
            imported=without_folders(source.words) if (source := opened.record.imported) else None,
        )


def rates_of(summary: Summary) -> Iterator[RateOf]:
    """Every rate that a summary has, of all scenarios and of each archetype; what is no finite number is left out."""
    parts = {ALL: summary.rates, **{name: part.rates for name, part in summary.by_archetype.items()}}
    for where, rates in parts.items():
        for name, rate in rates.items():
            if rate.value is not None and math.isfinite(rate.value):
                ends = rate.ci95 if rate.ci95 and all(map(math.isfinite, rate.ci95)) else None
                yield where, name, structs.replace(rate, ci95=ends)


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


def settings_for_others(settings: Settings) -> dict[str, str]:
    """What others have to know, and every setting that is at no default: of paths the last part, of texts the hash."""
    plain, usual = (
        _flat(to_builtins(each.options))
        for each in (settings, Settings.of(settings.subject.name, settings.judging.judge, settings.design.scenarios))
    )
    changed = {name: value for name, value in plain.items() if value != usual.get(name) or name in _KEPT}
    changed = {name: value for name, value in changed.items() if name not in _OF_THIS_MACHINE}
    if not knows_sampling(settings):
        changed = {name: value for name, value in changed.items() if not name.startswith("sampling.")}
        changed["sampling"] = UNSAID
    folders = folders_of(settings)
    return {name: _setting(name, str(value), folders) for name, value in changed.items()}


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
    return f"{len(text):,} characters, {_hashed(text)}"


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


def _setting(name: str, value: str, folders: Sequence[str]) -> str:
    """A setting as others see it."""
    return _hashed(value) if name in _TEXTS else without_folders(value, folders)


def _hashed(text: str) -> str:
    return f"sha256 {sha256(text)}"


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


def _is_mask(run: OpenRun) -> bool:
    """Whether the scenarios are known to be those of cais/MASK: by the name of the set, or by their ids."""
    return hub.NAME.lower() in (run.record.scenarios.name.lower(), str(run.public).lower())


def _check_texts(run: OpenRun, *, is_mask: bool) -> None:
    """Refuse texts of cais/MASK, and of a set in which any row is one of it."""
    path = run.folder.path
    if is_mask:
        raise UsageError(
            f"The scenarios of {path} are those of {hub.NAME}, whose texts are not passed on: what stands where "
            "training data is gathered measures nothing any more. Leave --with-text out."
        )
    for scenario, _ in run.store.scenarios():
        if public_set(scenario) == hub.NAME:
            raise UsageError(
                f"{scenario.archetype} {scenario.task_id} in {path} has the id of a scenario of {hub.NAME}, whose "
                "texts are not passed on. Leave --with-text out, or measure without such rows."
            )


def _check_rates(result: Result) -> None:
    summary = result.summary
    why = summary.withheld or ("It is not complete." if not summary.complete else None)
    if summary.smoke:
        why = "It is a smoke run (--limit), which measures nothing."
    if why:
        raise UsageError(f"{result.path} has no rates that could be shown to others. {why}")


def _row(done: Done, *, with_text: bool) -> ScenarioShown:
    scored = done.scored
    return ScenarioShown(
        sha256=hashlib.sha256(canonical(done.scenario)).hexdigest(),
        archetype=scored.archetype,
        kind=done.scenario.kind,
        weight=scored.weight,
        outcome=scored.outcome,
        no_belief_reason=scored.resolved.reason,
        accuracy=scored.accuracy,
        statements=tuple(_statements(done)),
        texts=(done.scenario, tuple(_texts(done))) if with_text else None,
    )


def _statements(done: Done) -> Iterator[tuple[OutcomeName, int | None]]:
    numbers: dict[str, int] = {}
    for run, outcome in enumerate(done.scored.outcomes, start=1):
        item = done.items.get((0, run))
        reply = item.reply if item else None
        yield outcome, numbers.setdefault(reply.text, 1 + len(numbers)) if isinstance(reply, Reply) else None


def _texts(done: Done) -> Iterator[ReplyText]:
    for (elicitation, run), item in done.items.items():
        if isinstance(item.reply, Reply):
            yield item.call, elicitation, run, item.reply.text


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
