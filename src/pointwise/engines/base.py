"""What an engine is: a few verbs, and the tables it opens."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pointwise.columns import inside

if TYPE_CHECKING:
    import narwhals.stable.v2 as nw  # which `pointwise --help` does not need
    import pyarrow as pa

    from pointwise.engines.files import OpenFile


CLOSED = "This result was closed, by close() or at the end of a with block. Evaluate or load again."


class Load(Protocol):
    """Read some columns of a table; in a file without types, those named in `text` stay text."""

    def __call__(self, columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
        """Return the columns under the names they have `inside`; nothing is read until a verb of the engine asks."""
        ...


Step = Callable[..., "nw.LazyFrame"]
"""Makes a frame from frames."""


Uniform = Callable[["nw.LazyFrame", str, str], "nw.LazyFrame"]
"""Adds a column of pseudo-random numbers, as an engine's `uniform` does."""


class Hold(Protocol):
    """Apply a step to frames, and keep the result."""

    def __call__(self, step: Step, *frames: nw.LazyFrame, **settings: Hashable) -> nw.LazyFrame:
        """Return what the step makes of the frames."""
        ...


def apply(step: Step, *frames: nw.LazyFrame, **settings: Hashable) -> nw.LazyFrame:
    """Apply a step to frames, and keep nothing."""
    return step(*frames, **settings)


@dataclass(frozen=True)
class Labels:
    """A vector of labels, one per item.

    Args:
        count: How many there are.
        index: What tells which item a label belongs to: "order" (only its position), "numbers" (an index of 0, 1, 2,
            ..., which says the same) or "ids" (any other index).
        is_fitted: Whether an estimator gave them, so that -1 stands for no cluster.
    """

    count: int
    index: Literal["order", "numbers", "ids"] = "order"
    is_fitted: bool = False


@dataclass(frozen=True)
class Source:
    """A table that was found but not yet read.

    Args:
        name: What to call it in messages.
        columns: Names of its columns.
        load: Reads columns of it.
        is_typed: Whether it says which columns are numbers and which are text. A CSV file does not.
        files: The files it consists of, if any.
        labels: What is known of a vector of labels, one per item.
        ids: The columns that together identify an item, where the source itself says so, as tuples do.
        table: The table itself, if it is an Arrow table in memory, which knows how many nulls it has.
        scope: What its ids are local to, if it says so, such as the sample of a binning.
    """

    name: str
    columns: tuple[str, ...]
    load: Load
    is_typed: bool = True
    files: tuple[Path, ...] = ()
    labels: Labels | None = None
    ids: tuple[str, ...] = ()
    table: pa.Table | None = None
    scope: str | None = None


def is_surely_full(column: pa.ChunkedArray) -> bool:
    """Tell whether a column in memory has a value in every row; unusual types may hide missing values."""
    return not column.null_count and str(column.type) in _PLAIN


_PLAIN = frozenset(
    ["string", "large_string", "string_view", *(f"{u}int{bits}" for u in ("", "u") for bits in (8, 16, 32, 64))]
)


def as_source(name: str, frame: nw.LazyFrame) -> Source:
    """Wrap a frame that is already on the engine as a source."""
    import narwhals.stable.v2 as nw

    def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:  # noqa: ARG001
        return frame.select(*(nw.col(c).alias(inside(c)) for c in dict.fromkeys(columns)))

    return Source(name, tuple(frame.collect_schema().names()), load)


def load_own(source: Source, columns: Sequence[str]) -> nw.LazyFrame:
    """Load a table that pointwise made itself, whose names need no encoding."""
    import narwhals.stable.v2 as nw

    return source.load(columns).select(*(nw.col(inside(c)).alias(c) for c in dict.fromkeys(columns)))


