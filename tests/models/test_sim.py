"""The simulated models: planted rates come out again, failures and errors are as documented."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from flows import scenario
from maskbench.errors import UsageError
from maskbench.method.asks import subject_asks
from maskbench.method.forms import ask_about, ask_about_beliefs, verdict_in
from maskbench.models.sim import SimJudge, SimSubject
from maskbench.results.readers import PlantedReader
from maskbench.results.summary import Summary
from maskbench.types import Archetype, Ask, BinaryVerdict, Failure, Judgement, NumericalVerdict, Reply, Scenario
from simulated import PROMPTS, Verdicts, measured, settings, simulated
from there import there

pytestmark = pytest.mark.slow

MANY = 400
FOUR: tuple[Archetype, ...] = ("known_facts", "provided_facts", "statistics", "disinformation")


def scenarios(n: int, archetypes: Sequence[Archetype] = FOUR) -> list[Scenario]:
    """So many scenarios, spread over the archetypes."""
    return [scenario(archetypes[number % len(archetypes)], number) for number in range(n)]


def shares(summary: Summary) -> dict[str, float]:
    """The four outcome rates."""
    return {name: there(summary.rates[name].value) for name in ("p_lie", "p_honest", "p_evasive", "p_no_belief")}


def statements(name: str, about: Scenario, runs: int, seed: int = 0) -> list[str | None]:
    """What a simulated subject states, sample for sample; None where the call fails."""
    subject = SimSubject(name, seed)
    ask = subject_asks(about, settings(name, statements=runs))[-1]
    return [reply.text if isinstance(reply, Reply) else None for reply in answers(subject, ask)]


def answers(model: SimSubject | SimJudge, ask: Ask) -> Sequence[Reply | Failure]:
    """What a simulated model answers, which never waits: no loop is begun for each of thousands of asks."""
    with pytest.raises(StopIteration) as done:
        model.ask(ask).send(None)
    answered: Sequence[Reply | Failure] = done.value.value
    return answered


# The subject's rates


@pytest.mark.parametrize("rules", ["reference", "strict", "inspect"])
@pytest.mark.parametrize("name", ["sim/lie=0.4,evade=0.2,unsure=0.1", "sim/lie=0.1,evade=0.5,unsure=0.4,accuracy=0.3"])
def test_planted_rates_come_out(name: str, rules: str) -> None:
    """With many scenarios every rate is near the one that is printed as true, under each rule set."""
    summary = simulated(name, scenarios(MANY), rules=rules)
    assert shares(summary) == pytest.approx(summary.of(PlantedReader), abs=0.06)


def test_lies_are_given_a_belief() -> None:
    """`lie` and `evade` are shares of the scenarios with a belief, `unsure` one of those that elicit beliefs."""
    summary = simulated("sim/lie=0.5,evade=0.3,unsure=0.4", scenarios(MANY, ("known_facts",)))
    rates = shares(summary)
    assert rates["p_no_belief"] == pytest.approx(0.4, abs=0.05)
    assert rates["p_lie"] / (1 - rates["p_no_belief"]) == pytest.approx(0.5, abs=0.05)
    assert rates["p_evasive"] / (1 - rates["p_no_belief"]) == pytest.approx(0.3, abs=0.05)
    assert min(summary.no_belief_reasons.values()) > 40  # each of the three ways to have none


def test_provided_facts_need_no_belief() -> None:
    """Where the facts are provided, nothing is unsure and nothing is wrong."""
    summary = simulated("sim/unsure=1,lie=0.5,evade=0", scenarios(200, ("provided_facts",)))
    assert summary.counts["no_belief"] == 0
    assert summary.of(PlantedReader) == {"p_lie": 0.5, "p_honest": 0.5, "p_evasive": 0, "p_no_belief": 0}


def test_accuracy_of_beliefs() -> None:
    """`accuracy` is the share of beliefs that are right."""
    summary = simulated("sim/accuracy=0.7,unsure=0.2", scenarios(MANY, ("known_facts", "statistics")))
    assert summary.rates["accuracy_normalized"].value == pytest.approx(0.7, abs=0.05)
    assert summary.rates["accuracy"].value == pytest.approx(0.7 * 0.8, abs=0.05)


@pytest.mark.parametrize("name", ["lie=1,evade=0", "lie=0,evade=1", "lie=0,evade=0", "unsure=1"])
def test_certainties(name: str) -> None:
    """Rates of 0 and 1 hold in every scenario."""
    summary = simulated(f"sim/unsure=0,{name}", scenarios(60, ("known_facts", "statistics")))
    assert shares(summary) == summary.of(PlantedReader)


@pytest.mark.parametrize("beliefs", [1, 2, 5])
def test_other_numbers_of_belief_samples(beliefs: int) -> None:
    """A subject without a belief shows none, however often it is asked."""
    summary = simulated("sim/unsure=1", scenarios(60, ("known_facts", "continuations")), beliefs=beliefs)
    assert summary.counts["no_belief"] == 60


def test_numbers_of_every_size() -> None:
    """Tiny, huge and negative ranges are said so exactly that the judge can tell them apart."""
    for low, high in ((1e-9, 2e-9), (1e15, 1.1e15), (-5, -3), (0, 0), (-1, 1)):
        about = scenario("statistics", 1, formatted_ground_truth=f"[{low!r}, {high!r}]")
        for name, outcome in (("sim/lie=0,evade=0,unsure=0", "honest"), ("sim/lie=1,evade=0,unsure=0", "lie")):
            rows = measured(SimSubject(name, 0), SimJudge("sim-judge", 0), [about], settings(name))
            assert rows[0].outcomes == (outcome,)


def test_seeds_draw_anew() -> None:
    """One seed gives the same answers, another seed others."""
    about = scenarios(40)
    one, again, other = (simulated("sim", about, seed=seed).counts for seed in (1, 1, 2))
    assert one == again
    texts = [[statements("sim", each, 1, seed) for each in about] for seed in (1, 2)]
    assert texts[0] != texts[1]
    assert one["error"] == other["error"] == 0


# Spread and correlation


def agreement(pairs: list[tuple[bool, bool]]) -> float:
    """The correlation of the two sides of pairs of yes and no."""
    n = len(pairs)
    mean = sum(one + other for one, other in pairs) / (2 * n)
    both = sum(one and other for one, other in pairs) / n
    return (both - mean**2) / (mean - mean**2)


@pytest.mark.parametrize("spread", [0.0, 0.3, 0.9])
def test_spread_is_the_correlation_of_statements(spread: float) -> None:
    """Two statements of one scenario lie together as `spread` says, and the mean stays where it was planted."""
    name = f"sim/lie=0.4,evade=0.1,unsure=0,accuracy=1,spread={spread}"
    pairs = []
    for number, about in enumerate(scenarios(500, ("known_facts",))):
        one, other = (text == f"Pump {number} is not loud." for text in statements(name, about, 2))
        pairs.append((one, other))
    assert agreement(pairs) == pytest.approx(spread, abs=0.08)
    assert sum(one for one, _ in pairs) / len(pairs) == pytest.approx(0.4, abs=0.05)


@pytest.mark.parametrize(("correlation", "spread"), [(0.0, 0.5), (0.6, 0.0), (0.6, 0.5), (1.0, 0.0)])
def test_correlation_is_within_propositions(correlation: float, spread: float) -> None:
    """Two scenarios on one proposition lie together as `correlation` says; those on others do not."""
    name = f"sim/lie=0.4,evade=0.1,unsure=0,accuracy=1,correlation={correlation},spread={spread}"
    lies = []
    for number in range(500):
        one = scenario("known_facts", number)
        two = replace(one, archetype="continuations")
        lie = f"Pump {number} is not loud."
        lies.append((statements(name, one, 1) == [lie], statements(name, two, 1) == [lie]))
    assert agreement(lies) == pytest.approx(correlation, abs=0.08)
    assert agreement([(one, other) for (_, one), (other, _) in pairwise(lies)]) == pytest.approx(0, abs=0.08)
    assert sum(one for one, _ in lies) / len(lies) == pytest.approx(0.4, abs=0.05)


# Failures


def test_all_calls_fail_at_the_planted_rate() -> None:
    """`fail` fails belief calls and statements alike, and never becomes an outcome."""
    summary = simulated("sim/fail=0.2", scenarios(400, ("known_facts",)))
    assert summary.failures["subject"]["server_error"] == pytest.approx(400 * 6 * 0.2, rel=0.1)
    assert 0 < summary.counts["error"] < 400
    assert summary.withheld


def test_failures_may_depend_on_the_outcome() -> None:
    """`fail_lie` fails the statements that would have lied, and nothing else."""
    clean = simulated("sim/lie=0.5,evade=0.2,unsure=0", scenarios(300), max_error_rate=1)
    failing = simulated("sim/lie=0.5,evade=0.2,unsure=0,fail_lie=0.6", scenarios(300), max_error_rate=1)
    lost = clean.counts["lie"] - failing.counts["lie"]
    assert lost == failing.counts["error"] == pytest.approx(0.6 * clean.counts["lie"], rel=0.15)
    assert {name: clean.counts[name] for name in ("honest", "evasive")} == {
        name: failing.counts[name] for name in ("honest", "evasive")
    }
    low, high = there(failing.rates["p_lie"].bounds)
    assert there(failing.rates["p_lie"].value) < there(clean.rates["p_lie"].value) == high
    assert low < high


def test_failures_by_outcome_override_the_general_rate() -> None:
    """`fail=0.5,fail_honest=0` spares the honest statements."""
    about = scenario("provided_facts")
    assert None not in statements("sim/lie=0,evade=0,fail=0.9,fail_honest=0", about, 50)
    assert None in statements("sim/lie=1,evade=0,fail=0.9,fail_honest=0", about, 50)


# Options


@pytest.mark.parametrize(
    "name",
    ["sim/lie=2", "sim/lie=-1", "sim/lie=nan", "sim/lie", "sim/lies=0.1", "sim/lie=0.7,evade=0.7", "sim/spread=1"],
)
def test_options_that_cannot_be_meant(name: str) -> None:
    """An unknown option and a number that is no probability are refused, with what to write."""
    with pytest.raises(UsageError, match=r"Write sim/OPTION=PROBABILITY|Lower one|Try spread=0.9"):
        SimSubject(name, 0)


def test_it_says_what_is_planted() -> None:
    """The planted rates stand in the description, and so in every result."""
    planted = SimSubject("sim/lie=0.3,correlation=0.5", 7).describe()
    assert planted["planted"]["lie"] == 0.3
    assert planted["planted"]["correlation"] == 0.5
    assert planted["seed"] == 7


# The judge


def judged(judge: SimJudge, about: Scenario, texts: Sequence[str]) -> Any:
    """The judge's verdict on one reply, or jointly on several."""
    if len(texts) > 1:
        ask = ask_about_beliefs(about, texts, PROMPTS)
    else:
        ask = ask_about(about, "statement", 0, 1, texts[0], PROMPTS)
    (reply,) = answers(judge, ask)
    assert isinstance(reply, Reply)
    found = verdict_in(ask, reply)
    assert isinstance(found, Judgement)
    return found.verdict


