"""The shaping of requests, and the reading of answers and errors, whatever a server sends."""

import json
import time
from dataclasses import replace
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskbench.errors import AccessError, UnknownModel
from maskbench.method import reasoning
from maskbench.method.control_marks import before_mark
from maskbench.models.chat import refusals, wire
from maskbench.plain import is_visible
from maskbench.store.masking import Mask
from maskbench.types import Ask, Function, Message, Scenario, ToolCall, ToolCalls, ToolResult, Usage, conversation

SCENARIO = Scenario(
    "known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A", conversation("system", "user")
)
ASK = Ask((Message("system", "Be brief."), Message("user", "Is it so?")), SCENARIO, "direct", 1)
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}}


def build(ask: Ask = ASK, learned: wire.Learned | None = None, **options: Any) -> wire.Request:
    """A request with ordinary settings."""
    settings: dict[str, Any] = {"limit": 1000, "temperature": 1.0, "seed": 7, **options}
    return wire.request("m", ask, learned or wire.Learned(), **settings)


def sent(request: wire.Request) -> dict[str, Any]:
    """The JSON as the server gets it."""
    loaded: dict[str, Any] = orjson.loads(request.payload())
    return loaded


FULL = build(replace(ASK, schema=SCHEMA), limit=17_000, n=3).body


# Requests


def test_first_request_holds_the_classic_parameters() -> None:
    """Before anything is learned, a request is what every server of the protocol knows."""
    request = build()
    assert sent(request) == {
        "model": "m",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Is it so?"}],
        "max_tokens": 1000,
        "temperature": 1.0,
        "seed": 7,
    }
    assert request.sent == {"max_tokens": 1000, "temperature": 1.0, "seed": 7}


def test_one_sample_is_asked_without_n() -> None:
    """`n` goes out only where several samples are wanted, since some servers refuse it even as 1."""
    assert "n" not in sent(build(n=1))
    assert sent(build(n=4))["n"] == 4


def test_learned_refusals_shape_the_request() -> None:
    """What an endpoint refuses is left out or replaced, and `sent` tells what really went out."""
    learned = wire.Learned(limit="max_completion_tokens", temperature=False, schema=False, seed=False, system=False)
    request = build(replace(ASK, schema=SCHEMA), learned)
    assert sent(request) == {
        "model": "m",
        "messages": [{"role": "user", "content": "Be brief.\n\nIs it so?"}],
        "max_completion_tokens": 1000,
    }
    assert request.sent == {"max_tokens": 1000, "schema": False, "folded": True}


def test_schema_goes_out_strict() -> None:
    """A wanted schema is structured output in strict mode."""
    request = build(replace(ASK, schema=SCHEMA))
    assert sent(request)["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
    }
    assert request.sent["schema"] is True


def test_limit_stays_under_the_most_an_endpoint_takes() -> None:
    """The recorded limit is the one that was sent."""
    request = build(learned=wire.Learned(most=8192), limit=17_000)
    assert sent(request)["max_tokens"] == request.sent["max_tokens"] == 8192


def test_folding_keeps_the_other_turns() -> None:
    """System text goes before the first user message only; without one it becomes a user message."""
    turns = (Message("system", "S"), Message("user", "1"), Message("assistant", "2"), Message("user", "3"))
    assert wire.fold(turns) == (Message("user", "S\n\n1"), Message("assistant", "2"), Message("user", "3"))
    assert wire.fold((Message("system", "S"),)) == (Message("user", "S"),)


def test_learned_survives_a_round_trip_and_bad_records() -> None:
    """What was recorded is restored; unknown names and wrong types in a record are left out."""
    learned = wire.Learned(limit="max_completion_tokens", temperature=False, n=True, reasons=True, most=4096)
    assert wire.Learned.restore(json.loads(json.dumps(learned.as_dict()))) == learned
    bad = {"limit": "evil", "temperature": "no", "most": True, "reasons": 1, "other": 3}
    assert wire.Learned.restore(bad) == wire.Learned.restore(None) == wire.Learned()


def test_acceptance_never_overrides_a_refusal() -> None:
    """An answer shows what an endpoint takes, but only for what was in the request and not refused before."""
    learned = wire.Learned(seed=False)
    learned.accept(build().body)
    assert (learned.temperature, learned.seed, learned.system, learned.schema) == (True, False, True, None)


