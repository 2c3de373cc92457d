"""The seven graphs of the paper, and synthetic ones: `load_dataset`, `stochastic_block_graph`."""

from ccassg.datasets.cards import CARDS, DATASETS
from ccassg.datasets.load import load_dataset
from ccassg.datasets.synthetic import stochastic_block_graph

__all__ = ["CARDS", "DATASETS", "load_dataset", "stochastic_block_graph"]
