"""Embed a graph layer by layer and block by block: no more than a block of activations is in memory beside the result.

What a layer leaves to the next lies in memory if it is small and in a temporary file otherwise; features, edges and the result
may lie on disk as well. The numbers are those of `ccassg.train.embed`, to float32 rounding.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ccassg.encoders import Encoder
from ccassg.graph import Array, Graph
from ccassg.io.atomic import atomic_path
from ccassg.sampling import rows_of_features

BLOCK = 65_536
# Activations up to this size stay in memory.
SPILL_FROM = 2**28

Source = Callable[[int, int], Tensor]


@torch.no_grad()
def embed_blocks(
    encoder: Encoder, graph: Graph, out: str | os.PathLike[str] | Array | None = None, *, block: int = BLOCK
) -> Array:
    """Embeddings of the graph as it is.

    Parameters
    ----------
    encoder : Encoder
    graph : Graph
        With features; its arrays may lie in a store.
    out : path or float32 array of shape (n, d), optional
        Where to put the result: a ``.npy`` file to make, which then comes back memory-mapped, or an array.
    block : int
        Nodes at a time.

    Returns
    -------
    float32 array of shape (n, d)
    """
    if block < 1:
        raise ValueError(f"block must be at least 1, got {block}")
    shape = (graph.n_nodes, encoder.dims[-1])
    encoder.eval()
    if out is None:
        out = np.empty(shape, np.float32)
    if isinstance(out, np.ndarray):
        if out.shape != shape or out.dtype != np.float32:
            raise ValueError(f"out must be float32 of shape {shape}, got {out.dtype} of shape {out.shape}")
        _embed_into(encoder, graph, out, block, None)
        return out
    target = Path(out)
    with atomic_path(target) as temporary:
        mapped = np.lib.format.open_memmap(temporary, "w+", np.float32, shape)
        _embed_into(encoder, graph, mapped, block, target.absolute().parent)
        mapped.flush()
        del mapped
    return np.load(target, mmap_mode="r+")


def _embed_into(encoder: Encoder, graph: Graph, out: Array, block: int, folder: Path | None) -> None:
    """Layer after layer, the last one into ``out``."""
    h: Any = rows_of_features(graph)
    aggregate = _Aggregation(graph) if encoder.propagate else None
    last = len(encoder.weights) - 1
    with contextlib.ExitStack() as files:

        def room(width: int) -> Array:
            return files.enter_context(_scratch((graph.n_nodes, width), folder))

        for i in range(last + 1):
            width_in, width_out = encoder.weights[i].shape
            result = out if i == last else room(width_out)
            if aggregate is None:
                _fill(
                    result, block, lambda a, b, i=i, h=h: _finish(encoder, i, _rows(h, a, b) @ _weight(encoder, i)), h
                )
            elif isinstance(h, Tensor) and width_in <= width_out:
                # The narrower side of the weight is the cheaper one to aggregate on.
                _fill(
                    result,
                    block,
                    lambda a, b, i=i, h=h: _finish(encoder, i, aggregate(h, a, b) @ _weight(encoder, i)),
                    h,
                )
            else:
                product = room(width_out)
                _fill(product, block, lambda a, b, i=i, h=h: _rows(h, a, b) @ _weight(encoder, i), h)
                y = torch.from_numpy(product)
                _fill(result, block, lambda a, b, i=i, y=y: _finish(encoder, i, aggregate(y, a, b)), y)
            h = torch.from_numpy(result)
