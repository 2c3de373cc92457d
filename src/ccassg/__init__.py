"""Node embeddings without labels by CCA-SSG (Zhang et al., NeurIPS 2021)."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ccassg.datasets import load_dataset
    from ccassg.estimator import CCASSG
    from ccassg.evaluate import linear_probe
    from ccassg.graph import Dataset, Graph, Split, as_graph
    from ccassg.graph.structural import structural_features
    from ccassg.node_embedder import NodeEmbedder

__version__ = "0.1.0"
__all__ = [
    "CCASSG",
    "Dataset",
    "Graph",
    "NodeEmbedder",
    "Split",
    "as_graph",
    "linear_probe",
    "load_dataset",
    "structural_features",
]

# Loaded at first use: a Tab at the prompt or a --help must not wait for PyTorch.
_PLACES = {
    "CCASSG": "ccassg.estimator",
    "Dataset": "ccassg.graph",
    "Graph": "ccassg.graph",
    "NodeEmbedder": "ccassg.node_embedder",
    "Split": "ccassg.graph",
    "as_graph": "ccassg.graph",
    "linear_probe": "ccassg.evaluate",
    "load_dataset": "ccassg.datasets",
    "structural_features": "ccassg.graph.structural",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
