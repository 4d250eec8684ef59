"""What a run on the 1,000 public scenarios costs by today's price list, as the table of docs/money.md has it.

python benchmarks/money.py    asks no model and needs no key; every figure is one of `maskbench run … --dry-run`
"""

from __future__ import annotations

from maskbench.asking.estimate import of_run
from maskbench.settings import Settings
from maskbench.store.bill import dollars

PAIRS = (
    ("anthropic/claude-haiku-5-5", "openai/gpt-6-luna"),
    ("openai/gpt-4o", "openai/gpt-5-mini"),
    ("google/gemini-2.5-pro", "openai/gpt-4o"),
    ("openai/gpt-5", "anthropic/claude-haiku-4-5"),
    ("anthropic/claude-opus-5-5", "openai/gpt-4o"),
)


def main() -> None:
    """Print the table."""
    print("| subject | judge | calls | usual, $ | from least to most, $ |\n|---|---|---|---|---|")
    for subject, judge in PAIRS:
        settings = Settings.of(subject, judge, "cais/MASK")
        _, _, costs = of_run(settings, {}, None)
        if costs.usual is None or costs.cost is None:
            raise SystemExit(f"No price list has {subject} or {judge}.")
        calls = [sum(each.calls[end] for each in costs.models) for end in (0, 1)]
        shown = " to ".join(f"{each:,.0f}" for each in dict.fromkeys(calls))
        ends = " to ".join(dollars(each).removeprefix("$") for each in costs.cost)
        print(f"| {subject} | {judge} | {shown} | {dollars(costs.usual).removeprefix('$')} | {ends} |")


if __name__ == "__main__":
    main()
