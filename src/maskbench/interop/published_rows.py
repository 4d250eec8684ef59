"""The CSV files of the published scripts, at each of their stages, read for an import (method.md section 9).

Generations alone, with the judge's texts, with the verdicts extracted from them, or with the metric's columns, which
are not needed: outcomes are computed anew. Of a verdict on numbers the same one stands with every belief reply; where
`export` wrote each one's own verdict into the judge's text, that is taken.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from maskbench.errors import Problem, UsageError
from maskbench.interop.imported_rows import (
    ImportedReply,
    ImportedScenario,
    Source,
    SourceFacts,
    file_of,
    its_scenarios,
    published_question,
    refuse,
)
from maskbench.interop.published_csv import ANSWER
from maskbench.interop.published_verdicts import bounds_of, extracted_in, failed_reply, is_empty, verdict_in
from maskbench.plain import unformula
from maskbench.scenarios.formats import Header, Row, ScenarioFile, read_file
from maskbench.scenarios.rows import COLUMNS, read_row
from maskbench.settings import SYSTEM_PROMPT
from maskbench.store.families import alike
from maskbench.store.source import UNSAID
from maskbench.types import ARCHETYPES, Archetype, Failure, Judgement, Kind, NumericalVerdict, Reply, Scenario

_CELL = re.compile(
    r"(?P<what>generation|eval)\((?:System Prompt \+ User Prompt|belief_system_1 \+ belief_elicit_(?P<k>[1-3]))\)"
    r"(?:_run(?P<run>[1-9]\d{0,3}))?(?P<extracted>_extracted)?"
)
# What stands for a column where each question was asked once, in the scripts' older form.
_NAME_IT = "Name it <archetype>_<model>.csv, such as known_facts_gpt-4o.csv"
_OLDER = {"system_user_eval": (0, 1, "eval"), "system_user_extracted": (0, 1, "extracted")} | {
    f"belief_eval_{k}{end}": (k, 1, what)
    for k in (1, 2, 3)
    for end, what in (("", "eval"), ("_extracted", "extracted"))
}
_MATCHED = ("system_prompt", "user_prompt", "proposition", "formatted_ground_truth")
_OPTIONAL = ("belief_elicit_1", "belief_elicit_2", "belief_elicit_3", "dd_turn_1_prompt", "dd_turn_1_response")
_ABSENT = (
    "how the subject was sampled",
    "which replies were cut at the token limit",
    "reasoning",
    "tokens and time",
    "who answered",
)


def is_published(columns: Sequence[str]) -> bool:
    """Whether a CSV with these columns is one of the published scripts'."""
    return any((place := _place(column)) and place[2] == "generation" for column in columns)


@dataclass(frozen=True, slots=True)
class _File:
    """One file with what its name says: the archetype, then the model."""

    path: Path
    archetype: Archetype | None
    model: str | None


def read_published(path: Path, asked: SourceFacts) -> tuple[Source, list[ImportedScenario]]:
    """What a file, or a folder of files named `<archetype>_<model>.csv`, has on every scenario.

    Raises ScenarioError with every row that cannot be read, UsageError where the folder holds several models.
    """
    files = _chosen(path, asked)
    problems: list[Problem] = []
    rows: list[tuple[Kind, ImportedScenario]] = []
    stages = Counter[str]()
    for file in files:
        for item in _rows(file, path):
            if isinstance(item, Problem):
                problems.append(item)
                continue
            shown, number, cells, places = item
            stages += Counter({what for _, _, what in places.values()})
            kind = _kind(file, cells)
            row = _row(shown, number, file, cells, places, kind)
            problems += [row] if isinstance(row, Problem) else []
            rows += [] if isinstance(row, Problem) else [(kind, row)]
    refuse(path, problems)
    is_judged = bool(stages["eval"] or stages["extracted"])
    is_apart = any(kind == "numerical" and _is_apart(row.replies) for kind, row in rows)
    belief = _alone if is_apart else joined
    subject = asked.subject or next((file.model for file in files if file.model), None)
    if subject is None:
        raise UsageError(f"{path} does not say which model answered. Add --subject NAME.")
    absent = [*_ABSENT, *(["the judge"] if is_judged and not asked.judge else [])]
    source = Source(
        format="published",
        files=[file_of(file.path) for file in files],
        subject=subject,
        judge=(asked.judge or UNSAID) if is_judged else None,
        numbers_apart=is_apart,
        absent=(*absent, *([] if is_judged else ["verdicts"])),
    )
    return source, [replace(row, replies=belief(row.replies)) if kind == "numerical" else row for kind, row in rows]


def scenarios_in(path: Path, asked: SourceFacts) -> list[Scenario]:
    """The scenarios that the files hold themselves; raises ScenarioError with every row that is none."""
    return its_scenarios(path, _scenarios(path, asked))


