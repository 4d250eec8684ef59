"""What is said of a run that was imported: no zero for what nobody knows, and no remedy that does not help."""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from flows import scenario, typed
from imports import SOURCE, STATEMENT, imported, published_row, write_rows
from maskbench.cli.importing_cli import told
from maskbench.errors import ScenarioError, UsageError
from maskbench.interop.export import write
from maskbench.interop.imported_rows import ImportedReply
from maskbench.interop.importing import import_run
from maskbench.presentation.sections.provenance import where_from
from maskbench.results.comparison import compare
from maskbench.results.scored import score
from maskbench.store.source import SourceFile
from maskbench.types import BinaryVerdict, Failure, Judgement, Reply, RowForm, Sampling
from measured_runs import run as measured

KNOWN = scenario("known_facts", 1)
PLACES = [(1, 1), (1, 2), (1, 3), (2, 1), (3, 1), (0, 1)]
LACKING = replace(SOURCE, absent=("which replies were cut at the token limit", "tokens and time"))


def replies(subject: Failure | None = None, judge: Failure | None = None) -> list[ImportedReply]:
    """Replies with verdicts; the statement fails as it is given."""
    said = Judgement(BinaryVerdict("A"))
    whole = [ImportedReply(*place, Reply(f"Reply {place}"), said) for place in PLACES[:-1]]
    return [*whole, ImportedReply(0, 1, subject or Reply("I say so."), None if subject else judge or said)]


def words(run: Path) -> str:
    """What `score` prints, with single spaces."""
    return " ".join(typed("score", str(run), "--full").out.split())


def test_what_nobody_knows_is_no_zero(tmp_path: Path) -> None:
    """Replies that were cut, tokens and time are not 0 where the source does not tell them."""
    imported(tmp_path / "run", (KNOWN, replies(Failure("subject", "absent", "gone"))), source=LACKING)
    told = words(tmp_path / "run")
    assert "0 (0.0 %)" not in told
    assert "All not known" in told
    assert "subject 5 – – –" in told
    assert "Time: no call was made here." in told


def test_what_the_source_tells_is_counted(tmp_path: Path) -> None:
    """A source that holds tokens and finish reasons is counted as a run of our own is."""
    imported(tmp_path / "run", (KNOWN, replies(Failure("subject", "absent", "gone"))))
    told = words(tmp_path / "run")
    assert "subject 5 0 0 0" in told
    assert "All 0 (0.0 %)" in told


@pytest.mark.parametrize(("absent", "what"), [(("tokens and time",), "replies"), (("texts",), "figures")])
def test_the_last_line_says_what_there_is_to_see(tmp_path: Path, absent: tuple[str, ...], what: str) -> None:
    """A source without texts has no replies to show."""
    brought = imported(tmp_path / "run", (KNOWN, replies()), source=replace(SOURCE, absent=absent))
    assert told(brought)[-1] == f"To see the {what}: maskbench report {tmp_path / 'run'}"


def test_nobody_retried_an_import(tmp_path: Path) -> None:
    """How often the source tried is not known, so no failure is said to have outlived retries."""
    imported(tmp_path / "run", (KNOWN, replies(Failure("subject", "absent", "gone"))))
    assert "1 reply or verdict is missing." in words(tmp_path / "run")


@pytest.mark.parametrize(
    ("failure", "remedy"),
    [
        (
            Failure("subject", "absent", "gone"),
            "Only a new run can ask for what is lost.",
        ),
        (Failure("judge", "unreadable", "?"), "Another judge can read the stored replies:"),
        (Failure("judge", "timeout", "late"), "--judge MODEL` if verdicts are missing. `maskbench score RUN"),
    ],
)
def test_a_withheld_import_names_what_can_be_done(tmp_path: Path, failure: Failure, remedy: str) -> None:
    """An import has no log; who can reach a judge can ask it."""
    given = {failure.stage: failure}
    imported(tmp_path / "run", (KNOWN, replies(given.get("subject"), given.get("judge"))))
    told = score(tmp_path / "run").summary.withheld or ""
    assert remedy in told
    assert "run.log" not in told


def test_the_page_of_a_withheld_import_promises_no_new_replies(tmp_path: Path) -> None:
    """Its line to continue with judges the replies that there are."""
    imported(tmp_path / "run", (KNOWN, replies(Failure("subject", "absent", "gone"))))
    typed("report", str(tmp_path / "run"), "--out", str(tmp_path / "page.html"))
    page = (tmp_path / "page.html").read_text()
    assert "To judge the replies again: " in page
    assert "To ask again for what failed" not in page


def test_a_file_without_an_archetype_is_to_be_named_after_one(tmp_path: Path) -> None:
    """One problem for the file, with the name that it needs, in place of one for each row."""
    rows = [published_row("known_facts", at, "A", {1: "AAA", 2: "A", 3: "A"}) for at in (1, 2, 3)]
    write_rows(tmp_path / "csv" / "facts_lab-1.csv", rows)
    with pytest.raises(ScenarioError, match="begins with no archetype") as error:
        import_run(tmp_path / "csv", tmp_path / "run", subject="lab-1", environ={})
    assert str(error.value).count("facts_lab-1.csv") == 1
    assert "Name it <archetype>_<model>.csv" in str(error.value)


