"""Two label arrays: all default metrics, against scikit-learn's adjusted Rand index alone.

    python benchmarks/labels.py [--largest 10000000]

Prints a table and writes it to `benchmarks/results/labels.*`. Times are medians of several runs, all calls in turn on
the same arrays; a call that takes long is run once. *memory* is the peak that one call allocates, as a multiple of the
two label arrays.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from _measure import Bench, arguments, count, markdown, medians_of, say

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
KINDS = ("int", "sparse int", "string")
BAR = 5
SECONDS = 0.5  # that more than the least number of repeats may take
PATIENCE = 20.0  # seconds; what takes longer is not repeated


def make_labels(kind: str, items: int, clusters: int, *, seed: int) -> np.ndarray:
    """Draw a cluster for every item, and name the clusters in one of several ways."""
    random = np.random.default_rng(seed)
    drawn = random.integers(0, clusters, items)
    if kind == "string":
        return np.array([f"cluster-{number}" for number in range(clusters)])[drawn]
    if kind == "sparse int":
        return random.integers(-(2**62), 2**62, clusters)[drawn]
    return drawn


def medians_in_turn(bench: Bench, *calls: Callable[[], object]) -> list[float]:
    """Time several calls in turn, once if that takes long, and keep the median of each, in milliseconds."""
    start = time.perf_counter()
    medians = medians_of(*calls, repeats=1)
    if not bench.is_smoke and time.perf_counter() - start < PATIENCE:
        medians = medians_of(*calls, repeats=3, most=100, seconds=SECONDS)
    return [seconds * 1e3 for seconds in medians]


def allocated(call: Callable[[], object]) -> int:
    """Measure the most bytes that a call holds at one time."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def measure(bench: Bench, kind: str, items: int, clusters: int) -> dict[str, Any]:
    """Measure one row of the table."""
    from sklearn.metrics import adjusted_rand_score

    from pointwise.labels import scores

    true, pred = (make_labels(kind, items, clusters, seed=seed) for seed in (1, 2))
    weight = np.random.default_rng(3).random(items) + 0.1
    scores(true[:10], pred[:10])  # so that nothing is loaded inside a measurement
    ours, weighted, theirs = medians_in_turn(
        bench,
        lambda: scores(true, pred),
        lambda: scores(true, pred, sample_weight=weight),
        lambda: adjusted_rand_score(true, pred),
    )
    return {
        "items": items,
        "clusters": clusters,
        "labels": kind,
        "pointwise ms": ours,
        "weighted ms": weighted,
        "scikit-learn ms": theirs,
        "times faster": theirs / ours,
        "at least": BAR,
        "memory": allocated(lambda: scores(true, pred)) / (true.nbytes + pred.nbytes),
    }


def rows(bench: Bench, largest: int) -> Iterator[dict[str, Any]]:
    """Measure all rows, small ones first."""
    for items in (size for size in SIZES if size <= largest):
        for clusters in dict.fromkeys((items // 10, 100)):
            for kind in KINDS:
                yield measure(bench, kind, items, clusters)


def main() -> None:
    """Measure, and write after every row, so that a run that is stopped leaves what it found."""
    parser = arguments(__doc__)
    parser.add_argument("--largest", type=count, default=SIZES[-1], help="leave out larger sizes")
    options = parser.parse_args()
    bench = Bench.told_by(options)
    measured: list[dict[str, Any]] = []
    for row in rows(bench, options.largest):
        measured.append(row)
        say(markdown([row]).splitlines()[-1])
        bench.save("labels", "Label arrays", measured, packages=["scikit-learn"], quiet=True)
    bench.save("labels", "Label arrays", measured, packages=["scikit-learn"])


if __name__ == "__main__":
    main()
