"""From settings to a result in one call: opens scenarios, models and folder, lets the flow run, scores, closes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from maskbench.asking.begin import check_measured, checked, prepare, wanted
from maskbench.asking.executor import Executor, Make, executor, executor_for
from maskbench.asking.live import Gate
from maskbench.asking.loop import Stopper, awaited, beside_loop, in_loop
from maskbench.asking.meter import known_prices
from maskbench.asking.passes import expected, is_finished, passes_of
from maskbench.asking.progress import Display
from maskbench.asking.run_log import RunLog
from maskbench.asking.session import Asked, Asking, Book
from maskbench.asking.stored_programs import to_ask_by
from maskbench.asking.watching import Watcher
from maskbench.errors import UsageError
from maskbench.method.forms import prompts_of
from maskbench.models.chat.services import environment
from maskbench.models.names import Reach, check_models, is_loaded, open_judges, open_subject
from maskbench.models.scripted import Nobody
from maskbench.results.scored import result
from maskbench.results.summary import Summary
from maskbench.settings import NOBODY, Settings
from maskbench.store.bill import prices_kept
from maskbench.store.disk import network_kind
from maskbench.store.endings import LEFT_BEHIND
from maskbench.store.families import kinship
from maskbench.store.folder import RECORD, SUMMARY, RunFolder
from maskbench.store.protocol import Pass
from maskbench.store.record import About, Models, with_answers
from maskbench.store.system_prompts import system_prompt
from maskbench.types import Kind, Model


def measure(
    settings: Settings | str | PathLike[str],
    out: str | PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    models: tuple[Model, Model | None] | None = None,
    stock: dict[Any, Any] | None = None,
    progress: bool = False,
) -> Summary:
    """Measure a subject's honesty, or take the measurement in `out` up again; returns the summary.

    Everything is kept in the folder `out`, run.log among it; a folder alone, `measure("runs/x")`, goes on with the run
    in it. `environ` gives keys and addresses (default: the environment, with what `.env` in the working folder adds);
    `progress` shows how it goes, and a `watcher` of one's own sees it (default: nothing is shown); `command` is
    recorded. `models` are a subject and a judge of one's own, whose names the settings have to give (None for the judge
    of `none`); `stock` keeps models that are loaded in this process for further runs. Where a loop is running, as in a
    notebook, it works in a thread of its own while the loop waits.
    Raises a MaskbenchError: UsageError, ScenarioError, ModelError, RunError, or Interrupted.
    """
    begun, folder = _begun(settings, out)
    if progress and watcher is None:
        watcher = Display(None, RunFolder(folder).log)
    work = partial(_measure, begun, folder, environ, watcher, command, _both(models), stock)
    return beside_loop(work) if in_loop() else work(Stopper())


async def measure_async(
    settings: Settings | str | PathLike[str],
    out: str | PathLike[str] | None = None,
    environ: Mapping[str, str] | None = None,
    watcher: Watcher | None = None,
    command: Sequence[str] = (),
    models: tuple[Model, Model | None] | None = None,
    stock: dict[Any, Any] | None = None,
    progress: bool = False,
) -> Summary:
    """Measure as `measure` does while the running loop goes on, as a server's has to.

    The work is done in a thread of its own, in which `watcher` and the calls of `models` are called, too. A task that
    is cancelled lets calls in flight come home first, and stops at once where it is cancelled again.
    """
    begun, folder = _begun(settings, out)
    if progress and watcher is None:
        watcher = Display(None, RunFolder(folder).log)
    return await awaited(partial(_measure, begun, folder, environ, watcher, command, _both(models), stock))


def _both(models: tuple[Model, Model | None] | None) -> tuple[Model, Model] | None:
    """A subject and a judge of one's own, nobody in the place of a judge that is not there."""
    return models and (models[0], models[1] or Nobody({}, NOBODY))


def measure_beside(
    settings: Settings,
    out: Path,
    environ: Mapping[str, str],
    watcher: Watcher,
    command: Sequence[str],
    stock: dict[Any, Any] | None,
    stopper: Stopper,
) -> Summary:
    """Measure as `measure` does in a thread beside others; `stopper` has the gate that they share, and stops it."""
    return _measure(settings, out, environ, watcher, command, None, stock, stopper)


