"""Questions: drawn in proportion to what they weigh, reproducible, and stored so that answers stay theirs."""

from __future__ import annotations

import json
import math
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.diffs.questions import allocate
from pointwise.diffs.sampling import Sampler, uniform
from pointwise.engines import start_engine
from pointwise.engines.queries import from_rows
from pointwise.errors import NotFoundError, RunError, UsageError

from diff_oracle import BASE, EXP, TRUTH, WEIGHTS, Oracle
from strategies import REAL, cases

DRAWS = 4000


def worked(**settings):
    return pw.diff(baseline=BASE, experiment=EXP, weights=WEIGHTS, **settings)


def frequencies(diff, sizes, seed):
    drawn = Sampler(diff.evidence, seed).draw(sizes)
    counts = Counter((d.stratum, tuple(sorted(d.items))) for d in drawn)
    return {key: number / sizes[key[0]] for key, number in counts.items()}


def check_frequencies(found, oracle, number):
    drawn = {stratum for stratum, _ in found}
    for stratum, pairs in oracle.pairs().items():
        if stratum not in drawn:
            continue
        total = sum(pairs.values())
        for pair, mass in pairs.items():
            expected = float(mass / total)
            error = 5 * math.sqrt(expected * (1 - expected) / number) + 5 / number  # rare pairs are not normal
            assert abs(found.get((stratum, tuple(sorted(pair))), 0.0) - expected) < error


def test_pairs_are_drawn_in_proportion_to_their_mass():
    sizes = {"split": DRAWS, "merge": DRAWS, "stable+": 100}
    found = frequencies(worked(), sizes, seed=7)
    assert sum(found.values()) == pytest.approx(3)
    check_frequencies(found, Oracle(BASE, EXP, WEIGHTS), DRAWS)


@given(cases(REAL, same_items=True), st.integers(0, 9))
def test_pairs_of_any_diff_are_drawn_in_proportion_to_their_mass(case, seed):
    diff = pw.diff(baseline=case.ideal, experiment=case.actual, weights=case.weights)
    sizes = {stratum: 400 for stratum in ("split", "merge", "stable+", "stable-") if diff.masses.of(stratum) > 1e-9}
    if sizes:
        found = frequencies(diff, sizes, seed)
        assert sum(found.values()) == pytest.approx(len(sizes))
        check_frequencies(found, Oracle(case.ideal, case.actual, case.weights), 400)


def test_rare_rows_beside_heavy_ones_in_one_bucket_are_drawn_right():
    # One item with nearly all the weight: the other one of a stable pair must never be the same.
    base = dict.fromkeys("abcdef", 1) | {"z": 2}
    exp = dict.fromkeys("abcdef", 1) | {"z": 1}
    weights = {"a": 1e9, "b": 1, "c": 1, "d": 1, "e": 1, "f": 1, "z": 1}
    diff = pw.diff(baseline=base, experiment=exp, weights=weights)
    drawn = Sampler(diff.evidence, 3).draw({"stable-": 500, "merge": 500})
    assert all(d.items[0] != d.items[1] for d in drawn)
    pairs = Counter(frozenset(d.items) for d in drawn if d.stratum == "stable-")
    assert all("a" in pair for pair in pairs)
    assert len(pairs) == 5


def test_the_same_seed_gives_the_same_questions_whatever_the_threads_and_the_order_of_rows():
    data = pw.datasets.patentsview()
    sides = [pq.read_table(data.releases[name]) for name in ("2021-12-30", "2022-06-30")]
    found = []
    for threads, step in ((1, 1), (3, -1)):
        engine = start_engine(threads=threads)
        shuffled = [side.take(list(range(len(side)))[::step]) for side in sides]
        diff = pw.diff(baseline=shuffled[0], experiment=shuffled[1], engine=engine)
        found.append([(q.number, q.a, q.b, q.stratum, q.draws) for q in diff.questions(120, seed=4)])
        engine.close()
    assert found[0] == found[1]
    assert len(found[0]) > 100


@pytest.mark.spark
def test_spark_draws_the_same_questions(spark):
    from pointwise.engines import start_spark

    here = worked().questions(40, seed=5)
    there = worked(engine=start_spark(spark)).questions(40, seed=5)
    assert here.questions == there.questions  # with their records and contexts
    assert here.design.checksum == there.design.checksum


def test_engines_decide_uniform_numbers_as_python_does():
    engine = start_engine()
    texts = ["", "a", "ä|1", "x" * 1000]
    frame = from_rows(pa.table({"text": texts}), engine)
    found = {row["text"]: row["u"] for row in engine.collect(engine.uniform(frame, "text", "u")).to_pylist()}
    assert found == {text: uniform(text) for text in texts}
    engine.close()


def test_another_seed_and_another_round_draw_afresh():
    diff = worked()
    one, other = (Counter((q.a, q.b, q.draws) for q in diff.questions(60, seed=seed)) for seed in (1, 2))
    assert one != other
    first = diff.questions(60, seed=1)
    both = diff.questions(60, after=first)
    assert both[: len(first)] == first[:]
    assert {q.round for q in both[len(first) :]} == {2}
    assert [q.number for q in both] == list(range(1, len(both) + 1))
    assert both.draws == 120


def test_a_pair_drawn_twice_is_one_question():
    questions = worked().questions(100, seed=1)
    assert questions.draws == 100
    assert len(questions) == len({(q.stratum, q.pair) for q in questions}) <= 6


