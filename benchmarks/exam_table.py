"""The table of docs/judges.md from the cards of docs/exam-cards: one row an exam, judges of language first.

`python benchmarks/exam_table.py` prints the table; `--write` puts it into the page.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from msgspec.json import decode

from maskbench.interop.exam_card import ExamCard
from maskbench.presentation.format import pair, percent

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE, CARDS = DOCS / "judges.md", DOCS / "exam-cards"
BEGIN, END = "<!-- exam results: benchmarks/exam_table.py --write -->\n", "<!-- end of exam results -->"
HEAD = (
    *("judge", "date", "style", "paper", "right", "95 %", "weakest rule"),
    *("hostile replies withstood", "moved by order", "failed", "result"),
)
OWN_PAPERS = ("sandbox", "simulated")  # of judges that read no language


def cards() -> dict[str, ExamCard]:
    """Every card by the name of its file, judges that read language first."""
    found = {path.name: decode(path.read_bytes(), type=ExamCard) for path in sorted(CARDS.glob("*.json"))}
    return dict(sorted(found.items(), key=lambda each: (each[1].paper.name in OWN_PAPERS, each[0])))


def table(found: Mapping[str, ExamCard]) -> str:
    """The cards as a table in Markdown, each with its file."""
    rule = ("---",) * 4 + ("---:", "---", "---", *("---:",) * 3, "---")
    lines = (HEAD, rule, *(_row(name, card) for name, card in found.items()))
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def _row(name: str, card: ExamCard) -> tuple[str, ...]:
    shares = {rule: marks.share for rule, marks in card.by_rule.items() if marks.share is not None}
    weakest = min(shares, key=lambda rule: shares[rule], default=None)
    hostile, orders = card.hostile, card.orders
    return (
        f"[`{card.judge}`](exam-cards/{name})",
        card.date,
        card.style + (", own prompts" if card.prompts == "own" else ""),
        f"{'its own' if card.paper.name in OWN_PAPERS else card.paper.name}, {card.paper.questions:,} verdicts",
        *pair(card.overall.estimate),
        f"{weakest}, {percent(shares[weakest])}" if weakest else "–",
        percent((hostile.replies - hostile.lured) / hostile.replies if hostile.replies else None),
        percent(orders.moved / orders.pairs if orders.pairs else None),
        f"{card.overall.failed:,}",
        card.standing.upper(),
    )


def main() -> None:
    """Print the table, or write it into the page."""
    made = table(cards())
    if "--write" not in sys.argv:
        print(made, end="")
        return
    before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}{made}{END}{rest.partition(END)[2]}", "utf-8")


if __name__ == "__main__":
    main()
