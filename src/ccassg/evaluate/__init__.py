"""Scores of embeddings: arrays in, numbers out. Nothing here knows how an embedding was made."""

from ccassg.evaluate.checks import Split
from ccassg.evaluate.clustering import ClusterResult, cluster_score, knn_score
from ccassg.evaluate.diagnostics import (
    alignment,
    correlation_matrix,
    diagnose,
    effective_rank,
    n_constant_columns,
    off_diagonal_correlation,
    spectrum,
    uniformity,
)
from ccassg.evaluate.information import GaussianInformation, gaussian_information
from ccassg.evaluate.probe import linear_probe
from ccassg.evaluate.scores import ProbeResult

__all__ = [
    "ClusterResult",
    "GaussianInformation",
    "ProbeResult",
    "Split",
    "alignment",
    "cluster_score",
    "correlation_matrix",
    "diagnose",
    "effective_rank",
    "gaussian_information",
    "knn_score",
    "linear_probe",
    "n_constant_columns",
    "off_diagonal_correlation",
    "spectrum",
    "uniformity",
]
