"""What columns are taken for, and which are no features at all."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ccassg.io.tables import FrameTable
from ccassg.io.usable import amounts, judge


def kind_of(values, name="c"):
    return judge(FrameTable(pa.table({name: pa.array(values)}), "nodes").columns([name])[name])


def why_not(values, name="c"):
    return kind_of(values, name).why_not


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([1.5, None, 2], "number"),
        (["$1", "2,000", "?"], "number"),
        ([[1.0, 2.0]], "list"),
        (["a", "b", "a", None], "category"),
        (["1", "2", "10"], "category"),
        (["long words " * 6, "y"], "text"),
        ([f"city of {'abcdefg'[i % 7]}{i % 300}" for i in range(900)], "text"),
        (["action|drama|war", "comedy", "war|comedy"] * 100 + [f"one{i}|two" for i in range(300)], "text"),
        ([f"code{i % 300}" for i in range(900)], "text"),
        (pd.Categorical([f"k{i}" for i in range(300)]), "category"),
    ],
)
def test_a_column_is_taken_for_what_its_values_are(values, kind):
    assert kind_of(values) == (kind, None)


@pytest.mark.parametrize("values", [[7] * 3, ["same"] * 3, [True] * 3, [1, 2, 3]])
def test_a_few_rows_tell_little(values):
    assert why_not(values) is None


def test_numbers_among_words_are_damaged():
    with pytest.raises(ValueError, match=r"^nodes, column 'c', row 1 .*: 'two' among numbers; mend the value or leave"):
        kind_of(["1", "two", "3"])


def test_amounts_are_read_as_they_are_written():
    assert amounts(pa.chunked_array([["$1,200.50", " 7 €", "-3%", "1e3", "?", ""]])).to_pylist() == [
        1200.5,
        7,
        -3,
        1000,
        None,
        None,
    ]
    for no_amount in (["1,20"], ["1.200,50"], ["a"], ["?"], ["$"], ["1 2"]):
        assert amounts(pa.chunked_array([no_amount])) is None, no_amount


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (range(5, 105), "another whole number in every row"),
        (np.arange(100) * 5, "another whole number in every row"),
        ([7] * 100, "always 7"),
        ([True] * 100, "always True"),
        (["same"] * 100, "always 'same'"),
        ([None] * 100, "no value"),
        (pd.date_range("2020-01-01", periods=100), "dates"),
        ([f"{1 + i % 12}/{1 + i % 28}/2020" for i in range(100)], "dates"),
        ([f"https://example.org/a page/{i}" if i < 1 else f"https://example.org/{i}" for i in range(100)], "addresses"),
        ([f"person{i}@example.org" for i in range(100)], "addresses"),
        ([f"k{i}" for i in range(100)], "names or codes such as 'k0'"),
        ([f"+49 {i:03} {i * 7:04}" for i in range(100)], "names or codes such as '+49 000 0000'"),
    ],
)  # fmt: skip
def test_what_is_no_feature_is_left_out(values, why):
    assert why_not(values) == why


@pytest.mark.parametrize("name", ["id", "facebook_id", "userId", "UUID", "zip code"])
def test_ids_are_known_by_name_too(name):
    far_apart = np.random.default_rng(0).choice(10**9, 300, replace=False)
    assert why_not(far_apart, name) == "another whole number in every row"
    assert why_not(far_apart.astype(float), name) == "another whole number in every row"
    assert why_not(far_apart * 0.37, name) is None
    assert why_not(np.arange(600) // 2, name) == "codes"
    assert why_not([1, 2, 1], name) is None


@pytest.mark.parametrize(
    "values",
    [np.random.default_rng(0).choice(10**7, 100, replace=False), np.arange(100) % 50, np.arange(100) / 7, [3, 8]],
)
def test_numbers_that_were_measured_stay(values):
    assert kind_of(values) == ("number", None)
