"""The graph encoder that the self-supervised systems share, and their projector.

The layer is PyG's ``GCNConv`` (a test holds it to that), computed by this package's sparse product: wide sparse features stay
sparse and are masked without a copy, at half the time.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph, sparse
from ccassg.graph.sparse import CSR
from ccassg.model import augment
from ccassg.model.encoder import SparseProduct
from ccassg.training.buffers import step_buffers
from ccassg.training.products import FirstProduct, in_faster_form
from ccassg.training.rows import feature_tensor


class PReLU(nn.PReLU):
    """PyTorch's, with one slope, whose own backward pass takes longer than all else in a layer on a CPU."""

    def forward(self, x: Tensor) -> Tensor:
        """Apply it elementwise."""
        y: Tensor = _Leak.apply(x, self.weight)
        return y


class _Leak(torch.autograd.Function):
    """max(x, 0) + slope min(x, 0)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, slope: Tensor) -> Tensor:
        ctx.save_for_backward(x, slope)
        return functional.leaky_relu(x, slope.item())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor]:
        x, slope = ctx.saved_tensors
        g = grads[0].contiguous()
        of_slope = torch.dot(g.flatten(), x.clamp(max=0).flatten())
        return torch.ops.aten.leaky_relu_backward(g, x, slope.item(), False), of_slope.reshape(slope.shape)


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": nn.ReLU,
    "prelu": PReLU,
    "elu": nn.ELU,
    # GCA's "rrelu" is called in its evaluation mode, where it is a leaky ReLU with the mean slope of 1/8 and 1/3.
    "rrelu": lambda: nn.LeakyReLU(11 / 48),
}


# One of two random views: the features, which both share; the normalised adjacency with self-loops; the columns it keeps.
View = tuple[FirstProduct, CSR, Tensor | None]


class _SharedProduct(torch.autograd.Function):
    """X W of the first layer in two views, (n, width) each."""

    @staticmethod
    def forward(
        ctx: Any, product: FirstProduct, weight: Tensor, keeps: tuple[Tensor | None, Tensor | None]
    ) -> tuple[Tensor, ...]:
        ctx.product, ctx.buffers = product, step_buffers(0, like=weight)
        h1, h2 = product.forward(weight, keeps, ctx.buffers)
        return h1, (h2.clone() if h2 is h1 else h2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor, None]:
        return None, ctx.product.backward(*(g.contiguous() for g in grads), ctx.buffers), None


class GraphEncoder(nn.Module):
    """Layers ``H <- act(norm(A H W + b))``, of widths ``dims`` from the features to the embedding.

    With ``activate_last`` the last layer too has normalisation and activation; with ``batch_norm`` activations are normalised
    over the nodes first, and running statistics move by 1 % a step.
    """

    def __init__(
        self, dims: Sequence[int], *, activation: str = "relu", activate_last: bool = True, batch_norm: bool = False
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation must be one of {', '.join(ACTIVATIONS)}, got {activation!r}")
        pairs = list(itertools.pairwise(dims))
        n_active = len(pairs) if activate_last else len(pairs) - 1
        self.weights = nn.ParameterList([nn.Parameter(nn.init.xavier_uniform_(torch.empty(pair))) for pair in pairs])
        self.biases = nn.ParameterList([nn.Parameter(torch.zeros(width)) for _, width in pairs])
        widths = [width for _, width in pairs[:n_active]]
        self.norms = nn.ModuleList([nn.BatchNorm1d(width, momentum=0.01) for width in widths] if batch_norm else [])
        self.activations = nn.ModuleList([ACTIVATIONS[activation]() for _ in widths])

    def forward(
        self, features: Tensor | CSR, a: CSR, keep_columns: Tensor | None = None, *, nodes: Tensor | None = None
    ) -> Tensor:
        """Embed the nodes, (n, n_features) -> (n, d), or only ``nodes``: the last layer is not computed for the others.

        ``a`` is the normalised adjacency with self-loops, ``keep_columns`` (n_features,) the feature mask.
        """
        return self.propagate(self.project(features, keep_columns), a, nodes)

    def both(self, views: tuple[View, View], *, nodes: Tensor | None = None) -> list[Tensor]:
        """Embed the nodes in two views, (n, d) each: columns of the features that both views keep are multiplied once."""
        (product, a1, keep1), (_, a2, keep2) = views
        projected = _SharedProduct.apply(product, self.weights[0], (keep1, keep2))
        return [self.propagate(h, a, nodes) for h, a in zip(projected, (a1, a2), strict=True)]

    def project(self, features: Tensor | CSR, keep_columns: Tensor | None = None) -> Tensor:
        """Return X W of the first layer, (n, n_features) -> (n, width): the part of the way that knows no edges."""
        weight: Tensor = self.weights[0]
        if keep_columns is not None:
            weight = weight * keep_columns.unsqueeze(1)
        projected: Tensor = SparseProduct.apply(features, weight) if isinstance(features, CSR) else features @ weight
        return projected

    def propagate(self, h: Tensor, a: CSR, nodes: Tensor | None = None) -> Tensor:
        """Go the rest of the way, (n, width) -> (n, d). Shuffled rows of ``h`` are the projections of shuffled features."""
        last = len(self.biases) - 1
        for i, bias in enumerate(self.biases):
            if i == last and nodes is not None:
                # (A H) W instead of A (H W): W then meets the rows of these nodes only.
                h = SparseProduct.apply(sparse.select_rows(a, nodes), h)
                h = (h @ self.weights[i] if i > 0 else h) + bias
            else:
                h = SparseProduct.apply(a, h @ self.weights[i] if i > 0 else h) + bias
            if i < len(self.activations):
                h = self.activations[i](self.norms[i](h) if len(self.norms) else h)
        return h


def projector(dims: Sequence[int], activation: str = "elu", *, batch_norm: bool = False) -> nn.Sequential:
    """Build linear layers with an activation between them, and batch norm before it if asked."""
    layers: list[nn.Module] = []
    for i, (fan_in, fan_out) in enumerate(itertools.pairwise(dims)):
        if i > 0:
            layers += [nn.BatchNorm1d(fan_in)] if batch_norm else []
            layers.append(ACTIVATIONS[activation]())
        layers.append(nn.Linear(fan_in, fan_out))
    return nn.Sequential(*layers)


def features_of(graph: Graph) -> Tensor | CSR:
    """Return the features, sparse where that is faster."""
    return in_faster_form(feature_tensor(graph, "cpu"))


def inputs(graph: Graph) -> tuple[Tensor | CSR, CSR]:
    """Return what an encoder takes: the features and the normalised adjacency with self-loops."""
    return features_of(graph), augment.normalized(graph)
