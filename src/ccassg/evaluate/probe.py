"""Linear evaluation: how well a linear classifier on frozen embeddings predicts the labels."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy.typing as npt
import torch

from ccassg.evaluate.checks import check_embeddings, check_labels, check_seeds, check_split
from ccassg.evaluate.probe_runs import by_adam, by_logistic, plan
from ccassg.evaluate.scores import ProbeResult
from ccassg.graph import Dataset, Split
from ccassg.graph.checks import Array, check_count, check_number, shown
from ccassg.graph.dataset import random_split
from ccassg.graph.device import device_of

# Nobody trains a linear layer longer.
MAX_EPOCHS = 10**6
# Classes may be numbered with gaps up to here, however few the nodes.
MAX_NUMBERED = 10_000


def linear_probe(
    z: Any,
    y: npt.ArrayLike | Dataset,
    splits: Split | Sequence[Split] | None = None,
    *,
    seeds: int | Iterable[int] = 0,
    learning_rate: float | None = None,
    weight_decay: float | Sequence[float] | None = None,
    epochs: int = 2000,
    choose: Literal["validation", "last"] = "validation",
    solver: Literal["adam", "logistic"] = "adam",
    tolerance: float = 1e-3,
    standardize: bool = False,
    device: torch.device | str = "cpu",
) -> ProbeResult:
    """Score a logistic regression on frozen embeddings, chosen on validation, once on the test nodes.

    ``solver="adam"`` is the protocol of the paper: a linear layer with bias, initialised like ``torch.nn.Linear``,
    full-batch Adam on the training nodes, validation accuracy after every epoch. The test nodes are read once, with the
    weights of the *first* epoch that reached the highest validation accuracy. All runs train in one batch.

    ``solver="logistic"`` solves the convex problem of scikit-learn's LogisticRegression, with C from a grid chosen on
    validation, the strongest regularisation of equals: no learning rate, no epochs, no seed. Runs that share embedding and
    nodes are solved once. Thousands of classes are stopped early, or trained on a random sample of the nodes, and the result
    has a note that says so.

    Parameters
    ----------
    z : array or tensor of shape (n, d) or (r, n, d), or sequence of r of shape (n, d)
        One embedding, or one per run. Computed in float64 if given so, else in float32. A SciPy matrix, such as the
        features of a graph, is made dense in parts only.
    y : int array of shape (n,), or Dataset
        Classes from 0; -1 for nodes without a label, which no split may name. Or names of classes, None for none, such as
        ``data.labels``; or a dataset that has them.
    splits : object with index arrays ``train``, ``val`` and ``test``, or a sequence of them
        One split, or one per run. By default those of the dataset, ``y.split(seed)``; for an array of classes random ones:
        10 % of the labelled nodes to train on, 10 % to choose on, the rest to test on.
    seeds : int or iterable of int
        One seed per run for the initial weights. An int s stands for s, s + 1, ... as many as there are runs.
        There are as many runs as the longest of `z`, `splits` and `seeds`; a single one serves all runs.
    learning_rate : float
        Of Adam. By default what the dataset's card names, which is the paper's, else 1e-2.
    weight_decay : float or sequence of float
        Of Adam, an L2 term in the gradient. By default what the dataset's card names, else 1e-4. Of several, each run takes the one with the highest validation accuracy, the
        earliest of those that share it. Too strong a decay leaves the class with most training nodes ahead on unbalanced splits.
    epochs : int
        Steps of Adam.
    choose : "validation" or "last"
        Which epoch of "adam" counts: the first best one on the validation nodes, or the last one whatever they say.
    solver : "adam" or "logistic"
    tolerance : float
        How well "logistic" knows its weights, as a part of their length. 1e-2 is up to three times as fast, with the same accuracy
        but for a node or two.
    standardize : bool
        Bring each column to mean 0 and standard deviation 1 over all nodes first. Not part of the paper's protocol.
    device : torch.device or str
        Where "adam" trains.

    Returns
    -------
    ProbeResult

    Raises
    ------
    ValueError
        On shapes that do not fit, empty or overlapping splits, nodes without a label in a split.

    Examples
    --------
    >>> import ccassg
    >>> data = ccassg.load_dataset("cora")
    >>> z = data.graph.features.toarray()  # or an embedding
    >>> result = ccassg.linear_probe(z, data, seeds=range(3), epochs=20)  # the public split, three initial weights
    >>> len(result.accuracies)
    3
    >>> split = ccassg.Split(train=[0, 1], val=[2, 3], test=[4, 5])
    >>> ccassg.linear_probe([[0, 1], [1, 0]] * 3, [0, 1] * 3, split, epochs=20).accuracy
    1.0
    """
    embeddings = check_embeddings(z)
    data = y if isinstance(y, Dataset) else None
    if data is not None and data.y is None:
        raise ValueError("the dataset has no labels to score against; give some when reading the graph")
    labels = check_labels(y if data is None else data.y, embeddings[0].shape[0])
    if (highest := int(labels.max())) >= max(len(labels), MAX_NUMBERED):  # every class up to it has weights
        raise ValueError(
            f"y has the class {highest:,} on {len(labels):,} nodes; number the classes without gaps, e.g. by "
            "numpy.unique(y, return_inverse=True)"
        )
    seeds = check_seeds(seeds)
    if splits is None:
        chosen = range(seeds, seeds + len(embeddings)) if isinstance(seeds, int) else seeds
        public = data is not None and data.public_split is not None
        splits = [data.split(seed) for seed in chosen] if public else random_splits(labels, chosen)  # type: ignore[union-attr]
    named = {} if data is None or data.card is None else data.card.probe
    learning_rate = named.get("learning_rate", 1e-2) if learning_rate is None else learning_rate
    weight_decay = named.get("weight_decay", 1e-4) if weight_decay is None else weight_decay
    single = hasattr(splits, "train") or not isinstance(splits, Iterable)
    many: list[Any] = [splits] if single else list(splits)  # type: ignore[arg-type]
    names = ["split"] if single else [f"splits[{i}]" for i in range(len(many))]
    parts = [check_split(split, labels, name) for split, name in zip(many, names, strict=True)]
    batch = plan(embeddings, parts, seeds, standardize)
    if solver == "logistic":
        if check_number("tolerance", tolerance) <= 0:
            raise ValueError(f"tolerance must be positive, got {shown(tolerance)}")
        return by_logistic(batch, labels, tolerance)
    if solver != "adam":
        raise ValueError(f"solver must be 'adam' or 'logistic', got {solver!r}")
    check_count("epochs", epochs, 1, MAX_EPOCHS)
    decays = list(weight_decay) if isinstance(weight_decay, Iterable) else [weight_decay]
    decays = [check_number("weight_decay", decay) for decay in decays]
    if check_number("learning_rate", learning_rate) == 0 or not decays:
        raise ValueError(
            f"learning_rate must be positive and weight_decay not empty, got {learning_rate} and {shown(weight_decay)}"
        )
    if choose not in ("validation", "last"):
        raise ValueError(f"choose must be 'validation' or 'last', got {choose!r}")
    settings = {"learning_rate": learning_rate, "epochs": epochs, "last_only": choose == "last"}
    return by_adam(batch, labels, device_of(device), decays, settings)


def random_splits(labels: Array, seeds: Sequence[int]) -> list[Split]:
    """Return a random split for each seed; ValueError where there are too few labels."""
    if (n_labelled := int((labels >= 0).sum())) < 10:
        raise ValueError(f"a linear probe needs at least 10 labelled nodes, got {n_labelled}; label more of them")
    return [random_split(labels, seed) for seed in seeds]
