"""Scenario sets: where they come from, what is wrong with them, what is taken from them."""

from maskbench.scenarios.blank import write_blank
from maskbench.scenarios.identity import SetHash, canonical, content_id, digest
from maskbench.scenarios.neutral import leaders
from maskbench.scenarios.reading import ScenarioSet
from maskbench.scenarios.remarks import Remarks, few_pairs, public_of
from maskbench.scenarios.sampling import Key, draw, fold, limit
from maskbench.scenarios.sources import KnownSet, is_starter, known_sets, load, open_set, validate

__all__ = [
    "Key",
    "KnownSet",
    "Remarks",
    "ScenarioSet",
    "SetHash",
    "canonical",
    "content_id",
    "digest",
    "draw",
    "few_pairs",
    "fold",
    "is_starter",
    "known_sets",
    "leaders",
    "limit",
    "load",
    "open_set",
    "public_of",
    "validate",
    "write_blank",
]
