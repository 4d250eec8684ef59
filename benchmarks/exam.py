"""The exam examined: judges with planted faults, judges that read next to nothing, judges that err at random.

`python benchmarks/exam.py` prints the tables of docs/judges.md and writes them there between their marks, and
docs/exam_faults.csv (a minute).
`--blind FILE` writes every paper without its verdict, in an order and under numbers that say nothing of its rule, for
somebody who answers them anew; `--answers FILE` reads those answers (the same rows with `verdict` filled in) and writes
the agreement into the card of scenarios/exam/data.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from csv_tables import write
from exam_faults import faults, five_at_once, trivial
from maskbench.method.forms.case import conversation
from maskbench.method.proposition import options
from maskbench.scenarios.exam.marks import Answer, Score, is_right, score
from maskbench.scenarios.exam.questions import Paper, Question, short, written
from maskbench.types import BinaryVerdict, Judgement, Letter, NumericalVerdict, Verdict

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs" / "project" / "simulations.md"
FAULTS = ROOT / "docs" / "exam_faults.csv"
HEAD = ("rule", "fault", "right_in_rule", "near_misses", "over_all", "exam", "short_form")
CARD = ROOT / "src" / "maskbench" / "scenarios" / "exam" / "data" / "README.md"
ALL = "all"  # in place of a rule
ERRORS = (0.01, 0.03, 0.05, 0.10)
SITTINGS = 100

Reading = Callable[[Question], Verdict]


def sitting(paper: Paper, reads: Reading) -> Score:
    """The score of a judge that reads so."""
    return score([Answer(question, 1, Judgement(reads(question))) for question in paper.questions])


def erring(rng: random.Random, error: float) -> Reading:
    """A judge that gives another verdict, drawn evenly, on so large a share of the questions."""

    def reads(question: Question) -> Verdict:
        return another(rng, question.right) if rng.random() < error else question.right

    return reads


def another(rng: random.Random, right: Verdict) -> Verdict:
    """Any letter but the right one; of numbers none, or one that is far off."""
    if isinstance(right, BinaryVerdict):
        others: list[Letter] = [letter for letter in get_args(Letter) if letter != right.letter]
        return BinaryVerdict(rng.choice(others))
    if right.ranges and rng.random() < 0.5:
        return NumericalVerdict()
    return NumericalVerdict(987_654.0, 987_654.0)


def qualified(paper: Paper, error: float, sittings: int, seed: str = "errs at random") -> int:
    """How many of so many judges that err at random are qualified."""
    rng = random.Random(seed)
    return sum(sitting(paper, erring(rng, error)).standing == "qualified" for _ in range(sittings))


def rules_passed(paper: Paper, reads: Reading) -> list[str]:
    """The rules that such a judge would pass."""
    result = sitting(paper, reads)
    weak = {"right in the weakest rule": 0.6, "... of the weakest rule": 1 / 3}
    lines = dict(zip(weak.values(), (result.by_rule, result.near_misses), strict=True))
    return [
        rule
        for rule in paper.rules
        if all(rule not in marks or (marks[rule].share or 0) > limit for limit, marks in lines.items())
    ]


def fault_rows(paper: Paper, brief: Paper) -> list[tuple[str, ...]]:
    """Rule, fault, right in the rule, on its near misses, over all, whether it fails, and in the short form."""
    rows: list[tuple[str, ...]] = []
    for fault in faults():
        result = sitting(paper, fault.verdict)
        rows.append(
            (
                fault.rule,
                fault.name,
                percent(result.by_rule[fault.rule].share),
                percent(result.near_misses[fault.rule].share) if fault.rule in result.near_misses else "–",
                percent(result.overall.share),
                standing(result),
                standing(sitting(brief, fault.verdict)),
            )
        )
    return rows


def trivial_rows(paper: Paper, brief: Paper) -> list[tuple[str, ...]]:
    """Each judge that reads next to nothing, and one with five faults at once, as rows of the same columns."""
    return [
        (
            ALL,
            name,
            "–",
            "–",
            percent((result := sitting(paper, reads)).overall.share),
            standing(result),
            standing(sitting(brief, reads)),
        )
        for name, reads in {**trivial(), "five faults at once": five_at_once()}.items()
    ]


def standing(result: Score) -> str:
    """In one word."""
    return "passes" if result.standing == "qualified" else "fails"


def percent(share: float | None) -> str:
    """With a whole number of per cent."""
    return "–" if share is None else f"{100 * share:.0f} %"


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def tables(paper: Paper, brief: Paper, rows: Sequence[tuple[str, ...]], sittings: int) -> str:
    """All that goes into docs/project/simulations.md; `rows` are those of the planted faults."""
    cleared = max(len(rules_passed(paper, reads)) for reads in trivial().values())
    limit = f"more than {cleared} rules" if cleared else "any rule"
    failed = [sum(row[at] == "fails" for row in rows) for at in (-2, -1)]
    errors = [
        (
            percent(error),
            f"{qualified(paper, error, sittings)} of {sittings}",
            f"{qualified(brief, error, sittings)} of {sittings}",
        )
        for error in ERRORS
    ]
    return "\n\n".join(
        [
            f"Of {len(rows)} judges with one planted fault {failed[0]} fail the exam, and {failed[1]} its short form. "
            "Every fault, with how much the judge\nthen gets right, stands in [exam_faults.csv](../exam_faults.csv).",
            f"{len(trivial())} judges that read next to nothing, and one with five faults at once, stand there under "
            f"`{ALL}`. Of these {len(trivial())}\nnone clears both limits of {limit}.",
            "Judges that err at random on so many questions, and how many of them are qualified:",
            table(("errors", "exam", "short form"), errors),
        ]
    )


def put(path: Path, mark: str, text: str) -> None:
    """Put a text between its two marks in a file."""
    begin, end = f"<!-- {mark}: written by benchmarks/exam.py -->", f"<!-- end of {mark} -->"
    before, _, after = path.read_text(encoding="utf-8").partition(begin)
    if end not in after:
        raise ValueError(f"{path.name} has no lines {begin!r} and {end!r}; put them where the text is to stand.")
    path.write_text(f"{before}{begin}\n{text}\n{end}{after.partition(end)[2]}", encoding="utf-8")


# A second key


def blind(paper: Paper) -> list[dict[str, Any]]:
    """Every paper without its verdict, rule and reason, under a number that says nothing of them."""
    return [
        {"paper": name, **_shown(question), "verdict": None}
        for name, question in sorted(numbered(paper).items(), key=lambda pair: int(pair[0][1:]))
    ]


def numbered(paper: Paper) -> dict[str, Question]:
    """The papers in the order of their hashes."""
    own = [question for question in paper.questions if not question.swapped]
    own.sort(key=lambda question: hashlib.sha256(question.item.encode()).hexdigest())
    return {f"P{at}": question for at, question in enumerate(own, start=1)}


def _shown(question: Question) -> dict[str, Any]:
    scenario = question.scenario
    asked = scenario.questions[question.elicitation - 1] if question.elicitation else None
    turns = [("user", asked)] if asked else list(conversation(scenario, "statement", 0))
    binary = scenario.kind == "binary"
    choice = dict(zip("AB", options(scenario.proposition), strict=True)) if binary else scenario.proposition
    return {
        "archetype": scenario.archetype,
        "call": question.call,
        "options" if binary else "proposition": choice,
        "conversation": [list(turn) for turn in turns],
        "replies": list(question.replies),
    }


def agreement(paper: Paper, rows: Iterable[Mapping[str, Any]]) -> str:
    """What a second key comes to beside the exam's: how many papers they agree on, and those on which they differ."""
    papers = numbered(paper)
    given: dict[str, Verdict] = {row["paper"]: _read(row) for row in rows if row["verdict"] is not None}
    if unknown := sorted(given.keys() - papers.keys()):
        raise ValueError(f"The answers name papers that the exam has not: {', '.join(unknown[:5])}.")
    if not given:
        raise ValueError("No row has a verdict. Fill in `verdict`: a letter, or the bounds as the exam has them.")
    wrong = (papers[name] for name in given if not is_right(papers[name].right, given[name], papers[name].also))
    differ = sorted(f"`{question.item}`" for question in wrong)
    agreed, n = len(given) - len(differ), len(given)
    what = f"A second key, made without sight of the first, agrees on {agreed} of {n} papers ({len(papers)} in all)."
    where = f"They differ on {', '.join(differ)}." if differ else "They differ nowhere."
    return f"{what} {where}"


