"""Steering: what it adds is what a hand would add, and nothing of it stays behind."""

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from maskbench.errors import UsageError
from maskbench.types import Message
from maskbench_whitebox.models.loading import Loaded, load
from maskbench_whitebox.models.steering import steered
from maskbench_whitebox.models.vectors import Vectors
from tiny_models import FAMILIES, HIDDEN, LAYERS, tiny_model

ASKED = (Message("user", "Is it true that the moon is made of cheese?"),)


@pytest.fixture(scope="module", params=FAMILIES)
def loaded(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A tiny model of each family."""
    return load(str(tiny_model(tmp_path_factory.mktemp("tiny") / request.param, request.param)), device="cpu")


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Loaded:
    """A tiny Llama."""
    return load(str(tiny_model(tmp_path_factory.mktemp("tiny") / "llama")), device="cpu")


def vectors(*layers: int) -> Vectors:
    """Directions that are long enough to change what a tiny model says."""
    generator = torch.Generator().manual_seed(3)
    every = torch.randn(LAYERS, HIDDEN, generator=generator)
    return Vectors({layer: every[layer] for layer in layers or range(LAYERS)})


def prompt(loaded: Loaded) -> torch.Tensor:
    """(1, tokens)"""
    return torch.tensor([loaded.prompt(ASKED)])


def logits(model: Any, tokens: torch.Tensor, **more: Any) -> torch.Tensor:
    """(1, tokens, vocabulary)"""
    found: torch.Tensor = model(input_ids=tokens, **more).logits
    return found


def hooks(loaded: Loaded) -> int:
    """How many hooks the layers carry."""
    return sum(len(layer._forward_hooks) + len(layer._forward_pre_hooks) for layer in loaded.layers)


def edited_by_hand(loaded: Loaded, added: dict[int, torch.Tensor]) -> Any:
    """A copy of the model whose layers return their hidden states with something added: no hook has part in it."""
    other = copy.deepcopy(loaded.model)
    for number, direction in added.items():
        layer = other.get_submodule(_name(loaded, number))
        layer.forward = _added(layer.forward, direction)
    return other


def _name(loaded: Loaded, number: int) -> str:
    names = {module: name for name, module in loaded.model.named_modules()}
    return str(names[loaded.layers[number]])


def _added(forward: Callable[..., Any], direction: torch.Tensor) -> Callable[..., Any]:
    def changed(*arguments: Any, **named: Any) -> Any:
        output = forward(*arguments, **named)
        if isinstance(output, tuple):
            return (output[0] + direction.to(output[0].dtype), *output[1:])
        return output + direction.to(output.dtype)

    return changed


# What is added


@pytest.mark.parametrize("chosen", [(0,), (2,), (LAYERS - 1,), (1, 2), None])
def test_steering_is_what_an_edit_by_hand_gives(loaded: Loaded, chosen: tuple[int, ...] | None) -> None:
    """Logits under steering are to the bit those of a model whose forward functions were rewritten."""
    given = vectors()
    by_hand = edited_by_hand(loaded, {n: -1.5 * given.directions[n] for n in chosen or range(LAYERS)})
    with steered(loaded.layers, given, chosen, -1.5):
        found = logits(loaded.model, prompt(loaded))
    assert torch.equal(found, logits(by_hand, prompt(loaded)))
    assert not torch.allclose(found, logits(loaded.model, prompt(loaded)), atol=1e-3)


def test_steering_the_last_layer_is_a_sum_before_the_last_norm(loaded: Loaded) -> None:
    """The head, given the recorded hidden states and the direction by hand, says the same."""
    given = vectors(LAYERS - 1)
    model = loaded.model
    with recorded(loaded.layers[-1]) as states:
        logits(model, prompt(loaded))
    with steered(loaded.layers, given, None, 2.0):
        found = logits(model, prompt(loaded))
    by_hand = model.lm_head(model.model.norm(states[0] + 2.0 * given.directions[LAYERS - 1]))
    assert torch.allclose(found, by_hand, atol=1e-5)


@contextmanager
def recorded(layer: nn.Module) -> Iterator[list[torch.Tensor]]:
    """What leaves the layer."""
    states: list[torch.Tensor] = []

    def keep(_module: Any, _inputs: Any, output: Any) -> None:
        states.append(output[0] if isinstance(output, tuple) else output)

    with layer.register_forward_hook(keep):
        yield states


def test_a_cache_sees_the_same_steering(loaded: Loaded) -> None:
    """Prefill and single steps with a cache give the logits of one pass over all tokens."""
    tokens = prompt(loaded)
    with steered(loaded.layers, vectors(), (1, 3), 1.5):
        whole = logits(loaded.model, tokens)
        first = loaded.model(input_ids=tokens[:, :5], use_cache=True)
        cache, rest = first.past_key_values, []
        for at in range(5, tokens.shape[1]):
            step = loaded.model(input_ids=tokens[:, at : at + 1], past_key_values=cache, use_cache=True)
            rest.append(step.logits)
    assert torch.allclose(torch.cat([first.logits, *rest], dim=1), whole, atol=1e-4)


def test_padding_changes_nothing(loaded: Loaded) -> None:
    """A prompt padded on the left in a batch is steered as it is alone."""
    tokens = prompt(loaded)
    padded = torch.cat([torch.zeros(1, 4, dtype=torch.long), tokens], dim=1)
    mask = torch.cat([torch.zeros(1, 4, dtype=torch.long), torch.ones_like(tokens)], dim=1)
    places = (mask.cumsum(dim=1) - 1).clamp(min=0)
    with steered(loaded.layers, vectors(), None, 1.5):
        alone = logits(loaded.model, tokens)
        among = logits(loaded.model, padded, attention_mask=mask, position_ids=places)
    assert torch.allclose(among[:, 4:], alone, atol=1e-4)


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_half_precision_stays_what_it_is(tmp_path: Path, dtype: str) -> None:
    """The direction is brought to the model's precision, not the model to the direction's."""
    loaded = load(str(tiny_model(tmp_path / "llama")), dtype=dtype, device="cpu")
    given = vectors(1)
    with steered(loaded.layers, given, None, 1.5):
        found = logits(loaded.model, prompt(loaded))
    assert found.dtype == loaded.model.dtype != torch.float32
    assert torch.equal(found, logits(edited_by_hand(loaded, {1: 1.5 * given.directions[1]}), prompt(loaded)))


def test_strength_zero_changes_no_bit(loaded: Loaded) -> None:
    """At strength 0 not even a zero is added: a sum could turn a bit of a negative zero."""
    before = logits(loaded.model, prompt(loaded))
    with steered(loaded.layers, vectors(), None, 0.0):
        assert hooks(loaded) == 0
        assert torch.equal(logits(loaded.model, prompt(loaded)), before)


def test_a_negative_strength_is_the_negated_direction(llama: Loaded) -> None:
    """Strength -2 and the negated vectors at 2 are the same."""
    with steered(llama.layers, vectors(), (2,), -2.0):
        one = logits(llama.model, prompt(llama))
    with steered(llama.layers, vectors().negated(), (2,), 2.0):
        assert torch.equal(logits(llama.model, prompt(llama)), one)


def test_a_layer_named_twice_is_steered_once(llama: Loaded) -> None:
    """Neither order nor repetition of layers matters."""
    with steered(llama.layers, vectors(), (2, 1, 2), 1.0):
        one = logits(llama.model, prompt(llama))
    with steered(llama.layers, vectors(), (1, 2), 1.0):
        assert torch.equal(logits(llama.model, prompt(llama)), one)


def test_blocks_inside_each_other_add_up(llama: Loaded) -> None:
    """Two interventions at once are their sum, and the inner one goes without the outer."""
    tokens = prompt(llama)
    with steered(llama.layers, vectors(), (2,), 3.0):
        three = logits(llama.model, tokens)
    with steered(llama.layers, vectors(), (2,), 1.0):
        one = logits(llama.model, tokens)
        with steered(llama.layers, vectors(), (2,), 2.0):
            assert torch.allclose(logits(llama.model, tokens), three, atol=1e-5)
        assert torch.equal(logits(llama.model, tokens), one)


class Tupled(nn.Module):
    """A layer that returns more than its hidden states, as those of older models do."""

    def forward(self, hidden: torch.Tensor) -> tuple[torch.Tensor, str]:
        return hidden * 2, "kept"


def test_layers_may_return_a_tuple() -> None:
    """The hidden states of a tuple are moved, and what stands beside them is kept."""
    layer = Tupled()
    with steered([layer], Vectors({0: torch.ones(3)}), None, 0.5):
        hidden, beside = layer(torch.ones(1, 2, 3))
    assert hidden.tolist() == [[[2.5] * 3] * 2]
    assert beside == "kept"


# What stays behind: nothing


class Stopped(Exception):
    """Stands for whatever goes wrong inside a model."""


@pytest.mark.parametrize("error", [Stopped, KeyboardInterrupt, RuntimeError, SystemExit])
def test_an_error_in_a_forward_pass_leaves_no_hook(loaded: Loaded, error: type[BaseException]) -> None:
    """A pass that fails halfway, or is interrupted there, leaves a model that answers as before."""
    before = logits(loaded.model, prompt(loaded))

    def fail(_module: Any, _inputs: Any) -> None:
        raise error

    layer = loaded.layers[2]
    with pytest.raises(error), layer.register_forward_pre_hook(fail), steered(loaded.layers, vectors(), None, 1.0):
        logits(loaded.model, prompt(loaded))
    assert hooks(loaded) == 0
    assert torch.equal(logits(loaded.model, prompt(loaded)), before)


@pytest.mark.parametrize(
    ("given", "chosen", "problem"),
    [
        (vectors(), (0, LAYERS), f"no layer {LAYERS}: the model's {LAYERS} layers are numbered 0 to {LAYERS - 1}"),
        (vectors(), (-1,), "no layer -1"),
        (vectors(0, 2), (0, 1), "no direction for layer 1, only for 0, 2"),
        (Vectors({1: torch.ones(HIDDEN), 9: torch.ones(HIDDEN)}), None, "no layer 9"),
    ],
)
def test_a_wrong_layer_is_named_and_leaves_no_hook(
    llama: Loaded, given: Vectors, chosen: Sequence[int] | None, problem: str
) -> None:
    """A layer that the model or the vectors lack is an error before anything is hooked."""
    with pytest.raises(UsageError, match=problem), steered(llama.layers, given, chosen, 1.0):
        pytest.fail("entered")
    assert hooks(llama) == 0


def test_a_layer_that_takes_no_hook_leaves_none_on_the_others(llama: Loaded) -> None:
    """Where hooking fails in the middle, the hooks before it are gone."""

    class Hookless(nn.Module):
        def register_forward_hook(self, *_: Any, **__: Any) -> Any:
            raise Stopped

    broken = [*llama.layers[:2], Hookless(), *llama.layers[3:]]
    with pytest.raises(Stopped), steered(broken, vectors(), None, 1.0):
        pytest.fail("entered")
    assert hooks(llama) == 0


@pytest.mark.parametrize("strength", [float("nan"), float("inf"), -float("inf")])
def test_a_strength_must_be_a_number(llama: Loaded, strength: float) -> None:
    """What is no finite number is refused before anything is hooked."""
    with pytest.raises(UsageError, match="finite number"), steered(llama.layers, vectors(), None, strength):
        pytest.fail("entered")


def test_vectors_of_another_model_are_refused(llama: Loaded) -> None:
    """Directions of another length are an error at the first pass, which says for what they were made."""
    other = Vectors({1: torch.ones(HIDDEN + 1)})
    said = "33 numbers a layer, and layer 1 of this model 32"
    with pytest.raises(UsageError, match=said), steered(llama.layers, other, None, 1.0):
        logits(llama.model, prompt(llama))
    assert hooks(llama) == 0


def test_the_vectors_stay_as_they_were(llama: Loaded) -> None:
    """Applying moves neither the vectors nor the hidden states that others may hold."""
    given = vectors()
    hash_before = given.content_hash
    with recorded(llama.layers[1]) as states, steered(llama.layers, given, (1,), 2.0):
        logits(llama.model, prompt(llama))
    with recorded(llama.layers[1]) as plain:
        logits(llama.model, prompt(llama))
    assert Vectors(given.directions).content_hash == hash_before
    assert torch.equal(states[0], plain[0])
