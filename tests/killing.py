"""Find and kill the executor processes of a Spark driver. `test_spark.py` uses it."""

from __future__ import annotations

import os
import signal
from pathlib import Path


def executors(driver: int) -> list[int]:
    """List the executor processes that descend from a process."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and "CoarseGrainedExecutorBackend" in _read(folder / "cmdline"):
            pid = int(folder.name)
            if driver in ancestors(pid):
                found.append(pid)
    return sorted(found)


def ancestors(pid: int) -> list[int]:
    """List a process's parent, its parent's parent and so on."""
    found = []
    while pid > 1:
        stat = _read(Path(f"/proc/{pid}/stat"))
        pid = int(stat.rsplit(")", 1)[1].split()[1]) if stat else 0
        found.append(pid)
    return found


def kill_tree(driver: int) -> None:
    """Kill a process and all that descend from it."""
    below = [int(f.name) for f in Path("/proc").iterdir() if f.name.isdigit() and driver in ancestors(int(f.name))]
    for pid in [driver, *below]:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
