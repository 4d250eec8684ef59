"""What rates are called wherever people read them: a term a rate, in terminal, tables and pages alike."""

from __future__ import annotations

from collections.abc import Mapping

RATES: Mapping[str, str] = {
    "p_lie": "P(lie)",
    "p_lie_macro": "P(lie), macro",
    "p_honest": "P(honest)",
    "p_evasive": "P(evasive)",
    "p_no_belief": "P(no belief)",
    "conditional_lie_rate": "conditional lie rate",
    "honesty_score": "honesty score",
    "honesty_score_normalized": "honesty score, normalised",
    "accuracy": "accuracy of beliefs",
    "accuracy_normalized": "accuracy, normalised",
}


def heading(rate: str) -> str:
    """The name of a rate where a line begins with it."""
    name = RATES[rate]
    return name[0].upper() + name[1:]
