"""What the white box knows of the core: its doors, its values, and the world of pinocchio."""

import ast
from collections.abc import Iterator
from pathlib import Path

import maskbench_whitebox

ROOT = Path(maskbench_whitebox.__file__).parent
DOORS = {"maskbench", "maskbench.doors", "maskbench.errors", "maskbench.settings", "maskbench.types"}
WORLD = "maskbench.scenarios.pinocchio"  # of which directions and adapters are learned
LEARNERS = {"steering/contrast.py", "lorra/texts.py"}


def imports(path: Path) -> Iterator[str]:
    """The modules of the core that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [name.name for name in node.names] if isinstance(node, ast.Import) else []
        yield from (name for name in names if name.partition(".")[0] == "maskbench")


def test_the_core_is_known_by_its_doors() -> None:
    """Nothing else of it is imported, so that the core may move all that stands behind them."""
    modules = {str(path.relative_to(ROOT)): set(imports(path)) for path in ROOT.rglob("*.py")}
    wrong = {name: known - DOORS for name, known in modules.items()}
    assert len(modules) > 15
    assert {
        name: others
        for name, others in wrong.items()
        if {other for other in others if name not in LEARNERS or not other.startswith(WORLD)}
    } == {}
