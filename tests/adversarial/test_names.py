"""No name that a user gives to a column, a slice or a metric can change a number."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pointwise as pw
from alike import alike
from pointwise import columns, errors
from pointwise.core.metrics import METRICS

IDEAL = {"a": 1, "b": 1, "c": 2, "d": 2}
ACTUAL = {"a": 1, "b": 2, "c": 2, "d": 2}
OTHER = {"a": 1, "b": 1, "c": 2, "d": 3}
VALUES = ["x", "y", "x", "y"]

# Columns that steps have, or had, beside those of users.
INTERNAL = (
    *("tp", "fp", "fn", "tn", "ideal_weight", "actual_weight", "ideal_items", "actual_items", "squared_weight"),
    *("weight_total", "precision_mean", "precision_error", "precision_df", "precision_reach", "precision_influence"),
    *("_key", "_key_0", "_key_1", "_rows", "_order", "_size", "_pair", "_sign", "_number", "_row", "_cells"),
    *("found", "bad_weights", "is_ideal", "is_actual", "_undefined", "heaviest", "leader", "cost", "cells"),
    *("weight__total", "precision__error", "__pw_x", "__pw_", "_cluster_0", "variant_", "items_baseline"),
)
STRANGE = ("geo.country", "*", "", "Tp", "a b", 'quo"te', "it's", "`tick`", "é", "x\ny", "#1", "a" * 300, "\ud800")

names = st.one_of(st.sampled_from(INTERNAL), st.sampled_from(STRANGE), st.text(max_size=8))


def attributes(name, values=VALUES):
    return pa.table([list(IDEAL), values], names=["item", name])


def by_value(table, name):
    return numbers(table.to_dicts(), name)


def numbers(rows, name):
    """Return what rows say of the values of a column; rows of other slices have none in it."""
    return {row[name]: (row["items"], row["precision"], row["recall"]) for row in rows if row[name] is not None}


EXPECTED = by_value(pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=attributes("s"), slices="s").by_slice(), "s")
DELTAS = {
    (row["s"], row["metric"]): row["delta"]
    for row in pw.compare(ideal=IDEAL, variants={"a": ACTUAL, "b": OTHER}, attributes=attributes("s"), slices="s")
    .by_slice()
    .to_dicts()
}


@given(name=names)
@example(name="tp")
@example(name="geo.country")
@example(name="*")
@example(name="")
@example(name="_key_0")
def test_slices_of_any_name(name):
    encodable = name.encode("utf-8", "replace").decode()
    try:
        evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=attributes(encodable), slices=[(encodable,)])
        table, crossed = evaluation.by_slice(), evaluation.by_slice((encodable,)).columns
        assert by_value(table, encodable) == EXPECTED
        for column in ("tp", "fp", "fn", "tn", "ideal_weight"):
            assert crossed.count(column) <= 1
        assert "precision" in repr(table)
        assert "precision" in table._repr_html_()
    except errors.UsageError as error:
        assert "Rename the column" in str(error) or "slice" in str(error)  # noqa: PT017


def in_groups(names, size=12):
    """Split names into groups, each tried in one table: that takes less long, and names meet each other as well."""
    return [names[start : start + size] for start in range(0, len(names), size)]


def attributes_called(names):
    return pa.table([list(IDEAL), *([VALUES] * len(names))], names=["item", *names])


@pytest.mark.parametrize("names", in_groups([*INTERNAL, "geo.country", "*", "Tp", "a b"]), ids=" ".join)
def test_differences_by_slices_of_any_name(names):
    comparison = pw.compare(ideal=IDEAL, variants={"a": ACTUAL, "b": OTHER}, attributes=attributes_called(names))
    rows = comparison.by_slice(*[(name,) for name in names]).to_dicts()
    for name in names:
        found = {(row[name], row["metric"]): row["delta"] for row in rows if row[name] is not None}
        assert found == DELTAS


@pytest.mark.parametrize("names", in_groups([*INTERNAL, *STRANGE[:-1]]), ids=lambda names: f"{names[0]} to {names[-1]}")
def test_stored_slices_of_any_name(names, tmp_path):
    slices = [(name,) for name in names]
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=attributes_called(names), slices=slices)
    loaded = pw.load(evaluation.save(tmp_path / "run"))
    rows = loaded.by_slice().to_dicts()
    for name in names:
        assert numbers(rows, name) == EXPECTED
    assert loaded.overall.to_dicts() == alike(evaluation.overall)


def test_names_that_differ_in_capitals_only():
    table = pa.table([list(IDEAL), VALUES, ["x"] * 4], names=["item", "s", "S"])
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=table)
    assert by_value(evaluation.by_slice("s"), "s") == EXPECTED
    assert set(by_value(evaluation.by_slice("S"), "S")) == {"x"}


def test_conditions_and_expressions_over_such_names():
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=attributes("tp"))
    for spec in ("tp = 'x'", pw.col("tp") == "x", ("mine", pw.col("tp") == "x")):
        rows = {row["value"]: row["precision"] for row in evaluation.by_slice(spec).to_dicts()}
        assert rows["true"] == pytest.approx(EXPECTED["x"][1])
    table = evaluation.by_slice("tp")
    assert [row["tp"] for row in table.where("tp = 'x'").to_dicts()] == ["x"]
    assert [row["tp"] for row in table.where(pw.col("tp") == "x").to_dicts()] == ["x"]
    assert [row["tp"] for row in table.sort("tp", descending=True).to_dicts()] == ["y", "x"]


@pytest.mark.parametrize(
    "name",
    [
        *sorted(columns.RESULTS),
        "my_low",
        "my_delta",
        "precision__error",
        "_key",
        "Precision",
        "x_",
        "variant_",
        "a b",
        "1a",
    ],
)
def test_metrics_called_like_columns_are_refused(name):
    with pytest.raises(errors.UsageError):
        pw.metric(name=name)(lambda c: c.tp)
    assert name not in METRICS


@given(name=names)
def test_names_come_back_as_they_were(name):
    enclosed = columns.inside(name)
    assert columns.given_name(enclosed) == name
    assert enclosed.startswith(columns.PREFIX)
    assert enclosed == enclosed.lower()
    assert enclosed.isascii()
    assert enclosed.replace("_", "").isalnum()


@pytest.mark.spark
def test_names_on_spark(spark):
    table = pa.table([list(IDEAL), VALUES, VALUES, VALUES], names=["item", "geo.country", "precision_error", "Found"])
    engine = pw.engines.start_spark(spark)
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL, attributes=table, engine=engine)
    names = ("geo.country", "precision_error", "Found")
    rows = evaluation.by_slice(*names).to_dicts()  # together, because Spark plans every question anew
    for name in names:
        assert numbers(rows, name) == EXPECTED
