"""Builds of the wheel: the JSON schemas of what maskbench writes lie in it as maskbench/schemas/."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# What a build may import lies where pip, uv or build has put it; this process knows where, and another one is told.
WRITE = """
import json, runpy, sys
sys.path[:] = json.loads(sys.argv.pop())
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


class SchemasHook(BuildHookInterface[Any]):
    """Has benchmarks/schemas.py write the schemas from the types, and puts them in."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Take them into a wheel; a checkout that is installed to be edited has none (`make schemas` writes them)."""
        if version == "editable":
            return
        root = Path(self.root)
        script, folder = root / "benchmarks" / "schemas.py", root / "build" / "schemas"
        with TemporaryDirectory() as place:  # the package asks for its version, and is not installed yet
            about = Path(place) / f"maskbench-{self.metadata.version}.dist-info"
            about.mkdir()
            (about / "METADATA").write_text(f"Name: maskbench\nVersion: {self.metadata.version}\n")
            paths = json.dumps([str(root / "src"), place, *sys.path])
            subprocess.run([sys.executable, "-I", "-S", "-c", WRITE, str(script), str(folder), paths], check=True)
        build_data["force_include"][str(folder)] = "maskbench/schemas"
