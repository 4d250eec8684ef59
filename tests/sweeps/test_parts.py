"""A sweep in parts that other machines measure: what hangs together stays together, and limits are divided."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from flows import typed
from maskbench.cli.sweep_file import read_file
from maskbench.errors import BudgetReached, UsageError
from maskbench.runs.folder import RunFolder, runs_below
from maskbench.settings import Budget, Settings
from maskbench.sweeps.parts import Part, parts, remember_shares
from maskbench.sweeps.sweep_json import read_sweep

FILE = """
{top}
[every]
model = "sim/lie=0.4"
judge = "sim-judge"
limit = 6
[product]
{product}
"""
SEEDS = "seed = [1, 2, 3]"
PROMPTS = 'seed = [1, 2]\nsystem-prompt = ["none", "honest"]'


def divided(
    place: Path, product: str = SEEDS, top: str = "", budget: Budget | None = None, at_once: int | None = None
) -> list[Part]:
    """The parts of a sweep with this product."""
    file = place / "sweep.toml"
    file.write_text(FILE.format(top=top, product=product), "utf-8")
    wanted = read_file(file)
    budget = budget or wanted.budget
    return parts(wanted.runs, place / "out", budget, {}, share_beliefs=wanted.share_beliefs, at_once=at_once)


def test_runs_that_need_nothing_of_each_other_are_parts_of_their_own(tmp_path: Path) -> None:
    """Runs with another seed share nothing, so that each can be measured elsewhere."""
    assert [list(part.runs) for part in divided(tmp_path)] == [["seed=1"], ["seed=2"], ["seed=3"]]


def test_runs_that_share_beliefs_are_one_part(tmp_path: Path) -> None:
    """Who takes the beliefs of another run is in one job with it; without sharing each is alone."""
    shared = divided(tmp_path, PROMPTS, "share-beliefs = true")
    assert [sorted(part.runs) for part in shared] == [
        ["seed=1_honest", "seed=1_plain"],
        ["seed=2_honest", "seed=2_plain"],
    ]
    assert len(divided(tmp_path, PROMPTS)) == 4


def test_runs_that_differ_in_their_judge_are_one_part(tmp_path: Path) -> None:
    """Their replies are one run's, and two machines cannot write into one run."""
    (part,) = divided(tmp_path, 'judge = ["sim-judge", "sim-judge/noise=0.1"]')
    assert len(part.runs) == 2


def test_limits_are_divided_so_that_all_parts_keep_to_them(tmp_path: Path) -> None:
    """Money and tokens are divided among all parts, and paces among those that are under way at a time."""
    budget = Budget(max_cost=9.0, max_tokens_total=100, rpm=7, tpm=1001)
    shares = [part.budget for part in divided(tmp_path, budget=budget, at_once=2)]
    assert [(each.max_cost, each.max_tokens_total, each.rpm, each.tpm) for each in shares] == [(3.0, 33, 3, 500)] * 3


def test_what_cannot_be_divided_is_refused(tmp_path: Path) -> None:
    """Two requests a minute are too few for three jobs, and the error says so."""
    with pytest.raises(UsageError, match=r"--rpm 2 cannot be divided among 3 jobs\. Give more, or fewer runs\."):
        divided(tmp_path, budget=Budget(rpm=2))


def test_a_limit_in_dollars_without_a_price_is_refused(tmp_path: Path) -> None:
    """A job that could not keep to its share is refused here, not on a machine that it has waited for."""
    runs = {"a": Settings("openai-api/own/a", "sim-judge", "starter")}
    environ = {"OWN_BASE_URL": "http://127.0.0.1:9/v1", "OWN_API_KEY": "EMPTY"}
    with pytest.raises(UsageError, match="a: --max-cost 5 cannot be kept: no price list has openai-api/own/a"):
        parts(runs, tmp_path / "out", Budget(max_cost=5.0), environ, share_beliefs=False, at_once=None)


def test_limits_that_were_divided_otherwise_before_are_refused(tmp_path: Path) -> None:
    """Where runs were added, the first jobs may have used a larger share, so the sum could be more than the limit."""
    (tmp_path / "out" / ".jobs").mkdir(parents=True)
    remember_shares(tmp_path / "out", 2)
    with pytest.raises(
        UsageError, match=r"divided among 2 jobs, and now there are 3.*a file and a folder of their own"
    ):
        divided(tmp_path, top="max-tokens-total = 900")
    assert len(divided(tmp_path)) == 3  # without limits nothing is divided


def test_a_part_measures_its_runs_into_the_folder_of_the_sweep(tmp_path: Path) -> None:
    """Parts that were called one by one leave the runs that a plain sweep goes on with, and asks nothing of again."""
    several = divided(tmp_path)
    for part in several:
        assert not part.is_done()
        assert part() == dict.fromkeys(part.runs, "done")
        assert part.is_done()
    assert sorted(path.name for path in runs_below(tmp_path / "out")) == ["seed=1", "seed=2", "seed=3"]
    assert read_sweep(tmp_path / "out") is None  # every part has a record of its own
    sessions = [RunFolder(tmp_path / "out" / name).sessions() for name in ("seed=1", "seed=2", "seed=3")]
    assert typed("sweep", tmp_path / "sweep.toml", "--out", tmp_path / "out").code == 0
    assert [RunFolder(tmp_path / "out" / name).sessions() for name in ("seed=1", "seed=2", "seed=3")] == sessions


def test_a_part_keeps_to_its_share(tmp_path: Path) -> None:
    """A job stops at its own share of the limit, and counts what it used in an earlier session."""
    part = divided(tmp_path, budget=Budget(max_tokens_total=9_000))[0]
    with pytest.raises(BudgetReached, match="3,000 tokens is reached"):
        part()
    with pytest.raises(BudgetReached, match="3,000 tokens is reached"):
        part()


def test_a_part_under_way_is_seen(tmp_path: Path) -> None:
    """While its lock is held a part is under way, and a second process that would measure it is refused."""
    part = divided(tmp_path)[0]
    assert not part.is_under_way()
    part.place.mkdir(parents=True)
    with RunFolder(part.place).writing():
        assert part.is_under_way()
    assert not part.is_under_way()


def test_a_run_without_a_key_becomes_no_job(tmp_path: Path) -> None:
    """What is known to be wrong with a run is said here, not on a machine that its job has waited for."""
    with pytest.raises(UsageError, match=r"openai-none.*: openai/none needs a key: set OPENAI_API_KEY"):
        divided(tmp_path, 'model = ["openai/none"]\nscenarios = ["starter"]')


def test_the_table_of_slurm_is_read_and_its_keys_are_as_in_the_file(tmp_path: Path) -> None:
    """What stands in [slurm] goes to submitit with its hyphens as it has them."""
    file = tmp_path / "sweep.toml"
    file.write_text(f'{FILE.format(top="", product=SEEDS)}[slurm]\npartition = "gpu"\ngpus-per-node = 1\n', "utf-8")
    assert read_file(file).slurm == {"partition": "gpu", "gpus_per_node": 1}
    assert orjson.dumps(read_file(file).slurm)
