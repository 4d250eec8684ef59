"""An imported run that goes on: what it lacks is asked for here, and nothing else, and its figure says so."""

import csv
import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat_server import Body, ChatServer
from flows import Ended, command, environ, letter, reply_to, scenario, serving
from imports import SOURCE, imported
from maskbench.errors import RunMismatch, UsageError
from maskbench.interop.imported_rows import ImportedReply
from maskbench.interop.importing import import_run
from maskbench.judges.read_again import read_again
from maskbench.judges.verdict_sets import reading
from maskbench.measurement import measure
from maskbench.results.scored import score
from maskbench.runs.completion import settings_to_go_on
from maskbench.runs.folder import RunFolder
from maskbench.types import Failure, Judgement, Reply, Sampling
from measured_runs import run as measured
from scenario_rows import row, write_jsonl
from verdict_tables import PLACES, Table, as_published, rows_of

TABLE = Path(__file__).parents[2] / "examples" / "lost-replies" / "verdicts.csv"  # where it is from: examples/README
SUBJECT, JUDGE = "openai-api/local/lab-1", "openai-api/local/judge"
SAID = ("--temperature", 0.7, "--max-tokens", 300, "--judge", JUDGE, "--like", "maskbench")
NUMBERS = itertools.count(1)
KINDS = ("known_facts", "provided_facts", "doubling_down_known_facts", "statistics", "continuations", "disinformation")


def a_row(archetype: str, number: int, lost: str = "", **changed: str) -> dict[str, str]:
    """A row of a table of verdicts, all of one kind."""
    is_number, asks = archetype == "statistics", archetype != "provided_facts"
    verdict = "(5.0, None, None, None)" if is_number else "A"
    held = {place: verdict if place == "statement" or asks else "" for place in PLACES}
    if is_number:
        held |= {"belief_2": "", "belief_3": ""}
    own = {"archetype": archetype, "task_id": f"made-{number}", "proposition": str(number), "equal_replies": ""}
    return {**own, "truth": "[5.0, 5.0]" if is_number else "A", **held, "lost_replies": lost, **changed}


def brought(place: Path, table: Table) -> Path:
    """A run that was imported from the published scripts' files of this table, with texts of our own."""
    return import_run(as_published(table, place / "csv", "lab-1"), place / "run", environ={}).path


def small(place: Path) -> Path:
    """An import of six rows: of the first all is lost, and of the number one reply to its question."""
    lost = {"known_facts": "statement belief_1_1 belief_1_2 belief_1_3", "statistics": "belief_1_2"}
    return brought(place, [a_row(kind, number, lost.get(kind, "")) for number, kind in enumerate(KINDS)])


def unlike(body: Body) -> str | Judgement:
    """A reply that is like no other, so that no two share a verdict."""
    return reply_to(body) if body["model"] == "judge" else f"I say {next(NUMBERS)}."


def go_on(server: ChatServer, run: Path, *words: object) -> Ended:
    """The command line asks for what the run lacks."""
    return command("run", SUBJECT, "--out", run, *words, env=environ(server))


def asked(server: ChatServer, model: str) -> list[Body]:
    """What one model was sent."""
    return [body for body in server.bodies if body["model"] == model]


def samples(run: Path) -> dict[tuple[Any, ...], tuple[str, int | None]]:
    """Every reply with its text and the session that asked for it."""
    store = RunFolder(run).store()
    rows = store._rows("SELECT archetype, task_id, elicitation, run, text, session FROM replies")
    store.close()
    return {tuple(row[:4]): (row[4], row[5]) for row in rows}


def test_a_run_that_lost_two_replies_in_five_is_completed(tmp_path: Path) -> None:
    """990 replies, their verdicts and the one that could not be read are asked for; then the figure is shown."""
    run = brought(tmp_path, rows_of(TABLE))
    before = samples(run)
    assert score(run).withheld
    with serving(reply=unlike) as server:
        planned = command("run", SUBJECT, "--out", run, *SAID, "--dry-run", "--json", env=environ(server))
        assert orjson.loads(planned.out)["calls"] == {"replies": 990, "requests": 540, "verdicts": 991}
        assert server.requests == 0
        ended = go_on(server, run, *SAID)
        assert ended.code == 0, ended.err
        answered = asked(server, "lab-1")
        assert sum(body.get("n", 1) for body in answered) == 990
        assert len(asked(server, "judge")) == 991
        assert server.requests == len(answered) + 991
        assert "Nothing asked: complete since" in command("run", "--out", run, env=environ(server)).err
        assert server.requests == len(answered) + 991
    after = samples(run)
    assert {place: text for place, (text, session) in after.items() if session is None} == {
        place: text for place, (text, _) in before.items() if text is not None
    }
    assert sum(session == 2 for _, session in after.values()) == 990
    result = score(run)
    assert result.withheld is None
    assert result.counts["error"] == 0
    assert {(body["temperature"], body["max_tokens"]) for body in answered} == {(0.7, 300)}
    told = "990 of 2,526 replies were asked for later, by maskbench"
    shown = " ".join(command("score", run, env={}).out.split())
    assert told in shown
    assert "and 991 of 2,526 verdicts" in shown
    assert "temperature 0.7, up to 300 tokens" in shown


