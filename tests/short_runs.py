"""A small graph and the settings of a short run, for the tests of the loop and of its checkpoints."""

import scipy.sparse as sp
import torch

from ccassg import as_graph
from ccassg.model.loss import Objective
from ccassg.training.settings import Settings

N, F = 80, 20


def sparse_graph():
    """A graph of N nodes with F sparse features."""
    adjacency = sp.random(N, N, density=0.06, random_state=0)
    return as_graph(adjacency, sp.random(N, F, density=0.3, random_state=1, format="csr"))


def settings(**changes):
    """Eight steps with both augmentations, some settings changed."""
    base = {
        "n_steps": 8,
        "learning_rate": 1e-2,
        "weight_decay": 0.0,
        "objective": Objective(1e-3),
        "edge_drop_rate": (0.3, 0.3),
        "feature_mask_rate": (0.2, 0.2),
    }
    return Settings(**(base | changes))


def same_weights(one, other):
    """Whether two towers have the same weights, bit for bit."""
    return all(torch.equal(p, q) for p, q in zip(one.state_dict().values(), other.state_dict().values(), strict=True))
