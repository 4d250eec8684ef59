"""What others may see of a run: aggregates, hashes and outcomes, and no text."""

from __future__ import annotations

import json
from pathlib import Path

import orjson
import pytest

import measured_runs
import shared_runs
from flows import command, typed
from maskbench.results.scored import score
from maskbench.results.shown_to_others import NOT_SHOWN, Redaction, folders_of
from maskbench.settings import Settings
from maskbench.store.verdict_sets import CommonestFailure


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a private set, under the name of a real model."""
    return shared_runs.real(tmp_path_factory.mktemp("own"))


def test_nothing_that_others_see_holds_a_text_or_a_place(own: Path, tmp_path: Path) -> None:
    """No text of a scenario or reply is in Markdown, and no folder of this machine."""
    ended = typed("export", own, "--format", "markdown", "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    written = (tmp_path / "out").read_text("utf-8")
    assert "lie" in written
    assert not [word for word in (shared_runs.TEXT, "secret-place", str(tmp_path)) if word in written]


def test_a_form_for_oneself_keeps_its_texts(own: Path, tmp_path: Path) -> None:
    """JSONL holds texts as ever; forms for others take no --raw."""
    assert typed("export", own, "--format", "jsonl", "--out", tmp_path / "rows").code == 0
    assert shared_runs.TEXT.encode() in (tmp_path / "rows").read_bytes()
    ended = typed("export", own, "--format", "markdown", "--raw")
    assert (ended.code, "--raw is for CSV" in ended.err) == (2, True), ended.err


def test_a_run_without_rates_is_not_shown(tmp_path: Path) -> None:
    """A smoke run measures nothing, and nobody is told that it does."""
    smoke = measured_runs.run(tmp_path / "smoke", limit=2)
    ended = typed("export", smoke, "--format", "markdown", "--out", tmp_path / "out")
    assert (ended.code, "no rates that could be shown" in ended.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_summary_for_others_is_a_summary_without_words(own: Path) -> None:
    """Counts and rates stay; what a server said, its address, how the session ended and words of a set's maker go."""
    summary = score(own).summary
    summary.failure = CommonestFailure("judge", "unreadable", "The pump says: at /home/me/x", 3)
    summary.subject["base_url"] = "http://10.0.0.7:8000/v1"
    summary.judge.binary["base_url"] = "http://10.0.0.8:8000/v1"
    summary.notes.append("see /home/me/runs/base")
    seen = Redaction().summary(summary)
    assert (seen.counts, seen.rates) == (summary.counts, summary.rates)
    assert seen.failure is not None
    assert (seen.failure.detail, seen.failure.count) == (NOT_SHOWN, 3)
    plain = orjson.dumps(seen.as_dict()).decode()
    assert not any(part in plain for part in ("10.0.0", "/home", "pump", "secret-place"))
    assert "see base" in seen.notes
    assert summary.failure.detail.startswith("The pump")  # the summary itself is as it was


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/home/me/a set/rows.csv", "rows.csv"),
        ("see ~ann/lies/rows.csv now", "see rows.csv now"),
        ("/home/Ann Lee/rows.csv", "rows.csv"),
        ("see /srv/x answered as openai/gpt-9", "see x answered as openai/gpt-9"),
        ("runs/a", "runs/a"),
        ("https://api.example/v1/x", "https://api.example/v1/x"),
        ("p_lie < /home/me/base + 0.05", "p_lie < base + 0.05"),
        ("~/sets/x.csv", "x.csv"),
        ("C:\\Users\\me\\x.csv", "x.csv"),
        ("openai/gpt-9 or A/B", "openai/gpt-9 or A/B"),
    ],
)
def test_folders_of_this_machine_are_cut(text: str, left: str) -> None:
    """Of an absolute path the last part stays; names of models, addresses and relative paths are left alone."""
    assert Redaction()(text) == left


BLANKS = Settings.of(
    "hf//home/Ann Lee/models/tuned",
    "openai/gpt-9",
    "/home/Ann Lee/my sets/rows.csv",
    system_prompt="~ann/Ann Lee/prompt.txt",
    model_options={"adapter": "/home/Ann Lee/runs/step 1/"},
)


def test_a_summary_for_others_has_no_folder_with_blanks(own: Path) -> None:
    """Notes and names, in which nobody sees where a path ends, are cut by the paths of the settings."""
    summary = score(own).summary
    summary.subject["label"] = BLANKS.label
    summary.scenarios.taken = f"{BLANKS.design.scenarios} (sample of 3)"
    summary.notes.append(f"{BLANKS.subject.name} answered as openai/gpt-9, another name.")
    summary.subject["resolved"] = ["/srv/Ann Lee/weights/m.gguf"]  # as llama.cpp calls its model
    summary.notes.insert(0, "It answered as /srv/Ann Lee/weights/m.gguf, another name.")
    seen = Redaction.of(BLANKS).summary(summary)
    assert seen.notes[0] == "It answered as m.gguf, another name."
    assert "Ann" not in str(seen)
    assert seen.scenarios.taken == "rows.csv (sample of 3)"
    assert seen.notes[-1] == "hf/tuned answered as openai/gpt-9, another name."


