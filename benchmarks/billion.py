"""A billion items, through the command line; then large against large with less memory than the data takes.

    python benchmarks/billion.py [--items 1e9] [--truth 1e6] [--limited 100e6] [--both 300e6] [--join] [--folder DIR]

Every case stands next to DuckDB itself, and its numbers next to those of hand-written SQL. A size of 0 leaves a case
out. Needs about 25 GB of disk, and says at once if there is less. Writes `benchmarks/results/billion.*`, and
`passes.*`, what each pass over the large file takes in SQL.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _measure import Bench, arguments, connect, count, median_of, run_command, say
from large import HASH, JOIN, by_hand, run_sql, write
from large import evaluate as evaluate_in_python

BYTES_PER_ITEM = 12  # of a generated file
POINTWISE = Path(sys.executable).with_name("pointwise")


@dataclass(frozen=True)
class Run:
    """What a run took in a process of its own, as that of a command is, and the overall metrics if it had some."""

    seconds: float
    memory: float
    overall: Mapping[str, float] = field(default_factory=dict)


def in_the_middle(runs: Sequence[Run]) -> Run:
    """Return the median time of several runs, and the most memory that one of them took."""
    seconds = statistics.median(run.seconds for run in runs)
    return Run(seconds, max(run.memory for run in runs), runs[0].overall)


def evaluate(ideal: Path, actual: Path, *words: str, spill: Path, repeats: int) -> Run:
    """Run `pointwise evaluate` as a user would."""
    runs = []
    for _ in range(repeats):
        with spilling(spill):
            environment = {"TMPDIR": str(spill)}
            command = [POINTWISE, "evaluate", ideal, actual, "--format", "json", *words]
            output, seconds, memory = run_command(command, environment)
        say(f"pointwise evaluate {' '.join(words)}: {seconds:.1f} s, {memory:.2f} GB")
        runs.append(Run(seconds, memory, json.loads(output)["overall"]))
    return in_the_middle(runs)


@contextmanager
def spilling(folder: Path) -> Iterator[None]:
    """Make a folder for what does not fit in memory, and remove it, whatever a program left there."""
    folder.mkdir(exist_ok=True)
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def expect(ideal: str, actual: str, spill: str) -> dict[str, float]:
    """Compute precision and recall by hand, in SQL, under a memory limit of its own."""
    with closing(connect(spill, memory_limit="12GB")) as connection:
        connection.execute(f"""
            CREATE TEMP TABLE cells AS SELECT i.cluster AS h, a.cluster AS j, count(*) AS tp
            FROM '{ideal}' i JOIN '{actual}' a USING (item) GROUP BY ALL
        """)
        values = {}
        for name, side in {"recall": "h", "precision": "j"}.items():
            margins = f"SELECT sum(tp * tp)::DOUBLE AS s, sum(tp) AS w FROM cells GROUP BY {side}"
            values[name] = connection.execute(f"SELECT sum(s / w) / sum(w) FROM ({margins})").fetchone()[0]
        return values


FIRST_PASS = """
    CREATE OR REPLACE TEMP TABLE pairs AS SELECT t.cluster AS h, a.cluster AS j, count(*) AS tp
    FROM '{ideal}' t LEFT JOIN '{actual}' a USING (item) GROUP BY ALL
"""
SECOND_PASS = """
    CREATE OR REPLACE TEMP TABLE members AS SELECT a.cluster, count(*) AS items
    FROM '{actual}' a JOIN (SELECT DISTINCT j FROM pairs) ON a.cluster = j GROUP BY ALL
