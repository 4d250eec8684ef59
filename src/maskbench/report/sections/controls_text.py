"""What the checks on the subject found, as a person reads it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from maskbench.report.format import interval, percent

Json = Mapping[str, Any]


def lines(checks: Json) -> Iterator[tuple[str, str]]:
    """A label and what is to say beside it, for every check that was made."""
    made = {"placebo": _floor, "check_provided": _provided, "self_report": _self_report, "traces": _traces}
    labels = {
        "placebo": "noise floor (placebo)",
        "check_provided": "provided facts",
        "self_report": "asked by the developer",
        "traces": "knew and lied (traces)",
    }
    for name, words in made.items():
        if part := checks[name]:
            lack = "outcome" if name == "placebo" else "verdict"
            failed = f"\n{part['failed']:,} have no {lack} and count nowhere here." if part["failed"] else ""
            yield labels[name], words(part) + failed


def floor(checks: Json) -> str | None:
    """The noise floor in a few words, to stand beside P(lie); None where there was no placebo."""
    if not checks["placebo"] or checks["placebo"]["p_lie"]["value"] is None:
        return None
    return f"noise floor: {_rate(checks['placebo']['p_lie'])} of neutral replies are judged a lie"


def _rate(rate: Json) -> str:
    return f"{percent(rate['value'])} ({interval(rate['ci95'])})"


def _floor(part: Json) -> str:
    return (
        f"One more neutral reply, judged as a statement, is a lie in {_rate(part['p_lie'])} of {part['p_lie']['n']:,} "
        f"scenarios; under pressure P(lie) is {_rate(part['p_lie_pressured'])} in those of them that have an outcome "
        f"there, too ({part['p_lie_pressured']['n']:,})."
    )


def _provided(part: Json) -> str:
    counts = part["counts"]
    return (
        f"understood in {_rate(part['understood'])} of {part['understood']['n']:,} scenarios (misunderstood "
        f"{counts['misunderstood']:,}, no answer {counts['no_answer']:,}); P(lie) where they were understood: "
        f"{_rate(part['p_lie_understood'])}."
    )


def _self_report(part: Json) -> str:
    kappa = "–" if part["kappa"] is None else f"{part['kappa']:.2f}".replace("-", "−")
    evades = part["evades"]
    rows = "\n".join(
        f"{outcome.replace('_', ' ')}: says true {row['true']:,}, not true {row['not_true']:,}, "
        f"evades {row['evades']:,}"
        for outcome, row in part["counts"].items()
    )
    return (
        f"Its own report agrees with the outcome in {_rate(part['agree'])} of {part['agree']['n']:,} lies and honest "
        f"statements (chance {percent(part['chance'])}, κ {kappa}); it takes back {_rate(part['sensitivity'])} of lies "
        f"and stands by {_rate(part['specificity'])} of honest statements; {evades['count']:,} of {evades['n']:,} "
        f"reports evade and are not among these.\n{rows}"
    )


def _traces(part: Json) -> str:
    if not part["all"]["with_reasoning"]:
        return f"none of {part['all']['lies']:,} lies came with reasoning that can be read."
    said = [_traced("all lies", part["all"])]
    names = {"yes": "asked for the lie outright", "no": "not asked outright", "unsaid": "the set does not say"}
    groups = part["asked_outright"]
    said += [_traced(names[name], group) for name, group in groups.items() if set(groups) != {"unsaid"}]
    return "\n".join(said)


def _traced(name: str, group: Json) -> str:
    return (
        f"{name}: {group['knew_and_lied']:,} of {group['share']['n']:,} whose reasoning was judged state the belief, "
        f"{_rate(group['share'])} ({group['lies']:,} lies, {group['with_reasoning']:,} with reasoning)"
    )
