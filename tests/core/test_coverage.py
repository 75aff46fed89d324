"""Coverage, by items and by weight, against what sets of items say."""

from __future__ import annotations

import math
from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.errors import RepeatedItemError
from pointwise.report.evaluation_page import describe_coverage

from strategies import WHOLE, cases

HOMES = ("nowhere", "weights", "ideal", "actual")


def table(clustering, weights):
    columns = {"item": list(clustering), "cluster": list(clustering.values())}
    if weights is not None:
        columns["kilos"] = pa.array([weights.get(item) for item in clustering], pa.float64())
    return pa.table(columns)


def evaluate(ideal, actual, weights, home, engine):
    """Evaluate with the weights at one of their homes; one that is not in `weights` is not known there."""
    sides = {"ideal": table(ideal, weights if home == "ideal" else None)}
    sides["actual"] = table(actual, weights if home == "actual" else None)
    named = {"weight": "kilos"} if home in sides else {}
    if home == "weights":
        named = {"weights": weights}
    return pw.evaluate(**sides, **named, intervals=False, engine=engine)


def weigh(items, weights):
    """Add up weights from the definition: not known if one of them is not."""
    known = [weights.get(item) for item in items]
    return None if None in known else sum(map(Fraction, known), Fraction(0))


def share(part, *parts):
    return None if None in parts else float(part / sum(parts))


@given(case=cases(WHOLE), home=st.sampled_from(HOMES), is_small=st.booleans(), data=st.data())
def test_law_coverage_is_what_the_sets_say(engine, case, home, is_small, data):
    ideal, actual = case.ideal, dict(case.actual)
    if is_small:  # so much smaller than the actual clustering that the two are joined otherwise
        actual |= {f"o{n}": data.draw(st.integers(0, 8)) for n in range(4 * len(ideal) + 1)}
    everything = [*case.weights, *(item for item in actual if item not in case.weights)]
    weights = {item: float(1 + position % 5) for position, item in enumerate(everything)}
    common, missing = set(ideal) & set(actual), set(ideal) - set(actual)
    touched = {actual[item] for item in common}
    outside = {item for item in actual if item not in ideal and actual[item] in touched}
    if home == "weights" and missing | outside and data.draw(st.booleans()):
        del weights[data.draw(st.sampled_from(sorted(missing | outside)))]
    found = evaluate(ideal, actual, weights, home, engine).coverage.to_dict()

    known = dict.fromkeys(everything, 1.0) if home == "nowhere" else weights
    where = {"ideal": ideal, "actual": actual}.get(home, known)
    known = {item: weight for item, weight in known.items() if item in where}
    parts = {"common": common, "missing": missing, "outside": outside}
    weight = {name: weigh(items, known) for name, items in parts.items()}
    assert {f"{name}_items": len(items) for name, items in parts.items()}.items() <= found.items()
    assert {f"{name}_weight": weight[name] for name in parts}.items() <= found.items()
    assert found["common_share"] == len(common) / len(ideal)
    assert found["missing_share"] == len(missing) / len(ideal)
    assert found["outside_share"] == len(outside) / (len(common) + len(outside))
    assert found["common_weight_share"] == share(weight["common"], weight["common"], weight["missing"])
    assert found["missing_weight_share"] == share(weight["missing"], weight["common"], weight["missing"])
    assert found["outside_weight_share"] == share(weight["outside"], weight["common"], weight["outside"])
    assert found["actual_weight"] == weigh(actual, known)
    assert counted(found) == count_clusters(ideal, actual)


CLUSTERS = ("ideal_clusters", "ideal_clusters_touched", "actual_clusters", "actual_clusters_touched")


def counted(coverage):
    return {name: coverage[name] for name in CLUSTERS}


def count_clusters(ideal, actual):
    """Count clusters from the definition: a touched one holds a common item, whatever the policies do."""
    sides = [side for side in (ideal, actual) for _ in range(2)]
    among = [set(ideal), set(ideal) & set(actual), set(actual), set(ideal) & set(actual)]
    return {name: len({side[i] for i in items}) for name, side, items in zip(CLUSTERS, sides, among, strict=True)}


@pytest.mark.parametrize("policies", [{"outside": "wrong"}, {"missing": "singleton"}, {"missing": "wrong"}, {}])
def test_policies_leave_the_number_of_touched_clusters_alone(engine, policies):
    ideal = {"a": 1, "b": 1, "c": 2, "d": 3, "gone": 4}
    actual = {"a": "x", "b": "y", "c": "y", "d": "y", "new": "y", "other": "z"}
    found = pw.evaluate(ideal=ideal, actual=actual, engine=engine, **policies).coverage.to_dict()
    assert counted(found) == count_clusters(ideal, actual)


