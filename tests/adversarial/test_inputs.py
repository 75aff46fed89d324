"""Inputs under attack: one clustering through every kind of input gives the oracle's numbers, or a clear no."""

from __future__ import annotations

import csv
import itertools
import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import feather, parquet

import pointwise as pw
from pointwise.errors import PointwiseError

import oracle

# What has led a reader astray: numbers in disguise, quotes, comments, delimiters, blanks, nothing, words for nothing.
STRANGE = (
    *(
        "1",
        "01",
        "1.0",
        "1e5",
        "-1",
        "+1",
        " 1",
        "1 ",
        "0x1",
        "1_000",
        "true",
        "null",
        "NULL",
        "None",
        "nan",
        "NaN",
        "NA",
    ),
    *(
        "",
        " ",
        "#",
        "#a",
        "a,b",
        "a;b",
        "a|b",
        "a\tb",
        "a\nb",
        "a\rb",
        '"',
        '""',
        "'",
        "\\",
        "\\N",
        "=1+1",
        "{}",
        "[1]",
    ),
    *("item", "cluster", "2020-01-01", "12:30", "é", "e\u0301", "\u200b", "\ufeff", "\x1b[31m", "\x7f", "\U0001f600"),
)
texts = st.one_of(
    st.sampled_from(STRANGE),
    st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=6),
)
numbers = st.one_of(st.integers(-5, 5), st.sampled_from([2**31, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)]))
ids = st.sampled_from([texts, numbers])
numbering = itertools.count()
MEASURED = ("precision", "recall", "jaccard_distance")


@st.composite
def clusterings(draw):
    """Draw an ideal and an actual clustering of the same kind of items, and of any kinds of clusters."""
    items = draw(st.lists(draw(ids), min_size=2, max_size=7, unique=True))
    ideal, actual = (dict(zip(items, draw(many(draw(ids), len(items))), strict=True)) for _ in range(2))
    for item in items[1:]:
        (ideal if draw(st.integers(0, 9)) == 0 else {}).pop(item, None)
        (actual if draw(st.integers(0, 9)) == 0 else {}).pop(item, None)
    return ideal, actual


def many(values, size):
    """Draw few different values, so that there are clusters of several items."""
    return st.lists(values, min_size=1, max_size=3).flatmap(
        lambda few: st.lists(st.sampled_from(few), min_size=size, max_size=size)
    )


def columns(clustering):
    return {"item": list(clustering), "cluster": list(clustering.values())}


def groups(clustering):
    found = {}
    for item, cluster in clustering.items():
        found.setdefault(cluster, []).append(item)
    return list(found.values())


def as_csv(clustering, folder, *, ending="csv", quoting=csv.QUOTE_MINIMAL):
    path = folder / f"{next(numbering)}.{ending}"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t" if ending == "tsv" else ",", quoting=quoting)
        writer.writerows([("item", "cluster"), *clustering.items()])
    return path


