"""Text tables: layouts guessed, lines found, what the parser wants."""

import contextlib
import csv
import gzip
import io

import pytest

from ccassg.io.files import Limits, within
from ccassg.io.tables import READING
from ccassg.io.text import TextTable


@pytest.fixture
def table(tmp_path):
    with contextlib.ExitStack() as stack:

        def table(content, name="t.csv", known=("id", "source"), **limits):
            (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
            stack.enter_context(within(Limits(**limits)))
            return TextTable(tmp_path / name, READING, known)

        yield table


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
    assert [t.place(row) for row in (0, 1, 7)] == ["line 4", "line 7", "data row 8"]
    assert [t.place(0, name) for name in ("id", "x")] == ["line 4", "line 5"]
    t = table("# head\nid x\n\na 1\n# more\n c  2\n", "t.txt")
    assert t.read(["id", "x"]).to_pydict() == {"id": ["a", "c"], "x": [1, 2]}
    assert [t.place(row) for row in (0, 1)] == ["line 4", "line 6"]


def test_quotes_in_whitespace_text(table):
    t = table('"source" "x"\n"a" "1"\n"b" "2"\n', "t.txt")
    assert t.read(["source", "x"]).to_pydict() == {"source": ["a", "b"], "x": [1, 2]}
    assert table('a b\n"c d\n', "t.txt").read(["column 1"]).to_pydict() == {"column 1": ["a", '"c']}


ROWS = [f"{i},{i + 1}" for i in range(1000)]


@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("t.csv", "\n".join(["source,target", *ROWS[:499], '499,"500', *ROWS[500:]]), 501),
        ("t.csv", "\n".join([*ROWS[:500], '"500,501', *ROWS[501:]]), 501),
        ("t.csv", '# it"s\n\nid,x\r\n1,"a\r\nb"\r\n"2"c,3"\r\n4,"d', 7),
        ("t.csv", 'id,x\r1,2\r2,"3\r4,5\r', 3),
        ("t.csv", 'id,x\n"a ""b""",1\n"c"",2\n', 3),
        ("t.csv", 'id,"x\n1,2\n', 1),
        ("t.tsv", 'id\tx\n1\t2\n3\t"4\n', 3),
        ("t.csv.gz", gzip.compress(b'id,x\n1,2\n3,"4\n', mtime=0), 3),
        ("t.txt", '"id" "x"\n# "\n"1" "2"\n\n"3" "4\n"5" "6"\n', 5),
    ],
)
def test_a_quote_that_never_closes_is_refused_where_it_opens(table, name, content, line):
    with pytest.raises(ValueError, match=rf"{name}, line {line}: a quote opens here and never closes"):
        table(content, name).read([])


@pytest.mark.parametrize(
    "content",
    [
        'id,x\n5",a"b\n"1""","2\n3"\n',
        '\ufeffid,x\n"a"b,"c"d"e\n',
        '# a "quote\nid,x\n"",""""\n',
        'id;x\n"1,";2\n,";3\n',
    ],
)
def test_quotes_that_are_text_or_closed_stay(table, content):
    t = table(content)
    expected = list(csv.reader(io.StringIO(content.lstrip("\ufeff"), newline=""), delimiter=t.delimiter))
    assert [list(row.values()) for row in t.read(t.names, as_text=t.names).to_pylist()] == [
        row for row in expected if len(row) == 2 and row[0] != "id"
    ]


def test_rows_are_counted_before_they_are_parsed(table):
    rows = b"1 2\n" * 100_000
    for name in ("t.txt.gz", "t.txt"):
        content = gzip.compress(b"source v\n" + rows) if name.endswith("gz") else b"source v\n" + rows
        t = table(content, name, growth=3, growth_floor=1_000_000)
        with pytest.raises(ValueError, match=r"grows beyond .* when parsed"):
            t.read(t.names)
        assert t.read(t.names[:1]).num_rows == 100_000
    content = gzip.compress(b"u,v\n" + rows.replace(b" ", b","))
    with pytest.raises(ValueError, match=r"grows beyond .* when parsed"):
        table(content, "t.csv.gz", growth=3, growth_floor=1_000_000).read(["u", "v"])


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
