import math
import warnings
from collections import Counter
from itertools import permutations
from pathlib import Path

import bcubed
import duckdb
import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
import pytest
from clusim import sim as clusim_similarity
from clusim.clustering import Clustering
from hypothesis import example, given, settings
from hypothesis import strategies as st
from sklearn import metrics as sklearn_metrics
from sklearn.metrics import cluster as sklearn_cluster

import pointwise as pw
from pointwise import labels
from pointwise.columns import ACTUAL, IDEAL, ITEMS, SQUARES, TP
from pointwise.errors import UsageError, WeightError
from pointwise.labels.sums import sum_cells
from pointwise.related import families
from pointwise.related.families import RELATED

import oracle

SCIKIT_LEARN = {
    "pair_rand": sklearn_metrics.rand_score,
    "pair_adjusted_rand": sklearn_metrics.adjusted_rand_score,
    "pair_fowlkes_mallows": sklearn_metrics.fowlkes_mallows_score,
    "homogeneity": sklearn_metrics.homogeneity_score,
    "completeness": sklearn_metrics.completeness_score,
    "v_measure": sklearn_metrics.v_measure_score,
    "mutual_information": sklearn_metrics.mutual_info_score,
    "normalized_mutual_information": sklearn_metrics.normalized_mutual_info_score,
}
MATRIX = ("tp", "fp", "fn", "tn")
PAIR_NAMES = ("true_positive_pairs", "false_positive_pairs", "false_negative_pairs", "true_negative_pairs")
DEGENERATE = (
    ([7], [7]),
    ([1, 1, 1, 1], [1, 1, 1, 1]),
    ([1, 2, 3, 4], [1, 2, 3, 4]),
    ([1, 1, 1, 1], [1, 2, 3, 4]),
    ([1, 2, 3, 4], [1, 1, 1, 1]),
    ([1, 1, 2, 2], [1, 2, 1, 2]),
    ([1, 1, 2, 2, 3], [3, 3, 1, 1, 2]),
)
LARGE = tuple(
    tuple(np.random.default_rng(seed).integers(0, clusters, (2, 5000))) for seed, clusters in enumerate((2, 50, 4000))
)


@st.composite
def clusterings(draw, max_items=25):
    n = draw(st.integers(1, max_items))
    sides = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    return draw(sides), draw(sides)


@st.composite
def weighted_clusterings(draw, weights):
    true, pred = draw(clusterings(12))
    return true, pred, draw(st.lists(weights, min_size=len(true), max_size=len(true)))


WEIGHTS = st.sampled_from([0.1, 0.25, 1.0, 1 / 3, 2.0, 7.5])


def close(expected):
    return pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


def by_item(*columns):
    return [dict(enumerate(column)) for column in columns]


# Other packages


@pytest.mark.parametrize("name", SCIKIT_LEARN)
@pytest.mark.parametrize("case", [*DEGENERATE, *LARGE], ids=str)
def test_numbers_of_scikit_learn_on_degenerate_and_large_cases(name, case):
    assert labels.related_scores(*case)[name] == close(SCIKIT_LEARN[name](*case))


@given(case=clusterings())
def test_numbers_of_scikit_learn(case):
    found = labels.related_scores(*case)
    for name, function in SCIKIT_LEARN.items():
        assert found[name] == close(function(*case)), name


@given(case=clusterings(), beta=st.sampled_from([0.0, 0.3, 1.0, 2.0]))
def test_v_measure_with_beta_of_scikit_learn(case, beta):
    expected = sklearn_metrics.v_measure_score(*case, beta=beta)
    assert labels.related_scores(*case, beta=beta)["v_measure"] == close(expected)


@given(case=clusterings())
@example(case=([1, 1, 1, 2], [1, 1, 2, 2]))
def test_pair_confusion_matrix_of_scikit_learn(case):
    found = labels.related_scores(*case)
    (tn, fp), (fn, tp) = sklearn_cluster.pair_confusion_matrix(*case) / 2  # which counts a pair twice
    assert [found[name] for name in PAIR_NAMES] == [tp, fp, fn, tn]


