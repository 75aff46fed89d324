"""Links: pairs of items, scored by a tool or judged by people, as clusterings by connected components."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np
from numpy.typing import NDArray

from pointwise.columns import ITEM, given_name, inside
from pointwise.engines import choose_engine
from pointwise.engines.base import Engine, Source, is_spark_frame
from pointwise.engines.files import is_path
from pointwise.engines.queries import EXAMPLES
from pointwise.errors import (
    InputError,
    MissingColumnError,
    MissingValueError,
    SourceError,
    UsageError,
)
from pointwise.inputs.composite import ItemColumns, part_kinds
from pointwise.inputs.graphs import ClusteredLinks, Graph, cluster_graph
from pointwise.inputs.ids import (
    MixedIdsError,
    explain_mixed_ids,
    find_item_columns,
    id_expression,
    id_kind,
    match_ids,
)
from pointwise.inputs.layouts import Fit, find_links
from pointwise.inputs.options import ColumnNames, Contradictions, LayoutName, check_choice, is_number
from pointwise.inputs.pairs import LEFT, RIGHT, SCORE, as_pairs
from pointwise.inputs.reading import as_number, read_table
from pointwise.inputs.tables import NUMBER, Openable, Table, open_source, require
from pointwise.text.values import format_count, listed, short

if TYPE_CHECKING:
    import pyarrow as pa

ANSWER = "answer"
YES, NO = ("yes", "true", "1", "match"), ("no", "false", "0", "distinct")
_PAIR, _TRIPLE = 2, 3


@dataclass(frozen=True)
class Links(Openable):
    """A clustering given by pairs of items that belong together: its clusters are the connected components.

    Can be given wherever a clustering is read. Every item of the table is in the clustering; one whose links do not
    count is alone. The id of a cluster is the least id of its items.

    Args:
        table: Pairs of items, as any kind of table; also a list of pairs, or of triples with a score or an answer, a
            graph of networkx, pandas objects indexed by pairs (recordlinkage), or scored pairs of dedupe.
        left: Column, or columns together, with one item; by default `left`, or the first of two columns.
        right: The same for the other item.
        score: Column with the strength of each link.
        threshold: The least score of a link that counts.
        items: Items without any link, each a cluster of its own: a table, or a list of ids.
        answer: Column with what people answered: yes or no (also true and false, 1 and 0). A yes links.
        contradictions: What to do if items are linked by a chain of yeses, but a no tells them apart: "error", or
            "drop" to leave their whole component out.
        layout: The tool that wrote the table, if it is not to be recognised by its columns: "splink" or
            "recordlinkage".

    Examples:
        >>> import pointwise as pw
        >>> links = pw.Links([("a", "b", 0.9), ("b", "c", 0.4)], threshold=0.5)
        >>> pw.evaluate(ideal=[["a", "b"], ["c"]], actual=links).overall["precision"]
        1.0
    """

    table: Any
    left: ColumnNames | None = None
    right: ColumnNames | None = None
    score: str | None = None
    threshold: float | None = None
    items: Any = None
    answer: str | None = None
    contradictions: Contradictions = "error"
    layout: LayoutName | None = None

    def __post_init__(self) -> None:
        """Refuse meaningless combinations."""
        check_choice("contradictions", self.contradictions, Contradictions)
        if self.layout is not None:
            check_choice("layout", self.layout, LayoutName)
        if self.answer is not None and (self.score is not None or self.threshold is not None):
            raise UsageError("Links have a score=... with a threshold=..., or an answer=..., not both.")
        if self.threshold is not None:
            check_threshold(self.threshold)

    def open(self, engine: Engine, *, role: str) -> ClusteredLinks:
        """Read the links, and return the clustering that they make as a table that was found."""
        graph = read_links(self, engine, role=role)
        return graph.as_source(f"links from {graph.name}", _cluster(graph, self), engine)


def table_of(source: Any) -> Any:
    """Return the table behind links, and any other source as it is: where it lives decides where to compute."""
    return source.table if isinstance(source, Links) else source


def cluster_links(
    links: Any,
    *,
    left: ColumnNames | None = None,
    right: ColumnNames | None = None,
    score: str | None = None,
    threshold: float | None = None,
    items: Any = None,
    answer: str | None = None,
    contradictions: Contradictions = "error",
    layout: LayoutName | None = None,
    engine: Engine | str | None = None,
) -> pa.Table:
    """Cluster items by the links between them: a cluster is a connected component.

    Every item of the links is in the result; one whose links do not count is alone. The id of a cluster is the least id
    of its items, so that it is the same in every run.

    Args:
        links: Pairs of items, as any kind of table; also a list of pairs, or of triples with a score or an answer, a
            graph of networkx, pandas objects indexed by pairs (recordlinkage), or scored pairs of dedupe.
        left: Column, or columns together, with one item; by default `left`, or the first of two columns.
        right: The same for the other item.
        score: Column with the strength of each link.
        threshold: The least score of a link that counts.
        items: Items without any link, each a cluster of its own: a table, or a list of ids.
        answer: Column with what people answered: yes or no (also true and false, 1 and 0). A yes links.
        contradictions: What to do if items are linked by a chain of yeses, but a no tells them apart: "error", or
            "drop" to leave their whole component out.
        layout: The tool that wrote the table, if it is not to be recognised by its columns: "splink" or
            "recordlinkage".
        engine: What reads the links, as in `evaluate`. They are clustered in this process's memory.

    Returns:
        A PyArrow table with the columns `item` and `cluster`. Where several columns identify an item, they stand
        instead of `item`, without an ending that only the two ends of a link have.

    Raises:
        ContradictionError: Answers contradict each other; its `contradictions` lists all that do.
        PointwiseError: The links cannot be read; the message says what to do.

    Examples:
        >>> import pointwise as pw
        >>> pw.cluster_links([(3, 1, 0.9), (4, 3, 0.8), (5, 1, 0.2)], threshold=0.5).to_pydict()
        {'item': [1, 3, 4, 5], 'cluster': [1, 1, 1, 5]}
    """
    given = Links(links, left, right, score, threshold, items, answer, contradictions, layout)
    chosen = choose_engine(engine, (links, items))
    try:
        return _cluster(read_links(given, chosen), given)
    finally:
        if chosen is not engine:
            chosen.close()


def _cluster(graph: Graph, links: Links) -> pa.Table:
    return cluster_graph(graph, threshold=links.threshold, contradictions=links.contradictions)


def read_links(links: Links, engine: Engine, *, role: str = "links", is_scored: bool = False) -> Graph:
    """Read pairs of items, number the items in the order of their ids, and check what links must hold.

    Args:
        links: What the user gave.
        engine: What reads them.
        role: What they are for, for messages.
        is_scored: Whether every link needs a score, also without a threshold to compare it with.
    """
    is_scored = is_scored or links.threshold is not None
    links = _unwrapped(links, is_scored=is_scored)
    source = _open(links, engine, role)
    fit = _find_layout(links, source, role)
    is_by_place = (
        fit is None and links.left is None and links.right is None and not {LEFT, RIGHT} <= set(source.columns)
    )
    links = _with_columns(links if fit is None else _laid_out(links, fit), source, role, is_scored=is_scored)
    frame, ends = _ends(links, source, role)
    names = {LEFT: _names(links.left), RIGHT: _names(links.right)}
    tables = [
        Table(role, source, frame.select(nw.col(end).alias(ITEM)), kind, names[end], parts)
        for end, (kind, parts) in ends.items()
    ]
    if links.items is not None:
        tables.append(_read_items(links.items, engine, links, fit))
    try:
        matched = match_ids(tables)
    except MixedIdsError as error:
        raise explain_mixed_ids(error, engine) from None
    dtype = matched[0].frame.collect_schema()[ITEM]
    alone = [engine.collect(table.frame.select(ITEM))[ITEM] for table in matched[len(ends) :]]
    graph = _number_items(
        engine.collect(frame.with_columns(*(nw.col(end).cast(dtype) for end in ends))),  # which nobody else holds on to
        alone,
        source.name,
        is_typed=all(t.id_kind in ("integer", "text") for t in tables),
    )
    graph = replace(graph, note=None if fit is None else str(fit), item_columns=_name_items(tables))
    if is_by_place and not source.is_typed:
        _check_header(graph, source, role)
    _check(graph, role)
    return graph


def _unwrapped(links: Links, *, is_scored: bool) -> Links:
    """Take a table of pairs out of an object of another library, with the columns that it has."""
    if is_path(links.table) or is_spark_frame(links.table) or isinstance(links.table, Source):
        return links
    pairs = as_pairs(links.table, links.score)
    if pairs is None:
        return links
    is_known = links.score is None and (is_scored or not pairs.is_graph)
    return replace(
        links,
        table=pairs.table,
        left=pairs.left if links.left is None else links.left,
        right=pairs.right if links.right is None else links.right,
        score=pairs.score if is_known else links.score,
        items=pairs.items if links.items is None else links.items,
    )


def _find_layout(links: Links, source: Source, role: str) -> Fit | None:
    """Find the layout of a tool's table, unless a user said what the columns are."""
    if links.left is not None or links.right is not None or links.answer is not None:
        return None
    if links.layout is None and {LEFT, RIGHT} <= set(source.columns):
        return None
    return find_links(source, links.layout, role)


