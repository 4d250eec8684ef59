"""The pages of docs/ and their site: each has its place, links lead somewhere, the reference is the program's own."""

import ast
import importlib
import inspect
import json
import re
from pathlib import Path
from typing import Any

import pytest

import maskbench
import schemas
from maskbench.cli import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
WHITE_BOX = tuple(
    ROOT / "whitebox" / name for name in ("README.md", "benchmarks/demonstration.md", "organism/README.md")
)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.glob("**/*.md")), *WHITE_BOX]
site: Any = importlib.import_module("benchmarks.docs_site")  # a script, typed under that name alone


def prose(path: Path) -> str:
    """A page without its fenced blocks."""
    return str(site.FENCE.sub("", path.read_text("utf-8")))


def anchors(path: Path) -> set[str]:
    """What can follow `#` in a link to a page: its headings in small letters, signs left out, spaces as hyphens."""
    headings = re.findall(r"^#+ (.+)$", prose(path), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# Places and links


def leads(path: Path, link: str) -> bool:
    """Whether a link of a page leads to a file that is there, and what follows `#` to a heading of it."""
    target, _, anchor = link.partition("#")
    file = (path.parent / target).resolve() if target else path
    return "://" in link or (file.exists() and (not anchor or anchor in anchors(file)))


def test_every_link_leads_somewhere() -> None:
    """A link to a file leads to one that is there, and what follows `#` is a heading of that page."""
    links = [(path, link) for path in PAGES for link in site.LINK.findall(prose(path))]
    assert len(links) > 100
    assert [f"{path.name}: {link}" for path, link in links if not leads(path, link)] == []
    assert not leads(PAGES[0], "nowhere.md")
    assert not leads(PAGES[0], "docs/README.md#nowhere")


NAMED = re.compile(r"(?<![\w./-])docs/[\w/-]+\.(?:md|ipynb|csv|yaml)")


def test_every_page_that_code_names_is_there() -> None:
    """Messages, docstrings and comments lead to pages that exist; projects made for logs have pages of their own."""
    gone = {
        f"{path.relative_to(ROOT)}: {name}"
        for folder in ("src", "tests", "tests_outside", "benchmarks", "whitebox", "examples", ".github", ".ci")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".toml", ".yml", ".sh", ".js", ".ipynb"} and "__pycache__" not in path.parts
        if "said_and_did" not in path.parts
        for name in NAMED.findall(path.read_text("utf-8"))
        if not (ROOT / name).exists()
    }
    assert gone == set()


def test_the_glossary_has_words_that_other_pages_use() -> None:
    """Some 40 words, each of which stands on another page."""
    words = re.findall(r"^\| ([^|]+) \|", (DOCS / "glossary.md").read_text("utf-8"), re.MULTILINE)[1:]
    others = [path.read_text("utf-8").lower() for path in PAGES if path.name != "glossary.md"]
    known = [each.strip("()").lower() for word in words if word != "---" for each in re.split(r", | (?=\()", word)]
    assert 35 <= len(known) <= 50
    assert [each for each in known if not any(each in text for text in others)] == []


def test_every_page_has_one_place() -> None:
    """The door's lists name every page of docs/ once; what is not there would be on no menu."""
    named = [page for _, pages in site.sections(site.DOOR.read_text("utf-8")) for _, page in pages]
    assert sorted(named) == sorted(path.name for path in DOCS.glob("*.md") if path != site.DOOR)


def test_the_door_has_the_five_parts_that_readers_look_for() -> None:
    """Start here, how to, understand, reference."""
    text = site.DOOR.read_text("utf-8")
    assert all(f"\n## {part}\n" in text for part in ("Start here", "How to", "Understand", "Reference"))


def test_the_site_puts_what_it_makes_before_the_pages_of_reference() -> None:
    """Commands, Python and file formats are on the first page and in the table of contents."""
    text = site.door()
    contents = text.split(":caption: Reference")[1].split("```")[0]
    for name in site.MADE:
        assert f"]({name})" in text
        assert f"<{name.removesuffix('.md')}>" in contents


def test_the_site_does_not_say_how_it_is_built() -> None:
    """What is for readers of the repository alone is on its page and not on the site's."""
    assert "make docs" in site.DOOR.read_text("utf-8")
    assert "make docs" not in site.door()
    assert "<!--" not in site.door()


def test_no_two_entries_of_the_reference_have_one_title() -> None:
    """The menu tells examples in Python from the functions."""
    titles = re.findall(r"^(.+) <.+>$", site.door().split(":caption: Reference")[1].split("```")[0], re.MULTILINE)
    assert len(titles) == len(set(titles)) == 5


def test_a_link_to_nowhere_stops_the_build(tmp_path: Path) -> None:
    """The page and the link are named."""
    with pytest.raises(site.BrokenPage, match=r"docs/results\.md: nowhere\.md leads to no file"):
        site.led(DOCS / "results.md", "nowhere.md")


@pytest.mark.parametrize(
    ("link", "expected"),
    [
        ("judges.md#correction", "judges.md#correction"),
        ("#correction", "#correction"),
        ("https://arxiv.org/abs/2503.03750", "https://arxiv.org/abs/2503.03750"),
        ("../CONTRIBUTING.md", f"{site.HOME}/CONTRIBUTING.md"),
        ("project/performance.md", f"{site.HOME}/docs/project/performance.md"),
        ("README.md", "index.md"),
    ],
)
def test_links_lead_on_from_the_site(link: str, expected: str) -> None:
    """Pages link to pages; what is outside of docs/ is read in the repository."""
    assert site.led(DOCS / "results.md", link) == expected


