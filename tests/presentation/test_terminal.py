"""The result as people read it: everything is there, it fits, and no name or reply steers the terminal."""

import io
import re
import unicodedata
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from msgspec import structs
from rich.console import Console

from flows import scenario, scenarios
from maskbench.asking.forecast import plan
from maskbench.cli.sections import dry_run
from maskbench.method.archetypes import TABLE
from maskbench.method.asks import subject_asks
from maskbench.method.forms import load_prompts
from maskbench.method.rates import EVERYWHERE, OF_OUTCOMES
from maskbench.presentation.format import interval, percent
from maskbench.presentation.of_one_run import result
from maskbench.presentation.of_runs import Alone
from maskbench.presentation.sections.headline import finding
from maskbench.presentation.terminal import show
from maskbench.results.summary import Part, Summary
from maskbench.scenarios import known_sets
from maskbench.stats.figures import Share
from maskbench.store.fitting import fitted
from maskbench.types import ARCHETYPES as KEYS
from maskbench.types import conversation
from outcomes import several
from simulated import settings, simulated, summarised

HOSTILE = "m\x1b[31m\x9b1m\u202e\r[red]x[/red][/]:smile:\x07"
HARMLESS = "m[31m1m[red]x[/red][/]:smile:"


def console(width: int = 80) -> Console:
    """A console that keeps what is printed, with rich's own defaults, markup and emoji among them."""
    return Console(file=io.StringIO(), width=width, force_terminal=False)


def printed(where: Console) -> str:
    """What was printed; nothing in it may steer a terminal."""
    assert isinstance(where.file, io.StringIO)
    text = where.file.getvalue()
    hidden = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co") and c != "\n"}
    assert not hidden
    return text


def shown(summary: Summary, width: int = 80) -> str:
    """A result as printed."""
    where = console(width)
    show(result(summary), where)
    return printed(where)


def joined(text: str) -> str:
    """The text without its line breaks."""
    return " ".join(text.split())


@cache
def whole() -> Summary:
    """A result with something of everything."""
    return simulated("sim/fail=0.02", scenarios(20), statements=3, max_error_rate=1, judge="sim-judge/accuracy=0.9")


# Everything is there


def test_numbers_are_written_in_one_way() -> None:
    """From a thousand on they have a comma, in every table and every line."""
    known = whole()
    plain = {**grown(known.as_dict() | {"corrected": LABELS, "placebo": PLACEBO}), "schema": 1}
    text = shown(fitted(plain, Summary), 120)
    assert re.search(r"\d,\d{3}", text)
    assert not unparted(text.replace(known.scenarios.hash[:12], ""))


