"""Arithmetic: formulas that are written once, for columns of a table, NumPy arrays and plain numbers.

An engine computes with the columns of tables of any size. Where few rows are at hand, planning a query would take far
longer than the arithmetic, which NumPy does at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np


@dataclass(frozen=True)
class Arithmetic:
    """The operations beyond `+ - *` that formulas need, for one kind of value."""

    divide: Callable[[Any, Any], Any]  # undefined where the denominator is zero
    sqrt: Callable[[Any], Any]
    minimum: Callable[[Any, Any], Any]  # undefined where either is undefined
    exp: Callable[[Any], Any]
    is_defined: Callable[[Any], Any]
    choose: Callable[..., Any]  # (condition, then, otherwise); without the last, undefined


def _divide_columns(numerator: nw.Expr, denominator: nw.Expr) -> nw.Expr:
    return nw.when(denominator != 0).then(numerator / denominator)


def _lesser_column(a: nw.Expr, b: nw.Expr | float) -> nw.Expr:
    return nw.when(a <= b).then(a).otherwise(nw.when(a > b).then(b))


def _choose_columns(condition: nw.Expr, then: nw.Expr | float, otherwise: nw.Expr | float | None = None) -> nw.Expr:
    chosen = nw.when(condition).then(_column(then))
    return chosen if otherwise is None else chosen.otherwise(_column(otherwise))


def _column(value: nw.Expr | float) -> nw.Expr:
    return value if isinstance(value, nw.Expr) else nw.lit(float(value))


COLUMNS = Arithmetic(
    divide=_divide_columns,
    sqrt=lambda x: x.sqrt(),
    minimum=_lesser_column,
    exp=lambda x: x.exp(),
    is_defined=lambda x: ~x.is_null(),
    choose=_choose_columns,
)
"""For columns of a table, where undefined is null."""


def _divide_arrays(numerator: Any, denominator: Any) -> Any:
    is_zero = np.equal(denominator, 0)
    if not is_zero.any():
        return np.divide(numerator, denominator)
    undefined = np.full(np.broadcast(numerator, denominator).shape, np.nan)
    return np.divide(numerator, denominator, out=undefined, where=~is_zero)


def _choose_arrays(condition: Any, then: Any, otherwise: Any = math.nan) -> Any:
    return np.where(condition, then, otherwise)


ARRAYS = Arithmetic(
    divide=_divide_arrays,
    sqrt=np.sqrt,
    minimum=np.minimum,
    exp=np.exp,
    is_defined=lambda x: ~np.isnan(x),
    choose=_choose_arrays,
)
"""For NumPy arrays, where undefined is NaN."""


def _divide_numbers(numerator: Any, denominator: Any) -> Any:
    return numerator / denominator if denominator else math.nan


def _choose_numbers(condition: Any, then: Any, otherwise: Any = math.nan) -> Any:
    return then if condition else otherwise


NUMBERS = Arithmetic(
    divide=_divide_numbers,
    sqrt=math.sqrt,
    minimum=min,
    exp=math.exp,
    is_defined=lambda x: not math.isnan(x),
    choose=_choose_numbers,
)
"""For floats and fractions, where undefined is NaN."""


Get = Callable[[str], Any]
"""Returns a column by its name."""

Program = Callable[[Get, Arithmetic], Iterator[Mapping[str, Any]]]
"""A computation in steps: each yields new columns by name, which the following ones can get."""


def compute_columns(frame: nw.LazyFrame, program: Program) -> nw.LazyFrame:
    """Let an engine run a program over a table."""
    for columns in program(nw.col, COLUMNS):
        frame = frame.with_columns(*(value.alias(name) for name, value in columns.items()))
    return frame


def compute_arrays(arrays: Mapping[str, np.ndarray], program: Program) -> dict[str, np.ndarray]:
    """Run a program with NumPy; return the arrays given and those that it makes."""
    found = dict(arrays)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        for columns in program(found.__getitem__, ARRAYS):
            found |= columns
    return found


def in_step(computations: Iterable[Iterator[Mapping[str, Any]]]) -> Iterator[Mapping[str, Any]]:
    """Join computations of equally many steps, so that what they make in one step is made together."""
    for columns in zip(*computations, strict=True):
        yield {name: value for part in columns for name, value in part.items()}