def _scenarios(path: Path, asked: SourceFacts) -> Iterator[Scenario | list[Problem]]:
    for file in _chosen(path, asked):
        for item in _rows(file, path):
            if isinstance(item, Problem):
                yield [item]
                continue
            shown, number, cells, _ = item
            if file.archetype is None and "archetype" not in cells:
                yield [Problem(shown, None, None, "its name begins with no archetype", _NAME_IT)]
                break
            own = {name: _undone(name, cell) for name, cell in cells.items() if name in COLUMNS and _filled(cell)}
            kept = {"ground_truth": cells["ground_truth"]} if _filled(cells.get("ground_truth", "")) else {}
            yield read_row({**own, **kept}, shown, number, file.archetype)


def _chosen(path: Path, asked: SourceFacts) -> list[_File]:
    """The files to read: all of a folder, or those of the model that is asked for."""
    places = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    files = [_named(place) for place in places]
    models = sorted({file.model for file in files if file.model})
    if len(models) < 2:
        return files
    subject = asked.subject or ""
    own = [model for model in models if _is_named(model, subject)]
    own = own or [model for model in models if alike(subject, model)]
    if len(own) != 1:
        listed = ", ".join(models)
        raise UsageError(f"{path} holds the files of several models ({listed}). Choose one with --subject NAME.")
    return [file for file in files if file.model == own[0]]


def _is_named(model: str, subject: str) -> bool:
    """Whether a file's name names this very subject; in a file's name some signs are dashes."""
    written = re.sub(r"[^A-Za-z0-9._=-]+", "-", subject).strip("-.")
    return model in (subject, written, subject.rpartition("/")[2])


def _named(path: Path) -> _File:
    """A file with the archetype that its name begins with, and the model after it."""
    for archetype in sorted(ARCHETYPES, key=len, reverse=True):
        if path.stem == archetype:
            return _File(path, archetype, None)
        if path.stem.startswith(f"{archetype}_"):
            return _File(path, archetype, path.stem.removeprefix(f"{archetype}_"))
    return _File(path, None, None)


_Places = Mapping[str, tuple[int, int, str]]  # by column: elicitation, run, and what of them


def _rows(file: _File, root: Path) -> Iterator[tuple[str, int, Mapping[str, str], _Places] | Problem]:
    """Every row of a file with its cells, and the places that its columns stand for."""
    shown = str(file.path)
    places: dict[str, tuple[int, int, str]] = {}
    for item in read_file(ScenarioFile(file.path, shown, file.archetype)):
        match item:
            case Header(columns):
                repeated = [name for name, count in Counter(columns).items() if count > 1]
                if repeated:
                    yield Problem(shown, None, repeated[0], "the column stands there more than once", "Remove one")
                    return
                places = {name: place for name in columns if (place := _place(name))}
                if not is_published(columns):
                    lacks = "it has no column generation(System Prompt + User Prompt)_run1"
                    yield Problem(shown, None, None, lacks, f"Take the file out of {root}, or give another one")
                    return
                if unheard := list(_without_replies(shown, places)):
                    yield from unheard
                    return
            case Row(number, cells):
                yield shown, number, cells, places
            case Problem():
                yield item


def _without_replies(shown: str, places: _Places) -> Iterator[Problem]:
    """The columns of replies that a header lacks although it has verdicts on them: renamed ones, most often."""
    replies = {place[:2] for place in places.values() if place[2] == "generation"}
    for elicitation, run in sorted({place[:2] for place in places.values()} - replies):
        on = next(column for column, place in places.items() if place[:2] == (elicitation, run))
        remedy = "Give the column of these replies this name, or take out the columns of verdicts on them"
        lacks = f"the header lacks it, but has verdicts on these replies ({on})"
        yield Problem(shown, None, f"generation({published_question(elicitation)})_run{run}", lacks, remedy)


def _place(column: str) -> tuple[int, int, str] | None:
    """What a column is about: elicitation, run, and whether it is the reply, the judge's text, or what was extracted.

    Columns of older files that have no run are about the first.
    """
    if column in _OLDER:
        return _OLDER[column]
    match = _CELL.fullmatch(column)
    if match is None or (match["what"] == "generation" and match["extracted"]):
        return None
    return int(match["k"] or 0), int(match["run"] or 1), "extracted" if match["extracted"] else match["what"]


def _kind(file: _File, cells: Mapping[str, str]) -> Kind:
    return "numerical" if "<value>" in cells.get("proposition", "") or file.archetype == "statistics" else "binary"


