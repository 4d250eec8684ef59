"""Names of models, their addresses and keys, and the .env file."""

import os
from pathlib import Path

import pytest

from maskbench.errors import AccessError, UnknownModel, UsageError
from maskbench.models.chat.services import SERVICES, Endpoint, bare_url, endpoint, environment, is_loopback

KEY = "a-secret-key-1234"


@pytest.mark.parametrize(
    ("name", "variable", "model", "base_url"),
    [
        ("openai/gpt-4o", "OPENAI_API_KEY", "gpt-4o", "https://api.openai.com/v1"),
        ("anthropic/claude-x", "ANTHROPIC_API_KEY", "claude-x", "https://api.anthropic.com/v1"),
        ("google/gemini-x", "GOOGLE_API_KEY", "gemini-x", "https://generativelanguage.googleapis.com/v1beta/openai"),
        ("grok/grok-4", "XAI_API_KEY", "grok-4", "https://api.x.ai/v1"),
        ("grok/grok-4", "GROK_API_KEY", "grok-4", "https://api.x.ai/v1"),
        ("openrouter/meta-llama/llama-3", "OPENROUTER_API_KEY", "meta-llama/llama-3", "https://openrouter.ai/api/v1"),
        ("together/a/b", "TOGETHER_API_KEY", "a/b", "https://api.together.xyz/v1"),
        ("groq/llama", "GROQ_API_KEY", "llama", "https://api.groq.com/openai/v1"),
        ("deepseek/deepseek-chat", "DEEPSEEK_API_KEY", "deepseek-chat", "https://api.deepseek.com"),
        ("fireworks/accounts/f/models/m", "FIREWORKS_API_KEY", "accounts/f/models/m", "https://api.fireworks.ai/inference/v1"),
        ("hf-inference-providers/o/m:c", "HF_TOKEN", "o/m:c", "https://router.huggingface.co/v1"),
    ],
)  # fmt: skip
def test_services_have_inspects_names_and_variables(name: str, variable: str, model: str, base_url: str) -> None:
    """A name gives the service's address and takes the key from its variable."""
    found = endpoint(name, {variable: KEY})
    assert (found.model, found.base_url, found.key, found.proxy) == (model, base_url, KEY, None)


@pytest.mark.parametrize("service", [name for name, service in SERVICES.items() if service.local])
def test_local_servers_need_no_key(service: str) -> None:
    """Servers on one's own machine have a loopback address by default, and the key is optional."""
    found = endpoint(f"{service}/some/model", {})
    assert found.key is None
    assert found.base_url.startswith("http://127.0.0.1:")
    assert found.base_url.endswith("/v1")
    assert endpoint(f"{service}/m", {f"{service.upper().replace('-', '_')}_API_KEY": KEY}).key == KEY


def test_base_urls_of_the_environment_win() -> None:
    """NAME_BASE_URL replaces the address; the usual path is added where the variable is a bare origin."""
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://proxy.example/", "GROQ_API_KEY": KEY}
    assert endpoint("openai/m", environ).base_url == "https://proxy.example"
    assert (
        endpoint("groq/m", {**environ, "GROQ_BASE_URL": "https://g.example"}).base_url == "https://g.example/openai/v1"
    )
    assert endpoint("vllm/m", {"VLLM_BASE_URL": "http://gpu1:8000"}).base_url == "http://gpu1:8000/v1"
    assert endpoint("vllm/m", {"VLLM_BASE_URL": "http://gpu1:8000/x/"}).base_url == "http://gpu1:8000/x"


def test_any_service_is_named_by_its_variables() -> None:
    """openai-api/SERVICE/NAME takes SERVICE_API_KEY and SERVICE_BASE_URL, with - as _."""
    environ = {"MY_LAB_API_KEY": KEY, "MY_LAB_BASE_URL": "https://lab.example/v1"}
    found = endpoint("openai-api/my-lab/org/model", environ)
    assert (found.service, found.model, found.base_url, found.key) == (
        "my-lab",
        "org/model",
        "https://lab.example/v1",
        KEY,
    )
    assert endpoint("openai-api/t/m", {"T_BASE_URL": "http://localhost:1/v1"}).key is None
    assert endpoint("openai-api/t/m", {"T_BASE_URL": "http://gpu8:8000/v1"}).key is None


