"""Costs: how much of the over-merge rate or the under-merge rate every cluster makes up."""

from __future__ import annotations

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, ACTUAL_ITEMS, COST, IDEAL, IDEAL_ITEMS, ITEMS, SHARE, WEIGHT
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import sum_measured
from pointwise.core.metrics import Metric, find_metric
from pointwise.engines.queries import total

COST_RATES = {IDEAL: "under_merge_rate", ACTUAL: "over_merge_rate"}
"""An ideal cluster is split, an actual cluster is mixed."""


def cost_rate(side: str) -> Metric:
    """Return the rate that the clusters of a side make up."""
    return find_metric(COST_RATES[side])


def can_cost(evidence: Evidence, side: str) -> bool:
    """Tell whether the sample allows us to say what the clusters of a side cost."""
    sample = evidence.sample
    return sample.clusters is None or sample.sees_outside or not cost_rate(side).sees_false_positives


def cost_clusters(evidence: Evidence, side: str) -> nw.LazyFrame:
    """Compute what every ideal or actual cluster costs. All costs add up to the rate.

    The cost is the weighted rate of the cluster's items over the weight of all items, so that it is what the rate
    would lose if they were perfect. In a sample, items stand for others too.

    Returns:
        Clusters of the side with `cost` and `items`.
    """
    rate, whole = cost_rate(side), judged_weight(evidence, side)
    cells = evidence.sample.expand(evidence.cells)
    sums = evidence.engine.plan(sum_measured, cells, by=(side,), metrics=(rate,))
    return sums.select(side, ITEMS, (nw.col(rate.name) / whole).alias(COST))


def judged_weight(evidence: Evidence, side: str) -> float:
    """Weigh the items with a cluster on a side, for which its rate is defined, with what they stand for."""
    if not evidence.has_empty:
        return evidence.estimated_weight
    number = IDEAL_ITEMS if side == IDEAL else ACTUAL_ITEMS
    cells = evidence.cells.filter(nw.col(number) > 0).select(IDEAL, WEIGHT)
    return total(evidence.sample.expand(cells), WEIGHT, evidence.engine)


def with_cost(lifted: nw.LazyFrame, evidence: Evidence, side: str) -> nw.LazyFrame:
    """Add what every cluster costs to a lifted table that has the rate itself.

    Where the sample does not allow an estimate, it is the cost among the items of the truth.
    """
    is_plain = evidence.sample.clusters is None and not evidence.has_empty
    if is_plain or not can_cost(evidence, side):
        return lifted.with_columns((nw.col(SHARE) * nw.col(COST_RATES[side])).fill_null(0.0).alias(COST))
    joined = lifted.join(cost_clusters(evidence, side).select(side, COST), on=side, how="inner")
    return joined.with_columns(nw.col(COST).fill_null(0.0))
