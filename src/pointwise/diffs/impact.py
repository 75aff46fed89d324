"""Impact: how much changed between two clusterings, exactly, and on which items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from pointwise.columns import (
    ITEMS,
    MEANING,
    METRIC,
    VALUE,
    WEIGHT,
    Column,
    Kind,
    keys,
)
from pointwise.diffs.metrics import IMPACT, find_impact
from pointwise.inputs.options import (
    DiffOn,
)
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_metric, format_share, format_weight


@dataclass(frozen=True)
class Extent:
    """Which items a diff is about.

    Args:
        baseline_items: How many the baseline has.
        experiment_items: How many the experiment has.
        common_items: How many both have.
        on: Whether the diff is about the common items or about all.
    """

    baseline_items: int
    experiment_items: int
    common_items: int
    on: DiffOn = "common"

    @property
    def baseline_only(self) -> int:
        """How many items only the baseline has."""
        return self.baseline_items - self.common_items

    @property
    def experiment_only(self) -> int:
        """How many items only the experiment has."""
        return self.experiment_items - self.common_items

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name."""
        return asdict(self) | {"baseline_only": self.baseline_only, "experiment_only": self.experiment_only}

    def __str__(self) -> str:
        """Say in a sentence which items take part."""
        both = (
            f"Common items: {self.common_items:,} of {format_count(self.baseline_items, 'baseline item')} and "
            f"{format_count(self.experiment_items, 'experiment item')}"
        )
        if not self.baseline_only and not self.experiment_only:
            return both
        fate = "are left out" if self.on == "common" else "are alone where they are missing"
        return f"{both}; {self.baseline_only:,} and {self.experiment_only:,} {fate}"


@dataclass(frozen=True, repr=False)
class Impact(Result):
    """How much changed, for all items together.

    Args:
        items: Number of items.
        weight: Their weight.
        values: The value of each metric.
        affected_items: Number of items whose cluster changed.
        affected_weight: Their weight.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["i1", "i3"], ["i2"]], experiment=[["i1", "i2"], ["i3"]])
        >>> diff.overall.items, diff.overall.affected_items
        (3, 3)
        >>> low, high = diff.overall.bounds["delta_precision"]
        >>> round(low, 4), round(high, 4)
        (-0.5556, 0.5556)
    """

    items: int
    weight: float
    values: Mapping[str, float]
    affected_items: int
    affected_weight: float

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric."""
        find_impact(metric)
        return self.values[metric]

    @property
    def bounds(self) -> dict[str, tuple[float, float]]:
        """Bounds of the changes of precision and recall, whatever judges say."""
        distance = self.values["jaccard_distance"]
        return {
            "delta_precision": (-distance, distance),
            "delta_recall": (-self.values["split_rate"], self.values["merge_rate"]),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers by name."""
        sizes = {ITEMS: self.items, WEIGHT: self.weight}
        affected = {"affected_items": self.affected_items, "affected_weight": self.affected_weight}
        return {**sizes, **affected, **self.values}

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per metric: its value and what it means."""
        return [{METRIC: n, VALUE: v, MEANING: IMPACT[n].summary} for n, v in self.values.items()]

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*keys(METRIC), Column(VALUE, Kind.METRIC), Column(MEANING))

    def drawing(self) -> Drawing:
        """Say what to show: the metrics, with the bounds below them."""
        share = format_share(self.affected_weight / self.weight)
        title = (
            f"Impact on {format_count(self.items, 'item')}, weight {format_weight(self.weight)}; "
            f"{self.affected_items:,} affected ({share} of the weight)"
        )
        known = "; ".join(
            f"{name} lies between {format_metric(low)} and {format_metric(high)}"
            for name, (low, high) in self.bounds.items()
        )
        return Drawing(title, self.describe(), self.to_dicts(), f"Before any judgement: {known}.")
