"""A run's drawn scenarios with all that people are shown of them, and what their labels come to by the run's rules."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.method.outcomes import score
from maskbench.method.rules import RuleSet, named
from maskbench.results.judges_agree import same
from maskbench.results.people.label_units import LabelUnit, labelled, parts_to_label
from maskbench.results.people.readers import Who, of_kinds
from maskbench.settings import Settings
from maskbench.store.drawn_sample import SIZE, Design, Key, Stratum, draw, shuffled
from maskbench.store.labels import LabelStore, Role, current
from maskbench.store.verdict_sets import OpenRun, VerdictSet
from maskbench.types import Item, OutcomeName, Scenario, Scored, Verdict

THREE = 3  # raters of one scenario: the third checks the others
SHARE, LEAST = 0.1, 10  # of the scenarios that raters give one outcome


@dataclass(frozen=True, slots=True)
class Label:
    """People's outcome of one scenario by its first statement, and the chance with which it was drawn for them.

    `outcome` is None where their labels do not settle it. `raters` has that of each rater who labelled it. `agreed`
    says that they differ on no reply of it, `third` is the outcome by a third person there, if she has labelled it.
    `who` says whether people labelled it, or models.
    """

    chance: float
    outcome: OutcomeName | None
    raters: tuple[OutcomeName, ...] = ()
    agreed: bool = False
    third: OutcomeName | None = None
    who: Who = "readers"


@dataclass(frozen=True, slots=True)
class Drawn:
    """One scenario of the sample: `parts` are what is labelled of it, `chance` is that with which it was drawn."""

    scenario: Scenario
    weight: float
    stratum: Stratum
    chance: float
    items: Sequence[Item]
    parts: Sequence[LabelUnit]


@dataclass(frozen=True, slots=True)
class LabelledScenario:
    """One scenario of the sample that somebody has labelled whole, with what it comes to.

    `population` and `drawn` are how many its stratum has, and how many of them are in the sample. `raters` has the
    scored scenario by each rater who labelled all of it; `people` is the one by all together: where a label was
    adjudicated that one, else the one that all raters gave; None where they differ and nobody has decided. `agreed`
    says that they differ on no reply. `third` is what the labels of a third person alone come to, for whom the scenario
    was drawn though raters agree.
    """

    key: Key
    stratum: Stratum
    population: int
    drawn: int
    raters: Mapping[str, Scored]
    people: Scored | None
    agreed: bool = False
    third: Scored | None = None
    who: Who = "readers"


def prepare(
    run: OpenRun,
    size: int | None = None,
    seed: int | None = None,
    verdicts: str | None = None,
    folder: Path | None = None,
) -> LabelStore:
    """The run's labels, the sample being drawn or enlarged where that is asked for; kept in its folder, or another.

    Raises UsageError where what is asked for is not what was drawn, and where the run has nothing to label.
    """
    labels = LabelStore(folder or run.folder.path)
    if not labels.exists:
        labels.begin(_design(run, size or SIZE, seed or 0, verdicts))
    labels.keep_salt()
    design = labels.design()
    check_same(design, size, seed, verdicts)
    if size and size > design.size:
        labels.enlarge(size)
    return labels


def _design(run: OpenRun, size: int, seed: int, verdicts: str | None) -> Design:
    """A sample of all scenarios; raises UsageError where some have no outcome yet, or none has any.

    A run goes through its set in order, so what is there of it is no random part.
    """
    judged, path = run.verdicts(verdicts), run.folder.path
    rules = named(run.settings.design.rules)
    rows = judged.scored(rules)
    if missing := run.store.count() - len(rows):
        raise UsageError(
            f"{path}: {missing} of {run.store.count()} scenarios have no outcome yet, so a sample drawn now could "
            f"not hold them. {judged.go_on(path)}, then label."
        )
    outcomes: dict[Key, OutcomeName] = {row.key: row.outcomes[0] for row in rows}
    design = draw(outcomes, size, seed, judged.name, rules.name, LabelStore(path).kept_salt())
    if not design.population:
        raise UsageError(f"Every scenario of {path} has failed, so there is nothing to label.")
    return design


def check_same(design: Design, size: int | None, seed: int | None, verdicts: str | None) -> None:
    """Raise UsageError where what is asked for is not what was drawn."""
    if size and size < design.size:
        raise UsageError(f"--sample {size}: {design.size} scenarios are drawn already. Leave it out, or give more.")
    asked = {"--seed": (seed, design.seed), "--verdicts": (verdicts, design.verdicts)}
    for option, (given, had) in asked.items():
        if given is not None and given != had:
            raise UsageError(f"{option} {given}: the sample was drawn with {option} {had}. Leave it out.")


def drawn(run: OpenRun, design: Design) -> list[Drawn]:
    """Every scenario of the sample, in the run's order, with what is labelled of it."""
    strata, sizes = design.drawn, design.sizes
    sample = []
    for samples, weight in run.store.read():
        scenario = samples.scenario
        if (stratum := strata.get(scenario.key)) is not None:
            items = samples.items()
            whole, taken = sizes[stratum]
            parts = parts_to_label(scenario, items, run.settings, design.salt)
            sample.append(Drawn(scenario, weight, stratum, taken / whole, items, parts))
    return sample


