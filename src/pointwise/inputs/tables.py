"""Clusterings: from whatever a user has to a frame of items and their clusters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import narwhals.stable.v2 as nw

from pointwise.columns import CLUSTER, ITEM, WEIGHT
from pointwise.engines.base import Engine, Source, is_spark_frame
from pointwise.engines.files import is_path
from pointwise.errors import IdTypeError, InputError, MissingColumnError, UsageError

Columns = str | Sequence[str]
Unassigned = Literal["error", "singleton", "one-cluster", "drop"]

ALONE = "<alone> "  # with an item behind it: the id of a cluster that exists for this item only
UNASSIGNED_CLUSTER = "<unassigned>"

_SEPARATOR = "|"
_SIDES = ("ideal clustering", "actual clustering")
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


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
            item to cluster, a pandas Series of memberships, an iterable of clusters; or labels in the order
            of the items.
        engine: What will read it.
        role: What it is for, for messages.
    """
    if isinstance(source, Source):
        return source
    try:
        if is_path(source):
            return engine.read(source)
        from pointwise.inputs.python import as_table  # loads Arrow, which `import pointwise` should not wait for

        table = as_table(source)
        if table is not source and role == "weights":
            table = table.rename_columns([ITEM, WEIGHT])
        opened = engine.read(table)
        return opened if table is source else replace(opened, name=f"a {type(source).__name__}")
    except InputError as error:
        raise type(error)(f"The {role}: {error}") from error


def check_labels(ideal: Any, actual: Any) -> None:
    """Refuse two arrays of labels of different length: they cannot be in the order of the same items."""
    sources = [s for s in (ideal, actual) if not is_spark_frame(s)]
    arrays = [s for s in sources if hasattr(s, "dtype") and hasattr(s, "__len__") and not hasattr(s, "index")]
    lengths = [len(array) for array in arrays]
    if len(set(lengths)) > 1:
        raise InputError(f"The ideal labels are {lengths[0]:,} and the actual ones {lengths[1]:,}: give one per item.")


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
    clusters = _cluster_columns(opened, cluster, role, taken=items) if has_clusters else ()
    for name in (*carry, *([weight] if weight else [])):
        _require(opened, name, role)
    ids = (*items, *clusters)
    text = ids if weight is None else (*ids, weight)
    frame = opened.load((*ids, *carry, *([weight] if weight else [])), text=text)
    schema = frame.collect_schema()
    kind = _id_kind(schema, items, opened, role)
    columns = [_id_expression(schema, items, opened).alias(ITEM)]
    if clusters:
        _id_kind(schema, clusters, opened, role)
        columns.append(_id_expression(schema, clusters, opened).alias(CLUSTER))
    if weight is not None:
        columns.append(_number(schema, weight, role).alias(WEIGHT))
    return Table(role, opened, frame.select(*columns, *(nw.col(c) for c in carry)), kind, items)


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


def _cluster_columns(source: Source, given: Columns | None, role: str, *, taken: tuple[str, ...]) -> tuple[str, ...]:
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
        _require(source, name, role, parameter)
    return names


def _require(source: Source, name: str, role: str, parameter: str = "") -> None:
    if name in source.columns:
        return
    hint = ""
    if parameter and role in _SIDES:
        hint = f" Where the tables name it differently, pass {parameter}={{'ideal': ..., 'actual': ...}}."
    raise MissingColumnError(
        f"The {role} ({source.name}) has no column {name!r}. It has {_listed(source.columns)}.{hint}"
    )


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(repr(n) for n in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def _id_kind(schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str], source: Source, role: str) -> str:
    kinds = {_kind_of_type(schema[c], c, role, source) for c in columns}
    if len(columns) > 1:
        return "untyped"  # joined as text, where 17 and "17" look the same
    return kinds.pop() if source.is_typed else "untyped"


def _kind_of_type(dtype: nw.dtypes.DType, column: str, role: str, source: Source) -> str:
    if dtype.is_float() or isinstance(dtype, nw.Decimal):
        raise IdTypeError(
            f"Column {column!r} of the {role} ({source.name}) holds {dtype} numbers, which do not identify "
            "anything reliably. Make them integers or text; in pandas, missing values turn integers into floats: "
            "use .astype('Int64')."
        )
    if dtype.is_nested() or isinstance(dtype, nw.Binary):
        raise IdTypeError(
            f"Column {column!r} of the {role} ({source.name}) holds values of type {dtype}, which cannot be ids. "
            "Make them integers or text."
        )
    if isinstance(dtype, (nw.UInt64, nw.Int128, nw.UInt128)):
        return "wide"
    return "integer" if dtype.is_integer() else "text"


