"""The explorer of a page: every scenario of its runs, to be filtered, searched and opened in the browser.

The page carries two packed blocks (JSON, gzip, base64) that no browser executes: the index, which lists and filters
scenarios, and the texts, which are unpacked when one is opened or searched for. Both are packed scenario by scenario,
so that memory hardly grows with a run. One script, joined from several files of static/, does the rest.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from msgspec.json import encode

from maskbench.method import archetypes
from maskbench.method.asks import VERDICTS, subject_asks
from maskbench.method.forms import USUAL, JudgingForm, form_of
from maskbench.method.outcomes import Items
from maskbench.method.proposition import options
from maskbench.method.rules import RuleSet, named, same_answer
from maskbench.plain import one_line
from maskbench.presentation.page.explorer_records import (
    Entry,
    Lapse,
    PageRun,
    PageSample,
    PageScenario,
    PageVerdict,
    Question,
    Turn,
)
from maskbench.presentation.page.packing import BUDGET, MOST, Texts, packed
from maskbench.presentation.runs_shown import how_held, severity
from maskbench.presentation.sections.story import belief_story, belief_words, story, verdict_words
from maskbench.scenarios import canonical, is_starter
from maskbench.settings import Settings
from maskbench.store.record import judged_settings
from maskbench.store.verdict_sets import Done, OpenRun, Readable, VerdictSet, names, reading
from maskbench.types import (
    Archetype,
    Ask,
    BinaryVerdict,
    Failure,
    Item,
    Judgement,
    Range,
    Reply,
    Scenario,
)

if TYPE_CHECKING:
    from markupsafe import Markup


SCRIPTS = (  # in the order in which they need each other
    "explorer_text.js",
    "explorer_contents.js",
    "explorer_filters.js",
    "explorer_list.js",
    "explorer_diff.js",
    "explorer_scenario.js",
    "explorer_copies.js",
    "explorer.js",
)
INDEX, TEXTS = "<!--index-->", "<!--texts-->"  # where the blocks belong: nothing that is escaped reads like this
_LINE = 200  # characters of a proposition in the list, and of an identity
_NAME = 80  # characters of a judge's name
_MARKS = re.compile("</?pivotal>")
_SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True)
class Explorer:
    """The explorer's part of a page: its HTML with marks where `blocks` belong, and its styles and scripts."""

    html: Markup
    blocks: dict[str, str]
    styles: list[str]
    scripts: list[str]


def explorer(
    runs: Sequence[Readable],
    *,
    rules: str | None = None,
    verdicts: str | None = None,
    include_text: bool = False,
    names: Sequence[str] | None = None,
) -> Explorer:
    """The explorer of these runs under their own rules and verdicts or others; the page calls the runs by `names`.

    Texts of scenarios and replies are embedded for the sets that come with maskbench, for others with
    `include_text`. Raises RunUnreadable where a folder holds no run, UnknownVerdicts and UsageError for verdicts and
    rules that there are not.
    """
    from markupsafe import Markup

    from maskbench.presentation.page.shell import environment, static

    carried = contents(runs, rules=rules, verdicts=verdicts, include_text=include_text, names=names)
    html = (
        environment()
        .get_template("explorer.jinja")
        .render(
            index=INDEX,
            texts=carried.texts and TEXTS,
            runs=carried.runs,
            without=[run.name for run in carried.runs if not run.texts],
        )
    )
    blocks = {INDEX: carried.index} | ({TEXTS: carried.texts} if carried.texts else {})
    return Explorer(Markup(html), blocks, [static("explorer.css")], [script()])  # noqa: S704  # of our template


def script() -> str:
    """The explorer's script: its files in one function, so that their names are theirs alone on the page."""
    from maskbench.presentation.page.shell import static

    parts = "\n".join(static(name) for name in SCRIPTS)
    return f'"use strict";\n\n(() => {{\n{parts}}})();\n'


@dataclass(frozen=True, slots=True)
class Contents:
    """The explorer's data on a page: the runs, and both blocks as they stand in it; `texts` is empty without texts."""

    runs: tuple[PageRun, ...]
    index: str
    texts: str


def contents(
    runs: Sequence[Readable],
    *,
    rules: str | None = None,
    verdicts: str | None = None,
    include_text: bool = False,
    names: Sequence[str] | None = None,
) -> Contents:
    """The index and the texts as the script reads them; the texts are cut to what the budget allows."""
    with ExitStack() as stack:
        shown = [_run(stack.enter_context(reading(run)), rules, verdicts, include_text) for run in runs]
        index = _Index(shown, names, stack.enter_context(closing(Texts())))
        return Contents(index.about, packed(index.parts()), index.texts)


