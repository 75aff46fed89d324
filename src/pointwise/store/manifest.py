"""Manifests: what a stored folder is, what it says, and which files belong to it.

A folder has one manifest, named after its kind (`run.json`, `comparison.json`, `diff.json`). It lists every file with
its size and checksum, and ends with a checksum of itself, so that no number in it can change unnoticed.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar, Literal, TypeVar, get_type_hints

from pointwise.columns import ACTUAL, IDEAL, ITEM, ITEMS, WEIGHT
from pointwise.core.confusion import Totals
from pointwise.core.coverage import Coverage
from pointwise.engines.files import opened, say_why
from pointwise.errors import NotFoundError, PointwiseError, RunError
from pointwise.inputs.options import CompareOn, DiffOn, Options
from pointwise.store.shapes import ShapeError, read_shape
from pointwise.text.values import listed

FORMAT_VERSION = 2
_FIRST_FORMAT = 1  # of pointwise 0.1, whose manifests have no checksum of their own
_SEAL = "checksum"
_ALWAYS_STORED = ("cells", "items")
_ITEM_COLUMNS = (ITEM, IDEAL, ACTUAL, WEIGHT)


@dataclass(frozen=True)
class StoredFile:
    """A file as it was when it was written."""

    bytes: int
    sha256: str
    rows: int | None = None

    def __post_init__(self) -> None:
        """Refuse facts that no file can have."""
        if self.bytes < 0 or (self.rows or 0) < 0 or not re.fullmatch("[0-9a-f]{64}", self.sha256):
            raise ShapeError("the facts of a file", "its size, rows and checksum")


@dataclass(frozen=True)
class InputFile:
    """A file that an input was read from, as it was then."""

    path: str
    bytes: int
    modified: str


@dataclass(frozen=True)
class StoredInput:
    """A table that was read for a run."""

    name: str
    columns: tuple[str, ...]
    is_typed: bool
    files: tuple[InputFile, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Manifest:
    """What the manifests of all kinds say.

    Args:
        pointwise_version: What wrote the folder.
        created: When, in UTC.
    """

    kind: ClassVar[str]

    pointwise_version: str
    created: str

    def __post_init__(self) -> None:
        """Refuse an invalid time."""
        try:
            dt.datetime.fromisoformat(self.created)
        except ValueError:
            raise ShapeError("created", "a time") from None

    @property
    def files(self) -> Mapping[str, StoredFile]:
        """Every file by its path inside the folder, without the manifest itself."""
        raise NotImplementedError

    @property
    def folders(self) -> Iterable[str]:
        """Names of folders inside that have manifests of their own."""
        return ()


@dataclass(frozen=True, kw_only=True)
class EvidenceManifest(Manifest):
    """What the manifests of items and cells of two clusterings say.

    Args:
        inputs: The tables that were read, by role.
        options: The parameters that say how the inputs were read, with the policies.
        slices: What to slice by: the columns or conditions of each slicing.
        totals: Number and weight of the items that the confusion matrices count.
        overall: The metrics of all items together, with their number and weight.
        slice_columns: Columns of the items to slice by, each with the name it has in the file.
        tables: The files of every table. A table is one file or a folder of parts.
        sampled: What the values are estimated from; empty where they describe the truth itself.
        item_columns: The columns that identify an item together, each with what it holds; empty where one does.
    """

    inputs: dict[str, StoredInput]
    options: Options
    slices: tuple[tuple[str, ...], ...]
    totals: Totals
    overall: dict[str, int | float | None]
    slice_columns: dict[str, str]
    tables: dict[str, dict[str, StoredFile]]
    sampled: str = ""
    item_columns: dict[str, Literal["integer", "text"]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot be read as evidence."""
        super().__post_init__()
        for table in (*_ALWAYS_STORED, *(["design"] if self.is_sampled else [])):
            _require(self.tables.get(table), f"tables.{table}", "there")
        _check_names(self.files)
        _require(all(self.slices), "slices", "lists of columns and conditions")
        names, stored = set(self.slice_columns), list(self.slice_columns.values())
        is_free = not {*names, *stored} & {*_ITEM_COLUMNS} and len(set(stored)) == len(stored)
        _require(is_free, "slice_columns", "different from each other and from the columns of every run")
        _require(min(self.totals.items, self.totals.weight) >= 0, "totals", "above zero")
        for size in (ITEMS, WEIGHT):
            _require(self.overall.get(size) is not None, f"overall.{size}", "a number")
        _require(isinstance(self.overall[ITEMS], int), f"overall.{ITEMS}", "a whole number")

    @property
    def is_sampled(self) -> bool:
        """Whether it is known what each ideal cluster stands for."""
        return self.options.sampling is not None and self.options.sampling.how != "complete"

    @property
    def files(self) -> dict[str, StoredFile]:
        """Every file by its path inside the folder, without the manifest itself."""
        return {name: facts for files in self.tables.values() for name, facts in files.items()}


