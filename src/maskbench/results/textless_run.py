"""A run without its texts: a folder from which anybody can compute its figures again, and nobody can read a prompt.

The folder is written new, from the fields that are named here. Keys are counters, replies are numbers, times are days.
"""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import TypeAlias

from msgspec import structs

from maskbench.errors import UsageError
from maskbench.method.asks import VERDICTS
from maskbench.results.people.labelled_outcomes import drawn
from maskbench.results.shown_to_others import Redaction
from maskbench.scenarios import Key, hub
from maskbench.scenarios.remarks import public_set
from maskbench.scenarios.textless import numbered_reply, without_texts
from maskbench.store.drawn_sample import new_salt
from maskbench.store.folder import RECORD, RunFolder, new_folder
from maskbench.store.labels import LabelStore, New
from maskbench.store.record import (
    SCHEMA,
    About,
    ArchetypeWords,
    Judges,
    Models,
    PromptsUsed,
    Record,
    TakenScenarios,
    VerdictSetRecord,
    WithoutTexts,
)
from maskbench.store.samples import Samples
from maskbench.store.source import ImportedFrom
from maskbench.store.store import Store
from maskbench.store.verdict_sets import OpenRun, Readable, reading
from maskbench.types import (
    Ask,
    BinaryVerdict,
    Failure,
    Judgement,
    Letter,
    Option,
    Range,
    Reply,
    Scenario,
    Usage,
    Verdict,
)

_PACKAGED = "packaged"  # the judge's prompts that everybody has, whose hash tells nothing
_NO_HASH = ""
_OTHER: Mapping[Letter, Option] = {"A": "B", "B": "A"}
Coins: TypeAlias = Mapping[Key, bool]
Tokens: TypeAlias = dict[str | None, Usage]  # by model, until its first answer is written, which has the total


@dataclass(frozen=True, slots=True)
class Exported:
    """A run that was written without its texts, and whether a coin has exchanged its options."""

    scenarios: int
    exchanged: bool


def write_without_texts(run: Readable, out: Path) -> Exported:
    """Write the folder, whole or not at all.

    Raises UsageError where something is at `out`, or the run has no texts itself.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise UsageError(f"{out} is there already. Give another --out.")
    with reading(run) as opened:
        check_whole_run(opened)
        coins = _coins(opened)
        day = opened.folder.complete_since()[:10]
        redact = Redaction.of(opened.settings)
        record = _record(opened, redact, exchanged=bool(coins))
        with new_folder(out) as making:
            with ThreadPoolExecutor(1) as aside:  # the caller may have a loop of its own
                aside.submit(asyncio.run, _fill(opened.folder, making, day, coins, redact)).result()
            making.write(RECORD, record)
            with OpenRun(making) as new:
                _copy_labels(opened, new, coins)
        return Exported(opened.store.count(), bool(coins))


def check_whole_run(run: OpenRun) -> None:
    """Raise UsageError for a run that has no texts itself, and for a part of one."""
    if run.record.without_texts:
        raise UsageError(f"{run.folder.path} is a run without its texts already: hand it on as it is.")


# run.json


def _record(run: OpenRun, redact: Redaction, *, exchanged: bool) -> Record:
    """run.json of the folder: how it was measured, without words that people or servers wrote."""
    record, taken = run.record, run.record.scenarios
    name = run.set_name
    ids = hashlib.sha256("\n".join(sorted("\t".join((name, *s.key)) for s, _ in run.store.scenarios())).encode())
    return Record(
        schema=SCHEMA,
        maskbench=record.maskbench,
        created=_day(record.created),
        protocol=record.protocol,
        prompts=_prompts(record.prompts, redact),
        models=Models(*(_model(getattr(record.models, role), redact) for role in ("subject", "binary", "numeric"))),
        settings=redact.settings(run.settings).having(scenarios=name),
        scenarios=TakenScenarios(
            name=name,
            taken=redact(taken.taken),
            hash=ids.hexdigest(),
            measured_hash=ids.hexdigest(),
            n=taken.n,
            archetypes={each: ArchetypeWords(each, "") for each in taken.archetypes},
        ),
        sessions=[],
        verdict_sets={each: _judged(judged, redact) for each, judged in record.verdict_sets.items()},
        imported=record.imported and _imported(record.imported),
        without_texts=WithoutTexts(exchanged=exchanged),
    )


def _day(moment: str) -> str:
    return f"{moment[:10]}T00:00:00+00:00"


def _prompts(used: PromptsUsed, redact: Redaction) -> PromptsUsed:
    """The prompts by name; a hash of somebody's own tells which they are."""
    return PromptsUsed(
        name=redact(used.name), version=used.version, hash=used.hash if used.name == _PACKAGED else _NO_HASH
    )


def _imported(source: ImportedFrom) -> ImportedFrom:
    """Where an imported run is from, without names of files."""
    return structs.replace(source, files=[], notes=[])


def _model(about: About, redact: Redaction) -> About:
    seen = redact.model(about)
    return About({name: value for name, value in seen.items() if name not in ("resolved", "answers")})


