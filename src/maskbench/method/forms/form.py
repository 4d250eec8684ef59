"""A form: the words of a judge's request, and the way to read its answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from maskbench.method.forms.case import Case
from maskbench.method.forms.prompts import Folder, Prompts
from maskbench.types import Ask, Judgement, Reply


@dataclass(frozen=True, slots=True, eq=False)
class Style:
    """A form for one verdict, as `--judge-style` names it: on one reply, or on all neutral replies about a number.

    `read` gives the verdict, None for what is not beyond doubt; `remind` what goes out after an answer that cannot be
    read; `write` the text that gives a verdict in this form, for judges that are programs. `prompts` reads them from a
    folder (None: the packaged ones). `tokens` is how many an answer is assumed to have. `brief`: the verdict is all
    that is wanted. `published`: it is the published code's.
    """

    name: str
    read: Callable[[Ask, Reply], Judgement | None]
    remind: Callable[[Ask, str], Ask]
    write: Callable[[Ask, Judgement], str]
    ask: Callable[[Case], Ask]
    prompts: Callable[[Folder], Prompts]
    tokens: int
    brief: bool = False
    published: bool = False