class _Index:
    """The index while it is packed: scenarios first, then what is known only once all of them were seen."""

    def __init__(self, runs: Sequence[_Run], names: Sequence[str] | None, table: Texts) -> None:
        self.texts = ""
        self.about = tuple(
            PageRun(name, run.verdicts.settings.design.statements, run.embeds, tuple(_judges(run)))
            for run, name in zip(runs, _names(runs, names), strict=True)
        )
        self._runs, self._table = runs, table

    def parts(self) -> Iterator[bytes]:
        """The JSON of the index, a scenario at a time; the texts are there once it has come to its end."""
        results = 0
        known: dict[Archetype, str] = {}
        yield b'{"scenarios":['
        for scenario, done in _aligned(self._runs):
            known.setdefault(scenario.archetype, archetypes.of(scenario).title.lower())
            entry = _entry(scenario, done, self._runs, self._table)
            if had := sum(result is not None for result in entry.results):
                yield (b"," if results else b"") + encode(entry)
                results += had
        self.texts, cut = self._table.fitted(min(MOST, BUDGET * max(1.0, results / 1_000)))
        titles = {name: known[name] for name in archetypes.in_order(known)}
        yield b'],"runs":' + encode(self.about) + b',"archetypes":' + encode(titles) + b',"cut":%d}' % cut


# Reading runs


@dataclass(frozen=True, slots=True)
class _Run:
    """One run while the page is made; `others` are its verdict sets beside the one that the outcomes are by."""

    opened: OpenRun
    verdicts: VerdictSet
    rules: RuleSet
    embeds: bool  # whether its texts may stand in the page
    others: tuple[str, ...]

    @property
    def sets(self) -> tuple[str, ...]:
        """The stored sets that the page shows something of."""
        return (*self.verdicts.sets, *self.others)


def _run(opened: OpenRun, rules: str | None, verdicts: str | None, include_text: bool) -> _Run:
    chosen = opened.verdicts(verdicts)
    others = [name for name in names(opened.record, opened.store) if name != chosen.name]
    numbers = form_of(chosen.settings.judging).numbers_apart  # a verdict on one reply is none on all of them
    others = [name for name in others if form_of(opened.verdicts(name).settings.judging).numbers_apart == numbers]
    embeds = include_text or embeddable(opened.settings)
    return _Run(opened, chosen, named(rules or opened.settings.design.rules), embeds, tuple(others))


def _judges(run: _Run) -> Iterator[str]:
    """What the verdict sets are called: by their judges, with the set's own name where two have one judge."""
    every = [(run.verdicts.name, run.verdicts.settings)]
    for name in run.others:
        about = None if name == VERDICTS else run.opened.record.verdict_sets.get(name)
        every.append((name, judged_settings(run.opened.settings, about) if about else run.opened.settings))
    labels = [" and ".join(how.judging.judges) for _, how in every]
    often = Counter(labels)
    for (name, _), label in zip(every, labels, strict=True):
        yield one_line(label, _NAME) + (f" (set {one_line(name, _NAME)})" if often[label] > 1 else "")


def _names(runs: Sequence[_Run], names: Sequence[str] | None) -> list[str]:
    """What the runs are called: by the page, or by their subjects; numbered where there are several."""
    called = list(names or [run.verdicts.settings.label for run in runs])
    if len(called) == 1:
        return called
    return [name if name.startswith(f"{n} ") else f"{n} {name}" for n, name in enumerate(called, start=1)]


def embeddable(settings: Settings) -> bool:
    """Whether the run's set is one of our own, whose licence (CC BY 4.0) lets everybody pass its texts on."""
    return is_starter(settings.design.scenarios) or settings.design.scenarios.partition(":")[0] == _SANDBOX


def _aligned(runs: Sequence[_Run]) -> Iterator[tuple[Scenario, list[Done | None]]]:
    """Every scenario as it is done in each run that has it, in the order in which they first come.

    The same text is the same scenario.
    """
    if len(runs) == 1:
        for samples, weight in runs[0].verdicts.store.read(*runs[0].sets):
            yield samples.scenario, [runs[0].verdicts.done(samples, weight, runs[0].rules)]
        return
    weights = [{_digest(scenario): weight for scenario, weight in run.verdicts.store.scenarios()} for run in runs]
    for place, run in enumerate(runs):
        for scenario, _ in run.verdicts.store.scenarios():
            key = _digest(scenario)
            if not any(key in earlier for earlier in weights[:place]):
                yield (
                    scenario,
                    [
                        each.verdicts.done(each.verdicts.store.samples(scenario, *each.sets), had[key], each.rules)
                        if key in had
                        else None
                        for each, had in zip(runs, weights, strict=True)
                    ],
                )


def _digest(scenario: Scenario) -> bytes:
    return hashlib.blake2b(canonical(scenario), digest_size=16).digest()


# One scenario


def _entry(scenario: Scenario, done: Sequence[Done | None], runs: Sequence[_Run], table: Texts) -> Entry:
    """One scenario with its result in each run, None where it is not done."""
    places = list(zip(done, runs, strict=True))
    entry = Entry(
        scenario.archetype,
        scenario.task_id[:_LINE],
        tuple(None if had is None else _result(had, run, table) for had, run in places),
        {True: "yes", False: "no", None: None}[scenario.asked_outright],
    )
    if any(had is not None and run.embeds for had, run in places):
        line = " ".join(_MARKS.sub("", scenario.proposition).replace("<value>", "…").split())
        sides = options(scenario.proposition) if scenario.kind == "binary" else (line,)
        entry.line = line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
        entry.options = tuple(map(table.add, sides))
        entry.truth = scenario.truth.words if isinstance(scenario.truth, Range) else scenario.truth
    return entry


