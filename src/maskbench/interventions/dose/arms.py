"""An intervention in doses: one run a dose, chosen on one half of the scenarios, reported once on the other.

The plan and the thresholds are written down before anything is measured. Every run is an ordinary run in a folder of
its own, so a curve that was stopped goes on where it stopped. plan.py has what is planned, curve.py what the runs show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from random import Random

from maskbench.interventions.dose.conclusion import CHOICE, Conclusion, choose, conclude, exceeds
from maskbench.interventions.dose.curve import candidate, curve, effect
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.perplexity import Perplexities
from maskbench.interventions.dose.plan import (
    Dose,
    Plan,
    Split,
    check,
    doses,
    plan_from,
    planned,
    splits,
    strength,
    zero,
)
from maskbench.measurement import measure
from maskbench.models.chat.extra_fields import check_extra
from maskbench.models.hf.opening import Stock, check_options, identified
from maskbench.models.names import check_models
from maskbench.runs.disk import inherited, make_folder
from maskbench.runs.folder import RunFolder
from maskbench.runs.loop import Watcher
from maskbench.types import Json

Watch = Callable[[str, Path], Watcher]  # the watcher of a run, given what it is and its folder


def measure_doses(
    plan: Plan | None, out: Path, environ: Mapping[str, str], watch: Watch, command: Sequence[str] = ()
) -> Json:
    """Measure a dose curve into the folder `out`, or go on with the one that is there; returns what dose.json holds.

    `plan` None takes the plan from the folder. Raises a MaskbenchError as `measure` does, RunMismatch where the folder
    holds another plan.
    """
    folder = DoseFolder(out)
    plan = plan_from(folder.data()["plan"]) if plan is None else plan
    check(plan)
    check_extra(plan.base, environ)  # before the plan is written down: no key may reach the folder
    with RunFolder(out).writing():
        stated = {"maskbench": version("maskbench"), "choice": CHOICE, "words": list(plan.limits.sentences())}
        folder.begin(planned(plan), stated)
        data = _Measuring(plan, folder, environ, watch, command).all()
        folder.write({"complete": True, "plan": planned(plan), **stated, **data})
    return folder.data()


class _Measuring:
    """One dose curve being measured."""

    def __init__(
        self, plan: Plan, folder: DoseFolder, environ: Mapping[str, str], watch: Watch, command: Sequence[str]
    ) -> None:
        self._plan = plan
        self._folder = folder
        self._environ = environ
        self._watch = watch
        self._command = command
        self._stock = Stock()  # a model in this process is loaded once
        self._perplexities = Perplexities(folder, environ, self._stock)

    def all(self) -> Json:
        """Choose on the dev split, measure on the test split, hold against the controls."""
        plan = self._plan
        self._check()
        dev, test = splits(plan, self._folder, self._environ)
        split = {
            "dev": dev.data(),
            "test": test.data(),
            "shared_propositions": len(dev.propositions & test.propositions),
        }
        on_dev, chosen = self._choose(dev)
        if chosen is None:
            why = "Every dose did too much damage on the dev split; the test split was not touched."
            return {
                "split": split,
                "dev": on_dev,
                "test": None,
                "controls": None,
                "verdict": Conclusion("none chosen", (why,)).data(),
            }
        some = doses(plan, self._folder, chosen.layers)
        opposite = self._opposite(chosen, some)
        on_test = self._curve(test, "test", [*some, *opposite], plan.base.statements)
        row = next(row for row in on_test["rows"] if row["name"] == chosen.name)
        controls = self._controls(test, chosen, on_test) if plan.kind == "steer" else None
        random = controls["differences"] if controls else ()
        for tested in on_test["rows"]:
            tested["verdict"] = conclude(effect(tested, random if tested is row else ()), plan.limits).data()
        if controls:
            controls["exceeded"] = exceeds(row["rates"]["p_lie"]["difference"] or 0.0, random)
        return {
            "split": split,
            "dev": on_dev,
            "test": {**on_test, "chosen": chosen.name},
            "controls": controls,
            "verdict": row["verdict"],
        }

    def _check(self) -> None:
        """Raise for a dose that could not be measured, before any is."""
        for layers in self._plan.layers:
            for dose in doses(self._plan, self._folder, layers):
                check_options(dose.settings)
                check_models(identified(dose.settings), self._environ)

    def _choose(self, dev: Split) -> tuple[Json | None, Dose | None]:
        """The dev curve and the dose chosen on it; with one dose alone there is nothing to choose."""
        several = [dose for layers in self._plan.layers for dose in doses(self._plan, self._folder, layers)]
        if len(several) == 1:
            return None, several[0]
        measured = self._curve(dev, "dev", several, self._plan.dev_statements)
        name, ruled_out = choose([candidate(row) for row in measured["rows"]], self._plan.limits)
        chosen = next((dose for dose in several if dose.name == name), None)
        return {**measured, "chosen": name, "ruled_out": dict(ruled_out)}, chosen

    def _opposite(self, chosen: Dose, some: Sequence[Dose]) -> list[Dose]:
        """The negated direction at the chosen strength, where it is not among the doses anyway."""
        if self._plan.kind != "steer" or chosen.amount is None or -chosen.amount in (dose.amount for dose in some):
            return []
        return [strength(self._plan, chosen.layers, -chosen.amount)]

    def _curve(self, split: Split, part: str, some: Sequence[Dose], statements: int) -> Json:
        """Dose 0 and these doses, measured on one split: rows in the order of their amounts."""
        nothing = zero(self._plan)
        ordered = sorted(some, key=lambda dose: (dose.layers or (), dose.amount if dose.amount is not None else 0.0))
        base, *runs = self._runs(split, part, [nothing, *ordered], statements)
        first, rows = curve(base, runs, self._plan.base.rules)
        normal = self._perplexities.of(nothing)
        for dose, path, row in zip((nothing, *ordered), (base, *runs), (first, *rows), strict=True):
            perplexity = self._perplexities.of(dose)
            row |= {
                "name": dose.name,
                "amount": dose.amount,
                "layers": None if dose.layers is None else list(dose.layers),
                "run": path.relative_to(self._folder.path).as_posix(),
                "perplexity": perplexity,
                "perplexity_ratio": perplexity / normal if perplexity and normal else None,
            }
        return {"zero": first, "rows": rows}

    def _runs(self, split: Split, part: str, some: Sequence[Dose], statements: int) -> list[Path]:
        """Measure these doses on one split, or go on with them."""
        paths = []
        for place, dose in enumerate(some, start=1):
            settings = replace(dose.settings, scenarios=split.source, statements=statements)
            path = self._folder.path / part / dose.name
            make_folder(path, inherited(self._folder.path))
            watcher = self._watch(f"{part}, {place} of {len(some)}: {dose.name}", path)
            measure(settings, path, self._environ, watcher, self._command, stock=self._stock)
            paths.append(path)
        return paths

    def _controls(self, test: Split, chosen: Dose, on_test: Json) -> Json | None:
        """Random directions of the same norm at the chosen strength, held against dose 0 of the test split."""
        from maskbench.models.hf.vectors import load_vectors

        plan = self._plan
        if not plan.random or chosen.amount is None:
            return None
        vectors = load_vectors(Path(str(plan.source)))
        controls = []
        for number in range(1, plan.random + 1):
            name = f"random_{number:02}"
            path = self._folder.vectors(name, vectors.random(Random(f"dose {plan.base.seed} {number}")))
            controls.append(replace(strength(plan, chosen.layers, chosen.amount, path), name=name))
        runs = self._runs(test, "controls", controls, plan.control_statements)
        base = self._folder.path / on_test["zero"]["run"]
        _, rows = curve(base, runs, plan.base.rules)
        differences = [row["rates"]["p_lie"]["difference"] for row in rows]
        kept = ("rates", "malformed", "withheld", "untested_because")
        return {
            "statements": plan.control_statements,
            "rows": [
                {"name": path.name, "run": path.relative_to(self._folder.path).as_posix()}
                | {name: row[name] for name in kept}
                for path, row in zip(runs, rows, strict=True)
            ],
            "differences": [difference for difference in differences if difference is not None],
        }
