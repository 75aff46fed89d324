"""Bad input: a clear error before any result exists, or a right result; never a wrong number."""

from __future__ import annotations

import datetime as dt
import math
import uuid

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pointwise as pw
from pointwise import errors

TRUTH = {"a": 1, "b": 1, "c": 2}


def evaluate(engine, **inputs):
    return pw.evaluate(**{"ideal": TRUTH, "actual": TRUTH, "engine": engine} | inputs)


def refuse(engine, kind, *words, **inputs):
    with pytest.raises(kind) as caught:
        evaluate(engine, **inputs)
    for word in words:
        assert word in str(caught.value)


def csv(tmp_path, text, name="x.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_missing_file(engine, tmp_path):
    refuse(engine, errors.SourceError, "ideal clustering", "nowhere.parquet", ideal=tmp_path / "nowhere.parquet")


def test_glob_without_a_match(engine, tmp_path):
    refuse(engine, errors.SourceError, "No file matches", actual=str(tmp_path / "*.parquet"))


def test_unknown_ending(engine, tmp_path):
    refuse(engine, errors.SourceError, "Known endings", ideal=csv(tmp_path, "x", "x.xlsx"))


def test_missing_column(engine):
    table = pa.table({"id": ["a"], "cluster": [1], "more": [1]})
    refuse(engine, errors.MissingColumnError, "'item'", "'id'", "item=...", ideal=table)
    refuse(engine, errors.MissingColumnError, "no column 'key'", "'more'", ideal=table, item="key")
    refuse(engine, errors.MissingColumnError, "'cluster'", ideal=pa.table({"item": ["a"], "x": [1], "y": [1]}))


@pytest.mark.parametrize("attributes", [[{"item": "a", "year": 2014}], {"a": "US"}, pd.Series({"a": "US"})])
def test_attributes_without_columns(engine, attributes):
    refuse(engine, errors.InputError, "The attributes", "has no columns", "data frame", attributes=attributes)


def test_missing_weight_column(engine):
    refuse(engine, errors.MissingColumnError, "'claims'", "to weigh by", weight="claims")


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.jsonl", "x.parquet", "x.arrow"])
def test_empty_file(engine, tmp_path, name):
    refuse(engine, errors.SourceError, "x.", ideal=csv(tmp_path, "", name))


def test_file_with_a_header_only(engine, tmp_path):
    refuse(engine, errors.SourceError, "no rows", "ideal clustering", ideal=csv(tmp_path, "item,cluster\n"))


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.jsonl"])
def test_corrupt_file(engine, tmp_path, name):
    refuse(engine, errors.SourceError, "x.", ideal=csv(tmp_path, "PAR1 nonsense { PAR1", name))


def test_parquet_corrupt_in_the_middle(engine, tmp_path):
    path = tmp_path / "x.parquet"
    table = pa.table({"item": [str(uuid.uuid4()) for _ in range(20_000)], "cluster": range(20_000)})
    pq.write_table(table, path)
    content = bytearray(path.read_bytes())
    content[2_000:60_000] = b"\xff" * 58_000
    path.write_bytes(bytes(content))
    refuse(engine, errors.PointwiseError, "cannot be read", ideal=path, actual={str(uuid.uuid4()): 1})


@pytest.mark.parametrize("side", ["ideal", "actual"])
def test_repeated_item(engine, side):
    table = pa.table({"item": ["a", "b", "c", "b", "c"], "cluster": [1, 1, 2, 2, 2]})
    refuse(engine, errors.RepeatedItemError, "2 items appear", f"{side} clustering", "'b', 'c'", **{side: table})


@pytest.mark.parametrize("side", ["ideal", "actual"])
def test_two_identical_rows(engine, side):
    table = pa.table({"item": ["a", "a", "b"], "cluster": [1, 1, 2]})
    refuse(engine, errors.RepeatedItemError, "1 item appears", "'a'", **{side: table})


@pytest.mark.parametrize("side", ["ideal", "actual"])
def test_repeated_item_with_a_small_truth(engine, side):
    big = {f"x{n}": n for n in range(50)} | TRUTH
    table = pa.table({"item": ["a", "a", "b"], "cluster": [1, 2, 2]})
    if side == "actual":
        table = pa.table({"item": [*big, "a"], "cluster": [*big.values(), 9]})
    refuse(engine, errors.RepeatedItemError, "'a'", f"{side} clustering", **{"actual": big} | {side: table})


def test_repeated_item_in_weights_and_attributes(engine):
    weights = pa.table({"item": ["a", "b", "c", "a"], "weight": [1, 2, 3, 4]})
    refuse(engine, errors.RepeatedItemError, "weights", "'a'", weights=weights)
    attributes = pa.table({"item": ["a", "b", "c", "a"], "country": ["x", "x", "x", "y"]})
    refuse(engine, errors.RepeatedItemError, "attributes", attributes=attributes, slices="country")
    evaluation = evaluate(engine, attributes=attributes)
    with pytest.raises(errors.RepeatedItemError, match="attributes"):
        evaluation.by_slice("country")


@pytest.mark.parametrize("side", ["ideal", "actual"])
def test_null_item(engine, side):
    table = pa.table({"item": ["a", None], "cluster": [1, 2]})
    refuse(engine, errors.MissingValueError, "1 row without an item id", f"{side} clustering", **{side: table})


@pytest.mark.parametrize("side", ["ideal", "actual"])
def test_null_cluster_without_a_policy(engine, side):
    table = pa.table({"item": ["a", "b", "c"], "cluster": [1, None, 2]})
    refuse(engine, errors.MissingValueError, "1 row without a cluster", "'b'", "unassigned=", **{side: table})


@pytest.mark.parametrize("column", ["item", "cluster"])
def test_float_ids(engine, column):
    frame = pd.DataFrame({"item": ["a", "b"], "cluster": [1, 2]})
    frame[column] = [17.0, math.nan]
    refuse(engine, errors.IdTypeError, repr(column), "Float64", "Int64", actual=frame)


def test_ids_of_different_types(engine):
    refuse(engine, errors.NoCommonItemsError, "17", "'17'", "integers", "text", ideal={17: 1}, actual={"17": 1})


def test_no_common_item(engine):
    refuse(engine, errors.NoCommonItemsError, "'x'", "'a'", "in common", ideal={"x": 1, "y": 1})


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, None])
def test_bad_weight(engine, bad):
    weights = pa.table({"item": ["a", "b", "c"], "weight": pa.array([1.0, bad, 2.0], from_pandas=False)})
    refuse(engine, errors.WeightError, "1 of 3 items", "'b'", "weights", weights=weights)


