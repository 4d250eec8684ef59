"""The session that asked for each stored reply and verdict: a number into the record's sessions."""

import sqlite3
from contextlib import closing
from pathlib import Path

from maskbench.asking.judging.judge_again import judge
from maskbench.measurement import measure
from maskbench.results.scored import result
from maskbench.store.folder import RunFolder
from measured_runs import change, edit, run


def sessions(path: Path, table: str, where: str = "1") -> dict[int | None, int]:
    """How many rows each session has asked for; None: no session of this record."""
    with closing(sqlite3.connect(path / "run.sqlite")) as database:
        query = f"SELECT session, count(*) FROM {table} WHERE {where} GROUP BY 1"  # noqa: S608  # ours
        return dict(database.execute(query).fetchall())


def test_each_session_has_its_replies_and_verdicts(tmp_path: Path) -> None:
    """What a second session asks for is its own; the rest stays with the first."""
    path = run(tmp_path / "run", limit=6)
    replies, verdicts = sessions(path, "replies"), sessions(path, "verdicts")
    assert replies.keys() == verdicts.keys() == {1}
    change(path, "DELETE FROM replies WHERE elicitation = 0")
    change(path, "DELETE FROM judged WHERE elicitation = 0")
    change(path, "DELETE FROM verdicts WHERE key NOT IN (SELECT key FROM judged)")
    measure(path)
    assert sessions(path, "replies", "elicitation = 0") == {2: 6}
    assert sessions(path, "replies", "elicitation > 0") == {1: replies[1] - 6}
    assert sessions(path, "verdicts").keys() == {1, 2}
    assert len(RunFolder(path).read().sessions) == 2


def test_a_set_counts_its_own_sessions(tmp_path: Path) -> None:
    """Verdicts of another set are numbered by that set's sessions; what it takes over has none."""
    path = run(tmp_path / "run", limit=6)
    measured = RunFolder(path).settings()
    judge(RunFolder(path), measured.having(judge_numbers="apart"), "apart", {})
    assert sessions(path, "verdicts", "verdict_set = 'apart'").keys() == {None, 1}
    assert len(RunFolder(path).read().verdict_sets["apart"].sessions) == 1


def test_a_run_judged_by_other_prompts_is_not_judged_again(tmp_path: Path) -> None:
    """A complete run of another version started again is asked nothing, and its verdicts stay as they are."""
    path = run(tmp_path / "run", limit=6)
    before, record = result(path).rates, RunFolder(path).record()
    edit(path, maskbench="0.3.0", prompts={**record["prompts"], "hash": "0" * 64})
    for table in ("verdicts", "judged"):
        change(path, f"UPDATE {table} SET key = x'00' || substr(key, 2)")  # noqa: S608  # ours
    measure(RunFolder(path).settings(), path, {})
    assert sessions(path, "verdicts").keys() == {1}
    assert result(path).rates == before
