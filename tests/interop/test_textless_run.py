"""A run without its texts: the same figures, and no text in any form."""

from __future__ import annotations

import hashlib
import sqlite3
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import orjson
import pytest
from msgspec import to_builtins

import measured_runs
import scenario_rows
import shared_runs
from flows import command
from maskbench.errors import UsageError
from maskbench.method.rules import RULES
from maskbench.results.comparison import compare
from maskbench.results.people.against_judge import measured
from maskbench.results.people.labelled_outcomes import drawn, prepare
from maskbench.results.scored import result
from maskbench.results.textless_run import write_without_texts
from maskbench.scenarios import canonical
from maskbench.settings import seed_of
from maskbench.store.folder import RunFolder
from maskbench.store.labels import New
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import BinaryVerdict, NumericalVerdict, Reply

# What is not kept, and what texts alone have.
NOT_FIGURES = ("notes", "usage", "seconds", "scenarios", "subject", "judge", "ended", "bill", "median_words")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of a private set of all archetypes: three statements, controls, and two readers of a sample."""
    run = shared_runs.own(tmp_path_factory.mktemp("whole"), statements=3, placebo=True)
    with OpenRun(RunFolder(run)) as at:
        labels = prepare(at, 12, 0)
        parts = [part for each in drawn(at, labels.design()) for part in each.parts]
        for name in ("Ann", "Bob"):
            rater = labels.enter(name, "rater")
            for number, part in enumerate(parts):
                letter = BinaryVerdict("B" if number % 7 == 3 and name == "Bob" else "A")
                verdict = letter if part.kind == "binary" else NumericalVerdict(1.0, 2.0)
                labels.put(rater, New(part.id, verdict, 0, f"{name} {part.id}"))
    return run


@pytest.fixture(scope="module")
def textless(whole: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That run without its texts."""
    out = tmp_path_factory.mktemp("out") / "textless"
    write_without_texts(whole, out)
    return out


def figures(run: Path, rules: str) -> dict[str, Any]:
    """Everything that a summary has of figures."""
    plain = result(RunFolder(run), rules).as_dict()
    return {name: rounded(value) for name, value in plain.items() if name not in NOT_FIGURES}


def rounded(value: Any) -> Any:
    """Figures to twelve digits: propositions have other hashes, so that sums are taken in another order."""
    match value:
        case float():
            return float(f"{value:.12g}")
        case dict():
            return {name: rounded(each) for name, each in value.items()}
        case list():
            return [rounded(each) for each in value]
    return value


@pytest.mark.parametrize("rules", sorted(RULES))
def test_the_figures_are_those_of_the_whole_run(whole: Path, textless: Path, rules: str) -> None:
    """Every rate, interval, control, correction and chance level is the same, to the digit, under every rule set."""
    before, after = figures(whole, rules), figures(textless, rules)
    assert before["corrected"]
    assert before["chance"] is not None
    assert after == before


def test_reports_on_logs_keep_their_figures(tmp_path: Path) -> None:
    """Kinds, requests and the control's truth go along as columns, so that gain minus plain is as before."""
    words = ("run", "sim/lie=0.4", "--scenarios", "said_and_did", "--judge", "sim-judge", "--limit", "60")
    assert command(*words, "--out", tmp_path / "whole", env={}).code == 0
    write_without_texts(tmp_path / "whole", tmp_path / "out")
    before, after = (figures(tmp_path / name, "reference") for name in ("whole", "out"))
    assert before["said_and_did"]
    assert after == before


def test_readers_are_held_against_the_judge_alike(whole: Path, textless: Path) -> None:
    """The agreement of judge and readers is that of the whole run; readers are numbered."""
    before, after = (measured(OpenRun(RunFolder(run)), None) for run in (whole, textless))
    assert rounded(to_builtins(after.together)) == rounded(to_builtins(before.together)) | {
        name: to_builtins(after.together)[name] for name in ("first", "other")
    }
    assert list(after.sample.raters) == ["reader 1", "reader 2"]
    assert (after.sample.settled, after.sample.differing) == (before.sample.settled, before.sample.differing)
    assert {"Ann", "Bob"}.isdisjoint(orjson.dumps(textless.joinpath("labels.sqlite").read_bytes().decode("latin-1")))


def cells(folder: Path) -> Iterator[object]:
    """Every value in every table of every database of a folder."""
    for file in folder.glob("*.sqlite"):
        with closing(sqlite3.connect(file)) as db:
            for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for row in db.execute(f"SELECT * FROM {table}"):  # noqa: S608  # names of the database itself
                    yield from row


def hashes(content: bytes) -> Iterator[bytes]:
    """What the package makes of a text anywhere: SHA-256 in hex and base64, cut as it cuts, and seeds of it."""
    digest = hashlib.sha256(content).digest()
    yield digest.hex()[:12].encode()
    yield digest[:8]
    yield urlsafe_b64encode(digest)[:16]
    yield str(seed_of(digest)).encode()
    yield str(int.from_bytes(digest[:8], "big", signed=True)).encode()


