"""Folders appear whole or not at all, and nothing that is somebody else's is ever touched."""

from __future__ import annotations

import errno
import json
import os
import stat
import subprocess
import sys

import pytest

from pointwise.errors import RunError
from pointwise.store import atomic
from pointwise.store.atomic import exchange, recover, recover_inside, whole_folder

OURS = ("x",)


def check(path):
    """Allow to replace folders that hold only the file that these tests write."""
    if path.is_file() or (path.is_dir() and not {p.name for p in path.iterdir()} <= {*OURS}):
        raise RunError(f"{path} is not ours")


def remove(path):
    check(path)
    for name in OURS:
        (path / name).unlink(missing_ok=True)
    path.rmdir()


def fill(place, text, *, meanwhile=lambda: None):
    with whole_folder(place, check=check, remove=remove) as folder:
        (folder / "x").write_text(text)
        meanwhile()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture
def no_exchange(monkeypatch):
    """Be a system that cannot exchange two names in one step."""

    def refuse(*_):
        raise OSError(errno.ENOSYS, "not here")

    monkeypatch.setattr(atomic, "exchange", refuse)


@pytest.fixture(params=["exchange", "rename"])
def any_system(request):
    if request.param == "rename":
        request.getfixturevalue("no_exchange")


def test_nothing_is_left_when_filling_a_folder_fails(tmp_path):
    def stop():
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fill(tmp_path / "run", "half", meanwhile=stop)
    assert names(tmp_path) == []


@pytest.mark.usefixtures("any_system")
def test_a_folder_takes_the_place_of_another(tmp_path):
    fill(tmp_path / "run", "old")
    fill(tmp_path / "run", "new")
    assert (tmp_path / "run" / "x").read_text() == "new"
    assert names(tmp_path) == ["run"]


def test_what_is_unfinished_is_hidden_and_private(tmp_path):
    with whole_folder(tmp_path / "run", check=check, remove=remove) as folder:
        (space,) = tmp_path.iterdir()
        assert space.name.startswith(".")
        assert stat.S_IMODE(space.stat().st_mode) == 0o700
        assert folder.parent == space
    assert stat.S_IMODE((tmp_path / "run").stat().st_mode) & 0o077 == 0o077 & ~umask()


def umask():
    now = os.umask(0)
    os.umask(now)
    return now


