"""Verdicts that were read elsewhere: what a judge would be asked goes out as a file, and verdicts come in as one."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from flows import typed
from maskbench.asking.judging.elsewhere import Taken, take, write_requests
from maskbench.asking.judging.judge_again import judge
from maskbench.errors import RunMismatch, ScenarioError, UsageError
from maskbench.method.forms import load_prompts
from maskbench.method.rules import named
from maskbench.results.judges_agree import agreement
from maskbench.results.scored import result
from maskbench.settings import Settings
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import Judgement
from measured_runs import copied, run

Rows = list[dict[str, Any]]
SIM = "sim/lie=0.4,evade=0.2,unsure=0.1"
BY = "somebody, by hand"


def by(folder: RunFolder, reader: str = BY, **options: Any) -> Settings:
    """A run's settings with whoever read in the judge's place."""
    return folder.settings().having(judge=reader, numeric_judge=reader, **options)


def asked(folder: RunFolder, name: str | None = None, **options: Any) -> Rows:
    """The rows of what a judge would be asked about a run."""
    file = folder.path / f"requests-{len(list(folder.path.iterdir()))}.jsonl"
    count = write_requests(folder, by(folder, **options), name, file)
    rows = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    assert count == len(rows)
    return rows


def given(folder: RunFolder, rows: Rows, verdicts: str = "default") -> Rows:
    """These rows with what a verdict set of the run says in `read`."""
    had = {}
    with OpenRun(folder) as opened:
        for samples, _ in opened.store.read(verdicts):
            for (elicitation, sample), verdict in samples.judgements(verdicts).items():
                had[samples.scenario.key, elicitation, sample] = verdict
    lasts = {(*place[:2], max(each[2] for each in had if each[:2] == place[:2])) for place in had}
    found = []
    for row in rows:
        key, place = (row["archetype"], row["task_id"]), (row["elicitation"], row["run"])
        verdict = had.get((key, *place)) or next(had[each] for each in lasts if each[:2] == (key, place[0]))
        assert isinstance(verdict, Judgement)
        found.append({**row, "read": told(verdict)})
    return found


def told(judgement: Judgement) -> Mapping[str, Any]:
    """A verdict as a row has it."""
    values = {name: getattr(judgement.verdict, name) for name in judgement.verdict.__slots__}
    letter = {"verdict": values.pop("letter")} if "letter" in values else {}
    return {**letter, **values, "reason": "as it says"}


def taken(folder: RunFolder, rows: Iterable[object], name: str = "read", **options: Any) -> Taken:
    """What a file with these rows brings into a set of the run."""
    file = folder.path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return take(folder, by(folder, **options), name, file)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A run whose own judge is simulated."""
    return RunFolder(run(tmp_path / "run", SIM))


@pytest.mark.parametrize("options", [{}, {"judge_numbers": "apart"}, {"statements": 2, "placebo": True}])
def test_what_is_asked_and_read_comes_back_as_a_set_with_the_same_figures(
    options: Mapping[str, Any], tmp_path: Path
) -> None:
    """Every verdict of a judge, carried out and in by file, gives this judge's counts and rates under another name."""
    folder = RunFolder(run(tmp_path / "run", SIM, **options))
    rows = given(folder, asked(folder))
    found = taken(folder, rows)
    own, read = result(folder), result(folder, verdicts="read")
    assert (found.new, found.missing, found.strange, found.empty) == (len(rows), [], [], 0)
    assert (read.counts, read.rates) == (own.counts, own.rates)
    assert read.judge.binary.name == BY
    assert own.verdicts == "default"


def test_a_request_has_its_place_its_words_and_the_hash_of_its_prompts(folder: RunFolder) -> None:
    """A row is what the judge is asked, with no truth in it; equal requests have one key, and no others have."""
    rows = asked(folder)
    prompts = load_prompts()
    assert {"key", "archetype", "task_id", "elicitation", "run", "kind", "prompts", "system", "user"} == rows[0].keys()
    assert rows[0]["prompts"] == {"name": "packaged", "version": prompts.version, "hash": prompts.hash}
    assert len({row["key"] for row in rows}) == len({(row["system"], row["user"]) for row in rows})
    numbers = [row for row in rows if row["archetype"] == "statistics" and row["elicitation"] == 1]
    assert numbers
    assert {row["run"] for row in numbers} == {1}


