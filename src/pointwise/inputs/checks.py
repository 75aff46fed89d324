"""Checks: what each table must hold by itself, and how to say what does not."""

from __future__ import annotations

from collections.abc import Sequence

import narwhals.stable.v2 as nw

from pointwise.columns import ITEM
from pointwise.engines.base import Engine
from pointwise.engines.queries import count, count_each, examples
from pointwise.errors import MissingValueError, RepeatedItemError, SourceError
from pointwise.inputs.tables import Table
from pointwise.text.values import format_count


def say_reserved(column: str) -> str:
    """Say why a column cannot be sliced by."""
    return f"A column to slice by cannot be called {column!r}: pointwise uses this name itself. Rename the column."


def check_tables(
    tables: Sequence[Table], engine: Engine, *, others: Sequence[nw.LazyFrame] = ()
) -> tuple[list[int], list[int]]:
    """Refuse empty tables and items without an id.

    Args:
        tables: The tables.
        engine: What counts.
        others: Further frames to count the rows of in the same query.

    Returns:
        The numbers of rows of the tables, and those of the other frames.
    """
    known = [table.known_rows(table.item_columns) for table in tables]
    asked = [table.frame for table, rows in zip(tables, known, strict=True) if rows is None]
    lacking = [frame.filter(nw.col(ITEM).is_null()) for frame in asked]
    found = count_each([*asked, *lacking, *others], engine)
    rows_of, nulls_of, others_of = found[: len(asked)], found[len(asked) : 2 * len(asked)], found[2 * len(asked) :]
    counts = iter(zip(rows_of, nulls_of, strict=True))
    checked = [next(counts) if rows is None else (rows, 0) for rows in known]
    for table, (rows, nulls) in zip(tables, checked, strict=True):
        _check_counts(table, rows, nulls)
    return [rows for rows, _ in checked], others_of


def _check_counts(table: Table, rows: int, nulls: int) -> None:
    where = f"the {table.role} ({table.source.name})"
    if rows == 0:
        raise SourceError(f"There are no rows in {where}.")
    if nulls:
        raise MissingValueError(
            f"{format_count(nulls, 'row')} without an item id in {where}. Fill them in or drop these rows."
        )


def check_repeats(table: Table, engine: Engine, *, among: nw.LazyFrame | None = None) -> None:
    """Refuse a table that lists an item twice, among all its items or those of another frame."""
    frame = table.frame.select(ITEM)
    if among is not None:
        frame = frame.join(among.group_by(ITEM).agg(nw.len().alias("_rows")).select(ITEM), on=ITEM, how="inner")
    repeats = frame.group_by(ITEM).agg(nw.len().alias("_rows")).filter(nw.col("_rows") > 1)
    found = count(repeats, engine)
    if not found:
        return
    rule = "Each item belongs to exactly one cluster: drop" if "clustering" in table.role else "Drop"
    raise RepeatedItemError(
        f"{found:,} {'item appears' if found == 1 else 'items appear'} more than once in the {table.role} "
        f"({table.source.name}), e.g. {examples(repeats.sort(ITEM), engine)}. {rule} the repeats, or name the "
        "columns that together identify an item with item=[...]."
    )
