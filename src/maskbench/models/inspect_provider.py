"""`inspect/PROVIDER/NAME`: any provider of Inspect AI as subject or judge, asked with our own patience and pace.

Inspect brings the request to the service and the answer back; everything else is the chat client's: how many requests
at once, retries, token limits, reasoning, truncation, what is learned. So a provider's own interface is called
(`ModelAPI.generate`), below Inspect's retries, connection limits, cache and log.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import orjson

from maskbench.errors import AccessError, ModelError, UnknownModel, UsageError
from maskbench.install import extra, install
from maskbench.models.chat import refusals, wire
from maskbench.models.chat.client import ChatModel, Posted
from maskbench.models.chat.dialects import Dialect, completion
from maskbench.models.chat.services import SERVICES, Endpoint, base_variable, check_address, key_variables
from maskbench.models.inspect_adapter import Exchanged, answer_schema, answered, conversation, raised, tools_in, unsent
from maskbench.store.masking import LEAST_IN_REPLIES, keys_in, mask_of
from maskbench.types import Ask

_NATIVE = ("google",)  # services that our client asks by another interface than Inspect does
_UNSENT = "x-maskbench-unsent"  # our own header, from send to _response
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_OTHER_KEYS: Mapping[str, tuple[str, ...]] = {  # where Inspect's names are others than PROVIDER_API_KEY
    "google": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "bedrock": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"),
    "sagemaker": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION"),
    "azureai": ("AZUREAI_API_KEY",),
}
_LOUD = ("inspect_ai", "anthropic", "google_genai", "openai", "httpx", "botocore", "urllib3")  # loggers

# Fields of Inspect's configuration that a user may set; every other one is set here, or would undo our own.
OPTIONS = (
    *("top_p", "top_k", "frequency_penalty", "presence_penalty", "stop_seqs", "verbosity", "effort"),
    *("reasoning_effort", "reasoning_mode", "reasoning_tokens", "reasoning_summary", "extra_body", "cache_prompt"),
)


_DIALECT = Dialect("", lambda key: {}, completion, wire.read, alone=True)  # what Inspect makes of it is `send`'s
_asking: ContextVar[InspectModel | None] = ContextVar("asking", default=None)


def split(name: str) -> tuple[str, str]:
    """Provider and model of a name; raises UnknownModel for another form."""
    provider, _, model = name.partition("/")[2].partition("/")
    if not _NAME.fullmatch(provider) or not model:
        raise UnknownModel(f"{name!r} is not of the form inspect/PROVIDER/NAME, such as inspect/anthropic/NAME.")
    return provider, model


def service_of(provider: str, model: str) -> str:
    """The service whose variables a provider reads: its own name, or the one behind openai-api/."""
    return model.partition("/")[0] if provider.startswith("openai-api") else provider


def key_variables_of(service: str) -> tuple[str, ...]:
    """The variables in which a provider's keys are looked for."""
    return _OTHER_KEYS.get(service) or key_variables(service)


