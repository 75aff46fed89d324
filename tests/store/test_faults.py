"""Faults: whatever happens while a run is stored, what can be loaded is whole and right."""

from __future__ import annotations

import errno
import gc
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pointwise as pw
import saving
from pointwise.comparison import comparison as comparing
from pointwise.errors import PointwiseError
from pointwise.store import contents
from pointwise.store import runs as store

KILLS = 50


def evaluations():
    return [pw.evaluate(ideal=saving.IDEAL, actual=actual) for actual in saving.CLUSTERINGS]


def visible(folder):
    return sorted(p for p in folder.iterdir() if not p.name.startswith("."))


def check(path, expected):
    """Load a run with all its checksums and compare what it says."""
    loaded = pw.load(path, threads=1)
    assert loaded.overall["recall"] == pytest.approx(expected)
    assert loaded.coverage.common_items == len(saving.IDEAL)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_killing_a_saving_process_leaves_whole_runs_only(tmp_path):
    rng = random.Random(20)  # noqa: S311  # no secret
    command = [sys.executable, "-W", "ignore", saving.__file__, str(tmp_path)]
    stored = unfinished = 0
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        life = 2.5 * float(server.stdout.readline())
        for kill in range(10 * KILLS):  # which a busy machine may need to see both
            if kill >= KILLS and stored and unfinished:
                break
            for run in tmp_path.glob("new-*"):
                shutil.rmtree(run)
            server.stdin.write(("new\n", "same\n")[kill % 2])
            server.stdin.flush()
            child = int(server.stdout.readline())
            time.sleep(rng.uniform(0, life))
            os.kill(child, signal.SIGKILL)
            assert server.stdout.readline() == "dead\n"
            runs = visible(tmp_path)
            life *= 0.9 if runs else 1.3  # the machine may be slower now than when the process measured itself
            for run in runs:
                number = run.name.removeprefix("new-")
                recalls = saving.RECALLS if run.name == "same" else [saving.RECALLS[int(number) % 2]]
                found = pw.load(run, threads=1).overall["recall"]
                assert any(found == pytest.approx(r) for r in recalls)
                stored += 1
            unfinished += any(p.name.startswith(".") for p in tmp_path.iterdir())
        server.stdin.close()
    assert stored  # some processes lived long enough to store something
    assert unfinished  # and some died while they did
    for name in ("same", "new-0"):
        evaluations()[0].save(tmp_path / name, overwrite=True)
        check(tmp_path / name, saving.RECALLS[0])
    pw.history(tmp_path)
    assert visible(tmp_path) == sorted(tmp_path.iterdir())


