"""cais/MASK from the Hugging Face hub, at the revision that method.md section 8 pins.

mask_public.csv beside this file has the archetype, the task_id and the labels (row_labels.py) of every scenario at that
revision, and nothing of its texts.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from urllib.parse import urlsplit

from maskbench.errors import ScenarioError
from maskbench.types import ARCHETYPES, Archetype

NAME = "cais/MASK"
REVISION = "4602b84dd9e2ca05c6e1eafbc14e556e908ac1bb"
PAGE = "https://huggingface.co/datasets/cais/MASK"
TOKENS = ("HF_TOKEN", "HUGGINGFACE_TOKEN")
HOW = (
    f"Log in at {PAGE} and accept the conditions there, make a token that can read gated repositories at "
    f"https://huggingface.co/settings/tokens, and set {TOKENS[0]} (or {TOKENS[1]}) to it."
)
SIZES: Mapping[Archetype, int] = {
    "known_facts": 209,
    "provided_facts": 274,
    "doubling_down_known_facts": 120,
    "statistics": 96,
    "continuations": 176,
    "disinformation": 125,
}
SHARD = re.compile(r".*-of-(\d+)\.parquet")


@cache
def public_rows() -> Mapping[str, Mapping[str, str]]:
    """Every public scenario by its task_id, which no two share: its archetype, and what readers say of its row."""
    text = (resources.files("maskbench") / "scenarios" / "mask_public.csv").read_text("utf-8")
    return {row["task_id"]: row for row in csv.DictReader(text.splitlines())}


def fetch(environ: Mapping[str, str]) -> Path:
    """The folder with the data set's Parquet files, a folder an archetype; downloaded once, then from the cache.

    Of `environ` it uses HF_TOKEN or HUGGINGFACE_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, HF_HUB_CACHE and HF_HOME.
    Raises ScenarioError with what to accept and what to set where there is no access.
    """
    if there := cached(environ):
        return there
    if is_offline(environ):
        raise ScenarioError(f"{NAME} is not in the cache. Unset HF_HUB_OFFLINE, so that it can be downloaded once.")
    fetched = _snapshot(environ, local_files_only=False)
    if isinstance(fetched, Exception):
        raise ScenarioError(_no_access(fetched, environ)) from fetched
    if not _complete(fetched):
        raise ScenarioError(f"{_host(environ)} has only a part of {NAME} at revision {REVISION}. Check HF_ENDPOINT.")
    return fetched


def cached(environ: Mapping[str, str]) -> Path | None:
    """The folder with the data set's files where they are in the cache; nothing is fetched."""
    there = _snapshot(environ, local_files_only=True)
    return there if isinstance(there, Path) and _complete(there) else None


def _snapshot(environ: Mapping[str, str], *, local_files_only: bool) -> Path | Exception:
    from huggingface_hub import HfApi, snapshot_download  # slow to import

    token = token_of(environ)
    endpoint = environ.get("HF_ENDPOINT")
    try:
        if not local_files_only:  # this fails at once, where a download tries for half a minute
            HfApi(endpoint, token).dataset_info(NAME, revision=REVISION, timeout=10)
        folder = snapshot_download(
            NAME,
            repo_type="dataset",
            revision=REVISION,
            allow_patterns="*.parquet",
            token=token,
            endpoint=endpoint,
            cache_dir=cache_of(environ),
            local_files_only=local_files_only,
        )
    except Exception as error:  # the library has raised errors of requests, of httpx and of the system
        return error
    return Path(folder)


def _complete(snapshot: Path) -> bool:
    """Whether every archetype is there with all its parts: `test-00000-of-00002.parquet` has a sibling."""
    for archetype in ARCHETYPES:
        parts = list((snapshot / archetype).glob("*.parquet"))
        wanted = {int(shard[1]) for part in parts if (shard := SHARD.fullmatch(part.name))}
        if not parts or wanted not in (set(), {len(parts)}):
            return False
    return True


def _no_access(error: Exception, environ: Mapping[str, str]) -> str:
    status, token = status_of(error), _token(environ)
    if status == 401 and token is None:
        return f"{NAME} is open only to those who accept its conditions. {HOW}"
    if status in (401, 403):
        return f"{_host(environ)} does not open {NAME} to the token in {token or 'the cache'}. {HOW}"
    if status == 404:
        return f"{_host(environ)} has no {NAME} at revision {REVISION}. Check HF_ENDPOINT."
    what = f"status {status}" if status else type(error).__name__
    return (
        f"{NAME} cannot be fetched from {_host(environ)} ({what}). Check the network and try again, or give the "
        "path of a folder that holds its files."
    )


def status_of(error: BaseException | None) -> int | None:
    """The HTTP status at the bottom of an error, or of what caused it."""
    while error is not None:
        status = getattr(getattr(error, "response", None), "status_code", None)
        if isinstance(status, int):
            return status
        error = error.__cause__
    return None


def _token(environ: Mapping[str, str]) -> str | None:
    """The name of the variable that holds a token."""
    return next((name for name in TOKENS if environ.get(name, "").strip()), None)


def token_of(environ: Mapping[str, str]) -> str | None:
    """The token of the environment; None is that of `hf auth login`, if there is one."""
    variable = _token(environ)
    return environ[variable].strip() if variable else None


def is_offline(environ: Mapping[str, str]) -> bool:
    """Whether nothing may be downloaded."""
    return environ.get("HF_HUB_OFFLINE", "").upper() in {"1", "ON", "YES", "TRUE"}


def cache_of(environ: Mapping[str, str]) -> Path | None:
    """The folder of the hub's cache; None is the library's own."""
    if cache := environ.get("HF_HUB_CACHE"):
        return Path(cache)
    home = environ.get("HF_HOME")
    return Path(home) / "hub" if home else None


def _host(environ: Mapping[str, str]) -> str:
    return urlsplit(environ.get("HF_ENDPOINT") or PAGE).hostname or "the hub"
