"""Loaded runs, kept between visits, because loading one takes as long as looking something up in it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from pointwise.explorer.shelf import StoredFolder
from pointwise.explorer.sidecars import Sorted

MOST_KEPT = 8  # runs that no visit uses


class KeptRuns:
    """Loaded runs that no visit is using, the most recently used last.

    A loaded run has an engine of its own and serves one visit at a time. A second visit at the same time loads the run
    again.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: OrderedDict[int, tuple[Path, Any, Sorted]] = OrderedDict()
        self._is_closed = False

    def take(self, stored: StoredFolder, version: Any) -> Sorted | None:
        """Take a loaded run of this version, if there is one; close those of other versions, which are out of date."""
        found = None
        with self._lock:
            same = [(key, own, run) for key, (path, own, run) in self._idle.items() if path == stored.path]
            gone = [(key, run) for key, own, run in same if own != version]
            fitting = [(key, run) for key, own, run in same if own == version]
            for key, _ in [*gone, *fitting[-1:]]:
                del self._idle[key]
            found = fitting[-1][1] if fitting else None
        for _, run in gone:
            run.engine.close()
        return found

    def give(self, stored: StoredFolder, version: Any, run: Sorted) -> None:
        """Keep a run for the next visit; if there are too many, close the one that was unused for longest."""
        with self._lock:
            self._idle[id(run)] = (stored.path, version, run)
            is_too_many = self._is_closed or len(self._idle) > MOST_KEPT
            gone = self._idle.popitem(last=self._is_closed)[1][2] if is_too_many else None
        if gone is not None:
            gone.engine.close()

    def close(self) -> None:
        """Close all runs, and from now on every run that is given back."""
        with self._lock:
            self._is_closed = True
            idle = [run for _, _, run in self._idle.values()]
            self._idle.clear()
        for run in idle:
            run.engine.close()
