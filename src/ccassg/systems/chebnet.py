"""ChebNet (Defferrard, Bresson, Vandergheynst, Convolutional Neural Networks on Graphs with Fast Localized Spectral
Filtering, NeurIPS 2016).
"""

from dataclasses import dataclass

import scipy.sparse as sp
from torch import Tensor, nn

from ccassg.graph import Graph, sparse
from ccassg.systems.classifier import NetworkClassifier, SparseLinear, TwoLayers, torch_csr


@dataclass(kw_only=True, eq=False, repr=False)
class ChebNet(NetworkClassifier):
    """Two of PyG's ``ChebConv`` with a ReLU between; see `NetworkClassifier` for the other parameters.

    Parameters
    ----------
    n_terms : int
        Chebyshev polynomials per filter: the order plus one.
    """

    n_terms: int = 3

    def _module(self) -> nn.Module:
        first = _filter(self.n_features_in_, self.hidden_dim, self.n_terms)
        second = _filter(self.hidden_dim, len(self.classes_), self.n_terms)
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)

    def _structure(self, graph: Graph) -> tuple[Tensor, ...]:
        return (scaled_laplacian(graph),)


def scaled_laplacian(graph: Graph) -> Tensor:
    """2 L / 2 - I = -D^-1/2 A D^-1/2, sparse (n, n): the normalised Laplacian with its spectrum brought to [-1, 1]."""
    a = graph.adjacency()
    a = sp.csr_array(a - sp.diags_array(a.diagonal()))  # as PyG: a loop is no edge to a neighbour
    a.eliminate_zeros()
    degrees = a.sum(1)
    scale = sp.diags_array((degrees + (degrees == 0)) ** -0.5)
    return torch_csr(sparse.from_scipy(sp.csr_array(-(scale @ a @ scale), dtype="float32")))


def _filter(n_inputs: int, n_outputs: int, n_terms: int) -> nn.Module:
    """PyG's layer, its sum of T_k(L) x W_k taken in another order (a test holds it to PyG's).

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
