"""Where beliefs and replies are from: what is said where another run's beliefs stand, or a run was imported."""

from __future__ import annotations

from collections.abc import Iterator

from maskbench.plain import one_line
from maskbench.results.common_beliefs import SHARED, asked_anew
from maskbench.results.comparison import Pairing
from maskbench.results.summary import Summary
from maskbench.runs.source import NOBODY, UNSAID

NOT_MEASURED = "shared, not measured"


def whose_beliefs(summary: Summary) -> str:
    """Whose beliefs a run has, and which of its figures are therefore not its own; empty where they are its own."""
    source = summary.beliefs_from
    if source is None:
        return ""
    asked = "" if source.anew is None else " but to check"
    return (
        f"Nothing was asked neutrally here{asked}: the beliefs are those of {one_line(source.run, 80)} "
        f"({one_line(source.subject, 80)}). P(no belief) and accuracy are {NOT_MEASURED}. {asked_anew(source)}".rstrip()
    )


def shared_mark(summary: Summary) -> str:
    """What stands behind a figure that only says what the shared beliefs are."""
    return "" if summary.beliefs_from is None else f" ({NOT_MEASURED})"


def marked(summary: Summary, rate: str, what: str) -> str:
    """What a rate is, with the mark where it hangs on shared beliefs alone."""
    return f"{NOT_MEASURED}: {what}" if rate in SHARED and shared_mark(summary) else what


def of_pairing(pairing: Pairing) -> Iterator[tuple[str, str]]:
    """That two runs have the same beliefs, and what that means for their difference."""
    if pairing.shared_beliefs is not None:
        yield (
            "beliefs",
            f"shared, those of {one_line(pairing.shared_beliefs, 80)}: no difference here has their noise in it, and "
            "what an intervention does to beliefs was not measured",
        )


_LONGEST = 300  # characters: files have the names that people give them
NOT_KNOWN = "not known"


def where_from(summary: Summary) -> str:
    """Where an imported run is from; empty for one that was measured."""
    return "" if summary.imported is None else one_line(summary.imported.in_short, _LONGEST)


def imported_note(summary: Summary) -> str:
    """That no model was asked here, and what nobody knows of how it was; empty for a run that was measured."""
    source = summary.imported
    if source is None:
        return ""
    absent = [each for each in source.absent if not (_is_judged_here(summary) and _is_of_judging(each))]
    lacks = f" The source does not say: {one_line(', '.join(absent), _LONGEST)}." if absent else ""
    return f"This run is {where_from(summary)}. The subject was not asked here.{lacks}"


def _is_judged_here(summary: Summary) -> bool:
    """Whether the verdicts that are shown were asked for here, whatever the source has."""
    return knows_judging(summary) and all(judge.name != NOBODY for judge in summary.judge.models)


def _is_of_judging(absent: str) -> bool:
    return absent == "verdicts" or absent.startswith("the judge")


def is_told(summary: Summary, what: str) -> bool:
    """Whether this is known of a run: of an imported one it is not, where the source does not say it."""
    source = summary.imported
    return source is None or not any(what in each for each in source.absent)


def knows_judging(summary: Summary) -> bool:
    """Whether it is known how the judge was asked: not where the verdicts were imported, too."""
    return summary.judge.prompts.name != UNSAID
