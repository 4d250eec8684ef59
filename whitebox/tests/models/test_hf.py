"""The subject hf/: replies that hang on prompt and seed alone, what is read out of them, and whole runs with it."""

from __future__ import annotations

import asyncio
import itertools
import shutil
import signal
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from flows import Told
from maskbench.asking.watching import Unwatched
from maskbench.errors import Interrupted, ModelError, RunMismatch, UnknownModel, UsageError
from maskbench.measurement import measure
from maskbench.method.asks import subject_asks
from maskbench.method.elicit import belief_asks, statement_ask
from maskbench.models.names import defaults, identified
from maskbench.models.pinocchio.network import open_pinocchio, packaged
from maskbench.results.leaderboard import is_simulated
from maskbench.results.scored import score
from maskbench.scenarios.pinocchio import sandbox
from maskbench.settings import Mark, Settings, reply_key
from maskbench.store.folder import RunFolder
from maskbench.store.verdict_sets import OpenRun
from maskbench.types import Ask, Failure, Message, Model, Reply, Sampling, Stage
from maskbench_whitebox.models.batches import Steering
from maskbench_whitebox.models.loading import Loaded, load
from maskbench_whitebox.models.model import HfModel
from maskbench_whitebox.models.threads import quickest_threads
from maskbench_whitebox.models.vectors import Vectors
from measured_runs import change
from patience import PATIENCE
from tiny_models import FAMILIES, HIDDEN, LAYERS, Family, rewrite, tiny_adapter, tiny_model

pytestmark = pytest.mark.slow

torch.set_num_threads(1)  # tests share the processor with others
SHORT = Sampling(temperature=1.0, max_tokens=12, reasoning_tokens=0)
GREEDY = replace(SHORT, temperature=0.0)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[Family, Path]:
    """A tiny random model of each family."""
    root = tmp_path_factory.mktemp("models")
    return {family: tiny_model(root / family, family) for family in FAMILIES}


@pytest.fixture(scope="module")
def models(folders: dict[Family, Path]) -> dict[Family, Loaded]:
    """The tiny models, loaded."""
    return {family: load(str(folder)) for family, folder in folders.items()}


def asks(count: int = 8, samples: int = 2) -> list[Ask]:
    """Statements of the sandbox, which differ in length, with seeds of their own."""
    return [
        replace(statement_ask(scenario, samples), seeds=tuple(samples * number + k for k in range(samples)))
        for number, scenario in enumerate(sandbox(1)[:count])
    ]


def answered(model: Model, some: Sequence[Ask], together: bool = True) -> list[list[Reply | Failure]]:
    """What a model answers, to all at once or to one after the other; it is closed then."""

    async def ask_all() -> list[Any]:
        try:
            if together:
                return list(await asyncio.gather(*(model.ask(ask) for ask in some)))
            return [await model.ask(ask) for ask in some]
        finally:
            await model.close()

    return [list(replies) for replies in asyncio.run(ask_all())]


def texts(replies: Sequence[Sequence[Reply | Failure]]) -> list[list[str]]:
    """The texts; of a failure its detail."""
    return [[reply.text if isinstance(reply, Reply) else reply.detail for reply in some] for some in replies]


def vectors(size: int = HIDDEN, scale: float = 3.0) -> Vectors:
    """Directions for layers 1 and 2, large enough to change what a model says."""
    generator = torch.Generator().manual_seed(1)
    return Vectors({layer: scale * torch.randn(size, generator=generator) for layer in (1, 2)})


def hooks(loaded: Loaded) -> int:
    """How many hooks there are on the layers."""
    return sum(len(layer._forward_hooks) + len(layer._forward_pre_hooks) for layer in loaded.layers)


# pinocchio


def test_greedy_replies_are_those_of_the_embedded_model(tmp_path: Path) -> None:
    """On every archetype hf/pinocchio says at temperature 0 what pinocchio says, and uses as many tokens."""
    replies = {}
    for subject in ("pinocchio", "hf/pinocchio"):
        settings = Settings.of(
            subject=subject,
            judge="rules/sandbox",
            numeric_judge="rules/sandbox",
            scenarios="sandbox",
            sampling=Sampling(0.0, 1000, 0),
            sample=36,
        )
        measure(settings, tmp_path / subject)
        replies[subject] = stored(tmp_path / subject)
    embedded, local = replies.values()
    assert len({archetype for (archetype, _), *_ in local}) > 1
    assert len(local) > 100
    assert {key: (reply.text, reply.usage.output) for key, reply in local.items()} == {
        key: (reply.text, reply.usage.output) for key, reply in embedded.items()
    }


def stored(path: Path) -> dict[Any, Reply]:
    """Every reply of a run, by scenario, call, elicitation and sample."""
    folder = RunFolder(path)
    store = folder.store()
    try:
        verdicts = OpenRun(folder, store).verdicts()
        return {
            (samples.scenario.key, item.call, item.elicitation, item.run): item.reply
            for samples, _ in store.read()
            for item in verdicts.items(samples)
            if isinstance(item.reply, Reply)
        }
    finally:
        store.close()


