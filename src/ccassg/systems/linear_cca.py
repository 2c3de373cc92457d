"""Linear CCA of two randomly masked copies of the features (Hotelling, Relations between two sets of variates, 1936)."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from ccassg.graph import Graph
from ccassg.systems.base import Embedder, dense
from ccassg.training.settings import OnStep


@dataclass(kw_only=True, eq=False, repr=False)
class LinearCCA(Embedder):
    """Canonical variates by cca-zoo; the edges are not read.

        max tr(U1' X1' X2 U2)   subject to   Uv' Xv' Xv Uv = I

    where X1 and X2 are the features, each entry set to 0 with probability ``feature_mask_rate`` independently per view.
    A node's embedding is the mean of the two projections of its unmasked features.
    """

    package: ClassVar[str | None] = "cca_zoo"
    target: ClassVar[str] = "F-F"
    space: ClassVar[str] = "O(D^2)"

    # The paper names no settings; these had the highest validation accuracy on Cora of those in the experiment
    # baseline-details. Without shrinkage the canonical variates of a few thousand nodes and as many features are noise.
    embedding_dim: Annotated[int, "Canonical variates, at most the number of features and of nodes less one."] = 512
    feature_mask_rate: Annotated[float, "Probability that an entry is set to 0, per view."] = 0.2
    shrinkage: Annotated[float, "Of each view's covariance towards the identity; 0 is plain CCA."] = 0.1

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        from cca_zoo.linear import RidgeCCA

        x = np.asarray(dense(graph.features), np.float64)
        rng = np.random.default_rng(self.seed_)
        used = x.any(0)  # a column without entries has no variance to explain
        views = [x[:, used] * (rng.random(x[:, used].shape) >= self.feature_mask_rate) for _ in range(2)]
        width = min(self.embedding_dim, int(used.sum()), graph.n_nodes - 1)
        model = RidgeCCA(n_components=width, shrinkage=self.shrinkage).fit(views)
        width = model.weights_[0].shape[1]  # fewer where the features hardly vary
        if width == 0:
            raise ValueError("the features vary too little for linear CCA; rescale them, or choose another system")
        weights = np.zeros((graph.n_features, width))
        weights[used] = (model.weights_[0] + model.weights_[1]) / 2
        self.weights_ = torch.from_numpy(weights)
        self.mean_ = torch.from_numpy(x.mean(0))
        return []

    def _embed(self, graph: Graph) -> Any:
        weights = self.weights_.numpy()
        return graph.features @ weights - self.mean_.numpy() @ weights

    def _tensors(self) -> dict[str, Tensor]:
        return {"weights": self.weights_, "mean": self.mean_}

    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.weights_, self.mean_ = tensors["weights"], tensors["mean"]
