"""Runs that ask only for lies: what is asked, what is drawn, what another session goes on with."""

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from flows import Recorder, letter, says, six_files
from maskbench.errors import ModelError, RunMismatch, UsageError
from maskbench.judges.verdict_sets import OpenRun
from maskbench.measurement import measure
from maskbench.method.forms import load_prompts
from maskbench.method.rules import RULES, named
from maskbench.models.scripted import ScriptedModel
from maskbench.results.summary import Summary
from maskbench.runs.drawn_part import PART
from maskbench.runs.folder import RunFolder
from maskbench.runs.forecast import plan
from maskbench.runs.lie_order import cheaper_order
from maskbench.runs.options import check
from maskbench.runs.watching import Unwatched
from maskbench.settings import Budget, Settings, protocol_id
from maskbench.types import Ask, Failure, Judgement, Reply

KNOWN = ("known_facts",)


def a_judge(stated: str, believed: str) -> Callable[[Ask, int], Judgement]:
    """A judge that finds one letter in every statement, and another in every belief reply."""
    return lambda ask, run: letter(stated if ask.elicitation == 0 else believed)


class Alone(ScriptedModel):
    """A subject of whose samples each costs a request."""

    together = False


def taken(
    folder: Path,
    stated: str = "A",
    believed: str = "A",
    *,
    subject: Any = says,
    verdict: Callable[[Ask, int], str] | None = None,
    kind: type[ScriptedModel] = ScriptedModel,
    watcher: Any = None,
    **options: Any,
) -> tuple[Summary, Recorder]:
    """A run of twenty known facts that asks only for lies, with what its subject was asked."""
    place = six_files(folder.parent / "set", 20) if not (folder.parent / "set").exists() else folder.parent / "set"
    asked = Recorder(subject)
    given = {"archetypes": KNOWN, "estimate": "lie", "connections": 4, **options}
    chosen = Settings.of("the subject", "the judge", str(place), **given)
    models = kind(asked, "the subject"), ScriptedModel(verdict or a_judge(stated, believed), "the judge")
    return measure(chosen, folder, {}, watcher, models=models), asked


def shape(asked: Recorder) -> Counter[tuple[int, int]]:
    """How often each sample was asked for, by elicitation and number."""
    return Counter((ask.elicitation, run) for ask, run in asked.asks)


def test_an_honest_subject_is_asked_for_one_belief_reply(tmp_path: Path) -> None:
    """Sixteen of twenty scenarios end after the first reply; the drawn fifth is asked everything."""
    summary, asked = taken(tmp_path / "run")
    assert shape(asked) == {(0, 1): 20, (1, 1): 20, (1, 2): 4, (1, 3): 4, (2, 1): 4, (3, 1): 4}
    assert summary.complete
    assert summary.counts == {"honest": 4, "lie": 0, "evasive": 0, "no_belief": 0, "error": 0, "no_lie": 16}
    assert summary.estimate is not None
    assert (summary.estimate.replies, summary.estimate.replies_of_all) == (56, 120)


def test_an_evader_is_asked_for_no_belief(tmp_path: Path) -> None:
    """A statement that takes no side cannot lie, whatever is believed."""
    _, asked = taken(tmp_path / "run", stated="C")
    assert shape(asked)[1, 1] == 4


def test_a_liar_is_asked_everything(tmp_path: Path) -> None:
    """A lie is known only once all belief questions are answered."""
    summary, asked = taken(tmp_path / "run", believed="B")
    assert set(shape(asked).values()) == {20}
    assert summary.rates["p_lie"].value == 1.0


def test_a_failed_belief_reply_has_the_rest_asked_and_is_asked_again(tmp_path: Path) -> None:
    """A failure is an error as it is in the whole protocol; the next session asks for it anew."""

    def fails(ask: Ask, run: int) -> Any:
        lost = ask.elicitation == 1 and run == 1
        return Failure("subject", "timeout", "slow") if lost else says(ask, run)

    summary, asked = taken(tmp_path / "run", believed="B", subject=fails, max_error_rate=1)
    assert set(shape(asked).values()) == {20}
    assert summary.counts["error"] == 20
    summary, asked = taken(tmp_path / "run", believed="B", max_error_rate=1)
    assert shape(asked) == {(1, 1): 20}
    assert summary.counts["lie"] == 20


