"""Tables of the related metrics of one evaluation or of several."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    ACTUAL,
    ACTUAL_ITEMS,
    ACTUAL_WEIGHT,
    HIGH,
    IDEAL,
    IDEAL_ITEMS,
    IDEAL_WEIGHT,
    ITEMS,
    LOW,
    MEANING,
    METRIC,
    SQUARES,
    TP,
    VALUE,
    VARIANT,
    WEIGHT,
    Column,
    Kind,
    keys,
    with_ends,
)
from pointwise.core.confusion import is_empty
from pointwise.core.evidence import Evidence
from pointwise.core.sample import sample_of_all
from pointwise.engines.queries import count, from_rows, holding, total
from pointwise.errors import NotFoundError
from pointwise.inputs.options import CONFIDENCE, Pairs
from pointwise.related.estimates import STANDARD_ERROR, estimate_related
from pointwise.related.families import RELATED, check_options, definitions, relate
from pointwise.related.sums import Lacking
from pointwise.results import rows_as_table

_ORDER = "_order"


@dataclass(frozen=True, repr=False)
class Related(MetricTable):
    """The metrics of other families, one row each; `related["pair_f1"]` is one of the values.

    Examples:
        >>> import pointwise as pw
        >>> pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i2", "i3"]]).related()["pair_f1"]
        0.5
    """

    def __getitem__(self, metric: str) -> float:
        """Return the value of a metric; NaN where it is undefined."""
        values = {row[METRIC]: row[VALUE] for row in self.to_dicts()}
        if metric not in values:
            raise NotFoundError(f"There is no related metric {metric!r}. There are {', '.join(values)}.")
        return float("nan") if values[metric] is None else float(values[metric])


def related_values(evidence: Evidence, *, beta: float = 1.0, pairs: Pairs = "counts") -> dict[str, float | None]:
    """Compute the metrics of other families from the cells; None where one is undefined.

    Averages over items (B-cubed, element similarity) follow the policies as the pointwise metrics do. The others
    describe the common items, which do not include members outside the truth.
    """
    columns = [IDEAL, ACTUAL, ITEMS, TP, SQUARES, ACTUAL_ITEMS, ACTUAL_WEIGHT]
    cells, lacking = evidence.cells, None
    if evidence.has_empty:
        cells, columns = cells.filter(~is_empty()), [*columns, IDEAL_ITEMS, IDEAL_WEIGHT]
        lacking = _find_lacking(evidence)
    engine, rows = evidence.engine, cells.select(*columns)
    with engine.scope():
        hold = holding(engine, most_rows=evidence.totals.items)
        values = relate(rows, engine.collect, beta=beta, pairs=pairs, lacking=lacking, hold=hold)
    return {name: None if value != value else value for name, value in values.items()}  # noqa: PLR0124  # NaN


def _find_lacking(evidence: Evidence) -> Lacking:
    """Weigh the items that one of the clusterings lacks."""
    cells, engine = evidence.cells.filter(is_empty()), evidence.engine
    missing = cells.filter(nw.col(ACTUAL_ITEMS) == 0)
    wholly = missing.filter(nw.col(ITEMS) == nw.col(IDEAL_ITEMS))
    spurious = cells.filter(nw.col(IDEAL_ITEMS) == 0)
    return Lacking(total(spurious, WEIGHT, engine), total(missing, WEIGHT, engine), count(wholly, engine))


def tabulate_related(evidence: Evidence, *, beta: float, pairs: Pairs, confidence: float = CONFIDENCE) -> Related:
    """List the metrics of other families, one row each; for a sampled truth, only those it can estimate."""
    if evidence.sample.clusters is not None:
        return _tabulate_estimates(evidence, beta=beta, pairs=pairs, confidence=confidence)
    values = related_values(evidence, beta=beta, pairs=pairs)
    meanings = {row.name: row.summary for row in definitions(pairs)}
    rows = [{METRIC: name, VALUE: value, MEANING: meanings[name]} for name, value in values.items()]
    return _tabulate(rows, (*keys(METRIC), Column(VALUE, Kind.METRIC), Column(MEANING)), evidence)


def _tabulate_estimates(evidence: Evidence, *, beta: float, pairs: Pairs, confidence: float) -> Related:
    check_options(beta=beta, pairs=pairs)
    found = estimate_related(evidence, pairs=pairs, confidence=confidence)
    rows = [
        {METRIC: name, VALUE: e.value, VALUE + LOW: e.low, VALUE + HIGH: e.high, STANDARD_ERROR: e.standard_error}
        | {MEANING: RELATED[name].summary}
        for name, e in found.items()
    ]
    values = (*with_ends(Column(VALUE, Kind.METRIC)), Column(STANDARD_ERROR, Kind.METRIC))
    return _tabulate(rows, (*keys(METRIC), *values, Column(MEANING)), evidence, confidence=confidence)


def tabulate_related_variants(
    variants: Mapping[str, Evidence], *, beta: float, pairs: Pairs, confidence: float = CONFIDENCE
) -> MetricTable:
    """List the metrics of other families, one row per variant; for a sampled truth, those that it can estimate."""
    first = next(iter(variants.values()))
    if first.sample.clusters is not None:
        return _tabulate_estimated_variants(variants, beta=beta, pairs=pairs, confidence=confidence)
    rows = [{VARIANT: n} | related_values(e, beta=beta, pairs=pairs) for n, e in variants.items()]
    described = (*keys(VARIANT), *(Column(name, Kind.METRIC) for name in list(rows[0])[1:]))
    return _tabulate(rows, described, first)


def _tabulate_estimated_variants(
    variants: Mapping[str, Evidence], *, beta: float, pairs: Pairs, confidence: float
) -> MetricTable:
    check_options(beta=beta, pairs=pairs)
    rows: list[dict[str, Any]] = []
    for variant, evidence in variants.items():
        found = estimate_related(evidence, pairs=pairs, confidence=confidence)
        ends = ({name: e.value, name + LOW: e.low, name + HIGH: e.high} for name, e in found.items())
        rows.append(reduce(operator.or_, ends, {VARIANT: variant}))
    values = [column for name in found for column in with_ends(Column(name, Kind.METRIC))]
    sample = sample_of_all([e.sample for e in variants.values()])
    return _tabulate(rows, (*keys(VARIANT), *values), replace(evidence, sample=sample), confidence=confidence)


def _tabulate(
    rows: list[dict[str, Any]], described: tuple[Column, ...], evidence: Evidence, *, confidence: float = CONFIDENCE
) -> Related:
    table = rows_as_table([row | {_ORDER: n} for n, row in enumerate(rows)], [*described, Column(_ORDER)])
    frame = from_rows(table, evidence.engine)
    order = ((_ORDER, False),)
    title = evidence.sample.title("Related metrics")
    return Related(title, frame, evidence.engine, described, order, limit=len(rows), confidence=confidence)
