"""What all tests share: the browser as a fixture, examples that may take as long as they take, and `--fast`."""

import gc
import os
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["browser"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run beside each other: torch takes the core that it is on

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Files that take five seconds or more on one core (browsers, processes, torch, simulations), the slowest first: run by
# themselves at the end they would leave the other cores with nothing to do.
_SLOW = (
    "table hf label_browser report_browser read_once report_people resume leaderboard "
    "walk judge_again cli exam verdict_sets report_page sim measurement pinocchio streams lorra label_server "
    "against_judge spread_over_seeds "
    "tampered checkpoints comparison explorer gate serving "
    "directions scaling placebo judge_style corpus all_pairs python_door forecast calibration published_set "
    "disk contrast judges_agree lorra_texts pairings benchmarks organism schemas recipes "
    "batches_killed batches_nasty batches "
    "own_archetypes howtos meter pacing estimate "
    "generated_logs sweeping sweep_stopped sweep_file limits_and_plans published_thousand"
)
SLOW = [f"test_{name}.py" for name in _SLOW.split()]


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--fast` is for the daily loop; `make test` runs everything."""
    parser.addoption("--fast", action="store_true", help="leave out the files of tests that are named in conftest.SLOW")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the slow files out where `--fast` asks for it; decide nothing otherwise."""
    return True if config.getoption("--fast") and collection_path.name in SLOW else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the slowest files, as `--no-loadscope-reorder` then keeps it."""
    places = {name: place for place, name in enumerate(SLOW)}
    items.sort(key=lambda item: places.get(item.path.name, len(places)))


# Four thousand tests and the modules that they import are a million objects, which never become garbage. Every full
# collection of garbage would look at all of them, half a second long, and asyncio and torch bring about thousands.


def pytest_collection_finish() -> None:
    """Take what lives to the end out of every further collection of garbage."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[Any]) -> Generator[None, object, object]:
    """Take out what a whole file shares, and the modules that were imported to make it."""
    value = yield
    if fixturedef.scope in ("module", "session"):
        gc.freeze()
    return value
