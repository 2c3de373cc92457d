"""What is refused for want of memory, before any is taken, and what is said where it ran out."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg import CCASSG, as_graph, memory
from ccassg.systems import make
from ccassg.worker import WorkerError
from saved_models import small_graph


def test_there_is_some_and_a_limit_of_the_process_counts(bounded) -> None:
    import resource

    assert 2**27 < memory.available() < 2**50
    assert memory.available() <= resource.getrlimit(resource.RLIMIT_AS)[0]


def test_what_is_known_to_need_more_is_refused() -> None:
    memory.require(1, "little")
    sentence = r"^so much needs at least 4,194,304.0 GiB of memory, and there are [\d.,]+; lower the largest of these$"
    with pytest.raises(ValueError, match=sentence):
        memory.require(2**52, "so much")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems grant any amount")
def test_every_way_of_running_out_is_one_sentence() -> None:
    for ask in (lambda: np.empty(2**55), lambda: torch.empty(2**50), lambda: bytearray(2**60)):
        with (
            pytest.raises(MemoryError, match=r"^x=1 needs more memory than there is \(.*\)$") as raised,
            memory.named("x=1"),
        ):
            ask()
        assert len(str(raised.value).splitlines()) == 1
    with pytest.raises(RuntimeError, match=r"^numbers$"), memory.named("x=1"):
        raise RuntimeError("numbers")
    assert not memory.is_exhausted(ValueError("out of memory"))
    assert not memory.is_exhausted(WorkerError("MemoryError: out of memory"))
    assert memory.is_exhausted(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB."))


WIDE = {"hidden_dim": 30_000, "embedding_dim": 30_000}


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("cca-ssg", {"encoder": "gcn", "n_layers": 900, **WIDE}),
        ("cca-ssg", {"encoder": "mlp", **WIDE}),
        ("cca-ssg", {"encoder": "gcn", "n_layers": 1, "embedding_dim": 30_000}),
        ("cca-ssg", {"encoder": "gcn", "hidden_dim": 30_000, "embedding_dim": 8, "batch_nodes": 10}),
        ("untrained-gcn", {"n_layers": 900, **WIDE}),
        ("grace", {"projector_dim": 20_000, **WIDE}),
        ("vicreg", {"expander_dim": 30_000, **WIDE}),
        ("bgrl", {"predictor_dim": 30_000, **WIDE}),
        ("deepwalk", {"n_walks": 10**8, "walk_length": 10**8}),
        ("gat", {"hidden_dim": 30_000, "n_heads": 1000}),
    ],
)
def test_settings_are_held_against_the_memory_before_any_is_taken(name, sizes, bounded) -> None:
    graph = as_graph(np.array([[0], [1]]), np.ones((30_000, 6), np.float32))
    bounded()
    model = make(name, **sizes)
    with pytest.raises(ValueError, match=r"on 30,000 nodes with 6 features needs at least .* GiB of memory") as raised:
        model.fit(graph, np.arange(30_000) % 2)
    assert all(f"{key}={value}" in str(raised.value) for key, value in sizes.items() if key != "encoder")


def test_a_graph_too_large_for_the_widths_is_named(bounded) -> None:
    n = 200_000
    graph = as_graph(np.array([[0], [1]]), np.ones((n, 1), np.float32))
    bounded()
    with pytest.raises(ValueError, match=r"^CCASSG with .*hidden_dim=4096.* on 200,000 nodes with 1 features needs"):
        CCASSG(encoder="gcn", hidden_dim=4096, loss_nodes=None).fit(graph)


def test_directions_of_very_many_features_are_named(bounded) -> None:
    some = np.arange(20_000)
    features = sp.csr_array((np.ones(len(some), np.float32), (some, some)), shape=(len(some), 10**6))
    graph = as_graph(np.array([[0], [1]]), features)
    bounded()
    with pytest.raises(
        ValueError, match=r"^CCASSG with embedding_dim=20000 on 20,000 nodes with 1,000,000 features needs"
    ):
        CCASSG(embedding_dim=20_000).fit(graph)


def test_an_embedding_larger_than_memory_is_named(bounded) -> None:
    model = CCASSG(encoder="mlp", n_layers=1, embedding_dim=2048, n_steps=1).fit(small_graph())
    graph = as_graph(np.array([[0], [1]]), np.ones((500_000, 6), np.float32))
    bounded()
    with pytest.raises(MemoryError, match=r"^CCASSG with embedding_dim=2048.* on 500,000 nodes .* needs more memory"):
        model.transform(graph)
