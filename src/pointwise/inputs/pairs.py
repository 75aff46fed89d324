"""Pairs: links in the objects of other libraries, as tables with a column for each of the two items."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.errors import MissingColumnError, UsageError

LEFT, RIGHT, SCORE = "left", "right", "score"
_PAIR = 2


@dataclass(frozen=True)
class Pairs:
    """A table of pairs, and what is known of it.

    Args:
        table: A data frame or an Arrow table.
        left: Its column with the one item of a pair.
        right: The same for the other.
        score: Its column with the score of a pair, if pairs have one.
        items: All items, also those in no pair, if they are known.
        is_graph: Whether pairs belong together whatever their score, unless somebody asks for it.
    """

    table: Any
    left: str = LEFT
    right: str = RIGHT
    score: str | None = None
    items: Any = None
    is_graph: bool = False


def as_pairs(source: Any, score: str | None) -> Pairs | None:
    """Read links from objects of networkx, pandas (as recordlinkage makes them) and dedupe; None from any other.

    Args:
        source: What the user gave.
        score: What a user calls the score of a link.
    """
    if hasattr(source, "nodes") and hasattr(source, "edges"):
        return _pairs_of_graph(source, score)
    if getattr(getattr(source, "dtype", None), "names", None) == ("pairs", "score"):
        return _pairs_of_scores(source)
    index = source if hasattr(source, "nlevels") else getattr(source, "index", None)
    if getattr(index, "nlevels", 1) == _PAIR:
        return _pairs_of_index(source, index)
    return None


def _pairs_of_graph(graph: Any, score: str | None) -> Pairs:
    """Read the edges of a graph of networkx; the score is an attribute of them, by default `weight`."""
    edges = list(graph.edges(data=True))
    name = next((n for n in (score, "weight") if n is not None and any(n in facts for _, _, facts in edges)), None)
    if score not in (None, SCORE, name):
        raise MissingColumnError(f"The edges of the graph have no attribute {score!r} for a score.")
    columns: dict[str, Any] = {LEFT: [edge[0] for edge in edges], RIGHT: [edge[1] for edge in edges]}
    if name is not None:
        columns[name] = [facts.get(name) for _, _, facts in edges]
    return Pairs(_table(columns), score=name, items=list(graph.nodes), is_graph=True)


def _pairs_of_scores(scored: Any) -> Pairs:
    """Read what dedupe's `score` returns: an array with the two ids and the score of each pair."""
    columns = {LEFT: scored["pairs"][:, 0], RIGHT: scored["pairs"][:, 1], SCORE: scored["score"].astype("float64")}
    return Pairs(_table(columns), score=SCORE)


def _table(columns: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    from pointwise.inputs.python import as_array

    ends = {name: as_array(columns[name], "item") for name in (LEFT, RIGHT)}
    rest = {name: pa.array(values) for name, values in columns.items() if name not in ends}
    return pa.table(ends | rest)


def _pairs_of_index(source: Any, index: Any) -> Pairs:
    """Read what recordlinkage makes: pairs as the index of a frame or of scores, or alone."""
    names = _names_of(index.names)
    if source is index:
        return Pairs(index.to_frame(index=False, name=list(names)), *names)
    is_scores = not hasattr(source, "columns")
    score = str(source.name or SCORE) if is_scores else None
    frame = source.to_frame(score) if is_scores else source.rename(columns=str)
    taken = sorted(set(names) & set(frame.columns))
    if taken:
        raise UsageError(f"The pairs of the index and a column are both called {taken[0]!r}. Rename the column.")
    return Pairs(frame.reset_index(names=list(names)), *names, score=score)


def _names_of(names: Sequence[Any]) -> tuple[str, str]:
    """Take the names of the two levels, if they have some that differ."""
    one, other = names
    is_named = isinstance(one, str) and isinstance(other, str) and one != other
    return (one, other) if is_named else (LEFT, RIGHT)
