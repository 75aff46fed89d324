"""What a user with a type checker sees of the public interface. mypy checks this file; nothing runs it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, assert_type

import pointwise as pw

truth = {"a": 1, "b": 1, "c": 2}
found = [["a"], ["b", "c"]]

evaluation = pw.evaluate(ideal=truth, actual=found, metrics=["precision", pw.METRICS["recall"]], missing="singleton")
assert_type(evaluation, pw.Evaluation)
assert_type(evaluation.overall, pw.Overall)
assert_type(evaluation.overall["recall"], float)
assert_type(evaluation.overall[pw.METRICS["recall"]], float)
assert_type(evaluation.overall.interval("recall"), pw.Interval)
assert_type(evaluation.coverage, pw.Coverage)
assert_type(evaluation.by_item(), pw.MetricTable)
assert_type(evaluation.by_ideal_cluster().worst("recall", 3), pw.MetricTable)
assert_type(evaluation.by_slice("country", ("country", "year"), pw.col("year") >= 2015), pw.MetricTable)
assert_type(evaluation.by_item().to_dicts(), list[dict[str, Any]])
assert_type(evaluation.explain(item="a"), pw.ItemExplanation)
assert_type(evaluation.explain(ideal_cluster=1), pw.ClusterExplanation)
assert_type(evaluation.mistakes(5, kind="under-merge"), pw.Mistakes)
assert_type(evaluation.save("run", overwrite=True), Path)
assert_type(evaluation.report("page.html"), Path)
assert_type(evaluation.plan("recall", half_width=0.01), pw.Plan)
assert_type(pw.load("run"), pw.Evaluation)
with pw.load("run") as stored:
    assert_type(stored, pw.Evaluation)

comparison = pw.compare(
    ideal=truth, variants={"old": found, "new": stored}, baseline="old", on="shared", confidence=0.9
)
assert_type(comparison, pw.Comparison)
assert_type(comparison["old"], pw.Evaluation)
assert_type(comparison.delta("recall"), float)
assert_type(comparison.deltas(), pw.MetricTable)
assert_type(comparison.gains("recall"), pw.MetricTable)
assert_type(pw.load_comparison("both"), pw.Comparison)
assert_type(pw.distance(truth, found), float)
assert_type(pw.distance_matrix({"old": truth, "new": found}, missing="drop"), pw.DistanceMatrix)

links = pw.Links([("a", "b", 0.9)], threshold=0.5)
assert_type(pw.evaluate(ideal=truth, actual=links), pw.Evaluation)
sweep = pw.sweep(ideal=truth, links=[("a", "b", 0.9)])
assert_type(sweep, pw.Sweep)
assert_type(sweep.best("f1", precision=0.9), pw.Choice)

diff = pw.diff(baseline=truth, experiment=found)
assert_type(diff, pw.Diff)
assert_type(diff.overall, pw.Impact)
questions = diff.questions(100)
assert_type(questions, pw.Questions)
estimates = diff.estimate(questions, pw.read_judgements("judgements"))
assert_type(estimates, pw.Estimates)
assert_type(estimates["delta_precision"], pw.Estimate)

gate = pw.gate(evaluation, minimum={"recall": 0.9})
assert_type(gate, pw.Gate)
assert_type(gate.held, bool)
assert_type(gate.checks, tuple[pw.Check, ...])


@pw.metric(better="higher")
def overlap(c: pw.Confusion) -> Any:
    """Say what share of the smaller cluster both have."""
    return c.ratio(c.tp, c.ideal)


def describe(result: pw.Result) -> Mapping[str, Any]:
    """Take any result."""
    return {"columns": result.columns, "rows": len(result), "first": next(iter(result), None)}


describe(evaluation.overall)
describe(gate)
describe(sweep)

# What a type checker must refuse. `warn_unused_ignores` makes it an error if it does not.
pw.evaluate(ideal=truth, actual=found, missing="keep")  # type: ignore[arg-type]
pw.evaluate(truth, found)  # type: ignore[call-arg]
pw.compare(ideal=truth, variants={"old": found}, metrcs=["recall"])  # type: ignore[call-arg]
pw.evaluate(ideal=truth, actual=found, metrics=7)  # type: ignore[arg-type]
evaluation.mistakes(kind="merge")  # type: ignore[arg-type]
