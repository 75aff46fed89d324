"""Places: where something is stored or may be stored, and what may be replaced there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from pointwise.engines.files import as_path, is_address, say_why
from pointwise.errors import PointwiseError, RunError
from pointwise.store.atomic import recover, whole_folder
from pointwise.store.contents import check_nothing_else, remove_stored
from pointwise.store.manifest import RUN, FolderKind, kind_of, read_manifest


def find_place(path: str | os.PathLike[str]) -> Path:
    """Return the folder that a path means, after finishing what a dead process began there.

    Raises:
        UsageError: No folder can have that path.
    """
    place = Path(os.path.realpath(as_path(path)))
    if not os.path.lexists(place):
        recover(place, remove_stored)
    return place


def kind_at(path: str | os.PathLike[str]) -> FolderKind | None:
    """Tell what is stored at a path, if it is the folder of something stored and can be looked into."""
    try:
        return kind_of(find_place(path))
    except (PointwiseError, OSError):
        return None


def check_place(path: str | os.PathLike[str], *, overwrite: bool, kind: FolderKind = RUN) -> None:
    """Make sure that something may be stored at a place.

    Only what pointwise has stored is ever replaced, and only if there is nothing else in the folder.

    Args:
        path: The folder to make.
        overwrite: Whether to replace what is there, if it is of the same kind.
        kind: What is to be stored.

    Raises:
        RunError: There is something that must not be replaced, or nothing can be stored there at all.
    """
    if is_address(as_path(path)):
        raise RunError(
            f"A {kind.noun} is stored in a folder of a mounted file system, and {str(path)!r} is an address. Single "
            "tables can be written there from Spark: evaluation.by_item().write('s3a://lake/items.parquet')."
        )
    with _translated_errors(path, kind):
        place = find_place(path)
        if _is_free(place):
            return
        try:
            read_manifest(place, kind.manifest)
        except (PointwiseError, OSError) as error:
            raise RunError(
                f"{str(path)!r} already exists, and only a stored {kind.noun} is ever replaced. {error} Choose another "
                "name."
            ) from error
        if not overwrite:
            raise RunError(
                f"The {kind.noun} {str(path)!r} already exists. Choose another name, or replace it with overwrite=True."
            )
        check_nothing_else(place)


def _is_free(place: Path) -> bool:
    try:
        place.lstat()
    except FileNotFoundError:
        return True
    return place.is_dir() and kind_of(place) is None and not any(place.iterdir())


@contextmanager
def stored_folder(path: str | os.PathLike[str], kind: FolderKind, *, overwrite: bool) -> Iterator[Path]:
    """Provide a folder to fill, which appears at its place when it is complete.

    Raises:
        RunError: There is something that must not be replaced, or the folder cannot be written.
    """
    check = partial(check_place, kind=kind, overwrite=overwrite)
    check(as_path(path))
    with _translated_errors(path, kind), whole_folder(Path(path), check=check, remove=remove_stored) as folder:
        yield folder


@contextmanager
def _translated_errors(path: str | os.PathLike[str], kind: FolderKind) -> Iterator[None]:
    try:
        yield
    except PointwiseError:
        raise
    except FileExistsError as error:
        raise RunError(
            f"The {kind.noun} {str(path)!r} was not stored: something else was written there meanwhile. It is left as "
            "it is."
        ) from error
    except OSError as error:
        raise RunError(f"The {kind.noun} {str(path)!r} cannot be stored: {say_why(error)}.") from error
