"""Explanations: how every variant treated one ideal cluster or one item, side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.explanations import Explanation, ItemExplanation, draw_sets, explain_cluster, explain_item
from pointwise.answers.records import (
    DIFFERS_MEANS,
    Example,
    Shown,
    fetch_examples,
    find_differences,
    record_columns,
    write_record,
)
from pointwise.columns import (
    ACTUAL,
    IDEAL,
    ITEM,
    ITEM_SIZES,
    ITEMS,
    SHARE,
    VARIANT,
    WEIGHT,
    Column,
    Kind,
    keys,
    name_part,
)
from pointwise.core.evidence import Evidence
from pointwise.core.metrics import Metric
from pointwise.errors import NotFoundError
from pointwise.inputs.composite import id_columns
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_value, format_weight

_FIRST, _LAST, _EXAMPLE = "first", "last", "e.g."


@dataclass(frozen=True)
class SharedPart:
    """Items of an ideal cluster that share their actual cluster in every variant.

    Args:
        clusters: The actual cluster in each variant; None where a variant lacks the items.
        items: How many there are.
        weight: Their weight.
        share: The same as a share of the ideal cluster.
        examples: Some of them, with what is known about them.

    Examples:
        >>> import pointwise as pw
        >>> variants = {"old": [["i1"], ["i2"], ["i3"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=variants)
        >>> first = comparison.explain(ideal_cluster=0).parts[0]
        >>> first.clusters, first.share
        ({'old': 0, 'new': 0}, 0.5)
    """

    clusters: Mapping[str, Any]
    items: int
    weight: float
    share: float
    examples: tuple[Example, ...]


@dataclass(frozen=True, repr=False)
class ClusterComparison(Result):
    """How every variant treated one ideal cluster: which of its items stay together where, heaviest first.

    Args:
        key: The ideal cluster.
        variants: What each variant makes of it, by name; a variant without items of it is left out.
        parts: The parts, at most as many as requested.
        number: How many parts there are.
        shown: What is shown of the examples.

    Examples:
        >>> import pointwise as pw
        >>> variants = {"old": [["i1"], ["i2"], ["i3"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=variants)
        >>> [part.clusters for part in comparison.explain(ideal_cluster=0).parts]
        [{'old': 0, 'new': 0}, {'old': 1, 'new': 0}]
    """

    key: Any
    variants: Mapping[str, Explanation]
    parts: tuple[SharedPart, ...]
    number: int
    shown: Shown

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        clusters = next(iter(self.parts)).clusters
        return (*keys(*(name_part(ACTUAL, name) for name in clusters)), *ITEM_SIZES, Column("examples"))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per part."""
        return [
            {
                **{name_part(ACTUAL, name): cluster for name, cluster in part.clusters.items()},
                ITEMS: part.items,
                WEIGHT: part.weight,
                SHARE: part.share,
                "examples": [example.to_dict() for example in part.examples],
            }
            for part in self.parts
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name, including the parts."""
        return {
            IDEAL: self.key,
            "variants": {name: found.to_dict() for name, found in self.variants.items()},
            "parts": self.to_dicts(),
        }

    def drawing(self) -> Drawing:
        """Say what to show: a row per part, with records one per example, and the metrics of each variant."""
        columns = (*self.describe()[:-1], Column(_EXAMPLE))
        heads = record_columns(self.shown, (column.name for column in columns))
        records = [example.record for part in self.parts for example in part.examples]
        blank: dict[str, Any] = {column.name: "" for column in (*columns, *heads.values())}
        rows: list[dict[str, Any]] = []
        for row, part in zip(self.to_dicts(), self.parts, strict=True):
            if not heads:
                rows.append(row | {_EXAMPLE: ", ".join(str(example.item) for example in part.examples)})
                continue
            written = ({_EXAMPLE: str(e.item)} | write_record(e.record, heads, first=records[0]) for e in part.examples)
            rows += [(blank if n else blank | row) | texts for n, texts in enumerate(written)]
        return Drawing(self._title, (*columns, *heads.values()), rows, "\n".join(self._notes(records)))

    @property
    def _title(self) -> str:
        pieces = (f"{format_count(len(found), 'part')} in {name}" for name, found in self.variants.items())
        return f"The ideal cluster {self.key} lies in {', '.join(pieces)}."

    def _notes(self, records: Sequence[Mapping[str, Any]]) -> list[str]:
        more = [f"{len(self.parts)} of {self.number:,} parts"] if self.number > len(self.parts) else []
        marks = [DIFFERS_MEANS] if find_differences(records, self.shown.columns) else []
        return [*more, *marks, *(f"{name}: {say_metrics(found)}" for name, found in self.variants.items())]


@dataclass(frozen=True, repr=False)
class ItemComparison(Result):
    """What one item sees in every variant.

    Args:
        key: The item.
        variants: What it sees in each variant, by name; a variant without it is left out.

    Examples:
        >>> import pointwise as pw
        >>> variants = {"old": [["i1"], ["i2"], ["i3"]], "new": [["i1", "i2"], ["i3"]]}
        >>> comparison = pw.compare(ideal=[["i1", "i2"], ["i3"]], variants=variants)
        >>> [seen.metrics["recall"] for seen in comparison.explain(item="i1").variants.values()]
        [0.5, 1.0]
    """

    key: Any
    variants: Mapping[str, ItemExplanation]

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        first = next(iter(self.variants.values()))
        return (*keys(VARIANT, ACTUAL), *first.describe())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one row per variant and set."""
        return [
            {VARIANT: name, ACTUAL: found.actual_cluster} | row
            for name, found in self.variants.items()
            for row in found.to_dicts()
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all facts by name, including the variants."""
        return {**id_columns(self.key), "variants": {name: found.to_dict() for name, found in self.variants.items()}}

    def drawing(self) -> Drawing:
        """Say what to show: the sets of each variant below those of the one before."""
        rows: list[dict[str, Any]] = []
        marks: list[str] = []
        for name, found in self.variants.items():
            columns, drawn, marks = draw_sets(found.named_sets, found.item, found.heads)
            labels = ({VARIANT: name, ACTUAL: found.actual_cluster}, {VARIANT: "", ACTUAL: ""})
            rows += [labels[bool(n)] | row for n, row in enumerate(drawn)]
        first = next(iter(self.variants.values()))
        title = f"Item {self.key} (weight {format_weight(first.weight)}) of the ideal cluster {first.ideal_cluster}"
        notes = [*marks, *(f"{name}: {say_metrics(found)}" for name, found in self.variants.items())]
        return Drawing(title, (*keys(VARIANT, ACTUAL), *columns), rows, "\n".join(notes))


def say_metrics(found: Explanation) -> str:
    """Write the requested metrics on a line."""
    return ", ".join(f"{name} {format_value(Kind.METRIC, found.metrics[name])}" for name in found.shown)


def compare_item(
    variants: Mapping[str, Evidence], item: Any, metrics: Sequence[Metric], *, limit: int, shown: Shown
) -> ItemComparison:
    """Show what an item sees in every variant that has it.

    Raises:
        NotFoundError: None has it.
    """
    found: dict[str, ItemExplanation] = {}
    for name, evidence in variants.items():
        try:
            found[name] = explain_item(evidence, item, metrics, limit=limit, shown=shown)
        except NotFoundError:
            continue
    if not found:
        raise NotFoundError(f"Item {item!r} is not among the common items of any variant.")
    return ItemComparison(next(iter(found.values())).key, found)


def compare_cluster(
    variants: Mapping[str, Evidence], cluster: Any, metrics: Sequence[Metric], *, limit: int, shown: Shown
) -> ClusterComparison:
    """Show where every variant put the items of an ideal cluster.

    Raises:
        NotFoundError: No variant has items of it.
    """
    found: dict[str, Explanation] = {}
    for name, evidence in variants.items():
        try:
            found[name] = explain_cluster(evidence, IDEAL, cluster, metrics, limit=limit)
        except NotFoundError:
            continue
    if not found:
        raise NotFoundError(f"There is no ideal cluster {cluster!r} with common items of any variant.")
    key = next(iter(found.values())).key
    rows = _join_parts({name: variants[name] for name in variants}, key)
    total = sum(row[WEIGHT] for row in rows)
    listed = rows[:limit]
    examples = _find_examples(variants, [i for row in listed for i in (row[_FIRST], row[_LAST])], shown)
    parts = tuple(
        SharedPart(
            {name: row[_column(n)] for n, name in enumerate(variants)},
            int(row[ITEMS]),
            row[WEIGHT],
            row[WEIGHT] / total,
            tuple(examples[item] for item in dict.fromkeys((row[_FIRST], row[_LAST]))),
        )
        for row in listed
    )
    return ClusterComparison(key, found, parts, len(rows), shown)


def _column(number: int) -> str:
    return f"_variant_{number}"


def _join_parts(variants: Mapping[str, Evidence], cluster: Any) -> list[dict[str, Any]]:
    """Group the items of an ideal cluster by their actual clusters in all variants, the heaviest group first."""
    engine = next(iter(variants.values())).engine
    members = [e.weighed_items().filter(nw.col(IDEAL) == cluster) for e in variants.values()]
    every = nw.concat([frame.select(ITEM, WEIGHT) for frame in members]).group_by(ITEM).agg(nw.col(WEIGHT).max())
    for number, frame in enumerate(members):
        every = every.join(frame.select(ITEM, nw.col(ACTUAL).alias(_column(number))), on=ITEM, how="left")
    columns = [_column(number) for number in range(len(members))]
    groups = every.group_by(*columns).agg(
        nw.len().alias(ITEMS),
        nw.col(WEIGHT).sum(),
        nw.col(ITEM).min().alias(_FIRST),
        nw.col(ITEM).max().alias(_LAST),
    )
    rows: list[dict[str, Any]] = engine.collect(groups.sort(WEIGHT, _FIRST, descending=[True, False])).to_pylist()
    return rows


def _find_examples(variants: Mapping[str, Evidence], items: Sequence[Any], shown: Shown) -> dict[Any, Example]:
    """Look items up in the first variant that has them."""
    found: dict[Any, Example] = {}
    for evidence in variants.values():
        lacking = [item for item in items if item not in found]
        found |= fetch_examples(evidence, lacking, [c for c in shown.columns if c in evidence.slice_schema])
    return found
