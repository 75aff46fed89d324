"""Discovery: planted slices are found, and hardly ever one where there is none."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest

import pointwise as pw
from pointwise.answers.discovery import _compare, _Totals


def world(seed, *, clusters=400, size=5, wrong=0.1, worse=None):
    """Draw clusters of items with attributes; items fall off their cluster at random, some of them more often."""
    rng = np.random.default_rng(seed)
    n = clusters * size
    known = {
        "country": rng.choice(["US", "DE", "it's"], n),
        "kind": rng.choice(["a", "b"], n),
        "year": rng.integers(1980, 2020, n),
        "price": np.where(rng.random(n) < 0.1, np.nan, rng.lognormal(0, 1, n)),
        "day": [dt.date(2020, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 300, n)],
    }
    chance = np.full(n, wrong)
    if worse is not None:
        chance[worse(known)] = 0.6
    ideal = np.arange(n) // size
    actual = np.where(rng.random(n) < chance, clusters + np.arange(n), ideal)
    items = np.arange(n)
    return {
        "ideal": pa.table({"item": items, "cluster": ideal}),
        "actual": pa.table({"item": items, "cluster": actual}),
        "attributes": pa.table({"item": items} | known),
    }


PLANTED = {
    "country = 'it''s'": lambda known: known["country"] == "it's",
    "year >= 2012": lambda known: known["year"] >= 2012,
    "country = 'DE' and kind = 'b'": lambda known: (known["country"] == "DE") & (known["kind"] == "b"),
}


@pytest.mark.parametrize("condition", PLANTED)
def test_planted_slices_are_found_and_can_be_sliced_by(condition, engine):
    evaluation = pw.evaluate(**world(3, worse=PLANTED[condition]), metrics="recall", engine=engine)
    found = pw.find_slices(evaluation, "recall")
    first = found.rows[0]
    if condition == "year >= 2012":
        assert first["slice"].startswith("year >= 20")
    else:
        assert set(first["slice"].split(" and ")) == set(condition.split(" and "))
    row = next(row for row in evaluation.by_slice(first["slice"]).to_dicts() if row[first["slice"]])
    assert (row["recall"], row["items"]) == pytest.approx((first["value"], first["items"]))
    assert first["value_low"] <= first["value"] <= first["value_high"] < first["rest"]
    assert first["p_adjusted"] < 0.01
    assert found.tried > 15


FIRST, LAST = dt.date(2020, 6, 29), dt.date(2020, 8, 28)  # a fifth of the days
BANDS = {
    "day": lambda known: np.array([FIRST <= day < LAST for day in known["day"]]),
    "price": lambda known: (known["price"] >= 0.78) & (known["price"] < 1.29),  # a fifth of the prices
}


@pytest.mark.parametrize("column", BANDS)
def test_a_planted_band_of_dates_or_numbers_is_found(column):
    data = world(7, worse=BANDS[column])
    evaluation = pw.evaluate(**data, metrics="recall")
    first = pw.find_slices(evaluation, "recall").rows[0]
    low, high = first["slice"].split(" and ")
    assert low.startswith(f"{column} >= ")
    assert high.startswith(f"{column} < ")
    known = data["attributes"].to_pydict()
    planted = BANDS[column]({name: np.array(values) for name, values in known.items()})
    kept = evaluation.by_slice(first["slice"]).to_dicts()
    assert next(row["items"] for row in kept if row[first["slice"]]) == first["items"]
    assert first["items"] == pytest.approx(planted.sum(), rel=0.15)
    assert first["value"] < first["rest"] - 0.2


def test_slices_hardly_ever_show_where_nothing_differs():
    reports = [
        len(pw.find_slices(pw.evaluate(**world(seed, clusters=150), metrics="recall"), "recall").rows) > 0
        for seed in range(20)
    ]
    assert sum(reports) <= 1


def test_metrics_that_fall_are_searched_the_other_way():
    data = world(5, worse=PLANTED["country = 'it''s'"])
    found = pw.find_slices(pw.evaluate(**data), "jaccard_distance", columns=["country", "kind"])
    assert found.rows[0]["slice"] == "country = 'it''s'"
    assert found.rows[0]["value"] > found.rows[0]["rest"]


def test_the_comparison_is_that_of_all_clusters_one_by_one():
    rng = np.random.default_rng(1)
    w = rng.uniform(1, 3, 60)
    a = np.where(rng.random(60) < 0.6, w * rng.uniform(0.1, 0.9, 60), 0.0)
    b, c = a * rng.random(60), (w - a) * rng.random(60)
    y = b + c
    touched = a > 0
    sums = {"a": a.sum(), "b": b.sum(), "ideal_clusters": touched.sum()}
    sums |= {
        p: ({"a": a, "b": b, "w": w, "y": y}[p[0]] * {"a": a, "b": b, "w": w, "y": y}[p[1]]).sum()
        for p in ("aa", "ab", "bb", "ay", "aw", "by", "bw")
    }
    value, rest, p = _compare(sums, _Totals(60, w.sum(), y.sum(), (w * w).sum(), (w * y).sum(), (y * y).sum()))
    moves = (b - value * a) / a.sum() - (c - rest * (w - a)) / (w - a).sum()
    error = np.sqrt((moves**2).sum() * 60 / 59)
    from scipy.stats import t

    assert p == pytest.approx(t.cdf((value - rest) / error, touched.sum() - 1))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "prevalence"}, "no worse values"),
        ({"metric": "f1_of_means"}, "no worse values"),
        ({"columns": ["city"]}, "no column 'city'"),
        ({"limit": 0}, "at least one"),
        ({"least_share": 2}, "at least one"),
    ],
)
def test_what_cannot_be_searched_is_refused(options, message):
    with pytest.raises(pw.PointwiseError, match=message):
        pw.find_slices(pw.evaluate(**world(1, clusters=30)), **options)
    with pytest.raises(pw.PointwiseError, match="nothing to search"):
        pw.find_slices(pw.evaluate(ideal=[["a"]], actual=[["a"]]))


def test_people_whose_faxes_lack_a_date_are_found_on_the_command_line(tmp_path):
    from typer.testing import CliRunner

    from pointwise.cli import app

    people = pw.datasets.people()
    pw.evaluate(ideal=people.truth, actual=people.clusters).save(tmp_path / "run")
    words = ["slices", str(tmp_path / "run"), "--find", "recall", "--attributes", str(people.records)]
    done = CliRunner().invoke(app, words, env={"COLUMNS": "120"})
    assert done.exit_code == 0, done.output
    assert "born is null" in done.stdout
