"""A multi-layer perceptron on the features alone: what the edges are worth to a supervised method."""

from torch import nn

from ccassg.systems.classifier import NetworkClassifier, SparseLinear, TwoLayers


class MLP(NetworkClassifier):
    """Two linear layers with a ReLU between; the edges are not read."""

    def _module(self) -> nn.Module:
        first = SparseLinear(nn.Linear(self.n_features_in_, self.hidden_dim))
        second = nn.Linear(self.hidden_dim, len(self.classes_))
        return TwoLayers(first, second, nn.ReLU(), self.dropout_rate)
