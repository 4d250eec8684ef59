"""What judge requests share, and that the first of a long beginning goes alone where a cache makes others cheaper."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from asked import judge_asks as asks_about
from flows import letter, scenario
from maskbench.asking.first_of_prefix import Firsts
from maskbench.measurement import measure
from maskbench.method.forms import load_prompts, written
from maskbench.models.scripted import ScriptedModel
from maskbench.settings import Budget, Settings
from maskbench.store.prices import Price
from maskbench.types import ARCHETYPES, Ask, Failure, Reply
from scenario_rows import another

PROMPTS = load_prompts()
CACHED = Price(input=2.5, cached=1.25, output=10, minimum=1024)
LONG = "It is a long story about figs. " * 200


def judge_asks(archetype: str, long: bool = False) -> list[Ask]:
    """The judge's asks about ten statements of one scenario, as a run makes them."""
    settings = Settings.of("sim", "sim-judge", "starter", statements=10)
    about = scenario(archetype, 1)
    about = another(about, system=LONG) if long else about
    known = {(0, run): Reply(f"{run} is what I say.") for run in range(1, 11)}
    return asks_about(about, known, settings, PROMPTS)


@pytest.mark.parametrize("archetype", ARCHETYPES)
def test_requests_of_one_scenario_share_all_but_the_reply(archetype: str) -> None:
    """Ten requests begin with the same texts up to the code of the reply's fence, and `shared` says how far."""
    asks = judge_asks(archetype)
    assert len({ask.messages[0] for ask in asks}) == 1
    texts = [ask.messages[1].content for ask in asks]
    (shared,) = {ask.shared for ask in asks}
    assert len({text[:shared] for text in texts}) == 1
    for text in texts:
        assert text[shared:].startswith("<reply ")
        assert "is what I say" not in text[:shared]


async def _overlap(asks: Sequence[Ask], price: Price | None) -> list[int]:
    """How many requests were under way whenever one began."""
    firsts, under_way, seen = Firsts(), 0, []

    async def send(ask: Ask) -> None:
        nonlocal under_way
        async with firsts.in_turn(ask, price):
            under_way += 1
            seen.append(under_way)
            await asyncio.sleep(0.01)
            under_way -= 1

    await asyncio.gather(*(send(ask) for ask in asks))
    return seen


def test_the_first_of_a_long_beginning_goes_alone() -> None:
    """The others wait until it is back, and then go together."""
    assert asyncio.run(_overlap(judge_asks("known_facts", long=True), CACHED)) == [1, *range(1, 10)]


@pytest.mark.parametrize(
    ("long", "price"),
    [
        (False, CACHED),
        (True, None),
        (True, Price(input=2.5, output=10, minimum=1024)),
        (True, Price(input=2.5, cached=2.5, output=10, minimum=1024)),
        (True, Price(input=2.5, cached=0.5, output=10)),
        (True, Price(input=2.5, cached=0.5, output=10, minimum=100_000)),
    ],
    ids=["short", "no price", "no cached price", "a cache that costs as much", "no minimum", "a higher minimum"],
)
def test_nobody_waits_where_no_cache_would_help(long: bool, price: Price | None) -> None:
    """A short beginning, an unknown price and a cache that is no cheaper hold nothing up."""
    assert asyncio.run(_overlap(judge_asks("known_facts", long=long), price)) == list(range(1, 11))


def test_a_first_request_that_fails_holds_nobody_up() -> None:
    """Whoever waited goes on, whatever came of the first."""

    async def run() -> str:
        firsts, (first, second, *_) = Firsts(), judge_asks("known_facts", long=True)

        async def fails() -> None:
            async with firsts.in_turn(first, CACHED):
                await asyncio.sleep(0)
                raise ValueError("lost")

        task = asyncio.create_task(fails())
        await asyncio.sleep(0)
        async with firsts.in_turn(second, CACHED):
            pass
        with pytest.raises(ValueError, match="lost"):
            await task
        return "done"

    assert asyncio.run(run()) == "done"


class Slow:
    """A judge that keeps how many requests with one beginning were under way before the first was back."""

    together = True

    def __init__(self, name: str) -> None:
        self.name = name
        self.early: dict[str, int] = {}
        self._back: set[str] = set()

    async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
        start = ask.messages[1].content[: ask.shared]
        if start not in self._back:
            self.early[start] = self.early.get(start, 0) + 1
        await asyncio.sleep(0.005)
        self._back.add(start)
        return [Reply(written(ask, letter("A")), sent={"temperature": 0})]

    def describe(self) -> dict[str, Any]:
        return {"name": self.name}

    async def close(self) -> None:
        pass


def test_a_run_sends_them_so(tmp_path: Path) -> None:
    """With a cached price and a long conversation one request of each beginning goes first."""
    rows = "task_id,system_prompt,user_prompt,type,proposition,ground_truth,formatted_ground_truth\n"
    rows += f'1,"{LONG}",Well?,binary,Figs <pivotal>are/are not</pivotal> sweet.,Figs are sweet.,A\n'
    (tmp_path / "provided_facts.csv").write_text(rows, encoding="utf-8")
    budget = Budget(judge_price_in=2.5, judge_price_out=10, judge_price_cached=0.25)
    settings = Settings.of("s", "openai/gpt-4o", str(tmp_path / "provided_facts.csv"), statements=6, budget=budget)
    judge = Slow("openai/gpt-4o")
    subject = ScriptedModel(lambda ask, run: f"{run} is what I say.", "s")
    measure(settings, tmp_path / "run", models=(subject, judge))
    assert list(judge.early.values()) == [1]
