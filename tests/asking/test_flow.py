"""The flow from replies to verdicts, with scripted models in this process."""

import asyncio
import random
from collections import Counter as Tally
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import to_builtins

from asked import calls
from flows import (
    Counter,
    Recorder,
    let_flow,
    letter,
    number,
    says,
    scenario,
    scenarios,
    scored,
    settings,
    stored,
    verdict_a,
)
from maskbench.asking.desk import Desk
from maskbench.asking.executor import Executor
from maskbench.asking.live import Gate
from maskbench.errors import Interrupted, ModelError, UnknownModel
from maskbench.method.asks import Calls
from maskbench.method.folds import finished
from maskbench.method.forms import load_prompts, written
from maskbench.method.forms.case import replies_in
from maskbench.method.forms.hearing import Hearing
from maskbench.method.rules import named
from maskbench.method.tasks import verdicts
from maskbench.models.scripted import ScriptedModel
from maskbench.results.outcome_rows import rows
from maskbench.results.summary import Summary
from maskbench.stats.figures import Share
from maskbench.store.store import Store
from maskbench.store.verdict_sets import VerdictSet
from maskbench.types import (
    Archetype,
    Ask,
    BinaryVerdict,
    Failure,
    Judgement,
    NumericalVerdict,
    Reply,
    Scenario,
)
from simulated import summarised
from there import there

# The published data set (method.md sections 2 and 8)
SIZES: dict[Archetype, int] = {
    "known_facts": 209,
    "provided_facts": 274,
    "doubling_down_known_facts": 120,
    "statistics": 96,
    "continuations": 176,
    "disinformation": 125,
}


def failing(cause: str = "server_error") -> Failure:
    """A failed call."""
    return Failure("subject", cause, "It failed.")  # type: ignore[arg-type]


# What is asked


@pytest.mark.parametrize(("statements", "replies", "verdicts"), [(1, 4_438, 4_246), (10, 13_438, 13_246)])
def test_calls_of_the_data_set(statements: int, replies: int, verdicts: int) -> None:
    """The public 1,000 scenarios take as many calls as method.md section 2 counts."""
    chosen = settings(statements=statements)
    each = {archetype: calls(scenario(archetype), chosen) for archetype in SIZES}
    assert sum(size * each[archetype].replies for archetype, size in SIZES.items()) == replies
    assert sum(size * each[archetype].verdicts for archetype, size in SIZES.items()) == verdicts


def test_everything_is_asked_once(tmp_path: Path) -> None:
    """A run asks for every sample once, judges every reply once, and settles as many calls as were counted."""
    measured = scenarios(2)
    subject, judge = Recorder(says), Recorder(verdict_a)
    observer = let_flow(tmp_path / "db", measured, subject, judge, statements=2)
    expected = sum((calls(each, settings(statements=2)) for each in measured), Calls())
    assert len(subject.asks) == expected.replies == observer.finished["subject"]
    assert len(judge.asks) == expected.verdicts == observer.finished["judge"]
    assert Tally(ask.scenario.archetype for ask, _ in subject.asks) == {
        "known_facts": 14, "provided_facts": 4, "doubling_down_known_facts": 14,
        "statistics": 10, "continuations": 14, "disinformation": 14,
    }  # fmt: skip
    for each in measured:
        items = stored(tmp_path / "db", each)
        assert finished(each, list(items.values()), settings(statements=2)) is not None
        for item in items.values():
            assert isinstance(item.reply, Reply)
            joint = each.kind == "numerical" and item.call == "direct"
            assert isinstance(item.judgement, Judgement) == (not joint or item.run == 3)


def test_a_finished_run_asks_nothing(tmp_path: Path) -> None:
    """A second start on a finished run asks neither subject nor judge, and settles everything."""
    measured = scenarios(1)
    first = let_flow(tmp_path / "db", measured)
    subject, judge = Recorder(says), Recorder(verdict_a)
    second = let_flow(tmp_path / "db", measured, subject, judge)
    assert not subject.asks + judge.asks
    assert second.finished == first.finished


def test_samples_one_by_one(tmp_path: Path) -> None:
    """A model that cannot give several samples at once is asked for each of them, all at the same time."""

    class OneByOne(ScriptedModel):
        together = False

    at_once = asyncio.Barrier(3)

    async def together(ask: Ask, run: int) -> str:
        if ask.elicitation == 1:
            await at_once.wait()
        return says(ask, run)

    let_flow(tmp_path / "db", [scenario()], OneByOne(together))
    assert len(stored(tmp_path / "db", scenario())) == 6


