"""Text tables: layouts guessed, lines found, what the parser wants."""

import pytest

from ccassg.io.files import Limits, Reading
from ccassg.io.text import TextTable, squeeze


@pytest.fixture
def table(tmp_path):
    def table(content, name="t.csv", known=("id", "source"), **limits):
        (tmp_path / name).write_bytes(content.encode())
        return TextTable(tmp_path / name, Reading(limits=Limits(**limits)), known)

    return table


@pytest.mark.parametrize(
    ("name", "content", "names"),
    [
        ("t.csv", "id, x\n1,2\n", ("id", "x")),
        ("t.csv", "1,2\n", ("column 1", "column 2")),
        ("t.csv", "a,b\n1,2\n", ("a", "b")),
        ("t.csv", "a,1.5\n", ("column 1", "column 2")),
        ("t.csv", ",x\n1,2\n", ("column 1", "x")),
        ("t.csv", "key,0,1\na,2,3\n", ("key", "0", "1")),
        ("t.csv", "a|b\n1|2\n", ("a", "b")),
        ("t.csv", '"a,b",c\n1,2\n', ("a,b", "c")),
        ("t.tsv", "a b\tc\n1\t2\n", ("a b", "c")),
        ("t.txt", "a b\n", ("column 1", "column 2")),
        ("t.txt", "source b\n1 2\n", ("source", "b")),
        ("t.txt", '"source"  "my"\n"1" "2"\n', ("source", "my")),
        ("t.txt", "1,2\n", ("column 1", "column 2")),
        ("t", "% c\n\n1 2\n", ("column 1", "column 2")),
    ],
)
def test_layouts_are_guessed(table, name, content, names):
    assert table(content, name).names == names


def test_lines_are_found_behind_blanks_comments_and_quoted_breaks(table):
    t = table('# head\n\nid,x\n"a\nb",1\n\nc,2\n')
    assert t.read(["id", "x"], as_text=["id"]).to_pydict() == {"id": ["a\nb", "c"], "x": [1, 2]}
    assert [t.place(row) for row in (0, 1, 7)] == ["line 5", "line 7", "data row 8"]
    t = table("# head\nid x\n\na 1\n# more\n c  2\n", "t.txt")
    assert t.read(["id", "x"]).to_pydict() == {"id": ["a", "c"], "x": [1, 2]}
    assert [t.place(row) for row in (0, 1)] == ["line 4", "line 6"]


def test_quotes_in_whitespace_text(table):
    t = table('"source" "x"\n"a" "1"\n"b" "2"\n', "t.txt")
    assert t.read(["source", "x"]).to_pydict() == {"source": ["a", "b"], "x": [1, 2]}
    assert table('a b\n"c d\n', "t.txt").read(["column 1"]).to_pydict() == {"column 1": ["a", '"c']}


def test_types_change_between_pieces(table):
    t = table("a 1\nb 2\nc 0.5\nd 4\n", "t.txt", piece=8)
    assert t.read(["column 2"]).to_pydict() == {"column 2": [1, 2, 0.5, 4]}
    t = table("a 1\nb 2\nc x\nd 4\n", "t.txt", piece=8)
    with pytest.raises(ValueError, match=r"t\.txt"):
        t.read(["column 2"])


def test_long_lines_and_many_columns_are_refused(table):
    with pytest.raises(ValueError, match="columns, more than 20,000"):
        table("," * 30_000)
    with pytest.raises(ValueError, match="line 1: more than 100 bytes in one line"):
        table("a" * 200, first_row=100)
    with pytest.raises(ValueError, match="a line of more than 50 bytes"):
        table("a b\n" + "c" * 300, "t.txt", first_row=100, line=50, piece=60).read(["column 1"])


def test_squeeze():
    assert squeeze(b"  a \t b  \r\n# x\n%y\n\n c d\n") == b"a b\n\nc d"
