"""What an index would show and people would install: links, licences, versions, and what the sdist holds."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
HOME = "https://github.com/maskbench/maskbench"


def description() -> str:
    """The long description as the build makes it of README.md."""
    text = (ROOT / "README.md").read_text("utf-8")
    for part in PROJECT["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(part["pattern"], part["replacement"], text)
    return text


def links(text: str) -> list[str]:
    """Where the links and pictures of a Markdown text lead."""
    return re.findall(r"\]\(([^)]+)\)", text)


def test_every_link_of_the_long_description_is_whole() -> None:
    """On an index there is no checkout beside the text; in the checkout the links stay short."""
    short, whole = links((ROOT / "README.md").read_text("utf-8")), links(description())
    assert len(short) == len(whole) > 15
    assert any(not link.startswith("https://") for link in short)
    for before, after in zip(short, whole, strict=True):
        assert after.startswith("https://")
        if not before.startswith("https://"):
            assert (ROOT / before.partition("#")[0]).exists()
            assert after.endswith(f"/main/{before}")
            assert ("raw.githubusercontent.com" in after) == before.endswith(".png")


def test_the_project_says_where_it_lives() -> None:
    """Home, documentation, changelog and issues, all in one place, which the citation names too."""
    urls = PROJECT["project"]["urls"]
    assert {"Homepage", "Documentation", "Changelog", "Issues"} <= set(urls)
    assert all(url.startswith(HOME) for name, url in urls.items() if "paper" not in name)
    assert f"repository-code: {HOME}\n" in (ROOT / "CITATION.cff").read_text("utf-8")


def test_the_citation_says_what_the_project_says() -> None:
    """Title, version, authors and licences are those of pyproject.toml, and the version is in the changelog."""
    text = (ROOT / "CITATION.cff").read_text("utf-8")
    stated = dict(re.findall(r"^(title|version): (.+)$", text, re.MULTILINE))
    about = PROJECT["project"]
    assert stated == {"title": about["name"], "version": about["version"]}
    licences = text.split("\nlicense:")[1].split("\nrepository-code")[0]
    assert re.findall(r"^  - (\S+)$", licences, re.MULTILINE) == about["license"].split(" AND ")
    assert [f"  - name: {author['name']}\n" in text for author in about["authors"]] == [True]
    assert version("maskbench") == about["version"]


def test_the_source_distribution_holds_all_that_is_tested() -> None:
    """Tests read docs, benchmarks, the white box and the changelog; whoever unpacks it has them, and nothing else."""
    included = PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    needed = ("src", "tests", "docs", "benchmarks", "whitebox", "CHANGELOG.md", "CITATION.cff", "LICENSE", ".ci")
    assert {f"/{name}" for name in needed} <= set(included)
    assert all((ROOT / name.lstrip("/")).exists() for name in included)


def test_what_a_page_says_to_install_comes_from_the_checkout() -> None:
    """No index has the package: `maskbench[...]` by name would find nothing, or another's. One form is on all pages."""
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    installed = [line for page in pages for line in re.findall(r"pip install [^`\n]*", page.read_text("utf-8"))]
    assert [line for line in installed if "maskbench" in line] == []
    ours = [line for line in installed if "'.[" in line]
    assert len(ours) > 5
    assert {line.partition("'.[")[0] for line in ours} == {"pip install -c constraints.txt -e "}


def test_the_white_box_goes_out_with_the_core() -> None:
    """Both packages have one version, which the second asks for, one list of Pythons and one licence of the code."""
    box = tomllib.loads((ROOT / "whitebox" / "pyproject.toml").read_text("utf-8"))["project"]
    core = PROJECT["project"]
    assert box["version"] == core["version"]
    assert f"maskbench=={core['version']}" in box["dependencies"]
    assert box["requires-python"] == core["requires-python"]
    assert (ROOT / "whitebox" / "LICENSE").read_text("utf-8") == (ROOT / "LICENSE").read_text("utf-8")


def test_hashes_are_of_the_versions_that_are_tested() -> None:
    """Each of the core's dependencies has a hash, at the version that constraints.txt gives."""
    pinned = {line.lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text("utf-8").splitlines()}
    hashed = re.findall(r"^([\w.-]+==[\w.]+)[^\n]* \\$", (ROOT / "hashes.txt").read_text("utf-8"), re.MULTILINE)
    assert {line.partition("==")[0] for line in hashed} >= {"numpy", "scipy", "cyclopts"}
    missing = {line for line in hashed if line not in pinned}
    assert {line.partition("==")[0] for line in missing} <= {"colorama", "httpx2-jsfetch"}  # of other systems alone
