"""Gates: what must hold before a clustering is let through."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from pointwise.answers.slices import SIZES, read_slicing
from pointwise.columns import BASELINE, ITEMS, VALUE, Column, Kind, keys
from pointwise.comparison.common_ground import check_same_truth
from pointwise.core.metrics import find_metric
from pointwise.core.sample import UNKNOWN, Sample
from pointwise.diffs.diff import Diff
from pointwise.diffs.estimates import JUDGED
from pointwise.diffs.estimation import Estimates
from pointwise.diffs.metrics import IMPACT, find_impact
from pointwise.errors import UsageError
from pointwise.evaluation import Evaluation
from pointwise.inputs.options import is_number
from pointwise.results import Result
from pointwise.text.drawing import Drawing
from pointwise.text.values import format_count, format_interval, format_key, format_value, short

OVERALL = "overall"

_Values = Mapping[str, Any]
_Rule = tuple[str, str, float]  # what, which rule, its limit


@dataclass(frozen=True)
class Check:
    """One thing that had to hold.

    Args:
        where: "overall", or a slice such as "country=US".
        what: A metric; "coverage", the share of the ideal items that the actual clustering has; or "weight coverage",
            the share of their weight.
        rule: "min", "max" or "max-drop".
        limit: What the rule allows.
        value: What was found; None where a metric is undefined.
        baseline: What the baseline has, for "max-drop".
        held: Whether the value is within the limit. An undefined value is not. For an estimate, the end of its interval
            nearer to the limit must be within it.
        low: Lower end of the interval of an estimate.
        high: Upper end.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> [(check.what, check.held) for check in pw.gate(evaluation, minimum={"recall": 0.5}).checks]
        [('recall', True)]
    """

    where: str
    what: str
    rule: str
    limit: float
    value: float | None
    baseline: float | None
    held: bool
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, repr=False)
class Gate(Result):
    """What had to hold, and whether it did: a row per check.

    Args:
        checks: What was checked.
        sample: How the ideal clusters of the truth were drawn: values are estimates for all that they stand for.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["i1", "i2"], ["i3"]], actual=[["i1", "i3"], ["i2"]])
        >>> pw.gate(evaluation, minimum={"recall": 0.5, "precision": 0.9}).held
        False
    """

    checks: tuple[Check, ...]
    sample: Sample = field(default=UNKNOWN, compare=False)

    @property
    def held(self) -> bool:
        """Whether everything held."""
        return all(check.held for check in self.checks)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the checks as dictionaries."""
        return [asdict(check) for check in self.checks]

    def describe(self) -> tuple[Column, ...]:
        """Say what the columns are, and what each holds."""
        numbers = [Column(name, Kind.METRIC) for name in ("limit", VALUE, BASELINE)]
        ends = [Column(name, Kind.END) for name in ("low", "high")]
        return (*keys("where", "what"), Column("rule"), *numbers, Column("held"), *ends)

    def drawing(self) -> Drawing:
        """Say what to show: the checks, failed ones first."""
        failed = sum(not check.held for check in self.checks)
        many = format_count(len(self.checks), "check")
        title = f"Gate: {failed} of {many} failed" if failed else "Gate: all checks held"
        rows = [_row(check) for check in sorted(self.checks, key=lambda check: check.held)]
        note = f"Values are {self.sample.words}." if self.sample.words else ""
        return Drawing(title, [Column(name) for name in rows[0]], rows, note)


_COVERAGE = {"coverage": "common_share", "weight coverage": "common_weight_share"}
"""What a check of coverage is called, and the share that it looks at."""

_RULES = {"min": "at least", "max": "at most", "max-drop": "worse than the baseline by at most"}


def _row(check: Check) -> dict[str, Any]:
    kind = Kind.SHARE if check.what in _COVERAGE else Kind.METRIC
    ends = format_interval(kind, check.low, check.high, is_narrow=True)
    return {
        "held": "yes" if check.held else "NO",
        "where": check.where,
        "what": check.what,
        VALUE: f"{format_value(kind, check.value)} {ends}".rstrip(),
        BASELINE: format_value(kind, check.baseline),
        "rule": f"{_RULES[check.rule]} {check.limit:g}",
    }