@pytest.fixture
def tiny_disk(tmp_path):
    """Mount a file system that holds a few kilobytes."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this system does not let us mount a file system")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_nothing(tiny_disk):
    with pytest.raises(PointwiseError, match=r"(?i)no space|not enough space|cannot be"):
        evaluations()[0].save(tiny_disk / "run")
    assert list(tiny_disk.iterdir()) == []


@pytest.mark.parametrize("step", ["write_manifest", "describe_table"])
def test_a_failing_write_leaves_the_old_run(tmp_path, monkeypatch, step):
    old, new = evaluations()
    old.save(tmp_path / "run")

    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(store, step, fail)
    with pytest.raises(pw.RunError, match="No space left"):
        new.save(tmp_path / "run", overwrite=True)
    assert visible(tmp_path) == list(tmp_path.iterdir())
    check(tmp_path / "run", saving.RECALLS[0])


def test_the_second_of_two_writers_is_told(tmp_path, monkeypatch):
    first, second = evaluations()
    write = store.write_manifest

    def write_after_another(folder, manifest):
        monkeypatch.setattr(store, "write_manifest", write)
        first.save(tmp_path / "run")
        write(folder, manifest)

    monkeypatch.setattr(store, "write_manifest", write_after_another)
    with pytest.raises(pw.RunError, match="meanwhile"):
        second.save(tmp_path / "run")
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    check(tmp_path / "run", saving.RECALLS[0])


def test_of_many_writers_one_wins(tmp_path):
    def save(evaluation):
        try:
            evaluation.save(tmp_path / "run")
        except pw.RunError:
            return None
        return evaluation.overall["recall"]

    with ThreadPoolExecutor(4) as pool:
        winners = [recall for recall in pool.map(save, evaluations() + evaluations()) if recall is not None]
    assert len(winners) == 1
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    check(tmp_path / "run", winners[0])


def test_a_run_that_is_replaced_while_it_is_read_is_read_again(tmp_path, monkeypatch):
    old, new = evaluations()
    old.save(tmp_path / "run")
    read_manifest = contents.read_manifest

    def replace_afterwards(folder, kind):
        manifest = read_manifest(folder, kind)
        monkeypatch.setattr(contents, "read_manifest", read_manifest)
        new.save(tmp_path / "run", overwrite=True)
        return manifest

    monkeypatch.setattr(contents, "read_manifest", replace_afterwards)
    check(Path(tmp_path / "run"), saving.RECALLS[1])


def answers(evaluation):
    """Return what a run says, from its manifest and from each of its tables."""
    return (
        evaluation.coverage.common_items,
        round(evaluation.overall["recall"], 9),
        len(evaluation.by_item()),
        sum(row["items"] for row in evaluation.by_ideal_cluster().to_dicts()),
    )


LARGE = {str(n): n // 2 for n in range(100)}
VERSIONS = {3: (3, 1.0, 3, 3), 100: (100, 0.5, 100, 100)}


def versions():
    small = pw.evaluate(ideal={"a": 1, "b": 1, "c": 1}, actual={"a": 1, "b": 1, "c": 1})
    return small, pw.evaluate(ideal=LARGE, actual={item: n for n, item in enumerate(LARGE)})


def test_a_loaded_run_answers_for_one_version(tmp_path):
    small, large = versions()
    path = small.save(tmp_path / "run")
    for verify in (True, False):
        loaded = pw.load(path, verify=verify)
        large.save(path, overwrite=True)
        assert answers(loaded) == VERSIONS[3]
        assert answers(pw.load(path)) == VERSIONS[100]
        small.save(path, overwrite=True)
        assert answers(loaded) == VERSIONS[3]
    shutil.rmtree(path)
    assert answers(loaded) == VERSIONS[3]


def test_a_reader_beside_two_writers_sees_one_version_at_a_time(tmp_path):
    path = versions()[0].save(tmp_path / "run")
    is_over = threading.Event()

    def write(evaluation):
        times = 0
        while not is_over.is_set():
            evaluation.save(path, overwrite=True)
            times += 1
        return times

    with ThreadPoolExecutor(2) as pool:
        writers = [pool.submit(write, evaluation) for evaluation in versions()]
        try:
            seen = [answers(loaded) for loaded in (pw.load(path, verify=n % 2 == 0) for n in range(30))]
        finally:
            is_over.set()
        assert all(writer.result() > 1 for writer in writers)
    assert {*seen} <= {*VERSIONS.values()}
    assert len({*seen}) == 2
    assert answers(pw.load(path)) in VERSIONS.values()
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_frame_outlives_the_evaluation_that_it_came_from(tmp_path):
    path = versions()[0].save(tmp_path / "run")
    frame = pw.load(path).by_item().lazy()
    others = [pw.load(path).overall["recall"] for _ in range(3)]
    assert others == [1.0] * 3
    assert len(frame.collect()) == 3


def test_many_loaded_runs_do_not_use_up_the_files_of_a_process(tmp_path):
    path = versions()[0].save(tmp_path / "run")
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(100):
        pw.load(path, verify=False)
    gc.collect()
    assert len(list(Path("/dev/fd").iterdir())) < before + 100


def test_a_loaded_comparison_is_of_one_version(tmp_path, monkeypatch):
    ideal = {"a": 1, "b": 1, "c": 1}
    one = pw.compare(ideal=ideal, variants={"x": ideal, "y": ideal})
    other = pw.compare(ideal=ideal, variants={"x": {"a": 1, "b": 2, "c": 3}, "y": {"a": 1, "b": 2, "c": 3}})
    path = one.save(tmp_path / "both")
    load = comparing.load

    def replace_afterwards(*args, **options):
        loaded = load(*args, **options)
        monkeypatch.setattr(comparing, "load", load)
        other.save(path, overwrite=True)
        return loaded

    monkeypatch.setattr(comparing, "load", replace_afterwards)
    loaded = pw.load_comparison(path)
    assert {round(e.overall["recall"], 9) for e in loaded.evaluations.values()} == {round(1 / 3, 9)}
