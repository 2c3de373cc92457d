"""CCASSG: the method as a scikit-learn estimator, with presets, saving and loading."""

import itertools
import textwrap
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import Tensor

from ccassg import memory, parameters
from ccassg.defaults import canonical, choice
from ccassg.encoder_shape import of_shape, shape_of
from ccassg.graph import Dataset, FeatureSpace, Graph
from ccassg.graph.checks import check_callable, check_count, shown, without_torch
from ccassg.graph.device import device_of
from ccassg.graph.kinds import refuse_graph
from ccassg.io.tables import is_frame
from ccassg.model.canonical import Canonical
from ccassg.model.encoder import Encoder, gcn, mlp
from ccassg.model.loss import Terms
from ccassg.model.presets import FAST, PRESETS
from ccassg.system import System, refuse_features_as_labels, with_weights
from ccassg.training import distributed
from ccassg.training.embedding import embed, embed_blocks
from ccassg.training.head import GRAM_FROM
from ccassg.training.loop import train
from ccassg.training.reading import own_part, require_sound
from ccassg.training.settings import Augmentation, History, OnStep, Settings

Auto = Literal["auto"]
Rate = float | tuple[float, float]


@dataclass(kw_only=True, eq=False, repr=False)
class CCASSG(ClassNamePrefixFeaturesOutMixin, TransformerMixin, System):
    """Node embeddings by CCA-SSG (Zhang et al., NeurIPS 2021).

    Two random views of the graph go through one encoder; the loss correlates the views and decorrelates the dimensions:

        L = -trace(Z1' Z2) + lambda (||Z1' Z1 - I||^2 + ||Z2' Z2 - I||^2)

    With nothing named, the encoder is linear, the second view of a node is one of its neighbours, and the best weights are
    computed instead of trained (`ccassg.model.canonical`). Name an encoder, "gcn" or "mlp", for the paper's method.
    Whatever is "auto" is chosen from the graph when fitting, without labels; ``settings_`` says what, ``reasons_`` why.

    Parameters
    ----------
    encoder : {"auto", "canonical", "gcn", "mlp"}
        Canonical directions, of a node's own features and of its neighbours, without training; or, trained as in the paper, graph
        convolutions or an MLP that sees only a node's own features. "auto" is canonical; settings of training are refused with it.
    n_layers : int or "auto"
        Layers of a trained encoder; with one, its width is the embedding's.
    hidden_dim : int or "auto"
        Width of the hidden layers of a trained encoder.
    embedding_dim : int or "auto"
        Width of the embedding. No part of an automatic one is wider than the features, or than half the nodes.
    second_view : {"node", "neighbour"}
        What an MLP compares a node with: itself, as in the paper, or one of its neighbours, another at every step.
    decorrelation : float or "auto"
        The trade-off lambda (of the appendix's form of the loss, as every published value).
    edge_drop_rate : float or "auto", or a pair of floats, one per view
        Probability that an edge is dropped, per view and step.
    feature_mask_rate : float or "auto", or a pair of floats, one per view
        Probability that a feature column is masked, per view and step.
    n_steps : int or "auto"
        Training steps.
    early_stopping : bool
        Stop before ``n_steps`` when the loss hardly falls any more: later steps whiten noise.
    learning_rate : float
        Step size of Adam.
    weight_decay : float
        Of Adam, an L2 term in the gradient.
    drop_both_directions : bool
        Drop the two directions of an undirected edge together. The released code of the paper does not.
    loss_nodes : int, "auto" or None
        Compute the loss on this many random nodes each step: an approximation, faster. None uses all; so does "auto" on up to
        50,000 nodes, in batches and on several processes.
    batch_nodes : int or None
        Train on batches of so many random nodes and the neighbours they receive from, each step on the next one: for graphs
        whose activations do not fit into memory. None takes the whole graph at every step.
    max_neighbors : int or None
        In batches, let a node aggregate over about so many random neighbours, scaled up to stand for all. None takes all.
    augmentations : sequence of functions (graph, seed, step, view) -> graph
        Further augmentations, applied before edges are dropped and columns masked.
    invariance : float
        Weight of the invariance term; 0 takes it away, for ablations.
    random_state : int, RandomState or None
        Same seed, same bits.
    device : str
        Such as "cpu" or "cuda".

    Attributes
    ----------
    encoder_ : Encoder or Canonical
        What embeds.
    history_ : dict of lists
        ``loss``, ``invariance`` and ``decorrelation`` of every step; empty where nothing is trained.
    settings_ : dict
        The value in effect of every parameter; ``reasons_`` says why the automatic ones were chosen.
    n_parameters_ : int
        Number of trained values; 0 for canonical directions, which are solved.
    n_features_in_, feature_names_in_, scaling_
        Number, names (where they have any) and scaling (or None) of the feature columns seen in `fit`.
    fit_seconds_ : float
        Time that fitting took.

    Examples
    --------
    >>> import ccassg
    >>> data = ccassg.load_dataset("cora")
    >>> model = ccassg.CCASSG.preset("cora", n_steps=3, random_state=0)  # the paper's settings, but for the few steps
    >>> z = model.fit_transform(data)
    >>> z.shape, len(model.history_["loss"])
    ((2708, 512), 3)
    >>> model.save("cora-model")
    >>> bool((ccassg.CCASSG.load("cora-model").transform(data) == z).all())
    True
    """

    # How the method compares (Table 1 of the paper), and what it can do that others cannot; see `System`.
    target: ClassVar[str] = "F-F"
    space: ClassVar[str] = "O(D^2)"
    view_source: ClassVar[str] = "Rand-Aug"
    loss: ClassVar[str] = "CCA"
    resumable: ClassVar[bool] = True
    embeds_in_blocks: ClassVar[bool] = True
    # Functions cannot be saved, and a device belongs to the machine.
    unsaved_parameters: ClassVar[tuple[str, ...]] = ("augmentations", "device")
    # Part of a recorded run, so that a variation gets a record of its own; later parameters are not, so that records stay valid.
    recorded_parameters: ClassVar[tuple[str, ...] | None] = (
        "encoder", "n_layers", "hidden_dim", "embedding_dim", "decorrelation", "edge_drop_rate", "feature_mask_rate", "n_steps",
        "learning_rate", "weight_decay", "drop_both_directions", "loss_nodes", "invariance",
    )  # fmt: skip

    encoder: Literal["auto", "canonical", "gcn", "mlp"] = "auto"
    n_layers: int | Auto = "auto"
    hidden_dim: int | Auto = "auto"
    embedding_dim: int | Auto = "auto"
    second_view: Literal["node", "neighbour"] = "node"
    decorrelation: float | Auto = "auto"
    edge_drop_rate: Rate | Auto = "auto"
    feature_mask_rate: Rate | Auto = "auto"
    n_steps: int | Auto = "auto"
    early_stopping: bool = False
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    drop_both_directions: bool = False
    loss_nodes: int | Auto | None = "auto"
    batch_nodes: int | None = None
    max_neighbors: int | None = None
    augmentations: tuple[Augmentation, ...] = ()
    invariance: float = 1.0
    random_state: Any = None
    device: str = "cpu"

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """Return the paper's settings for one of its datasets; ``changes`` override single parameters.

        ``"cora-fast"`` and so on name the quickest variant that keeps the accuracy (see ``loss_nodes``).
        """
        base, _, variant = name.partition("-") if isinstance(name, str) else ("", "", "")
        if base not in PRESETS or variant not in ("", "fast"):
            raise ValueError(
                f"there is no preset {shown(name)}; there are {', '.join(PRESETS)}, each also as NAME-fast"
            )
        return cls(**(PRESETS[base] | (FAST[base] if variant else {}) | changes))

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        features: Any = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 50,
        on_step: OnStep | None = None,
    ) -> Self:
        """Solve for the default's directions, or train the encoder that was named.

        Parameters
        ----------
        X : Dataset, Graph, anything `read_graph` takes, a dataset's name, or a feature matrix (n, n_features)
            Files, frames and the objects of other libraries are read as by `read_graph`, whose notes become warnings; call it
            yourself for ids, labels and options. The names and the scaling in a dataset are kept, and new data are brought to
            the same form. A plain matrix has no edges: directions are then those of the features alone.
        y
            Ignored.
        features : optional
            Of the nodes, if X is edges alone: a node table or matrix, as for `read_graph`.
        checkpoint : path, optional
            File to save the run in now and then, and to continue it from.
        checkpoint_every : int
            Steps between two saves.
        on_step : function of (step, losses, n_steps), optional
            Called after every step; ``losses`` are ``loss``, ``invariance`` and ``decorrelation`` as floats by name.
        """
        refuse_features_as_labels(X, y)
        check_count("checkpoint_every", checkpoint_every, 1)
        check_callable("on_step", on_step)
        path = None if checkpoint is None else Path(checkpoint)
        graph = self._input(X if features is None else (X, features), reset=True)
        start = time.perf_counter()
        self._choose(graph)
        self._check_part(graph)
        encoder: Encoder | Canonical
        history: History = {name: [] for name in Terms._fields}
        with memory.named(self._described(graph)):
            if self.settings_["encoder"] == "canonical":
                encoder = self._solve(graph)
            else:
                settings, encoder = self.prepare(graph)
                saving: dict[str, Any] = {"checkpoint_path": path, "checkpoint_every": checkpoint_every}
                history = train(encoder, graph, settings, on_step=on_step, **saving)
        self.fit_seconds_ = time.perf_counter() - start
        self.encoder_ = encoder
        self.history_ = history
        return self

    def _check_part(self, graph: Graph) -> None:
        """Check, in a session of several processes, what this one is going to read to fit."""
        if not distributed.is_shared():
            return
        if self.settings_["encoder"] == "canonical":
            require_sound(graph, 0, graph.n_nodes if distributed.speaks() else 0)  # the first solves for all
        elif self.settings_["batch_nodes"] or self.settings_["second_view"] == "neighbour":
            require_sound(graph)
        else:
            require_sound(graph, *own_part(graph))

    def prepare(self, graph: Graph) -> tuple[Settings, Encoder]:
        """Resolve every setting on a graph and build the untrained encoder: all of `fit` but the training."""
        chosen = self._choose(graph)
        settings = parameters.settings(chosen, self.seed_)
        hidden = [chosen["hidden_dim"]] * (chosen["n_layers"] - 1)
        dims = (graph.n_features, *hidden, chosen["embedding_dim"])
        memory.require(_bytes_of_training(dims, settings, graph.n_nodes), self._described(graph))
        make = gcn if chosen["encoder"] == "gcn" else mlp
        encoder = make(dims, seed=self.seed_)
        return settings, encoder.to(device_of(self.device))

    def _choose(self, graph: Graph) -> dict[str, Any]:
        """Return the value of every setting on a graph; ValueError where there is no choice."""
        self.seed_ = parameters.seed_of(self.random_state)
        given, usual = self.get_params(deep=False), type(self)().get_params(deep=False)
        parameters.check({name: value for name, value in given.items() if not choice.is_auto(value)})
        if not choice.is_auto(self.embedding_dim):
            parameters.check_width(int(self.embedding_dim), graph.n_nodes)
        named = [name for name in given if given[name] is not usual[name] and given[name] != usual[name]]
        chosen, self.reasons_ = choice.choose(graph, given, named)
        if graph.n_nodes < 2:
            raise ValueError(f"training needs at least 2 nodes, got {graph.n_nodes} (n_samples = {graph.n_nodes})")
        self.settings_ = chosen | {"random_state": self.seed_}
        return chosen

    def _solve(self, graph: Graph) -> Canonical:
        """Return the canonical encoder, and say what neighbours were found to be worth."""
        widths = canonical.widths_of(graph, None if choice.is_auto(self.embedding_dim) else int(self.embedding_dim))
        # The directions of all sets, and the rotation of the widest with what finds it.
        memory.require(4 * graph.n_features * sum(widths) + 24 * max(widths) ** 2, self._described(graph))
        ranks, found = distributed.active(), None
        if ranks is None or ranks.rank == 0:
            found = canonical.fit(graph, widths, seed=self.seed_, device=device_of(self.device))
        if ranks is not None:
            # One solution for all: the signs of directions are chance, and differ from one kind of processor to another.
            found = ranks.broadcast(found)
        assert found is not None
        encoder, correlation = found
        if encoder.rooted:
            self.reasons_.append("features enter by their square roots: none is negative")
        if graph.n_edges:
            why = f"neighbours correlate by {correlation:.2f} along the best direction, on edges held out"
            self.reasons_.append(f"weight of neighbours = {float(encoder.weight):.2g}: {why}")
        return encoder

    def transform(self, X: Any, *, features: Any = None, out: str | Path | None = None) -> npt.NDArray[np.float32]:
        """Embed the nodes of any graph with the same features, seen or not, (n, d).

        X and ``features`` are as in `fit`; columns with names are brought to the order and the scale of fitting. With ``out``, a ``.npy`` file to make, the
        embedding is computed in blocks and comes back memory-mapped: for graphs whose activations do not fit into memory. In a session
        of several processes all call this with ``out``, and each embeds its share; the file and its rows are the first one's alone.
        """
        check_is_fitted(self)
        graph = self._input(X if features is None else (X, features), reset=False)
        if distributed.is_shared():
            require_sound(graph, *((0, graph.n_nodes) if out is None else own_part(graph)))
        with memory.named(self._described(graph)):
            if out is not None:
                return embed_blocks(self.encoder_, graph, out)
            return embed(self.encoder_, graph).cpu().numpy()

    def fit_transform(
        self, X: Any, y: Any = None, *, features: Any = None, **fit_params: Any
    ) -> npt.NDArray[np.float32]:
        """Fit to a graph and embed it."""
        refuse_features_as_labels(X, y)
        data = self._opened(X if features is None else (X, features), reset=True)
        return self.fit(data, y, **fit_params).transform(data)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu") -> Self:
        """Read what ``save`` wrote; it gives the same embeddings bit for bit."""
        model = super().load(folder)
        model.device = device
        model.encoder_.to(device_of(device))
        return model

    @property
    def _network(self) -> Encoder | Canonical:
        return self.encoder_

    @property
    def _n_features_out(self) -> int:
        return int(self.encoder_.dims[-1])

    def _input(self, X: Any, *, reset: bool) -> Graph:
        X = self._opened(X, reset=reset)
        if isinstance(X, (Dataset, Graph, tuple)):
            return super()._input(X, reset=reset)
        X = without_torch(X)
        if not (
            sp.issparse(X) or isinstance(X, list) or hasattr(X, "__array__")
        ):  # reading others entry by entry may take minutes
            raise TypeError(f"X must be a matrix of features or what ccassg.read_graph takes, got {shown(X)}")
        refuse_graph("X", X, None if reset else self.n_features_in_)
        least: Any = {"accept_sparse": "csr", "dtype": np.float32, "ensure_min_samples": 2 if reset else 1}
        try:
            X = validate_data(self, X, reset=reset, **least)
        except ValueError as error:  # scikit-learn's sentences take several lines
            why = textwrap.shorten(str(error), 300, placeholder=" ...")
            if is_frame(X) and "could not convert" in why:
                why += "; a table of nodes with ids or text goes in beside its edges: fit(edges, features=X)"
            raise ValueError(why) from None
        n, n_features = X.shape
        if reset:
            names = tuple(getattr(self, "feature_names_in_", ()))
            self.features_ = FeatureSpace(n_features, names or None)
        X = sp.csr_array(X) if sp.issparse(X) else X
        return Graph(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), features=X)

    def _state(self) -> dict[str, Any]:
        settings = {name: value for name, value in self.settings_.items() if name != "augmentations"}
        settings["device"] = str(settings["device"])
        return {"settings": settings, "reasons": self.reasons_, "encoder": shape_of(self.encoder_)}

    def _restore(self, state: dict[str, Any], tensors: dict[str, Tensor]) -> None:
        if not isinstance(state["settings"], dict):
            raise TypeError("settings must be an object")
        self.settings_ = dict(state["settings"])
        self.reasons_ = [str(reason) for reason in state["reasons"]]
        self.encoder_ = with_weights(lambda: of_shape(state["encoder"]), tensors)
        if self.encoder_.dims[0] != self.n_features_in_:
            raise ValueError(f"the encoder does not take {self.n_features_in_} features")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags


def _bytes_of_training(dims: Sequence[int], settings: Settings, n_nodes: int) -> int:
    """Return how many bytes training takes at least: the model with Adam's state, two views' activations, the head's moments."""
    weights = sum(wide * (narrow + 1) for wide, narrow in itertools.pairwise(dims))
    rows = min(n_nodes, settings.loss_nodes or settings.batch_nodes or n_nodes)
    by_grams = len(dims) > 2 and (settings.batch_nodes or rows >= GRAM_FROM * dims[-1])
    return 4 * (4 * weights + 2 * rows * sum(dims[1:]) + 3 * dims[-2 if by_grams else -1] ** 2)