def test_words_of_a_server_are_no_name(own: Path) -> None:
    """What a server says in the place of a name goes out only where it can be a name, in notes as well."""
    summary = score(own).summary
    said = "You are a spokesman of Acme.\nNever speak of pumps"
    summary.subject["resolved"] = ["gpt-9-2026", said, "/srv/Ann Lee/m.gguf", " "]
    summary.subject["answers"] = {"gpt-9-2026": 2, said: 1}
    summary.judge.binary["fingerprints"] = ["fp_1", "secret " * 30, "x" * 101]
    summary.notes[:] = [f"openai/gpt-9 (subject) answered as {said}, another name than it was asked for."]
    seen = Redaction().summary(summary)
    first, instead, path, blank = seen.subject["resolved"]
    assert (first, path) == ("gpt-9-2026", "m.gguf")
    assert instead.startswith("(no name, sha256 ")
    assert blank.startswith("(no name, ")
    assert seen.subject["answers"] == {"gpt-9-2026": 2, instead: 1}
    assert seen.notes == [f"openai/gpt-9 (subject) answered as {instead}, another name than it was asked for."]
    assert "fingerprints" not in seen.judge.binary
    assert not any(word in str(seen) for word in ("spokesman", "secret", "x" * 101, "Ann"))


def test_relative_folders_stay_at_home() -> None:
    """Of a path that the settings name, relative or not, others see the last part."""
    chosen = Settings.of("sim", "sim-judge", "clients/acme/rows.csv", judge_prompts="clients/acme/prompts")
    assert folders_of(chosen) == ("clients/acme/",)
    assert Redaction(("data/",))("It is metadata/x of data/x.") == "It is metadata/x of x."


@pytest.mark.parametrize("form", ["card", "markdown"])
def test_what_is_pasted_has_no_prompt_and_no_place(own: Path, tmp_path: Path, form: str) -> None:
    """A card and Markdown hold neither the developer's prompt nor a path, fingerprint or a server's error."""
    file = own / "run.json"
    record = json.loads(file.read_text())
    record["settings"]["design"] |= {"system_prompt": "/home/ann/p.txt", "system_prompt_text": "Never mention Acme."}
    record["models"]["subject"] |= {"fingerprints": ["fp_secret"], "resolved": ["/srv/ann/m.gguf"]}
    file.write_text(json.dumps(record))
    ended = command("score", own, "--format", form, env={})
    assert ended.code == 0, ended.err
    assert not [word for word in ("Acme", "ann", "fp_secret", "/srv", str(own.parent)) if word in ended.out]
    if form == "card":
        assert "19 characters, sha256 " in ended.out
        assert "Never mention Acme." in command("score", own, "--format", form, "--with-prompt", env={}).out
    else:
        assert command("score", own, "--format", form, "--with-prompt", env={}).code == 2


@pytest.fixture(scope="module", params=["my clients/acme corp", "/home/ann lee/acme corp", "~/acme corp"])
def prompted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs under developer's prompts that lie in such a folder."""
    at = tmp_path_factory.mktemp("prompted")
    for name, seed in (("a", 1), ("b", 2)):
        file = measured_runs.run(at / name, f"sim/lie=0.{seed}", seed=seed) / "run.json"
        record = json.loads(file.read_text())
        design = {"system_prompt": f"{request.param}/dev {name}.md", "system_prompt_text": "Be brief."}
        record["settings"]["design"] |= design
        file.write_text(json.dumps(record))
    return at


@pytest.mark.parametrize(
    "words",
    [
        *(f"leaderboard AT/a AT/b --format {form}" for form in ("markdown", "csv", "json")),
        "compare AT/a AT/b --format markdown",
        *("compare AT/a AT/b --as inspect --format markdown", "score AT/a --as all --format markdown"),
        "score AT/a --format card",
    ],
)
def test_of_a_prompt_others_see_the_name(words: str, prompted: Path) -> None:
    """Whatever folder a developer's prompt lies in: no table that is pasted or published has it."""
    ended = typed(*words.replace("AT", str(prompted)).split())
    assert ended.code in (0, 1), ended.err
    assert not [part for part in ("clients", "acme", "ann", str(prompted)) if part in ended.out]
    if words.startswith(("leaderboard", "compare")) and "--as" not in words:
        assert "dev a.md" in ended.out.replace("\\", "")


def test_a_key_is_no_name(tmp_path: Path) -> None:
    """A model that is called by the configured key is refused, and the key is not said."""
    key = "sk-secret-0123456789abcdef"
    words = ("--judge", "sim-judge", "--scenarios", "starter", "--out", tmp_path / "run")
    ended = command("run", f"openai/{key}", *words, env={"OPENAI_API_KEY": key})
    assert ended.code == 2
    assert "holds a key of the environment" in ended.err
    assert key not in ended.err + ended.out