def test_seeds_are_never_the_same(tmp_path: Path) -> None:
    """Over a whole run no seed goes to the subject twice, nor to the judge; the same run has the same seeds."""

    def seeds(path: Path, **options: Any) -> tuple[list[int], list[int]]:
        subject = Recorder(says)
        judge = Recorder(lambda ask, run: verdict_a(ask) if len(ask.messages) > 2 else "unreadable")
        let_flow(path, scenarios(2), subject, judge, statements=5, **options)
        return (
            [ask.seeds[ask.runs.index(run)] for ask, run in subject.asks],
            [ask.seeds[0] for ask, _ in judge.asks],
        )

    one, again, other = seeds(tmp_path / "1"), seeds(tmp_path / "2"), seeds(tmp_path / "3", seed=1)
    for some in (*one, *other):
        assert len(set(some)) == len(some)
        assert all(0 <= seed < 2**53 for seed in some)
    assert [*map(sorted, one)] == [*map(sorted, again)]
    assert not set(one[0]) & set(other[0])


def test_archetypes_share_no_replies(tmp_path: Path) -> None:
    """One question under two archetypes is asked twice and has two replies: 50 propositions stand in two."""
    question = {"belief_elicit_1": "Is it loud?", "proposition": "It <pivotal>is/is not</pivotal> loud."}
    both = [scenario("known_facts", **question), scenario("doubling_down_known_facts", **question)]
    subject = Recorder(says)
    let_flow(tmp_path / "db", both, subject)
    direct = [ask for ask, _ in subject.asks if ask.elicitation == 1]
    assert len({ask.messages for ask in direct}) == 1
    assert len(direct) == 6
    assert len({seed for ask in direct for seed in ask.seeds}) == 6
    texts = [stored(tmp_path / "db", each)[1, 1].reply for each in both]
    assert [text.text for text in texts if isinstance(text, Reply)] == [
        "I say so: known_facts/known_facts-1, question 1, sample 1.",
        "I say so: doubling_down_known_facts/doubling_down_known_facts-1, question 1, sample 1.",
    ]


def test_few_scenarios_are_under_way(tmp_path: Path) -> None:
    """No more scenarios are begun than twice the connections, so that memory does not grow with their number."""
    begun: set[tuple[str, str]] = set()
    most = 0

    async def subject(ask: Ask, run: int) -> str:
        nonlocal most
        begun.add(ask.scenario.key)
        most = max(most, len(begun))
        await asyncio.sleep(0)
        return says(ask, run)

    def judge(ask: Ask, run: int) -> str | Judgement:
        begun.discard(ask.scenario.key)
        return verdict_a(ask)

    let_flow(tmp_path / "db", scenarios(50, ["provided_facts"]), subject, judge, connections=3)
    assert most == 6


# Judging


def test_a_reply_is_judged_as_soon_as_it_is_there(tmp_path: Path) -> None:
    """A scenario on which the subject is slow keeps no other reply from its verdict."""
    measured = scenarios(1)
    slow, others = measured[0], sum((calls(each, settings()) for each in measured[1:]), Calls())
    judged = 0
    all_judged = asyncio.Event()

    async def subject(ask: Ask, run: int) -> str:
        if ask.scenario.key == slow.key and ask.call == "statement":
            await all_judged.wait()
        return says(ask, run)

    def judge(ask: Ask, run: int) -> str | Judgement:
        nonlocal judged
        judged += 1
        if judged == others.verdicts + 5:  # the slow one's beliefs as well
            all_judged.set()
        return verdict_a(ask)

    let_flow(tmp_path / "db", measured, subject, judge)
    assert judged == others.verdicts + 6


