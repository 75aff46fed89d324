"""Sums over cells: all that the metrics of other families need.

Cells are reduced to a handful of numbers, on any engine or in NumPy. Numbers of items become floating point
before they are multiplied: the number of pairs of 5 billion items does not fit 64 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, ACTUAL_ITEMS, ACTUAL_WEIGHT, IDEAL, IDEAL_ITEMS, IDEAL_WEIGHT, ITEMS, SQUARES, TP
from pointwise.core.arithmetic import COLUMNS
from pointwise.core.confusion import Confusion, Totals, confuse
from pointwise.core.metrics import METRICS
from pointwise.engines.base import Hold, apply
from pointwise.inputs.options import Pairs

Collect = Callable[[nw.LazyFrame], Any]
"""Runs a query and returns a `pyarrow.Table`."""


@dataclass(frozen=True)
class CellSums:
    """Sums over all cells.

    Args:
        clusters: Number of cells.
        counts: Pairs of distinct items in one cell.
        product: The same, each pair counting the product of its weights.
        replication: The same, with weights as numbers of copies.
        reach: Squared weight of cells with several items: what `product` is a difference of.
        bcubed_precision: Precision by counts, times weight.
        bcubed_recall: Recall by counts, times weight.
        element_similarity: Element-centric similarity, times weight.
        mixed: Weight times log(actual weight / weight): what the actual cluster leaves open of the ideal one.
        split: Weight times log(ideal weight / weight): what the ideal cluster leaves open of the actual one.
        information: Items times log(items / (items of the ideal cluster * items of the actual cluster)).
        exact: Number of cells that are a whole ideal and a whole actual cluster.
        expected: Squared weight over the weight of the actual cluster.
    """

    clusters: int
    counts: float
    product: float
    replication: float
    reach: float
    bcubed_precision: float
    bcubed_recall: float
    element_similarity: float
    mixed: float
    split: float
    information: float
    exact: float
    expected: float


@dataclass(frozen=True)
class SideSums:
    """Sums over the clusters of one side.

    Args:
        clusters: Number of clusters.
        counts: Pairs of distinct items in one cluster.
        product: The same, each pair counting the product of its weights.
        replication: The same, with weights as numbers of copies.
        reach: Squared weight of clusters with several items: what `product` is a difference of.
        entropy: Weight times log(total weight / weight).
        best_weight: Weight of the heaviest cell.
        best_f1: Best F1 of the cluster's cells, times its weight.
        mean_precision: Mean B-cubed precision of the cluster's items.
        mean_recall: Mean B-cubed recall of the cluster's items.
        squared: Squared weight.
        heaviest: Weight of the heaviest cluster.
        sizes: Cluster sizes, each with the number of clusters that have it.
    """

    clusters: int
    counts: float
    product: float
    replication: float
    reach: float
    entropy: float
    best_weight: float
    best_f1: float
    mean_precision: float
    mean_recall: float
    squared: float
    heaviest: float
    sizes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Lacking:
    """Items that one of the clusterings lacks and that averages over items count anyway.

    Args:
        spurious_weight: Weight of items with an empty ideal cluster, whose precision is 0.
        missing_weight: Weight of items with an empty actual cluster, whose recall is 0.
        missing_clusters: Number of ideal clusters that have no other items.
    """

    spurious_weight: float = 0.0
    missing_weight: float = 0.0
    missing_clusters: int = 0


@dataclass(frozen=True)
class Sums:
    """What all related metrics derive from.

    Args:
        items: Number of items.
        weight: Weight of the items.
        squares: Sum of the squared weights.
        lightest: Least mean weight of the items of a cell.
        cells: Sums over the cells.
        ideal: Sums over the ideal clusters.
        actual: Sums over the actual clusters.
        lacking: What is not in the cells.
    """

    items: float
    weight: float
    squares: float
    lightest: float
    cells: CellSums
    ideal: SideSums
    actual: SideSums
    lacking: Lacking = Lacking()

    def pair_confusion(self, pairs: Pairs) -> Confusion:
        """Return the 2x2 confusion matrix of pairs of distinct items.

        What is zero is decided by the numbers of cells and clusters, which are exact.
        """
        tp: float = getattr(self.cells, pairs)
        ideal, actual = (self._pairs_of(side, pairs, tp) for side in (self.ideal, self.actual))
        total = count_pairs(self.items, self.weight, self.squares)[pairs]
        tn = 0.0 if self.has_single_side else max(total - ideal - (actual - tp), 0.0)
        return Confusion(tp, ideal, actual, ideal + (actual - tp) + tn, tn)

    def _pairs_of(self, side: SideSums, pairs: Pairs, tp: float) -> float:
        """Count pairs in the clusters of a side; if it has as many clusters as cells, these are the same."""
        return tp if side.clusters == self.cells.clusters else max(getattr(side, pairs), tp)

    @property
    def has_single_side(self) -> bool:
        """Whether one of the clusterings is a single cluster, which tells nothing about the other."""
        return min(self.ideal.clusters, self.actual.clusters) == 1


SumsT = TypeVar("SumsT", CellSums, SideSums)


# The terms of the sums are written once, for columns of a table and for arrays.


def count_pairs(items: Any, weight: Any, squares: Any) -> dict[str, Any]:
    """Count pairs of distinct items among some items, in the three meanings, and bound the effect of rounding."""
    return {
        "counts": items * (items - 1) * 0.5,
        "product": (weight * weight - squares) * 0.5,
        "replication": weight * (weight - 1) * 0.5,
        "reach": weight * weight * ((items - 1) / items),  # nothing where an item is alone: there is no pair to miss
    }


def cell_terms(
    weights: Confusion, counts: Confusion, log: Callable[[Any], Any], *, judged: Confusion | None = None
) -> dict[str, Any]:
    """Return what each cell adds to the sums that depend on its margins.

    Args:
        weights: The matrices of the common items, by weight.
        counts: What items see, by number of items, under the policies.
        log: The logarithm for this kind of value.
        judged: What items see, by weight, under the policies; the same as `weights` where these change nothing.
    """
    return {
        "bcubed_precision": METRICS["precision"].formula(counts) * weights.tp,
        "bcubed_recall": METRICS["recall"].formula(counts) * weights.tp,
        "element_similarity": METRICS["element_similarity"].formula(judged or weights) * weights.tp,
        "mixed": log(weights.actual / weights.tp) * weights.tp,
        "split": log(weights.ideal / weights.tp) * weights.tp,
        "expected": weights.tp * weights.tp / weights.actual,
    }


def count_terms(
    items: Any, ideal: Any, actual: Any, *, log: Callable[[Any], Any], mark: Callable[[Any], Any]
) -> dict[str, Any]:
    """Return what each cell adds to the sums that go by numbers of common items.

    Args:
        items: Their number in the cell.
        ideal: Their number in its ideal cluster.
        actual: Their number in its actual cluster.
        log: The logarithm for this kind of value.
        mark: Turns true into 1 and false into 0.
    """
    is_exact = (items == ideal) & (items == actual)
    return {"information": log(items / (ideal * actual)) * items, "exact": mark(is_exact)}


def entropy_term(weight: Any, total: float, log: Callable[[Any], Any]) -> Any:
    """Return what a cluster of some weight adds to the entropy of its side."""
    return log(total / weight) * weight


_JUDGED = {name: f"judged_{name}" for name in (IDEAL_ITEMS, IDEAL_WEIGHT, ACTUAL_ITEMS, ACTUAL_WEIGHT)}
"""What the margins that items see under the policies are called beside those of the common items."""


def sum_cells(cells: nw.LazyFrame, collect: Collect, *, lacking: Lacking | None = None, hold: Hold = apply) -> Sums:
    """Reduce cells to sums, on any engine.

    Averages over items follow the policies, which show in the margins of clusters if `cells` have these, and in the
    items that one of the clusterings lacks. What several sums need, the margins and the clusters of each side, is held.
    """
    present = cells.collect_schema().names()
    judged = {name: own for name, own in _JUDGED.items() if name in present}
    cells = cells.rename(judged) if judged else cells
    cells = cells.with_columns(nw.col(ITEMS).cast(nw.Float64), (nw.col(TP) / nw.col(ITEMS)).alias("lightest"))
    least = nw.col("lightest").min()
    (totals,) = collect(cells.select(nw.col(ITEMS, TP, SQUARES).sum(), least)).to_pylist()
    confused = confuse(cells, Totals(totals[ITEMS], totals[TP]), hold=hold)
    weights = Confusion.of_columns()

    def seen(name: str) -> nw.Expr:
        return nw.col(judged.get(name, name)).cast(nw.Float64)

    counts = Confusion(nw.col(ITEMS), seen(IDEAL_ITEMS), seen(ACTUAL_ITEMS), weights.total, weights.tn, COLUMNS)
    margins = replace(weights, ideal=seen(IDEAL_WEIGHT), actual=seen(ACTUAL_WEIGHT)) if judged else weights
    terms = cell_terms(weights, counts, lambda x: x.log(), judged=margins)
    terms |= count_pairs(nw.col(ITEMS), nw.col(TP), nw.col(SQUARES))
    numbers = [nw.col(name).cast(nw.Float64) for name in (ITEMS, IDEAL_ITEMS, ACTUAL_ITEMS)]
    terms |= count_terms(*numbers, log=lambda x: x.log(), mark=lambda x: x.cast(nw.Float64))
    terms["f1"] = METRICS["f1"].formula(weights)
    measured = confused.with_columns(*_named(terms), seen(IDEAL_WEIGHT).alias(_WHOLE))
    return Sums(
        totals[ITEMS],
        totals[TP],
        totals[SQUARES],
        totals["lightest"],
        _sum_up(CellSums, measured, collect),
        _sum_side(measured, IDEAL, totals[TP], collect, hold),
        _sum_side(measured, ACTUAL, totals[TP], collect, hold),
        lacking or Lacking(),
    )


_WHOLE = "whole_weight"  # of an ideal cluster, with what the actual clustering lacks of it where that counts


def _sum_side(measured: nw.LazyFrame, side: str, total: float, collect: Collect, hold: Hold) -> SideSums:
    clusters = hold(_group, measured, side=side)
    items, weight = nw.col(ITEMS), nw.col(TP)
    terms = {
        "entropy": entropy_term(weight, total, lambda x: x.log()),
        "best_f1": nw.col("f1") * weight,
        "mean_precision": nw.col("bcubed_precision") / weight,
        "mean_recall": nw.col("bcubed_recall") / (nw.col(_WHOLE) if side == IDEAL else weight),
        "squared": weight * weight,
    }
    terms |= count_pairs(items, weight, nw.col(SQUARES))
    sizes = collect(clusters.group_by(ITEMS).agg(nw.len().alias("clusters")).sort(ITEMS)).to_pylist()
    (heaviest,) = collect(clusters.select(nw.col(TP).max())).to_pylist()
    measured_clusters = clusters.with_columns(*_named(terms))
    return _sum_up(
        SideSums,
        measured_clusters,
        collect,
        heaviest=heaviest[TP],
        sizes=tuple((int(row[ITEMS]), int(row["clusters"])) for row in sizes),
    )


def _group(measured: nw.LazyFrame, *, side: str) -> nw.LazyFrame:
    """Sum up the clusters of a side."""
    grouped = measured.with_columns(nw.col(TP).alias("best_weight")).group_by(side)
    summed = (ITEMS, TP, SQUARES, "bcubed_precision", "bcubed_recall")
    best = (nw.col(name).max() for name in ("best_weight", "f1", _WHOLE))
    return grouped.agg(*(nw.col(name).sum() for name in summed), *best)


def _named(terms: dict[str, Any]) -> Iterable[nw.Expr]:
    return (term.alias(name) for name, term in terms.items())


def _sum_up(kind: type[SumsT], rows: nw.LazyFrame, collect: Collect, **known: Any) -> SumsT:
    """Sum the columns that are fields of a kind of sums, except those that are known already."""
    names = [field.name for field in fields(kind) if field.name not in ("clusters", *known)]
    (sums,) = collect(rows.select(nw.len().alias("clusters"), *(nw.col(n).sum() for n in names))).to_pylist()
    return kind(**sums, **known)
