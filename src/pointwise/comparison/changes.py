"""Changes: what happened to every ideal cluster between two clusterings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import narwhals.stable.v2 as nw

from pointwise.columns import (
    ACTUAL,
    BASELINE,
    CHANGE,
    DELTA,
    EXPERIMENT,
    IDEAL,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    MOVED,
    PIECES,
    WEIGHT,
    Column,
    Kind,
    keys,
    name_part,
)
from pointwise.comparison.deltas import VariantPair, pair_clusters
from pointwise.core.crosstab import has_no_cluster
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import METRICS, Metric

JUDGE = "jaccard_distance"  # decides what is better
_NOTHING = 1e-12  # below this, a delta is only rounding
_BEFORE, _AFTER = name_part(ACTUAL, BASELINE), name_part(ACTUAL, EXPERIMENT)
_PIECES = {_BEFORE: name_part(PIECES, BASELINE), _AFTER: name_part(PIECES, EXPERIMENT)}


def find_changes(variants: Mapping[str, Evidence], pair: VariantPair, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Classify every ideal cluster by what the experiment changed.

    A cluster lies in as many *pieces* as there are actual clusters that hold its items; items that only one of the two
    has do not count. With more pieces than before it was split further, with fewer merged together. With equally many
    it is better or worse by its Jaccard distance, which foreign items that come or go also change; or some of its items
    moved without effect.

    Returns:
        Ideal clusters with `change`, their pieces before and after, how many of their items moved, and the
        deltas of the metrics and of the Jaccard distance. A cluster that only one of the two has is in no pieces.
    """
    judged = judged_metrics(metrics)
    items = variants[pair.baseline].engine.checkpoint(pair_members(variants, pair))
    rows = pair_clusters(variants, pair, judged)
    if variants[pair.baseline].sample.has_spurious:
        rows = rows.filter(~has_no_cluster(IDEAL))
    counts = [(MOVED, find_moved_items(items)), *((name, _pieces(items, side)) for side, name in _PIECES.items())]
    for name, parts in counts:
        found = parts.group_by(IDEAL).agg(nw.len().alias(name))
        rows = rows.join(found, on=IDEAL, how="left")
    numbers = [
        nw.when(nw.col(name).is_null()).then(nw.lit(0)).otherwise(nw.col(name)).cast(nw.Int64).alias(name)
        for name, _ in counts
    ]
    rows = rows.with_columns(*numbers).with_columns(_change().alias(CHANGE))
    return rows.select(*(column.name for column in change_columns(metrics)))


def change_columns(metrics: Sequence[Metric]) -> list[Column]:
    """Describe the columns of `find_changes`; a drawing shows the change of the Jaccard distance only."""
    pieces = [Column(name, Kind.COUNT) for name in _PIECES.values()]
    deltas = [Column(name_part(m.name, DELTA), Kind.DELTA, is_drawn=m.name == JUDGE) for m in judged_metrics(metrics)]
    sizes = [replace(size, is_drawn=size.name != WEIGHT) for size in ITEM_SIZES]
    return [*keys(IDEAL), Column(CHANGE), *sizes, *pieces, Column(MOVED, Kind.COUNT), *deltas]


def judged_metrics(metrics: Sequence[Metric]) -> Sequence[Metric]:
    """Add the metric that decides what is better, if it is not there."""
    return metrics if any(m.name == JUDGE for m in metrics) else (*metrics, METRICS[JUDGE])


def _pieces(items: nw.LazyFrame, side: str) -> nw.LazyFrame:
    return items.group_by(IDEAL, side).agg(nw.len().alias(ITEMS))


def _change() -> nw.Expr:
    before, after = (nw.col(name) for name in _PIECES.values())
    in_baseline, in_experiment = (~nw.col(name_part(JUDGE, side)).is_null() for side in (BASELINE, EXPERIMENT))
    delta = nw.col(name_part(JUDGE, DELTA))
    kinds = (
        (nw.col(MOVED) > 0, "items moved"),
        (delta > _NOTHING, "worse"),
        (delta < -_NOTHING, "better"),
        (after < before, "merged together"),
        (after > before, "split further"),
        (~in_experiment, "only in the baseline"),
        (~in_baseline, "only in the experiment"),
    )
    change: nw.Expr = nw.lit("unchanged")
    for condition, name in kinds:
        change = nw.when(condition).then(nw.lit(name)).otherwise(change)
    return change


def pair_members(variants: Mapping[str, Evidence], pair: VariantPair) -> nw.LazyFrame:
    """List the items that two variants share, with their actual clusters before and after."""
    before = variants[pair.baseline].weighed_items().select(ITEM, IDEAL, WEIGHT, nw.col(ACTUAL).alias(_BEFORE))
    after = variants[pair.experiment].items.select(ITEM, nw.col(ACTUAL).alias(_AFTER))
    return before.join(after, on=ITEM, how="inner")


def find_moved_items(items: nw.LazyFrame) -> nw.LazyFrame:
    """List the items that left their actual cluster.

    Cluster ids of two clusterings are unrelated. A cluster before and one after are taken for the same if each shares
    more weight with the other than with any third; items outside of such pairs moved.

    Args:
        items: What `pair_members` gives.
    """
    shared = items.group_by(_BEFORE, _AFTER).agg(nw.col(WEIGHT).sum())
    heirs, origins = _best_partner(shared, _BEFORE, _AFTER), _best_partner(shared, _AFTER, _BEFORE)
    same = heirs.join(origins, on=[_BEFORE, _AFTER], how="inner")
    return items.join(same, on=[_BEFORE, _AFTER], how="anti")


MOVED_COLUMNS = (*keys(ITEM, IDEAL), ITEM_SIZES[1], Column(_BEFORE), Column(_AFTER))
"""The columns of `find_moved_items`."""


def _best_partner(shared: nw.LazyFrame, one: str, other: str) -> nw.LazyFrame:
    """Find the cluster that shares most weight with each; of equal ones, that with the least id."""
    most = shared.group_by(one).agg(nw.col(WEIGHT).max().alias("_most"))
    best = shared.join(most, on=one, how="inner").filter(nw.col(WEIGHT) == nw.col("_most"))
    return best.group_by(one).agg(nw.col(other).min())
