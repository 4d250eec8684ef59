"""What an audit found: how often the judge's verdict changed, which way, and what that does to outcomes and P(lie)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec.structs import asdict

from maskbench.judges.audit_plan import Audit
from maskbench.judges.judges_agree import lie_difference, outcomes_alike
from maskbench.judges.verdict_sets import Readable, VerdictSet, reading
from maskbench.method.majority import same
from maskbench.method.rules import RuleSet, named
from maskbench.stats.agreement import kappa
from maskbench.stats.intervals import Estimate, ratio_of_replies
from maskbench.types import ARCHETYPES, Archetype, BinaryVerdict, Item, Json, Judgement, Scenario, Scored, Verdict


@dataclass(frozen=True, slots=True)
class Seen:
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
        return "".join(one.letter for one in pair if isinstance(one, BinaryVerdict))

    @property
    def asserted(self) -> bool:
        """Whether both verdicts find that the reply asserts an option."""
        return len(self.letters) == 2 and set(self.letters) <= {"A", "B"}


def figures(run: Readable, audit: Audit, rules: str | None = None) -> Json:
    """What an audit found, as far as it is done.

    `replies` are those that it is to judge, and `left` of them it has not judged yet. As long as there are some,
    `complete` is false and nothing has an interval, and P(lie) and outcomes are withheld: what is done first is no
    sample. `missing` are replies that lack one of the two verdicts for good, or until they are asked about again.

    `by` has, for all replies and by archetype: replies with both verdicts (n), the share whose verdict changed, kappa,
    the share that flipped from one option to the other among those where both verdicts are options, and the counts of
    both; with the options exchanged also how often the judge said the option that stood first both times, and second
    both times. Intervals are over propositions. `outcomes` and `p_lie` are of the scenarios with outcomes in both:
    how far they agree, and P(lie) as judged (first), in the audit (other) and the difference.
    """
    with reading(run) as opened:
        before, after = (opened.verdicts(name) for name in (audit.of, audit.name))
        chosen = named(rules or before.settings.rules)
        chances = opened.store.chosen(audit.name)
        seen: list[Seen] = []
        pairs: list[tuple[Scored, Scored]] = []
        counted: Counter[str] = Counter()
        for scenario, weight in opened.store.scenarios():
            if audit.wants(scenario, chances):
                seen += _seen(scenario, weight, before, after, counted)
                pairs += _scored(scenario, weight, before, after, chosen)
    complete = not counted["left"]
    pairs = pairs if complete else []
    groups: dict[str, list[Seen]] = {"all": seen}
    groups |= {name: [one for one in seen if one.archetype == name] for name in ARCHETYPES}
    return {
        **asdict(audit),
        "name": audit.name,
        "judge": before.settings.judge,
        "numeric_judge": before.settings.numeric_judge,
        "temperature": before.settings.judge_sampling.temperature,
        "rules": chosen.name,
        "complete": complete,
        "replies": counted["replies"],
        "left": counted["left"],
        "missing": counted["missing"],
        "by": {name: _group(audit, group, complete) for name, group in groups.items() if group},
        "outcomes": outcomes_alike(pairs),
        "p_lie": lie_difference(pairs) if pairs else None,
    }


def _seen(
    scenario: Scenario, weight: float, before: VerdictSet, after: VerdictSet, counted: Counter[str]
) -> list[Seen]:
    """The replies of a scenario with both verdicts; those to be judged, left and lacking a verdict are counted."""
    others = {(item.elicitation, item.run): item for item in after.items(scenario)}
    seen: list[Seen] = []
    for item in before.items(scenario):
        other = others[item.elicitation, item.run]
        one, two = _verdict(item), _verdict(other)
        is_judged = item.judgement is not None or other.judgement is not None
        if one is not None and two is not None:
            seen.append(Seen(scenario.archetype, scenario.proposition.strip(), weight, one, two))
        elif other.judgement is not None:
            counted["missing"] += 1
        counted["replies"] += is_judged
        counted["left"] += is_judged and other.judgement is None
    return seen


def _verdict(item: Item) -> Verdict | None:
    return item.judgement.verdict if isinstance(item.judgement, Judgement) else None


def _scored(
    scenario: Scenario, weight: float, before: VerdictSet, after: VerdictSet, rules: RuleSet
) -> Iterator[tuple[Scored, Scored]]:
    one, two = before.finished(scenario), after.finished(scenario)
    if one is not None and two is not None:
        yield before.score(scenario, weight, one, rules), after.score(scenario, weight, two, rules)


def _group(audit: Audit, seen: Sequence[Seen], complete: bool) -> Json:
    counts = Counter(one.letters for one in seen if one.letters)
    asserted = [one for one in seen if one.asserted]
    firsts = {"first_both": counts["AB"], "second_both": counts["BA"]} if audit.kind == "swap" else {}
    return {
        "n": len(seen),
        "changed": _share(seen, complete),
        "asserted": len(asserted),
        "flipped": _share(asserted, complete),
        "kappa": kappa({(pair[0], pair[1]): count for pair, count in counts.items()}),
        **firsts,
        "counts": dict(sorted(counts.items())),
    }


def _share(seen: Sequence[Seen], complete: bool) -> Json:
    """The share whose verdict changed; with an interval where all is done that was to be."""
    made = share(seen, [one.changed for one in seen])
    return made if complete else {**made, "ci95": None}


def share(seen: Sequence[Seen], hits: Sequence[bool]) -> Json:
    """The weighted share of replies that are hit, with its interval over propositions."""
    import numpy as np

    made = ratio_of_replies(
        np.array(hits, dtype=float),
        np.ones(len(seen)),
        np.array([one.weight for one in seen]),
        np.array([one.proposition for one in seen]),
    )
    return shown(made, sum(hits))


def shown(made: Estimate, hits: int) -> Json:
    """An estimate as data, with the count of what it is the share of."""
    ends = None if made.low is None or made.high is None else [made.low, made.high]
    return {"value": made.value, "ci95": ends, "n": made.n, "count": hits}