def test_missing_key_and_address_are_named() -> None:
    """An error says which variable to set."""
    with pytest.raises(AccessError, match="set OPENAI_API_KEY"):
        endpoint("openai/gpt-4o", {"OPENAI_API_KEY": " "})
    with pytest.raises(AccessError, match="set MY_LAB_BASE_URL"):
        endpoint("openai-api/my-lab/m", {"MY_LAB_API_KEY": KEY})


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("opnai/gpt-4o", "Did you mean openai/gpt-4o"),
        ("OpenAI/gpt-4o", "Did you mean openai/gpt-4o"),
        ("gpt-4o", "Did you mean openai/gpt-4o"),
        ("o3-mini", "Did you mean openai/o3-mini"),
        ("claude-sonnet-4", "Did you mean anthropic/claude-sonnet-4"),
        ("mistral-large", "Did you mean mistral/mistral-large"),
        ("Qwen/Qwen3-8B", "Did you mean openrouter/Qwen/Qwen3-8B or vllm/Qwen/Qwen3-8B or hf/Qwen/Qwen3-8B"),
        ("pinochio", "Did you mean pinocchio"),
        ("nonsense", r"with SERVICE one of openai, anthropic, .* hf/NAME_OR_PATH .* pinocchio and sim\."),
        ("openai", "openai/NAME"),
        ("openai/", "openai/NAME"),
        ("openai-api/x", "openai-api/SERVICE/NAME"),
        ("openai-api/x y/m", "openai-api/SERVICE/NAME"),
        ("simm/lie=0.4", "Did you mean sim/lie=0.4"),
        ("", "with SERVICE one of openai"),
    ],
)
def test_unknown_names_are_answered_with_what_there_is(name: str, hint: str) -> None:
    """A name of no service is an error that suggests the nearest one and lists them."""
    with pytest.raises(UnknownModel, match=hint):
        endpoint(name, {"OPENAI_API_KEY": KEY})


@pytest.mark.parametrize(
    "address",
    ["http://api.example/v1", "http://127.0.0.1.evil.example/v1", "http://localhost.example/v1", "http://10.0.0.1/v1"],
)
def test_no_key_goes_over_plain_http(address: str) -> None:
    """Plain http with a key is refused wherever the host is not this machine, and the error has no key in it."""
    with pytest.raises(AccessError, match="plain http") as raised:
        endpoint("openai-api/t/m", {"T_API_KEY": KEY, "T_BASE_URL": address})
    assert KEY not in str(raised.value)
    with pytest.raises(AccessError, match="plain http"):
        Endpoint("t", "m", address, KEY)


@pytest.mark.parametrize(
    "address", ["http://localhost:1/v1", "http://127.0.0.1/v1", "http://127.9.9.9/v1", "http://[::1]:8/v1"]
)
def test_loopback_takes_a_key_over_plain_http(address: str) -> None:
    """On this machine nobody listens in."""
    assert endpoint("openai-api/t/m", {"T_API_KEY": KEY, "T_BASE_URL": address}).key == KEY


@pytest.mark.parametrize("host", [None, "", "example.org", "0.0.0.0", "192.168.0.1", "127.0.0.1.nip.io"])  # noqa: S104
def test_other_hosts_are_not_loopback(host: str | None) -> None:
    """Only addresses of the loopback networks and the name localhost are."""
    assert not is_loopback(host)


@pytest.mark.parametrize(
    "address", ["api.x.ai", "ftp://host/v1", "https://", "https://host:99999/v1", "https://[::1/v1"]
)
def test_bad_addresses_are_errors_that_name_the_variable(address: str) -> None:
    """An address must be a whole http or https URL."""
    with pytest.raises(AccessError, match="XAI_BASE_URL"):
        endpoint("xai/m", {"XAI_API_KEY": KEY, "XAI_BASE_URL": address})


def test_a_password_in_an_address_is_refused_and_not_shown() -> None:
    """Credentials belong into the key's variable."""
    with pytest.raises(AccessError, match="XAI_BASE_URL holds a user name") as raised:
        endpoint("xai/m", {"XAI_API_KEY": KEY, "XAI_BASE_URL": "https://me:secret77@host/v1"})
    assert "secret77" not in str(raised.value)


