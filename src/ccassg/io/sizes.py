"""How large the values of columns are: whether some would drown the others, and whether one scale may help that."""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ccassg.graph import Array, scaling

SCALES_APART = 10


class Spread(NamedTuple):
    """The columns of the largest and the smallest values, and their sizes."""

    large: str
    small: str
    largest: float
    smallest: float


def spread_of(sizes: dict[str, float]) -> Spread | None:
    """Return how far sizes are apart, None if they are alike; columns of zeros do not count."""
    known = {name: size for name, size in sizes.items() if size > 0}
    large, small = max(known, key=known.__getitem__, default=""), min(known, key=known.__getitem__, default="")
    if not known or known[large] <= SCALES_APART * known[small]:
        return None
    return Spread(large, small, known[large], known[small])


def spread_of_matrix(matrix: Array) -> Spread | None:
    """Return how far the sizes of a dense matrix's columns are apart, counted from 1; None if they are to stay as they are."""
    sizes = scaling.column_sizes(matrix)
    spread = spread_of({f"column {i}": float(size) for i, size in enumerate(sizes, 1)})
    return None if spread is None or _is_prepared(matrix) else spread


def says_scaled(source: Any, spread: Spread) -> str:
    """Say that columns were scaled without being asked for, why, and how to keep them."""
    times = float(f"{spread.largest / spread.smallest:.2g}")
    return (
        f"{source}: columns differ in size up to {f'{times:,.0f}' if times < 1e7 else f'{times:g}'} times ({spread.large!r}, "
        f"{spread.small!r}): those of numbers were brought to mean 0 and deviation 1; `scale=False` keeps them as they are"
    )


def sizes_of_list(name: str, block: Array, made: list[str]) -> dict[str, float]:
    """Return the size of each entry of a vector; one for all where differences between them are meant."""
    if _is_prepared(block):
        return {name: float(scaling.column_sizes(block.reshape(-1, 1))[0])}
    return dict(zip(made, scaling.column_sizes(block).tolist(), strict=True))


def mostly_zeros(blocks: list[Any]) -> bool:
    """Whether columns are many and at least three quarters of them zeros: sparse saves memory, one scale would lose it."""
    width = sum(block.shape[1] for block in blocks)
    n_stored = sum(block.nnz if sp.issparse(block) else np.count_nonzero(block) for block in blocks)
    return width > 64 and n_stored < 0.25 * width * blocks[0].shape[0]


def _is_prepared(matrix: Array) -> bool:
    """Whether a matrix is of a kind that one scale would spoil: words counted, or principal components."""
    return mostly_zeros([matrix]) or scaling.are_components(matrix)
