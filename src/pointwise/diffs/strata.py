"""Strata: the kinds of pairs of items that a change of precision consists of, and how much each weighs.

Every number that can be estimated from judgements is a sum of a_ij over the unordered pairs of items that belong
together. With b and e the weights of an item's baseline cluster and of its experiment cluster, and W that of all items:

    split    2 w(i) w(j) / (W b)             same baseline cluster, different experiment clusters
    merge    2 w(i) w(j) / (W e)             the other way round
    stable+  2 w(i) w(j) / W (1/e - 1/b)     in both clusters together, which became smaller: e < b
    stable-  2 w(i) w(j) / W (1/b - 1/e)     in both clusters together, which became larger: e > b

A pair of a stratum is drawn in proportion to its a_ij, so that the share of yes among the draws, times the stratum's
mass, is the sum. An item always belongs with itself; what this adds to the change of precision is the offset.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL_WEIGHT, FN, FP, IDEAL_WEIGHT, ITEMS, SQUARES, TP, WEIGHT

SPLIT, MERGE, PLUS, MINUS = "split", "merge", "stable+", "stable-"
STRATA = (SPLIT, MERGE, PLUS, MINUS)

_GAIN = "_gain"  # 1/e - 1/b


@dataclass(frozen=True)
class Masses:
    """What is known about a set of items before anybody judges: averages over its items, weighted.

    Args:
        items: Number of items.
        weight: Their weight.
        split: Mass of the stratum of that name, which is the split rate.
        merge: The same, which is the merge rate.
        plus: Mass of the pairs that stay together in a cluster that became smaller.
        minus: Mass of the pairs that stay together in a cluster that became larger.
        offset: What items themselves add to the change of precision.
        split_distance: The share of what either cluster holds that was split off.
        merge_distance: The share of what either cluster holds that was merged in.
        split_weight: The weight that was split off.
        merge_weight: The weight that was merged in.
        affected: The share of the weight of items whose cluster changed.
    """

    items: int
    weight: float
    split: float
    merge: float
    plus: float
    minus: float
    offset: float
    split_distance: float
    merge_distance: float
    split_weight: float
    merge_weight: float
    affected: float

    def of(self, stratum: str) -> float:
        """Return the mass of a stratum."""
        return float(getattr(self, _FIELDS[stratum]))

    @property
    def total(self) -> float:
        """The mass of all strata: by how much answers to everything could move the change of precision."""
        return self.split + self.merge + self.plus + self.minus

    @property
    def jaccard_distance(self) -> float:
        """The share of what either cluster holds that was split off or merged in."""
        return self.split_distance + self.merge_distance


_FIELDS = {SPLIT: "split", MERGE: "merge", PLUS: "plus", MINUS: "minus"}
SUMS = tuple(field.name for field in fields(Masses) if field.name not in ("items", "weight"))


def weigh_pairs(cells: nw.LazyFrame) -> nw.LazyFrame:
    """Add to cells, or to the parts of cells that lie in a slice, their sums for the masses.

    Args:
        cells: Cells with their confusion matrices, and with `items`, `weight` and `squared_weight` of the items meant.

    Returns:
        The rows with one column per name in `SUMS`. Divided by the weight of all items meant, their sums are the
        masses.
    """
    union = nw.col(IDEAL_WEIGHT) + nw.col(FP)
    gained = cells.with_columns((1 / nw.col(ACTUAL_WEIGHT) - 1 / nw.col(IDEAL_WEIGHT)).alias(_GAIN))
    stable, zero = (nw.col(WEIGHT) * nw.col(TP) - nw.col(SQUARES)) * nw.col(_GAIN), nw.lit(0.0)
    return gained.with_columns(
        (nw.col(WEIGHT) * nw.col(FN) / nw.col(IDEAL_WEIGHT)).alias("split"),
        (nw.col(WEIGHT) * nw.col(FP) / nw.col(ACTUAL_WEIGHT)).alias("merge"),
        nw.when(nw.col(_GAIN) > 0).then(stable).otherwise(zero).alias("plus"),
        nw.when(nw.col(_GAIN) < 0).then(-stable).otherwise(zero).alias("minus"),
        (nw.col(SQUARES) * nw.col(_GAIN)).alias("offset"),
        (nw.col(WEIGHT) * nw.col(FN) / union).alias("split_distance"),
        (nw.col(WEIGHT) * nw.col(FP) / union).alias("merge_distance"),
        (nw.col(WEIGHT) * nw.col(FN)).alias("split_weight"),
        (nw.col(WEIGHT) * nw.col(FP)).alias("merge_weight"),
        nw.when((nw.col(FN) > 0) | (nw.col(FP) > 0)).then(nw.col(WEIGHT)).otherwise(zero).alias("affected"),
    )


def mass_column(stratum: str) -> str:
    """Name the column of `weigh_pairs` that holds the mass of a stratum."""
    return _FIELDS[stratum]


def read_masses(row: Mapping[str, Any]) -> Masses:
    """Turn sums over some rows of `weigh_pairs` into averages."""
    weight = float(row[WEIGHT])
    return Masses(int(row[ITEMS]), weight, **{name: float(row[name]) / weight for name in SUMS})
