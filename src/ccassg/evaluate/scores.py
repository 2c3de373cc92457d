"""Scores of classifiers on the test nodes."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Array: TypeAlias = npt.NDArray[Any]


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
    roc_auc : list of float
        Area under the ROC curve on the test nodes, of two classes; of more the mean over the classes that are there, each
        against the rest. Chance is 0.5, however many nodes each class has. Empty for more than a hundred classes.
    epochs : list of int
        The chosen epoch, counted from 1; empty with ``solver="logistic"``.
    strengths : list of float
        The chosen inverse regularisation C of ``solver="logistic"``; empty otherwise.
    confusion : int64 array of shape (n_classes, n_classes)
        Test nodes by true class (rows) and predicted class (columns), summed over the runs.
    predictions : list of int64 arrays
        Predicted classes, in the order of the run's test nodes.
    notes : list of str
        What was left out because it is too much work.
    """

    accuracies: list[float]
    val_accuracies: list[float]
    macro_f1: list[float]
    roc_auc: list[float]
    epochs: list[int]
    strengths: list[float]
    confusion: Array
    predictions: list[Array] = field(repr=False)
    notes: list[str] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """Mean test accuracy over the runs."""
        return float(np.mean(self.accuracies))

    @property
    def std(self) -> float:
        """Standard deviation of the test accuracy over the runs (n - 1 in the denominator; 0 for one run)."""
        return float(np.std(self.accuracies, ddof=1)) if len(self.accuracies) > 1 else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return everything but the predictions, in types that JSON knows."""
        return {
            "accuracy": self.accuracy,
            "std": self.std,
            "n_runs": len(self.accuracies),
            "accuracies": self.accuracies,
            "val_accuracies": self.val_accuracies,
            "macro_f1": self.macro_f1,
            "roc_auc": self.roc_auc,
            "epochs": self.epochs,
            "strengths": self.strengths,
            "confusion": self.confusion.tolist(),
            "notes": self.notes,
        }


def score(
    predictions: list[Array],
    tests: list[Array],
    n_classes: int,
    *,
    val_accuracies: list[float],
    roc_auc: list[float] | None = None,
    epochs: list[int] | None = None,
    strengths: list[float] | None = None,
    notes: list[str] | None = None,
) -> ProbeResult:
    """Compare predicted with true classes, run by run, and add what was chosen on validation."""
    confusion = np.zeros((n_classes, n_classes), np.int64)  # one at a time: of thousands of classes each is large
    f1 = []
    for true, predicted in zip(tests, predictions, strict=True):
        counts = np.bincount(true * n_classes + predicted, minlength=n_classes**2).reshape(n_classes, n_classes)
        f1.append(macro_f1(counts))
        confusion += counts
    return ProbeResult(
        accuracies=[float(np.mean(true == predicted)) for true, predicted in zip(tests, predictions, strict=True)],
        macro_f1=f1,
        roc_auc=roc_auc or [],
        confusion=confusion,
        predictions=predictions,
        val_accuracies=val_accuracies,
        epochs=epochs or [],
        strengths=strengths or [],
        notes=notes or [],
    )


def roc_auc(probabilities: Array, true: Array) -> float:
    """Return the area under the ROC curve of probabilities (c, m) of the classes of m nodes; of several classes the mean.

    The chance that a node of the class is given more of it than a node of another one, ties counting half; 0.5 where all
    nodes are of one class.
    """
    areas = []
    for c in np.unique(true) if len(probabilities) > 2 else [1]:
        of_class = true == c
        m = int(of_class.sum())
        if 0 < m < len(true):
            ranks = rankdata(probabilities[c])[of_class].sum()
            areas.append((ranks - m * (m + 1) / 2) / (m * (len(true) - m)))
    return float(np.mean(areas)) if areas else 0.5


def macro_f1(counts: Array) -> float:
    """Return the mean F1 over the classes that occur among true or predicted ones, from a confusion matrix."""
    total = counts.sum(0) + counts.sum(1)
    met = total > 0
    return float(np.mean(2 * np.diag(counts)[met] / total[met]))
