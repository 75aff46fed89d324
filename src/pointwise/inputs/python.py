"""Memberships: clusterings in plain Python and NumPy objects, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from itertools import chain
from numbers import Integral, Real
from typing import Any, Literal

import pyarrow as pa

from pointwise.columns import CLUSTER, ITEM, WEIGHT
from pointwise.engines.base import Labels, is_spark_frame
from pointwise.errors import IdTypeError, InputError, UsageError, WeightError
from pointwise.inputs.composite import made_up_names
from pointwise.text.values import short


def as_table(source: Any, *, weighs: bool = False) -> tuple[Any, Labels | None]:
    """Turn memberships in plain Python or NumPy objects into a table, and leave tables as they are.

    Args:
        source: What the user gave.
        weighs: Whether a mapping leads from items to weights, not to clusters.

    Returns:
        The table, and what is known of labels if the source is a vector of these.
    """
    if is_splink_frame(source):
        return source.as_pyarrow_table(), None
    if _is_table(source):
        return source, None
    if isinstance(source, Mapping):
        _check_memberships(source)
        table = _weights_of if weighs else _table
        return table(list(source.keys()), list(source.values())), None
    return _table_of_labels(source) or _table_of_parts(source)


def is_splink_frame(source: Any) -> bool:
    """Tell whether a source is a table of Splink's, which names its columns as the tool does."""
    return not is_spark_frame(source) and hasattr(source, "as_pyarrow_table")


def _table_of_labels(source: Any) -> tuple[pa.Table, Labels] | None:
    """Read one label per item from a vector that says so by its type, or from an estimator that was fitted."""
    if hasattr(source, "labels_"):  # of scikit-learn, or of one of its likes
        return _table(range(len(source.labels_)), source.labels_), Labels(len(source.labels_), is_fitted=True)
    if _is_pandas_series(source):
        return _table(source.index, source.array), Labels(len(source), _kind_of_index(source.index))
    if _is_labels(source):
        return _table(range(len(source)), source), Labels(len(source))
    return None


def _table_of_parts(source: Any) -> tuple[pa.Table, Labels | None]:
    """Read clusters, or labels in a plain list."""
    _check_iterable(source)
    parts = list(source)
    if parts and any(isinstance(part, (str, bytes)) or not isinstance(part, Iterable) for part in parts):
        _check_order(source)
        return _table(range(len(parts)), parts), Labels(len(parts))
    return _table_of_clusters(parts), None


def _kind_of_index(index: Any) -> Literal["numbers", "ids"]:
    is_counted = getattr(index, "start", None) == 0 and getattr(index, "step", None) == 1
    return "numbers" if is_counted else "ids"


def _check_iterable(source: Any) -> None:
    kind = type(source).__name__
    if hasattr(source, "nodes") and hasattr(source, "edges"):
        raise UsageError(
            f"Cannot read a clustering from a {kind}. Its connected components are one: give pw.Links(graph). Of its "
            "communities, give the list of sets."
        )
    if hasattr(source, "ndim"):
        raise UsageError(
            f"Cannot read a clustering from an array of {source.ndim} dimensions: give one label per item."
        )
    if not isinstance(source, Iterable):
        article = "an" if kind[0].lower() in "aeiou" else "a"
        raise UsageError(f"Cannot read a clustering from {article} {kind}.")


def _check_order(source: Any) -> None:
    if isinstance(source, AbstractSet):
        raise UsageError("Labels in a set have no order, so it is unclear which item each belongs to. Give a list.")


def _check_memberships(source: Mapping[Any, Any]) -> None:
    """Refuse a mapping to lists: they may be the members of clusters or the columns of a table."""
    if any(isinstance(value, Iterable) and not isinstance(value, (str, bytes)) for value in source.values()):
        raise InputError(
            "A dictionary maps each item to its cluster, but this one maps to lists. If these are the members of each "
            "cluster, give the lists alone: list(clusters.values()). If they are columns, make a table of them: "
            "pyarrow.table(columns)."
        )


