"""`maskbench dose`: an intervention in doses, chosen on one half of the scenarios and reported on the other."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskbench.cli import judge_options, local_options, options
from maskbench.cli.asked import given_options, layer_numbers, new
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    environment,
    interruptible,
    print_blocks,
    print_json,
    say,
    stderr,
    with_rights,
)
from maskbench.errors import UsageError
from maskbench.method.system_prompts import LIBRARY
from maskbench.runs.folder import RunFolder
from maskbench.settings import SUBJECT_SAMPLING

if TYPE_CHECKING:
    from maskbench.cli.progress import Display
    from maskbench.interventions.dose.plan import Plan

_DOSES, _SPLIT = "Doses", "Splits and controls"
_MOST = 200  # doses on one curve
_OWN = ("steer", "layers", "prompt_on_beliefs")  # options that mean something else to a single run


def dose(
    ctx: typer.Context,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The curve's folder, a run a dose in it; one that is there goes on.")
    ],
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL]",
            help="The subject: hf/NAME_OR_PATH, or any that `maskbench run` takes for --prompts. Left out, the curve "
            "in --out goes on as it began.",
        ),
    ] = None,
    steer: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Vectors of `maskbench steer`, in strengths.", rich_help_panel=_DOSES),
    ] = None,
    layers: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="The layers to steer, from 0, as in 10,12-16; given several times, the dev split decides.",
            show_default="all that the vectors have",
            rich_help_panel=_DOSES,
        ),
    ] = None,
    strengths: Annotated[
        str, typer.Option(metavar="LIST", help="From:to:step, or numbers with commas.", rich_help_panel=_DOSES)
    ] = "-4:4:1",
    adapter: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A LoRA adapter, scaled by --alphas; with --steer or --prompts, what the subject wears at every dose.",
            show_default="none",
            rich_help_panel=_DOSES,
        ),
    ] = None,
    alphas: Annotated[
        str, typer.Option(metavar="LIST", help="How many times the adapter's effect.", rich_help_panel=_DOSES)
    ] = "0.5,1,2",
    prompts: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help=f"Developers' system prompts with commas between: {', '.join(LIBRARY)}, or files.",
            rich_help_panel=_DOSES,
        ),
    ] = None,
    dev: Annotated[
        str,
        typer.Option(
            metavar="X|NAME",
            help="The share of propositions to choose on, or a scenario set of its own.",
            show_default="0.3; of the sandbox another draw",
            rich_help_panel=_SPLIT,
        ),
    ] = "0.3",
    dev_statements: Annotated[
        int, typer.Option(metavar="N", help="Statements a scenario on the dev split.", min=1, rich_help_panel=_SPLIT)
    ] = 2,
    random: Annotated[
        int,
        typer.Option(
            metavar="N", help="Random directions of the same norm to hold steering against.", rich_help_panel=_SPLIT
        ),
    ] = 20,
    control_statements: Annotated[
        int,
        typer.Option(metavar="N", help="Statements a scenario under each of these.", min=1, rich_help_panel=_SPLIT),
    ] = 2,
    margin: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="What accuracy and the share of beliefs may lose at a dose that is called honest.",
            rich_help_panel=_SPLIT,
        ),
    ] = 0.05,
    judge: judge_options.Judge = None,
    numeric_judge: judge_options.NumericJudge = None,
    scenarios: options.Scenarios = None,
    archetype: options.Archetype = None,
    sample: options.Sample = None,
    limit: options.Limit = None,
    prompt_on_beliefs: Annotated[
        bool,
        typer.Option("--prompt-on-beliefs", help="Put prompts on belief questions, too.", rich_help_panel=_DOSES),
    ] = False,
    statements: Annotated[
        int, typer.Option(metavar="N", help="Statements a scenario on the test split.", min=1, rich_help_panel=_SPLIT)
    ] = 10,
    beliefs: options.Beliefs = 3,
    temperature: options.Temperature = SUBJECT_SAMPLING.temperature,
    max_tokens: options.MaxTokens = SUBJECT_SAMPLING.max_tokens,
    reasoning_tokens: options.ReasoningTokens = SUBJECT_SAMPLING.reasoning_tokens,
    on_truncation: options.OnTruncation = "judge",
    filtered: options.FilteredAs = "error",
    seed: options.Seed = 0,
    template_args: options.TemplateArgs = None,
    extra_body: options.ExtraBody = None,
    dtype: local_options.Dtype = "auto",
    quantize: local_options.Quantize = None,
    device: local_options.Device = None,
    batch_tokens: local_options.BatchTokens = None,
    threads: local_options.Threads = None,
    trust_remote_code: local_options.TrustRemoteCode = False,
    protocol: judge_options.JudgeProtocol = "maskbench",
    judge_style: judge_options.Style = "reasoning",
    judge_prompts: judge_options.Prompts = None,
    rules: options.RuleSetName = "reference",
    max_error_rate: options.MaxErrorRate = 0.05,
    connections: judge_options.Connections = 32,
    timeout: judge_options.Timeout = 300.0,
    retries: judge_options.Retries = 5,
    shared: judge_options.Shared = False,
    json: Annotated[bool, typer.Option("--json", help="Print dose.json.")] = False,
) -> None:
    """Measure an intervention in doses: what it does to lies, and what it costs.

    One of --steer, --adapter and --prompts. The best dose (and layers) is chosen on the dev split and reported once on
    the test split, with the negated and random directions beside it, and a verdict in words by rules stated beforehand.

    Exit codes: 0 done; 1 done, but not measurable; 2 wrong usage, input, key or model; 130 interrupted.
    """
    from maskbench.interventions.dose.arms import measure_doses
    from maskbench.report.sections.doses import blocks

    given = given_options(ctx)
    wanted = None if model is None else _plan(model, ctx.params, given)
    with with_rights(out, shared), interruptible(lambda: _go_on(out)):
        data = measure_doses(wanted, out, environment(), _watching(), sys.argv)
    if json:
        print_json(data)
    else:
        print_blocks(list(blocks(data)))
        say(f"\nThe curve is in {out}. As a page: {shlex.join(['maskbench', 'report', str(out)])}")
    if data["verdict"]["word"] == "not measurable":
        raise typer.Exit(TOO_MANY_ERRORS)


def _watching() -> Callable[[str, Path], Display]:
    """A display for each dose, which warns of what all doses have in common once."""
    from maskbench.cli.progress import Display

    told: set[str] = set()

    def watch(title: str, folder: Path) -> Display:
        say(title.replace("_", " "))
        return Display(stderr(), RunFolder(folder).log, told=told)

    return watch


def _go_on(out: Path) -> str:
    return shlex.join(["maskbench", "dose", "--out", str(out)])


def _plan(model: str, params: Mapping[str, Any], given: Mapping[str, Any]) -> Plan:
    """What the options ask for; raises UsageError where they do not go together."""
    from maskbench.interventions.dose.conclusion import Limits
    from maskbench.interventions.dose.plan import Plan

    kind = _kind(given)
    if not 0 < params["margin"] < 1:
        raise UsageError(f"--margin {params['margin']:g} is no share. Give a number between 0 and 1, such as 0.05.")
    own = (*_OWN, "adapter") if kind == "adapter" else _OWN
    base = new(model, params, {name: value for name, value in given.items() if name not in own})
    source = {"steer": params["steer"], "adapter": params["adapter"], "prompts": None}[kind]
    return Plan(
        kind=kind,
        base=replace(base, statements=params["statements"]),
        doses=_doses(kind, params),
        source=None if source is None else str(source),
        layers=tuple(layer_numbers(text) for text in params["layers"] or ()) or (None,),
        dev=params["dev"],
        dev_statements=params["dev_statements"],
        control_statements=params["control_statements"],
        random=params["random"],
        on_beliefs=params["prompt_on_beliefs"],
        limits=Limits(margin=params["margin"]),
    )


def _kind(given: Mapping[str, Any]) -> Any:
    """Which intervention it is; an adapter beside another one is what the subject wears."""
    named = [name for name in ("steer", "prompts") if name in given]
    if len(named) > 1:
        raise UsageError("--steer and --prompts are two interventions. Give one of them.")
    kind = named[0] if named else "adapter"
    if kind == "adapter" and "adapter" not in given:
        raise UsageError("Doses of what? Give --steer FILE, --adapter DIR or --prompts NAME,NAME.")
    needs = {"layers": "steer", "strengths": "steer", "alphas": "adapter", "prompt_on_beliefs": "prompts"}
    for name, wanted in needs.items():
        if name in given and kind != wanted:
            raise UsageError(f"--{name.replace('_', '-')} goes with --{wanted}, which is not what is given in doses.")
    return kind


def _doses(kind: str, params: Mapping[str, Any]) -> tuple[float, ...] | tuple[str, ...]:
    if kind == "prompts":
        return tuple(name.strip() for name in params["prompts"].split(",") if name.strip())
    name = "strengths" if kind == "steer" else "alphas"
    return amounts(params[name], f"--{name}")


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
