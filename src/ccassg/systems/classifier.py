"""The shared part of the supervised networks: two layers, trained by cross-entropy on the labelled nodes."""

import copy
import math
import warnings
from dataclasses import dataclass, replace
from typing import Annotated, Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph
from ccassg.graph.sparse import CSR
from ccassg.model.encoder import SparseProduct
from ccassg.systems.base import Classifier
from ccassg.systems.encoder import features_of
from ccassg.systems.training import minimise
from ccassg.training.settings import OnStep


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(Classifier):
    """A neural network trained by cross-entropy; abstract. Its own part is `_module` and `_structure`."""

    hidden_dim: Annotated[int, "Width of the hidden layer."] = 16
    dropout_rate: Annotated[float, "On the features and on the hidden layer."] = 0.5
    n_steps: Annotated[int, "Of Adam."] = 200
    learning_rate: Annotated[float, "Of Adam."] = 1e-2
    weight_decay: Annotated[float, "Of the first layer, as in the paper on GCN."] = 5e-4

    def _structure(self, graph: Graph) -> tuple[Tensor, ...]:
        """Return what the layers take beside the features; nothing here."""
        return ()

    def _inputs(self, graph: Graph) -> tuple[Tensor, ...]:
        features = features_of(graph)
        return (torch_csr(features) if isinstance(features, CSR) else features, *self._structure(graph))

    def _fit(self, graph: Graph, y: Tensor, train: Tensor, validation: Tensor, on_step: OnStep | None) -> list[float]:
        module = self.module_ = self._module()
        inputs = self._inputs(graph)
        best: dict[str, Any] = {"score": (-1.0, -math.inf), "weights": None}

        def loss_at(step: int) -> Tensor:
            return functional.cross_entropy(module(*inputs)[train], y[train])

        @torch.no_grad()
        def choose(step: int) -> None:
            module.eval()
            scores = module(*inputs)[validation]
            module.train()
            accuracy = (scores.argmax(1) == y[validation]).double().mean().item()
            score = (accuracy, -functional.cross_entropy(scores, y[validation]).item())
            if score > best["score"]:
                best.update(score=score, weights=copy.deepcopy(module.state_dict()))

        history = minimise(
            module,
            loss_at,
            n_steps=self.n_steps,
            learning_rate=self.learning_rate,
            groups=self._groups(),
            after_step=choose if len(validation) else None,
            on_step=on_step,
        )
        if best["weights"] is not None:
            module.load_state_dict(best["weights"])
        return history

    def _groups(self) -> list[dict[str, Any]]:
        """Adam's parameter groups: weight decay on the first layer only."""
        layers = self.module_.layers
        return [
            {"params": list(layers[0].parameters()), "weight_decay": self.weight_decay},
            {"params": list(layers[1:].parameters()), "weight_decay": 0.0},
        ]

    def _scores(self, graph: Graph) -> Tensor:
        scores: Tensor = self.module_(*self._inputs(graph)).softmax(1)
        return scores


class TwoLayers(nn.Module):
    """dropout - layer - activation - dropout - layer; what follows the features goes to both layers."""

    def __init__(self, first: nn.Module, second: nn.Module, activation: nn.Module, dropout_rate: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList([first, second])
        self.activation = activation
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, *structure: Tensor) -> Tensor:
        """Return scores of the classes, (n, n_classes)."""
        hidden = self.activation(self.layers[0](self._drop(x), *structure))
        scores: Tensor = self.layers[1](self._drop(hidden), *structure)
        return scores

    def _drop(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        if x.layout == torch.sparse_csr:  # zeros stay zeros, so only the stored values are drawn for
            rows = _rows_of(x)
            return torch_csr(replace(rows, values=functional.dropout(rows.values, self.dropout_rate)))
        return functional.dropout(x, self.dropout_rate)


class SparseLinear(nn.Module):
    """A linear layer with the weights of another, and with this package's product where the rows are sparse.

    The gradient of PyTorch's own sorts the entries of the features at every step, which takes most of the time of a step.
    """

    def __init__(self, like: Any) -> None:
        super().__init__()
        self.weight, self.bias = like.weight, like.bias

    def forward(self, x: Tensor) -> Tensor:
        """(n, n_inputs) -> (n, n_outputs)."""
        if x.layout != torch.sparse_csr:
            return functional.linear(x, self.weight, self.bias)
        y: Tensor = SparseProduct.apply(_rows_of(x), self.weight.T)
        return y if self.bias is None else y + self.bias


def torch_csr(a: CSR) -> Tensor:
    """Return the same matrix as PyTorch's own sparse tensor, which PyG's layers take as features and as adjacency."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        return torch.sparse_csr_tensor(a.indptr, a.indices, a.values, size=a.shape, check_invariants=False)


def _rows_of(x: Tensor) -> CSR:
    return CSR(x.crow_indices(), x.col_indices(), x.values(), (x.shape[0], x.shape[1]))
