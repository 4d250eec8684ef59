"""maskbench against a real language model behind real servers and in this process (`make test-real`).

A model of 135 million parameters shows that prompts, tokens, stops, samples, interruptions and interventions are right
where they meet real software. It shows nothing about honesty: its answers are too poor to hold a belief, and no figure
that these tests come by is looked at.
"""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import real_models
from maskbench import load
from maskbench.asking.judging.sitting import exam_settings, examine
from maskbench.measurement import measure
from maskbench.scenarios.exam.questions import Paper, written
from maskbench.settings import Settings
from maskbench.types import Sampling
from real_models import Server
from scenario_rows import row, write_csv

GREEDY = Sampling(temperature=0.0, max_tokens=16, reasoning_tokens=0)
UNCACHED = '{"cache_prompt":false}'  # of llama.cpp
SAMPLED = json.dumps({"generation_config": json.dumps({"do_sample": True, "top_k": 0})}, separators=(",", ":"))
SEVERAL = Sampling(temperature=1.0, max_tokens=64, reasoning_tokens=0)
SCENARIOS = 4  # of provided_facts and known_facts: 4 asks a scenario at most

Replies = dict[tuple[str, str, int, int], dict[str, Any]]


@pytest.fixture(scope="session")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """llama.cpp's server with the model."""
    with real_models.llama_cpp(tmp_path_factory.mktemp("llama") / "log") as server:
        yield server


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """`transformers serve` with the model."""
    with real_models.transformers_serve(tmp_path_factory.mktemp("served") / "log") as server:
        yield server


