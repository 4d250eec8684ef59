"""`maskbench-whitebox` in this process."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from unittest.mock import patch

from flows import Ended
from maskbench_whitebox.cli import main


def typed(*arguments: object) -> Ended:
    """What a line prints, and how it ends."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    with (
        patch.object(sys, "argv", ["maskbench-whitebox", *map(str, arguments)]),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
        except SystemExit as stopped:
            code = int(stopped.code or 0)
    return Ended(code, *(stream.buffer.getvalue().decode() for stream in (out, err)))
