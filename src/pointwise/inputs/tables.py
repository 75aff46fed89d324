"""Tables: a user's table opened, and the columns that hold its items and clusters."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import CLUSTER, ITEM, WEIGHT
from pointwise.engines.base import Engine, Source, is_surely_full
from pointwise.engines.files import is_path
from pointwise.engines.queries import EXAMPLES
from pointwise.errors import InputError, MissingColumnError, SourceError, UsageError
from pointwise.inputs.dialects import read_dialect
from pointwise.inputs.layouts import check_unambiguous, find_clusters, find_links
from pointwise.inputs.options import BASELINE_AND_EXPERIMENT, IDEAL_AND_ACTUAL, ColumnNames, LayoutName
from pointwise.text.values import MOST_LISTED, listed, short

NUMBER = r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*"
"""A number, as text."""

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
        item_columns: Columns of the source that identify an item.
        item_kinds: What each of them holds, "integer" or "text".
        cluster_columns: Columns of the source that identify a cluster.
        is_whole: Whether it has exactly the rows of its source.
    """

    role: str
    source: Source
    frame: nw.LazyFrame
    id_kind: str
    item_columns: tuple[str, ...] = (ITEM,)
    item_kinds: tuple[str, ...] = ()
    cluster_columns: tuple[str, ...] = ()
    is_whole: bool = False

    def with_frame(self, frame: nw.LazyFrame) -> Table:
        """Return the same table with other contents."""
        return replace(self, frame=frame, is_whole=False)

    def known_rows(self, columns: Sequence[str]) -> int | None:
        """Count the rows, if it is known without a query that columns of the source have no nulls."""
        known = self.source.table if self.is_whole else None
        if known is None or not all(is_surely_full(known[column]) for column in columns):
            return None
        return len(known)


class Openable(ABC):
    """What is not a table itself, but knows how to become one: links."""

    @abstractmethod
    def open(self, engine: Engine, *, role: str) -> Source:
        """Return a table, read by an engine; `role` is what it is for, for messages."""


def open_source(source: Any, engine: Engine, *, role: str, header: bool = True) -> Source:
    """Find a source of any supported kind and name its columns.

    Args:
        source: A path, a glob, several paths; a data frame, an Arrow table, a DuckDB relation; a mapping from
            item to cluster, a pandas Series of memberships, an iterable of clusters; labels in the order of the
            items; or links.
        engine: What will read it.
        role: What it is for, for messages.
        header: Whether CSV files begin with the names of their columns.
    """
    if isinstance(source, Source):
        return source
    try:
        if is_path(source):
            return read_dialect(source, engine) or engine.read(source, header=header)
        if isinstance(source, Openable):
            return source.open(engine, role=role)
        from pointwise.inputs.python import (
            as_table,
            is_splink_frame,
        )  # loads Arrow, which `import pointwise` should not wait for

        table, labels = as_table(source, weighs=role == "weights")
        if table is source:
            return engine.read(table)
        if role == "attributes":
            _refuse_attributes(source)
        *ids, _ = table.column_names
        if role == "weights":
            table = table.rename_columns([*ids, WEIGHT])
        known = () if ids == [ITEM] or is_splink_frame(source) else tuple(ids)
        return replace(engine.read(table), name=f"a {type(source).__name__}", labels=labels, ids=known)
    except (InputError, UsageError) as error:
        is_name = role == "weights" and isinstance(source, str) and not Path(source).suffix
        hint = f" If {short(source)} is a column to weigh by, say weight={short(source)}." if is_name else ""
        raise type(error)(f"The {role}: {error}{hint}") from error


def check_scopes(sources: Mapping[str, Source]) -> None:
    """Refuse clusterings of different samples, whose ids may be equal without meaning the same.

    Raises:
        InputError: The message names the samples.
    """
    scopes = {side: source.scope for side, source in sources.items() if source.scope is not None}
    if len(set(scopes.values())) > 1:
        (one, first), (other, second) = next(
            pair for pair in combinations(scopes.items(), 2) if pair[0][1] != pair[1][1]
        )
        raise InputError(
            f"The {one} clustering is of the sample {short(first)}, the {other} one of {short(second)}. If their items "
            "are the same, say so with item='SEQUENCEID'."
        )


