"""Fixtures that all tests share."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import sys
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

from pointwise.core.metrics import METRICS
from pointwise.engines import Engine, start_engine, start_spark
from sessions import CONNECT, ONE_PROCESS, SPARK

for name, number in {
    "duckdb": 8,  # an evaluation of all metrics takes a good part of a second; tests without an engine ask for more
    "laws": 1000,  # for a night: `make laws`
    "fuzz": 50,  # a round of `make fuzz`, which runs as many rounds as there is time for
    "spark": 2,  # some twenty jobs each: what is wrong with an engine shows in few examples
}.items():
    settings.register_profile(
        name,
        deadline=None,  # a busy machine is not a bug
        max_examples=number,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
settings.load_profile("duckdb")  # the other is for `pytest -m spark --hypothesis-profile=spark`

# Every worker and every process that a test starts imports some two thousand modules: compile them once.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

os.environ["COLUMNS"] = "120"  # what is printed must not depend on the terminal that the tests run in

# What is imported stays, and small evaluations make few cycles: searching for garbage is time lost.
gc.set_threshold(50_000, 20, 50)

# What must hold on every engine. Of the other tests, what is special about Spark stands in `test_spark.py`.
ON_SPARK = (
    "test_paper",
    "test_laws",
    "test_policies",
    "test_errors",
    "test_patentsview",
    "test_intervals",
    "test_design",
    "test_coverage",
    "test_empty_clusters",
    "test_look_up",
    "test_composite",
)

# What runs everything there is, or the same thing many times, so that it reaches little of its own.
UNTRACED = {
    "adversarial",
    "test_attacks",
    "test_benchmarks",
    "test_browser",
    "test_docs",
    "test_examples",
    "test_faults",
    "test_packaging",
    "test_public",
    "test_results",
}


@pytest.fixture(scope="session")
def spark() -> Iterator:
    """Start Spark inside one process, once for all tests that ask what it computes."""
    yield from _session("local[2]", ONE_PROCESS)


@pytest.fixture(scope="session")
def cluster() -> Iterator:
    """Start a Spark cluster of two executor processes, for tests of what only several processes have."""
    yield from _session(
        "local-cluster[2,1,1024]",
        SPARK | {"spark.plugins": CONNECT, "spark.connect.grpc.binding.port": str(_free_port())},
    )


def _session(master: str, conf: dict[str, str]) -> Iterator:
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        if os.environ.get("CI") == "true":
            pytest.fail("Spark tests must run in CI, but there is no Java.")
        pytest.skip("Spark tests need Java, which is not installed.")
    from pyspark.sql import SparkSession

    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    before = SparkSession.getActiveSession()
    if before is not None:
        before.stop()  # a process has one at a time: see `pytest_collection_modifyitems`
    session = start_spark(master=master, conf=conf).session
    session.sparkContext.setLogLevel("OFF")
    _remember_classes(session)
    yield session
    session.stop()


def _remember_classes(session) -> None:
    """Look up once what PySpark looks up for every column: Java searches every archive for a name without a package."""
    java = session.sparkContext._jvm
    for name in ("PythonUtils", "PythonSQLUtils", "functions", "org.apache.spark.sql.functions"):
        setattr(java, name, getattr(java, name))


@pytest.fixture(scope="session")
def spark_connect(cluster) -> Iterator:
    """Return a session of Spark Connect, a client of the same cluster."""
    from pyspark.sql.connect.session import SparkSession

    port = cluster.conf.get("spark.connect.grpc.binding.port")
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").create()
    yield session
    session.stop()


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def pytest_generate_tests(metafunc) -> None:
    """Run tests that take an engine on DuckDB, and those of the modules in `ON_SPARK` on Spark as well."""
    for name in {"engine", "lasting_engine"}.intersection(metafunc.fixturenames):
        kinds = ["duckdb"]
        is_slow = metafunc.definition.get_closest_marker("embedded")
        if metafunc.module.__name__.rsplit(".", 1)[-1] in ON_SPARK and not is_slow:
            kinds.append(pytest.param("spark", marks=pytest.mark.spark))
        metafunc.parametrize(name, kinds, indirect=True)


def pytest_addoption(parser) -> None:
    """Let `make coverage` see the lines that any test reaches."""
    parser.addoption("--trace-all", action="store_true", help="trace also tests that mostly repeat what others reach")


def pytest_collection_modifyitems(config, items) -> None:
    """Put the tests on a cluster last, whose session takes the place of the one before, and spare repetition."""
    items.sort(key=lambda item: item.get_closest_marker("cluster") is not None)
    _spare_spark(config, items)
    if not config.getoption("--trace-all"):
        _spare_the_tracer(items)


def _spare_spark(config, items: list) -> None:
    """Give Spark the first case of each kind of error: they are refused by code that knows no engine."""
    seen, spared = set(), []
    for item in items:
        if item.get_closest_marker("spark") and item.module.__name__.endswith("test_errors"):
            (spared.append(item) if item.function in seen else seen.add(item.function))
    config.hook.pytest_deselected(items=spared)
    items[:] = [item for item in items if item not in spared]


def _spare_the_tracer(items: list) -> None:
    """Leave laws, attacks and whole jobs untraced: they repeat what other tests reach, and take half as long again."""
    for item in items:
        if is_hypothesis_test(item.function) or not UNTRACED.isdisjoint(item.module.__name__.split(".")):
            item.add_marker("no_cover")


def pytest_collection_finish() -> None:
    """Leave modules and collected tests out of every search for garbage."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Let the process clear up at its end: libraries complain of what they find alive."""
    gc.unfreeze()


@pytest.fixture(autouse=True)
def _metrics_of_others() -> Iterator[None]:
    """Forget the metrics that a test registers, so that those after it find the table as it was."""
    before = dict(METRICS)
    yield
    METRICS.clear()
    METRICS.update(before)


@pytest.fixture
def engine(request) -> Iterator[Engine]:
    """Return an engine of one's own."""
    yield from _engine(request)


@pytest.fixture(scope="module")
def lasting_engine(request) -> Iterator[Engine]:
    """Return an engine for what several tests of a module ask one thing after another."""
    yield from _engine(request)


def _engine(request) -> Iterator[Engine]:
    engine = start_spark(request.getfixturevalue("spark")) if request.param == "spark" else start_engine()
    yield engine
    engine.close()