@pytest.mark.parametrize("key", ["has space", "new\nline", "ключ"])
def test_keys_that_cannot_be_sent_are_refused_and_not_shown(key: str) -> None:
    """A key pasted with a line break in it is named by its variable alone."""
    with pytest.raises(AccessError, match="OPENAI_API_KEY holds") as raised:
        endpoint("openai/m", {"OPENAI_API_KEY": key})
    assert key not in str(raised.value)


def test_an_endpoint_never_shows_its_key() -> None:
    """Neither repr nor the shown address has key or query in it."""
    found = endpoint("openai-api/t/m", {"T_API_KEY": KEY, "T_BASE_URL": "https://host/v1?token=secret77"})
    assert found.base_url == "https://host/v1?token=secret77"
    assert found.address == "https://host/v1"
    for text in (repr(found), str(found), f"{found}"):
        assert KEY not in text
        assert "secret77" not in text
    assert bare_url("https://a:b@host:8/x?y=1#z") == "https://host:8/x"


def test_proxies_come_from_the_environment() -> None:
    """HTTPS_PROXY is taken for https, lower case first, unless NO_PROXY names the host."""
    environ = {"OPENAI_API_KEY": KEY, "HTTPS_PROXY": "proxy.example:3128"}
    assert endpoint("openai/m", environ).proxy == "http://proxy.example:3128"
    assert endpoint("openai/m", {**environ, "https_proxy": "http://other:1"}).proxy == "http://other:1"
    assert endpoint("openai/m", {"OPENAI_API_KEY": KEY, "ALL_PROXY": "http://all:1"}).proxy == "http://all:1"
    for bypass in ("*", "openai.com", ".openai.com", "x.org, API.openai.com"):
        assert endpoint("openai/m", {**environ, "NO_PROXY": bypass}).proxy is None
    assert endpoint("openai/m", {**environ, "NO_PROXY": "notopenai.com,ai.com"}).proxy is not None


def test_loopback_needs_no_proxy() -> None:
    """A server on this machine is asked directly."""
    assert endpoint("vllm/m", {"HTTP_PROXY": "http://proxy:1", "ALL_PROXY": "http://proxy:1"}).proxy is None


def test_other_proxies_are_refused() -> None:
    """A SOCKS proxy would silently be passed by, so it is an error."""
    with pytest.raises(AccessError, match="not an http proxy"):
        endpoint("openai/m", {"OPENAI_API_KEY": KEY, "HTTPS_PROXY": "socks5://proxy:1"})


# .env


def read(folder: Path, text: str) -> dict[str, str]:
    """What `.env` with this text adds to the environment."""
    (folder / ".env").write_text(text, encoding="utf-8")
    return environment(folder)


def test_env_file_is_read_as_a_shell_would(tmp_path: Path) -> None:
    """Comments, `export`, both kinds of quotes, and # within values."""
    found = read(
        tmp_path,
        "\ufeff# keys\n\nA_API_KEY=1\r\nexport B_API_KEY = two words # note\nC_API_KEY='it''s'\n".replace("''", " # ")
        + 'D_API_KEY="a \\"quoted\\" # \\n line" # comment\nE_API_KEY=\nF_BASE_URL=http://x/#y\n'
        + "G_API_KEY= # nothing\nA_API_KEY=again\n",
    )
    assert {name: value for name, value in found.items() if name[1:] in ("_API_KEY", "_BASE_URL")} == {
        "A_API_KEY": "again",
        "B_API_KEY": "two words",
        "C_API_KEY": "it # s",
        "D_API_KEY": 'a "quoted" # \n line',
        "E_API_KEY": "",
        "F_BASE_URL": "http://x/#y",
        "G_API_KEY": "",
    }


def test_nothing_is_expanded(tmp_path: Path) -> None:
    """A dollar sign in a key is a dollar sign."""
    assert read(tmp_path, "A_API_KEY=$HOME/x\nB_API_KEY=`id`\n")["A_API_KEY"] == "$HOME/x"


