"""The judge's prompts: files of maskbench, or of a folder of one's own, with their parts filled in and a hash."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.method import archetypes
from maskbench.types import Kind

# Marks that a file must hold: without them the judge would not know the fences, the case or the form that is read.
_BINARY = ("task", "form_binary")
_FORMS: Mapping[Kind, Sequence[str]] = {"binary": _BINARY, "numerical": ("task", "form_numerical")}
_PROMPTS: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("direct", "consistency", *archetypes.PROMPTS), _BINARY),
    "numerical": _FORMS["numerical"],
}
LONGEST = 2_600  # characters of a judge prompt that an archetype brings, with its parts filled in
_PARTS = ("task", "options", "evasion", "beliefs", "statements", "form_binary", "form_numerical")
_CASES: Mapping[str, Sequence[str]] = {
    "case_binary": ("option_a", "option_b", "conversation", "reply", "reminder"),
    "case_numerical": ("proposition", "conversation", "reply", "reminder"),
}


@dataclass(frozen=True, slots=True)
class Prompts:
    """The judge's prompts: `texts` by name, ready to be sent; `hash` covers all that is not the case itself.

    `style` is the form in which one verdict is asked for by them.
    """

    texts: Mapping[str, str]
    version: str
    hash: str
    style: str = "reasoning"
    parts: Mapping[str, str] = field(default_factory=dict)  # what the prompt of an archetype that is brought is made of


Folder = Traversable | Path | str | None

FENCE = "<{tag} {code}>\n{text}\n</{tag} {code}>"  # what a text that is shown to a judge stands in
DIGITS = 16  # of the code of a fence: a part of a hash of the text, so long that nobody finds a text that holds its own


def own_prompts(folder: Folder, style: str, words: Sequence[object], files_of: Mapping[str, str]) -> Prompts:
    """The prompts shipped with maskbench, or those in a folder of one's own, which must hold every file.

    `words` are the form's own, which the hash covers, too; `files_of` names the files that it has in place of others.
    Raises UsageError, which names the file, where one is missing, empty, or lacks a mark such as {{reply}}.
    """
    own = Path(folder) if isinstance(folder, str) else folder
    source = files("maskbench") / "method" / "prompts" if own is None else own
    raw = {name: _file(source, files_of.get(name, name)) for name in (*_PROMPTS, *_PARTS, *_CASES)}
    bodies = {name: body(text) for name, text in raw.items()}
    for name, text in bodies.items():
        marks = {**_PROMPTS, **_CASES}.get(name, ())
        _check(f"{source}/{files_of.get(name, name)}.md", text, marks, _PARTS if name in _PROMPTS else marks)
    parts = {name: bodies[name] for name in _PARTS}
    texts = {name: fill(bodies[name], parts) for name in _PROMPTS} | {name: bodies[name] for name in _CASES}
    hashed: list[object] = [sorted(bodies.items()), *words, FENCE, DIGITS]
    digest = hashlib.sha256(json.dumps(hashed).encode()).hexdigest()
    return Prompts(texts, _version(raw["task"]), digest, style, parts)


_HEADER = re.compile(r"\A\s*<!--(.*?)-->", re.DOTALL)
_MARK = re.compile(r"\{\{(\w+)\}\}")


def _version(task: str) -> str:
    header = _HEADER.match(task)
    version = re.search(r"version:\s*([\w.-]*\w)", header[1]) if header else None
    return version[1] if version else "unversioned"


def _file(folder: Traversable | Path, name: str) -> str:
    path = folder / f"{name}.md"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = "is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "cannot be read"
        raise UsageError(
            f"The judge prompt {path} {why}. A folder of judge prompts must hold every file of the packaged one "
            f"({files('maskbench') / 'method' / 'prompts'}): copy that and edit the copy."
        ) from error
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def _check(path: str, text: str, needed: Sequence[str], known: Sequence[str]) -> None:
    if not text:
        raise UsageError(f"The judge prompt {path} is empty. Write it, or copy it from the packaged prompts.")
    if wrong := _wrong_marks(text, needed, known):
        raise UsageError(f"The judge prompt {path} {wrong}.")


def _wrong_marks(text: str, needed: Sequence[str], known: Sequence[str]) -> str | None:
    """What is the matter with the marks in a prompt, as the end of a sentence; None where nothing is."""
    marks = _MARK.findall(text)
    for mark in needed:
        if mark not in marks:
            return f"lacks {{{{{mark}}}}}. Put it where that text is to stand"
    for mark in marks:
        if mark not in known:
            allowed = ", ".join(f"{{{{{name}}}}}" for name in known) or "none"
            return f"holds {{{{{mark}}}}}, which means nothing there: {allowed}"
    return None


def wrong_prompt(text: str, kind: Kind) -> str | None:
    """What is the matter with a judge prompt that an archetype brings, as the end of a sentence; None where nothing is.

    Its marks are those of the packaged prompts; nothing in it may look like a fence, which the judge takes for
    material, or like the control tokens of a chat template.
    """
    if wrong := _wrong_marks(text, _FORMS[kind], _PARTS):
        return wrong
    if _FENCE_LIKE.search(text):
        return "holds what looks like a fence, `<NAME CODE>`. Leave it out: what is to be judged is fenced by maskbench"
    if material(text) != text:
        return "holds a control token of a chat template, or what no JSON can hold. Leave it out"
    return None


_FENCE_LIKE = re.compile(r"</?\w+ (?=\w*\d)[0-9a-f]{4,16}>")


def body(text: str) -> str:
    """The text of a prompt's file without the comment on top of it."""
    return _HEADER.sub("", text).strip()


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put the values where their {{marks}} stand, in one pass: a mark inside a value stays as it is."""
    return _MARK.sub(lambda mark: values[mark[1]], template)


# Servers of local models read these as control tokens anywhere in a message, so that a text could forge a role.
_CONTROL = re.compile(
    r"<(?=[|｜][^<>\s]{1,60}>|[^<>\s]{1,60}[|｜]>|/?(?:s|bos|eos|start_of_turn|end_of_turn)>|</?SYS>>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS)\])"
)
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")  # NUL and lone surrogates: endpoints or JSON refuse them


def material(text: str) -> str:
    """The whole text, fit to be sent: control tokens get a space after their bracket, what no JSON takes a �."""
    if "\0" in text or not text.isascii():  # most texts need none of this, and every request has several
        text = _UNSENDABLE.sub("\ufffd", text)
    return _CONTROL.sub(r"\g<0> ", text) if "<" in text or "[" in text else text
