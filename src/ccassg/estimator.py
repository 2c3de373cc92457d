"""CCASSG: the method as a scikit-learn estimator, with presets, saving and loading."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ccassg import model_file, parameters
from ccassg.defaults import choice, towers
from ccassg.graph import Graph, as_graph
from ccassg.model.encoder import Joined
from ccassg.model.loss import Terms
from ccassg.model.presets import FAST, PRESETS
from ccassg.training import loop
from ccassg.training.blocks import embed_blocks

Auto = Literal["auto"]
Rate = float | tuple[float, float]


class CCASSG(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Node embeddings by CCA-SSG (Zhang et al., NeurIPS 2021).

    Two random views of the graph go through one encoder; the loss correlates the views and decorrelates the dimensions:

        L = -trace(Z1' Z2) + lambda (||Z1' Z1 - I||^2 + ||Z2' Z2 - I||^2)

    Whatever is "auto" is chosen from the graph when fitting, without labels; ``settings_`` says what and why.

    Parameters
    ----------
    encoder : {"auto", "gcn", "mlp", "joined"}
        Graph convolutions; or an MLP that sees only a node's own features; or both, trained one after the other and set side
        by side with the features, own and averaged, so that a linear probe can use either.
    n_layers : int or "auto"
        Layers of the encoder; with one, its width is the embedding's.
    hidden_dim, embedding_dim : int or "auto"
        Widths of the hidden layers and of the embedding. Automatic ones never exceed what the data can fill.
    own_share : float or "auto"
        In a joined encoder, the weight of the own features, from 0 (the MLP is left out) to 1 (the GCN is).
    n_hops : int or "auto"
        In a joined encoder, the hops that features are averaged over linearly; the GCN's output is averaged over as many.
    decorrelation : float or "auto"
        The trade-off lambda (of the appendix's form of the loss, as every published value).
    edge_drop_rate, feature_mask_rate : float or "auto", or a pair of floats, one per view
        Probability that an edge is dropped, and that a feature column is masked, per view and step.
    n_steps : int or "auto"
        Training steps.
    early_stopping : bool
        Stop before ``n_steps`` when the loss hardly falls any more: later steps whiten noise.
    learning_rate : float
        Of Adam.
    weight_decay : float
        Of Adam.
    drop_both_directions : bool
        Drop the two directions of an undirected edge together. The released code of the paper does not.
    loss_nodes : int or None
        Compute the loss on this many random nodes each step: an approximation, faster. None uses all.
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
    encoder_ : Encoder or Joined
        The trained encoder.
    history_ : dict of lists
        ``loss``, ``invariance`` and ``decorrelation`` of every step, summed over the parts of a joined encoder.
    settings_ : dict
        The value in effect of every parameter; ``reasons_`` says why the automatic ones were chosen.
    n_parameters_ : int
        Size of the model.
    n_features_in_ : int
        Number of feature columns seen in `fit`.
    fit_seconds_ : float
        Time that training took.

    Examples
    --------
    >>> import ccassg
    >>> data = ccassg.load_dataset("cora")
    >>> model = ccassg.CCASSG.preset("cora", n_steps=3, random_state=0)  # the paper's settings, but for the few steps
    >>> z = model.fit_transform(data.graph)
    >>> z.shape, len(model.history_["loss"])
    ((2708, 512), 3)
    >>> model.save("cora-model")
    >>> bool((ccassg.CCASSG.load("cora-model").transform(data.graph) == z).all())
    True
    """

    # How the method compares (Table 1 of the paper; see `ccassg.systems.base`).
    target: ClassVar[str] = "F-F"
    mi_estimator: ClassVar[bool] = False
    projector: ClassVar[bool] = False
    asymmetric: ClassVar[bool] = False
    negatives: ClassVar[bool] = False
    space: ClassVar[str] = "O(D^2)"
    # Part of a recorded run, so that a variation gets a record of its own; later parameters are not, so that records stay valid.
    recorded_parameters: ClassVar[tuple[str, ...] | None] = (
        "encoder", "n_layers", "hidden_dim", "embedding_dim", "decorrelation", "edge_drop_rate", "feature_mask_rate", "n_steps",
        "learning_rate", "weight_decay", "drop_both_directions", "loss_nodes", "invariance",
    )  # fmt: skip

    def __init__(
        self,
        *,
        encoder: Literal["auto", "gcn", "mlp", "joined"] = "auto",
        n_layers: int | Auto = "auto",
        hidden_dim: int | Auto = "auto",
        embedding_dim: int | Auto = "auto",
        own_share: float | Auto = "auto",
        n_hops: int | Auto = "auto",
        decorrelation: float | Auto = "auto",
        edge_drop_rate: Rate | Auto = "auto",
        feature_mask_rate: Rate | Auto = "auto",
        n_steps: int | Auto = "auto",
        early_stopping: bool = False,
        learning_rate: float = 1e-3,
        weight_decay: float = 0.0,
        drop_both_directions: bool = False,
        loss_nodes: int | None = None,
        batch_nodes: int | None = None,
        max_neighbors: int | None = None,
        augmentations: tuple[loop.Augmentation, ...] = (),
        invariance: float = 1.0,
        random_state: Any = None,
        device: str = "cpu",
    ) -> None:
        self.encoder = encoder
        self.n_layers = n_layers
        self.hidden_dim = hidden_dim
        self.embedding_dim = embedding_dim
        self.own_share = own_share
        self.n_hops = n_hops
        self.decorrelation = decorrelation
        self.edge_drop_rate = edge_drop_rate
        self.feature_mask_rate = feature_mask_rate
        self.n_steps = n_steps
        self.early_stopping = early_stopping
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.drop_both_directions = drop_both_directions
        self.loss_nodes = loss_nodes
        self.batch_nodes = batch_nodes
        self.max_neighbors = max_neighbors
        self.augmentations = augmentations
        self.invariance = invariance
        self.random_state = random_state
        self.device = device

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """The paper's settings for one of its datasets; ``changes`` override single parameters.

        ``"cora-fast"`` and so on name the quickest variant that keeps the accuracy (see ``loss_nodes``).
        """
        base, _, variant = name.partition("-")
        if base not in PRESETS or variant not in ("", "fast"):
            raise ValueError(f"there is no preset {name!r}; there are {', '.join(PRESETS)}, each also as NAME-fast")
        return cls(**(PRESETS[base] | (FAST[base] if variant else {}) | changes))

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        checkpoint: str | Path | None = None,
        checkpoint_every: int = 50,
        on_step: Callable[[int, Terms, int], None] | None = None,
    ) -> Self:
        """Train the encoder.

        Parameters
        ----------
        X : Graph, anything `as_graph` takes with features, or a feature matrix (n, n_features)
            A plain matrix has no edges: the encoder is then an MLP and the only augmentation is masking.
        y
            Ignored.
        checkpoint : path, optional
            File to save the run in now and then, and to continue it from.
        checkpoint_every : int
            Steps between two saves.
        on_step : function of (step, terms, n_steps), optional
            Called after every step.
        """
        graph = self._input(X, reset=True)
        start = time.perf_counter()
        settings, encoder = self.prepare(graph, has_edges=not self._plain(X))
        given: dict[str, Any] = {
            "checkpoint_path": None if checkpoint is None else Path(checkpoint),
            "checkpoint_every": checkpoint_every,
            "on_step": on_step,
        }
        if isinstance(encoder, Joined):
            share, n_hops = self.settings_["own_share"], self.settings_["n_hops"]
            history = towers.train_parts(encoder, graph, settings, share, n_hops, **given)
        else:
            history = loop.train(encoder, graph, settings, **given)
        self.fit_seconds_ = time.perf_counter() - start
        self.encoder_ = encoder
        self.history_ = {
            "loss": history.loss,
            "invariance": history.invariance,
            "decorrelation": history.decorrelation,
        }
        self.n_parameters_ = encoder.n_parameters
        self.n_features_in_ = graph.n_features
        return self

    def prepare(self, graph: Graph, *, has_edges: bool = True) -> tuple[loop.Settings, Any]:
        """Resolve every setting on a graph and build the untrained encoder: all of `fit` but the training."""
        seed = parameters.seed_of(self.random_state)
        device = parameters.device_of(self.device)
        chosen, reasons = choice.choose(graph, self.get_params(deep=False), has_edges=has_edges)
        settings = parameters.check(chosen, graph, seed)
        self.settings_, self.reasons_ = chosen | {"random_state": seed}, reasons
        return settings, parameters.build(chosen, graph, seed).to(device)

    def transform(self, X: Any, *, out: str | Path | None = None) -> npt.NDArray[np.float32]:
        """Embed the nodes of any graph with the same features, seen or not, (n, d).

        With ``out``, a ``.npy`` file to make, the embedding is computed in blocks and comes back memory-mapped: for graphs
        whose activations do not fit into memory.
        """
        check_is_fitted(self)
        graph = self._input(X, reset=False)
        if out is not None:
            return embed_blocks(self.encoder_, graph, out)
        return loop.embed(self.encoder_, graph).cpu().numpy()

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> npt.NDArray[np.float32]:
        """Train on a graph and embed it."""
        return self.fit(X, y, **fit_params).transform(X)

    def save(self, folder: str | Path) -> None:
        """Write ``model.safetensors``, ``config.json`` and a model card into ``folder``."""
        check_is_fitted(self)
        model_file.save(Path(folder), self)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "cpu") -> Self:
        """Read a saved model; it gives the same embeddings bit for bit."""
        saved = model_file.load(Path(folder))
        unknown = set(saved.parameters) - set(cls._get_param_names())
        if unknown:
            raise ValueError(f"{folder} names settings that CCASSG does not have: {', '.join(sorted(unknown))}")
        model = cls(**(saved.parameters | {"device": device}))
        encoder = model_file.restore(saved)
        model.encoder_ = encoder.to(parameters.device_of(device)).eval()
        model.history_ = saved.history
        model.settings_, model.reasons_ = saved.settings, saved.reasons
        model.n_parameters_ = encoder.n_parameters
        model.n_features_in_ = saved.shapes[0].dims[0]
        model.fit_seconds_ = saved.fit_seconds
        return model

    @property
    def _n_features_out(self) -> int:
        return int(self.encoder_.dims[-1])

    @staticmethod
    def _plain(X: Any) -> bool:
        """Whether X is a feature matrix (or table) rather than a graph."""
        return not (isinstance(X, (Graph, tuple)) or hasattr(X, "edge_index") or hasattr(X, "is_multigraph"))

    def _input(self, X: Any, *, reset: bool) -> Graph:
        if self._plain(X):
            X = validate_data(
                self, X, reset=reset, accept_sparse="csr", dtype=np.float32, ensure_min_samples=2 if reset else 1
            )
            n = X.shape[0]
            X = sp.csr_array(X) if sp.issparse(X) else X
            return Graph(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), features=X)
        graph = as_graph(X, need_features=True)
        if not reset and graph.n_features != self.n_features_in_:
            raise ValueError(
                f"X has {graph.n_features} features, but CCASSG is expecting {self.n_features_in_} features as input"
            )
        return graph

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float32"]
        return tags
