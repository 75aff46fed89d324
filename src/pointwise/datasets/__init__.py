"""Data to try things on: PatentsView inventor mentions with fifteen clusterings, and people with planted mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "patentsview"
_PEOPLE = Path(__file__).parent / "people"


@dataclass(frozen=True)
class PatentsView:
    """Paths of the PatentsView files.

    Args:
        truth: The ideal clustering: 13,467 mentions of 401 inventors.
        attributes: Country, city, organization, year, type, section, number of claims and title by mention.
        releases: The published clusterings, by date, oldest first.
    """

    truth: Path
    attributes: Path
    releases: dict[str, Path]


@dataclass(frozen=True)
class People:
    """Paths of the files about people, all of them invented.

    Args:
        truth: The ideal clustering: which records belong to which person.
        clusters: A clustering of the records that is right except for planted mistakes.
        records: Name, street, city, date of birth and source of every record.
        planted: The mistakes: `kind`, `cluster` (actual for an over-merge, ideal for an under-merge) and `why`.
    """

    truth: Path
    clusters: Path
    records: Path
    planted: Path


def patentsview() -> PatentsView:
    """Return the paths of the PatentsView files that come with pointwise.

    Examples:
        >>> import pointwise as pw
        >>> list(pw.datasets.patentsview().releases)[-1]
        '2022-06-30'
    """
    releases = {path.stem: path for path in sorted((_FOLDER / "releases").glob("*.parquet"))}
    return PatentsView(_FOLDER / "truth.parquet", _FOLDER / "attributes.parquet", releases)


def people() -> People:
    """Return the paths of the files about people that come with pointwise.

    Examples:
        >>> import pointwise as pw
        >>> pw.datasets.people().records.name
        'records.parquet'
    """
    return People(*(_PEOPLE / f"{name}.parquet" for name in ("truth", "clusters", "records", "planted")))
