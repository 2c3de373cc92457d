import os

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ccassg import CCASSG
from ccassg.io import results
from ccassg.io.embeddings import write_embeddings
from ccassg.io.folders import RUN, write_index
from ccassg.io.graphs import open_graph
from ccassg.io.results import EMBEDDING, NODES, find_id, read_columns, read_labelled, read_names
from ccassg.run import save_run

Z = np.arange(6, dtype=np.float32).reshape(3, 2)
IDS = np.array(["c", "a", "x"], dtype=object)


def fitted(folder, **read):
    """The folder of a run, as `ccassg fit` leaves it, of the edges beside it and a node table."""
    (folder / "edges.csv").write_text("source,target\na,b\nb,c\n")
    read = {"graph": str(folder)} | read
    data = open_graph(read["graph"], **{key: value for key, value in read.items() if key != "graph"})
    model = CCASSG(encoder="gcn", n_steps=1, hidden_dim=2, embedding_dim=2).fit(data)
    save_run(folder / "m", model, data, model.transform(data), source="mine", provenance={}, read_from=read)
    return folder / "m"


def test_names_come_from_the_table_of_the_run_or_one_that_is_named(tmp_path):
    table = tmp_path / "nodes.csv"
    table.write_text("id,p,title\na,1,Anna\nb,2,Bob\nc,3,Carla\n")
    assert read_names(tmp_path / "m", IDS) is None
    for read in ({"graph": str(tmp_path)}, {"graph": str(tmp_path / "edges.csv"), "features": str(table)}):
        run = fitted(tmp_path, **read)
        assert read_names(run, IDS) == ["Carla", "Anna", None]
    assert read_names(run, IDS, column="p") == ["3", "1", None]
    assert read_names(tmp_path / "z.csv", IDS, table) == ["Carla", "Anna", None]
    with pytest.raises(ValueError, match="no column 'q' for the names"):
        read_names(run, IDS, column="q")
    with pytest.raises(ValueError, match="does not say which table has a column 'title'"):
        read_names(tmp_path, IDS, column="title")
    table.unlink()
    assert read_names(run, IDS) is None


def test_a_table_without_ids_is_in_the_order_of_the_nodes(tmp_path):
    (tmp_path / "names.csv").write_text("words\nzero\none\ntwo\n")
    assert read_names(tmp_path, np.array([2, 0]), tmp_path / "names.csv") == ["two", "zero"]


def test_columns_are_numbers_or_groups_in_the_order_of_the_ids(tmp_path):
    texts = {"city": ["x", "x", None, "y"], "note": ["p", "q", "r", "s"], "void": [None] * 4}
    columns = {"key": ["c", "a", "b", "d"], "age": [3, 1, None, 4], "old": [True, False, True, True], **texts}
    table = pa.table({**columns, "data": [b"t"] * 4, "void": pa.nulls(4), "label": ["u", "v", "u", "v"]})
    pq.write_table(table, tmp_path / "nodes.parquet")
    run = fitted(tmp_path, id_column="key", feature_columns=["age"])
    ids = np.array(["d", "c", "a", "b", "x"], dtype=object)
    found, (note,) = read_columns(run, ids, 10)
    np.testing.assert_array_equal(found.pop("age"), [4, 3, 1, np.nan, np.nan])
    assert found == {"old": ["true", "true", "false", "true", None], "city": ["y", "x", "x", None, None]}
    assert note.endswith("nodes.parquet: these columns colour no map: 'note', 'void', 'data'")
    found, (note,) = read_columns(run, IDS, 1)
    assert list(found) == ["age"]
    pq.write_table(table.append_column("tags", pa.array([["t"]] * 4)), tmp_path / "nodes.parquet")
    assert "column 'tags': list<element: string> cannot be" in read_columns(run, IDS, 10)[1][0]
    (tmp_path / "nodes.parquet").unlink()
    assert read_columns(run, IDS, 10) == ({}, [])


def test_texts_are_groups_up_to_a_number(tmp_path, monkeypatch):
    rows = "".join(f"{name},{i % 4},{'pqrs'[i % 4]}\n" for i, name in enumerate("abcdefgh"))
    (tmp_path / "nodes.csv").write_text("id,number,text\n" + rows)
    run, ids = fitted(tmp_path), np.array(list("abcdefgh"), dtype=object)
    assert list(read_columns(run, ids, 10)[0]) == ["number", "text"]
    monkeypatch.setattr(results, "MAX_TEXTS", 3)
    assert list(read_columns(run, ids, 10)[0]) == ["number"]


@pytest.fixture
def folder(tmp_path):
    write_embeddings(tmp_path / EMBEDDING, Z, ["a", "b", "c"])
    pq.write_table(pa.table({"id": ["a", "b", "c"], "label": ["x", None, "w"]}), tmp_path / NODES)
    write_index(tmp_path, RUN, {})
    return tmp_path


def test_a_folder_has_its_own_labels(folder):
    z, ids, y, names, _ = read_labelled(folder)
    assert (z == Z).all()
    assert ids.tolist() == ["a", "b", "c"]
    assert [None if c < 0 else names[c] for c in y] == ["x", None, "w"]
    assert read_labelled(folder / EMBEDDING)[2:4] == (None, None)
    pq.write_table(pa.table({"id": ["a", "b", "c"]}), folder / NODES)
    with pytest.raises(ValueError, match=r"nodes\.parquet is missing, or not as this run wrote it"):
        read_labelled(folder)
    write_index(folder, RUN, {})
    assert read_labelled(folder)[2:4] == (None, None)


def test_a_file_of_labels_goes_first(folder, write):
    *_, y, names, n_unknown = read_labelled(
        folder, write("y.csv", "key,kind\nc,q\nz,r\na,p\n"), id_column="key", label_column="kind"
    )
    assert [None if c < 0 else names[c] for c in y] == ["p", None, "q"]
    assert n_unknown == 1
    with pytest.raises(ValueError, match=r"y\.csv labels no node of .*: it names 'x', .* 'a'"):
        read_labelled(folder, write("y.csv", "id,label\nx,1\ny,2\n"), id_column="id", label_column="label")
    with pytest.raises(ValueError, match=r"2 labels without ids, but .* has 3 nodes"):
        read_labelled(folder, write("y.txt", "1\n2\n"))
    with pytest.raises(ValueError, match="there is no such file or folder"):
        read_labelled(folder / "nothing")


def test_a_pipe_in_a_folder_is_refused_at_once(folder, bounded):
    for name in (NODES, EMBEDDING):
        (folder / name).unlink()
        os.mkfifo(folder / name)
        bounded()
        with pytest.raises(ValueError, match=f"{name} is (not a regular file|missing, or not as this run wrote it)"):
            read_labelled(folder)


def test_a_node_is_found_by_its_id_as_text():
    assert find_id(np.array([30, 20, 10]), "20") == 1
    with pytest.raises(ValueError, match="there is no node '5'; ids look like 30, 20, 10"):
        find_id(np.array([30, 20, 10]), "5")
