"""The Spark engine: for what one machine cannot hold, and for data that lives in a lake."""

from __future__ import annotations

import glob
import gzip
import io
import itertools
import os
import re
import secrets
import shutil
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import reduce
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import pyarrow as pa
import pyarrow.compute
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pointwise.columns import inside
from pointwise.engines import arrow, files
from pointwise.engines.base import CLOSED, Source, Step, is_spark_frame, only_rows
from pointwise.errors import EngineError, RunError, SourceError, UsageError
from pointwise.progress import current_phase

try:
    from py4j.protocol import Py4JJavaError
except ImportError:  # a client of Spark Connect needs no Java and no bridge to it
    Py4JJavaError = PySparkException

_OWN_SETTINGS = {
    # PySpark notes the caller of every operation on a column, in a dozen calls to Java; our expressions have thousands.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
}
_FEW_ROWS = 1_000_000  # that are held in as few pieces as keep the cores busy
_ROWS_OF_A_TASK = 100_000  # which take about as long as starting a task
_HEAD_LINES = 100  # of a CSV file, to find its header behind comments
_ABSENT = "\x01"
_DESCRIPTION = "spark.job.description"
_UNREADABLE = ("FAILED_READ_FILE", "CANNOT_READ_FILE", "MALFORMED", "UNABLE_TO_INFER_SCHEMA", "PATH_NOT_FOUND")


