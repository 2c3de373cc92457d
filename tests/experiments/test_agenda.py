"""What is missing, in the order of its worth, and within a budget."""

import pytest

from ccassg.experiments import EXPERIMENTS, agenda, runner
from ccassg.experiments.experiment import Drawn, Experiment, by_method
from ccassg.experiments.records import Records
from ccassg.worker import WorkerError
from studies.catalogue import STUDIES

SECONDS = {"gcn": 50, "mlp": 5, "gat": 500}


def small_run(method, dataset, seed):
    return {"task": "toy", "method": method, "dataset": dataset, "seed": seed}


def experiment(*methods, run=small_run, **given):
    return Experiment(
        title="",
        datasets=("cora",),
        methods=methods,
        cells=by_method(run),
        draw=lambda found, plan, figures: Drawn(),
        n_seeds=5,
        **given,
    )


TABLE = experiment("gcn", "mlp", comes_first=True)
OTHER = experiment("gat", "mlp")


def planned(*experiments, **given):
    return [(one, one.plan(**given)) for one in experiments]


def recorded(tmp_path, fake, runs):
    """Records of some runs, each as long as its method takes."""
    records = Records(tmp_path)
    for run in runs:
        records.add(fake(run) | {"seconds": {"total": SECONDS[run["method"]]}})
    return records


@pytest.fixture
def crew(monkeypatch, fake):
    """Instead of workers: how runs are done, with how many threads; seed 4 fails."""
    done = []

    def do(self, run):
        done.append((run["method"], run["seed"], self.given["threads"]))
        if run["seed"] == 4:
            raise WorkerError("bad luck")
        return fake(run) | {"seconds": {"total": SECONDS[run["method"]]}}

    monkeypatch.setattr(runner._Crew, "do", do)
    return done


def test_empty_cells_come_first_then_whole_ones_then_other_tables_and_the_cheap_before_the_dear(tmp_path, fake):
    records = recorded(tmp_path, fake, [small_run("gcn", "cora", 0), small_run("gat", "pubmed", 0)])
    order = [(one.rank, one.run["method"], one.run["seed"]) for one in agenda.missing(planned(OTHER, TABLE), records)]
    assert order == [
        (0, "mlp", 0),
        (1, "gcn", 1),
        (1, "gcn", 2),
        (1, "mlp", 1),
        (1, "mlp", 2),
        (2, "gat", 0),
        (3, "gcn", 3),
        (3, "gcn", 4),
        (3, "mlp", 3),
        (3, "mlp", 4),
        (3, "gat", 1),
        (3, "gat", 2),
        (3, "gat", 3),
        (3, "gat", 4),
    ]


def test_a_failure_is_told_in_the_end_and_the_next_call_goes_on(tmp_path, crew):
    records = Records(tmp_path)
    (told,) = agenda.carry_out(agenda.missing(planned(TABLE), records), records)
    assert told.startswith("2 of 10 runs failed:\n")
    assert len(records) == 8
    crew.clear()
    todo = agenda.missing(planned(TABLE), records)
    assert len(agenda.carry_out(todo, records)) == 1
    assert [seed for _, seed, _ in crew] == [4, 4]


def test_the_budget_leaves_out_what_is_not_expected_to_fit(tmp_path, fake, crew):
    records = recorded(tmp_path, fake, [small_run(method, "cora", 0) for method in SECONDS])
    todo = agenda.missing(planned(TABLE, OTHER), records)
    assert agenda.hours(todo) == pytest.approx(4 * (5 + 50 + 500) / 3600)
    agenda.carry_out(todo, records, budget=100 / 3600)
    assert {method for method, *_ in crew} == {"gcn", "mlp"}
    crew.clear()
    agenda.carry_out(agenda.missing(planned(TABLE, OTHER), records), records, budget=20 / 3600)
    assert {method for method, *_ in crew} == {"mlp"}


def test_what_the_first_of_its_kind_took_counts_for_the_next(tmp_path, crew):
    """A minute is guessed, and it takes more than eight: the others are left."""
    records = Records(tmp_path)
    agenda.carry_out(agenda.missing(planned(experiment("gat")), records), records, budget=100 / 3600)
    assert [(method, seed) for method, seed, _ in crew] == [("gat", 0)]


def test_timed_runs_are_done_one_at_a_time_with_all_threads(tmp_path, crew, monkeypatch):
    monkeypatch.setattr(runner.torch, "get_num_threads", lambda: 6)
    timed = experiment("gat", run=lambda *given: small_run(*given) | {"alone": True})
    records = Records(tmp_path)
    todo = agenda.missing(planned(OTHER, timed, n_seeds=2), records)
    assert [one.alone for one in todo] == [False, False, True, False, False, True]
    agenda.carry_out(todo, records, jobs=3)
    assert {(seed, threads) for _, seed, threads in crew} == {(0, 2), (0, 6), (1, 2), (1, 6)}
    assert len([one for one in crew if one[2] == 6]) == 2


@pytest.mark.parametrize("experiments", [EXPERIMENTS, STUDIES], ids=["experiments", "studies"])
def test_of_everything_each_run_is_listed_once_and_can_be_estimated(tmp_path, experiments):
    todo = agenda.missing(planned(*experiments.values(), quick=True), Records(tmp_path))
    assert len({runner.key_of(one.run) for one in todo}) == len(todo)
    assert {one.seconds for one in todo} == {60.0}
    assert [one[:-1] for one in todo] == sorted(one[:-1] for one in todo)
