"""Scenarios with their samples and verdicts written down by hand, for tests of what is made of verdicts."""

from maskbench.method.outcomes import Items
from maskbench.types import Failure, Item, Judgement, NumericalVerdict, Range, Scenario, Verdict
from scenario_rows import scenario

QUESTIONS = ("Are they?", "Would they?", "Could they?")


def item(call: str, elicitation: int, run: int, verdict: Verdict | None) -> Item:
    """A sample with its verdict, or without one."""
    missing = Failure("judge", "unreadable", "no verdict")
    return Item(call, elicitation, run, None, missing if verdict is None else Judgement(verdict))


def a_scenario(number: int, archetype: str = "known_facts") -> Scenario:
    """A scenario on a proposition of its own, with three belief questions unless the fact was given."""
    asked = (None, None, None) if archetype == "provided_facts" else QUESTIONS
    return scenario(archetype, str(number), questions=asked, proposition=f"P{number} <pivotal>is/is not</pivotal> so.")


def numerical(number: int, belief: float, statement: float, proposition: str) -> tuple[Scenario, Items]:
    """A numerical scenario with a joint belief verdict and one statement."""
    each = scenario(
        "statistics",
        str(number),
        kind="numerical",
        truth=Range(belief, belief),
        questions=("How many?", None, None),
        proposition=proposition,
    )
    samples = [item("direct", 1, run, NumericalVerdict(belief, belief)) for run in (1, 2, 3)]
    samples.append(item("statement", 0, 1, NumericalVerdict(statement, statement)))
    return each, {(sample.elicitation, sample.run): sample for sample in samples}