def test_item_without_a_weight(engine):
    refuse(engine, errors.WeightError, "1 of 3 items has a weight", "'c': missing.", weights={"a": 1, "b": 2})


def test_weight_that_is_not_a_number(engine, tmp_path):
    path = csv(tmp_path, "item,weight\na,1.5\nb,many\nc,2e3\n")
    refuse(engine, errors.WeightError, "'b': missing or not a number.", weights=path)
    refuse(engine, errors.InputError, "not numbers", weights=pa.table({"item": ["a"], "weight": [True]}))


def test_weights_too_large_to_add(engine):
    refuse(engine, errors.WeightError, "lightest item weighs", weights={"a": 1e308, "b": 1e308, "c": 1e308})


def test_bad_weight_of_an_item_outside_is_no_matter(engine):
    weights = {"a": 1.0, "b": 2.0, "c": 3.0, "elsewhere": -5.0}
    assert evaluate(engine, weights=weights).overall["precision"] == 1.0


def test_unknown_metric(engine):
    refuse(engine, errors.UnknownMetricError, "'precison'", "'precision'", metrics=["precison"])
    refuse(engine, errors.UnknownMetricError, "pointwise metrics", metrics=["qqqq"])
    refuse(engine, errors.UsageError, "No metric", metrics=[])


