"""The runs of a linear probe: paired, trained in one batch by Adam or solved as a convex problem, and tested once.

`ccassg.evaluate.probe` is the door, and says what both are.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from ccassg.evaluate import logistic, softmax
from ccassg.evaluate.scores import ProbeResult, roc_auc, score
from ccassg.graph.checks import Array

# Inverse regularisation strengths tried by the "logistic" solver, strongest first: ties go to the simpler model.
C_GRID = tuple(float(10.0 ** (k / 2)) for k in range(-6, 7))
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
# Most training nodes x classes x columns of the convex problem, of which one gradient on one core takes about half a second.
MAX_CELLS = 10_000_000_000


@dataclass(frozen=True)
class Batch:
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


def plan(
    embeddings: list[Array], splits: list[dict[str, Array]], seeds: int | Sequence[int], standardize: bool
) -> Batch:
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
        return Batch(embeddings, scales, splits, [(0, 0)], [given])
    groups = [(min(run, len(embeddings) - 1), min(run, len(splits) - 1)) for run in range(n_runs)]
    return Batch(embeddings, scales, splits, groups, [[seed] for seed in given])


def by_adam(
    batch: Batch, labels: Array, device: torch.device, decays: list[float], settings: dict[str, Any]
) -> ProbeResult:
    """Train a linear layer for every run, with the weight decay that does best on validation; test it once."""
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


def _chunk(batch: Batch) -> int:
    """Return how many groups train together: all, unless their rows would fall out of the processor's cache."""
    d = batch.embeddings[0].shape[1]
    row_bytes = d * batch.embeddings[0].dtype.itemsize
    longest = max(len(batch.nodes(g, "train")) for g in range(len(batch.groups)))
    return max(CHUNK_BYTES // (longest * row_bytes), 2)


def _gather(
    batch: Batch, groups: Iterable[int], nodes: list[Array], labels: Array, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Collect rows (g, n, d + 1) and classes (g, n) of some nodes of each group, padded to the longest."""
    rows = [softmax.with_ones(batch.rows(g, own).to(device)) for g, own in zip(groups, nodes, strict=True)]
    classes = [torch.from_numpy(labels[own]).to(device) for own in nodes]
    return pad_sequence(rows, batch_first=True), pad_sequence(classes, batch_first=True, padding_value=-1)


def _initial(batch: Batch, group: int, n_classes: int) -> Tensor:
    """Draw the initial weights of the runs of a group, shape (s, c, d + 1)."""
    dim = batch.embeddings[0].shape[1]
    return torch.stack([softmax.initial_weights(seed, n_classes, dim) for seed in batch.seeds[group]])


def _predict(batch: Batch, group: int, nodes: Array, weights: Tensor) -> list[Array]:
    """Predict the classes of some nodes under weights (s, c, d + 1): s arrays with one class each."""
    return list(
        np.concatenate([logits.argmax(1).cpu().numpy() for logits in _logits(batch, group, nodes, weights)], axis=1)
    )


def _tested(batch: Batch, group: int, labels: Array, weights: Tensor) -> tuple[list[Array], list[float]]:
    """Return for each of the weights (s, c, d + 1) the predicted classes of the test nodes, and the area under its ROC curve."""
    nodes = batch.nodes(group, "test")
    if weights.shape[1] > MAX_RANKED:
        return _predict(batch, group, nodes, weights), []
    found = [torch.softmax(logits.double(), 1).cpu().numpy() for logits in _logits(batch, group, nodes, weights)]
    each = np.concatenate(found, axis=2)
    return list(each.argmax(1)), [roc_auc(one, labels[nodes]) for one in each]


def _logits(batch: Batch, group: int, nodes: Array, weights: Tensor) -> Iterator[Tensor]:
    """Yield the logits (s, c, m) of some nodes, a block of them at a time."""
    step = min(BLOCK_ROWS, max(BLOCK_BYTES // max(weights[..., 0].nbytes, 4 * weights.shape[2]), 1))
    embedding: Any = batch.embeddings[batch.groups[group][0]]
    flat = weights.flatten(0, 1).cpu().numpy() if sp.issparse(embedding) else None
    for start in range(0, len(nodes), step):
        some = nodes[start : start + step]
        if flat is not None:  # never dense
            found = embedding[some] @ flat[:, :-1].T + flat[:, -1]
            yield torch.from_numpy(found.T.reshape(*weights.shape[:2], -1)).to(weights)
        else:
            rows = softmax.with_ones(batch.rows(group, some).to(weights.device))
            yield weights.to(rows.dtype) @ rows.T


def by_logistic(batch: Batch, labels: Array, tolerance: float) -> ProbeResult:
    """Solve the logistic regression of every run at the strength that does best on validation; test it once."""
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


def _same_problems(batch: Batch) -> list[int]:
    """Return for each group the first one with the same embedding and the same nodes to train and to choose on."""
    first: dict[Any, int] = {}
    return [
        first.setdefault(
            (id(batch.embeddings[which]), *(batch.nodes(g, part).tobytes() for part in ("train", "val"))), g
        )
        for g, (which, _) in enumerate(batch.groups)
    ]


def _solve(
    batch: Batch, groups: list[int], labels: Array, tolerance: float, notes: list[str]
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


def _solve_sparse(batch: Batch, group: int, labels: Array) -> tuple[Tensor, float, float]:
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


def _draw(batch: Batch, group: int, part: str, labels: Array, notes: list[str]) -> Array:
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
