"""Tables: sorted, cut, converted, written and printed."""

from __future__ import annotations

import csv
import gzip
import json
import re

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pointwise as pw
from pointwise import errors
from pointwise.answers import levels
from pointwise.columns import Column, Kind
from pointwise.text.drawing import Drawing
from pointwise.text.terminal import draw_table
from pointwise.text.values import format_count, format_interval, format_key, format_metric, format_share, format_value


@pytest.fixture
def evaluation(engine) -> pw.Evaluation:
    items = [f"i{n:02}" for n in range(40)]
    ideal = {item: n // 4 for n, item in enumerate(items)}
    actual = {item: n // 4 if n % 8 else 99 for n, item in enumerate(items)}
    attributes = pa.table({"item": items, "year": [2000 + n for n in range(40)], "odd name": ["x", "y"] * 20})
    return pw.evaluate(ideal=ideal, actual=actual, attributes=attributes, engine=engine)


def test_worst_and_best_follow_the_metric(evaluation):
    table = evaluation.by_ideal_cluster()
    recalls = sorted(row["recall"] for row in table.to_dicts())
    assert [row["recall"] for row in table.worst("recall", 3).to_dicts()] == recalls[:3]
    assert [row["recall"] for row in table.best("recall", 3).to_dicts()] == recalls[::-1][:3]
    distances = sorted(row["jaccard_distance"] for row in table.to_dicts())
    assert [row["jaccard_distance"] for row in table.worst("jaccard_distance", 2).to_dicts()] == distances[::-1][:2]


def test_equal_rows_come_in_the_order_of_what_they_are_about():
    items = [f"i{n:04}" for n in range(3_000)]
    with pw.evaluate(ideal=dict.fromkeys(reversed(items), 1), actual={i: i for i in items}) as evaluation:
        worst = evaluation.by_item().worst("recall", 50).to_dicts()
    assert [row["item"] for row in worst] == items[:50]


def test_sort_cut_and_filter_apply_in_the_order_given(evaluation):
    table = evaluation.by_ideal_cluster()
    assert [row["ideal_cluster"] for row in table.sort("ideal_cluster").head(3).to_dicts()] == [0, 1, 2]
    turned = table.sort("ideal_cluster").head(3).sort("ideal_cluster", descending=True)
    assert [row["ideal_cluster"] for row in turned.to_dicts()] == [2, 1, 0]
    filtered = table.sort("ideal_cluster").head(3).where("ideal_cluster >= 1")
    assert [row["ideal_cluster"] for row in filtered.to_dicts()] == [1, 2]
    assert len(table) == 10
    assert len(table.head(4).head(7)) == 4
    assert len(table.where(pw.col("recall") < 1)) == 5


def test_unknown_columns(evaluation):
    with pytest.raises(errors.MissingColumnError, match="no column 'nothing'"):
        evaluation.by_item().sort("nothing")
    with pytest.raises(errors.MissingColumnError, match="accuracy"):
        evaluation.by_item().worst("accuracy")
    with pytest.raises(errors.UnknownMetricError):
        evaluation.by_item().worst("items")


def test_conversions_agree(evaluation):
    table = evaluation.by_slice("year >= 2020", "ideal_cluster_size")
    rows = table.to_dicts()
    assert table.to_arrow().to_pylist() == rows
    assert table.to_polars().to_dicts() == rows
    frame = table.to_pandas()
    assert frame.astype(object).where(frame.notna(), None).to_dict("records") == rows
    assert pl.DataFrame(table).to_dicts() == rows


def test_written_files_hold_the_same_rows(evaluation, tmp_path):
    table = evaluation.by_item().sort("item")
    rows = table.to_dicts()
    for name in ("x.parquet", "x.csv", "x.json", "x.jsonl", "x.csv.gz", "it's [odd].parquet"):
        table.write(tmp_path / name)
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == rows
    assert pq.read_table(tmp_path / "it's [odd].parquet").to_pylist() == rows
    assert json.loads((tmp_path / "x.json").read_text()) == rows
    assert [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()] == rows
    texts = [(tmp_path / "x.csv").read_text(), gzip.decompress((tmp_path / "x.csv.gz").read_bytes()).decode()]
    for text in texts:
        for read, row in zip(csv.DictReader(text.splitlines()), rows, strict=True):
            assert read["item"] == row["item"]
            assert float(read["recall"]) == row["recall"]
    assert len(list(tmp_path.iterdir())) == 6


def test_writing_again_replaces(evaluation, tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("old")
    evaluation.by_ideal_cluster().write(path)
    assert path.read_text().startswith("ideal_cluster,")


def test_slices_in_all_forms(evaluation):
    crossed = evaluation.by_slice(("odd name", "year > 2019")).to_dicts()
    assert {(r["odd name"], r["year > 2019"]) for r in crossed} == {(n, y) for n in "xy" for y in (True, False)}
    expression = evaluation.by_slice(("recent", pw.col("year") > 2019)).to_dicts()
    assert {r["recent"]: r["items"] for r in expression} == {True: 20, False: 20}
    assert {r["condition"] for r in evaluation.by_slice(pw.col("year") > 2019).to_dicts()} == {True, False}
    named = evaluation.by_slice("`odd name` = 'x' and not (year < 2010 or year in (2012, 2013))").to_dicts()
    assert sorted(r["items"] for r in named) == [14, 26]
    for spec in ("year is null", "year is not null", "year <> 2000", "year not in (2001, 2002)"):
        assert sum(r["items"] for r in evaluation.by_slice(spec).to_dicts()) == 40


def test_expressions_name_columns_that_exist(evaluation):
    for ask in (evaluation.by_slice, evaluation.by_ideal_cluster().where):
        with pytest.raises(errors.MissingColumnError, match=r"does not exist\. There are '\w+'"):
            ask(pw.col("yaer") > 2019)


@pytest.mark.parametrize("slices", [("parity",), ("parity", "ideal_cluster_size"), (("parity", "day"),)])
def test_slices_have_the_same_intervals_whether_they_are_few_or_many(slices, monkeypatch):
    items = [f"i{n}" for n in range(40)]
    days = pa.array([None if n % 5 == 0 else 20_000 + n % 3 for n in range(40)], pa.date32())
    attributes = pa.table({"item": items, "parity": [n % 2 for n in range(40)], "day": days})
    clusterings = {
        "ideal": {i: n // 3 for n, i in enumerate(items)},
        "actual": {i: n // 4 for n, i in enumerate(items)},
    }
    evaluation = pw.evaluate(**clusterings, attributes=attributes)
    few = evaluation.by_slice(*slices).to_arrow()
    monkeypatch.setattr(levels, "_AT_HAND", 1)
    many = evaluation.by_slice(*slices).to_arrow()
    assert few.schema == many.schema
    for row, other in zip(few.to_pylist(), many.to_pylist(), strict=True):
        close = {name: pytest.approx(value, rel=1e-12) for name, value in other.items() if isinstance(value, float)}
        assert row == other | close


def test_bands_are_in_order(engine):
    clusters = {f"{size}-{n}": size for size in (1, 2, 4, 9, 30) for n in range(size)}
    evaluation = pw.evaluate(ideal=clusters, actual=clusters, engine=engine)
    rows = evaluation.by_slice("ideal_cluster_size").to_dicts()
    assert [(r["ideal_cluster_size"], r["items"]) for r in rows] == [
        ("1", 1),
        ("2", 2),
        ("3-5", 4),
        ("6-10", 9),
        ("21-50", 30),
    ]


def test_conditions_that_cannot_hold(evaluation):
    for text in ("year >= 'x'", "`odd name` > 5", "year + 1 > 2000", "f(year)", "year is 5", "not year"):
        with pytest.raises(errors.UsageError):
            evaluation.by_slice(text)
    with pytest.raises(errors.UsageError, match="cannot understand 'tp'"):
        evaluation.by_item().where("tp")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("odd name = 'x'", "in backticks: `odd name`"),
        ("year between 1 and 2", "neither a column nor a condition"),
        ("year => 2", "in backticks"),
        ("year = null", "`is null`"),
        ("year in (2000, null)", "`is null`"),
        ("1 = 1", "cannot understand"),
        ("year = [2000]", "cannot understand"),
        ("year = b'x'", "neither a column nor a condition"),
        ("`odd name` + 1 > 2", "'`odd name` + 1 > 2'"),
        ("year > `odd name`", "cannot be compared"),
        ("year\0", "neither a column nor a condition"),
        ("(" * 500 + "year" + ")" * 500, "neither a column nor a condition"),
    ],
)
def test_conditions_that_are_not_understood_are_explained(evaluation, text, words):
    with pytest.raises(errors.UsageError) as caught:
        evaluation.by_slice(text)
    assert words in str(caught.value)


def test_a_list_of_one_is_a_list(evaluation):
    assert sorted(row["items"] for row in evaluation.by_slice("year in (2000)").to_dicts()) == [1, 39]


def test_print_says_how_many_rows_there_are(evaluation):
    assert "20 of 40 rows" in repr(evaluation.by_item())
    assert "20 of 40 rows" in evaluation.by_item()._repr_html_()
    assert "rows" not in repr(evaluation.by_ideal_cluster())
    assert "Precision" not in repr(evaluation.overall)


def test_explained_clusters_add_up(evaluation):
    explanation = evaluation.explain(actual_cluster=99)
    rows = explanation.cells.to_dicts()
    assert sum(row["items"] for row in rows) == explanation.items == 5
    assert sum(row["share"] for row in rows) == pytest.approx(1)
    assert "actual cluster 99 (5 items, weight 5) lies in 5 ideal clusters" in str(explanation)


def test_evaluation_draws_itself(evaluation):
    text = repr(evaluation)
    assert "Common items: 40 of 40 ideal" in text
    assert "<table>" in evaluation._repr_html_()
    with evaluation as same:
        assert same is evaluation


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1.0000"), (1 - 1e-9, ">0.9999"), (0.0, "0.0000"), (1e-9, "<0.0001"), (-1e-9, ">-0.0001"), (0.5, "0.5000")],
)
def test_nearly_perfect_does_not_look_perfect(value, text):
    assert format_metric(value) == text


@pytest.mark.parametrize(("value", "text"), [(1.0, "100.0%"), (0.9999, ">99.9%"), (0.0, "0.0%"), (1e-6, "<0.1%")])
def test_nearly_all_does_not_look_like_all(value, text):
    assert format_share(value) == text


def test_values_for_people():
    assert format_value(Kind.COUNT, 1234567) == "1,234,567"
    assert format_value(Kind.KEY, 2015) == "2015"
    assert format_value(Kind.KEY, 2015.0) == "2015"
    assert format_value(Kind.KEY, 0.125) == "0.125"
    assert format_value(Kind.WEIGHT, 1234.5) == "1,234.5"
    assert format_value(Kind.METRIC, None) == "–"
    assert format_key(None) == "(missing)"
    assert format_value(Kind.KEY, True) == "yes"


def test_one_thing_is_not_called_many(engine):
    evaluation = pw.evaluate(ideal={"a": 1}, actual={"a": 1}, engine=engine)
    printed = "\n".join(
        map(str, [evaluation, evaluation.explain(item="a"), evaluation.explain(ideal_cluster=1), evaluation.mistakes()])
    )
    assert "1 item in 1 ideal cluster" in printed
    assert "lies in 1 actual cluster." in printed
    assert not re.search(r"\b1 (actual |ideal |common )?(items|clusters|rows)\b", printed)
    assert format_count(1, "item") == "1 item"
    assert format_count(1234, "item") == "1,234 items"
    assert format_count(0, "item") == "0 items"


@pytest.fixture
def sparse(engine) -> pw.Evaluation:
    """Items of which some have no country."""
    items = [f"i{n}" for n in range(12)]
    ideal = {item: n // 3 for n, item in enumerate(items)}
    actual = {item: n // 2 for n, item in enumerate(items)}
    countries = pa.table({"item": items, "country": ["US", None, "DE"] * 4, "year": [2000, None, 2001, 2002] * 3})
    return pw.evaluate(ideal=ideal, actual=actual, attributes=countries, engine=engine)


def test_a_missing_value_has_one_name_in_print_and_is_null_in_data(sparse):
    comparison = pw.compare(variants={"a": sparse, "b": sparse}, engine=sparse.evidence.engine)
    for make in (sparse.by_slice, comparison.by_slice):
        for specs, column in ((["country"], "country"), (["year"], "year"), (["country", "year"], "value")):
            table = make(*specs)
            assert None in [row[column] for row in table.to_dicts()]
            assert "(missing)" in repr(table)
            assert "(missing)" in table._repr_html_()
            assert "None" not in repr(table)
    assert "US, (missing)" in [row["value"] for row in sparse.by_slice(("country", "year"), "year").to_dicts()]
    places = [check.where for check in pw.gate(sparse, minimum={"recall": 0}, slices=["country"]).checks]
    assert sorted(places) == ["country=(missing)", "country=DE", "country=US", "overall"]


def test_an_interval_is_printed_as_it_is(sparse, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    table = sparse.by_slice("country", metrics="recall")
    row = table.to_dicts()[0]
    shown = f"{row['recall']:.4f} [{row['recall_low']:.3f}, {row['recall_high']:.3f}]"
    for text in (repr(table), table._repr_html_()):
        assert shown in text
        assert "[low, high]: the 95% interval" in text
    wide = repr(sparse.by_slice("country"))
    assert max(map(len, wide.split("\n"))) <= 120
    assert f"[{row['recall_low']:.3f}, {row['recall_high']:.3f}]" in wide  # below the value
    assert format_interval(Kind.METRIC, 0.99999, 1.0, is_narrow=True) == "[>0.999, 1.000]"
    assert format_interval(Kind.METRIC, 0.99999, 1.0) == ">0.9999 to 1.0000"
    assert format_interval(Kind.DELTA, -0.1, 0.3, is_narrow=True) == "[-0.1000, +0.3000]"
    assert format_interval(Kind.DELTA, None, 0.3) == ""


@pytest.mark.parametrize("width", [40, 80, 120])
def test_titles_and_words_are_not_broken(width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    title = "A title that is longer than its table"
    words = "some words-with-hyphens that fold at the spaces between them and nowhere else"
    names = ["a name of a column", "an_even_longer_name_of_it"]
    columns = [Column(names[0], Kind.METRIC), Column(names[1]), Column("text")]
    rows = [{names[0]: 1.5, names[1]: "short", "text": words}]
    drawn = draw_table(Drawing(title, columns, rows, "A note."))
    lines = drawn.split("\n")
    assert lines[0] == title
    assert max(map(len, lines)) <= width
    for word in (*words.split(), "1.5000", "short"):
        assert word in drawn.split()


def test_ids_without_spaces_stay_whole_where_they_can(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    rows = [{"id": "x" * 39, "recall": 0.5, "f1": 0.5, "precision": 0.25}]
    columns = [Column("id"), *(Column(name, Kind.METRIC) for name in ("recall", "f1", "precision"))]
    assert "x" * 39 in draw_table(Drawing("", columns, rows))
    rows[0]["id"] = "y" * 200  # this one can not
    assert "Left out to fit the width: precision" in draw_table(Drawing("", columns, rows))


def test_long_values_of_slices_are_cut_and_columns_give_way(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    places = [f"Department of Very Long Names, Building {n}" for n in range(4)]
    known = pa.table({"item": list(range(80)), "place": [places[n % 4] for n in range(80)]})
    labels = [n // 2 for n in range(80)]
    evaluation = pw.evaluate(ideal=labels, actual=labels, attributes=known, slices="place")
    table = evaluation.by_slice()
    drawn = repr(table)
    assert max(map(len, drawn.split("\n"))) <= 80
    assert drawn.count("…") == 4
    assert "Left out to fit the width" in drawn
    assert "| Department of Very L…g Names, Building 3 |" in table.to_markdown()
    assert {row["place"] for row in table} == set(places)


def test_texts_have_no_styles_even_where_colours_are_asked_for(evaluation, monkeypatch):
    table = evaluation.by_ideal_cluster().sort("ideal_cluster")
    plain = repr(table)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as the kernel of a notebook does
    assert repr(table) == plain
