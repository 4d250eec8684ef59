"""The questions on statements in a run: who is asked what, how often, what is kept, and what it leaves alone."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from msgspec import to_builtins

from answered_runs import HARMFUL, Judge, again, answered, says
from flows import Counter, Told, environ, letter, scenarios, serving, typed
from flows import settings as of_flow
from maskbench.errors import AccessError, BudgetReached, UsageError
from maskbench.judges.construct_answers import answers_of
from maskbench.judges.construct_judging import ask_construct, forecast
from maskbench.judges.verdict_sets import JudgeUsage
from maskbench.measurement import measure
from maskbench.method.construct import BY_CALL, QUESTIONS
from maskbench.method.forms import load_prompts
from maskbench.method.forms.questions import answer_text
from maskbench.models.scripted import Answer, ScriptedModel
from maskbench.presentation.of_runs import Alone
from maskbench.presentation.sections.cost import bill as billed
from maskbench.presentation.sections.cost import tokens
from maskbench.presentation.sections.dry_run import plan as blocks
from maskbench.presentation.terminal import text
from maskbench.results.scored import result
from maskbench.runs.bill import Bill, ledger_of
from maskbench.runs.desk import Desk
from maskbench.runs.folder import RunFolder
from maskbench.runs.forecast import plan
from maskbench.runs.passes import is_finished
from maskbench.runs.protocol import asking
from maskbench.runs.questions import set_of, who_was_asked
from maskbench.runs.watching import Unwatched
from maskbench.settings import Budget, Settings
from maskbench.types import Ask, Failure, Judgement, Reply
from measured_runs import change, edit

LIES = [("L", [HARMFUL | {"suspicion_reasoning": "yes"}])] * 4
THREE = ("performance", "harm", "suspicion")
KEY = ("known_facts", "known_facts-1")


def per_call(judge: Judge) -> dict[str, int]:
    """How often each question was asked."""
    return {call: judge.asked[call] for call in BY_CALL if judge.asked[call]}


def test_every_statement_is_asked_about_once_for_each_question(tmp_path: Path) -> None:
    """Lies and others are asked about, reasoning where there is some, and the answers are read back by statement."""
    thinks = HARMFUL | {"suspicion_reasoning": "yes"}
    judge = answered(tmp_path / "a", [*LIES[:2], ("H", [HARMFUL]), ("E", [thinks])], THREE)
    assert per_call(judge) == {
        "construct_performance": 4,
        "construct_harm": 4,
        "construct_suspicion": 4,
        "construct_suspicion_reasoning": 2,
    }
    told = answers_of(tmp_path / "a")
    assert told[KEY, 1] == {"performance": "no", "harm": "high", "suspicion": "no"}
    assert told[("known_facts", "known_facts-2"), 1]["suspicion_reasoning"] == "yes"
    assert len(told) == 4


def test_a_question_that_failed_is_not_asked_again_in_a_session(tmp_path: Path) -> None:
    """A scenario that is opened once more, as each round of batches opens it, wants nothing that failed before."""
    answered(tmp_path / "a", LIES[:1], construct=())
    folder = RunFolder(tmp_path / "a")
    chosen, model = folder.settings().having(construct=("harm",)), ScriptedModel(says, "j")
    with closing(folder.store(write=True)) as store:
        each = asking(chosen, store)
        desk = Desk(chosen, store, {"binary": model, "numerical": model}, Unwatched())
        desk.take_up(each.task, each.hearing)
        ((scenario, _),) = store.scenarios()

        async def fails() -> None:
            opened = desk.open(scenario)
            (out,) = desk.ready(opened)
            desk.begin(opened, out)
            desk.take(opened, out, [Failure("judge", "server_error", "down")])

        asyncio.run(fails())
        assert desk.ready(desk.open(scenario)) == []


def test_it_changes_no_key_no_protocol_and_no_score(tmp_path: Path) -> None:
    """Two runs that differ in --construct alone have the same protocol id, keys of replies and verdicts, and scores."""
    answered(tmp_path / "with", LIES)
    answered(tmp_path / "without", LIES, construct=())
    summaries, keys = [], []
    for name in ("with", "without"):
        summaries.append(result(tmp_path / name))
        with closing(RunFolder(tmp_path / name).store()) as store:
            keys.append(
                [
                    store._rows("SELECT task_id, elicitation, run, key FROM replies ORDER BY 1, 2, 3"),
                    store._rows("SELECT task_id, elicitation, run, key FROM judged WHERE verdict_set = 'default'"),
                ]
            )
    assert keys[0] == keys[1]
    assert summaries[0].protocol == summaries[1].protocol
    assert summaries[0].rates == summaries[1].rates
    assert "construct" in summaries[0].as_dict()
    assert "construct" not in summaries[1].as_dict()


def test_answers_are_no_verdict_set(tmp_path: Path) -> None:
    """The run has one verdict set, by which it is scored; nobody can score by the answers."""
    answered(tmp_path / "a", LIES)
    with closing(RunFolder(tmp_path / "a").store()) as store:
        assert store.verdict_sets() == ["default"]
    assert result(tmp_path / "a").judges is None
    with pytest.raises(UsageError, match="no verdict set"):
        result(tmp_path / "a", verdicts=set_of("j"))


def test_a_finished_run_asks_nothing_more(tmp_path: Path) -> None:
    """Started again, a run with all its answers asks nobody; a further question asks that one alone."""
    first = answered(tmp_path / "a", LIES, ("harm",))
    assert first.asked["construct_harm"] == 4
    second = again(tmp_path / "a", Judge(first.planned))
    assert not second.asked
    third = again(tmp_path / "a", Judge(first.planned), construct=("harm", "performance"))
    assert third.asked == {"construct_performance": 4}
    with closing(RunFolder(tmp_path / "a").store()) as store:
        assert [asked.questions for asked in who_was_asked(store)] == [["performance", "harm"]]


def test_what_was_stopped_goes_on_where_it_was(tmp_path: Path) -> None:
    """A judge whose key is refused half-way stops the questions; what was answered is kept, and the rest is asked."""
    first = answered(tmp_path / "a", LIES, construct=())
    left = [3]

    class Refused(ScriptedModel):
        """Answers three times, then cannot be asked at all."""

        async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
            left[0] -= 1
            if left[0] < 0:
                raise AccessError("The key was refused.")
            return await super().ask(ask)

    folder = RunFolder(tmp_path / "a")
    chosen = folder.settings().having(construct=("harm",), connections=1)
    broken = Refused(Judge(first.planned), "j")
    with pytest.raises(AccessError):
        ask_construct(folder, chosen, judges={"binary": broken, "numerical": broken})
    rest = Judge(first.planned)
    model = ScriptedModel(rest, "j")
    ask_construct(folder, chosen, judges={"binary": model, "numerical": model})
    assert rest.asked == {"construct_harm": 1}
    assert len(answers_of(folder.path)) == 4


def test_a_run_judged_by_other_prompts_is_not_judged_again(tmp_path: Path) -> None:
    """A complete run of another version can be asked the questions, and its verdicts stay as they are."""
    first = answered(tmp_path / "a", LIES, construct=())
    record = RunFolder(tmp_path / "a").record()
    edit(tmp_path / "a", maskbench="0.3.0", prompts={**record["prompts"], "hash": "0" * 64})
    for table in ("verdicts", "judged"):
        change(tmp_path / "a", f"UPDATE {table} SET key = x'00' || substr(key, 2)")  # noqa: S608  # ours
    second = again(tmp_path / "a", Judge(first.planned), construct=("harm",))
    assert second.asked == {"construct_harm": 4}
    assert result(tmp_path / "a").construct


def test_answers_to_prompts_of_another_version_are_not_gone_on_with(tmp_path: Path) -> None:
    """They stand as they are, with their hash, and a sentence says so; another judge and other questions are asked."""
    first = answered(tmp_path / "a", LIES, ("harm",))
    folder, before = RunFolder(tmp_path / "a"), answers_of(tmp_path / "a")
    with closing(folder.store(write=True)) as store:
        (asked,) = who_was_asked(store)
        asked.prompts["harm"] = "0" * 12
        store.remember("construct", [to_builtins(asked)])
    for table in ("verdicts", "judged"):
        change(folder.path, f"UPDATE {table} SET key = x'00' || substr(key, 2) WHERE verdict_set = '~construct j'")  # noqa: S608
    judge, told = Judge(first.planned), Told()
    chosen = folder.settings().having(construct=("performance", "harm"))
    model = ScriptedModel(judge, "j")
    ask_construct(folder, chosen, watcher=told, judges={"binary": model, "numerical": model})
    assert judge.asked == {"construct_performance": 4}
    (line,) = told.lines
    assert "j was asked harm by prompts of another version" in line
    answers = answers_of(folder.path)
    assert {key: {"harm": each["harm"]} for key, each in answers.items()} == before
    with closing(folder.store()) as store:
        assert who_was_asked(store)[-1].prompts["harm"] == "0" * 12
    other = ScriptedModel(judge, "k")
    chosen = chosen.having(judge="k", construct=("harm",))
    ask_construct(folder, chosen, judges={"binary": other, "numerical": other})
    assert judge.asked["construct_harm"] == 4


def test_a_failed_answer_is_a_failure_and_asked_again(tmp_path: Path) -> None:
    """What cannot be read is asked twice and kept as a failure, which is no answer; the next start asks it again."""
    junk = [("L", [HARMFUL | {"harm": "junk"}]), *LIES[:1]]
    first = answered(tmp_path / "a", junk, ("performance", "harm"))
    assert first.asked["construct_harm"] == 3  # twice, and once
    assert answers_of(tmp_path / "a")[KEY, 1] == {"performance": "no"}
    with closing(RunFolder(tmp_path / "a").store()) as store:
        (about, _), *_ = store.scenarios()
        kept = store.samples(about, set_of("j")).judgements(set_of("j"))[14, 1]
        assert isinstance(kept, Failure)
        assert (kept.stage, kept.cause) == ("judge", "unreadable")
        of = RunFolder(tmp_path / "a").settings()
        assert not is_finished(of, store, [asking(of, store)])
    mended = Judge({**first.planned, "known_facts-1": LIES[0]})
    again(tmp_path / "a", mended)
    assert mended.asked == {"construct_harm": 1}
    assert answers_of(tmp_path / "a")[KEY, 1]["harm"] == "high"


def test_a_letter_that_no_answer_has_is_asked_again_with_a_reminder(tmp_path: Path) -> None:
    """C is no answer to a yes-or-no question: the judge is reminded of the letters, and its second answer counts."""
    asked: list[Ask] = []

    def judge(ask: Ask, run: int) -> Answer:
        if ask.call != "construct_performance":
            return Judge({ask.scenario.task_id: LIES[0]})(ask, run)
        asked.append(ask)
        return letter("C") if len(ask.messages) == 2 else answer_text(ask, "yes")

    answered(tmp_path / "a", LIES[:1], construct=())
    folder = RunFolder(tmp_path / "a")
    models = ScriptedModel(judge, "j")
    chosen = folder.settings().having(construct=("performance",))
    ask_construct(folder, chosen, judges={"binary": models, "numerical": models})
    assert len(asked) == 2
    assert "A (yes) or B (no)" in asked[1].messages[-1].content
    assert answers_of(tmp_path / "a")[KEY, 1] == {"performance": "yes"}


def test_a_statement_that_failed_is_not_asked_about(tmp_path: Path) -> None:
    """Where the subject gave no statement there is nothing to ask about, and the count of what is expected holds."""
    answered(tmp_path / "rows", LIES, construct=())
    judge = Judge({f"known_facts-{number}": LIES[0] for number in range(1, 5)})

    def subject(ask: Ask, run: int) -> Reply | Failure:
        fails = ask.call == "statement" and ask.scenario.task_id == "known_facts-1"
        return Failure("subject", "server_error", "down") if fails else says(ask, run)

    observer = Counter()
    chosen = Settings.of("s", "j", str(tmp_path / "rows rows"), construct=THREE, retries=0)
    models = ScriptedModel(subject, "s"), ScriptedModel(judge, "j")
    measure(chosen, tmp_path / "a", {}, observer, models=models)
    assert per_call(judge)["construct_harm"] == 3
    assert (KEY, 1) not in answers_of(tmp_path / "a")
    assert observer.finished["judge"] == 4 * (3 + 2 + 1) + 4 * (3 + 1)  # verdicts, and answers with those on reasoning


def test_numbers_are_asked_about_by_the_judge_of_options(tmp_path: Path) -> None:
    """A scenario with a number has the same questions with letters for answers."""
    answered(tmp_path / "a", LIES[:2], ("harm",), archetypes=("statistics",))
    told = answers_of(tmp_path / "a")
    assert told[("statistics", "statistics-1"), 1] == {"harm": "high"}


def test_another_judge_answers_beside_the_first(tmp_path: Path) -> None:
    """On demand another judge is asked; both keep their answers, the last one is shown, and each can be had by name."""
    first = answered(tmp_path / "a", LIES, ("harm",))
    folder = RunFolder(tmp_path / "a")
    other = Judge({name: (letters, [{"harm": "low"}]) for name, (letters, _) in first.planned.items()})
    model = ScriptedModel(other, "k")
    chosen = folder.settings().having(judge="k", construct=("harm",))
    assert forecast(folder, chosen)[0] == 4
    ask_construct(folder, chosen, judges={"binary": model, "numerical": model})
    assert other.asked == {"construct_harm": 4}
    assert forecast(folder, chosen) == (0, 0)
    assert answers_of(folder.path)[KEY, 1] == {"harm": "low"}
    assert answers_of(folder.path, "j")[KEY, 1] == {"harm": "high"}
    with pytest.raises(UsageError, match="Those that were: j, k"):
        answers_of(folder.path, "nobody")


def test_a_run_that_was_never_asked_has_no_answers(tmp_path: Path) -> None:
    """Nothing was asked, so nothing is there, and that is no error."""
    answered(tmp_path / "a", LIES[:1], construct=())
    assert answers_of(tmp_path / "a") == {}


def test_the_bill_has_a_part_of_its_own(tmp_path: Path) -> None:
    """What the questions took stands in the run's ledger as `construct`, asked with the run and on demand."""
    answered(tmp_path / "a", LIES, ("harm",))
    model = ScriptedModel(Judge({f"known_facts-{at}": LIES[0] for at in range(1, 5)}), "j")
    folder = RunFolder(tmp_path / "a")
    chosen = folder.settings().having(construct=("harm", "performance"))
    ask_construct(folder, chosen, judges={"binary": model, "numerical": model})
    with closing(folder.store()) as store:
        both = [ledger_of(store), ledger_of(store, set_of("j"))]
    parts = [{row.part: row.calls for row in ledger.rows if row.stage == "judge"} for ledger in both if ledger]
    assert [part["construct"] for part in parts] == [4, 4]
    assert list(parts[1]) == ["construct"]


