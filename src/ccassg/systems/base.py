"""What all systems share: the interface, the checks at the door, the seed, saving and loading.

A system is a keyword-only dataclass, so its hyper-parameters are declared once, and a scikit-learn estimator, so
``get_params``, ``set_params`` and ``clone`` work. What training leaves behind ends in an underscore.
"""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ccassg.graph import Graph, as_graph
from ccassg.systems import saving

OnStep = Callable[[int, float], None]


@dataclass(kw_only=True, eq=False, repr=False)
class System(BaseEstimator, ABC):
    """A published system; abstract.

    Attributes
    ----------
    target : str
        What is compared: N-G (node with graph), N-N (nodes), F-F (features), or - without a comparison of views.
    mi_estimator, projector, asymmetric, negatives : bool
        Whether it needs a parameterised estimator of mutual information, a projector or predictor, two different
        branches, negative examples.
    space : str
        Memory needed for all the pairs that are compared.
    recorded_parameters : tuple of str or None
        Parameters that are part of a recorded run; None for all but the seed.
    """

    target: ClassVar[str] = "-"
    mi_estimator: ClassVar[bool] = False
    projector: ClassVar[bool] = False
    asymmetric: ClassVar[bool] = False
    negatives: ClassVar[bool] = False
    space: ClassVar[str] = "-"
    needs_features: ClassVar[bool] = True
    needs_edges: ClassVar[bool] = False
    recorded_parameters: ClassVar[tuple[str, ...] | None] = None

    random_state: Any = None

    def save(self, folder: str | Path) -> None:
        """Write ``model.safetensors`` and ``config.json`` into ``folder``."""
        check_is_fitted(self)
        config = {
            "method": type(self).__name__,
            "parameters": self.get_params(deep=False) | {"random_state": self.seed_},
            "state": self._state() | {"seed_": self.seed_, "n_features_in_": self.n_features_in_},
            "fit_seconds": self.fit_seconds_,
            "history": self.history_,
        }
        saving.save(Path(folder), config, self._tensors())

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a saved model of this class; it gives the same results bit for bit."""
        config, tensors = saving.load(Path(folder))
        if config["method"] != cls.__name__:
            raise ValueError(f"{folder} holds a {config['method']}, not a {cls.__name__}; use ccassg.systems.load")
        model = cls(**config["parameters"])
        for name, value in config["state"].items():
            setattr(model, name, value)
        model.fit_seconds_, model.history_ = config["fit_seconds"], config["history"]
        try:
            model._restore(tensors)
        except (RuntimeError, KeyError) as error:
            raise ValueError(f"the weights in {folder} do not fit its config: {str(error).splitlines()[-1]}") from None
        return model

    def _input(self, X: Any, *, reset: bool) -> Graph:
        """The graph, refused if this system cannot work on it."""
        graph = as_graph(X, need_features=self.needs_features)
        name = type(self).__name__
        if self.needs_edges and graph.n_edges == 0:
            raise ValueError(f"{name} learns from edges and the graph has none; use a system that reads features")
        if reset:
            self.n_features_in_ = graph.n_features
        elif self.needs_features and graph.n_features != self.n_features_in_:
            raise ValueError(
                f"the graph has {graph.n_features} features, but {name} was fitted on {self.n_features_in_}"
            )
        return graph

    def _state(self) -> dict[str, Any]:
        """Fitted values other than tensors that a loaded model needs."""
        return {}

    def _tensors(self) -> dict[str, Tensor]:
        """Fitted tensors: the weights of the module, unless a system says otherwise."""
        module: nn.Module | None = getattr(self, "module_", None)
        return {} if module is None else dict(module.state_dict())

    def _restore(self, tensors: dict[str, Tensor]) -> None:
        """Take back what `_tensors` gave."""
        with seeded(0):
            module = self._module()
        if module is not None:
            module.load_state_dict(tensors)
            self.module_ = module.eval()

    def _module(self) -> nn.Module | None:
        """A new module with initial weights, drawn from torch's generator; None for what has none."""
        return None

    @property
    def n_parameters_(self) -> int:
        """Number of trained values, those of projectors and discriminators included."""
        module: nn.Module | None = getattr(self, "module_", None)
        return 0 if module is None else sum(p.numel() for p in module.parameters() if p.requires_grad)


class Embedder(System):
    """A system that embeds nodes; abstract. Its own part is `_fit` and `_embed`."""

    def fit(self, X: Any, y: Any = None, *, on_step: OnStep | None = None) -> Self:
        """Train on a graph, without labels.

        Parameters
        ----------
        X : Graph, or anything `as_graph` takes
        y
            Ignored.
        on_step : function of (step, loss), optional
            Called after every step.
        """
        check_parameters(self.get_params(deep=False))
        graph = self._input(X, reset=True)
        self.seed_ = as_seed(self.random_state)
        with seeded(self.seed_), saving.stopwatch() as clock:
            self.history_ = {"loss": self._fit(graph, on_step)}
        self.fit_seconds_ = clock.seconds
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Embed the nodes of a graph, (n, d)."""
        check_is_fitted(self)
        graph = self._input(X, reset=False)
        with torch.no_grad():
            return np.ascontiguousarray(self._embed(graph), dtype=np.float32)

    def fit_transform(self, X: Any, y: Any = None, *, on_step: OnStep | None = None) -> npt.NDArray[np.float32]:
        """Train on a graph and embed it, (n, d)."""
        return self.fit(X, y, on_step=on_step).transform(X)

    @abstractmethod
    def _fit(self, graph: Graph, on_step: OnStep | None) -> list[float]:
        """Train; return the loss of every step. Runs with torch's generator seeded."""

    @abstractmethod
    def _embed(self, graph: Graph) -> Any:
        """The embedding, an array or tensor (n, d)."""


def dense(x: Any) -> Any:
    """An array of a matrix that may be sparse."""
    return x.toarray() if sp.issparse(x) else x


def as_seed(random_state: Any) -> int:
    """A seed from what scikit-learn calls a random state."""
    if isinstance(random_state, (int, np.integer)):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's generator, seeded inside and put back afterwards: layers draw their initial weights from it."""
    with torch.random.fork_rng():
        torch.manual_seed(seed % 2**63)
        yield


def check_parameters(parameters: dict[str, Any]) -> None:
    """Refuse impossible values; what is possible follows from the name (see the glossary of names)."""
    for name, value in parameters.items():
        if value is None or name == "random_state" or isinstance(value, str):
            continue
        if name.startswith("n_") or name.endswith(("_dim", "_nodes", "_length", "patience")):
            least = 0 if name in ("n_steps", "n_warmup_steps") else 1
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
                raise ValueError(f"{name} must be an integer, at least {least}, got {value!r}")
        elif name in ("learning_rate", "temperature"):
            if not 0 < value < float("inf"):
                raise ValueError(f"{name} must be positive, got {value!r}")
        elif name.endswith("_rate"):
            for rate in value if isinstance(value, (tuple, list)) else (value,):
                if not 0 <= rate < 1:
                    raise ValueError(f"{name} must be in [0, 1), got {rate!r}")
            if isinstance(value, (tuple, list)) and len(value) != 2:
                raise ValueError(f"{name} must be one rate or a pair of rates, got {value!r}")
        elif isinstance(value, float) and not 0 <= value < float("inf"):
            raise ValueError(f"{name} must be a finite number, at least 0, got {value!r}")