def test_unknown_slice_column(engine):
    attributes = pa.table({"item": ["a", "b", "c"], "country": ["x", "y", None]})
    evaluation = evaluate(engine, attributes=attributes)
    with pytest.raises(errors.MissingColumnError, match="Did you mean 'country'"):
        evaluation.by_slice("contry")
    with pytest.raises(errors.MissingColumnError, match="no column 'year'"):
        evaluation.by_slice("year >= 2015")
    with pytest.raises(errors.UsageError, match="neither a column nor a condition"):
        evaluation.by_slice("country ==")
    with pytest.raises(errors.UsageError, match="cannot understand"):
        evaluation.by_slice("__import__('os').system('true')")
    with pytest.raises(errors.UsageError, match="slice by: there are 'country', 'ideal_cluster_size'"):
        evaluation.by_slice()
    with pytest.raises(errors.UsageError, match="with itself"):
        evaluation.by_slice(("country", "country"))


def test_slice_column_with_the_name_of_a_result(engine):
    attributes = pa.table({"item": ["a", "b", "c"], "Share": [1, 2, 3], "recall": [1, 1, 2]})
    evaluation = evaluate(engine, attributes=attributes)
    for name in ("Share", "recall"):
        with pytest.raises(errors.UsageError, match="Rename"):
            evaluation.by_slice(name)


@pytest.mark.parametrize(("parameter", "value"), [("outside", "x"), ("missing", "x"), ("unassigned", "x")])
def test_unknown_policy(engine, parameter, value):
    refuse(engine, errors.UsageError, parameter, "'x'", **{parameter: value})


def test_missing_items_as_an_error(engine):
    refuse(engine, errors.InputError, "1 of 3 ideal items", "'c'", missing="error", actual={"a": 1, "b": 2})


def test_weights_of_the_ideal_clustering_do_not_reach_outside(engine):
    ideal = pa.table({"item": ["a", "b"], "cluster": [1, 1], "w": [1.0, 2.0]})
    refuse(engine, errors.UsageError, "outside='wrong'", ideal=ideal, weight="w", outside="wrong")


def test_explain_needs_one_thing_that_exists(engine):
    evaluation = evaluate(engine)
    with pytest.raises(errors.UsageError, match="one of item"):
        evaluation.explain()
    with pytest.raises(errors.UsageError, match="one thing at a time"):
        evaluation.explain(item="a", ideal_cluster=1)
    with pytest.raises(errors.NotFoundError, match="'zzz'"):
        evaluation.explain(item="zzz")
    with pytest.raises(errors.NotFoundError, match="ideal cluster 99"):
        evaluation.explain(ideal_cluster=99)
    with pytest.raises(errors.NotFoundError, match="integers"):
        evaluation.explain(actual_cluster="x")
    with pytest.raises(errors.NotFoundError, match="with_metrics"):
        evaluation.overall["accuracy"]


def test_mixed_types_in_one_column(engine):
    refuse(engine, errors.IdTypeError, "int, str", ideal={1: 1, "a": 2})
    refuse(engine, errors.InputError, "several kinds", ideal=pd.DataFrame({"item": [1, "a"], "cluster": [1, 2]}))


def test_nested_and_binary_ids(engine):
    refuse(engine, errors.IdTypeError, "cannot be ids", ideal=pa.table({"item": [[1], [2]], "cluster": [1, 2]}))
    refuse(engine, errors.IdTypeError, "cannot be ids", ideal=pa.table({"item": [b"a", b"b"], "cluster": [1, 2]}))