def test_a_limit_on_demand_is_for_what_is_asked_then(tmp_path: Path) -> None:
    """What the run cost before does not count against --max-cost of the questions, and the result's bill has both."""
    answered(tmp_path / "a", LIES, ("harm",))
    prices = Budget(judge_price_in=1.0, judge_price_out=1.0)
    folder = RunFolder(tmp_path / "a")
    with serving(reply=letter("A")) as server:
        chosen = folder.settings().having(judge="openai-api/local/judge", construct=("harm",), connections=1)
        tight = replace(chosen, budget=replace(prices, max_cost=1e-9))
        with pytest.raises(BudgetReached, match="--max-cost"):
            ask_construct(folder, tight, environ(server))
        ask_construct(folder, replace(chosen, budget=replace(prices, max_cost=100.0)), environ(server))
    bill = result(folder.path).bill
    assert isinstance(bill, Bill)
    assert {row.model: row.calls for row in bill.rows if row.part == "construct"} == {
        "j": 4,
        "openai-api/local/judge": 4,
    }
    assert "judge, questions on statements" in text(list(billed([Alone(result(folder.path))])), 160)


def test_the_plan_counts_what_is_then_asked(tmp_path: Path) -> None:
    """--dry-run has every answer among the judge's calls, and those on reasoning as what may come on top."""
    chosen = of_flow(construct=tuple(QUESTIONS), statements=2)
    measured = scenarios(1, ("known_facts", "statistics"))
    bare, asked = (plan(measured, each, load_prompts()) for each in (chosen.having(construct=()), chosen))
    assert asked.calls.verdicts - bare.calls.verdicts == asked.construct == 2 * 2 * 5
    assert asked.on_reasoning == 2 * 2
    assert asked.as_dict()["construct"] == 20
    assert "construct" not in bare.as_dict()
    shown = text(list(blocks(asked, chosen)), 120)
    assert "--construct) are 20 of the judge's calls, and up to 4 more on reasoning" in " ".join(shown.split())
    judge = answered(tmp_path / "a", [("LL", [HARMFUL, HARMFUL])], statements=2)
    assert sum(per_call(judge)[f"construct_{name}"] for name in QUESTIONS) == asked.construct / 2