def test_a_set_of_files_is_resumed_and_an_incomplete_one_says_what_it_lacks(folder: RunFolder) -> None:
    """What is missing is counted and named, and is what the next requests are; what is there stays."""
    rows = given(folder, asked(folder))
    first = taken(folder, rows[:100])
    left = asked(folder, "read")
    half = result(folder, verdicts="read")
    second = taken(folder, rows)
    assert (first.new, len(first.missing), len(left)) == (100, len(rows) - 100, len(rows) - 100)
    assert any("have no verdict, so that the set is incomplete" in line for line in first.lines())
    assert not half.complete
    assert "Give the verdicts that it lacks with `maskbench judge" in str(half.withheld)
    assert (second.new, second.there, second.missing) == (len(rows) - 100, 100, [])
    entry = folder.read().verdict_sets["read"]
    assert len(entry.sessions) == len(entry.files) == 2
    with pytest.raises(RunMismatch, match="another --name"):
        take(folder, by(folder, "somebody else"), "read", folder.path / "rows.jsonl")


def test_two_sets_are_compared_where_both_have_a_verdict(folder: RunFolder) -> None:
    """Agreement is counted on every verdict that both have, though no scenario of the smaller set is done."""
    rows = [row for row in given(folder, asked(folder)) if row["elicitation"] == 0 and row["kind"] == "binary"]
    other = {"verdict": "D", "reason": None}
    taken(folder, [*rows[:9], {**rows[9], "read": other}])
    with OpenRun(folder) as opened:
        sets = [opened.verdicts(name) for name in ("default", "read")]
        shown = agreement(sets, named(opened.settings.design.rules), opened.store.count())
    (pair,) = shown.pairs
    assert (pair.verdicts["statement"].n, pair.verdicts["statement"].agree) == (10, 0.9)
    assert pair.outcomes.n == 0
    assert shown.sets[1].withheld == "0 of 96 scenarios are judged"


def test_a_judges_whole_answer_is_read_as_a_judges(folder: RunFolder) -> None:
    """The verdict behind the code of the request is taken; a text without one is a failure that the next file mends."""
    rows = [row for row in given(folder, asked(folder)) if row["kind"] == "binary"]
    row = rows[0]
    letter, code = row["read"]["verdict"], code_of(row["user"])
    place = {name: value for name, value in row.items() if name != "read"}
    bad = taken(folder, [{**place, "answer": "It says so. Verdict: A"}])
    good = taken(folder, [{**place, "answer": f"It says so.\nVerdict {code}: {letter}"}])
    assert (bad.new, len(bad.unreadable)) == (0, 1)
    assert (good.new, good.unreadable) == (1, [])


def code_of(request: str) -> str:
    """The code that the verdict has to carry."""
    return request.rpartition("Verdict ")[2][:16]


def test_what_has_no_place_and_what_stands_twice_is_counted_and_named(folder: RunFolder) -> None:
    """Rows on replies that do not exist, and rows that say the same again, lose nobody's verdict, and are told."""
    rows = given(folder, asked(folder))
    nowhere = {**rows[0], "run": 77}
    found = taken(folder, [*rows, rows[3], nowhere, {"archetype": "a", "task_id": "b", "elicitation": 0, "run": 1}])
    lines = " ".join(found.lines())
    assert (found.new, len(found.twice), len(found.strange), found.empty) == (len(rows), 1, 1, 1)
    assert f"{rows[0]['task_id']}, elicitation {rows[0]['elicitation']}, run 77" in lines


def wrong(row: dict[str, Any], **changes: Any) -> Rows:
    """A row with something wrong, behind one in which nothing is."""
    return [{**row, "run": row["run"] + 100}, {**row, **changes}]


