"""Splink links the people that come with pointwise, and what it gives is swept, clustered, judged and explained."""

from __future__ import annotations

import pandas as pd
import pytest

import pointwise as pw
from browser import require

PEOPLE = pw.datasets.people()


@pytest.fixture(scope="module")
def records():
    return pd.read_parquet(PEOPLE.records).rename(columns={"item": "unique_id"}).astype({"born": str})


@pytest.fixture(scope="module")
def linker(records):
    try:
        import splink.comparison_library as compare
        from splink import Linker, SettingsCreator, block_on
        from splink.backends.duckdb import DuckDBAPI
    except ImportError:
        require(False, "Splink")
    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=[
            compare.JaroWinklerAtThresholds("name", [0.9, 0.7]),
            compare.LevenshteinAtThresholds("street", 2),
            compare.ExactMatch("city"),
            compare.LevenshteinAtThresholds("born", 2),
        ],
        blocking_rules_to_generate_predictions=[block_on("name"), block_on("street"), block_on("born")],
    )
    linker = Linker(DuckDBAPI().register(records), settings, log_level="ERROR")
    linker.training.estimate_probability_two_random_records_match([block_on("name", "born")], recall=0.6)
    linker.training.estimate_u_using_random_sampling(max_pairs=1e7)
    for column in ("born", "name"):
        linker.training.estimate_parameters_using_expectation_maximisation(block_on(column))
    return linker


@pytest.fixture(scope="module")
def predictions(linker):
    return linker.inference.predict(threshold_match_probability=0.01)


@pytest.fixture(scope="module")
def sweep(predictions, records):
    with pw.sweep(ideal=PEOPLE.truth, links=predictions, items=records, attributes=PEOPLE.records) as found:
        yield found


def test_a_threshold_is_chosen_of_its_predictions(sweep):
    best = sweep.best("f1")
    assert best["f1"] == max(row["f1"] for row in sweep) > 0.97
    assert best["common_share"] == 1.0
    assert "Read as Splink's predictions" in repr(sweep)
    precise = sweep.best("recall", precision=0.95)
    assert precise["precision"] >= 0.95
    assert precise["recall"] > best["recall"]


def test_every_row_is_what_splinks_own_clusters_come_to(sweep, linker, predictions):
    for row in sweep.to_dicts()[::3]:
        clusters = linker.clustering.cluster_pairwise_predictions_at_threshold(
            predictions, threshold_match_probability=row["threshold"]
        )
        with pw.evaluate(ideal=PEOPLE.truth, actual=clusters) as evaluation:
            assert "read as Splink's clusters: item = unique_id; cluster = cluster_id" in evaluation.summary()[0]
            assert evaluation.coverage.actual_clusters == row["actual_clusters"]
            for metric in evaluation.metrics:
                assert row[metric.name] == pytest.approx(evaluation.overall[metric.name], rel=1e-12), metric.name


def test_the_mistakes_that_are_left_are_those_that_were_planted(sweep):
    planted = pd.read_parquet(PEOPLE.planted).set_index("cluster")["why"]
    evaluation = sweep.evaluation(sweep.best("f1").threshold)
    mistakes = evaluation.mistakes(5)
    assert {planted[row["cluster"]] for row in mistakes.to_dicts()} == {"moved to another city"}
    assert "Harbour Road *" in repr(mistakes)  # with records, and what differs in them


def test_files_that_it_writes_are_read_in_the_same_way(sweep, predictions, tmp_path):
    predictions.to_parquet(str(tmp_path / "predictions.parquet"))
    threshold = sweep.best("f1").threshold
    links = pw.Links(tmp_path / "predictions.parquet", threshold=threshold, items=PEOPLE.records)
    with pw.evaluate(ideal=PEOPLE.truth, actual=links) as evaluation:
        assert evaluation.overall["f1"] == pytest.approx(sweep.best("f1")["f1"], rel=1e-12)


def test_estimators_of_hdbscan_are_read_as_they_are():
    hdbscan = pytest.importorskip("hdbscan")
    points = [[n // 10 * 10 + n % 10 / 10, 0.0] for n in range(30)] + [[100.0, 0.0]]
    fitted = hdbscan.HDBSCAN(min_cluster_size=5, allow_single_cluster=False).fit(points)
    evaluation = pw.evaluate(ideal=[n // 10 for n in range(31)], actual=fitted, unassigned="singleton")
    assert evaluation.overall["f1"] == 1.0
    assert "labels of HDBSCAN: -1 stands for no cluster" in evaluation.summary()[0]
