"""Formulas: cells of CSV that a spreadsheet would compute rather than show, and how to guard them.

Ids and attributes come from anywhere, and one that begins with `=` may fetch an address when the file is opened. An
apostrophe in front makes a spreadsheet take the cell for text. It changes the data, so it is done only on request.
"""

from __future__ import annotations

import re
from typing import Any

BEGINS = r"^[=+\-@\t\r\n]"
"""What such a cell begins with, as a pattern that all engines read alike."""

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""What begins like a formula but is not one."""

GUARD = "'"


def guard(value: Any) -> Any:
    """Put an apostrophe in front of text that a spreadsheet would take for a formula.

    Examples:
        >>> guard("=1+1"), guard("-0.5"), guard(-0.5)
        ("'=1+1", '-0.5', -0.5)
    """
    is_formula = isinstance(value, str) and re.match(BEGINS, value) and not re.match(NUMBER, value)
    return GUARD + value if is_formula else value
