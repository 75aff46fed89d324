"""Excerpts: the part of an evaluation that fits on a page, whatever its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.levels import tabulate_clusters
from pointwise.answers.tables import MetricTable, metric_columns
from pointwise.columns import COST, ITEM_SIZES, ITEMS, WEIGHT, Column, Kind, keys
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric, find_metrics

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation


BINS = 20


def costly_clusters(evaluation: Evaluation, side: str, metrics: Sequence[str]) -> MetricTable:
    """List the ideal or actual clusters with some metrics, the costliest first."""
    chosen = evaluation.evidence.fit(find_metrics(metrics))
    table = tabulate_clusters(evaluation.evidence, side, chosen)
    values = (column for m in chosen for column in metric_columns(m))
    described = (*keys(side), Column(COST, Kind.METRIC), *ITEM_SIZES, *values)
    order = ((COST, True), (WEIGHT, True), (side, False))
    return hold(replace(table, described=described, order=order))


def hold(table: MetricTable) -> MetricTable:
    """Compute a table once, to count it and look at it several times."""
    return replace(table, frame=table.engine.checkpoint(table.frame))


def bin_weights(evidence: Evidence, metric: Metric) -> list[dict[str, Any]]:
    """Sum the weight of the items whose metric lies in each of equal bins; the best value is a bin by itself.

    Returns:
        Rows with `low` and `high`, the borders of the bin, `items` and `weight`. The bin of the greatest value
        has equal borders.
    """
    low, high = metric.range
    step = (high - low) / BINS
    start: nw.Expr = nw.lit(low)
    for number in range(1, BINS):
        least = low + number * step
        start = nw.when(nw.col(metric.name) >= least).then(nw.lit(least)).otherwise(start)
    start = nw.when(nw.col(metric.name) >= high).then(nw.lit(high)).otherwise(start)
    cells = evidence.measured((metric,)).filter(~nw.col(metric.name).is_null())
    summed = cells.with_columns(start.alias("low")).group_by("low").agg(nw.col(ITEMS).sum(), nw.col(WEIGHT).sum())
    rows = evidence.engine.collect(summed.sort("low")).to_pylist()
    return [row | {"high": min(high, row["low"] + step), ITEMS: int(row[ITEMS])} for row in rows]
