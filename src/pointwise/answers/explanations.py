"""Explanations: what one item sees, and what a cluster breaks into."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.answers.breakdown import break_down
from pointwise.answers.records import (
    DIFFERS_MEANS,
    NOTHING_SHOWN,
    Example,
    Record,
    Shown,
    fetch_records,
    record_columns,
    write_record,
)
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
from pointwise.core.measurement import measure_cell
from pointwise.core.metrics import METRICS, Metric
from pointwise.engines.queries import only_row
from pointwise.errors import NotFoundError
from pointwise.inputs.composite import id_columns, id_value
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import DIFFERS, format_count, format_value, format_weight, short

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class ItemSet:
    """Some items of a set, with the number and weight of all of them.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> evaluation.explain(item="i1").false_negatives.items
        ('i2',)
    """

    items: tuple[Any, ...]
    count: int
    weight: float
    records: Mapping[Any, Record] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return its size and the items listed, with their records where these are known."""
        listed = {"records": [{**self.records[i], **id_columns(i)} for i in self.items]} if self.records else {}
        return {"count": self.count, WEIGHT: self.weight, ITEMS: self.values, **listed}

    @property
    def values(self) -> list[Any]:
        """The items listed, each as one value of a row."""
        return [id_value(item) for item in self.items]

    def __str__(self) -> str:
        """Write the set, with the number of items not shown."""
        shown = ", ".join(str(item) for item in self.items)
        more = self.count - len(self.items)
        if not self.items:
            return format_count(self.count, "item") if self.count else "none"
        return shown if more == 0 else f"{shown} and {more:,} more"