def _laid_out(links: Links, fit: Fit) -> Links:
    """Take the columns that a layout names; one with scores makes no clusters without a threshold."""
    return replace(links, left=fit.left, right=fit.right, score=links.score or fit.score)


def _check_header(graph: Graph, source: Source, role: str) -> None:
    """Refuse a CSV file whose first line looks like a link, rather than lose it.

    Raises:
        SourceError: A name of a column is a number, or an item.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.array(source.columns, pa.large_string())
    is_item = pc.any(pc.is_in(names, value_set=graph.items.cast(pa.large_string()))).as_py()
    if is_item or any(re.fullmatch(NUMBER, name) for name in source.columns):
        raise SourceError(
            f"The first line of the {role} ({source.name}) looks like data, not like the names of its columns: "
            f"{listed(source.columns)}. If it is data, write a line with names above it; if not, say left=..., "
            "right=...."
        )


def _open(links: Links, engine: Engine, role: str) -> Source:
    """Open a table of links; unlike a clustering, a plain list holds pairs."""
    table = links.table
    if isinstance(table, Source) or is_path(table) or is_spark_frame(table):
        return open_source(table, engine, role=role)
    if hasattr(table, "__arrow_c_stream__") or hasattr(table, "collect_schema") or hasattr(table, "columns"):
        return open_source(table, engine, role=role)
    if hasattr(table, "as_pyarrow_table"):
        return open_source(table, engine, role=role)
    if isinstance(table, Mapping) or not isinstance(table, Iterable):
        raise UsageError(f"Cannot read links from a {type(table).__name__}. Give a table or a list of pairs of items.")
    return replace(engine.read(_table_of_pairs(list(table), links, role)), name=f"a {type(table).__name__} of pairs")


def _table_of_pairs(pairs: list[Any], links: Links, role: str) -> pa.Table:
    """Name the columns of a plain list; the third is whatever was asked for."""
    import pyarrow as pa

    widths = {len(pair) if isinstance(pair, (tuple, list)) else 0 for pair in pairs}
    if len(widths) != 1 or not widths <= {_PAIR, _TRIPLE}:
        raise InputError(f"The {role}: a list of links holds pairs of items, or triples with a score or an answer.")
    names = (LEFT, RIGHT, links.answer or links.score or SCORE)[: widths.pop()]
    try:
        return pa.table(dict(zip(names, (pa.array(c) for c in zip(*pairs, strict=True)), strict=True)))
    except (pa.ArrowException, OverflowError, UnicodeEncodeError) as error:
        raise InputError(f"The {role}: make all item ids integers or all text, and scores numbers. {error}") from error


def _with_columns(links: Links, source: Source, role: str, *, is_scored: bool) -> Links:
    """Find the columns that a user did not name."""
    score = links.score
    if score is None and is_scored:
        if SCORE not in source.columns:
            raise MissingColumnError(
                f"The {role} ({source.name}) need score=... for the threshold: one of {listed(source.columns)}."
            )
        score = SCORE
    for name in (score, links.answer):
        _require(source, (name,) if name else (), role)
    if links.left is not None and links.right is not None:
        _check_ends(links, source, role)
        return replace(links, score=score)
    rest = [c for c in source.columns if c not in (score, links.answer, *_names(links.left), *_names(links.right))]
    found = (LEFT, RIGHT) if {LEFT, RIGHT} <= set(rest) else tuple(rest)
    if links.left is not None or links.right is not None or len(found) != _PAIR:
        raise MissingColumnError(
            f"The {role} ({source.name}) need left=... and right=...: the columns of the two items of a link, of "
            f"{listed(source.columns)}."
        )
    return replace(links, left=found[0], right=found[1], score=score)


def _check_ends(links: Links, source: Source, role: str) -> None:
    left, right = _names(links.left), _names(links.right)
    _require(source, (*left, *right), role)
    if not left or len(left) != len(right) or left == right:
        raise UsageError(
            f"left={short(left)} and right={short(right)} must name equally many columns, and different ones."
        )


def _require(source: Source, names: tuple[str, ...], role: str) -> None:
    for name in names:
        require(source, name, role)


def _names(columns: ColumnNames | None) -> tuple[str, ...]:
    return () if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)


def _name_items(tables: list[Table]) -> ItemColumns:
    """Name the columns that identify an item as both ends do: `id_l` and `id_r` are an `id`."""
    left, right, *alone = tables
    names = [_common(*both) for both in zip(left.item_columns, right.item_columns, strict=True)]
    shared = tuple(names) if len(set(names)) == len(names) and all(names) else left.item_columns
    return find_item_columns([replace(left, item_columns=shared), right, *alone])


def _common(one: str, other: str) -> str:
    """Return what two names share, word by word."""
    return "_".join(a for a, b in zip(one.split("_"), other.split("_"), strict=False) if a == b)


def _ends(links: Links, source: Source, role: str) -> tuple[nw.LazyFrame, dict[str, tuple[str, tuple[str, ...]]]]:
    """Return the links as `left`, `right`, `score` and `answer`, and of either end the kinds of ids and their parts."""
    ends = {LEFT: _names(links.left), RIGHT: _names(links.right)}
    columns = tuple(c for c in (*ends[LEFT], *ends[RIGHT], links.score, links.answer) if c is not None)
    frame = source.load(columns, text=columns)
    schema = {given_name(column): dtype for column, dtype in frame.collect_schema().items()}
    kinds = {
        end: (id_kind(schema, names, source, role), part_kinds(schema, names, is_typed=source.is_typed))
        for end, names in ends.items()
    }
    selected = [id_expression(schema, names, source).alias(end) for end, names in ends.items()]
    if links.score is not None:
        selected.append(as_number(schema, links.score, role, "to compare with a threshold").alias(SCORE))
    if links.answer is not None:
        selected.append(nw.col(inside(links.answer)).cast(nw.String).alias(ANSWER))
    return frame.select(*selected), kinds


def _read_items(items: Any, engine: Engine, links: Links, fit: Fit | None) -> Any:
    """Read items without links: plain ids, or a table with `item`, with their columns only, or as a tool has it."""
    is_table = isinstance(items, Source) or is_path(items) or is_spark_frame(items)
    if not is_table and not hasattr(items, "columns") and not hasattr(items, "collect_schema"):
        import pyarrow as pa

        from pointwise.inputs.python import as_array  # loads Arrow

        if not isinstance(items, Iterable):
            raise UsageError(f"items=... takes a table or a list of ids, not {short(items)}.")
        items = pa.table({ITEM: as_array(items if hasattr(items, "__array__") else list(items), ITEM)})
    source = open_source(items, engine, role="items")
    known = (fit.item if fit is not None else (), source.columns)
    width = len(_names(links.left))
    columns = next((names for names in known if len(names) == width and set(names) <= set(source.columns)), None)
    item = None if ITEM in source.columns else columns
    return read_table(source, engine, role="items", item=item, has_clusters=False)


def _number_items(rows: pa.Table, alone: list[pa.ChunkedArray], name: str, *, is_typed: bool) -> Graph:
    """Number items by the order of their ids; each column is let go as soon as its numbers are there."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = [_widened(rows[LEFT]), _widened(rows[RIGHT]), *map(_widened, alone)]
    nulls = sum(end.null_count for end in ends)
    if nulls:
        raise MissingValueError(
            f"{format_count(nulls, 'item')} without an id in {name}. Fill them in or drop these rows."
        )
    if not sum(map(len, ends)):
        raise SourceError(f"There are no rows in {name}.")
    items = pa.chunked_array([chunk for end in ends for chunk in end.chunks], ends[0].type).unique()
    items = items.take(pc.array_sort_indices(items))
    rows = rows.drop_columns([LEFT, RIGHT])
    left, right = (pc.index_in(ends.pop(0), value_set=items).to_numpy() for _ in (LEFT, RIGHT))
    score = rows[SCORE].to_numpy() if SCORE in rows.column_names else None
    is_yes = _read_answers(rows, name) if ANSWER in rows.column_names else None
    return Graph(name, items, left, right, score, is_yes, is_typed)


