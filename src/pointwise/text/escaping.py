"""Escaping: data that would steer a terminal, made visible instead."""

from __future__ import annotations

import unicodedata

_CONTROLS = ("Cc", "Cs", "Zl", "Zp")  # control characters, surrogates, line separators
_DIRECTIONS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"  # these reverse the text beside them


def escape_controls(text: str, *, keep: str = "") -> str:
    r"""Escape characters that would act rather than show, the way Python does: `\x1b`.

    Args:
        text: What may come from data.
        keep: Characters to leave as they are.

    Examples:
        >>> escape_controls("red: \x1b[31m")
        'red: \\x1b[31m'
    """
    if text.isprintable():
        return text
    return "".join(repr(c)[1:-1] if c not in keep and _steers(c) else c for c in text)


def _steers(character: str) -> bool:
    return character in _DIRECTIONS or unicodedata.category(character) in _CONTROLS
