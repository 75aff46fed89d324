"""Unassigned items: what a policy makes of items that a clustering gives no cluster."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw

from pointwise.columns import CLUSTER, ITEM, NO_CLUSTER
from pointwise.engines.base import Engine
from pointwise.engines.queries import count, count_each, examples
from pointwise.errors import InputError, MissingValueError, UsageError
from pointwise.inputs.layouts import NOISE
from pointwise.inputs.options import UnassignedPolicy
from pointwise.inputs.tables import Table
from pointwise.text.values import format_count, short

ALONE = "<alone> "  # followed by an item: the id of a cluster that exists only for this item
MISSING_ITEM = "<missing> "  # likewise, for an item that the clustering lacks
UNASSIGNED_CLUSTER = "<unassigned>"

CHOOSE_POLICY = (
    "Say what to do with them: unassigned='singleton' (each alone), unassigned='one-cluster' or unassigned='drop'."
)
FILL_IN = "Give each of them a cluster, or drop these rows."


def assign(table: Table, policy: UnassignedPolicy) -> tuple[Table, nw.LazyFrame | None]:
    """Apply a policy to the items without a cluster.

    Returns:
        The clustering, and a frame of offending rows, which must be empty before the clustering is used.
    """
    schema = table.frame.collect_schema()
    is_text = isinstance(schema[CLUSTER], nw.String)
    unassigned = _is_unassigned(policy.labels, is_text=is_text)
    frame = table.frame
    if policy.policy == "error":
        is_known = not policy.labels and table.known_rows(table.cluster_columns) is not None
        return table, None if is_known else frame.filter(unassigned)
    if policy.policy == "drop":
        return table.with_frame(frame.filter(~unassigned)), None
    if policy.policy == "one-cluster":
        substitute: nw.Expr = nw.lit(UNASSIGNED_CLUSTER)
    else:
        substitute = nw.concat_str([nw.lit(ALONE), nw.col(ITEM).cast(nw.String)])
    cluster = nw.when(unassigned).then(substitute).otherwise(nw.col(CLUSTER).cast(nw.String))
    return table.with_frame(frame.with_columns(cluster.alias(CLUSTER))), reserved_ids(table)


def reserved_ids(table: Table) -> nw.LazyFrame | None:
    """Find clusters whose ids look like those that a policy makes up; None if there can be none."""
    if not isinstance(table.frame.collect_schema()[CLUSTER], nw.String):
        return None
    cluster = nw.col(CLUSTER)
    is_made_up = cluster == UNASSIGNED_CLUSTER
    for beginning in (ALONE, MISSING_ITEM, NO_CLUSTER):
        is_made_up = is_made_up | cluster.str.starts_with(beginning)
    return table.frame.filter(is_made_up)


def _is_unassigned(labels: Sequence[Any], *, is_text: bool) -> nw.Expr:
    matches = nw.col(CLUSTER).is_null()
    for label in labels:
        if label is not None:
            # `matches` is never null, because a null cluster makes its first part true.
            matches = matches | (nw.col(CLUSTER) == (str(label) if is_text else _as_integer(label)))
    return matches


def _as_integer(label: Any) -> int:
    """Read a label as an integer; text stands for one only if it is written as integers are: "-1", but not "00"."""
    is_plain = isinstance(label, str) and re.fullmatch(r"0|-?[1-9]\d*", label) is not None
    if not is_plain and (isinstance(label, bool) or not isinstance(label, int)):
        raise UsageError(f"The unassigned label {short(label)} is not an integer, but the clusters' ids are.")
    number = int(label)
    if not -(2**63) <= number < 2**63:
        raise UsageError(f"The unassigned label {short(label)} is beyond the integers that tables hold.")
    return number


def check_unnamed_labels(table: Table, policy: UnassignedPolicy, engine: Engine) -> None:
    """Refuse a policy for items without a cluster that would leave the label -1 an ordinary cluster.

    So does one for an array of labels: density clustering gives -1 to noise, which is not a cluster.

    Raises:
        UsageError: There are such items, and the user did not say which labels stand for no cluster.
    """
    if policy.labels or (policy.policy == "error" and table.source.labels is None):
        return
    is_text = isinstance(table.frame.collect_schema()[CLUSTER], nw.String)
    found = count(table.frame.filter(nw.col(CLUSTER) == (str(NOISE) if is_text else NOISE)), engine)
    if found and policy.policy == "error":
        have = f"{format_count(found, 'item')} {'has' if found == 1 else 'have'}"
        raise UsageError(
            f"{have} the label {NOISE} in the {table.role} ({table.source.name}), which often stands for no cluster. "
            f"If it does, say unassigned_labels={NOISE} with unassigned='singleton' (each alone), "
            "unassigned='one-cluster' or unassigned='drop'. If it is a cluster, say unassigned_labels=[None]."
        )
    if found:
        raise UsageError(
            f"unassigned={policy.policy!r} is for items without a cluster, and the {table.role} "
            f"({table.source.name}) has {format_count(found, 'item')} in the cluster {NOISE}, which often stands for "
            f"none. If it does, say unassigned_labels={NOISE}; if it is a cluster, unassigned_labels=[None]."
        )


def check_unassigned(
    table: Table, offending: nw.LazyFrame | None, engine: Engine, *, policy: str, advice: str = CHOOSE_POLICY
) -> None:
    """Refuse items without a cluster, or cluster ids that a policy needs for itself."""
    asked = [] if offending is None else [(table, offending, policy)]
    refuse_unassigned(asked, count_each([frame for _, frame, _ in asked], engine), engine, advice=advice)


def refuse_unassigned(
    tables: Sequence[tuple[Table, nw.LazyFrame, str]],
    found: Sequence[int],
    engine: Engine,
    *,
    advice: str = CHOOSE_POLICY,
) -> None:
    """Do the same for several tables with their offending rows and policies, where these rows were counted."""
    for (table, offending, policy), number in zip(tables, found, strict=True):
        if number:
            raise _refusal(table, offending, number, engine, policy=policy, advice=advice)


def _refusal(
    table: Table, offending: nw.LazyFrame, found: int, engine: Engine, *, policy: str, advice: str
) -> InputError:
    where = f"the {table.role} ({table.source.name})"
    rows = format_count(found, "row")
    if policy == "error":
        return MissingValueError(f"{rows} without a cluster in {where}, e.g. {examples(offending, engine)}. {advice}")
    return InputError(
        f"{rows} in {where} with a cluster id that the chosen policy makes up itself, e.g. "
        f"{examples(offending, engine, CLUSTER)}. Rename these clusters."
    )
