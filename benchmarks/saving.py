"""Store the metrics of every item of a large evaluation, and show time and memory.

python benchmarks/saving.py [ITEMS] [MEMORY_LIMIT]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import pointwise as pw


def write_clusterings(folder: Path, items: int) -> None:
    """Write two clusterings of the same items, with clusters of about 10 items that overlap in about 5."""
    for name, divisor, cut in (("truth", 10, 2), ("clusters", 10, 3)):
        cluster = f"i // {divisor} * 2 + CAST(hash(i // {cut}) % 8 = 0 AS BIGINT)"
        query = f"SELECT i AS item, {cluster} AS cluster, 1 + i % 7 AS size FROM range({items}) t(i)"
        duckdb.sql(f"COPY ({query}) TO '{folder / name}.parquet'")


def main() -> None:
    """Evaluate, save, load, and print a line for each."""
    items = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000_000
    limit = sys.argv[2] if len(sys.argv) > 2 else "2GB"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_clusterings(folder, items)
        duckdb.default_connection().close()

        def report(step: str, start: float) -> None:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
            print(f"{step:10} {time.perf_counter() - start:6.1f} s   peak memory so far {peak:5.2f} GB", flush=True)

        start = time.perf_counter()
        evaluation = pw.evaluate(
            ideal=folder / "truth.parquet",
            actual=folder / "clusters.parquet",
            item="item",
            cluster="cluster",
            weight="size",
            memory_limit=limit,
        )
        report("evaluate", start)
        start = time.perf_counter()
        run = evaluation.save(folder / "run")
        report("save", start)
        size = sum(file.stat().st_size for file in run.iterdir()) / 1024**3
        print(f"{items:,} items, memory limit {limit}, {size:.2f} GB stored")
        start = time.perf_counter()
        print(pw.load(run, memory_limit=limit).mistakes(3))
        report("mistakes", start)


if __name__ == "__main__":
    main()
