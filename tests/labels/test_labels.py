import inspect
import math
import pickle
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pointwise import labels
from pointwise.core.metrics import DEFAULT_METRICS, METRICS, find_metric, metric
from pointwise.errors import (
    IdTypeError,
    InputError,
    MissingValueError,
    UnknownMetricError,
    UsageError,
    WeightError,
)
from pointwise.labels import cells as cells_module
from pointwise.labels import codes

import oracle

BUILT_IN = tuple(METRICS)
PER_METRIC = settings(max_examples=25)

WEIGHTS = st.sampled_from([0.1, 0.25, 1.0, 1 / 3, 2.0, 7.5, 50.0])


@st.composite
def cases(draw, max_items=12):
    """Draw two clusterings of the same items and their weights."""
    n = draw(st.integers(1, max_items))
    clusters = st.lists(st.integers(-2, 4), min_size=n, max_size=n)
    return draw(clusters), draw(clusters), draw(st.lists(WEIGHTS, min_size=n, max_size=n))


def judge(name, true, pred, weight=None):
    """Ask the oracle."""
    by_item = [dict(enumerate(values)) if values is not None else None for values in (true, pred, weight)]
    expected = oracle.value(name, *by_item)
    return math.nan if expected is None else float(expected)


def judge_items(name, true, pred, weight=None):
    by_item = [dict(enumerate(values)) if values is not None else None for values in (true, pred, weight)]
    return [math.nan if v is None else float(v) for v in oracle.item_values(name, *by_item).values()]


def close(expected):
    return pytest.approx(expected, rel=1e-12, abs=1e-12, nan_ok=True)


# Values


@pytest.mark.parametrize("name", [*BUILT_IN, "f2", "f0.5"])
@PER_METRIC
@given(case=cases())
@example(case=([3], [3], [2.0]))
@example(case=([1, 1, 1], [1, 2, 3], [1.0, 2.0, 0.1]))
@example(case=([1, 2, 3], [1, 1, 1], [1.0, 2.0, 0.1]))
@example(case=([1, 1, 1], [2, 2, 2], [0.1, 0.2, 0.3]))
@example(case=([1, 1, 2, 2, 3], [1, 1, 1, 2, 2], [1.0] * 5))
def test_scores_agree_with_the_set_definitions(name, case):
    true, pred, weight = case
    assert labels.scores(true, pred, metrics=name)[name] == close(judge(name, true, pred))
    weighted = labels.scores(true, pred, sample_weight=weight, metrics=name)[name]
    assert weighted == close(judge(name, true, pred, weight))


@pytest.mark.parametrize("name", [name for name in BUILT_IN if not METRICS[name].means])
@PER_METRIC
@given(case=cases())
def test_item_scores_agree_with_the_set_definitions(name, case):
    true, pred, weight = case
    found = labels.item_scores(true, pred, sample_weight=weight, metrics=name)[name]
    assert list(found) == close(judge_items(name, true, pred, weight))


@given(case=cases())
def test_confusion_agrees_with_the_set_definitions(case):
    true, pred, weight = case
    found = labels.confusion(true, pred, sample_weight=weight)
    expected = oracle.matrices(*(dict(enumerate(values)) for values in case)).values()
    total = sum(weight)
    for entry in ("tp", "fp", "fn", "tn"):
        exact = [float(getattr(matrix, entry)) for matrix in expected]
        assert list(getattr(found, entry)) == pytest.approx(exact, rel=1e-12, abs=1e-14 * total)
        assert [value == 0 for value in getattr(found, entry)] == [value == 0 for value in exact]


def test_orientation_is_truth_first():
    true, pred = ["a", "a", "b", "c"], [1, 1, 1, 2]
    found = labels.confusion(true, pred)
    assert list(found.fp) == [1, 1, 2, 0]
    assert list(found.fn) == [0, 0, 0, 0]
    assert labels.recall_score(true, pred) == 1
    assert labels.precision_score(true, pred) == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)


def test_the_papers_three_items_with_weights():
    values = labels.item_scores(["a", "a", "b"], [1, 2, 2], sample_weight=[1, 2, 3], metrics="precision")
    assert list(values["precision"]) == [1, 0.4, 0.6]


def test_a_metric_of_means_for_one_item_is_made_of_its_values():
    found = labels.item_scores([1, 1, 2], [1, 2, 2], metrics=["f1", "f1_of_means"])
    assert list(found["f1_of_means"]) == close(list(found["f1"]))


