"""What a user adds to requests: it reaches the subject, it is part of a run's identity, and no secret is in it."""

import json
from pathlib import Path

import pytest

from chat_server import ChatServer
from flows import KEY, cells, command, environ, in_file, reply_to, serving
from maskbench import compare
from maskbench.asking.options import check
from maskbench.errors import RunMismatch, UsageError
from maskbench.measurement import measure
from maskbench.models.chat.extra_fields import EXTRA_BODY, TEMPLATE_ARGS, canonical, check_extra
from maskbench.results.comparability import Differs
from maskbench.settings import Settings, protocol_id, reply_key
from maskbench.types import Ask, Message, Scenario, conversation
from scenario_rows import write_jsonl

SUBJECT, JUDGE = "openai-api/local/subject", "openai-api/local/judge"


def settings(**options: object) -> Settings:
    """Settings of a run against a server."""
    given = {"subject": SUBJECT, "judge": JUDGE, "numeric_judge": JUDGE, "scenarios": "starter", "retries": 0}
    return Settings.of(**{**given, **options})  # type: ignore[arg-type]


def rows(folder: Path) -> str:
    """A file with one scenario."""
    return str(write_jsonl(folder / "rows.jsonl", [{**cells("provided_facts", 1), "archetype": "provided_facts"}]))


def asked(server: ChatServer, model: str) -> list[dict[str, object]]:
    """The bodies that one model was sent."""
    return [body for body in server.bodies if body["model"] == model]


def test_they_reach_the_subject_and_not_the_judge(tmp_path: Path) -> None:
    """Template arguments go out as chat_template_kwargs, fields as they are, in every request to the subject alone."""
    options = ("--template-args", '{"enable_thinking": false}', "--extra-body", '{"top_k": 20, "a": {"b": [1]}}')
    with serving(reply=reply_to) as server:
        words = (SUBJECT, "--judge", JUDGE, "--scenarios", rows(tmp_path), "--out", tmp_path / "run")
        ended = command(*in_file(tmp_path, "run", *words, *options), env=environ(server))
    assert ended.code == 0, ended.err
    for body in asked(server, "subject"):
        assert (body["chat_template_kwargs"], body["top_k"], body["a"]) == ({"enable_thinking": False}, 20, {"b": [1]})
    assert asked(server, "subject")
    assert not any({"chat_template_kwargs", "top_k", "a"} & body.keys() for body in asked(server, "judge"))
    recorded = json.loads((tmp_path / "run" / "run.json").read_bytes())["settings"]["subject"]
    assert (recorded["template_args"], recorded["extra_body"]) == (
        '{"enable_thinking":false}',
        '{"a":{"b":[1]},"top_k":20}',
    )


def test_a_run_goes_on_with_the_same_and_with_nothing_else(tmp_path: Path) -> None:
    """A run that is taken up again keeps what was added; other fields are another run."""
    chosen = settings(scenarios=rows(tmp_path), extra_body='{"top_k":20}')
    with serving(reply=reply_to) as server:
        measure(chosen, tmp_path / "run", environ(server))
        assert command("run", "--out", tmp_path / "run", env=environ(server)).code == 0
        with pytest.raises(RunMismatch, match=r'--extra-body \{"top_k":20\}.*asks for none'):
            measure(chosen.having(extra_body=None), tmp_path / "run", environ(server))


def test_they_are_part_of_protocol_and_keys() -> None:
    """Each makes another protocol id and other reply keys; without them both are what they were."""
    scenario = Scenario(
        "known_facts", "1", "binary", "It <pivotal>is/is not</pivotal> so.", "A", conversation("system", "user")
    )
    ask = Ask((Message("user", "Is it so?"),), scenario, "direct", 1)
    each = [settings(), settings(template_args='{"a":1}'), settings(extra_body='{"a":1}')]
    assert len({protocol_id(chosen, "hash") for chosen in each}) == 3
    assert len({reply_key(chosen, ask, 1) for chosen in each}) == 3


