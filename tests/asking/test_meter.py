"""What a run costs: counted as the endpoints report it, kept with the run, and stopped at a limit."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec
import pytest

from chat_server import Answer, Body, completion, every
from flows import MODELS, PROMPTS, Ended, command, environ, in_file, reply_to, serving, settings, six_files
from maskbench.asking.meter import Meter, known_prices
from maskbench.errors import BudgetReached, RunUnreadable, UsageError
from maskbench.measurement import measure
from maskbench.models.chat import wire
from maskbench.results.readers import BillReader
from maskbench.results.scored import result
from maskbench.settings import Budget, Settings, protocol_id
from maskbench.store.bill import Bill, BillRow, Ledger, bill_of, dollars, ledger_of
from maskbench.store.folder import RunFolder
from maskbench.store.prices import FREE, Price
from maskbench.store.store import Store
from maskbench.types import Usage
from there import there

pytestmark = pytest.mark.slow

PRICED = Budget(price_in=1.0, price_out=10.0, price_cached=0.1, judge_price_in=2.0, judge_price_out=20.0)


def local(place: Path, **budget: Any) -> Settings:
    """Settings of a run on two models of a server, with typed prices."""
    typed = {name: getattr(PRICED, name) for name in PRICED.__slots__ if getattr(PRICED, name) is not None}
    return Settings.of(
        "openai-api/local/subject",
        "openai-api/local/judge",
        str(place),
        connections=4,
        budget=Budget(**{**typed, **budget}),
    )


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set of every archetype."""
    return six_files(tmp_path_factory.mktemp("rows"), 8)


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One scenario of every archetype."""
    return six_files(tmp_path_factory.mktemp("few"), 1)


def bill(folder: Path) -> Bill:
    """The bill in a run's summary."""
    return Bill_of(json.loads((folder / "summary.json").read_text())["bill"])


def Bill_of(plain: Mapping[str, Any]) -> Bill:  # it reads one

    return msgspec.convert(plain, Bill)


def usage(body: Body) -> Mapping[str, Any]:
    """Forty tokens in, of them thirty from a cache, and ten out for each sample."""
    count = body.get("n", 1)
    return {
        "prompt_tokens": 40,
        "completion_tokens": 10 * count,
        "prompt_tokens_details": {"cached_tokens": 30},
    }


def counted(body: Body) -> Answer:
    """A completion with that usage; every model but the subject judges."""
    role = {**body, "model": "subject" if body["model"] == "subject" else "judge"}
    return Answer(content=completion(body, [reply_to(role)] * body.get("n", 1), usage(body)))


def test_the_bill_has_a_row_for_each_stage_at_its_price(few: Path, tmp_path: Path) -> None:
    """Subject and judge, beliefs and statements, each with calls, tokens, cached tokens and money by its price."""
    with serving(rules=[counted], keep=False) as server:
        measure(local(few), tmp_path / "run", environ(server))
        asked = server.requests
    billed = bill(tmp_path / "run")
    assert [(row.stage, row.part) for row in billed.rows] == [
        ("subject", "beliefs"),
        ("subject", "statements"),
        ("judge", "beliefs"),
        ("judge", "statements"),
    ]
    assert sum(row.calls for row in billed.rows) == asked
    for row in billed.rows:
        assert (row.input_tokens, row.cached_tokens) == (40 * row.calls, 30 * row.calls)
    statements = billed.rows[1]
    assert statements.cost == pytest.approx((10 * 1.0 + 30 * 0.1 + 10 * 10.0) * statements.calls / 1e6)
    judged = billed.rows[3]
    assert judged.cost == pytest.approx((40 * 2.0 + 10 * 20.0) * judged.calls / 1e6)
    assert billed.cost == pytest.approx(sum(row.cost or 0 for row in billed.rows))
    assert (billed.at_least, billed.unpriced) == (False, [])


def test_answers_that_are_of_no_use_are_paid_too(few: Path, tmp_path: Path) -> None:
    """An empty answer is asked for again: both are in the bill, and only one is in the store."""
    empty = every(5, lambda body: Answer(content=completion(body, [""] * body.get("n", 1), usage(body))))
    with serving(rules=[empty, counted], keep=False) as server:
        measure(local(few), tmp_path / "run", environ(server))
        asked = server.requests
    billed = bill(tmp_path / "run")
    assert sum(row.calls for row in billed.rows) == asked
    assert sum(row.input_tokens for row in billed.rows) == 40 * asked
    summary = result(RunFolder(tmp_path / "run"))
    assert summary.usage.subject.input_tokens + summary.usage.judge.input_tokens < 40 * asked


