"""Graphs: links between numbered items, and the clusters that their connected components make."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pointwise.columns import CLUSTER, ITEM
from pointwise.engines.base import Engine, Source
from pointwise.engines.queries import EXAMPLES
from pointwise.errors import ContradictionError, UsageError
from pointwise.inputs.composite import ONE_COLUMN, ItemColumns
from pointwise.inputs.options import Contradictions
from pointwise.text.values import format_count, short

if TYPE_CHECKING:
    import pyarrow as pa

Nodes = NDArray[np.int32]
_BATCH = 1 << 23  # links


@dataclass(frozen=True)
class ClusteredLinks(Source):
    """A clustering made of links, which says itself what its columns are.

    Args:
        note: How the links were read, if that was recognised.
    """

    note: str | None = None


@dataclass(frozen=True)
class Contradiction:
    """Two items with a no of their own, although a chain of yeses connects them.

    Args:
        pair: The two items.
        chain: The items from one to the other; an answer says that each belongs with the next.

    Examples:
        >>> import pointwise as pw
        >>> answers = [("a", "b", "yes"), ("b", "c", "yes"), ("a", "c", "no")]
        >>> try:
        ...     pw.cluster_links(answers, answer="answer")
        ... except pw.errors.ContradictionError as error:
        ...     print(*error.contradictions)
        'a' and 'c' do not belong together, but 'a' = 'b' = 'c' do
    """

    pair: tuple[Any, Any]
    chain: tuple[Any, ...]

    def __str__(self) -> str:
        """Say what contradicts what."""
        one, other = map(short, self.pair)
        return f"{one} and {other} do not belong together, but {' = '.join(map(short, self.chain))} do"


@dataclass(frozen=True)
class Graph:
    """Links between items that are numbered in the order of their ids.

    Args:
        name: Where they come from.
        items: The ids, least first: Arrow, without repeats.
        left: Number of one item of each link.
        right: Number of the other.
        score: Of each link, if links have scores.
        is_yes: Whether each link says that its items belong together, if links are answers.
        is_typed: Whether the source tells numbers from text.
        note: How the links were read, if that was recognised.
    """

    name: str
    items: pa.Array
    left: Nodes
    right: Nodes
    score: NDArray[np.float64] | None
    is_yes: NDArray[np.bool_] | None
    is_typed: bool
    note: str | None = None
    item_columns: ItemColumns = ONE_COLUMN

    @property
    def size(self) -> int:
        """Number of items."""
        return len(self.items)

    def tabulate(self, least: Nodes) -> pa.Table:
        """Make a table of all items and their clusters, which are called by their least items."""
        import pyarrow as pa

        table = pa.table({ITEM: self.items, CLUSTER: self.items.take(pa.array(least))})
        return self.item_columns.take_apart(table)

    def as_source(self, name: str, table: pa.Table, engine: Engine) -> ClusteredLinks:
        """Have an engine read a table of clusters."""
        opened, names = engine.read(table), self.item_columns.names
        is_several = len(names) > 1
        return ClusteredLinks(
            name,
            opened.columns,
            opened.load,
            is_typed=self.is_typed or is_several,
            ids=names if is_several else (),
            note=self.note,
        )

    def ids(self, nodes: Iterable[int]) -> tuple[Any, ...]:
        """Return the ids of some items."""
        return tuple(self.items[int(node)].as_py() for node in nodes)


def cluster_graph(graph: Graph, *, threshold: float | None, contradictions: Contradictions) -> pa.Table:
    """Cluster the items of a graph by the links that count."""
    import pyarrow as pa

    least = least_members(_join(graph, threshold))
    kept = _keep(graph, least, contradictions) if graph.is_yes is not None else None
    table = graph.tabulate(least)
    return table if kept is None else table.filter(pa.array(kept))


def _join(graph: Graph, threshold: float | None) -> Nodes:
    """Number the components of the links that count, one number per node.

    Links are looked at batch by batch, each between the components of those before it: SciPy takes 40 bytes for every
    link that it looks at, several times as much as the links themselves.
    """
    labels, number = np.arange(graph.size, dtype=np.int32), graph.size
    for start in range(0, len(graph.left), _BATCH):
        batch = slice(start, start + _BATCH)
        counts = _counting(graph, threshold, batch)
        ends = labels[graph.left[batch][counts]], labels[graph.right[batch][counts]]
        joined = components(*ends, number)
        labels, number = joined[labels], int(joined.max(initial=-1)) + 1
    return labels


def _counting(graph: Graph, threshold: float | None, batch: slice) -> Any:
    """Tell which links of a batch count: an index into it."""
    if graph.score is None:
        return slice(None) if graph.is_yes is None else graph.is_yes[batch]
    if threshold is None:
        raise UsageError("Links with a score need threshold=...: the least score of a link that counts.")
    return graph.score[batch] >= threshold


def components(left: NDArray[Any], right: NDArray[Any], size: int) -> Nodes:
    """Number the connected components of a graph, one number per node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    graph = coo_array((np.ones(len(left), dtype=np.float64), (left, right)), shape=(size, size))
    labels: Nodes = connected_components(graph, directed=False)[1]
    return labels


