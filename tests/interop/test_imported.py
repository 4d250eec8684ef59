"""A run that was imported: matched, stored whole or not at all, marked, judged, and asked no further."""

import asyncio
import csv
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from flows import scenario, typed
from imports import SOURCE, imported, items_of, kinds, outcomes_of, published_row, write_rows
from maskbench import compare, measure
from maskbench.asking.judging.judge_again import judge
from maskbench.errors import RunMismatch, ScenarioError, UsageError
from maskbench.interop.export import write
from maskbench.interop.imported import ImportData, ScenariosGiven, import_rows
from maskbench.interop.imported_rows import ImportedReply, ImportedScenario
from maskbench.interop.importing import import_run
from maskbench.interop.published_verdicts import is_empty
from maskbench.method.asks import subject_asks
from maskbench.models.scripted import ScriptedModel
from maskbench.results.scored import score
from maskbench.settings import protocol_id, reply_key
from maskbench.store.fitting import fitted
from maskbench.store.folder import RunFolder
from maskbench.types import BinaryVerdict, Failure, Judgement, Letter, NumericalVerdict, Reply, Sampling, Scenario
from measured_runs import reply_keys
from measured_runs import run as measured

KNOWN, NUMBER = scenario("known_facts", 1), scenario("statistics", 1)


def letters(text: str) -> list[ImportedReply]:
    """Replies to a binary scenario with a letter each: three direct, two consistency, then statements."""
    places = [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), *((0, run) for run in range(1, len(text) - 4))]
    return [one(place, letter) for place, letter in zip(places, text, strict=True)]


def one(place: tuple[int, int], letter: str) -> ImportedReply:
    """A reply with a verdict, `x` where the reply failed, `?` where the verdict did, `-` where there is none."""
    reply = Failure("subject", "absent", "gone") if letter == "x" else Reply(f"Reply {place}")
    verdict: Judgement | Failure | None = None
    if letter in "ABCD":
        verdict = Judgement(BinaryVerdict(letter), "It says so.")  # type: ignore[arg-type]  # it is one of them
    if letter == "?":
        verdict = Failure("judge", "unreadable", "no verdict")
    return ImportedReply(*place, reply, verdict)


def unjudged(place: Path) -> Path:
    """An imported run that came without verdicts."""
    imported(place, (KNOWN, letters("-" * 6)), source=replace(SOURCE, judge=None))
    return place


# What is written


def test_replies_and_verdicts_stand_where_a_run_has_them(tmp_path: Path) -> None:
    """The store has them under the keys of the run's own settings, and the scenario is scored."""
    run = imported(tmp_path / "run", (KNOWN, letters("AAAAAB")))
    assert outcomes_of(tmp_path / "run") == {KNOWN.key: ("lie",)}
    folder = RunFolder(tmp_path / "run")
    keys = reply_keys(folder.path, KNOWN)
    asks = subject_asks(KNOWN, folder.settings())
    assert keys == {reply_key(folder.settings(), ask, run) for ask in asks for run in ask.runs}
    assert (run.scenarios, run.replies, run.verdicts, run.unjudged, run.failures) == (1, 6, 6, 0, {})


def test_what_the_source_lacks_is_a_failure(tmp_path: Path) -> None:
    """A reply that is not there is absent, and its scenario is no verdict's worth."""
    run = imported(tmp_path / "run", (KNOWN, letters("AAAAA")))
    assert kinds(items_of(tmp_path / "run")[KNOWN.key])[0, 1] == "subject absent"
    assert outcomes_of(tmp_path / "run") == {KNOWN.key: ("error",)}
    assert run.failures == {"subject": {"absent": 1}}


def test_nothing_that_nobody_knows_is_said(tmp_path: Path) -> None:
    """Sampling, tokens and how the judge was asked are not known, and stand nowhere as if they were."""
    source = replace(SOURCE, absent=("how the subject was sampled", "tokens and time"))
    imported(tmp_path / "run", (KNOWN, letters("AAAAAB")), source=source)
    told = " ".join(typed("score", str(tmp_path / "run"), "--full").out.split())
    assert "temperature" not in told
    assert "what they took is not known" in told
    assert "The source does not say: how the subject was sampled, tokens and time." in told


def test_settings_that_are_known_are_told(tmp_path: Path) -> None:
    """A source that says how it sampled makes another protocol than one that does not."""
    sampling = Sampling(temperature=0.5, max_tokens=70, reasoning_tokens=0)
    imported(tmp_path / "knows", (KNOWN, letters("AAAAAB")), source=replace(SOURCE, known={"sampling": sampling}))
    imported(tmp_path / "not", (KNOWN, letters("AAAAAB")))
    assert score(tmp_path / "knows").summary.protocol != score(tmp_path / "not").summary.protocol