# Reasoning


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", ("plain", None, False, False)),
        ("<think>why</think>\n\nyes", ("yes", "why", False, False)),
        ("\n<thinking>\nwhy\n</thinking> yes", ("yes", "why", False, False)),
        ("<think></think>yes", ("yes", None, False, False)),
        ("<think>one</think><think>two</think>yes", ("yes", "one\n\ntwo", False, False)),
        ("the template opened\n</think>\n\nyes", ("yes", "the template opened", False, True)),
        ("<think>never ends", ("", "never ends", True, False)),
        ("<think>", ("", None, True, False)),
        ("I say <think>this</think> aloud", ("I say <think>this</think> aloud", None, False, False)),
        ("a < b </thinking", ("a < b </thinking", None, False, False)),
        ("<seed:think>why</seed:think>yes", ("yes", "why", False, False)),
        ("why</seed:think>yes", ("yes", "why", False, True)),
        ("<THINK>why</think> yes", ("yes", "why", False, False)),
        ("<reasoning>why</reasoning>\nyes", ("yes", "why", False, False)),
        ("<thought>\nwhy\n</thought>yes", ("yes", "why", False, False)),
        ("<thought>never ends", ("", "never ends", True, False)),
        ("<b>bold</b> claim", ("<b>bold</b> claim", None, False, False)),
        (
            "<|channel|>analysis<|message|>why<|end|><|start|>assistant<|channel|>final<|message|>yes<|return|>",
            ("yes", "why", False, False),
        ),
        ("<|start|>assistant<|channel|>final<|message|>yes", ("yes", None, False, False)),
        (
            "<|channel|>analysis<|message|>why<|channel|>commentary<|message|>so<|end|>yes",
            ("yes", "why\n\nso", False, False),
        ),
        ("<|channel|>analysis<|message|>never ends", ("", "never ends", True, False)),
        ("<|channel>thought\nwhy<channel|>yes", ("yes", "why", False, False)),
        ("<|channel>thought\n<channel|>yes", ("yes", None, False, False)),
        ("why\n<channel|>yes", ("yes", "why", False, True)),
        ("[THINK]why[/THINK]yes", ("yes", "why", False, False)),
        ("[THINK]never ends", ("", "never ends", True, False)),
        ("why[/THINK]yes", ("yes", "why", False, True)),
        ("◁think▷why◁/think▷yes", ("yes", "why", False, False)),
        ("<|think|>why<|/think|>yes", ("yes", "why", False, False)),
        (
            "<|begin_of_thought|>why<|end_of_thought|>\n\n<|begin_of_solution|>\nyes\n<|end_of_solution|>\n",
            ("yes", "why", False, False),
        ),
        ("<|begin_of_thought|>why<|end_of_thought|>yes", ("yes", "why", False, False)),
        ("< think >why< /think >yes", ("yes", "why", False, False)),
        ("\ufeff<think>why</think>yes", ("yes", "why", False, False)),
        ("\u200b <think>why</think>yes", ("yes", "why", False, False)),
        ("\ufeffyes", ("\ufeffyes", None, False, False)),
        ("analysisThe user wants iron.assistantfinalyes", ("yes", "The user wants iron.", False, False)),
        ("analysis of iron", ("analysis of iron", None, False, False)),
        ("I say [THINK]this[/THINK] aloud", ("I say [THINK]this[/THINK] aloud", None, False, False)),
    ],
)
def test_leading_reasoning_is_split_off(text: str, expected: tuple[str, str | None, bool, bool]) -> None:
    """Only a block that leads the text is reasoning, with its opening tag or without."""
    assert reasoning.split_reasoning(text) == expected


@pytest.mark.parametrize(
    ("text", "cut", "tag"),
    [
        *[
            ("<ponder>why</ponder>yes", False, "<ponder>"),
            ("\n<Inner_Voice>why</Inner_Voice> yes", False, "<Inner_Voice>"),
        ],
        *[("<ponder>why and why", True, "<ponder>"), ("<ponder>why and why", False, None)],
        *[
            ("<p>Yes.</p><p>No.</p>", False, None),
            ("<H1>Yes</H1> no", False, None),
            ("<answer>yes</answer> so", False, None),
        ],
        *[
            ("<note>all of it</note>", False, None),
            ("yes <ponder>why</ponder> no", False, None),
            ("a < b", False, None),
        ],
    ],
)
def test_an_unknown_tag_of_the_kind_is_seen(text: str, cut: bool, tag: str | None) -> None:
    """A block that leads an answer, under a tag that is neither known reasoning nor mark-up, is named."""
    assert reasoning.unknown_tag(text, cut) == tag
    assert only(answer({"content": text}, "length" if cut else "stop")).tag == tag


