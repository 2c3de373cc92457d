"""The shared part of GRACE, GCA, BGRL, Graph Barlow Twins and VICReg: two random views, one encoder, a loss."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch import Tensor, nn

from ccassg.graph import Graph
from ccassg.graph.sparse import CSR
from ccassg.model import augment
from ccassg.parameters import rates
from ccassg.systems.base import NetworkEmbedder
from ccassg.systems.encoder import GraphEncoder, features_of, inputs

# One view: what `GraphEncoder` takes, (features, adjacency, kept columns).
View = tuple[Tensor | CSR, CSR, Tensor | None]
Rate = float | tuple[float, float]


@dataclass(kw_only=True, eq=False, repr=False)
class TwoViewEmbedder(NetworkEmbedder):
    """Abstract; a system adds its loss, and its own views if it draws them in another way. See also `NetworkEmbedder`.

    Parameters
    ----------
    hidden_dim, embedding_dim : int
        Widths of the two layers of the encoder.
    activation : {"relu", "prelu", "elu", "rrelu"}
    edge_drop_rate, feature_mask_rate : float, or a pair of floats, one per view
        Probability that an edge is dropped, and that a feature column is masked, per view and step.
    """

    hidden_dim: int = 512
    embedding_dim: int = 256
    activation: str = "prelu"
    edge_drop_rate: Rate = 0.3
    feature_mask_rate: Rate = 0.3
    weight_decay: float = 1e-5

    @abstractmethod
    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        """The loss of ``self.module_`` on two views."""

    @property
    def _encoder(self) -> GraphEncoder:
        assert isinstance(self.module_["encoder"], GraphEncoder)
        return self.module_["encoder"]

    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        view = self._views(graph)
        return lambda step: self._loss((view(step, 0), view(step, 1)), step)

    def _embed(self, graph: Graph) -> Tensor:
        return self._encoder(*inputs(graph))

    def _views(self, graph: Graph) -> Callable[[int, int], View]:
        """The function from (step, 0 or 1) to a view."""
        features, edges = features_of(graph), augment.edge_structure(graph)
        edge_rates = rates("edge_drop_rate", self.edge_drop_rate)
        column_rates = rates("feature_mask_rate", self.feature_mask_rate)

        def view(step: int, v: int) -> View:
            a = augment.drop_edges(edges, edge_rates[v], seed=self.seed_, step=step, view=v)
            keep = augment.mask_features(graph.n_features, column_rates[v], seed=self.seed_, step=step, view=v)
            return features, a, keep

        return view

    def _new_encoder(self, **options: Any) -> GraphEncoder:
        dims = (self.n_features_in_, self.hidden_dim, self.embedding_dim)
        return GraphEncoder(dims, activation=self.activation, **options)

    @abstractmethod
    def _module(self) -> nn.ModuleDict:
        """New modules by name; "encoder" is the one that embeds."""
