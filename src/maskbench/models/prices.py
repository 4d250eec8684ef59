"""Lists of prices: list prices with their dates, a user's own over them, and how a model's name is looked up."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from maskbench.errors import UsageError
from maskbench.models.chat.services import SERVICES
from maskbench.models.names import is_served
from maskbench.plain import read_toml
from maskbench.store.prices import FREE, TYPED, Price

OWN_FILE = "maskbench-prices.toml"  # in the working folder, where the variable names no other
VARIABLE = "MASKBENCH_PRICES"

Prices = Mapping[str, Price]  # by the name of a model, or the beginning of one with a * behind it


def price_of(model: str, *lists: Prices) -> Price | None:
    """The price of a model by the first list that has it; None where none has, which is never a price of 0.

    In each list the name itself counts first, then without the date of a snapshot, then the longest beginning that
    stands with a *. Letters' case counts nothing, and a dot is as good as a hyphen. A model of OpenAI, Anthropic,
    Google or xAI behind OpenRouter has its maker's price, and one by way of Inspect its
    service's. A model in this process, and one on a server of one's own,
    costs nothing that anybody bills, unless a list says otherwise.
    """
    if (by_inspect := model.removeprefix("inspect/")) != model:
        return price_of(by_inspect, *lists)
    for prices in lists:
        known = {_plain(name): price for name, price in prices.items()}
        for name in _names(model):
            if name in known:
                return known[name]
        beginnings = [name for name in known if name.endswith("*") and _plain(model).startswith(name[:-1])]
        if beginnings:
            return known[max(beginnings, key=len)]
    service = model.partition("/")[0]
    is_own = not is_served(model) or (service in SERVICES and SERVICES[service].local)
    return FREE if is_own else None


_DATE = re.compile(r"-(20\d\d-\d\d-\d\d|20\d{6}|latest)$")
_SELLERS = {"openai": "openai", "anthropic": "anthropic", "google": "google", "x-ai": "grok"}  # as OpenRouter has them


def _names(model: str) -> Iterator[str]:
    """The names under which a model may stand in a list, its own first."""
    service, _, rest = _plain(model).partition("/")
    maker, _, inner = rest.partition("/")
    places = [f"{'grok' if service == 'xai' else service}/{rest}"]
    if service == "openrouter" and maker in _SELLERS:
        places.append(f"{_SELLERS[maker]}/{inner}")
    for place in dict.fromkeys([_plain(model), *places]):
        yield place
        yield _DATE.sub("", place)


def _plain(name: str) -> str:
    return name.lower().replace(".", "-")


def packaged() -> Prices:
    """The price list that comes with maskbench."""
    text = (resources.files("maskbench") / "models" / "prices.toml").read_text(encoding="utf-8")
    return _read(tomllib.loads(text), "prices.toml")


def own_prices(environ: Mapping[str, str], folder: Path) -> Prices:
    """A user's own list: the file that MASKBENCH_PRICES names, else maskbench-prices.toml in the working folder.

    Raises UsageError, with file, model and field, for a file that holds no prices, or that is named and not there.
    """
    named = environ.get(VARIABLE)
    path = Path(named) if named else folder / OWN_FILE
    if not named and not path.exists():
        return {}
    try:
        return _read(read_toml(path.read_text(encoding="utf-8")), str(path))
    except OSError as error:
        raise UsageError(
            f"{path}: the price list cannot be read ({error.strerror}). Mend {VARIABLE}, or take it away."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UsageError(f"{path} is no TOML: {error}. Mend that line, or move the file away.") from None


def _read(plain: Mapping[str, Any], path: str) -> dict[str, Price]:
    prices = {}
    for model, row in plain.items():
        try:
            prices[model] = msgspec.convert(row, Price)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"{path}, {model}: {error}. A row has input and output, and may have cached, write, minimum, batch, "
                "reasons, date and source; prices are dollars for a million tokens."
            ) from None
    return prices


def typed(
    known: Price | None, input: float | None, output: float | None, cached: float | None, option: str
) -> Price | None:
    """The price with what was typed in put in its place; `option` is how the options begin, for the error."""
    given = {
        name: value for name, value in (("input", input), ("output", output), ("cached", cached)) if value is not None
    }
    if not given:
        return known
    if known is None or known is FREE:
        if input is None or output is None:
            raise UsageError(f"There is no list price to complete: give both {option}-in and {option}-out.")
        return Price(input=input, output=output, cached=cached, source=TYPED)
    # A typed price of input without one of cached input must not leave a list's cached price above it.
    less = {"cached": None} if input is not None and cached is None else {}
    return structs.replace(known, **{**less, **given}, source=TYPED, date="")
