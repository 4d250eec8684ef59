"""Builds of the wheel: the JSON schemas of what maskbench writes lie in it as maskbench/schemas/."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class SchemasHook(BuildHookInterface[Any]):
    """Has benchmarks/schemas.py write the schemas from the types, and puts them in."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Take them into a wheel; a checkout that is installed to be edited has none (`make schemas` writes them)."""
        if version == "editable":
            return
        root = Path(self.root)
        folder = root / "build" / "schemas"
        with TemporaryDirectory() as place:  # the package asks for its version, and is not installed yet
            about = Path(place) / f"maskbench-{self.metadata.version}.dist-info"
            about.mkdir()
            (about / "METADATA").write_text(f"Name: maskbench\nVersion: {self.metadata.version}\n")
            # what the build may import lies wherever pip or uv has put it, which sys.path says
            environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(root / "src"), place, *sys.path))}
            script = root / "benchmarks" / "schemas.py"
            subprocess.run([sys.executable, str(script), str(folder)], check=True, env=environ)
        build_data["force_include"][str(folder)] = "maskbench/schemas"
