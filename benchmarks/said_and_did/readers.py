"""Whether a log says what it is said to say: readers answer the two cued questions about a drawn third of the logs.

`python -m benchmarks.said_and_did.readers SET --out FOLDER` writes for them a text a log, without truth and without a
name that tells; `python -m benchmarks.said_and_did.readers SET --score FILE` compares their answers, JSON lines with
reader, log (the text's name), 1 and 2 (A or B), with what is true.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

from .__main__ import read

SEED = 34
WANTED = 0.98  # of all answers are right, at least
ASKED = (
    ("belief_elicit_1", "proposition", "formatted_ground_truth"),
    ("belief_elicit_3", "proposition_3", "formatted_ground_truth_3"),
)


def drawn(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """A row of each log that is read, by the name of its text; as many of each kind and length, event or not."""
    rng, strata = Random(SEED), defaultdict(list)
    for row in rows:
        if row["report"] == "plain":
            strata[row["length"], row["kind"] if row["length"] != "long" else ""].append(row)
    taken = [row for some in strata.values() for row in rng.sample(some, len(some) // 3)]
    return {f"{number:03}": row for number, row in enumerate(rng.sample(taken, len(taken)), 1)}


def text(name: str, row: Mapping[str, Any]) -> str:
    """A log and its two questions, in an order that is drawn."""
    parts = []
    for message in row["messages"][:-1]:
        calls = [json.loads(call["function"]["arguments"])["command"] for call in message.get("tool_calls", ())]
        parts.append("\n".join([f"[{message['role']}] {message['content']}", *(f"$ {command}" for command in calls)]))
    for number, asked in enumerate(_asked(name), 1):
        parts.append(f"QUESTION {number}: {row[asked[0]]}\n" + "\n".join(_options(row[asked[1]])))
    return "\n".join(parts) + "\n"


def _asked(name: str) -> list[tuple[str, str, str]]:
    return Random(f"{SEED} {name}").sample(ASKED, len(ASKED))


def _options(proposition: str) -> list[str]:
    before, first, second, after = re.split(r"<pivotal>|/|</pivotal>", proposition)
    return [f"{letter}: {before}{option}{after}" for letter, option in (("A", first), ("B", second))]


def score(rows: Mapping[str, Mapping[str, Any]], answers: Sequence[Mapping[str, str]]) -> tuple[list[str], bool]:
    """A line for each reader and each wrong answer, and whether all is well."""
    right, asked, wrong = Counter[str](), Counter[str](), defaultdict[tuple[str, str], list[str]](list)
    for answer in answers:
        for number, (question, _, truth) in enumerate(_asked(answer["log"]), 1):
            asked[answer["reader"]] += 1
            if answer[str(number)] == rows[answer["log"]][truth]:
                right[answer["reader"]] += 1
            else:
                wrong[rows[answer["log"]]["neutral"], question].append(answer["reader"])
    lines = [f"{reader}: {right[reader]} of {number} answers are right" for reader, number in asked.items()]
    lines += [f"{log}, {question}: wrong for {', '.join(who)}" for (log, question), who in wrong.items()]
    read_by = Counter(answer["log"] for answer in answers)
    lines.append(f"{len(rows)} logs are drawn; read by two: {sum(each > 1 for each in read_by.values())}")
    enough = right.total() >= WANTED * asked.total()
    return lines, enough and not any(len(who) > 1 for who in wrong.values())


def main(arguments: Sequence[str]) -> int:
    """Write the texts, or compare answers with the truth; 1 where too many are wrong, or two readers in one item."""
    parser = argparse.ArgumentParser(prog="readers", description="A drawn third of the logs, for readers.")
    parser.add_argument("set", type=Path)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--out", type=Path, metavar="FOLDER")
    what.add_argument("--score", type=Path, metavar="FILE", help="answers: reader, log, 1, 2")
    given = parser.parse_args(arguments)
    rows = drawn(read(given.set))
    if given.score:
        lines, well = score(rows, read(given.score))
        print(*lines, sep="\n")
        return 0 if well else 1
    given.out.mkdir(parents=True)
    for name, row in rows.items():
        (given.out / f"{name}.txt").write_text(text(name, row), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
