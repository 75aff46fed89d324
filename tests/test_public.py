"""The public interface: what can be imported, how metrics are named, and how much a message quotes."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pyarrow as pa
import pytest

import pointwise as pw
from alike import alike
from pointwise.errors import PointwiseError

IDEAL = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2}
OLD = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}
NEW = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 3}
LINKS = [("a", "b", 0.9), ("b", "c", 0.4), ("d", "e", 0.8)]
RECALL = pw.METRICS["recall"]

# What the modules of the package pass to one another, in fields and methods that users do not need.
INSIDE = {
    "Arithmetic", "ChartRow", "Closure", "Design", "Evidence", "Extent", "ItemColumns", "KnownScope", "Linked",
    "Masses", "OnSheet", "OpenFile", "Options", "Sample", "Scope", "Shown", "Verdict",
}  # fmt: skip


def types() -> set[str]:
    """Name the classes and the type aliases that the package defines, other than those of the command line."""
    root = Path(pw.__path__[0])
    trees = [ast.parse(path.read_text("utf-8")) for path in root.rglob("*.py") if path.parent != root / "cli"]
    found = [node for tree in trees for node in tree.body]
    targets = [target for node in found if isinstance(node, ast.Assign) for target in node.targets]
    aliases = {target.id for target in targets if isinstance(target, ast.Name) and not target.id.isupper()}
    return aliases | {node.name for node in found if isinstance(node, ast.ClassDef)}


def public_functions() -> Iterator[tuple[str, Callable]]:
    """List the public functions, and the public methods and properties of public classes."""
    for name in pw.__all__:
        thing = getattr(pw, name)
        if inspect.isfunction(thing):
            yield name, thing
        elif inspect.isclass(thing):
            members = {n: m for kind in thing.__mro__ for n, m in vars(kind).items() if not n.startswith("_")}
            yield name, thing
            for member, found in members.items():
                function = inspect.unwrap(found.fget if isinstance(found, property) else getattr(found, "func", found))
                if inspect.isfunction(function):
                    yield f"{name}.{member}", function


def test_what_public_signatures_name_can_be_imported_from_the_root():
    pytest.importorskip("altair")
    known = {*pw.__all__, *pw.charts.__all__, *pw.engines.__all__, *INSIDE}
    own = types()
    lacking = {
        f"{where}: {word}"
        for where, function in public_functions()
        for annotation in inspect.get_annotations(function).values()
        for word in re.findall(r"(?<![\w.])[A-Z]\w+", str(annotation))
        if word in own and word not in known
    }
    assert not lacking


def test_every_public_name_is_where_the_root_says():
    assert sorted(pw.__all__) == sorted({*pw._HOMES, "__version__"})
    assert all(getattr(pw, name) is not None for name in pw.__all__)
    assert dir(pw) == sorted(pw.__all__)


def test_importing_takes_neither_scipy_nor_an_engine():
    heavy = "{'scipy', 'duckdb', 'pyspark', 'numpy', 'pyarrow', 'narwhals', 'altair', 'pandas', 'rich', 'typer'}"
    code = f"import sys, pointwise; print({heavy} & {{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@cache
def evaluation() -> pw.Evaluation:
    return pw.evaluate(ideal=IDEAL, actual=OLD)


@cache
def comparison() -> pw.Comparison:
    return pw.compare(ideal=IDEAL, variants={"old": OLD, "new": NEW})


@cache
def diff() -> pw.Diff:
    return pw.diff(baseline=OLD, experiment=NEW)


@cache
def sweep() -> pw.Sweep:
    return pw.sweep(ideal=IDEAL, links=LINKS)


# Everything that takes a metric, or several.
BY_METRIC: dict[str, Callable] = {
    "evaluate": lambda m: pw.evaluate(ideal=IDEAL, actual=OLD, metrics=m).overall,
    "compare": lambda m: pw.compare(ideal=IDEAL, variants={"old": OLD, "new": NEW}, metrics=m).deltas(),
    "sweep": lambda m: pw.sweep(ideal=IDEAL, links=LINKS, metrics=m),
    "with_metrics": lambda m: evaluation().with_metrics("f1", m).overall,
    "by_item": lambda m: evaluation().by_item(metrics=m),
    "by_slice": lambda m: evaluation().by_slice("ideal_cluster_size", metrics=m),
    "bootstrap": lambda m: evaluation().bootstrap(metrics=m, resamples=100),
    "worst": lambda m: evaluation().by_ideal_cluster().worst(m),
    "best": lambda m: evaluation().by_ideal_cluster().best(m),
    "overall": lambda m: evaluation().overall[m],
    "interval": lambda m: evaluation().overall.interval(m).low,
    "plan": lambda m: evaluation().plan(m, half_width=0.1),
    "deltas": lambda m: comparison().deltas(metrics=m),
    "deltas of slices": lambda m: comparison().by_slice("ideal_cluster_size", metrics=m),
    "delta": lambda m: comparison().delta(m),
    "gains": lambda m: comparison().gains(m),
    "losses": lambda m: comparison().losses(m),
    "plan of differences": lambda m: comparison().plan(m, difference=0.1),
    "best threshold": lambda m: sweep().best(m, precision=0.5),
}


@pytest.mark.parametrize("ask", BY_METRIC.values(), ids=BY_METRIC)
def test_a_metric_is_given_by_its_name_or_by_itself(ask):
    named, given = ask("recall"), ask(RECALL)
    if isinstance(named, pw.Result):
        assert given.to_dicts() == alike(named)
    else:
        assert given == pytest.approx(named)
    with pytest.raises(PointwiseError, match="There is no metric 'recal'"):
        ask("recal")
    with pytest.raises(PointwiseError, match="by name or as a Metric, not as 7"):
        ask(7)


@pytest.mark.parametrize("name", ["slices", "deltas", "movers"])
def test_a_chart_takes_a_metric_itself(name):
    pytest.importorskip("altair")
    of = evaluation() if name == "slices" else comparison()
    arguments = () if name == "movers" else ("ideal_cluster_size",)
    charts = [getattr(of.plot, name)(*arguments, metric=metric).to_dict() for metric in ("recall", RECALL)]
    assert charts[0]["layer"] == charts[1]["layer"]


def test_a_metric_of_a_diff_has_no_worst_value():
    with pytest.raises(PointwiseError, match="'split_rate' has no direction"):
        diff().by_item().worst("split_rate")


LONG = "x" * 100_000
MANY = {f"a name of variant number {n}": OLD for n in range(40)}
WIDE = pa.table({"item": ["a"], "cluster": [1]} | {f"column_number_{n}": [1] for n in range(200)})


@cache
def crowd() -> pw.Comparison:
    return pw.compare(ideal=IDEAL, variants=MANY)


# Doors at which a user may give far too much, or misspell one of very many names.
DOORS: dict[str, Callable] = {
    "a column": lambda: pw.evaluate(ideal=WIDE, actual=OLD, item=LONG),
    "columns to choose from": lambda: pw.evaluate(ideal=WIDE.drop_columns("item"), actual=OLD),
    "a weight": lambda: pw.evaluate(ideal=WIDE, actual=OLD, weight=LONG),
    "a table for a weight": lambda: pw.evaluate(ideal=IDEAL, actual=OLD, weight={str(n): n for n in range(100_000)}),
    "a policy": lambda: pw.evaluate(ideal=IDEAL, actual=OLD, missing=LONG),
    "an engine": lambda: pw.evaluate(ideal=IDEAL, actual=OLD, engine=LONG),
    "a slice": lambda: pw.evaluate(ideal=IDEAL, actual=OLD, attributes=WIDE).by_slice(LONG),
    "a condition": lambda: evaluation().by_slice(f"{LONG} > 2"),
    "a condition on many columns": lambda: pw.evaluate(ideal=IDEAL, actual=OLD, attributes=WIDE).by_slice("colum > 2"),
    "a metric": lambda: evaluation().overall[LONG],
    "an item": lambda: evaluation().explain(item=LONG),
    "a cluster": lambda: pw.evaluate(ideal={"a": "x"}, actual={"a": "y"}).explain(ideal_cluster=LONG),
    "a changed item": lambda: diff().explain(item=LONG),
    "a number of rows": lambda: evaluation().by_item().head(LONG),
    "a column to sort by": lambda: evaluation().by_item().sort(LONG),
    "a kind of mistakes": lambda: evaluation().mistakes(kind=LONG),
    "a variant": lambda: crowd()[LONG],
    "a baseline": lambda: pw.compare(ideal=IDEAL, variants=MANY, baseline=LONG),
    "a variant of many": lambda: crowd()["one"],
    "which two": lambda: crowd().delta("recall"),
    "links": lambda: pw.cluster_links(WIDE),
    "an end of links": lambda: pw.cluster_links(WIDE, left=LONG, right="item"),
    "a threshold": lambda: pw.Links(LINKS, threshold=LONG),
    "thresholds": lambda: pw.sweep(ideal=IDEAL, links=LINKS, thresholds=LONG),
    "a sampling": lambda: pw.evaluate(ideal=WIDE, actual=OLD, sampling="probabilities"),
    "a distance": lambda: pw.distance(OLD, NEW, by=LONG),
    "an estimate": lambda: diff().estimate(diff().questions(4), pw.Judgements(()))[LONG],
    "a confidence": lambda: pw.evaluate(ideal=IDEAL, actual=OLD, confidence=LONG),
}


@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_a_message_quotes_only_a_few_values(door):
    with pytest.raises(PointwiseError) as caught:
        door()
    assert len(str(caught.value)) < 1_500
