"""Linear evaluation: how well a linear classifier on frozen embeddings predicts the labels."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ccassg.evaluate import softmax
from ccassg.evaluate.checks import check_embeddings, check_labels, check_split
from ccassg.evaluate.scores import ProbeResult, score
from ccassg.graph import Array, Dataset, Split
from ccassg.graph.dataset import random_split

# Training rows that are kept at hand while they are read twice per epoch: about the last-level cache of a laptop.
CHUNK_BYTES = 16_000_000
# Test rows scored at once.
BLOCK_ROWS = 8192


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
) -> ProbeResult:
    """Score a logistic regression on frozen embeddings, chosen on validation, once on the test nodes.

    This is the protocol of the paper: a linear layer with bias, initialised like ``torch.nn.Linear``, full-batch Adam on
    the training nodes, validation accuracy after every epoch. The test nodes are read once, with the weights of the
    *first* epoch that reached the highest validation accuracy. All runs train in one batch.

    Parameters
    ----------
    z : array or tensor of shape (n, d) or (r, n, d), or sequence of r of shape (n, d)
        One embedding, or one per run. Computed in float64 if given so, else in float32.
    y : int array of shape (n,), or Dataset
        Classes from 0; -1 for nodes without a label, which no split may name. Or a dataset that has them.
    splits : object with index arrays ``train``, ``val`` and ``test``, or a sequence of them
        One split, or one per run. By default those of the dataset, ``y.split(seed)``; for an array of classes random ones:
        10 % of the labelled nodes to train on, 10 % to choose on, the rest to test on.
    seeds : int or iterable of int
        One seed per run for the initial weights. An int s stands for s, s + 1, ... as many as there are runs.
        There are as many runs as the longest of `z`, `splits` and `seeds`; a single one serves all runs.
    learning_rate : float
        Of Adam. By default what the dataset's card names, which is the paper's, else 1e-2.
    weight_decay : float or sequence of float
        Of Adam, an L2 term in the gradient. By default what the dataset's card names, else 1e-4. Of several, each run
        takes the one with the highest validation accuracy, the first of equals. Too strong a decay leaves the class
        with most training nodes ahead on unbalanced splits.
    epochs : int
        Steps of Adam.
    choose : "validation" or "last"
        Which epoch counts: the first best one on the validation nodes, or the last one whatever they say.

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
    seeds = int(seeds) if isinstance(seeds, (int, np.integer)) else list(seeds)
    if splits is None:
        splits = _default_splits(
            data, labels, range(seeds, seeds + len(embeddings)) if isinstance(seeds, int) else seeds
        )
    named = {} if data is None or data.card is None else data.card.probe
    learning_rate = named.get("learning_rate", 1e-2) if learning_rate is None else learning_rate
    weight_decay = named.get("weight_decay", 1e-4) if weight_decay is None else weight_decay
    single = hasattr(splits, "train") or not isinstance(splits, Iterable)
    many: list[Any] = [splits] if single else list(splits)  # type: ignore[arg-type]
    names = ["split"] if single else [f"splits[{i}]" for i in range(len(many))]
    parts = [check_split(split, labels, name) for split, name in zip(many, names, strict=True)]
    groups = _groups(embeddings, parts, seeds)
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs}")
    decays = list(weight_decay) if isinstance(weight_decay, Iterable) else [weight_decay]
    if learning_rate <= 0 or not decays or min(decays) < 0:
        raise ValueError(
            f"learning_rate must be positive and weight_decay not negative, got {learning_rate} and {weight_decay}"
        )
    if choose not in ("validation", "last"):
        raise ValueError(f"choose must be 'validation' or 'last', got {choose!r}")
    settings = {"learning_rate": learning_rate, "epochs": epochs, "last_only": choose == "last"}
    return _train_and_score(groups, labels, decays, settings)


class _Group(NamedTuple):
    """Runs that share an embedding (n, d) and a split; each has a seed of its own."""

    z: Array
    split: dict[str, Array]
    seeds: list[int]

    def rows(self, nodes: Array) -> Tensor:
        """Return the embeddings of some nodes with a constant column, (len(nodes), d + 1); a copy of these rows only."""
        return softmax.with_ones(torch.from_numpy(self.z[nodes]))


