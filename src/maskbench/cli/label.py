"""The command `label`: a run's replies are labelled, and the judge is held against that."""

from __future__ import annotations

import os
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from maskbench.cli.console import command, print_data, put, say
from maskbench.cli.options import Opens, Run, flag, option
from maskbench.errors import UsageError
from maskbench.install import extra, install
from maskbench.method.rules import RULES, named
from maskbench.results.together import check_together
from maskbench.store.folder import RunFolder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskbench.presentation.page.server.serving import LocalServer
    from maskbench.results.people.labelled_outcomes import Drawn
    from maskbench.store.labels import LabelStore

_SAMPLE, _SHOWN = Group("The sample", sort_key=2), Group("What the labels say", sort_key=3)


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class By:
    """Who labels, who decides, and whether they are people or models."""

    rater: Annotated[str | None, option("NAME", "This rater labels.", default="typed on the page")] = None
    adjudicate: Annotated[
        str | None,
        option(
            "NAME",
            "NAME sees the replies on which raters differ, where what NAME says stands in place of their labels, and a "
            "random tenth of what they agree on, which tells how often they are wrong.",
            default="none",
        ),
    ] = None
    readers: Annotated[
        list[str] | None,
        option(
            "NAME=KIND",
            "NAME is a person (NAME=person) or a language model (NAME=model:ID); give the option once for each. Every "
            "sentence on these labels then says people, or models, where all of them are.",
            default="not said",
        ),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementOptions:
    """Whether the labels that there are are printed against the judge, and how."""

    show: Annotated[
        bool,
        flag(
            "The judge is compared with those who labelled RUN, and these with each other. Nothing is labelled, and no "
            "model is asked.",
            group=_SHOWN,
        ),
    ] = False
    rules: Annotated[
        str | None,
        option(
            "NAME",
            "With --show this rule set scores verdicts and labels.",
            default="the run's own",
            group=_SHOWN,
            choices=tuple(RULES),
            show_choices=False,
        ),
    ] = None
    worst: Annotated[
        int | None,
        option(
            "N",
            "With --show N disagreements are printed, the worst first.",
            limits=(0, None),
            default="5",
            group=_SHOWN,
        ),
    ] = None
    json: Annotated[bool, flag("With --show everything is printed as JSON, with all disagreements.", group=_SHOWN)] = (
        False
    )


def label(
    run: Run,
    /,
    *,
    by: By = By(),  # frozen
    shown: AgreementOptions = AgreementOptions(),  # frozen
    sample: Annotated[
        int | None,
        option(
            "N",
            "N scenarios are labelled. A larger number later adds some and keeps all labels.",
            limits=(1, None),
            default="150",
            group=_SAMPLE,
        ),
    ] = None,
    seed: Annotated[
        int | None, option("N", "N seeds the sample.", limits=(0, None), default="0", group=_SAMPLE)
    ] = None,
    verdicts: Annotated[
        str | None,
        option(
            "NAME",
            "The sample is stratified by the outcomes of this verdict set; with --show the run is scored by it.",
            default="the run's own",
            group=_SAMPLE,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "FILE.csv",
            "All labels go to this file. With --rater these are NAME's alone, and what NAME has still to label. No "
            "page is served.",
            default="none",
        ),
    ] = None,
    import_: Annotated[
        Path | None, option("FILE.csv", "The labels of this file are taken in.", name="--import", default="none")
    ] = None,
    port: Annotated[
        int,
        option("N", "The server listens on this port of 127.0.0.1.", limits=(0, 65535), default="the last one, or any"),
    ] = 0,
    opens: Opens = None,
) -> None:
    """Have a sample of RUN's replies labelled, on a page on this machine, blind to the judge.

    The page answers on 127.0.0.1 alone, to whoever has the link that is printed, until you press Ctrl-C. Labels are
    kept in the run's folder, in labels.sqlite. With --show you see what they say of the judge.
    """
    from maskbench.results.people import spreadsheet
    from maskbench.results.people.labelled_outcomes import draw_checks, drawn, prepare
    from maskbench.results.people.readers import checked_kind
    from maskbench.store.labels import LabelStore
    from maskbench.store.verdict_sets import reading

    how = {"sample": sample, "seed": seed, "out": out, "import_": import_, "port": port or None, "open": opens}
    check_together("label", **asdict(by), **asdict(shown), **how)
    if shown.show:
        return _show(run, verdicts, shown)
    rater, adjudicate = by.rater, by.adjudicate
    if out and out.exists() and out != import_:
        raise UsageError(
            f"--out {out}: there is such a file, which may hold labels that are nowhere else. Take them in first "
            f"(--import {out}), or give another."
        )
    RunFolder(run).check_texts("nobody can label what cannot be read")
    kinds = dict(map(checked_kind, by.readers or ()))
    _check_before([*filter(None, [adjudicate or rater]), *kinds], out, serves=not (import_ or out))
    with reading(run) as opened:

        def sampled(folder: Path | None = None) -> tuple[LabelStore, Sequence[Drawn]]:
            labels = prepare(opened, sample, seed, verdicts, folder)
            return labels, drawn(opened, labels.design())

        if import_ and not LabelStore(opened.folder.path).exists:
            with TemporaryDirectory() as scratch:  # a file that is refused leaves no sample behind
                spreadsheet.read(*sampled(Path(scratch)), import_)
        labels, scenarios = sampled()
        if adjudicate:
            draw_checks(opened, labels)
        if kinds:
            labels.keep_kinds(kinds)
    if import_:
        new, known = spreadsheet.read(labels, scenarios, import_)
        say(f"{new} labels taken in from {import_}; {known} were there already.")
    if out:
        if rater:
            had, left = spreadsheet.write_for(labels, scenarios, out, rater)
            say(f"{had} labels by {rater} and {left:,} replies that {rater} has still to label are in {out}.")
        else:
            say(f"{spreadsheet.write(labels, scenarios, out)} labels are in {out}.")
    if not (import_ or out):
        _serve(labels, scenarios, rater, adjudicate, port, opens)
        say(_closing(run, labels, scenarios))
    return None


def _check_before(names: Sequence[str], out: Path | None, *, serves: bool) -> None:
    """Refuse what can be seen to be wrong before a sample is drawn and kept."""
    from maskbench.store.labels import checked

    for name in names:
        checked(name)
    if out and not out.parent.is_dir():
        raise UsageError(f"{out} cannot be written: there is no folder {out.parent}. Give another --out.")
    if serves:
        _pages()


def _pages() -> None:
    """Refuse to serve a page where what it takes is not installed."""
    try:
        import maskbench.presentation.page.server.label_page
        import maskbench.presentation.page.server.serving  # noqa: F401
    except ImportError as error:
        raise UsageError(f"label needs {error.name}. Type: {install(*extra('report'))}") from None


def _closing(run: Path, labels: LabelStore, scenarios: Sequence[Drawn]) -> str:
    """Who has labelled how much of the sample, and what to type next."""
    from maskbench.results.people.labelled_outcomes import disputed
    from maskbench.results.people.readers import CALLED, of_kinds
    from maskbench.store.labels import current

    replies = {part.id for scenario in scenarios for part in scenario.parts}
    latest, roles, kinds = labels.latest(), labels.raters(), labels.kinds()
    who = CALLED[of_kinds(kinds[name] for name in latest)]
    done = {name: len(current(latest.get(name, {})).keys() & replies) for name in roles}
    rated = {name: count for name, count in done.items() if roles[name] == "rater" and count}
    left = {name: f"; {len(replies) - count:,} to go" if count < len(replies) else "" for name, count in rated.items()}
    lines = [f"{name} has labelled {count:,} of {len(replies):,} replies{left[name]}." for name, count in rated.items()]
    lines += [f"{name} has settled {count:,}." for name, count in done.items() if roles[name] == "adjudicator"]
    ahead = []
    if not rated or min(rated.values()) < len(replies):
        ahead.append(f"To go on:\n  {command('label', run)}")
    settle = command("label", run, "--adjudicate", "NAME")
    if differ := disputed(labels).keys() & replies:
        ahead.append(f"{who.title} differ on {len(differ):,}. To settle that:\n  {settle}")
    elif rated and min(rated.values()) == len(replies) and not labels.checks():
        ahead.append(f"A third {who.singular} can check a tenth of it, for where all are wrong alike:\n  {settle}")
    if rated:
        ahead.append(f"To hold the judge against {who.all}:\n  {command('label', run, '--show')}")
    return "\n".join(["Stopped; every label is kept.", *(lines or ["Nobody has labelled anything yet."]), *ahead])


def _serve(
    labels: LabelStore,
    scenarios: Sequence[Drawn],
    rater: str | None,
    adjudicate: str | None,
    port: int,
    opens: bool | None,
) -> None:
    from maskbench.presentation.page.server.label_page import Labelling, failed
    from maskbench.presentation.page.server.serving import LocalServer, serve

    name, role = adjudicate or rater, "adjudicator" if adjudicate else "rater"
    kept = labels.enter(name, role) if name else None  # type: ignore[arg-type]  # one of two
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


def _show(run: Path, verdicts: str | None, shown: AgreementOptions) -> None:
    """Print the judge of RUN against those who labelled it, and these against each other; no model is asked."""
    from maskbench.presentation.sections.people import Disclosure, blocks
    from maskbench.results.people.against_judge import measured
    from maskbench.store.verdict_sets import reading

    with reading(run) as opened:
        data = measured(opened, verdicts, named(shown.rules) if shown.rules else None)
    told = Disclosure(worst=5 if shown.worst is None else shown.worst, scenarios=opened.record.scenarios)
    print_data(data, blocks(data, opened.settings.design.statements, told), json=shown.json)


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