@dataclass(frozen=True, kw_only=True)
class RunManifest(EvidenceManifest):
    """What `run.json` says.

    Args:
        metrics: Names of the metrics stored.
        coverage: The numbers of `Coverage.to_dict`.
        intervals: The ends of the overall metrics' intervals, of those that have one.
        confidence: How often the intervals should contain the true value.
        shows_intervals: Whether tables show intervals.
    """

    kind: ClassVar[str] = "run"

    metrics: tuple[str, ...]
    coverage: dict[str, int | float | None]
    intervals: dict[str, tuple[float, float]] = field(default_factory=dict)
    confidence: float = 0.95
    shows_intervals: bool = True

    def __post_init__(self) -> None:
        """Refuse what cannot be read as a run."""
        super().__post_init__()
        _check_confidence(self.confidence)
        _check_coverage(self.coverage)
        _require(len(set(self.metrics)) == len(self.metrics), "metrics", "without repeats")
        for metric in self.metrics:
            _require(metric in self.overall, f"overall[{metric!r}]", "there")


@dataclass(frozen=True, kw_only=True)
class DiffManifest(EvidenceManifest):
    """What `diff.json` says.

    Args:
        baseline_items: How many items the baseline has.
        experiment_items: How many items the experiment has.
        common_items: How many items both have.
        on: Whether the diff is about the common items or about all.
        is_singletons: Whether the experiment has every item alone.
    """

    kind: ClassVar[str] = "diff"

    baseline_items: int
    experiment_items: int
    common_items: int
    on: DiffOn
    is_singletons: bool

    def __post_init__(self) -> None:
        """Refuse what cannot be read as a diff."""
        super().__post_init__()
        least = min(self.baseline_items, self.experiment_items)
        _require(0 <= self.common_items <= least, "common_items", "no more than either clustering has")


@dataclass(frozen=True, kw_only=True)
class ComparisonManifest(Manifest):
    """What `comparison.json` says.

    Args:
        variants: The folder of every variant's run, by the name of the variant.
        baseline: The variant that others are measured against, if one was named.
        on: Which items each variant was evaluated on.
        notes: What to know before comparing the numbers.
        confidence: How often the intervals of differences should contain the true value.
        manifests: The manifests of the runs.
    """

    kind: ClassVar[str] = "comparison"

    variants: dict[str, str]
    baseline: str | None
    on: CompareOn
    notes: tuple[str, ...]
    confidence: float
    manifests: dict[str, StoredFile]

    def __post_init__(self) -> None:
        """Refuse what cannot be read as a comparison."""
        super().__post_init__()
        _require(self.variants, "variants", "there")
        _require(len({*self.variants.values()}) == len(self.variants), "variants", "in folders of their own")
        _require(all(len(PurePosixPath(f).parts) == 1 for f in self.variants.values()), "variants", "folders inside")
        _require({*self.files} == {f"{f}/{RUN.file}" for f in self.folders}, "manifests", "those of the variants")
        _check_names(self.files)
        _require(self.baseline is None or self.baseline in self.variants, "baseline", "one of the variants")
        _check_confidence(self.confidence)

    @property
    def files(self) -> dict[str, StoredFile]:
        """The manifests of the runs inside, which list the rest."""
        return self.manifests

    @property
    def folders(self) -> Iterable[str]:
        """The folders of the variants."""
        return self.variants.values()


M = TypeVar("M", bound=Manifest)


@dataclass(frozen=True)
class FolderKind:
    """A kind of stored folder: its name, its manifest, and how to load it."""

    manifest: type[Manifest]
    how_to_load: str

    @property
    def noun(self) -> str:
        """Its name in messages."""
        return self.manifest.kind

    @property
    def file(self) -> str:
        """The name of its manifest."""
        return f"{self.manifest.kind}.json"


RUN = FolderKind(RunManifest, "load(...)")
COMPARISON = FolderKind(ComparisonManifest, "load_comparison(...)")
DIFF = FolderKind(DiffManifest, "load_diff(...)")
KINDS = (COMPARISON, DIFF, RUN)


def _check_confidence(confidence: float) -> None:
    _require(0 < confidence < 1, "confidence", "between 0 and 1")


def _require(holds: object, where: str, needed: str) -> None:
    if not holds:
        raise ShapeError(where, needed)


def _check_names(names: Iterable[str]) -> None:
    """Refuse names of files that are not inside the folder, on any system."""
    for name in names:
        parts = name.split("/")
        is_inside = all(part not in ("", ".", "..") and not set(part) & {"\\", ":", "\0"} for part in parts)
        _require(is_inside and not name.startswith("/"), f"the file name {name!r}", "inside the folder")


def _check_coverage(numbers: Mapping[str, int | float | None]) -> None:
    """Refuse numbers that cannot be a coverage."""
    hints = get_type_hints(Coverage)
    shapes = {f.name: hints[f.name] for f in fields(Coverage) if f.compare} | {"actual_clusters": int}
    for name, shape in shapes.items():
        _require(name in numbers, f"coverage.{name}", "there")
        read_shape(shape, numbers[name], f"coverage.{name}")
    _require(all(number is None or number >= 0 for number in numbers.values()), "coverage", "without negative numbers")
    items = [numbers["ideal_items"] or 0, (numbers["common_items"] or 0) + (numbers["outside_items"] or 0)]
    _require(all(items), "coverage", "that of a run with items")