@given(case=clusterings())
@example(case=([7], [7]))
@example(case=([1, 1, 1], [1, 2, 3]))
@example(case=([1, 2, 3], [1, 1, 1]))
def test_numbers_of_bcubed(case):
    found = labels.related_scores(*case)
    true, pred = ({item: {label} for item, label in enumerate(side)} for side in case)
    precision, recall = bcubed.precision(pred, true), bcubed.recall(pred, true)
    assert found["bcubed_precision"] == close(precision)
    assert found["bcubed_recall"] == close(recall)
    assert found["bcubed_f1"] == close(bcubed.fscore(precision, recall))


@given(case=clusterings())
@example(case=([7], [7]))
@example(case=([1, 1, 1], [1, 2, 3]))
def test_element_similarity_of_clusim(case):
    true, pred = (Clustering() for _ in range(2))
    true.from_membership_list(case[0])
    pred.from_membership_list(case[1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = clusim_similarity.element_sim(true, pred)
    assert labels.related_scores(*case)["element_similarity"] == close(expected)


@pytest.mark.parametrize("case", [*DEGENERATE, *LARGE], ids=str)
def test_adjusted_mutual_information_of_scikit_learn(case):
    expected = sklearn_metrics.adjusted_mutual_info_score(*case)  # from logarithms of factorials, which lose digits
    assert labels.related_scores(*case)["adjusted_mutual_information"] == pytest.approx(expected, abs=1e-8)


@settings(max_examples=15)
@given(case=clusterings(6))
def test_mutual_information_is_adjusted_by_its_mean_over_all_permutations(case):
    true, pred = case
    found = labels.related_scores(true, pred)
    dealt = Counter(permutations(pred))  # many deal the same labels
    by_chance = [sklearn_metrics.mutual_info_score(true, hand) * times for hand, times in dealt.items()]
    expected = math.fsum(by_chance) / dealt.total()
    most = sum(sklearn_metrics.mutual_info_score(side, side) for side in case) / 2
    if most - expected > 1e-9:
        value = (found["mutual_information"] - expected) / (most - expected)
        assert found["adjusted_mutual_information"] == pytest.approx(value, abs=1e-9)


def clusters_of(side):
    found = {}
    for item, label in enumerate(side):
        found.setdefault(label, set()).add(item)
    return {frozenset(items) for items in found.values()}


@given(case=clusterings())
def test_matches_and_edits_of_whole_clusters(case):
    found, (ideal, actual) = labels.related_scores(*case), map(clusters_of, case)
    same = len(ideal & actual)
    assert found["exact_match_precision"] == close(same / len(actual))
    assert found["exact_match_recall"] == close(same / len(ideal))
    assert found["exact_match_f1"] == close(2 * same / (len(ideal) + len(actual)))
    splits = sum(len({i for i in ideal if i & a}) - 1 for a in actual)
    merges = sum(len({a for a in actual if i & a}) - 1 for i in ideal)
    assert found["edit_distance"] == splits + merges


@given(case=weighted_clusterings(WEIGHTS))
def test_goodman_and_kruskal_count_the_errors_that_the_actual_cluster_saves(case):
    true, pred, weights = case
    found, total = labels.related_scores(true, pred, sample_weight=weights), sum(weights)

    def weigh(items):
        return sum(weights[i] for i in items)

    ideal, actual = clusters_of(true), clusters_of(pred)
    blind = total - max(map(weigh, ideal))
    seeing = total - sum(max(weigh(i & a) for i in ideal) for a in actual)
    assert found["goodman_kruskal_lambda"] == close((blind - seeing) / blind if len(ideal) > 1 else 1.0)
    blind = total - sum(weigh(i) ** 2 for i in ideal) / total
    seeing = total - sum(weigh(i & a) ** 2 / weigh(a) for a in actual for i in ideal)
    assert found["goodman_kruskal_tau"] == close((blind - seeing) / blind if len(ideal) > 1 else 1.0)


def test_related_metrics_are_found_by_name(engine):
    related = pw.evaluate(ideal=[["a", "b"], ["c"]], actual=[["a", "b", "c"]], engine=engine).related()
    assert related["pair_f1"] == pytest.approx(0.5)
    assert related["edit_distance"] == 1
    assert math.isnan(pw.evaluate(ideal=[["a"]], actual=[["a"]], engine=engine).related()["pair_precision"])
    with pytest.raises(pw.PointwiseError, match="no related metric 'f2'"):
        related["f2"]


# Identities


@given(case=clusterings())
def test_items_entries_sum_to_pairs(case):
    found, matrix = labels.related_scores(*case), labels.confusion(*case)
    sums = [float((matrix.tp - 1).sum()), *(float(getattr(matrix, entry).sum()) for entry in MATRIX[1:])]
    assert sums == [2 * found[name] for name in PAIR_NAMES]


@given(case=clusterings())
def test_bcubed_is_pointwise_with_unit_weights(case):
    found = labels.related_scores(*case)
    expected = labels.scores(*case, metrics=["precision", "recall", "f1_of_means"])
    assert [found[f"bcubed_{name}"] for name in ("precision", "recall", "f1")] == close([*expected.values()])


@given(case=weighted_clusterings(WEIGHTS))
def test_element_similarity_is_the_pointwise_one(case):
    *sides, weight = case
    found = labels.related_scores(*sides, sample_weight=weight)["element_similarity"]
    assert found == close(labels.element_similarity_score(*sides, sample_weight=weight))


@given(case=clusterings())
def test_information_adds_up(case):
    found = labels.related_scores(*case)
    swapped = labels.related_scores(*reversed(case))
    assert found["normalized_mutual_information"] == close(found["v_measure"])
    assert found["mutual_information"] == close(swapped["mutual_information"])
    itself = labels.related_scores(case[0], case[0])["mutual_information"]
    other = labels.related_scores(case[1], case[1])["mutual_information"]
    assert found["variation_of_information"] == close(itself + other - 2 * found["mutual_information"])


@given(case=weighted_clusterings(WEIGHTS))
def test_swapping_the_sides_swaps_names(case):
    true, pred, weight = case
    one = labels.related_scores(true, pred, sample_weight=weight, pairs="product")
    other = labels.related_scores(pred, true, sample_weight=weight, pairs="product")
    twins = [("homogeneity", "completeness"), ("purity", "inverse_purity")]
    twins += [("bcubed_precision", "bcubed_recall"), ("product_pair_precision", "product_pair_recall")]
    for name, twin in [
        *twins,
        ("v_measure", "v_measure"),
        ("product_pair_adjusted_rand", "product_pair_adjusted_rand"),
    ]:
        assert one[name] == close(other[twin])


@given(case=weighted_clusterings(WEIGHTS))
def test_purity_is_at_least_precision(case):
    true, pred, weight = case
    found = labels.related_scores(true, pred, sample_weight=weight)
    pointwise = labels.scores(true, pred, sample_weight=weight)
    assert found["purity"] >= pointwise["precision"] - 1e-12
    assert found["inverse_purity"] >= pointwise["recall"] - 1e-12


# Definitions


def test_orientation_is_truth_first():
    found = labels.related_scores(["a", "a", "b", "b"], [1, 1, 1, 1])
    assert (found["false_positive_pairs"], found["false_negative_pairs"]) == (4, 0)
    assert (found["pair_precision"], found["pair_recall"]) == (pytest.approx(1 / 3), 1)
    assert (found["homogeneity"], found["completeness"]) == (0, 1)
    assert (found["purity"], found["inverse_purity"]) == (0.5, 1)


@given(case=weighted_clusterings(WEIGHTS))
def test_product_pairs_agree_with_looking_at_every_pair(case):
    true, pred, weight = case
    found = labels.related_scores(true, pred, sample_weight=weight, pairs="product")
    matrix = oracle.pair_matrix(*by_item(true, pred, weight))
    exact = [float(getattr(matrix, entry)) for entry in MATRIX]
    assert [found[f"product_{name}"] for name in PAIR_NAMES] == pytest.approx(exact, rel=1e-11, abs=1e-11)
    assert found["product_pair_precision"] == close(_ratio(exact[0], exact[0] + exact[1]))
    assert found["product_pair_jaccard"] == close(_ratio(exact[0], sum(exact[:3])))


def _ratio(part, whole):
    return part / whole if whole else math.nan


@given(case=weighted_clusterings(st.integers(1, 4)))
def test_replication_pairs_are_pairs_of_copies(case):
    true, pred, copies = case
    found = labels.related_scores(true, pred, sample_weight=copies, pairs="replication")
    copied = labels.related_scores(np.repeat(true, copies), np.repeat(pred, copies))
    for row in families.definitions("counts"):
        if row.pairs:
            assert found[f"replication_{row.name}"] == close(copied[row.name]), row.name


@given(case=weighted_clusterings(WEIGHTS))
def test_bcubed_has_weights_in_the_average_only(case):
    true, pred, weight = case
    found = labels.related_scores(true, pred, sample_weight=weight)
    unweighted = oracle.item_values("precision", *by_item(true, pred))
    assert found["bcubed_precision"] == close(float(oracle.lift(unweighted, dict(enumerate(weight)))))


@given(case=weighted_clusterings(WEIGHTS))
def test_the_average_over_ideal_clusters_counts_each_the_same(case):
    true, pred, weight = case
    found = labels.related_scores(true, pred, sample_weight=weight)
    values, weights = oracle.item_values("recall", *by_item(true, pred)), dict(enumerate(weight))
    means = [
        float(oracle.lift(values, weights, [i for i, label in enumerate(true) if label == cluster]))
        for cluster in set(true)
    ]
    assert found["bcubed_cluster_recall"] == close(sum(means) / len(means))


@given(case=weighted_clusterings(WEIGHTS))
def test_f_measure_and_purity_take_the_best_cell(case):
    true, pred, weight = case
    found = labels.related_scores(true, pred, sample_weight=weight)
    cell, ideal, actual = {}, {}, {}
    for h, j, w in zip(true, pred, weight, strict=True):
        cell[h, j], ideal[h], actual[j] = (
            cell.get((h, j), 0) + w,
            ideal.get(h, 0) + w,
            actual.get(j, 0) + w,
        )
    best = [ideal[h] * max(2 * w / (ideal[h] + actual[j]) for (g, j), w in cell.items() if g == h) for h in ideal]
    assert found["f_measure"] == close(sum(best) / sum(weight))
    majority = [max(w for (_, k), w in cell.items() if k == j) for j in actual]
    assert found["purity"] == close(sum(majority) / sum(weight))


@given(case=weighted_clusterings(WEIGHTS), pairs=st.sampled_from(["counts", "product"]))
def test_values_stay_inside_the_stated_range(case, pairs):
    true, pred, weight = case
    for name, value in labels.related_scores(true, pred, sample_weight=weight, pairs=pairs).items():
        low, high = RELATED[name].range
        assert math.isnan(value) or low <= value <= high, name


@given(case=weighted_clusterings(WEIGHTS))
def test_identical_clusterings_are_perfect(case):
    true, _, weight = case
    found = labels.related_scores(true, true, sample_weight=weight, pairs="product")
    for name in ("pair_rand", "pair_adjusted_rand"):
        assert found[f"product_{name}"] == 1
    for name in ("bcubed_f1", "f_measure", "v_measure", "normalized_mutual_information", "purity"):
        assert found[name] == close(1)
    assert found["variation_of_information"] == 0


def test_without_pairs_their_metrics_are_undefined_but_for_those_of_scikit_learn():
    found = labels.related_scores([1, 2, 3], [1, 2, 3])
    assert all(math.isnan(found[f"pair_{name}"]) for name in ("precision", "recall", "f1", "jaccard"))
    assert (found["pair_rand"], found["pair_adjusted_rand"], found["pair_fowlkes_mallows"]) == (1, 1, 0)


# The table and the options


def test_the_table_says_what_every_number_is():
    for row in RELATED.values():
        assert row.text
        assert row.summary
        assert row.relation
        assert row.name == "element_similarity" or row.relation.endswith(".")
    names = [row.name for row in families.definitions()]
    assert list(labels.related_scores([1, 2], [1, 1])) == names
    assert len(RELATED) == len(names) + 2 * sum(bool(row.pairs) for row in families.definitions())


@pytest.mark.parametrize("beta", [-1, math.nan, math.inf])
def test_bad_beta_is_an_error(beta):
    with pytest.raises(UsageError, match="beta"):
        labels.related_scores([1], [1], beta=beta)


def test_unknown_pairs_are_an_error():
    with pytest.raises(UsageError, match="'counts', 'product', 'replication'"):
        labels.related_scores([1], [1], pairs="weights")


def test_copies_cannot_be_fractions_of_an_item():
    with pytest.raises(UsageError, match=r"mean weight of 0\.5"):
        labels.related_scores([1, 2], [1, 2], sample_weight=[0.5, 1], pairs="replication")


# Cells of a table


def relate(rows, **options):
    """Run `relate` on DuckDB."""
    columns = (IDEAL, ACTUAL, ITEMS, TP, SQUARES)
    cells = pa.table(dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True)))
    connection = duckdb.connect()
    frame = nw.from_native(connection.from_arrow(cells))
    return families.relate(frame, lambda query: query.collect("pyarrow").to_native(), **options)


