"""Held items: joined at their first use, from files that have not changed since."""

from __future__ import annotations

import pytest

import pointwise as pw
from pointwise.core.held import Held
from pointwise.errors import SourceError


@pytest.fixture
def files(tmp_path):
    for name, clusters in (("ideal", "112"), ("actual", "122")):
        rows = "".join(f"{item},{cluster}\n" for item, cluster in zip("abc", clusters, strict=True))
        (tmp_path / f"{name}.csv").write_text("item,cluster\n" + rows, encoding="utf-8")
    return {"ideal": tmp_path / "ideal.csv", "actual": tmp_path / "actual.csv"}


def test_what_cells_answer_holds_no_items(files):
    evaluation = pw.evaluate(**files)
    assert (evaluation.overall.items, evaluation.coverage.common_items) == (3, 3)
    assert len(evaluation.by_ideal_cluster()) == 2
    assert isinstance(evaluation.evidence.found, Held)
    assert "frame" not in vars(evaluation.evidence.found)
    assert len(evaluation.by_item()) == 3
    assert "frame" in vars(evaluation.evidence.found)


@pytest.mark.parametrize("change", ["write", "remove"])
def test_files_that_changed_in_between_are_refused(files, change):
    evaluation = pw.evaluate(**files)
    assert evaluation.overall.items == 3
    if change == "write":
        files["actual"].write_text("item,cluster\na,1\nb,1\nc,1\nd,1\n", encoding="utf-8")
    else:
        files["actual"].unlink()
    for ask in (lambda: evaluation.by_item().to_dicts(), lambda: evaluation.coverage):
        with pytest.raises(SourceError, match=r"'.*actual.csv' was changed after"):
            ask()


def test_items_that_were_asked_for_in_advance_stay(files):
    evaluation = pw.evaluate(**files, keep_items=True)
    files["actual"].unlink()
    assert len(evaluation.by_item()) == 3


def test_items_that_were_held_stay(files, tmp_path):
    evaluation = pw.evaluate(**files)
    assert evaluation.coverage.common_items == 3
    assert len(evaluation.by_item()) == 3
    files["ideal"].unlink()
    assert pw.load(evaluation.save(tmp_path / "run")).overall.items == 3
