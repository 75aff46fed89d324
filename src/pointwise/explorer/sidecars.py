"""Sidecars: copies of a run's items and cells, sorted, so that an engine finds a few rows among millions quickly.

They are in a hidden folder beside the runs, named by the checksum of the manifest that they were made from. They can be
removed at any time: everything works without them, only more slowly.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.tables import MetricTable
from pointwise.columns import ACTUAL, COST, IDEAL, ITEM, ITEMS
from pointwise.core.evidence import Evidence
from pointwise.engines import Engine, start_engine
from pointwise.engines.base import load_own
from pointwise.engines.files import opened, say_why
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, RunError
from pointwise.evaluation import Evaluation, load
from pointwise.explorer.shelf import StoredFolder

FOLDER = ".pointwise-explorer"

_FEW = 10_000  # rows that are fetched to ask more about them
_NOWHERE = "gone"
_ITEMS, _CELLS = "items", "cells"
_SORTED = ((_ITEMS, ITEM), (_ITEMS, IDEAL), (_ITEMS, ACTUAL), (_CELLS, IDEAL), (_CELLS, ACTUAL))


def _place(top: Path, stored: StoredFolder) -> Path:
    """Return where the sidecars of a run are: another version of it has another place."""
    return top / FOLDER / (stored.version or _NOWHERE)


def _file(place: Path, table: str, column: str) -> Path:
    return place / f"{table}_by_{column}.parquet"


def prepare(top: Path, stored: StoredFolder) -> bool:
    """Write the sidecars of a run, unless they are there; they appear when they are complete.

    Args:
        top: The folder that is explored, which they are put into.
        stored: The run.

    Returns:
        Whether they were written.

    Raises:
        RunError: They cannot be written.
    """
    place = _place(top, stored)
    if place.is_dir():
        return False
    engine = start_engine()
    try:
        place.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix="unfinished-") as unfinished:
            evidence = load(stored.path, engine=engine).evidence
            for table, column in _SORTED:
                frame = evidence.items if table == _ITEMS else evidence.cells
                engine.write(frame.sort(column), _file(Path(unfinished), table, column))
            _publish(Path(unfinished), place)
    except OSError as error:
        raise RunError(f"Nothing can be prepared in {str(place.parent)!r}: {say_why(error)}.") from error
    finally:
        engine.close()
    return True


def _publish(unfinished: Path, place: Path) -> None:
    """Give complete sidecars their name; another process that did so meanwhile has written the same."""
    whole = unfinished / "whole"
    whole.mkdir()
    for file in unfinished.glob("*.parquet"):
        file.rename(whole / file.name)
    try:
        os.rename(whole, place)  # noqa: PTH104  # a rename of pathlib's may replace
    except OSError:
        if not place.is_dir():
            raise
        shutil.rmtree(whole)


class Sorted:
    """An evaluation whose items and cells are looked up in sidecars, if there are any.

    Args:
        evaluation: The evaluation.
        top: The folder that is explored.
        stored: The run that it was loaded from.
    """

    def __init__(self, evaluation: Evaluation, top: Path, stored: StoredFolder) -> None:
        evidence = replace(evaluation.evidence, ordered=self._order, known_costs=self._costs)
        self.evaluation = replace(evaluation, evidence=evidence)
        self._stored, self._version, self._place = stored, stored.version, _place(top, stored)
        self._opened: dict[tuple[str, str], nw.LazyFrame | None] = {}
        self._clusters: dict[str, MetricTable] = {}

    @property
    def engine(self) -> Engine:
        """Where it is looked up."""
        return self.evaluation.engine

    def by(self, column: str) -> Evaluation:
        """Return the same evaluation, in which rows with one value of a column are found at once."""
        return replace(self.evaluation, evidence=self._order(column))

    def _order(self, column: str) -> Evidence:
        items, cells = self._read(_ITEMS, column), self._read(_CELLS, column)
        return replace(self._evidence, found=items, cells=cells)

    def _costs(self, side: str) -> nw.LazyFrame | None:
        table = self.clusters(side)
        return table.frame.select(side, ITEMS, COST) if COST in table.columns else None

    def _narrowed(self, items: nw.LazyFrame, cells: nw.LazyFrame) -> Evaluation:
        """Return the evaluation with these rows only, which are few, so that sorted copies are no longer needed."""
        evidence = replace(self._evidence, found=items, cells=cells, ordered=None, known_costs=None)
        return replace(self.evaluation, evidence=evidence)

    def around(self, item: str) -> Evaluation:
        """Return the evaluation as one item sees it: with the items of its two clusters only.

        Raises:
            NotFoundError: It is not among the common items.
        """
        evidence = self._evidence
        own = self._find(_ITEMS, ITEM, evidence.key(ITEM, item))
        found = self.engine.collect(own.select(IDEAL, ACTUAL)).to_pylist()
        if not found:
            raise NotFoundError(f"Item {item!r} is not among the common items.")
        ideal, actual = found[0][IDEAL], found[0][ACTUAL]
        members = self._find(_ITEMS, IDEAL, ideal)
        others = self._find(_ITEMS, ACTUAL, actual).filter(nw.col(IDEAL) != ideal)
        seen = self._fetch(nw.concat([members, others]))
        cells = self._fetch(self._find(_CELLS, IDEAL, ideal))
        return self._narrowed(seen, cells)

    def of(self, side: str, cluster: str) -> Evaluation:
        """Return the evaluation with the items and cells of one cluster only."""
        key = self._evidence.key(side, cluster)
        return self._narrowed(*(self._fetch(self._find(table, side, key)) for table in (_ITEMS, _CELLS)))

    def clusters(self, side: str) -> MetricTable:
        """List the clusters of one side as they were stored, so that they need not be computed again."""
        if side not in self._clusters:
            self._clusters[side] = self._list_clusters(side)
        return self._clusters[side]

    def _list_clusters(self, side: str) -> MetricTable:
        is_ideal = side == IDEAL
        table = self.evaluation.by_ideal_cluster() if is_ideal else self.evaluation.by_actual_cluster()
        with opened(self._stored.path / f"{'ideal' if is_ideal else 'actual'}_clusters.parquet") as file:
            source = self.engine.pin([file])
        if self._stored.version != self._version:
            raise RunError(f"The run {self._stored.name!r} was replaced meanwhile. Open the page again.")
        if not set(table.columns) <= set(source.columns):
            return table
        return replace(table, frame=load_own(source, table.columns))

    @property
    def _evidence(self) -> Evidence:
        return self.evaluation.evidence

    def _own(self, table: str) -> nw.LazyFrame:
        return self._evidence.items if table == _ITEMS else self._evidence.cells

    def _find(self, table: str, column: str, key: Any) -> nw.LazyFrame:
        """Find the rows with one value of a column, which takes an engine no time in a sorted file."""
        return self._read(table, column).filter(nw.col(column) == key)

    def _fetch(self, frame: nw.LazyFrame) -> nw.LazyFrame:
        """Fetch rows if they are few, because every further question about them is then answered sooner."""
        rows = self.engine.collect(frame.head(_FEW + 1))
        return from_rows(rows, self.engine) if rows.num_rows <= _FEW else frame

    def _read(self, table: str, column: str) -> nw.LazyFrame:
        """Read a sidecar with the columns that the evaluation's own table has, or that table itself."""
        path = _file(self._place, table, column)
        if path.is_symlink() or self._place.is_symlink() or not path.is_file():
            return self._own(table)
        if (table, column) not in self._opened:
            self._opened[table, column] = self._open(path, self._own(table))
        found = self._opened[table, column]
        return self._own(table) if found is None else found

    def _open(self, path: Path, own: nw.LazyFrame) -> nw.LazyFrame | None:
        """Open a sidecar, if it is like the evaluation's own table: attributes may have made ids text."""
        wanted, source = dict(own.collect_schema()), self.engine.read(path)
        if not set(wanted) <= set(source.columns):
            return None
        frame = load_own(source, list(wanted))
        return frame if dict(frame.collect_schema()) == wanted else None