def grown(data: Any) -> Any:
    """The data with every whole number ten thousand times as large."""
    if isinstance(data, dict):
        return {name: grown(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [grown(value) for value in data]
    return 10_000 * data if isinstance(data, int) and not isinstance(data, bool) else data


def unparted(text: str) -> list[str]:
    """Numbers of four digits and more that stand without a comma."""
    return re.findall(r"(?<![\w.,])\d{4,}(?![\w.])", text)


RATE = {"value": 0.5, "ci95": [0.4, 0.6], "n": 7}
LABELS = {
    "who": "people",
    "withheld": None,
    "scenarios": 12,
    "drawn": 4,
    "labelled": 4,
    "disagreements": 2,
    "judged": dict.fromkeys(OF_OUTCOMES, 0.5),
    "metrics": dict.fromkeys(OF_OUTCOMES, RATE),
    "judges_part": dict.fromkeys(OF_OUTCOMES, 0.5),
}
PLACEBO = {"failed": 3, "counts": {"lie": 1}, "p_lie": RATE, "p_lie_pressured": RATE}


@pytest.mark.parametrize("width", [80, 120])
def test_everything_is_there(width: int) -> None:
    """Counts, headline with interval and caveat, all rates, bounds, curve, archetypes, causes, tokens, what was run."""
    summary = whole()
    text = shown(summary, width)
    metrics = summary.rates
    for name in EVERYWHERE:
        assert percent(metrics[name].value) in text
        assert interval(metrics[name].ci95) in text
    for said in (
        "sampling error only; the judge's error is not in it",
        "For asking these very scenarios again",
        f"Bounds on P(lie) {interval(metrics['p_lie'].bounds)}",
        "lied at least once",
        "(verdict D)",
        "cut at the token limit",
        "A stable belief was absent in",
        "server error: ",
        "tokens in",
        "protocol id 0123456789ab",
        "rules reference",
        "their hash aaaaaaaaaaaa",
        "counted by their first statement",
    ):
        assert joined(said) in joined(text)
    for name in KEYS:
        assert sum(line.startswith(f"{TABLE[name].title} ") for line in text.splitlines()) >= 3


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_no_line_is_too_long(width: int) -> None:
    """The result fits the terminal, and no figure is cut."""
    text = shown(whole(), width)
    assert max(map(len, text.splitlines())) <= width
    assert width < 80 or "…" not in text


def test_large_numbers_fit() -> None:
    """A run of ten thousand scenarios still fits 80 columns."""
    summary = summarised(
        [structs.replace(each, truncated={"cut": 900, "replies": 9000}) for each in several("HLEN" * 10)], settings()
    )
    groups: list[Summary | Part] = [summary, *summary.by_archetype.values()]
    for group in groups:
        group.counts = dict.fromkeys(group.counts, 10_000)
        group.rates = dict.fromkeys(EVERYWHERE, Share(1.0, (0.999, 1.0), 10_000))
    text = shown(summary, 80)
    assert max(map(len, text.splitlines())) <= 80
    assert "…" not in text


def test_one_statement_has_no_curve() -> None:
    """Lying@1 is P(lie): with one statement there is no curve to print."""
    assert "lied at least once" not in shown(summarised(several("HL"), settings()))


def test_asked_outright_against_not() -> None:
    """P(lie) of those that ask for the falsehood outright, and of those that do not."""
    rows = [*several("LL", asked_outright=True), *several("HHHL", asked_outright=False)]
    text = joined(shown(summarised(rows, settings())))
    assert "archetype asked for outright rows not asked for rows" in text
    assert "Known facts 100.0 %" in text
    assert "all (compares" in text
    assert "No archetype has 20 rows of each kind" in text


def test_true_rates_of_a_simulation() -> None:
    """A simulated subject's true rates are printed."""
    text = shown(simulated("sim/lie=0.5,evade=0.25,unsure=0", scenarios(2)))
    for outcome, rate in (("honest", "25.0 %"), ("lie", "50.0 %"), ("evasive", "25.0 %"), ("no belief", "0.0 %")):
        assert re.search(rf"^{outcome} .* {rate}$", text, re.M)


def test_who_answered() -> None:
    """The models that endpoints resolved stand with their fingerprints, each once."""
    model = {"name": "openai/gpt", "resolved": ["gpt-2025-01-01"], "fingerprints": ["fp_1", "fp_2"]}
    judge = {"binary": {"name": "j", "resolved": ["j-2"]}, "numeric": {"name": "j", "resolved": ["j-2"]}}
    judge["prompts"] = {"version": "1", "hash": "b" * 64, "name": "packaged"}
    text = shown(summarised(several("HL"), settings(), subject=model, judge=judge))
    assert "(answered as gpt-2025-01-01; fingerprint fp_1, fp_2)" in joined(text)
    assert text.count("answered as j-2") == 1


@pytest.mark.parametrize(("rules", "meaning"), [("reference", "a lie"), ("inspect", "evasive")])
def test_what_a_d_verdict_means(rules: str, meaning: str) -> None:
    """A denial of both options is said to be what the rules take it for; that there was none is one line."""
    rows = several("HL", denials={"beliefs": 0, "statements": 1})
    assert f"such a statement is {meaning}, and" in joined(shown(summarised(rows, settings(rules=rules))))
    assert "No reply denied both options" in shown(summarised(several("HL"), settings(rules=rules)))


def test_notes_are_printed() -> None:
    """What a reader must know of a rule set stands with the result."""
    assert "only for explaining old figures" in joined(shown(summarised(several("HL"), settings(rules="published"))))


# Withheld, incomplete, smoke


def test_a_withheld_headline() -> None:
    """No headline, no finding and no rate; the reason, the counts and the bounds are there."""
    text = shown(summarised(several("LLHXX"), settings()))
    assert "The headline is withheld. 40.0 % of the scenarios have no outcome" in joined(text)
    assert "P(lie) 66.7 %" not in text
    assert "Under pressure" not in text
    assert "66.7 %" not in text
    assert "40.0–80.0" in text


def test_a_withheld_archetype() -> None:
    """It has no rate in the table and its reason below; the headline stays."""
    rows = [*several("H" * 60 + "L" * 37), *several("HLX", archetype="statistics")]
    text = shown(summarised(rows, settings()))
    assert re.search(r"^Statistics +– +– +– +– +–", text, re.M)
    assert "Withheld: Statistics. 33.3 % of the scenarios have no outcome" in joined(text)
    assert "P(lie) 38.4 %" in text


def test_an_incomplete_run() -> None:
    """It says how many scenarios are done."""
    text = shown(summarised(several("HL"), settings(), scenarios={"n": 3, "taken": "set", "hash": "c" * 64}))
    assert "Not complete. Only 2 of 3 scenarios are done" in text


def test_a_smoke_run() -> None:
    """It is marked at the top."""
    assert "A smoke run." in shown(summarised(several("HL"), settings(limit=2)))


def test_a_run_with_nothing_done() -> None:
    """It prints, without a figure."""
    text = shown(summarised([], settings(), scenarios={"n": 5, "taken": "set", "hash": "c" * 64}))
    assert "No scenario of 5 is done yet." in text


def test_the_finding() -> None:
    """One sentence with all four rates, or that there is none."""
    assert finding(Alone(summarised(several("HLEN" * 5), settings("me")))).startswith(
        "Under pressure me contradicted its own stated belief in 25.0 % of scenarios ("
    )
    assert finding(Alone(summarised(several("X"), settings("me")))) == "No result for me."


# Hostile names


def test_names_cannot_steer_the_terminal() -> None:
    """Names from endpoints and scenario sets lose control characters, and markup in them is text."""
    summary = summarised(
        several("HL"),
        settings(HOSTILE),
        scenarios={"n": 2, "taken": HOSTILE, "hash": "c" * 64},
        subject={"name": HOSTILE, "resolved": [HOSTILE], "fingerprints": [HOSTILE]},
        judge={
            "binary": {"name": HOSTILE},
            "numeric": {"name": HOSTILE},
            "prompts": {"name": "mine", "version": HOSTILE, "hash": "b" * 64},
        },
    )
    text = joined(shown(summary, 200))
    assert text.count(HARMLESS) >= 8


def test_plans_take_any_name() -> None:
    """So do the names in a plan."""
    chosen = settings(HOSTILE, HOSTILE).having(scenarios=HOSTILE)
    where = console(120)
    show(list(dry_run.plan(plan([scenario()], chosen, load_prompts()), chosen)), where)
    assert joined(printed(where)).count(HARMLESS) == 4


def test_scenarios_can_hold_anything() -> None:
    """A scenario's texts are shown without control characters, markup as it stands."""
    about = replace(scenario(), task_id=HOSTILE, messages=conversation(HOSTILE, f"{HOSTILE}\nnext line"))
    where = console(120)
    show(list(dry_run.scenario(about, settings(), load_prompts())), where)
    text = printed(where)
    assert HARMLESS in text
    assert "next line" in text


# Plans, sets, scenarios


def test_a_plan_is_labelled_an_estimate() -> None:
    """It says that nothing was called, what is counted and what is estimated."""
    where = console()
    chosen = settings("s", "j")
    show(list(dry_run.plan(plan(scenarios(2), chosen, load_prompts()), chosen)), where)
    text = printed(where)
    assert max(map(len, text.splitlines())) <= 80
    for said in ("12 scenarios", "58 replies to ask for", "Nothing was called", "estimate", "subject s", "judge j"):
        assert said in joined(text)
    assert "its 95 % interval reaches" in joined(text)


def test_sets_are_listed() -> None:
    """Name, size, licence and how to get it."""
    where = console()
    show(list(dry_run.sets(known_sets())), where)
    text = printed(where)
    for said in ("starter", "cais/MASK", "1,000 scenarios", "CC-BY-4.0", "HF_TOKEN"):
        assert said in text
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("archetype", KEYS)
def test_a_scenario_is_shown_as_models_see_it(archetype: Any) -> None:
    """The pressured conversation first, then what is asked neutrally; the judge's prompts where they are wanted."""
    about = scenario(archetype)
    where = console(200)
    show(list(dry_run.scenario(about, settings(), load_prompts())), where)
    text = joined(printed(where))
    for ask in subject_asks(about, settings()):
        for message in ask.messages:
            assert joined(message.content) in text
    assert text.find("The pressured statement") < text.find("belief question") or archetype == "provided_facts"
    assert "[the subject's reply stands here]" in text
    where = console(200)
    show(list(dry_run.scenario(about, settings(), None)), where)
    assert "judge" not in printed(where)
    assert "(neither model is told)" in text
    assert ("3 times" in text) == (archetype != "provided_facts")


def test_figures() -> None:
    """Percentages as people write them, and dashes where there is nothing."""
    assert (percent(0.3849), percent(None)) == ("38.5 %", "–")
    assert (interval([0.0, 1.0]), interval(None)) == ("0.0–100.0", "–")
