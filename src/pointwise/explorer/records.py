"""Records: what is known about a few items, side by side, with what differs marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pointwise.columns import ITEM, Column, keys
from pointwise.core.evidence import Evidence
from pointwise.diffs.changes import fetch_records
from pointwise.explorer.listing import Row, make_listing
from pointwise.pages.grids import Grid

PART = "part"  # the letter of the part that an item belongs to


def fetch(evidence: Evidence, items: Sequence[Any]) -> Mapping[Any, Mapping[str, Any]]:
    """Fetch what is known about a few items, by item."""
    return fetch_records(evidence, items)


def draw_records(name: str, rows: Sequence[Row], address: Callable[[Row], str]) -> Grid:
    """Lay records out with the letter of their part, marking what differs from most of them."""
    attributes = list(dict.fromkeys(column for row in rows for column in row if column not in (ITEM, PART)))
    columns = [*keys(ITEM), *(Column(attribute) for attribute in attributes)]
    whole: list[Row] = [dict.fromkeys(attributes) | dict(row) for row in rows]
    grid = make_listing(name, "Some of its items", columns, whole, links={ITEM: address})
    usual = find_usual(whole, attributes)
    for row, line in zip(whole, grid.rows, strict=True):
        line.values[0] = replace(line.values[0], mark=row[PART], tone="0" if row[PART] == "A" else "1")
        for place, attribute in enumerate(attributes, 1):
            if differs(row[attribute], usual.get(attribute)):
                line.values[place] = replace(line.values[place], mark="≠", tone="differs")
    return grid


def find_usual(rows: Sequence[Mapping[str, Any]], attributes: Sequence[str]) -> dict[str, Any]:
    """Find the value that most records have, by attribute; without one that stands out there is none."""
    usual = {}
    for attribute in attributes:
        counts = Counter(str(row[attribute]) for row in rows if row[attribute] is not None)
        (value, most), *others = counts.most_common(2) or [("", 0)]
        if most > 1 and (not others or others[0][1] < most):
            usual[attribute] = value
    return usual


def differs(value: Any, usual: Any) -> bool:
    """Tell whether a value is another than the usual one; one that is missing differs from none."""
    return usual is not None and value is not None and str(value) != usual
