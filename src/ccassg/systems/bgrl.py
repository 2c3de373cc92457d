"""BGRL: predict a slow copy's embedding of the other view (Thakoor et al., Large-Scale Representation Learning on Graphs via
Bootstrapping, ICLR 2022).
"""

import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph
from ccassg.systems.encoder import projector
from ccassg.systems.training import warmup_cosine
from ccassg.systems.two_views import TwoViewEmbedder, View
from ccassg.training.settings import OnStep


@dataclass(kw_only=True, eq=False, repr=False)
class BGRL(TwoViewEmbedder):
    """A predictor on the encoder's output matches the target encoder's, an exponential moving average of the encoder.

    Parameters
    ----------
    predictor_dim : int
        Hidden width of the predictor.
    momentum : float
        Share of the target that stays per step at the start; it rises to 1 along a cosine.
    n_warmup_steps : int
        Steps in which the learning rate rises; afterwards it falls along a cosine.
    """

    target: ClassVar[str] = "N-N"
    projector: ClassVar[bool] = True
    asymmetric: ClassVar[bool] = True
    space: ClassVar[str] = "O(N)"

    predictor_dim: int = 512
    momentum: float = 0.99
    n_warmup_steps: int = 50

    def _module(self) -> nn.ModuleDict:
        head = projector((self.embedding_dim, self.predictor_dim, self.embedding_dim), "prelu")
        return nn.ModuleDict({"encoder": self._new_encoder(batch_norm=True), "predictor": head})

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        self._target: Any = None
        history = super()._fit(graph, on_step)
        del self._target  # the target embeds nothing after training
        return history

    def _loss(self, views: tuple[View, View], step: int) -> Tensor:
        if self._target is None:
            # The target starts from other weights than the encoder, as in the paper's code.
            self._target = copy.deepcopy(self._new_encoder(batch_norm=True)).train()
        predictor = self.module_["predictor"]
        predicted = [predictor(self._encoder(*view)) for view in views]
        with torch.no_grad():
            targets = [self._target(*view) for view in views]
        similar = [
            functional.cosine_similarity(p, t, dim=1).mean() for p, t in zip(predicted, reversed(targets), strict=True)
        ]
        return 2 - similar[0] - similar[1]

    @torch.no_grad()
    def _after_step(self, step: int) -> None:
        share = (1 - self.momentum) * warmup_cosine(step, 0, self.n_steps)
        for slow, fast in zip(self._target.parameters(), self._encoder.parameters(), strict=True):
            slow.lerp_(fast, share)
