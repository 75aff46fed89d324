"""Every form that people have their clusterings in gives the same result."""

from __future__ import annotations

import gzip
import json

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import pointwise as pw
from pointwise import errors

IDEAL = {"i1": "h1", "i2": "h1", "i3": "h2"}
ACTUAL = {"i1": "j1", "i2": "j2", "i3": "j1"}
WEIGHTS = {"i1": 1.0, "i2": 2.0, "i3": 3.0}
TABLE = pa.table({"item": list(IDEAL), "cluster": list(IDEAL.values())})


class Stream:
    """An object that only speaks the Arrow C stream interface."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def write_lines(path, lines):
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def write_zstd(path, text):
    with pa.output_stream(str(path), compression="zstd") as stream:
        stream.write(text.encode())
    return path


def write_parts(folder):
    folder.mkdir()
    pq.write_table(TABLE.slice(0, 2), folder / "part-0.parquet")
    pq.write_table(TABLE.slice(2), folder / "part-1.parquet")
    return folder


CSV = ["item,cluster", *(f"{i},{c}" for i, c in IDEAL.items())]
FILES = {
    "parquet": lambda d: (pq.write_table(TABLE, d / "x.parquet"), d / "x.parquet")[1],
    "text path": lambda d: (pq.write_table(TABLE, d / "x.parquet"), str(d / "x.parquet"))[1],
    "folder": lambda d: write_parts(d / "parts"),
    "glob": lambda d: str(write_parts(d / "parts") / "part-*.parquet"),
    "list of paths": lambda d: sorted(write_parts(d / "parts").glob("*.parquet")),
    "list of texts": lambda d: [str(p) for p in sorted(write_parts(d / "parts").glob("*.parquet"))],
    "csv": lambda d: write_lines(d / "x.csv", CSV),
    "csv with semicolons": lambda d: write_lines(d / "x.csv", [line.replace(",", ";") for line in CSV]),
    "csv.gz": lambda d: (
        (d / "x.csv.gz").write_bytes(gzip.compress("\n".join(CSV).encode())),
        d / "x.csv.gz",
    )[1],
    "csv.zst": lambda d: write_zstd(d / "x.csv.zst", "\n".join(CSV)),
    "tsv with comments": lambda d: write_lines(
        d / "x.tsv", ["# made by hand", *(line.replace(",", "\t") for line in CSV)]
    ),
    "csv with a byte order mark": lambda d: write_lines(d / "x.csv", ["\ufeff" + CSV[0], *CSV[1:]]),
    "jsonl": lambda d: write_lines(d / "x.jsonl", [json.dumps({"item": i, "cluster": c}) for i, c in IDEAL.items()]),
    "jsonl.gz": lambda d: (
        (d / "x.jsonl.gz").write_bytes(
            gzip.compress("\n".join(json.dumps({"item": i, "cluster": c}) for i, c in IDEAL.items()).encode())
        ),
        d / "x.jsonl.gz",
    )[1],
    "json": lambda d: write_lines(d / "x.json", [json.dumps([{"item": i, "cluster": c} for i, c in IDEAL.items()])]),
    "arrow": lambda d: (pyarrow.feather.write_feather(TABLE, d / "x.arrow"), d / "x.arrow")[1],
    "feather": lambda d: (pyarrow.feather.write_feather(TABLE, d / "x.feather"), d / "x.feather")[1],
}
OBJECTS = {
    "pandas": TABLE.to_pandas,
    "pandas categorical": lambda: TABLE.to_pandas().astype("category"),
    "polars": lambda: pl.DataFrame(TABLE),
    "polars lazy": lambda: pl.LazyFrame(TABLE.to_pydict()),
    "polars categorical": lambda: pl.DataFrame(TABLE).cast(pl.Categorical),
    "pyarrow": lambda: TABLE,
    "pyarrow dictionary": lambda: pa.table({n: TABLE[n].dictionary_encode() for n in TABLE.column_names}),
    "duckdb relation": lambda: duckdb.connect().from_arrow(TABLE),
    "arrow stream": lambda: Stream(TABLE),
    "arrow reader": TABLE.to_reader,
    "mapping": lambda: IDEAL,
    "pandas series": lambda: pd.Series(IDEAL),
    "clusters": lambda: [{"i1", "i2"}, ["i3"]],
    "generator of clusters": lambda: (c for c in (("i1", "i2"), ("i3",))),
    "two columns of other names": lambda: TABLE.rename_columns(["record", "entity"]),
    "columns in the other order": lambda: TABLE.select(["cluster", "item"]),
}


def check(evaluation):
    assert evaluation.overall["precision"] == 0.75
    assert evaluation.overall["recall"] == pytest.approx(7 / 9)
    assert evaluation.overall["jaccard_distance"] == 0.375


@pytest.mark.parametrize("form", FILES)
def test_files(engine, tmp_path, form):
    source = FILES[form](tmp_path)
    check(pw.evaluate(ideal=source, actual=ACTUAL, weights=WEIGHTS, engine=engine))


@pytest.mark.parametrize("form", OBJECTS)
def test_objects(engine, form):
    check(pw.evaluate(ideal=OBJECTS[form](), actual=ACTUAL, weights=WEIGHTS, engine=engine))


@pytest.mark.parametrize("form", ["numpy", "list", "polars series", "pyarrow array", "numpy text"])
def test_labels_in_the_order_of_the_items(engine, form):
    make = {
        "numpy": np.array,
        "list": list,
        "polars series": pl.Series,
        "pyarrow array": pa.array,
        "numpy text": lambda labels: np.array([f"c{n}" for n in labels]),
    }[form]
    evaluation = pw.evaluate(ideal=make([0, 0, 1]), actual=make([5, -6, 5]), engine=engine)
    assert evaluation.overall["precision"] == pytest.approx((0.5 + 1 + 0.5) / 3)
    assert sorted(row["item"] for row in evaluation.by_item().to_dicts()) == [0, 1, 2]


def test_several_columns_are_one_id(engine):
    ideal = pd.DataFrame({"source": ["a", "a|1", "a"], "id": ["1|2", "2", "3"], "cluster": [1, 2, 2]})
    actual = ideal.assign(cluster=["x", "y", "z"])
    evaluation = pw.evaluate(ideal=ideal, actual=actual, item=["source", "id"], engine=engine)
    assert evaluation.overall.items == 3
    assert evaluation.explain(item=("a", "1|2")).ideal_cluster == 1
    assert evaluation.explain(item=("a|1", "2")).ideal_cluster == 2


def test_ids_of_several_columns_match_across_types(engine):
    ideal = pd.DataFrame({"source": ["a", "b"], "id": [1, 2], "cluster": [1, 2]})
    actual = ideal.astype({"id": str})
    assert pw.evaluate(ideal=ideal, actual=actual, item=["source", "id"], engine=engine).overall.items == 2


def test_tables_that_name_their_columns_differently(engine):
    ideal = pd.DataFrame({"id": ["a", "b"], "entity": [1, 1], "note": ["", ""]})
    actual = pd.DataFrame({"unique_id": ["a", "b"], "cluster_id": [1, 2], "match": [0.5, 0.7]})
    evaluation = pw.evaluate(
        ideal=ideal,
        actual=actual,
        item={"ideal": "id", "actual": "unique_id"},
        cluster={"ideal": "entity", "actual": "cluster_id"},
        engine=engine,
    )
    assert evaluation.overall["recall"] == 0.5


@pytest.mark.parametrize("home", ["ideal", "actual", "weights", "attributes"])
def test_weights_come_from_any_table(engine, home):
    items = list(IDEAL)
    tables = {
        "ideal": pa.table({"item": items, "cluster": list(IDEAL.values())}),
        "actual": pa.table({"item": items, "cluster": list(ACTUAL.values())}),
        "attributes": pa.table({"item": items, "country": ["x", "x", "y"]}),
    }
    tables[home] = tables.get(home, pa.table({"item": items})).append_column("w", [[1, 2, 3]])
    check(pw.evaluate(**tables, weight="w", engine=engine))


def test_slices_come_from_any_table(engine):
    ideal = pd.DataFrame({"item": ["a", "b"], "cluster": [1, 1], "kind": ["k", "l"]})
    actual = pd.DataFrame({"item": ["a", "b"], "cluster": [1, 2], "score": [0.5, 0.9]})
    attributes = pd.DataFrame({"item": ["a"], "year": [2015]})
    evaluation = pw.evaluate(
        ideal=ideal, actual=actual, attributes=attributes, slices=["kind", "score > 0.7", "year"], engine=engine
    )
    rows = evaluation.by_slice().to_dicts()
    assert {(r["slice"], r["value"]) for r in rows} == {
        ("kind", "k"),
        ("kind", "l"),
        ("score > 0.7", "true"),
        ("score > 0.7", "false"),
        ("year", "2015"),
        ("year", None),
    }


def test_attributes_in_a_csv_have_types(engine, tmp_path):
    path = write_lines(tmp_path / "x.csv", ["item,year,zip", "i1,2014,01", "i2,2015,02", "i3,2016,x"])
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=path, engine=engine)
    rows = {row["year >= 2015"]: row["items"] for row in evaluation.by_slice("year >= 2015").to_dicts()}
    assert rows == {True: 2, False: 1}
    assert {row["zip"] for row in evaluation.by_slice("zip").to_dicts()} == {"01", "02", "x"}


def test_files_of_several_formats(engine, tmp_path):
    paths = [FILES["parquet"](tmp_path), FILES["csv"](tmp_path)]
    with pytest.raises(errors.SourceError, match="several formats"):
        pw.evaluate(ideal=paths, actual=ACTUAL, engine=engine)