def test_a_page_that_fetches_something_is_noticed(tmp_path: Path) -> None:
    """Scripts, styles, pictures and frames from elsewhere are; links that a reader may follow are not."""
    (tmp_path / "a.html").write_text('<a href="https://example.org">x</a><script src="https://cdn.example/x.js">')
    (tmp_path / "b.html").write_text('<link rel="stylesheet" href="style.css"><img src="//cdn.example/x.png">')
    assert [line.partition(":")[0] for line in site.fetched(tmp_path)] == ["a.html", "b.html"]


def test_the_theme_is_mended_for_keyboard_and_screen_reader() -> None:
    """Captions get their level, the list of pages its name, and a wide table a place in the order of the tab key."""
    page = '<aside class="sidebar-drawer"><p class="caption" role="heading"></p></aside><div class="table-wrapper x">'
    mended = site.mended(page)
    assert all(f" {mend}" in mended for mend in ('aria-label="All pages"', 'aria-level="2"', 'tabindex="0"'))


# The reference


def test_every_command_and_option_is_in_the_reference() -> None:
    """Whoever adds an option has its page; usage lines name a command once."""
    text, whole = site.commands(), app(in_full=True)
    names = [name for name in whole if not name.startswith("-")]
    assert len(names) > 10
    for name in names:
        part = text.split(f"\n## maskbench {name}\n")[1].split("\n## ")[0]
        assert f"maskbench {name} {name}" not in part
        inside = [inner for inner in whole[name] if not inner.startswith("-")]
        for command in [whole[name][inner] for inner in inside] or [whole[name]]:
            declared = command.assemble_argument_collection(parse_docstring=False)
            every = [argument.name for argument in declared if argument.names and argument.name[0] == "-"]
            assert all(f"* `{option}" in part for option in every), command.name


def test_an_option_with_signs_is_text() -> None:
    """`<time>` is no tag and `step_*` begins no emphasis; code between backticks stays as it is."""
    assert site.plain("In `a_b`, 'x_*' or <y>. *[default: <z>]*") == (r"In `a_b`, 'x\_\*' or \<y\>. (default: \<z\>)")


def test_every_public_name_is_in_the_reference() -> None:
    """What the package gives, what tests/data/public_fields.md lists as values, and nothing that is not there."""
    listed = {f"{home}.{name}" for home, names in site.PYTHON.items() for name in names}
    assert {f"maskbench.{name}" for name in maskbench.__all__ if not name.startswith("_")} <= listed
    told = re.findall(
        r"^\| `(maskbench\.[\w.]+\.[A-Z]\w+)` \|",
        (ROOT / "tests" / "data" / "public_fields.md").read_text("utf-8"),
        re.MULTILINE,
    )
    assert len(told) > 15
    assert {name for name in told if not name.startswith(site.WHOLE)} <= listed
    for home, names in site.PYTHON.items():
        for name in names:
            assert inspect.getdoc(getattr(importlib.import_module(home), name)), name


def test_every_field_of_every_file_is_in_the_reference() -> None:
    """Each type of each schema has its table; a choice, a list and a reference are told in words."""
    text = site.files()
    assert text.count("\n## ") == len(schemas.TYPES)
    assert "| `complete` | true or false |" in text
    assert "| `withheld` | text or null |" in text
    assert "| `notes` | list of text |" in text
    assert "| `lying_at` | object of Share by name |" in text
    assert "{'" not in text


def test_the_tutorial_is_a_page() -> None:
    """Every cell with code is there, in order, with what it printed; links lead out of the reference's folder."""
    text = site.tutorial()
    cells = json.loads((DOCS / "tutorial.ipynb").read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    places = [text.index(f"```python\n{source}\n```") for source in sources]
    assert places == sorted(places)
    assert text.count("```text\n") > 3
    assert site.within("judges.md#correction") == "../judges.md#correction"


# Words


def messages() -> list[str]:
    """Every text that the packages can print, with `…` for what is put in."""
    texts = []
    for path in (*Path(maskbench.__file__).parent.rglob("*.py"), *(ROOT / "whitebox" / "src").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.JoinedStr):
                texts.append(
                    "".join(str(part.value) if isinstance(part, ast.Constant) else "…" for part in node.values)
                )
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                texts.append(node.value)
    return texts


def test_every_message_of_troubleshooting_is_one() -> None:
    """A message that was worded anew is worded anew on the page, too: readers search for it."""
    page = (DOCS / "troubleshooting.md").read_text("utf-8")
    quoted = re.findall(r"^\| `([^`]+)` \|", page, re.MULTILINE)
    assert len(quoted) >= 8
    printed = "\n".join(" ".join(text.split()) for text in messages())
    for message in quoted:
        pieces = [piece.strip() for piece in message.strip("…").split("…")]
        pattern = ".{0,200}?".join(map(re.escape, pieces))
        assert re.search(pattern, printed), message


def test_no_table_loses_its_head() -> None:
    """A blank line in a table cuts off the rows behind it: every block of rows has a head and a rule."""
    blocks = []
    for page in PAGES:
        text = re.sub(r"^(```|~~~).*?^\1$", "", page.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        blocks += re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    assert len(blocks) > 50
    assert [block for block in blocks if not re.match(r".*\n\|[-:| ]+\|\n", block)] == []
