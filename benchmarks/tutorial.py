"""The tutorial with its outputs: every cell of docs/tutorial.ipynb run in a real kernel, and what came out stored.

`pip install nbclient ipykernel`, then `python benchmarks/tutorial.py` (half a minute; `--check` stores nothing). Cells
run in an empty folder, so that no path of this machine is printed; what differs from one time to the next, apart from
the time itself, is left out of the file.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parents[1] / "docs" / "tutorial.ipynb"
SECONDS = 300  # for one cell


def executed(path: Path) -> dict[str, Any]:
    """The notebook as run in a kernel of this Python; raises what a cell raises."""
    import nbformat  # type: ignore[import-not-found,unused-ignore]
    from nbclient import NotebookClient  # type: ignore[import-not-found,unused-ignore]

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "examples").symlink_to(NOTEBOOK.parents[1] / "examples")
        notebook = nbformat.reads(path.read_text("utf-8"), as_version=4)
        client = NotebookClient(notebook, timeout=SECONDS, resources={"metadata": {"path": folder}})
        client.execute()
        if folder in nbformat.writes(notebook):
            raise SystemExit(f"A cell prints {folder}, which is a path of this machine.")
    content: dict[str, Any] = json.loads(nbformat.writes(notebook))
    return content


def tidy(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook without times and without the name and version of the kernel."""
    for cell in notebook["cells"]:
        cell["metadata"] = {}
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return notebook | {"metadata": {"kernelspec": kernel, "language_info": {"name": "python"}}}


def main() -> None:
    """Run the notebook and store it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="run the cells and store nothing")
    arguments = parser.parse_args()
    tidied = tidy(executed(NOTEBOOK))
    if not arguments.check:
        NOTEBOOK.write_text(json.dumps(tidied, indent=1, ensure_ascii=False) + "\n", "utf-8")
    print(f"{sum(bool(cell.get('outputs')) for cell in tidied['cells'])} cells have outputs.")


if __name__ == "__main__":
    main()
