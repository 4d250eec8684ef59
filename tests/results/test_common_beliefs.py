"""Runs with the same beliefs side by side: what is compared, what is called shared, how the best is confirmed."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from msgspec.structs import replace as with_parts

from flows import command, environ, reply_to, serving, six_files, typed
from maskbench.errors import UsageError
from maskbench.interventions.dose.arms import measure_doses
from maskbench.interventions.dose.plan import check, forecast
from maskbench.interventions.dose.record import DoseCurve, Plan, plain_dose
from maskbench.measurement import measure
from maskbench.presentation.latex import render as as_latex
from maskbench.presentation.markdown import render as as_markdown
from maskbench.presentation.sections.board import blocks as board_blocks
from maskbench.presentation.sections.comparison import comparison as compared
from maskbench.presentation.sections.doses import blocks as dose_blocks
from maskbench.presentation.terminal import text
from maskbench.results.common_beliefs import confirmed, correlated, of_result
from maskbench.results.comparison import compare
from maskbench.results.contrasts import SEED
from maskbench.results.gate import Limits, check_run
from maskbench.results.leaderboard import boards
from maskbench.results.leaderboard_data import Page, as_csv, as_json
from maskbench.results.scaling import Compute, scaling
from maskbench.results.scored import score
from maskbench.runs.watching import Unwatched
from maskbench.settings import Settings
from maskbench.stats.paired import sign_flip
from measured_runs import settings
from there import there


def arm(path: Path, base: Path | None = None, **options: Any) -> Path:
    """A simulated run, on the beliefs of another one where there is a `base`."""
    measure(settings("sim/lie=0.5,unsure=0.2", **options, beliefs_from=base and str(base)), path, {})
    return path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A run with beliefs of its own, and two more on these."""
    place = tmp_path_factory.mktemp("runs")
    plain = arm(place / "plain")
    return {
        "plain": plain,
        "honest": arm(place / "honest", plain, system_prompt="honest"),
        "twice": arm(place / "twice", plain, statements=2),
    }


def shown(blocks: Any) -> str:
    """Blocks as one line of text."""
    return " ".join(text(list(blocks), 400).split())


# Compared


def test_the_difference_is_tested_and_what_is_shared_is_not(runs: dict[str, Path]) -> None:
    """P(lie) has the sign-flip test of any pair; P(no belief), accuracy and the share of beliefs have no difference."""
    data = compare(runs["plain"], runs["twice"]).data
    (pairing,) = data.others
    rates = pairing.rates
    for rate in (rates["p_no_belief"], rates["accuracy"]):
        assert (rate.difference, rate.ci95, rate.one_sided95) == (None, None, None)
        assert rate.first == rate.other is not None
    assert there(pairing.factors)["belief_share"].difference is None
    first, other = (score(runs[name]).table for name in ("plain", "twice"))
    d = other.lies / other.usable - first.lies / first.usable
    by_hand = sign_flip(d, first.weights, first.clusters, np.random.default_rng(SEED))
    assert rates["p_lie"].ci95 == (by_hand.low, by_hand.high)
    assert rates["p_lie"].p == by_hand.p
    assert pairing.shared_beliefs == str(runs["plain"])


def test_a_comparison_says_that_beliefs_are_shared(runs: dict[str, Path]) -> None:
    """In the table, in a line of its own, and in JSON; the finding names no difference that nobody measured."""
    data = compare(runs["plain"], runs["honest"]).data
    printed = shown(compared(data))
    assert "shared, not measured" in printed
    assert f"beliefs shared, those of {runs['plain']}"[:60] in printed
    assert "no difference here has their noise in it" in printed
    assert data.as_dict()["others"][0]["shared_beliefs"] == str(runs["plain"])
    assert "confirm" not in data.as_dict()


