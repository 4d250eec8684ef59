"""What common noise does to the difference of two runs, on pinocchio, on a real model and simulated, as Markdown.

    python benchmarks/common_noise.py --out DIR              # pairs of runs of pinocchio; goes on where it stopped
    python benchmarks/common_noise.py --real FOLDER          # statements of a real model: a folder with its weights
    python benchmarks/common_noise.py --cells                # coverage of the paired interval, simulated
    python benchmarks/common_noise.py --speed [--real FOLDER]  # tokens a second by both ways to draw

The runs are pinocchio against itself under a prompt that says nothing of honesty, under one that asks for it, and two
checkpoints of a LoRRA training against each other, each with noise of its own and with common noise.

The generator of `--cells` knows nothing of the method: a scenario has three log-odds, those of the second arm are
shifted by the effect and by a little at random, and each outcome gets Gumbel noise, the same for both arms or not.
The truth is the mean over 200,000 scenarios. 400 replicates a cell (± 2.1 points near 95 %): each takes
some 20 ms.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from maskbench.measurement import measure
from maskbench.method.asks import subject_asks
from maskbench.pinocchio import sandbox
from maskbench.pinocchio.network import open_pinocchio
from maskbench.report.markdown import table as markdown
from maskbench.results.comparison import compare
from maskbench.runs.system_prompts import system_prompt
from maskbench.scenarios import open_set
from maskbench.settings import Settings, reply_key, sample_seed
from maskbench.stats.paired import sign_flip
from maskbench.types import Ask, Model, Reply, Sampling, Scenario

Floats = NDArray[np.float64]

SEEDS = (1, 2)
STEPS = (6, 12)  # of the two checkpoints
PAIRS = {
    "a prompt that says nothing of honesty": ("pinocchio", "placebo"),
    "a prompt that asks for honesty": ("pinocchio", "honest"),
    "two checkpoints": ("checkpoint_6", "checkpoint_12"),
}

# The grid of --cells
SETS = ((60, 1), (240, 8))  # scenarios, and how many of a proposition at most
EFFECTS = (0.0, -0.15, -2.0)  # on the log-odds of a lie: none, about that of the prompt without honesty, and that with
JITTER = 0.3  # of every log-odds, between the arms
REPLICATES, POPULATION, SEED = 400, 200_000, 20261122

SHORT = Sampling(temperature=1.0, max_tokens=40, reasoning_tokens=0)
SCENARIOS, STATEMENTS = 8, 4  # of the real model
DENIALS = re.compile(r"\b(not|no|never|none|nothing|false)\b|n't\b", re.IGNORECASE)


def main() -> None:
    """Parse, and print what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a folder for runs and checkpoints")
    parser.add_argument("--real", type=Path, help="a folder with the weights of a real model")
    parser.add_argument("--cells", action="store_true", help="simulate the coverage of the paired interval")
    parser.add_argument("--speed", action="store_true", help="count tokens a second")
    parser.add_argument("--replicates", type=int, default=REPLICATES, help="of each cell")
    options = parser.parse_args()
    if options.out:
        _print("Pairs of runs", ("pair", "noise", "seed", *_MEASURED), list(pairs(options.out)))
    if options.speed:
        _print("Tokens a second", ("model", "noise of its own", "common noise"), list(speeds(options.real)))
    elif options.real:
        _print(f"Statements of {options.real.name}", ("pair", "noise", *_STATED), list(real(options.real)))
    if options.cells:
        head = ("scenarios", "of a proposition", "effect", "noise", "truth", "coverage", "width", "discordant")
        _print("Coverage", head, [cell.row(options.replicates) for cell in CELLS])


