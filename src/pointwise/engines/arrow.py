"""Arrow: what turns tables in memory and Arrow files into something that every engine takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
from narwhals.exceptions import DuplicateError

from pointwise.columns import inside
from pointwise.errors import SourceError, UsageError
from pointwise.text.values import short

Take = Callable[[Sequence[str]], pa.Table]
"""Turns some columns of a table in memory into an Arrow table, under the names that they have inside."""


def open_table(table: Any) -> tuple[str, tuple[str, ...], Take]:
    """Name a table in memory and its columns, and return what takes some of them.

    Raises:
        SourceError: It has a column twice, or invalid names.
    """
    package = type(table).__module__.split(".")[0].lstrip("_")
    kind = f"{package} {type(table).__name__}"
    frame: Any = None if package == "duckdb" else _as_frame(table)
    if frame is None and not hasattr(table, "__arrow_c_stream__"):
        raise UsageError(f"Cannot read a table from a {kind}.")
    whole = pa.table(table) if frame is None else None
    names = _column_names(table if whole is None else whole)

    def take(columns: Sequence[str]) -> pa.Table:
        positions = [names.index(c) for c in dict.fromkeys(columns)]
        own = [inside(names[n]) for n in positions]
        if whole is not None:
            return whole.select(positions).rename_columns(own)
        if hasattr(table, "iloc"):  # pandas, whose names need not be text
            return _to_arrow(_as_frame(table.iloc[:, positions].set_axis(own, axis="columns")))
        return _to_arrow(nw.from_native(table).select(*(nw.col(names[n]).alias(inside(names[n])) for n in positions)))

    return f"a {kind}", names, take


def _as_frame(table: Any) -> Any:
    try:
        return nw.from_native(table)
    except TypeError:
        return None
    except DuplicateError:
        _column_names(table)  # says which
        raise


def _to_arrow(frame: Any) -> pa.Table:
    try:
        if isinstance(frame, nw.LazyFrame):
            return frame.collect("pyarrow").to_native()
        return frame.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise SourceError(
            f"A column holds values of several kinds, or of a kind that cannot be read: {short(str(error), 200)}. "
            "Make each column of one type, for example text."
        ) from error


def _column_names(table: Any) -> tuple[str, ...]:
    names = table.collect_schema().names() if hasattr(table, "collect_schema") else None
    if names is None:
        names = table.column_names if hasattr(table, "column_names") else list(table.columns)
    if any(isinstance(name, tuple) for name in names):
        raise SourceError("Its columns have names of several levels. Give each column one name.")
    texts = tuple(str(name) for name in names)
    if len(set(texts)) < len(texts):
        raise SourceError(f"It has the column {_repeated(texts)} twice.")
    return texts


def _repeated(names: Sequence[Any]) -> str:
    return short(next(name for n, name in enumerate(names) if name in names[:n]))


def read_arrow_files(found: Sequence[Path]) -> Any:
    """Open Arrow files as one dataset.

    Raises:
        SourceError: One of them is not an Arrow file.
    """
    from pyarrow.dataset import dataset as open_dataset  # loads pandas, if there is one

    try:
        return open_dataset([str(f) for f in found], format="ipc")
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{str(found[0])!r} cannot be read as an Arrow file: {error}") from error
