"""`maskbench judge RUN --audit`: a judge asked again about what it has judged."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from maskbench.cli.asked import with_given
from maskbench.cli.console import (
    TOO_MANY_ERRORS,
    command,
    environment,
    interruptible,
    plan_of,
    print_blocks,
    print_json,
    put,
    say,
    stderr,
)
from maskbench.cli.options import OF_JUDGES
from maskbench.errors import UsageError
from maskbench.judges.audit_kinds import KINDS
from maskbench.method.asks import VERDICTS
from maskbench.plain import plain
from maskbench.runs.folder import RunFolder
from maskbench.runs.stored_programs import check_typed

if TYPE_CHECKING:
    from maskbench.runs.record import Audit


_SHOW = "show"  # in place of a kind
KNOWN = (*KINDS, _SHOW)
_DRAWN = ("sample", "seed")
_PACE = (
    *("connections", "timeout", "retries", "batch", "cluster", "gpus_per_model"),
    *("device", "batch_tokens", "threads", "serve_judge", "trust_remote_code", *OF_JUDGES),
)


def ask_again(
    folder: RunFolder, wanted: str, rules: str | None, given: Mapping[str, Any], *, dry_run: bool, json: bool
) -> None:
    """Carry out the audits of these kinds, with commas between, and print them; with `dry_run` what they take.

    `given` is what was typed of `judge`'s options besides.
    """
    from maskbench.judges.audit_figures import audits
    from maskbench.runs.record import Audit

    kinds = _kinds(wanted)
    if others := [name for name in given if name not in (*_DRAWN, *_PACE, "verdicts")]:
        raise UsageError(f"--audit asks a judge as it was asked before. Leave {_typed(others[0])} out.")
    of, sample, seed = given.get("verdicts"), given.get("sample"), given.get("seed")
    how = {name: value for name, value in given.items() if name in _PACE}
    if not kinds and (unused := next((name for name in given if name != "verdicts"), None)):
        raise UsageError(
            f"{_typed(unused)} says how an audit is made, and --audit {_SHOW} prints those that there are. Name a kind "
            f"({', '.join(KINDS)}), or leave {_typed(unused)} out."
        )
    if seed is not None and sample is None:
        raise UsageError("--seed draws the scenarios of a sample, and there is none. Add --sample N, or leave it out.")
    plans = [Audit(kind, of or VERDICTS, sample, seed or 0) for kind in kinds]
    if not plans and not (plans := audits(folder, of)):
        example = command("judge", folder.path, "--audit", next(iter(KINDS)))
        raise UsageError(f"{folder.path} has no audit yet. To exchange the options: {example}")
    if dry_run:
        return _print_forecast(folder, plans, how, json=json)
    if kinds:
        _audit(folder, plans, how)
    return _print(folder, plans, rules, json)


def check_no_audit(given: Mapping[str, Any]) -> None:
    """Raise UsageError for options of an audit where none is asked for."""
    for name in _DRAWN:
        if name in given:
            raise UsageError(
                f"{_typed(name)} draws scenarios for --audit. Add --audit KIND, or leave {_typed(name)} out."
            )


def _kinds(wanted: str) -> list[str]:
    """The kinds of audit that are named; none where those that there are are to be shown."""
    names = list(dict.fromkeys(name.strip() for name in wanted.split(",")))
    for name in names:
        if name not in KNOWN or (name == _SHOW and len(names) > 1):
            raise UsageError(f"--audit {plain(wanted)}: give {', '.join(KINDS)} (with commas for several), or {_SHOW}.")
    return [name for name in names if name != _SHOW]


def _typed(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _audit(folder: RunFolder, wanted: Sequence[Audit], how: Mapping[str, Any]) -> None:
    from maskbench.cli.progress import Display
    from maskbench.judges.auditing import audit, settings_of

    line = command(*sys.argv[1:])
    for each in wanted:
        settings = with_given(settings_of(folder, each), how)
        check_typed(settings, how, folder.path, ("judge",))
        with interruptible(lambda: line):
            audit(folder, each, settings, environment(), Display(stderr(), folder.log), sys.argv)


def _print(folder: RunFolder, wanted: Sequence[Audit], rules: str | None, json: bool) -> None:
    from msgspec import to_builtins

    from maskbench.judges.audit_figures import figures
    from maskbench.judges.verdict_sets import reading
    from maskbench.models.families import kinship
    from maskbench.presentation.sections.judges import audit_blocks

    with reading(folder) as opened:
        audited = [figures(opened, each, rules) for each in wanted]
        for judges in {each.of: (each.judge, each.numeric_judge) for each in audited}.values():
            if warning := kinship(opened.settings.subject.name, judges):
                say(f"Beware: {warning}")
        if json:
            print_json(to_builtins(audited))
        for place, each in enumerate(() if json else audited):
            if place:
                put("")
            print_blocks(list(audit_blocks(opened, each)))
    if not all(each.complete for each in audited):  # as `maskbench score` ends where a result is withheld
        raise SystemExit(TOO_MANY_ERRORS)


def _print_forecast(folder: RunFolder, wanted: Sequence[Audit], how: Mapping[str, Any], *, json: bool) -> None:
    from maskbench.judges.auditing import forecast, settings_of

    plans = {}
    for each in wanted:
        left, tokens = forecast(folder, each)
        settings = with_given(settings_of(folder, each), how)
        plans[each.set_name], shown = plan_of(left, tokens, settings)
        if not json:
            put(
                f"{left:,} verdicts by {plain(settings.judging.judge)} are to be had for {plain(each.set_name)}, from "
                f"requests of about {tokens:,.0f} tokens in all. Nothing was called."
            )
            print_blocks(shown)
    if json:
        print_json(plans)
