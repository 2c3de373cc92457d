"""Linear evaluation: how well a linear classifier on frozen embeddings predicts the labels."""

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ccassg.evaluate import logistic, softmax
from ccassg.evaluate.checks import check_embeddings, check_labels, check_seeds, check_split
from ccassg.evaluate.scores import ProbeResult, roc_auc, score
from ccassg.graph import Dataset, Split
from ccassg.graph.checks import check_count, check_number, shown
from ccassg.graph.dataset import random_split
from ccassg.graph.device import device_of

Array: TypeAlias = npt.NDArray[Any]

# Inverse regularisation strengths tried by the "logistic" solver, strongest first: ties go to the simpler model.
C_GRID = tuple(float(10.0 ** (k / 2)) for k in range(-6, 7))
# Nobody trains a linear layer longer.
MAX_EPOCHS = 10**6
# Training rows that are kept at hand while they are read twice per epoch: about the last-level cache of a laptop.
CHUNK_BYTES = 16_000_000
# Most rows scored at once, and most bytes of their logits.
BLOCK_ROWS, BLOCK_BYTES = 8192, 200_000_000
# Of more classes no probabilities are kept.
MAX_RANKED = 100
# Sparse rows are made dense up to so many of them: the solver's coordinates take their cube.
MAX_DENSE = 1024
# Of more, strengths that are tried, and steps of each.
SPARSE_GRID, SPARSE_STEPS = C_GRID[4::2], 50
# Classes may be numbered with gaps up to here, however few the nodes.
MAX_NUMBERED = 10_000
# Most training nodes x classes x columns of the convex problem, of which one gradient on one core takes about half a second.
MAX_CELLS = 10_000_000_000


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
        Of Adam, an L2 term in the gradient. By default what the dataset's card names, else 1e-4. Of several, each run takes the one with the highest validation accuracy, the
        first of equals. Too strong a decay leaves the class with most training nodes ahead on unbalanced splits.
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
    batch = _plan(embeddings, parts, seeds, standardize)
    if solver == "logistic":
        if check_number("tolerance", tolerance) <= 0:
            raise ValueError(f"tolerance must be positive, got {shown(tolerance)}")
        return _logistic(batch, labels, tolerance)
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
    return _adam(batch, labels, device_of(device), decays, settings)


def random_splits(labels: Array, seeds: Sequence[int]) -> list[Split]:
    """Return a random split for each seed; ValueError where there are too few labels."""
    if (n_labelled := int((labels >= 0).sum())) < 10:
        raise ValueError(f"a linear probe needs at least 10 labelled nodes, got {n_labelled}; label more of them")
    return [random_split(labels, seed) for seed in seeds]


@dataclass(frozen=True)
class _Batch:
    """The runs: g groups, each an embedding and a split, with the s seeds that share them."""

    embeddings: list[Array]
    scales: list[tuple[Array, Array] | None]
    splits: list[dict[str, Array]]
    groups: list[tuple[int, int]]
    seeds: list[list[int]]

    def rows(self, group: int, nodes: Array) -> Tensor:
        """Return the embedding rows of some nodes, shape (len(nodes), d); a copy of these rows only."""
        which = self.groups[group][0]
        rows: Any = self.embeddings[which][nodes]
        scale = self.scales[which]
        if sp.issparse(rows):
            rows = rows.toarray()
        return torch.from_numpy(rows if scale is None else (rows - scale[0]) * scale[1])

    def nodes(self, group: int, part: str) -> Array:
        """Return the nodes of "train", "val" or "test"."""
        return self.splits[self.groups[group][1]][part]


def _plan(
    embeddings: list[Array], splits: list[dict[str, Array]], seeds: int | Sequence[int], standardize: bool
) -> _Batch:
    """Pair embeddings, splits and seeds run by run; runs that share embedding and split form one group."""
    given = [seeds] if isinstance(seeds, int) else [int(seed) for seed in seeds]
    lengths = {"z": len(embeddings), "splits": len(splits), "seeds": len(given)}
    n_runs = max(lengths.values())
    if any(length not in (1, n_runs) for length in lengths.values()):
        counts = ", ".join(f"{length} {name}" for name, length in lengths.items())
        raise ValueError(f"z, splits and seeds are paired run by run: give 1 or {n_runs} of each, got {counts}")
    if isinstance(seeds, int):
        given = [given[0] + run for run in range(n_runs)]
    elif len(given) == 1:
        given *= n_runs
    if standardize and sp.issparse(embeddings[0]):
        raise ValueError("sparse rows cannot be standardized, they would become dense; give z.toarray()")
    scales = [_scale(z) if standardize else None for z in embeddings]
    if len(embeddings) == len(splits) == 1:
        return _Batch(embeddings, scales, splits, [(0, 0)], [given])
    groups = [(min(run, len(embeddings) - 1), min(run, len(splits) - 1)) for run in range(n_runs)]
    return _Batch(embeddings, scales, splits, groups, [[seed] for seed in given])


