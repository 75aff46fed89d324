"""The 2x2 confusion matrix: what every item of a cell sees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    FN,
    FP,
    IDEAL,
    IDEAL_ITEMS,
    IDEAL_WEIGHT,
    ITEMS,
    SQUARES,
    TN,
    TP,
    WEIGHT,
)
from pointwise.core.arithmetic import COLUMNS, NUMBERS, Arithmetic
from pointwise.core.crosstab import has_no_cluster
from pointwise.engines.base import Hold, apply


@dataclass(frozen=True)
class Confusion:
    """A 2x2 confusion matrix: the circles of the paper's Venn diagram, as weights.

    Args:
        tp: Weight that the item's ideal and actual cluster share.
        ideal: Weight of its ideal cluster.
        actual: Weight of its actual cluster.
        total: Weight of all items.
        tn: Weight outside both clusters.
        arithmetic: How to divide and so on for this kind of value.

    Examples:
        >>> import pointwise as pw
        >>> matrix = pw.Confusion(tp=1, ideal=2, actual=4, total=6, tn=1)
        >>> matrix.fp, matrix.fn, pw.METRICS["precision"].formula(matrix)
        (3, 1, 0.25)
        >>> matrix.ratio(matrix.tp, matrix.minimum(matrix.ideal, matrix.actual)), matrix.sqrt(matrix.actual)
        (0.5, 2.0)
    """

    tp: Any
    ideal: Any
    actual: Any
    total: Any
    tn: Any
    arithmetic: Arithmetic = NUMBERS

    @property
    def fp(self) -> Any:
        """Weight of the actual cluster that does not belong there."""
        return self.actual - self.tp

    @property
    def fn(self) -> Any:
        """Weight of the ideal cluster that is elsewhere."""
        return self.ideal - self.tp

    def ratio(self, numerator: Any, denominator: Any) -> Any:
        """Divide; the value is undefined where the denominator is zero."""
        return self.arithmetic.divide(numerator, denominator)

    def sqrt(self, value: Any) -> Any:
        """Take the square root."""
        return self.arithmetic.sqrt(value)

    def minimum(self, a: Any, b: Any) -> Any:
        """Take the lesser of two values."""
        return self.arithmetic.minimum(a, b)

    @staticmethod
    def of_columns() -> Confusion:
        """Return the confusion matrix as expressions over the columns that `confuse` adds."""
        tp, ideal, actual, tn = (nw.col(name) for name in (TP, IDEAL_WEIGHT, ACTUAL_WEIGHT, TN))
        return _ColumnConfusion(tp, ideal, actual, ideal + nw.col(FP) + tn, tn, COLUMNS)


class _ColumnConfusion(Confusion):
    """A confusion matrix whose entries are columns; naming them keeps the expressions of formulas small."""

    @property
    def fp(self) -> nw.Expr:
        return nw.col(FP)

    @property
    def fn(self) -> nw.Expr:
        return nw.col(FN)


@dataclass(frozen=True)
class Totals:
    """Sums over all cells, and over the outside members where they count as wrong."""

    items: int
    weight: float


def confuse(
    cells: nw.LazyFrame,
    totals: Totals,
    *,
    outside: nw.LazyFrame | None = None,
    set_aside: nw.LazyFrame | None = None,
    is_weighted: bool = True,
    has_empty: bool = False,
    hold: Hold = apply,
) -> nw.LazyFrame:
    """Add the margins of every cell and the four entries of its confusion matrix.

    Margins are sums of cells, never of items: then a perfect cluster has `fp` and `fn` exactly zero,
    and neither can fall below zero. Whether `tn` is zero is decided by counting items, which is exact.

    Args:
        cells: Cells, with columns `ideal_cluster`, `actual_cluster`, `items` and `tp`.
        totals: Number and weight of all items.
        outside: Members of actual clusters that the truth does not list and that count as wrong, with
            columns `actual_cluster`, `items` and `weight`. None: they are not looked at.
        set_aside: Cells of items that the truth lists but that are not looked at, with the same columns as `cells`. For
            items of other ideal clusters they count as wrong; for those of their own ideal cluster they do not count.
        is_weighted: False if every item weighs 1, so that counts suffice.
        has_empty: Whether some cells are of items with an empty cluster on one side (`keep_missing`,
            `keep_outside_items`). Such a cell has a weight, but nothing that its two clusters share: its `tp` is 0,
            and so are the margins of its empty cluster.
        hold: Keeps the cells with their margins, from which the rest follows row by row.

    Returns:
        The cells with `ideal_weight`, `ideal_items`, `actual_weight`, `actual_items`, `fp`, `fn`, `tn`, and
        `weight`, the weight of the cell's items.
    """
    others = [] if outside is None else [outside]
    if has_empty:
        return with_entries(hold(_with_empty, cells, *others), totals)
    if set_aside is None:
        held = hold(_with_margins, cells, *others, is_weighted=is_weighted)
        return with_entries(held if is_weighted else _with_unit_weights(held), totals)
    joined = _with_margins(cells, *others, is_weighted=is_weighted)
    weighed = joined if is_weighted else _with_unit_weights(joined)
    return with_entries(hold(_with_strangers, weighed, set_aside), totals)


def _with_margins(cells: nw.LazyFrame, outside: nw.LazyFrame | None = None, *, is_weighted: bool) -> nw.LazyFrame:
    """Add the margins of cells; where every item weighs 1, only counts."""
    sums = [ITEMS, WEIGHT] if is_weighted else [ITEMS]
    parts = {ITEMS: nw.col(ITEMS), WEIGHT: nw.col(TP).alias(WEIGHT)}
    actual = cells.select(ACTUAL, *(parts[name] for name in sums))
    if outside is not None:
        actual = nw.concat([actual, outside.select(ACTUAL, *sums)])
    actual_margin = _margin(actual, ACTUAL, _MARGINS[ACTUAL])
    ideal = cells.select(IDEAL, *(parts[name] for name in sums))
    ideal_margin = _margin(ideal, IDEAL, _MARGINS[IDEAL])
    bare = cells if is_weighted else cells.select(IDEAL, ACTUAL, ITEMS)
    return bare.join(ideal_margin, on=IDEAL, how="inner").join(actual_margin, on=ACTUAL, how="inner")


def _with_empty(cells: nw.LazyFrame, outside: nw.LazyFrame | None = None) -> nw.LazyFrame:
    """Add the margins of cells, some of which have an empty cluster on one side and count only on the other."""
    parts = cells.with_columns(nw.col(TP).alias(WEIGHT))
    rows = {side: _with_cluster(parts, side).select(side, ITEMS, WEIGHT) for side in (IDEAL, ACTUAL)}
    if outside is not None:
        rows[ACTUAL] = nw.concat([rows[ACTUAL], outside.select(ACTUAL, ITEMS, WEIGHT)])
    for side, names in _MARGINS.items():
        margin = _margin(rows[side], side, names)
        parts = parts.join(margin, on=side, how="left")
        parts = parts.with_columns(*(nw.col(name).fill_null(0) for name in names.values()))
    return parts.with_columns(nw.when(is_empty()).then(nw.lit(0.0)).otherwise(nw.col(TP)).alias(TP))


def _with_cluster(cells: nw.LazyFrame, side: str) -> nw.LazyFrame:
    is_text = isinstance(cells.collect_schema()[side], nw.String)  # as it is where ids were made up
    return cells.filter(~has_no_cluster(side)) if is_text else cells


def is_empty() -> nw.Expr:
    """Tell which cells have an empty cluster on one side, from their margins."""
    return (nw.col(IDEAL_ITEMS) == 0) | (nw.col(ACTUAL_ITEMS) == 0)


_MARGINS = {
    IDEAL: {ITEMS: IDEAL_ITEMS, WEIGHT: IDEAL_WEIGHT},
    ACTUAL: {ITEMS: ACTUAL_ITEMS, WEIGHT: ACTUAL_WEIGHT},
}
"""What the number and weight of a cluster's items are called."""


