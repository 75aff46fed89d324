"""What other tools write is read as it comes, and what could be read in two ways is refused."""

from __future__ import annotations

import gzip
from fractions import Fraction
from typing import get_args

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import pointwise as pw
from pointwise.cli import app
from pointwise.errors import InputError, MissingColumnError, MissingValueError, PointwiseError, SourceError, UsageError
from pointwise.inputs.layouts import LAYOUTS
from pointwise.inputs.options import LayoutName

TRUTH = {"a": 1, "b": 1, "c": 2, "d": 2}


def clusters_of(links, **options) -> dict:
    table = pw.cluster_links(links, **options)
    return dict(zip(table["item"].to_pylist(), table["cluster"].to_pylist(), strict=True))


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


# Tables that are known by their columns

SPLINK = pa.table(
    {"cluster_id": ["a", "a", "c", "d"], "unique_id": ["a", "b", "c", "d"], "name": ["Ann", "Anne", "Bob", "Rob"]}
)
DATASETS = SPLINK.append_column("source_dataset", pa.array(["x", "y", "x", "y"]))
DEDUPE = pa.table(
    {
        "Cluster ID": [0, 0, 1, 2],
        "confidence_score": [0.9, 0.8, 0.7, 1.0],
        "Id": ["a", "b", "c", "d"],
        "n": [1, 2, 3, 4],
    }
)
ZINGG = pa.table(
    {
        "z_minScore": [0.9, 0.9, 0.0, 0.0],
        "z_maxScore": [0.9, 0.9, 0.0, 0.0],
        "z_cluster": [7, 7, 8, 9],
        "id": ["a", "b", "c", "d"],
        "fname": ["ann", "anne", "bob", "rob"],
    }
)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        (SPLINK, "read as Splink's clusters: item = unique_id; cluster = cluster_id"),
        (DEDUPE, "read as dedupe's clusters: item = Id; cluster = Cluster ID"),
        (ZINGG, "read as Zingg's clusters: item = id; cluster = z_cluster"),
        (
            ZINGG.rename_columns(["Z_MINSCORE", "Z_MAXSCORE", "Z_CLUSTER", "ID", "FNAME"]),
            "item = ID; cluster = Z_CLUSTER",
        ),
    ],
    ids=["splink", "dedupe", "zingg", "zingg in capitals"],
)
def test_a_table_is_recognised_and_said_so(table, told, tmp_path):
    forms = [table, table.to_pandas()]
    forms.append(tmp_path / "clusters.csv")
    table.to_pandas().to_csv(forms[-1], index=False)
    for form in forms:
        evaluation = pw.evaluate(ideal=TRUTH, actual=form)
        assert (evaluation.overall["precision"], evaluation.overall["recall"]) == (1.0, 0.75)
        assert told in evaluation.summary()[0]
        assert told in repr(evaluation)


def test_source_datasets_are_part_of_an_item_and_not_of_a_cluster():
    truth = DATASETS.select(["source_dataset", "unique_id"]).append_column("cluster", pa.array([1, 1, 2, 2]))
    evaluation = pw.evaluate(ideal=truth, actual=DATASETS)
    assert evaluation.overall["recall"] == 0.75
    assert evaluation.summary()[:2] == [
        "Ideal clustering: read as Splink's labelled records: item = source_dataset, unique_id; cluster = cluster",
        "Actual clustering: read as Splink's clusters: item = source_dataset, unique_id; cluster = cluster_id",
    ]


def test_a_comparison_says_it_once_for_all_variants():
    comparison = pw.compare(ideal=TRUTH, variants={"one": SPLINK, "other": SPLINK}, layout="splink")
    (note,) = comparison.notes
    assert note == "Actual clustering: read as Splink's clusters: item = unique_id; cluster = cluster_id"


def test_columns_that_a_user_names_win():
    table = SPLINK.append_column("best", pa.array([1, 1, 2, 2]))
    evaluation = pw.evaluate(ideal=TRUTH, actual=table, item={"actual": "unique_id"}, cluster={"actual": "best"})
    assert evaluation.overall["recall"] == 1.0
    assert "Splink" not in repr(evaluation)
    half = pw.evaluate(ideal=TRUTH, actual=table, cluster={"actual": "best"})
    assert half.overall["recall"] == 1.0
    assert half.summary()[0] == "Actual clustering: read as Splink's clusters: item = unique_id"