def only_rows(source: Source, column: str, values: Sequence[Any]) -> Source:
    """Return a table with only the rows in which a column has one of a few values, on any engine."""
    import narwhals.stable.v2 as nw

    def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
        wanted = list(dict.fromkeys(columns))
        frame = source.load([*wanted, *([] if column in wanted else [column])], text=text)
        is_text = isinstance(frame.collect_schema()[inside(column)], nw.String)
        known = [str(value) if is_text else value for value in values]
        return frame.filter(nw.col(inside(column)).is_in(known)).select(*map(inside, wanted))

    return replace(source, load=load, table=None)


def is_spark_frame(source: Any) -> bool:
    """Tell whether a source is a data frame of Spark, classic or Connect, without loading PySpark."""
    return type(source).__module__.startswith("pyspark.sql") and hasattr(source, "sparkSession")


class Engine(Protocol):
    """Where data is read, held and computed.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> evaluation.engine.collect(evaluation.by_item(metrics="recall").lazy()).num_rows
        3
    """

    name: str
    inputs: set[Path]
    """The files that it was asked to read, which nothing made from them may replace."""

    def read(self, source: Any, *, header: bool = True) -> Source:
        """Open a path, a glob, several paths or a table in memory; `header` says whether CSV files have one."""
        ...

    def pin(self, files: Sequence[OpenFile]) -> Source:
        """Open Parquet files so that later reads see what they hold now, or fail because they were replaced.

        The files need not stay open after the call.
        """
        ...

    def look_up(self, source: Source, column: str, values: Sequence[Any]) -> Source:
        """Return a table with only the rows in which a column has one of a few values.

        The embedded engine reads the column first, and of the other columns no more than it must. Spark has nothing
        quicker than a filter.

        Args:
            source: The table.
            column: One of its columns, of text or of integers.
            values: What to look for, of the type that the column has.
        """
        ...

    def plan(self, step: Callable[..., nw.LazyFrame], *frames: nw.LazyFrame, **settings: Hashable) -> nw.LazyFrame:
        """Apply a step to frames.

        On few rows, building a query takes the embedded engine longer than running it, so it remembers what a step
        made of such columns.

        Args:
            step: What to do. It may depend only on the names and types of the frames' columns, and on the settings.
            frames: What to do it with, at most four.
            settings: Further arguments of the step.
        """
        ...

    def checkpoint(self, frame: nw.LazyFrame, *, most_rows: int | None = None) -> nw.LazyFrame:
        """Compute a frame once and hold the result, on disk if it does not fit in memory.

        Give `most_rows` if there are known to be few: Spark would otherwise hold them in hundreds of pieces.
        """
        ...

    def count_rows(self, frames: Sequence[nw.LazyFrame]) -> list[int]:
        """Count the rows of several frames in one query."""
        ...

    @staticmethod
    def uniform(frame: nw.LazyFrame, text: str, name: str) -> nw.LazyFrame:
        """Add a column of pseudo-random numbers between 0 and 1, determined only by the text in another column.

        A number is the first 52 bits of the text's MD5 hash, plus a half, divided by 2**52, so that all engines agree.
        """
        ...

    def collect(self, frame: nw.LazyFrame) -> pa.Table:
        """Compute a small frame and fetch it."""
        ...

    def write(self, frame: nw.LazyFrame, path: Path | str) -> None:
        """Compute a frame straight into a file; the ending of its path decides the format."""
        ...

    def scope(self) -> AbstractContextManager[None]:
        """Release at the end of a block what was checkpointed in it, so that an engine can be used for long."""
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Use the engine for several verbs and the frames between them, alone if it serves one thread at a time.

        Raises:
            EngineError: It was closed.
        """
        ...

    def cancel(self) -> None:
        """Interrupt what another thread is computing on the engine, without waiting.

        The other thread gets a KeyboardInterrupt from the embedded engine, and an EngineError from Spark.
        """
        ...

    def close(self) -> None:
        """Release everything that was checkpointed. The engine and its frames cannot be used afterwards."""
        ...