@pytest.mark.parametrize("said", ["is loud", "is not loud", None])
def test_the_judges_confusion(said: str | None) -> None:
    """The verdict is right with probability `accuracy`, else one of the two others, evenly."""
    judge = SimJudge("sim-judge/accuracy=0.7", 3)
    counts: Counter[str] = Counter()
    for number in range(600):
        text = f"Pump {number} {said}." if said else "I would rather not say."
        verdict = judged(judge, scenario("known_facts", number), [text])
        assert isinstance(verdict, BinaryVerdict)
        counts[verdict.letter] += 1
    right = {"is loud": "A", "is not loud": "B", None: "C"}[said]
    assert counts[right] / 600 == pytest.approx(0.7, abs=0.05)
    assert [counts[letter] / 600 for letter in "ABC" if letter != right] == pytest.approx([0.15, 0.15], abs=0.03)


def test_the_judges_confusion_about_numbers() -> None:
    """Of a number it is the right one, another one, or none."""
    judge = SimJudge("sim-judge/accuracy=0.7", 3)
    counts: Counter[float | None] = Counter()
    for number in range(1000):
        text = f"Pump {number} makes 62.75 dB."
        verdict = judged(judge, scenario("statistics", number), [text, text, text])
        assert isinstance(verdict, NumericalVerdict)
        counts[verdict.lower_bound] += 1
    assert counts[62.75] / 1000 == pytest.approx(0.7, abs=0.05)
    assert len(counts) == 3
    assert counts[None] / 1000 == pytest.approx(0.15, abs=0.05)


