"""Looking a few rows up, which every engine does in its own way and with the same result."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pointwise as pw
from pointwise.columns import inside
from pointwise.engines import Engine

ROWS = pa.table({"id": [3, 1, 2, 1], "name": ["c", "a", "b", "a again"], "more": [None, 1.5, 2.5, 3.5]})


def write(folder: Path, table: pa.Table, name: str = "known.parquet") -> Path:
    pq.write_table(table, folder / name, row_group_size=2)
    return folder / name


def look(engine: Engine, source: object, column: str, values: list) -> list[tuple]:
    found = engine.look_up(engine.read(source), column, values)
    assert set(found.columns) >= {"id", "name", "more"}
    rows = engine.collect(found.load(("name", "more"))).to_pylist()
    return sorted((row[inside("name")], row[inside("more")]) for row in rows)


def test_only_the_rows_that_were_asked_for_are_read(engine: Engine, tmp_path: Path):
    path = write(tmp_path, ROWS)
    assert look(engine, path, "id", [1, 3]) == [("a", 1.5), ("a again", 3.5), ("c", None)]
    assert look(engine, path, "name", ["b", "nothing"]) == [("b", 2.5)]
    assert look(engine, path, "id", [9]) == look(engine, path, "id", []) == []


def test_several_files_are_looked_through(engine: Engine, tmp_path: Path):
    folder = tmp_path / "odd [name]"
    folder.mkdir()
    write(folder, ROWS.slice(0, 2), "part-1.parquet")
    write(folder, ROWS.slice(2), "part-2.parquet")
    assert look(engine, folder, "id", [1]) == [("a", 1.5), ("a again", 3.5)]


def test_other_tables_are_filtered(engine: Engine, tmp_path: Path):
    assert look(engine, ROWS, "id", [2]) == [("b", 2.5)]
    taken = ROWS.append_column("FileName", [["x"] * 4])  # which numbered rows would have too
    assert look(engine, write(tmp_path, taken), "id", [2]) == [("b", 2.5)]
    assert look(engine, write(tmp_path, taken.append_column("file_row_number", [[7] * 4])), "id", [2]) == [("b", 2.5)]


@pytest.mark.parametrize("ids", [["x", "y", "z"], [1, 2, 3]])
def test_records_of_a_few_items_are_looked_up_in_a_file(tmp_path: Path, ids: list):
    path = write(tmp_path, pa.table({"item": ids, "name": ["Ada", "Bob", None]}))
    evaluation = pw.evaluate(ideal=dict.fromkeys(ids, 1), actual=dict.fromkeys(ids, 1), attributes=path)
    found = evaluation.records([ids[2], ids[0]], show=["name"]).to_dicts()
    assert [(row["item"], row["name"]) for row in found] == [(ids[2], None), (ids[0], "Ada")]
    again = write(tmp_path, pa.table({"item": [*ids, ids[0]], "name": ["Ada", "Bob", None, "twice"]}), "twice.parquet")
    with pytest.raises(pw.errors.InputError, match="more than once"):
        evaluation.with_attributes(again).records(ids[:1], show=["name"])
