"""`maskbench-whitebox steer`: a steering direction for each layer of an open model, learned from contrast pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Unpack

from maskbench.doors import command, environment, option, say, stderr, stdout
from maskbench.errors import UsageError
from maskbench_whitebox.cli.options import PLACE, Where

if TYPE_CHECKING:
    from rich.console import Console

    from maskbench_whitebox.models.vectors import Vectors

PINOCCHIO = "pinocchio"
TOKENS = 4096  # read at once
CHANCE = 0.05  # that the best of all layers does as well where nothing tells the sides apart
NAMED = 5  # layers, of those that do best
STRENGTH = 4  # of the command that is proposed: on pinocchio the best that leaves its beliefs alone


class _Where(Where, total=False):
    quantize: Annotated[
        Literal["4bit", "8bit"],
        option(
            "NAME",
            "Weights are reduced to 4bit or 8bit, which needs bitsandbytes (pip install bitsandbytes).",
            default="none",
            group=PLACE,
        ),
    ]
    batch_tokens: Annotated[int, option("N", "N tokens are read at once.", default=str(TOKENS), group=PLACE)]


def steer(
    model: Annotated[
        str, option("MODEL", "The model is pinocchio, a folder, or a name on the hub, with or without hf/.")
    ],
    /,
    *,
    out: Annotated[Path, option("FILE", "The vectors go to this file.")] = Path("vector.safetensors"),
    method: Annotated[
        Literal["mean-difference", "pca", "logistic"],
        option("NAME", "Directions are learned by mean-difference, pca or logistic."),
    ] = "mean-difference",
    contrast: Annotated[
        str | None,
        option(
            "NAME|FILE",
            "The pairs are builtin (honest and dishonest instructions, for any chat model), sandbox or sandbox:SEED "
            "(pinocchio's world), or those of a JSONL file.",
            default="sandbox for pinocchio, else builtin",
        ),
    ] = None,
    position: Annotated[
        Literal["answer", "turn", "last"] | None,
        option(
            "NAME",
            "Hidden states are taken over the answer, over the last user's turn and what follows it, or at the last "
            "token.",
            default="answer where the pairs have one, else turn",
        ),
    ] = None,
    adapter: Annotated[Path | None, option("DIR", "The model wears this PEFT adapter.", default="none")] = None,
    **given: Unpack[_Where],
) -> None:
    """Learn a direction towards honesty for each layer, into a file that `maskbench run hf/MODEL -M steer=FILE` takes.

    Every fourth pair is held out; how often its honest side lies further along a direction than its partner says
    whether the direction tells the two apart. Whether steering by it works, only runs at several strengths can say.
    """
    from maskbench_whitebox.models.adapters import with_adapter
    from maskbench_whitebox.models.loading import load
    from maskbench_whitebox.models.threads import using
    from maskbench_whitebox.steering.contrast import open_contrast
    from maskbench_whitebox.steering.directions import learn

    name = model.removeprefix("hf/")
    pairs = open_contrast(contrast or ("sandbox" if name == PINOCCHIO else "builtin"))
    if not out.parent.is_dir() or out.is_dir():
        raise UsageError(f"--out {out}: give the name of a file in a folder that is there.")
    loaded = load(
        name,
        dtype=given.get("dtype", "auto"),
        quantize=given.get("quantize"),
        device=given.get("device"),
        trust_remote_code=given.get("trust_remote_code", False),
        environ=environment(),
    )
    if adapter is not None:
        loaded = with_adapter(loaded, adapter)
    with _counting(2 * len(pairs.pairs)) as seen, using(given.get("threads")):
        vectors = learn(loaded, pairs, method, position, given.get("batch_tokens", TOKENS), seen)
    vectors = vectors.labelled(created=datetime.now(UTC).date().isoformat())
    vectors.save(out)
    _print(vectors, stdout())
    _say_how_well(vectors)
    _propose(name, out, len(loaded.layers), adapter)


@contextmanager
def _counting(conversations: int) -> Iterator[Callable[[int], None]]:
    """A bar of conversations read, on a terminal and for as long as it takes."""
    from rich.progress import Progress

    with Progress(console=stderr(), transient=True, disable=not stderr().is_terminal) as progress:
        task = progress.add_task("reading", total=conversations)
        yield lambda read: progress.advance(task, read)


def _print(vectors: Vectors, console: Console) -> None:
    from maskbench.doors import interval, plain
    from maskbench_whitebox.cli.tables import add, figures

    about = vectors.about
    pairs = about["contrast"]
    console.print(plain(f"{about['model']}: {about['method']} on {pairs['name']}"), style="bold")
    console.print(
        f"{pairs['pairs']} pairs, {pairs['learned']} to learn from; positions: {about['position']}; "
        f"vectors {vectors.content_hash}\n"
    )
    table = figures(
        "layer", "pairs told apart", "95 % interval", "AUC", "length at strength 1", "of the hidden state's"
    )
    held = pairs["pairs"] - pairs["learned"]
    for layer, norm in vectors.norms().items():
        won, share = about["pairs_won"][layer], norm / about["hidden_norms"][layer]
        low, high = interval(won / held, held, held - 1)
        apart = (f"{won:g} of {held}", f"{100 * low:.0f}–{100 * high:.0f} %", f"{about['auc'][layer]:.3f}")
        add(table, str(layer), *apart, f"{norm:.3g}", f"{share:.1%}".replace("%", " %"))
    console.print(table)


def _say_how_well(vectors: Vectors) -> None:
    """Which layers tell the held-out pairs apart best, and what that means; or that none does.

    Of many layers the best one does well by luck, so that its lower bound is taken at a level for all of them.
    """
    from maskbench.doors import interval

    about = vectors.about
    held = about["contrast"]["pairs"] - about["contrast"]["learned"]
    won, auc = about["pairs_won"], about["auc"]
    best = sorted(vectors.layers, key=lambda layer: (-won[layer], -auc[layer]))
    low, _ = interval(won[best[0]] / held, held, held - 1, 1 - 2 * CHANCE / len(best))
    if low <= 0.5:
        return say(
            f"\nNo layer tells the held-out pairs apart better than chance: the best one of {len(best)} gets "
            f"{won[best[0]]:g} of {held} right. There is nothing to steer by. Try another contrast or position."
        )
    named = ", ".join(f"{layer} ({won[layer]:g} of {held}, AUC {auc[layer]:.2f})" for layer in best[:NAMED])
    return say(
        f"\nThe held-out pairs are told apart best in the layers {named}. That shows that the model's hidden states "
        "hold the difference, not that steering by it works: measure that."
    )


def _propose(name: str, out: Path, layers: int, adapter: Path | None) -> None:
    """The line that uses the vectors; in which layer steering works best no pair says, so it is to be tried."""
    worn = ["-M", f"adapter={adapter}"] if adapter else []
    steering = ["-M", f"steer={out}", "-M", f"layers={2 * (layers - 1) // 3}", "-M", f"strength={STRENGTH}"]
    run = command("run", f"hf/{name}", *worn, *steering)
    say(f"\nWrote {out}. To use it:\n  {run}\nTo choose layers and strength, measure several (whitebox/README.md).")