def _with_strangers(cells: nw.LazyFrame, set_aside: nw.LazyFrame) -> nw.LazyFrame:
    """Add the items set aside to the actual clusters that they are in, except where they share the ideal cluster."""
    rows = set_aside.select(IDEAL, ACTUAL, ITEMS, nw.col(TP).alias(WEIGHT))
    for keys, (items, weight) in _ASIDE.items():
        sums = rows.group_by(*keys).agg(nw.col(ITEMS).sum().alias(items), nw.col(WEIGHT).sum().alias(weight))
        cells = cells.join(sums.with_columns(nw.col(items).cast(nw.Int64)), on=list(keys), how="left")
    cells = cells.with_columns(*(nw.col(c).fill_null(0) for columns in _ASIDE.values() for c in columns))
    (all_items, all_weight), (own_items, own_weight) = _ASIDE[(ACTUAL,)], _ASIDE[IDEAL, ACTUAL]
    strangers = nw.col(all_items) - nw.col(own_items)
    # Counts decide whether there are any, because they are exact.
    weighing = nw.when(strangers > 0).then(nw.col(all_weight) - nw.col(own_weight)).otherwise(nw.lit(0.0))
    return cells.with_columns(nw.col(ACTUAL_ITEMS) + strangers, nw.col(ACTUAL_WEIGHT) + weighing)


