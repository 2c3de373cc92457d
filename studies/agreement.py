"""How well two descriptions of the same nodes agree: unbiased, centred kernel alignment.

Kornblith et al., 2019; Song et al., 2012.
"""

from typing import Any

import numpy as np

from ccassg.graph import Array


def agreement(a: Any, b: Any) -> float:
    """Return the centred kernel alignment of two descriptions (n, p) and (n, q) of the same nodes, over pairs of different nodes.

    About 0 for independent ones whatever their width, 1 for equal ones up to rotation, shift and scale.
    """
    a, b = (np.asarray(x, dtype=np.float64) for x in (a, b))
    a, b = a - a.mean(0), b - b.mean(0)
    scale = _dependence(a, a) * _dependence(b, b)
    return float(_dependence(a, b) / np.sqrt(scale)) if scale > 0 else 0.0


def _dependence(a: Array, b: Array) -> float:
    """Unbiased Hilbert-Schmidt independence criterion of linear kernels without their diagonals, up to a factor of n alone.

    sum K_ij L_ij + (sum K)(sum L) / ((n-1)(n-2)) - 2 / (n-2) sum_i K_i. L_i., from p x q products, never n x n ones.
    """
    n = len(a)
    own = [(x * x).sum(1) for x in (a, b)]
    rows = [x @ x.sum(0) - lengths for x, lengths in zip((a, b), own, strict=True)]
    total = float(np.square(a.T @ b).sum() - own[0] @ own[1])
    return total + rows[0].sum() * rows[1].sum() / ((n - 1) * (n - 2)) - 2 / (n - 2) * float(rows[0] @ rows[1])
