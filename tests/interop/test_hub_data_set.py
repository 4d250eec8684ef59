"""The data set folder of the hub: its card says what is in it, keeps canary and gate, and its Parquet is typed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars
import pytest
from huggingface_hub import DatasetCard

import measured_runs
import shared_runs
from flows import typed
from maskbench.interop.hub_data_set import OURS, PROMISE, Part, card
from maskbench.interop.shown_to_others import shown
from maskbench.method.rates import RATES
from maskbench.results.scored import score
from maskbench.types import Sampling


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a private set."""
    return shared_runs.own(tmp_path_factory.mktemp("own"))


def folder(run: Path, to: Path, *words: str) -> Path:
    """The data set folder of a run."""
    ended = typed("export", run, "--format", "hf", "--out", to, *words)
    assert ended.code == 0, ended.err
    return to


def test_the_hubs_own_reader_of_cards_finds_licence_gate_and_parts(run: Path, tmp_path: Path) -> None:
    """Of a private set the licence is left open, the gate asks for a promise, and the canary stands in the card."""
    card = DatasetCard.load(folder(run, tmp_path / "set") / "README.md", ignore_metadata_errors=False)
    assert card.data.license == "unknown"
    assert card.data.extra_gated_fields == {PROMISE: "checkbox"}
    assert shared_runs.CANARY in card.text
    configs = {each["config_name"]: each for each in card.data.configs}
    (digest,) = {name.partition("-")[2] for name in configs}
    assert list(configs) == [f"{part}-{digest}" for part in ("scenarios", "statements", "rates")]
    assert (len(digest), configs[f"scenarios-{digest}"]["default"]) == (12, True)
    assert f'load_dataset(FOLDER, "scenarios-{digest}", split="test")' in card.text
    for each in configs.values():
        (split,) = each["data_files"]
        assert (tmp_path / "set" / split["path"]).is_file()


def test_configurations_are_named_after_their_rows(run: Path, tmp_path: Path) -> None:
    """Other rows have other names, and equal rows the same ones, because the library goes by the name."""

    def names(place: Path) -> frozenset[str]:
        return frozenset(each["config_name"] for each in DatasetCard.load(place / "README.md").data.configs)

    first = names(folder(run, tmp_path / "1" / "set"))
    assert names(folder(run, tmp_path / "2" / "set")) == first
    other = measured_runs.run(
        tmp_path / "other", shared_runs.SUBJECT, scenarios=score(run).settings.design.scenarios, seed=1
    )
    for place in (folder(other, tmp_path / "3" / "set"), folder(run, tmp_path / "4" / "set", "--with-text")):
        assert not names(place) & first


def test_features_are_those_of_the_files(run: Path, tmp_path: Path) -> None:
    """What the card says of columns is what Parquet has, with texts as without, and rows are as many as scenarios."""
    place = folder(run, tmp_path / "set", "--with-text")
    types = {"string": polars.String, "float64": polars.Float64, "int64": polars.Int64}
    for info in DatasetCard.load(place / "README.md").data.dataset_info:
        (file,) = (place / info["config_name"].partition("-")[0]).glob("*.parquet")
        table = polars.read_parquet(file)
        assert {row["name"]: types[row["dtype"]] for row in info["features"]} == dict(table.schema)
        assert len(table) > 0
    assert set(polars.read_parquet(place / "prompts" / "*.parquet")["canary"]) == {shared_runs.CANARY}


def test_counts_and_rates_are_those_of_the_run(run: Path, tmp_path: Path) -> None:
    """Outcomes counted from the file are those of `maskbench score`, and so is every rate."""
    place, result = folder(run, tmp_path / "set"), score(run)
    outcomes = polars.read_parquet(place / "scenarios" / "*.parquet")["outcome"].value_counts()
    counted = dict(outcomes.iter_rows())
    assert counted == {name: count for name, count in result.summary.counts_at["1"].items() if count}
    rates = polars.read_parquet(place / "rates" / "*.parquet").filter(archetype="all", rate="p_lie")
    assert rates.rows()[0][2:5] == (result.rates["p_lie"].value, result.rates["p_lie"].low, result.rates["p_lie"].high)


def test_a_canary_stands_there_letter_by_letter(run: Path) -> None:
    """Who looks for it in a text finds it, whatever signs it has; a fence in it ends no fence."""
    seen = replace(shown(run), canaries=("a_b*c <!-- [x](y) ````` -->", "other"))
    text = card(seen, [Part("scenarios", {}, [], "all")], dict.fromkeys(RATES, ""))
    assert "``````text\na_b*c <!-- [x](y) ````` -->\nother\n``````\n" in text


def test_sets_of_ours_have_their_licence_and_no_gate(tmp_path: Path) -> None:
    """`starter` and `sandbox` are CC BY 4.0, and the canary stays all the same; a subject that is none is named so."""
    run = measured_runs.run(tmp_path / "run", scenarios="starter", sample=12)
    card = DatasetCard.load(folder(run, tmp_path / "set") / "README.md")
    assert score(run).summary.scenarios.public in OURS
    assert (card.data.license, card.data.get("extra_gated_fields")) == ("cc-by-4.0", None)
    assert "maskbench:starter:" in card.text
    assert "Not a real model" in card.text


def test_a_folder_with_something_in_it_is_left_alone(run: Path, tmp_path: Path) -> None:
    """The card lists all that is in the folder, so nothing else may be there."""
    (tmp_path / "mine").write_text("mine")
    ended = typed("export", run, "--format", "hf", "--out", tmp_path)
    assert (ended.code, "Give --out a new folder" in ended.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_hostile_name_is_text_in_the_card(run: Path, tmp_path: Path) -> None:
    """A model called like YAML and Markdown changes neither what the hub reads nor what a browser shows."""
    hostile = measured_runs.copied(run, tmp_path / "run").path
    measured_runs.edit(hostile, subject='x"]\n---\nlicense: mit # <script>alert(1)</script> [y](http://z)')
    card = DatasetCard.load(folder(hostile, tmp_path / "set") / "README.md")
    assert card.data.license == "unknown"
    assert "<script>" not in card.text
    assert "[y](http" not in card.text


def test_the_card_says_how_subject_and_judge_were_asked(run: Path) -> None:
    """Temperature and token limits of both stand there, with replies a question; of what nobody knows nothing does."""
    seen = shown(run)
    settings = seen.settings.having(sampling=Sampling(0.7, 1_234, 0), judge_sampling=Sampling(0.25, 321, 500))
    parts = [Part("scenarios", {}, [], "all")]
    text = card(replace(seen, settings=settings), parts, dict.fromkeys(RATES, ""))
    assert "| subject's sampling | temperature 0.7, at most 1,234 tokens |" in text
    assert "| judge's sampling | temperature 0.25, at most 321 tokens, 500 more where it reasons |" in text
    assert "| neutral replies to the direct belief question | 3 |" in text
    unknown = replace(seen, settings=settings.having(imported=("transcripts", "sampling")))
    assert "subject's sampling" not in card(unknown, parts, dict.fromkeys(RATES, ""))
    rules = replace(seen, settings=settings.having(judge="rules/x", numeric_judge="rules/x"))
    assert "judge's sampling" not in card(rules, parts, dict.fromkeys(RATES, ""))
