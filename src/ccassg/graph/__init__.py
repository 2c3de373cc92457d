"""What goes in: a graph with its features, labels and names, checked once, at the door."""

from ccassg.graph.checks import Array, Features
from ccassg.graph.convert import as_graph
from ccassg.graph.dataset import Card, Dataset, Split
from ccassg.graph.feature_space import FeatureSpace
from ccassg.graph.graph import Graph

__all__ = ["Array", "Card", "Dataset", "FeatureSpace", "Features", "Graph", "Split", "as_graph"]