def test_only_what_is_lost_is_asked_with_the_prompts_of_the_import(tmp_path: Path) -> None:
    """Replies of every archetype that came stay; of a number the one verdict is asked anew with the reply that came."""
    run = small(tmp_path)
    with serving(reply=unlike, honours_n=False) as server:
        assert go_on(server, run, *SAID).code == 0
    with reading(run) as opened:
        by_kind = {scenario.archetype: scenario for scenario, _ in opened.store.scenarios()}
    sent = sorted(body["messages"][-1]["content"] for body in asked(server, "lab-1"))
    known, number = by_kind["known_facts"], by_kind["statistics"]
    assert sent == sorted(map(str, [known.user_prompt, *[known.questions[0]] * 3, number.questions[0]]))
    assert len(asked(server, "judge")) == 4 + 1
    assert score(run).counts["error"] == 0


def test_a_verdict_on_a_lost_reply_counts_no_more_once_the_reply_is_there(tmp_path: Path) -> None:
    """Under the rule set `published`, too, a reply that came later has the verdict that it was given."""
    run = brought(tmp_path, [a_row("known_facts", 1, "statement", statement="C")])
    assert score(run, "published").counts["evasive"] == 1
    with serving(reply=lambda body: letter("B") if body["model"] == "judge" else "It is not.") as server:
        assert go_on(server, run, *SAID).code == 0
    assert score(run, "published").counts["lie"] == score(run).counts["lie"] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "add --temperature 1 --max-tokens 1000 --judge MODEL --like maskbench"),
        (SAID[:2], "add --max-tokens 1000 --judge MODEL --like maskbench"),
        ((*SAID, "--as-subject", "other"), "calls its subject lab-1. Give that name."),
        ((*SAID, "--statements", 2), "--statements would ask it something else"),
        ((*SAID, "--placebo"), "--placebo would ask it something else"),
        ((*SAID, "--fresh"), "nothing of it can be asked anew"),
        ((*SAID[:-1], "inspect"), "has verdicts on other texts"),
    ],
)
def test_what_an_import_cannot_be_asked_by(tmp_path: Path, words: tuple[object, ...], said: str) -> None:
    """What the source does not say has to be said, and nothing else can be asked; nothing is written."""
    run = small(tmp_path)
    before = (run / "run.json").read_bytes()
    with serving(reply=reply_to) as server:
        ended = go_on(server, run, *words)
        assert (ended.code, server.requests) == (2, 0)
    assert said in " ".join(ended.err.split())
    assert (run / "run.json").read_bytes() == before


def test_the_subject_is_the_one_that_the_import_names(tmp_path: Path) -> None:
    """Another name is refused until it is said that it is the same model; the judge has to be the source's."""
    run = small(tmp_path)
    with serving(reply=reply_to) as server:
        words = ("run", "openai-api/local/other", "--out", run, *SAID)
        refused = command(*words, env=environ(server))
        assert (refused.code, server.requests) == (2, 0)
        assert "--as-subject lab-1" in refused.err
        assert command(*words, "--as-subject", "lab-1", env=environ(server)).code == 0
        other = command("run", "sim", "--as-subject", "lab-1", "--out", tmp_path / "new", env={})
        named = import_run(tmp_path / "csv", tmp_path / "named", environ={}, judge="gpt-4o").path
        judged = go_on(server, named, *SAID)
        assert judged.code == 2
    assert (other.code, "for a MODEL and an imported run" in other.err) == (2, True)
    assert "has verdicts by gpt-4o, and openai-api/local/judge is another judge" in " ".join(judged.err.split())


def test_it_goes_on_as_it_was_gone_on_with(tmp_path: Path) -> None:
    """What failed here is asked again by the same settings, without a word on the command line and with no others."""
    run = small(tmp_path)
    with serving(reply=lambda body: "" if body["model"] == "lab-1" else letter("A")) as server:
        assert go_on(server, run, *SAID).code == 1
    with pytest.raises(RunMismatch, match=r"gone on with by --temperature 0\.7, and this asks for 0\.2"):
        measure(settings_to_go_on(RunFolder(run)).having(sampling=_sampling(run, 0.2)), run, environ(server))
    with serving(reply=reply_to) as server:
        ended = command("run", "--out", run, env=environ(server))
        assert ended.code == 0, ended.err
        assert {body["temperature"] for body in asked(server, "lab-1")} == {0.7}
    assert sorted({session for _, session in samples(run).values() if session}) == [3]


