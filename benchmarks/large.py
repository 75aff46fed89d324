"""Large files: whole evaluations next to what DuckDB and Polars themselves need to read and join the same files.

    python benchmarks/large.py [--items 100e6] [--truth 1e6] [--both 20e6] [--folder DIR]

Prints two tables and writes them to `benchmarks/results/large.*` and `profile.*`, the steps of one evaluation. Every
time is the median of several runs in a process of its own, whose peak memory is shown.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from _measure import Bench, arguments, connect, count, median_of, say

MULTIPLIER = 2654435761  # spreads the numbers 0, 1, 2, ... over 63 bits after hashing
JOIN = "SELECT sum(hash(i.cluster)), sum(hash(a.cluster)) FROM '{}' i JOIN '{}' a USING (item)"
HASH = "SELECT {0}(hash(item)), {0}(hash(cluster)) FROM '{1}'"
Measured = tuple[dict[str, Any], float]


def generate(folder: str, *, items: int, truth: int, both: int) -> None:
    """Write clusterings with random 64-bit items, ten to a cluster; the actual ones move every tenth item."""
    place = Path(folder)
    with closing(connect(place / "spill")) as connection:
        write(connection, place / "truth.parquet", truth, items, moved=False)
        write(connection, place / "actual.parquet", items, items, moved=True)
        write(connection, place / "ideal_large.parquet", both, both, moved=False)
        write(connection, place / "actual_large.parquet", both, both, moved=True)
        for side in ("ideal", "actual"):
            source = place / f"{side}_large.parquet"
            text = f"SELECT 'item-' || item AS item, 'c' || cluster AS cluster FROM '{source}' LIMIT {both // 4}"
            copy(connection, text, place / f"{side}_text.parquet")
        n = both // 4
        clusters = {
            "even": "n // 10",
            "giant": "CASE WHEN n % 10 = 0 THEN -1 ELSE n // 10 END",
            "split": f"CASE WHEN n < {n // 5} THEN 0 ELSE n // 10 END",
            "single": "n",
        }
        for name, cluster in clusters.items():
            copy(connection, f"SELECT n AS item, {cluster} AS cluster FROM range({n}) t(n)", place / f"{name}.parquet")
    os.sync()  # so that the system does not write them to disk while something is measured


def write(connection: Any, path: Path, number: int, universe: int, *, moved: bool) -> None:
    """Write a clustering of some of a universe's items: whole clusters of ten, spread over all of it."""
    index = f"((n // 10) * {10 * (universe // number)} + n % 10)"
    home = f"{index} // 10"
    away = f"CASE WHEN hash({index}) % 10 = 0 THEN hash({index} + 7) % {universe // 10} ELSE {home} END"
    item = f"(hash({index} * {MULTIPLIER}) >> 1)::BIGINT"
    query = f"SELECT {item} AS item, ({away if moved else home})::BIGINT AS cluster FROM range({number}) t(n)"
    copy(connection, query, path)


def copy(connection: Any, query: str, path: Path) -> None:
    """Write the rows of a query to a file that is not there yet."""
    if not path.exists():
        connection.execute(f"COPY ({query}) TO '{path}' (FORMAT parquet)")


def evaluate(ideal: str, actual: str, repeats: int, memory_limit: str | None = None) -> dict[str, Any]:
    """Time a whole evaluation with validation."""
    import pointwise as pw

    def work() -> None:
        with pw.evaluate(ideal=ideal, actual=actual, memory_limit=memory_limit) as evaluation:
            values.update(evaluation.overall.values)

    values: dict[str, Any] = {}
    return {"seconds": median_of(work, repeats), **values}


def cover(ideal: str, actual: str, repeats: int) -> dict[str, float]:
    """Time what coverage takes once an evaluation is there."""
    import pointwise as pw

    def work() -> float:
        with pw.evaluate(ideal=ideal, actual=actual) as evaluation:
            return median_of(lambda: evaluation.coverage, 1)

    return {"seconds": statistics.median(work() for _ in range(repeats))}


def write_items(ideal: str, actual: str, memory_limit: str, repeats: int) -> dict[str, float]:
    """Time the writing of every item's metrics."""
    import pointwise as pw

    with (
        tempfile.TemporaryDirectory() as folder,
        pw.evaluate(ideal=ideal, actual=actual, memory_limit=memory_limit) as evaluation,
    ):
        return {"seconds": median_of(lambda: evaluation.by_item().write(Path(folder) / "items.parquet"), repeats)}