def test_undefined_items_are_left_out_with_their_weight():
    # Item 3 alone has an ideal cluster with something outside of it and inside of its actual cluster.
    true, pred, weight = [1, 1, 2], [1, 1, 1], [1.0, 2.0, 4.0]
    assert labels.scores(true, pred, sample_weight=weight, metrics="negative_predictive_value") == {
        "negative_predictive_value": pytest.approx(math.nan, nan_ok=True)
    }
    assert labels.specificity_score([1, 1, 1], [1, 1, 2], sample_weight=weight) != 0
    assert math.isnan(labels.specificity_score([1, 1, 1], [1, 1, 2]))


# Laws


@pytest.mark.parametrize("name", BUILT_IN)
@PER_METRIC
@given(case=cases(max_items=30))
def test_values_stay_inside_the_stated_range(name, case):
    true, pred, weight = case
    low, high = METRICS[name].range
    value = labels.scores(true, pred, sample_weight=weight, metrics=name)[name]
    assert math.isnan(value) or low <= value <= high
    values = labels.item_scores(true, pred, sample_weight=weight, metrics=name)[name]
    assert np.all(np.isnan(values) | ((values >= low) & (values <= high)))


@given(case=cases(max_items=40))
def test_identical_clusterings_are_perfect_exactly(case):
    true, _, weight = case
    found = labels.scores(true, true, sample_weight=weight, metrics=BUILT_IN)
    for name in ("precision", "recall", "f1", "f1_of_means", "jaccard_index", "accuracy"):
        assert found[name] == 1.0
    for name in ("jaccard_distance", "over_merge_rate", "under_merge_rate"):
        assert found[name] == 0.0


def test_many_identical_clusters_are_perfect_exactly():
    random = np.random.default_rng(1)
    true = random.integers(0, 30_000, 100_000)
    found = labels.scores(true, true * 7 - 5, sample_weight=random.random(100_000) + 0.01)
    assert found == {"precision": 1.0, "recall": 1.0, "f1": 1.0, "jaccard_distance": 0.0}


@pytest.mark.parametrize("name", BUILT_IN)
@PER_METRIC
@given(case=cases(), power=st.sampled_from([2.0**-20, 0.5, 4.0, 2.0**30]))
def test_the_unit_of_weight_does_not_matter(name, case, power):
    true, pred, weight = case
    once = labels.scores(true, pred, sample_weight=weight, metrics=name)[name]
    scaled = labels.scores(true, pred, sample_weight=[w * power for w in weight], metrics=name)[name]
    assert once == scaled or (math.isnan(once) and math.isnan(scaled))


@pytest.mark.parametrize("name", [*BUILT_IN, "f2"])
@PER_METRIC
@given(case=cases())
def test_swapping_the_clusterings_gives_the_swapped_metric(name, case):
    true, pred, weight = case
    twin = find_metric(name).swapped
    one = labels.scores(true, pred, sample_weight=weight, metrics=name)[name]
    other = labels.scores(pred, true, sample_weight=weight, metrics=twin)[twin]
    assert one == close(other)


@pytest.mark.parametrize("name", BUILT_IN)
@PER_METRIC
@given(case=cases(max_items=6), copies=st.lists(st.integers(1, 3), min_size=6, max_size=6))
def test_whole_weights_are_copies_of_items(name, case, copies):
    true, pred, _ = case
    copies = copies[: len(true)]
    weighted = labels.scores(true, pred, sample_weight=copies, metrics=name)[name]
    copied = labels.scores(np.repeat(true, copies), np.repeat(pred, copies), metrics=name)[name]
    assert weighted == close(copied)


@given(case=cases(), seed=st.integers(0, 99))
def test_order_and_names_do_not_matter(case, seed):
    true, pred, weight = map(np.array, case)
    order = np.random.default_rng(seed).permutation(len(true))
    renamed = [f"cluster {label}" for label in pred[order]]
    found = labels.scores(true[order] * 10**12, renamed, sample_weight=weight[order], metrics=BUILT_IN)
    expected = labels.scores(true, pred, sample_weight=weight, metrics=BUILT_IN)
    assert list(found.values()) == close(list(expected.values()))


# Ways to count


@given(case=cases(max_items=40), by_item=st.booleans())
def test_both_ways_of_counting_find_the_same_cells(case, by_item):
    true, pred = (codes.encode(np.array(side), "labels") for side in case[:2])
    table = cells_module._count_in_table(true, pred, by_item=by_item)
    ordered = cells_module._count_by_sorting(true, pred, by_item=by_item)
    for one, other in zip(table, ordered, strict=True):
        assert list(one) == list(other)