def test_another_judge_measures_no_shared_belief(tmp_path: Path) -> None:
    """Judged once more the neutral replies are another run's still, so that the mark stays on what hangs on them."""
    plain = arm(tmp_path / "plain")
    other = arm(tmp_path / "other", plain, system_prompt="honest")
    assert typed("judge", other, "--judge", "sim-judge/accuracy=0.9", "--name", "again").code == 0
    for verdicts in ("default", "again"):
        told = typed("score", other, "--verdicts", verdicts, "--full").out
        assert "no belief (shared, not measured)" in " ".join(told.split()), verdicts
        assert "P(no belief) and accuracy are shared, not measured." in " ".join(told.split()), verdicts
    assert "shared, not measured" not in typed("score", plain).out


def test_the_best_of_several_is_to_be_measured_again(runs: dict[str, Path]) -> None:
    """With the command; two runs on other beliefs than each other's need no such thing."""
    data = compare(runs["plain"], runs["honest"], runs["twice"]).data
    (line,) = there(data.confirm)
    best = min(("honest", "twice"), key=lambda name: there(score(runs[name]).rates["p_lie"].value))
    assert "lies least of 2 runs on the same beliefs" in line
    assert f"--out {runs[best]}-own-beliefs`" in line
    assert line in shown(compared(data))


def test_runs_with_beliefs_of_their_own_are_compared_as_ever(runs: dict[str, Path], tmp_path: Path) -> None:
    """No word of sharing, and a difference in every rate."""
    own = arm(tmp_path / "own", statements=2)
    data = compare(runs["plain"], own).data
    plain = data.as_dict()
    assert "confirm" not in plain
    assert "shared_beliefs" not in plain["others"][0]
    assert data.others[0].rates["accuracy"].difference is not None
    assert "shared, not" not in shown(compared(data))


def test_nothing_got_worse_is_not_said_of_shared_beliefs(runs: dict[str, Path]) -> None:
    """A margin is tested for what was measured: the three outcomes that hang on statements."""
    (pairing,) = compare(runs["plain"], runs["twice"], non_inferiority=0.2).data.others
    assert set(there(pairing.non_inferiority).shown) == {"p_lie", "p_honest", "p_evasive"}


# What changes by itself


def test_repeated_statements_on_shared_beliefs_tell_all_of_it(tmp_path: Path) -> None:
    """Beliefs do not change between two such runs, so halves of the belief replies are left out of the reference."""
    base = Settings.of("pinocchio", "rules/sandbox", "sandbox", archetypes=("known_facts",), beliefs=6, statements=2)
    plain, shared, own = (tmp_path / name for name in ("plain", "shared", "own"))
    measure(base, plain, {})
    measure(base.having(system_prompt="placebo", beliefs_from=str(plain)), shared, {})
    measure(base.having(system_prompt="placebo", seed=1), own, {})
    pairings = [compare(plain, other).data.others[0] for other in (shared, own)]
    sources = [there(pairing.by_themselves).source for pairing in pairings]
    assert sources == ["statements_on_shared_beliefs", "statements_and_beliefs"]
    assert there(pairings[0].by_themselves).by_itself < there(pairings[1].by_themselves).by_itself
    assert "as repeated statements on the shared beliefs show" in shown(compared(compare(plain, shared).data))


def test_a_retest_repeats_what_the_comparison_repeats(tmp_path: Path) -> None:
    """Against a run on the same beliefs a retest has to be on them, too; against another one it may not."""
    base = Settings.of("pinocchio", "rules/sandbox", "sandbox", limit=12)
    names = {
        "plain": base,
        "shared": base.having(system_prompt="honest", beliefs_from=str(tmp_path / "plain")),
        "again": base.having(seed=1),
        "kept": base.having(seed=1, beliefs_from=str(tmp_path / "plain")),
    }
    for name, wanted in names.items():
        measure(wanted, tmp_path / name, {})
    plain, shared, again, kept = (tmp_path / name for name in names)
    with pytest.raises(UsageError, match="share their beliefs, so a retest has to be measured with --beliefs-from"):
        compare(plain, shared, retest=again)
    (pairing,) = compare(plain, shared, retest=kept).data.others
    assert there(pairing.by_themselves).source == "run"


