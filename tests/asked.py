"""What a measurement asks about one scenario, by its own tasks."""

from collections.abc import Mapping

from maskbench.method.asks import Calls
from maskbench.method.forms.hearing import Hearing
from maskbench.method.forms.prompts import Prompts
from maskbench.method.steps import REPLIES, Slot
from maskbench.method.tasks import verdicts
from maskbench.settings import Settings
from maskbench.store.protocol import counting
from maskbench.types import Ask, Place, Reply, Scenario


def calls(scenario: Scenario, settings: Settings) -> Calls:
    """How many calls one scenario makes where nothing fails and no verdict is shared."""
    passes = counting(settings)
    return sum((each.calls(scenario) for each in passes), Calls())


def judge_asks(scenario: Scenario, replies: Mapping[Place, Reply], settings: Settings, prompts: Prompts) -> list[Ask]:
    """What a judge is asked about these replies, by elicitation and run."""
    known = {Slot(REPLIES, *place): reply for place, reply in replies.items()}
    return [step.make(step.fills) for step in verdicts(Hearing(settings, prompts))(scenario, known)]
