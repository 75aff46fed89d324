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
        A function that shows, below the phase, what was found so far.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console, Group
    from rich.live import Live
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.text import Text

    bar = Progress(TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    task = bar.add_task("starting", total=len(phases) + 1)
    found = Text()  # on lines of its own, because 80 columns do not hold both
    shown = Live(Group(bar, found), console=Console(stderr=True), transient=True, refresh_per_second=10)

    def show(phase: str) -> None:
        done = phases.index(phase) + 1 if phase in phases else None
        bar.update(task, description=phase, completed=done)

    timer = threading.Timer(_PATIENCE, shown.start)
    timer.daemon = True
    timer.start()
    try:
        with listening(show):
            yield lambda text: setattr(found, "plain", text)
    finally:
        timer.cancel()
        timer.join()
        shown.stop()