def test_clusters_are_counted_exactly_where_their_shares_are_not_exact():
    ideal = {(size, member): size for size in range(1, 200) for member in range(size)}
    actual = {item: n % 997 for n, item in enumerate(ideal)}
    names = {item: f"{item[0]}-{item[1]}" for item in ideal}
    sides = [{names[item]: cluster for item, cluster in side.items()} for side in (ideal, actual)]
    found = pw.evaluate(ideal=sides[0], actual=sides[1]).coverage.to_dict()
    assert counted(found) == count_clusters(*sides)


def test_nothing_outside_weighs_nothing_also_where_weights_of_outside_items_are_not_known():
    truth = pa.table({"item": ["a", "b"], "cluster": [1, 1], "weight": [1.0, 2.0]})
    found = {"a": 1, "b": 2} | {f"elsewhere {n}": 3 for n in range(20)}
    coverage = pw.evaluate(ideal=truth, actual=found, weight="weight").coverage
    assert (coverage.outside_items, coverage.outside_weight, coverage.outside_weight_share) == (0, 0.0, 0.0)
    assert coverage.actual_weight is None
    assert coverage.least_precision == 1.0


IDEAL = {f"i{n}": n // 3 for n in range(30)}
HEAVY = {f"i{n}": 100.0 if n < 13 else 2.6 for n in range(30)} | {f"o{n}": 1.0 for n in range(5)}
ACTUAL = {f"i{n}": n // 4 for n in range(13)} | {f"o{n}": n for n in range(5)}


@pytest.fixture(scope="module")
def light():
    """Lack many items that weigh little."""
    return pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights=HEAVY)


def test_warnings_go_by_weight_and_say_both(light):
    assert light.warnings == []
    first, second, _ = light.summary()
    assert "13 of 30 ideal (43.3%, 96.7% of the weight)" in first
    assert "23.5% of their members (0.3% of the weight) outside the truth" in second
    heavy = pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights={item: 100 / weight for item, weight in HEAVY.items()})
    missing, outside = heavy.warnings
    assert "98.1% of the weight of the ideal items (56.7% of them) is missing" in missing
    assert "96.9% of the weight of the members of the touched actual clusters (23.5% of them) lies outside" in outside


def test_warnings_of_items_that_weigh_the_same_say_it_once():
    plain = pw.evaluate(ideal=IDEAL, actual=ACTUAL)
    assert not plain.coverage.is_weighted
    assert "weight" not in "".join(name for name, _ in describe_coverage(plain))
    missing, outside = plain.warnings
    assert "56.7% of the ideal items are missing" in missing
    assert "23.5% of the members of the touched actual clusters lie outside" in outside


def test_a_weight_that_is_too_large_to_add_is_not_known():
    weights = HEAVY | {"i20": 1e308, "i21": 1e308, "i22": 1e308}
    coverage = pw.evaluate(ideal=IDEAL, actual=ACTUAL, weights=weights).coverage
    assert coverage.missing_weight is coverage.common_weight_share is None
    assert coverage.outside_weight_share == 4 / 1304
    assert not any(isinstance(value, float) and not math.isfinite(value) for value in coverage.to_dict().values())


def test_weights_that_repeat_outside_of_the_truth_are_refused():
    weights = pa.table({"item": ["a", "b", *"xyzzy"], "weight": [1.0] * 7})
    with pytest.raises(RepeatedItemError, match="'y', 'z'"):
        repr(pw.evaluate(ideal={"a": 1}, actual={"a": 1, "b": 1, "x": 1, "y": 2, "z": 2}, weights=weights))


def test_everything_that_tells_coverage_tells_its_weight(light, tmp_path):
    other = pw.evaluate(ideal=IDEAL, actual=IDEAL, weights=HEAVY)
    comparison = pw.compare(variants={"light": light, "whole": other}, on="shared")
    rows = comparison.by_variant().to_dicts()
    assert [row["common_weight_share"] for row in rows] == [light.coverage.common_weight_share, 1.0]
    assert "weight_share" in repr(comparison.by_variant())  # under "common_" where there is little room
    (note,) = comparison.notes
    assert note.endswith("13 items that the truth and every variant have, with 96.7% of the weight of the truth.")
    light.save(tmp_path / "runs" / "light")
    (row,) = pw.history(tmp_path / "runs").to_dicts()
    assert (row["common_weight_share"], row["outside_weight_share"]) == (1300 / 1344.2, 4 / 1304)
    told = dict(describe_coverage(light))
    assert told["of their weight"] == "96.7% of 1,344.2; 3.3% is missing"
    assert told["weight of these"] == "4, which is 0.3% of the weight of their members"
