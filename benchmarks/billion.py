"""A billion items, through the command line; then large against large with more data than memory.

    python benchmarks/billion.py [--items 1e9] [--truth 1e6] [--both 300e6] [--folder DIR]

Needs about 25 GB of disk in all, and says so if there is less. Writes `benchmarks/results/billion.*`.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from _measure import in_process, save
from large import run_sql, write

BYTES_PER_ITEM = 12  # of a generated file


def evaluate(ideal: Path, actual: Path, *words: str) -> dict[str, Any]:
    """Run `pointwise evaluate` as a user would; return its time, its peak memory and its overall metrics."""
    program = Path(sys.executable).with_name("pointwise")
    start = time.perf_counter()
    done = subprocess.run(
        [program, "evaluate", ideal, actual, "--format", "json", *words], check=True, capture_output=True, text=True
    )
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    return {"seconds": seconds, "memory": memory, "overall": json.loads(done.stdout)["overall"]}


def expect(ideal: Path, actual: Path) -> dict[str, float]:
    """Compute precision and recall by hand, in SQL, under a memory limit of its own."""
    connection = duckdb.connect(config={"preserve_insertion_order": False, "memory_limit": "16GB"})
    connection.execute(f"""
        CREATE TEMP TABLE cells AS SELECT i.cluster AS h, a.cluster AS j, count(*) AS tp
        FROM '{ideal}' i JOIN '{actual}' a USING (item) GROUP BY ALL
    """)
    sides = {"recall": "h", "precision": "j"}
    values = {}
    for name, side in sides.items():
        query = f"SELECT sum(s / w) / sum(w) FROM (SELECT sum(tp * tp)::DOUBLE s, sum(tp) w FROM cells GROUP BY {side})"
        values[name] = connection.execute(query).fetchone()[0]
    return values


def check_disk(folder: Path, items: int) -> None:
    """Stop early if the files will not fit."""
    needed, free = items * BYTES_PER_ITEM * 1.5, shutil.disk_usage(folder).free
    if needed > free:
        sys.exit(f"{folder} has {free / 1e9:.0f} GB free; {items:,} items need about {needed / 1e9:.0f} GB.")


def small_truth(folder: Path, items: int, truth: int) -> dict[str, Any]:
    """Evaluate all items against a small truth, next to a hash of the file's two columns."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    ideal, actual = folder / "truth.parquet", folder / "actual.parquet"
    start = time.perf_counter()
    write(connection, actual, items, items, moved=True)
    print(f"generated {items:,} items in {time.perf_counter() - start:.0f} s, {actual.stat().st_size / 1e9:.1f} GB")
    write(connection, ideal, truth, items, moved=False)
    connection.close()
    (hashed, _) = in_process(run_sql, f"SELECT sum(hash(item)), sum(hash(cluster)) FROM '{actual}'", 2)
    ours = min((evaluate(ideal, actual) for _ in range(2)), key=lambda run: run["seconds"])
    right = expect(ideal, actual)
    return report(f"{truth:,} truth items against {items:,}", ours, right, hashed["seconds"], bar=1.3)


def large_truth(folder: Path, items: int) -> dict[str, Any]:
    """Evaluate large against large with less memory than the data takes."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    ideal, actual = folder / "ideal_large.parquet", folder / "actual_large.parquet"
    write(connection, ideal, items, items, moved=False)
    write(connection, actual, items, items, moved=True)
    connection.close()
    ours = evaluate(ideal, actual, "--memory-limit", "6GB")
    return report(f"{items:,} against {items:,} under 6 GB", ours, expect(ideal, actual), None)


def report(
    case: str, ours: dict[str, Any], right: dict[str, float], limit: float | None, bar: Any = ""
) -> dict[str, Any]:
    """Put a run next to its limit, and its numbers next to the right ones."""
    difference = max(abs(ours["overall"][name] - value) for name, value in right.items())
    return {
        "case": case,
        "pointwise s": ours["seconds"],
        "peak GB": ours["memory"],
        "DuckDB hash s": limit,
        "ratio": ours["seconds"] / limit if limit else None,
        "bar": bar,
        "precision": ours["overall"]["precision"],
        "recall": ours["overall"]["recall"],
        "difference from SQL": difference,
    }


def main() -> None:
    """Run both cases, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=lambda text: int(float(text)), default=1_000_000_000)
    parser.add_argument("--truth", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--both", type=lambda text: int(float(text)), default=300_000_000)
    parser.add_argument("--folder", type=Path, help="where to keep the generated files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        check_disk(folder, max(options.items, 3 * options.both))
        rows = [small_truth(folder, options.items, options.truth)]
        save("billion", "A billion items", rows)
        if options.folder is None:
            (folder / "actual.parquet").unlink()  # make room
        rows.append(large_truth(folder, options.both))
        save("billion", "A billion items", rows)


if __name__ == "__main__":
    main()
