"""How large an installation is, package by package: a table of megabytes for docs/install.md.

`python benchmarks/install_size.py` installs maskbench into an environment of its own, with nothing but what it needs,
and prints what each package takes on disk; `--write` puts the table into docs/install.md. `--extras report` adds
extras. What an empty environment has already (pip, setuptools) is not counted.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, distributions
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "install.md"
BEGIN, END = "<!-- install_size.py writes from here -->", "<!-- to here -->"
SHOWN = 5.0  # megabytes, from which a package has a row of its own


def of_package(package: Distribution) -> int:
    """Bytes of a package's files, compiled ones among them, in blocks as a disk keeps them."""
    files = {Path(str(package.locate_file(file))).resolve() for file in package.files or ()}
    compiled = {
        made for file in files if file.suffix == ".py" for made in file.parent.glob(f"__pycache__/{file.stem}.*")
    }
    return sum(file.lstat().st_blocks * 512 for file in files | compiled if file.is_file())


def measured(environment: Path) -> dict[str, float]:
    """Megabytes (10^6 bytes) by package."""
    (packages,) = environment.glob("lib/python*/site-packages")
    sizes = {
        f"{package.name} {package.version}": of_package(package) / 1e6
        for package in distributions(path=[str(packages)])
    }
    return {name: size for name, size in sizes.items() if name.partition(" ")[0] not in ("pip", "setuptools")}


def table(sizes: dict[str, float]) -> str:
    """The packages as Markdown, the largest first; small ones together."""
    small = [size for size in sizes.values() if size < SHOWN]
    rows = {name: size for name, size in sizes.items() if size >= SHOWN}
    rows[f"{len(small)} smaller packages"] = sum(small)
    lines = ["| package | MB |", "|---|---:|"]
    lines += [f"| {name} | {size:.0f} |" for name, size in sorted(rows.items(), key=lambda row: -row[1])]
    return "\n".join([*lines, f"| **in all** | **{sum(sizes.values()):.0f}** |"])


def installed(place: Path, extras: str) -> Path:
    """A fresh environment with maskbench in it, from a wheel, as its users have it."""
    environment = place / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    what = f"{ROOT}[{extras}]" if extras else str(ROOT)
    quiet = ("--quiet", "--disable-pip-version-check", "-c", str(ROOT / "constraints.txt"))
    subprocess.run([str(environment / "bin/python"), "-m", "pip", "install", *quiet, what], check=True)
    return environment


def main() -> None:
    """Install, measure, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--extras", default="", help="extras to install as well, separated by commas")
    parser.add_argument("--write", action="store_true", help="put the table into docs/install.md")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        text = table(measured(installed(Path(place), arguments.extras)))
    print(text)
    if arguments.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after.split(END)[1]}", encoding="utf-8")


if __name__ == "__main__":
    main()
