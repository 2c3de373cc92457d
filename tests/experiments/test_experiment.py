"""What a plan of an experiment comes to: what is asked for, its runs, and what is recorded of them."""

import pytest

from ccassg.experiments.accuracy_table import CITATION_GRAPHS
from ccassg.experiments.experiment import Drawn, Experiment, by_method
from ccassg.experiments.published import NAMES
from ccassg.experiments.records import Records


def small_run(method, dataset, seed):
    return {"task": "training-cost", "method": method, "dataset": dataset, "seed": seed}


def former_cells(plan):
    return {("old", dataset): [small_run("old", dataset, 0)] for dataset in plan.datasets}


@pytest.fixture
def experiment():
    return Experiment(
        title="Of two methods on two datasets",
        datasets=("cora", "pubmed"),
        methods=("gcn", "dgi"),
        default_methods=("dgi",),
        cells=by_method(small_run),
        draw=lambda found, plan, figures: Drawn(),
        n_seeds=4,
        fewer={"gcn": 3},
        quick_datasets=("cora",),
        quick_methods=("gcn",),
        quick_seeds=2,
        former=former_cells,
    )


def test_plans_take_what_there_is():
    experiment = CITATION_GRAPHS
    plan = experiment.plan(datasets=["pubmed", "cora"], methods=["all"], quick=True)
    assert plan.datasets == ("cora", "pubmed")
    assert set(NAMES) - set(plan.methods) == {"gca-degree", "gca-pagerank", "gca-eigenvector"}
    assert plan.n_seeds == 1
    with pytest.raises(ValueError, match="no dataset 'photo'; it has cora, citeseer, pubmed"):
        experiment.plan(datasets=["photo"])
    with pytest.raises(ValueError, match="no method 'svm'"):
        experiment.plan(methods=["svm"])
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        experiment.plan(n_seeds=0)


def test_seeds_of_a_plan(experiment):
    assert experiment.plan().n_seeds == 4
    assert experiment.plan(quick=True).n_seeds == 2
    assert experiment.plan(quick=True, n_seeds=9).n_seeds == 9
    runs = experiment.plan(methods=["all"])
    assert (runs.seeds("gcn"), runs.seeds("dgi")) == (range(3), range(4))
    assert experiment.plan(n_seeds=9).seeds("gcn") == range(9)  # who asks for nine gets nine
    assert experiment.everything(runs).seeds("gcn") == range(4)
    assert experiment.plan(quick=True).seeds("gcn") == range(2)


def test_quick_does_less_unless_more_is_named(experiment):
    assert experiment.plan().methods == ("dgi",)
    quick = experiment.plan(quick=True)
    assert (quick.datasets, quick.methods) == (("cora",), ("gcn",))
    named = experiment.plan(quick=True, datasets=["pubmed"], methods=["all"])
    assert (named.datasets, named.methods) == (("pubmed",), ("gcn", "dgi"))


def test_all_is_drawn_whatever_was_asked_for_last(experiment):
    plan = experiment.everything(experiment.plan(datasets=["cora"], n_seeds=9, quick=True))
    assert plan.datasets == ("cora", "pubmed")
    assert plan.methods == ("gcn", "dgi")
    assert plan.n_seeds == 9
    assert not plan.quick
    assert experiment.everything(experiment.plan(n_seeds=1)).n_seeds == 4


def test_a_cell_per_method_and_dataset_and_a_run_per_seed(experiment):
    plan = experiment.plan(methods=["all"], n_seeds=2)
    cells = experiment.cells(plan)
    assert list(cells) == [("gcn", "cora"), ("dgi", "cora"), ("gcn", "pubmed"), ("dgi", "pubmed")]
    assert cells["dgi", "pubmed"] == [small_run("dgi", "pubmed", 0), small_run("dgi", "pubmed", 1)]
    assert experiment.runs(plan) == [run for runs in cells.values() for run in runs]


def test_found_are_the_cells_with_records_those_of_former_runs_too(experiment, tmp_path, fake):
    records = Records(tmp_path)
    for run in (small_run("dgi", "cora", 1), small_run("old", "pubmed", 0), small_run("gcn", "cora", 0)):
        records.add(fake(run))
    plan = experiment.plan()  # of DGI alone
    found = experiment.found(records, plan)
    assert {cell: [record["run"] for record in done] for cell, done in found.items()} == {
        ("dgi", "cora"): [small_run("dgi", "cora", 1)],
        ("old", "pubmed"): [small_run("old", "pubmed", 0)],
    }
    assert small_run("old", "pubmed", 0) not in experiment.runs(plan)
