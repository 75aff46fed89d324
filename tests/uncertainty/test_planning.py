"""Planning: the clusters that are planned give the interval and the power that were wanted."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app
from pointwise.errors import UsageError
from reference import reference_ends, sums_by_cluster

CLUSTERS = 1200
PILOT = 200
METRIC = "precision"


def make_population():
    """Items with their ideal cluster, and two clusterings, of which the second is a little better."""
    generator = np.random.default_rng(3)
    ideal = np.repeat(np.arange(CLUSTERS), generator.integers(1, 5, CLUSTERS))
    chance, goal = generator.random(len(ideal)), generator.integers(0, CLUSTERS, len(ideal))
    old = np.where(chance < 0.15, goal, ideal)
    new = np.where((chance < 0.08) | (chance > 0.96), goal, ideal)  # other mistakes, and fewer
    return ideal, {"old": old, "new": new}


IDEAL, VARIANTS = make_population()
ITEMS = np.arange(len(IDEAL))
TABLES = {name: pa.table({"item": ITEMS, "cluster": clusters}) for name, clusters in VARIANTS.items()}


def truth_of(clusters):
    kept = np.isin(IDEAL, clusters)
    return pa.table({"item": ITEMS[kept], "cluster": IDEAL[kept]})


@pytest.fixture(scope="module")
def pilot():
    """The comparison of both clusterings on a truth of some clusters."""
    drawn = np.random.default_rng(4).choice(CLUSTERS, PILOT, replace=False)
    truth = truth_of(drawn)
    return pw.compare(ideal=truth, variants=TABLES, outside="wrong", metrics=METRIC, sampling="clusters")


@pytest.fixture(scope="module")
def sums():
    """Weight times precision and weight of every ideal cluster of the population, for both clusterings."""
    whole = pw.compare(
        ideal=truth_of(range(CLUSTERS)), variants=TABLES, outside="wrong", metrics=METRIC, sampling="complete"
    )
    return {name: sums_by_cluster(whole[name].by_item().to_dicts(), METRIC) for name in TABLES}


def samples(clusters, number=300):
    generator = np.random.default_rng(5)
    return (generator.integers(0, CLUSTERS, clusters) for _ in range(number))


def influences(a, b):
    whole = a.sum() / b.sum()
    return whole, (a - whole * b) / (b.sum() - b)


def error_of(e):
    n = len(e)
    kurtosis = n * (e**4).sum() / (e**2).sum() ** 2
    return math.sqrt((n - 1) / n * (e**2).sum()), min(max(2 * n / (kurtosis - 1), 1), n - 1)


def test_the_planned_clusters_give_the_wanted_half_width(pilot, sums):
    plan = pilot["old"].plan(METRIC, half_width=0.02)
    need = plan.to_dicts()[0]
    assert PILOT < need["ideal_clusters_low"] < plan.clusters < need["ideal_clusters_high"] < 1000
    assert need["more_clusters"] == plan.more_clusters == plan.clusters - PILOT
    a, b = sums["old"]
    widths = []
    for rows in samples(plan.clusters, 100):
        whole, e = influences(a[rows], b[rows])
        low, high = reference_ends(whole, *error_of(e), (b[rows] ** 2).sum() / b[rows].sum() ** 2, 0.95)
        widths.append((high - low) / 2)
    assert np.mean(widths) == pytest.approx(0.02, rel=0.15)


def test_the_planned_clusters_show_the_difference_as_often_as_wanted(pilot, sums):
    (a, b), (c, d) = sums["old"], sums["new"]
    difference = c.sum() / d.sum() - a.sum() / b.sum()
    plan = pilot.plan(METRIC, difference=difference, power=0.8)
    found = []
    for rows in samples(plan.clusters):
        (before, one), (after, other) = influences(a[rows], b[rows]), influences(c[rows], d[rows])
        error, df = error_of(other - one)
        found.append((after - before) / error > stats.t.ppf(0.975, df))
    assert np.mean(found) == pytest.approx(0.8, abs=0.1)
    assert pilot.plan(METRIC, difference=difference, tests=5).clusters > 1.3 * plan.clusters
    assert pilot.plan(METRIC, difference=difference / 2).clusters == pytest.approx(4 * plan.clusters, rel=0.05)


def test_a_plan_has_enough_changed_clusters_for_a_verdict(pilot):
    row = pilot.deltas().to_dicts()[0]
    changed = row["up_clusters"] + row["down_clusters"]
    plan = pilot.plan(METRIC, difference=0.9)
    assert plan.clusters == math.ceil(25 * PILOT / changed)


def test_where_no_error_was_seen_the_bound_decides():
    truth = truth_of(range(60))
    evaluation = pw.evaluate(ideal=truth, actual=truth, outside="wrong", metrics="recall")
    sizes = np.unique(truth["cluster"].to_numpy(), return_counts=True)[1]
    lightness = (sizes**2).sum() / sizes.sum() ** 2
    expected = 60 * lightness * math.log(0.05) / math.log(1 - 0.01)
    for plan in (evaluation.plan(bound=0.99), evaluation.plan(half_width=0.005)):
        assert plan.clusters == pytest.approx(expected, rel=1e-3)
        assert plan.to_dicts()[0]["ideal_clusters_high"] is None
    with pytest.raises(UsageError, match="errors may hide there"):
        pw.evaluate(ideal=truth, actual=truth, metrics=METRIC).plan(half_width=0.01)


def test_a_finite_population_needs_fewer(pilot):
    truth = truth_of(np.random.default_rng(4).choice(CLUSTERS, PILOT, replace=False))
    settings = {"ideal": truth, "actual": TABLES["old"], "outside": "wrong", "metrics": METRIC}
    endless = pilot["old"].plan(half_width=0.02).clusters
    finite = pw.evaluate(**settings, sampling="clusters", population=CLUSTERS)
    assert finite.plan(half_width=0.02).clusters == pytest.approx(endless / (1 + endless / CLUSTERS), rel=0.03)
    assert finite.plan(half_width=1e-4).clusters == CLUSTERS


def test_items_to_draw_reckon_with_drawing_a_cluster_again():
    alone = pa.table({"item": list(range(40)), "cluster": list(range(40))})
    actual = {"item": list(range(400)), "cluster": [n // 2 if n < 10 else n + 1000 for n in range(400)]}
    settings = {"actual": pa.table(actual), "outside": "wrong", "metrics": METRIC, "sampling": "items"}
    single = pw.evaluate(ideal=alone, **settings, drawn=40).plan(half_width=0.1).to_dicts()[0]
    assert single["items_to_draw"] == pytest.approx(single["ideal_clusters"], abs=1)
    repeated = pw.evaluate(ideal=alone, **settings, drawn=80).plan(half_width=0.1).to_dicts()[0]
    assert repeated["items_to_draw"] > 1.7 * repeated["ideal_clusters"]


def test_stored_runs_and_the_command_line_plan_alike(pilot, tmp_path):
    folder = pilot.save(tmp_path / "both")
    run = folder / "001"
    asked = {str(run): ["--half-width", "0.02"], str(folder): ["--difference", "0.05"]}
    plans = [pilot["old"].plan(half_width=0.02), pilot.plan(difference=0.05)]
    for (path, options), expected in zip(asked.items(), plans, strict=True):
        done = CliRunner().invoke(app, ["plan", path, *options, "--format", "json"])
        assert done.exit_code == 0, done.output
        for row, own in zip(json.loads(done.stdout), expected.to_dicts(), strict=True):
            assert list(row) == list(own)
            assert [row[key] for key in list(own)[:-1]] == [
                own["metric"],
                *map(pytest.approx, list(own.values())[1:-1]),
            ]
    for path, wrong in ((str(run), ["--difference", "0.1"]), (str(folder), ["--half-width", "0.1"]), (str(run), [])):
        done = CliRunner().invoke(app, ["plan", path, *wrong])
        assert done.exit_code == 2
        assert done.stderr.startswith("Error: ")
    done = CliRunner().invoke(app, ["plan", str(tmp_path / "nowhere"), "--difference", "0.1"])
    assert "There is no" in done.stderr


def test_what_cannot_be_planned_is_refused(pilot):
    truth = truth_of(range(30))
    complete = pw.evaluate(ideal=truth, actual=truth, outside="wrong", sampling="complete")
    with pytest.raises(UsageError, match="complete"):
        complete.plan(half_width=0.01)
    with pytest.raises(UsageError, match="no ideal cluster changed"):
        pw.compare(ideal=truth, variants={"a": truth, "b": truth}).plan("recall", difference=0.1)
    one = pilot["old"]
    for wrong in (
        {},
        {"half_width": 0.1, "bound": 0.9},
        {"half_width": 0},
        {"bound": 2},
        {"bound": one.overall[METRIC]},
    ):
        with pytest.raises(UsageError):
            one.plan(**wrong)
    for wrong in ({"difference": 0}, {"difference": 0.1, "power": 1}, {"difference": 0.1, "tests": 0}):
        with pytest.raises(UsageError):
            pilot.plan(**wrong)


@pytest.mark.parametrize("goal", [{"half_width": "x"}, {"half_width": None, "bound": "x"}, {"half_width": True}])
def test_goals_that_are_no_numbers_are_refused(goal):
    with pytest.raises(UsageError):
        pw.evaluate(ideal={"a": 1, "b": 1}, actual={"a": 1, "b": 2}).plan(**goal)