@pytest.fixture(scope="session")
def judge(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The scripted judge."""
    return real_models.scripted_judge(tmp_path_factory.mktemp("judge"))


@pytest.fixture(scope="session")
def here() -> str:
    """The model in this process."""
    import torch

    torch.set_num_threads(1)
    return f"hf/{real_models.weights()}"


@pytest.fixture(scope="session")
def greedy(
    tmp_path_factory: pytest.TempPathFactory, llama: Server, served: Server, here: str, judge: str
) -> dict[str, Replies]:
    """Equal asks at temperature 0, answered in all three places, and by llama.cpp twice."""
    folder = tmp_path_factory.mktemp("greedy")
    places = {"llama": llama, "llama again": llama, "served": served, "here": Server(here, {}, Path())}
    return {
        # What is in its prompt cache changes the last bits of what llama.cpp computes, and with them greedy answers.
        name: measured(folder / name.replace(" ", "-"), place, judge, extra_body=UNCACHED if place is llama else None)
        for name, place in places.items()
    }


def settings(subject: str, judge: str, **options: Any) -> Settings:
    """The settings of a small run, one request at a time unless they say otherwise."""
    start = Settings.of(
        subject=subject,
        judge=judge,
        numeric_judge=judge,
        scenarios="starter",
        archetypes=("known_facts", "provided_facts"),
        limit=SCENARIOS,
        beliefs=1,
        sampling=GREEDY,
        connections=1,
        timeout=600.0,
    )
    return start.having(**options)


def measured(out: Path, place: Server, judge: str, **options: Any) -> Replies:
    """The replies of a small run by what they answer."""
    measure(settings(place.name, judge, **options), out, place.environ)
    return replies(out)


def replies(out: Path) -> Replies:
    """Every reply of a run by what it answers."""
    rows = load(out).replies.to_dicts()
    return {(row["archetype"], row["task_id"], row["elicitation"], row["run"]): row for row in rows}


def column(answered: Replies, name: str) -> dict[tuple[str, str, int, int], Any]:
    """One column of the replies."""
    return {key: row[name] for key, row in answered.items()}


def maskbench(*words: str, place: Server | None = None, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; it has to succeed."""
    ran = subprocess.run(command(*words), capture_output=True, text=True, cwd=cwd, env=environ(place))
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran


def whitebox(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the white box to its end; it has to succeed."""
    program = str(Path(sys.executable).with_name("maskbench-whitebox"))
    ran = subprocess.run([program, *words], capture_output=True, text=True, cwd=cwd, env=environ(None))
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "maskbench", *words]


def environ(place: Server | None) -> dict[str, str]:
    return {
        **os.environ,
        **real_models.ONE_THREAD,
        **(place.environ if place else {}),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }


def test_every_ask_is_answered_in_all_three_places(greedy: dict[str, Replies]) -> None:
    """No call fails at either server or in the process, and the three runs asked the same."""
    for place, answered in greedy.items():
        assert answered, place
        assert set(column(answered, "error_cause").values()) == {None}, place
        assert answered.keys() == greedy["here"].keys()


def test_prompts_are_the_same_tokens_everywhere(greedy: dict[str, Replies]) -> None:
    """Two servers and the model in the process count the same prompt tokens for every ask."""
    tokens = {place: column(answered, "input_tokens") for place, answered in greedy.items()}
    assert tokens["llama"] == tokens["here"]
    assert tokens["served"] == tokens["here"]
    assert min(tokens["here"].values()) > 20


def test_greedy_answers_are_the_same_in_process_and_served(greedy: dict[str, Replies]) -> None:
    """At temperature 0 the model in the process says word for word what `transformers serve` says."""
    for name in ("text", "output_tokens", "truncated"):
        assert column(greedy["served"], name) == column(greedy["here"], name)


def test_greedy_answers_repeat_under_llama_cpp(greedy: dict[str, Replies]) -> None:
    """At temperature 0, without its prompt cache, llama.cpp answers every ask alike in two runs."""
    assert column(greedy["llama"], "text") == column(greedy["llama again"], "text")


def test_batches_change_no_greedy_answer_here(
    greedy: dict[str, Replies], here: str, judge: str, tmp_path: Path
) -> None:
    """Asks answered in one batch in the process are answered as one by one, but for a last bit here or there."""
    together = measured(tmp_path / "run", Server(here, {}, Path()), judge, connections=16)
    alone = column(greedy["here"], "text")
    same = sum(text == alone[key] for key, text in column(together, "text").items())
    assert same >= 0.9 * len(alone)


def test_llama_cpp_draws_several_samples_in_one_request(llama: Server, judge: str, tmp_path: Path) -> None:
    """Samples of one request differ, and the tokens of a request that counts one of them are a lower bound."""
    chosen = settings(llama.name, judge, sampling=SEVERAL, beliefs=3, limit=2, connections=2)
    summary = measure(chosen, tmp_path / "run", llama.environ)
    texts = [row["text"] for (_, _, elicitation, _), row in replies(tmp_path / "run").items() if elicitation == 1]
    assert len(set(texts)) == len(texts) >= 3
    assert summary.subject["learned"]["n"] is True
    assert summary.usage.subject.at_least is True


def test_a_prompt_beyond_the_context_is_a_failure(judge: str, tmp_path: Path) -> None:
    """Whether llama.cpp refuses it or reads a part of it, there is no reply to it; what fits is answered."""
    long = row("known_facts", 1, system_prompt="Be kind to each visitor and keep the shop clean. " * 1000)
    asked = str(write_csv(tmp_path / "known_facts.csv", [long]))
    with real_models.llama_cpp(tmp_path / "log", context=512) as small:
        chosen = settings(small.name, judge, scenarios=asked, archetypes=("known_facts",))
        measure(chosen, tmp_path / "run", small.environ)
    causes = {elicitation: each["error_cause"] for (_, _, elicitation, _), each in replies(tmp_path / "run").items()}
    assert causes.pop(0) in ("bad_request", "cut_prompt")
    assert set(causes.values()) == {None}


def test_transformers_serve_that_samples_nothing_is_told(served: Server, judge: str, tmp_path: Path) -> None:
    """It ignores a temperature where the checkpoint does not say do_sample: identical samples are told."""
    chosen = settings(
        served.name, judge, sampling=SEVERAL, beliefs=2, statements=2, limit=1, archetypes=("provided_facts",)
    )
    chosen = chosen.having(sampling=replace(SEVERAL, max_tokens=80))
    measure(chosen, tmp_path / "greedy", served.environ)
    assert identical(tmp_path / "greedy") == 1
    sampled = chosen.having(extra_body=SAMPLED)
    measure(sampled, tmp_path / "sampled", served.environ)
    assert identical(tmp_path / "sampled") == 0
    assert len({row["text"] for row in replies(tmp_path / "sampled").values()}) == 2


def identical(out: Path) -> int:
    """How many long samples a run's subject gave twice."""
    return int(json.loads((out / "run.json").read_text())["models"]["subject"]["identical"])


def test_a_wrong_name_stops_at_once(served: Server, judge: str, tmp_path: Path) -> None:
    """`transformers serve` is pinned to its model: another name ends the run with one sentence."""
    words = ["run", "openai-api/tserve/other", "--judge", judge, "--scenarios", "starter", "--limit", "5"]
    ran = subprocess.run(
        command(*words, "--out", str(tmp_path / "run")), capture_output=True, text=True, env=environ(served)
    )
    assert ran.returncode == 2
    assert "knows no such model" in ran.stderr
    assert "pinned" in ran.stderr


def test_a_killed_run_goes_on(llama: Server, judge: str, tmp_path: Path) -> None:
    """kill -9 in the middle loses nothing that was written, and the run goes on to its end."""
    out = tmp_path / "run"
    words = ["run", llama.name, "--judge", judge, "--scenarios", "starter", "--archetype", "known_facts"]
    words += ["--temperature", "0", "--max-tokens", "24", "--reasoning-tokens", "0", "--beliefs", "1", "--limit", "3"]
    words += ["--connections", "1", "--out", str(out)]
    process = subprocess.Popen(command(*words), stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environ(llama))
    try:
        while answered(out) < 3:
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    before = texts(out)
    assert 3 <= len(before) < 3 * 4
    maskbench("run", "--out", str(out), place=llama, cwd=tmp_path)
    after = texts(out)
    assert before.items() <= after.items()
    assert json.loads((out / "summary.json").read_text())["complete"]


def answered(out: Path) -> int:
    """How many replies a run has written."""
    return len(texts(out))


def texts(out: Path) -> dict[bytes, str]:
    """The replies in a run's database by key; none where there is no database yet."""
    if not (out / "run.json").exists():
        return {}
    with closing(sqlite3.connect(f"{(out / 'run.sqlite').as_uri()}?mode=ro", uri=True)) as database:
        return dict(database.execute("SELECT key, text FROM replies WHERE text IS NOT NULL").fetchall())


def test_steering_moves_the_model(here: str, judge: str, tmp_path: Path) -> None:
    """`steer` finds vectors of every layer, and steering by them changes what the model says."""
    model = here.removeprefix("hf/")
    said = whitebox("steer", model, "--out", "v.safetensors", "--device", "cpu", cwd=tmp_path)
    assert "layer" in said.stdout
    plain = measured(tmp_path / "plain", Server(here, {}, Path()), judge, limit=2, connections=4)
    steering = {"steer": str(tmp_path / "v.safetensors"), "layers": "10-15", "strength": 4.0}
    server = Server(here, {}, Path())
    steered = measured(tmp_path / "steered", server, judge, limit=2, connections=4, model_options=steering)
    assert column(plain, "text") != column(steered, "text")
    assert column(plain, "input_tokens") == column(steered, "input_tokens")


def test_a_dose_is_a_sweep(here: str, judge: str, tmp_path: Path) -> None:
    """The example of the white box on this model: nine runs, and what it says moves with the strength."""
    example = Path(__file__).parents[2] / "whitebox" / "examples"
    text = (example / "strengths.toml").read_text("utf-8")
    few = (
        f'scenarios = "starter"\njudge = "{judge}"\nlimit = 1\narchetype = "known_facts"\nbeliefs = 1\nmax-tokens = 16'
    )
    few += "\ntemperature = 0\nreasoning-tokens = 0"
    for before, after in (
        ('scenarios = "sandbox"\nstatements = 2\nsample = 120', few),
        ('"hf/pinocchio"', f'"{here}"'),
        ('"2,3"', '"10-15"'),
    ):
        assert before in text
        text = text.replace(before, after)
    (tmp_path / "strengths.toml").write_text(text, "utf-8")
    whitebox("steer", here.removeprefix("hf/"), "--out", "vector.safetensors", "--device", "cpu", cwd=tmp_path)
    made = [sys.executable, str(example / "random_direction.py"), "vector.safetensors", "random.safetensors"]
    subprocess.run(made, check=True, cwd=tmp_path)
    maskbench("sweep", "strengths.toml", "--out", "doses", cwd=tmp_path)
    said = {path.parent.name: column(replies(path.parent), "text") for path in tmp_path.glob("doses/*/run.json")}
    assert len(said) == 9
    assert len({tuple(said[name].values()) for name in ("plain", "by-1", "by-5", "negated", "random")}) == 5


def test_an_adapter_is_trained_and_worn(here: str, judge: str, tmp_path: Path) -> None:
    """`lorra` trains a LoRA on the model in a few steps, and the model answers otherwise with it."""
    words = ["lorra", here.removeprefix("hf/"), "--out", "adapter", "--steps", "2", "--batch", "2"]
    words += ["--target-layers", "10,12", "--answer-tokens", "8", "--rate", "0.01", "--device", "cpu"]
    whitebox(*words, cwd=tmp_path)
    plain = measured(tmp_path / "plain", Server(here, {}, Path()), judge, limit=2, connections=4)
    worn = measured(
        tmp_path / "worn",
        Server(here, {}, Path()),
        judge,
        limit=2,
        connections=4,
        model_options={"adapter": str(tmp_path / "adapter")},
    )
    assert column(plain, "text") != column(worn, "text")


def test_the_exam_finds_it_unfit(llama: Server, tmp_path: Path) -> None:
    """A model of this size is no judge, and a part of the exam is enough to say so."""
    whole = written()
    paper = Paper("part", whole.rules, whole.questions[::20])
    chosen = exam_settings(llama.name).having(connections=real_models.SLOTS, timeout=600.0)
    chosen = chosen.having(judge_sampling=replace(chosen.judging.sampling, max_tokens=60))
    result = examine(chosen, tmp_path / "exam", environ=llama.environ, paper=paper)
    assert len(result.answers) == len(paper.questions)
    assert result.score.standing != "qualified"
