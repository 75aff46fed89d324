"""Packaging: what is built holds everything, and runs where there is nothing but what it says it needs."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

import pointwise as pw

packaging = pytest.importorskip("packaging.requirements")
pytest.importorskip("build")

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Path, Path]:
    """Build the source distribution, and the wheel from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def test_the_version_stands_in_one_place(built):
    wheel, source = built
    assert wheel.name.startswith(f"pointwise-{pw.__version__}-")
    assert source.name == f"pointwise-{pw.__version__}.tar.gz"
    assert "version" in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"]


def test_the_wheel_holds_types_data_templates_and_the_licence(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
    own = {str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "pointwise").rglob("*") if path.is_file()}
    wanted = {name for name in own if "__pycache__" not in name}
    assert "pointwise/py.typed" in wanted
    assert any(name.endswith("templates/style.css") for name in wanted)
    assert any(name.startswith("pointwise/datasets/") and name.endswith(".parquet") for name in wanted)
    assert wanted <= set(names)
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith("tests") for name in names)


def test_the_source_distribution_can_be_tested_and_cited(built):
    with tarfile.open(built[1]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    assert {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "Makefile", "tests/test_paper.py"} <= names


def needed(name: str, extras: tuple[str, ...] = ()) -> Iterator[Distribution]:
    """List what a distribution needs, and what that needs, as far as it is installed here."""
    seen: set[str] = set()
    waiting = [(name, extras)]
    while waiting:
        name, extras = waiting.pop()
        for text in distribution(name).requires or ():
            wanted = packaging.Requirement(text)
            applies = [wanted.marker is None or wanted.marker.evaluate({"extra": e}) for e in (*extras, "")]
            if any(applies) and wanted.name not in seen:
                seen.add(wanted.name)
                yield distribution(wanted.name)
                waiting.append((wanted.name, tuple(wanted.extras)))


def test_the_demo_runs_where_there_is_only_what_the_wheel_needs(built, tmp_path):
    home = tmp_path / "environment"
    venv.create(home, with_pip=False, symlinks=True)
    site = next(home.glob("lib/python*/site-packages"))
    for found in needed("pointwise", ("report",)):
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in ("..", "__pycache__")}:
            here = Path(str(found.locate_file(top)))
            if here.exists() and not (site / top).exists():
                (site / top).symlink_to(here)
    with zipfile.ZipFile(built[0]) as wheel:
        wheel.extractall(site)  # noqa: S202  # our own
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")} | {"COLUMNS": "120"}
    command = [str(home / "bin" / "python"), "-m", "pointwise", "demo"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "precision" in done.stdout
    assert (tmp_path / "pointwise-demo.html").stat().st_size > 100_000
    where = subprocess.run(
        [*command[:1], "-c", "import pointwise; print(pointwise.__file__)"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(where.stdout.strip()).is_relative_to(home)
