"""LoRRA on tiny random models and on pinocchio: the loss, the training, the texts, and what errors say."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

import measured_runs
from calls import typed
from maskbench.errors import Interrupted, RunLocked, UsageError
from maskbench.results.scored import score
from maskbench.types import Message
from maskbench_whitebox.lorra.loss import Loss, Row, Rows, backward, contrast, encoded, hidden_states
from maskbench_whitebox.lorra.recipe import Recipe, default_layers, recipe
from maskbench_whitebox.lorra.steps import schedule
from maskbench_whitebox.lorra.texts import (
    Templates,
    content_hash,
    read_texts,
)
from maskbench_whitebox.lorra.train import adapted, checked, scaled, train
from maskbench_whitebox.models.adapters import with_adapter
from maskbench_whitebox.models.loading import Loaded, load
from tiny_models import FAMILIES, HIDDEN, Family, rewrite, tiny_model
from training_texts import data, turns

pytestmark = pytest.mark.slow

LAYERS = (1, 2)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny model of each family."""
    return {family: tiny_model(tmp_path_factory.mktemp(family), family) for family in FAMILIES}


@pytest.fixture
def tiny(folders: dict[str, Path]) -> Loaded:
    """A tiny Llama."""
    return load(str(folders["llama"]), device="cpu")


def short(tmp_path: Path, **changes: Any) -> Recipe:
    """A recipe of a few steps over a few texts."""
    known: dict[str, Any] = {"target_layers": LAYERS, "rate": 0.02, "steps": 6, "batch": 3, "retain": 1.0, "rank": 4}
    return Recipe(**{"data": data(tmp_path / "texts.jsonl"), **known, **changes})


def step_of(**changes: Any) -> Recipe:
    """A recipe of one step over layers in the middle."""
    known: dict[str, Any] = {"target_layers": LAYERS, "alpha": 2.0, "rate": 0.01, "steps": 1, "batch": 2, "retain": 0.5}
    return Recipe(**{"at_once": 8, **known, **changes})


def stop_after(steps: int) -> Any:
    """`stopped` that says so when asked after that many steps."""
    asked = iter(range(steps))
    return lambda: next(asked, None) is None


def state(loaded: Loaded) -> tuple[Any, ...]:
    """Everything that a training could leave on a model."""
    model = loaded.model
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    asked = [parameter.requires_grad for parameter in model.parameters()]
    return hooks, weights, asked, [type(module) for module in model.modules()], sorted(vars(model)), model.training