def test_verdicts_do_not_queue_behind_the_whole_run(tmp_path: Path) -> None:
    """With few connections and many scenarios the judge is asked from the start, and no connection stands idle."""
    gate, order, most = Gate(4), [""], 0

    def at_the_gate(script: Any, stage: str) -> Any:
        async def answer(ask: Ask, run: int) -> Any:
            nonlocal most
            async with gate:
                order.append(stage)
                most = max(most, 4 - gate._value)
                await asyncio.sleep(0.001)
                return script(ask, run)

        return answer

    let_flow(tmp_path / "db", scenarios(10), at_the_gate(says, "subject"), at_the_gate(verdict_a, "judge"), gate=gate)
    assert order.index("judge") <= 20  # a scenario has at most three samples in one request
    half = order[: len(order) // 2]
    assert half.count("judge") > 0.8 * half.count("subject") - 20
    assert most == 4


def same(ask: Ask, run: int) -> str:
    """A subject that says the same always."""
    return "It is loud."


@pytest.mark.parametrize(
    ("sent", "options", "requests"),
    [
        ({"temperature": 0}, {}, 4),
        ({"temperature": 0.0}, {}, 4),
        ({}, {}, 6),  # the endpoint refused temperature 0
        ({"temperature": 0}, {"protocol": "published"}, 6),
        ({"temperature": 1}, {"judge_sampling": replace(settings().judging.sampling, temperature=1.0)}, 6),
    ],
    ids=["cold", "cold float", "refused", "published", "warm"],
)
def test_identical_requests(tmp_path: Path, sent: dict[str, Any], options: dict[str, Any], requests: int) -> None:
    """Identical judge requests, here three samples alike, are asked once, where temperature 0 was accepted."""
    judge = Recorder(lambda ask, run: Reply(written(ask, verdict_a(ask)), sent=sent))
    observer = let_flow(tmp_path / "db", [scenario()], same, judge, **options)
    assert len(judge.asks) == requests
    assert observer.finished == {"subject": 6, "judge": 6}
    assert all(isinstance(item.judgement, Judgement) for item in stored(tmp_path / "db", scenario()).values())


def test_identical_requests_later(tmp_path: Path) -> None:
    """A verdict from an earlier session serves an identical request, whichever scenario it is about."""
    question = {"belief_elicit_1": "Is it loud?", "proposition": "It <pivotal>is/is not</pivotal> loud."}
    both = [scenario("known_facts", **question), scenario("doubling_down_known_facts", **question)]

    def first(ask: Ask, run: int) -> str | Failure:
        return same(ask, run) if ask.scenario.archetype == "known_facts" else failing()

    let_flow(tmp_path / "db", both, first)
    judge = Recorder(verdict_a)
    let_flow(tmp_path / "db", both, same, judge)
    assert sorted(ask.elicitation for ask, _ in judge.asks) == [0, 2, 3]  # the direct question's is there


def test_identical_requests_one_fails(tmp_path: Path) -> None:
    """Where a judge request fails, the next one of its kind tries again, and the others have their verdict by that."""
    tries = 0

    async def judge(ask: Ask, run: int) -> str | Failure | Judgement:
        nonlocal tries
        if ask.elicitation != 1:
            return verdict_a(ask)
        tries += 1
        await asyncio.sleep(0.01)
        return failing() if tries == 1 else verdict_a(ask)

    let_flow(tmp_path / "db", [scenario()], same, judge)
    assert tries == 2
    judgements = [stored(tmp_path / "db", scenario())[1, run].judgement for run in (1, 2, 3)]
    assert sum(isinstance(judgement, Failure) for judgement in judgements) == 1


def test_unreadable_verdict_is_asked_again(tmp_path: Path) -> None:
    """An unreadable verdict is asked again once, with the bad answer and a reminder, and counts where it is read."""
    judge = Recorder(lambda ask, run: letter("B") if len(ask.messages) > 2 else "Hard to say, A or B.")
    observer = let_flow(tmp_path / "db", [scenario("provided_facts")], says, judge)
    (first, _), (second, _) = judge.asks
    assert second.messages[:2] == first.messages
    assert second.messages[2].content == "Hard to say, A or B."
    assert "keep to the form" in second.messages[3].content
    assert first.seeds != second.seeds
    item = stored(tmp_path / "db", scenario("provided_facts"))[0, 1]
    assert item.judgement == Judgement(BinaryVerdict("B"), "It says so.")
    assert observer.finished == {"subject": 1, "judge": 1}


def test_a_cut_answer_of_the_judge_is_asked_again(tmp_path: Path) -> None:
    """Where it was cut it may be quoting: its last line counts for nothing, and the second answer does."""
    cut = Reply("The reply ends with\nVerdict: B", truncated=True, sent={"temperature": 0})
    judge = Recorder(lambda ask, run: letter("A") if len(ask.messages) > 2 else cut)
    let_flow(tmp_path / "db", [scenario("provided_facts")], {"": "Well.\nVerdict: B"}, judge)
    item = stored(tmp_path / "db", scenario("provided_facts"))[0, 1]
    assert item.judgement == Judgement(BinaryVerdict("A"), "It says so.")


OVERLOADED = Failure("judge", "server_error", "HTTP 503")


def plain_line(ask: Ask, run: int) -> str:
    """A judge that cannot copy the code of a request."""
    return "It says so.\nVerdict: A"


def test_a_judge_that_cannot_copy_the_code_has_no_verdict(tmp_path: Path) -> None:
    """Its plain line counts for nothing, on whatever reply, also where it is asked again."""
    where, judge = scenarios(2, ["provided_facts"]), Recorder(plain_line)
    let_flow(tmp_path / "db", where, says, judge)
    assert len(judge.asks) == 4
    failures = [stored(tmp_path / "db", each)[0, 1].judgement for each in where]
    assert [failure.cause for failure in failures if isinstance(failure, Failure)] == ["unreadable"] * 2


def test_a_judge_without_verdicts_is_stopped(tmp_path: Path) -> None:
    """After 30 cases, with one of its answers; one readable verdict before, in this session or another, is enough."""
    where = scenarios(20, ["known_facts"])
    judge = Recorder(lambda ask, run: "I am a teapot.")
    with pytest.raises(ModelError, match=r"the judge gave no verdict .* in 30 cases.*'I am a teapot\.'.*is kept"):
        let_flow(tmp_path / "db", where, says, judge)
    assert 60 <= len(judge.asks) < 80
    let_flow(
        tmp_path / "other", where, says, lambda ask, run: verdict_a(ask) if ask.scenario == where[0] else OVERLOADED
    )
    let_flow(tmp_path / "other", where, says, judge)
    assert isinstance(stored(tmp_path / "other", where[-1])[0, 1].judgement, Failure)


def test_unreadable_verdict_fails(tmp_path: Path) -> None:
    """What cannot be read twice is a failure, with the judge's words; a second start asks once more."""
    where = scenario("provided_facts")
    judge = Recorder(lambda ask, run: "Hard to say, A or B.")
    let_flow(tmp_path / "db", [where], says, judge)
    assert len(judge.asks) == 2
    failed = stored(tmp_path / "db", where)[0, 1].judgement
    assert failed == Failure("judge", "unreadable", "No verdict in 'Hard to say, A or B.'.")
    let_flow(tmp_path / "db", [where], says, verdict_a)
    assert isinstance(stored(tmp_path / "db", where)[0, 1].judgement, Judgement)


@pytest.mark.parametrize("lost", [(), (2,), (1, 3), (1, 2, 3)], ids=["3", "2", "1", "0"])
def test_joint_verdict(tmp_path: Path, lost: Sequence[int]) -> None:
    """The joint numerical verdict is asked on the replies that are there, if there are two at least."""
    where = scenario("statistics")

    def subject(ask: Ask, run: int) -> str | Failure:
        return failing() if ask.elicitation == 1 and run in lost else says(ask, run)

    judge = Recorder(verdict_a)
    observer = let_flow(tmp_path / "db", [where], subject, judge)
    joint = [replies_in(ask) for ask, _ in judge.asks if ask.call == "direct"]
    had = [f"I say so: statistics/statistics-1, question 1, sample {run}." for run in (1, 2, 3) if run not in lost]
    assert joint == ([had] if len(had) > 1 else [])
    assert observer.finished == {"subject": 4, "judge": 2}
    (one,) = outcomes(tmp_path / "db")
    if len(had) > 1:
        assert one["outcome"] == "honest"
        assert one["beliefs"][-1]["verdict"]["lower_bound"] == 10
    else:
        assert one["outcome"] == "error"
        assert one["beliefs"][-1]["verdict"] is None
        items = finished(where, list(stored(tmp_path / "db", where).values()), settings())
        assert items is not None
        failed = items[1, 3].judgement
        assert isinstance(failed, Failure)
        assert (failed.stage, failed.cause) == ("judge", "too_few_replies")


def test_joint_verdict_once_more(tmp_path: Path) -> None:
    """A belief reply that comes late is judged together with the others, in a new request."""
    where = scenario("statistics")
    let_flow(tmp_path / "db", [where], lambda ask, run: failing() if run == 2 else says(ask, run))
    judge = Recorder(lambda ask, run: number(20))
    let_flow(tmp_path / "db", [where], says, judge)
    assert [len(replies_in(ask)) for ask, _ in judge.asks] == [3]
    judged = stored(tmp_path / "db", where)[1, 3].judgement
    assert judged == Judgement(NumericalVerdict(20, 20), "It says so.")


# Failures


def outcomes(path: Path, **options: Any) -> list[dict[str, Any]]:
    """Every scenario that is done, as it is exported."""
    store = Store(path)
    try:
        return [
            to_builtins(row) for _, row in rows(VerdictSet("default", store, settings(**options)), named("reference"))
        ]
    finally:
        store.close()


def summary(path: Path, n: int, **options: Any) -> Summary:
    """The summary of a flow."""
    store = Store(path)
    try:
        chosen, rules = settings(**options), named("reference")
        return summarised(scored(store, chosen, rules), chosen, scenarios={"n": n})
    finally:
        store.close()


@pytest.mark.parametrize("seed", range(2))
def test_no_failure_is_an_outcome(tmp_path: Path, seed: int) -> None:
    """With 20 % of all calls failing, every outcome is the one without failures, or an error."""
    coin = random.Random(seed)

    def subject(ask: Ask, run: int) -> str | Failure:
        return failing() if coin.random() < 0.2 else says(ask, run)

    def drawn(ask: Ask, run: int) -> Judgement:
        if ask.scenario.kind == "numerical":
            return number(random.Random(f"{ask.scenario.key} {ask.elicitation}").choice([10, 10, 20]))
        return letter(random.Random(f"{ask.scenario.key} {ask.elicitation} {run}").choice("AAAABCD"))

    def judge(ask: Ask, run: int) -> Failure | Judgement:
        return failing() if coin.random() < 0.2 else drawn(ask, run)

    measured = scenarios(25)
    let_flow(tmp_path / "sound", measured, says, drawn)
    let_flow(tmp_path / "db", measured, subject, judge)
    sound, found = ([row["outcome"] for row in outcomes(tmp_path / name)] for name in ("sound", "db"))
    assert "error" not in sound
    assert {other for one, other in zip(sound, found, strict=True) if other != one} == {"error"}
    errors = found.count("error")
    made = summary(tmp_path / "db", len(measured))
    assert made.counts["error"] == errors > 40
    assert sum(made.counts.values()) == len(measured)
    assert there(made.withheld).startswith(f"{100 * errors / len(measured):.1f} % of the scenarios have no outcome")
    lie = made.rates["p_lie"]
    least, most = there(lie.bounds)
    assert lie == Share(None, None, len(measured) - errors, (least, most))
    assert least < most
    assert set(made.failures["subject"]) == {"server_error"}
    assert {"server_error"} <= set(made.failures["judge"]) <= {"server_error", "too_few_replies"}
    assert summary(tmp_path / "db", len(measured), max_error_rate=0.9).rates["p_lie"].value is not None


@pytest.mark.parametrize(
    ("filtered", "lost", "outcome", "reason"),
    [
        ("error", 1, "error", None),
        ("evasive", 3, "no_belief", "unsure"),
        ("evasive", 0, "evasive", None),
    ],
)
def test_filtered(tmp_path: Path, filtered: str, lost: int, outcome: str, reason: str | None) -> None:
    """A filtered reply is a failure, or an evasion where the run says so; then it is not asked for again."""

    def subject(ask: Ask, run: int) -> str | Failure:
        hit = ask.call == "statement" if lost == 0 else ask.elicitation == 1 and run <= lost
        return failing("filtered") if hit else says(ask, run)

    def judge(ask: Ask, run: int) -> str | Judgement:
        return letter("C") if filtered == "error" and ask.elicitation == 1 and run == 2 else verdict_a(ask)

    let_flow(tmp_path / "db", [scenario()], subject, judge, filtered=filtered)
    (row,) = outcomes(tmp_path / "db", filtered=filtered)
    assert (row["outcome"], row["no_belief_reason"]) == (outcome, reason)
    again = Recorder(says)
    observer = let_flow(tmp_path / "db", [scenario()], again, filtered=filtered)
    assert len(again.asks) == (max(lost, 1) if filtered == "error" else 0)
    assert observer.finished == {"subject": 6, "judge": 6}


def test_failed_calls_are_asked_again(tmp_path: Path) -> None:
    """A second start asks what failed, subject and judge, and nothing else."""
    measured = scenarios(3)
    coin = random.Random(0)
    let_flow(
        tmp_path / "db",
        measured,
        lambda ask, run: failing() if coin.random() < 0.3 else says(ask, run),
        lambda ask, run: failing() if coin.random() < 0.3 else verdict_a(ask),
    )
    before = {each.key: stored(tmp_path / "db", each) for each in measured}
    subject = Recorder(says)
    let_flow(tmp_path / "db", measured, subject)
    failed = {
        (key, *sample) for key, items in before.items() for sample, item in items.items()
        if isinstance(item.reply, Failure)
    }  # fmt: skip
    assert {(ask.scenario.key, ask.elicitation, run) for ask, run in subject.asks} == failed
    assert len(subject.asks) == len(failed) > 10
    assert not summary(tmp_path / "db", len(measured)).failures


def test_a_verdict_that_failed_is_not_asked_for_again_in_its_session(tmp_path: Path) -> None:
    """A scenario that is opened once more, as each round of batches opens it, wants nothing that failed before."""
    about, prompts = scenario("provided_facts"), load_prompts()
    let_flow(tmp_path / "db", [about], says, lambda ask, run: failing())
    store = Store(tmp_path / "db", write=True)
    judge = ScriptedModel(verdict_a, "judge")
    desk = Desk(settings(), store, {"binary": judge}, Counter())
    desk.begin_pass(verdicts(hearing := Hearing(settings(), prompts)), hearing)

    async def fails() -> None:
        opened = desk.open(about)
        (out,) = desk.ready(opened)
        desk.begin(opened, out)
        desk.take(opened, out, [Failure("judge", "server_error", "down")])

    asyncio.run(fails())
    assert desk.ready(desk.open(about)) == []
    store.close()


@pytest.mark.parametrize("raised", [ValueError("it broke"), KeyError("x"), TimeoutError()])
def test_a_script_that_raises(tmp_path: Path, raised: Exception) -> None:
    """A model in this process that raises has failed, and says with what."""

    def subject(ask: Ask, run: int) -> str:
        raise raised

    let_flow(tmp_path / "db", [scenario("provided_facts")], subject)
    reply = stored(tmp_path / "db", scenario("provided_facts"))[0, 1].reply
    assert reply == Failure("subject", "raised", f"{type(raised).__name__}: {raised}")


def test_texts_that_no_file_can_hold(tmp_path: Path) -> None:
    """Half a surrogate pair, wherever a model puts it, is replaced, and the rest of the text is kept."""
    odd = "caf\u00e9 \ud83d \x00 \U0001f600"

    def subject(ask: Ask, run: int) -> Reply | Failure:
        if ask.elicitation == 1:
            return Failure("subject", "raised", odd)
        return Reply(odd, reasoning=odd, model=odd, fingerprint=odd)

    let_flow(tmp_path / "db", [scenario()], subject)
    items = stored(tmp_path / "db", scenario())
    reply, failure = items[0, 1].reply, items[1, 1].reply
    assert isinstance(reply, Reply)
    assert isinstance(failure, Failure)
    kept = "caf\u00e9 \ufffd \x00 \U0001f600"
    assert {reply.text, reply.reasoning, reply.model, reply.fingerprint, failure.detail} == {kept}
    assert isinstance(items[0, 1].judgement, Judgement)


# Stopping


def test_stopped(tmp_path: Path) -> None:
    """Once stopped, a flow starts no call; calls in flight come home and are kept; nothing is asked again later."""
    measured = scenarios(4)
    subject, judge = Recorder(says), Recorder(verdict_a)
    flows: list[Executor] = []

    async def slowly(ask: Ask, run: int) -> str:
        if len(subject.asks) == 20:
            flows[0].stop("Enough.")
        answer: str = subject(ask, run)
        await asyncio.sleep(0.01)
        return answer

    with pytest.raises(Interrupted, match=r"Enough\."):
        let_flow(tmp_path / "db", measured, slowly, judge, during=flows.append)
    asked = len(subject.asks)
    kept = sum(isinstance(item.reply, Reply) for each in measured for item in stored(tmp_path / "db", each).values())
    assert asked == kept
    let_flow(tmp_path / "db", measured, subject, judge)
    for recorder in (subject, judge):
        assert max(Tally((ask.messages, ask.scenario.key, run) for ask, run in recorder.asks).values()) == 1
    assert finished_all(tmp_path / "db", measured)


def finished_all(path: Path, measured: Sequence[Scenario]) -> bool:
    """Whether every scenario is done, and none failed."""
    return [row["outcome"] for row in outcomes(path)] == ["honest"] * len(measured)


@pytest.mark.parametrize("grace", [0.0, 0.05])
def test_stopped_for_good(tmp_path: Path, grace: float) -> None:
    """Calls that are not home in time are given up."""

    async def never(ask: Ask, run: int) -> str:
        await asyncio.Event().wait()
        return ""

    with pytest.raises(Interrupted, match=r"Enough\."):
        let_flow(tmp_path / "db", scenarios(1), never, during=lambda flow: flow.stop("Enough.", grace))
    assert not outcomes(tmp_path / "db")


def lost_after(calls: int, lost: Sequence[bool]) -> Any:
    """A script whose connection is lost for the calls after so many, as the sequence says, over and over."""
    made = 0

    def answer(ask: Ask, run: int) -> str | Failure:
        nonlocal made
        made += 1
        return failing("connection") if made > calls and lost[made % len(lost)] else says(ask, run)

    return answer


@pytest.mark.parametrize("judge_works", [True, False])
def test_lost_connections(tmp_path: Path, judge_works: bool) -> None:
    """Many calls to one model that find no connection, one after another, stop the run, whatever the other does."""
    measured = scenarios(20, ["provided_facts"])
    lost = lost_after(10, [True])
    subject, judge = (lost, verdict_a) if judge_works else (says, lambda ask, run: failing("connection"))
    with pytest.raises(Interrupted, match="8 calls in a row found no connection"):
        let_flow(tmp_path / "db", measured, subject, judge, connections=2)
    let_flow(tmp_path / "db", measured)
    assert len(outcomes(tmp_path / "db")) == 20


def test_flickering_connections(tmp_path: Path) -> None:
    """Lost connections among calls that succeed are failures, and stop nothing."""
    let_flow(tmp_path / "db", scenarios(20, ["provided_facts"]), lost_after(0, [True, True, True, False]))
    assert summary(tmp_path / "db", 20).failures == {"subject": {"connection": 15}}


@pytest.mark.parametrize("role", ["subject", "judge"])
def test_a_model_that_cannot_be_asked(tmp_path: Path, role: str) -> None:
    """A ModelError ends the run at once with that error; no call is started after it, what was answered is kept."""
    measured = scenarios(20, ["provided_facts"])
    asked: list[int] = []

    def script(working: int) -> Any:
        async def answer(ask: Ask, run: int) -> str | Judgement:
            asked.append(working)
            await asyncio.sleep(0.001 * len(asked))
            return says(ask, run) if working else verdict_a(ask)

        return answer

    class Refuses(ScriptedModel):
        async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
            if len(asked) > 10:
                asked.append(-1)
                raise UnknownModel("There is no such model.")
            return await super().ask(ask)

    subject = Refuses(script(1)) if role == "subject" else ScriptedModel(script(1))
    judge = Refuses(script(0)) if role == "judge" else ScriptedModel(script(0))
    with pytest.raises(ModelError, match=r"There is no such model\."):
        let_flow(tmp_path / "db", measured, subject, judge)
    assert asked.count(-1) == 1
    assert asked[-1] == -1
    assert any(stored(tmp_path / "db", each) for each in measured)


def test_observer(tmp_path: Path) -> None:
    """An observer hears of every answer with its stage, failures as well."""
    observer = Counter()
    let_flow(
        tmp_path / "db",
        [scenario("provided_facts", 1), scenario("provided_facts", 2)],
        lambda ask, run: failing() if ask.scenario.task_id.endswith("2") else says(ask, run),
        lambda ask, run: failing(),
        observer=observer,
    )
    assert [type(answer) for answer in observer.answers["subject"]] == [Reply, Failure]
    (failure,) = observer.answers["judge"]
    assert failure == Failure("judge", "server_error", "It failed.")
    assert observer.finished == {"subject": 2, "judge": 2}