@pytest.mark.parametrize(
    ("make", "field", "remedy"),
    [
        (lambda row: wrong(row, read={"verdict": "E"}), "read", "Write a verdict of A, B, C or D"),
        (lambda row: wrong(row, read={"lower_bound": 1, "upper_bound": 2}), "read", "Write a verdict of A, B, C or D"),
        (lambda row: wrong(row, read={"verdict": "A", "odd": 1}), "read", "Write a verdict of A, B, C or D"),
        (lambda row: wrong(row, read="A"), "read", "Write an object"),
        (lambda row: wrong(row, elicitation="0"), "elicitation", "Write 0 for the statement"),
        (lambda row: wrong(row, run=0), "run", "Write which sample it is"),
        (lambda row: wrong(row, task_id=None), "task_id", "Write the task_id"),
        (lambda row: wrong(row, key="0" * 32), "key", "Write the requests anew"),
        (lambda row: wrong(row, prompts={"name": "others", "hash": "0"}), "prompts", "Give each a file of its own"),
        (lambda row: [row, {**row, "read": {"verdict": "D"}}], "read", "Remove one of them"),
    ],
)
def test_a_bad_row_is_named_and_nothing_is_written(
    make: Callable[[dict[str, Any]], Rows], field: str, remedy: str, folder: RunFolder
) -> None:
    """File, row and field stand in the error with the remedy, and the run has no new set."""
    row = next(each for each in given(folder, asked(folder)) if each["kind"] == "binary" and each["elicitation"] == 0)
    row["read"] = {"verdict": "A"}
    with pytest.raises(ScenarioError) as raised:
        taken(folder, make(row))
    assert f"rows.jsonl, row 2, column {field}:" in str(raised.value)
    assert remedy in str(raised.value)
    assert folder.read().verdict_sets == {}


def test_bounds_are_read_as_a_judges_are(folder: RunFolder) -> None:
    """A range the wrong way round is put right, and no number says that there is none; a word is no bound."""
    rows = [row for row in asked(folder) if row["kind"] == "numerical" and row["elicitation"] == 0]
    reads = ({"lower_bound": 5, "upper_bound": 3}, {"lower_bound": None, "upper_bound": None, "evasion": "hedge"})
    found = taken(folder, [{**row, "read": read} for row, read in zip(rows, reads, strict=False)])
    assert found.new == 2
    with pytest.raises(ScenarioError, match="numbers or null"):
        taken(folder, [{**rows[2], "read": {"lower_bound": "many", "upper_bound": 3}}])


def test_by_whose_words_verdicts_were_read_is_kept(folder: RunFolder) -> None:
    """The prompts that the rows name are the set's, those of nobody are unknown, and each is a protocol of its own."""
    rows = given(folder, asked(folder))
    old = {"name": "packaged", "version": "4", "hash": "f45a"}
    taken(folder, [{**row, "key": None, "prompts": old} for row in rows], "old")
    taken(folder, [{**row, "prompts": None} for row in rows], "unsaid")
    taken(folder, rows, "now")
    prompts = {name: entry.prompts for name, entry in folder.read().verdict_sets.items()}
    assert (prompts["old"].version, prompts["old"].hash) == ("4", "f45a")
    assert prompts["unsaid"].name == "unknown"
    assert prompts["now"].hash == load_prompts().hash
    assert len({entry.protocol for entry in folder.read().verdict_sets.values()}) == 3


def test_a_file_on_another_run_is_refused(folder: RunFolder) -> None:
    """Where no row is about a reply of the run nothing is begun."""
    with pytest.raises(UsageError, match="has no row about a reply"):
        taken(folder, [{"archetype": "a", "task_id": "b", "elicitation": 0, "run": 1, "read": {"verdict": "A"}}])
    assert folder.read().verdict_sets == {}


@pytest.mark.parametrize("reader", ["", "none", "x" * 201, "me, sk-of-the-environment"])
def test_who_read_is_a_short_text_without_a_key(reader: str, folder: RunFolder) -> None:
    """It stands in every table, so that what is long, unseen or secret is refused."""
    file = folder.path / "rows.jsonl"
    file.write_text("", encoding="utf-8")
    with pytest.raises(UsageError, match="--by"):
        take(folder, by(folder, reader or " "), "read", file, {"OPENAI_API_KEY": "sk-of-the-environment"})


def test_a_file_that_cannot_be_read_is_named(folder: RunFolder) -> None:
    """A path that leads nowhere, and a file without rows, are what is wrong, and no set is begun."""
    for text in (None, ""):
        file = folder.path / f"{text}.jsonl"
        if text is not None:
            file.write_text(text, encoding="utf-8")
        with pytest.raises(ScenarioError, match=r"\.jsonl"):
            take(folder, by(folder), "read", file)
    assert folder.read().verdict_sets == {}


def test_a_set_of_files_is_not_gone_on_with_by_a_model(folder: RunFolder, tmp_path: Path) -> None:
    """Its name alone says how it goes on; a judge that is asked has another set, and both are compared."""
    taken(folder, given(folder, asked(folder)))
    ended = typed("judge", folder.path, "--name", "read")
    assert ended.code == 2
    assert "--from FILE.jsonl" in ended.err
    again = copied(folder.path, tmp_path / "copy")
    judge(again, again.settings(), "again", {})
    assert result(again).as_dict()["judges"]["pairs"]
    with pytest.raises(RunMismatch, match="were read elsewhere"):
        judge(folder, folder.settings(), "read", {})


