"""The information quantities of the paper's analysis, estimated from repeated views under its Gaussian assumption."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from ccassg.evaluate.checks import check_embedding, check_labels
from ccassg.evaluate.diagnostics import correlation, moments, row_blocks
from ccassg.graph import Array
from ccassg.graph.checks import check_number, shown


def gaussian_information(
    views: Iterable[Any], y: Any = None, *, beta: float = 0.5, ridge: float = 1e-3
) -> dict[str, float]:
    r"""Estimate H(Z_S), H(Z_S | X), I(Z_S, X), the information bottlenecks and, given classes T, H(Z_S | T) and I(Z_S, T).

    With P(Z_S) = N(mu, Sigma) and P(Z_S | X) = N(mu_X, Sigma_X) (the paper's Assumption 1),

    .. math::
        H = \frac{d}{2}(\ln 2\pi + 1) + \frac{1}{2}\ln|\Sigma + \epsilon I|

    where for H(Z_S), Sigma is the covariance over all nodes and views, and for H(Z_S | X) the covariance over the views
    of one node (k - 1 in the denominator), averaged over nodes. For H(Z_S | T) it is that of the nodes and views of one class,
    averaged over classes in proportion to their nodes. Each view is standardised first as in the loss, each
    column to mean 0 and variance 1 (the loss's 1/sqrt(n) is left out, so that widths and sizes compare).

    Conventions. (1) epsilon is `ridge`: the entropies are those of the embedding plus independent noise of that
    variance, beside columns of variance 1. It keeps the determinants finite where dimensions collapse or views agree, and
    bounds I(Z_S, X) by d/2 ln(1 + 1/epsilon). (2) A few views cannot tell a d x d covariance of each node, nor a small
    class its own, so one for all nodes is used, and one for all classes; by concavity of the logarithm of the determinant the
    true means H(Z_S | X) and H(Z_S | T) are not larger, and I(Z_S, X) and I(Z_S, T) not smaller. (3) H(Z_S | S) = 0, since Z_S is a function of S: exact for discrete variables, and how the
    paper arrives at IB_ssl = (1 - beta) H(Z_S) - H(Z_S | X). For densities it drops a constant, so it is the change of
    IB_ssl in training that means something, not its value. (4) Sampling may make I(Z_S, X) slightly negative where
    views have nothing in common. (5) I(Z_S, T) is at most H(T), about 2 nats of seven classes. A mixture of Gaussians is none,
    so the estimate may be above that: it too is read by its change.

    Parameters
    ----------
    views : array of shape (k, n, d), or iterable of k arrays of shape (n, d)
        Embeddings of k >= 2 augmented views of the same n >= 2 nodes by one encoder. From an iterable they are taken one
        at a time, so k views need the memory of two.
    y : int array of shape (n,), optional
        The class of every node; those of -1, unknown, count as one more class.
    beta : float
        In (0, 1], as in the paper's Theorem 2 and Corollary 1.
    ridge : float
        Positive.

    Returns
    -------
    dict
        In nats: ``entropy`` H(Z_S); ``conditional_entropy`` H(Z_S | X), which is also I(Z_S, S | X), since Z_S is a
        function of the view S; ``mutual_information`` I(Z_S, X) = H(Z_S) - H(Z_S | X); ``bottleneck``
        IB_ssl = I(X, Z_S) - beta I(S, Z_S) = (1 - beta) H(Z_S) - H(Z_S | X); ``multi_view_loss``
        L_MIB = I(Z_S, S | X) - beta I(X, Z_S) = (1 + beta) H(Z_S | X) - beta H(Z_S), where the proof of Corollary 1 has
        1 - beta by a slip of the sign. With ``y`` also ``class_entropy`` H(Z_S | T) and ``class_information``
        I(Z_S, T) = H(Z_S) - H(Z_S | T). The same with ``_diagonal`` at the end
        take all correlations between dimensions as 0, as in the paper's proof of Proposition 1. ``within_variance`` is the
        trace of the covariance behind H(Z_S | X); with two views it is half the invariance term ||Z_A - Z_B||_F^2 of the
        loss.
    """
    if not 0 < check_number("beta", beta) <= 1:
        raise ValueError(f"beta must be in (0, 1], got {shown(beta)}")
    if not check_number("ridge", ridge) > 0:
        raise ValueError(f"ridge must be positive, got {shown(ridge)}")
    covariances = _covariances(views, y)
    found = {"within_variance": float(np.trace(covariances[1]))}
    for ending, variances in (("", np.linalg.eigvalsh), ("_diagonal", np.diag)):
        h, h_given_x, *of_classes = (_entropy(variances(covariance), ridge) for covariance in covariances)
        found |= {
            f"entropy{ending}": h,
            f"conditional_entropy{ending}": h_given_x,
            f"mutual_information{ending}": h - h_given_x,
            f"bottleneck{ending}": (1 - beta) * h - h_given_x,
            f"multi_view_loss{ending}": (1 + beta) * h_given_x - beta * h,
        }
        for h_given_t in of_classes:
            found |= {f"class_entropy{ending}": h_given_t, f"class_information{ending}": h - h_given_t}
    return found


def _covariances(views: Iterable[Any], y: Any) -> list[Array]:
    """Return the covariance over all nodes and views, the mean one over the views of a node, and that within classes if given."""
    pooled: Array | None = None
    k = 0
    for view in views:
        z = check_embedding(view, f"views[{k}]")
        columns = moments(z)
        if pooled is None:
            if len(z) < 2:
                raise ValueError(f"views need at least 2 nodes, got shape {z.shape}")
            pooled, sums = np.zeros((z.shape[1], z.shape[1])), np.zeros(z.shape)
        elif z.shape != sums.shape:
            raise ValueError(f"all views must have one shape, got {sums.shape} and, at position {k}, {z.shape}")
        pooled += correlation(columns)  # the covariance of columns that are standardised
        for rows in row_blocks(len(z)):
            sums[rows] += (z[rows] - columns.mean) * columns.scale
        k += 1
    if pooled is None or k < 2:
        raise ValueError(f"views must hold at least 2 views of the nodes, shape (k, n, d), got {k}")
    between = sums.T @ sums / (k * len(sums))
    found = [pooled / k, (pooled - between) / (k - 1)]
    if y is not None:
        known, classes = np.unique(check_labels(y, len(sums)), return_inverse=True)
        members = np.eye(len(known))[:, classes]
        of_classes = members @ sums / (k * np.sqrt(members.sum(1, keepdims=True) * len(sums)))
        found.append(pooled / k - of_classes.T @ of_classes)
    return found


def _entropy(variances: Array, ridge: float) -> float:
    """Return the entropy of a Gaussian with these variances along its axes, each raised by the ridge."""
    return float(0.5 * np.log(2 * np.pi * np.e * (np.maximum(variances, 0) + ridge)).sum())