def cells_of(true, pred, weight):
    cells = {}
    for h, j, w in zip(true, pred, weight, strict=True):
        items, tp, squares = cells.get((h, j), (0, 0.0, 0.0))
        cells[h, j] = (items + 1, tp + w, squares + w * w)
    return [(*key, *values) for key, values in cells.items()]


@pytest.mark.parametrize("pairs", ["counts", "product", "replication"])
@pytest.mark.parametrize("seed", range(4))
def test_tables_and_label_arrays_agree(pairs, seed):
    random = np.random.default_rng(seed)
    true, pred = random.integers(0, 8 * (seed + 1), (2, 40))
    weight = random.integers(1, 50, 40) / 4 + 1
    found = relate(cells_of(true.tolist(), pred.tolist(), weight.tolist()), beta=0.5, pairs=pairs)
    expected = labels.related_scores(true, pred, sample_weight=weight, beta=0.5, pairs=pairs)
    assert list(found) == list(expected)
    assert list(found.values()) == close(list(expected.values()))


@pytest.mark.parametrize("case", DEGENERATE, ids=str)
def test_degenerate_tables_and_label_arrays_agree(case):
    found = relate(cells_of(*case, [1.0] * len(case[0])))
    assert list(found.values()) == close(list(labels.related_scores(*case).values()))


