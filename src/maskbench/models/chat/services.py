"""From a model's name to an address and a key, by Inspect AI's names of services and environment variables.

A service is a line in a table: each speaks chat completions, but for what has a protocol of its own in dialects.py.
The names and variables follow https://inspect.aisi.org.uk/providers.html where Inspect AI has the service.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from urllib.parse import SplitResult, urlsplit, urlunsplit

from maskbench.errors import AccessError, UnknownModel, UsageError
from maskbench.plain import plain


@dataclass(frozen=True, slots=True)
class Service:
    """A service: the address at which it answers, and the variables that hold its key.

    `path` is added to a base URL that has none: some services document their variable as a bare origin.
    """

    address: str
    path: str = ""
    keys: tuple[str, ...] = ()  # where it is not NAME_API_KEY
    prefix: str = ""  # of NAME_BASE_URL, where it is not the service's name
    local: bool = False  # on one's own machine: no key needed
    batch: bool = False  # it has a batch interface that maskbench speaks


SERVICES: Mapping[str, Service] = {
    "openai": Service("https://api.openai.com/v1", batch=True),
    "anthropic": Service("https://api.anthropic.com", "/v1", batch=True),
    "google": Service("https://generativelanguage.googleapis.com", "/v1beta/openai"),
    "mistral": Service("https://api.mistral.ai", "/v1"),
    "deepseek": Service("https://api.deepseek.com"),
    "grok": Service("https://api.x.ai", "/v1", ("XAI_API_KEY", "GROK_API_KEY"), "XAI"),
    "xai": Service("https://api.x.ai", "/v1", ("XAI_API_KEY", "GROK_API_KEY")),
    "moonshot": Service("https://api.moonshot.ai/v1"),
    "perplexity": Service("https://api.perplexity.ai"),
    "openrouter": Service("https://openrouter.ai/api/v1"),
    "together": Service("https://api.together.xyz/v1"),
    "groq": Service("https://api.groq.com", "/openai/v1"),
    "fireworks": Service("https://api.fireworks.ai/inference/v1"),
    "sambanova": Service("https://api.sambanova.ai/v1"),
    "cerebras": Service("https://api.cerebras.ai/v1"),
    "deepinfra": Service("https://api.deepinfra.com/v1/openai"),
    "hf-inference-providers": Service("https://router.huggingface.co/v1", keys=("HF_TOKEN",)),
    "vllm": Service("http://127.0.0.1:8000", "/v1", local=True),
    "sglang": Service("http://127.0.0.1:30000", "/v1", local=True),
    "ollama": Service("http://127.0.0.1:11434", "/v1", local=True),
    "llama-cpp": Service("http://127.0.0.1:8080", "/v1", local=True),
    "llama-cpp-python": Service("http://127.0.0.1:8000", "/v1", local=True),
    "lmstudio": Service("http://127.0.0.1:1234", "/v1", local=True),
}
ANY = "openai-api"  # openai-api/SERVICE/NAME: any other service of the protocol
NO_ENDPOINT = (
    "hf",
    "inspect",
    "pinocchio",
    "sim",
    "sim-judge",
    "scripted",
)  # names of other modules; only for suggestions
_MAKERS = {  # what models are called that one service is known for; only for suggestions, too
    r"(chat)?gpt-|o\d": "openai",
    "claude": "anthropic",
    "gemini": "google",
    "(mi|mag|code)stral": "mistral",
    "deepseek": "deepseek",
    "grok": "grok",
}


@dataclass(frozen=True, slots=True, repr=False)
class Endpoint:
    """One model at one address; the key is never shown.

    It goes over plain http to this machine, and with `plain_http` to others of a private network, never to public ones.
    """

    service: str
    model: str
    base_url: str
    key: str | None
    proxy: str | None = None
    plain_http: bool = False

    def __post_init__(self) -> None:
        url = urlsplit(self.base_url)
        if self.key is None or url.scheme == "https" or is_loopback(url.hostname):
            return
        if not self.plain_http:
            raise AccessError(_unencrypted(self.service, url))
        if is_public(url.hostname or ""):
            raise AccessError(public_address(self.service, url.hostname or ""))

    @property
    def private_only(self) -> bool:
        """Whether the key may go to private addresses alone, whatever the host's name is looked up as."""
        url = urlsplit(self.base_url)
        return self.key is not None and url.scheme != "https" and not is_loopback(url.hostname)

    def __repr__(self) -> str:
        key = "None" if self.key is None else "<hidden>"
        return f"Endpoint({self.service!r}, {self.model!r}, {self.address!r}, key={key})"

    @property
    def address(self) -> str:
        """The base URL without user name, password and query: what may be shown and stored."""
        return bare_url(self.base_url)

    @property
    def local(self) -> bool:
        """Whether it is a server of one's own, where a seed can be counted on to mean something."""
        service = SERVICES.get(self.service)
        return (service is not None and service.local) or is_loopback(urlsplit(self.base_url).hostname)


