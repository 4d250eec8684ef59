"""The commands `report` and `view`: parse, call, print."""

from __future__ import annotations

import os
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import chdir, contextmanager, nullcontext
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

from maskbench.cli.console import put, say
from maskbench.cli.options import As, ComputeFile, OneRuleSet, Opens, Public, Retest, RulesOfAll, flag, option
from maskbench.errors import UsageError
from maskbench.models.install import extra, install
from maskbench.runs.disk import create
from maskbench.runs.folder import RunFolder

_PICTURES = (".pdf", ".svg", ".png", ".csv", ".html")


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
    retest: Retest = None,
    as_: As = None,
) -> None:
    """Make one self-contained page of a run, or of several that are compared with the first; it asks no model.

    Exit codes: 0 done, also where a headline is withheld, which the page then says; 2 wrong usage or run.
    """
    if not runs:
        raise UsageError("Which run? Give its folder: maskbench report RUN --out report.html.")
    if retest is not None and len(runs) < 2:
        raise UsageError("--retest tells how many scenarios of the first run change by themselves. Give two runs.")
    place = out or (runs[0] / "report.html" if len(runs) == 1 else Path("report.html"))
    if place.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {place}: give a file that ends in .html.")
    if figures is not None and figures.suffix.lower() in _PICTURES:
        raise UsageError(f"--figures {figures}: give a folder, as in --figures charts. Every chart goes into it.")
    if public and (include_text or retest or any((run / "dose.json").is_file() for run in runs)):
        raise UsageError("--public makes a page of runs without their texts. Leave --include-text and --retest out.")
    with _extra_for("report"):
        from maskbench.pages import dose_page
        from maskbench.pages.page import render
    if len(runs) == 1 and (runs[0] / "dose.json").is_file():
        parts = dose_page.render(runs[0], figures).parts
    else:
        from maskbench.results.scaling import read_compute

        spent = None if compute is None else read_compute(compute)
        place, figures = place.absolute(), figures and figures.absolute()
        with _shown(runs) if public else nullcontext(list(runs)) as shown:
            page = render(
                shown,
                rules=rules,
                verdicts=verdicts,
                include_text=include_text,
                figures=figures,
                compute=spent,
                convention=as_,
                retest=retest,
            )
            parts = tuple(page.parts)
    replaced = ", in place of the one that was there" if place.exists() else ""
    write_page(place, parts)
    by = "".join(f", by {name} {value}" for name, value in (("rules", rules), ("verdicts", verdicts)) if value)
    say(f"The report is in {place}{by}{replaced}. To look at it, open this in a browser:\n  {place.resolve().as_uri()}")
    if figures is not None:
        say(f"Every chart is in {figures}, as SVG, PDF and PNG in two widths, with its values as CSV.")


@contextmanager
def _shown(runs: Sequence[Path]) -> Iterator[list[Path]]:
    """The runs as others may see them, in a folder for as long as this context lasts, under names of their own."""
    from maskbench.interop.textless_run import write_without_texts

    whole, seen, shown = [run.absolute() for run in runs], Counter[str](), []
    with TemporaryDirectory() as scratch, chdir(scratch):
        for run in whole:
            seen[run.name] += 1
            name = Path(run.name if seen[run.name] == 1 else f"{run.name}-{seen[run.name]}")
            if RunFolder(run).read().without_texts:
                name.symlink_to(run)
            else:
                write_without_texts(RunFolder(run), name, commits=False)
            shown.append(name)
        yield shown


@contextmanager
def _extra_for(command: str) -> Iterator[None]:
    """Name what is missing of the extra that pages need, what draws among it, which a page itself loads late."""
    try:
        import_module("maskbench.pages.figures")
        yield
    except ImportError as error:
        if error.name and error.name.partition(".")[0] == "maskbench":
            raise UsageError(f"A part of maskbench itself is missing ({error}). Install maskbench again.") from error
        raise UsageError(f"{command} needs {error.name}. Type: {install(*extra('report'))}") from None


def write_page(place: Path, parts: Iterable[str]) -> None:
    """Write a page, whole or not at all."""
    draft = place.with_name(f".{place.name}.draft")
    try:
        draft.unlink(missing_ok=True)
        create(draft)  # in a run's folder it gets that folder's rights
        with draft.open("w", encoding="utf-8") as file:
            file.writelines(parts)
        draft.replace(place)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise UsageError(f"{place} cannot be written ({error.strerror}). Try another --out.") from error


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
    with _extra_for("view"):
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
