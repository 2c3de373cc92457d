"""Features and ids at the door: brought to one form, or refused with the way out."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from ccassg.graph.checks import (
    check_callable,
    check_count,
    check_features,
    check_ids,
    check_kind,
    check_nodes,
    check_number,
    mapped,
    require_finite,
    shown,
)

ROWS = [[1, 0, 2], [0, 0, 3]]


@pytest.mark.parametrize(
    "given",
    [
        ROWS,
        np.array(ROWS, dtype=np.int8),
        np.asfortranarray(np.array(ROWS, dtype=float)),
        np.array(ROWS, dtype=">f8"),
        torch.tensor(ROWS, dtype=torch.float64, requires_grad=True),
    ],
    ids=["list", "int8", "columns first", "big-endian", "tensor"],
)
def test_dense_features_become_rows_of_32_bit_floats(given):
    made = check_features(given, 2)
    assert type(made) is np.ndarray
    assert made.dtype == np.dtype("=f4")
    assert made.flags.c_contiguous
    assert made.tolist() == ROWS


def test_a_sparse_tensor_of_other_dimensions_is_refused():
    with pytest.raises(
        ValueError, match=r"a sparse tensor must have two dimensions, both sparse, got shape \(2, 3, 4\)"
    ):
        check_features(torch.ones(2, 3, 4).to_sparse(), 2)
    with pytest.raises(ValueError, match=r"both sparse, got shape \(2, 3\)"):
        check_features(torch.ones(2, 3).to_sparse(1), 2)


@pytest.mark.parametrize("kind", ["csr_array", "csc_matrix", "coo_array", "lil_array", "tensor"])
def test_sparse_features_stay_sparse(kind):
    given = torch.tensor(ROWS).to_sparse() if kind == "tensor" else getattr(sp, kind)(np.array(ROWS))
    made = check_features(given, 2)
    assert isinstance(made, sp.csr_array)
    assert made.dtype == np.float32
    assert made.toarray().tolist() == ROWS


def test_truth_values_are_numbers():
    assert check_features(np.array([[True, False]])).tolist() == [[1, 0]]


def test_features_in_the_right_form_are_not_copied():
    given = np.ones((3, 2), np.float32)
    assert check_features(given) is given


def test_a_users_sparse_matrix_is_not_changed():
    """Entry (0, 1) is there twice; the sum is made in a copy."""
    x = sp.csr_array((np.ones(3, np.float32), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    made = check_features(x)
    assert x.nnz == 3
    assert x.data.tolist() == [1, 1, 1]
    assert made.nnz == 2
    assert made.toarray().tolist() == [[0, 2], [1, 0]]


HUGE = sp.csr_array(np.array([[0, 1e300], [1, 0]]))
BAD_FEATURES = {
    "ragged": ([[1, 2], [3]], "features cannot be read as an array: "),
    "one dimension": (np.ones(3), "features must have two dimensions (nodes, features), got shape (3,)"),
    "three dimensions": (np.ones((3, 1, 1)), "features must have two dimensions (nodes, features), got shape (3, 1, 1)"),
    "a number": (5, "features must have two dimensions (nodes, features), got shape ()"),
    "no column": (np.ones((3, 0)), "features must have at least one column, got shape (3, 0); leave them out instead"),
    "too few rows": (np.ones((2, 2)), "features has 2 rows, but the graph has 3 nodes; give one row each"),
    "text": (np.array([["a"], ["b"], ["c"]]), "features must be numeric, got dtype <U1; encode text and categories first"),
    "objects": (np.array([[1], [2], [None]]), "features must be numeric, got dtype object; encode"),
    "complex": (np.ones((3, 1), complex), "features must be numeric, got dtype complex128; encode"),
    "not numbers": (np.full((3, 2), np.nan), "features must be finite 32-bit numbers, got 6 that are not (NaN, infinite or beyond 3e38; the first at (0, 0)); impute, drop or rescale them"),
    "one infinity": (np.array([[1, 2], [3, -np.inf], [4, 5]]), "got 1 that are not (NaN, infinite or beyond 3e38; the first at (1, 1))"),
    "beyond 32 bits": (np.full((3, 2), 1e300), "got 6 that are not (NaN, infinite or beyond 3e38"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_FEATURES)
@pytest.mark.filterwarnings("error")
def test_bad_features_are_refused(case):
    given, sentence = BAD_FEATURES[case]
    with pytest.raises(ValueError, match=r"^features ") as caught:
        check_features(given, 3)
    assert sentence in str(caught.value)


@pytest.mark.filterwarnings("error")
def test_sparse_features_beyond_32_bits_are_refused():
    with pytest.raises(ValueError, match=r"features must be finite 32-bit numbers, got 1 that are not .* at \(0,\)\)"):
        check_features(HUGE)


def test_numbers_whose_sum_is_not_finite_are_fine():
    """The sum is a quick look only: where it overflows, every number is looked at."""
    large = np.full((2, 2), 3e38, np.float32)
    with np.errstate(over="ignore"):
        require_finite("weights", large)
        large[1, 0] = np.nan
        with pytest.raises(ValueError, match=r"^weights must be finite .* got 1 .* the first at \(1, 0\)"):
            require_finite("weights", large)
    require_finite("weights", np.empty(0))


@pytest.mark.parametrize(
    ("given", "kind"),
    [(["a", "bc"], "O"), ([3, np.int64(1)], "i"), (["1", 1], "O"), ([(1, 2), (3, 4)], "O"), ([1.5, 2.5], "O")],
)
def test_ids_keep_their_kind(given, kind):
    made = check_ids(given, 2)
    assert made.dtype.kind == kind
    assert made.tolist() == given


def test_ids_may_come_one_by_one_and_an_array_is_kept():
    assert check_ids((name for name in "ba"), 2).tolist() == ["b", "a"]
    given = np.array(["x", "y"])
    assert check_ids(given, 2) is given


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (["a", "a", "b"], "node_ids must all be different, 'a' occurs more than once"),
        ([7, 8, 8], "node_ids must all be different, 8 occurs more than once"),
        (["1", 1, "1"], "node_ids must all be different, '1' occurs more than once"),
        (["a"], "node_ids has 1 entries, but the graph has 3 nodes; give one each"),
        (np.array([["a"], ["b"], ["c"]]), "node_ids has 3 entries, but the graph has 3 nodes; give one each"),
    ],
)
def test_bad_ids_are_refused(given, sentence):
    with pytest.raises(ValueError, match=f"^{re.escape(sentence)}$"):
        check_ids(given, 3)


def test_what_lies_in_a_file_is_known_through_views(tmp_path):
    np.save(tmp_path / "x.npy", np.ones((4, 3), np.float32))
    file = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert mapped(file) is file
    for view in (np.asarray(file), np.asarray(file)[1:, :2].T):
        assert type(view) is np.ndarray
        assert np.shares_memory(mapped(view), file)
    indices, indptr = np.tile([0, 1, 2], 4), np.array([0, 3, 6, 9, 12])
    sparse = sp.csr_array((np.asarray(file).ravel(), indices, indptr), shape=(4, 3))
    assert np.shares_memory(mapped(sparse), file)
    assert mapped(np.array(file)) is None
    assert mapped(sp.csr_array(np.eye(2))) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("cora", "'cora'"),
        ("x" * 10**6, "'" + "x" * 27 + "..." + "x" * 28 + "'"),
        (10**5000, "a value of type int"),
        (list(range(10**5)), "[0, 1, 2, 3, 4, 5, ...]"),
        (np.zeros((3, 3)), "array([[0., 0., 0.], ...., 0.], [0., 0., 0.]])"),
        ("a\nb", "'a\\nb'"),
        (None, "None"),
    ],
    ids=["text", "long", "digits", "list", "array", "lines", "none"],
)
def test_any_value_is_shown_in_one_short_line(value, text):
    assert shown(value) == text


def test_the_least_features_that_are_not_too_small():
    for value in (1e-30, -2e-30, 0.0):
        assert check_features(np.array([[0.0, value]])).shape == (1, 2)
        assert check_features(sp.csr_array([[0.0, value]])).shape == (1, 2)
    for value in (9e-31, -9e-31):
        for given in (np.array([[0.0, value]]), np.array([[value, value]]), sp.csr_array([[0.0, value]])):
            with pytest.raises(
                ValueError, match=r"too small for 32-bit numbers, at most 9e-31; multiply them by 1e\+30"
            ):
                check_features(given)
    assert check_features(np.zeros((0, 2))).shape == (0, 2)


def test_where_the_first_bad_value_is():
    values = np.array([[1.0, 2.0], [3.0, np.nan], [np.inf, 5.0]])
    with pytest.raises(ValueError, match=r"got 2 that are not .* the first at \(1, 1\)\)"):
        require_finite("x", values)
    with pytest.raises(ValueError, match=r"the first at \(11, 1\)\)"):
        require_finite("x", values, 10)
    with np.errstate(all="raise"), pytest.raises(ValueError, match=r"the first at \(0,\)\)"):
        require_finite("x", np.array([np.inf, -np.inf]))


@pytest.mark.parametrize(
    ("value", "limits", "sentence"),
    [
        (0, (), None),
        (-1, (), "n must be an integer, at least 0, got -1"),
        (np.int8(3), (3, 3), None),
        (2, (3, 3), "n must be an integer, at least 3, got 2"),
        (4, (3, 3), "n must be at most 3, got 4"),
        (True, (), "at least 0, got True"),
        (1.0, (), "at least 0, got 1.0"),
        ("1", (), "got '1'"),
    ],
)
def test_counts_and_their_limits(value, limits, sentence):
    if sentence is None:
        assert type(check_count("n", value, *limits)) is int
    else:
        with pytest.raises(ValueError, match=sentence):
            check_count("n", value, *limits)


@pytest.mark.parametrize(
    ("value", "limits", "sentence"),
    [
        (0, (), None),
        (-0.1, (), "x must be a finite number, at least 0, got -0.1"),
        (np.float32(2), (2.0,), None),
        (1.9, (2.0,), "at least 2, got 1.9"),
        (True, (), "at least 0, got True"),
        (float("inf"), (), "at least 0, got inf"),
        (float("nan"), (), "at least 0, got nan"),
        ("1", (), "got '1'"),
        (float(np.finfo(np.float32).max), (), None),
        (3.5e38, (), r"x must be at most 3.40282e\+38, got 3.5e\+38"),
        (np.float64(3.5e38), (), r"x must be at most 3.40282e\+38"),
        (2**63 - 1, (), None),
        (2**63, (), r"x must be at most 9.22337e\+18, got 9223372036854775808"),
    ],
)
def test_numbers_and_their_limits(value, limits, sentence):
    if sentence is None:
        assert type(check_number("x", value, *limits)) is float
    else:
        with pytest.raises(ValueError, match=sentence):
            check_number("x", value, *limits)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([2, 0], [2, 0]),
        ([], []),
        (np.array([1], np.uint8), [1]),
        (np.array([True, False, True]), [0, 2]),
        (range(3), [0, 1, 2]),
        ([3], r"nodes must be in 0 \.\. 2, the nodes of the graph, got 3"),
        ([0, -1], r"in 0 \.\. 2, the nodes of the graph, got -1"),
        ([-2, 9], "the graph, got -2"),
        ([True, False], "must be a list of node numbers, from 0"),
        ([0.5], "must be a list of node numbers"),
        ([[0]], "must be a list of node numbers"),
        ([[0], [1, 2]], "must be a list of node numbers"),
        (1, "must be a list of node numbers, from 0, got 1"),
    ],
)
def test_nodes_are_numbers_or_a_mask(given, expected):
    if isinstance(expected, list):
        found = check_nodes("nodes", given, 3)
        assert found.dtype == np.int64
        assert found.tolist() == expected
    else:
        with pytest.raises(ValueError, match=expected):
            check_nodes("nodes", given, 3)


def test_functions_and_kinds():
    check_callable("f", None)
    check_callable("f", len)
    with pytest.raises(TypeError, match="f must be a function, got 3"):
        check_callable("f", 3)
    check_kind("x", 3, int, "give one")
    with pytest.raises(TypeError, match="x must be a int, got 'a'; give one"):
        check_kind("x", "a", int, "give one")
