"""The bundled data gives the numbers that its README states."""

import functools

import pytest

import pointwise as pw


@pytest.fixture(scope="module")
def evaluate(lasting_engine):
    """Return a function that evaluates a release once, however many tests look at the result."""
    data = pw.datasets.patentsview()

    @functools.cache
    def evaluate(release, **options):
        return pw.evaluate(ideal=data.truth, actual=data.releases[release], engine=lasting_engine, **options)

    return evaluate


@pytest.mark.parametrize(
    ("release", "expected"),
    [("2017-08-08", (9_752, 3_715, 0.96221, 0.93595)), ("2022-06-30", (13_467, 0, 0.97749, 0.93184))],
)
def test_releases_against_the_truth(evaluate, release, expected):
    common, missing, recall, strict_precision = expected
    evaluation = evaluate(release)
    assert evaluation.coverage.common_items == common
    assert evaluation.coverage.missing_items == missing
    assert evaluation.overall["precision"] == 1.0
    assert round(evaluation.overall["recall"], 5) == recall
    strict = evaluate(release, outside="wrong")
    assert round(strict.overall["precision"], 5) == strict_precision
    assert strict.overall["recall"] == pytest.approx(evaluation.overall["recall"], rel=1e-12)
    assert strict.overall.items == common


def test_precision_is_perfect_in_all_releases_and_a_warning_says_why():
    data = pw.datasets.patentsview()
    shares = []
    for path in data.releases.values():
        evaluation = pw.evaluate(ideal=data.truth, actual=path)
        assert evaluation.overall["precision"] == 1.0
        assert any("outside='wrong'" in warning for warning in evaluation.warnings)
        shares.append(evaluation.coverage.outside_share)
    assert (round(min(shares), 2), round(max(shares), 2)) == (0.09, 0.43)


def test_coverage_adds_up(evaluate):
    coverage = evaluate("2017-08-08").coverage
    assert coverage.common_items + coverage.missing_items == coverage.ideal_items == 13_467
    assert coverage.ideal_clusters_touched + coverage.ideal_clusters_untouched == coverage.ideal_clusters == 401
    assert coverage.actual_clusters == coverage.actual_clusters_touched + coverage.actual_clusters_untouched
    assert coverage.to_dict()["outside_share"] == coverage.outside_share
    assert coverage.common_weight + coverage.missing_weight == coverage.ideal_weight


@pytest.mark.embedded  # six tables with intervals: that slices recombine on Spark, law 5 says with fewer of them
def test_weights_from_the_attributes(engine):
    data = pw.datasets.patentsview()
    evaluation = pw.evaluate(
        ideal=data.truth,
        actual=data.releases["2022-06-30"],
        weight="num_claims",
        attributes=data.attributes,
        slices=["country", "country,patent_type", "patent_year >= 2015"],
        engine=engine,
    )
    assert evaluation.overall.weight == 245_532
    for spec in ("country", "country,patent_type", "patent_year >= 2015", "ideal_cluster_size"):
        rows = evaluation.by_slice(spec).to_dicts()
        for metric in ("precision", "recall", "f1", "jaccard_distance"):
            together = sum(row["share"] * row[metric] for row in rows)
            assert together == pytest.approx(evaluation.overall[metric], rel=1e-12)
        assert sum(row["items"] for row in rows) == 13_467
    assert {row["slice"] for row in evaluation.by_slice().to_dicts()} == set(evaluation.options.slices)
