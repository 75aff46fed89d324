"""One reading of inputs for every door: what is refused, and what is read alike."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise import errors
from pointwise.cli import app

IDEAL = {"a": 1, "b": 1, "c": 2}
ACTUAL = {"a": 1, "b": 2, "c": 2}


def precision(ideal=None, actual=None, **options):
    return pw.evaluate(
        ideal=ideal if ideal is not None else IDEAL, actual=ACTUAL if actual is None else actual, **options
    )


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# Label vectors


LABELS = np.array([0, 0, 1, 1])


def test_a_shuffled_series_against_an_array_is_refused():
    shuffled = pd.Series(LABELS).iloc[[2, 0, 3, 1]]
    with pytest.raises(errors.InputError, match="only their order"):
        pw.evaluate(ideal=shuffled, actual=LABELS[[2, 0, 3, 1]])


def test_series_are_matched_by_their_index():
    shuffled = pd.Series(LABELS).iloc[[2, 0, 3, 1]]
    assert pw.evaluate(ideal=shuffled, actual=pd.Series(LABELS)).overall["precision"] == 1
    assert pw.evaluate(ideal=shuffled, actual=shuffled.iloc[::-1]).overall["recall"] == 1


@pytest.mark.parametrize("form", [np.asarray, list, pd.Series, pl.Series, pa.array, lambda x: iter(list(x))])
def test_labels_are_in_the_order_of_the_items(form):
    assert pw.evaluate(ideal=LABELS, actual=form([5, 5, 7, 7])).overall["f1"] == 1


@pytest.mark.parametrize("form", [list, np.asarray, pa.array, pd.Series, pl.Series, lambda x: pa.chunked_array([x])])
@pytest.mark.parametrize("other", [list, pa.array])
def test_labels_of_different_length_are_refused(form, other):
    for arguments in (
        {"ideal": form([0, 1, 1]), "actual": other([0, 1])},
        {"ideal": other([0]), "actual": form([0, 1])},
    ):
        with pytest.raises(errors.InputError, match="different numbers of labels"):
            pw.evaluate(**arguments)
    with pytest.raises(errors.InputError, match="different numbers of labels"):
        pw.compare(ideal=form([0, 1, 1]), variants={"x": other([0, 1])})
    with pytest.raises(errors.InputError, match="different numbers of labels"):
        pw.distance(form([0, 1, 1]), other([0, 1]))


@pytest.mark.parametrize(
    "source", [np.array(3), np.zeros((2, 2), int), {"x", "y"}, 3, None, np.array([1j, 2j]), ["\ud800", "b"], object()]
)
def test_what_is_no_clustering_is_refused(source):
    with pytest.raises(errors.PointwiseError):
        pw.evaluate(ideal=source, actual=[0, 1])


def test_a_graph_is_refused_with_a_pointer_to_links():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("a", "b"), ("c", "d")])
    with pytest.raises(errors.UsageError, match="Links"):
        pw.evaluate(ideal=graph, actual={"a": 1, "b": 1, "c": 2, "d": 2})
    assert pw.evaluate(ideal=pw.Links(graph), actual={"a": 1, "b": 1, "c": 2, "d": 2}).overall["f1"] == 1


# Tables


@pytest.mark.parametrize(
    "names",
    [
        *(("unique_id_l", "unique_id_r"), ("id1", "id2"), ("id_2", "id_1"), ("left", "right")),
        *(("source_id", "target_id"), ("from", "to"), ("Record.Left", "Record.Right")),
        *(("idL", "idR"), ("leftId", "rightId"), ("src", "dst"), ("record_a", "record_b"), ("ID1", "ID2")),
    ],
)
def test_a_table_of_pairs_is_refused(names):
    pairs = pa.table([["a", "b"], ["b", "c"]], names=list(names))
    with pytest.raises(errors.InputError, match="Links"):
        pw.evaluate(ideal=IDEAL, actual=pairs)
    with pytest.raises(errors.InputError, match="Links"):
        pw.distance(IDEAL, pairs)
    assert pw.evaluate(ideal=IDEAL, actual=pairs, item={"actual": names[0]}).overall.items == 2


@pytest.mark.parametrize(
    "names", [("id", "group"), ("item", "left"), ("id1", "cluster"), ("a", "b"), ("l", "x"), ("idA", "groupB")]
)
def test_other_tables_of_two_columns_are_read(names):
    assert pw.evaluate(ideal=IDEAL, actual=pa.table([list(ACTUAL), list(ACTUAL.values())], names=list(names)))


@pytest.mark.parametrize("first", ["a,1", "x,1", "a,g"])
def test_a_csv_without_a_header_is_refused_unless_it_is_said(tmp_path, first):
    path = write(tmp_path / "t.csv", f"{first}\nb,2\nc,2\n")
    for door in (
        lambda **o: pw.evaluate(ideal=IDEAL, actual=path, **o).overall.items,
        lambda **o: pw.compare(ideal=IDEAL, variants={"v": path}, **o)["v"].overall.items,
        lambda **o: pw.distance_matrix({"i": IDEAL, "t": path}, **o).items,
    ):
        with pytest.raises(errors.SourceError, match=r"header=(False|\{'\w+': False\})"):
            door()
        assert door(header=False) == (2 if first[0] == "x" else 3)


def test_the_header_of_one_table_only(tmp_path):
    truth = write(tmp_path / "truth.csv", "item,cluster\na,1\nb,1\nc,2\n")
    actual = write(tmp_path / "t.csv", "a,1\nb,2\nc,2\n")
    found = pw.evaluate(ideal=truth, actual=actual, header={"actual": False})
    assert found.overall["precision"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("setting", ["item", "cluster", "unassigned", "header"])
def test_a_setting_for_a_table_that_there_is_not_is_refused(setting):
    given = {setting: {"actaul": {"unassigned": "drop", "header": False}.get(setting, "item")}}
    doors = [
        lambda: pw.evaluate(ideal=IDEAL, actual=ACTUAL, **given),
        lambda: pw.compare(ideal=IDEAL, variants={"x": ACTUAL, "y": IDEAL}, **given),
        lambda: pw.diff(baseline=IDEAL, experiment=ACTUAL, **given),
    ]
    for door in doors:
        with pytest.raises(errors.UsageError, match="'actaul', which is not one of"):
            door()


def test_headers_that_nobody_knows_are_fine(tmp_path):
    path = write(tmp_path / "t.csv", "record,group\na,1\nb,2\nc,2\n")
    assert pw.evaluate(ideal=IDEAL, actual=path).overall.items == 3


def test_a_csv_without_a_header_on_the_command_line(tmp_path):
    truth, actual = write(tmp_path / "i.csv", "a,1\nb,1\nc,2\n"), write(tmp_path / "a.csv", "a,1\nb,2\nc,2\n")
    result = CliRunner().invoke(app, ["evaluate", str(truth), str(actual), "--format", "json"])
    assert result.exit_code == 2
    assert "--headerless ideal" in result.stderr
    result = CliRunner().invoke(app, ["evaluate", str(truth), str(actual), "--no-header", "--format", "json"])
    assert '"items": 3' in result.stdout


def test_one_csv_without_a_header_on_the_command_line(tmp_path):
    """What a message advises must not take the header of the other file for an item."""
    truth, actual = (
        write(tmp_path / "i.csv", "item,cluster\na,1\nb,1\nc,2\n"),
        write(tmp_path / "a.csv", "a,1\nb,2\nc,2\n"),
    )

    def call(*words):
        return CliRunner().invoke(app, ["evaluate", str(truth), str(actual), "--format", "json", *words])

    assert "pass --headerless actual" in call().stderr
    found = json.loads(call("--headerless", "actual").stdout)
    assert found["coverage"]["ideal_items"] == found["overall"]["items"] == 3
    assert "one of ideal, actual, weights, attributes" in call("--headerless", "actaul").stderr
    assert "nothing more" in call("--headerless", "actual", "--no-header").stderr
    assert "'act=x' does not begin with the name of a table" in call("--item", "ideal=item", "--item", "act=x").stderr


@pytest.mark.parametrize(
    ("command", "advice"),
    [
        ("evaluate", "give --actual-links --left id_l --right id_r"),
        ("diff", "give the clusters that 'pointwise cluster' makes of them"),
    ],
)
def test_a_table_of_pairs_on_the_command_line(tmp_path, command, advice):
    truth, pairs = write(tmp_path / "i.csv", "item,cluster\na,1\nb,1\n"), write(tmp_path / "p.csv", "id_l,id_r\na,b\n")
    assert advice in CliRunner().invoke(app, [command, str(truth), str(pairs)]).stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [('item,cluster\n1,a\n2,"b\n3,c\n', "opened in line 3"), ('item,cluster\r\n1,a\n2,b\r\n3,"c\n', "line end")],
)
def test_what_is_wrong_with_a_csv_file_is_said_in_our_words(tmp_path, text, said):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    with pytest.raises(errors.SourceError, match=said):
        pw.evaluate(ideal=path, actual={"1": 1}).overall.to_dict()


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        (pd.DataFrame({0: list(ACTUAL), 1: list(ACTUAL.values())}), {}),
        (
            pd.DataFrame({0: list(ACTUAL), 1: list(ACTUAL.values()), 2: 0}),
            {"item": {"actual": "0"}, "cluster": {"actual": "1"}},
        ),
        (pl.DataFrame({"": list(ACTUAL), "x.y": list(ACTUAL.values())}), {}),
    ],
)
def test_names_of_columns_that_are_no_words(frame, options):
    assert pw.evaluate(ideal=IDEAL, actual=frame, **options).overall["precision"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([["a", 1, 2]], columns=["item", "cluster", "cluster"]),
        pd.DataFrame([["a", 1]], columns=pd.MultiIndex.from_tuples([("x", "item"), ("x", "cluster")])),
        pa.table([["a"], [1], [2]], names=["item", "cluster", "cluster"]),
        pd.DataFrame({"item": ["a", "b"], "cluster": [1j, 2j]}),
        pd.DataFrame({"item": pd.Series(["a", "\ud800"], dtype=object), "cluster": [1, 2]}),
    ],
)
def test_tables_that_cannot_be_read_are_refused(frame):
    with pytest.raises(errors.InputError):
        pw.evaluate(ideal=IDEAL, actual=frame)


@pytest.mark.parametrize("extra", [("b", 1), ("d", 3), ("d", 2)])
def test_an_item_twice_in_the_truth_is_refused_also_if_it_is_missing(extra):
    items, clusters = [*IDEAL, "d", extra[0]], [*IDEAL.values(), 3, extra[1]]
    with pytest.raises(errors.RepeatedItemError):
        pw.evaluate(ideal=pa.table({"item": items, "cluster": clusters}), actual=ACTUAL)


# Parameters


def test_weight_and_weights_given_in_place_of_each_other():
    with pytest.raises(errors.UsageError, match="weights=") as error:
        precision(weight={f"item {n}": 1.0 for n in range(10_000)})
    assert len(str(error.value)) < 200
    frame = pa.table({"item": list(ACTUAL), "cluster": list(ACTUAL.values()), "size": [1, 2, 3]})
    for door in (
        lambda: precision(actual=frame, weights="size"),
        lambda: pw.compare(ideal=IDEAL, variants={"v": frame}, weights="size"),
        lambda: pw.distance(frame, frame, weights="size"),
    ):
        with pytest.raises(errors.SourceError, match="weight='size'"):
            door()


def test_metrics_are_named_or_given():
    given = precision(metrics=[pw.METRICS["recall"], "f2", "recall"]).metrics
    assert [m.name for m in given] == ["recall", "f2"]
    assert [m.name for m in precision(metrics=pw.METRICS["f1"]).metrics] == ["f1"]
    evaluation = precision()
    assert "accuracy" in evaluation.by_item(metrics=[pw.METRICS["accuracy"]]).columns
    with pytest.raises(errors.UsageError):
        precision(metrics=[3])


@pytest.mark.parametrize(
    "label", [-1, "-1", np.int64(-1), [-1], ["-1"], (np.int32(-1),), np.array([-1]), pd.Series([-1])]
)
@pytest.mark.parametrize("kind", [int, str])
def test_a_label_that_means_no_cluster(label, kind):
    actual = {"a": kind(-1), "b": kind(-1), "c": kind(2)}
    found = pw.evaluate(ideal=IDEAL, actual=actual, unassigned="drop", unassigned_labels=label)
    assert found.overall.items == 1


def test_labels_are_compared_as_they_are_written(tmp_path):
    path = write(tmp_path / "t.csv", "item,cluster\na,0\nb,00\nc,00\n")
    arguments = ["evaluate", str(write(tmp_path / "i.csv", "item,cluster\na,1\nb,1\nc,2\n")), str(path)]
    arguments += ["--unassigned", "drop", "--unassigned-label", "00", "--format", "json"]
    assert '"items": 1,' in CliRunner().invoke(app, arguments).stdout
    with pytest.raises(errors.UsageError, match="not an integer"):
        pw.evaluate(ideal=IDEAL, actual=ACTUAL, unassigned="drop", unassigned_labels="00")


@pytest.mark.parametrize("kind", [int, str])
def test_a_policy_that_leaves_minus_one_a_cluster_is_refused(kind):
    actual = {"a": kind(-1), "b": kind(-1), "c": kind(2)}
    with pytest.raises(errors.UsageError, match="unassigned_labels=-1"):
        pw.evaluate(ideal=IDEAL, actual=actual, unassigned="singleton")
    found = pw.evaluate(ideal=IDEAL, actual=actual, unassigned="singleton", unassigned_labels=[None])
    assert found.overall["precision"] == 1


@pytest.mark.parametrize("item", [1.7, True, "1.0", float("inf"), float("nan"), [1]])
def test_only_an_item_itself_is_explained(item):
    evaluation = pw.evaluate(ideal={1: 1, 2: 1}, actual={1: 1, 2: 2})
    with pytest.raises(errors.NotFoundError):
        evaluation.explain(item=item)
    assert evaluation.explain(item=1.0).item == evaluation.explain(item="1").item == 1


@pytest.mark.parametrize(
    "wrong", [{"outside": ["x"] * 9999}, {"item": [1]}, {"cluster": {"actual": 3}}, {"missing": None}]
)
def test_messages_quote_little(wrong):
    with pytest.raises(errors.PointwiseError) as error:
        precision(**wrong)
    assert len(str(error.value)) < 400


# Distances are read as evaluations are


def test_distances_refuse_ids_that_a_policy_makes_up():
    with pytest.raises(errors.InputError, match="makes up"):
        pw.distance({"a": "<alone> b", "b": "x"}, {"a": "y"}, missing="singleton")


def test_distances_need_to_know_the_column_of_weights():
    weights = pa.table({"item": list(IDEAL), "w": [1, 2, 3], "v": [9, 9, 9]})
    with pytest.raises(errors.MissingColumnError, match="weight="):
        pw.distance(IDEAL, ACTUAL, weights=weights)
    assert pw.distance(IDEAL, ACTUAL, weights=weights, weight="w") == pw.distance(
        IDEAL, ACTUAL, weights={"a": 1, "b": 2, "c": 3}
    )


@pytest.mark.parametrize("ids", [["01", "2"], ["1", "2"]])
def test_distances_match_ids_as_evaluations_do(ids):
    texts = dict(zip(ids, (1, 1), strict=True))
    with pytest.raises(errors.NoCommonItemsError):
        pw.distance({1: 1, 2: 1}, {1: 1, 2: 2}, weights=texts)
    with pytest.raises(errors.NoCommonItemsError):
        pw.evaluate(ideal={1: 1, 2: 1}, actual={1: 1, 2: 2}, weights=texts)
