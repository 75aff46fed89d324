"""Ids: their kinds, ids of several columns, and one type for the ids of several tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import narwhals.stable.v2 as nw

from pointwise.columns import ITEM, RESULTS, inside
from pointwise.engines.base import Engine, Source
from pointwise.engines.queries import examples
from pointwise.errors import IdTypeError, NoCommonItemsError
from pointwise.inputs.composite import INTEGER, ONE_COLUMN, TEXT, ItemColumns, join_columns, made_up_names
from pointwise.inputs.tables import Table


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
        return join_columns(nw.col(inside(c)).cast(nw.String) for c in columns)
    column, dtype = nw.col(inside(columns[0])), schema[columns[0]]
    if isinstance(dtype, nw.String):
        return column
    is_small = dtype.is_integer() and not isinstance(dtype, (nw.UInt64, nw.Int128, nw.UInt128))
    return column.cast(nw.Int64) if is_small and source.is_typed else column.cast(nw.String)


def find_item_columns(tables: Sequence[Table]) -> ItemColumns:
    """Find out what to call the parts of ids, from the clusterings that they come from.

    The first clustering that names them decides. A part is an integer if it is one in all of them, else text, as it is
    for ids of one column.
    """
    several = [table for table in tables if len(table.item_columns) > 1]
    if not several:
        return ONE_COLUMN
    width = len(several[0].item_columns)
    alike = [table for table in several if len(table.item_columns) == width]
    named = [table.item_columns for table in alike if table.item_columns != made_up_names(width)]
    is_sure = len(alike) == len(tables)
    kinds = [
        INTEGER if is_sure and all(kind == INTEGER for kind in kinds) else TEXT
        for kinds in zip(*(table.item_kinds for table in alike), strict=True)
    ]
    names = named[0] if named else made_up_names(width)
    return ItemColumns(dict(zip(names, kinds, strict=True))).beside(RESULTS)


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
