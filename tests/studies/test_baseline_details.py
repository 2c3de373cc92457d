"""Every variant changes what it names, on the datasets where it means something."""

from __future__ import annotations

from ccassg.experiments.records import key_of
from ccassg.experiments.runs import classification_run
from studies.baseline_details import AS_RUN, STUDY, VARIANTS


def test_the_first_variant_is_the_run_of_the_main_table() -> None:
    plan = STUDY.plan(n_seeds=1)
    for method in VARIANTS:
        (run,) = STUDY.cells(plan)[method, AS_RUN, "pubmed"]
        assert run == classification_run(method, "pubmed", 0)


def test_every_variant_is_another_run() -> None:
    plan = STUDY.plan(n_seeds=2)
    keys = [key_of(run) for run in STUDY.runs(plan)]
    assert len(set(keys)) == len(keys)


def test_a_variant_is_run_only_where_it_means_something() -> None:
    plan = STUDY.plan(n_seeds=1)
    scaled = [run for run in STUDY.runs(plan) if run.get("details") == {"features": "other scale"}]
    assert {run["dataset"] for run in scaled} == {"cora", "citeseer"}
    probed = [run for run in STUDY.runs(plan) if run.get("probe", {}).get("choose") == "last"]
    where = {run["dataset"] for run in probed if run["method"] == "raw-features"}
    assert where == {"cora", "citeseer", "pubmed"}  # the text leans on all three
