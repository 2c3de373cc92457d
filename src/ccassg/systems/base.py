"""What the systems beside CCA-SSG are: embedders and classifiers, some of them with a module that Adam trains."""

import time
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ccassg import memory, optional, parameters
from ccassg.graph import Array, Graph
from ccassg.graph.checks import check_callable, check_nodes
from ccassg.model_file import Kind
from ccassg.system import System, seeded, with_weights
from ccassg.systems.training import minimise
from ccassg.training.embedding import require_finite_rows
from ccassg.training.settings import OnStep

Patience = Annotated[int | None, "Stop when the loss has not improved for so many steps; the best weights count."]


class Baseline(System):
    """A system beside CCA-SSG; abstract."""

    def _record(self, graph: Graph, train: Callable[[], list[float]]) -> Self:
        """Train with torch's generator seeded, and keep the losses and the time."""
        start = time.perf_counter()
        memory.require(self._least_bytes(graph), self._described(graph))
        with seeded(self.seed_), memory.named(self._described(graph)):
            self.history_ = {"loss": train()}
        self.fit_seconds_ = time.perf_counter() - start
        return self

    def _least_bytes(self, graph: Graph) -> int:
        """Return how many bytes training takes at least: the module, its gradient and Adam's two moments, activations."""
        with torch.device("meta"):  # sizes alone
            n_weights = sum(p.numel() for p in self._module().parameters())
        widths = [value for name, value in self.get_params(deep=False).items() if name.endswith("_dim")]
        return 4 * (4 * n_weights + graph.n_nodes * sum(widths))

    def _module(self) -> nn.Module:
        """Return a new module with initial weights, drawn from torch's generator; an empty one for what has none."""
        return nn.Module()

    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        parameters.check(self.get_params(deep=False))
        optional.require(self.package, type(self).__name__)
        self.module_: Any = with_weights(self._module, tensors)


class Embedder(Baseline):
    """A system that embeds nodes; abstract. Its own part is `_fit` and `_embed`."""

    def fit(self, X: Any, y: Any = None, *, on_step: OnStep | None = None) -> Self:
        """Train on a graph, anything `as_graph` takes, without labels; ``on_step`` is called after every step."""
        parameters.check(self.get_params(deep=False))
        check_callable("on_step", on_step)
        graph = self._input(X, reset=True)
        parameters.check_width(getattr(self, "embedding_dim", 0), graph.n_nodes)
        self.seed_ = parameters.seed_of(self.random_state)
        return self._record(graph, lambda: self._fit(graph, on_step))

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Embed the nodes of a graph, (n, d)."""
        check_is_fitted(self)
        graph = self._input(X, reset=False)
        # What overflows is told once, of the finished embedding.
        with torch.no_grad(), np.errstate(over="ignore", invalid="ignore"), memory.named(self._described(graph)):
            return require_finite_rows(np.ascontiguousarray(self._embed(graph), dtype=np.float32))

    def fit_transform(self, X: Any, y: Any = None, *, on_step: OnStep | None = None) -> npt.NDArray[np.float32]:
        """Train on a graph and embed it, (n, d)."""
        return self.fit(X, y, on_step=on_step).transform(X)

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        """Train, with torch's generator seeded, and return the loss of every step; here there is nothing to train."""
        self.module_ = self._module()
        return []

    @abstractmethod
    def _embed(self, graph: Graph) -> Any:
        """Return the embedding, an array or tensor (n, d)."""


@dataclass(kw_only=True, eq=False, repr=False)
class NetworkEmbedder(Embedder):
    """An embedder with a module that Adam trains; abstract. Its own part is `_module`, `_losses` and `_embed`."""

    n_steps: Annotated[int, "Of Adam."] = 200
    learning_rate: Annotated[float, "Of Adam."] = 1e-3
    weight_decay: Annotated[float, "Of Adam."] = 0.0

    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        self.module_ = self._module()
        return minimise(
            self.module_,
            self._losses(graph),
            n_steps=self.n_steps,
            learning_rate=self.learning_rate,
            weight_decay=self.weight_decay,
            patience=getattr(self, "patience", None),
            n_warmup_steps=getattr(self, "n_warmup_steps", None),
            on_step=on_step,
        )

    @abstractmethod
    def _losses(self, graph: Graph) -> Callable[[int], Tensor]:
        """Return the function from a step to the loss of ``self.module_``."""


class Classifier(Baseline):
    """A system that predicts classes; abstract. Its own part is `_fit` and `_scores`."""

    kind: ClassVar[Kind] = "classifier"

    def fit(self, X: Any, y: npt.ArrayLike, *, validation: Any = None, on_step: OnStep | None = None) -> Self:
        """Train on the labelled nodes of a graph; ``y`` are classes (n,), -1 for nodes without a label.

        ``validation`` are labelled nodes that are not trained on but choose the step to stop at: the highest accuracy on
        them, then the lowest loss. Without them the last step counts. ``on_step`` is called after every step.
        """
        parameters.check(self.get_params(deep=False))
        check_callable("on_step", on_step)
        graph = self._input(X, reset=True)
        labels = check_labels(y, graph.n_nodes)
        held_out = check_nodes("validation", [] if validation is None else validation, graph.n_nodes)
        if (labels[held_out] < 0).any():
            raise ValueError("validation names nodes without a label; give labelled ones")
        nodes = np.setdiff1d(np.flatnonzero(labels >= 0), held_out)
        if len(nodes) == 0:
            raise ValueError("no node to train on has a label (all of y is -1 or held out); label at least one")
        self.classes_ = np.unique(labels[labels >= 0])
        self.seed_ = parameters.seed_of(self.random_state)
        codes, train, chosen_on = map(torch.from_numpy, (np.searchsorted(self.classes_, labels), nodes, held_out))
        return self._record(graph, lambda: self._fit(graph, codes, train, chosen_on, on_step))

    def predict(self, X: Any) -> Array:
        """Return the class of every node, (n,)."""
        return self.classes_[self.predict_proba(X).argmax(1)]

    def predict_proba(self, X: Any) -> npt.NDArray[np.float32]:
        """Return the probability of every class, (n, n_classes), columns in the order of ``classes_``."""
        check_is_fitted(self)
        graph = self._input(X, reset=False)
        with torch.no_grad(), memory.named(self._described(graph)):
            return require_finite_rows(np.asarray(self._scores(graph), np.float32))

    @abstractmethod
    def _fit(self, graph: Graph, y: Tensor, train: Tensor, validation: Tensor, on_step: OnStep | None) -> list[float]:
        """Train; ``y`` are codes 0 .. n_classes - 1, right at the nodes ``train`` and ``validation`` only."""

    @abstractmethod
    def _scores(self, graph: Graph) -> Tensor:
        """Return probabilities, (n, n_classes)."""

    def _state(self) -> dict[str, Any]:
        return {"classes": self.classes_.tolist()}

    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        self.classes_ = np.array([int(name) for name in state["classes"]])
        super()._restore(state, tensors)


def check_labels(y: npt.ArrayLike, n_nodes: int) -> Array:
    """Return labels as int64, (n,); ValueError otherwise."""
    labels = np.asarray(y)
    if labels.shape != (n_nodes,):
        raise ValueError(f"y must have one label per node, shape ({n_nodes},), got {labels.shape}; -1 where unknown")
    if labels.dtype.kind not in "iu":
        raise ValueError(f"y must be integers, got dtype {labels.dtype}; number the classes from 0, -1 where unknown")
    return labels.astype(np.int64)


def dense(x: Any) -> Any:
    """Return an array of a matrix that may be sparse."""
    return x.toarray() if sp.issparse(x) else x
