from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from ccassg.evaluate.checks import check_embedding, check_embeddings, check_labels, check_seeds, check_split
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


@pytest.mark.parametrize("form", [list, np.array, lambda y: np.array(y, dtype=object), pd.Series])
def test_names_of_classes_are_numbered_in_their_order(form):
    assert check_labels(form(["b", "a", "b", ""]), 4).tolist() == [1, 0, 1, -1]
    assert check_labels(["b", None, float("nan"), "a"], 4).tolist() == [1, -1, -1, 0]
    for y, message in [
        ([None, "", None], "no node has a label"),
        ([{}, "a", "b"], "or names of classes, got dtype object"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_labels(y, 3)


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


def test_the_limits_of_seeds_and_runs():
    assert check_seeds(2**32 - 1) == 2**32 - 1
    assert check_seeds(np.int64(3)) == 3
    assert check_seeds(range(10_000))[-1] == 9_999
    assert check_seeds(iter((0, 2**32 - 1))) == [0, 2**32 - 1]
    for seeds, message in [
        (2**32, f"seeds must be at most {2**32 - 1}"),
        ([0, 2**32], f"seeds must be at most {2**32 - 1}"),
        (-1, "seeds must be an integer, at least 0, got -1"),
        ([0.5], "seeds must be an integer, at least 0, got 0.5"),
        (range(10_001), "seeds must be at most 10000, got range"),
        (range(10**12), "seeds must be at most 10000, got range"),
        ([], "seeds is empty"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_seeds(seeds)


def test_forms_of_embeddings_and_labels():
    for z in (sp.csc_array(Z.astype(np.float64)), sp.coo_matrix(Z)):
        (found,) = check_embeddings(z)
        assert found.format == "csr"
        assert found.dtype == z.dtype
        assert found.toarray().tolist() == Z.tolist()
    (found,) = check_embeddings(sp.csr_array(Z.astype(np.int8)))
    assert found.dtype == np.float32
    assert check_embeddings(sp.csr_array((3, 2)))[0].nnz == 0
    with pytest.raises(ValueError, match=r"z\.data has NaN or infinite values in 1 rows, first in row 1"):
        check_embeddings(sp.csr_array([[1.0, np.nan], [0.0, 2.0]]))
    with pytest.raises(ValueError, match=r"z\[1\] has NaN or infinite values in 1 rows, first in row 2"):
        check_embeddings([Z, np.where(np.arange(3)[:, None] == 2, np.nan, Z)])
    for z in (Z[None][None], np.ones((1, 1, 1, 1))):
        with pytest.raises(ValueError, match=r"shape \(n, d\) or \(r, n, d\)"):
            check_embeddings(z)
    assert check_labels([True, False], 2).tolist() == [1, 0]
    assert check_labels([-1, 0], 2).tolist() == [-1, 0]
    with pytest.raises(ValueError, match=r"y has shape \(1, 2\)"):
        check_labels([[0, 1]], 2)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"test": [5]}, r"split.test names node 5, but nodes are 0 \.\. 4"),
        ({"test": [-1, 9]}, r"split.test names node -1, but nodes are"),
        ({"val": [[1]]}, r"split.val must be a list of at least one node, got shape \(1, 1\)"),
        ({"train": [0, 3]}, "split.train and split.test share 1 nodes, first 3"),
        ({"val": [4, 3]}, "split.val and split.test share 2 nodes, first 3"),
        ({"train": [2, 0]}, r"split.train names 1 nodes without a label \(y = -1\), first 2"),
    ],
)
def test_the_limits_of_splits(parts, message):
    right = {"train": [0], "val": [0, 1], "test": [4, 3]}  # training nodes may be chosen on
    assert check_split(SimpleNamespace(**right), Y)["val"].tolist() == [0, 1]
    with pytest.raises(ValueError, match=message):
        check_split(SimpleNamespace(**right | parts), Y)