@given(
    st.dictionaries(st.sampled_from("abcd"), st.floats(1e-6, 1), min_size=1),
    st.integers(4, 500),
    st.dictionaries(st.sampled_from("abcd"), st.integers(0, 50)),
)
def test_allocation_gives_everybody_something_and_adds_up(sizes, number, before):
    found = allocate(sizes, number, before)
    assert sum(found.values()) == number
    assert all(found[s] + before.get(s, 0) >= 1 for s in sizes)
    everything = number + sum(before.get(s, 0) for s in sizes)
    if not before:
        for s, size in sizes.items():
            assert found[s] <= everything * size / sum(sizes.values()) + len(sizes)


def test_half_width_decides_how_many():
    diff = worked()
    total = diff.masses.total
    questions = diff.questions(half_width=0.05)
    assert questions.draws == math.ceil((1.959964 / 2 * total / 0.05) ** 2)
    assert diff.questions(half_width=0.2).draws == max(30, math.ceil((1.959964 / 2 * total / 0.2) ** 2))
    assert questions.design.half_width == 0.05


def test_answers_decide_what_the_next_round_asks():
    diff = worked()
    first = diff.questions(60)
    sure = first.judge_by(lambda a, b: "a" in (a, b), judge="ada")  # split pairs differ, the others do not
    more = diff.questions(100, after=first, judgements=sure)
    alike = diff.questions(100, after=first)
    assert more.design.rounds[1]["split"] > alike.design.rounds[1]["split"]
    with pytest.raises(UsageError, match="are enough for half_width"):
        diff.questions(half_width=0.3, after=first)


def test_errors_say_what_to_do():
    diff = worked()
    with pytest.raises(UsageError, match="not both"):
        diff.questions()
    with pytest.raises(UsageError, match="not both"):
        diff.questions(5, half_width=0.1)
    with pytest.raises(UsageError, match="draw from 1 to"):
        diff.questions(0)
    with pytest.raises(UsageError, match="kinds of pairs"):
        diff.questions(2)
    with pytest.raises(UsageError, match="between 0 and 1"):
        diff.questions(half_width=2)
    with pytest.raises(UsageError, match="Ask for less precision"):
        diff.questions(half_width=1e-6)
    other = pw.diff(baseline=BASE, experiment=EXP)
    with pytest.raises(UsageError, match="drawn for another diff"):
        other.questions(5, after=diff.questions(5))
    renamed = pw.diff(baseline={i: f"c{c}" for i, c in BASE.items()}, experiment=EXP, weights=WEIGHTS)
    with pytest.raises(UsageError, match="other names"):
        renamed.questions(5, after=diff.questions(5))


def test_questions_are_stored_with_their_records(tmp_path):
    attributes = pa.table({"item": list(BASE), "name": [f"n{i}" for i in BASE], "year": [2000, 2001, 2002, 2003, None]})
    diff = worked(attributes=attributes)
    questions = diff.questions(30, seed=9)
    questions.save(tmp_path / "q")
    loaded = pw.read_questions(tmp_path / "q")
    assert loaded.questions == questions.questions
    assert loaded.design == questions.design
    question = next(q for q in loaded if "c" in (q.a, q.b))
    assert question.records["ab".index("a" if question.a == "c" else "b")] == {"name": "nc", "year": 2002}
    assert sorted(p.name for p in (tmp_path / "q").iterdir()) == ["design.json", "questions.parquet"]


def test_a_further_round_continues_what_is_stored_and_nothing_else_replaces_it(tmp_path):
    diff = worked()
    first = diff.questions(30, seed=1)
    first.save(tmp_path)
    diff.questions(30, after=first).save(tmp_path)
    assert pw.read_questions(tmp_path).draws == 60
    with pytest.raises(RunError, match="of its own"):
        diff.questions(30, seed=2).save(tmp_path)


def test_a_round_without_its_design_does_not_count(tmp_path):
    # As if the writer had died between the two files.
    diff = worked()
    first = diff.questions(30, seed=1)
    first.save(tmp_path)
    design = (tmp_path / "design.json").read_text()
    diff.questions(30, after=first).save(tmp_path)
    (tmp_path / "design.json").write_text(design)
    assert pw.read_questions(tmp_path).questions == first.questions


def test_questions_that_cannot_be_read(tmp_path):
    with pytest.raises(NotFoundError, match="no questions"):
        pw.read_questions(tmp_path)
    worked().questions(10).save(tmp_path)
    facts = json.loads((tmp_path / "design.json").read_text())
    (tmp_path / "design.json").write_text(json.dumps(facts | {"format_version": 99}))
    with pytest.raises(RunError, match="Install a newer one"):
        pw.read_questions(tmp_path)
    (tmp_path / "design.json").write_text("{}")
    with pytest.raises(RunError, match="damaged"):
        pw.read_questions(tmp_path)


def test_a_truth_can_judge():
    questions = worked().questions(30)
    judged = questions.judge_by(lambda a, b: TRUTH[a] == TRUTH[b], judge="truth")
    assert judged.reached == {q.number for q in questions}
    assert {v.answer for v in judged.verdicts.values()} == {"yes", "no"}
    assert len(questions.judge_by(lambda *_: None, judge="nobody")) == 0


@pytest.mark.parametrize("wanted", [{"n": 2.5}, {"n": "3"}, {"half_width": "x"}, {"half_width": True}])
def test_what_is_no_number_of_questions_is_refused(wanted):
    with pytest.raises(UsageError):
        pw.diff(baseline={"a": 1, "b": 1}, experiment={"a": 1, "b": 2}).questions(**wanted)
