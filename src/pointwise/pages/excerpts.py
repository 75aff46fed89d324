"""Excerpts: the part of an evaluation that fits on a page, whatever its size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.levels import tabulate_clusters
from pointwise.answers.tables import MetricTable, metric_columns
from pointwise.columns import (
    ACTUAL,
    IDEAL,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    SHARE,
    TP,
    WEIGHT,
    Column,
    Kind,
    given_name,
    inside,
    keys,
)
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric, find_metrics

if TYPE_CHECKING:
    from pointwise.evaluation import Evaluation


COST = "cost"
"""What a cluster adds to the over-merge or under-merge rate: its share of the weight times its own rate."""

COST_RATES = {IDEAL: "under_merge_rate", ACTUAL: "over_merge_rate"}
"""An ideal cluster is torn apart, an actual cluster is mixed."""

BINS = 20


def costly_clusters(evaluation: Evaluation, side: str, metrics: Sequence[str]) -> MetricTable:
    """List the ideal or actual clusters with some metrics, those that cost most first."""
    rate = COST_RATES[side]
    table = tabulate_clusters(evaluation.evidence, side, find_metrics((*metrics, rate)))
    frame = table.frame.with_columns((nw.col(SHARE) * nw.col(rate)).alias(COST))
    values = (column for m in find_metrics(metrics) for column in metric_columns(m))
    described = (*keys(side), Column(COST, Kind.METRIC), *ITEM_SIZES, *values)
    order = ((COST, True), (WEIGHT, True), (side, False))
    return hold(replace(table, frame=frame, described=described, order=order))


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


@dataclass(frozen=True)
class Cell:
    """A cell of a cluster, with a few of its items."""

    other: Any  # the cluster on the other side
    values: dict[str, Any]
    examples: list[dict[str, Any]]  # items with their attributes


@dataclass(frozen=True)
class Breakdown:
    """The heaviest cells of a cluster, and how many cells it has."""

    cells: list[Cell]
    number: int


def break_down(
    evaluation: Evaluation, side: str, clusters: Sequence[Any], *, cells: int, attributes: Sequence[str]
) -> dict[Any, Breakdown]:
    """Break clusters into their heaviest cells, with the first and the last item of each as examples.

    Args:
        evaluation: Where the clusters are.
        side: Which side they are on.
        clusters: Their ids, not many.
        cells: How many cells of each to show.
        attributes: Columns to show of an example item.

    Returns:
        The cells by cluster. A cluster without common items is not in it.
    """
    evidence = evaluation.evidence
    other = ACTUAL if side == IDEAL else IDEAL
    chosen = evidence.engine.checkpoint(evidence.cells.filter(nw.col(side).is_in(list(clusters))))
    sums = chosen.group_by(side).agg(nw.len().alias(_CELLS), nw.col(TP).sum().alias(WEIGHT))
    totals = {row[side]: row for row in evidence.engine.collect(sums).to_pylist()}
    rows = {c: _heaviest(evidence, chosen.filter(nw.col(side) == c), cells) for c in _crowded(totals)}
    rest = chosen.filter(~nw.col(side).is_in(list(rows))) if rows else chosen
    for row in _heaviest(evidence, rest):
        rows.setdefault(row[side], []).append(row)
    rows = {c: [r | {SHARE: r[TP] / totals[c][WEIGHT], WEIGHT: r[TP]} for r in rows[c][:cells]] for c in totals}
    examples = _examples(evidence, side, rows, attributes=attributes)
    return {
        cluster: Breakdown(
            [Cell(row[other], row, examples.get((cluster, row[other]), [])) for row in rows[cluster]],
            int(totals[cluster][_CELLS]),
        )
        for cluster in totals
    }


_CELLS = "cells"
_MANY_CELLS = 1_000


def _crowded(totals: dict[Any, dict[str, Any]]) -> list[Any]:
    """Find the clusters with so many cells that fetching all of them would not be bounded."""
    return [cluster for cluster, row in totals.items() if row[_CELLS] > _MANY_CELLS]


def _heaviest(evidence: Evidence, cells: nw.LazyFrame, most: int | None = None) -> list[dict[str, Any]]:
    """Fetch cells, the heaviest first."""
    ordered = cells.select(IDEAL, ACTUAL, ITEMS, TP).sort(TP, IDEAL, ACTUAL, descending=[True, False, False])
    fetched = ordered if most is None else ordered.head(most)
    rows: list[dict[str, Any]] = evidence.engine.collect(fetched).to_pylist()
    return rows


def _examples(
    evidence: Evidence, side: str, rows: dict[Any, list[dict[str, Any]]], *, attributes: Sequence[str]
) -> dict[tuple[Any, Any], list[dict[str, Any]]]:
    if not rows:
        return {}
    other = ACTUAL if side == IDEAL else IDEAL
    others = list({row[other] for cells in rows.values() for row in cells})
    members = evidence.items.filter(nw.col(side).is_in(list(rows)) & nw.col(other).is_in(others))
    ends = members.group_by(side, other).agg(nw.col(ITEM).min().alias("first"), nw.col(ITEM).max().alias("last"))
    shown = {(cluster, row[other]) for cluster, cells in rows.items() for row in cells}
    found = {
        (r[side], r[other]): list(dict.fromkeys((r["first"], r["last"])))
        for r in evidence.engine.collect(ends).to_pylist()
        if (r[side], r[other]) in shown
    }
    known = _described(evidence, [item for items in found.values() for item in items], attributes)
    return {cell: [known[item] for item in items] for cell, items in found.items()}


def _described(evidence: Evidence, items: Sequence[Any], attributes: Sequence[str]) -> dict[Any, dict[str, Any]]:
    """Look up weights and attributes of a few items."""
    few = evidence.engine.checkpoint(evidence.items.filter(nw.col(ITEM).is_in(list(items))))
    frame = replace(evidence, found=few).items_with(attributes).select(ITEM, WEIGHT, *map(inside, attributes))
    rows = evidence.engine.collect(frame).to_pylist()
    return {row[ITEM]: {given_name(column): value for column, value in row.items()} for row in rows}
