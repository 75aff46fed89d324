"""The embedded engine: DuckDB, for everything that one machine can hold."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import Any

import duckdb
import narwhals.stable.v2 as nw
import pyarrow as pa

from pointwise.columns import inside
from pointwise.engines import arrow, files
from pointwise.engines.base import CLOSED, Source, Step, only_rows
from pointwise.errors import EngineError, SourceError, UsageError
from pointwise.text.values import format_count

_RENAMED_BY_JSON = ("DATE", "TIME", "TIMESTAMP", "UUID")  # types that DuckDB guesses for JSON strings


class DuckDBEngine:
    """An in-memory database that spills to a temporary folder.

    Without limits of its own, an engine shares one database with the others of this process, because starting
    a database takes longer than a small evaluation.
    """

    name = "duckdb"

    def __init__(self, *, memory_limit: str | None = None, threads: int | None = None) -> None:
        has_limits = memory_limit is not None or threads is not None
        self._database = _Database(memory_limit=memory_limit, threads=threads) if has_limits else _shared_database()
        self._connection = self._database.connection.cursor()
        self._handles: list[int] = []
        self._lock = threading.RLock()
        self._is_closed = False
        # After two seconds a progress bar would mix with the program's output. The setting is per connection.
        self._connection.execute("SET enable_progress_bar = false")
        self._names = (f"checkpoint_{n}" for n in itertools.count())
        self._held: list[str] = []
        self.inputs: set[Path] = set()

    def read(self, source: Any, *, header: bool = True) -> Source:
        """Open a path, a glob, several paths or a table in memory; `header` says whether CSV files have one."""
        if files.is_path(source):
            return self._read_files(files.find_files(source), header=header)
        return self._read_table(source)

    def pin(self, opened: Sequence[files.OpenFile]) -> Source:
        """Open Parquet files through handles of our own, which stay with the files even if their names do not."""
        handles = [os.dup(file.handle) for file in opened]
        if not self._handles:
            weakref.finalize(self, _let_go, self._connection, self._handles)
            _pinning.append(self)
        self._handles += handles
        # Windows has no names for handles, but there an open file cannot be replaced.
        named = [_HANDLES / str(h) if _HANDLES.is_dir() else f.path for h, f in zip(handles, opened, strict=True)]
        name = _name([file.path for file in opened])
        with _translated_errors(name):
            columns, load = self._read_parquet(tuple(named))
        return Source(name, columns, load)

    def look_up(self, source: Source, column: str, values: Sequence[Any]) -> Source:
        """Read one column of Parquet files to find the numbers of the rows, and then only these rows.

        For one value a filter does as well, and reads little of a sorted file. For several it would read all columns.
        """
        is_parquet = bool(source.files) and files.format_of(source.files) == "parquet"
        if not is_parquet or len(values) <= 1 or _PLACES & {name.lower() for name in source.columns}:
            return only_rows(source, column, values)
        with _translated_errors(source.name):
            whole = self._read_numbered(source.files)
            own = whole.filter(_is_among(column, values)).project(f"{_FILE}, {_ROW}").fetchall()
            rows: dict[str, list[int]] = {}
            for file, row in own:
                rows.setdefault(file, []).append(row)
            parts = [self._read_numbered([Path(file)]).filter(_is_among(_ROW, found)) for file, found in rows.items()]
            relation = reduce(lambda a, b: a.union(b), parts) if parts else whole.limit(0)
        return replace(source, load=partial(_select, relation))

    def _read_numbered(self, found: Sequence[Path]) -> duckdb.DuckDBPyRelation:
        """Read Parquet files with the name of the file and the number of the row in it."""
        return self._connection.read_parquet(_as_patterns(found), file_row_number=True, filename=True)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Drop at the end of a block the temporary tables that were made in it."""
        before = len(self._held)
        try:
            yield
        finally:
            while len(self._held) > before:
                self._connection.execute(f"DROP TABLE {self._held.pop()}")

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Use the connection, which serves one thread at a time."""
        with self._lock:
            if self._is_closed:
                raise EngineError(CLOSED)
            with _translated_errors():
                yield

    def plan(self, step: Step, *frames: nw.LazyFrame, **settings: Hashable) -> nw.LazyFrame:
        """Apply a step to frames, with the query that was written down when the step first met such columns."""
        relations = [frame.to_native() for frame in frames]
        columns = tuple(tuple(zip(r.columns, map(str, r.types), strict=True)) for r in relations)
        key = step, columns, tuple(sorted(settings.items()))
        if key not in _plans:
            _remember(key, self._write_plan(step, columns, settings))
        query = _plans[key]
        if query is None:
            return step(*frames, **settings)
        # DuckDB finds the relations by these names.
        input_0, input_1, input_2, input_3 = (*relations, None, None, None)[:_INPUTS]  # noqa: RUF059
        return _lazy(self._connection.sql(query))

    def _write_plan(self, step: Step, columns: Sequence[Columns], settings: Mapping[str, Hashable]) -> str | None:
        """Write down what a step makes of empty tables with such columns; None if a type has no name in SQL."""
        with closing(self._connection.cursor()) as connection:
            for n, named in enumerate(columns):
                described = ", ".join(f"{_quoted(column)} {type_}" for column, type_ in named)
                try:
                    connection.execute(f"CREATE TEMP TABLE input_{n} ({described})")
                except duckdb.Error:
                    return None
            frames = [_lazy(connection.table(f"input_{n}")) for n in range(len(columns))]
            query: str = step(*frames, **settings).to_native().sql_query()
            return query

    def checkpoint(self, frame: nw.LazyFrame, *, most_rows: int | None = None) -> nw.LazyFrame:  # noqa: ARG002
        """Compute a frame once and hold the result as a temporary table."""
        with _translated_errors():
            return self._materialise(frame)

    def _materialise(self, frame: nw.LazyFrame) -> nw.LazyFrame:
        name, relation = next(self._names), frame.to_native()  # noqa: F841  # found by its name here
        self._connection.execute(f"CREATE TEMP TABLE {name} AS FROM relation")
        self._held.append(name)
        return _lazy(self._connection.table(name))

    def count_rows(self, frames: Sequence[nw.LazyFrame]) -> list[int]:
        """Count the rows of several frames, each by itself, because files answer that from their statistics."""
        lengths = [frame.select(nw.len().alias("rows")) for frame in frames]
        numbered = [length.with_columns(nw.lit(n).alias("frame")) for n, length in enumerate(lengths)]
        counts = {row["frame"]: int(row["rows"]) for row in self.collect(nw.concat(numbered)).to_pylist()}
        return [counts[n] for n in range(len(frames))]

    @staticmethod
    def uniform(frame: nw.LazyFrame, text: str, name: str) -> nw.LazyFrame:
        """Add a column of pseudo-random numbers between 0 and 1, determined only by the text in another column."""
        whole = f"CAST('0x' || substr(md5({_quoted(text)}), 1, 13) AS BIGINT)"
        return _lazy(frame.to_native().project(f"*, ({whole} + 0.5::DOUBLE) / {16**13}::DOUBLE AS {_quoted(name)}"))

    def collect(self, frame: nw.LazyFrame) -> pa.Table:
        """Compute a small frame and fetch it."""
        with _translated_errors():
            return frame.to_native().to_arrow_table()

    def write(self, frame: nw.LazyFrame, path: Path | str) -> None:
        """Compute a frame straight into a file; the ending of its path decides the format."""
        target, relation = str(path).replace("'", "''"), frame.to_native()  # noqa: F841  # found by its name here
        with _translated_errors(str(path), verb="written"):
            self._connection.execute(f"COPY (FROM relation) TO '{target}' ({_copy_options(path)})")

    def cancel(self) -> None:
        """Interrupt the query that another thread is running, if any."""
        with suppress(duckdb.ConnectionException):
            self._connection.interrupt()

    def close(self) -> None:
        """Release everything that was checkpointed, once no other thread is working."""
        with self._lock:
            self._is_closed = True
            _let_go(self._connection, self._handles)
            self._database.close()

    def _read_table(self, table: Any) -> Source:
        name, names, take = arrow.open_table(table)

        def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:  # noqa: ARG001
            with _translated_errors():
                return _lazy(self._connection.from_arrow(take(columns)))

        return Source(name, names, load, table=table if isinstance(table, pa.Table) else None)

    def _read_files(self, found: tuple[Path, ...], *, header: bool) -> Source:
        name = _name(found)
        self.inputs.update(file.resolve() for file in found)
        readers: dict[str, Any] = {
            "parquet": self._read_parquet,
            "csv": partial(self._read_csv, header=header),
            "json": self._read_json,
            "arrow": self._read_arrow_files,
        }
        kind = files.format_of(found)
        if kind != "parquet" and all(file.stat().st_size == 0 for file in found):
            raise SourceError(f"{name!r} is empty.")
        with _translated_errors(name):
            columns, load = readers[kind](found)
        return Source(name, columns, load, is_typed=kind != "csv", files=found)

    def _read_parquet(self, found: tuple[Path, ...]) -> tuple[tuple[str, ...], Any]:
        relation = self._connection.read_parquet(_as_patterns(found))
        return tuple(relation.columns), partial(_select, relation)

    def _read_arrow_files(self, found: tuple[Path, ...]) -> tuple[tuple[str, ...], Any]:
        dataset = arrow.read_arrow_files(found)
        return tuple(dataset.schema.names), partial(_select, self._connection.from_arrow(dataset))

    def _read_json(self, found: tuple[Path, ...]) -> tuple[tuple[str, ...], Any]:
        patterns = _as_patterns(found)
        # Types come from all rows, because the first may hold only whole numbers. Folder names are ignored.
        options: dict[str, Any] = {"hive_partitioning": False, "sample_size": -1, "maximum_sample_files": len(found)}
        relation = self._connection.read_json(patterns, **options)
        types = {
            column: "VARCHAR" if str(type_).startswith(_RENAMED_BY_JSON) else str(type_)
            for column, type_ in zip(relation.columns, relation.types, strict=True)
        }
        relation = self._connection.read_json(patterns, columns=types, hive_partitioning=False)
        mixed = {column for column, type_ in types.items() if type_ == "JSON"}

        def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
            for column in mixed.intersection(columns):
                raise files.refuse_mixed(column, _name(found))
            return _select(relation, columns, text=text)

        return tuple(types), load

    def _read_csv(self, found: tuple[Path, ...], *, header: bool) -> tuple[tuple[str, ...], Any]:
        groups = files.group_csv_files(found, header=header)
        names = next(iter(groups)).columns

        def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
            parts = []
            for head, same in groups.items():
                with _translated_errors(str(same[0])):
                    parts.append(self._read_csv_group(head, same, columns, text))
            with _translated_errors(str(found[0])):
                relation = reduce(lambda a, b: a.union(b), parts)
                return self._materialise(_lazy(relation))  # parsing text is the slow part: do it once

        return names, load

    def _read_csv_group(
        self, head: files.CsvHead, same: Sequence[Path], columns: Sequence[str], text: Sequence[str]
    ) -> duckdb.DuckDBPyRelation:
        """Read files that have the same head, under the names that columns have inside."""
        options: dict[str, Any] = {
            "header": head.has_header,
            "delimiter": head.delimiter,
            "skiprows": head.skipped_lines,
            "quotechar": '"',
            "escapechar": '"',
            "comment": "",
            "allow_quoted_nulls": False,
            "hive_partitioning": False,  # a folder called cluster=9 is not a column
        }
        patterns, names = _as_patterns(same), [inside(c) for c in head.columns]

        def read_text() -> duckdb.DuckDBPyRelation:
            types = dict.fromkeys(names, "VARCHAR")
            return self._connection.read_csv(patterns, auto_detect=False, columns=types, **options)

        def read_typed() -> duckdb.DuckDBPyRelation:
            types = dict.fromkeys(map(inside, text), "VARCHAR")
            try:
                return self._connection.read_csv(patterns, names=names, dtype=types, sample_size=-1, **options)
            except duckdb.InvalidInputException:
                read_text().count("*").fetchall()  # to find out which line is wrong
                raise

        relation = read_text() if set(columns) <= set(text) else read_typed()
        return relation.project(", ".join(_quoted(inside(c)) for c in dict.fromkeys(columns)))


Columns = tuple[tuple[str, str], ...]
"""Names and types of the columns of a relation."""

_INPUTS = 4
_plans: dict[Hashable, str | None] = {}
_MOST_PLANS = 1_000


def _remember(key: Hashable, query: str | None) -> None:
    """Keep a query; if there are too many, forget the oldest."""
    while len(_plans) >= _MOST_PLANS:
        _plans.pop(next(iter(_plans)), None)
    _plans[key] = query


_FILE, _ROW = "filename", "file_row_number"
_PLACES = {_FILE, _ROW}


def _is_among(column: str, values: Sequence[Any]) -> duckdb.Expression:
    return duckdb.ColumnExpression(column).isin(*map(duckdb.ConstantExpression, values))


def _select(relation: duckdb.DuckDBPyRelation, columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:  # noqa: ARG001
    named = (f"{_quoted(c)} AS {_quoted(inside(c))}" for c in dict.fromkeys(columns))
    return _lazy(relation.project(", ".join(named)))


def _lazy(relation: duckdb.DuckDBPyRelation) -> nw.LazyFrame:
    frame: nw.LazyFrame = nw.from_native(relation)
    return frame


def _quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def _as_patterns(found: Sequence[Path]) -> list[str]:
    """Escape paths, because DuckDB takes every path for a pattern."""
    return [str(file).replace("[", "[[]").replace("*", "[*]").replace("?", "[?]") for file in found]


_COPY_OPTIONS = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd",
    ".csv": "FORMAT csv, HEADER true",
    ".json": "FORMAT json, ARRAY true",
    ".jsonl": "FORMAT json",
}


def _copy_options(path: Path | str) -> str:
    target = files.target_of(path)
    return _COPY_OPTIONS[target.ending] + (", COMPRESSION gzip" if target.is_gzip else "")


def _name(found: Sequence[Path]) -> str:
    return str(found[0]) if len(found) == 1 else f"{found[0]} and {format_count(len(found) - 1, 'more file')}"


_HANDLES = Path("/dev/fd")  # names of the files that a process has open

# A frame that was handed out does not keep its engine alive. So the latest engines that pin files are kept here, and
# such a frame works for a while. The connection and the handles of an older engine are closed together: then the frame
# fails, and does not read another file under the same handle.
_pinning: deque[DuckDBEngine] = deque(maxlen=32)


def _let_go(connection: duckdb.DuckDBPyConnection, handles: list[int]) -> None:
    connection.close()
    while handles:
        os.close(handles.pop())


_LOOKED_UP = 1_000  # rows: a join with so few reads only the parts of a sorted file that have them


class _Database:
    """An in-memory database with a folder to spill to that only this user can read."""

    def __init__(self, *, memory_limit: str | None = None, threads: int | None = None, is_shared: bool = False) -> None:
        self._is_shared = is_shared
        self._folder = _make_spill_folder()
        self._remove = weakref.finalize(self, _remove_folder, self._folder, os.getpid())
        config: dict[str, Any] = {
            "preserve_insertion_order": False,
            "temp_directory": self._folder,
            "dynamic_or_filter_threshold": _LOOKED_UP,
        }
        limits = {"memory_limit": memory_limit, "threads": threads}
        given = {name: value for name, value in limits.items() if value is not None}
        try:
            self.connection = duckdb.connect(config=config | given)
        except duckdb.Error as error:
            self._remove()
            said = " and ".join(f"{name}={value!r}" for name, value in given.items())
            raise UsageError(f"DuckDB cannot start with {said}: {_first_line(error)}") from error

    def close(self) -> None:
        """Release everything, unless other engines share it."""
        if not self._is_shared:
            self.connection.close()
            self._remove()


def _make_spill_folder() -> str:
    try:
        return tempfile.mkdtemp(prefix="pointwise-")
    except OSError as error:
        raise EngineError(f"There is no temporary folder to write to: {files.say_why(error)}. Set TMPDIR.") from error


def _remove_folder(folder: str, owner: int) -> None:
    if os.getpid() == owner:  # not in a process that was forked from it
        shutil.rmtree(folder, ignore_errors=True)


_starting = threading.Lock()
_shared: list[_Database] = []


def _shared_database() -> _Database:
    with _starting:
        if not _shared:
            _shared.append(_Database(is_shared=True))
        return _shared[0]


_RAGGED = re.compile(
    r"CSV Error on Line: (?P<line>\d+)\nOriginal Line: (?P<text>.*)\n"
    r"Expected Number of Columns: (?P<columns>\d+)(?:.|\n)*^ *file = (?P<file>.*)$",
    re.MULTILINE,
)


_OPEN_QUOTE = re.compile(
    r"CSV Error on Line: (?P<line>\d+)\n(?:.|\n)*unterminated quote(?:.|\n)*^ *file = (?P<file>.*)$", re.MULTILINE
)


_INVALID = "state machine reached an invalid state"


def _find_csv_problem(text: str, name: str | None) -> str | None:
    """Say what is wrong with a CSV file, in the cases in which DuckDB's own words would not help."""
    if ragged := _RAGGED.search(text):
        return (
            f"{ragged['file']!r} cannot be read: line {ragged['line']} ({ragged['text']}) does not have "
            f"{ragged['columns']} columns, as its header does."
        )
    if opened := _OPEN_QUOTE.search(text):
        return f"{opened['file']!r} cannot be read: a quote that is opened in line {opened['line']} is never closed."
    if _INVALID in text:
        return (
            f"{name!r} cannot be read as CSV: lines end in different ways, or quotes are not closed. Write it again "
            "with one kind of line end, and with doubled quotes inside quoted text."
        )
    return None


@contextmanager
def _translated_errors(name: str | None = None, *, verb: str = "read") -> Iterator[None]:
    """Turn DuckDB's errors into ours, so that callers need to know only one hierarchy."""
    try:
        yield
    except duckdb.OutOfMemoryException as error:
        raise EngineError(
            f"The engine ran out of memory or of temporary disk space: {_first_line(error)} "
            "Allow it more with memory_limit=..., or free space in the temporary folder."
        ) from error
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.ConnectionException as error:
        raise EngineError(CLOSED) from error
    except RuntimeError as error:
        # What DuckDB raises when Ctrl-C reaches a running query.
        if str(error) == "Query interrupted":
            raise KeyboardInterrupt from error
        raise
    except (duckdb.InternalException, duckdb.FatalException) as error:
        raise EngineError(f"The engine failed: {_first_line(error)}") from error
    except duckdb.Error as error:
        problem = _find_csv_problem(str(error), name)
        if problem is not None:
            raise SourceError(problem) from error
        what = f"{name!r}" if name else "The data"
        kind = SourceError if verb == "read" else EngineError
        raise kind(f"{what} cannot be {verb}: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    return " ".join(lines[:3])
