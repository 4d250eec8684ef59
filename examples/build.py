"""Build the run folder of an example that has replies: `python examples/build.py qwen-1.5b runs/qwen-1.5b`.

What it does is what it prints: `maskbench import`, and `maskbench judge --from` for each set of verdicts. `run.toml` in
the example's folder says whose replies they are, and who read them. A folder of several arms becomes a run for each.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent


def typed(*words: str) -> None:
    """Print a line of maskbench, and do it; an error of it ends this, too."""
    sys.stderr.write(f"$ {shlex.join(['maskbench', *words])}\n")
    line = [sys.executable, "-m", "maskbench", *words]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL)  # noqa: S603  # words of the files beside this one


def build(example: Path, out: Path, maskbench: Callable[..., object] = typed) -> None:
    """Make the run `out` of the files of an example, or a run in it for each of the example's arms.

    `maskbench` does a line of it, whose words it is given.
    """
    if not (example / "run.toml").is_file():
        for arm in sorted(path.parent for path in example.glob("*/run.toml")):
            build(arm, out / arm.name, maskbench)
        return
    about = tomllib.loads((example / "run.toml").read_text("utf-8"))
    replies, subject = str(example / "replies.jsonl"), about["subject"]
    maskbench("import", replies, "--scenarios", about["scenarios"], "--subject", subject, "--out", str(out))
    for name, readings in about["verdicts"].items():
        maskbench("judge", str(out), "--from", str(example / readings["file"]), "--name", name, "--by", readings["by"])


if __name__ == "__main__":
    if len(sys.argv) != 3 or not (HERE / sys.argv[1]).is_dir():
        sys.exit(__doc__)
    try:
        build(HERE / sys.argv[1], Path(sys.argv[2]))
    except subprocess.CalledProcessError as error:
        sys.exit(error.returncode)
