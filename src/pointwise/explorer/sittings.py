"""Sittings: which judges are at work at which diffs, kept between their requests."""

from __future__ import annotations

import threading
from pathlib import Path

from pointwise.diffs.sitting import Sitting, sit_down
from pointwise.explorer.shelf import StoredFolder

_MOST = 64  # that are remembered, with what was skipped and opened


class Sittings:
    """The sittings of all judges, by diff and judge."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[Path, str], tuple[Sitting, threading.Lock]] = {}

    def at(self, stored: StoredFolder, judge: str) -> tuple[Sitting, threading.Lock]:
        """Return the sitting of a judge, and a lock for its requests."""
        with self._lock:
            key = (stored.path, judge)
            if key not in self._known:
                self._known[key] = (sit_down(stored.path, judge), threading.Lock())
                while len(self._known) > _MOST:
                    del self._known[next(iter(self._known))]
            return self._known[key]
