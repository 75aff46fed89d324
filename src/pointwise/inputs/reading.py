"""Inputs: everything that an evaluation reads, found, typed and matched by item."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import CLUSTER, ITEM, RESERVED, WEIGHT, given_name, inside
from pointwise.engines.base import Engine, Source
from pointwise.errors import InputError, MissingColumnError, UsageError
from pointwise.inputs.checks import check_table, say_reserved
from pointwise.inputs.ids import MixedIdsError, explain_mixed_ids, id_expression, id_kind, match_ids
from pointwise.inputs.links import ClusteredLinks
from pointwise.inputs.options import Columns, Options
from pointwise.inputs.tables import Table, check_labels, cluster_columns, item_columns, open_source, require
from pointwise.inputs.unassigned import assign, check_unassigned, reserved_ids

_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


@dataclass(frozen=True)
class Inputs:
    """The tables of an evaluation, with item ids of one type."""

    ideal: Table
    actual: Table
    weights: Table | None  # if weights do not come from a clustering
    weight_role: str | None  # the role of the table that has the weights; None if every item weighs 1
    weight_column: str | None  # its column there
    attributes: Table | None  # with the columns that slices name
    rows: tuple[int, int]  # of the ideal and the actual clustering

    @property
    def sources(self) -> dict[str, Source]:
        """Return where each table comes from, by its role."""
        return {table.role: table.source for table in (self.ideal, self.actual, *self.joined)}

    @property
    def joined(self) -> list[Table]:
        """Return the tables that are joined to the clusterings by item."""
        return [table for table in (self.weights, self.attributes) if table is not None]


def read_inputs(
    engine: Engine, *, ideal: Any, actual: Any, weights: Any = None, attributes: Any = None, options: Options
) -> Inputs:
    """Open all tables, choose their columns, and check what each must hold by itself."""
    check_labels(ideal, actual, options.sides)
    sides = zip(options.sides, (ideal, actual), strict=True)
    sources = {side: open_source(source, engine, role=f"{side} clustering") for side, source in sides}
    if attributes is not None:
        sources["attributes"] = open_source(attributes, engine, role="attributes")
    if weights is not None:
        sources["weights"] = open_source(weights, engine, role="weights")
    home, column = _find_weight(sources, options.weight)
    tables = {}
    for side in options.sides:
        weight = column if home == side else None
        tables[side] = _read_clustering(engine, sources, side, options=options, weight=weight)
    ids = [table.item_columns for table in tables.values()]
    if "attributes" in sources:
        carry = _mentioned(options.slices, sources["attributes"], ())
        tables["attributes"] = _read_joined(engine, sources["attributes"], "attributes", options, ids, carry=carry)
    if home in ("weights", "attributes"):
        tables["weights"] = _read_joined(engine, sources[home], home, options, ids, weight=column)
    return _matched(engine, tables, (home, column), options)


def _find_weight(sources: Mapping[str, Source], weight: str | None) -> tuple[str | None, str | None]:
    """Find the table and the column that the weights come from."""
    if "weights" in sources:
        return "weights", weight or _weight_column(sources["weights"])
    if weight is None:
        return None, None
    for side, source in sources.items():
        if weight in source.columns:
            return side, weight
    places = "; ".join(f"the {side} table has {', '.join(map(repr, s.columns[:12]))}" for side, s in sources.items())
    raise MissingColumnError(f"There is no column {weight!r} to weigh by: {places}.")


def _weight_column(source: Source) -> str:
    if WEIGHT in source.columns:
        return WEIGHT
    others = [c for c in source.columns if c != ITEM]
    if len(source.columns) == 2:  # noqa: PLR2004  # items and their weights
        return others[-1]
    raise MissingColumnError(
        f"The weights ({source.name}) have no column 'weight'. Say which column to weigh by with weight=...: "
        f"{', '.join(map(repr, source.columns))}."
    )


def _read_clustering(
    engine: Engine, sources: Mapping[str, Source], side: str, *, options: Options, weight: str | None
) -> Table:
    taken = sources["attributes"].columns if "attributes" in sources else ()
    first, second = options.sides
    if side == second:
        taken = (*taken, *sources[first].columns)
    is_linked = isinstance(sources[side], ClusteredLinks)  # has named its columns itself
    return read_table(
        sources[side],
        engine,
        role=f"{side} clustering",
        item=ITEM if is_linked else options.columns("item", side),
        cluster=CLUSTER if is_linked else options.columns("cluster", side),
        has_clusters=True,
        carry=_mentioned(options.slices, sources[side], taken),
        weight=weight,
    )


def _read_joined(
    engine: Engine,
    source: Source,
    role: str,
    options: Options,
    ids: Sequence[tuple[str, ...]],
    *,
    carry: Sequence[str] = (),
    weight: str | None = None,
) -> Table:
    """Read a table that is joined by item; its item column is called as in one of the clusterings, or `item`."""
    given = options.item.get(role) if isinstance(options.item, Mapping) else None
    known = next((columns for columns in ids if set(columns) <= set(source.columns)), None)
    item = given or (known if ITEM not in source.columns or known else None)
    return read_table(source, engine, role=role, item=item, has_clusters=False, carry=carry, weight=weight)


def read_attributes(engine: Engine, attributes: Any, *, options: Options, sources: Mapping[str, Source]) -> Table:
    """Open a table of attributes for clusterings that were read before."""
    source = open_source(attributes, engine, role="attributes")
    sides = [(side, f"{side} clustering") for side in options.sides]
    ids = [item_columns(sources[role], options.columns("item", side), role) for side, role in sides]
    return _read_joined(engine, source, "attributes", options, ids)


def _mentioned(slices: Sequence[Any], source: Source, taken: Sequence[str]) -> tuple[str, ...]:
    """List the columns of a table that slices may need and that no earlier table has."""
    own = [c for c in source.columns if c not in taken]
    if any(not isinstance(s, (str, tuple, list)) for s in slices):
        return tuple(c for c in own if c.lower() not in RESERVED)
    words = [word for s in slices for word in ([s] if isinstance(s, str) else s)]
    if any(not isinstance(word, str) for word in words):
        return tuple(c for c in own if c.lower() not in RESERVED)
    found = [c for c in own if any(_mentions(word, c) for word in words)]
    for column in found:
        if column.lower() in RESERVED:
            raise UsageError(say_reserved(column))
    return tuple(found)


def _mentions(text: str, column: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", text) is not None


def _matched(
    engine: Engine, tables: dict[str, Table], weight: tuple[str | None, str | None], options: Options
) -> Inputs:
    try:
        matched = dict(zip(tables, match_ids(list(tables.values())), strict=True))
    except MixedIdsError as error:
        raise explain_mixed_ids(error, engine) from None
    rows = {}
    first, second = options.sides
    for side in options.sides:
        rows[side] = check_table(matched[side], engine)
        policy = options.unassigned_policy(side)
        if side == second and options.missing == "singleton":
            check_unassigned(matched[side], reserved_ids(matched[side]), engine, policy="singleton")
        matched[side], offences = assign(matched[side], policy)
        check_unassigned(tables[side], offences, engine, policy=policy.policy)
        if policy.policy == "drop":
            rows[side] = check_table(matched[side], engine)
    home, column = weight
    role = None if home is None else tables[home].role
    attributes = matched.get("attributes")
    return Inputs(
        matched[first],
        matched[second],
        matched.get("weights"),
        role,
        column,
        attributes,
        (rows[first], rows[second]),
    )


def with_columns(table: Table, columns: Sequence[str], engine: Engine, *, like: nw.LazyFrame) -> Table:
    """Read further columns of a table that is joined by item, with ids of the same type as in another frame."""
    read = read_table(table.source, engine, role=table.role, item=table.item_columns, has_clusters=False, carry=columns)
    dtype = like.collect_schema()[ITEM]
    if read.frame.collect_schema()[ITEM] == dtype:
        return read
    return replace(read, frame=read.frame.with_columns(nw.col(ITEM).cast(dtype)))


def read_table(
    source: Any,
    engine: Engine,
    *,
    role: str,
    item: Columns | None,
    cluster: Columns | None = None,
    has_clusters: bool,
    carry: Sequence[str] = (),
    weight: str | None = None,
) -> Table:
    """Read the items of a source with their clusters and other columns.

    Args:
        source: What the user gave, opened or not.
        engine: What reads it.
        role: What it is for, for messages.
        item: Column or columns that identify an item; by default `item`, or the first of two columns.
        cluster: The same for clusters.
        has_clusters: Whether there is a cluster column to look for.
        carry: Further columns to keep as they are.
        weight: A column to keep as the number `weight`.
    """
    opened = open_source(source, engine, role=role)
    items = item_columns(opened, item, role)
    clusters = cluster_columns(opened, cluster, role, taken=items) if has_clusters else ()
    for name in (*carry, *([weight] if weight else [])):
        require(opened, name, role)
    ids = (*items, *clusters)
    text = ids if weight is None else (*ids, weight)
    frame = opened.load((*ids, *carry, *([weight] if weight else [])), text=text)
    schema = {given_name(column): dtype for column, dtype in frame.collect_schema().items()}
    kind = id_kind(schema, items, opened, role)
    columns = [id_expression(schema, items, opened).alias(ITEM)]
    if clusters:
        id_kind(schema, clusters, opened, role)
        columns.append(id_expression(schema, clusters, opened).alias(CLUSTER))
    if weight is not None:
        columns.append(as_number(schema, weight, role, "to weigh by").alias(WEIGHT))
    return Table(role, opened, frame.select(*columns, *(nw.col(inside(c)) for c in carry)), kind, items)


def as_number(schema: Mapping[str, nw.dtypes.DType], column: str, role: str, purpose: str) -> nw.Expr:
    """Read a column as numbers; text that is no number is missing."""
    dtype, values = schema[column], nw.col(inside(column))
    if isinstance(dtype, nw.String):
        is_number = values.str.contains(_NUMBER)
        return nw.when(is_number).then(values).otherwise(nw.lit(None)).cast(nw.Float64)
    if dtype.is_numeric():
        return values.cast(nw.Float64)
    raise InputError(f"Column {column!r} of the {role} holds values of type {dtype}, not numbers {purpose}.")
