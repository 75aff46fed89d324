"""Items that one of the clusterings lacks, counted with an empty cluster there: missing="wrong", outside="spurious"."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pointwise as pw
from pointwise.core.metrics import METRICS
from pointwise.errors import InputError, RepeatedItemError, UsageError, WeightError

import oracle
from strategies import WHOLE, Case, cases

BOTH = {"missing": "wrong", "outside": "spurious"}
KEY = [["a"], ["b", "c"], ["d", "e", "f"]]
BUILT_IN = list(METRICS)
FEW = max(1, settings.default.max_examples // 2)
POLICIES = st.fixed_dictionaries(
    {"missing": st.sampled_from(["drop", "wrong"]), "outside": st.sampled_from(["ignore", "wrong", "spurious"])}
)


def averaged(case: Case, missing: str, outside: str) -> list[str]:
    """List the items that are averaged over."""
    lacking = [i for i in case.ideal if i not in case.actual and missing == "wrong"]
    spurious = [i for i in case.actual if i not in case.ideal and outside == "spurious"]
    return [*case.common, *lacking, *spurious]


def judged(case: Case, missing: str, outside: str) -> tuple[dict, list[str]]:
    """Return the truth under the policies, and all items that its matrices count."""
    items = averaged(case, missing, outside)
    touched = {case.actual[item] for item in case.common}
    wrong = [i for i, c in case.actual.items() if i not in case.ideal and c in touched and outside == "wrong"]
    return case.ideal | {item: f"alone {item}" for item in wrong}, [*items, *wrong]


def same(value, expected):
    assert value == (None if expected is None else pytest.approx(float(expected), rel=1e-12, abs=1e-12))


@settings(max_examples=FEW)
@given(case=cases(WHOLE), policies=POLICIES)
def test_every_metric_agrees_with_the_sets(engine, case, policies):
    truth, counted = judged(case, **policies)
    items = averaged(case, **policies)
    evaluation = pw.evaluate(
        ideal=case.ideal, actual=case.actual, weights=case.weights, metrics=BUILT_IN, engine=engine, **policies
    )
    rows = {row["item"]: row for row in evaluation.by_item().to_dicts()}
    assert set(rows) == set(items)
    for name in BUILT_IN:
        expected = oracle.value(name, truth, case.actual, case.fractions, items, counted=counted)
        same(evaluation.overall.values[name], expected)
        if not METRICS[name].means:
            values = oracle.item_values(name, truth, case.actual, case.fractions, counted)
            for item in items:
                same(rows[item][name], values[item])
    assert evaluation.overall.weight == sum(case.weights[item] for item in items)
    assert evaluation.coverage.common_items == len(case.common)


@pytest.mark.parametrize(
    ("response", "recall", "precision"),
    [
        ([["a"], ["d", "e"]], Fraction(7, 18), Fraction(1)),
        ([["a"], ["b", "c", "j"], ["d", "e", "f", "i"], ["h"]], Fraction(1), Fraction(55, 108)),
    ],
)
def test_the_scorer_of_coreference(engine, response, recall, precision):
    evaluation = pw.evaluate(ideal=KEY, actual=response, metrics=["precision", "recall"], engine=engine, **BOTH)
    assert evaluation.overall["recall"] == pytest.approx(float(recall), rel=1e-15)
    assert evaluation.overall["precision"] == pytest.approx(float(precision), rel=1e-15)
    related = {row["metric"]: row["value"] for row in evaluation.related()}
    assert related["bcubed_recall"] == pytest.approx(float(recall))
    assert related["bcubed_precision"] == pytest.approx(float(precision))


@settings(max_examples=10)
@given(case=cases(WHOLE), policies=POLICIES, by=st.sampled_from(["cluster", "pair"]))
def test_mistakes_add_up_to_the_rates(case, policies, by):
    with pw.evaluate(ideal=case.ideal, actual=case.actual, weights=case.weights, **policies) as evaluation:
        rates = evaluation.with_metrics("over_merge_rate", "under_merge_rate").overall
        pairs = evaluation.mistakes(10_000, by="pair")
        found = pairs if by == "pair" else evaluation.mistakes(10_000, by=by)
        for rate, is_split in {"over": False, "under": True}.items():
            cost = math.fsum(mistake.cost for mistake in found if mistake.is_split == is_split)
            assert cost == pytest.approx(rates.values[f"{rate}_merge_rate"] or 0.0, abs=1e-12)
        assert not any(rest.count for rest in found.rest)
        assert all(sum(part.items for part in m.largest) <= m.items for m in found if by == "cluster")
        for kind in ("outside", "missing"):
            some = evaluation.mistakes(1, kind=kind, by="pair")
            costs = [m.cost for m in pairs if m.kind == kind]
            assert math.fsum([*(m.cost for m in some), *(r.cost for r in some.rest)]) == pytest.approx(sum(costs))
            by_cluster = evaluation.mistakes(10_000, kind=kind)
            assert math.fsum(m.cost for m in by_cluster) == pytest.approx(sum(costs))


@settings(max_examples=8)
@given(case=cases(WHOLE), policies=POLICIES)
def test_parts_recombine_to_the_whole(case, policies):
    with pw.evaluate(
        ideal=case.ideal, actual=case.actual, weights=case.weights, metrics=BUILT_IN, **policies
    ) as evaluation:
        sliced = evaluation.by_slice("ideal_cluster_size", intervals=False)
        for table in (evaluation.by_ideal_cluster(), evaluation.by_actual_cluster(), sliced):
            rows = table.to_dicts()
            assert sum(row["weight"] for row in rows) == evaluation.overall.weight
            for name in ("precision", "recall", "specificity"):
                weights = [row["weight"] * (1 - row.get(f"{name}_undefined", 0.0)) for row in rows]
                parts = [w * row[name] for row, w in zip(rows, weights, strict=True) if row[name] is not None]
                whole = evaluation.overall.values[name]
                assert whole is None or math.fsum(parts) / math.fsum(weights) == pytest.approx(whole)


def related_by_hand(case: Case, items: list[str], counted: list[str]) -> dict[str, float | None]:
    return {
        name: oracle.value(name, case.ideal, case.actual, None, items, counted=counted)
        for name in ("precision", "recall")
    }


@settings(max_examples=8)
@given(case=cases(WHOLE))
def test_bcubed_among_the_related_metrics_counts_them_too(case):
    items = averaged(case, **BOTH)
    with pw.evaluate(ideal=case.ideal, actual=case.actual, **BOTH) as evaluation:
        related = {row["metric"]: row["value"] for row in evaluation.related()}
        for name in ("precision", "recall"):
            expected = oracle.value(name, case.ideal, case.actual, counted=items)
            same(related[f"bcubed_{name}"], expected)
        clusters = [row["recall"] for row in evaluation.by_ideal_cluster() if row["recall"] is not None]
        same(related["bcubed_cluster_recall"], sum(clusters) / len(clusters))
    with pw.evaluate(ideal=case.ideal, actual=case.actual) as common:
        plain = {row["metric"]: row["value"] for row in common.related()}
        assert related["pair_f1"] == plain["pair_f1"]
        assert related["v_measure"] == pytest.approx(plain["v_measure"])


RESPONSE = [["a", "x"], ["d", "e", "b"], ["y", "z"]]


def test_explanations_say_who_is_missing_and_who_should_not_exist():
    with pw.evaluate(ideal=KEY, actual=RESPONSE, **BOTH) as evaluation:
        missing, spurious = evaluation.explain(item="f"), evaluation.explain(item="y")
        assert missing.true_positives.count == missing.false_positives.count == 0
        assert missing.false_negatives.items == ("d", "e", "f")
        assert missing.actual_cluster == "<none>"
        assert spurious.false_positives.items == ("y", "z")
        assert spurious.metrics["precision"] == 0
        assert spurious.metrics["recall"] is None
        assert evaluation.explain(item="d").false_negatives.items == ("f",)
        found = [str(mistake) for mistake in evaluation.mistakes()]
        assert "ideal 2 is split into 2 parts: actual 1 (2 items, e.g. d, e) and missing (1 item, e.g. f)" in found
        assert "actual 2 should not exist: outside the truth (2 items)" in found


def test_stored_runs_remember_empty_clusters(tmp_path):
    with pw.evaluate(ideal=KEY, actual=RESPONSE, metrics=BUILT_IN, **BOTH) as evaluation:
        evaluation.save(tmp_path / "run")
        with pw.load(tmp_path / "run") as loaded:
            assert loaded.overall.values == pytest.approx(evaluation.overall.values)
            assert loaded.overall.undefined == pytest.approx(evaluation.overall.undefined)
            assert [str(mistake) for mistake in loaded.mistakes()] == [
                str(mistake) for mistake in evaluation.mistakes()
            ]
            assert loaded.coverage == evaluation.coverage
            values = [[row["value"] for row in found.related()] for found in (loaded, evaluation)]
            assert values[0] == pytest.approx(values[1], nan_ok=True)
            assert repr(loaded) == repr(evaluation)


def test_comparisons_pair_spurious_items_and_leave_them_out_of_shared_ones():
    better = [["a"], ["d", "e"], ["b", "c"], ["y"]]
    variants = {"old": RESPONSE, "new": better}
    with pw.compare(ideal=KEY, variants=variants, metrics=["precision", "recall"], **BOTH) as own:
        for metric in ("precision", "recall"):
            before, after = (pw.evaluate(ideal=KEY, actual=c, **BOTH).overall[metric] for c in variants.values())
            assert own.delta(metric) == pytest.approx(after - before)
            rows = own.by_ideal_cluster().to_dicts()
            assert sum(row[f"{metric}_contribution"] or 0.0 for row in rows) == pytest.approx(after - before)
        assert not any("<none>" in row["ideal_cluster"] for row in own.changes())
        same_twice = own.deltas().to_dicts()
        assert all(row["ideal_clusters"] == len(KEY) for row in same_twice)
    with (
        pw.compare(ideal=KEY, variants=variants, on="shared", metrics="precision", **BOTH) as shared,
        pw.compare(ideal=KEY, variants=variants, on="shared", metrics="precision", outside="wrong") as wrong,
    ):
        assert shared.delta("precision") == pytest.approx(wrong.delta("precision"))
        assert {row["items"] for row in shared.by_variant()} == {4}  # a, b, d, e


def test_intervals_rest_on_ideal_clusters_and_spurious_items():
    """Spurious items count as drawn one by one, so that many of them leave an interval."""
    truth = {f"i{n}": n // 3 for n in range(60)}
    actual = {item: cluster for n, (item, cluster) in enumerate(truth.items()) if n % 7} | {
        f"s{n}": n for n in range(20)
    }
    with pw.evaluate(ideal=truth, actual=actual, **BOTH) as evaluation:
        interval = evaluation.overall.interval("precision")
        assert interval.low < evaluation.overall["precision"] < interval.high
        assert interval.ideal_clusters == 20
        drawn = evaluation.bootstrap(metrics=["precision"])["precision"]
        assert drawn.low == pytest.approx(interval.low, abs=0.1)


def test_weights_and_repeats_of_spurious_items_are_checked():
    truth = pa.table({"item": ["a", "b"], "cluster": [1, 1], "weight": [1.0, 2.0]})
    with pytest.raises(UsageError, match="outside='spurious' needs the weights"):
        pw.evaluate(ideal=truth, actual={"a": 1, "x": 1}, weight="weight", outside="spurious")
    with pytest.raises(WeightError, match="x"):
        pw.evaluate(ideal={"a": 1}, actual={"a": 1, "x": 1}, weights={"a": 1}, outside="spurious")
    with pytest.raises(WeightError, match="b"):
        pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1}, weights={"a": 1}, missing="wrong")
    twice = pa.table({"item": ["a", "x", "x"], "cluster": [1, 1, 2]})
    with pytest.raises(RepeatedItemError, match="'x'"):
        pw.evaluate(ideal={"a": 1}, actual=twice, outside="spurious")


def test_a_sample_has_no_spurious_items_but_missing_ones():
    with pytest.raises(UsageError, match="outside='wrong'"):
        pw.evaluate(ideal=KEY, actual=RESPONSE, outside="spurious", sampling="clusters", population=9)
    options = {"ideal": KEY, "actual": [["a", "x"], ["d", "e", "b"], ["y"]], "outside": "wrong", "missing": "wrong"}
    options["metrics"] = ["precision", "recall"]
    with (
        pw.evaluate(**options) as plain,
        pw.evaluate(**options, sampling="clusters", population=3) as drawn,
    ):
        assert drawn.overall["recall"] == pytest.approx(plain.overall["recall"])
        estimates = {row["metric"]: row["value"] for row in drawn.related()}
        assert estimates["bcubed_recall"] == pytest.approx(plain.overall["recall"])
        assert estimates["bcubed_precision"] == pytest.approx(plain.overall["precision"])
        costs = math.fsum(m.cost for m in drawn.mistakes(100, kind="under-merge"))
        assert costs == pytest.approx(1 - plain.overall["recall"])
    with pw.evaluate(ideal=KEY, actual=RESPONSE, sampling="complete", **BOTH) as complete:
        assert not complete.overall.intervals


def test_ids_that_stand_for_no_cluster_are_reserved():
    with pytest.raises(InputError, match="Rename"):
        pw.evaluate(ideal={"a": 1, "b": 2}, actual={"a": "<none>"}, missing="wrong")
    with pytest.raises(InputError, match="Rename"):
        pw.evaluate(ideal={"a": "<none> x"}, actual={"a": 1, "x": 2}, outside="spurious")


def test_charts_and_the_report_show_empty_clusters(tmp_path):
    with pw.evaluate(ideal=KEY, actual=RESPONSE, **BOTH) as evaluation:
        page = evaluation.report(tmp_path / "report.html").read_text()
        assert "count as items that should not exist" in page
        assert "count as in no cluster" in page
        assert "&lt;none&gt;" in page
