"""Drawings: rows and facts about their columns, independent of terminal, notebook and page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.columns import NUMBERS, Column, Kind

_FEW = 2  # metrics that are always shown


@dataclass(frozen=True)
class Drawing:
    """A table for people.

    Args:
        title: Above the table.
        columns: All columns of the rows; the ends of intervals stand beside their values when drawn.
        rows: What to draw.
        note: Below the table.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> evaluation.overall.drawing().title
        'Overall: 3 items in 2 ideal clusters, weight 3'
    """

    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    note: str = ""

    @property
    def shown(self) -> list[Column]:
        """The columns that are drawn by themselves."""
        return [column for column in self.columns if column.is_drawn and column.kind is not Kind.END]

    @property
    def dispensable(self) -> list[Column]:
        """The columns that a narrow terminal leaves out, the first ones first, before rows become lists."""
        metrics = [column for column in self.shown if column.kind is Kind.METRIC]
        ranks = {Kind.WEIGHT: 0, Kind.SHARE: 1, Kind.METRIC: 2, Kind.P_VALUE: 3, Kind.COUNT: 4}
        found = [column for column in reversed(self.shown) if column.kind in ranks and column not in metrics[:_FEW]]
        return sorted(found, key=lambda column: ranks[column.kind])

    def holds_numbers(self, column: Column) -> bool:
        """Tell whether a column is aligned right."""
        values = (row.get(column.name) for row in self.rows)
        return column.kind in NUMBERS or any(
            isinstance(value, (int, float)) and not isinstance(value, bool) for value in values
        )
