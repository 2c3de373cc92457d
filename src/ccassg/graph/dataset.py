"""Dataset: a graph with its labels and names, and how its nodes are divided into training, validation and test."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ccassg.graph.checks import Array, check_count, check_kind, shown
from ccassg.graph.graph import Graph
from ccassg.graph.scaling import Scaling
from ccassg.graph.structural import structural_names

Indices: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Split:
    """Three disjoint sets of labelled nodes, as int64 indices.

    Examples
    --------
    >>> import numpy as np
    >>> import ccassg
    >>> ccassg.Split(train=np.arange(0, 10), val=np.arange(10, 20), test=np.arange(20, 100))
    Split(train: 10, val: 10, test: 80)
    """

    train: Indices
    val: Indices
    test: Indices

    def __repr__(self) -> str:
        return f"Split(train: {len(self.train):,}, val: {len(self.val):,}, test: {len(self.test):,})"


@dataclass(frozen=True)
class Card:
    """The description of a dataset; every edge counts in both directions, without loops or repeats."""

    title: str
    about: str  # what nodes, edges, features and classes are
    source: str
    licence: str
    citation: str
    split: str  # what ``Dataset.split(seed)`` gives
    n_nodes: int
    n_edges: int
    n_features: int
    n_entries: int  # of the features, those that are not zero
    class_names: tuple[str, ...]
    n_unlabelled: int = 0
    # The ``learning_rate`` and ``weight_decay`` of the paper's linear evaluation, if the dataset is one of the paper's.
    probe: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)

    @property
    def feature_density(self) -> float:
        """Fraction of feature entries that are not zero."""
        return self.n_entries / (self.n_nodes * self.n_features)

    @property
    def memory_bytes(self) -> int:
        """Size of the loaded arrays: 32-bit columns and values, 64-bit row starts and labels."""
        return 4 * self.n_edges + 8 * self.n_entries + 24 * self.n_nodes


@dataclass(frozen=True, eq=False)
class Dataset:
    """A graph with what is known about its nodes: whatever is read, loaded or opened comes in this one box.

    Attributes
    ----------
    graph : Graph
        With features where there are any, and with the user's ids.
    y : int64 array of shape (n,), or None
        The class of each node, -1 where it has none; None without any labels.
    class_names : tuple of str, or None
        Names of the classes 0, 1, ...
    feature_names : tuple of str, or None
        Where each feature came from; None for a matrix without names.
    scaling : Scaling, or None
        How the features were scaled, if they were.
    idf : tuple of float, or None
        Inverse document frequency of each feature that is a word of a text, 0 for others; None without text.
    notes : tuple of str
        What was guessed, changed or left out on the way in.
    name : str, or None
        As given to `load_dataset`.
    card : Card, or None
        Source, licence, citation and counts, of a dataset that has them.
    public_split : Split, or None
        The split that came with the data.

    Examples
    --------
    >>> import numpy as np
    >>> import ccassg
    >>> graph = ccassg.as_graph([[0, 1], [1, 2]], features=np.eye(3))
    >>> data = ccassg.Dataset(graph, y=np.array([0, 1, -1]), class_names=("theory", "systems"))
    >>> data.labels
    ['theory', 'systems', None]
    >>> ccassg.load_dataset("cora").split()
    Split(train: 140, val: 500, test: 1,000)
    """

    graph: Graph
    y: Any = None
    class_names: tuple[str, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    scaling: Scaling | None = None
    notes: tuple[str, ...] = ()
    name: str | None = None
    card: Card | None = None
    public_split: Split | None = None
    idf: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        check_kind("graph", self.graph, Graph, "make one with ccassg.as_graph")
        if self.y is not None:
            object.__setattr__(self, "y", _check_classes(self.y, self.graph.n_nodes))
        n_used = 0 if self.y is None else int(self.y.max(initial=-1)) + 1
        object.__setattr__(self, "class_names", _check_names("class_names", self.class_names, n_used))
        n_features = self.graph.n_features
        object.__setattr__(
            self, "feature_names", _check_names("feature_names", self.feature_names, n_features, n_features)
        )
        if self.scaling is not None:
            check_kind("scaling", self.scaling, Scaling, "leave it out where features are not scaled")

    @property
    def ids(self) -> Array:
        """The user's names of the nodes, or 0 .. n - 1."""
        return self.graph.node_ids

    @property
    def structural(self) -> bool:
        """Whether the features were made from the edges, for want of others."""
        names = self.feature_names
        return names is not None and names == structural_names(len(names))

    @property
    def n_classes(self) -> int:
        """Number of classes, 0 without labels."""
        if self.class_names is not None:
            return len(self.class_names)
        return 0 if self.y is None else int(self.y.max(initial=-1)) + 1

    @property
    def labels(self) -> list[str | None] | None:
        """The class of each node as text, None where it has none; None without any labels."""
        if self.y is None:
            return None
        names = self.class_names or tuple(str(i) for i in range(self.n_classes))
        return [names[c] if c >= 0 else None for c in self.y.tolist()]

    def split(
        self,
        seed: int = 0,
        *,
        kind: Literal["public", "random"] | None = None,
        label_rate: float | None = None,
        n_val: int = 500,
        n_test: int = 1000,
    ) -> Split:
        """Divide the labelled nodes.

        Parameters
        ----------
        seed : int
            Of the random splits; the public split is the same for every seed.
        kind : {"public", "random"}, optional
            By default the public split where there is one, else random: 10 % train, 10 % validation, 80 % test.
        label_rate : float in (0, 1), optional
            Train on this share of all nodes instead, drawn at random but for one thing: where a class would be left
            out although there is room for it, one of its nodes takes the place of a node of a class that has several.
        n_val : int
            With ``label_rate``: how many nodes to choose on, drawn at random from the rest. The paper does not say on which nodes
            it chose the probe's epoch.
        n_test : int
            With ``label_rate``: how many nodes to test on, drawn at random from the rest; the paper's 1000.

        Returns
        -------
        Split
            Never contains a node without label.
        """
        if self.y is None:
            raise ValueError("there are no labels to split by; give some when reading the graph")
        check_count("seed", seed)
        if label_rate is not None:
            if kind is not None:
                raise ValueError(
                    f"give kind or label_rate, not both: got kind={shown(kind)} and label_rate={shown(label_rate)}"
                )
            return _label_rate_split(self.y, label_rate, n_val, n_test, seed)
        if kind is None:
            kind = "random" if self.public_split is None else "public"
        if kind == "random":
            return random_split(self.y, seed)
        if kind != "public":
            raise ValueError(f"kind must be 'public' or 'random', got {shown(kind)}")
        if self.public_split is None:
            raise ValueError(f"{self.name or 'this graph'} has no public split; use kind='random' with a seed")
        return self.public_split

    def __repr__(self) -> str:
        name = "" if self.name is None else f"{self.name}: "
        return f"Dataset({name}{self.graph!r}, classes: {self.n_classes})"


