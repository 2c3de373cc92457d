"""Scores of embeddings: arrays in, numbers out. Nothing here knows how an embedding was made."""

from ccassg.evaluate.probe import ProbeResult, linear_probe

__all__ = ["ProbeResult", "linear_probe"]
