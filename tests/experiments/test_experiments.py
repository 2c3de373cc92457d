"""What holds for every experiment, and for every study of the repository: its runs, and its drawing from records."""

import inspect
import json
from pathlib import Path

import pytest

import traces
from ccassg import CCASSG
from ccassg.experiments import EXPERIMENTS, Records, documents, runner
from ccassg.experiments.records import key_of
from ccassg.systems import METHODS, get_class
from ccassg.training import head
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
    "scalability": 0,
    "correlation": 9,
    "augmentation": 13,
    "label-rates": 120,
    "collapse": 4,
    "information": 9,
    "label-free": 84,
    "default-settings": 50,
    "details": 95,
    "baseline-details": 417,
    "fast-presets": 234,
    "batches": 70,
    "links": 39,
}
FIGURES = ("lambda", "dimension", "correlation", "augmentation", "label-rates", "collapse", "information", "label-free")


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
    assert quick
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


def all_runs():
    plans = ((experiment, experiment.plan(n_seeds=1, methods=["all"])) for experiment in ALL.values())
    return [run for experiment, plan in plans for run in experiment.runs(plan)]


@pytest.fixture
def whole(tmp_path, fake):
    """Records of all runs."""
    records = Records(tmp_path)
    for run in {key_of(run): run for run in all_runs()}.values():
        records._known[key_of(run)] = fake(run)
    assert runner.missing(all_runs(), records) == []
    return records


@pytest.mark.parametrize("method", ["grace", "gca-degree", "deepwalk", "cca-ssg", "gcn"])
def test_another_revision_makes_the_runs_of_its_system_missing(method, whole, monkeypatch):
    cls = get_class(method)
    monkeypatch.setattr(cls, "revision", 2)
    names = {name for name in METHODS if get_class(name) is cls}
    missing = runner.missing(all_runs(), whole)
    assert missing
    assert {run["revision"] for run in missing} == {2}
    assert keys(missing) == {key_of(run) for run in all_runs() if run.get("method") in names}


def test_a_changed_constant_of_the_loss_costs_exactly_the_runs_of_cca_ssg(whole, monkeypatch):
    kept = json.loads(traces.FILE.read_text())
    source = inspect.getsource(head._sensitivity)
    changed = source.replace("(2 * objective.decorrelation)", "(2.02 * objective.decorrelation)")
    assert changed != source
    found = vars(head).copy()
    exec(changed, found)
    monkeypatch.setattr(head, "_sensitivity", found["_sensitivity"])
    told = {name: traces.complaint(name, kept[name]) for name in ("cca-ssg", "vicreg")}
    assert "cca-ssg gives other results than revision 1 did" in told["cca-ssg"]
    assert told["vicreg"] is None
    assert runner.missing(all_runs(), whole) == []  # nobody said that anything is new

    monkeypatch.setattr(CCASSG, "revision", 2)
    assert "no trace of cca-ssg in revision 2" in traces.complaint("cca-ssg", kept["cca-ssg"])
    assert traces.complaint("cca-ssg", {"revision": 2, **traces.trace("cca-ssg")}) is None
    missing = runner.missing(all_runs(), whole)
    assert missing
    assert keys(missing) == {key_of(run) for run in all_runs() if run.get("method") == "cca-ssg"}


def test_every_run_of_a_system_names_its_revision():
    for experiment in ALL.values():
        for run in experiment.runs(experiment.plan(n_seeds=1, methods=["all"])):
            assert ("revision" in run) == ("method" in run)


def test_tables_share_runs():
    def runs(name):
        return keys(EXPERIMENTS[name].runs(EXPERIMENTS[name].plan(n_seeds=2)))

    plan = EXPERIMENTS["citation"].plan(methods=["cca-ssg"], n_seeds=2)
    citation = keys(EXPERIMENTS["citation"].runs(plan))
    assert citation <= runs("ablation")
    for sweep in ("lambda", "dimension"):
        assert len(citation & runs(sweep)) == 6  # the paper's value on three datasets, two seeds each
    # The fast presets, with the first of the seeds that the larger sets have.
    study = STUDIES["fast-presets"]
    assert len(runs("augmentation") & keys(study.runs(study.plan(n_seeds=1)))) == 7