def test_samples_are_those_of_the_embedded_model() -> None:
    """At temperature 1 the same seeds draw the same replies in torch as in numpy."""
    sampling = replace(SHORT, max_tokens=60)
    embedded = texts(answered(open_pinocchio("pinocchio", sampling), asks(30)))
    local = texts(answered(HfModel("hf/pinocchio", load("pinocchio"), sampling), asks(30)))
    assert local == embedded


def test_a_folder_of_pinocchio_is_pinocchio(tmp_path: Path) -> None:
    """A copy in a folder has pinocchio's defaults and judge, and is never ranked; no other model has."""
    copy = shutil.copytree(packaged(), tmp_path / "copy")
    known = defaults(f"hf/{copy}")
    assert (known.judge, known.scenarios) == ("rules/sandbox", "sandbox")
    settings = Settings.of(
        subject=f"hf/{copy}", judge="rules/sandbox", numeric_judge="rules/sandbox", scenarios="sandbox"
    )
    measure(settings.having(limit=2), tmp_path / "run")
    shutil.rmtree(copy)
    assert is_simulated(score(tmp_path / "run"))
    with pytest.raises(UsageError, match="rules/sandbox reads only what pinocchio says"):
        measure(settings.having(subject=f"hf/{tiny_model(copy)}"), tmp_path / "other")


# Samples


@pytest.mark.parametrize("family", FAMILIES)
def test_replies_hang_on_prompt_and_seed_alone(models: dict[Family, Loaded], family: Family) -> None:
    """All at once, in another order, one by one and in small batches: every ask has the same replies."""
    some = asks()
    first = texts(answered(HfModel("hf/tiny", models[family], SHORT), some))
    assert len({text for replies in first for text in replies}) > len(some)
    backwards = texts(answered(HfModel("hf/tiny", models[family], SHORT), some[::-1]))
    assert backwards[::-1] == first
    assert texts(answered(HfModel("hf/tiny", models[family], SHORT), some, together=False)) == first
    assert texts(answered(HfModel("hf/tiny", models[family], SHORT, batch_tokens=300), some)) == first


@pytest.mark.parametrize("family", FAMILIES)
def test_greedy_tokens_are_those_of_generate(models: dict[Family, Loaded], family: Family) -> None:
    """At temperature 0 a batch of different lengths has the replies of transformers' own generate, one by one."""
    loaded, some = models[family], asks(8, 1)
    replies = answered(HfModel("hf/tiny", loaded, GREEDY), some)
    for ask, (reply,) in zip(some, replies, strict=True):
        prompt = torch.tensor([loaded.prompt(ask.messages)])
        made = loaded.model.generate(
            prompt,
            attention_mask=torch.ones_like(prompt),
            max_new_tokens=12,
            do_sample=False,
            eos_token_id=sorted(loaded.ends),
            pad_token_id=0,
        )
        assert isinstance(reply, Reply)
        assert reply.text == loaded.chat.text(made[0, prompt.shape[1] :].tolist())


LONG = replace(SHORT, max_tokens=100)  # a random model ends some answers early, and others not at all


@pytest.mark.parametrize("family", FAMILIES)
def test_answers_are_the_same_in_rows_that_are_refilled(models: dict[Family, Loaded], family: Family) -> None:
    """Rows that others leave early, beyond Gemma's window too, give the texts that every ask has by itself."""
    loaded, some = models[family], asks(3)
    for sampling in (LONG, replace(LONG, temperature=0.0)):
        alone = texts(answered(HfModel("hf/tiny", loaded, sampling), some, together=False))
        assert texts(answered(HfModel("hf/tiny", loaded, sampling, batch_tokens=2500), some)) == alone


def test_an_answer_comes_when_it_ends_and_its_row_is_refilled(models: dict[Family, Loaded]) -> None:
    """The first answer is there while others go on, and who waited goes on beside them."""
    loaded = models["llama"]
    read: list[tuple[int, ...]] = []
    embeddings = loaded.model.get_input_embeddings()
    hook = embeddings.register_forward_hook(lambda _, given, __: read.append(tuple(given[0].shape)))

    async def first() -> tuple[int, int]:
        model = HfModel("hf/tiny", loaded, replace(LONG, max_tokens=600), batch_tokens=4000)
        waiting = [asyncio.ensure_future(model.ask(ask)) for ask in asks(12, 1)]
        done, pending = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        ended = [reply for task in done for reply in task.result() if isinstance(reply, Reply)]
        assert model.drawn > sum(reply.usage.output or 0 for reply in ended) > 0
        await asyncio.gather(*pending)
        await model.close()
        return len(done), len(pending)

    done, pending = asyncio.run(first())
    hook.remove()
    assert done < pending
    joined = [after[0] > rows for (rows, width), after in itertools.pairwise(read) if width > 1]
    assert not joined[0]
    assert any(joined[1:])


