"""Transcripts of one's own: a line a reply, checked line by line, and a run of them."""

import json
from pathlib import Path
from typing import Any

import pytest

import schemas
from flows import typed
from imports import items_of
from maskbench.errors import ScenarioError, UsageError
from maskbench.interop.importing import READERS, import_run
from maskbench.interop.transcripts import Transcript
from maskbench.store.folder import RunFolder
from maskbench.store.source import ImportedFrom
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import Failure, Reply
from scenario_rows import row, write_csv

LINE: dict[str, Any] = {"task_id": "known_facts-1", "question": "statement", "reply": "It is loud."}
ALL = [
    {**LINE, "question": question, "sample": sample}
    for question, samples in (("statement", 1), ("belief_elicit_1", 3), ("belief_elicit_2", 1), ("belief_elicit_3", 1))
    for sample in range(1, samples + 1)
]


def lines(place: Path, *written: Any) -> Path:
    """A file with these lines beside the scenarios that were asked."""
    place.mkdir(exist_ok=True)
    write_csv(place / "known_facts.csv", [row("known_facts", 1), row("known_facts", 2)])
    path = place / "said.jsonl"
    path.write_text("".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in written), "utf-8")
    return path


def run_of(
    place: Path, *written: Any, subject: str | None = "lab/mine"
) -> dict[tuple[int, int], Reply | Failure | None]:
    """The replies of a run of these lines, by elicitation and sample."""
    path = lines(place, *written)
    import_run(path, place / "run", str(place / "known_facts.csv"), subject=subject, environ={})
    with OpenRun(RunFolder(place / "run")) as opened:
        (scenario,) = (scenario for scenario, _ in opened.store.scenarios())
        return {(item.elicitation, item.run): item.reply for item in opened.store.samples(scenario).items()}


def test_lines_become_a_run_without_verdicts(tmp_path: Path) -> None:
    """Each line is a reply in its place, and the run is there to be judged."""
    assert set(run_of(tmp_path, *ALL)) == {(0, 1), (1, 1), (1, 2), (1, 3), (2, 1), (3, 1)}
    assert items_of(tmp_path / "run") == {}


def test_of_a_run_that_nobody_judged_no_belief_is_told(tmp_path: Path) -> None:
    """It does not say that nothing was asked neutrally: no scenario is done."""
    run_of(tmp_path, *ALL)
    told = " ".join(typed("score", str(tmp_path / "run"), "--full").out.split())
    assert "What it believes No scenario is done yet." in told
    assert "Nothing was asked neutrally" not in told


def test_a_reply_that_no_line_has_is_absent(tmp_path: Path) -> None:
    """What was not brought is a failure with that cause, and never a reply."""
    replies = run_of(tmp_path, *ALL[:-1])
    assert isinstance(replies[3, 1], Failure)
    assert replies[3, 1].cause == "absent"


def test_what_was_not_asked_is_not_absent(tmp_path: Path) -> None:
    """Where a consistency question has no reply at all, the import says how to take it out; then nothing is absent."""
    direct = [line for line in ALL if line["question"] in ("statement", "belief_elicit_1")]
    path, known = lines(tmp_path, *direct), str(tmp_path / "known_facts.csv")
    first = import_run(path, tmp_path / "a", known, subject="lab/mine", environ={})
    assert "The source has no reply to belief_elicit_2 or belief_elicit_3. If nobody asked that" in first.notes[0]
    asked = import_run(path, tmp_path / "b", known, subject="lab/mine", asked=["belief_elicit_1"], environ={})
    assert (first.failures, asked.failures, asked.notes) == ({"subject": {"absent": 2}}, {}, [])
    for wrong in (["belief_elicit_4"], ["belief_elicit_2"]):
        with pytest.raises(UsageError, match="that were asked, and the first"):
            import_run(path, tmp_path / "c", known, subject="lab/mine", asked=wrong, environ={})


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        ([{"type": "text", "text": "It is "}, {"type": "text", "text": "loud."}], Reply("It is loud.")),
        (
            [{"type": "thinking", "thinking": "Hm.", "signature": "x"}, {"type": "text", "text": "It is loud."}],
            Reply("It is loud.", "Hm."),
        ),
    ],
)
def test_blocks_of_content_are_a_reply(tmp_path: Path, reply: object, outcome: Reply) -> None:
    """Anthropic's messages have a list in the place of a text; what is thought stands beside the reply."""
    assert run_of(tmp_path, *ALL[1:], LINE | {"reply": reply})[0, 1] == outcome