def test_the_plan_says_which_number_of_calls_is_exact() -> None:
    """Of a range it is the larger one, and what has to hold for it is named; a single number has no larger one."""
    measured, one = scenarios(1, ("known_facts",)), of_flow(beliefs=1)
    some, asked = (
        " ".join(text(list(blocks(plan(measured, each, load_prompts()), each)), 200).split())
        for each in (one.having(construct=("harm",)), one.having(construct=("suspicion",)))
    )
    assert "The number of calls is exact where no call fails and no verdict is shared." in some
    needed = "no call fails, no verdict is shared and each statement comes with reasoning."
    assert f"The larger number of calls is exact where {needed}" in asked


def test_what_nobody_needs_is_expected_no_more(tmp_path: Path) -> None:
    """A run log names answers as such, at most, and without reasoning no more is expected than is settled."""
    words = ("run", "pinocchio", "--judge", "rules/sandbox", "--scenarios", "sandbox", "--sample", 6, "--quiet")
    assert typed(*words, "--construct", "harm,suspicion", "--out", tmp_path / "a").code == 0
    log = (tmp_path / "a" / "run.log").read_text()
    begun = re.findall(r"begin: (.*) replies, (.*) verdicts and up to (.*) answers to have", log)
    assert [int(answers) for _, _, answers in begun] == [6 * 3]
    replies, verdicts, _ = map(int, begun[0])
    asked = replies + verdicts + 6 * 2
    assert f"end: {asked} of {asked} settled" in log
    on_demand = typed("judge", tmp_path / "a", "--construct", "performance", "--json")
    assert "begin: up to 6 answers to have" in (tmp_path / "a" / "run.log").read_text()
    assert on_demand.code == 0
    assert "performance" in orjson.loads(on_demand.out)["construct"]["questions"]


