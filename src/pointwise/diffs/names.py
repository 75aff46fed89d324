"""Names: what columns are called where a baseline and an experiment take the paper's two roles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pointwise.answers.tables import MetricTable
from pointwise.columns import ACTUAL, FN, FP, IDEAL, TP

BASELINE_CLUSTER = "baseline_cluster"
EXPERIMENT_CLUSTER = "experiment_cluster"
STABLE, SPLIT_OFF, MERGED_IN = "stable_weight", "split_weight", "merge_weight"

NAMES = {IDEAL: BASELINE_CLUSTER, ACTUAL: EXPERIMENT_CLUSTER, TP: STABLE, FN: SPLIT_OFF, FP: MERGED_IN}
"""What the columns of an evaluation are called in a diff."""

_TITLES = {"Ideal clusters": "Baseline clusters", "Actual clusters": "Experiment clusters"}


def in_words_of_diff(table: MetricTable, *, drop: Sequence[str] = ()) -> MetricTable:
    """Rename what a table of an evaluation calls ideal and actual."""
    kept = [column for column in table.described if column.name not in drop]
    renamed = {column.name: NAMES[column.name] for column in kept if column.name in NAMES and not column.is_given}
    described = tuple(replace(c, name=c.name if c.is_given else renamed.get(c.name, c.name)) for c in kept)
    frame = table.frame.drop(*drop).rename(renamed)
    order = tuple((renamed.get(name, name), down) for name, down in table.order)
    title = _TITLES.get(table.title, table.title)
    return replace(table, title=title, frame=frame, described=described, order=order)