@pytest.mark.parametrize(("column", "parameter"), [("cluster", "cluster"), ("item", "item")])
def test_a_table_with_two_meanings_is_refused(column, parameter):
    table = SPLINK.append_column(column, pa.array(["a", "b", "c", "d"]))
    with pytest.raises(InputError, match=f"looks like Splink's clusters.* has a column '{column}' too") as caught:
        pw.evaluate(ideal=TRUTH, actual=table)
    assert f"{parameter}='{column}', or layout='splink'" in str(caught.value)
    assert pw.evaluate(ideal=TRUTH, actual=table, layout="splink").overall["recall"] == 0.75
    own = {"item": "item", "cluster": "cluster_id"} if column == "item" else {"item": "unique_id", "cluster": "cluster"}
    chosen = {parameter: {"actual": name} for parameter, name in own.items()}
    assert pw.evaluate(ideal=TRUTH, actual=table, **chosen).overall["precision"] == 1.0


@pytest.mark.parametrize(("table", "title"), [(DEDUPE, "dedupe's clusters"), (ZINGG, "Zingg's clusters")])
def test_a_tool_that_keeps_its_users_ids_needs_to_be_told_which(table, title):
    unnamed = table.rename_columns(["record" if name.lower() == "id" else name for name in table.column_names])
    with pytest.raises(MissingColumnError, match=f"looks like {title} and has no column 'item'"):
        pw.evaluate(ideal=TRUTH, actual=unnamed)
    assert pw.evaluate(ideal=TRUTH, actual=unnamed, item={"actual": "record"}).overall["recall"] == 0.75


def test_attributes_are_found_by_a_tools_own_id():
    evaluation = pw.evaluate(ideal=TRUTH, actual=SPLINK, attributes=SPLINK.select(["unique_id", "name"]), slices="name")
    assert {row["name"]: row["recall"] for row in evaluation.by_slice().to_dicts()}["Bob"] == 0.5
    later = pw.evaluate(ideal=TRUTH, actual=SPLINK).with_attributes(SPLINK.select(["unique_id", "name"]))
    assert later.by_slice("name").to_dicts()


def test_a_stored_run_keeps_how_it_was_read(tmp_path):
    pw.evaluate(ideal=TRUTH, actual=SPLINK, layout="splink").save(tmp_path / "run")
    loaded = pw.load(tmp_path / "run")
    assert loaded.options.layout == "splink"
    assert "read as Splink's clusters" in loaded.summary()[0]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"layout": "splnk"}, UsageError, "layout='splnk' is not one of 'splink', 'dedupe'"),
        ({"layout": {"actual": "splnk"}}, UsageError, "is not one of"),
        ({"layout": {"links": "splink"}}, UsageError, "names 'links'"),
        ({"layout": "zingg"}, MissingColumnError, "is not in the layout 'zingg', which has 'z_cluster'"),
        ({"layout": "recordlinkage"}, UsageError, "Give them as pw.Links"),
        ({"layout": {"ideal": "splink"}}, MissingColumnError, "ideal clustering .* 'unique_id', 'cluster_id' or"),
    ],
)
def test_a_layout_that_does_not_fit_is_refused(options, error, message):
    with pytest.raises(error, match=message):
        pw.evaluate(ideal=TRUTH, actual=SPLINK, **options)


def test_every_layout_has_a_name_that_can_be_asked_for():
    assert set(get_args(LayoutName)) == {layout.name for layout in LAYOUTS}


# Links

PREDICTIONS = pa.table(
    {
        "match_weight": [9.0, 3.0, -5.0],
        "match_probability": [0.99, 0.9, 0.03],
        "source_dataset_l": ["x", "x", "x"],
        "unique_id_l": [1, 2, 1],
        "source_dataset_r": ["y", "y", "y"],
        "unique_id_r": [1, 2, 2],
    }
)


