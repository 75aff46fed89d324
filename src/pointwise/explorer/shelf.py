"""The shelf: what is stored below one folder, by name.

A name in an address is only ever compared with the names that were found below the folder. It never becomes a path.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pointwise.engines.files import opened
from pointwise.errors import NotFoundError, PointwiseError
from pointwise.store.contents import open_folder
from pointwise.store.history import as_text, stored_below
from pointwise.store.manifest import COMPARISON, RUN, ComparisonManifest, FolderKind, read_manifest

_NAMED = 2  # parts of an address: what something is, and its name
_FRESH = 1.0  # seconds for which an unknown name is not looked for again


@dataclass(frozen=True)
class StoredFolder:
    """A stored folder.

    Args:
        name: Its place below the folder that is explored.
        kind: What it is.
        path: Where it is.
        inside: The name of the comparison that it is a part of, if it is.
    """

    name: str
    kind: FolderKind
    path: Path
    inside: str = ""

    @property
    def version(self) -> str | None:
        """Its version: the checksum of its manifest, which lists those of all other files; None if it is gone."""
        try:
            with opened(self.path / self.kind.file) as manifest:
                return hashlib.sha256(manifest.read()).hexdigest()
        except OSError:
            return None

    @property
    def is_whole(self) -> bool:
        """Whether its manifest can be trusted, and every file is there in its size. Nothing is shown of others."""
        try:
            with open_folder(self.path, self.kind, self.kind.manifest, verify=False):
                return True
        except PointwiseError:
            return False


class Shelf:
    """Everything that is stored below one folder."""

    def __init__(self, top: Path) -> None:
        self.top = top
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], StoredFolder] = {}
        self._looked_at = float("-inf")

    def look(self) -> list[StoredFolder]:
        """Find everything that is there now."""
        found = {(one.kind.noun, one.name): one for one in self._walk()}
        with self._lock:
            self._found, self._looked_at = found, time.monotonic()
        return list(found.values())

    def find(self, kind: FolderKind, name: str) -> StoredFolder:
        """Find a stored folder by its name.

        Raises:
            NotFoundError: Nothing of that kind has that name.
        """
        known = self._found.get((kind.noun, name))
        if known is None and time.monotonic() - self._looked_at > _FRESH:
            self.look()
            known = self._found.get((kind.noun, name))
        if known is None:
            raise NotFoundError(f"There is no stored {kind.noun} {name!r} below {str(self.top)!r}.")
        return known

    def known(self, *address: str) -> StoredFolder | None:
        """Return what the first two parts of an address name, if it was found."""
        if len(address) < _NAMED:
            return None
        kinds = {"compare": COMPARISON.noun}
        return self._found.get((kinds.get(address[0], address[0]), address[1]))

    def runs_inside(self, stored: StoredFolder) -> list[StoredFolder]:
        """List the runs that a comparison consists of."""
        return [one for one in self._found.values() if stored.kind is COMPARISON and one.inside == stored.name]

    def _walk(self) -> Iterator[StoredFolder]:
        for path, kind in stored_below(self.top):
            is_top = path == self.top
            name = as_text(self.top.resolve().name if is_top else path.relative_to(self.top).as_posix())
            yield StoredFolder(name, kind, path)
            if kind is COMPARISON:
                yield from _parts(name, path)


def _parts(name: str, path: Path) -> Iterator[StoredFolder]:
    """List the runs that a comparison consists of."""
    try:
        manifest = read_manifest(path, ComparisonManifest)
    except PointwiseError:
        return  # the overview says what is wrong with it
    for variant, folder in manifest.variants.items():
        yield StoredFolder(f"{name}/{variant}", RUN, path / folder, inside=name)
