"""Explanations: what one item sees, and what a cluster breaks into."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    FN,
    FP,
    IDEAL,
    IDEAL_ITEMS,
    IDEAL_WEIGHT,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    SHARE,
    TN,
    TP,
    WEIGHT,
    Column,
    Kind,
    keys,
)
from pointwise.core.evidence import Evidence
from pointwise.core.measurement import measure
from pointwise.core.metrics import METRICS, Metric
from pointwise.engines.queries import only_row
from pointwise.errors import NotFoundError
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_value, format_weight, short

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ItemSet:
    """Some items of a set, with the number and weight of all of them.

    Example:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> evaluation.explain(item="i1").false_negatives.items
        ('i2',)
    """

    items: tuple[Any, ...]
    count: int
    weight: float

    def __str__(self) -> str:
        """Write the set, saying how many of its items are not shown."""
        shown = ", ".join(str(item) for item in self.items)
        more = self.count - len(self.items)
        if not self.items:
            return format_count(self.count, "item") if self.count else "none"
        return shown if more == 0 else f"{shown} and {more:,} more"


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What is behind the numbers of one item or one cluster: its parts, a row each.

    Args:
        subject: "item", "ideal_cluster" or "actual_cluster".
        key: Its id.
        items: How many common items it is.
        weight: Their weight.
        ideal_cluster: The ideal cluster of the item; of an actual cluster, the one that most of it comes from.
        actual_cluster: The actual cluster of the item; of an ideal cluster, the one that holds most of it.
        matrix: The 2x2 confusion matrix of these two clusters: the weights TP, FP, FN and TN.
        metrics: The values of metrics; of a cluster, averaged over its items.
        shown: The metrics that were asked for.

    Example:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> explanation = evaluation.explain(actual_cluster=0)
        >>> explanation.subject, explanation.key, explanation.items
        ('actual_cluster', 0, 2)
    """

    subject: str
    key: Any
    items: int
    weight: float
    ideal_cluster: Any
    actual_cluster: Any
    matrix: Mapping[str, float]
    metrics: Mapping[str, float | None]
    shown: tuple[str, ...]

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return everything that is known by name, with the parts inside."""


_SETS = {
    "true_positives": "together, rightly (TP)",
    "false_positives": "together, wrongly (FP)",
    "false_negatives": "apart, wrongly (FN)",
    "true_negatives": "apart, rightly (TN)",
}


@dataclass(frozen=True, repr=False)
class ItemExplanation(Explanation):
    """How the two clusterings differ from the perspective of one item: four sets of items.

    An item is one of its own true positives.

    Example:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(row["set"], row["items"]) for row in evaluation.explain(item="i1")][:2]
        [('true_positives', ['i1']), ('false_positives', ['i3'])]
    """

    true_positives: ItemSet
    false_positives: ItemSet
    false_negatives: ItemSet
    true_negatives: ItemSet

    @property
    def item(self) -> Any:
        """The item."""
        return self.key

    @property
    def sets(self) -> dict[str, ItemSet]:
        """The four sets by name."""
        return {name: getattr(self, name) for name in _SETS}

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys("set"), Column("count", Kind.COUNT), ITEM_SIZES[1], Column(ITEMS))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per set: its size, and some of its items."""
        return [
            {"set": name, "count": found.count, WEIGHT: found.weight, ITEMS: list(found.items)}
            for name, found in self.sets.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is known by name, with the sets inside."""
        known = {ITEM: self.item, WEIGHT: self.weight, IDEAL: self.ideal_cluster, ACTUAL: self.actual_cluster}
        sets = {row.pop("set"): row for row in self.to_dicts()}
        return {**known, **sets, "metrics": dict(self.metrics)}

    def drawing(self) -> Drawing:
        """Say what to show: the four sets in words, and the metrics."""
        rows = [
            {"set": _SETS[name], ITEMS: found.count, WEIGHT: found.weight, "which": str(found)}
            for name, found in self.sets.items()
        ]
        title = (
            f"Item {self.item} (weight {format_weight(self.weight)}): ideal cluster {self.ideal_cluster}, "
            f"actual cluster {self.actual_cluster}"
        )
        note = ", ".join(f"{name} {format_value(Kind.METRIC, self.metrics[name])}" for name in self.shown)
        return Drawing(title, (*keys("set"), *ITEM_SIZES[:2], Column("which")), rows, note)


@dataclass(frozen=True, repr=False)
class ClusterExplanation(Explanation):
    """The cells that a cluster breaks into, heaviest first.

    Args:
        cells: The cells.
        limit: How many of them a drawing shows.

    Example:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(row["actual_cluster"], row["items"]) for row in evaluation.explain(ideal_cluster=0)]
        [(0, 1), (1, 1)]
    """

    cells: MetricTable
    limit: int

    @property
    def cluster(self) -> Any:
        """The cluster."""
        return self.key

    @property
    def side(self) -> str:
        """Which clustering it belongs to: "ideal" or "actual"."""
        return "ideal" if self.subject == IDEAL else "actual"

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return self.cells.describe()

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per cell."""
        return self.cells.to_dicts()

    def to_arrow(self) -> pa.Table:
        """Return the cells as a PyArrow table."""
        return self.cells.to_arrow()

    def to_dict(self) -> dict[str, Any]:
        """Return everything that is known by name, with the cells inside."""
        sizes = {ITEMS: self.items, WEIGHT: self.weight, "metrics": dict(self.metrics)}
        return {"side": self.side, "cluster": self.cluster, **sizes, "cells": self.to_dicts()}

    def drawing(self) -> Drawing:
        """Say what to show: the heaviest cells."""
        other = "actual" if self.side == "ideal" else "ideal"
        size = f"{format_count(self.items, 'item')}, weight {format_weight(self.weight)}"
        parts = format_count(len(self.cells), f"{other} cluster")
        title = f"The {self.side} cluster {self.cluster} ({size}) lies in {parts}."
        return replace(self.cells.drawing(self.limit), title=title)


