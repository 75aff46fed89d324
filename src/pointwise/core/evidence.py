"""Evidence: the common items and their cells, from which every answer is computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import IDEAL, ITEM, ITEMS, PREFIX, RESERVED, TP, WEIGHT, given_name, inside
from pointwise.core.confusion import Totals, confuse, with_entries
from pointwise.core.crosstab import cross_tabulate
from pointwise.core.held import Held
from pointwise.core.lifting import lift
from pointwise.core.measurement import measure
from pointwise.core.metrics import Metric
from pointwise.core.sample import UNKNOWN, Sample
from pointwise.engines.base import Engine
from pointwise.engines.queries import count, examples, holding, only_row, total
from pointwise.errors import IdTypeError, NoCommonItemsError, NotFoundError
from pointwise.inputs.checks import check_repeats
from pointwise.inputs.composite import ONE_COLUMN, ItemColumns, join_id
from pointwise.inputs.reading import with_columns
from pointwise.inputs.tables import Table
from pointwise.text.values import short


def establish(
    items: nw.LazyFrame | Held,
    engine: Engine,
    *,
    pairs: nw.LazyFrame | None = None,
    common: Totals | None = None,
    outside: nw.LazyFrame | None = None,
    set_aside: nw.LazyFrame | None = None,
    attributes: Table | None = None,
    has_empty: bool = False,
    ids: ItemColumns = ONE_COLUMN,
) -> Evidence:
    """Establish what every item sees of two clusterings: the cells that items are in, with their confusion matrices.

    Everything that judges one clustering by another enters here, whatever the two are.

    Args:
        items: Items with both of their clusters: `item`, `ideal_cluster`, `actual_cluster`, `weight` unless every item
            weighs 1, and columns to slice by.
        engine: Where they live.
        pairs: The pairs of clusters that they are in, if these were counted already.
        common: Number and weight of the items, if they were added up already.
        outside: Members of actual clusters that are not among the items and count as wrong, with columns
            `actual_cluster`, `items` and `weight`.
        set_aside: Pairs of clusters of items that the truth lists but that are not looked at; as `confuse` takes them.
        attributes: A table to take further slice columns from.
        has_empty: Whether some items have an empty cluster on one side; as `confuse` takes it.
        ids: The columns that identify an item.

    Raises:
        NoCommonItemsError: There is no item.
    """
    if pairs is None:
        pairs = cross_tabulate(items.make() if isinstance(items, Held) else items, hold=holding(engine))
    others = [(outside, WEIGHT), (set_aside, TP)]
    own = _sum(pairs, TP, engine) if common is None else common
    sums = [own, *(_sum(other, weight, engine) for other, weight in others if other is not None)]
    if not own.items:
        raise NoCommonItemsError("There is no item that both clusterings have.")
    totals = Totals(sum(s.items for s in sums), sum(s.weight for s in sums))
    cells = confuse(
        pairs,
        totals,
        outside=outside,
        set_aside=set_aside,
        is_weighted=WEIGHT in (items.schema if isinstance(items, Held) else items.collect_schema()),
        has_empty=has_empty,
        hold=holding(engine, most_rows=own.items),  # a cell has an item
    )
    return Evidence(engine, items, cells, totals, attributes, known_weight=own.weight, has_empty=has_empty, ids=ids)


def _sum(rows: nw.LazyFrame, weight: str, engine: Engine) -> Totals:
    sums = only_row(rows.select(nw.col(ITEMS).sum(), nw.col(weight).sum()), engine)
    return Totals(int(sums[ITEMS] or 0), float(sums[weight] or 0.0))


@dataclass(frozen=True)
class Evidence:
    """What an evaluation has established.

    Args:
        engine: Where the frames live.
        found: The common items: `item`, `ideal_cluster`, `actual_cluster`, `weight` unless every item weighs 1,
            and the columns that slices were announced for; held, or to be held when they are first asked for.
        cells: The cells with their confusion matrices, as `confuse` gives them.
        totals: Number and weight of the items that the matrices count.
        attributes: A table to take further slice columns from.
        sample: How the ideal clusters of the truth were drawn.
        known_weight: Weight of the common items, where it was added up already.
        has_empty: Whether some items have an empty cluster on one side, so that more metrics may be undefined.
        ids: The columns that identify an item. If they are several, `item` holds their values joined to one text.
        ordered: Gives the same evidence with its rows sorted by a column, where there are sorted copies.
        known_costs: Gives what every cluster of a side costs, where that was stored.
    """

    engine: Engine
    found: nw.LazyFrame | Held
    cells: nw.LazyFrame
    totals: Totals
    attributes: Table | None = None
    sample: Sample = UNKNOWN
    known_weight: float | None = None
    has_empty: bool = False
    ids: ItemColumns = ONE_COLUMN
    ordered: Callable[[str], Evidence] | None = field(default=None, compare=False)
    known_costs: Callable[[str], nw.LazyFrame | None] | None = field(default=None, compare=False)

    def by(self, column: str) -> Evidence:
        """Return the same evidence, in which an engine finds rows with a few values of a column soonest."""
        return self if self.ordered is None else self.ordered(column)

    @property
    def items(self) -> nw.LazyFrame:
        """The common items."""
        return self.found.frame if isinstance(self.found, Held) else self.found

    @cached_property
    def item_schema(self) -> dict[str, Any]:
        """The columns of the items with their types, which are known before the items are."""
        return self.found.schema if isinstance(self.found, Held) else dict(self.found.collect_schema())

    @cached_property
    def common_weight(self) -> float:
        """Weight of the common items."""
        return total(self.cells, WEIGHT, self.engine) if self.known_weight is None else self.known_weight

    @cached_property
    def estimated_weight(self) -> float:
        """Weight of the items that the common ones stand for."""
        if self.sample.clusters is None:
            return self.common_weight
        return total(self.sample.expand(self.cells.select(IDEAL, WEIGHT)), WEIGHT, self.engine)

    def drawn(self, sample: Sample) -> Evidence:
        """Return the same evidence as a sample, whose items see everything in the population."""
        if sample.population is None:
            return replace(self, sample=sample)
        cells = with_entries(self.cells, sample.population)
        return replace(self, cells=cells, totals=sample.population, sample=sample)

    def weighed_items(self) -> nw.LazyFrame:
        """Return the items with their weight, also where it is 1."""
        if WEIGHT in self.items.collect_schema().names():
            return self.items
        return self.items.with_columns(nw.lit(1.0).alias(WEIGHT))

    def fit(self, metrics: Sequence[Metric]) -> tuple[Metric, ...]:
        """Return metrics as they are averaged here, where some items may have an empty cluster."""
        return tuple(m.with_empty if self.has_empty else m for m in metrics)

    def measured(self, metrics: Sequence[Metric]) -> nw.LazyFrame:
        """Return the cells with one column per metric."""
        return self.engine.plan(measure, self.cells, metrics=tuple(metrics))

    def estimate(self, rows: nw.LazyFrame, by: Sequence[str], metrics: Sequence[Metric]) -> nw.LazyFrame:
        """Average metrics over groups of measured rows, as they would be for all items that the truth stands for."""
        rows, total_weight = self.sample.expand(rows), self.estimated_weight
        return lift(rows, by, metrics=metrics, total_weight=total_weight, plan=self.engine.plan)

    def lift(self, rows: nw.LazyFrame, by: Sequence[str], metrics: Sequence[Metric]) -> nw.LazyFrame:
        """Average metrics over groups of measured rows."""
        return lift(rows, by, metrics=metrics, total_weight=self.common_weight, plan=self.engine.plan)

    @cached_property
    def slice_schema(self) -> dict[str, Any]:
        """The columns that slices can use, with their types."""
        own = {given_name(c): t for c, t in self.item_schema.items() if c.startswith(PREFIX)}
        if self.attributes is None:
            return own
        source, ids = self.attributes.source, self.attributes.item_columns
        taken = {*RESERVED, *ids}
        others = [c for c in source.columns if c not in own and c.lower() not in taken]
        schema = source.load(others).collect_schema() if others else {}
        return own | {given_name(c): dtype for c, dtype in schema.items()}

    def items_with(self, columns: Sequence[str]) -> nw.LazyFrame:
        """Return the items with columns to slice by, which have other names `inside`.

        Columns that the items do not carry yet are joined.
        """
        items = self.weighed_items()
        carried = set(items.collect_schema().names())
        lacking = [c for c in dict.fromkeys(columns) if inside(c) not in carried]
        if not lacking or self.attributes is None:
            return items
        table = with_columns(self.attributes, lacking, self.engine, like=items)
        check_repeats(table, self.engine, among=items.select(ITEM))
        return items.join(table.frame, on=ITEM, how="left")

    def with_attributes(self, table: Table, *, verify: bool = True) -> Evidence:
        """Return the same evidence with another table of slice columns, which take precedence over those carried.

        Args:
            table: The table.
            verify: Whether to check that it contains some of the items, which takes a pass over all of them.

        Raises:
            IdTypeError: Items are integers here and text there.
            NoCommonItemsError: The table is about other items.
        """
        items = self.items.drop(*map(inside, table.source.columns), strict=False)
        if not isinstance(items.collect_schema()[ITEM], nw.String) and table.id_kind != "integer":
            if table.id_kind == "text":
                raise IdTypeError("Items are integers in the evaluation and text in the attributes.")
            items = items.with_columns(nw.col(ITEM).cast(nw.String))
        other = with_columns(table, (), self.engine, like=items)
        if verify and not count(items.select(ITEM).join(other.frame, on=ITEM, how="inner").head(1), self.engine):
            raise NoCommonItemsError(
                f"The attributes contain none of the items. Their items are {examples(other.frame, self.engine)}; "
                f"those of the evaluation are {examples(items, self.engine)}."
            )
        return replace(self, found=items, attributes=table)

    def key(self, column: str, value: Any) -> Any:
        """Write an id as the frames do; a whole number in text stands for an integer where ids are integers."""
        value = join_id(value)
        if isinstance(self.item_schema[column], nw.String):
            return str(value)
        try:
            return _whole(value)
        except (TypeError, ValueError, OverflowError):
            raise NotFoundError(
                f"There is no {column.replace('_', ' ')} {short(value)}: ids are integers here."
            ) from None


def _whole(value: Any) -> int:
    """Read an integer; 1.7 is not item 1."""
    if not isinstance(value, str) and (isinstance(value, bool) or int(value) != value):
        raise ValueError(value)
    return int(value)