def test_pairs_of_five_billion_items_do_not_overflow():
    n = 5_000_000_000
    found = relate([(h, j, n, float(n), float(n)) for h, j in ((1, 1), (2, 1), (2, 2))])
    tp, ideal, total = (
        3 * n * (n - 1) // 2,
        (n * (n - 1) + 2 * n * (2 * n - 1)) // 2,
        3 * n * (3 * n - 1) // 2,
    )
    assert found["true_positive_pairs"] == close(tp)
    assert found["false_positive_pairs"] == close(ideal - tp)
    assert found["true_negative_pairs"] == close(total - 2 * ideal + tp)
    assert found["pair_precision"] == close(tp / ideal)
    tn, fp = total - 2 * ideal + tp, ideal - tp
    assert found["pair_adjusted_rand"] == close(2 * (tp * tn - fp * fp) / (2 * ideal * (fp + tn)))
    assert found["bcubed_precision"] == close(2 / 3)
    small = labels.related_scores([1, 2, 2], [1, 1, 2])
    for name in ("v_measure", "purity", "f_measure", "mutual_information", "element_similarity"):
        assert found[name] == close(small[name])


def test_sums_name_what_they_sum():
    sums = sum_cells(labels._cross_tabulate([1, 1, 2], [1, 2, 2], [1, 2, 3]))
    assert (sums.items, sums.weight, sums.squares, sums.lightest) == (3, 6, 14, 1)
    assert (sums.cells.clusters, sums.ideal.clusters, sums.actual.clusters) == (3, 2, 2)


