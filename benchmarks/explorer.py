"""The explorer: how long its pages take, with and without sorted copies, and how much memory it uses.

    python benchmarks/explorer.py [--items 100e6] [--looks 20] [--seconds 10] [--folder DIR]

Starts `pointwise explore` over a run and asks for every kind of page as JSON, each for several items or clusters, as
often as there is time for. Answers are computed anew, unless the kind of page says that they were seen before. Prints
p50 and p95 with the number of looks, and writes them to `benchmarks/results/explorer.*`.
"""

from __future__ import annotations

import http.client
import json
import math
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from _measure import Bench, arguments, connect, count, say

START = "from pointwise.cli import main; main()"
RUN = "/run/run"
SEEN = ", seen before"
ANEW = {"cache-control": "no-cache"}

# Milliseconds for 95 of 100 prepared looks: a page, a look-up, a list. What takes longer shows progress.
TARGETS = {
    "overview": 100,
    "item": 100,
    "cluster": 100,
    "search": 150,
    "clusters, first page": 1_000,
    "clusters, far down": 1_000,
    "clusters, filtered": 1_000,
}

Look = Callable[..., dict[str, Any]]


def columns(items: int) -> tuple[str, str]:
    """Write as SQL what the n-th item is called, and which actual cluster it is in: every tenth one was moved."""
    moved = f"CASE WHEN hash(n) % 10 = 0 THEN hash(n + 7) % {max(1, items // 10)} ELSE n // 10 END"
    return "'item-' || hash(n)", f"({moved})::BIGINT"


def generate(folder: Path, items: int, *, has_names: bool) -> None:
    """Write a truth and a clustering of ten items to a cluster, and a name for each item if it is to be shown."""
    item, cluster = columns(items)
    with closing(connect(folder / "spill")) as connection:
        tables = {
            "truth": f"SELECT {item} AS item, n // 10 AS cluster",
            "clusters": f"SELECT {item} AS item, {cluster} AS cluster",
        }
        if has_names:
            tables["known"] = f"SELECT {item} AS item, 'name ' || (n // 10) AS name, n % 50 AS country"
        for name, query in tables.items():
            path = folder / f"{name}.parquet"
            connection.execute(f"COPY ({query} FROM range({items}) t(n)) TO '{path}' (FORMAT parquet)")


def draw(looks: int, items: int) -> list[tuple[str, int]]:
    """Draw some items, each with its actual cluster, without reading any table."""
    dice = random.Random(0)
    item, cluster = columns(items)
    with closing(connect()) as connection:
        numbers = [dice.randrange(items) for _ in range(looks)]
        rows = connection.execute(f"SELECT {item}, {cluster} FROM (SELECT unnest(?::BIGINT[]) AS n)", [numbers])
        return [(str(row[0]), int(row[1])) for row in rows.fetchall()]


def store(folder: Path) -> None:
    """Evaluate and store the run to look at."""
    import pointwise as pw

    ideal, actual = folder / "truth.parquet", folder / "clusters.parquet"
    evaluation = pw.evaluate(ideal=ideal, actual=actual, intervals=False)
    (folder / "runs").mkdir()
    evaluation.save(folder / "runs" / "run")


@contextmanager
def explorer(folder: Path, *options: str) -> Iterator[tuple[Look, int]]:
    """Start the explorer; give a function that asks for a page, and the number of the process."""
    words = [sys.executable, "-c", START, "explore", str(folder / "runs"), "--no-open", *options]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    try:
        found = None
        while found is None:
            line = process.stderr.readline()  # type: ignore[union-attr]
            found = re.search(r"http://([^/]*)(/\?token=\S+)", line)
            if not line:
                raise SystemExit("The explorer did not start.")
        cookie = ask(found[1], found[2]).getheader("set-cookie").partition(";")[0]
        yield lambda path, **headers: json.loads(ask(found[1], path, cookie=cookie, **headers).read()), process.pid
    finally:
        process.terminate()
        process.wait()


def ask(host: str, path: str, **headers: str) -> http.client.HTTPResponse:
    """Ask for a page and wait for as long as it takes."""
    connection = http.client.HTTPConnection(host, timeout=3_600)
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    if answer.status >= 400:
        raise SystemExit(f"{path}: {answer.status} {answer.read()[:200]!r}")
    return answer


