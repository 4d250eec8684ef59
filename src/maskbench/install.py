"""What installs the packages that an optional part needs, wherever maskbench runs."""

from __future__ import annotations

import re
import shlex
import sys


def install(*packages: str) -> str:
    """The command that installs packages for the very Python that runs maskbench."""
    return shlex.join((sys.executable, "-m", "pip", "install", *packages))


def extra(name: str) -> list[str]:
    """The packages that an extra of maskbench needs; maskbench itself is on no index."""
    from importlib.metadata import requires  # loading it takes long, and few commands say what to install

    wanted = re.compile(rf"""extra == ["']{name}["']""")
    return [each.partition(";")[0].strip() for each in requires("maskbench") or () if wanted.search(each)]
