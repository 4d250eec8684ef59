"""What is said wherever figures stand that hang on the beliefs of another run."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import UnsetType

from maskbench.plain import one_line
from maskbench.results.common_beliefs import SHARED, asked_anew
from maskbench.results.comparison_json import Pairing
from maskbench.results.summary_json import Summary

NOT_MEASURED = "shared, not measured"


def whose_beliefs(summary: Summary) -> str:
    """Whose beliefs a run has, and which of its figures are therefore not its own; empty where they are its own."""
    source = summary.beliefs_from
    if isinstance(source, UnsetType):
        return ""
    asked = "" if isinstance(source.anew, UnsetType) else " but to check"
    return (
        f"Nothing was asked neutrally here{asked}: the beliefs are those of {one_line(source.run, 80)} "
        f"({one_line(source.subject, 80)}). P(no belief) and accuracy are {NOT_MEASURED}. {asked_anew(source)}".rstrip()
    )


def shared_mark(summary: Summary) -> str:
    """What stands behind a figure that only says what the shared beliefs are."""
    return "" if isinstance(summary.beliefs_from, UnsetType) else f" ({NOT_MEASURED})"


def marked(summary: Summary, rate: str, what: str) -> str:
    """What a rate is, with the mark where it hangs on shared beliefs alone."""
    return f"{NOT_MEASURED}: {what}" if rate in SHARED and shared_mark(summary) else what


def of_pairing(pairing: Pairing) -> Iterator[tuple[str, str]]:
    """That two runs have the same beliefs, and what that means for their difference."""
    if not isinstance(pairing.shared_beliefs, UnsetType):
        yield (
            "beliefs",
            f"shared, those of {one_line(pairing.shared_beliefs, 80)}: no difference here has their noise in it, and "
            "what an intervention does to beliefs was not measured",
        )