def pages(look: Look, looks: int, items: int) -> dict[str, list[str]]:
    """List the addresses to ask for, by kind of page."""
    found = draw(looks, items)
    deep = look(f"{RUN}/clusters/ideal.json?" + urlencode({"sort": "recall"}))["rows"][-1]
    conditions = [f"items >= {n % 5} and recall < {1 - n / 1000:g}" for n in range(looks)]
    places = [json.dumps([deep["recall"] + n / 1000, deep["ideal_cluster"]]) for n in range(looks)]
    return {
        "overview": ["/.json"] * looks,
        "run": [f"{RUN}.json"] * 3,
        f"run{SEEN}": [f"{RUN}.json"] * looks,
        "mistakes": [f"{RUN}/mistakes.json"] * 3,
        f"mistakes{SEEN}": [f"{RUN}/mistakes.json"] * looks,
        "slices": [f"{RUN}/slices.json?by=ideal_cluster_size"] * 3,
        "item": [f"{RUN}/item/{item}.json" for item, _ in found],
        "cluster": [f"{RUN}/cluster/actual/{cluster}.json" for _, cluster in found],
        "clusters, first page": [f"{RUN}/clusters/ideal.json"] * looks,
        "clusters, far down": [
            f"{RUN}/clusters/ideal.json?" + urlencode({"sort": "recall", "after": place}) for place in places
        ],
        "clusters, filtered": [f"{RUN}/clusters/ideal.json?" + urlencode({"where": c}) for c in conditions],
        "search": ["/search.json?" + urlencode({"q": item, "run": "run"}) for item, _ in found],
    }


def measure(
    folder: Path, looks: int, seconds: float, items: int, *options: str
) -> tuple[dict[str, list[float]], float]:
    """Time all pages; return the seconds by kind of page, and the peak of the server's memory in GB.

    A kind of page is looked at until there were so many looks, or until its time is up.
    """
    with explorer(folder, *options) as (look, process):
        times: dict[str, list[float]] = {}
        for kind, addresses in pages(look, looks, items).items():
            end = time.perf_counter() + seconds
            for address in addresses:
                start = time.perf_counter()
                look(address, **({} if kind.endswith(SEEN) else ANEW))
                times.setdefault(kind, []).append(time.perf_counter() - start)
                if time.perf_counter() > end:
                    break
            say(f"{kind}: {statistics.median(times[kind]):.3f} s in {len(times[kind])} looks")
        status = Path(f"/proc/{process}/status")
        peak = int(status.read_text().split("VmHWM:")[1].split()[0]) * 1024 / 1e9 if status.exists() else float("nan")
    return times, peak


def percentile(values: list[float], share: float) -> float:
    """Return the value that so large a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(share * len(ordered)) - 1]


def main() -> None:
    """Measure without and with sorted copies, and save the table."""
    parser = arguments(__doc__ or "")
    parser.add_argument("--items", type=count, default=100_000_000, help="how many items the run has")
    parser.add_argument("--looks", type=int, default=20, help="how often to ask for a page of a kind")
    parser.add_argument("--seconds", type=float, default=10, help="how long to look at pages of a kind at most")
    parser.add_argument("--attributes", action="store_true", help="show records from a table of all items too")
    parser.add_argument("--folder", type=Path, help="where to put the data; by default a temporary folder")
    options = parser.parse_args()
    bench = Bench.told_by(options)
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        generate(folder, options.items, has_names=options.attributes)
        store(folder)
        known = ("--attributes", str(folder / "known.parquet")) if options.attributes else ()
        plain, memory = measure(folder, options.looks, options.seconds, options.items, *known)
        start = time.perf_counter()
        prepared, more = measure(folder, options.looks, options.seconds, options.items, "--prepare", *known)
        say(f"With preparing: {time.perf_counter() - start:.1f} s in all.")
        shutil.rmtree(folder / "runs")
    rows = [
        {
            "page": kind,
            "looks": len(plain[kind]),
            "p50 ms": 1000 * statistics.median(plain[kind]),
            "p95 ms": 1000 * percentile(plain[kind], 0.95),
            "prepared looks": len(prepared[kind]),
            "prepared p50 ms": 1000 * statistics.median(prepared[kind]),
            "prepared p95 ms": 1000 * percentile(prepared[kind], 0.95),
            "at most": TARGETS.get(kind),
        }
        for kind in plain
    ]
    rows.append({"page": "peak memory, GB", "p50 ms": memory, "prepared p50 ms": more})
    bench.save("explorer", f"The explorer over {options.items:,} items", rows, packages=("starlette", "uvicorn"))


if __name__ == "__main__":
    main()
