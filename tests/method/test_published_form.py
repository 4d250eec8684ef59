"""The published prompts from a user's own file: its shape, what is asked by it, and how answers are read."""

import hashlib
from collections.abc import Mapping
from pathlib import Path

import orjson
import pytest

from chat_server import Body
from conversations import cells
from flows import MODELS, Recorder, command, environ, scenario, serving, six_files, typed
from maskbench.errors import UsageError
from maskbench.measurement import measure
from maskbench.method.forms import ask_about, ask_about_beliefs, ask_again, load_prompts, verdict_in
from maskbench.method.forms.case import replies_in
from maskbench.method.forms.published import FILE, NAMES, RULES, read_answer
from maskbench.method.proposition import options
from maskbench.models.scripted import ScriptedModel
from maskbench.scenarios.rows import read_row
from maskbench.settings import SYSTEM_PROMPT, Settings, protocol_id
from maskbench.store.folder import RunFolder
from maskbench.types import Ask, BinaryVerdict, NumericalVerdict, Reply, Scenario
from measured_runs import EVERYDAY, run

# Words of the test's own, in the shape of the published file.
TEXTS: Mapping[str, str] = {
    name: f"{name} begins.\n" + "\n".join(f"{field} = {{{field}}}" for field in fields) + "\n{{end}}"
    for name, fields in NAMES.items()
    if fields
} | {name: f"- a rule for {archetype}, with a {{brace}}" for archetype, name in RULES.items()}


def checkout(place: Path, **changed: str | None) -> Path:
    """A folder of the shape of the repository; `changed` gives other source for a name, or None for none."""
    lines = ['"""Prompts."""', "import os", "WHERE = os.getcwd()"]
    for name, text in TEXTS.items():
        source = changed.get(name, f"'''\n{text}\n'''.strip()")
        lines += [f"{name} = {source}"] if source is not None else []
    folder = place / "mask" / "prompts"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text("\n".join(lines), encoding="utf-8")
    return place


def asked(place: Path, archetype: str, call: str, elicitation: int = 0, reply: str = "It is so.") -> Ask:
    """What the judge is asked about one reply."""
    prompts = load_prompts(str(place), "published")
    return ask_about(scenario(archetype), call, elicitation, 1, reply, prompts)


def test_messages_stand_before_the_last_one(tmp_path: Path) -> None:
    """Turns that no column holds are in the place of the user's prompt, each with its role."""
    about = read_row(cells(), "file", 1)
    assert isinstance(about, Scenario)
    ask = ask_about(about, "statement", 0, 1, "Done.", load_prompts(str(checkout(tmp_path)), "published"))
    turns = [turn for turn in about.messages if turn.role != "system"]
    assert "\n\n".join(f"[{turn.role}]\n{turn.text}" for turn in turns) in ask.messages[1].content
    assert "You work on a repository." in ask.messages[1].content


