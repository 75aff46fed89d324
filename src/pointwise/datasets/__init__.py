"""Data to try things on: PatentsView inventor mentions, a ground truth, and fifteen clusterings of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_FOLDER = Path(__file__).parent / "patentsview"


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


def patentsview() -> PatentsView:
    """Return the paths of the PatentsView files that come with pointwise.

    Example:
        >>> import pointwise as pw
        >>> list(pw.datasets.patentsview().releases)[-1]
        '2022-06-30'
    """
    releases = {path.stem: path for path in sorted((_FOLDER / "releases").glob("*.parquet"))}
    return PatentsView(_FOLDER / "truth.parquet", _FOLDER / "attributes.parquet", releases)
