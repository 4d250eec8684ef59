"""`maskbench doctor`: which models there are, and what one of them can do."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from maskbench.cli.asked import with_given
from maskbench.cli.commands import in_short
from maskbench.cli.console import OK, TOO_MANY_ERRORS, environment, print_data, put, say
from maskbench.cli.options import DryRun, flag, option, scenario_sets, takes
from maskbench.errors import UsageError

_SUBJECT = ("temperature", "max_tokens", "reasoning_tokens", "extra_body", "template_args", "tool_calls")
_JUDGE = ("judge_temperature", "judge_max_tokens", "judge_reasoning_tokens", "judge_prompts")
_LOCAL = ("dtype", "quantize", "device", "batch_tokens", "threads", "trust_remote_code")


@in_short(
    "judge scenarios max-tokens reasoning-tokens timeout record json dry-run",
    "maskbench doctor openai/gpt-4o --judge anthropic/claude-sonnet-4-5",
    "maskbench doctor vllm/my-model --dry-run",
)
@takes(*_SUBJECT, *_JUDGE, *_LOCAL, "timeout", defaults={"timeout": "120.0"})
def doctor(
    model: Annotated[
        str | None,
        option(
            "MODEL",
            "This model is the subject, named as for `maskbench run`. Where you leave it out, every form of a name is "
            "listed, with the variables that each needs and whether they are set.",
            default="none",
        ),
    ] = None,
    /,
    *,
    judge: Annotated[
        str | None, option("MODEL", "This judge is asked, too: three questions of its exam.", default="none")
    ] = None,
    scenarios: Annotated[
        str | None,
        option(
            "NAME|PATH",
            "The longest prompt of this scenario set has to fit.",
            default="starter (sandbox for pinocchio)",
            completer=scenario_sets,
        ),
    ] = None,
    record: Annotated[
        Path | None,
        option(
            "FILE",
            "What the service did is written into this file, which may be published: parameters, kinds of content, "
            "stop reasons, usage, limits; no text, no key, no address of your own. See docs/met.md.",
            default="none",
        ),
    ] = None,
    json: Annotated[bool, flag("What was found is printed as JSON.")] = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Ask a model a few small things, and say what works, what does not, and what to type; or list all models.

    Exit codes: 0 a run would go through; 1 it would fail, or its judge gave a wrong verdict; 2 wrong usage.
    """
    from maskbench.judges.doctoring import doctor_settings, examine, plan, shown_calls
    from maskbench.models.names import check_name, defaults
    from maskbench.presentation.sections.doctor import blocks
    from maskbench.runs.first_contact import check_record, write_record

    if model is None:
        asked = {"judge": judge, "scenarios": scenarios, "record": record, "dry_run": dry_run or None, **given}
        if unused := next((name for name, value in asked.items() if value is not None), None):
            raise UsageError(f"--{unused.replace('_', '-')} is for one model. Name it: maskbench doctor MODEL.")
        return _list(json=json)
    for name in filter(None, (model, judge)):
        check_name(name)
    if record is not None:
        check_record(record, filter(None, (model, judge)))
    chosen = scenarios or defaults(model).scenarios or "starter"
    settings = with_given(doctor_settings(model, judge, chosen), given)
    environ = environment()
    planned = plan(settings, environ, with_judge=judge is not None)
    for line in shown_calls(planned, settings, environ):
        (put if dry_run else say)(line)
    if dry_run:
        return None
    doctored = examine(settings, planned, environ)
    if record is not None and write_record(record, [each.contact for each in doctored.models if each.contact]):
        say(f"The record is in {record}. docs/met.md says how to send it.")
    elif record is not None:
        say("No record is written: no call was answered.")
    print_data(doctored, blocks(doctored), json=json)
    raise SystemExit(OK if doctored.passes else TOO_MANY_ERRORS)


def _list(*, json: bool) -> None:
    """Print every form of a model's name, the variables that each needs, and whether they are set."""
    from maskbench.models.known_models import KnownModelsData, known_models
    from maskbench.presentation.sections.doctor import listed

    known = known_models(environment())
    print_data(KnownModelsData(known), listed(known), json=json)
