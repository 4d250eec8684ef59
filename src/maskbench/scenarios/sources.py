"""Where a scenario set comes from: the starter set, the hub, a folder, or one file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import resources
from pathlib import Path

from maskbench.errors import Problem, ScenarioError
from maskbench.method.archetypes import TABLE
from maskbench.scenarios import hub
from maskbench.scenarios.formats import ScenarioFile, known_format
from maskbench.scenarios.own_archetypes import FILE, read_own
from maskbench.scenarios.reading import ScenarioSet
from maskbench.types import ARCHETYPES, Archetype, Definition, Scenario

STARTER = "starter"
STARTER_LICENCE = "CC-BY-4.0"
SANDBOX = "sandbox"
SAID_AND_DID = "said_and_did"
CONTROLS_OF_STARTER = f"{STARTER}-controls"
CONTROLS = ("truth", "plain")  # scenarios that press for the truth, and twins without pressure
_OF_STARTER = {STARTER, CONTROLS_OF_STARTER, *(f"{CONTROLS_OF_STARTER}:{kind}" for kind in CONTROLS)}
UNRELATED = re.compile(r"\..*|(readme|licen[cs]e|notice|citation|changelog)\b.*|.*\.md", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class KnownSet:
    """A set that has a name, as `maskbench scenarios list` shows it."""

    name: str
    description: str
    licence: str
    how: str
    sizes: Mapping[Archetype, int]


def is_starter(name: str) -> bool:
    """Whether a scenario set of that name is the starter set, or its controls."""
    return name in _OF_STARTER


def open_set(source: str, environ: Mapping[str, str]) -> ScenarioSet:
    """The set of that name (`starter`, `starter-controls`, `said_and_did`, `sandbox`, `cais/MASK`) or at that path.

    Only cais/MASK uses `environ` and the network. Raises ScenarioError where there is no such set or file, or
    no access to it; problems inside the files show when it is iterated over.
    """
    if is_starter(source):
        return _starter(source)
    if source == SAID_AND_DID:
        return _logs()
    if source.partition(":")[0] == SANDBOX:
        return _sandbox(source)
    if source.lower() == hub.NAME.lower():
        return _folder(hub.fetch(environ), hub.NAME)
    path = Path(source)
    try:
        if path.is_dir():
            return _folder(path, source)
    except OSError as error:
        raise ScenarioError(f"The folder {source} cannot be read ({error.strerror}). Check its rights.") from error
    if path.is_file() and known_format(path.name):
        own, problems = _own(path.parent, Path(source).parent)
        file = ScenarioFile(path, source, path.stem if path.stem in {**TABLE, **own} else None)
        return ScenarioSet(source, (file,), tuple(problems), own=own)
    if path.exists():
        trouble = f"{source!r} is not a CSV, JSONL or Parquet file."
    elif path.suffix or "/" in source:
        trouble = f"There is no file or folder {source!r}."
    else:
        trouble = f"{source!r} is neither a scenario set nor a path."
    raise ScenarioError(
        f"{trouble}{_meant(source)} Give {STARTER}, {SAID_AND_DID}, {SANDBOX}, {hub.NAME}, a folder of CSV files "
        "named after the archetypes, or one CSV, JSONL or Parquet file with an archetype column."
    )


def _meant(source: str) -> str:
    """The set with a name that may have been meant, as a question."""
    names = {
        alias.lower(): name for name in (STARTER, SAID_AND_DID, SANDBOX, hub.NAME) for alias in (name, Path(name).name)
    }
    close = get_close_matches(source.lower(), names, 1)
    return f" Did you mean {names[close[0]]}?" if close else ""


def validate(source: str, environ: Mapping[str, str]) -> list[Problem]:
    """Everything that is wrong with a set, in all of its files and rows; raises as `open_set` does."""
    return [item for item in open_set(source, environ).scan(described=True) if isinstance(item, Problem)]


def load(source: str, environ: Mapping[str, str] | None = None) -> list[Scenario]:
    """All scenarios of a set at once, for notebooks and scripts; raises ScenarioError with every problem."""
    return list(open_set(source, os.environ if environ is None else environ))


def known_sets() -> tuple[KnownSet, ...]:
    """The sets that have names; nothing is fetched."""
    return (
        _shipped(
            STARTER,
            "Everyday situations on stable facts, written for this project by language models.",
            "It comes with the package.",
        ),
        _shipped(
            CONTROLS_OF_STARTER,
            "Some of its facts, pressed for the truth (:truth) and without pressure (:plain); not in it.",
            "They come with the package.",
        ),
        KnownSet(
            name=SAID_AND_DID,
            description="Logs of an agent's work, half of them with one event that its report has to name.",
            licence=STARTER_LICENCE,
            how="It comes with the package.",
            sizes=dict.fromkeys((SAID_AND_DID, f"{SAID_AND_DID}_twin"), 312),
        ),
        KnownSet(
            name=SANDBOX,
            description="A generated world for pinocchio and for tests of the instrument; sandbox:SEED draws anew.",
            licence=_sandbox(SANDBOX).licence or "",
            how="It is drawn by the package.",
            sizes=_sizes(_sandbox(SANDBOX)),
        ),
        KnownSet(
            name=hub.NAME,
            description="The public scenarios of the MASK benchmark (Ren et al., arXiv:2503.03750).",
            licence="the data set's own",
            how=hub.HOW,
            sizes=hub.SIZES,
        ),
    )


def _shipped(name: str, description: str, how: str) -> KnownSet:
    return KnownSet(name, description, STARTER_LICENCE, how, _sizes(_starter(name)))


def _sizes(scenarios: ScenarioSet) -> Mapping[Archetype, int]:
    return Counter(scenario.archetype for scenario in scenarios)


def _starter(source: str = STARTER) -> ScenarioSet:
    """The starter set, or its controls, which are part of no other set."""
    folder = resources.files("maskbench") / "scenarios" / STARTER
    _, controls, sort = source.partition("-controls")
    named: dict[str, Archetype | None] = {f"{name}.csv": name for name in ARCHETYPES}
    if controls:
        named = {f"controls_{kind}.csv": None for kind in CONTROLS if sort in ("", f":{kind}")}
    files = tuple(ScenarioFile(folder / name, f"{STARTER}/{name}", archetype) for name, archetype in named.items())
    return ScenarioSet(source, files, licence=STARTER_LICENCE)


def _logs() -> ScenarioSet:
    """Logs of an agent's work, and the requests for reports on them (docs/said-and-did.md)."""
    place = resources.files("maskbench") / "scenarios" / SAID_AND_DID / f"{SAID_AND_DID}.jsonl.xz"
    return ScenarioSet(SAID_AND_DID, (ScenarioFile(place, f"{SAID_AND_DID}.jsonl"),), licence=STARTER_LICENCE)