def test_an_import_is_another_protocol_than_a_measurement(tmp_path: Path) -> None:
    """Nobody knows that it was asked alike, so no table puts both side by side; a run of one's own keeps its id."""
    imported(tmp_path / "run", (KNOWN, letters("AAAAAB")))
    own = RunFolder(tmp_path / "run").settings()
    assert protocol_id(own, "x") != protocol_id(own.having(imported=()), "x")


def test_verdicts_one_by_one_on_numbers(tmp_path: Path) -> None:
    """A source whose judge read each neutral reply about a number says so, and is scored so."""
    point = Judgement(NumericalVerdict(62.0, 62.0))
    replies = [ImportedReply(1, run, Reply("62"), point) for run in (1, 2, 3)]
    apart = replace(SOURCE, numbers_apart=True)
    imported(tmp_path / "run", (NUMBER, [*replies, ImportedReply(0, 1, Reply("62"), point)]), source=apart)
    assert outcomes_of(tmp_path / "run") == {NUMBER.key: ("honest",)}


def test_weights_are_kept(tmp_path: Path) -> None:
    """A drawn scenario stands for as many as it did."""
    row = ImportedScenario("x", 1, KNOWN.task_id, letters("AAAAAB"), weight=2.5)
    import_rows(SOURCE, [row], ScenariosGiven("mine", [KNOWN]), tmp_path / "run")
    assert score(tmp_path / "run").scenarios[0].weight == 2.5


def test_half_a_character_is_stored_as_a_mark(tmp_path: Path) -> None:
    """JSON can hold half a surrogate pair, and no file can."""
    replies = [replace(reply, outcome=Reply("a\ud800b")) for reply in letters("AAAAAB")]
    imported(tmp_path / "run", (KNOWN, replies))
    reply = items_of(tmp_path / "run")[KNOWN.key][0, 1].reply
    assert getattr(reply, "text", None) == "a\ufffdb"


# What does not fit


def test_everything_that_does_not_fit_is_told_at_once(tmp_path: Path) -> None:
    """A place that stands twice, a question that there is not, a letter on a number: each with its row."""
    twice = [*letters("AAAAAB"), one((0, 1), "A")]
    stray = [ImportedReply(2, 1, Reply("x"), None), ImportedReply(0, 1, Reply("x"), Judgement(BinaryVerdict("A")))]
    with pytest.raises(ScenarioError) as raised:
        imported(tmp_path / "run", (KNOWN, twice), (NUMBER, stray))
    assert [(problem.row, problem.column) for problem in raised.value.problems] == [
        (1, None),
        (2, "belief_elicit_2, sample 1"),
        (2, "statement, sample 1"),
    ]
    assert list(tmp_path.iterdir()) == []


def test_a_place_that_is_taken_is_refused(tmp_path: Path) -> None:
    """Nothing that is there is written over; an empty folder is free."""
    (tmp_path / "run").mkdir()
    imported(tmp_path / "run", (KNOWN, letters("AAAAAB")))
    with pytest.raises(UsageError, match="is there already"):
        imported(tmp_path / "run", (KNOWN, letters("AAAAAB")))


