"""Scores of embeddings: arrays in, numbers out. Nothing here knows how an embedding was made."""
