"""GRACE: agree on a node's two views, against all other nodes (Zhu et al., Deep Graph Contrastive Representation Learning,
2020).
"""

from __future__ import annotations

from ccassg.systems.contrast import ContrastiveEmbedder


class GRACE(ContrastiveEmbedder):
    """The contrast of `ContrastiveEmbedder` on views where every edge and column is dropped with the same probability."""
