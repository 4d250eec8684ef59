"""Perplexity on neutral text at every dose of a model in this process, kept in the dose curve's folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from maskbench.interventions.dose.damage import Chat, neutral_chats, perplexity
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.plan import Dose
from maskbench.interventions.steering.hidden_states import threads_for
from maskbench.models.hf.adapters import with_adapter, without_adapter
from maskbench.models.hf.opening import Stock, is_local, place_of
from maskbench.models.hf.steering import steered
from maskbench.models.hf.vectors import load_vectors
from maskbench.pinocchio.rule_judge import NAME as SANDBOX_JUDGE
from maskbench.runs.folder import RunFolder
from maskbench.settings import Settings
from maskbench.types import Message

if TYPE_CHECKING:
    from maskbench.models.hf.loading import Loaded

FILE = "perplexity.json"


class Perplexities:
    """Measures each dose once, on the model that the runs use."""

    def __init__(self, folder: DoseFolder, environ: Mapping[str, str], stock: Stock) -> None:
        self._folder = RunFolder(folder.path)
        self._environ = environ
        self._stock = stock
        path = folder.path / FILE
        self._known = msgspec.json.decode(path.read_bytes(), type=dict[str, float]) if path.is_file() else {}

    def of(self, dose: Dose) -> float | None:
        """The perplexity at this dose; None for subjects whose weights are not at hand."""
        if not is_local(dose.settings.subject):
            return None
        if dose.name not in self._known:
            self._known[dose.name] = self._measured(dose.settings)
            self._folder.write(FILE, self._known)
        return self._known[dose.name]

    def _measured(self, settings: Settings) -> float:
        chats = neutral_chats(of_the_sandbox=settings.judge == SANDBOX_JUDGE)
        if settings.system_prompt_text:
            chats = [_developed(chat, settings.system_prompt_text) for chat in chats]
        base = self._stock.base(place_of(settings.subject), settings, "subject", self._environ)
        with _adapted(base, settings) as loaded, _steered(loaded, settings), threads_for(loaded):
            return perplexity(loaded, chats)


@contextmanager
def _adapted(base: Loaded, settings: Settings) -> Iterator[Loaded]:
    if settings.adapter is None:
        yield base
        return
    loaded = with_adapter(base, Path(settings.adapter))
    try:
        yield loaded
    finally:
        without_adapter(loaded)


def _steered(loaded: Loaded, settings: Settings) -> AbstractContextManager[None]:
    if settings.steer is None:
        return nullcontext()
    return steered(loaded.layers, load_vectors(Path(settings.steer)), settings.layers, settings.strength)


def _developed(chat: Chat, developer: str) -> Chat:
    """The conversation under a developer's system prompt."""
    messages, answer = chat
    return [
        Message.system(message.content, developer) if message.role == "system" else message for message in messages
    ], answer