"""
PASSES = {
    "a hash of both columns": HASH.format("sum", "{actual}"),
    "reading the items": "SELECT sum(item) FROM '{actual}'",
    "reading the clusters": "SELECT sum(cluster) FROM '{actual}'",
    "the first pass: pairs of clusters that share an item": FIRST_PASS,
    "the second pass, for coverage: members of touched clusters": SECOND_PASS,
}


def time_passes(ideal: str, actual: str, repeats: int) -> dict[str, float]:
    """Time in SQL what the command reads the large file for, and what reading takes by itself."""
    with closing(connect()) as connection:
        queries = {name: query.format(ideal=ideal, actual=actual) for name, query in PASSES.items()}
        return {name: median_of(lambda q=q: connection.execute(q).fetchall(), repeats) for name, q in queries.items()}


def generate(path: str, items: int, universe: int, moved: bool, spill: str) -> None:  # noqa: FBT001
    """Write a clustering, in a process of its own so that the one that starts the commands stays small."""
    with closing(connect(spill)) as connection:
        write(connection, Path(path), items, universe, moved=moved)


class Disk:
    """A folder of generated files, which are removed after use unless they are kept."""

    def __init__(self, bench: Bench, folder: Path, *, is_kept: bool) -> None:
        self.bench, self.folder, self.is_kept = bench, folder, is_kept
        self.spill = folder / "spill"

    def clustering(self, name: str, items: int, universe: int, *, moved: bool) -> Path:
        """Write a clustering if it is not there yet."""
        path = self.folder / f"{name}_{items}_of_{universe}.parquet"
        start = time.perf_counter()
        with spilling(self.spill):
            self.bench.in_process(generate, str(path), items, universe, moved, str(self.spill))
        os.sync()  # so that the system does not write it to disk while something is measured
        size = path.stat().st_size / 1e9
        say(f"{name}: {items:,} items in {time.perf_counter() - start:.0f} s, {size:.1f} GB")
        return path

    def time_sql(self, query: str, repeats: int, memory_limit: str | None = None) -> Run:
        """Time a query."""
        runs = []
        for _ in range(repeats):
            with spilling(self.spill):
                found, memory = self.bench.in_process(run_sql, query, 1, memory_limit, str(self.spill))
            say(f"DuckDB: {found['seconds']:.1f} s, {memory:.2f} GB")
            runs.append(Run(found["seconds"], memory))
        return in_the_middle(runs)

    def expect(self, ideal: Path, actual: Path) -> dict[str, float]:
        """Compute the right values by hand."""
        say("the same by hand, to compare")
        with spilling(self.spill):
            return self.bench.in_process(expect, str(ideal), str(actual), str(self.spill))[0]

    def drop(self, *paths: Path) -> None:
        """Make room."""
        for path in paths if not self.is_kept else ():
            path.unlink()


def small_truth(disk: Disk, items: int, truth: int) -> list[dict[str, Any]]:
    """Evaluate all items against a small truth, next to a hash of the file's two columns.

    The command shows coverage, which takes a second look at the file; from Python that is left out unless asked for.
    """
    actual = disk.clustering("actual", items, items, moved=True)
    ideal = disk.clustering("truth", truth, items, moved=False)
    repeats = disk.bench.repeats(3)
    hashed = disk.time_sql(HASH.format("sum", actual), repeats)
    ours = evaluate(ideal, actual, spill=disk.spill, repeats=repeats)
    plain = in_python(disk, ideal, actual, repeats)
    save_passes(disk, ideal, actual)
    right = disk.expect(ideal, actual)
    disk.drop(ideal, actual)
    against = {"peer": "DuckDB: sum of hashes of its two columns", "theirs": hashed, "bar": 1.3}
    case = f"{truth:,} truth items against {items:,}"
    return [
        row(f"{case}, command, with coverage", ours, right, **against),
        row(f"{case}, from Python, without", plain, right, **against),
    ]


def save_passes(disk: Disk, ideal: Path, actual: Path) -> None:
    """Show what each pass over the large file takes by itself, in SQL."""
    say("the passes by hand")
    times, _ = disk.bench.in_process(time_passes, str(ideal), str(actual), disk.bench.repeats(3))
    hashed = next(iter(times.values()))
    rows = [{"in SQL": name, "s": seconds, "in hashes": seconds / hashed} for name, seconds in times.items()]
    disk.bench.save("passes", "Passes over the large file", rows, quiet=True)


def in_python(disk: Disk, ideal: Path, actual: Path, repeats: int, limit: str | None = None) -> Run:
    """Evaluate from Python, without coverage and intervals."""
    runs = []
    for _ in range(repeats):
        with spilling(disk.spill), temporary_folder(disk.spill):
            overall, memory = disk.bench.in_process(evaluate_in_python, str(ideal), str(actual), 1, limit)
        seconds = overall.pop("seconds")
        say(f"pw.evaluate: {seconds:.1f} s, {memory:.2f} GB")
        runs.append(Run(seconds, memory, overall))
    return in_the_middle(runs)


@contextmanager
def temporary_folder(folder: Path) -> Iterator[None]:
    """Have processes that start inside put their temporary files into a folder."""
    before = os.environ.get("TMPDIR")
    os.environ["TMPDIR"] = str(folder)
    try:
        yield
    finally:
        os.environ.pop("TMPDIR")
        os.environ |= {} if before is None else {"TMPDIR": before}


def large_truth(
    disk: Disk,
    items: int,
    limit: str,
    *,
    joins: bool,
    repeats: int = 1,
    bars: tuple[float | None, float | None] = (None, None),
) -> list[dict[str, Any]]:
    """Evaluate large against large under a memory limit, next to DuckDB's bare join under the same.

    Args:
        disk: Where the files are.
        items: On each side.
        limit: How much memory the engine may use.
        joins: Whether to time the bare join, and the same steps in SQL.
        repeats: How often to run everything.
        bars: How many bare joins the command, with coverage and intervals, and a call from Python may take.
    """
    ideal = disk.clustering("ideal", items, items, moved=False)
    actual = disk.clustering("actual", items, items, moved=True)
    joined = disk.time_sql(JOIN.format(ideal, actual), repeats, limit) if joins else None
    manual = disk.time_sql(by_hand(str(ideal), str(actual)), repeats, limit) if joins else None
    ours = evaluate(ideal, actual, "--memory-limit", limit, spill=disk.spill, repeats=repeats)
    plain = in_python(disk, ideal, actual, repeats, limit)
    right = disk.expect(ideal, actual)
    disk.drop(ideal, actual)
    peer = "DuckDB: bare join with a sum, same limit" if joins else ""
    case = f"{items:,} against {items:,} under {limit}"
    alone = f"{case}, from Python, without"
    by_steps = "DuckDB: join, cells, margins by hand, same limit"
    return [
        row(f"{case}, command, with coverage", ours, right, peer=peer, theirs=joined, bar=bars[0]),
        row(alone, plain, right, peer=peer, theirs=joined, bar=bars[1]),
        *([row(alone, plain, right, peer=by_steps, theirs=manual)] if joins else []),
    ]


def row(
    case: str,
    ours: Run,
    right: dict[str, float],
    *,
    peer: str,
    theirs: Run | None,
    bar: float | None = None,
) -> dict[str, Any]:
    """Put a run next to its limit, and its numbers next to the right ones."""
    return {
        "case": case,
        "pointwise s": ours.seconds,
        "GB": ours.memory,
        "next to": peer,
        "its s": theirs.seconds if theirs else None,
        "its GB": theirs.memory if theirs else None,
        "ratio": ours.seconds / theirs.seconds if theirs else None,
        "at most": bar,
        "precision": ours.overall["precision"],
        "recall": ours.overall["recall"],
        "difference from SQL": max(abs(ours.overall[name] - value) for name, value in right.items()),
    }


def check_disk(folder: Path, options: argparse.Namespace) -> None:
    """Stop at once if the files, and what joins spill, will not fit."""
    both = max(options.limited, options.both)  # a join spills about as much as it reads
    if options.folder:
        items = options.items + options.truth + 2 * options.limited + 2 * options.both + 2 * both
    else:
        items = max(options.items + options.truth, 4 * both)
    there = sum(path.stat().st_size for path in folder.glob("*.parquet"))
    needed, free = items * BYTES_PER_ITEM * 1.5, shutil.disk_usage(folder).free + there
    if needed > free:
        sys.exit(
            f"{folder} has {free / 1e9:.0f} GB free, but about {needed / 1e9:.0f} GB are needed. "
            "Say --folder for another place, or take smaller sizes."
        )


def main() -> None:
    """Run all cases, one after the other, and write what was found after each."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=count, default=1_000_000_000, help="to evaluate against a small truth")
    parser.add_argument("--truth", type=count, default=1_000_000, help="items of the small truth")
    parser.add_argument("--limited", type=count, default=100_000_000, help="items on both sides, under 4 GB")
    parser.add_argument("--both", type=count, default=300_000_000, help="items on both sides, under 6 GB")
    parser.add_argument("--join", action="store_true", help="time the bare join of the last case, too")
    parser.add_argument("--folder", type=Path, help="where to keep the generated files")
    options = parser.parse_args()
    bench, rows = Bench.told_by(options), []
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        check_disk(folder, options)
        disk = Disk(bench, folder, is_kept=options.folder is not None)
        limited: dict[str, Any] = {"joins": True, "repeats": bench.repeats(3), "bars": (2.6, 2.1)}
        cases = [
            (options.items, lambda: small_truth(disk, options.items, options.truth)),
            (options.limited, lambda: large_truth(disk, options.limited, "4GB", **limited)),
            (options.both, lambda: large_truth(disk, options.both, "6GB", joins=options.join)),
        ]
        for size, case in cases:
            if size:
                rows += case()
                bench.save("billion", "A billion items", rows, quiet=True)
    bench.save("billion", "A billion items", rows)


if __name__ == "__main__":
    main()
