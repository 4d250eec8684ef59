"""The explorer of a page: every scenario of its runs, to be filtered, searched and opened in the browser.

The page carries two packed blocks (JSON, gzip, base64) that no browser executes: the index, which lists and filters
scenarios, and the texts, which are unpacked when one is opened or searched for. One script, joined from several files
of static/, does the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskbench.judges.verdict_sets import OpenRun, Readable, VerdictSet, reading
from maskbench.method import archetypes
from maskbench.method.asks import is_joint, subject_asks
from maskbench.method.judge_ask import options
from maskbench.method.outcomes import Items
from maskbench.method.rules import RuleSet, named
from maskbench.pages.packing import BUDGET, Texts, packed
from maskbench.report.sections.story import belief_story, belief_words, story, verdict_words
from maskbench.scenarios import canonical
from maskbench.scenarios.versions import is_starter
from maskbench.settings import Settings
from maskbench.types import Archetype, Ask, Disputed, Failure, Item, Json, Judgement, Range, Reply, Scenario

if TYPE_CHECKING:
    from markupsafe import Markup


SCRIPTS = (  # in the order in which they need each other
    "explorer_text.js",
    "explorer_contents.js",
    "explorer_filters.js",
    "explorer_list.js",
    "explorer_scenario.js",
    "explorer.js",
)
_LINE = 200  # characters of a proposition in the list, and of an identity
_MARKS = re.compile("</?pivotal>")
_SANDBOX = "sandbox"


@dataclass(frozen=True, slots=True)
class Explorer:
    """The explorer's part of a page: its HTML, and what goes into the page's style and script elements."""

    html: Markup
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

    from maskbench.pages.shell import environment, static

    index, texts = contents(runs, rules=rules, verdicts=verdicts, include_text=include_text, names=names)
    template = environment().get_template("explorer.jinja")
    html = template.render(
        index=packed(index),
        texts=packed(texts) if texts else "",
        runs=index["runs"],
        without=[run["name"] for run in index["runs"] if not run["texts"]],
    )
    return Explorer(Markup(html), [static("explorer.css")], [script()])  # noqa: S704  # of our template


def script() -> str:
    """The explorer's script: its files in one function, so that their names are theirs alone on the page."""
    from maskbench.pages.shell import static

    parts = "\n".join(static(name) for name in SCRIPTS)
    return f'"use strict";\n\n(() => {{\n{parts}}})();\n'


def contents(
    runs: Sequence[Readable],
    *,
    rules: str | None = None,
    verdicts: str | None = None,
    include_text: bool = False,
    names: Sequence[str] | None = None,
) -> tuple[Json, list[Any]]:
    """The index and the texts as the script reads them; the texts are cut to what the budget allows."""
    with ExitStack() as stack:
        shown = [_run(stack.enter_context(reading(run)), rules, verdicts, include_text) for run in runs]
        table = Texts()
        aligned = list(_aligned(shown))
        scenarios = [entry for places in aligned if any((entry := _entry(places, shown, table))["results"])]
    done = sum(result is not None for scenario in scenarios for result in scenario["results"])
    texts, cut = table.fitted(BUDGET * max(1.0, done / 1_000))
    about = [
        {
            "name": name,
            "statements": run.verdicts.settings.statements,
            "texts": run.embeds,
        }
        for run, name in zip(shown, _names(shown, names), strict=True)
    ]
    return {"runs": about, "cut": cut, "archetypes": _titles(aligned), "scenarios": scenarios}, texts


def _titles(aligned: Sequence[Sequence[_Place]]) -> dict[Archetype, str]:
    """What people call the archetypes of these scenarios, in the order of the table."""
    known = {place[0].archetype: archetypes.of(place[0]) for places in aligned for place in places if place}
    return {name: known[name].title.lower() for name in archetypes.in_order(known)}


# Reading runs


_Place = tuple[Scenario, float] | None  # a scenario with its weight in one run


@dataclass(frozen=True, slots=True)
class _Run:
    """One run while the page is made."""

    verdicts: VerdictSet
    rules: RuleSet
    embeds: bool  # whether its texts may stand in the page


def _run(opened: OpenRun, rules: str | None, verdicts: str | None, include_text: bool) -> _Run:
    chosen = named(rules or opened.settings.rules)
    return _Run(opened.verdicts(verdicts), chosen, include_text or embeddable(opened.settings))


def _names(runs: Sequence[_Run], names: Sequence[str] | None) -> list[str]:
    """What the runs are called: by the page, or by their subjects; numbered where there are several."""
    called = list(names or [run.verdicts.settings.label for run in runs])
    if len(called) == 1:
        return called
    return [name if name.startswith(f"{n} ") else f"{n} {name}" for n, name in enumerate(called, start=1)]


def embeddable(settings: Settings) -> bool:
    """Whether the run's set is one of our own, whose licence (CC BY 4.0) lets everybody pass its texts on."""
    return is_starter(settings.scenarios) or settings.scenarios.partition(":")[0] == _SANDBOX


