"""Miniatures: small pictures that the templates draw themselves, without any library.

A page of the explorer is drawn while somebody waits, and where no library of charts is installed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

_WIDTH, _HEIGHT, _MARGIN = 160.0, 36.0, 4.0  # of a spark
_TALL = 40.0  # a bar of a histogram


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
class Spark:
    """A line, and what it says in words.

    Args:
        name: What the values are of.
        points: Where the line goes, as SVG has it.
        end: Where it ends.
        first: The first value.
        last: The last value.
        count: How many there are.
        noun: What each of them belongs to, in the plural.
    """

    name: str
    points: str
    end: tuple[str, str]
    first: str
    last: str
    count: int
    noun: str


def draw_spark(name: str, values: Sequence[float], write: Callable[[float], str], *, noun: str) -> Spark:
    """Draw values from left to right, between the least and the greatest of them."""
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    step = (_WIDTH - 2 * _MARGIN) / max(1, len(values) - 1)
    places = [
        (f"{_MARGIN + n * step:.1f}", f"{_HEIGHT - _MARGIN - (value - low) / span * (_HEIGHT - 2 * _MARGIN):.1f}")
        for n, value in enumerate(values)
    ]
    points = " ".join(f"{x},{y}" for x, y in places)
    return Spark(name, points, places[-1], write(values[0]), write(values[-1]), len(values), noun)