def same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two states of a model are the same to the last bit."""
    weights, others = one[1], other[1]
    equal = weights.keys() == others.keys() and all(torch.equal(weights[name], others[name]) for name in weights)
    return equal and (one[0], *one[2:]) == (other[0], *other[2:])


# The loss


def alone(loaded: Loaded, row: Row, layer: int) -> torch.Tensor:
    """What leaves a layer at the kept positions of one row, as transformers itself tells it, without padding."""
    told = loaded.model(torch.tensor([row.tokens]), output_hidden_states=True).hidden_states
    kept: torch.Tensor = told[layer + 1][0, -row.kept :]  # the first are the embeddings
    return kept


@pytest.mark.parametrize("family", FAMILIES)
def test_hidden_states_are_those_that_transformers_tells(folders: dict[str, Path], family: Family) -> None:
    """Rows of different lengths give, padded together, what each gives alone."""
    loaded = load(str(folders[family]), device="cpu")
    rows = [Row((5, 6, 7, 8, 9, 10, 11), 3), Row((20, 21, 22), 2), Row((30, 31, 32, 33, 34), 5)]
    with torch.no_grad():
        found = hidden_states(loaded, rows, (0, 2))
        assert all(not module._forward_hooks for module in loaded.model.modules())
        expected = torch.stack([torch.cat([alone(loaded, row, layer) for row in rows]) for layer in (0, 2)])
    assert found.shape == (2, 10, HIDDEN)
    assert torch.allclose(found, expected, atol=1e-5)


def test_contrast_vectors_by_hand(tiny: Loaded) -> None:
    """v is h(T+) − h(T−) at each position of the answer; without a T− it is h(T+) − h(T)."""
    honest, dishonest, one = Row((1, 2, 3, 50, 51), 3), Row((4, 5, 50, 51), 3), Row((3, 50, 51), 3)
    with torch.no_grad():
        plain = hidden_states(tiny, [one], LAYERS)
        both = contrast(tiny, [Rows(one, honest, dishonest)], LAYERS, plain)
        distilled = contrast(tiny, [Rows(one, honest)], LAYERS, plain)
        for place, layer in enumerate(LAYERS):
            plus, minus, base = (alone(tiny, row, layer) for row in (honest, dishonest, one))
            assert torch.allclose(both[place], plus - minus, atol=1e-5)
            assert torch.allclose(distilled[place], plus - base, atol=1e-5)


def test_the_loss_by_hand(tiny: Loaded) -> None:
    """Mean over layers and positions of |h − (h₀ + alpha v)|, and over neutral texts of |h − h₀|, weighed by retain."""
    texts = [
        Rows(Row((3, 50, 51), 3), Row((1, 2, 3, 50, 51), 3), Row((4, 5, 50, 51), 3)),
        Rows(Row((9, 8, 7), 2), Row((6, 9, 8, 7), 2), Row((2, 9, 8, 7), 2)),
        Rows(Row((40, 41, 42, 43), 4)),
    ]
    with adapted(tiny, Recipe(target_layers=LAYERS)) as adapter:
        for name, parameter in adapter.named_parameters():
            if "lora_B" in name:
                torch.nn.init.normal_(parameter, std=0.5, generator=torch.Generator().manual_seed(1))
        loss = backward(adapter, tiny, texts, step_of())
        missing, drifted, asked = [], [], []
        with torch.no_grad():
            for text in texts:
                for layer in LAYERS:
                    moved = alone(tiny, text.plain, layer)
                    with adapter.disable_adapter():
                        base = alone(tiny, text.plain, layer)
                        if text.honest is None or text.dishonest is None:
                            drifted += (moved - base).pow(2).sum(-1).sqrt().tolist()
                            continue
                        vector = 2.0 * (alone(tiny, text.honest, layer) - alone(tiny, text.dishonest, layer))
                    missing += (moved - base - vector).pow(2).sum(-1).sqrt().tolist()
                    asked += vector.pow(2).sum(-1).sqrt().tolist()
    assert len(missing) == 2 * 5
    assert len(drifted) == 2 * 4
    assert loss.contrast == pytest.approx(sum(missing) / len(missing), rel=1e-4)
    assert loss.retention == pytest.approx(sum(drifted) / len(drifted), rel=1e-4)
    assert loss.asked == pytest.approx(sum(asked) / len(asked), rel=1e-4)
    assert loss.loss == pytest.approx(loss.contrast + 0.5 * (loss.retention or 0))
    assert loss.contrast > 0 < (loss.retention or 0)


def test_texts_at_once_change_memory_alone(tiny: Loaded, tmp_path: Path) -> None:
    """One text at a time gives the same loss and the same gradient as all together."""
    texts = encoded(tiny, read_texts(data(tmp_path / "t.jsonl"), Templates("lorra"), 0), 64)
    found: list[tuple[Loss, list[torch.Tensor]]] = []
    for at_once in (1, 2, 8):
        with adapted(tiny, Recipe(target_layers=LAYERS)) as adapter:
            loss = backward(adapter, tiny, texts, step_of(at_once=at_once))
            found.append((loss, [p.grad.clone() for p in adapter.parameters() if p.grad is not None]))
    for loss, gradients in found[1:]:
        assert loss.loss == pytest.approx(found[0][0].loss, rel=1e-5)
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(gradients, found[0][1], strict=True))
        assert any(gradient.abs().max() > 1e-4 for gradient in gradients)


@pytest.mark.parametrize("family", FAMILIES)
def test_what_is_compared_is_the_answer(folders: dict[str, Path], family: Family) -> None:
    """All three conversations keep the same answer, from the prompt's last token on, cut where asked."""
    loaded = load(str(folders[family]), device="cpu")
    answer = "The capital of France is Paris."
    text = Templates("lorra").applied((Message("system", "Be short."), Message("user", "Capital?")), answer)
    for longest in (5, 1000):
        (rows,) = encoded(loaded, [text], longest)
        assert rows.honest
        assert rows.dishonest
        ends = {row.tokens[-row.kept :] for row in (rows.plain, rows.honest, rows.dishonest)}
        assert len(ends) == 1
        assert "Capital? Give a truthful answer." in loaded.tokenizer.decode(rows.honest.tokens)
        prompt = loaded.prompt(text.messages)
        assert rows.plain.tokens[: len(prompt)] == tuple(prompt)
        assert len(rows.plain.tokens) == len(prompt) + rows.plain.kept - 1
        said = loaded.chat.text(rows.plain.tokens[len(prompt) :])
        assert answer.startswith(said) if longest == 5 else said.strip() == answer


