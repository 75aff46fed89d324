"""Relatives: tables of the related metrics of one evaluation or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pointwise.answers.tables import MetricTable
from pointwise.columns import ACTUAL, ACTUAL_ITEMS, ACTUAL_WEIGHT, IDEAL, ITEMS, SQUARES, TP
from pointwise.core.evidence import Evidence
from pointwise.engines.queries import from_rows
from pointwise.related.families import definitions, relate
from pointwise.related.sums import Pairs

_ORDER = "_order"


def related_values(evidence: Evidence, *, beta: float = 1.0, pairs: Pairs = "counts") -> dict[str, float | None]:
    """Compute the metrics of other families from the cells; None where one is undefined.

    Averages over items (B-cubed, element similarity) follow the policies as the pointwise metrics do. The others are of
    the table of common items, in which members outside the truth have no place.
    """
    cells = evidence.cells.select(IDEAL, ACTUAL, ITEMS, TP, SQUARES, ACTUAL_ITEMS, ACTUAL_WEIGHT)
    values = relate(cells, evidence.engine.collect, beta=beta, pairs=pairs)
    return {name: None if value != value else value for name, value in values.items()}  # noqa: PLR0124  # NaN


def tabulate_related(evidence: Evidence, *, beta: float, pairs: Pairs) -> MetricTable:
    """List the metrics of other families, one row each."""
    values = related_values(evidence, beta=beta, pairs=pairs)
    meanings = {row.name: row.summary for row in definitions(pairs)}
    rows = [{"metric": name, "value": value, "meaning": meanings[name]} for name, value in values.items()]
    return _hold("Related metrics", rows, evidence)


def tabulate_related_variants(variants: Mapping[str, Evidence], *, beta: float, pairs: Pairs) -> MetricTable:
    """List the metrics of other families, one row per variant."""
    rows = [{"variant": n} | related_values(e, beta=beta, pairs=pairs) for n, e in variants.items()]
    return _hold("Related metrics", rows, next(iter(variants.values())))


def _hold(title: str, rows: list[dict[str, Any]], evidence: Evidence) -> MetricTable:
    frame = from_rows([row | {_ORDER: n} for n, row in enumerate(rows)], evidence.engine)
    return MetricTable(title, frame, evidence.engine, order=((_ORDER, False),), hidden=(_ORDER,), limit=len(rows))
