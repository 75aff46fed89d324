"""Grids: tables as the templates draw them, every value written for people beside the value to sort by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pointwise.columns import ACTUAL, HIGH, IDEAL, IDEAL_CLUSTERS, LOW
from pointwise.core.metrics import find_metric
from pointwise.errors import UnknownMetricError
from pointwise.text.values import MISSING, format_metric, format_value, shown_columns

MOST_TEXT = 80
"""Longer values are cut: an id or an attribute may be of any length."""

_OWN = (
    IDEAL,
    ACTUAL,
    IDEAL_CLUSTERS,
    "moved_items",
    "pieces_baseline",
    "pieces_experiment",
    "common_share",
    "missing_share",
    "outside_share",
)
_OWN_ENDINGS = ("_delta", "_baseline", "_experiment", "_contribution")
"""Columns that pointwise has named; a user's own names stay as they are."""

_DEFINITIONS = {
    "share": "share of the weight of all common items",
    "ideal_clusters": "how many ideal clusters the values and their intervals rest on",
    "moved_items": "items that left their actual cluster; a cluster before and one after are the same if each shares "
    "more weight with the other than with any third",
    "pieces_baseline": "how many actual clusters of the baseline hold its items",
    "pieces_experiment": "how many actual clusters of the experiment hold its items",
    "common_share": "share of the ideal items that the actual clustering has",
    "missing_share": "share of the ideal items that the actual clustering lacks",
    "outside_share": "share of the members of touched actual clusters that the truth does not list",
    "cost": "what the cluster adds to the overall rate: its share of the weight times its own rate",
}


@dataclass(frozen=True)
class Column:
    """A column of a grid."""

    key: str
    label: str
    definition: str = ""
    is_metric: bool = False
    is_number: bool = False


@dataclass(frozen=True)
class Value:
    """A value, written for people, and what to sort it by: a number, or its text."""

    text: str
    order: float | str | None = None
    full: str = ""  # what was cut, where the text is not whole
    aside: str = ""  # beside the value: its interval
    verdict: str = ""  # "better" or "worse", where that is clear


@dataclass(frozen=True)
class Row:
    """A row of a grid, with what it opens to."""

    values: list[Value]
    detail: Any = None


@dataclass(frozen=True)
class Grid:
    """A table to sort, and to search where it is long."""

    name: str
    caption: str
    columns: list[Column]
    rows: list[Row]
    note: str = ""
    is_searchable: bool = False


def clip(value: Any) -> Value:
    """Write a value of any length in a bounded one."""
    text = format_value("", value) if not isinstance(value, str) else value
    if len(text) <= MOST_TEXT:
        return Value(text, _order(value))
    return Value(text[: MOST_TEXT - 1] + "…", text[:MOST_TEXT], f"{len(text):,} characters")


def write(column: str, value: Any) -> Value:
    """Write a value as tables do."""
    if isinstance(value, str):
        return clip(value)
    return Value(format_value(column, value), _order(value))


def _order(value: Any) -> float | str | None:
    if value is None or value == MISSING:
        return None  # stands at the end, however the others are sorted
    return float(value) if isinstance(value, (int, float)) else str(value)[:MOST_TEXT]


def describe_column(key: str, rows: Sequence[Mapping[str, Any]]) -> Column:
    """Name a column, with its definition from the metric table if it is a metric."""
    is_number = any(isinstance(row.get(key), (int, float)) for row in rows)
    definition = define(key)
    if definition:
        return Column(key, key.replace("_", " "), definition, is_metric=True, is_number=is_number)
    label = key.replace("_", " ") if key in _OWN or key.endswith(_OWN_ENDINGS) else clip(key).text
    return Column(key, label, _DEFINITIONS.get(key, ""), is_number=is_number)


def define(name: str) -> str:
    """Say what a metric is, in the words of the metric table."""
    try:
        metric = find_metric(name)
    except UnknownMetricError:
        return ""
    formula = f" = {metric.text}" if metric.text else ""
    return f"{metric.name}{formula}: {metric.summary}" if metric.summary else f"{metric.name}{formula}"


def make_grid(
    name: str,
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Mapping[str, Any]],
    *,
    note: str = "",
    is_searchable: bool = False,
    details: Sequence[Any] = (),
) -> Grid:
    """Lay rows out as a grid."""
    keys = shown_columns(columns)
    heads = [describe_column(key, rows) for key in keys]
    padded = list(details) or [None] * len(rows)
    drawn = [Row([write_cell(key, row) for key in keys], detail) for row, detail in zip(rows, padded, strict=True)]
    return Grid(name, caption, heads, drawn, note, is_searchable)


def write_cell(column: str, row: Mapping[str, Any]) -> Value:
    """Write a value, with its interval beside it if it has one."""
    value = write(column, row.get(column))
    return replace(value, aside=write_interval(row.get(column + LOW), row.get(column + HIGH)))


def write_interval(low: float | None, high: float | None) -> str:
    """Write the ends of an interval."""
    return "" if low is None or high is None else f"{format_metric(low)} – {format_metric(high)}"
