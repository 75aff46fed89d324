"""Details: what a cluster opens to, its cells with example items."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.answers.breakdown import Breakdown, Cell
from pointwise.answers.records import Example
from pointwise.columns import IDEAL, ITEM_SIZES, WEIGHT, Column, Kind
from pointwise.inputs.composite import ItemColumns, id_columns
from pointwise.pages.grids import Head, Value, head_of, write
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_share, format_weight

MOST_CLUSTERS = 100  # in a table
MOST_CELLS = 6  # of a cluster
MOST_ATTRIBUTES = 8  # of an item


@dataclass(frozen=True)
class CellDetail:
    """A cell of a cluster, with examples of its items."""

    cluster: Value  # on the other side
    share: str
    percent: str  # the share as the width of a bar
    items: str
    weight: str
    examples: list[list[Value]]


@dataclass(frozen=True)
class DetailPart:
    """The cells of a cluster in one evaluation."""

    note: str
    other: str
    cells: list[CellDetail]


@dataclass(frozen=True)
class ClusterDetail:
    """What a cluster opens to."""

    cluster: str
    parts: list[DetailPart]
    item_columns: list[Head]


@dataclass(frozen=True)
class RecordsDetail:
    """The records of the example items of a mistake or a change."""

    cluster: str
    heads: list[str]
    rows: list[list[Value]]


def example_columns(ids: ItemColumns, attributes: Sequence[str]) -> list[Column]:
    """Describe the columns of example items."""
    return [*ids.describe(), ITEM_SIZES[1], *(Column(name) for name in attributes if name not in ids.names)]


def item_heads(found: Iterable[Mapping[Any, Breakdown]], attributes: Sequence[str], *, ids: ItemColumns) -> list[Head]:
    """Name the columns of example items."""
    parts = [part for breakdowns in found for part in breakdowns.values()]
    examples = [_as_row(example) for part in parts for cell in part.cells for example in cell.examples]
    drawing = Drawing("", example_columns(ids, attributes), examples)
    return [head_of(column, drawing) for column in drawing.columns]


def describe_cells(
    found: Breakdown | None, side: str, attributes: Sequence[str], *, verb: str, ids: ItemColumns
) -> DetailPart:
    """Write the cells of a cluster for people.

    Args:
        found: The cells; None if the cluster has no common items.
        side: The side that the cluster is on.
        attributes: What to show of example items.
        verb: How the note begins, such as "It lies in".
        ids: The columns that identify an item.
    """
    other = "actual" if side == IDEAL else "ideal"
    if found is None:
        return DetailPart(f"{verb} none of the common items.", other, [])
    cells = [_describe_cell(cell, example_columns(ids, attributes)) for cell in found.cells]
    more = f"; the {len(cells)} heaviest are shown" if found.number > len(cells) else ""
    note = f"{verb} {format_count(found.number, f'{other} cluster')}{more}."
    return DetailPart(note, other, cells)


def _describe_cell(cell: Cell, columns: Sequence[Column]) -> CellDetail:
    return CellDetail(
        cluster=write(Kind.TEXT, cell.other),
        share=format_share(cell.share),
        percent=f"{100 * cell.share:.2f}",
        items=format_count(cell.items, "item"),
        weight=format_weight(cell.weight),
        examples=[[write(c.kind, _as_row(example)[c.name]) for c in columns] for example in cell.examples],
    )


def _as_row(example: Example) -> dict[str, Any]:
    return {WEIGHT: example.weight, **example.record, **id_columns(example.item)}
