"""A transform for PyTorch Geometric that adds embeddings to a graph."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np


class AddEmbedding:
    """Add node embeddings to a PyG ``Data``: a transform, alone or in ``torch_geometric.transforms.Compose``.

    Parameters
    ----------
    model : object with ``transform``
        A fitted `ccassg.CCASSG`, or anything that turns a ``Data`` into an array of shape (n, d).
    attribute : str
        Where to put the embedding; ``"x"`` replaces the features.
    concatenate : bool
        With ``attribute="x"``: put the embedding beside the features instead.

    Examples
    --------
    >>> data = AddEmbedding(model)(data)                       # doctest: +SKIP
    >>> data.embedding.shape                                   # doctest: +SKIP
    torch.Size([2708, 512])
    """

    def __init__(self, model: Any, attribute: str = "embedding", concatenate: bool = False) -> None:
        if not hasattr(model, "transform"):
            raise ValueError(f"model must have a method transform, got {type(model).__name__}")
        if concatenate and attribute != "x":
            raise ValueError(f"concatenate goes with attribute='x', got {attribute!r}")
        self.model, self.attribute, self.concatenate = model, attribute, concatenate

    def __call__(self, data: Any) -> Any:
        """Return a shallow copy of the data with the embedding in it."""
        import torch

        if not hasattr(data, "edge_index") or not hasattr(data, "num_nodes"):
            raise ValueError(f"expected a PyG Data of a homogeneous graph, got {type(data).__name__}")
        z = torch.from_numpy(np.asarray(self.model.transform(data), dtype=np.float32)).to(data.edge_index.device)
        if z.ndim != 2 or len(z) != data.num_nodes:
            raise ValueError(f"the model gave shape {tuple(z.shape)} for {data.num_nodes} nodes; expected one row each")
        result = copy.copy(data)
        if self.concatenate and data.x is not None:
            z = torch.cat([data.x.to(z.dtype), z], dim=1)
        result[self.attribute] = z
        return result

    def __repr__(self) -> str:
        return f"AddEmbedding(attribute={self.attribute!r})"