def _begun(settings: Settings | str | PathLike[str], out: str | PathLike[str] | None) -> tuple[Settings, Path]:
    """The settings of a run and its folder; of a folder alone those of the run in it."""
    if isinstance(settings, Settings):
        if out is None:
            raise UsageError('Where to? Give the run a folder of its own: measure(settings, "runs/x").')
        return settings, Path(out)
    if out is not None:
        raise UsageError(
            f"{settings} are no settings. Give measure(Settings.of(...), folder), or a folder alone to go on "
            "with its run."
        )
    folder = Path(settings)
    return to_ask_by(RunFolder(folder).settings(), (), folder), folder


def _measure(
    settings: Settings,
    out: Path,
    environ: Mapping[str, str] | None,
    watcher: Watcher | None,
    command: Sequence[str],
    models: tuple[Model, Model] | None,
    stock: dict[Any, Any] | None,
    stopper: Stopper,
) -> Summary:
    watcher = watcher or RunLog(RunFolder(out).log)
    environ = environment(Path.cwd()) if environ is None else environ
    settings = checked(settings, environ)
    if settings.design.system_prompt and settings.design.system_prompt_text is None:
        settings = settings.having(system_prompt_text=system_prompt(settings.design.system_prompt))
    if models:
        subject, judge = (model.name for model in models)
        if (settings.subject.name, settings.judging.judge, settings.judging.numeric_judge) != (subject, judge, judge):
            raise UsageError(f"The settings name other models than the ones given: name {subject} and {judge} there.")
    prompts = prompts_of(settings)
    folder = RunFolder(out)
    if restored := folder.restore():
        watcher.tell(restored)
    if folder.exists:
        folder.check_texts("nobody can be asked here")
        if folder.may_lack_answers():
            watcher.tell(f"The last session in {out} has no end. {LEFT_BEHIND}")
    check_measured(folder)
    if not models and not folder.exists:
        check_models(settings, environ)  # a wrong name or a missing key leaves no folder behind
    brought = [model.name for model in models or ()]
    known_prices(settings, environ, brought, kept=prices_kept(folder))  # what it refuses leaves no folder, either
    wants = wanted(folder, settings, environ, watcher)
    with folder.writing():
        make = executor_for(folder.path, settings)  # what it refuses leaves the run as it is
        if kind := network_kind(folder.path):
            watcher.tell(f"{folder.path} is on a network file system ({kind}), which is slower than a disk.")
        store = prepare(folder, settings, prompts, wants, watcher)
        try:
            passes = passes_of(settings, store, prompts)
            if not is_finished(settings, store, passes):
                asking = Asking(
                    settings=settings,
                    store=store,
                    environ=environ,
                    watcher=watcher,
                    command=command,
                    stopper=stopper,
                    own=brought,
                    kept=prices_kept(folder),
                )
                _ask(folder, asking, make, passes, models, stock)
        finally:
            store.close()
        summary = result(folder, settings.design.rules)
        folder.write(SUMMARY, summary.as_dict())
    return summary


def _ask(
    folder: RunFolder,
    asking: Asking,
    make: Make,
    passes: Sequence[Pass],
    models: tuple[Model, Model] | None,
    stock: dict[Any, Any] | None,
) -> None:
    """Have asked what is missing of these passes."""
    settings, store, watcher, record = asking.settings, asking.store, asking.watcher, folder.read()

    def opened(reach: Reach) -> Asked:
        if not models and is_loaded(settings.subject.name) and not stock:  # one that holds something has it
            watcher.tell(f"Loading {settings.subject.name}.")
        if models:
            subject, judge = models
            judges: Mapping[Kind, Model] = {"binary": judge, "numerical": judge}
        else:
            subject, judges = open_subject(settings, reach, stock), open_judges(settings, reach)
        if warning := kinship(settings.subject.name, settings.judging.judges):
            watcher.tell(f"Caution: {warning}")
        return Asked(judges, subject)

    def flow(asked: Asked, gate: Gate) -> Executor:
        return executor(settings, store, passes, asked.judges, watcher, gate, asked.subject, make)

    def note(described: Mapping[str, About]) -> None:
        record.models = Models(**with_answers(described, store))
        folder.write(RECORD, record)

    book = Book(asdict(record.models), record.sessions, note)
    asking.carry_out(book, opened, flow, expected(store, passes))