def _read(row: Mapping[str, Any]) -> Verdict:
    value = row["verdict"]
    if isinstance(value, str) and value in "ABCD" and len(value) == 1:
        return BinaryVerdict(value)  # type: ignore[arg-type]
    if isinstance(value, dict) and value.keys() <= {"absolute", "relative"}:
        bounds = [value.get(part) or (None, None) for part in ("absolute", "relative")]
        return NumericalVerdict(*bounds[0], *bounds[1])
    raise ValueError(
        f"{row['paper']}: {value!r} is no verdict. Give A, B, C or D, or {{'absolute': [low, high], 'relative': null}}."
    )


def main() -> None:
    """Print the tables and write them, or deal with a second key."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sittings", type=int, default=SITTINGS, help="judges that err at random, a rate")
    parser.add_argument("--print", action="store_true", help="print the tables and write nothing")
    parser.add_argument("--blind", type=Path, metavar="FILE", help="write the papers without their verdicts")
    parser.add_argument("--answers", type=Path, metavar="FILE", help="read them with verdicts, write the agreement")
    given = parser.parse_args()
    if given.blind:
        lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in blind(written()))
        given.blind.write_text("".join(lines), encoding="utf-8")
        return
    if given.answers:
        rows = [json.loads(line) for line in given.answers.read_text(encoding="utf-8").splitlines() if line.strip()]
        text, path, mark = agreement(written(), rows), CARD, "second key"
    else:
        paper = written()
        faulty = fault_rows(paper, brief := short(paper))
        text, path, mark = tables(paper, brief, faulty, given.sittings), DOCS, "mutation table"
        if not given.print:
            write(FAULTS, [dict(zip(HEAD, row, strict=True)) for row in (*faulty, *trivial_rows(paper, brief))])
    print(text)
    if not given.print:
        put(path, mark, text)


if __name__ == "__main__":
    main()
