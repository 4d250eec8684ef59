"""Every task under every executor, straight and killed: what a run holds does not hang on how it was asked.

The models answer by the words of a request and not by their clock (benchmarks/shelf_server.py), and the requests that
they get are counted here.
"""

from collections.abc import Iterator, Mapping

import pytest

from kills import BASE, EXECUTORS, PAIRS, TASKS, Workshop, kills, workshop

pytestmark = pytest.mark.slow

REQUESTS: Mapping[str, Mapping[str, int]] = {  # of each model, whatever the executor
    "whole": {"subject": 88, "judge": 72},
    "placebo": {"thinker": 104, "judge": 88},
    "questions": {"thinker": 88, "judge": 136},
    "exam": {"judge": 60},
    "another judge": {"judge-two": 72},
    "the same judge": {"judge": 72},
}


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workshop]:
    """What carries tasks out, each in a process of its own."""
    with workshop(tmp_path_factory.mktemp("table")) as opened:
        opened.straight(*BASE)
        yield opened


@pytest.mark.parametrize("task", TASKS)
def test_every_executor_comes_to_the_same_rows_by_the_same_requests(shop: Workshop, task: str) -> None:
    """Places, texts, keys, verdicts, causes, draws and outcomes are alike, and each request is asked once."""
    held, _ = shop.straight(task, "live")
    for executor in EXECUTORS:
        rows, asked = shop.straight(task, executor)
        assert rows == held, executor
        assert asked.by_model == REQUESTS[task], executor
        assert asked.names.most_common(1)[0][1] == 1, executor


@pytest.mark.parametrize("task", TASKS)
def test_what_batches_ask_they_ask_of_all_but_the_first(shop: Workshop, task: str) -> None:
    """The first scenario of each kind is asked live; from the first batch on nothing is."""
    _, asked = shop.straight(task, "batched")
    how = [each for each, *_ in asked.sent]
    assert "live" not in how[how.index("batch") :]


@pytest.mark.parametrize(("task", "executor"), PAIRS)
def test_killed_and_gone_on(shop: Workshop, task: str, executor: str) -> None:
    """kill -9 halfway: the rows are alike in the end, and what was stored, or sent in a batch, is not asked again."""
    _, asked = shop.straight(task, executor)
    assert not list(shop.killed(task, executor, asked.requests // 2, "killed"))


def test_killed_at_random(shop: Workshop) -> None:
    """Two kills at any request of any pair; `python benchmarks/kills.py` does a hundred."""
    assert not kills(shop, 2, seed=1)
