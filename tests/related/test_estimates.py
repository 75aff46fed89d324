"""Metrics of pairs and B-cubed from truths that were sampled: values, and the same errors as another package has."""

from __future__ import annotations

import numpy as np
import pytest

import pointwise as pw
from pointwise.errors import UsageError

# Standard errors by pairwise_precision_estimator and pairwise_recall_estimator of ER-Evaluation 2.3.0, of release
# 2022-06-30 against the truth of PatentsView, with weights="uniform" and weights="cluster_size". Its estimates have a
# correction for the bias of ratios, which is smaller than a tenth of the error, and ours do not.
THEIRS = {
    "clusters": {
        "pair_precision": (0.9277954220204707, 0.015743863963784674),
        "pair_recall": (0.9932341975916964, 0.005271589215159197),
    },
    "items": {
        "pair_precision": (0.8833020990513187, 0.017388865597254267),
        "pair_recall": (0.9770477584915794, 0.007237279742788579),
    },
}


@pytest.mark.parametrize("sampling", THEIRS)
def test_standard_errors_are_those_of_er_evaluation(sampling):
    data = pw.datasets.patentsview()
    evaluation = pw.evaluate(
        ideal=data.truth, actual=data.releases["2022-06-30"], outside="wrong", sampling=sampling, metrics="precision"
    )
    rows = {row["metric"]: row for row in evaluation.related().to_dicts()}
    for metric, (value, error) in THEIRS[sampling].items():
        assert rows[metric]["standard_error"] == pytest.approx(error, rel=1e-10)
        assert rows[metric]["value"] == pytest.approx(value, abs=0.5 * error)
        assert rows[metric]["value_low"] < rows[metric]["value"] - error
        assert rows[metric]["value_high"] > rows[metric]["value"]
    # With unit weights B-cubed is the pointwise metric, so that all of it must agree.
    interval = evaluation.overall.interval("precision")
    same = [rows["bcubed_precision"][name] for name in ("value", "value_low", "value_high")]
    assert same == pytest.approx([evaluation.overall["precision"], interval.low, interval.high])


def small_case():
    generator = np.random.default_rng(2)
    ideal = {f"i{n}": int(c) for n, c in enumerate(np.repeat(np.arange(30), generator.integers(1, 6, 30)))}
    actual = {i: int(generator.integers(0, 30)) if generator.random() < 0.3 else c for i, c in ideal.items()}
    return ideal, actual, {item: float(generator.integers(1, 5)) for item in ideal}


def test_a_truth_with_all_clusters_gives_the_plain_values():
    ideal, actual, weights = small_case()
    settings = {"ideal": ideal, "actual": actual, "weights": weights, "outside": "wrong"}
    plain, sampled = pw.evaluate(**settings), pw.evaluate(**settings, sampling="clusters")
    for pairs in ("product", "replication"):
        known = {row["metric"]: row["value"] for row in plain.related(pairs=pairs).to_dicts()}
        found = {row["metric"]: row["value"] for row in sampled.related(pairs=pairs).to_dicts()}
        assert len(found) == 6
        assert found == pytest.approx({name: known[name] for name in found})
    compared = pw.compare(variants={"a": sampled}).related().to_dicts()[0]
    known = {row["metric"]: row["value"] for row in plain.related().to_dicts()}
    assert compared["pair_f1"] == pytest.approx(known["pair_f1"])


def test_what_a_sample_cannot_tell_is_left_out():
    ideal, actual, _ = small_case()
    blind = pw.evaluate(ideal=ideal, actual=actual, metrics="recall", sampling="clusters")
    assert [row["metric"] for row in blind.related()] == ["pair_recall", "bcubed_recall"]
    light = pw.evaluate(
        ideal=ideal, actual=actual, weights=dict.fromkeys(ideal, 0.5), outside="wrong", sampling="clusters"
    )
    with pytest.raises(UsageError, match="copies"):
        light.related(pairs="replication")