def test_a_server_that_tells_no_tokens_makes_the_bill_a_lower_bound(few: Path, tmp_path: Path) -> None:
    """Calls without a report are counted apart, and never as calls for nothing."""
    with serving(reply=reply_to, usage={}, keep=False) as server:
        measure(local(few), tmp_path / "run", environ(server))
    billed = bill(tmp_path / "run")
    assert billed.at_least
    assert all(row.unreported == row.calls for row in billed.rows)


def test_a_model_without_a_price_is_said(few: Path, tmp_path: Path) -> None:
    """Where no list has a price the row has none, and the bill names the model."""
    with serving(rules=[counted], keep=False) as server:
        free = Settings.of("vllm/mine", "openai-api/local/judge", str(few), connections=4)
        measure(free, tmp_path / "run", {**environ(server), "VLLM_BASE_URL": server.base_url})
    billed = bill(tmp_path / "run")
    assert (billed.unpriced, billed.at_least) == (["openai-api/local/judge"], True)
    assert [row.cost for row in billed.rows] == [0, 0, None, None]


def test_what_nobody_bills_has_no_bill(tmp_path: Path) -> None:
    """A run on pinocchio has the summary that it had before there were bills."""
    summary = measure(Settings.of("sim", "sim-judge", "starter", limit=2), tmp_path / "run", {})
    assert "bill" not in summary.as_dict()
    with _store(tmp_path / "run") as store:
        assert ledger_of(store) is not None
        assert bill_of(store, ["default"]) is None


def _store(folder: Path) -> closing[Store]:
    """The run's store, closed after use."""
    return closing(RunFolder(folder).store())


@pytest.mark.parametrize(
    ("limit", "option"), [({"max_cost": 0.05}, "--max-cost"), ({"max_tokens_total": 12_000}, "--max-tokens-total")]
)
def test_a_limit_stops_new_calls_in_time_and_the_run_goes_on_with_a_larger_one(
    rows: Path, tmp_path: Path, limit: Mapping[str, float], option: str
) -> None:
    """No more is spent than the limit, what was under way is kept, and a larger limit takes the run to its end."""
    with serving(rules=[counted], latency=0.005, keep=False) as server:
        with pytest.raises(BudgetReached, match=f"{option} .* is reached: .* used") as caught:
            measure(local(rows, **limit), tmp_path / "run", environ(server))
        assert caught.value.option == option
        stopped = server.requests
        with _store(tmp_path / "run") as store:
            kept = bill_of(store, ["default"])
        assert kept is not None
        assert sum(row.calls for row in kept.rows) == stopped > 5, "what was under way came home"
        spent = kept.cost if "max_cost" in limit else sum(row.input_tokens + row.output_tokens for row in kept.rows)
        (most,) = limit.values()
        assert spent is not None
        assert 0.9 * most < spent <= most
        assert f"{dollars(spent) if 'max_cost' in limit else f'{spent:,} tokens'} used" in str(caught.value)
        with pytest.raises(BudgetReached):
            measure(local(rows, **limit), tmp_path / "run", environ(server))
        assert server.requests < stopped + 4, "all sessions count together, and a few calls were left"
        assert measure(local(rows), tmp_path / "run", environ(server)).complete
    assert sum(row.calls for row in bill(tmp_path / "run").rows) == server.requests


def test_a_limit_below_one_call_says_what_a_call_may_take(rows: Path, tmp_path: Path) -> None:
    """Nothing is asked, and the sentence does not say that the limit is reached by 0."""
    with serving(rules=[counted], keep=False) as server:
        with pytest.raises(BudgetReached, match=r"is reached before the first answer: one call may take .* tokens"):
            measure(local(rows, max_tokens_total=500), tmp_path / "run", environ(server))
        assert server.requests == 0


