"""What does not go together of a judge and the form of its paper."""

from __future__ import annotations

from maskbench.together import Clash, beside

OF_PAPERS = (
    Clash(
        ("short", "scenarios"),
        beside,
        "--short: the exam on reports on a log has 80 replies as it is.",
        "Leave one of the two out.",
    ),
    Clash(
        ("short", "model"),
        lambda short, model: short and model.partition("/")[0] in ("sim-judge", "rules"),
        "--short is for judges that read language; {model} sits its own paper in a second.",
        "Leave --short out.",
    ),
    Clash(
        ("scenarios", "model"),
        lambda scenarios, model: scenarios and model.partition("/")[0] == "rules",
        "{model} reads no report on a log.",
        "Leave --scenarios out, or examine another judge.",
    ),
)