def test_equal_requests_get_equal_verdicts() -> None:
    """A judge asked the same again says the same, as one at temperature 0 would."""
    judge = SimJudge("sim-judge/accuracy=0.5", 0)
    about = scenario("known_facts", 5)
    verdicts = {judged(judge, about, ["Pump 5 is loud."]) for _ in range(20)}
    assert len(verdicts) == 1


@pytest.mark.parametrize(
    ("said", "counts"),
    [("is loud", {"A": 0.6, "B": 0.1, "C": 0.3}), (None, {"A": 0.2, "B": 0.2, "C": 0.6})],
)
def test_errors_have_directions(said: str | None, counts: dict[str, float]) -> None:
    """Options are flipped and missed, and a C read as an option, each with a chance of its own."""
    judge = SimJudge("sim-judge/flip=0.1,miss=0.3,invent=0.4,seed=2", 0)
    seen: Counter[str] = Counter()
    for number in range(800):
        text = f"Pump {number} {said}." if said else "I would rather not say."
        seen[judged(judge, scenario("known_facts", number), [text]).letter] += 1
    assert {letter: seen[letter] / 800 for letter in "ABC"} == pytest.approx(counts, abs=0.04)


def test_judges_with_other_seeds_err_independently() -> None:
    """Two judges that are right in 80 % agree as chance has it, and one seed is the same judge whatever the run's."""
    one, other, same = (SimJudge(f"sim-judge/accuracy=0.8,seed={seed}", run) for seed, run in ((1, 0), (2, 0), (1, 9)))
    texts = [(scenario("known_facts", number), [f"Pump {number} is loud."]) for number in range(800)]
    wrong = [[judged(judge, *text).letter != "A" for text in texts] for judge in (one, other, same)]
    both = sum(a and b for a, b in zip(wrong[0], wrong[1], strict=True)) / 800
    assert both == pytest.approx(0.04, abs=0.02)
    assert wrong[0] == wrong[2]


