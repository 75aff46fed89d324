"""Worksheets: items drawn from a clustering, whose whole clusters people then label, and the truth that results.

Items are drawn by pseudo-random numbers derived from their ids, so that every engine draws the same ones. With equal
weights, that is drawing without replacement. Otherwise, an item of weight w is drawn if a number from the exponential
distribution with rate w is below a threshold, the score of the first item that was not drawn. The least of several such
numbers has the sum of their rates, so an ideal cluster of weight w came into the truth with probability 1 -
exp(-threshold · w).

A column of the worksheet says how items were drawn. A column survives whatever tool people label with: a spreadsheet, a
CSV file or a data frame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import ACTUAL, CLUSTER, ITEM, RESERVED, WEIGHT, Column, given_name, inside, keys, undrawn
from pointwise.engines import Engine, choose_engine
from pointwise.engines.base import Source
from pointwise.engines.chance import score_of, with_score, with_uniform
from pointwise.engines.queries import count, examples, from_rows
from pointwise.errors import InputError, UsageError
from pointwise.inputs.checks import check_repeats
from pointwise.inputs.composite import id_columns
from pointwise.inputs.ids import find_item_columns
from pointwise.inputs.links import table_of
from pointwise.inputs.options import ColumnNames, Options, Sampling, has_header
from pointwise.inputs.reading import Inputs, read_clusterings, read_table, with_columns
from pointwise.inputs.tables import Table, open_source
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, short

DESIGN = "sampling_design"
"""The column that says how the items of a worksheet were drawn."""

_KEY, _UNIFORM, _SCORE, _NUMBER = "_key", "_uniform", "_score", "_number"
_OURS = (*RESERVED[:-1], DESIGN)


@dataclass(frozen=True, repr=False)
class Worksheet(Result):
    """Items that were drawn, to be labelled: a row per item.

    Fill in its cluster, add a row for every other item that belongs to the same cluster, and the rows are a truth for
    `evaluate`, which reads from them how they were drawn.

    Args:
        rows: The items, with what is known about them.
        described: The columns.
        sampling: How the items were drawn.

    Examples:
        >>> import pointwise as pw
        >>> sheet = pw.sample_items([["i1", "i3"], ["i2"]], 2, seed=1)
        >>> sheet.sampling.how, sheet.sampling.drawn, sheet.sampling.population
        ('items', 2, 3)
    """

    rows: tuple[Mapping[str, Any], ...]
    described: tuple[Column, ...]
    sampling: Sampling

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        return self.described

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        return [dict(row) for row in self.rows]

    def drawing(self) -> Drawing:
        """Say what to show: the first rows."""
        weight = f" by {self.sampling.weight}" if self.sampling.weight else ""
        title = f"Worksheet: {len(self.rows):,} of {self.sampling.population:,} items drawn{weight}"
        shown = self.to_dicts()[:_SHOWN]
        cut = f"{len(shown)} of {len(self.rows):,} rows; " if len(shown) < len(self.rows) else ""
        hidden = (CLUSTER, *(column.name for column in self.described[_SHOWN:]))  # which people see in the file
        return Drawing(title, undrawn(self.described, hidden), shown, cut + _ADVICE)


_SHOWN = 5  # rows, and as many columns
_ADVICE = "label each item: fill in its cluster, and add a row for every other item of that cluster"


def sample_items(
    actual: Any,
    n: int,
    *,
    item: ColumnNames | None = None,
    cluster: ColumnNames | None = None,
    weight: str | None = None,
    weights: Any = None,
    attributes: Any = None,
    seed: int = 0,
    header: bool | Mapping[str, bool] = True,
    memory_limit: str | None = None,
    threads: int | None = None,
    engine: Engine | str | None = None,
) -> Worksheet:
    """Draw items whose clusters to label, for a truth from which values for all items can be estimated.

    Args:
        actual: The clustering to be evaluated, as `evaluate` takes it: the items to draw from.
        n: How many items to draw.
        item: Column or columns that identify an item.
        cluster: The same for clusters.
        weight: Column with the weight of an item, in any of the tables. Items are then drawn in proportion to it, which
            makes intervals of values with these weights narrower. Without it, all items are equally likely.
        weights: A table of items and their weights.
        attributes: A table of items and what is known about them, which the worksheet shows.
        seed: The same seed gives the same items, on every engine.
        header: Whether CSV files begin with the names of their columns.
        memory_limit: How much memory the engine may use before it spills to disk, such as "4GB".
        threads: How many cores the engine may use.
        engine: Where to run: "duckdb", "spark" or an engine.

    Returns:
        The worksheet. `write` makes a CSV or Parquet file of it.

    Raises:
        PointwiseError: So many items cannot be drawn from the inputs.

    Examples:
        >>> import pointwise as pw
        >>> sheet = pw.sample_items([["a", "b", "c"], ["d"], ["e", "f"]], 2, seed=1)
        >>> len(sheet), sheet.columns
        (2, ['item', 'cluster', 'actual_cluster', 'sampling_design'])
    """
    sources = (table_of(actual), weights, attributes)
    chosen = choose_engine(engine, sources, memory_limit=memory_limit, threads=threads)
    try:
        clusters = open_source(actual, chosen, role="actual clustering", header=has_header(header, "actual"))
        known = _open(attributes, chosen, "attributes", header)
        if weights is None and weight is not None and known is not None and weight not in clusters.columns:
            weights = known
        options = Options(item=item, cluster=cluster, weight=weight, header=header)
        (table,), weighed = read_clusterings(
            chosen, {"actual": clusters}, weights=weights, options=options, missing="drop"
        )
        return _draw(chosen, table, weighed, known, n=n, seed=seed, options=options)
    finally:
        if chosen is not engine:
            chosen.close()


def _open(source: Any, engine: Engine, role: str, header: bool | Mapping[str, bool]) -> Source | None:  # noqa: FBT001
    return None if source is None else open_source(source, engine, role=role, header=has_header(header, role))


def _draw(
    engine: Engine,
    table: Table,
    weighed: Table | None,
    known: Source | None,
    *,
    n: int,
    seed: int,
    options: Options,
) -> Worksheet:
    population = count(table.frame, engine)
    if not isinstance(n, int) or not 0 < n < population:
        raise UsageError(
            f"n={n!r} items cannot be drawn from {format_count(population, 'item')}: give a number from 1 to one less. "
            "If you label everything, say sampling='complete'."
        )
    drawn, next_score = _race(_weighed(table, weighed, engine), engine, n, seed)
    column = options.weight or (WEIGHT if weighed is not None else None)
    sampling = Sampling(
        "items",
        drawn=n,
        population=population,
        weight=column,
        rate=None if column is None else next_score,
    )
    facts, names = _look_up(known, table, [row[ITEM] for row in drawn], engine)
    ids = find_item_columns([table])
    item = options.item if isinstance(options.item, str) else ITEM
    design = _write_design(sampling, seed)
    rows = [
        {
            **(id_columns(ids.read(row[ITEM])) if ids.kinds else {item: row[ITEM]}),
            CLUSTER: None,
            ACTUAL: row[CLUSTER],
            **facts.get(row[ITEM], {}),
            DESIGN: design,
        }
        for row in drawn
    ]
    described = (
        *(ids.describe() if ids.kinds else keys(item)),
        Column(CLUSTER),
        Column(ACTUAL),
        *map(Column, names),
        Column(DESIGN),
    )
    return Worksheet(tuple(rows), described, sampling)


def _weighed(table: Table, weights: Table | None, engine: Engine) -> nw.LazyFrame:
    """Return the items with their weights; without weights, each is 1."""
    frame = table.frame
    if weights is not None:
        frame = frame.join(weights.frame.select(ITEM, WEIGHT), on=ITEM, how="left")
    elif WEIGHT not in frame.collect_schema().names():
        return frame.with_columns(nw.lit(1.0).alias(WEIGHT))
    weight = nw.col(WEIGHT)
    bad = frame.filter(weight.is_null() | ~((weight > _LIGHTEST) & (weight < _HEAVIEST)))
    number = count(bad, engine)
    if number:
        raise InputError(
            f"{format_count(number, 'item')} without a positive weight to draw by ({_LIGHTEST:g} to {_HEAVIEST:g}), "
            f"e.g. {examples(bad, engine)}."
        )
    return frame


_LIGHTEST, _HEAVIEST = 1e-100, 1e100


def _race(frame: nw.LazyFrame, engine: Engine, n: int, seed: int) -> tuple[Sequence[Mapping[str, Any]], float]:
    """Draw the items with the least scores; return them in this order, and the score of the next one."""
    keyed = frame.with_columns(nw.col(ITEM).cast(nw.String).alias(_KEY))
    chances = with_uniform(keyed, engine.uniform, _UNIFORM, nw.lit(f"{seed}|item|"), nw.col(_KEY))
    raced = with_score(chances, _UNIFORM, WEIGHT, _SCORE).sort(_SCORE, _KEY).head(n + 1)
    found = engine.collect(raced.select(ITEM, CLUSTER, _KEY, _UNIFORM, WEIGHT)).to_pylist()
    scores = {row[_KEY]: score_of(row[_UNIFORM], row[WEIGHT]) for row in found}  # the same, whatever engine found them
    ordered = sorted(found, key=lambda row: (scores[row[_KEY]], row[_KEY]))
    return ordered[:n], scores[ordered[n][_KEY]]


def _look_up(
    known: Source | None, table: Table, items: Sequence[Any], engine: Engine
) -> tuple[dict[Any, dict[str, Any]], list[str]]:
    """Find what attributes say about items; return it by item, and the names of the columns."""
    if known is None:
        return {}, []
    ids = table.item_columns if set(table.item_columns) <= set(known.columns) else None
    about = read_table(known, engine, role="attributes", item=ids, has_clusters=False)
    names = [c for c in known.columns if c.lower() not in (*_OURS, *about.item_columns)]
    drawn = from_rows([{ITEM: item} for item in items], engine)
    facts = with_columns(about, names, engine, like=drawn)
    check_repeats(facts, engine, among=drawn)
    rows = engine.collect(drawn.join(facts.frame, on=ITEM, how="inner")).to_pylist()
    return {row[ITEM]: {given_name(c): v for c, v in row.items() if c != ITEM} for row in rows}, names


def _write_design(sampling: Sampling, seed: int) -> str:
    facts = {"sampling": sampling.how, "drawn": sampling.drawn, "population": sampling.population, "seed": seed}
    return json.dumps(facts | ({"weight": sampling.weight, "rate": sampling.rate} if sampling.weight else {}))


def find_design(inputs: Inputs, engine: Engine) -> Sampling | None:
    """Read from the truth how its items were drawn, if it is a worksheet.

    Raises:
        InputError: It does not say so clearly, or items that were drawn have no label.
    """
    if DESIGN not in inputs.ideal.source.columns:
        return None
    truth = inputs.ideal.frame.select(ITEM)
    rows = truth.join(with_columns(inputs.ideal, [DESIGN], engine, like=truth).frame, on=ITEM, how="inner")
    told = rows.filter(~nw.col(inside(DESIGN)).is_null() & (nw.col(inside(DESIGN)) != ""))
    found = engine.collect(told.group_by(inside(DESIGN)).agg(nw.len().alias(_NUMBER)).head(_TWO)).to_pylist()
    if len(found) != 1:
        raise InputError(
            f"The column {DESIGN!r} of the truth holds {'several designs' if found else 'nothing'}. It must say how "
            "its items were drawn, once for all. Say so yourself with sampling=...."
        )
    sampling = _read_design(found[0][inside(DESIGN)])
    if sampling.drawn is not None and found[0][_NUMBER] < sampling.drawn:
        raise InputError(
            f"Of the {sampling.drawn:,} items that were drawn, the truth has {found[0][_NUMBER]:,} (the rows with a "
            f"value in {DESIGN!r}). Label all of them: values estimated from some are wrong."
        )
    return sampling


_TWO = 2


def _read_design(text: str) -> Sampling:
    try:
        facts = json.loads(text)
        names = {name: facts.get(name) for name in ("drawn", "population", "weight", "rate")}
        return Sampling(facts["sampling"], **names)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(
            f"The column {DESIGN!r} of the truth holds {short(text)}, which is not what `sample_items` wrote. Say how "
            "the truth was drawn with sampling=...."
        ) from error
