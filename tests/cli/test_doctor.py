"""`maskbench doctor` names what a model can and cannot do, and without a model what there is to ask."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat_server import GARBAGE, HANG, Body, Rule, fail, plain, refuse
from flows import letter, number, serving, typed

KEY = "sk-doctor-0123456789abcdef"
NO_MODEL = {"error": {"message": "The model `m` does not exist.", "code": "model_not_found"}}
NO_MONEY = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
TOO_LONG = {"error": {"message": "This prompt is longer than the context of 512 tokens", "code": "too_long"}}
SUBJECT, JUDGE = "openai-api/doctor/m", "openai-api/doctor/j"


@pytest.fixture(autouse=True)
def _wide(monkeypatch: pytest.MonkeyPatch) -> None:
    """No line of a table is broken."""
    monkeypatch.setenv("COLUMNS", "400")


def answers(body: Body) -> Any:
    """What an able judge and subject say: the right verdict on both of the judge's questions."""
    shape = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    if "lower_bound" in shape:
        return number(2000)
    return letter("A") if "verdict" in shape else f"{plain(body)} Drawn by {body.get('seed', 'chance')}."


def examined(
    monkeypatch: pytest.MonkeyPatch, rules: list[Rule], *more: str, **server: Any
) -> tuple[int, str, str, int]:
    """Exit code, stdout, stderr and the server's requests of a doctor's visit."""
    with serving(rules=rules, **{"reply": answers, **server}) as running:
        monkeypatch.setenv("DOCTOR_BASE_URL", running.base_url)
        monkeypatch.setenv("DOCTOR_API_KEY", KEY)
        ended = typed("doctor", SUBJECT, *more)
        return ended.code, ended.out, ended.err, running.requests


def findings_of(
    monkeypatch: pytest.MonkeyPatch, rules: list[Rule], *more: str, **server: Any
) -> tuple[int, dict[str, Any]]:
    """Exit code and findings by part and name."""
    code, out, _, _ = examined(monkeypatch, rules, *more, "--json", **server)
    data = orjson.loads(out)
    return code, {f"{model['part']} {each['what']}": each for model in data["models"] for each in model["findings"]}


def test_an_able_model_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each ability is there, the calls are told beforehand, and no more are made."""
    code, out, err, requests = examined(monkeypatch, [], "--judge", JUDGE)
    assert (code, requests) == (0, 7)
    assert err.startswith("8 calls: 5 of openai-api/doctor/m and 3 of openai-api/doctor/j, with about ")
    assert "A run would go through" in out
    lines = [line.split() for line in out.splitlines()]
    for what in ("answers", "context", "seed", "temperature", "usage"):
        assert [what, "yes"] in [line[:2] for line in lines]
    assert out.count("It gave the right verdict on a plain reply") == 2
    assert KEY not in out + err


def test_a_server_that_answers_alike_tells_nothing_of_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the same words come without a seed, too, equal answers prove nothing, and --send-seed is not proposed."""
    _, out, err, _ = examined(monkeypatch, [], reply="It is so.")
    (line,) = [line for line in out.splitlines() if line.split()[:1] == ["seed"]]
    assert line.split()[1] == "unknown"
    assert "cannot be told" in line
    assert "--send-seed" not in out
    assert "no answer in 120 s (--timeout) is tried once more" in " ".join(err.split())


REFUSED = [
    ("n", "subject samples (n)", "differently"),
    ("temperature", "subject temperature", "differently"),
    ("seed", "subject seed", "no"),
    ("response_format", "judge response schema", "differently"),
    ("logprobs", "judge probabilities", "no"),
]


@pytest.mark.parametrize(("parameter", "what", "works"), REFUSED)
def test_each_ability_that_is_switched_off_is_named(
    monkeypatch: pytest.MonkeyPatch, parameter: str, what: str, works: str
) -> None:
    """What a server refuses is found, and everything else still works."""
    _, findings = findings_of(monkeypatch, [refuse(parameter)], "--judge", JUDGE)
    assert findings[what]["works"] == works
    others = {"subject answers", "subject temperature", "subject samples (n)", "subject usage"} - {what}
    assert {findings[name]["works"] for name in others} == {"yes"}


