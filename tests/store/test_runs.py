"""Stored runs: a loaded one answers what the live one does, and a damaged one says so."""

from __future__ import annotations

import json
import shutil
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import forging
import pointwise as pw
from alike import alike
from pointwise.core.metrics import METRICS
from pointwise.errors import IdTypeError, NoCommonItemsError, NotFoundError, UsageError

ITEMS = ["a", "b", "c", "d", "e", "f"]
IDEAL = pa.table({"item": ITEMS, "cluster": ["p", "p", "p", "q", "q", "r"]})
ACTUAL = pa.table({"item": [*ITEMS, "x"], "cluster": [1, 1, 2, 2, 2, 3, 3], "size": [1, 2, 3, 1, 2, 3, 9]})
ABOUT = pa.table({"item": ITEMS, "land": ["de", "de", "us", "us", "us", None], "year": [1, 2, 3, 4, 5, 6]})


def evaluate(**options):
    given = {"ideal": IDEAL, "actual": ACTUAL, "item": "item", "cluster": "cluster", "weight": "size"} | options
    return pw.evaluate(**given)


@pytest.fixture(scope="module")
def live():
    slices = ["land", "land,year", "year >= 3", ("late", pw.col("year") > 4), pw.col("year") < 3, "ideal_cluster_size"]
    metrics = ["precision", "recall", "f1_of_means", "specificity"]
    return evaluate(attributes=ABOUT, slices=slices, metrics=metrics, outside="wrong")


@pytest.fixture(scope="module")
def original(live, tmp_path_factory):
    return live.save(tmp_path_factory.mktemp("original") / "run")


@pytest.fixture
def run(original, tmp_path):
    return shutil.copytree(original, tmp_path / "run")


def rows(table):
    """Return the rows of a table in a certain order, floats up to the order in which an engine adds them."""
    return alike(by_text(table.to_dicts()))


def by_text(found):
    return sorted(found, key=lambda row: [str(v) for v in row.values() if not isinstance(v, float)])


@pytest.fixture(scope="module")
def live_slices(live):
    return rows(live.by_slice())


def test_a_loaded_run_answers_what_the_live_one_does(live, run):
    loaded = pw.load(run)
    assert repr(loaded) == repr(live)
    assert loaded.overall.to_dicts() == alike(live.overall)
    assert loaded.coverage == live.coverage
    assert loaded.coverage.to_dict() == live.coverage.to_dict()
    assert loaded.warnings == live.warnings
    assert by_text(loaded.by_item().to_dicts()) == rows(live.by_item())
    assert by_text(loaded.by_ideal_cluster().to_dicts()) == rows(live.by_ideal_cluster())
    assert by_text(loaded.by_actual_cluster(metrics="jaccard_index").to_dicts()) == rows(
        live.by_actual_cluster(metrics="jaccard_index")
    )
    assert loaded.with_metrics("matthews").overall.to_dicts() == alike(live.with_metrics("matthews").overall)
    assert loaded.mistakes().to_dicts() == alike(live.mistakes())
    assert str(loaded.explain(item="c")) == str(live.explain(item="c"))
    assert str(loaded.explain(actual_cluster=2)) == str(live.explain(actual_cluster=2))


def test_slices_of_every_kind_survive(live, live_slices, run):
    loaded = pw.load(run)
    assert by_text(loaded.by_slice().to_dicts()) == live_slices
    assert loaded.options.slices == ("land", ("land", "year"), "year >= 3", "late", "condition", "ideal_cluster_size")
    assert by_text(loaded.by_slice("year < 3 and land = 'de'").to_dicts()) == rows(
        live.by_slice("year < 3 and land = 'de'")
    )


def test_a_run_is_stored_from_a_loaded_one_as_from_the_live_one(live_slices, run, tmp_path):
    second = pw.load(run).save(tmp_path / "second")
    manifests = [json.loads((path / "run.json").read_text()) for path in (run, second)]
    for manifest in manifests:
        del manifest["created"], manifest["tables"], manifest["checksum"]
    assert manifests[0] == manifests[1]
    assert by_text(pw.load(second).by_slice().to_dicts()) == live_slices


def test_files_hold_what_other_tools_need(live, run):
    items = {row["item"]: row for row in pq.read_table(run / "items.parquet").to_pylist()}
    shown = {row["item"]: row for row in live.by_item(metrics=["precision", "specificity"]).to_dicts()}
    assert set(items) == set(shown)
    for item, row in shown.items():
        assert {name: items[item][name] for name in row if name != "share"} == {
            k: v for k, v in row.items() if k != "share"
        }
    assert items["a"]["land"] == "de"
    assert rows_of(run, "ideal_clusters") == rows(live.by_ideal_cluster())
    assert rows_of(run, "actual_clusters") == rows(live.by_actual_cluster())
    assert rows_of(run, "slices") == rows(live.by_slice(intervals=False))
    assert {"tp", "ideal_weight", "actual_weight", "precision"} <= set(pq.read_schema(run / "cells.parquet").names)