def test_predictions_are_clustered_and_swept_as_they_come():
    told = (
        "Read as Splink's predictions: left = source_dataset_l, unique_id_l; right = source_dataset_r, unique_id_r; "
        "score = match_probability"
    )
    records = pa.table(
        {"source_dataset": ["x", "x", "y", "y", "y"], "unique_id": [1, 2, 1, 2, 3], "age": [1, 2, 3, 4, 5]}
    )
    truth = records.append_column("cluster", pa.array([1, 2, 1, 2, 3]))
    judged = pw.evaluate(ideal=truth, actual=pw.Links(PREDICTIONS, threshold=0.5, items=records))
    assert (judged.overall["f1"], judged.coverage.common_items) == (1.0, 5)
    assert len(pw.cluster_links(PREDICTIONS, threshold=0.5)) == 4
    heavy = pw.evaluate(ideal=truth, actual=pw.Links(PREDICTIONS, threshold=5, score="match_weight"))
    assert heavy.overall["recall"] == 0.75
    with pw.sweep(ideal=truth, links=PREDICTIONS, items=records) as sweep:
        assert sweep.best("f1").threshold == 0.9
        assert told in " ".join(repr(sweep).split())
        assert sweep.evaluation(0.9).summary()[1] == f"Actual clustering: r{told[1:]}"


def test_predictions_without_a_threshold_are_no_clusters():
    with pytest.raises(UsageError, match="need threshold"):
        pw.cluster_links(PREDICTIONS)
    with pytest.raises(InputError, match=r"looks like Splink's predictions: give actual=pw\.Links"):
        pw.evaluate(ideal=TRUTH, actual=PREDICTIONS)


def test_columns_of_links_that_a_user_names_win():
    assert clusters_of(PREDICTIONS.slice(0, 1), left="source_dataset_l", right="source_dataset_r") == {
        "x": "x",
        "y": "x",
    }


@pytest.mark.parametrize(
    ("layout", "message"),
    [("dedupe", "They are clusters, not links"), ("recordlinkage", "is not in the layout"), (3, "not one")],
)
def test_links_in_another_layout_are_refused(layout, message):
    with pytest.raises(PointwiseError, match=message):
        pw.cluster_links(PREDICTIONS, layout=layout, threshold=0.5)
    with pytest.raises(PointwiseError, match=message):
        pw.sweep(ideal=TRUTH, links=PREDICTIONS, layout=layout)


PAIRS = pd.MultiIndex.from_tuples([("a", "b"), ("c", "d"), ("a", "c")], names=["rec_id_1", "rec_id_2"])


def test_pairs_of_recordlinkage_come_as_index_features_scores_and_files(tmp_path):
    features = pd.DataFrame({"name": [1.0, 0.7, 0.1], 3: [1, 1, 0]}, index=PAIRS)
    expected = {"a": "a", "b": "a", "c": "c", "d": "c"}
    assert clusters_of(PAIRS[:2]) == expected
    assert clusters_of(features, score="name", threshold=0.5) == expected
    assert clusters_of(features, score="3", threshold=0.5) == expected
    assert clusters_of(features.mean(axis=1), threshold=0.5) == expected
    assert clusters_of(features["name"].rename_axis([None, None]), threshold=0.5) == expected
    features.to_csv(tmp_path / "features.csv")
    assert clusters_of(tmp_path / "features.csv", score="name", threshold=0.5) == expected
    with pw.sweep(ideal=TRUTH, links=features.sum(axis=1)) as sweep:
        assert sweep.best("f1").threshold == 1.7
    with pytest.raises(UsageError, match="need threshold"):
        pw.cluster_links(features["name"])
    with pytest.raises(UsageError, match="both called 'rec_id_1'"):
        pw.cluster_links(features.rename(columns={"name": "rec_id_1"}))


def test_a_graph_gives_its_components_and_its_weights():
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph()
    graph.add_weighted_edges_from([("a", "b", 0.9), ("c", "d", 0.8), ("b", "c", 0.2)])
    graph.add_node("e")
    assert clusters_of(graph) == {"a": "a", "b": "a", "c": "a", "d": "a", "e": "e"}
    assert clusters_of(graph, threshold=0.5) == {"a": "a", "b": "a", "c": "c", "d": "c", "e": "e"}
    assert clusters_of(networkx.MultiDiGraph(graph), score="weight", threshold=0.5)["c"] == "c"
    with pw.sweep(ideal=TRUTH, links=graph) as sweep:
        assert sweep.best("f1").threshold == 0.8
    with pytest.raises(MissingColumnError, match="no attribute 'likeness'"):
        pw.cluster_links(graph, score="likeness", threshold=0.5)
    with pytest.raises(MissingColumnError, match="need score="):
        pw.sweep(ideal=TRUTH, links=networkx.Graph([("a", "b")]))


