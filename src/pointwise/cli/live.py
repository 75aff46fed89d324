"""The progress bar, and what Ctrl-C does."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pointwise.progress import listening

_PATIENCE = 1.0  # seconds of work before a bar appears


@contextmanager
def progress(*phases: str) -> Iterator[Callable[[str], None]]:
    """Show which phase the work is in, if it takes long and someone is watching.

    Args:
        phases: The phases that the work will go through.

    Yields:
        A function that shows, beside the phase, what was found so far.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    found = TextColumn("{task.fields[found]}", markup=False)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), found)
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("starting", total=len(phases) + 1, found="")

    def show(phase: str) -> None:
        done = phases.index(phase) + 1 if phase in phases else None
        bar.update(task, description=phase, completed=done)

    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        with listening(show):
            yield lambda found: bar.update(task, found=found)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
