"""Drill-down: what one item sees, and what a cluster breaks into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

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
    ITEMS,
    SHARE,
    TN,
    TP,
    WEIGHT,
)
from pointwise.core.evidence import Evidence
from pointwise.core.measurement import measure
from pointwise.core.metrics import METRICS, Metric
from pointwise.engines.queries import only_row
from pointwise.errors import NotFoundError
from pointwise.text.terminal import draw_table
from pointwise.text.values import format_count, format_metric, format_weight


@dataclass(frozen=True)
class ItemSet:
    """Some items of a set, with the number and weight of all of them."""

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


@dataclass(frozen=True)
class ItemExplanation:
    """How the two clusterings differ from the perspective of one item.

    An item is one of its own true positives.
    """

    item: Any
    weight: float
    ideal_cluster: Any
    actual_cluster: Any
    true_positives: ItemSet
    false_positives: ItemSet
    false_negatives: ItemSet
    true_negatives: ItemSet
    metrics: Mapping[str, float | None]
    shown: tuple[str, ...] = ()  # the metrics that are printed

    @property
    def matrix(self) -> dict[str, float]:
        """The 2x2 confusion matrix: the weights of the four sets."""
        sets = (self.true_positives, self.false_positives, self.false_negatives, self.true_negatives)
        return dict(zip((TP, FP, FN, TN), (s.weight for s in sets), strict=True))

    def __str__(self) -> str:
        """Draw the four sets and the metrics."""
        names = {
            "together, rightly (TP)": self.true_positives,
            "together, wrongly (FP)": self.false_positives,
            "apart, wrongly (FN)": self.false_negatives,
            "apart, rightly (TN)": self.true_negatives,
        }
        rows = [{"set": name, ITEMS: s.count, WEIGHT: s.weight, "which": str(s)} for name, s in names.items()]
        title = (
            f"Item {self.item} (weight {format_weight(self.weight)}): ideal cluster {self.ideal_cluster}, "
            f"actual cluster {self.actual_cluster}"
        )
        values = {name: self.metrics[name] for name in self.shown}
        note = ", ".join(f"{n} {'–' if v is None else format_metric(v)}" for n, v in values.items())
        return draw_table(title, list(rows[0]), rows, note=note)

    __repr__ = __str__


@dataclass(frozen=True)
class ClusterExplanation:
    """The cells that a cluster breaks into, heaviest first."""

    side: str  # "ideal" or "actual"
    cluster: Any
    items: int
    weight: float
    cells: MetricTable

    def __str__(self) -> str:
        """Draw the cells."""
        other = "actual" if self.side == "ideal" else "ideal"
        size = f"{format_count(self.items, 'item')}, weight {format_weight(self.weight)}"
        parts = format_count(len(self.cells), f"{other} cluster")
        title = f"The {self.side} cluster {self.cluster} ({size}) lies in {parts}."
        return repr(replace(self.cells, title=title))

    __repr__ = __str__


def explain_item(evidence: Evidence, item: Any, shown: Sequence[Metric], *, limit: int) -> ItemExplanation:
    """Show the four sets that an item sees, listing at most `limit` items of each, and all its metrics."""
    collect = evidence.engine.collect
    rows = collect(evidence.weighed_items().filter(nw.col(ITEM) == evidence.key(ITEM, item))).to_pylist()
    if not rows:
        raise NotFoundError(f"Item {item!r} is not among the common items.")
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
        item=row[ITEM],
        weight=row[WEIGHT],
        ideal_cluster=row[IDEAL],
        actual_cluster=row[ACTUAL],
        true_positives=sample(same_ideal & same_actual, cell[ITEMS], cell[TP]),
        false_positives=sample(~same_ideal & same_actual, fp_items, cell[FP]),
        false_negatives=sample(same_ideal & ~same_actual, fn_items, cell[FN]),
        true_negatives=ItemSet((), evidence.totals.items - cell[IDEAL_ITEMS] - fp_items, cell[TN]),
        metrics={m.name: cell[m.name] for m in metrics},
        shown=tuple(m.name for m in own),
    )


def explain_cluster(evidence: Evidence, side: str, cluster: Any, metrics: Sequence[Metric]) -> ClusterExplanation:
    """Show the cells that an ideal or actual cluster breaks into."""
    kind, other = ("ideal", ACTUAL) if side == IDEAL else ("actual", IDEAL)
    cells = evidence.measured(metrics).filter(nw.col(side) == evidence.key(side, cluster))
    sums = cells.select(nw.col(ITEMS).sum(), nw.col(WEIGHT).sum())
    total = only_row(sums, evidence.engine)
    if not total[ITEMS]:
        raise NotFoundError(f"There is no {kind} cluster {cluster!r} with common items.")
    share = (nw.col(WEIGHT) / total[WEIGHT]).alias(SHARE)
    values = [m.name for m in metrics if not m.means]
    columns = (other, ITEMS, WEIGHT, SHARE, IDEAL_WEIGHT, ACTUAL_WEIGHT, *values)
    frame = cells.with_columns(share).select(*columns)
    table = MetricTable("Cells", frame, evidence.engine, order=((WEIGHT, True), (other, False)))
    return ClusterExplanation(kind, cluster, int(total[ITEMS]), total[WEIGHT], table)
