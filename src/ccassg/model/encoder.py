"""The encoders of the paper: GCN, and MLP with batch normalisation.

Both are one module, `Encoder`: linear layers that may aggregate over the neighbourhood (GCN) and may normalise their hidden
activations (MLP). The forward pass here is the plain, differentiable definition; training uses `ccassg.training.step`, which
computes the same loss and gradients faster.
"""

import itertools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import sparse
from ccassg.graph.sparse import CSR


class Encoder(nn.Module):
    """Layers ``H <- relu(norm(A H W + b))``, the last without norm and relu.

    Parameters
    ----------
    dims : sequence of int
        Widths from the features to the embedding: (n_features, hidden, ..., d).
    propagate : bool
        Multiply by the normalised adjacency in every layer (GCN); otherwise nodes are on their own (MLP).
    batch_norm : bool
        Normalise hidden activations over the nodes.
    seed : int
        Of the initial weights: Glorot uniform for a GCN, PyTorch's linear default for an MLP, zero biases for a GCN.
    """

    def __init__(self, dims: Sequence[int], *, propagate: bool, batch_norm: bool, seed: int = 0) -> None:
        super().__init__()
        self.propagate = propagate
        pairs = list(itertools.pairwise(dims))
        self.weights = nn.ParameterList([nn.Parameter(torch.empty(pair)) for pair in pairs])
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(width)) for _, width in pairs])
        self.norms = nn.ModuleList([nn.BatchNorm1d(width) for _, width in pairs[:-1]] if batch_norm else [])
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for weight, bias in zip(self.weights, self.biases, strict=True):
                fan_in, fan_out = weight.shape
                bound = (6 / (fan_in + fan_out)) ** 0.5 if propagate else fan_in**-0.5
                weight.uniform_(-bound, bound, generator=generator)
                if not propagate:
                    bias.uniform_(-bound, bound, generator=generator)

    @property
    def dims(self) -> tuple[int, ...]:
        """Widths from the features to the embedding."""
        return (self.weights[0].shape[0], *(weight.shape[1] for weight in self.weights))

    @property
    def n_hops(self) -> int:
        """How far a node looks."""
        return len(self.weights) * self.propagate

    def forward(self, features: Tensor | CSR, a: CSR | None = None, *, keep_columns: Tensor | None = None) -> Tensor:
        """Embed the nodes, (n, n_features) -> (n, d), differentiably in the parameters.

        Parameters
        ----------
        features : dense tensor or CSR
        a : CSR
            Normalised adjacency with self-loops; not used by an MLP.
        keep_columns : bool tensor of shape (n_features,)
            Feature mask. Masking columns of X is masking rows of the first weight, so X is never copied.
        """
        h: Any = features
        last = len(self.weights) - 1
        for i, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i == 0 and keep_columns is not None:
                weight = weight * keep_columns.unsqueeze(1)
            h = SparseProduct.apply(h, weight) if isinstance(h, CSR) else h @ weight
            if self.propagate:
                h = SparseProduct.apply(a, h)
            h = h + bias
            if i < last:
                h = functional.relu(self.norms[i](h) if self.norms else h)
        return h


def gcn(dims: Sequence[int], *, seed: int = 0) -> Encoder:
    """Build a graph convolutional network: D_in^-1/2 (A + I) D_out^-1/2 H W + b, ReLU between layers."""
    return Encoder(dims, propagate=True, batch_norm=False, seed=seed)


def mlp(dims: Sequence[int], *, seed: int = 0) -> Encoder:
    """Build Linear - BatchNorm - ReLU - ... - Linear, blind to the edges."""
    return Encoder(dims, propagate=False, batch_norm=True, seed=seed)


class SparseProduct(torch.autograd.Function):
    """Differentiable ``a @ b`` for a constant sparse ``a``."""

    @staticmethod
    def forward(ctx: Any, a: CSR, b: Tensor) -> Tensor:
        """Multiply."""
        ctx.a = a
        return sparse.multiply(a, b.contiguous())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        """Multiply by the transpose."""
        return None, sparse.multiply(ctx.a.transposed, grads[0].contiguous())