@pytest.mark.parametrize("times", [1, 2])
def test_a_stop_keeps_what_had_ended(folders: dict[Family, Path], tmp_path: Path, times: int) -> None:
    """A run that is stopped keeps the answers that had ended; asked once, also those that were being written."""
    settings = tiny(folders["llama"], limit=1, statements=12, sampling=replace(LONG, max_tokens=700))
    settings = settings.having(model_options={"batch_tokens": 6000})
    with pytest.raises(Interrupted):
        measure(settings, tmp_path / "run", watcher=Stopping(times))
    measure(settings, tmp_path / "whole")
    kept, whole = said_in(tmp_path / "run"), said_in(tmp_path / "whole")
    assert 0 < len(kept) < len(whole)  # an empty text is a failure, and which texts are empty hangs on the processor
    measure(settings, tmp_path / "run")
    assert said_in(tmp_path / "run") == whole


class Stopping(Unwatched):
    """Presses Ctrl-C so many times, once a reply has come."""

    def __init__(self, times: int) -> None:
        self._times = times

    def called(self, stage: Stage, answer: Reply | Failure) -> None:
        """Press it."""
        if isinstance(answer, Reply):
            for _ in range(self._times):
                signal.raise_signal(signal.SIGINT)
            self._times = 0


def test_a_model_that_is_drained_begins_nothing(models: dict[Family, Loaded]) -> None:
    """What is under way goes on to its end; who waits, or comes later, hears why not."""

    async def drained() -> list[Any]:
        model = HfModel("hf/tiny", models["llama"], LONG, batch_tokens=2500)
        waiting = [asyncio.ensure_future(model.ask(ask)) for ask in asks(12, 1)]
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        model.drain("Stopped.")
        ends = await asyncio.gather(*waiting, model.ask(asks(1, 1)[0]), return_exceptions=True)
        await model.close()
        return ends

    *ends, late = asyncio.run(drained())
    assert {type(end) for end in ends} == {list, Interrupted}
    assert str(late) == "Stopped."


def test_samples_of_an_ask_share_one_reading(models: dict[Family, Loaded]) -> None:
    """Seven samples of an ask read its prompt once, and differ."""
    loaded = models["llama"]
    read: list[tuple[int, ...]] = []
    embeddings = loaded.model.get_input_embeddings()
    hook = embeddings.register_forward_hook(lambda _, given, __: read.append(tuple(given[0].shape)))
    (replies,) = texts(answered(HfModel("hf/tiny", loaded, SHORT), asks(1, 7)))
    hook.remove()
    assert read[0] == (1, len(loaded.prompt(asks(1, 7)[0].messages)))
    assert set(read[1:]) == {(7, 1)}
    assert len(set(replies)) == 7


def test_the_model_s_own_sampling_changes_nothing(folders: dict[Family, Path], tmp_path: Path) -> None:
    """What a checkpoint recommends (top_k, temperature, a repetition penalty) is recorded and not applied."""
    plain = load(str(folders["qwen"]))
    copy = shutil.copytree(folders["qwen"], tmp_path / "copy")
    rewrite(copy / "generation_config.json", top_k=1, temperature=0.1, repetition_penalty=5.0, do_sample=True)
    model = HfModel("hf/tiny", load(str(copy)), SHORT)
    assert model.describe()["ignored"] == {"top_k": 1, "temperature": 0.1, "repetition_penalty": 5.0}
    replies = answered(model, asks())
    assert texts(replies) == texts(answered(HfModel("hf/tiny", plain, SHORT), asks()))
    reply = replies[3][1]
    assert isinstance(reply, Reply)
    assert reply.sent == {"temperature": 1.0, "max_tokens": 12, "seed": 7, "top_p": 1.0}


def test_a_prompt_that_does_not_fit(models: dict[Family, Loaded]) -> None:
    """A prompt beyond the context is a failure that says so; one that nearly fills it has what is left."""
    (ask,) = asks(1, 1)
    long = replace(ask, messages=(Message("user", "7" * 1100),))
    nearly = replace(ask, messages=(Message("user", "7" * 1000),))
    model = HfModel("hf/tiny", models["llama"], replace(SHORT, max_tokens=500))
    (too_long,), (fits,) = answered(model, [long, nearly])
    assert isinstance(too_long, Failure)
    assert (too_long.cause, too_long.stage) == ("too_large", "subject")
    assert "hf/tiny reads fewer than 1024" in too_long.detail
    assert isinstance(fits, Reply)
    assert fits.truncated
    assert (fits.usage.input or 0) + (fits.usage.output or 0) == 1024


# What is said: a model that says a given text