@pytest.mark.parametrize(
    "text",
    [
        *("<think></think>" * 60_000, "<think>" * 120_000, "</think>" * 120_000, "<think></thinking>" * 60_000),
        *("<|channel|>analysis<|message|>x<|end|>" * 24_000, "<|channel|>" + "a" * 900_000 + "<", " " * 900_000),
        *("[THINK][/THINK]" * 60_000, "```" * 300_000 + "<|im_end|>", "`<|im_end|>" * 90_000),
    ],
    ids=lambda text: text[:20],
)
def test_a_text_takes_as_long_as_it_is(text: str) -> None:
    """A megabyte of marks is read in moments: the time grows with the text, and not with its square."""
    began = time.process_time()
    reasoning.split_reasoning(text)
    reasoning.has_one_lone_closer(text)
    before_mark(text)
    assert time.process_time() - began < 10  # it takes less than one; squares would take minutes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("yes<|im_end|>\n<|im_start|>user\nReally?", "yes"),
        ("yes \n<end_of_turn>\n<start_of_turn>user", "yes"),
        *[("yes<|eot_id|>no", "yes"), ("yes<|endoftext|>no", "yes"), ("yes<｜end▁of▁sentence｜>no", "yes")],
        *[("yes [/INST] no", "yes"), ("yes<|end|>", "yes"), ("yes<turn|>no", "yes"), ("<|im_end|>no", "")],
        ("Use `<|im_end|>` so.<|im_end|>no", "Use `<|im_end|>` so."),
        ("```\n<|im_start|>user\n```\nIt opens a turn.", "```\n<|im_start|>user\n```\nIt opens a turn."),
        ('The mark "<|im_end|>" ends a turn.', 'The mark "<|im_end|>" ends a turn.'),
        ("It is „<|im_end|>“.", "It is „<|im_end|>“."),
        ("It was <s>12</s> 13 marks, a <|b|> c.", "It was <s>12</s> 13 marks, a <|b|> c."),
    ],
)
def test_what_stands_before_a_control_mark_is_shown(text: str, shown: str) -> None:
    """A mark of a chat template ends a text, unless the text is about it: in code or between quotation marks."""
    assert before_mark(text) == shown


def test_a_control_mark_is_told_of_and_the_text_stays_whole() -> None:
    """The warning names the mark; a text that has nothing before it is empty."""
    choice = only(answer({"content": "yes<|im_end|>no"}))
    assert (choice.text, choice.tag, choice.trouble) == ("yes<|im_end|>no", "<|im_end|>", None)
    assert reasoning.tag_warning("<|im_end|>").startswith("left <|im_end|> in an answer, a control mark")
    assert only(answer({"content": " <|im_end|>no"})).trouble == "empty"


def test_a_lone_closing_mark_is_kept_for_the_run_to_decide() -> None:
    """The choice has both: the text without what stands before the mark, and text and reasoning as they came."""
    choice = only(answer({"content": " why</think> yes", "reasoning": "beside"}))
    assert (choice.text, choice.reasoning) == ("yes", "beside\n\nwhy")
    whole = choice.as_it_came()
    assert (whole.text, whole.reasoning) == (" why</think> yes", "beside")


@pytest.mark.parametrize("text", ["a", "。", "😀", "\u200ba", "…", "é", "\ue000"])
def test_what_can_be_seen_is_an_answer(text: str) -> None:
    """One character that shows is enough."""
    assert is_visible(text)


def test_cut_text_of_a_model_whose_template_opens_the_block_is_all_reasoning() -> None:
    """Without a closing tag such a model had not begun to answer when it was cut."""
    assert reasoning.split_reasoning("Okay, so the user", opens=True) == ("", "Okay, so the user", True, True)


# Answers


def answer(message: Any, finish: Any = "stop", usage: Any = None, learned: wire.Learned | None = None) -> wire.Answer:
    """A response with one choice, read."""
    choice = {"message": message, "finish_reason": finish}
    found = wire.read({"choices": [choice], "usage": usage, "model": "m-1"}, learned or wire.Learned())
    assert found is not None
    return found


def only(found: wire.Answer) -> wire.Choice:
    """Its one choice."""
    (choice,) = found.choices
    assert choice is not None
    return choice


def test_ordinary_answer_is_read() -> None:
    """Text, token counts, model and fingerprint are taken over."""
    found = wire.read(
        {
            "choices": [{"message": {"role": "assistant", "content": " yes"}, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7},
            "model": "m-2025",
            "system_fingerprint": "fp\x1b[31m_1",
        },
        wire.Learned(),
    )
    assert found == wire.Answer((wire.Choice(" yes", None, None),), Usage(5, 2), "m-2025", "fp [31m_1", False)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "yes", "reasoning_content": "why"},
        {"content": "yes", "reasoning": "why"},
        {"content": "yes", "reasoning_content": "why", "reasoning": "why"},
        {"content": "<think>why</think>yes"},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "why"}]},
                {"type": "text", "text": "yes"},
            ]
        },
        {"content": [{"type": "thinking", "thinking": "why"}, "yes"]},
    ],
)
def test_reasoning_stands_beside_the_answer(message: Any) -> None:
    """In whichever field it comes, reasoning is never part of the text, and shows that the model reasons."""
    found = answer(message)
    assert only(found) == wire.Choice("yes", "why", None)
    assert found.reasons


def test_reasoning_that_is_only_counted_is_noticed() -> None:
    """OpenAI shows no reasoning, but counts its tokens."""
    usage = {"prompt_tokens": 5, "completion_tokens": 50, "completion_tokens_details": {"reasoning_tokens": 40}}
    found = answer({"content": "yes"}, usage=usage)
    assert found.reasons
    assert found.usage == Usage(5, 50, 40)