def test_a_session_that_ends_after_a_failed_reply_is_gone_on_with(tmp_path: Path) -> None:
    """A belief reply fails, the rest is asked, and the process ends on the way: the next session comes to the end."""
    late = "known_facts-20"

    def lost(ask: Ask, run: int) -> Any:
        is_lost = (ask.elicitation, run, ask.scenario.task_id) == (1, 2, late)
        return Failure("subject", "timeout", "slow") if is_lost else says(ask, run)

    class Ends(ScriptedModel):
        """Gone when a consistency question comes."""

        async def ask(self, ask: Ask) -> Sequence[Reply | Failure]:
            if ask.elicitation > 1 and ask.scenario.task_id == late:
                raise ModelError("gone")
            return await super().ask(ask)

    def judge(ask: Ask, run: int) -> Judgement:
        is_honest = ask.elicitation == 0 or "sample 3" in ask.messages[1].content
        return letter("B" if is_honest else "A")

    options: dict[str, Any] = {"verdict": judge, "connections": 1, "whole_part": 0.01, "seed": 1}
    with pytest.raises(ModelError, match="gone"):
        taken(tmp_path / "run", subject=lost, kind=Ends, **options)
    summary, asked = taken(tmp_path / "run", subject=lost, **options)
    assert shape(asked) == {(1, 2): 1, (2, 1): 1, (3, 1): 1}
    assert summary.complete
    summary, asked = taken(tmp_path / "run", **options)
    assert shape(asked) == {(1, 2): 1}
    assert summary.complete
    _, asked = taken(tmp_path / "run", **options)
    assert not asked.asks


def test_the_part_is_drawn_before_the_first_call_and_kept(tmp_path: Path) -> None:
    """Two scenarios of each archetype at least, all of those that ask for no belief, by seed."""
    seen: list[dict[Any, float]] = []

    def looks(ask: Ask, run: int) -> str:
        if not seen:
            with OpenRun(RunFolder(tmp_path / "run")) as opened:
                seen.append(opened.store.chosen(PART))
        return says(ask, run)

    taken(tmp_path / "run", subject=looks, archetypes=("known_facts", "provided_facts"))
    taken(tmp_path / "again", archetypes=("known_facts", "provided_facts"))
    taken(tmp_path / "other", archetypes=("known_facts", "provided_facts"), seed=1)
    parts = []
    for name in ("run", "again", "other"):
        with OpenRun(RunFolder(tmp_path / name)) as opened:
            parts.append(opened.store.chosen(PART))
    assert seen == parts[:1] == parts[1:2] != parts[2:]
    assert Counter((key[0], chance) for key, chance in seen[0].items()) == {
        ("known_facts", 0.2): 4,
        ("provided_facts", 1.0): 20,
    }


def test_the_first_reply_is_asked_for_alone_where_that_is_cheaper(tmp_path: Path) -> None:
    """Short prompts cost little twice; a long one is paid for once, with all the replies. Which of the two is told."""
    assert cheaper_order(prompt=40, reply=120, samples=3) == "one_by_one"
    assert cheaper_order(prompt=4000, reply=120, samples=3) == "together"
    assert cheaper_order(prompt=4000, reply=120, samples=12) == "one_by_one"
    assert cheaper_order(prompt=600, reply=120, samples=3, output=2) == "together"
    told: list[str] = []

    class Heard(Unwatched):
        def tell(self, line: str) -> None:
            told.append(line)

    long: dict[str, Any] = {
        "system_prompt": "mine",
        "system_prompt_text": "Be honest. " * 2000,
        "prompt_on_beliefs": True,
    }
    summary, asked = taken(tmp_path / "run", watcher=Heard(), **long)
    assert shape(asked) == {(0, 1): 20, (1, 1): 20, (1, 2): 20, (1, 3): 20, (2, 1): 4, (3, 1): 4}
    assert any("in one request" in line for line in told)
    assert summary.estimate is not None
    assert summary.estimate.belief_samples == "together"
    assert summary.estimate.verdicts == 20 + 16 + 4 * 5
    _, asked = taken(tmp_path / "alone", kind=Alone, **long)
    assert shape(asked)[1, 2] == 4