def in_order(scenarios: Sequence[Drawn], rater: str, design: Design) -> list[Drawn]:
    """The scenarios in the order of one rater, which is another one for each."""
    by_key = {each.scenario.key: each for each in scenarios}
    return [by_key[key] for key in shuffled(by_key, design.seed, rater)]


def differing(latest: Mapping[str, Mapping[str, Verdict]], raters: Iterable[str]) -> dict[str, list[Verdict]]:
    """The replies on which raters differ, with every rater's verdict; which kind of C it is makes no difference."""
    every: dict[str, list[Verdict]] = {}
    for rater in raters:
        for reply, verdict in latest.get(rater, {}).items():
            every.setdefault(reply, []).append(verdict)
    return {reply: given for reply, given in every.items() if not _alike(given)}


def disputed(labels: LabelStore, adjudicator: str | None = None) -> dict[str, list[Verdict]]:
    """The replies on which raters differ and which nobody has settled but `adjudicator`, with the raters' verdicts."""
    roles = labels.raters()
    latest = {name: current(given) for name, given in labels.latest().items()}
    others = [name for name, role in roles.items() if role == "adjudicator" and name != adjudicator]
    settled = {reply for name in others for reply in latest.get(name, {})}
    differ = differing(latest, _with_role(roles, "rater"))
    return {reply: given for reply, given in differ.items() if reply not in settled}


def together(latest: Mapping[str, Mapping[str, Verdict]], roles: Mapping[str, Role]) -> dict[str, Verdict]:
    """One verdict a reply: the adjudicated one, else the one on which all its raters agree; no other has any."""
    raters = _with_role(roles, "rater")
    differ = differing(latest, raters)
    agreed: dict[str, Verdict] = {}
    for rater in reversed(raters):  # the first one's words count
        agreed |= {reply: verdict for reply, verdict in latest.get(rater, {}).items() if reply not in differ}
    for name in _with_role(roles, "adjudicator"):
        agreed |= latest.get(name, {})
    return agreed


def _with_role(roles: Mapping[str, Role], wanted: Role) -> list[str]:
    return [name for name, role in roles.items() if role == wanted]


def _alike(verdicts: Sequence[Verdict]) -> bool:
    return all(same(first, other) for first, other in combinations(verdicts, 2))


def human_outcomes(run: OpenRun, rules: RuleSet) -> Iterator[LabelledScenario]:
    """Every scenario that people have labelled, scored by the same rules as a judge's verdicts are.

    Nothing where the run has no labels. A human outcome is `error` where replies are missing that it hangs on.
    """
    labels = LabelStore(run.folder.path)
    if not labels.exists:
        return
    design, roles, kinds = labels.design(), labels.raters(), labels.kinds()
    latest = {rater: current(given) for rater, given in labels.latest().items()}
    people, sizes = together(latest, roles), design.sizes
    differ, checks = differing(latest, _with_role(roles, "rater")), labels.checks()
    third = {reply: given for name in _with_role(roles, "adjudicator") for reply, given in latest.get(name, {}).items()}
    for each in drawn(run, design):
        by_rater = {
            rater: scored
            for rater in _with_role(roles, "rater")
            if (scored := _human(each, latest.get(rater, {}), run.settings, rules)) is not None
        }
        agreed = _human(each, people, run.settings, rules)
        if by_rater or agreed:
            alike = bool(by_rater) and not any(part.id in differ for part in each.parts)
            checked = alike and each.scenario.key in checks
            by_third = _human(each, third, run.settings, rules) if checked else None
            if checked:  # what she says of it is no label, but tells how good labels are
                agreed = next(iter(by_rater.values()))
            stratum = (each.stratum, *sizes[each.stratum])
            here = {part.id for part in each.parts}
            who = of_kinds(kinds[name] for name, given in latest.items() if not here.isdisjoint(given))
            yield LabelledScenario(each.scenario.key, *stratum, by_rater, agreed, alike, by_third, who)


