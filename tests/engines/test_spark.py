"""Spark: what is said of it beyond the tests that run on every engine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

import killing
import pointwise as pw
from frames import ACTUAL, IDEAL, WEIGHTS, agree, make_frames
from pointwise import errors
from pointwise.cli import app
from pointwise.engines import choose_engine, start_engine, start_spark
from pointwise.engines.base import load_own
from sessions import ONE_PROCESS

pytestmark = pytest.mark.spark


@pytest.fixture
def frames(spark):
    return make_frames(spark)


def held(spark) -> int:
    return spark.sparkContext._jsc.getPersistentRDDs().size()


def test_spark_frames_choose_spark_and_let_go(spark, frames):
    before = held(spark)
    with pw.evaluate(**frames, weight="w", slices=["first"]) as evaluation:
        assert evaluation.evidence.engine.name == "spark"
        assert evaluation.overall["precision"] == 0.75
        assert {row["first"]: row["items"] for row in evaluation.by_slice().to_dicts()} == {True: 1, False: 2}
        assert held(spark) > before
    assert held(spark) == before


def test_refused_input_leaves_nothing_held(spark, frames):
    before = held(spark)
    with pytest.raises(errors.WeightError):
        pw.evaluate(**frames, weights={"i1": -1, "i2": 1, "i3": 1})
    assert held(spark) == before


def test_engine_by_name():
    with pytest.raises(errors.UsageError, match="'flink'"):
        choose_engine("flink")


def test_limits_of_the_embedded_engine_are_not_for_spark(frames):
    with pytest.raises(errors.UsageError, match="memory_limit"):
        pw.evaluate(**frames, memory_limit="1GB")


def test_jobs_are_described_and_nothing_else_is_set(spark, frames):
    context = spark.sparkContext
    context.setJobDescription("mine")
    settings = dict(spark.conf.getAll)
    seen = set()
    engine = start_spark(spark)
    collect = type(engine).collect

    class Watching(type(engine)):
        def collect(self, frame):
            with self._described():
                seen.add(context.getLocalProperty("spark.job.description"))
            return collect(self, frame)

    with pw.evaluate(**frames, engine=Watching(spark)) as evaluation:
        assert evaluation.overall.items == 3
    assert {"pointwise: reading", "pointwise: aligning", "pointwise: cross-tabulating"} <= seen
    assert context.getLocalProperty("spark.job.description") == "mine"
    assert dict(spark.conf.getAll) == settings
    context.setJobDescription(None)


def test_an_evaluation_asks_spark_three_questions(spark, frames):
    asked = []

    class Counting(type(start_spark(spark))):
        def collect(self, frame):
            asked.append(frame.columns)
            return super().collect(frame)

    with pw.evaluate(**frames, weight="w", engine=Counting(spark)) as evaluation:
        assert evaluation.overall["precision"] == 0.75
    assert len(asked) == 3  # the checks, the pairs of clusters, the metrics: each takes some tenths of a second to plan


@pytest.mark.parametrize("ending", ["parquet", "json", "csv.gz"])
def test_tables_written_by_spark_are_read_again(frames, tmp_path, ending):
    path = tmp_path / f"items.{ending}"
    with pw.evaluate(**frames, weight="w") as evaluation:
        evaluation.by_item().write(path)
        expected = evaluation.by_item().sort("item").to_arrow().select(["item", "precision"]).to_pylist()
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    source = start_engine().read(path)
    rows = start_engine().collect(load_own(source, ["item", "precision"])).sort_by("item").to_pylist()
    assert [row["item"] for row in rows] == [row["item"] for row in expected]
    assert [float(row["precision"]) for row in rows] == [row["precision"] for row in expected]


def test_json_of_several_types_is_refused(spark, tmp_path):
    path = tmp_path / "clusters.jsonl"
    rows = [{"item": 1, "cluster": "x", "a note": 1}, {"item": "1", "cluster": "y", "a note": "two"}]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    engine = start_spark(spark)
    with pytest.raises(errors.SourceError, match=r"'item' .* values of several types"):
        pw.evaluate(ideal={"1": 1}, actual=path, engine=engine)
    text = [row | {"item": f"i{n}"} for n, row in enumerate(rows)]
    path.write_text("".join(json.dumps(row) + "\n" for row in text))
    with pw.evaluate(ideal={"i0": 1, "i1": 1}, actual=path, engine=engine) as evaluation:
        assert evaluation.overall["recall"] == 0.5


def test_tables_are_written_to_addresses_but_runs_are_not(frames, tmp_path):
    with pw.evaluate(**frames, weight="w") as evaluation:
        evaluation.by_item().write(f"{tmp_path.as_uri()}/items.parquet")
        with pytest.raises(errors.UsageError, match="only Parquet"):
            evaluation.by_item().write(f"{tmp_path.as_uri()}/items.csv")
        with pytest.raises(errors.RunError, match="mounted file system"):
            evaluation.save(f"{tmp_path.as_uri()}/run")
    assert [path.name for path in tmp_path.iterdir()] == ["items.parquet"]
    assert len(start_engine().collect(start_engine().read(tmp_path / "items.parquet").load(["item"]))) == 3


def test_a_run_stored_by_spark_holds_what_its_manifest_lists_and_can_be_replaced(frames, tmp_path):
    with pw.evaluate(**frames, weight="w") as evaluation:
        path = evaluation.save(tmp_path / "run")
        listed = {f for table in json.loads((path / "run.json").read_text())["tables"].values() for f in table}
        assert {str(p.relative_to(path)) for p in path.rglob("*") if p.is_file()} == {*listed, "run.json"}
        evaluation.save(path, overwrite=True)
    assert pw.load(path).overall["precision"] == 0.75
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.usefixtures("spark")
def test_a_run_that_is_replaced_after_spark_has_loaded_it_is_not_mixed_up(tmp_path):
    small = pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 1})
    large = pw.evaluate(ideal={"a": 1, "b": 2, "c": 3}, actual={"a": 1, "b": 1, "c": 1})
    path = small.save(tmp_path / "run")
    loaded = pw.load(path, engine="spark")
    assert loaded.overall.items == 2
    large.save(path, overwrite=True)
    for ask in (lambda: loaded.with_metrics("recall").overall, lambda: len(loaded.by_item()), loaded.mistakes):
        with pytest.raises(errors.RunError, match="replaced or removed after it was loaded"):
            ask()
    assert pw.load(path, engine="spark").overall.items == 3


def test_a_closed_result_says_so(frames):
    with pw.evaluate(**frames, weight="w") as evaluation:
        table = evaluation.by_item()
    for ask in (evaluation.by_item, lambda: evaluation.overall, table.to_dicts):
        with pytest.raises(errors.EngineError, match="was closed"):
            ask()


def test_comparison_mistakes_and_related_metrics(frames):
    both = {"baseline": frames["actual"], "experiment": frames["ideal"]}
    ours = pw.compare(ideal=frames["ideal"], variants=both, weight="w")
    tables = [{"item": list(side), "cluster": list(side.values())} for side in (IDEAL, ACTUAL)]
    ideal, actual = (pa.table(table) for table in tables)
    theirs = pw.compare(ideal=ideal, variants={"baseline": actual, "experiment": ideal}, weights=WEIGHTS)
    for mine, other in zip(ours.deltas().to_dicts(), theirs.deltas().to_dicts(), strict=True):
        agree(mine, other)
    left, right = ours.evaluations["baseline"], theirs.evaluations["baseline"]
    assert repr(left.mistakes(5)) == repr(right.mistakes(5))
    agree(*({r["metric"]: r["value"] for r in e.related().to_dicts()} for e in (left, right)))
    distances = pw.distance(frames["ideal"].drop("w", "first"), frames["actual"]), pw.distance(ideal, actual)
    assert distances[0] == pytest.approx(distances[1], rel=1e-12)


@pytest.mark.usefixtures("spark")
def test_command_line(tmp_path, capsys):
    for name, side in (("ideal", IDEAL), ("actual", ACTUAL)):
        text = "item,cluster\n" + "".join(f"{item},{cluster}\n" for item, cluster in side.items())
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    arguments = ["evaluate", str(tmp_path / "ideal.csv"), str(tmp_path / "actual.csv"), "--format", "json"]
    app([*arguments], standalone_mode=False)
    expected = capsys.readouterr().out
    app([*arguments, "--engine", "spark"], standalone_mode=False)
    assert capsys.readouterr().out == expected
    app([*arguments, "--master", "local[1]"], standalone_mode=False)
    assert "add --engine spark" in capsys.readouterr().err


def test_spark_submit_runs_the_command_line(tmp_path):
    for name, clusters in {"ideal": "aab", "actual": "xyx"}.items():
        rows = "".join(f"i{n},{cluster}\n" for n, cluster in enumerate(clusters))
        (tmp_path / f"{name}.csv").write_text(f"item,cluster\n{rows}", encoding="utf-8")
    submit = Path(sys.executable).with_name("spark-submit")
    settings = [word for key, value in ONE_PROCESS.items() for word in ("--conf", f"{key}={value}")]
    words = ["evaluate", tmp_path / "ideal.csv", tmp_path / "actual.csv", "--engine", "spark", "--format", "json"]
    command = [submit, "--master", "local[1]", *settings, Path(pw.__file__).with_name("__main__.py"), *words]
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    printed = done.stdout[
        done.stdout.index("{") :
    ]  # spark-submit puts warnings of PySpark before it, on the same stream
    assert json.loads(printed)["overall"]["precision"] == pytest.approx(2 / 3)


def test_notebook_code_of_the_guide(spark, frames, tmp_path, capsys):
    page = Path(__file__).parents[2] / "docs" / "on-spark.md"
    code = re.search(r"^```py\n(.*?)^```$", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[1]
    frames["ideal"].select("item", "cluster").write.parquet(str(tmp_path / "truth"))
    frames["actual"].createOrReplaceTempView("clusters")
    frames["ideal"].selectExpr("item", "w AS country").createOrReplaceTempView("about")
    exec(compile(code.replace("s3a://lake", str(tmp_path)), page.name, "exec"), {"spark": spark})  # noqa: S102
    assert "Common items: 3 of 3 ideal (100.0%)" in capsys.readouterr().out
    assert spark.read.parquet(str(tmp_path / "measured.parquet")).count() == 3


def test_missing_java_is_one_clear_line():
    code = "import pointwise as pw; pw.evaluate(ideal=[['a']], actual=[['a']], engine='spark')"
    environment = {"PATH": "/nonexistent", "JAVA_HOME": "/nonexistent", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (
        done.stderr.strip().splitlines()[-1].startswith("pointwise.errors.EngineError: Spark did not start: it needs")
    )


def test_missing_pyspark_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    monkeypatch.delitem(sys.modules, "pointwise.engines.spark", raising=False)
    with pytest.raises(errors.EngineError, match=r"pip install 'pointwise\[spark\]'"):
        start_spark()


SAVING = """
import json, sys
from pointwise.engines import start_spark
import pointwise as pw
engine = start_spark(master="local[1]", conf=json.loads(sys.argv[2]))
rows = engine.session.range(20_000)
evaluation = pw.evaluate(ideal=rows.selectExpr("id AS item", "id div 10 AS cluster"),
                         actual=rows.selectExpr("id AS item", "id div 20 AS cluster"))
evaluation.overall, evaluation.coverage
print("saving", flush=True)
evaluation.save(sys.argv[1])
"""


def test_driver_killed_while_saving_leaves_no_run(tmp_path):
    run = tmp_path / "run"
    environment = os.environ | {"SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", SAVING, str(run), json.dumps(ONE_PROCESS)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as driver:
        assert driver.stdout.readline() == b"saving\n"
        deadline = time.monotonic() + 120
        while not list(Path(tmp_path).glob(".pointwise-*/new/cells.parquet/*")) and time.monotonic() < deadline:
            time.sleep(0.02)
        killing.kill_tree(driver.pid)
    assert not run.exists()
    assert [p.name[:11] for p in tmp_path.iterdir()] == [".pointwise-"]  # so it was killed while it saved
    with pytest.raises(errors.PointwiseError):
        pw.load(run)
