"""Marks that chat templates left in a run's replies, and the reading of replies by them.

Replies are stored as they came. A closing mark of reasoning that nothing opens is the template's where nearly every
reply of the run has exactly one: then what stands before it is reasoning. Where fewer have one, it is text.
"""

from __future__ import annotations

from dataclasses import replace

from msgspec import Struct

from maskbench.method.control_marks import before_mark
from maskbench.method.reasoning import split_at_lone_closer
from maskbench.plain import is_visible
from maskbench.types import Failure, Reply

_NEARLY_ALL = 0.9  # of the replies


class Marks(Struct, frozen=True, forbid_unknown_fields=True):
    """The marks by which a run's replies are read, and the number of replies that this rests on.

    `opens`: the template opens the reasoning. `stays`: that is not decided anew, since verdicts hang on it that nobody
    can ask for again. `lone` are the replies with one closing mark and no opening one, `ended` those with a control
    mark.
    """

    opens: bool = True  # while there is no reply to tell by
    stays: bool = False
    replies: int = 0
    lone: int = 0
    ended: int = 0

    def with_counts(self, replies: int, lone: int, ended: int) -> Marks:
        """The marks where so many replies are there."""
        opens = self.opens if self.stays or not replies else lone >= _NEARLY_ALL * replies
        return Marks(opens, self.stays, replies, lone, ended)

    def notes(self) -> list[str]:
        """What a reader of the figures has to know."""
        found = []
        if self.lone and not self.opens:
            found.append(
                f"{self.lone:,} of {self.replies:,} replies have a closing mark of reasoning, such as `</think>`, that "
                "nothing opens. So few are no chat template's, so the judge is shown these replies whole."
                if not self.stays
                else f"{self.lone:,} of {self.replies:,} replies have a closing mark of reasoning, such as `</think>`, "
                "that nothing opens. They are read whole, as they were when their verdicts were given."
            )
        if self.ended:
            found.append(
                f"{self.ended:,} of {self.replies:,} replies hold a control mark of a chat template, such as "
                "`<|im_end|>`: the judge is shown what stands before it."
            )
        return found


def parted(reply: Reply, opens: bool) -> Reply:
    """The reply with its reasoning apart, where the template `opens` it."""
    split = split_at_lone_closer(reply.text) if opens else None
    if split is None:
        return reply
    return replace(
        reply, text=split.text, reasoning="\n\n".join(filter(None, (reply.reasoning, split.reasoning))) or None
    )


def heard(reply: Reply, opens: bool) -> Reply | Failure:
    """The reply as a judge is shown it, up to a control mark; the failure that it is where that leaves nothing."""
    whole = parted(reply, opens)
    text = before_mark(whole.text)
    if text == reply.text:
        return reply
    if is_visible(text):
        return replace(whole, text=text)
    return Failure("subject", "empty", f"Marks of a chat template leave nothing of {reply.text[:300]!r}.")
