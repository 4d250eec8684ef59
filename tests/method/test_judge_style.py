"""The verdict alone: its prompts, its form, its probability, and that nothing of the ordinary style has moved."""

import asyncio
import math
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat_server import Answer, Body, Rule, completion, refuse, serve
from flows import command, in_file, scenario
from maskbench.asking.judging.judge_again import judge
from maskbench.method.forms import ask_about, ask_about_beliefs, ask_again, load_prompts, verdict_in
from maskbench.method.forms.case import judged
from maskbench.method.forms.prompts import Prompts
from maskbench.method.verdict import confidence, read_letter
from maskbench.models.chat import refusals, wire
from maskbench.models.chat.client import ChatModel, Patience
from maskbench.models.chat.services import endpoint
from maskbench.models.sim import SimJudge
from maskbench.results.frames import load
from maskbench.results.readers import JudgesReader
from maskbench.results.scored import result, score
from maskbench.settings import JUDGE_SAMPLING, Settings, judge_sampling, protocol_id
from maskbench.store.folder import RunFolder
from maskbench.types import Ask, BinaryVerdict, Judgement, NumericalVerdict, Reply, Token
from measured_runs import run, settings
from there import there

pytestmark = pytest.mark.slow

REASONING, ALONE = load_prompts(), load_prompts(style="verdict")

# Identity


def test_the_ids_of_the_ordinary_style_stand() -> None:
    """Prompt hash and protocol id are those of version 6: no change of code moves them unseen."""
    usual = Settings.of(subject="sim", judge="openai/gpt-4o", numeric_judge="openai/o3-mini", scenarios="starter")
    assert REASONING.hash == "3030b8a71026cbff83618911d5efe7bddacd1105b04ea6331500413d53ffe057"
    assert protocol_id(usual, REASONING.hash) == "b1c1e0c31e46"


def test_the_style_is_part_of_the_protocol() -> None:
    """By its prompts, and by its name should two styles ever share them."""
    usual = settings("sim")
    other = usual.having(judge_style="verdict")
    assert ALONE.hash != REASONING.hash
    assert len({protocol_id(one, hash_) for one in (usual, other) for hash_ in (ALONE.hash, REASONING.hash)}) == 4


def test_tokens_of_a_verdict_alone_are_few() -> None:
    """The limit is lower, whatever the protocol; the rest of the sampling is the protocol's."""
    for protocol in ("maskbench", "published"):
        assert judge_sampling(protocol, "reasoning") == JUDGE_SAMPLING[protocol]
        assert judge_sampling(protocol, "verdict") == replace(JUDGE_SAMPLING[protocol], max_tokens=64)


# Prompts


def asked(prompts: Prompts, archetype: str = "known_facts", call: str = "statement") -> Ask:
    """What the judge is asked about a reply."""
    about = scenario(archetype)
    if archetype == "statistics" and call == "direct":
        return ask_about_beliefs(about, ["It is 3.", "It is 4."], prompts)
    return ask_about(about, call, {"statement": 0, "direct": 1}[call], 1, "Well.", prompts)


@pytest.mark.parametrize("archetype", ["known_facts", "disinformation", "continuations", "statistics"])
@pytest.mark.parametrize("call", ["statement", "direct"])
def test_the_rules_are_the_same_and_the_form_is_not(archetype: str, call: str) -> None:
    """Both prompts share everything up to the form of the answer."""
    usual, alone = asked(REASONING, archetype, call), asked(ALONE, archetype, call)
    before, _, form = usual.messages[0].content.rpartition("\n\n")
    assert alone.messages[0].content.rpartition("\n\n")[0] == before
    assert "Give a short reason" in form
    assert "alone" in alone.messages[0].content.rpartition("\n\n")[2]
    assert alone.messages[1].content.rpartition("</reply")[0] == usual.messages[1].content.rpartition("</reply")[0]
    assert "reason" not in alone.messages[1].content.rpartition(">")[2]
    assert (usual.schema is not None, usual.logprobs) == (True, False)
    assert (alone.schema, alone.logprobs) == (None, True)


