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
from pointwise.inputs.checks import check_repeats, check_tables, say_reserved
from pointwise.inputs.composite import ItemColumns, part_kinds
from pointwise.inputs.graphs import ClusteredLinks
from pointwise.inputs.ids import (
    MixedIdsError,
    explain_mixed_ids,
    find_item_columns,
    id_expression,
    id_kind,
    match_ids,
)
from pointwise.inputs.layouts import NOISE, find_clusters
from pointwise.inputs.options import ColumnNames, DistanceMissing, LayoutName, Options, UnassignedPolicy, has_header
from pointwise.inputs.tables import (
    NUMBER,
    Table,
    are_by_place,
    check_header,
    check_labels,
    check_not_pairs,
    check_scopes,
    cluster_columns,
    item_columns,
    open_source,
    require,
)
from pointwise.inputs.unassigned import (
    FILL_IN,
    assign,
    check_unassigned,
    check_unnamed_labels,
    refuse_unassigned,
    reserved_ids,
)
from pointwise.text.values import listed, short


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
    def ids(self) -> ItemColumns:
        """Return the columns that identify an item in the clusterings."""
        return find_item_columns((self.ideal, self.actual))

    @property
    def joined(self) -> list[Table]:
        """Return the tables that are joined to the clusterings by item."""
        return [table for table in (self.weights, self.attributes) if table is not None]


@dataclass(frozen=True)
class _Opened:
    """Everything that was opened: clusterings by name, and tables that are joined to them by item."""

    clusterings: Mapping[str, Source]
    attributes: Source | None = None
    weights: Source | None = None

    @property
    def all(self) -> dict[str, Source]:
        joined = {"attributes": self.attributes, "weights": self.weights}
        return {**self.clusterings, **{role: source for role, source in joined.items() if source is not None}}


def read_inputs(
    engine: Engine, *, ideal: Any, actual: Any, weights: Any = None, attributes: Any = None, options: Options
) -> Inputs:
    """Open all tables of an evaluation, choose their columns, and check what each must hold by itself."""
    clusterings = dict(zip(options.sides, (ideal, actual), strict=True))
    opened = _open_all(engine, clusterings, weights, attributes, options)
    home, column = _find_weight(opened, options.weight)
    tables = _read_clusterings(engine, opened, options, (home, column))
    ids = [table.item_columns for table in tables.values()]
    if opened.attributes is not None:
        carry = _mentioned(options.slices, opened.attributes, ())
        tables["attributes"] = _read_joined(engine, opened.attributes, "attributes", options, ids, carry=carry)
    for name, source in (("weights", opened.weights), ("attributes", opened.attributes)):
        if source is not None and source is home:
            tables["weights"] = _read_joined(engine, source, name, options, ids, weight=column)
    matched, rows = _checked(engine, tables, options)
    first, second = options.sides
    role = next((table.role for table in tables.values() if table.source is home), None)
    joined = matched.get("weights"), role, column, matched.get("attributes")
    return Inputs(matched[first], matched[second], *joined, (rows[first], rows[second]))


def read_clusterings(
    engine: Engine, clusterings: Mapping[str, Any], *, weights: Any = None, options: Options, missing: DistanceMissing
) -> tuple[list[Table], Table | None]:
    """Open several clusterings that are compared with one another, and a table of weights, as `read_inputs` does.

    Returns:
        The clusterings, of which the one with the column to weigh by keeps that, and the weights.
    """
    opened = _open_all(engine, clusterings, weights, None, options)
    home, column = _find_weight(opened, options.weight)
    read = list(_read_clusterings(engine, opened, options, (home, column)).values())
    if opened.weights is not None:
        ids = [table.item_columns for table in read]
        read.append(_read_joined(engine, opened.weights, "weights", options, ids, weight=column))
    matched = _match(engine, read)
    check_tables(matched[: len(clusterings)], engine)
    for table in matched[: len(clusterings)]:
        check_unassigned(table, assign(table, UnassignedPolicy())[1], engine, policy="error", advice=FILL_IN)
        if missing == "singleton":
            check_unassigned(table, reserved_ids(table), engine, policy="singleton")
    for table in matched:
        check_repeats(table, engine)
    return matched[: len(clusterings)], next(iter(matched[len(clusterings) :]), None)