# Training


@pytest.mark.filterwarnings("ignore:`is_gradient_checkpointing`:FutureWarning")  # PEFT's use of transformers
@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("variant", ["lorra", "prompt-distill"])
def test_every_family_trains(folders: dict[str, Path], tmp_path: Path, family: Family, variant: Any) -> None:
    """The loss falls, the model stays as it was, and the adapter does through PEFT what it did in training."""
    from peft import PeftModel
    from transformers import AutoModelForCausalLM

    loaded = load(str(folders[family]), device="cpu")
    before = state(loaded)
    trained = train(loaded, short(tmp_path, variant=variant, steps=12), tmp_path / "adapter")
    assert same(state(loaded), before)
    first, last = trained.losses[0], trained.losses[-1]
    assert first.contrast == pytest.approx(first.asked)  # B is zero: nothing has moved yet
    assert last.contrast / last.asked < 0.95
    again = with_adapter(load(str(folders[family]), device="cpu"), tmp_path / "adapter")
    automatic: Any = AutoModelForCausalLM
    peft = PeftModel.from_pretrained(automatic.from_pretrained(folders[family]), str(tmp_path / "adapter")).eval()
    tokens = torch.tensor([[5, 6, 7, 8]])
    with torch.no_grad():
        plain, moved, told = (model(tokens).logits for model in (loaded.model, again.model, peft))
    assert torch.allclose(moved, told)
    assert not torch.allclose(moved, plain, atol=1e-3)


def files(folder: Path) -> dict[str, bytes]:
    """What a folder holds."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_stopped_training_goes_on_to_the_same_bytes(tiny: Loaded, tmp_path: Path) -> None:
    """Stopped twice and taken up again, it leaves what an uninterrupted one leaves, and nothing else."""
    made = short(tmp_path)
    whole = train(tiny, made, tmp_path / "whole")
    for steps in (2, 3):
        with pytest.raises(Interrupted, match=r"Stopped after step \d of 6; the same command goes on"):
            train(tiny, made, tmp_path / "parts", stopped=stop_after(steps))
        assert (tmp_path / "parts" / "training.pt").is_file()
    seen: list[int] = []
    parts = train(tiny, made, tmp_path / "parts", watch=lambda loss: seen.append(loss.step))
    assert seen == [6]
    assert parts.losses == whole.losses
    assert files(tmp_path / "parts") == files(tmp_path / "whole")
    assert sorted(files(tmp_path / "whole")) == [
        *("README.md", "adapter_config.json", "adapter_model.safetensors", "lorra.json", "loss.csv"),
    ]


def test_a_crash_between_saves_loses_only_what_came_since(
    tiny: Loaded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies leaves the last whole checkpoint; from there the weights are the same again."""
    monkeypatch.setattr("maskbench_whitebox.lorra.steps.SAVE_SECONDS", -1.0)  # a constant, to save every step
    made = short(tmp_path)

    def dying(loss: Loss) -> None:
        if loss.step == 4:
            raise KeyboardInterrupt

    before = state(tiny)
    with pytest.raises(KeyboardInterrupt):
        train(tiny, made, tmp_path / "parts", watch=dying)
    assert same(state(tiny), before)
    train(tiny, made, tmp_path / "parts")
    train(tiny, made, tmp_path / "whole")
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


