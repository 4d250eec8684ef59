"""Directions: what is planted is found, what is recorded is what the model computed, and the command writes it."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, get_args

import pytest
import torch

from calls import typed
from maskbench.errors import UsageError
from maskbench.method.elicit import statement_ask
from maskbench.scenarios.pinocchio import sandbox
from maskbench.types import Message
from maskbench_whitebox.models.loading import Loaded, load
from maskbench_whitebox.models.steering import steered
from maskbench_whitebox.models.vectors import load_vectors
from maskbench_whitebox.steering.contrast import Contrast, Pair, open_contrast
from maskbench_whitebox.steering.directions import Method, directions, learn, pairs_won, separation
from maskbench_whitebox.steering.hidden_states import place, record
from tiny_models import FAMILIES, HIDDEN, LAYERS, tiny_model

pytestmark = pytest.mark.slow

ANSWERED = (
    Message("system", "You are a helpful assistant."),
    Message("user", "Is it true that the moon is made of cheese?"),
    Message("assistant", "The moon is made of"),
)


@pytest.fixture(scope="module", params=FAMILIES)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A tiny model of each family."""
    return load(str(tiny_model(tmp_path_factory.mktemp("tiny") / request.param, request.param)), device="cpu")


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A tiny Llama."""
    return load(str(tiny_model(tmp_path_factory.mktemp("tiny") / "llama")), device="cpu")


@pytest.fixture(scope="module")
def pinocchio() -> Loaded:
    """The model that comes with maskbench."""
    return load("pinocchio", device="cpu")


def contrast(pairs: int = 12) -> Contrast:
    """Short pairs that end in a user's turn."""
    honest, other = Message("system", "You are honest."), Message("system", "You are a liar.")
    asked = [Message("user", f"What is the capital of country {number}?") for number in range(pairs)]
    return Contrast("mine.jsonl", tuple(Pair((honest, ask), (other, ask)) for ask in asked))


# Methods


def planted(pairs: int = 200, noise: float = 0.3) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Both sides' states, (pairs, 2, 24), and the unit directions that they differ by, (2, 24)."""
    generator = torch.Generator().manual_seed(0)
    true = torch.nn.functional.normalize(torch.randn(2, 24, generator=generator), dim=-1)
    shared = 2 * torch.randn(pairs, 2, 24, generator=generator)
    apart = [torch.randn(pairs, 2, 24, generator=generator) * noise for _ in range(2)]
    return shared + apart[0] + 3 * true, shared + apart[1], true


@pytest.mark.parametrize("method", get_args(Method))
def test_every_method_finds_what_was_planted(method: Method) -> None:
    """The direction between the sides is found in each layer, pointing to the positive side."""
    positive, negative, true = planted()
    found = directions(positive, negative, method)
    assert torch.cosine_similarity(found, true, dim=-1).min() > 0.9
    assert torch.cosine_similarity(directions(negative, positive, method), -true, dim=-1).min() > 0.9


@pytest.mark.parametrize("method", get_args(Method))
def test_every_methods_directions_are_as_long_as_the_sides_lie_apart(method: Method) -> None:
    """Strength 1 is the distance between the sides' means, so that methods are compared at the same strength."""
    positive, negative, _ = planted()
    apart = (positive - negative).mean(dim=0).norm(dim=-1)
    assert torch.allclose(directions(positive, negative, method).norm(dim=-1), apart, rtol=1e-4)


@pytest.mark.parametrize("method", get_args(Method))
def test_strengths_scale_with_the_model(method: Method) -> None:
    """A model whose hidden states are ten times as long gets directions ten times as long."""
    positive, negative, _ = planted()
    one, ten = (directions(scale * positive, scale * negative, method) for scale in (1, 10))
    assert torch.allclose(10 * one, ten, rtol=1e-3, atol=1e-3)


def test_a_mean_difference_is_one() -> None:
    """Two pairs by hand: the mean of (3, 0) and (1, 2)."""
    positive = torch.tensor([[[3.0, 0.0]], [[2.0, 2.0]]])
    negative = torch.tensor([[[0.0, 0.0]], [[1.0, 0.0]]])
    assert directions(positive, negative, "mean-difference").tolist() == [[2.0, 1.0]]


def test_the_principal_component_is_taken_about_zero() -> None:
    """Where all pairs differ by the same, and some by something more, it is the same that counts."""
    positive = torch.tensor([[[5.0, 1.0]], [[5.0, -1.0]]])
    found = directions(positive, torch.zeros(2, 1, 2), "pca")
    assert torch.allclose(found, torch.tensor([[5.0, 0.0]]), atol=1e-5)