def least_members(labels: Nodes) -> Nodes:
    """Return for every node the least node of its component."""
    nodes = np.arange(len(labels), dtype=np.int32)
    first = np.empty(int(labels.max(initial=-1)) + 1, dtype=np.int32)
    first[labels[::-1]] = nodes[::-1]  # the last of several assignments wins, which is the least node's
    return first[labels]


def _keep(graph: Graph, least: Nodes, policy: Contradictions) -> NDArray[np.bool_] | None:
    """Tell which items no contradiction touches; None if there is none.

    Raises:
        ContradictionError: There is one, and the policy does not say to drop it.
    """
    is_no = ~graph.is_yes  # type: ignore[operator]  # links are answers here
    spoilt = np.flatnonzero(is_no & (least[graph.left] == least[graph.right]))
    if not len(spoilt):
        return None
    if policy == "error":
        found = tuple(_explain(graph, least, spoilt))
        shown = "; ".join(str(contradiction) for contradiction in found[:EXAMPLES])
        raise ContradictionError(
            f"{format_count(len(found), 'answer')} of {graph.name} {'says' if len(found) == 1 else 'say'} no where a "
            f"chain of yeses says yes: {shown}. Ask again about these pairs, or use contradictions='drop' to leave "
            "out all items that they touch.",
            found,
        )
    bad = np.zeros(graph.size, dtype=np.bool_)
    bad[least[graph.left[spoilt]]] = True
    return ~bad[least]


def _explain(graph: Graph, least: Nodes, spoilt: NDArray[np.int64]) -> Iterator[Contradiction]:
    """Find for every contradiction a shortest path of yeses, among the components that have one."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import breadth_first_order

    is_spoilt = np.isin(least, least[graph.left[spoilt]])
    inside = np.flatnonzero(is_spoilt)
    number = np.cumsum(is_spoilt) - 1
    yes = np.flatnonzero(graph.is_yes & is_spoilt[graph.left])  # type: ignore[operator]
    ends = (number[graph.left[yes]], number[graph.right[yes]])
    matrix = coo_array((np.ones(len(yes)), ends), shape=(len(inside), len(inside))).tocsr()
    order = np.lexsort((graph.right[spoilt], graph.left[spoilt]))
    start, before = -1, np.empty(0, dtype=np.int32)
    for link in spoilt[order]:
        one, other = int(number[graph.left[link]]), int(number[graph.right[link]])
        if one != start:
            start, before = one, breadth_first_order(matrix, one, directed=False)[1]
        path = [other]
        while path[-1] != one:
            path.append(int(before[path[-1]]))
        ids = graph.ids(inside[path[::-1]])
        yield Contradiction((ids[0], ids[-1]), ids)
