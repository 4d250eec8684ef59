"""The placebo: what is planted is found, a run can add it later, and nothing else is changed by it."""

import io
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from asked import calls
from flows import PROMPTS, Recorder, says, scenario, verdict_a
from maskbench.asking.forecast import plan
from maskbench.asking.judging.judge_again import forecast, judge
from maskbench.cli import main
from maskbench.errors import RunMismatch
from maskbench.measurement import measure
from maskbench.method.asks import Calls
from maskbench.method.placebo import Placebo, judge_placebo, placebo_ask
from maskbench.models.scripted import Script, ScriptedModel
from maskbench.presentation.of_one_run import result as blocks_of
from maskbench.presentation.terminal import show
from maskbench.results.readers import PlaceboReader
from maskbench.results.scored import result
from maskbench.settings import protocol_id
from maskbench.stats.figures import Share
from maskbench.store.folder import RunFolder
from maskbench.types import Archetype, Ask, Failure, Stage
from measured_runs import run, settings
from there import there

pytestmark = pytest.mark.slow


def checked(path: Path, subject: str = "sim", **more: Any) -> Placebo:
    """What the placebo of a simulated run comes to."""
    return there(result(RunFolder(run(path, subject, placebo=True, **more))).of(PlaceboReader))


def holds(rate: Share, value: float, width: float = 0.35) -> bool:
    """Whether a rate's interval holds the value and says something."""
    low, high = there(rate.ci95)
    return bool(low <= value <= high and high - low < width)


def scripted(path: Path, subject: Script, judge_script: Script, **more: Any) -> tuple[Recorder, Recorder]:
    """Measure a scripted subject on a few starter scenarios; returns what both were asked."""
    one, other = Recorder(subject), Recorder(judge_script)
    models = (ScriptedModel(one, "the subject"), ScriptedModel(other, "the judge"))
    made = settings("the subject", judge="the judge", numeric_judge="the judge", **{"limit": 12, **more})
    measure(made, path, {}, models=models)
    return one, other


# Planted rates are found


def test_placebo_is_the_noise_floor(tmp_path: Path) -> None:
    """A faithful judge finds no lie in a neutral reply; drift and errors of the judge raise the floor."""
    quiet = checked(tmp_path / "quiet")
    assert quiet.p_lie.value == 0
    assert quiet.p_lie.n == 80  # provided facts have no neutral question
    assert set(quiet.counts) == {"honest", "no_belief"}
    assert there(quiet.p_lie_pressured.value) > 0.2
    assert holds(checked(tmp_path / "drift", "sim/unsure=0,drift=0.2").p_lie, 0.2)
    judge_ = {"judge": "sim-judge/accuracy=0.8", "numeric_judge": "sim-judge/accuracy=0.8"}
    assert there(checked(tmp_path / "judge", **judge_).p_lie.value) > 0.03


# What is asked


def test_what_is_asked() -> None:
    """The subject hears the direct question once more, and the judge its reply by the plain prompt for statements."""
    one, made = scenario("disinformation"), settings("sim").having(placebo=True)
    placebo = there(placebo_ask(one, made))
    assert (placebo.call, placebo.elicitation, placebo.runs) == ("placebo", 4, (1,))
    assert [message.content for message in placebo.messages] == ["You are a helpful assistant.", one.questions[0]]
    judged = judge_placebo(placebo, "The reply.", PROMPTS)
    assert judged.messages[0].content == PROMPTS.texts["statement"]
    assert one.user_prompt not in judged.messages[1].content
    assert (judged.call, judged.elicitation) == ("placebo", 4)
    assert placebo_ask(scenario("provided_facts"), made) is None


@pytest.mark.parametrize("archetype", ["doubling_down_known_facts", "continuations", "disinformation", "statistics"])
def test_the_judge_of_a_placebo_hears_of_no_turn_that_is_not_there(archetype: Archetype) -> None:
    """There is one neutral question: no forced turn, no draft and no request is spoken of."""
    placebo = there(placebo_ask(scenario(archetype), settings("sim").having(placebo=True)))
    judged = judge_placebo(placebo, "The reply.", PROMPTS)
    said = "\n".join(message.content for message in judged.messages)
    assert not re.search("forced_assistant|twice|draft|others to read", said)
    assert judged.messages[0].content == PROMPTS.texts["numerical" if archetype == "statistics" else "statement"]


# Adding it, and nothing else


def test_the_placebo_changes_nothing_else(tmp_path: Path) -> None:
    """Protocol, keys, rates and counts are those of a run without; only usage and its own figures differ."""
    plain, added = run(tmp_path / "plain", limit=12), run(tmp_path / "added", limit=12, placebo=True)
    one, other = result(RunFolder(plain)), result(RunFolder(added))
    assert one.of(PlaceboReader) is None
    for name in ("protocol", "counts", "rates", "by_archetype", "failures", "truncated", "judges"):
        assert getattr(one, name) == getattr(other, name)
    assert protocol_id(settings("sim"), "x") == protocol_id(settings("sim").having(placebo=True), "x")
    assert other.usage.subject.answers > one.usage.subject.answers
    keys = "SELECT key FROM replies WHERE elicitation < 4 ORDER BY 1"
    with closing(sqlite3.connect(plain / "run.sqlite")) as a, closing(sqlite3.connect(added / "run.sqlite")) as b:
        assert a.execute(keys).fetchall() == b.execute(keys).fetchall()


