"""Scores of embeddings: arrays in, numbers out. Nothing here knows how an embedding was made."""

from ccassg.evaluate.checks import Split
from ccassg.evaluate.clustering import ClusterResult, cluster_score, knn_score
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.scores import ProbeResult

__all__ = ["ClusterResult", "ProbeResult", "Split", "cluster_score", "knn_score", "linear_probe"]
