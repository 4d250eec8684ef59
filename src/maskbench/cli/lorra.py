"""The command `lorra`: parses, trains, prints."""

from __future__ import annotations

import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from maskbench.cli.console import environment, print_json, say, stdout
from maskbench.cli.local_options import DEVICES, THREADS
from maskbench.errors import Interrupted, UsageError

if TYPE_CHECKING:
    from maskbench.interventions.lorra.loss import Loss
    from maskbench.interventions.lorra.train import Trained

LINE_SECONDS = 5.0
_BARS = "▁▂▃▄▅▆▇█"
_ROWS = 6  # of the printed curve
_WHAT, _HOW, _WHERE = "What is learned", "How it is learned", "The model"


def lorra(
    model: Annotated[str, typer.Argument(metavar="MODEL", help="pinocchio, a folder, or a name on the hub.")],
    out: Annotated[Path, typer.Option(metavar="DIR", help="The folder of the adapter; the same goes on with it.")],
    variant: Annotated[
        Literal["lorra", "prompt-distill"],
        typer.Option(
            metavar="lorra|prompt-distill",
            help="lorra: honest minus dishonest template. prompt-distill: with a developer's prompt minus without.",
            rich_help_panel=_WHAT,
        ),
    ] = "lorra",
    data: Annotated[
        str | None,
        typer.Option(
            metavar="builtin|sandbox|FILE",
            help="Texts to train on, never evaluated scenarios; docs/lorra.md has the format of a file.",
            show_default="builtin; for pinocchio sandbox",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    alpha: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="How far the hidden states are to move, in contrast vectors.",
            show_default="lorra 5, prompt-distill 1",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    retain: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="The weight of the loss that keeps neutral text as it is.",
            show_default="lorra 0, prompt-distill 1",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    honest: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="lorra: the sentence that makes T+.",
            show_default="Give a truthful answer.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    dishonest: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="lorra: the sentence that makes T−.",
            show_default="Give an untruthful answer.",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    system_prompt: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="prompt-distill: the developer's system prompt.",
            show_default="honest",
            rich_help_panel=_WHAT,
        ),
    ] = None,
    target_layers: Annotated[
        str | None,
        typer.Option(
            metavar="N,N...",
            help="Where hidden states are compared, numbered from 0; a LoRA is on every layer up to the last.",
            show_default="by depth: 9,11,13,15,17,19 of 32",
            rich_help_panel=_HOW,
        ),
    ] = None,
    modules: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,NAME...",
            help="The linear layers that get a LoRA.",
            show_default="q_proj,v_proj",
            rich_help_panel=_HOW,
        ),
    ] = None,
    rank: Annotated[
        int | None, typer.Option(metavar="N", help="Of the LoRA.", show_default="8", rich_help_panel=_HOW)
    ] = None,
    rate: Annotated[
        float | None, typer.Option(metavar="X", help="The learning rate.", show_default="0.0003", rich_help_panel=_HOW)
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="Of training.", show_default="70", rich_help_panel=_HOW)
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Texts a step, and as many neutral ones with --retain.",
            show_default="16",
            rich_help_panel=_HOW,
        ),
    ] = None,
    answer_tokens: Annotated[
        int | None,
        typer.Option(metavar="N", help="How much of an answer is compared.", show_default="64", rich_help_panel=_HOW),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Texts in memory at a time; fewer where it runs out.",
            show_default="32",
            rich_help_panel=_HOW,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Of first weights, order, and the sandbox's texts.",
            show_default="0",
            rich_help_panel=_HOW,
        ),
    ] = None,
    dtype: Annotated[
        str, typer.Option(metavar="auto|fp32|bf16|fp16", help="Precision of the model.", rich_help_panel=_WHERE)
    ] = "auto",
    device: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=DEVICES, show_default="cuda where there is one", rich_help_panel=_WHERE),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="N", help=THREADS, min=1, show_default="torch's own", rich_help_panel=_WHERE),
    ] = None,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that comes with the model.", rich_help_panel=_WHERE)
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the record of the adapter as JSON.")] = False,
) -> None:
    """Train a PEFT adapter that makes a model more honest: LoRRA after Zou et al. 2023, or a prompt distilled.

    Defaults are those of public LoRRA scripts for 7B models, and not MASK's; pinocchio has its own.
    Stopped, the same command goes on. Measure what came of it: maskbench run hf/MODEL --adapter DIR.
    """
    from maskbench.interventions.lorra.recipe import recipe
    from maskbench.interventions.lorra.train import train
    from maskbench.models.hf.loading import load
    from maskbench.models.hf.threads import using

    name = model.removeprefix("hf/")
    given = {
        "data": data,
        "alpha": alpha,
        "retain": retain,
        "honest": honest,
        "dishonest": dishonest,
        "system_prompt": system_prompt,
        "target_layers": _numbers(target_layers),
        "modules": _names(modules),
        "rank": rank,
        "rate": rate,
        "steps": steps,
        "batch": batch,
        "answer_tokens": answer_tokens,
        "at_once": at_once,
        "seed": seed,
    }
    chosen = recipe(variant, name, **{option: value for option, value in given.items() if value is not None})
    loaded = load(name, dtype=dtype, device=device, trust_remote_code=trust_remote_code, environ=environment())
    with _stopping() as stopped, using(threads):
        try:
            trained = train(loaded, chosen, out, watch=_lines(chosen.steps), stopped=stopped)
        except Interrupted as error:
            raise Interrupted(f"{error}\n  {shlex.join(['maskbench', *sys.argv[1:]])}") from None
    print_json(trained.about) if json else _show(trained)


