"""Cells: the cells of two label arrays, and the confusion matrix that the items of each cell see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwise.core.arithmetic import ARRAYS
from pointwise.core.confusion import Confusion
from pointwise.core.metrics import Metric
from pointwise.labels.codes import Codes, Integers, blocks

Floats = NDArray[np.float64]
Unsigned = NDArray[np.unsignedinteger[Any]]

BLOCK = 12 << 10
"""Cells worked on at a time. What formulas compute in between then stays in the processor's cache, and is small enough
(below 128 KB) for its memory to be reused instead of returned to the system each time."""

_DENSE = 2
"""Pairs of codes are counted in a table if its entries are at most this many times as many as the items."""


@dataclass(frozen=True)
class Cells:
    """The cells of two label arrays; a cell is a pair of clusters that share items.

    Args:
        true: Ideal cluster of each item.
        pred: Actual cluster of each item.
        weight: Weight of each item; None if each weighs 1.
        ideal: Code of the ideal cluster of each cell.
        actual: Code of the actual cluster of each cell.
        items: Number of items in each cell.
        cell_of: The cell of each item; empty if not requested.
    """

    true: Codes
    pred: Codes
    weight: Floats | None
    ideal: Unsigned
    actual: Unsigned
    items: Floats
    cell_of: Integers

    @property
    def is_weighted(self) -> bool:
        """Whether items have weights of their own, or each weighs 1."""
        return self.weight is not None

    @cached_property
    def tp(self) -> Floats:
        """Weight of the items in each cell."""
        return self.items if self.weight is None else self._sum_by_cell(self.weight)

    @cached_property
    def squares(self) -> Floats:
        """Sum of the squared weights in each cell."""
        return self.items if self.weight is None else self._sum_by_cell(self.weight * self.weight)

    def _sum_by_cell(self, values: Floats) -> Floats:
        return sum_by_code(self.cell_of, values, len(self.items))

    @cached_property
    def ideal_items(self) -> Floats:
        """Number of items in each ideal cluster."""
        return np.bincount(self.true.array, minlength=self.true.size).astype(np.float64)

    @cached_property
    def actual_items(self) -> Floats:
        """Number of items in each actual cluster."""
        return np.bincount(self.pred.array, minlength=self.pred.size).astype(np.float64)

    @cached_property
    def ideal_weight(self) -> Floats:
        """Weight of each ideal cluster, a sum of cells: then a perfect cluster has recall exactly 1."""
        return sum_by_code(self.ideal, self.tp, self.true.size) if self.is_weighted else self.ideal_items

    @cached_property
    def actual_weight(self) -> Floats:
        """Weight of each actual cluster, a sum of cells: then a perfect cluster has precision exactly 1."""
        return sum_by_code(self.actual, self.tp, self.pred.size) if self.is_weighted else self.actual_items

    @cached_property
    def total_items(self) -> float:
        """Number of all items."""
        return float(len(self.true.array))

    @cached_property
    def total_weight(self) -> float:
        """Weight of all items."""
        return float(self.tp.sum())

    def parts(self) -> Iterator[slice]:
        """Cut the cells into blocks."""
        return blocks(len(self.items), BLOCK)

    def counts(self, part: slice) -> Confusion:
        """Return the confusion matrices of some cells by number of items, each of which counts 1."""
        ideal, actual = self.ideal_items[self.ideal[part]], self.actual_items[self.actual[part]]
        items = self.items[part]
        tn = self.total_items - ideal - (actual - items)  # exact: numbers of items are whole
        return Confusion(items, ideal, actual, self.total_items, tn, ARRAYS)

    def confusion(self, part: slice) -> Confusion:
        """Return the confusion matrices of some cells, as weights.

        Whether `tn` is zero is decided by counting items, which is exact.
        """
        counts = self.counts(part)
        if not self.is_weighted:
            return counts
        ideal, actual = self.ideal_weight[self.ideal[part]], self.actual_weight[self.actual[part]]
        tp = self.tp[part]
        tn = np.maximum(self.total_weight - ideal - (actual - tp), 0.0)
        tn[counts.tn == 0] = 0.0
        return Confusion(tp, ideal, actual, ideal + (actual - tp) + tn, tn, ARRAYS)


def cross_tabulate(true: Codes, pred: Codes, *, weight: Floats | None = None, by_item: bool = False) -> Cells:
    """Find the pairs of clusters that share items, and count these.

    Args:
        true: Codes of the ideal clusters.
        pred: Codes of the actual clusters.
        weight: Weights of the items; None if each weighs 1.
        by_item: Whether to find the cell of every item; known anyway if items have weights.
    """
    by_item = by_item or weight is not None
    is_dense = true.size << pred.bits <= max(_DENSE * len(true.array), 1 << 12)
    cells, items, cell_of = (_count_in_table if is_dense else _count_by_sorting)(true, pred, by_item=by_item)
    ideal = cells >> cells.dtype.type(pred.bits)
    cells &= cells.dtype.type((1 << pred.bits) - 1)
    return Cells(true, pred, weight, ideal, cells, items, cell_of)


def measure_cells(metric: Metric, matrix: Confusion) -> Any:
    """Apply a formula, and clip what rounding pushes out of the metric's range."""
    value = metric.formula(matrix)
    return np.clip(value, *metric.range) if metric.is_clipped else value