def _result(done: Done, run: _Run, table: Texts) -> PageScenario:
    """What the scenario comes to in one run."""
    scenario, scored, items, settings = done.scenario, done.scored, done.items, run.verdicts.settings
    held = how_held(scenario, items, scored)
    others = [{(item.elicitation, item.run): item for item in done.samples.items(name)} for name in run.others]
    sheet = _Sheet(table if run.embeds else None, others, form_of(settings.judging))
    *neutral, pressed = subject_asks(scenario, settings)
    replies = [items[0, number].reply for number in pressed.runs]
    return PageScenario(
        outcomes=scored.outcomes,
        outcome=scored.outcome,
        accuracy=scored.accuracy,
        held=held,
        story=story(scenario, items, scored),
        belief_story=belief_story(scenario, items, scored),
        turns=sheet.turns(pressed),
        statements=tuple(sheet.sample(items[0, number]) for number in pressed.runs),
        beliefs=tuple(sheet.question(ask, items) for ask in _asked(neutral, items)),
        no_belief=scored.resolved.reason,
        belief=belief_words(scored),
        worst=severity(scored, held),
        length=sum(len(reply.text) for reply in replies if isinstance(reply, Reply)),
    )


def _asked(asks: Sequence[Ask], items: Items) -> Iterator[Ask]:
    """The questions that were asked, each for the samples that were asked for."""
    for ask in asks:
        if runs := tuple(run for run in ask.runs if (ask.elicitation, run) in items):
            yield ask if runs == ask.runs else replace(ask, runs=runs)


def _differ(first: object, other: object) -> bool:
    """Whether two verdicts on one sample are not the same; a missing or failed one is none."""
    if not isinstance(first, Judgement) or not isinstance(other, Judgement):
        return False
    if verdict_words(first.verdict) == verdict_words(other.verdict):
        return False
    belief = first.verdict.letter if isinstance(first.verdict, BinaryVerdict) else first.verdict.ranges
    return not same_answer(belief, other.verdict)  # type: ignore[arg-type]  # a verdict may be C or D as well


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What of a run's samples goes into the page; without a table, no text does."""

    table: Texts | None
    others: Sequence[Mapping[tuple[int, int], Item]] = field(default=())
    form: JudgingForm = USUAL

    def turns(self, ask: Ask) -> tuple[Turn, ...]:
        """The messages of an ask as they are sent."""
        if self.table is None:
            return ()
        return tuple(Turn(message.role, self.table.add(message.text)) for message in ask.messages)

    def question(self, ask: Ask, items: Items) -> Question:
        """A belief question with its replies; a joint verdict stands beside them, not with the last."""
        joint = self.form.is_joint(ask)
        samples = tuple(self.sample(items[ask.elicitation, number], judged=not joint) for number in ask.runs)
        last = items[ask.elicitation, ask.runs[-1]]
        return Question(ask.call, self.turns(ask), samples, self._judged(last) if joint else None)

    def sample(self, item: Item, *, judged: bool = True) -> PageSample:
        """One reply and, where it is `judged` by itself, the verdicts on it, or how they failed."""
        sample = self._judged(item) if judged else PageSample()
        match item.reply:
            case Reply(text=text, reasoning=reasoning, truncated=truncated):
                sample.text, sample.reasoning, sample.cut = self._text(text), self._text(reasoning), truncated
            case Failure():
                sample.failures = (self._lapse(item.reply), *sample.failures)
        return sample

    def _judged(self, item: Item) -> PageSample:
        """The verdict on a sample, with those of the other sets."""
        sample = PageSample()
        self._fill(sample, item)
        if self.others:
            place = item.elicitation, item.run
            sample.others = tuple(self._other(item, items.get(place)) for items in self.others)
        return sample

    def _other(self, item: Item, other: Item | None) -> PageVerdict:
        """Another set's verdict on the same sample, and whether it is another one."""
        judged = PageVerdict()
        if other is not None:
            self._fill(judged, other)
            judged.differs = _differ(item.judgement, other.judgement)
        return judged

    def _fill(self, judged: PageVerdict, item: Item) -> None:
        match item.judgement:
            case Judgement(verdict=verdict, reason=reason, confidence=confidence):
                judged.verdict, judged.kind = verdict_words(verdict), verdict.evasion
                judged.confidence, judged.reason = confidence, self._text(reason)
            case Failure() as failure:
                judged.failures = (self._lapse(failure),)

    def _lapse(self, failure: Failure) -> Lapse:
        return Lapse(failure.stage, failure.cause, self._text(failure.detail))

    def _text(self, text: str | None) -> int | None:
        return self.table.add(text) if self.table else None
