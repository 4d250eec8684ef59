"""From one model on a laptop to sixty a day: calls, tokens, money, GPUs, and what of one core the process takes.

`python benchmarks/scale_arithmetic.py` prints the table of docs/project/scale.md, and `--write` puts it there. Calls,
tokens and money are those of `maskbench run --dry-run` on 1,000 generated scenarios in the proportions of the public
set, in the middle of their ranges. What a GPU does is assumed, and an option: measure yours (docs/project/scale.md says
how).
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from csv_tables import DOCS, put_table
from maskbench.asking.estimate import estimate, planned
from maskbench.asking.meter import known_prices
from maskbench.method.forms import load_prompts
from maskbench.settings import Settings
from scenarios import write as write_scenarios

SCENARIOS = 1_000
DAY = 86_400.0
HTTP = 0.001  # seconds of one core an answer, with the HTTP client, by docs/project/performance.md
BEGIN, END = "<!-- scale_arithmetic.py: table -->", "<!-- end of it -->"
KEYS = {"OPENAI_API_KEY": "none is used: nothing is called"}


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured: so many models, a kind of subject and judge, and statements a scenario."""

    words: str
    subject: str
    judge: str
    models: int = 1
    statements: int = 1


CASES = (
    Case("one hosted model", "openai/gpt-4o-mini", "openai/gpt-4o-mini"),
    Case("the same, ten statements", "openai/gpt-4o-mini", "openai/gpt-4o-mini", statements=10),
    Case("sixty models a day, hosted judge", "vllm/mine", "openai/gpt-4o-mini", 60, 10),
    Case("the same, judge on own GPUs", "vllm/mine", "vllm/judge", 60, 10),
)


@dataclass(frozen=True, slots=True)
class Load:
    """What a case takes in all: answers, tokens read and written by models on own GPUs and by all, and dollars."""

    answers: float
    read: float
    written: float
    own_read: float
    own_written: float
    dollars: float

    def gpus(self, reads: float, writes: float) -> float:
        """GPUs that do it in a day, where one reads and writes so many tokens a second."""
        return (self.own_read / reads + self.own_written / writes) / DAY


def load(case: Case, scenarios: Path) -> Load:
    """What `--dry-run` counts for one model of this case, times its models."""
    settings = Settings.of(
        subject=case.subject,
        judge=case.judge,
        numeric_judge=case.judge,
        scenarios=str(scenarios),
        statements=case.statements,
    )
    prompts = load_prompts(settings.judging.prompts, settings.judging.style)
    counted, by_counts = planned(settings, KEYS, prompts)
    costs = estimate(counted.loads, settings, known_prices(settings, KEYS), by_counts=by_counts)
    own = [each for each in costs.models if each.model.startswith("vllm/")]
    return Load(
        answers=case.models * (counted.calls.replies + counted.calls.verdicts),
        read=case.models * sum(_middle(each.input_tokens) for each in costs.models),
        written=case.models * sum(_middle(each.output_tokens) for each in costs.models),
        own_read=case.models * sum(_middle(each.input_tokens) for each in own),
        own_written=case.models * sum(_middle(each.output_tokens) for each in own),
        dollars=case.models * (_middle(costs.cost) if costs.cost else 0.0),
    )


def _middle(ends: tuple[float, float]) -> float:
    return sum(ends) / 2


def table(cases: Sequence[Case], reads: float, writes: float) -> Iterator[str]:
    """The lines of the table."""
    yield (
        "| measured | answers | tokens read, M | written, M | dollars | answers a second over a day | GPUs for a day | "
        "of one core |"
    )
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    with tempfile.TemporaryDirectory() as folder:
        write_scenarios(Path(folder), SCENARIOS)
        for case in cases:
            of_it = load(case, Path(folder))
            gpus = of_it.gpus(reads, writes)
            cells = (
                case.words,
                f"{of_it.answers:,.0f}",
                f"{of_it.read / 1e6:,.1f}",
                f"{of_it.written / 1e6:,.1f}",
                f"{of_it.dollars:,.2f}",
                f"{of_it.answers / DAY:,.2f}",
                f"{gpus:,.2f}" if gpus else "",
                f"{100 * of_it.answers * HTTP / DAY:,.2f} %",
            )
            yield f"| {' | '.join(cells)} |"


def main() -> None:
    """Count and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reads", type=float, default=20_000, help="tokens that a GPU reads a second")
    parser.add_argument("--writes", type=float, default=2_000, help="tokens that it writes a second, all requests")
    parser.add_argument("--write", action="store_true", help="put the table into docs/project/scale.md")
    asked = parser.parse_args()
    lines = "\n".join(table(CASES, asked.reads, asked.writes))
    print(lines)
    if asked.write:
        put_table(DOCS / "project" / "scale.md", BEGIN, END, lines)


if __name__ == "__main__":
    main()