def test_the_command_ends_with_a_code_of_its_own_and_says_how_to_go_on(rows: Path, tmp_path: Path) -> None:
    """Exit code 4, the line that goes on with the option that needs more, and the money in the log."""
    out = tmp_path / "run"
    prices = ["--price-in", "1", "--price-out", "10", "--judge-price-in", "2", "--judge-price-out", "20"]
    arguments = in_file(tmp_path, "run", *MODELS, "--scenarios", rows, "--out", out, *prices, "--connections", "4")
    with serving(rules=[counted], latency=0.005, keep=False) as server:
        ended = command(*arguments, "--max-cost", "0.05", env=environ(server))
        assert ended.code == 4
        assert f"maskbench run --out {out} --max-cost 0.1\n" in ended.err
        shown = command("score", out, "--full", env={})
        assert f"maskbench run --out {out} --max-cost 0.1" in " ".join(shown.out.split())
        assert "--max-cost $0.0500 is reached" in ended.err
        assert ", $0.0" in (out / "run.log").read_text()
        assert json.loads((out / "run.json").read_text())["sessions"][-1]["ended"]["how"] == "stopped"
        ended = _pasted(ended, environ(server))
        assert ended.code == 0, ended.err


def priced_at(folder: Path, model: str, into: float, out: float) -> dict[str, str]:
    """The variable that names a price list with this model."""
    (folder / "prices.toml").write_text(f'["{model}"]\ninput = {into}\noutput = {out}\n', "utf-8")
    return {"MASKBENCH_PRICES": str(folder / "prices.toml")}


def _pasted(ended: Ended, env: Mapping[str, str]) -> Ended:
    """The line that was printed, typed as it stands, until no limit stops it."""
    while ended.code == 4:
        (line,) = re.findall(r"^  maskbench (.*)$", ended.err, re.MULTILINE)
        ended = command(*shlex.split(line), env=env)
    return ended


def test_a_run_knows_its_prices_wherever_it_is_opened(rows: Path, tmp_path: Path) -> None:
    """The list lay in the folder where the run was begun; a limit is kept by the run's own prices elsewhere."""
    price = "input = 1\noutput = 10\n"
    models = (f'["openai-api/local/{name}"]\n{price}' for name in ("subject", "judge"))
    (tmp_path / "mine.toml").write_text("".join(models), "utf-8")
    out = tmp_path / "run"
    names = ("openai-api/local/subject", "--judge", "openai-api/local/judge", "--scenarios", rows)
    with serving(rules=[counted]) as server:
        there = {**environ(server), "MASKBENCH_PRICES": str(tmp_path / "mine.toml")}
        begun = command("run", *names, "--out", out, "--max-cost", "0.05", env=there)
        assert begun.code == 4
        planned = command("run", "--out", out, "--max-cost", "8", "--dry-run", env=environ(server))
        assert planned.code == 0, planned.err
        assert command("run", "--out", out, "--max-cost", "8", env=environ(server)).code == 0
        asked = server.requests
        again = command("run", "--out", out, "--max-cost", "8", env=environ(server))
        assert (again.code, server.requests) == (0, asked), again.err
        judged = ("judge", out, "--name", "again", "--judge", "openai-api/local/judge", "--max-cost", "8")
        assert command(*judged, env=there).code == 0
        assert command(*judged, env=environ(server)).code == 0
    assert bill(out).cost


def test_a_limit_in_dollars_needs_a_price(few: Path, tmp_path: Path) -> None:
    """Without a price nobody can keep a limit in dollars: the error says what to give, and no folder is left."""
    with pytest.raises(
        UsageError, match=r"no price list has openai-api/local/subject\. Give a row in maskbench-prices\.toml"
    ):
        measure(
            Settings.of("openai-api/local/subject", "sim-judge", str(few), budget=Budget(max_cost=1)),
            tmp_path / "run",
            {"LOCAL_BASE_URL": "http://127.0.0.1:9", "LOCAL_API_KEY": "k"},
        )
    assert not (tmp_path / "run").exists()


def test_prices_and_limits_are_no_part_of_what_is_measured() -> None:
    """A budget changes no key and no protocol id, and may change when a run goes on."""
    assert protocol_id(settings(), PROMPTS.hash) == protocol_id(settings(budget=PRICED), PROMPTS.hash)


