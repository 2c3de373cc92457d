"""Every kernel against its dense reference."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ccassg.graph import sparse


def random_csr(n=7, m=5, density=0.4, seed=0, dtype=torch.float64):
    return sparse.from_scipy(sp.random(n, m, density=density, random_state=seed, format="csr"), dtype)


matrices = st.builds(
    random_csr, st.integers(1, 12), st.integers(1, 12), st.sampled_from([0.0, 0.2, 0.7, 1.0]), st.integers(0, 50)
)


def test_from_and_to_scipy_round_trip():
    matrix = sp.random(6, 4, density=0.5, random_state=1, format="csr")
    back = sparse.from_scipy(matrix, torch.float64).to_scipy()
    assert (back != sp.csr_array(matrix)).nnz == 0


def test_indices_are_32_bit_where_that_suffices():
    assert random_csr().indices.dtype == torch.int32


@settings(max_examples=40, deadline=None)
@given(matrices, st.integers(1, 6))
def test_multiply_equals_dense(a, width):
    b = torch.randn(a.shape[1], width, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(sparse.multiply(a, b), a.to_dense() @ b)


def test_multiply_in_blocks_into_a_buffer_with_an_epilogue():
    a, b = random_csr(n=10), torch.ones(5, 2, dtype=torch.float64)
    out = torch.full((10, 2), 7.0, dtype=torch.float64)
    seen = []

    def add_row_number(block, rows, out):
        seen.append((rows.start, rows.stop))
        torch.add(block, torch.arange(rows.start, rows.stop).unsqueeze(1), out=out)

    result = sparse.multiply(a, b, out, add_row_number, block_rows=3)
    assert result is out
    assert seen == [(0, 3), (3, 6), (6, 9), (9, 10)]
    torch.testing.assert_close(out, a.to_dense() @ b + torch.arange(10, dtype=torch.float64).unsqueeze(1))


def test_multiply_without_rows_or_entries():
    b = torch.ones(5, 2, dtype=torch.float64)
    assert sparse.multiply(random_csr(n=4, density=0.0), b).eq(0).all()
    none = sparse.CSR(torch.zeros(1, dtype=torch.int32), torch.zeros(0, dtype=torch.int32), b[0, :0], (0, 5))
    assert sparse.multiply(none, b).shape == (0, 2)


@settings(max_examples=40, deadline=None)
@given(matrices)
def test_transpose_both_ways(a):
    torch.testing.assert_close(sparse.transpose(a).to_dense(), a.to_dense().T)
    indptr, indices, order = sparse.transpose_order(a)
    built = sparse.CSR(indptr, indices, a.values[order], (a.shape[1], a.shape[0]))
    torch.testing.assert_close(built.to_dense(), a.to_dense().T)


@settings(max_examples=40, deadline=None)
@given(matrices, st.integers(0, 9))
def test_select_entries(a, seed):
    keep = torch.rand(a.nnz, generator=torch.Generator().manual_seed(seed)) < 0.5
    expected = a.with_values(a.values * keep).to_dense()
    chosen = sparse.select_entries(a, keep)
    assert chosen.nnz == int(keep.sum())
    torch.testing.assert_close(chosen.to_dense(), expected)


@settings(max_examples=40, deadline=None)
@given(matrices, st.lists(st.integers(0, 10_000), max_size=8))
def test_select_rows_in_any_order_and_repeated(a, picks):
    rows = torch.tensor([pick % a.shape[0] for pick in picks], dtype=torch.int64)
    torch.testing.assert_close(sparse.select_rows(a, rows).to_dense(), a.to_dense()[rows])


@settings(max_examples=40, deadline=None)
@given(matrices)
def test_compact_columns(a):
    compact, columns = sparse.compact_columns(a)
    used = a.with_values(torch.ones_like(a.values)).to_dense().sum(0) > 0
    assert columns.tolist() == used.nonzero().squeeze(1).tolist()
    torch.testing.assert_close(compact.to_dense(), a.to_dense()[:, columns])


def test_sums():
    a = random_csr()
    torch.testing.assert_close(sparse.row_sums(a), a.to_dense().sum(1))
    torch.testing.assert_close(sparse.column_sums(a), a.to_dense().sum(0))


def test_normalize_by_hand():
    # Row sums 3 and 4, column sums 1 and 6.
    a = sparse.from_scipy(sp.csr_array(np.array([[1.0, 2.0], [0.0, 4.0]])), torch.float64)
    expected = torch.tensor([[1 / 3**0.5, 2 / 18**0.5], [0, 4 / 24**0.5]], dtype=torch.float64)
    torch.testing.assert_close(sparse.normalize(a).to_dense(), expected)


def test_normalize_leaves_empty_rows_and_columns_finite():
    a = sparse.from_scipy(sp.csr_array(np.array([[0.0, 2.0], [0.0, 0.0]])), torch.float64)
    torch.testing.assert_close(sparse.normalize(a).to_dense().tolist(), [[0.0, 1.0], [0.0, 0.0]])


@pytest.mark.parametrize("density", [0.0, 0.5])
def test_add_self_loops(density):
    matrix = sp.random(6, 6, density=density, random_state=0, format="lil")
    matrix.setdiag(0)
    a = sparse.from_scipy(sp.csr_array(matrix.tocsr()), torch.float64)
    a = sparse.select_entries(a, a.values != 0)
    looped = sparse.add_self_loops(a)
    torch.testing.assert_close(looped.to_dense(), a.to_dense() + torch.eye(6, dtype=torch.float64))
    loops = looped.indptr[1:].long() - 1
    assert looped.indices[loops].tolist() == list(range(6))


def test_entries_in_one_place_are_summed():
    a = sparse.CSR(torch.tensor([0, 2, 3]), torch.tensor([1, 1, 0]), torch.tensor([2.0, 3.0, 4.0]), (2, 2))
    assert a.to_dense().tolist() == [[0, 5], [4, 0]]


def test_numbers_keep_their_width_and_entries_their_order():
    matrix = sp.random_array((3000, 3), density=0.9, rng=0, format="csr", dtype=np.float32)
    a = sparse.from_scipy(matrix)
    indptr, indices, order = sparse.transpose_order(a)
    assert indptr.dtype == indices.dtype == torch.int32
    assert torch.equal(a.indices[order], a.indices[order].sort().values)
    for start, stop in zip(indptr[:-1].tolist(), indptr[1:].tolist(), strict=True):
        assert (indices[start:stop].diff() > 0).all()  # rows in order within each column
    for made in (
        sparse.transpose(a),
        sparse.select_entries(a, a.values > 0.5),
        sparse.select_rows(a, torch.tensor([2, 0])),
        sparse.compact_columns(a)[0],
        sparse.add_self_loops(sparse.select_rows(a, torch.arange(3))),
    ):
        assert made.indptr.dtype == made.indices.dtype == torch.int32
        assert made.values.dtype == torch.float32
    assert torch.equal(indices, sparse.transpose(a).indices)


def test_products_without_rows_or_entries():
    nothing = sparse.CSR(torch.zeros(1, dtype=torch.int32), torch.zeros(0, dtype=torch.int32), torch.zeros(0), (0, 4))
    assert sparse.multiply(nothing, torch.ones(4, 3)).shape == (0, 3)
    empty = sparse.from_scipy(sp.csr_array((5, 4)))
    assert sparse.multiply(empty, torch.ones(4, 3), block_rows=2).tolist() == [[0.0] * 3] * 5


def test_one_value_for_all_entries_stays_one():
    a = random_csr()
    ones = a.with_values(torch.ones(1, dtype=torch.float64).expand(a.nnz))
    some = sparse.select_rows(ones, torch.tensor([3, 1, 3]))
    assert some.values.stride(0) == 0
    torch.testing.assert_close(some.to_dense(), ones.to_dense()[[3, 1, 3]])
    other = sparse.select_rows(a, torch.tensor([3, 1, 3]))
    assert other.values.stride(0) == 1


def test_entries_of_nodes_that_receive_or_send_nothing_are_zero():
    scaled = sparse.scale_by_degrees(torch.ones(4), torch.tensor([0.0, 2, 0, 2]), torch.tensor([2.0, 0, 0, 8]))
    assert scaled.tolist() == [0, 0, 0, pytest.approx(0.25)]