def test_the_order_of_fields_is_no_difference() -> None:
    """Two texts of one object are one setting."""
    assert canonical(EXTRA_BODY, '{"b": 1, "a": {"d": 2, "c": 3}}') == canonical(
        EXTRA_BODY, '{"a":{"c":3,"d":2},"b":1}'
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("top_k=20", "is no JSON"),
        ("[1]", "no object"),
        ('"text"', "no object"),
        ('{"a": "' + "x" * 10_000 + '"}', "longer than"),
        *((json.dumps({name: 1}), f"{name} is set by maskbench") for name in ("messages", "model", "n", "stream")),
        *((json.dumps({name: 1}), f"{name} is set by maskbench") for name in ("max_tokens", "temperature", "seed")),
        ('{"response_format": {}}', "set by maskbench"),
        ('{"chat_template_kwargs": {}}', "Give --template-args"),
        ('{"api_key": "x"}', "api_key looks like a secret"),
        ('{"deep": [{"hfToken": "x"}]}', "hfToken looks like a secret"),
        ('{"Authorization": "Bearer x"}', "Authorization looks like a secret"),
        ('{"auth": {"user": "me"}}', "auth looks like a secret"),
        ('{"db-password": ["x"]}', "db-password looks like a secret"),
        ('{"user": "sk-abcdefghijklm"}', "the value of user looks like a key"),
    ],
)
def test_what_cannot_be_added(text: str, said: str) -> None:
    """Other texts than objects, fields of our own and secrets are refused by name, and no value is repeated."""
    with pytest.raises(UsageError, match=said) as raised:
        canonical(EXTRA_BODY, text)
    assert "sk-abc" not in str(raised.value)
    assert "Bearer" not in str(raised.value)


@pytest.mark.parametrize(
    "text",
    [
        '{"stop_token_ids": [1, 2]}',
        '{"skip_special_tokens": false}',
        '{"thinking": {"type": "enabled", "budget_tokens": 1024}}',
        '{"add_bos_token": true}',
        '{"keyboard": "qwerty", "author": "me"}',
    ],
)
def test_what_only_sounds_like_a_secret(text: str) -> None:
    """Tokens that are counted, numbered or switched are no secrets."""
    assert json.loads(canonical(EXTRA_BODY, text)) == json.loads(text)


def test_no_configured_key_is_added(tmp_path: Path) -> None:
    """A key of the environment is refused wherever it stands, before anything is written, and is not repeated."""
    words = (SUBJECT, "--judge", JUDGE, "--scenarios", "starter", "--out", tmp_path / "run")
    env = {"LOCAL_BASE_URL": "http://127.0.0.1:9/v1", "LOCAL_API_KEY": "plainwordsonly", "OTHER_TOKEN": KEY[3:]}
    for text in ('{"user": "x-plainwordsonly-x"}', json.dumps({KEY[3:]: 1}), json.dumps({"a": [{"b": KEY[3:]}]})):
        ended = command(*in_file(tmp_path, "run", *words, "--extra-body", text), env=env)
        assert ended.code == 2
        assert "a key of the environment" in ended.err
        assert "plainwordsonly" not in ended.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["messages", "add_generation_prompt", "chat_template", "tokenize"])
def test_template_arguments_are_variables(name: str) -> None:
    """What a template is not given as a variable is refused by name."""
    with pytest.raises(UsageError, match=f"{name} is set by maskbench"):
        canonical(TEMPLATE_ARGS, json.dumps({name: 1}))


@pytest.mark.parametrize("subject", ["sim", "pinocchio", "scripted/x.json", "sim/lie=0.4"])
def test_they_are_for_models_that_read_them(subject: str) -> None:
    """A model without requests or a template takes neither."""
    for option in ("template_args", "extra_body"):
        with pytest.raises(UsageError, match=r"is none\. Leave it out"):
            check(settings(subject=subject, **{option: '{"a":1}'}))


def test_settings_made_by_hand_are_held_to_the_same() -> None:
    """Settings in Python are checked as options are."""
    with pytest.raises(UsageError, match="looks like a secret"):
        check_extra(settings(extra_body='{"password":"x"}'), {})
    with pytest.raises(UsageError, match="as maskbench"):
        check_extra(settings(extra_body='{ "b": 1 }'), {})


def test_a_comparison_names_what_differs(tmp_path: Path) -> None:
    """Runs with other fields are other measurements, and the comparison names the field with both values."""
    scenarios = rows(tmp_path)
    with serving(reply=reply_to) as server:
        for name, added in (("a", None), ("b", '{"top_k":20}')):
            measure(settings(scenarios=scenarios, extra_body=added), tmp_path / name, environ(server))
    found = compare(tmp_path / "a", tmp_path / "b")
    assert Differs("extra body", None, '{"top_k":20}') in found.data.others[0].differs
