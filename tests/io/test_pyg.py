"""The PyG transform adds what the model gives and changes nothing else."""

import numpy as np
import pytest
import torch

from ccassg.io.pyg import AddEmbedding

pytest.importorskip("torch_geometric")
from torch_geometric.data import Data
from torch_geometric.transforms import Compose, ToUndirected


class Doubler:
    """A model whose embedding is twice the features."""

    def transform(self, data):
        return 2 * data.x.numpy()


@pytest.fixture
def data():
    return Data(x=torch.arange(6.0).reshape(3, 2), edge_index=torch.tensor([[0, 1], [1, 2]]))


def test_embedding_is_added_to_a_copy(data):
    result = Compose([ToUndirected(), AddEmbedding(Doubler())])(data)
    assert (result.embedding == 2 * data.x).all()
    assert result.edge_index.shape == (2, 4)
    assert "embedding" not in data


def test_features_are_replaced_or_joined(data):
    assert (AddEmbedding(Doubler(), "x")(data).x == 2 * data.x).all()
    joined = AddEmbedding(Doubler(), "x", concatenate=True)(data)
    assert (joined.x == torch.cat([data.x, 2 * data.x], 1)).all()
    assert data.x.shape == (3, 2)


def test_what_cannot_be_is_refused(data):
    with pytest.raises(ValueError, match="method transform, got str"):
        AddEmbedding("model")
    with pytest.raises(ValueError, match="goes with attribute='x'"):
        AddEmbedding(Doubler(), concatenate=True)
    with pytest.raises(ValueError, match="got ndarray"):
        AddEmbedding(Doubler())(np.eye(2))
    short = Doubler()
    short.transform = lambda data: np.ones((2, 2))
    with pytest.raises(ValueError, match=r"shape \(2, 2\) for 3 nodes"):
        AddEmbedding(short)(data)