def _widened(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Make room for more than 2 GB of text."""
    import pyarrow as pa

    return column if pa.types.is_integer(column.type) else column.cast(pa.large_string())


def _read_answers(rows: pa.Table, name: str) -> NDArray[np.bool_]:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_lower(pc.utf8_trim_whitespace(rows[ANSWER].cast(pa.large_string())))
    is_yes, is_no = (pc.is_in(text, value_set=pa.array(words, pa.large_string())) for words in (YES, NO))
    bad = rows.filter(pc.invert(pc.or_(is_yes, is_no)))
    if len(bad):
        shown = ", ".join(short(value) for value in bad[ANSWER].slice(0, EXAMPLES).to_pylist())
        raise InputError(
            f"{format_count(len(bad), 'answer')} of {name} {'is' if len(bad) == 1 else 'are'} neither yes nor no, "
            f"e.g. {shown}. Write yes or no, and drop rows without an answer."
        )
    answers: NDArray[np.bool_] = is_yes.to_numpy()
    return answers


def _check(graph: Graph, role: str) -> None:
    """Refuse links of items with themselves, and scores that are not numbers."""
    same = np.flatnonzero(graph.left == graph.right)
    if len(same):
        shown = ", ".join(map(short, graph.ids(graph.left[same[:EXAMPLES]])))
        raise InputError(
            f"{format_count(len(same), 'link')} of {graph.name} from an item to itself, e.g. {shown}. Drop these rows; "
            "items=... adds items without links."
        )
    if graph.score is None:
        return
    bad = np.flatnonzero(~np.isfinite(graph.score))
    if len(bad):
        ends = [graph.ids((graph.left[n], graph.right[n])) for n in bad[:EXAMPLES]]
        shown = ", ".join(f"{short(a)} and {short(b)}" for a, b in ends)
        raise InputError(
            f"{format_count(len(bad), 'link')} of the {role} ({graph.name}) without a score that is a finite number, "
            f"e.g. that of {shown}. Fix or drop these rows."
        )


def check_threshold(threshold: float) -> float:
    """Return a threshold that scores can be compared with.

    Raises:
        UsageError: It is not a finite number.
    """
    if not is_number(threshold) or not math.isfinite(threshold):
        raise UsageError(f"threshold={short(threshold)} is not a finite number.")
    return float(threshold)
