"""Peers: what other packages need for their numbers on the same two clusterings, each as far as it gets.

    python benchmarks/peers.py [--largest 1000000]

Needs the dependency group `bench`. Every peer is given its own favourite form of input, made beforehand, in a process
of its own, whose peak memory is shown. A peer that took over five seconds is not asked for the next size, one that
takes over half a minute is stopped, and one that fails says why. Times are medians of several runs where a run takes
less than five seconds. Writes `benchmarks/results/peers.*`.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from _measure import Bench, arguments, count, median_of, peak_memory, say

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PATIENCE = 5.0  # seconds
LIMIT = 30.0  # seconds
PACKAGES = ("scikit-learn", "genieclust", "er-evaluation", "clusim", "bcubed")

Labels = np.ndarray[Any, Any]
Prepared = Callable[[], object]


def make_labels(items: int, clusters: int) -> tuple[Labels, Labels]:
    """Cluster items evenly, and move every tenth item elsewhere."""
    random = np.random.default_rng(items)
    ideal = np.arange(items) * clusters // items
    actual = np.where(random.random(items) < 0.1, random.integers(0, clusters, items), ideal)
    return ideal, actual


SHAPES: dict[str, Callable[[int], int]] = {
    "ten items each": lambda items: items // 10,
    "100 in all": lambda items: 100,  # noqa: ARG005
}


def pointwise_labels(ideal: Labels, actual: Labels) -> Prepared:
    """Compute precision, recall, F1 and Jaccard distance of two arrays."""
    from pointwise.labels import scores

    return lambda: scores(ideal, actual)


def pointwise_evaluate(ideal: Labels, actual: Labels) -> Prepared:
    """Compute the same on the engine, with validation."""
    import pointwise as pw

    return lambda: pw.evaluate(ideal=ideal, actual=actual).overall


def pointwise_related(ideal: Labels, actual: Labels) -> Prepared:
    """Compute all related families of two arrays."""
    from pointwise.labels import related_scores

    return lambda: related_scores(ideal, actual)


def sklearn_ari(ideal: Labels, actual: Labels) -> Prepared:
    """Compute the adjusted Rand index."""
    from sklearn.metrics import adjusted_rand_score

    return lambda: adjusted_rand_score(ideal, actual)


def sklearn_v_measure(ideal: Labels, actual: Labels) -> Prepared:
    """Compute homogeneity, completeness and V-measure."""
    from sklearn.metrics import homogeneity_completeness_v_measure

    return lambda: homogeneity_completeness_v_measure(ideal, actual)


def er_evaluation_bcubed(ideal: Labels, actual: Labels) -> Prepared:
    """Compute B-cubed precision and recall from two memberships."""
    import pandas as pd
    from er_evaluation.metrics import b_cubed_precision, b_cubed_recall

    truth, predicted = pd.Series(ideal), pd.Series(actual)
    return lambda: (b_cubed_precision(predicted, truth), b_cubed_recall(predicted, truth))


def bcubed_package(ideal: Labels, actual: Labels) -> Prepared:
    """Compute B-cubed precision and recall from two dictionaries."""
    import bcubed

    truth, predicted = ({n: {int(c)} for n, c in enumerate(labels)} for labels in (ideal, actual))
    return lambda: (bcubed.precision(predicted, truth), bcubed.recall(predicted, truth))


def clusim_element(ideal: Labels, actual: Labels) -> Prepared:
    """Compute the element-centric similarity."""
    import clusim.sim
    from clusim.clustering import Clustering

    def clustering(labels: Labels) -> Any:
        members = defaultdict(list)
        for item, cluster in enumerate(labels.tolist()):
            members[cluster].append(item)
        return Clustering(clu2elm_dict=dict(members))

    truth, predicted = clustering(ideal), clustering(actual)
    return lambda: clusim.sim.element_sim(truth, predicted)


def genieclust_ari(ideal: Labels, actual: Labels) -> Prepared:
    """Compute the adjusted Rand index."""
    from genieclust.compare_partitions import adjusted_rand_score

    truth, predicted = ideal.astype(np.intp), actual.astype(np.intp)
    return lambda: adjusted_rand_score(truth, predicted)


PEERS: dict[str, Callable[[Labels, Labels], Prepared]] = {
    "pointwise.labels: precision, recall, F1, Jaccard distance": pointwise_labels,
    "pointwise.evaluate: the same, on the engine": pointwise_evaluate,
    "pointwise.labels: all related families": pointwise_related,
    "scikit-learn: adjusted Rand": sklearn_ari,
    "scikit-learn: homogeneity, completeness, V": sklearn_v_measure,
    "genieclust: adjusted Rand (dense table)": genieclust_ari,
    "er-evaluation: B-cubed precision, recall": er_evaluation_bcubed,
    "clusim: element-centric similarity": clusim_element,
    "bcubed: precision, recall": bcubed_package,
}


def serve(pipe: Connection, name: str, shape: str, sizes: list[int], patience: float = PATIENCE) -> None:
    """Time one peer at growing sizes until it takes too long or fails, and send what was found after each."""
    warnings.simplefilter("ignore")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))  # so that who asks for more fails by itself
    for items in sizes:
        try:
            seconds = measure(PEERS[name](*make_labels(items, SHAPES[shape](items))), patience)
        except Exception as error:  # noqa: BLE001  # whatever a peer raises is its result
            is_missing = isinstance(error, ModuleNotFoundError)
            pipe.send(("not installed" if is_missing else type(error).__name__, peak_memory()))
            return
        pipe.send((seconds * 1000, peak_memory()))
        if seconds > patience:
            return


def measure(work: Prepared, patience: float) -> float:
    """Time a call: the median of several unless it takes long."""
    first = median_of(work, 1)
    if first > patience:
        return first
    return median_of(work, 5 if first < patience / 5 else 3)


def hear(bench: Bench, name: str, shape: str, sizes: list[int]) -> dict[str, Any]:
    """Let a peer run in a process of its own, and make a row of what it sends."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    args = (theirs, name, shape, sizes)
    if bench.is_smoke:
        serve(*args, patience=0.0)
        theirs.close()
        return row(name, shape, zip(sizes, messages(ours), strict=False))
    process = context.Process(target=serve, args=args)
    process.start()
    theirs.close()
    found = row(name, shape, zip(sizes, messages(ours, process), strict=False))
    process.kill()
    process.join()
    return found


