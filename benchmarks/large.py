"""Large files: whole evaluations next to what DuckDB and Polars themselves need to read and join the same files.

    python benchmarks/large.py [--items 100e6] [--truth 1e6] [--both 20e6] [--folder DIR]

Prints a table and writes it to `benchmarks/results/large.json` and `large.md`. Every measurement is the best of several
runs in a process of its own, whose peak memory is shown.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import duckdb

from _measure import best_of, in_process, save

MULTIPLIER = 2654435761  # spreads the numbers 0, 1, 2, ... over 63 bits after hashing


def generate(folder: Path, *, items: int, truth: int, both: int) -> None:
    """Write clusterings with random 64-bit items, ten to a cluster; the actual ones move every tenth item."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    write(connection, folder / "truth.parquet", truth, items, moved=False)
    write(connection, folder / "actual.parquet", items, items, moved=True)
    write(connection, folder / "ideal_large.parquet", both, both, moved=False)
    write(connection, folder / "actual_large.parquet", both, both, moved=True)
    for side in ("ideal", "actual"):
        source = folder / f"{side}_large.parquet"
        text = f"SELECT 'item-' || item AS item, 'c' || cluster AS cluster FROM '{source}' LIMIT {both // 4}"
        copy(connection, text, folder / f"{side}_text.parquet")
    n = both // 4
    giant = f"SELECT n AS item, CASE WHEN n % 10 = 0 THEN -1 ELSE n // 10 END AS cluster FROM range({n}) t(n)"
    copy(connection, giant, folder / "giant.parquet")
    split = f"SELECT n AS item, CASE WHEN n < 1000000 THEN 0 ELSE n // 10 END AS cluster FROM range({n}) t(n)"
    copy(connection, split, folder / "split.parquet")
    even = f"SELECT n AS item, n // 10 AS cluster FROM range({n}) t(n)"
    copy(connection, even, folder / "even.parquet")
    single = f"SELECT n AS item, n AS cluster FROM range({n}) t(n)"
    copy(connection, single, folder / "single.parquet")


def write(connection: duckdb.DuckDBPyConnection, path: Path, count: int, universe: int, *, moved: bool) -> None:
    """Write a clustering of some of a universe's items: whole clusters of ten, spread over all of it."""
    index = f"((n // 10) * {10 * (universe // count)} + n % 10)"
    home = f"{index} // 10"
    away = f"CASE WHEN hash({index}) % 10 = 0 THEN hash({index} + 7) % {universe // 10} ELSE {home} END"
    item = f"(hash({index} * {MULTIPLIER}) >> 1)::BIGINT"
    query = f"SELECT {item} AS item, ({away if moved else home})::BIGINT AS cluster FROM range({count}) t(n)"
    copy(connection, query, path)


