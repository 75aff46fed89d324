"""History: the runs below a folder, in the order of their creation."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointwise.answers.tables import MetricTable
from pointwise.columns import ITEMS, WEIGHT
from pointwise.engines import Engine, choose_engine
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, PointwiseError
from pointwise.store.manifest import COMPARISON, MANIFEST
from pointwise.store.runs import read_run

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
    top = Path(path)
    if not top.is_dir():
        raise NotFoundError(f"There is no folder {str(top)!r}.")
    rows = [_history_row(folder, top) for folder in _run_folders(top)]
    metrics = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    table = _history_table(rows, metrics)
    engine = choose_engine(engine)
    return MetricTable("Runs", from_rows(table, engine), engine, order=(("created", False), ("run", False)))


def _run_folders(top: Path) -> Iterator[Path]:
    for folder, inside, files in os.walk(top):
        inside[:] = [name for name in inside if not name.startswith(".")]
        if COMPARISON in files:  # its runs are parts of it
            inside.clear()
        elif MANIFEST in files:
            inside.clear()
            yield Path(folder)


def _history_row(folder: Path, top: Path) -> dict[str, Any]:
    row: dict[str, Any] = {"run": str(folder.relative_to(top).as_posix()), "metrics": {}}
    try:
        _, manifest = read_run(folder, verify=False)
    except PointwiseError as error:
        return row | {"problem": str(error)}
    sizes = {ITEMS: manifest.overall[ITEMS], WEIGHT: manifest.overall[WEIGHT]}
    metrics = {name: manifest.overall[name] for name in manifest.metrics}
    return row | {"created": manifest.created, "metrics": metrics, "coverage": manifest.coverage, **sizes}


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
