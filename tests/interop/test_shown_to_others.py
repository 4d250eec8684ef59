"""What others may see of a run: aggregates, hashes and outcomes; texts where they are asked for, never cais/MASK's."""

from __future__ import annotations

import hashlib
import json
from itertools import groupby
from pathlib import Path

import orjson
import polars
import pytest

import measured_runs
import published_layout as layout
import shared_runs
from flows import command, typed
from maskbench import load
from maskbench.errors import UsageError
from maskbench.interop.shown_to_others import NOT_SHOWN, for_others, settings_for_others, shown, without_folders
from maskbench.judges.verdict_sets import CommonestFailure, OpenRun
from maskbench.results.scored import score
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.types import ARCHETYPES, Archetype
from scenario_rows import Cells, folder, row

FORMS = ("hf", "every-eval-ever", "markdown")


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a private set, under the name of a real model."""
    return shared_runs.real(tmp_path_factory.mktemp("own"))


@pytest.fixture(scope="module")
def public(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a few rows of the public set, from files of one's own."""
    return shared_runs.public(tmp_path_factory.mktemp("public"))


def content(path: Path) -> bytes:
    """All bytes of a file, or of every file below a folder, with the names of the files."""
    files = [path] if path.is_file() else sorted(each for each in path.rglob("*") if each.is_file())
    assert files
    return b"".join(str(file).encode() + _bytes(file) for file in files)


def _bytes(file: Path) -> bytes:
    """A file as it is, Parquet as JSON, since it is compressed."""
    return polars.read_parquet(file).write_json().encode() if file.suffix == ".parquet" else file.read_bytes()


