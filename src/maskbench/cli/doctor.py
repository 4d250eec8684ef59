"""`maskbench doctor`: which models there are, and whether one of them works."""

from __future__ import annotations

from typing import Annotated, Any

from maskbench.asking.options import OF_MODELS, check_together
from maskbench.cli.asked import with_given
from maskbench.cli.commands import in_short
from maskbench.cli.console import OK, TOO_MANY_ERRORS, environment, print_data, put, say
from maskbench.cli.options import flag, option, scenario_sets
from maskbench.cli.run_options import DryRun, takes


@in_short(
    "judge scenarios max-tokens reasoning-tokens timeout json dry-run",
    "maskbench doctor openai/gpt-4o --judge anthropic/claude-sonnet-4-5",
    "maskbench doctor vllm/my-model --dry-run",
)
@takes(*OF_MODELS, defaults={"timeout": "120.0"})
def doctor(
    model: Annotated[
        str | None,
        option(
            "MODEL",
            "This model is the subject, named as for `maskbench run`. Where you leave it out, every form of a name is "
            "listed, with the key that each wants and whether it is set.",
            default="none",
        ),
    ] = None,
    /,
    *,
    judge: Annotated[
        str | None, option("MODEL", "This judge gets four calls, too: for three verdicts, and a word.", default="none")
    ] = None,
    scenarios: Annotated[
        str | None,
        option(
            "NAME|PATH",
            "The longest prompt of this scenario set is one that is sent.",
            default="starter (sandbox for pinocchio)",
            completer=scenario_sets,
        ),
    ] = None,
    json: Annotated[bool, flag("What was found is printed as JSON.")] = False,
    dry_run: DryRun = False,
    **given: Any,
) -> None:
    """Make four small calls to a model, and say what came and what to type; or list all models.

    Exit codes: 0 a run would go through; 1 it would fail, or something wrong came; 2 wrong usage.
    """
    from maskbench.asking.judging.doctoring import doctor_settings, examine, plan, shown_calls
    from maskbench.cli.sections.doctor import blocks
    from maskbench.models.names import check_name, defaults

    check_together("doctor", model=model, judge=judge, scenarios=scenarios, dry_run=dry_run, **given)
    if model is None:
        return _list(json=json)
    judge = None if judge == "none" else judge
    for name in filter(None, (model, judge)):
        check_name(name)
    chosen = scenarios or defaults(model).scenarios or "starter"
    settings = with_given(doctor_settings(model, judge, chosen), given)
    environ = environment()
    planned = plan(settings, environ, with_judge=judge is not None)
    (put if dry_run else say)(shown_calls(planned, settings))
    if dry_run:
        return None
    doctored = examine(settings, planned, environ)
    print_data(doctored, blocks(doctored), json=json)
    raise SystemExit(OK if doctored.passes else TOO_MANY_ERRORS)


def _list(*, json: bool) -> None:
    """Print every form of a model's name, the key that each wants, and whether it is set."""
    from maskbench.cli.sections.doctor import listed
    from maskbench.models.known_models import known_models

    known = known_models(environment())
    print_data(known, listed(known), json=json)
