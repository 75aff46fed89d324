"""Results: whatever a user holds converts, writes, counts and shows itself in the same way."""

from __future__ import annotations

import csv
import json
import pkgutil
from collections.abc import Callable
from functools import cache
from html.parser import HTMLParser
from importlib import import_module

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app
from pointwise.columns import Column, Kind
from pointwise.diffs.agreement import agree
from pointwise.diffs.standing import look_at
from pointwise.results import Result

IDEAL = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2, "f": 3, "g": 3, "h": 4}
OLD = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2, "f": 3, "g": 4, "h": 4}
NEW = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2, "f": 3, "g": 3, "h": 3}

ABOUT = {
    "item": list(IDEAL),
    "market_share": [2.5, 2.5, 0.25, 0.25, 2.5, 2.5, 0.25, None],
    "price": [10, 10, 20, 20, 10, 10, 20, 20],
    "price_low": [1, 2, 1, 2, 1, 2, 1, 2],
    "kind": ["x", None, "y", "x", "y", "x", "y", "x"],
}


@pytest.fixture(scope="module")
def evaluation() -> pw.Evaluation:
    return pw.evaluate(ideal=IDEAL, actual=OLD, attributes=pa.table(ABOUT), slices=["kind", "price"])


@pytest.fixture(scope="module")
def comparison() -> pw.Comparison:
    about = pa.table(ABOUT)
    return pw.compare(ideal=IDEAL, variants={"old": OLD, "new": NEW}, attributes=about, slices=["kind", "price"])


@cache
def diff() -> pw.Diff:
    return pw.diff(baseline=OLD, experiment=NEW, attributes=pa.table(ABOUT))


@cache
def questions() -> pw.Questions:
    return diff().questions(20)


@cache
def estimates() -> pw.Estimates:
    judgements = questions().judge_by(lambda a, b: IDEAL[a] == IDEAL[b], judge="truth")
    return diff().estimate(questions(), judgements)


Make = Callable[[pw.Evaluation, pw.Comparison], Result]

RESULTS: dict[str, Make] = {
    "overall": lambda e, _: e.overall,
    "coverage": lambda e, _: e.coverage,
    "items": lambda e, _: e.by_item(),
    "ideal clusters": lambda e, _: e.by_ideal_cluster(),
    "actual clusters": lambda e, _: e.by_actual_cluster(),
    "a slicing": lambda e, _: e.by_slice("kind"),
    "several slicings": lambda e, _: e.by_slice(),
    "related": lambda e, _: e.related(),
    "an item": lambda e, _: e.explain(item="c"),
    "a cluster": lambda e, _: e.explain(ideal_cluster=1),
    "an item in every variant": lambda _, c: c.explain(item="c"),
    "a cluster in every variant": lambda _, c: c.explain(ideal_cluster=1),
    "mistakes": lambda e, _: e.mistakes(),
    "records": lambda e, _: e.records(["a", "c"], show="kind"),
    "no mistakes": lambda *_: pw.evaluate(ideal=IDEAL, actual=IDEAL).mistakes(),
    "a gate": lambda e, _: pw.gate(e, minimum={"recall": 0.5}, min_coverage=0.5, slices=["kind"]),
    "a plan": lambda e, _: e.plan("recall", half_width=0.1),
    "a plan of differences": lambda _, c: c.plan("recall", difference=0.1),
    "a worksheet": lambda *_: pw.sample_items(OLD, 3, attributes=pa.table(ABOUT)),
    "variants": lambda _, c: c.by_variant(),
    "deltas": lambda _, c: c.deltas(),
    "deltas of slices": lambda _, c: c.by_slice(),
    "deltas of a slicing": lambda _, c: c.by_slice("price"),
    "deltas of clusters": lambda _, c: c.by_ideal_cluster(),
    "deltas of items": lambda _, c: c.by_item(),
    "gains": lambda _, c: c.gains("recall"),
    "losses": lambda _, c: c.losses("precision"),
    "changes": lambda _, c: c.changes(),
    "counted changes": lambda _, c: c.count_changes(),
    "moved items": lambda _, c: c.moved_items(),
    "related variants": lambda _, c: c.related(),
    "a cluster of variants": lambda _, c: c.explain(ideal_cluster=1),
    "an item of variants": lambda _, c: c.explain(item="c"),
    "found slices": lambda e, _: pw.find_slices(e, columns=["kind", "price"]),
    "distances": lambda _, c: c.distances(),
    "impact": lambda *_: diff().overall,
    "lineage": lambda *_: diff().lineage(),
    "changes of a diff": lambda *_: diff().changes(),
    "a changed item": lambda *_: diff().explain(item="c"),
    "a changed cluster": lambda *_: diff().explain(baseline_cluster=3),
    "estimates": lambda *_: estimates(),
    "a gate of a diff": lambda *_: pw.gate_diff(diff(), minimum={"delta_precision": 0}, estimates=estimates()),
    "standing": lambda *_: look_at(questions(), pw.Judgements(())),
    "a sweep": lambda *_: pw.sweep(ideal=IDEAL, links=[("a", "b", 0.9), ("d", "e", 0.8), ("g", "h", 0.4)]),
    "judges": lambda *_: agree([("ann", "p", "yes", 5), ("bob", "p", "no", None), ("ann", "q", "unsure", 7)]),
}


