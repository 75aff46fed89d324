"""Results: what everything that a user holds can do, whatever it is about.

A result describes its columns and gives its rows and how to draw them. Conversions, files, terminal and notebook follow
from that, so nobody has to remember which result can do what.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw

from pointwise.columns import NUMBERS, Column, Kind
from pointwise.engines import Engine, start_engine
from pointwise.engines.files import as_path, is_address, target_of, whole_file
from pointwise.engines.queries import from_rows
from pointwise.errors import UsageError
from pointwise.text.drawing import Drawing
from pointwise.text.formulas import BEGINS, GUARD, NUMBER, guard
from pointwise.text.markdown import draw_markdown
from pointwise.text.notebook import draw_html
from pointwise.text.terminal import draw_table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_ROW = "_row"


class Result(ABC):
    """Rows that convert, write and draw themselves.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> result = evaluation.overall
        >>> len(result), result.to_dicts()[0]["metric"], result.to_arrow().num_rows
        (4, 'precision', 4)
        >>> result.columns
        ['metric', 'value', 'low', 'high', 'meaning']
        >>> result.describe()[1].kind, result.drawing().title
        (<Kind.METRIC: 'metric'>, 'Overall: 3 items in 2 ideal clusters, weight 3')
        >>> evaluation.by_ideal_cluster(metrics="recall").to_markdown().splitlines()[-3]
        '| 1 | 1 | 1 | 33.3% | 0.0000 | 1.0000 |'
    """

    @abstractmethod
    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""

    @abstractmethod
    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""

    @abstractmethod
    def drawing(self) -> Drawing:
        """Say what to show."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [column.name for column in self.describe()]

    def to_arrow(self) -> pa.Table:
        """Return the rows as a PyArrow table; ids are text where they are of several types."""
        return rows_as_table(self.to_dicts(), self.describe())

    def to_pandas(self) -> pd.DataFrame:
        """Return the rows as a pandas data frame."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> pl.DataFrame:
        """Return the rows as a Polars data frame."""
        import polars as pl

        return pl.DataFrame(self.to_arrow())

    def write(self, path: str | os.PathLike[str], *, guard_formulas: bool = False) -> None:
        """Write the rows to a file that ends in .parquet, .csv, .json or .jsonl. It appears when it is complete.

        Args:
            path: The file to write.
            guard_formulas: Whether to put an apostrophe in front of text in a CSV file that a spreadsheet would take
                for a formula: what begins with =, +, -, @, a tab or a line break and is not a number.
        """
        table = self.to_arrow()
        numbered = table.append_column(_ROW, [range(len(table))])
        engine = start_engine()
        try:
            frame = from_rows(numbered, engine).sort(_ROW)
            write_frame(frame.select(*table.column_names), path, engine, guard_formulas=guard_formulas)
        finally:
            engine.close()

    def __iter__(self) -> Iterator[Any]:
        """Go through the rows."""
        return iter(self.to_dicts())

    def __len__(self) -> int:
        """Count the rows."""
        return len(self.to_dicts())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rows to any tool that speaks Arrow."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        """Draw the rows as text for a terminal."""
        return draw_table(self.drawing())

    def to_markdown(self) -> str:
        """Draw the rows as a Markdown table."""
        return draw_markdown(self.drawing())

    def _repr_html_(self) -> str:
        return draw_html(self.drawing())


def write_frame(
    frame: nw.LazyFrame, path: str | os.PathLike[str], engine: Engine, *, guard_formulas: bool = False
) -> None:
    """Compute a frame into a file, which appears when it is complete; an address is left to the engine."""
    if guard_formulas:
        check_guard(path)
        frame = _guarded(frame)
    if is_address(as_path(path)):
        engine.write(frame, os.fspath(path))
        return
    with whole_file(path, inputs=engine.inputs) as unfinished:
        engine.write(frame, unfinished)


def check_guard(path: str | os.PathLike[str]) -> None:
    """Refuse to guard formulas in a file that has none.

    Raises:
        UsageError: It is not a CSV file.
    """
    if target_of(as_path(path)).ending != ".csv":
        raise UsageError(f"guard_formulas=True is for CSV only, and {str(path)!r} is not a CSV file.")


def _guarded(frame: nw.LazyFrame) -> nw.LazyFrame:
    """Put an apostrophe in front of names and text that a spreadsheet would take for a formula."""
    texts = [name for name, dtype in frame.collect_schema().items() if isinstance(dtype, nw.String)]
    cells = [nw.when(_is_formula(name)).then(nw.concat_str([nw.lit(GUARD), nw.col(name)])) for name in texts]
    guarded = [cell.otherwise(nw.col(name)).alias(name) for cell, name in zip(cells, texts, strict=True)]
    names = {name: guard(name) for name in frame.collect_schema().names() if guard(name) != name}
    return frame.with_columns(*guarded).rename(names)


def _is_formula(column: str) -> nw.Expr:
    return nw.col(column).str.contains(BEGINS) & ~nw.col(column).str.contains(NUMBER)


def rows_as_table(rows: Sequence[Mapping[str, Any]], columns: Sequence[Column]) -> pa.Table:
    """Turn rows into a table with the given columns."""
    import pyarrow as pa

    return pa.table({c.name: _as_array([row.get(c.name) for row in rows], c.kind) for c in columns})


def _as_array(values: Sequence[Any], kind: Kind) -> pa.Array:
    """Give values a type: that of their kind if there are none, and text if they have several."""
    import pyarrow as pa

    try:
        array = pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([None if value is None else str(value) for value in values])
    return array.cast(_type_of(kind)) if pa.types.is_null(array.type) else array


def _type_of(kind: Kind) -> pa.DataType:
    import pyarrow as pa

    if kind is Kind.COUNT:
        return pa.int64()
    return pa.float64() if kind in NUMBERS else pa.string()
