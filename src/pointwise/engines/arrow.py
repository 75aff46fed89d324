"""Arrow: what turns tables in memory and Arrow files into something that every engine takes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa

from pointwise.errors import SourceError, UsageError


def open_table(table: Any) -> tuple[str, Callable[[Sequence[str]], pa.Table]]:
    """Name a table in memory, and return what turns some of its columns into an Arrow table."""
    package = type(table).__module__.split(".")[0].lstrip("_")
    kind = f"{package} {type(table).__name__}"
    try:
        frame: Any = nw.from_native(table)
    except TypeError:
        frame = None
    if frame is not None and package != "duckdb":
        return f"a {kind}", lambda columns: _frame_to_arrow(frame, columns)
    if hasattr(table, "__arrow_c_stream__"):
        whole = pa.table(table)
        return f"a {kind}", lambda columns: whole.select(list(dict.fromkeys(columns)))
    raise UsageError(f"A {kind} is not something that pointwise can read as a table.")


def _frame_to_arrow(frame: Any, columns: Sequence[str]) -> pa.Table:
    selected = frame.select(*dict.fromkeys(columns))
    try:
        if isinstance(selected, nw.LazyFrame):
            return selected.collect("pyarrow").to_native()
        return selected.to_arrow()
    except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError) as error:
        raise SourceError(
            f"A column holds values of several kinds, or of a kind without a common type: {error}. "
            "Make each column of one type, for example text."
        ) from error


def column_names(table: Any) -> tuple[str, ...]:
    """Name the columns of a table in memory."""
    names = table.collect_schema().names() if hasattr(table, "collect_schema") else None
    if names is None:
        names = table.column_names if hasattr(table, "column_names") else getattr(table, "columns", None)
    if names is None:
        names = pa.table(table).column_names
    return tuple(str(name) for name in names)


def read_arrow_files(found: Sequence[Path]) -> Any:
    """Open Arrow files as one dataset.

    Raises:
        SourceError: One of them is no Arrow file.
    """
    from pyarrow.dataset import dataset as open_dataset  # loads pandas, if there is one

    try:
        return open_dataset([str(f) for f in found], format="ipc")
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{str(found[0])!r} cannot be read as an Arrow file: {error}") from error