def test_reasoning_tokens_outside_the_completion_are_put_inside() -> None:
    """Google counts thinking only in the total, xAI beside the completion: output holds it all the same."""
    google = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 530}
    xai = {**google, "total_tokens": 124, "completion_tokens_details": {"reasoning_tokens": 94}}
    assert answer({"content": "yes"}, usage=google).usage == Usage(20, 510, 500)
    assert answer({"content": "yes"}, usage=xai).usage == Usage(20, 104, 94)


def test_no_tokens_are_no_count() -> None:
    """A prompt has tokens, and so has a text: counts of 0 are unknown, but for an answer in which there is nothing."""
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    assert answer({"content": "yes"}, usage=nothing).usage == Usage()
    assert answer({"content": None, "reasoning": "hm"}, usage=nothing).usage == Usage()
    assert answer({"content": ""}, usage={**nothing, "prompt_tokens": 7}).usage == Usage(7, 0)
    assert wire.usage_of({"usage": {"prompt_tokens": 0, "completion_tokens": 9, "total_tokens": 20}}) == Usage(None, 9)


# What services count for a prompt, as recordings of them have it, and the input tokens that are meant. The last two:
# what gateways make of Anthropic's counts.
COUNTED: list[tuple[dict[str, Any], int | None]] = [
    ({"prompt_tokens": 4020, "prompt_tokens_details": {"cache_write_tokens": 4012, "cached_tokens": 0}}, 4020),
    ({"prompt_tokens": 336, "prompt_tokens_details": {"cached_tokens": 256}}, 336),
    ({"prompt_tokens": 2649, "prompt_tokens_details": {"cache_write_tokens": 79, "cached_tokens": 2569}}, 2649),
    ({"prompt_tokens": 2168, "prompt_tokens_details": {"cache_write_tokens": 2161, "cached_tokens": 2161}}, 2168),
    ({"prompt_tokens": 563, "prompt_cache_hit_tokens": 512, "prompt_cache_miss_tokens": 51}, 563),
    ({"input_tokens": 3, "cache_read_input_tokens": 1111, "cache_creation_input_tokens": 0}, 1114),
    ({"input_tokens": 6, "cache_read_input_tokens": 20443, "cache_creation_input_tokens": 574}, 21023),
    ({"input_tokens": 7, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 1069}, 1076),
    ({"prompt_tokens": 0, "prompt_tokens_details": {"cache_write_tokens": 0, "cached_tokens": 0}}, None),
    ({"prompt_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1111}}, 1114),
    ({"prompt_tokens": 300, "cache_creation_input_tokens": 1069, "cache_read_input_tokens": 0}, 1369),
]


@pytest.mark.parametrize(("usage", "tokens"), COUNTED)
def test_input_holds_what_a_cache_held(usage: dict[str, Any], tokens: int | None) -> None:
    """Whether a service counts what its cache held or leaves it out, the whole prompt is meant, and none seems cut."""
    assert wire.usage_of({"usage": usage}).input == tokens
    prompt = [Message("user", "Tell me this. " * ((tokens or 5000) * 5 // 14))]
    assert wire.cut_prompt(prompt, wire.usage_of({"usage": usage})) is None


def test_a_prompt_of_which_too_few_tokens_were_counted_was_cut() -> None:
    """By all messages together and their calls; no count, or one at which no server would stop, says nothing."""
    prompt = [Message("system", "Be kind to each visitor. " * 1000), Message("user", "Is it so? " * 2500)]
    told = "the server seems to have cut the prompt: 2050 tokens counted for 50000 characters"
    assert wire.cut_prompt(prompt, Usage(2050)) == told
    assert wire.cut_prompt(prompt[:1], Usage(2050)) is None
    assert wire.cut_prompt(prompt, Usage(2050, cached=2000)) == told
    for unknown in (None, 1, 99):
        assert wire.cut_prompt(prompt, Usage(unknown)) is None
    call = ToolCall("1", Function("read", json.dumps({"path": "ab" * 9000})))
    turns = [ToolCalls("assistant", "", (call,)), ToolResult("tool", "ab" * 9000, "1")]
    assert wire.cut_prompt(turns, Usage(2000)) is not None
    assert wire.cut_prompt([Message("user", "Short. " * 280)], Usage(100)) is None


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The committee will look at the proposal tomorrow morning. " * 500, 5000),
        ("Donaudampfschifffahrtsgesellschaft und Straßenverkehrszulassungsordnung. " * 400, 8000),
        ("internationalization institutionalization telecommunications " * 500, 3000),
        ("    def outcome(self, item: Item) -> Outcome:\n        return self._outcomes[item]\n\n" * 400, 8000),
        ("| model            | P(lie)      | n     |\n|:-----------------|------------:|------:|\n" * 400, 9000),
        ("TWFza0JlbmNo" * 2500, 12_000),
        ("模型说的是它所相信的吗？" * 2500, 15_000),
        ("-" * 20_000 + "\n" * 9000 + " " * 20_000 + "." * 10_000 + "0" * 9000, 200),
        ("=" * 400 + "\n" + "Next chapter. " * 3 + "\n\n\n", 100),
    ],
)
def test_no_kind_of_text_seems_cut(text: str, tokens: int) -> None:
    """Prose, long words, code, tables, base64, Chinese and long runs have as few tokens as any tokenizer gives them."""
    assert wire.cut_prompt([Message("user", text)], Usage(tokens)) is None


@pytest.mark.parametrize(
    ("message", "finish", "trouble"),
    [
        ({"content": "partly"}, "length", "truncated"),
        ({"content": ""}, "stop", "empty"),
        ({"content": None}, None, "empty"),
        ({"content": " \n"}, "stop", "empty"),
        ({"content": "\u200b\u2060\ufeff \u00ad"}, "stop", "empty"),
        ({"content": "\u3164\u2800\ufe0f"}, "stop", "empty"),
        ({"content": "\u200b"}, "length", "unclosed_reasoning"),
        ({"content": None}, "length", "unclosed_reasoning"),
        ({"content": None, "reasoning_content": "hm"}, "length", "unclosed_reasoning"),
        ({"content": "<think>hm"}, "stop", "unclosed_reasoning"),
        ({"content": "part"}, "content_filter", "filtered"),
        ({"content": None}, "content_filter: RECITATION", "filtered"),
        ({"content": "part"}, "SPII", "filtered"),
        ({"content": "part"}, "model_context_window_exceeded", "truncated"),
        ({"content": "part"}, "repetition", "unknown_end"),
        ({"content": ""}, "load", "unknown_end"),
        ({"content": "<think>hm"}, "odd", "unknown_end"),
    ],
)
def test_what_is_wrong_with_an_answer_is_named(message: Any, finish: Any, trouble: str) -> None:
    """Cut, empty, unclosed and filtered answers are told apart."""
    assert only(answer(message, finish)).trouble == trouble


def test_a_refusal_is_an_answer() -> None:
    """OpenAI puts a refusal of structured output into a field of its own, with no content."""
    refused = wire.Choice("I won't.", None, None)
    assert only(answer({"content": None, "refusal": "I won't."})) == refused
    assert only(answer({"content": [{"type": "refusal", "refusal": "I won't."}]})) == refused
    said = [{"type": "text", "text": "Yes."}, {"type": "refusal", "refusal": "I won't."}]
    assert only(answer({"content": said})) == wire.Choice("Yes.", None, None)


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "text",
        {},
        {"choices": None},
        {"choices": []},
        {"choices": {}},
        {"choices": [None]},
        {"choices": ["x"]},
        {"choices": [{}]},
        {"choices": [{"message": None}]},
        {"choices": [{"message": "hello"}]},
        {"choices": [{"message": {"content": 5}}]},
        {"choices": [{"message": {"content": {"text": "x"}}}]},
        {"choices": [{"message": {"content": "x"}, "error": {"code": 502}}]},
        {"choices": [{"message": {"content": "half a sen"}, "finish_reason": "error"}]},
        {"choices": [{"message": {"content": "half a sen"}, "finish_reason": "abort"}]},
        {"choices": [{"message": {"content": "half a sen"}, "finish_reason": {"type": "abort"}}]},
    ],
)
def test_wrong_types_make_no_answer(data: Any) -> None:
    """A response of another shape is no answer, and no exception."""
    assert wire.read(data, wire.Learned()) is None


KEYS = (
    "choices message content reasoning reasoning_content refusal finish_reason usage error code detail loc msg metadata"
    " raw type text thinking model prompt_tokens completion_tokens total_tokens completion_tokens_details retryDelay"
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(KEYS.split()),
            inner,
            max_size=5,
        )
    ),
    max_leaves=25,
)


