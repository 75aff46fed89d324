"""Contents: the files of a stored folder, as its manifest lists them and as they are found."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Generic, TypeVar

from pointwise.engines.files import OpenFile, identity_of, opened
from pointwise.errors import NotFoundError, RunError
from pointwise.store.manifest import (
    FolderKind,
    Manifest,
    StoredFile,
    UntrustedError,
    kind_of,
    read_manifest,
    translated_errors,
)

_ATTEMPTS = 50  # to read a folder that is replaced repeatedly
_EXAMPLES = 3

M = TypeVar("M", bound=Manifest)
T = TypeVar("T")


@dataclass(frozen=True)
class OpenFolder(Generic[M]):
    """A stored folder with some of its files open, so that they stay readable if the folder is replaced."""

    path: Path
    manifest: M
    files: dict[str, OpenFile]


@contextmanager
def open_folder(
    folder: Path,
    kind: FolderKind,
    manifest: type[M],
    *,
    verify: bool,
    keep: Callable[[M], Collection[str]] = lambda _: (),
) -> Iterator[OpenFolder[M]]:
    """Read a manifest, make sure that every file is as it was written, and keep some of them open.

    Args:
        folder: What to open.
        kind: What it should be.
        manifest: The same, as the class to read.
        verify: Whether to read all files and compare their checksums, or only to look at their sizes.
        keep: Names the files to keep open.

    Raises:
        NotFoundError: There is no such folder.
        RunError: It is of another kind, or it cannot be trusted.
    """

    def read() -> tuple[OpenFolder[M], ExitStack]:
        with ExitStack() as stack, translated_errors(kind, folder):
            content = read_manifest(folder, manifest)
            kept = {name: stack.enter_context(_checked(folder, name, content, verify)) for name in keep(content)}
            for name in content.files.keys() - kept.keys():
                with _checked(folder, name, content, verify):
                    pass
            return OpenFolder(folder, content, kept), stack.pop_all()

    found, stack = steadily(folder, kind, read)
    with stack:
        yield found


@contextmanager
def _checked(folder: Path, name: str, manifest: Manifest, verify: bool) -> Iterator[OpenFile]:  # noqa: FBT001
    with ExitStack() as stack:
        try:
            _refuse_links(folder, name)
            file = stack.enter_context(opened(folder / name))
        except (FileNotFoundError, NotADirectoryError) as error:
            raise UntrustedError(f"is damaged: {name} is missing.") from error
        _compare(file, name, manifest.files[name], verify=verify)
        yield file


def _refuse_links(folder: Path, name: str) -> None:
    for path in (PurePosixPath(name), *PurePosixPath(name).parents):
        if (folder / path).is_symlink() and path.parts:
            raise UntrustedError(f"is damaged: {path} is a link, which a stored folder never holds.")


def _compare(file: OpenFile, name: str, facts: StoredFile, *, verify: bool) -> None:
    if file.size != facts.bytes:
        raise UntrustedError(f"is damaged: {name} has {file.size:,} bytes instead of {facts.bytes:,}.")
    if verify and file.checksum() != facts.sha256:
        raise UntrustedError(f"is damaged: {name} was changed, its checksum differs.")


def steadily(folder: Path, kind: FolderKind, read: Callable[[], T]) -> T:
    """Read something from a stored folder, again if it was replaced meanwhile, so that it is from one version.

    A folder is replaced as a whole, so its manifest stays the same file as long as all others do.
    """
    for _ in range(_ATTEMPTS):
        before = identity_of(folder / kind.file)
        try:
            found = read()
        except (NotFoundError, RunError):
            if before == identity_of(folder / kind.file):
                raise
        else:
            if before == identity_of(folder / kind.file):
                return found
    raise RunError(f"The {kind.noun} {str(folder)!r} keeps being replaced. Try again later.")


def describe_table(folder: Path, name: str) -> dict[str, StoredFile]:
    """Record size, rows and checksum of the files of a table, and remove what an engine left beside them."""
    path = folder / f"{name}.parquet"
    inside = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
    for other in (file for file in inside if file.suffix != ".parquet"):
        other.unlink()
    kept = [file for file in inside if file.suffix == ".parquet"]
    return {file.relative_to(folder).as_posix(): describe_file(file, rows=_count_rows(file)) for file in kept}


def describe_file(path: Path, *, rows: int | None = None) -> StoredFile:
    """Record size and checksum of a file."""
    with opened(path) as file:
        return StoredFile(file.size, file.checksum(), rows)


def _count_rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def check_nothing_else(folder: Path) -> None:
    """Make sure that a stored folder holds only what its manifest lists.

    Raises:
        RunError: It holds something else, or the manifest cannot be trusted.
    """
    listed = set(_listed(folder))
    others = set(_found(folder)) - listed - {parent for path in listed for parent in path.parents}
    tops = sorted(path for path in others if path.parent not in others)
    if tops:
        shown = ", ".join(repr(str(path)) for path in islice(tops, _EXAMPLES))
        more = f" and {len(tops) - _EXAMPLES:,} more" if len(tops) > _EXAMPLES else ""
        raise RunError(
            f"{str(folder)!r} holds {shown}{more}, which pointwise did not store there, so it is not replaced. "
            "Move that away, or choose another name."
        )


def _listed(folder: Path) -> Iterator[PurePosixPath]:
    """List the files that belong to a stored folder, by its manifest and those inside."""
    kind = kind_of(folder)
    if kind is None:
        raise RunError(f"{str(folder)!r} was not stored by pointwise.")
    manifest = read_manifest(folder, kind.manifest)
    yield PurePosixPath(kind.file)
    yield from map(PurePosixPath, manifest.files)
    for inside in manifest.folders:
        yield from (inside / path for path in _listed(folder / inside))


def _found(folder: Path) -> Iterator[PurePosixPath]:
    def fail(error: OSError) -> None:
        raise error

    for top, folders, files in os.walk(folder, onerror=fail):
        for name in (*folders, *files):
            yield PurePosixPath(Path(top, name).relative_to(folder).as_posix())


def remove_stored(folder: Path) -> None:
    """Remove the files that a manifest lists, and folders that are empty then. Everything else stays.

    Raises:
        RunError: The folder holds something else too, or the manifest cannot be trusted; then nothing is removed.
    """
    check_nothing_else(folder)
    listed = list(_listed(folder))
    for path in reversed(listed):  # the manifest comes last, so that what is left can still be recognised
        (folder / path).unlink(missing_ok=True)
    for inside in sorted({parent for path in listed for parent in path.parents}, reverse=True):
        (folder / inside).rmdir()