def endpoint(name: str, environ: Mapping[str, str]) -> Endpoint:
    """The endpoint that a model's full name means, with address and key from `environ`.

    Raises UnknownModel for a name that is no service's, AccessError where key or address is missing or unsafe.
    """
    service, model = parse(name)
    known = SERVICES.get(service)
    base_url = _base_url(service, known, environ)
    loopback = is_loopback(base_url.hostname)
    key = _key(service, environ)
    used = next((name for name in key_variables(service) if environ.get(name, "").strip()), None)
    check_address(base_variable(service), [used] if used else [], environ)
    # Whoever has a key does not send it over plain http, so an unknown service there is a server of one's own.
    is_own = known.local if known else base_url.scheme == "http"
    if key is None and not loopback and not is_own:
        raise AccessError(f"{name} needs a key: set {key_variables(service)[0]} in the environment or in .env.")
    plain_http = environ.get(http_variable(service), "").strip().lower() in ("1", "true", "yes")
    # A key that goes out unencrypted goes straight to its server: a proxy would read it.
    direct = loopback or (key is not None and base_url.scheme == "http")
    proxy = None if direct else _proxy(base_url, environ)
    return Endpoint(service, model, urlunsplit(base_url), key, proxy, plain_http)


def parse(name: str) -> tuple[str, str]:
    """Service and model that a full name means; raises UnknownModel for a name that is no service's."""
    service, _, model = name.partition("/")
    if service == ANY:
        service, _, model = model.partition("/")
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", service) or not model:
            raise UnknownModel(f"{name!r} is not of the form {ANY}/SERVICE/NAME.")
        return service.lower(), model
    if service in SERVICES and model:
        return service, model
    raise UnknownModel(f"{_bare(name)!r} names no model. {_suggestion(service, model)}")


def _suggestion(service: str, model: str) -> str:
    """What to type for a name that is no service's: what was probably meant, else every form that there is."""
    if service in ("http:", "https:"):
        return _server(f"{service}/{model}")
    if service in SERVICES:
        return f"Put the model's name behind the slash: {service}/NAME."
    if meant := _path(f"{service}/{model}" if model else service) or _meant(service, model):
        return f"{meant} `maskbench doctor` lists every form of a name."
    own = f"For a server of your own: vllm/{service}. " if service else ""
    return (
        f"{own}A model at an endpoint is SERVICE/NAME, with SERVICE one of {', '.join(SERVICES)}; "
        f"{ANY}/SERVICE/NAME is any other service of the same protocol. Without an endpoint there are "
        "scripted/FILE.json, and as subjects hf/NAME_OR_PATH (in this process), pinocchio and sim."
    )


def _server(url: str) -> str:
    """What to type for the address of a server."""
    address = shlex.quote(_bare(url).rstrip("/").removesuffix("/chat/completions"))
    return (
        f"An address is no name. For a server of your own: `VLLM_BASE_URL={address} maskbench run vllm/NAME`, where "
        "NAME is what the server calls its model."
    )


def _bare(name: str) -> str:
    """A name as it is; an address without what may be a secret in it."""
    return re.sub(r"(?<=://)[^/]*@|[?#].*", "", name) if "://" in name else name


def _path(name: str) -> str:
    """What to do with a path where a model's name is to stand; nothing for what is no path."""
    path = Path(name)
    if path.suffix == ".gguf":
        return f"A GGUF file is read by a server: `llama-server -m {path}`, and then llama-cpp/NAME is the model."
    if (name and path.is_dir()) or name.startswith((".", "/", "~")):
        return f"To run a model of this machine, put hf/ before its folder: hf/{name}."
    return ""