def _judged(judged: VerdictSetRecord, redact: Redaction) -> VerdictSetRecord:
    return VerdictSetRecord(
        created=_day(judged.created),
        maskbench=judged.maskbench,
        protocol=judged.protocol,
        judging=redact(judged.judging),
        prompts=_prompts(judged.prompts, redact),
        models=Judges(_model(judged.models.binary, redact), _model(judged.models.numeric, redact)),
        sessions=[],
    )


# run.sqlite


async def _fill(source: RunFolder, folder: RunFolder, day: str, coins: Coins, redact: Redaction) -> None:
    """Write scenarios, replies and verdicts as numbers, letters and kinds of failure, in the order of the run."""
    noon = datetime.fromisoformat(f"{day}T00:00:00+00:00").astimezone(UTC).timestamp()
    with closing(source.store()) as store, closing(folder.store(write=True, clock=lambda: noon)) as new:
        propositions: dict[str, int] = defaultdict(count(1).__next__)
        new.add_scenarios(
            (_with_truth(without_texts(scenario, propositions[scenario.proposition.strip()]), coins), weight)
            for scenario, weight in store.scenarios()
        )
        sets = store.all_sets()
        keys, tokens = count(1), {name: store.tokens_by_model(name) for name in (None, *sets)}
        for samples, _ in store.read(*{VERDICTS: None} | dict.fromkeys(sets)):
            _put_replies(new, samples, keys, tokens[None], redact)
            for name in sets:
                exchange = coins.get(samples.scenario.key, False)
                _put_verdicts(new, name, samples, keys, tokens[name], redact, exchange)


def _key(number: int) -> bytes:
    return number.to_bytes(16, "big")


def _put_replies(new: Store, samples: Samples, keys: Iterator[int], tokens: Tokens, redact: Redaction) -> None:
    numbers: dict[str, int] = defaultdict(count(1).__next__)
    for item in filter(None, (*samples.items(VERDICTS), samples.placebo(VERDICTS))):
        if item.reply is None:
            continue
        answer: Reply | Failure
        if isinstance(item.reply, Failure):
            answer = Failure(item.reply.stage, item.reply.cause, "")
        else:
            plain = numbered_reply(item.reply, numbers[item.reply.text])
            served = None if plain.model is None else redact.name(plain.model)
            answer = replace(plain, model=served, usage=tokens.pop(item.reply.model, Usage()))
        ask = Ask((), samples.scenario, item.call, item.elicitation, (item.run,))
        new.put_reply(_key(next(keys)), 0, ask, item.run, answer)


def _put_verdicts(
    new: Store, name: str, samples: Samples, keys: Iterator[int], tokens: Tokens, redact: Redaction, exchange: bool
) -> None:
    models = samples.judging_models(name)
    for (elicitation, run), given in samples.judgements(name).items():
        ask = Ask((), samples.scenario, "", elicitation, (run,))
        model, key = models.get((elicitation, run)), _key(next(keys))
        served = None if model is None else redact.name(model)
        answer = _answer(given, exchange)
        new.put_verdict(name, key, answer, [Reply("", model=served, usage=tokens.pop(model, Usage()))])
        new.link(name, ask, key)


def _answer(given: Judgement | Failure, exchange: bool) -> Judgement | Failure:
    if isinstance(given, Failure):
        return replace(given, detail="")
    return Judgement(_exchanged(given.verdict) if exchange else given.verdict, None, given.confidence)


def _exchanged(verdict: Verdict) -> Verdict:
    """The verdict with A for B and B for A."""
    if isinstance(verdict, BinaryVerdict):
        return replace(verdict, letter=_OTHER.get(verdict.letter, verdict.letter))
    return verdict


def _with_truth(scenario: Scenario, coins: Coins) -> Scenario:
    if coins.get(scenario.key, False) and not isinstance(scenario.truth, Range):
        return replace(scenario, truth=_OTHER[scenario.truth])
    return scenario


def _coins(run: OpenRun) -> Coins:
    """Whether A and B of each binary scenario change places; none for a set whose answer key may go out."""
    scenarios = [scenario for scenario, _ in run.store.scenarios()]
    if not any(public_set(scenario) == hub.NAME for scenario in scenarios):
        return {}
    return {each.key: bool(secrets.randbits(1)) for each in scenarios if each.kind == "binary"}


# Labels


def _copy_labels(run: OpenRun, new: OpenRun, coins: Coins) -> None:
    """Take over what readers said, under ids of the new folder's own; readers are numbered."""
    labels, to = LabelStore(run.folder.path), LabelStore(new.folder.path)
    if not labels.exists:
        return
    to.begin(replace(labels.design(), salt=new_salt()))
    to.add_checks(labels.checks())
    ids = {
        old.id: (part.id, coins.get(before.scenario.key, False))
        for before, after in zip(drawn(run, labels.design()), drawn(new, to.design()), strict=True)
        for old, part in zip(before.parts, after.parts, strict=True)
    }
    latest, kinds = labels.latest(), labels.kinds()
    for number, (rater, role) in enumerate(labels.raters().items(), start=1):
        name = to.enter(f"reader {number}", role)
        to.keep_kinds({name: kinds[rater]})
        given = [(*ids[reply], each.verdict) for reply, each in latest.get(rater, {}).items() if reply in ids]
        to.put_all(
            [
                (name, New(part, _exchanged(verdict) if exchange else verdict, 0, f"{number} {part}"))
                for part, exchange, verdict in given
                if verdict is not None
            ]
        )
