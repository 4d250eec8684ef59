"""The command of a server that a run starts: its words, where its port goes, and what it may not hold."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from maskbench.errors import UnknownModel, UsageError
from maskbench.models.chat.masking import keys_in
from maskbench.models.chat.refusals import looks_secret
from maskbench.models.chat.services import ANY, SERVICES, parse
from maskbench.settings import Settings
from maskbench.types import Stage

PORT = "{port}"
HOST = "127.0.0.1"
_ASSIGNED = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)
# Programs that take --host and --port, by how they are called.
_ENGINES = {
    **dict.fromkeys(("vllm", "vllm.entrypoints.openai.api_server"), "vllm"),
    **dict.fromkeys(("sglang", "sglang.launch_server"), "sglang"),
    "llama-server": "llama.cpp",
    "transformers": "transformers",
}


@dataclass(frozen=True, slots=True)
class ServeCommand:
    """A command as it was typed for an option, and its words behind the variables that it sets."""

    option: str
    text: str
    service: str
    words: tuple[str, ...]
    variables: Mapping[str, str]

    @property
    def engine(self) -> str | None:
        """Which engine the command starts, where it is one that is known."""
        return engine_of(self.words)

    def at(self, port: int) -> list[str]:
        """The words for this port; those of a known engine that has no word for it get one, and this machine's host."""
        words = [word.replace(PORT, str(port)) for word in self.words]
        if self.engine and not any(PORT in word for word in self.words):
            words += ["--port", str(port)]
        if self.engine and "--host" not in words:
            words += ["--host", HOST]
        return words


def engine_of(words: tuple[str, ...]) -> str | None:
    """The engine among the first words of a command, if it is a known one."""
    return next((_ENGINES[name] for name in (Path(word).name for word in words[:6]) if name in _ENGINES), None)


def commands(settings: Settings) -> dict[Stage, ServeCommand]:
    """The servers that a run starts, by whom they serve; raises UsageError for a command that cannot be meant."""
    texts: dict[Stage, tuple[str, str | None, str]] = {
        "subject": ("--serve", settings.pace.serve, settings.subject.name),
        "judge": ("--serve-judge", settings.pace.serve_judge, settings.judging.judge),
    }
    typed: dict[Stage, ServeCommand] = {
        stage: _command(option, text, model) for stage, (option, text, model) in texts.items() if text is not None
    }
    if len(typed) == 2 and typed["subject"].service == typed["judge"].service:
        raise UsageError(
            f"--serve and --serve-judge both start a server for {typed['judge'].service}/. Give the judge's server a "
            f"service of its own: --judge {ANY}/myjudge/NAME."
        )
    return typed


def check_serve(settings: Settings, environ: Mapping[str, str]) -> None:
    """Raise UsageError for a server's command that cannot be meant, or holds a key of the environment."""
    for command in commands(settings).values():
        values = (*map(_value, command.words), *command.variables.values())
        if any(map(_looks_secret, values)) or any(key in command.text for key in keys_in(environ)):
            raise UsageError(
                f"{command.option} holds what looks like a key, and would be kept with the run. Take it out."
            )


def _value(word: str) -> str:
    """A word, or what stands behind the equals sign of an option: names such as --hf-overrides are no keys."""
    return word.partition("=")[2] if word.startswith("-") else word


def _looks_secret(value: str) -> bool:
    """Whether a value is like a key; a path, a model's name and a word without figures are none."""
    return looks_secret(value) and ("://" in value or ("/" not in value and any(map(str.isdigit, value))))


def check_program(settings: Settings) -> None:
    """Raise UsageError where the program of a server's command is not on this machine."""
    for command in commands(settings).values():
        if shutil.which(command.words[0], path=command.variables.get("PATH")) is None:
            raise UsageError(
                f"{command.option}: there is no program {command.words[0]!r} on this machine. Install it, or give its "
                "path."
            )


def _command(option: str, text: str, model: str) -> ServeCommand:
    words = _split(option, text)
    variables: dict[str, str] = {}
    while words and (assigned := _ASSIGNED.fullmatch(words[0])):
        variables[assigned[1]] = assigned[2]
        words = words[1:]
    if not words:
        raise UsageError(f"{option} {text!r} starts nothing. Give a command, such as 'vllm serve NAME'.")
    command = ServeCommand(option, text, _service(option, model), tuple(words), variables)
    _check_port(command)
    if any(word.partition("=")[0] == "--api-key" for word in words):
        raise UsageError(f"{option}: only this machine reaches the server, which needs no key. Leave --api-key out.")
    return command


def _split(option: str, text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise UsageError(f"{option} {text!r} is no command ({error}). Close every quote in it.") from None


def _service(option: str, model: str) -> str:
    """The service whose models the server answers for; raises UsageError where that can be no server of one's own."""
    try:
        service = parse(model)[0]
    except UnknownModel:
        service = None
    known = SERVICES.get(service or "")
    if service is None or (known and not known.local):
        raise UsageError(
            f"{option} starts a server for a model of a server of your own, such as vllm/NAME or {ANY}/mine/NAME; "
            f"{model} is none."
        )
    return service


def _check_port(command: ServeCommand) -> None:
    placed = any(PORT in word for word in (*command.words, *command.variables.values()))
    if any(word.partition("=")[0] == "--port" for word in command.words) and not placed:
        raise UsageError(
            f"{command.option}: maskbench finds a free port itself. Leave --port out, or write --port {PORT}."
        )
    if not placed and command.engine is None:
        raise UsageError(
            f"{command.option} {command.text!r} does not say where the server's port goes. Write {PORT} there, as in "
            f"'my-server --port {PORT}'. (vllm, sglang, llama-server and transformers get --port by themselves.)"
        )