def test_the_seed_decides(tiny: Loaded, tmp_path: Path) -> None:
    """One seed gives the same bytes, whatever torch's own generator is at; another seed gives others."""
    train(tiny, short(tmp_path, steps=2), tmp_path / "a")
    torch.rand(3)
    train(tiny, short(tmp_path, steps=2), tmp_path / "b")
    train(tiny, short(tmp_path, steps=2, seed=1), tmp_path / "c")
    a, b, c = (files(tmp_path / name)["adapter_model.safetensors"] for name in "abc")
    assert a == b
    assert a != c


def test_a_finished_training_is_not_trained_again(tiny: Loaded, tmp_path: Path) -> None:
    """The folder gives its record and losses back; another recipe, or another's folder, is refused by name."""
    made = short(tmp_path, steps=2)
    first = train(tiny, made, tmp_path / "a")
    seen: list[Loss] = []
    again = train(tiny, made, tmp_path / "a", watch=seen.append)
    assert (again.about, seen) == (first.about, [])
    assert [loss.loss for loss in again.losses] == pytest.approx([loss.loss for loss in first.losses], rel=1e-5)
    with pytest.raises(UsageError, match=r"made with alpha 5.0, and this one asks for 4.0. Give another --out"):
        train(tiny, replace(made, alpha=4.0), tmp_path / "a")
    (tmp_path / "a" / "lorra.json").write_text("{", encoding="utf-8")
    with pytest.raises(UsageError, match=r"lorra\.json is no record"):
        train(tiny, made, tmp_path / "a")


def test_nothing_of_another_is_overwritten(tiny: Loaded, tmp_path: Path) -> None:
    """A folder with other files in it, somebody's README or another's adapter, is refused and left alone."""
    (tmp_path / "README.md").write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match=r"holds other files \(README.md\). Give --out a new folder"):
        train(tiny, recipe("lorra", tiny.name, target_layers=LAYERS), tmp_path)
    assert files(tmp_path) == {"README.md": b"mine"}


def test_a_crash_while_the_adapter_is_written(tiny: Loaded, tmp_path: Path) -> None:
    """The checkpoint of the last step is there, and the next start writes the rest."""
    made = short(tmp_path)
    train(tiny, made, tmp_path / "whole")
    with pytest.raises(Interrupted):
        train(tiny, made, tmp_path / "parts", stopped=stop_after(5))
    (tmp_path / "parts" / "adapter_model.safetensors").write_bytes(b"half")
    train(tiny, made, tmp_path / "parts")
    assert files(tmp_path / "parts") == files(tmp_path / "whole")


def test_a_checkpoint_of_another_training_is_refused(tiny: Loaded, tmp_path: Path) -> None:
    """Half a training of one recipe is not gone on with by another; memory settings may differ."""
    made = short(tmp_path)
    with pytest.raises(Interrupted):
        train(tiny, made, tmp_path / "a", stopped=stop_after(1))
    with pytest.raises(UsageError, match="belongs to another training"):
        train(tiny, replace(made, rate=0.01), tmp_path / "a")
    assert len(train(tiny, replace(made, at_once=1), tmp_path / "a").losses) == 6


def test_one_process_trains_into_a_folder(tiny: Loaded, tmp_path: Path) -> None:
    """A second one is told so."""
    made = short(tmp_path, steps=2)

    def again(loss: Loss) -> None:
        with pytest.raises(RunLocked, match="Another maskbench is training into"):
            train(tiny, made, tmp_path / "a")

    train(tiny, made, tmp_path / "a", watch=again)