def _sampling(run: Path, temperature: float) -> Any:
    return replace(settings_to_go_on(RunFolder(run)).subject.sampling, temperature=temperature)


def test_what_the_source_says_of_sampling_holds(tmp_path: Path) -> None:
    """A source that tells temperature and limit needs no word on them, and has none that says otherwise."""
    about = scenario("known_facts", 1)
    replies = [ImportedReply(0, 1, Failure("subject", "absent", "gone"))]
    replies += [ImportedReply(1, run, Reply(f"Yes, {run}.")) for run in (1, 2, 3)]
    known = {"sampling": Sampling(temperature=0.3, max_tokens=50, reasoning_tokens=0)}
    source = replace(SOURCE, subject="lab-1", judge=None, known=known)
    run = imported(tmp_path / "run", (about, replies), source=source).path
    with serving(reply=reply_to) as server:
        refused = go_on(server, run, "--judge", JUDGE, "--temperature", 1)
        assert (refused.code, server.requests) == (2, 0)
        assert "says how its subject was sampled" in " ".join(refused.err.split())
        assert go_on(server, run, "--judge", JUDGE).code == 0
        assert {(body["temperature"], body["max_tokens"]) for body in asked(server, "lab-1")} == {(0.3, 50)}


def test_what_goes_out_says_what_was_asked_for_later(tmp_path: Path) -> None:
    """The run without its texts has the same outcomes, and `score` and `compare` say of both how many came when."""
    run, out = small(tmp_path), tmp_path / "out"
    with serving(reply=reply_to) as server:
        assert go_on(server, run, *SAID).code == 0
    assert command("export", run, "--format", "run", "--out", out, env={}).code == 0
    assert score(out).counts == score(run).counts
    told = "5 of 29 replies were asked for later, by maskbench"
    for words in (("score", out), ("compare", run, out)):
        assert told in " ".join(command(*words, env={}).out.split())


def test_a_run_without_verdicts_has_those_of_its_first_judge(tmp_path: Path) -> None:
    """Transcripts say nothing of a judge: the one that is named gives the run's own verdicts."""
    lines = [
        {"task_id": "made-1", "question": "statement", "reply": "It is loud."},
        {"task_id": "made-1", "question": "belief_elicit_1", "sample": 1, "error": "timeout"},
    ]
    place = tmp_path / "said.jsonl"
    place.write_bytes(b"\n".join(map(orjson.dumps, lines)))
    cells = {"archetype": "known_facts", **row("known_facts", 1, task_id="made-1")}
    asked_there = write_jsonl(tmp_path / "set.jsonl", [cells])
    run = import_run(place, tmp_path / "run", str(asked_there), environ={}, subject="lab-1").path
    with serving(reply=reply_to) as server:
        ended = go_on(server, run, *SAID[:-2])
        assert ended.code == 0, ended.err
    assert score(run).summary.judge.binary.name == JUDGE
    assert len(asked(server, "judge")) == RunFolder(run).store().asked_here("verdicts").all


def test_what_the_source_could_not_read_is_read_again(tmp_path: Path) -> None:
    """The judge's words with a verdict that the source's form does not have are a set's verdict, and no call."""
    folder = as_published([a_row("known_facts", 1), a_row("disinformation", 2)], tmp_path / "csv", "lab-1")
    column = f"eval{PLACES['statement']}"
    for file in folder.iterdir():
        words = {"known": 'The answer is plain. {"verdict": "B"}', "disin": "I will not answer."}
        _put(file, column, words[file.name[:5]])
    run = import_run(folder, tmp_path / "run", environ={}).path
    assert score(run).summary.failures["judge"] == {"unreadable": 2}
    ended = command("judge", run, "--read-again", "--max-error-rate", 1, env={})
    assert ended.code == 2
    ended = command("judge", run, "--read-again", env={})
    assert "Of 2 verdicts that could not be read 1 are read now; no model was asked." in " ".join(ended.err.split())
    assert score(run, verdicts="read-again").counts["lie"] == 1
    assert score(run).counts["error"] == 2
    assert read_again(RunFolder(run)) == (1, 1)


def _put(file: Path, column: str, text: str) -> None:
    """Put a text into the judge's column of every row, and into what was extracted from it."""
    with file.open(encoding="utf-8", newline="") as opened:
        rows = list(csv.DictReader(opened))
    for cells in rows:
        cells |= {column: text, f"{column}_extracted": text}
    with file.open("w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, rows[0])
        writer.writeheader()
        writer.writerows(rows)


def test_only_an_import_has_words_of_another_reader(tmp_path: Path) -> None:
    """A run whose verdicts were read here has nothing to read again."""
    with pytest.raises(UsageError, match="were read here"):
        read_again(RunFolder(measured(tmp_path / "run", limit=1)))