def test_a_folder_that_is_called_like_a_leftover_is_kept(tmp_path):
    for name in (".run.unfinished-0123", ".pointwise-0123", ".pointwise-4567"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis").write_text("years of work")
    (tmp_path / ".pointwise-4567" / "pointwise-unfinished.json").write_text("[]")
    fill(tmp_path / "run", "new")
    recover_inside(tmp_path, remove)
    assert len(list(tmp_path.glob("*/thesis"))) == 3


def leave(tmp_path, *, place="run", complete=False, **folders):
    """Leave what a process leaves that was killed."""
    space = tmp_path / ".pointwise-0123"
    space.mkdir()
    (space / "pointwise-unfinished.json").write_text(json.dumps({"what": "unfinished", "place": place}))
    if complete:
        (space / "complete").touch()
    for name, files in folders.items():
        (space / name).mkdir()
        for file in files:
            (space / name / file).write_text(name)
    return space


def test_leftovers_of_the_dead_are_removed_and_those_of_the_living_kept(tmp_path):
    dead = leave(tmp_path, new=("half", "x"))
    with whole_folder(tmp_path / "run", check=check, remove=remove) as living:
        assert not dead.exists()
        fill(tmp_path / "run", "other")
        assert living.exists()
        (living / "x").write_text("first")
    assert (tmp_path / "run" / "x").read_text() == "first"
    assert names(tmp_path) == ["run"]


@pytest.mark.parametrize("marker", [False, True])
def test_workspaces_of_processes_that_died_before_their_marker_said_anything_are_removed(tmp_path, marker):
    space = tmp_path / ".pointwise-0123"
    space.mkdir()
    if marker:
        (space / "pointwise-unfinished.json").touch()
    recover_inside(tmp_path, remove)
    assert names(tmp_path) == []


def test_a_workspace_that_was_taken_for_a_leftover_is_made_again(tmp_path, monkeypatch):
    lock, spaces = atomic._try_lock, []

    def lose_the_first(handle):
        if not spaces:
            spaces.extend(tmp_path.iterdir())
            (spaces[0] / "pointwise-unfinished.json").unlink()
            spaces[0].rmdir()
            return False
        return lock(handle)

    monkeypatch.setattr(atomic, "_try_lock", lose_the_first)
    fill(tmp_path / "run", "new")
    assert (tmp_path / "run" / "x").read_text() == "new"
    assert names(tmp_path) == ["run"]


def test_leftovers_of_another_place_are_left_to_it(tmp_path):
    other = leave(tmp_path, place="other", new=("x",))
    fill(tmp_path / "run", "new")
    assert other.exists()


def test_something_foreign_in_a_leftover_is_kept(tmp_path):
    space = leave(tmp_path, complete=True, new=("x", "thesis"))
    fill(tmp_path / "run", "new")
    assert (space / "new" / "thesis").read_text() == "new"


def test_a_swap_that_was_interrupted_between_two_renames_is_completed(tmp_path):
    leave(tmp_path, complete=True, new=("x",), old=("x",))
    recover(tmp_path / "run", remove)
    assert (tmp_path / "run" / "x").read_text() == "new"
    assert names(tmp_path) == ["run"]


def test_a_swap_that_was_interrupted_after_both_renames_is_tidied_up(tmp_path):
    fill(tmp_path / "run", "newest")
    leave(tmp_path, complete=True, old=("x",))
    recover(tmp_path / "run", remove)
    assert (tmp_path / "run" / "x").read_text() == "newest"
    assert names(tmp_path) == ["run"]


KILLED_BETWEEN = """
import os, sys
sys.path.insert(0, sys.argv[2])
from pathlib import Path
import test_atomic as t
from pointwise.store import atomic

def refuse(*_):
    raise OSError(t.errno.ENOSYS, "not here")

def die(*_):
    os.kill(os.getpid(), 9)

atomic.exchange = refuse
place = Path(sys.argv[1])
t.fill(place, "old")
check_again = atomic._check_again
atomic._check_again = lambda check, found, place: die() if found != place else check_again(check, found, place)
t.fill(place, "new")
"""


def test_a_process_killed_between_two_renames_loses_nothing(tmp_path):
    place = tmp_path / "run"
    command = [sys.executable, "-c", KILLED_BETWEEN, str(place), os.path.dirname(__file__)]  # noqa: PTH120
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -9, done.stderr
    assert not place.exists()
    recover(place, remove)
    assert (place / "x").read_text() == "new"
    assert names(tmp_path) == ["run"]


@pytest.mark.usefixtures("any_system")
def test_a_folder_that_appears_meanwhile_is_kept(tmp_path):
    def appear():
        (tmp_path / "run").mkdir()
        (tmp_path / "run" / "thesis").write_text("years of work")

    with pytest.raises(FileExistsError):
        fill(tmp_path / "run", "new", meanwhile=appear)
    assert (tmp_path / "run" / "thesis").read_text() == "years of work"
    assert names(tmp_path) == ["run"]


@pytest.mark.usefixtures("any_system")
def test_a_file_that_appears_meanwhile_is_kept(tmp_path):
    with pytest.raises(FileExistsError):
        fill(tmp_path / "run", "new", meanwhile=lambda: (tmp_path / "run").write_text("mine"))
    assert (tmp_path / "run").read_text() == "mine"
    assert names(tmp_path) == ["run"]


@pytest.mark.usefixtures("any_system")
def test_a_file_that_appears_in_the_last_moment_is_kept(tmp_path):
    """The check before the swap sees nothing, the one after it does."""
    fill(tmp_path / "run", "old")
    looks = []

    def look(path):
        looks.append(path)
        check(path)
        if len(looks) == 2:  # at the swap
            (tmp_path / "run" / "thesis").write_text("years of work")

    with (
        pytest.raises(FileExistsError),
        whole_folder(tmp_path / "run", check=look, remove=remove) as folder,
    ):
        (folder / "x").write_text("new")
    assert (tmp_path / "run" / "thesis").read_text() == "years of work"
    assert (tmp_path / "run" / "x").read_text() == "old"
    assert names(tmp_path) == ["run"]


def test_a_long_name_leaves_room_for_the_workspace(tmp_path):
    place = tmp_path / ("🦆" * 63)  # 252 bytes of the 255 that a name may have
    fill(place, "new")
    assert (place / "x").read_text() == "new"


def test_folders_swap_names(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x").write_text(name)
    exchange(tmp_path / "one", tmp_path / "other")
    assert (tmp_path / "one" / "x").read_text() == "other"
    assert (tmp_path / "other" / "x").read_text() == "one"
    assert names(tmp_path) == ["one", "other"]
