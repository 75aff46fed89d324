"""Values: numbers, counts and intervals, written for people."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from pointwise.columns import Column, Kind

MOST_LISTED = 12
"""How many of a user's names a message lists."""

SHOWN_ROWS = 20
"""How many rows people see unless they say otherwise."""

MISSING = "(missing)"
"""What people read where items have no value to slice by. In data it is null."""

NOTHING = "–"
"""What people read where there is no value."""


DIFFERS = " *"
"""Mark after a value that differs from another record's."""


def format_value(kind: Kind, value: Any) -> str:
    """Write a value for people: shares as percentages, counts with separators, metrics with four digits."""
    if value is None:
        return MISSING if kind is Kind.KEY else NOTHING
    if isinstance(value, bool):
        return "yes" if value else "no"
    write = _WRITERS.get(kind, _as_it_stands) if isinstance(value, (int, float)) else str
    return write(value)


def format_cell(column: Column, row: Mapping[str, Any]) -> str:
    """Write a value for people, with its interval if it has one."""
    return f"{format_bare(column, row)} {format_ends(column, row)}".rstrip()


def format_bare(column: Column, row: Mapping[str, Any]) -> str:
    """Write a value for people without its interval, cut where its column wants that."""
    text = format_value(column.kind, row.get(column.name))
    return text if column.longest is None else abridge(text, column.longest)


def format_ends(column: Column, row: Mapping[str, Any], *, is_narrow: bool = True) -> str:
    """Write the interval of a value to stand beside it in a table; nothing if it has none."""
    if not column.low:  # a user's column may be called that
        return ""
    return format_interval(column.kind, row.get(column.low), row.get(column.high), is_narrow=is_narrow)


def format_interval(kind: Kind, low: float | None, high: float | None, *, is_narrow: bool = False) -> str:
    """Write an interval for people; nothing if there is none.

    Args:
        kind: What the value is that the interval belongs to.
        low: Its lower end.
        high: Its upper end.
        is_narrow: Whether it is shown in a table. Then the ends of a metric's interval have three digits, since they
            are not exact to the last digit anyway.
    """
    if low is None or high is None:
        return ""
    digits = 3 if is_narrow else 4
    write = _WRITERS[kind] if kind in (Kind.DELTA, Kind.COUNT) else partial(format_metric, digits=digits)
    ends = [write(end) for end in (low, high)]
    return f"[{ends[0]}, {ends[1]}]" if is_narrow else f"{ends[0]} to {ends[1]}"


def name_interval(confidence: float) -> str:
    """Name intervals by how often they contain the true value.

    Examples:
        >>> name_interval(0.95)
        '95% interval'
    """
    return f"{format_confidence(confidence)} interval"


def format_confidence(confidence: float) -> str:
    """Write a confidence level with as many digits as it was given."""
    return f"{100 * confidence:.10g}%"


def format_key(value: Any) -> str:
    """Write what makes a slice."""
    return format_value(Kind.KEY, value)


def format_count(number: int, noun: str) -> str:
    """Write a number of things: 1 item, 2 items."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def format_metric(value: float, digits: int = 4) -> str:
    """Write a metric; only exact values are written as 0 or 1."""
    if math.isnan(value):
        return NOTHING
    if abs(value) >= 1000:  # noqa: PLR2004  # a count, such as of pairs
        return format_weight(value)
    text, least = f"{value:.{digits}f}", f"{10**-digits:.{digits}f}"
    if float(text) == 1 and value < 1:
        return f">{1 - 10**-digits:.{digits}f}"
    if float(text) == 0 and value != 0:
        return f"<{least}" if value > 0 else f">-{least}"
    return text


def format_difference(value: float) -> str:
    """Write a difference with its sign; only an exact 0 is written as 0."""
    text = f"{value:+.4f}"
    if text in ("+0.0000", "-0.0000"):
        return "0.0000" if abs(value) < 1e-12 else f"{text[0]}<0.0001"  # noqa: PLR2004  # what rounding leaves of zero
    return text


def format_share(value: float) -> str:
    """Write a share as a percentage; only exact shares are written as 0% or 100%."""
    text = f"{value:.1%}"
    if text == "100.0%" and value < 1:
        return ">99.9%"
    return "<0.1%" if text == "0.0%" and value > 0 else text


def format_weight(value: float) -> str:
    """Write a weight without meaningless digits."""
    whole = float(value).is_integer() or abs(value) >= 1e6  # noqa: PLR2004
    return f"{value:,.0f}" if whole else f"{value:,.6g}"


def short(value: Any, longest: int = 80) -> str:
    """Write a value the way Python does, cut where it is long."""
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def shorten(value: Any, longest: int) -> str:
    """Write a value on one line, cut where it is long.

    Examples:
        >>> shorten("A very long name", 7)
        'A very…'
    """
    text = " ".join(str(value).split())
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def abridge(text: str, longest: int) -> str:
    """Cut a long text in its middle: texts that begin alike often end differently.

    Examples:
        >>> abridge("Department of Physics, Group 7", 20)
        'Department…, Group 7'
    """
    if len(text) <= longest:
        return text
    end = (longest - 1) // 2
    return f"{text[: longest - 1 - end].rstrip()}…{text[-end:].lstrip()}"


def listed(values: Iterable[Any], *, most: int = MOST_LISTED, longest: int = 80) -> str:
    """Write some values the way Python does, and how many more there are.

    Examples:
        >>> listed(["a", "b", "c"], most=2)
        "'a', 'b' and 1 more"
    """
    every = list(values)
    shown = ", ".join(short(value, longest) for value in every[:most])
    return shown if len(every) <= most else f"{shown} and {len(every) - most:,} more"


def _format_whole(value: float) -> str:
    return f"{value:,.0f}"


def _as_it_stands(value: float) -> str:
    """Write a number from the user's data, such as an id or a year, without formatting it."""
    return repr(value).removesuffix(".0")


_WRITERS: Mapping[Kind, Callable[[float], str]] = {
    Kind.COUNT: _format_whole,
    Kind.WEIGHT: format_weight,
    Kind.SHARE: format_share,
    Kind.METRIC: format_metric,
    Kind.DELTA: format_difference,
    Kind.P_VALUE: format_metric,
    Kind.END: format_metric,
}
