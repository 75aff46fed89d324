"""Faults: whatever happens while a run is stored, what can be loaded is whole and right."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import pointwise as pw
import saving
from pointwise.errors import PointwiseError
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
        duration = float(server.stdout.readline())
        for kill in range(KILLS):
            for run in tmp_path.glob("new-*"):
                shutil.rmtree(run)
            server.stdin.write(("new\n", "same\n")[kill % 2])
            server.stdin.flush()
            child = int(server.stdout.readline())
            time.sleep(rng.uniform(0, 2.5 * duration))
            os.kill(child, signal.SIGKILL)
            assert server.stdout.readline() == "dead\n"
            for run in visible(tmp_path):
                number = run.name.removeprefix("new-")
                recalls = saving.RECALLS if run.name == "same" else [saving.RECALLS[int(number) % 2]]
                found = pw.load(run, threads=1).overall["recall"]
                assert any(found == pytest.approx(r) for r in recalls)
                stored += 1
            unfinished += any(p.name.startswith(".") for p in tmp_path.iterdir())
        server.stdin.close()
    assert stored >= KILLS / 4  # the processes lived long enough to store something
    assert unfinished >= KILLS / 4  # and many died while they did
    for name in ("same", "new-0"):
        evaluations()[0].save(tmp_path / name, overwrite=True)
        check(tmp_path / name, saving.RECALLS[0])
        assert not [p for p in tmp_path.iterdir() if p.name.startswith(f".{name}.")]


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
    check_files = store.check_files

    def replace_first(folder, manifest, *, verify):
        monkeypatch.setattr(store, "check_files", check_files)
        new.save(tmp_path / "run", overwrite=True)
        check_files(folder, manifest, verify=verify)

    monkeypatch.setattr(store, "check_files", replace_first)
    check(Path(tmp_path / "run"), saving.RECALLS[1])