def test_keys_too_wide_for_their_position_are_sorted_indirectly():
    random = np.random.default_rng(0)
    true, pred = (codes.Codes(random.integers(0, 50, 300), 1 << 31) for _ in range(2))
    cells, items, cell_of = cells_module._count_by_sorting(true, pred, by_item=True)
    keys = (true.array << 31) | pred.array
    expected = np.unique(keys, return_inverse=True, return_counts=True)
    assert list(cells) == list(expected[0])
    assert list(cell_of) == list(expected[1])
    assert list(items) == list(expected[2])


@pytest.mark.parametrize("clusters", [3, 200, 5000])
def test_large_arrays_agree_with_themselves_by_item(clusters):
    random = np.random.default_rng(clusters)
    true, pred = random.integers(0, clusters, (2, 30_000))
    weight = random.random(30_000) + 0.1
    overall = labels.scores(true, pred, sample_weight=weight)
    by_item = labels.item_scores(true, pred, sample_weight=weight)
    assert list(by_item) == list(DEFAULT_METRICS)
    for name in overall:
        assert overall[name] == close(np.average(by_item[name], weights=weight))


def test_sparse_integers_get_codes_of_their_own():
    random = np.random.default_rng(5)
    values = random.integers(-(2**63), 2**63 - 1, 3000)
    labelled = values[random.integers(0, 3000, 9000)]
    found = codes.encode(labelled, "labels")
    assert found.size == len(np.unique(labelled))
    assert len({*zip(labelled.tolist(), found.array.tolist(), strict=True)}) == found.size


# Kinds of labels

KINDS = {
    "list of ints": [0, 0, 1, 2, 2],
    "huge ints": [10**30, 10**30, 1, -(10**30), -(10**30)],
    "negative": np.array([-5, -5, 3, -7, -7]),
    "sparse": np.array([-(2**62), -(2**62), 5, 2**62, 2**62]),
    "int8": np.array([-128, -128, 127, 0, 0], dtype=np.int8),
    "uint64": np.array([2**64 - 1, 2**64 - 1, 0, 7, 7], dtype=np.uint64),
    "big endian": np.array([5, 5, 3, 4, 4], dtype=">i4"),
    "strided": np.arange(10)[[0, 9, 0, 9, 3, 9, 4, 9, 4, 9]][::2],
    "floats": np.array([0.0, -0.0, 1.5, math.inf, math.inf]),
    "half floats": np.array([0, 0, 1, 2, 2], dtype=np.float16),
    "long doubles": np.array([0, 0, 1, 2, 2], dtype=np.longdouble),
    "complex": np.array([0, 0, 1j, 2, 2]),
    "dates": np.array(["2020-01-01", "2020-01-01", "2021-01-01", "2022-01-01", "2022-01-01"], "datetime64[D]"),
    "strings": ["x", "x", "", "yy", "yy"],
    "string array": np.array(["x", "x", "", "yyyyyyyyyyyyyy", "yyyyyyyyyyyyyy"]),
    "byte array": np.array([b"x", b"x", b"", b"yyy", b"yyy"]),
    "bytes": [b"x", b"x", b"x\0", b"yyy", b"yyy"],
    "strings that end in NUL": ["a", "a", "a\0", "b", "b"],
    "half surrogates": ["\ud800", "\ud800", "a", "b", "b"],
    "objects": np.array(["x", "x", 1, (2,), (2,)], dtype=object),
    "int and its name": [1, 1, "1", 2, 2],
    "tuples": [(1, 2), (1, 2), (2, 1), (), ()],
    "decimals": [Decimal(1), Decimal("1.0"), Decimal(2), Decimal(3), Decimal(3)],
    "structured": np.array([(1, 2), (1, 2), (2, 1), (0, 0), (0, 0)], dtype="i4,i4"),
    "pandas ints": pd.Series([4, 4, 2, 1, 1], index=[9, 8, 7, 6, 5]),
    "pandas nullable": pd.Series([4, 4, 2, 1, 1], dtype="Int64"),
    "pandas strings": pd.Series(["x", "x", "", "yy", "yy"]),
    "pandas mixed": pd.Series(["x", "x", 1, 2, 2], dtype=object),
    "pandas categorical": pd.Series(["x", "x", "z", "y", "y"], dtype="category"),
    "categorical": pd.Categorical(["x", "x", "z", "y", "y"], categories=["y", "unused", "x", "z"]),
    "pandas index": pd.Index([4, 4, 2, 1, 1]),
    "polars ints": pl.Series([4, 4, 2, 1, 1]),
    "polars strings": pl.Series(["x", "x", "", "yy", "yy"]),
    "polars categorical": pl.Series(["x", "x", "", "yy", "yy"], dtype=pl.Categorical),
    "polars bool": pl.Series([True, True, False, False, False]),
    "polars dates": pl.Series([date(2020, 1, d) for d in (1, 1, 2, 3, 3)]),
    "arrow": pa.array(["x", "x", "", "yy", "yy"]),
    "arrow chunks": pa.chunked_array([["x"], ["x", ""], ["yy", "yy"]]),
    "arrow bools": pa.array([True, True, False, False, False]),
    "arrow dictionary": pa.chunked_array([pa.array(side).dictionary_encode() for side in (["x", "x"], ["", "y", "y"])]),
    "repetitive dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3, 3]), pa.array(["x", "x", "", "y"])),
    "arrow decimals": pa.array([Decimal(1), Decimal(1), Decimal(2), Decimal(3), Decimal(3)]),
    "generator": (label for label in [0, 0, 1, 2, 2]),
    "range": range(5),
}
if hasattr(np.dtypes, "StringDType"):  # since NumPy 2
    KINDS["variable-width strings"] = np.array(KINDS["strings"], dtype=np.dtypes.StringDType())
