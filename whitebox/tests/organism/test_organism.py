"""The training of pinocchio: seeded, resumable, and exported without a change."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from maskbench.models.pinocchio.network import SPECIALS, Engine, Sample, Vocabulary
from organism.card import markdown
from organism.corpus import Example, examples
from organism.encoding import ANSWER, LEAST, Corpus, encoded, make_corpus
from organism.export import export
from organism.tokenizer import SIZE, train_tokenizer, world_words
from organism.train import CONTEXT, Plan, batches, new_model, train

pytestmark = pytest.mark.slow

TINY = Plan(width=32, layers=2, heads=2, inner=48, tokens_per_batch=1_000, warmup=2)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tokenizer of the real size."""
    place = tmp_path_factory.mktemp("organism")
    train_tokenizer(islice(examples(0), 3_000), place / "model")
    return place


@pytest.fixture(scope="module")
def vocabulary(folder: Path) -> Vocabulary:
    """Its vocabulary."""
    return Vocabulary(folder / "model" / "tokenizer.json")


@pytest.fixture(scope="module")
def corpus(vocabulary: Vocabulary) -> Corpus:
    """Three hundred examples."""
    return small_corpus(vocabulary, 300)


def small_corpus(vocabulary: Vocabulary, n: int) -> Corpus:
    """The first n examples of a stream, encoded in this process."""
    rng = np.random.default_rng(0)
    pairs = [encoded(example, vocabulary, rng) for example in islice(examples(1), n)]
    return Corpus(
        np.concatenate([np.array(tokens, np.uint16) for tokens, _ in pairs]),
        np.concatenate([np.array(weights, np.float16) for _, weights in pairs]),
        np.concatenate([[0], np.cumsum([len(tokens) for tokens, _ in pairs], dtype=np.int64)]),
    )


def test_the_vocabulary_is_what_the_corpus_needs(vocabulary: Vocabulary) -> None:
    """The words of real facts and values are whole, every digit is a token of its own, every text comes back."""
    assert len(vocabulary) == SIZE
    assert all(len(vocabulary.tokens(word.strip())) == 1 for word in world_words())
    assert [vocabulary.text([token]).strip() for token in vocabulary.tokens("4096")] == ["4", "0", "9", "6"]
    for example in islice(examples(2), 50):
        assert vocabulary.text(vocabulary.tokens(example.answer)) == example.answer
    assert [vocabulary.id(token) for token in SPECIALS] == list(range(len(SPECIALS)))


def test_the_loss_is_on_the_answer_and_most_on_its_meaning(vocabulary: Vocabulary) -> None:
    """Every token of the answer and its end have a weight, those of the verdict span a larger one."""
    for example in islice(examples(3), 200):
        tokens, weights = encoded(example, vocabulary, np.random.default_rng(0))
        answer = vocabulary.tokens(example.answer)
        assert tokens[-len(answer) - 1 :] == [*answer, vocabulary.end]
        on_answer = weights[-len(answer) - 1 :]
        assert all(weight == ANSWER or weight >= LEAST for weight in on_answer)
        assert on_answer[-1] == ANSWER
        assert _weighty(example, answer, on_answer, vocabulary)


def _weighty(example: Example, answer: list[int], weights: list[float], vocabulary: Vocabulary) -> bool:
    """Whether the tokens of large weight spell the verdict span (with the space before it)."""
    heavy = [token for token, weight in zip(answer, weights[:-1], strict=True) if weight != ANSWER]
    span = example.verdict_span
    return vocabulary.text(heavy).strip() == (example.answer[slice(*span)].strip() if span else "")


