"""A second, stronger judge on some scenarios: which it sees, that the estimate is unbiased, that its interval holds."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import Recorder, command, verdict_a
from maskbench.errors import RunMismatch, UsageError
from maskbench.judges.judge_again import judge
from maskbench.judges.second_look import Key, Look, Phases, allotted, draw, refusal
from maskbench.method.rates import rates, tabulate
from maskbench.models.scripted import ScriptedModel
from maskbench.results.calibration import by_look
from maskbench.results.rate_source import Looked
from maskbench.results.scored import result
from maskbench.runs.folder import RunFolder
from maskbench.types import ARCHETYPES, OutcomeName, Resolved, Scored
from maskbench.types import OUTCOMES as EVERY
from measured_runs import run
from there import there

# Which scenarios


def keys(n: int, archetype: str = "known_facts") -> list[Key]:
    """So many scenarios."""
    return [(archetype, str(number)) for number in range(n)]


def judged(**counts: int) -> dict[Key, OutcomeName]:
    """So many scenarios of each judged outcome, spread over three archetypes."""
    names: list[OutcomeName] = [name for name in EVERY for _ in range(counts.get(name, 0))]
    return {(ARCHETYPES[place % 3], str(place)): name for place, name in enumerate(names)}


@given(st.tuples(*[st.integers(0, 60)] * 5), st.integers(0, 250), st.integers(0, 5))
def test_the_draw(counts: tuple[int, ...], looks: int, seed: int) -> None:
    """Of each outcome two at least and the same chance for all of it, and whatever has no outcome besides."""
    outcomes = judged(**dict(zip(EVERY, counts, strict=True)))
    drawn = draw(outcomes, looks, seed)
    seen = Counter(outcomes[key] for key in drawn)
    sizes: dict[OutcomeName, int] = {
        name: count for name, count in Counter(outcomes.values()).items() if name != "error"
    }
    assert seen["error"] == counts[-1]
    assert all(seen[name] >= min(size, 2) for name, size in sizes.items())
    least = sum(min(size, 2) for size in sizes.values())
    assert sum(seen[name] for name in sizes) == min(max(looks, least), sum(sizes.values()))
    assert all(
        drawn[key] == pytest.approx(seen[outcomes[key]] / sizes[outcomes[key]])
        for key in drawn
        if outcomes[key] != "error"
    )
    assert draw(dict(reversed(outcomes.items())), looks, seed) == drawn  # whatever the order


def test_the_draw_is_even_and_takes_every_archetype() -> None:
    """Over seeds every scenario of an outcome is drawn as often as any other, and archetypes have their part."""
    outcomes = judged(lie=30, honest=60)
    drawn = [draw(outcomes, 30, seed) for seed in range(300)]
    often = Counter(key for each in drawn for key in each)
    for name in ("lie", "honest"):
        chance = next(each[key] for each in drawn for key in each if outcomes[key] == name)
        counts = [often[key] for key, outcome in outcomes.items() if outcome == name]
        assert max(abs(count - 300 * chance) for count in counts) < 4.5 * math.sqrt(300 * chance * (1 - chance))
    for each in drawn[:20]:
        parts = Counter(key[0] for key in each if outcomes[key] == "honest")
        assert max(parts.values()) - min(parts[archetype] for archetype in ARCHETYPES[:3]) <= 1


def test_looks_go_to_rare_outcomes_more_than_in_proportion() -> None:
    """By the root of their sizes: 100 and 900 scenarios have a quarter and three quarters of the looks."""
    assert allotted({"lie": 100, "honest": 900}, 100) == {"lie": 25, "honest": 75}
    assert allotted({"lie": 3, "honest": 5}, 100) == {"lie": 3, "honest": 5}


@pytest.mark.parametrize(
    ("counts", "looks", "why"),
    [
        ({"lie": 50, "honest": 50}, 10, None),
        ({"lie": 50, "honest": 50}, 9, "9 of 100 .* 2 of each of the 2 outcomes .* 10 in all: --second-share 0.1 "),
        ({"lie": 3, "honest": 4}, 6, r"--second-share 1 \(7 looks\) would do"),
        ({"lie": 3, "honest": 4}, 7, None),
        ({"error": 30}, 0, "The first judge came to no outcome"),
    ],
)
def test_too_few_looks_are_refused_with_the_number_that_would_do(
    counts: dict[str, int], looks: int, why: str | None
) -> None:
    """Ten, or all that there are; and two of each judged outcome."""
    text = refusal(judged(**counts).values(), looks)
    assert text is None if why is None else re.search(why, text or "")


# The estimate of a look by outcome


def test_the_rate_is_the_second_judges_by_hand() -> None:
    """Of four lies two are looked at and one is none: two of four stay, and one honest one of six is a lie."""
    chosen = dict.fromkeys(keys(2), 0.5) | dict.fromkeys(keys(10)[4:7], 0.5)
    rates = Looked.at(phases(of("LLLLHHHHHH"), of("LHLLLHHHHH"), chosen)).rates()
    assert rates["p_lie"].value == pytest.approx((4 / 2 + 6 / 3) / 10)
    assert rates["p_honest"].value == pytest.approx(0.6)
    assert (rates["p_lie"].n, rates["accuracy"].value) == (10, 1)


def test_where_the_second_judge_looked_at_all_the_rate_is_its_own() -> None:
    """Whatever the first one found, failures among it."""
    second = of("HHLLHHLLEE")
    looked = Looked.at(phases(of("LXHLHXLHEL"), second, dict.fromkeys(keys(10), 1.0)))
    alone = rates(tabulate(scored(key, outcome) for key, outcome in zip(keys(10), second, strict=True))[0])
    by_look = looked.rates()
    assert [by_look[name].value for name in alone] == pytest.approx([rate.value for rate in alone.values()])
    assert looked.bounds() == pytest.approx((alone["p_lie"].value, alone["p_lie"].value))
    assert looked.lost == 0


def test_looks_that_came_to_nothing_are_no_looks() -> None:
    """The first judge's outcome stays, others stand for it, and the share of such looks is told."""
    drawn = phases(of("LLLLHHHH"), of("LXLLHHXH"), dict.fromkeys(keys(8), 1.0))
    looked = Looked.at(drawn)
    assert looked.rates()["p_lie"].value == pytest.approx(0.5)
    assert looked.lost == pytest.approx(2 / 8)
    assert [row.outcome for row in drawn.merged()] == of("LLLLHHHH")
    found = by_look(drawn, "the judge", None)
    assert (found.drawn, found.labelled, found.undecided, found.disagreements) == (8, 6, 2, 0)
    assert found.by_outcome == {"lie": (4, 3, 0), "honest": (4, 3, 0)}


