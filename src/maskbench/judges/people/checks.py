"""What a third person labels beside the replies on which raters differ: a random tenth of what they agree on."""

from __future__ import annotations

import math

SHARE, LEAST = 0.1, 10  # of the scenarios that raters give one outcome


def how_many(agreed: int) -> int:
    """How many of the scenarios that raters give one outcome a third person labels, too."""
    return min(agreed, max(LEAST, math.ceil(SHARE * agreed)))
