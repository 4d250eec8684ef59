"""Whatever a batch brings or does not bring, by either service, a run comes to what a live run comes to."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from batch_server import SERVICES, Nasty, read, run, run_live, serving, settings, small_set

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set."""
    return small_set(tmp_path_factory.mktemp("set"))


@pytest.fixture(scope="module")
def live(scenarios: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What live runs on it hold."""
    return run_live(scenarios, tmp_path_factory.mktemp("live"))


NASTY = {
    "results come twice, with other words the second time": Nasty(twice=True),
    "results nobody asked for": Nasty(strangers=True, shuffled=True),
    "empty successes": Nasty(empty=lambda place: place % 3 == 0),
    "requests that failed on the server": Nasty(broken=lambda place: place % 4 == 1),
    "results that are missing": Nasty(left_out=lambda place: place % 3 == 2),
    "a job that expired half done": Nasty(ends="expired"),
    "a job that somebody cancelled": Nasty(ends="cancelled"),
    "downloads that end early": Nasty(short=2),
    "downloads that are cut off": Nasty(cut=2),
    "a download that never comes whole": Nasty(short=99),
    "too much at once": Nasty(refused={"create": [429], "look": [503], "results": [500]}),
    "a job that is not known any more": Nasty(lost=True),
}


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("what", NASTY)
def test_nasty_results(what: str, service: str, scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """Whatever a batch brings, or does not bring, the run comes to what the live one came to."""
    nasty = replace(NASTY[what], refused={step: list(each) for step, each in NASTY[what].refused.items()})
    with serving(nasty) as server:
        summary = run(server, settings(service, scenarios, batch="judge"), tmp_path / "run")
    assert read(tmp_path / "run") == live[service][0]
    assert summary.counts["error"] == 0
