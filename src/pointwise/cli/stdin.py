"""Standard input: kept in a file, because most formats are not read from front to back."""

from __future__ import annotations

import gzip
import shutil
import sys
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pointwise.errors import SourceError, UsageError

_BEGINNINGS = {b"PAR1": ".parquet", b"ARROW1": ".arrow"}
_GZIP = b"\x1f\x8b"
_STDIN = "-"


@contextmanager
def files(*sources: str | None) -> Iterator[list[str | None]]:
    """Replace `-` by a temporary file with what comes from standard input."""
    if _STDIN not in sources:
        yield list(sources)
        return
    if sources.count(_STDIN) > 1:
        raise UsageError("Standard input (-) can be read for one table only.")
    with tempfile.TemporaryDirectory(prefix="pointwise-") as folder:
        path = _keep(Path(folder))
        yield [str(path) if source == _STDIN else source for source in sources]


def _keep(folder: Path) -> Path:
    if sys.stdin is None or sys.stdin.closed:
        raise UsageError("Standard input (-) is closed. Pipe a table into the command, or give a file.")
    path = folder / "standard-input"
    try:
        with path.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        return path.rename(path.with_suffix(_ending(path)))
    except (OSError, EOFError, zlib.error) as error:
        raise SourceError(f"Standard input (-) cannot be read: {error}.") from error


def _ending(path: Path) -> str:
    """Tell the format of a file by what it begins with."""
    with path.open("rb") as file:
        head = file.read(64)
    if head.startswith(_GZIP):
        with gzip.open(path) as file:
            return _ending_of_text(file.read(64)) + ".gz"
    return next((ending for start, ending in _BEGINNINGS.items() if head.startswith(start)), _ending_of_text(head))


def _ending_of_text(head: bytes) -> str:
    first = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return {b"{": ".jsonl", b"[": ".json"}.get(first, ".csv")
