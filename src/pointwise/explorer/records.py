"""Records: what is known about a few items, side by side, with what differs marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pointwise.answers.records import Shown, fetch_records
from pointwise.columns import ITEM, Column, keys
from pointwise.core.evidence import Evidence
from pointwise.evaluation import Evaluation
from pointwise.explorer.listing import Row, make_listing
from pointwise.inputs.composite import id_columns
from pointwise.pages.grids import Grid

_MOST_COLUMNS = 12

LETTERS = "ABCDE–"
"""Names of parts, the heaviest first; the last one is for all others."""


def choose_columns(evidence: Evidence, shown: Shown | None = None) -> list[str]:
    """Choose which columns of items to show: those requested in the evaluation, or as many as fit on a page."""
    if shown is not None and shown.is_asked:
        return list(shown.columns)
    first = shown.columns if shown is not None else ()
    known = evidence.ids.names  # which are shown anyway
    return [name for name in dict.fromkeys([*first, *evidence.slice_schema]) if name not in known][:_MOST_COLUMNS]


def record_columns(evaluation: Evaluation) -> list[str]:
    """Choose which columns of an evaluation's items to show."""
    return choose_columns(evaluation.evidence, evaluation.shown)


def fetch(evidence: Evidence, items: Sequence[Any], columns: Sequence[str]) -> Mapping[Any, Mapping[str, Any]]:
    """Fetch what is known about a few items, by item."""
    return fetch_records(evidence, items, columns)


def draw_records(name: str, rows: Sequence[Row], address: Callable[[Row], str], ranks: Sequence[int] = ()) -> Grid:
    """Lay out records, marking what differs from most of them.

    Args:
        name: Of the table in the page.
        rows: The items, under `item`, with what is known.
        address: Gives the address of an item.
        ranks: Of the parts that the items belong to, whose letters stand before them.
    """
    attributes = list(dict.fromkeys(column for row in rows for column in row if column != ITEM))
    whole: list[Row] = [dict.fromkeys(attributes) | dict(row) for row in rows]
    grid = list_items(name, "Some of its items", whole, attributes, address)
    usual = find_usual(whole, attributes)
    for row, line in zip(whole, grid.rows, strict=True):
        for place, attribute in enumerate(attributes, len(line.values) - len(attributes)):
            if differs(row[attribute], usual.get(attribute)):
                line.values[place] = replace(line.values[place], mark="≠", tone="differs")
    for rank, line in zip(ranks, grid.rows, strict=bool(ranks)):
        line.values[0] = replace(line.values[0], mark=letter(rank), tone=str(min(rank, len(LETTERS) - 1)))
    return grid


def list_items(
    name: str,
    caption: str,
    rows: Sequence[Row],
    attributes: Sequence[str],
    address: Callable[[Row], str],
    *,
    between: Sequence[Column] = (),
) -> Grid:
    """List items with what is known about them; one that several columns identify stands in as many.

    Args:
        name: Of the table in the page.
        caption: What it is, for those who cannot see it.
        rows: The items, under `item`, with what is known.
        attributes: What to show.
        address: Gives the address of an item.
        between: Columns that stand between the item and the attributes.
    """
    names = list(id_columns(rows[0][ITEM])) if rows else [ITEM]
    columns = [*keys(*names), *between, *(Column(attribute) for attribute in attributes)]
    whole = [{**row, **id_columns(row[ITEM])} for row in rows]
    return make_listing(name, caption, columns, whole, links=dict.fromkeys(names, address))


def own_columns(ids: Sequence[str], attributes: Sequence[str]) -> list[str]:
    """Name the columns of a file of items: those that identify an item, then the others."""
    return list(dict.fromkeys([*ids, *attributes]))


def find_usual(rows: Sequence[Row], attributes: Sequence[str]) -> dict[str, Any]:
    """Find, by attribute, the value that more than half of the records with a value have."""
    usual = {}
    for attribute in attributes:
        counts = Counter(str(row[attribute]) for row in rows if row[attribute] is not None)
        value, most = next(iter(counts.most_common(1)), ("", 0))
        if 2 * most > counts.total():
            usual[attribute] = value
    return usual


def differs(value: Any, usual: Any) -> bool:
    """Tell whether a value differs from the usual one; a missing value does not."""
    return usual is not None and value is not None and str(value) != usual


def letter(rank: int) -> str:
    """Name a part by its rank by weight."""
    return LETTERS[min(rank, len(LETTERS) - 1)]
