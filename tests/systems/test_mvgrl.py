from __future__ import annotations

import numpy as np
import pytest

from ccassg.datasets import stochastic_block_graph
from ccassg.graph import Graph, as_graph
from ccassg.systems.mvgrl import MVGRL, ppr


@pytest.fixture(scope="module")
def graph() -> Graph:
    return stochastic_block_graph(70, 2, 5.0, n_features=8, seed=5).graph


def test_diffusion_is_the_inverse(graph: Graph) -> None:
    a = graph.adjacency().toarray().astype(np.float64) + np.eye(70)
    scale = 1 / np.sqrt(a.sum(1))
    expected = 0.2 * np.linalg.inv(np.eye(70) - 0.8 * scale[:, None] * a * scale)
    for block in (16, 1024):
        assert np.allclose(ppr(graph, 0.2, 0.0, block=block).toarray(), expected, atol=1e-5)
    thinned = ppr(graph, 0.2, 0.01)
    assert thinned.data.min() >= 0.01
    assert np.allclose(thinned.toarray(), np.where(expected < 0.01, 0, expected), atol=1e-5)


def test_diffusion_along_directed_edges_is_the_inverse() -> None:
    rng = np.random.default_rng(0)
    links = rng.random((40, 40)) < 0.1
    np.fill_diagonal(links, val=False)
    graph = as_graph(np.stack(links.nonzero()), np.ones((40, 1)), directed=True)
    a = links.T + np.eye(40)
    a = a / np.sqrt(a.sum(1))[:, None] / np.sqrt(a.sum(0))
    expected = 0.2 * np.linalg.inv(np.eye(40) - 0.8 * a)
    assert np.allclose(ppr(graph, 0.2, 0.0, block=7).toarray(), expected, atol=1e-5)


def test_diffusion_is_computed_once_for_training_and_embedding(graph: Graph) -> None:
    model = MVGRL(embedding_dim=4, n_steps=1, random_state=0).fit(graph)
    found = model._diffusion(graph)
    model.transform(graph)
    assert model._diffusion(graph) is found
    other = graph.subgraph(np.arange(60))
    model.transform(other)
    assert (model._diffusion(other) != ppr(other, 0.2, 0.01)).nnz == 0


def test_score_is_the_bilinear_form(graph: Graph) -> None:
    import torch

    model = MVGRL(embedding_dim=6, n_steps=1, random_state=0).fit(graph)
    h, summary = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(0))
    expected = model.module_["discriminator"](h, summary[:1].expand(5, 6).contiguous()).squeeze(1)
    assert torch.allclose(model._score(h, summary[0]), expected, atol=1e-6)


def test_trains_on_subgraphs(graph: Graph) -> None:
    model = MVGRL(embedding_dim=8, subgraph_nodes=20, n_steps=4, patience=None, random_state=0)
    assert model.fit_transform(graph).shape == (70, 8)
    assert len(set(model.history_["loss"])) == 4