def test_known_prices_by_stage() -> None:
    """The subject's and the judges' prices are typed apart; a model of one's own is free."""
    named = Settings.of("openai/gpt-4o", "openai/gpt-4o-mini", "x", budget=Budget(judge_price_in=1, judge_price_out=2))
    prices = known_prices(named, {"MASKBENCH_PRICES": ""})
    assert prices["subject"]["openai/gpt-4o"] is not None
    assert prices["judge"]["openai/gpt-4o-mini"] == Price(
        input=1, output=2, minimum=1024, batch=0.5, source="the settings", date=""
    )
    assert known_prices(Settings.of("mine", "yours", "x"), {}, ["mine"]) == {
        "subject": {"mine": FREE},
        "judge": {"yours": None},
    }


def test_calls_under_way_count_before_they_are_home() -> None:
    """The meter stops where what is used and what is under way come to the limit, by the dearest call so far."""
    ledger = Ledger([], {"subject": {"m": Price(input=1_000_000, output=0)}})  # a dollar a token
    under_way, heard = [0], []
    meter = Meter(ledger, Budget(max_cost=100), lambda: under_way[0])
    meter.on_full = lambda why, option: heard.append((why, option))
    meter.paid("subject", "direct", "m", Usage(10, 5))
    under_way[0] = 8
    meter.check()
    assert not heard, "10 dollars and 8 calls of 10 each"
    under_way[0] = 9
    meter.check()
    meter.check()
    assert len(heard) == 1, "it is told once"


def test_the_first_calls_are_assumed_to_take_something() -> None:
    """A limit below what the calls under way may take stops before the first answer."""
    meter = Meter(Ledger([], {"subject": {"m": Price(input=1000, output=1000)}}), Budget(max_cost=1.0), lambda: 1)
    heard: list[str] = []
    meter.on_full = lambda why, option: heard.append(why)
    meter.check()
    assert heard


@pytest.mark.parametrize(
    ("reported", "told"),
    [
        (
            {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
            Usage(9, 2, None, 4),
        ),
        (
            {"input_tokens": 5, "output_tokens": 2, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 1},
            Usage(9, 2, None, 3, 1),
        ),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_cache_hit_tokens": 3}, Usage(9, 2, None, 3)),
        ({"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": "x"}}, Usage(9, 2)),
    ],
)
def test_cached_tokens_as_servers_report_them(reported: Mapping[str, Any], told: Usage) -> None:
    """OpenAI, Anthropic and DeepSeek name them otherwise; Anthropic leaves them out of the input, we do not."""
    assert wire.usage_of({"usage": reported}) == told


def test_a_bill_that_maskbench_did_not_write_is_refused(tmp_path: Path) -> None:
    """A tampered bill is an error that names the part, and no bill."""
    store = Store(tmp_path / "run.sqlite", write=True)
    store.remember("bill", {"rows": [{"stage": "subject", "part": "beliefs", "model": "m", "calls": -1}]})
    with pytest.raises(RunUnreadable, match="calls"):
        ledger_of(store)
    store.close()


def test_a_run_of_an_earlier_version_has_a_bill_from_where_it_went_on() -> None:
    """What was asked before there were bills is not in it: the bill says that it was more."""
    row = BillRow("subject", "beliefs", "m", 1, 0, 10, 0, 0, 0)
    billed = Ledger([row], {"subject": {"m": Price(input=1, output=1)}}, whole=False).bill()
    assert billed is not None
    assert billed.at_least


def test_the_bill_is_in_the_whole_result_and_on_the_page(few: Path, tmp_path: Path) -> None:
    """Terminal and page have the rows by stage, the sum, and the prices; a page under way has the money so far."""
    out = tmp_path / "run"
    with serving(rules=[counted], keep=False) as server:
        measure(local(few), out, environ(server))
    whole = " ".join(command("score", out, "--full", env={}).out.split())
    assert "judge, statements openai-api/local/judge" in whole
    total = bill(out).cost
    assert total is not None
    assert f"In all: {dollars(total)}." in whole
    assert "openai-api/local/subject $1 in, $0.1 cached, $10 out (by the settings)" in whole
    page = command("report", out, "--out", tmp_path / "page.html", env={})
    assert page.code == 0, page.err
    assert f"In all: {dollars(total)}." in (tmp_path / "page.html").read_text(encoding="utf-8")