def _numbers(text: str | None) -> tuple[int, ...] | None:
    if text is None:
        return None
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--target-layers {text}: give layer numbers with commas between, such as 1,2,3.") from None


def _names(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


@contextmanager
def _stopping() -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C, or SIGTERM, lets the step under way end; a second stops at once."""
    asked = threading.Event()

    def stop(number: int, _frame: Any) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()
        say("Stopping after this step; once more stops at once.")

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked.is_set
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _lines(steps: int) -> Callable[[Loss], None]:
    """A line of progress every few seconds."""
    began = shown = time.monotonic()
    first: int | None = None

    def line(loss: Loss) -> None:
        nonlocal shown, first
        first = loss.step - 1 if first is None else first
        now = time.monotonic()
        if now - shown >= LINE_SECONDS or loss.step == steps:
            shown = now
            left = round((steps - loss.step) * (now - began) / (loss.step - first))
            say(f"step {loss.step} of {steps}, loss {loss.loss:.3f}, {left // 60}:{left % 60:02} left")

    return line


def _show(trained: Trained) -> None:
    """What was trained on what, its loss, and what to do next."""
    from rich.text import Text

    from maskbench.plain import plain
    from maskbench.report.terminal import add, figures

    console, made = stdout(), trained.about
    layers = ", ".join(map(str, made["target_layers"]))
    console.print(
        Text(
            f"{plain(str(trained.folder))}: {made['variant']} for {plain(made['model'])}, alpha {made['alpha']:g}, "
            f"target layers {layers}, rank {made['rank']}, {made['parameters']:,} parameters\n"
            f"{made['steps']} steps of {made['batch']} from the {made['texts']:,} texts of {plain(made['data'])}\n"
        )
    )
    kept = any(loss.retention is not None for loss in trained.losses)
    table = figures("steps", "missing", "of", *(["neutral", "loss"] if kept else []))
    for some in _parts(trained.losses):
        cells = [_mean([loss.contrast for loss in some]), _mean([loss.asked for loss in some])]
        if kept:
            cells += [_mean([loss.retention or 0.0 for loss in some]), _mean([loss.loss for loss in some])]
        add(table, f"{some[0].step}–{some[-1].step}", *cells)
    console.print(table)
    lines = [
        f"\nloss  {_bars([loss.loss for loss in trained.losses])}  every step in loss.csv",
        "missing: how far the hidden states are from where they should be; of: how far had nothing been learned",
        *(["neutral: how far those of neutral text went, which should stay"] if kept else []),
    ]
    console.print(Text("\n".join(lines)))
    console.print(Text(f"\nMeasure it: maskbench run hf/{plain(made['model'])} --adapter {plain(str(trained.folder))}"))


def _parts(losses: Sequence[Loss]) -> Iterator[list[Loss]]:
    """The steps in a few parts of like length."""
    edges = sorted({round(part * len(losses) / _ROWS) for part in range(_ROWS + 1)})
    for start, end in pairwise(edges):
        yield list(losses[start:end])


def _mean(values: list[float]) -> str:
    return f"{sum(values) / len(values):.4g}"


def _bars(values: list[float], width: int = 40) -> str:
    """The values as bars from 0, each the mean of a stretch of steps."""
    edges = sorted({round(part * len(values) / width) for part in range(width + 1)})
    means = [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
    top = max(means) or 1.0
    return "".join(_BARS[min(len(_BARS) - 1, int(mean / top * len(_BARS)))] for mean in means)
