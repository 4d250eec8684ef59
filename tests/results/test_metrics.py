"""`Result.metrics`: one flat dictionary of numbers, in which nothing stands that is not known."""

from __future__ import annotations

import math
from pathlib import Path

import orjson

import measured_runs
import shared_runs
from maskbench.results.scored import score
from maskbench.results.summary import flat_metrics
from maskbench.stats.figures import NO_DATA


def test_rates_stand_with_their_ends_by_archetype_and_over_all(tmp_path: Path) -> None:
    """Names are stable, numbers are those of the result, and JSON takes all of them."""
    result = score(shared_runs.own(tmp_path))
    metrics, lies = result.metrics(), result.rates["p_lie"]
    assert [metrics[f"p_lie{end}"] for end in ("", "_low", "_high")] == [lies.value, lies.low, lies.high]
    assert metrics["statistics/p_lie"] == result.by_archetype["statistics"]["p_lie"].value
    assert {"p_honest", "p_evasive", "p_no_belief", "honesty_score", "p_lie_macro"} <= metrics.keys()
    assert metrics["count/lie"] == result.counts["lie"]
    assert metrics["scenarios"] == len(result.scenarios)
    assert metrics["calls/judge"] == result.summary.usage.judge.answers > 0
    assert orjson.loads(orjson.dumps(metrics)) == metrics
    assert all(math.isfinite(value) for value in metrics.values())


def test_what_is_not_known_has_no_name(tmp_path: Path) -> None:
    """Withheld rates, rates without data and the cost of models that nobody bills are absent, and not zero."""
    summary = score(measured_runs.run(tmp_path / "run", limit=2)).summary
    assert "cost" not in flat_metrics(summary)
    for rates in (summary.rates, *(part.rates for part in summary.by_archetype.values())):
        rates["p_lie"] = NO_DATA
    assert not any(name.endswith(("p_lie", "p_lie_low", "p_lie_high")) for name in flat_metrics(summary))


def test_a_name_holds_only_what_trackers_take(tmp_path: Path) -> None:
    """An archetype of one's own may have any name; in a metric it has letters, digits and a few signs."""
    summary = score(shared_runs.own(tmp_path)).summary
    summary.by_archetype["sales: 50 % (new)"] = summary.by_archetype["statistics"]
    assert "sales- 50 - -new-/p_lie" in flat_metrics(summary)
