"""The application: from a request to the requested page, in the requested format."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from pointwise.errors import InputError, NotFoundError, PointwiseError, RunError, UsageError
from pointwise.explorer.guard import LOOPBACK, Guard, Keys
from pointwise.explorer.jobs import BusyError, CancelledError, Job, Jobs
from pointwise.explorer.routes import ACTIONS, MOST_FIELDS, Act, Route, find_route, match
from pointwise.explorer.shelf import StoredFolder
from pointwise.explorer.site import MissingPageError, Page, Site, Visit
from pointwise.explorer.tabs import Tab, tabs_of
from pointwise.explorer.urls import PageFormat, Requested, link, read_path, with_format, with_query, write_query
from pointwise.pages.rendering import make_environment
from pointwise.store.manifest import COMPARISON, DIFF, RUN
from pointwise.text.data import as_csv, as_json
from pointwise.version import __version__

PATIENCE = 2.0  # seconds

_JSON = "application/json"

_log = logging.getLogger(__name__)

_STATIC = {
    "style.css": ("pointwise.pages", "templates", "text/css"),
    "explorer.css": ("pointwise.explorer", "static", "text/css"),
    "explorer.js": ("pointwise.explorer", "static", "text/javascript"),
    "htmx.min.js": ("pointwise.explorer", "static", "text/javascript"),
}


def make_application(site: Site, *, keys: Keys, hosts: tuple[str, ...] = LOOPBACK, patience: float = PATIENCE) -> Guard:
    """Make the application that shows a site, behind its guard.

    Args:
        site: What to show.
        keys: What lets browsers in.
        hosts: The names that browsers may use for this machine.
        patience: Seconds after which a page that is not ready shows the progress instead, with a way to cancel.
    """
    return Guard(Application(site, patience), keys=keys, hosts=hosts)


@dataclass(frozen=True)
class Body:
    """An answer, ready to be sent."""

    content: str
    media: str
    status: int = 200
    filename: str = ""  # the name under which a browser saves it instead of showing it


class Application:
    """Shows the pages of a site."""

    def __init__(self, site: Site, patience: float) -> None:
        self.site, self.patience, self.jobs = site, patience, Jobs()
        self._environment = make_environment("pointwise.explorer")
        self._static = {name: _read_static(*place, name) for name, place in _STATIC.items()}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        request = Request(scope, receive)
        try:
            answer = await self._answer(request)
        except ClientDisconnect:
            return  # the client has gone, or the body was too large
        await answer(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        while True:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await asyncio.to_thread(self.jobs.close)
                self.site.kept.close()
            await send({"type": f"{message['type']}.complete"})
            if message["type"] == "lifespan.shutdown":
                return

    async def _answer(self, request: Request) -> Response:
        target = Requested((), "html")
        try:
            target = read_path(request.scope.get("raw_path") or request.url.path.encode())
            if request.method in ("GET", "HEAD"):
                return await self._get(request, target)
            if request.method == "POST":
                return await self._post(request, target)
            return self._send(self._error(UsageError("This page can only be read."), target, 405))
        except Exception as error:  # noqa: BLE001  # whatever happens, the server answers
            return self._send(self._error(error, target))

    async def _get(self, request: Request, target: Requested) -> Response:
        if target.parts[:1] == ("static",):
            return self._asset("/".join(target.parts[1:]))
        route, names = find_route(target.parts)
        query = route.read(request.url.query)
        path, said = _path_of(request, target.format), write_query(query)

        def work(job: Job) -> Body:
            visit = Visit(self.site, names, query, job)
            with visit.opened:
                page = route.show(visit)
                notes = tuple(visit.notes.values()) if route.kind is not None else ()
                return self._write(replace(page, notes=notes), target.format, path, said)

        is_forced = "no-cache" in request.headers.get("cache-control", "")  # as browsers reload with the shift key
        job = self.jobs.start(self._key(route, names, target, said), work, anew=is_forced)
        is_page = route.kind is not None and target.format == "html" and "hx-request" not in request.headers
        await _wait(job, self.patience if is_page else None)
        return (
            self._send(job.future.result()) if job.future.done() else self._working(job, target, with_query(path, said))
        )

    async def _post(self, request: Request, target: Requested) -> Response:
        body = await request.body()
        form = dict(
            parse_qsl(body.decode("utf-8", errors="replace"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
        )
        if target.parts[:1] == ("cancel",) and len(target.parts) == 2:  # noqa: PLR2004
            job = self.jobs.find(target.parts[1])
            if job is not None:
                job.cancel()
            return RedirectResponse("/", 303)
        for pattern, act in ACTIONS:
            names = match(pattern, target.parts)
            if names is not None:
                place = await self._act(act, names, form)
                if request.headers.get("accept") == _JSON:  # a script, which decides itself whether to go there
                    return Response(as_json({"next": place}), media_type=_JSON)
                return RedirectResponse(place, 303)
        raise MissingPageError("There is nothing to do at this address.")

    async def _act(self, act: Act, names: tuple[str, ...], form: Mapping[str, str]) -> str:
        def work(job: Job) -> str:
            visit = Visit(self.site, names, {}, job)
            with visit.opened:
                return act(visit, form)

        place: str = await asyncio.wrap_future(self.jobs.start(None, work).future)
        return place

    def _key(self, route: Route, names: tuple[str, ...], target: Requested, query: str) -> Any:
        """Return what an answer depends on, so that it is computed once for each version of what is stored."""
        if route.kind is None:
            return None
        return (target, query, self.site.shelf.find(route.kind, names[0]).version)

    def _write(self, page: Page, chosen: PageFormat, path: str, query: str) -> Body:
        if chosen == "json":
            facts = {"title": page.title, **page.facts, "rows": list(page.rows)}
            return Body(as_json(_finite(facts)), _JSON, page.status)
        if chosen == "csv":
            return Body(as_csv(page.rows, page.columns, is_guarded=True), "text/csv", page.status)
        if page.download:
            return Body(page.download, "text/html", page.status, "report.html")
        return Body(self._draw(page, path, query), "text/html", page.status)

    def _draw(self, page: Page, path: str = "", query: str = "", *, tabs: Sequence[Tab] | None = None) -> str:
        twins = {name: with_format(path, query, name) for name in ("json", "csv")} if path else {}
        return self._environment.get_template(page.template).render(
            page=page,
            twins=twins,
            tabs=tabs_of(read_path(path.encode()).parts) if tabs is None else tabs,
            version=__version__,
            folder=self.site.top.resolve().name,
            **page.content,
        )

    def _working(self, job: Job, target: Requested, address: str) -> Response:
        facts = {"phase": job.phase, "seconds": round(job.seconds)}
        content = facts | {"cancel": f"/cancel/{job.name}", "address": address}
        page = Page("Working on it", "working.html", content, _trail(target.parts[:2]), status=202)
        answer = self._send(Body(self._draw(page), "text/html", page.status))
        answer.headers["refresh"] = "1"
        return answer

    def _error(self, error: Exception, target: Requested, status: int | None = None) -> Body:
        if not isinstance(error, PointwiseError):
            _log.error("A page failed.", exc_info=error)
            error = PointwiseError("Something went wrong inside pointwise. The terminal it runs in shows the details.")
        code = status or next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
        above, stored = target.parts[:2], self.site.shelf.known(*target.parts[:2])
        damage = self._find_damage(error, stored) if isinstance(error, RunError) and stored else None
        can_work = stored is not None and damage is None
        error = damage or error
        missing = error if isinstance(error, MissingPageError) else MissingPageError(_say(error))
        content = {"message": str(missing), **{n: getattr(missing, n) for n in _TOLD}}
        heading = "Not found" if code == _NOT_FOUND else "This did not work"
        run = above[1] if can_work and above[0] == RUN.noun else ""
        page = Page(heading, "error.html", content, _trail(above if stored else ()), run=run)
        return Body(self._draw(page, tabs=tabs_of([*above, _ELSEWHERE]) if can_work else []), "text/html", code)

    def _find_damage(self, error: RunError, stored: StoredFolder) -> MissingPageError | None:
        """Say what to do about a folder of which no page can be shown, and which runs inside still can; None if all."""
        noun, runs = stored.kind.noun, self.site.shelf.runs_inside(stored)
        if all(one.is_whole for one in (stored, *runs)):
            return None
        return MissingPageError(
            f"The {noun} {stored.name!r} cannot be shown, because its files are damaged or cannot be read.",
            details=_say(error),
            advice=f"Restore its folder from a copy, or move it away and {_MAKE_AGAIN[noun]}.",
            links=[(f"Run {run.name}", link("run", run.name)) for run in runs if run.is_whole],
        )

    def _send(self, body: Body) -> Response:
        kept = {"content-disposition": f'attachment; filename="{body.filename}"'} if body.filename else None
        return Response(body.content, body.status, kept, body.media)

    def _asset(self, name: str) -> Response:
        if name not in self._static:
            raise MissingPageError("There is no such file.")
        content, media = self._static[name]
        return Response(content, media_type=media)


_NOT_FOUND = 404
_TOLD = ("details", "advice", "links", "nearest")  # beside what is missing
_ELSEWHERE = ""  # a page that none of the tabs leads to
_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (MissingPageError, _NOT_FOUND),
    (NotFoundError, _NOT_FOUND),
    (CancelledError, 503),
    (BusyError, 503),
    (UsageError, 400),
    (InputError, 400),
)


async def _wait(job: Job, patience: float | None) -> None:
    """Wait until a job is done or the patience is over; the job goes on, and may fail when nobody waits any more."""
    if job.future.done():
        return
    waiting = asyncio.wrap_future(job.future)
    waiting.add_done_callback(lambda done: done.cancelled() or done.exception())  # so that asyncio does not log it
    await asyncio.wait([waiting], timeout=patience)


_MAKE_AGAIN = {RUN.noun: "evaluate again", COMPARISON.noun: "compare again", DIFF.noun: "make the diff again"}


def _trail(above: tuple[str, ...]) -> list[tuple[str, str]]:
    """List the pages above one that shows nothing stored: the overview, and what its address begins with."""
    return [("Overview", "/"), *([(above[1], link(*above))] if above else [])]


def _say(error: PointwiseError) -> str:
    return str(error.args[0]) if error.args else type(error).__name__


def _path_of(request: Request, chosen: PageFormat) -> str:
    raw: bytes = request.scope.get("raw_path") or request.url.path.encode()
    path = raw.decode("ascii", errors="replace")
    return path.removesuffix(f".{chosen}")


def _read_static(package: str, folder: str, media: str, name: str) -> tuple[bytes, str]:
    return resources.files(package).joinpath(folder, name).read_bytes(), media


def _finite(value: Any) -> Any:
    """Write NaN and infinity as null, since JSON has neither."""
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):  # noqa: PLR0124
        return None
    if isinstance(value, Mapping):
        return {str(name): _finite(inner) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value
