"""Engines: where the data is read, held and computed."""

from __future__ import annotations

from pointwise.engines.base import Engine, Source

__all__ = ["Engine", "Source", "start_engine"]


def start_engine(*, memory_limit: str | None = None, threads: int | None = None) -> Engine:
    """Start the embedded engine.

    Args:
        memory_limit: How much memory it may use before it spills to disk, such as "4GB".
        threads: How many cores it may use; all of them by default.
    """
    from pointwise.engines.duckdb import DuckDBEngine

    return DuckDBEngine(memory_limit=memory_limit, threads=threads)
