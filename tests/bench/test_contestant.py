"""A contestant takes the steps that it is timed for: those of `fit`, or of Algorithm 1."""

import warnings

import pytest
import torch

from ccassg.bench.contestant import contestant, load_job, serve
from ccassg.estimator import CCASSG
from ccassg.model.algorithm import Algorithm1
from ccassg.model.presets import FAST, PRESETS
from ccassg.worker import Worker

SMALL = {"nodes": 200, "threads": 1, "device": "cpu"}


@pytest.fixture(autouse=True)
def _settings_of_torch_stay():
    before = torch.get_num_threads()
    with warnings.catch_warnings(), torch.random.fork_rng():
        warnings.filterwarnings("ignore", message="Sparse")
        yield
    torch.set_num_threads(before)


@pytest.fixture
def trained(monkeypatch):
    """The parameters that the last optimiser was given."""
    parameters = []

    class Adam(torch.optim.Adam):
        def __init__(self, given, **options):
            parameters[:] = given
            super().__init__(parameters, **options)

    monkeypatch.setattr(torch.optim, "Adam", Adam)
    return parameters


def test_a_job_on_a_dataset_has_its_preset():
    graph, settings = load_job({"kind": "exact", "dataset": "cora"})
    assert (graph.n_nodes, graph.n_features) == (2708, 1433)
    assert settings == PRESETS["cora"]
    assert load_job({"kind": "textbook", "dataset": "cora"})[1] == PRESETS["cora"]
    assert load_job({"kind": "fast", "dataset": "cora"})[1] == PRESETS["cora"] | FAST["cora"]


def test_a_job_of_so_many_nodes_is_a_random_graph():
    graph, settings = load_job({"kind": "exact", "nodes": 500})
    assert (graph.n_nodes, graph.n_features) == (500, 128)
    assert graph.n_edges / 500 == pytest.approx(10, rel=0.1)
    assert (settings["hidden_dim"], settings["embedding_dim"], settings["n_layers"]) == (128, 128, 2)
    again, _ = load_job({"kind": "exact", "nodes": 500})
    assert (again.indices == graph.indices).all()
    assert (again.features == graph.features).all()


def test_the_exact_one_takes_the_steps_of_fit(trained):
    job = SMALL | {"kind": "exact"}
    step = contestant(job)
    mine = list(trained)
    for _ in range(3):
        step()
    graph, settings = load_job(job)
    model = CCASSG(**(settings | {"n_steps": 3}), random_state=0, device="cpu").fit(graph)
    theirs = list(model.encoder_.parameters())
    assert len(mine) == len(theirs) == 4
    assert all(torch.equal(p, q) for p, q in zip(mine, theirs, strict=True))


def test_the_textbook_is_algorithm_1():
    job = SMALL | {"kind": "textbook"}
    step = contestant(job)
    losses = [step() for _ in range(3)]
    algorithm = Algorithm1(*load_job(job))
    assert losses == [algorithm.step() for _ in range(3)]
    assert losses[2] < losses[0]


def test_the_default_fits_and_embeds():
    z = contestant(SMALL | {"kind": "default"})()
    graph, _ = load_job(SMALL)
    assert (z == CCASSG(random_state=0).fit_transform(graph)).all()


def test_orders_are_answered_one_by_one():
    threads = torch.get_num_threads() + 1
    orders = [SMALL | {"kind": "exact", "threads": threads}, {"steps": 2}, {"steps": 0}, {"steps": 1}]
    first, *answers = serve(iter(orders))
    assert first.keys() == {"setup_seconds"}
    assert first["setup_seconds"] > 0
    assert [len(answer["seconds"]) for answer in answers] == [2, 0, 1]
    assert all(second > 0 for answer in answers for second in answer["seconds"])
    assert all(answer["peak_memory"] > 1e7 for answer in answers)
    assert torch.get_num_threads() == threads


def test_in_a_process_of_its_own():
    with Worker("ccassg.bench.contestant") as worker:
        assert worker.ask(SMALL | {"kind": "exact"})["setup_seconds"] > 0
        assert len(worker.ask({"steps": 3})["seconds"]) == 3


def test_another_dataset_is_refused():
    with pytest.raises(KeyError, match="mars"):
        load_job({"kind": "fast", "dataset": "mars"})
    with pytest.raises(ValueError, match="mars"):
        load_job({"kind": "exact", "dataset": "mars"})