def explain_item(evidence: Evidence, item: Any, shown: Sequence[Metric], *, limit: int) -> ItemExplanation:
    """Show the four sets that an item sees, listing at most `limit` items of each, and all its metrics."""
    collect = evidence.engine.collect
    rows = collect(evidence.weighed_items().filter(nw.col(ITEM) == evidence.key(ITEM, item))).to_pylist()
    if not rows:
        raise NotFoundError(f"Item {short(item)} is not among the common items.")
    row = rows[0]
    same_ideal, same_actual = nw.col(IDEAL) == row[IDEAL], nw.col(ACTUAL) == row[ACTUAL]
    own = [m for m in shown if not m.means]
    metrics = tuple({m.name: m for m in (*METRICS.values(), *own) if not m.means}.values())
    cell = only_row(measure(evidence.cells.filter(same_ideal & same_actual), metrics), evidence.engine)

    def sample(condition: nw.Expr, number: int, weight: float) -> ItemSet:
        shown = collect(evidence.items.filter(condition).select(ITEM).sort(ITEM).head(limit))[ITEM].to_pylist()
        return ItemSet(tuple(shown), number, weight)

    fp_items, fn_items = cell[ACTUAL_ITEMS] - cell[ITEMS], cell[IDEAL_ITEMS] - cell[ITEMS]
    return ItemExplanation(
        subject=ITEM,
        key=row[ITEM],
        items=1,
        weight=row[WEIGHT],
        ideal_cluster=row[IDEAL],
        actual_cluster=row[ACTUAL],
        true_positives=sample(same_ideal & same_actual, cell[ITEMS], cell[TP]),
        false_positives=sample(~same_ideal & same_actual, fp_items, cell[FP]),
        false_negatives=sample(same_ideal & ~same_actual, fn_items, cell[FN]),
        true_negatives=ItemSet((), evidence.totals.items - cell[IDEAL_ITEMS] - fp_items, cell[TN]),
        matrix={name: cell[name] for name in (TP, FP, FN, TN)},
        metrics={m.name: cell[m.name] for m in metrics},
        shown=tuple(m.name for m in own),
    )


def explain_cluster(
    evidence: Evidence, side: str, cluster: Any, metrics: Sequence[Metric], *, limit: int
) -> ClusterExplanation:
    """Show the cells that an ideal or actual cluster breaks into; a drawing shows at most `limit` of them."""
    kind, other = ("ideal", ACTUAL) if side == IDEAL else ("actual", IDEAL)
    cells = evidence.measured(metrics).filter(nw.col(side) == evidence.key(side, cluster))
    total = only_row(evidence.lift(cells, (), metrics), evidence.engine)
    if not total[ITEMS]:
        raise NotFoundError(f"There is no {kind} cluster {short(cluster)} with common items.")
    share = (nw.col(WEIGHT) / total[WEIGHT]).alias(SHARE)
    values = [m.name for m in metrics if not m.means]
    weights = [Column(name, Kind.WEIGHT) for name in (IDEAL_WEIGHT, ACTUAL_WEIGHT)]
    described = (*keys(other), *ITEM_SIZES, *weights, *(Column(name, Kind.METRIC) for name in values))
    order = ((WEIGHT, True), (other, False))
    table = MetricTable("Cells", cells.with_columns(share), evidence.engine, described, order=order)
    heaviest = only_row(cells.sort(WEIGHT, other, descending=[True, False]).head(1), evidence.engine)
    return ClusterExplanation(
        subject=side,
        key=heaviest[side],
        items=total[ITEMS],
        weight=total[WEIGHT],
        ideal_cluster=heaviest[IDEAL],
        actual_cluster=heaviest[ACTUAL],
        matrix={name: heaviest[name] for name in (TP, FP, FN, TN)},
        metrics={m.name: total[m.name] for m in metrics},
        shown=tuple(m.name for m in metrics),
        cells=table,
        limit=limit,
    )