def _check_classes(y: Any, n_nodes: int) -> Array:
    """Return classes of the nodes, (n,), -1 for those without one; what lies in a store stays there."""
    classes = y if isinstance(y, np.ndarray) else np.asarray(y if isinstance(y, (list, tuple)) else None)
    if classes.shape != (n_nodes,) or classes.dtype.kind not in "iu":
        raise ValueError(f"y must be {n_nodes} integers, one per node, got {classes.dtype} of shape {classes.shape}")
    if classes.min(initial=0) < -1:
        raise ValueError(f"y must hold classes from 0, -1 for nodes without one, got {classes.min()}")
    return classes


def _check_names(name: str, names: Any, least: int, most: int | None = None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, (tuple, list)) or not all(isinstance(text, str) for text in names):
        raise TypeError(f"{name} must be a tuple of text, got {shown(names)}")
    if len(names) < least or (most is not None and len(names) > most):
        raise ValueError(f"{name} must hold {'at least ' if most is None else ''}{least} names, got {len(names)}")
    return tuple(names)


def random_split(y: npt.NDArray[Any], seed: int) -> Split:
    """Draw 10 % of the labelled nodes to train on and 10 % to choose on; the rest is to test on."""
    order = np.random.default_rng(seed).permutation(np.flatnonzero(y >= 0))
    tenth = len(order) // 10
    return Split(np.sort(order[:tenth]), np.sort(order[tenth : 2 * tenth]), np.sort(order[2 * tenth :]))


def _label_rate_split(y: Indices, label_rate: Any, n_val: int, n_test: int, seed: int) -> Split:
    if not isinstance(label_rate, (int, float, np.number)) or not 0 < label_rate < 1:
        raise ValueError(f"label_rate must be in (0, 1), got {shown(label_rate)}; 1 % of the nodes is 0.01")
    check_count("n_val", n_val, 0)
    check_count("n_test", n_test, 1)
    labelled = np.flatnonzero(y >= 0)
    n_train = round(label_rate * len(y))
    if n_train < 1:
        raise ValueError(f"label_rate {label_rate:g} of {len(y):,} nodes is less than one node; raise it")
    if n_train + n_val + n_test > len(labelled):
        raise ValueError(
            f"{n_train} train, {n_val} validation and {n_test} test nodes are more than the {len(labelled):,} labelled "
            "ones; lower label_rate, n_val or n_test"
        )
    order = np.random.default_rng(seed).permutation(labelled)
    _swap_in_missing_classes(order, y, n_train)
    n_rest = n_train + n_test
    return Split(np.sort(order[:n_train]), np.sort(order[n_rest : n_rest + n_val]), np.sort(order[n_train:n_rest]))


def _swap_in_missing_classes(order: Indices, y: Indices, n_train: int) -> None:
    """Exchange nodes so that the first ``n_train`` cover as many classes as they can; in place."""
    classes = y[order]
    counts = np.bincount(classes[:n_train], minlength=int(y.max()) + 1)
    for missing in np.setdiff1d(classes, classes[:n_train]):
        spare = np.flatnonzero(counts[classes[:n_train]] > 1)
        if len(spare) == 0:
            return
        leaves, enters = spare[-1], n_train + np.flatnonzero(classes[n_train:] == missing)[0]
        counts[classes[leaves]] -= 1
        order[[leaves, enters]] = order[[enters, leaves]]
        classes[[leaves, enters]] = classes[[enters, leaves]]