def messages(pipe: Connection, process: Any = None) -> Iterator[tuple[Any, float | None]]:
    """Yield what a peer sends until it is done, takes too long or dies."""
    try:
        while pipe.poll(LIMIT):
            yield pipe.recv()
        yield f"over {LIMIT:.0f} s", None
    except EOFError:
        if process is not None:
            process.join()
            if process.exitcode:
                yield f"died ({process.exitcode})", None


def row(name: str, shape: str, found: Iterable[tuple[int, tuple[Any, float | None]]]) -> dict[str, Any]:
    """Lay out what a peer sent."""
    times: dict[str, Any] = {}
    peak = None
    for items, (time, memory) in found:
        times[f"{items:,} items, ms"] = time
        peak = memory or peak
    return {"clusters": shape, "peer": name, **times, "peak GB": peak}


def main() -> None:
    """Measure all peers and write the table."""
    parser = arguments(__doc__)
    parser.add_argument("--largest", type=count, default=SIZES[-1], help="leave out larger sizes")
    options = parser.parse_args()
    sizes = [size for size in SIZES if size <= options.largest]
    bench = Bench.told_by(options)
    rows = []
    for shape in list(SHAPES)[: 1 if bench.is_smoke else None]:
        for name in PEERS:
            say(f"{name}, clusters: {shape}")
            rows.append(hear(bench, name, shape, sizes))
            bench.save("peers", "Other packages", rows, packages=PACKAGES, quiet=True)
    bench.save("peers", "Other packages", rows, packages=PACKAGES)


if __name__ == "__main__":
    main()
