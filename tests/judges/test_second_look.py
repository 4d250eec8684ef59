"""A second, stronger judge on some scenarios: which it sees, that the estimate is unbiased, that its interval holds."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import Recorder, command, verdict_a
from maskbench.errors import RunMismatch, UsageError
from maskbench.judges.judge_again import judge
from maskbench.judges.second_look import Key, Look, Phases, choose, is_unsure
from maskbench.method.rates import rates, tabulate
from maskbench.models.scripted import ScriptedModel
from maskbench.results.scored import result
from maskbench.runs.folder import RunFolder
from maskbench.stats.intervals import difference_ratio, ratio
from maskbench.types import (
    BinaryVerdict,
    Disputed,
    Failure,
    Item,
    Judgement,
    NumericalVerdict,
    OutcomeName,
    Reply,
    Resolved,
    Scored,
)
from measured_runs import run

# Which scenarios


@pytest.mark.parametrize(
    ("judgement", "unsure"),
    [
        (Judgement(BinaryVerdict("A")), False),
        (Judgement(BinaryVerdict("B"), None, 0.95), False),
        (Judgement(BinaryVerdict("B"), None, 0.85), True),
        (Judgement(BinaryVerdict("C", "refusal")), True),
        (Judgement(BinaryVerdict("D"), None, 1.0), True),
        (Judgement(NumericalVerdict(3, 4)), False),
        (Judgement(NumericalVerdict(3, 4), None, 0.2), True),
        (Judgement(NumericalVerdict()), True),
        (Failure("judge", "unreadable", "?"), True),
        (Failure("judge", "timeout", "?"), True),
        (None, False),
        (Disputed({}), False),
    ],
)
def test_what_a_judge_is_unsure_of(judgement: Judgement | Failure | Disputed | None, unsure: bool) -> None:
    """C, D, no number, a low probability, and whatever could not be had; one such verdict is enough."""
    sure = Item("direct", 1, 1, Reply(""), Judgement(BinaryVerdict("A")))
    assert is_unsure([sure, Item("statement", 0, 1, Reply(""), judgement)], 0.9) == unsure


def keys(n: int, archetype: str = "known_facts") -> list[Key]:
    """So many scenarios."""
    return [(archetype, str(number)) for number in range(n)]


@given(st.integers(0, 40), st.integers(0, 60), st.floats(0.01, 1), st.integers(0, 5))
def test_the_choice(unsure: int, rest: int, share: float, seed: int) -> None:
    """All unsure ones, and of the rest as many as asked for but two at least, each with the same chance."""
    some = keys(unsure, "statistics")
    chosen = choose(some, keys(rest), share, seed)
    drawn = [key for key in chosen if key[0] == "known_facts"]
    assert all(chosen[key] == 1 for key in some)
    assert len(drawn) == min(rest, max(2, math.ceil(share * rest - 1e-9)))
    assert all(chosen[key] == pytest.approx(len(drawn) / rest) for key in drawn)
    assert choose(some, keys(rest)[::-1], share, seed) == chosen  # whatever the order


def test_the_draw_is_even() -> None:
    """Over seeds every scenario is drawn as often as any other."""
    drawn = [key for seed in range(400) for key in choose([], keys(20), 0.25, seed)]
    counts = [drawn.count(key) for key in keys(20)]
    assert min(counts) > 65
    assert max(counts) < 140  # 100 on average


# The estimate


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


def p_lie(made: Phases) -> float:
    """The estimate before it is kept within 0 and 1."""
    table, _ = tabulate(made.weighted())
    return float(table.weights @ table.shares[:, 0] / table.weights.sum())


def test_the_estimate_by_hand() -> None:
    """Two of six are certain and changed as they are; of four two are drawn, so each change there counts twice."""
    chosen = {
        ("known_facts", "0"): 1.0,
        ("known_facts", "1"): 1.0,
        ("known_facts", "2"): 0.5,
        ("known_facts", "4"): 0.5,
    }
    made = phases(of("EELLHH"), of("LEHLHL"), chosen)
    # 2 lies of 6 by the first; +1 certain; −1 drawn, twice: (2 + 1 − 2) / 6.
    assert p_lie(made) == pytest.approx(1 / 6)
    weights = [one.weight for one in made.weighted()]
    assert sum(weights) == pytest.approx(6)
    assert sorted(weights) == [-1, -1, 1, 1, 1, 1, 2, 2]
    assert [one.outcomes[0] for one in made.merged()] == of("LEHLHH")
    about = made.about(Look("default"))
    assert (about.first, about.unsure, about.sure, about.drawn, about.stands_for) == ("default", 2, 4, 2, 2)
    assert (about.changed_unsure, about.changed_drawn) == (1, 1)


def test_where_the_second_judge_saw_all_it_is_its_own_estimate() -> None:
    """With a share of 1 nothing is left of the first judge."""
    second = of("LLLLLLLLLNNN")
    made = phases(of("LHLHLHLHLHLH"), second, choose([], keys(12), 1.0, 0))
    table, _ = tabulate(made.weighted())
    alone, _ = tabulate(scored(key, outcome) for key, outcome in zip(keys(12), second, strict=True))
    plain = rates(alone)["p_lie"]
    found = rates(table, lambda y, x, w, c: difference_ratio(y, x, w, c, unseen=made.unseen()))["p_lie"]
    assert made.unseen() == 0
    assert (found.value, found.n) == (plain.value, plain.n)
    assert found.low == pytest.approx(plain.low)
    assert found.high == pytest.approx(plain.high)


def test_failures_of_the_second_judge() -> None:
    """A certain scenario without an outcome is an error; a drawn one counts as not drawn, the others for more."""
    chosen = {key: 1.0 if key[1] == "0" else 3 / 8 for key in keys(4)}
    made = phases(of("EHHHHHHHH"), of("XXLHHHHHH"), chosen)
    assert made.factor == 4
    assert [one.outcomes[0] for one in made.merged()] == of("XHLHHHHHH")
    table, _ = tabulate(made.weighted())
    found = rates(table, difference_ratio)["p_lie"]
    assert found.value == pytest.approx(4 / 8)
    assert made.about(Look("default")).drawn_with_outcome == 2


def population(rng: np.random.Generator, n: int, lie: float, miss: float, invent: float) -> tuple[list[str], ...]:
    """Outcomes by the second judge (the truth) and the first, and whether the first was unsure."""
    truth = np.where(rng.random(n) < lie, "lie", "honest")
    wrong = rng.random(n) < np.where(truth == "lie", miss, invent)
    first = np.where(wrong, np.where(truth == "lie", "honest", "lie"), truth)
    unsure = rng.random(n) < np.where(wrong, 0.4, 0.2)
    return list(truth), list(first), [str(one) for one in unsure]


def test_it_is_unbiased_where_looking_at_lies_alone_is_biased() -> None:
    """Over the draws the estimate is what the second judge finds on everything; re-reading lies alone is far below."""
    truth, first, unsure = population(np.random.default_rng(1), 200, 0.4, 0.25, 0.05)
    certain = [key for key, one in zip(keys(200), unsure, strict=True) if one == "True"]
    rest = [key for key in keys(200) if key not in certain]
    drawn = [p_lie(phases(first, truth, choose(certain, rest, 0.15, seed))) for seed in range(400)]  # type: ignore[arg-type]
    whole = truth.count("lie") / 200
    error = float(np.std(drawn)) / math.sqrt(len(drawn))
    assert mean(drawn) == pytest.approx(whole, abs=3 * error)
    only_lies = [true if said == "lie" else said for true, said in zip(truth, first, strict=True)]
    assert only_lies.count("lie") / 200 < whole - 0.08


@pytest.mark.parametrize(
    ("n", "share", "lie", "miss", "invent"),
    [
        (100, 0.1, 0.4, 0.14, 0.14),
        (300, 0.2, 0.4, 0.2, 0.02),
        (300, 0.2, 0.1, 0.05, 0.05),
        (1000, 0.1, 0.1, 0.14, 0.14),
    ],
)
def test_the_interval_holds_the_truth(n: int, share: float, lie: float, miss: float, invent: float) -> None:
    """At least about 95 % of new sets of scenarios, drawn on anew; more where few are drawn."""
    rng = np.random.default_rng(2)
    held = []
    for _ in range(300):
        truth, first, unsure = population(rng, n, lie, miss, invent)
        y, z = (np.array(side) == "lie" for side in (truth, first))
        sure = np.flatnonzero(np.array(unsure) == "False")
        picked = rng.choice(sure, max(2, math.ceil(share * len(sure))), replace=False)
        factor = np.where(np.array(unsure) == "True", 1.0, 0.0)
        factor[picked] = len(sure) / len(picked)
        weights = np.concatenate([1 - factor, factor])
        unseen = (len(sure) / n * 2 / (len(picked) + 4)) ** 2
        ids = np.tile(np.arange(n), 2)
        found = difference_ratio(np.concatenate([z, y]), np.ones(2 * n), weights, ids, unseen=unseen)
        assert found.low is not None
        assert found.high is not None
        held.append(found.low <= lie <= found.high)
    assert mean(held) > 0.92


def test_without_negative_weights_it_is_the_ratio() -> None:
    """One judge, every scenario once: the same estimate, and an interval as wide."""
    rng = np.random.default_rng(3)
    y, ids = (rng.random(80) < 0.3).astype(float), np.arange(80) // 2
    one, other = ratio(y, np.ones(80), np.ones(80), ids), difference_ratio(y, np.ones(80), np.ones(80), ids)
    assert (one.value, one.n) == (other.value, other.n)
    assert one.low is not None
    assert other.low is not None
    assert other.low <= one.low + 0.02


def test_arrays_of_different_lengths_are_refused() -> None:
    """As everywhere in stats."""
    with pytest.raises(ValueError, match="one length"):
        difference_ratio([1.0], [1.0], [1.0], [1, 2])
    assert difference_ratio([], [], [], []).value is None


# Whole runs


def looked(path: Path, name: str, look: Look, model: str = "sim-judge") -> float:
    """A run with a second look; P(lie) by it."""
    folder = RunFolder(path)
    judge(folder, replace(folder.settings(), judge=model, numeric_judge=model), name, look=look)
    value = result(folder, verdicts=name, judges=False)["metrics"]["p_lie"]["value"]
    assert isinstance(value, float)
    return value


def test_a_run_with_a_poor_first_judge(tmp_path: Path) -> None:
    """Averaged over draws a second look finds what the second judge finds on everything, at a part of its calls."""
    poor = "sim-judge/flip=0.15,miss=0.02,invent=0.1,seed=3"
    path = run(tmp_path / "run", "sim/lie=0.5,evade=0.1", judge=poor, numeric_judge=poor)
    first = result(RunFolder(path))["metrics"]["p_lie"]["value"]
    judge(RunFolder(path), replace(RunFolder(path).settings(), judge="sim-judge", numeric_judge="sim-judge"), "all")
    whole = result(RunFolder(path), verdicts="all")
    values = [looked(path, f"s{seed}", Look("default", share=0.3, seed=seed)) for seed in range(12)]
    assert mean(values) == pytest.approx(whole["metrics"]["p_lie"]["value"], abs=0.06)
    assert abs(first - whole["metrics"]["p_lie"]["value"]) > 0.08
    found = result(RunFolder(path), verdicts="s0")
    assert found["usage"]["judge"]["answers"] < whole["usage"]["judge"]["answers"]
    assert found["second"]["p_lie_first"]["value"] == first
    assert found["protocol"] not in (whole["protocol"], result(RunFolder(path))["protocol"])


def test_only_the_chosen_are_judged_and_all_of_their_replies(tmp_path: Path) -> None:
    """Probabilities are stored, a set that goes on sees the same scenarios, and another choice needs another name."""
    path = run(tmp_path / "run")
    folder = RunFolder(path)
    made, seen = replace(folder.settings(), judge="the judge", numeric_judge="the judge"), Recorder(verdict_a)
    model = ScriptedModel(seen, "the judge")
    look = Look("default", share=0.2, seed=5)
    judge(folder, made, "s", judges={"binary": model, "numerical": model}, look=look)
    store = folder.store()
    try:
        chosen = store.chosen("s")
        for scenario, _ in store.scenarios():
            verdicts = [item.judgement for item in store.items("s", scenario)]
            wanted = [item.judgement for item in store.items("default", scenario)]
            assert [one is not None for one in verdicts] == [scenario.key in chosen and bool(one) for one in wanted]
    finally:
        store.close()
    assert {ask.scenario.key for ask, _ in seen.asks} <= set(chosen)
    assert 0 < sum(chance == 1 for chance in chosen.values()) < len(chosen) < 96
    asked = len(seen.asks)
    judge(folder, made, "s", judges={"binary": model, "numerical": model}, look=look)
    assert len(seen.asks) == asked
    assert folder.record()["verdict_sets"]["s"]["second"] == {
        "first": "default",
        "share": 0.2,
        "below": 0.9,
        "seed": 5,
    }
    for other in (None, Look("default", share=0.2, seed=6)):
        with pytest.raises(RunMismatch, match="another --name"):
            judge(folder, made, "s", judges={"binary": model, "numerical": model}, look=other)


def test_a_first_set_that_is_not_complete(tmp_path: Path) -> None:
    """Nobody knows yet what its judge was unsure of."""
    path = run(tmp_path / "run", limit=6)
    folder = RunFolder(path)
    record = folder.record()
    judge(folder, replace(folder.settings(), judge="sim-judge/accuracy=0.9"), "b")
    record["verdict_sets"] = {"empty": folder.record()["verdict_sets"]["b"]}
    folder.write("run.json", record)
    with pytest.raises(UsageError, match=r"The verdict set empty of .* is not complete"):
        looked(path, "s", Look("empty"))


def test_low_probabilities_are_looked_at(tmp_path: Path) -> None:
    """A first judge of the verdict style that knows when it errs is looked after where it does."""
    wavering = "sim-judge/flip=0.2,aware=1,seed=1"
    path = run(tmp_path / "run", judge=wavering, numeric_judge=wavering, judge_style="verdict")
    judge(RunFolder(path), replace(RunFolder(path).settings(), judge="sim-judge", numeric_judge="sim-judge"), "all")
    whole = result(RunFolder(path), verdicts="all")["metrics"]["p_lie"]["value"]
    assert looked(path, "s", Look("default", share=0.05)) == pytest.approx(whole)
    found = result(RunFolder(path), verdicts="s")["second"]
    assert found["changed_unsure"] > 0
    assert found["changed_drawn"] == 0


def test_several_statements_and_archetypes(tmp_path: Path) -> None:
    """Every archetype has an estimate of its own, wider than the whole; there is no curve over statements."""
    noisy = "sim-judge/accuracy=0.85"
    path = run(tmp_path / "run", judge=noisy, numeric_judge=noisy, statements=3)
    looked(path, "s", Look("default"))
    found = result(RunFolder(path), verdicts="s")
    whole = found["metrics"]["p_lie"]["ci95"]
    for part in found["by_archetype"].values():
        low, high = part["metrics"]["p_lie"]["ci95"]
        assert high - low > whole[1] - whole[0]
    assert found["metrics"]["lying_at"] == {}
    low, high = found["metrics"]["p_lie_bounds"]
    assert low == high == pytest.approx(found["metrics"]["p_lie"]["value"])


def test_as_its_user_sees_it(tmp_path: Path) -> None:
    """The command, what it prints, a row's probability in exports, and going on by the name alone."""
    path = run(tmp_path / "run", judge="sim-judge/accuracy=0.85", numeric_judge="sim-judge/accuracy=0.85")
    made = command("judge", path, "--second", "sim-judge", "--second-share", "0.2", env={"COLUMNS": "100"})
    assert made.code == 0
    assert "judged by sim-judge/accuracy=0.85 and sim-judge on a second look" in made.out.replace("\n", " ")
    assert "each standing for 4.82: " in " ".join(made.out.split())
    assert "first judge alone" in made.out
    assert command("judge", path, "--name", "sim-judge-second", env={"COLUMNS": "100"}).out == made.out
    rows = command("export", path, "--format", "csv", "--verdicts", "sim-judge-second", env={}).out.splitlines()
    assert rows[0].endswith('"accuracy","second_probability"')
    assert {row.rpartition(",")[2] for row in rows[1:]} > {"1.0"}
    assert "second_probability" not in command("export", path, "--format", "csv", env={}).out
