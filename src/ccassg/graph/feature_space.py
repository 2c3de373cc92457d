"""FeatureSpace: what a model must know about its features, so that new nodes mean the same by them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from ccassg.graph.checks import Array, Features, mapped, shown
from ccassg.graph.dataset import Dataset
from ccassg.graph.graph import Graph
from ccassg.graph.scaling import Scaling, check_scaling, scale_columns, unscale_columns
from ccassg.graph.structural import structural_names

# 1 + log of the number of texts is far below.
MAX_IDF = 1000


@dataclass(frozen=True)
class FeatureSpace:
    """The features that a model was trained on."""

    n_features: int
    names: tuple[str, ...] | None = None  # None for a matrix without names
    scaling: Scaling | None = None
    edges: str | None = None  # the fingerprint of the edges that the features were made from, if they were
    idf: tuple[float, ...] | None = None  # of each feature that is a word of a text, 0 for others; None without text

    @classmethod
    def of(cls, data: Dataset) -> Self:
        """Return the space of a dataset's features."""
        edges = edge_fingerprint(data.graph) if data.structural else None
        return cls(data.graph.n_features, data.feature_names, data.scaling, edges, data.idf)

    @property
    def structural(self) -> bool:
        """Whether the features were made from the edges, for want of others."""
        return self.names is not None and self.names == structural_names(self.n_features)

    def fit_to(self, data: Dataset, model: str = "the model") -> Graph:
        """Return the graph with its columns in the order and on the scale of training; ValueError if that cannot be.

        Features that lie in a file stay as they are or are refused: they may be larger than memory.
        """
        graph, scaling = data.graph, data.scaling
        features: Any = graph.features
        if (
            data.structural
            and not self.structural
            and (self.names or self.scaling or graph.n_features != self.n_features)
        ):
            raise ValueError(
                f"the graph has no features, but {model} was trained with {self.n_features}; give those of its nodes "
                f"(`features`)"
            )
        is_named = self.names is not None and data.feature_names is not None and not data.structural
        if is_named:
            self._require_same_words(data)
        order = self._order_among(data) if is_named else None
        if order is None:
            self.require_width(graph, model)
        else:
            features = _with_zeros(features)[:, order]
            # The column of zeros at the end is on no scale.
            padded = None if scaling is None else Scaling((*scaling.means, 0.0), (*scaling.deviations, 1.0))
            scaling = _among(padded, order)
        if scaling != self.scaling:
            features = self._rescaled(features, scaling, is_named)
        if self.structural and self.edges != edge_fingerprint(graph):
            raise ValueError(
                f"{model} was trained on features made from another graph's edges, whose eigenvectors do not carry over; fit a "
                f"model on this graph, or give features (`features`)"
            )
        return graph if features is graph.features else graph.with_features(features)

    def require_width(self, graph: Graph, model: str) -> None:
        """Refuse more or fewer columns than those of training."""
        if graph.n_features != self.n_features:
            # scikit-learn's sentence.
            raise ValueError(
                f"X has {graph.n_features} features, but {model} is expecting {self.n_features} features as input"
            )

    def as_dict(self) -> dict[str, Any]:
        """Return the same in JSON's types."""
        return {
            "n_features": self.n_features,
            "names": None if self.names is None else list(self.names),
            "scaling": None if self.scaling is None else self.scaling._asdict(),
            "edges": self.edges,
            "idf": None if self.idf is None else list(self.idf),
        }

    @classmethod
    def from_dict(cls, value: Any) -> Self:
        """Read what `as_dict` gave, from a file that anyone may have written; ValueError unless it fits together."""
        n_features, names, edges = (value[key] for key in ("n_features", "names", "edges"))
        if type(n_features) is not int or n_features < 0:
            raise ValueError(f"n_features must be a count, got {str(n_features)[:40]!r}")
        if names is not None:
            if not isinstance(names, list) or not all(map(_is_text, names)):
                raise ValueError("feature names must be a list of text")
            if len(names) != n_features:
                raise ValueError(f"there must be {n_features:,} feature names, one per feature, got {len(names):,}")
        if not isinstance(edges, str | None):
            raise ValueError("the fingerprint of the edges must be text")
        scaling = check_scaling(value["scaling"], n_features)
        idf = check_idf(value.get("idf"), names)
        return cls(n_features, None if names is None else tuple(names), scaling, edges, idf)

    @classmethod
    def like(cls, given: Any) -> Self | None:
        """Return the space of a model, a dataset or names of features; None for None."""
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, Dataset):
            return cls.of(given)
        known = getattr(given, "features_", None)
        if isinstance(known, cls):
            return known
        names = tuple(given) if isinstance(given, (tuple, list, np.ndarray)) else ()
        if not names or not all(map(_is_text, names)):
            raise ValueError(f"like must be a fitted model, a dataset or the names of its features, got {shown(given)}")
        return cls(len(names), names)

    def _require_same_words(self, data: Dataset) -> None:
        """Refuse text that was made features of by words of its own."""
        known = dict(zip(data.feature_names or (), data.idf or (), strict=False))
        for name, idf in zip(self.names or (), self.idf or (), strict=False):
            if idf and known.get(name) != idf:
                raise ValueError(
                    "the text of the nodes was not read with the words of the model; give the files to the model, or read "
                    "them with read_graph(..., like=model)"
                )

    def _order_among(self, data: Dataset) -> list[int] | None:
        """Return where the columns of training stand among the new ones; None if there is nothing to change.

        A category that no new node has stands behind the last column, where zeros are.
        """
        wanted, found = self.names or (), data.feature_names or ()
        if wanted == found:
            return None
        if mapped(data.graph.features) is not None:
            i = next((i for i, pair in enumerate(zip(wanted, found, strict=False)) if pair[0] != pair[1]), None)
            how = f"{len(found)} instead of {len(wanted)}"
            if i is not None:
                how = f"column {i + 1} is {shown(found[i])}, not {shown(wanted[i])}"
            raise ValueError(
                f"the features of the graph are not those of the model: {how}; convert a table with the model's columns"
            )
        place = {name: i for i, name in enumerate(found)}
        place |= {name: len(found) for name in wanted if name not in place and _has_categories_of(name, found)}
        lacking = [shown(name) for name in wanted if name not in place]
        if lacking:
            rest = f" and {len(lacking) - 3:,} more" if len(lacking) > 3 else ""
            raise ValueError(
                f"the graph lacks {len(lacking):,} of the {len(wanted):,} features used in training, first "
                f"{', '.join(lacking[:3])}{rest}; give the new nodes the same columns, and read them with "
                f"read_graph(..., like=model)"
            )
        return [place[name] for name in wanted]

    def _rescaled(self, features: Any, scaling: Scaling | None, is_named: bool) -> Features:
        """Return features on the scale of training, from none or from their own; ValueError for those that cannot be."""
        if mapped(features) is not None or (is_named and self._has_scaled_categories(scaling)):
            raise ValueError(
                "the features of the graph are not scaled as those of the model; embed the files it was made from"
            )
        if not sp.issparse(features):
            copy: Features = features.copy()
            _rescale(copy, scaling, self.scaling)
            return copy
        if self.scaling is not None and not is_named:
            raise ValueError(
                "the matrix of features is sparse, but the features used in training were dense and scaled; save it as .npy"
            )
        return _rescale_some(features, scaling, self.scaling)

    def _has_scaled_categories(self, scaling: Scaling | None) -> bool:
        """Whether categories were scaled, which training left alone: numbers that no table gave."""
        if scaling is None:
            return False
        now, was = (
            _is_scaled(scaling),
            np.zeros(self.n_features, bool) if self.scaling is None else _is_scaled(self.scaling),
        )
        return any(now[i] and not was[i] and "=" in name for i, name in enumerate(self.names or ()))


