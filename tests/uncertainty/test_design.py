"""Truths that were sampled: estimates, errors and bounds against a reference, and what cannot be true."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import pointwise as pw
from pointwise.errors import InputError, MissingColumnError, UsageError
from pointwise.uncertainty.design import log_miss
from reference import reference_ends, sums_by_cluster


def small_case():
    """A population of clusters, of which a truth has some: items, truth with facts of each cluster, actual clusters."""
    generator = np.random.default_rng(5)
    sizes = generator.zipf(1.8, 60).clip(1, 12)
    ideal = np.repeat(np.arange(60), sizes)
    actual = np.where(generator.random(len(ideal)) < 0.25, generator.integers(0, 60, len(ideal)), ideal)
    names = [f"i{n}" for n in range(len(ideal))]
    drawn = np.isin(ideal, generator.choice(60, 25, replace=False))
    chosen = ideal[drawn]
    truth = {
        "item": [name for name, is_drawn in zip(names, drawn, strict=True) if is_drawn],
        "cluster": chosen,
        "chance": 0.3 + 0.5 * (chosen % 2),
        "land": np.where(chosen % 3 == 0, "a", "b"),
    }
    weights = dict(zip(names, generator.integers(1, 9, len(ideal)).astype(float).tolist(), strict=True))
    return pa.table(truth), dict(zip(names, actual.tolist(), strict=True)), weights


TRUTH, ACTUAL, WEIGHTS = small_case()
SIZES = dict(zip(*np.unique(TRUTH["cluster"].to_numpy(), return_counts=True), strict=True))
CLUSTERS = sorted(SIZES)


def expansions(design):
    """For every drawn ideal cluster: what it stands for, the share not drawn, and its stratum."""
    sizes = np.array([SIZES[c] for c in CLUSTERS])
    n, items = len(CLUSTERS), len(ACTUAL)
    if design == "clusters":
        return np.full(n, 60 / n), np.full(n, 1 - n / 60), np.zeros(n)
    if design == "items":
        return 1 / sizes, np.ones(n), np.zeros(n)
    if design == "drawn":
        rest = np.array([math.comb(items - x, 30) / math.comb(items, 30) for x in sizes.tolist()])
        return 1 / (1 - rest), rest, np.zeros(n)
    if design == "chance":
        chance = np.array([0.3 + 0.5 * (c % 2) for c in CLUSTERS])
        return 1 / chance, 1 - chance, np.zeros(n)
    strata = np.array([c % 3 == 0 for c in CLUSTERS])
    drawn = np.where(strata, strata.sum(), (~strata).sum()) / np.where(strata, 20, 40)
    return 1 / drawn, 1 - drawn, strata


DESIGNS = {
    "clusters": {"sampling": "clusters", "population": 60},
    "items": {"sampling": "items"},
    "drawn": {"sampling": "items", "drawn": 30},
    "chance": {"sampling": "chance"},
    "strata": {"sampling": "clusters", "strata": "land", "population": {"a": 20, "b": 40}},
}


def reference_estimate(rows, metric, design):
    a, b = sums_by_cluster(rows, metric)
    d, rest, strata = expansions(design)
    a, b, n = d * a, d * b, len(a)
    whole = a.sum() / b.sum()
    z = (a - whole * b) / (b.sum() - b) * (n - 1) / n
    return whole, z, rest, strata, (b**2).sum() / b.sum() ** 2


def reference_error(z, rest, strata):
    variance = 0.0
    for stratum in np.unique(strata):
        own, left = z[strata == stratum], rest[strata == stratum]
        mean = (left * own).sum() / left.sum()
        variance += len(own) / (len(own) - 1) * (left * (own - mean) ** 2).sum()
    q, n = np.sqrt(rest) * z, len(z)
    kurtosis = n * (q**4).sum() / (q**2).sum() ** 2
    return math.sqrt(variance), min(max(2 * n / (kurtosis - 1), 1), n - 1)


@pytest.mark.parametrize("design", DESIGNS)
def test_estimates_and_intervals_are_those_of_the_design(engine, design):
    metrics = ["precision", "recall", "jaccard_distance"]  # in one evaluation, which takes Spark ten seconds
    evaluation = pw.evaluate(
        ideal=TRUTH, actual=ACTUAL, weights=WEIGHTS, outside="wrong", metrics=metrics, engine=engine, **DESIGNS[design]
    )
    rows = evaluation.by_item().to_dicts()
    sliced = evaluation.by_slice(("all", pw_true())).to_dicts()[0]
    for metric in metrics:
        whole, z, rest, strata, lightness = reference_estimate(rows, metric, design)
        error, df = reference_error(z, rest, strata)
        interval = evaluation.overall.interval(metric)
        expected = reference_ends(whole, error, df, lightness, 0.95)
        assert evaluation.overall[metric] == pytest.approx(whole, rel=1e-12)
        assert [interval.low, interval.high] == pytest.approx(expected, rel=1e-7)
        assert [sliced[metric], sliced[f"{metric}_low"]] == pytest.approx([whole, interval.low], rel=1e-9)
    assert f"estimated for all {len(ACTUAL)} items from 25 ideal clusters drawn" in repr(evaluation.overall)


def pw_true():
    import narwhals.stable.v2 as nw

    return nw.col("item").is_null()


def test_differences_are_paired_and_of_the_design():
    other = {item: cluster % 50 for item, cluster in ACTUAL.items()}
    comparison = pw.compare(
        ideal=TRUTH, variants={"one": ACTUAL, "two": other}, outside="wrong", sampling="items", drawn=30
    )
    row = comparison.deltas(metrics="precision").to_dicts()[0]
    parts = [
        reference_estimate(comparison[name].by_item(metrics="precision").to_dicts(), "precision", "drawn")
        for name in ("one", "two")
    ]
    error, df = reference_error(parts[1][1] - parts[0][1], parts[0][2], parts[0][3])
    assert row["delta"] == pytest.approx(parts[1][0] - parts[0][0], rel=1e-9)
    assert row["delta_high"] - row["delta"] == pytest.approx(stats.t.ppf(0.975, df) * error, rel=1e-7)
    assert "estimated for all" in repr(comparison.deltas())


def test_drawing_items_gives_the_published_reading_of_patentsview():
    data = pw.datasets.patentsview()
    evaluation = pw.evaluate(
        ideal=data.truth, actual=data.releases["2022-06-30"], sampling="items", outside="wrong", metrics="precision"
    )
    interval = evaluation.overall.interval("precision")
    found = [evaluation.overall["precision"], interval.low, interval.high]
    assert found == pytest.approx([0.901, 0.879, 0.920], abs=0.0006)


def test_true_negatives_are_of_the_population():
    evaluation = pw.evaluate(ideal=TRUTH, actual=ACTUAL, outside="wrong", sampling="items", metrics="specificity")
    for row in evaluation.by_item().to_dicts()[:20]:
        assert row["tp"] + row["fp"] + row["fn"] + row["tn"] == len(ACTUAL)
    larger = pw.evaluate(
        ideal=TRUTH, actual=ACTUAL, outside="wrong", sampling="items", population=1000, metrics="specificity"
    )
    row = larger.by_item().to_dicts()[0]
    assert row["tp"] + row["fp"] + row["fn"] + row["tn"] == 1000


def test_the_costs_of_mistakes_add_up_to_the_estimated_rates():
    evaluation = pw.evaluate(
        ideal=TRUTH,
        actual=ACTUAL,
        weights=WEIGHTS,
        outside="wrong",
        sampling="chance",
        metrics=["over_merge_rate", "under_merge_rate"],
    )
    every = evaluation.mistakes(10_000)
    for rate, kinds in (("over_merge_rate", ("over-merge", "outside")), ("under_merge_rate", ("under-merge",))):
        costs = [mistake.cost for mistake in every if mistake.kind in kinds]
        assert sum(costs) == pytest.approx(evaluation.overall[rate], rel=1e-9)
        assert costs == sorted(costs, reverse=True)
        assert next(rest for rest in every.rest if rest.rate == rate).count == 0
    few = evaluation.mistakes(3)
    assert [m.cost for m in few] == pytest.approx([m.cost for m in every][:3], rel=1e-12)
    with pytest.raises(UsageError, match="invisible"):
        pw.evaluate(ideal=TRUTH, actual=ACTUAL, sampling="items", metrics="recall").mistakes()


def test_a_complete_truth_has_values_without_intervals():
    evaluation = pw.evaluate(ideal=TRUTH, actual=ACTUAL, sampling="complete")
    plain = pw.evaluate(ideal=TRUTH, actual=ACTUAL).overall
    assert dict(evaluation.overall.values) == pytest.approx(dict(plain.values), rel=1e-12)
    assert not evaluation.overall.intervals
    assert "complete" in evaluation.overall.interval("recall").reason
    assert not any(column.endswith("_low") for column in evaluation.by_slice("ideal_cluster_size").columns)


def test_everything_drawn_leaves_nothing_to_guess():
    sure = pw.evaluate(ideal=TRUTH, actual=ACTUAL, outside="wrong", sampling="clusters", population=25)
    plain = pw.evaluate(ideal=TRUTH, actual=ACTUAL, outside="wrong")
    assert sure.overall["recall"] == pytest.approx(plain.overall["recall"], rel=1e-12)
    assert "complete" in sure.overall.interval("recall").reason


def test_probabilities_may_come_as_a_table_of_clusters_or_items(tmp_path):
    chances = TRUTH.select(["cluster", "chance"]).group_by("cluster").aggregate([("chance", "max")])
    by_cluster = chances.rename_columns(["cluster", "probability"])
    by_item = TRUTH.select(["item", "chance"]).rename_columns(["item", "probability"])
    settings = {"ideal": TRUTH, "actual": ACTUAL, "metrics": "recall"}
    expected = pw.evaluate(**settings, sampling="chance").overall["recall"]
    for table in (by_cluster, by_item):
        assert pw.evaluate(**settings, sampling=table).overall["recall"] == pytest.approx(expected, rel=1e-12)
    pq.write_table(by_cluster, tmp_path / "chances.parquet")
    stored = pw.evaluate(**settings, sampling=tmp_path / "chances.parquet")
    assert stored.overall["recall"] == pytest.approx(expected, rel=1e-12)


def test_a_stored_run_keeps_its_design(tmp_path):
    evaluation = pw.evaluate(ideal=TRUTH, actual=ACTUAL, outside="wrong", sampling="items", drawn=30)
    evaluation.save(tmp_path / "run")
    loaded = pw.load(tmp_path / "run")
    assert loaded.overall.values == pytest.approx(evaluation.overall.values, rel=1e-12)
    assert loaded.overall.interval("recall").low == pytest.approx(evaluation.overall.interval("recall").low)
    assert repr(loaded.overall).splitlines()[0] == repr(evaluation.overall).splitlines()[0]
    plain = pw.evaluate(ideal=TRUTH, actual=ACTUAL, outside="wrong")
    with pytest.raises(InputError, match="sampling"):
        pw.compare(variants={"one": loaded, "two": plain})


def test_metrics_whose_errors_are_invisible_are_refused():
    with pytest.raises(UsageError, match=r"precision, f1, jaccard_distance cannot be estimated .* invisible"):
        pw.evaluate(ideal=TRUTH, actual=ACTUAL, sampling="items")
    evaluation = pw.evaluate(ideal=TRUTH, actual=ACTUAL, sampling="items", metrics="recall")
    for ask in (
        lambda: evaluation.with_metrics("f1"),
        lambda: evaluation.by_slice("ideal_cluster_size", metrics="precision"),
    ):
        with pytest.raises(UsageError, match="invisible"):
            ask()
    assert pw.evaluate(ideal=TRUTH, actual=ACTUAL, sampling="complete").overall["precision"]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"drawn": 30}, UsageError, "needs sampling"),
        ({"sampling": "clusters", "drawn": 30}, UsageError, "goes with sampling='items'"),
        ({"sampling": "items", "drawn": 20}, UsageError, "at most one cluster"),
        ({"sampling": "items", "population": 10}, UsageError, "more than the population"),
        ({"sampling": "clusters", "population": 24}, UsageError, "the truth has 25"),
        ({"sampling": "clusters", "strata": "land"}, UsageError, "mapping from every stratum"),
        ({"sampling": "clusters", "strata": "land", "population": {"a": 20}}, UsageError, "stratum 'b'"),
        ({"sampling": "clusters", "strata": "color", "population": {"a": 20}}, MissingColumnError, "no column 'color'"),
        ({"sampling": "weather"}, UsageError, "must be 'clusters', 'items', 'complete', a column"),
        ({"sampling": "land"}, InputError, "probability"),
        ({"sampling": pa.table({"cluster": [1], "probability": [0.5]})}, InputError, "without a probability"),
    ],
)
def test_what_cannot_be_is_refused(settings, error, message):
    with pytest.raises(error, match=message):
        pw.evaluate(ideal=TRUTH, actual=ACTUAL, metrics="recall", **settings)


def test_the_probability_to_be_drawn_is_exact_also_in_a_large_population():
    for size, items, drawn in ((1, 10, 3), (5, 100, 30), (30, 100, 5), (3, 10**9, 500)):
        exact = 1 - Fraction(math.comb(items - size, drawn), math.comb(items, drawn))
        assert -math.expm1(log_miss(size, items, drawn)) == pytest.approx(float(exact), rel=1e-12)
    assert math.exp(log_miss(71, 100, 30)) == 0


def test_where_only_the_truth_has_weights_that_of_the_population_is_estimated():
    weighed = TRUTH.append_column("size", pa.array([WEIGHTS[item] for item in TRUTH["item"].to_pylist()]))
    known = pw.evaluate(ideal=TRUTH, actual=ACTUAL, weights=WEIGHTS, sampling="items", metrics="prevalence")
    evaluation = pw.evaluate(ideal=weighed, actual=ACTUAL, weight="size", sampling="items", metrics="prevalence")
    sizes = np.array([SIZES[c] for c in TRUTH["cluster"].to_pylist()])
    weight = (len(ACTUAL) / len(CLUSTERS) / sizes * weighed["size"].to_numpy()).sum()
    expected = known.overall["prevalence"] * sum(WEIGHTS.values()) / weight
    assert evaluation.overall["prevalence"] == pytest.approx(expected, rel=1e-9)


def test_contributions_of_clusters_and_items_add_up_to_the_estimated_difference():
    other = {item: cluster % 50 for item, cluster in ACTUAL.items()}
    variants = {"one": ACTUAL, "two": other}
    comparison = pw.compare(ideal=TRUTH, variants=variants, outside="wrong", sampling="chance", metrics="precision")
    delta = comparison.delta("precision")
    for table in (comparison.by_ideal_cluster(), comparison.by_item()):
        assert sum(row["precision_contribution"] for row in table.to_dicts()) == pytest.approx(delta, rel=1e-9)


def test_what_is_said_of_a_sample_speaks_of_the_population():
    evaluation = pw.evaluate(ideal=TRUTH, actual=ACTUAL, outside="wrong", sampling="items")
    words = f"estimated for all {len(ACTUAL)} items from 25 ideal clusters drawn by items"
    results = (evaluation.overall, evaluation.mistakes(1), pw.gate(evaluation, minimum={"recall": 0.5}))
    for result in (*results, evaluation.by_slice("ideal_cluster_size"), evaluation.related()):
        assert words in " ".join(repr(result).split())
    fewer = {item: ACTUAL[item] for item in sorted(ACTUAL)[:-5]}
    comparison = pw.compare(
        ideal=TRUTH, variants={"all": ACTUAL, "some": fewer}, outside="wrong", sampling="clusters", population=60
    )
    for table in (comparison.by_variant(), comparison.deltas(), comparison.related()):
        assert "estimated for all items of each clustering from 25 ideal clusters" in " ".join(repr(table).split())


def test_a_stored_run_keeps_its_confidence_and_a_complete_one_has_no_intervals(tmp_path):
    pw.evaluate(ideal=TRUTH, actual=ACTUAL, confidence=0.8).save(tmp_path / "sure")
    assert pw.load(tmp_path / "sure").overall.interval("recall").confidence == 0.8
    pw.evaluate(ideal=TRUTH, actual=ACTUAL, sampling="complete").save(tmp_path / "whole")
    loaded = pw.load(tmp_path / "whole")
    assert not loaded.overall.intervals
    assert "The truth is complete" in repr(loaded.overall)
