"""Explanations: what changed for one item, and which parts a cluster has in the other clustering."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pointwise.answers.explanations import ItemSet, explain_cluster, explain_item
from pointwise.answers.tables import MetricTable
from pointwise.columns import ACTUAL, IDEAL, ITEM, ITEM_SIZES, ITEMS, WEIGHT, Column, Kind, keys
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric
from pointwise.diffs.names import BASELINE_CLUSTER, EXPERIMENT_CLUSTER, in_words_of_diff
from pointwise.errors import NotFoundError
from pointwise.inputs.composite import id_value
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_metric, format_weight, short

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class ChangeExplanation(Result):
    """What changed for one item or one cluster: its parts, a row each.

    Args:
        subject: "item", "baseline_cluster" or "experiment_cluster".
        key: Its id.
        items: How many items it has.
        weight: Their weight.
        baseline_cluster: Where the item was; of an experiment cluster, the one that most of it comes from.
        experiment_cluster: Where the item is; of a baseline cluster, the one that holds most of it.
        metrics: The values of metrics; of a cluster, averaged over its items.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> diff.explain(item="i1").subject
        'item'
    """

    subject: str
    key: Any
    items: int
    weight: float
    baseline_cluster: Any
    experiment_cluster: Any
    metrics: Mapping[str, float]

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name, including the parts."""
        known = {"subject": self.subject, "key": id_value(self.key), ITEMS: self.items, WEIGHT: self.weight}
        clusters = {BASELINE_CLUSTER: self.baseline_cluster, EXPERIMENT_CLUSTER: self.experiment_cluster}
        return {**known, **clusters, "metrics": dict(self.metrics), "parts": self.to_dicts()}

    def drawing(self) -> Drawing:
        """Say what to show: the parts, with the metrics below them."""
        parts = self._draw_parts()
        values = ", ".join(f"{name} {format_metric(value)}" for name, value in self.metrics.items())
        return replace(parts, note=f"{parts.note}\n{values}".lstrip())

    @abstractmethod
    def _draw_parts(self) -> Drawing:
        """Draw the parts under a title that says what is explained."""


@dataclass(frozen=True, repr=False)
class ChangedItem(ChangeExplanation):
    """What changed from the perspective of one item.

    Args:
        stable: What stayed with it, itself included.
        split_off: What was with it and no longer is.
        merged_in: What is with it and was not.
    """

    stable: ItemSet
    split_off: ItemSet
    merged_in: ItemSet

    @property
    def sets(self) -> dict[str, ItemSet]:
        """The three sets by name."""
        return {"stable": self.stable, "split_off": self.split_off, "merged_in": self.merged_in}

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per set: its size, and some of its items."""
        return [
            {"set": name, "count": found.count, WEIGHT: found.weight, ITEMS: found.values}
            for name, found in self.sets.items()
        ]

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys("set"), Column("count", Kind.COUNT), ITEM_SIZES[1], Column(ITEMS))

    def _draw_parts(self) -> Drawing:
        title = (
            f"Item {self.key} (weight {format_weight(self.weight)}): baseline cluster {self.baseline_cluster}, "
            f"experiment cluster {self.experiment_cluster}"
        )
        rows = [
            {"set": _SETS[name], ITEMS: found.count, WEIGHT: found.weight, "which": str(found)}
            for name, found in self.sets.items()
        ]
        return Drawing(title, (*keys("set"), *ITEM_SIZES[:2], Column("which")), rows)


_SETS = {"stable": "stayed with it", "split_off": "split off", "merged_in": "merged in"}


@dataclass(frozen=True, repr=False)
class ChangedCluster(ChangeExplanation):
    """The parts that a cluster has in the other clustering, heaviest first.

    Args:
        cells: The parts.
        limit: How many of them a drawing shows.
    """

    cells: MetricTable
    limit: int

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per part."""
        return self.cells.to_dicts()

    def to_arrow(self) -> pa.Table:
        """Return the parts as a PyArrow table."""
        return self.cells.to_arrow()

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return self.cells.describe()

    def _draw_parts(self) -> Drawing:
        own, other = ("baseline", "experiment") if self.subject == BASELINE_CLUSTER else ("experiment", "baseline")
        size = f"{format_count(self.items, 'item')}, weight {format_weight(self.weight)}"
        parts = format_count(len(self.cells), f"{other} cluster")
        title = f"The {own} cluster {self.key} ({size}) lies in {parts}."
        return replace(self.cells.drawing(self.limit), title=title)


def explain_change(
    evidence: Evidence, subject: str, key: Any, metrics: Sequence[Metric], *, limit: int
) -> ChangeExplanation:
    """Show what changed for an item, or the parts of a cluster."""
    if subject == ITEM:
        return _explain_item(evidence, key, metrics, limit=limit)
    side = IDEAL if subject == BASELINE_CLUSTER else ACTUAL
    try:
        found = explain_cluster(evidence, side, key, metrics, limit=limit)
    except NotFoundError:
        raise NotFoundError(f"There is no {subject.replace('_', ' ')} {short(key)} with items of the diff.") from None
    return ChangedCluster(
        subject=subject,
        key=found.key,
        items=found.items,
        weight=found.weight,
        baseline_cluster=found.ideal_cluster,
        experiment_cluster=found.actual_cluster,
        metrics=_values(found.metrics, metrics),
        cells=in_words_of_diff(found.cells),
        limit=limit,
    )


def _explain_item(evidence: Evidence, item: Any, metrics: Sequence[Metric], *, limit: int) -> ChangedItem:
    seen = explain_item(evidence, item, metrics, limit=limit)
    return ChangedItem(
        subject=ITEM,
        key=seen.item,
        items=1,
        weight=seen.weight,
        baseline_cluster=seen.ideal_cluster,
        experiment_cluster=seen.actual_cluster,
        metrics=_values(seen.metrics, metrics),
        stable=seen.true_positives,
        split_off=seen.false_negatives,
        merged_in=seen.false_positives,
    )


def _values(found: Mapping[str, float | None], metrics: Sequence[Metric]) -> dict[str, float]:
    """Choose the metrics of a diff, which every item has."""
    return {metric.name: float(found[metric.name] or 0.0) for metric in metrics}
