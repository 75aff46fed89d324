"""Sidecars: copies of a run's items and cells, sorted, so that an engine finds a few rows among millions quickly.

They are in a hidden folder beside the runs, named by the checksum of the manifest that they were made from. They can be
removed at any time: everything works without them, only more slowly.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.answers.tables import MetricTable
from pointwise.columns import ACTUAL, IDEAL, ITEM
from pointwise.core.evidence import Evidence
from pointwise.engines import Engine, start_engine
from pointwise.engines.base import Source, load_own
from pointwise.engines.files import opened, say_why
from pointwise.errors import NotFoundError, RunError
from pointwise.evaluation import Evaluation, load
from pointwise.explorer.shelf import StoredFolder

FOLDER = ".pointwise-explorer"

_ITEMS, _CELLS = "items", "cells"
_SORTED = ((_ITEMS, ITEM), (_ITEMS, IDEAL), (_ITEMS, ACTUAL), (_CELLS, IDEAL), (_CELLS, ACTUAL))


def _place(top: Path, stored: StoredFolder) -> Path:
    """Return where the sidecars of a run are: another version of it has another place."""
    with opened(stored.path / stored.kind.file) as manifest:
        return top / FOLDER / hashlib.sha256(manifest.read()).hexdigest()


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
        self.evaluation = evaluation
        self._stored, self._place = stored, _place(top, stored)

    def by(self, column: str) -> Evaluation:
        """Return the same evaluation, in which rows with one value of a column are found at once."""
        evidence = self._evidence
        items = self._read(_ITEMS, column, evidence.items)
        cells = self._read(_CELLS, column, evidence.cells)
        return replace(self.evaluation, evidence=replace(evidence, found=items, cells=cells))

    def around(self, item: str) -> Evaluation:
        """Return the evaluation as one item sees it: with the items of its two clusters only.

        Raises:
            NotFoundError: It is not among the common items.
        """
        evidence = self._evidence
        key = evidence.key(ITEM, item)
        own = self._find(_ITEMS, ITEM, key, evidence.items)
        found = evidence.engine.collect(own.select(IDEAL, ACTUAL)).to_pylist()
        if not found:
            raise NotFoundError(f"Item {item!r} is not among the common items.")
        ideal, actual = found[0][IDEAL], found[0][ACTUAL]
        members = self._find(_ITEMS, IDEAL, ideal, evidence.items)
        others = self._find(_ITEMS, ACTUAL, actual, evidence.items).filter(nw.col(IDEAL) != ideal)
        cells = self._find(_CELLS, IDEAL, ideal, evidence.cells)
        seen = evidence.engine.checkpoint(nw.concat([members, others.select(*members.collect_schema().names())]))
        return replace(self.evaluation, evidence=replace(evidence, found=seen, cells=cells))

    def clusters(self, side: str) -> MetricTable:
        """List the clusters of one side as they were stored, so that they need not be computed again."""
        is_ideal = side == IDEAL
        table = self.evaluation.by_ideal_cluster() if is_ideal else self.evaluation.by_actual_cluster()
        source = self._engine.read(self._stored.path / f"{'ideal' if is_ideal else 'actual'}_clusters.parquet")
        if not set(table.columns) <= set(source.columns):
            return table
        return replace(table, frame=load_own(source, table.columns))

    @property
    def _evidence(self) -> Evidence:
        return self.evaluation.evidence

    @property
    def _engine(self) -> Engine:
        return self.evaluation.engine

    def _find(self, table: str, column: str, key: Any, own: nw.LazyFrame) -> nw.LazyFrame:
        """Look the rows with one value of a column up, in a sidecar if there is one."""
        source = self._open(table, column, own)
        if source is None:
            return own.filter(nw.col(column) == key)
        return load_own(self._engine.look_up(source, column, [key]), list(own.collect_schema()))

    def _read(self, table: str, column: str, own: nw.LazyFrame) -> nw.LazyFrame:
        """Read a sidecar, with the columns that the evaluation's own table has."""
        source = self._open(table, column, own)
        return own if source is None else load_own(source, list(own.collect_schema()))

    def _open(self, table: str, column: str, own: nw.LazyFrame) -> Source | None:
        """Open a sidecar, if there is one like the evaluation's own table: attributes may have made ids text."""
        path = _file(self._place, table, column)
        if path.is_symlink() or self._place.is_symlink() or not path.is_file():
            return None
        wanted, source = dict(own.collect_schema()), self._engine.read(path)
        if not set(wanted) <= set(source.columns):
            return None
        return source if dict(load_own(source, list(wanted)).collect_schema()) == wanted else None