def test_a_server_without_a_system_role(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system text goes elsewhere, and the finding says where."""
    rules = [refuse("system", "This model does not support system messages")]
    code, findings = findings_of(monkeypatch, rules)
    assert (code, findings["subject system role"]["works"]) == (0, "differently")
    assert "before the first user message" in findings["subject system role"]["says"]


FAULTS: list[tuple[str, list[Rule], str, str]] = [
    ("a wrong key", [fail(401)], "access", "refuses access .* Check DOCTOR_API_KEY and its account"),
    ("a wrong name", [fail(404, content=NO_MODEL)], "access", "knows no such model .* Check the name"),
    ("no money", [fail(429, content=NO_MONEY)], "access", "exceeded your current quota.* its account"),
    ("a rate limit", [fail(429, {"Retry-After": "0"})], "answers", "rate or quota is used up"),
    ("no answer", [HANG], "answers", "No answer came in time"),
    ("another protocol", [GARBAGE], "answers", "no answer of this protocol. Check the address"),
    ("a short context", [fail(400, content=TOO_LONG)], "answers", "longer context"),
]


@pytest.mark.parametrize(("fault", "rules", "what", "words"), FAULTS, ids=[fault for fault, *_ in FAULTS])
def test_a_planted_fault_is_named_with_its_remedy(
    monkeypatch: pytest.MonkeyPatch, fault: str, rules: list[Rule], what: str, words: str
) -> None:
    """A fault is one sentence with the remedy, the exit code says that a run would fail, and little was asked."""
    code, out, err, requests = examined(monkeypatch, rules, "--timeout", "0.3", "--json")
    (model,) = orjson.loads(out)["models"]
    assert code == 1
    (finding,) = model["findings"]
    assert (finding["what"], finding["works"], finding["stops"]) == (what, "no", True)
    assert re.search(words, finding["says"])
    assert requests <= 2
    assert KEY not in out + err


def test_a_server_that_is_down(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing answers: the finding names the variable of the address."""
    monkeypatch.setenv("DOCTOR_BASE_URL", "http://127.0.0.1:9/v1")
    ended = typed("doctor", SUBJECT)
    assert ended.code == 1
    assert "nothing answers at http://127.0.0.1:9/v1" in ended.out
    assert "Check DOCTOR_BASE_URL" in ended.out.replace("your own network, and ", "")


def test_a_missing_key_is_found_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The finding names the variable, and no request went out."""
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    ended = typed("doctor", "mistral/some-model")
    assert ended.code == 1
    assert "set MISTRAL_API_KEY in the environment" in ended.out
    assert "It took 0 requests." in ended.out


def test_reasoning_a_cache_and_another_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """Thinking, what a cache held, and an answer under another name are found."""
    usage = {"prompt_tokens": 50, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 40}}
    reply = {"content": "It is so.", "reasoning_content": "hm"}
    _, findings = findings_of(monkeypatch, [], reply=reply, usage=usage)
    assert findings["subject reasoning"]["works"] == "yes"
    assert "--reasoning" not in findings["subject reasoning"]["type"]
    assert findings["subject prompt cache"]["works"] == "yes"
    assert "tokens)" in findings["subject prompt cache"]["says"]


def test_a_server_that_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without counts the finding names the limits that cannot hold."""
    _, findings = findings_of(monkeypatch, [], usage={})
    assert findings["subject usage"]["works"] == "no"
    assert "--max-cost" in findings["subject usage"]["says"]


def test_a_judge_that_cannot_keep_to_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that holds no verdict is quoted harmlessly, and the exit code says that a run would fail."""
    code, out, _, _ = examined(monkeypatch, [], "--judge", JUDGE, reply="I would \x1b[31mrather not.")
    assert code == 1
    assert "No verdict can be read in what it said" in out
    assert "\x1b[31m" not in out


def test_a_judge_that_is_wrong_is_sent_to_its_exam(monkeypatch: pytest.MonkeyPatch) -> None:
    """A readable and wrong verdict is called so, and the finding says what to type."""
    code, findings = findings_of(monkeypatch, [], "--judge", JUDGE, reply=lambda body: letter("D"))
    assert findings["judge verdict on options"]["works"] == "wrong"
    assert findings["judge verdict on options"]["type"] == f"maskbench exam {JUDGE} --short"
    assert code == 1  # it gives no numbers either


def test_a_judge_that_is_wrong_is_told_last(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing fails and a verdict is wrong, the last line says so in place of "would go through"."""

    def mistaken(body: Body) -> Any:
        right = answers(body)
        return letter("B") if right == letter("A") else right

    code, out, _, _ = examined(monkeypatch, [], "--judge", JUDGE, reply=mistaken)
    assert code == 1
    assert "WRONG" in out
    assert "would go through" not in out
    assert out.rstrip().endswith("the judge is WRONG on a plain reply. Take its exam first.")


def test_a_dry_run_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is printed with its calls, and no request goes out."""
    code, out, _, requests = examined(monkeypatch, [], "--judge", JUDGE, "--dry-run")
    assert (code, requests) == (0, 0)
    assert out.startswith("8 calls: ")


def test_models_without_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packaged model and its judge pass, and no finding speaks of what only endpoints have."""
    ended = typed("doctor", "pinocchio", "--judge", "rules/sandbox", "--json")
    data = orjson.loads(ended.out)
    assert (ended.code, data["passes"]) == (0, True)
    assert {each["what"] for each in data["models"][0]["findings"]} == {"answers", "context", "reasoning"}


def test_a_name_that_is_none_is_wrong_usage() -> None:
    """A name of no form is refused as everywhere, with exit code 2."""
    assert typed("doctor", "gpt-4o").code == 2


# The list


def test_the_list_says_what_is_set_and_never_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable is shown as set or not; a key, an address and a hostile name reach neither text nor JSON."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    monkeypatch.setenv("MINE_BASE_URL", "http://secret-host:1/v1")
    monkeypatch.setenv("EVIL\x1b[31m_BASE_URL", "http://evil")
    text, data = typed("doctor"), typed("doctor", "--json")
    for out in (text.out, data.out):
        assert KEY not in out
        assert "secret-host" not in out
        assert "evil" not in out.lower()
    models = {each["name"]: each for each in json.loads(data.out)["models"]}
    assert models["openai/NAME"]["ready"]
    assert not models["mistral/NAME"]["ready"]
    assert models["openai-api/mine/NAME"]["variables"][0] == {"name": "MINE_BASE_URL", "is_set": True, "needed": True}
    assert "OPENAI_API_KEY* set" in text.out
    assert "MISTRAL_API_KEY* not set" in text.out


def test_the_list_has_every_service_and_kind() -> None:
    """Nothing that can be asked is missing, a row of either table that is added among it."""
    from maskbench.models.chat.services import SERVICES
    from maskbench.models.names import KINDS

    names = {each["name"].partition("/")[0] for each in json.loads(typed("doctor", "--json").out)["models"]}
    assert set(SERVICES) | (set(KINDS) - {"sim-judge"}) <= names


def test_the_list_fits_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """In 80 columns no line is longer."""
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, typed("doctor").out.splitlines())) <= 80


