"""Tables of the related metrics of one evaluation or of several."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    IDEAL,
    ITEMS,
    MEANING,
    METRIC,
    SQUARES,
    TP,
    VALUE,
    VARIANT,
    Column,
    Kind,
    keys,
)
from pointwise.core.evidence import Evidence
from pointwise.engines.queries import from_rows
from pointwise.related.families import definitions, relate
from pointwise.related.sums import Pairs
from pointwise.results import as_table

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
    rows = [{METRIC: name, VALUE: value, MEANING: meanings[name]} for name, value in values.items()]
    return _tabulate(rows, (*keys(METRIC), Column(VALUE, Kind.METRIC), Column(MEANING)), evidence)


def tabulate_related_variants(variants: Mapping[str, Evidence], *, beta: float, pairs: Pairs) -> MetricTable:
    """List the metrics of other families, one row per variant."""
    rows = [{VARIANT: n} | related_values(e, beta=beta, pairs=pairs) for n, e in variants.items()]
    described = (*keys(VARIANT), *(Column(name, Kind.METRIC) for name in list(rows[0])[1:]))
    return _tabulate(rows, described, next(iter(variants.values())))


def _tabulate(rows: list[dict[str, Any]], described: tuple[Column, ...], evidence: Evidence) -> MetricTable:
    table = as_table([row | {_ORDER: n} for n, row in enumerate(rows)], [*described, Column(_ORDER)])
    frame = from_rows(table, evidence.engine)
    order = ((_ORDER, False),)
    return MetricTable("Related metrics", frame, evidence.engine, described, order=order, limit=len(rows))
