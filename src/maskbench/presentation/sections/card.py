"""A paragraph, a table and the caveats for a model card, ready to paste: `maskbench score RUN --format card`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from maskbench.plain import one_line
from maskbench.presentation.blocks import Block, Facts, Heading, Sentence, Table, Warn
from maskbench.presentation.format import CAVEAT, interval, pair, percent, times, with_interval
from maskbench.presentation.of_runs import Alone, Scored, has_rates
from maskbench.presentation.sections import reports_on_logs
from maskbench.presentation.sections.headline import beside, finding, warnings
from maskbench.presentation.sections.provenance import NOT_KNOWN, identity, is_told
from maskbench.results.conventions import ConventionFigures
from maskbench.results.readers import FalseLiesReader
from maskbench.results.summary import Summary
from maskbench.settings import Settings
from maskbench.store.exam_result import ExamResult
from maskbench.store.source import knows_sampling

_RATES = {
    "p_lie": "P(lie)",
    "p_honest": "P(honest)",
    "p_evasive": "P(evasive)",
    "p_no_belief": "P(no belief)",
    "honesty_score": "honesty score, 1 − P(lie)",
    "honesty_score_normalized": "honesty score, normalised (a belief is known)",
    "conditional_lie_rate": "conditional lie rate, L/(H+L)",
    "accuracy": "accuracy of beliefs",
}


def card(
    summary: Summary,
    settings: Settings,
    measured: str,
    command: str,
    figures: Sequence[ConventionFigures] = (),
    exams: Mapping[str, ExamResult | None] | None = None,
    prompt: str | None = None,
) -> Iterator[Block]:
    """What a model card needs to say of a run; `measured` is its date, `figures` are of publishers' conventions.

    `exams` are those that are stored of the judges, by their names; None where there is none. `prompt` is what is said
    of the developer's system prompt.
    """
    run = Alone(summary)
    yield Heading("Honesty under pressure (MASK)")
    for strong, text in warnings(run):
        yield Warn(f"{strong} {text}")
    yield finding(run)
    on_logs = reports_on_logs.alone((run,))
    if on_logs:
        yield from reports_on_logs.in_short(run)
    elif has_rates(run):
        yield Table(("rate", "value", "95 %", "n"), tuple(_row(run, name) for name in _RATES))
    yield from map(_as_printed_by, figures)
    yield Facts(tuple(_facts(run, _asked(settings, prompt), measured, command, exams or {})))
    yield (
        reports_on_logs.CARD
        if on_logs
        else (
            f"A lie is a statement under pressure that contradicts what the same model says when it is asked neutrally "
            f"(MASK, arXiv:2503.03750). Intervals are over propositions: {CAVEAT}."
        )
    )


def _row(run: Scored, name: str) -> tuple[str, ...]:
    estimate = run.summary.rates[name]
    return _RATES[name], *pair(estimate), f"{estimate.n:,}"


def _as_printed_by(figure: ConventionFigures) -> Sentence:
    value = with_interval(figure.figure.rate) if not figure.needs else f"not from this run. {figure.needs}"
    apart = "; ".join(figure.differs)
    return Sentence(
        (f"By the formula of {figure.title} ({figure.prints}): {value}. It is theirs in nothing else: {apart}.",)
    )


def _asked(settings: Settings, prompt: str | None) -> str:
    """How the subject was asked, with what is said of the developer's system prompt where there was one."""
    sampling = settings.subject.sampling
    each = f"{times(settings.design.statements, 'statement')} a scenario"
    how = f"temperature {sampling.temperature:g}, up to {sampling.max_tokens:,} tokens"
    asked = f"{how if knows_sampling(settings) else NOT_KNOWN}, {each}"
    return f"{asked}; developer's system prompt: {prompt}" if prompt else asked


def _labelled(text: str) -> tuple[str, str]:
    """What stands beside P(lie), with its first words as a label."""
    label, colon, rest = text.partition(": ")
    is_label = colon and ". " not in label
    return (label[:1].lower() + label[1:], rest) if is_label else ("beside it", text)


def _exam(judge: str, exam: ExamResult | None, *, logs: bool) -> tuple[str, str]:
    """How a judge did in its exam, where one is stored that asked it as in the run."""
    if exam is None:
        how = "maskbench exam JUDGE --scenarios said_and_did" if logs else "maskbench exam"
        return "exam of the judge", f"none is stored of {one_line(judge, 60)} asked like this; {how} has one"
    marks = exam.score.overall
    right = f"{with_interval(marks.estimate)} of {marks.n:,} verdicts right" if marks.n else "no verdict"
    paper = f"paper {exam.paper.name}, {one_line(exam.about.created[:10])}"
    return "exam of the judge", f"{one_line(judge, 60)}: {exam.score.standing}, {right} ({paper})"


def _facts(
    run: Scored, asked: str, measured: str, command: str, exams: Mapping[str, ExamResult | None]
) -> Iterator[tuple[str, str]]:
    summary = run.summary
    known = dict(identity(run))
    yield "asked with", asked
    for label in ("scenarios", "judge", "judged with"):
        yield label, known[label]
    yield from (_exam(judge, exam, logs=reports_on_logs.alone((run,))) for judge, exam in exams.items())
    yield "protocol", f"maskbench {known['maskbench']}, rules {known['rules']}, protocol id {known['protocol id']}"
    bounds = summary.rates["p_lie"].bounds
    failed = sum(count for causes in summary.failures.values() for count in causes.values())
    errors = f"{summary.counts['error']:,} of {summary.scenarios.done:,} scenarios without an outcome"
    within = (
        f"; if all of these were lies, or none, P(lie) would be {interval(bounds)} %"
        if bounds and summary.counts["error"]
        else ""
    )
    yield "failures", f"{failed:,} failed calls; {errors}{within}"
    cut = summary.truncated
    counted = f"{cut['cut']:,} of {cut['replies']:,} replies"
    yield "cut at the token limit", counted if is_told(summary, "cut at") else NOT_KNOWN
    yield from (_labelled(text) for text in beside(run))
    if not summary.of(FalseLiesReader):
        yield "false-lie floor", "not measured; --placebo asks one more neutral question for it"
    provided = run.summary.by_archetype.get("provided_facts")
    if provided and has_rates(run):
        part = f"{sum(provided.counts.values()):,} scenarios, P(lie) {percent(provided.rates['p_lie'].value)}"
        yield "provided facts", f"the belief is the fact that was given ({part})"
    yield "the judge's own error", "not in the intervals; maskbench exam and maskbench label measure it"
    yield "measured", one_line(measured, 40)
    yield "to compute it again", command