def _meant(service: str, model: str) -> str:
    """The names that may have been meant, as a question, or nothing."""
    known = [each for pattern, each in _MAKERS.items() if re.match(pattern, service.lower())]
    if known and not model:
        return f"The service is missing. Did you mean {known[0]}/{service}?"
    if close := get_close_matches(service.lower(), [*SERVICES, ANY, *NO_ENDPOINT], 1, 0.75):
        return f"Did you mean {'/'.join(filter(None, (close[0], model)))}?"
    if model:
        names = " or ".join(f"{each}/{service}/{model}" for each in ("openrouter", "vllm", "hf"))
        return f"The service is missing, or hf/ for a model in this process. Did you mean {names}?"
    return ""


def _prefix(service: str) -> str:
    return service.upper().replace("-", "_")


def key_variables(service: str) -> tuple[str, ...]:
    """The variables that may hold a service's key, the first that is set counts."""
    known = SERVICES.get(service)
    return (known and known.keys) or (f"{_prefix(service)}_API_KEY",)


def base_variable(service: str) -> str:
    """The variable that holds a service's address."""
    known = SERVICES.get(service)
    return f"{(known and known.prefix) or _prefix(service)}_BASE_URL"


def http_variable(service: str) -> str:
    """The variable that lets a service's key go over plain http within a private network."""
    return base_variable(service).removesuffix("BASE_URL") + "ALLOW_HTTP"


def _unencrypted(service: str, url: SplitResult) -> str:
    """What to do about a key that would go out over plain http."""
    base, key, port = base_variable(service), key_variables(service)[0], url.port or 80
    ways = [
        "Use https",
        f"or a tunnel (`ssh -N -L {port}:127.0.0.1:{port} {url.hostname}`, and {base}=http://127.0.0.1:{port}"
        f"{url.path})",
        f"or leave {key} unset if the server needs no key",
    ]
    if not is_public(url.hostname or ""):
        ways.insert(2, f"or set {http_variable(service)}=1 if you trust every machine of that network")
    return f"{base} is plain http to {url.hostname}, and a key would go out unencrypted. {'; '.join(ways)}."


def public_address(service: str, host: str) -> str:
    """The reason why a key does not go to a host over plain http, whatever is allowed."""
    return (
        f"{base_variable(service)} is plain http to {host}, which is a public address: {http_variable(service)} is for "
        "private networks alone, and the key would go out unencrypted. Use https, or a tunnel (ssh -L)."
    )


def _key(service: str, environ: Mapping[str, str]) -> str | None:
    for variable in key_variables(service):
        if key := environ.get(variable, "").strip():
            if not re.fullmatch(r"[!-~]+", key):
                raise AccessError(f"{variable} holds a space or a character that no key has: paste it again.")
            return key
    return None


def _base_url(service: str, known: Service | None, environ: Mapping[str, str]) -> SplitResult:
    variable = base_variable(service)
    text = environ.get(variable, "").strip() or (known.address if known else "")
    if not text:
        raise AccessError(f"{ANY}/{service} needs an address: set {variable}, such as https://host/v1.")
    try:
        url = urlsplit(text)
        valid = url.scheme in ("http", "https") and url.hostname and (url.port or 0) >= 0
    except ValueError:
        valid = None
    if not valid:
        raise AccessError(f"{variable} is no address: it must be like https://host/v1.")
    if url.username is not None or url.password is not None:
        raise AccessError(f"{variable} holds a user name or password: put the key into {key_variables(service)[0]}.")
    path = url.path.rstrip("/") or (known.path if known else "")
    return url._replace(path=path, fragment="")


def is_loopback(host: str | None) -> bool:
    """Whether a host is this machine by its very name: no look-up, so that no resolver can make it so."""
    if host is None:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


_SHARED = ipaddress.ip_network("100.64.0.0/10")  # of carriers and overlay networks; RFC 6598


def is_public(host: str) -> bool:
    """Whether a host is an address that anybody could have; of a name only a look-up can tell."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return not (address.is_private or address in _SHARED) or address.is_unspecified


def bare_url(url: str) -> str:
    """A URL without user name, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def _proxy(url: SplitResult, environ: Mapping[str, str]) -> str | None:
    """The proxy of the environment, as other clients read it: lower case first, NO_PROXY obeyed."""

    def read(name: str) -> str:
        return (environ.get(name) or environ.get(name.upper()) or "").strip()

    proxy = read(f"{url.scheme}_proxy") or read("all_proxy")
    if not proxy or _bypasses(url, read("no_proxy")):
        return None
    if "://" not in proxy:
        proxy = f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise AccessError(f"The proxy for {url.hostname} is not an http proxy: set {url.scheme.upper()}_PROXY to one.")
    return proxy