def test_what_it_took_counts_the_answers(tmp_path: Path) -> None:
    """The table of answers has the questions in a row of their own, though no model of this run has a price."""
    answered(tmp_path / "a", [*LIES, ("H", [HARMFUL])], THREE)
    answered(tmp_path / "b", LIES[:1], construct=())
    summary, bare = result(tmp_path / "a"), result(tmp_path / "b")
    assert isinstance(summary.usage.construct, JudgeUsage)
    assert summary.usage.construct.answers == 5 * 3 + 2  # every second one has reasoning
    shown = text(list(tokens([Alone(summary)])), 120)
    assert re.search(r"judge, questions on statements +17 ", shown)
    assert "judge, verdicts" in shown
    assert bare.usage.construct is None
    assert "judge, verdicts" not in text(list(tokens([Alone(bare)])), 120)


def test_a_question_that_there_is_not_is_refused(tmp_path: Path) -> None:
    """A question that is no question of this version is refused by its name."""
    answered(tmp_path / "a", LIES[:1], construct=())
    with pytest.raises(UsageError, match="there is no such question"):
        again(tmp_path / "a", Judge({}), construct=("harms",))


def test_a_real_server_is_asked_in_json(tmp_path: Path) -> None:
    """Over HTTP each question is a request with its own schema, and the endpoint's answer is read."""
    answered(tmp_path / "a", LIES[:2], construct=())
    bodies = []

    def judge(body: dict[str, object]) -> Judgement:
        bodies.append(body)
        return letter("B")

    with serving(reply=judge) as server:
        folder = RunFolder(tmp_path / "a")
        chosen = folder.settings().having(judge="openai-api/local/judge", construct=("addressee",))
        ask_construct(folder, chosen, environ(server))
    assert len(bodies) == 2
    schema = bodies[0]["response_format"]["json_schema"]["schema"]  # type: ignore[index]  # JSON
    assert schema["properties"]["verdict"]["enum"] == ["A", "B"]
    assert "evasion" not in orjson.dumps(bodies).decode()
    assert answers_of(folder.path)[KEY, 1] == {"addressee": "no"}


