"""What all systems share, CCA-SSG among them: what they say of themselves, the door for graphs, saving and loading.

A system is a keyword-only dataclass, so its hyper-parameters are declared once, and a scikit-learn estimator, so
``get_params``, ``set_params`` and ``clone`` work. What training leaves behind ends in an underscore.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self, TypeVar

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from ccassg import model_file, optional, parameters
from ccassg.graph import Dataset, FeatureSpace, Graph, as_graph
from ccassg.graph.kinds import is_graph
from ccassg.graph.scaling import Scaling
from ccassg.io.graphs import open_object
from ccassg.io.objects import holds_graph
from ccassg.io.tables import is_frame, is_path
from ccassg.model_file import SavedModel
from ccassg.training import distributed
from ccassg.training.reading import require_sound

Module = TypeVar("Module", bound=nn.Module)


@dataclass(kw_only=True, eq=False, repr=False)
class System(BaseEstimator, ABC):
    """A published system; abstract.

    Training leaves ``history_``, the ``loss`` of every step and its parts, ``fit_seconds_``, and ``features_``, all that is kept
    of the features, to bring new ones to the same form; ``n_features_in_`` and ``feature_names_in_`` are as in scikit-learn.
    """

    # An embedder has ``fit(graph)`` and ``transform(graph)``, a classifier ``fit(graph, y)`` and ``predict(graph)``.
    kind: ClassVar[model_file.Kind] = "embedder"

    # Table 1 of the paper. What is compared: N-G (node with graph), N-N (nodes), F-F (features), or - without views; whether
    # it needs a parameterised estimator of mutual information, a projector or predictor, two different branches, negative
    # examples; and the memory for all the pairs that are compared.
    target: ClassVar[str] = "-"
    mi_estimator: ClassVar[bool] = False
    projector: ClassVar[bool] = False
    asymmetric: ClassVar[bool] = False
    negatives: ClassVar[bool] = False
    space: ClassVar[str] = "-"
    # The table of the paper's appendix: where views come from, the loss, and what embeddings were used for.
    view_source: ClassVar[str] = "-"
    loss: ClassVar[str] = "-"
    tasks: ClassVar[str] = "Node"

    # Raised by one when the same seed comes to give other results: recorded runs of earlier revisions then count as missing.
    revision: ClassVar[int] = 1

    package: ClassVar[str | None] = None  # the optional package that training needs
    needs_edges: ClassVar[bool] = False  # a graph without edges is refused
    resumable: ClassVar[bool] = False  # ``fit`` takes a ``checkpoint`` to continue from
    embeds_in_blocks: ClassVar[bool] = False  # ``transform`` takes a file ``out``, for embeddings larger than memory
    unsaved_parameters: ClassVar[tuple[str, ...]] = ()  # a loaded model has their defaults
    recorded_parameters: ClassVar[tuple[str, ...] | None] = None  # those in a recorded run; None for all but the seed

    random_state: Annotated[Any, "Same seed, same bits."] = None

    @property
    def needs_features(self) -> bool:
        """Whether a graph without features is refused."""
        return True

    @property
    def scaling_(self) -> Scaling | None:
        """How the features seen in ``fit`` were scaled, if they were."""
        return self.features_.scaling

    @property
    def n_parameters_(self) -> int:
        """Number of trained values, those of projectors and discriminators included."""
        return 0 if self._network is None else sum(p.numel() for p in self._network.parameters() if p.requires_grad)

    @property
    def _network(self) -> nn.Module | None:
        """The trained module; None for what has none."""
        return getattr(self, "module_", None)

    def save(self, folder: str | Path) -> None:
        """Write ``model.safetensors``, ``config.json`` and a model card into ``folder``: new, empty or an earlier model's."""
        check_is_fitted(self)
        given = self.get_params(deep=False) | {"random_state": self.seed_}  # also a seed that nobody gave
        saved = SavedModel(
            method=type(self).__name__,
            parameters={name: given[name] for name in given if name not in self.unsaved_parameters},
            features=self.features_,
            state=self._state(),
            history=self.history_,
            fit_seconds=self.fit_seconds_,
            tensors=self._tensors(),
        )
        model_file.save(Path(folder), saved, self.kind)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read a saved model of this class; it gives the same results bit for bit."""
        return cls.from_saved(model_file.load(Path(folder)), folder)

    @classmethod
    def from_saved(cls, saved: SavedModel, folder: str | Path) -> Self:
        """Make a fitted model of what its files say; ``folder`` is named in errors."""
        if saved.method != cls.__name__:
            raise ValueError(f"{folder} holds a {saved.method}, not a {cls.__name__}; use ccassg.systems.load")
        unknown = set(saved.parameters) - set(cls._get_param_names())
        if unknown:
            names = ", ".join(sorted(unknown))
            raise ValueError(f"{folder} names settings that {cls.__name__} does not have: {names}")
        model = cls(**saved.parameters)
        model._remember(saved.features)
        model.history_, model.fit_seconds_ = saved.history, saved.fit_seconds
        try:
            model.seed_ = parameters.seed_of(model.random_state)
            model._restore(saved.state, saved.tensors)
        except (RuntimeError, LookupError, TypeError, AttributeError, ValueError, OverflowError) as error:
            why = (str(error) or type(error).__name__).splitlines()[-1].strip()
            raise ValueError(f"the weights in {folder} do not fit its config: {why}") from None
        return model

    def _input(self, X: Any, *, reset: bool) -> Graph:
        """Return the graph of X with its features as in training, or remember them; ValueError if it cannot be worked on."""
        optional.require(self.package if reset else None, type(self).__name__)
        X = self._opened(X, reset=reset)
        is_dataset, name = isinstance(X, Dataset), type(self).__name__
        graph = as_graph(X, need_features=self.needs_features)
        if not (
            self.embeds_in_blocks and distributed.is_shared()
        ):  # else each process checks what it will read, when it is known
            require_sound(graph)
        if self.needs_edges and graph.n_edges == 0:
            raise ValueError(f"{name} learns from edges and the graph has none; use a system that reads features")
        if reset:
            self._remember(FeatureSpace.of(X) if is_dataset else FeatureSpace(graph.n_features))
        elif self.needs_features and is_dataset:
            return self.features_.fit_to(X, name)
        elif self.needs_features:
            self.features_.require_width(graph, name)
        return graph

    def _opened(self, X: Any, *, reset: bool) -> Any:
        """Return the dataset that a path, a frame or an object of a graph library holds; anything else as it is."""
        if is_graph(X) and not self.needs_features:  # then its edges are enough
            return X
        return open_object(X, stacklevel=5) if reset else open_object(X, stacklevel=6, like=self.features_)

    def _described(self, graph: Graph) -> str:
        """Name what decides how much memory is needed, for messages."""
        sizes = parameters.sizes(getattr(self, "settings_", None) or self.get_params(deep=False))
        named = "".join(f"{name}={value}, " for name, value in sizes.items()).rstrip(", ")
        return f"{type(self).__name__}{named and f' with {named}'} on {graph.n_nodes:,} nodes with {graph.n_features:,} features"

    def _remember(self, features: FeatureSpace) -> None:
        self.features_, self.n_features_in_ = features, features.n_features
        if features.names is not None:
            self.feature_names_in_ = np.array(features.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    def _state(self) -> dict[str, Any]:
        """Return fitted values other than tensors that a loaded model needs."""
        return {}

    def _tensors(self) -> dict[str, Tensor]:
        """Return the fitted tensors: the weights of the module, unless a system says otherwise."""
        return {} if self._network is None else dict(self._network.state_dict())

    @abstractmethod
    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        """Take back what `_state` and `_tensors` gave; the parameters are whatever the file says."""


def refuse_features_as_labels(X: Any, y: Any) -> None:
    """Refuse a table or matrix where scikit-learn has labels, beside a graph: they would go unread."""
    is_table = getattr(y, "ndim", 0) == 2 or is_frame(y) or (isinstance(y, list) and bool(y) and np.ndim(y[0]) == 1)
    if (is_table or is_path(y)) and (isinstance(X, (Dataset, Graph)) or holds_graph(X)):
        raise ValueError("the second argument is y, which is ignored; features go in by name: fit(g, features=X)")


def with_weights(make: Callable[[], Module], tensors: dict[str, Tensor]) -> Module:
    """Return a module with the given weights, in evaluation mode; a config may claim what it likes, they must fit.

    Its sizes are compared before any memory is taken for it.
    """
    with torch.device("meta"):
        claimed = {name: tuple(value.shape) for name, value in make().state_dict().items()}
    found = {name: tuple(value.shape) for name, value in tensors.items()}
    for name in sorted(claimed.keys() | found.keys()):
        if claimed.get(name) != found.get(name):
            raise ValueError(f"{name} has shape {found.get(name)}, not {claimed.get(name)}")
    with seeded(0):
        module = make()
    module.load_state_dict(tensors)
    return module.eval()


@contextlib.contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed torch's generator inside and put it back afterwards: layers draw their initial weights from it."""
    with torch.random.fork_rng():
        torch.manual_seed(seed % 2**63)
        yield
