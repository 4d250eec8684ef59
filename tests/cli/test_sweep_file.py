"""The file of a sweep: a product with readable names, single runs, and errors that name file, table, key and remedy."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flows import command, typed
from maskbench.cli.gone import GONE
from maskbench.cli.sweep_file import SweepFile, read_file
from maskbench.errors import UsageError

EVERY = '[every]\nmodel = "sim"\njudge = "sim-judge"\n'


def read(path: Path, text: str) -> SweepFile:
    """What a file with this text asks for."""
    file = path / "s.toml"
    file.write_text(text, "utf-8")
    return read_file(file)


def test_every_combination_is_a_run_with_a_readable_name(tmp_path: Path) -> None:
    """Two models, two prompts and two temperatures make eight runs, whose names say what is special."""
    text = '[product]\nmodel = ["sim", "sim/lie=0.1"]\nsystem-prompt = ["none", "honest"]\ntemperature = [0, 0.5]\n'
    runs = read(tmp_path, text).runs
    assert len(runs) == 8
    name = "sim-lie=0.1_honest_temperature=0.5"
    assert (runs[name].subject.name, runs[name].design.system_prompt, runs[name].subject.sampling.temperature) == (
        "sim/lie=0.1",
        "honest",
        0.5,
    )
    assert runs["sim_plain_temperature=0"].design.system_prompt is None
    assert runs["sim_plain_temperature=0"].design.scenarios == "starter"


def test_tables_of_a_list_and_single_runs_have_names(tmp_path: Path) -> None:
    """A list of tables sets several options by one name, and a [[run]] goes by its name or its label."""
    text = (
        f"{EVERY}[[product.arm]]\nname = 'plain'\n[[product.arm]]\nname = 'warm'\ntemperature = 1.5\nstatements = 2\n"
        "[[run]]\nlabel = 'ckpt 1200'\n[[run]]\nname = 'old'\nseed = 3\n"
    )
    runs = read(tmp_path, text).runs
    assert list(runs) == ["plain", "warm", "ckpt-1200", "old"]
    assert (runs["warm"].subject.sampling.temperature, runs["warm"].design.statements) == (1.5, 2)
    assert runs["ckpt-1200"].label == "sim (ckpt 1200)"


def test_what_holds_for_all_stands_above(tmp_path: Path) -> None:
    """Budget, connections and pace are of all runs together, and the folder is named after the file."""
    above = "max-cost = 5\nmax-tokens-total = 1000\nrpm = 60\nconnections = 7\nat-once = 3\n"
    sweep = read(tmp_path, f"{above}{EVERY}[product]\nseed = [1, 2]\n")
    assert (sweep.budget.max_cost, sweep.budget.max_tokens_total, sweep.budget.rpm) == (5, 1000, 60)
    assert (sweep.at_once, sweep.out) == (3, Path("sweeps/s"))
    assert {settings.pace.connections for settings in sweep.runs.values()} == {7}


def test_a_series_is_a_list_or_names(tmp_path: Path) -> None:
    """Checkpoints on a list make a series for each combination of the other lists, and names make one."""
    product = '[product]\nlabel = ["step-1", "step-2"]\nsystem-prompt = ["none", "honest"]\n'
    assert read(tmp_path, f'checkpoints = "label"\n{EVERY}{product}').series == (
        ("step-1_plain", "step-2_plain"),
        ("step-1_honest", "step-2_honest"),
    )
    named = read(tmp_path, f'checkpoints = ["step-2_plain", "step-1_plain"]\n{EVERY}{product}')
    assert named.series == (("step-2_plain", "step-1_plain"),)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max-csot = 5\n", "s.toml: nothing is called max-csot. Did you mean max-cost?"),
        ("[every]\nstatemnts = 5\n", "s.toml, [every]: nothing is called statemnts. Did you mean statements?"),
        ("[product]\nmodle = ['sim']\n", "s.toml, [product]: nothing is called modle. Did you mean model?"),
        ("[every]\nconnections = 5\n", "[every], connections is of all runs together. Put it above the first table."),
        (
            "[every]\nstatements = 'ten'\n",
            's.toml, [every], statements: a whole number is expected, and "ten" in quotes is text.',
        ),
        (
            'max-cost = "20"\n',
            's.toml, max-cost: a number is expected, and "20" in quotes is text. Write it as in max-cost = 20.',
        ),
        (
            f"at-once = 2.5\n{EVERY}[product]\nseed = [1]\n",
            "s.toml, at-once: a whole number is expected, and 2.5 is a number with a fraction.",
        ),
        (
            f"share-beliefs = true\n{EVERY}[product]\nseed = [1]\n",
            f"s.toml: nothing is called share-beliefs. {GONE['sweep', '--share-beliefs']}",
        ),
        (
            f"out = 5\n{EVERY}[product]\nseed = [1]\n",
            's.toml, out: text is expected, and 5 is a number. Write it as in out = "5".',
        ),
        (
            f"{EVERY}[product]\nmodel.adapter = ['nothere/*']\n",
            "s.toml, [product], model.adapter: nothing matches the pattern nothere/*.",
        ),
        ("[every]\nstatements = 0\n", "[every], statements: 0 is outside of its limits. Give 1 or more."),
        ("[every]\njudge-style = 'short'\n", "[every], judge-style: 'short' cannot be meant"),
        ("[product]\njudge = ['sim-judge']\n", "[product], model is missing. Add model ="),
        (f"{EVERY}[product]\nseed = []\n", "[product], seed is empty. Give it values, or leave it out."),
        (f"{EVERY}[product]\nseed = [1, 1]\n", "[product], seed: has seed=1 twice. Leave one out"),
        (EVERY, "s.toml, product is missing. Write lists below it"),
        (f"{EVERY}[[run]]\nname='a'\n[[run]]\nname='a'\n", "[[run]] 2, name: a is the name of another run, too."),
        (f"{EVERY}[[run]]\nname='a'\n[[run]]\nname='b'\n", "s.toml: The runs a and b ask the very same."),
        (
            f"{EVERY}[[run]]\nname='Sweep.json'\n",
            "'Sweep.json': sweep.json is a file of the sweep. Give it another name.",
        ),
        (f"{EVERY}checkpoints = 'lable'\n", "nothing is called checkpoints"),
        (
            f"checkpoints = 'lable'\n{EVERY}[product]\nlabel=['a']\n",
            "checkpoints: nothing is called lable. Did you mean",
        ),
        ("[[product.arm]]\ntemperature = 1\n", "[[product.arm]], name is missing. Name what the table is"),
        ("[run]\nname = 'a'\n", "s.toml, run is no list of tables. Write each run below [[run]]."),
        ("[every\n", "s.toml is no TOML"),
        (f"{EVERY}estimate = 'lie'\n", f"[every]: nothing is called estimate. {GONE['run', '--estimate']}"),
        (f"{EVERY}[[run]]\nname='x'\nmodel='nonsense'\n", "[[run]] 1, run x: "),
    ],
)
def test_an_error_names_file_table_key_and_remedy(tmp_path: Path, text: str, message: str) -> None:
    """Whatever cannot be meant is refused before anything is asked, with where it stands and what to do."""
    with pytest.raises(UsageError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A path that leads nowhere says so."""
    ended = typed("sweep", tmp_path / "none.toml")
    assert (ended.code, "none.toml cannot be read (No such file or directory)" in ended.err) == (2, True)


