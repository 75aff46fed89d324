"""Review: clusters where somebody says that the truth is wrong, noted in a file for whoever keeps the truth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pointwise.columns import Column, keys
from pointwise.diffs.ledger import append_lines, read_lines
from pointwise.explorer.clusters import side_of
from pointwise.explorer.listing import make_listing
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link
from pointwise.store.manifest import RUN, now

FILE = "review.jsonl"
"""Its name, in the folder that is explored. Lines are only ever appended."""

_FIELDS = ("cluster", "side", "run", "note", "at")
_LONGEST = 2_000  # characters of a note


def note_wrong_truth(visit: Visit, form: Mapping[str, str]) -> str:
    """Record that the truth is wrong about a cluster, and return where to go next."""
    run, side = visit.stored(RUN).name, form.get("side", "")
    side_of(side)
    note = {"cluster": form.get("cluster", ""), "side": side, "run": run, "note": form.get("note", "")[:_LONGEST]}
    line = json.dumps(note | {"at": now()}, ensure_ascii=False)
    append_lines(visit.site.top / FILE, [line.encode()])
    return link("review")


def show_review(visit: Visit) -> Page:
    """List where somebody said that the truth is wrong, the latest first."""
    rows = read_notes(visit.site.top)[::-1]
    columns = [*keys("cluster"), *(Column(name) for name in _FIELDS[1:])]
    links = {"cluster": lambda row: link("run", row["run"], "cluster", row["side"], row["cluster"])}
    grid = make_listing("review", "Where the truth was said to be wrong", columns, rows, links=links)
    content = {"grid": grid, "file": str(visit.site.top / FILE)}
    title = "Where the truth may be wrong"
    return Page(title, "review.html", content, [("Overview", "/")], list(_FIELDS), rows)


def read_notes(top: Path) -> list[dict[str, Any]]:
    """Read what was noted; what cannot be read is left out."""
    path = top / FILE
    if not path.is_file() or path.is_symlink():
        return []
    found = []
    for line in read_lines(path).whole:
        try:
            note = json.loads(line)
        except ValueError:
            continue
        if isinstance(note, dict):
            found.append({name: str(note.get(name, "")) for name in _FIELDS})
    return found
