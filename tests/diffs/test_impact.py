"""Impact: the worked example, the laws, and an independent oracle."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.errors import InputError, NotFoundError, PointwiseError, UnknownMetricError, UsageError

from diff_oracle import BASE, EXP, WEIGHTS, Oracle
from strategies import DYADIC, REAL, cases

NAMES = ("split_rate", "merge_rate", "jaccard_distance", "split_distance", "merge_distance")


def diff_of(case, engine=None, **settings):
    return pw.diff(baseline=case.ideal, experiment=case.actual, weights=case.weights, engine=engine, **settings)


def oracle_of(case):
    return Oracle(case.ideal, case.actual, case.weights)


@pytest.fixture(scope="module")
def worked():
    return pw.diff(baseline=BASE, experiment=EXP, weights=WEIGHTS)


def test_the_worked_example(worked):
    rows = {row["item"]: row for row in worked.by_item().to_dicts()}
    expected = {
        "split_rate": {"a": "2/5", "b": "2/5", "c": "3/5", "d": "0", "e": "0"},
        "merge_rate": {"a": "0", "b": "0", "c": "5/7", "d": "3/7", "e": "6/7"},
        "jaccard_distance": {"a": "2/5", "b": "2/5", "c": "4/5", "d": "3/7", "e": "6/7"},
    }
    for name, values in expected.items():
        for item, value in values.items():
            assert rows[item][name] == pytest.approx(float(Fraction(value)), rel=1e-15)
    overall = {"split_rate": "6/25", "merge_rate": "2/5", "jaccard_distance": "94/175"}
    overall |= {"split_distance": "9/50", "merge_distance": "5/14"}
    for name, value in overall.items():
        assert worked.overall[name] == pytest.approx(float(Fraction(value)), rel=1e-15)
    assert worked.overall.bounds["delta_recall"] == pytest.approx((-0.24, 0.4))
    assert worked.overall.bounds["delta_precision"] == pytest.approx((-94 / 175, 94 / 175))
    assert worked.overall.affected_items == 5


def test_the_worked_examples_masses(worked):
    masses = worked.masses
    assert masses.offset == pytest.approx(-16 / 75)
    assert (masses.split, masses.merge, masses.minus) == pytest.approx((6 / 25, 2 / 5, 0))
    assert masses.plus == pytest.approx(2 * 1 * 2 / 10 * (1 / 3 - 1 / 5))


@given(cases(REAL))
def test_metrics_agree_with_the_oracle_for_items_and_everything(case):
    diff, oracle = diff_of(case), oracle_of(case)
    for row in diff.by_item().to_dicts():
        for name, value in oracle.row(row["item"]).items():
            assert row[name] == pytest.approx(float(value), abs=1e-12)
    for name, value in oracle.lift().items():
        assert diff.overall[name] == pytest.approx(float(value), abs=1e-12)


@given(cases(REAL))
def test_masses_agree_with_the_oracle(case):
    masses, oracle = diff_of(case).masses, oracle_of(case)
    for stratum, pairs in oracle.pairs().items():
        assert masses.of(stratum) == pytest.approx(float(sum(pairs.values())), abs=1e-12)
    assert masses.offset == pytest.approx(float(oracle.offset()), abs=1e-12)


@given(cases(DYADIC))
def test_swapping_the_sides_swaps_splits_and_merges(case):
    one = diff_of(case)
    other = pw.diff(baseline=case.actual, experiment=case.ideal, weights=case.weights)
    for metric in one.metrics:
        assert one.overall[metric.name] == pytest.approx(other.overall[metric.swapped], abs=1e-12)
    assert one.masses.offset == pytest.approx(-other.masses.offset, abs=1e-12)


@given(cases(DYADIC), st.sampled_from([0.25, 3.0, 1e6]))
def test_scaling_weights_changes_nothing(case, factor):
    scaled = {item: weight * factor for item, weight in case.weights.items()}
    one, other = diff_of(case), pw.diff(baseline=case.ideal, experiment=case.actual, weights=scaled)
    for name in NAMES:
        assert one.overall[name] == pytest.approx(other.overall[name], abs=1e-12)
    for name in ("split", "merge", "plus", "minus", "offset"):
        assert getattr(one.masses, name) == pytest.approx(getattr(other.masses, name), abs=1e-12)


@given(cases(DYADIC))
def test_splitting_an_item_into_two_changes_nothing(case):
    first, half = case.common[0], case.weights[case.common[0]] / 2
    ideal, actual = case.ideal | {"twin": case.ideal[first]}, case.actual | {"twin": case.actual[first]}
    other = pw.diff(baseline=ideal, experiment=actual, weights=case.weights | {first: half, "twin": half})
    for name in NAMES:
        assert diff_of(case).overall[name] == pytest.approx(other.overall[name], abs=1e-12)


@given(cases(REAL))
def test_metrics_are_those_of_an_evaluation_with_the_baseline_as_truth(case):
    overall = diff_of(case).overall
    evaluation = pw.evaluate(ideal=case.ideal, actual=case.actual, weights=case.weights).overall
    assert overall["split_rate"] == pytest.approx(1 - evaluation["recall"], abs=1e-12)
    assert overall["merge_rate"] == pytest.approx(1 - evaluation["precision"], abs=1e-12)
    assert overall["jaccard_distance"] == pytest.approx(evaluation["jaccard_distance"], abs=1e-12)


@given(cases(REAL))
def test_costs_of_changes_add_up_to_the_rates(case):
    changes = diff_of(case).changes(1000)
    for kind in ("split", "merge"):
        found = sum(change.cost for change in changes if change.kind == kind)
        assert found == pytest.approx(changes.rates[f"{kind}_rate"], abs=1e-12)
    few = diff_of(case).changes(1, kind="split")
    assert sum(c.cost for c in few) + few.rest["split_rate"][1] == pytest.approx(few.rates["split_rate"], abs=1e-12)


@given(cases(DYADIC))
def test_the_union_pads_what_a_side_lacks(case):
    every = {**case.ideal, **case.actual}
    padded = [{i: side.get(i, f"alone {i}") for i in every} for side in (case.ideal, case.actual)]
    diff, oracle = diff_of(case, on="union"), Oracle(*padded, case.weights)
    assert diff.overall.items == len(every)
    for name, value in oracle.lift().items():
        assert diff.overall[name] == pytest.approx(float(value), abs=1e-12)
    assert diff.extent.baseline_only + diff.extent.experiment_only + diff.extent.common_items == len(every)


@given(cases(DYADIC))
def test_every_baseline_cluster_has_one_fate_and_weights_add_up(case):
    diff = diff_of(case)
    fates = diff.fates().to_dicts()
    common = set(case.common)
    assert sorted(row["baseline_cluster"] for row in fates) == sorted({case.ideal[i] for i in common})
    assert sum(row["weight"] for row in fates) == pytest.approx(sum(case.weights[i] for i in common))
    heirs = [row["continues_as"] for row in fates if row["continues_as"] is not None]
    assert len(heirs) == len(set(heirs))
    lineage = {row["fate"]: row for row in diff.lineage().to_dicts()}
    new = lineage.get("new", {"clusters": 0})["clusters"]
    assert new + len(heirs) == len({case.actual[i] for i in common})
    for row in fates:
        before = {i for i in common if case.ideal[i] == row["baseline_cluster"]}
        after = {i for i in common if case.actual[i] == row["continues_as"]}
        assert row["fate"] == _fate(before, after, row["continues_as"], case)


def _fate(before, after, heir, case):
    if heir is None:
        return "merged" if len({case.actual[i] for i in before}) == 1 else "split"
    if before == after:
        return "unchanged"
    if before < after:
        return "grown"
    return "shrunk" if before > after else "reshaped"


def test_fates_of_items_that_a_side_lacks():
    diff = pw.diff(
        baseline=[["a", "b"], ["c"], ["d", "e"], ["x", "y"]],
        experiment=[["a", "b", "n"], ["d"], ["m"]],
        on="union",
    )
    fates = {row["items"]: row["fate"] for row in diff.fates().head(1).to_dicts()}
    assert fates
    counts = {row["fate"]: row["clusters"] for row in diff.lineage().to_dicts()}
    assert counts == {"grown": 1, "shrunk": 1, "gone": 2, "new": 1}


def test_changes_say_what_happened_with_records():
    attributes = [{"item": i, "name": f"name of {i}"} for i in BASE]
    import pyarrow as pa

    table = pa.Table.from_pylist(attributes)
    diff = pw.diff(baseline=BASE, experiment=EXP, weights=WEIGHTS, attributes=table)
    (split,) = diff.changes(kind="split")
    assert str(split).startswith("baseline 1 was split into experiment 1 (2 items of weight 3, e.g. a, b) and")
    assert split.records["c"] == {"name": "name of c"}
    merge = diff.changes(kind="merge")[0]
    assert "were merged in experiment 2" in str(merge)


def test_explanations(worked):
    seen = worked.explain(item="c")
    assert (seen.stable.items, seen.split_off.items, seen.merged_in.items) == (("c",), ("a", "b"), ("d", "e"))
    assert seen.metrics["jaccard_distance"] == pytest.approx(0.8)
    parts = worked.explain(baseline_cluster=1)
    assert [row["experiment_cluster"] for row in parts.to_dicts()] == [1, 2]
    assert "lies in 2 experiment clusters" in repr(parts)
    with pytest.raises(UsageError, match="one of item"):
        worked.explain()
    with pytest.raises(NotFoundError):
        worked.explain(item="nobody")


def test_slices_are_averages_over_their_items():
    import pyarrow as pa

    kinds = {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y"}
    table = pa.table({"item": list(kinds), "kind": list(kinds.values())})
    diff = pw.diff(baseline=BASE, experiment=EXP, weights=WEIGHTS, attributes=table, slices="kind")
    oracle = Oracle(BASE, EXP, WEIGHTS)
    for row in diff.by_slice().to_dicts():
        among = [i for i in kinds if kinds[i] == row["kind"]]
        for name, value in oracle.lift(among).items():
            assert row[name] == pytest.approx(float(value))


def test_singletons_split_everything():
    diff = pw.diff(baseline={"a": 1, "b": 1, "c": 2}, experiment="singletons", weights={"a": 1, "b": 3, "c": 4})
    assert diff.overall["merge_rate"] == 0
    assert diff.overall["split_rate"] == pytest.approx((1 * 3 / 4 + 3 * 1 / 4) / 8)
    assert diff.is_singletons


def test_singletons_of_a_source_that_can_be_read_once():
    diff = pw.diff(baseline=(cluster for cluster in [["a", "b"], ["c"]]), experiment="singletons")
    assert diff.overall["split_rate"] == pytest.approx(1 / 3)


def test_errors_speak_of_baseline_and_experiment(tmp_path):
    (tmp_path / "base.csv").write_text("id,cluster\n1,a\n")
    with pytest.raises(PointwiseError, match=r"The baseline clustering .* has no column 'nothing'"):
        pw.diff(baseline=tmp_path / "base.csv", experiment={"1": 1}, item={"baseline": "nothing"})
    with pytest.raises(
        InputError, match=r"The baseline clustering .* and the experiment clustering .* no item in common"
    ):
        pw.diff(baseline={"a": 1}, experiment={"b": 1})
    with pytest.raises(PointwiseError, match="more than once in the experiment clustering"):
        pw.diff(baseline=[["a", "b"]], experiment=[["a", "b"], ["a"]])
    with pytest.raises(UsageError, match="on='all' is not one of 'common', 'union'"):
        pw.diff(baseline={"a": 1}, experiment={"a": 1}, on="all")
    with pytest.raises(PointwiseError, match="weight"):
        pw.diff(baseline={"a": 1}, experiment={"a": 1, "b": 2}, weights={"a": 1}, on="union")
    diff = pw.diff(baseline={"a": 1}, experiment={"a": 1})
    with pytest.raises(UnknownMetricError, match="Did you mean 'split_rate'"):
        diff.by_item(metrics="split_rat")
    with pytest.raises(UsageError, match="nothing to ask"):
        diff.questions(10)


def test_drawings_say_what_matters(worked):
    text = repr(worked)
    assert "Common items: 5 of 5 baseline items and 5 experiment items" in text
    assert "5 affected (100.0% of the weight)" in text
    assert "delta_recall lies between -0.2400 and 0.4000" in text
    few = pw.diff(baseline={"a": 1, "b": 1}, experiment={"a": 1, "c": 1})
    assert "1 and 1 are left out" in repr(few)
