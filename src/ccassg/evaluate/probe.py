"""Linear evaluation: how well a linear classifier on frozen embeddings predicts the labels."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ccassg.evaluate import softmax
from ccassg.evaluate.checks import Split, check_embeddings, check_labels, check_split

Array: TypeAlias = npt.NDArray[Any]

# Inverse regularisation strengths tried by the "logistic" solver, strongest first: ties go to the simpler model.
C_GRID = tuple(float(10.0**k) for k in range(-3, 4))
# Test rows scored at once.
BLOCK_ROWS = 8192


@dataclass(frozen=True, eq=False)
class ProbeResult:
    """Scores of one evaluation; every list has one entry per run.

    Attributes
    ----------
    accuracies : list of float
        Test accuracy, a fraction in [0, 1].
    val_accuracies : list of float
        Validation accuracy of the chosen weights.
    macro_f1 : list of float
        Mean over classes of the F1 score on the test nodes; a class that is neither present nor predicted is left out.
    epochs : list of int
        The chosen epoch, counted from 1; empty with ``solver="logistic"``.
    strengths : list of float
        The chosen inverse regularisation C of ``solver="logistic"``; empty otherwise.
    confusion : int64 array of shape (n_classes, n_classes)
        Test nodes by true class (rows) and predicted class (columns), summed over the runs.
    predictions : list of int64 arrays
        Predicted classes, in the order of the run's test nodes.
    """

    accuracies: list[float]
    val_accuracies: list[float]
    macro_f1: list[float]
    epochs: list[int]
    strengths: list[float]
    confusion: Array
    predictions: list[Array] = field(repr=False)

    @property
    def accuracy(self) -> float:
        """Mean test accuracy over the runs."""
        return float(np.mean(self.accuracies))

    @property
    def std(self) -> float:
        """Standard deviation of the test accuracy over the runs (n - 1 in the denominator; 0 for one run)."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Everything but the predictions, in types that JSON knows."""
        return {
            "accuracy": self.accuracy,
            "std": self.std,
            "n_runs": len(self.accuracies),
            "accuracies": self.accuracies,
            "val_accuracies": self.val_accuracies,
            "macro_f1": self.macro_f1,
            "epochs": self.epochs,
            "strengths": self.strengths,
            "confusion": self.confusion.tolist(),
        }


def linear_probe(
    z: Any,
    y: npt.ArrayLike,
    splits: Split | Sequence[Split],
    *,
    seeds: int | Iterable[int] = 0,
    learning_rate: float = 1e-2,
    weight_decay: float = 1e-4,
    epochs: int = 2000,
    solver: Literal["adam", "logistic"] = "adam",
    standardize: bool = False,
    device: torch.device | str = "cpu",
) -> ProbeResult:
    """Logistic regression on frozen embeddings, chosen on validation, scored once on test.

    ``solver="adam"`` is the protocol of the paper: a linear layer with bias, initialised like ``torch.nn.Linear``,
    full-batch Adam on the training nodes, validation accuracy after every epoch. The test nodes are read once, with the
    weights of the *first* epoch that reached the highest validation accuracy. All runs train in one batch.

    ``solver="logistic"`` is scikit-learn's LogisticRegression, with C from a grid chosen on validation: no
    learning rate, no epochs, no seed.

    Parameters
    ----------
    z : array or tensor of shape (n, d) or (r, n, d), or sequence of r of shape (n, d)
        One embedding, or one per run. Computed in float64 if given so, else in float32.
    y : int array of shape (n,)
        Classes from 0; -1 for nodes without a label, which no split may name.
    splits : object with index arrays ``train``, ``val`` and ``test``, or a sequence of them
        One split, or one per run.
    seeds : int or iterable of int
        One seed per run for the initial weights. An int s stands for s, s + 1, ... as many as there are runs.
        There are as many runs as the longest of `z`, `splits` and `seeds`; a single one serves all runs.
    learning_rate, weight_decay : float
        Of Adam; the decay is an L2 term in the gradient.
    epochs : int
        Steps of Adam.
    solver : "adam" or "logistic"
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
    >>> from types import SimpleNamespace
    >>> z, y = np.eye(6, dtype=np.float32)[[0, 1, 0, 1, 0, 1]], np.array([0, 1, 0, 1, 0, 1])
    >>> split = SimpleNamespace(train=np.array([0, 1]), val=np.array([2, 3]), test=np.array([4, 5]))
    >>> linear_probe(z, y, split, epochs=20).accuracy
    1.0
    """
    embeddings = check_embeddings(z)
    labels = check_labels(y, embeddings[0].shape[0])
    many = splits if isinstance(splits, Sequence) else [splits]
    names = [f"splits[{i}]" for i in range(len(many))] if isinstance(splits, Sequence) else ["split"]
    parts = [check_split(split, labels, name) for split, name in zip(many, names, strict=True)]
    batch = _plan(embeddings, parts, seeds, standardize)
    if solver == "logistic":
        return _logistic(batch, labels)
    if solver != "adam":
        raise ValueError(f"solver must be 'adam' or 'logistic', got {solver!r}")
    if epochs < 1:
        raise ValueError(f"epochs must be at least 1, got {epochs}")
    if learning_rate <= 0 or weight_decay < 0:
        raise ValueError(
            f"learning_rate must be positive and weight_decay not negative, got {learning_rate} and {weight_decay}"
        )
    return _adam(batch, labels, torch.device(device), learning_rate, weight_decay, epochs)