def test_no_look_gives_no_rate() -> None:
    """An archetype that nobody looked at has no rate, and says how many scenarios it has."""
    rate = Looked.at(phases(of("LLHH"), of("LLHH"), {})).rates()["p_lie"]
    assert (rate.value, rate.low, rate.n) == (None, None, 4)


def test_errors_are_lies_to_the_gate() -> None:
    """A scenario that both judges failed on counts as a lie for the limit, and as anything for the bounds."""
    looked = Looked.at(phases(of("LLHHHHHHHX"), of("LLHHHHHHHX"), dict.fromkeys(keys(10), 1.0)))
    assert looked.with_failures(as_lies=True)["p_lie"].value == pytest.approx(0.3)
    assert looked.bounds() == pytest.approx((0.2, 0.3))


def population(rng: np.random.Generator, n: int, lie: float, miss: float, invent: float) -> tuple[list[str], list[str]]:
    """Outcomes by the second judge, who is right, and by the first."""
    truth = np.where(rng.random(n) < lie, "lie", "honest")
    wrong = rng.random(n) < np.where(truth == "lie", miss, invent)
    return list(truth), list(np.where(wrong, np.where(truth == "lie", "honest", "lie"), truth))


def test_it_is_unbiased_where_looking_at_lies_alone_is_biased() -> None:
    """Over the draws the rate is what the second judge finds on everything; re-reading lies alone is far below."""
    truth, first = population(np.random.default_rng(1), 200, 0.4, 0.25, 0.05)
    outcomes = dict(zip(keys(200), first, strict=True))
    drawn = [draw(outcomes, 40, seed) for seed in range(150)]  # type: ignore[arg-type]
    values = [there(Looked.at(phases(first, truth, chosen)).rates()["p_lie"].value) for chosen in drawn]  # type: ignore[arg-type]
    whole = truth.count("lie") / 200
    assert mean(values) == pytest.approx(whole, abs=3 * float(np.std(values)) / math.sqrt(len(values)))
    only_lies = [after if before == "lie" else before for after, before in zip(truth, first, strict=True)]
    assert only_lies.count("lie") / 200 < whole - 0.08


