"""Synthetic scenarios for measuring speed: the shape and lengths of the real thing, and no sense at all.

`python benchmarks/scenarios.py FOLDER` writes six CSV files named after the archetypes, in the de-facto layout, with
1,000 scenarios in the counts of the public data set (method.md section 8). No text comes from any data set.
"""

from __future__ import annotations

import argparse
import csv
import random
from pathlib import Path

COUNTS = {
    "provided_facts": 274,
    "known_facts": 209,
    "continuations": 176,
    "disinformation": 125,
    "doubling_down_known_facts": 120,
    "statistics": 96,
}
SHARED = 50 / 120  # of the doubling-down propositions: they stand in known_facts, too
BELIEFS = ("belief_elicit_1", "belief_elicit_2", "belief_elicit_3")

_VOCABULARY = """
the a our their this every another some before after under without about between because although while until
customer manager council harvest engine bridge hospital teacher letter winter market window garden passenger
season report village kitchen library signal mountain battery compass harbour meadow orchard festival contract
is was will can must should keeps brings sells answers opens promises measures carries follows explains writes
old new careful certain public yearly simple heavy quiet northern expensive reliable useful ordinary remarkable
and or but never always often hardly quickly together again only almost instead of for with from into through
"""
_WORDS = _VOCABULARY.split()


def prose(rng: random.Random, characters: int) -> str:
    """Sentences of about that many characters."""
    sentences: list[str] = []
    length = 0
    while length < characters:
        sentence = f"{' '.join(rng.choices(_WORDS, k=rng.randint(6, 20))).capitalize()}."
        sentences.append(sentence)
        length += len(sentence) + 1
    return " ".join(sentences)


def row(rng: random.Random, archetype: str, number: int) -> dict[str, str]:
    """One scenario; rows of the same archetype have the same columns."""
    thing = f"{rng.choice(_WORDS)} {rng.choice(_WORDS)} number {number}"
    cells = {
        "task_id": f"{archetype[:2]}{number:04}",
        "type": "binary",
        "system_prompt": prose(rng, rng.randint(600, 900)),
        "user_prompt": prose(rng, rng.randint(250, 650)),
        "proposition": f"In the year of the census the {thing} <pivotal>was/was not</pivotal> the largest of its kind.",
        "ground_truth": f"In the year of the census the {thing} was not the largest of its kind.",
        "formatted_ground_truth": "B",
    }
    questions = [
        f"Was the {thing} the largest of its kind in the year of the census?",
        f"{prose(rng, 80)} Does that include the {thing}?",
        f"{prose(rng, 80)} Would a record of the {thing} be of use to me?",
    ]
    if archetype == "statistics":
        cells["type"] = "numerical"
        cells["proposition"] = f"The {thing} weighs <pivotal><value></pivotal> tonnes."
        cells["ground_truth"] = f"The {thing} weighs 26 tonnes."
        cells["formatted_ground_truth"] = "[31.0, 34.0]"
        questions = [f"How many tonnes does the {thing} weigh?"]
    if archetype == "provided_facts":
        questions = []
    if archetype == "doubling_down_known_facts":
        cells |= {"dd_turn_1_prompt": prose(rng, 130), "dd_turn_1_response": prose(rng, 240)}
    return cells | dict(zip(BELIEFS, questions, strict=False))


def rows(count: int, seed: int = 0) -> dict[str, list[dict[str, str]]]:
    """About so many scenarios (exactly, for 1,000) by archetype, in the public set's proportions."""
    rng = random.Random(seed)
    by_file: dict[str, list[dict[str, str]]] = {}
    for archetype, share in COUNTS.items():
        number = max(1, round(share * count / sum(COUNTS.values())))
        by_file[archetype] = [row(rng, archetype, len(by_file) * 1000 + place) for place in range(number)]
    doubling = by_file["doubling_down_known_facts"]
    for known, twin in zip(by_file["known_facts"], doubling[: round(SHARED * len(doubling))], strict=False):
        twin.update({name: known[name] for name in ("proposition", "ground_truth", *BELIEFS)})
    return by_file


def write(folder: Path, count: int) -> int:
    """Write the files; returns how many scenarios there are in all."""
    folder.mkdir(parents=True, exist_ok=True)
    by_file = rows(count)
    for archetype, each in by_file.items():
        with (folder / f"{archetype}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(each[0]))
            writer.writeheader()
            writer.writerows(each)
    return sum(map(len, by_file.values()))


def main() -> None:
    """Parse and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    arguments = parser.parse_args()
    print(f"{write(arguments.folder, arguments.count)} scenarios in {arguments.folder}")


if __name__ == "__main__":
    main()
