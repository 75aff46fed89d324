"""Shapes: values from JSON, read as what annotations say, or refused with the name of the value that does not fit.

A dataclass is the whole description of what a manifest may hold: its annotations give the kinds of values, and its
`__post_init__` the rules between them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

_LARGEST = 2**63  # of the integers that tables hold

_LARGEST_FLOAT = math.nextafter(math.inf, 0)
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")  # which only JSON can write

_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}


class ShapeError(ValueError):
    """A value is not what it should be."""

    def __init__(self, where: str, needed: str) -> None:
        super().__init__(f"{where or 'it'} should be {needed}")


def read_shape(shape: Any, value: Any, where: str = "") -> Any:
    """Read a value as an annotation says.

    Args:
        shape: A dataclass, a union, a Literal, a mapping, a sequence, or one of text, numbers, true/false and null.
        value: What `json` has read.
        where: What to call the value in messages.

    Raises:
        ShapeError: The value does not fit.
    """
    if shape is Any:
        return value
    if is_dataclass(shape):
        return _read_record(shape, value, where)
    return _READERS.get(get_origin(shape), _read_scalar)(shape, value, where)


def _read_record(shape: Any, value: Any, where: str) -> Any:
    if not isinstance(value, dict):
        raise ShapeError(where, "an object")
    hints, read = get_type_hints(shape), {}
    for field in fields(shape):
        inside = f"{where}.{field.name}" if where else field.name
        if field.name in value:
            read[field.name] = read_shape(hints[field.name], value[field.name], inside)
        elif field.default is MISSING and field.default_factory is MISSING:
            raise ShapeError(inside, "there")
    return shape(**read)


def _read_union(shape: Any, value: Any, where: str) -> Any:
    for choice in get_args(shape):
        try:
            return read_shape(choice, value, where)
        except ShapeError:
            continue
    raise ShapeError(where, " or ".join(_describe(choice) for choice in get_args(shape)))


def _read_literal(shape: Any, value: Any, where: str) -> Any:
    if not isinstance(value, str) or value not in get_args(shape):
        raise ShapeError(where, _describe(shape))
    return value


def _read_mapping(shape: Any, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ShapeError(where, "an object")
    inside = get_args(shape)[1]
    return {
        _read_scalar(str, key, f"a name in {where}"): read_shape(inside, part, f"{where}[{key!r}]")
        for key, part in value.items()
    }


def _read_sequence(shape: Any, value: Any, where: str) -> Any:
    if not isinstance(value, list):
        raise ShapeError(where, "a list")
    shapes = get_args(shape)
    if get_origin(shape) is not tuple or shapes[-1] is ...:
        shapes = (shapes[0],) * len(value)
    if len(shapes) != len(value):
        raise ShapeError(where, f"a list of {len(shapes)}")
    read = [read_shape(inside, value[n], f"{where}[{n}]") for n, inside in enumerate(shapes)]
    return tuple(read) if get_origin(shape) is tuple else read


def _read_scalar(shape: Any, value: Any, where: str) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    fits = {
        str: isinstance(value, str) and not _LONE_SURROGATE.search(value),
        bool: isinstance(value, bool),
        NoneType: value is None,
        int: is_number and isinstance(value, int) and -_LARGEST <= value < _LARGEST,
        float: is_number and abs(value) <= _LARGEST_FLOAT,  # which NaN and infinity are not
    }
    if not fits[shape]:
        raise ShapeError(where, _describe(shape))
    return float(value) if shape is float else value


def _describe(shape: Any) -> str:
    if get_origin(shape) in (dict, Mapping) or is_dataclass(shape):
        return "an object"
    if get_origin(shape) is Literal:
        return " or ".join(map(repr, get_args(shape)))
    return _NAMES.get(shape, "a list")


_READERS = {
    Union: _read_union,
    UnionType: _read_union,
    Literal: _read_literal,
    dict: _read_mapping,
    Mapping: _read_mapping,
    tuple: _read_sequence,
    list: _read_sequence,
    Sequence: _read_sequence,
}