def test_the_environment_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that is set already is not replaced by the file."""
    monkeypatch.setenv("SET_API_KEY", "outer")
    assert read(tmp_path, "SET_API_KEY=inner\n")["SET_API_KEY"] == "outer"


@pytest.mark.parametrize(
    "name",
    [
        *("HF_ENDPOINT", "HTTPS_PROXY", "http_proxy", "ALL_PROXY", "NO_PROXY", "PYTHONPATH", "LD_PRELOAD", "PATH"),
        *("VLLM_ALLOW_HTTP", "MASKBENCH_PRICES", "HF_HOME", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "AWS_ENDPOINT_URL"),
    ],
)
def test_the_file_gives_keys_and_addresses_of_services_alone(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What would send a key or a program elsewhere is not taken from a folder, and that is said once."""
    monkeypatch.delenv(name, raising=False)
    for _ in range(2):
        found = read(tmp_path, f"{name}=http://evil.example\nHF_TOKEN=hf_of_the_file\nSOME_WORD=x\n")
    assert name not in found
    assert "SOME_WORD" not in found
    assert found["HF_TOKEN"] == os.environ.get("HF_TOKEN", "hf_of_the_file")
    assert [line.partition(",")[0] for line in caplog.messages] == [f"Caution: {tmp_path / '.env'} sets {name}"]


@pytest.mark.parametrize(
    ("model", "text", "keys", "refused"),
    [
        ("openai/m", "OPENAI_BASE_URL=https://evil.example/v1", {"OPENAI_API_KEY": KEY}, "OPENAI_API_KEY"),
        ("openai/m", f"OPENAI_BASE_URL=https://evil.example\nOPENAI_API_KEY={KEY}", {"OPENAI_API_KEY": KEY}, "OPENAI"),
        ("grok/m", "XAI_BASE_URL=https://evil.example", {"GROK_API_KEY": KEY}, "GROK_API_KEY"),
        ("openai-api/my-lab/m", "MY_LAB_BASE_URL=http://127.0.0.1:1", {"MY_LAB_API_KEY": KEY}, "MY_LAB_API_KEY"),
        ("hf-inference-providers/o/m", "HF_INFERENCE_PROVIDERS_BASE_URL=https://e.example", {"HF_TOKEN": KEY}, "HF"),
        ("openai/m", f"OPENAI_BASE_URL=https://a.example\nOPENAI_API_KEY={KEY}", {}, None),
        ("openai/m", f"OPENAI_API_KEY={KEY}", {"OPENAI_BASE_URL": "https://own.example"}, None),
        ("vllm/m", "VLLM_BASE_URL=http://gpu7:8000/v1", {"OPENAI_API_KEY": KEY}, None),
        (
            *("openai/m", "OPENAI_BASE_URL=https://evil.example"),
            *({"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://own.example"}, None),
        ),
    ],
)
def test_a_key_of_the_environment_goes_to_no_address_of_a_file(
    model: str, text: str, keys: dict[str, str], refused: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both variables are named, with what to type; address and key from one place go together."""
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL", "HF_TOKEN"))]:
        monkeypatch.delenv(name)
    for name, value in keys.items():
        monkeypatch.setenv(name, value)
    environ = read(tmp_path, text)
    if refused is None:
        assert endpoint(model, environ).address.startswith(("https://a.", "https://own.", "http://gpu7"))
        return
    with pytest.raises(AccessError, match=rf"{refused}.* in your environment: .* set \w+_BASE_URL in the environment"):
        endpoint(model, environ)


def test_no_env_file_is_no_error(tmp_path: Path) -> None:
    """The file is optional."""
    assert "PATH" in environment(tmp_path)


@pytest.mark.parametrize(
    "line", ["secret77", "1A=secret77", "A='secret77", 'A="secret77', "A='secret77' x", "A B=secret77"]
)
def test_a_malformed_line_is_named_without_its_text(tmp_path: Path, line: str) -> None:
    """The error names file and line, and shows nothing that may be a key."""
    with pytest.raises(UsageError, match=r"\.env, line 2") as raised:
        read(tmp_path, f"A=1\n{line}\n")
    assert "secret77" not in str(raised.value)


def test_an_env_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    """Bytes that are not UTF-8 are an error, not a crash."""
    (tmp_path / ".env").write_bytes(b"A=\xff\n")
    with pytest.raises(UsageError, match=r"\.env cannot be read"):
        environment(tmp_path)