def test_communities_are_clusters():
    networkx = pytest.importorskip("networkx")
    graph = networkx.barbell_graph(4, 0)
    found = networkx.community.louvain_communities(graph, seed=1)
    assert pw.evaluate(ideal={n: n // 4 for n in range(8)}, actual=found).overall["f1"] == 1.0
    groups = networkx.connected_components(networkx.Graph([("a", "b"), ("c", "d")]))
    assert pw.evaluate(ideal=TRUTH, actual=groups).overall["f1"] == 1.0


def test_what_dedupe_returns_is_read_as_it_is():
    # dedupe gives an array for three members and more, and a tuple otherwise
    partition = [(("a", "b"), (np.float32(0.9),) * 2), (("c",), (1.0,)), (("d", "x", "y"), np.array([0.9, 0.8, 0.7]))]
    assert pw.evaluate(ideal=TRUTH, actual=partition).overall["recall"] == 0.75
    kind = np.dtype([("pairs", "<U256", 2), ("score", "f4")])
    scored = np.array([(("a", "b"), 0.9), (("c", "d"), 0.25)], dtype=kind)
    assert clusters_of(scored, threshold=0.25) == {"a": "a", "b": "a", "c": "c", "d": "c"}
    assert clusters_of(scored, threshold=0.5)["d"] == "d"
    with pytest.raises(UsageError, match="need threshold"):
        pw.cluster_links(scored)


# Labels


class Fitted:
    labels_ = np.array([0, 0, -1, -1])


def test_noise_of_an_estimator_is_no_cluster():
    with pytest.raises(MissingValueError, match="unassigned='singleton'"):
        pw.evaluate(ideal=[1, 1, 2, 3], actual=Fitted())
    evaluation = pw.evaluate(ideal=[1, 1, 2, 3], actual=Fitted(), unassigned="singleton")
    assert evaluation.overall["precision"] == 1.0
    assert evaluation.summary()[0] == "Actual clustering: read as labels of Fitted: -1 stands for no cluster"


@pytest.mark.parametrize(
    "labels", [Fitted.labels_, [0, 0, -1, -1], pd.Series([0, 0, -1, -1])], ids=["array", "list", "series"]
)
def test_minus_one_among_labels_is_asked_about(labels):
    with pytest.raises(UsageError, match="2 items have the label -1 in the actual clustering"):
        pw.evaluate(ideal=[1, 1, 2, 3], actual=labels)
    named = pw.evaluate(ideal=[1, 1, 2, 3], actual=labels, unassigned="singleton", layout="scikit-learn")
    assert named.overall["precision"] == 1.0
    assert "-1 stands for no cluster" in named.summary()[0]
    assert pw.evaluate(ideal=[1, 1, 2, 3], actual=labels, unassigned_labels=[None]).overall["precision"] == 0.75


# Binnings

GOLD = """@Version:0.9.1
@SampleID:low

@@SEQUENCEID\tBINID\tTAXID\t_LENGTH
RL|S1|C1\tgenome 1\t562\t300
RL|S1|C2\tgenome 1\t562\t100
# a comment
RL|S1|C3\tgenome 2\t562\t50
"""
BINS = """# written by a binner
@Version:0.10.0
@SAMPLEID:low
@@SEQUENCEID\t\tBINID
RL|S1|C1\tbin.1
RL|S1|C3\tbin.1
"""


def test_binnings_are_judged_by_bins_with_lengths_as_weights(tmp_path):
    gold, bins = write(tmp_path / "gold.binning", GOLD), write(tmp_path / "bins.tsv", BINS)
    evaluation = pw.evaluate(ideal=gold, actual=bins, weight="_LENGTH", missing="wrong")
    assert (evaluation.overall.items, evaluation.coverage.common_items) == (3, 2)
    assert evaluation.overall["precision"] == pytest.approx((300 * 300 / 350 + 50 * 50 / 350) / 350)
    assert evaluation.overall["recall"] == pytest.approx((300 * 300 / 400 + 0 + 50) / 450)
    assert evaluation.summary()[0] == "Ideal clustering: read as CAMI's bins: item = SEQUENCEID; cluster = BINID"
    taxa = pw.evaluate(ideal=gold, actual=gold, cluster={"ideal": "TAXID"})
    assert taxa.overall["recall"] == pytest.approx((2 / 3 + 2 / 3 + 1 / 3) / 3)


def test_a_binning_of_taxa_and_one_in_gzip(tmp_path):
    only = GOLD.replace("BINID\t", "").replace("genome 1\t", "").replace("genome 2\t", "")
    with gzip.open(tmp_path / "taxa.binning.gz", "wt") as file:
        file.write(only)
    evaluation = pw.evaluate(ideal=write(tmp_path / "gold.binning", GOLD), actual=tmp_path / "taxa.binning.gz")
    assert "cluster = TAXID" in evaluation.summary()[1]
    assert evaluation.overall["recall"] == 1.0


def test_samples_in_one_file_are_kept_apart(tmp_path):
    both = GOLD + "\n" + GOLD.replace("low", "high")
    gold = write(tmp_path / "gold.binning", both)
    evaluation = pw.evaluate(ideal=gold, actual=gold)
    assert (evaluation.coverage.common_items, evaluation.coverage.ideal_clusters) == (6, 4)
    assert "item = SAMPLEID, SEQUENCEID; cluster = SAMPLEID, BINID" in evaluation.summary()[0]


def test_binnings_of_different_samples_are_refused(tmp_path):
    gold = write(tmp_path / "gold.binning", GOLD)
    other = write(tmp_path / "other.binning", BINS.replace("low", "high"))
    with pytest.raises(InputError, match="of the sample 'low', the actual one of 'high'"):
        pw.evaluate(ideal=gold, actual=other)
    assert pw.evaluate(ideal=gold, actual=other, item="SEQUENCEID").coverage.common_items == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOLD + "RL|S1|C9\tgenome\n", r"Line 9 of .* has 2 values, where 4 columns were named"),
        (GOLD + "\n@SampleID:b\n@@SEQUENCEID\tBINID\nx\ty\n", "names other columns"),
        (GOLD.replace("TAXID", "BINID"), "names a column twice"),
        (GOLD.replace("RL|S1|C1", ""), "without an item id"),
        (GOLD.replace("genome 2", ""), "without a cluster"),
        ("@@SEQUENCEID\tBINID\n", "no rows"),
        (GOLD.replace("BINID", "X").replace("TAXID", "Y"), "has no column 'item'"),
    ],
)
def test_broken_binnings_are_refused(text, message, tmp_path):
    with pytest.raises(PointwiseError, match=message):
        pw.evaluate(ideal={"x": 1}, actual=write(tmp_path / "bins.binning", text))