def rows_of(run, name):
    return by_text(pq.read_table(run / f"{name}.parquet").to_pylist())


def test_the_manifest_says_what_was_evaluated(tmp_path):
    pq.write_table(IDEAL, tmp_path / "truth.parquet")
    run = evaluate(ideal=tmp_path / "truth.parquet", missing="singleton").save(tmp_path / "run")
    manifest = json.loads((run / "run.json").read_text())
    stat = (tmp_path / "truth.parquet").stat()
    (file,) = manifest["inputs"]["ideal clustering"]["files"]
    assert file["path"] == str(tmp_path / "truth.parquet")
    assert file["bytes"] == stat.st_size
    assert manifest["options"]["missing"] == "singleton"
    assert manifest["pointwise_version"] == pw.__version__
    assert manifest["overall"]["precision"] == pw.load(run).overall["precision"]


@pytest.mark.parametrize("name", ["a b", "it's", 'quo"te', "weight=3", "[1]*?", "🦆", "item=x/run", "-run"])
def test_any_name_will_do(tmp_path, name):
    live = evaluate()
    loaded = pw.load(live.save(tmp_path / name))
    assert by_text(loaded.by_item().to_dicts()) == rows(live.by_item())


def test_integer_items_stay_integers(tmp_path):
    live = pw.evaluate(ideal=[0, 0, 1], actual=[0, 1, 1])
    loaded = pw.load(live.save(tmp_path / "run"))
    assert by_text(loaded.by_item().to_dicts()) == rows(live.by_item())
    assert loaded.explain(item=2).ideal_cluster == 1


def test_slice_columns_called_like_metrics_are_kept_apart(tmp_path):
    about = pa.table({"item": ITEMS, "tp": [1, 1, 1, 2, 2, 2], "Precision": [1, 2, 1, 2, 1, 2]})
    live = evaluate(attributes=about, slices=["tp > 1", "Precision > 1"])
    loaded = pw.load(live.save(tmp_path / "run"))
    assert by_text(loaded.by_slice().to_dicts()) == rows(live.by_slice())


def test_new_attributes_slice_a_stored_run(live, run):
    loaded = pw.load(run)
    later = pa.table({"item": [*ITEMS, "zz"], "team": [1, 1, 2, 2, 3, 3, 4], "land": ["x"] * 7})
    sliced = loaded.with_attributes(later)
    expected = evaluate(
        attributes=later, metrics=["precision", "recall", "f1_of_means", "specificity"], outside="wrong"
    )
    assert by_text(sliced.by_slice("team").to_dicts()) == rows(expected.by_slice("team"))
    assert [row["land"] for row in sliced.by_slice("land").to_dicts()] == ["x"]  # what is newer wins
    both = (run.by_slice("year >= 3").to_dicts() for run in (sliced, loaded))
    assert all(mine == pytest.approx(other) for mine, other in zip(*both, strict=True))
    assert sliced.coverage == live.coverage


def test_new_attributes_from_a_file_without_types_match_integers(tmp_path):
    loaded = pw.load(pw.evaluate(ideal=[0, 0, 1], actual=[0, 1, 1]).save(tmp_path / "run"))
    (tmp_path / "about.csv").write_text("item,team\n0,red\n1,blue\n2,blue\nten,blue\n007,red\n")
    table = loaded.with_attributes(tmp_path / "about.csv").by_slice("team")
    assert {row["team"]: row["items"] for row in table.to_dicts()} == {"red": 1, "blue": 2}


def test_attributes_of_other_items_are_refused(live):
    with pytest.raises(NoCommonItemsError, match="none of the items"):
        live.with_attributes(pa.table({"item": ["zz"], "team": [1]}))
    with pytest.raises(IdTypeError):
        pw.evaluate(ideal=[0, 1], actual=[0, 1]).with_attributes(pa.table({"item": ["zz"], "team": [1]}))


def test_a_run_is_not_overwritten_unless_asked(live, run, tmp_path):
    before = (run / "run.json").read_text()
    with pytest.raises(pw.RunError, match="already"):
        live.save(run)
    assert (run / "run.json").read_text() == before
    live.with_metrics("recall").save(run, overwrite=True)
    assert [m.name for m in pw.load(run).metrics] == ["recall"]
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_what_is_no_run_is_never_overwritten(live, tmp_path):
    folder = tmp_path / "thesis"
    folder.mkdir()
    (folder / "chapter.txt").write_text("years of work")
    (tmp_path / "file").write_text("more")
    for place in (folder, tmp_path / "file"):
        with pytest.raises(pw.RunError, match="only a stored run is ever replaced"):
            live.save(place, overwrite=True)
    assert (folder / "chapter.txt").read_text() == "years of work"


