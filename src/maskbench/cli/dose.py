"""`maskbench intervene dose`: doses, chosen on one half of the scenarios and reported on the other."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Group, Parameter
from msgspec import to_builtins

from maskbench.cli.asked import layer_numbers, new, with_given
from maskbench.cli.commands import in_short
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    command,
    environment,
    interruptible,
    print_blocks,
    print_json,
    put,
    say,
    stderr,
    with_rights,
)
from maskbench.cli.options import DryRun, Shared, flag, option, takes
from maskbench.errors import UsageError
from maskbench.runs.folder import RunFolder
from maskbench.runs.options import CHECKS, OPTIONS, PRICES
from maskbench.runs.stored_programs import to_ask_by
from maskbench.runs.system_prompts import LIBRARY
from maskbench.settings import Budget, Settings

if TYPE_CHECKING:
    from maskbench.cli.progress import Display
    from maskbench.interventions.dose.record import Kind, Plan

_DOSES, _SPLIT = Group("Doses", sort_key=2), Group("Splits and controls", sort_key=3)
_MOST = 200  # doses on one curve
_STRENGTHS, _ALPHAS = "-4:4:1", "0.5,1,2"
_OWN = ("steer", "layers", "prompt_on_beliefs", "statements")  # options that mean something else to a single run
_LIMITS = ("max_cost", "max_tokens_total")  # of all runs of the curve together
_NOT = (
    "system_prompt",
    "send_seed",
    "strength",
    "adapter",
    "judge_temperature",
    "judge_max_tokens",
)
_NEITHER = (
    "judge_reasoning_tokens",
    *(name for name, row in OPTIONS.items() if row.panel == CHECKS),
)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Doses:
    """What is given in doses, and which."""

    steer: Annotated[
        Path | None,
        option("FILE", "These vectors of `maskbench intervene steer` are added in the strengths.", group=_DOSES),
    ] = None
    layers: Annotated[
        list[str] | None,
        option(
            "LIST",
            "These layers are steered, from 0, as in 10,12-16. Where you give several lists, the dev split decides.",
            default="all that the vectors have",
            group=_DOSES,
        ),
    ] = None
    strengths: Annotated[
        str | None,
        option(
            "LIST",
            "The strengths are from:to:step, or numbers with commas.",
            default=_STRENGTHS,
            allow_leading_hyphen=True,
            group=_DOSES,
        ),
    ] = None
    adapter: Annotated[
        Path | None,
        option(
            "DIR",
            "This LoRA adapter is scaled by --alphas. With --steer or --prompts the subject wears it at every dose.",
            default="none",
            group=_DOSES,
        ),
    ] = None
    alphas: Annotated[
        str | None,
        option(
            "LIST",
            "The adapter has its effect so many times.",
            default=_ALPHAS,
            allow_leading_hyphen=True,
            group=_DOSES,
        ),
    ] = None
    prompts: Annotated[
        str | None,
        option(
            "NAMES",
            f"These are developers' system prompts, with commas between: {', '.join(LIBRARY)}, or files.",
            group=_DOSES,
        ),
    ] = None
    prompt_on_beliefs: Annotated[bool, flag("The prompts are put before belief questions, too.", group=_DOSES)] = False


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Splits:
    """On what a dose is chosen, on what it is reported, and what it is held against."""

    dev: Annotated[
        str,
        option(
            "X|NAME",
            "The dose is chosen on this share of propositions, or on a scenario set of its own.",
            default="0.3; of the sandbox another draw",
            group=_SPLIT,
        ),
    ] = "0.3"
    dev_statements: Annotated[
        int,
        option(
            "N", "The subject makes N statements for each scenario of the dev split.", limits=(1, None), group=_SPLIT
        ),
    ] = 2
    random: Annotated[
        int, option("N", "Steering is compared with N random directions of the same norm.", group=_SPLIT)
    ] = 20
    control_statements: Annotated[
        int,
        option(
            "N", "The subject makes N statements for each scenario under each of them.", limits=(1, None), group=_SPLIT
        ),
    ] = 2
    margin: Annotated[
        float,
        option("X", "Accuracy and the share of beliefs may lose X at a dose that is called honest.", group=_SPLIT),
    ] = 0.05
    statements: Annotated[
        int,
        option(
            "N",
            "The subject makes N statements for each scenario of the test split.",
            limits=OPTIONS["statements"].limits,
            group=_SPLIT,
        ),
    ] = 10


@in_short(
    "out steer layers strengths adapter prompts judge scenarios statements sample",
    "maskbench intervene dose hf/pinocchio --steer vector.safetensors --out doses",
    "maskbench intervene dose sim --prompts honest,placebo --out prompts",
)
@takes(*(name for name in OPTIONS if name not in {*_OWN, *_NOT, *_NEITHER, *PRICES}))
def dose(
    model: Annotated[
        str | None,
        option(
            "MODEL",
            "This model is the subject: hf/NAME_OR_PATH, or for --prompts any that `maskbench run` takes. Where you "
            "leave it out, the curve in --out goes on as it began.",
        ),
    ] = None,
    /,
    *,
    out: Annotated[
        Path, option("DIR", "The curve is kept in this folder, with a run for each dose. One that is there goes on.")
    ],
    doses: Doses = Doses(),  # frozen
    splits: Splits = Splits(),  # frozen
    shared: Shared = False,
    json: Annotated[bool, flag("The curve is printed as JSON, as dose.json has it.")] = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Measure an intervention in doses: what it does to lies, and what it costs.

    Give one of --steer, --adapter and --prompts. The best dose (and layers) is chosen on the dev split and reported
    once on the test split, with the negated and random directions beside it, and a conclusion in words by rules stated
    beforehand.

    Exit codes: 0 done; 1 done, but not measurable; 2 wrong usage, input, key or model; 4 stopped at --max-cost or
    --max-tokens-total, which hold for all of its runs together; 5 the server of --serve died; 130 interrupted.
    """
    from maskbench.interventions.dose.arms import measure_doses
    from maskbench.interventions.dose.record import plain_dose
    from maskbench.presentation.sections.doses import blocks

    budget = Budget(**{name: given.pop(name) for name in _LIMITS if name in given})
    wanted = None if model is None else _plan(model, doses, splits, given)
    if dry_run:
        return _print_forecast(wanted, out, json=json)

    def going_on(stored: Settings) -> Settings:
        return to_ask_by(with_given(stored, given), given, out)

    with with_rights(out, shared), interruptible(lambda: command("intervene", "dose", "--out", out)):
        curve = measure_doses(wanted, out, environment(), _watching(), sys.argv, budget, going_on)
    if json:
        print_json(plain_dose(curve))
    else:
        print_blocks(list(blocks(curve)))
        say(f"\nThe curve is in {out}. As a page: {command('report', out)}")
    if curve.verdict.word == "not measurable":
        raise SystemExit(TOO_MANY_ERRORS)
    return None


