"""Cross-tabulation: how much weight every ideal cluster shares with every actual cluster."""

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, IDEAL, ITEMS, SQUARES, TP, WEIGHT


def cross_tabulate(items: nw.LazyFrame) -> nw.LazyFrame:
    """Sum the weight of the items in each pair of ideal and actual cluster.

    Only pairs that share an item appear. Such a pair is a *cell*; all its items have the same confusion
    matrix, so everything after this step works on cells.

    Args:
        items: Common items, with columns `ideal_cluster`, `actual_cluster` and, unless every item weighs 1,
            `weight`.

    Returns:
        Cells, with columns `ideal_cluster`, `actual_cluster`, `items` (a count), `tp` (a weight) and
        `squared_weight` (a sum of squares, which counting weighted pairs needs).
    """
    if WEIGHT not in items.collect_schema().names():
        cells = items.group_by(IDEAL, ACTUAL).agg(nw.len().alias(ITEMS))
        count = nw.col(ITEMS).cast(nw.Float64)
        return cells.with_columns(nw.col(ITEMS).cast(nw.Int64), count.alias(TP), count.alias(SQUARES))
    weighed = items.with_columns((nw.col(WEIGHT) * nw.col(WEIGHT)).alias(SQUARES))
    cells = weighed.group_by(IDEAL, ACTUAL).agg(
        nw.len().alias(ITEMS), nw.col(WEIGHT).sum().alias(TP), nw.col(SQUARES).sum()
    )
    return cells.with_columns(nw.col(ITEMS).cast(nw.Int64))