@dataclass(frozen=True, repr=False)
class Explanation(Result):
    """What is behind the numbers of one item or cluster: its parts, a row each.

    Args:
        subject: "item", "ideal_cluster" or "actual_cluster".
        key: Its id.
        items: How many common items it has.
        weight: Their weight.
        ideal_cluster: The ideal cluster of the item; of an actual cluster, the one that most of it comes from.
        actual_cluster: The actual cluster of the item; of an ideal cluster, the one that holds most of it.
        matrix: The 2x2 confusion matrix of these two clusters: the weights TP, FP, FN and TN.
        metrics: The values of metrics; of a cluster, averaged over its items.
        shown: The metrics that were asked for.

    Examples:
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
        """Return all facts by name, including the parts."""


_SETS = {
    "true_positives": "together, rightly (TP)",
    "false_positives": "together, wrongly (FP)",
    "false_negatives": "apart, wrongly (FN)",
    "true_negatives": "apart, rightly (TN)",
}


@dataclass(frozen=True, repr=False)
class ItemExplanation(Explanation):
    """How the two clusterings differ from the perspective of one item: four sets of items.

    An item is one of its own true positives, unless one of the clusterings lacks it.

    Args:
        true_positives: What is with it and should be.
        false_positives: What is with it and should not be.
        false_negatives: What should be with it and is not.
        true_negatives: Everything else.
        heads: What a drawing shows of items.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> explanation = evaluation.explain(item="i1")
        >>> [(row["set"], row["items"]) for row in explanation][:2]
        [('true_positives', ['i1']), ('false_positives', ['i3'])]
        >>> explanation.item, explanation.sets["false_negatives"].items
        ('i1', ('i2',))
        >>> list(explanation.named_sets)[:2]
        ['together, rightly (TP)', 'together, wrongly (FP)']
    """

    true_positives: ItemSet
    false_positives: ItemSet
    false_negatives: ItemSet
    true_negatives: ItemSet
    heads: Mapping[str, Column] = field(default_factory=dict)

    @property
    def item(self) -> Any:
        """The item."""
        return self.key

    @property
    def sets(self) -> dict[str, ItemSet]:
        """The four sets by name."""
        return {name: getattr(self, name) for name in _SETS}

    @property
    def named_sets(self) -> dict[str, ItemSet]:
        """The four sets by what they mean."""
        return {meaning: getattr(self, name) for name, meaning in _SETS.items()}

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys("set"), Column("count", Kind.COUNT), ITEM_SIZES[1], Column(ITEMS))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per set: its size, and some of its items."""
        return [
            {"set": name, "count": found.count, WEIGHT: found.weight, ITEMS: found.values}
            for name, found in self.sets.items()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name, including the sets."""
        known = {WEIGHT: self.weight, IDEAL: self.ideal_cluster, ACTUAL: self.actual_cluster}
        sets = {name: found.to_dict() for name, found in self.sets.items()}
        return {**id_columns(self.item), **known, **sets, "metrics": dict(self.metrics)}

    def drawing(self) -> Drawing:
        """Say what to show: the four sets in words, and the metrics."""
        title = (
            f"Item {self.item} (weight {format_weight(self.weight)}): ideal cluster {self.ideal_cluster}, "
            f"actual cluster {self.actual_cluster}"
        )
        note = ", ".join(f"{name} {format_value(Kind.METRIC, self.metrics[name])}" for name in self.shown)
        columns, rows, marks = draw_sets(self.named_sets, self.item, self.heads)
        return Drawing(title, columns, rows, "\n".join([note, *marks]))


def draw_sets(
    sets: Mapping[str, ItemSet], item: Any, heads: Mapping[str, Column]
) -> tuple[tuple[Column, ...], list[dict[str, Any]], list[str]]:
    """Draw sets that an item sees: a row each, or with records a row for each of the items listed.

    Returns:
        The columns, the rows, and what to say below them.
    """
    columns = (*keys("set"), *ITEM_SIZES[:2], Column("which"), *heads.values())
    first = next((found.records[item] for found in sets.values() if item in found.records), None)
    blank: dict[str, Any] = {column.name: "" for column in columns}
    rows: list[dict[str, Any]] = []
    for name, found in sets.items():
        row = blank | {"set": name, ITEMS: found.count, WEIGHT: found.weight}
        if not found.records:
            rows.append(row | {"which": str(found)})
            continue
        for number, listed in enumerate(found.items):
            written = {"which": str(listed)} | write_record(found.records[listed], heads, first=first)
            rows.append((blank if number else row) | written)
        if found.count > len(found.items):
            rows.append(blank | {"which": f"{found.count - len(found.items):,} more"})
    has_marks = any(str(value).endswith(DIFFERS) for row in rows for value in row.values())
    return columns, rows, ["*: differs from the item"] if has_marks else []


@dataclass(frozen=True, repr=False)
class ClusterExplanation(Explanation):
    """The cells that a cluster breaks into, heaviest first.

    Args:
        cells: The cells.
        limit: How many of them a drawing shows.
        examples: Items of the first cells, by the cluster on the other side.
        heads: What a drawing shows of them.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> explanation = evaluation.explain(ideal_cluster=0)
        >>> [(row["actual_cluster"], row["items"]) for row in explanation]
        [(0, 1), (1, 1)]
        >>> explanation.side, explanation.cluster
        ('ideal', 0)
    """

    cells: MetricTable
    limit: int
    examples: Mapping[Any, tuple[Example, ...]] = field(default_factory=dict)
    heads: Mapping[str, Column] = field(default_factory=dict)

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
        """Return all facts by name, including the cells."""
        sizes = {ITEMS: self.items, WEIGHT: self.weight, "metrics": dict(self.metrics)}
        cells = self.to_dicts()
        if self.heads:
            other = ACTUAL if self.side == "ideal" else IDEAL
            listed = {key: [example.to_dict() for example in found] for key, found in self.examples.items()}
            cells = [cell | {"examples": listed.get(cell[other], [])} for cell in cells]
        return {"side": self.side, "cluster": self.cluster, **sizes, "cells": cells}

    def drawing(self) -> Drawing:
        """Say what to show: the heaviest cells."""
        other = "actual" if self.side == "ideal" else "ideal"
        size = f"{format_count(self.items, 'item')}, weight {format_weight(self.weight)}"
        parts = format_count(len(self.cells), f"{other} cluster")
        title = f"The {self.side} cluster {self.cluster} ({size}) lies in {parts}."
        drawing = replace(self.cells.drawing(self.limit), title=title)
        return self._with_examples(drawing, ACTUAL if self.side == "ideal" else IDEAL) if self.heads else drawing

    def _with_examples(self, drawing: Drawing, other: str) -> Drawing:
        """Add a row for each example, the first of them beside its cell."""
        dropped = [column for column in drawing.dispensable if column.kind in (Kind.WEIGHT, Kind.METRIC)]
        kept = [column for column in drawing.columns if column not in dropped]  # records need the room
        columns = (*kept, Column(_EXAMPLE), *self.heads.values())
        blank: dict[str, Any] = {column.name: "" for column in columns}
        first = next((e.record for row in drawing.rows for e in self.examples.get(row[other], ())), None)
        rows: list[Mapping[str, Any]] = []
        for row in drawing.rows:
            written = [
                {_EXAMPLE: str(e.item)} | write_record(e.record, self.heads, first=first)
                for e in self.examples.get(row[other], ())
            ]
            rows += [{**blank, **row, **(written[0] if written else {})}, *(blank | more for more in written[1:])]
        has_marks = any(str(value).endswith(DIFFERS) for row in rows for value in row.values())
        note = "\n".join([*([drawing.note] if drawing.note else []), *([DIFFERS_MEANS] if has_marks else [])])
        return replace(drawing, columns=columns, rows=rows, note=note)


_EXAMPLE = "e.g."


def explain_item(
    evidence: Evidence, item: Any, metrics: Sequence[Metric], *, limit: int, shown: Shown = NOTHING_SHOWN
) -> ItemExplanation:
    """Show the four sets that an item sees, listing at most `limit` items of each, and all its metrics."""
    collect = evidence.engine.collect
    rows = collect(evidence.weighed_items().filter(nw.col(ITEM) == evidence.key(ITEM, item))).to_pylist()
    if not rows:
        raise NotFoundError(f"Item {short(item)} is not among the common items.")
    row = rows[0]
    same_ideal, same_actual = nw.col(IDEAL) == row[IDEAL], nw.col(ACTUAL) == row[ACTUAL]
    own = [m for m in metrics if not m.means]
    measured = tuple({m.name: m for m in (*METRICS.values(), *own) if not m.means}.values())
    cell = only_row(evidence.cells.filter(same_ideal & same_actual), evidence.engine)
    values = measure_cell(cell, measured)

    def sample(condition: nw.Expr, number: int, weight: float) -> ItemSet:
        found = collect(evidence.items.filter(condition).select(ITEM).sort(ITEM).head(limit))[ITEM].to_pylist()
        listed = tuple(map(evidence.ids.read, found))
        return ItemSet(listed, number, weight, fetch_records(evidence, listed, shown.columns))

    same_ideal = same_ideal if cell[IDEAL_ITEMS] else nw.lit(False)  # nothing is in an empty cluster
    same_actual = same_actual if cell[ACTUAL_ITEMS] else nw.lit(False)
    tp_items = cell[ITEMS] if cell[IDEAL_ITEMS] and cell[ACTUAL_ITEMS] else 0
    fp_items, fn_items = cell[ACTUAL_ITEMS] - tp_items, cell[IDEAL_ITEMS] - tp_items
    heads = record_columns(shown, ("set", ITEMS, WEIGHT, "which"))
    return ItemExplanation(
        subject=ITEM,
        key=evidence.ids.read(row[ITEM]),
        items=1,
        weight=row[WEIGHT],
        ideal_cluster=row[IDEAL],
        actual_cluster=row[ACTUAL],
        true_positives=sample(same_ideal & same_actual, tp_items, cell[TP]),
        false_positives=sample(~same_ideal & same_actual, fp_items, cell[FP]),
        false_negatives=sample(same_ideal & ~same_actual, fn_items, cell[FN]),
        true_negatives=ItemSet((), evidence.totals.items - cell[IDEAL_ITEMS] - fp_items, cell[TN]),
        matrix={name: cell[name] for name in (TP, FP, FN, TN)},
        metrics=values,
        shown=tuple(m.name for m in own),
        heads=heads,
    )


def explain_cluster(
    evidence: Evidence,
    side: str,
    cluster: Any,
    metrics: Sequence[Metric],
    *,
    limit: int,
    shown: Shown = NOTHING_SHOWN,
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
        examples=_find_examples(evidence, heaviest[side], side, limit, shown),
        heads=record_columns(shown, (*table.columns, _EXAMPLE)),
    )


def _find_examples(
    evidence: Evidence, cluster: Any, side: str, limit: int, shown: Shown
) -> dict[Any, tuple[Example, ...]]:
    if not shown.columns:
        return {}
    found = break_down(evidence, side, [cluster], cells=limit, columns=shown.columns)[cluster]
    return {cell.other: cell.examples for cell in found.cells}