@pytest.mark.parametrize("form", FORMS)
def test_nothing_that_others_see_holds_a_text_or_a_place(own: Path, tmp_path: Path, form: str) -> None:
    """No text of a scenario or reply is in any of the forms, and no folder of this machine."""
    ended = typed("export", own, "--format", form, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    written = content(tmp_path / "out").replace(str(tmp_path).encode(), b"")
    assert b"lie" in written
    assert shared_runs.TEXT.encode() not in written
    assert b"secret-place" not in written


@pytest.mark.parametrize("form", ["hf", "every-eval-ever"])
def test_texts_go_out_where_somebody_asks_for_them(own: Path, tmp_path: Path, form: str) -> None:
    """--with-text adds scenarios and replies of a set of one's own."""
    ended = typed("export", own, "--format", form, "--with-text", "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    seen = shown(own, with_text=True)
    first = seen.scenarios[0].texts
    assert first is not None
    assert shared_runs.TEXT in first[0].proposition
    assert first[1][0][-1]
    assert seen.canaries == (shared_runs.CANARY,)
    assert shared_runs.TEXT.encode() in content(tmp_path / "out")


@pytest.mark.parametrize("form", ["hf", "every-eval-ever"])
def test_texts_of_the_public_set_are_refused(public: Path, tmp_path: Path, form: str) -> None:
    """A few of its rows in a folder of any name are still its rows; nothing is written."""
    ended = typed("export", public, "--format", form, "--with-text", "--out", tmp_path / "out")
    assert (ended.code, "whose texts are not passed on" in ended.err) == (2, True)
    assert not (tmp_path / "out").exists()
    assert typed("export", public, "--format", form, "--out", tmp_path / "out").code == 0
    seen = shown(public)
    assert seen.canaries == (layout.CANARY,)
    assert (seen.is_mask, seen.set_name) == (True, "cais/MASK")


def test_the_public_set_is_known_by_its_name(own: Path, tmp_path: Path) -> None:
    """By the name that was asked for, whatever ids the rows have."""
    named = measured_runs.copied(own, tmp_path / "named").path
    measured_runs.edit(named, scenarios="cais/MASK")
    assert shown(named).is_mask
    with pytest.raises(UsageError, match="are those of cais/MASK"):
        shown(named, with_text=True)


@pytest.mark.parametrize("form", ["hf", "every-eval-ever"])
def test_rows_whose_ids_look_like_no_other_are_public_too(tmp_path: Path, form: str) -> None:
    """A set of nothing but public rows whose ids are not 24 digits, without a canary, keeps its texts in."""
    rows: dict[Archetype, list[Cells]] = {}
    for name in ARCHETYPES:
        odd = [each for each in layout.ids(name) if len(each) != 24]
        rows[name] = [row(name, number, task_id=each, canary=None) for number, each in enumerate(odd)]
    assert sum(map(len, rows.values())) == 135
    path = measured_runs.run(tmp_path / "run", shared_runs.SUBJECT, scenarios=str(folder(tmp_path / "mine", rows)))
    ended = typed("export", path, "--format", form, "--with-text", "--out", tmp_path / "out")
    assert (ended.code, "are those of cais/MASK" in ended.err, (tmp_path / "out").exists()) == (2, True, False)


def test_one_public_row_among_ones_own_keeps_all_texts_in(tmp_path: Path) -> None:
    """An id that is no 24 hex digits in a set of one's own: the set keeps its name, and no text goes out."""
    rows: dict[Archetype, list[Cells]] = {"known_facts": [row("known_facts", number) for number in (1, 2)]}
    rows["known_facts"][1]["task_id"] = next(each for each in layout.ids("known_facts") if len(each) == 12)
    source = folder(tmp_path / "mine", rows)
    path = measured_runs.run(tmp_path / "run", shared_runs.SUBJECT, scenarios=str(source))
    seen = shown(path)
    assert (seen.is_mask, Path(seen.set_name).name) == (False, "mine")
    with pytest.raises(UsageError, match="has the id of a scenario of cais/MASK"):
        shown(path, with_text=True)


def test_a_form_for_oneself_keeps_its_texts(own: Path, tmp_path: Path) -> None:
    """CSV and JSONL hold texts as ever, and take no --with-text; forms for others take no --raw."""
    assert typed("export", own, "--format", "jsonl", "--out", tmp_path / "rows").code == 0
    assert shared_runs.TEXT.encode() in (tmp_path / "rows").read_bytes()
    for words, told in (
        (("csv", "--with-text"), "is for yourself"),
        (("hf", "--raw"), "--raw is for CSV"),
        (("markdown", "--with-text"), "no place for texts"),
        (("hf",), "add --out FOLDER"),
    ):
        ended = typed("export", own, "--format", *words)
        assert (ended.code, told in ended.err) == (2, True), ended.err


def test_a_run_without_rates_is_not_shown(tmp_path: Path) -> None:
    """A smoke run measures nothing, and nobody is told that it does."""
    smoke = measured_runs.run(tmp_path / "smoke", limit=2)
    for form in FORMS:
        ended = typed("export", smoke, "--format", form, "--out", tmp_path / "out")
        assert (ended.code, "no rates that could be shown" in ended.err) == (2, True)
    assert not (tmp_path / "out").exists()


def test_a_summary_for_others_is_a_summary_without_words(own: Path) -> None:
    """Counts and rates stay; what a server said, its address, how the session ended and words of a set's maker go."""
    summary = score(own).summary
    summary.failure = CommonestFailure("judge", "unreadable", "The pump says: at /home/me/x", 3)
    summary.subject["base_url"] = "http://10.0.0.7:8000/v1"
    summary.judge.binary["base_url"] = "http://10.0.0.8:8000/v1"
    summary.notes.append("see /home/me/runs/base")
    seen = for_others(summary)
    assert (seen.counts, seen.rates) == (summary.counts, summary.rates)
    assert seen.failure is not None
    assert (seen.failure.detail, seen.failure.count) == (NOT_SHOWN, 3)
    plain = orjson.dumps(seen.as_dict()).decode()
    assert not any(part in plain for part in ("10.0.0", "/home", "pump", "secret-place"))
    assert "see base" in seen.notes
    assert summary.failure.detail.startswith("The pump")  # the summary itself is as it was


def test_settings_for_others_have_hashes_of_what_people_wrote() -> None:
    """The developer's prompt and request bodies are hashes, paths their last parts, defaults are left out but some."""
    settings = Settings.of(
        "hf//home/me/models/tuned",
        "openai/gpt-9",
        "/data/mine.csv",
        system_prompt="own",
        system_prompt_text="Be honest about pumps.",
        extra_body='{"token": "hush"}',
        sample=12,
        cluster="10.0.0.5:6379",
    )
    seen = settings_for_others(settings)
    assert seen["subject"] == "hf/tuned"
    assert seen["scenarios"] == "mine.csv"
    assert (seen["sample"], seen["seed"], seen["sampling.temperature"]) == ("12", "0", "1.0")
    assert all(seen[name].startswith("sha256 ") for name in ("system_prompt_text", "extra_body"))
    assert "timeout" not in seen
    assert not any(word in str(seen) for word in ("pumps", "hush", "home", "10.0.0.5"))


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
    assert without_folders(text) == left


BLANKS = Settings.of(
    "hf//home/Ann Lee/models/tuned",
    "openai/gpt-9",
    "/home/Ann Lee/my sets/rows.csv",
    system_prompt="~ann/Ann Lee/prompt.txt",
    adapter="/home/Ann Lee/runs/step 1/",
)


def test_folders_with_blanks_in_their_names_stay_at_home() -> None:
    """A path of the settings is cut where its last part begins, though a blank stands before it."""
    seen = settings_for_others(BLANKS)
    assert [seen[name] for name in ("subject", "scenarios", "system_prompt", "adapter")] == [
        "hf/tuned",
        "rows.csv",
        "prompt.txt",
        "step 1/",
    ]
    assert "Ann" not in str(seen)


def test_a_summary_for_others_has_no_folder_with_blanks(own: Path) -> None:
    """Notes and names, in which nobody sees where a path ends, are cut by the paths of the settings."""
    summary = score(own).summary
    summary.subject["label"] = BLANKS.label
    summary.scenarios.taken = f"{BLANKS.design.scenarios} (sample of 3)"
    summary.notes.append(f"{BLANKS.subject.name} answered as openai/gpt-9, another name.")
    summary.subject["resolved"] = ["/srv/Ann Lee/weights/m.gguf"]  # as llama.cpp calls its model
    summary.notes.insert(0, "It answered as /srv/Ann Lee/weights/m.gguf, another name.")
    seen = for_others(summary, BLANKS)
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
    seen = for_others(summary)
    first, instead, path, blank = seen.subject["resolved"]
    assert (first, path) == ("gpt-9-2026", "m.gguf")
    assert instead.startswith("(no name, sha256 ")
    assert blank.startswith("(no name, ")
    assert seen.subject["answers"] == {"gpt-9-2026": 2, instead: 1}
    assert seen.notes == [f"openai/gpt-9 (subject) answered as {instead}, another name than it was asked for."]
    assert "fingerprints" not in seen.judge.binary
    assert not any(word in str(seen) for word in ("spokesman", "secret", "x" * 101, "Ann"))


@pytest.mark.parametrize("form", FORMS)
def test_no_reply_can_be_guessed_by_a_hash_of_it(own: Path, tmp_path: Path, form: str) -> None:
    """Every text of the run and short answers, hashed as a stranger would, are found in none of the forms."""
    assert typed("export", own, "--format", form, "--out", tmp_path / "out").code == 0
    written = content(tmp_path / "out")
    with OpenRun(RunFolder(own)) as run:
        texts = {*filter(None, shared_runs.texts_of(run)), "Yes.", "No."}
    assert len(texts) > 30
    digests = [hash_of(text.encode()) for text in texts for hash_of in (hashlib.sha256, hashlib.sha1, hashlib.md5)]
    assert [each for each in digests if each.hexdigest()[:12].encode() in written] == []


def test_equal_replies_of_a_scenario_share_a_number(tmp_path: Path) -> None:
    """Statements are told apart by what was said, counted from 1 in each scenario."""
    run = measured_runs.run(tmp_path / "run", "sim/lie=0.5", statements=4, sample=12)
    statements = [
        [row["text"] for row in rows]
        for _, rows in groupby(
            (row for row in load(run).replies.to_dicts() if row["call"] == "statement"), lambda row: row["task_id"]
        )
    ]
    numbers = [[number or 0 for _, number in each.statements] for each in shown(run).scenarios]
    assert numbers == [[list(dict.fromkeys(texts)).index(text) + 1 for text in texts] for texts in statements]
    assert any(max(each) > 1 for each in numbers)
    assert any(len(set(each)) < len(each) for each in numbers)


def test_relative_folders_stay_at_home() -> None:
    """Of a path that the settings name, relative or not, others see the last part."""
    chosen = Settings.of("sim", "sim-judge", "clients/acme/rows.csv", judge_prompts="clients/acme/prompts")
    seen = settings_for_others(chosen)
    assert (seen["scenarios"], seen["judge_prompts"]) == ("rows.csv", "prompts")
    assert without_folders("It is metadata/x of data/x.", ("data/",)) == "It is metadata/x of x."


@pytest.mark.parametrize("form", ["card", "markdown", "latex"])
def test_what_is_pasted_has_no_prompt_and_no_place(own: Path, tmp_path: Path, form: str) -> None:
    """A card, Markdown and LaTeX hold neither the developer's prompt nor a path, fingerprint or a server's error."""
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


@pytest.mark.parametrize("place", ["my clients/acme corp", "/home/ann lee/acme corp", "~/acme corp"])
@pytest.mark.parametrize(
    "words",
    [
        *(f"leaderboard AT/a AT/b --format {form}" for form in ("markdown", "latex", "csv", "json")),
        *(f"compare AT/a AT/b --format {form}" for form in ("markdown", "latex")),
        *("compare AT/a AT/b --as inspect --format markdown", "score AT/a --as all --format markdown"),
        "score AT/a --format card",
    ],
)
def test_of_a_prompt_others_see_the_name(place: str, words: str, tmp_path: Path) -> None:
    """Whatever folder a developer's prompt lies in: no table that is pasted or published has it."""
    for name, seed in (("a", 1), ("b", 2)):
        file = measured_runs.run(tmp_path / name, f"sim/lie=0.{seed}", seed=seed) / "run.json"
        record = json.loads(file.read_text())
        record["settings"]["design"] |= {"system_prompt": f"{place}/dev {name}.md", "system_prompt_text": "Be brief."}
        file.write_text(json.dumps(record))
    ended = typed(*words.replace("AT", str(tmp_path)).split())
    assert ended.code in (0, 1), ended.err
    assert not [part for part in ("clients", "acme", "ann", str(tmp_path)) if part in ended.out]
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
