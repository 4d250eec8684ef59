"""Steering vectors: what is kept in the file, what the controls keep, and what is refused."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch

from maskbench.errors import UsageError
from maskbench_whitebox.models.vectors import Vectors, load_vectors


def drawn(layers: int = 3, hidden: int = 16, seed: int = 0) -> Vectors:
    """Random vectors whose neighbouring layers are alike, as those of a residual stream are."""
    steps = torch.randn(layers, hidden, generator=torch.Generator().manual_seed(seed))
    return Vectors(dict(enumerate(steps.cumsum(dim=0))), {"model": "some/model", "auc": [0.5] * layers})


def stacked(vectors: Vectors) -> torch.Tensor:
    """(layers, hidden)"""
    return torch.stack(list(vectors.directions.values()))


def test_a_file_gives_back_what_was_put_in(tmp_path: Path) -> None:
    """Directions to the bit, layers and metadata are the same after saving and loading."""
    vectors = drawn()
    vectors.save(tmp_path / "v.safetensors")
    again = load_vectors(tmp_path / "v.safetensors")
    assert torch.equal(stacked(again), stacked(vectors))
    assert again.layers == (0, 1, 2)
    assert {**vectors.about, "format": "maskbench-vectors-1"} == again.about
    assert again.content_hash == vectors.content_hash


def test_the_same_vectors_give_the_same_bytes(tmp_path: Path) -> None:
    """Nothing but the content decides what is written."""
    for name in ("a", "b"):
        drawn().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_the_hash_stands_for_the_directions() -> None:
    """It changes with a number or a layer, and not with what is said of them."""
    vectors = drawn()
    moved = Vectors({layer + 1: direction for layer, direction in vectors.directions.items()})
    others = {drawn(seed=1).content_hash, moved.content_hash, vectors.negated().content_hash}
    assert len({vectors.content_hash, *others}) == 4
    assert vectors.labelled(created="today").content_hash == vectors.content_hash


def test_the_order_of_layers_is_put_right() -> None:
    """Vectors given in another order are the same vectors."""
    vectors = drawn()
    turned = Vectors(dict(reversed(list(vectors.directions.items()))))
    assert turned.layers == (0, 1, 2)
    assert turned.content_hash == vectors.content_hash


def test_negated_twice_is_as_before() -> None:
    """The negated control points the other way, and names what it was made of."""
    vectors = drawn()
    assert torch.equal(stacked(vectors.negated()), -stacked(vectors))
    assert vectors.negated().about["of"] == vectors.content_hash
    assert vectors.negated().negated().content_hash == vectors.content_hash


@pytest.mark.parametrize(("layers", "hidden"), [(1, 16), (3, 16), (16, 16), (24, 16)])
def test_random_directions_keep_lengths_and_angles(layers: int, hidden: int) -> None:
    """A random control is as long as the vectors in each layer, and its layers are as alike as theirs."""
    vectors = drawn(layers, hidden)
    control = stacked(vectors.random(Random(1)))
    assert torch.allclose(control @ control.T, stacked(vectors) @ stacked(vectors).T, atol=1e-4)
    assert not torch.allclose(control, stacked(vectors), atol=0.1)


def test_random_directions_hang_on_the_generator_alone() -> None:
    """Equal generators give the same control, and its next draw another."""
    vectors, rng = drawn(), Random(7)
    first, second = vectors.random(rng), vectors.random(rng)
    assert first.content_hash == vectors.random(Random(7)).content_hash != second.content_hash


def test_random_directions_lean_nowhere() -> None:
    """Over many draws, the cosine with the vectors is zero on average and spread as chance has it."""
    vectors, rng = drawn(1, 16), Random(0)
    cosines = torch.stack(
        [torch.cosine_similarity(vectors.directions[0], vectors.random(rng).directions[0], dim=0) for _ in range(400)]
    )
    assert abs(float(cosines.mean())) < 4 * 0.25 / 20
    assert float(cosines.std()) == pytest.approx(0.25, rel=0.2)  # 1 / sqrt(16)


def test_drawing_leaves_torchs_own_generator_alone() -> None:
    """Randomness is passed in; the global state of torch is not touched."""
    before = torch.random.get_rng_state()
    drawn().random(Random(0))
    assert torch.equal(torch.random.get_rng_state(), before)


@pytest.mark.parametrize(
    ("directions", "problem"),
    [
        ({}, "at least one layer"),
        ({0: torch.ones(3), 1: torch.ones(4)}, "same length"),
        ({0: torch.ones(2, 2)}, "same length"),
        ({-1: torch.ones(3)}, "the first layer is 0"),
        ({0: torch.tensor([1.0, float("nan")])}, "not finite in layer 0"),
    ],
)
def test_what_cannot_be_added_is_refused(directions: dict[int, torch.Tensor], problem: str) -> None:
    """No layer, different lengths, a negative layer and numbers that are none are errors that say so."""
    with pytest.raises(UsageError, match=problem):
        Vectors(directions)


def _tensors(path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"layer.0": torch.ones(4)}, path)


def _named_otherwise(path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"weight": torch.ones(4)}, path, metadata={"maskbench": '{"format": "maskbench-vectors-1"}'})


def _far_layer(path: Path) -> None:
    from safetensors.torch import save_file

    about = {"maskbench": '{"format": "maskbench-vectors-1"}'}
    save_file({"layer.99999999999999999999": torch.ones(4)}, path, metadata=about)


def _text(path: Path) -> None:
    path.write_text("no tensors here")


def _broken_metadata(path: Path) -> None:
    from safetensors.torch import save_file

    save_file({"layer.0": torch.ones(4)}, path, metadata={"maskbench": "{"})


@pytest.mark.parametrize(
    ("write", "problem"),
    [
        (lambda path: None, "is no file. `maskbench-whitebox steer MODEL --out v.safetensors` writes one"),
        (_text, "cannot be read as safetensors"),
        (_broken_metadata, "cannot be read as safetensors"),
        (_tensors, "no steering vectors of maskbench"),
        (_named_otherwise, "holds a tensor 'weight'"),
        (_far_layer, "expected were layer.0, layer.1"),
    ],
)
def test_a_file_that_holds_no_vectors_is_refused(tmp_path: Path, write: Callable[[Path], None], problem: str) -> None:
    """What is missing, no safetensors, or something else is named, with what to type."""
    write(tmp_path / "v.safetensors")
    with pytest.raises(UsageError, match=problem):
        load_vectors(tmp_path / "v.safetensors")


def test_a_control_vector_of_repeng_is_read(tmp_path: Path) -> None:
    """`direction.n` of a gguf file, as repeng exports it, is what is added to layer n."""
    gguf = pytest.importorskip("gguf", reason="the package gguf is not installed")
    writer = gguf.GGUFWriter(tmp_path / "v.gguf", "controlvector")
    writer.add_string("controlvector.model_hint", "llama")
    writer.add_uint32("controlvector.layer_count", 2)
    for layer in (1, 2):
        writer.add_tensor(f"direction.{layer}", torch.arange(4.0).add(layer).numpy())
    for write in (writer.write_header_to_file, writer.write_kv_data_to_file, writer.write_tensors_to_file):
        write()
    writer.close()
    vectors = load_vectors(tmp_path / "v.gguf")
    assert vectors.layers == (1, 2)
    assert vectors.directions[2].tolist() == [2.0, 3.0, 4.0, 5.0]


def test_a_broken_gguf_file_is_refused(tmp_path: Path) -> None:
    """Whether or not the package gguf is there, the error says what to do."""
    (tmp_path / "v.gguf").write_bytes(b"GGUF, but no more than that")
    with pytest.raises(UsageError, match=r"pip install gguf|cannot be read as gguf"):
        load_vectors(tmp_path / "v.gguf")
