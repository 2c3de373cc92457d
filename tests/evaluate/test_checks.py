from types import SimpleNamespace

import numpy as np
import pytest
import torch

from ccassg.evaluate.checks import check_embedding, check_embeddings, check_labels, check_split
from ccassg.graph import Split

Z = np.arange(6, dtype=np.float32).reshape(3, 2)
Y = np.array([0, 1, -1, 1, 0])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_embedding_that_is_as_it_should_be_is_not_copied(dtype):
    z = Z.astype(dtype)
    assert check_embedding(z) is z


def test_tensors_integers_and_lists_become_arrays():
    for given in (torch.from_numpy(Z).requires_grad_(), Z.astype(int), Z.tolist()):
        found = check_embedding(given)
        assert found.dtype == (np.float64 if isinstance(given, list) else np.float32)
        np.testing.assert_array_equal(found, Z)


@pytest.mark.parametrize(
    ("z", "message"),
    [
        (np.ones(3), r"z must have shape \(nodes, dimensions\), both at least 1, got \(3,\)"),
        (np.ones((3, 0)), r"got \(3, 0\)"),
        ([["a"]], "must be numeric, got dtype <U1"),
        ([[1, np.nan], [2, 2], [np.inf, -np.inf]], "NaN or infinite values in 2 rows, first in row 0"),
    ],
)
def test_an_embedding_that_cannot_be_scored_is_refused(z, message):
    with pytest.raises(ValueError, match=message):
        check_embedding(z)


def test_finite_values_whose_sum_is_not_are_no_reason_to_refuse():
    z = np.full((2, 2), 1e308)
    assert check_embedding(z) is z


@pytest.mark.parametrize("z", [np.stack([Z, Z]), [Z, Z], (torch.from_numpy(Z), torch.from_numpy(Z)), [Z.tolist()] * 2])
def test_several_embeddings(z):
    found = check_embeddings(z)
    assert len(found) == 2
    np.testing.assert_array_equal(found, [Z, Z])


def test_one_embedding_is_a_list_of_one():
    for z in (Z, Z.tolist(), torch.from_numpy(Z)):
        (found,) = check_embeddings(z)
        np.testing.assert_array_equal(found, Z)


@pytest.mark.parametrize(
    ("z", "message"),
    [
        (np.ones(3), r"shape \(n, d\) or \(r, n, d\), got \(3,\)"),
        ([], "z is empty"),
        ([Z, Z[:2]], r"got \(3, 2\) float32 and, at position 1, \(2, 2\) float32"),
        ([Z, Z.astype(float)], "at position 1, .* float64"),
    ],
)
def test_embeddings_that_do_not_fit_together(z, message):
    with pytest.raises(ValueError, match=message):
        check_embeddings(z)


def test_labels():
    assert check_labels(torch.from_numpy(Y), 5).dtype == np.int64
    for y, message in [
        (Y[:4], r"shape \(4,\), but the embedding has 5 rows"),
        (Y / 2, "must hold integers"),
        (Y - 1, "classes from 0, or -1 .* got -2"),
        (np.full(5, -1), "no node has a label"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_labels(y, 5)


def test_a_split_is_anything_with_three_parts():
    for split in (
        Split(np.array([0]), np.array([1]), np.array([3, 4])),
        SimpleNamespace(train=[0], val=torch.tensor([1]), test=np.array([3, 4], dtype=np.uint8)),
    ):
        found = check_split(split, Y)
        assert {part: nodes.tolist() for part, nodes in found.items()} == {"train": [0], "val": [1], "test": [3, 4]}
        assert {nodes.dtype for nodes in found.values()} == {np.dtype(np.int64)}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"val": None}, "split has no attribute 'val'"),
        ({"train": []}, r"split.train must be a list of at least one node, got shape \(0,\)"),
        ({"train": [True, False]}, "for a mask use numpy.flatnonzero"),
        ({"test": [5]}, r"split.test names node 5, but nodes are 0 \.\. 4"),
        ({"test": [-1]}, "names node -1"),
        ({"test": [2]}, r"names 1 nodes without a label \(y = -1\), first 2"),
        ({"test": [1, 3]}, "split.val and split.test share 1 nodes, first 1"),
    ],
)
def test_a_split_that_would_cheat_or_fail_is_refused(parts, message):
    with pytest.raises(ValueError, match=message):
        check_split(SimpleNamespace(**{"train": [0], "val": [1], "test": [3, 4], **parts}), Y)
