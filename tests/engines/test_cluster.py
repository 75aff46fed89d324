"""A cluster: what only holds where Spark is several processes. What Spark computes stands in `test_spark.py`."""

from __future__ import annotations

import os
import signal

import pyarrow as pa
import pytest

import killing
import pointwise as pw
from frames import ACTUAL, IDEAL, WEIGHTS, agree, make_frames
from pointwise import errors
from pointwise.engines import start_engine, start_spark

pytestmark = pytest.mark.cluster


def test_runs_travel_between_the_engines(cluster, tmp_path):
    with pw.evaluate(**make_frames(cluster), weight="w", slices=["first"]) as evaluation:
        evaluation.save(tmp_path / "spark")
        expected = evaluation.overall
    assert (tmp_path / "spark" / "items.parquet").is_dir()
    loaded = pw.load(tmp_path / "spark")
    assert loaded.evidence.engine.name == "duckdb"
    agree(loaded.overall.values, expected.values)
    assert loaded.by_slice("first").to_dicts()[0]["items"] == 2
    assert loaded.explain(item="i1").false_positives.items == ("i3",)
    pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights=WEIGHTS).save(tmp_path / "duckdb")
    with pw.load(tmp_path / "duckdb", engine=start_spark(cluster)) as back:
        agree(back.overall.values, expected.values)
        assert sorted(r["item"] for r in back.by_item().to_dicts()) == ["i1", "i2", "i3"]


def test_frames_of_spark_connect(spark_connect, tmp_path):
    frames = make_frames(spark_connect)
    with pw.evaluate(**frames, weight="w", slices=["first"]) as evaluation:
        assert evaluation.evidence.engine.name == "spark"
        assert evaluation.overall["precision"] == 0.75
        assert {row["first"]: row["items"] for row in evaluation.by_slice().to_dicts()} == {True: 1, False: 2}
        assert evaluation.explain(item="i1").false_positives.items == ("i3",)
        evaluation.save(tmp_path / "run")
        expected = evaluation.overall
    agree(pw.load(tmp_path / "run").overall.values, expected.values)
    with pytest.raises(errors.WeightError, match="'i1': -1"):
        pw.evaluate(**frames, weights={"i1": -1, "i2": 1, "i3": 1})
    with pytest.raises(errors.RepeatedItemError):
        pw.evaluate(ideal=frames["ideal"].union(frames["ideal"]), actual=frames["actual"])


def test_paths_are_read_by_executors(cluster, tmp_path):
    for number, rows in enumerate([["i1", "i2"], ["i3"]]):
        lines = "".join(f"{item},{IDEAL[item]}\n" for item in rows)
        (tmp_path / f"part-{number}.csv").write_text("# a comment\nitem,cluster\n" + lines, encoding="utf-8")
    for source in (tmp_path, str(tmp_path / "part-*.csv"), f"{tmp_path.as_uri()}/*.csv", sorted(tmp_path.iterdir())):
        with pw.evaluate(ideal=source, actual=ACTUAL, engine=start_spark(cluster)) as evaluation:
            assert evaluation.overall.items == 3
    with pytest.raises(errors.SourceError, match="There is no file"):
        start_spark(cluster).read((tmp_path / "nowhere.parquet").as_uri())


def test_executors_draw_the_same_questions_as_any_number_of_threads(cluster):
    items = [f"i{n}" for n in range(400)]
    sides = {"baseline": [n // 8 for n in range(400)], "experiment": [(n + 8 * (n % 5 == 0)) // 8 for n in range(400)]}
    weights = {item: 1.0 + n % 7 for n, item in enumerate(items)}
    tables = {name: pa.table({"item": items, "cluster": clusters}) for name, clusters in sides.items()}
    drawn = []
    for threads in (1, 4):
        engine = start_engine(threads=threads)
        drawn.append(pw.diff(**tables, weights=weights, engine=engine).questions(60, seed=11))
        engine.close()
    frames = {
        name: cluster.createDataFrame(table.to_pylist()).repartition(parts, "item")
        for (name, table), parts in zip(tables.items(), (2, 5), strict=True)
    }
    drawn.append(pw.diff(**frames, weights=weights, engine=start_spark(cluster)).questions(60, seed=11))
    one, many, spread = drawn
    assert one.draws == 60
    assert {question.stratum for question in one} == {"split", "merge", "stable+", "stable-"}
    assert one.questions == many.questions == spread.questions  # with their records and contexts
    assert one.design.checksum == many.design.checksum == spread.design.checksum


def test_killed_executor_changes_nothing(cluster):
    items = 300_000
    rows = cluster.range(items)
    ideal = rows.selectExpr("id AS item", "id div 10 AS cluster")
    actual = rows.selectExpr("id AS item", "id div 20 AS cluster")
    victims = killing.executors(os.getpid())
    with pw.evaluate(ideal=ideal, actual=actual) as evaluation:
        os.kill(victims[0], signal.SIGKILL)  # with half of the items and cells that Spark holds
        assert evaluation.overall["precision"] == 0.5
        assert evaluation.coverage.common_items == items
    assert victims[0] not in killing.executors(os.getpid())