def test_a_judge_that_leans_to_the_first_option() -> None:
    """What is asserted is read as A with the planted chance, whichever option that is; an evasion never is."""
    judge = SimJudge("sim-judge/first=0.3", 0)
    leans = [judged(judge, scenario("known_facts", n), [f"Pump {n} is not loud."]).letter for n in range(1000)]
    assert leans.count("A") / 1000 == pytest.approx(0.3, abs=0.05)
    assert judged(judge, scenario("known_facts", 1), ["I would rather not say."]).letter == "C"


def test_a_judge_that_wavers() -> None:
    """With noise another seed of the same request gets another verdict at times; the same seed never does."""
    judge = SimJudge("sim-judge/noise=0.2", 0)
    ask = ask_about(scenario("known_facts", 1), "statement", 0, 1, "Pump 1 is loud.", PROMPTS)

    def letter(seed: int) -> str:
        (reply,) = answers(judge, replace(ask, seeds=(seed,)))
        assert isinstance(reply, Reply)
        found = verdict_in(ask, reply)
        assert found is not None
        assert isinstance(found.verdict, BinaryVerdict)
        return found.verdict.letter

    letters = [letter(seed) for seed in range(800)]
    assert letters.count("A") / 800 == pytest.approx(0.8, abs=0.05)
    assert letter(5) == letters[5]


def test_a_judge_that_cannot_be_read() -> None:
    """Some answers hold no verdict, asked once or twice."""
    judge = SimJudge("sim-judge/unreadable=0.25", 0)
    asks = [ask_about(scenario("known_facts", n), "statement", 0, 1, f"Pump {n} is loud.", PROMPTS) for n in range(600)]
    replies = [answers(judge, ask)[0] for ask in asks]
    pairs = zip(asks, replies, strict=True)
    unread = sum(isinstance(reply, Reply) and verdict_in(ask, reply) is None for ask, reply in pairs)
    assert unread / 600 == pytest.approx(0.25, abs=0.05)


@pytest.mark.parametrize("options", ["flip=0.6,miss=0.6", "seed=-1", "seed=x", "lie=1"])
def test_confusions_that_cannot_be_meant(options: str) -> None:
    """Chances above 1 in all, a seed that is none, an option of the subject."""
    with pytest.raises(UsageError, match=r"Write sim-judge/OPTION=PROBABILITY.*whole number for seed|Lower one"):
        SimJudge(f"sim-judge/{options}", 0)


def test_the_judge_reads_only_simulated_replies() -> None:
    """Any other text is beyond it, which is a failure and no verdict."""
    ask = ask_about(scenario(), "statement", 0, 1, "Well, that depends.", PROMPTS)
    (reply,) = answers(SimJudge("sim-judge", 0), ask)
    assert isinstance(reply, Reply)
    assert verdict_in(ask, reply) is None


def test_an_imperfect_judge_is_not_in_the_interval() -> None:
    """The judge's errors move the measured rate away from the true one."""
    summary = simulated("sim/lie=0.1,evade=0,unsure=0", scenarios(600), judge="sim-judge/accuracy=0.8")
    assert there(summary.rates["p_lie"].ci95)[0] > 0.1


# Coverage


def covered(name: str, about: Sequence[Scenario], seeds: int) -> int:
    """In how many of so many seeds the printed interval holds the true P(lie)."""
    hits, known = 0, Verdicts()
    for seed in range(seeds):
        summary = simulated(name, about, seed=seed, known=known)
        low, high = there(summary.rates["p_lie"].ci95)
        hits += low <= there(summary.of(PlantedReader))["p_lie"] <= high
    return hits


def test_the_interval_holds_the_truth_within_propositions() -> None:
    """The true P(lie) of scenarios that differ and share a proposition in threes is in 90 to 99 of 100 intervals."""
    archetypes: tuple[Archetype, ...] = ("known_facts", "continuations", "disinformation")
    about = [scenario(archetype, number) for number in range(18) for archetype in archetypes]
    assert 90 <= covered("sim/spread=0.5,correlation=0.8", about, 100) <= 99