class InspectModel(ChatModel):
    """A model behind a provider of Inspect; subject and judge alike.

    `environ` is where keys are configured; it is put into the process's environment (a `.env` file added to it), since
    the providers read that. `options` are the further fields of --extra-body, and `arguments` go to the provider's
    constructor (-M). Raises AccessError, UnknownModel or
    UsageError before anything is asked, as far as the provider can tell.
    """

    def __init__(
        self,
        name: str,
        environ: Mapping[str, str],
        options: Mapping[str, object] | None = None,
        arguments: Mapping[str, object] | None = None,
        **given: Any,
    ) -> None:
        provider, model = split(name)
        service = service_of(provider, model)
        place = Endpoint(service, model, f"inspect/{provider}", None)
        super().__init__(name=name, endpoint=place, dialect=_DIALECT, **given)
        self._environ = dict(environ)
        self._mask, self._mask_reply = mask_of(environ), mask_of(environ, LEAST_IN_REPLIES)
        self._options: dict[str, Any] = dict(options or {})
        self._arguments: dict[str, Any] = dict(arguments or {})
        _check_options(self._options)
        self._api = self._open_provider(provider, model)
        if provider in SERVICES and provider not in _NATIVE:
            self._warn(f"is asked by way of Inspect; as {provider}/{model} maskbench asks it itself, which is faster")

    @property
    def keys(self) -> tuple[str, ...]:
        """The variables in which the provider's keys are looked for."""
        return key_variables_of(self.endpoint.service)

    def describe(self) -> dict[str, Any]:
        """The chat client's description, with Inspect's version and what its provider was given."""
        given = {"provider_args": self._arguments} if self._arguments else {}
        return {
            **super().describe(),
            "interface": "inspect",
            "inspect_ai": version("inspect_ai"),
            **given,
            **({"provider_options": self._options} if self._options else {}),
        }

    async def close(self) -> None:
        """Close the provider's connections for good."""
        self._closed = True
        with suppress(Exception):  # providers raise all sorts of things where nothing was opened
            async with asyncio.timeout(2):
                await self._api.aclose()

    def _open_provider(self, provider: str, model: str) -> Any:
        """The provider's interface; raises what its constructor means by what it raises."""
        get_model, config, refusal = _inspect()
        _quiet()
        self._check_address_of_file()
        os.environ.update(self._environ)
        arguments = self._arguments
        if provider == "bedrock":  # its library tries thrice, and gives up after a minute, unless it is told otherwise
            os.environ.setdefault("AWS_MAX_ATTEMPTS", "1")
            arguments = {"read_timeout": math.ceil(self._timeout.total or 0) or 60, **arguments}
        token = _asking.set(self)
        try:
            api = get_model(f"{provider}/{model}", config=config(**self._options), memoize=False, **arguments).api
        except refusal as error:
            raise self._missing(provider, _plain(str(error))) from None
        except ValueError as error:
            if "not recognized" in str(error):
                raise UnknownModel(f"{self.name}: Inspect has no provider {provider!r}. {_providers()}") from None
            raise UsageError(f"{self.name}: {self._said(str(error))}") from None
        except Exception as error:  # a constructor of anybody's: TypeError for an argument, an SDK's own for a key
            raise UsageError(
                f"{self.name} cannot be opened: {self._said(f'{type(error).__name__}: {error}')}"
            ) from None
        finally:
            _asking.reset(token)
        self._check_address(api)
        client: Any = getattr(api, "client", None)
        if isinstance(getattr(client, "max_retries", None), int):
            client.max_retries = 0  # the services' own libraries try twice more, which is ours to do
        return api

    def _check_address_of_file(self) -> None:
        """Raise AccessError where `.env` names an address to which the provider would take a key of the environment."""
        words = {name.partition("_")[0] for name in (*self.keys, base_variable(self.endpoint.service))}
        own = [name for name in self._environ if name.partition("_")[0] in words]
        keys = [name for name in own if self._environ[name] and keys_in({name: self._environ[name]})]
        for name in own:
            if name.endswith("_BASE_URL"):
                check_address(name, keys, self._environ)

    def _missing(self, provider: str, told: str) -> ModelError | UsageError:
        """What is missing for a provider: a package, or a variable."""
        if package := re.search(r"pip install (?:--?[\w-]+ )*(.+)", told):
            return UsageError(f"{self.name} needs a package besides: `pip install {package[1].strip()}`.")
        return AccessError(
            f"{self.name} cannot be asked ({self._said(told)}). Set {' or '.join(self.keys)} in the environment or in "
            ".env; docs/models.md has a table."
        )

    def _check_address(self, api: Any) -> None:
        """Raise AccessError where a key would go out unencrypted to another machine."""
        for place in (api, getattr(api, "client", None)):
            address = str(getattr(place, "base_url", None) or "")
            if address.startswith("http://"):
                Endpoint(self.endpoint.service, self.endpoint.model, address, "key")

    # Requests

    async def send(self, payload: bytes) -> Posted:
        """Have the provider send a request at once; raises TimeoutError or ConnectionError where nothing comes back."""
        body = orjson.loads(payload)
        token = _asking.set(self)
        try:
            async with asyncio.timeout(self._timeout.total):
                (status, headers, came), left_out = await self._generate(body)
        finally:
            _asking.reset(token)
        return status, {**headers, _UNSENT: " ".join(left_out)}, came

    async def _generate(self, body: Mapping[str, Any]) -> tuple[Exchanged, list[str]]:
        """One call of the provider, and which parts of the request it left out."""
        _, _, refusal = _inspect()
        try:
            result = await self._api.generate(
                conversation(body["messages"]),
                tools_in(body.get("tools", ())),
                body.get("tool_choice", "auto"),
                self._config(body),
            )
        except refusal as error:
            raise ModelError(f"{self.name}: {self._said(_plain(str(error)))}") from None
        except Exception as error:
            return self._raised(error), []
        output, call = result if isinstance(result, tuple) else (result, None)
        if isinstance(output, BaseException):
            return self._raised(output), []
        wanted = {"temperature": "temperature" in body, "seed": "seed" in body, "logprobs": "logprobs" in body}
        return answered(output, call), unsent(call, {**wanted, "schema": "response_format" in body})

    def _raised(self, error: BaseException) -> Exchanged:
        decision = self._api.should_retry(error) if isinstance(error, Exception) else None
        refused = isinstance(error, Exception) and bool(self._api.is_auth_failure(error))
        return raised(error, decision, refused)

    def _config(self, body: Mapping[str, Any]) -> Any:
        """The configuration of one call: ours, then what a user adds; no retries, cache or batch of Inspect's."""
        from inspect_ai.model import GenerateConfig

        shape = body["response_format"]["json_schema"] if "response_format" in body else None
        return GenerateConfig(
            max_tokens=body["max_tokens"],
            temperature=body.get("temperature"),
            seed=body.get("seed"),
            logprobs=body.get("logprobs"),
            top_logprobs=body.get("top_logprobs"),
            response_schema=shape and answer_schema(shape["name"], shape["schema"]),
            max_retries=0,
            timeout=math.ceil(self._timeout.total or 0) or None,
            cache=False,
            batch=False,
            **{"cache_prompt": False, **self._options},
        )

    def _response(
        self,
        request: wire.Request,
        ask: Ask,
        status: int,
        headers: Mapping[str, str],
        body: bytes | None,
        seconds: float,
        *,
        batched: bool = False,
    ) -> Any:
        """What a response means; what the provider left out of the request is neither recorded nor asked again."""
        if left_out := headers.get(_UNSENT, "").split():
            for part in left_out:
                self._leave_out(part)
            sent = {name: value for name, value in request.sent.items() if name not in left_out}
            sent |= {part: False for part in left_out if part in ("schema", "logprobs")}
            request = replace(request, sent=sent)
        return super()._response(request, ask, status, headers, body, seconds, batched=batched)

    def _leave_out(self, part: str) -> None:
        words = {
            "temperature": "takes no temperature by this provider; the model's own default is used",
            "seed": "takes no seed by this provider",
            "schema": "takes no JSON schema by this provider; the answer is asked for in words",
            "logprobs": "gives no probabilities of its tokens by this provider: its verdicts have no confidence",
        }
        setattr(self.learned, part, False)
        self._warn(words[part])

    def _said(self, text: str) -> str:
        """What somebody else's library said, as one line without a key."""
        return refusals.mask(self._mask(text))

    def note(self, text: str) -> None:
        """Pass on once what Inspect or a provider's library would have written to the terminal."""
        self._warn(f"was told by its provider: {self._said(_plain(text)).rstrip('.')}")


