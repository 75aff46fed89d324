"""Spark: a whole evaluation next to hand-written Spark SQL of the same join, cells and margins, on two executors.

    python benchmarks/spark.py [--items 20e6] [--repeats 3] [--folder DIR] [--kill]

Times are medians of the repeats. With `--kill`, an executor process is killed in the middle of another evaluation,
whose result must be the same. Then three items are evaluated on a local session with Spark's own settings, step by
step, with the jobs that each step starts; `--items 0` measures only that. Writes `benchmarks/results/spark.*` and
`spark_jobs.*`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path
from typing import Any

from _measure import Bench, arguments, count, median_of

MASTER = "local-cluster[2,1,2048]"
CONF = {
    "spark.driver.host": "127.0.0.1",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "16",
}
ITEM = "xxhash64(id)"
HOME = "id div 10"
CASES = {
    # Ten items to a cluster; the actual clustering moves every tenth.
    "even": (HOME, f"if(xxhash64(id, 1) % 10 = 0, pmod(xxhash64(id, 2), {{n}} div 10), {HOME})"),
    # One actual cluster holds a tenth of all items, and one ideal cluster is split into a twentieth as many cells.
    "skewed": (
        f"if(id < {{n}} div 20, -1, {HOME})",
        f"if(id >= {{n}} - {{n}} div 10, -1, if(id < {{n}} div 20, id, {HOME}))",
    ),
}


def generate(session: Any, folder: Path, items: int) -> None:
    """Write the ideal and the actual clustering of each case."""
    for case, sides in CASES.items():
        for side, cluster in zip(("ideal", "actual"), sides, strict=True):
            path = folder / f"{case}_{side}_{items}.parquet"
            if not path.exists():
                rows = session.range(items).selectExpr(f"{ITEM} AS item", f"{cluster.format(n=items)} AS cluster")
                rows.write.parquet(str(path))


def by_hand(session: Any, ideal: str, actual: str) -> tuple[float, float]:
    """Compute precision and recall as one would without this package, and without its checks."""
    session.read.parquet(ideal).createOrReplaceTempView("ideal")
    session.read.parquet(actual).createOrReplaceTempView("actual")
    cells = session.sql(
        "SELECT i.cluster AS ideal, a.cluster AS actual, count(*) AS tp "
        "FROM ideal i JOIN actual a ON i.item = a.item GROUP BY i.cluster, a.cluster"
    ).persist()
    cells.createOrReplaceTempView("cells")
    row = session.sql(
        "SELECT sum(tp * (tp / aw)) / sum(tp), sum(tp * (tp / iw)) / sum(tp) FROM cells "
        "JOIN (SELECT ideal, sum(tp) AS iw FROM cells GROUP BY ideal) USING (ideal) "
        "JOIN (SELECT actual, sum(tp) AS aw FROM cells GROUP BY actual) USING (actual)"
    ).head()
    cells.unpersist(blocking=True)
    return row[0], row[1]


def ours(session: Any, ideal: str, actual: str) -> tuple[float, float]:
    """Evaluate, validation included."""
    import pointwise as pw

    frames = {"ideal": session.read.parquet(ideal), "actual": session.read.parquet(actual)}
    with pw.evaluate(**frames) as evaluation:
        return evaluation.overall["precision"], evaluation.overall["recall"]


def shuffled(session: Any) -> dict[str, int]:
    """Add up what all stages so far have written to and read from shuffles."""
    context = session.sparkContext
    url = f"{context.uiWebUrl}/api/v1/applications/{context.applicationId}/stages"
    with urllib.request.urlopen(url) as answer:
        stages = json.load(answer)
    return {key: sum(stage[key] for stage in stages) for key in ("shuffleWriteBytes", "shuffleReadBytes")}


def executors() -> list[int]:
    """List the executor processes of this driver."""
    found = subprocess.run(["pgrep", "-f", "CoarseGrainedExecutorBackend"], capture_output=True, text=True, check=False)
    return [int(pid) for pid in found.stdout.split() if _is_descendant(int(pid))]


def _is_descendant(pid: int) -> bool:
    while pid > 1:
        if pid == os.getpid():
            return True
        try:
            pid = int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
        except FileNotFoundError:
            return False
    return False


def _agree(values: tuple[float, float], others: tuple[float, float]) -> bool:
    """Compare sums of millions of rows, which Spark adds up in no fixed order; rounding then shows from 1e-11 on."""
    return all(abs(a - b) <= 1e-10 for a, b in zip(values, others, strict=True))


def measure(session: Any, folder: Path, case: str, items: int, repeats: int) -> dict[str, Any]:
    """Time an evaluation and the SQL, and check that they agree."""
    paths = [str(folder / f"{case}_{side}_{items}.parquet") for side in ("ideal", "actual")]
    values: dict[str, Any] = {}

    def run(name: str, work: Any) -> None:
        values[name] = work(session, *paths)

    seconds = {"sql": median_of(lambda: run("sql", by_hand), repeats)}
    before = shuffled(session)
    seconds["ours"] = median_of(lambda: run("ours", ours), repeats)
    after = shuffled(session)
    assert _agree(values["ours"], values["sql"]), values
    per_item = {key: (after[key] - before[key]) / repeats / (2 * items) for key in before}
    return {
        "case": f"{items:,} against {items:,}, {case}",
        "pointwise s": seconds["ours"],
        "Spark SQL s": seconds["sql"],
        "ratio": seconds["ours"] / seconds["sql"],
        "at most": 1.3,
        "shuffle bytes written per row": per_item["shuffleWriteBytes"],
        "shuffle bytes read per row": per_item["shuffleReadBytes"],
        "precision": values["ours"][0],
        "recall": values["ours"][1],
    }


def kill_in_the_middle(session: Any, folder: Path, items: int, row: dict[str, Any]) -> dict[str, Any]:
    """Evaluate again, kill an executor halfway, and check that the result is the same."""
    paths = [str(folder / f"even_{side}_{items}.parquet") for side in ("ideal", "actual")]
    victims = executors()
    killer = threading.Timer(row["pointwise s"] / 2, lambda: os.kill(victims[0], signal.SIGKILL))
    killer.start()
    start = time.perf_counter()
    values = ours(session, *paths)
    seconds = time.perf_counter() - start
    killer.join()
    assert _agree(values, (row["precision"], row["recall"])), (values, row)
    assert victims[0] not in executors()
    return {
        "case": f"the even case with an executor killed after {row['pointwise s'] / 2:.0f} s: same result",
        "pointwise s": seconds,
        "precision": values[0],
        "recall": values[1],
    }


LOCAL = {"spark.driver.host": "127.0.0.1", "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false"}
SCHEMAS = {"ideal": "item string, cluster string", "weights": "item string, weight double"}
ROWS = {
    "ideal": [("i1", "a"), ("i2", "a"), ("i3", "b")],
    "actual": [("i1", "x"), ("i2", "y"), ("i3", "x")],
    "weights": [("i1", 1.0), ("i2", 2.0), ("i3", 3.0)],
}


def step_by_step(session: Any) -> dict[str, tuple[int, float]]:
    """Evaluate three items; return the number of jobs and the seconds of every step."""
    import pointwise as pw

    schemas = SCHEMAS | {"actual": SCHEMAS["ideal"]}
    frames = {name: session.createDataFrame(rows, schemas[name]) for name, rows in ROWS.items()}
    tracker, found = session.sparkContext.statusTracker(), {}
    held: dict[str, Any] = {}
    steps = {
        "pw.evaluate": lambda: held.update(e=pw.evaluate(**frames)),
        "overall": lambda: held["e"].overall,
        "intervals": lambda: held["e"].overall.intervals,
        "coverage": lambda: held["e"].coverage,
        "by_slice": lambda: held["e"].by_slice("ideal_cluster_size").to_arrow(),
        "by_item": lambda: held["e"].by_item().to_arrow(),
        "mistakes": lambda: held["e"].mistakes(20),
    }
    for name, work in steps.items():
        jobs, start = len(tracker.getJobIdsForGroup(None)), time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        found[name] = len(tracker.getJobIdsForGroup(None)) - jobs, seconds
    held["e"].close()
    return found


def small(repeats: int) -> list[dict[str, Any]]:
    """Evaluate three items on a local session that is warm."""
    from pointwise.engines import start_spark

    session = start_spark(master="local[2]", conf=LOCAL).session
    session.sparkContext.setLogLevel("OFF")
    runs = [step_by_step(session) for _ in range(2 + repeats)][2:]
    session.stop()
    rows = [
        {"step": step, "jobs": runs[-1][step][0], "s": statistics.median(run[step][1] for run in runs)}
        for step in runs[0]
    ]
    both = sum(row["jobs"] for row in rows[:2]), sum(row["s"] for row in rows[:2])
    return [*rows, {"step": "pw.evaluate and overall", "jobs": both[0], "s": both[1], "at most s": 1.5}]


def main() -> None:
    """Start a cluster, generate the data where it is missing, measure, and write the table."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=count, default=20_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where to keep the generated files")
    parser.add_argument("--kill", action="store_true", help="kill an executor in the middle of an evaluation")
    options = parser.parse_args()
    bench = Bench.told_by(options)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    if options.items:
        on_cluster(bench, options)
    bench.save("spark_jobs", "Three items on Spark", small(bench.repeats(5)), packages=["pyspark"])


def on_cluster(bench: Bench, options: argparse.Namespace) -> None:
    """Measure both cases on a cluster of two executors."""
    from pointwise.engines import start_spark

    items = options.items
    session = start_spark(master=MASTER, conf=CONF).session
    session.sparkContext.setLogLevel("OFF")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        generate(session, folder, items)
        measure(session, folder, "even", items, 1)  # the first run pays for starting and compiling
        rows = [measure(session, folder, case, items, bench.repeats(options.repeats)) for case in CASES]
        rows[1]["time / even"] = rows[1]["pointwise s"] / rows[0]["pointwise s"]
        if options.kill:
            rows.append(kill_in_the_middle(session, folder, items, rows[0]))
    session.stop()
    bench.save("spark", "Spark, two executors of one core and 2 GB", rows, packages=["pyspark"])


if __name__ == "__main__":
    main()