def test_the_guide_defines_every_number():
    guide = (Path(__file__).parents[2] / "docs" / "coming-from-scikit-learn.md").read_text(encoding="utf-8")
    for row in families.definitions():
        cells = (f"`{row.name}`", row.text, row.summary, row.relation)
        assert "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |" in guide


def test_evaluations_and_comparisons_relate_the_common_items():
    ideal, actual = {"a": 1, "b": 1, "c": 2, "d": 2}, {"a": 1, "b": 2, "c": 2, "d": 2, "x": 1, "y": 2}
    expected = labels.related_scores(list(ideal.values()), [actual[item] for item in ideal])
    evaluation = pw.evaluate(ideal=ideal, actual=actual)
    found = {row["metric"]: row["value"] for row in evaluation.related().to_dicts()}
    assert found == pytest.approx(expected)
    comparison = pw.compare(ideal=ideal, variants={"one": actual, "two": ideal})
    rows = {row.pop("variant"): row for row in comparison.related().to_dicts()}
    assert rows["one"] == pytest.approx(expected)
    assert rows["two"]["pair_adjusted_rand"] == 1.0


def test_averages_over_items_follow_the_policy_for_members_outside_the_truth():
    ideal, actual = {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 1, "c": 2, "x": 1, "y": 2, "z": 2}
    evaluation = pw.evaluate(ideal=ideal, actual=actual, outside="wrong", metrics=["precision", "element_similarity"])
    values = {row["metric"]: row["value"] for row in evaluation.related().to_dicts()}
    assert evaluation.overall["precision"] == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)
    assert values["bcubed_precision"] == pytest.approx(evaluation.overall["precision"], rel=1e-12)
    assert values["element_similarity"] == pytest.approx(evaluation.overall["element_similarity"], rel=1e-12)
    assert values["pair_precision"] == 1.0  # of pairs of common items


