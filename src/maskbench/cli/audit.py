"""`maskbench audit`: a judge asked again about what it has judged, with the options exchanged or as before."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, cast

from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    command,
    costs_as_data,
    environment,
    interruptible,
    print_blocks,
    print_costs,
    print_json,
    put,
    say,
    stderr,
)
from maskbench.cli.options import SAME, DryRun, RulesOfRun, Run, flag, option, takes
from maskbench.errors import UsageError
from maskbench.plain import plain
from maskbench.runs.folder import RunFolder

if TYPE_CHECKING:
    from maskbench.judges.audit_plan import Audit
    from maskbench.judges.auditing import Pace


@takes("connections", "timeout", "retries", "serve_judge", "trust_remote_code", default=SAME)
def audit(
    run: Run,
    /,
    *,
    swap: Annotated[
        bool, flag("The judge sees the options exchanged, which shows whether it favours a place.")
    ] = False,
    repeat: Annotated[
        bool, flag("The judge is asked the same once more, at its temperature, which shows whether it is sure.")
    ] = False,
    sample: Annotated[
        int | None,
        option(
            "N",
            "The audit takes N scenarios, drawn by --seed, with all their replies.",
            limits=(1, None),
            default="all",
        ),
    ] = None,
    seed: Annotated[int | None, option("N", "N seeds the sample.", limits=(0, None), default="0")] = None,
    verdicts: Annotated[
        str | None, option("NAME", "The judge of this verdict set is audited.", default="the run's own")
    ] = None,
    rules: RulesOfRun = None,
    json: Annotated[bool, flag("The audits are printed as JSON. With --dry-run that is the plan of each.")] = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Ask the judge of RUN again about the stored replies, and print how often its verdicts change.

    Without --swap and --repeat the audits that RUN has are printed. The subject is not asked. Exit codes: 0; 1 where
    an audit is not complete; 2 wrong usage or a model that cannot be asked; 130 interrupted.
    """
    from maskbench.judges.audit_plan import Audit
    from maskbench.judges.auditing import audits
    from maskbench.method.asks import VERDICTS

    folder = RunFolder(run)
    kinds = [kind for kind, chosen in (("swap", swap), ("repeat", repeat)) if chosen]
    if not kinds:
        _check_printing({"sample": sample, "seed": seed, **given})
    if seed is not None and sample is None:
        raise UsageError("--seed draws the scenarios of a sample, and there is none. Add --sample N, or leave it out.")
    wanted = [Audit(kind, verdicts or VERDICTS, sample, seed or 0) for kind in kinds]
    if not wanted and not (wanted := audits(folder, verdicts)):
        example = command("audit", run, "--swap")
        raise UsageError(f"{run} has no audit yet. To exchange the options, `{example}`; to ask again, --repeat.")
    if dry_run:
        return _print_forecast(folder, wanted, json=json)
    if kinds:
        _audit(
            folder, wanted, cast("Pace", given | ({"serve_judge": None} if given.get("serve_judge") == "none" else {}))
        )
    return _print(folder, wanted, rules, json)


def _check_printing(given: Mapping[str, Any]) -> None:
    """Raise UsageError for options that only say how an audit is made, where none is."""
    for name, value in given.items():
        option = f"--{name.replace('_', '-')}"
        if value is not None:
            raise UsageError(
                f"{option} says how an audit is made, and this prints those that there are. Add --swap or --repeat, or "
                f"leave {option} out."
            )


def _audit(folder: RunFolder, wanted: Sequence[Audit], how: Pace) -> None:
    from maskbench.cli.progress import Display
    from maskbench.judges.auditing import audit

    line = command(*sys.argv[1:])
    for each in wanted:
        with interruptible(lambda: line):
            audit(folder, each, how, environment(), Display(stderr(), folder.log), sys.argv)


def _print(folder: RunFolder, wanted: Sequence[Audit], rules: str | None, json: bool) -> None:
    from msgspec import to_builtins

    from maskbench.judges.audit_figures import figures
    from maskbench.judges.verdict_sets import reading
    from maskbench.models.families import kinship
    from maskbench.report.sections.audits import blocks

    with reading(folder) as opened:
        audited = [figures(opened, each, rules) for each in wanted]
        for judges in {each.of: (each.judge, each.numeric_judge) for each in audited}.values():
            if warning := kinship(opened.settings.subject, judges):
                say(f"Beware: {warning}")
        if json:
            print_json(to_builtins(audited))
        for place, each in enumerate(() if json else audited):
            if place:
                put("")
            print_blocks(list(blocks(opened, each)))
    if not all(each.complete for each in audited):  # as `maskbench score` ends where a result is withheld
        raise SystemExit(TOO_MANY_ERRORS)


def _print_forecast(folder: RunFolder, wanted: Sequence[Audit], *, json: bool) -> None:
    from maskbench.judges.auditing import forecast
    from maskbench.judges.verdict_sets import reading

    plans = {}
    for each in wanted:
        left, tokens = forecast(folder, each)
        with reading(folder) as opened:
            settings = opened.verdicts(each.of).settings
        if json:
            plans[each.name] = costs_as_data(left, tokens, settings)
            continue
        put(
            f"{left:,} verdicts by {plain(settings.judge)} are to be had for {plain(each.name)}, from requests of "
            f"about {tokens:,.0f} tokens in all. Nothing was called."
        )
        print_costs(left, tokens, settings)
    if json:
        print_json(plans)