# Coreference

KEY = """#begin document (wsj/0001); part 000
wsj/0001 0 0 Anna NNP (1)
wsj/0001 0 1 saw VBD -
wsj/0001 0 2 the DT (2
wsj/0001 0 3 dog NN 2)
wsj/0001 0 4 of IN -
wsj/0001 0 5 her PRP (1)|(3
wsj/0001 0 6 son NN 3)

wsj/0001 0 0 It PRP (2)
#end document
#begin document (wsj/0001); part 001
wsj/0001 1 0 She PRP (1)
wsj/0001 1 1 herself PRP (1)
#end document
"""


def test_mentions_are_items_and_chains_clusters(tmp_path):
    key = write(tmp_path / "key.v4_gold_conll", KEY)
    response = write(tmp_path / "response.conll", KEY.replace("It PRP (2)", "It PRP (1)"))
    evaluation = pw.evaluate(ideal=key, actual=response, attributes=key)
    assert evaluation.coverage.common_items == 7
    assert evaluation.summary()[0] == "Ideal clustering: read as CoNLL's coreference: item = mention; cluster = chain"
    assert evaluation.explain(item="wsj/0001.0:2-3").item == "wsj/0001.0:2-3"
    assert "the dog" in repr(evaluation.mistakes())
    assert evaluation.overall["precision"] == pytest.approx((2 / 3 + 2 / 3 + 1 / 3 + 1 + 1 + 1 + 1) / 7)


LUO = """#begin document (LuoTestCase);
test1\t0\t0\ta1\t(0
test1\t0\t1\ta2\t0)
test1\t0\t2\tjunk\t-
test1\t0\t3\tb1\t(1
test1\t0\t4\tb2\t1)

test2\t0\t0\tc\t(1)
test2\t0\t1\td1\t(2
test2\t0\t2\td2\t2)
test2\t0\t3\te\t(2)
test2\t0\t4\tf\t(2)
test2\t0\t5\t.\t-
#end document
"""