OTHER_SHAPES = {
    "polars bool": [1, 1, 0, 0, 0],
    "arrow bools": [1, 1, 0, 0, 0],
    "range": [0, 1, 2, 3, 4],
}


@pytest.mark.parametrize("kind", KINDS)
def test_labels_may_be_of_any_kind(kind):
    expected = OTHER_SHAPES.get(kind, [0, 0, 1, 2, 2])
    found = codes.encode(KINDS[kind], "labels")
    assert found.array.dtype == np.int64
    assert found.array.min() >= 0
    assert found.array.max() < found.size
    assert len({*zip(expected, found.array.tolist(), strict=True)}) == len(set(expected))
    assert len(set(found.array.tolist())) == len(set(expected))


def test_kinds_may_differ_between_the_sides_and_nothing_is_changed():
    true, pred = np.array([3, 1, 2]), ["a", "b", "b"]
    before = true.copy(), list(pred)
    assert labels.precision_score(true, pred) == pytest.approx(2 / 3)
    assert (list(true), pred) == (list(before[0]), before[1])


def test_read_only_arrays_are_fine():
    true = np.array([5, 5, 6])
    true.flags.writeable = False
    assert labels.recall_score(true, true, sample_weight=true) == 1


@pytest.mark.parametrize(
    "bad",
    [
        [1.0, None, 2.0],
        [1.0, math.nan, 2.0],
        ["a", None, "b"],
        ["a", pd.NA, "b"],
        ["a", pd.NaT, "b"],
        np.array([1.0, math.nan, 2.0]),
        np.array(["2020-01-01", "NaT", "2021-01-01"], dtype="datetime64[D]"),
        np.array(["a", None, "b"], dtype=object),
        np.ma.masked_array([1, 2, 3], mask=[False, True, False]),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Categorical(["a", None, "b"]),
        pd.Series(["a", None, "b"]),
        pl.Series([1, None, 2]),
        pl.Series([1.0, math.nan, 2.0]),
        pa.array(["a", None, "b"]),
        pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array(["a", None, "b"])),
    ],
)
def test_missing_labels_are_errors(bad):
    with pytest.raises(MissingValueError, match=r"1 labels in `labels_pred` are missing .* at position 1\."):
        labels.scores([1, 2, 3], bad)


@pytest.mark.parametrize("empty", [[], (), np.array([]), pd.Series([], dtype=int), pl.Series([]), pa.array([])])
def test_empty_labels_are_errors(empty):
    with pytest.raises(InputError, match="`labels_true` is empty"):
        labels.scores(empty, empty)


@pytest.mark.parametrize("bad", ["abc", b"abc", {1: 2}, {1, 2}, 17, None])
def test_what_is_no_array_is_an_error(bad):
    with pytest.raises(InputError, match="`labels_true` is of type"):
        labels.scores(bad, [1])


def test_labels_of_several_dimensions_are_errors():
    with pytest.raises(InputError, match="2 dimensions"):
        labels.scores(np.zeros((3, 1)), [1, 2, 3])
    with pytest.raises(InputError, match="0 dimensions"):
        labels.scores(np.array(3), [1])
    for table in (pd.DataFrame({"a": [1, 2]}), pl.DataFrame({"a": [1, 2]}), pa.table({"a": [1, 2]})):
        with pytest.raises(InputError, match="2 dimensions"):
            labels.scores([1, 2], table)
    with pytest.raises(IdTypeError, match="one dimension"):
        labels.scores([[1], [2]], [1, 2])
    with pytest.raises(IdTypeError, match="one dimension"):
        labels.scores(pa.array([[1], [2]]), [1, 2])