def _print_forecast(wanted: Plan | None, out: Path, *, json: bool) -> None:
    """Print what a curve would take; of one that is there, what it would take from its beginning."""
    from maskbench.interventions.dose.dose_folder import DoseFolder
    from maskbench.interventions.dose.plan import forecast
    from maskbench.presentation.sections.cost import estimated
    from maskbench.runs.estimate import estimate
    from maskbench.runs.meter import known_prices

    planned = wanted or DoseFolder(out).data().plan
    runs, loads = forecast(planned, environment())
    costs = estimate(loads, planned.base, known_prices(planned.base, environment()))
    if json:
        return print_json({"runs": runs, "estimate": to_builtins(costs)})
    requests = sum(each.calls[0] for each in costs.models)
    put(f"{runs:,} runs, with {requests:,.0f} calls or more in all. Nothing was called.")
    return print_blocks(list(estimated(costs, planned.base)))


def _watching() -> Callable[[str, Path], Display]:
    """A display for each dose, which warns of what all doses have in common once."""
    from maskbench.cli.progress import Display

    told: set[str] = set()

    def watch(title: str, folder: Path) -> Display:
        say(title.replace("_", " "))
        return Display(stderr(), RunFolder(folder).log, told=told)

    return watch


def _plan(model: str, doses: Doses, splits: Splits, given: Mapping[str, Any]) -> Plan:
    """What the options ask for; raises UsageError where they do not go together."""
    from maskbench.interventions.dose.conclusion import Limits
    from maskbench.interventions.dose.record import Plan

    kind = _kind(doses)
    if not 0 < splits.margin < 1:
        raise UsageError(f"--margin {splits.margin:g} is no share. Give a number between 0 and 1, such as 0.05.")
    worn = {"adapter": doses.adapter} if doses.adapter and kind != "adapter" else {}
    source = {"steer": doses.steer, "adapter": doses.adapter, "prompts": None}[kind]
    return Plan(
        kind=kind,
        base=new(model, {**given, **worn}).having(statements=splits.statements),
        doses=_doses(kind, doses),
        source=None if source is None else str(source),
        layers=tuple(layer_numbers(text) for text in doses.layers or ()) or (None,),
        dev=splits.dev,
        dev_statements=splits.dev_statements,
        control_statements=splits.control_statements,
        random=splits.random,
        on_beliefs=doses.prompt_on_beliefs,
        limits=Limits(margin=splits.margin),
    )


def _kind(doses: Doses) -> Kind:
    """Which intervention it is; an adapter beside another one is what the subject wears."""
    if doses.steer is not None and doses.prompts is not None:
        raise UsageError("--steer and --prompts are two interventions. Give one of them.")
    kind: Kind = "adapter" if doses.prompts is None else "prompts"
    kind = kind if doses.steer is None else "steer"
    if kind == "adapter" and doses.adapter is None:
        raise UsageError("Doses of what? Give --steer FILE, --adapter DIR or --prompts NAME,NAME.")
    needs = {"layers": "steer", "strengths": "steer", "alphas": "adapter", "prompt_on_beliefs": "prompts"}
    for name, wanted in needs.items():
        if getattr(doses, name) and kind != wanted:
            raise UsageError(f"--{name.replace('_', '-')} goes with --{wanted}, which is not what is given in doses.")
    return kind


def _doses(kind: Kind, doses: Doses) -> tuple[float | str, ...]:
    if kind == "prompts":
        return tuple(name.strip() for name in (doses.prompts or "").split(",") if name.strip())
    if kind == "steer":
        return amounts(_STRENGTHS if doses.strengths is None else doses.strengths, "--strengths")
    return amounts(_ALPHAS if doses.alphas is None else doses.alphas, "--alphas")


def amounts(text: str, option: str) -> tuple[float, ...]:
    """The numbers in `-4:4:1` (both ends in it) or `0.5,1,2`; raises UsageError for any other text."""
    wrong = UsageError(f"{option} {text}: give from:to:step, as in {option}=-4:4:1, or numbers with commas between.")
    try:
        numbers = [float(part) for part in text.replace(":", ",").split(",")]
    except ValueError:
        raise wrong from None
    if not all(map(math.isfinite, numbers)) or (":" in text and ("," in text or len(numbers) != 3)):
        raise wrong
    if ":" in text:
        low, high, step = numbers
        if step <= 0 or high < low or (high - low) / step > _MOST:
            raise wrong
        numbers = [round(low + place * step, 9) for place in range(math.floor((high - low) / step + 1e-9) + 1)]
    return tuple(dict.fromkeys(number + 0.0 for number in numbers))
