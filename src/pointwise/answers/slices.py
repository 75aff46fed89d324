"""Slices: which groups of items to look at."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.conditions import parse_condition
from pointwise.columns import ACTUAL_ITEMS, IDEAL_ITEMS, RESERVED, inside
from pointwise.errors import MissingColumnError, UsageError
from pointwise.inputs.checks import say_reserved
from pointwise.text.values import listed, short

BANDS = (0, 1, 2, 3, 6, 11, 21, 51, 101, 1_001, 10_001)
"""Where bands of cluster sizes begin."""

SIZES = {"ideal_cluster_size": IDEAL_ITEMS, "actual_cluster_size": ACTUAL_ITEMS}
"""Built-in slices: the number of common items in a cluster, in bands."""


@dataclass(frozen=True)
class Key:
    """One dimension of a slicing.

    Args:
        name: Its column in the result.
        expression: Its value, over the columns of items under their internal names or, for a user's own expression,
            under the user's names; None for a built-in slice, which is computed from cells.
        columns: The item columns that it needs; None if that is not known.
    """

    name: str
    expression: nw.Expr | None = None
    columns: tuple[str, ...] | None = ()

    @property
    def column(self) -> str:
        """Its column before the result reaches the user."""
        return inside(self.name)


@dataclass(frozen=True)
class Slicing:
    """A way to cut all items into groups, by one dimension or several crossed."""

    keys: tuple[Key, ...]

    @property
    def name(self) -> str:
        """Its name."""
        return ",".join(self.names)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its dimensions."""
        return tuple(key.name for key in self.keys)


def read_slicing(spec: Any, schema: Mapping[str, Any]) -> Slicing:
    """Read a user's specification of a slice.

    Args:
        spec: A column, several columns crossed (`("country", "year")` or `"country,year"`), a condition as text
            or as a narwhals expression, a `(name, expression)` pair, or the name of a built-in slice.
        schema: The columns that items have, with their types.
    """
    if isinstance(spec, Slicing):
        return spec
    if isinstance(spec, nw.Expr):
        return Slicing((Key("condition", spec, None),))
    if isinstance(spec, str):
        return Slicing(_keys_of_text(spec, schema))
    if _is_named_expression(spec):
        return Slicing((Key(spec[0], spec[1], None),))
    if isinstance(spec, Sequence) and spec:
        return Slicing(tuple(key for part in spec for key in read_slicing(part, schema).keys))
    raise UsageError(f"{spec!r} is not a slice: give a column, columns, a condition or the name of a built-in slice.")


def _is_named_expression(spec: Any) -> bool:
    return isinstance(spec, tuple) and len(spec) == 2 and isinstance(spec[0], str) and isinstance(spec[1], nw.Expr)  # noqa: PLR2004


def _keys_of_text(text: str, schema: Mapping[str, Any]) -> tuple[Key, ...]:
    parts = [text] if text in schema else [part.strip() for part in text.split(",")]
    if all(part in schema or part in SIZES for part in parts):
        return tuple(_key_of_column(part, schema) for part in parts)
    if all(part.isidentifier() for part in parts):
        raise MissingColumnError(_unknown(next(p for p in parts if p not in schema and p not in SIZES), schema))
    condition = parse_condition(text, dict(schema), reserved=RESERVED)
    return (Key(text, condition.expression, condition.columns),)


def _key_of_column(name: str, schema: Mapping[str, Any]) -> Key:
    if name in schema:
        return Key(name, nw.col(inside(name)), (name,))
    return Key(name)


def say_what_to_slice_by(schema: Mapping[str, Any]) -> str:
    """Say which columns there are, if none was named."""
    return f"Say what to slice by: {_columns(schema)}"


def _columns(schema: Mapping[str, Any]) -> str:
    return (
        f"there are {listed((*schema, *SIZES))}. More columns come from attributes=..., a table of items "
        "and their attributes."
    )


def _unknown(name: str, schema: Mapping[str, Any]) -> str:
    if name.lower() in RESERVED:
        return say_reserved(name)
    columns, hint = _columns(schema), _hint(name, [*schema, *SIZES])
    return f"There is no column {short(name)} to slice by.{hint} {columns[0].upper()}{columns[1:]}"


def _hint(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def check_columns(names: Sequence[str], schema: Mapping[str, Any]) -> None:
    """Refuse to show columns that items do not have.

    Raises:
        MissingColumnError: The message says which there are.
    """
    for name in (name for name in names if name not in schema):
        there = f"There are {listed(schema)}." if schema else "Nothing is known about the items."
        raise MissingColumnError(
            f"There is no column {short(name)} to show.{_hint(name, list(schema))} {there} More columns come from "
            "attributes=..., a table of items and their attributes."
        )


def band_start(column: str) -> nw.Expr:
    """Return the least size of the band that a size lies in."""
    start: nw.Expr = nw.lit(BANDS[0])
    for least in BANDS[1:]:
        start = nw.when(nw.col(column) >= least).then(nw.lit(least)).otherwise(start)
    return start.cast(nw.Int64)


def band_name(start: int) -> str:
    """Name the band that begins with a size: 3 becomes "3-5"."""
    following = dict(pairwise(BANDS)).get(start)
    if following is None:
        return f"{start}+"
    return str(start) if following == start + 1 else f"{start}-{following - 1}"


def band_label(column: str) -> nw.Expr:
    """Turn the least size of a band into the band's name, in a column."""
    label: nw.Expr = nw.lit(band_name(BANDS[-1]))
    for start in reversed(BANDS[:-1]):
        label = nw.when(nw.col(column) == start).then(nw.lit(band_name(start))).otherwise(label)
    return label
