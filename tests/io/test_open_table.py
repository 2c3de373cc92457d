"""Tables of every kind behind one interface."""

import pandas as pd
import pytest

from ccassg.io.open_table import open_table


def test_kinds_of_tables(tmp_path):
    data = pd.DataFrame({"id": ["a", "b"], "x": [1, 2]})
    data.to_csv(tmp_path / "t.csv", index=False)
    data.to_parquet(tmp_path / "t.parquet")
    for source in (tmp_path / "t.csv", str(tmp_path / "t.parquet"), data):
        table = open_table(source)
        assert table.names == ("id", "x")
        assert table.read(["x", "id"]).to_pydict() == {"x": [1, 2], "id": ["a", "b"]}
    assert open_table(tmp_path / "t.csv").place(1) == "line 3"
    assert open_table(tmp_path / "t.parquet").place(1) == "row 2"
    assert open_table(data).place(1) == "row 1 (counted from 0)"


def test_other_suffixes_are_refused(tmp_path):
    (tmp_path / "t.docx").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"no reader for the suffix '\.docx'; tables are \.csv, \.tsv"):
        open_table(tmp_path / "t.docx")