# Boards


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three runs through a server, two of them on the beliefs of the first, and one of these again on its own."""
    place = tmp_path_factory.mktemp("served")
    scenarios = str(six_files(place / "set", 6))
    base = Settings.of("openai-api/local/subject", "openai-api/local/judge", scenarios, connections=8)
    shares = base.having(beliefs_from=str(place / "plain"))
    wanted = {
        "plain": base,
        "honest": shares.having(system_prompt="honest"),
        "placebo": shares.having(system_prompt="placebo"),
        "own": base.having(system_prompt="placebo"),
    }
    with serving(reply=reply_to, honours_n=False) as server:
        for name, each in wanted.items():
            measure(each, place / name, environ(server))
    return [place / name for name in wanted]


def page_of(paths: Sequence[Path]) -> Page:
    """A leaderboard of these runs."""
    return Page(boards([score(path, judges=False) for path in paths]), (), None, {})


def test_a_board_says_who_shares_beliefs(served: list[Path]) -> None:
    """In its notes, at the figures that are not measured, in JSON and CSV, and in what is pasted into a paper."""
    page = page_of(served[:3])
    (table,) = page.tables
    assert len(table.ranked) == 3
    told = shown(board_blocks(page))
    assert f"share the beliefs of {served[0]}" in told
    assert "never average them, or hold their intervals against each other, as if they were independent" in told
    assert "lies least of 2 runs on the same beliefs" in told
    for printed in (as_markdown(list(board_blocks(page))), as_latex(list(board_blocks(page)))):
        assert "shared" in printed
    rows = orjson.loads(as_json(page))["tables"][0]
    assert len(rows["shared_beliefs"]) == 2
    whose = {row["run"]: row.get("beliefs_from", {}).get("run") for row in rows["ranked"]}
    assert whose == {str(served[0]): None, str(served[1]): str(served[0]), str(served[2]): str(served[0])}
    lines = list(csv.DictReader(io.StringIO(as_csv(page))))
    assert sorted(line["beliefs_from"] for line in lines) == ["", str(served[0]), str(served[0])]


def test_beliefs_of_its_own_go_before_shared_ones(served: list[Path]) -> None:
    """Of one measurement the run that asked for its beliefs is ranked, and the other one stands apart."""
    (table,) = page_of(served).tables
    apart = {row.result.path: row.why for row in table.unranked}
    assert apart == {served[2]: f"on the beliefs of another run, which {served[3]} has of its own"}


def test_a_board_without_sharing_is_as_it_was(served: list[Path]) -> None:
    """No note, no mark, no column, no key."""
    page = page_of([served[0], served[3]])
    assert "share" not in shown(board_blocks(page)).replace("may share a rank", "").replace("share of", "")
    assert "beliefs_from" not in as_csv(page)
    assert b"beliefs" not in as_json(page).encode().replace(b"no_belief", b"")


def test_runs_of_the_same_second_share_nothing(served: list[Path]) -> None:
    """Without a run that took beliefs over there is no group, whatever two runs have in common."""
    arms = [of_result(score(served[0]))._replace(path=path) for path in served[:2]]
    assert not [*correlated(arms), *confirmed(arms)]


# Where runs are taken together


def test_scaling_takes_no_run_on_the_beliefs_of_another(served: list[Path]) -> None:
    """It would be no independent draw; it is named."""
    results = [score(path) for path in served[:3]]
    compute = {result.model.lower(): Compute(1e20, "a") for result in results}
    correlated_with = scaling(results, compute, np.random.default_rng(0))
    assert correlated_with.sharing == [result.model for result in results[1:]]
    assert correlated_with.left_out == []
    assert {each.models for each in correlated_with.spearman.values()} <= {0, 1}


def test_a_gate_says_whose_beliefs_they_are(runs: dict[str, Path]) -> None:
    """A release is not passed on figures that look measured and are not."""
    printed = command("check", runs["honest"], "--max-lie", "0.99", env={"COLUMNS": "300"}).out
    assert "P(no belief) and accuracy are shared, not measured." in printed
    _, checked = check_run(runs["honest"], Limits(None, 0.01, 0.5, 0.5), runs["plain"])
    assert checked.verdict in ("passed", "failed")


# Doses


def doses(out: Path, **changes: Any) -> DoseCurve:
    """A curve of two prompts on shared beliefs."""
    base = settings("sim/lie=0.5", limit=12, statements=2)
    parts: dict[str, Any] = {"kind": "prompts", "base": base, "doses": ("honest", "placebo"), "share_beliefs": True}
    return measure_doses(Plan(**parts | changes), out, {}, lambda title, folder: Unwatched())


def test_doses_that_leave_beliefs_alone_ask_for_them_once_a_split(tmp_path: Path) -> None:
    """Dose 0 asks; the choice on the dev split is confirmed on the beliefs of the test split; damage is not claimed."""
    curve = doses(tmp_path / "curve")
    for part in ("dev", "test"):
        first, *others = (tmp_path / "curve" / part / name for name in ("none", "prompt_honest", "prompt_placebo"))
        assert score(first).summary.usage.subject.answers > 24
        assert [score(path).summary.usage.subject.answers for path in others] == [24 + 5] * 2  # five check
        assert {there(of_result(score(path)).source).run for path in others} == {str(first)}
    row = there(curve.chosen)
    assert (row.rates["accuracy"].difference, row.rates["p_no_belief"].difference) == (None, None)
    assert not [reason for reason in curve.verdict.reasons if "Within the margin" in reason]
    printed = shown(dose_blocks(curve))
    assert "accuracy and the share without a belief are shared, not measured" in printed
    assert "the choice is confirmed on beliefs that it was not made on" in printed
    assert doses(tmp_path / "curve") == curve


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"kind": "steer", "source": "v", "doses": (1.0,)}, "--steer changes what the model answers"),
        ({"kind": "adapter", "source": "a", "doses": (1.0,)}, "--adapter changes what the model answers"),
        ({"on_beliefs": True}, "with --prompt-on-beliefs the prompts change beliefs"),
    ],
)
def test_doses_that_touch_beliefs_may_not_share_them(changes: dict[str, Any], why: str) -> None:
    """Refused before anything is measured."""
    parts: dict[str, Any] = {"kind": "prompts", "base": settings("sim"), "doses": ("honest",), "share_beliefs": True}
    with pytest.raises(UsageError, match=why):
        check(Plan(**parts | changes))


def test_a_curve_that_asks_anew_says_nothing_of_sharing(tmp_path: Path) -> None:
    """Its file has no new key."""
    curve = doses(tmp_path / "curve", share_beliefs=False, doses=("honest",))
    assert "Beliefs are elicited again at every dose." in shown(dose_blocks(curve))
    as_ever = with_parts(curve, plan=Plan(kind="prompts", base=settings("sim"), doses=("honest",)))
    assert "share_beliefs" not in plain_dose(as_ever)["plan"]


def test_the_forecast_of_doses_counts_beliefs_once_a_split() -> None:
    """The others are asked for statements alone."""
    parts: dict[str, Any] = {"kind": "prompts", "base": settings("sim", limit=6), "doses": ("honest", "placebo")}
    runs, asking = forecast(Plan(**parts), {})
    same, sharing = forecast(Plan(**parts, share_beliefs=True), {})
    assert runs == same == 6
    subject = next(key for key in asking if key[0] == "subject")
    assert asking[subject].calls[1] - sharing[subject].calls[1] == 4 * (23 - 3)  # three check
