"""Random clusterings for the laws."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import assume, settings
from hypothesis import strategies as st


@dataclass(frozen=True)
class Case:
    """Two clusterings of partly the same items, and the items' weights."""

    ideal: dict[str, int]
    actual: dict[str, int]
    weights: dict[str, float]

    @property
    def common(self) -> list[str]:
        """The items that both clusterings have."""
        return [item for item in self.ideal if item in self.actual]

    @property
    def fractions(self) -> dict[str, Fraction]:
        """The weights, exactly."""
        return {item: Fraction(weight) for item, weight in self.weights.items()}


WHOLE = st.integers(1, 9).map(float)
DYADIC = st.integers(1, 4096).map(lambda n: n / 64)  # sums of these are exact in floating point
REAL = st.floats(1e-3, 1e3)


@st.composite
def cases(draw: st.DrawFn, weights: st.SearchStrategy[float] = REAL, *, same_items: bool = False) -> Case:
    """Draw clusterings of up to twelve items."""
    n = draw(st.integers(1, 12))
    items = [f"i{k}" for k in range(n)]
    labels = st.integers(0, draw(st.integers(0, 5)))
    ideal = {item: draw(labels) for item in items}
    actual = {item: draw(labels) for item in items}
    if not same_items:
        for item in items[1:]:
            absent = draw(st.sampled_from(["", "", "", "ideal", "actual"]))
            if absent:
                (ideal if absent == "ideal" else actual).pop(item)
        if not set(ideal) & set(actual):
            ideal[items[0]] = actual[items[0]] = 0
    if settings.default.max_examples < 3:  # Hypothesis begins with the simplest, one item, which would say little
        assume(min(len(set(ideal.values())), len(set(actual.values()))) > 1)
    return Case(ideal, actual, {item: draw(weights) for item in items})
