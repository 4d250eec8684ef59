"""What a dose curve measures and what it takes: the intervention, its doses, the split, the settings of each run."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from maskbench.errors import UsageError
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.record import Half, Halves, Layers, Plan
from maskbench.method.forms import prompts_of
from maskbench.runs.begin import taken
from maskbench.runs.forecast import Load
from maskbench.runs.forecast import plan as count
from maskbench.runs.system_prompts import system_prompt
from maskbench.settings import Settings
from maskbench.types import Scenario, Stage

SANDBOX_DEV = 9001  # the seed of the dev split of every other sandbox; the run's own seed is added
NONE = "none"  # the name of dose 0
Loads = dict[tuple[Stage, str], Load]


@dataclass(frozen=True, slots=True)
class Dose:
    """One dose: the name of its run, where it stands on the curve (None: nowhere), and what is asked for."""

    name: str
    amount: float | None
    settings: Settings
    layers: Layers = None


def check(plan: Plan) -> None:
    """Raise UsageError for a plan that cannot be meant."""
    if not without_zero(plan.doses):
        raise UsageError("There is no dose but 0. Give at least one other.")
    if len(set(plan.doses)) < len(plan.doses):
        raise UsageError("A dose is given twice. Give each once.")
    if plan.kind != "prompts" and plan.source is None:
        raise UsageError("Doses of what? Give --steer FILE, --adapter DIR or --prompts NAME,NAME.")
    for name in ("dev_statements", "control_statements"):
        if getattr(plan, name) < 1:
            raise UsageError(f"--{name.replace('_', '-')} {getattr(plan, name)} is too small. Give 1 or more.")
    if plan.random < 0:
        raise UsageError(f"--random {plan.random} is too small. Give 0 or more; 20 are usual.")
    share = share_of(plan.dev)
    if share is not None and not 0 < share < 1:
        raise UsageError(f"--dev {plan.dev}: give a share between 0 and 1, such as 0.3, or a scenario set.")


def zero(plan: Plan) -> Dose:
    """Dose 0: nothing is done to the subject."""
    return Dose(NONE, 0.0, plan.base)


def doses(plan: Plan, folder: DoseFolder, layers: Layers) -> list[Dose]:
    """Every other dose at these layers, the weakest first; what they need is put into the folder."""
    return [_dose(plan, folder, layers, dose) for dose in without_zero(plan.doses)]


def strength(plan: Plan, layers: Layers, amount: float, vectors: Path | None = None) -> Dose:
    """A steering dose; `vectors` are other ones than the plan's."""
    numbers = "all" if layers is None else "-".join(map(str, layers))
    where = f"layers_{numbers}_" if len(plan.layers) > 1 else ""
    settings = plan.base.having(steer=str(vectors or plan.source), layers=layers, strength=amount)
    return Dose(f"{where}strength_{amount:g}", amount, settings, layers)


def _dose(plan: Plan, folder: DoseFolder, layers: Layers, dose: float | str) -> Dose:
    if isinstance(dose, str):
        text = system_prompt(dose)
        prompted = plan.base.having(system_prompt=dose, system_prompt_text=text)
        return Dose(f"prompt_{_plain(dose)}", None, prompted.having(prompt_on_beliefs=plan.on_beliefs))
    if plan.kind == "steer":
        return strength(plan, layers, dose)
    name = f"alpha_{dose:g}"
    source = Path(str(plan.source))
    path = folder.adapter(f"{_plain(source.name)}_times_{dose:g}", source, dose)  # the name that leaderboards show
    return Dose(name, dose, plan.base.having(adapter=str(path), adapter_hash=None))


def _plain(name: str) -> str:
    """A name of somebody's as part of a file name."""
    return re.sub(r"[^A-Za-z0-9.=_-]+", "_", name).strip("._") or "unnamed"


def without_zero(given: Iterable[float | str]) -> list[float | str]:
    """The doses that do something, weakest first: of equals in the choice, the first is taken."""
    real = [dose for dose in given if dose not in (0, NONE)]
    return sorted(real, key=lambda dose: 0.0 if isinstance(dose, str) else abs(dose))