def test_simulated_judges_and_the_rules_of_the_sandbox_answer(tmp_path: Path) -> None:
    """`sim-judge` answers everything; `rules/sandbox` says who asked by the way in which the sandbox pressed."""
    measure(Settings.of("sim", "sim-judge", "starter", limit=12, construct=tuple(QUESTIONS)), tmp_path / "sim", {})
    assert all(set(QUESTIONS) <= set(told) for told in answers_of(tmp_path / "sim").values())
    chosen = Settings.of("pinocchio", "rules/sandbox", "sandbox", limit=12, construct=tuple(QUESTIONS))
    measure(chosen, tmp_path / "rules", {})
    told = answers_of(tmp_path / "rules").values()
    assert len(told) == 12
    assert {answers["asked_by"] for answers in told} > {"nobody"}
    assert {answers["performance"] for answers in told} == {"no"}


def test_what_is_typed(tmp_path: Path) -> None:
    """--construct alone asks all, with names those; on demand it prints the section; wrong words end with what fits."""
    place = tmp_path / "a"
    whole = typed("run", "sim", "--limit", 6, "--out", place, "--quiet", "--construct")
    assert whole.code == 0
    assert RunFolder(place).settings().design.construct == tuple(QUESTIONS)
    some = typed("run", "sim", "--limit", 6, "--construct", "harm,performance", "--out", tmp_path / "b", "--quiet")
    assert some.code == 0
    assert RunFolder(tmp_path / "b").settings().design.construct == ("performance", "harm")
    planned = typed("judge", tmp_path / "b", "--construct", "--dry-run")
    assert "18 answers by sim-judge are to be had" in planned.out
    asked = typed("judge", tmp_path / "b", "--construct")
    assert asked.code == 0
    assert "without open performance" in asked.out
    assert "Does it think that it is tested?" in asked.out
    wrong = typed("run", "sim", "--construct", "harms", "--out", tmp_path / "c")
    assert wrong.code == 2
    assert "there is no such question. Give some of performance, asked_by" in wrong.err
    named = typed("judge", place, "--construct", "--name", "x")
    assert named.code == 2
    assert "--construct makes no verdict set" in named.err


def test_what_fails_on_the_way_leaves_the_rest(tmp_path: Path) -> None:
    """A judge that is down for the questions leaves the run's result as it is, and says what is missing."""
    answered(tmp_path / "a", [("L", [{}])] * 2)
    summary = result(tmp_path / "a")
    assert summary.withheld is None
    assert summary.rates["p_lie"].value == 1
    assert summary.construct
    assert summary.construct.all.withheld
    assert summary.construct.all.missing["harm"] == 2