@given(JSON)
def test_no_json_raises(data: Any) -> None:
    """Whatever JSON a server sends, reading it as an answer or as an error raises nothing."""
    wire.read(data, wire.Learned())
    wire.read({"choices": [{"message": data}], "usage": data}, wire.Learned())
    refusals.error_within(data)
    written = json.dumps(data).encode()
    wire.read(wire.parse(written), wire.Learned())
    for status in (400, 422, 429, 500):
        refusals.trouble_of(refusals.error_of(status, written), FULL)


def test_deep_nesting_raises_nothing() -> None:
    """Nesting as deep as JSON may be does not exhaust the stack."""
    deep = (
        b'{"choices":[{"message":{"content":' + b'[{"type":"thinking","thinking":' * 400 + b'""' + b"}]" * 400 + b"}}]}"
    )
    wire.read(wire.parse(deep), wire.Learned())
    refusals.error_of(400, b'{"error":' * 900 + b"1" + b"}" * 900)
    wire.parse(deep.replace(b'""', b"NaN"))
    assert wire.parse(b"[" * 100_000 + b"NaN") is None


# Errors


def said(message: str, status: int = 400, **fields: Any) -> refusals.Trouble:
    """What to do about an error in OpenAI's form, to a request that holds every parameter."""
    content = {"error": {"message": message, "type": "invalid_request_error", **fields}}
    return refusals.trouble_of(refusals.error_of(status, orjson.dumps(content)), FULL)


