"""The two main tables: their runs, published values beside ours, and what they say of the paper's first claim."""

import re

import pytest

from ccassg import CCASSG
from ccassg.defaults import canonical, choice
from ccassg.experiments.accuracy_table import CITATION_GRAPHS, COPURCHASE_GRAPHS, _rank
from ccassg.experiments.published import CITATION, COPURCHASE
from ccassg.experiments.records import Records
from ccassg.experiments.tasks import make_model


@pytest.mark.parametrize(
    ("others", "word"),
    [
        ({"dgi": [80.0, 80.2, 79.8]}, "confirmed"),
        ({"dgi": [80.0, 80.2, 79.8], "mvgrl": [84.9, 85.1, 85.0]}, "contradicted (MVGRL 1.0 points above)"),
        ({"grace": [84.0, 84.3, 83.6]}, "undecided (GRACE within the standard error)"),
        ({"grace": [99.0]}, "undecided (GRACE with too few runs)"),
    ],
)
def test_above_the_best_of_the_others_by_more_than_chance(others, word):
    assert _rank({"cca-ssg": [83.8, 84.2, 84.0], **others}) == word


def test_published_values_stand_beside_ours(tmp_path, fake):
    experiment, records = CITATION_GRAPHS, Records(tmp_path)
    for run in experiment.runs(experiment.plan(datasets=["cora"], n_seeds=2)):
        record = fake(run)
        records.add(record | {"result": record["result"] | {"test_accuracy": [0.83 + 0.02 * run["seed"]]}})
    plan = experiment.plan(methods=["all"])
    drawn = experiment.draw(experiment.found(records, plan), plan, tmp_path)
    rows = {row["method"]: row for row in drawn.tables[""]}
    assert rows["CCA-SSG"]["Cora"] == "84.0 ± 1.4"
    assert rows["CCA-SSG"]["Cora (paper)"] == "84.2 ± 0.4"
    assert rows["CCA-SSG"]["Pubmed"] is None
    assert rows["GAT"]["Citeseer (paper)"] == "72.5 ± 0.7"
    assert next(iter(rows)) == "MLP"
    assert "over 2 runs" in drawn.notes
    assert list(drawn.tables) == [""]
    assert not re.search(r"\b(time|memory|seconds|GB)\b", drawn.notes)


def test_the_default_and_the_neighbour_view_are_rows_of_their_own(monkeypatch):
    plan = CITATION_GRAPHS.plan(datasets=["cora"], methods=["default", "neighbour-view", "cca-ssg"], n_seeds=1)
    cells = CITATION_GRAPHS.cells(plan)
    (default,), (neighbour,), (ours,) = (cells[m, "cora"] for m in ("default", "neighbour-view", "cca-ssg"))
    same = {name: ours[name] for name in ("task", "method", "revision", "dataset", "splits", "seed")}
    assert default == same | {"settings": {}, "defaults": canonical.VERSION, "probe": {"solver": "logistic"}}
    assert neighbour["probe"] == ours["probe"] != default["probe"]
    assert neighbour["settings"] == {"encoder": "mlp", "second_view": "neighbour"}
    model = make_model(default)
    assert type(model) is CCASSG
    assert model.get_params() == CCASSG(random_state=0).get_params()
    for rules, method in ((canonical, "default"), (choice, "neighbour-view")):
        with monkeypatch.context() as patched:
            patched.setattr(rules, "VERSION", rules.VERSION + 1)
            changed = CITATION_GRAPHS.cells(plan)
        assert [name for name, _ in cells if changed[name, "cora"] != cells[name, "cora"]] == [method]


def test_what_ccassg_does_today_is_no_other_method(tmp_path, fake):
    plan = CITATION_GRAPHS.plan(datasets=["cora"], methods=["gcn", "cca-ssg", "default"], n_seeds=2)
    scores = {"gcn": 0.8, "cca-ssg": 0.83, "default": 0.99}
    found = {}
    for (method, dataset), runs in CITATION_GRAPHS.cells(plan).items():
        records = [fake(run) for run in runs]
        for seed, record in enumerate(records):
            record["result"]["test_accuracy"] = [scores[method] + 0.001 * seed]
        found[method, dataset] = records
    drawn = CITATION_GRAPHS.draw(found, plan, tmp_path)
    assert [finding.found for finding in drawn.findings] == ["confirmed on Cora"]
    assert [row["method"] for row in drawn.tables[""][-2:]] == ["CCA-SSG", "The default"]


def test_gca_is_the_centrality_that_validation_prefers_of_those_with_as_many_runs(tmp_path, fake):
    plan = CITATION_GRAPHS.plan(datasets=["cora"], methods=["gca"], n_seeds=2)
    ((cell, runs),) = CITATION_GRAPHS.cells(plan).items()
    assert [(run["method"], run["seed"]) for run in runs] == [
        (f"gca-{centrality}", seed) for centrality in ("degree", "pagerank", "eigenvector") for seed in (0, 1)
    ]
    validation = {"gca-degree": 0.7, "gca-pagerank": 0.8, "gca-eigenvector": 0.9}
    test = {"gca-degree": 0.83, "gca-pagerank": 0.82, "gca-eigenvector": 0.81}
    records = [fake(run) for run in runs]
    for record in records:
        method = record["run"]["method"]
        record["result"] |= {"val_accuracy": [validation[method]], "test_accuracy": [test[method]]}
    drawn = CITATION_GRAPHS.draw({cell: records[:5]}, plan, tmp_path)  # the best has one run only
    (row,) = (row for row in drawn.tables[""] if row["method"] == "GCA")
    assert row["Cora"] == "82.0 ± 0.0"
    assert "by accuracy on validation nodes: PageRank on Cora (of degree, PageRank)" in drawn.notes


def test_a_table_has_the_papers_rows_and_enough_runs_of_each():
    for experiment, published, others in ((CITATION_GRAPHS, CITATION, 5), (COPURCHASE_GRAPHS, COPURCHASE, 3)):
        cells = experiment.cells(experiment.plan())
        assert {(method, d) for method, values in published.items() for d in values} <= set(cells)
        for (method, _), runs in cells.items():
            expected = 20 if method in ("cca-ssg", "default") else others
            assert len(runs) == expected * (3 if method == "gca" else 1)
    assert "chebnet" not in COPURCHASE_GRAPHS.plan().methods
    assert {"gca", "bgrl", "graph-barlow-twins", "vicreg", "hops"} <= set(CITATION_GRAPHS.plan().methods)


def test_random_splits_are_new_for_every_seed():
    runs = COPURCHASE_GRAPHS.runs(COPURCHASE_GRAPHS.plan(datasets=["photo"], methods=["cca-ssg"]))
    assert [run["splits"] for run in runs] == [[{"kind": "random", "seed": seed}] for seed in range(20)]