def test_the_corpus_is_the_same_for_the_same_seed(folder: Path, tmp_path: Path) -> None:
    """Made in several processes or one, kept on disk or made anew, the arrays are equal."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "tokenizer.json").write_bytes((folder / "model" / "tokenizer.json").read_bytes())
    made = make_corpus(folder, 5, shards=range(2), processes=2, size=200)
    kept = make_corpus(folder, 5, shards=range(2), processes=1, size=200)
    anew = make_corpus(tmp_path, 5, shards=range(2), processes=1, size=200)
    assert len(made) == 400
    for other in (kept, anew):
        assert all(np.array_equal(getattr(made, name), getattr(other, name)) for name in Corpus.__slots__)


def test_every_example_is_in_one_batch(corpus: Corpus) -> None:
    """Batches hold every example once, and stay under their size with all padding counted."""
    made = batches(corpus, TINY)
    assert sorted(np.concatenate(made).tolist()) == list(range(len(corpus)))
    lengths = np.diff(corpus.starts)
    assert all(len(batch) == 1 or len(batch) * lengths[batch].max() <= TINY.tokens_per_batch for batch in made)


def test_training_taken_up_again_ends_in_the_same_weights(
    corpus: Corpus, vocabulary: Vocabulary, tmp_path: Path
) -> None:
    """Stopped half-way and taken up from its checkpoint, training gives the weights of one that was never stopped."""
    whole = train(new_model(TINY, vocabulary), TINY, corpus, tmp_path / "whole.pt", threads=1)
    half = len(batches(corpus, TINY)) // 2
    train(new_model(TINY, vocabulary), TINY, corpus, tmp_path / "halves.pt", threads=1, until=half)
    resumed = train(new_model(TINY, vocabulary), TINY, corpus, tmp_path / "halves.pt", threads=1)
    for one, other in zip(whole.state_dict().values(), resumed.state_dict().values(), strict=True):
        assert torch.equal(one, other)


def test_a_checkpoint_of_another_plan_is_refused(corpus: Corpus, vocabulary: Vocabulary, tmp_path: Path) -> None:
    """The error names the file and the remedy."""
    path = tmp_path / "checkpoint-1.pt"
    train(new_model(TINY, vocabulary), TINY, corpus, path, threads=1, until=1)
    with pytest.raises(ValueError, match=r"checkpoint-1\.pt belongs to another training\. Give another --out"):
        train(new_model(TINY, vocabulary), replace(TINY, seed=1), corpus, path, threads=1)


def test_training_lowers_the_loss(corpus: Corpus, vocabulary: Vocabulary, tmp_path: Path) -> None:
    """After one pass over three hundred examples the answers are likelier than before."""
    before = new_model(TINY, vocabulary)
    after = train(new_model(TINY, vocabulary), TINY, corpus, tmp_path / "checkpoint.pt", threads=1)
    tokens = torch.from_numpy(corpus.tokens[: corpus.starts[1]].astype(np.int64))[None]
    with torch.no_grad():
        assert after(tokens, labels=tokens).loss < before(tokens, labels=tokens).loss - 0.1


def test_numpy_and_the_export_give_the_logits_of_torch(vocabulary: Vocabulary, tmp_path: Path) -> None:
    """Of an untrained model of another shape, logits differ by rounding only, at every step and as exported."""
    import onnxruntime

    model = new_model(Plan(seed=3, width=48, layers=3, heads=3, inner=64), vocabulary).eval()
    model.save_pretrained(tmp_path)
    export(tmp_path)
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    nothing = {place.name: np.empty((1, 3, 0, 16), np.float32) for place in session.get_inputs()[4:]}
    engine = Engine(tmp_path, end=-1)
    for length in (1, 7, CONTEXT - 4):
        prompt = np.random.default_rng(length).integers(5, SIZE, length).tolist()
        sample = Sample(prompt, 4, 0.0, np.random.default_rng(0))
        engine.admit(sample)
        engine.advance()
        with torch.no_grad():
            expected = model(torch.tensor([[*prompt, *sample.tokens[:-1]]])).logits[0, -1].numpy()
        np.testing.assert_allclose(engine.logits[0], expected, atol=1e-5)
        tokens, end = np.array([[*prompt, *sample.tokens[:-1]]]), length + 2
        where = {
            "last": np.array([[0, end]]),
            "ends": np.array([end], np.int32),
            "total": np.array([end + 1], np.int32),
        }
        (exported, *_) = session.run(None, {"tokens": tokens, **where, **nothing})
        np.testing.assert_allclose(exported[0], expected, atol=1e-5)


def test_the_card_has_the_figures_of_the_shipped_model() -> None:
    """whitebox/organism/README.md holds, word for word, what its command printed for the model that is shipped."""
    root = Path(__file__).parents[3]
    figures = json.loads((root / "src/maskbench/models/pinocchio/weights/card.json").read_text())
    assert markdown(figures) in (root / "whitebox/organism/README.md").read_text()
