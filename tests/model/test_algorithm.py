"""The textbook computes the paper's loss: with nothing random, the same as ours."""

import numpy as np
import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.model import augment
from ccassg.model.algorithm import Textbook
from ccassg.model.encoder import Encoder
from ccassg.model.loss import Objective, cca_ssg_loss

SETTINGS = {
    "encoder": "gcn", "n_layers": 2, "hidden_dim": 8, "embedding_dim": 6, "learning_rate": 1e-3,
    "decorrelation": 1e-2, "feature_mask_rate": 0.0, "edge_drop_rate": 0.0,
}  # fmt: skip


def test_same_loss_as_ours_without_augmentation():
    graph = as_graph(sp.random(40, 40, density=0.1, random_state=0) != 0, np.random.default_rng(0).normal(size=(40, 5)))
    textbook = Textbook(graph, SETTINGS)
    encoder = Encoder((5, 8, 6), propagate=True, batch_norm=False)
    with torch.no_grad():
        for i, layer in enumerate(textbook.layers):
            encoder.weights[i].copy_(layer.weight.T)
            encoder.biases[i].copy_(layer.bias)
    h = encoder(torch.as_tensor(graph.features), augment.normalized(augment.edge_structure(graph)))
    ours = cca_ssg_loss(h, h, Objective(1e-2))
    n = 40
    # The textbook's unbiased standard deviation shrinks every correlation by (n - 1) / n.
    invariance = float(ours.invariance.detach()) * (n - 1) / n
    z = (h - h.mean(0)) / h.std(0) / n**0.5
    decorrelation = 2 * float((z.T @ z - torch.eye(6)).square().sum().detach())
    np.testing.assert_allclose(textbook.step(), invariance + 1e-2 * decorrelation, rtol=1e-4)


def test_it_learns():
    graph = as_graph(sp.random(40, 40, density=0.1, random_state=0) != 0, np.random.default_rng(0).normal(size=(40, 5)))
    for encoder in ("gcn", "mlp"):
        # Without masking an MLP sees no randomness; its loss then falls by decorrelation alone.
        textbook = Textbook(graph, SETTINGS | {"encoder": encoder, "edge_drop_rate": 0.3, "learning_rate": 1e-2})
        losses = [textbook.step() for _ in range(60)]
        assert np.mean(losses[-10:]) < np.mean(losses[:10])
