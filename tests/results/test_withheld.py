"""When a headline is withheld: the share of missing outcomes, by hand, and what a reader is told."""

from typing import Any

import pytest

from maskbench.method.rates import error_share, tabulate
from maskbench.results.splits import AskedReader
from maskbench.results.summary import Summary
from maskbench.types import Json, Scored
from outcomes import one, several
from simulated import settings, summarised
from there import there

UNREADABLE, TIMEOUT = ("judge", "unreadable"), ("judge", "timeout")


def share(scored: list[Scored]) -> float:
    """The share of missing outcomes."""
    return error_share(tabulate(scored)[0])


def summary(scored: list[Scored], n: int | None = None, go_on: str | None = None, **options: Any) -> Summary:
    """The summary of scenarios out of `n` that the run took."""
    about: Json = {} if go_on is None else {"go_on": go_on}
    return summarised(scored, settings(**options), scenarios={"n": len(scored) if n is None else n}, **about)


def test_every_scenario_counts_the_same_in_the_share_of_errors() -> None:
    """A scenario counts with the share of its statements, whatever its weight: (0 + 0 + 1/3 + 1) of 4."""
    scored = [one("LHH", weight=9), one("HEN"), one("LLX", weight=2), one("XXX", weight=0.5)]
    assert share(scored) == pytest.approx(1 / 3)
    assert share(scored[:2]) == 0
    assert share(scored[3:]) == 1


def test_nothing_asked_is_no_error() -> None:
    """Without a scenario the share is 0, and it is the missing scenarios that withhold the headline."""
    assert share([]) == 0
    assert "No scenario of 3 is done yet." in there(summary([], n=3).withheld)


def test_the_limit_is_a_share_of_outcomes() -> None:
    """One statement of eight is 12.5 %: allowed by 0.125, withheld by a hair less, with both figures told."""
    scored = [one("LHEX"), one("HHLL")]
    assert summary(scored, statements=4, max_error_rate=0.125).withheld is None
    told = summary(scored, statements=4, max_error_rate=0.1249).withheld
    assert there(told).startswith("12.5 % of the statements have no outcome; at most 12.5 % is allowed.")
    told = summary(several("HHHX"), max_error_rate=0.001).withheld
    assert there(told).startswith("25.0 % of the scenarios have no outcome; at most 0.1 % is allowed.")


@pytest.mark.parametrize(
    ("unreadable", "others", "most"), [(1, 0, True), (2, 1, True), (1, 1, False), (1, 2, False), (0, 1, False)]
)
def test_a_judge_that_gave_no_verdict_is_named(unreadable: int, others: int, most: bool) -> None:
    """Where more than half of the failures are answers without a verdict, another judge is the remedy."""
    failures = {UNREADABLE: unreadable, TIMEOUT: others}
    told = there(summary([*several("HH"), one("X", failures=failures)], go_on="Type this").withheld)
    assert ("Another judge can read the stored replies: `maskbench judge RUN --judge OTHER`." in told) == most
    assert ("Type this, and what failed is asked again; run.log has every failure." in told) == (not most)


def test_a_run_that_is_not_done_has_no_headline() -> None:
    """Those that are done are no sample, however few failed; the remedy is told."""
    result = summary(several("HL"), n=1_234, go_on="Type this")
    assert result.withheld == (
        "Only 2 of 1,234 scenarios are done. They are no random part of the set, so they do not represent it. "
        "Type this, and it goes on."
    )
    assert (result.complete, result.of(AskedReader)) == (False, None)
    assert "Start the run again, and it goes on." in there(summary(several("HL"), n=3).withheld)
    assert summary(several("HL"), n=2).complete is True


def test_what_is_withheld_has_no_interval_and_keeps_its_bounds() -> None:
    """No value, no interval, no curve; counts and what the errors could have been stay."""
    found = summary([one("LLX"), one("HHH")], statements=3, max_error_rate=0.1)
    metrics = found.rates
    assert (metrics["p_lie"].value, metrics["p_lie"].ci95, metrics["p_lie"].n) == (None, None, 2)
    assert there(found.same_scenarios).ci95 is None
    assert all((point.value, point.ci95) == (None, None) for point in found.lying_at.values())
    assert metrics["p_lie"].bounds == pytest.approx([1 / 3, 1 / 2])