class Texts(HTMLParser):
    """Collects the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_data(self, data: str) -> None:
        self.found.append(data)


@pytest.fixture(scope="module")
def make(evaluation: pw.Evaluation, comparison: pw.Comparison) -> Callable[[str], Result]:
    """Make a result, once for all tests."""
    return cache(lambda name: RESULTS[name](evaluation, comparison))


@pytest.mark.parametrize("name", RESULTS)
def test_every_result_has_the_same_manners(make: Callable[[str], Result], name: str, tmp_path):
    result = make(name)
    rows = result.to_dicts()
    assert isinstance(result, Result)
    assert len(result) == len(list(result)) == len(rows)
    assert all(list(row) == result.columns for row in rows)
    assert all(isinstance(column, Column) for column in result.describe())
    table = result.to_arrow()
    assert table.column_names == result.columns
    assert not any(str(field.type) == "null" for field in table.schema)
    assert result.to_pandas().shape == (len(rows), len(result.columns))
    assert result.to_polars().shape == (len(rows), len(result.columns))
    for ending in ("parquet", "csv", "json"):
        result.write(tmp_path / f"x.{ending}")
    assert pq.read_table(tmp_path / "x.parquet").to_pylist() == table.to_pylist()
    with (tmp_path / "x.csv").open(newline="") as file:
        read = list(csv.reader(file))
    assert read[0] == result.columns
    assert len(read) == len(rows) + 1
    assert [list(row) for row in json.loads((tmp_path / "x.json").read_text())] == [result.columns] * len(rows)
    assert len(repr(result).splitlines()) > 2
    assert "<table>" in result._repr_html_()
    assert result.to_markdown().startswith("**")


def kinds_of(result: type) -> set[type]:
    """List the classes of results that are not made more special by others."""
    special = result.__subclasses__()
    return {kind for one in special for kind in kinds_of(one)} if special else {result}


def test_every_kind_of_result_is_among_those_tried(make: Callable[[str], Result]):
    for module in pkgutil.walk_packages(pw.__path__, "pointwise."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    assert kinds_of(Result) <= {type(make(name)) for name in RESULTS}


def test_a_method_returns_one_type_whatever_its_arguments(evaluation):
    for found in (evaluation.explain(item="c"), evaluation.explain(actual_cluster=2)):
        assert isinstance(found, pw.Explanation)
        assert found.weight > 0
        assert set(found.matrix) == {"tp", "fp", "fn", "tn"}
        assert set(found.metrics) >= {"precision", "recall"}
        assert (found.ideal_cluster, found.actual_cluster) in {(1, 2), (2, 2)}
    one, both = evaluation.by_slice("kind"), evaluation.by_slice("kind", "price")
    assert one.columns == [c for c in both.columns if c != "price"]
    assert one.columns[:4] == ["slice", "value", "kind", "items"]
    assert [{c: row[c] for c in one.columns} for row in both.to_dicts() if row["slice"] == "kind"] == one.to_dicts()


def test_a_slice_of_a_comparison_is_named_as_one_of_an_evaluation(evaluation, comparison):
    specs = ["price > 10", ("kind", "price"), "market_share", "ideal_cluster_size"]
    named = {(row["slice"], row["value"]) for row in evaluation.by_slice(*specs)}
    assert {(row["slice"], row["value"]) for row in comparison.by_slice(*specs)} == named
    assert ("price > 10", "true") in named


def test_a_column_is_written_as_what_it_is_and_not_as_it_is_called(evaluation, comparison, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    table = evaluation.by_slice("market_share", metrics="recall")
    assert {c.name: c.kind for c in table.describe()}["market_share"] is Kind.KEY
    for text in (repr(table), table.to_markdown(), " ".join(Texts(table._repr_html_()).found)):
        words = text.replace("|", " ").split()
        assert "2.5" in words
        assert "0.25" in words
        assert "250.0%" not in text
        assert "50.0%" in words  # the share of the weight
    for make in (evaluation.by_slice, comparison.by_slice):
        crossed = make(("price", "price_low"), metrics="recall")
        for text in (repr(crossed), crossed.to_markdown(), " ".join(Texts(crossed._repr_html_()).found)):
            assert "price_low" in text
            assert "[" not in text.split("recall")[0]
        assert {(row["price"], row["price_low"]) for row in crossed} == {(10, 1), (10, 2), (20, 1), (20, 2)}
    stacked = repr(evaluation.by_slice("price", "price_low"))
    assert "price_low" in stacked


def call(*arguments: str) -> str:
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_command_line_and_the_report_write_columns_as_what_they_are(tmp_path):
    pytest.importorskip("altair")
    named = pw.evaluate(
        ideal=IDEAL, actual=OLD, attributes=pa.table(ABOUT), slices=["market_share", ("price", "price_low")]
    )
    run = named.save(tmp_path / "run")
    page = named.report(tmp_path / "page.html").read_text()
    texts = Texts(page).found
    assert "2.5" in texts
    assert "250.0%" not in texts
    assert "price_low" in texts
    for kind in ("table", "markdown"):
        shown = call("show", str(run), "--by", "slice", "--slice", "market_share", "--format", kind)
        assert "2.5" in shown.replace("|", " ").split()
        assert "250.0%" not in shown
    crossed = call("show", str(run), "--by", "slice", "--slice", "price,price_low", "--format", "csv")
    rows = list(csv.DictReader(crossed.splitlines()))
    assert {(row["price"], row["price_low"]) for row in rows} == {("10", "1"), ("10", "2"), ("20", "1"), ("20", "2")}


def test_a_label_is_derived_from_the_confidence_of_its_intervals():
    half = pw.evaluate(ideal=IDEAL, actual=OLD, confidence=0.5)
    assert "50% interval" in repr(half.overall)
    assert "95%" not in repr(half.overall) + repr(half.by_slice("ideal_cluster_size"))
    assert "50% interval" in repr(half.by_slice("ideal_cluster_size"))


def test_a_comparison_computes_and_labels_the_confidence_that_was_asked_for(tmp_path):
    pytest.importorskip("altair")
    half, usual = (
        pw.compare(ideal=IDEAL, variants={"old": OLD, "new": NEW}, metrics="recall", confidence=confidence)
        for confidence in (0.5, 0.95)
    )
    sizes = "ideal_cluster_size"
    page = half.report(tmp_path / "page.html").read_text().partition("<body")[2]
    written = {
        "comparison": repr(half),
        "variants": repr(half.by_variant()),
        "differences": repr(half.deltas()),
        "a notebook": half.deltas()._repr_html_(),
        "slices": half.by_slice(sizes).to_markdown(),
        "a variant": repr(half["old"].overall),
        "a report": " ".join(Texts(page).found),
        "charts": json.dumps([half.plot.deltas(sizes).to_dict(), pw.charts.history(half).to_dict()]),
    }
    assert [name for name, text in written.items() if "50% interval" not in text or "95% interval" in text] == []
    assert {found.confidence for found in half.bootstrap(resamples=100).values()} == {0.5}
    widths = [row["delta_high"] - row["delta_low"] for made in (half, usual) for row in made.deltas()]
    assert 0 < widths[0] < widths[1]
