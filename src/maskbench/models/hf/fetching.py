"""A model's files from the Hugging Face hub: what is needed, and nothing that can run code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from maskbench.errors import AccessError, MaskbenchError, UnknownModel, Unreachable
from maskbench.scenarios.hub import TOKENS, cache_of, is_offline, status_of, token_of

WANTED = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "*.py")
UNWANTED = ("*/*", "consolidated*")  # the same weights once more, in other layouts


def fetch(name: str, environ: Mapping[str, str]) -> Path:
    """The folder of `ORG/NAME` or `ORG/NAME@REVISION` in the hub's cache, downloaded where it is not there.

    Of `environ` it uses HF_TOKEN or HUGGINGFACE_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, HF_HUB_CACHE and HF_HOME.
    Raises UnknownModel, AccessError or Unreachable with what to do.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    repository, _, revision = name.partition("@")
    offline = is_offline(environ)
    try:
        folder = snapshot_download(
            repository,
            revision=revision or None,
            allow_patterns=list(WANTED),
            ignore_patterns=list(UNWANTED),
            token=token_of(environ),
            endpoint=environ.get("HF_ENDPOINT") or None,
            cache_dir=cache_of(environ),
            local_files_only=offline,
        )
    except HFValidationError:
        raise UnknownModel(f"{name} is neither a folder nor a name on the hub, such as Qwen/Qwen3-0.6B.") from None
    except Exception as error:  # the library has raised errors of requests, of httpx and of the system
        raise _refused(name, error, offline) from error
    return Path(folder)


def _refused(name: str, error: Exception, offline: bool) -> MaskbenchError:
    from huggingface_hub.errors import GatedRepoError

    status = status_of(error)
    page = f"https://huggingface.co/{name.partition('@')[0]}"
    if offline:
        return Unreachable(f"{name} is not in the cache. Unset HF_HUB_OFFLINE, so that it can be downloaded once.")
    if status == 403 or isinstance(error, GatedRepoError):
        return AccessError(f"{name} is gated. Accept its conditions at {page} and set {TOKENS[0]} to a token of yours.")
    if status in (401, 404):
        return UnknownModel(
            f"There is no folder {name}, and the hub shows no such model. Check it; private ones need {TOKENS[0]}."
        )
    what = f"status {status}" if status else type(error).__name__
    return Unreachable(
        f"There is no folder {name}, and the hub cannot be reached ({what}). Check the name, and the network."
    )