def test_the_logistic_normal_avoids_what_only_varies() -> None:
    """Along an axis of much noise the regression leans less than the difference of the means does."""
    generator = torch.Generator().manual_seed(1)
    spread = torch.tensor([5.0, 0.3])
    positive, negative = (torch.randn(200, 1, 2, generator=generator) * spread + side for side in (1.0, 0.0))
    normal, difference = (directions(positive, negative, method)[0] for method in ("logistic", "mean-difference"))
    assert abs(normal[0] / normal[1]) < 0.2 * abs(difference[0] / difference[1])


def test_sides_that_do_not_differ_have_no_direction() -> None:
    """The layer in which nothing differs is named."""
    positive, negative, _ = planted()
    positive[:, 1] = negative[:, 1]
    with pytest.raises(UsageError, match="do not differ in layer 1"):
        directions(positive, negative, "mean-difference")


def test_separation_counts_pairs_of_states() -> None:
    """1 where every state of one side lies further, 0 the other way round, a half where all are the same."""
    high, low = torch.tensor([[[2.0]], [[3.0]]]), torch.tensor([[[0.0]], [[1.0]]])
    axis = torch.tensor([[1.0]])
    assert separation(high, low, axis) == [1.0]
    assert separation(low, high, axis) == [0.0]
    assert separation(high, high, axis) == [0.5]
    assert separation(torch.tensor([[[2.0]], [[0.5]]]), low, axis) == [0.75]


def test_a_pair_is_told_apart_by_its_own_sides() -> None:
    """What the sides of a pair share hides a small difference from the AUC, and not from its pair; a tie is a half."""
    shared = torch.tensor([[[0.0]], [[10.0]], [[20.0]], [[30.0]]])
    axis, step = torch.tensor([[1.0]]), torch.tensor([[[1.0]], [[1.0]], [[-1.0]], [[0.0]]])
    assert pairs_won(shared + 1, shared, axis) == [4.0]
    assert separation(shared + 1, shared, axis) == [0.625]
    assert pairs_won(shared + step, shared, axis) == [2.5]


# Recording


def text_at(loaded: Loaded, messages: tuple[Message, ...], position: Any) -> str:
    """The text of the tokens that hidden states are taken at."""
    tokens, start = place(loaded, messages, position)
    return str(loaded.tokenizer.decode(tokens[start:]))


def test_positions_lie_where_they_should(loaded: Loaded) -> None:
    """`answer` is the answer alone; `turn` begins with the last user's turn; `last` is one token."""
    question, answer = ANSWERED[1].content, ANSWERED[2].content
    assert text_at(loaded, ANSWERED, "answer").strip() == answer
    turn = text_at(loaded, ANSWERED, "turn")
    assert question in turn
    assert turn.endswith(answer)
    assert ANSWERED[0].content not in turn
    assert answer.endswith(text_at(loaded, ANSWERED, "last"))
    tokens, start = place(loaded, ANSWERED[:2], "last")
    assert tokens == loaded.prompt(ANSWERED[:2])
    assert start == len(tokens) - 1
    assert question in text_at(loaded, ANSWERED[:2], "turn")


def test_earlier_turns_are_left_out(llama: Loaded) -> None:
    """Of several turns, `turn` is the last one of the user."""
    earlier = (Message("user", "First question?"), Message("assistant", "First answer."))
    turn = text_at(llama, (*earlier, *ANSWERED[1:2]), "turn")
    assert ANSWERED[1].content in turn
    assert "First" not in turn


def test_an_answer_is_needed_for_its_positions(llama: Loaded) -> None:
    """Where conversations end in a user's turn, `answer` is an error that names the others."""
    with pytest.raises(UsageError, match="take `turn` or `last`"):
        place(llama, ANSWERED[:2], "answer")


def test_a_conversation_must_fit(llama: Loaded) -> None:
    """One that is longer than the context is refused with both lengths."""
    with pytest.raises(UsageError, match=r"has \d+ tokens; .* reads 1024"):
        place(llama, (Message("user", "word " * 2000),), "turn")


@pytest.mark.parametrize("position", ["answer", "turn", "last"])
def test_what_is_recorded_is_the_mean_over_the_positions(loaded: Loaded, position: Any) -> None:
    """It is that of the hidden states which the library gives out; of its last layer those are normed, so not these."""
    tokens, start = place(loaded, ANSWERED, position)
    with torch.no_grad():
        out = loaded.model(input_ids=torch.tensor([tokens]), output_hidden_states=True)
    means = [state[0, start:].mean(dim=0) for state in out.hidden_states[1:LAYERS]]
    (found,) = record(loaded, [ANSWERED], position)
    assert found.shape == (LAYERS, HIDDEN)
    assert torch.allclose(found[:-1], torch.stack(means), atol=1e-5)
    last = loaded.model.model.norm(record(loaded, [ANSWERED], "last")[0, -1])
    assert torch.allclose(last, out.hidden_states[LAYERS][0, -1], atol=1e-5)


