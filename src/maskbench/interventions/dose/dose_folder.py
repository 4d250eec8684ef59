"""The folder of a dose curve: dose.json, the two halves of the scenario set, what is applied, and a run a dose."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import orjson
from msgspec import to_builtins

from maskbench.errors import RunError, RunMismatch, RunUnreadable
from maskbench.interventions.dose.record import SCHEMA, DoseRecord, dose_from, plain_dose
from maskbench.runs.disk import read_whole
from maskbench.runs.fitting import from_file
from maskbench.runs.folder import RunFolder
from maskbench.scenarios.own_archetypes import FILE as OWN
from maskbench.scenarios.own_archetypes import read_own, written
from maskbench.settings import MAY_CHANGE
from maskbench.types import Range, Scenario

if TYPE_CHECKING:
    from maskbench.models.hf.vectors import Vectors

DATA = "dose.json"
_OTHERWISE = "give the dose curve another --out"
SCALED = "lorra.json"  # what `scaled` writes last


class DoseFolder:
    """A dose curve on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def data(self) -> DoseRecord:
        """What dose.json says; raises RunUnreadable where there is none, or none that this version can read."""
        path = self.path / DATA
        try:
            plain = orjson.loads(read_whole(path))
        except FileNotFoundError:
            raise RunUnreadable(f"{self.path} holds no dose curve: there is no {DATA} in it.") from None
        except (orjson.JSONDecodeError, OSError) as error:
            raise RunUnreadable(f"{path} cannot be read ({error}). Restore the file, or {_OTHERWISE}.") from error
        return from_file(path, plain, SCHEMA, dose_from, "a dose curve", _OTHERWISE)

    def begin(self, record: DoseRecord) -> None:
        """Put down what is planned and by which rules it will be judged, before anything is measured.

        A plan of which no run was begun gives way. Raises RunMismatch, by name, where runs of another one are there.
        """
        if not (self.path / DATA).is_file() or not any(self.path.glob("*/*/run.json")):
            if (self.path / "run.json").exists():
                raise RunMismatch(f"{self.path} holds a run. Give the dose curve a folder of its own with --out.")
            return self.write(record)
        before, now = _options(self.data()), _options(record)
        for name in {**before, **now}:
            if before.get(name) != now.get(name):
                raise RunMismatch(
                    f"{self.path} holds a dose curve with {name} {before.get(name)}, and this one asks for "
                    f"{now.get(name)}. Give this one another --out."
                )
        return None

    def write(self, record: DoseRecord) -> None:
        """Write dose.json, whole or not at all."""
        RunFolder(self.path).write(DATA, plain_dose(record))

    def halves(self) -> tuple[str, str] | None:
        """The scenario files of the dev and the test split; None where they are not both written yet."""
        dev, test = (self.path / "scenarios" / f"{name}.jsonl" for name in ("dev", "test"))
        return (str(dev.resolve()), str(test.resolve())) if dev.is_file() and test.is_file() else None

    def scenarios(self, name: str, scenarios: Iterable[Scenario]) -> Path:
        """A scenario file of these, which `maskbench run` reads as any other, with the archetypes that they bring."""
        rows = list(scenarios)
        lines = b"".join(orjson.dumps(cells(row), option=orjson.OPT_APPEND_NEWLINE) for row in rows)
        own = {row.archetype: row.definition for row in rows if row.definition}
        place = self.path / "scenarios" / OWN
        if own:
            known, _ = read_own(place, place.name) if place.exists() else ({}, ())
            text = written({**known, **own}.values())
            place.unlink(missing_ok=True)
            self._made(place, lambda path: path.write_text(text, encoding="utf-8"))
        return self._made(self.path / "scenarios" / f"{name}.jsonl", lambda path: path.write_bytes(lines))

    def vectors(self, name: str, vectors: Vectors) -> Path:
        """A file of steering vectors."""
        return self._made(self.path / "directions" / f"{name}.safetensors", vectors.save)

    def adapter(self, name: str, source: Path, alpha: float) -> Path:
        """A copy of a LoRA adapter that does `alpha` times as much; raises UsageError for one that does not scale."""
        from maskbench.interventions.lorra.train import scaled

        folder = self.path / "adapters" / name
        if not (folder / SCALED).exists():
            scaled(source, alpha, folder)
        return folder.resolve()

    def _made(self, path: Path, write: Callable[[Path], object]) -> Path:
        """The file, made whole or not at all where it is missing."""
        try:
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                draft = path.with_suffix(".draft")
                write(draft)
                draft.replace(path)
        except OSError as error:
            raise RunError(f"{path} cannot be written ({error.strerror or error}). Give another --out.") from error
        return path.resolve()


def _options(record: DoseRecord) -> dict[str, object]:
    """Every part of a plan by its name, each setting for itself: one that is none is as good as one not yet known."""
    plan = plain_dose(record)["plan"]
    if plan["kind"] == "steer":
        del plan["source"]  # vectors may lie elsewhere now: each run holds their hash against its own
    del plan["base"]
    options = to_builtins(record.plan.base.options).items()
    base = {f"--{name.replace('_', '-')}": value for name, value in options if name not in MAY_CHANGE}
    return {name: value for name, value in {**plan, **base}.items() if value is not None}


def cells(scenario: Scenario) -> dict[str, object]:
    """The scenario as a row of a file, from which the same scenario is read."""
    truth = scenario.truth
    row: dict[str, object] = {
        **scenario.extra,
        "archetype": scenario.archetype,
        "task_id": scenario.task_id,
        "type": scenario.kind,
        "proposition": scenario.proposition,
        "formatted_ground_truth": truth.bounds if isinstance(truth, Range) else truth,
        "asked_outright": scenario.asked_outright,
        "canary": scenario.canary,
    }
    row |= {f"belief_elicit_{number}": question for number, question in enumerate(scenario.questions, 1)}
    if not scenario.in_columns:
        return row | {"messages": scenario.messages, "messages_on_beliefs": scenario.messages_on_beliefs}
    row |= {"system_prompt": scenario.system_prompt, "user_prompt": scenario.user_prompt}
    if scenario.first_turn:
        row["dd_turn_1_prompt"], row["dd_turn_1_response"] = scenario.first_turn
    return row