def test_reasoning_beside_blocks_is_kept(tmp_path: Path) -> None:
    """Where a line has both, none of it is lost."""
    blocks = [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "It is loud."}]
    had = run_of(tmp_path, *ALL[1:], LINE | {"reply": blocks, "reasoning": "First."})
    assert had[0, 1] == Reply("It is loud.", "First.\n\nHm.")


def test_a_block_that_is_no_text_is_named(tmp_path: Path) -> None:
    """A call of a tool is no statement, and is not left out."""
    call = {"type": "tool_use", "id": "a", "name": "run", "input": {}}
    with pytest.raises(ScenarioError, match="a list of blocks of the types text and thinking alone"):
        run_of(tmp_path, *ALL[1:], LINE | {"reply": [call]})


def test_a_file_is_recognised_by_the_reader_that_reads_it(tmp_path: Path) -> None:
    """Half a character or NaN in the first line, a line over a megabyte, UTF-16 and .ndjson are no other format."""
    known = lines(tmp_path, *ALL).parent / "known_facts.csv"
    first = LINE | {"reasoning": "\ud83d" + "x" * 2**20, "error": float("nan")}
    text = "".join(json.dumps(each) + "\n" for each in (first, *ALL[1:]))
    (tmp_path / "said.ndjson").write_bytes(text.encode("utf-16"))
    assert import_run(tmp_path / "said.ndjson", tmp_path / "b", str(known), subject="m", environ={}).replies == 6


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        ({"finish_reason": "length"}, Reply("It is loud.", truncated=True)),
        ({"finish_reason": "max_tokens"}, Reply("It is loud.", truncated=True)),
        ({"finish_reason": "stop", "reasoning": "Hm.", "model": "m-1"}, Reply("It is loud.", "Hm.", model="m-1")),
        ({"finish_reason": "content_filter"}, Failure("subject", "filtered", "finish_reason is content_filter.")),
        ({"finish_reason": "LENGTH"}, Reply("It is loud.", truncated=True)),
        ({"finish_reason": "max_output_tokens"}, Reply("It is loud.", truncated=True)),
        ({"finish_reason": {"type": "length", "length": 9}}, Reply("It is loud.", truncated=True)),
        ({"finish_reason": "ContentFilter"}, Failure("subject", "filtered", "finish_reason is ContentFilter.")),
        ({"finish_reason": "SAFETY"}, Failure("subject", "filtered", "finish_reason is SAFETY.")),
        ({"finish_reason": "abort"}, Failure("subject", "malformed_response", "finish_reason is abort.")),
        ({"finish_reason": "other"}, Failure("subject", "unknown_end", "finish_reason is other.")),
        ({"reply": "  "}, Failure("subject", "empty", "The reply is empty.")),
        ({"reply": None, "error": "429"}, Failure("subject", "absent", "The line holds an error: 429")),
    ],
)
def test_what_a_line_says_of_its_reply(tmp_path: Path, told: dict[str, Any], reply: Reply | Failure) -> None:
    """Cut, withheld, empty and failed replies are what they are; reasoning and model are kept."""
    assert run_of(tmp_path, LINE | told)[0, 1] == reply


@pytest.mark.parametrize(
    ("finish", "says"),
    [("length", True), ("STOP", True), ("", False), (None, False), ("other", False), ("abort", False)],
)
def test_which_replies_were_cut_is_known_where_a_line_says_it(tmp_path: Path, finish: str | None, says: bool) -> None:
    """Only an end that is known to be whole or cut says it; an unknown word is named, with what to write."""
    run_of(tmp_path, *ALL[1:], LINE | {"finish_reason": finish})
    source = RunFolder(tmp_path / "run").read().imported
    assert isinstance(source, ImportedFrom)
    assert ("which replies were cut at the token limit" not in source.absent) is says
    named = [note for note in source.notes if "finish_reason is not known (other)" in note]
    assert len(named) == (finish == "other")