def _refuse_attributes(source: Any) -> None:
    raise InputError(
        f"a {type(source).__name__} has no columns. Give a path, a data frame or an Arrow table with one row per item; "
        "of rows that are dictionaries, pandas.DataFrame(rows)."
    )


def check_labels(sources: Mapping[str, Source]) -> None:
    """Refuse label vectors that cannot be matched with each other.

    Labels are taken to be in the same order, unless all of them have an index that names their items.

    Raises:
        InputError: Their lengths differ, or some have such an index and others do not.
    """
    vectors = {name: source.labels for name, source in sources.items() if source.labels is not None}
    indexed = [name for name, labels in vectors.items() if labels.index == "ids"]
    ordered = [name for name, labels in vectors.items() if labels.index == "order"]
    if indexed and ordered:
        raise InputError(
            f"The labels of the {indexed[0]} clustering have an index, those of the {ordered[0]} one only their order. "
            "If both are in the same order, give the labels alone: labels.to_numpy(). If not, give both an index."
        )
    counts = {name: labels.count for name, labels in vectors.items() if not indexed}
    if len(set(counts.values())) > 1:
        shown = ", ".join(f"{count:,} in the {name} one" for name, count in list(counts.items())[:EXAMPLES])
        raise InputError(f"The clusterings have different numbers of labels: {shown}. Give one per item.")


_PAIRS = (
    *({"l", "r"}, {"lhs", "rhs"}, {"left", "right"}, {"1", "2"}, {"first", "second"}),
    *({"source", "target"}, {"src", "dst"}, {"src", "tgt"}, {"from", "to"}),
)
_NAMED = ("ideal", "actual", "baseline", "experiment")  # of an evaluation and of a diff
_LETTERS = {"a", "b"}  # mean a pair only beside another word: `id_a` and `id_b`


def check_not_pairs(source: Source, role: str) -> None:
    """Refuse a table whose columns are named like the two items of a pair, unless the user says which is the item.

    Raises:
        InputError: Such a table is one of links.
    """
    if ITEM in source.columns or CLUSTER in source.columns:
        return
    fit = find_links(source, None, role)
    if fit is not None:
        threshold = ", threshold=..." if fit.score else ""
        raise InputError(
            f"The {role} ({source.name}) looks like {fit.layout.title}: give {_as_links(role, threshold)}."
        )
    for one, other in combinations(source.columns[:MOST_LISTED], 2):
        if _say_pair(one, other):
            raise InputError(
                f"The {role} ({source.name}) has the columns {one!r} and {other!r}, which look like pairs of "
                f"items. If they are, give {_as_links(role, f', left={one!r}, right={other!r}')}. If not, say which is "
                "which: item=..., cluster=...."
            )


def _as_links(role: str, settings: str) -> str:
    """Write how to give a table as links."""
    side = role.partition(" ")[0]
    return f"{side}=pw.Links(table{settings})" if side in _NAMED[:2] else f"pw.Links(table{settings})"


