"""What all tests share: the browser as a fixture, examples that may take as long as they take, and `--fast`."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["browser"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run beside each other: torch takes the core that it is on

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Files that take five seconds or more on one core (browsers, processes, torch, simulations), the slowest first: run by
# themselves at the end they would leave the other cores with nothing to do.
_SLOW = (
    "hf dose_local label_browser report_browser report_people view_browser resume leaderboard view walk "
    "judge_again cli exam verdict_sets report_page sim measurement pinocchio streams lorra label_server against_judge "
    "tampered auditing checkpoints comparison controls_resumed second_look explorer gate serving two_phase "
    "directions scaling controls judge_style corpus all_pairs python_door forecast dose correction published_set "
    "disk contrast"
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
