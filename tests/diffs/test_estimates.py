"""Estimates: right in expectation, exact when everything was asked, and as wide as they must be."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pointwise as pw
from pointwise.diffs.estimates import JUDGED, Counted, _pooled_delta, count_answers, estimate_all, estimate_recall
from pointwise.diffs.judgements import Judgements, make_judgement, reuse
from pointwise.diffs.questions import OnSheet, Question
from pointwise.diffs.shares import wilson
from pointwise.diffs.strata import Masses

from diff_oracle import BASE, EXP, TRUTH, WEIGHTS, Oracle
from strategies import Case

UNBIASED = (
    "delta_precision",
    "good_split_rate",
    "bad_split_rate",
    "good_merge_rate",
    "bad_merge_rate",
    "precision",
)
SINGLE = {"precision"}


@st.composite
def judged_cases(draw, most=6):
    items = [f"i{n}" for n in range(draw(st.integers(2, most)))]
    labels = st.integers(0, 2)
    base, exp, truth = ({item: draw(labels) for item in items} for _ in range(3))
    weights = {item: draw(st.integers(1, 5)) for item in items}
    return Oracle(base, exp, weights, truth), Case(base, exp, weights)


def masses_of(oracle, among=None):
    """Build what is known before any judgement from the oracle, as floats."""
    chosen = oracle.items if among is None else among
    rows = {i: oracle.row(i) for i in chosen}
    whole = oracle.weigh(chosen)
    sums = Counter()
    for i in chosen:
        s, k, m = oracle.parts(i)
        w, b, e = oracle.w[i], oracle.weigh(s | k), oracle.weigh(k | m)
        gain = 1 / e - 1 / b
        sums["split"] += w * rows[i]["split_rate"]
        sums["merge"] += w * rows[i]["merge_rate"]
        sums["plus" if gain > 0 else "minus"] += w * (oracle.weigh(k) - w) * abs(gain)
        sums["offset"] += w * w * gain
        sums["split_distance"] += w * rows[i]["split_distance"]
        sums["merge_distance"] += w * rows[i]["merge_distance"]
        sums["split_weight"] += w * oracle.weigh(s)
        sums["merge_weight"] += w * oracle.weigh(m)
        sums["affected"] += w if s or m else 0
    names = ("split", "merge", "plus", "minus", "offset")
    names += ("split_distance", "merge_distance", "split_weight", "merge_weight", "affected")
    return Masses(len(chosen), float(whole), **{name: float(sums[name] / whole) for name in names})


def question_of(oracle, stratum, pair, draws, number=1):
    side = oracle.exp if stratum == "merge" else oracle.base
    size = float(oracle.weigh(oracle.members(side, pair[0])))
    unions = tuple(float(oracle.weigh(set().union(*oracle.parts(i)))) for i in pair)
    return Question(number, 1, stratum, *pair, draws, size, unions)


def everything_asked(oracle):
    """Ask about all pairs, each drawn as often as its mass says."""
    counted = []
    for stratum, pairs in oracle.pairs().items():
        common = math.lcm(*(mass.denominator for mass in pairs.values())) if pairs else 1
        for pair, mass in pairs.items():
            question = question_of(oracle, stratum, pair, int(mass * common), len(counted) + 1)
            counted.append(Counted(question, float(oracle.same(*pair)), None))
    return counted


@settings(max_examples=60)
@given(judged_cases())
def test_estimates_from_all_pairs_are_the_exact_values(drawn):
    oracle, _ = drawn
    found = estimate_all(masses_of(oracle), everything_asked(oracle), confidence=0.95)
    for name, value in oracle.lift().items():
        if name in found:
            assert found[name].value == pytest.approx(float(value), abs=1e-9)
            assert found[name].low - 1e-9 <= found[name].value <= found[name].high + 1e-9


@settings(max_examples=25)
@given(judged_cases(most=5))
def test_the_expectation_over_all_samples_is_the_exact_value(drawn):
    oracle, _ = drawn
    masses, pairs = masses_of(oracle), {s: p for s, p in oracle.pairs().items() if p}
    if not pairs or sum(len(p) for p in pairs.values()) > 7:
        return
    draws = 2
    samples = {s: list(product(p, repeat=draws)) for s, p in pairs.items()}
    expected, total = Counter(), Fraction(0)
    for chosen in product(*samples.values()):
        chance = Fraction(1)
        counted = []
        for stratum, sample in zip(samples, chosen, strict=True):
            mass = sum(pairs[stratum].values())
            for pair, number in Counter(sample).items():
                chance *= (pairs[stratum][pair] / mass) ** number
                question = question_of(oracle, stratum, pair, number, len(counted) + 1)
                counted.append(Counted(question, float(oracle.same(*pair)), None))
        total += chance
        for name, estimate in estimate_all(masses, counted, confidence=0.95).items():
            if name in UNBIASED:
                expected[name] += float(chance) * estimate.value
    assert total == 1
    exact = oracle.lift()
    for name in set(UNBIASED) - SINGLE:
        assert expected[name] == pytest.approx(float(exact[name]), abs=1e-9)


def expect(oracle, draws, **facts):
    """Return the expectation of every estimate over all samples of split pairs."""
    masses, pairs = masses_of(oracle), oracle.pairs()["split"]
    whole, expected = sum(pairs.values()), Counter()
    for sample in product(pairs, repeat=draws):
        chance = math.prod(pairs[pair] / whole for pair in sample)
        counted = [
            Counted(question_of(oracle, "split", pair, number, n), float(oracle.same(*pair)), None)
            for n, (pair, number) in enumerate(Counter(sample).items())
        ]
        for name, estimate in estimate_all(masses, counted, confidence=0.95, **facts).items():
            expected[name] += float(chance) * (estimate.value or 0.0)
    return expected


@settings(max_examples=15)
@given(judged_cases(most=4))
def test_the_expectation_of_the_precision_of_one_clustering_is_exact(drawn):
    judged, _ = drawn
    oracle = Oracle(judged.base, {i: i for i in judged.items}, judged.w, judged.truth)
    if oracle.pairs()["split"]:
        found = expect(oracle, 2, is_singletons=True)["precision"]
        assert found == pytest.approx(float(oracle.lift()["precision"]), abs=1e-9)


def test_distances_and_iq_approach_the_exact_values_as_questions_are_added():
    # They weigh answers that were drawn for the rates otherwise, so that few answers are a little off in the mean.
    base, exp = {"a": 1, "b": 1, "p": 2, "q": 2, "z": 3}, {"a": 1, "b": 2, "p": 3, "q": 4, "z": 2}
    oracle = Oracle(base, exp, {"a": 1, "b": 1, "p": 1, "q": 1, "z": 9}, {"a": 1, "b": 1, "p": 2, "q": 3, "z": 4})
    exact = float(oracle.lift()["good_split_distance"])
    off = [abs(expect(oracle, draws)["good_split_distance"] - exact) for draws in (1, 2, 4, 8)]
    assert off[0] > off[1] > off[2] > off[3]
    assert off[3] < off[0] / 4


@settings(max_examples=15)
@given(judged_cases(most=5))
def test_the_expectation_over_sheets_is_the_exact_pooled_change_of_recall(drawn):
    oracle, _ = drawn
    masses, sheets = masses_of(oracle), {}
    for item in oracle.items:
        split, stable, merge = oracle.parts(item)
        parts = [("split", split), ("stable", stable - {item}), ("merge", merge)]
        if split or merge:
            sheets[item] = [(part, j) for part, members in parts for j in sorted(members)]
    if not sheets:
        return
    whole, expected = oracle.weigh(sheets), 0.0
    for sample in product(sheets, repeat=2):
        counted = [
            Counted(_on_sheet(oracle, number, item, part, other), float(oracle.same(item, other)), None)
            for number, item in enumerate(sample)
            for part, other in sheets[item]
        ]
        found = estimate_recall(masses, counted, confidence=0.95)
        expected += float(math.prod(oracle.w[item] / whole for item in sample)) * found.value
    assert expected == pytest.approx(float(oracle.lift()["pooled_delta_recall"]), abs=1e-9)


def _on_sheet(oracle, number, item, part, other):
    place = OnSheet(number, part, float(oracle.w[other]), float(oracle.w[item]))
    return Question(number, 1, "sheet", item, other, 1, 0.0, (0.0, 0.0), place)


@settings(max_examples=40)
@given(judged_cases())
def test_swapping_the_sides_turns_estimates_around(drawn):
    oracle, _ = drawn
    swapped = Oracle(oracle.exp, oracle.base, oracle.w, oracle.truth)
    here, there = (estimate_all(masses_of(o), everything_asked(o), confidence=0.95) for o in (oracle, swapped))
    for name, estimate in here.items():
        other = there[SWAPPED.get(name, name)]
        sign = -1 if name in TURNED else 1
        if estimate.value is None:
            assert other.value is None
        else:
            assert estimate.value == pytest.approx(sign * other.value, abs=1e-9)


TURNED = {"delta_precision", "symmetric_iq"}
SWAPPED = {
    f"{good}_{kind}{ending}": f"{bad}_{other}{ending}"
    for good, bad in (("good", "bad"), ("bad", "good"))
    for kind, other, ending in (
        ("split", "merge", "_rate"),
        ("merge", "split", "_rate"),
        ("split", "merge", "_distance"),
        ("merge", "split", "_distance"),
        ("distance", "distance", ""),
    )
}


@settings(max_examples=60)
@given(judged_cases())
def test_slices_from_all_pairs_are_the_exact_values(drawn):
    oracle, _ = drawn
    inside = set(oracle.items[: max(1, len(oracle.items) // 2)])
    counted = everything_asked(oracle)
    members = {c.question.number: (c.question.a in inside, c.question.b in inside) for c in counted}
    found = estimate_all(masses_of(oracle, sorted(inside)), counted, confidence=0.95, members=members)
    for name, value in oracle.lift(sorted(inside)).items():
        if name in found:
            assert found[name].value == pytest.approx(float(value), abs=1e-9)


@settings(max_examples=60)
@given(judged_cases())
def test_laws_of_the_exact_values(drawn):
    oracle, _ = drawn
    exact, swapped = oracle.lift(), Oracle(oracle.exp, oracle.base, oracle.w, oracle.truth).lift()
    assert exact["delta_precision"] == -swapped["delta_precision"]
    assert exact["good_split_rate"] == swapped["bad_merge_rate"]
    assert exact["bad_split_rate"] == swapped["good_merge_rate"]
    shares = ("good_split_distance", "bad_split_distance", "good_merge_distance", "bad_merge_distance")
    assert sum(exact[name] for name in shares) + exact["stable_good"] + exact["stable_bad"] == 1
    assert abs(exact["delta_precision"]) <= exact["jaccard_distance"]
    assert -exact["split_rate"] <= exact["delta_recall"] <= exact["merge_rate"]


@settings(max_examples=3)
@given(judged_cases())
def test_a_diff_judged_by_a_truth_agrees_with_a_comparison(drawn):
    oracle, case = drawn
    comparison = pw.compare(
        ideal=oracle.truth,
        variants={"base": case.ideal, "exp": case.actual},
        weights=case.weights,
        metrics=["precision"],
    )
    delta = comparison.delta("precision", experiment="exp", baseline="base")
    assert delta == pytest.approx(float(oracle.lift()["delta_precision"]), abs=1e-9)


def test_the_worked_example_from_all_pairs():
    oracle = Oracle(BASE, EXP, WEIGHTS, TRUTH)
    found = estimate_all(masses_of(oracle), everything_asked(oracle), confidence=0.95)
    expected = {
        "delta_precision": "-76/525",
        "good_split_rate": "2/25",
        "bad_split_rate": "4/25",
        "good_merge_rate": "8/35",
        "bad_merge_rate": "6/35",
        "good_split_distance": "3/50",
        "bad_split_distance": "3/25",
        "good_merge_distance": "34/175",
        "bad_merge_distance": "57/350",
        "symmetric_iq": "0",
    }
    for name, value in expected.items():
        assert found[name].value == pytest.approx(float(Fraction(value)), abs=1e-12)
    assert set(expected) | {"good_distance", "bad_distance"} == set(found)
    assert set(JUDGED) == set(found) | {"precision", "pooled_delta_recall"}


def test_wilson_agrees_with_scipy():
    from scipy.stats import binomtest

    for yes, number in ((0, 20), (9, 20), (30, 30), (150, 400)):
        expected = binomtest(yes, number).proportion_ci(method="wilson", confidence_level=0.9)
        assert wilson(yes / number, number, 0.9) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("number", [1, 2, 3, 7, 12, 30, 100, 500])
def test_intervals_of_a_share_hold_often_enough_whatever_the_share(number):
    from scipy.stats import binom

    ends = [wilson(yes / number, number, 0.95) for yes in range(number + 1)]
    for share in (*(10 ** (-n / 8) for n in range(3, 33)), *(n / 50 for n in range(2, 26))):
        holds = [low - 1e-12 <= share <= high + 1e-12 for low, high in ends]
        assert sum(binom.pmf(range(number + 1), number, share)[holds]) > 0.92


def counted_of(*answers, stratum="split", model=None):
    oracle = Oracle(BASE, EXP, WEIGHTS, TRUTH)
    pairs = list(oracle.pairs()[stratum])
    models = model or [None] * len(answers)
    return [
        Counted(question_of(oracle, stratum, pairs[n % len(pairs)], 1, n + 1), answer, models[n])
        for n, answer in enumerate(answers)
    ]


MASSES = masses_of(Oracle(BASE, EXP, WEIGHTS, TRUTH))


def bad_splits(*answers, **settings):
    return estimate_all(MASSES, counted_of(*answers, **settings), confidence=0.95)["bad_split_rate"]


def test_unsure_answers_leave_the_value_and_widen_the_interval():
    sure, unsure = bad_splits(*[1.0] * 30, *[0.0] * 30), bad_splits(*[1.0] * 30, *[0.0] * 30, *[0.5] * 20)
    assert sure.value == unsure.value
    assert unsure.low < sure.low
    assert sure.high < unsure.high
    assert unsure.low == pytest.approx(MASSES.split * wilson(30 / 80, 80, 0.95)[0])
    assert unsure.high == pytest.approx(MASSES.split * wilson(50 / 80, 80, 0.95)[1])


def test_without_answers_there_is_no_number():
    nothing = bad_splits(None, None)
    assert (nothing.value, nothing.low, nothing.questions) == (None, None, 0)
    assert nothing.reason == "no answer about split pairs"
    assert bad_splits(0.5, 0.5).value is None
    whole = estimate_all(MASSES, counted_of(1.0), confidence=0.95)["delta_precision"]
    assert whole.reason == "no answer about merge and stable+ pairs"


def test_models_sharpen_what_enough_people_answered_and_never_replace_them():
    human = [1.0, 0.0] * 20
    model = [1.0, 0.0] * 20 + [1.0] * 300 + [0.0] * 100
    alone = bad_splits(*human)
    both = bad_splits(*human, *[None] * 400, model=model)
    assert both.uses_model
    assert both.questions == 40
    assert both.value > alone.value
    assert both.high - both.low < alone.high - alone.low
    few = bad_splits(*human[:20], *[None] * 420, model=model)
    assert not few.uses_model
    assert few == bad_splits(*human[:20])
    contrary = bad_splits(*human, *[None] * 400, model=[1 - m for m in model])
    assert not contrary.uses_model or contrary.value < 2 * alone.value
    gappy = bad_splits(*human, *[None] * 400, model=[*model[:-1], None])
    assert not gappy.uses_model


def test_a_wrong_model_is_corrected_by_what_people_say():
    # It says yes to everything; people say yes to half of what they were asked.
    human = [1.0, 0.0] * 50
    found = bad_splits(*human, *[None] * 500, model=[1.0] * 600)
    assert found.value == pytest.approx(MASSES.split / 2)


@pytest.fixture(scope="module")
def diff():
    kinds = pa.table({"item": list(BASE), "kind": ["x", "x", "x", "y", "y"]})
    return pw.diff(baseline=BASE, experiment=EXP, weights=WEIGHTS, attributes=kinds)


def by_truth(a, b):
    return TRUTH[a] == TRUTH[b]


def test_estimates_of_a_diff(diff):
    questions = diff.questions(2000, seed=1)
    found = diff.estimate(questions, questions.judge_by(by_truth, judge="truth"), slices="kind")
    exact = Oracle(BASE, EXP, WEIGHTS, TRUTH).lift()
    for name, estimate in found.overall.items():
        assert float(exact[name]) in estimate
        assert estimate.value == pytest.approx(float(exact[name]), abs=0.05)
    assert (found.questions, found.answered) == (len(questions), len(questions))
    for value, among in (("x", "abc"), ("y", "de")):
        exact = Oracle(BASE, EXP, WEIGHTS, TRUTH).lift(among)
        for name, estimate in found.slices["kind", value].items():
            assert estimate.value == pytest.approx(float(exact[name]), abs=0.08)
    assert "delta_precision" in repr(found)
    rows = found.to_dicts()
    assert {row["slice"] for row in rows} == {"overall", "kind"}


def test_slices_of_cluster_sizes_and_conditions(diff):
    questions = diff.questions(300)
    judged = questions.judge_by(by_truth, judge="truth")
    found = diff.estimate(questions, judged, slices=["ideal_cluster_size", "kind = 'x'"])
    assert {name for name, _ in found.slices} == {"ideal_cluster_size", "kind = 'x'"}
    exact = Oracle(BASE, EXP, WEIGHTS, TRUTH).lift("abc")
    assert found.slices["ideal_cluster_size", "3-5"]["bad_split_rate"].value == pytest.approx(
        float(exact["bad_split_rate"]), abs=0.1
    )


def test_precision_of_one_clustering():
    base = {"a": 1, "b": 1, "c": 1, "d": 2, "e": 2}
    truth = {"a": 1, "b": 1, "c": 2, "d": 3, "e": 4}
    diff = pw.diff(baseline=base, experiment="singletons")
    questions = diff.questions(1500, seed=1)
    found = diff.estimate(questions, questions.judge_by(lambda a, b: truth[a] == truth[b], judge="truth"))
    exact = pw.evaluate(ideal=truth, actual=base).overall["precision"]
    assert exact in found["precision"]
    assert found["precision"].value == pytest.approx(exact, abs=0.05)
    assert found["delta_precision"].value == pytest.approx(1 - found["precision"].value)


def test_answers_that_follow_count_when_their_turn_came_or_everything_is_answered(diff):
    questions = diff.questions(200)
    numbers = {q.pair: q.number for q in questions}
    # a is not c (split), b is c (split): then a is not b (stable) without asking.
    lines = [("a", "c", "no"), ("b", "c", "yes")]
    judged = Judgements(tuple(make_judgement(numbers[a, b], a, b, x, judge="ada") for a, b, x in lines))
    counted = {c.question.pair: c.human for c in count_answers(questions, judged)}
    assert counted["a", "b"] == 0.0  # the only stable pair: its stratum is complete
    assert counted["c", "d"] is None
    one = make_judgement(numbers["c", "d"], "c", "d", "yes", judge="ada")
    two = make_judgement(None, "d", "e", "no", judge="ada")
    partial = judged + Judgements((one, two))
    counted = {c.question.pair: c.human for c in count_answers(questions, partial)}
    assert counted["c", "d"] == 1.0
    assert counted["d", "e"] == 0.0  # and c is not e: all merge pairs are known
    early = judged + Judgements((two,))
    counted = {c.question.pair: c.human for c in count_answers(questions, early)}
    assert counted["d", "e"] is None  # known, but its turn has not come and others are open
    turn = make_judgement(numbers["d", "e"], "d", "e", "no", judge="ada", kind="derived")
    counted = {c.question.pair: c.human for c in count_answers(questions, early + Judgements((turn,)))}
    assert counted["d", "e"] == 0.0


def test_answers_for_another_diff_answer_without_being_a_sample(diff):
    questions = diff.questions(200)
    other = questions.judge_by(by_truth, judge="truth")
    cached = Judgements(tuple(reuse(other, Judgements(()))))
    assert cached.reached == frozenset()
    found = diff.estimate(questions, cached)
    assert found["delta_precision"].value is not None  # everything is answered
    partial = Judgements(tuple(replace(line) for line in cached.lines[:1]))
    assert diff.estimate(questions, partial).answered <= 1


def test_estimates_refuse_questions_of_another_diff(diff):
    questions = pw.diff(baseline=BASE, experiment=EXP).questions(30)
    with pytest.raises(pw.PointwiseError, match="drawn for another diff"):
        diff.estimate(questions, Judgements(()))


def test_sheets_that_list_everything_give_each_item_its_own_change_of_recall(diff):
    oracle = Oracle(BASE, EXP, WEIGHTS, TRUTH)
    questions = diff.questions(sheets=400, members=10, seed=2)
    counted = count_answers(questions, questions.judge_by(by_truth, judge="truth"))
    seen = {}
    for one in counted:
        seen.setdefault(one.question.sheet.number, []).append(one)
    assert len(seen) == 400
    frequency = Counter()
    for sheet in seen.values():
        item = next(iter(set.intersection(*({c.question.a, c.question.b} for c in sheet))))
        others = {j for c in sheet for j in (c.question.a, c.question.b)} - {item}
        assert others == set().union(*oracle.parts(item)) - {item}
        assert _pooled_delta(sheet) == pytest.approx(float(oracle.row(item)["pooled_delta_recall"]))
        frequency[item] += 1
    for item, weight in WEIGHTS.items():
        assert frequency[item] / 400 == pytest.approx(weight / 10, abs=0.1)


def test_the_change_of_recall_is_estimated_from_sheets(diff):
    questions = diff.questions(sheets=400, members=10, seed=2)
    found = diff.estimate(questions, questions.judge_by(by_truth, judge="truth"))["pooled_delta_recall"]
    assert found.value == pytest.approx(1 / 12, abs=0.05)
    assert 1 / 12 in found
    assert found.questions == len(questions)
    nothing = diff.estimate(questions, Judgements(()))["pooled_delta_recall"]
    assert (nothing.value, nothing.reason) == (None, "no two of 400 sheets are answered")
    assert "pooled_delta_recall" not in diff.estimate(diff.questions(20), Judgements(())).overall


def test_members_of_large_parts_stand_for_their_share():
    base = {f"i{n}": 1 for n in range(30)}
    exp = {f"i{n}": n % 2 for n in range(30)}
    truth = {f"i{n}": n % 3 for n in range(30)}
    weights = {f"i{n}": 1 + n % 4 for n in range(30)}
    diff, oracle = pw.diff(baseline=base, experiment=exp, weights=weights), Oracle(base, exp, weights, truth)
    questions = diff.questions(sheets=300, members=6, seed=1)
    for question in questions:
        item, other = question.a, question.b
        same = exp[item] == exp[other]
        assert question.sheet.part == ("stable" if same else "split")
        assert item != other
    found = diff.estimate(questions, questions.judge_by(lambda a, b: truth[a] == truth[b], judge="truth"))
    assert found["pooled_delta_recall"].value == pytest.approx(float(oracle.lift()["pooled_delta_recall"]), abs=0.06)
    saved = diff.questions(20, sheets=3, seed=1)
    assert saved.design.sizes["sheet"] == 3


def test_sheets_that_are_all_alike_still_have_an_interval():
    base, exp = {"a": 1, "b": 1, "c": 2}, {"a": 1, "b": 2, "c": 2}
    diff = pw.diff(baseline=base, experiment=exp)
    questions = diff.questions(sheets=30)
    found = diff.estimate(questions, questions.judge_by(lambda *_: False, judge="truth"))["pooled_delta_recall"]
    assert found.value == 0
    assert found.low < 0 < found.high
