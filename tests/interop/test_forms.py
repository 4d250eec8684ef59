"""Every form in which a run goes out stands in the help and in one table, with whether texts are in it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

from flows import typed
from maskbench.types import RowForm

TABLE = (Path(__file__).parents[2] / "docs" / "results.md").read_text("utf-8").split("## What goes out")[1]


def test_help_and_table_name_every_form() -> None:
    """Who reads either knows all of them, and which hold texts: those for oneself do, no other does by itself."""
    told = typed("export", "--help").out
    rows = re.findall(r"^\| .* \| (.*?) \| `export RUN --format ([\w-]+)", TABLE, re.MULTILINE)
    assert {form for _, form in rows} == {*get_args(RowForm), "run", "markdown"}
    for text, form in rows:
        assert form in told
        assert (text == "yes") == (form in get_args(RowForm))
