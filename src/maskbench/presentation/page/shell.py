"""A page around its content: one file, no network, and a policy under which nothing runs that is not ours."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from maskbench.plain import visible
from maskbench.presentation.blocks import Inline, Words, seen, text_of
from maskbench.presentation.format import interval, stacked
from maskbench.presentation.page.charts import drawn
from maskbench.presentation.page.figure_files import values

_JOINT = re.compile(r"(?<=[/,=_])(?=[^\d\s])|(?<= )")
_WORD = 18  # letters that a title has room for on a phone
_CLOSES = re.compile(r"</|<!--")


@dataclass(frozen=True, slots=True)
class Document:
    """A whole page in parts, the large ones by themselves; `policy` is its security policy as a header takes it."""

    parts: tuple[str, ...]
    policy: str

    @property
    def html(self) -> str:
        """The page as one text."""
        return "".join(self.parts)


def document(
    title: str,
    body: Markup,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    *,
    allow: Mapping[str, str] | None = None,
    kind: str = "page",
    blocks: Mapping[str, str] | None = None,
) -> Document:
    """A page with this body under the shared look, `styles` and `scripts` standing in it by their hashes.

    `title` and whatever is not Markup is escaped. `allow` are further directives of the policy, as a served page
    needs them (`{"connect-src": "'self'"}`); `kind` is the body's class. `blocks` are large texts by the marks in whose
    place they stand, in this order. Raises ValueError for a style or a script that would end its own element.
    """
    sheets = (static("page.css"), *styles)
    scripts = (static("elements.js"), *scripts) if scripts else ()
    rules = policy(sheets, scripts, allow or {})
    html = (
        environment()
        .get_template("shell.jinja")
        .render(
            title=visible(title),
            body=body,
            kind=kind,
            policy=rules,
            styles=[Markup(_contained(sheet)) for sheet in sheets],  # noqa: S704  # ours, and checked
            scripts=[Markup(_contained(script)) for script in scripts],  # noqa: S704
        )
    )
    parts = tuple(_with_blocks(html, blocks or {}))
    return Document(parts, f"{rules}; frame-ancestors 'none'")  # a page itself cannot say that of its frames


def report(
    template: str,
    title: str,
    values: Mapping[str, object],
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    blocks: Mapping[str, str] | None = None,
) -> Document:
    """A page of sections with figures, which can be saved, from this template with these values; else as `document`."""
    body = environment().get_template(template).render(title=title, **values)
    return document(
        f"{title} – maskbench",
        Markup(body),  # noqa: S704  # templates escape
        (static("report.css"), *styles),
        (static("figures.js"), *scripts),
        allow={"img-src": "blob:"},  # figures.js draws a figure from one to save it as PNG
        kind="report",
        blocks=blocks,
    )


def _with_blocks(html: str, blocks: Mapping[str, str]) -> Iterator[str]:
    """The page with its blocks, which are never joined to it: one letter outside Latin 1 doubles a text's size."""
    for mark, block in blocks.items():
        before, _, html = html.partition(mark)
        yield before
        yield block
    yield html


def policy(styles: Sequence[str], scripts: Sequence[str], allow: Mapping[str, str]) -> str:
    """The content security policy of a page with these styles and scripts and no others."""
    directives = {
        "default-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
        "style-src": _hashes(styles),
        "script-src": _hashes(scripts),
        **allow,
    }
    return "; ".join(f"{name} {sources}" for name, sources in directives.items())


@lru_cache
def environment() -> Environment:
    """Templates of this package: everything is escaped, nothing may be missing, and None is printed as nothing."""
    templates = Environment(
        loader=PackageLoader("maskbench", "presentation/page/templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=lambda value: "" if value is None else value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    templates.filters["visible"] = visible
    templates.filters["words"] = words
    templates.filters["breakable"] = breakable
    templates.filters["linked"] = linked
    templates.filters["interval"] = interval
    templates.filters["drawn"] = drawn
    templates.filters["values"] = values
    templates.filters["seen"] = seen
    return templates


def words(text: Inline, letters: int | None = None) -> str:
    """The words with hidden characters shown, figures and their signs on one line.

    A run's name above figures stands over lines of so many letters.
    """
    if letters and isinstance(text, Words) and text.how == "name":
        return stacked(visible(text.text), letters)
    return visible(text_of(text), lines=True).replace(" %", "\u00a0%").replace("× ", "×\u00a0")


def linked(text: Inline) -> str:
    """The words, as a link to another place on the page where they lead to one."""
    if not isinstance(text, Words) or not text.link.startswith("#"):
        return breakable(text)
    return Markup('<a href="{}">{}</a>').format(text.link, words(text))


def breakable(text: Inline) -> str:
    """The words, of which a name breaks after its joints and nowhere else, so that no word of a title is broken."""
    name = Markup('<span class="joint">{}</span>')
    parts = _JOINT.split(words(text))
    return Markup("<wbr>").join(name.format(part) if "-" in part and len(part) < _WORD else part for part in parts)


@lru_cache
def static(name: str) -> str:
    """A file of presentation/page/static as text."""
    return (resources.files("maskbench") / "presentation" / "page" / "static" / name).read_text(encoding="utf-8")


def _hashes(texts: Sequence[str]) -> str:
    digests = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"


def _contained(text: str) -> str:
    if _CLOSES.search(text):
        raise ValueError("A style or a script may hold neither `</` nor `<!--`: write it another way.")
    return text