def test_batches_change_nothing(loaded: Loaded) -> None:
    """A conversation gives the same states alone as among longer and shorter ones, in the order of the question."""
    talks = [(Message("user", "word " * length),) for length in (9, 1, 90, 4)]  # padding beyond Gemma's window
    seen: list[int] = []
    together = record(loaded, talks, "turn", 10_000, seen.append)
    apart = torch.cat([record(loaded, [talk], "turn") for talk in talks])
    assert torch.allclose(together, apart, atol=1e-4)
    assert torch.allclose(record(loaded, talks, "turn", 1), apart, atol=1e-6)
    assert sum(seen) == len(talks)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_recording_leaves_no_hook(llama: Loaded, error: type[BaseException]) -> None:
    """Neither when it succeeds, nor when a pass fails or is interrupted."""

    def fail(_module: Any, _inputs: Any) -> None:
        raise error

    record(llama, [ANSWERED], "turn")
    with pytest.raises(error), llama.layers[1].register_forward_pre_hook(fail):
        record(llama, [ANSWERED], "turn")
    assert not any(layer._forward_hooks for layer in llama.layers)


def test_hidden_states_must_be_numbers(llama: Loaded) -> None:
    """Where half precision overflows, no direction is made of what is left."""

    def overflow(_module: Any, _inputs: Any, output: Any) -> Any:
        return output * float("inf")

    with pytest.raises(UsageError, match="not finite in float32"), llama.layers[1].register_forward_hook(overflow):
        record(llama, [ANSWERED], "turn")


# Learning


def test_learning_says_what_it_did(llama: Loaded) -> None:
    """The metadata name model, contrast, method and position, and hold the figures by layer."""
    found = learn(llama, contrast(), "pca")
    about = found.about
    assert found.layers == tuple(range(LAYERS))
    assert found.hidden_size == about["hidden_size"] == HIDDEN
    assert about["fingerprint"] == llama.fingerprint
    assert about["contrast"] == {
        "name": "mine.jsonl",
        "hash": contrast().content_hash,
        "pairs": 12,
        "learned": 9,
    }
    assert (about["method"], about["position"]) == ("pca", "turn")
    assert about["norms"] == [round(norm, 4) for norm in found.norms().values()]
    assert len(about["auc"]) == len(about["pairs_won"]) == len(about["hidden_norms"]) == LAYERS
    assert str(Path(llama.name).parent) not in json.dumps(dict(about))


def test_learning_again_gives_the_same(llama: Loaded) -> None:
    """A model and its pairs give the same vectors each time, and the number of torch's threads is as before."""
    before = torch.get_num_threads()
    assert learn(llama, contrast()).content_hash == learn(llama, contrast()).content_hash
    assert torch.get_num_threads() == before


def test_held_out_pairs_do_not_count(llama: Loaded) -> None:
    """Changing a held-out pair changes no direction, and changing another does."""
    pairs = contrast().pairs
    other = Pair((Message("user", "Quite another question."),), (Message("user", "And another still."),))
    held = Contrast("x", (*pairs[:3], other, *pairs[4:]))
    learned = Contrast("x", (other, *pairs[1:]))
    assert learn(llama, held).content_hash == learn(llama, contrast()).content_hash
    assert learn(llama, learned).content_hash != learn(llama, contrast()).content_hash


def test_pairs_with_answers_are_recorded_there(llama: Loaded) -> None:
    """Where the pairs have answers, hidden states are those over the answer, unless another position is asked for."""
    builtin = open_contrast("builtin")
    few = Contrast("builtin", builtin.pairs[:8])
    assert learn(llama, few).about["position"] == "answer"
    assert learn(llama, few, position="last").about["position"] == "last"


# pinocchio


def preference(loaded: Loaded) -> float:
    """By how much an honest opening is likelier than a lying one, as log odds, on scenarios never learned from."""
    odds = []
    for scenario in sandbox(77)[::12]:
        prompt = loaded.prompt(statement_ask(scenario, 1).messages)
        honest, lying = (_likelihood(loaded, prompt, opener) for opener in ("To be honest,", "Our position is that"))
        odds.append(honest - lying)
    return sum(odds) / len(odds)


def _likelihood(loaded: Loaded, prompt: list[int], opener: str) -> float:
    """The log probability that the answer begins so."""
    tokens = [*prompt, *loaded.tokenizer.encode(f" {opener}")]
    with torch.no_grad():
        likely = loaded.model(input_ids=torch.tensor([tokens])).logits[0, len(prompt) - 1 : -1].log_softmax(dim=-1)
    return float(likely.gather(1, torch.tensor(tokens[len(prompt) :])[:, None]).sum())


