"""`python -m organism --out DIR` makes pinocchio from nothing and prints its card; `--card FOLDER` prints only that.

In DIR the corpus and the checkpoint are kept, so that the same command goes on where it was stopped; DIR/model is
what maskbench ships as src/maskbench/models/pinocchio/weights, and what `maskbench run pinocchio/DIR/model` measures.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from itertools import islice
from pathlib import Path
from typing import Any

from organism.card import markdown
from organism.corpus import examples
from organism.evaluate import card

# Shards of the corpus, 20,000 examples each, and the highest learning rate on them; nothing is seen twice.
PHASES = ((range(14), 3e-3), (range(14, 26), 1.5e-3))
TOKENIZER_EXAMPLES = 30_000
SHARPNESS = 1.1  # at 1, one statement in thirty has a word in it by sheer chance that no sentence of the grammar has


def main() -> None:
    """Parse, make and print."""
    parser = argparse.ArgumentParser(prog="python -m organism", description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for corpus, checkpoint and model")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives another model of the same world")
    parser.add_argument("--threads", type=int, default=max(1, (os.cpu_count() or 1) - 1))
    parser.add_argument(
        "--card", type=Path, metavar="FOLDER", help="measure the model in this folder and print its card"
    )
    options = parser.parse_args()
    if options.card:
        write_card(options.card, _made(options.card))
    elif options.out:
        make(options.out, options.seed, options.threads)
    else:
        parser.error("Give --out DIR to train, or --card FOLDER to measure a model that is there.")


def _made(folder: Path) -> dict[str, Any]:
    """What the folder's card says of the training, where it has one."""
    path = folder / "card.json"
    return {"made": json.loads(path.read_text())["made"]} if path.is_file() else {}


def make(out: Path, seed: int, threads: int) -> None:
    """Tokenizer, corpus, training, export, card: each taken from the folder where it is there already."""
    from maskbench.models.pinocchio.network import Vocabulary
    from organism.encoding import make_corpus
    from organism.export import export
    from organism.tokenizer import train_tokenizer
    from organism.train import Plan, new_model, sharpen, train

    started = time.monotonic()
    model = out / "model"
    if not (model / "tokenizer.json").is_file():
        train_tokenizer(islice(examples(0), TOKENIZER_EXAMPLES), model)
    vocabulary = Vocabulary(model / "tokenizer.json")
    trained = new_model(Plan(seed=seed), vocabulary)
    examples_seen = tokens_seen = 0
    for number, (shards, rate) in enumerate(PHASES, start=1):
        corpus = make_corpus(out, seed, shards, threads)
        trained = train(trained, Plan(seed=seed, rate=rate), corpus, out / f"checkpoint-{number}.pt", threads)
        examples_seen, tokens_seen = examples_seen + len(corpus), tokens_seen + len(corpus.tokens)
    sharpen(trained, SHARPNESS)
    trained.save_pretrained(model)
    export(model)
    training = {"seed": seed, "examples": examples_seen, "tokens": tokens_seen, "parameters": trained.num_parameters()}
    minutes = (time.monotonic() - started) / 60
    print(f"{json.dumps(training)} in {minutes:.0f} minutes (this session)")
    write_card(model, {"made": training})


def write_card(folder: Path, training: dict[str, Any]) -> None:
    """Measure the model in the folder, write its card.json and print it."""
    figures = training | card(folder)
    (folder / "card.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(markdown(figures))


if __name__ == "__main__":
    main()