def test_the_page_shows_what_the_command_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    """The visit in docs/models.md is the one that 80 columns have, seconds and the spaces at line ends apart."""
    monkeypatch.setenv("COLUMNS", "80")
    page = (Path(__file__).parents[2] / "docs" / "models.md").read_text(encoding="utf-8")
    shown = page.split("<!-- maskbench doctor pinocchio --judge rules/sandbox -->\n```console\n")[1].split("```")[0]
    printed = typed("doctor", "pinocchio", "--judge", "rules/sandbox").out
    lines = [[re.sub(r"\d+\.\d s", "0.0 s", line.rstrip()) for line in text.splitlines()] for text in (shown, printed)]
    assert [line for line in lines[0] if line] == [line for line in lines[1] if line]


def test_the_help_has_the_doctors_own_patience() -> None:
    """A doctor waits less long than a run, and the help says how long."""
    from maskbench.judges.doctoring import PATIENT, doctor_settings

    assert doctor_settings("sim", None, "starter").pace.timeout == PATIENT
    assert f"[default: {PATIENT}]" in typed("doctor", "--help").out


def test_the_list_takes_no_option_of_a_model() -> None:
    """What is asked of one model is refused where none is named."""
    for words in (("--judge", "sim-judge"), ("--dry-run",), ("--timeout", "3")):
        ended = typed("doctor", *words)
        assert (ended.code, f"{words[0]} is for one model." in ended.err) == (2, True)