def test_labels_of_different_length_are_errors():
    with pytest.raises(InputError, match="`labels_true` has 2 labels and `labels_pred` has 3"):
        labels.scores([1, 2], [1, 2, 3])


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 0, 2], "0.0 at position 1"),
        ([1, -1, 2], "-1.0 at position 1"),
        ([1, math.nan, 2], "nan at position 1"),
        ([1, math.inf, 2], "inf at position 1"),
        ([1, None, 2], "nan at position 1"),
        ([1, 2], "for 3 items"),
        ([[1, 2, 3]], "for 3 items"),
        (2.0, "for 3 items"),
        (["a", "b", "c"], "not numbers"),
        ([[1], [2, 3], [4]], "not numbers"),
        (["1", object(), "2"], "not numbers"),
        ([1j, 2j, 3j], "not numbers"),
        (np.array(["1", "2", "3"], dtype=object), "not numbers"),
        ([1e308, 1e308, 1e308], "lightest item weighs"),
    ],
)
def test_bad_weights_are_errors(weight, message):
    with pytest.raises(WeightError, match=message):
        labels.scores([1, 2, 3], [1, 2, 3], sample_weight=weight)


@pytest.mark.parametrize("kind", [np.array, pd.Series, pl.Series, tuple])
def test_weights_may_be_of_any_kind(kind):
    weight = kind([1, 2, 3])
    assert labels.precision_score([1, 1, 2], [1, 2, 2], sample_weight=weight) == close(
        judge("precision", [1, 1, 2], [1, 2, 2], [1, 2, 3])
    )


# The functions


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_metric_has_a_function(name):
    function = getattr(labels, f"{name}_score")
    assert function.__name__ == f"{name}_score"
    assert f"{name}_score" in labels.__all__
    assert METRICS[name].summary in function.__doc__
    assert list(inspect.signature(function).parameters) == ["labels_true", "labels_pred", "sample_weight"]
    assert pickle.loads(pickle.dumps(function)) is function  # noqa: S301
    value = function([1, 1, 2, 3], [1, 2, 2, 3], sample_weight=[1, 2, 3, 4])
    assert isinstance(value, float)
    assert value == close(judge(name, [1, 1, 2, 3], [1, 2, 2, 3], [1, 2, 3, 4]))


def test_every_public_name_is_there():
    assert set(labels.__all__) <= set(dir(labels))
    assert all(hasattr(labels, name) for name in labels.__all__)


@pytest.fixture
def dice():
    @metric(summary="what both hold, twice")
    def dice(c):
        return c.ratio(2 * c.tp, c.ideal + c.actual)

    yield
    vars(labels).pop("dice_score", None)


@pytest.mark.usefixtures("dice")
def test_a_users_metric_has_a_function_too():
    assert "dice_score" in dir(labels)
    assert labels.dice_score([1, 1, 2], [1, 2, 2]) == labels.f1_score([1, 1, 2], [1, 2, 2])
    assert pickle.loads(pickle.dumps(labels.dice_score)) is labels.dice_score  # noqa: S301
    assert labels.scores([1, 1, 2], [1, 2, 2], metrics="dice") == {"dice": labels.dice_score([1, 1, 2], [1, 2, 2])}


@pytest.fixture
def constant():
    @metric(name="constant")
    def constant(_):
        return 0.5


@pytest.mark.usefixtures("constant")
def test_a_users_metric_may_be_a_number():
    assert labels.scores([1, 1, 2], [1, 2, 2], metrics="constant") == {"constant": 0.5}
    assert list(labels.item_scores([1, 1], [1, 2], metrics="constant")["constant"]) == [0.5, 0.5]


def test_f_beta_has_a_function():
    assert labels.f2_score([1, 1, 2], [1, 2, 2]) == close(judge("f2", [1, 1, 2], [1, 2, 2]))


def test_unknown_names_are_errors():
    with pytest.raises(AttributeError, match="precision"):
        _ = labels.precsion_score
    with pytest.raises(AttributeError, match=r"no attribute 'precision'\. Did you mean 'precision_score'"):
        _ = labels.precision
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = labels.nothing
    with pytest.raises(UnknownMetricError, match="precision"):
        labels.scores([1], [1], metrics="precsion")
    with pytest.raises(UsageError, match="No metric"):
        labels.scores([1], [1], metrics=[])


def test_scores_come_in_the_order_asked_for():
    assert list(labels.scores([1], [1])) == list(DEFAULT_METRICS)
    assert list(labels.scores([1], [1], metrics=["recall", "precision"])) == ["recall", "precision"]