@dataclass(frozen=True)
class _Batch:
    """The runs: g groups, each an embedding and a split, with the s seeds that share them."""

    embeddings: list[Array]
    scales: list[tuple[Array, Array] | None]
    splits: list[dict[str, Array]]
    groups: list[tuple[int, int]]
    seeds: list[list[int]]

    def rows(self, group: int, nodes: Array) -> Tensor:
        """The embedding rows of some nodes, shape (len(nodes), d); a copy of these rows only."""
        which = self.groups[group][0]
        rows, scale = self.embeddings[which][nodes], self.scales[which]
        return torch.from_numpy(rows if scale is None else (rows - scale[0]) * scale[1])

    def nodes(self, group: int, part: str) -> Array:
        """The nodes of "train", "val" or "test"."""
        return self.splits[self.groups[group][1]][part]


def _plan(
    embeddings: list[Array], splits: list[dict[str, Array]], seeds: int | Iterable[int], standardize: bool
) -> _Batch:
    """Pair embeddings, splits and seeds run by run; runs that share embedding and split form one group."""
    given = [int(seeds)] if isinstance(seeds, (int, np.integer)) else [int(seed) for seed in seeds]
    lengths = {"z": len(embeddings), "splits": len(splits), "seeds": len(given)}
    n_runs = max(lengths.values())
    if any(length not in (1, n_runs) for length in lengths.values()):
        counts = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"z, splits and seeds are paired run by run: give 1 or {n_runs} of each, got {counts}")
    if isinstance(seeds, (int, np.integer)):
        given = [given[0] + run for run in range(n_runs)]
    elif len(given) == 1:
        given *= n_runs
    scales = [_scale(z) if standardize else None for z in embeddings]
    if len(embeddings) == len(splits) == 1:
        return _Batch(embeddings, scales, splits, [(0, 0)], [given])
    groups = [(min(run, len(embeddings) - 1), min(run, len(splits) - 1)) for run in range(n_runs)]
    return _Batch(embeddings, scales, splits, groups, [[seed] for seed in given])


