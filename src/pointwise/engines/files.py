"""Files: which ones a path means, in which format, and the head of those that have no types."""

from __future__ import annotations

import csv
import errno
import glob
import hashlib
import io
import os
import re
import stat
import tempfile
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pointwise.errors import OutputError, PointwiseError, SourceError, UsageError
from pointwise.text.values import short

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
    return tuple(dict.fromkeys(file for part in parts for file in _expand(os.fspath(part))))


def _expand(path: str) -> list[Path]:
    if not path:
        raise SourceError("The path is empty. Name a file, a folder or a glob.")
    try:
        return _found(path)
    except (OSError, ValueError) as error:  # no permission, a loop of links, a NUL, a name too long
        if isinstance(error, SourceError):
            raise
        raise SourceError(f"{path!r} cannot be read: {getattr(error, 'strerror', None) or error}.") from error


def _found(path: str) -> list[Path]:
    if Path(path).is_file():
        return [Path(path)]
    if Path(path).is_dir():
        return _files_in(Path(path))
    if Path(path).exists():
        raise SourceError(
            f"{path!r} is a pipe or a device, and tables are read more than once. Copy it to a file first; the command "
            "line reads a table from standard input where - stands for its path."
        )
    matches = sorted(glob.glob(path, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
    if not matches:
        kind = "No file matches" if glob.has_magic(path) else "There is no file"
        raise SourceError(f"{kind} {path!r} (looked in {os.getcwd()!r}).")  # noqa: PTH109
    # A folder that matches stands for its files, which may match themselves: `find_files` takes each once.
    return [file for match in map(Path, matches) for file in (_files_in(match) if match.is_dir() else [match])]


def _files_in(folder: Path) -> list[Path]:
    """List the data files of a folder; a folder inside it may have the name of a file."""
    os.listdir(folder)  # noqa: PTH208  # raises where the folder cannot be read, which looks empty otherwise
    inside = sorted(p for p in folder.rglob("*") if _format_of(p) and not p.name.startswith(("_", ".")) and p.is_file())
    if not inside:
        raise SourceError(f"There is no data file in the folder {str(folder)!r}.")
    return inside


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
class FileFormat:
    """The format of a file to write."""

    ending: str
    is_gzip: bool


_WRITTEN = (".parquet", ".csv", ".json", ".jsonl")


def target_of(path: Path | str) -> FileFormat:
    """Tell by a path's ending which format to write.

    Raises:
        UsageError: The ending names none that can be written.
    """
    suffixes = [s.lower() for s in Path(path).suffixes]
    is_gzip = suffixes[-1:] == [".gz"]
    ending = suffixes[-2] if is_gzip and len(suffixes) > 1 else (suffixes or [""])[-1]
    if ending not in _WRITTEN or (is_gzip and ending == ".parquet"):
        raise UsageError(f"Cannot write {Path(path).name!r}: the path must end in one of {', '.join(_WRITTEN)}.")
    return FileFormat(ending, is_gzip)


@dataclass(frozen=True)
class CsvHead:
    """What is at the top of a file of separated values."""

    columns: tuple[str, ...]
    delimiter: str
    skipped_lines: int  # comments before the header
    has_header: bool = True


def group_csv_files(files: Iterable[Path], *, header: bool) -> dict[CsvHead, list[Path]]:
    """Read the head of every file of separated values, and put those of the same head together.

    Files are matched by the names of their columns, which may stand in any order.

    Raises:
        SourceError: Two files have different columns.
    """
    groups: dict[CsvHead, list[Path]] = {}
    for path in files:
        if path.stat().st_size:  # tools that write in parts leave empty ones
            groups.setdefault(read_csv_head(path, header=header), []).append(path)
    first, *others = groups
    for head in others:
        if set(head.columns) != set(first.columns):
            raise SourceError(
                f"{str(groups[head][0])!r} has the columns {_few(head.columns)}, but {str(groups[first][0])!r} has "
                f"{_few(first.columns)}. Every file needs the same header; if none has one, pass header=False."
            )
    return groups


def _few(names: tuple[str, ...], most: int = 5) -> str:
    shown = ", ".join(short(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def read_csv_head(path: Path, *, header: bool = True) -> CsvHead:
    """Read the header of a file of separated values, and the comment lines (`#`) before it.

    Nothing is guessed from the data: the ids `007` and `1e5` are what they are.
    """
    try:
        with _open_text(path) as lines:
            return parse_csv_head(path, lines, header=header)
    except UnicodeDecodeError as error:
        raise SourceError(f"{str(path)!r} is not text in UTF-8. Convert it, for example with iconv.") from error
    except (OSError, csv.Error) as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error}") from error


def parse_csv_head(path: Path, lines: io.TextIOBase, *, header: bool = True) -> CsvHead:
    """Find the header in the first lines of a file of separated values; without one, columns are numbered."""
    comments, line = [], lines.readline()
    while header and line.startswith("#"):
        comments.append(line)
        line = lines.readline()
    if not line.strip():
        raise SourceError(f"{str(path)!r} is empty: it has no header.")
    delimiter = _delimiter(path, line)
    cells = next(csv.reader(_lines_from(line, lines), delimiter=delimiter))
    if not header:
        return CsvHead(tuple(f"column{n}" for n in range(1, len(cells) + 1)), delimiter, 0, has_header=False)
    _check_comment(path, comments, cells)
    repeated = {c for c in cells if cells.count(c) > 1}
    if repeated:
        raise SourceError(f"{str(path)!r} has the column {short(repeated.pop())} twice.")
    return CsvHead(tuple(cells), delimiter, len(comments))


def _check_comment(path: Path, comments: list[str], cells: list[str]) -> None:
    """Refuse a comment that looks like a header, such as `#item,cluster`, rather than lose a row."""
    last = comments[-1].strip().lstrip("#") if comments else ""
    names = [name.strip() for name in last.split(_delimiter(path, last))]
    if len(names) == len(cells) > 1 and all(re.fullmatch(r"[^\W\d][\w.-]*", name) for name in names):
        raise SourceError(
            f"{str(path)!r} has the line {short(comments[-1].strip())} before its header {_few(tuple(cells))}. If that "
            "line is the header, remove the '#'; if it is a comment, remove the line."
        )


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
def whole_file(path: str | os.PathLike[str], *, inputs: Collection[Path] = ()) -> Iterator[Path]:
    """Give a temporary name to write to, and rename it if writing succeeds.

    Args:
        path: The file to write.
        inputs: Files that what is written was made from.

    Raises:
        UsageError: The path cannot be that of a file, or is that of an input.
        OutputError: The system refuses to write the file.
    """
    target = as_path(path)
    try:
        if not target.parent.is_dir():
            raise UsageError(f"Cannot write {str(target)!r}: there is no folder {str(target.parent)!r}.")
        if target.is_dir():
            raise UsageError(f"Cannot write {str(target)!r}: it is a folder. Remove it first, or choose another name.")
        if target.exists() and not target.is_file():
            raise UsageError(f"Cannot write {str(target)!r}: it is a pipe or a device, which a file would replace.")
        if target.resolve() in inputs:
            raise UsageError(
                f"Cannot write {str(target)!r}: it is one of the files that were read. Choose another name."
            )
        with tempfile.TemporaryDirectory(dir=target.parent, prefix=".pointwise-") as folder:
            unfinished = Path(folder) / target.name
            yield unfinished
            unfinished.replace(target)
    except PointwiseError:
        raise
    except OSError as error:
        raise OutputError(f"Cannot write {str(target)!r}: {say_why(error)}.") from error


def as_path(path: str | os.PathLike[str]) -> Path:
    """Return a path that the system accepts.

    Raises:
        UsageError: It is not a path, or no file can have it.
    """
    if not isinstance(path, (str, os.PathLike)) or not isinstance(os.fspath(path), str):
        raise UsageError(f"A path is needed, as text or a pathlib.Path, not {type(path).__name__}.")
    text = os.fspath(path)
    try:
        is_possible = bool(text) and b"\0" not in os.fsencode(text)
    except UnicodeEncodeError:
        is_possible = False
    if not is_possible:
        raise UsageError(f"{text!r} cannot be the path of a file or folder.")
    return Path(path)


def refuse_mixed(column: str, name: str) -> SourceError:
    """Say that a column of JSON holds numbers and text, so that nobody knows which ids are the same."""
    return SourceError(
        f"Column {column!r} of {name!r} holds values of several types, such as numbers and text: "
        "1 and '1' may or may not be the same. Write all of them as text, or all as numbers."
    )


def say_why(error: Exception) -> str:
    """Say in a few words why the system refused a path or a file."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@dataclass(frozen=True)
class OpenFile:
    """An open file, which can be read even if its name later refers to another."""

    path: Path
    handle: int

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return os.fstat(self.handle).st_size

    @property
    def identity(self) -> tuple[int, ...]:
        """What distinguishes it from any other file, including one that takes its name."""
        found = os.fstat(self.handle)
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> bytes:
        """Return its whole content."""
        with self._from_start() as file:
            return file.read()

    def checksum(self) -> str:
        """Compute the SHA-256 of its content."""
        with self._from_start() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def _from_start(self) -> io.BufferedReader:
        file = open(self.handle, "rb", closefd=False)  # noqa: SIM115
        file.seek(0)
        return file


@contextmanager
def opened(path: Path) -> Iterator[OpenFile]:
    """Open a plain file; neither a link nor a pipe, which would wait for a writer.

    Raises:
        OSError: It is not one, or it cannot be opened.
    """
    if path.is_symlink():
        raise OSError(errno.ELOOP, f"{path.name} is a link")
    handle = os.open(path, os.O_RDONLY | _OPTIONS)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, f"{path.name} is not a file")
        yield OpenFile(path, handle)
    finally:
        os.close(handle)


def identity_of(path: Path) -> tuple[int, ...] | None:
    """Return the identity of the plain file that has a name now, if there is one that can be opened."""
    try:
        with opened(path) as file:
            return file.identity
    except OSError:
        return None


_OPTIONS = 0  # as far as the system supports them; Windows would translate line ends
for _name in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY"):
    _OPTIONS |= getattr(os, _name, 0)
