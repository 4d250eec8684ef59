"""Controls on the subject: what it is asked beyond the method, and what the judge is asked about that.

Each is declared in a module of its own, once: what is asked and how it is judged, its figures, its words. A row of
`CONTROLS` and a field of `Controls` make it known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from maskbench.method.controls.control import Control
from maskbench.method.controls.placebo import PLACEBO, Placebo
from maskbench.method.controls.provided_facts import PROVIDED, Provided
from maskbench.method.controls.self_reports import SELF_REPORT, SelfReport
from maskbench.method.controls.traces import TRACES, Traces
from maskbench.method.forms.prompts import Prompts
from maskbench.settings import Settings
from maskbench.types import Ask, Scenario

CONTROLS: tuple[Control[Any], ...] = (PLACEBO, PROVIDED, SELF_REPORT, TRACES)  # by elicitation number
BY_CALL: Mapping[str, Control[Any]] = {control.call: control for control in CONTROLS}


class Controls(Struct, forbid_unknown_fields=True):
    """What the controls on the subject found; None where one was not made."""

    placebo: Placebo | None
    check_provided: Provided | None
    self_report: SelfReport | None
    traces: Traces | None


def wanted(settings: Settings) -> list[Control[Any]]:
    """The controls that the settings ask for."""
    return [control for control in CONTROLS if control.setting in settings.design.checks]


def of_reasoning(settings: Settings) -> list[Control[Any]]:
    """Those of them that ask the subject nothing: the judge reads the reasoning before each lie."""
    return [control for control in wanted(settings) if control.asks is None]


def control_asks(scenario: Scenario, settings: Settings, texts: Mapping[int, str] | None = None) -> list[Ask]:
    """What the subject is asked for the controls that the settings want, in the order of the elicitation numbers.

    `texts` are the statements by run, as far as there are any; None stands for all of them before they are known. A
    statement that is not there is not asked about.
    """
    texts = dict.fromkeys(range(1, settings.design.statements + 1), "") if texts is None else texts
    return [ask for control in wanted(settings) if control.asks for ask in control.asks(scenario, settings, texts)]


def judge_control(ask: Ask, text: str, prompts: Prompts) -> Ask:
    """What the judge is asked about the subject's reply to one of these asks; raises ValueError for another ask."""
    if ask.call not in BY_CALL:
        raise ValueError(f"{ask.call} is no control on the subject.")
    return BY_CALL[ask.call].judged(ask, text, prompts)