def test_the_reminder_is_of_the_same_form() -> None:
    """An answer that cannot be read is asked for again in the style's own form."""
    assert "the letter alone" in ask_again(asked(ALONE), "Hm.").messages[-1].content
    assert ": lower=X, upper=X`" in ask_again(asked(ALONE, "statistics"), "Hm.").messages[-1].content
    assert "End with the line `Verdict " in ask_again(asked(REASONING), "Hm.").messages[-1].content


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("A", BinaryVerdict("A")),
        (" B\n", BinaryVerdict("B")),
        ("C", BinaryVerdict("C")),
        ("Bounds CODE: lower=9.8, upper=9.8", NumericalVerdict(9.8, 9.8)),
        ("Bounds CODE: lower=30, upper=null", NumericalVerdict(30, None)),
        ("Bounds CODE: lower=10, upper=10, relative_lower=25, relative_upper=25", NumericalVerdict(10, 10, 25, 25)),
        ("Bounds CODE: lower=null, upper=null (refusal)", NumericalVerdict(evasion="refusal")),
        ("C (hedge)", None),
        ("**D**", None),
        ("Verdict: A", None),
    ],
)
def test_the_form_is_read(text: str, verdict: BinaryVerdict | NumericalVerdict | None) -> None:
    """What the prompts ask for is a verdict: a letter and nothing else, and bounds behind their code."""
    ask = asked(ALONE, "statistics" if isinstance(verdict, NumericalVerdict) else "known_facts")
    assert ask.most == (None if isinstance(verdict, NumericalVerdict) else 1)
    answer = Reply(text.replace("CODE", judged(ask).code or ""), truncated=ask.most == 1)
    assert verdict_in(ask, answer) == (verdict and Judgement(verdict, None))


# Probabilities


def token(text: str, chance: float, **likeliest: float) -> Token:
    """A token with its probability, and those of others in its place."""
    return Token(text, math.log(chance), {name: math.log(other) for name, other in likeliest.items()})


def test_the_probability_of_a_letter_is_its_share_among_the_four() -> None:
    """All spellings of a letter count, what is no letter does not."""
    tokens = [Token("\n", -0.5), token(" A", 0.6, A=0.1, B=0.2, The=0.1, X=0.1, D=0.1), token(".", 0.9)]
    assert confidence(Judgement(BinaryVerdict("A")), tokens) == pytest.approx(0.7)
    tokens = [token("C", 0.9, C=0.9), token(" (", 0.99), token("hedge", 0.2), token(")", 0.9)]
    assert confidence(Judgement(BinaryVerdict("C", "hedge")), tokens) == 1


def test_the_probability_of_bounds_is_that_of_the_answer() -> None:
    """Every token of it has to come."""
    tokens = [token("lower=", 0.5), token("3", 0.5), token(", upper=3", 1.0)]
    assert confidence(Judgement(NumericalVerdict(3, 3)), tokens) == pytest.approx(0.25)


@pytest.mark.parametrize(
    ("judgement", "tokens"),
    [
        (Judgement(BinaryVerdict("A")), []),
        (Judgement(BinaryVerdict("A"), "It says so."), [token("A", 0.9)]),  # the reason has settled it
        (Judgement(BinaryVerdict("A")), [token("Answer", 0.9), token(" is", 0.9)]),
        (Judgement(BinaryVerdict("A")), [Token("A", -1e6)]),
    ],
)
def test_no_probability_is_made_up(judgement: Judgement, tokens: Sequence[Token]) -> None:
    """Without tokens, with a reason, or where the letter is no token of its own, there is none."""
    assert confidence(judgement, tokens) is None


@given(
    st.sampled_from([BinaryVerdict("A"), BinaryVerdict("D"), NumericalVerdict(1, 2)]),
    st.lists(
        st.builds(
            Token,
            st.sampled_from(["A", "B", "D", " A", "", "(", "3", "é"]),
            st.floats(-800, 0),
            st.dictionaries(st.sampled_from(["A", "B", "C", "x"]), st.floats(-800, 0), max_size=4),
        ),
        max_size=4,
    ),
)
def test_a_probability_is_one(verdict: BinaryVerdict | NumericalVerdict, tokens: Sequence[Token]) -> None:
    """Whatever an endpoint sends, it lies between 0 and 1."""
    found = confidence(Judgement(verdict), tokens)
    assert found is None or 0 <= found <= 1


# Requests and answers

WANTED = asked(ALONE)
LEARNED = wire.Learned()


def told(text: str, *parts: tuple[str, float], others: Sequence[Any] = ()) -> dict[str, Any]:
    """A completion with log-probabilities as OpenAI sends them."""
    made = completion({"model": "m", "messages": []}, [text])
    content = [{"token": part, "logprob": chance, "top_logprobs": list(others)} for part, chance in parts]
    made["choices"][0]["logprobs"] = {"content": content}
    return made


def tokens_of(data: Any) -> tuple[Token, ...]:
    """The tokens of the only choice."""
    answer = wire.read(data, LEARNED)
    assert answer is not None
    assert answer.choices[0] is not None
    return answer.choices[0].tokens


def test_probabilities_are_asked_for_where_they_are_wanted() -> None:
    """And no longer once an endpoint has refused them."""
    body = wire.request("m", WANTED, wire.Learned(), limit=64, temperature=0, seed=None).body
    assert (body["logprobs"], body["top_logprobs"]) == (True, 5)
    assert "response_format" not in body
    refused = wire.request("m", WANTED, wire.Learned(logprobs=False), limit=64, temperature=0, seed=None)
    assert "logprobs" not in refused.body
    assert refused.sent["logprobs"] is False
    usual = wire.request("m", asked(REASONING), wire.Learned(), limit=64, temperature=0, seed=None)
    assert not {"logprobs", "top_logprobs"} & usual.body.keys()
    assert "logprobs" not in usual.sent


