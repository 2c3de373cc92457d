"""Two random views, one encoder, a loss: the shared part of GRACE and GCA, and BGRL, Graph Barlow Twins and VICReg."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph
from ccassg.model import augment
from ccassg.parameters import rates
from ccassg.systems.base import NetworkEmbedder
from ccassg.systems.encoder import GraphEncoder, View, inputs, projector
from ccassg.systems.training import warmup_cosine
from ccassg.training.products import first_product
from ccassg.training.rows import feature_tensor

Rate = float | tuple[float, float]
WarmUp = Annotated[int, "Steps in which the learning rate rises; afterwards it falls along a cosine."]


@dataclass(kw_only=True, eq=False, repr=False)
class TwoViewEmbedder(NetworkEmbedder):
    """Abstract; a system adds its modules by name, "encoder" the one that embeds, and its loss."""

    hidden_dim: Annotated[int, "Width of the first of the two layers of the encoder."] = 512
    embedding_dim: Annotated[int, "Width of the second."] = 256
    activation: Annotated[str, "relu, prelu, elu or rrelu."] = "prelu"
    edge_drop_rate: Annotated[Rate, "Probability that an edge is dropped, per step; or a pair, one per view."] = 0.3
    feature_mask_rate: Annotated[Rate, "Probability that a feature column is masked; or a pair, one per view."] = 0.3
    weight_decay: float = 1e-5

    @abstractmethod
    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        """Return the loss of ``self.module_`` on two views."""

    @property
    def _encoder(self) -> GraphEncoder:
        encoder: GraphEncoder = self.module_["encoder"]
        return encoder

    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        view = self._views(graph)
        return lambda step: self._loss((view(step, 0), view(step, 1)), step)

    def _embed(self, graph: Graph) -> Tensor:
        return self._encoder(*inputs(graph))

    def _views(self, graph: Graph) -> Callable[[int, int], View]:
        """Return the function from (step, 0 or 1) to a view."""
        features, edges = first_product(feature_tensor(graph, "cpu")), augment.edge_structure(graph)
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


@dataclass(kw_only=True, eq=False, repr=False)
class BGRL(TwoViewEmbedder):
    """Predict a slow copy's embedding of the other view.

    Thakoor et al., Large-Scale Representation Learning on Graphs via Bootstrapping, ICLR 2022. A predictor on the encoder's
    output matches the target encoder's, an exponential moving average of the encoder.
    """

    target: ClassVar[str] = "N-N"
    projector: ClassVar[bool] = True
    asymmetric: ClassVar[bool] = True
    space: ClassVar[str] = "O(N)"
    view_source: ClassVar[str] = "Rand-Aug"
    loss: ClassVar[str] = "BYOL"

    predictor_dim: Annotated[int, "Hidden width of the predictor."] = 512
    momentum: Annotated[
        float, "Share of the target that stays per step at the start; it rises to 1 along a cosine."
    ] = 0.99
    n_warmup_steps: WarmUp = 50

    def _module(self) -> nn.ModuleDict:
        head = projector((self.embedding_dim, self.predictor_dim, self.embedding_dim), "prelu")
        return nn.ModuleDict({"encoder": self._new_encoder(batch_norm=True), "predictor": head})

    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        # The target starts from other weights than the encoder, as in the paper's code.
        self._target = self._new_encoder(batch_norm=True).train()
        return super()._losses(graph)

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        predictor = self.module_["predictor"]
        with torch.no_grad():
            if step > 0:
                self._follow(step - 1)
            targets = reversed(self._target.both(views))
        predicted = map(predictor, self._encoder.both(views))
        similar = [functional.cosine_similarity(p, t, dim=1).mean() for p, t in zip(predicted, targets, strict=True)]
        return 2 - similar[0] - similar[1]

    def _follow(self, step: int) -> None:
        """Move the target towards the encoder as it is after a step."""
        share = (1 - self.momentum) * warmup_cosine(step, 0, self.n_steps)
        for slow, fast in zip(self._target.parameters(), self._encoder.parameters(), strict=True):
            slow.lerp_(fast, share)


@dataclass(kw_only=True, eq=False, repr=False)
class GraphBarlowTwins(TwoViewEmbedder):
    """Make the cross-correlation of the two views' columns the identity.

        L = sum_i (1 - C_ii)^2 + 1/d sum_{i != j} C_ij^2,   C = Z1' Z2 / n

    Bielak, Kajdanowicz, Chawla, Graph Barlow Twins: A Self-Supervised Representation Learning Framework for Graphs, 2022.
    """

    target: ClassVar[str] = "F-F"
    space: ClassVar[str] = "O(D^2)"
    view_source: ClassVar[str] = "Rand-Aug"
    loss: ClassVar[str] = "Barlow Twins"

    n_warmup_steps: WarmUp = 20

    def _module(self) -> nn.ModuleDict:
        return nn.ModuleDict({"encoder": self._new_encoder(batch_norm=True, activate_last=False)})

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        return barlow_twins(*self._encoder.both(views))


def barlow_twins(h1: Tensor, h2: Tensor) -> Tensor:
    """Return the loss of Graph Barlow Twins of two views' embeddings (n, d)."""
    z1, z2 = ((h - h.mean(0)) / (h.std(0, correction=0) + 1e-8) for h in (h1, h2))
    correlation = z1.T @ z2 / len(z1)
    diagonal = correlation.diagonal()
    off_diagonal = correlation.square().sum() - diagonal.square().sum()
    return (1 - diagonal).square().sum() + off_diagonal / len(diagonal)


@dataclass(kw_only=True, eq=False, repr=False)
class VICReg(TwoViewEmbedder):
    """Keep every column's deviation above 1, the views close and the columns uncorrelated, on an expander's output.

        L = invariance |Z1 - Z2|^2 / (n d) + variance sum_v mean_j max(0, 1 - std_j) + covariance sum_v |off(C_v)|^2 / d

    Bardes, Ponce, LeCun, VICReg, ICLR 2022, with a GCN encoder.
    """

    target: ClassVar[str] = "F-F"
    projector: ClassVar[bool] = True
    space: ClassVar[str] = "O(D^2)"
    view_source: ClassVar[str] = "Rand-Aug"
    loss: ClassVar[str] = "VICReg"

    expander_dim: Annotated[int, "Width of the expander's hidden layer and output."] = 512
    invariance: Annotated[float, "Weight of the first term."] = 25.0
    variance: Annotated[float, "Weight of the second."] = 25.0
    covariance: Annotated[float, "Weight of the third."] = 1.0

    def _module(self) -> nn.ModuleDict:
        head = projector((self.embedding_dim, self.expander_dim, self.expander_dim), "relu", batch_norm=True)
        return nn.ModuleDict({"encoder": self._new_encoder(activate_last=False), "expander": head})

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        expander = self.module_["expander"]
        z1, z2 = map(expander, self._encoder.both(views))
        invariance, variance, covariance = vicreg_terms(z1, z2)
        return self.invariance * invariance + self.variance * variance + self.covariance * covariance


def vicreg_terms(z1: Tensor, z2: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return invariance, variance and covariance of two views (n, d)."""
    n, d = z1.shape
    variance, covariance = z1.new_zeros(()), z1.new_zeros(())
    for z in (z1, z2):
        centred = z - z.mean(0)
        gram = centred.T @ centred / max(1, n - 1)
        variance = variance + functional.relu(1 - (gram.diagonal() + 1e-4).sqrt()).mean()
        covariance = covariance + (gram.square().sum() - gram.diagonal().square().sum()) / d
    return functional.mse_loss(z1, z2), variance / 2, covariance