def _inspect() -> tuple[Any, Any, type[Exception]]:
    """What is needed of Inspect; raises UsageError where the extra is missing."""
    try:
        from inspect_ai._util.error import PrerequisiteError
        from inspect_ai.model import GenerateConfig, get_model
    except ImportError:
        raise UsageError(
            "A model of Inspect's providers needs Inspect, and the provider's own package, such as anthropic or "
            f"google-genai. Type: {install(*extra('inspect'))} PACKAGE"
        ) from None
    return get_model, GenerateConfig, PrerequisiteError


def _providers() -> str:
    """The providers that Inspect knows, as a sentence."""
    from inspect_ai._util.registry import registry_find, registry_unqualified_name

    infos = registry_find(lambda info: info.type == "modelapi")
    names = sorted({registry_unqualified_name(info) for info in infos} - {"none", "mockllm"})
    return f"It has {', '.join(names)}." if names else ""


def _check_options(options: Mapping[str, object]) -> None:
    for name in options:
        if name not in OPTIONS:
            raise UsageError(
                f"--extra-body: a model of Inspect takes {', '.join(OPTIONS)}, not {name}. What its provider's "
                f"constructor takes is given by -M NAME=VALUE."
            )


_MARKUP = re.compile(r"\[/?(?:bold|blue|red|green|yellow|italic|link[^\]]*)\]")


def _plain(text: str) -> str:
    """A text of Inspect's without its marks for a terminal."""
    return wire.clean(_MARKUP.sub("", text).removeprefix("ERROR:"), 4000)


class _PassedOn(logging.Handler):
    """Takes what libraries log while a model is asked, so that it does not run through our terminal."""

    def emit(self, record: logging.LogRecord) -> None:
        """Pass a warning on to the model that is being asked; anything else is dropped."""
        model = _asking.get()
        if model is not None and record.levelno >= logging.WARNING:
            model.note(record.getMessage())


def _quiet() -> None:
    """Keep the loggers of Inspect and of the services' libraries off the terminal, once a process."""
    for name in _LOUD:
        logger = logging.getLogger(name)
        if not any(isinstance(handler, _PassedOn) for handler in logger.handlers):
            logger.addHandler(_PassedOn())
            logger.propagate = False
