"""Manifests: a run is what its manifest says, and a manifest that cannot be trusted is refused."""

from __future__ import annotations

import os
import shutil

import pytest

import forging
import pointwise as pw
from pointwise.errors import RunError

IDEAL, ACTUAL = {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 2}
ABOUT = {"item": ["a", "b", "c"], "land": ["x", "y", "y"]}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    import pyarrow as pa

    folder = tmp_path_factory.mktemp("original")
    options = {"attributes": pa.table(ABOUT), "slices": ["land", "land = 'x'"], "unassigned_labels": [-1]}
    pw.evaluate(ideal=IDEAL, actual=ACTUAL, **options).save(folder / "run")
    pw.compare(ideal=IDEAL, variants={"one": ACTUAL, "two": IDEAL}, baseline="one").save(folder / "comparison")
    return folder


@pytest.fixture
def run(original, tmp_path):
    return shutil.copytree(original / "run", tmp_path / "run")


@pytest.fixture
def comparison(original, tmp_path):
    return shutil.copytree(original / "comparison", tmp_path / "comparison")


@pytest.mark.parametrize("version", [0, -1, 1, 3, 2.0, True, None, "2", [2]])
def test_other_formats_are_refused(run, comparison, version):
    for folder, name, load in ((run, "run.json", pw.load), (comparison, "comparison.json", pw.load_comparison)):
        forging.edit(folder, lambda manifest: manifest.update(format_version=version), name)
        with pytest.raises(RunError, match=r"format|pointwise 0\.1"):
            load(folder)


NESTED = {
    "inputs": {"ideal clustering": {"name": 3}},
    "options": {"missing": "perhaps"},
    "slices": [[]],
    "metrics": "precision",
    "totals": {"items": "three", "weight": 3.0},
    "coverage": {},
    "overall": {"items": 3.5, "weight": None},
    "slice_columns": {"land": "item"},
    "tables": {"cells": {"cells.parquet": 3}},
    "created": "yesterday",
    "pointwise_version": None,
}


@pytest.mark.parametrize("part", NESTED)
def test_what_stands_inside_is_validated(run, part):
    forging.edit(run, lambda manifest: manifest.update({part: NESTED[part]}))
    with pytest.raises(RunError, match="is damaged") as caught:
        pw.load(run)
    assert "should be" in str(caught.value)
    (row,) = pw.history(run.parent).to_dicts()
    assert row["problem"] == str(caught.value)


INSIDE = {
    "variants": {"one": "001", "two": "001"},
    "baseline": "three",
    "on": "all",
    "notes": [3],
    "confidence": 1.5,
    "manifests": {},
}


@pytest.mark.parametrize("part", INSIDE)
def test_what_stands_inside_of_a_comparison_is_validated(comparison, part):
    forging.edit(comparison, lambda manifest: manifest.update({part: INSIDE[part]}), "comparison.json")
    with pytest.raises(RunError, match=r"is damaged.*should be"):
        pw.load_comparison(comparison)


def test_a_run_in_a_comparison_that_was_exchanged_is_found(comparison):
    shutil.rmtree(comparison / "002")
    shutil.copytree(comparison / "001", comparison / "002")
    with pytest.raises(RunError, match=r"002/run\.json"):
        pw.load_comparison(comparison)


@pytest.mark.parametrize("number", ["overall", "coverage", "totals"])
def test_a_number_that_was_changed_is_found(run, number):
    def change(manifest):
        name = next(iter(manifest[number]))
        manifest[number][name] += 1

    forging.edit(run, change, sealed=False)
    with pytest.raises(RunError, match="checksum differs"):
        pw.load(run)
    with pytest.raises(RunError, match="checksum differs"):
        pw.load(run, verify=False)


def test_the_layout_of_a_manifest_is_free(run):
    before = pw.load(run).overall
    content = forging.read(run)
    forging.write(run, dict(reversed(content.items())), sealed=False)
    assert pw.load(run).overall == before


@pytest.mark.parametrize(
    "name",
    ["/etc/passwd", "../other/cells.parquet", "x/../../cells.parquet", "./cells.parquet", "", "x//y", "C:\\x", "a\0b"],
)
def test_files_outside_of_the_folder_are_refused(run, name):
    shutil.copytree(run, run.parent / "other")

    def point_out(manifest):
        manifest["tables"]["cells"] = {name: manifest["tables"]["cells"]["cells.parquet"]}

    forging.edit(run, point_out)
    with pytest.raises(RunError, match="should be inside the folder"):
        pw.load(run)


@pytest.mark.parametrize("name", ["cells.parquet", "run.json"])
def test_links_are_refused(run, name):
    (run / name).rename(run.parent / name)
    (run / name).symlink_to(run.parent / name)
    with pytest.raises(RunError, match="is a link"):
        pw.load(run)


def test_a_folder_of_parts_that_is_a_link_is_refused(run):
    (run.parent / "elsewhere").mkdir()
    (run / "cells.parquet").rename(run.parent / "elsewhere" / "part.parquet")
    (run / "cells.parquet").symlink_to(run.parent / "elsewhere")

    def point_there(manifest):
        manifest["tables"]["cells"] = {"cells.parquet/part.parquet": manifest["tables"]["cells"]["cells.parquet"]}

    forging.edit(run, point_there)
    with pytest.raises(RunError, match="is a link"):
        pw.load(run)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("name", ["cells.parquet", "run.json"])
def test_a_pipe_is_not_waited_for(run, name):
    (run / name).unlink()
    os.mkfifo(run / name)
    with pytest.raises(RunError, match="is not a file"):
        pw.load(run)


@pytest.mark.parametrize(
    "text", ["", "[" * 100_000, '{"a": NaN}', '{"a": 1e999}', "\ud800", "1" * 10_000, "{}", "null"]
)
def test_what_is_not_a_manifest_is_refused(run, text):
    (run / "run.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(RunError, match="damaged"):
        pw.load(run)


def test_one_bad_run_does_not_stop_the_list_of_the_others(run, original):
    shutil.copytree(original / "run", run.parent / "good")
    forging.edit(run, lambda manifest: manifest.update(overall={"items": None}))
    problems = {row["run"]: row["problem"] for row in pw.history(run.parent).to_dicts()}
    assert problems["good"] is None
    assert "overall" in problems["run"]


def test_a_stored_run_holds_no_file_that_its_manifest_does_not_list(original):
    for kind, name in (("run", "run.json"), ("comparison", "comparison.json")):
        folder = original / kind
        manifests = [name] + (["001/run.json", "002/run.json"] if kind == "comparison" else [])
        listed = set(manifests)
        for manifest in manifests[-2:]:
            content = forging.read(folder, manifest)
            listed |= {
                str((folder / manifest).parent.relative_to(folder) / path)
                for files in content.get("tables", {}).values()
                for path in files
            }
        assert {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} == listed