def test_weights_too_far_apart_for_products_are_refused():
    """The square of 1e9 drowns the product of 1e9 and 1, which would be off by a part in ten."""
    ideal, actual = [1, 1, 2, 2], [1, 1, 1, 2]
    near, far = [1e3, 1.0, 1.0, 1.0], [1e9, 1.0, 1.0, 1.0]
    products = labels.related_scores(ideal, actual, sample_weight=near, pairs="product")
    assert products["product_pair_precision"] == pytest.approx(1e3 / (2e3 + 1), rel=1e-9)
    with pytest.raises(WeightError, match="pairs='counts'"):
        labels.related_scores(ideal, actual, sample_weight=far, pairs="product")
    evaluation = pw.evaluate(ideal=ideal, actual=actual, weights=dict(enumerate(far)))
    with pytest.raises(WeightError, match="pairs='counts'"):
        evaluation.related(pairs="product")
    assert evaluation.related().to_dicts()[0]["value"] == 1.0


def test_information_that_rounding_hides_is_undefined():
    found = labels.related_scores([1, 2, 2], [1, 1, 2], sample_weight=[1e14, 1.0, 1.0])
    undefined = {name for name, value in found.items() if math.isnan(value)}
    assert undefined == {"homogeneity", "completeness", "v_measure", "normalized_mutual_information"}
