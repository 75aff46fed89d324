"""Every number that the paper prints, exactly, through the metric table and through the public interface."""

from __future__ import annotations

from fractions import Fraction as F  # noqa: N817  # one letter keeps the tables readable

import pytest

import pointwise as pw
from pointwise.core.confusion import Confusion
from pointwise.core.metrics import METRICS

IDEAL = [["i1", "i2"], ["i3"]]
ACTUAL = [["i1", "i3"], ["i2"]]
WEIGHTS = {"i1": 1.0, "i2": 2.0, "i3": 3.0}

SETS = {
    "i1": (["i1"], ["i3"], ["i2"], 0),
    "i2": (["i2"], [], ["i1"], 1),
    "i3": (["i3"], ["i1"], [], 1),
}
MATRICES = {"i1": (1, 3, 2, 0), "i2": (2, 0, 1, 3), "i3": (3, 1, 0, 2)}
ITEM_METRICS = {
    "i1": (F(1, 4), F(1, 3), F(5, 6)),
    "i2": (F(1), F(2, 3), F(1, 3)),
    "i3": (F(3, 4), F(1), F(1, 4)),
}
OVERALL = (F(3, 4), F(7, 9), F(3, 8))
NAMES = ("precision", "recall", "jaccard_distance")


@pytest.fixture(scope="module")
def evaluation(lasting_engine) -> pw.Evaluation:
    """Evaluate once what most tests only look at."""
    attributes = [{"item": i, "slice": i != "i1"} for i in WEIGHTS]
    import pyarrow as pa

    return pw.evaluate(
        ideal=IDEAL,
        actual=ACTUAL,
        weights=WEIGHTS,
        attributes=pa.Table.from_pylist(attributes),
        metrics=NAMES,
        engine=lasting_engine,
    )


def values(row) -> tuple[float, ...]:
    return tuple(row[name] for name in NAMES)


def approx(fractions):
    return pytest.approx([float(f) for f in fractions], rel=1e-15)


@pytest.mark.parametrize("item", SETS)
def test_figure_2_metrics_of_items_as_fractions(item):
    tp, fp, fn, tn = (F(n) for n in MATRICES[item])
    confusion = Confusion(tp=tp, ideal=tp + fn, actual=tp + fp, total=tp + fp + fn + tn, tn=tn)
    assert tuple(METRICS[name].formula(confusion) for name in NAMES) == ITEM_METRICS[item]


def test_figure_2_aggregates_as_fractions():
    weights = {i: F(w) for i, w in WEIGHTS.items()}

    def mean(items):
        total = sum(weights[i] for i in items)
        return tuple(sum(weights[i] * ITEM_METRICS[i][k] for i in items) / total for k in range(3))

    assert mean(["i1", "i2", "i3"]) == OVERALL
    assert mean(["i1", "i2"]) == (F(3, 4), F(5, 9), F(1, 2))
    assert mean(["i1", "i3"]) == (F(5, 8), F(5, 6), F(19, 48))
    assert mean(["i2", "i3"]) == (F(17, 20), F(13, 15), F(17, 60))
    assert mean(["i3"]) == (F(3, 4), F(1), F(1, 4))


@pytest.mark.parametrize("item", SETS)
def test_figure_2_sets_and_matrices(evaluation, item):
    explanation = evaluation.explain(item=item)
    tp, fp, fn, tn_count = SETS[item]
    assert list(explanation.true_positives.items) == tp
    assert list(explanation.false_positives.items) == fp
    assert list(explanation.false_negatives.items) == fn
    assert explanation.true_negatives.count == tn_count
    assert tuple(explanation.matrix.values()) == MATRICES[item]
    assert values(explanation.metrics) == approx(ITEM_METRICS[item])


def test_figure_2_items(evaluation):
    rows = {row["item"]: row for row in evaluation.by_item().to_dicts()}
    for item, expected in ITEM_METRICS.items():
        assert values(rows[item]) == approx(expected)
        assert tuple(rows[item][n] for n in ("tp", "fp", "fn", "tn")) == MATRICES[item]


def test_figure_2_overall(evaluation):
    assert values(evaluation.overall) == approx(OVERALL)


def test_figure_2_clusters(evaluation):
    ideal = {row["ideal_cluster"]: row for row in evaluation.by_ideal_cluster().to_dicts()}
    actual = {row["actual_cluster"]: row for row in evaluation.by_actual_cluster().to_dicts()}
    assert values(ideal[0]) == approx((F(3, 4), F(5, 9), F(1, 2)))
    assert values(ideal[1]) == approx((F(3, 4), F(1), F(1, 4)))
    assert values(actual[0]) == approx((F(5, 8), F(5, 6), F(19, 48)))
    assert values(actual[1]) == approx(ITEM_METRICS["i2"])


def test_figure_2_slice_is_not_cut_at_its_border(evaluation):
    rows = {row["slice"]: row for row in evaluation.by_slice("slice").to_dicts()}
    assert values(rows[True]) == approx((F(17, 20), F(13, 15), F(17, 60)))
    assert rows[True]["items"] == 2
    assert rows[True]["weight"] == 5
    assert rows[True]["share"] == pytest.approx(5 / 6)


def test_figure_3_subdivided_items(engine):
    evaluation = pw.evaluate(
        ideal=[["i1", "i4", "i5"], ["i6", "i7", "i8"]],
        actual=[["i1", "i6", "i7", "i8"], ["i4", "i5"]],
        metrics=NAMES,
        engine=engine,
    )
    assert values(evaluation.overall) == approx(OVERALL)


def test_merge_rates_are_complements(evaluation):
    rates = evaluation.with_metrics("over_merge_rate", "under_merge_rate").overall
    assert rates["over_merge_rate"] == pytest.approx(1 - 3 / 4)
    assert rates["under_merge_rate"] == pytest.approx(1 - 7 / 9)


def test_text_of_item_explanation_names_the_four_sets(evaluation):
    text = str(evaluation.explain(item="i1"))
    for word in ("TP", "FP", "FN", "TN", "i2", "i3", "precision 0.2500"):
        assert word in text
