"""Control marks: what a chat template parts turns by, where a server has left it in a text.

A model whose server knows no stop token goes on after its answer, in the user's name and its own. What a judge is shown
of such a text ends at the mark; the text that is stored stays whole. A text about such marks has them in a block of
code, between backticks or between quotation marks: there a mark ends nothing.
"""

from __future__ import annotations

import re

# Words that no answer has between these brackets by chance. `</s>` is none of them: it ends what HTML strikes through.
_WORDS = (
    *("im_start", "im_end", "im_sep", "endoftext", "end_of_text", "begin_of_text", "eot_id", "eom_id", "eot"),
    *("start_header_id", "end_header_id", "start", "end", "return", "call", "user", "assistant", "system"),
    *("START_OF_TURN_TOKEN", "END_OF_TURN_TOKEN", "User", "Assistant", "end▁of▁sentence", "begin▁of▁sentence"),
)
_MARK = (
    rf"(?:<[|｜](?:{'|'.join(_WORDS)})[|｜]>|<(?:start_of_turn|end_of_turn|\|turn|turn\||eos|end_of_utterance)>"
    r"|\[/?INST\])"
)
_ANY_MARK = re.compile(_MARK)
_TALKED_ABOUT = rf"```.*?```|`[^`\n]+`|[\"'“”‘’«»„‚‹›]{_MARK}[\"'“”‘’«»„‚‹›]"
_MARKS = re.compile(rf"(?:{_TALKED_ABOUT})|({_MARK})", re.DOTALL)


def control_mark(text: str) -> re.Match[str] | None:
    """The first control mark that ends a text; None where there is none."""
    if not _ANY_MARK.search(text):
        return None
    return next((match for match in _MARKS.finditer(text) if match[1]), None)


def before_mark(text: str) -> str:
    """The text up to its first control mark; the very text where there is none."""
    mark = control_mark(text) if "<" in text or "[" in text else None
    return text[: mark.start()].rstrip() if mark else text
