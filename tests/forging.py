"""Forge manifests: change what they say, with or without the checksum that makes them believable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read(folder: Path, name: str = "run.json") -> dict[str, Any]:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def write(folder: Path, content: Any, name: str = "run.json", *, sealed: bool = True) -> None:
    """Write a manifest; a sealed one has the checksum that pointwise would have given it."""
    if sealed:
        said = {key: value for key, value in content.items() if key != "checksum"}
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        content = said | {"checksum": hashlib.sha256(text.encode()).hexdigest()}
    (folder / name).write_text(json.dumps(content), encoding="utf-8")


def edit(
    folder: Path, change: Callable[[dict[str, Any]], object], name: str = "run.json", *, sealed: bool = True
) -> None:
    content = read(folder, name)
    change(content)
    write(folder, content, name, sealed=sealed)


def places(content: Any, path: tuple = ()) -> list[tuple]:
    """List the way to every value inside of a value from JSON."""
    found = [path] if path else []
    inside = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    for key, part in inside:
        found += places(part, (*path, key))
    return found


def put(content: Any, path: tuple, value: Any) -> None:
    for key in path[:-1]:
        content = content[key]
    content[path[-1]] = value


def drop(content: Any, path: tuple) -> None:
    for key in path[:-1]:
        content = content[key]
    del content[path[-1]]