@pytest.mark.parametrize(
    ("told", "reply"),
    [
        ({"reply": "<think>Hm.</think>\n\nIt is loud."}, Reply("It is loud.", "Hm.")),
        ({"reply": "[THINK]Hm.[/THINK]It is loud.", "reasoning": "Given."}, Reply("It is loud.", "Given.")),
        ({"reply": "<think>Hm"}, Failure("subject", "unclosed_reasoning", "The reply is reasoning alone.")),
        ({"reply": "<think>Hm.</think> "}, Failure("subject", "empty", "The reply is empty.")),
        ({"reply": "<|im_end|>more"}, Failure("subject", "empty", "The reply is empty.")),
        ({"reply": "It is loud.<|im_end|>more"}, Reply("It is loud.<|im_end|>more")),
        ({"reply": "I say </think> aloud"}, Reply("I say </think> aloud")),
    ],
)
def test_reasoning_in_a_reply_stands_beside_it(tmp_path: Path, told: dict[str, Any], reply: Reply | Failure) -> None:
    """It is parted as an endpoint's is; a closing mark that few replies have parts nothing."""
    others = [{**each, "sample": each["sample"] + (each["question"] == "statement")} for each in ALL]
    assert run_of(tmp_path, {**LINE, **told}, *others)[0, 1] == reply


def test_replies_that_began_with_reasoning_are_counted(tmp_path: Path) -> None:
    """The import says how many there were, and not that the source has no reasoning."""
    path = lines(tmp_path, *({**each, "reply": "<think>Hm.</think>It is loud."} for each in ALL))
    done = import_run(path, tmp_path / "run", str(tmp_path / "known_facts.csv"), subject="lab/mine", environ={})
    assert done.notes == ["6 replies began with their reasoning. It stands beside them now, and is not judged."]
    assert "reasoning" not in done.absent


def test_a_template_that_opened_the_reasoning_of_all_replies_is_seen(tmp_path: Path) -> None:
    """The text is stored as it came, and read without the reasoning."""
    replies = run_of(tmp_path, *({**each, "reply": "Hm.</think>It is loud."} for each in ALL))
    assert list(replies.values()) == 6 * [Reply("It is loud.", "Hm.")]


def test_everything_that_is_wrong_is_told_with_line_field_and_remedy(tmp_path: Path) -> None:
    """Several problems of several lines come at once, and nothing is written."""
    path = lines(
        tmp_path,
        {"task_id": "", "question": "belief", "sample": 0, "answer": "x"},
        LINE,
        LINE,
        {**LINE, "sample": 2, "error": "429"},
        {**LINE, "sample": 3, "reply": 7},
        "[1]",
        "{",
        '{"task_id": "a", "task_id": "b"}',
        "[" * 100_000,
    )
    with pytest.raises(ScenarioError) as raised:
        import_run(path, tmp_path / "run", str(tmp_path / "known_facts.csv"), subject="x", environ={})
    told = [(problem.row, problem.column) for problem in raised.value.problems]
    assert told == [
        *((1, "answer"), (1, "task_id"), (1, "question"), (1, "sample")),
        *((4, "reply"), (5, "reply"), (6, None), (7, None), (8, None), (9, None), (3, "sample")),
    ]
    assert "row 1, column sample: 0 is none. Write a whole number from 1 to 1000." in str(raised.value)
    assert not (tmp_path / "run").exists()


def test_a_question_that_the_scenario_does_not_have_is_named(tmp_path: Path) -> None:
    """A line about an unknown scenario, or an unknown sample of a consistency question, is refused with its row."""
    path = lines(tmp_path, {**LINE, "question": "belief_elicit_2", "sample": 2}, {**LINE, "task_id": "known_facts-9"})
    with pytest.raises(ScenarioError) as raised:
        import_run(path, tmp_path / "run", str(tmp_path / "known_facts.csv"), subject="x", environ={})
    assert [(problem.row, problem.column) for problem in raised.value.problems] == [
        (1, "belief_elicit_2, sample 2"),
        (2, "task_id"),
    ]


