"""Grids: tables as the templates draw them, every value written for people beside the value to sort by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pointwise.columns import (
    ACTUAL,
    BASELINE,
    COVERAGE_SHARES,
    EXPERIMENT,
    IDEAL,
    IDEAL_CLUSTERS,
    ITEMS,
    MOVED,
    PIECES,
    SHARE,
    WEIGHT,
    Column,
    Kind,
    name_part,
)
from pointwise.core.metrics import find_metric
from pointwise.errors import UnknownMetricError
from pointwise.text.drawing import Drawing
from pointwise.text.values import MISSING, format_ends, format_share, format_value

MOST_TEXT = 100
"""Longer values are cut: an id or an attribute may be of any length."""

_SHORT, _WIDE, _LONG = 16, 40, 24  # characters of a value in one line, of one that needs room, and of a whole word

_OWN_KEYS = (
    IDEAL,
    ACTUAL,
    "baseline_cluster",
    "experiment_cluster",
    "continues_as",
    *(name_part(ACTUAL, side) for side in (BASELINE, EXPERIMENT)),
)
"""Columns of ids that pointwise has named; names that a user has given stay as they are."""

_DEFINITIONS = {
    SHARE: "share of the weight of all common items",
    IDEAL_CLUSTERS: "how many ideal clusters the values and their intervals are based on",
    MOVED: "items that left their actual cluster; a cluster before and one after are the same if each shares "
    "more weight with the other than with any third",
    name_part(PIECES, BASELINE): "how many actual clusters of the baseline hold its items",
    name_part(PIECES, EXPERIMENT): "how many actual clusters of the experiment hold its items",
    **dict(
        zip(
            COVERAGE_SHARES,
            (
                "share of the ideal items that the actual clustering has",
                "share of the weight of the ideal items that the actual clustering has",
                "share of the ideal items that the actual clustering lacks",
                "share of the weight of the ideal items that the actual clustering lacks",
                "share of the members of touched actual clusters that the truth does not list",
                "share of the weight of touched actual clusters that lies outside the truth",
            ),
            strict=True,
        )
    ),
    "cost": "what the cluster adds to the overall rate: its share of the weight times its own rate",
}


@dataclass(frozen=True)
class Head:
    """The head of a column of a grid."""

    label: str
    definition: str = ""
    is_number: bool = False
    href: str = ""  # where the table is sorted by it, if a server does that
    order: str = ""  # how the table is sorted by it: "ascending" or "descending"


@dataclass(frozen=True)
class Value:
    """A value, written for people, and what to sort it by: a number, or its text."""

    text: str
    order: float | str | None = None
    full: str = ""  # the whole text, where it was cut
    aside: str = ""  # beside the value: its interval
    verdict: str = ""  # "better" or "worse", where that is clear
    href: str = ""  # what the value is made of
    mark: str = ""  # a letter or a sign before the value, with a style of its own
    tone: str = ""  # which style
    percent: str = ""  # how long a bar below the value is

    @property
    def width(self) -> str:
        """How wide its column should be: "short" if it stays in one line, "wide", or "long" if words may be broken."""
        if len(self.text) <= _SHORT:
            return "short"
        if max(map(len, self.text.split()), default=0) > _LONG:
            return "long"
        return "wide" if len(self.text) > _WIDE else "middling"


@dataclass(frozen=True)
class Line:
    """A row of a grid, with what it opens to."""

    values: list[Value]
    detail: Any = None


@dataclass(frozen=True)
class Grid:
    """A table to sort, and to search where it is long."""

    name: str
    caption: str
    columns: list[Head]
    rows: list[Line]
    note: str = ""
    is_searchable: bool = False
    is_sortable: bool = True  # in the page itself


def bounded_value(value: Any) -> Value:
    """Write a value, cut to a bounded length."""
    text = format_value(Kind.TEXT, value)
    if len(text) <= MOST_TEXT:
        return Value(text, _order(value))
    return Value(text[: MOST_TEXT - 1] + "…", text[:MOST_TEXT], f"{len(text):,} characters")


def share_bar(share: float) -> Value:
    """Write a share with a bar below it."""
    return Value(format_share(share), share, percent=f"{100 * share:.1f}")


def write(kind: Kind, value: Any) -> Value:
    """Write a value as tables do."""
    return bounded_value(value) if isinstance(value, str) else Value(format_value(kind, value), _order(value))


def _order(value: Any) -> float | str | None:
    if value is None or value == MISSING:
        return None  # comes last, however the others are sorted
    return float(value) if isinstance(value, (int, float)) else str(value)[:MOST_TEXT]


def head_of(column: Column, drawing: Drawing) -> Head:
    """Name a column, with its definition; those of metrics come from the metric table."""
    is_number = drawing.holds_numbers(column)
    if column.kind in (Kind.KEY, Kind.TEXT):
        name = column.name.replace("_", " ") if column.name in _OWN_KEYS else bounded_value(column.name).text
        return Head(name, is_number=is_number)
    definition = define(column.name) if column.kind is Kind.METRIC else ""
    return Head(column.name.replace("_", " "), definition or _DEFINITIONS.get(column.name, ""), is_number)


def define(name: str) -> str:
    """Say what a metric is, in the words of the metric table."""
    try:
        metric = find_metric(name)
    except UnknownMetricError:
        return ""
    formula = f" = {metric.text}" if metric.text else ""
    return f"{metric.name}{formula}: {metric.summary}" if metric.summary else f"{metric.name}{formula}"


def make_grid(
    name: str, caption: str, drawing: Drawing, *, is_searchable: bool = False, details: Sequence[Any] = ()
) -> Grid:
    """Lay rows out as a grid, which has more space than a terminal."""
    own = [c for c in drawing.columns if c.kind is not Kind.END and (c.is_drawn or c.kind is not Kind.KEY)]
    columns = [c for c in own if not says_nothing(c, own, drawing.rows)]
    heads = [head_of(column, drawing) for column in columns]
    opened = list(details) or [None] * len(drawing.rows)
    lines = [
        Line([write_cell(column, row) for column in columns], detail)
        for row, detail in zip(drawing.rows, opened, strict=True)
    ]
    return Grid(name, caption, heads, lines, drawing.note, is_searchable)


def says_nothing(column: Column, columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Tell whether weights are all those that items have which were given none."""
    if column.name != WEIGHT or column.kind is not Kind.WEIGHT or not rows:
        return False
    has_sizes = any(c.name == ITEMS and c.kind is Kind.COUNT for c in columns)
    return all(row.get(WEIGHT) == (row.get(ITEMS) if has_sizes else 1) for row in rows)


def write_cell(column: Column, row: Mapping[str, Any]) -> Value:
    """Write a value, with its interval beside it if it has one."""
    value = write(column.kind, row.get(column.name))
    return replace(value, aside=format_ends(column, row, is_narrow=False))
