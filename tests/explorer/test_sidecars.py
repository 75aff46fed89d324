"""Sidecars: sorted copies that change how quickly something is found, and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app
from pointwise.errors import RunError
from pointwise.explorer import Site, prepare_runs, sidecars
from pointwise.explorer.sidecars import FOLDER
from pointwise.explorer.urls import link
from visiting import is_alike, visiting

ITEMS = [f"item {n * 7919 % 5_000}" for n in range(5_000)]
IDEAL = {item: f"ideal {n * 31 % 900}" for n, item in enumerate(ITEMS)}
ACTUAL = {item: f"actual {n * 17 % 700}" for n, item in enumerate(ITEMS)}
PAGES = (
    link("run", "run"),
    link("run", "run", "item", "item 77"),
    link("run", "run", "cluster", "ideal", "ideal 5"),
    link("run", "run", "cluster", "actual", "actual 5"),
    link("run", "run", "clusters", "actual"),
    link("run", "run", "mistakes"),
    link("run", "run", "items"),
)


@pytest.fixture
def top(tmp_path: Path) -> Path:
    pw.evaluate(ideal=IDEAL, actual=ACTUAL).save(tmp_path / "run")
    return tmp_path


def look(top: Path) -> list[dict]:
    with visiting(top) as client:
        assert client.get(link("run", "run", "item", "item 77x")).status_code == 404
        return [client.get(f"{page}.json").json() for page in PAGES]


def test_prepared_or_not_every_page_says_the_same(top: Path):
    before = look(top)
    assert list(prepare_runs(Site(top))) == ["run"]
    assert list(prepare_runs(Site(top))) == []
    assert is_alike(look(top), before)
    shutil.rmtree(top / FOLDER)
    assert is_alike(look(top), before)


def test_sidecars_are_sorted_and_found_beside_the_runs(top: Path):
    list(prepare_runs(Site(top)))
    files = list((top / FOLDER).glob("*/*.parquet"))
    assert len(files) == 5
    for file in files:
        values = pq.read_table(file)[file.stem.partition("_by_")[2]].to_pylist()
        assert values == sorted(values)
    assert [row["run"] for row in pw.history(top).to_dicts()] == ["run"]
    pw.evaluate(ideal=IDEAL, actual=ACTUAL).save(top / "run", overwrite=True)


def test_a_run_that_was_replaced_does_not_use_the_sidecars_of_another_version(top: Path):
    list(prepare_runs(Site(top)))
    pw.evaluate(ideal=IDEAL, actual=dict.fromkeys(ITEMS, "one")).save(top / "run", overwrite=True)
    with visiting(top) as client:
        found = client.get(link("run", "run", "item", "item 77") + ".json").json()
    assert found["actual_cluster"] == "one"


def test_sidecars_appear_whole_or_not_at_all(top: Path, monkeypatch: pytest.MonkeyPatch):
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(sidecars, "_publish", fail)
        with pytest.raises(RunError, match="No space left"):
            list(prepare_runs(Site(top)))
    assert list((top / FOLDER).iterdir()) == []
    look(top)


def test_links_in_place_of_sidecars_are_not_followed(top: Path, tmp_path: Path):
    list(prepare_runs(Site(top)))
    place = next((top / FOLDER).iterdir())
    place.rename(tmp_path / "moved")
    place.symlink_to(tmp_path / "moved")
    assert look(top)[1]["item"] == "item 77"


def test_the_command_refuses_before_it_writes_anything(top: Path):
    arguments = ["explore", str(top), "--prepare", "--no-open", "--host", "192.0.2.1"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 2  # refused before anything is written
    assert not (top / FOLDER).exists()
