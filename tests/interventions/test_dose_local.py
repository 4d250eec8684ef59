"""Dose curves of a model in this process: steering with its controls, perplexity, and the demonstration."""

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import pytest
from test_dose import measured, shown

from browser import DESK, PHONE, Chromium, in_browser
from maskbench.errors import UsageError
from maskbench.interventions.dose.conclusion import Limits
from maskbench.interventions.dose.damage import neutral_chats, perplexity
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.record import DoseCurve, Plan
from maskbench.models.hf.loading import Loaded, load
from maskbench.models.hf.steering import steered
from maskbench.models.hf.vectors import Vectors, load_vectors
from maskbench.pages.dose_page import render
from maskbench.presentation.sections.doses import opposite_row
from maskbench.types import Message
from measured_runs import settings


@pytest.fixture(scope="module")
def pinocchio() -> Loaded:
    """The shipped weights."""
    return load("pinocchio")


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some direction for every layer; nothing is known of what it does."""
    import torch

    generator = torch.Generator().manual_seed(0)
    path = tmp_path_factory.mktemp("vectors") / "v.safetensors"
    Vectors({layer: torch.randn(128, generator=generator) / 8 for layer in range(4)}).save(path)
    return path


def plan(vectors: Path, **changes: Any) -> Plan:
    """A small steering plan on pinocchio."""
    judge = {"judge": "rules/sandbox", "numeric_judge": "rules/sandbox"}
    base = settings("hf/pinocchio", scenarios="sandbox", limit=6, **judge)
    parts: dict[str, Any] = {"kind": "steer", "base": base, "doses": (1.0,), "source": str(vectors)}
    return Plan(**parts | {"dev_statements": 1, "random": 2} | changes)


@pytest.fixture(scope="module")
def curve(vectors: Path) -> Path:
    """A curve of steering, whatever damage it does."""
    out = vectors.parent / "curve"
    measured(plan(vectors, layers=((1,), (2, 3)), limits=Limits(margin=1, malformed=1, perplexity=99)), out)
    return out


def test_steering_is_held_against_the_negated_and_random_directions(vectors: Path, curve: Path) -> None:
    """The opposite dose is measured though nobody asked for it, and the random directions are as long as the real."""
    data = DoseFolder(curve).data()
    assert isinstance(data, DoseCurve)
    opposite = opposite_row(data)
    assert data.chosen
    assert opposite
    assert (data.chosen.amount, opposite.amount) == (1.0, -1.0)
    assert data.chosen.layers in ((1,), (2, 3))
    assert data.dev
    assert data.dev.rows[0].name != data.dev.rows[1].name
    assert data.controls
    assert [row.name for row in data.controls.rows] == ["random_01", "random_02"]
    assert len(data.controls.differences) == 2
    first, second = (load_vectors(curve / "directions" / f"random_0{number}.safetensors") for number in (1, 2))
    real = load_vectors(vectors)
    assert first.norms() == pytest.approx(real.norms(), rel=1e-4)
    assert first.content_hash not in (second.content_hash, real.content_hash)
    assert first.content_hash == real.random(Random("dose 0 1")).content_hash
    assert "2 random directions of the same norm" in shown(data)
    assert measured(None, curve) == data


@in_browser
def test_the_page_of_a_curve_can_be_read_by_anybody(chromium: Chromium, curve: Path, tmp_path: Path) -> None:
    """On a desk, in the dark, on a phone: no fault that axe finds, nothing asked for, nothing beside the window."""
    page = tmp_path / "report.html"
    page.write_text(render(curve).html, encoding="utf-8")
    for size, dark in ((DESK, False), (DESK, True), (PHONE, False)):
        with chromium.tab(page, size=size, dark=dark) as tab:
            assert tab.faults() == []
            assert tab.width() == size[0]
            assert tab.page.get_by_role("heading", name="The dose curve").count() == 1


def test_every_chart_of_a_curve_is_a_file_with_its_values(curve: Path, tmp_path: Path) -> None:
    """The curves over the dose among them: a row a dose and share."""
    render(curve, tmp_path / "figures")
    rows = "".join(file.read_text() for file in (tmp_path / "figures").glob("*.csv"))
    for words in ("lie,strength = -1,", "lie,strength = 0,", "no belief,strength = 1,", "malformed,strength = 1,"):
        assert words in rows


def test_a_layer_that_is_not_there_is_refused_before_anything_is_measured(vectors: Path, tmp_path: Path) -> None:
    """As are vectors of another model."""
    with pytest.raises(UsageError, match="layer 7"):
        measured(plan(vectors, layers=((1,), (7,))), tmp_path)
    assert not list(tmp_path.rglob("run.json"))


def test_perplexity_is_that_of_the_steered_model_and_nothing_stays_behind(pinocchio: Loaded, vectors: Path) -> None:
    """Near 1 on what pinocchio was taught, more with its hidden states moved, and as before afterwards."""
    chats = neutral_chats(of_the_sandbox=True)[:40]
    before = perplexity(pinocchio, chats)
    with steered(pinocchio.layers, load_vectors(vectors), None, 16.0):
        moved = perplexity(pinocchio, chats)
    assert 1 < before < 1.1
    assert moved > 2 * before
    assert perplexity(pinocchio, chats) == before


def test_perplexity_is_of_the_answers_tokens_alone(pinocchio: Loaded) -> None:
    """One chat at a time by hand gives the same as many at once."""
    import torch

    chats = neutral_chats(of_the_sandbox=True)[:10]
    loss, tokens = 0.0, 0
    for messages, answer in chats:
        prompt = pinocchio.prompt(messages)
        whole = pinocchio.chat.tokens([*messages, Message("assistant", answer)], answering=False)
        assert whole[: len(prompt)] == prompt
        with torch.no_grad():
            logits = pinocchio.model(input_ids=torch.tensor([whole])).logits[0]
        chances = logits.log_softmax(dim=-1)[range(len(prompt) - 1, len(whole) - 1), whole[len(prompt) :]]
        loss, tokens = loss - float(chances.sum()), tokens + len(whole) - len(prompt)
    assert perplexity(pinocchio, chats) == pytest.approx(math.exp(loss / tokens), rel=1e-4)
    with pytest.raises(ValueError, match="at least one text"):
        perplexity(pinocchio, [])


def test_perplexities_are_kept_and_stand_with_their_doses(vectors: Path, tmp_path: Path) -> None:
    """Dose 0 has its own, the others theirs as a multiple of it."""
    data = measured(plan(vectors, random=0), tmp_path)
    assert data.test
    assert data.chosen
    zero, row = data.test.zero.perplexity, data.chosen
    assert zero
    assert row.perplexity
    assert row.perplexity_ratio == pytest.approx(row.perplexity / zero)
    kept = json.loads((tmp_path / "perplexity.json").read_text())
    assert kept == {"none": zero, "strength_1": row.perplexity, "strength_-1": kept["strength_-1"]}
    assert data.controls is None


def test_a_prompt_stands_before_the_neutral_text(tmp_path: Path) -> None:
    """What a developer's prompt does to neutral answers is part of what it costs."""
    data = measured(plan(tmp_path, kind="prompts", source=None, doses=("honest",)), tmp_path)
    assert data.test
    assert data.chosen
    assert data.chosen.perplexity != data.test.zero.perplexity