def _adam(
    batch: _Batch, labels: Array, device: torch.device, decays: list[float], settings: dict[str, Any]
) -> ProbeResult:
    n_groups, n_classes = len(batch.groups), int(labels.max()) + 1
    predictions: list[Array] = []
    areas: list[float] = []
    tests: list[Array] = []
    val_accuracies: list[float] = []
    chosen: list[int] = []
    step = _chunk(batch)
    for start in range(0, n_groups, step):
        groups = range(start, min(start + step, n_groups))
        train, val = (
            _gather(batch, groups, [batch.nodes(g, part) for g in groups], labels, device) for part in ("train", "val")
        )
        weights = torch.stack([_initial(batch, g, n_classes) for g in groups]).to(train[0])
        fitted = softmax.best([softmax.train(weights, *train, *val, weight_decay=x, **settings) for x in decays])
        val_accuracies += fitted.val_accuracies.flatten().tolist()
        chosen += fitted.epochs.flatten().tolist()
        for g, best in zip(groups, fitted.weights, strict=True):
            found, ranked = _tested(batch, g, labels, best)
            predictions += found
            areas += ranked
            tests += [labels[batch.nodes(g, "test")]] * len(best)
    return score(predictions, tests, n_classes, val_accuracies=val_accuracies, epochs=chosen, roc_auc=areas)


