"""Cross-tabulation: how much weight every ideal cluster shares with every actual cluster."""

from collections.abc import Callable, Sequence

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, IDEAL, ITEMS, LEAST_WEIGHT, NO_CLUSTER, SQUARES, TP, WEIGHT

Hold = Callable[[nw.LazyFrame], nw.LazyFrame]
"""Computes a frame once and keeps the result, as an engine's checkpoint does."""


def cross_tabulate(
    items: nw.LazyFrame,
    *,
    carry: Sequence[str] = (),
    has_least: bool = False,
    hold: Hold = lambda frame: frame,
) -> nw.LazyFrame:
    """Sum the weight of the items in each pair of ideal and actual cluster.

    Only pairs that share an item appear. Such a pair is a *cell*; all its items have the same confusion
    matrix, so everything after this step works on cells.

    Args:
        items: Items, with columns `ideal_cluster`, `actual_cluster` and, unless every item weighs 1, `weight`. Those
            that one of the clusterings lacks have no cluster there, and make pairs of their own.
        carry: Further columns to count up, if items have weights.
        has_least: Whether to find the least weight of every cell as well, if items have weights.
        hold: Keeps what is computed, which is less than what is returned.

    Returns:
        Cells, with columns `ideal_cluster`, `actual_cluster`, `items` (a count), `tp` (a weight) and
        `squared_weight` (a sum of squares, which counting weighted pairs needs), and those in `carry`.
    """
    if not is_weighted(items):
        cells = hold(
            items.group_by(IDEAL, ACTUAL).agg(nw.len().alias(ITEMS)).with_columns(nw.col(ITEMS).cast(nw.Int64))
        )
        count = nw.col(ITEMS).cast(nw.Float64)
        return cells.with_columns(count.alias(TP), count.alias(SQUARES))
    weighed = items.with_columns((nw.col(WEIGHT) * nw.col(WEIGHT)).alias(SQUARES))
    cells = weighed.group_by(IDEAL, ACTUAL).agg(
        nw.len().alias(ITEMS),
        nw.col(WEIGHT).sum().alias(TP),
        nw.col(SQUARES).sum(),
        *(nw.col(c).sum() for c in carry),
        *([nw.col(WEIGHT).min().alias(LEAST_WEIGHT)] if has_least else []),
    )
    return hold(cells.with_columns(nw.col(ITEMS, *carry).cast(nw.Int64)))


def has_no_cluster(side: str) -> nw.Expr:
    """Tell which items, or cells, have an empty cluster on a side, where ids are text."""
    return nw.col(side).str.starts_with(NO_CLUSTER)


def is_weighted(items: nw.LazyFrame) -> bool:
    """Tell whether items have weights of their own; otherwise each weighs 1."""
    return WEIGHT in items.collect_schema().names()