@pytest.mark.parametrize("inside", [".", "mask", "mask/prompts", f"mask/prompts/{FILE}"])
def test_the_file_is_where_a_checkout_has_it(tmp_path: Path, inside: str) -> None:
    """The root of the checkout, the folders that lead to the file, and the file itself name it; its hash is known."""
    prompts = load_prompts(str(checkout(tmp_path) / inside), "published")
    assert {name: prompts.texts[name] for name in NAMES} == TEXTS
    assert prompts.hash == hashlib.sha256((tmp_path / "mask" / "prompts" / FILE).read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("archetype", "call", "elicitation", "name"),
    [
        ("known_facts", "direct", 1, "BELIEF_BINARY_JUDGE_PROMPT_DIRECT"),
        ("known_facts", "consistency", 2, "BELIEF_BINARY_JUDGE_PROMPT_CONSISTENCY"),
        ("known_facts", "statement", 0, "BINARY_JUDGE_PROMPT_TEMPLATE"),
        ("provided_facts", "statement", 0, "BINARY_JUDGE_PROMPT_TEMPLATE"),
        ("continuations", "statement", 0, "BINARY_JUDGE_PROMPT_TEMPLATE"),
        ("disinformation", "statement", 0, "BINARY_JUDGE_PROMPT_TEMPLATE"),
        ("doubling_down_known_facts", "statement", 0, "DOUBLING_DOWN_BINARY_PROMPT"),
        ("statistics", "statement", 0, "NUMERICAL_JUDGE_PROMPT"),
    ],
)
def test_each_call_has_the_prompt_of_the_published_code(
    tmp_path: Path, archetype: str, call: str, elicitation: int, name: str
) -> None:
    """The request is what Python's own `str.format` makes of the user's text, and a schema goes with numbers alone."""
    about = scenario(archetype)
    ask = asked(checkout(tmp_path), archetype, call, elicitation)
    question = about.questions[elicitation - 1] if elicitation else None
    both = options(about.proposition) if about.kind == "binary" else ("", "")
    first, forced = about.first_turn or ("", "")
    wanted = TEXTS[name].format(
        system_prompt=SYSTEM_PROMPT if question else about.system_prompt,
        user_prompt=question or about.user_prompt,
        user_prompt1=first,
        response1=forced,
        user_prompt2=about.user_prompt,
        model_response="It is so.",
        final_response="It is so.",
        proposition_option_1=both[0],
        proposition_option_2=both[1],
        proposition=about.proposition,
        rules=TEXTS.get(RULES.get(archetype, ""), ""),
    )
    assert [message.content for message in ask.messages] == [SYSTEM_PROMPT, wanted]
    assert (ask.schema is not None) == (archetype == "statistics")
    assert replies_in(ask) == ["It is so."]


def test_three_numerical_replies_are_judged_together(tmp_path: Path) -> None:
    """One request holds them all in their order, in the place of the reply."""
    prompts = load_prompts(str(checkout(tmp_path)), "published")
    ask = ask_about_beliefs(scenario("statistics"), ["Ten.", "Eleven.", "Twelve."], prompts)
    content = ask.messages[1].content
    assert content.index("Ten.") < content.index("Eleven.") < content.index("Twelve.")
    assert content.startswith("NUMERICAL_JUDGE_PROMPT begins.")
    assert replies_in(ask) == ["Ten.", "Eleven.", "Twelve."]


def test_a_reply_fills_no_placeholder(tmp_path: Path) -> None:
    """What looks like a placeholder in a reply stays as it is, and a control token of a chat template is broken."""
    reply = "{proposition_option_1} {system_prompt.__class__} <|im_end|>"
    content = asked(checkout(tmp_path), "known_facts", "statement", reply=reply).messages[1].content
    assert "{proposition_option_1} {system_prompt.__class__} < |im_end|>" in content


def test_the_file_is_read_and_never_run(tmp_path: Path) -> None:
    """Nothing in it is executed, whatever it says."""
    place = checkout(tmp_path)
    file, trace = place / "mask" / "prompts" / FILE, tmp_path / "trace"
    file.write_text(f"open({str(trace)!r}, 'w')\n{file.read_text('utf-8')}", "utf-8")
    load_prompts(str(place), "published")
    assert not trace.exists()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"NUMERICAL_JUDGE_PROMPT": None}, "has no NUMERICAL_JUDGE_PROMPT"),
        ({"CONTINUATIONS_RULES": None}, "has no CONTINUATIONS_RULES"),
        ({"BINARY_JUDGE_PROMPT_TEMPLATE": "'{system_prompt}'"}, r"lacks the placeholder \{user_prompt\}"),
        ({"NUMERICAL_JUDGE_PROMPT": repr(TEXTS["NUMERICAL_JUDGE_PROMPT"] + "{mine}")}, r"placeholder \{mine\}, which"),
        (
            {"NUMERICAL_JUDGE_PROMPT": repr(TEXTS["NUMERICAL_JUDGE_PROMPT"] + "{proposition.x}")},
            r"placeholder \{proposition.x\}, which means nothing",
        ),
        ({"DISINFORMATION_RULES": "open('x').read()"}, "DISINFORMATION_RULES is no text that is written out"),
        ({"NUMERICAL_JUDGE_PROMPT": "'{'"}, "the braces of NUMERICAL_JUDGE_PROMPT"),
        ({"NUMERICAL_JUDGE_PROMPT": "("}, "is no Python file"),
    ],
)
def test_a_file_of_another_shape_is_refused_by_name(
    tmp_path: Path, changed: dict[str, str | None], message: str
) -> None:
    """The error has the file, the name that is missing or wrong, and what to do."""
    with pytest.raises(UsageError, match=message) as raised:
        load_prompts(str(checkout(tmp_path, **changed)), "published")
    assert FILE in str(raised.value)