_ASIDE: dict[tuple[str, ...], tuple[str, str]] = {
    (ACTUAL,): ("_aside_in_actual", "_aside_in_actual_weight"),
    (IDEAL, ACTUAL): ("_aside_in_cell", "_aside_in_cell_weight"),
    (IDEAL,): ("_aside_in_ideal", "_aside_in_ideal_weight"),
}
"""Columns with the number and weight of the items set aside, by what they share with a cell."""


def _margin(cells: nw.LazyFrame, side: str, names: dict[str, str]) -> nw.LazyFrame:
    present = [name for name in names if name in cells.collect_schema().names()]
    summed = cells.group_by(side).agg(*(nw.col(name).sum().alias(names[name]) for name in present))
    return summed.with_columns(nw.col(names[ITEMS]).cast(nw.Int64))


def _with_unit_weights(cells: nw.LazyFrame) -> nw.LazyFrame:
    counts = {TP: ITEMS, SQUARES: ITEMS, IDEAL_WEIGHT: IDEAL_ITEMS, ACTUAL_WEIGHT: ACTUAL_ITEMS}
    return cells.with_columns(*(nw.col(count).cast(nw.Float64).alias(name) for name, count in counts.items()))


def with_entries(cells: nw.LazyFrame, totals: Totals) -> nw.LazyFrame:
    """Add the entries of the confusion matrices of cells with margins, among so many items."""
    fn, fp = nw.col(IDEAL_WEIGHT) - nw.col(TP), nw.col(ACTUAL_WEIGHT) - nw.col(TP)
    present = cells.collect_schema().names()
    has_weight = WEIGHT in present  # of its own, where a cell may have an empty cluster
    together = nw.when(is_empty()).then(nw.lit(0)).otherwise(nw.col(ITEMS)) if has_weight else nw.col(ITEMS)
    negatives = totals.items - nw.col(IDEAL_ITEMS) - nw.col(ACTUAL_ITEMS) + together
    tn = totals.weight - nw.col(IDEAL_WEIGHT) - fp
    aside = [c for columns in _ASIDE.values() for c in columns if c in present]
    if aside:  # those of the item's own ideal cluster are among the total, but on no side
        items, weight = _ASIDE[(IDEAL,)]
        negatives, tn = negatives - nw.col(items), tn - nw.col(weight)
    entries = cells.with_columns(
        fp.alias(FP),
        fn.alias(FN),
        nw.when((negatives > 0) & (tn > 0)).then(tn).otherwise(nw.lit(0.0)).alias(TN),
        *([] if has_weight else [nw.col(TP).alias(WEIGHT)]),
    )
    return entries.drop(*aside) if aside else entries
