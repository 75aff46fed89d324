"""Turns: what a user holds asks its engine for a turn before it does anything.

Building a frame already needs the engine, so guarding the engine's verbs would be too late. A turn keeps other threads
out where an engine serves one at a time, refuses an engine that was closed, and turns the errors of the engine into
ours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from operator import attrgetter
from typing import Any, TypeVar

from pointwise.engines.base import Engine

C = TypeVar("C", bound=type)
T = TypeVar("T")

_SPECIAL = ("__repr__", "_repr_html_", "__len__", "__iter__", "__getitem__", "__arrow_c_stream__")
_ALWAYS_POSSIBLE = ("close", "engine")


def in_turn(engine: str) -> Callable[[C], C]:
    """Make every public method and property of a class take a turn of its engine.

    Args:
        engine: The attribute that holds the engine.
    """

    def decorate(cls: C) -> C:
        for name, member in list(vars(cls).items()):
            is_public = not name.startswith("_") or name in _SPECIAL
            if is_public and name not in _ALWAYS_POSSIBLE:
                _wrap(cls, name, member, attrgetter(engine))
        return cls

    return decorate


def _wrap(cls: type, name: str, member: Any, engine_of: Callable[[Any], Any]) -> None:
    if isinstance(member, property):
        setattr(cls, name, property(_taking_turns(member.fget, engine_of)))
    elif isinstance(member, functools.cached_property):
        cached = LateProperty(_taking_turns(member.func, engine_of))
        cached.__set_name__(cls, name)
        setattr(cls, name, cached)
    elif callable(member) and not isinstance(member, type):
        setattr(cls, name, _taking_turns(member, engine_of))


def _taking_turns(function: Any, engine_of: Callable[[Any], Any]) -> Any:
    @functools.wraps(function)
    def take_turn(holder: Any, *args: Any, **settings: Any) -> Any:
        with engine_of(holder).turn():
            return function(holder, *args, **settings)

    return take_turn


def later(engine: Engine, function: Callable[[], T]) -> Callable[[], T]:
    """Return a function that takes its turn when it is called."""

    def take_turn() -> T:
        with engine.turn():
            return function()

    return take_turn


class LateProperty(functools.cached_property[T]):
    """A cached property without the lock that Python 3.11 gives it.

    A thread that holds that lock would wait for a turn, while the thread that has the turn waits for the lock.
    """

    def __get__(self, holder: Any, owner: type | None = None) -> T:  # type: ignore[override]
        """Return the value, computed on first use."""
        if self.attrname not in holder.__dict__:
            holder.__dict__[self.attrname] = self.func(holder)
        value: T = holder.__dict__[self.attrname]
        return value
