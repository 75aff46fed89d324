"""A small example as Spark data frames, for the tests of Spark in one process and on a cluster."""

from __future__ import annotations

import pytest

IDEAL = {"i1": "a", "i2": "a", "i3": "b"}
ACTUAL = {"i1": "x", "i2": "y", "i3": "x"}
WEIGHTS = {"i1": 1, "i2": 2, "i3": 3}


def make_frames(spark):
    """Write the two clusterings, the weights and an attribute as data frames of a session."""
    rows = [(item, IDEAL[item], ACTUAL[item], WEIGHTS[item], item == "i1") for item in IDEAL]
    values = ", ".join(map(str, rows))  # in SQL, so that Spark starts no Python processes for three rows
    table = spark.sql(f"SELECT * FROM VALUES {values} AS t(item, ideal, actual, w, first)")
    ideal = table.selectExpr("item", "ideal AS cluster", "w", "first")
    return {"ideal": ideal, "actual": table.selectExpr("item", "actual AS cluster")}


def agree(mine, other):
    """Compare the values of two rows, of which some may be text or missing."""
    assert list(mine) == list(other)
    for name, value in mine.items():
        expected = pytest.approx(other[name], rel=1e-12, abs=1e-12) if isinstance(value, float) else other[name]
        assert value == expected, name
