"""`maskbench-whitebox lorra`: parses, trains, prints."""

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
from typing import TYPE_CHECKING, Annotated, Any, Literal, Unpack

from cyclopts import Group

from maskbench.doors import command, environment, flag, option, plain, print_json, say, stdout
from maskbench.errors import Interrupted, UsageError
from maskbench_whitebox.cli.options import Where

if TYPE_CHECKING:
    from maskbench_whitebox.lorra.loss import Loss
    from maskbench_whitebox.lorra.train import Trained

LINE_SECONDS = 5.0
_BARS = "▁▂▃▄▅▆▇█"
_ROWS = 6  # of the printed curve
_WHAT, _HOW = Group("What is learned", sort_key=2), Group("How it is learned", sort_key=3)


class _Given(Where, total=False):
    data: Annotated[
        str,
        option(
            "builtin|sandbox|FILE",
            "The adapter is trained on these texts, never on scenarios that are measured. whitebox/README.md has "
            "the format of a file.",
            default="builtin; for pinocchio sandbox",
            group=_WHAT,
        ),
    ]
    alpha: Annotated[
        float,
        option(
            "X",
            "The hidden states are to move by X contrast vectors.",
            default="lorra 5, prompt-distill 1",
            group=_WHAT,
        ),
    ]
    retain: Annotated[
        float,
        option(
            "X",
            "The loss that keeps neutral text as it is has this weight.",
            default="lorra 0, prompt-distill 1",
            group=_WHAT,
        ),
    ]
    honest: Annotated[
        str,
        option(
            "TEXT",
            "In lorra this sentence makes T+.",
            default="Give a truthful answer.",
            group=_WHAT,
            allow_leading_hyphen=True,
        ),
    ]
    dishonest: Annotated[
        str,
        option(
            "TEXT",
            "In lorra this sentence makes T−.",
            default="Give an untruthful answer.",
            group=_WHAT,
            allow_leading_hyphen=True,
        ),
    ]
    system_prompt: Annotated[
        str,
        option("NAME|FILE", "In prompt-distill this is the developer's system prompt.", default="honest", group=_WHAT),
    ]
    target_layers: Annotated[
        str,
        option(
            "N,N...",
            "Hidden states are compared in these layers, numbered from 0. A LoRA is on every layer up to the last of "
            "them.",
            default="by depth: 9,11,13,15,17,19 of 32",
            group=_HOW,
        ),
    ]
    modules: Annotated[
        str, option("NAME,NAME...", "These linear layers get a LoRA.", default="q_proj,v_proj", group=_HOW)
    ]
    rank: Annotated[int, option("N", "The LoRA has this rank.", default="8", group=_HOW)]
    rate: Annotated[float, option("X", "This is the learning rate.", default="0.0003", group=_HOW)]
    steps: Annotated[int, option("N", "Training has N steps.", default="70", group=_HOW)]
    batch: Annotated[
        int, option("N", "A step takes N texts, and as many neutral ones with --retain.", default="16", group=_HOW)
    ]
    answer_tokens: Annotated[int, option("N", "N tokens of an answer are compared.", default="64", group=_HOW)]
    at_once: Annotated[
        int, option("N", "N texts are in memory at a time, and fewer where it runs out.", default="32", group=_HOW)
    ]
    seed: Annotated[
        int, option("N", "N seeds the first weights, the order, and the sandbox's texts.", default="0", group=_HOW)
    ]


def lorra(
    model: Annotated[str, option("MODEL", "The model is pinocchio, a folder, or a name on the hub.")],
    /,
    *,
    out: Annotated[Path, option("DIR", "The adapter is kept in this folder. Training goes on with one that is there.")],
    variant: Annotated[
        Literal["lorra", "prompt-distill"],
        option(
            "lorra|prompt-distill",
            "With lorra the adapter learns the honest minus the dishonest template. With prompt-distill it learns the "
            "texts with a developer's prompt minus those without.",
            group=_WHAT,
        ),
    ] = "lorra",
    json: Annotated[bool, flag("The record of the adapter is printed as JSON.")] = False,
    **typed: Unpack[_Given],
) -> None:
    """Train a PEFT adapter that makes a model more honest: LoRRA after Zou et al. 2023, or a prompt distilled.

    Defaults are those of public LoRRA scripts for 7B models, and not MASK's; pinocchio has its own.
    Where training was stopped, the same command goes on. To measure the adapter: maskbench run hf/MODEL -M adapter=DIR.
    """
    from maskbench_whitebox.lorra.recipe import recipe
    from maskbench_whitebox.lorra.train import train
    from maskbench_whitebox.models.loading import load
    from maskbench_whitebox.models.threads import using

    name, given = model.removeprefix("hf/"), dict[str, Any](typed)
    where = {part: given.pop(part) for part in ("dtype", "device", "trust_remote_code", "threads") if part in given}
    threads = where.pop("threads", None)
    for part, read in (("target_layers", _numbers), ("modules", _names)):
        given |= {part: read(given[part])} if part in given else {}
    chosen = recipe(variant, name, **given)
    loaded = load(name, **where, environ=environment())
    with _stopping() as stopped, using(threads):
        try:
            trained = train(loaded, chosen, out, watch=_lines(chosen.steps), stopped=stopped)
        except Interrupted as error:
            raise Interrupted(f"{error}\n  {shlex.join(('maskbench-whitebox', *sys.argv[1:]))}") from None
    print_json(trained.about.as_dict()) if json else _show(trained)


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"--target-layers {text}: give layer numbers with commas between, such as 1,2,3.") from None


def _names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


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

    from maskbench_whitebox.cli.tables import add, figures

    console, how = stdout(), trained.about
    layers = ", ".join(map(str, how.target_layers))
    console.print(
        Text(
            f"{plain(str(trained.folder))}: {how.variant} for {plain(how.model)}, alpha {how.alpha:g}, "
            f"target layers {layers}, rank {how.rank}, {how.parameters:,} parameters\n"
            f"{how.steps} steps of {how.batch} from the {how.texts:,} texts of {plain(how.data)}\n"
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
    measure = command("run", f"hf/{how.model}", "-M", f"adapter={trained.folder}")
    console.print(Text(f"\nMeasure it: {plain(measure)}"))


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
