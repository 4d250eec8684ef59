"""`maskbench doctor` names what a model can and cannot do, and without a model what there is to ask."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat_server import GARBAGE, HANG, Answer, Body, Rule, fail, plain, refuse
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
    """What an able judge and subject say: the right verdict on each of the judge's questions, or the word."""
    shape = body.get("response_format", {}).get("json_schema", {}).get("schema", {}).get("properties", {})
    text = " ".join(turn["content"] for turn in body["messages"])
    if "lower_bound" in shape:
        return number(2000)
    if "verdict" in shape:
        return letter("A" if "A: Laboratory-grown diamonds are made" in text else "B")
    return "Cormorant." if "Which word did the first line" in text else plain(body)


def cutting(body: Body) -> Any:
    """The same of a server that reads the last 8,200 characters, and neither says nor counts it."""
    is_long = sum(len(turn["content"]) for turn in body["messages"]) > 8200
    return "A boat." if is_long else answers(body)


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
    """Four calls of each model are told beforehand, no more are made, and what came stands with each."""
    code, out, err, requests = examined(monkeypatch, [], "--judge", JUDGE)
    assert (code, requests) == (0, 7)  # two samples are one request
    assert err.startswith("8 calls are planned: 4 of openai-api/doctor/m and 4 of openai-api/doctor/j, with about ")
    assert "no answer in 120 s (--timeout)" in " ".join(err.split())
    assert "A run would go through" in out
    assert out.count("It knows the word at the front of 2") == 2
    assert "It gave A, which is right." in out
    assert "It gave B, which is right." in out
    assert out.count(" yes ") == 7
    assert KEY not in out + err


@pytest.mark.parametrize("name", ["openai-api/doctor/m", "ollama/m"])
def test_a_server_that_cuts_long_prompts_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The word at the front is gone: the finding says so, with what to type where that is known, and exit code 1."""
    with serving(reply=cutting) as running:
        monkeypatch.setenv("DOCTOR_BASE_URL", running.base_url)
        monkeypatch.setenv("OLLAMA_BASE_URL", running.base_url)
        ended = typed("doctor", name, "--json")
    (model,) = orjson.loads(ended.out)["models"]
    assert ended.code == 1
    assert [each["works"] for each in model["findings"]] == ["yes", "yes", "wrong"]
    assert "seems to cut the front off" in model["findings"][-1]["says"]
    assert ("OLLAMA_CONTEXT_LENGTH" in model["findings"][-1]["type"]) == name.startswith("ollama")


def test_a_server_that_counts_what_it_cut_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A failure that the client itself finds is the same finding, whatever the answer was."""
    usage = {"prompt_tokens": 120, "completion_tokens": 9}
    code, findings = findings_of(monkeypatch, [], usage=usage)
    assert (code, findings["subject long prompt"]["works"]) == (1, "wrong")
    assert "120 tokens counted" in findings["subject long prompt"]["says"]


def test_a_long_prompt_that_is_refused_stops_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that says that it does not fit cuts nothing, and the prompts of the set fit."""

    def short(body: Body) -> Answer | None:
        is_long = sum(len(turn["content"]) for turn in body["messages"]) > 8200
        return Answer(400, TOO_LONG) if is_long else None

    code, findings = findings_of(monkeypatch, [short])
    assert (code, findings["subject long prompt"]["works"]) == (0, "differently")
    assert findings["subject longest of the set"]["works"] == "yes"


def test_what_a_run_does_without_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server refuses is a line below the calls, and every call still works."""
    for parameter, words in (
        ("n", "asked one by one"),
        ("temperature", "refuses temperature"),
        ("system", "the system role"),
    ):
        message = "This model does not support system messages" if parameter == "system" else None
        code, out, _, _ = examined(monkeypatch, [refuse(parameter, message)])
        assert (code, words in out) == (0, True), out


