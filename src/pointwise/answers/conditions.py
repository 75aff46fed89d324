"""Conditions written as text, such as `year >= 2015 and country in ('US', 'DE')`."""

from __future__ import annotations

import ast
import datetime as dt
import operator
import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.errors import MissingColumnError, UsageError
from pointwise.inputs.checks import say_reserved

_QUOTED = re.compile(r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|`[^`]*`)""")
_WORDS = {
    "and": "and",
    "or": "or",
    "not": "not",
    "in": "in",
    "is": "is",
    "null": "None",
    "true": "True",
    "false": "False",
}
_OPERATORS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


@dataclass(frozen=True)
class Condition:
    """A condition on columns, with the columns it needs."""

    text: str
    expression: nw.Expr
    columns: tuple[str, ...]


def parse_condition(text: str, schema: dict[str, Any], *, reserved: Sequence[str] = ()) -> Condition:
    """Read a condition on columns.

    It may compare columns with numbers and quoted text (`= == != <> < <= > >=`), ask for membership (`in`,
    `not in`) or absence (`is null`, `is not null`), and join conditions with `and`, `or`, `not` and
    parentheses. A column whose name is not a word is written in backticks.

    Args:
        text: The condition.
        schema: The columns it may use, with their types.
        reserved: Names that no column can have.

    Raises:
        UsageError: The text is not a condition.
        MissingColumnError: It names a column that does not exist.
    """
    names: dict[str, str] = {}
    try:
        with warnings.catch_warnings(action="ignore"):  # about backslashes in quoted text
            tree = ast.parse(_to_python(text, names), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{text!r} is neither a column nor a condition. {_EXAMPLE} {_hint(text, schema)}") from error
    reader = _Reader(text, schema, names, tuple(reserved))
    expression = reader.condition(tree)
    return Condition(text, expression, tuple(dict.fromkeys(reader.used)))


_EXAMPLE = "A condition compares columns with values, such as \"year >= 2015 and country in ('US', 'DE')\"."


def _hint(text: str, schema: dict[str, Any]) -> str:
    """Say how to write a name that is not a word, best with one that stands in the text."""
    meant = next((name for name in schema if not name.isidentifier() and name in text), "column name")
    return f"A column whose name is not one word is written in backticks: `{meant}`."


def _to_python(text: str, names: dict[str, str]) -> str:
    """Rewrite what SQL spells differently, outside of quotes."""
    parts = _QUOTED.split(text.strip())
    for n, part in enumerate(parts):
        if part.startswith("`") and n % 2:
            names[f"_quoted_{n}"] = part[1:-1]
            parts[n] = f"_quoted_{n}"
        elif n % 2 == 0:
            plain = re.sub(r"(?<![<>=!])=(?!=)", "==", part).replace("<>", "!=")
            parts[n] = re.sub(r"[A-Za-z_]\w*", lambda m: _WORDS.get(m[0].lower(), m[0]), plain)
    return "".join(parts)


@dataclass
class _Reader:
    text: str
    schema: dict[str, Any]
    names: dict[str, str]
    reserved: tuple[str, ...] = ()
    used: list[str] = field(default_factory=list)

    def condition(self, node: ast.expr) -> nw.Expr:
        match node:
            case ast.BoolOp(op=op, values=values):
                join = operator.and_ if isinstance(op, ast.And) else operator.or_
                return reduce(join, [self.condition(v) for v in values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self.condition(operand)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [left, *comparators]
                pairs = zip(sides, ops, sides[1:], strict=False)
                return reduce(operator.and_, [self.comparison(a, op, b) for a, op, b in pairs])
            case ast.Name() as name if isinstance(self.schema[self.column(name)], nw.Boolean):
                return nw.col(self.column(name))
        raise self.refusal(node)

    def comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> nw.Expr:
        if isinstance(op, (ast.In, ast.NotIn)):
            column = self.column(left)
            listed = right.elts if isinstance(right, (ast.Tuple, ast.List)) else [right]
            found = nw.col(column).is_in([self.literal(e, column) for e in listed])
            return found if isinstance(op, ast.In) else ~found
        if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            missing = nw.col(self.column(left)).is_null()
            return missing if isinstance(op, ast.Is) else ~missing
        if type(op) not in _OPERATORS or not (isinstance(left, ast.Name) or isinstance(right, ast.Name)):
            raise self.refusal(ast.Compare(left, [op], [right]))
        if isinstance(left, ast.Name) and isinstance(right, ast.Name):
            self.check_kinds(self.column(left), self.column(right))
        compared: nw.Expr = _OPERATORS[type(op)](self.operand(left, right), self.operand(right, left))
        return compared

    def check_kinds(self, one: str, other: str) -> None:
        """Refuse to compare two columns of different kinds."""
        types = self.schema[one], self.schema[other]
        for kind in (nw.String, nw.Boolean):
            if isinstance(types[0], kind) != isinstance(types[1], kind):
                raise UsageError(
                    f"In {self.text!r}: {types[0]} ({one!r}) cannot be compared with {types[1]} ({other!r})."
                )

    def operand(self, node: ast.expr, other: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return nw.col(self.column(node))
        beside = self.column(other) if isinstance(other, ast.Name) else None
        value = self.literal(node, beside)
        return value if beside else nw.lit(value)

    def literal(self, node: ast.expr, column: str | None) -> Any:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError) as error:
            raise self.refusal(node) from error
        if value is None:
            raise UsageError(f"In {self.text!r}: a missing value is asked for with `is null` or `is not null`.")
        if not isinstance(value, (str, int, float)):
            raise self.refusal(node)
        return self.converted(value, column) if column else value

    def converted(self, value: Any, column: str) -> Any:
        """Read text as a date where the column holds dates, and refuse what cannot be compared."""
        dtype = self.schema[column]
        is_text, is_number = isinstance(value, str), not isinstance(value, (str, bool))
        try:
            if isinstance(dtype, nw.Date) and is_text:
                return dt.date.fromisoformat(value)
            if isinstance(dtype, nw.Datetime) and is_text:
                return dt.datetime.fromisoformat(value)
        except ValueError as error:
            raise UsageError(f"In {self.text!r}: {value!r} is not a date.") from error
        fits = not is_text if dtype.is_numeric() else is_text
        fits = not (is_text or is_number) if isinstance(dtype, nw.Boolean) else fits
        if not fits:
            raise UsageError(
                f"In {self.text!r}: column {column!r} holds {dtype}, which cannot be compared with {value!r}."
            )
        return value

    def column(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise self.refusal(node)
        name = self.names.get(node.id, node.id)
        if name not in self.schema and name.lower() in self.reserved:
            raise MissingColumnError(say_reserved(name))
        if name not in self.schema:
            raise MissingColumnError(
                f"In {self.text!r}: there is no column {name!r}. There are {', '.join(map(repr, self.schema))}."
            )
        self.used.append(name)
        return name

    def refusal(self, node: ast.expr) -> UsageError:
        meant = ast.unparse(node)
        for word, name in self.names.items():
            meant = meant.replace(word, f"`{name}`")
        return UsageError(f"In {self.text!r}: cannot understand {meant!r}. {_EXAMPLE}")
