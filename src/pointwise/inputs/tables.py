"""Tables: a user's table opened, and the columns that hold its items and clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import CLUSTER, ITEM, WEIGHT
from pointwise.engines.base import Engine, Source, is_spark_frame
from pointwise.engines.files import is_path
from pointwise.errors import InputError, MissingColumnError, UsageError
from pointwise.inputs.options import BASELINE_AND_EXPERIMENT, IDEAL_AND_ACTUAL, Columns

_SIDES = {f"{side} clustering": sides for sides in (IDEAL_AND_ACTUAL, BASELINE_AND_EXPERIMENT) for side in sides}


@dataclass(frozen=True)
class Table:
    """A table with items: a clustering, weights or attributes.

    Args:
        role: What it is for, as messages call it: "ideal clustering", "weights" and so on.
        source: Where it comes from.
        frame: Column `item` first; what else there is depends on the role.
        id_kind: "integer", "wide" (integers beyond 64 bits), "text", or "untyped" (from a file that does not
            tell numbers from text).
    """

    role: str
    source: Source
    frame: nw.LazyFrame
    id_kind: str
    item_columns: tuple[str, ...] = (ITEM,)

    def with_frame(self, frame: nw.LazyFrame) -> Table:
        """Return the same table with other contents."""
        return replace(self, frame=frame)


def open_source(source: Any, engine: Engine, *, role: str) -> Source:
    """Find a source of any supported kind and name its columns.

    Args:
        source: A path, a glob, several paths; a data frame, an Arrow table, a DuckDB relation; a mapping from
            item to cluster, a pandas Series of memberships, an iterable of clusters; labels in the order of the
            items; or links.
        engine: What will read it.
        role: What it is for, for messages.
    """
    if isinstance(source, Source):
        return source
    try:
        if is_path(source):
            return engine.read(source)
        from pointwise.inputs.links import Links

        if isinstance(source, Links):
            return source.open(engine, role=role)
        from pointwise.inputs.python import as_table  # loads Arrow, which `import pointwise` should not wait for

        table = as_table(source)
        if table is not source and role == "weights":
            table = table.rename_columns([ITEM, WEIGHT])
        opened = engine.read(table)
        return opened if table is source else replace(opened, name=f"a {type(source).__name__}")
    except InputError as error:
        raise type(error)(f"The {role}: {error}") from error


def check_labels(ideal: Any, actual: Any, sides: tuple[str, str]) -> None:
    """Refuse two arrays of labels of different length: they cannot be in the order of the same items."""
    sources = [s for s in (ideal, actual) if not is_spark_frame(s)]
    arrays = [s for s in sources if hasattr(s, "dtype") and hasattr(s, "__len__") and not hasattr(s, "index")]
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise InputError(
            f"The {sides[0]} labels are {lengths[0]:,} and the {sides[1]} ones {lengths[1]:,}: give one per item."
        )


def item_columns(source: Source, given: Columns | None, role: str) -> tuple[str, ...]:
    """Find the columns that identify an item: those given, `item`, or the first of two."""
    if given is not None:
        return _given(source, given, role, "item")
    if ITEM in source.columns:
        return (ITEM,)
    others = [c for c in source.columns if c != CLUSTER]
    if len(source.columns) == 2 and others:  # noqa: PLR2004  # a table of pairs
        return (others[0],)
    raise MissingColumnError(
        f"The {role} ({source.name}) has no column 'item'. Say which of its columns identifies an item with "
        f"item=...: {_listed(source.columns)}."
    )


def cluster_columns(source: Source, given: Columns | None, role: str, *, taken: tuple[str, ...]) -> tuple[str, ...]:
    """Find the columns that identify a cluster: those given, `cluster`, or the only one left."""
    if given is not None:
        return _given(source, given, role, "cluster")
    if CLUSTER in source.columns:
        return (CLUSTER,)
    others = [c for c in source.columns if c not in taken]
    if len(others) == 1 and len(source.columns) == len(taken) + 1:
        return (others[0],)
    raise MissingColumnError(
        f"The {role} ({source.name}) has no column 'cluster'. Say which of its columns holds the cluster with "
        f"cluster=...: {_listed(source.columns)}."
    )


def _given(source: Source, given: Columns, role: str, parameter: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names:
        raise UsageError(f"{parameter}=[] names no column.")
    for name in names:
        require(source, name, role, parameter)
    return names


def require(source: Source, name: str, role: str, parameter: str = "") -> None:
    """Refuse a table without a column of that name."""
    if name in source.columns:
        return
    hint = ""
    if parameter and role in _SIDES:
        first, second = _SIDES[role]
        hint = f" Where the tables name it differently, pass {parameter}={{{first!r}: ..., {second!r}: ...}}."
    raise MissingColumnError(
        f"The {role} ({source.name}) has no column {name!r}. It has {_listed(source.columns)}.{hint}"
    )


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
