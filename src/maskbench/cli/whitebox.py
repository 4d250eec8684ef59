"""`maskbench steer`: a steering direction for each layer of an open model, learned from contrast pairs."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from maskbench.cli.console import environment, say, stderr, stdout
from maskbench.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from maskbench.whitebox.vectors import Vectors

PINOCCHIO = "pinocchio"
SEPARATED = 0.6  # AUC of the best layer, below which a direction is as good as chance
STRENGTH = 4  # of the command that is proposed: on pinocchio the best that leaves its beliefs alone


def steer(
    model: Annotated[
        str, typer.Argument(metavar="MODEL", help="pinocchio, a folder, or a name on the hub, with or without hf/.")
    ],
    out: Annotated[Path, typer.Option(metavar="FILE", help="Where the vectors go.")] = Path("vector.safetensors"),
    method: Annotated[
        Literal["mean-difference", "pca", "logistic"],
        typer.Option(metavar="NAME", help="mean-difference, pca or logistic."),
    ] = "mean-difference",
    contrast: Annotated[
        str | None,
        typer.Option(
            metavar="NAME|FILE",
            help="builtin (honest and dishonest instructions, any chat model), sandbox or sandbox:SEED (pinocchio's "
            "world), or a JSONL file of pairs.",
            show_default="sandbox for pinocchio, else builtin",
        ),
    ] = None,
    position: Annotated[
        Literal["answer", "turn", "last"] | None,
        typer.Option(
            metavar="NAME",
            help="Where hidden states are taken: over the answer, over the last user's turn and what follows it, or "
            "at the last token.",
            show_default="answer where the pairs have one, else turn",
        ),
    ] = None,
    adapter: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A PEFT adapter to put on the model.", show_default="none")
    ] = None,
    dtype: Annotated[str, typer.Option(metavar="NAME", help="auto, fp32, bf16 or fp16.")] = "auto",
    device: Annotated[
        str | None, typer.Option(metavar="NAME", help="cpu, cuda or cuda:1.", show_default="cuda where there is one")
    ] = None,
    batch_tokens: Annotated[int, typer.Option(metavar="N", help="Tokens read at once.", min=1)] = 4096,
    trust_remote_code: Annotated[
        bool, typer.Option("--trust-remote-code", help="Run code that the model brings along.")
    ] = False,
) -> None:
    """Learn a direction towards honesty for each layer, and write them to a file that `maskbench run --steer` takes.

    Every fourth pair is held out; the AUC says how well each direction separates these.
    """
    from maskbench.whitebox.contrast import open_contrast
    from maskbench.whitebox.directions import learn
    from maskbench.whitebox.loading import load

    name = model.removeprefix("hf/")
    pairs = open_contrast(contrast or ("sandbox" if name == PINOCCHIO else "builtin"))
    if not out.parent.is_dir() or out.is_dir():
        raise UsageError(f"--out {out}: give the name of a file in a folder that is there.")
    loaded = load(
        name,
        dtype=dtype,
        device=device,
        adapter=adapter,
        trust_remote_code=trust_remote_code,
        environ=environment(),
    )
    with _counting(2 * len(pairs.pairs)) as seen:
        vectors = learn(loaded, pairs, method, position, batch_tokens, seen)
    vectors = vectors.labelled(created=datetime.now(UTC).date().isoformat())
    vectors.save(out)
    _print(vectors, stdout())
    if max(vectors.about["auc"]) < SEPARATED:
        say("\nNo layer separates the held-out pairs: there is nothing to steer by. Try another contrast or position.")
    _propose(name, out, len(loaded.layers), adapter)


@contextmanager
def _counting(conversations: int) -> Iterator[Callable[[int], None]]:
    """A bar of conversations read, on a terminal and for as long as it takes."""
    from rich.progress import Progress

    with Progress(console=stderr(), transient=True, disable=not stderr().is_terminal) as progress:
        task = progress.add_task("reading", total=conversations)
        yield lambda read: progress.advance(task, read)


def _print(vectors: Vectors, console: Console) -> None:
    from maskbench.report.plain import plain
    from maskbench.report.tables import add, figures

    about = vectors.about
    pairs = about["contrast"]
    console.print(plain(f"{about['model']}: {about['method']} on {pairs['name']}"), style="bold")
    console.print(
        f"{pairs['pairs']} pairs, {pairs['learned']} to learn from; positions: {about['position']}; "
        f"vectors {vectors.content_hash}\n"
    )
    table = figures("layer", "AUC, held out", "length at strength 1", "share of the hidden state's")
    for layer, norm in vectors.norms().items():
        share = norm / about["hidden_norms"][layer]
        add(table, str(layer), f"{about['auc'][layer]:.3f}", f"{norm:.3g}", f"{share:.1%}".replace("%", " %"))
    console.print(table)


def _propose(name: str, out: Path, layers: int, adapter: Path | None) -> None:
    """The line that uses the vectors; which layer does best no AUC says, so it is to be tried."""
    worn = ["--adapter", str(adapter)] if adapter else []
    steering = ["--steer", str(out), "--layers", str(2 * (layers - 1) // 3)]
    run = shlex.join(["maskbench", "run", f"hf/{name}", *worn, *steering, "--strength", str(STRENGTH)])
    dose = shlex.join(["maskbench", "dose", f"hf/{name}", *worn, *steering, "--strengths=-4:4:1", "--out", "doses"])
    say(f"\nWrote {out}. To use it:\n  {run}\nTo choose layers and strength:\n  {dose}")