def _id_expression(schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str], source: Source) -> nw.Expr:
    if len(columns) > 1:
        return nw.concat_str([_escaped(nw.col(c).cast(nw.String)) for c in columns], separator=_SEPARATOR)
    column, dtype = nw.col(columns[0]), schema[columns[0]]
    if isinstance(dtype, nw.String):
        return column
    is_small = dtype.is_integer() and not isinstance(dtype, (nw.UInt64, nw.Int128, nw.UInt128))
    return column.cast(nw.Int64) if is_small and source.is_typed else column.cast(nw.String)


def _escaped(text: nw.Expr) -> nw.Expr:
    """Make sure that ("a|b", "c") and ("a", "b|c") stay different when joined."""
    doubled = text.str.replace_all("\\", "\\\\", literal=True)
    return doubled.str.replace_all(_SEPARATOR, "\\" + _SEPARATOR, literal=True)


def join_id(parts: Any) -> Any:
    """Write an id of several parts as the tables do: ("a", 17) becomes "a|17"."""
    if not isinstance(parts, tuple):
        return parts
    texts = (str(p).replace("\\", "\\\\").replace(_SEPARATOR, "\\" + _SEPARATOR) for p in parts)
    return _SEPARATOR.join(texts)


def _number(schema: Mapping[str, nw.dtypes.DType], column: str, role: str) -> nw.Expr:
    dtype = schema[column]
    if isinstance(dtype, nw.String):
        is_number = nw.col(column).str.contains(_NUMBER)
        return nw.when(is_number).then(nw.col(column)).otherwise(nw.lit(None)).cast(nw.Float64)
    if dtype.is_numeric():
        return nw.col(column).cast(nw.Float64)
    raise InputError(f"Column {column!r} of the {role} holds values of type {dtype}, not numbers to weigh by.")


def match_ids(tables: Sequence[Table]) -> list[Table]:
    """Bring the item ids of several tables to one type, so that they can be compared.

    Integers stay integers where all tables have them. A file without types matches integers by their plain
    form: the text `7` is 7, the text `007` is not.

    Raises:
        IdTypeError: One table has integers and another one typed text.
    """
    kinds = {table.id_kind for table in tables}
    if "text" in kinds and kinds & {"integer", "wide"}:
        numbers = next(t for t in tables if t.id_kind in ("integer", "wide"))
        texts = next(t for t in tables if t.id_kind == "text")
        raise MixedIdsError(numbers, texts)
    if kinds == {"integer"}:
        return list(tables)
    return [t.with_frame(t.frame.with_columns(nw.col(ITEM).cast(nw.String))) for t in tables]


class MixedIdsError(IdTypeError):
    """One table identifies items by numbers, another one by text."""

    def __init__(self, numbers: Table, texts: Table) -> None:
        super().__init__(f"Items are numbers in the {numbers.role} and text in the {texts.role}.")
        self.numbers, self.texts = numbers, texts


@dataclass(frozen=True)
class UnassignedPolicy:
    """What happens to items that a clustering gives no cluster, or a label that stands for none."""

    policy: Unassigned = "error"
    labels: tuple[Any, ...] = ()


def assign(table: Table, policy: UnassignedPolicy) -> tuple[Table, nw.LazyFrame | None]:
    """Apply a policy to the items without a cluster.

    Returns:
        The clustering, and a frame whose rows are offences: to be found empty before the clustering is used.
    """
    schema = table.frame.collect_schema()
    is_text = isinstance(schema[CLUSTER], nw.String)
    unassigned = _is_unassigned(policy.labels, is_text=is_text)
    frame = table.frame
    if policy.policy == "error":
        return table, frame.filter(unassigned)
    if policy.policy == "drop":
        return table.with_frame(frame.filter(~unassigned)), None
    if policy.policy == "one-cluster":
        substitute: nw.Expr = nw.lit(UNASSIGNED_CLUSTER)
    else:
        substitute = nw.concat_str([nw.lit(ALONE), nw.col(ITEM).cast(nw.String)])
    cluster = nw.when(unassigned).then(substitute).otherwise(nw.col(CLUSTER).cast(nw.String))
    return table.with_frame(frame.with_columns(cluster.alias(CLUSTER))), reserved_ids(table)


def reserved_ids(table: Table) -> nw.LazyFrame | None:
    """Find clusters whose ids look like those that a policy makes up; None if there can be none."""
    if not isinstance(table.frame.collect_schema()[CLUSTER], nw.String):
        return None
    cluster = nw.col(CLUSTER)
    return table.frame.filter(cluster.str.starts_with(ALONE) | (cluster == UNASSIGNED_CLUSTER))


def _is_unassigned(labels: Sequence[Any], *, is_text: bool) -> nw.Expr:
    matches = nw.col(CLUSTER).is_null()
    for label in labels:
        if label is None:
            continue
        if not is_text and not isinstance(label, int):
            raise UsageError(f"The unassigned label {label!r} is not an integer, but the clusters' ids are.")
        # `matches` is never null, because a null cluster makes its first part true.
        matches = matches | (nw.col(CLUSTER) == (str(label) if is_text else label))
    return matches