def test_what_is_written_says_how_it_was_made(tiny: Loaded, tmp_path: Path) -> None:
    """Record, card and curve agree, name the data by hash, and hold no path but those given."""
    made = short(tmp_path, variant="prompt-distill", alpha=1.0)
    trained = train(tiny, made, tmp_path / "a")
    record = json.loads((tmp_path / "a" / "lorra.json").read_text(encoding="utf-8"))
    assert record == trained.about.as_dict()
    assert record["texts_hash"] == content_hash(read_texts(made.data, templates(record), 0))
    assert record["fingerprint"] == tiny.fingerprint
    assert record["target_layers"] == [1, 2]
    assert record["lora_layers"] == [0, 2]
    assert record["parameters"] == sum(
        4 * (HIDDEN + size) for _ in range(3) for size in (4 * 16, 2 * 16)
    )  # q and v of three layers, rank 4
    assert {"maskbench", "torch", "transformers", "peft"} == set(record["versions"])
    card = (tmp_path / "a" / "README.md").read_text(encoding="utf-8")
    assert "This is not LoRRA as published" in card
    assert record["texts_hash"] in card
    with (tmp_path / "a" / "loss.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["step"]) for row in rows] == [1, 2, 3, 4, 5, 6]
    assert float(rows[-1]["loss"]) == pytest.approx(record["last_loss"], rel=1e-5)
    config = json.loads((tmp_path / "a" / "adapter_config.json").read_text(encoding="utf-8"))
    assert config["base_model_name_or_path"] == tiny.name
    assert config["target_modules"] == sorted(config["target_modules"])


def templates(record: Mapping[str, Any]) -> Templates:
    """Those that a record of prompt-distill names."""
    return Templates("prompt-distill", developer=record["templates"]["developer"])


def test_a_half_precision_model_gets_a_float32_adapter(folders: dict[str, Path], tmp_path: Path) -> None:
    """bfloat16 below, float32 in the adapter, and the loss falls all the same."""
    from safetensors.torch import load_file

    loaded = load(str(folders["llama"]), device="cpu", dtype="bf16")
    trained = train(loaded, short(tmp_path, steps=12), tmp_path / "a")
    weights = load_file(tmp_path / "a" / "adapter_model.safetensors")
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert trained.losses[-1].contrast < 0.95 * trained.losses[-1].asked


@pytest.mark.parametrize("error", [RuntimeError("out of luck"), KeyboardInterrupt()])
def test_an_error_leaves_the_model_as_it_was(tiny: Loaded, tmp_path: Path, error: BaseException) -> None:
    """Whatever stops a training, hooks, modules, attributes and weights are those of before."""
    before = state(tiny)

    def failing(*_: Any) -> None:
        raise error

    with pytest.raises(type(error)):
        train(tiny, short(tmp_path), tmp_path / "a", watch=failing)
    assert same(state(tiny), before)
    handle = tiny.layers[1].register_forward_hook(failing)
    with pytest.raises(type(error)):
        train(tiny, short(tmp_path), tmp_path / "b")
    handle.remove()
    assert same(state(tiny), before)


def test_an_adapter_scaled(folders: dict[str, Path], tmp_path: Path) -> None:
    """Every linear layer moves by the factor; nothing else is in the folder than adapter and record."""
    from peft import get_peft_model_state_dict

    loaded = load(str(folders["llama"]), device="cpu")
    train(loaded, short(tmp_path), tmp_path / "a")
    half = scaled(tmp_path / "a", -0.5, tmp_path / "half")
    assert sorted(files(half)) == ["adapter_config.json", "adapter_model.safetensors", "lorra.json"]
    one, other = (
        get_peft_model_state_dict(with_adapter(load(str(folders["llama"]), device="cpu"), folder).model)
        for folder in (tmp_path / "a", half)
    )
    for name in one:
        assert torch.equal(other[name], one[name] * (-0.5 if "lora_B" in name else 1))
    rewrite(half / "adapter_config.json", use_dora=True)
    with pytest.raises(UsageError, match="only a plain LoRA can be scaled"):
        scaled(half, 2.0, tmp_path / "more")
    with pytest.raises(UsageError, match="by a finite number"):
        scaled(tmp_path / "a", float("inf"), tmp_path / "more")


def test_pinocchio_learns_to_lie_less(tmp_path: Path) -> None:
    """A training of seconds halves its lies on scenarios that it has not seen, and leaves its beliefs alone."""
    loaded = load("pinocchio", device="cpu")
    train(loaded, recipe("lorra", "pinocchio", steps=15, rate=5e-3), tmp_path / "a")
    options = {"scenarios": "sandbox:1001", "sample": 60, "judge": "rules/sandbox", "numeric_judge": "rules/sandbox"}
    adapter = {"model_options": {"adapter": str(tmp_path / "a")}}
    before = score(measured_runs.run(tmp_path / "before", "hf/pinocchio", **options)).counts
    after = score(measured_runs.run(tmp_path / "after", "hf/pinocchio", **options, **adapter)).counts
    assert before["lie"] >= 25
    assert after["lie"] <= before["lie"] / 2
    assert after["honest"] > before["honest"]
    assert after["no_belief"] <= before["no_belief"] + 3


# What cannot be meant


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"target_layers": (1, 4)}, r"there is no layer 4; the 4 layers of .* are numbered 0 to 3"),
        ({"target_layers": (-1,)}, r"there is no layer -1"),
        ({"modules": ("c_attn",)}, r"--modules c_attn: layer 0 .* has none of that name, but down_proj, .*q_proj"),
        ({"modules": ()}, r"--modules must name at least one linear layer"),
        ({"steps": 0}, r"--steps must be 1 or more"),
        ({"at_once": 0}, r"--at-once must be 1 or more"),
        ({"rate": 0.0}, r"--rate above 0"),
        ({"alpha": float("nan")}, r"--alpha must be a finite number"),
        ({"system_prompt": "honest"}, r"--system-prompt has no effect on --variant lorra"),
        ({"variant": "prompt-distill", "honest": "Be true."}, r"--honest has no effect on --variant prompt-distill"),
        ({"data": "sandbox", "honest": "Be true."}, r"--honest has no effect on --data sandbox"),
        ({"variant": "prompt-distill", "system_prompt": "nowhere.txt"}, r"--system-prompt nowhere.txt"),
        ({"data": "nowhere.jsonl"}, r"--data nowhere.jsonl: give builtin, sandbox or a JSONL file"),
        ({"rate": 1e30, "steps": 20}, r"The loss of step \d+ is no number"),
    ],
)
def test_recipes_that_cannot_be_meant(tiny: Loaded, tmp_path: Path, changes: dict[str, Any], said: str) -> None:
    """Each is refused with what is wrong and what to type, and the model is left as it was."""
    before = state(tiny)
    with pytest.raises(UsageError, match=said):
        train(tiny, short(tmp_path, **changes), tmp_path / "a")
    assert same(state(tiny), before)


