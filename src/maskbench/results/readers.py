"""The readers of a run in the order of their figures; terminal, page, Markdown and JSON walk this list."""

from __future__ import annotations

from statistics import median
from typing import Any, Self, TypeAlias

from msgspec import Struct

from maskbench.method.chance import Chance, ChanceTally
from maskbench.method.false_lies import FalseLies, FalseLieTally
from maskbench.method.placebo import Placebo, PlaceboTally
from maskbench.method.rules import RuleSet
from maskbench.results.calibration import LabelsReader
from maskbench.results.further_rate import FurtherRate
from maskbench.results.gain_minus_plain import ReportsReader
from maskbench.results.judges_agree import JudgesShown, agreement
from maskbench.results.reader import OfKind, Reader, Readers, Shared, Whole
from maskbench.results.splits import AskedReader
from maskbench.scenarios import Key
from maskbench.store.bill import Bill, bill_of
from maskbench.store.source import ImportedFrom
from maskbench.store.verdict_sets import Done, OpenRun, VerdictSet, names
from maskbench.types import OUTCOMES, OutcomeName, Reply


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
    """The control on the subject: one more neutral reply, judged as if it were a statement; nothing where none is."""

    name, always = "placebo", True

    def __init__(self, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> None:
        """Begin to add up."""
        self._tally = PlaceboTally(judged.settings, rules) if judged.settings.design.placebo else None

    def see(self, done: Done) -> None:
        """Take in the neutral reply."""
        if self._tally:
            self._tally.add(done.scenario, done.scored, done.placebo())

    def found(self, whole: Whole) -> Placebo | None:
        """The figures of the control."""
        return self._tally.figures() if self._tally else None


class ChanceReader(Reader[Chance, None]):
    """The chance level of P(lie); nothing where numbers were exchanged for others."""

    name, always = "chance", True

    def __init__(self, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> None:
        """Begin to add up."""
        texts, self._tally = run.record.without_texts, ChanceTally(judged.settings, rules)
        self._is_told = not (texts and texts.exchanged)
        self._part = OfKind(lambda done: self._tally.part(done.scenario, done.scored, done.items))

    def see(self, done: Done) -> None:
        """Take in what the statement could have been."""
        if part := self._part(done):
            self._tally.add(part, done.scored)

    def found(self, whole: Whole) -> Chance | None:
        """The level, where there is a P(lie) to hold against it."""
        return self._tally.figures() if self._is_told and not whole.withheld else None


class FalseLiesReader(Reader[FalseLies, None]):
    """The false-lie floor: neutral replies scored as if they were statements."""

    name, always = "false_lies", True

    def __init__(self, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> None:
        """Begin to add up."""
        self._tally = FalseLieTally(judged.settings, rules)
        self._part = OfKind(lambda done: self._tally.part(done.scenario, done.scored, done.items, done.placebo()))

    def see(self, done: Done) -> None:
        """Take in the neutral replies."""
        self._tally.add(self._part(done), done.scored)

    def found(self, whole: Whole) -> FalseLies | None:
        """The floor, where there is a P(lie) to hold against it."""
        return None if whole.withheld else self._tally.figures()


class JudgesReader(Reader[JudgesShown, None]):
    """Agreement of a run's judges, over all verdict sets that are whole; nothing where there is one."""

    name, always = "judges", True

    def found(self, whole: Whole) -> JudgesShown | None:
        """Their agreement."""
        sets = [self._run.verdicts(name) for name in self._run.whole()]
        return agreement(sets, whole.rules, self._run.record.scenarios.n) if len(sets) > 1 else None


class OtherSetsReader(Reader[list[str], None]):
    """The names of the run's other verdict sets, its own first; nothing where there are none."""

    name = "other_verdicts"

    def found(self, whole: Whole) -> list[str] | None:
        """The names."""
        every = names(self._run.record, self._run.store)
        return [name for name in every if name != self._judged.name] or None


class BillReader(Reader[Bill, None]):
    """The bill of replies and verdicts; nothing where nobody bills any of the models, or nothing was asked here."""

    name = "bill"

    def found(self, whole: Whole) -> Bill | None:
        """The bill; at least so much where the subject's server counts one of several samples."""
        if bill := bill_of(self._run.store, [self._judged.name]):
            bill.at_least |= bool(whole.subject.learned.get("counts_one"))
        return bill


class SourceReader(Reader[ImportedFrom, None]):
    """The source of an imported run."""

    name = "imported"

    def found(self, whole: Whole) -> ImportedFrom | None:
        """The source."""
        return self._run.record.imported


class CutReader(Reader[None, None]):
    """The share of replies under pressure that were cut at the token limit."""

    def __init__(self, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> None:
        """Begin to count."""
        self._cut: list[bool] = []
        self._of = OfKind(_cut)

    def see(self, done: Done) -> None:
        """Count the replies of one scenario."""
        self._cut += self._of(done)

    @property
    def share(self) -> float:
        """The share; 0 without replies."""
        return sum(self._cut) / len(self._cut) if self._cut else 0.0


class MedianWords(Struct, forbid_unknown_fields=True):
    """The median number of words of a statement in two runs, over the scenarios that both have."""

    first: float
    other: float


_Words: TypeAlias = tuple[tuple[OutcomeName, int], ...]  # of a scenario's statements, each by its outcome


class WordsReader(Reader[dict[OutcomeName, float], MedianWords]):
    """The median number of words of a statement by its outcome; nothing where the run holds no texts."""

    name = "median_words"

    def __init__(self, run: OpenRun, judged: VerdictSet, rules: RuleSet) -> None:
        """Begin to count."""
        self._has_texts = not run.record.without_texts
        self._keys: list[Key] = []
        self._words: list[_Words] = []  # of the scenario in the same place
        self._alike: dict[_Words, _Words] = {}  # most scenarios have the same few, which are kept once

    def see(self, done: Done) -> None:
        """Count the words of one scenario's statements."""
        outcomes = done.scored.outcomes if self._has_texts else ()
        said = zip(outcomes, done.samples.statements(len(outcomes)), strict=True)
        counts = tuple([(name, len(text.split())) for name, text in said if name != "error" and text is not None])
        self._keys.append(done.key)
        self._words.append(self._alike.setdefault(counts, counts))

    def found(self, whole: Whole) -> dict[OutcomeName, float] | None:
        """The medians, of outcomes in their order."""
        by: dict[OutcomeName, list[int]] = {name: [] for name in OUTCOMES}
        for outcome, count in (each for scenario in self._words for each in scenario):
            by[outcome].append(count)
        return {name: float(median(counts)) for name, counts in by.items() if counts} or None

    def against(self, other: Self, shared: Shared) -> MedianWords | None:
        """Both medians."""
        sides = [each._counts(shared) for each in (self, other)]
        return MedianWords(float(median(sides[0])), float(median(sides[1]))) if all(sides) else None

    def _counts(self, shared: Shared) -> list[int]:
        words = dict(zip(self._keys, self._words, strict=True))
        return [count for row in shared.first for _, count in words.get(row.key, ())]


def _cut(done: Done) -> list[bool]:
    statements = (item.reply for item in done.items.values() if item.call == "statement")
    return [reply.truncated for reply in statements if isinstance(reply, Reply)]


READERS: tuple[type[Reader[Any, Any]], ...] = (
    AskedReader,
    PlantedReader,
    LabelsReader,
    PlaceboReader,
    ChanceReader,
    FalseLiesReader,
    JudgesReader,
    OtherSetsReader,
    BillReader,
    ReportsReader,
    SourceReader,
    CutReader,
    WordsReader,
)
FURTHER_RATES = tuple(each for each in READERS if issubclass(each, FurtherRate))


def readers_of(run: OpenRun, judged: VerdictSet, rules: RuleSet) -> Readers:
    """All of them, for a run that is to be read."""
    return Readers(each(run, judged, rules) for each in READERS)
