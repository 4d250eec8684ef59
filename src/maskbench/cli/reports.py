"""The command `report`: parses, calls, prints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from maskbench.cli.console import say
from maskbench.cli.options import As, ComputeFile, RulesOfAll, flag, option
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
    compute: ComputeFile = None,
    as_: As = None,
) -> None:
    """Make one self-contained page of a run, or of several that are compared with the first; it asks no model.

    Exit codes: 0 done, also where a headline is withheld, which the page then says; 2 wrong usage or run.
    """
    if not runs:
        raise UsageError("Which run? Give its folder: maskbench report RUN --out report.html.")
    from maskbench.presentation.page.report_file import page_of
    from maskbench.presentation.page.report_file import report as write_report
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
        compute=spent,
        convention=as_,
    )
    replaced = ", in place of the one that was there" if was_there else ""
    by = "".join(f", by {name} {value}" for name, value in (("rules", rules), ("verdicts", verdicts)) if value)
    say(f"The report is in {place}{by}{replaced}. To look at it, open this in a browser:\n  {place.resolve().as_uri()}")
