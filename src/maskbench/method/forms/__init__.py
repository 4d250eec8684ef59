"""Forms: the ways in which a judge is asked, each a file with what it asks and how its answer is read.

A row of `FORMS` makes a form known; an ask names the one that it is in. What a judging's settings come to is a
`JudgingForm`, which everybody else asks. Which replies a request is about is for `apart`, `jointly` and `together`
(`groups.py`); the words and the reading of one verdict are for `reasoned`, `alone` and `published`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maskbench.errors import UsageError
from maskbench.method.forms.alone import ALONE
from maskbench.method.forms.case import Case, Turns
from maskbench.method.forms.form import Form, Style
from maskbench.method.forms.prompts import Folder, Prompts, control_prompt, fill
from maskbench.method.forms.published import PUBLISHED
from maskbench.method.forms.questions import QUESTION
from maskbench.method.forms.reasoned import REASONED
from maskbench.method.forms.together import FURTHER, TOGETHER
from maskbench.method.steps import Group
from maskbench.method.verdict import confidence
from maskbench.settings import Judging, Settings
from maskbench.types import Ask, Call, JudgeBeliefs, Judgement, JudgeNumbers, Kind, Reply, Scenario

FORMS: dict[str, Form] = {form.name: form for form in (REASONED, ALONE, PUBLISHED, TOGETHER, QUESTION)}


def style_named(name: str) -> Style:
    """The form for one verdict of this name; raises UsageError where there is none."""
    form = FORMS.get(name)
    if not isinstance(form, Style):
        styles = ", ".join(name for name, form in FORMS.items() if isinstance(form, Style))
        raise UsageError(f"--judge-style {name!r}: there is no such style. Give one of {styles}.")
    return form


# What a judging has


@dataclass(frozen=True, slots=True)
class JudgingForm:
    """The forms of a judging together."""

    style_name: str
    beliefs: JudgeBeliefs
    numbers: JudgeNumbers
    sees_reasoning: bool  # a statement is judged along with the reasoning before it

    @property
    def style(self) -> Style:
        """The form of one verdict."""
        return style_named(self.style_name)

    @property
    def beliefs_together(self) -> bool:
        """Whether the neutral replies to a scenario with options go in one request."""
        return self.beliefs == "together"

    @property
    def numbers_apart(self) -> bool:
        """Whether each neutral reply about a number has a verdict of its own."""
        return self.numbers == "apart"

    def group(self, kind: Kind) -> Group:
        """Which neutral replies to a scenario of this kind one request is about."""
        if kind == "numerical":
            return "apart" if self.numbers_apart else "jointly"
        return "together" if self.beliefs_together else "apart"

    def is_joint(self, ask: Ask) -> bool:
        """Whether the replies to this ask have one verdict between them."""
        return ask.call == "direct" and self.group(ask.scenario.kind) == "jointly"


USUAL = JudgingForm(REASONED.name, "apart", "together", sees_reasoning=False)


def form_of(judging: Judging) -> JudgingForm:
    """The form that these settings have replies judged in."""
    return JudgingForm(judging.style, judging.beliefs, judging.numbers, judging.with_reasoning)


def prompts_of(settings: Settings) -> Prompts:
    """The prompts by which a run with these settings is judged; raises UsageError as `load_prompts` does."""
    judging = settings.judging
    return load_prompts(judging.prompts, judging.style, judging.beliefs)


def load_prompts(folder: Folder = None, style: str = "reasoning", beliefs: JudgeBeliefs = "apart") -> Prompts:
    """The prompts shipped with maskbench, or those in a folder of one's own, which must hold every file.

    In the style `verdict` the rules are the same, and the form of the answer is the verdict alone. In the style
    `published` the folder is a checkout of the MASK repository; controls are judged by the packaged prompts then. With
    `beliefs` together there are two files more, and they count in the hash. Raises UsageError, which names the file,
    where one is missing, empty, or lacks a mark such as {{reply}}.
    """
    return style_named(style).prompts(folder, FURTHER if beliefs == "together" else None)


def length_of(text: str) -> int:
    """How many characters a judge prompt has with the packaged parts in it, in the style in which it is longer."""
    return max(len(fill(text, style.prompts(None, None).parts)) for style in (REASONED, ALONE))


# Requests and answers


def ask_about(
    scenario: Scenario, call: Call, elicitation: int, run: int, reply_text: str, prompts: Prompts, seed: int = 0
) -> Ask:
    """Ask the judge about one reply: sample `run` of the direct (1), a consistency (2, 3) or the statement call (0)."""
    return style_named(prompts.style).ask(Case(scenario, call, elicitation, run, (reply_text,), prompts, seed))


def ask_about_beliefs(scenario: Scenario, replies: Sequence[str], prompts: Prompts) -> Ask:
    """Ask for the one range that all replies to a numerical belief question support; it is kept with the last sample.

    Raises UsageError for fewer than two replies (method.md section 4).
    """
    if len(replies) < 2:
        raise UsageError(f"A joint belief verdict on {scenario.key} needs at least two replies; here: {len(replies)}.")
    return style_named(prompts.style).ask(Case(scenario, "direct", 1, len(replies), replies, prompts))


def ask_with(
    prompt: str, scenario: Scenario, call: Call, elicitation: int, run: int, turns: Turns, text: str, prompts: Prompts
) -> Ask:
    """Ask about a text by the prompt of that name, after these turns (tags and texts): the ask of a control."""
    system = prompts.texts.get(prompt) or control_prompt(prompt, prompts)
    case = Case(scenario, call, elicitation, run, (text,), prompts, system=system, turns=turns)
    return style_named(prompts.style).ask(case)


def ask_again(ask: Ask, bad_text: str) -> Ask:
    """Ask once more, after the answer that could not be read (its beginning, if long), with a reminder of the form."""
    return FORMS[ask.form].remind(ask, bad_text)


def verdicts_in(ask: Ask, answer: Reply) -> list[Judgement | None]:
    """Each verdict that was asked for, in the order of the ask; None where there is none beyond doubt."""
    found = FORMS[ask.form].read(ask, answer)
    if ask.each:  # one probability cannot belong to several verdicts
        return list(found)
    return [one and replace(one, confidence=confidence(one, answer.tokens)) for one in found]


def verdict_in(ask: Ask, answer: Reply) -> Judgement | None:
    """The verdict in a judge's answer to an ask for one; None where there is none beyond doubt."""
    return verdicts_in(ask, answer)[0]


def written(ask: Ask, judgement: Judgement) -> str:
    """The text that gives this verdict in the form that the ask wants, for judges that are programs."""
    return FORMS[ask.form].write(ask, judgement)
