"""What all tests share: the browser as a fixture, examples that may take as long as they take, and `--fast`."""

import gc
import os
from collections.abc import Generator
from importlib.util import find_spec
from typing import Any

import pytest
from hypothesis import settings

pytest_plugins = ["browser"]

os.environ.setdefault("OMP_NUM_THREADS", "1")  # tests run beside each other: numpy takes the core that it is on

# Pages are seen where the extra `pages` is installed: `make test-pages`.
_SEEN = ("explorer_browser", "figure_files", "label_browser", "report_browser", "report_people")
collect_ignore = [] if find_spec("playwright") else [f"page/test_{name}.py" for name in _SEEN]

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--fast` is for the daily loop; `make test` runs everything."""
    parser.addoption("--fast", action="store_true", help="leave out what is marked as slow")


def pytest_report_header() -> str | None:
    """Say what is left out."""
    return "playwright is not installed: no page is tested in a browser (make test-pages)" if collect_ignore else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what is slow, as `--no-loadscope-reorder` then keeps it, or leave it out where `--fast` asks for it.

    Run at the end, a slow file would leave the other cores with nothing to do.
    """
    slow = [item for item in items if item.get_closest_marker("slow")]
    others = [item for item in items if not item.get_closest_marker("slow")]
    if config.getoption("--fast"):
        config.hook.pytest_deselected(items=slow)
        items[:] = others
    else:
        items[:] = [*slow, *others]


# Four thousand tests and the modules that they import are a million objects, which never become garbage. Every full
# collection of garbage would look at all of them, half a second long, and asyncio brings about thousands.


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
