"""Columns to features: numbers, categories, text, lists, and the same columns again for new nodes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

from ccassg.io.encode import columns_of, encode_columns
from ccassg.io.features import read_nodes
from ccassg.io.tables import FrameTable


def encode(columns, **options):
    data = columns if isinstance(columns, pa.Table) else pa.table(columns)
    table = FrameTable(data, "nodes")
    features, names, _ = encode_columns(table, data, data.column_names, **options)
    return (features.toarray() if sp.issparse(features) else features), names, table.notes


def test_numbers_stay_and_categories_become_one_hot():
    x, names, notes = encode({"age": [1.5, 2, 3], "venue": ["b", "a", "b"], "old": [True, False, True], "n": [1, 2, 3]})
    assert names == ("age", "venue=a", "venue=b", "old", "n")
    assert x.dtype == np.float32
    assert x.tolist() == [[1.5, 0, 1, 1, 1], [2, 1, 0, 0, 2], [3, 0, 1, 1, 3]]
    assert notes == [
        "nodes: took the values of 'venue' (2) as features; name what you want to predict with `label_column`, or the "
        "embedding is made from it"
    ]


def test_missing_category_is_no_category():
    x, names, notes = encode({"k": ["a", None, ""]})
    assert names == ("k=a",)
    assert x.tolist() == [[1], [0], [0]]
    assert "2 nodes without a value" in notes[0]


def test_text_is_refused_or_hashed():
    words = [f"a paper about graph number {i} and its many long descriptions" for i in range(30)]
    with pytest.raises(ValueError, match=r"column 'abstract': free text .*text='hash'"):
        encode({"abstract": words})
    x, names, _ = encode({"abstract": words}, text="hash", text_dim=16)
    assert names[:2] == ("abstract#0", "abstract#1")
    assert x.shape == (30, 16)
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1, rtol=1e-6)
    ids = {"key": [f"k{i}" for i in range(100)]}
    with pytest.raises(ValueError, match="100 different values"):
        encode(ids)


def test_declared_categories_may_be_many():
    frame = pd.DataFrame({"k": pd.Categorical([f"k{i}" for i in range(300)])})
    assert encode(pa.Table.from_pandas(frame))[0].shape == (300, 300)


def test_lists_become_columns():
    x, names, _ = encode({"v": [[1.0, 2.0], [3.0, 4.0]]})
    assert names == ("v[0]", "v[1]")
    assert x.tolist() == [[1, 2], [3, 4]]
    for bad, sentence in [
        ([[1.0], [1.0, 2.0]], "row 1"),
        ([[1.0], None], "row 1"),
        ([[]], "row 0"),
        ([[np.nan]], "row 0"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            encode({"v": bad})


def test_wide_and_empty_tables_become_sparse():
    data = {f"w{i}": np.eye(100)[i] for i in range(100)}
    table = pa.table(data)
    features, _, _ = encode_columns(FrameTable(table, "nodes"), table, table.column_names)
    assert sp.issparse(features)
    assert (features.toarray() == np.eye(100)).all()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["1", "2", "x", "4"], "row 2 .*'x' among numbers"),
        ([1.0, None], "row 1 .*no value"),
        ([1.0, float("nan")], "row 1 .*nan is not a finite"),
        ([1.0, float("inf")], "row 1 .*inf is not a finite"),
        ([1.0, 1e300], "row 1 .*beyond 3e38"),
        ([None, None], "row 0 .*no value"),
        (pd.to_datetime(["2020-01-01", "2020-01-02"]), "neither number nor category"),
        ([b"\xff", b"a"], "must be numbers"),
        ([{"a": 1}, {"a": 2}], "must be numbers"),
        ([[["a"]], [["b"]]], "must hold numbers"),
    ],
)
def test_bad_columns_get_their_sentence(values, sentence):
    with pytest.raises(ValueError, match=rf"nodes, column 'c'.*{sentence}"):
        encode({"c": values})


def test_new_nodes_get_the_same_columns():
    old = {"age": [1.0, 2, 3], "k": ["a", "b", "c"], "t": ["red fox", "blue fox", "x " * 50], "v": [[1.0, 2]] * 3}
    x, names, _ = encode(old, text="hash", text_dim=4)
    new = {"v": [[5.0, 6]], "k": ["b"], "t": ["red fox"], "age": [9.0]}
    x_new, names_new, _ = encode(new, like=names)
    assert names_new == names
    assert x_new[0, :4].tolist() == [9, 0, 1, 0]
    assert (x_new[0, 4:8] == x[0, 4:8]).all()
    assert x_new[0, 8:].tolist() == [5, 6]
    x_new, _, notes = encode({**new, "k": ["z"]}, like=names)
    assert x_new[0, 1:4].tolist() == [0, 0, 0]
    assert "'z' unknown in training" in notes[0]
    del new["age"]
    with pytest.raises(ValueError, match="lacks 1 of the 10 features used in training, first 'age'"):
        encode(new, like=names)


@pytest.mark.parametrize(
    ("like", "sentence"),
    [
        (("cat#999999999",), "^nodes, column 'cat': 'cat#999999999' of the model is no hashed text that a table gave; fit it"),
        (("cat#0", "cat#2"), "'cat#0' of the model is no hashed text"),
        (("cat#x",), "'cat#x' of the model is no hashed text"),
        (("=" * 200_000,), "^nodes lacks 1 of the 1 features used in training, first '====.*; give the new nodes"),
        (("cat" + "=" * 200_000,), None),
        (("cat=" + "#=" * 100_000, "m" + "=" * 200_000), "^nodes lacks 1 of the 2 features"),
    ],
)  # fmt: skip
def test_names_that_a_file_claims_cost_no_more_than_they_are_long(like, sentence, bounded):
    """Each of them would have taken gigabytes, or for ever, to take apart."""
    table = {"cat": ["a", "b"], "n": [1, 2]}
    bounded()
    assert columns_of(like, ["cat", "x"]) == ([] if like[0][0] == "=" else ["cat"])
    if sentence is None:
        assert encode(table | {"n": ["c", "d"]}, like=like)[0].shape == (2, 1)
    else:
        with pytest.raises(ValueError, match=sentence) as raised:
            encode(table, like=like)
        assert len(str(raised.value)) < 300


def test_columns_of_very_different_size_are_named(tmp_path):
    def notes(text):
        path = tmp_path / "nodes.csv"
        path.write_text(text)
        return read_nodes(path, scale=False).notes

    assert notes("id,year,share\na,2004,0.3\nb,1999,0.5\n") == [
        f"{tmp_path / 'nodes.csv'}: values of 'year' are about 2e+03 in size, those of 'share' 0.41; the larger will rule the "
        f"embedding unless you bring them to one scale (`scale=True`)"
    ]
    assert "values of 'year' are about" in notes("id,year,kind\na,2004,x\nb,1999,y\n")[1]
    assert notes("id,year,other\na,2004,1500\nb,1999,0\n") == []
    assert notes("id,year,nothing\na,2004,0\nb,1999,0\n") == []
    assert notes("id,year\na,2004\nb,1999\n") == []


def test_columns_of_very_different_size_are_scaled_unless_told_otherwise(write):
    def read(text, **options):
        return read_nodes(write("nodes.csv", text), **options)

    far = read("id,year,share\na,2004,0.3\nb,1999,0.5\n")
    assert far.features.tolist() == [[1, -1], [-1, 1]]
    assert far.scaling.means == pytest.approx((2001.5, 0.4))
    assert far.notes == [
        f"{far.name}: columns differ in size up to 4,900 times ('year', 'share'): those of numbers were brought to mean 0 and "
        f"deviation 1; `scale=False` keeps them as they are"
    ]
    kept = read("id,year,share\na,2004,0.3\nb,1999,0.5\n", scale=False)
    assert kept.scaling is None
    assert kept.features[:, 0].tolist() == [2004, 1999]
    # Beside a category, of size 1, numbers may be too large or too small; it stays as it is.
    for values in (("2004", "1999"), ("0.002", "0.001")):
        beside = read("id,amount,kind\na,{},x\nb,{},y\n".format(*values))
        assert beside.features.tolist() == [[1, 1, 0], [-1, 0, 1]]
        assert (beside.scaling.means[1:], beside.scaling.deviations[1:]) == ((0, 0), (1, 1))
        assert "(`scale" not in " ".join(beside.notes)
        assert sum("brought to mean 0" in note for note in beside.notes) == 1
    for alike in (
        "id,year,other\na,2004,1500\nb,1999,0\n",
        "id,size,kind\na,4,x\nb,7,y\n",
        "id,year\na,2004\nb,1999\n",
    ):
        same = read(alike)
        assert same.scaling is None
        assert not any("size up to" in note or "in size" in note for note in same.notes)


def test_rare_and_frequent_words_are_of_one_size():
    n = 1000
    words = {"rare": np.arange(n) < 2, "often": np.arange(n) % 2, "kind": ["x", "y"] * (n // 2)}
    x, _, notes = encode(words, scale=None)
    assert set(x.ravel()) == {0, 1}
    assert not any("size" in note for note in notes)


def test_many_columns_of_zeros_stay_sparse_and_are_told_of():
    shares = {f"w{i}": np.eye(100)[i] * (0.01 if i else 1) for i in range(100)}
    table = pa.table(shares)
    for data in (table, table.append_column("year", pa.array([2000] * 100))):
        nodes = FrameTable(data, "nodes")
        features, _, scaling = encode_columns(nodes, data, data.column_names, scale=None)
        assert sp.issparse(features)
        assert scaling is None
        assert "will rule the embedding unless you bring them to one scale (`scale=True`)" in nodes.notes[0]


def test_vectors_are_measured_like_columns():
    rng = np.random.default_rng(0)
    even = rng.normal(size=(50, 4)) + 1
    assert not encode({"v": even.tolist()}, scale=None)[2]
    far, _, notes = encode({"v": (even * [1, 1, 500, 1]).tolist()}, scale=None)
    np.testing.assert_allclose(far.std(axis=0), 1, rtol=1e-5)
    assert "('v[2]', 'v[" in notes[0]
    # The sizes of components are meant, but a year would drown them all.
    components = (even - even.mean(axis=0)) * [100, 10, 1, 0.1]
    kept, _, notes = encode({"v": components.tolist()}, scale=None)
    np.testing.assert_allclose(kept, components, rtol=1e-6)
    assert not notes
    assert "('year', 'v')" in encode({"v": components.tolist(), "year": [2e4] * 50}, scale=None)[2][0]


def test_features_like_others_are_left_to_the_model():
    x, _, notes = encode({"year": [2004, 1999], "share": [0.3, 0.5]}, like=("share", "year"), scale=None)
    assert x[:, 1].tolist() == [2004, 1999]
    assert not notes
