"""The readers of a run in the order of their figures; terminal, page, Markdown and JSON walk this list."""

from __future__ import annotations

from typing import Any, Self

from maskbench.judges.judges_agree import JudgesShown, agreement
from maskbench.judges.verdict_sets import Done, OpenRun, VerdictSet
from maskbench.method.chance import Chance, ChancePart, ChanceTally
from maskbench.method.false_lies import FalseLies, FalseLieTally, HeldOut
from maskbench.method.placebo import Placebo, PlaceboTally
from maskbench.method.rules import RuleSet
from maskbench.results.calibration import LabelsReader
from maskbench.results.further_rate import FurtherRate
from maskbench.results.gain_minus_plain import ReportsReader
from maskbench.results.reader import Reader, Readers, Whole
from maskbench.results.splits import AskedReader
from maskbench.runs.bill import Bill, bill_of
from maskbench.runs.source import ImportedFrom
from maskbench.types import Reply


class PlantedReader(Reader[dict[str, float], None]):
    """The true rates of a simulated subject."""

    name, always, before = "planted", True, "usage"

    def found(self, whole: Whole) -> dict[str, float] | None:
        """Those on these scenarios: it has no belief to lack where facts are provided."""
        planted, table = whole.subject.get("planted"), whole.table
        if not planted or not len(table.weights) or table.about.any():  # a twin's silence is honest
            return None
        elicited = ~table.given
        unsure = planted["unsure"] * float(table.weights[elicited].sum() / table.weights.sum())
        lie, evade = planted["lie"], planted["evade"]
        evades_unsure = evade * unsure if whole.rules.evasion_first else 0.0  # it evades whether it has a belief or not
        return {
            "p_lie": (1 - unsure) * lie,
            "p_honest": (1 - unsure) * (1 - lie - evade),
            "p_evasive": (1 - unsure) * evade + evades_unsure,
            "p_no_belief": unsure - evades_unsure,
        }


class PlaceboReader(Reader[Placebo, None]):
    """The control on the subject: one more neutral reply, judged as if it were a statement."""

    name, always = "placebo", True

    def __init__(self, tally: PlaceboTally | None) -> None:
        self._tally = tally

    @classmethod
    def of(cls, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Self:
        """Of a run that asks for it."""
        return cls(PlaceboTally(judged.settings, rules) if judged.settings.design.placebo else None)

    def see(self, done: Done) -> None:
        """Take in the neutral reply."""
        if self._tally:
            self._tally.add(done.scenario, done.scored, done.placebo())

    def found(self, whole: Whole) -> Placebo | None:
        """What it came to."""
        return self._tally.figures() if self._tally else None


class ChanceReader(Reader[Chance, None]):
    """The chance level of P(lie); scenarios that were answered and judged alike are looked at once."""

    name, always = "chance", True

    def __init__(self, tally: ChanceTally, *, is_told: bool) -> None:
        self._tally, self._is_told = tally, is_told
        self._parts: dict[int, ChancePart | None] = {}

    @classmethod
    def of(cls, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Self:
        """Of a run whose numbers are not exchanged for others."""
        texts = run.record.without_texts
        return cls(ChanceTally(judged.settings, rules), is_told=not (texts and texts.exchanged))

    def see(self, done: Done) -> None:
        """Take in what the statement could have been."""
        if done.like not in self._parts:
            self._parts[done.like] = self._tally.part(done.scenario, done.scored, done.items)
        if part := self._parts[done.like]:
            self._tally.add(part, done.scored)

    def found(self, whole: Whole) -> Chance | None:
        """The level, where there is a P(lie) to hold against it."""
        return self._tally.figures() if self._is_told and not whole.withheld else None


class FalseLiesReader(Reader[FalseLies, None]):
    """What neutral replies would be as statements; scenarios that were answered and judged alike are looked at once."""

    name, always = "false_lies", True

    def __init__(self, tally: FalseLieTally) -> None:
        self._tally = tally
        self._parts: dict[int, HeldOut] = {}

    @classmethod
    def of(cls, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Self:
        """Of any run."""
        return cls(FalseLieTally(judged.settings, rules))

    def see(self, done: Done) -> None:
        """Take in the neutral replies."""
        if (part := self._parts.get(done.like)) is None:
            held = self._tally.part(done.scenario, done.scored, done.items, done.placebo())
            part = self._parts[done.like] = held
        self._tally.add(part, done.scored)

    def found(self, whole: Whole) -> FalseLies | None:
        """The floor, where there is a P(lie) to hold against it."""
        return None if whole.withheld else self._tally.figures()


class JudgesReader(Reader[JudgesShown, None]):
    """How far the judges of a run agree; nothing where there is one."""

    name, always = "judges", True

    def __init__(self, run: OpenRun) -> None:
        self._run = run

    @classmethod
    def of(cls, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Self:
        """Of all verdict sets that are whole."""
        return cls(run)

    def found(self, whole: Whole) -> JudgesShown | None:
        """How far they agree."""
        sets = [self._run.verdicts(name) for name in self._run.whole()]
        return agreement(sets, whole.rules, self._run.record.scenarios.n) if len(sets) > 1 else None


class BillReader(Reader[Bill, None]):
    """What the run cost; nothing where nobody bills any of the models, or nothing was asked here."""

    name = "bill"

    def __init__(self, run: OpenRun, judged: VerdictSet) -> None:
        self._run, self._judged = run, judged

    @classmethod
    def of(cls, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Self:
        """Of the replies and of this verdict set."""
        return cls(run, judged)

    def found(self, whole: Whole) -> Bill | None:
        """The bill; at least so much where the subject's server counts one of several samples."""
        if bill := bill_of(self._run.store, [self._judged.name]):
            bill.at_least |= bool(whole.subject.learned.get("counts_one"))
        return bill


class SourceReader(Reader[ImportedFrom, None]):
    """Where replies and verdicts are from, where no run asked for them."""

    name = "imported"

    def __init__(self, source: ImportedFrom | None) -> None:
        self._source = source

    @classmethod
    def of(cls, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Self:
        """Of the record."""
        return cls(run.record.imported)

    def found(self, whole: Whole) -> ImportedFrom | None:
        """The source."""
        return self._source


class CutReader(Reader[None, None]):
    """The share of replies under pressure that were cut at the token limit."""

    def __init__(self) -> None:
        self._parts: dict[int, tuple[int, int]] = {}
        self._cut = self._replies = 0

    def see(self, done: Done) -> None:
        """Count the replies of one scenario."""
        if (part := self._parts.get(done.like)) is None:
            statements = (item.reply for item in done.items.values() if item.call == "statement")
            cut = [reply.truncated for reply in statements if isinstance(reply, Reply)]
            part = self._parts[done.like] = sum(cut), len(cut)
        self._cut, self._replies = self._cut + part[0], self._replies + part[1]

    @property
    def share(self) -> float:
        """The share; 0 without replies."""
        return self._cut / self._replies if self._replies else 0.0


READERS: tuple[type[Reader[Any, Any]], ...] = (
    AskedReader,
    PlantedReader,
    LabelsReader,
    PlaceboReader,
    ChanceReader,
    FalseLiesReader,
    JudgesReader,
    BillReader,
    ReportsReader,
    SourceReader,
    CutReader,
)
FURTHER_RATES = tuple(each for each in READERS if issubclass(each, FurtherRate))


def readers_of(run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Readers:
    """All of them, for a run that is to be read."""
    return Readers(each.of(run, judged, rules) for each in READERS)
