"""The page of slices: for whom a clustering works, with intervals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pointwise.explorer.listing import MOST_ROWS, make_listing, say_notes
from pointwise.explorer.runs import run_trail, say_column, sliceable_columns
from pointwise.explorer.site import Page, Visit
from pointwise.explorer.urls import link
from pointwise.text.values import format_count

_SHOWN = 200  # slices


def show_slices(visit: Visit) -> Page:
    """Show the slices that the address names, or else those of the run, or by cluster size."""
    name, evaluation = visit.parts[0], visit.evaluation()
    columns = sliceable_columns(evaluation)
    default = evaluation.options.slices[0] if evaluation.options.slices else columns[0]
    by = visit["by"] or (default if isinstance(default, str) else ",".join(default))
    table = evaluation.by_slice(by)
    if visit["where"]:
        table = table.where(visit["where"])
    rows = table.head(MOST_ROWS).to_dicts()
    keys = table.drawn_keys
    links = (
        {keys[0]: lambda row: link("run", name, "items", where=_condition(keys, row))}
        if _is_plain(keys, columns)
        else {}
    )
    note = say_notes(table, rows, *_cut(len(rows)))
    content = {
        "by": by,
        "where": visit["where"],
        "columns": [(say_column(column), link("run", name, "slices", by=column), column == by) for column in columns],
        "crossed": [_cross(name, by, column) for column in columns if _crosses(keys, column)],
        "slices": make_listing(
            "slices",
            table.title,
            table.describe(),
            rows[:_SHOWN],
            links=links,
            note=note,
        ),
        "action": link("run", name, "slices"),
    }
    title = f"Slices by {say_column(by)}"
    return Page(title, "slices.html", content, run_trail(name), table.columns, rows, {"run": name, "by": by}, run=name)


def _cross(name: str, by: str, column: str) -> tuple[str, str, bool]:
    return f"{say_column(by)}, {say_column(column)}", link("run", name, "slices", by=f"{by},{column}"), False


def _cut(number: int) -> list[str]:
    """Say that not all slices are shown; how many there are is not known above a limit."""
    least = "at least " if number == MOST_ROWS else ""
    return [f"The heaviest {_SHOWN} of {least}{format_count(number, 'slice')}"] if number > _SHOWN else []


def _is_plain(keys: list[str], columns: list[str]) -> bool:
    """Tell whether slices are made from columns of the items."""
    return bool(keys) and all(key in columns and not key.endswith("_cluster_size") for key in keys)


def _crosses(keys: list[str], column: str) -> bool:
    return len(keys) == 1 and column not in keys


def _condition(keys: list[str], row: Mapping[str, Any]) -> str:
    """Write which items a slice holds."""
    return " and ".join(_equals(key, row[key]) for key in keys)


def _equals(key: str, value: Any) -> str:
    name = key if key.isidentifier() else f"`{key}`"
    if value is None:
        return f"{name} is null"
    return f"{name} == {value!r}" if isinstance(value, (bool, int, float)) else f"{name} == {str(value)!r}"
