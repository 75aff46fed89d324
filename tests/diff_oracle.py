"""An independent judge of diffs: the set definitions, item by item and pair by pair, in exact fractions.

Quadratic on purpose, and without a line of the package.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

ZERO = Fraction(0)


class Oracle:
    """Two clusterings of the same items, their weights, and a truth."""

    def __init__(self, base, exp, weights, truth=None):
        self.items = [i for i in base if i in exp]
        self.base, self.exp, self.truth = base, exp, truth or {}
        self.w = {i: Fraction(weights[i]) for i in self.items}
        self.total = self.weigh(self.items)

    def weigh(self, items):
        return sum((self.w[i] for i in items), ZERO)

    def members(self, clustering, item):
        return {j for j in self.items if clustering[j] == clustering[item]}

    def parts(self, item):
        """Return the split, the stable and the merge part of an item."""
        b, e = self.members(self.base, item), self.members(self.exp, item)
        return b - e, b & e, e - b

    def same(self, i, j):
        return self.truth[i] == self.truth[j]

    def row(self, item):
        """Compute every number of an item, from the definitions."""
        s, k, m = self.parts(item)
        b, e = self.weigh(s | k), self.weigh(k | m)
        u = self.weigh(s | k | m)
        row = {
            "split_rate": self.weigh(s) / b,
            "merge_rate": self.weigh(m) / e,
            "split_distance": self.weigh(s) / u,
            "merge_distance": self.weigh(m) / u,
            "jaccard_distance": self.weigh(s | m) / u,
        }
        if self.truth:
            row |= self._judged(item, (s, k, m), (b, e, u))
        return row

    def _judged(self, item, parts, sizes):
        (s, k, m), (b, e, u) = parts, sizes
        right = {name: {j for j in part if self.same(item, j)} for name, part in zip("skm", parts, strict=True)}
        ps, pk, pm = (self.weigh(right[name]) for name in "skm")
        ideal = self.weigh(self.members(self.truth, item))
        return {
            "good_split_rate": (self.weigh(s) - ps) / b,
            "bad_split_rate": ps / b,
            "good_merge_rate": pm / e,
            "bad_merge_rate": (self.weigh(m) - pm) / e,
            "good_split_distance": (self.weigh(s) - ps) / u,
            "bad_split_distance": ps / u,
            "good_merge_distance": pm / u,
            "bad_merge_distance": (self.weigh(m) - pm) / u,
            "good_distance": (self.weigh(s) - ps + pm) / u,
            "bad_distance": (ps + self.weigh(m) - pm) / u,
            "stable_good": pk / u,
            "stable_bad": (self.weigh(k) - pk) / u,
            "precision": (ps + pk) / b,
            "delta_precision": (pk + pm) / e - (ps + pk) / b,
            "delta_recall": (pm - ps) / ideal,
            "pooled_delta_recall": (pm - ps) / (ps + pk + pm),
            "good_weight": self.weigh(s) - ps + pm,
            "bad_weight": ps + self.weigh(m) - pm,
        }

    def lift(self, among=None):
        """Average everything over some items, weighted."""
        chosen = list(self.items if among is None else among)
        rows = {i: self.row(i) for i in chosen}
        whole = self.weigh(chosen)
        lifted = {name: sum(rows[i][name] * self.w[i] for i in chosen) / whole for name in rows[chosen[0]]}
        changed = lifted.get("good_weight", ZERO) + lifted.get("bad_weight", ZERO)
        if changed:
            lifted["symmetric_iq"] = (lifted["good_weight"] - lifted["bad_weight"]) / changed
        return lifted

    def pairs(self):
        """Return the unordered pairs of every stratum, each with its coefficient without the sign."""
        found = {"split": {}, "merge": {}, "stable+": {}, "stable-": {}}
        for i, j in combinations(self.items, 2):
            in_base, in_exp = self.base[i] == self.base[j], self.exp[i] == self.exp[j]
            b, e = (self.weigh(self.members(side, i)) for side in (self.base, self.exp))
            product = 2 * self.w[i] * self.w[j] / self.total
            if in_base and not in_exp:
                found["split"][i, j] = product / b
            elif in_exp and not in_base:
                found["merge"][i, j] = product / e
            elif in_base and in_exp and b != e:
                found["stable+" if e < b else "stable-"][i, j] = product * abs(1 / e - 1 / b)
        return found

    def offset(self):
        """Return what the pairs of an item with itself add to the change of precision."""
        gains = (
            self.w[i] ** 2 * (1 / self.weigh(self.members(self.exp, i)) - 1 / self.weigh(self.members(self.base, i)))
            for i in self.items
        )
        return sum(gains, ZERO) / self.total


BASE = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 3}
EXP = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 2}
TRUTH = {"a": 1, "b": 2, "c": 2, "d": 2, "e": 3}
WEIGHTS = {"a": 1, "b": 2, "c": 2, "d": 4, "e": 1}
