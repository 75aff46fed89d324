"""Dialects: text files of other fields, read as tables by what they begin with.

Binnings of metagenomes come in the format of CAMI, and coreference in that of CoNLL-2012. Both are lines of text that
no general reader of tables understands. Their tables get columns by which `layouts` knows them.
"""

from __future__ import annotations

import gzip
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pointwise.engines.base import Engine, Source
from pointwise.engines.files import FORMATS, find_files, is_address
from pointwise.errors import PointwiseError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa

_HEAD = 4096  # characters, in which a file shows its format
_TEXT = {ending for ending, kind in FORMATS.items() if kind == "csv"}
_BINNING = re.compile(r"(?:\s*(?:#.*|@(?!@).*)?\n)*@@SEQUENCEID\b", re.IGNORECASE)
_COREFERENCE = re.compile(r"\s*#begin document\b")


def read_dialect(source: Any, engine: Engine) -> Source | None:
    """Read a file in one of the dialects; None if it is none of them.

    Raises:
        SourceError: It is one, and a line of it is wrong.
    """
    path = _local_file(source)
    head = None if path is None else _read_head(path)
    if path is None or head is None:
        return None
    if _BINNING.match(head):
        table, scope = _read_binning(path)
    elif _COREFERENCE.match(head):
        table, scope = _read_coreference(path), None
    else:
        return None
    # A text file has no types: its ids match integers by their plain form.
    return replace(engine.read(table), name=str(path), is_typed=False, files=(path,), scope=scope)


def _local_file(source: Any) -> Path | None:
    """Return the one file that a path means, unless its ending says that it is of another kind."""
    if isinstance(source, (list, tuple)) or is_address(source):
        return None
    suffixes = [suffix.lower() for suffix in Path(os.fspath(source)).suffixes if suffix.lower() != ".gz"]
    if suffixes and suffixes[-1] in FORMATS and suffixes[-1] not in _TEXT:
        return None
    try:
        found = find_files(source)
    except PointwiseError:  # the engine will say what is wrong with it
        return None
    return found[0] if len(found) == 1 else None


def _open(path: Path) -> Any:
    return gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8")


def _read_head(path: Path) -> str | None:
    try:
        with _open(path) as file:
            return str(file.read(_HEAD))
    except (OSError, EOFError, UnicodeDecodeError):
        return None


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    try:
        with _open(path) as file:
            for number, line in enumerate(file, start=1):
                yield number, line.rstrip("\r\n")
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise SourceError(f"{str(path)!r} cannot be read: {error}.") from error


# CAMI: a header of lines with @, the names of the columns after @@, then tab-separated rows. Several samples may follow
# one another; ids of sequences and bins mean something within their sample only.

_SAMPLE, _SEQUENCE = "SAMPLEID", "SEQUENCEID"


def _read_binning(path: Path) -> tuple[pa.Table, str | None]:
    """Read a binning; return it with its sample, or with a column of samples if there are several."""
    import pyarrow as pa

    columns: dict[str, list[str | None]] = {}
    names: list[str] = []
    samples: list[str | None] = []
    sample: str | None = None
    for number, line in _lines(path):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("@@"):
            # The published examples have an empty column: two tabs between the names, and one in the rows.
            found = [name.strip().upper() for name in line[2:].split("\t") if name.strip()]
            if columns and found != names:
                raise SourceError(f"Line {number} of {str(path)!r} names other columns than the sample before it.")
            names = found
            columns = columns or {name: [] for name in names}
            if len(columns) != len(names):
                raise SourceError(f"Line {number} of {str(path)!r} names a column twice.")
        elif line.startswith("@"):
            tag, _, value = line[1:].partition(":")
            sample = value.strip() or None if tag.strip().upper() == _SAMPLE else sample
        else:
            values = line.split("\t")
            if len(values) != len(names):
                raise SourceError(
                    f"Line {number} of {str(path)!r} has {len(values)} values, where {len(names)} columns were named."
                )
            for name, value in zip(names, values, strict=True):
                columns[name].append(value.strip() or None)
            samples.append(sample)
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    several = set(samples)
    if len(several) < 2:  # noqa: PLR2004  # one sample
        return table, next(iter(several), None)
    return table.add_column(0, _SAMPLE, pa.array(samples, pa.string())), None


# CoNLL-2012: documents of sentences, a token per line, whose last column opens and closes mentions: "(7" and "7)".

_BEGIN = re.compile(r"#begin document \(?(?P<name>[^;)]*)\)?;?\s*(?:part\s*(?P<part>\d+))?")
_MARK = re.compile(r"(?P<opens>\()?(?P<chain>\d+)(?P<closes>\))?")
_WORD = 3  # the column of the token itself


@dataclass
class _Document:
    """A document while it is read: which mentions are open, and where."""

    name: str = ""
    words: list[str] = field(default_factory=list)
    opened: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))

    def take(self, word: str, marks: str) -> Iterator[tuple[str, int, int]]:
        """Take the next token; yield the mentions that end with it: chain, first and last token.

        Raises:
            ValueError: A mark is none, or closes what is not open.
        """
        self.words.append(word)
        here = len(self.words) - 1
        for text in () if marks in ("-", "_", "*") else marks.split("|"):
            mark = _MARK.fullmatch(text)
            if mark is None or not (mark["opens"] or mark["closes"]):
                raise ValueError(f"has the mark {text!r}, which is none of (1, 1) and (1)")
            if mark["opens"]:
                self.opened[mark["chain"]].append(here)
            if mark["closes"]:
                if not self.opened[mark["chain"]]:
                    raise ValueError(f"closes a mention of {mark['chain']} that is not open")
                yield mark["chain"], self.opened[mark["chain"]].pop(), here

    def check_closed(self) -> None:
        """Refuse a document that ends inside a mention.

        Raises:
            ValueError: The message names its chain.
        """
        unclosed = next((chain for chain, starts in self.opened.items() if starts), None)
        if unclosed is not None:
            raise ValueError(f"ends the document {self.name}, where a mention of {unclosed} is still open")


def _read_coreference(path: Path) -> pa.Table:
    """Read the mentions of all documents: a mention is a stretch of tokens, a cluster a chain of a document."""
    import pyarrow as pa

    rows = list(_mentions(path))
    if not rows:
        raise SourceError(f"There is no mention in {str(path)!r}: its last column opens and closes none.")
    names = ("mention", "chain", "document", "start", "end", "words")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def _mentions(path: Path) -> Iterable[tuple[str, str, str, int, int, str]]:
    document = _Document()
    for number, line in _lines(path):
        try:
            if line.startswith("#"):
                document = _begin(line, document)
                continue
            columns = line.split()
            if not columns:
                continue
            word = columns[_WORD] if len(columns) > _WORD else ""
            for chain, start, end in document.take(word, columns[-1]):
                words = " ".join(document.words[start : end + 1])
                name = document.name
                yield f"{name}:{start}-{end}", f"{name}:{chain}", name, start, end, words
        except ValueError as error:
            raise SourceError(f"Line {number} of {str(path)!r} {error}.") from error
    try:
        document.check_closed()
    except ValueError as error:
        raise SourceError(f"The end of {str(path)!r} {error}.") from error


def _begin(line: str, document: _Document) -> _Document:
    """Begin the document that a line of comment names, if it names one; it must not stand inside a mention."""
    if line.startswith(("#begin", "#end")):
        document.check_closed()
    found = _BEGIN.match(line)
    if found is None:
        return document
    part = "" if found["part"] is None else f".{int(found['part'])}"
    return _Document(found["name"].strip() + part)
