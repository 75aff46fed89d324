"""Lineage: what became of every baseline cluster.

A baseline cluster *continues* as an experiment cluster if each holds the heaviest part of the other; of equally heavy
parts, the one whose cluster has the least id. What continues is unchanged, grown, shrunk or reshaped (it lost and
gained). What does not was merged into another one whole, or split into pieces that belong to others. Where items that
one side lacks take part, all items of a cluster may also be gone. Experiment clusters that continue nothing are new.
"""

from __future__ import annotations

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, ACTUAL_ITEMS, IDEAL, IDEAL_ITEMS, IDEAL_WEIGHT, ITEMS, TP, WEIGHT
from pointwise.core.evidence import Evidence
from pointwise.inputs.unassigned import MISSING_ITEM

FATE, HEIR, PIECES, KEPT, CLUSTERS = "fate", "continues_as", "pieces", "kept_weight", "clusters"
FATES = ("unchanged", "grown", "shrunk", "reshaped", "merged", "split", "gone", "new")

_HEAVIEST, _LEADER, _ORIGIN, _CONTINUES = "_heaviest", "_leader", "_origin", "_continues"


def trace_clusters(evidence: Evidence, *, is_padded: bool) -> nw.LazyFrame:
    """Find what became of every baseline cluster.

    Args:
        evidence: Items and cells.
        is_padded: Whether items that one side lacks are alone there, in clusters made up for them.

    Returns:
        Columns of the baseline cluster (`ideal_cluster`), `fate`, the experiment cluster that continues it (missing if
        none does), `items`, `weight`, the number of pieces that it lies in, and the weight of its heaviest piece.
    """
    cells = _real(evidence.cells, IDEAL) if is_padded else evidence.cells
    present = _real(cells, ACTUAL) if is_padded else cells
    forward, back = _leaders(present, IDEAL, ACTUAL), _leaders(present, ACTUAL, IDEAL)
    best = forward.join(back.rename({_LEADER: _ORIGIN, ACTUAL: _LEADER}), on=_LEADER, how="inner")
    best = best.select(IDEAL, nw.col(_LEADER).alias(ACTUAL), (nw.col(_ORIGIN) == nw.col(IDEAL)).alias(_CONTINUES))
    main = present.select(IDEAL, ACTUAL, ITEMS, TP, IDEAL_ITEMS, ACTUAL_ITEMS, IDEAL_WEIGHT)
    rows = main.join(best, on=[IDEAL, ACTUAL], how="inner").join(_count_pieces(cells), on=IDEAL, how="inner")
    heir = nw.when(nw.col(_CONTINUES)).then(nw.col(ACTUAL)).alias(HEIR)
    found = rows.select(IDEAL, _fate().alias(FATE), heir, *_sizes(), PIECES, nw.col(TP).alias(KEPT))
    if not is_padded:
        return found
    gone = cells.join(present.group_by(IDEAL).agg(nw.len().alias(PIECES)).select(IDEAL), on=IDEAL, how="anti")
    gone = gone.group_by(IDEAL).agg(nw.col(IDEAL_ITEMS).max(), nw.col(IDEAL_WEIGHT).max())
    gone = gone.join(_count_pieces(cells), on=IDEAL, how="inner")
    nobody = nw.lit(None).cast(found.collect_schema()[HEIR]).alias(HEIR)
    return nw.concat(
        [found, gone.select(IDEAL, nw.lit("gone").alias(FATE), nobody, *_sizes(), PIECES, nw.lit(0.0).alias(KEPT))]
    )


def _real(cells: nw.LazyFrame, side: str) -> nw.LazyFrame:
    """Leave out clusters that were made up for items that a clustering lacks."""
    return cells.filter(~nw.col(side).str.starts_with(MISSING_ITEM))


def _leaders(cells: nw.LazyFrame, side: str, other: str) -> nw.LazyFrame:
    """Find the heaviest cell of every cluster of one side."""
    heaviest = cells.group_by(side).agg(nw.col(TP).max().alias(_HEAVIEST))
    joined = cells.select(side, other, TP).join(heaviest, on=side, how="inner")
    return joined.filter(nw.col(TP) == nw.col(_HEAVIEST)).group_by(side).agg(nw.col(other).min().alias(_LEADER))


def _count_pieces(cells: nw.LazyFrame) -> nw.LazyFrame:
    return cells.group_by(IDEAL).agg(nw.len().alias(PIECES)).with_columns(nw.col(PIECES).cast(nw.Int64))


def _sizes() -> tuple[nw.Expr, nw.Expr]:
    return nw.col(IDEAL_ITEMS).cast(nw.Int64).alias(ITEMS), nw.col(IDEAL_WEIGHT).alias(WEIGHT)


def _fate() -> nw.Expr:
    """Compare a cluster with its heaviest piece, by counts, which are exact."""
    lost, gained = nw.col(IDEAL_ITEMS) > nw.col(ITEMS), nw.col(ACTUAL_ITEMS) > nw.col(ITEMS)
    kept = nw.when(gained).then(nw.lit("grown")).otherwise(nw.lit("unchanged"))
    cut = nw.when(gained).then(nw.lit("reshaped")).otherwise(nw.lit("shrunk"))
    continued = nw.when(lost).then(cut).otherwise(kept)
    ended = nw.when(lost).then(nw.lit("split")).otherwise(nw.lit("merged"))
    return nw.when(nw.col(_CONTINUES)).then(continued).otherwise(ended)


def summarise_fates(evidence: Evidence, *, is_padded: bool) -> nw.LazyFrame:
    """Count clusters, items and weight by fate: of new clusters in the experiment, of all others in the baseline.

    Returns:
        Columns `fate`, `clusters`, `items` and `weight`.
    """
    fates = trace_clusters(evidence, is_padded=is_padded)
    heirs = fates.filter(~nw.col(HEIR).is_null()).select(nw.col(HEIR).alias(ACTUAL))
    cells = _real(evidence.cells, ACTUAL) if is_padded else evidence.cells
    sizes = cells.group_by(ACTUAL).agg(nw.col(ITEMS).sum(), nw.col(TP).sum().alias(WEIGHT))
    new = sizes.join(heirs, on=ACTUAL, how="anti").select(
        nw.lit("new").alias(FATE), nw.col(ITEMS).cast(nw.Int64), WEIGHT
    )
    rows = nw.concat([fates.select(FATE, ITEMS, WEIGHT), new])
    summed = rows.group_by(FATE).agg(nw.len().alias(CLUSTERS), nw.col(ITEMS).sum(), nw.col(WEIGHT).sum())
    return summed.with_columns(nw.col(CLUSTERS).cast(nw.Int64), nw.col(ITEMS).cast(nw.Int64))
