"""Cross-tabulation: how much weight every ideal cluster shares with every actual cluster."""

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, BAD_WEIGHTS, IDEAL, ITEMS, LEAST_WEIGHT, NO_CLUSTER, SQUARES, TP, WEIGHT
from pointwise.engines.base import Hold, apply


def cross_tabulate(items: nw.LazyFrame, *, checks_weights: bool = False, hold: Hold = apply) -> nw.LazyFrame:
    """Sum the weight of the items in each pair of ideal and actual cluster.

    Only pairs that share an item appear. Such a pair is a *cell*; all its items have the same confusion
    matrix, so everything after this step works on cells.

    Args:
        items: Items, with columns `ideal_cluster`, `actual_cluster` and, unless every item weighs 1, `weight`. Those
            that one of the clusterings lacks have no cluster there, and make pairs of their own.
        checks_weights: Whether to count unusable weights and find the least one as well, if items have weights.
        hold: Keeps what is computed, which is less than what is returned.

    Returns:
        Cells, with columns `ideal_cluster`, `actual_cluster`, `items` (a count), `tp` (a weight) and
        `squared_weight` (a sum of squares, which counting weighted pairs needs), and, if weights are checked,
        `bad_weights` (a count) and `least_weight`.
    """
    if is_weighted(items):
        return hold(_sum_weights, items, checks_weights=checks_weights)
    count = nw.col(ITEMS).cast(nw.Float64)
    return hold(_count_items, items).with_columns(count.alias(TP), count.alias(SQUARES))


def _count_items(items: nw.LazyFrame) -> nw.LazyFrame:
    return items.group_by(IDEAL, ACTUAL).agg(count_rows(ITEMS))


def _sum_weights(items: nw.LazyFrame, *, checks_weights: bool) -> nw.LazyFrame:
    checked = [count_bad_weights()] if checks_weights else []
    squares = (nw.col(WEIGHT) * nw.col(WEIGHT)).alias(SQUARES)
    return (
        items.select(IDEAL, ACTUAL, WEIGHT, squares, *checked)
        .group_by(IDEAL, ACTUAL)
        .agg(
            count_rows(ITEMS),
            nw.col(WEIGHT).sum().alias(TP),
            nw.col(SQUARES).sum(),
            *([sum_counts(BAD_WEIGHTS), nw.col(WEIGHT).min().alias(LEAST_WEIGHT)] if checks_weights else []),
        )
    )


def is_bad_weight() -> nw.Expr:
    """Tell which weights are not positive finite numbers."""
    weight = nw.col(WEIGHT)
    is_good = ~weight.is_null() & weight.is_finite() & (weight > 0)
    return nw.when(is_good).then(nw.lit(False)).otherwise(nw.lit(True))


def count_bad_weights() -> nw.Expr:
    """Count 1 for every weight that is not a positive finite number."""
    return nw.when(is_bad_weight()).then(nw.lit(1)).otherwise(nw.lit(0)).alias(BAD_WEIGHTS)


def count_rows(name: str) -> nw.Expr:
    """Count the rows of a group, as an integer of the same type on every engine."""
    return nw.len().cast(nw.Int64).alias(name)


def sum_counts(name: str) -> nw.Expr:
    """Add up a column of counts, which engines would otherwise return as a wider type."""
    return nw.col(name).sum().cast(nw.Int64)


def has_no_cluster(side: str) -> nw.Expr:
    """Tell which items, or cells, have an empty cluster on a side, where ids are text."""
    return nw.col(side).str.starts_with(NO_CLUSTER)


def is_weighted(items: nw.LazyFrame) -> bool:
    """Tell whether items have weights of their own; otherwise each weighs 1."""
    return WEIGHT in items.collect_schema().names()
