from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from threadpoolctl import threadpool_limits

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


def test_principal_components_keep_distances_and_their_side(rng):
    z = rng.normal(size=(40, 6))
    found = derive.principal_components(z)
    assert found.dtype == np.float32
    assert np.abs(found).max() == 1
    assert (np.diff(found.var(0)) < 0).all()
    between, kept = pdist(z), pdist(found)
    np.testing.assert_allclose(kept / kept[0], between / between[0], rtol=1e-4)
    np.testing.assert_allclose(derive.principal_components(z + 5), found, atol=1e-5)
    assert derive.principal_components(z, 2).shape == (40, 2)


def test_map_keeps_groups_together_and_repeats(rng):
    z, which = groups(rng)
    positions, how = derive.map_2d(derive.principal_components(z), n_iterations=300)
    assert positions.shape == (90, 2)
    assert how.startswith(f"t-SNE of the first {min(50, z.shape[1])} principal components")
    assert same_group_share(positions, which) > 0.95
    again, _ = derive.map_2d(derive.principal_components(z), n_iterations=300)
    np.testing.assert_array_equal(positions, again)


def test_map_of_many_nodes_places_the_rest_among_landmarks(rng):
    z, which = groups(rng, n=240)
    positions, how = derive.map_2d(derive.principal_components(z), n_landmarks=90, n_iterations=300)
    assert "90 nodes" in how
    assert same_group_share(positions, which) > 0.95


def same_group_share(positions, which):
    distance = np.linalg.norm(positions[:, None] - positions[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    return (which[distance.argmin(axis=1)] == which).mean()


@pytest.mark.parametrize("z", [np.ones((30, 4)), np.arange(3.0)[:, None], np.ones((1, 5)), np.eye(9)[:, :1] * 1e30])
def test_map_and_clusters_of_degenerate_embeddings_are_finite(z):
    reduced = derive.principal_components(z.astype(np.float32))
    positions, _ = derive.map_2d(reduced, n_iterations=250)
    assert positions.shape == (len(z), 2)
    assert np.isfinite(positions).all()
    found = derive.clusters(reduced, 4)
    assert found.shape == (len(z),)
    assert found.max() < min(4, len(np.unique(z, axis=0)))


def test_clusters_find_the_groups_largest_first(rng):
    z, which = groups(rng, n=90)
    z, which = z[:70], which[:70]
    keep = (which != 2) | (np.arange(70) < 30)  # group 2 becomes the smallest
    found = derive.clusters(derive.principal_components(z[keep]), 3)
    pairs = set(zip(which[keep].tolist(), found.tolist(), strict=True))
    assert len(pairs) == 3
    assert (2, 2) in pairs