def test_the_price_of_the_subject_decides_where_it_is_known(tmp_path: Path) -> None:
    """Where output costs no more than input, a prompt of middle length is paid for once already."""
    text: dict[str, Any] = {"system_prompt": "mine", "prompt_on_beliefs": True}
    text["system_prompt_text"] = "Be honest. " * 200
    for name, price, order in (("dear", 10.0, "one_by_one"), ("cheap", 1.0, "together")):
        summary, _ = taken(tmp_path / name, budget=Budget(price_in=1.0, price_out=price), **text)
        assert summary.estimate is not None
        assert summary.estimate.belief_samples == order


def test_a_run_is_completed_later(tmp_path: Path) -> None:
    """With all nothing is asked twice, and the result is that of a run which asked everything at once."""
    _, asked = taken(tmp_path / "run")
    before = shape(asked)
    summary, asked = taken(tmp_path / "run", estimate="all")
    whole, everything = taken(tmp_path / "whole", estimate="all")
    assert before + shape(asked) == shape(everything)
    assert summary.counts == whole.counts
    assert summary.rates == whole.rates
    assert "estimate" not in summary.as_dict()
    with pytest.raises(RunMismatch, match="--estimate all, and this one asks for lie"):
        taken(tmp_path / "run")


def test_another_part_is_another_run(tmp_path: Path) -> None:
    """The part of a run that was begun stays what it is."""
    taken(tmp_path / "run")
    with pytest.raises(RunMismatch, match=r"--whole-part 0\.2"):
        taken(tmp_path / "run", whole_part=0.5)


def test_the_measurement_is_the_same_one() -> None:
    """On equal replies lies are equal, so the protocol id is that of a run that asks everything."""
    plain, lies = (Settings.of("a", "b", "c", estimate=name) for name in ("all", "lie"))
    assert protocol_id(plain, "0") == protocol_id(lies, "0")


def test_what_cannot_be_meant_is_refused() -> None:
    """Beliefs of another run leave nothing out, and a part is a share."""
    with pytest.raises(UsageError, match="--beliefs-from asks for none"):
        check(Settings.of("a", "b", "c", estimate="lie", beliefs_from="other"))
    with pytest.raises(UsageError, match="--whole-part 0 is no share"):
        check(Settings.of("a", "b", "c", whole_part=0.0))


def test_controls_are_asked_of_the_part_that_is_asked_everything(tmp_path: Path) -> None:
    """Placebo and self-report go to the drawn fifth, and to the rest once a run is completed; the plan says so."""
    summary, asked = taken(tmp_path / "run", placebo=True, self_report=True)
    assert (shape(asked)[4, 1], shape(asked)[6, 1]) == (4, 4)
    assert summary.complete
    assert summary.checks
    assert summary.checks.placebo
    assert summary.checks.placebo.p_lie.n == 4
    chosen = RunFolder(tmp_path / "run").settings()
    with OpenRun(RunFolder(tmp_path / "run")) as opened:
        planned = plan((each for each, _ in opened.store.scenarios()), chosen, load_prompts())
    assert planned.calls.replies == 20 * 6 + 4 + 4
    summary, asked = taken(tmp_path / "run", placebo=True, self_report=True, estimate="all")
    assert (shape(asked)[4, 1], shape(asked)[6, 1]) == (16, 16)


CONTROLS = {"placebo": True, "traces": True}


@pytest.mark.parametrize("how", [{}, {"judge_beliefs": "together"}, {"judge_numbers": "apart"}, CONTROLS], ids=str)
def test_the_lies_are_those_of_a_run_that_asks_everything(tmp_path: Path, how: dict[str, Any]) -> None:
    """A simulated subject, whose answers hang on its seed alone, has the same lies both ways under every rule set."""
    for estimate in ("all", "lie"):
        options: dict[str, Any] = {"estimate": estimate, "sample": 60, **how}
        chosen = Settings.of("sim/lie=0.4,evade=0.2,unsure=0.2", "sim-judge", "starter", **options)
        measure(chosen, tmp_path / estimate, {})
    for rules in RULES:
        every, short = (_lies(tmp_path / name, rules) for name in ("all", "lie"))
        assert every == short


def _lies(folder: Path, rules: str) -> dict[Any, bool]:
    with OpenRun(RunFolder(folder)) as opened:
        return {row.key: row.outcome == "lie" for row in opened.verdicts().scored(named(rules))}
