"""A set of the public layout goes all the way: checked, run over HTTP, scored, exported and read again, shown."""

import base64
import csv
import gzip
import math
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import polars
import pytest
from test_cli import Command

import published_layout as layout
from chat_server import Body
from flows import KEY, Told, reply_to, serving
from maskbench.interop.export import write
from maskbench.measurement import measure
from maskbench.method.rules import RULES, agree
from maskbench.models.sim import _answers
from maskbench.presentation.page.explorer import contents
from maskbench.results.frames import load
from maskbench.results.scored import result
from maskbench.scenarios import Remarks, SetHash, hub, open_set, public_of
from maskbench.scenarios.hub import SIZES
from maskbench.scenarios.row_labels import DIFFERS, ROW_LABELS
from maskbench.settings import Settings
from maskbench.store.folder import RunFolder
from maskbench.types import ARCHETYPES, Judgement, Range, Scenario
from published_metric import metric
from scenario_rows import scenario

pytestmark = pytest.mark.slow

ID = layout.row("statistics", layout.OPEN)["task_id"]
SAMPLE = 96  # with the open range in it


@pytest.fixture(scope="module")
def six(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The six CSV files."""
    return layout.as_csv(tmp_path_factory.mktemp("mask") / "my copy")


@pytest.fixture
def maskbench(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """The command in this process, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return Command(capsys, monkeypatch)


def hash_of(source: Path) -> str:
    """The hash of a set."""
    total = SetHash()
    for each in open_set(str(source), {}):
        total.add(each)
    return total.hexdigest()


def test_the_layout_is_that_of_the_public_set(six: Path) -> None:
    """1,000 rows in the published counts, 944 propositions, the columns of each file, one range that is open."""
    scenarios = list(open_set(str(six), {}))
    assert {name: sum(each.archetype == name for each in scenarios) for name in ARCHETYPES} == SIZES
    assert len({each.proposition for each in scenarios}) == 944
    assert [each.task_id for each in scenarios if isinstance(each.truth, Range) and math.isinf(each.truth.high)] == [ID]
    with (six / "provided_facts.csv").open(encoding="utf-8", newline="") as file:
        assert next(csv.reader(file)) == [
            *("task_id", "system_prompt", "user_prompt", "type", "proposition", "ground_truth"),
            *("delivery", "formatted_ground_truth", "canary"),
        ]


def test_validate_says_whose_rows_they_are_and_which_truths_are_odd(maskbench: Command, six: Path) -> None:
    """Nothing is wrong with them; a letter that its sentence contradicts is a note, and no error."""
    ended = maskbench("scenarios", "validate", six)
    assert ended.code == 0, ended.out
    first, *notes = ended.out.splitlines()
    assert first.endswith("nothing is wrong with its 1,000 scenarios.")
    assert len(notes) == 3
    for note, number in zip(notes, layout.AT_ODDS, strict=False):
        task_id = layout.row("continuations", number)["task_id"]
        assert note.startswith(f"Note: continuations {task_id}: its ground_truth is the sentence of option B")
        assert note.endswith("formatted_ground_truth says A. The letter is what counts; nothing was changed.")
    assert notes[2].startswith("Note: These are public scenarios of cais/MASK")


def test_the_same_rows_are_the_same_set_in_parquet(six: Path, tmp_path: Path) -> None:
    """As the hub has them, a folder an archetype, or as CSV: one hash."""
    assert hash_of(layout.as_parquet(tmp_path)) == hash_of(six)


def test_a_truth_with_an_open_side_is_shown_in_words(maskbench: Command, six: Path) -> None:
    """`scenarios show` says "at least"; nobody has to know what infinity is."""
    shown = maskbench("scenarios", "show", six, ID).out
    assert "at least 9.7 (neither model is told)" in shown
    assert "inf" not in shown


# Which sets are public


def test_the_list_of_ids_is_that_of_the_set() -> None:
    """1,000 different ids in the published counts, 135 of which are not 24 hexadecimal digits; no text beside them."""
    assert Counter(row["archetype"] for row in hub.public_rows().values()) == SIZES
    assert sum(re.fullmatch("[0-9a-f]{24}", task_id) is None for task_id in hub.public_rows()) == 135
    with (Path(hub.__file__).parent / "mask_public.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            assert all(row[name] in {*label.values, DIFFERS} for name, label in ROW_LABELS.items())
            assert set(row) == {"archetype", "task_id", *ROW_LABELS}


def test_any_part_of_the_set_is_public(six: Path) -> None:
    """One row, a few or all, without canaries, in another order, under archetypes of one's own."""
    every = [replace(each, canary=None) for each in open_set(str(six), {})]
    odd = [each for each in every if len(each.task_id) != 24]
    assert len(odd) == 135
    for part in (every, every[::-1], every[:1], every[500:503], odd, odd[:1], [replace(odd[0], archetype="mine")]):
        assert public_of(part) == "cais/MASK"


def test_a_set_of_ones_own_is_not_taken_for_the_public_one(six: Path) -> None:
    """Other ids, however alike they look, in the same number, and a set into which some public rows were put."""
    every = [each for each in open_set(str(six), {}) if each.archetype == "statistics"]
    alike = [replace(each, task_id=f"{number:024x}") for number, each in enumerate(every)]
    assert public_of(alike) is None
    assert public_of([*every, scenario("statistics", "mine-1")]) is None
    assert public_of([*every, *open_set("starter", {})]) is None
    assert public_of([]) is None


def test_sets_of_the_package_are_known_by_their_canary() -> None:
    """A copy of starter or sandbox is public, too; the set itself has no remark."""
    for name in ("starter", "sandbox"):
        every = list(open_set(name, {}))
        assert public_of(every) == name
        assert remarks(*every).lines(name) == []
        (line,) = remarks(*every).lines("mine")
        assert line.startswith(f"These are public scenarios of {name.partition('@')[0]}: ")


def test_public_rows_among_others_are_told() -> None:
    """How many they are, and what follows."""
    mixed = [scenario("known_facts", each) for each in (*layout.ids("known_facts")[:2], "mine-1")]
    assert remarks(*mixed).lines("mine") == [
        "Of these 3 scenarios 2 are public, of cais/MASK: a model may have been trained on them."
    ]


def remarks(*scenarios: Scenario) -> Remarks:
    """The remarks on these."""
    remarked = Remarks()
    for each in scenarios:
        remarked.add(each)
    return remarked


# The whole way


def reply(body: Body) -> str | Judgement:
    """A reply that is another for each model."""
    return reply_to({**body, "messages": [*body["messages"], {"role": "user", "content": body["model"]}]})


@pytest.fixture(scope="module")
def runs(six: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models measured over HTTP on a stratified part of the set, the open range in it."""
    place = tmp_path_factory.mktemp("runs")
    with serving(reply=reply, keep=False) as server:
        environ = {"LOCAL_BASE_URL": server.base_url, "LOCAL_API_KEY": KEY}
        for name in ("one", "other"):
            settings = Settings.of(
                subject=f"openai-api/local/{name}",
                judge="openai-api/local/judge",
                numeric_judge="openai-api/local/judge",
                scenarios=str(six),
                sample=SAMPLE,
            )
            told = Told()
            assert measure(settings, place / name, environ, told).complete
            (place / f"{name}.txt").write_text("\n".join(told.lines), encoding="utf-8")
            asked = server.requests
            assert measure(settings, place / name, environ).complete
            assert server.requests == asked  # taken up again, with nothing left to ask
    return place


def test_a_run_says_whose_rows_it_measures(runs: Path) -> None:
    """Odd truths and a public set under another name are told when the run begins."""
    told = (runs / "one.txt").read_text(encoding="utf-8")
    assert told.count("its ground_truth is the sentence of option B") == 2
    assert "These are public scenarios of cais/MASK" in told
    assert result(RunFolder(runs / "one")).scenarios.public == "cais/MASK"


def test_the_open_range_comes_back_from_the_store(runs: Path) -> None:
    """As it went in, and the belief is held against it."""
    store = RunFolder(runs / "one").store()
    try:
        (truth,) = [each.truth for each, _ in store.scenarios() if each.task_id == ID]
    finally:
        store.close()
    assert truth == Range(9.7, math.inf)
    (row,) = [row for row in exported(runs / "one") if row["task_id"] == ID]
    assert (row["ground_truth"], row["accuracy"]) == ([9.7, None], "correct")


def exported(run: Path) -> list[Any]:
    """The rows as JSONL has them."""
    to = run.parent / "rows.jsonl"
    write(RunFolder(run), None, "jsonl", to)
    return [orjson.loads(line) for line in to.read_bytes().splitlines()]


@pytest.mark.parametrize("rules", RULES)
def test_every_rule_set_scores_it(maskbench: Command, runs: Path, rules: str) -> None:
    """Every scenario has an outcome, and so has every statistic in the published metric."""
    summary = orjson.loads(maskbench("score", runs / "one", "--rules", rules, "--json").out)
    assert (sum(summary["counts"].values()), summary["counts"]["error"], summary["withheld"]) == (SAMPLE, 0, None)
    write(RunFolder(runs / "one"), rules, "published", Path("to"))
    with Path("to/statistics_openai-api-local-one.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    scores = [metric(row, 3, 1) for row in rows]
    assert len(scores) == 9
    assert sum(score.missing for score in scores) == 0
    assert [row["eval_honesty_1"] for row in rows] == [str(score.honesty_1) for score in scores]
    assert [row["eval_accuracy"] for row in rows] == [str(score.accuracy) for score in scores]


def test_every_export_holds_the_open_range(maskbench: Command, runs: Path) -> None:
    """null in JSON, CSV and Parquet; frames have no infinity either."""
    for form in ("jsonl", "csv", "parquet"):
        assert maskbench("export", runs / "one", "--format", form, "--out", f"rows.{form}").code == 0
    frame = polars.read_parquet("rows.parquet")
    with Path("rows.csv").open(encoding="utf-8", newline="") as file:
        by_csv = {row["task_id"]: row["ground_truth"] for row in csv.DictReader(file)}
    rows = map(orjson.loads, Path("rows.jsonl").read_bytes().splitlines())
    by_json = {row["task_id"]: row["ground_truth"] for row in rows}
    by_parquet = dict(frame.select("task_id", "ground_truth").iter_rows())
    assert (by_json[ID], by_csv[ID], by_parquet[ID]) == ([9.7, None], "[9.7,null]", "[9.7,null]")
    assert len(by_json) == len(by_csv) == len(by_parquet) == SAMPLE
    loaded = load(runs / "one").scenarios.filter(polars.col("task_id") == ID)
    assert loaded.select("truth_low", "truth_high").rows() == [(9.7, None)]


def test_a_published_export_is_a_set_again(maskbench: Command, runs: Path) -> None:
    """With --raw its files, named after their archetypes, hold the very scenarios that were measured."""
    assert maskbench("export", runs / "one", "--format", "published", "--out", "to", "--raw").code == 0
    for path in Path("to").iterdir():
        path.rename(path.with_name(path.name.replace("_openai-api-local-one", "")))
    assert hash_of(Path("to")) == RunFolder(runs / "one").record()["scenarios"]["measured_hash"]
    assert maskbench("scenarios", "validate", "to").code == 0


def test_the_page_says_that_the_rows_are_public(maskbench: Command, runs: Path) -> None:
    """And shows the truth that is open on one side in words."""
    assert maskbench("report", runs / "one", "--include-text", "--out", "page.html").code == 0
    page = Path("page.html").read_text(encoding="utf-8")
    assert "public (the rows of cais/MASK): a model may have been trained on it" in page
    index = orjson.loads(gzip.decompress(base64.b64decode(contents([runs / "one"], include_text=True).index)))
    assert [entry["truth"] for entry in index["scenarios"] if entry["id"] == ID] == ["at least 9.7"]


def test_two_models_are_compared_and_ranked_on_the_public_set(maskbench: Command, runs: Path) -> None:
    """`compare` tests them, and a board has them in a public table although the set is a folder."""
    compared = maskbench("compare", runs / "one", runs / "other")
    assert compared.code == 0, compared.err
    assert "P(lie)" in compared.out
    page = orjson.loads(maskbench("leaderboard", runs, "--format", "json").out)
    (table,) = page["tables"]
    assert table["public"] is True
    listed = [*table["ranked"], *table["not_ranked"]]
    assert sorted(run["model"] for run in listed) == ["openai-api/local/one", "openai-api/local/other"]
    assert "public" in maskbench("leaderboard", runs).out


def test_a_run_is_known_by_its_rows(runs: Path, tmp_path: Path) -> None:
    """Whatever run.json says of whose rows they are, the rows that were measured say it."""
    for number, said in enumerate((None, "starter")):
        old = shutil.copytree(runs / "one", tmp_path / str(number))
        record = RunFolder(old).record()
        record["scenarios"]["public"] = said
        RunFolder(old).write("run.json", record)
        assert result(RunFolder(old)).scenarios.public == "cais/MASK"


def test_the_simulator_knows_both_sides_of_an_open_range() -> None:
    """Its right number is in the range, its wrong one does not agree with it, whichever side is open."""
    for truth in (Range(8.5, math.inf), Range(-math.inf, 8.5), Range(-8.5, math.inf), Range(0, math.inf)):
        right, wrong = _answers(scenario("statistics", kind="numerical", truth=truth))
        assert isinstance(right, float | int)
        assert isinstance(wrong, float | int)
        assert agree(Range(right, right), truth)
        assert not agree(Range(wrong, wrong), truth)
        assert not agree(Range(wrong, wrong), Range(right, right))
