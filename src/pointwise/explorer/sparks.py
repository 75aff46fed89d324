"""Sparks: a series of values as a small line, drawn without any library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT, _MARGIN = 160.0, 36.0, 4.0


@dataclass(frozen=True)
class Spark:
    """A line, and what it says in words.

    Args:
        name: What the values are of.
        points: Where the line goes, as SVG has it.
        end: Where it ends.
        first: The first value.
        last: The last value.
        count: How many there are.
    """

    name: str
    points: str
    end: tuple[str, str]
    first: str
    last: str
    count: int


def draw_spark(name: str, values: Sequence[float], write: Callable[[float], str]) -> Spark:
    """Draw values from left to right, between the least and the greatest of them."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(values) - 1)
    places = [
        (f"{_MARGIN + n * step:.1f}", f"{_HEIGHT - _MARGIN - (value - low) / span * (_HEIGHT - 2 * _MARGIN):.1f}")
        for n, value in enumerate(values)
    ]
    points = " ".join(f"{x},{y}" for x, y in places)
    return Spark(name, points, places[-1], write(values[0]), write(values[-1]), len(values))
