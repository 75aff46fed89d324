"""Addresses: how names and ids of any kind become parts of a URL, and back.

A part is percent-encoded as a whole, dots included, so that an id may hold slashes, may be `..`, and may end in `.csv`
without being taken for a format. Servers and browsers pass such parts on unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote, unquote, urlencode

from pointwise.errors import UsageError

PageFormat = Literal["html", "json", "csv"]

_GUARDED = "~"  # before a part that browsers would take for a step up, or that itself begins with it
_FORMATS: tuple[PageFormat, ...] = ("json", "csv")


def encode(part: Any) -> str:
    """Write a name or an id as one part of a path."""
    text = str(part)
    guarded = _GUARDED + text if text in ("", ".", "..") or text.startswith(_GUARDED) else text
    return quote(guarded, safe=_GUARDED).replace(".", "%2E")


def decode(part: str) -> str:
    """Read a part of a path.

    Raises:
        UsageError: It is not UTF-8.
    """
    try:
        return unquote(part, errors="strict").removeprefix(_GUARDED)
    except UnicodeDecodeError:
        raise UsageError("This address is not written in UTF-8.") from None


def link(*parts: Any, **query: Any) -> str:
    """Write the address of a page; a query that is None or empty is left out."""
    return with_query("/" + "/".join(map(encode, parts)), write_query(query))


def write_query(query: Mapping[str, Any]) -> str:
    """Write parameters of a page; one that is None or empty is left out."""
    return urlencode({name: str(value) for name, value in query.items() if value not in (None, "")})


def with_query(path: str, query: str) -> str:
    """Write a path with the parameters behind it, if there are any."""
    return f"{path}?{query}" if query else path


@dataclass(frozen=True)
class Requested:
    """What an address requests: the parts of its path, and the format."""

    parts: tuple[str, ...]
    format: PageFormat


def read_path(raw: bytes) -> Requested:
    """Read the path of a request as it was sent."""
    *before, last = raw.decode("ascii", errors="replace").removeprefix("/").split("/")
    chosen: PageFormat = "html"
    for known in _FORMATS:
        if last.endswith(f".{known}"):
            last, chosen = last.removesuffix(f".{known}"), known
            break
    parts = [*before, last] if before or last else []
    return Requested(tuple(map(decode, parts)), chosen)


def with_format(path: str, query: str, chosen: PageFormat) -> str:
    """Write the address of the same page in another format."""
    return with_query(f"{path}.{chosen}", query)


def write_key(key: list[Any]) -> str:
    """Write where a page of a long list begins."""
    return json.dumps(key, ensure_ascii=False, separators=(",", ":"))


def read_key(text: str, length: int) -> list[Any]:
    """Read where a page of a long list begins.

    Raises:
        UsageError: It was not written by `write_key`.
    """
    try:
        key = json.loads(text)
    except (ValueError, RecursionError):
        key = None
    if not isinstance(key, list) or len(key) != length or any(isinstance(v, (list, dict)) for v in key):
        raise UsageError("The address does not say where the list goes on. Begin at its first page.")
    return key
