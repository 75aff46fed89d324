"""The site: one explored folder, and a visit to one of its pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

from pointwise.comparison.comparison import Comparison, load_comparison
from pointwise.diffs.diff import Diff, load_diff
from pointwise.engines import start_engine
from pointwise.errors import EngineError, IdTypeError, NoCommonItemsError, NotFoundError, PointwiseError
from pointwise.evaluation import Evaluation, load
from pointwise.explorer.jobs import COMPUTING, Job
from pointwise.explorer.kept import KeptRuns
from pointwise.explorer.shelf import Shelf, StoredFolder
from pointwise.explorer.sidecars import Sorted, prepare
from pointwise.explorer.sittings import Sittings
from pointwise.progress import phase
from pointwise.store.contents import steadily
from pointwise.store.manifest import COMPARISON, DIFF, RUN, FolderKind

Known = TypeVar("Known", Evaluation, Diff)
Link = tuple[str, str]
"""What a link says, and where it leads."""


@dataclass(frozen=True)
class Site:
    """What a server shows.

    Args:
        top: The folder that is explored.
        attributes: Files with what is known about items, of any kind that `evaluate` reads, if they were given. Each
            page reads what it needs of them, which is quick for Parquet.

    Raises:
        NotFoundError: There is no such folder.
    """

    top: Path
    attributes: str | None = None

    def __post_init__(self) -> None:
        """Refuse a folder that is not there."""
        if not self.top.is_dir():
            raise NotFoundError(f"There is no folder {str(self.top)!r}.")

    @cached_property
    def shelf(self) -> Shelf:
        """What is stored below the folder."""
        return Shelf(self.top)

    @cached_property
    def verified(self) -> set[Any]:
        """Versions of what is stored whose items the attributes are known to be about."""
        return set()

    @cached_property
    def unrelated(self) -> dict[Any, str]:
        """Versions of what is stored that the attributes are not about, with the reason."""
        return {}

    @cached_property
    def kept(self) -> KeptRuns:
        """The runs that are loaded already."""
        return KeptRuns()

    @cached_property
    def sittings(self) -> Sittings:
        """The judges who are answering."""
        return Sittings()


@dataclass(frozen=True)
class Page:
    """A page: what its template draws, and the same for programs.

    Args:
        title: What it is about.
        template: The template.
        content: What the template draws.
        trail: The pages above it, with their addresses.
        columns: The columns of its main table.
        rows: The rows of its main table, as CSV has them.
        facts: What JSON says beside the rows.
        status: Of the answer.
        run: The run that searches are about.
        download: A whole file to return instead of the page.
        notes: What to know when reading the page.
    """

    title: str
    template: str
    content: Mapping[str, Any]
    trail: Sequence[tuple[str, str]] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    run: str = ""
    download: str = ""
    notes: Sequence[str] = ()


class MissingPageError(PointwiseError):
    """There is no such page, or nothing to show on it.

    Args:
        message: What is missing.
        details: Why, more exactly.
        advice: What to do, or what there is instead.
        links: Where to go instead.
        nearest: Ids that look like one that does not exist, with their addresses.
    """

    def __init__(
        self,
        message: str,
        *,
        details: str = "",
        advice: str = "",
        links: Sequence[Link] = (),
        nearest: Sequence[Link] = (),
    ) -> None:
        super().__init__(message)
        self.details, self.advice, self.links, self.nearest = details, advice, tuple(links), tuple(nearest)


@dataclass(frozen=True)
class Visit:
    """A request for one page, while it is answered.

    Args:
        site: What is shown.
        parts: The names and ids in the address.
        query: What follows its question mark: all that the page reads.
        job: The work, which says whether it was cancelled.
    """

    site: Site
    parts: tuple[str, ...]
    query: Mapping[str, str]
    job: Job
    opened: ExitStack = field(default_factory=ExitStack)
    notes: dict[str, str] = field(default_factory=dict)  # what to know about what was opened, by its name

    def __getitem__(self, name: str) -> str:
        """Return a parameter of the address; empty if it is not there."""
        return self.query[name]

    def stored(self, kind: FolderKind, name: str | None = None) -> StoredFolder:
        """Find what the address names first."""
        return self.site.shelf.find(kind, self.parts[0] if name is None else name)

    def evaluation(self, name: str | None = None) -> Evaluation:
        """Open a run, with the attributes that were given for all."""
        return self.sorted_run(name).evaluation

    def sorted_run(self, name: str | None = None) -> Sorted:
        """Open a run, by default that which the address names, or take one that an earlier visit has loaded."""
        stored = self.stored(RUN, name)
        version = stored.version
        run = self.site.kept.take(stored, version) or self._load(stored)
        phase(COMPUTING)
        self.opened.push(partial(self._leave, run, stored, version))
        self.job.uses(run.engine)
        self.opened.enter_context(run.engine.scope())
        self._note(stored)
        return run

    def _load(self, stored: StoredFolder) -> Sorted:
        """Load a run with an engine of its own, so that visits neither wait for nor cancel each other."""

        def read() -> Sorted:
            opened = self._with_attributes(load(stored.path, verify=False, engine=engine), stored)
            return Sorted(opened, self.site.top, stored)

        engine = start_engine()
        try:
            self.job.uses(engine)
            return steadily(stored.path, stored.kind, read)
        except BaseException:
            engine.close()
            raise
        finally:
            self.job.leaves(engine)

    def _leave(self, run: Sorted, stored: StoredFolder, version: Any, error: type | None, *_: Any) -> None:
        """Keep a run for the next visit, unless its engine failed or was interrupted."""
        is_whole = error is None or (issubclass(error, PointwiseError) and not issubclass(error, EngineError))
        if self.job.leaves(run.engine) and is_whole:
            self.site.kept.give(stored, version, run)
        else:
            run.engine.close()

    def _with_attributes(self, opened: Known, stored: StoredFolder) -> Known:
        """Give an evaluation or a diff the attributes, which are checked once for every version of it."""
        if self.site.attributes is None:
            return opened
        version, site = (stored.path, stored.version), self.site
        if version not in site.unrelated:
            try:
                known: Known = opened.with_attributes(site.attributes, verify=version not in site.verified)
            except (IdTypeError, NoCommonItemsError) as error:
                site.unrelated[version] = str(error)
            else:
                site.verified.add(version)
                return known
        return opened

    def _note(self, stored: StoredFolder) -> None:
        """Say so if the attributes are not about what was opened."""
        why = self.site.unrelated.get((stored.path, stored.version))
        if why is not None:
            self.notes[stored.name] = f"{why} So no attributes are shown for {stored.name}."

    def comparison(self) -> Comparison:
        """Open a comparison."""
        opened: Comparison = self._open(self.stored(COMPARISON), load_comparison)
        return opened

    def diff(self) -> Diff:
        """Open a diff, with the attributes that were given for all."""
        stored = self.stored(DIFF)
        opened: Diff = self._with_attributes(self._open(stored, load_diff), stored)
        self._note(stored)
        return opened

    def _open(self, stored: StoredFolder, loader: Callable[..., Any]) -> Any:
        """Load something with an engine of its own, so that visits neither wait for nor cancel each other."""
        engine = start_engine()
        self.opened.callback(engine.close)
        self.job.uses(engine)
        opened = loader(stored.path, verify=False, engine=engine)
        phase(COMPUTING)
        return opened

    def with_parts(self, *parts: str) -> Visit:
        """Return the same visit for another page."""
        return replace(self, parts=parts)


def prepare_runs(site: Site) -> Iterator[str]:
    """Write sorted copies of all runs that have none, and name each run when it is done."""
    for stored in site.shelf.look():
        if stored.kind is RUN and prepare(site.top, stored):
            yield stored.name
