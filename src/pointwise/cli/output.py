"""Output: results on standard output in the requested format, everything else on standard error."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pointwise.cli.options import Format
from pointwise.cli.streams import put_text, say
from pointwise.text.data import as_csv
from pointwise.text.data import as_json as draw_json

if TYPE_CHECKING:
    from pointwise.answers.tables import MetricTable
    from pointwise.results import Result
    from pointwise.text.drawing import Drawing

__all__ = ["draw", "draw_csv", "draw_cut", "draw_json", "put_result", "put_rows", "put_table", "put_text", "say"]

_ADVICE = "--limit shows more"


def put_table(table: MetricTable, kind: Format, *, limit: int | None = None) -> None:
    """Write a table of metrics; one for people is cut at some rows unless a limit is given."""
    if kind in (Format.table, Format.markdown):
        put_text(draw_cut(table, kind, limit=limit))
    else:
        put_result(table if limit is None else table.head(limit), kind)


def draw_cut(table: MetricTable, kind: Format, *, limit: int | None = None) -> str:
    """Draw a table for people, cut at some rows unless a limit is given, with what they should know."""
    shown = table if limit is None else table.head(limit)
    return draw(shown.drawing(limit, advice=_ADVICE), kind)


def put_result(result: Result, kind: Format, *, whole: Any = None) -> None:
    """Write a result.

    Args:
        result: What to write.
        kind: How.
        whole: What to write as JSON, if that is more than the rows.
    """
    if kind is Format.json:
        put_text(draw_json(result.to_dicts() if whole is None else whole))
    elif kind.is_csv:
        put_text(draw_csv(result.to_dicts(), result.columns, kind))
    else:
        put_text(draw(result.drawing(), kind))


def put_rows(drawing: Drawing, kind: Format) -> None:
    """Write rows that are not a result of the library."""
    if kind is Format.json:
        put_text(draw_json(list(drawing.rows)))
    elif kind.is_csv:
        put_text(draw_csv(drawing.rows, [column.name for column in drawing.columns], kind))
    else:
        put_text(draw(drawing, kind))


def draw(drawing: Drawing, kind: Format) -> str:
    """Draw rows for people."""
    from pointwise.text.markdown import draw_markdown
    from pointwise.text.terminal import draw_table

    return draw_markdown(drawing) if kind is Format.markdown else draw_table(drawing)


def draw_csv(rows: Iterable[Mapping[str, Any]], columns: Sequence[str], kind: Format) -> str:
    """Write rows as CSV, as the format says."""
    return as_csv(rows, columns, is_guarded=kind is Format.guarded_csv)
