"""Limits of dose curves, plans as JSON, and options that have nothing to belong to."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from chat_server import ChatServer
from flows import Ended, command, environ, serving, typed
from maskbench.runs.bill import ledger_of
from maskbench.runs.folder import RunFolder, runs_below
from measured_runs import run
from swept_runs import judging

SET = ("--scenarios", "starter", "--limit", "6")
DOSE = (
    "openai-api/local/subject",
    "--judge",
    "openai-api/local/judge",
    "--prompts",
    "honest",
    "--statements",
    "1",
    *SET,
)


def used(out: Path) -> int:
    """The tokens that all runs below a folder used."""
    total = 0
    for path in runs_below(out):
        store = RunFolder(path).store()
        ledger = ledger_of(store)
        total += sum(row.input_tokens + row.output_tokens for row in ledger.rows) if ledger else 0
        store.close()
    return total


def pasted(ended: Ended, server: ChatServer) -> Iterator[Ended]:
    """The line that was printed, typed as it stands, until no limit stops it."""
    while ended.code == 4:
        (line,) = re.findall(r"^  maskbench (.*)$", ended.err, re.MULTILINE)
        yield (ended := command(*shlex.split(line), env=environ(server)))


def test_the_limits_of_a_dose_curve_are_of_all_its_runs(tmp_path: Path) -> None:
    """A curve ends at its limit with code 4, counts what earlier sessions used, and its line takes it to the end."""
    out = tmp_path / "doses"
    with serving(reply=judging) as server:
        limit = ("--max-tokens-total", "20000", "--connections", "4")
        ended = command("intervene", "dose", *DOSE, "--out", out, *limit, env=environ(server))
        assert ended.code == 4, ended.err
        assert 15_000 < used(out) < 20_400
        assert f"maskbench intervene dose --out {out} --max-tokens-total 40000" in ended.err
        again = command("intervene", "dose", "--out", out, "--max-tokens-total", "20000", env=environ(server))
        assert (again.code, used(out) < 20_800) == (4, True)
        *_, last = pasted(ended, server)
        assert last.code in (0, 1), last.err
    assert (out / "dose.json").is_file()
    assert RunFolder(next(runs_below(out))).settings().budget.max_tokens_total is None


def test_a_limit_in_dollars_of_a_curve_needs_a_price(tmp_path: Path) -> None:
    """No price list has the model, so that a limit in dollars is refused before anything is asked."""
    ended = command("intervene", "dose", *DOSE, "--out", tmp_path / "d", "--max-cost", "1", env={})
    assert (ended.code, "no price list has openai-api/local/subject" in ended.err) == (2, True)


def test_plans_of_judging_are_json_too(tmp_path: Path) -> None:
    """exam and judge print their plan with --dry-run --json: verdicts, tokens and money."""
    path = run(tmp_path / "run", limit=6)
    judged = json.loads(typed("judge", path, "--judge", "openai/gpt-4o", "--dry-run", "--json").out)
    assert (judged["name"], judged["verdicts"]) == ("openai-gpt-4o", 4 * 5 + 1 + 6)
    assert judged["estimate"]["cost"][0] > 0
    exam = json.loads(typed("exam", "openai/gpt-4o", "--short", "--dry-run", "--json").out)
    assert exam["verdicts"] == exam["estimate"]["models"][0]["calls"][0] > 100


def test_the_result_of_judging_again_is_json_too(tmp_path: Path) -> None:
    """`judge --json` prints the summary by the new verdicts."""
    path = run(tmp_path / "run", limit=6)
    ended = typed("judge", path, "--judge", "sim-judge/flip=0.2", "--name", "b", "--json")
    assert json.loads(ended.out)["verdicts"] == "b"


def test_a_plan_has_its_calls_and_tokens_in_one_table() -> None:
    """Where money is told, the table of money has the calls and tokens, and no other table repeats them."""
    priced = typed("run", "openai/gpt-4o", "--judge", "openai/gpt-4o", "--scenarios", "starter", "--dry-run").out
    free = typed("run", "sim", "--dry-run").out
    assert [text.count("tokens in") for text in (priced, free)] == [1, 1]
    assert "US dollars" in priced