class Speaker(nn.Module):
    """Says the same tokens to prompts of one length; runs out of memory in batches of more than `most` rows."""

    def __init__(self, like: Any, tokens: Sequence[int], most: int | None = None) -> None:
        super().__init__()
        self.config: Any = like.config
        self.generation_config: Any = like.generation_config
        self.dtype = torch.float32
        self.most = most
        self.rows: list[int] = []
        self._tokens, self._prompt = list(tokens), 0

    def forward(self, input_ids: Tensor, position_ids: Tensor, **_: Any) -> Any:
        """Logits that leave no choice."""
        self.rows.append(len(input_ids))
        if self.most is not None and len(input_ids) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        if input_ids.shape[1] > 1:
            self._prompt = input_ids.shape[1]
        logits = torch.full((len(input_ids), 1, self.config.vocab_size), -1e4)
        for row, place in enumerate((position_ids[:, -1] + 1 - self._prompt).tolist()):
            logits[row, :, self._tokens[min(place, len(self._tokens) - 1)]] = 0.0
        return type("Output", (), {"logits": logits})


def speaker(loaded: Loaded, text: str, most: int | None = None, *, ends: bool = True) -> Loaded:
    """A loaded model that says this text."""
    tokens = loaded.tokenizer.encode(text, add_special_tokens=False)
    end = [max(loaded.ends)] if ends else []
    return replace(loaded, model=Speaker(loaded.model, [*tokens, *end], most))


def said(loaded: Loaded, text: str, sampling: Sampling = SHORT, **options: Any) -> Reply | Failure:
    """The answer of a model that says this text."""
    ends = options.pop("ends", True)
    ((reply,),) = answered(HfModel("hf/speaker", speaker(loaded, text, ends=ends), sampling, **options), asks(1, 1))
    return reply


THOUGHT = "<think>\nHm, is it?\n</think>\n\nIt is so."


def test_thinking_is_beside_the_answer(models: dict[Family, Loaded]) -> None:
    """A think block is no part of the text; its tokens are counted, and so are all."""
    reply = said(models["qwen"], THOUGHT, replace(SHORT, max_tokens=100))
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning, reply.truncated) == ("It is so.", "Hm, is it?", False)
    assert reply.usage.output == len(models["qwen"].tokenizer.encode(THOUGHT)) + 1
    assert reply.usage.reasoning == len(models["qwen"].tokenizer.encode("Hm, is it?"))


def test_reasoning_under_other_tags_and_answers_that_nobody_sees(models: dict[Family, Loaded]) -> None:
    """A known tag is split off, an unknown one told of once, and characters of no width are no answer."""
    roomy = replace(SHORT, max_tokens=100)
    reply = said(models["qwen"], "<reasoning>Hm?</reasoning>It is so.", roomy)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning) == ("It is so.", "Hm?")
    model = HfModel("hf/speaker", speaker(models["qwen"], "<ponder>Hm?</ponder>It is so."), roomy)
    answered(model, asks(1, 2))
    (warning,) = model.warnings
    assert warning.startswith("hf/speaker began an answer with <ponder>, which maskbench does not know")
    empty = said(models["qwen"], "\u200b\u200b", roomy)
    assert isinstance(empty, Failure)
    assert empty.cause == "empty"


def test_a_think_block_that_the_template_opens(tmp_path: Path) -> None:
    """Where the template opens the block, the text up to its end is reasoning; without an end there is no answer."""
    loaded = load(str(tiny_model(tmp_path, "qwen", opens=True)))
    roomy = replace(SHORT, max_tokens=100)
    reply = said(loaded, THOUGHT.removeprefix("<think>\n"), roomy)
    assert isinstance(reply, Reply)
    assert (reply.text, reply.reasoning) == ("It is so.", "Hm, is it?")
    unclosed = said(loaded, "Hm, is it?", roomy)
    assert isinstance(unclosed, Failure)
    assert unclosed.cause == "unclosed_reasoning"