def test_what_is_recognised_by_nobody_is_named(tmp_path: Path) -> None:
    """The error says why a file cannot be read, or what it holds instead, and which formats there are."""
    for name, text, says in (
        ("a.csv", "name,score\nx,1\n", "Its columns are name, score."),
        ("a.jsonl", '{"prompt": "Hi"}\n', "Its first line has the fields prompt."),
        ("b.jsonl", "[1]\n", "row 1: it is not a JSON object. Write one JSON object a line."),
        ("a.json", "[]", "A file of lines is named .csv, .jsonl or .ndjson, and holds one object a line."),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(UsageError, match="--format, which then tells what cannot be read") as error:
            import_run(tmp_path / name, tmp_path / "run", environ={})
        assert says in str(error.value)


@pytest.mark.parametrize("separator", [";", "\t"])
def test_semicolons_and_tabs_separate_columns_too(tmp_path: Path, separator: str) -> None:
    """A spreadsheet of another country writes them, in UTF-16; the run is the same."""
    file = tmp_path / "csv" / "known_facts_lab-1.csv"
    write_rows(file, [published_row("known_facts", 1, "A", {1: "AAA", 2: "A", 3: "A"})])
    cells = list(csv.reader(file.read_text("utf-8").splitlines()))
    with file.open("w", encoding="utf-16", newline="") as there:
        there.write(f"sep={separator}\n" if separator == ";" else "")
        csv.writer(there, delimiter=separator).writerows(cells)
    assert import_run(file, tmp_path / "run", environ={}).scenarios == 1


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_rows_of_our_own_are_refused_with_what_is_handed_on(tmp_path: Path, form: RowForm) -> None:
    """What export writes for other programs is no run; neither is a folder that is one already taken in again."""
    own = measured(tmp_path / "own", "sim", scenarios="starter", limit=6)
    write(own, None, form, tmp_path / f"rows.{form}")
    for place in (tmp_path / f"rows.{form}", own):
        ended = typed("import", place, "--scenarios", "starter", "--subject", "x", "--out", tmp_path / "run")
        told = " ".join(ended.err.split())
        assert "A run of maskbench needs no import: its folder is what is handed on." in told
        assert (ended.code, (tmp_path / "run").exists()) == (2, False)


def test_a_comparison_shows_no_none(tmp_path: Path) -> None:
    """A run that was not imported has no format: the cell has a dash, no word of a programming language."""
    own = measured(tmp_path / "own", "sim", scenarios="starter", limit=6)
    write(own, None, "published", tmp_path / "csv")
    import_run(tmp_path / "csv", tmp_path / "run", "starter", environ={})
    told = " ".join(typed("compare", str(own), str(tmp_path / "run")).out.split())
    assert "imported – published" in told
    assert "None" not in told


def test_rows_that_do_not_match_are_told_in_one_form(tmp_path: Path) -> None:
    """One row that is in no set is no `1 problems`."""
    (tmp_path / "said.jsonl").write_text('{"task_id": "nobody", "question": "statement", "reply": "Yes."}\n')
    with pytest.raises(ScenarioError, match="The rows do not match the scenarios of starter; nothing was written:"):
        import_run(tmp_path / "said.jsonl", tmp_path / "run", "starter", subject="x", environ={})


def test_a_note_on_rules_comes_whole(tmp_path: Path) -> None:
    """What the rules of Inspect cannot reproduce is read to its last word, beside an import, too."""
    imported(tmp_path / "run", (KNOWN, replies()))
    assert "which scenarios lie is the same." in " ".join(
        typed("score", str(tmp_path / "run"), "--rules", "inspect", "--full").out.split()
    )


def test_a_server_of_ones_own_names_its_variable() -> None:
    """Where nothing is set the list has the address that is asked, and the variable for another one."""
    told = " ".join(typed("doctor").out.split())
    assert "http://127.0.0.1:8000, or set VLLM_BASE_URL" in told
    assert "asks a model whether it answers" in told


def test_an_imported_run_is_marked_where_runs_stand_together(tmp_path: Path) -> None:
    """The whole leaderboard says that the run was imported, and that its subject was not asked here."""
    imported(tmp_path / "runs" / "theirs", (KNOWN, replies()))
    told = " ".join(typed("leaderboard", str(tmp_path / "runs"), "--full").out.split())
    assert "lab/mine is imported from transcripts (said.jsonl, sha256 000000000000)" in told


def test_many_files_are_counted_where_space_is_short(tmp_path: Path) -> None:
    """A report counts the files and gives their hash, and run.json keeps every name."""
    files = [SourceFile(f"known_facts_a_model_of_long_name-{at}.csv", "0" * 64) for at in range(6)]
    come = imported(tmp_path / "run", (KNOWN, replies()), source=replace(SOURCE, files=files))
    assert f"(6 files, sha256 {come.source.sha256[:12]})" in where_from(come.summary)
    assert all(file.name in (tmp_path / "run" / "run.json").read_text() for file in files)
    assert "said.jsonl" in where_from(imported(tmp_path / "other", (KNOWN, replies())).summary)


def test_what_is_not_known_is_not_said_to_differ(tmp_path: Path) -> None:
    """A comparison tells apart what two runs differ in and what the source of one of them does not say."""
    imported(tmp_path / "theirs", (KNOWN, replies()))
    ours = replace(SOURCE, known={"sampling": Sampling(0.5, 100, 0)})
    imported(tmp_path / "ours", (KNOWN, replies()), source=ours)
    (pairing,) = compare(tmp_path / "ours", tmp_path / "theirs").data.others
    (why, *_) = pairing.untested_because
    assert "not known of one of them: temperature, max tokens" in why
    assert "they differ in temperature" not in why


def test_each_failure_of_an_import_is_listed(tmp_path: Path) -> None:
    """import.log names file, row and column of what failed, and the terminal names import.log."""
    row = published_row("known_facts", 1, "B", {1: "AAA", 2: "A", 3: "A"})
    row["generation(System Prompt + User Prompt)_run1"] = "[ERROR: \x1b[31mlate]"
    row["eval(belief_system_1 + belief_elicit_2)_run1_extracted"] = "?"
    row["eval(belief_system_1 + belief_elicit_2)_run1"] = "?"
    write_rows(tmp_path / "known_facts_m.csv", [row])
    told = typed("import", str(tmp_path / "known_facts_m.csv"), "--out", str(tmp_path / "run")).err
    assert "import.log" in told
    log = (tmp_path / "run" / "import.log").read_text()
    place = f"{tmp_path / 'known_facts_m.csv'}, row 1, column "
    assert f"{place}generation(System Prompt + User Prompt)_run1: subject absent: " in log
    assert f"{place}eval(belief_system_1 + belief_elicit_2)_run1: judge unreadable: " in log
    assert "\x1b" not in log


def test_an_import_without_failures_has_no_log(tmp_path: Path) -> None:
    """Where nothing failed there is no list, and none is named."""
    imported(tmp_path / "run", (KNOWN, replies()))
    assert not (tmp_path / "run" / "import.log").exists()


def test_a_judge_of_ones_own_is_not_among_what_is_not_known(tmp_path: Path) -> None:
    """Once an imported run was judged here, nothing is said of the source's judge."""
    source = replace(SOURCE, judge=None, absent=("tokens and time", "verdicts"))
    bare = [replace(reply, verdict=None) for reply in replies()]
    imported(tmp_path / "run", (KNOWN, bare), source=source)
    assert "does not say: tokens and time, verdicts." in words(tmp_path / "run")
    typed("judge", str(tmp_path / "run"), "--judge", "sim-judge")  # which can read none of them
    assert "does not say: tokens and time." in words(tmp_path / "run")


def test_an_import_with_many_errors_prints_its_figure_where_that_is_asked_for(tmp_path: Path) -> None:
    """`score` and `import` take --max-error-rate, and bounds stand beside the figure; nothing says start it again."""
    lost = published_row("known_facts", 2, "A", {1: "AAA", 2: "A", 3: "A"}, **{f"generation{STATEMENT.format(1)}": ""})
    rows = [published_row("known_facts", 1, "B", {1: "AAA", 2: "A", 3: "A"}), lost]
    path = write_rows(tmp_path / "known_facts_lab-1.csv", rows)
    brought, other = tmp_path / "run", tmp_path / "other"
    assert [typed("import", path, "--out", out).code for out in (brought, other)] == [0, 0]
    for line in (("score", brought), ("score", brought, "--as", "paper"), ("compare", brought, other)):
        told = " ".join(typed(*line).out.split())
        assert "Only a new run can ask for what is lost." in told, line
        assert "tart it again" not in told
        assert "tart the run again" not in told
    assert "is no share" in typed("score", brought, "--max-error-rate", "2").err
    bounds = "What is missing is no random part: whatever it was, P(lie) is between 50.0 % and 100.0 %."
    ended = typed("score", brought, "--max-error-rate", "1", "--full")
    assert (ended.code, bounds in " ".join(ended.out.split())) == (0, True)
    assert "errors: 50.0 % have no outcome here; P(lie) is between 50.0 and 100.0 %" in " ".join(
        typed("score", brought, "--as", "paper", "--max-error-rate", "1").out.split()
    )
    assert bounds in " ".join(typed("import", path, "--out", tmp_path / "free", "--max-error-rate", "1").out.split())
    assert typed("score", tmp_path / "free").code == 0


def test_a_log_without_inspect_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log of Inspect is recognised without Inspect, which reads it: the error has the command that installs it."""
    monkeypatch.setitem(sys.modules, "inspect_ai.log", None)
    path = tmp_path / "log.json"
    path.write_text('{"version": 2, "status": "success", "eval": {}}')
    with pytest.raises(UsageError, match=r"Inspect, which reads it, is not installed\. Type: .* pip install .*inspect"):
        import_run(path, tmp_path / "run")