def copy(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> None:
    """Write the rows of a query to a file that is not there yet."""
    if not path.exists():
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def evaluate(ideal: str, actual: str, repeats: int = 3, **options: Any) -> dict[str, Any]:
    """Time a whole evaluation with validation."""
    import pointwise as pw

    def work() -> None:
        with pw.evaluate(ideal=ideal, actual=actual, **options) as evaluation:
            values.update(evaluation.overall.values)

    values: dict[str, Any] = {}
    return {"seconds": best_of(work, repeats), **values}


def cover(ideal: str, actual: str) -> dict[str, float]:
    """Time what coverage takes once an evaluation is there."""
    import pointwise as pw

    with pw.evaluate(ideal=ideal, actual=actual) as evaluation:
        start = time.perf_counter()
        share = evaluation.coverage.outside_share
        return {"seconds": time.perf_counter() - start, "outside_share": share}


def write_items(ideal: str, actual: str, memory_limit: str) -> dict[str, float]:
    """Time the writing of every item's metrics."""
    import pointwise as pw

    with (
        tempfile.TemporaryDirectory() as folder,
        pw.evaluate(ideal=ideal, actual=actual, memory_limit=memory_limit) as evaluation,
    ):
        start = time.perf_counter()
        evaluation.by_item().write(Path(folder) / "items.parquet")
        return {"seconds": time.perf_counter() - start}


def run_sql(query: str, repeats: int = 3) -> dict[str, float]:
    """Time a query of DuckDB."""
    connection = duckdb.connect(config={"preserve_insertion_order": False})
    return {"seconds": best_of(lambda: connection.execute(query).fetchall(), repeats)}


def run_polars(ideal: str, actual: str, repeats: int = 3) -> dict[str, float]:
    """Time Polars doing the same as an evaluation: join, cells, margins, and the mean precision and recall."""
    import polars as pl

    def work() -> None:
        left = pl.scan_parquet(ideal).rename({"cluster": "ideal"})
        right = pl.scan_parquet(actual).rename({"cluster": "actual"})
        cells = left.join(right, on="item").group_by("ideal", "actual").agg(pl.len().cast(pl.Float64).alias("tp"))
        cells = cells.collect(engine="streaming").lazy()
        for side in ("ideal", "actual"):
            margin = cells.group_by(side).agg(pl.col("tp").sum().alias(f"{side}_weight"))
            cells = cells.join(margin, on=side)
        tp = pl.col("tp")
        values = cells.select((tp * tp / pl.col(f"{s}_weight")).sum().alias(s) for s in ("ideal", "actual"))
        values.collect(engine="streaming")

    return {"seconds": best_of(work, repeats)}


def row(
    case: str, ours: tuple[dict[str, Any], float], peer: str, theirs: tuple[dict[str, Any], float], bar: Any = ""
) -> Any:
    """Put our time next to a peer's."""
    (mine, memory), (other, peer_memory) = ours, theirs
    return {
        "case": case,
        "pointwise s": mine["seconds"],
        "GB": memory,
        "next to": peer,
        "its s": other["seconds"],
        "its GB": peer_memory,
        "ratio": mine["seconds"] / other["seconds"],
        "bar": bar,
    }


def measure(folder: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Run all cases."""
    path = {p.stem: str(p) for p in folder.glob("*.parquet")}
    small, large, text = f"{options.truth:,.0f}", f"{options.both:,.0f}", f"{options.both // 4:,.0f}"
    hashed = in_process(run_sql, f"SELECT sum(hash(item)), sum(hash(cluster)) FROM '{path['actual']}'")
    xored = in_process(run_sql, f"SELECT bit_xor(hash(item)), bit_xor(hash(cluster)) FROM '{path['actual']}'")
    first = in_process(evaluate, path["truth"], path["actual"])
    case = f"{small} truth items against {options.items:,.0f}"
    rows = [
        row(case, first, "DuckDB: sum of hashes of its two columns", hashed, 1.3),
        row(case, first, "DuckDB: xor of hashes of its two columns", xored),
        row("its coverage, when asked for", in_process(cover, path["truth"], path["actual"]), "the same", hashed),
    ]
    join = "SELECT sum(hash(i.cluster)), sum(hash(a.cluster)) FROM '{}' i JOIN '{}' a USING (item)"
    both = path["ideal_large"], path["actual_large"]
    ours = in_process(evaluate, *both)
    rows += [
        row(
            f"{large} against {large}",
            ours,
            "DuckDB: bare join with a sum",
            in_process(run_sql, join.format(*both)),
            1.5,
        ),
        row(
            f"{large} against {large}",
            ours,
            "DuckDB: join, cells, margins by hand",
            in_process(run_sql, by_hand(*both)),
        ),
        row(f"{large} against {large}", ours, "Polars: join, cells, margins", in_process(run_polars, *both)),
        row(
            "its items with metrics, written under 2 GB", in_process(write_items, *both, "2GB"), "the evaluation", ours
        ),
    ]
    texts = path["ideal_text"], path["actual_text"]
    rows.append(
        row(
            f"{text} against {text}, ids as text",
            in_process(evaluate, *texts),
            "DuckDB: bare join with a sum",
            in_process(run_sql, join.format(*texts)),
        )
    )
    even = in_process(evaluate, path["even"], path["even"])
    rows.append(
        row(
            "one actual cluster of 10 % of the items",
            in_process(evaluate, path["even"], path["giant"]),
            "no giant",
            even,
        )
    )
    rows.append(
        row(
            "one ideal cluster in a million cells",
            in_process(evaluate, path["split"], path["single"]),
            "ten a cell",
            even,
        )
    )
    return rows


def by_hand(ideal: str, actual: str) -> str:
    """Write the query that the steps amount to, without validation."""
    return f"""
        WITH cells AS MATERIALIZED (
            SELECT i.cluster AS h, a.cluster AS j, count(*)::DOUBLE AS tp
            FROM '{ideal}' i JOIN '{actual}' a USING (item) GROUP BY ALL
        )
        SELECT sum(tp * tp / hw), sum(tp * tp / jw) FROM cells
        JOIN (SELECT h, sum(tp) AS hw FROM cells GROUP BY h) USING (h)
        JOIN (SELECT j, sum(tp) AS jw FROM cells GROUP BY j) USING (j)
    """


def main() -> None:
    """Generate the files where they are missing, measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=lambda text: int(float(text)), default=100_000_000)
    parser.add_argument("--truth", type=lambda text: int(float(text)), default=1_000_000)
    parser.add_argument("--both", type=lambda text: int(float(text)), default=20_000_000)
    parser.add_argument("--folder", type=Path, help="where to keep the generated files")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        generate(folder, items=options.items, truth=options.truth, both=options.both)
        save("large", "Large files", measure(folder, options))


if __name__ == "__main__":
    main()
