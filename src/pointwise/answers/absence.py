"""Absence: why an id is not among the items of an evaluation, as far as that is known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import narwhals.stable.v2 as nw

from pointwise.columns import IDEAL, ITEM, ITEMS
from pointwise.core.coverage import Coverage, KnownScope, Scope
from pointwise.core.evidence import Evidence
from pointwise.engines.queries import total
from pointwise.inputs.options import Options
from pointwise.text.values import format_count, short

Reason = Literal["dropped", "outside the truth", "in neither", "unknown"]


@dataclass(frozen=True)
class Absence:
    """Why an id is not among the items.

    Args:
        reason: "dropped" if the truth lists it but the actual clustering does not; "outside the truth" if the truth
            does not list it but the actual clustering may; "in neither" if neither does; "unknown" if nothing tells.
        sentence: The same in words, with what is not known.
        ideal_cluster: The ideal cluster of an item that was dropped.
    """

    reason: Reason
    sentence: str
    ideal_cluster: Any = None


def find_absence(item: Any, evidence: Evidence, scope: Scope | KnownScope, options: Options) -> Absence:
    """Say why an id is not among the items."""
    dropped = _find_dropped(item, scope)
    if dropped is not None:
        where = f"The truth lists it in ideal cluster {short(dropped)}"
        return Absence("dropped", f"{where}, but the actual clustering lacks it, so it was left out.", dropped)
    coverage = scope.coverage
    if not _lists_truth(evidence, scope, options):
        return Absence("unknown", f"{_say_unknown(coverage)} It may also be mistyped.")
    if coverage.actual_items == coverage.common_items or options.outside == "spurious":
        return Absence("in neither", "Neither clustering has it, so it is probably mistyped.")
    others = format_count(coverage.actual_items - coverage.common_items, "item")
    return Absence(
        "outside the truth",
        f"The truth does not list it. The actual clustering has {others} that the truth does not list. They are "
        "counted but not stored, so it may be one of them, or mistyped.",
    )


def _find_dropped(item: Any, scope: Scope | KnownScope) -> Any:
    """Return the ideal cluster of an item that was dropped; None if it was not, or if that is not known."""
    if not scope.coverage.missing_items or scope.missing is None:
        return None
    own = scope.missing.filter(nw.col(ITEM).cast(nw.String) == str(item))  # text ids of attributes make all ids text
    rows = scope.engine.collect(own.select(IDEAL).head(1)).to_pylist()
    return rows[0][IDEAL] if rows else None


def _lists_truth(evidence: Evidence, scope: Scope | KnownScope, options: Options) -> bool:
    """Tell whether every item of the truth is among the items or among those that were dropped.

    A comparison on shared items also leaves out what another variant lacks.
    """
    is_dropping = options.missing == "drop" and scope.coverage.missing_items > 0
    if is_dropping and scope.missing is None:
        return False
    return total(evidence.cells, ITEMS, evidence.engine) >= scope.coverage.common_items


def _say_unknown(c: Coverage) -> str:
    missing = f"{format_count(c.missing_items, 'ideal item')} that the actual clustering lacks"
    outside = f"{format_count(c.actual_items - c.common_items, 'actual item')} that the truth does not list"
    reasons = [text for text, number in ((missing, c.missing_items), (outside, c.outside_items)) if number]
    listed = " or ".join(reasons) or "those that another variant of the comparison lacks"
    return f"It may be one of the items that were left out and are not stored: {listed}."