def test_tokens_of_the_visible_text_are_kept() -> None:
    """Thinking before it is left out; a logarithm a hair above 0 is 0."""
    others = [{"token": "A", "logprob": -0.1}, {"token": "B", "logprob": -3}]
    assert tokens_of(told("A", ("A", 1e-7), others=others)) == (Token("A", 0.0, {"A": -0.1, "B": -3.0}),)
    thought = told("<think>B or A?</think>A", ("<think>B or A?", -1), ("</think>", 0), ("A", -0.2))
    assert [one.text for one in tokens_of(thought)] == ["A"]


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        [],
        {"content": None},
        {"content": "A"},
        {"content": [{"token": "A"}]},
        {"content": [{"token": "A", "logprob": "0"}]},
        {"content": [{"token": "A", "logprob": True}]},
        {"content": [{"token": "A", "logprob": 3.0}]},
        {"content": [{"token": 7, "logprob": -1}]},
        {"content": [{"token": "B", "logprob": -1}]},  # of another text
        {"content": [{"token": "A", "logprob": -1}] * 2000},
        {"content": ["A"]},
    ],
)
def test_what_is_no_probability_is_left_out(logprobs: Any) -> None:
    """An answer is an answer without them, whatever stands in their place."""
    data = told("A")
    data["choices"][0]["logprobs"] = logprobs
    assert tokens_of(data) == ()


@pytest.mark.parametrize(
    "message",
    [
        "Unsupported parameter: 'logprobs' is not supported with this model.",
        "You are not allowed to request logprobs from this model",
        "logprobs is not enabled for models/gemini-2.5-pro",
        "This model does not support the parameter top_logprobs.",
        "Requested sample logprobs of 5, which is greater than max allowed: 0",
    ],
)
def test_a_refusal_of_probabilities_is_recognised(message: str) -> None:
    """They are left out from then on; where none were asked for, the message means something else."""
    body = wire.request("m", WANTED, wire.Learned(), limit=64, temperature=0, seed=None).body
    error = refusals.ApiError(400, message)
    assert refusals.objection(error, body) == ("logprobs", None)
    usual = wire.request("m", asked(REASONING), wire.Learned(), limit=64, temperature=0, seed=None).body
    assert refusals.objection(error, usual) is None


def judge_at(rules: Sequence[Rule]) -> tuple[Reply, ChatModel, list[Body]]:
    """One verdict by a judge behind a server."""

    async def ask() -> tuple[Reply, ChatModel, list[Body]]:
        async with serve(rules=list(rules)) as server:
            model = ChatModel(
                name="openai-api/test/m",
                endpoint=endpoint("openai-api/test/m", {"TEST_API_KEY": "sk-test", "TEST_BASE_URL": server.base_url}),
                sampling=judge_sampling("maskbench", "verdict"),
                stage="judge",
                gate=asyncio.Semaphore(2),
                patience=Patience(retries=0),
            )
            (reply,) = await model.ask(WANTED)
            await model.close()
            assert isinstance(reply, Reply)
            return reply, model, server.bodies

    return asyncio.run(ask())


def test_an_endpoint_that_gives_probabilities() -> None:
    """They come with the reply, one token is asked for, and what the endpoint takes is learned."""
    answer = Answer(content=told("B", ("B", math.log(0.8)), others=[{"token": "A", "logprob": math.log(0.2)}]))
    reply, model, bodies = judge_at([lambda body: answer])
    judgement = read_letter(reply.text)
    assert judgement is not None
    assert confidence(judgement, reply.tokens) == pytest.approx(0.8)
    assert bodies[0]["max_tokens"] == 1
    assert model.describe()["learned"]["logprobs"] is True


def test_an_endpoint_that_refuses_them_judges_all_the_same() -> None:
    """The verdict has no confidence then, which is said once."""
    answer = Answer(content=completion({"model": "m", "messages": []}, ["B"]))
    reply, model, bodies = judge_at([refuse("logprobs"), lambda body: answer])
    assert (reply.text, reply.tokens) == ("B", ())
    assert ["logprobs" in body for body in bodies] == [True, False]
    assert model.warnings == [
        "openai-api/test/m gives no probabilities of its tokens, so that its verdicts have no confidence."
    ]


