"""A sweep says of every threshold what an evaluation of its clusters says."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.errors import NotFoundError, PointwiseError, UnknownMetricError, UsageError

TRUTH = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2, "m": 3, "n": 3}
LINKS = [
    ("a", "b", 0.9),
    ("c", "d", 0.8),
    ("d", "e", 0.6),
    ("e", "c", 0.5),
    ("b", "c", 0.5),
    ("x", "y", 0.7),
    ("x", "a", 0.4),
    ("z", "x", 0.2),
    ("a", "b", 0.3),
    ("e", "d", 0.1),
]
WEIGHTS = {item: 1 + number / 4 for number, item in enumerate("abcdemnxyz")}


ROUNDING = 2.0**-53


def is_same(found: float | None, expected: float | None, *, tolerance: float) -> bool:
    """Compare to what the order of sums leaves open."""
    return found is expected is None or found == pytest.approx(expected, rel=tolerance, abs=tolerance)


def assert_rows_are_evaluations(sweep: pw.Sweep, links=LINKS, **options) -> None:
    """Compare every row with the evaluation of the clusters that its links make."""
    for row in sweep:
        actual = pw.Links(links, threshold=row["threshold"])
        with pw.evaluate(actual=actual, **options) as evaluation:
            overall, coverage = evaluation.overall, evaluation.coverage
            cells = evaluation.engine.collect(evaluation.evidence.cells).num_rows
            for name, value in overall.values.items():
                # The terms are the same. A sum of n terms is off by n roundings at most, and a value has two sums.
                assert is_same(row[name], value, tolerance=4 * cells * ROUNDING), name
                interval = overall.interval(name)
                assert is_same(row.get(name + "_low"), interval.low, tolerance=1e-12), name
                assert is_same(row.get(name + "_high"), interval.high, tolerance=1e-12), name
            for name, share in overall.undefined.items():
                assert row[name + "_undefined"] == pytest.approx(share, abs=1e-12)
            expected = coverage.to_dict()
            counts = ("actual_clusters", "actual_clusters_touched", "common_share", "outside_share")
            assert {name: row[name] for name in counts} == {name: expected[name] for name in counts}


@pytest.mark.parametrize(
    ("outside", "missing", "weights"),
    [
        ("ignore", "drop", None),
        ("wrong", "drop", None),
        ("ignore", "singleton", WEIGHTS),
        ("wrong", "singleton", WEIGHTS),
        ("spurious", "wrong", WEIGHTS),
        ("spurious", "wrong", None),
        ("wrong", "wrong", WEIGHTS),
    ],
)
def test_rows_are_evaluations_under_every_policy(outside, missing, weights):
    options = {"ideal": TRUTH, "outside": outside, "missing": missing, "weights": weights}
    options["metrics"] = ["precision", "f1_of_means", "specificity"]
    with pw.sweep(links=LINKS, thresholds=[0.15, 0.5], **options) as sweep:
        assert_rows_are_evaluations(sweep, **options)


def test_rows_are_evaluations_by_every_metric():
    options = {"ideal": TRUTH, "outside": "wrong", "weights": WEIGHTS, "metrics": list(pw.METRICS), "intervals": False}
    with pw.sweep(links=LINKS, thresholds=[0.5, 2], **options) as sweep:
        assert_rows_are_evaluations(sweep, **options)


def test_rows_are_evaluations_exactly_where_sums_are():
    truth = {n: n // 4 for n in range(64)}
    links = [(n, n + 1, 1 - (n + 1 & -(n + 1)) / 64) for n in range(63)]  # clusters of 2, 4, 8, ... items
    options = {"ideal": truth, "weights": {n: 1 + n // 4 % 3 for n in range(64)}}
    options["metrics"] = ["precision", "recall", "jaccard_distance"]
    with pw.sweep(links=links, thresholds=[1 - 1 / 64, 1 - 2 / 64, 1], **options) as sweep:
        for row in sweep:
            with pw.evaluate(actual=pw.Links(links, threshold=row["threshold"]), **options) as evaluation:
                assert {name: row[name] for name in evaluation.overall.values} == dict(evaluation.overall.values)


PROBABLE = pa.table(
    {"item": list(TRUTH), "cluster": list(TRUTH.values()), "probability": [0.5, 0.5, 0.9, 0.9, 0.9, 0.2, 0.2]}
)


@pytest.mark.parametrize(
    "sampling",
    [
        {"sampling": "clusters", "population": 9},
        {"sampling": "items", "drawn": 4, "population": 50},
        {"sampling": "clusters", "strata": "probability", "population": {"0.5": 3, "0.9": 1, "0.2": 7}},
        {"sampling": "complete"},
    ],
    ids=lambda sampling: "-".join(map(str, sampling.values())),
)
def test_rows_are_evaluations_of_samples(sampling):
    options = {"ideal": PROBABLE, "cluster": {"ideal": "cluster"}, "outside": "wrong", "weights": WEIGHTS, **sampling}
    options["metrics"] = ["precision", "f1_of_means"]
    with pw.sweep(links=LINKS, thresholds=[0.3, 0.6], **options) as sweep:
        assert_rows_are_evaluations(sweep, **options)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=25).map(
        lambda links: [(a, b, s / 4) for a, b, s in links if a != b] or [(0, 1, 1.0)]
    ),
    st.dictionaries(st.integers(0, 12), st.integers(0, 3), max_size=10),
    st.sampled_from(["ignore", "wrong"]),
)
def test_rows_are_evaluations_of_random_links(links, truth, outside):
    truth = {links[0][0]: 0, links[0][1]: 0} | truth
    options = {"ideal": truth, "outside": outside, "confidence": 0.8, "metrics": ["recall", "f1"]}
    with pw.sweep(links=links, thresholds=3, **options) as sweep:
        assert_rows_are_evaluations(sweep, links, **options)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=30).map(
        lambda links: [(a, b, float(s)) for a, b, s in links if a != b] or [(0, 1, 1.0)]
    )
)
def test_the_forest_keeps_every_component_at_every_threshold(links):
    ideal = {end: end for a, b, _ in links for end in (a, b)}
    with pw.sweep(ideal=ideal, links=links, thresholds=[0, 1, 2, 3, 4, 5], metrics="recall") as sweep:
        for row in sweep:
            threshold = row["threshold"]
            assert sweep.clusters(threshold).equals(pw.cluster_links(links, threshold=threshold))
            assert row["links"] == sum(score >= threshold for _, _, score in links)


@pytest.fixture(scope="module")
def sweep():
    with pw.sweep(
        ideal=TRUTH, links=LINKS, thresholds=100, metrics=["precision", "recall", "f1", "prevalence"]
    ) as found:
        yield found


def test_thresholds_are_scores_that_make_a_difference(sweep):
    assert [row["threshold"] for row in sweep] == [0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
    with pw.sweep(ideal=TRUTH, links=LINKS, thresholds=2) as ends:
        assert [row["threshold"] for row in ends] == [0.2, 0.9]


def test_best_chooses_by_a_metric_and_what_others_must_reach(sweep):
    assert sweep.best("f1").threshold == 0.6
    assert sweep.best("recall").threshold == 0.6  # the greatest of equally good ones
    assert sweep.best("precision")["precision"] == 1.0
    wanted = sweep.best("recall", precision=0.95)
    assert wanted["recall"] == max(row["recall"] for row in sweep if row["precision"] >= 0.95)
    with pytest.raises(NotFoundError, match=r"No threshold has precision 1.5: the nearest is 1\.0000, at 0\.6"):
        sweep.best("recall", precision=1.5)


def test_best_refuses_what_it_cannot_tell(sweep):
    with pytest.raises(NotFoundError, match="was not computed"):
        sweep.best("jaccard_distance")
    with pytest.raises(UnknownMetricError):
        sweep.best("recal")
    with pytest.raises(UsageError, match="no direction"):
        sweep.best("prevalence")
    with pytest.raises(NotFoundError, match="There is no 'accuracy'"):
        sweep.best("f1")["accuracy"]


def test_lower_is_better_where_it_is():
    with pw.sweep(ideal=TRUTH, links=LINKS, metrics=["jaccard_distance", "recall"]) as found:
        least = min(row["jaccard_distance"] for row in found)
        assert found.best("jaccard_distance")["jaccard_distance"] == least
        assert found.best("recall", jaccard_distance=least)["jaccard_distance"] == least


def test_a_threshold_can_be_evaluated_with_slices():
    about = pa.table({"item": list(TRUTH), "kind": ["x", "x", "y", "y", "y", "x", "x"]})
    with pw.sweep(ideal=TRUTH, links=LINKS, attributes=about, slices="kind", thresholds=3) as found:
        rows = found.evaluation(0.55).by_slice().to_dicts()
    assert {row["kind"]: row["recall"] for row in rows} == {"x": 1.0, "y": 1.0}


def test_rows_go_everywhere(sweep, tmp_path):
    rows = sweep.to_dicts()
    assert len(sweep) == len(rows) == 7
    assert pa.table(sweep).to_pylist() == sweep.to_arrow().to_pylist() == rows
    assert sweep.to_polars().to_dicts() == rows
    assert len(sweep.to_pandas()) == 7
    sweep.write(tmp_path / "sweep.csv")
    assert (tmp_path / "sweep.csv").read_text().startswith("threshold,links,actual_clusters,")
    assert "0.6000" in repr(sweep)
    assert "<table" in sweep._repr_html_()


def test_a_long_sweep_is_drawn_with_both_ends():
    links = [(n, n + 1, n / 100) for n in range(50)]
    with pw.sweep(ideal={n: n // 5 for n in range(50)}, links=links, intervals=False) as found:
        text = repr(found)
    assert "10 of 50 thresholds" in text
    assert "0.4900" in text


def test_the_chart_marks_the_choice(sweep):
    pytest.importorskip("altair")
    chart = sweep.plot(sweep.best("recall", precision=0.95)).to_dict()
    assert "chosen: 0.6, with precision 1.0000, recall 1.0000" in str(chart["title"])
    assert [len(part["layer"]) for part in chart["hconcat"]] == [4, 4]
    with pw.sweep(ideal=TRUTH, links=LINKS, metrics="jaccard_distance", thresholds=3) as other:
        assert len(other.plot().to_dict()["hconcat"]) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"thresholds": 0}, "neither a number of thresholds"),
        ({"thresholds": 0.5}, "nor a list"),
        ({"thresholds": []}, "names none"),
        ({"thresholds": [math.inf]}, "not a finite number"),
        ({"links": [("a", "b")]}, "need score="),
        ({"links": [("q", "r", 0.5)]}, "no item in common"),
        ({"missing": "error"}, "missing from the actual clustering"),
        ({"weights": {"a": 1.0}}, "positive finite"),
        ({"metrics": "precison"}, "precision"),
    ],
)
def test_mistakes_are_told(options, message):
    with pytest.raises(PointwiseError, match=message):
        pw.sweep(**{"ideal": TRUTH, "links": LINKS} | options)


@pytest.mark.parametrize("many", [10**30, np.int64(7)])
def test_more_thresholds_than_scores_are_all_scores(many):
    with (
        pw.sweep(ideal=TRUTH, links=LINKS, thresholds=1000) as every,
        pw.sweep(ideal=TRUTH, links=LINKS, thresholds=many) as found,
    ):
        assert found.to_dicts()[0] == pytest.approx(every.to_dicts()[0])
        assert [row["threshold"] for row in found] == [row["threshold"] for row in every]


@pytest.mark.parametrize("wrong", [0, -3, True, 0.5, "abc", None])
def test_what_is_no_number_of_thresholds_is_refused(wrong):
    with pytest.raises(UsageError, match="neither a number of thresholds nor a list"):
        pw.sweep(ideal=TRUTH, links=LINKS, thresholds=wrong)
