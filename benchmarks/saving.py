"""Store the metrics of every item of a large evaluation, and show time and memory.

    python benchmarks/saving.py [--items 20e6] [--memory-limit 2GB]

Prints a line for each step, to look into one run; the tables come from `large.py` and `everyday.py`.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from contextlib import closing
from pathlib import Path

from _measure import connect, count, peak_memory


def write_clusterings(folder: Path, items: int) -> None:
    """Write two clusterings of the same items, with clusters of about 10 items that overlap in about 5."""
    for name, divisor, cut in (("truth", 10, 2), ("clusters", 10, 3)):
        cluster = f"i // {divisor} * 2 + CAST(hash(i // {cut}) % 8 = 0 AS BIGINT)"
        query = f"SELECT i AS item, {cluster} AS cluster, 1 + i % 7 AS size FROM range({items}) t(i)"
        with closing(connect(folder / "spill")) as connection:
            connection.execute(f"COPY ({query}) TO '{folder / name}.parquet'")


def main() -> None:
    """Evaluate, save, load, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=count, default=20_000_000)
    parser.add_argument("--memory-limit", default="2GB")
    options = parser.parse_args()
    items, limit = options.items, options.memory_limit

    import pointwise as pw

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_clusterings(folder, items)

        def report(step: str, start: float) -> None:
            seconds = time.perf_counter() - start
            print(f"{step:10} {seconds:6.1f} s   peak memory so far {peak_memory():5.2f} GB", flush=True)

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
        size = sum(file.stat().st_size for file in run.iterdir()) / 1e9
        print(f"{items:,} items, memory limit {limit}, {size:.2f} GB stored")
        start = time.perf_counter()
        print(pw.load(run, memory_limit=limit).mistakes(3))
        report("mistakes", start)


if __name__ == "__main__":
    main()
