"""The metric table, and metrics of one's own."""

from __future__ import annotations

from fractions import Fraction

import pytest

import pointwise as pw
from pointwise import errors
from pointwise.core.confusion import Confusion
from pointwise.core.metrics import DEFAULT_METRICS, METRICS, find_metric, find_metrics, metric

CLUSTERS = {"ideal": {"a": 1, "b": 1, "c": 2}, "actual": {"a": 1, "b": 2, "c": 1}}


@pytest.fixture
def dice():
    @metric(swapped="dice", summary="twice what both hold")
    def dice(c):
        return c.ratio(2 * c.tp, c.ideal + c.actual)

    return dice


@pytest.mark.parametrize("row", METRICS.values(), ids=METRICS)
def test_every_metric_is_described(row):
    assert row.text
    assert row.summary
    assert row.swapped in METRICS
    assert row.range[0] < row.range[1]
    assert all(part in METRICS for part in row.means)


@pytest.mark.usefixtures("dice")
def test_own_metric_works_at_every_level(engine):
    evaluation = pw.evaluate(**CLUSTERS, metrics=["dice", "f1"], engine=engine)
    tables = [evaluation.by_item(), evaluation.by_ideal_cluster(), evaluation.by_slice("actual_cluster_size")]
    for table in tables:
        for row in table.to_dicts():
            assert row["dice"] == pytest.approx(row["f1"])
    assert evaluation.overall["dice"] == pytest.approx(evaluation.overall["f1"])
    assert "dice_undefined" in evaluation.by_ideal_cluster().columns


def test_own_metric_may_be_undefined_and_take_roots(engine):
    @metric(name="odd", range=(0, 9), better=None)
    def root_of_specificity(c):
        """Take a root."""
        return c.sqrt(c.ratio(c.tn, c.tn + c.fp)) + 0 * c.minimum(c.tp, c.fp)

    evaluation = pw.evaluate(**CLUSTERS, metrics="odd", engine=engine)
    assert METRICS["odd"].summary == "Take a root."
    assert evaluation.overall["odd"] > 0
    with pytest.raises(errors.UsageError, match="has no direction"):
        evaluation.by_ideal_cluster().worst("odd")


def test_own_metric_needs_a_free_name():
    with pytest.raises(errors.UsageError, match="built-in"):
        metric(name="precision")(lambda c: c.tp)
    with pytest.raises(errors.UsageError, match="letters"):
        metric()(lambda c: c.tp)


def test_default_metrics():
    assert tuple(m.name for m in find_metrics(None)) == DEFAULT_METRICS
    assert [m.name for m in find_metrics(["recall", "precision", "recall"])] == ["recall", "precision"]


@pytest.mark.parametrize(("name", "beta"), [("f2", 2), ("f0.5", Fraction(1, 2)), ("f1", 1)])
def test_f_measure_of_any_beta(name, beta):
    c = Confusion(tp=Fraction(2), ideal=Fraction(5), actual=Fraction(3), total=Fraction(9), tn=Fraction(3))
    p, r = Fraction(2, 3), Fraction(2, 5)
    assert find_metric(name).formula(c) == pytest.approx(float((1 + beta**2) * p * r / (beta**2 * p + r)))


def test_f_measure_of_beta_zero_is_no_metric():
    with pytest.raises(errors.UnknownMetricError):
        find_metric("f0")


def test_f1_of_means_is_not_the_mean_of_f1(engine):
    evaluation = pw.evaluate(**CLUSTERS, metrics=["f1", "f1_of_means", "precision", "recall"], engine=engine)
    overall = evaluation.overall
    p, r = overall["precision"], overall["recall"]
    assert overall["f1_of_means"] == pytest.approx(2 * p * r / (p + r))
    assert overall["f1"] != overall["f1_of_means"]
    alone = pw.evaluate(**CLUSTERS, metrics="f1_of_means", engine=engine)
    assert alone.overall["f1_of_means"] == overall["f1_of_means"]
    assert "f1_of_means" not in alone.by_item().columns
