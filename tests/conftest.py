"""Fixtures that all tests share."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from pointwise.engines import Engine, start_engine, start_spark

EXAMPLES = {
    "duckdb": 8,  # an evaluation of all metrics takes a good part of a second; tests without an engine ask for more
    "spark": 1,  # some twenty jobs each: what is wrong with an engine shows in few examples
}
for name, number in EXAMPLES.items():
    settings.register_profile(
        name,
        deadline=None,  # a busy machine is not a bug
        max_examples=number,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
settings.load_profile("duckdb")

# Which tests of an engine run on Spark too: all of the paper, and of the others those that differ most between engines.
# Not the laws: planning all metrics at once takes Spark minutes.
ON_SPARK = {
    "test_paper": "",
    "test_errors": "corrupt|repeated_item|null|float_ids|different_types|no_common|bad_weight|csv",
}

QUICK_START = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # these processes do not live long enough to be optimised
SPARK = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": QUICK_START,
    "spark.executor.extraJavaOptions": QUICK_START,
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # compiling a plan takes longer than running it on three rows
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


@pytest.fixture(scope="session")
def spark() -> Iterator:
    """Start a Spark cluster of two executor processes, once for all tests that need it."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        if os.environ.get("CI") == "true":
            pytest.fail("Spark tests must run in CI, but there is no Java.")
        pytest.skip("Spark tests need Java, which is not installed.")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    session = start_spark(master="local-cluster[2,1,1024]", conf=SPARK).session
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()


def pytest_generate_tests(metafunc) -> None:
    """Run tests that take an engine on DuckDB, and some on Spark too."""
    if "engine" in metafunc.fixturenames:
        kinds = ["duckdb"]
        pattern = ON_SPARK.get(metafunc.module.__name__.rsplit(".", 1)[-1])
        if pattern is not None and re.search(pattern, metafunc.function.__name__):
            kinds.append(pytest.param("spark", marks=pytest.mark.spark))
        metafunc.parametrize("engine", kinds, indirect=True)


@pytest.fixture
def engine(request) -> Iterator[Engine]:
    """Return an engine of one's own; tests of the laws run on each kind."""
    settings.load_profile(request.param)
    engine = start_spark(request.getfixturevalue("spark")) if request.param == "spark" else start_engine()
    yield engine
    engine.close()
    settings.load_profile("duckdb")
