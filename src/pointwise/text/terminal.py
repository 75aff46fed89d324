"""Terminal: rows as a table, and lines of prose, as wide as the terminal is."""

from __future__ import annotations

import io
import re
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pointwise.columns import Column
from pointwise.text.drawing import Drawing
from pointwise.text.escaping import escape_controls
from pointwise.text.values import DIFFERS, NOTHING, format_bare, format_ends

_GAP = 3  # between two columns
_INTERVAL = re.compile(r"\S+ to \S+")
_LEAST_SPARE = 2  # spare columns that are shown in any case
_LONG_WORD = 40  # a longer one is broken where the terminal is narrow
_ROOMY = 20  # characters of a line in a column of texts that were cut, if leaving out other columns makes the room


def draw_table(drawing: Drawing) -> str:
    """Draw rows as text for a terminal.

    Intervals stand beside their values, or below them where that is too wide. Where the terminal is too narrow even for
    that, less important columns are left out, with a note; if that is not enough, every row becomes a list.
    """
    from rich.console import Console

    buffer, width = io.StringIO(), terminal_width()
    # Inside a notebook, rich would display the table instead of writing it; with FORCE_COLOR it would write styles.
    console = Console(
        file=buffer, width=width, highlight=False, markup=False, emoji=False, force_jupyter=False, force_terminal=False
    )
    if drawing.title:
        console.print(escape_controls(drawing.title))
    table, left_out = _fit(drawing, width)
    if table is not None:
        console.print(_as_grid(table, width))
    records = [] if table is not None else _lay_out_all(drawing, drawing.shown, " ")
    for number in range(len(drawing.rows) if records else 0):
        console.print("", _as_record(records, number), sep="\n")
    if drawing.note:
        console.print(*([""] if table is None else []), drawing.note, sep="\n")
    if left_out:
        console.print(f"Left out to fit the width: {', '.join(left_out)}")
    lines = buffer.getvalue().rstrip().split("\n")
    return "\n".join(escape_controls(line.rstrip()) for line in lines)


@dataclass(frozen=True)
class _LaidOut:
    """A column to draw: its texts and how much room they take.

    Args:
        name: Its head.
        cells: Its texts, of one line or two.
        is_number: Whether they are aligned right.
        least: The width in which nothing breaks inside a word.
        whole: The width in which nothing breaks at all.
    """

    name: str
    cells: list[str]
    is_number: bool
    least: int
    whole: int


def _fit(drawing: Drawing, width: int) -> tuple[list[_LaidOut] | None, list[str]]:
    """Lay a table out in a width, leaving out what matters least; nothing if even the rest is too wide.

    Returns:
        The columns, and the names of those that are left out and were not spare.
    """
    for room in (_ROOMY, 0):
        columns = _without_spare(drawing, width)
        left_out: list[str] = []
        for column in (None, *drawing.dispensable):
            if column is not None:
                columns = [kept for kept in columns if kept is not column]
                left_out.append(escape_controls(column.name))
            for separator in (" ", "\n"):  # intervals stand beside their values, or below them
                table = _lay_out_all(drawing, columns, separator, room)
                if sum(c.least + _GAP for c in table) <= width + 1:
                    return table, left_out
    return None, []


def _without_spare(drawing: Drawing, width: int) -> list[Column]:
    """Leave out spare columns until no line breaks: those first in which nothing differs, from the right."""
    columns = drawing.shown
    laid_out = {column.name: _lay_out(drawing, column, " ") for column in columns}
    whole = {name: column.whole for name, column in laid_out.items()}
    spare = [column for column in reversed(columns) if column.is_spare]
    spare.sort(key=lambda column: any(text.endswith(DIFFERS) for text in laid_out[column.name].cells))
    for column in spare[:-_LEAST_SPARE]:
        if sum(whole[kept.name] + _GAP for kept in columns) > width + 1:
            columns = [kept for kept in columns if kept is not column]
    return columns


def _lay_out_all(drawing: Drawing, columns: Sequence[Column], separator: str, room: int = 0) -> list[_LaidOut]:
    return [_lay_out(drawing, column, separator, room) for column in columns]


def _lay_out(drawing: Drawing, column: Column, separator: str, room: int = 0) -> _LaidOut:
    from rich.cells import cell_len

    name, is_number = escape_controls(column.name), drawing.holds_numbers(column)
    cells = _write(drawing, column, separator)
    lines = max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)
    words = max((cell_len(word) for cell in cells for word in _words(cell)), default=0)
    head = max((cell_len(part) for part in _parts(name)), default=0)
    least = max(lines, head) if is_number else min(max(words, head), _LONG_WORD)
    if column.longest is not None:
        least = max(least, min(lines, room))
    return _LaidOut(name, cells, is_number, least, max(lines, cell_len(name)))


def _write(drawing: Drawing, column: Column, separator: str) -> list[str]:
    """Write the values of a column; if some of them have an interval, with it."""
    values = [escape_controls(format_bare(column, row)) for row in drawing.rows]
    intervals = [format_ends(column, row) for row in drawing.rows]
    room = max(map(len, intervals), default=0)
    if not room:
        return values
    return [f"{value}{separator}{ends or NOTHING:>{room}}" for value, ends in zip(values, intervals, strict=True)]


def _words(text: str) -> list[str]:
    """Split a text where it may break: at spaces, but not inside an interval."""
    return [text] if _INTERVAL.fullmatch(text) else text.split()


def _parts(name: str) -> list[str]:
    """Split a name where it may break: at spaces and after underscores."""
    return re.findall(r"[^_\s]*_+|[^_\s]+", name)


def _as_grid(columns: Sequence[_LaidOut], width: int) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column, room in zip(columns, _share_out(columns, width), strict=True):
        head = column.name if len(column.name) <= room else column.name.replace("_", "_\n")
        justify: Any = "right" if column.is_number else "left"
        table.add_column(Text(head), justify=justify, width=room, overflow="fold")
    for texts in zip(*(column.cells for column in columns), strict=True):
        table.add_row(*(Text(text) for text in texts))
    return table


def _share_out(columns: Sequence[_LaidOut], width: int) -> list[int]:
    """Give every column its whole width, or else numbers the least, text what is left, and heads what is left then."""
    room = width + 1 - _GAP * len(columns)
    if sum(column.whole for column in columns) <= room:
        return [column.whole for column in columns]
    widths = [column.least for column in columns]
    texts = sorted((c.whole, n) for n, c in enumerate(columns) if not c.is_number)
    for left, (whole, n) in zip(range(len(texts), 0, -1), texts, strict=True):
        spare = room - sum(widths)
        widths[n] = min(whole, widths[n] + spare // left)
    heads = sorted((c.whole - c.least, n) for n, c in enumerate(columns) if c.is_number)
    for more, n in heads:
        widths[n] += more if more <= room - sum(widths) else 0
    return widths


def _as_record(columns: Sequence[_LaidOut], number: int) -> Any:
    from rich.table import Table
    from rich.text import Text

    record = Table.grid(padding=(0, 2))
    record.add_column(no_wrap=True)
    record.add_column(overflow="fold")
    for column in columns:
        record.add_row(Text(column.name), Text(column.cells[number].strip()))
    return record


def wrap(text: str) -> str:
    """Break a line of prose at spaces, so that it fits the terminal."""
    return textwrap.fill(text, terminal_width(), break_long_words=False, break_on_hyphens=False)


def terminal_width() -> int:
    """Return the width of the terminal, or that of a documentation page when not writing to one."""
    return max(20, shutil.get_terminal_size(fallback=(120, 24)).columns)
