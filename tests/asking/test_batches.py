"""Runs in batches against a server that does each nasty thing come to what a live run on the same replies comes to."""

import json
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from batch_server import SERVICES, Nasty, Told, environ, read, run, run_live, serving, settings, small_set
from flows import KEY, command, scenario, verdict_a
from maskbench import ScriptedModel, Settings, measure
from maskbench.asking.batch_journal import NAME
from maskbench.errors import AccessError, BudgetReached, ModelError, RunUnreadable, UsageError
from maskbench.method.asks import subject_asks
from maskbench.results.readers import BillReader, PlaceboReader
from maskbench.settings import Budget, protocol_id, reply_key
from there import there

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def scenarios(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small set."""
    return small_set(tmp_path_factory.mktemp("set"))


@pytest.fixture(scope="module")
def live(scenarios: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What live runs on it hold."""
    return run_live(scenarios, tmp_path_factory.mktemp("live"))


def test_all_in_batches(scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """A run in batches holds what the live run holds, asks nearly nothing live, and pays for each request once."""
    for service in SERVICES:
        told = Told()
        with serving(Nasty(looks=3, shuffled=True)) as server:
            run(server, settings(service, scenarios), tmp_path / service, told)
            assert (read(tmp_path / service), server.paid) == live[service]
            assert server.steps["create"] == 2  # one for replies, one for verdicts
            assert len(server.live) < 0.5 * live[service][1].total()
        assert "Sent a batch of" in told.text
        assert "requests are answered" in told.text


def test_a_file_that_is_refused_as_a_whole(scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """A job that fails its validation is asked live, and the user is told what was wrong and what that costs."""
    told = Told()
    with serving(Nasty(invalid=1)) as server:
        run(server, settings("openai", scenarios, batch="judge"), tmp_path / "run", told)
    assert read(tmp_path / "run") == live["openai"][0]
    assert "is failed (The file is not valid.)" in told.text
    assert "asked live, at the full price" in told.text


def test_a_full_queue(scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """A job that is not begun since too many tokens wait is sent again in smaller parts, and nothing of it live."""
    with serving(Nasty(full=1)) as server:
        run(server, settings("openai", scenarios, batch="judge"), tmp_path / "run")
        assert server.steps["create"] == 3  # the one that was not begun, and its halves
        assert server.paid == live["openai"][1]
    assert read(tmp_path / "run") == live["openai"][0]


def test_requests_that_are_refused_fail_as_live_ones_do(scenarios: Path, tmp_path: Path) -> None:
    """A request that a batch refuses with 400 is the failure that it would be live, and is not asked again."""
    with serving(Nasty(failed=lambda place: place == 2)) as server:
        run(server, settings("openai", scenarios, batch="judge"), tmp_path / "run")
        failures = [verdict for *_, verdict in read(tmp_path / "run") if getattr(verdict, "cause", None)]
        assert [(failure.stage, failure.cause) for failure in failures] == [("judge", "bad_request")]


@pytest.mark.parametrize("service", SERVICES)
def test_a_job_whose_name_never_comes_home(service: str, scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """A connection that is cut once the job is begun: the job is found among others of its size, and paid once."""
    told = Told()
    with serving(Nasty(foreign=2 * (service == "anthropic"))) as server:
        server.at["created"] = [lambda: "cut"]
        run(server, settings(service, scenarios, batch="judge"), tmp_path / "run", told)
        assert server.steps["create"] == 1
        jobs = [job for job in server.jobs.values() if "other" not in job["id"]]
        assert len(jobs) == 1
    assert read(tmp_path / "run") == live[service][0]
    assert "did not say whether it began a batch" in told.text


def test_an_upload_that_is_cut(scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """An upload that fails is made again: nothing was begun by it."""
    with serving(Nasty(refused={"upload": [500, 503]})) as server:
        run(server, settings("openai", scenarios, batch="judge"), tmp_path / "run")
        assert server.paid == live["openai"][1]
    assert read(tmp_path / "run") == live["openai"][0]


def test_the_bill_has_half_the_price(scenarios: Path, tmp_path: Path) -> None:
    """Tokens of batches stand in rows of their own, at the share of the price that the list has for batches."""
    chosen = Settings.of("openai/gpt-4o", "openai/gpt-4o-mini-judge", str(scenarios), batch="both")
    chosen = replace(chosen, budget=Budget(judge_price_in=1, judge_price_out=2))
    with serving() as server:
        bill = run(server, chosen, tmp_path / "run").of(BillReader)
    assert bill
    half, whole = ([row for row in bill.rows if row.stage == "subject" and (row.batched is True) == b] for b in (1, 0))
    for rows, share in ((half, 0.5), (whole, 1.0)):
        assert rows
        for row in rows:
            assert row.cost == pytest.approx(share * (2.5 * row.input_tokens + 10 * row.output_tokens) / 1e6)
    judged = [row for row in bill.rows if row.stage == "judge" and row.batched is True]
    assert judged[0].cost == pytest.approx(
        (judged[0].input_tokens + 2 * judged[0].output_tokens) / 1e6
    )  # no share known


def test_a_limit_keeps_batches_back(scenarios: Path, tmp_path: Path) -> None:
    """A batch whose worst case would pass --max-cost is not sent; smaller ones go out one after the other."""
    prices = Budget(price_in=0, price_out=0, judge_price_in=0, judge_price_out=100)
    chosen = settings("openai", scenarios, batch="judge", connections=1)
    out = tmp_path / "run"
    with serving() as server:
        with pytest.raises(BudgetReached, match=r"--max-cost \$0\.1000 would not hold"):
            run(server, replace(chosen, budget=replace(prices, max_cost=0.1)), out)
        assert server.steps["create"] == 0
        roomy = replace(chosen, budget=replace(prices, max_cost=0.45))
        summary = run(server, roomy, out)
        assert server.steps["create"] > 1
    assert 0 < (there(summary.of(BillReader)).cost or 0) < 0.45
    assert summary.counts["error"] == 0


def test_what_does_not_go_together(scenarios: Path) -> None:
    """Batches are refused for services without them, in words that say what to do."""
    chosen = settings("openai", scenarios).having(judge="groq/x", numeric_judge="groq/x")
    with pytest.raises(UsageError, match="no batch interface for groq/x, only for openai/ and anthropic/"):
        measure(chosen, "nowhere", {})


def test_nothing_of_the_key(scenarios: Path, tmp_path: Path) -> None:
    """Journal, run and log of a run in batches hold no piece of the key, and the run says that it was batched."""
    with serving() as server:
        run(server, settings("anthropic", scenarios), tmp_path / "run")
        assert all(head.get("Authorization") is None for head in server.heads)
        key = environ(server)["ANTHROPIC_API_KEY"].encode()
    files = [path.read_bytes() for path in (tmp_path / "run").iterdir() if path.is_file()]
    assert not any(key in content for content in files)
    assert (tmp_path / "run" / NAME).exists()
    assert b'"batch": "both"' in (tmp_path / "run" / "run.json").read_bytes()


def test_keys_are_those_of_a_live_run(scenarios: Path) -> None:
    """A request has one key and one protocol id, whichever way it is asked."""
    batched, live = (settings("openai", scenarios, batch=batch) for batch in ("both", None))
    ask = subject_asks(scenario(), batched)[0]
    assert reply_key(batched, ask, 1) == reply_key(live, ask, 1)
    assert protocol_id(batched, "p") == protocol_id(live, "p")


def test_a_model_of_ones_own_has_no_batches(scenarios: Path, tmp_path: Path) -> None:
    """A model that the caller brings under a service's name is refused before a batch is sent."""
    subject = ScriptedModel(lambda ask, run: f"{ask.elicitation} {run}", name="openai/m")
    judge = ScriptedModel(verdict_a, name="openai/judge")
    with pytest.raises(UsageError, match="openai/m is a model of your own"):
        measure(settings("openai", scenarios, batch="subject"), tmp_path / "run", {}, models=(subject, judge))


def test_equal_requests_are_one(scenarios: Path, tmp_path: Path) -> None:
    """Equal judge requests are one request of a batch where temperature 0 is taken, else each is its own."""
    for refuses, most in ((False, 1), (True, 3)):
        with serving(Nasty(no_temperature=refuses)) as server:
            run(server, settings("anthropic", scenarios, batch="judge"), tmp_path / f"{refuses}")
            (job,) = server.jobs.values()
            equal = Counter(str(asked) for _, asked in job["rows"])
            assert max(equal.values()) == most
            assert ("temperature" in job["rows"][0][1]) != refuses
            assert server.paid.total() == len(server.live) + len(job["rows"])  # nothing refused, nothing asked again


def test_what_a_plan_says(scenarios: Path) -> None:
    """--dry-run counts a batched stage at its share of the price, and says how long it may take."""
    typed = ("run", "openai/gpt-4o", "--judge", "openai/gpt-4o-mini", "--scenarios", scenarios, "--dry-run")
    whole = json.loads(command(*typed, "--json", env={"OPENAI_API_KEY": KEY}).out)["estimate"]["models"]
    half = json.loads(command(*typed, "--json", "--batch", "judge", env={"OPENAI_API_KEY": KEY}).out)
    subject, judge = half["estimate"]["models"]
    assert subject["cost"] == whole[0]["cost"]
    assert judge["cost"] == pytest.approx([0.5 * end for end in whole[1]["cost"]])
    assert judge["at_most"] == pytest.approx(0.5 * whole[1]["at_most"])
    assert half["estimate"]["seconds"] is None
    shown = " ".join(command(*typed, "--batch", "both", env={"OPENAI_API_KEY": KEY}).out.split())
    assert "is asked in batches: their price is 0.5 of it, and a batch may take up to 24 hours" in shown


def test_the_placebo_goes_out_in_batches_of_its_own(scenarios: Path, tmp_path: Path) -> None:
    """The placebo is sent after the verdicts: a batch a stage and pass."""
    with serving() as server:
        chosen = settings("openai", scenarios, placebo=True)
        summary = run(server, chosen, tmp_path / "run")
        assert server.steps["create"] == 4
    assert summary.of(PlaceboReader)
    assert summary.counts["error"] == 0


def test_a_display_shows_how_batches_stand(scenarios: Path, tmp_path: Path) -> None:
    """While batches are under way a display shows how many requests are done, and nothing once they are home."""
    told, seen = Told(), []
    with serving(Nasty(looks=3)) as server:
        server.at["look"] = [lambda: seen.append(told.waiting)] * 3
        run(server, settings("anthropic", scenarios, batch="judge"), tmp_path / "run", told)
    assert any("1 batch is under way: 0 of" in line for line in seen)
    assert told.waiting == ""


def test_a_service_that_takes_no_batch(scenarios: Path, tmp_path: Path) -> None:
    """A service that refuses to begin a batch, or the key for it, ends the run with its words and the way on."""
    for status, raised, words in ((400, ModelError, "does not take a batch .*--batch none"), (401, AccessError, "key")):
        with serving(Nasty(refused={"create": [status]})) as server:
            with pytest.raises(raised, match=words):
                run(server, settings("anthropic", scenarios, batch="judge"), tmp_path / f"{status}")
            assert not server.jobs
            chosen = settings("anthropic", scenarios, batch="none")
            assert run(server, chosen, tmp_path / f"{status}").counts["error"] == 0


BARRED = [
    ("openai", 401, "invalid_request_error"),
    ("openai", 429, "insufficient_quota"),
    ("anthropic", 401, "authentication_error"),
    ("anthropic", 402, "billing_error"),
]


@pytest.mark.parametrize(("service", "status", "kind"), BARRED)
@pytest.mark.parametrize("then", ["judge", "none"])
def test_a_batch_that_is_refused_access(
    service: str, status: int, kind: str, then: str, scenarios: Path, live: dict[str, Any], tmp_path: Path
) -> None:
    """A batch whose requests a key or an account may not ask is said, and the command goes on once that is mended."""
    out, told = tmp_path / "run", Told()
    with serving(Nasty(barred=(status, kind))) as server:
        for tries in (1, 2):
            with pytest.raises(
                AccessError, match=rf"refused (\d+) of \1 .*\({status}: no access with \*\*\*\).*start again"
            ):
                run(server, settings(service, scenarios, batch="judge"), out, told)
            assert server.steps["create"] == tries
        assert "asked live" not in told.text
        server.nasty.barred = None
        run(server, settings(service, scenarios, batch=then), out)
        assert server.steps["create"] == (3 if then == "judge" else 2)
        assert (read(out), server.paid) == live[service]


@pytest.mark.parametrize("service", SERVICES)
def test_a_quota_that_is_used_up_begins_no_batch(service: str, scenarios: Path, tmp_path: Path) -> None:
    """A service that begins no batch for want of money says so at once, and the run is not tried for minutes."""
    with serving(Nasty(refused={"create": [429]}, kind="insufficient_quota")) as server:
        with pytest.raises(AccessError, match=r"refuses access \(429"):
            run(server, settings(service, scenarios, batch="judge"), tmp_path / "run")
        assert server.steps["create"] == 1
        assert run(server, settings(service, scenarios, batch="judge"), tmp_path / "run").counts["error"] == 0


@pytest.mark.parametrize("service", SERVICES)
def test_a_list_that_is_out_of_order(service: str, scenarios: Path, live: dict[str, Any], tmp_path: Path) -> None:
    """While a service does not list its batches, what may be under way is not sent again."""
    with serving(Nasty(refused={"list": [500] * 7})) as server:
        server.at["created"] = [lambda: "cut"]
        run(server, settings(service, scenarios, batch="judge"), tmp_path / "run")
        assert (server.steps["create"], server.paid) == (1, live[service][1])
    assert read(tmp_path / "run") == live[service][0]


def test_a_journal_that_is_none(scenarios: Path, tmp_path: Path) -> None:
    """A journal that is damaged, or of a later version, is refused by its path before anything is asked."""
    out = tmp_path / "run"
    with serving() as server:
        run(server, settings("openai", scenarios, limit=2), out)
        for content in (b"no database", None):
            (out / NAME).unlink()
            if content is not None:
                (out / NAME).write_bytes(content)
            else:
                with closing(sqlite3.connect(out / NAME)) as db:
                    db.execute("PRAGMA user_version = 9")
            with pytest.raises(RunUnreadable, match=NAME):
                run(server, settings("openai", scenarios, limit=2), out)
