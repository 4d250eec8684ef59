"""A form: the words of a judge's request, and the way to read its answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from maskbench.method.forms.case import Case
from maskbench.method.forms.prompts import Folder, Further, Prompts
from maskbench.types import Ask, Judgement, Reply


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """How the answer to a request in this form is read, and what goes out after one that cannot be read.

    `read` gives a verdict for each that was asked for, None for what is not beyond doubt; `write` the text that gives a
    verdict in this form, for judges that are programs.
    """

    name: str
    read: Callable[[Ask, Reply], Sequence[Judgement | None]]
    remind: Callable[[Ask, str], Ask]
    write: Callable[[Ask, Judgement], str]


@dataclass(frozen=True, slots=True, eq=False)
class Style(Form):
    """A form for one verdict, as `--judge-style` names it: on one reply, or on all neutral replies about a number.

    `prompts` reads them from a folder (None: the packaged ones), with those of a further form where one is used beside
    it. `tokens` is how many an answer is assumed to have. `brief`: the verdict is all that is wanted, so that there is
    room for one alone. `published`: it is the published code's, which judges one answer at a time.
    """

    ask: Callable[[Case], Ask]
    prompts: Callable[[Folder, Further | None], Prompts]
    tokens: int
    brief: bool = False
    published: bool = False