def _default_splits(data: Dataset | None, labels: Array, seeds: Sequence[int]) -> list[Any]:
    """Return a split for each seed: the dataset's own, else a random one."""
    if data is not None and data.public_split is not None:
        return [data.split(seed) for seed in seeds]
    if (n_labelled := int((labels >= 0).sum())) < 10:
        raise ValueError(f"a linear probe needs at least 10 labelled nodes, got {n_labelled}; label more of them")
    return [random_split(labels, seed) for seed in seeds]


def _groups(embeddings: list[Array], splits: list[dict[str, Array]], seeds: int | Sequence[int]) -> list[_Group]:
    """Pair embeddings, splits and seeds run by run; runs that share embedding and split form one group."""
    given = [seeds] if isinstance(seeds, int) else [int(seed) for seed in seeds]
    lengths = {"z": len(embeddings), "splits": len(splits), "seeds": len(given)}
    n_runs = max(lengths.values())
    if any(length not in (1, n_runs) for length in lengths.values()):
        counts = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"z, splits and seeds are paired run by run: give 1 or {n_runs} of each, got {counts}")
    if isinstance(seeds, int):
        given = [seeds + run for run in range(n_runs)]
    elif len(given) == 1:
        given *= n_runs
    if len(embeddings) == len(splits) == 1:
        return [_Group(embeddings[0], splits[0], given)]
    return [
        _Group(embeddings[min(run, len(embeddings) - 1)], splits[min(run, len(splits) - 1)], [given[run]])
        for run in range(n_runs)
    ]


def _train_and_score(groups: list[_Group], labels: Array, decays: list[float], settings: dict[str, Any]) -> ProbeResult:
    n_classes, dim = int(labels.max()) + 1, groups[0].z.shape[1]
    predictions: list[Array] = []
    tests: list[Array] = []
    val_accuracies: list[float] = []
    chosen: list[int] = []
    # All groups train together, unless their rows would fall out of the processor's cache.
    longest = max(len(group.split["train"]) for group in groups)
    step = max(CHUNK_BYTES // (longest * dim * groups[0].z.itemsize), 2)
    for start in range(0, len(groups), step):
        chunk = groups[start : start + step]
        train, val = (_gather(chunk, part, labels) for part in ("train", "val"))
        drawn = [torch.stack([softmax.initial_weights(seed, n_classes, dim) for seed in g.seeds]) for g in chunk]
        weights = torch.stack(drawn).to(train[0])
        fitted = softmax.best([softmax.train(weights, *train, *val, weight_decay=x, **settings) for x in decays])
        val_accuracies += fitted.val_accuracies.flatten().tolist()
        chosen += fitted.epochs.flatten().tolist()
        for group, best in zip(chunk, fitted.weights, strict=True):
            predictions += _predict(group, best)
            tests += [labels[group.split["test"]]] * len(best)
    return score(predictions, tests, n_classes, val_accuracies=val_accuracies, epochs=chosen)


def _gather(groups: list[_Group], part: str, labels: Array) -> tuple[Tensor, Tensor]:
    """Collect rows (g, n, d + 1) and classes (g, n) of one part of the split, padded to the longest."""
    rows = [group.rows(group.split[part]) for group in groups]
    classes = [torch.from_numpy(labels[group.split[part]]) for group in groups]
    return pad_sequence(rows, batch_first=True), pad_sequence(classes, batch_first=True, padding_value=-1)


def _predict(group: _Group, weights: Tensor) -> list[Array]:
    """Predict the classes of the test nodes under weights (s, c, d + 1): s arrays of shape (n_test,)."""
    nodes = group.split["test"]
    blocks = [
        (weights @ group.rows(nodes[start : start + BLOCK_ROWS]).T).argmax(1).numpy()
        for start in range(0, len(nodes), BLOCK_ROWS)
    ]
    return list(np.concatenate(blocks, axis=1))
