"""Manifests under attack: whatever is done to a stored folder, it is refused clearly or says what it said before."""

from __future__ import annotations

import os
import shutil
import warnings
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import forging
import pointwise as pw
from pointwise.errors import PointwiseError, RunError

ITEMS = ["a", "b", "c", "d"]
IDEAL, ACTUAL = dict(zip(ITEMS, [1, 1, 2, 2], strict=True)), dict(zip(ITEMS, [1, 2, 2, 3], strict=True))
ABOUT = pa.table({"item": ITEMS, "land": ["x", "y", "y", None]})


def ask_run(folder):
    """Ask a run for everything that comes from its manifest, and for something of each table."""
    with pw.load(folder, threads=1) as run:
        return (
            run.summary(),
            {name: round(value, 9) for name, value in run.overall.values.items() if value is not None},
            run.coverage.to_dict(),
            sorted(row["item"] for row in run.by_item().to_dicts()),
            [row["items"] for row in run.by_slice(intervals=False).to_dicts()],
            {role: (source.name, source.columns) for role, source in run.sources.items()},
            run.warnings,
        )


def ask_comparison(folder):
    with pw.load_comparison(folder) as comparison:
        rows = comparison.deltas().to_dicts()
        return comparison.variants, comparison.baseline, comparison.notes, [round(row["delta"], 9) for row in rows]


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stored")
    options = {"attributes": ABOUT, "slices": ["land"], "unassigned_labels": [-1], "missing": "singleton"}
    pw.evaluate(ideal=IDEAL, actual=ACTUAL, **options).save(folder / "runs" / "attacked")
    pw.evaluate(ideal=IDEAL, actual=ACTUAL).save(folder / "runs" / "good")
    pw.compare(ideal=IDEAL, variants={"one": ACTUAL, "two": IDEAL}, baseline="one").save(folder / "both")
    return folder


