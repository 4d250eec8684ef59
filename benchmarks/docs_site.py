"""The site: the pages of docs/ as they stand, and a reference made from options, docstrings and schemas.

python benchmarks/docs_site.py            build it into build/site; any warning ends it with exit code 1 (`make docs`)
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import schemas
from maskbench.cli import app
from maskbench.presentation.page.page import render

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
DOOR = DOCS / "README.md"  # its lists are the table of contents
PROJECT = DOCS / "project"  # pages for those who change maskbench, which are not on the site
SOURCE, SITE = ROOT / "build" / "site-source", ROOT / "build" / "site"
REPORT = "real-run.html"
HOME = "https://github.com/maskbench/maskbench/blob/main"
LINK = re.compile(r"(?<=\]\()([^)\s]+)(?=\))")
FENCE = re.compile(r"^```.*?^```$|^~~~.*?^~~~$", re.MULTILINE | re.DOTALL)
REMOTE = re.compile(r"<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=\"(?:https?:)?//[^\"]*\"")

# What furo and Sphinx leave out for readers who use a screen reader or the keyboard, and how it is put in.
MENDS = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="All pages">',
    '<div class="table-wrapper ': '<div tabindex="0" class="table-wrapper ',
}
# The reference that is made, in its order: a page of the site, its line on the door.
MADE = {
    "reference/commands.md": "Commands: every command with all of its options",
    "reference/python.md": "Python functions and values: every public function and value, from the docstrings",
    "reference/files.md": "File formats: every field of every file and JSON output",
    "reference/tutorial.md": "Tutorial in Python: a notebook that runs without key and network, with its output",
}
PYTHON = {  # what docs/api.md calls public, by where it stands
    "maskbench": (
        "measure",
        "measure_async",
        "import_run",
        "score",
        "score_rows",
        "check",
        "leaderboard",
        "load",
        "report",
        "compare",
        "Settings",
        "ScriptedModel",
        "sweep",
    ),
    "maskbench.interop.imported": ("Imported",),
    "maskbench.sweeps.sweeping": ("Swept",),
    "maskbench.sweeps.sweep_plan": ("Task",),
    "maskbench.settings": ("Design", "Subject", "Mark", "Judging", "Pace", "Budget"),
    "maskbench.results.scored": ("Result",),
    "maskbench.results.score_rows": ("ScoredRows",),
    "maskbench.stats.figures": ("Share",),
    "maskbench.results.frames": ("Run",),
    "maskbench.results.comparison": ("Comparison",),
    "maskbench.presentation.notebook": ("ShownCheck", "ShownPage"),
    "maskbench.results.gate": ("check_run", "Limits", "Check", "Condition"),
    "maskbench.results.leaderboard": ("boards", "gaps", "Board", "BoardRow"),
    "maskbench.results.scaling": ("scaling", "Compute"),
    "maskbench.results.published": ("figures", "PublishedFigure"),
    "maskbench.results.people.labelled_outcomes": ("Label",),
    "maskbench.scenarios": ("load", "open_set", "validate"),
}
WHOLE = ("maskbench.types", "maskbench.errors")  # modules all of whose classes are public


class BrokenPage(Exception):
    """What stops the build: it names the page and what is the matter with it."""


def main() -> None:
    """Put the source together, have Sphinx build it without a warning, and check what was built."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    put_together(SOURCE)
    sphinx = [sys.executable, "-m", "sphinx", "--builder", "html", "--fail-on-warning", "--keep-going", "--quiet"]
    subprocess.run([*sphinx, "--doctree-dir", str(ROOT / "build" / "site-trees"), str(SOURCE), str(SITE)], check=True)
    for path in SITE.rglob("*.html"):
        path.write_text(mended(path.read_text("utf-8")), "utf-8")
    if remote := fetched(SITE):
        raise BrokenPage(f"The site would fetch from elsewhere: {', '.join(remote)}")
    print(f"{len(list(SITE.rglob('*.html')))} pages, no warning: {SITE.relative_to(ROOT)}/index.html")


