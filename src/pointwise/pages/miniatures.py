"""Miniatures: small pictures that the templates draw themselves, without any library.

A page of the explorer is drawn while somebody waits, and where no library of charts is installed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.columns import HIGH, LOW, Column, Kind
from pointwise.pages.grids import bounded_value
from pointwise.text.values import format_interval, format_metric

_WIDTH, _HEIGHT = 280, 112  # of a trend
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 272, 10, 84  # where its points are
_LONGEST = 16  # characters of the name of a point
_TALL = 40.0  # a bar of a histogram

MOST_POINTS = 60  # of a trend


@dataclass(frozen=True)
class Bar:
    """A bar of a histogram.

    Args:
        name: What it stands for.
        count: How much that is, in words.
        share: How tall it is, as a part of the tallest one.
        href: Where it leads.
        is_chosen: Whether it is looked at.
    """

    name: str
    count: str
    share: float
    href: str
    is_chosen: bool

    @property
    def height(self) -> str:
        """How tall it is drawn; what is there at all can be seen."""
        return f"{max(1.0, self.share * _TALL):.1f}"

    @property
    def top(self) -> str:
        """Where its upper end is drawn."""
        return f"{_TALL - float(self.height):.1f}"


@dataclass(frozen=True)
class Segment:
    """A part of a bar that stands for a whole: where it is drawn, in percent, how, and what it is."""

    start: str
    width: str
    tone: str
    name: str


def draw_stack(parts: Iterable[tuple[str, str, float]]) -> list[Segment]:
    """Draw parts of a whole as one bar.

    Args:
        parts: Of every part its tone, its name and how much it is.
    """
    known = list(parts)
    whole = sum(amount for _, _, amount in known) or 1.0
    found, start = [], 0.0
    for tone, name, amount in known:
        width = 100 * amount / whole
        found.append(Segment(f"{start:.2f}", f"{width:.2f}", tone, name))
        start += width
    return found


@dataclass(frozen=True)
class Point:
    """A point of a trend: where it and its interval are drawn, and what it says."""

    x: str
    y: str
    top: str
    bottom: str
    said: str

    @property
    def has_interval(self) -> bool:
        """Whether there is an interval to draw."""
        return self.top != self.bottom


@dataclass(frozen=True)
class Trend:
    """A metric over several clusterings, with intervals.

    Args:
        name: The metric.
        points: Its values.
        ends: The least and the greatest value, intervals included: where each is drawn, and its text.
        first: The first value.
        last: The last value.
        oldest: What has the first value.
        newest: What has the last value.
        about: What the points are.
    """

    name: str
    points: Sequence[Point]
    ends: Sequence[tuple[int, str]]
    first: str
    last: str
    oldest: str
    newest: str
    about: str
    width: int = _WIDTH
    height: int = _HEIGHT
    left: int = _LEFT
    right: int = _RIGHT

    @property
    def path(self) -> str:
        """Where the line goes, as SVG has it."""
        return " ".join(f"{point.x},{point.y}" for point in self.points)

    @property
    def said(self) -> str:
        """What it shows, for those who cannot see it."""
        return f"{self.name.replace('_', ' ')}: {'; '.join(point.said for point in self.points)}"


def draw_trends(
    columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], *, key: str, noun: str
) -> Iterator[Trend]:
    """Draw every metric that more than one clustering has.

    Args:
        columns: What the rows hold.
        rows: The clusterings, in order; the last ones are drawn.
        key: The column that names a clustering.
        noun: What the clusterings are called, and in which order they are drawn.
    """
    for column in columns:
        known = [row for row in rows if _is_number(row.get(column.name))] if column.kind is Kind.METRIC else []
        if len(known) > 1:
            cut = f"The last {MOST_POINTS} of {len(known):,}" if len(known) > MOST_POINTS else f"All {len(known)}"
            about = f"{cut} {noun}; vertical lines are intervals."
            yield _draw_trend(column.name, known[-MOST_POINTS:], key, about)


def _draw_trend(metric: str, rows: Sequence[Mapping[str, Any]], key: str, about: str) -> Trend:
    values = [(row[metric], *_interval(row, metric)) for row in rows]
    low, high = min(low for _, low, _ in values), max(high for _, _, high in values)
    span = (high - low) or 1.0
    step = (_RIGHT - _LEFT - 16) / (len(rows) - 1)

    def place(value: float) -> str:
        return f"{_BOTTOM - (value - low) / span * (_BOTTOM - _TOP):.1f}"

    points = [
        Point(f"{_LEFT + 8 + n * step:.1f}", place(value), place(upper), place(lower), _say(row, key, metric))
        for n, (row, (value, lower, upper)) in enumerate(zip(rows, values, strict=True))
    ]
    ends = [(_BOTTOM, format_metric(low)), *([(_TOP, format_metric(high))] if high > low else [])]
    oldest, newest = (_shorten(bounded_value(row[key]).text) for row in (rows[0], rows[-1]))
    first, last = (format_metric(value) for value, _, _ in (values[0], values[-1]))
    return Trend(metric, points, ends, first, last, oldest, newest, about)


def _is_number(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


def _interval(row: Mapping[str, Any], metric: str) -> tuple[float, float]:
    low, high = row.get(metric + LOW), row.get(metric + HIGH)
    return (row[metric], row[metric]) if low is None or high is None else (low, high)


def _say(row: Mapping[str, Any], key: str, metric: str) -> str:
    ends = format_interval(Kind.METRIC, row.get(metric + LOW), row.get(metric + HIGH))
    return f"{bounded_value(row[key]).text} {format_metric(row[metric])}{f' ({ends})' if ends else ''}"


def _shorten(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
