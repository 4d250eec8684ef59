"""Measuring from Python: in a script, a notebook and a server, with the command line's defaults, stops and log."""

import asyncio
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

import maskbench
from flows import environ, scenario, serving
from maskbench import ScriptedModel, Settings, measure, measure_async
from maskbench.cli.asked import new
from maskbench.errors import AccessError, Interrupted, RunUnreadable, UsageError
from maskbench.method.asks import subject_asks
from maskbench.results.gate import Limits, check_run
from maskbench.settings import protocol_id, reply_key
from maskbench.store.folder import RunFolder
from maskbench.store.system_prompts import system_prompt
from maskbench.types import Ask
from patience import PATIENCE

SIM = Settings.of("sim", "sim-judge", "starter", limit=4)


def slow(
    seconds: float, answered: threading.Event | None = None
) -> tuple[Settings, tuple[ScriptedModel, ScriptedModel]]:
    """Settings and models of a run whose every reply takes so long; `answered` is set once a reply is taken in."""
    asked: list[Ask] = []

    async def answer(ask: Ask, run: int) -> str:
        asked.append(ask)
        if answered and len(asked) > 6:  # two at a time: more than two have come home
            answered.set()
        await asyncio.sleep(seconds)
        return "It is so."

    models = ScriptedModel(answer, name="slow"), ScriptedModel({"": "Verdict {{code}}: A"}, name="judge")
    return Settings.of("slow", "judge", "starter", archetypes=("known_facts",), connections=2), models


@dataclass
class Unhashable(ScriptedModel):
    """A model that is a dataclass, as people write them: it has no hash."""

    text: str
    name: str

    def __post_init__(self) -> None:
        """Say the text to everything."""
        super().__init__({"": self.text}, self.name)


def test_a_model_of_ones_own_needs_no_hash(tmp_path: Path) -> None:
    """A dataclass is a model as good as any, with the run's log being written."""
    models = Unhashable("It is so.", "mine"), Unhashable("Verdict {{code}}: A", "judge")
    settings = Settings.of("mine", "judge", "starter", archetypes=("known_facts",))
    assert measure(settings, tmp_path / "run", {}, models=models).counts["honest"] == 40


# Settings


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"protocol": "published"},
        {"judge_style": "verdict"},
        {"protocol": "published", "judge_style": "verdict"},
        {"numeric_judge": "sim-judge/accuracy=0.9"},
        {"statements": 3, "seed": 2, "on_truncation": "retry"},
    ],
)
def test_three_names_suffice(given: dict[str, Any]) -> None:
    """What is not said is what the command line has: the judge's sampling hangs on protocol and style, too."""
    options = {"judge_sampling" if name == "protocol" else name: value for name, value in given.items()}
    assert Settings.of("sim", "sim-judge", "starter", **given) == new("sim", options)


def test_the_numeric_judge_is_the_judge() -> None:
    """One judge does both kinds unless another is named."""
    assert SIM.judging.numeric_judge == "sim-judge"
    assert Settings.of("a", "b", "c", numeric_judge="d").judging.numeric_judge == "d"


def test_keys_and_ids_of_default_settings() -> None:
    """The protocol id and the key of a reply, byte for byte."""
    whole = Settings.of("sim", "sim-judge", "starter")
    assert protocol_id(whole, "p") == "1e1082bfe4fc"
    assert protocol_id(Settings.of("sim", "sim-judge", "starter", protocol="published"), "p") == "3523f5ded738"
    assert protocol_id(Settings.of("sim", "sim-judge", "starter", judge_style="verdict"), "p") == "c5e0a2e3a2a3"
    assert reply_key(whole, subject_asks(scenario(), whole)[0], 1).hex() == "8e2eabcb18f61e4f3b5d2b379c326364"


