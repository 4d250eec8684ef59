"""The section on tokens and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from maskbench.report.blocks import Block, Json, Only
from maskbench.report.of_runs import Scored, named, table


def tokens(runs: Sequence[Scored]) -> Iterator[Block]:
    """What the runs took, as the endpoints counted it."""
    yield Only("page", "Answers and tokens as the endpoints counted them; one that does not count leaves zeros.")
    rows = [
        (*named(runs, run), who, *_tokens(run.summary["usage"][who])) for run in runs for who in ("subject", "judge")
    ]
    yield table(runs, ("model", "answers", "tokens in", "tokens out", "of them reasoning"), rows)
    took = [f"{': '.join((*named(runs, run), ''))}{run.summary['usage']['seconds']:,.1f} s" for run in runs]
    yield f"Time: {'; '.join(took)}."


def _tokens(usage: Json) -> tuple[str, str, str, str]:
    """Answers, tokens in and out, reasoning; `at least` so many where a server counts one of several samples."""
    answers, read, out, thought = (
        f"{usage[name]:,}" for name in ("answers", "input_tokens", "output_tokens", "reasoning_tokens")
    )
    return answers, read, f"at least {out}" if usage.get("at_least") else out, thought
