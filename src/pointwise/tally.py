"""Tally: the cells of two label arrays, and the confusion matrix that the items of each cell see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pointwise.codes import Codes, Integers, blocks
from pointwise.confusion import Arithmetic, Confusion

Floats = NDArray[np.float64]

BLOCK = 1 << 14
"""Cells worked on at a time, so that what formulas compute in between stays in the processor's cache."""

_DENSE = 2
"""Pairs of codes are counted in a table if its entries are at most this many times as many as the items."""


def _divide_arrays(numerator: Any, denominator: Any) -> Any:
    is_zero = np.equal(denominator, 0)
    if not is_zero.any():
        return np.divide(numerator, denominator)
    undefined = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=undefined, where=~is_zero)


ARRAYS = Arithmetic(_divide_arrays, np.sqrt, np.minimum, np.maximum)
"""For NumPy arrays, where undefined is NaN."""


@dataclass(frozen=True)
class Tally:
    """The cells of two label arrays; a cell is a pair of clusters that share items.

    Args:
        ideal: Code of the ideal cluster of each cell.
        actual: Code of the actual cluster of each cell.
        items: Number of items in each cell.
        tp: Weight of the items in each cell.
        sizes: What the codes of either side are less than.
        cell_of: The cell of every item; empty if nobody asked for it.
        weight: Weight of every item; None if each weighs 1.
    """

    ideal: Integers
    actual: Integers
    items: Floats
    tp: Floats
    sizes: tuple[int, int]
    cell_of: Integers
    weight: Floats | None

    @property
    def is_weighted(self) -> bool:
        """Whether items have weights of their own, or each weighs 1."""
        return self.weight is not None

    @cached_property
    def squares(self) -> Floats:
        """Sum of the squared weights in each cell."""
        if self.weight is None:
            return self.items
        return sum_by_code(self.cell_of, self.weight * self.weight, len(self.tp))

    @cached_property
    def ideal_items(self) -> Floats:
        """Number of items in each ideal cluster."""
        return sum_by_code(self.ideal, self.items, self.sizes[0])

    @cached_property
    def actual_items(self) -> Floats:
        """Number of items in each actual cluster."""
        return sum_by_code(self.actual, self.items, self.sizes[1])

    @cached_property
    def ideal_weight(self) -> Floats:
        """Weight of each ideal cluster, a sum of cells: then a perfect cluster has recall exactly 1."""
        return sum_by_code(self.ideal, self.tp, self.sizes[0]) if self.is_weighted else self.ideal_items

    @cached_property
    def actual_weight(self) -> Floats:
        """Weight of each actual cluster, a sum of cells: then a perfect cluster has precision exactly 1."""
        return sum_by_code(self.actual, self.tp, self.sizes[1]) if self.is_weighted else self.actual_items

    @cached_property
    def total_items(self) -> float:
        """Number of all items."""
        return float(self.items.sum())

    @cached_property
    def total_weight(self) -> float:
        """Weight of all items."""
        return float(self.tp.sum())

    def parts(self) -> Iterator[slice]:
        """Cut the cells into blocks."""
        return blocks(len(self.tp), BLOCK)

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


def tally(true: Codes, pred: Codes, *, weight: Floats | None = None, by_item: bool = False) -> Tally:
    """Count the items, and sum their weight, in each pair of clusters. Only pairs that share an item appear.

    Args:
        true: Codes of the ideal clusters.
        pred: Codes of the actual clusters.
        weight: Weights of the items; None if each weighs 1.
        by_item: Whether to tell for every item in which cell it is.
    """
    keys = (true.values << pred.bits) | pred.values
    size = true.size << pred.bits
    count = _count_in_table if size <= max(_DENSE * len(keys), 1 << 12) else _count_by_sorting
    cells, items, cell_of = count(keys, size, by_item=by_item or weight is not None)
    tp = items if weight is None else sum_by_code(cell_of, weight, len(cells))
    sides = cells >> pred.bits, cells & ((1 << pred.bits) - 1)
    return Tally(*sides, items, tp, (true.size, pred.size), cell_of, weight)


def sum_by_code(codes: Integers, values: Floats, size: int = 0) -> Floats:
    """Sum the values that have the same code."""
    return np.bincount(codes, values, size)  # type: ignore[return-value]  # NumPy's types forget the weights


_NOBODY = np.empty(0, dtype=np.int64)

Counted = tuple[Integers, Floats, Integers]
"""The distinct keys, how often each occurs, and for every item which of them it has."""


def _count_in_table(keys: Integers, size: int, *, by_item: bool) -> Counted:
    table = np.bincount(keys, minlength=size)
    cells = np.flatnonzero(table)
    items = table[cells].astype(np.float64)
    if not by_item:
        return cells, items, _NOBODY
    table[cells] = np.arange(len(cells))
    return cells, items, table[keys]


def _count_by_sorting(keys: Integers, size: int, *, by_item: bool) -> Counted:
    if by_item:
        ordered, positions = _sort_with_positions(keys, size)
    else:
        ordered = keys.astype(np.int32 if size <= 1 << 31 else np.int64)
        ordered.sort()
    is_first = np.empty(len(keys), dtype=np.bool_)
    is_first[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    items = np.diff(starts, append=len(keys)).astype(np.float64)
    cells = ordered[starts].astype(np.int64)
    if not by_item:
        return cells, items, _NOBODY
    cell_of = np.empty(len(keys), dtype=np.int64)
    cell_of[positions] = np.cumsum(is_first) - 1
    return cells, items, cell_of


def _sort_with_positions(keys: Integers, size: int) -> tuple[Integers, Integers]:
    """Sort, and tell where each key came from.

    With the position in its low bits, a key can be sorted as a number, several times faster than indirectly.
    """
    bits = (len(keys) - 1).bit_length()
    if (size - 1).bit_length() + bits > 64:  # noqa: PLR2004
        positions = np.argsort(keys)
        return keys[positions], positions
    packed = keys.view(np.uint64) << np.uint64(bits)
    packed |= np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    positions = (packed & np.uint64((1 << bits) - 1)).view(np.int64)
    packed >>= np.uint64(bits)
    return packed.view(np.int64), positions
