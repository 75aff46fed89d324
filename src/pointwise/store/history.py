"""History: the runs below a folder, in the order of their creation."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pointwise.answers.tables import MetricTable
from pointwise.columns import (
    ITEM_SHARES,
    ITEM_SIZES,
    ITEMS,
    WEIGHT,
    WEIGHT_SHARES,
    Column,
    Kind,
    keys,
    undrawn,
    with_ends,
)
from pointwise.core.coverage import coverage_of, says_more
from pointwise.engines import Engine, choose_engine
from pointwise.engines.files import as_path, say_why
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, PointwiseError, RunError
from pointwise.inputs.options import check_choice
from pointwise.store.atomic import has_workspace, recover_inside
from pointwise.store.contents import open_folder, remove_stored
from pointwise.store.manifest import DIFF, KINDS, RUN, DiffManifest, EvidenceManifest, FolderKind, RunManifest

if TYPE_CHECKING:
    import pyarrow as pa

_OTHERS = {
    "runs": tuple(
        Column(name, Kind.SHARE)
        for name in ("common_share", "common_weight_share", "outside_share", "outside_weight_share")
    ),
    "diffs": tuple(Column(name, Kind.COUNT) for name in ("baseline_only", "experiment_only")),
}
"""Columns beside the metrics, by what is listed."""


HistoryOf = Literal["runs", "diffs"]
"""Which stored folders a history lists."""


def history(path: str | os.PathLike[str], *, of: HistoryOf = "runs", engine: Engine | str | None = None) -> MetricTable:
    """List all runs below a folder in the order of their creation, with overall metrics and coverage.

    The runs inside a stored comparison are part of it and not listed.

    The column `problem` says what is wrong with a run that cannot be loaded; its other columns are empty.

    Args:
        path: A folder with stored runs, at any depth.
        of: "runs", or "diffs" for stored diffs, with how many items each side lacks instead of the coverage.
        engine: Where to run: "duckdb" (the default), "spark" or an engine.

    Raises:
        NotFoundError: There is no such folder.

    Examples:
        >>> import pathlib, tempfile
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     stored = evaluation.save(pathlib.Path(folder) / "monday")
        ...     [row["run"] for row in pw.history(folder)]
        ['monday']
    """
    top = as_path(path)
    if not _is_folder(top):
        raise NotFoundError(f"There is no folder {str(top)!r}.")
    check_choice("of", of, HistoryOf)
    kind, read = (RUN, _read_run) if of == "runs" else (DIFF, _read_diff)
    rows = [_history_row(folder, top, kind.noun, read) for folder, found in stored_below(top) if found is kind]
    metrics = list(dict.fromkeys(name for row in rows for name in row["metrics"]))
    others = _OTHERS[of]
    table = _history_table(rows, kind.noun, metrics, [column.name for column in others])
    engine = choose_engine(engine)
    values = [c for name in metrics for c in _with_ends(Column(name, Kind.METRIC), rows)]
    described = (*keys(kind.noun), Column("created"), *ITEM_SIZES[:2], *values, *others, Column("problem"))
    if not any(map(_is_weighted, rows)):
        described = undrawn(described, WEIGHT_SHARES)
    order = (("created", False), (kind.noun, False))
    return MetricTable(of.capitalize(), from_rows(table, engine), engine, described, order=order)


def _with_ends(column: Column, rows: Iterable[Mapping[str, Any]]) -> tuple[Column, ...]:
    """Describe a metric, with the ends of its interval if any of the runs stores one."""
    return with_ends(column) if any(column.name in row.get("intervals", ()) for row in rows) else (column,)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except OSError as error:
        if isinstance(error, (FileNotFoundError, NotADirectoryError)):
            return False
        raise RunError(f"The folder {str(path)!r} cannot be read: {say_why(error)}.") from error


def stored_below(top: Path) -> Iterator[tuple[Path, FolderKind]]:
    """Find the stored folders below a folder, with what each is. Links are not followed.

    Raises:
        RunError: The folder cannot be read.
    """

    def refuse(error: OSError) -> None:
        if Path(error.filename) == top:  # folders further down that cannot be read are skipped
            raise RunError(f"The folder {str(top)!r} cannot be read: {say_why(error)}.") from error

    for folder, inside, files in os.walk(top, onerror=refuse):
        if has_workspace(inside):
            recover_inside(Path(folder), remove_stored)
            inside[:] = [path.name for path in Path(folder).iterdir() if path.is_dir() and not path.is_symlink()]
        inside[:] = [name for name in inside if not name.startswith(".")]
        found = next((known for known in KINDS if known.file in files), None)
        if found is not None:  # what is inside is part of it
            inside.clear()
            yield Path(folder), found


def _history_row(folder: Path, top: Path, noun: str, read: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
    row: dict[str, Any] = {noun: as_text(folder.relative_to(top).as_posix()), "metrics": {}}
    try:
        return row | read(folder)
    except PointwiseError as error:
        return row | {"problem": as_text(str(error))}


def _read_run(folder: Path) -> dict[str, Any]:
    with open_folder(folder, RUN, RunManifest, verify=False) as run:
        manifest = run.manifest
    metrics = {name: manifest.overall[name] for name in manifest.metrics}
    return {
        "created": manifest.created,
        "metrics": metrics,
        "intervals": manifest.intervals,
        **_sizes(manifest),
        **coverage_of(manifest.coverage).to_dict(),
    }


def _is_weighted(row: Mapping[str, Any]) -> bool:
    pairs = zip(ITEM_SHARES, WEIGHT_SHARES, strict=True)
    return any(items in row and says_more(row[items], row[weight]) for items, weight in pairs)


def _read_diff(folder: Path) -> dict[str, Any]:
    with open_folder(folder, DIFF, DiffManifest, verify=False) as diff:
        manifest = diff.manifest
    sizes = _sizes(manifest)
    affected = ("affected_items", "affected_weight")
    metrics = {name: v for name, v in manifest.overall.items() if name not in (*sizes, *affected)}
    only = {"baseline_only": manifest.baseline_items - manifest.common_items}
    only |= {"experiment_only": manifest.experiment_items - manifest.common_items}
    return {"created": manifest.created, "metrics": metrics, **sizes, **only}


def _sizes(manifest: EvidenceManifest) -> dict[str, Any]:
    return {ITEMS: manifest.overall[ITEMS], WEIGHT: manifest.overall[WEIGHT]}


def as_text(name: str) -> str:
    """Write what is not Unicode in the name of a folder with backslashes."""
    return name.encode(errors="backslashreplace").decode()


def _history_table(rows: list[dict[str, Any]], noun: str, metrics: list[str], others: list[str]) -> pa.Table:
    import pyarrow as pa

    def column(values: list[Any], kind: pa.DataType) -> pa.Array:
        return pa.array(values, kind)

    columns = {
        noun: column([row[noun] for row in rows], pa.string()),
        "created": column([row.get("created") for row in rows], pa.string()),
        ITEMS: column([row.get(ITEMS) for row in rows], pa.int64()),
        WEIGHT: column([row.get(WEIGHT) for row in rows], pa.float64()),
    }
    for name in metrics:
        columns[name] = column([row["metrics"].get(name) for row in rows], pa.float64())
        for place, end in enumerate(_with_ends(Column(name, Kind.METRIC), rows)[1:]):
            ends = [row.get("intervals", {}).get(name) for row in rows]
            columns[end.name] = column([pair and pair[place] for pair in ends], pa.float64())
    for name in others:
        columns[name] = column([row.get(name) for row in rows], pa.float64())
    return pa.table(columns | {"problem": column([row.get("problem") for row in rows], pa.string())})