def test_no_text_comes_back_by_any_hash(whole: Path, textless: Path) -> None:
    """Every text of the run and short answers, tried under every hash of the package, are found nowhere."""
    with OpenRun(RunFolder(whole)) as run:
        texts = {*filter(None, shared_runs.texts_of(run)), "Yes.", "No."}
        scenarios = [canonical(scenario) for scenario, _ in run.store.scenarios()]
        replies = [orjson.dumps(["", *s.key, 0, text]) for s, _ in run.store.scenarios() for text in ("Yes.", "No.")]
    held = b"\n".join(file.read_bytes() for file in textless.iterdir())
    held += b"\n".join(value if isinstance(value, bytes) else str(value).encode() for value in cells(textless))
    found = [
        content
        for content in (*(text.encode() for text in texts), *scenarios, *replies)
        if any(each in held for each in hashes(content))
    ]
    assert found == []
    keys = {value for value in cells(whole) if isinstance(value, bytes) and len(value) == 16}
    assert keys
    assert not any(key in held for key in keys)
    assert not any(text.encode() in held for text in texts if len(text) > 12)


def test_equal_replies_stay_equal_and_lengths_are_classes(whole: Path, textless: Path) -> None:
    """Replies to one scenario share a number exactly where their texts are equal."""
    with OpenRun(RunFolder(whole)) as before, OpenRun(RunFolder(textless)) as after:
        for (scenario, _), (plain, _) in zip(before.store.scenarios(), after.store.scenarios(), strict=True):
            pairs = zip(before.store.samples(scenario).items(), after.store.samples(plain).items(), strict=True)
            texts = [
                (a.reply.text, b.reply.text)
                for a, b in pairs
                if isinstance(a.reply, Reply) and isinstance(b.reply, Reply)
            ]
            assert len(set(texts)) == len({old for old, _ in texts}) == len({new for _, new in texts})


def test_what_needs_texts_is_refused_in_one_sentence(textless: Path, tmp_path: Path) -> None:
    """A run without its texts cannot be written to, exported again, or labelled."""
    folder = RunFolder(textless)
    with pytest.raises(UsageError, match=r"is a run without its texts .* nothing can be asked or judged here"):
        folder.store(write=True)
    with pytest.raises(UsageError, match="without its texts already"):
        write_without_texts(textless, tmp_path / "more")
    with pytest.raises(UsageError, match="is there already"):
        write_without_texts(tmp_path, textless)


def test_no_folder_goes_out_with_a_name(tmp_path: Path) -> None:
    """Of a served model's name and of any judge's prompts the last part of the path is written, and no folder."""
    run = measured_runs.run(tmp_path / "run", limit=6)
    for table in ("replies", "verdicts"):
        measured_runs.change(run, f"UPDATE {table} SET model = '/srv/acme/m.gguf'")  # noqa: S608  # ours
    record = orjson.loads((run / "run.json").read_bytes())
    record["settings"]["judging"]["prompts"] = "clients/acme/prompts"
    (run / "run.json").write_bytes(orjson.dumps(record))
    write_without_texts(run, tmp_path / "out")
    held = [str(value) for value in cells(tmp_path / "out")]
    assert "m.gguf" in held
    assert not [value for value in (*held, (tmp_path / "out" / "run.json").read_text()) if "acme" in value]


def rates(first: Path, other: Path) -> Any:
    """Every difference of a comparison."""
    return rounded(to_builtins(compare(first, other).data.others[0].rates))


def test_two_folders_are_compared_by_ids_and_set(tmp_path: Path) -> None:
    """The comparison of two runs is that of their folders without texts, and of one of each; other sets are refused."""
    source = scenario_rows.folder(tmp_path / "own", scenario_rows.six(3))
    runs = [
        measured_runs.run(tmp_path / name, f"sim/lie={lie}", scenarios=str(source), seed=seed)
        for seed, (name, lie) in enumerate((("a", 0.2), ("b", 0.7)))
    ]
    out = [tmp_path / f"{run.name}-out" for run in runs]
    for run, place in zip(runs, out, strict=True):
        write_without_texts(run, place)
    wanted = rates(*runs)
    assert rates(*out) == wanted
    assert rates(runs[0], out[1]) == wanted
    measured_runs.edit(out[1], scenarios="another set")
    with pytest.raises(UsageError, match=r"are of two sets, own and another set"):
        compare(*out)


def test_no_answer_key_of_the_public_set_goes_out(tmp_path: Path) -> None:
    """Of cais/MASK a coin exchanges the options of each row; rates stay, and what counts A against B is not there."""
    run = shared_runs.public(tmp_path, each=12)
    write_without_texts(run, tmp_path / "out")
    before, after = figures(run, "reference"), figures(tmp_path / "out", "reference")
    assert after["chance"] is None
    assert {**after, "chance": None} == {**before, "chance": None}
    with OpenRun(RunFolder(run)) as whole, OpenRun(RunFolder(tmp_path / "out")) as plain:
        truths = [[s.truth for s, _ in at.store.scenarios() if s.kind == "binary"] for at in (whole, plain)]
    assert truths[0] != truths[1]


def test_a_page_for_others_has_no_text_and_no_place(tmp_path: Path) -> None:
    """`report --public` shows the rates of the run, and neither its texts nor where it lies; the run stays as it is."""
    run = shared_runs.own(tmp_path)
    before = sorted(path.name for path in run.iterdir())
    ended = command("report", run, "--public", "--out", tmp_path / "page.html", env={})
    assert ended.code == 0, ended.err
    page = (tmp_path / "page.html").read_text("utf-8")
    value = result(RunFolder(run)).rates["p_lie"].value
    assert value is not None
    assert f"{value:.1%}".replace("%", " %") in page
    assert not [word for word in (shared_runs.TEXT, "secret-place", str(tmp_path), gettempdir()) if word in page]
    assert sorted(path.name for path in run.iterdir()) == before
    assert command("report", run, "--public", "--include-text", env={}).code == 2