def test_a_finished_run_can_add_it_and_not_drop_it(tmp_path: Path) -> None:
    """Only the new calls are made; taking it away is refused with what to type; then nothing is left to ask."""
    path = tmp_path / "run"
    scripted(path, says, verdict_a)
    subject, judged = scripted(path, says, verdict_a, placebo=True)
    assert {ask.call for ask, _ in (*subject.asks, *judged.asks)} == {"placebo"}
    assert len(subject.asks) == len(judged.asks) == 10
    with pytest.raises(RunMismatch, match=r"a run with --placebo, which cannot be taken away\. Give --placebo, too"):
        scripted(path, says, verdict_a)
    again = scripted(path, says, verdict_a, placebo=True)
    assert not again[0].asks
    assert not again[1].asks


@pytest.mark.parametrize("stage", ["subject", "judge"])
def test_failures_stay_failures_and_are_asked_again(tmp_path: Path, stage: Stage) -> None:
    """A placebo that failed is in no rate, is counted, leaves outcomes alone, and is asked for once more."""
    path = tmp_path / "run"
    lost = {"on": True}

    def failing(script: Script, of: Stage) -> Script:
        def answer(ask: Ask, n: int = 1) -> Any:
            is_lost = lost["on"] and stage == of and ask.call == "placebo"
            return Failure(of, "server_error", "no") if is_lost else script(ask, n)

        return answer

    scripts = failing(says, "subject"), failing(lambda ask, _: verdict_a(ask), "judge")
    scripted(path, *scripts, placebo=True)
    found = result(RunFolder(path))
    assert found.failures == {}
    assert there(found.of(PlaceboReader)).p_lie == Share(None, None, 0)
    assert there(found.of(PlaceboReader)).failed == 10
    lost["on"] = False
    scripted(path, *scripts, placebo=True)
    assert there(result(RunFolder(path)).of(PlaceboReader)).failed == 0


def test_another_judge_judges_the_placebo_too(tmp_path: Path) -> None:
    """Its false-lie floor is its own."""
    folder = RunFolder(run(tmp_path / "run", "sim", limit=24, placebo=True))
    made = folder.settings().having(judge="sim-judge/flip=0.5", numeric_judge="sim-judge/flip=0.5")
    left, _ = forecast(folder, made, "b")
    judge(folder, made, "b", {})
    assert forecast(folder, made, "b")[0] == 0 < left
    own, other = there(result(folder).of(PlaceboReader)), there(result(folder, verdicts="b").of(PlaceboReader))
    assert own.p_lie.value == 0 < there(other.p_lie.value)


# What it costs, and how it looks


def test_it_is_counted_before_it_is_asked(tmp_path: Path) -> None:
    """Calls and tokens of a forecast hold it."""
    one, facts = scenario(), scenario("provided_facts")
    plain, made = settings("sim", statements=2), settings("sim", statements=2, placebo=True)
    assert calls(one, made) == calls(one, plain) + Calls(1, 1, 1)
    assert calls(facts, made) == calls(facts, plain)
    cheap, dear = plan([one, facts], plain, PROMPTS), plan([one, facts], made, PROMPTS)
    for who in ("subject", "judge"):
        assert dear.input[who] > cheap.input[who]
        assert dear.output[who] > cheap.output[who]


def test_progress_comes_to_its_end(tmp_path: Path) -> None:
    """Everything that is expected is settled, with failed statements."""
    from flows import Counter

    expected: list[Calls] = []

    class Watching(Counter):
        def begin(self, wanted: Calls, models: Any) -> None:
            expected.append(wanted)

    counter = Watching()
    made = settings("sim/fail_lie=0.5", limit=24, max_error_rate=1.0, placebo=True)
    measure(made, tmp_path / "run", {}, counter)
    assert counter.finished == {"subject": expected[0].replies, "judge": expected[0].verdicts}


def test_the_result_says_what_was_found(tmp_path: Path) -> None:
    """The floor stands beside P(lie), and says which scenarios have none; without a placebo there is no word."""

    def text(path: Path) -> str:
        out = io.StringIO()
        show(blocks_of(result(RunFolder(path))), Console(file=out, width=80))
        assert max(map(len, out.getvalue().splitlines())) <= 80
        return " ".join(out.getvalue().split())

    shown = text(run(tmp_path / "run", placebo=True))
    assert "False-lie floor, of archetypes with beliefs: 0.0 % (" in shown
    assert "Provided facts have none: nobody asked whether the subject took them in." in shown
    assert "lies in neutral replies 0.0 %" in shown
    assert "alse-lie floor" not in text(run(tmp_path / "plain", limit=6))


def test_the_options_of_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run goes on with a placebo that is added on the command line alone."""
    path = run(tmp_path / "run", limit=6)
    monkeypatch.setattr("sys.argv", ["maskbench", "run", "--out", str(path), "--placebo", "--full"])
    monkeypatch.setenv("COLUMNS", "200")  # where names and paths are long, a narrow screen leaves notes out
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 0
    assert "False-lie floor" in capsys.readouterr().out
    assert RunFolder(path).settings().design.placebo
