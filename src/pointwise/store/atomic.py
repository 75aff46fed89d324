"""Folders that appear complete or not at all.

A folder is filled in a workspace: a hidden folder beside its place, which only this user can read. The workspace holds
a marker that this process keeps locked as long as it lives, so that an abandoned workspace can be recognised, whatever
its name. What the new folder replaces is checked before the work, at the swap and after it, and is removed only if the
caller recognises everything in it.
"""

from __future__ import annotations

import ctypes
import errno
import json
import os
import secrets
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pointwise.errors import PointwiseError

if sys.platform == "win32":  # pragma: no cover
    import msvcrt
else:
    import fcntl

ReplaceCheck = Callable[[Path], None]
"""Raises a PointwiseError if what is at a path must not be replaced."""

Remove = Callable[[Path], None]
"""Removes what a check has allowed to be replaced, and leaves everything else."""

_PREFIX = ".pointwise-"
_MARKER = "pointwise-unfinished.json"
_COMPLETE = "complete"  # from here on a workspace holds complete folders, one of which may be somebody else's
_NEW, _OLD = "new", "old"
_PATIENCE = 5.0  # seconds to wait for a running process that is between two renames

_IS_TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR)
_NO_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP)
_CURRENT_FOLDER = -100  # AT_FDCWD
_EXCHANGE = 2  # RENAME_EXCHANGE


@contextmanager
def whole_folder(path: Path, *, check: ReplaceCheck, remove: Remove) -> Iterator[Path]:
    """Provide an empty folder to fill, and put it in place if filling succeeds.

    Args:
        path: The place. If it is a link, the place is what it leads to.
        check: Decides whether what is at the place may be replaced; asked before the work and again at the swap.
        remove: Removes what was replaced.

    Raises:
        PointwiseError: The check refused before the work began.
        FileExistsError: Something appeared at the place meanwhile that must not be replaced.
        OSError: The folder cannot be written.
    """
    place = Path(os.path.realpath(path))
    place.parent.mkdir(parents=True, exist_ok=True)
    recover(place, remove)
    check(place)
    with _workspace(place, remove) as space:
        yield space / _NEW
        _flush_all(space / _NEW)
        _put_in_place(space, place, check)
        _flush(place.parent)


@contextmanager
def _workspace(place: Path, remove: Remove) -> Iterator[Path]:
    space, marker = _claim(place)
    try:
        (space / _NEW).mkdir()
        yield space
    finally:
        _clear(space, remove)
        os.close(marker)


def _claim(place: Path) -> tuple[Path, int]:
    """Make a workspace with a locked marker.

    Until the marker says what it is, another process may take the workspace for a leftover and remove it; then this one
    makes another.
    """
    while True:
        space = place.parent / (_PREFIX + secrets.token_hex(8))
        space.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            marker = os.open(space / _MARKER, os.O_RDWR | os.O_CREAT | os.O_EXCL)
            if not _try_lock(marker):
                time.sleep(0.05)  # another process is looking at it, unless the file system has no locks
            if (space / _MARKER).exists():
                os.write(marker, json.dumps({"what": "unfinished", "place": place.name}).encode())
                return space, marker
            os.close(marker)


def _try_lock(handle: int) -> bool:
    """Mark a file as in use; the system removes the mark when this process ends, however it ends."""
    try:
        if sys.platform == "win32":  # pragma: no cover
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _clear(space: Path, remove: Remove) -> None:
    """Empty a workspace. If somebody else's files got into it, these stay."""
    if (space / _COMPLETE).exists():
        for folder in (space / _NEW, space / _OLD):
            if os.path.lexists(folder):
                with suppress(OSError, PointwiseError):
                    remove(folder)
    else:
        shutil.rmtree(space / _NEW, ignore_errors=True)
    if not any(os.path.lexists(space / name) for name in (_NEW, _OLD)):
        shutil.rmtree(space, ignore_errors=True)


def recover(place: Path, remove: Remove) -> None:
    """Finish what a dead process began at a place: complete its swap, and remove its workspace."""
    _remove_empty_workspaces(place.parent)
    for space, intended in list(_workspaces(place.parent)):
        if intended == place:
            with suppress(OSError):
                _take_over(space, place, remove)


