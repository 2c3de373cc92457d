"""What holds for every experiment, and for every study of the repository: its runs, and its drawing from records."""

import json
from pathlib import Path

import pytest

from ccassg.experiments import EXPERIMENTS, Records, documents, runner
from ccassg.experiments.published import NAMES
from ccassg.experiments.records import key_of
from ccassg.systems import METHODS
from studies.catalogue import STUDIES

ALL = EXPERIMENTS | STUDIES
RESULTS = Path(__file__).parents[2] / "results"
# Records that each table found in the repository's results: a run whose key changes would lose them.
RECORDED = {
    "methods": 32,
    "citation": 285,
    "copurchase": 134,
    "ablation": 90,
    "lambda": 105,
    "dimension": 100,
    "scalability": 12,
    "correlation": 9,
    "augmentation": 56,
    "label-rates": 120,
    "collapse": 4,
    "information": 9,
    "label-free": 84,
    "default-settings": 148,
    "details": 95,
    "baseline-details": 417,
    "fast-presets": 234,
    "batches": 70,
}
FIGURES = ("lambda", "dimension", "correlation", "augmentation", "label-rates", "collapse", "information", "label-free")


def drawn_from(experiment, records, plan, folder):
    return experiment.draw(experiment.found(records, plan), plan, folder)


def keys(runs):
    return {key_of(run) for run in runs}


@pytest.fixture
def no_training(monkeypatch):
    monkeypatch.setattr(runner, "carry_out", lambda *_, **__: pytest.fail("trained"))


@pytest.mark.parametrize("name", ALL)
def test_runs_are_json_and_all_different(name):
    experiment = ALL[name]
    runs = experiment.runs(experiment.plan())
    assert len(keys(runs)) == len(runs)
    assert json.loads(json.dumps(runs)) == runs
    quick = experiment.runs(experiment.plan(quick=True))
    assert keys(quick) <= keys(runs)  # a quick run counts towards the full one


@pytest.mark.parametrize("name", ALL)
def test_drawn_from_records_and_drawn_again(name, tmp_path, fake, no_training):
    experiment, records = ALL[name], Records(tmp_path / "results")
    plan = experiment.plan(quick=True, datasets=experiment.datasets[:1])
    if name != "methods":
        assert documents.write(name, experiment, records, plan) is None
    for run in experiment.runs(plan):
        records.add(fake(run))
    document = tmp_path / "document.md"
    document.write_text(f"before\n\n<!-- begin: {name} -->\nto be replaced\n<!-- end: {name} -->\n\nafter\n")
    written = documents.write(name, experiment, records, plan, document=document)
    contents = {path: path.read_bytes() for path in written.files}
    assert tmp_path / "results" / "tables" / f"{name}.md" in contents
    assert document in contents
    text = document.read_text()
    assert text.startswith(f"before\n\n<!-- begin: {name} -->\n")
    assert text.endswith(f"<!-- end: {name} -->\n\nafter\n")
    assert experiment.title in text
    assert "to be replaced" not in text
    figures = [path for path in written.files if path.parent == tmp_path / "figures"]
    assert [path.name for path in figures] == ([f"{name}.svg", f"{name}.png"] if name in FIGURES else [])
    assert all(len(contents[path]) > 5000 for path in figures)
    for path in written.files:
        if path != document:
            path.unlink()
    assert documents.write(name, experiment, Records(tmp_path / "results"), plan, document=document) == written
    assert {path: path.read_bytes() for path in written.files} == contents


@pytest.mark.skipif(not RESULTS.is_dir(), reason="the records are in the repository only")
def test_every_table_finds_its_records():
    records = Records(RESULTS)
    for name, experiment in ALL.items():
        found = experiment.found(records, experiment.everything(experiment.plan()))
        assert sum(map(len, found.values())) >= RECORDED[name], name


def test_tables_share_runs():
    def runs(name):
        return keys(EXPERIMENTS[name].runs(EXPERIMENTS[name].plan(n_seeds=2)))

    citation = runs("citation")
    assert citation <= runs("ablation")
    for sweep in ("lambda", "dimension"):
        assert len(citation & runs(sweep)) == 6  # the paper's value on three datasets, two seeds each
    assert len(runs("augmentation") & runs("citation")) == 6


def test_published_values_stand_beside_ours(tmp_path, fake):
    experiment, records = EXPERIMENTS["citation"], Records(tmp_path)
    for run in experiment.runs(experiment.plan(datasets=["cora"], n_seeds=2)):
        record = fake(run)
        records.add(record | {"result": record["result"] | {"test_accuracy": [0.83 + 0.02 * run["seed"]]}})
    drawn = drawn_from(experiment, records, experiment.plan(methods=["all"]), tmp_path)
    rows = {row["method"]: row for row in drawn.tables[""]}
    assert rows["CCA-SSG"]["Cora"] == "84.0 ± 1.4"
    assert rows["CCA-SSG"]["Cora (paper)"] == "84.2 ± 0.4"
    assert rows["CCA-SSG"]["Pubmed"] is None
    assert rows["GAT"]["Citeseer (paper)"] == "72.5 ± 0.7"
    assert next(iter(rows)) == "MLP"
    assert "over 2 runs" in drawn.notes
    (cost,) = drawn.tables["cost"]
    assert cost["method"] == "CCA-SSG"
    assert cost["Cora"].startswith("997K, ")
    assert cost["Cora"].endswith(" s, 2.0 GB")
    assert cost["Pubmed"] is None


def test_every_method_has_a_name_in_the_tables():
    assert set(NAMES) == set(METHODS)


def test_random_splits_are_new_for_every_seed():
    runs = EXPERIMENTS["copurchase"].runs(EXPERIMENTS["copurchase"].plan(datasets=["photo"]))
    assert [run["splits"] for run in runs] == [[{"kind": "random", "seed": seed}] for seed in range(20)]


def test_plans_take_what_there_is():
    experiment = EXPERIMENTS["citation"]
    plan = experiment.plan(datasets=["pubmed", "cora"], methods=["all"], quick=True)
    assert plan.datasets == ("cora", "pubmed")
    assert plan.methods == tuple(NAMES)
    assert plan.n_seeds == 3
    assert experiment.plan().methods == ("cca-ssg",)
    with pytest.raises(ValueError, match="no dataset 'photo'; it has cora, citeseer, pubmed"):
        experiment.plan(datasets=["photo"])
    with pytest.raises(ValueError, match="no method 'svm'"):
        experiment.plan(methods=["svm"])
    with pytest.raises(ValueError, match="seeds must be at least 1, got 0"):
        experiment.plan(n_seeds=0)


def test_mlp_encoder_has_one_row_of_edge_rates():
    runs = EXPERIMENTS["augmentation"].runs(EXPERIMENTS["augmentation"].plan(datasets=["cs"], n_seeds=1))
    assert {run["settings"]["edge_drop_rate"] for run in runs} == {0.0}
    assert len(runs) == 6


def test_information_agrees_with_the_paper_on_made_up_records(tmp_path, fake):
    experiment, records = EXPERIMENTS["information"], Records(tmp_path)
    for run in experiment.runs(experiment.plan(datasets=["cora"])):
        records.add(fake(run))
    rows = drawn_from(experiment, records, experiment.plan(), tmp_path).tables["agreement"]
    # In the made-up records all rises with the step but the decorrelation loss, which falls.
    claims = rows[0]
    assert claims["Proposition 1"] == claims["Proposition 2"] == 1
    assert claims["Theorem 2"] == -1
