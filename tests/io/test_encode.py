"""Columns to features: numbers, categories, text, lists, and the same columns again for new nodes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfVectorizer

from ccassg.graph import FeatureSpace
from ccassg.io.encode import columns_of, encode_columns
from ccassg.io.features import read_nodes
from ccassg.io.tables import FrameTable


def encode(columns, **options):
    data = columns if isinstance(columns, pa.Table) else pa.table(columns)
    table = FrameTable(data, "nodes")
    features, names, *_ = encode_columns(table, table.columns(table.names), table.names, **options)
    return (features.toarray() if sp.issparse(features) else features), names, table.notes


def space(data, **options):
    """Return what a model that was trained on a table knows of its features."""
    table = FrameTable(data, "nodes")
    features, names, scaling, idf, _ = encode_columns(table, table.columns(table.names), table.names, **options)
    return FeatureSpace(features.shape[1], names, scaling, idf=idf)


def test_numbers_stay_and_categories_become_one_hot():
    x, names, notes = encode({"age": [1.5, 2, 3], "venue": ["b", "a", "b"], "old": [True, False, True], "n": [1, 2, 3]})
    assert names == ("age", "venue=a", "venue=b", "old", "n")
    assert x.dtype == np.float32
    assert x.tolist() == [[1.5, 0, 1, 1, 1], [2, 1, 0, 0, 2], [3, 0, 1, 1, 3]]
    assert notes == []


def test_missing_category_is_no_category():
    x, names, notes = encode({"k": ["a", None, ""]})
    assert names == ("k=a",)
    assert x.tolist() == [[1], [0], [0]]
    assert "2 nodes without a value" in notes[0]


def test_text_becomes_tf_idf_of_its_words():
    rng = np.random.default_rng(0)
    animals = ["red fox", "blue whale", "grey wolf", "old red fox"]
    texts = [f"the {animals[i % 4]} number {rng.integers(10**9)} of a long enumeration" for i in range(30)]
    data = pa.table({"abstract": texts, "age": np.arange(30) % 7 / 7})
    table = FrameTable(data, "nodes")
    x, names, _, idf, described = encode_columns(table, table.columns(table.names), table.names)
    expected = TfidfVectorizer(ngram_range=(1, 2), min_df=2)
    np.testing.assert_allclose(
        x.toarray()[:, :-1] if sp.issparse(x) else x[:, :-1], expected.fit_transform(texts).toarray(), rtol=1e-6
    )
    assert names[:-1] == tuple(f"abstract#{word}" for word in expected.get_feature_names_out())
    assert {"abstract#fox", "abstract#red fox"} < set(names)
    np.testing.assert_allclose(idf, [*expected.idf_, 0], rtol=1e-6)
    assert described == [f"'abstract' ({len(names) - 1} words and pairs of words, as tf-idf)", "'age'"]
    # New text is weighed as that of training was, whatever else stands there.
    known = space(data)
    new = pa.table({"age": [0.5, 0.25], "abstract": ["a fox, a fox, and a cat", None]})
    x_new, _, _ = encode(new, like=known)
    assert set(np.array(names)[x_new[0] > 0]) == {"abstract#fox", "age"}
    assert x_new[:, -1].tolist() == [0.5, 0.25]
    assert x_new[1, :-1].sum() == 0
    assert encode(new, like=FeatureSpace(known.n_features, names, idf=idf))[0].tolist() == x_new.tolist()


def test_columns_of_text_share_the_room_there_is(monkeypatch):
    monkeypatch.setattr("ccassg.io.encode.MAX_WORDS", 10)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    rng = np.random.default_rng(0)
    texts = {
        f"t{k}": [" ".join(a + b for a, b in rng.choice(letters[:6], (9, 2))) for _ in range(99)] for k in range(8)
    }
    names = encode(texts)[1]
    assert len(names) == 40
    assert sum(name.startswith("t0#") for name in names) == 5


def test_left_out_columns_can_be_kept():
    days = pd.date_range("2020-01-01", periods=40)
    frame = {
        "born": days,
        "n": np.arange(40),
        "same": [1] * 40,
        "seen": days.strftime("%Y-%m-%d"),
        "code": [f"k{i}" for i in range(40)],
    }
    data = pa.table({name: pa.array(values) for name, values in frame.items()})
    x, names, notes = encode(data, keep=["born", "n", "same", "seen"])
    assert names == ("born", "n", "same", "seen")
    assert x[1].tolist() == [18263, 1, 1, 18263]
    assert notes[0] == "nodes: left out 'code' (names or codes such as 'k0'); `keep` takes a column all the same"
    known = space(data, keep=["born", "n", "same", "seen"])
    assert encode(data.slice(1, 1), like=known)[0].tolist() == [[18263, 1, 1, 18263]]
    with pytest.raises(ValueError, match=r"column 'at', row 0 .*: '12/31/2020' where a feature must be a number"):
        encode({"at": ["12/31/2020", "1/2/2020"]}, keep=["at"])
    assert encode({"c": [1] * 20})[:2] == (None, None)


def test_amounts_are_numbers():
    x, names, _ = encode({"a": ["$1,200.50", "$7", "$12"], "b": ["10%", "20 %", "5%"], "c": ["1,000", "-3", "2"]})
    assert names == ("a", "b", "c")
    assert x.tolist() == [[1200.5, 10, 1000], [7, 20, -3], [12, 5, 2]]


def test_missing_numbers_become_the_mean():
    data = pa.table(
        {"age": [1.0, None, 3.0, float("nan")], "rank": ["1", "?", "5", "6"], "on": [True, None, False, True]}
    )
    x, _, notes = encode(data, scale=None)
    root = 2**0.5
    np.testing.assert_allclose(x[:, 0], [-root, 0, root, 0], rtol=1e-6)
    np.testing.assert_allclose(x[1], 0, atol=1e-6)
    assert notes == [
        "nodes: took the mean where a number is missing: 'age' (2), 'rank' (1), 'on' (1)",
        "nodes: brought columns of numbers to mean 0 and deviation 1, so that the mean is 0",
    ]
    # That of training, for new nodes: it becomes 0 there when the model brings it to its scale.
    known = space(data, scale=None)
    new = pa.table({"age": [None, 9.0], "rank": [5, 5], "on": [True, True]})
    assert encode(new, like=known)[0].tolist() == [[2, 5, 1], [9, 5, 1]]
    for options in ({"scale": False}, {"like": FeatureSpace(3, ("age", "rank", "on"))}):
        with pytest.raises(
            ValueError, match=r"column 'age', row 0 .*no value \(empty or NaN\), and the mean stands for it only"
        ):
            encode(new, **options)


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
    nodes = FrameTable(table, "nodes")
    features, *_ = encode_columns(nodes, nodes.columns(nodes.names), nodes.names)
    assert sp.issparse(features)
    assert (features.toarray() == np.eye(100)).all()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        (["1", "2", "x", "4"], "row 2 .*'x' among numbers"),
        ([1.0, None], "row 1 .*no value"),
        ([1.0, float("nan")], "row 1 .*no value"),
        ([1.0, float("inf")], "row 1 .*inf is not a finite"),
        ([1.0, 1e300], "row 1 .*beyond 3e38"),
        ([None, None], "row 0 .*no value"),
        (pd.to_timedelta([1, 2]), "neither number, date nor category"),
        ([b"\xff", b"a"], "must be numbers"),
        ([{"a": 1}, {"a": 2}], "must be numbers"),
        ([[["a"]], [["b"]]], "must hold numbers"),
    ],
)
def test_bad_columns_get_their_sentence(values, sentence):
    with pytest.raises(ValueError, match=rf"nodes, column 'c'.*{sentence}"):
        encode({"c": values}, keep=["c"])


def test_new_nodes_get_the_same_columns():
    old = pa.table(
        {"age": [1.0, 2, 3], "k": ["a", "b", "c"], "t": ["red fox", "red fox", "x " * 50], "v": [[1.0, 2]] * 3}
    )
    x, names, _ = encode(old)
    known = space(old)
    assert names == ("age", "k=a", "k=b", "k=c", "t#fox", "t#red", "t#red fox", "v[0]", "v[1]")
    new = {"v": [[5.0, 6]], "k": ["b"], "t": ["red fox"], "age": [9.0]}
    x_new, names_new, _ = encode(new, like=known)
    assert names_new == names
    assert x_new[0, :4].tolist() == [9, 0, 1, 0]
    assert (x_new[0, 4:7] == x[0, 4:7]).all()
    assert x_new[0, 7:].tolist() == [5, 6]
    x_new, _, notes = encode({**new, "k": ["z"]}, like=known)
    assert x_new[0, 1:4].tolist() == [0, 0, 0]
    assert "'z' unknown in training" in notes[0]
    del new["age"]
    with pytest.raises(ValueError, match="lacks 1 of the 9 features used in training, first 'age'"):
        encode(new, like=known)


@pytest.mark.parametrize(
    ("like", "sentence"),
    [
        (("cat#999999999",), "^nodes lacks 1 of the 1 features used in training, first 'cat#999999999'; give the new nodes"),
        (("cat#" + "a " * 100_000, "cat#b"), "^nodes lacks 2 of the 2 features"),
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
        assert encode(table | {"n": ["c", "d"]}, like=FeatureSpace(len(like), like))[0].shape == (2, 1)
    else:
        with pytest.raises(ValueError, match=sentence) as raised:
            encode(table, like=FeatureSpace(len(like), like))
        assert len(str(raised.value)) < 300


def test_columns_of_very_different_size_are_named(tmp_path):
    def notes(text):
        path = tmp_path / "nodes.csv"
        path.write_text(text)
        return read_nodes(path, scale=False, keep=["year"]).notes

    assert notes("id,year,share\na,2004,0.3\nb,1999,0.5\n")[1:] == [
        f"{tmp_path / 'nodes.csv'}: values of 'year' are about 2e+03 in size, those of 'share' 0.41; the larger will rule the "
        f"embedding unless you bring them to one scale (`scale=True`)"
    ]
    assert "values of 'year' are about" in notes("id,year,kind\na,2004,x\nb,1999,y\n")[1]
    assert notes("id,year,other\na,2004,1500\nb,1999,0\n")[1:] == []
    assert notes("id,year,nothing\na,2004,0\nb,1999,0\n")[1:] == []
    assert notes("id,year\na,2004\nb,1999\n")[1:] == []


def test_columns_of_very_different_size_are_scaled_unless_told_otherwise(write):
    def read(text, **options):
        return read_nodes(write("nodes.csv", text), **options)

    far = read("id,year,share\na,2004,0.3\nb,1999,0.5\n")
    assert far.features.tolist() == [[1, -1], [-1, 1]]
    assert far.scaling.means == pytest.approx((2001.5, 0.4))
    assert far.notes[1:] == [
        f"{far.name}: columns differ in size up to 4,900 times ('year', 'share'): those of numbers were brought to mean 0 and "
        f"deviation 1; `scale=False` keeps them as they are"
    ]
    asked = read("id,year,share\na,2004,0.3\nb,1999,0.5\n", scale=True)
    assert asked.notes == far.notes
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
    for data in (table, table.append_column("year", pa.array([2000, 2001] * 50))):
        nodes = FrameTable(data, "nodes")
        features, _, scaling, *_ = encode_columns(nodes, nodes.columns(nodes.names), nodes.names, scale=None)
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
    assert "('year', 'v')" in encode({"v": components.tolist(), "year": [2e4, 3e4] * 25}, scale=None)[2][0]


def test_features_like_others_are_left_to_the_model():
    x, _, notes = encode(
        {"year": [2004, 1999], "share": [0.3, 0.5]}, like=FeatureSpace(2, ("share", "year")), scale=None
    )
    assert x[:, 1].tolist() == [2004, 1999]
    assert not notes
