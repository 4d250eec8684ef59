"""How a reply ended: one table for every door, in which no word that is not known is a whole end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maskbench.method.ends import LONGEST, Sort, end_of

# Every end of a choice or a message in the recorded answers of services (tests/data/wire.jsonl), and what it is.
RECORDED: dict[str | None, Sort] = {
    "stop": "whole",
    "tool_calls": "whole",
    "end_turn": "whole",
    "stop_sequence": "whole",
    "tool_use": "whole",
    None: "whole",
    "length": "cut",
    "pause_turn": "broken",
}
WORDS: dict[Sort, str] = {
    "whole": "stop STOP eos eos_token endTurn end-turn stop_sequence COMPLETE completed function_call tool_calls",
    "cut": "LENGTH MAX_TOKENS maxTokens max-tokens model_length max_output_tokens model_context_window_exceeded "
    "context_length_exceeded",
    "withheld": "content_filter content-filter ContentFilter content_filtered SAFETY sensitive PROHIBITED_CONTENT "
    "refusal RECITATION BLOCKLIST SPII guardrail_intervened blocked ERROR_TOXIC",
    "broken": "error abort network_error insufficient_system_resource timeout cancelled canceled compaction",
    "unknown": "unknown other OTHER repetition incomplete load length_capped MALFORMED_FUNCTION_CALL - _ stopped",
}


@pytest.mark.parametrize(("word", "sort"), RECORDED.items())
def test_recorded_ends_keep_their_meaning(word: str | None, sort: Sort) -> None:
    """What services were seen to send is what it has always been."""
    assert end_of(word).sort == sort


@pytest.mark.parametrize(("word", "sort"), [(word, sort) for sort, words in WORDS.items() for word in words.split()])
def test_each_word_is_of_its_sort_in_any_case_and_with_dashes(word: str, sort: Sort) -> None:
    """The words of services are known, and any other one is named."""
    assert end_of(word).sort == sort
    assert end_of(word).word == word


@pytest.mark.parametrize("nothing", [None, "", " \n"])
def test_no_word_is_a_whole_end(nothing: str | None) -> None:
    """Many servers leave it out."""
    assert end_of(nothing).sort == "whole"


@pytest.mark.parametrize(
    ("value", "sort", "word"),
    [
        ({"type": "stop", "matched": 7}, "whole", "stop"),
        ({"type": "length", "length": 20}, "cut", "length"),
        ({"type": "abort", "message": "x"}, "broken", "abort"),
        ({"type": None}, "whole", ""),
        ({"reason": "stop"}, "unknown", "dict"),
        (["stop"], "unknown", "list"),
        (1, "unknown", "1"),
        (False, "unknown", "False"),
        ("stop" * 1000, "unknown", "stop" * 14 + "sto…"),
        ("sto\u202ep\x1b[31m?", "unknown", "stop[31m?"),
    ],
)
def test_an_object_is_read_by_its_type_and_a_word_is_shown_clean(value: object, sort: Sort, word: str) -> None:
    """Any other kind of value is unknown, and what is shown is short and without control characters."""
    assert (end_of(value).sort, end_of(value).word) == (sort, word)


def test_a_user_may_call_an_unknown_word_whole_and_no_known_one() -> None:
    """It is taken in any case; what is known not to be whole stays so."""
    assert end_of("Repetition", ["repetition"]).sort == "whole"
    assert end_of("repetition", ["other"]).sort == "unknown"
    assert [end_of(word, [word]).sort for word in ("length", "refusal", "abort")] == ["cut", "withheld", "broken"]


def test_what_is_said_of_an_unknown_end_can_be_typed() -> None:
    """The word stands there as TOML has it, quotes and all."""
    assert end_of('od"d').failure.endswith('whole-ends = ["od\\"d"]')


@given(st.text())
def test_every_word_has_a_sort_and_its_shown_form_can_be_called_whole(text: str) -> None:
    """No text raises, and what a message names is what a user can type."""
    end = end_of(text)
    assert len(end.word) <= LONGEST
    if end.sort == "unknown" and end.word:
        assert end_of(text, [end.word]).sort == "whole"