def test_the_model_of_the_lines_is_the_subject(tmp_path: Path) -> None:
    """One model in all lines needs no --subject; several do, and none does."""
    run_of(tmp_path, LINE | {"model": "m-1"}, subject=None)
    assert RunFolder(tmp_path / "run").settings().subject.name == "m-1"
    for models, words in ((("a", "b"), r"several models \(a, b\)"), ((None, None), "does not say which model")):
        written = [LINE | {"sample": at, "model": model} for at, model in enumerate(models, 1)]
        with pytest.raises(UsageError, match=words):
            run_of(tmp_path, *written, subject=None)


def test_of_several_models_the_one_that_is_named_is_imported(tmp_path: Path) -> None:
    """Nobody else's replies count as its own, and a line without a name is no guess; another name is refused."""
    both = [LINE | {"reply": "mine.", "model": "a"}, LINE | {"question": "belief_elicit_1", "model": "b"}]
    had = run_of(tmp_path, *both, subject="a")
    assert isinstance(had[0, 1], Reply)
    assert isinstance(had[1, 1], Failure)
    source = RunFolder(tmp_path / "run").read().imported
    assert isinstance(source, ImportedFrom)
    assert source.notes == ["1 lines of other models were left out."]
    with pytest.raises(ScenarioError, match="does not say which model answered, where other lines name several"):
        run_of(tmp_path / "nameless", *both, LINE | {"sample": 2}, subject="a")
    with pytest.raises(UsageError, match=r"several models \(a, b\), and lab/mine is none of them"):
        run_of(tmp_path / "other", *both, subject="lab/mine")
    assert not (tmp_path / "other" / "run").exists()


def test_without_scenarios_they_are_asked_for(tmp_path: Path) -> None:
    """Transcripts hold no propositions: the error says what to add."""
    with pytest.raises(UsageError, match="--scenarios SET"):
        import_run(lines(tmp_path, LINE), tmp_path / "run", subject="x", environ={})


def test_a_file_of_no_known_format_is_refused_with_the_formats(tmp_path: Path) -> None:
    """So is a path where nothing is."""
    (tmp_path / "x.txt").write_text("hello")
    with pytest.raises(UsageError, match=r"no format that maskbench knows.*published .*transcripts"):
        import_run(tmp_path / "x.txt", tmp_path / "run", environ={})
    with pytest.raises(UsageError, match="no file or folder"):
        import_run(tmp_path / "y", tmp_path / "run", environ={})


@pytest.mark.parametrize("name", READERS)
def test_each_format_that_is_named_can_be_given(name: str) -> None:
    """`--format` takes every format that the refusal of an unknown file names."""
    refused = typed("import", "nowhere", "--out", "run", "--format", name)
    assert refused.err == "Error: There is no file or folder nowhere. Check the path.\n"


def test_the_schema_of_a_line_says_which_fields_are_needed() -> None:
    """Task and question are needed, and every field is there."""
    told = json.loads(schemas.schema(Transcript))["$defs"]["Transcript"]
    assert told["required"] == ["task_id", "question"]
    assert set(told["properties"]) == set(Transcript.__struct_fields__)


def test_an_odd_first_line_is_recognised(tmp_path: Path) -> None:
    """Half a character in the first line hides no format, and stands as a mark."""
    path = lines(tmp_path, LINE | {"reply": "It is \ud83d loud."}, *ALL[1:])
    import_run(path, tmp_path / "run", str(tmp_path / "known_facts.csv"), subject="x", environ={})
    with OpenRun(RunFolder(tmp_path / "run")) as opened:
        ((scenario, _), *_) = opened.store.scenarios()
        reply = next(iter(opened.store.samples(scenario).items())).reply
    assert isinstance(reply, Reply)
    assert reply.text == "It is \ufffd loud."