def gate(
    evaluation: Evaluation,
    *,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    slices: Sequence[Any] | str = (),
    min_items: int = 1,
    baseline: Evaluation | None = None,
    max_drop: Mapping[str, float] | None = None,
    min_coverage: float | None = None,
    min_weight_coverage: float | None = None,
    max_coverage_drop: float | None = None,
    max_weight_coverage_drop: float | None = None,
) -> Gate:
    """Check that an evaluation is good enough, overall and in every slice.

    Args:
        evaluation: What to check, live or loaded.
        minimum: The least value allowed, by metric.
        maximum: The greatest value allowed, by metric.
        slices: Slices in which the same must hold. For a condition, the items for which it is true are checked.
        min_items: Slices with fewer items are not checked.
        baseline: An evaluation to compare with.
        max_drop: By how much a metric may be worse than in the baseline, by metric.
        min_coverage: The least share of the ideal items that the actual clustering must have.
        min_weight_coverage: The least share of their weight.
        max_coverage_drop: By how much the share of the items may be less than in the baseline.
        max_weight_coverage_drop: By how much the share of the weight may be less.

    Examples:
        >>> import pointwise as pw
        >>> evaluation = pw.evaluate(ideal=[["a", "b"], ["c"]], actual=[["a", "b"], ["c"]])
        >>> pw.gate(evaluation, minimum={"precision": 0.95}).held
        True
    """
    rules = _rules(minimum or {}, maximum or {}, max_drop or {})
    on_coverage = _coverage_rules(min_coverage, min_weight_coverage, max_coverage_drop, max_weight_coverage_drop)
    _check_rules([*rules, *on_coverage], baseline)
    if baseline is not None:
        check_same_truth({"the run": evaluation, "the baseline": baseline})
    checks = [_check_coverage(rule, evaluation, baseline) for rule in on_coverage]
    if rules:
        specs = [slices] if isinstance(slices, str) else list(slices)
        metrics = list(dict.fromkeys(metric for metric, _, _ in rules))
        before = dict(_places(baseline, specs, metrics, 1)) if baseline is not None else {}
        for where, values in _places(evaluation, specs, metrics, min_items):
            checks += [_check(where, rule, values, before.get(where, {})) for rule in rules]
    return Gate(tuple(checks), evaluation.evidence.sample)


_NO_RULE = "A gate without a rule lets everything through."


def _check_rules(rules: Sequence[_Rule], baseline: Evaluation | None) -> None:
    """Refuse a gate that checks nothing, drops without a baseline, and a baseline that nothing is measured against."""
    if not rules:
        raise UsageError(f"{_NO_RULE} Give minimum=..., maximum=..., max_drop=... or min_coverage=....")
    if any(rule == "max-drop" for _, rule, _ in rules) != (baseline is not None):
        raise UsageError(
            "baseline=... and a drop (max_drop=..., max_coverage_drop=..., max_weight_coverage_drop=...) belong "
            "together: give both or neither."
        )


def _rules(minimum: Mapping[str, float], maximum: Mapping[str, float], max_drop: Mapping[str, float]) -> list[_Rule]:
    for name, limits in (("minimum", minimum), ("maximum", maximum), ("max_drop", max_drop)):
        if not isinstance(limits, Mapping):
            example = "{'precision': 0.9}"
            raise UsageError(f"{name}=... maps metrics to limits, such as {example}, and {short(limits)} does not.")
    for metric in max_drop:
        if find_metric(metric).better is None:
            raise UsageError(f"{metric!r} has no direction, so max_drop does not apply.")
    named = (("min", minimum), ("max", maximum), ("max-drop", max_drop))
    for rule, limits in named:
        for metric, limit in limits.items():
            _check_limit(rule, metric, limit)
    return [(metric, rule, limit) for rule, limits in named for metric, limit in limits.items()]


def _check_limit(rule: str, metric: str, limit: float) -> None:
    """Refuse a limit that no value or every value reaches: it must be a mistake."""
    least, most = (0.0, math.inf) if rule == "max-drop" else find_metric(metric).range
    if not is_number(limit) or not least <= limit <= most:
        raise UsageError(f"{rule} {metric}={short(limit)} makes no sense: it must be from {least:g} to {most:g}.")


def _coverage_rules(*limits: float | None) -> list[_Rule]:
    """List the rules on coverage that have a limit."""
    names = [(what, rule) for rule in ("min", "max-drop") for what in _COVERAGE]
    rules = [(*name, limit) for name, limit in zip(names, limits, strict=True) if limit is not None]
    for what, rule, limit in rules:
        if not is_number(limit) or not 0 <= limit <= 1:
            raise UsageError(f"{rule} {what} {short(limit)} makes no sense: it must be from 0 to 1.")
    return rules


