"""The commands `report` and `view`: parse, call, print."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from maskbench.cli.console import put, say
from maskbench.cli.options import As, ComputeFile, OneRuleSet, Opens, Public, RulesOfAll, flag, option
from maskbench.errors import UsageError


def report(
    *runs: Annotated[
        Path, option("RUN", "Give the folders of runs. Where you give several, all are compared with the first.")
    ],
    out: Annotated[
        Path | None,
        option("FILE", "The page goes to this file.", default="RUN/report.html; with several runs ./report.html"),
    ] = None,
    rules: RulesOfAll = None,
    verdicts: Annotated[
        str | None, option("NAME", "Every run is scored by its verdict set of this name.", default="each run's own")
    ] = None,
    include_text: Annotated[
        bool,
        flag(
            "The page shows scenarios and replies of any set, not only of starter and sandbox. Think before you use "
            "it: a page that is passed on can end in training data, and then the set measures nothing any more. A "
            "canary in its rows warns of that. Its licence may forbid it, too."
        ),
    ] = False,
    public: Annotated[
        bool,
        flag(
            "The page is for others: it is made from the run as `export --format run` writes it, without a text, a "
            "path, or words of a server."
        ),
    ] = False,
    figures: Annotated[
        Path | None,
        option(
            "DIR",
            "Write every chart into this folder, too: as SVG, PDF and PNG, for one column of a paper and for two, "
            "with its values as CSV.",
            default="none",
        ),
    ] = None,
    compute: ComputeFile = None,
    as_: As = None,
) -> None:
    """Make one self-contained page of a run, or of several that are compared with the first; it asks no model.

    Exit codes: 0 done, also where a headline is withheld, which the page then says; 2 wrong usage or run.
    """
    if not runs:
        raise UsageError("Which run? Give its folder: maskbench report RUN --out report.html.")
    from maskbench.pages.report_file import page_of
    from maskbench.pages.report_file import report as write_report
    from maskbench.results.scaling import read_compute

    place = page_of(runs, out)
    was_there = place.exists()
    spent = None if compute is None else read_compute(compute)
    write_report(
        *runs,
        out=out,
        rules=rules,
        verdicts=verdicts,
        include_text=include_text,
        public=public,
        figures=figures,
        compute=spent,
        convention=as_,
    )
    replaced = ", in place of the one that was there" if was_there else ""
    by = "".join(f", by {name} {value}" for name, value in (("rules", rules), ("verdicts", verdicts)) if value)
    say(f"The report is in {place}{by}{replaced}. To look at it, open this in a browser:\n  {place.resolve().as_uri()}")
    if figures is not None:
        say(f"Every chart is in {figures}, as SVG, PDF and PNG in two widths, with its values as CSV.")


def view(
    folder: Annotated[Path, option("DIR", "Give a folder with runs in it.")] = Path("runs"),
    /,
    *,
    port: Annotated[
        int, option("N", "The server listens on this port of 127.0.0.1.", limits=(0, 65535), default="a free one")
    ] = 0,
    opens: Opens = None,
    rules: OneRuleSet = "reference",
    public: Public = None,
    include_text: Annotated[
        bool,
        flag(
            "The pages show scenarios and replies of every set, not only of those whose licence allows it. A page that "
            "is saved and passed on can end in training data, and then the set measures nothing any more."
        ),
    ] = False,
) -> None:
    """Look at a folder of runs in a browser: leaderboard, reports, comparisons, dose curves, runs under way.

    The server answers on 127.0.0.1 alone, to whoever has the link that it prints, until you press Ctrl-C.
    """
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder. Give one with runs in it: maskbench view runs/.")
    from maskbench.pages.report_file import extra_for

    with extra_for("view"):
        from maskbench.pages.server.serving import LocalServer, serve
        from maskbench.pages.server.shelf import Shelf
        from maskbench.pages.server.view import View, failed

        pages = View(Shelf(folder, rules, public or ()), include_text=include_text)
        server = LocalServer(pages.routes, port, failed=failed)
    serve(server, announce, opens=has_display(os.environ, sys.platform) if opens is None else opens)
    say("Stopped.")
    if threading.active_count() > 1:  # a page is still being made: its native code would abort the interpreter's end
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)


def announce(link: str) -> None:
    """Print the link of a server, and how to go about with it."""
    put(link)
    say(
        "Open this link in a browser on this machine; it holds a token, so keep it to yourself. Ctrl-C ends the server."
    )


def has_display(environ: Mapping[str, str], platform: str) -> bool:
    """Whether a browser that is opened here could be seen."""
    if platform == "darwin":
        return "SSH_CONNECTION" not in environ
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))