def _row(
    shown: str, number: int, file: _File, cells: Mapping[str, str], places: _Places, kind: Kind
) -> ImportedScenario | Problem:
    """What a row has on its scenario."""
    system = cells.get("belief_system_1", "")
    if _filled(system) and system.strip() != SYSTEM_PROMPT:
        other = f"neutral questions were asked under another system prompt than {SYSTEM_PROMPT!r}"
        return Problem(shown, number, "belief_system_1", other, "Such beliefs cannot be imported; leave the row out")
    held: dict[tuple[int, int], dict[str, str]] = {}
    for column, (elicitation, run, what) in places.items():
        held.setdefault((elicitation, run), {})[what] = cells[column]
    replies = [
        _reply(place, parts, kind)
        for place, parts in sorted(held.items())
        if place[0] == 0 or _filled(cells.get(f"belief_elicit_{place[0]}", "")) or _filled(parts.get("generation", ""))
    ]
    asked = [name for name in _OPTIONAL if name in cells and (_filled(cells[name]) or name.startswith("belief"))]
    texts = {name: _undone(name, cells[name]) for name in (*_MATCHED, *asked) if name in cells}
    return ImportedScenario(
        file=shown,
        row=number,
        task_id=cells.get("task_id", "").strip() or None,
        replies=replies,
        archetype=file.archetype,
        texts={name: "" if not _filled(text) else text for name, text in texts.items()},
    )


def _reply(place: tuple[int, int], parts: Mapping[str, str], kind: Kind) -> ImportedReply:
    text = _formula_undone(parts.get("generation", ""))
    judged = _formula_undone(parts["eval"]) if "eval" in parts else None
    extracted = parts.get("extracted")
    verdict = verdict_in(judged, extracted, kind)
    is_read = isinstance(verdict, Judgement) and extracted_in(extracted or "", kind) is None
    return ImportedReply(
        *place,
        failed_reply(text) or Reply(text),
        verdict,
        judged if judged and not is_empty(judged) else None,
        read_from=(None if not is_read else "words" if extracted is None or not is_empty(extracted) else "empty"),
    )


def _is_apart(replies: Sequence[ImportedReply]) -> bool:
    """Whether neutral replies about a number have verdicts of their own beside the one that stands with all of them."""
    direct = [reply for reply in replies if reply.elicitation == 1]
    joint = {_said(reply.verdict) for reply in direct}
    own = {_said(_own(reply)) for reply in direct if _own(reply) is not None}
    return len(joint) == 1 and bool(own) and own != joint


def _said(verdict: Judgement | Failure | None) -> str:
    """A verdict without the judge's words, to be compared."""
    return repr(getattr(verdict, "verdict", verdict))


def _own(reply: ImportedReply) -> Judgement | None:
    """The verdict in the last line of a judge's text on one reply about a number."""
    reason, _, last = f"\n{reply.judge_text or ''}".rpartition("\n")
    bounds = bounds_of(last.removeprefix(ANSWER)) if last.startswith(f"{ANSWER}(") else None
    if bounds is None or len(bounds) != 4:
        return None
    low, high, relative_low, relative_high = bounds
    return Judgement(NumericalVerdict(low, high, relative_low, relative_high), reason.removeprefix("\n") or None)


def _alone(replies: Sequence[ImportedReply]) -> list[ImportedReply]:
    """Replies about a number, each neutral one with its own verdict."""
    absent = Failure("judge", "absent", "The judge's text holds no verdict on this reply.")
    return [
        replace(reply, verdict=_own(reply) or absent, read_from="words" if _own(reply) else None)
        if reply.elicitation == 1
        else reply
        for reply in replies
    ]


def joined(replies: Sequence[ImportedReply]) -> list[ImportedReply]:
    """Replies about a number, with the one verdict on the neutral ones where a run has it: with the last of them."""
    direct = [reply for reply in replies if reply.elicitation == 1]
    if not direct:
        return list(replies)
    given = [reply for reply in direct if reply.verdict is not None]
    verdicts = {_said(reply.verdict) for reply in given}
    joint = given[-1].verdict if given else None
    if len(verdicts) > 1:
        joint = Failure("judge", "unreadable", "The belief replies hold different verdicts, and one on all was meant.")
    others = [reply for reply in replies if reply.elicitation != 1]
    alone = [replace(reply, verdict=None, judge_text=None, read_from=None) for reply in direct[:-1]]
    text = given[-1].judge_text if given else None
    is_read = given and all(reply.read_from for reply in given)  # else a column has it
    read_from = given[-1].read_from if is_read else None
    return [*others, *alone, replace(direct[-1], verdict=joint, judge_text=text, read_from=read_from)]


def _undone(column: str, cell: str) -> str:
    return cell if column == "formatted_ground_truth" else _formula_undone(cell)


def _formula_undone(text: str) -> str:
    """A cell without the apostrophe that `export` puts before what a spreadsheet could take for a formula."""
    return text[1:] if text.startswith("'") and unformula(text[1:]) == text else text


def _filled(cell: Any) -> bool:
    """Whether a cell holds anything."""
    return isinstance(cell, str) and not is_empty(cell)
