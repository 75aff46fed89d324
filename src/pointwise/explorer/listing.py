"""Listings: tables of any length, a page at a time, sorted by the server.

A page begins after the last row of the one before (its value and its id), never at a row number: the engine then reads
only what it shows, however far down that is, and no row is shown twice.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.tables import MetricTable
from pointwise.columns import ITEM, METRIC, NUMBERS, VERDICT, Column, Kind, keys, undrawn
from pointwise.errors import UsageError
from pointwise.explorer.urls import read_key, write_key
from pointwise.pages.grids import Grid, Line, Value, head_of, says_nothing, write_cell
from pointwise.text.drawing import Drawing

ROWS = 50  # of a page
MOST_ROWS = 1_000  # of a page that a program asks for

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Order:
    """How a listing is sorted: by a column, descending or ascending, with ties broken by id."""

    column: str
    is_down: bool

    def __str__(self) -> str:
        """Write it as an address does."""
        return f"-{self.column}" if self.is_down else self.column


def read_order(text: str, table: MetricTable, *, default: str) -> Order:
    """Read how to sort: the name of a column, with a minus for descending.

    Raises:
        UsageError: The table has no such column.
    """
    chosen = text or default
    column = chosen.removeprefix("-")
    if column not in table.columns:
        raise UsageError(f"This list has no column {column!r} to sort by. It has {', '.join(table.columns)}.")
    return Order(column, chosen.startswith("-"))


@dataclass(frozen=True)
class PageRows:
    """The rows of one page, and where the next one begins."""

    rows: list[dict[str, Any]]
    after: str = ""


def take(table: MetricTable, order: Order, key: str, *, after: str = "", limit: int = ROWS) -> PageRows:
    """Fetch one page of a table.

    Args:
        table: The table.
        order: How to sort it.
        key: The column that says what a row is, in which every value is unique.
        after: Where the page begins, from the page before.
        limit: How many rows.
    """
    own = {column.name: column.own for column in table.describe()}
    frame = table.frame
    if after:
        frame = frame.filter(_follows(own[order.column], own[key], order, read_key(after, 2), frame))
    by = ((own[order.column], order.is_down), (own[key], False))
    ordered = replace(table, frame=frame, order=by if order.column != key else ((own[key], order.is_down),))
    rows = ordered.head(limit + 1).to_dicts()
    if len(rows) <= limit:
        return PageRows(rows)
    last = rows[limit - 1]
    return PageRows(rows[:limit], write_key([_plain(last[order.column]), _plain(last[key])]))


def keep_key(table: MetricTable) -> MetricTable:
    """Keep the joined ids of items in the rows of a table that lists them by several columns: pages go by them."""
    if table.item_columns == (ITEM,):
        return table
    return replace(table, described=(*undrawn(keys(ITEM), (ITEM,)), *table.described))


def _plain(value: Any) -> Any:
    return value if value is None or isinstance(value, (bool, int, float, str)) else str(value)


def _follows(column: str, key: str, order: Order, place: Sequence[Any], frame: nw.LazyFrame) -> nw.Expr:
    """Select the rows after a place; those without a value come last."""
    value, last = (_typed(v, frame.collect_schema()[c]) for v, c in zip(place, (column, key), strict=True))
    below: nw.Expr = nw.col(key) < last if column == key and order.is_down else nw.col(key) > last
    if column == key:
        return below
    absent: nw.Expr = nw.col(column).is_null()
    if value is None:
        return absent & below
    beyond: nw.Expr = nw.col(column) < value if order.is_down else nw.col(column) > value
    equal: nw.Expr = nw.col(column) == value
    return beyond | (equal & below) | absent


def _typed(value: Any, dtype: Any) -> Any:
    """Refuse what a column cannot hold, before an engine fails on it."""
    if value is None or (isinstance(value, str) != dtype.is_numeric() and isinstance(value, (str, int, float))):
        return value
    raise UsageError("The address does not say where the list goes on. Begin at its first page.")


def make_listing(
    name: str,
    caption: str,
    columns: Sequence[Column],
    rows: Sequence[Row],
    *,
    links: Mapping[str, Callable[[Row], str]] | None = None,
    order: Order | None = None,
    sorts: Callable[[str], str] | None = None,
    note: str = "",
) -> Grid:
    """Lay out rows with links to the details behind them.

    Args:
        name: Of the table in the page.
        caption: What it is, for those who cannot see it.
        columns: What to show.
        rows: The rows.
        links: By column, the address that a row's value leads to.
        order: How the rows are sorted.
        sorts: Gives the address of the list sorted in another way; None if it cannot be.
        note: Below the table.
    """
    shown = [c for c in columns if c.kind is not Kind.END and c.is_drawn and not says_nothing(c, columns, rows)]
    drawing = Drawing(caption, shown, rows)
    heads = [head_of(column, drawing) for column in shown]
    if sorts is not None and order is not None:
        heads = [
            replace(head, href=sorts(_turned(column, order)), order=_direction(column, order))
            for head, column in zip(heads, shown, strict=True)
        ]
    known = links or {}
    lines = [Line([_linked(_written(c, row), known.get(c.name), row) for c in shown]) for row in rows]
    return Grid(name, caption, heads, lines, note, is_sortable=False)


def _written(column: Column, row: Row) -> Value:
    """Write a value; the name of a metric without underscores, and a verdict so that it is seen."""
    value = write_cell(column, row)
    if column.name == METRIC:
        return replace(value, text=value.text.replace("_", " "))
    return replace(value, verdict=value.text) if column.name == VERDICT and value.text in _CLEAR else value


_CLEAR = ("better", "worse")


def _turned(column: Column, order: Order) -> str:
    """Say how to sort by a column when its head is clicked: numbers descending first, then ascending."""
    is_down = not order.is_down if order.column == column.name else column.kind in NUMBERS
    return str(Order(column.name, is_down))


def _direction(column: Column, order: Order) -> str:
    if order.column != column.name:
        return ""
    return "descending" if order.is_down else "ascending"


def _linked(value: Value, address: Callable[[Row], str] | None, row: Row) -> Value:
    return value if address is None else replace(value, href=address(row))


def say_notes(table: MetricTable, rows: Sequence[Row], *more: str) -> str:
    """Say what to know when reading a page of a table, where intervals are below their values."""
    notes = [note.replace("[low, high]: the", "Below a value: its") for note in table.notes_on(rows)]
    return "; ".join([*more, *notes])