def sum_by_code(codes: NDArray[Any], values: Floats, size: int = 0) -> Floats:
    """Sum the values that have the same code."""
    return np.bincount(codes.astype(np.int64, copy=False), values, size)  # type: ignore[return-value]  # NumPy's types forget the weights


# A pair of codes is one key, the ideal code in its high bits. Both ways of counting return the distinct keys,
# how often each occurs and, if asked, which of them each item has.

_NOBODY = np.empty(0, dtype=np.int64)
_HALF = 32  # bits; numbers of half the width sort twice as fast

CellCounts = tuple[Unsigned, Floats, Integers]


def _count_in_table(true: Codes, pred: Codes, *, by_item: bool) -> CellCounts:
    keys = true.array << pred.bits
    keys |= pred.array
    table = np.bincount(keys, minlength=true.size << pred.bits)
    cells = np.flatnonzero(table)
    items = table[cells].astype(np.float64)
    if not by_item:
        return cells.view(np.uint64), items, _NOBODY
    table[cells] = np.arange(len(cells))
    return cells.view(np.uint64), items, table[keys]


def _count_by_sorting(true: Codes, pred: Codes, *, by_item: bool) -> CellCounts:
    keys, positions = _sort(true, pred, by_item=by_item)
    is_border = np.ones(len(keys) + 1, dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_border[1:-1])
    borders = np.flatnonzero(is_border)
    items = np.subtract(borders[1:], borders[:-1], dtype=np.float64)
    cells = keys[is_border[:-1]]
    if not by_item:
        return cells, items, _NOBODY
    cell_of = np.empty(len(keys), dtype=np.int64)
    cell_of[positions] = np.cumsum(is_border[:-1]) - 1
    return cells, items, cell_of


def _sort(true: Codes, pred: Codes, *, by_item: bool) -> tuple[Unsigned, Integers]:
    bits = true.bits + pred.bits
    keys: Unsigned = true.array.astype(np.uint32 if bits <= _HALF and not by_item else np.uint64)
    keys <<= keys.dtype.type(pred.bits)
    np.bitwise_or(keys, pred.array.view(np.uint64), out=keys, casting="unsafe")
    if by_item:
        return _sort_with_positions(keys, bits)
    keys.sort()
    return keys, _NOBODY


def _sort_with_positions(keys: Unsigned, bits: int) -> tuple[Unsigned, Integers]:
    """Sort, and tell where each key came from.

    With the position in its low bits, a key can be sorted as a number, several times faster than indirectly.
    """
    shift = (len(keys) - 1).bit_length()
    if bits + shift > 2 * _HALF:
        positions = np.argsort(keys)
        return keys[positions], positions
    keys <<= np.uint64(shift)
    keys |= np.arange(len(keys), dtype=np.uint64)
    keys.sort()
    positions = (keys & np.uint64((1 << shift) - 1)).view(np.int64)
    keys >>= np.uint64(shift)
    return keys, positions
