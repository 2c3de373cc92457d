"""GCN (Kipf and Welling, Semi-Supervised Classification with Graph Convolutional Networks, ICLR 2017)."""

from torch import Tensor, nn

from ccassg.graph import Graph
from ccassg.model import augment
from ccassg.systems.classifier import NetworkClassifier, SparseLinear, TwoLayers, torch_csr


class GCN(NetworkClassifier):
    """Two of PyG's ``GCNConv`` with a ReLU between."""

    def _module(self) -> nn.Module:
        from torch_geometric.nn import GCNConv

        # The adjacency comes in normalised, once for all steps.
        first = GCNConv(self.n_features_in_, self.hidden_dim, normalize=False)
        first.lin = SparseLinear(first.lin)
        second = GCNConv(self.hidden_dim, len(self.classes_), normalize=False)
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)

    def _structure(self, graph: Graph) -> tuple[Tensor, ...]:
        return (torch_csr(augment.normalized(graph)),)