def put_together(folder: Path) -> None:
    """Every page, picture and schema of docs/ in a folder, with the pages that are made."""
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("*.md", "project", "__pycache__"))
    schemas.write(folder / "schemas")
    for path in sorted(DOCS.glob("*.md")):
        if path != DOOR:
            (folder / path.name).write_text(page(path), "utf-8")
    pages = {"index.md": door(), **dict(zip(MADE, (commands(), python(), files(), tutorial()), strict=True))}
    for name, text in pages.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    put_report(folder / "extra")


def put_report(folder: Path) -> None:
    """The report of a real run with every reply, as a page of the site: of the example that has texts."""
    folder.mkdir()
    with tempfile.TemporaryDirectory() as place:
        run = Path(place) / "run"
        subprocess.run([sys.executable, str(ROOT / "examples" / "build.py"), "qwen-1.5b", str(run)], check=True)
        (folder / REPORT).write_text(render([run]).html, "utf-8")


def page(path: Path) -> str:
    """A page as it stands, with links that leave the site led to the repository.

    Raises BrokenPage for a link to a file that is not there.
    """
    return LINK.sub(lambda link: led(path, link[0]), path.read_text("utf-8"))


def led(path: Path, link: str) -> str:
    """Where a link of a page leads on the site."""
    target, mark, anchor = link.partition("#")
    if "://" in link or not target or target.startswith("mailto:"):
        return link
    file = (path.parent / target).resolve()
    if not file.exists():
        raise BrokenPage(f"{path.relative_to(ROOT)}: {link} leads to no file.")
    if file == DOOR:
        return f"index.md{mark}{anchor}"
    if file.is_relative_to(DOCS) and not file.is_relative_to(PROJECT):
        return "reference/files.md" if file.is_dir() else link
    return f"{HOME}/{file.relative_to(ROOT).as_posix()}{mark}{anchor}"


def door() -> str:
    """The first page: that of docs/ for readers of the site, with the made reference, and the table of contents."""
    listed = "\n".join(f"- [{line.partition(':')[0]}]({name}):{line.partition(':')[2]}" for name, line in MADE.items())
    link = f'<a href="{REPORT}">The report of a small model that maskbench asked</a>'
    opened = f"<p>{link} is a page of this site, with every reply.</p>"
    whole = re.sub(r"<!-- not on the site -->.*?<!-- end -->\n+", "", page(DOOR), flags=re.DOTALL)
    text = re.sub(r"(?<=\n## Reference\n\n)", f"{listed}\n", whole)
    return "\n\n".join((text.rstrip(), opened, *map(contents, sections(text))))


