"""Search: an id typed by somebody, among items and clusters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pointwise.columns import ACTUAL, IDEAL, ITEM, Column, keys
from pointwise.errors import PointwiseError
from pointwise.explorer.listing import make_listing
from pointwise.explorer.nearest import starts_with
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link
from pointwise.store.manifest import RUN

_RUNS = 5  # that are searched if none was named
_EACH = 10  # ids of each kind in each run

_WHERE = {ITEM: ("item",), IDEAL: ("cluster", "ideal"), ACTUAL: ("cluster", "actual")}
_NAMES = {ITEM: "item", IDEAL: "ideal cluster", ACTUAL: "actual cluster"}


def show_search(visit: Visit) -> Page:
    """Look for an id: first exact matches, then ids that begin with it."""
    wanted, run = visit["q"].strip(), visit["run"]
    names = [run] if run else [s.name for s in visit.site.shelf.look() if s.kind is RUN and not s.inside][-_RUNS:][::-1]
    rows = [row for name in names for row in _find(visit, name, wanted)] if wanted else []
    rows.sort(key=lambda row: str(row["id"]) != wanted)
    columns = [*keys("id"), Column("what"), Column("run")]
    grid = make_listing("found", "Found", columns, rows, links={"id": lambda row: row["href"]})
    everywhere = link("search", q=wanted) if run else ""
    content = {"q": wanted, "grid": grid, "names": names, "run": run, "everywhere": everywhere}
    title = f"Search for {wanted}" if wanted else "Search"
    trail = [("Overview", "/"), *([(run, link("run", run))] if run else [])]
    shown = [{name: row[name] for name in ("id", "what", "run")} for row in rows]
    return Page(title, "search.html", content, trail, ["id", "what", "run"], shown, {"q": wanted}, run=run)


def _find(visit: Visit, run: str, wanted: str) -> Iterator[dict[str, Any]]:
    try:
        opened = visit.sorted_run(run)
    except PointwiseError:
        if visit["run"]:
            raise
        return  # the overview says what is wrong with it
    for column, place in _WHERE.items():
        evidence = opened.by(column).evidence
        frame = evidence.items if column == ITEM else evidence.cells
        for found in starts_with(frame, column, wanted, evidence.engine, limit=_EACH):
            yield {"id": found, "what": _NAMES[column], "run": run, "href": link("run", run, *place, found)}