class SparkEngine:
    """A Spark session that the caller owns; the engine only releases what it asked Spark to hold.

    Frames of PySpark classic and of Spark Connect both work. Paths are read by Spark, so they may be anything
    that it can reach: `hdfs://`, `s3a://`, globs, folders of parts.

    Args:
        session: Where to run; by default the active session, or a new one.
        master: The cluster to start a new session on, such as "yarn" or "local[*]".
        conf: Settings for a new session.
    """

    name = "spark"

    def __init__(
        self, session: Any = None, *, master: str | None = None, conf: Mapping[str, str] | None = None
    ) -> None:
        self.session = session or _start_session(master, conf or {})
        self._held: list[Any] = []
        self._pinned: dict[Path, tuple[int, ...]] = {}
        self.inputs: set[Path] = set()
        self._is_closed = False
        self._tag = f"pointwise-{secrets.token_hex(8)}"  # of the operations that this engine starts

    def read(self, source: Any, *, header: bool = True) -> Source:
        """Open a path, a glob, several paths, a Spark data frame or a table in memory."""
        if is_spark_frame(source):
            return Source("a pyspark DataFrame", tuple(source.columns), _loader(source))
        if files.is_path(source):
            parts = source if isinstance(source, (list, tuple)) else [source]
            return self._read_paths([os.fspath(part) for part in parts], header=header)
        name, names, take = arrow.open_table(source)
        known = source if isinstance(source, pa.Table) else None
        return Source(name, names, lambda columns, text=(): self._lazy(take(columns)), table=known)  # noqa: ARG005

    def pin(self, opened: Sequence[files.OpenFile]) -> Source:
        """Open Parquet files, and remember which they are: executors read them by name, at any later time."""
        self._pinned = {file.path: file.identity for file in opened} | self._pinned
        paths = [str(file.path) for file in opened]
        with self._unchanged(), self._described(), _translated_errors(paths[0]):
            columns, load = self._read_parquet([_escaped(path) for path in paths])
        return Source(paths[0], columns, load)

    def look_up(self, source: Source, column: str, values: Sequence[Any]) -> Source:
        """Filter a table: executors read all of a column, however few rows are wanted."""
        return only_rows(source, column, values)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Use the session, which serves any number of threads."""
        if self._is_closed:
            raise EngineError(CLOSED)
        with _translated_errors():
            yield

    @contextmanager
    def _unchanged(self) -> Iterator[None]:
        """Make sure, before and after, that no pinned file was replaced."""
        self._check_pinned()
        try:
            yield
        finally:  # also if the work failed, because this may be why
            self._check_pinned()

    def _check_pinned(self) -> None:
        for path, identity in self._pinned.items():
            if files.identity_of(path) != identity:
                raise RunError(
                    f"{str(path)!r} was replaced or removed after it was loaded. Load the run again, with an engine of "
                    "its own."
                )

    def plan(self, step: Step, *frames: nw.LazyFrame, **settings: Hashable) -> nw.LazyFrame:
        """Apply a step to frames; Spark plans anew what it runs."""
        return step(*frames, **settings)

    def checkpoint(self, frame: nw.LazyFrame, *, most_rows: int | None = None) -> nw.LazyFrame:
        """Have Spark hold a frame from its first use on, in memory or on disk.

        Held partitions that are lost with an executor are computed again, which Spark's own checkpoints could not do,
        because they cut the lineage.
        """
        native = frame.to_native()
        if most_rows is not None and most_rows <= _FEW_ROWS:
            native = native.coalesce(1 + most_rows // _ROWS_OF_A_TASK)
        held = native.persist()
        self._held.append(held)
        return _frame(held)

    def count_rows(self, frames: Sequence[nw.LazyFrame]) -> list[int]:
        """Count the rows of several frames together, because Spark starts a job for every sum."""
        parts = [frame.to_native().selectExpr(f"{n} AS frame") for n, frame in enumerate(frames)]
        together = reduce(lambda a, b: a.unionAll(b), parts)
        counts = together.selectExpr(*(f"count_if(frame = {n}) AS rows_{n}" for n in range(len(frames))))
        (row,) = self.collect(_frame(counts)).to_pylist()
        return list(row.values())

    @staticmethod
    def uniform(frame: nw.LazyFrame, text: str, name: str) -> nw.LazyFrame:
        """Add a column of pseudo-random numbers between 0 and 1, determined only by the text in another column."""
        whole = f"CAST(conv(substr(md5({_quoted(text)}), 1, 13), 16, 10) AS BIGINT)"
        return _frame(frame.to_native().selectExpr("*", f"({whole} + 0.5D) / {16**13}.0D AS {_quoted(name)}"))

    def collect(self, frame: nw.LazyFrame) -> pa.Table:
        """Compute a small frame and fetch it."""
        with self._unchanged(), self._described(), _translated_errors():
            return frame.to_native().toArrow()

    def write(self, frame: nw.LazyFrame, path: Path | str) -> None:
        """Compute a frame into a folder of Parquet parts, or into one text file."""
        target = files.target_of(path)
        native = frame.to_native()
        with self._unchanged(), self._described(), _translated_errors(str(path), verb="written"):
            if target.ending == ".parquet":
                native.write.parquet(str(path), compression="zstd")
            elif files.is_address(path):
                raise UsageError(f"Cannot write {str(path)!r}: Spark writes only Parquet to an address.")
            else:
                _write_text(native, Path(path), target)

    def cancel(self) -> None:
        """Interrupt the operations that other threads have started with this engine."""
        self.session.interruptTag(self._tag)

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Release at the end of a block what was checkpointed in it."""
        before = len(self._held)
        try:
            yield
        finally:
            self._release(before)

    def close(self) -> None:
        """Release everything that Spark holds for this engine. The session stays."""
        self._is_closed = True
        self._release(0)

    def _release(self, kept: int) -> None:
        """Release what is held, except the first few frames."""
        while len(self._held) > kept:
            with _translated_errors():
                self._held.pop().unpersist()

    def _lazy(self, table: pa.Table) -> nw.LazyFrame:
        with _translated_errors():
            return _frame(self.session.createDataFrame(_as_spark_types(table)))

    def _read_paths(self, paths: Sequence[str], *, header: bool) -> Source:
        name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more paths"
        found = _local_files(paths)
        self.inputs.update(file.resolve() for file in found)
        kind = files.format_of(found) if found else _format_of_urls(paths)
        if kind != "parquet" and found and all(file.stat().st_size == 0 for file in found):
            raise SourceError(f"{name!r} is empty.")
        readers = {"parquet": self._read_parquet, "json": self._read_json}
        with self._described(), _translated_errors(name):
            if kind == "arrow":  # which Spark cannot read itself
                table = arrow.read_arrow_files(found).to_table()
                columns, load = tuple(table.column_names), _loader(self._lazy(table).to_native())
            elif kind == "csv":
                columns, load = self._read_csv(_as_patterns(paths, found), found, header=header)
            else:
                columns, load = readers[kind](_as_patterns(paths, found))
        return Source(name, columns, load, is_typed=kind != "csv", files=found)

    def _read_parquet(self, patterns: list[str]) -> tuple[tuple[str, ...], Any]:
        """Read Parquet files, where a folder such as `year=2020` adds a column unless the files have it themselves."""
        native = self.session.read.parquet(*patterns)
        plain = self.session.read.option("recursiveFileLookup", True).parquet(*patterns)
        folders = {part for file in native.inputFiles() for part in file.split("/") if "=" in part}
        if any(folder.partition("=")[0] in plain.columns for folder in folders):
            native = plain
        return tuple(native.columns), _loader(native)

    def _read_json(self, patterns: list[str]) -> tuple[tuple[str, ...], Any]:
        first = self.session.read.text(patterns[0]).filter("trim(value) <> ''").head()
        is_array = first is not None and first[0].lstrip().startswith("[")
        options: dict[str, Any] = {"multiLine": is_array, "mode": "FAILFAST", **_FOLDERS_SAY_NOTHING}
        native = self.session.read.json(patterns, **options)
        texts, load_any = {column for column, kind in native.dtypes if kind == "string"}, _loader(native)

        def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
            with self._described(), _translated_errors(patterns[0]):
                self._refuse_mixed([c for c in dict.fromkeys(columns) if c in texts], patterns, options)
            frame: nw.LazyFrame = load_any(columns, text=text)
            return frame

        return tuple(native.columns), load

    def _refuse_mixed(self, texts: Sequence[str], patterns: list[str], options: Mapping[str, Any]) -> None:
        """Refuse columns of JSON that hold more than text, which Spark would read as text as well."""
        if not texts:
            return
        schema = ", ".join(f"{_quoted(column)} VARIANT" for column in texts)
        values = self.session.read.schema(schema).json(patterns, **options)
        kinds = values.selectExpr(*(f"schema_of_variant_agg({_quoted(column)})" for column in texts)).head()
        for column, kind in zip(texts, kinds, strict=True):
            if kind == "VARIANT":
                raise files.refuse_mixed(column, patterns[0])

    def _read_csv(self, patterns: list[str], found: Sequence[Path], *, header: bool) -> tuple[tuple[str, ...], Any]:
        """Read files of separated values: those on this machine by the head of each, others by that of the first."""
        groups: dict[files.CsvHead, list[str]]
        if found:
            local = files.group_csv_files(found, header=header)
            groups = {head: [_escaped(str(file)) for file in same] for head, same in local.items()}
        else:
            lines = (row[0] for row in self.session.read.text(patterns[0]).head(_HEAD_LINES))
            head = files.parse_csv_head(Path(patterns[0]), io.StringIO("\n".join(lines)), header=header)
            groups = {head: patterns}

        def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:
            with self._described(), _translated_errors(patterns[0]):
                parts = [_CsvFiles(self.session, *group, is_checked=bool(found)) for group in groups.items()]
                kinds = _common_kinds([part.kinds(columns, text) for part in parts])
                native = reduce(lambda a, b: a.union(b), [part.read(kinds) for part in parts])
                # Parsing text is the slow part: do it once.
                held = self.checkpoint(_frame(native))
                _check_encoding(held.to_native(), patterns[0])
                return held

        return next(iter(groups)).columns, load

    @contextmanager
    def _described(self) -> Iterator[None]:
        """Tag the operations that start inside, and describe their jobs if the session supports descriptions."""
        self.session.addTag(self._tag)
        try:
            with self._job_description():
                yield
        finally:
            self.session.removeTag(self._tag)

    @contextmanager
    def _job_description(self) -> Iterator[None]:
        context = getattr(self.session, "_sc", None)  # Spark Connect has none
        if context is None:
            yield
            return
        before = context.getLocalProperty(_DESCRIPTION)
        context.setLocalProperty(_DESCRIPTION, f"pointwise: {current_phase() or 'reading'}")
        try:
            yield
        finally:
            context.setLocalProperty(_DESCRIPTION, before)


