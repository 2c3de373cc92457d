from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from ccassg.evaluate import diagnostics
from ccassg.report import derive


@pytest.fixture(autouse=True)
def one_thread():
    """As `build_payload` does it: waiting threads make t-SNE slow on a busy machine."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def groups(rng, n=90, d=12, k=3, spread=0.3):
    """K well separated clouds; returns the rows and their group."""
    centres = rng.normal(size=(k, d)) * 5
    which = np.arange(n) % k
    return (centres[which] + spread * rng.normal(size=(n, d))).astype(np.float32), which


def test_spectrum_of_hand_made_matrices():
    square = np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]], dtype=np.float32)
    found = derive.spectrum(square)
    assert found.variance == pytest.approx([0.5, 0.5])
    assert found.effective_rank == pytest.approx(2)
    line = derive.spectrum(square[:, :1] * [[1, 2, 3]])
    assert line.variance == pytest.approx([1, 0, 0])
    assert line.effective_rank == pytest.approx(1)
    # Singular values 3 and 1: p = (3/4, 1/4).
    uneven = derive.spectrum(square * [[3, 1]])
    assert uneven.effective_rank == pytest.approx(np.exp(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25))))


def test_spectrum_of_equal_rows_is_zero_even_far_from_the_origin():
    found = derive.spectrum(np.full((50, 4), 1234.5, dtype=np.float32))
    assert found.effective_rank == 0
    assert not found.variance.any()


@pytest.mark.parametrize("shape", [(60, 8), (6, 10), (2, 3), (1, 4)])
def test_the_page_and_the_diagnostics_say_the_same(rng, shape):
    z = rng.normal(size=shape).astype(np.float32) @ rng.normal(size=(shape[1], shape[1])).astype(np.float32)
    z[:, 0] = 7
    assert derive.spectrum(z).effective_rank == pytest.approx(diagnostics.effective_rank(z))
    columns = derive.correlation(z)
    assert columns.mean_absolute == pytest.approx(diagnostics.off_diagonal_correlation(z))
    assert columns.n_constant == diagnostics.n_constant_columns(z)
    assert columns.matrix == pytest.approx(diagnostics.correlation_matrix(z))


def test_correlation_shows_evenly_spaced_columns_but_counts_all(rng):
    z = rng.normal(size=(40, 9))
    z[:, 4] = 3
    found = derive.correlation(z, n_shown=3)
    assert found.columns.tolist() == [0, 4, 8]
    assert found.n_constant == 1
    assert found.matrix[0, 2] == pytest.approx(np.corrcoef(z[:, 0], z[:, 8])[0, 1])
    assert not found.matrix[1].any()
    full = np.abs(np.corrcoef(np.delete(z, 4, axis=1).T))
    assert found.mean_absolute == pytest.approx((full.sum() - 8) / 56)


def test_map_keeps_groups_together_and_repeats(rng):
    z, which = groups(rng)
    positions, how = derive.map_2d(z, n_iterations=300, random_state=3)
    assert positions.shape == (90, 2)
    assert how.startswith(f"t-SNE of the first {min(50, z.shape[1])} principal components")
    assert same_group_share(positions, which) > 0.95
    again, _ = derive.map_2d(z, n_iterations=300, random_state=3)
    np.testing.assert_array_equal(positions, again)


def test_map_of_many_nodes_places_the_rest_among_landmarks(rng):
    z, which = groups(rng, n=240)
    positions, how = derive.map_2d(z, n_landmarks=90, n_iterations=300)
    assert "90 nodes" in how
    assert same_group_share(positions, which) > 0.95


def same_group_share(positions, which):
    distance = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return (which[distance.argmin(axis=1)] == which).mean()


@pytest.mark.parametrize("z", [np.ones((30, 4)), np.arange(3.0)[:, None], np.ones((1, 5)), np.eye(9)[:, :1] * 1e30])
def test_map_and_clusters_of_degenerate_embeddings_are_finite(z):
    positions, _ = derive.map_2d(z.astype(np.float32), n_iterations=250)
    assert positions.shape == (len(z), 2)
    assert np.isfinite(positions).all()
    assert len(derive.clusters(z.astype(np.float32), 4)) == len(z)


def test_clusters_find_the_groups_largest_first(rng):
    z, which = groups(rng, n=90)
    z, which = z[:70], which[:70]
    keep = (which != 2) | (np.arange(70) < 30)  # group 2 becomes the smallest
    found = derive.clusters(z[keep], 3)
    pairs = set(zip(which[keep].tolist(), found.tolist(), strict=True))
    assert len(pairs) == 3
    assert (2, 2) in pairs


def warnings_of(z, graph=None, history=None, **options):
    return derive.warnings(z, derive.spectrum(z), derive.correlation(z), graph or {}, history or {}, **options)


def test_a_good_embedding_has_no_warnings(rng):
    z = rng.normal(size=(200, 16)).astype(np.float32)
    graph = {"nodes": 200, "edges": 900, "isolated": 5, "features": 100}
    assert warnings_of(z, graph, {"loss": [3.0, 2.0, 1.0]}) == []


def test_each_warning_appears_for_its_cause(rng):
    z = rng.normal(size=(200, 32)).astype(np.float32)
    line = z[:, :1] @ np.ones((1, 32), np.float32)
    constant = z.copy()
    constant[:, 3] = 5
    cases = [
        (warnings_of(np.ones((20, 4), np.float32)), "complete collapse"),
        (warnings_of(line), "behave like 1.0 independent"),
        (warnings_of(line), "correlate by 1.00"),
        (warnings_of(constant), "1 column of 32 is constant"),
        (warnings_of(z[:10]), "32 columns for 10 nodes"),
        (warnings_of(z, {"nodes": 200, "isolated": 50}), "50 nodes of 200 (25%) have no edge"),
        (warnings_of(z, {"features": 7}), "7 features, fewer than the 32"),
        (warnings_of(z, history={"loss": [1.0, float("nan")]}), "not a finite number at step 2"),
        (warnings_of(z, history={"loss": [1.0, 2.0]}), "ended above its start (1 to 2)"),
    ]
    for found, expected in cases:
        assert any(expected in sentence for sentence in found), (expected, found)


def test_what_is_as_it_should_be_gives_no_warning(rng):
    z = rng.normal(size=(200, 32)).astype(np.float32)
    assert warnings_of(z, {"features": 12}, joined=True) == []
    loss = np.linspace(5, 0, 50) + rng.normal(size=50)
    loss[0], loss[-1] = 0.5, 1.5  # one step above another says nothing
    assert warnings_of(z, history={"loss": loss.tolist()}) == []
