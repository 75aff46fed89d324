"""Estimates: metrics of pairs and of B-cubed for all items that a sampled truth stands for, with standard errors.

All of them are ratios of sums over ideal clusters, like the pointwise metrics, so they can be estimated from a sample
of clusters. A wrong pair within an actual cluster belongs to two ideal clusters, and counts half in each. Entropies,
purities and best matches are not such ratios and are not estimated for a sampled truth.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import (
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    HIGH,
    IDEAL,
    IDEAL_ITEMS,
    ITEMS,
    LOW,
    SQUARES,
    TP,
    WEIGHT,
)
from pointwise.core.confusion import is_empty
from pointwise.core.evidence import Evidence
from pointwise.core.lifting import defined_weight, sum_columns
from pointwise.core.metrics import METRICS, Metric
from pointwise.core.sample import EXPANSION
from pointwise.engines.queries import only_row
from pointwise.inputs.options import Pairs
from pointwise.related.families import RELATED, check_copies, check_products
from pointwise.related.sums import count_pairs
from pointwise.uncertainty.ends import VARIANCE
from pointwise.uncertainty.intervals import INFLUENCE, lift_collected, vary, vary_sums

STANDARD_ERROR = "standard_error"


@dataclass(frozen=True)
class RelatedEstimate:
    """A value for all items, with its interval and its standard error; None where it is undefined or unknown."""

    value: float | None
    low: float | None
    high: float | None
    standard_error: float | None


_TOGETHER, _WRONG, _IDEAL_PAIRS = "_together", "_wrong", "_ideal_pairs"
_PRECISION, _RECALL = "_bcubed_precision", "_bcubed_recall"
_PRESENT = "_present"  # weight of the items that are in an actual cluster

_ROWS = {  # the pointwise metric with the same formula, and numerator and denominator in an ideal cluster
    "pair_precision": ("precision", _TOGETHER, nw.col(_TOGETHER) + nw.col(_WRONG)),
    "pair_recall": ("recall", _TOGETHER, nw.col(_IDEAL_PAIRS)),
    "pair_f1": ("f1", _TOGETHER, (nw.col(_TOGETHER) + nw.col(_WRONG) + nw.col(_IDEAL_PAIRS)) * 0.5),
    "pair_jaccard": ("jaccard_index", _TOGETHER, nw.col(_WRONG) + nw.col(_IDEAL_PAIRS)),
    "bcubed_precision": ("precision", _PRECISION, nw.col(_PRESENT)),
    "bcubed_recall": ("recall", _RECALL, nw.col(WEIGHT)),
}


def estimate_related(evidence: Evidence, *, pairs: Pairs, confidence: float) -> dict[str, RelatedEstimate]:
    """Estimate metrics of other families for all items that a sampled truth stands for.

    Metrics that contain false positives are left out where these are invisible.

    Args:
        evidence: The items and their cells, with how the truth was drawn.
        pairs: What a pair of items counts.
        confidence: How often the intervals should contain the true value.

    Returns:
        The estimate of every metric. The standard error is that of the linearised ratio
        (the delta method), and the interval that of all other values, which holds more often.
    """
    sample, engine, metrics = evidence.sample, evidence.engine, _metrics(evidence, pairs)
    sums = engine.checkpoint(_sum_clusters(evidence, pairs, metrics))
    varied = engine.collect(vary_sums(sums, (), metrics, sample=sample, plan=engine.plan))
    lifted = lift_collected(varied, (), metrics=metrics, total_weight=1.0, sample=sample, confidence=confidence)
    (row,) = lifted.to_pylist()
    errors = _standard_errors(sums, metrics, row, evidence)
    return {
        m.name: RelatedEstimate(row[m.name], row[m.name + LOW], row[m.name + HIGH], error)
        for m, error in zip(metrics, errors, strict=True)
    }


def _metrics(evidence: Evidence, pairs: Pairs) -> list[Metric]:
    """List what can be estimated, as metrics that are averages over what their denominators count."""
    found = []
    for name, (like, _, _) in _ROWS.items():
        own = name if pairs == "counts" or not name.startswith("pair_") else f"{pairs}_{name}"
        metric = replace(METRICS[like], name=own, summary=RELATED[own].summary, is_total=False)
        if evidence.sample.sees_outside or not metric.sees_false_positives:
            found.append(metric)
    return found


def _sum_clusters(evidence: Evidence, pairs: Pairs, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Sum numerators and denominators over the cells of every ideal cluster, expanded to the population."""
    items, tp, squares = nw.col(ITEMS).cast(nw.Float64), nw.col(TP), nw.col(SQUARES)
    known = evidence.cells.with_columns(nw.col(WEIGHT).alias(_PRESENT))
    if evidence.has_empty:  # pairs do not include these
        none = [nw.when(is_empty()).then(nw.lit(0)).otherwise(nw.col(n)).alias(n) for n in (ITEMS, SQUARES, _PRESENT)]
        known = known.with_columns(*none)
    if pairs == "replication":
        lightest = known.filter(items > 0).select((nw.col(TP) / nw.col(ITEMS)).alias(TP)).select(nw.col(TP).min())
        check_copies(float(only_row(lightest, evidence.engine)[TP]))
    if pairs == "product":
        counted = count_pairs(items, tp, squares)
        parts = evidence.cells.select(*(counted[name].alias(name) for name in ("product", "reach")))
        sums = only_row(parts.select(nw.col("product", "reach").sum()), evidence.engine)
        check_products(float(sums["product"]), float(sums["reach"]))
    own, all_members = (items, nw.col(ACTUAL_ITEMS)) if pairs == "counts" else (tp, nw.col(ACTUAL_WEIGHT))
    precision = nw.when(nw.col(ACTUAL_ITEMS) > 0).then(items / nw.col(ACTUAL_ITEMS) * nw.col(WEIGHT))
    cells = known.with_columns(
        count_pairs(items, tp, squares)[pairs].alias(_TOGETHER),
        (own * (all_members - own) * 0.5).alias(_WRONG),
        precision.otherwise(nw.lit(0.0)).alias(_PRECISION),
        (items / nw.col(IDEAL_ITEMS) * nw.col(WEIGHT)).alias(_RECALL),
    )
    summed = (ITEMS, WEIGHT, _PRESENT, TP, SQUARES, _TOGETHER, _WRONG, _PRECISION, _RECALL)
    clusters = cells.group_by(IDEAL).agg(*(nw.col(name).sum() for name in summed))
    clusters = clusters.with_columns(count_pairs(items, tp, squares)[pairs].alias(_IDEAL_PAIRS))
    return _expand(clusters, evidence, metrics)