def _check_coverage(rule: _Rule, evaluation: Evaluation, baseline: Evaluation | None) -> Check:
    what, kind, limit = rule
    share = _covered(what, evaluation)
    if kind == "min" or baseline is None:
        return Check(OVERALL, what, kind, limit, share, None, held=share >= limit)
    before = _covered(what, baseline)
    return Check(OVERALL, what, kind, limit, share, before, held=before - share <= limit)


def _covered(what: str, evaluation: Evaluation) -> float:
    share: float | None = getattr(evaluation.coverage, _COVERAGE[what])
    if share is None:
        raise UsageError(
            f"The weights of the {format_count(evaluation.coverage.missing_items, 'ideal item')} that the actual "
            "clustering lacks are not known, so its weight coverage cannot be checked. Give the weights as a "
            "column of the ideal clustering or as a table (weights=...)."
        )
    return share


def _places(
    evaluation: Evaluation, specs: Sequence[Any], metrics: Sequence[str], min_items: int
) -> Iterator[tuple[str, _Values]]:
    """Yield everything that is checked, with its name and its metrics."""
    yield OVERALL, evaluation.with_metrics(*metrics).overall.values
    for spec in specs:
        keys = [key.name for key in read_slicing(spec, evaluation.evidence.slice_schema).keys]
        is_condition = [name not in evaluation.evidence.slice_schema and name not in SIZES for name in keys]
        found = 0
        for row in evaluation.by_slice(spec, metrics=metrics).to_dicts():
            is_meant = all(row[name] is True for name, condition in zip(keys, is_condition, strict=True) if condition)
            if is_meant and row[ITEMS] >= min_items:
                names = [n if c else f"{n}={format_key(row[n])}" for n, c in zip(keys, is_condition, strict=True)]
                found += 1
                yield ", ".join(names), row
        if not found:
            raise UsageError(
                f"No slice of {spec!r} has {format_count(min_items, 'item')} or more, so nothing would be checked."
            )


def _check(where: str, rule: _Rule, values: _Values, before: _Values) -> Check:
    metric, kind, limit = rule
    value, baseline = values[metric], before.get(metric) if kind == "max-drop" else None
    if value is None:
        held = False
    elif kind == "max-drop":
        is_higher_better = find_metric(metric).better == "higher"
        # A slice that the baseline lacks has nothing to drop from.
        held = baseline is None or (baseline - value if is_higher_better else value - baseline) <= limit
    else:
        held = value >= limit if kind == "min" else value <= limit
    return Check(where, metric, kind, limit, value, baseline, held=held)


def gate_diff(
    diff: Diff,
    *,
    minimum: Mapping[str, float] | None = None,
    maximum: Mapping[str, float] | None = None,
    estimates: Estimates | None = None,
) -> Gate:
    """Check that a change is small enough, and good enough by people's answers.

    Metrics of the diff itself are exact. For an estimate, the whole interval must be within the limit, so that chance
    cannot let a bad change through: leave some room, such as -0.005 for the change of precision.

    Args:
        diff: What changed, live or loaded.
        minimum: The least value allowed, by metric of the diff or by estimate.
        maximum: The greatest value allowed, likewise.
        estimates: What `diff.estimate` says.

    Examples:
        >>> import pointwise as pw
        >>> diff = pw.diff(baseline=[["a", "b", "c"], ["d"]], experiment=[["a", "b"], ["c", "d"]])
        >>> pw.gate_diff(diff, maximum={"split_rate": 0.1}).held
        False
    """
    limits = [(m, "min", v) for m, v in (minimum or {}).items()] + [(m, "max", v) for m, v in (maximum or {}).items()]
    if not limits:
        raise UsageError(f"{_NO_RULE} Give minimum=... or maximum=....")
    return Gate(tuple(_check_diff(diff, estimates, *limit) for limit in limits))


def _check_diff(diff: Diff, estimates: Estimates | None, metric: str, rule: str, limit: float) -> Check:
    if not -1 <= limit <= 1:
        raise UsageError(f"{rule} {metric}={limit:g} makes no sense: it must be from -1 to 1.")
    if metric in JUDGED and metric not in IMPACT:
        if estimates is None:
            raise UsageError(
                f"{metric!r} is known from people's answers only, and there are none. Ask questions first."
            )
        found = estimates[metric]
        worst = found.low if rule == "min" else found.high
        held = worst is not None and (worst >= limit if rule == "min" else worst <= limit)
        return Check(OVERALL, metric, rule, limit, found.value, None, held, found.low, found.high)
    find_impact(metric)
    value = diff.overall[metric]
    return Check(OVERALL, metric, rule, limit, value, None, held=value >= limit if rule == "min" else value <= limit)