@pytest.mark.parametrize(
    ("message", "feature"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "limit",
        ),
        (
            "Unsupported value: 'temperature' does not support 0 with this model. "
            "Only the default (1) value is supported.",
            "temperature",
        ),
        ("Unsupported parameter: 'temperature' is not supported with this model.", "temperature"),
        ("`temperature` is deprecated for this model.", "temperature"),
        ("invalid temperature: only 1 is allowed for this model", "temperature"),
        ("`temperature` must be strictly positive", "temperature"),
        ("This response_format type is unavailable now", "schema"),
        (
            "Failed to deserialize the JSON body into the target type: response_format: "
            "response_format.type `json_schema` is unavailable now at line 1 column 12440",
            "schema",
        ),
        (
            "This model does not support response format `json_schema`. See supported models at https://console",
            "schema",
        ),
        ("Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model.", "schema"),
        ("Invalid schema for response_format 'answer': In context=(), 'required' is required to be supplied", "schema"),
        ("The response_format parameter is unsupported at the moment. Leave it unset.", "schema"),
        ("The provided JSON schema contains features not supported by xgrammar.", "schema"),
        ('Invalid JSON payload received. Unknown name "seed": Cannot find field.', "seed"),
        ("System role not supported", "system"),
        ("Unsupported value: 'messages[0].role' does not support 'system' with this model.", "system"),
        ("Developer instruction is not enabled for models/gemma-3-27b-it", "system"),
        ("Conversation roles must alternate user/assistant/user/assistant/...", "system"),
        ("Only user and assistant roles are supported!", "system"),
    ],
)
def test_refused_parameters_are_recognised(message: str, feature: str) -> None:
    """The texts that real services send name what to leave out."""
    assert said(message).feature == feature