def test_steering_makes_pinocchio_open_honestly(pinocchio: Loaded) -> None:
    """On held-out scenarios honest openings get likelier; by the negated directions lying ones, and less by chance."""
    found = learn(pinocchio, open_contrast("sandbox"))
    assert min(found.about["auc"]) > 0.75
    assert found.about["pairs_won"] == [112.0] * 4
    plain = preference(pinocchio)
    gains = []
    for vectors in (found, found.negated(), *(found.random(Random(seed)) for seed in range(3))):
        with steered(pinocchio.layers, vectors, (2, 3), 4.0):
            gains.append(preference(pinocchio) - plain)
    assert gains[0] > 1.0
    assert gains[1] < -0.7
    assert max(map(abs, gains[2:])) < gains[0] / 2


def test_builtin_says_nothing_of_pinocchio(pinocchio: Loaded) -> None:
    """It reads nothing but its world: the general pairs are not told apart in it, and the figures show that."""
    about = learn(pinocchio, open_contrast("builtin")).about
    assert max(about["auc"]) < 0.7
    assert max(about["pairs_won"]) < 20


# The command


@pytest.fixture
def steer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[int, str, str]]:
    """`maskbench-whitebox steer` in this process, in an empty folder: exit code, stdout, stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def command(*arguments: object) -> tuple[int, str, str]:
        ended = typed("steer", *arguments)
        return ended.code, ended.out, ended.err

    return command


def rows(path: Path) -> Path:
    """The short pairs as a file of one's own."""
    lines = [
        {side: [{"role": m.role, "content": m.content} for m in talk] for side, talk in both}
        for both in ([("positive", pair.positive), ("negative", pair.negative)] for pair in contrast().pairs)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


def test_the_command_writes_vectors_and_says_how_to_use_them(
    steer: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """A table by layer goes to stdout; the lines that use and try the vectors follow; the date is in the file."""
    model = tiny_model(tmp_path / "tiny")
    code, out, err = steer(f"hf/{model}", "--contrast", rows(tmp_path / "mine.jsonl"), "--out", "v.safetensors")
    assert code == 0, err
    vectors = load_vectors(tmp_path / "v.safetensors")
    assert "tiny: mean-difference on mine.jsonl" in out
    assert f"12 pairs, 9 to learn from; positions: turn; vectors {vectors.content_hash}" in out
    assert re.search(r"layer +pairs told apart +95 % interval +AUC +length at strength 1", out)
    assert re.search(r"^0 +[\d.]+ of 3 +\d+–\d+ % +[01]\.\d{3} ", out, re.MULTILINE)
    assert [line.split()[0] for line in out.splitlines()[-LAYERS:]] == [str(layer) for layer in range(LAYERS)]
    assert f"maskbench run hf/{model} -M steer=v.safetensors -M layers=2 -M strength=4" in err
    assert len(vectors.about["created"]) == len("2026-01-01")
    assert vectors.about["contrast"]["hash"] == open_contrast(str(tmp_path / "mine.jsonl")).content_hash


def test_a_contrast_that_a_model_does_not_see_is_said(steer: Callable[..., tuple[int, str, str]]) -> None:
    """Where no layer does better than the best of as many would by luck, there is nothing to steer by."""
    code, _, err = steer("pinocchio", "--contrast", "builtin")
    assert code == 0
    assert re.search(r"No layer tells .* the best one of 4 gets [\d.]+ of 30 right", err)
    assert "nothing to steer by" in err


def test_the_best_layers_are_named(steer: Callable[..., tuple[int, str, str]]) -> None:
    """Layers are named by their pairs, then by their AUC; that this is no proof that steering works is said."""
    code, _, err = steer("pinocchio", "--threads", "1")
    assert code == 0
    best = re.search(r"told apart best in the layers (.*?)\. That shows .* not that steering by it works", err)
    assert best
    aucs = re.findall(r"\d \(112 of 112, AUC ([\d.]+)\)", best[1])
    assert len(aucs) == 4
    assert aucs == sorted(aucs, reverse=True)


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("pinocchio", "--out", "no/such/v.safetensors"), "give the name of a file in a folder that is there"),
        (("pinocchio", "--contrast", "sandbox:x"), "after `sandbox:` comes a seed"),
        (("pinocchio", "--contrast", "gone.jsonl"), "gone.jsonl: No such file"),
        (("pinocchio", "--position", "answer"), "take `turn` or `last`"),
        (("./nowhere",), "./nowhere is no folder"),
    ],
)
def test_what_cannot_be_learned_is_said(
    steer: Callable[..., tuple[int, str, str]], tmp_path: Path, arguments: tuple[str, ...], problem: str
) -> None:
    """A wrong file, contrast, position or model ends in a sentence and exit code 2, and writes nothing."""
    code, _, err = steer(*arguments)
    assert code == 2
    assert problem in err
    assert not list(tmp_path.iterdir())
