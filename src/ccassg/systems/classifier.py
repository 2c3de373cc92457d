"""The shared part of the supervised systems: labels in, classes out."""

from __future__ import annotations

import math
import warnings
from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn
from torch.nn import functional

from ccassg.graph import Graph
from ccassg.graph.sparse import CSR
from ccassg.model.encoder import SparseProduct
from ccassg.systems import saving
from ccassg.systems.base import OnStep, System, as_seed, check_parameters, seeded
from ccassg.systems.training import minimise

Array = npt.NDArray[Any]


class Classifier(System):
    """A system that predicts classes; abstract. Its own part is `_fit` and `_scores`."""

    def fit(self, X: Any, y: npt.ArrayLike, *, validation: Any = None, on_step: OnStep | None = None) -> Self:
        """Train on the labelled nodes of a graph.

        Parameters
        ----------
        X : Graph, or anything `as_graph` takes
        y : int array of shape (n,)
            Classes; -1 for nodes without a label.
        validation : int array, optional
            Labelled nodes that are not trained on but choose the step to stop at: the highest accuracy on them,
            then the lowest loss. Without them the last step counts.
        on_step : function of (step, loss), optional
            Called after every step.
        """
        check_parameters(self.get_params(deep=False))
        graph = self._input(X, reset=True)
        labels = check_labels(y, graph.n_nodes)
        held_out = np.zeros(0, np.int64) if validation is None else np.asarray(validation, np.int64)
        if (labels[held_out] < 0).any():
            raise ValueError("validation names nodes without a label; give labelled ones")
        nodes = np.setdiff1d(np.flatnonzero(labels >= 0), held_out)
        if len(nodes) == 0:
            raise ValueError("no node to train on has a label (all of y is -1 or held out); label at least one")
        self.classes_ = np.unique(labels[labels >= 0])
        self.seed_ = as_seed(self.random_state)
        codes = torch.from_numpy(np.searchsorted(self.classes_, labels))
        with seeded(self.seed_), saving.stopwatch() as clock:
            history = self._fit(graph, codes, torch.from_numpy(nodes), torch.from_numpy(held_out), on_step)
        self.history_ = {"loss": history}
        self.fit_seconds_ = clock.seconds
        return self

    def predict(self, X: Any) -> Array:
        """The class of every node, (n,)."""
        return self.classes_[self.predict_proba(X).argmax(1)]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float32]:
        """The probability of every class, (n, n_classes), columns in the order of ``classes_``."""
        check_is_fitted(self)
        graph = self._input(X, reset=False)
        with torch.no_grad():
            return np.asarray(self._scores(graph), np.float32)

    @abstractmethod
    def _fit(self, graph: Graph, y: Tensor, train: Tensor, validation: Tensor, on_step: OnStep | None) -> list[float]:
        """Train; ``y`` are codes 0 .. n_classes - 1, right at the nodes ``train`` and ``validation`` only."""

    @abstractmethod
    def _scores(self, graph: Graph) -> Tensor:
        """Probabilities, (n, n_classes)."""

    def _state(self) -> dict[str, Any]:
        return {"classes_": self.classes_.tolist()}

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        self.classes_ = np.asarray(self.classes_)
        super()._restore(tensors)


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkClassifier(Classifier):
    """A neural network trained by cross-entropy; abstract. Its own part is `_module` and `_inputs`.

    Parameters
    ----------
    hidden_dim : int
        Width of the hidden layer.
    dropout_rate : float
        On the features and on the hidden layer.
    n_steps, learning_rate : int, float
        Of Adam.
    weight_decay : float
        Of the first layer, as in the paper on GCN.
    random_state : int, RandomState or None
        Same seed, same bits.
    """

    hidden_dim: int = 16
    dropout_rate: float = 0.5
    n_steps: int = 200
    learning_rate: float = 1e-2
    weight_decay: float = 5e-4

    @abstractmethod
    def _inputs(self, graph: Graph) -> tuple[Any, ...]:
        """What the module takes: features first."""

    def _fit(self, graph: Graph, y: Tensor, train: Tensor, validation: Tensor, on_step: OnStep | None) -> list[float]:
        module: Any = self._module()
        self.module_ = module
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
                weights = {name: value.clone() for name, value in module.state_dict().items()}
                best.update(score=score, weights=weights)

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
        module: Any = self.module_
        layers = module.layers
        return [
            {"params": list(layers[0].parameters()), "weight_decay": self.weight_decay},
            {"params": list(layers[1:].parameters()), "weight_decay": 0.0},
        ]

    def _scores(self, graph: Graph) -> Tensor:
        module: Any = self.module_
        scores: Tensor = module(*self._inputs(graph)).softmax(1)
        return scores


class TwoLayers(nn.Module):
    """dropout - layer - activation - dropout - layer; what follows the features goes to both layers."""

    def __init__(self, first: nn.Module, second: nn.Module, activation: nn.Module, dropout_rate: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList([first, second])
        self.activation = activation
        self.dropout_rate = dropout_rate

    def forward(self, x: Tensor, *structure: Tensor) -> Tensor:
        """Scores of the classes, (n, n_classes)."""
        hidden = self.activation(self.layers[0](self._drop(x), *structure))
        scores: Tensor = self.layers[1](self._drop(hidden), *structure)
        return scores

    def _drop(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        if x.layout == torch.sparse_csr:  # zeros stay zeros, so only the stored values are drawn for
            values = functional.dropout(x.values(), self.dropout_rate)
            return _sparse_csr(x.crow_indices(), x.col_indices(), values, x.shape)
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
        rows = CSR(x.crow_indices(), x.col_indices(), x.values(), (x.shape[0], x.shape[1]))
        y: Tensor = SparseProduct.apply(rows, self.weight.T)
        return y if self.bias is None else y + self.bias


def torch_csr(a: CSR) -> Tensor:
    """The same matrix as PyTorch's own sparse tensor, which PyG's layers take as features and as adjacency."""
    return _sparse_csr(a.indptr, a.indices, a.values, a.shape)


def check_labels(y: npt.ArrayLike, n_nodes: int) -> Array:
    """Labels as int64, (n,); ValueError otherwise."""
    labels = np.asarray(y)
    if labels.shape != (n_nodes,):
        raise ValueError(f"y must have one label per node, shape ({n_nodes},), got {labels.shape}; -1 where unknown")
    if labels.dtype.kind not in "iu":
        raise ValueError(f"y must be integers, got dtype {labels.dtype}; number the classes from 0, -1 where unknown")
    return labels.astype(np.int64)


def _sparse_csr(indptr: Tensor, indices: Tensor, values: Tensor, shape: Any) -> Tensor:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta", UserWarning)
        return torch.sparse_csr_tensor(indptr, indices, values, size=tuple(shape), check_invariants=False)
