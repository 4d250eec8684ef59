"""An intervention in doses: one run a dose, chosen on one half of the scenarios, reported once on the other.

The plan and the thresholds are written down before anything is measured. Every run is an ordinary run in a folder of
its own, so a curve that was stopped goes on where it stopped. plan.py has what is planned, curve.py what the runs show.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from random import Random

from msgspec import structs

from maskbench.interventions.dose.conclusion import CHOICE, Conclusion, choose, conclude, exceeds
from maskbench.interventions.dose.curve import curve, seen
from maskbench.interventions.dose.damage import Perplexities
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.plan import Dose, check, doses, splits, strength, zero
from maskbench.interventions.dose.record import (
    DoseAlone,
    DoseCurve,
    DoseRecord,
    DoseRow,
    Half,
    OnDev,
    OnTest,
    Plan,
    RandomDirections,
    RandomRow,
)
from maskbench.judges.verdict_sets import reading
from maskbench.measurement import measure, measure_beside
from maskbench.method.forms import prompts_of
from maskbench.models.chat.extra_fields import check_extra
from maskbench.models.hf.opening import Stock, check_options, identified
from maskbench.models.names import check_models
from maskbench.models.serve.own_server import addressed
from maskbench.runs.begin import joined
from maskbench.runs.disk import inherited, make_folder
from maskbench.runs.folder import RunFolder, runs_below
from maskbench.runs.lent_servers import kept
from maskbench.runs.meter import known_prices
from maskbench.runs.passes import is_finished, passes_of
from maskbench.runs.pool import Pool, limits_named
from maskbench.runs.stored_programs import to_ask_by
from maskbench.runs.watching import Watcher
from maskbench.settings import Budget, Settings

Watch = Callable[[str, Path], Watcher]  # the watcher of a run, given what it is and its folder


def measure_doses(
    plan: Plan | None,
    out: Path,
    environ: Mapping[str, str],
    watch: Watch,
    command: Sequence[str] = (),
    budget: Budget | None = None,
    going_on: Callable[[Settings], Settings] | None = None,
) -> DoseCurve:
    """Measure a dose curve into the folder `out`, or go on with the one that is there; returns what dose.json holds.

    `plan` None takes the plan from the folder; a curve that is finished, whatever version measured it, is then read
    and no more. `going_on` makes settings to ask by of those that the folder has. The limits of `budget` hold for all
    runs of the curve together. Raises a MaskbenchError as `measure` does, RunMismatch where the folder holds another
    plan.
    """
    folder = DoseFolder(out)
    if plan is None:
        before = folder.data()
        if isinstance(before, DoseCurve) and _is_finished(before, folder):
            return before
        base = before.plan.base
        plan = structs.replace(before.plan, base=going_on(base) if going_on else to_ask_by(base, (), out))
    check(plan)
    check_extra(plan.base, environ)  # before the plan is written down: no key may reach the folder
    with RunFolder(out).writing():
        words = list(plan.limits.sentences())
        begun = DoseRecord(complete=False, plan=plan, maskbench=version("maskbench"), choice=CHOICE, words=words)
        folder.begin(begun)
        stock = Stock()
        perplexities = Perplexities(folder, environ, stock)
        pool = _pooled(plan, out, environ, budget or Budget())
        with joined([plan.base], 1), kept(out), limits_named(pool.purse):
            measured = _Measuring(plan, folder, environ, watch, command, stock, perplexities, pool).all(begun)
        folder.write(measured)
    return measured


def _pooled(plan: Plan, out: Path, environ: Mapping[str, str], budget: Budget) -> Pool:
    """What all runs of a curve may use up; raises UsageError for a limit in dollars on a model without a price."""
    known_prices(replace(plan.base, budget=replace(plan.base.budget, max_cost=budget.max_cost)), environ)
    pool = Pool(budget)
    for path in runs_below(out):
        pool.purse.put_down_run(str(path), RunFolder(path))
    return pool


def _is_finished(curve: DoseCurve, folder: DoseFolder) -> bool:
    """Whether all of its runs are there, and no call of theirs failed or is missing."""
    parts = [part for part in (curve.dev, curve.test) if part]
    rows = [*(part.zero for part in parts), *(row for part in parts for row in part.rows)]
    names = [row.run for row in (*rows, *(curve.controls.rows if curve.controls else ()))]
    for run in (RunFolder(folder.path / name) for name in names):
        if not run.exists:
            return False
        with reading(run) as opened:
            of = opened.settings
            prompts = prompts_of(of)
            if not is_finished(of, opened.store, passes_of(of, opened.store, prompts)):
                return False
    return True


@dataclass(frozen=True, slots=True)
class _Measuring:
    """One dose curve being measured."""

    plan: Plan
    folder: DoseFolder
    environ: Mapping[str, str]
    watch: Watch
    command: Sequence[str]
    stock: Stock  # a model in this process is loaded once
    perplexities: Perplexities
    pool: Pool

    def all(self, begun: DoseRecord) -> DoseCurve:
        """Choose on the dev split, measure on the test split, hold against the controls."""
        self._check()
        split = splits(self.plan, self.folder, self.environ)
        on_dev, chosen = self._choose(split.dev)
        on_test = None if chosen is None else self._report(split.test, chosen)
        controls = None if chosen is None or on_test is None else self._controls(split.test, chosen, on_test)
        if on_test is None:
            why = "Every dose did too much damage on the dev split; the test split was not touched."
            verdict = Conclusion("none chosen", (why,))
        else:
            verdict = self._conclude(on_test, controls)
        return DoseCurve(
            **{**structs.asdict(begun), "complete": True},
            split=split,
            dev=on_dev,
            test=on_test,
            controls=controls,
            verdict=verdict,
        )

    def _report(self, test: Half, chosen: Dose) -> OnTest:
        """The chosen dose on the test split, beside all others at its layers and, of steering, the negated one."""
        some = doses(self.plan, self.folder, chosen.layers)
        opposite = -chosen.amount if chosen.amount is not None and self.plan.kind == "steer" else None
        if opposite is not None and opposite not in (dose.amount for dose in some):
            some.append(strength(self.plan, chosen.layers, opposite))
        zero_, rows = self._curve(test, "test", some, self.plan.base.design.statements)
        return OnTest(zero_, rows, chosen.name)

    def _conclude(self, on_test: OnTest, controls: RandomDirections | None) -> Conclusion:
        """Give every row on the test split its word; returns that of the chosen dose, which the controls bear on."""
        words: dict[str, Conclusion] = {}
        for row in on_test.rows:
            random = controls.differences if controls and row.name == on_test.chosen else ()
            rates = {**row.rates, "malformed": row.malformed, "p_lie_by_base": row.p_lie_by_base}
            found = conclude(rates, self.plan.limits, row.perplexity_ratio, random, row.untested_because)
            row.verdict = words[row.name] = found
        return words[on_test.chosen]

    def _check(self) -> None:
        """Raise for a dose that could not be measured, before any is."""
        for layers in self.plan.layers:
            for dose in doses(self.plan, self.folder, layers):
                check_options(dose.settings)
                check_models(identified(dose.settings), addressed(self.environ, dose.settings))

    def _choose(self, dev: Half) -> tuple[OnDev | None, Dose | None]:
        """The dev curve and the dose chosen on it; with one dose alone there is nothing to choose."""
        several = [dose for layers in self.plan.layers for dose in doses(self.plan, self.folder, layers)]
        if len(several) == 1:
            return None, several[0]
        zero_, rows = self._curve(dev, "dev", several, self.plan.dev_statements)
        name, ruled_out = choose({row.name: seen(row) for row in rows}, self.plan.limits)
        chosen = next((dose for dose in several if dose.name == name), None)
        return OnDev(zero_, rows, name, dict(ruled_out)), chosen

    def _curve(self, split: Half, part: str, some: Sequence[Dose], statements: int) -> tuple[DoseAlone, list[DoseRow]]:
        """Dose 0 and these doses, measured on one split: rows in the order of their amounts."""
        nothing = zero(self.plan)
        ordered = sorted(some, key=lambda dose: (dose.layers or (), dose.amount if dose.amount is not None else 0.0))
        base, *runs = self._runs(split, part, [nothing, *ordered], statements)
        alone, against = curve(base, runs, self.plan.base.design.rules)
        normal = self.perplexities.of(nothing)
        for dose, row in zip((nothing, *ordered), (alone, *against), strict=True):
            row.amount, row.layers, row.perplexity = dose.amount, dose.layers, self.perplexities.of(dose)
            row.perplexity_ratio = row.perplexity / normal if row.perplexity and normal else None
        return alone, against

    def _runs(self, split: Half, part: str, some: Sequence[Dose], statements: int) -> list[Path]:
        """Measure these doses on one split, or go on with them."""
        paths: list[Path] = []
        for place, dose in enumerate(some, start=1):
            settings = dose.settings.having(scenarios=split.scenarios, statements=statements)
            path = self.folder.path / part / dose.name
            make_folder(path, inherited(self.folder.path))
            watcher = self.watch(f"{part}, {place} of {len(some)}: {dose.name}", path)
            if self.pool.purse.limits:
                stopper = self.pool.stopper(str(path))
                measure_beside(settings, path, self.environ, watcher, self.command, self.stock, stopper)
            else:
                measure(settings, path, self.environ, watcher, self.command, stock=self.stock)
            paths.append(path)
        return paths

    def _controls(self, test: Half, chosen: Dose, on_test: OnTest) -> RandomDirections | None:
        """Random directions of the same norm at the chosen strength, held against dose 0 of the test split."""
        from maskbench.models.hf.vectors import load_vectors

        plan = self.plan
        if plan.kind != "steer" or not plan.random or chosen.amount is None:
            return None
        vectors = load_vectors(Path(str(plan.source)))
        controls = []
        for number in range(1, plan.random + 1):
            name = f"random_{number:02}"
            path = self.folder.vectors(name, vectors.random(Random(f"dose {plan.base.design.seed} {number}")))
            controls.append(replace(strength(plan, chosen.layers, chosen.amount, path), name=name))
        runs = self._runs(test, "controls", controls, plan.control_statements)
        _, against = curve(self.folder.path / on_test.zero.run, runs, plan.base.design.rules)
        rows = [RandomRow(**{name: getattr(row, name) for name in RandomRow.__struct_fields__}) for row in against]
        differences = [row.rates["p_lie"].difference for row in rows if row.rates["p_lie"].difference is not None]
        changed = next(row.rates["p_lie"].difference for row in on_test.rows if row.name == chosen.name)
        return RandomDirections(plan.control_statements, rows, differences, exceeds(changed or 0.0, differences))
