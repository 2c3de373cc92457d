"""Node embeddings without labels by CCA-SSG (Zhang et al., NeurIPS 2021)."""

from ccassg.graph import Graph, as_graph

__version__ = "0.1.0"
__all__ = ["Graph", "as_graph"]