def run_sql(query: str, repeats: int, memory_limit: str | None = None, spill: str | None = None) -> dict[str, float]:
    """Time a query of DuckDB."""
    limits = {"memory_limit": memory_limit} if memory_limit else {}
    with closing(connect(spill, **limits)) as connection:
        return {"seconds": median_of(lambda: connection.execute(query).fetchall(), repeats)}


def run_polars(ideal: str, actual: str, repeats: int) -> dict[str, float]:
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

    return {"seconds": median_of(work, repeats)}


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


def row(case: str, ours: Measured, peer: str, theirs: Measured, bar: float | None = None) -> dict[str, Any]:
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
        "at most": bar,
    }


def small_truth(bench: Bench, path: dict[str, str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Evaluate many items against a small truth, next to a hash of the file's two columns."""
    say("small truth")
    repeats, pair = bench.repeats(3), (path["truth"], path["actual"])
    hashed, xored = (bench.in_process(run_sql, HASH.format(f, path["actual"]), repeats) for f in ("sum", "bit_xor"))
    ours = bench.in_process(evaluate, *pair, repeats)
    covered = bench.in_process(cover, *pair, repeats)
    case = f"{options.truth:,} truth items against {options.items:,}"
    return [
        row(case, ours, "DuckDB: sum of hashes of its two columns", hashed, 1.3),
        row(case, ours, "DuckDB: xor of hashes of its two columns", xored),
        row("its coverage, when asked for", covered, "DuckDB: sum of hashes of its two columns", hashed),
    ]


def large_truth(bench: Bench, path: dict[str, str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Evaluate large against large, next to bare and to hand-written joins."""
    say("large against large")
    repeats, pair = bench.repeats(3), (path["ideal_large"], path["actual_large"])
    case = f"{options.both:,} against {options.both:,}"
    ours = bench.in_process(evaluate, *pair, repeats)
    bare = bench.in_process(run_sql, JOIN.format(*pair), repeats)
    manual = bench.in_process(run_sql, by_hand(*pair), repeats)
    polars = bench.in_process(run_polars, *pair, repeats)
    items = bench.in_process(write_items, *pair, "2GB", bench.repeats(3))
    return [
        row(case, ours, "DuckDB: bare join with a sum", bare, 2.0),
        row(case, ours, "DuckDB: join, cells, margins by hand", manual),
        row(case, ours, "Polars: join, cells, margins by hand", polars),
        row("its items with metrics, written under 2 GB", items, "the evaluation", ours),
    ]


def other_shapes(bench: Bench, path: dict[str, str], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Evaluate text and skewed clusterings."""
    say("text and skew")
    repeats, n = bench.repeats(3), options.both // 4
    texts = path["ideal_text"], path["actual_text"]
    text = bench.in_process(evaluate, *texts, repeats)
    bare = bench.in_process(run_sql, JOIN.format(*texts), repeats)

    def timed(ideal: str, actual: str) -> Measured:
        return bench.in_process(evaluate, path[ideal], path[actual], repeats)

    even, giant = timed("even", "even"), timed("even", "giant")
    cells, split = timed("even", "single"), timed("split", "single")
    return [
        row(f"{n:,} against {n:,}, ids as text", text, "DuckDB: bare join with a sum", bare),
        row(f"{n:,}, one actual cluster of a tenth of them", giant, "the same without it", even),
        row(f"{n:,}, one ideal cluster in {n // 5:,} cells", split, "as many cells without it", cells),
    ]


STEPS: dict[tuple[str, str], tuple[str, ...]] = {
    # What an engine's verb computes in a phase of the work; the last name stands for all later calls.
    ("reading", "count_rows"): ("reading, counting rows",),
    ("aligning", "checkpoint"): ("aligning: the pairs of clusters, from the join, held",),
    ("aligning", "collect"): ("tallying, checking",),
    ("cross-tabulating", "checkpoint"): ("margins: the cells with them, held",),
    ("cross-tabulating", "collect"): ("tallying, checking",),
    ("averaging", "collect"): ("overall metrics",),
}
BY_HAND = {
    "aligning: the pairs of clusters, from the join, held": """
        CREATE TEMP TABLE cells AS SELECT i.cluster AS h, a.cluster AS j, count(*) AS tp
        FROM '{}' i JOIN '{}' a USING (item) GROUP BY ALL
    """,
    "margins: the cells with them, held": """
        CREATE TEMP TABLE margins AS SELECT * FROM cells
        JOIN (SELECT h, sum(tp)::BIGINT AS hw FROM cells GROUP BY h) USING (h)
        JOIN (SELECT j, sum(tp)::BIGINT AS jw FROM cells GROUP BY j) USING (j)
    """,
    "overall metrics": "SELECT sum(tp * tp / hw), sum(tp * tp / jw) FROM margins",
}


class TimedEngine:
    """An engine that keeps the time of everything it computes, by step."""

    def __init__(self, engine: Any) -> None:
        self._engine = engine
        self._calls: dict[tuple[str, str], int] = {}
        self.seconds: dict[str, float] = {}
        self.checkpoint = partial(self._timed, "checkpoint")
        self.collect = partial(self._timed, "collect")
        self.count_rows = partial(self._timed, "count_rows")

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the engine."""
        return getattr(self._engine, name)

    def _timed(self, verb: str, frame: Any, **words: Any) -> Any:
        from pointwise.progress import current_phase

        key = current_phase(), verb
        names, number = STEPS.get(key, (key[0],)), self._calls.get(key, 0)
        self._calls[key] = number + 1
        step = names[min(number, len(names) - 1)]
        start = time.perf_counter()
        done = getattr(self._engine, verb)(frame, **words)
        self.seconds[step] = self.seconds.get(step, 0.0) + time.perf_counter() - start
        return done


def profile_ours(ideal: str, actual: str) -> dict[str, float]:
    """Time the steps of one evaluation."""
    import pointwise as pw
    from pointwise.engines import start_engine
    from pointwise.progress import phase

    engine: Any = TimedEngine(start_engine())
    start = time.perf_counter()
    evaluation = pw.evaluate(ideal=ideal, actual=actual, engine=engine)
    phase("averaging")
    _ = evaluation.overall
    whole = time.perf_counter() - start
    evaluation.close()
    return {**engine.seconds, "between the steps": whole - sum(engine.seconds.values()), "all": whole}


def profile_by_hand(ideal: str, actual: str) -> dict[str, float]:
    """Time the same steps in SQL, without counting and checking."""
    with closing(connect()) as connection:
        queries = {step: query.format(ideal, actual) for step, query in BY_HAND.items()}
        seconds = {step: median_of(lambda q=q: connection.execute(q).fetchall(), 1) for step, q in queries.items()}
    return {**seconds, "all": sum(seconds.values())}


def median_profile(profile: Callable[[str, str], dict[str, float]], pair: tuple[str, str], repeats: int) -> Any:
    """Take the median of every step over several runs."""
    found = [profile(*pair) for _ in range(repeats)]
    return {step: statistics.median(times[step] for times in found) for step in found[0]}


def profile(bench: Bench, path: dict[str, str]) -> list[dict[str, Any]]:
    """Show where the time of an evaluation goes, as multiples of a bare join."""
    say("where the time goes")
    repeats, pair = bench.repeats(3), (path["ideal_large"], path["actual_large"])
    ours, _ = bench.in_process(median_profile, profile_ours, pair, repeats)
    manual, _ = bench.in_process(median_profile, profile_by_hand, pair, repeats)
    bare = bench.in_process(run_sql, JOIN.format(*pair), repeats)[0]["seconds"]
    manual["all, in one query"] = bench.in_process(run_sql, by_hand(*pair), repeats)[0]["seconds"]
    manual["a bare join with a sum"] = bare

    def times(seconds: float | None) -> float | None:
        return None if seconds is None else seconds / bare

    return [
        {
            "step": step,
            "pointwise s": ours.get(step),
            "in bare joins": times(ours.get(step)),
            "SQL by hand s": manual.get(step),
            "its bare joins": times(manual.get(step)),
        }
        for step in dict.fromkeys([*ours, *manual])
    ]


def main() -> None:
    """Generate the files where they are missing, measure, and write the tables."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=count, default=100_000_000)
    parser.add_argument("--truth", type=count, default=1_000_000)
    parser.add_argument("--both", type=count, default=20_000_000)
    parser.add_argument("--folder", type=Path, help="where to keep the generated files")
    options = parser.parse_args()
    bench = Bench.told_by(options)
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        say("generating")
        sizes = {"items": options.items, "truth": options.truth, "both": options.both}
        bench.in_process(partial(generate, **sizes), str(folder))
        path = {p.stem: str(p) for p in folder.glob("*.parquet")}
        rows: list[dict[str, Any]] = []
        for part in (small_truth, large_truth, other_shapes):
            rows += part(bench, path, options)
            bench.save("large", "Large files", rows, quiet=True)
        bench.save("large", "Large files", rows)
        bench.save("profile", "Where the time goes", profile(bench, path))


if __name__ == "__main__":
    main()