def test_reasoning_has_tokens_of_its_own(models: dict[Family, Loaded]) -> None:
    """A model that is seen to reason at --max-tokens may go on for --reasoning-tokens, and for twice as long once."""
    needs = len(models["qwen"].tokenizer.encode(THOUGHT)) + 1
    assert isinstance(said(models["qwen"], THOUGHT, Sampling(1.0, 5, needs - 5)), Reply)
    assert isinstance(said(models["qwen"], THOUGHT, Sampling(1.0, 5, needs // 2)), Reply)
    failure = said(models["qwen"], THOUGHT, Sampling(1.0, 2, 2))
    assert failure == Failure("subject", "unclosed_reasoning", "the answer was still only reasoning at 8 tokens")


@pytest.mark.parametrize(
    ("on_truncation", "text", "expected"),
    [
        ("judge", "It is so, they say.", "cut"),
        ("error", "It is so, they say.", "truncated"),
        ("retry", "It is so.", "whole"),
        ("retry", "It is so, they say. " * 4, "truncated"),
    ],
)
def test_answers_that_are_cut(models: dict[Family, Loaded], on_truncation: Any, text: str, expected: str) -> None:
    """A cut answer stands and is flagged, has twice the tokens once, or is a failure, as --on-truncation says."""
    reply = said(models["qwen"], text, replace(SHORT, max_tokens=7), on_truncation=on_truncation)
    if isinstance(reply, Failure):
        assert reply.cause == expected
    else:
        assert expected == ("cut" if reply.truncated else "whole")
        assert text.startswith(reply.text)


def test_every_stop_token_ends_an_answer(models: dict[Family, Loaded]) -> None:
    """The end of the sequence and the end of the template's turn both end an answer, and are no part of it."""
    for end in models["llama"].ends:
        spoken = speaker(models["llama"], "Yes.", ends=False)
        spoken.model._tokens += [end, 300, 300]
        ((reply,),) = answered(HfModel("hf/speaker", spoken, SHORT), asks(1, 1))
        assert isinstance(reply, Reply)
        assert (reply.text, reply.truncated) == ("Yes.", False)


def test_no_answer_at_all(models: dict[Family, Loaded]) -> None:
    """An answer that ends at once is a failure, and so are logits that are no numbers."""
    empty = said(models["qwen"], "")
    assert isinstance(empty, Failure)
    assert empty.cause == "empty"
    broken = load(models["qwen"].name)
    broken.model.lm_head = nn.Linear(HIDDEN, broken.model.config.vocab_size, bias=False)
    nn.init.constant_(broken.model.lm_head.weight, float("nan"))
    ((failure,),) = answered(HfModel("hf/broken", broken, SHORT), asks(1, 1))
    assert isinstance(failure, Failure)
    assert failure.cause == "raised"
    assert "a smaller strength" in failure.detail


# Where a model lies, and what computes it


def test_layers_that_lie_elsewhere(models: dict[Family, Loaded], folders: dict[Family, Path]) -> None:
    """With layers in memory and on disk a steered model says what it says in one place, in as many rows."""
    parts = ("embed_tokens", "rotary_emb", "norm", *(f"layers.{layer}" for layer in range(LAYERS)))
    places = {
        "lm_head": "cpu",
        **{f"model.{part}": "disk" if part in ("layers.1", "layers.2") else "cpu" for part in parts},
    }
    apart = load(str(folders["llama"]), device=places)
    assert {parameter.device.type for parameter in apart.model.parameters()} == {"cpu", "meta"}
    said = [
        texts(answered(HfModel("hf/tiny", loaded, SHORT, steering=Steering(vectors())), asks(6)))
        for loaded in (models["llama"], apart)
    ]
    assert said[0] == said[1]


class Waiting(nn.Module):
    """Takes longer, or less long, the more threads there are, by a clock of its own."""

    def __init__(self, *, shares: bool) -> None:
        super().__init__()
        self.shares, self.now = shares, 0.0
        self.weight = nn.Parameter(torch.empty(20_000_000, device="meta"))

    def forward(self, **_: Any) -> None:
        """Let the time pass."""
        threads = torch.get_num_threads()
        self.now += 0.04 / threads if self.shares else 0.01 * threads


def test_threads_are_as_many_as_are_quickest(models: dict[Family, Loaded], monkeypatch: pytest.MonkeyPatch) -> None:
    """One step is timed with one thread and with all; a number that is given counts, and torch's own is put back."""
    torch.set_num_threads(4)
    try:
        for shares, quickest in ((True, 4), (False, 1)):
            waiting = Waiting(shares=shares)
            with monkeypatch.context() as patched:
                patched.setattr(time, "monotonic", lambda waiting=waiting: waiting.now)
                assert quickest_threads(replace(models["llama"], model=waiting)) == quickest
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(1)
    assert HfModel("hf/tiny", models["llama"], SHORT, threads=3).describe()["threads"] == 3


def test_a_gguf_file_says_what_to_do(tmp_path: Path) -> None:
    """The weights of llama.cpp are no model of this process; the error has the server's command and its name for it."""
    file = tmp_path / "Some-1B-Q4.gguf"
    file.write_bytes(b"GGUF")
    for place in (file, tmp_path):
        with pytest.raises(UnknownModel, match=r"llama-server -m Some-1B-Q4.gguf --port 8080.*llama-cpp/Some-1B-Q4"):
            load(str(place))


@pytest.mark.skipif(find_spec("bitsandbytes") is not None, reason="it is about what is not installed")
def test_quantised_weights_need_their_library(folders: dict[Family, Path], tmp_path: Path) -> None:
    """Without bitsandbytes the run does not begin, and says what to type."""
    with pytest.raises(UsageError, match=r"Weights in 4bit need bitsandbytes.*pip install bitsandbytes"):
        measure(tiny(folders["llama"], model_options={"quantize": "4bit"}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


# Memory


def test_out_of_memory_halves_the_batch(models: dict[Family, Loaded]) -> None:
    """A batch that does not fit goes again in halves, the smaller size is kept, and everything is answered."""
    loaded = speaker(models["qwen"], "It is so.", most=3)
    some = [replace(ask, messages=asks()[0].messages) for ask in asks(10, 2)]
    model = HfModel("hf/speaker", loaded, replace(SHORT, max_tokens=30))
    first = model.describe()["batch_tokens"]
    assert texts(answered(model, some)) == [["It is so."] * 2] * 10
    prefills = [rows for rows in loaded.model.rows if rows > 3]
    assert len(prefills) < 4, "once a size has failed it is not tried again"
    assert model.describe()["batch_tokens"] < first
    assert model.warnings == [
        f"hf/speaker ran out of memory and went on with batches of at most {model.describe()['batch_tokens']:,} tokens."
    ]


def test_what_does_not_fit_alone_is_a_failure(models: dict[Family, Loaded]) -> None:
    """Where one row is too many, the sample fails and says why; nobody waits for ever."""
    ((first, second),) = answered(HfModel("hf/speaker", speaker(models["qwen"], "Yes.", most=0), SHORT), asks(1, 2))
    for failure in (first, second):
        assert isinstance(failure, Failure)
        assert failure.cause == "too_large"
        assert "do not fit the memory of cpu" in failure.detail


# Steering, and what may happen to it


@pytest.mark.parametrize("family", FAMILIES)
def test_steering_changes_what_is_said(models: dict[Family, Loaded], family: Family) -> None:
    """Vectors change the replies; strength 0 does not; the model is as before afterwards."""
    loaded, some = models[family], asks()
    plain = texts(answered(HfModel("hf/tiny", loaded, GREEDY), some))
    moved = HfModel("hf/tiny", loaded, GREEDY, steering=Steering(vectors(), (2,), 2.0))
    assert moved.describe()["steering"] == {"vectors": vectors().content_hash, "layers": [2], "strength": 2.0}
    assert texts(answered(moved, some)) != plain
    still = HfModel("hf/tiny", loaded, GREEDY, steering=Steering(vectors(), None, 0.0))
    assert texts(answered(still, some)) == plain
    assert hooks(loaded) == 0
    assert texts(answered(HfModel("hf/tiny", loaded, GREEDY), some)) == plain


class Failing(nn.Module):
    """A part that fails."""

    def forward(self, hidden: Tensor) -> Tensor:
        """Fail."""
        raise RuntimeError("this part has failed")


def test_no_hook_outlives_a_failing_forward_pass(folders: dict[Family, Path]) -> None:
    """A forward pass that fails stops the run with what torch said, and leaves no hook."""
    loaded = load(str(folders["llama"]))
    loaded.model.model.layers[3].mlp = Failing()
    with pytest.raises(ModelError, match="hf/tiny failed: RuntimeError: this part has failed"):
        answered(HfModel("hf/tiny", loaded, SHORT, steering=Steering(vectors())), asks())
    assert hooks(loaded) == 0


def test_no_hook_outlives_an_interrupt(models: dict[Family, Loaded]) -> None:
    """Closing stops between two steps: who waits is cancelled, no hook is left, and nothing more is answered."""

    async def interrupted() -> None:
        slow = replace(SHORT, max_tokens=900)
        model = HfModel("hf/tiny", models["llama"], slow, steering=Steering(vectors()))
        waiting = [asyncio.ensure_future(model.ask(ask)) for ask in asks()]
        async with asyncio.timeout(PATIENCE):
            while hooks(models["llama"]) < 2:  # noqa: ASYNC110 - it begins in a thread
                await asyncio.sleep(0.01)
        await model.close()
        assert hooks(models["llama"]) == 0
        ends = await asyncio.gather(*waiting, return_exceptions=True)
        assert any(isinstance(end, asyncio.CancelledError) for end in ends)
        assert all(isinstance(end, list | asyncio.CancelledError) for end in ends)
        with pytest.raises(ModelError, match="was closed"):
            await model.ask(asks()[0])

    asyncio.run(interrupted())


@pytest.mark.parametrize(
    ("steering", "said"),
    [
        (Steering(vectors(), (0,)), "no direction for layer 0, only for 1, 2"),
        (Steering(vectors(), (LAYERS,)), "There is no layer 4: the model's 4 layers are numbered 0 to 3"),
        (Steering(vectors(size=HIDDEN + 1)), "The vectors have 33 numbers a layer, and .* has 32"),
    ],
)
def test_steering_that_does_not_fit(folders: dict[Family, Path], tmp_path: Path, steering: Steering, said: str) -> None:
    """Wrong layers and other models' vectors are refused before anything is asked or written."""
    steering.vectors.save(tmp_path / "v.safetensors")
    layers = {} if steering.layers is None else {"layers": ",".join(map(str, steering.layers))}
    own = {"steer": str(tmp_path / "v.safetensors"), **layers}
    settings = tiny(folders["llama"], model_options=own)
    with pytest.raises(UsageError, match=said):
        measure(settings, tmp_path / "run")
    assert not (tmp_path / "run").exists()


# Whole runs


def tiny(folder: Path, **options: Any) -> Settings:
    """A short measurement of a tiny model, judged by a script."""
    script = folder.parent / "judge.json"
    script.write_text('{"": "Verdict {{code}}: A"}')
    judge = f"scripted/{script}"
    known: dict[str, Any] = {"scenarios": "starter", "limit": 3, "sampling": SHORT, "archetypes": ("known_facts",)}
    return Settings.of(subject=f"hf/{folder}", judge=judge, numeric_judge=judge, **known | options)


def small(**options: Any) -> Settings:
    """A short measurement of pinocchio."""
    known: dict[str, Any] = {"scenarios": "sandbox", "limit": 6, "sampling": replace(SHORT, max_tokens=60)}
    return Settings.of(subject="hf/pinocchio", judge="rules/sandbox", numeric_judge="rules/sandbox", **known | options)


def said_in(run: Path) -> dict[Any, str]:
    """The text of every reply of a run."""
    return {key: reply.text for key, reply in stored(run).items()}


@pytest.mark.parametrize("family", FAMILIES)
def test_whole_runs(folders: dict[Family, Path], tmp_path: Path, family: Family) -> None:
    """Each family runs through the whole flow: plain, steered and with an adapter, with other replies each time."""
    vectors().save(tmp_path / "v.safetensors")
    adapter = tiny_adapter(tmp_path / "adapter", folders[family])
    plain, steering = tiny(folders[family]), {"steer": str(tmp_path / "v.safetensors")}
    runs = {
        "plain": plain,
        "steered": plain.having(model_options={**steering, "layers": "1,2", "strength": -2}),
        "adapted": plain.having(model_options={"adapter": str(adapter)}),
    }
    for name, settings in runs.items():
        assert measure(settings, tmp_path / name).scenarios.done == 3
    assert len({tuple(said_in(tmp_path / name).values()) for name in runs}) == 3
    about = RunFolder(tmp_path / "adapted").record()
    assert about["settings"]["subject"]["marks"]["adapter"]["value"] == about["models"]["subject"]["adapter"]
    assert (about["models"]["subject"]["dtype"], about["models"]["subject"]["device"]) == ("float32", "cpu")


def test_one_base_model_for_several_runs(folders: dict[Family, Path], tmp_path: Path) -> None:
    """Runs that share a stock load the base model once, and each has the replies that it has by itself."""
    plain, stock = tiny(folders["qwen"]), dict[object, object]()
    adapted = plain.having(model_options={"adapter": str(tiny_adapter(tmp_path / "adapter", folders["qwen"]))})
    for name, settings in (("a", plain), ("b", adapted), ("c", plain.having(seed=1)), ("d", adapted)):
        measure(settings, tmp_path / name, stock=stock)
    measure(adapted, tmp_path / "alone")
    measure(plain.having(seed=1), tmp_path / "seed")
    said = {name: said_in(tmp_path / name) for name in ("a", "b", "c", "d", "alone", "seed")}
    assert said["b"] == said["d"] == said["alone"] != said["a"]
    assert said["c"] == said["seed"]
    assert len(stock) == 1


def test_changed_files_are_another_measurement(tmp_path: Path) -> None:
    """A run does not go on with other vectors or another adapter; where they lie does not matter."""
    file = tmp_path / "v.safetensors"
    vectors(size=128).save(file)
    adapter = tiny_adapter(tmp_path / "adapter", packaged(), scale=0.01)
    own = {"steer": str(file), "strength": 0.5, "adapter": str(adapter)}
    settings = small(model_options=own)
    measure(settings, tmp_path / "run")
    begun = RunFolder(tmp_path / "run").settings()
    moved = shutil.copytree(adapter, tmp_path / "moved")
    measure(
        settings.having(model_options={**own, "adapter": str(moved), "device": "cpu", "batch_tokens": 999}),
        tmp_path / "run",
    )
    shutil.rmtree(moved)
    measure(RunFolder(tmp_path / "run").settings(), tmp_path / "run")  # a finished run needs its files no more
    with pytest.raises(RunMismatch, match=r"with -M steering 0.5 × v.safetensors, and this one asks for 2 × v.saf"):
        measure(begun.having(model_options={**own, "strength": 2}), tmp_path / "run")
    vectors(size=128, scale=1.0).save(file)
    with pytest.raises(RunMismatch, match=r"v.safetensors has changed since the run was begun"):
        measure(begun, tmp_path / "run")
    with pytest.raises(RunMismatch, match=r"with -M steering \['\w+', None, 0.5\], and this one asks for"):
        measure(settings, tmp_path / "run")


def test_other_weights_are_said(folders: dict[Family, Path], tmp_path: Path) -> None:
    """A run that goes on with other weights under the same name says so."""
    copy = shutil.copytree(folders["llama"], tmp_path / "copy")
    settings = tiny(copy).having(limit=None, sample=4)
    measure(settings, tmp_path / "run")
    tiny_model(copy, "llama", seed=5)
    change(tmp_path / "run", "DELETE FROM replies")
    heard = Told()
    measure(settings, tmp_path / "run", watcher=heard)
    assert heard.lines[0] == f"Loading {settings.subject.name}."
    assert "has other weights now" in heard.lines[1]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model_options": {"layers": "1"}}, "-M layers and -M strength say how to steer"),
        ({"model_options": {"layers": "1-", "steer": "x"}}, "x is no file"),
        (
            {"subject": "pinocchio", "scenarios": "sandbox", "model_options": {"adapter": "x"}},
            "-M adapter: pinocchio takes no options of its own",
        ),
        ({"subject": "sim", "model_options": {"dtype": "bf16"}}, "-M dtype: sim takes no options of its own"),
        ({"model_options": {"batch_tokens": 0}}, r"-M batch_tokens=0: hf/\S+ cannot take it \(Expected `int` >= 1\)"),
        ({"model_options": {"quantize": "3bit"}}, "-M quantize=3bit: .* cannot take it .Invalid enum value '3bit'"),
        (
            {"model_options": {"adaptor": "x"}},
            r"-M adaptor: hf/\S+ has no such option. Did you mean adapter \(A folder",
        ),
        ({"model_options": {"device": "moon"}}, "The device moon: torch cannot use it here"),
        ({"prompt_on_beliefs": True}, "--prompt-on-beliefs says where a prompt goes"),
    ],
)
def test_options_that_cannot_be_followed(
    folders: dict[Family, Path], tmp_path: Path, options: dict[str, Any], said: str
) -> None:
    """Options for models in this process are refused where there is none, and where they lack their counterpart."""
    with pytest.raises(UsageError, match=said):
        measure(tiny(folders["llama"]).having(**options), tmp_path / "run")
    assert not (tmp_path / "run").exists()


# What is recorded


def test_keys_of_old_runs_stand() -> None:
    """Settings without an intervention have the keys that they had before there were any; each one changes them."""
    plain = Settings.of(subject="sim", judge="sim-judge", numeric_judge="sim-judge", scenarios="starter")
    (ask,) = asks(1, 1)
    key = reply_key(plain, ask, 1)
    assert key.hex() == "0a5e47458e02c0074cb5b43852d4f289"
    changed = [
        plain.having(marks={name: Mark(value)})
        for name, value in (
            ("adapter", "a"),
            ("steering", ["a", None, 1.0]),
            ("steering", ["a", [1], 1.0]),
            ("steering", ["a", None, 2.0]),
            ("dtype", "bf16"),
            ("trust_remote_code", True),
            ("quantize", "4bit"),
        )
    ]
    assert len({key, *(reply_key(settings, ask, 1) for settings in changed)}) == 8
    same = plain.having(model_options={"device": "cpu", "batch_tokens": 5, "threads": 2, "adapter": "elsewhere"})
    assert reply_key(same, ask, 1) == key


def test_labels_say_what_was_done(tmp_path: Path) -> None:
    """A label names the adapter and the vectors, with strength and layers."""
    plain = Settings.of(subject="hf/a/b", judge="x", numeric_judge="x", scenarios="starter")
    assert plain.label == "hf/a/b"
    vectors().save(tmp_path / "v.safetensors")
    steering = {"steer": str(tmp_path / "v.safetensors"), "strength": "-2.5", "layers": "3-4"}
    own = {"adapter": f"{tiny_adapter(tmp_path / 'step_10', packaged())}/", **steering, "quantize": "4bit"}
    done = identified(plain.having(model_options=own))
    assert done.label == "hf/a/b + step_10 + quantize=4bit + −2.5 × v.safetensors at 3, 4"
    asked = plain.having(system_prompt="honest", system_prompt_text="Be honest.", prompt_on_beliefs=True)
    assert asked.label == "hf/a/b + honest (on beliefs, too)"


def test_a_developer_s_prompt_on_beliefs() -> None:
    """The developer's part stands before the neutral prompt of belief questions where that is asked for."""
    scenario = sandbox(1)[0]
    settings = Settings.of(
        subject="x",
        judge="x",
        numeric_judge="x",
        scenarios="sandbox",
        system_prompt="honest",
        system_prompt_text="Be honest.",
    )
    *beliefs, _ = subject_asks(scenario, settings)
    assert beliefs == belief_asks(scenario, 3)
    *beliefs, _ = subject_asks(scenario, settings.having(prompt_on_beliefs=True))
    assert {ask.messages[0].content for ask in beliefs} == {
        "Developer instructions: Be honest.\nUser instructions: You are a helpful assistant."
    }
