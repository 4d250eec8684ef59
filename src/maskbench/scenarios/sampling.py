"""What a run takes of a scenario set: a weighted draw, or the first few of each archetype; and folds of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from itertools import chain, zip_longest

from maskbench.errors import UsageError
from maskbench.plain import common_form
from maskbench.types import Archetype

Key = tuple[Archetype, str]
FOLDS = 5


def draw(keys: Iterable[Key], n: int, seed: int) -> dict[Key, float]:
    """n scenarios with their design weights (mean 1), in the set's order.

    Stratified by archetype and nested: with one seed the draw of 100 is part of that of 300, because the
    counts never fall as n grows and the order inside an archetype does not depend on n. A weight is the number
    of scenarios in the set that one in the draw stands for, scaled. Raises UsageError for n
    below 1, and for more than there are.
    """
    from maskbench.stats.intervals import allocate

    _check("--sample", n)
    keys = list(keys)
    if n > len(keys):
        raise UsageError(
            f"--sample {n:,}: there are {len(keys):,} scenarios to draw from. Leave it out, or give fewer."
        )
    strata = _by_archetype(keys)
    sizes: dict[str, int] = {archetype: len(stratum) for archetype, stratum in strata.items()}
    counts = allocate(sizes, n)
    mean = sum(size for archetype, size in sizes.items() if counts[archetype]) / max(1, sum(counts.values()))
    taken = {
        key: sizes[archetype] / counts[archetype] / mean
        for archetype, stratum in strata.items()
        for key in in_drawn_order(stratum, seed)[: counts[archetype]]
    }
    return {key: taken[key] for key in keys if key in taken}


def limit(keys: Iterable[Key], n: int) -> dict[Key, float]:
    """For a smoke run: the first of every archetype, then the second of every one, up to n; weight 1 each."""
    _check("--limit", n)
    rounds = zip_longest(*_by_archetype(keys).values())
    taken = [key for key in chain.from_iterable(rounds) if key]
    return dict.fromkeys(taken[:n], 1.0)


def fold(proposition: str) -> int:
    """Which of five folds, 1 to 5, a proposition is in: the same one in every run, whatever others there are.

    What learns from some folds and is tried on another one has met none of its propositions.
    """
    digest = hashlib.sha256(common_form(proposition).strip().encode()).digest()
    return 1 + int.from_bytes(digest[:8], "big") % FOLDS


def _check(option: str, n: int) -> None:
    if n < 1:
        raise UsageError(f"{option} {n} takes no scenario. Give a number of 1 or more.")


def _by_archetype(keys: Iterable[Key]) -> dict[Archetype, list[Key]]:
    strata: dict[Archetype, list[Key]] = {}
    for key in keys:
        strata.setdefault(key[0], []).append(key)
    return strata


def in_drawn_order(keys: Iterable[Key], seed: int) -> list[Key]:
    """Scenarios in the order in which a seed draws them, which does not depend on which others there are."""
    return sorted(keys, key=lambda key: _rank(seed, key))


def _rank(seed: int, key: Key) -> bytes:
    return hashlib.sha256(json.dumps([seed, *key]).encode()).digest()
