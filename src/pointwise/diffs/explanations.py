"""Explanations: what changed for one item, and which parts a cluster has in the other clustering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pointwise.answers.explanations import ItemSet, explain_cluster, explain_item
from pointwise.columns import ACTUAL, IDEAL, ITEM, ITEM_SIZES, ITEMS, WEIGHT, Column, keys
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric
from pointwise.diffs.names import BASELINE_CLUSTER, in_words_of_diff
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_metric, format_weight


@dataclass(frozen=True, repr=False)
class ChangedItem(Result):
    """What changed from the perspective of one item.

    Args:
        item: The item.
        weight: Its weight.
        baseline_cluster: Where it was.
        experiment_cluster: Where it is.
        stable: What stayed with it, itself included.
        split_off: What was with it and no longer is.
        merged_in: What is with it and was not.
        metrics: The values of its metrics.
    """

    item: Any
    weight: float
    baseline_cluster: Any
    experiment_cluster: Any
    stable: ItemSet
    split_off: ItemSet
    merged_in: ItemSet
    metrics: Mapping[str, float]

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the three sets as rows."""
        sets = {"stayed with it": self.stable, "split off": self.split_off, "merged in": self.merged_in}
        return [{"set": name, ITEMS: s.count, WEIGHT: s.weight, "which": str(s)} for name, s in sets.items()]

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys("set"), *ITEM_SIZES[:2], Column("which"))

    def drawing(self) -> Drawing:
        """Say what people shall see: the three sets and the metrics."""
        title = (
            f"Item {self.item} (weight {format_weight(self.weight)}): baseline cluster {self.baseline_cluster}, "
            f"experiment cluster {self.experiment_cluster}"
        )
        note = ", ".join(f"{name} {format_metric(value)}" for name, value in self.metrics.items())
        return Drawing(title, self.describe(), self.to_dicts(), note)


def explain_change(evidence: Evidence, subject: str, key: Any, metrics: Sequence[Metric], *, limit: int) -> Result:
    """Show what changed for an item, or the parts of a cluster."""
    if subject == ITEM:
        return _explain_item(evidence, key, metrics, limit=limit)
    side = IDEAL if subject == BASELINE_CLUSTER else ACTUAL
    found = explain_cluster(evidence, side, key, metrics, limit=limit)
    own, other = ("baseline", "experiment") if side == IDEAL else ("experiment", "baseline")
    size = f"{format_count(found.items, 'item')}, weight {format_weight(found.weight)}"
    parts = format_count(len(found.cells), f"{other} cluster")
    title = f"The {own} cluster {key} ({size}) lies in {parts}."
    return replace(in_words_of_diff(found.cells), title=title)


def _explain_item(evidence: Evidence, item: Any, metrics: Sequence[Metric], *, limit: int) -> ChangedItem:
    seen = explain_item(evidence, item, metrics, limit=limit)
    return ChangedItem(
        item=seen.item,
        weight=seen.weight,
        baseline_cluster=seen.ideal_cluster,
        experiment_cluster=seen.actual_cluster,
        stable=seen.true_positives,
        split_off=seen.false_negatives,
        merged_in=seen.false_positives,
        metrics={metric.name: float(seen.metrics[metric.name] or 0.0) for metric in metrics},
    )
