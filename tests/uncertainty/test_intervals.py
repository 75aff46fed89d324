"""Intervals: the jackknife from its definition, several groups, bounds, and the bootstrap beside it."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import stats

import pointwise as pw
from pointwise.core.arithmetic import compute_columns
from pointwise.core.metrics import METRICS
from pointwise.core.sample import UNKNOWN
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, UsageError
from pointwise.text.values import name_interval
from pointwise.uncertainty import bootstrap
from pointwise.uncertainty.bootstrap import find_ends, resample
from pointwise.uncertainty.ends import ending
from pointwise.uncertainty.intervals import adjust_p_values, two_sided_p_value
from reference import beta_quantile, reference_ends, sums_by_cluster


def random_case(seed=0, clusters=40):
    generator = np.random.default_rng(seed)
    sizes = generator.zipf(2.0, clusters).clip(1, 30)
    ideal = np.repeat(np.arange(clusters), sizes)
    actual = np.where(generator.random(len(ideal)) < 0.3, generator.integers(0, clusters, len(ideal)), ideal)
    weights = generator.integers(1, 9, len(ideal)).astype(float)
    names = [f"i{n}" for n in range(len(ideal))]
    as_dict = lambda values: dict(zip(names, values.tolist(), strict=True))  # noqa: E731
    return as_dict(ideal), as_dict(actual), as_dict(weights), generator


def reference_interval(a, b, *, low=0.0, high=1.0, confidence=0.95):
    """The interval, from its definition: leave out one cluster after the other."""
    a, n = (a - low * b) / (high - low), len(a)
    whole = a.sum() / b.sum()
    moves = whole - (a.sum() - a) / (b.sum() - b)
    error = math.sqrt((n - 1) / n * (moves**2).sum())
    kurtosis = n * (moves**4).sum() / (moves**2).sum() ** 2
    df = min(max(2 * n / (kurtosis - 1), 1), n - 1)
    ends = reference_ends(whole, error, df, (b**2).sum() / b.sum() ** 2, confidence)
    return [low + (high - low) * end for end in ends]


def test_the_closed_form_is_about_the_beta_quantile():
    for a, b in ((0.5, 30), (2, 40), (5, 100), (20, 25)):
        assert beta_quantile(a, b, 1.96) == pytest.approx(stats.beta.ppf(0.975, a, b), rel=0.08)


@given(
    st.lists(st.tuples(st.floats(0.001, 0.999), st.floats(1e-6, 3.0), st.floats(0.001, 1.0)), min_size=1, max_size=20),
    st.sampled_from([0.5, 0.9, 0.95, 0.999]),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_ends_of_any_value_are_the_formula_and_hold_the_value(engine, cases, confidence):
    values, reaches, lightness = map(list, zip(*cases, strict=True))
    found = find_ends(METRICS["recall"], values, reaches, lightness, confidence=confidence, sample=UNKNOWN)
    columns = (*zip(*cases, strict=True), range(len(cases)))
    rows = from_rows(
        pa.table(dict(zip(("recall", "recall__reach", "recall__lightness", "n"), columns, strict=True))), engine
    )
    frame = compute_columns(rows, ending([METRICS["recall"]], sample=UNKNOWN, confidence=confidence)).sort("n")
    computed = engine.collect(frame.select("recall_low", "recall_high"))
    assert [c.to_pylist() for c in computed.columns] == [pytest.approx(ends, rel=1e-9, abs=1e-15) for ends in found]
    df = 7.0
    t = stats.t.ppf((1 + confidence) / 2, df)
    for value, reach, w, low, high in zip(values, reaches, lightness, *found, strict=True):
        assert [low, high] == pytest.approx(reference_ends(value, reach / t, df, w, confidence), abs=1e-9)
        assert 0 <= low <= value <= high <= 1


@pytest.mark.parametrize("metric", ["precision", "recall", "jaccard_distance", "specificity", "matthews"])
@pytest.mark.parametrize("confidence", [0.95, 0.8])
def test_interval_is_the_jackknife(metric, confidence):
    ideal, actual, weights, _ = random_case()
    evaluation = pw.evaluate(ideal=ideal, actual=actual, weights=weights, metrics=metric, confidence=confidence)
    a, b = sums_by_cluster(evaluation.by_item().to_dicts(), metric)
    interval, (low, high) = evaluation.overall.interval(metric), pw.METRICS[metric].range
    assert evaluation.overall[metric] == pytest.approx(a.sum() / b.sum(), rel=1e-12)
    expected = reference_interval(a, b, low=low, high=high, confidence=confidence)
    assert [interval.low, interval.high] == pytest.approx(expected, rel=1e-8)
    assert evaluation.overall[metric] in interval
    assert interval.ideal_clusters == len(set(ideal.values()))
    assert interval.confidence == confidence
    assert f"{confidence:.0%} interval" in repr(evaluation.overall)


def test_interval_of_a_metric_of_means_is_linearised():
    ideal, actual, weights, _ = random_case()
    evaluation = pw.evaluate(
        ideal=ideal, actual=actual, weights=weights, metrics=["precision", "recall", "f1_of_means"]
    )
    (p, b), (r, _) = (sums_by_cluster(evaluation.by_item().to_dicts(), name) for name in ("precision", "recall"))
    whole = 2 * p.sum() * r.sum() / (p.sum() + r.sum()) / b.sum()
    left = (2 * (p.sum() - p) * (r.sum() - r) / (p.sum() - p + r.sum() - r)) / (b.sum() - b)
    moves, n = whole - left, len(b)
    df = min(max(2 * n / (n * (moves**4).sum() / (moves**2).sum() ** 2 - 1), 1), n - 1)
    error = math.sqrt((n - 1) / n * (moves**2).sum())
    exact = reference_ends(whole, error, df, (b**2).sum() / b.sum() ** 2, 0.95)
    interval = evaluation.overall.interval("f1_of_means")
    assert [interval.low, interval.high] == pytest.approx(exact, abs=0.05 * (exact[1] - exact[0]))


def test_slices_have_intervals_of_their_own_also_where_the_key_is_missing():
    ideal, actual, weights, generator = random_case()
    kinds = generator.choice(["a", "b", None], len(ideal))
    import pyarrow as pa

    attributes = pa.table({"item": list(ideal), "kind": kinds.tolist()})
    evaluation = pw.evaluate(
        ideal=ideal, actual=actual, weights=weights, attributes=attributes, metrics="recall", confidence=0.9
    )
    kind_of = dict(zip(ideal, kinds.tolist(), strict=True))
    rows, table = evaluation.by_item().to_dicts(), evaluation.by_slice("kind")
    assert "[low, high]: the 90% interval" in repr(table)
    found = {row["kind"]: row for row in table.to_dicts()}
    assert set(found) == {"a", "b", None}
    for kind, row in found.items():
        a, b = sums_by_cluster([r for r in rows if kind_of[r["item"]] == kind], "recall")
        assert row["recall"] == pytest.approx(a.sum() / b.sum(), rel=1e-12)
        assert [row["recall_low"], row["recall_high"]] == pytest.approx(
            reference_interval(a, b, confidence=0.9), rel=1e-8
        )
        assert row["ideal_clusters"] == len(a)


def test_plain_slices_have_no_interval_columns():
    ideal, actual, weights, _ = random_case()
    shown = pw.evaluate(ideal=ideal, actual=actual, weights=weights)
    silent = pw.evaluate(ideal=ideal, actual=actual, weights=weights, intervals=False)
    plain = shown.by_slice("ideal_cluster_size", intervals=False)
    assert plain.columns == silent.by_slice("ideal_cluster_size").columns
    assert not any(column.endswith(("_low", "_high")) for column in plain.columns)
    with_intervals = shown.by_slice("ideal_cluster_size").to_dicts()
    for row, other in zip(plain.to_dicts(), with_intervals, strict=True):
        for key in ("slice", "value", "ideal_cluster_size"):
            assert other[key] == row.pop(key)
        assert {k: other[k] for k in row} == pytest.approx(row, rel=1e-12)
    assert not silent.overall.intervals
    assert "turned off" in silent.overall.interval("recall").reason
    assert "interval" not in repr(silent.overall)


def test_no_interval_without_spread_and_a_reason():
    one = pw.evaluate(ideal={"a": 1, "b": 1, "c": 1}, actual={"a": 1, "b": 1, "c": 2})
    assert one.overall.interval("recall").low is None
    assert "single ideal cluster" in one.overall.interval("recall").reason
    torn = pw.evaluate(ideal={"a": 1, "b": 1, "c": 2, "d": 2}, actual={"a": 1, "b": 2, "c": 3, "d": 4})
    assert "does not vary" in torn.overall.interval("recall").reason
    assert "does not vary" in repr(torn.overall)
    with pytest.raises(NotFoundError, match="was not computed"):
        one.overall.interval("accuracy")


def test_where_nothing_is_wrong_there_is_a_bound_on_what_was_not_seen():
    ideal = {"a": 1, "b": 2, "c": 2, "d": 3}
    found = pw.evaluate(ideal=ideal, actual=ideal, outside="wrong", confidence=0.9).overall
    equal_clusters = 4**2 / (1 + 4 + 1)
    for name, interval in found.intervals.items():
        ends = [interval.low, interval.high]
        unseen = 1 - 0.1 ** (1 / equal_clusters)
        assert ends == pytest.approx([0, unseen] if name == "jaccard_distance" else [1 - unseen, 1], rel=1e-12)
        assert interval.is_one_sided
    ignored = pw.evaluate(ideal=ideal, actual=ideal, metrics=["precision", "recall"]).overall
    assert ignored.interval("recall").high == 1
    assert ignored.interval("precision").low is None
    assert "outside the truth" in repr(ignored)


def test_which_metrics_see_false_positives():
    blind = {name for name, metric in METRICS.items() if not metric.sees_false_positives}
    assert blind & {row.name for row in METRICS.values()} >= {"recall", "under_merge_rate", "miss_rate", "prevalence"}
    assert not blind & {"precision", "f1", "f1_of_means", "element_similarity", "specificity", "matthews", "accuracy"}


def test_confidence_must_mean_something():
    for confidence in (0, 1, 95, "high"):
        with pytest.raises(UsageError, match="between 0 and 1"):
            pw.evaluate(ideal={"a": 1}, actual={"a": 1}, confidence=confidence)
    assert name_interval(0.995) == "99.5% interval"


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
    assert evaluation.bootstrap(metrics="recall", resamples=50)["recall"].confidence == 0.95
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
    assert two_sided_p_value(0.0, None, None) is None
    assert two_sided_p_value(0.1, None, None) is None
    assert two_sided_p_value(None, 0.1, 3.0) is None
    assert two_sided_p_value(0.2, 0.1, 10) == pytest.approx(2 * stats.t.sf(2, 10))


def test_a_bootstrap_of_too_many_clusters_is_refused_before_they_are_fetched(monkeypatch):
    monkeypatch.setattr(bootstrap, "MOST_CLUSTERS", 1)
    ideal, actual = {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 2}
    evaluation = pw.evaluate(ideal=ideal, actual=actual)
    with pytest.raises(UsageError, match="at most 1 ideal clusters, which it holds in memory, and there are 2"):
        evaluation.bootstrap(metrics="recall")
    comparison = pw.compare(ideal=ideal, variants={"a": actual, "b": {"a": 1, "b": 1, "c": 1}})
    with pytest.raises(UsageError, match="the intervals that the tables show"):
        comparison.bootstrap(metrics="recall")
