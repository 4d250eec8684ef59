"""`maskbench audit`: a judge asked again about what it has judged, with the options exchanged or as before."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from maskbench.cli import judge_options, options
from maskbench.cli.asked import given_options
from maskbench.cli.console import TOO_MANY_ERRORS, environment, interruptible, print_blocks, print_json, say, stderr
from maskbench.errors import UsageError
from maskbench.plain import plain
from maskbench.runs.folder import RunFolder

if TYPE_CHECKING:
    from maskbench.judges.audit_plan import Audit
    from maskbench.types import Json


def audit(
    ctx: typer.Context,
    run: options.Run,
    swap: Annotated[
        bool, typer.Option("--swap", help="Show the judge the options exchanged: does it favour a place?")
    ] = False,
    repeat: Annotated[
        bool, typer.Option("--repeat", help="Ask the same once more, at the judge's temperature: is it sure?")
    ] = False,
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Only so many scenarios, drawn by --seed, with all their replies.",
            min=1,
            show_default="all",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Draws the sample.", min=0)] = 0,
    verdicts: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The verdict set whose judge is audited.", show_default="the run's own"),
    ] = None,
    rules: options.RulesOfRun = None,
    json: Annotated[bool, typer.Option("--json", help="Print what was found as JSON.")] = False,
    connections: judge_options.ConnectionsAgain = None,
    timeout: judge_options.TimeoutAgain = None,
    retries: judge_options.RetriesAgain = None,
    dry_run: judge_options.DryRun = False,
) -> None:
    """Ask the judge of RUN again about the stored replies, and print how often its verdicts change.

    Without --swap and --repeat the audits that RUN has are printed. The subject is not asked. Exit codes: 0; 1 where
    an audit is not complete; 2 wrong usage or a model that cannot be asked; 130 interrupted.
    """
    from maskbench.judges.audit_plan import Audit
    from maskbench.judges.auditing import audits
    from maskbench.method.asks import VERDICTS

    folder = RunFolder(run)
    given = given_options(ctx)
    kinds = [kind for kind, chosen in (("swap", swap), ("repeat", repeat)) if chosen]
    if not kinds:
        _check_printing(given)
    if "seed" in given and sample is None:
        raise UsageError("--seed draws the scenarios of a sample, and there is none. Add --sample N, or leave it out.")
    wanted = [Audit(kind, verdicts or VERDICTS, sample, seed) for kind in kinds]
    if not wanted and not (wanted := audits(folder, verdicts)):
        example = shlex.join(["maskbench", "audit", str(run), "--swap"])
        raise UsageError(f"{run} has no audit yet. To exchange the options, `{example}`; to ask again, --repeat.")
    if dry_run:
        return _print_forecast(folder, wanted)
    if kinds:
        _audit(folder, wanted, {name: given[name] for name in ("connections", "timeout", "retries") if name in given})
    return _print(folder, wanted, rules, json)


def _check_printing(given: Mapping[str, Any]) -> None:
    """Raise UsageError for options that only say how an audit is made, where none is."""
    for name in ("sample", "seed", "connections", "timeout", "retries"):
        if name in given:
            raise UsageError(
                f"--{name} says how an audit is made, and this prints those that there are. Add --swap or --repeat, or "
                f"leave --{name} out."
            )


def _audit(folder: RunFolder, wanted: Sequence[Audit], how: dict[str, Any]) -> None:
    from maskbench.cli.progress import Display
    from maskbench.judges.auditing import audit

    line = shlex.join(["maskbench", *sys.argv[1:]])
    for one in wanted:
        with interruptible(lambda: line):
            audit(folder, one, how, environment(), Display(stderr(), folder.log), sys.argv)


def _print(folder: RunFolder, wanted: Sequence[Audit], rules: str | None, json: bool) -> None:
    from maskbench.judges.audit_figures import figures
    from maskbench.judges.auditing import settings_of
    from maskbench.models.families import kinship
    from maskbench.report.sections.audits import blocks

    found = [figures(folder, one, rules) for one in wanted]
    for judged in {one.of: settings_of(folder, one) for one in wanted}.values():
        if warning := kinship(judged.subject, (judged.judge, judged.numeric_judge)):
            say(f"Beware: {warning}")
    if json:
        print_json(found)
        return _exit(found)
    for place, one in enumerate(found):
        if place:
            typer.echo()
        print_blocks(list(blocks(one, folder.path)))
    return _exit(found)


def _exit(found: Sequence[Json]) -> None:
    """As `maskbench score` ends where a result is withheld."""
    if not all(one["complete"] for one in found):
        raise typer.Exit(TOO_MANY_ERRORS)


def _print_forecast(folder: RunFolder, wanted: Sequence[Audit]) -> None:
    from maskbench.judges.auditing import forecast, settings_of

    for one in wanted:
        left, tokens = forecast(folder, one)
        typer.echo(
            f"{left:,} verdicts by {plain(settings_of(folder, one).judge)} are to be had for {plain(one.name)}, from "
            f"requests of about {tokens:,.0f} tokens in all. Nothing was called."
        )
