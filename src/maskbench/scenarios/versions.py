"""The versions of the starter set: what `starter` meant when a run was made, and what it means now."""

from __future__ import annotations

import re
from collections.abc import Mapping

STARTER = "starter"
FIRST, NEWEST = "starter@1", "starter@2"
FIRST_HASH = "968bfd6295256326fa9c5521dc46a7857f2b6683da388fe6424b03745921d8cb"  # of the set before it had versions

NAMES = re.compile(r"starter(@1|(@2)?(-controls(:(truth|plain))?)?)")


def is_starter(name: str) -> bool:
    """Whether a scenario set of that name is the starter set, one of its versions, or its controls."""
    return bool(NAMES.fullmatch(name))


def named_by_hash(record: dict[str, object]) -> dict[str, object]:
    """A run's record in which `starter` with the hash of the first version is called `starter@1`, as it is now."""
    scenarios, settings = record.get("scenarios"), record.get("settings")
    if not isinstance(scenarios, Mapping) or not isinstance(settings, Mapping):
        return record
    if (scenarios.get("name"), scenarios.get("hash")) != (STARTER, FIRST_HASH):
        return record
    taken = FIRST + str(scenarios.get("taken", STARTER)).removeprefix(STARTER)
    return {
        **record,
        "settings": {**settings, "scenarios": FIRST},
        "scenarios": {**scenarios, "name": FIRST, "taken": taken},
    }


def in_run(asked: str, held: str) -> str:
    """The name under which a run holds the set that is asked for: of `starter` any version that it holds will do."""
    if (asked, held) == (NEWEST, STARTER) or (asked == STARTER and held in (FIRST, NEWEST)):
        return held
    return asked