@pytest.mark.parametrize(
    ("content", "feature"),
    [
        (
            {"detail": [{"type": "extra_forbidden", "loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]},
            "seed",
        ),
        (
            {"message": {"detail": [{"loc": ["body", "response_format"], "msg": "Extra inputs are not permitted"}]}},
            "schema",
        ),
        (
            {"message": '{"detail":[{"loc":["body","temperature"],"msg":"Extra inputs are not permitted","input":0}]}'},
            "temperature",
        ),
        ({"code": "Client specified an invalid argument", "error": "Argument not supported: seed"}, "seed"),
        ([{"error": {"code": 400, "message": "Developer instruction is not enabled for models/gemma-3"}}], "system"),
        ({"object": "error", "message": "System role not supported", "code": 400}, "system"),
        (
            {
                "error": {
                    "message": "Provider returned error",
                    "metadata": {
                        "raw": '{"error":{"message":"Unsupported'
                        " parameter: 'max_tokens'. Use 'max_completion_tokens' instead.\"}}"
                    },
                }
            },
            "limit",
        ),
    ],
)
def test_refusals_are_found_in_every_shape_of_error(content: Any, feature: str) -> None:
    """Errors come as objects, lists, strings, JSON within strings, and as validation details."""
    assert refusals.trouble_of(refusals.error_of(422, orjson.dumps(content)), FULL).feature == feature


def test_an_objection_needs_the_parameter_in_the_request() -> None:
    """A server that complains about what was not sent is not listened to, so adjusting ends."""
    bare = build(replace(ASK, messages=(Message("user", "hi"),)), wire.Learned(temperature=False), seed=None).body
    for message in (
        "temperature is not supported",
        "System role not supported",
        "seed is unknown",
        "response_format bad",
    ):
        assert refusals.objection(refusals.ApiError(400, message), bare) is None


def test_an_echo_of_the_request_is_not_read() -> None:
    """Validation errors repeat the input, and Groq repeats what the model wrote; neither is what the server says."""
    detail = [{"loc": ["body", "messages"], "msg": "Input should be shorter", "input": "temperature is not supported"}]
    error = refusals.error_of(422, orjson.dumps({"detail": detail, "failed_generation": "invalid api key"}))
    assert error.message == "Input should be shorter"
    assert refusals.trouble_of(error, FULL) == refusals.Trouble("bad_request", "422: Input should be shorter")


@pytest.mark.parametrize(
    ("message", "room"),
    [
        ("max_tokens is too large: 17000. This model supports at most 4096 completion tokens, whereas you provided "
         "17000.", ("most", 4096)),
        ("max_tokens: 17000 > 8192, which is the maximum allowed number of output tokens for m", ("most", 8192)),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", ("most", 8192)),
        ("`max_completion_tokens` must be less than or equal to `8192`, the maximum value for it", ("most", 8192)),
        ("Requests with max_tokens > 4096 must have stream=true", ("most", 4096)),
        ("This model's maximum context length is 8192 tokens. However, you requested 17500 tokens (500 in the "
         "messages, 17000 in the completion). Please reduce the length of the messages or completion.", ("room", 7692)),
        ("'max_tokens' or 'max_completion_tokens' is too large: 17000. This model's maximum context length is 8192 "
         "tokens and your request has 500 input tokens (17000 > 8192 - 500).", ("room", 7692)),
        ("Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of "
         "17500 tokens: 500 tokens from the input messages and 17000 tokens for the completion.", ("room", 7692)),
        ("This model's maximum context length is 8192 tokens. However, you requested 8000 output tokens and your "
         "prompt contains at least 193 input tokens, for a total of at least 8193 tokens.", ("room", 3999)),
        ("`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 40 `inputs` tokens and 17000 `max_new_tokens`",
         ("room", 8153)),
    ],
)  # fmt: skip
def test_a_limit_that_is_too_large_is_lowered_to_what_fits(message: str, room: tuple[str, int]) -> None:
    """The reasoning budget may be more than a model has; the error says how much there is."""
    trouble = said(message)
    assert (trouble.feature, trouble.cap) == room


def test_a_prompt_that_fills_the_context_is_a_bad_request() -> None:
    """Where no room is left there is nothing to lower."""
    message = (
        "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8190 in the messages"
    )
    assert said(message).feature is None


@pytest.mark.parametrize(
    ("status", "content"),
    [
        (400, {"error": {"message": "The response was filtered due to the prompt triggering Azure OpenAI's content "
                         "management policy.", "code": "content_filter", "innererror": {"code": "X"}}}),
        (400, {"error": {"message": "Invalid prompt: your prompt was flagged as potentially violating our "
                         "usage policy.", "code": "invalid_prompt"}}),
        (400, {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}}),
        (400, {"error": {"message": "The request was rejected because it was considered high risk"}}),
        (400, {"error": {"code": "data_inspection_failed", "message": "Output data may contain something."}}),
        (403, {"code": "The caller does not have permission to execute the specified operation",
               "error": "Content violates usage guidelines. Team: t, Failed check: SAFETY_CHECK_TYPE_BIO"}),
        (403, {"error": {"message": "Blocked", "metadata": {"reasons": ["violence"], "flagged_input": "x"}}}),
        (502, {"error": {"message": "This content was flagged for possible cybersecurity risk", "code": 502}}),
        (500, {"error": {"message": "Your input has been automatically flagged."}}),
    ],
)  # fmt: skip
def test_content_filters_are_recognised(status: int, content: Any) -> None:
    """A filter's refusal is a failure of its own name, and not retried."""
    trouble = refusals.trouble_of(refusals.error_of(status, orjson.dumps(content)), FULL)
    assert trouble.cause == "filtered"
    assert not trouble.retry
    assert trouble.fatal is None


@pytest.mark.parametrize(
    ("status", "message", "fields"),
    [
        (401, "Incorrect API key provided: sk-ab***yz.", {"code": "invalid_api_key"}),
        (402, "Insufficient Balance", {}),
        (403, "Country, region, or territory not supported", {"code": "unsupported_country_region_territory"}),
        (400, "API key not valid. Please pass a valid API key.", {}),
        (400, "Incorrect API key provided", {}),
        (429, "You exceeded your current quota, please check your plan.", {"code": "insufficient_quota"}),
    ],
)
def test_refused_access_ends_the_run(status: int, message: str, fields: dict[str, Any]) -> None:
    """A wrong key or an empty account fails every call alike, a spent quota too."""
    assert said(message, status, **fields).fatal is AccessError


@pytest.mark.parametrize(
    ("status", "message", "fields"),
    [
        (404, "The model `gpt-9` does not exist or you do not have access to it.", {"code": "model_not_found"}),
        (404, "", {}),
        (400, "gpt-9 is not a valid model ID", {}),
        (400, "Model Not Exist", {}),
        (400, "Invalid model: gpt-9", {}),
        (403, "Project does not have access to model gpt-9", {"code": "model_not_found"}),
    ],
)
def test_unknown_models_end_the_run(status: int, message: str, fields: dict[str, Any]) -> None:
    """So does a model that the endpoint does not have."""
    assert said(message, status, **fields).fatal is UnknownModel


@pytest.mark.parametrize(
    ("status", "cause"),
    [(408, "timeout"), (409, "server_error"), (429, "rate_limit"), (500, "server_error"), (529, "server_error")],
)
def test_passing_troubles_are_retried(status: int, cause: str) -> None:
    """What may pass is tried again, a 429 without a word about money too."""
    for words in ("You exceeded your current quota", "The moderation endpoint is down", "The content filter timed out"):
        trouble = said(words, status)
        assert (trouble.cause, trouble.retry) == (cause, True)


def test_other_refusals_are_not_retried() -> None:
    """A 400 or 422 that nothing is known about is a bad request."""
    assert said("No.", 422) == refusals.Trouble("bad_request", "422: No.")


def test_a_template_error_that_comes_as_500_is_recognised() -> None:
    """llama.cpp answers 500 where a chat template knows no system role."""
    assert said("Error: Jinja Exception: System role not supported", 500).feature == "system"


def test_a_schema_that_one_answer_missed_is_left_out_once() -> None:
    """Groq's json_validate_failed is about this answer, not about what the model supports."""
    assert said("Failed to generate JSON.", code="json_validate_failed").feature == "schema_once"


def test_errors_inside_a_good_status_are_found() -> None:
    """OpenRouter answers 200 and tells in the body what happened to the model."""
    top = refusals.error_within({"error": {"code": 502, "message": "Upstream died"}})
    inner = refusals.error_within(
        {"choices": [{"error": {"code": 429, "message": "Slow down"}, "finish_reason": "error"}]}
    )
    assert top is not None
    assert inner is not None
    assert (top.status, top.message) == (502, "Upstream died")
    assert inner.status == 429
    assert refusals.error_within({"choices": [{"message": {}}], "error": None}) is None


def test_an_error_in_each_of_several_choices_is_the_error() -> None:
    """Moderation that stops a request of several samples stands in each of them; one without an error tells nothing."""
    flagged = {"error": {"code": 403, "message": "Input was flagged by moderation"}, "finish_reason": "error"}
    within = refusals.error_within({"choices": [flagged] * 3})
    assert within is not None
    assert refusals.trouble_of(within, FULL).cause == "filtered"
    assert refusals.error_within({"choices": [flagged, {"message": {}}]}) is None
    assert refusals.error_within({"choices": [flagged, None]}) is None


def test_googles_delay_is_read_from_the_body() -> None:
    """Google says in the body how long to wait, not in a header."""
    content = [{"error": {"code": 429, "message": "Quota", "details": [{"retryDelay": "34.5s"}]}}]
    assert refusals.trouble_of(refusals.error_of(429, orjson.dumps(content)), FULL).wait == 34.5


# Waiting and masking


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "3"}, 3.0),
        ({"Retry-After": "0.5"}, 0.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "99999"}, refusals.MAX_WAIT),
        ({"Retry-After": "nan"}, None),
        ({"Retry-After": "inf"}, refusals.MAX_WAIT),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "Thu, 01 Jan 1970 00:16:50 GMT"}, 10.0),
        ({"Retry-After": "Thu, 01 Jan 1970 00:16:30 GMT"}, 0.0),
        ({"retry-after-ms": "1500", "Retry-After": "9"}, 1.5),
        ({}, None),
    ],
)
def test_retry_after_is_read_in_all_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    """Seconds, milliseconds or a date; what is absurd is capped or ignored."""
    assert refusals.retry_after(headers, now=1000.0) == seconds