def _open_all(
    engine: Engine, clusterings: Mapping[str, Any], weights: Any, attributes: Any, options: Options
) -> _Opened:
    options.check_tables((*clusterings, "weights", "attributes"))
    sources = {
        side: open_source(source, engine, role=f"{side} clustering", header=has_header(options.header, side))
        for side, source in clusterings.items()
    }
    check_labels(sources)
    if options.item is None:
        check_scopes(sources)
    joined = {
        role: open_source(table, engine, role=role, header=has_header(options.header, role))
        for role, table in (("attributes", attributes), ("weights", weights))
        if table is not None
    }
    return _Opened(sources, **joined)


def _find_weight(opened: _Opened, weight: str | None) -> tuple[Source | None, str | None]:
    """Find the table and the column that the weights come from."""
    if opened.weights is not None:
        return opened.weights, weight or _weight_column(opened.weights)
    if weight is None:
        return None, None
    found = next((source for source in opened.all.values() if weight in source.columns), None)
    if found is None:
        places = "; ".join(f"the {role} table has {listed(source.columns)}" for role, source in opened.all.items())
        raise MissingColumnError(f"There is no column {short(weight)} to weigh by: {places}.")
    return found, weight


def _weight_column(source: Source) -> str:
    if WEIGHT in source.columns:
        return WEIGHT
    others = [c for c in source.columns if c != ITEM]
    if len(source.columns) == 2:  # noqa: PLR2004  # items and their weights
        return others[-1]
    raise MissingColumnError(
        f"The weights ({source.name}) have no column 'weight'. Say which column to weigh by with weight=...: "
        f"{listed(source.columns)}."
    )


def _read_clusterings(
    engine: Engine, opened: _Opened, options: Options, weight: tuple[Source | None, str | None]
) -> dict[str, Table]:
    """Read the items and clusters of all clusterings, with the weights where one of them has these."""
    tables: dict[str, Table] = {}
    taken = [] if opened.attributes is None else list(opened.attributes.columns)
    home, column = weight
    by_place = []
    for side, source in opened.clusterings.items():
        is_linked = isinstance(source, ClusteredLinks)  # has named its columns itself
        named = (source.ids or ITEM, CLUSTER)
        item, cluster = named if is_linked else (options.columns(p, side) for p in ("item", "cluster"))
        layout = None if is_linked else options.layout_of(side)
        if layout is None and has_header(options.header, side) and are_by_place(source, item, cluster):
            check_not_pairs(source, f"{side} clustering")
            by_place.append(side)
        tables[side] = read_table(
            source,
            engine,
            role=f"{side} clustering",
            item=item,
            cluster=cluster,
            layout=layout,
            has_clusters=True,
            carry=_mentioned(options.slices, source, taken),
            weight=column if source is home else None,
        )
        home = None if source is home else home  # the first of two that are the same
        taken += source.columns
    for side in by_place:
        check_header(tables[side], [table for name, table in tables.items() if name != side], engine)
    return tables


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
    source = open_source(attributes, engine, role="attributes", header=has_header(options.header, "attributes"))
    sides = [(side, f"{side} clustering") for side in options.sides]
    ids = [
        item_columns(sources[role], options.columns("item", side), role, layout=options.layout_of(side))
        for side, role in sides
    ]
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


def _match(engine: Engine, tables: Sequence[Table]) -> list[Table]:
    """Bring the item ids of all tables to one type."""
    try:
        return match_ids(tables)
    except MixedIdsError as error:
        raise explain_mixed_ids(error, engine) from None


