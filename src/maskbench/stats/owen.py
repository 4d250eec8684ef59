"""Owen values: how much each of several changes together contributed to a difference.

A game gives the figure for every choice of changes that are made already. The value of a change is its mean marginal
effect over the orders in which the changes of a group stay together. Source: Owen 1977 (values of games with a priori
unions); with one change a group it is Shapley's value.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import factorial

import numpy as np

from maskbench.stats.intervals import Floats

Groups = tuple[tuple[int, ...], ...]  # of changes, numbered from 0


def owen_values(figures: Floats, groups: Groups) -> Floats:
    """The contribution of each change to the figure with all of them minus the figure with none.

    `figures` has the changes that are made as bits of its last index (bit i for change i), so 2 ** n entries there;
    further dimensions in front are kept. `groups` has every change once. The contributions add up to the difference.
    """
    changes = sum(map(len, groups))
    if figures.shape[-1] != 2**changes or sorted(at for group in groups for at in group) != list(range(changes)):
        raise ValueError(f"{changes} changes in groups {groups} need {2**changes} figures, not {figures.shape[-1]}.")
    return figures @ _marginals(groups).T


@lru_cache(maxsize=64)
def _marginals(groups: Groups) -> Floats:
    """How much of each figure goes into the contribution of each change: a row a change."""
    changes = sum(map(len, groups))
    weights = np.zeros((changes, 2**changes))
    for place, group in enumerate(groups):
        others = [other for at, other in enumerate(groups) if at != place]
        for change in group:
            within = [at for at in group if at != change]
            for before_group, of_groups in _subsets(others):
                for done, of_changes in _subsets([(at,) for at in within]):
                    before = before_group | done
                    weights[change, before | 1 << change] += of_groups * of_changes
                    weights[change, before] -= of_groups * of_changes
    return weights


def _subsets(parts: Sequence[tuple[int, ...]]) -> list[tuple[int, float]]:
    """Every set of these parts as bits, with the share of all orders in which just these come before a further one."""
    n = len(parts)
    return [
        (sum(1 << at for part in chosen for at in part), factorial(size) * factorial(n - size) / factorial(n + 1))
        for size in range(n + 1)
        for chosen in combinations(parts, size)
    ]