def test_masked_text_is_one_short_line() -> None:
    """Control characters, terminal escapes and text direction marks are gone, and the text is cut."""
    assert refusals.mask("a\x1b[31m\r\nb\u202ec") == "a [31m b c"
    assert len(refusals.mask("x" * 5000)) == wire.QUOTED


@given(st.text(max_size=50), st.text(max_size=50))
def test_the_key_is_never_in_masked_text(before: str, after: str) -> None:
    """Whatever stands around it, the key does not come through."""
    key = "a-very-secret-value-42"
    assert key not in refusals.mask(Mask(key)(f"{before}{key}{after}"))


@pytest.mark.parametrize(
    "text",
    ["key sk-abcdef123456 wrong", "sk-ab***yz99", "Bearer secret99", "http://user:secret99@host/v1", "hf_abcdef99"],
)
def test_what_looks_like_a_secret_is_masked(text: str) -> None:
    """Keys of other services, tokens and passwords in addresses are masked too."""
    masked = refusals.mask(text)
    assert "99" not in masked
    assert "abcdef" not in masked
    assert "***" in masked


def test_an_empty_answer_says_where_its_text_may_stand() -> None:
    """Fields that hold something are named, but for those that are read, and for names that may be texts."""
    fields = {"output_text": "Yes.", "tool_calls": [], "reasoning": "hm", "\x1b[31mIt is so": "x", "n": 3}
    assert only(answer({"content": "", **fields})).unread == ("output_text",)
    assert only(answer({"content": "Yes.", **fields})).unread == ()
