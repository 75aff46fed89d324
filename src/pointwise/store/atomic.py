"""Folders that appear whole or not at all."""

from __future__ import annotations

import ctypes
import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover  # Windows has no such locks; there, leftovers stay until someone removes them
    fcntl = None  # type: ignore[assignment]

_IS_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_CURRENT_FOLDER = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


@contextmanager
def whole_folder(path: Path, *, overwrite: bool) -> Iterator[Path]:
    """Give an empty folder to fill, and put it in place when the filling went well.

    Until then it stands beside its place under a hidden name. If the process dies, it stays there and is removed
    when the same place is written again.

    Raises:
        FileExistsError: There is something at the place, and it must not be replaced.
    """
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    prefix = f".{path.name[:100]}.unfinished-"
    _remove_leftovers(path.parent, prefix)
    unfinished = path.parent / (prefix + secrets.token_hex(8))
    unfinished.mkdir()
    lock = _lock(unfinished)
    try:
        yield unfinished
        _flush_all(unfinished)
        _put_in_place(unfinished, path, overwrite=overwrite)
        _flush(path.parent)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """Mark a folder as in use; the system takes the mark away when this process ends, however it ends."""
    if fcntl is None:  # pragma: no cover
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        return None
    return handle


def _remove_leftovers(parent: Path, prefix: str) -> None:
    for folder in [f for f in parent.iterdir() if f.name.startswith(prefix)]:
        with suppress(OSError):
            handle = _lock(folder)
            if handle is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(handle)


def _flush_all(folder: Path) -> None:
    for inside in folder.rglob("*"):
        _flush(inside)
    _flush(folder)


def _flush(path: Path) -> None:
    """Have the system write a file or the list of a folder's files to the disk."""
    if os.name == "nt" and path.is_dir():  # pragma: no cover  # Windows does not open folders
        return
    handle = os.open(path, os.O_RDONLY if os.name != "nt" else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _put_in_place(folder: Path, path: Path, *, overwrite: bool) -> None:
    try:
        folder.rename(path)  # which refuses to replace a folder that holds something
    except OSError as error:
        if error.errno not in _IS_TAKEN:
            raise
        if not overwrite:
            raise FileExistsError(errno.EEXIST, "There is something already", str(path)) from error
        exchange(folder, path)


def exchange(one: Path, other: Path) -> None:
    """Let two folders swap names, in one step where the system can do that."""
    try:
        _exchange_at_once(one, other)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        _exchange_by_renaming(one, other)


def _exchange_at_once(one: Path, other: Path) -> None:
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        raise OSError(errno.ENOSYS, "This system cannot exchange names")
    if rename(_CURRENT_FOLDER, os.fsencode(one), _CURRENT_FOLDER, os.fsencode(other), _EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))


def _exchange_by_renaming(one: Path, other: Path) -> None:
    aside = one.with_name(one.name + "-replaced")
    other.rename(aside)
    try:
        one.rename(other)
    except OSError:
        aside.rename(other)
        raise
    aside.rename(one)
