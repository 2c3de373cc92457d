import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg.io.embeddings import write_embeddings
from ccassg.io.labelled import EMBEDDING, NODES, find_id, read_labelled

Z = np.arange(6, dtype=np.float32).reshape(3, 2)


@pytest.fixture
def folder(tmp_path):
    write_embeddings(tmp_path / EMBEDDING, Z, ["a", "b", "c"])
    pq.write_table(pa.table({"id": ["a", "b", "c"], "label": ["x", None, "w"]}), tmp_path / NODES)
    return tmp_path


def test_a_folder_has_its_own_labels(folder):
    z, ids, y, names = read_labelled(folder)
    assert (z == Z).all()
    assert ids.tolist() == ["a", "b", "c"]
    assert [None if c < 0 else names[c] for c in y] == ["x", None, "w"]
    assert read_labelled(folder / EMBEDDING)[2:] == (None, None)
    pq.write_table(pa.table({"id": ["a", "b", "c"]}), folder / NODES)
    assert read_labelled(folder)[2:] == (None, None)


def test_a_file_of_labels_goes_first(folder, write):
    *_, y, names = read_labelled(
        folder, write("y.csv", "key,kind\nc,q\nz,r\na,p\n"), id_column="key", label_column="kind"
    )
    assert [None if c < 0 else names[c] for c in y] == ["p", None, "q"]
    with pytest.raises(ValueError, match="names none of the nodes"):
        read_labelled(folder, write("y.csv", "id,label\nx,1\ny,2\n"), id_column="id", label_column="label")
    with pytest.raises(ValueError, match=r"2 labels without ids, but .* has 3 nodes"):
        read_labelled(folder, write("y.txt", "1\n2\n"))
    with pytest.raises(ValueError, match="there is no such file or folder"):
        read_labelled(folder / "nothing")


def test_a_node_is_found_by_its_id_as_text():
    assert find_id(np.array([30, 20, 10]), "20") == 1
    with pytest.raises(ValueError, match="there is no node '5'; ids look like 30, 20, 10"):
        find_id(np.array([30, 20, 10]), "5")
