"""Context: a few items that are with an item in both clusterings, to help a judge who cannot tell from the pair alone.

Members of one clustering's cluster would reveal which clustering put the two together. Items that both clusterings put
with an item reveal nothing about the change. If the two items of a pair share such members, each side shows different
ones, so that nobody can see it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.breakdown import CellKey
from pointwise.columns import ACTUAL, IDEAL, ITEM, ITEMS
from pointwise.core.evidence import Evidence
from pointwise.engines.chance import with_uniform
from pointwise.engines.queries import from_rows, matching

MEMBERS = 5
"""How many members of each side are shown at most."""

_CANDIDATES = 60  # items of a cell that are looked at, on average: with ten of them nearly always
_BELOW, _UNIFORM = "_below", "_uniform"


@dataclass(frozen=True)
class Companions:
    """The items that stay with those that questions are about.

    Args:
        cells: The cell of every item.
        members: Some items of every cell, in an arbitrary order.
    """

    cells: Mapping[Any, CellKey]
    members: Mapping[CellKey, Sequence[Any]]

    def of(self, a: Any, b: Any) -> tuple[list[Any], list[Any]]:
        """Choose some for each of two items: none twice, and neither of the two."""
        own, others = ([m for m in self.members.get(self.cells[i], ()) if m not in (a, b)] for i in (a, b))
        if self.cells[a] == self.cells[b]:
            own, others = own[::2], own[1::2]
        return own[:MEMBERS], others[:MEMBERS]


def find_companions(evidence: Evidence, items: Sequence[Any], seed: int) -> Companions:
    """Find a few items that are with each of the items in both clusterings.

    Args:
        evidence: The items and their cells.
        items: What questions are about.
        seed: The same seed gives the same members.
    """
    rows = matching(evidence.items, [{ITEM: item} for item in items], evidence.engine).select(ITEM, IDEAL, ACTUAL)
    sizes = evidence.cells.select(IDEAL, ACTUAL, ITEMS)
    found = evidence.engine.collect(rows.join(sizes, on=[IDEAL, ACTUAL], how="inner")).to_pylist()
    large = {(row[IDEAL], row[ACTUAL]): row[ITEMS] for row in found if row[ITEMS] > 1}
    return Companions({row[ITEM]: (row[IDEAL], row[ACTUAL]) for row in found}, _list_members(evidence, large, seed))


def _list_members(evidence: Evidence, sizes: Mapping[CellKey, int], seed: int) -> dict[CellKey, list[Any]]:
    """List items of cells by numbers drawn for them; of large cells, only the first ones."""
    if not sizes:
        return {}
    cells = [{IDEAL: cell[0], ACTUAL: cell[1], _BELOW: _CANDIDATES / size} for cell, size in sizes.items()]
    rows = evidence.items.join(from_rows(cells, evidence.engine), on=[IDEAL, ACTUAL], how="inner")
    salt = nw.lit(f"{seed}|context|")
    drawn = with_uniform(rows, evidence.engine.uniform, _UNIFORM, salt, nw.col(ITEM).cast(nw.String))
    kept = drawn.filter(nw.col(_UNIFORM) < nw.col(_BELOW)).select(ITEM, IDEAL, ACTUAL, _UNIFORM)
    found: dict[CellKey, list[Any]] = {}
    for row in sorted(evidence.engine.collect(kept).to_pylist(), key=lambda row: (row[_UNIFORM], str(row[ITEM]))):
        found.setdefault((row[IDEAL], row[ACTUAL]), []).append(row[ITEM])
    return found