def _table_of_clusters(clusters: list[Any]) -> pa.Table:
    if clusters and all(map(_is_scored, clusters)):
        clusters = [members for members, _ in clusters]
    members = [list(cluster) for cluster in clusters]
    ids = chain.from_iterable([n] * len(cluster) for n, cluster in enumerate(members))
    return _table(list(chain.from_iterable(members)), list(ids))


def _is_scored(cluster: Any) -> bool:
    """Tell whether a cluster is one of dedupe's partition: its members, and the score of each, which is a float."""
    if not isinstance(cluster, tuple) or len(cluster) != 2:  # noqa: PLR2004  # members and scores
        return False
    members, scores = cluster
    is_plain = isinstance(scores, tuple) and not any(isinstance(s, Integral) or not isinstance(s, Real) for s in scores)
    is_array = getattr(getattr(scores, "dtype", None), "kind", "") == "f" and scores.ndim == 1
    return (is_plain or is_array) and isinstance(members, tuple) and len(members) == len(scores) > 0


def _table(items: Any, clusters: Any) -> pa.Table:
    return pa.table({**_id_columns(items), CLUSTER: as_array(clusters, "cluster")})


def _id_columns(items: Any) -> dict[str, pa.Array]:
    """Return ids as a column, or a column for every part where they are tuples or the rows of a MultiIndex."""
    if getattr(items, "nlevels", 1) > 1:
        return {
            name: as_array(items.get_level_values(n).to_numpy(), f"item ({name})")
            for n, name in enumerate(_level_names(items.names))
        }
    ids = items.to_numpy() if hasattr(items, "nlevels") else items
    if not len(ids) or not isinstance(ids[0], tuple):
        return {ITEM: as_array(ids, "item")}
    unlike = next(([item] for item in ids if not isinstance(item, tuple) or len(item) != len(ids[0])), [])
    if unlike or len(ids[0]) < _SEVERAL:
        found = " and ".join(map(short, [ids[0], *unlike]))
        raise IdTypeError(f"Item ids that are tuples have two parts or more, and all of them as many, unlike {found}.")
    parts = zip(made_up_names(len(ids[0])), zip(*ids, strict=True), strict=True)
    return {name: as_array(list(part), f"item ({name})") for name, part in parts}


_SEVERAL = 2


def _level_names(given: Iterable[Any]) -> list[str]:
    """Name the levels of an index as it does, where it does and no other column is called so."""
    names = list(given)
    taken = [CLUSTER, WEIGHT]
    for n, own in enumerate(made_up_names(len(names))):
        name = str(names[n]) if names[n] is not None else own
        names[n] = own if name in taken else name
        taken.append(names[n])
    return names


def as_array(values: Any, what: str) -> pa.Array:
    """Turn ids in plain Python or NumPy objects into an Arrow array.

    Raises:
        IdTypeError: They are of a kind, or of several kinds, that cannot be ids.
    """
    try:
        return pa.array(values if not isinstance(values, range) else list(values), from_pandas=True)
    except UnicodeEncodeError as error:
        raise IdTypeError(f"The {what} ids hold text that is not Unicode: {short(error.object)}.") from error
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        kinds = sorted({type(v).__name__ for v in values})
        raise IdTypeError(
            f"The {what} ids are of a kind, or of several kinds, that cannot be compared ({', '.join(kinds)}). "
            "Make them all integers or all text."
        ) from error


def _weights_of(items: list[Any], values: list[Any]) -> pa.Table:
    ids = _id_columns(items)
    try:
        weights = pa.array(values, from_pandas=True)
        known = weights.cast(pa.float64()) if pa.types.is_null(weights.type) else weights
        return pa.table({**ids, WEIGHT: known})
    except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
        kinds = sorted({type(v).__name__ for v in values})
        raise WeightError(f"The weights cannot be read ({', '.join(kinds)}). Make all of them floats.") from error


def _is_table(source: Any) -> bool:
    if is_spark_frame(source):  # first, because Spark Connect's frames claim to have any attribute
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