def test_another_judges_bill_is_its_own(few: Path, tmp_path: Path) -> None:
    """Verdicts by another judge are billed beside the run's: the subject's rows are those of the run."""
    out = tmp_path / "run"
    with serving(rules=[counted], keep=False) as server:
        measure(local(few), out, environ(server))
        priced = {**environ(server), **priced_at(tmp_path, "openai-api/local/other", 5, 5)}
        ended = command("judge", out, "--judge", "openai-api/local/other", "--name", "b", env=priced)
    assert ended.code == 0, ended.err
    other = result(RunFolder(out), verdicts="b").of(BillReader)
    assert isinstance(other, Bill)
    assert {row.model for row in other.rows} == {"openai-api/local/subject", "openai-api/local/other"}
    judged = [row for row in other.rows if row.stage == "judge"]
    assert judged[0].cost == pytest.approx(50 * 5 * judged[0].calls / 1e6)
    own = result(RunFolder(out)).of(BillReader)
    assert isinstance(own, Bill)
    assert {row.model for row in own.rows} == {"openai-api/local/subject", "openai-api/local/judge"}


def test_the_progress_line_has_the_money_so_far(few: Path, tmp_path: Path) -> None:
    """What a run has cost so far stands in the line that tells how it goes."""
    prices = ["--price-in", "1", "--price-out", "10", "--judge-price-in", "2", "--judge-price-out", "20"]
    with serving(rules=[counted], keep=False) as server:
        arguments = in_file(tmp_path, "run", *MODELS, "--scenarios", few, "--out", tmp_path / "run", *prices)
        ended = command(*arguments, env=environ(server))
    total = bill(tmp_path / "run").cost
    assert total is not None
    assert f" tokens, {dollars(total)}, 0:00:0" in ended.err


def test_another_judge_and_an_exam_have_limits_of_their_own(rows: Path, tmp_path: Path) -> None:
    """Both end with the same code, keep what they have, and print the line that goes on."""
    out, exam = tmp_path / "run", tmp_path / "exam"
    with serving(rules=[counted], keep=False) as server:
        measure(local(rows), out, environ(server))
        env = {**environ(server), **priced_at(tmp_path, "openai-api/local/other", 2, 20)}
        again = ("judge", out, "--judge", "openai-api/local/other", "--connections", "4", "--name", "b")
        ended = command(*again, "--max-cost", "0.04", env=env)
        assert ended.code == 4, ended.err
        assert f"maskbench judge {out} --name b --max-cost 0.08" in ended.err
        assert _pasted(ended, env).code == 0
        ended = command(
            "exam",
            "openai-api/local/judge",
            "--short",
            "--out",
            exam,
            "--connections",
            "4",
            "--max-tokens-total",
            "9000",
            env=env,
        )
        assert ended.code == 4, ended.err
        assert ended.err.rstrip().endswith("--max-tokens-total 18000")
        assert _pasted(ended, env).code in (0, 3)


def test_a_server_that_counts_one_of_several_samples_makes_it_a_lower_bound(few: Path, tmp_path: Path) -> None:
    """Where a usage is of one sample and several came, the bill says that it was more."""
    long = "A long reply. " * 40
    with serving(
        reply=lambda body: reply_to(body) if body["model"] == "judge" else f"{long}{reply_to(body)}"
    ) as server:
        measure(local(few), tmp_path / "run", environ(server))
    summary = result(RunFolder(tmp_path / "run"))
    assert summary.usage.subject.at_least
    assert there(summary.of(BillReader)).at_least


@pytest.mark.parametrize("count", [2**62, 2**63, 2**64 - 1])
def test_a_count_of_tokens_that_cannot_be_is_unknown(tmp_path: Path, count: int) -> None:
    """A service that reports more tokens than anything can hold costs no reply; its calls are without a report."""
    usage = dict.fromkeys(("prompt_tokens", "completion_tokens", "total_tokens"), count)
    with serving(reply=reply_to, usage=usage) as server:
        ended = command("run", *MODELS, "--scenarios", six_files(tmp_path / "set", 1), "--out", tmp_path / "run",
                        env=environ(server))  # fmt: skip
    assert ended.code == 0
    with closing(RunFolder(tmp_path / "run").store()) as store:
        ledger = ledger_of(store)
    assert ledger is not None
    assert all((row.unreported, row.input_tokens) == (row.calls, 0) for row in ledger.rows)
