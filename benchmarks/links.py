"""Links: clustering them, and sweeping their thresholds, against the bare steps with SciPy and NumPy.

    python benchmarks/links.py [--items 1e6] [--links 3e6] [--thresholds 100] [--clustered 100e6]

Prints two tables and writes them to `benchmarks/results/sweep.*` and `benchmarks/results/links.*`.

*bare* is what a sweep cannot do without, in the same run: one spanning forest of all links, and for every threshold the
connected components of the links that reach it and the default metrics of these labels. The sweep itself reads the
tables, checks them, evaluates once by the engine, and adds intervals and coverage. Links are clustered in a process of
their own that holds them in memory; *more memory* is what its peak grows by meanwhile.
"""

from __future__ import annotations

import tempfile
import time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from _measure import Bench, arguments, count, memory_now, peak_memory, say

BAR = 1.5
CLUSTER = 8  # items
PIECE = 5_000_000  # links that are made at once


class Stopwatch:
    """Measures the time that passes, and the processor time of this process, which a busy machine changes less."""

    def __init__(self) -> None:
        self.start = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Return both in seconds."""
        return time.perf_counter() - self.start[0], time.process_time() - self.start[1]


def make_links(items: int, links: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    """Draw links, half within the ideal clusters, with scores that tell these from the others fairly well.

    No pair is there twice: SciPy would add up the lengths.
    """
    random = np.random.default_rng(seed)
    left = random.integers(0, items, 2 * links)
    near = np.minimum(left // CLUSTER * CLUSTER + random.integers(0, CLUSTER, 2 * links), items - 1)
    right = np.where(random.random(2 * links) < 1 / 2, near, random.integers(0, items, 2 * links))
    pairs = np.unique((np.minimum(left, right) * items + np.maximum(left, right))[left != right])
    pairs = random.permutation(pairs)[:links]
    left, right = pairs // items, pairs % items
    is_same = left // CLUSTER == right // CLUSTER
    score = np.where(is_same, random.beta(5, 2, len(pairs)), random.beta(2, 5, len(pairs)))
    return {"left": left, "right": right, "score": score}


def sweep_bare(links: dict[str, np.ndarray], truth: np.ndarray, thresholds: np.ndarray) -> list[dict[str, float]]:
    """Do what a sweep cannot do without."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components, minimum_spanning_tree

    from pointwise.labels import scores

    shape = (len(truth), len(truth))
    lengths = 2.0 - links["score"]
    forest = minimum_spanning_tree(coo_array((lengths, (links["left"], links["right"])), shape=shape).tocsr()).tocoo()
    found = []
    for threshold in thresholds:
        kept = forest.data <= 2.0 - threshold
        ends = forest.row[kept], forest.col[kept]
        graph = coo_array((np.ones(len(ends[0])), ends), shape=shape)
        found.append(scores(truth, connected_components(graph, directed=False)[1]))
    return found


def measure_sweep(items: int, number: int, thresholds: int) -> dict[str, Any]:
    """Time both ways in the same process."""
    import pointwise as pw

    links = make_links(items, number)
    truth = np.arange(items) // CLUSTER
    table = pa.table(links)
    ideal = pa.table({"item": np.arange(items), "cluster": truth})
    pw.sweep(ideal=ideal.slice(0, 8), links=pa.table(make_links(8, 20)), thresholds=2).close()  # loads what it takes
    watch = Stopwatch()
    with pw.sweep(ideal=ideal, links=table, items=np.arange(items), thresholds=thresholds) as sweep:
        rows = sweep.to_dicts()
        ours, our_work = watch.read()
        say(f"sweep: {ours:.1f} s, best F1 {sweep.best('f1')['f1']:.4f} at {sweep.best('f1').threshold:.4f}")
    watch = Stopwatch()
    bare = sweep_bare(links, truth, np.array([row["threshold"] for row in rows]))
    theirs, their_work = watch.read()
    return {
        "items": items,
        "links": len(table),
        "thresholds": len(rows),
        "sweep s": ours,
        "bare s": theirs,
        "times bare": ours / theirs,
        "sweep processor s": our_work,
        "bare processor s": their_work,
        "at most": BAR,
        "largest F1 difference": max(abs(a["f1"] - b["f1"]) for a, b in zip(rows, bare, strict=True)),
    }


def write_links(path: str, items: int, links: int) -> None:
    """Write links to a file, piece by piece, so that as many can be made as can be clustered."""
    piece = min(links, PIECE)
    schema = pa.schema({"left": pa.int64(), "right": pa.int64(), "score": pa.float64()})
    with pq.ParquetWriter(path, schema) as writer:
        for seed in range(links // piece):
            writer.write_table(pa.table(make_links(items, piece, seed=seed), schema=schema))


def cluster(path: str) -> dict[str, float]:
    """Cluster links that are held in memory; return what it takes beside these."""
    import pointwise as pw

    pw.cluster_links([(1, 2, 0.9)], threshold=0.5)  # loads what it takes
    table = pq.read_table(path)
    before, watch = memory_now(), Stopwatch()
    clustered = pw.cluster_links(table, threshold=0.5)
    seconds, work = watch.read()
    return {
        "links": len(table),
        "items": len(clustered),
        "seconds": seconds,
        "processor s": work,
        "links GB": table.nbytes / 1e9,
        "more memory GB": peak_memory() - before,
        "more bytes per link": (peak_memory() - before) * 1e9 / len(table),
    }


def main() -> None:
    """Measure the sweep, then clustering in a process of its own."""
    parser = arguments(__doc__)
    parser.add_argument("--items", type=count, default=1_000_000)
    parser.add_argument("--links", type=count, default=3_000_000)
    parser.add_argument("--thresholds", type=count, default=100)
    parser.add_argument("--clustered", type=count, default=100_000_000, help="number of links to cluster")
    options = parser.parse_args()
    bench = Bench.told_by(options)
    row = measure_sweep(options.items, options.links, options.thresholds)
    bench.save("sweep", "Sweeping thresholds", [row], packages=["scipy"])
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/links.parquet"
        bench.in_process(write_links, path, options.clustered // 3, options.clustered)
        found, memory = bench.in_process(cluster, path)
    bench.save("links", "Clustering links", [found | {"memory GB": memory}], packages=["scipy"])


if __name__ == "__main__":
    main()
