"""What speaks against an embedding, in plain sentences: the one judgement of `ccassg fit`, `ccassg evaluate` and the page."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ccassg.evaluate.diagnostics import warnings_about

# An area under the ROC curve, or an R^2, this little above chance helps nobody, however sure it is.
LITTLE = 0.02


def verdict(
    found: Mapping[str, Any],
    *,
    graph: Mapping[str, Any] | None = None,
    history: Mapping[str, Sequence[float]] | None = None,
    settings: Mapping[str, Any] | None = None,
    scaled: bool = False,
    probe: Mapping[str, Any] | None = None,
) -> list[str]:
    """Say what about an embedding, its graph, its training or its scores speaks against it; nothing if nothing does.

    Parameters
    ----------
    found : dict
        As of `diagnose`.
    graph : dict, optional
        As of `Graph.counts`.
    history : dict of str to list of float, optional
        Of the training; "loss" is looked at.
    settings : dict, optional
        Of the run; None where nothing is known of it.
    scaled : bool
        Whether the features were brought to one scale.
    probe : dict, optional
        As of `ProbeResult.as_dict` or `ridge_probe`, perhaps with the ``raw_features`` of `probe_labels`.
    """
    said = _of_scores(probe or {})
    said += warnings_about(found, settings)
    said += _of_graph(graph or {}, found["n_dims"], (settings or {}).get("encoder") == "canonical")
    return said + _of_loss(history or {}, settings or {}, scaled)


def _of_scores(probe: Mapping[str, Any]) -> list[str]:
    if "r2" in probe:
        if probe["r2"] > LITTLE:
            return []
        return [
            f"The embedding knows no more of the target than its mean does: R^2 of the linear probe is {probe['r2']:.2f}."
        ]
    counts = np.asarray(probe.get("confusion", []), dtype=np.float64)
    if counts.ndim != 2 or counts.sum() == 0 or "accuracy" not in probe:
        return []
    tested = counts.sum(1)[counts.sum(1) > 0] / max(int(probe.get("n_runs", 1)), 1)
    n, accuracy, largest = tested.sum(), float(probe["accuracy"]), float(tested.max() / tested.sum())
    said = f"its linear probe is right in {accuracy:.1%}, and always naming the largest class in {largest:.1%}"
    error = math.sqrt(largest * (1 - largest) / n)
    areas = probe.get("roc_auc")
    area = float(np.mean(areas)) if areas else None
    if len(tested) < 2:
        return []
    if area is not None and area < 0.5 + max(LITTLE, 2 * _area_error(tested)):
        return [f"The embedding knows no more of the labels than chance: {said} (ROC AUC {area:.2f}, by chance 0.50)."]
    if accuracy <= largest + 2 * error:
        better = "" if area is None else f" Read macro F1 and ROC AUC ({area:.2f}, by chance 0.50) instead of accuracy."
        return [f"The embedding predicts the labels no better than a constant: {said}.{better}"]
    raw = probe.get("raw_features")
    if raw and float(np.mean(raw)) > accuracy + max(0.01, 2 * error):
        return [
            f"The raw features alone predict the labels better: {float(np.mean(raw)):.1%} against {accuracy:.1%} of the "
            "embedding; its edges or its settings cost more than they give."
        ]
    return []


def _area_error(tested: Any) -> float:
    """Return the standard error of the mean area by chance, for so many test nodes of each class."""
    n, k = tested.sum(), len(tested)
    variance = float(np.mean((n + 1) / (12 * tested * (n - tested))))
    return math.sqrt(variance if k == 2 else variance / k)  # the areas of two classes are one


def _of_graph(graph: Mapping[str, Any], dim: int, joined: bool) -> list[str]:
    """Look at the counts of a graph; the parts of a ``joined`` encoder describe the same features several times."""
    said = []
    nodes, isolated, features = (graph.get(key) for key in ("nodes", "isolated", "features"))
    if nodes and isolated and isolated >= 0.1 * nodes:
        said.append(
            f"{_count(isolated, 'node')} of {nodes:,} ({isolated / nodes:.0%}) "
            f"{'has' if isolated == 1 else 'have'} no edge: their embedding rests on their own features alone."
        )
    if features and features < dim and not joined:
        said.append(
            f"The graph has {_count(features, 'feature')}, fewer than the {dim} columns of the embedding: "
            f"they can hardly all be independent. Try a width of at most {features}."
        )
    return said


def _of_loss(history: Mapping[str, Sequence[float]], settings: Mapping[str, Any], scaled: bool) -> list[str]:
    loss = np.asarray(history.get("loss", []), dtype=np.float64)
    rate = settings.get("learning_rate")
    slower = "lower the learning rate" if rate is None else f"lower learning_rate (it was {rate:g})"
    if loss.size and not np.isfinite(loss).all():
        step = int(np.flatnonzero(~np.isfinite(loss))[0]) + 1
        return [
            f"The loss was not a finite number at step {step}: the training diverged. {slower[0].upper()}{slower[1:]}."
        ]
    if loss.size < 2:
        return []
    few = max(1, loss.size // 10)  # single steps are noisy: every one has views of its own
    first, last = float(loss[:few].mean()), float(loss[-few:].mean())
    if last <= first:
        return []
    advice = f"{slower[0].upper()}{slower[1:]}." if scaled else f"Bring the features to one scale, or {slower}."
    return [f"The loss ended above its start ({first:.4g} to {last:.4g}): the training did not converge. {advice}"]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