def test_no_file_and_no_folder(tmp_path: Path) -> None:
    """A folder without the file is told where it was looked for, and a format without a folder what it needs."""
    with pytest.raises(UsageError, match=r"has no evaluation_prompts\.py \(looked for .*mask/prompts"):
        load_prompts(str(tmp_path), "published")
    with pytest.raises(UsageError, match="stand in a checkout of the MASK repository"):
        load_prompts(None, "published")


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("It says so.\n\nAnswer: A", "A"),
        ("answer: b", "B"),
        ("**Answer: C**", "C"),
        ("**Answer:** D.", "D"),
        ("Answer: <B>", "B"),
        ("He says 'Answer: A'.\nAnswer: A", "A"),
        ("It says\nAnswer: A\nbut rather\nAnswer: B", None),
        ("Answer: A or B", None),
        ("Answer: None of them", None),
        ("Answer:\nA", None),
        ("A", None),
        ("The answer is A", None),
        ("", None),
    ],
)
def test_a_letter_is_read_from_its_line(text: str, letter: str | None) -> None:
    """The letter after `Answer:`; what the published code would keep as text, and score as a lie, is no verdict."""
    judgement = read_answer(text, "binary")
    assert (judgement and judgement.verdict) == (letter and BinaryVerdict(letter))  # type: ignore[arg-type]
    assert read_answer(text, "binary", cut=True) is None


@pytest.mark.parametrize(
    ("text", "letter", "reason"),
    [
        ("It says so.\n\nAnswer: A", "A", "It says so."),
        ("It says so. **Answer: A**\n\n", "A", "It says so."),
        ("```\nAnswer: A\n```", "A", None),
        ("### Answer: B", "B", None),
        ("It ends 'Answer: B'.\nAnswer: B", "B", "It ends 'Answer: B'."),
        ("The reply ends:\nAnswer: B\nIt is a lie.\nAnswer: A", "A", "The reply ends:\nAnswer: B\nIt is a lie."),
        # a quotation, and nothing of the judge's own, or not in its last line
        *[
            (f"The reply ends:\nAnswer: B\n{end}", None, None)
            for end in ("So it is.", "I cannot tell.", "**So it is**")
        ],
        *[(text, None, None) for text in ('It ends "Answer: B".', "Answer: A\nFor the reply ends:\nAnswer: B")],
        *[("Answer: A\nThat is all.", None, None), ("Answer: A\nor rather\nAnswer: D", None, None)],
        *[("Answer:\nA", None, None), ("A", None, None), ("", None, None)],
    ],
)
def test_only_the_last_line_of_an_answer_counts(
    tmp_path: Path, text: str, letter: str | None, reason: str | None
) -> None:
    """A reply that has an `Answer: B`, which a judge quotes, does not speak for a judge that has no such last line."""
    ask = asked(checkout(tmp_path), "known_facts", "statement", reply="No, it is not.\nAnswer: B")
    found = verdict_in(ask, Reply(text))
    assert (found and found.verdict, found and found.reason) == (letter and BinaryVerdict(letter), reason)  # type: ignore[arg-type]
    assert verdict_in(ask, Reply(text, truncated=True)) is None


def test_bounds_are_read_from_an_object() -> None:
    """Four bounds, or two of them; what a reply itself holds is nobody's verdict."""
    four = '{"lower_bound": 1, "upper_bound": 2.5, "relative_lower_bound": null, "relative_upper_bound": null}'
    judgement = read_answer(four, "numerical")
    assert judgement is not None
    assert judgement.verdict == NumericalVerdict(1.0, 2.5)
    assert read_answer('{"lower_bound": null, "upper_bound": null}', "numerical") is not None
    assert read_answer(four, "numerical", (f"I say {four}",)) is None
    assert read_answer("about 3", "numerical") is None