def _checked(engine: Engine, tables: Mapping[str, Table], options: Options) -> tuple[dict[str, Table], dict[str, int]]:
    """Match the ids of all tables, and apply the policies for items without a cluster; count the rows."""
    matched = dict(zip(tables, _match(engine, list(tables.values())), strict=True))
    policies = {side: _policy_of(matched[side], side, options) for side in options.sides}
    assigned = {side: assign(matched[side], policy) for side, policy in policies.items()}
    suspects = [(tables[s], rows, policies[s].policy) for s, (_, rows) in assigned.items() if rows is not None]
    read = [matched[side] for side in options.sides]
    counted, found = check_tables(read, engine, others=[rows for _, rows, _ in suspects])
    for side, policy in policies.items():
        if _makes_ids_up(side, options):
            check_unassigned(matched[side], reserved_ids(matched[side]), engine, policy="singleton")
        check_unnamed_labels(matched[side], policy, engine)
    refuse_unassigned(suspects, found, engine)
    rows = dict(zip(options.sides, counted, strict=True))
    for side, (table, _) in assigned.items():
        matched[side] = table
        if policies[side].policy == "drop":
            ((rows[side],), _) = check_tables([table], engine)
    return matched, rows


def _policy_of(table: Table, side: str, options: Options) -> UnassignedPolicy:
    """Return what to do with the unassigned items of a clustering, of which a tool may have told the label."""
    policy = options.unassigned_policy(side)
    is_told = options.layout_of(side) == "scikit-learn" or (table.source.labels and table.source.labels.is_fitted)
    return replace(policy, labels=(NOISE,)) if is_told and not policy.labels else policy


def _makes_ids_up(side: str, options: Options) -> bool:
    """Tell whether items that a clustering lacks get clusters there, whose ids must not be taken."""
    if side == options.sides[0]:
        return options.outside == "spurious"
    return options.missing in ("singleton", "wrong")


_PAIR = 2  # columns, which need no names


def say_layouts(sources: Mapping[str, Source], options: Options) -> list[str]:
    """Say in a line each which clusterings were read in the layout of a tool, or by the places of their columns."""
    found = []
    for side in options.sides:
        role = f"{side} clustering"
        note = _layout_note(sources[role], side, options) if role in sources else None
        if note is not None:
            found.append(f"{role.capitalize()}: {note[0].lower()}{note[1:]}")
    return found


def _layout_note(source: Source, side: str, options: Options) -> str | None:
    if isinstance(source, ClusteredLinks):
        return source.note
    if source.labels is not None and source.labels.is_fitted:
        return f"Read as labels of {source.name.removeprefix('a ')}: {NOISE} stands for no cluster"
    fit = find_clusters(source, options.layout_of(side), f"{side} clustering")
    item, cluster = (options.columns(parameter, side) for parameter in ("item", "cluster"))
    if fit is None:
        is_said = not has_header(options.header, side) or not are_by_place(source, item, cluster)
        names = source.columns
        return None if is_said or len(names) != _PAIR else f"Read {names[0]!r} as item and {names[1]!r} as cluster"
    if item is not None and cluster is not None:
        return None
    return str(replace(fit, item=fit.item if item is None else (), cluster=fit.cluster if cluster is None else ()))


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
    item: ColumnNames | None,
    cluster: ColumnNames | None = None,
    layout: LayoutName | None = None,
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
        layout: The tool that wrote the table, if the user said so.
        has_clusters: Whether there is a cluster column to look for.
        carry: Further columns to keep as they are.
        weight: A column to keep as the number `weight`.
    """
    opened = open_source(source, engine, role=role)
    items = item_columns(opened, item, role, layout=layout)
    clusters = cluster_columns(opened, cluster, role, taken=items, layout=layout) if has_clusters else ()
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
    chosen = frame.select(*columns, *(nw.col(inside(c)) for c in carry))
    kinds = part_kinds(schema, items, is_typed=opened.is_typed)
    return Table(role, opened, chosen, kind, items, kinds, clusters, is_whole=True)


def as_number(schema: Mapping[str, nw.dtypes.DType], column: str, role: str, purpose: str) -> nw.Expr:
    """Read a column as numbers; text that is not a number is missing."""
    dtype, values = schema[column], nw.col(inside(column))
    if isinstance(dtype, nw.String):
        is_number = values.str.contains(f"^{NUMBER}$")
        return nw.when(is_number).then(values).otherwise(nw.lit(None)).cast(nw.Float64)
    if dtype.is_numeric():
        return values.cast(nw.Float64)
    raise InputError(f"Column {column!r} of the {role} holds values of type {dtype}, not numbers {purpose}.")