_FOLDERS_SAY_NOTHING: dict[str, Any] = {"recursiveFileLookup": True}
"""Keeps Spark from reading a column out of the name of a folder such as `cluster=9`."""


class _CsvFiles:
    """Files of separated values with the same head.

    Args:
        session: What reads them.
        head: Their head.
        patterns: Where they are.
        is_checked: Whether the head of every file was read. Otherwise Spark compares the headers with the columns.
    """

    def __init__(self, session: Any, head: files.CsvHead, patterns: list[str], *, is_checked: bool) -> None:
        self.session, self.head, self.patterns, self.is_checked = session, head, patterns, is_checked
        self.options: dict[str, Any] = {
            "header": head.has_header,
            "sep": head.delimiter,
            "quote": '"',
            "escape": '"',
            "multiLine": True,  # a quoted value may hold a line break
            "mode": "FAILFAST",
            "enforceSchema": is_checked,
            "nullValue": _ABSENT,  # so that a quoted "" is text, and only nothing at all is missing
            **_FOLDERS_SAY_NOTHING,
        }
        if head.skipped_lines:
            self._check_comments()
            self.options["comment"] = "#"

    def _check_comments(self) -> None:
        """Refuse rows that begin like a comment, which Spark would leave out as well."""
        lines = self.session.read.options(**_FOLDERS_SAY_NOTHING).text(self.patterns)
        files_read = len(lines.inputFiles())
        if lines.filter("value like '#%'").count() != self.head.skipped_lines * files_read:
            raise SourceError(
                f"{self.patterns[0]!r} has rows that begin with '#', which Spark cannot tell from the comments before "
                "the header. Remove the comments."
            )

    def kinds(self, columns: Sequence[str], text: Sequence[str]) -> dict[str, str]:
        """Infer the types of columns from all rows, except those that stay text."""
        kinds = dict.fromkeys(columns, "string")
        if set(columns) <= set(text):
            return kinds
        guessed = self.session.read.csv(self.patterns, inferSchema=True, **self.options).dtypes
        found = dict(zip(self.head.columns, (kind for _, kind in guessed), strict=True))
        return {column: "string" if column in text else found[column] for column in kinds}

    def read(self, kinds: Mapping[str, str]) -> Any:
        """Read columns as types, under the names that they have inside."""
        names = {c: inside(c) if self.is_checked else c for c in self.head.columns}
        ddl = ", ".join(f"{_quoted(names[c])} {kinds.get(c, 'string')}" for c in self.head.columns)
        native = self.session.read.csv(self.patterns, schema=ddl, **self.options)
        return native.selectExpr(*(f"{_quoted(names[c])} AS {_quoted(inside(c))}" for c in kinds))