# Outcomes by two judges


def scored(key: Key, outcome: OutcomeName, weight: float = 1.0) -> Scored:
    """A scenario that came to this."""
    return Scored(
        archetype="known_facts",
        task_id=key[1],
        proposition=f"Proposition {key[1]}.",
        weight=weight,
        asked_outright=None,
        resolved=Resolved("A"),
        outcomes=(outcome,),
        outcome=outcome,
        accuracy="correct",
        denials={},
        evasions={},
        truncated={},
        failures={},
        numerical={},
    )


OUTCOMES: Mapping[str, OutcomeName] = {
    "L": "lie",
    "H": "honest",
    "E": "evasive",
    "N": "no_belief",
    "X": "error",
}


def of(letters: str) -> list[OutcomeName]:
    """Outcomes by their letters."""
    return [OUTCOMES[letter] for letter in letters]


def phases(first: Sequence[OutcomeName], second: Sequence[OutcomeName], chosen: Mapping[Key, float]) -> Phases:
    """Two judges' outcomes on the same scenarios, the second one's where it looked."""
    return Phases(
        {key: scored(key, outcome) for key, outcome in zip(keys(len(first)), first, strict=True)},
        {key: scored(key, outcome) for key, outcome in zip(keys(len(second)), second, strict=True) if key in chosen},
        chosen,
    )


# Whole runs


def looked(path: Path, name: str, look: Look, model: str = "sim-judge") -> float:
    """A run with a second look; P(lie) by it."""
    folder = RunFolder(path)
    judge(folder, folder.settings().having(judge=model, numeric_judge=model), name, look=look)
    return there(result(folder, verdicts=name, judges=False).rates["p_lie"].value)


def test_a_run_with_a_poor_first_judge(tmp_path: Path) -> None:
    """Averaged over draws a second look finds what the second judge finds on everything, at a part of its calls."""
    poor = "sim-judge/flip=0.15,miss=0.02,invent=0.1,seed=3"
    path = run(tmp_path / "run", "sim/lie=0.5,evade=0.1", judge=poor, numeric_judge=poor)
    first = there(result(RunFolder(path)).rates["p_lie"].value)
    judge(RunFolder(path), RunFolder(path).settings().having(judge="sim-judge", numeric_judge="sim-judge"), "all")
    whole = result(RunFolder(path), verdicts="all")
    values = [looked(path, f"s{seed}", Look("default", share=0.3, seed=seed)) for seed in range(12)]
    assert mean(values) == pytest.approx(whole.rates["p_lie"].value, abs=0.06)
    assert abs(first - there(whole.rates["p_lie"].value)) > 0.08
    found = result(RunFolder(path), verdicts="s0")
    assert found.usage.judge.answers < whole.usage.judge.answers
    look = there(found.corrected)
    assert (look.judge, look.judged["p_lie"]) == ("sim-judge", first)
    assert look.metrics["p_lie"].value == found.rates["p_lie"].value
    assert found.protocol not in (whole.protocol, result(RunFolder(path)).protocol)


def test_only_the_chosen_are_judged_and_all_of_their_replies(tmp_path: Path) -> None:
    """Probabilities are stored, a set that goes on sees the same scenarios, and another choice needs another name."""
    path = run(tmp_path / "run")
    folder = RunFolder(path)
    made, seen = folder.settings().having(judge="the judge", numeric_judge="the judge"), Recorder(verdict_a)
    model = ScriptedModel(seen, "the judge")
    look = Look("default", share=0.2, seed=5)
    judge(folder, made, "s", judges={"binary": model, "numerical": model}, look=look)
    store = folder.store()
    try:
        chosen = store.chosen("s")
        for scenario, _ in store.scenarios():
            verdicts = [item.judgement for item in store.samples(scenario, "s").items("s")]
            wanted = [item.judgement for item in store.samples(scenario).items()]
            assert [one is not None for one in verdicts] == [scenario.key in chosen and bool(one) for one in wanted]
    finally:
        store.close()
    assert {ask.scenario.key for ask, _ in seen.asks} <= set(chosen)
    assert len(chosen) == 20
    assert max(Counter(chosen.values()).values()) < 20
    asked = len(seen.asks)
    judge(folder, made, "s", judges={"binary": model, "numerical": model}, look=look)
    assert len(seen.asks) == asked
    assert folder.record()["verdict_sets"]["s"]["second"] == {
        "first": "default",
        "share": 0.2,
        "seed": 5,
    }
    for other in (None, Look("default", share=0.2, seed=6)):
        with pytest.raises(RunMismatch, match="another --name"):
            judge(folder, made, "s", judges={"binary": model, "numerical": model}, look=other)


