"""Ids mapped to positions: integers near and far, strings, mixtures."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ccassg.io.ids import as_ids, number_ids, positions, settle, to_numpy, unique_ids
from ccassg.io.tables import FrameTable


def column(values):
    return pa.chunked_array(
        [pa.array(values[: len(values) // 2], pa.array(values).type), pa.array(values[len(values) // 2 :])]
    )


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 3, 7],
        [-5, 10**18, -(2**63), 2**63 - 1, -5],
        ["b", "a", "b", "ä"],
        [2**62, 2**62 + 1, 2**62],
    ],
)
def test_ids_are_numbered_in_order(values):
    ids, codes = number_ids([column(values), column(values[::-1])])
    assert ids.to_pylist() == sorted(set(values))
    assert [ids[int(code)].as_py() for code in codes] == values + values[::-1]


def test_numbering_agrees_with_numpy():
    rng = np.random.default_rng(0)
    for high in (50, 10**12):
        values = rng.integers(-high, high, 1000)
        ids, codes = number_ids([pa.chunked_array([pa.array(values)])])
        expected, inverse = np.unique(values, return_inverse=True)
        assert (ids.to_numpy() == expected).all()
        assert (codes == inverse).all()


def test_settle_finds_one_type():
    def kinds(columns, text):
        return [str(c.type) for c in settle([column(c) for c in columns], text)]

    assert kinds([["1", "2"], ["3", "4"]], [True, True]) == ["int64", "int64"]
    assert kinds([["1", "2"], ["3", "4"]], [True, False]) == ["string", "string"]
    assert kinds([["1", "2"], [3, 4]], [True, False]) == ["int64", "int64"]
    assert kinds([["1", "2"], ["x", "4"]], [True, True]) == ["string", "string"]
    for odd in ("01", "+1", "1.0", "-0", str(2**63), " 1", "1e3"):
        assert kinds([["5", odd]], [True]) == ["string"]
    assert settle([column(["x", "4"]), column([4, 5])], [True, False])[1].to_pylist() == ["4", "5"]


def test_positions():
    assert positions(pa.array(["b", "x"]), pa.array(["a", "b"])).tolist() == [1, -1]


def test_repeated_ids_are_refused():
    def unique(values):
        table = FrameTable(pa.table({"id": values}), "it")
        return unique_ids(table, "id", table.data["id"])

    assert unique([1, 2, 3]).to_pylist() == [1, 2, 3]
    with pytest.raises(ValueError, match=r"it, column 'id', row 2 .*: the id 'a' was there before; keep one row"):
        unique(["a", "b", "a", "b"])


def test_numpy_ids_keep_every_character():
    names = to_numpy(pa.array(["a\x00", "a"]))
    assert names.dtype == object
    assert names.tolist() == ["a\x00", "a"]
    assert to_numpy(pa.array([1, 2])).dtype == np.int64


@pytest.mark.parametrize(
    ("values", "names"),
    [
        ([date(2024, 5, 1), date(1999, 12, 31)], ["2024-05-01", "1999-12-31"]),
        ([datetime(2024, 5, 1, 13, 30), datetime(1999, 12, 31)], ["2024-05-01 13:30:00.000000", "1999-12-31 00:00:00.000000"]),
        ([Decimal("1.50"), Decimal("2.00")], ["1.50", "2.00"]),
    ],
)  # fmt: skip
def test_dates_and_decimals_are_ids_as_they_print(values, names):
    table = FrameTable(pa.table({"id": values}), "it")
    assert as_ids(table, "id", table.data["id"]).to_pylist() == names


@pytest.mark.parametrize("values", [[True, False], [b"a", b"b"], [[1], [2]], [{"a": 1}, {"a": 2}]])
def test_what_is_neither_number_nor_name_is_no_id(values):
    table = FrameTable(pa.table({"id": values}), "it")
    with pytest.raises(ValueError, match=r"it, column 'id': (bool|binary|list|struct).* cannot be an id"):
        as_ids(table, "id", table.data["id"])