def _chunk(batch: _Batch) -> int:
    """Return how many groups train together: all, unless their rows would fall out of the processor's cache."""
    d = batch.embeddings[0].shape[1]
    row_bytes = d * batch.embeddings[0].dtype.itemsize
    longest = max(len(batch.nodes(g, "train")) for g in range(len(batch.groups)))
    return max(CHUNK_BYTES // (longest * row_bytes), 2)


def _gather(
    batch: _Batch, groups: Iterable[int], nodes: list[Array], labels: Array, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Collect rows (g, n, d + 1) and classes (g, n) of some nodes of each group, padded to the longest."""
    rows = [softmax.with_ones(batch.rows(g, own).to(device)) for g, own in zip(groups, nodes, strict=True)]
    classes = [torch.from_numpy(labels[own]).to(device) for own in nodes]
    return pad_sequence(rows, batch_first=True), pad_sequence(classes, batch_first=True, padding_value=-1)


def _initial(batch: _Batch, group: int, n_classes: int) -> Tensor:
    """Draw the initial weights of the runs of a group, shape (s, c, d + 1)."""
    dim = batch.embeddings[0].shape[1]
    return torch.stack([softmax.initial_weights(seed, n_classes, dim) for seed in batch.seeds[group]])


def _predict(batch: _Batch, group: int, nodes: Array, weights: Tensor) -> list[Array]:
    """Predict the classes of some nodes under weights (s, c, d + 1): s arrays with one class each."""
    return list(
        np.concatenate([logits.argmax(1).cpu().numpy() for logits in _logits(batch, group, nodes, weights)], axis=1)
    )


def _tested(batch: _Batch, group: int, labels: Array, weights: Tensor) -> tuple[list[Array], list[float]]:
    """Return for each of the weights (s, c, d + 1) the predicted classes of the test nodes, and the area under its ROC curve."""
    nodes = batch.nodes(group, "test")
    if weights.shape[1] > MAX_RANKED:
        return _predict(batch, group, nodes, weights), []
    found = [torch.softmax(logits.double(), 1).cpu().numpy() for logits in _logits(batch, group, nodes, weights)]
    each = np.concatenate(found, axis=2)
    return list(each.argmax(1)), [roc_auc(one, labels[nodes]) for one in each]


def _logits(batch: _Batch, group: int, nodes: Array, weights: Tensor) -> Iterator[Tensor]:
    """Yield the logits (s, c, m) of some nodes, a block of them at a time."""
    step = min(BLOCK_ROWS, max(BLOCK_BYTES // max(weights[..., 0].nbytes, 4 * weights.shape[2]), 1))
    for start in range(0, len(nodes), step):
        rows = softmax.with_ones(batch.rows(group, nodes[start : start + step]).to(weights.device))
        yield weights.to(rows.dtype) @ rows.T


def _logistic(batch: _Batch, labels: Array, tolerance: float) -> ProbeResult:
    n_classes, d = int(labels.max()) + 1, batch.embeddings[0].shape[1]
    first = _same_problems(batch)
    solved: dict[int, tuple[Tensor, float, float]] = {}
    notes: list[str] = []
    longest = max(len(batch.nodes(g, "train")) for g in first)
    group_bytes = 8 * n_classes * (longest + len(C_GRID) * d)
    step = min(_chunk(batch), max(BLOCK_BYTES // group_bytes, 1))
    different = sorted(set(first))
    for start in range(0, len(different), step):
        solved |= _solve(batch, different[start : start + step], labels, tolerance, notes)
    tested = [_tested(batch, g, labels, solved[one][0]) for g, one in enumerate(first)]
    return score(
        [predictions[0] for predictions, _ in tested],
        [labels[batch.nodes(g, "test")] for g in range(len(first))],
        n_classes,
        val_accuracies=[solved[one][1] for one in first],
        roc_auc=[area for _, areas in tested for area in areas],
        strengths=[solved[one][2] for one in first],
        notes=list(dict.fromkeys(notes)),
    )


def _same_problems(batch: _Batch) -> list[int]:
    """Return for each group the first one with the same embedding and the same nodes to train and to choose on."""
    first: dict[Any, int] = {}
    return [
        first.setdefault(
            (id(batch.embeddings[which]), *(batch.nodes(g, part).tobytes() for part in ("train", "val"))), g
        )
        for g, (which, _) in enumerate(batch.groups)
    ]


def _solve(
    batch: _Batch, groups: list[int], labels: Array, tolerance: float, notes: list[str]
) -> dict[int, tuple[Tensor, float, float]]:
    """Return for each group its weights (1, c, d + 1) at the best strength, their validation accuracy and the strength."""
    d = batch.embeddings[0].shape[1]
    if sp.issparse(batch.embeddings[0]) and min(d, *(len(batch.nodes(g, "train")) for g in groups)) > MAX_DENSE:
        return {g: _solve_sparse(batch, g, labels) for g in groups}
    drawn = [_draw(batch, g, "train", labels, notes) for g in groups]
    met = np.unique(np.concatenate([labels[nodes] for nodes in drawn]))  # no other class is ever predicted
    place = np.zeros(int(labels.max()) + 1, np.int64)
    place[met] = np.arange(len(met))
    rows, y = _gather(batch, groups, drawn, place[labels], torch.device("cpu"))
    weights, done = logistic.fit(rows[..., :-1], y, len(met), C_GRID, tolerance=tolerance)
    if not done.all():
        size = f"{len(met):,} classes x {rows.shape[1]:,} training nodes x {d:,} columns"
        notes.append(f"logistic regression was stopped before its solution: {size} are too much work")
    found = {}
    for i, g in enumerate(groups):
        nodes = _draw(batch, g, "val", labels, notes)
        scores = [float(np.mean(met[guess] == labels[nodes])) for guess in _predict(batch, g, nodes, weights[i])]
        best = int(np.argmax(scores))
        full = weights.new_zeros(1, len(place), d + 1)
        full[..., -1] = -torch.inf
        full[0, met] = weights[i, best]
        found[g] = full, scores[best], C_GRID[best]
    return found


def _solve_sparse(batch: _Batch, group: int, labels: Array) -> tuple[Tensor, float, float]:
    """Solve the same problem for many sparse rows of many columns by scikit-learn, at fewer strengths, until none is better."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    rows, train, val = batch.embeddings[batch.groups[group][0]], batch.nodes(group, "train"), batch.nodes(group, "val")
    model = LogisticRegression(warm_start=True, max_iter=SPARSE_STEPS)
    best: tuple[Tensor, float, float] | None = None
    for strength in SPARSE_GRID:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.set_params(C=strength).fit(rows[train], labels[train])
        accuracy = float(model.score(rows[val], labels[val]))
        if best is not None and accuracy <= best[1]:
            return best
        found = np.hstack([model.coef_, model.intercept_[:, None]])
        weights = torch.zeros(1, int(labels.max()) + 1, rows.shape[1] + 1, dtype=torch.float64)
        weights[..., -1] = -torch.inf
        weights[0, model.classes_] = torch.from_numpy(
            found if len(found) > 1 else np.vstack([-found, found]) / 2
        ).double()
        best = weights, accuracy, strength
    assert best is not None
    return best


def _draw(batch: _Batch, group: int, part: str, labels: Array, notes: list[str]) -> Array:
    """Return the nodes of a part, or as many of them drawn at random as can be worked on, and note it."""
    nodes = batch.nodes(group, part)
    room = MAX_CELLS // batch.embeddings[0].shape[1]  # for nodes x classes; of m nodes there are at most m
    most = max(room // len(np.unique(labels[nodes])), math.isqrt(room))
    if len(nodes) <= most:
        return nodes
    kind = "training" if part == "train" else "validation"
    notes.append(f"logistic regression saw {most:,} {kind} nodes drawn at random of {len(nodes):,}, to bound the work")
    return np.sort(np.random.default_rng(0).choice(nodes, most, replace=False))


def _scale(z: Array) -> tuple[Array, Array]:
    """Return column means and inverse standard deviations over all nodes; a constant column becomes 0."""
    std = z.std(0)
    return z.mean(0), np.divide(1, std, out=np.zeros_like(std), where=std > 0)