def _common_kinds(guesses: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Treat columns as text where files disagree on their type."""
    first, *others = guesses
    return {c: kind if all(other[c] == kind for other in others) else "string" for c, kind in first.items()}


def _start_session(master: str | None, conf: Mapping[str, str]) -> Any:
    active = SparkSession.getActiveSession()
    if active is not None and not conf:
        return active  # unchanged: its settings belong to the caller
    builder = SparkSession.builder.appName("pointwise")
    builder = builder.master(master) if master else builder
    for key, value in (({} if active else _OWN_SETTINGS) | dict(conf)).items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except Exception as error:
        reason = _reason(error)
        if "JAVA_GATEWAY_EXITED" in reason or isinstance(error, FileNotFoundError):
            reason = "it needs Java 17 or newer, which was not found or did not start. Install it or set JAVA_HOME."
        raise EngineError(f"Spark did not start: {reason}") from error


def _frame(native: Any) -> nw.LazyFrame:
    frame: nw.LazyFrame = nw.from_native(native)
    return frame


def _loader(native: Any) -> Any:
    def load(columns: Sequence[str], *, text: Sequence[str] = ()) -> nw.LazyFrame:  # noqa: ARG001
        with _translated_errors():
            return _frame(native.selectExpr(*(f"{_quoted(c)} AS {_quoted(inside(c))}" for c in dict.fromkeys(columns))))

    return load


def _quoted(column: str) -> str:
    return "`" + column.replace("`", "``") + "`"


def _check_encoding(native: Any, name: str) -> None:
    """Refuse text in which Spark has replaced bytes that are not UTF-8, because that makes different ids the same."""
    texts = [column for column, kind in native.dtypes if kind == "string"]
    is_broken = " OR ".join(f"contains({_quoted(column)}, '\ufffd')" for column in texts)
    broken = native.filter(is_broken).head(1) if texts else []
    if broken:
        raise SourceError(f"{name!r} is not text in UTF-8: see the row {tuple(broken[0])!r}. Convert it to UTF-8.")


def _as_spark_types(table: pa.Table) -> pa.Table:
    return table.cast(
        pa.schema([field.with_type(_as_spark_type(field.type, table[field.name])) for field in table.schema])
    )


def _as_spark_type(dtype: pa.DataType, values: pa.ChunkedArray) -> pa.DataType:
    """Choose the type that Spark has for values; it has no unsigned integers and no dictionaries."""
    if pa.types.is_dictionary(dtype):
        return _as_spark_type(dtype.value_type, values)
    if pa.types.is_uint64(dtype):
        greatest = pa.compute.max(values).as_py() or 0
        return pa.int64() if greatest < 2**63 else pa.string()
    if pa.types.is_integer(dtype):
        return pa.int64()
    if pa.types.is_string_view(dtype) or pa.types.is_null(dtype):
        return pa.string()
    return dtype


def _local_files(paths: Sequence[str]) -> tuple[Path, ...]:
    """List the files that paths mean on this machine; none where Spark looks elsewhere."""
    if any("://" in path for path in paths):
        return ()
    try:
        return files.find_files(paths)
    except SourceError:
        if any(Path(path).is_dir() for path in paths):
            raise
        return ()


def _format_of_urls(paths: Sequence[str]) -> str:
    """Tell the format by the ending; a path without one is a folder of Parquet files, as for Spark itself."""
    ends = tuple(Path(path.rstrip("/*")) for path in paths)
    return files.format_of(ends) if any(end.suffix for end in ends) else "parquet"


def _as_patterns(paths: Sequence[str], found: Sequence[Path]) -> list[str]:
    """Write paths so that Spark, which reads every path as a pattern, means the same files as we do."""
    if found and any("**" in path for path in paths):
        return [_escaped(str(file)) for file in found]
    return [_escaped(path) if found and Path(path).exists() else path for path in paths]


def _escaped(path: str) -> str:
    return re.sub(r"([\[\]{}*?\\])", r"\\\1", path)


def _write_text(native: Any, path: Path, target: files.FileFormat) -> None:
    """Write one text file: it is for people and for tools that want a file, not a folder of parts."""
    parts = path.with_name(f"{path.name}.parts")
    writer = native.coalesce(1).write.mode("overwrite")
    if target.ending == ".csv":
        writer.csv(str(parts), header=True, escape='"', compression="gzip" if target.is_gzip else "none")
    else:
        writer.json(str(parts), ignoreNullFields=False, compression="gzip" if target.is_gzip else "none")
    part = next(parts.glob("part-*"))
    if target.ending == ".json":
        _gather_array(part, path, gzip.open if target.is_gzip else open)
    else:
        part.replace(path)
    shutil.rmtree(parts)


def _gather_array(part: Path, path: Path, opened: Callable[..., Any]) -> None:
    """Make one JSON array of the objects on the lines of a file."""
    with opened(part, "rt", encoding="utf-8") as lines, opened(path, "wt", encoding="utf-8") as array:
        array.write("[")
        array.writelines(("," if number else "") + "\n\t" + line.rstrip("\n") for number, line in enumerate(lines))
        array.write("\n]\n")


@contextmanager
def _translated_errors(name: str | None = None, *, verb: str = "read") -> Iterator[None]:
    """Turn Spark's errors into ours, so that callers need to know only one hierarchy."""
    try:
        yield
    except (PySparkException, Py4JJavaError) as error:
        reason = _reason(error)
        condition = ((error.getCondition() or "") if isinstance(error, PySparkException) else "") + reason
        if "PATH_NOT_FOUND" in condition:
            kind = "No file matches" if glob.has_magic(name or "") else "There is no file"
            raise SourceError(f"{kind} {name!r} where Spark looks for it.") from error
        if verb == "read" and any(c in condition for c in _UNREADABLE):
            raise SourceError(f"{repr(name) if name else 'The data'} cannot be read: {reason}") from error
        raise EngineError(f"Spark failed: {reason}") from error


def _reason(error: Exception) -> str:
    """Extract the telling line of a Java stack trace: the one with a condition in brackets, if any."""
    named = re.search(r"\[[A-Z_]+(?:\.[A-Z_]+)*\] .*", str(error))
    if named:
        return named[0].strip()
    text = str(getattr(error, "java_exception", error))
    lines = [line.strip() for line in text.strip().splitlines() if line.strip()]
    kept = itertools.takewhile(lambda line: not line.startswith(("at ", "JVM stacktrace", "== ", "'")), lines)
    return " ".join(itertools.islice(kept, 3)) or type(error).__name__
