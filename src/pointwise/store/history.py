"""History: the runs below a folder, in the order of their creation."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointwise.answers.tables import MetricTable
from pointwise.columns import ITEM_SIZES, ITEMS, WEIGHT, Column, Kind, keys
from pointwise.engines import Engine, choose_engine
from pointwise.engines.files import as_path, say_why
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, PointwiseError, RunError
from pointwise.store.atomic import has_workspace, recover_inside
from pointwise.store.contents import open_folder, remove_stored
from pointwise.store.manifest import COMPARISON, DIFF, RUN, RunManifest

if TYPE_CHECKING:
    import pyarrow as pa

_COVERAGE = ("common_share", "outside_share")


def history(path: str | os.PathLike[str], *, engine: Engine | str | None = None) -> MetricTable:
    """List all runs below a folder in the order of their creation, with overall metrics and coverage.

    The runs inside of a stored comparison are parts of it and not listed.

    The column `problem` says what is wrong with a run that cannot be loaded; its other columns are empty.

    Args:
        path: A folder with stored runs, at any depth.
        engine: Where to run: "duckdb" (the default), "spark" or an engine.

    Raises:
        NotFoundError: There is no such folder.
    """
    top = as_path(path)
    if not _is_folder(top):
        raise NotFoundError(f"There is no folder {str(top)!r}.")
    rows = [_history_row(folder, top) for folder in _run_folders(top)]
    metrics = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    table = _history_table(rows, metrics)
    engine = choose_engine(engine)
    numbers = [Column(n, Kind.METRIC) for n in metrics] + [Column(n, Kind.SHARE) for n in _COVERAGE]
    described = (*keys("run"), Column("created"), *ITEM_SIZES[:2], *numbers, Column("problem"))
    return MetricTable("Runs", from_rows(table, engine), engine, described, order=(("created", False), ("run", False)))


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return False
        raise RunError(f"The folder {str(path)!r} cannot be read: {say_why(error)}.") from error


def _run_folders(top: Path) -> Iterator[Path]:
    def refuse(error: OSError) -> None:
        if Path(error.filename) == top:  # of folders further down, those that can be read are listed
            raise RunError(f"The folder {str(top)!r} cannot be read: {say_why(error)}.") from error

    for folder, inside, files in os.walk(top, onerror=refuse):
        if has_workspace(inside):
            recover_inside(Path(folder), remove_stored)
            inside[:] = [path.name for path in Path(folder).iterdir() if path.is_dir() and not path.is_symlink()]
        inside[:] = [name for name in inside if not name.startswith(".")]
        if COMPARISON.file in files or DIFF.file in files:  # whose runs are parts of it, and which has none
            inside.clear()
        elif RUN.file in files:
            inside.clear()
            yield Path(folder)


def _history_row(folder: Path, top: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"run": _as_text(folder.relative_to(top).as_posix()), "metrics": {}}
    try:
        with open_folder(folder, RUN, RunManifest, verify=False) as run:
            manifest = run.manifest
    except PointwiseError as error:
        return row | {"problem": _as_text(str(error))}
    sizes = {ITEMS: manifest.overall[ITEMS], WEIGHT: manifest.overall[WEIGHT]}
    metrics = {name: manifest.overall[name] for name in manifest.metrics}
    return row | {"created": manifest.created, "metrics": metrics, "coverage": manifest.coverage, **sizes}


def _as_text(name: str) -> str:
    """Write what is not Unicode in the name of a folder with backslashes."""
    return name.encode(errors="backslashreplace").decode()


def _history_table(rows: list[dict[str, Any]], metrics: list[str]) -> pa.Table:
    import pyarrow as pa

    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind)

    columns = {
        "run": column([row["run"] for row in rows], pa.string()),
        "created": column([row.get("created") for row in rows], pa.string()),
        ITEMS: column([row.get(ITEMS) for row in rows], pa.int64()),
        WEIGHT: column([row.get(WEIGHT) for row in rows], pa.float64()),
    }
    for name in metrics:
        columns[name] = column([row["metrics"].get(name) for row in rows], pa.float64())
    for name in _COVERAGE:
        columns[name] = column([row.get("coverage", {}).get(name) for row in rows], pa.float64())
    return pa.table(columns | {"problem": column([row.get("problem") for row in rows], pa.string())})