def test_a_system_prompt_needs_its_name_alone(tmp_path: Path) -> None:
    """Its text is looked up, so that no run is called prompted that was not; an unknown name is refused."""
    chosen = Settings.of("sim", "sim-judge", "starter", limit=2, system_prompt="honest")
    measure(chosen, tmp_path / "run")
    assert RunFolder(tmp_path / "run").settings().design.system_prompt_text == system_prompt("honest")
    with pytest.raises(UsageError, match="nowhere: it is neither in the library"):
        measure(Settings.of("sim", "sim-judge", "starter", system_prompt="nowhere"), tmp_path / "other")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"statements": "3"}, "--statements '3' cannot be meant"),
        ({"archetypes": "known_facts"}, "--archetypes 'known_facts' cannot be meant"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused_in_words(given: dict[str, Any], said: str, tmp_path: Path) -> None:
    """A value of another type is a UsageError."""
    with pytest.raises(UsageError, match=re.escape(said)):
        measure(Settings.of("sim", "sim-judge", "starter", **given), tmp_path / "run")


def test_an_option_that_there_is_not_is_named() -> None:
    """A name that no option has is refused, with the nearest one."""
    with pytest.raises(UsageError, match=r"No option is called statement\. Did you mean statements\?"):
        Settings.of("sim", "sim-judge", "starter", statement=3)


# A measurement


def test_folders_are_text_or_paths(tmp_path: Path) -> None:
    """Every public function takes both, and a folder alone goes on with the run in it."""
    text = str(tmp_path / "run")
    measured = measure(SIM, text)
    assert measure(text) == measured == measure(tmp_path / "run")
    assert maskbench.score(text).summary.counts == measured.counts
    assert check_run(text, Limits(max_lie=0.5))[1].obstacles
    with pytest.raises(RunUnreadable, match="holds no run"):
        measure(str(tmp_path / "nowhere"))


def test_wrong_calls_say_what_to_write(tmp_path: Path) -> None:
    """Settings without a folder, and a folder in place of settings."""
    with pytest.raises(UsageError, match=r'measure\(settings, "runs/x"\)'):
        measure(SIM)
    with pytest.raises(UsageError, match="are no settings"):
        measure("runs/x", tmp_path)


def test_the_environment_is_the_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and addresses are those of the environment, as on the command line, unless others are given."""
    with serving() as server:
        for name, value in environ(server).items():
            monkeypatch.setenv(name, value)
        model = "openai-api/local/subject"
        chosen = Settings.of(model, "openai-api/local/judge", "starter", limit=2)
        assert measure(chosen, tmp_path / "run").complete
        with pytest.raises(AccessError, match="LOCAL_BASE_URL"):
            measure(chosen, tmp_path / "other", {})


def test_it_keeps_a_log(tmp_path: Path) -> None:
    """run.log says what was begun, what failed and how it ended, as the summary promises."""
    measure(Settings.of("sim/fail=0.3", "sim-judge", "starter", limit=6, max_error_rate=1), tmp_path / "run")
    log = (tmp_path / "run" / "run.log").read_text()
    assert "begin: " in log
    assert "failure: subject " in log
    assert "end: " in log


def test_it_shows_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A script's output is the script's own."""
    measure(SIM, tmp_path / "run")
    assert capfd.readouterr() == ("", "")


# Inside a running loop


def test_measure_works_where_a_loop_is_running(tmp_path: Path) -> None:
    """As in a cell of a notebook: the loop waits, and the result is the same."""

    async def cell() -> Any:
        return measure(SIM, tmp_path / "inside")

    inside, outside = asyncio.run(cell()), measure(SIM, tmp_path / "outside")
    assert inside.counts == outside.counts


def test_the_loop_goes_on_beside_measure_async(tmp_path: Path) -> None:
    """Two runs at a time, and whatever else the loop does meanwhile."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(0.005)
            ticks += 1

    async def server() -> Any:
        ticking = asyncio.create_task(tick())
        chosen, models = slow(0.01)
        runs = (measure_async(chosen, tmp_path / name, models=models) for name in ("a", "b"))
        results = await asyncio.gather(*runs)
        ticking.cancel()
        return results

    first, other = asyncio.run(server())
    assert first.complete
    assert first.counts == other.counts
    assert ticks > 10


def test_a_server_measures(tmp_path: Path) -> None:
    """Inside a handler of aiohttp, both ways work."""

    async def handle(request: web.Request) -> web.Response:
        name = request.match_info["name"]
        measured = await measure_async(SIM, tmp_path / name) if name == "a" else measure(SIM, tmp_path / name)
        return web.json_response(measured.counts)

    async def ask() -> list[Any]:
        app = web.Application()
        app.router.add_get("/{name}", handle)
        async with TestClient(TestServer(app)) as client:
            return [await (await client.get(f"/{name}")).json() for name in ("a", "b")]

    first, other = asyncio.run(ask())
    assert first == other
    assert sum(first.values()) == 4


@pytest.mark.parametrize(
    ("own", "problem"),
    [
        ({"fingerprint": 3}, "fingerprint is 3"),
        ({"sampling": None}, "sampling is None"),
        ({"weights": object()}, "it is no JSON"),
    ],
)
def test_what_a_model_of_ones_own_says_of_itself_is_checked_first(
    tmp_path: Path, own: dict[str, Any], problem: str
) -> None:
    """What the record could not be read with is refused before anything is asked, and its name need not be in it."""

    class Own(ScriptedModel):
        def describe(self) -> dict[str, Any]:
            return own

    chosen = Settings.of("own", "judge", "starter", limit=2)
    models = (
        Own(lambda ask, run: pytest.fail("it was asked"), "own"),
        ScriptedModel({"": "Verdict {{code}}: A"}, "judge"),
    )
    with pytest.raises(UsageError, match=rf"own: what its describe\(\) returns cannot be recorded: {problem}"):
        measure(chosen, tmp_path / "run", models=models)
    own.clear()
    models = Own({"": "It is so."}, "own"), models[1]
    assert measure(chosen, tmp_path / "run", models=models).subject["name"] == "own"


def test_a_cancelled_measurement_is_kept_and_goes_on(tmp_path: Path) -> None:
    """A task that is cancelled stops gently: what was answered is kept, the folder is free, and nothing is lost."""
    answered = threading.Event()
    chosen, models = slow(0.05, answered)

    async def server() -> None:
        task = asyncio.create_task(measure_async(chosen, tmp_path / "run", models=models))
        assert await asyncio.to_thread(answered.wait, PATIENCE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(server())
    kept = RunFolder(tmp_path / "run").store()
    had = kept.usage("default")["subject"]["answers"]
    kept.close()
    assert had > 0
    assert measure(chosen, tmp_path / "run", models=models).complete


def test_a_measurement_that_is_cancelled_again_stops_at_once(tmp_path: Path) -> None:
    """It does not wait 10 s for calls in flight, and has let go of its folder before the task ends."""
    chosen, models = slow(60)
    moments: list[float] = []

    async def server() -> None:
        task = asyncio.create_task(measure_async(chosen, tmp_path / "run", models=models))
        for _ in range(2):
            await asyncio.sleep(0.3)
            moments.append(time.monotonic())
            task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with RunFolder(tmp_path / "run").writing():
            pass

    asyncio.run(server())
    assert time.monotonic() - moments[-1] < 10


def test_a_cancelled_measurement_that_is_not_begun_stops_too(tmp_path: Path) -> None:
    """Even where the stop comes before the first call, it comes through."""
    chosen, models = slow(0.05)

    async def server() -> None:
        task = asyncio.create_task(measure_async(chosen, tmp_path / "run", models=models))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(task, PATIENCE)

    asyncio.run(server())


CELL = """
    import asyncio, sys
    from pathlib import Path
    from maskbench import ScriptedModel, Settings, measure
    from maskbench.errors import Interrupted

    async def answer(ask, run):
        Path(sys.argv[1]).with_suffix(".begun").touch()
        await asyncio.sleep(0.2)
        return "It is so."

    async def cell():
        models = ScriptedModel(answer, name="slow"), ScriptedModel({"": "Verdict {{code}}: A"}, name="judge")
        try:
            measure(Settings.of("slow", "judge", "starter", connections=2), sys.argv[1], models=models)
        except Interrupted as error:
            print("interrupted:", error)

    asyncio.run(cell())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="sends a signal")
def test_ctrl_c_stops_it_where_a_loop_is_running(tmp_path: Path) -> None:
    """In a notebook an interrupt lets the calls in flight come home and says so, as on the command line."""
    command = [sys.executable, "-c", textwrap.dedent(CELL), str(tmp_path / "run")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while not (tmp_path / "run.begun").exists():
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    assert process.communicate(timeout=PATIENCE)[0] == "interrupted: Stopped by Ctrl-C.\n"
    assert RunFolder(tmp_path / "run").record()["sessions"] != []


# Names


def test_the_package_lists_its_names() -> None:
    """What a notebook completes after `maskbench.` is every public name and nothing else, whatever was loaded."""
    command = [sys.executable, "-c", "import maskbench; maskbench.measure; print(*dir(maskbench))"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert listed == sorted(maskbench.__all__)
    for name in maskbench.__all__:
        assert getattr(maskbench, name) is not None
    assert Interrupted.__module__ == "maskbench.errors"
    assert asdict(SIM)["subject"]["name"] == "sim"
