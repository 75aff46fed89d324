"""Conditions under attack: any text is understood rightly or refused clearly."""

from __future__ import annotations

import operator

import narwhals.stable.v2 as nw
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pointwise.answers.conditions import parse_condition
from pointwise.columns import inside
from pointwise.engines import start_engine
from pointwise.errors import PointwiseError

ROWS = [
    {"row": 0, "n": 1, "text": "it's"},
    {"row": 1, "n": 2, "text": 'say "x"'},
    {"row": 2, "n": 3, "text": "a\\b"},
    {"row": 3, "n": 3, "text": "its"},
    {"row": 4, "n": -5, "text": ""},
]
SCHEMA = {"row": nw.Int64(), "n": nw.Int64(), "text": nw.String()}
OPERATORS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@pytest.fixture(scope="module")
def frame():
    table = pa.Table.from_pylist(ROWS)
    engine = start_engine()
    return engine, engine.read(table).load(table.column_names)


def matching(frame, text):
    engine, rows = frame
    found = rows.filter(parse_condition(text, SCHEMA).expression)
    return sorted(engine.collect(found.select(inside("row")))[inside("row")].to_pylist())


def quoted(value, quote):
    return quote + value.replace("\\", "\\\\").replace(quote, quote * 2) + quote


comparisons = st.one_of(
    st.tuples(st.sampled_from(list(OPERATORS)), st.integers(-6, 4)).map(
        lambda c: (f"n {c[0]} {c[1]}", lambda row: OPERATORS[c[0]](row["n"], c[1]))
    ),
    st.tuples(st.sampled_from(["=", "<>"]), st.sampled_from([r["text"] for r in ROWS]), st.sampled_from("'\"")).map(
        lambda c: (f"text {c[0]} {quoted(c[1], c[2])}", lambda row: OPERATORS[c[0]](row["text"], c[1]))
    ),
)
conditions = st.recursive(
    comparisons,
    lambda inner: st.one_of(
        st.lists(inner, min_size=2, max_size=4).map(
            lambda parts: (" and ".join(f"({p[0]})" for p in parts), lambda row: all(p[1](row) for p in parts))
        ),
        st.lists(inner, min_size=2, max_size=4).map(
            lambda parts: (" or ".join(f"({p[0]})" for p in parts), lambda row: any(p[1](row) for p in parts))
        ),
        inner.map(lambda part: (f"not ({part[0]})", lambda row: not part[1](row))),
    ),
    max_leaves=12,
)


@given(condition=conditions)
def test_a_condition_means_what_it_says(frame, condition):
    text, holds = condition
    assert matching(frame, text) == [row["row"] for row in ROWS if holds(row)]


@given(text=st.one_of(st.text(max_size=60), st.text(alphabet="ntex'\"\\` =<>()andor,not12[]{}.%:#\n", max_size=60)))
def test_any_other_text_is_refused_in_our_own_words(text):
    try:
        parse_condition(text, SCHEMA)
    except PointwiseError as error:
        assert len(str(error)) < 2_000  # noqa: PT017  # most texts are refused, some are conditions


@pytest.mark.parametrize(
    "text",
    [
        "not " * 400 + "n = 1",
        "\\'" * 20_000,
        "'" * 9_999,
        "text = 'it' 's'",
        "text = b'its'",
        "text = f'its'",
        "(" * 300 + "n = 1" + ")" * 300,
        "n = " + "9" * 5_000,
    ],
    ids=["nots", "long", "quotes", "two texts", "bytes", "format", "parentheses", "digits"],
)
def test_what_would_break_an_engine_is_refused(text):
    with pytest.raises(PointwiseError):
        parse_condition(text, SCHEMA)


def test_many_conditions_joined_are_understood(frame):
    assert matching(frame, " and ".join(["n >= 2"] * 500)) == [1, 2, 3]
    assert matching(frame, " or ".join(f"n = {n}" for n in range(2, 502))) == [1, 2, 3]


def test_doubled_quotes_are_quotes(frame):
    assert matching(frame, "text = 'it''s'") == [0]
    assert matching(frame, "text = 'it\\'s'") == [0]
    assert matching(frame, 'text = "say ""x"""') == [1]
