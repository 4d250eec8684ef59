"""What the tests of sweeps share: a file, a server whose requests are counted, and how the runs stand."""

from __future__ import annotations

from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from chat_server import Body, ChatServer
from flows import Ended, command, environ, reply_to
from maskbench.store.bill import ledger_of
from maskbench.store.folder import RunFolder
from maskbench.sweeps.record import read_sweep
from maskbench.types import Judgement

SUBJECT, JUDGE = "openai-api/local/subject", "openai-api/local/judge"


def written(path: Path, rows: Path, text: str, **top: Any) -> Path:
    """A sweep's file with these scenarios, a judge, and what else it says."""
    above = "\n".join(f"{key.replace('_', '-')} = {orjson.dumps(value).decode()}" for key, value in top.items())
    path.write_text(
        f'{above}\n[every]\nscenarios = "{rows}"\nmodel = "{SUBJECT}"\nsend-seed = true\njudge = "{JUDGE}"\n{text}',
        "utf-8",
    )
    return path


def swept(file: Path, out: Path, server: ChatServer | None, *more: object) -> Ended:
    """`maskbench sweep` in this process."""
    return command("sweep", file, "--out", out, *more, env=environ(server))


def judging(body: Body) -> str | Judgement:
    """A reply; every model whose name holds judge gives verdicts."""
    return reply_to({**body, "model": "judge"} if "judge" in body["model"] else body)


def asked(server: ChatServer) -> Counter[str]:
    """How many requests each model had."""
    return Counter(body["model"] for body in server.bodies)


def twice(server: ChatServer) -> int:
    """How many requests came more than once."""
    keys = Counter(orjson.dumps(body, option=orjson.OPT_SORT_KEYS) for body in server.bodies)
    return sum(count - 1 for count in keys.values())


def states(out: Path) -> dict[str, str]:
    """How the runs of a sweep stand, by its record."""
    record = read_sweep(out)
    assert record is not None
    return {run.name: run.state for run in record.runs}


def asked_of(out: Path) -> Counter[str]:
    """The calls that all runs were answered, by stage."""
    counts: Counter[str] = Counter()
    for folder in (path for path in out.iterdir() if (path / "run.json").is_file()):
        with closing(RunFolder(folder).store()) as store:
            ledger = ledger_of(store)
            for row in ledger.rows if ledger else ():
                counts[row.stage] += row.calls
    return counts