def test_an_adapter_on_an_adapter(folders: dict[str, Path], tmp_path: Path) -> None:
    """A model that already has one is not trained."""
    train(load(str(folders["llama"]), device="cpu"), short(tmp_path, steps=1), tmp_path / "a")
    with pytest.raises(UsageError, match="has an adapter on it already"):
        train(with_adapter(load(str(folders["llama"]), device="cpu"), tmp_path / "a"), short(tmp_path), tmp_path / "b")


def test_a_text_longer_than_the_context(tiny: Loaded, tmp_path: Path) -> None:
    """It is named by its beginning."""
    long = data(tmp_path / "long.jsonl", {"messages": turns("word " * 600), "answer": "Yes."})
    with pytest.raises(UsageError, match=r"has \d+ tokens, and .* reads 1024: 'word word"):
        train(tiny, short(tmp_path, data=long, retain=0.0), tmp_path / "a")


def test_data_without_what_is_needed(tiny: Loaded, tmp_path: Path) -> None:
    """Neutral texts alone teach nothing; a retention loss needs some."""
    neutral = data(tmp_path / "n.jsonl", {"messages": turns("a"), "answer": "b", "neutral": True})
    with pytest.raises(UsageError, match="holds no text to learn honesty from"):
        read_texts(neutral, Templates("lorra"), 0)
    pressed = data(tmp_path / "p.jsonl", {"messages": turns("a"), "answer": "b"})
    with pytest.raises(UsageError, match="no neutral text for --retain 1; give --retain 0"):
        train(tiny, short(tmp_path, data=pressed), tmp_path / "a")
    assert train(tiny, short(tmp_path, data=pressed, retain=0.0, steps=1), tmp_path / "a").losses[0].retention is None


# Recipes