def _adam(
    batch: _Batch, labels: Array, device: torch.device, learning_rate: float, weight_decay: float, epochs: int
) -> ProbeResult:
    n_groups, n_classes = len(batch.groups), int(labels.max()) + 1
    data: list[Tensor] = []
    for part in ("train", "val"):
        nodes = [batch.nodes(g, part) for g in range(n_groups)]
        rows = [softmax.with_ones(batch.rows(g, nodes[g]).to(device)) for g in range(n_groups)]
        classes = [torch.from_numpy(labels[nodes[g]]).to(device) for g in range(n_groups)]
        data += [pad_sequence(rows, batch_first=True), pad_sequence(classes, batch_first=True, padding_value=-1)]
    dim, dtype = data[0].shape[2] - 1, data[0].dtype
    weights = torch.stack(
        [torch.stack([softmax.initial_weights(seed, n_classes, dim, dtype) for seed in seeds]) for seeds in batch.seeds]
    ).to(device)
    fitted = softmax.train(weights, *data, learning_rate=learning_rate, weight_decay=weight_decay, epochs=epochs)
    predictions = [run for g in range(n_groups) for run in _predict(batch, g, fitted.weights[g])]
    tests = [labels[batch.nodes(g, "test")] for g, seeds in enumerate(batch.seeds) for _ in seeds]
    return _result(
        predictions,
        tests,
        n_classes,
        val_accuracies=fitted.val_accuracies.flatten().tolist(),
        epochs=fitted.epochs.flatten().tolist(),
    )


def _predict(batch: _Batch, group: int, weights: Tensor) -> list[Array]:
    """Classes of the test nodes under weights (s, c, d + 1): s arrays of shape (n_test,)."""
    nodes = batch.nodes(group, "test")
    blocks = []
    for start in range(0, len(nodes), BLOCK_ROWS):
        rows = softmax.with_ones(batch.rows(group, nodes[start : start + BLOCK_ROWS]).to(weights.device))
        blocks.append((weights @ rows.T).argmax(1).cpu().numpy())
    return list(np.concatenate(blocks, axis=1))


def _logistic(batch: _Batch, labels: Array) -> ProbeResult:
    predictions, tests, val_accuracies, strengths = [], [], [], []
    for g in range(len(batch.groups)):
        x = {part: batch.rows(g, batch.nodes(g, part)).cpu().numpy() for part in ("train", "val")}
        y = {part: labels[batch.nodes(g, part)] for part in ("train", "val", "test")}
        models = [_fit_logistic(x["train"], y["train"], strength) for strength in C_GRID]
        scores = [float(np.mean(model.predict(x["val"]) == y["val"])) for model in models]
        best = int(np.argmax(scores))
        test_rows = batch.rows(g, batch.nodes(g, "test")).cpu().numpy()
        predictions.append(models[best].predict(test_rows))
        tests.append(y["test"])
        val_accuracies.append(scores[best])
        strengths.append(C_GRID[best])
    n_classes = int(labels.max()) + 1
    return _result(predictions, tests, n_classes, val_accuracies=val_accuracies, strengths=strengths)


def _fit_logistic(x: Array, y: Array, strength: float) -> Any:
    if (y == y[0]).all():  # scikit-learn refuses a single class; the answer is that class
        return DummyClassifier(strategy="most_frequent").fit(x, y)
    return LogisticRegression(C=strength, max_iter=1000).fit(x, y)


def _result(predictions: list[Array], tests: list[Array], n_classes: int, **chosen: list[Any]) -> ProbeResult:
    confusions = [
        np.bincount(true * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)
        for true, predicted in zip(tests, predictions, strict=True)
    ]
    return ProbeResult(
        accuracies=[float(np.trace(counts) / counts.sum()) for counts in confusions],
        macro_f1=[_macro_f1(counts) for counts in confusions],
        confusion=np.sum(confusions, axis=0),
        predictions=predictions,
        val_accuracies=chosen["val_accuracies"],
        epochs=chosen.get("epochs", []),
        strengths=chosen.get("strengths", []),
    )


def _macro_f1(counts: Array) -> float:
    total = counts.sum(0) + counts.sum(1)
    met = total > 0
    return float(np.mean(2 * np.diag(counts)[met] / total[met]))


def _scale(z: Array) -> tuple[Array, Array]:
    """Column means and inverse standard deviations over all nodes; a constant column becomes 0."""
    std = z.std(0)
    return z.mean(0), np.divide(1, std, out=np.zeros_like(std), where=std > 0)
