"""Validation: what must hold before any number is computed, and how to say what does not."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import CLUSTER, ITEM
from pointwise.engines.base import Engine
from pointwise.errors import (
    InputError,
    MissingValueError,
    NoCommonItemsError,
    RepeatedItemError,
    SourceError,
)
from pointwise.inputs.tables import MixedIdsError, Table
from pointwise.text.values import format_count

EXAMPLES = 5


def count(frame: nw.LazyFrame, engine: Engine) -> int:
    """Count the rows of a frame."""
    return int(engine.collect(frame.select(nw.len().alias("rows")))["rows"][0].as_py() or 0)


def examples(frame: nw.LazyFrame, engine: Engine, column: str = ITEM) -> str:
    """Show a few values of a column, the way they are written in Python."""
    values = engine.collect(frame.select(column).head(EXAMPLES))[column].to_pylist()
    return ", ".join(short(value) for value in values)


def short(value: Any, longest: int = 80) -> str:
    """Write a value the way Python does, cut where it is long."""
    text = repr(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def say_reserved(column: str) -> str:
    """Say why a column cannot be sliced by."""
    return f"A column to slice by cannot be called {column!r}: pointwise uses this name itself. Rename the column."


def check_table(table: Table, engine: Engine) -> int:
    """Refuse an empty table and items without an id; return the number of rows."""
    rows = count(table.frame, engine)
    where = f"the {table.role} ({table.source.name})"
    if rows == 0:
        raise SourceError(f"There are no rows in {where}.")
    nulls = count(table.frame.filter(nw.col(ITEM).is_null()), engine)
    if nulls:
        raise MissingValueError(
            f"{format_count(nulls, 'row')} without an item id in {where}. Fill them in or drop these rows."
        )
    return rows


CHOOSE_POLICY = (
    "Say what to do with them: unassigned='singleton' (each alone), unassigned='one-cluster' or unassigned='drop'."
)
FILL_IN = "Give each of them a cluster, or drop these rows."


def check_unassigned(
    table: Table, offences: nw.LazyFrame | None, engine: Engine, *, policy: str, advice: str = CHOOSE_POLICY
) -> None:
    """Refuse items without a cluster, or cluster ids that a policy needs for itself."""
    if offences is None:
        return
    found = count(offences, engine)
    if not found:
        return
    where = f"the {table.role} ({table.source.name})"
    rows = format_count(found, "row")
    if policy == "error":
        raise MissingValueError(f"{rows} without a cluster in {where}, e.g. {examples(offences, engine)}. {advice}")
    raise InputError(
        f"{rows} in {where} with a cluster id that the chosen policy makes up itself, e.g. "
        f"{examples(offences, engine, CLUSTER)}. Rename these clusters."
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


def explain_mixed_ids(error: MixedIdsError, engine: Engine) -> NoCommonItemsError:
    """Show the ids of both kinds: the usual cause is 17 against "17"."""
    numbers, texts = error.numbers, error.texts
    return NoCommonItemsError(
        f"No item is common: items are integers in the {numbers.role} ({numbers.source.name}), e.g. "
        f"{examples(numbers.frame, engine)}, but text in the {texts.role} ({texts.source.name}), e.g. "
        f"{examples(texts.frame, engine)}. Convert one side: 17 and '17' are different items."
    )
