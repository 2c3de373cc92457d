"""NodeEmbedder: a graph embedding as the first step of a scikit-learn pipeline whose samples are nodes."""

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from ccassg.graph import Dataset, as_graph
from ccassg.graph.checks import shown
from ccassg.io.graphs import open_object


class NodeEmbedder(TransformerMixin, BaseEstimator):
    """Turn node numbers into embeddings, so that cross-validation splits nodes and leaves the graph whole.

    Fitting trains the estimator on the whole graph, without labels, whatever nodes it is called with; the classifier behind
    it sees the labels of its own nodes only. That is the transductive setting of the paper.

    Parameters
    ----------
    estimator : object with ``fit`` and ``transform``
        Such as `ccassg.CCASSG` or an embedder of `ccassg.systems`; it is cloned, not changed.
    graph : Graph, Dataset or anything else `as_graph` or `read_graph` takes, or a pair of edges and features
        Shared, not copied, by clones.

    Attributes
    ----------
    estimator_ : object
        The trained estimator.
    embedding_ : float32 array of shape (n_nodes, d)
        Of all nodes.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> import ccassg
    >>> data = ccassg.load_dataset("cora")
    >>> embedder = ccassg.NodeEmbedder(ccassg.CCASSG(encoder="gcn", embedding_dim=8, n_steps=2), data)
    >>> model = make_pipeline(embedder, LogisticRegression())
    >>> train, test = data.split().train, data.split().test
    >>> model.fit(train, data.y[train]).predict(test).shape
    (1000,)
    """

    def __init__(self, estimator: Any, graph: Any) -> None:
        self.estimator = estimator
        self.graph = graph

    def fit(self, X: Any, y: Any = None) -> Self:
        """Train the estimator on the whole graph.

        Parameters
        ----------
        X : int array of shape (n_samples,) or (n_samples, 1)
            Node numbers: rows of the graph, from 0. They are checked and otherwise not used.
        y
            Ignored.
        """
        if (
            isinstance(self.estimator, type)
            or not hasattr(self.estimator, "fit")
            or not hasattr(self.estimator, "transform")
        ):
            raise TypeError(f"estimator must have fit and transform, got {shown(self.estimator)}")
        # A dataset goes on as it is: its names of the features are for the estimator to keep.
        data = open_object(self.graph)
        graph = as_graph(data)
        _node_numbers(X, graph.n_nodes)
        data = data if isinstance(data, Dataset) else graph
        self.estimator_ = clone(self.estimator).fit(data)
        self.embedding_ = self.estimator_.transform(data)
        return self

    def transform(self, X: Any) -> npt.NDArray[np.float32]:
        """Return the embeddings of the nodes with these numbers, shape (n_samples, d)."""
        check_is_fitted(self)
        return self.embedding_[_node_numbers(X, len(self.embedding_))]

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[Any]:
        """Return the names of the dimensions, those of the estimator where it has any."""
        check_is_fitted(self)
        if hasattr(self.estimator_, "get_feature_names_out"):
            return self.estimator_.get_feature_names_out()
        return np.array([f"e{i}" for i in range(self.embedding_.shape[1])], dtype=object)

    def __sklearn_clone__(self) -> Self:
        # scikit-learn would copy the graph for every fold and every point of a grid.
        return type(self)(clone(self.estimator), self.graph)


def _node_numbers(X: Any, n_nodes: int) -> npt.NDArray[np.int64]:
    numbers = np.asarray(X)
    if numbers.ndim == 2 and numbers.shape[1] == 1:
        numbers = numbers[:, 0]
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise ValueError(
            f"X must be node numbers, integers of shape (n,) or (n, 1), got {numbers.dtype} of shape {numbers.shape}; "
            f"positions of your ids: np.flatnonzero(np.isin(graph.node_ids, ids))"
        )
    if len(numbers) == 0:
        raise ValueError(f"X must name at least one node, got shape {np.shape(X)}")
    if numbers.min() < 0 or numbers.max() >= n_nodes:
        wrong = numbers.min() if numbers.min() < 0 else numbers.max()
        raise ValueError(f"X must be in 0 .. {n_nodes - 1}, the nodes of the graph, got {wrong}")
    return numbers.astype(np.int64)