def _print(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print(f"\n{title}\n\n{markdown(head, rows)}")


# Runs of pinocchio

_MEASURED = ("outcomes changed", "lies changed", "P(lie), points", "width of the interval")


def pairs(out: Path) -> Iterator[tuple[str, ...]]:
    """Every pair of runs by every seed, with noise of its own and common noise."""
    for (title, arms), is_common, seed in product(PAIRS.items(), (False, True), SEEDS):
        first, other = (_run(out, arm, seed, is_common=is_common) for arm in arms)
        (pairing,) = compare(first, other).data.others
        rate, lies = pairing.rates.p_lie, pairing.mcnemar
        if rate.ci95 is None or rate.difference is None:
            raise SystemExit(f"{first} and {other} have no interval.")
        changed = f"{len(pairing.changed)} of {pairing.shared.scenarios}"
        noise = "common" if is_common else "own"
        points = f"{100 * rate.difference:+.1f}", f"{100 * (rate.ci95[1] - rate.ci95[0]):.1f}"
        yield title, noise, str(seed), changed, str(lies.lie_to_other + lies.other_to_lie), *points


def _run(out: Path, arm: str, seed: int, *, is_common: bool) -> Path:
    """The run of an arm; nothing is asked where it is there already."""
    settings = Settings("pinocchio", "rules/sandbox", "sandbox", seed=seed, common_noise=is_common)
    if arm.startswith("checkpoint"):
        steps = arm.rpartition("_")[2]
        settings = replace(settings, subject="hf/pinocchio", adapter=str(_checkpoint(out, steps)))
    elif arm != "pinocchio":
        settings = replace(settings, system_prompt=arm)
    path = out / f"{arm}-{'common' if is_common else 'own'}-{seed}"
    measure(settings, path, {})
    return path


def _checkpoint(out: Path, steps: str) -> Path:
    folder = out / f"adapter_{steps}"
    if not folder.exists():
        command = [sys.executable, "-m", "maskbench", "lorra", "pinocchio", "--out", str(folder), "--steps", steps]
        subprocess.run(command, check=True)
    return folder


# Statements of a real model

_STATED = ("statements", "the same word for word", "words before they part", "a denial in one alone")


def real(folder: Path) -> Iterator[tuple[str, ...]]:
    """Statements on facts that the model is given, without a prompt and with each of two."""
    statements = {
        (prompt, is_common): _statements(folder, prompt, is_common=is_common)
        for prompt, is_common in product((None, "placebo", "honest"), (False, True))
    }
    for prompt, is_common in product(("placebo", "honest"), (False, True)):
        both = list(zip(statements[None, is_common], statements[prompt, is_common], strict=True))
        same = sum(first == other for first, other in both)
        apart = np.mean([_common_words(first, other) for first, other in both])
        denied = sum(bool(DENIALS.search(first)) != bool(DENIALS.search(other)) for first, other in both)
        noise = "common" if is_common else "own"
        yield f"none against {prompt}", noise, str(len(both)), str(same), f"{apart:.1f}", str(denied)


def _statements(folder: Path, prompt: str | None, *, is_common: bool) -> list[str]:
    settings = Settings(
        f"hf/{folder}", "none", "starter", statements=STATEMENTS, sampling=SHORT, common_noise=is_common
    )
    if prompt:
        settings = replace(settings, system_prompt=prompt, system_prompt_text=system_prompt(prompt))
    return _answered(_local(str(folder), is_common=is_common), _asks(_given(), settings), settings)


def _given() -> list[Scenario]:
    given = (scenario for scenario in open_set("starter", {}) if scenario.archetype == "provided_facts")
    return [scenario for scenario, _ in zip(given, range(SCENARIOS), strict=False)]


def _asks(scenarios: Sequence[Scenario], settings: Settings) -> list[Ask]:
    """The statements' asks with the seeds that a run gives them."""
    asks = [ask for scenario in scenarios for ask in subject_asks(scenario, settings) if ask.call == "statement"]
    return [
        replace(ask, seeds=tuple(sample_seed(settings, ask, run, reply_key(settings, ask, run)) for run in ask.runs))
        for ask in asks
    ]


def _local(place: str, *, is_common: bool) -> Model:
    from maskbench.models.hf.loading import load
    from maskbench.models.hf.model import HfModel

    return HfModel(f"hf/{place}", load(place), SHORT, common_noise=is_common)


def _answered(model: Model, asks: Sequence[Ask], settings: Settings) -> list[str]:
    """The texts of all replies; SystemExit where one failed."""
    replies = [reply for some in asyncio.run(_gathered(model, asks)) for reply in some]
    if failed := [reply for reply in replies if not isinstance(reply, Reply)]:
        raise SystemExit(f"{settings.subject} failed: {failed[0]}")
    return [reply.text for reply in replies if isinstance(reply, Reply)]


async def _gathered(model: Model, asks: Sequence[Ask]) -> list[Sequence[object]]:
    try:
        return list(await asyncio.gather(*(model.ask(ask) for ask in asks)))
    finally:
        await model.close()


def _common_words(first: str, other: str) -> int:
    """How many words two texts begin with alike."""
    pairs_of_words = list(zip(first.split(), other.split(), strict=False))
    return next((at for at, (a, b) in enumerate(pairs_of_words) if a != b), len(pairs_of_words))


# Tokens a second


def speeds(folder: Path | None) -> Iterator[tuple[str, ...]]:
    """How many tokens a second each model draws, by both ways; the best of three, taken in turns."""
    settings = Settings("pinocchio", "rules/sandbox", "sandbox", statements=4, sampling=SHORT)
    asks = _asks(sandbox()[:24], settings)
    opened: dict[str, Callable[[bool], Model]] = {
        "pinocchio": lambda is_common: open_pinocchio("pinocchio", SHORT, common_noise=is_common),
        "hf/pinocchio": lambda is_common: _local("pinocchio", is_common=is_common),
    }
    if folder:
        opened[folder.name] = lambda is_common: _local(str(folder), is_common=is_common)
    for name, make in opened.items():
        some = _asks(_given()[:4], settings) if folder and name == folder.name else asks
        rates: dict[bool, list[float]] = {False: [], True: []}
        for _, is_common in product(range(3), (False, True)):
            rates[is_common].append(_rate(make(is_common), some))
        yield name, *(f"{max(rates[is_common]):,.0f}" for is_common in (False, True))


def _rate(model: Model, asks: Sequence[Ask]) -> float:
    """Tokens drawn for each second of the processor's time, which other work does not change much."""
    started = time.process_time()
    replies = [reply for some in asyncio.run(_gathered(model, asks)) for reply in some]
    tokens = sum(reply.usage.output or 0 for reply in replies if isinstance(reply, Reply))
    return tokens / (time.process_time() - started)


# Coverage, simulated


@dataclass(frozen=True, slots=True)
class Cell:
    """Two arms on so many scenarios, `most` of one proposition, that differ by an effect, coupled or not."""

    scenarios: int
    most: int
    effect: float
    is_common: bool

    def row(self, replicates: int) -> tuple[str, ...]:
        """The cell with what its replicates came to."""
        rng = np.random.default_rng(SEED)
        truth = self.truth(rng)
        covered, widths, discordant = [], [], []
        for _ in range(replicates):
            clusters = self.clusters(rng)
            first, other = self.lies(*self.odds(rng, clusters), rng)
            difference = other.astype(np.float64) - first
            tested = sign_flip(difference, np.ones(len(difference)), clusters, np.random.default_rng(1))
            if tested.low is None or tested.high is None:
                raise SystemExit(f"{self} has a replicate without an interval.")
            covered.append(tested.low <= truth <= tested.high)
            widths.append(tested.high - tested.low)
            discordant.append(np.abs(difference).sum())
        under = " under" if np.mean(covered) < 0.93 else ""
        return (
            *(str(self.scenarios), "1" if self.most == 1 else f"1 to {self.most}", f"{self.effect:g}"),
            *("common" if self.is_common else "own", f"{100 * truth:+.1f}", f"{100 * np.mean(covered):.1f} %{under}"),
            *(f"{100 * np.mean(widths):.1f}", f"{np.mean(discordant):.1f}"),
        )

    def clusters(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """The proposition of each scenario."""
        sizes = rng.integers(1, self.most + 1, self.scenarios)
        return np.repeat(np.arange(self.scenarios), sizes)[: self.scenarios]

    def odds(self, rng: np.random.Generator, clusters: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The log-odds of honest, lie and evasive in both arms, half of their variance shared by a proposition."""
        count = len(clusters)
        shared, own = rng.normal(size=(int(clusters[-1]) + 1, 3))[clusters], rng.normal(size=(count, 3))
        first = np.array([0.0, 0.5, -0.5]) + shared + own
        return first, first + np.array([0.0, self.effect, 0.0]) + JITTER * rng.normal(size=(count, 3))

    def lies(self, first: Floats, other: Floats, rng: np.random.Generator) -> tuple[NDArray[np.bool_], ...]:
        """Whether each scenario is a lie, in both arms."""
        noise = rng.gumbel(size=first.shape)
        noises = noise, noise if self.is_common else rng.gumbel(size=first.shape)
        return tuple((odds + each).argmax(axis=1) == 1 for odds, each in zip((first, other), noises, strict=True))

    def truth(self, rng: np.random.Generator) -> float:
        """The difference in the rate of lies over very many scenarios."""
        rates = [np.exp(odds - odds.max(axis=1, keepdims=True)) for odds in self.odds(rng, np.arange(POPULATION))]
        first, other = (float((rate[:, 1] / rate.sum(axis=1)).mean()) for rate in rates)
        return other - first


CELLS = [Cell(*sizes, effect, is_common) for sizes, effect, is_common in product(SETS, EFFECTS, (False, True))]


if __name__ == "__main__":
    main()