def test_a_judges_own_set_takes_no_file(folder: RunFolder) -> None:
    """Verdicts of somebody else never stand under a model's name, and its set stays one that it goes on with."""
    judge(folder, folder.settings(), "own", {})
    rows = given(folder, asked(folder))
    with pytest.raises(RunMismatch, match="is a judge's own"):
        taken(folder, rows, "own")
    assert folder.read().verdict_sets["own"].files == []


@pytest.mark.parametrize("first", [True, False])
def test_rows_with_and_without_prompts_make_one_set(folder: RunFolder, first: bool) -> None:
    """What `--requests` writes of a set is taken into it, whether or not its first rows named the prompts."""
    rows = given(folder, asked(folder))
    bare = [{name: value for name, value in row.items() if name not in ("prompts", "key")} for row in rows]
    early, late = (bare, rows) if first else (rows, bare)
    taken(folder, early[:5])
    taken(folder, late[5:])
    assert result(folder, verdicts="read").complete
    assert (folder.read().verdict_sets["read"].prompts.version == "unknown") is first


@pytest.mark.parametrize("name", ["\ud800x", "\x1b[31mx", "x" * 201])
def test_prompts_of_a_row_are_plain_text(folder: RunFolder, name: str) -> None:
    """They are written into run.json: what is no plain short text is a problem of its row."""
    row = {**given(folder, asked(folder))[0], "key": None, "prompts": {"name": name, "hash": "f45a"}}
    with pytest.raises(ScenarioError, match=r"column prompts: .* is no plain short text"):
        taken(folder, [row])
    assert folder.read().verdict_sets == {}


def test_prompts_of_a_row_hold_no_key(folder: RunFolder) -> None:
    """A key of the environment never reaches the run's folder."""
    row = {**given(folder, asked(folder))[0], "key": None, "prompts": {"name": "sk-of-the-env", "hash": "f45a"}}
    file = folder.path / "rows.jsonl"
    file.write_text(json.dumps(row), encoding="utf-8")
    with pytest.raises(UsageError, match="prompts holds a key"):
        take(folder, by(folder), "read", file, {"OPENAI_API_KEY": "sk-of-the-env"})


def test_the_commands_say_what_came_and_what_to_type(tmp_path: Path) -> None:
    """Of a run that nobody judged: requests out, some answers in, then the rest, and it is scored by what was read."""
    judged = RunFolder(run(tmp_path / "judged", SIM))
    path = run(tmp_path / "run", SIM, judge="none", numeric_judge="none")
    out, back = tmp_path / "out.jsonl", tmp_path / "back.jsonl"
    wrote = typed("judge", path, "--requests", out)
    rows = given(judged, [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()])
    line = ("judge", path, "--from", back, "--name", "read", "--by", BY)
    back.write_text("".join(f"{json.dumps(row)}\n" for row in rows[:50]), encoding="utf-8")
    half = typed(*line)
    back.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    whole = typed(*line)
    scored = typed("score", path)
    assert (wrote.code, half.code, whole.code, scored.code) == (0, 0, 0, 0)
    assert f"{len(rows):,} requests are in {out}." in wrote.err
    assert "so that the set is incomplete" in half.err
    assert f"{len(rows) - 50:,} verdicts were taken." in whole.err
    assert BY in " ".join(scored.out.split())
    assert result(RunFolder(path)).counts == result(judged).counts


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--from", "x.jsonl"), "Add --name NAME."),
        (("--by", "me"), "Add --from FILE.jsonl."),
        (("--from", "x.jsonl", "--name", "n", "--judge", "sim-judge"), "Leave --judge out."),
        (("--requests", "x.jsonl", "--dry-run"), "Leave --dry-run out."),
        (("--from", "x.jsonl", "--name", "n", "--max-cost", "1"), "Leave --max-cost out."),
    ],
)
def test_what_asks_nobody_takes_nothing_that_is_about_asking(
    words: tuple[str, ...], told: str, folder: RunFolder
) -> None:
    """An option of a judge that is asked is refused, with what to leave out."""
    ended = typed("judge", folder.path, *words)
    assert ended.code == 2
    assert told in ended.err
