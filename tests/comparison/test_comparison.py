"""Comparisons agree with evaluating each variant alone, recombine, and say what changed."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import stats

import pointwise as pw
from alike import alike
from pointwise.engines import start_engine
from pointwise.errors import InputError, NoCommonItemsError, NotFoundError, RunError, UsageError

from strategies import cases

METRICS = ["precision", "recall", "f1_of_means", "jaccard_distance", "specificity"]


@pytest.fixture(scope="module")
def three():
    """Three releases of PatentsView against the truth, on their own items."""
    data = pw.datasets.patentsview()
    names = ("2017-08-08", "2021-12-30", "2022-06-30")
    return pw.compare(
        ideal=data.truth,
        variants={name: data.releases[name] for name in names},
        weight="num_claims",
        attributes=data.attributes,
        slices=["country", "ideal_cluster_size"],
        metrics=METRICS,
        threads=1,  # sums in one order, so that equal numbers are equal to the last digit
    )


def alone(name):
    data = pw.datasets.patentsview()
    return pw.evaluate(
        ideal=data.truth,
        actual=data.releases[name],
        weight="num_claims",
        attributes=data.attributes,
        slices=["country"],
        metrics=METRICS,
        threads=1,
    )


def test_values_are_those_of_separate_evaluations(three):
    for row in three.by_variant().to_dicts():
        single = alone(row["variant"])
        assert three[row["variant"]].overall.to_dicts() == alike(single.overall)
        for name in METRICS:
            assert row[name] == pytest.approx(single.overall[name], rel=1e-14)
            interval = single.overall.interval(name)
            ends = row[f"{name}_low"], row[f"{name}_high"]
            if interval.low is None:
                assert ends == (None, None)
            else:
                assert ends == pytest.approx((interval.low, interval.high), rel=1e-9)
        assert row["common_share"] == single.coverage.common_share
        assert row["outside_share"] == single.coverage.outside_share


def test_all_pairs_follow_from_the_evaluations(three):
    rows = three.deltas().to_dicts()
    pairs = [(row["baseline"], row["experiment"]) for row in rows if row["metric"] == "recall"]
    assert pairs == list(combinations(three.variants, 2))
    for row in rows:
        overall = [three[row[side]].overall[row["metric"]] for side in ("baseline", "experiment")]
        assert row["delta"] == pytest.approx(overall[1] - overall[0], abs=1e-14)
        assert three.delta(row["metric"], experiment=row["experiment"], baseline=row["baseline"]) == pytest.approx(
            row["delta"], abs=1e-14
        )


def test_interval_and_test_of_a_difference_are_paired_by_ideal_cluster(three):
    pair = {"experiment": "2022-06-30", "baseline": "2017-08-08"}
    influences = {}
    for name, sign in ((pair["experiment"], 1), (pair["baseline"], -1)):
        rows = three[name].by_ideal_cluster(metrics="recall").to_dicts()
        total = sum(r["weight"] for r in rows)
        value = sum(r["weight"] * r["recall"] for r in rows) / total
        for r in rows:
            influence = r["weight"] * (r["recall"] - value) / (total - r["weight"])
            influences[r["ideal_cluster"]] = influences.get(r["ideal_cluster"], 0) + sign * influence
    e, n = np.array(list(influences.values())), len(influences)
    error = math.sqrt((n - 1) / n * (e**2).sum())
    df = min(max(2 * n / (n * (e**4).sum() / (e**2).sum() ** 2 - 1), 1), n - 1)
    row = three.deltas(**pair, metrics="recall").to_dicts()[0]
    assert row["ideal_clusters"] == n
    assert row["delta_high"] - row["delta"] == pytest.approx(stats.t.ppf(0.975, df) * error, rel=1e-6)
    assert row["p_value"] == pytest.approx(2 * stats.t.sf(abs(row["delta"]) / error, df), rel=1e-6)


@pytest.mark.parametrize("table", ["country", "ideal_cluster_size", "country,ideal_cluster_size"])
def test_slices_recombine_to_the_overall_difference(three, table):
    rows = three.by_slice(table).to_dicts()
    for experiment in three.variants[1:]:
        for name in METRICS:
            parts = [r["contribution"] for r in rows if (r["experiment"], r["metric"]) == (experiment, name)]
            if name == "f1_of_means":
                assert set(parts) == {None}
            else:
                assert sum(parts) == pytest.approx(
                    three.delta(name, experiment=experiment, baseline="2017-08-08"), abs=1e-12
                )


@pytest.mark.parametrize("level", ["by_ideal_cluster", "by_item"])
def test_clusters_and_items_recombine_to_the_overall_difference(three, level):
    pair = {"experiment": "2022-06-30", "baseline": "2017-08-08"}
    rows = getattr(three, level)(**pair).to_dicts()
    for name in ("precision", "recall", "jaccard_distance", "specificity"):
        assert sum(r[f"{name}_contribution"] for r in rows) == pytest.approx(three.delta(name, **pair), abs=1e-12)
    both = [r for r in rows if r["recall_delta"] is not None]
    assert 0 < len(both) < len(rows)  # some are in one variant only
    assert all(r["recall_delta"] == r["recall_experiment"] - r["recall_baseline"] for r in both)


def test_adjusted_p_values_belong_to_one_metric_and_pair(three):
    rows = three.by_slice("country", metrics=["recall"], experiment="2022-06-30", baseline="2021-12-30").to_dicts()
    tested = [r for r in rows if r["delta_low"] is not None]
    expected = stats.false_discovery_control([r["p_value"] for r in tested])
    assert [r["p_adjusted"] for r in tested] == pytest.approx(expected.tolist(), rel=1e-12)
    sizes = [abs(r["contribution"]) for r in rows]
    assert sizes == sorted(sizes, reverse=True)


def test_several_slicings_stand_below_one_another(three):
    rows = three.by_slice(metrics="recall").to_dicts()
    first = [r["slice"] for r in rows if r["experiment"] == "2021-12-30"]
    assert first == sorted(first)  # "country" comes before "ideal_cluster_size", as asked for
    assert set(first) == {"country", "ideal_cluster_size"}
    assert {"1001-10000", "1"} <= {r["value"] for r in rows}


def test_different_items_are_said_and_can_be_shared(three):
    assert "from 9,752 (2017-08-08) to 13,467 (2022-06-30)" in three.notes[0]
    assert "on='shared'" in repr(three)
    data = pw.datasets.patentsview()
    names = ("2017-08-08", "2022-06-30")
    variants = {name: data.releases[name] for name in names}
    shared = pw.compare(ideal=data.truth, variants=variants, on="shared", outside="wrong")
    assert shared.notes == ("All variants are evaluated on the 9,752 items that the truth and every variant have.",)
    assert {row["items"] for row in shared.by_variant().to_dicts()} == {9752}
    items = {r["item"] for r in shared[names[0]].by_item().to_dicts()}
    import duckdb

    new = dict(duckdb.sql(f"FROM '{data.releases[names[1]]}'").fetchall())
    truth = dict(duckdb.sql(f"FROM '{data.truth}'").fetchall())
    reduced = pw.evaluate(
        ideal={i: c for i, c in truth.items() if i in items},
        actual={i: c for i, c in new.items() if i in items or i not in truth},
        outside="wrong",
    )
    assert shared[names[1]].overall.to_dict() == pytest.approx(reduced.overall.to_dict(), rel=1e-12)
    assert shared[names[1]].coverage.common_items == 13467  # what it covers is its own matter
    assert shared[names[1]].coverage.missing_items == 0


@settings(max_examples=8)
@given(one=cases(), other=cases())
def test_two_random_variants_recombine(one, other):
    variants = {"a": one.actual, "b": other.actual}
    weights = {**other.weights, **one.weights}
    try:
        comparison = pw.compare(ideal=one.ideal, variants=variants, weights=weights)
    except NoCommonItemsError:
        return
    for name in ("precision", "recall"):
        delta = comparison.delta(name)
        assert comparison["a"].overall[name] + delta == pytest.approx(comparison["b"].overall[name], rel=1e-12)
        for level in (comparison.by_ideal_cluster, comparison.by_item):
            parts = [row[f"{name}_contribution"] for row in level().to_dicts()]
            assert sum(parts) == pytest.approx(delta, abs=1e-12)


class Counting:
    """An engine that counts how often tables are opened and loaded."""

    def __init__(self):
        self.engine, self.name, self.opened, self.loaded = start_engine(), "duckdb", [], []

    def read(self, source, **options):
        import dataclasses

        opened = self.engine.read(source, **options)
        self.opened.append(opened.name)

        def load(columns, *, text=()):
            self.loaded.append(opened.name)
            return opened.load(columns, text=text)

        return dataclasses.replace(opened, load=load)

    def __getattr__(self, name):
        return getattr(self.engine, name)


def test_truth_is_read_once_and_every_variant_once(tmp_path):
    paths = {}
    for name, labels in {"truth": "1122", "a": "1123", "b": "1112", "c": "1222"}.items():
        paths[name] = tmp_path / f"{name}.csv"
        rows = "".join(f"i{n},{label}\n" for n, label in enumerate(labels))
        paths[name].write_text("item,cluster\n" + rows, encoding="utf-8")
    engine = Counting()
    variants = {name: paths[name] for name in "abc"}
    comparison = pw.compare(ideal=paths["truth"], variants=variants, engine=engine)
    repr(comparison)
    comparison.deltas().to_dicts()
    comparison.by_ideal_cluster().to_dicts()
    files = [name for name in engine.loaded if name.endswith(".csv")]
    assert sorted(files) == sorted(str(path) for path in paths.values())
    assert sorted(name for name in engine.opened if name.endswith(".csv")) == sorted(files)


@pytest.fixture
def small():
    ideal = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2, "f": 3, "g": 4, "h": 4, "k": 5, "m": 5}
    old = {"a": 1, "b": 1, "c": 2, "d": 3, "e": 3, "f": 4, "g": 5, "h": 5, "k": 6, "m": 6}
    new = {"a": 9, "b": 9, "c": 9, "d": 8, "e": 7, "f": 6, "g": 5, "h": 5, "k": 5, "m": 5}
    return ideal, old, new


def test_changes_name_what_happened(small):
    ideal, old, new = small
    comparison = pw.compare(ideal=ideal, variants={"old": old, "new": new})
    changes = {row["ideal_cluster"]: row for row in comparison.changes().to_dicts()}
    assert {h: row["change"] for h, row in changes.items()} == {
        1: "merged together",
        2: "split further",
        3: "unchanged",
        4: "worse",
        5: "worse",
    }
    assert (changes[1]["pieces_baseline"], changes[1]["pieces_experiment"]) == (2, 1)
    moved = {row["item"] for row in comparison.moved_items().to_dicts()}
    assert "c" in moved
    assert len(moved & {"d", "e"}) == 1
    assert len(moved & {"g", "h", "k", "m"}) == 2
    counts = {row["change"]: row["ideal_clusters"] for row in comparison.count_changes().to_dicts()}
    assert counts == {"merged together": 1, "split further": 1, "unchanged": 1, "worse": 2}
    back = pw.compare(ideal=ideal, variants={"new": new, "old": old})
    assert {row["change"] for row in back.changes().to_dicts() if row["ideal_cluster"] in (4, 5)} == {"better"}


def test_movers_are_ranked_by_what_they_contribute(small):
    ideal, old, new = small
    comparison = pw.compare(ideal=ideal, variants={"old": old, "new": new})
    assert [row["ideal_cluster"] for row in comparison.losses("recall").to_dicts()] == [2]
    assert [row["ideal_cluster"] for row in comparison.gains("recall").to_dicts()] == [1]
    assert [row["ideal_cluster"] for row in comparison.losses("over_merge_rate", 1).to_dicts()] == [4]
    with pytest.raises(UsageError, match="by_ideal_cluster"):
        comparison.losses("prevalence")


def test_identical_variants_differ_in_nothing(small):
    ideal, old, _ = small
    comparison = pw.compare(ideal=ideal, variants={"one": old, "same": dict(old)})
    rows = comparison.deltas().to_dicts()
    assert all(r["delta"] == 0 and r["p_value"] is None and r["delta_low"] is None for r in rows)
    assert {row["change"] for row in comparison.changes().to_dicts()} == {"unchanged"}
    assert len(comparison.moved_items()) == 0


def test_stored_runs_and_evaluations_are_variants(small, tmp_path):
    ideal, old, new = small
    evaluation = pw.evaluate(ideal=ideal, actual=old)
    pw.evaluate(ideal=ideal, actual=new).save(tmp_path / "new")
    fresh = pw.compare(ideal=ideal, variants={"old": old, "new": new})
    stored = pw.compare(variants={"old": evaluation, "new": tmp_path / "new"})
    mixed = pw.compare(ideal=ideal, variants={"old": old, "new": str(tmp_path / "new")}, metrics=["recall"])
    assert stored.deltas().to_dicts() == alike(fresh.deltas())
    assert mixed.deltas().to_dicts() == alike(fresh.deltas(metrics="recall"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ideal": {"a": 1}}, "ideal items"),
        ({"ideal": {"a": 2, "b": 1, "c": 1, "d": 1, "e": 2}}, "item 'a' has the ideal cluster"),
        ({"weights": dict.fromkeys("abcde", 2)}, "has the weight"),
        ({"outside": "wrong"}, "outside='ignore'"),
    ],
)
def test_runs_against_another_truth_are_refused(change, message):
    base = {"ideal": {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2}, "actual": dict.fromkeys("abcde", 1)}
    runs = {"one": pw.evaluate(**base), "other": pw.evaluate(**(base | change))}
    with pytest.raises(InputError, match=message):
        pw.compare(variants=runs)


def test_a_comparison_is_stored_and_loaded(small, tmp_path):
    ideal, old, new = small
    comparison = pw.compare(ideal=ideal, variants={"old/1": old, "new": new}, baseline="old/1")
    folder = comparison.save(tmp_path / "c")
    loaded = pw.load_comparison(folder)
    assert loaded.deltas().to_dicts() == alike(comparison.deltas())
    assert (loaded.baseline, loaded.variants, loaded.on) == ("old/1", ["old/1", "new"], "own")
    with pytest.raises(RunError, match="already"):
        comparison.save(folder)
    comparison.save(folder, overwrite=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(RunError, match="only a stored comparison is ever replaced"):
        comparison.save(tmp_path / "other")
    with pytest.raises(RunError, match="not a stored comparison"):
        pw.load_comparison(tmp_path)
    with pytest.raises(NotFoundError, match="no stored comparison"):
        pw.load_comparison(tmp_path / "nothing")
    facts = json.loads((folder / "comparison.json").read_text(encoding="utf-8"))
    (folder / "comparison.json").write_text(json.dumps(facts | {"format_version": 99}), encoding="utf-8")
    with pytest.raises(RunError, match="newer"):
        pw.load_comparison(folder)


def test_a_baseline_chooses_the_pairs(small):
    ideal, old, new = small
    comparison = pw.compare(ideal=ideal, variants={"a": old, "b": new, "c": new}, baseline="b", metrics="recall")
    assert [(r["experiment"], r["baseline"]) for r in comparison.deltas().to_dicts()] == [("a", "b"), ("c", "b")]
    assert [r["baseline"] for r in comparison.deltas(baseline="a").to_dicts()] == ["a", "a"]
    assert "against b" in repr(comparison)
    with pytest.raises(UsageError, match="Say which two"):
        comparison.changes()


def test_without_intervals(small):
    ideal, old, new = small
    comparison = pw.compare(ideal=ideal, variants={"old": old, "new": new}, intervals=False)
    assert not any(c.endswith(("_low", "_high")) for c in comparison.by_variant().columns)
    assert not {"p_value", "delta_low"} & set(comparison.deltas().columns)
    assert "±" not in repr(comparison)


def test_bootstrap_of_a_difference_agrees_with_the_closed_form(three):
    pair = {"experiment": "2022-06-30", "baseline": "2021-12-30"}
    interval = three.bootstrap(**pair, metrics="recall")["recall"]
    row = three.deltas(**pair, metrics="recall").to_dicts()[0]
    width = row["delta_high"] - row["delta_low"]
    assert abs(interval.low - row["delta_low"]) < 0.15 * width
    assert abs(interval.high - row["delta_high"]) < 0.15 * width
    assert three.bootstrap(**pair, metrics="precision")["precision"].low is None


def test_a_notebook_shows_tables(small):
    ideal, old, new = small
    comparison = pw.compare(ideal=ideal, variants={"old": old, "new": new})
    assert comparison._repr_html_().count("<table>") == 2
    with comparison as same:
        assert same is comparison


def test_mistakes_are_explained(small):
    ideal, old, _ = small
    with pytest.raises(UsageError, match="on='both'"):
        pw.compare(ideal=ideal, variants={"old": old}, on="both")
    with pytest.raises(UsageError, match="nothing to compare"):
        pw.compare(ideal=ideal, variants={})
    with pytest.raises(NotFoundError, match="not among the variants 'old'"):
        pw.compare(ideal=ideal, variants={"old": old}, baseline="new")
    with pytest.raises(UsageError, match="is missing: the variant 'old'"):
        pw.compare(variants={"old": old})
    single = pw.compare(ideal=ideal, variants={"old": old})
    assert "old" in repr(single)
    with pytest.raises(UsageError, match="only one variant"):
        single.deltas()
    with pytest.raises(NotFoundError, match="no variant 'x'"):
        single["x"]
    with pytest.raises(UsageError, match="what to slice by"):
        pw.compare(ideal=ideal, variants={"a": old, "b": old}).by_slice()
