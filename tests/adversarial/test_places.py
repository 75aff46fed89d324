"""Places under attack: whatever is at a path, nothing of somebody else is lost, and what is stored is whole."""

from __future__ import annotations

import errno
import itertools
import json
import os
import shutil
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import forging
import pointwise as pw
from pointwise.errors import PointwiseError
from pointwise.store import atomic

IDEAL, ACTUAL = {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 2}
RECALL = 2 / 3


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Store one of each, to copy from."""
    folder = tmp_path_factory.mktemp("shelf")
    run = pw.evaluate(ideal=IDEAL, actual=ACTUAL)
    run.save(folder / "run")
    shutil.copytree(folder / "run", folder / "format 1")
    forging.edit(folder / "format 1", lambda manifest: manifest.update(format_version=1))
    shutil.copytree(folder / "run", folder / "damaged")
    (folder / "damaged" / "cells.parquet").unlink()
    shutil.copytree(folder / "run", folder / "edited")
    forging.edit(folder / "edited", lambda manifest: manifest.update(created="x"), sealed=False)
    comparison = pw.compare(ideal=IDEAL, variants={"one": ACTUAL, "two": IDEAL})
    comparison.save(folder / "comparison")
    return {"folder": folder, "run": run, "comparison": comparison}


def leave(place: Path, shelf: Path, folders: dict[str, str], *, is_complete: bool) -> None:
    """Leave what a process leaves that was killed."""
    space = place.parent / f".pointwise-{len(list(place.parent.iterdir())):04}"
    space.mkdir()
    (space / "pointwise-unfinished.json").write_text(json.dumps({"what": "unfinished", "place": place.name}))
    if is_complete:
        (space / "complete").touch()
    for name, kind in folders.items():
        SCENES[kind](space / name, shelf)


def copy(kind):
    return lambda place, shelf: shutil.copytree(shelf / kind, place)


def with_thesis(kind, name="thesis"):
    def make(place, shelf):
        copy(kind)(place, shelf)
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text("years of work")

    return make


def make_thesis(place, _):
    place.mkdir()
    (place / "thesis").write_text("years of work")


SCENES = {
    "nothing": lambda *_: None,
    "an empty folder": lambda place, _: place.mkdir(),
    "a file": lambda place, _: place.write_text("years of work"),
    "a folder with files": make_thesis,
    "a link to nothing": lambda place, _: place.symlink_to("nothing"),
    "a link to itself": lambda place, _: place.symlink_to(place.name),
    "a link to a folder with files": lambda place, _: (make_thesis(place.with_name("t"), _), place.symlink_to("t")),
    "a pipe": lambda place, _: os.mkfifo(place),
    "a run": copy("run"),
    "a run of format 1": copy("format 1"),
    "a damaged run": copy("damaged"),
    "an edited run": copy("edited"),
    "a run with a file": with_thesis("run"),
    "a run with a hidden file": with_thesis("run", ".thesis"),
    "a run with a folder": with_thesis("run", "more/thesis"),
    "a run in a run": lambda place, shelf: (copy("run")(place, shelf), copy("run")(place / "monday", shelf)),
    "a comparison": copy("comparison"),
    "a comparison with a file": with_thesis("comparison"),
    "a comparison with a file in a variant": with_thesis("comparison", "001/thesis"),
}
LEFT = ("nothing", "an empty folder", "a folder with files", "a run", "a run with a file", "a damaged run")
leftovers = st.builds(
    dict, new=st.sampled_from(LEFT), old=st.sampled_from(LEFT), is_complete=st.booleans(), is_ours=st.booleans()
)
BETWEEN_RENAMES = {"new": "a folder with files", "old": "an empty folder", "is_complete": True, "is_ours": True}

odd = st.sampled_from(
    [" ", ".x", "..x", "-x", "x.", "[a]*?", "{}", "%s", "~", "#", "a=b", "🦆", "ä", "a\nb", "\x1b[31m", "'\""]
)
names = odd | st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=20)
names = names.filter(lambda name: name not in (".", "..") and len(name.encode()) < 250)


@contextmanager
def new_folder():
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def somebodys(folder: Path) -> dict[str, str]:
    """List what belongs to somebody else, with where it is."""
    return {str(path): path.read_text() for path in folder.rglob("*") if path.name in ("thesis", ".thesis")}


def snapshot(folder: Path) -> dict[str, object]:
    """Note everything below a folder that is not hidden by us."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        if not any(part.startswith(".pointwise-") for part in path.relative_to(folder).parts):
            is_plain = path.is_file() and not path.is_symlink()
            found[str(path)] = path.read_bytes() if is_plain else path.readlink() if path.is_symlink() else None
    return found