def _bypasses(url: SplitResult, names: str) -> bool:
    """Whether NO_PROXY names the host: itself, a domain above it, with or without the port, or * for all."""
    for name in names.lower().split(","):
        name = name.strip().lstrip(".")
        hosts = (url.hostname, url.netloc.lower())
        if name == "*" or (name and any(host and f".{host}".endswith(f".{name}") for host in hosts)):
            return True
    return False


_LINE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)")
_QUOTED = re.compile(r"""(?:'([^']*)'|"((?:[^"\\]|\\.)*)")\s*(?:#.*)?""")
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class OfFile(str):
    """A value that the `.env` of a folder gives: an address among them gets no key of the environment."""

    __slots__ = ()


# What is taken from `.env`: keys and addresses of services. Nothing else of a folder changes how maskbench works.
_TAKEN = re.compile(
    r"\w+_(?:API_KEY|BASE_URL)|AWS_(?:(?:SECRET_)?ACCESS_KEY(?:_ID)?|SESSION_TOKEN|(?:DEFAULT_)?REGION)"
)
_TOKENS = frozenset(("HUGGINGFACE_TOKEN", *(key for service in SERVICES.values() for key in service.keys)))
# What is told where it is not taken: it would send keys or code elsewhere, or is a variable of ours.
_TOLD = re.compile(r"(?:HF|MASKBENCH|LD|DYLD|SSL|RAY|AWS)_\w+|PYTHON\w+|\w+_(?:PROXY|ALLOW_HTTP|CA_BUNDLE)|PATH")


def environment(folder: Path) -> dict[str, str]:
    """The environment, and the keys and addresses of services that `.env` in the folder adds; the environment wins.

    Lines are NAME=VALUE, with `export`, quotes and comments as in a shell; nothing is expanded. Raises UsageError
    for a line of another form, by file and number and never with its text, which may be a key. A variable that would
    matter and is not taken from a file is named on stderr, once.
    """
    path = folder / ".env"
    added = _dotenv(path)
    taken = {name: OfFile(value) for name, value in added.items() if _TAKEN.fullmatch(name) or name in _TOKENS}
    for name in added:
        if name not in taken and name not in os.environ and _TOLD.fullmatch(name.upper()):
            _warn(
                f"Caution: {path.absolute()} sets {name}, which is not taken from a file: only keys and addresses of "
                "services are. If you want it, set it in the environment."
            )
    return {**taken, **os.environ}


def check_address(address: str, keys: Sequence[str], environ: Mapping[str, str]) -> None:
    """Raise AccessError where the address that a variable holds is of a file, and one of these keys is not.

    Somebody who has written a file into the folder would get the user's own key.
    """
    for key in keys:
        if isinstance(environ.get(address), OfFile) and not isinstance(environ[key], OfFile):
            raise AccessError(
                f"{address} stands in .env, and {key} in your environment: your key goes to no address that a file "
                f"names. If you trust the address, set {address} in the environment, too. For a key of that server's "
                f"own, take {key} out of the environment and write it into .env."
            )


@cache
def _warn(line: str) -> None:
    logging.getLogger("maskbench").warning(plain(line))


def _dotenv(path: Path) -> dict[str, str]:
    if not path.is_file():
        return {}
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read ({type(error).__name__}): make it a readable UTF-8 file.") from None
    variables = {}
    for number, line in enumerate(map(str.strip, lines), 1):
        if not line or line.startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        value = None if match is None else _value(match[2])
        if match is None or value is None:
            raise UsageError(f"{path}, line {number}: this is not NAME=VALUE. Close every quote on its own line.")
        variables[match[1]] = value
    return variables


def _value(text: str) -> str | None:
    """The value behind the equals sign; None where its quotes do not close."""
    if text.startswith("#"):
        return ""
    if not text.startswith(("'", '"')):
        return re.split(r"\s+#", text, maxsplit=1)[0]
    match = _QUOTED.fullmatch(text)
    if match is None:
        return None
    if match[1] is not None:
        return str(match[1])
    return re.sub(r"\\(.)", lambda escape: _ESCAPES.get(escape[1], escape[1]), match[2])
