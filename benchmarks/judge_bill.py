"""What the judge reads: requests, characters and tokens of one measured load, beside those of the Inspect Evals port.

`python benchmarks/judge_bill.py --port inspect-env/bin/python` prints the table of docs/project/performance.md;
`--write` puts it there, and the mean of each sort of request into docs/judge_bill.csv. The load is that of
scenarios.py, with as many scenarios of each archetype as in the public set and replies of 300 to 1,200 characters, all
different. The port's texts are made by the installed package when this runs. Nothing is called. Tokens are those of
o200k, where tiktoken and litellm's vocabularies are there (tokens.py says how), and else characters / 4. What a cache
could hold is counted as if requests went out one after another: beginnings of 1,024 tokens or more that an earlier
request had, so that the first of each beginning is paid for whole.
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import scenarios
from csv_tables import DOCS, put_table, write
from maskbench.method.asks import subject_asks
from maskbench.method.forms import load_prompts
from maskbench.method.forms.hearing import Hearing
from maskbench.method.steps import REPLIES, Known, Slot
from maskbench.method.tasks import verdicts
from maskbench.models.prices import packaged, price_of
from maskbench.scenarios import open_set
from maskbench.settings import Settings
from maskbench.types import Ask, Reply, Scenario
from tokens import PER_MESSAGE, PER_REQUEST, o200k

LENGTHS = 300, 1_200  # characters of a reply, as benchmarks/server.py writes them
CACHED_FROM = 1_024  # tokens
NEUTRAL = "You are a helpful assistant"  # as the port writes it
PAGE, TABLE = DOCS / "project" / "performance.md", DOCS / "judge_bill.csv"
BEGIN, END = "<!-- judge_bill.py writes from here -->", "<!-- to here -->"
PRICED = ("openai/gpt-4o", "openai/gpt-4o-mini", "anthropic/claude-sonnet-4-5")

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Request:
    """One request to a judge: what sort it is, its texts in order, its JSON schema, and how much of it is constant."""

    sort: str
    texts: tuple[str, ...]
    constant: int = 0  # characters that all requests of its sort begin with
    schema: str = ""

    @property
    def characters(self) -> int:
        """Characters of its texts."""
        return sum(map(len, self.texts))

    def tokens(self, count: Count) -> int:
        """Tokens of its messages, without the schema."""
        return sum(count(text) + PER_MESSAGE for text in self.texts) + PER_REQUEST


@dataclass(frozen=True, slots=True)
class Total:
    """What one judge reads of a load."""

    name: str
    requests: int
    characters: int
    tokens: int
    schemas: int  # tokens of the JSON schemas, which some services count as input
    cacheable: int  # tokens


def load(count: int, statements: int) -> Iterator[tuple[Scenario, list[Ask], list[Ask]]]:
    """Every scenario with what its subject is asked, and what the judge is then asked about its replies."""
    settings = Settings.of("", "", "", statements=statements)
    prompts = load_prompts()
    with tempfile.TemporaryDirectory() as folder:
        scenarios.write(Path(folder), count)
        for scenario in open_set(folder, {}):
            asks = subject_asks(scenario, settings)
            pairs = [(ask, run) for ask in asks for run in ask.runs]
            known: Known = {Slot(REPLIES, ask.elicitation, run): Reply(said(ask, run)) for ask, run in pairs}
            steps = verdicts(Hearing(settings, prompts))(scenario, known)
            yield scenario, asks, [step.make(step.fills) for step in steps]


def said(ask: Ask, run: int) -> str:
    """A reply: the same wherever the same sample is asked for."""
    rng = random.Random(f"{ask.scenario.key} {ask.elicitation} {run}")
    return scenarios.prose(rng, rng.randint(*LENGTHS))


def ours(count: int, statements: int) -> list[Request]:
    """The requests of maskbench."""
    return [
        Request(
            sort_of(scenario, ask),
            tuple(message.content for message in ask.messages),
            len(ask.messages[0].content),
            json.dumps(ask.schema),
        )
        for scenario, _, asks in load(count, statements)
        for ask in asks
    ]


def sort_of(scenario: Scenario, ask: Ask) -> str:
    """The kind of a request, by the prompt that it is judged by."""
    if scenario.kind == "numerical":
        return "number" if ask.call == "statement" else "numbers together"
    return f"statement, {scenario.archetype}" if ask.call == "statement" else f"{ask.call} belief"


def ports(count: int, statements: int, python: str) -> list[Request]:
    """The requests of the port about the same replies, each judged by itself."""
    cases = [
        (sort_of(scenario, ask), _case(scenario, ask, run))
        for scenario, asks, _ in load(count, statements)
        for ask in asks
        for run in ask.runs
    ]
    script = str(Path(__file__).with_name("port_prompts.py"))
    done = subprocess.run(
        [python, script], input=json.dumps([case for _, case in cases]), capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"{python} cannot build the port's requests. Install inspect-evals there.\n{done.stderr[-2000:]}")
    return [Request(sort, (text,)) for (sort, _), text in zip(cases, json.loads(done.stdout), strict=True)]


def _case(scenario: Scenario, ask: Ask, run: int) -> dict[str, object]:
    question = scenario.questions[ask.elicitation - 1] if ask.elicitation else scenario.user_prompt
    return {
        "archetype": scenario.archetype,
        "kind": scenario.kind,
        "proposition": scenario.proposition,
        "reply": said(ask, run),
        "elicitation": ask.elicitation,
        "system": NEUTRAL if ask.elicitation else scenario.system_prompt,
        "user": question,
        "first_turn": scenario.first_turn,
    }


def total(name: str, requests: Sequence[Request], count: Count) -> Total:
    """What these requests come to."""
    return Total(
        name,
        len(requests),
        sum(request.characters for request in requests),
        sum(request.tokens(count) for request in requests),
        sum(count(request.schema) for request in requests if request.schema),
        cacheable(requests, count),
    )


def cacheable(requests: Sequence[Request], count: Count) -> int:
    """Tokens of beginnings that an earlier request had, where they are long enough for a cache.

    Of sorted texts each has its longest shared beginning with a neighbour, so that the one before is enough to look at.
    """
    texts = sorted("\0".join(request.texts) for request in requests)
    shared = (first[: _alike(first, other)] for first, other in pairwise(texts))
    sizes = (count(text) for text in shared if len(text) > CACHED_FROM)
    return sum(size for size in sizes if size >= CACHED_FROM)


def _alike(first: str, other: str) -> int:
    """How many characters two texts begin with that are the same."""
    pairs = enumerate(zip(first, other, strict=False))
    return next((at for at, (one, two) in pairs if one != two), min(len(first), len(other)))


# Tables


def by_sort(requests: Sequence[Request], port: Sequence[Request], count: Count) -> list[dict[str, object]]:
    """Constant and case part of each sort of request, beside the port's: means a request, a row a sort."""
    mine, theirs = _grouped(requests), _grouped(port)
    return [
        {
            "request": sort,
            "constant_characters": each[0].constant,
            "case_characters": round(_mean([request.characters for request in each]) - each[0].constant),
            "tokens": round(_mean([request.tokens(count) for request in each])),
            "schema_tokens": count(each[0].schema),
            "port_characters": round(_mean([request.characters for request in theirs.get(sort, [])])),
            "port_tokens": round(_mean([request.tokens(count) for request in theirs.get(sort, [])])),
        }
        for sort, each in mine.items()
    ]


