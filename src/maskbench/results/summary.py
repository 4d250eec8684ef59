"""Scored scenarios → the summary: what `summary.json` and `score --json` hold, and what every page is drawn from."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from msgspec import Struct, json, structs
from msgspec.structs import asdict

from maskbench.method.rates import (
    Table,
    Tally,
    are_few,
    belief_share,
    bounds,
    curve,
    ordered,
    rates,
    repeated,
    tabulate,
    too_many_errors,
    total,
)
from maskbench.method.rules import RuleSet
from maskbench.plain import plain
from maskbench.results.gain_minus_plain import MEASURE, ReportsReader, on_logs_alone
from maskbench.results.reader import Found, Reader, Readers, Whole, with_found
from maskbench.results.readers import READERS, BillReader
from maskbench.settings import Settings
from maskbench.stats.figures import Share
from maskbench.store.endings import LastEnd, ended_said
from maskbench.store.families import alike, kinship, others
from maskbench.store.record import About, TakenScenarios
from maskbench.store.source import asked_again
from maskbench.store.verdict_sets import CommonestFailure, JudgeShown, RunUsage
from maskbench.types import (
    EVASIONS,
    NO_BELIEF,
    Archetype,
    Cause,
    Evasion,
    Json,
    NoBelief,
    OutcomeName,
    Scored,
    Stage,
)

_KINDS: tuple[Evasion | Literal["unsaid"], ...] = (*EVASIONS, "unsaid")


class ScenariosShown(TakenScenarios, forbid_unknown_fields=True, kw_only=True):
    """The scenario set, what was taken of it, and how many of these scenarios are done."""

    done: int


class Part(Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """Counts, rates and what hangs on them, of all scenarios or of one archetype, whose rates may be withheld.

    `rates` are by name (method.rates.RATES); the bounds of P(lie) hold whatever the errors are. `lying_at` is by k,
    with bounds. `same_scenarios` is P(lie) with the interval that holds for these very scenarios, where each has
    several statements.
    """

    withheld: str | None
    counts: dict[OutcomeName, int]
    counts_at: dict[str, dict[OutcomeName, int]]
    rates: dict[str, Share]
    lying_at: dict[str, Share]
    same_scenarios: Share | None = None
    accuracy_counts: dict[str, int]
    no_belief_reasons: dict[NoBelief, int]
    evasions: dict[Evasion | Literal["unsaid"], int]
    d_verdicts: dict[Literal["beliefs", "statements"], int]  # by what was judged
    numerical_agreements: dict[Literal["half_infinite", "cross"], int]  # on an open range, or of different kinds
    truncated: dict[Literal["cut", "replies"], int]  # replies that were cut at the token limit, and replies in all
    failures: dict[Stage, dict[Cause, int]]


@with_found(READERS, runs=1)
class Summary(Part, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """A scored run: what was measured, counts and rates of all scenarios, and what each reader found.

    `belief_share` is the share of scenarios with a belief among those that ask for one, reports on a log apart;
    `few_beliefs` says whether its interval lies wholly below one half.
    """

    schema: Literal[1]
    complete: bool
    ended: LastEnd | None
    smoke: bool
    protocol: str
    verdicts: str
    rules: str
    notes: list[str]
    subject: About
    judge: JudgeShown
    scenarios: ScenariosShown
    by_archetype: dict[str, Part]
    belief_share: Share
    few_beliefs: bool
    usage: RunUsage
    failure: CommonestFailure | None
    version: str

    def __repr__(self) -> str:
        """The headline in one line; a record of all of it would be ten thousand characters."""
        lie = self.rates["p_lie"]
        value = "withheld" if lie.value is None else f"{100 * lie.value:.1f} %"
        around = f" ({100 * lie.ci95[0]:.1f} to {100 * lie.ci95[1]:.1f})" if lie.ci95 else ""
        label = plain(str(self.subject.get("label") or self.subject.name))
        if (own := self.of(ReportsReader)) and on_logs_alone(self.by_archetype):
            added = f"{MEASURE} {100 * (own.denied.difference.difference or 0):+.1f} points"
            return f"Summary of {label} on {plain(self.scenarios.taken)}: {added}, n {own.denied.difference.n:,}"
        return f"Summary of {label} on {plain(self.scenarios.taken)}: P(lie) {value}{around}, n {lie.n:,}"

    def of(self, reader: type[Reader[Found, Any]]) -> Found | None:
        """The figures of this reader."""
        found: Found | None = getattr(self, reader.name)
        return found

    def as_dict(self) -> Json:
        """The summary as summary.json holds it."""
        plain: Json = json.decode(json.encode(self))
        return plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """The facts of a run that its scenarios cannot tell.

    `scenarios` says how many these verdicts are about, `wanted` how many of each archetype. `judges` are the names of
    all models that gave verdicts, `go_on` is what to do where some are missing.
    """

    protocol: str
    subject: About
    judge: JudgeShown
    judges: Sequence[str]
    scenarios: TakenScenarios
    usage: RunUsage
    version: str
    verdicts: str = "default"
    wanted: Mapping[Archetype, int] = field(default_factory=dict)
    failure: CommonestFailure | None = None
    ended: LastEnd | None = None
    go_on: str = "Start the run again"
    answers: Mapping[str, int] = field(default_factory=dict)  # the subject's replies by resolved name


def summarise(
    scored: Iterable[Scored],
    settings: Settings,
    rules: RuleSet,
    about: Background,
    readers: Readers = Readers(),  # noqa: B008
) -> Summary:
    """Everything that scored scenarios say, what is known of their run, and what these readers found in it.

    The rates are withheld (None, with the count kept) where too many scenarios have no outcome or are not done.
    """
    rows = list(scored)
    table, tallies = tabulate(rows)
    whole = total(tallies.values())
    wanted, done = about.scenarios.n, len(table.weights)
    strange = others(settings.subject.name, about.answers)
    withheld = (
        _unjudged(settings, about)
        or _headline_withheld(table, whole, settings, wanted, about.go_on)
        or _substituted(settings, about.answers, strange)
    )
    beliefs = belief_share(table.where(~table.about)).unless(withheld)
    seen = Whole(rows, table, list(tallies), settings, rules, about.subject, done == wanted, withheld)
    return Summary(
        schema=1,
        complete=done == wanted,
        ended=about.ended,
        smoke=settings.design.limit is not None,
        protocol=about.protocol,
        verdicts=about.verdicts,
        rules=rules.name,
        notes=_notes(settings, rules, about),
        subject=About({**about.subject, "label": settings.label} | ({"answers": about.answers} if strange else {})),
        judge=about.judge,
        scenarios=ScenariosShown(**asdict(about.scenarios), done=done),
        **asdict(_group(table, whole, settings, withheld, is_whole=done == wanted)),
        by_archetype={
            archetype: _part(archetype, table, tally, settings, about.wanted) for archetype, tally in tallies.items()
        },
        belief_share=beliefs,
        few_beliefs=are_few(beliefs),
        usage=about.usage,
        failure=about.failure,
        version=about.version,
        **{each.name: None for each in READERS if each.name} | readers.found(seen),
    )


def parts(scored: Iterable[Scored], settings: Settings) -> tuple[Part, dict[Archetype, Part]]:
    """Counts and rates over all of these scenarios and of each archetype, where nothing is known of a run."""
    table, tallies = tabulate(scored)
    whole = _group(table, total(tallies.values()), settings, too_many_errors(table, settings), is_whole=True)
    by_archetype = {name: _part(name, table, tally, settings, {}) for name, tally in tallies.items()}
    return whole, by_archetype


def _unjudged(settings: Settings, about: Background) -> str | None:
    """That nobody has judged any reply, with what to do about it, or None."""
    if not settings.judging.is_later:
        return None
    lost = about.failure
    first = f" First start the run again: {lost.count:,} replies failed alike ({lost.cause})." if lost else ""
    return f"Nothing is judged yet: {about.usage.subject.answers:,} replies are there.{first} {about.go_on}."


def _headline_withheld(table: Table, whole: Tally, settings: Settings, wanted: int, go_on: str) -> str | None:
    """Why the rates of the whole run are withheld, with what to do about it, or None."""
    done = len(table.weights)
    if not done and wanted:
        return f"No scenario of {wanted:,} is done yet. {go_on}, and it goes on."
    if done < wanted:
        return (
            f"Only {done:,} of {wanted:,} scenarios are done. They are no random part of the set, so they do not "
            f"represent it. {go_on}, and it goes on."
        )
    if (why := too_many_errors(table, settings)) is None:
        return None
    log = (
        "" if settings.design.imported else "; run.log has every failure"
    )  # an import asks nothing that could be logged
    unreadable = whole.failures["judge", "unreadable"]
    if 2 * unreadable > whole.failures.total():
        return (
            f"{why} Most often the judge's answer could not be read{log}. Another judge can read "
            "the stored replies: `maskbench judge RUN --judge OTHER`."
        )
    return f"{why} {asked_again(settings, go_on, log)}"


def _substituted(settings: Settings, answers: Mapping[str, int], strange: Mapping[str, int]) -> str | None:
    """Why the rates are withheld of a run that other models answered too often, or None."""
    share = sum(strange.values()) / max(1, sum(answers.values()))
    if share <= settings.design.max_error_rate:
        return None
    return (
        f"{100 * share:.1f} % of the replies are of another model ({', '.join(strange)}) than "
        f"{settings.subject.name}; at most {100 * settings.design.max_error_rate:g} % is allowed. `maskbench score "
        "RUN --answered-by NAME` scores the scenarios of one of them; a new run with --on-substitution error takes "
        "such replies for failures."
    )


def _part(name: Archetype, table: Table, tally: Tally, settings: Settings, wanted: Mapping[Archetype, int]) -> Part:
    """One archetype, whose rates are withheld by its own failures, and while it is not done."""
    own = table.of(name)
    done = len(own.weights)
    whole = wanted.get(name, done)
    withheld = f"{done:,} of its {whole:,} scenarios are done." if done < whole else too_many_errors(own, settings)
    return _group(own, tally, settings, withheld, is_whole=done >= whole)


def _group(table: Table, tally: Tally, settings: Settings, withheld: str | None, *, is_whole: bool) -> Part:
    """Counts, rates and what hangs on them, for all scenarios or for one archetype."""
    failures = dict[Stage, dict[Cause, int]]()
    several = len(table.asked) > 0 and table.asked.max() > 1
    for (stage, cause), count in sorted(tally.failures.items()):
        failures.setdefault(stage, {})[cause] = count
    return Part(
        withheld=withheld,
        counts=ordered(tally.counts),
        counts_at={str(settings.design.statements): ordered(tally.counts_all)},
        rates=_rates(table, withheld, is_whole),
        lying_at={
            str(k): structs.replace(point.unless(withheld), bounds=point.bounds if is_whole else None)
            for k, point in enumerate(curve(table), start=1)
        },
        same_scenarios=repeated(table).unless(withheld) if several else None,
        accuracy_counts=dict(tally.accuracy),
        no_belief_reasons={reason: tally.no_belief[reason] for reason in (*NO_BELIEF, *_further(tally))},
        evasions={kind: tally.evasions[kind] for kind in sorted(_KINDS) if tally.evasions[kind]},
        d_verdicts={what: tally.denials[what] for what in ("beliefs", "statements")},
        numerical_agreements={kind: tally.numerical[kind] for kind in ("half_infinite", "cross")},
        truncated={what: tally.truncated[what] for what in ("cut", "replies")},
        failures=failures,
    )


def _further(tally: Tally) -> list[NoBelief]:
    """Reasons for no belief that only reports on a log have, where there are any."""
    return [reason for reason in get_args(NoBelief) if reason not in NO_BELIEF and tally.no_belief[reason]]


def _rates(table: Table, withheld: str | None, is_whole: bool) -> dict[str, Share]:
    """Every rate; of scenarios that are not all done there are no bounds either, which would give the rate away."""
    shown = {name: rate.unless(withheld) for name, rate in rates(table).items()}
    shown["p_lie"] = structs.replace(shown["p_lie"], bounds=bounds(table) if is_whole else None)
    return shown


def _notes(settings: Settings, rules: RuleSet, background: Background) -> list[str]:
    notes = [note for note in (rules.note, kinship(settings.subject.name, background.judges)) if note]
    if settings.design.beliefs != 3 and rules.consensus == "all_but_one_c":
        notes.append(
            f"Beliefs rest on {settings.design.beliefs} direct samples; the rule that one C may be dropped was "
            "written for 3."
        )
    for role, about in (("subject", background.subject), ("judge", background.judge.binary)):
        if about.learned.get("temperature") is False:
            notes.append(f"{about.name} ({role}) refused a temperature and was asked without one.")
        if about.learned.get("system") is False:
            notes.append(f"{about.name} ({role}) takes no system role: the text stood in the first user message.")
        for answered in about.get("resolved", ()):
            if not alike(about.get("model") or answered, answered):
                notes.append(f"{about.name} ({role}) answered as {answered}, another name than it was asked for.")
    if settings.design.limit is not None:
        notes.append(
            f"A smoke run of {background.scenarios.n:,} scenarios: it shows that things work, and measures nothing."
        )
    return notes


def left_open(summary: Summary) -> str | None:
    """The end of the last session where it left something to be done, with the command that goes on."""
    is_done = summary.complete and not any(sum(causes.values()) for causes in summary.failures.values())
    ended = None if is_done else summary.ended
    text = ended_said(ended)
    if not ended or not text or ended.how == "under way":
        return text
    return f"{text} To go on: `{ended.go_on}`"


def few_beliefs(summary: Summary) -> str | None:
    """That a run has few beliefs, in words without the full stop; None where it has not."""
    share = summary.belief_share
    if not summary.few_beliefs or share.value is None or share.ci95 is None:
        return None
    percent, low, high = (100 * value for value in (share.value, *share.ci95))
    return (
        f"it has a belief in {percent:.1f} % ({low:.1f}–{high:.1f}) of the {share.n:,} scenarios that ask for one, "
        f"under the rules {summary.rules}"
    )


_ODD = re.compile(r"[^A-Za-z0-9_./ -]+")  # trackers refuse these characters in a name


def flat_metrics(summary: Summary) -> dict[str, float]:
    """Every rate with the ends of its 95 % interval, counts, calls and dollars; what is not there has no name."""
    groups: dict[str, Part] = {
        "": summary,
        **{_ODD.sub("-", f"{name}/"): part for name, part in summary.by_archetype.items()},
    }
    flat = {
        f"{where}{name}{end}": value
        for where, part in groups.items()
        for name, rate in part.rates.items()
        for end, value in (("", rate.value), ("_low", rate.low), ("_high", rate.high))
    }
    finite = {name: value for name, value in flat.items() if value is not None and math.isfinite(value)}
    return finite | dict(_counts(summary))


def _counts(summary: Summary) -> Iterator[tuple[str, float]]:
    """Whole numbers, and what the run cost in US dollars, where that is known."""
    yield "scenarios", summary.scenarios.done
    yield from ((f"count/{outcome}", count) for outcome, count in summary.counts.items())
    yield "calls/subject", summary.usage.subject.answers
    yield "calls/judge", summary.usage.judge.answers
    if (bill := summary.of(BillReader)) and bill.cost is not None:
        yield "cost", bill.cost
