"""Records: what is known about a few items, shown beside their ids so that a person can judge a mistake."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.slices import check_columns
from pointwise.columns import ACTUAL, IDEAL, ITEM, WEIGHT, Column, Kind, inside, keys
from pointwise.core.evidence import Evidence
from pointwise.engines.queries import matching
from pointwise.inputs.composite import ONE_COLUMN, ItemColumns, id_columns
from pointwise.inputs.tables import Table
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import DIFFERS, NOTHING, format_key, shorten

Record = Mapping[str, Any]
"""What is known about an item, by column."""


@dataclass(frozen=True)
class Example:
    """An example item, with what is known about it.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [example.item for part in evaluation.mistakes()[0].largest for example in part.records]
        ['i1', 'i3']
    """

    item: Any
    weight: float
    record: Record = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the id and the record as one."""
        return {**self.record, **id_columns(self.item)}


MOST_COLUMNS = 4
"""How many columns of items are shown by default."""

DIFFERS_MEANS = "*: differs from the first record of the cluster"

_LONGEST = 32  # characters of a value in a table


@dataclass(frozen=True)
class Shown:
    """What is shown of items beside their ids.

    Args:
        columns: The columns.
        is_asked: Whether the user requested them. If not, those that do not fit are left out.
    """

    columns: tuple[str, ...] = ()
    is_asked: bool = False


NOTHING_SHOWN = Shown()


def choose_shown(evidence: Evidence, asked: Sequence[str] | None) -> Shown:
    """Choose which columns of items to show: those requested, or the first few with text or dates.

    Raises:
        MissingColumnError: A requested column does not exist.
    """
    schema = evidence.slice_schema
    if asked is not None:
        check_columns(asked, schema)
        return Shown(tuple(dict.fromkeys(asked)), is_asked=True)
    known = evidence.ids.names  # which are shown anyway
    texts = [name for name, dtype in schema.items() if isinstance(dtype, (nw.String, nw.Date)) and name not in known]
    return Shown(tuple(texts[:MOST_COLUMNS]))


def fetch_examples(evidence: Evidence, items: Iterable[Any], columns: Sequence[str]) -> dict[Any, Example]:
    """Fetch the weight of a few items, and what is known about them.

    Args:
        evidence: Where the items are.
        items: Their ids; those that are not among the common items are left out.
        columns: What to fetch: columns of the attributes, or those that the items carry.

    Returns:
        The items by id as it was given, in this order.
    """
    wanted = {item: evidence.key(ITEM, item) for item in items}
    found = {
        row[ITEM]: Example(evidence.ids.read(row[ITEM]), row[WEIGHT], {c: row[inside(c)] for c in columns})
        for row in _fetch(evidence, list(dict.fromkeys(wanted.values())), columns)
    }
    return {item: found[key] for item, key in wanted.items() if key in found}