FAULTS: list[tuple[str, list[Rule], str, str]] = [
    ("a wrong key", [fail(401)], "access", "refuses access .* Check DOCTOR_API_KEY and its account"),
    ("a wrong name", [fail(404, content=NO_MODEL)], "access", "knows no such model .* Check the name"),
    ("no money", [fail(429, content=NO_MONEY)], "access", "exceeded your current quota.* its account"),
    ("a rate limit", [fail(429, {"Retry-After": "0"})], "question", "rate or quota is used up"),
    ("no answer", [HANG], "question", "No answer came in time"),
    ("another protocol", [GARBAGE], "question", "no answer of this protocol. Check the address"),
    ("a short context", [fail(400, content=TOO_LONG)], "question", "longer context"),
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
    assert (finding["what"], finding["works"]) == (what, "no")
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
    assert "It was not asked." in ended.out


def test_a_server_that_thinks_and_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The room that thinking gets, and the limits that cannot hold without counts, are told."""
    reply = {"content": "It is a cormorant.", "reasoning_content": "hm"}
    _, out, _, _ = examined(monkeypatch, [], reply=reply, usage={})
    assert "16,000 tokens of room are added" in out
    assert "It counts no tokens: --max-cost and --max-tokens-total cannot hold." in out


def test_a_judge_that_cannot_keep_to_the_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that holds no verdict is quoted harmlessly, and the exit code says that a run would fail."""
    code, out, _, _ = examined(monkeypatch, [], "--judge", JUDGE, reply="I would \x1b[31mrather not.")
    assert code == 1
    assert "No verdict is in what it said" in out
    assert "\x1b[31m" not in out


def test_a_judge_that_is_wrong_is_sent_to_its_exam(monkeypatch: pytest.MonkeyPatch) -> None:
    """A readable and wrong verdict is called so, and the finding says what to type."""
    code, findings = findings_of(monkeypatch, [], "--judge", JUDGE, reply=lambda body: letter("D"))
    assert findings["judge verdict on A"]["works"] == "wrong"
    assert findings["judge verdict on A"]["type"] == f"maskbench exam {JUDGE} --short"
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
    assert out.rstrip().endswith("its figure would mean nothing. Mend what says WRONG first.")


def test_a_dry_run_asks_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The plan is printed with its calls, and no request goes out."""
    code, out, _, requests = examined(monkeypatch, [], "--judge", JUDGE, "--dry-run")
    assert (code, requests) == (0, 0)
    assert out.startswith("8 calls are planned: ")


def test_models_without_an_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    """The packaged model and its judge pass, and are not asked for a word."""
    ended = typed("doctor", "pinocchio", "--judge", "rules/sandbox", "--json")
    data = orjson.loads(ended.out)
    assert (ended.code, data["passes"]) == (0, True)
    assert [each["what"] for each in data["models"][0]["findings"]] == ["question", "longest of the set"]


def test_a_name_that_is_none_is_wrong_usage() -> None:
    """A name of no form is refused as everywhere, with exit code 2."""
    assert typed("doctor", "gpt-4o").code == 2


# The list


def test_the_list_says_what_is_set_and_never_its_value(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is shown as set or not; its value reaches neither text nor JSON."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    text, data = typed("doctor"), typed("doctor", "--json")
    assert KEY not in text.out + data.out
    models = {each["name"]: each for each in json.loads(data.out)["models"]}
    assert (models["openai/NAME"]["keys"], models["openai/NAME"]["is_set"]) == (["OPENAI_API_KEY"], True)
    assert models["mistral/NAME"]["is_set"] is False
    assert models["vllm/NAME"]["is_set"] is None
    lines = [" ".join(line.split()) for line in text.out.splitlines()]
    assert "openai/NAME set OPENAI_API_KEY" in lines
    assert "mistral/NAME not set MISTRAL_API_KEY" in lines
    assert "vllm/NAME – http://127.0.0.1:8000, or set VLLM_BASE_URL" in lines


def test_the_list_has_every_service_and_kind() -> None:
    """Nothing that can be asked is missing, a row of either table that is added among it."""
    from maskbench.models.chat.services import SERVICES
    from maskbench.models.names import KINDS

    names = {each["name"].partition("/")[0] for each in json.loads(typed("doctor", "--json").out)["models"]}
    assert set(SERVICES) | (set(KINDS) - {"sim-judge", "nobody"}) <= names


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
    from maskbench.asking.judging.doctoring import PATIENT, doctor_settings

    assert doctor_settings("sim", None, "starter").pace.timeout == PATIENT
    assert f"[default: {PATIENT}]" in typed("doctor", "--help").out


def test_the_list_takes_no_option_of_a_model() -> None:
    """What is asked of one model is refused where none is named."""
    for words in (("--judge", "sim-judge"), ("--dry-run",), ("--timeout", "3")):
        ended = typed("doctor", *words)
        assert (ended.code, f"{words[0]} is for one model." in ended.err) == (2, True)
