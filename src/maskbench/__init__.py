"""Does a language model say what it believes? The MASK method (Ren et al., arXiv:2503.03750), end to end."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from maskbench.interop.importing import import_run
    from maskbench.measurement import measure, measure_async
    from maskbench.models.scripted import ScriptedModel
    from maskbench.presentation.notebook import check, compare, leaderboard, score
    from maskbench.presentation.page.report_file import report
    from maskbench.results.frames import load
    from maskbench.results.score_rows import score_rows
    from maskbench.settings import Settings
    from maskbench.sweeps.sweeping import sweep

__version__: str
__all__ = [
    "ScriptedModel",
    "Settings",
    "__version__",
    "check",
    "compare",
    "import_run",
    "leaderboard",
    "load",
    "measure",
    "measure_async",
    "report",
    "score",
    "score_rows",
    "sweep",
]

_HOMES = {
    "ScriptedModel": "models.scripted",
    "Settings": "settings",
    "check": "presentation.notebook",
    "compare": "presentation.notebook",
    "import_run": "interop.importing",
    "leaderboard": "presentation.notebook",
    "load": "results.frames",
    "measure": "measurement",
    "measure_async": "measurement",
    "report": "presentation.page.report_file",
    "score": "presentation.notebook",
    "score_rows": "results.score_rows",
    "sweep": "sweeps.sweeping",
}


def __getattr__(name: str) -> Any:
    """Load a public name when it is first asked for, so that the command line starts fast."""
    if name == "__version__":
        from importlib.metadata import version

        return version("maskbench")
    if name not in _HOMES:
        raise AttributeError(f"module 'maskbench' has no attribute {name!r}")
    return getattr(import_module(f"maskbench.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """The public names alone, which a notebook completes before any of them was loaded."""
    return list(__all__)
