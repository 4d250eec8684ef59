"""Names over several lines, as they stand above a column of figures."""

from __future__ import annotations

import re

HEAD = 10  # characters of a line of a run's name above a column of figures


def stacked(name: str, width: int = HEAD) -> str:
    """The name over lines of so many characters, broken where names have joints, as after `/`, `-` or a comma."""
    lines = [""]
    for part in re.findall(r"[^-/_:, ]*[-/_:, ]?", name):
        if len(lines[-1]) + len(part.rstrip()) > width:
            lines.append("")
        lines[-1] += part
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    return "\n".join(line.strip() for line in lines if line.strip())
