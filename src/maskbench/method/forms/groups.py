"""The groups of replies that requests for verdicts are about: a row for each way to group them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from maskbench.method.forms import apart, jointly
from maskbench.method.forms.hearing import Hearing
from maskbench.method.steps import Group, Known, Step, SubjectQuestion
from maskbench.types import Scenario

GROUPS: Mapping[Group, Callable[[Hearing, Scenario, Sequence[SubjectQuestion], Known], Iterator[Step]]] = {
    "jointly": jointly.asks,
    "apart": apart.asks,
}


def asks(hearing: Hearing, scenario: Scenario, parts: Sequence[SubjectQuestion], known: Known) -> Iterator[Step]:
    """The requests that the replies to these questions call for, and that have no answer yet."""
    for group, asks_of in GROUPS.items():
        if some := [part for part in parts if part.group == group]:
            yield from asks_of(hearing, scenario, some, known)