def test_a_dry_run_counts_each_run_and_all(tmp_path: Path) -> None:
    """Calls, tokens and money of every run and in all, with what runs share counted once; nothing is written."""
    file, out = tmp_path / "s.toml", tmp_path / "out"
    file.write_text(
        '[every]\nmodel = "openai/gpt-4o"\nscenarios = "starter"\nlimit = 6\n'
        '[product]\njudge = ["openai/gpt-4o-mini", "openai/gpt-4o"]\nsystem-prompt = ["none", "honest"]\n',
        "utf-8",
    )
    ended = typed("sweep", file, "--out", out, "--dry-run", "--json")
    plan = json.loads(ended.out)
    calls = {name: {m["stage"]: m["calls"][1] for m in run["models"]} for name, run in plan["runs"].items()}
    first, honest, again, both = calls.values()
    assert first == honest
    assert again == both == {"judge": first["judge"]}
    total = sum(sum(each.values()) for each in calls.values())
    assert sum(model["calls"][1] for model in plan["estimate"]["models"]) == total
    assert plan["estimate"]["cost"][1] > plan["estimate"]["cost"][0] > 0
    assert plan["estimate"]["cost"][1] == pytest.approx(sum(run["cost"][1] for run in plan["runs"].values()))
    assert plan["estimate"]["seconds"][1] > 0
    text = typed("sweep", file, "--out", out, "--dry-run").out
    assert "in all" in text
    assert not out.exists()


def test_a_limit_in_dollars_needs_the_price_of_every_model(tmp_path: Path) -> None:
    """A limit that cannot be kept for one run is refused with its name, before anything is asked."""
    file = tmp_path / "s.toml"
    file.write_text(
        'max-cost = 1\n[every]\njudge="sim-judge"\nscenarios="starter"\n[product]\nmodel=["openai-api/x/y"]\n'
    )
    ended = command("sweep", file, "--out", tmp_path / "out", env={**os.environ, "X_BASE_URL": "http://127.0.0.1:9/v1"})
    assert (ended.code, "openai-api-x-y: --max-cost 1 cannot be kept: no price list has" in ended.err) == (
        2,
        True,
    )
    assert not (tmp_path / "out").exists()


def test_checkpoints_end_in_a_curve_and_local_models_take_turns(tmp_path: Path) -> None:
    """Three labels of pinocchio are measured one after another, and end in the leaderboard and their curve."""
    file = tmp_path / "s.toml"
    arms = "".join(f"[[product.step]]\nname='step-{n}'\nlabel='step {n}'\nseed={n}\n" for n in (1, 2))
    file.write_text(f'checkpoints = "step"\n[every]\nmodel = "pinocchio"\nsample = 6\nmax-error-rate = 1.0\n{arms}')
    ended = typed("sweep", file, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    assert "Checkpoints in a row" in ended.out
    rows = [line.split()[0] for line in ended.out.splitlines() if line.startswith("step-")]
    assert rows[:2] == ["step-1", "step-2"]
    assert ended.err.index("step-1: done") < ended.err.index("step-2: done")
