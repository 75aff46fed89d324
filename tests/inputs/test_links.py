"""Links make the clusters that a walk from item to item would find."""

from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pointwise as pw
from pointwise.errors import ContradictionError, InputError, MissingColumnError, PointwiseError, SourceError, UsageError
from pointwise.inputs import graphs

PAIRS = pa.table({"l": ["b", "c", "e"], "r": ["a", "b", "d"], "p": [0.9, 0.5, 0.1]})


def clusters(links, **options) -> dict:
    table = pw.cluster_links(links, **options)
    return dict(zip(table["item"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def walk(pairs: list[tuple[int, int]], items: set[int]) -> dict[int, int]:
    """Spread the least id along the pairs until nothing changes."""
    least = {item: item for item in items}
    for _ in items:
        for a, b in pairs:
            least[a] = least[b] = min(least[a], least[b])
    return least


@given(
    st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(0, 4)), min_size=1, max_size=20).map(
        lambda links: [(a, b, s / 4) for a, b, s in links if a != b] or [(0, 1, 1.0)]
    ),
    st.integers(0, 4),
    st.sets(st.integers(-12, 12), max_size=4),
)
def test_clusters_are_connected_components_named_by_their_least_item(links, quarter, alone):
    threshold = quarter / 4
    items = {end for a, b, _ in links for end in (a, b)} | alone
    linked = [(a, b) for a, b, score in links if score >= threshold]
    found = clusters(links, threshold=threshold, items=sorted(alone) or None)
    assert found == walk(linked, items)


@pytest.mark.parametrize("batch", [1, 2, 3])
def test_batches_of_links_make_the_same_clusters(batch, monkeypatch):
    links = [(1, 2, 0.9), (8, 9, 0.9), (2, 3, 0.2), (3, 4, 0.9), (9, 1, 0.7), (5, 6, 0.1), (4, 7, 0.8)]
    monkeypatch.setattr(graphs, "_BATCH", batch)
    assert clusters(links, threshold=0.5) == {1: 1, 2: 1, 3: 3, 4: 3, 5: 5, 6: 6, 7: 3, 8: 1, 9: 1}


def test_every_form_of_table_gives_the_same_clusters(tmp_path):
    pl.DataFrame(PAIRS).write_csv(tmp_path / "links.csv")
    pl.DataFrame(PAIRS).write_parquet(tmp_path / "links.parquet")
    forms = [PAIRS, PAIRS.to_pandas(), pl.DataFrame(PAIRS), tmp_path / "links.csv", str(tmp_path / "links.parquet")]
    for form in forms:
        found = clusters(form, left="l", right="r", score="p", threshold=0.5)
        assert found == {"a": "a", "b": "a", "c": "a", "d": "d", "e": "e"}


def test_pairs_without_scores_come_from_lists_and_multi_indexes():
    pairs = [("a", "b"), ("c", "b")]
    expected = {"a": "a", "b": "a", "c": "a"}
    assert clusters(pairs) == clusters(pd.MultiIndex.from_tuples(pairs)) == clusters(dict.fromkeys(pairs).keys())
    assert clusters(pairs) == expected


def test_ids_of_several_columns_match_those_of_a_clustering():
    links = pa.table({"s_l": ["x", "x"], "i_l": [1, 2], "s_r": ["y", "y"], "i_r": [1, 2]})
    alone = pd.DataFrame({"source": ["z"], "id": [1]})
    given = pw.Links(links, left=["s_l", "i_l"], right=["s_r", "i_r"], items=alone)
    truth = pa.table({"source": ["x", "y", "z"], "id": [1, 1, 1], "entity": [7, 7, 8]})
    evaluation = pw.evaluate(ideal=truth, actual=given, item=["source", "id"], cluster="entity")
    assert (evaluation.overall["recall"], evaluation.coverage.common_items) == (1.0, 3)


def test_untyped_links_match_integers(tmp_path):
    (tmp_path / "links.csv").write_text("left,right\n1,2\n3,10\n")
    evaluation = pw.evaluate(ideal={1: 0, 2: 0, 3: 1, 10: 1}, actual=pw.Links(tmp_path / "links.csv"))
    assert evaluation.overall["f1"] == 1.0


def test_links_take_the_place_of_clusterings_on_both_sides():
    truth = pw.Links([("a", "b", "yes"), ("b", "c", "no")], answer="same")
    comparison = pw.compare(
        ideal=truth,
        variants={t: pw.Links(PAIRS, left="l", right="r", score="p", threshold=t) for t in (0.5, 0.9)},
        metrics=["precision"],
    )
    assert [e.overall["precision"] for e in comparison.evaluations.values()] == [pytest.approx(5 / 9), 1.0]


def judged(*rows, **options):
    table = pa.table({"a": [r[0] for r in rows], "b": [r[1] for r in rows], "same": [r[2] for r in rows]})
    return clusters(table, left="a", right="b", answer="same", **options)


def test_answers_cluster_by_yes_and_keep_apart_by_no():
    for yes, no in (("Yes", "no "), (True, False), (1, 0)):
        assert judged((1, 2, yes), (2, 3, no), (4, 3, yes)) == {1: 1, 2: 1, 3: 3, 4: 3}


def test_contradictions_are_refused_with_the_path_of_yeses():
    rows = [(1, 2, "yes"), (3, 2, "yes"), (3, 4, "yes"), (1, 9, "yes"), (9, 4, "yes"), (1, 3, "no"), (7, 8, "yes")]
    with pytest.raises(
        ContradictionError, match=r"1 and 3 do not belong together, but 1 = 2 = 3 do.*contradictions='drop'"
    ) as caught:
        judged(*rows)
    (found,) = caught.value.contradictions
    assert (found.pair, found.chain) == ((1, 3), (1, 2, 3))
    assert judged(*rows, contradictions="drop") == {7: 7, 8: 7}


def test_a_pair_answered_both_ways_contradicts_itself():
    with pytest.raises(ContradictionError, match="5 and 6 do not belong together, but 5 = 6 do"):
        judged((6, 5, "yes"), (5, 6, "no"))


@pytest.mark.parametrize(
    ("links", "options", "error", "message"),
    [
        ([("a", "a")], {}, InputError, "from an item to itself, e.g. 'a'"),
        ([("a", "b", float("nan"))], {"threshold": 0.5}, InputError, "without a score that is a finite number"),
        ([("a", "b", None), ("a", "c", 0.1)], {"threshold": 0.5}, InputError, "e.g. that of 'a' and 'b'"),
        ([("a", "b", 0.5)], {"score": "score"}, UsageError, "need threshold="),
        ([("a", "b")], {"threshold": 0.5}, MissingColumnError, "need score="),
        ([("a", "b")], {"threshold": float("nan")}, UsageError, "not a finite number"),
        ([("a", None), ("b", "c")], {}, InputError, "1 item without an id"),
        ([("a", 1)], {}, PointwiseError, "integers.*text"),
        ([("a",)], {}, InputError, "pairs of items"),
        ([("\ud800", "a")], {}, InputError, "make all item ids"),
        ([("a", "b")], {"items": 5}, UsageError, "a list of ids, not 5"),
        ([("a", "b")], {"items": ["c", 1]}, PointwiseError, "all integers or all text"),
        ([("a", "b")], {"items": ["\ud800"]}, PointwiseError, "not Unicode"),
        ({"a": "b"}, {}, UsageError, "Cannot read links from a dict"),
        (PAIRS, {}, MissingColumnError, "need left=... and right=...: .*'l', 'r', 'p'"),
        (PAIRS, {"left": "l", "right": "x"}, MissingColumnError, "no column 'x'"),
        (PAIRS, {"left": "l", "right": "l"}, UsageError, "different ones"),
        (PAIRS, {"left": "l", "right": "r", "answer": "p"}, InputError, "neither yes nor no"),
        (PAIRS, {"left": "l", "right": "r", "score": "l", "threshold": 1}, InputError, "finite number"),
        (PAIRS.slice(0, 0), {"left": "l", "right": "r"}, InputError, "no rows"),
    ],
)
def test_mistakes_are_told(links, options, error, message):
    with pytest.raises(error, match=message):
        pw.cluster_links(links, **options)


@pytest.mark.parametrize("first", ["a,b", "x,a", "1,2", "b,7.5"])
def test_links_without_a_header_are_refused(tmp_path, first):
    path = tmp_path / "links.csv"
    path.write_text(f"{first}\nb,c\nc,a\n", encoding="utf-8")
    with pytest.raises(SourceError, match="looks like data"):
        pw.cluster_links(path)
    with pytest.raises(SourceError, match="looks like data"):
        pw.evaluate(ideal={"a": 1, "b": 1, "c": 2}, actual=pw.Links(path))
    left, right = first.split(",")
    assert pw.cluster_links(path, left=left, right=right).num_rows == 3