def _aligned(runs: Sequence[_Run]) -> Iterator[list[tuple[Scenario, float] | None]]:
    """Every scenario with its place in each run, in the order in which they first come; the same text is the same."""
    found: dict[bytes, list[tuple[Scenario, float] | None]] = {}
    for place, run in enumerate(runs):
        for scenario, weight in run.verdicts.store.scenarios():
            found.setdefault(canonical(scenario), [None] * len(runs))[place] = scenario, weight
    yield from found.values()


# One scenario


def _entry(places: Sequence[tuple[Scenario, float] | None], runs: Sequence[_Run], table: Texts) -> Json:
    """One scenario with its result in each run; None where the run does not have it, or not yet."""
    scenario = next(place[0] for place in places if place)
    embeds = any(place and run.embeds for place, run in zip(places, runs, strict=True))
    entry: Json = {
        "archetype": scenario.archetype,
        "id": scenario.task_id[:_LINE],
        "outright": {True: "yes", False: "no", None: None}[scenario.asked_outright],
        "results": [_result(*place, run, table) if place else None for place, run in zip(places, runs, strict=True)],
    }
    return entry | _proposition(scenario, table) if embeds else entry


def _proposition(scenario: Scenario, table: Texts) -> Json:
    line = " ".join(_MARKS.sub("", scenario.proposition).replace("<value>", "…").split())
    sides = options(scenario.proposition) if scenario.kind == "binary" else (line,)
    truth = scenario.truth
    return {
        "line": line if len(line) <= _LINE else f"{line[: _LINE - 1]}…",
        "options": [table.add(text) for text in sides],
        "truth": truth.words if isinstance(truth, Range) else truth,
    }


def _result(scenario: Scenario, weight: float, run: _Run, table: Texts) -> Json | None:
    """What the scenario comes to in one run; None where it is not done."""
    items, settings = run.verdicts.finished(scenario), run.verdicts.settings
    if items is None:
        return None
    scored = run.verdicts.score(scenario, weight, items, run.rules)
    sheet = _Sheet(table if run.embeds else None)
    *neutral, pressed = subject_asks(scenario, settings)
    return {
        "outcomes": scored.outcomes,
        "outcome": scored.outcome,
        "accuracy": scored.accuracy,
        "no_belief": scored.resolved.reason,
        "belief": belief_words(scored),
        "story": story(scenario, items, scored),
        "belief_story": belief_story(scenario, items, scored),
        "turns": sheet.turns(pressed),
        "statements": [sheet.sample(items[0, number]) for number in pressed.runs],
        "beliefs": [sheet.question(ask, items) for ask in neutral],
    }


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What of a run's samples goes into the page; without a table, no text does."""

    table: Texts | None

    def turns(self, ask: Ask) -> list[Json]:
        """The messages of an ask as they are sent."""
        if self.table is None:
            return []
        return [{"role": message.role, "text": self.table.add(message.content)} for message in ask.messages]

    def question(self, ask: Ask, items: Items) -> Json:
        """A belief question with its replies; a joint verdict stands beside them, not with the last."""
        samples = [self.sample(items[ask.elicitation, number]) for number in ask.runs]
        question: Json = {"call": ask.call, "turns": self.turns(ask), "samples": samples}
        if is_joint(ask):
            last = items[ask.elicitation, ask.runs[-1]]
            question["joint"] = self._verdict(last.judgement)
            samples[-1] = self.sample(Item(last.call, last.elicitation, last.run, last.reply))
        return question

    def sample(self, item: Item) -> Json:
        """One reply and the verdict on it, or how they failed."""
        made = self._verdict(item.judgement)
        match item.reply:
            case Reply(text=text, reasoning=reasoning, truncated=truncated):
                made |= {"text": self._text(text), "reasoning": self._text(reasoning), "cut": truncated}
            case Failure():
                made["failures"] = [self._failure(item.reply), *made.get("failures", [])]
        return _told(made)

    def _verdict(self, judgement: Judgement | Failure | Disputed | None) -> Json:
        match judgement:
            case Judgement(verdict=verdict, reason=reason, confidence=confidence):
                words = verdict_words(verdict)
                made = {"verdict": words, "kind": verdict.evasion, "confidence": confidence}
                return _told(made | {"reason": self._text(reason)})
            case Disputed(reason=reason):
                return _told({"verdict": "disputed", "reason": self._text(reason)})
            case Failure():
                return {"failures": [self._failure(judgement)]}
        return {}

    def _failure(self, failure: Failure) -> Json:
        return _told({"stage": failure.stage, "cause": failure.cause, "detail": self._text(failure.detail)})

    def _text(self, text: str | None) -> int | None:
        return self.table.add(text) if self.table else None


def _told(part: Json) -> Json:
    """A part of a sample without what there is not."""
    return {key: value for key, value in part.items() if value is not None and value is not False}
