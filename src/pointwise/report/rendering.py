"""Rendering: data and templates to one HTML file that loads nothing and runs nothing but its own script."""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from pointwise.engines.files import as_path, whole_file
from pointwise.errors import UsageError
from pointwise.pages.rendering import make_environment, read_asset
from pointwise.version import __version__


def render(template: str, page: Any) -> str:
    """Fill a template. Every value is escaped."""
    environment = make_environment("pointwise.report")
    style, script = read_asset(environment, "style.css"), read_asset(environment, "behaviour.js")
    return environment.get_template(template).render(
        page=page,
        style=style,
        script=script,
        policy=_policy(style, script),
        written=dt.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        version=__version__,
    )


def _policy(style: str, script: str) -> str:
    """Write a content security policy that allows only this style and this script."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "style-src-attr 'unsafe-inline'; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


_ENDINGS = (".html", ".htm")


def write_page(path: str | os.PathLike[str], draw: Callable[[], str], *, inputs: Collection[Path]) -> Path:
    """Draw a page and write it, after making sure that it can be written; the file appears when it is complete.

    Args:
        path: The file to write.
        draw: Draws the page.
        inputs: Files that the page was made from.

    Raises:
        UsageError: The name is not that of a page, or is that of an input.
    """
    if as_path(path).suffix.lower() not in _ENDINGS:
        raise UsageError(f"A report is a page: the name {str(path)!r} must end in .html.")
    with whole_file(path, inputs=inputs) as unfinished:
        unfinished.write_text(draw(), encoding="utf-8")
    return Path(path)