def test_a_first_set_that_is_not_complete(tmp_path: Path) -> None:
    """Nobody knows yet what its judge finds."""
    path = run(tmp_path / "run", limit=6)
    folder = RunFolder(path)
    record = folder.record()
    judge(folder, folder.settings().having(judge="sim-judge/accuracy=0.9"), "b")
    record["verdict_sets"] = {"empty": folder.record()["verdict_sets"]["b"]}
    folder.write("run.json", record)
    with pytest.raises(UsageError, match=r"The verdict set empty of .* is not complete"):
        looked(path, "s", Look("empty"))


def test_too_few_looks_are_refused_before_any_call(tmp_path: Path) -> None:
    """Nothing is judged and no set is begun; the message has the share that would do, which then does."""
    path = run(tmp_path / "run")
    with pytest.raises(UsageError, match=r"--second-share 0.05: 5 of 96 .*--second-share 0.105 \(10 looks\)"):
        looked(path, "s", Look("default", share=0.05))
    assert "s" not in RunFolder(path).read().verdict_sets
    looked(path, "s", Look("default", share=0.105))


def test_looks_without_outcome_withhold_the_rates(tmp_path: Path) -> None:
    """A second judge that fails on most of what it sees gives no rates, and the reason says how often it did."""
    path = run(tmp_path / "run")
    folder = RunFolder(path)
    unreadable = folder.settings().having(judge="sim-judge/unreadable=0.9", numeric_judge="sim-judge/unreadable=0.9")
    judge(folder, unreadable, "s", look=Look("default", share=0.3))
    summary = result(RunFolder(path), verdicts="s")
    assert summary.rates["p_lie"].value is None
    assert re.search(r"% of the second looks came to no outcome, and --max-error-rate allows", there(summary.withheld))


def test_several_statements_and_archetypes(tmp_path: Path) -> None:
    """Every archetype has an estimate of its own, wider than the whole; there is no curve over statements."""
    noisy = "sim-judge/accuracy=0.85"
    path = run(tmp_path / "run", judge=noisy, numeric_judge=noisy, statements=3)
    looked(path, "s", Look("default"))
    found = result(RunFolder(path), verdicts="s")
    whole = there(found.rates["p_lie"].ci95)
    for part in found.by_archetype.values():
        low, high = there(part.rates["p_lie"].ci95)
        assert high - low > whole[1] - whole[0]
    assert found.lying_at == {}
    low, high = there(found.rates["p_lie"].bounds)
    assert low == high == pytest.approx(found.rates["p_lie"].value)


def test_as_its_user_sees_it(tmp_path: Path) -> None:
    """The command, what it prints, a row's probability in exports, and going on by the name alone."""
    path = run(tmp_path / "run", judge="sim-judge/accuracy=0.85", numeric_judge="sim-judge/accuracy=0.85")
    made = command("judge", path, "--second", "sim-judge", "--second-share", "0.2", env={"COLUMNS": "100"})
    assert made.code == 0
    assert "judged by sim-judge (second look after sim-judge/accuracy=0.85)" in " ".join(made.out.split())
    assert "by sim-judge" in made.out
    assert "by the first judge alone: " in made.out
    whole = command("score", path, "--verdicts", "sim-judge-second", "--full", env={"COLUMNS": "100"})
    assert "first judge found" in whole.out
    assert command("judge", path, "--name", "sim-judge-second", env={"COLUMNS": "100"}).out == made.out
    rows = command("export", path, "--format", "csv", "--verdicts", "sim-judge-second", env={}).out.splitlines()
    assert rows[0].endswith('"accuracy","second_probability"')
    assert len({row.rpartition(",")[2] for row in rows[1:]} - {""}) > 1
    assert "second_probability" not in command("export", path, "--format", "csv", env={}).out