def _expand(clusters: nw.LazyFrame, evidence: Evidence, metrics: Sequence[Metric]) -> nw.LazyFrame:
    design = evidence.sample.clusters
    if design is None:
        clusters = clusters.with_columns(nw.lit(1.0).alias(EXPANSION))
    else:
        clusters = clusters.join(design.select(IDEAL, EXPANSION), on=IDEAL, how="inner")
    rows = [_ROWS[name] for name in _ROWS if any(m.name.endswith(name) for m in metrics)]
    columns = {m.name: nw.col(part) for m, (_, part, _) in zip(metrics, rows, strict=True)}
    columns |= {defined_weight(m): whole for m, (_, _, whole) in zip(metrics, rows, strict=True)}
    expanded = [(column * nw.col(EXPANSION)).alias(name) for name, column in columns.items()]
    expanded.append((nw.col(WEIGHT) * nw.col(EXPANSION)).alias(WEIGHT))
    return clusters.with_columns(*expanded).select(IDEAL, *sum_columns(metrics))


def _standard_errors(
    sums: nw.LazyFrame, metrics: Sequence[Metric], row: Mapping[str, Any], evidence: Evidence
) -> list[float | None]:
    """Linearise the ratios: a cluster with sums a and b moves the ratio M by (a - M b) / sum(b)."""
    engine, names = evidence.engine, [m.name for m in metrics]
    wholes = only_row(sums.select(*(nw.col(defined_weight(m)).sum() for m in metrics)), engine)
    influences = []
    for metric in metrics:
        value, whole = row[metric.name] or 0.0, wholes[defined_weight(metric)] or math.inf
        excess = nw.col(metric.name) - nw.col(defined_weight(metric)) * value
        influences.append((excess * (1 / whole)).alias(metric.name + INFLUENCE))
    varied = only_row(vary(sums.with_columns(*influences), (), names, sample=evidence.sample), engine)
    return [None if row[name] is None else math.sqrt(max(varied[name + VARIANCE], 0.0)) for name in names]