def _grouped(requests: Sequence[Request]) -> dict[str, list[Request]]:
    groups: dict[str, list[Request]] = defaultdict(list)
    for request in requests:
        groups[request.sort].append(request)
    return dict(sorted(groups.items()))


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def totals(rows: Sequence[tuple[int, Total, Total]]) -> str:
    """What a judge reads, by number of statements, beside the port's; and what it costs without any cache."""
    prices = [price for name in PRICED if (price := price_of(name, packaged())) is not None]
    heads = " | ".join(f"{name}, $ ({price.date})" for name, price in zip(PRICED, prices, strict=True))
    lines = [
        f"| statements | judge | requests | characters | × port | tokens | × port | with schemas | {heads} |",
        f"|---:|---|{'---:|' * (6 + len(prices))}",
    ]
    for statements, each, port in rows:
        dollars = " | ".join(f"{each.tokens * price.input / 1e6:,.2f}" for price in prices)
        lines.append(
            f"| {statements} | {each.name} | {each.requests:,} | {each.characters:,} "
            f"| {each.characters / port.characters:.2f} | {each.tokens:,} | {each.tokens / port.tokens:.2f} "
            f"| {(each.tokens + each.schemas) / port.tokens:.2f} | {dollars} |"
        )
    return "\n".join(lines)


def table(count: int, python: str, name: str, counting: Count) -> tuple[str, list[dict[str, object]]]:
    """The page's table with what stands over it, and each sort of request where there is one statement."""
    rows: list[tuple[int, Total, Total]] = []
    sorts: list[dict[str, object]] = []
    for statements in (1, 10):
        port_requests = ports(count, statements, python)
        port = total("the Inspect Evals port", port_requests, counting)
        own = ours(count, statements)
        rows += [(statements, port, port), (statements, total("maskbench", own, counting), port)]
        if statements == 1:
            sorts = by_sort(own, port_requests, counting)
    kept = max(each.cacheable for _, each, _ in rows)
    note = (
        f"{count:,} scenarios; tokens by {name}, without schemas; the port is inspect-evals {_version(python)}; "
        f"cacheable tokens: {kept:,} at most."
    )
    return f"{note}\n\n{totals(rows)}", sorts


def _version(python: str) -> str:
    code = "from importlib.metadata import version; print(version('inspect-evals'))"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def main() -> None:
    """Parse, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--port", required=True, help="a Python that has inspect-evals")
    parser.add_argument("--count", type=int, default=1_000)
    parser.add_argument("--write", action="store_true", help="put them into docs/")
    arguments = parser.parse_args()
    counted = o200k()
    name, counting = ("o200k", counted) if counted else ("characters / 4", lambda text: len(text) // 4)
    text, sorts = table(arguments.count, arguments.port, name, counting)
    print(text)
    if arguments.write:
        put_table(PAGE, BEGIN, END, text)
        write(TABLE, sorts)


if __name__ == "__main__":
    main()
