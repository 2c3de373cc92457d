"""Ids mapped to positions: integers near and far, strings, mixtures."""

from datetime import date, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from ccassg.io.ids import as_ids, id_array, number_ids, positions, settle, to_numpy, unique_ids
from ccassg.io.open_table import open_table
from ccassg.io.tables import FrameTable


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
    ids, codes = number_ids(pa.array(values), pa.array(values[::-1]))
    assert ids.to_pylist() == sorted(set(values))
    assert [ids[int(code)].as_py() for code in codes] == values + values[::-1]


def test_numbering_agrees_with_numpy():
    rng = np.random.default_rng(0)
    for high in (50, 10**12):
        values = rng.integers(-high, high, 1000)
        ids, codes = number_ids(pa.array(values))
        expected, inverse = np.unique(values, return_inverse=True)
        assert (ids.to_numpy() == expected).all()
        assert (codes == inverse).all()


def test_digits_are_integers_in_text_alone():
    def ids_of(values, is_text):
        table = FrameTable(pa.table({"id": values}), "it", is_text)
        return as_ids(table.columns(["id"])["id"])

    assert ids_of(["1", " -2"], True).to_pylist() == [1, -2]
    assert ids_of(["1", "2"], False).to_pylist() == ["1", "2"]
    for odd in ("01", "+1", "1.0", "-0", str(2**63), "x", "1e3"):
        assert ids_of(["5", odd], True).to_pylist() == ["5", odd]


def test_settle_finds_one_type():
    assert [str(c.type) for c in settle(pa.array([1]), pa.array([2]))] == ["int64", "int64"]
    assert [c.to_pylist() for c in settle(pa.array(["x", "4"]), pa.array([4, 5]))] == [["x", "4"], ["4", "5"]]
    assert positions(pa.array([4, 5]), pa.array(["x", "4"])).tolist() == [1, -1]


def test_positions():
    assert positions(pa.array(["b", "x"]), pa.array(["a", "b"])).tolist() == [1, -1]


def test_repeated_ids_are_refused():
    def unique(values):
        table = FrameTable(pa.table({"id": values}), "it")
        return unique_ids(table.columns(["id"])["id"])

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
    assert as_ids(table.columns(["id"])["id"]).to_pylist() == names


@pytest.mark.parametrize("values", [[True, False], [b"a", b"b"], [[1], [2]], [{"a": 1}, {"a": 2}]])
def test_what_is_neither_number_nor_name_is_no_id(values):
    table = FrameTable(pa.table({"id": values}), "it")
    with pytest.raises(ValueError, match=r"it, column 'id': (bool|binary|list|struct).* cannot be an id"):
        as_ids(table.columns(["id"])["id"])


def in_frame(values, **options):
    table = FrameTable(pa.table({"id": values}), "it")
    return as_ids(table.columns(["id"])["id"], **options)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (pa.array([3, -1], pa.int8()), [3, -1]),
        (pa.array([2**64 - 1, 7], pa.uint64()), ["18446744073709551615", "7"]),
        ([3.0, -(2.0**53)], [3, -(2**53)]),
        (pa.array([2.0, 3.0], pa.float32()), [2, 3]),
        (["a", " b "], ["a", " b "]),
        (["a\nb", "c"], ["a\nb", "c"]),
        (pa.array(["x", "y", "x"]).dictionary_encode(), ["x", "y", "x"]),
    ],
)
def test_ids_of_a_frame_are_taken_as_they_are(values, expected):
    assert in_frame(values).to_pylist() == expected


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ([1, None], r"row 1 .*: an id is missing; fill it in or drop the row"),
        (["a", ""], r"row 1 .*: an id is empty; fill it in or drop the row"),
        ([1.0, 2.5], r"row 1 .*: 2\.5 cannot be an id; ids are integers or strings"),
        ([1.0, float("nan")], r"row 1 .*: nan cannot be an id"),
        ([1.0, 2.0**63], r"row 1 .*: 9\.223372036854776e\+18 cannot be an id"),
        ([-1.0, float("-inf")], r"row 1 .*: -inf cannot be an id"),
    ],
)
def test_what_is_no_id_is_named_with_its_place(values, sentence):
    with pytest.raises(ValueError, match=f"it, column 'id', {sentence}"):
        in_frame(values)


def test_whole_fractions_of_all_sizes_are_ids():
    assert in_frame([-(2.0**63), 2.0**62]).to_pylist() == [-(2**63), 2**62]


def test_numbering_near_and_far_from_each_other_is_one():
    for step in (1, 4, 1024, 10**6, 2**55):  # a table of marks, or hashing
        values = [5 * step, -3 * step, 5 * step, 0]
        ids, codes = number_ids(pa.array(values))
        assert (ids.to_pylist(), codes.tolist()) == ([-3 * step, 0, 5 * step], [2, 0, 2, 1])
    ids, codes = number_ids(pa.array([], pa.large_string()), pa.array([], pa.large_string()))
    assert (len(ids), ids.type, codes.tolist(), codes.dtype) == (0, pa.large_string(), [], np.int64)


def test_repeated_ids_of_text_and_numbers():
    table = FrameTable(pa.table({"id": [7, 8, 9, 8, 7]}), "it")
    with pytest.raises(ValueError, match=r"row 3 .*: the id 8 was there before; so it goes"):
        unique_ids(table.columns(["id"])["id"], way_out="so it goes")


def test_ids_as_one_array():
    assert positions(pa.array([3, 4, 5]), pa.array([5, 3])).dtype == np.int64
    for given, expected in [
        ([1, 2], [1, 2]),
        (np.array([1, 2], np.uint8), [1, 2]),
        (pa.array([1, 2], pa.int16()), [1, 2]),
        (pa.array(["a"]), ["a"]),
        (["a", 1], ["a", "1"]),
        ([True, 1], ["True", "1"]),
        ([1.5], ["1.5"]),
        ([(1, 2)], ["(1, 2)"]),
        (np.array(["a", "b"]), ["a", "b"]),
        (np.array([1, "b"], object), ["1", "b"]),
    ]:
        found = id_array(given)
        assert found.to_pylist() == expected
        assert pa.types.is_integer(found.type) or found.type == pa.large_string()
    assert id_array([]).to_pylist() == []


def test_ids_of_text_files_are_trimmed_and_span_no_lines(tmp_path):
    def ids(text, **options):
        (tmp_path / "ids.csv").write_text(text)
        table = open_table(tmp_path / "ids.csv")
        return as_ids(table.columns(["id"], ["id"])["id"], **options).to_pylist()

    assert ids('id,x\n a ,1\n"b",2\n') == ["a", "b"]
    assert ids('id,x\n"a\nb",1\n', line_breaks=True) == ["a\nb"]
    with pytest.raises(
        ValueError, match="the quote that opens here closes on another line, and no id holds a line break"
    ):
        ids('id,x\nc,1\n"a\nb",1\n')
    with pytest.raises(ValueError, match="an id is empty"):
        ids('id,x\n"  ",1\n')
    (tmp_path / "ids.csv").write_text('id,x\n"a\nb",1\nc,2\n')
    table = open_table(tmp_path / "ids.csv")
    column = table.columns(["id"], ["id"])["id"]
    assert unique_ids(column, line_breaks=True).to_pylist() == ["a\nb", "c"]
    with pytest.raises(ValueError, match="no id holds a line break"):
        unique_ids(column)
