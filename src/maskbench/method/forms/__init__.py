"""Forms: the ways in which a judge is asked, each a file with what it asks and how its answer is read.

A row of `FORMS` makes a form known; an ask names the one that it is in. What a judging's settings come to is a
`JudgingForm`, which everybody else asks. Which replies a request is about is for `apart` and `jointly` (`groups.py`);
the words and the reading of a verdict are for `reasoned`, `alone` and `published`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from maskbench.errors import UsageError
from maskbench.method.forms.alone import ALONE
from maskbench.method.forms.case import Case, Turns
from maskbench.method.forms.form import Style
from maskbench.method.forms.prompts import Folder, Prompts, fill
from maskbench.method.forms.published import PUBLISHED
from maskbench.method.forms.reasoned import REASONED
from maskbench.method.said_and_did import judged_as
from maskbench.method.steps import Group
from maskbench.method.verdict import confidence
from maskbench.settings import Judging, Settings
from maskbench.types import Ask, Call, Judgement, Kind, Reply, Scenario

FORMS: dict[str, Style] = {form.name: form for form in (REASONED, ALONE, PUBLISHED)}


def styles() -> tuple[str, ...]:
    """The names of the forms for one verdict."""
    return tuple(FORMS)


def style_named(name: str) -> Style:
    """The form for one verdict of this name; raises UsageError where there is none."""
    form = FORMS.get(name)
    if form is None:
        raise UsageError(f"--judge-style {name[:40]!r}: there is no such form. Give one of {', '.join(styles())}.")
    return form


@dataclass(frozen=True, slots=True)
class JudgingForm:
    """The forms that a judging's settings come to.

    `numbers_apart`: each neutral reply about a number has a verdict of its own.
    """

    style: Style
    numbers_apart: bool = False

    def group(self, kind: Kind) -> Group:
        """Which neutral replies to a scenario of this kind one request is about."""
        return "jointly" if kind == "numerical" and not self.numbers_apart else "apart"

    def is_joint(self, ask: Ask) -> bool:
        """Whether the replies to this ask have one verdict between them."""
        return ask.call == "direct" and self.group(ask.scenario.kind) == "jointly"

    def prompts(self, folder: Folder = None) -> Prompts:
        """The prompts in a folder (None: the packaged ones), as `load_prompts` has them."""
        return self.style.prompts(folder)

    @property
    def no_prompts(self) -> Prompts:
        """What one counts by: without texts, so that no judge can be asked by it."""
        return Prompts({}, "", "", self.style.name)

    @property
    def named(self) -> dict[str, str]:
        """The settings that make it, by the words of their options: what two judgings can differ in."""
        return {
            "judge style": self.style.name,
            "judge numbers": "apart" if self.numbers_apart else "together",
        }

    @property
    def suffix(self) -> str:
        """What the name of a verdict set says of it: all that is not usual."""
        unusual = {
            self.style.name: self.style is not REASONED,
            "numbers-apart": self.numbers_apart,
        }
        return "".join(f"-{word}" for word, is_on in unusual.items() if is_on)


USUAL = JudgingForm(REASONED)


def form_of(judging: Judging) -> JudgingForm:
    """The form that these settings have replies judged in; raises UsageError where there is no such style."""
    return JudgingForm(style_named(judging.style), judging.numbers == "apart")


def prompts_of(settings: Settings) -> Prompts:
    """The prompts by which a run with these settings is judged; raises UsageError as `load_prompts` does."""
    return form_of(settings.judging).prompts(settings.judging.prompts)


def load_prompts(folder: Folder = None, style: str = "reasoning") -> Prompts:
    """The prompts shipped with maskbench, or those in a folder of one's own, which must hold every file.

    In the style `verdict` the rules are the same, and the form of the answer is the verdict alone. In the style
    `published` the folder is a checkout of the MASK repository; the placebo is judged by the packaged prompts then.
    Raises UsageError, which names the file, where one is missing, empty, or lacks a mark such as {{reply}}.
    """
    return style_named(style).prompts(folder)


def length_of(text: str) -> int:
    """How many characters a judge prompt has with the packaged parts in it, in the style in which it is longer."""
    return max(len(fill(text, style.prompts(None).parts)) for style in (REASONED, ALONE))


# Requests and answers


def ask_about(
    scenario: Scenario, call: Call, elicitation: int, run: int, reply_text: str, prompts: Prompts, seed: int = 0
) -> Ask:
    """Ask the judge about one reply: sample `run` of the direct (1), a consistency (2, 3) or the statement call (0)."""
    about = judged_as(scenario, elicitation)
    return style_named(prompts.style).ask(Case(about, call, elicitation, run, (reply_text,), prompts, seed))


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
    case = Case(scenario, call, elicitation, run, (text,), prompts, system=prompts.texts[prompt], turns=turns)
    return style_named(prompts.style).ask(case)


def ask_again(ask: Ask, bad_text: str) -> Ask:
    """Ask once more, after the answer that could not be read (its beginning, if long), with a reminder of the form."""
    return FORMS[ask.form].remind(ask, bad_text)


def verdict_in(ask: Ask, answer: Reply) -> Judgement | None:
    """The verdict in a judge's answer; None where there is none beyond doubt."""
    found = FORMS[ask.form].read(ask, answer)
    return found and replace(found, confidence=confidence(found, answer.tokens))


def written(ask: Ask, judgement: Judgement) -> str:
    """The text that gives this verdict in the form that the ask wants, for judges that are programs."""
    return FORMS[ask.form].write(ask, judgement)