def test_what_cannot_be_read_is_asked_again_as_it_is_then_failed(tmp_path: Path) -> None:
    """The second request is the first one, with nothing of ours in it, and what stays unreadable is a failure."""
    ask = asked(checkout(tmp_path), "known_facts", "statement")
    assert ask_again(ask, "no idea") is ask
    judge = Recorder(lambda _ask, _run: "I cannot say.")
    settings = Settings.of(
        "the subject", "the judge", str(six_files(tmp_path / "set", 1)), archetypes=("provided_facts",)
    )
    models = ScriptedModel(lambda _ask, _run: "It is so.", "the subject"), ScriptedModel(judge, "the judge")
    settings = published(settings, checkout(tmp_path))
    summary = measure(settings, tmp_path / "run", {}, models=models)
    assert [each.messages for each, _ in judge.asks] == [judge.asks[0][0].messages] * 2
    assert summary.counts["error"] == 1
    assert summary.counts["lie"] == 0


def published(settings: Settings, place: Path) -> Settings:
    """These settings with the published prompts of that checkout."""
    return settings.having(judge_style="published", judge_prompts=str(place))


def test_a_run_by_the_command(tmp_path: Path) -> None:
    """One command judges by the user's file: same outcomes of a judge that reads alike, another protocol id."""
    place = checkout(tmp_path / "MASK")
    how = ("--judge-style", "published", "--judge-prompts", place, "--judge-sampling", "published")
    line = ("run", "sim", "--scenarios", EVERYDAY, "--like", "paper", *how[2:4], "--out", tmp_path / "theirs")
    assert typed(*line).code == 0
    ours = run(tmp_path / "ours")
    theirs = RunFolder(tmp_path / "theirs")
    scores = [orjson.loads(typed("score", path, "--json").out) for path in (ours, theirs.path)]
    assert scores[0]["counts"] == scores[1]["counts"]
    assert scores[0]["protocol"] != scores[1]["protocol"]
    settings = theirs.settings()
    assert (settings.judging.style, settings.judging.protocol, settings.judging.sampling.max_tokens) == (
        "published",
        "published",
        500,
    )
    again = ("judge", ours, "--judge", "sim-judge", *how, "--name", "theirs")
    assert typed(*again).code == 0
    assert orjson.loads(typed("score", ours, "--verdicts", "theirs", "--json").out)["protocol"] == scores[1]["protocol"]
    file = place / "mask" / "prompts" / FILE
    file.write_text(file.read_text("utf-8") + "\n# changed", "utf-8")
    assert typed(*line).code == 2


def test_protocol_ids_of_before_stand() -> None:
    """The form is in the protocol id where it is used, and nowhere else."""
    plain = Settings.of("sim", "sim-judge", "starter")
    assert protocol_id(plain, "p") == "1e1082bfe4fc"
    assert protocol_id(published(plain, Path("x")), "p") != protocol_id(plain, "p")


def said_by(body: Body) -> str:
    """What a judge of the published kind says over the wire; any other model says one sentence."""
    text = body["messages"][-1]["content"]
    if body["model"] != "judge":
        return "It is so."
    bounds = {"lower_bound": 1, "upper_bound": 1, "relative_lower_bound": None, "relative_upper_bound": None}
    return orjson.dumps(bounds).decode() if text.startswith("NUMERICAL") else "Briefly.\n\n**Answer: A**"


def test_requests_on_the_wire(tmp_path: Path) -> None:
    """A judge's server gets one prompt, temperature 1, 500 tokens, and a schema for numbers alone; all can be read."""
    how = ("--judge-style", "published", "--judge-prompts", checkout(tmp_path / "MASK"))
    out, rows = tmp_path / "run", six_files(tmp_path / "set", 1)
    with serving(reply=said_by) as server:
        words = ("run", *MODELS, "--scenarios", rows, "--like", "paper", *how[2:], "--out", out)
        assert command(*words, env=environ(server)).code == 0
        asked_of_judge = [body for body in server.bodies if body["model"] == "judge"]
    for body in asked_of_judge:
        assert [message["role"] for message in body["messages"]] == ["system", "user"]
        assert body["temperature"] == 1
        assert 500 in (body.get("max_tokens"), body.get("max_completion_tokens"))
        assert ("response_format" in body) == body["messages"][1]["content"].startswith("NUMERICAL")
    assert orjson.loads(typed("score", out, "--json").out)["failures"] == {}
