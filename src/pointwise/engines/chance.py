"""Chance: numbers between 0 and 1 that only a text decides, in the place of random ones.

The order of rows, threads and partitions do not matter to them, so that everything drawn by them is the same on every
engine. Where rows race with the score -ln(u) / mass, the one with the least wins in proportion to its mass.
"""

from __future__ import annotations

import hashlib
import math

import narwhals.stable.v2 as nw

from pointwise.engines.base import Engine

_TEXT = "_text"


def uniform(text: str) -> float:
    """Return the number between 0 and 1 that a text decides, as engines do."""
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return (int(digest[:13], 16) + 0.5) / 16**13


def with_uniform(frame: nw.LazyFrame, engine: Engine, name: str, *parts: nw.Expr) -> nw.LazyFrame:
    """Add the number that a text in several parts decides."""
    texts = frame.with_columns(nw.concat_str(list(parts)).alias(_TEXT))
    return engine.uniform(texts, _TEXT, name).drop(_TEXT)


def with_score(frame: nw.LazyFrame, uniform: str, mass: str, name: str) -> nw.LazyFrame:
    """Add the score with which rows race: of any of them, the least wins in proportion to its mass."""
    return frame.with_columns((-nw.col(uniform).log() / nw.col(mass)).alias(name))


def score_of(uniform: float, mass: float) -> float:
    """Return the score of one row, as engines do."""
    return -math.log(uniform) / mass
