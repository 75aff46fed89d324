"""Ids: their kinds, ids of several columns, and one type for the ids of several tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import ITEM, inside
from pointwise.engines.base import Engine, Source
from pointwise.engines.queries import examples
from pointwise.errors import IdTypeError, NoCommonItemsError
from pointwise.inputs.tables import Table

_SEPARATOR = "|"


def id_kind(schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str], source: Source, role: str) -> str:
    """Tell what kind of ids some columns hold; refuse those that identify nothing."""
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


def id_expression(schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str], source: Source) -> nw.Expr:
    """Return the id that some columns make together."""
    if len(columns) > 1:
        return nw.concat_str([_escaped(nw.col(inside(c)).cast(nw.String)) for c in columns], separator=_SEPARATOR)
    column, dtype = nw.col(inside(columns[0])), schema[columns[0]]
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
    if kinds in ({"integer"}, {"text"}):
        return list(tables)
    return [replace(t, frame=t.frame.with_columns(nw.col(ITEM).cast(nw.String))) for t in tables]


class MixedIdsError(IdTypeError):
    """One table identifies items by numbers, another one by text."""

    def __init__(self, numbers: Table, texts: Table) -> None:
        super().__init__(f"Items are numbers in the {numbers.role} and text in the {texts.role}.")
        self.numbers, self.texts = numbers, texts


def explain_mixed_ids(error: MixedIdsError, engine: Engine) -> NoCommonItemsError:
    """Show the ids of both kinds: the usual cause is 17 against "17"."""
    numbers, texts = error.numbers, error.texts
    return NoCommonItemsError(
        f"No item is common: items are integers in the {numbers.role} ({numbers.source.name}), e.g. "
        f"{examples(numbers.frame, engine)}, but text in the {texts.role} ({texts.source.name}), e.g. "
        f"{examples(texts.frame, engine)}. Convert one side: 17 and '17' are different items."
    )
