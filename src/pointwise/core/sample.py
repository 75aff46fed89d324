"""The sample: how the ideal clusters of a truth were drawn, and how many clusters each of them stands for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import narwhals.stable.v2 as nw

from pointwise.columns import IDEAL, WEIGHT
from pointwise.core.confusion import Totals
from pointwise.core.metrics import Metric
from pointwise.errors import UsageError

EXPANSION = "_expansion"  # how many ideal clusters of the population one of the truth stands for
REST = "_rest"  # the share of such clusters that was not drawn, which alone remains uncertain
STRATUM = "_stratum"


@dataclass(frozen=True)
class Sample:
    """What is known about how a truth was drawn.

    Args:
        sees_outside: Whether members of actual clusters that the truth does not list count as wrong. If not, merges
            with clusters that were not drawn are invisible.
        clusters: `_expansion`, `_rest` and `_stratum` of every ideal cluster of the truth; None if nothing is known:
            then every cluster stands for equally many, out of infinitely many.
        population: Number and weight of all items that the truth stands for, if known.
        is_complete: Whether the truth is everything there is, so that values are exact.
        has_spurious: Whether items that the truth lacks are among the items. Each has an empty ideal cluster of its
            own, which counts as drawn independently.
        behind: What the estimates are based on, for people; empty without a design.
    """

    sees_outside: bool = False
    clusters: nw.LazyFrame | None = None
    population: Totals | None = None
    is_complete: bool = False
    behind: str = ""
    has_spurious: bool = False

    @property
    def words(self) -> str:
        """What values estimate and from which data, for people; empty without a design."""
        items = f"{self.population.items:,} items" if self.population else "items of each clustering"
        return f"estimated for all {items} from {self.behind}" if self.behind else ""

    def expand(self, rows: nw.LazyFrame) -> nw.LazyFrame:
        """Let the weight of rows with an ideal cluster stand for the population."""
        if self.clusters is None:
            return rows
        names = rows.collect_schema().names()
        return self.with_expansion(rows).with_columns(nw.col(WEIGHT) * nw.col(EXPANSION)).select(*names)

    def with_expansion(self, rows: nw.LazyFrame) -> nw.LazyFrame:
        """Add to rows with an ideal cluster how many clusters of the population it stands for."""
        if self.clusters is None:
            return rows.with_columns(nw.lit(1.0).alias(EXPANSION))
        return rows.join(self.clusters.select(IDEAL, EXPANSION), on=IDEAL, how="inner")

    def title(self, title: str) -> str:
        """Say in a title what the values are estimates of."""
        return f"{title}, {self.words}" if self.words else title

    def check(self, metrics: Iterable[Metric]) -> None:
        """Refuse metrics that such a sample cannot estimate.

        Raises:
            UsageError: Their false positives are invisible.
        """
        blind = [m.name for m in metrics if m.sees_false_positives]
        if self.clusters is not None and not self.sees_outside and blind:
            raise UsageError(
                f"{', '.join(blind)} cannot be estimated for all items with outside='ignore': merges with clusters "
                "that were not drawn are then invisible, and the clustering looks too good. Use outside='wrong' "
                "if the drawn ideal clusters are complete, or ask for metrics without false positives, such as recall."
            )


def sample_of_all(samples: Sequence[Sample]) -> Sample:
    """Return the sample for several clusterings with one truth; the population is unknown if theirs differ."""
    first = samples[0]
    is_same = len({sample.population for sample in samples}) == 1
    return first if is_same else replace(first, population=None)


UNKNOWN = Sample()
"""What is known about a truth if nobody says how it was drawn."""
