"""One cell is measured without an engine, and with the same result."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwise.columns import ACTUAL_WEIGHT, FN, FP, IDEAL_WEIGHT, TN, TP
from pointwise.core.measurement import measure, measure_cell
from pointwise.core.metrics import METRICS
from pointwise.engines import start_engine
from pointwise.engines.queries import from_rows, only_row

ITEM_METRICS = [metric for metric in METRICS.values() if not metric.means]


def cell(tp: float, fp: float, fn: float, tn: float) -> dict[str, float]:
    return {TP: tp, IDEAL_WEIGHT: tp + fn, ACTUAL_WEIGHT: tp + fp, FP: fp, FN: fn, TN: tn}


@given(*[st.integers(0, 50).map(float)] * 4)
def test_a_cell_that_was_fetched_has_the_values_that_an_engine_gives_it(tp: float, fp: float, fn: float, tn: float):
    row = cell(tp, fp, fn, tn)
    engine = start_engine()
    frame = from_rows(pa.Table.from_pylist([row]), engine)
    expected = only_row(measure(frame, ITEM_METRICS), engine)
    found = measure_cell(row, ITEM_METRICS)
    engine.close()
    for metric in ITEM_METRICS:
        if expected[metric.name] is None:
            assert found[metric.name] is None, metric.name
        else:
            assert math.isclose(found[metric.name] or 0, expected[metric.name], rel_tol=1e-14, abs_tol=1e-15), (
                metric.name
            )


def test_a_clipped_value_stays_in_its_range():
    clipped = [metric for metric in ITEM_METRICS if metric.is_clipped]
    assert clipped
    for metric, value in measure_cell(cell(0.1, 1e-17, 0.2, 0.3), clipped).items():
        low, high = METRICS[metric].range
        assert value is not None
        assert low <= value <= high


@pytest.mark.parametrize("row", [cell(0.0, 0.0, 2.0, 3.0), cell(0.0, 2.0, 0.0, 3.0)])
def test_what_an_empty_cluster_leaves_undefined_is_null(row: dict[str, float]):
    values = measure_cell(row, [METRICS["precision"], METRICS["recall"]])
    assert list(values.values()).count(None) == 1