def test_a_link_to_a_run_leads_to_it(live, run, tmp_path):
    (tmp_path / "latest").symlink_to(run)
    live.with_metrics("recall").save(tmp_path / "latest", overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert [m.name for m in pw.load(run).metrics] == ["recall"]


def test_tables_may_be_folders_of_parts(live, run):
    manifest = json.loads((run / "run.json").read_text())
    facts = manifest["tables"]["items"].pop("items.parquet")
    (run / "items.parquet").rename(run / "part")
    (run / "items.parquet").mkdir()
    (run / "part").rename(run / "items.parquet" / "part-0.parquet")
    manifest["tables"]["items"]["items.parquet/part-0.parquet"] = facts
    forging.write(run, manifest)
    assert by_text(pw.load(run).by_item().to_dicts()) == rows(live.by_item())


def edit_manifest(run, **changes):
    forging.edit(run, lambda manifest: manifest.update(changes))


def flip_a_byte(run):
    content = bytearray((run / "cells.parquet").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (run / "cells.parquet").write_bytes(content)


DAMAGES = {
    "lacks its manifest": lambda run: (run / "run.json").unlink(),
    "has half a manifest": lambda run: (run / "run.json").write_text((run / "run.json").read_text()[:200]),
    "has a manifest that says nothing": lambda run: (run / "run.json").write_text("[]"),
    "has a manifest without totals": lambda run: forging.write(run, {"format_version": 2, "kind": "run"}),
    "is of a newer format": lambda run: edit_manifest(run, format_version=99),
    "lacks a table": lambda run: edit_manifest(run, tables={}),
    "lacks a file": lambda run: (run / "items.parquet").unlink(),
    "has half a file": lambda run: (run / "items.parquet").write_bytes((run / "items.parquet").read_bytes()[:100]),
    "has a changed file": flip_a_byte,
    "has another file": lambda run: shutil.copy(run / "ideal_clusters.parquet", run / "cells.parquet"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_run_is_refused_that(run, damage):
    DAMAGES[damage](run)
    with pytest.raises(pw.RunError, match="run") as caught:
        pw.load(run)
    assert str(run) in str(caught.value)


def test_a_run_that_is_not_there_is_not_found(tmp_path):
    with pytest.raises(NotFoundError, match="no stored run"):
        pw.load(tmp_path / "nothing")


def test_metrics_that_are_not_registered_are_left_out_with_a_warning(tmp_path):
    @pw.metric()
    def only_here(c):
        return c.ratio(c.tp, c.ideal)

    try:
        run = evaluate(metrics=["precision", "only_here"]).save(tmp_path / "run")
        lonely = evaluate(metrics="only_here").save(tmp_path / "lonely")
    finally:
        del METRICS["only_here"]
    with pytest.warns(UserWarning, match="only_here"):
        assert [m.name for m in pw.load(run).metrics] == ["precision"]
    with pytest.warns(UserWarning, match="only_here"):
        assert pw.load(lonely).overall["recall"] > 0


def test_inputs_of_a_stored_run_are_not_read_again(run):
    source = pw.load(run).sources["ideal clustering"]
    assert source.columns == ("item", "cluster")
    with pytest.raises(UsageError, match="again"):
        source.load(["item"])


def test_history_lists_runs_in_order_with_metrics_and_coverage(live, tmp_path):
    live.save(tmp_path / "runs" / "z")
    live.with_metrics("recall").save(tmp_path / "runs" / "deep" / "a")
    table = pw.history(tmp_path / "runs").to_dicts()
    assert [row["run"] for row in table] == ["z", "deep/a"]
    assert table[0]["precision"] == pytest.approx(live.overall["precision"])
    assert table[1]["precision"] is None
    assert table[1]["recall"] == pytest.approx(live.overall["recall"])
    assert table[0]["common_share"] == live.coverage.common_share
    assert table[0]["problem"] is None


def test_history_reports_damaged_runs(run, tmp_path):
    (shutil.copytree(run, tmp_path / "bad") / "items.parquet").unlink()
    table = {row["run"]: row for row in pw.history(tmp_path).to_dicts()}
    assert "items.parquet is missing" in table["bad"]["problem"]
    assert table["bad"]["precision"] is None
    assert table["run"]["problem"] is None


def test_history_of_nothing(tmp_path):
    assert len(pw.history(tmp_path)) == 0
    with pytest.raises(NotFoundError, match="no folder"):
        pw.history(tmp_path / "nothing")


def test_loading_warns_of_nothing_by_itself(run):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pw.load(run, verify=False, threads=1)


def test_every_public_name_is_there():
    assert all(getattr(pw, name) is not None for name in pw.__all__)
    assert set(dir(pw)) == set(pw.__all__)
    with pytest.raises(AttributeError, match="no attribute 'evaluat'"):
        _ = pw.evaluat
