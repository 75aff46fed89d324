"""Held items: joined when they are first needed, and held from then on.

Most questions are answered from cells. Holding all items for the few that are not would cost memory, and time where the
engine has to spill.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.engines.base import Engine
from pointwise.errors import SourceError

Stamp = tuple[int, int]
"""Size and time of the last change of a file."""


@dataclass(frozen=True)
class Files:
    """Files as they were when they were first read, because what is read later must be the same."""

    stamps: dict[Path, Stamp | None]

    @staticmethod
    def found(paths: Iterable[Path]) -> Files:
        """Remember how files look now."""
        return Files({path: _stamp(path) for path in paths})

    def check(self) -> None:
        """Refuse files that have changed since.

        Raises:
            SourceError: A file was changed or removed.
        """
        changed = next((path for path, stamp in self.stamps.items() if _stamp(path) != stamp), None)
        if changed is not None:
            raise SourceError(
                f"{str(changed)!r} was changed after the evaluation had read it, so the items would not match the "
                "numbers. Evaluate again; save the run to be able to ask later, whatever happens to the files."
            )


def _stamp(path: Path) -> Stamp | None:
    try:
        stat = path.stat()
    except OSError:  # removed, or at an address that only the engine reaches
        return None
    return stat.st_size, stat.st_mtime_ns


@dataclass(frozen=True)
class Held:
    """Items that are held from their first use on.

    Args:
        make: What makes them, planned at their first use.
        engine: What holds them.
        files: What they are made from.
        schema: Their columns with their types, so that the join need not be planned again to learn them.
    """

    make: Callable[[], nw.LazyFrame]
    engine: Engine
    files: Files
    schema: dict[str, Any]

    @cached_property
    def frame(self) -> nw.LazyFrame:
        """The items, held."""
        self.files.check()
        return self.engine.checkpoint(self.make())