def _say_pair(one: str, other: str) -> bool:
    """Tell whether two names differ in one word only, as `id_l` and `id_r`, `idLeft` and `idRight` do."""
    names = [[word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", name)] for name in (one, other)]
    if len(names[0]) != len(names[1]):
        return False
    differing = [{a, b} for a, b in zip(*names, strict=True) if a != b]
    known = _PAIRS if len(names[0]) == 1 else (*_PAIRS, _LETTERS)
    return len(differing) == 1 and differing[0] in known


def are_by_place(source: Source, item: ColumnNames | None, cluster: ColumnNames | None) -> bool:
    """Tell whether columns are chosen by their place, because neither the user nor their names say what they are."""
    is_named = {ITEM, CLUSTER} & set(source.columns) or find_clusters(source, None, "") is not None
    return item is None and cluster is None and not is_named


def check_header(table: Table, others: Iterable[Table], engine: Engine) -> None:
    """Refuse a CSV file whose first line looks like data, rather than lose a row.

    Args:
        table: A clustering whose columns the user has not named.
        others: Other clusterings, which may have an item with the name of one of its columns.
        engine: What looks.

    Raises:
        SourceError: A name is a number, or an item of another clustering.
    """
    source = table.source
    if source.is_typed or not source.files:
        return
    is_item = nw.col(ITEM).cast(nw.String).is_in([name for name in source.columns if name])
    if any(re.fullmatch(NUMBER, name) for name in source.columns) or any(
        engine.collect(other.frame.filter(is_item).select(ITEM).head(1)).num_rows for other in others
    ):
        raise SourceError(
            f"The first line of the {table.role} ({source.name}) looks like data, not like the names of its columns: "
            f"{listed(source.columns)}. If it is data, pass {_without_header(table.role)}; if not, say item=..., "
            "cluster=...."
        )


def _without_header(role: str) -> str:
    """Write that one table has no header, where a setting can name it; the others may have one."""
    side = role.partition(" ")[0]
    return f"header={{{side!r}: False}}" if side in _NAMED else "header=False"


def item_columns(
    source: Source, given: ColumnNames | None, role: str, *, layout: LayoutName | None = None
) -> tuple[str, ...]:
    """Find the columns that identify an item: those given, those of a tool's layout, `item`, or the first of two.

    The parts of tuples are such columns by their places, whatever other tables call them.
    """
    if given is None and source.ids:
        return source.ids
    if given is not None:
        return _given(source, given, role, "item")
    fit = find_clusters(source, layout, role)
    if fit is not None and fit.item:
        if layout is None:
            check_unambiguous(fit, source, role, "item")
        return fit.item
    if ITEM in source.columns:
        return (ITEM,)
    others = [c for c in source.columns if c != CLUSTER]
    if fit is None and len(source.columns) == 2 and others:  # noqa: PLR2004  # a table of pairs
        return (others[0],)
    kind = "" if fit is None else f" looks like {fit.layout.title} and"
    raise MissingColumnError(
        f"The {role} ({source.name}){kind} has no column 'item'. Say which of its columns identifies an item with "
        f"item=...: {listed(source.columns)}."
    )


def cluster_columns(
    source: Source, given: ColumnNames | None, role: str, *, taken: tuple[str, ...], layout: LayoutName | None = None
) -> tuple[str, ...]:
    """Find the columns that identify a cluster: those given, of a tool's layout, `cluster`, or the only one left."""
    if given is not None:
        return _given(source, given, role, "cluster")
    fit = find_clusters(source, layout, role)
    if fit is not None and fit.cluster:
        if layout is None:
            check_unambiguous(fit, source, role, "cluster")
        return fit.cluster
    if CLUSTER in source.columns:
        return (CLUSTER,)
    others = [c for c in source.columns if c not in taken]
    if len(others) == 1 and len(source.columns) == len(taken) + 1:
        return (others[0],)
    raise MissingColumnError(
        f"The {role} ({source.name}) has no column 'cluster'. Say which of its columns holds the cluster with "
        f"cluster=...: {listed(source.columns)}."
    )


def _given(source: Source, given: ColumnNames, role: str, parameter: str) -> tuple[str, ...]:
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    if parameter == "item" and len(names) == len(source.ids):
        return source.ids
    wrong = next((name for name in names if not isinstance(name, str)), None)
    if wrong is not None:
        raise UsageError(f"{parameter}=... takes names of columns, not {short(wrong)}.")
    if not names:
        raise UsageError(f"{parameter}=[] names no column.")
    for name in names:
        require(source, name, role, parameter)
    if len(set(names)) < len(names):
        raise UsageError(f"{parameter}=... names a column twice: {listed(names)}.")
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
        f"The {role} ({source.name}) has no column {short(name)}. It has {listed(source.columns)}.{hint}"
    )
