"""Node embeddings without labels by CCA-SSG (Zhang et al., NeurIPS 2021)."""

from ccassg.datasets import Dataset, Split, load_dataset
from ccassg.estimator import CCASSG
from ccassg.evaluate import linear_probe
from ccassg.graph import Graph, as_graph
from ccassg.io.structural import structural_features
from ccassg.nodes import NodeEmbedder

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