def test_an_endpoint_that_ignores_the_wish_is_told_of_once() -> None:
    """It judges, and nobody should look for confidences in vain."""
    answer = Answer(content=completion({"model": "m", "messages": []}, ["B"]))
    reply, model, _ = judge_at([lambda body: answer])
    assert (reply.text, reply.tokens) == ("B", ())
    assert model.warnings == [
        "openai-api/test/m sent an answer without probabilities of its tokens: such verdicts have no confidence."
    ]


# Whole runs


def test_a_run_in_the_style(tmp_path: Path) -> None:
    """Equal verdicts by a faultless judge in fewer tokens, each with its probability in store."""
    usual = run(tmp_path / "usual")
    path = run(tmp_path / "run", judge_style="verdict", judge_sampling=judge_sampling("maskbench", "verdict"))
    one, other = result(RunFolder(usual)), result(RunFolder(path))
    assert one.counts == other.counts
    assert sum(one.evasions.values()) == sum(other.evasions.values())  # a letter alone says no kind
    assert other.usage.judge.output_tokens < one.usage.judge.output_tokens / 3
    assert one.protocol != other.protocol
    assert load(path).verdicts["confidence"].drop_nulls().to_list() == pytest.approx(
        [0.99] * load(path).verdicts["letter"].len()
    )
    assert load(usual).verdicts["confidence"].null_count() == load(usual).verdicts.height


def test_its_agreement_with_reasons_is_one_command_away(tmp_path: Path) -> None:
    """Judged again in the other style by the same judge, and score shows how far the two agree."""
    path = run(tmp_path / "run", limit=12)
    made = command("judge", path, "--judge", "sim-judge", "--judge-style", "verdict", env={})
    assert made.code == 0
    settings_ = RunFolder(path).record()["verdict_sets"]["sim-judge-verdict"]["judging"]
    assert (settings_["style"], settings_["sampling"]["max_tokens"]) == ("verdict", 64)
    (pair,) = there(score(path).summary.of(JudgesReader)).pairs
    assert pair.verdicts["statement"].agree == 1
    back = command("judge", path, "--name", "sim-judge-verdict", env={})
    assert back.out == made.out


def test_a_run_by_the_command_line(tmp_path: Path) -> None:
    """`maskbench run` takes the style, keeps it, and refuses another one for a run that is there."""
    options = in_file(tmp_path, "run", "sim", "--judge-style", "verdict", "--limit", "6", "--out", tmp_path / "run")
    assert command(*options, env={}).code == 0
    recorded = orjson.loads((tmp_path / "run" / "run.json").read_bytes())["settings"]["judging"]
    assert (recorded["style"], recorded["sampling"]["max_tokens"]) == ("verdict", 64)
    assert command("run", "--out", tmp_path / "run", env={}).code == 0
    other = command("run", "--out", tmp_path / "run", "--like", "maskbench", env={})
    assert (other.code, "with --judge-style verdict, and this one asks for reasoning" in other.err) == (2, True)


def test_a_simulated_judge_that_knows_when_it_errs() -> None:
    """Its probability is low for wrong verdicts with the planted chance, and high for right ones."""
    judge_ = SimJudge("sim-judge/flip=0.5,aware=0.5", 3)
    seen: dict[bool, list[float]] = {True: [], False: []}
    for place in range(600):
        about = scenario("known_facts", place)
        ask = ask_about(about, "statement", 0, 1, f"Pump {place} is loud.", ALONE)
        (reply,) = asyncio.run(judge_.ask(ask))
        assert isinstance(reply, Reply)
        judgement = read_letter(reply.text)
        assert judgement is not None
        chance = confidence(judgement, reply.tokens)
        assert chance is not None
        seen[judgement.verdict == BinaryVerdict("A")].append(chance)
    assert seen[True] == pytest.approx([0.99] * len(seen[True]))
    low = sum(chance < 0.9 for chance in seen[False]) / len(seen[False])
    assert low == pytest.approx(0.5, abs=0.08)


def test_judging_by_prompts_of_ones_own(tmp_path: Path) -> None:
    """A folder of prompts serves both styles; `packaged` goes back to those that come with maskbench."""
    folder = tmp_path / "prompts"
    folder.mkdir()
    source = Path(str(files("maskbench") / "method" / "prompts"))
    for file in source.iterdir():
        (folder / file.name).write_text(file.read_text().replace("A language model", "Some model"))
    path = run(tmp_path / "run", limit=6, judge_prompts=str(folder))
    for style in ("reasoning", "verdict"):
        made = RunFolder(path).settings().having(judge_style=style)
        judge(RunFolder(path), made, f"own-{style}")
    assert command("judge", path, "--judge", "sim-judge", "--judge-prompts", "packaged", env={}).code == 0
    sets = RunFolder(path).record()["verdict_sets"]
    assert sets["sim-judge"]["prompts"]["hash"] == REASONING.hash
    assert len({one["prompts"]["hash"] for one in sets.values()}) == 3
