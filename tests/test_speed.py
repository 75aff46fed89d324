"""A guard against getting several times slower: ratios of processor time in one process, with generous limits.

The real numbers come from `benchmarks/`. Here the limits are about three times what is usual, so that only a mistake in
the way of the data trips them, not a busy machine: processor time counts the work, not the waiting.
"""

from __future__ import annotations

import subprocess
import sys
import time

import duckdb
import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import pointwise as pw
from pointwise.labels import scores


def least(work, repeats=5):
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return min(times)


def test_label_arrays_stay_faster_than_scikit_learn():
    random = np.random.default_rng(0)
    true, predicted = random.integers(0, 10_000, 100_000), random.integers(0, 10_000, 100_000)
    assert least(lambda: adjusted_rand_score(true, predicted)) > 2 * least(lambda: scores(true, predicted))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("speed")
    n = 1_000_000
    item = "(hash(n) >> 1)::BIGINT AS item"
    moved = "CASE WHEN hash(n) % 10 = 0 THEN hash(n + 7) % 100000 ELSE n // 10 END"
    queries = {
        "ideal": f"SELECT {item}, n // 10 AS cluster FROM range({n}) t(n)",
        "actual": f"SELECT {item}, ({moved})::BIGINT AS cluster FROM range({n}) t(n)",
        "truth": f"SELECT {item}, n // 10 AS cluster FROM range({n // 20}) t(n)",
    }
    for name, query in queries.items():
        duckdb.execute(f"COPY ({query}) TO '{folder / name}.parquet'")
    return {name: str(folder / f"{name}.parquet") for name in queries}


def evaluate(ideal, actual):
    with pw.evaluate(ideal=ideal, actual=actual) as evaluation:
        return evaluation.overall["precision"]


@pytest.mark.parametrize("ideal", ["ideal", "truth"])
def test_evaluation_stays_near_a_bare_join(files, ideal):
    query = "SELECT sum(hash(i.cluster)), sum(hash(a.cluster)) FROM '{}' i JOIN '{}' a USING (item)"
    connection = duckdb.connect()
    pair = files[ideal], files["actual"]
    bare = least(lambda: connection.execute(query.format(*pair)).fetchall())
    overhead = least(lambda: evaluate({"a": 1, "b": 1}, {"a": 1, "b": 2}))  # of any evaluation, however small
    assert least(lambda: evaluate(*pair)) - overhead < 8 * bare


def test_doubling_the_items_does_not_more_than_double_the_time(files):
    connection = duckdb.connect()
    tables = [
        [connection.sql(f"SELECT * FROM '{files[s]}' LIMIT {n}").to_arrow_table() for s in ("ideal", "actual")]
        for n in (250_000, 1_000_000)
    ]
    small, large = (least(lambda pair=pair: evaluate(*pair)) for pair in tables)
    assert large < 4 * small * 2


def test_importing_loads_no_engine():
    heavy = {"duckdb", "pyarrow", "pyspark", "altair", "pandas", "scipy"}
    code = f"import sys, pointwise; print({heavy} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