@pytest.mark.parametrize(
    ("changes", "recall", "precision"),
    [
        ({"b1\t(1": "b1\t-", "b2\t1)": "b2\t-", "c\t(1)": "c\t-", "f\t(2)": "f\t-"}, Fraction(7, 18), 1),
        ({"junk\t-": "junk\t(1)", ".\t-": ".\t(2)", "#end": "test2\t0\t6\t!\t(9)\n#end"}, 1, Fraction(55, 108)),
    ],
    ids=["mentions that are missing", "mentions that are spurious"],
)
def test_b_cubed_of_the_conll_scorer_comes_out(changes, recall, precision, tmp_path):
    text = LUO
    for before, after in changes.items():
        text = text.replace(before, after)
    response = write(tmp_path / "response.conll", text)
    key = write(tmp_path / "key.conll", LUO)
    evaluation = pw.evaluate(ideal=key, actual=response, missing="wrong", outside="spurious")
    assert evaluation.overall["recall"] == pytest.approx(float(recall), abs=1e-15)
    assert evaluation.overall["precision"] == pytest.approx(float(precision), abs=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (KEY.replace("son NN 3)", "son NN -"), "Line 11 of .* ends the document wsj/0001.0, where a mention of 3 is"),
        (KEY.replace("dog NN 2)", "dog NN 5)"), "Line 5 of .* closes a mention of 5 that is not open"),
        (KEY.replace("It PRP (2)", "It PRP two"), "has the mark 'two'"),
        (KEY.replace("It PRP (2)", "It PRP 2"), "has the mark '2'"),
        ("#begin document (x); part 000\nx 0 0 a NN (1\n", "The end of .* still open"),
        ("#begin document (x); part 000\nx 0 0 a NN -\n", "There is no mention"),
    ],
)
def test_broken_coreference_is_refused(text, message, tmp_path):
    with pytest.raises(SourceError, match=message):
        pw.evaluate(ideal={"x": 1}, actual=write(tmp_path / "x.conll", text))


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b"@@OTHER\tB\nx\ty\n", b"#begin\nx y\n", b""])
def test_other_files_stay_what_they_were(content, tmp_path):
    path = tmp_path / "x.binning"
    path.write_bytes(content)
    with pytest.raises(SourceError, match="does not tell its format"):
        pw.evaluate(ideal={"x": 1}, actual=path)


# The command line


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "truth.csv", "item,cluster\na,1\nb,1\nc,2\nd,2\n")
    SPLINK.to_pandas().to_csv("splink.csv", index=False)
    write(tmp_path / "pairs.csv", "match_probability,unique_id_l,unique_id_r\n0.9,a,b\n0.8,c,d\n0.1,b,c\n")

    def call(*words, code=0):
        done = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
        assert done.exit_code == code, done.output
        return " ".join(done.output.split())

    return call


def test_commands_recognise_layouts_and_say_so(run):
    told = "read as Splink's clusters: item = unique_id; cluster = cluster_id"
    assert told in run("evaluate", "truth.csv", "splink.csv")
    assert told in run("compare", "truth.csv", "x=splink.csv", "--layout", "splink")
    told = "ead as Splink's predictions: left = unique_id_l; right = unique_id_r; score = match_probability"
    assert told in run("sweep", "truth.csv", "pairs.csv")
    assert told in run("sweep", "truth.csv", "pairs.csv", "--layout", "links=splink")
    assert told in run("cluster", "pairs.csv", "--threshold", "0.5", "-o", "clusters.csv")
    assert told in run(
        "evaluate", "truth.csv", "pairs.csv", "--actual-links", "--threshold", "0.5", "--layout", "splink"
    )


def test_commands_refuse_a_layout_that_does_not_fit(run):
    assert "not in the layout 'zingg'" in run("evaluate", "truth.csv", "splink.csv", "--layout", "zingg", code=2)
    assert "is not one of" in run("evaluate", "truth.csv", "splink.csv", "--layout", "x", code=2)
    assert "is not one of" in run("cluster", "pairs.csv", "--layout", "x", "-o", "c.csv", code=2)
    assert "ideal clustering" in run("evaluate", "truth.csv", "splink.csv", "--layout", "ideal=splink", code=2)
