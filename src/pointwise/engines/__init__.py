"""Engines: where the data is read, held and computed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, get_args

from pointwise.engines.base import Engine, Source, is_spark_frame
from pointwise.errors import EngineError, UsageError
from pointwise.text.values import short

__all__ = ["MOST_THREADS", "Engine", "EngineName", "Source", "choose_engine", "start_engine", "start_spark"]


EngineName = Literal["duckdb", "spark"]
"""What a user calls the engines."""

MOST_THREADS = 1_024
"""How many threads can be asked for; starting many more than there are cores takes longer than any work."""


def start_engine(*, memory_limit: str | None = None, threads: int | None = None) -> Engine:
    """Start the embedded engine.

    Args:
        memory_limit: How much memory it may use before it spills to disk, such as "4GB".
        threads: How many cores it may use; all of them by default.

    Examples:
        >>> import pointwise as pw
        >>> engine = pw.engines.start_engine(memory_limit="1GB", threads=1)
        >>> pw.evaluate(ideal={"i1": 1, "i2": 1}, actual={"i1": 1, "i2": 2}, engine=engine).overall["recall"]
        0.5
        >>> engine.close()
    """
    from pointwise.engines.duckdb import DuckDBEngine

    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise UsageError(f"threads={short(threads)} must lie between 1 and {MOST_THREADS:,}.")
    return DuckDBEngine(memory_limit=memory_limit, threads=threads)


def start_spark(session: Any = None, *, master: str | None = None, conf: dict[str, str] | None = None) -> Engine:
    """Start an engine on a Spark session.

    Args:
        session: Where to run; by default the active session, or a new one.
        master: The cluster to start a new session on, such as "yarn" or "local[*]".
        conf: Settings for a new session.

    Examples:
        >>> import pointwise as pw
        >>> spark = pw.start_spark(master="local[2]")
        >>> evaluation = pw.evaluate(ideal={"i1": 1, "i2": 1}, actual={"i1": 1, "i2": 2}, engine=spark)
        >>> evaluation.overall["recall"]
        0.5
        >>> evaluation.close()
    """
    try:
        from pointwise.engines.spark import SparkEngine
    except ImportError as error:
        raise EngineError("Spark needs PySpark, which is not installed: pip install 'pointwise[spark]'.") from error
    return SparkEngine(session, master=master, conf=conf)


def choose_engine(
    engine: Engine | str | None,
    sources: Sequence[Any] = (),
    *,
    memory_limit: str | None = None,
    threads: int | None = None,
) -> Engine:
    """Return the engine that a user names, or else the one where the data is.

    Args:
        engine: An engine, "duckdb" or "spark"; None for Spark if a source is a Spark data frame, else DuckDB.
        sources: The tables to be read.
        memory_limit: As for `start_engine`.
        threads: As for `start_engine`.

    Examples:
        >>> engine = choose_engine("duckdb", threads=1)
        >>> engine.name
        'duckdb'
        >>> engine.close()
    """
    has_limits = memory_limit is not None or threads is not None
    if engine is not None and not isinstance(engine, str):
        if has_limits:
            raise UsageError(
                "memory_limit=... and threads=... apply to an engine started here, not to one that you pass."
            )
        return engine
    if engine not in (None, *get_args(EngineName)):
        raise UsageError(f"engine={short(engine)} is not one of {', '.join(map(repr, get_args(EngineName)))}.")
    frame = next((source for source in sources if is_spark_frame(source)), None)
    if engine == "duckdb" or (engine is None and frame is None):
        return start_engine(memory_limit=memory_limit, threads=threads)
    if has_limits:
        raise UsageError(
            "memory_limit=... and threads=... are for DuckDB. Spark takes its settings when a session starts."
        )
    return start_spark(None if frame is None else frame.sparkSession)