def as_json(clustering, folder, *, ending="jsonl"):
    rows = [{"item": item, "cluster": cluster} for item, cluster in clustering.items()]
    path = folder / f"{next(numbering)}.{ending}"
    text = json.dumps(rows) if ending == "json" else "".join(json.dumps(row) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return path


def as_file(clustering, folder, write, ending):
    path = folder / f"{next(numbering)}.{ending}"
    write(pa.table(columns(clustering)), path)
    return path


# CSV does not tell numbers from text, nor nothing from empty text; all others must come back as they went in.
TYPED = {
    "mapping": lambda c, _: c,
    "clusters": lambda c, _: groups(c),
    "sets": lambda c, _: [set(group) for group in groups(c)],
    "series": lambda c, _: pd.Series(list(c.values()), index=pd.Index(list(c), dtype=object)),
    "arrow": lambda c, _: pa.table(columns(c)),
    "pandas": lambda c, _: pd.DataFrame(columns(c)),
    "polars": lambda c, _: pl.DataFrame(columns(c)),
    "lazy": lambda c, _: pl.LazyFrame(columns(c)),
    "parquet": lambda c, folder: as_file(c, folder, parquet.write_table, "parquet"),
    "feather": lambda c, folder: as_file(c, folder, feather.write_feather, "feather"),
    "json lines": as_json,
    "json": lambda c, folder: as_json(c, folder, ending="json"),
    "source": lambda c, folder: [as_file(c, folder, parquet.write_table, "parquet")],
}
UNTYPED = {
    "csv": as_csv,
    "quoted csv": lambda c, folder: as_csv(c, folder, quoting=csv.QUOTE_ALL),
    "tsv": lambda c, folder: as_csv(c, folder, ending="tsv"),
}
KINDS = TYPED | UNTYPED


def expected(ideal, actual):
    return {name: float(oracle.value(name, ideal, actual)) for name in MEASURED}


def values_of(evaluation):
    return {name: evaluation.overall[name] for name in MEASURED}


def read_as(kind, clustering):
    """Say what a clustering may come back as: CSV holds text, in which one cluster may be 1 and '1'."""
    return {str(item): str(cluster) for item, cluster in clustering.items()} if kind in UNTYPED else clustering


def doors(ideal, actual):
    """Measure through every door that two clusterings fit in."""
    yield "evaluate", values_of(pw.evaluate(ideal=ideal, actual=actual, intervals=False))
    yield "compare", values_of(pw.compare(ideal=ideal, variants={"v": actual}, intervals=False)["v"])
    yield "distance", {"jaccard_distance": pw.distance(ideal, actual)}
    found = pw.diff(baseline=ideal, experiment=actual).overall
    yield "diff", {"jaccard_distance": {row["metric"]: row["value"] for row in found.to_dicts()}["jaccard_distance"]}


@example(pair=({"1": "1"}, {"1": "-1"}), kinds=("mapping", "series"))
@given(pair=clusterings(), kinds=st.tuples(st.sampled_from(list(KINDS)), st.sampled_from(list(KINDS))))
def test_every_kind_of_input_gives_the_same_numbers(pair, kinds, tmp_path):
    ideal, actual = (read_as(kind, clustering) for kind, clustering in zip(kinds, pair, strict=True))
    given_ideal, given_actual = (KINDS[kind](c, tmp_path) for kind, c in zip(kinds, pair, strict=True))
    if set(kinds) & set(UNTYPED):
        ideal, actual = ({str(item): cluster for item, cluster in c.items()} for c in (ideal, actual))
    try:
        for door, values in doors(given_ideal, given_actual):
            for name, value in expected(ideal, actual).items():
                if name in values:
                    assert values[name] == pytest.approx(value, rel=1e-9, abs=1e-12), (door, name)
    except PointwiseError as error:
        assert is_reason(str(error), pair, kinds), error  # noqa: PT017


def is_reason(message, pair, kinds):
    """Tell whether a refusal is one that the input deserves."""
    if not set(pair[0]) & set(pair[1]):
        return "No item is common" in message
    labels = [str(label) for clustering in pair for label in clustering.values()]
    if "the label -1" in message:  # which a vector of labels has for noise
        return "series" in kinds and "-1" in labels
    # A CSV file does not tell empty text from nothing, and a lone carriage return from the end of a line.
    written = (
        [str(part) for pairs in pair for item in pairs.items() for part in item] if set(kinds) & set(UNTYPED) else []
    )
    return ("without a" in message and "" in written) or ("cannot be read" in message and "\r" in "".join(written))


@example(pair=({"1": -1}, {"1": "1"}), kind="list")
@given(pair=clusterings(), kind=st.sampled_from(["list", "numpy", "arrow", "polars", "series"]))
def test_labels_in_every_kind_of_vector_give_the_same_numbers(pair, kind):
    common = [item for item in pair[0] if item in pair[1]]
    vectors = [[clustering[item] for item in common] for clustering in pair]
    make = {"list": list, "numpy": np.array, "arrow": pa.array, "polars": pl.Series, "series": pd.Series}[kind]
    options = {"ideal": make(vectors[0]), "actual": vectors[1], "intervals": False}
    if any(str(label) == "-1" for vector in vectors for label in vector):  # noise, unless somebody says otherwise
        with pytest.raises(PointwiseError, match="the label -1"):
            pw.evaluate(**options)
        options["unassigned_labels"] = [None]
    try:
        found = values_of(pw.evaluate(**options))
    except PointwiseError as error:
        assert is_reason(str(error), pair, ()), error  # noqa: PT017
        return
    numbered = [dict(enumerate(vector)) for vector in vectors]
    for name, value in expected(*numbered).items():
        assert found[name] == pytest.approx(value, rel=1e-9, abs=1e-12), name