def check_idf(value: Any, names: Any) -> tuple[float, ...] | None:
    """Return the idf of features with names, or None, from a file that anyone may have written; ValueError unless it is one."""
    if value is None:
        return None
    if not isinstance(value, list) or not all(type(idf) in (int, float) and 0 <= idf <= MAX_IDF for idf in value):
        raise ValueError(f"idf must be a list of numbers from 0 to {MAX_IDF}")
    if names is None or len(names) != len(value) or len(set(names)) < len(names):
        raise ValueError("idf must go with as many names of features, all different")
    return tuple(map(float, value))


def edge_fingerprint(graph: Graph) -> str:
    """Return a hash of the edges and their weights, so that a graph is known again, whatever the types of its arrays."""
    digest = hashlib.sha256(np.asarray(graph.indptr, np.int64).tobytes())
    digest.update(np.asarray(graph.indices, np.int64).tobytes())
    if graph.weights is not None:
        digest.update(b"weights" + np.asarray(graph.weights, np.float32).tobytes())
    return digest.hexdigest()


def _is_text(name: Any) -> bool:
    """Whether a value from JSON is text, without halves of pairs of escapes, which no terminal or file takes."""
    try:
        return isinstance(name, str) and name.encode() is not None
    except UnicodeEncodeError:
        return False


def _has_categories_of(name: str, found: tuple[str, ...]) -> bool:
    """Whether columns were made of the same table column as ``colour=red``, though of other values of it."""
    column, mark, _ = name.partition("=")  # what shares a later mark shares the first
    return bool(mark) and any(other.startswith(column + mark) for other in found)


def _with_zeros(features: Any) -> Any:
    """Return the columns and one of zeros behind them."""
    if sp.issparse(features):
        return sp.hstack([features, sp.csr_array((features.shape[0], 1), dtype=features.dtype)], format="csr")
    return np.hstack([features, np.zeros((len(features), 1), features.dtype)])


def _is_scaled(scaling: Scaling) -> Array:
    return (np.array(scaling.means) != 0) | (np.array(scaling.deviations) != 1)


def _rescale(matrix: Array, before: Scaling | None, after: Scaling | None) -> None:
    """Bring the columns of an array from one scale to another, in place; None is that of the files."""
    if before is not None:
        unscale_columns(matrix, np.array(before.means), np.array(before.deviations))
    if after is not None:
        scale_columns(matrix, np.array(after.means), np.array(after.deviations))


def _rescale_some(features: sp.csr_array, before: Scaling | None, after: Scaling | None) -> sp.csr_array:
    """Rescale the numbers among sparse columns; categories and words stay as they are, and sparse."""
    is_number = np.any([_is_scaled(scaling) for scaling in (before, after) if scaling is not None], axis=0)
    chosen, rest = np.flatnonzero(is_number), np.flatnonzero(~is_number)
    numbers = features[:, chosen].toarray()
    _rescale(numbers, _among(before, chosen), _among(after, chosen))
    back = np.argsort(np.concatenate([rest, chosen]))
    scaled = sp.csr_array(sp.hstack([features[:, rest], sp.csr_array(numbers)], format="csr")[:, back])
    scaled.sort_indices()
    return scaled


def _among(scaling: Scaling | None, columns: Iterable[int]) -> Scaling | None:
    """Return the scaling of some columns, in this order."""
    return None if scaling is None else Scaling(*(tuple(part[i] for i in columns) for part in scaling))
