"""Two label arrays: all default metrics, against scikit-learn's adjusted Rand index alone.

    python benchmarks/labels.py [--largest 10000000]

Prints a table and writes it to `benchmarks/results/labels.json` and `labels.md`. Times are the least of several
runs, both sides in turn on the same arrays. Memory is the peak that one call allocates, as a multiple of the two
label arrays.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import sklearn
from sklearn.metrics import adjusted_rand_score

from pointwise.labels import scores

SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
KINDS = ("int", "sparse int", "string")
BAR = 5
SECONDS = 0.5  # that repeats of one measurement may take, beyond the first
RESULTS = Path(__file__).parent / "results"
COLUMNS = ("items", "clusters", "labels", "pointwise ms", "weighted ms", "scikit-learn ms", "ratio", "memory", "")
HEADER = ("| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS))


def make_labels(kind: str, items: int, clusters: int, *, seed: int) -> np.ndarray:
    """Draw a cluster for every item, and name the clusters in one of several ways."""
    random = np.random.default_rng(seed)
    drawn = random.integers(0, clusters, items)
    if kind == "string":
        return np.array([f"cluster-{number}" for number in range(clusters)])[drawn]
    if kind == "sparse int":
        return random.integers(-(2**62), 2**62, clusters)[drawn]
    return drawn


def least_times(*calls: Callable[[], object]) -> list[float]:
    """Time several calls in turn, and keep the least time of each, in milliseconds."""
    least = [float("inf")] * len(calls)
    end = time.perf_counter() + SECONDS
    for _ in range(100):
        for position, call in enumerate(calls):
            start = time.perf_counter()
            call()
            least[position] = min(least[position], (time.perf_counter() - start) * 1e3)
        if time.perf_counter() > end:
            break
    return least


def peak_memory(call: Callable[[], object]) -> int:
    """Measure the most bytes that a call holds at one time."""
    tracemalloc.start()
    call()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def measure(kind: str, items: int, clusters: int) -> dict[str, object]:
    """Measure one row of the table."""
    true, pred = (make_labels(kind, items, clusters, seed=seed) for seed in (1, 2))
    weight = np.random.default_rng(3).random(items) + 0.1
    scores(true[:10], pred[:10])  # so that nothing is loaded inside a measurement
    ours = min(least_times(lambda: scores(true, pred)))
    weighted = min(least_times(lambda: scores(true, pred, sample_weight=weight)))
    again, theirs = least_times(lambda: scores(true, pred), lambda: adjusted_rand_score(true, pred))
    ours = min(ours, again)
    memory = peak_memory(lambda: scores(true, pred)) / (true.nbytes + pred.nbytes)
    values = (items, clusters, kind, ours, weighted, theirs, theirs / ours, memory)
    return dict(zip(COLUMNS, values, strict=False))


def rows(largest: int) -> Iterator[dict[str, object]]:
    """Measure all rows, small ones first."""
    for items in SIZES:
        for clusters in (items // 10, 100):
            for kind in KINDS if items <= largest else ():
                yield measure(kind, items, clusters)


def as_line(row: dict[str, object]) -> str:
    """Write one row of a Markdown table."""
    items, clusters, kind, *numbers = row.values()
    verdict = "" if row["ratio"] >= BAR else f"below {BAR}"
    shown = [f"{items:,}", f"{clusters:,}", kind, *(f"{number:,.2f}" for number in numbers), verdict]
    return "| " + " | ".join(shown) + " |"


def write(measured: list[dict[str, object]]) -> None:
    """Write all rows so far, so that a run that is stopped leaves what it found."""
    versions = {"python": platform.python_version(), "numpy": np.__version__, "scikit-learn": sklearn.__version__}
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "labels.json").write_text(json.dumps({"versions": versions, "rows": measured}, indent=1) + "\n")
    (RESULTS / "labels.md").write_text("\n".join([*HEADER, *map(as_line, measured)]) + "\n")


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="leave out larger sizes")
    largest = parser.parse_args().largest
    print(*HEADER, sep="\n")
    measured = []
    for row in rows(largest):
        measured.append(row)
        print(as_line(row), flush=True)
        write(measured)


if __name__ == "__main__":
    main()
