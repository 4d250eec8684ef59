"""The first verdicts of an imported run that came without any: they are its own set, and no further one."""

from __future__ import annotations

from maskbench.method.asks import VERDICTS
from maskbench.method.judge_ask import Prompts, prompts_of
from maskbench.runs.begin import give_judge
from maskbench.runs.folder import RunFolder
from maskbench.runs.imported_run import source_of_import
from maskbench.runs.run_json import Judged, Judges, Models, Record
from maskbench.runs.store import Store
from maskbench.settings import Settings, protocol_id


def own_set(folder: RunFolder, settings: Settings) -> str | None:
    """The name of a run's own verdict set where these settings begin it or go on with it; else None.

    That is so where the run was imported without verdicts, and nobody but this judge has given it one since.
    """
    record = folder.read()
    source = source_of_import(record)
    if source is None or source.judged:
        return None
    prompts = prompts_of(settings)
    store = folder.store()
    try:
        had, _ = store.verdict_counts().get(VERDICTS, (0, 0))
    finally:
        store.close()
    return VERDICTS if not had or record.protocol == protocol_id(settings, prompts.hash) else None


def begin_own(folder: RunFolder, store: Store, settings: Settings, prompts: Prompts) -> None:
    """Note in run.json who judges an imported run first."""
    store.flush()
    give_judge(folder, settings, prompts)


def set_of(record: Record, name: str) -> Record | Judged:
    """What run.json says of a verdict set: its own part, or the record itself of the run's own set."""
    return record if name == VERDICTS else record.sets[name]


def put_judges(about: Record | Judged, judges: Judges) -> None:
    """Note the models that judge, beside the subject where the record has it."""
    if isinstance(about, Record):
        about.models = Models(about.models.subject, judges.binary, judges.numeric)
    else:
        about.models = judges


def seconds_of(name: str) -> str:
    """The fact that says how long a verdict set took."""
    return "seconds" if name == VERDICTS else f"seconds {name}"
