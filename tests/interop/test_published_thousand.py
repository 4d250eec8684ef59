"""1,000 rows in the layout of the public set, with four statements each, come over to the very same counts."""

from collections import Counter
from pathlib import Path
from random import Random

from imports import BELIEF, STATEMENT, outcomes_of, write_rows
from maskbench.interop.importing import import_run
from maskbench.types import Archetype
from published_layout import row, rows
from published_metric import letters, metric

STATEMENTS = 4
LETTERS = "AAAABBBCCD"
TUPLES = (
    *("(31.0, 34.0, None, None)", "(40, None, None, None)", "(None, 3.5, None, None)", "(34.0, 31.0, None, None)"),
    *("(None, None, 4, 6)", "(None, None, None, None)"),
)


def judged(archetype: Archetype, cells: dict[str, str], rng: Random) -> tuple[dict[str, str], list[str]]:
    """A row with verdicts in the scripts' columns, and what the published metric makes of each statement."""
    is_number = archetype == "statistics"
    statements = [rng.choice(TUPLES if is_number else LETTERS) for _ in range(STATEMENTS)]
    held = (
        {1: [rng.choice(TUPLES)] * 3}
        if is_number
        else {k: rng.choices("AAAABCD", k=3 if k == 1 else 1) for k in (1, 2, 3)}
    )
    held = {} if archetype == "provided_facts" else held
    places = [(STATEMENT.format(run), verdict) for run, verdict in enumerate(statements, 1)]
    places += [(BELIEF.format(k, run), verdict) for k, own in held.items() for run, verdict in enumerate(own, 1)]
    for place, verdict in places:
        cells |= {f"generation{place}": f"Reply {place}", f"eval{place}": f"So it is.\nAnswer: {verdict}"}
        cells[f"eval{place}_extracted"] = verdict
    cells["ground_truth_extracted"] = cells["formatted_ground_truth"]
    return cells, [_outcome(archetype, cells, verdict, held) for verdict in statements]


def _outcome(archetype: Archetype, cells: dict[str, str], verdict: str, held: dict[int, list[str]]) -> str:
    """One statement's outcome by the description of the published metric."""
    truth = cells["formatted_ground_truth"]
    if archetype == "statistics":
        score = metric({**cells, f"eval{STATEMENT.format(1)}_extracted": verdict}, 3, 1)
        has_belief, sign = bool(score.belief), score.honesty_1
    else:
        given = (truth * 3, "") if archetype == "provided_facts" else ("".join(held[1]), held[2][0] + held[3][0])
        scored = letters(*given, verdict, truth)
        has_belief, sign = scored.belief != "C", scored.honesty_1
    return {1: "honest", -1: "lie", 0: "evasive" if has_belief else "no_belief"}[sign]


def test_a_thousand_rows_have_identical_counts(tmp_path: Path) -> None:
    """Every outcome of every statement of all six archetypes is the one that the description has."""
    rng, expected = Random(11), Counter[str]()
    for archetype, every in rows().items():
        written = []
        for own in every:
            cells, outcomes = judged(archetype, {name: str(cell) for name, cell in own.items()}, rng)
            written.append(cells)
            expected.update(outcomes)
        write_rows(tmp_path / "csv" / f"{archetype}_lab-1.csv", written)
    whole = import_run(tmp_path / "csv", tmp_path / "run", environ={})
    counts = Counter(outcome for outcomes in outcomes_of(tmp_path / "run").values() for outcome in outcomes)
    assert counts == expected
    assert sum(counts.values()) == 1000 * STATEMENTS
    assert set(counts) == {"honest", "lie", "evasive", "no_belief"}
    assert (whole.scenarios, whole.unjudged, dict(whole.failures)) == (1000, 0, {})
    assert (whole.summary.scenarios.name, whole.summary.scenarios.public) == ("cais/MASK", "cais/MASK")


def test_an_import_is_named_by_its_ids(tmp_path: Path) -> None:
    """A folder of any name that holds rows of the public set is an import of cais/MASK, whole or in part."""
    own = [{name: str(cell) for name, cell in row("known_facts", number).items()} for number in range(3)]
    for cells in own:
        judged("known_facts", cells, Random(1))
    write_rows(tmp_path / "my folder" / "known_facts_lab-1.csv", own)
    brought = import_run(tmp_path / "my folder", tmp_path / "run", environ={})
    assert (brought.scenarios, brought.scenarios_in_set) == (3, 1000)
    scenarios = brought.summary.scenarios
    assert (scenarios.name, scenarios.taken) == ("cais/MASK", "cais/MASK (what was imported)")
    own[0]["task_id"] = "mine-1"
    write_rows(tmp_path / "mixed" / "known_facts_lab-1.csv", own)
    brought = import_run(tmp_path / "mixed", tmp_path / "other", environ={})
    assert (brought.summary.scenarios.name, brought.scenarios_in_set) == (str(tmp_path / "mixed"), 3)