@given(
    name=names,
    scene=st.sampled_from(list(SCENES)),
    left=st.none() | leftovers,
    how=st.tuples(st.sampled_from(["run", "comparison"]), st.booleans()),
)
@example(name="x", scene="nothing", left=BETWEEN_RENAMES, how=("run", False))
@example(name="x", scene="nothing", left=BETWEEN_RENAMES, how=("run", True))
def test_saving_anywhere_loses_nothing(shelf, name, scene, left, how):
    what, overwrite = how
    with new_folder() as folder:
        place = folder / name
        SCENES[scene](place, shelf["folder"])
        if left is not None:
            target = place if left["is_ours"] else folder / "other"
            leave(target, shelf["folder"], {"new": left["new"], "old": left["old"]}, is_complete=left["is_complete"])
        unfinished = (
            "/.pointwise-" if left and not left["is_complete"] else "\0"
        )  # what a process has not finished is ours
        theses = {path: text for path, text in somebodys(folder).items() if unfinished not in path}
        before = snapshot(folder)
        try:
            shelf[what].save(place, overwrite=overwrite)
        except PointwiseError as error:
            assert str(error)  # noqa: PT017
            after = snapshot(folder)
            assert {path: after.get(path, "gone") for path in before} == before
        else:
            check_stored(place, what)
            assert overwrite or scene not in ("a run", "a comparison")
        kept = somebodys(folder)
        finished = {str(place) + path.partition("/new")[2]: path for path in theses if "/.pointwise-" in path}
        kept |= {finished[path]: text for path, text in kept.items() if path in finished}  # by completing a swap
        assert {path: kept.get(path) for path in theses} == theses


def check_stored(place, what):
    with (pw.load if what == "run" else pw.load_comparison)(place) as loaded:
        found = loaded.overall if what == "run" else loaded["one"].overall
        assert found["recall"] == pytest.approx(RECALL)


@given(name=names, scene=st.sampled_from(list(SCENES)), is_inside=st.booleans())
def test_reading_anywhere_changes_nothing(shelf, name, scene, is_inside):
    with new_folder() as folder:
        SCENES[scene](folder / name, shelf["folder"])
        place, before = folder / name / "x" if is_inside else folder / name, snapshot(folder)
        for read in (pw.load, pw.load_comparison, pw.history, lambda place: pw.compare(variants={"a": place})):
            try:
                with read(place) as found:
                    assert found is not None
            except PointwiseError as error:
                assert str(error)  # noqa: PT017
            except TypeError:
                assert read is pw.history  # whose table is not for a with block
        assert snapshot(folder) == before


paths = st.text(max_size=30) | st.sampled_from(
    ["", ".", "..", "/", "//", "x/", "./x", "\0", "a\0b", "\ud800", "x" * 300, "x/" * 3000, "s3://x/y", "file:/x", "~"]
)


@given(path=paths)
def test_any_text_may_be_a_path(shelf, path):
    before = Path.cwd()
    with new_folder() as folder:
        inside = folder / "here"
        inside.mkdir()
        (inside / "thesis").write_text("years of work")
        os.chdir(inside)
        try:
            if not path.startswith("/") and ".." not in path:
                for do in (
                    lambda: shelf["run"].save(path),
                    lambda: shelf["comparison"].save(path, overwrite=True),
                    lambda: pw.load(path),
                    lambda: pw.history(path),
                    lambda: shelf["run"].by_item().write(path),
                    lambda: shelf["run"].by_item().write(f"{path}.csv"),
                ):
                    try:
                        do()
                    except PointwiseError as error:
                        assert str(error)  # noqa: PT017
            assert (inside / "thesis").read_text() == "years of work"
        finally:
            os.chdir(before)


OURS = "x"


def check(path):
    """Allow to replace folders that hold only the file that these tests write."""
    if path.is_file() or (path.is_dir() and not {p.name for p in path.iterdir()} <= {OURS}):
        raise PointwiseError("not ours")


def remove(path):
    check(path)
    (path / OURS).unlink(missing_ok=True)
    path.rmdir()


def fill(place, text):
    with atomic.whole_folder(place, check=check, remove=remove) as folder:
        (folder / OURS).write_text(text)


def refuse(*_):
    raise OSError(errno.ENOSYS, "not here")


def die_at(step: int, place: Path, *, can_exchange: bool) -> bool:
    """Write over a place in a process that dies before its n-th step, and tell whether it came that far."""
    child = os.fork()
    if child == 0:
        steps = itertools.count()

        def watch(event, _):
            if event.split(".")[0] in ("open", "os", "shutil", "fcntl", "ctypes") and next(steps) == step:
                os._exit(9)

        if not can_exchange:
            atomic.exchange = refuse
        sys.addaudithook(watch)
        fill(place, "new")
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
@pytest.mark.parametrize("can_exchange", [True, False])
@pytest.mark.parametrize("scene", ["nothing", "old"])
def test_a_process_may_die_at_any_step(tmp_path, can_exchange, scene):
    for step in itertools.count():
        place = tmp_path / str(step) / "place"
        place.parent.mkdir()
        if scene == "old":
            fill(place, "old")
        has_died = die_at(step, place, can_exchange=can_exchange)
        atomic.recover(place, remove)
        found = (place / OURS).read_text() if place.exists() else "nothing"
        assert found in (("new",) if not has_died else (scene, "new"))
        fill(place, "newest")
        assert (place / OURS).read_text() == "newest"
        workspaces = [p for p in place.parent.iterdir() if p != place]
        assert all(not (p / "pointwise-unfinished.json").exists() or not _content(p) for p in workspaces)
        if not has_died:
            assert workspaces == []
            assert step > 10
            return


def _content(space: Path) -> bytes:
    return (space / "pointwise-unfinished.json").read_bytes()
