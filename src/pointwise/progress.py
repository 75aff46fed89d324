"""Progress: long work says which phase it is in, to whoever listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def phase(name: str) -> None:
    """Say that a phase of the work begins, such as "aligning"."""
    listener = _listener.get()
    if listener is not None:
        listener(name)


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Hear of the phases of the work done inside a `with` block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
