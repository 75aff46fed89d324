"""Changes: what happened to every ideal cluster between two clusterings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, IDEAL, ITEM, ITEMS, SHARE, WEIGHT
from pointwise.comparison.deltas import BASELINE, DELTA, EXPERIMENT, Pair, pair_clusters
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import METRICS, Metric

CHANGE = "change"
MOVED = "moved_items"
PIECES = "pieces"

JUDGE = "jaccard_distance"  # decides what is better
_NOTHING = 1e-12  # what rounding leaves of a delta of zero
_BEFORE, _AFTER = f"{ACTUAL}_{BASELINE}", f"{ACTUAL}_{EXPERIMENT}"


def find_changes(variants: Mapping[str, Evidence], pair: Pair, metrics: Sequence[Metric]) -> nw.LazyFrame:
    """Say of every ideal cluster what the experiment changed.

    A cluster lies in as many *pieces* as there are actual clusters that hold its items. With more pieces than
    before it was split further, with fewer merged together. With as many it is better or worse by its Jaccard
    distance, which foreign items that come or go change as well; or some of its items moved to no effect.

    Returns:
        Ideal clusters with `change`, their pieces before and after, how many of their items moved, and the
        deltas of the metrics and of the Jaccard distance.
    """
    judged = metrics if any(m.name == JUDGE for m in metrics) else (*metrics, METRICS[JUDGE])
    clusters = pair_clusters(variants, pair, judged)
    for side, name in ((BASELINE, pair.baseline), (EXPERIMENT, pair.experiment)):
        pieces = variants[name].cells.group_by(IDEAL).agg(nw.len().alias(f"{PIECES}_{side}"))
        clusters = clusters.join(pieces, on=IDEAL, how="inner")
    moved = find_moved_items(variants, pair).group_by(IDEAL).agg(nw.len().alias(MOVED))
    rows = clusters.join(moved, on=IDEAL, how="left")
    counts = [nw.col(f"{PIECES}_{side}").cast(nw.Int64) for side in (BASELINE, EXPERIMENT)]
    number = nw.when(nw.col(MOVED).is_null()).then(nw.lit(0)).otherwise(nw.col(MOVED)).cast(nw.Int64)
    rows = rows.with_columns(*counts, number.alias(MOVED)).with_columns(_change().alias(CHANGE))
    pieces_columns = [f"{PIECES}_{side}" for side in (BASELINE, EXPERIMENT)]
    deltas = [f"{m.name}_{DELTA}" for m in judged]
    return rows.select(IDEAL, CHANGE, ITEMS, WEIGHT, SHARE, *pieces_columns, MOVED, *deltas)


def _change() -> nw.Expr:
    before, after = nw.col(f"{PIECES}_{BASELINE}"), nw.col(f"{PIECES}_{EXPERIMENT}")
    delta = nw.col(f"{JUDGE}_{DELTA}")
    kinds = (
        (nw.col(MOVED) > 0, "items moved"),
        (delta > _NOTHING, "worse"),
        (delta < -_NOTHING, "better"),
        (after < before, "merged together"),
        (after > before, "split further"),
    )
    change: nw.Expr = nw.lit("unchanged")
    for condition, name in kinds:
        change = nw.when(condition).then(nw.lit(name)).otherwise(change)
    return change


def find_moved_items(variants: Mapping[str, Evidence], pair: Pair) -> nw.LazyFrame:
    """List the items that left their actual cluster.

    Cluster ids of two clusterings mean nothing to each other. A cluster before and one after are taken for the
    same if each shares more weight with the other than with any third; items outside of such pairs moved.
    """
    before = variants[pair.baseline].weighed_items().select(ITEM, IDEAL, WEIGHT, nw.col(ACTUAL).alias(_BEFORE))
    after = variants[pair.experiment].items.select(ITEM, nw.col(ACTUAL).alias(_AFTER))
    items = before.join(after, on=ITEM, how="inner")
    shared = items.group_by(_BEFORE, _AFTER).agg(nw.col(WEIGHT).sum())
    heirs, origins = _best_partner(shared, _BEFORE, _AFTER), _best_partner(shared, _AFTER, _BEFORE)
    same = heirs.join(origins, on=[_BEFORE, _AFTER], how="inner")
    return items.join(same, on=[_BEFORE, _AFTER], how="anti")


def _best_partner(shared: nw.LazyFrame, one: str, other: str) -> nw.LazyFrame:
    """Find the cluster that shares most weight with each; of equal ones, that with the least id."""
    most = shared.group_by(one).agg(nw.col(WEIGHT).max().alias("_most"))
    best = shared.join(most, on=one, how="inner").filter(nw.col(WEIGHT) == nw.col("_most"))
    return best.group_by(one).agg(nw.col(other).min())