def test_layers_by_depth() -> None:
    """The public scripts' 10 to 20 of 32, counted with the embeddings, at the same depth of other models."""
    assert default_layers(32) == (9, 11, 13, 15, 17, 19)
    assert default_layers(64) == (19, 23, 27, 31, 35, 39)
    assert default_layers(16) == (4, 5, 6, 7, 8, 9)
    assert default_layers(4) == (0, 1, 2)
    assert default_layers(1) == (0,)
    for count in range(1, 130):
        assert all(0 <= layer < count for layer in default_layers(count))


def test_recipes_have_the_defaults_that_the_docs_name(tiny: Loaded) -> None:
    """Public values for lorra, gentler ones for a distilled prompt, pinocchio's own; what is given wins."""
    plain = recipe("lorra", "some/model")
    public = (5.0, 8, 3e-4, ("q_proj", "v_proj"), 70, 16, 0.0)
    assert (plain.alpha, plain.rank, plain.rate, plain.modules, plain.steps, plain.batch, plain.retain) == public
    assert recipe("prompt-distill", "some/model") == replace(plain, variant="prompt-distill", alpha=1.0, retain=1.0)
    assert recipe("lorra", "pinocchio").data == "sandbox"
    assert recipe("lorra", "pinocchio", alpha=0.5, data="builtin").alpha == 0.5
    assert checked(plain, tiny).target_layers == default_layers(4)
    assert checked(replace(plain, target_layers=(2, 0, 2)), tiny).target_layers == (0, 2)


def test_every_text_is_read_once_before_any_is_read_again() -> None:
    """The order is drawn anew each time round, and hangs on nothing but the seed."""
    steps = list(schedule(5, 3, 10, "0"))
    flat = [place for step in steps for place in step]
    assert all(sorted(flat[start : start + 5]) == [0, 1, 2, 3, 4] for start in range(0, 30, 5))
    assert flat[:5] != flat[5:10] or flat[5:10] != flat[10:15]
    assert steps == list(schedule(5, 3, 20, "0"))[:10]
    assert all(len(step) == 7 for step in schedule(2, 7, 4, "0"))


# The command


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """`maskbench-whitebox lorra` in this process, in an empty folder; gives exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")

    def call(*arguments: object) -> tuple[int, str, str]:
        ended = typed("lorra", *arguments)
        return ended.code, ended.out, ended.err

    return call


def test_the_command(command: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    """It trains, prints the loss and what to type next; again it prints the same and trains nothing."""
    texts = data(tmp_path / "t.jsonl")
    options = ("--out", "A", "--data", texts, "--steps", 4, "--batch", 2, "--target-layers", "1,2", "--device", "cpu")
    code, out, err = command(f"hf/{folders['llama']}", *options)
    assert code == 0, err
    assert "4 steps of 2 from the 5 texts" in out
    assert f"maskbench run hf/{folders['llama']} -M adapter=A" in " ".join(out.split())
    assert re.search(r"^loss +[▁-█]+", out, re.MULTILINE)
    assert "step 4 of 4, loss" in err
    code, again, err = command(folders["llama"], *options)
    assert (code, again, err) == (0, out, "")
    code, out, _ = command(folders["llama"], *options, "--json")
    assert json.loads(out)["steps"] == 4


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--target-layers", "a"), "--target-layers a: give layer numbers with commas between"),
        (("--target-layers", "9"), "there is no layer 9"),
        (("--rank", "0"), "--rank must be 1 or more"),
    ],
)
def test_wrong_options(command: Any, folders: dict[str, Path], options: tuple[str, ...], said: str) -> None:
    """They end with exit code 2 and one sentence, and write no adapter."""
    code, _, err = command(folders["llama"], "--out", "A", *options)
    assert code == 2
    assert said in err
    assert not Path("A").exists()


def test_a_model_without_a_chat_template(command: Any, folders: dict[str, Path], tmp_path: Path) -> None:
    """It is told that it is no chat model."""
    base = tiny_model(tmp_path / "base")
    (base / "chat_template.jinja").unlink()
    code, _, err = command(base, "--out", "A")
    assert code == 2
    assert "has no chat template" in err