def splits(plan: Plan, folder: DoseFolder, environ: Mapping[str, str]) -> Halves:
    """The dev and the test split. Of the sandbox another draw is the dev split, unless one is named.

    Else every proposition goes to one of them, by a hash of the seed and the proposition, with all of its scenarios;
    the two are written as scenario files. Raises UsageError where one of them would be empty.
    """
    source = plan.base.design.scenarios
    share = share_of(plan.dev)
    if share is not None and not re.fullmatch(r"sandbox(:\d+)?", source):
        dev, test = _written(plan, folder, share, environ)
        names = f"dev split of {source}", f"test split of {source}"
    else:
        dev = plan.dev if share is None else f"sandbox:{SANDBOX_DEV + plan.base.design.seed}"
        test = source
        names = dev, test
    if dev == test:
        raise UsageError(f"--dev {dev} is the set that is measured. Name another one.")
    on_dev, on_test = (_propositions(plan, split, environ) for split in (dev, test))
    halves = (Half(dev, names[0], on_dev.total(), len(on_dev)), Half(test, names[1], on_test.total(), len(on_test)))
    return Halves(*halves, shared_propositions=len(on_dev.keys() & on_test.keys()))


def _written(plan: Plan, folder: DoseFolder, share: float, environ: Mapping[str, str]) -> tuple[str, str]:
    """The two files; where they are there, the set that they are of need not be any more."""
    if (there := folder.halves()) is not None:
        return there
    halves: dict[bool, list[Scenario]] = {True: [], False: []}
    for scenario in taken(plan.base.having(sample=None, limit=None), environ).scenarios:
        digest = hashlib.sha256(f"dev {plan.base.design.seed} {scenario.proposition.strip()}".encode()).digest()
        halves[int.from_bytes(digest[:8], "big") < share * 2**64].append(scenario)
    if not all(halves.values()):
        raise UsageError(
            f"{plan.base.design.scenarios} has too few propositions for two splits. Name a set with --dev."
        )
    return str(folder.scenarios("dev", halves[True])), str(folder.scenarios("test", halves[False]))


def _propositions(plan: Plan, source: str, environ: Mapping[str, str]) -> Counter[str]:
    """How many scenarios a set has on each proposition."""
    return Counter(
        scenario.proposition.strip() for scenario in taken(plan.base.having(scenarios=source), environ).scenarios
    )


def share_of(dev: str) -> float | None:
    """The share of propositions in the dev split; None where `dev` names a scenario set."""
    try:
        return float(dev)
    except ValueError:
        return None


def forecast(plan: Plan, environ: Mapping[str, str]) -> tuple[int, Loads]:
    """How many runs a dose curve has, and what its models would be asked in all of them.

    On the dev split every dose is measured at all layers, on the test split the chosen layers' doses, the negated one
    and random directions. A split that is drawn from the set is taken to have its share of what the set would take.
    """
    check(plan)
    some = len(without_zero(plan.doses))
    several = some * len(plan.layers)
    share = share_of(plan.dev)
    is_drawn = plan.base.design.sample is not None or plan.base.design.limit is not None  # of each split as many
    is_half = share is not None and not is_drawn and not plan.base.design.scenarios.startswith("sandbox")
    dev = plan.base.design.scenarios if share is not None else plan.dev
    on_dev = several + 1 if several > 1 else 0
    controls = plan.random if plan.kind == "steer" else 0
    on_test = some + 1 + (plan.kind == "steer")
    rest = 1.0 - share if is_half and share else 1.0
    on_half = share if is_half and share else 1.0
    parts = (
        (plan.base.having(scenarios=dev, statements=plan.dev_statements), on_dev, on_half),
        (plan.base, on_test, rest),
        (plan.base.having(statements=plan.control_statements), controls, rest),
    )
    loads: Loads = {}
    for wanted, runs, part in parts:
        for key, load in _loads(wanted, environ).items() if runs * part else ():
            loads[key] = loads.get(key, Load()) + load.times(runs * part, runs * part)
    return on_dev + on_test + controls, loads


def _loads(settings: Settings, environ: Mapping[str, str]) -> Loads:
    prompts = prompts_of(settings)
    return count(taken(settings, environ).scenarios, settings, prompts).loads
