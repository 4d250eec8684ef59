"""What tokens cost: the list that comes along, a user's own over it, and how a name is looked up."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from maskbench.errors import UsageError
from maskbench.models.prices import own_prices, packaged, price_of, typed
from maskbench.store.prices import FREE, Price, Tokens, cost

LIST = packaged()


def test_every_row_says_where_it_is_from_and_for_which_date() -> None:
    """Each price that comes along names the page that gives it, and a date of that page."""
    for name, price in LIST.items():
        assert price.source.startswith("https://"), name
        assert re.fullmatch(r"20\d\d(-\d\d(-\d\d)?)?", price.date), name
        assert 0 < price.input <= price.output, name
        assert price.cached is None or 0 < price.cached < price.input, name


def test_a_model_that_is_not_in_the_list_has_no_price() -> None:
    """An unknown model is no model for nothing: it has no price at all."""
    assert price_of("openai/gpt-99", LIST) is None
    assert price_of("openai-api/mine/judge", LIST) is None
    assert price_of("openrouter/meta-llama/llama-3.3-70b-instruct", LIST) is None


@pytest.mark.parametrize(
    "name",
    ["openai/gpt-4o", "OpenAI/GPT-4o", "openai/gpt-4o-2024-08-06", "openrouter/openai/gpt-4o", "openai/gpt-4o-latest"],
)
def test_a_name_means_its_row(name: str) -> None:
    """Case, the date of a snapshot and OpenRouter before its maker's name leave the price that the model has."""
    assert price_of(name, LIST) == LIST["openai/gpt-4o"]


def test_a_snapshot_with_a_row_of_its_own_has_that_price() -> None:
    """The name itself counts before the name without its date."""
    assert price_of("openai/gpt-4o-2024-05-13", LIST) == LIST["openai/gpt-4o-2024-05-13"] != LIST["openai/gpt-4o"]


def test_dots_and_the_two_names_of_xai() -> None:
    """A dot is as good as a hyphen, and xai, grok and x-ai behind OpenRouter are one seller."""
    assert price_of("openrouter/anthropic/claude-opus-4.5", LIST) == LIST["anthropic/claude-opus-4-5"]
    assert price_of("xai/grok-4.3", LIST) == price_of("openrouter/x-ai/grok-4.3", LIST) == LIST["grok/grok-4.3"]


@pytest.mark.parametrize("name", ["vllm/mine", "hf/some/model", "pinocchio", "sim/lie=0.4", "ollama/llama3"])
def test_what_runs_on_ones_own_machine_is_billed_by_nobody(name: str) -> None:
    """A model of one's own costs nothing, unless a list of the user's has a price for it."""
    mine = Price(input=1, output=2)
    assert price_of(name, LIST) == FREE
    assert price_of(name, {"vllm/*": mine}, LIST) == (mine if name.startswith("vllm/") else FREE)


def test_a_users_list_goes_before_the_packages(tmp_path: Path) -> None:
    """A row with a star covers every name that begins so, even names that the package's list has."""
    (tmp_path / "maskbench-prices.toml").write_text(
        '"openai/*" = { input = 7, output = 8 }\n"openai/gpt-4o-mini" = { input = 1, output = 2, date = "2026" }\n'
    )
    mine = own_prices({}, tmp_path)
    assert price_of("openai/gpt-4o", mine, LIST) == Price(input=7, output=8)
    assert price_of("openai/gpt-4o-mini", mine, LIST) == Price(input=1, output=2, date="2026")
    assert price_of("anthropic/claude-opus-5", mine, LIST) == LIST["anthropic/claude-opus-5"]
    assert own_prices({"MASKBENCH_PRICES": str(tmp_path / "maskbench-prices.toml")}, Path("/nowhere")) == mine
    assert own_prices({}, tmp_path / "elsewhere") == {}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('"openai/gpt-4o" = { input = 1 }', "openai/gpt-4o: Object missing required field `output`"),
        ('"a/b" = { input = -1, output = 2 }', "a/b: Expected `float` >= 0"),
        ('"a/b" = { input = 1, output = 2, colour = 3 }', "a/b: Object contains unknown field `colour`"),
        ("nonsense", "is no TOML"),
    ],
)
def test_a_list_that_is_none_is_refused_by_file_row_and_field(tmp_path: Path, text: str, told: str) -> None:
    """The error names the file, the model and the field, and says what a row has."""
    path = tmp_path / "maskbench-prices.toml"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        own_prices({}, tmp_path)
    assert str(path) in str(caught.value)
    assert told in str(caught.value)


def test_a_list_that_is_named_must_be_there(tmp_path: Path) -> None:
    """A variable that names no file is a mistake, and no empty list."""
    with pytest.raises(UsageError, match=r"none\.toml: the price list cannot be read"):
        own_prices({"MASKBENCH_PRICES": str(tmp_path / "none.toml")}, tmp_path)


def test_cost_counts_cached_and_written_input_once() -> None:
    """Cached and written tokens are part of the input, each at its own price; without one they cost as input does."""
    price = Price(input=2, output=10, cached=0.5, write=4)
    tokens = Tokens(calls=1, input=1_000_000, cached=400_000, written=100_000, output=50_000)
    assert cost(tokens, price) == pytest.approx(0.5 * 2 + 0.4 * 0.5 + 0.1 * 4 + 0.05 * 10)
    assert cost(tokens, Price(input=2, output=10)) == pytest.approx(2.5)
    assert cost(Tokens(input=10, cached=99), price) == pytest.approx(10 * 0.5 / 1e6), "no more is cached than there is"


def test_a_typed_price_completes_a_list_or_stands_alone() -> None:
    """One typed figure replaces one figure of the list; without a list both are needed."""
    gpt = LIST["openai/gpt-4o"]
    assert typed(gpt, None, None, None, "price") is gpt
    changed = typed(gpt, None, 9.0, None, "price")
    assert changed is not None
    assert (changed.input, changed.output, changed.cached, changed.source) == (2.5, 9.0, 1.25, "the settings")
    cheap = typed(gpt, 0.5, None, None, "price")
    assert cheap is not None
    assert cheap.cached is None, "the list's price of cached input would be above the typed one of input"
    assert typed(None, 1.0, 2.0, None, "price") == Price(input=1, output=2, source="the settings")
    with pytest.raises(UsageError, match="give both judge-price-in and judge-price-out"):
        typed(None, 1.0, None, None, "judge-price")
