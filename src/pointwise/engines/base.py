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
    """Read some columns of a table; in a file without types, keep those named in `text` as they are."""

    def __call__(self, columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
        """Return the columns under the names they have `inside`, unread until an engine's verb asks for them."""
        ...


Step = Callable[..., "nw.LazyFrame"]
"""Makes a frame of frames."""


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
        index: What says which label is which item's: "order" (nothing but their order), "numbers" (an index of
            0, 1, 2, ..., which says the same) or "ids" (an index of another kind).
        is_fitted: Whether an estimator gave them, so that -1 stands for no cluster.
    """

    count: int
    index: Literal["order", "numbers", "ids"] = "order"
    is_fitted: bool = False


@dataclass(frozen=True)
class Source:
    """A table that was found but not read.

    Args:
        name: What to call it in messages.
        columns: Names of its columns.
        load: Reads columns of it.
        is_typed: Whether it says which columns are numbers and which are text. A CSV file does not.
        files: The files it consists of, if it does.
        labels: What is known of a vector of labels, one per item.
        ids: The columns that identify an item together, where the source says so itself: tuples are ids.
        table: The table itself, if it is an Arrow table in memory, which knows its nulls.
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
    """Call the rows of a table in which a column has one of a few values a table, whatever the engine."""
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

    def read(self, source: Any, *, header: bool = True) -> Source:
        """Open a path, a glob, several paths or a table in memory; `header` says whether CSV files have one."""
        ...

    def pin(self, files: Sequence[OpenFile]) -> Source:
        """Open Parquet files so that what they hold now is read, or an error says that they were replaced.

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

        To build a query takes the embedded engine longer than to run it on few rows, so it remembers what a step made
        of such columns.

        Args:
            step: What to do. Of the frames it looks at nothing but the names and types of their columns, and at nothing
                else but the settings.
            frames: What to do it with, at most four.
            settings: Further arguments of the step.
        """
        ...

    def checkpoint(self, frame: nw.LazyFrame, *, most_rows: int | None = None) -> nw.LazyFrame:
        """Compute a frame once and hold the result, on disk if it does not fit in memory.

        Say if it is known to have few rows: Spark would otherwise hold them in hundreds of pieces.
        """
        ...

    def count_rows(self, frames: Sequence[nw.LazyFrame]) -> list[int]:
        """Count the rows of several frames in one query."""
        ...

    def uniform(self, frame: nw.LazyFrame, text: str, name: str) -> nw.LazyFrame:
        """Add a column of pseudo-random numbers between 0 and 1, determined only by the text in another column.

        A number is the first 52 bits of the text's MD5 hash, plus a half, so that all engines agree.
        """
        ...

    def collect(self, frame: nw.LazyFrame) -> pa.Table:
        """Compute a small frame and fetch it."""
        ...

    def write(self, frame: nw.LazyFrame, path: Path | str) -> None:
        """Compute a frame straight into a file, in the format that the path's ending says."""
        ...

    def scope(self) -> AbstractContextManager[None]:
        """Release at the end of a block what was checkpointed in it, so that an engine can be used for long."""
        ...

    def turn(self) -> AbstractContextManager[None]:
        """Use the engine for several verbs and all frames between them, alone if it serves one thread at a time.

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
