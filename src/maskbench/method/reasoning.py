"""Reasoning that stands in a text: the marks by which models and their chat templates part it from the answer."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from maskbench.method.control_marks import control_mark

_TAGS = ("think", "thinking", "thought", "thoughts", "reasoning", "reason", "reflection", "scratchpad")
_TAGS_OF_TEMPLATES = ("think", "thinking", "seed:think")  # those that a chat template is known to open itself
_BLANK = r"[\s\u200b-\u200f\u2060\ufeff]*"  # nothing of it can be seen


class _Pair(NamedTuple):
    """The marks around a block of reasoning, as patterns; `by_template`: a chat template may have opened it."""

    opener: str
    closer: str
    by_template: bool = True


_PAIRS: Sequence[_Pair] = (
    *(_Pair(rf"< ?{tag} ?>", rf"< ?/ ?{tag} ?>", tag in _TAGS_OF_TEMPLATES) for tag in (*_TAGS, "seed:think")),
    _Pair(r"<antthinking>", r"</antthinking>", by_template=False),
    _Pair(r"\[THINK\]", r"\[/THINK\]"),  # Magistral, Ministral
    _Pair(r"◁think▷", r"◁/think▷"),  # Kimi
    _Pair(r"<\|think\|>", r"<\|/think\|>"),
    _Pair(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),  # OpenThinker, which marks its answer, too
    _Pair(r"<\|channel>(?:\s*thought\b)?", r"<channel\|>"),  # Gemma 4
)
_SOLUTION, _SOLUTION_END = "<|begin_of_solution|>", "<|end_of_solution|>"


def _any(patterns: Sequence[str]) -> str:
    return "|".join(f"({pattern})" for pattern in patterns)


_OPEN = re.compile(f"{_BLANK}(?:{_any([pair.opener for pair in _PAIRS])})", re.IGNORECASE)
_OPENERS = tuple(re.compile(pair.opener, re.IGNORECASE) for pair in _PAIRS)
_CLOSERS = tuple(re.compile(pair.closer, re.IGNORECASE) for pair in _PAIRS)
_LONE = tuple(place for place, pair in enumerate(_PAIRS) if pair.by_template)
_LONE_CLOSE = re.compile(_any([_PAIRS[place].closer for place in _LONE]), re.IGNORECASE)
_CHANNEL = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>\s*(\w+)\b[^<]*<\|message\|>")  # harmony
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_CHANNEL_OVER = re.compile(r"<\|(?:end|return|call)\|>\s*")
_STRIPPED = re.compile(rf"{_BLANK}analysis(.*?)assistantfinal", re.DOTALL)  # harmony without its marks


class Split(NamedTuple):
    """Visible text and reasoning of a text; `opened` says that a chat template had opened the reasoning."""

    text: str
    reasoning: str | None = None
    unclosed: bool = False
    opened: bool = False


def split_reasoning(text: str, opens: bool = False) -> Split:
    """The text with its reasoning apart: only a block that leads the text is reasoning.

    Chat templates may open it themselves, so a closing mark without an opening one ends it too; `opens` says that this
    model's template does, and that the text was cut. It takes as long as the text is, whatever the text holds.
    """
    if _CHANNEL.match(text):
        return _split_channels(text)
    if stripped := _STRIPPED.match(text):
        return Split(text[stripped.end() :].lstrip(), stripped[1].strip() or None)
    thoughts: list[str] = []
    at = 0
    while match := _OPEN.match(text, at):
        closed = _CLOSERS[(match.lastindex or 1) - 1].search(text, match.end())
        thoughts.append(text[match.end() : closed.start() if closed else None].strip())
        if not closed:
            return Split("", _joined(thoughts), unclosed=True)
        at = closed.end()
    if at:
        return Split(_answer(text, at), _joined(thoughts))
    if parted := split_at_lone_closer(text):
        return parted
    if opens:
        return Split("", text.strip() or None, unclosed=True, opened=True)
    return Split(text)


def split_at_lone_closer(text: str) -> Split | None:
    """The text parted at its first closing mark, where no opening one of the pair stands before that; else None."""
    close = _LONE_CLOSE.search(text)
    if close is None or _opener_of(close).search(text, 0, close.start()):
        return None
    return Split(_answer(text, close.end()), text[: close.start()].strip() or None, opened=True)


def has_one_lone_closer(text: str) -> bool:
    """Whether a text has exactly one closing mark of reasoning, and no opening one of the pair anywhere."""
    closes = _LONE_CLOSE.finditer(text)
    close = next(closes, None)
    return close is not None and next(closes, None) is None and not _opener_of(close).search(text)


def _opener_of(close: re.Match[str]) -> re.Pattern[str]:
    return _OPENERS[_LONE[(close.lastindex or 1) - 1]]


def _answer(text: str, at: int) -> str:
    """What stands behind the reasoning, without the marks that some models put around an answer."""
    answer = text[at:].lstrip()
    if not answer.startswith(_SOLUTION):
        return answer
    return answer.removeprefix(_SOLUTION).rstrip().removesuffix(_SOLUTION_END).strip()


def _split_channels(text: str) -> Split:
    """A text in harmony's channels taken apart: what is final is the answer, and every other channel is reasoning."""
    final: list[str] = []
    thoughts: list[str] = []
    at = 0
    while match := _CHANNEL.match(text, at):
        end = _CHANNEL_END.search(text, match.end())
        content = text[match.end() : end.start() if end else None].strip()
        (final if match[1] == "final" else thoughts).append(content)
        at = end.start() if end else len(text)
        if over := _CHANNEL_OVER.match(text, at):
            at = over.end()
    answer = "\n\n".join(filter(None, [*final, text[at:].strip()]))
    return Split(answer, _joined(thoughts), unclosed=not answer)


def _joined(thoughts: Sequence[str]) -> str | None:
    return "\n\n".join(filter(None, thoughts)) or None


# Elements of HTML and the like that a plain answer may well begin with.
_MARKUP = re.compile(
    r"a|abbr|address|answer|article|aside|audio|b|blockquote|body|br|button|canvas|center|cite|code|dd|del|details|div|dl"
    r"|doctype|dt|em|fieldset|figure|final|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|kbd|label"
    r"|legend|li|link|main|mark|meta|nav|ol|option|output|p|path|pre|q|reply|response|result|s|samp|script|section|select"
    r"|small|source|span|strong|style|sub|summary|sup|svg|table|tbody|td|template|textarea|tfoot|th|thead|time|title|tr|tt"
    r"|u|ul|user|value|var|video|xml",
    re.IGNORECASE,
)
_LEADS = re.compile(rf"{_BLANK}<([a-z][\w:-]{{1,30}})>", re.IGNORECASE)


def unknown_tag(text: str, cut: bool = False) -> str | None:
    """The tag of a block that leads a text and is followed by more, or was cut, and that is no mark-up known here."""
    lead = _LEADS.match(text)
    if lead is None or _MARKUP.fullmatch(lead[1]):
        return None
    _, close, after = text[lead.end() :].partition(f"</{lead[1]}>")
    return f"<{lead[1]}>" if after.strip() or (cut and not close) else None


def tag_warning(tag: str) -> str:
    """What to tell of a model whose answer begins with an unknown tag, or holds a control mark."""
    if control_mark(tag):
        return (
            f"left {tag} in an answer, a control mark of a chat template: the judge is shown what stands before it. "
            "Have the server end an answer there"
        )
    return (
        f"began an answer with {tag}, which maskbench does not know as a mark of reasoning: it counts as part of the "
        "answer. If it is reasoning, have the server hand that out apart, or turn it off"
    )
