"""Intervals: Student's t, the jackknife from its definition, several groups, and the bootstrap beside it."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import pointwise as pw
from pointwise.errors import NotFoundError, UsageError
from pointwise.uncertainty.bootstrap import resample
from pointwise.uncertainty.intervals import adjust_p_values, two_sided_p_value
from pointwise.uncertainty.student_t import critical_polynomial, critical_value, quantile, two_sided_p

FREEDOMS = (1, 1.5, 2, 3.7, 10, 57.3, 400, 9_999, 2e6)


@pytest.mark.parametrize("df", FREEDOMS)
def test_student_agrees_with_scipy(df):
    for p in (0.025, 0.6, 0.9, 0.975, 0.9995):
        assert quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=1e-9)
    for t in (0.0, 0.01, 0.5, 2.0, 5.0):
        assert two_sided_p(t, df) == pytest.approx(2 * stats.t.sf(t, df), rel=1e-9, abs=1e-300)
    assert critical_value(0.95, df) == pytest.approx(stats.t.ppf(0.975, df), rel=1e-7)


def test_one_polynomial_per_confidence():
    assert critical_polynomial(0.95) is critical_polynomial(0.95)
    assert critical_value(0.99, 5) == pytest.approx(stats.t.ppf(0.995, 5), rel=1e-6)


def random_case(seed=0, clusters=40):
    generator = np.random.default_rng(seed)
    sizes = generator.zipf(2.0, clusters).clip(1, 30)
    ideal = np.repeat(np.arange(clusters), sizes)
    actual = np.where(generator.random(len(ideal)) < 0.3, generator.integers(0, clusters, len(ideal)), ideal)
    weights = generator.integers(1, 9, len(ideal)).astype(float)
    names = [f"i{n}" for n in range(len(ideal))]
    as_dict = lambda values: dict(zip(names, values.tolist(), strict=True))  # noqa: E731
    return as_dict(ideal), as_dict(actual), as_dict(weights), generator


def jackknife(evaluation, metric, value_of):
    """The definition: leave out one ideal cluster after the other."""
    rows = evaluation.by_item(metrics=metric).to_dicts() if isinstance(metric, str) else metric
    clusters = sorted({row["ideal_cluster"] for row in rows})
    whole = value_of(rows)
    moves = np.array([whole - value_of([r for r in rows if r["ideal_cluster"] != c]) for c in clusters])
    n = len(clusters)
    error = math.sqrt((n - 1) / n * (moves**2).sum())
    return whole, error, min(max(3 * (moves**2).sum() ** 2 / (moves**4).sum(), 1), n - 1)


def mean_of(name):
    def value(rows):
        defined = [r for r in rows if r[name] is not None]
        return sum(r["weight"] * r[name] for r in defined) / sum(r["weight"] for r in defined)

    return value


def logit_interval(value, error, df, low=0.0, high=1.0):
    u = (value - low) / (high - low)
    way = stats.t.ppf(0.975, df) * error / (high - low) / (u * (1 - u))
    ends = [1 / (1 + math.exp(-(math.log(u / (1 - u)) + sign * way))) for sign in (-1, 1)]
    return [low + (high - low) * end for end in ends]


@pytest.mark.parametrize("metric", ["precision", "recall", "jaccard_distance", "specificity", "matthews"])
def test_interval_is_the_jackknife(metric):
    ideal, actual, weights, _ = random_case()
    evaluation = pw.evaluate(ideal=ideal, actual=actual, weights=weights, metrics=metric)
    whole, error, df = jackknife(evaluation, metric, mean_of(metric))
    interval = evaluation.overall.interval(metric)
    assert evaluation.overall[metric] == pytest.approx(whole, rel=1e-12)
    assert [interval.low, interval.high] == pytest.approx(
        logit_interval(whole, error, df, *pw.METRICS[metric].range), rel=1e-6
    )
    assert whole in interval
    assert interval.ideal_clusters == len(set(ideal.values()))


def test_interval_of_a_metric_of_means_is_linearised():
    ideal, actual, weights, _ = random_case()
    evaluation = pw.evaluate(
        ideal=ideal, actual=actual, weights=weights, metrics=["precision", "recall", "f1_of_means"]
    )
    rows = evaluation.by_item().to_dicts()

    def f1(rows):
        p, r = mean_of("precision")(rows), mean_of("recall")(rows)
        return 2 * p * r / (p + r)

    whole, error, df = jackknife(evaluation, rows, f1)
    interval = evaluation.overall.interval("f1_of_means")
    exact = logit_interval(whole, error, df)
    assert [interval.low, interval.high] == pytest.approx(exact, abs=0.05 * (exact[1] - exact[0]))


def test_slices_have_intervals_of_their_own_also_where_the_key_is_missing():
    ideal, actual, weights, generator = random_case()
    kinds = generator.choice(["a", "b", None], len(ideal))
    import pyarrow as pa

    attributes = pa.table({"item": list(ideal), "kind": kinds.tolist()})
    evaluation = pw.evaluate(ideal=ideal, actual=actual, weights=weights, attributes=attributes, metrics="recall")
    kind_of = dict(zip(ideal, kinds.tolist(), strict=True))
    rows = evaluation.by_item().to_dicts()
    table = {row["kind"]: row for row in evaluation.by_slice("kind").to_dicts()}
    assert set(table) == {"a", "b", None}
    for kind, row in table.items():
        inside = [r for r in rows if kind_of[r["item"]] == kind]
        whole, error, df = jackknife(evaluation, inside, mean_of("recall"))
        assert row["recall"] == pytest.approx(whole, rel=1e-12)
        assert [row["recall_low"], row["recall_high"]] == pytest.approx(logit_interval(whole, error, df), rel=1e-6)
        assert row["ideal_clusters"] == len({r["ideal_cluster"] for r in inside})


def test_plain_slices_have_no_interval_columns():
    ideal, actual, weights, _ = random_case()
    shown = pw.evaluate(ideal=ideal, actual=actual, weights=weights)
    silent = pw.evaluate(ideal=ideal, actual=actual, weights=weights, intervals=False)
    plain = shown.by_slice("ideal_cluster_size", intervals=False)
    assert plain.columns == silent.by_slice("ideal_cluster_size").columns
    assert not any(column.endswith(("_low", "_high")) for column in plain.columns)
    with_intervals = shown.by_slice("ideal_cluster_size").to_dicts()
    for row, other in zip(plain.to_dicts(), with_intervals, strict=True):
        assert other["ideal_cluster_size"] == row.pop("ideal_cluster_size")
        assert {k: other[k] for k in row} == pytest.approx(row, rel=1e-12)
    assert not silent.overall.intervals
    assert "turned off" in silent.overall.interval("recall").reason
    assert "interval" not in repr(silent.overall)


def test_no_interval_without_spread_and_a_reason():
    one = pw.evaluate(ideal={"a": 1, "b": 1, "c": 1}, actual={"a": 1, "b": 1, "c": 2})
    assert one.overall.interval("recall").low is None
    assert "single ideal cluster" in one.overall.interval("recall").reason
    perfect = pw.evaluate(ideal={"a": 1, "b": 2}, actual={"a": 1, "b": 2})
    assert perfect.overall.interval("recall").low is None
    assert "does not vary" in perfect.overall.interval("recall").reason
    assert 1.0 not in perfect.overall.interval("recall")
    assert "does not vary" in repr(perfect.overall)
    with pytest.raises(NotFoundError, match="was not asked for"):
        perfect.overall.interval("accuracy")


def test_reading_a_value_computes_no_interval(monkeypatch):
    ideal, actual, weights, _ = random_case()
    evaluation = pw.evaluate(ideal=ideal, actual=actual, weights=weights)
    asked = []
    monkeypatch.setattr("pointwise.answers.levels._overall_intervals", lambda *_: asked.append(1) or {})
    assert evaluation.overall["precision"] > 0
    assert evaluation.overall.to_dict()
    assert not asked
    assert evaluation.overall.intervals == {}
    assert asked


def test_few_clusters_stay_inside_the_range():
    evaluation = pw.evaluate(ideal={"a": 1, "b": 1, "c": 2, "d": 2}, actual={"a": 1, "b": 2, "c": 3, "d": 3})
    interval = evaluation.overall.interval("recall")
    assert 0 <= interval.low < 0.75 < interval.high <= 1


def test_bootstrap_agrees_with_the_closed_form_and_repeats_with_its_seed():
    ideal, actual, weights, _ = random_case(clusters=300)
    evaluation = pw.evaluate(
        ideal=ideal, actual=actual, weights=weights, metrics=["recall", "precision", "f1_of_means"]
    )
    drawn = evaluation.bootstrap(seed=1)
    assert drawn == evaluation.bootstrap(seed=1)
    assert drawn != evaluation.bootstrap(seed=2)
    for name, interval in drawn.items():
        closed = evaluation.overall.interval(name)
        width = closed.high - closed.low
        assert abs(interval.low - closed.low) < 0.15 * width
        assert abs(interval.high - closed.high) < 0.15 * width


def test_resampling_draws_as_many_rows_as_there_are():
    sums = resample({"ones": np.ones(50), "values": np.arange(50.0)}, 500, 0)
    assert (sums["ones"] == 50).all()
    assert sums["values"].mean() == pytest.approx(np.arange(50).sum(), rel=0.02)
    with pytest.raises(UsageError, match="too few"):
        resample({"ones": np.ones(5)}, 1, 0)


def test_benjamini_hochberg_agrees_with_scipy():
    generator = np.random.default_rng(0)
    p = generator.random(30) ** 2
    assert adjust_p_values(p.tolist()) == pytest.approx(stats.false_discovery_control(p).tolist(), rel=1e-12)
    assert adjust_p_values([0.2, None, 0.01]) == [0.2, None, 0.02]
    assert adjust_p_values([]) == []


def test_p_value_without_spread():
    assert two_sided_p_value(0.0, None, None) == 1.0
    assert two_sided_p_value(0.1, None, None) is None
    assert two_sided_p_value(None, 0.1, 3.0) is None
    assert two_sided_p_value(0.2, 0.1, 10) == pytest.approx(2 * stats.t.sf(2, 10))
