"""Progress: long work tells listeners which phase it is in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_current: ContextVar[str] = ContextVar("current", default="")
_listener: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def phase(name: str) -> None:
    """Say that a phase of the work begins, such as "aligning"."""
    _current.set(name)
    listener = _listener.get()
    if listener is not None:
        listener(name)


def current_phase() -> str:
    """Return the phase that the work is in; none before the first."""
    return _current.get()


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Listen to the phases of the work done inside a `with` block."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