def test_an_import_that_is_killed_leaves_no_run(tmp_path: Path) -> None:
    """There is the whole run, or there is nothing under its name, and the same command begins anew."""
    csv = write_rows(tmp_path / "known_facts_m.csv", [published_row("known_facts", 1, "A", {1: "AAA", 2: "A", 3: "A"})])
    kill = (
        "import os, signal, sys\nfrom maskbench.store.store import Store\n"
        "def dead(*_): os.kill(os.getpid(), signal.SIGKILL)\n"
        "Store.link = dead\nfrom maskbench import import_run\nimport_run(sys.argv[1], sys.argv[2], environ={})"
    )
    ended = subprocess.run([sys.executable, "-c", kill, csv, tmp_path / "run"], env={**os.environ}, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert not (tmp_path / "run").exists()
    import_run(csv, tmp_path / "run", environ={})
    assert outcomes_of(tmp_path / "run") == {("known_facts", "known_facts-1"): ("honest",)}


# Afterwards


@pytest.mark.parametrize("words", [("--out",), ("--dry-run", "--out"), ("sim", "--judge", "sim-judge", "--out")])
def test_nobody_asks_the_subject_of_an_import(tmp_path: Path, words: tuple[str, ...]) -> None:
    """`run` on it is refused in a sentence that says what to type, and changes nothing."""
    unjudged(tmp_path / "run")
    before = (tmp_path / "run" / "run.json").read_bytes()
    ended = typed("run", *words, str(tmp_path / "run"))
    assert ended.code == 2
    assert "imported from transcripts (said.jsonl, sha256 000000000000)" in " ".join(ended.err.split())
    assert "--judge MODEL" in ended.err
    assert (tmp_path / "run" / "run.json").read_bytes() == before


def test_python_does_not_ask_it_either(tmp_path: Path) -> None:
    """`measure` on the folder raises the same sentence."""
    with pytest.raises(RunMismatch, match="its subject is asked nothing here"):
        measure(unjudged(tmp_path / "run"))


def test_the_first_judge_of_an_import_is_its_own(tmp_path: Path) -> None:
    """A run without verdicts is judged into its own set, which scores and summaries show; the next one is a set."""
    write(measured(tmp_path / "own", "sim", scenarios="starter", limit=6), None, "published", tmp_path / "csv")
    for file in (tmp_path / "csv").iterdir():
        with file.open(newline="") as text:
            rows = list(csv.DictReader(text))
        write_rows(file, rows, leave_out="eval")
    import_run(tmp_path / "csv", tmp_path / "run", environ={})
    assert typed("judge", str(tmp_path / "run"), "--judge", "sim-judge").code == 0
    assert outcomes_of(tmp_path / "run") == outcomes_of(tmp_path / "own")
    summary = orjson.loads((tmp_path / "run" / "summary.json").read_bytes())
    assert (summary["complete"], summary["verdicts"], summary["judge"]["binary"]["name"]) == (
        True,
        "default",
        "sim-judge",
    )
    again = typed("judge", str(tmp_path / "run"), "--judge", "sim-judge/seed=2")
    assert "as sim-judge-seed=2." in again.err
    listed = typed("judge", str(tmp_path / "run"), "--list").out
    assert ("default" in listed, "sim-judge-seed=2" in listed) == (True, True)


def test_another_judge_of_an_import_with_verdicts_is_another_set(tmp_path: Path) -> None:
    """Whose verdicts came along stay what they are, and a judge of one's own judges everything, the missing too."""
    imported(tmp_path / "run", (KNOWN, letters("AAAA-B")))
    assert outcomes_of(tmp_path / "run") == {}
    model = ScriptedModel({"": "Verdict {{code}}: A"}, "mine")
    own = RunFolder(tmp_path / "run").settings()
    judge(
        RunFolder(tmp_path / "run"),
        own.having(judge="mine", numeric_judge="mine"),
        "second",
        judges={"binary": model, "numerical": model},
    )
    assert score(tmp_path / "run", verdicts="second").summary.counts["honest"] == 1
    assert outcomes_of(tmp_path / "run") == {}


@pytest.mark.parametrize("rules", ["reference", "published", "strict", "inspect"])
def test_an_import_is_scored_under_each_rule_set(tmp_path: Path, rules: str) -> None:
    """A D is a lie, and an evasion for `inspect`."""
    imported(tmp_path / "run", (KNOWN, letters("AAAAAD")))
    assert outcomes_of(tmp_path / "run", rules) == {KNOWN.key: ("evasive" if rules == "inspect" else "lie",)}


@pytest.mark.parametrize(
    "words",
    [
        ("score", "RUN", "--full"),
        ("score", "RUN", "--format", "card"),
        ("check", "RUN", "--max-lie", "0.9"),
        ("compare", "RUN", "OTHER"),
        ("leaderboard", "RUN", "--full"),
    ],
)
def test_each_place_says_where_it_is_from(tmp_path: Path, words: tuple[str, ...]) -> None:
    """Format, file and hash stand on everything that shows the run."""
    for name in ("RUN", "OTHER"):
        replies = [(scenario("known_facts", at), letters("AAAAAB")) for at in range(1, 5)]
        imported(tmp_path / name, *replies, source=replace(SOURCE, subject=f"lab/{name}"))
    text = typed(*(str(tmp_path / word) if word in ("RUN", "OTHER") else word for word in words)).out
    assert "imported from transcripts (said.jsonl, sha256 000000000000)" in " ".join(text.split())


def test_a_comparison_says_what_nobody_knows_of_an_import(tmp_path: Path) -> None:
    """Beside a measured run the sampling of the imported one is unknown, and not the default."""
    own = measured(tmp_path / "own", "sim", scenarios="starter", limit=6)
    write(own, None, "published", tmp_path / "csv")
    import_run(tmp_path / "csv", tmp_path / "run", "starter", environ={})
    pairing = compare(own, tmp_path / "run").data.others[0]
    differs = {each.field: (each.first, each.other) for each in pairing.differs}
    assert (differs["imported"], differs["temperature"]) == ((None, "published"), (1.0, "unknown"))
    assert differs["judge temperature"] == (0.0, "unknown")


def test_what_came_is_printed_as_its_type(tmp_path: Path) -> None:
    """`import --json` prints counts and what is absent, as its schema has it; without it they are sentences."""
    row = published_row("known_facts", 1, ["A", ""], {1: "AAA", 2: "A", 3: "A"})
    path = write_rows(tmp_path / "known_facts_m.csv", [row])
    told = fitted(orjson.loads(typed("import", str(path), "--out", str(tmp_path / "a"), "--json").out), ImportData)
    assert (told.scenarios, told.replies, told.verdicts, told.failures) == (1, 7, 6, {"judge": {"unreadable": 1}})
    lines = typed("import", str(path), "--out", str(tmp_path / "b")).err
    assert "It has 1 scenario, 7 replies and 6 verdicts." in lines
    assert "Missing: 1 of 7 verdicts (no verdict in the judge's text)." in lines
    assert "The source does not say: how the subject was sampled" in lines


def test_a_loop_that_runs_does_not_stand_in_the_way(tmp_path: Path) -> None:
    """In a notebook, whose loop is running, an import works as anywhere."""

    async def cell() -> None:
        imported(tmp_path / "run", (KNOWN, letters("AAAAAB")))

    asyncio.run(cell())
    assert outcomes_of(tmp_path / "run") == {KNOWN.key: ("lie",)}


def test_an_import_is_labelled_judged_and_exported(tmp_path: Path) -> None:
    """People label it, a judge reads it here, and its rows are those by that judge."""
    write(measured(tmp_path / "own", "sim", scenarios="starter", limit=6), None, "published", tmp_path / "csv")
    run = str(import_run(tmp_path / "csv", tmp_path / "run", "starter", environ={}).path)
    labels = typed("label", run, "--rater", "Anna", "--out", str(tmp_path / "anna.csv"))
    with (tmp_path / "anna.csv").open(encoding="utf-8", newline="") as file:
        assert (labels.code, len(list(csv.DictReader(file))) >= 6) == (0, True)
    typed("judge", run, "--judge", "sim-judge", "--name", "mine")
    assert typed("export", run, "--format", "csv", "--verdicts", "mine").out.count("starter-") == 6


# There and back, by the published form

# No word that stands for an empty cell: the published form cannot tell it from one.
REPLIES = st.text(st.characters(exclude_categories=["Cs"]), max_size=12).filter(lambda text: not is_empty(text))
LETTERS: st.SearchStrategy[Letter] = st.sampled_from(("A", "B", "C", "D"))
BOUND = st.none() | st.floats(-1e6, 1e6).map(lambda number: round(number, 2) + 0.0)
BOUNDS = st.builds(NumericalVerdict, BOUND, BOUND, BOUND, BOUND)


@st.composite
def judged(draw: st.DrawFn, about: Scenario, statements: int) -> list[ImportedReply]:
    """Every sample of a scenario, some without reply, some without verdict."""
    direct = [(1, 1), (1, 2), (1, 3)]
    rest = [(2, 1), (3, 1)] if about.kind == "binary" else []
    replies = []
    for place in (*direct, *rest, *((0, run) for run in range(1, statements + 1))):
        outcome: Reply | Failure = Reply(draw(REPLIES))
        verdict: Judgement | Failure | None = Failure("judge", "unreadable", "no verdict")
        if draw(st.integers(0, 9)) == 0:
            outcome = Failure("subject", "timeout", "gone")
        if draw(st.integers(0, 9)):
            verdict = Judgement(BinaryVerdict(draw(LETTERS)) if about.kind == "binary" else draw(BOUNDS))
        if about.kind == "numerical" and place in direct[:-1]:
            verdict = None
        replies.append(ImportedReply(*place, outcome, verdict))
    return replies


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], database=None)
@given(data=st.data(), statements=st.integers(1, 3))
def test_published_and_back_is_the_same(tmp_path: Path, data: st.DataObject, statements: int) -> None:
    """The CSVs that export writes are read back to the same verdicts, the same failures and the same outcomes."""
    place = tmp_path / str(len(list(tmp_path.iterdir())))
    some = [scenario("known_facts", 1), scenario("disinformation", 2), NUMBER]
    imported(place / "first", *((about, data.draw(judged(about, statements))) for about in some))
    write(place / "first", None, "published", place / "csv")
    import_run(place / "csv", place / "second", environ={})
    assert outcomes_of(place / "second") == outcomes_of(place / "first")
    first, second = items_of(place / "first"), items_of(place / "second")
    for key, items in first.items():
        verdicts = [(at, getattr(item.judgement, "verdict", None)) for at, item in sorted(items.items())]
        assert verdicts == [(at, getattr(second[key][at].judgement, "verdict", None)) for at in sorted(items)]