def _sandbox(source: str) -> ScenarioSet:
    """`sandbox`, or `sandbox:SEED` for a fresh draw."""
    from maskbench.scenarios.pinocchio import FIXED_SEED, LICENCE, sandbox

    _, colon, seed = source.partition(":")
    if colon and not re.fullmatch(r"[0-9]{1,9}", seed):
        raise ScenarioError(f"{source!r} is no draw of the sandbox. Give {SANDBOX}:SEED with a whole number.")
    return ScenarioSet(source, (), licence=LICENCE, drawn=tuple(sandbox(int(seed) if seed else FIXED_SEED)))


def _folder(root: Path, name: str) -> ScenarioSet:
    """A folder of files named after the archetypes, or of folders so named, as the hub's copy has them."""
    files: list[ScenarioFile] = []
    own, problems = _own(root, Path(name))
    known = (*TABLE, *own)
    names = f"{', '.join(known)} with .csv, .jsonl or .parquet"
    holds: dict[Archetype, str] = {}
    for path, archetype in _inside(root, known):
        within = path.relative_to(root)
        file = ScenarioFile(path, (Path(name) / within).as_posix(), archetype)
        if archetype and path.is_file() and known_format(path.name):
            files.append(file)
            if (first := holds.setdefault(archetype, within.parts[0])) != within.parts[0]:
                problems.append(file.problem(None, None, f"{archetype} is in {first} already", "Keep one of the two"))
        elif not UNRELATED.fullmatch(path.name) and path.name != FILE:
            remedy = f"Name it as one of {names}, or move it elsewhere"
            problems.append(file.problem(None, None, "it is no scenario file", remedy))
    if not files:
        problems.append(Problem(name, None, None, "the folder holds no scenario file", f"Add at least one of {names}"))
    in_order = tuple(file for archetype in known for file in files if file.archetype == archetype)
    return ScenarioSet(name, in_order, tuple(problems), own=own)


def _own(folder: Path, shown: Path) -> tuple[dict[Archetype, Definition], list[Problem]]:
    """The archetypes that a file beside the rows brings, where there is one, and what is wrong with it."""
    place = folder / FILE
    return read_own(place, (shown / FILE).as_posix()) if place.is_file() else ({}, [])


def _inside(root: Path, known: Collection[Archetype]) -> Iterator[tuple[Path, Archetype | None]]:
    for entry in sorted(root.iterdir()):
        if entry.is_dir() and entry.name in known:
            yield from ((path, entry.name) for path in sorted(entry.iterdir()))
        else:
            yield entry, entry.stem if entry.stem in known else None
