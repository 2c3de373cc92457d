"""Linear CCA of two randomly masked copies of the features (Hotelling, Relations between two sets of variates, 1936)."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import scipy.sparse as sp
import torch
from scipy import linalg
from torch import Tensor

from ccassg.graph import Array, Graph
from ccassg.systems.base import Embedder, dense
from ccassg.training.products import DENSE_FROM
from ccassg.training.settings import OnStep

# What is so much smaller than the largest is rounding.
EPSILON = 1e-12


@dataclass(kw_only=True, eq=False, repr=False)
class LinearCCA(Embedder):
    """Canonical variates; the edges are not read.

        max tr(U1' X1' X2 U2)   subject to   Uv' Xv' Xv Uv = I

    where X1 and X2 are the features, each entry set to 0 with probability ``feature_mask_rate`` independently per view.
    A node's embedding is the mean of the two projections of its unmasked features.
    """

    target: ClassVar[str] = "F-F"
    space: ClassVar[str] = "O(D^2)"

    # The paper names no settings; these had the highest validation accuracy on Cora of those in the experiment
    # baseline-details. Without shrinkage the canonical variates of a few thousand nodes and as many features are noise.
    embedding_dim: Annotated[int, "Canonical variates, at most the number of features and of nodes less one."] = 512
    feature_mask_rate: Annotated[float, "Probability that an entry is set to 0, per view."] = 0.2
    shrinkage: Annotated[float, "Of each view's covariance towards the identity; 0 is plain CCA."] = 0.1

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        x: Any = graph.features
        if not sp.issparse(x) or x.nnz >= DENSE_FROM * np.prod(x.shape):
            x = dense(x)
        used = np.unique(x.nonzero()[1])  # a column without entries has no variance to explain
        rng = np.random.default_rng(self.seed_)
        view1, view2 = (_masked(x[:, used].astype(np.float64), self.feature_mask_rate, rng) for _ in range(2))
        w1, w2 = canonical_weights(view1, view2, min(self.embedding_dim, graph.n_nodes - 1), self.shrinkage)
        if w1.shape[1] == 0:
            raise ValueError("the features vary too little for linear CCA; rescale them, or choose another system")
        weights = np.zeros((graph.n_features, w1.shape[1]))
        weights[used] = (w1 + w2) / 2
        self.weights_ = torch.from_numpy(weights)
        self.mean_ = torch.from_numpy(_mean(x))
        return []

    def _embed(self, graph: Graph) -> Any:
        weights = self.weights_.numpy()
        return graph.features @ weights - self.mean_.numpy() @ weights

    def _tensors(self) -> dict[str, Tensor]:
        return {"weights": self.weights_, "mean": self.mean_}

    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.weights_, self.mean_ = tensors["weights"], tensors["mean"]


def canonical_weights(x1: Any, x2: Any, width: int, shrinkage: float) -> tuple[Array, Array]:
    """Return the weights of two views, (n_features, width) each; fewer where the views hardly vary.

    With C_v + ridge = L_v L_v', they are L_v'^-1 times the leading singular vectors of L_1^-1 C_12 L_2'^-1: of those alone.
    """
    covariances = [_covariance(x, x) * (1 - shrinkage) for x in (x1, x2)]
    # No direction without variance may divide by zero.
    floors = [EPSILON * max(c.diagonal().max(initial=0.0), 1e-200) for c in covariances]
    lowers = []
    for c, floor in zip(covariances, floors, strict=True):
        c.flat[:: len(c) + 1] += shrinkage + floor
        lowers.append(linalg.cholesky(c, lower=True, check_finite=False))
    del covariances
    half = linalg.solve_triangular(lowers[0], _covariance(x1, x2), lower=True, check_finite=False)
    whitened = linalg.solve_triangular(
        lowers[1], half.T, lower=True, check_finite=False
    )  # (columns of 2, columns of 1)
    n = len(whitened)
    leading = (max(0, n - width), n - 1)
    squares, vectors = linalg.eigh(whitened @ whitened.T, subset_by_index=leading, check_finite=False)
    telling = squares > EPSILON * squares.max(initial=0.0)
    second = vectors[:, telling][:, ::-1]
    first = whitened.T @ second / np.sqrt(squares[telling][::-1])
    weights = [
        linalg.solve_triangular(lower, u, lower=True, trans="T", check_finite=False)
        for lower, u in zip(lowers, (first, second), strict=True)
    ]
    real = np.all([floor * (w**2).sum(0) < 0.5 for floor, w in zip(floors, weights, strict=True)], axis=0)
    return weights[0][:, real], weights[1][:, real]


def _masked(x: Any, rate: float, rng: np.random.Generator, block: int = 1024) -> Any:
    """Set entries to 0; numbers are drawn for all of them, whether stored or not."""
    parts = []
    for start in range(0, x.shape[0], block):
        part = x[start : start + block]
        kept = rng.random(part.shape) >= rate
        parts.append(part.multiply(kept) if sp.issparse(part) else part * kept)
    return sp.csr_array(sp.vstack(parts)) if sp.issparse(x) else np.concatenate(parts)


def _covariance(x: Any, y: Any) -> Array:
    """Return the covariance of the columns of two matrices, which stay sparse if they are."""
    n = x.shape[0]
    covariance: Array = (dense(x.T @ y) - n * np.outer(_mean(x), _mean(y))) / (n - 1)
    return covariance


def _mean(x: Any) -> Array:
    return np.asarray(x.mean(0, dtype=np.float64)).ravel()
