"""Chance: pseudo-random numbers between 0 and 1, each determined by a text.

They do not depend on the order of rows, threads or partitions, so samples are the same on every engine. If every row
gets the score -ln(u) / mass, a row has the lowest score with a probability proportional to its mass.
"""

from __future__ import annotations

import hashlib
import math

import narwhals.stable.v2 as nw

from pointwise.engines.base import Uniform

_TEXT = "_text"


def uniform(text: str) -> float:
    """Return the number between 0 and 1 for a text, as engines do."""
    digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
    return (int(digest[:13], 16) + 0.5) / 16**13


def with_uniform(frame: nw.LazyFrame, draw: Uniform, name: str, *parts: nw.Expr) -> nw.LazyFrame:
    """Have an engine's `uniform` add the number for a text in several parts."""
    texts = frame.with_columns(nw.concat_str(list(parts)).alias(_TEXT))
    return draw(texts, _TEXT, name).drop(_TEXT)


def with_score(frame: nw.LazyFrame, uniform: str, mass: str, name: str) -> nw.LazyFrame:
    """Add a score: a row has the lowest one with a probability proportional to its mass."""
    return frame.with_columns((-nw.col(uniform).log() / nw.col(mass)).alias(name))


def score_of(uniform: float, mass: float) -> float:
    """Return the score of one row, as engines do."""
    return -math.log(uniform) / mass
