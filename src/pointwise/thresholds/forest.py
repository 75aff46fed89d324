"""The forest: the fewest links with the same components at every threshold, and these components."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pointwise.inputs.graphs import Graph, Nodes, components

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Forest:
    """A spanning forest of the strongest links, strongest first.

    Args:
        size: Number of nodes.
        left: One node of each link in the forest.
        right: The other node.
        score: Score of each link in the forest.
        scores: Scores of all links, including those outside the forest; strongest first.
    """

    size: int
    left: Nodes
    right: Nodes
    score: Floats
    scores: Floats

    def components_at(self, threshold: float) -> Nodes:
        """Number the components of the links with at least that score."""
        number = count_reaching(self.score, threshold)
        return components(self.left[:number], self.right[:number], self.size)

    def sweep(self, thresholds: Sequence[float]) -> Iterator[tuple[float, Nodes, int]]:
        """Yield every threshold with the components of its links, one number per node, and how many there are.

        From one threshold to the next, only the links between them are added, to components instead of nodes.

        Args:
            thresholds: Greatest first.
        """
        labels, done = np.arange(self.size, dtype=np.int32), 0
        for threshold in thresholds:
            number = count_reaching(self.score, threshold)
            if number > done:
                ends = labels[self.left[done:number]], labels[self.right[done:number]]
                labels, done = components(*ends, self.size - done)[labels], number
            yield threshold, labels, self.size - done  # every link of a forest joins two components


def count_reaching(scores: Floats, threshold: float) -> int:
    """Count the scores, greatest first, that reach a threshold."""
    return int(np.searchsorted(-scores, -threshold, side="right"))


def grow_forest(graph: Graph) -> Forest:
    """Keep the links that join what stronger links do not."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import minimum_spanning_tree

    scores = np.zeros(len(graph.left)) if graph.score is None else graph.score
    order = np.argsort(-scores, kind="stable")
    left, right, scores = graph.left[order], graph.right[order], scores[order]
    # Ranks rather than scores: a link of length zero would be dropped, and equal differences must stay equal.
    rank = np.arange(1, len(order) + 1, dtype=np.float64)
    links = coo_array((rank, (left, right)), shape=(graph.size, graph.size))
    links.has_canonical_format = True  # else the ranks of a pair that is listed twice would be added up
    tree = minimum_spanning_tree(links.tocsr(), overwrite=True)
    kept = np.sort(tree.data.astype(np.int64)) - 1
    return Forest(graph.size, left[kept], right[kept], scores[kept], scores)
