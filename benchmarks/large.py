"""Large files: a whole evaluation next to what DuckDB itself needs to read and join the same files.

Run with `python benchmarks/large.py [--items 100e6] [--truth 1e6] [--both 20e6] [--folder DIR]`.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from _measure import best_of, in_process, save

SQL_ITEM = "(hash(i * 2654435761) >> 1)::BIGINT"


def generate(folder: Path, items: int, truth: int, both: int) -> None:
    """Write clusterings with random 64-bit items, ten to a cluster; the actual ones move every tenth item."""
    import duckdb

    connection = duckdb.connect(config={"preserve_insertion_order": False})

    def write(name: str, count: int, universe: int, *, moved: bool) -> None:
        path = folder / f"{name}.parquet"
        if path.exists():
            return
        # A small truth has whole clusters of ten, spread over the whole file.
        index = f"((n // 10) * {10 * (universe // count)} + n % 10)"
        home = f"({index} // 10)"
        clusters = universe // 10
        away = f"CASE WHEN hash({index}) % 10 = 0 THEN hash({index} + 7) % {clusters} ELSE {home} END"
        cluster = f"({away if moved else home})::BIGINT"
        query = f"SELECT {SQL_ITEM.replace('i *', f'{index} *')} AS item, {cluster} AS cluster FROM range({count}) t(n)"
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")

    write("truth", truth, items, moved=False)
    write("actual", items, items, moved=True)
    write("both_ideal", both, both, moved=False)
    write("both_actual", both, both, moved=True)


def evaluate(ideal: str, actual: str, repeats: int) -> dict[str, float]:
    """Time a whole evaluation with validation, and its coverage as a line of its own."""
    import time

    import pointwise as pw

    values = []

    def work() -> None:
        with pw.evaluate(ideal=ideal, actual=actual) as evaluation:
            values.append(evaluation.overall.values)

    seconds = best_of(work, repeats)
    with pw.evaluate(ideal=ideal, actual=actual) as evaluation:
        start = time.perf_counter()
        outside = evaluation.coverage.outside_share
        coverage = time.perf_counter() - start
    return {"seconds": seconds, "coverage_seconds": coverage, "outside_share": outside, **values[0]}


def hash_columns(path: str, repeats: int) -> dict[str, float]:
    """Time DuckDB hashing the two columns of a file."""
    import duckdb

    connection = duckdb.connect()
    both = f"SELECT sum(hash(item)), sum(hash(cluster)) FROM '{path}'"
    one = f"SELECT bit_xor(hash(item, cluster)) FROM '{path}'"
    return {
        "seconds": best_of(lambda: connection.execute(both).fetchall(), repeats),
        "xor_seconds": best_of(lambda: connection.execute(one).fetchall(), repeats),
    }


def bare_join(ideal: str, actual: str, repeats: int) -> dict[str, float]:
    """Time DuckDB joining two files with a sum."""
    import duckdb

    connection = duckdb.connect()
    query = f"SELECT sum(i.cluster), sum(a.cluster) FROM '{ideal}' i JOIN '{actual}' a USING (item)"
    return {"seconds": best_of(lambda: connection.execute(query).fetchall(), repeats)}


def row(case: str, ours: tuple[dict[str, float], float], limit: tuple[dict[str, float], float], bar: float) -> Any:
    """Put our time next to the limit's."""
    (mine, memory), (peer, _) = ours, limit
    return {
        "case": case,
        "pointwise s": mine["seconds"],
        "DuckDB s": peer["seconds"],
        "ratio": mine["seconds"] / peer["seconds"],
        "bar": bar,
        "peak GB": memory,
        "coverage s": mine["coverage_seconds"],
        "precision": mine["precision"],
        "recall": mine["recall"],
    }


def main() -> None:
    """Generate the files where they are missing, measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=float, default=100e6)
    parser.add_argument("--truth", type=float, default=1e6)
    parser.add_argument("--both", type=float, default=20e6)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to keep the generated files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        in_process(generate, folder, int(options.items), int(options.truth), int(options.both))
        paths = {p.stem: str(p) for p in folder.glob("*.parquet")}
        small = in_process(evaluate, paths["truth"], paths["actual"], options.repeats)
        hashed = in_process(hash_columns, paths["actual"], options.repeats)
        large = in_process(evaluate, paths["both_ideal"], paths["both_actual"], options.repeats)
        joined = in_process(bare_join, paths["both_ideal"], paths["both_actual"], options.repeats)
    first = row(f"{options.truth:.0e} truth items against {options.items:.0e}, next to a hash", small, hashed, 1.3)
    first["DuckDB xor of hashes s"] = hashed[0]["xor_seconds"]
    second = row(f"{options.both:.0e} against {options.both:.0e}, next to a bare join", large, joined, 1.5)
    save("large", "Large files", [first, second])


if __name__ == "__main__":
    main()