@pytest.mark.parametrize(
    "ids",
    [
        [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
        [True, False],
        pa.array([2**63, 2**63 + 1], pa.uint64()),
        [dt.datetime(2020, 1, 1, 12), dt.datetime(2020, 1, 2, 12)],  # noqa: DTZ001  # without a zone on purpose
    ],
)
def test_ids_of_other_kinds_work_as_text(engine, ids):
    table = pa.table({"item": ids, "cluster": [1, 2]})
    evaluation = evaluate(engine, ideal=table, actual=table)
    assert evaluation.overall.items == 2


def test_wide_integers_meet_narrow_ones(engine):
    ideal = pa.table({"item": pa.array([1, 2], pa.uint64()), "cluster": [1, 2]})
    assert evaluate(engine, ideal=ideal, actual={1: 5, 2: 6}).overall.items == 2


NASTY = [
    "",
    " ",
    "007",
    "7",
    "it's",
    'say "x"',
    "two\nlines",
    "🦊",
    "<img src=x>",
    "a|b",
    "a\\|b",
    "NULL",
    "nan",
    "1e5",
]


def test_any_text_is_an_id(engine):
    clusters = {item: f"{item}!" for item in NASTY}
    evaluation = evaluate(engine, ideal=clusters, actual=clusters)
    assert evaluation.overall.items == len(NASTY)
    assert {row["item"] for row in evaluation.by_item().to_dicts()} == set(NASTY)
    assert {row["ideal_cluster"] for row in evaluation.by_ideal_cluster().to_dicts()} == set(clusters.values())
    for item in ("", "it's", "two\nlines", "🦊"):
        assert evaluation.explain(item=item).item == item
    assert "<img" not in evaluation.by_item()._repr_html_()
    assert "two\\nlines" in repr(evaluation.by_item().head(20))


def test_any_text_in_a_csv_is_an_id(engine, tmp_path):
    path = tmp_path / "a [1]*?'.csv"
    pl.DataFrame({"item": NASTY, "cluster": NASTY}).write_csv(path, quote_style="always")
    evaluation = evaluate(engine, ideal=path, actual=dict.fromkeys(NASTY, 1))
    assert evaluation.coverage.common_items == len(NASTY)


def test_csv_ids_match_integers_by_their_plain_form(engine, tmp_path):
    path = csv(tmp_path, "item,cluster\n7,a\n007,a\n8,b\n+9,b\n")
    evaluation = evaluate(engine, ideal=path, actual={7: 1, 8: 1, 9: 1})
    assert evaluation.coverage.common_items == 2
    assert sorted(row["item"] for row in evaluation.by_item().to_dicts()) == ["7", "8"]


def test_csv_ids_keep_leading_zeros(engine, tmp_path):
    path = csv(tmp_path, "item,cluster\n007,01\n7,1\n")
    evaluation = evaluate(engine, ideal=path, actual=path)
    assert sorted(row["item"] for row in evaluation.by_item().to_dicts()) == ["007", "7"]
    assert evaluation.coverage.ideal_clusters == 2


def test_ragged_csv(engine, tmp_path):
    words = ("x.csv", "line 3 (b,1,2,3)", "2 columns") if engine.name == "duckdb" else ()
    path = csv(tmp_path, "item,cluster\na,1\nb,1,2,3\n")
    refuse(engine, errors.SourceError, "cannot be read", *words, ideal=path)
    about = csv(tmp_path, "item,country,year\na,x,1\nb,x\nc,y,3\n", "about.csv")
    words = ("about.csv", "line 3 (b,x)", "3 columns") if engine.name == "duckdb" else ()
    if engine.name == "duckdb":
        refuse(engine, errors.SourceError, "cannot be read", *words, attributes=about, slices="year")


def test_dictionary_of_lists(engine):
    words = ("ideal clustering", "list(clusters.values())", "pyarrow.table(columns)")
    refuse(engine, errors.InputError, *words, ideal={"p": ["a", "b"], "q": ["c"]})
    refuse(engine, errors.InputError, *words, ideal={"p": {"a", "b"}})
    refuse(engine, errors.InputError, *words, ideal={"item": np.array(["a"]), "cluster": np.array([1])})


@pytest.mark.parametrize("name", ["weight", "Item", "cluster"])
def test_attributes_whose_names_are_taken(engine, name):
    attributes = pa.table({"item_id": ["a", "b", "c"], name: [1, 2, 3]})
    item = {"attributes": "item_id"}
    for spec in (name, f"{name} > 1"):
        refuse(engine, errors.PointwiseError, repr(name), "uses this name itself", "Rename", attributes=attributes,
               item=item, slices=[spec])  # fmt: skip
        evaluation = evaluate(engine, attributes=attributes, item=item)
        with pytest.raises(errors.MissingColumnError, match="uses this name itself"):
            evaluation.by_slice(spec)


def test_not_a_clustering(engine):
    refuse(engine, errors.UsageError, "int", ideal=5)


def test_huge_cluster_is_no_problem(engine):
    n = 200_000
    ideal = pa.table({"item": range(n), "cluster": [0] * n})
    actual = pa.table({"item": range(n), "cluster": range(n)})
    evaluation = evaluate(engine, ideal=ideal, actual=actual)
    assert evaluation.overall["recall"] == pytest.approx(1 / n)
    explanation = evaluation.explain(item=5)
    assert explanation.false_negatives.count == n - 1
    assert len(explanation.false_negatives.items) == 20
    assert f"{n - 21:,} more" in str(explanation)


def test_written_files_are_whole_or_absent(engine, tmp_path):
    evaluation = evaluate(engine)
    with pytest.raises(errors.UsageError, match="no folder"):
        evaluation.by_item().write(tmp_path / "nowhere" / "x.parquet")
    with pytest.raises(errors.UsageError, match="must end in"):
        evaluation.by_item().write(tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []


def test_bad_memory_limit():
    with pytest.raises(errors.UsageError, match="memory_limit"):
        pw.evaluate(ideal=TRUTH, actual=TRUTH, memory_limit="much")


def test_limits_of_an_engine_that_has_its_own(engine):
    refuse(engine, errors.UsageError, "memory_limit=...", memory_limit="1GB")
    refuse(engine, errors.UsageError, "threads=...", threads=1)


def test_callers_data_is_left_alone(engine):
    frame = pd.DataFrame({"item": ["a", "b"], "cluster": [1, 2]})
    before = frame.copy()
    evaluate(engine, ideal=frame, actual=frame).by_item().to_pandas()
    pd.testing.assert_frame_equal(frame, before)


def test_text_that_is_not_utf8(engine, tmp_path):
    path = tmp_path / "x.csv"
    path.write_bytes(b"item,cluster\na,caf\xe9\n")
    refuse(engine, errors.SourceError, "UTF-8", ideal=path)


def test_file_that_is_not_compressed_as_it_says(tmp_path):
    path = csv(tmp_path, "item,cluster\na,1\n", "x.csv.gz")
    with pytest.raises(errors.SourceError, match="cannot be read"):
        pw.evaluate(ideal=path, actual=TRUTH)


def test_label_arrays_of_different_length():
    with pytest.raises(errors.InputError, match="3 in the ideal one, 2 in the actual one"):
        pw.evaluate(ideal=np.array([0, 0, 1]), actual=np.array([0, 1]))


def test_lists_where_names_are_needed():
    with pytest.raises(errors.UsageError, match="name each clustering"):
        pw.compare(ideal=TRUTH, variants=[TRUTH, TRUTH])
    with pytest.raises(errors.UsageError, match="Name each clustering"):
        pw.distance_matrix([TRUTH, TRUTH])
    with pytest.raises(errors.UsageError, match="-1 rows"):
        pw.evaluate(ideal=TRUTH, actual=TRUTH).by_item().head(-1)


def test_messages_name_what_the_user_gave(engine):
    refuse(engine, errors.NoCommonItemsError, "(a dict)", ideal={17: 1}, actual={"17": 1})
    weights = pa.table({"item": ["a", "b", "c"], "w": [1.0, -2.0, 3.0]})
    refuse(engine, errors.WeightError, "'w'", weights=weights)
