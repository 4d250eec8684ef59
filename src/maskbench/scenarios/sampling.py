"""What a run takes of a scenario set: a weighted draw, or the first few of each archetype; and folds of it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from itertools import accumulate, chain, zip_longest
from types import MappingProxyType

from maskbench.errors import UsageError
from maskbench.plain import common_form
from maskbench.types import Archetype

Key = tuple[Archetype, str]
FOLDS = 5
APART: Mapping[Key, str] = MappingProxyType({})  # no scenario belongs to another one


def draw(keys: Iterable[Key], n: int, seed: int, groups: Mapping[Key, str] = APART) -> dict[Key, float]:
    """n scenarios with their design weights (mean 1), in the set's order.

    Stratified by archetype and nested: with one seed the draw of 100 is part of that of 300, because the
    counts never fall as n grows and the order inside an archetype does not depend on n. A weight is the number
    of scenarios in the set that one in the draw stands for, scaled. Scenarios of one name in `groups` are drawn
    together, as one of the archetype of their first key: then there are as near to n as whole groups come. Raises
    UsageError for n below 1, and for more than there are.
    """
    from maskbench.stats.intervals import allocate

    _check("--sample", n)
    keys = list(keys)
    if n > len(keys):
        raise UsageError(
            f"--sample {n:,}: there are {len(keys):,} scenarios to draw from. Leave it out, or give fewer."
        )
    heads, members = _heads(keys, groups)
    strata = _by_archetype(heads)
    counts = allocate({archetype: len(_whole(stratum, members)) for archetype, stratum in strata.items()}, n)
    drawn = {
        archetype: _nearest(in_drawn_order(stratum, seed), members, counts[archetype])
        for archetype, stratum in strata.items()
        if counts[archetype]
    }
    rows = {archetype: _whole(some, members) for archetype, some in drawn.items()}
    scaled = sum(len(strata[archetype]) * len(some) / len(drawn[archetype]) for archetype, some in rows.items())
    mean = scaled / sum(map(len, rows.values()))
    taken = {
        key: len(strata[archetype]) / len(drawn[archetype]) / mean for archetype, some in rows.items() for key in some
    }
    return {key: taken[key] for key in keys if key in taken}


def limit(keys: Iterable[Key], n: int, groups: Mapping[Key, str] = APART) -> dict[Key, float]:
    """For a smoke run: the first of every archetype, then the second of every one, up to n; weight 1 each.

    Scenarios of one name in `groups` are taken together, but where n has no room for the first of them.
    """
    _check("--limit", n)
    heads, members = _heads(list(keys), groups)
    rounds = zip_longest(*_by_archetype(heads).values())
    taken: list[Key] = []
    for head in (head for head in chain.from_iterable(rounds) if head):
        whole = _whole([head], members)
        if taken and len(taken) + len(whole) > n:
            break
        taken += whole
    return dict.fromkeys(taken[:n], 1.0)


def _heads(keys: list[Key], groups: Mapping[Key, str]) -> tuple[list[Key], dict[Key, list[Key]]]:
    """One key of each group and all that are in none, in their order, and the groups by these keys."""
    by_name: dict[str, list[Key]] = {}
    for key in keys:
        if key in groups:
            by_name.setdefault(groups[key], []).append(key)
    members = {min(group): group for group in by_name.values()}
    return [key for key in keys if key not in groups or key in members], members


def _whole(heads: Iterable[Key], members: Mapping[Key, list[Key]]) -> list[Key]:
    """All that these stand for."""
    return [key for head in heads for key in members.get(head, (head,))]


def _nearest(heads: list[Key], members: Mapping[Key, list[Key]], n: int) -> list[Key]:
    """The first of these that stand for as near to n scenarios as can be: one at least, and the fewer of two ways."""
    counts = list(accumulate(len(members.get(head, (head,))) for head in heads))
    return heads[: 1 + min(range(len(heads)), key=lambda place: abs(counts[place] - n))]


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
