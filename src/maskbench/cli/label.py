"""The commands `label` and `agreement`: people label a run's replies, the judge is held against them."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from maskbench.cli.console import VERDICTS_OPTION, Rules, print_json, say, stdout
from maskbench.errors import UsageError
from maskbench.folder import RunFolder
from maskbench.rules import named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskbench.labels.sample import Drawn
    from maskbench.labels.store import LabelStore
    from maskbench.pages.serving import LocalServer

_SAMPLE = "The sample"


def label(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    rater: Annotated[
        str | None, typer.Option(metavar="NAME", help="Who labels.", show_default="typed on the page")
    ] = None,
    adjudicate: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Show NAME only the replies on which raters differ; what NAME says stands in place of their labels.",
            show_default="none",
        ),
    ] = None,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Scenarios to label. A larger number later adds some and keeps all labels.",
            min=1,
            show_default="150",
            rich_help_panel=_SAMPLE,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(metavar="N", help="Draws the sample.", min=0, show_default="0", rich_help_panel=_SAMPLE),
    ] = None,
    verdicts: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The verdict set by whose outcomes the sample is stratified.",
            show_default="the run's own",
            rich_help_panel=_SAMPLE,
        ),
    ] = None,
    export: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.csv",
            help="Write all labels to FILE; with --rater also what NAME has still to label. Nothing is served.",
            show_default="none",
        ),
    ] = None,
    import_: Annotated[
        Path | None,
        typer.Option("--import", metavar="FILE.csv", help="Take labels in from FILE.", show_default="none"),
    ] = None,
    port: Annotated[
        int,
        typer.Option(metavar="N", help="The port on 127.0.0.1.", min=0, max=65535, show_default="the last one, or any"),
    ] = 0,
    opens: Annotated[
        bool | None,
        typer.Option("--open/--no-open", help="Show it in a browser.", show_default="where there is a display"),
    ] = None,
) -> None:
    """Have people label a sample of RUN's replies, on a page on this machine, blind to the judge.

    It answers on 127.0.0.1 alone, to whoever has the link that it prints, until Ctrl-C. Labels are kept in the run's
    folder, in labels.sqlite.
    """
    from maskbench.labels import table
    from maskbench.labels.sample import drawn, prepare

    if adjudicate and rater:
        raise UsageError("--rater labels and --adjudicate decides: give one of them.")
    folder = RunFolder(run)
    settings, store = folder.settings(), folder.store()
    try:
        labels = prepare(folder, store, sample, seed, verdicts)
        scenarios = drawn(store, settings, labels.design())
    finally:
        store.close()
    if import_:
        new, known = table.read(labels, scenarios, import_)
        say(f"{new} labels taken in from {import_}; {known} were there already.")
    if export:
        count = table.write(labels, scenarios, export, rater)
        say(f"{count} labels are in {export}.")
    if not (import_ or export):
        _serve(labels, scenarios, rater, adjudicate, port, opens)
        say(f"Stopped; every label is kept. To hold the judge against them:\n  {_line('agreement', run)}")


def _serve(
    labels: LabelStore,
    scenarios: Sequence[Drawn],
    rater: str | None,
    adjudicate: str | None,
    port: int,
    opens: bool | None,
) -> None:
    from maskbench.cli.pages import announce, has_display

    name, role = adjudicate or rater, "adjudicator" if adjudicate else "rater"
    kept = labels.enter(name, role) if name else None  # type: ignore[arg-type]  # one of two
    try:
        from maskbench.pages.label import Labelling, failed
        from maskbench.pages.serving import LocalServer, serve
    except ImportError as error:
        raise UsageError(f"label needs {error.name}. Install it: pip install 'maskbench[report]'.") from None
    pages = Labelling(labels, scenarios, kept, "adjudicator" if adjudicate else "rater")

    def listening(at: int) -> LocalServer:
        return LocalServer(pages.routes, at, writes=True, failed=failed)

    try:
        server = listening(port or labels.port())
    except UsageError:
        if port:
            raise
        server = listening(0)  # another rater's process has the last one
    else:
        labels.keep_port(server.port)
    serve(server, announce, opens=has_display(os.environ, sys.platform) if opens is None else opens)


def agreement(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder with labels.")],
    verdicts: Annotated[str | None, VERDICTS_OPTION] = None,
    rules: Annotated[
        Rules | None, typer.Option(metavar="NAME", help="The rule set for outcomes.", show_default="the run's own")
    ] = None,
    worst: Annotated[int, typer.Option(metavar="N", help="Disagreements to print, the worst first.", min=0)] = 5,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, all disagreements too.")] = False,
) -> None:
    """Hold the judge of RUN against the people who labelled it, and raters against each other. Asks no model."""
    try:
        from maskbench.agreement import measured
    except ImportError as error:
        raise UsageError(f"agreement needs {error.name}. Install it: pip install 'maskbench[labels]'.") from None
    from maskbench.report.agreement import print_agreement

    folder = RunFolder(run)
    store = folder.store()
    try:
        found = measured(folder, store, verdicts, named(rules or folder.settings().rules))
    finally:
        store.close()
    if json:
        print_json(found)
    else:
        print_agreement(found, worst, stdout())


def _line(*words: object) -> str:
    return shlex.join(["maskbench", *map(str, words)])
