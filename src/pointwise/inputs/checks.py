"""Validation: what must hold before any number is computed, and how to say what does not."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import CLUSTER, ITEM, WEIGHT
from pointwise.core.alignment import Tally, is_bad_weight
from pointwise.engines.base import Engine
from pointwise.errors import (
    EngineError,
    InputError,
    MissingValueError,
    NoCommonItemsError,
    RepeatedItemError,
    SourceError,
    WeightError,
)
from pointwise.inputs.tables import MixedIdsError, Table
from pointwise.text.values import format_count

_EXAMPLES = 5


def count(frame: nw.LazyFrame, engine: Engine) -> int:
    """Count the rows of a frame."""
    return int(engine.collect(frame.select(nw.len().alias("rows")))["rows"][0].as_py() or 0)


def examples(frame: nw.LazyFrame, engine: Engine, column: str = ITEM) -> str:
    """Show a few values of a column, the way they are written in Python."""
    values = engine.collect(frame.select(column).head(_EXAMPLES))[column].to_pylist()
    return ", ".join(_short(value) for value in values)


def _short(value: Any, longest: int = 80) -> str:
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


def check_alignment(
    counts: Tally, ideal: Table, actual: Table, others: list[Table], engine: Engine, *, rows: tuple[int, int]
) -> None:
    """Refuse an alignment that repeats items or has none.

    An inner join of J rows equals the number of matched ideal rows exactly when no matched item repeats in the
    actual clustering, and that of matched actual rows exactly when none repeats in the ideal one. Counting is
    all it takes; the items are looked for only when the counts say that there are some.

    Args:
        counts: What the alignment holds.
        ideal: The ideal clustering.
        actual: The actual clustering.
        others: Tables joined to the alignment by item.
        engine: What counts.
        rows: Number of rows of the ideal and the actual clustering. That of the actual one is -1 if items
            outside the ideal clustering were not kept; then repeats in the ideal one are looked for elsewhere.
    """
    ideal_rows, actual_rows = rows
    is_exact = counts.common == ideal_rows - counts.missing
    is_exact &= actual_rows < 0 or counts.common == actual_rows - counts.outside
    if not is_exact:
        check_repeats(ideal, engine, among=actual.frame)
        check_repeats(actual, engine, among=ideal.frame)
        for other in others:
            check_repeats(other, engine)
        raise EngineError("The clusterings changed while they were read.")
    if counts.common == 0:
        raise NoCommonItemsError(_no_common_items(ideal, actual, engine))


def check_weights(counts: Tally, items: nw.LazyFrame, table: Table | None, column: str, engine: Engine) -> None:
    """Refuse weights that are not positive finite numbers."""
    if not counts.bad_weights:
        if counts.common_weight == float("inf"):
            raise WeightError("The weights add up to more than a floating-point number can hold. Scale them down.")
        return
    bad = items.filter(is_bad_weight())
    rows = engine.collect(bad.select(ITEM, WEIGHT).head(_EXAMPLES)).to_pylist()
    absent = "missing or no number" if table and _is_text(table, column) else "missing"
    shown = ", ".join(f"{_short(r[ITEM])}: {absent if r[WEIGHT] is None else r[WEIGHT]}" for r in rows)
    where = f" in the {table.role} ({table.source.name})" if table else ""
    verb = "has" if counts.bad_weights == 1 else "have"
    many = f"{counts.bad_weights:,} of {format_count(counts.common, 'item')}"
    raise WeightError(
        f"{many} {verb} a weight {column!r}{where} that is missing or not a positive finite number, e.g. {shown}. "
        "Weights must be greater than zero: fix or drop these items."
    )


def _is_text(table: Table, column: str) -> bool:
    """Tell whether weights were read from text, which may say anything."""
    return isinstance(table.source.load((column,)).collect_schema()[column], nw.String) or not table.source.is_typed


def _no_common_items(ideal: Table, actual: Table, engine: Engine) -> str:
    return (
        f"The ideal clustering ({ideal.source.name}) and the actual clustering ({actual.source.name}) have no "
        f"item in common. Ideal items look like {examples(ideal.frame, engine)}; actual items look like "
        f"{examples(actual.frame, engine)}. Check that both identify items in the same way."
    )


def explain_mixed_ids(error: MixedIdsError, engine: Engine) -> NoCommonItemsError:
    """Show the ids of both kinds: the usual cause is 17 against "17"."""
    numbers, texts = error.numbers, error.texts
    return NoCommonItemsError(
        f"No item is common: items are integers in the {numbers.role} ({numbers.source.name}), e.g. "
        f"{examples(numbers.frame, engine)}, but text in the {texts.role} ({texts.source.name}), e.g. "
        f"{examples(texts.frame, engine)}. Convert one side: 17 and '17' are different items."
    )
