"""Files say what they say: nothing is taken from the names of folders, and every file is read by its own head."""

from __future__ import annotations

import json

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pointwise as pw
from pointwise import errors

IDEAL = {"a": 1, "b": 1, "c": 2}
ACTUAL = {"a": 1, "b": 2, "c": 2}
CLUSTERING = "item,cluster\na,1\nb,2\nc,2\n"


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def precision(actual, *, ideal=None, **options):
    return pw.evaluate(ideal=ideal or IDEAL, actual=actual, **options).overall["precision"]


def lines(rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", CLUSTERING),
        ("t.jsonl", lines({"item": item, "cluster": str(cluster)} for item, cluster in ACTUAL.items())),
    ],
)
def test_a_folder_does_not_override_a_column(tmp_path, name, text):
    ideal = {item: str(cluster) for item, cluster in IDEAL.items()}
    assert precision(write(tmp_path / "cluster=9" / name, text), ideal=ideal) == pytest.approx(2 / 3)


def test_a_folder_does_not_override_weights(tmp_path):
    weights = write(tmp_path / "weight=7" / "w.csv", "item,weight\na,1\nb,1\nc,1\n")
    assert pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights=weights).overall.weight == 3


def test_every_file_is_read_by_its_own_header(tmp_path):
    write(tmp_path / "parts" / "1.csv", "item,cluster\na,1\n")
    write(tmp_path / "parts" / "2.csv", "cluster;item\n2;b\n")
    write(tmp_path / "parts" / "3.csv", "# a comment\nitem,cluster\nc,2\n")
    found = pw.evaluate(ideal=IDEAL, actual=tmp_path / "parts")
    assert found.overall.items == 3
    assert found.overall["precision"] == pytest.approx(2 / 3)


def test_columns_of_several_files_have_one_type(tmp_path):
    write(tmp_path / "parts" / "1.csv", "item,year\na,2001\n")
    write(tmp_path / "parts" / "2.csv", "year,item\nunknown,b\n2002,c\n")
    found = pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=tmp_path / "parts", slices="year")
    assert {row["year"] for row in found.by_slice().to_dicts()} == {"2001", "2002", "unknown"}


@pytest.mark.parametrize("second", ["b,2\nc,2\n", "item,group\nb,2\n", "item,cluster,extra\nb,2,x\n"])
def test_files_with_different_columns_are_refused(tmp_path, second):
    write(tmp_path / "parts" / "1.csv", "item,cluster\na,1\n")
    write(tmp_path / "parts" / "2.csv", second)
    with pytest.raises(errors.SourceError, match="same header"):
        pw.evaluate(ideal=IDEAL, actual=tmp_path / "parts")


def test_empty_parts_are_left_out(tmp_path):
    write(tmp_path / "parts" / "1.csv", CLUSTERING)
    write(tmp_path / "parts" / "2.csv", "")
    assert precision(tmp_path / "parts") == pytest.approx(2 / 3)


def test_a_comment_that_looks_like_a_header_is_refused(tmp_path):
    with pytest.raises(errors.SourceError, match="remove the '#'"):
        precision(write(tmp_path / "t.csv", "#item,cluster\na,1\nb,2\nc,2\n"))


@pytest.mark.parametrize("comment", ["# made on Monday, by hand\n", "#\n", "# 1,2\n"])
def test_other_comments_are_skipped(tmp_path, comment):
    assert precision(write(tmp_path / "t.csv", comment + CLUSTERING)) == pytest.approx(2 / 3)


def test_rows_that_begin_like_a_comment_are_rows(tmp_path):
    path = write(tmp_path / "t.csv", "# comment\nitem,cluster\n#a,1\nb,1\n")
    assert pw.evaluate(ideal={"#a": 1, "b": 1}, actual=path).overall.items == 2


def test_an_index_that_pandas_wrote_is_just_a_column(tmp_path):
    pd.DataFrame({"item": list(ACTUAL), "cluster": list(ACTUAL.values())}).to_csv(tmp_path / "t.csv")
    assert precision(tmp_path / "t.csv") == pytest.approx(2 / 3)


def test_types_of_json_come_from_all_rows(tmp_path):
    rows = [{"item": n, "cluster": n} for n in range(25_000)]
    path = write(tmp_path / "t.jsonl", lines([*rows, {"item": 25_000.7, "cluster": 1}]))
    with pytest.raises(errors.IdTypeError):
        pw.evaluate(ideal={1: 1}, actual=path)


def test_json_of_several_types_is_refused(tmp_path):
    """Text would be quoted, and `"b"` with its quotes is an item that no other table has."""
    rows = [{"item": 1, "cluster": 1, "note": None}, {"item": "b", "cluster": 1, "note": 5}]
    mixed = write(tmp_path / "t.jsonl", lines(rows))
    with pytest.raises(errors.SourceError, match="values of several types"):
        pw.evaluate(ideal={"1": 1, "b": 1}, actual=mixed)
    other = write(
        tmp_path / "u.jsonl", lines([row | {"item": str(row["item"]), "note": "x" * n} for n, row in enumerate(rows)])
    )
    assert pw.evaluate(ideal={"1": 1, "b": 1}, actual=other).overall.items == 2


def test_a_folder_called_like_a_file_is_read_once(tmp_path):
    table = pa.table({"item": list(ACTUAL), "cluster": list(ACTUAL.values())})
    (tmp_path / "run" / "x.parquet").mkdir(parents=True)
    pq.write_table(table, tmp_path / "run" / "x.parquet" / "part-0.parquet")
    for place in (tmp_path / "run", str(tmp_path / "run" / "*.parquet"), str(tmp_path / "**" / "*.parquet")):
        assert pw.evaluate(ideal=IDEAL, actual=place).overall.items == 3


@pytest.mark.parametrize("path", ["", "\0", "x" * 5000])
def test_paths_that_cannot_be(path):
    with pytest.raises(errors.SourceError):
        pw.evaluate(ideal=path, actual=ACTUAL)


def test_parquet_files_are_matched_by_the_names_of_columns(tmp_path):
    (tmp_path / "parts").mkdir()
    pq.write_table(pa.table({"item": ["a"], "cluster": [1]}), tmp_path / "parts" / "1.parquet")
    pq.write_table(pa.table({"cluster": [2, 2], "item": ["b", "c"]}), tmp_path / "parts" / "2.parquet")
    assert precision(tmp_path / "parts") == pytest.approx(2 / 3)
