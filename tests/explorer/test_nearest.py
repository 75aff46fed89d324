"""The nearest ids, and those that begin with a text, however many rows have one id."""

from __future__ import annotations

import pyarrow as pa
import pytest

from pointwise.engines import start_engine
from pointwise.engines.queries import from_rows
from pointwise.explorer import nearest


@pytest.fixture
def engine():
    engine = start_engine()
    yield engine
    engine.close()


@pytest.mark.parametrize("rows", [1, 2, 3, 1_000])
def test_ids_in_many_rows_count_once(engine, monkeypatch, rows):
    monkeypatch.setattr(nearest, "_ROWS", rows)
    ids = [f"id-{n}" for n in range(10) for _ in range(n + 1)]
    frame = from_rows(pa.table({"item": ids[::-1]}), engine)
    assert nearest.starts_with(frame, "item", "id-", engine, limit=4) == ["id-0", "id-1", "id-2", "id-3"]
    assert nearest.starts_with(frame, "item", "id-9", engine, limit=4) == ["id-9"]
    assert nearest.starts_with(frame, "item", "x", engine, limit=4) == []
    assert nearest.find_nearest(frame, "item", "id-4x", engine) == ["id-2", "id-3", "id-4", "id-5", "id-6", "id-7"]
    assert nearest.find_nearest(frame, "item", "a", engine) == ["id-0", "id-1", "id-2"]


def test_integers_begin_with_their_digits(engine):
    frame = from_rows(pa.table({"item": [-12, -1, 1, 1, 2, 10, 12, 123, 21]}), engine)
    assert nearest.starts_with(frame, "item", "1", engine, limit=9) == [1, 10, 12, 123]
    assert nearest.starts_with(frame, "item", "-1", engine, limit=9) == [-12, -1]
    assert nearest.find_nearest(frame, "item", "11", engine) == [1, 2, 10, 12, 21, 123]
    assert nearest.find_nearest(frame, "item", "eleven", engine) == []
