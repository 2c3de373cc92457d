import json

import numpy as np
import pytest

from ccassg.io.names import read_names

IDS = np.array(["c", "a", "x"], dtype=object)


def test_names_come_from_the_table_of_the_run_or_one_that_is_named(tmp_path):
    table = tmp_path / "nodes.csv"
    table.write_text("id,p,title\na,1,Anna\nb,2,Bob\nc,3,Carla\n")
    run = tmp_path / "m"
    run.mkdir()
    assert read_names(run, IDS) is None
    for read in ({"graph": str(tmp_path)}, {"graph": "edges.csv", "features": str(table)}):
        (run / "run.json").write_text(json.dumps({"read_from": read}))
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
