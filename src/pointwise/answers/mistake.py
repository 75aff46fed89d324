"""A mistake: what was merged or split, in which parts, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.answers.records import Example, find_differences
from pointwise.columns import COST, ITEMS, NO_CLUSTER, WEIGHT
from pointwise.inputs.composite import id_value
from pointwise.text.values import format_count, format_weight

OVER_MERGE = "over-merge"
UNDER_MERGE = "under-merge"
OUTSIDE = "outside"  # an over-merge with members that the truth does not list, where these count as wrong
MISSING = "missing"  # a split-off part that the actual clustering lacks, where it counts as wrong


@dataclass(frozen=True)
class Part:
    """A part of a cluster that is involved in a mistake: the items that it shares with another cluster.

    Args:
        cluster: The other cluster; None for the members that the truth does not list.
        items: How many items it has.
        weight: Their weight.
        records: Some of the items, with what is known about them.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(part.cluster, part.items) for part in evaluation.mistakes()[0].largest]
        [(0, 1), (1, 1)]
        >>> evaluation.mistakes()[0].first.describe("ideal")
        'ideal 0 (1 item, e.g. i1)'
    """

    cluster: Any
    items: int
    weight: float
    records: tuple[Example, ...] = ()

    @property
    def examples(self) -> tuple[Any, ...]:
        """The ids of some of its items."""
        return tuple(example.item for example in self.records)

    @property
    def values(self) -> list[Any]:
        """The same ids, each as one value of a row."""
        return [id_value(item) for item in self.examples]

    def name(self, side: str) -> str:
        """Name the cluster."""
        if self.cluster == NO_CLUSTER:
            return "missing"
        return "outside the truth" if self.cluster is None else f"{side} {self.cluster}"

    def describe(self, side: str) -> str:
        """Name the cluster, with its size here and some of its items."""
        size = format_count(self.items, "item")
        if self.weight != self.items:
            size += f" of weight {format_weight(self.weight)}"
        if self.records:
            size += f", e.g. {', '.join(map(str, self.examples))}"
        return f"{self.name(side)} ({size})"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name."""
        sizes = {"cluster": self.cluster, ITEMS: self.items, WEIGHT: self.weight}
        return sizes | {"examples": [example.to_dict() for example in self.records]}


@dataclass(frozen=True)
class Mistake:
    """An actual cluster that merges what belongs apart, or an ideal cluster that was split; or two parts of one.

    Args:
        kind: "over-merge", "under-merge"; "outside": an over-merge with members that the truth does not list; or
            "missing": an under-merge of items that the actual clustering lacks.
        cluster: The actual cluster that merges, or the ideal cluster that was split.
        items: How many items it has.
        weight: Their weight.
        cost: How much of the rate this mistake makes up.
        share: The same as a share of the rate.
        parts: How many parts it has; of a pair, two.
        largest: The heaviest parts. Members that the truth does not list come last.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> mistake = evaluation.mistakes()[0]
        >>> print(mistake)
        actual 0 merges 2 parts: ideal 0 (1 item, e.g. i1) and ideal 1 (1 item, e.g. i3)
        >>> mistake.heading, mistake.is_split, mistake.side, mistake.other
        ('actual 0 merges 2 parts', False, 'actual', 'ideal')
        >>> [mistake.cell(part) for part in mistake.largest]
        [(0, 0), (1, 0)]
        >>> import pyarrow as pa
        >>> people = pa.table({"item": ["i1", "i2", "i3"], "name": ["Ann", "Ann", "Bob"]})
        >>> evaluation.with_attributes(people).mistakes()[0].differing
        ['name']
    """

    kind: str
    cluster: Any
    items: int
    weight: float
    cost: float
    parts: int
    largest: tuple[Part, ...]
    share: float = 0.0

    @property
    def first(self) -> Part:
        """The heaviest part."""
        return self.largest[0]

    @property
    def second(self) -> Part:
        """The second heaviest part."""
        return self.largest[1]

    @property
    def is_split(self) -> bool:
        """Whether an ideal cluster was split, rather than several merged."""
        return self.kind in (UNDER_MERGE, MISSING)

    @property
    def side(self) -> str:
        """Which clustering the cluster belongs to: "ideal" or "actual"."""
        return "ideal" if self.is_split else "actual"

    @property
    def other(self) -> str:
        """Which clustering the parts belong to."""
        return "actual" if self.is_split else "ideal"

    @property
    def differing(self) -> list[str]:
        """Names of the columns in which the examples have different values."""
        records = [example.record for part in self.largest for example in part.records]
        return find_differences(records, dict.fromkeys(name for record in records for name in record))

    def cell(self, part: Part) -> tuple[Any, Any]:
        """Return the ideal and the actual cluster of a part."""
        return (self.cluster, part.cluster) if self.is_split else (part.cluster, self.cluster)

    @property
    def heading(self) -> str:
        """Say what happened to the cluster, without the parts."""
        if self.parts == 1:  # the other side lacks all of it
            return f"{self.side} {self.cluster} {'is missing' if self.is_split else 'should not exist'}"
        verb = "is split into" if self.is_split else "merges"
        return f"{self.side} {self.cluster} {verb} {format_count(self.parts, 'part')}"

    def __str__(self) -> str:
        """Say in a sentence what went wrong."""
        parts = [part.describe(self.other) for part in self.largest]
        more = self.parts - len(parts)
        return f"{self.heading}: {_listed([*parts, *([f'{more:,} more'] if more else [])])}"

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name."""
        facts: dict[str, Any] = {"kind": self.kind, "cluster": self.cluster, COST: self.cost}
        facts |= {"share_of_rate": self.share, "parts": self.parts, ITEMS: self.items, WEIGHT: self.weight}
        return facts | {"differing": self.differing, "largest": [part.to_dict() for part in self.largest]}

    def to_pair(self) -> dict[str, Any]:
        """Return all facts of a pair by name, on one level."""
        facts: dict[str, Any] = {"kind": self.kind, COST: self.cost, "share_of_rate": self.share}
        facts |= {"cluster": self.cluster, "cluster_weight": self.weight}
        for name, part in (("first", self.first), ("second", self.second)):
            facts |= {f"{name}_cluster": part.cluster, f"{name}_items": part.items, f"{name}_weight": part.weight}
            facts[f"{name}_examples"] = part.values
        return facts


@dataclass(frozen=True)
class Rest:
    """The mistakes of a rate that are not listed, together.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(rest.rate, rest.count) for rest in evaluation.mistakes(1).rest]
        [('over_merge_rate', 0), ('under_merge_rate', 1)]
    """

    rate: str
    count: int
    cost: float
    share: float


def _listed(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"
