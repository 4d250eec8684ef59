"""What `maskbench label --show --construct` says: the judge against raters on statements, and what they correct."""

from __future__ import annotations

from collections.abc import Iterator

from maskbench.judges.people.agreement_json import AgreedOn
from maskbench.judges.people.readers import CALLED
from maskbench.method.construct import QUESTIONS
from maskbench.plain import one_line
from maskbench.report.blocks import Block, Sentence, Table, Words
from maskbench.report.format import interval, kappa, percent, times
from maskbench.report.sections.words_of_statements import READINGS_IN_WORDS
from maskbench.results.construct_corrected import ConstructPeople, CorrectedShare

_NOTE = (
    "Shares and κ (Cohen) are weighted to the whole run, α (Krippendorff) is of the sample as it is. Corrected shares "
    "take answers by labels to be right; their intervals hold sampling and the judge's error as the labels show it."
)


def construct_people_blocks(data: ConstructPeople) -> Iterator[Block]:
    """How far the judge agrees with raters on each question, they with each other, and what the labels correct."""
    who = CALLED[data.who].all
    yield Sentence((Words(f"{one_line(data.judge)} against {who}, questions on statements, rules {data.rules}"),))
    names = f" ({one_line(', '.join(data.raters))})" if data.raters else ""
    yield (
        f"{times(data.drawn, 'statement')} of {data.statements:,} are in the sample; {who}{names} answered on "
        f"{data.answered:,} of them. Whether a statement is a lie is said by {who} on {data.lies_by_readers:,} of them "
        "and by the judge on the others (`label --construct --lies` asks for it)."
    )
    if not data.questions:
        yield "Nobody has answered anything yet."
        return
    head = ("question", "who", "alike", "95 %", "κ", "95 %", "α", "of")
    yield Table(head, tuple(_rows(data)))
    corrected = ("share", "judged", "corrected", "95 %", "settled", "differ")
    readings = {READINGS_IN_WORDS[name]: share for name, share in data.readings.items()}
    answers = {f"{name}: {' or '.join(QUESTIONS[name].positive)}": share for name, share in data.answers.items()}
    for part in (readings, answers):
        if part:
            yield Table(corrected, tuple(_share(name, share) for name, share in part.items()))
    withheld = dict.fromkeys(
        share.withheld for part in (readings, answers) for share in part.values() if share.withheld
    )
    yield from withheld
    yield Sentence((_NOTE,), "note")


def _rows(data: ConstructPeople) -> Iterator[tuple[str, ...]]:
    for name, question in data.questions.items():
        yield _row(name, f"judge / {CALLED[data.who].all}", question.judge)
        for who, both in question.raters.items():
            yield _row("", one_line(who), both)
        if question.all_raters:
            alpha = question.all_raters
            yield ("", f"all {CALLED[data.who].all}", "–", "–", "–", "–", kappa(alpha.alpha), f"{alpha.n:,}")


def _row(name: str, who: str, both: AgreedOn) -> tuple[str, ...]:
    coefficient = "–" if not both.kappa_ci95 else " to ".join(kappa(end) for end in both.kappa_ci95)
    alike = (percent(both.agree), interval(both.agree_ci95))
    return (name, who, *alike, kappa(both.kappa), coefficient, kappa(both.alpha), f"{both.n:,}")


def _share(name: str, share: CorrectedShare) -> tuple[str, ...]:
    rate = share.rate
    corrected = ("–", "–") if rate is None else (percent(rate.value), interval(rate.ci95))
    return (name, percent(share.judged), *corrected, f"{share.labelled:,}", f"{share.disagreements:,}")
