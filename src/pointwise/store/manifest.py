"""The manifest of a stored run: what was evaluated, how, with which result, and which files belong to it."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from pointwise.errors import NotFoundError, RunError

MANIFEST = "run.json"
COMPARISON = "comparison.json"  # the same for a stored comparison, whose variants are runs in folders inside
FORMAT_VERSION = 1


@dataclass(frozen=True)
class StoredFile:
    """A Parquet file of a run, as it was when it was written."""

    bytes: int
    rows: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What `run.json` says.

    Args:
        format_version: Of the folder's layout. A pointwise that knows only older ones does not read it.
        pointwise_version: What wrote the run.
        created: When, in UTC.
        inputs: The tables that were read, by role: name, columns, and path, size and modification time of files.
        options: The parameters that say how the inputs were read, with the policies.
        metrics: Names of the metrics stored.
        totals: Number and weight of the items that the confusion matrices count.
        coverage: The numbers of `Coverage.to_dict`.
        overall: The numbers of `Overall.to_dict`.
        slice_columns: Columns of the items to slice by, each with the name it has in the file.
        sampled: What the values are estimates of and from; empty where they are those of the truth itself.
        tables: Every file by its path inside the folder, by table. A table is one file or a folder of parts.
    """

    format_version: int
    pointwise_version: str
    created: str
    inputs: dict[str, Any]
    options: dict[str, Any]
    metrics: list[str]
    totals: dict[str, float]
    coverage: dict[str, Any]
    overall: dict[str, Any]
    slice_columns: dict[str, str]
    sampled: str = ""
    tables: dict[str, dict[str, StoredFile]] = field(default_factory=dict)


def now() -> str:
    """Return the time as a manifest gives it."""
    return _time(dt.datetime.now(dt.UTC))


def _time(time: dt.datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_files(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Note path, size and modification time of input files."""
    described = []
    for path in paths:
        stat = path.stat()
        modified = _time(dt.datetime.fromtimestamp(stat.st_mtime, dt.UTC))
        described.append({"path": str(path.absolute()), "bytes": stat.st_size, "modified": modified})
    return described


def describe_table(folder: Path, name: str) -> dict[str, StoredFile]:
    """Note size, rows and checksum of the files that a table was written to."""
    path = folder / f"{name}.parquet"
    parts = sorted(p for p in path.rglob("*.parquet") if p.is_file()) if path.is_dir() else [path]
    return {str(part.relative_to(folder).as_posix()): _describe(part) for part in parts}


def _describe(path: Path) -> StoredFile:
    return StoredFile(path.stat().st_size, _count_rows(path), _checksum(path))


def _count_rows(path: Path) -> int:
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def _checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write `run.json`."""
    text = json.dumps(asdict(manifest), indent=2, ensure_ascii=False, default=_plain, allow_nan=False)
    (folder / MANIFEST).write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Turn a NumPy number into Python's; anything else is kept as people would write it."""
    return value.item() if hasattr(value, "item") else str(value)


def is_stored(path: str | os.PathLike[str]) -> bool:
    """Tell whether a path is the folder of a stored run or a stored comparison."""
    return any((Path(path) / name).is_file() for name in (MANIFEST, COMPARISON))


def read_manifest(folder: Path) -> Manifest:
    """Read `run.json`.

    Raises:
        NotFoundError: There is no such folder.
        RunError: It holds no run, or one that cannot be read.
    """
    if not folder.exists():
        raise NotFoundError(f"There is no stored run {str(folder)!r}.")
    if (folder / COMPARISON).is_file():
        inside = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
        runs = ", ".join(repr(str(run)) for run in inside)
        raise RunError(
            f"{str(folder)!r} is a stored comparison, not a run. Look at it with load_comparison(...), or at one of "
            f"the runs inside: {runs}."
        )
    if not (folder / MANIFEST).is_file():
        raise RunError(f"{str(folder)!r} is not a stored run: it has no {MANIFEST}.")
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise RunError(f"The run {str(folder)!r} is damaged: its {MANIFEST} cannot be read ({error}).") from error
    return _understand(content, folder)


def _understand(content: Any, folder: Path) -> Manifest:
    version = content.get("format_version") if isinstance(content, Mapping) else None
    if not isinstance(version, int):
        raise RunError(f"{str(folder)!r} is not a stored run: its {MANIFEST} gives no format version.")
    if version > FORMAT_VERSION:
        raise RunError(
            f"The run {str(folder)!r} was stored by pointwise {content.get('pointwise_version')} in format {version}; "
            f"this pointwise reads formats up to {FORMAT_VERSION}. Install a newer one."
        )
    try:
        known = {f.name: content[f.name] for f in fields(Manifest) if f.name in content or f.default is MISSING}
        tables = {
            name: {path: StoredFile(**facts) for path, facts in files.items()}
            for name, files in known["tables"].items()
        }
    except (AttributeError, KeyError, TypeError) as error:
        raise RunError(f"The run {str(folder)!r} is damaged: its {MANIFEST} lacks a part ({error}).") from error
    return Manifest(**known | {"tables": tables})


def check_files(folder: Path, manifest: Manifest, *, verify: bool) -> None:
    """Make sure that every file of a run is there and as it was written.

    Args:
        folder: The run.
        manifest: What it should hold.
        verify: Whether to read all files and compare their checksums, or only to look at their sizes.
    """
    for files in manifest.tables.values():
        for name, facts in files.items():
            problem = _problem(folder / name, facts, verify=verify)
            if problem:
                raise RunError(f"The run {str(folder)!r} is damaged: {name} {problem}.")


def _problem(path: Path, facts: StoredFile, *, verify: bool) -> str:
    try:
        if not path.is_file():
            return "is missing"
        if path.stat().st_size != facts.bytes:
            return f"has {path.stat().st_size:,} bytes instead of {facts.bytes:,}"
        if verify and _checksum(path) != facts.sha256:
            return "was changed: its checksum differs"
    except OSError as error:
        return f"cannot be read ({error})"
    return ""
