"""The supervised networks of the paper: MLP, GCN, GAT and ChebNet, each two layers, those of PyG where it has them."""

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import scipy.sparse as sp
import torch
from torch import Tensor, nn

from ccassg.graph import Graph, sparse
from ccassg.model import augment
from ccassg.systems.classifier import NetworkClassifier, SparseLinear, TwoLayers, torch_csr


class MLP(NetworkClassifier):
    """Two linear layers with a ReLU between; the edges are not read: what they are worth to a supervised method."""

    def _module(self) -> nn.Module:
        first = SparseLinear(nn.Linear(self.n_features_in_, self.hidden_dim))
        second = nn.Linear(self.hidden_dim, len(self.classes_))
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)


class GCN(NetworkClassifier):
    """Two of PyG's ``GCNConv`` with a ReLU between.

    Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017.
    """

    package: ClassVar[str | None] = "torch_geometric"

    def _module(self) -> nn.Module:
        from torch_geometric.nn import GCNConv

        # The adjacency comes in normalised, once for all steps.
        first = GCNConv(self.n_features_in_, self.hidden_dim, normalize=False)
        first.lin = SparseLinear(first.lin)
        second = GCNConv(self.hidden_dim, len(self.classes_), normalize=False)
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)

    def _structure(self, graph: Graph) -> tuple[Tensor, ...]:
        return (torch_csr(augment.normalized(graph)),)


@dataclass(kw_only=True, eq=False, repr=False)
class GAT(NetworkClassifier):
    """Two of PyG's ``GATConv`` with an ELU between (Veličković et al., Graph Attention Networks, ICLR 2018)."""

    package: ClassVar[str | None] = "torch_geometric"

    hidden_dim: Annotated[int, "Width per head."] = 8
    n_heads: Annotated[int, "Attention heads of the hidden layer; they are joined."] = 8
    n_output_heads: Annotated[int, "Attention heads of the output layer; they are averaged."] = 1
    dropout_rate: Annotated[float, "On the features, the hidden layer and the attention."] = 0.6
    learning_rate: float = 5e-3
    weight_decay: Annotated[float, "Of all layers."] = 5e-4

    def _module(self) -> nn.Module:
        from torch_geometric.nn import GATConv

        p, width = self.dropout_rate, self.hidden_dim * self.n_heads
        first = GATConv(self.n_features_in_, self.hidden_dim, heads=self.n_heads, dropout=p)
        first.lin = SparseLinear(first.lin)
        second = GATConv(width, len(self.classes_), heads=self.n_output_heads, concat=False, dropout=p)
        return TwoLayers(first, second, nn.ELU(), p)

    def _structure(self, graph: Graph) -> tuple[Tensor, ...]:
        return (edge_index(graph),)

    def _groups(self) -> list[dict[str, Any]]:
        return [{"params": list(self.module_.parameters()), "weight_decay": self.weight_decay}]


@dataclass(kw_only=True, eq=False, repr=False)
class ChebNet(NetworkClassifier):
    """Two of PyG's ``ChebConv`` with a ReLU between.

    Defferrard, Bresson, Vandergheynst, Convolutional Neural Networks on Graphs with Fast Localized Spectral Filtering,
    NeurIPS 2016.
    """

    package: ClassVar[str | None] = "torch_geometric"

    n_terms: Annotated[int, "Chebyshev polynomials per filter: the order plus one."] = 3

    def _module(self) -> nn.Module:
        first = chebyshev_filter(self.n_features_in_, self.hidden_dim, self.n_terms)
        second = chebyshev_filter(self.hidden_dim, len(self.classes_), self.n_terms)
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)

    def _structure(self, graph: Graph) -> tuple[Tensor, ...]:
        return (scaled_laplacian(graph),)


def edge_index(graph: Graph) -> Tensor:
    """Return the edges for PyG, (2, n_edges): senders, then receivers."""
    a = sparse.from_scipy(graph.adjacency())
    return torch.stack([sparse.row_ids(a), a.indices.long()])


def scaled_laplacian(graph: Graph) -> Tensor:
    """Return the normalised Laplacian L with its spectrum brought to [-1, 1], sparse (n, n).

    2 L / 2 - I = -D^-1/2 A D^-1/2
    """
    a = graph.adjacency()
    a = sp.csr_array(a - sp.diags_array(a.diagonal()))  # as PyG: a loop is no edge to a neighbour
    a.eliminate_zeros()
    degrees = a.sum(1)
    scale = sp.diags_array((degrees + (degrees == 0)) ** -0.5)
    return torch_csr(sparse.from_scipy(sp.csr_array(-(scale @ a @ scale), dtype="float32")))


def chebyshev_filter(n_inputs: int, n_outputs: int, n_terms: int) -> nn.Module:
    """Build PyG's layer, its sum of T_k(L) x W_k taken in another order (a test holds it to PyG's).

    PyG applies the polynomials to x and projects then, which makes n_edges x n_inputs floats; here x is projected first and
    stays sparse, and the polynomials are applied to what is left by Clenshaw's recurrence.
    """
    from torch_geometric.nn import ChebConv

    class Filter(ChebConv):
        def forward(self, x: Tensor, laplacian: Tensor) -> Tensor:
            """(n, n_inputs) -> (n, n_outputs)."""
            first, *others = [project(x) for project in self.lins]
            last, after = None, None  # b_k and b_(k+1) of b_k = y_k + 2 L b_(k+1) - b_(k+2)
            for y in reversed(others):
                last, after = _plus(y, 2, laplacian, last, after), last
            return _plus(first, 1, laplacian, last, after) + self.bias

    made = Filter(n_inputs, n_outputs, K=n_terms)
    made.lins = nn.ModuleList(map(SparseLinear, made.lins))
    return made


def _plus(y: Tensor, factor: float, laplacian: Tensor, last: Tensor | None, after: Tensor | None) -> Tensor:
    if last is not None:
        y = y + factor * (laplacian @ last)
    return y if after is None else y - after
