"""Composite ids: ids of several columns, joined to one text inside, and taken apart when they are handed out.

Inside, the id ("a", 17) is the text `a|17`: engines compare and sort one column. `ItemColumns` remembers which columns
the parts came from, so that tables and files of results have these columns again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import narwhals.stable.v2 as nw

from pointwise.columns import ITEM, Column, keys

if TYPE_CHECKING:
    import pyarrow as pa

SEPARATOR, _ESCAPE = "|", "\\"

_PART = r"[^|\\]*(?:\\[|\\][^|\\]*)*"
"""A part with its escapes, in regular expressions of every engine. Java's would recurse for `(?:[^|\\]|...)*`."""

INTEGER, TEXT = "integer", "text"


class ItemId(tuple[Any, ...]):  # noqa: SLOT001  # a tuple cannot have slots
    """An item that several columns identify: its parts, which know what their columns are called.

    It equals the plain tuple of its parts. As text it is what the command line takes.

    Examples:
        >>> import pointwise as pw
        >>> clusters = {("shop", 1): "x", ("shop", 2): "x", ("mail", 1): "y"}
        >>> evaluation = pw.evaluate(ideal=clusters, actual=clusters)
        >>> item = evaluation.explain(item=("shop", 1)).item
        >>> item == ("shop", 1), str(item), item.names
        (True, 'shop|1', ('item_1', 'item_2'))
    """

    names: tuple[str, ...]

    def __new__(cls, parts: Iterable[Any], names: Iterable[str] = ()) -> Self:
        """Make an id of its parts and the names of their columns."""
        made = super().__new__(cls, parts)
        made.names = tuple(names)
        return made

    def __getnewargs__(self) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        """Say how to make a copy."""
        return tuple(self), self.names

    def __str__(self) -> str:
        """Join the parts."""
        return str(join_id(self))


def join_id(parts: Any) -> Any:
    """Write an id of several parts as the tables do: ("a", 17) becomes "a|17"."""
    return SEPARATOR.join(map(_escape, parts)) if isinstance(parts, tuple) else parts


def _escape(part: Any) -> str:
    text = str(part).lower() if isinstance(part, bool) else str(part)  # as engines write true and false
    return text.replace(_ESCAPE, _ESCAPE + _ESCAPE).replace(SEPARATOR, _ESCAPE + SEPARATOR)


def join_columns(columns: Iterable[nw.Expr]) -> nw.Expr:
    """Join columns of text; escapes make sure that ("a|b", "c") and ("a", "b|c") stay different."""
    return nw.concat_str([_escaped(column) for column in columns], separator=SEPARATOR)


def _escaped(text: nw.Expr) -> nw.Expr:
    doubled = text.str.replace_all(_ESCAPE, _ESCAPE + _ESCAPE, literal=True)
    return doubled.str.replace_all(SEPARATOR, _ESCAPE + SEPARATOR, literal=True)


def _unescaped(text: nw.Expr) -> nw.Expr:
    """Undo `_escaped`. Every separator in a part has a backslash of its own before it; the others are doubled."""
    bare = text.str.replace_all(_ESCAPE + SEPARATOR, SEPARATOR, literal=True)
    return bare.str.replace_all(_ESCAPE + _ESCAPE, _ESCAPE, literal=True)


def id_columns(item: Any) -> dict[str, Any]:
    """Return an item by column: under `item`, or its parts under the names of their columns."""
    return dict(zip(item.names, item, strict=True)) if isinstance(item, ItemId) else {ITEM: item}


def id_value(item: Any) -> Any:
    """Return an item as one value of a row: its id, or its parts by column."""
    return id_columns(item) if isinstance(item, ItemId) else item


@dataclass(frozen=True)
class ItemColumns:
    """The columns that identify an item.

    Args:
        kinds: What each of several columns holds, "integer" or "text", by name. Empty if one column does it, which is
            called `item`.
    """

    kinds: Mapping[str, str]

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are called."""
        return tuple(self.kinds) or (ITEM,)

    def read(self, item: Any) -> Any:
        """Take a joined id apart; an id that is not made of so many parts stays as it is."""
        found = self._pattern.fullmatch(item) if self.kinds and isinstance(item, str) else None
        if found is None:
            return item
        texts = (re.sub(r"\\(.)", r"\1", part) for part in found.groups())
        typed = [int(t) if kind == INTEGER else t for t, kind in zip(texts, self.kinds.values(), strict=True)]
        return ItemId(typed, self.names)

    @property
    def _pattern(self) -> re.Pattern[str]:
        return re.compile(r"\|".join(f"({_PART})" for _ in self.kinds))

    def parts(self, column: str = ITEM) -> dict[str, nw.Expr]:
        """Take a column of joined ids apart, by name; what is not made of so many parts is the first part."""
        joined, last = nw.col(column), len(self.kinds) - 1
        is_whole = joined.str.contains(rf"^{_PART}(?:\|{_PART}){{{last}}}\z")
        found = {}
        for number, (name, kind) in enumerate(self.kinds.items()):
            part = joined.str.replace_all(rf"^(?:{_PART}\|){{{number}}}", "") if number else joined
            part = part.str.replace_all(rf"(?:\|{_PART}){{{last - number}}}\z", "") if number < last else part
            other = nw.lit(None, nw.String) if number else joined
            text = nw.when(is_whole).then(_unescaped(part)).otherwise(other)
            found[name] = text.cast(nw.Int64) if kind == INTEGER else text
        return found

    def beside(self, taken: Iterable[str]) -> ItemColumns:
        """Rename columns that a table has others of already."""
        others = {name.lower() for name in taken}
        renamed = {}
        for name, kind in self.kinds.items():
            free = name
            while free.lower() in others:
                free = f"{ITEM}_{free}"
            others.add(free.lower())
            renamed[free] = kind
        return ItemColumns(renamed)

    def take_apart(self, table: pa.Table) -> pa.Table:
        """Return a small table with the columns that identify an item instead of `item`, if these are several."""
        if not self.kinds:
            return table
        others = [name for name in table.column_names if name != ITEM]
        parts = (part.alias(name) for name, part in self.parts().items())
        found: pa.Table = nw.from_native(table).select(*parts, *others).to_native()
        return found

    def describe(self) -> tuple[Column, ...]:
        """Describe the columns in a table of results."""
        return keys(*self.names)


ONE_COLUMN = ItemColumns({})


def made_up_names(number: int) -> tuple[str, ...]:
    """Name the parts of ids that come without names: tuples."""
    return tuple(f"{ITEM}_{n}" for n in range(1, number + 1))


def part_kinds(schema: Mapping[str, nw.dtypes.DType], columns: Sequence[str], *, is_typed: bool) -> tuple[str, ...]:
    """Tell which of the columns that identify an item together hold integers, and which text."""
    return tuple(INTEGER if is_typed and _is_small(schema[column]) else TEXT for column in columns)


def _is_small(dtype: nw.dtypes.DType) -> bool:
    return dtype.is_integer() and not isinstance(dtype, (nw.UInt64, nw.Int128, nw.UInt128))
