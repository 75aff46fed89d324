"""Memberships: clusterings in plain Python and NumPy objects, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import chain
from typing import Any

import pyarrow as pa

from pointwise.columns import CLUSTER, ITEM
from pointwise.engines.base import is_spark_frame
from pointwise.errors import IdTypeError, InputError, UsageError


def as_table(source: Any) -> Any:
    """Turn memberships in plain Python or NumPy objects into a table; leave tables as they are."""
    if _is_table(source):
        return source
    if isinstance(source, Mapping):
        _check_memberships(source)
        return _table(list(source.keys()), list(source.values()))
    if _is_pandas_series(source):
        return _table(source.index.to_numpy(), source.array)
    if _is_labels(source):
        return _table(range(len(source)), source)
    if isinstance(source, Iterable):
        return _table_of_clusters(list(source))
    raise UsageError(f"An object of type {type(source).__name__} is not something to read a clustering from.")


def _check_memberships(source: Mapping[Any, Any]) -> None:
    """Refuse lists for values: they may be the members of clusters or the columns of a table."""
    if any(isinstance(value, Iterable) and not isinstance(value, (str, bytes)) for value in source.values()):
        raise InputError(
            "A dictionary maps each item to its cluster, but this one maps to lists. If these are the members of each "
            "cluster, give the lists alone: list(clusters.values()). If they are columns, make a table of them: "
            "pyarrow.table(columns)."
        )


def _table_of_clusters(clusters: list[Any]) -> pa.Table:
    if any(isinstance(c, (str, bytes)) or not isinstance(c, Iterable) for c in clusters):
        return _table(range(len(clusters)), clusters)
    members = [list(cluster) for cluster in clusters]
    ids = chain.from_iterable([n] * len(cluster) for n, cluster in enumerate(members))
    return _table(list(chain.from_iterable(members)), list(ids))


def _table(items: Any, clusters: Any) -> pa.Table:
    return pa.table({ITEM: _array(items, "item"), CLUSTER: _array(clusters, "cluster")})


def _array(values: Any, what: str) -> pa.Array:
    try:
        return pa.array(values if not isinstance(values, range) else list(values), from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError, OverflowError) as error:
        kinds = sorted({type(v).__name__ for v in values})
        raise IdTypeError(
            f"The {what} ids are of a kind, or of several kinds, that cannot be compared ({', '.join(kinds)}). "
            "Make them all integers or all text."
        ) from error


def _is_table(source: Any) -> bool:
    if is_spark_frame(source):  # first: one of Spark Connect claims to have any attribute
        return True
    if isinstance(source, Mapping) or _is_pandas_series(source):
        return False
    if hasattr(source, "__arrow_c_stream__") and not _is_labels(source):
        return True
    return hasattr(source, "collect_schema") or hasattr(source, "columns")  # in this order: Polars warns of the latter


def _is_pandas_series(source: Any) -> bool:
    return hasattr(source, "index") and hasattr(source, "array") and hasattr(source, "to_frame")


def _is_labels(source: Any) -> bool:
    """Tell whether a source is a NumPy array or a Polars or Arrow column: one label per item, in order."""
    if hasattr(source, "ndim") and hasattr(source, "dtype"):
        return int(source.ndim) == 1
    return hasattr(source, "dtype") or isinstance(source, (pa.Array, pa.ChunkedArray))