def has_workspace(names: Iterable[str]) -> bool:
    """Tell whether one of the names in a folder may be that of a workspace."""
    return any(name.startswith(_PREFIX) for name in names)


def recover_inside(folder: Path, remove: Remove) -> None:
    """Finish what dead processes began anywhere directly inside a folder."""
    _remove_empty_workspaces(folder)
    for _, place in list(_workspaces(folder)):
        recover(place, remove)


def _workspaces(folder: Path) -> Iterator[tuple[Path, Path]]:
    """List the workspaces in a folder that have our marker, each with the place that it is for."""
    for space in _named_like_workspaces(folder):
        with suppress(OSError, ValueError, KeyError, TypeError):
            content = json.loads((space / _MARKER).read_bytes())
            if content["what"] == "unfinished":
                yield space, folder / content["place"]


def _named_like_workspaces(folder: Path) -> list[Path]:
    try:
        return [f for f in folder.iterdir() if f.name.startswith(_PREFIX)]
    except OSError:
        return []


def _remove_empty_workspaces(folder: Path) -> None:
    """Remove the workspaces of processes that died before writing their marker. They hold nothing of value."""
    for space in _named_like_workspaces(folder):
        with suppress(OSError):
            if [f.name for f in space.iterdir()] == [_MARKER]:
                _remove_silent_marker(space / _MARKER)
            space.rmdir()  # which fails if there is anything in it


def _remove_silent_marker(path: Path) -> None:
    handle = os.open(path, os.O_RDWR)
    try:
        if _try_lock(handle) and not os.fstat(handle).st_size:
            path.unlink()
    finally:
        os.close(handle)


def _take_over(space: Path, place: Path, remove: Remove) -> None:
    handle = os.open(space / _MARKER, os.O_RDWR)
    try:
        if _wait_for_lock(handle, lambda: _is_between_renames(space, place)):
            if _is_between_renames(space, place):
                (space / _NEW).rename(place)
            _clear(space, remove)
    finally:
        os.close(handle)


def _wait_for_lock(handle: int, is_worthwhile: Callable[[], bool]) -> bool:
    end = time.monotonic() + _PATIENCE
    while not _try_lock(handle):
        if time.monotonic() > end or not is_worthwhile():
            return False
        time.sleep(0.01)
    return True


def _is_between_renames(space: Path, place: Path) -> bool:
    return (space / _OLD).exists() and (space / _NEW).exists() and not os.path.lexists(place)


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


def _put_in_place(space: Path, place: Path, check: ReplaceCheck) -> None:
    (space / _COMPLETE).touch()
    _flush(space)
    try:
        (space / _NEW).rename(place)  # which fails to replace a folder that is not empty
    except OSError as error:
        if error.errno not in _IS_TAKEN:
            raise
        _check_again(check, place, place)
        _swap(space, place, check)


def _check_again(check: ReplaceCheck, found: Path, place: Path) -> None:
    try:
        check(found)
    except PointwiseError as error:
        raise FileExistsError(errno.EEXIST, "Something else was written there meanwhile", str(place)) from error


def _swap(space: Path, place: Path, check: ReplaceCheck) -> None:
    """Swap the new folder with what is at its place, unless that turns out to be something else."""
    new = space / _NEW
    try:
        exchange(new, place)
    except OSError as error:
        if error.errno not in _NO_EXCHANGE:
            raise
        _swap_by_renaming(space, place, check)
        return
    try:
        _check_again(check, new, place)
    except BaseException:
        exchange(new, place)
        raise


def exchange(one: Path, other: Path) -> None:
    """Let two folders swap names in one step.

    Raises:
        OSError: The system or the file system cannot do that.
    """
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None) if os.name == "posix" else None
    if rename is None:
        raise OSError(errno.ENOSYS, "This system cannot exchange names")
    if rename(_CURRENT_FOLDER, os.fsencode(one), _CURRENT_FOLDER, os.fsencode(other), _EXCHANGE):
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))


def _swap_by_renaming(space: Path, place: Path, check: ReplaceCheck) -> None:
    """Swap in two steps. If the process dies between them, `recover` takes the second."""
    old = space / _OLD
    place.rename(old)
    try:
        _check_again(check, old, place)
        (space / _NEW).rename(place)
    except BaseException:
        old.rename(place)
        raise
