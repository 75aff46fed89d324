"""The overview: everything that is stored below the folder, from manifests alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pointwise.answers.tables import MetricTable
from pointwise.columns import Column, Kind
from pointwise.engines import start_engine
from pointwise.errors import PointwiseError
from pointwise.explorer.listing import make_listing
from pointwise.explorer.review import read_notes
from pointwise.explorer.shelf import StoredFolder
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link
from pointwise.pages.grids import Grid
from pointwise.pages.miniatures import Trend, draw_trends
from pointwise.store.history import history
from pointwise.store.manifest import COMPARISON, ComparisonManifest, read_manifest

_CREATED, _PROBLEM = "created", "problem"


def show_overview(visit: Visit) -> Page:
    """List the runs, comparisons and diffs below the folder."""
    engine = start_engine()
    visit.opened.callback(engine.close)
    shelf = visit.site.shelf
    found, top = shelf.look(), shelf.top
    runs, diffs = history(top, of="runs", engine=engine), history(top, of="diffs", engine=engine)
    run_rows, diff_rows = _newest(runs), _newest(diffs)
    compared = [_read_comparison(stored) for stored in found if stored.kind is COMPARISON]
    content = {
        "top": str(top),
        "runs": _grid("runs", "Runs", runs, run_rows, "run"),
        "trends": _draw_trends(runs, run_rows),
        "comparisons": _comparisons(compared),
        "diffs": _grid("diffs", "Diffs", diffs, diff_rows, "diff"),
        "notes": len(read_notes(top)),
        "problems": _problems([*run_rows, *diff_rows, *compared]),
    }
    facts = {"folder": str(top), "comparisons": compared, "diffs": diff_rows}
    return Page("What is stored here", "overview.html", content, columns=runs.columns, rows=run_rows, facts=facts)


def _newest(table: MetricTable) -> list[dict[str, Any]]:
    return sorted(table.to_dicts(), key=lambda row: row[_CREATED] or "", reverse=True)


def _grid(name: str, caption: str, table: MetricTable, rows: Sequence[Mapping[str, Any]], noun: str) -> Grid | None:
    whole = [_readable(row) for row in rows if not row[_PROBLEM]]
    if not whole:
        return None
    columns = sorted((c for c in table.describe() if c.name != _PROBLEM), key=_place)
    return make_listing(name, caption, columns, whole, links={noun: lambda row: link(noun, row[noun])})


def _place(column: Column) -> int:
    """Put what it is first, then how good it is, which a narrow window shows too, and when it was stored last."""
    order = (column.kind is Kind.KEY, column.kind in (Kind.METRIC, Kind.END), column.name != _CREATED)
    return order.index(True) if any(order) else len(order)


def _readable(row: Mapping[str, Any]) -> dict[str, Any]:
    return dict(row) | {_CREATED: str(row[_CREATED] or "")[:16].replace("T", "\u00a0")}


def _draw_trends(table: MetricTable, rows: Sequence[Mapping[str, Any]]) -> list[Trend]:
    whole = [row for row in reversed(rows) if not row[_PROBLEM]]
    return list(draw_trends(table.describe(), whole, key="run", noun="runs, oldest to newest"))


def _read_comparison(stored: StoredFolder) -> dict[str, Any]:
    row: dict[str, Any] = {"comparison": stored.name, _CREATED: None, "variants": [], "baseline": None, _PROBLEM: None}
    try:
        manifest = read_manifest(stored.path, ComparisonManifest)
    except PointwiseError as error:
        return row | {_PROBLEM: str(error)}
    return row | {_CREATED: manifest.created, "variants": list(manifest.variants), "baseline": manifest.baseline}


def _comparisons(rows: Sequence[Mapping[str, Any]]) -> Grid | None:
    whole = [
        _readable(row) | {"variants": ", ".join(row["variants"])}
        for row in sorted(rows, key=lambda row: row[_CREATED] or "", reverse=True)
        if not row[_PROBLEM]
    ]
    if not whole:
        return None
    baseline = [Column("baseline")] if any(row["baseline"] for row in whole) else []
    columns = [Column("comparison", Kind.KEY), Column("variants"), *baseline, Column(_CREATED)]
    links = {"comparison": lambda row: link("compare", row["comparison"])}
    return make_listing("comparisons", "Comparisons", columns, whole, links=links)


def _problems(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [str(row[_PROBLEM]) for row in rows if row[_PROBLEM]]