def sections(text: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The headings of the first page, each with title and page of every line of its list."""
    for part in text.split("\n## ")[1:]:
        if pages := re.findall(r"^- \[([^\]]+)\]\(([^)#]+\.md)\)", part, re.MULTILINE):
            yield part.partition("\n")[0], pages


def contents(section: tuple[str, list[tuple[str, str]]]) -> str:
    """A section's pages as the site's table of contents has them."""
    caption, pages = section
    entries = "\n".join(f"{title} <{name.removesuffix('.md')}>" for title, name in pages)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{entries}\n```"


def commands() -> str:
    """Every command with its options, as Cyclopts writes the application down, with the usage that help shows."""
    text = app(in_full=True).generate_docs(heading_level=1)
    _, _, rest = text.partition("\n## maskbench run\n")
    text = re.sub(r"^(maskbench )((?:[\w-]+ )+?)\2", r"\1\2", f"## maskbench run\n{rest}", flags=re.MULTILINE)
    text = text.partition("\n## maskbench --install-completion")[0]
    text = re.sub(r"^(\* `[^`]+`)(: .*)$", lambda line: line[1] + plain(line[2]), text, flags=re.MULTILINE)
    return (
        "# Commands\n\nThis page is made from the program. A terminal shows the same by `maskbench COMMAND --help`; "
        "where that help is short, `--help-all` has every option.\n\n" + text
    )


def plain(text: str) -> str:
    """A line in which only the default is marked up."""
    text, mark, default = text.partition(" *[default:")
    return escaped(text) + (f" (default:{escaped(default.removesuffix(']*'))})" if mark else "")


def escaped(text: str) -> str:
    """Text in which Markdown finds no markup but code between backticks."""
    return re.sub(r"(`[^`]*`)|([*<>_])", lambda piece: piece[1] or f"\\{piece[2]}", text)


def python() -> str:
    """The public names with their docstrings, for autodoc to fill in."""
    named = "\n".join(directive(home, name) for home, names in PYTHON.items() for name in names)
    whole = "\n".join(
        f".. rubric:: {module}\n\n.. automodule:: {module}\n   :members:\n   :undoc-members:\n" for module in WHOLE
    )
    return (
        "# Python: functions and values\n\nThis page is made from the docstrings. [Python](../api.md) has examples "
        f"and says which module holds what.\n\n```{{eval-rst}}\n{named}\n{whole}```\n"
    )


def directive(home: str, name: str) -> str:
    """What autodoc is told of one public name."""
    if name[0].isupper():
        return f".. autoclass:: {home}.{name}\n   :members:\n   :undoc-members:\n"
    return f".. autofunction:: {home}.{name}\n"


def files() -> str:
    """The fields of every file and output, a table for each type of each schema."""
    parts = [
        "# File formats",
        "This page is made from the JSON schemas, which lie beside the pages of the site and in the package. "
        "[Results](../results.md) explains what the fields mean.",
    ]
    for name in sorted(schemas.TYPES):
        told = json.loads(schemas.schema(schemas.TYPES[name]))
        parts += [f"## {name}", f"[The schema](../schemas/{name}.schema.json)", *types(told)]
    return "\n\n".join(parts) + "\n"


def types(schema: dict[str, Any]) -> Iterator[str]:
    """Each type of a schema: its name and sentence, and its fields."""
    for name, kind in schema["$defs"].items():
        if "properties" in kind:
            rows = [f"| `{field}` | {shape(each)} |" for field, each in kind["properties"].items()]
            table = "\n".join(("| field | type |", "|---|---|", *rows))
            yield f"**{name}.** {escaped(kind.get('description', ''))}\n\n{table}"


def shape(kind: dict[str, Any]) -> str:
    """A type of a JSON schema in words."""
    match kind:
        case {"$ref": str(name)}:
            return name.rpartition("/")[2]
        case {"anyOf": list(kinds)}:
            return " or ".join(map(shape, kinds))
        case {"enum": list(values)}:
            return " or ".join(f"`{json.dumps(value)}`" for value in values)
        case {"type": "array", "prefixItems": list(kinds)}:
            return f"list of {', '.join(map(shape, kinds))}"
        case {"type": "array", "items": dict(item)}:
            return f"list of {shape(item)}"
        case {"type": "object", "additionalProperties": dict(item)}:
            return f"object of {shape(item)} by name"
        case {"type": str(name)}:
            return {"integer": "whole number", "boolean": "true or false", "string": "text"}.get(name, name)
    return "anything"


def mended(html: str) -> str:
    """A page in which captions have a level, the list of pages a name, and wide tables can be scrolled by keyboard."""
    for before, after in MENDS.items():
        html = html.replace(before, after)
    return html


def tutorial() -> str:
    """The notebook of docs/ as a page: its texts, its code, and the text of what that printed."""
    cells = json.loads((DOCS / "tutorial.ipynb").read_text("utf-8"))["cells"]
    text = "\n\n".join(part for cell in cells for part in told(cell))
    return LINK.sub(lambda link: within(led(DOCS / "tutorial.ipynb", link[0])), text) + "\n"


def told(cell: dict[str, Any]) -> Iterator[str]:
    """A cell as Markdown; of several forms of one output the text."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        if text := "".join(output.get("text", output.get("data", {}).get("text/plain", ()))):
            yield f"```text\n{text.rstrip()}\n```"


def within(link: str) -> str:
    """A link of a page of docs/ as one from the folder of the reference."""
    return link if "://" in link or link.startswith("#") else f"../{link}"


def fetched(site: Path) -> list[str]:
    """What a browser would fetch from elsewhere to show the site, by page."""
    return [
        f"{path.relative_to(site)}: {match}"
        for path in sorted(site.rglob("*.html"))
        for match in REMOTE.findall(path.read_text("utf-8"))
    ]


if __name__ == "__main__":
    try:
        main()
    except BrokenPage as error:
        sys.exit(str(error))
    except subprocess.CalledProcessError:
        sys.exit("The site has warnings: see above.")