class Kind:
    """A stored folder to attack, with what it answers as long as it is left alone."""

    def __init__(self, folder: Path, manifest: str, ask) -> None:
        self.folder, self.manifest, self.ask = folder, manifest, ask
        self.answers = ask(folder)
        self.content = forging.read(folder, manifest)
        self.files = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())

    @contextmanager
    def attacked(self):
        """Let the folder be attacked, and restore it."""
        copy = self.folder.with_name(f".{self.folder.name}.copy")
        shutil.copytree(self.folder, copy)
        try:
            yield self.folder
        finally:
            shutil.rmtree(self.folder)
            copy.rename(self.folder)

    def check_untrue(self) -> None:
        """A change that nobody sealed is refused, or changes nothing."""
        try:
            answers = self.ask(self.folder)
        except RunError as error:
            assert str(self.folder) in str(error)  # noqa: PT017
        else:
            assert answers == self.answers
        self.check_others()

    def check_sealed(self) -> None:
        """A change with the right checksum is refused or understood, without any other kind of error."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of metrics that nobody registered
                self.ask(self.folder)
        except PointwiseError as error:
            assert str(error)  # noqa: PT017
        self.check_others()

    def check_others(self) -> None:
        """One bad run does not stop the list of the others."""
        runs = self.folder.parent if self.manifest == "run.json" else self.folder.parent / "runs"
        found = {row["run"]: row["problem"] for row in pw.history(runs).to_dicts()}
        assert found["good"] is None


@pytest.fixture(scope="module")
def run(stored):
    return Kind(stored / "runs" / "attacked", "run.json", ask_run)


@pytest.fixture(scope="module")
def comparison(stored):
    return Kind(stored / "both", "comparison.json", ask_comparison)


@pytest.fixture(params=["run", "comparison"])
def kind(request):
    return request.getfixturevalue(request.param)


TELLING = [
    "",
    "run",
    "item",
    "land",
    "../x",
    "/etc/passwd",
    "a\0b",
    "\ud800",
    "items.parquet",
    "year >= 3",
    "drop",
    "NaN",
]
NUMBERS = [0, -1, 1, 2, 3, 2**31, 2**63, 2**64, 10**400, 0.5, 1e308, -0.0, 5e-324]
scalars = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.integers() | st.floats(allow_nan=False)
values = st.recursive(
    scalars.filter(lambda v: v not in (float("inf"), float("-inf"))) | st.sampled_from(TELLING) | st.text(max_size=5),
    lambda inside: (
        st.lists(inside, max_size=3) | st.dictionaries(st.sampled_from(TELLING) | st.text(), inside, max_size=3)
    ),
    max_leaves=5,
)


@given(data=st.data(), is_sealed=st.booleans())
def test_any_value_may_be_anything(kind, data, is_sealed):
    place = data.draw(st.sampled_from(forging.places(kind.content)))
    with kind.attacked() as folder:
        forging.edit(folder, lambda m: forging.put(m, place, data.draw(values)), kind.manifest, sealed=is_sealed)
        kind.check_sealed() if is_sealed else kind.check_untrue()


@given(data=st.data(), is_sealed=st.booleans())
def test_any_value_may_be_missing(kind, data, is_sealed):
    place = data.draw(st.sampled_from(forging.places(kind.content)))
    with kind.attacked() as folder:
        forging.edit(folder, lambda manifest: forging.drop(manifest, place), kind.manifest, sealed=is_sealed)
        kind.check_sealed() if is_sealed else kind.check_untrue()


@given(data=st.data(), is_sealed=st.booleans())
def test_any_value_may_stand_in_the_place_of_another(kind, data, is_sealed):
    places = forging.places(kind.content)
    source, target = data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))
    value = kind.content
    for key in source:
        value = value[key]
    with kind.attacked() as folder:
        forging.edit(folder, lambda manifest: forging.put(manifest, target, value), kind.manifest, sealed=is_sealed)
        kind.check_sealed() if is_sealed else kind.check_untrue()


def test_a_metric_that_is_listed_twice_is_refused(tmp_path):
    evaluation = pw.evaluate(ideal=[["a", "b"]], actual=[["a"], ["b"]], metrics=["precision", "recall"])
    folder = evaluation.save(tmp_path / "run")
    forging.edit(folder, lambda manifest: forging.put(manifest, ("metrics", 1), "precision"), "run.json", sealed=True)
    with pytest.raises(RunError, match="metrics"):
        pw.load(folder)


@given(data=st.data(), name=st.text(max_size=5), value=values)
def test_anything_may_be_added(kind, data, name, value):
    objects = [(), *(p for p in forging.places(kind.content) if isinstance(inside(kind.content, p), dict))]
    place = (*data.draw(st.sampled_from(objects)), name)
    with kind.attacked() as folder:
        forging.edit(folder, lambda manifest: forging.put(manifest, place, value), kind.manifest)
        kind.check_sealed()


def inside(content, path):
    for key in path:
        content = content[key]
    return content


@given(data=st.data())
def test_any_bit_may_flip(kind, data):
    name = data.draw(st.sampled_from(kind.files))
    with kind.attacked() as folder:
        content = bytearray((folder / name).read_bytes())
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] ^= 1 << data.draw(st.integers(0, 7))
        (folder / name).write_bytes(content)
        kind.check_untrue()


@given(data=st.data(), tail=st.binary(max_size=3))
def test_any_file_may_be_cut_or_longer(kind, data, tail):
    name = data.draw(st.sampled_from(kind.files))
    with kind.attacked() as folder:
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[: data.draw(st.integers(0, len(content)))] + tail)
        kind.check_untrue()


@given(content=st.binary(max_size=200) | st.text(max_size=50).map(str.encode))
def test_a_manifest_may_be_any_text(kind, content):
    with kind.attacked() as folder:
        (folder / kind.manifest).write_bytes(content)
        kind.check_untrue()


def make_link(path: Path, folder: Path) -> None:
    other = folder.with_name("elsewhere")
    shutil.copy(path, other)
    path.unlink()
    path.symlink_to(other)


ATTACKS = {
    "removed": lambda path, _: path.unlink(),
    "renamed": lambda path, _: path.rename(path.with_name("renamed")),
    "a folder": lambda path, _: (path.unlink(), path.mkdir()),
    "a link": make_link,
    "a link to nothing": lambda path, _: (path.unlink(), path.symlink_to(path.with_name("nothing"))),
    "a link to itself": lambda path, _: (path.unlink(), path.symlink_to(path)),
    "a pipe": lambda path, _: (path.unlink(), os.mkfifo(path)),
    "empty": lambda path, _: path.write_bytes(b""),
}


@given(data=st.data(), attack=st.sampled_from(list(ATTACKS)))
def test_any_file_may_be_something_else(kind, data, attack):
    name = data.draw(st.sampled_from(kind.files))
    with kind.attacked() as folder:
        ATTACKS[attack](folder / name, folder)
        kind.check_untrue()


@given(data=st.data())
def test_any_file_may_be_another(kind, data):
    one, other = data.draw(st.sampled_from(kind.files)), data.draw(st.sampled_from(kind.files))
    assume(one != other)
    with kind.attacked() as folder:
        contents = (folder / one).read_bytes(), (folder / other).read_bytes()
        (folder / one).write_bytes(contents[1])
        (folder / other).write_bytes(contents[0])
        kind.check_untrue()


@given(data=st.data(), name=st.sampled_from(["x", ".x", "x.parquet", "x/y"]), content=st.binary(max_size=5))
def test_more_files_change_nothing_and_keep_the_folder(kind, data, name, content):
    folders = sorted({str(Path(file).parent) for file in kind.files})
    with kind.attacked() as folder:
        extra = folder / data.draw(st.sampled_from(folders)) / name
        extra.parent.mkdir(exist_ok=True)
        extra.write_bytes(content)
        assert kind.ask(folder) == kind.answers
        with pytest.raises(RunError, match="did not store"):
            pw.compare(ideal=IDEAL, variants={"one": ACTUAL, "two": IDEAL}).save(folder, overwrite=True) if (
                kind.manifest == "comparison.json"
            ) else pw.evaluate(ideal=IDEAL, actual=ACTUAL).save(folder, overwrite=True)
        assert extra.read_bytes() == content
