"""What an audit found: how often the judge's verdict changed, which way, and what that does to outcomes and P(lie)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct, structs
from msgspec.structs import asdict

from maskbench.judges.audit_kinds import kind_of, wants
from maskbench.judges.judges_agree import OutcomesAlike, lie_difference, outcomes_alike, verdict_of
from maskbench.judges.verdict_sets import Readable, VerdictSet, reading
from maskbench.method.archetypes import in_order
from maskbench.method.majority import same
from maskbench.method.rules import named
from maskbench.runs.record import Audit
from maskbench.runs.samples import Samples
from maskbench.stats.agreement import kappa
from maskbench.stats.figures import Difference, Share
from maskbench.stats.intervals import ratio
from maskbench.types import Archetype, BinaryVerdict, Scored, Verdict


class AskedAgain(Struct, forbid_unknown_fields=True, omit_defaults=True):
    """Replies with both verdicts: those that changed, and those that flipped from one option to the other.

    `asserted` are those on which both verdicts are options; `first_both` and `second_both` those on which the judge
    said twice what stood first, or second, where the options were exchanged. `counts` are by both letters.
    """

    n: int
    changed: Share
    changed_count: int
    asserted: int
    flipped: Share
    flipped_count: int
    kappa: float | None
    counts: dict[str, int]
    first_both: int | None = None
    second_both: int | None = None


class AuditData(Audit, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an audit found, as far as it is done.

    `replies` are those that it is to judge, and `left` of them it has not judged yet. As long as there are some,
    `complete` is false and nothing has an interval, and P(lie) and outcomes are withheld: what is done first is no
    sample. `missing` are replies that lack one of the two verdicts for good, or until they are asked about again.
    `by` is of all replies, and by archetype. `outcomes` and `p_lie` are of the scenarios with outcomes in both: as
    judged (first), in the audit (other) and the difference.
    """

    name: str
    judge: str
    numeric_judge: str
    temperature: float
    rules: str
    complete: bool
    replies: int
    left: int
    missing: int
    by: dict[str, AskedAgain]
    outcomes: OutcomesAlike
    p_lie: Difference | None


@dataclass(frozen=True, slots=True)
class _Seen:
    """One reply with both verdicts on it: as judged, and as judged in the audit."""

    archetype: Archetype
    proposition: str
    weight: float
    before: Verdict
    after: Verdict

    @property
    def changed(self) -> bool:
        """Whether the two differ: other letters, or numbers that do not agree."""
        return not same(self.before, self.after)

    @property
    def letters(self) -> str:
        """Both letters; empty for numbers."""
        pair = (self.before, self.after)
        return "".join(verdict.letter for verdict in pair if isinstance(verdict, BinaryVerdict))

    @property
    def asserted(self) -> bool:
        """Whether both verdicts find that the reply asserts an option."""
        return len(self.letters) == 2 and set(self.letters) <= {"A", "B"}


def figures(run: Readable, audit: Audit, rules: str | None = None) -> AuditData:
    """What an audit found, as far as it is done; intervals are over propositions."""
    with reading(run) as opened:
        before, after = opened.verdicts(audit.of), opened.verdicts(audit.set_name)
        chosen = named(rules or before.settings.design.rules)
        chances = opened.store.chosen(audit.set_name)
        seen: list[_Seen] = []
        pairs: list[tuple[Scored, Scored]] = []
        counted: Counter[str] = Counter()
        for samples, weight in opened.store.read(*before.sets, *after.sets):
            if wants(audit, samples.scenario, chances):
                seen += _both(samples, weight, before, after, counted)
                first, other = (each.done(samples, weight, chosen) for each in (before, after))
                pairs += [(first.scored, other.scored)] if first and other else []
    complete = not counted["left"]
    pairs = pairs if complete else []
    archetypes = in_order(reply.archetype for reply in seen)
    groups = {name: [reply for reply in seen if reply.archetype == name] for name in archetypes}
    return AuditData(
        **asdict(audit),
        name=audit.set_name,
        judge=before.settings.judging.judge,
        numeric_judge=before.settings.judging.numeric_judge,
        temperature=before.settings.judging.sampling.temperature,
        rules=chosen.name,
        complete=complete,
        replies=counted["replies"],
        left=counted["left"],
        missing=counted["missing"],
        by={name: _group(audit, group, complete) for name, group in ({"all": seen} | groups).items() if group},
        outcomes=outcomes_alike(pairs),
        p_lie=lie_difference(pairs) if pairs else None,
    )


def _both(
    samples: Samples, weight: float, before: VerdictSet, after: VerdictSet, counted: Counter[str]
) -> Iterator[_Seen]:
    """The replies of a scenario with both verdicts; those to be judged, left and lacking a verdict are counted."""
    scenario = samples.scenario
    others = {(item.elicitation, item.run): item for item in after.items(samples)}
    for item in before.items(samples):
        other = others[item.elicitation, item.run]
        first, second = verdict_of(item), verdict_of(other)
        is_judged = item.judgement is not None or other.judgement is not None
        if first is not None and second is not None:
            yield _Seen(scenario.archetype, scenario.proposition.strip(), weight, first, second)
        elif other.judgement is not None:
            counted["missing"] += 1
        counted["replies"] += is_judged
        counted["left"] += is_judged and other.judgement is None


def _group(audit: Audit, seen: Sequence[_Seen], complete: bool) -> AskedAgain:
    counts = Counter(reply.letters for reply in seen if reply.letters)
    asserted, flips = [reply for reply in seen if reply.asserted], kind_of(audit.kind).flips
    return AskedAgain(
        n=len(seen),
        changed=_changed(seen, complete),
        changed_count=sum(reply.changed for reply in seen),
        asserted=len(asserted),
        flipped=_changed(asserted, complete),
        flipped_count=sum(reply.changed for reply in asserted),
        kappa=kappa({(pair[0], pair[1]): count for pair, count in counts.items()}),
        first_both=counts["AB"] if flips else None,
        second_both=counts["BA"] if flips else None,
        counts=dict(sorted(counts.items())),
    )


def _changed(seen: Sequence[_Seen], complete: bool) -> Share:
    """The weighted share whose verdict changed; with an interval where all is done that was to be."""
    changed, ones = [float(reply.changed) for reply in seen], [1.0] * len(seen)
    weights, clusters = [reply.weight for reply in seen], [reply.proposition for reply in seen]
    share = ratio(changed, ones, weights, clusters)
    return share if complete else structs.replace(share, ci95=None)


def audits(run: Readable, of: str | None = None) -> list[Audit]:
    """The audits that a run has, of one verdict set or of all, in the order of their names."""
    with reading(run) as opened:
        entries = [entry.audit for _, entry in sorted(opened.record.verdict_sets.items())]
    return [audit for audit in entries if audit and of in (None, audit.of)]
