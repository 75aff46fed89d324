"""Ledgers: files that only grow, line by line, and never lose an acknowledged line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pointwise.errors import RunError

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows has no such locks; there, one process writes a ledger at a time
    fcntl = None  # type: ignore[assignment]

TORN = ".torn"
"""Suffix of the file that keeps what an interrupted writer left behind."""


@dataclass(frozen=True)
class Lines:
    """What a ledger holds: whole lines, and the remains of lines whose writing was interrupted."""

    whole: tuple[bytes, ...]
    torn: tuple[bytes, ...]


def append_lines(path: Path, lines: Sequence[bytes]) -> None:
    """Append lines in one write, and return when they are on disk.

    A line counts once its line break is written. Anything after the last one was never acknowledged, because its writer
    died, and is set aside first, so that it does not corrupt the next line.

    Raises:
        RunError: The lines cannot be written.
    """
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _append(handle, path, b"".join(line + b"\n" for line in lines))
        finally:
            os.close(handle)
    except OSError as error:
        raise RunError(f"Cannot write to {str(path)!r}: {error.strerror or error}.") from error


def _append(handle: int, path: Path, text: bytes) -> None:
    _lock(handle, shared=False)
    size = os.fstat(handle).st_size
    if size and _read(handle, size - 1, size) != b"\n":
        _put_aside(handle, path, size)
    _write(handle, text)
    os.fsync(handle)
    if not size:
        _flush_folder(path.parent)


def _put_aside(handle: int, path: Path, size: int) -> None:
    content = _read(handle, 0, size)
    end = content.rfind(b"\n") + 1
    aside = os.open(_torn_path(path), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        _write(aside, content[end:] + b"\n")
        os.fsync(aside)
    finally:
        os.close(aside)
    os.ftruncate(handle, end)


def _torn_path(path: Path) -> Path:
    return path.with_name(path.name + TORN)


def _read(handle: int, start: int, end: int) -> bytes:
    os.lseek(handle, start, os.SEEK_SET)
    parts = []
    while start < end and (part := os.read(handle, end - start)):
        parts.append(part)
        start += len(part)
    return b"".join(parts)


def _write(handle: int, text: bytes) -> None:
    """Write everything; one call does it unless the disk is full."""
    written = 0
    while written < len(text):
        written += os.write(handle, text[written:])


def _lock(handle: int, *, shared: bool) -> None:
    """Wait until no other process writes. The system releases the lock when the file is closed."""
    if fcntl is not None:
        fcntl.flock(handle, fcntl.LOCK_SH if shared else fcntl.LOCK_EX)


def _flush_folder(folder: Path) -> None:
    """Have the system write the list of a folder's files to the disk, so that a new file stays."""
    if os.name == "nt":  # pragma: no cover  # Windows does not open folders
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def read_lines(path: Path) -> Lines:
    """Read a ledger, with what interrupted writers left of it.

    Raises:
        RunError: It cannot be read.
    """
    try:
        with path.open("rb") as file:
            _lock(file.fileno(), shared=True)
            *whole, tail = file.read().split(b"\n")
        torn = _torn_path(path).read_bytes().split(b"\n") if _torn_path(path).exists() else []
    except OSError as error:
        raise RunError(f"Cannot read {str(path)!r}: {error.strerror or error}.") from error
    return Lines(tuple(whole), tuple(line for line in (*torn, tail) if line))
