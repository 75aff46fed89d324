"""Formulas: what a spreadsheet would compute is guarded in every CSV that we write, on request, and nothing else."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app
from pointwise.diffs.exchange import export_questions
from pointwise.errors import UsageError
from pointwise.text.formulas import guard

FORMULAS = ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\tx", "\rx", "-", "+1.5.2", '=HYPERLINK("http://x","y")']
PLAIN = ["-0.5", "+7", "-1e-9", "-.5", "a=b", "", "'=1", " =1", "ü"]


@pytest.fixture(scope="module")
def evaluation():
    """Evaluate items of which some look like formulas, in clusters that are negative numbers."""
    items = [*FORMULAS, *PLAIN]
    ideal = {item: f"{-number}" for number, item in enumerate(items)}
    attributes = pa.table({"item": items, "=cmd": [f"@{number % 2}" for number in range(len(items))]})
    return pw.evaluate(ideal=ideal, actual=ideal, attributes=attributes, metrics="precision")


@pytest.fixture(scope="module")
def run(evaluation, tmp_path_factory):
    return evaluation.save(tmp_path_factory.mktemp("formulas") / "run")


def read(text):
    return list(csv.reader(io.StringIO(text, newline="")))


def call(*arguments, code=0):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    assert result.exit_code == code, result.output
    return result.stdout_bytes.decode() if not code else result.stderr


def test_what_is_guarded():
    assert [guard(text) for text in FORMULAS] == ["'" + text for text in FORMULAS]
    assert [guard(value) for value in [*PLAIN, -0.5, None]] == [*PLAIN, -0.5, None]


@pytest.mark.parametrize("guard_formulas", [True, False])
def test_tables_write_guarded_cells(evaluation, tmp_path, guard_formulas):
    evaluation.by_item().write(tmp_path / "items.csv", guard_formulas=guard_formulas)
    header, *rows = read((tmp_path / "items.csv").read_bytes().decode())
    expected = {guard(text) if guard_formulas else text for text in [*FORMULAS, *PLAIN]}
    assert {row[header.index("item")] for row in rows} == expected
    assert {row[header.index("ideal_cluster")] for row in rows} == {str(-number) for number in range(len(expected))}


def test_names_of_columns_are_guarded_too(evaluation, tmp_path):
    evaluation.by_slice("=cmd").write(tmp_path / "slices.csv", guard_formulas=True)
    header, *rows = read((tmp_path / "slices.csv").read_text())
    assert "'=cmd" in header
    assert {row[header.index("'=cmd")] for row in rows} == {"'@0", "'@1"}


def test_results_of_few_rows_write_guarded_cells(evaluation, tmp_path):
    pw.gate(evaluation, minimum={"precision": 0}, slices=["=cmd"]).write(tmp_path / "gate.csv", guard_formulas=True)
    header, *rows = read((tmp_path / "gate.csv").read_text())
    assert {row[header.index("where")] for row in rows} == {"overall", "'=cmd=@0", "'=cmd=@1"}


def test_commands_write_guarded_cells(run):
    _, *plain = read(call("show", run, "--by", "item", "--format", "csv"))
    _, *guarded = read(call("show", run, "--by", "item", "--format", "guarded-csv"))
    assert guarded == [[guard(cell) for cell in row] for row in plain]
    assert guarded != plain


def test_clusters_and_questions_are_written_guarded(tmp_path):
    (tmp_path / "pairs.csv").write_text("a,b\n=1,=2\n")
    call("cluster", tmp_path / "pairs.csv", "--left", "a", "--right", "b", "-o", tmp_path / "c.csv", "--guard-formulas")
    assert (tmp_path / "c.csv").read_text() == "item,cluster\n'=1,'=1\n'=2,'=1\n"
    diff = pw.diff(baseline=[["=1", "=2"]], experiment=[["=1"], ["=2"]])
    export_questions(diff.questions(1), tmp_path / "q.csv", guard_formulas=True)
    assert set(read((tmp_path / "q.csv").read_text())[1][1:3]) == {"'=1", "'=2"}


def test_what_no_spreadsheet_opens_is_not_guarded(evaluation, tmp_path):
    with pytest.raises(UsageError, match="guard_formulas=True is for CSV"):
        evaluation.by_item().write(tmp_path / "items.parquet", guard_formulas=True)
    (tmp_path / "pairs.csv").write_text("a,b\n1,2\n")
    arguments = ("cluster", tmp_path / "pairs.csv", "--left", "a", "--right", "b", "-o", tmp_path / "c.jsonl")
    assert "--guard-formulas is for CSV" in call(*arguments, "--guard-formulas", code=2)
    assert not (tmp_path / "c.jsonl").exists()
