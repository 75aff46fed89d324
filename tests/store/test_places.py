"""Places: only what pointwise has stored is replaced, and whatever a path leads to, one clear error says so."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

import forging
import pointwise as pw
from pointwise.errors import NotFoundError, PointwiseError, RunError, UsageError
from pointwise.store import atomic

IDEAL, ACTUAL = {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 2}
NOBODY = 65534


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    evaluation = pw.evaluate(ideal=IDEAL, actual=ACTUAL)
    # Load all modules, which a user without special rights may not be able to read.
    evaluation.report(tmp_path_factory.mktemp("warm-up") / "report.html")
    return evaluation


@pytest.fixture(scope="module")
def comparison():
    return pw.compare(ideal=IDEAL, variants={"one": ACTUAL, "two": IDEAL})


@pytest.fixture(params=["run", "comparison"])
def stored(request):
    return request.getfixturevalue(request.param)


def files(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize("manifest", ["run.json", "comparison.json"])
def test_a_manifest_that_is_not_ours_protects_its_folder(stored, tmp_path, manifest):
    (tmp_path / manifest).write_text("{}")
    (tmp_path / "thesis").write_text("years of work")
    with pytest.raises(RunError, match="already exists, and only a stored"):
        stored.save(tmp_path, overwrite=True)
    assert files(tmp_path) == {manifest: b"{}", "thesis": b"years of work"}


def test_a_run_inside_of_a_run_is_not_overwritten_with_it(run, tmp_path):
    run.save(tmp_path / "runs")
    run.save(tmp_path / "runs" / "monday")
    before = files(tmp_path)
    with pytest.raises(RunError, match=r"holds 'monday'.*did not store"):
        run.save(tmp_path / "runs", overwrite=True)
    assert files(tmp_path) == before


@pytest.mark.parametrize("name", ["notes.txt", "deep/er/notes.txt", "items.parquet.bak", ".hidden", "empty/"])
def test_anything_else_in_the_folder_keeps_it_from_being_replaced(stored, tmp_path, name):
    path = stored.save(tmp_path / "x")
    (path / name).parent.mkdir(parents=True, exist_ok=True)
    (path / name).mkdir() if name.endswith("/") else (path / name).write_text("mine")
    before = files(path)
    with pytest.raises(RunError, match="which pointwise did not store there"):
        stored.save(path, overwrite=True)
    assert files(path) == before
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    shutil.rmtree(path / Path(name).parts[0]) if (path / Path(name).parts[0]).is_dir() else (path / name).unlink()
    stored.save(path, overwrite=True)


def test_a_file_inside_of_a_variant_keeps_a_comparison_from_being_replaced(comparison, tmp_path):
    path = comparison.save(tmp_path / "x")
    (path / "002" / "notes.txt").write_text("mine")
    with pytest.raises(RunError, match=r"002/notes\.txt"):
        comparison.save(path, overwrite=True)


def test_something_of_another_kind_is_not_replaced(run, comparison, tmp_path):
    run.save(tmp_path / "run")
    comparison.save(tmp_path / "comparison")
    with pytest.raises(RunError, match="not a comparison"):
        comparison.save(tmp_path / "run", overwrite=True)
    with pytest.raises(RunError, match="not a run"):
        run.save(tmp_path / "comparison", overwrite=True)


def test_a_run_of_another_format_is_not_replaced(run, tmp_path):
    path = run.save(tmp_path / "x")
    forging.edit(path, lambda manifest: manifest.update(format_version=1))
    with pytest.raises(RunError, match=r"only a stored run is ever replaced.*pointwise 0\.1"):
        run.save(path, overwrite=True)


def test_a_file_that_appears_while_a_run_is_written_is_kept(run, tmp_path, monkeypatch):
    path = run.save(tmp_path / "x")
    flush = atomic._flush_all

    def appear(folder):
        flush(folder)
        (path / "notes.txt").write_text("mine")

    monkeypatch.setattr(atomic, "_flush_all", appear)
    with pytest.raises(RunError, match="meanwhile"):
        run.save(path, overwrite=True)
    assert (path / "notes.txt").read_text() == "mine"
    assert pw.load(path).overall == run.overall


def test_a_run_that_was_between_two_renames_is_loaded_listed_and_replaced(run, tmp_path):
    def interrupt():
        path = run.save(tmp_path / "x")
        space = tmp_path / ".pointwise-0123"
        space.mkdir()
        (space / "pointwise-unfinished.json").write_text('{"what": "unfinished", "place": "x"}')
        (space / "complete").touch()
        shutil.copytree(path, space / "new")
        path.rename(space / "old")
        return path

    path = interrupt()
    assert pw.load(path).overall == run.overall
    assert [p.name for p in tmp_path.iterdir()] == ["x"]
    shutil.rmtree(path)
    interrupt()
    assert [row["run"] for row in pw.history(tmp_path).to_dicts()] == ["x"]
    shutil.rmtree(path)
    interrupt()
    with pytest.raises(RunError, match="already"):
        run.save(path)
    shutil.rmtree(path)
    interrupt()
    assert len(pw.compare(variants={"a": path, "b": run}).variants) == 2


@pytest.fixture
def somebody():
    """Be a user without special rights, in a folder that may be written to."""
    folder = Path(tempfile.mkdtemp())
    is_root = os.geteuid() == 0
    folder.chmod(0o777)
    if is_root:
        os.seteuid(NOBODY)
    yield folder
    if is_root:
        os.seteuid(0)
    for path in (folder, *folder.rglob("*")):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o777)
    shutil.rmtree(folder)


def odd_places(folder):
    """Make places where nothing can be stored and from where nothing can be loaded."""
    (folder / "read-only").mkdir(mode=0o555)
    (folder / "unreadable").mkdir(mode=0o000)
    (folder / "file").write_text("mine")
    (folder / "loop").symlink_to(folder / "loop")
    (folder / "into-nothing").symlink_to(folder / "read-only" / "nothing")
    return {
        "in a read-only folder": folder / "read-only" / "x",
        "an unreadable folder": folder / "unreadable",
        "in an unreadable folder": folder / "unreadable" / "x",
        "a file": folder / "file",
        "in a file": folder / "file" / "x",
        "a link to itself": folder / "loop",
        "below a link to itself": folder / "loop" / "x",
        "a link to what cannot be made": folder / "into-nothing",
        "a long name": folder / ("x" * 300),
        "below a long name": folder / ("x" * 300) / "x",
        "a long path": folder.joinpath(*["x" * 200] * 30),
        "NUL": f"{folder}/a\0b",
        "a lone surrogate": f"{folder}/\ud800",
        "nothing": "",
        "a number": 3,
        "bytes": b"x",
    }


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
def test_wherever_a_path_leads_one_clear_error_says_so(run, comparison, somebody):
    table = run.by_item()
    for what, place in odd_places(somebody).items():
        file = place / "t.csv" if isinstance(place, Path) else f"{place}.csv" if "/" in str(place) else place
        page = str(file).replace(".csv", ".html") if "/" in str(file) else file
        actions = {
            "save": lambda place=place: run.save(place),
            "overwrite": lambda place=place: run.save(place, overwrite=True),
            "save a comparison": lambda place=place: comparison.save(place, overwrite=True),
            "load": lambda place=place: pw.load(place),
            "load a comparison": lambda place=place: pw.load_comparison(place),
            "write": lambda place=file: table.write(place),
            "report": lambda place=page: run.report(place),
        }
        if what != "in a read-only folder":
            actions["history"] = lambda place=place: pw.history(place)
        for action, do in actions.items():
            with pytest.raises(PointwiseError) as caught:
                do()
            assert len(str(caught.value)) < 9_000, (what, action)
    assert (somebody / "file").read_text() == "mine"
    assert not [p for p in somebody.iterdir() if p.name.startswith(".")]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["pipe.csv", "pipe.html", "link.csv", "link.html"])
def test_a_pipe_or_device_is_not_replaced_by_a_file(run, tmp_path, name):
    """A file in the place of /dev/null would be a disaster, and root may put it there."""
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipe.html")
    for ending in ("csv", "html"):
        (tmp_path / f"link.{ending}").symlink_to(tmp_path / f"pipe.{ending}")
    write = run.report if name.endswith("html") else run.by_item().write
    with pytest.raises(UsageError, match="a pipe or a device"):
        write(tmp_path / name)
    assert (tmp_path / name).is_fifo()
    assert len(list(tmp_path.iterdir())) == 4


@pytest.mark.skipif(not hasattr(os, "seteuid"), reason="needs users")
def test_a_run_that_cannot_be_read_is_listed_with_its_problem(run, somebody):
    run.save(somebody / "good")
    for name in ("folder", "manifest", "table"):
        run.save(somebody / name)
    (somebody / "folder").chmod(0)
    (somebody / "manifest" / "run.json").chmod(0)
    (somebody / "table" / "cells.parquet").chmod(0)
    problems = {row["run"]: row["problem"] for row in pw.history(somebody).to_dicts()}
    assert problems["good"] is None
    assert "Permission denied" in problems["manifest"]
    assert "Permission denied" in problems["table"]
    with pytest.raises(RunError, match="Permission denied"):
        pw.load(somebody / "folder")


def test_a_dangling_link_leads_to_where_the_run_is_made(run, tmp_path):
    (tmp_path / "latest").symlink_to(tmp_path / "monday")
    with pytest.raises(NotFoundError):
        pw.load(tmp_path / "latest")
    run.save(tmp_path / "latest")
    assert pw.load(tmp_path / "monday").overall == run.overall


def test_a_run_may_be_called_anything_that_a_folder_may(run, tmp_path):
    odd = os.fsdecode(bytes(tmp_path) + b"/\xff-run")
    path = run.save(odd)
    assert pw.load(path).overall == run.overall
    assert pw.history(tmp_path).to_dicts()[0]["run"] == "\\udcff-run"


def test_nothing_is_written_over_what_it_was_made_from(tmp_path):
    truth, other = tmp_path / "truth.csv", tmp_path / "link.csv"
    truth.write_text("item,cluster\na,1\nb,1\n")
    page = tmp_path / "truth.html.csv"
    other.symlink_to(truth)
    with pw.evaluate(ideal=truth, actual={"a": 1, "b": 2}) as evaluation:
        for place in (truth, other):
            with pytest.raises(UsageError, match="one of the files that were read"):
                evaluation.by_item().write(place)
        with pytest.raises(UsageError, match=r"must end in \.html"):
            evaluation.report(page)
    assert truth.read_text() == "item,cluster\na,1\nb,1\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.csv", "truth.csv"]