def _human(about: Drawn, verdicts: Mapping[str, Verdict], settings: Settings, rules: RuleSet) -> Scored | None:
    """A scenario as somebody's labels make it; None where they are not all there."""
    items = labelled(about.scenario, about.items, settings, about.parts, verdicts)
    return None if items is None else score(about.scenario, about.weight, items, settings, rules)


def labels_of(run: OpenRun, rules: RuleSet) -> dict[Key, Label]:
    """People's outcomes of a run's scenarios, as the correction of rates takes them; empty without labels."""
    return as_labels(list(human_outcomes(run, rules)))


def as_labels(scenarios: Sequence[LabelledScenario]) -> dict[Key, Label]:
    """People's outcomes of all scenarios that they have labelled.

    Where they differ and nobody has decided, the outcome is None, unless all raters come to the same. The chance is
    that of being drawn and settled: the share of its stratum that is, so that a sample which is labelled in part, or
    was enlarged on the way, does not count strata that are labelled whole for more than they are.
    """
    outcomes = [_settled(each) for each in scenarios]
    settled = Counter(
        each.stratum for each, outcome in zip(scenarios, outcomes, strict=True) if outcome not in (None, "error")
    )
    return {
        each.key: Label(
            min(1.0, (settled[each.stratum] or each.drawn) / each.population),
            outcome,
            tuple(scored.outcome for scored in each.raters.values()),
            each.agreed,
            _third(each),
            each.who,
        )
        for each, outcome in zip(scenarios, outcomes, strict=True)
    }


def _third(about: LabelledScenario) -> OutcomeName | None:
    """What a third one makes of a scenario on which raters agree: who was given it, or the third of three raters."""
    if about.agreed and len(about.raters) >= THREE:
        return _settled(about)
    return None if about.third is None else about.third.outcome


def _settled(about: LabelledScenario) -> OutcomeName | None:
    if about.people is not None:
        return about.people.outcome
    outcomes = {scored.outcome for scored in about.raters.values()}
    return outcomes.pop() if len(outcomes) == 1 and len(about.raters) > 1 else None


def judge_outcomes(
    judged: VerdictSet, rules: RuleSet, keys: Iterable[Key]
) -> Iterator[tuple[Key, dict[tuple[int, int], Item], Scored]]:
    """A verdict set's outcomes of these scenarios by their first statement, as far as it is done with them."""
    wanted = set(keys)
    for samples, weight in judged.store.read(*judged.sets):
        scenario = samples.scenario
        if scenario.key in wanted and (done := judged.done(samples, weight, rules)):
            first = {place: item for place, item in done.items.items() if place[0] or place[1] == 1}
            has_one = len(first) == len(done.items)
            yield (
                scenario.key,
                first,
                done.scored if has_one else score(scenario, weight, first, judged.settings, rules),
            )


def how_many(agreed: int) -> int:
    """How many of the scenarios that raters give one outcome a third person labels, too."""
    return min(agreed, max(LEAST, math.ceil(SHARE * agreed)))


def draw_checks(run: OpenRun, labels: LabelStore) -> dict[Key, float]:
    """Draw what a third person is to check of all that raters agree on by now, and keep it; returns all that is drawn.

    Of what three raters have labelled nothing is drawn, since the third of them has checked it.
    """
    design, known = labels.design(), labels.checks()
    agreed: dict[OutcomeName, list[Key]] = {}
    for each in human_outcomes(run, named(design.rules)):
        if each.agreed and len(each.raters) < THREE:
            agreed.setdefault(next(iter(each.raters.values())).outcome, []).append(each.key)
    agreed.pop("error", None)
    drawn: dict[Key, float] = {}
    for keys in agreed.values():
        wanted = how_many(len(keys))
        ordered = shuffled(keys, design.seed, "checks")
        new = [key for key in ordered if key not in known][: max(0, wanted - sum(key in known for key in keys))]
        drawn |= dict.fromkeys(new, wanted / len(keys))
    if drawn:
        labels.add_checks(drawn)
    return known | drawn
