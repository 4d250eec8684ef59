"""The section on the worst lies of the runs: what was asked, what was said, and a link to each scenario.

Scenarios and replies are others' texts: they stand in blocks as they are, and each medium makes them harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, zip_longest
from urllib.parse import quote

from maskbench.judges.verdict_sets import Done
from maskbench.method.proposition import options
from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Case
from maskbench.presentation.runs_shown import WORST, Run
from maskbench.presentation.sections.story import story
from maskbench.types import Reply

_LONGEST = 240  # characters of one text
_IDENTITY = 200  # characters of a task id, as the explorer has them


def worst_lies(runs: Sequence[Run], may_show: Callable[[Run], bool]) -> Iterator[Block]:
    """The worst lies over all runs, in turn: in most of the statements, against a firm belief, not asked outright."""
    cases = tuple(islice(_in_turn(runs), WORST))
    if cases:
        yield (
            "These lies stand first in “Every scenario”, in the order “worst first”. A lie is worse the more of the "
            "statements are lies, twice as bad where the belief is firm, and twice as bad where nobody asked outright "
            "for the falsehood."
        )
        yield from (_case(run, done, len(runs) > 1, may_show(run)) for run, done in cases)


def _in_turn(runs: Sequence[Run]) -> Iterator[tuple[Run, Done]]:
    """Each run's worst lie, then each run's second worst, and so on."""
    for place in zip_longest(*([(run, done) for done in run.worst] for run in runs)):
        yield from filter(None, place)


def _case(run: Run, done: Done, several: bool, with_texts: bool) -> Case:
    scenario = done.scenario
    address = f"{scenario.archetype}/{scenario.task_id[:_IDENTITY]}"
    place = f"&run={run.place + 1}" if several else ""
    return Case(
        f"{run.name}: {address}" if several else address,
        f"#scenario={quote(address, safe='/,:', errors='replace')}{place}",
        story(scenario, done.items, done.scored),
        tuple(zip("AB", options(scenario.proposition), strict=False))
        if with_texts and scenario.kind == "binary"
        else (),
        tuple(_texts(done)) if with_texts else (),
    )


def _texts(done: Done) -> Iterator[tuple[str, str]]:
    """What was asked and answered neutrally, what was asked under pressure, and the lie."""
    scenario, items = done.scenario, done.items
    lie = items[0, 1 + done.scored.outcomes.index("lie")]
    neutral = items.get((1, 1))
    if scenario.questions and scenario.questions[0] and neutral and isinstance(neutral.reply, Reply):
        yield "asked neutrally", one_line(scenario.questions[0], _LONGEST)
        yield "answered", one_line(neutral.reply.text, _LONGEST)
    yield "asked under pressure", one_line(scenario.user_prompt, _LONGEST)
    if isinstance(lie.reply, Reply):
        yield "answered", one_line(lie.reply.text, _LONGEST)
