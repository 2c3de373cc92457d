"""Node embeddings without labels by CCA-SSG (Zhang et al., NeurIPS 2021).

This is the whole public door. Documented besides it are `ccassg.systems`, the systems that the paper compares with, and
`ccassg.evaluate`, further scores; every other module is internal and may change.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ccassg import waiting

if TYPE_CHECKING:
    from ccassg.datasets import load_dataset
    from ccassg.estimator import CCASSG
    from ccassg.evaluate.neighbours import most_similar
    from ccassg.evaluate.probe import linear_probe
    from ccassg.graph import Dataset, Graph, Split, as_graph
    from ccassg.graph.structural import structural_features
    from ccassg.io.embeddings import read_embeddings, write_embeddings
    from ccassg.io.graphs import read_graph
    from ccassg.io.store import open_store
    from ccassg.io.storewriter import write_store
    from ccassg.node_embedder import NodeEmbedder
    from ccassg.report import write_report

waiting.set_policy()  # before PyTorch is loaded
__version__ = "0.2.0"
__all__ = [
    "CCASSG",
    "Dataset",
    "Graph",
    "NodeEmbedder",
    "Split",
    "as_graph",
    "linear_probe",
    "load_dataset",
    "most_similar",
    "open_store",
    "read_embeddings",
    "read_graph",
    "structural_features",
    "write_embeddings",
    "write_report",
    "write_store",
]

# Loaded at first use: a Tab at the prompt or a --help must not wait for PyTorch.
_PLACES = {
    "CCASSG": "ccassg.estimator",
    "Dataset": "ccassg.graph",
    "Graph": "ccassg.graph",
    "NodeEmbedder": "ccassg.node_embedder",
    "Split": "ccassg.graph",
    "as_graph": "ccassg.graph",
    "linear_probe": "ccassg.evaluate.probe",
    "load_dataset": "ccassg.datasets",
    "most_similar": "ccassg.evaluate.neighbours",
    "open_store": "ccassg.io.store",
    "read_embeddings": "ccassg.io.embeddings",
    "read_graph": "ccassg.io.graphs",
    "structural_features": "ccassg.graph.structural",
    "write_embeddings": "ccassg.io.embeddings",
    "write_report": "ccassg.report",
    "write_store": "ccassg.io.storewriter",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_PLACES[name]), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