def now() -> str:
    """Return the time as a manifest gives it."""
    return _time(dt.datetime.now(dt.UTC))


def _time(time: dt.datetime) -> str:
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def describe_input(path: Path) -> InputFile:
    """Record path, size and modification time of an input file."""
    stat = path.stat()
    name = str(path.absolute()).encode(errors="backslashreplace").decode()  # what is not Unicode cannot be JSON
    return InputFile(name, stat.st_size, _time(dt.datetime.fromtimestamp(stat.st_mtime, dt.UTC)))


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest, sealed with a checksum of its content."""
    facts = {"format_version": FORMAT_VERSION, "kind": manifest.kind, **asdict(manifest)}
    if isinstance(manifest, EvidenceManifest):
        del facts["options"]["slices"]  # which are in `slices`, as text
    content = json.loads(json.dumps(facts, default=_plain, allow_nan=False))
    text = json.dumps(content | {_SEAL: seal(content)}, indent=2, ensure_ascii=False)
    (folder / f"{manifest.kind}.json").write_text(text + "\n", encoding="utf-8")


def _plain(value: Any) -> Any:
    """Turn a NumPy number into Python's; anything else is kept as people would write it."""
    return value.item() if hasattr(value, "item") else str(value)


def seal(content: Mapping[str, Any]) -> str:
    """Compute the checksum of a manifest's content, whatever its formatting."""
    said = {name: value for name, value in content.items() if name != _SEAL}
    text = json.dumps(said, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def kind_of(folder: Path) -> FolderKind | None:
    """Tell what kind of stored folder a folder is, by the manifest that it has."""
    return next((kind for kind in KINDS if _is_there(folder / kind.file)), None)


def _is_there(path: Path) -> bool:
    try:
        path.lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def read_manifest(folder: Path, manifest: type[M]) -> M:
    """Read a manifest and make sure that it says what it said when it was written.

    Raises:
        NotFoundError: There is no such folder.
        RunError: It holds nothing of that kind, or it cannot be trusted.
    """
    kind = next(kind for kind in KINDS if kind.manifest is manifest)
    with translated_errors(kind, folder):
        _check_kind(folder, kind)
        with opened(folder / kind.file) as file:
            text = file.read()
        try:
            return _understand(json.loads(text, parse_constant=_refuse_constant), manifest)
        except (ValueError, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise UntrustedError(f"is damaged: {kind.file} is not as it was written ({why}).") from error


class UntrustedError(Exception):
    """What is stored cannot be trusted. The text completes a sentence that begins with its name."""


@contextmanager
def translated_errors(kind: FolderKind, folder: Path) -> Iterator[None]:
    """Say which stored folder cannot be read, and why."""
    try:
        yield
    except PointwiseError:
        raise
    except UntrustedError as error:
        raise RunError(f"The {kind.noun} {str(folder)!r} {error}") from error
    except (OSError, ValueError) as error:
        raise RunError(f"The {kind.noun} {str(folder)!r} cannot be read: {say_why(error)}.") from error


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a number")


def _check_kind(folder: Path, wanted: FolderKind) -> None:
    """Make sure that a folder is there and of the right kind."""
    try:
        folder.stat()
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"There is no stored {wanted.noun} {str(folder)!r}.") from None
    found = kind_of(folder)
    if found is None:
        raise RunError(f"{str(folder)!r} is not a stored {wanted.noun}: it has no {wanted.file}.")
    if found is not wanted:
        raise RunError(
            f"{str(folder)!r} is a stored {found.noun}, not a {wanted.noun}. Look at it with {found.how_to_load}"
            f"{_runs_inside(folder)}."
        )


_LONGEST_PATH = 1_000  # a shortened one could not be copied


def _runs_inside(folder: Path) -> str:
    runs = sorted(str(path.parent) for path in folder.glob(f"*/{RUN.file}"))
    return f", or at one of the runs inside: {listed(runs, longest=_LONGEST_PATH)}" if runs else ""


def _understand(content: Any, manifest: type[M]) -> M:
    version = content.get("format_version") if isinstance(content, dict) else None
    if isinstance(version, bool) or not isinstance(version, int):
        raise ShapeError("format_version", "a whole number")
    if version == _FIRST_FORMAT:
        raise UntrustedError(
            "was stored by pointwise 0.1 in a format without a checksum of its numbers, which this pointwise does not "
            "read. Evaluate again and store the result."
        )
    if version > FORMAT_VERSION:
        raise UntrustedError(
            f"was stored by pointwise {content.get('pointwise_version')!s:.20} in format {version}; this pointwise "
            f"reads format {FORMAT_VERSION}. Install a newer one."
        )
    if version != FORMAT_VERSION or content.get("kind") != manifest.kind:
        raise ShapeError("format_version and kind", f"{FORMAT_VERSION} and {manifest.kind!r}")
    if content.get(_SEAL) != seal(content):
        raise UntrustedError("is damaged: its manifest was changed, its checksum differs.")
    read: M = read_shape(manifest, content)
    return read