def _fetch(evidence: Evidence, items: Sequence[Any], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Fetch a few items with columns of theirs, which have other names `inside`, in no order."""
    if not items:
        return []
    wanted = [{ITEM: item} for item in items]
    few = evidence.engine.checkpoint(matching(evidence.by(ITEM).weighed_items(), wanted, evidence.engine))
    found = replace(evidence, found=few, attributes=_attributes_of(evidence, items)).items_with(columns)
    rows: list[dict[str, Any]] = evidence.engine.collect(
        found.select(ITEM, IDEAL, ACTUAL, WEIGHT, *map(inside, columns))
    ).to_pylist()
    return rows


def _attributes_of(evidence: Evidence, items: Sequence[Any]) -> Table | None:
    """Narrow the attributes down to a few items, where ids are one column of the type that they have there."""
    table = evidence.attributes
    if table is None or len(table.item_columns) != 1 or not table.source.is_typed or not table.source.files:
        return table
    (column,) = table.item_columns
    dtype = table.source.load((column,)).collect_schema()[inside(column)]
    kind = str if isinstance(dtype, nw.String) else int if dtype.is_integer() else None
    if kind is None or not all(isinstance(item, kind) for item in items):
        return table
    return replace(table, source=evidence.engine.look_up(table.source, column, items))


def fetch_records(evidence: Evidence, items: Iterable[Any], columns: Sequence[str]) -> dict[Any, Record]:
    """Fetch what is known about a few items, by item; `fetch_examples` explains the parameters."""
    if not columns:
        return {}
    return {item: example.record for item, example in fetch_examples(evidence, items, columns).items()}


@dataclass(frozen=True, repr=False)
class Records(Result):
    """What is known about some items.

    Args:
        rows: The items, each with its clusters, its weight and what is known about it.
        shown: What is known.
        ids: The columns that identify an item.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(row["item"], row["ideal_cluster"]) for row in evaluation.records(["i1", "i3"])]
        [('i1', 0), ('i3', 1)]
    """

    rows: tuple[Record, ...]
    shown: Shown
    ids: ItemColumns = ONE_COLUMN

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return (*_about(self.ids), *_heads(self.shown, self.ids).values())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(row) for row in self.rows]

    def drawing(self) -> Drawing:
        """Say what to show: the items side by side, with what differs marked."""
        columns = _heads(self.shown, self.ids)
        values = [{name: row[column.name] for name, column in columns.items()} for row in self.rows]
        written = [write_record(value, columns, first=values[0]) for value in values]
        rows = [{**row, **texts} for row, texts in zip(self.rows, written, strict=True)]
        has_marks = bool(find_differences(values, self.shown.columns))
        note = (DIFFERS_MEANS if has_marks else "") if rows else "There are none."
        return Drawing("Records", self.describe(), rows, note)


_CLUSTERS = (*keys(IDEAL, ACTUAL), Column(WEIGHT, Kind.WEIGHT))


def _about(ids: ItemColumns) -> tuple[Column, ...]:
    """Describe what is said of every item."""
    return (*ids.beside(column.name for column in _CLUSTERS).describe(), *_CLUSTERS)


def _heads(shown: Shown, ids: ItemColumns) -> dict[str, Column]:
    return record_columns(shown, (column.name for column in _about(ids)))


def find_records(evidence: Evidence, items: Iterable[Any], shown: Shown) -> Records:
    """Look up a few items with their clusters and what is known about them, in the order given."""
    wanted = list(dict.fromkeys(evidence.key(ITEM, item) for item in items))
    ids = evidence.ids.beside(column.name for column in _CLUSTERS)
    heads = _heads(shown, ids)
    rows = {}
    for row in _fetch(evidence, wanted, shown.columns):
        about = id_columns(ids.read(row[ITEM])) | {column.name: row[column.name] for column in _CLUSTERS}
        rows[row[ITEM]] = about | {head.name: row[inside(name)] for name, head in heads.items()}
    return Records(tuple(rows[item] for item in wanted if item in rows), shown, ids)


def record_columns(shown: Shown, taken: Iterable[str]) -> dict[str, Column]:
    """Describe the columns of records in a drawing that has other columns too, by the name of each in the record."""
    heads = {column.lower() for column in taken}
    return {
        name: Column(f"attribute {name}" if name.lower() in heads else name, is_spare=not shown.is_asked)
        for name in shown.columns
    }


def write_record(record: Record, columns: Mapping[str, Column], *, first: Record | None = None) -> dict[str, str]:
    """Write a record for people: values cut to one line, and those marked that differ from the first record.

    Args:
        record: What to write.
        columns: Its columns in a drawing.
        first: What to compare it with; None to mark nothing.
    """
    marked = find_differences([first, record], columns) if first is not None else []
    return {
        column.name: _write(record.get(name)) + (DIFFERS if name in marked else "") for name, column in columns.items()
    }


def _write(value: Any) -> str:
    return NOTHING if value is None else shorten(format_key(value), _LONGEST)


def find_differences(records: Sequence[Record], columns: Iterable[str]) -> list[str]:
    """Name the columns in which records have different values; a missing value differs from nothing."""
    values = {name: {str(r[name]) for r in records if r.get(name) is not None} for name in columns}
    return [name for name, found in values.items() if len(found) > 1]
