"""Perplexity on neutral text at every dose of a model in this process, kept in the dose curve's folder."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

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
        with ExitStack() as stack:
            loaded = base if settings.adapter is None else with_adapter(base, Path(settings.adapter))
            if settings.adapter is not None:
                stack.callback(without_adapter, loaded)
            if settings.steer is not None:
                vectors = load_vectors(Path(settings.steer))
                stack.enter_context(steered(loaded.layers, vectors, settings.layers, settings.strength))
            stack.enter_context(threads_for(loaded))
            return perplexity(loaded, chats)


def _developed(chat: Chat, developer: str) -> Chat:
    """The conversation under a developer's system prompt."""
    messages, answer = chat
    return [
        Message.system(message.content, developer) if message.role == "system" else message for message in messages
    ], answer
