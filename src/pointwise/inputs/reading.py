"""Inputs: everything that an evaluation reads, found, typed and matched by item."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import narwhals.stable.v2 as nw

from pointwise.columns import ITEM, RESERVED, WEIGHT
from pointwise.engines.base import Engine, Source
from pointwise.errors import MissingColumnError, UsageError
from pointwise.inputs.checks import check_table, check_unassigned, explain_mixed_ids, say_reserved
from pointwise.inputs.tables import (
    Columns,
    MixedIdsError,
    Table,
    Unassigned,
    UnassignedPolicy,
    assign,
    check_labels,
    item_columns,
    match_ids,
    open_source,
    read_table,
    reserved_ids,
)

Outside = Literal["ignore", "wrong"]
Missing = Literal["drop", "singleton", "error"]


@dataclass(frozen=True)
class Options:
    """The parameters of an evaluation that say how to read its inputs. `evaluate` explains them."""

    item: Columns | Mapping[str, Columns] | None = None
    cluster: Columns | Mapping[str, Columns] | None = None
    weight: str | None = None
    slices: tuple[Any, ...] = ()
    outside: Outside = "ignore"
    missing: Missing = "drop"
    unassigned: Unassigned | Mapping[str, Unassigned] = "error"
    unassigned_labels: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        _check_choice("outside", self.outside, get_args(Outside))
        _check_choice("missing", self.missing, get_args(Missing))
        per_side = self.unassigned.values() if isinstance(self.unassigned, Mapping) else [self.unassigned]
        for policy in per_side:
            _check_choice("unassigned", policy, get_args(Unassigned))

    def columns(self, parameter: str, side: str) -> Columns | None:
        """Return the columns that `item` or `cluster` names for one table."""
        given: Columns | Mapping[str, Columns] | None = getattr(self, parameter)
        return given.get(side) if isinstance(given, Mapping) else given

    def unassigned_policy(self, side: str) -> UnassignedPolicy:
        """Return what to do with the unassigned items of one clustering."""
        policy = self.unassigned.get(side, "error") if isinstance(self.unassigned, Mapping) else self.unassigned
        return UnassignedPolicy(policy, self.unassigned_labels)


def _check_choice(parameter: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise UsageError(f"{parameter}={value!r} is not one of {', '.join(map(repr, choices))}.")


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
    check_labels(ideal, actual)
    sources = {"ideal": open_source(ideal, engine, role="ideal clustering")}
    sources["actual"] = open_source(actual, engine, role="actual clustering")
    if attributes is not None:
        sources["attributes"] = open_source(attributes, engine, role="attributes")
    if weights is not None:
        sources["weights"] = open_source(weights, engine, role="weights")
    home, column = _find_weight(sources, options.weight)
    tables = {}
    for side in ("ideal", "actual"):
        weight = column if home == side else None
        tables[side] = _read_clustering(engine, sources, side, options=options, weight=weight)
    ids = tables["ideal"].item_columns, tables["actual"].item_columns
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
    if side == "actual":
        taken = (*taken, *sources["ideal"].columns)
    return read_table(
        sources[side],
        engine,
        role=f"{side} clustering",
        item=options.columns("item", side),
        cluster=options.columns("cluster", side),
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
    sides = [(side, f"{side} clustering") for side in ("ideal", "actual")]
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
    for side in ("ideal", "actual"):
        rows[side] = check_table(matched[side], engine)
        policy = options.unassigned_policy(side)
        if side == "actual" and options.missing == "singleton":
            check_unassigned(matched[side], reserved_ids(matched[side]), engine, policy="singleton")
        matched[side], offences = assign(matched[side], policy)
        check_unassigned(tables[side], offences, engine, policy=policy.policy)
        if policy.policy == "drop":
            rows[side] = check_table(matched[side], engine)
    home, column = weight
    role = None if home is None else tables[home].role
    attributes = matched.get("attributes")
    return Inputs(
        matched["ideal"],
        matched["actual"],
        matched.get("weights"),
        role,
        column,
        attributes,
        (rows["ideal"], rows["actual"]),
    )


def with_columns(table: Table, columns: Sequence[str], engine: Engine, *, like: nw.LazyFrame) -> Table:
    """Read further columns of a table that is joined by item, with ids of the same type as in another frame."""
    read = read_table(table.source, engine, role=table.role, item=table.item_columns, has_clusters=False, carry=columns)
    dtype = like.collect_schema()[ITEM]
    if read.frame.collect_schema()[ITEM] == dtype:
        return read
    return replace(read, frame=read.frame.with_columns(nw.col(ITEM).cast(dtype)))
