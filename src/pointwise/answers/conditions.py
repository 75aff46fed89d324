"""Conditions written as text, such as `year >= 2015 and country in ('US', 'DE')`."""

from __future__ import annotations

import ast
import datetime as dt
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
from narwhals.exceptions import ColumnNotFoundError

from pointwise.columns import inside
from pointwise.errors import MissingColumnError, UsageError
from pointwise.inputs.checks import say_reserved
from pointwise.text.values import listed, short

_LONGEST = 10_000  # characters
_DEEPEST = 40  # levels of `not` and parentheses: engines recurse into every level
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


@contextmanager
def knowing_columns(columns: Iterable[str]) -> Iterator[None]:
    """Say which columns there are where a user's own expression names another one."""
    try:
        yield
    except ColumnNotFoundError as error:
        there = listed(columns) or "none"
        raise MissingColumnError(f"The expression names a column that does not exist. There are {there}.") from error


def parse_condition(
    text: str, schema: dict[str, Any], *, reserved: Sequence[str] = (), named: Callable[[str], str] = inside
) -> Condition:
    """Read a condition on columns.

    It may compare columns with numbers and quoted text (`= == != <> < <= > >=`), ask for membership (`in`,
    `not in`) or absence (`is null`, `is not null`), and join conditions with `and`, `or`, `not` and
    parentheses. A column whose name is not a word is written in backticks. A quote inside quoted text is doubled,
    or has a backslash before it.

    Args:
        text: The condition.
        schema: The columns it may use, with their types.
        reserved: Names that no column can have.
        named: Returns what the frame calls a column.

    Raises:
        UsageError: The text is not a condition.
        MissingColumnError: It names a column that does not exist.
    """
    if len(text) > _LONGEST:
        raise UsageError(f"A condition of {len(text):,} characters is too long: at most {_LONGEST:,} are read.")
    names: dict[str, str] = {}
    try:
        with warnings.catch_warnings(action="ignore"):  # about backslashes in quoted text
            tree = ast.parse(_to_python(text, names), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(
            f"{_shortened(text)} is neither a column nor a condition. {_EXAMPLE} {_hint(text, schema)}"
        ) from error
    if _depth(tree) > _DEEPEST:
        raise UsageError(f"{_shortened(text)} is nested too deeply: at most {_DEEPEST} levels are read.")
    reader = _Reader(text, schema, names, tuple(reserved), named)
    expression = reader.condition(tree)
    return Condition(text, expression, tuple(dict.fromkeys(reader.used)))


def _shortened(text: str, most: int = 200) -> str:
    return repr(text if len(text) <= most else text[: most - 1] + "…")


def _depth(tree: ast.expr) -> int:
    """Count the levels of a condition, level by level so that any number can be counted."""
    depth, level = 0, [tree]
    while level:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
    return depth


_EXAMPLE = "A condition compares columns with values, such as \"year >= 2015 and country in ('US', 'DE')\"."


def _hint(text: str, schema: dict[str, Any]) -> str:
    """Say how to write a name that is not a word, if possible with one from the text."""
    meant = next((name for name in schema if not name.isidentifier() and name in text), "column name")
    return f"A column whose name is not one word is written in backticks: `{meant}`."


def _to_python(text: str, names: dict[str, str]) -> str:
    """Rewrite what SQL spells differently, outside of quotes."""
    parts: list[str] = []
    pieces = list(_split_quoted(text.strip()))  # unquoted, quoted, unquoted and so on
    if any(not between.strip() for between in pieces[2:-1:2]):
        raise ValueError("two quoted parts side by side")  # which Python would join into one
    for part in pieces:
        if part.startswith("`"):
            word = f"_quoted_{len(names)}"
            names[word] = part[1:-1]
            parts.append(f" {word} ")
        elif part.startswith(("'", '"')):
            parts.append(f" {_as_literal(part)} ")
        else:
            plain = re.sub(r"(?<![<>=!])=(?!=)", "==", part).replace("<>", "!=")
            parts.append(re.sub(r"[A-Za-z_]\w*", lambda m: _WORDS.get(m[0].lower(), m[0]), plain))
    return "".join(parts).strip()


def _split_quoted(text: str) -> Iterator[str]:
    """Split a text into quoted and unquoted parts, in one pass.

    Raises:
        ValueError: A quote is not closed.
    """
    start = place = 0
    while place < len(text):
        if text[place] in "'\"`":
            yield text[start:place]
            start, place = place, _find_end(text, place)
            yield text[start:place]
            start = place
        else:
            place += 1
    yield text[start:]


def _find_end(text: str, start: int) -> int:
    """Find where a quoted part ends. A backslash takes the next character as it is, and a doubled quote is one."""
    quote, place = text[start], start + 1
    while place < len(text):
        if text[place] == "\\" and quote != "`":
            place += 2
        elif text[place] != quote:
            place += 1
        elif quote != "`" and text[place + 1 : place + 2] == quote:
            place += 2
        else:
            return place + 1
    raise ValueError(f"the quote {quote} is not closed")


def _as_literal(quoted: str) -> str:
    """Write text in quotes as Python does, where a quote inside is not doubled but has a backslash before it."""
    quote, inside = quoted[0], quoted[1:-1]
    pieces = re.split(r"(\\.)", inside, flags=re.DOTALL)
    return quote + "".join(p if p.startswith("\\") else p.replace(quote * 2, "\\" + quote) for p in pieces) + quote


def _fold(join: Callable[[Any, Any], Any], parts: list[nw.Expr]) -> nw.Expr:
    """Join many conditions as a tree that is as flat as possible, because engines recurse into every level."""
    while len(parts) > 1:
        parts = [
            join(*pair) if len(pair) > 1 else pair[0] for pair in (parts[n : n + 2] for n in range(0, len(parts), 2))
        ]
    return parts[0]


@dataclass
class _Reader:
    text: str
    schema: dict[str, Any]
    names: dict[str, str]
    reserved: tuple[str, ...] = ()
    named: Callable[[str], str] = inside
    used: list[str] = field(default_factory=list)

    @property
    def shown(self) -> str:
        return _shortened(self.text)

    def condition(self, node: ast.expr) -> nw.Expr:
        match node:
            case ast.BoolOp(op=op, values=values):
                join = operator.and_ if isinstance(op, ast.And) else operator.or_
                return _fold(join, [self.condition(v) for v in values])
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ~self.condition(operand)
            case ast.Compare(left=left, ops=ops, comparators=comparators):
                sides = [left, *comparators]
                pairs = zip(sides, ops, sides[1:], strict=False)
                return reduce(operator.and_, [self.comparison(a, op, b) for a, op, b in pairs])
            case ast.Name() as name if isinstance(self.schema[self.column(name)], nw.Boolean):
                return self.values(self.column(name))
        raise self.refusal(node)

    def comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> nw.Expr:
        if isinstance(op, (ast.In, ast.NotIn)):
            column = self.column(left)
            listed = right.elts if isinstance(right, (ast.Tuple, ast.List)) else [right]
            found = self.values(column).is_in([self.literal(e, column) for e in listed])
            return found if isinstance(op, ast.In) else ~found
        if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(right, ast.Constant) and right.value is None:
            missing = self.values(self.column(left)).is_null()
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
                    f"In {self.shown}: {types[0]} ({one!r}) cannot be compared with {types[1]} ({other!r})."
                )

    def operand(self, node: ast.expr, other: ast.expr) -> Any:
        if isinstance(node, ast.Name):
            return self.values(self.column(node))
        beside = self.column(other) if isinstance(other, ast.Name) else None
        value = self.literal(node, beside)
        return value if beside else nw.lit(value)

    def literal(self, node: ast.expr, column: str | None) -> Any:
        try:
            value = ast.literal_eval(node)
        except (ValueError, TypeError) as error:
            raise self.refusal(node) from error
        if value is None:
            raise UsageError(f"In {self.shown}: write `is null` or `is not null` for missing values.")
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
            raise UsageError(f"In {self.shown}: {value!r} is not a date.") from error
        fits = not is_text if dtype.is_numeric() else is_text
        fits = not (is_text or is_number) if isinstance(dtype, nw.Boolean) else fits
        if not fits:
            raise UsageError(
                f"In {self.shown}: column {column!r} holds {dtype}, which cannot be compared with {value!r}."
            )
        return value

    def values(self, column: str) -> nw.Expr:
        return nw.col(self.named(column))

    def column(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise self.refusal(node)
        name = self.names.get(node.id, node.id)
        if name not in self.schema and name.lower() in self.reserved:
            raise MissingColumnError(say_reserved(name))
        if name not in self.schema:
            there = listed(self.schema) or "none"
            raise MissingColumnError(
                f"In {self.shown}: there is no column {short(name)}. There are {there}. Text is quoted: '{name}'."
            )
        self.used.append(name)
        return name

    def refusal(self, node: ast.expr) -> UsageError:
        meant = ast.unparse(node)
        for word, name in self.names.items():
            meant = meant.replace(word, f"`{name}`")
        return UsageError(f"In {self.shown}: cannot understand {meant!r}. {_EXAMPLE}")
