"""Messages → tokens by a tokenizer's own chat template, and tokens → text; no message can forge a turn.

A message that holds the text of a control token, such as <|end|>, must stay text. So the template is rendered with
such texts masked, its own control tokens are renamed to something nobody can know, and a copy of the tokenizer reads
the result that knows them by these names alone. Without such texts the tokens are those of apply_chat_template.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from functools import cached_property
from typing import Any

from maskbench.doors import NO_VARIABLES, declared, fold, has_system, uses_tools
from maskbench.errors import UnknownModel, UsageError
from maskbench.types import Function, Json, Message, ToolCall, ToolCalls, ToolResult

DAY = datetime(2024, 7, 26)  # the date in every template (that of Llama's own), so that no day changes a prompt
THINK = ("<think>", "</think>", "<thinking>", "</thinking>")
_PROBE = "probe0text"
# Templates ask for the date by a function with a format; transformers fixes it, so a Jinja macro stands in its place.
_FORMATS = "".join(f"|replace('%{code}','{DAY:%{code}}')" for code in "aAbBdHIjmMpSwyY")
_DATED = f"{{%- macro strftime_now(format) -%}}{{{{ format{_FORMATS} }}}}{{%- endmacro -%}}"


class Chat:
    """The way of one tokenizer with conversations.

    `ends` are the tokens that end a turn; `opens` says whether the template opens a think block for the model;
    `folds` whether the template has no system role, so that its text goes before the first user message;
    `template_hash` stands for the template's text. `template_args` are variables that the template is given, such as
    `enable_thinking`.
    """

    def __init__(self, name: str, tokenizer: Any, template_args: Mapping[str, Any] | None = None) -> None:
        """Raises UnknownModel where the tokenizer has no chat template, UsageError for variables that are not free."""
        if not tokenizer.chat_template:
            raise UnknownModel(f"{name} has no chat template: it is no chat model. Give one that was tuned to chat.")
        self.name = name
        self.tokenizer = tokenizer
        self.template_hash = hashlib.sha256(tokenizer.get_chat_template().encode()).hexdigest()[:16]
        self.template_args = dict(template_args or {})
        if taken := sorted(NO_VARIABLES & self.template_args.keys()):
            raise UsageError(f"--template-args: {taken[0]} is set by maskbench. Leave it out.")
        self.folds = False
        self._template = _DATED + tokenizer.get_chat_template()
        self._control = _control_tokens(tokenizer)
        self._reader = _Reader(tokenizer, self._control) if self._control and tokenizer.is_fast else None
        self._kept = {id_ for id_ in tokenizer.all_special_ids if tokenizer.convert_ids_to_tokens(id_) not in THINK}
        self.folds = self._loses_system()
        rendered = self._render([Message("user", _PROBE)], answering=True)
        self.opens = re.search(r"<think>\s*$", rendered) is not None
        self.ends = self._ends()

    @cached_property
    def takes_tools(self) -> bool:
        """Whether the template writes calls of tools, and their results."""
        call = ToolCall("call00001", Function(f"{_PROBE}1", "{}"))
        result = ToolResult("tool", f"{_PROBE}2", call.id)
        turns = [Message("user", "a"), ToolCalls("assistant", "", (call,)), result, Message("user", "b")]
        try:
            rendered = self._render(turns, answering=True)
        except UsageError:
            return False
        return all(f"{_PROBE}{number}" in rendered for number in (1, 2))

    def prompt(self, messages: Sequence[Message]) -> list[int]:
        """The tokens up to where the model's answer begins; raises UsageError for what the template refuses."""
        if uses_tools(messages) and not self.takes_tools:
            raise UsageError(f"{self.name}: its chat template takes no tool calls. Add --tool-calls text.")
        return self.tokens(messages, answering=True)

    def tokens(self, messages: Sequence[Message], *, answering: bool) -> list[int]:
        """The tokens of a conversation; `answering` adds the head of the model's own turn."""
        if self._reader is None:
            return list(self.tokenizer.encode(self._render(messages, answering), add_special_tokens=False))
        return self._reader.read(self._render([_masked(turn, self._reader.mask) for turn in messages], answering))

    def text(self, tokens: Sequence[int]) -> str:
        """The text of an answer without control tokens, think tags apart, and without one leading space.

        Where a template ends right before the answer, that space is the tokenizer's.
        """
        kept = [token for token in tokens if token not in self._kept and token not in self.ends]
        text = self.tokenizer.decode(kept, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return str(text).removeprefix(" ")

    def _render(self, messages: Sequence[Message], answering: bool) -> str:
        from jinja2 import TemplateError

        sent = fold(messages) if self.folds and has_system(messages) else messages
        try:
            return str(
                self.tokenizer.apply_chat_template(
                    list(map(_for_template, sent)),
                    tools=declared(sent) if uses_tools(sent) else None,
                    tokenize=False,
                    add_generation_prompt=answering,
                    chat_template=self._template,
                    **{"date_string": DAY.strftime("%d %b %Y"), **self.template_args},
                )
            )
        except TemplateError as error:
            raise UsageError(f"{self.name}: its chat template refuses the conversation ({error}).") from None

    def _loses_system(self) -> bool:
        """Whether the template refuses a system message, or leaves it out (Gemma does the one, others the other)."""
        try:
            return _PROBE not in self._render([Message("system", _PROBE), Message("user", "a")], answering=True)
        except UsageError:
            return True

    def _ends(self) -> frozenset[int]:
        """The tokenizer's end of sequence, and the control token that the template puts after an assistant's turn."""
        ends = {self.tokenizer.eos_token_id} - {None}
        _, _, after = self._render([Message("user", "a"), Message("assistant", _PROBE)], False).partition(_PROBE)
        closing = [token for token in self._control if after.lstrip().startswith(token)]
        if closing:
            ends.add(self._control[max(closing, key=len)])
        return frozenset(ends)


def _masked(turn: Message, mask: Callable[[str], str]) -> Message:
    """The turn with its content and the arguments of its calls put through `mask`."""
    turn = replace(turn, content=mask(turn.content))
    if not isinstance(turn, ToolCalls):
        return turn
    functions = (replace(call.function, arguments=mask(call.function.arguments)) for call in turn.tool_calls)
    calls = (replace(call, function=each) for call, each in zip(turn.tool_calls, functions, strict=True))
    return replace(turn, tool_calls=tuple(calls))


def _for_template(turn: Message) -> Json:
    """The message as templates take it: the arguments of a call as a value, and no JSON."""
    plain = asdict(turn)
    for call in plain.get("tool_calls", ()):
        call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return plain


class _Reader:
    """Reads text in which control tokens go by secret names, as `mask` and `read` leave it."""

    def __init__(self, tokenizer: Any, control: Mapping[str, int]) -> None:
        from tokenizers import Tokenizer

        secret = secrets.token_hex(8)
        names = {token: f"\ue000{secret}x{place}\ue001" for place, token in enumerate(control)}
        self._names = names
        self._masks = {token: f"{secret}y{place}\ue001" for place, token in enumerate(control)}
        self._control = re.compile("|".join(re.escape(token) for token in sorted(control, key=len, reverse=True)))
        self._masked = re.compile("|".join(self._masks.values()))
        self._texts = {mask: token for token, mask in self._masks.items()}
        described = json.loads(tokenizer.backend_tokenizer.to_str())
        for added in described["added_tokens"]:
            added["content"] = names.get(added["content"], added["content"])
        described["post_processor"] = None  # it may name control tokens, and nothing is added here
        self._tokenizer = Tokenizer.from_str(json.dumps(described))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        # A renamed token gets a number of its own in the copy.
        self._ids = {self._tokenizer.token_to_id(names[token]): id_ for token, id_ in control.items()}

    def mask(self, text: str) -> str:
        """The text with each control token in it replaced by a word that the template carries along."""
        return self._control.sub(lambda match: self._masks[match[0]], text)

    def read(self, rendered: str) -> list[int]:
        """The tokens of a rendered template: its own control tokens as such, masked ones as text."""
        renamed = self._control.sub(lambda match: self._names[match[0]], rendered)
        plain = self._masked.sub(lambda match: self._texts[match[0]], renamed)
        return [self._ids.get(id_, id_) for id_ in self._tokenizer.encode(plain, add_special_tokens=False).ids]


def shared_start(first: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both begin with."""
    shorter = min(len(first), len(other))
    return next((at for at in range(shorter) if first[at] != other[at]), shorter)


def _control_tokens(tokenizer: Any) -> dict[str, int]:
    """What no message may forge: special tokens, and added ones that the template writes (DeepSeek's roles are such).

    Added tokens of white space are ordinary text (Gemma has them).
    """
    template = tokenizer.get_chat_template()
    return {
        added.content: id_
        for id_, added in sorted(tokenizer.added_tokens_decoder.items())
        if added.special or added.content in THINK or (added.content in template and not added.content.isspace())
    }
