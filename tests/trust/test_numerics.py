"""Values at the edge of what arithmetic can hold: the result is finite, or the input is refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from ccassg import CCASSG, as_graph

N, F = 24, 6
X = np.random.default_rng(0).normal(size=(N, F))
RING = np.stack([np.arange(N), (np.arange(N) + 1) % N])
STAR = np.stack([np.zeros(N - 1, int), np.arange(1, N)])
ISLANDS = np.array([[0, 1, 4], [1, 2, 5]])
BASE = {"encoder": "gcn", "hidden_dim": 8, "embedding_dim": 4, "n_steps": 3, "n_layers": 2, "random_state": 0}


def column(value):
    x = X.copy()
    x[:, 0] = value
    return x


FEATURES = {
    "a column without variance": column(3.0),
    "an empty column": column(0.0),
    "all rows equal": np.tile(X[:1], (N, 1)),
    "one row differs": np.vstack([np.ones((N - 1, F)), np.zeros((1, F))]),
    "scales far apart": X * np.logspace(-15, 15, F),
    "huge": X * 1e30,
    "close to the largest float32": np.sign(X) * 3e38,
    "tiny": X * 1e-30,
    "denormal": np.sign(X) * 1e-44,
    "float64": X.astype(np.float64),
    "integers": (X * 100).astype(np.int64),
    "wider than long": np.random.default_rng(1).normal(size=(N, 300)),
}
GRAPHS = {"ring": RING, "star": STAR, "islands": ISLANDS, "self-loops only": np.stack([np.arange(N)] * 2)}
NEARLY_ONE = float(np.nextafter(1.0, 0.0))


def finite_or_refused(graph, **changes):
    """Fit; True if the result is finite, False if it was refused in a sentence. NaN is neither."""
    try:
        base = {"random_state": 0} if changes.get("encoder") == "canonical" else BASE
        model = CCASSG(**(base | changes))
        z = model.fit_transform(graph() if callable(graph) else graph)
    except (ValueError, ArithmeticError):
        return False
    assert np.isfinite(z).all()
    assert np.isfinite(model.history_["loss"]).all()
    return True


@pytest.mark.parametrize("encoder", ["gcn", "mlp", "canonical"])
@pytest.mark.parametrize("shape", GRAPHS)
@pytest.mark.parametrize("case", FEATURES)
def test_hard_features_on_hard_graphs(case, shape, encoder):
    huge = case in ("huge", "close to the largest float32") and encoder != "canonical"
    finite = finite_or_refused(lambda: as_graph(GRAPHS[shape], FEATURES[case]), encoder=encoder)
    nothing_to_learn = case == "all rows equal" and encoder == "canonical"
    assert finite or huge or nothing_to_learn or case == "denormal"


def test_values_beyond_float32_are_refused():
    for value in (np.inf, -np.inf, np.nan, 1e39):
        with pytest.raises(ValueError, match=r"finite|float32|large"):
            as_graph(RING, column(value))


@pytest.mark.parametrize("scale", [1e-44, 1e-40, 1e-35])
def test_features_whose_squares_vanish_are_refused(scale):
    for x in (X * scale, sp.csr_array(np.abs(X) * scale)):
        with pytest.raises(
            ValueError, match=r"features are too small for 32-bit numbers, at most .*; multiply them by 1?.e\+"
        ):
            as_graph(RING, x)
    model = CCASSG(random_state=0)
    assert np.abs(model.fit_transform(as_graph(RING, X * 3e-30))).max() > 0.1


@pytest.mark.parametrize("name", ["edge_drop_rate", "feature_mask_rate"])
@pytest.mark.parametrize("rate", [0.0, 0.999, NEARLY_ONE, 5e-324])
def test_rates_at_their_limits(name, rate):
    assert finite_or_refused(as_graph(RING, X), **{name: rate})


@pytest.mark.parametrize("name", ["edge_drop_rate", "feature_mask_rate"])
@pytest.mark.parametrize("rate", [1.0, -1e-9, float("nan"), float("inf")])
def test_rates_beyond_their_limits(name, rate):
    with pytest.raises(ValueError, match=name):
        CCASSG(**BASE | {name: rate}).fit(as_graph(RING, X))


@pytest.mark.parametrize("setting", [{"decorrelation": 0.0}, {"learning_rate": 0.0}, {"weight_decay": 0.0},
                                     {"decorrelation": 1e30}, {"weight_decay": 1e30}])  # fmt: skip
def test_settings_at_their_limits(setting):
    assert finite_or_refused(as_graph(RING, X), **setting)


@pytest.mark.parametrize("encoder", ["gcn", "mlp", "canonical"])
def test_two_nodes_and_embeddings_wider_than_the_graph(encoder):
    two = as_graph(np.array([[0], [1]]), np.array([[1.0, 2.0], [3.0, 1.0]]))
    assert finite_or_refused(two, encoder=encoder)
    assert finite_or_refused(two, encoder=encoder, embedding_dim=64)
    assert finite_or_refused(as_graph(RING, X), encoder=encoder, embedding_dim=4 * N)


def test_edges_of_weight_zero_and_of_extreme_weight():
    rng = np.random.default_rng(2)
    for weights in (np.zeros(N), np.where(rng.random(N) < 0.5, 0.0, 1.0), np.full(N, 1e-30), np.full(N, 1e30)):
        adjacency = sp.coo_array((weights, (RING[0], RING[1])), shape=(N, N)).tocsr()
        assert finite_or_refused(lambda a=adjacency: as_graph(a, X))
