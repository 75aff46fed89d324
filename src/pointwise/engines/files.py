"""Files: which ones a path means, in which format, and the head of those that have no types."""

from __future__ import annotations

import csv
import glob
import io
import os
import re
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pointwise.errors import SourceError, UsageError

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
_COMPRESSIONS = {".gz": "gzip", ".zst": "zstd"}


def is_path(source: Any) -> bool:
    """Tell whether a source is a path, or a list of paths."""
    if isinstance(source, (list, tuple)):
        return bool(source) and all(isinstance(s, os.PathLike) or _looks_like_file(s) for s in source)
    return isinstance(source, (str, os.PathLike))


def is_address(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is an address such as `s3a://lake/items.parquet`, not one of a mounted file system."""
    return re.match(r"[A-Za-z][\w+.-]+:/", os.fspath(path)) is not None


def _looks_like_file(source: Any) -> bool:
    return isinstance(source, str) and _format_of(Path(source)) is not None


def find_files(source: Any) -> tuple[Path, ...]:
    """List the files that a path, a glob, a folder or a list of these means.

    Raises:
        SourceError: There is no such file.
    """
    parts = source if isinstance(source, (list, tuple)) else [source]
    return tuple(file for part in parts for file in _expand(os.fspath(part)))


def _expand(path: str) -> Iterable[Path]:
    if Path(path).is_file():
        return [Path(path)]
    if Path(path).is_dir():
        inside = sorted(p for p in Path(path).rglob("*") if _format_of(p) and not p.name.startswith(("_", ".")))
        if not inside:
            raise SourceError(f"There is no data file in the folder {path!r}.")
        return inside
    if Path(path).exists():
        raise SourceError(
            f"{path!r} is a pipe or a device, and tables are read more than once. Copy it to a file first; the command "
            "line reads a table from standard input where - stands for its path."
        )
    found = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
    if not found:
        kind = "No file matches" if glob.has_magic(path) else "There is no file"
        raise SourceError(f"{kind} {path!r} (looked in {os.getcwd()!r}).")  # noqa: PTH109
    return [Path(p) for p in found]


def format_of(files: tuple[Path, ...]) -> str:
    """Tell the format of files by their ending.

    Raises:
        SourceError: The ending says nothing, or the files are of several formats.
    """
    formats = {_format_of(file) for file in files}
    if len(formats) > 1:
        raise SourceError(f"The files are of several formats: {', '.join(sorted(map(str, formats)))}.")
    found = formats.pop()
    if found is None:
        known = " ".join(FORMATS)
        raise SourceError(f"The ending of {str(files[0])!r} does not tell its format. Known endings: {known}")
    return found


def _format_of(path: Path) -> str | None:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    return FORMATS.get(suffixes[-1]) if suffixes else None


@dataclass(frozen=True)
class Target:
    """The format of a file to write."""

    ending: str
    is_gzip: bool


_WRITTEN = (".parquet", ".csv", ".json", ".jsonl")


def target_of(path: Path | str) -> Target:
    """Tell by a path's ending which format to write.

    Raises:
        UsageError: The ending names none that can be written.
    """
    suffixes = [s.lower() for s in Path(path).suffixes]
    is_gzip = suffixes[-1:] == [".gz"]
    ending = suffixes[-2] if is_gzip and len(suffixes) > 1 else (suffixes or [""])[-1]
    if ending not in _WRITTEN or (is_gzip and ending == ".parquet"):
        raise UsageError(f"Cannot write {Path(path).name!r}: the path must end in one of {', '.join(_WRITTEN)}.")
    return Target(ending, is_gzip)


@dataclass(frozen=True)
class CsvHead:
    """What stands at the top of a file of separated values."""

    columns: tuple[str, ...]
    delimiter: str
    skipped_lines: int  # comments before the header


def read_csv_head(path: Path) -> CsvHead:
    """Read the header of a file of separated values, and the comment lines (`#`) before it.

    Nothing is guessed from the data: the ids `007` and `1e5` are what they are.
    """
    try:
        with _open_text(path) as lines:
            return parse_csv_head(path, lines)
    except UnicodeDecodeError as error:
        raise SourceError(f"{str(path)!r} is not text in UTF-8. Convert it, for example with iconv.") from error
    except (OSError, csv.Error) as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error}") from error


def parse_csv_head(path: Path, lines: io.TextIOBase) -> CsvHead:
    """Find the header in the first lines of a file of separated values."""
    skipped = 0
    line = lines.readline()
    while line.startswith("#"):
        skipped += 1
        line = lines.readline()
    if not line.strip():
        raise SourceError(f"{str(path)!r} is empty: it has no header.")
    delimiter = _delimiter(path, line)
    header = next(csv.reader(_lines_from(line, lines), delimiter=delimiter))
    repeated = {c for c in header if header.count(c) > 1}
    if repeated:
        raise SourceError(f"{str(path)!r} has the column {repeated.pop()!r} twice.")
    return CsvHead(tuple(header), delimiter, skipped)


def _delimiter(path: Path, header: str) -> str:
    if any(s.lower() in (".tsv", ".tab") for s in path.suffixes):
        return "\t"
    return next((d for d in ",;\t|" if d in header), ",")


def _lines_from(first: str, rest: io.TextIOBase) -> Iterable[str]:
    yield first
    yield from rest


def _open_text(path: Path) -> io.TextIOWrapper:
    import pyarrow as pa

    compression = _COMPRESSIONS.get(path.suffix.lower())
    stream = pa.input_stream(str(path), compression=compression)
    return io.TextIOWrapper(io.BufferedReader(stream), encoding="utf-8-sig", newline="")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary name to write to, and rename it when the writing went well."""
    if not path.parent.is_dir():
        raise UsageError(f"Cannot write {str(path)!r}: there is no folder {str(path.parent)!r}.")
    if path.is_dir():
        raise UsageError(f"Cannot write {str(path)!r}: it is a folder. Remove it first, or choose another name.")
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=".pointwise-") as folder:
        unfinished = Path(folder) / path.name
        yield unfinished
        unfinished.replace(path)
