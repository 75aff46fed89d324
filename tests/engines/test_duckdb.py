"""The embedded engine: who can read what it spills, many threads, and the end."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import narwhals.stable.v2 as nw
import pyarrow as pa
import pytest

import pointwise as pw
from pointwise.engines import duckdb as embedded
from pointwise.engines import start_engine
from pointwise.engines.queries import from_rows
from pointwise.errors import EngineError, PointwiseError

IDEAL = {n: n // 3 for n in range(300)}
ACTUAL = {n: n // 4 for n in range(300)}


def spill_folder(engine):
    return Path(engine._connection.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])


@pytest.mark.parametrize("limits", [{}, {"threads": 1}])
def test_only_this_user_can_read_what_is_spilled(limits):
    engine = start_engine(**limits)
    folder = spill_folder(engine)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert str(os.getpid()) != folder.name.split("-")[1]
    engine.close()
    assert folder.exists() == (not limits)


def test_spill_folders_cannot_be_made_in_advance(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for number in range(5):
        (tmp_path / f"pointwise-{os.getpid()}-{number}").mkdir(mode=0o755)
    engine = start_engine(threads=1)
    assert not spill_folder(engine).name.startswith(f"pointwise-{os.getpid()}")
    engine.close()


def test_spill_folders_are_gone_at_the_end(tmp_path):
    code = "import pointwise as pw; a = [pw.evaluate(ideal=[1, 1], actual=[1, 2], threads=n) for n in (None, 1)]"
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []


def test_a_forked_process_leaves_the_spill_folder_to_its_parent(tmp_path):
    folder = tmp_path / "x"
    folder.mkdir()
    embedded._remove_folder(str(folder), os.getpid() + 1)
    assert folder.exists()
    embedded._remove_folder(str(folder), os.getpid())
    assert not folder.exists()


def test_no_temporary_folder_is_one_clear_error(monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
    with pytest.raises(EngineError, match="TMPDIR"):
        start_engine(threads=1)


QUESTIONS = {
    "overall": lambda e: round(e.with_metrics("recall").overall["recall"], 9),
    "intervals": lambda e: round(e.with_metrics("recall").overall.interval("recall").low, 9),
    "shared intervals": lambda e: round(e.overall.interval("precision").low, 9),
    "items": lambda e: len(e.by_item().worst("recall", 5).to_dicts()),
    "clusters": lambda e: len(e.by_ideal_cluster().where("items > 1")),
    "mistakes": lambda e: [row["cluster"] for row in e.mistakes(5).to_dicts() if "cluster" in row],
    "explanation": lambda e: str(e.explain(item=7)),
    "coverage": lambda e: e.coverage.actual_clusters,
    "text": repr,
}


@pytest.mark.parametrize("is_stored", [False, True])
def test_sixteen_threads_get_the_right_answers_of_one_evaluation(tmp_path, is_stored):
    def make():
        live = pw.evaluate(ideal=IDEAL, actual=ACTUAL)
        return pw.load(live.save(tmp_path / "run", overwrite=True)) if is_stored else live

    expected = {name: ask(make()) for name, ask in QUESTIONS.items()}
    evaluation = make()
    asked = list(QUESTIONS) * 8
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda name: QUESTIONS[name](evaluation), asked))
    assert [name for name, answer in zip(asked, found, strict=True) if answer != expected[name]] == []


def test_sixteen_threads_get_the_right_answers_of_one_table_and_one_comparison():
    comparison = pw.compare(ideal=IDEAL, variants={"a": ACTUAL, "b": IDEAL})
    table = comparison["a"].by_item()
    expected = (table.sort("item").to_dicts()[:3], comparison.delta("recall"), repr(comparison.deltas()))

    def ask(_):
        return table.sort("item").head(3).to_dicts(), comparison.delta("recall"), repr(comparison.deltas())

    with ThreadPoolExecutor(16) as pool:
        assert all(answer == expected for answer in pool.map(ask, range(32)))


def test_threads_save_one_evaluation_beside_each_other(tmp_path):
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL)
    with ThreadPoolExecutor(8) as pool:
        paths = list(pool.map(lambda n: evaluation.save(tmp_path / str(n)), range(8)))
    assert all(pw.load(path).overall["recall"] == pytest.approx(evaluation.overall["recall"]) for path in paths)


AFTER_CLOSE = {
    "overall": lambda e, _: e.overall,
    "items": lambda e, _: e.by_item(),
    "text": lambda e, _: repr(e),
    "notebook": lambda e, _: e._repr_html_(),
    "mistakes": lambda e, _: e.mistakes(),
    "save": lambda e, _: e.save("nowhere"),
    "report": lambda e, _: e.report("nowhere.html"),
    "chart": lambda e, _: e.plot.coverage(),
    "rows": lambda _, table: table.to_dicts(),
    "length": lambda _, table: len(table),
    "sort": lambda _, table: table.sort("item"),
    "filter": lambda _, table: table.where("items > 1"),
    "arrow": lambda _, table: table.__arrow_c_stream__(),
    "write": lambda _, table: table.write("nowhere.csv"),
    "columns": lambda _, table: table.columns,
}


@pytest.fixture(scope="module")
def closed():
    with pw.evaluate(ideal=IDEAL, actual=ACTUAL) as evaluation:
        table = evaluation.by_item()
    return evaluation, table


@pytest.mark.parametrize("use", AFTER_CLOSE)
def test_use_after_close_is_one_clear_error(closed, use):
    with pytest.raises(EngineError, match="was closed"):
        AFTER_CLOSE[use](*closed)


def test_a_closed_comparison_says_so():
    with pw.compare(ideal=IDEAL, variants={"a": ACTUAL, "b": IDEAL}) as comparison:
        pass
    for use in (comparison.deltas, comparison.by_variant, lambda: repr(comparison), comparison.distances):
        with pytest.raises(EngineError, match="was closed"):
            use()


def test_what_was_computed_before_the_end_is_kept():
    with pw.evaluate(ideal=IDEAL, actual=ACTUAL) as evaluation:
        recall = evaluation.overall["recall"]
        evaluation.close()  # twice does no harm
    assert evaluation.overall["recall"] == recall


@pytest.fixture
def embedded_engine():
    engine = start_engine()
    yield engine
    engine.close()


def remembered(calls):
    """Make a step that says when it is asked, with which columns."""

    def double(frame, *others, factor=2):
        calls.append(frame.collect_schema().names())
        for other in others:
            frame = frame.join(other, on="item", how="inner")
        return frame.with_columns((nw.col("value") * factor).alias("value"))

    return double


def table(engine, **columns):
    return from_rows(pa.table(columns), engine)


def test_a_step_is_asked_once_for_every_kind_of_columns_and_settings(embedded_engine):
    calls = []
    step = remembered(calls)

    def rows(*frames, **settings):
        planned = embedded_engine.plan(step, *frames, **settings)
        return embedded_engine.collect(planned).to_pydict()

    for values in ([1], [5, 7], []):
        frame = table(embedded_engine, value=pa.array(values, pa.int64()))
        assert rows(frame) == {"value": [2 * value for value in values]}
    assert len(calls) == 1
    assert rows(table(embedded_engine, value=[1]), factor=3) == {"value": [3]}
    assert rows(table(embedded_engine, value=[1.5])) == {"value": [3.0]}
    assert rows(table(embedded_engine, value=[1], of=["a"])) == {"value": [2], "of": ["a"]}
    assert len(calls) == 4
    pair = table(embedded_engine, item=["a", "b"], value=[1, 2]), table(embedded_engine, item=["b"], of=["c"])
    assert rows(*pair) == rows(*pair) == {"item": ["b"], "value": [4], "of": ["c"]}
    assert len(calls) == 5


def test_a_plan_is_good_for_every_engine(embedded_engine):
    calls = []
    step, other = remembered(calls), start_engine(threads=1)
    for engine in (embedded_engine, other):
        held = engine.checkpoint(engine.plan(step, table(engine, value=[4])))
        assert engine.collect(held).to_pydict() == {"value": [8]}
    other.close()
    assert len(calls) == 1


def test_types_that_cannot_be_written_are_planned_every_time(embedded_engine, monkeypatch):
    calls = []
    step, frame = remembered(calls), table(embedded_engine, value=[1])
    monkeypatch.setattr(embedded, "_quoted", lambda column: f"{column} nothing like")
    for _ in range(2):
        assert embedded_engine.collect(embedded_engine.plan(step, frame)).to_pydict() == {"value": [2]}
    assert len(calls) == 2


def test_very_many_plans_are_not_kept(embedded_engine, monkeypatch):
    monkeypatch.setattr(embedded, "_plans", {})
    monkeypatch.setattr(embedded, "_MOST_PLANS", 2)
    calls = []
    step, frame = remembered(calls), table(embedded_engine, value=[1])
    for factor in (1, 2, 3, 3, 2, 1):
        assert embedded_engine.collect(embedded_engine.plan(step, frame, factor=factor)).to_pydict() == {
            "value": [factor]
        }
        assert len(embedded._plans) <= 2
    assert len(calls) == 4


def test_what_was_checkpointed_in_a_scope_is_released_at_its_end():
    engine = start_engine()
    frame = from_rows([{"n": 1}], engine)
    before = engine.checkpoint(frame)
    with engine.scope():
        inside = engine.checkpoint(frame)
        with engine.scope():
            engine.checkpoint(frame)
        assert engine.collect(inside).to_pylist() == [{"n": 1}]
    assert engine.collect(before).to_pylist() == [{"n": 1}]
    with pytest.raises(PointwiseError):
        engine.collect(inside)
    assert engine.collect(engine.checkpoint(frame)).to_pylist() == [{"n": 1}]
    engine.close()
