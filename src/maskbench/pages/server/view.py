"""A folder of runs as pages: the leaderboard, each run's report, comparisons, dose curves, and what is under way.

Everything that comes from a run, its folder's name too, was written by others: templates escape it, and addresses
name runs by ids that lead to nothing but what was found in the folder.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from starlette.responses import JSONResponse, RedirectResponse
from starlette.routing import Route

from maskbench.errors import MaskbenchError
from maskbench.interventions.dose.dose_folder import DoseFolder
from maskbench.interventions.dose.record import DoseCurve
from maskbench.pages.board_page import LONGEST_NAME, tables
from maskbench.pages.server.live import Look, Watch
from maskbench.pages.server.serving import aside, page
from maskbench.pages.server.shelf import Known, Shelf, Shown, labels_state
from maskbench.pages.shell import Document, document, environment, static
from maskbench.plain import shortened, visible
from maskbench.presentation.sections.board import GAP_NOTE, gaps
from maskbench.presentation.sections.doses import finding, title
from maskbench.runs.endings import ended_said, last_end, resuming
from maskbench.runs.folder import RunFolder

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

ALLOWED = {"connect-src": "'self'", "form-action": "'self'"}
PATIENCE = 1.5  # seconds that the first page waits for runs to be read and ranked
MOST_COMPARED = 12  # runs on one page
MOST_KEPT = 16  # reports in memory, of up to 5 MB each for most runs
LARGEST_KEPT = 100_000_000  # letters of all of them: the page of a run of 100,000 scenarios has half of that
_TOP = re.compile(r'<body[^>]*>(\s*<a class="skip"[^>]*>[^<]*</a>)?')  # the way past everything stays the first link
_FACTS = {"replies": "Replies", "verdicts": "Verdicts", "failed": "Failed"}
_SPEED = {"speed": "Speed", "left": "Time left"}


class View:
    """The pages of one folder; `routes` go to a server."""

    def __init__(self, shelf: Shelf, *, include_text: bool = False) -> None:
        self._shelf = shelf
        self._watch = Watch()
        self._reports = Kept(MOST_KEPT)
        self._include_text = include_text
        self.routes = [
            Route("/", self._board),
            Route("/state", self._state),
            Route("/run/{id}", self._run),
            Route("/run/{id}/progress", self._progress),
            Route("/run/{id}/report", self._report),
            Route("/compare", self._compare),
            Route("/dose/{id}", self._dose),
            Route("/{rest:path}", self._nothing),
        ]
        shelf.start()

    # All runs

    async def _board(self, request: Request) -> Response:
        ticked = request.query_params.getlist("run")
        return page(await aside(lambda: self._board_page(self._shelf.show(PATIENCE), ticked)))

    def _board_page(self, shown: Shown, ticked: Collection[str]) -> Document:
        unreadable = [
            {"name": shortened(shown.runs[name].name, LONGEST_NAME), "why": shortened(why, 600)}
            for name, why in shown.unreadable.items()
        ]
        body = _filled(
            "view_board.jinja",
            version=shown.version,
            root=shortened(str(self._shelf.root), 200),
            runs=len(shown.runs),
            unread=shown.unread,
            active=self._active(shown),
            curves=[_curve(curve) for curve in shown.curves.values()],
            tables=tables(shown),
            ticked=ticked,
            gaps=gaps(shown.gaps) if shown.gaps else None,
            gap_note=GAP_NOTE,
            unreadable=sorted(unreadable, key=lambda run: run["name"]),
        )
        return _document("Runs – maskbench", body, "board.js")

    async def _state(self, request: Request) -> Response:
        shown = await aside(self._shelf.show)
        active = await aside(lambda: self._active(shown))
        state = {"version": shown.version, "runs": len(shown.runs), "unread": shown.unread, "active": active}
        return JSONResponse(state)

    def _active(self, shown: Shown) -> list[dict[str, Any]]:
        """Every run under way, with how it stands; one whose plan cannot be read yet is left out."""
        active = []
        for run in shown.runs.values():
            if run.under_way:
                try:
                    look = self._watch.look(run.path, monotonic(), active=True)
                except MaskbenchError:
                    continue
                active.append({"id": run.id, "name": shortened(run.name, LONGEST_NAME), **look})
        return active

    # One run

    async def _run(self, request: Request) -> Response:
        """The report of a run that is done; of another one how it stands."""
        run = await aside(partial(self._shelf.run, request.path_params["id"]))
        if run is None:
            return _gone()
        try:
            if not run.under_way and await aside(lambda: self._shelf.result(run).summary.complete):
                return await self._report_page([run])
            return page(await aside(lambda: _run_page(run, self._look(run))))
        except Exception as error:
            return _broken(run, error)

    async def _progress(self, request: Request) -> Response:
        run = await aside(partial(self._shelf.run, request.path_params["id"]))
        if run is None:
            return JSONResponse({"state": "gone"}, 404)
        try:
            return JSONResponse(await aside(lambda: self._look(run)))
        except MaskbenchError:
            return JSONResponse({"state": "broken"}, 404)

    async def _report(self, request: Request) -> Response:
        run = await aside(partial(self._shelf.run, request.path_params["id"]))
        return _gone() if run is None else await self._report_page([run])

    def _look(self, run: Known) -> Look:
        return self._watch.look(run.path, monotonic(), active=run.under_way)

    # Reports

    async def _compare(self, request: Request) -> Response:
        """The report of several runs; the first, or `reference`, is what the others are held against."""
        known = await aside(self._shelf.look)
        ids = list(dict.fromkeys(request.query_params.getlist("run")))
        reference = request.query_params.get("reference")
        if reference in ids:
            ids = [reference, *(name for name in ids if name != reference)]
        runs = [known[name] for name in ids if name in known]
        if not runs or len(runs) < len(ids):
            return _gone() if ids else _said("Tick two runs or more", "A comparison needs a reference and another run.")
        if len(runs) == 1:
            return RedirectResponse(f"/run/{runs[0].id}", 303)
        if len(runs) > MOST_COMPARED:
            return _said("Too many to compare", f"{len(runs)} runs are ticked. Tick {MOST_COMPARED} or fewer.")
        return await self._report_page(runs)

    async def _report_page(self, runs: Sequence[Known]) -> Response:
        key = tuple((run.id, run.state, labels_state(run.path)) for run in runs)
        try:
            return page(await self._reports.get(key, lambda: self._made(runs)))
        except Exception as error:
            return _broken(runs[0], error) if len(runs) == 1 else _said("This cannot be compared", _why(error))

    def _made(self, runs: Sequence[Known]) -> Document:
        from maskbench.pages.page import render

        paths = [run.path for run in runs]
        return _barred(render(paths, rules=self._shelf.rules, include_text=self._include_text), runs)

    async def _dose(self, request: Request) -> Response:
        """The page of a dose curve, as `maskbench report` makes it."""
        from maskbench.pages.dose_page import render

        curve = (await aside(self._shelf.curves)).get(request.path_params["id"])
        if curve is None:
            return _gone()
        try:
            return page(await self._reports.get(curve, lambda: _barred(render(curve.path), [curve])))
        except Exception as error:
            return _broken(curve, error)

    async def _nothing(self, request: Request) -> Response:
        return _said("Nothing here", "There is no such page.", status=404)


class Kept:
    """Reports, the last few of them, each made once however often it is asked for meanwhile.

    There are `most` of them, or fewer where they have more than `largest` letters together; the last one is kept.
    """

    def __init__(self, most: int, largest: int = LARGEST_KEPT) -> None:
        self._most, self._largest = most, largest
        self._made: OrderedDict[object, asyncio.Task[Document]] = OrderedDict()
        self._turns = asyncio.Semaphore(2)  # more at a time would only make each other slow

    async def get(self, key: object, make: Callable[[], Document]) -> Document:
        """The report under this key; raises what `make` raises, and then forgets it."""
        if key not in self._made:
            self._made[key] = asyncio.create_task(self._make(make))
        self._made.move_to_end(key)
        while len(self._made) > self._most:
            self._made.popitem(last=False)
        try:
            report = await asyncio.shield(self._made[key])
            self._make_room()
            return report
        except Exception:
            self._made.pop(key, None)
            raise

    def _make_room(self) -> None:
        """Forget the oldest reports that are done while all have too many letters together."""
        sizes = {key: _letters(task) for key, task in self._made.items()}
        for key in list(sizes)[:-1]:
            if sum(sizes.values()) > self._largest and sizes[key]:
                del self._made[key], sizes[key]

    async def _make(self, make: Callable[[], Document]) -> Document:
        async with self._turns:
            return await aside(make)


def _letters(report: asyncio.Task[Document]) -> int:
    """How long a report is; 0 where it is not done, or could not be made."""
    if not report.done() or report.cancelled() or report.exception():
        return 0
    return sum(map(len, report.result().parts))


def failed(request: Request, error: Exception) -> Response:
    """What a page says where something went wrong that nobody foresaw."""
    return _said("This page could not be made", _why(error), status=500)


def _barred(report: Document, runs: Sequence[Known]) -> Document:
    """A report below the line that leads back to all runs; with several, another of them can be the reference."""
    back = "?" + "&".join(f"run={run.id}" for run in runs) if len(runs) > 1 else ""
    labels = [{"id": run.id, "name": shortened(run.name, LONGEST_NAME)} for run in runs]
    bar = _filled("view_bar.jinja", runs=labels, back=back)
    top, *rest = report.parts
    return replace(report, parts=(_TOP.sub(lambda opened: f"{opened[0]}\n{bar}", top, count=1), *rest))


def _curve(curve: Known) -> dict[str, str]:
    """A dose curve in the list: what was done to whom, and what came out."""
    try:
        data = DoseFolder(curve.path).data()
        result = finding(data) if isinstance(data, DoseCurve) else "Not complete."
        what = title(data)
    except Exception as error:  # whatever is wrong with one curve, the runs are shown
        what, result = curve.name, f"This dose curve cannot be read. {_why(error)}"
    names = {"id": curve.id, "name": shortened(curve.name, LONGEST_NAME)}
    return {**names, "title": shortened(what, 300), "finding": shortened(result, 600)}


def _run_page(run: Known, look: Look) -> Document:
    folder = RunFolder(run.path)
    record = folder.read()
    settings = record.settings
    title = look["label"]
    judges = settings.judging.judges
    go_on = resuming(run.path, record)
    ended = last_end(record.sessions, go_on, under_way=run.under_way)
    body = _filled(
        "view_run.jinja",
        run={"id": run.id, "name": shortened(run.name, LONGEST_NAME)},
        title=title,
        taken=shortened(record.scenarios.taken, LONGEST_NAME),
        judge=shortened(" and ".join(judges), LONGEST_NAME),
        look=look,
        facts=_FACTS | (_SPEED if run.under_way else {}),
        resume=shortened(go_on, 1000),
        ended=visible(ended_said(ended) or ""),
    )
    return _document(f"{title} – maskbench", body, "live.js")


def _gone() -> Response:
    return _said("No such run", "It is not there, or not any more: its folder may have been moved or deleted.", 404)


def _broken(run: Known, error: Exception) -> Response:
    return _said(f"{shortened(run.name, LONGEST_NAME)} cannot be shown", _why(error), 404)


def _said(title: str, sentence: str, status: int = 400) -> Response:
    """A page that holds a sentence."""
    return page(_document(f"{title} – maskbench", _filled("view_said.jinja", title=title, said=sentence)), status)


def _why(error: Exception) -> str:
    text = str(error) if isinstance(error, MaskbenchError) else f"{type(error).__name__}: {error}"
    return shortened(text, 2000)


def _filled(template: str, **values: Any) -> Markup:
    return Markup(environment().get_template(template).render(**values))  # noqa: S704  # templates escape


def _document(title: str, body: Markup, *scripts: str) -> Document:
    return document(title, body, [static("view.css")], [static(name) for name in scripts], allow=ALLOWED)
