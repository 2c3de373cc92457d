"""GML: what NetworkX and Newman's collection write, and what nobody should."""

import gzip

import networkx as nx
import pytest

from ccassg.io.files import Limits, within
from ccassg.io.gml import read_gml
from ccassg.io.graphs import read_graph

NEWMAN = """Creator "Mark Newman on Tue"
# a comment with a " in it
graph
[
  directed 0
  node
  [ id 0 label "1000 Years of Revenge" value "n" note "over
two lines" graphics [ x 1 y 2 ] ]
  node [ value "c" label "B &#38; W" id 1 ]
  edge [ source 0 target 1 ]
  edge [ source 0 target 1 ]
]
"""


@pytest.mark.parametrize("name", ["k.gml", "k.gml.gz"])
def test_networkx_files_round_trip(tmp_path, name):
    club = nx.karate_club_graph()
    nx.set_node_attributes(club, {node: node / 2 for node in club}, "half")
    nx.write_gml(nx.relabel_nodes(club, {node: f"member {node}" for node in club}), tmp_path / name)
    loaded = read_graph(tmp_path / name, label_column="club")
    assert (loaded.graph.adjacency() != nx.to_scipy_sparse_array(club, dtype="float32")).nnz == 0
    assert loaded.graph.features.ravel().tolist() == [node / 2 for node in club]
    assert loaded.ids[:2].tolist() == ["member 0", "member 1"]
    assert loaded.class_names == ("Mr. Hi", "Officer")


def test_repeated_edges_comments_lists_and_strings_over_lines(write):
    loaded = read_graph(write("p.gml", NEWMAN), label_column="value")
    assert loaded.ids.tolist() == ["1000 Years of Revenge", "B & W"]
    assert loaded.class_names == ("c", "n")
    assert any("repeated edge" in note for note in loaded.notes)
    twice = read_graph(write("t.gml", NEWMAN.replace("B &#38; W", "1000 Years of Revenge")), label_column="value")
    assert twice.graph.node_ids.tolist() == [0, 1], "names that do not tell nodes apart are none"
    directed = write("d.gml", NEWMAN.replace("directed 0", "directed 1"))
    assert read_graph(directed, directed=True).graph.n_edges == 1


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("graph [ node [ id 0 ]\n edge [ source 0 ] ]", "line 2: a edge without 'target'"),
        ("graph [ node [ label 0 ] ]", "line 1: a node without 'id'"),
        ("graph [ node [ id 0 ]\n", "line 1: the file ends before its lists do"),
        ("graph ]", r"line 1: a '\]' where there should be none"),
        ("[ ]", r"line 1: a '\[' where"),
        ('graph [\n node [ id 0 label "a ]\n', "line 2: a quote opens here or before and never closes"),
        ("graph [ " + "a [ " * 100, "nested more than 64 deep"),
        ("graph [ node [ id 0 ] ]", "has no edges"),
        ("graph [ node [ id 0 ] edge [ source 0 target 1 ] ]", "lacks 1 of the 2 nodes"),
        ("graph [ node [ id 0 ] node [ id 0 ] edge [ source 0 target 0 ] ]", "the id 0 was there before"),
        ("graph [ node [ id 0 ] edge [ source 0 target 0 weight x ] ]", "is not of its type double"),
        ("hello there", "has no edges"),
    ],
)
def test_bad_files_get_their_sentence(write, content, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(write("g.gml", content))
    assert "g.gml" in str(caught.value)


@pytest.mark.parametrize(
    "content",
    [
        "node [ id 1 ]\n" * 5000,
        "edge [ source 0 target 1 ]\n" * 3000,
        f'node [ id 0 label "{"x" * 50_000}" ] node [ id 1 label "b" ] {"edge [ source 0 target 1 ] " * 20} ]',
    ],
)
def test_what_is_collected_stays_within_the_budget(write, content):
    packed = write("x.gml.gz", gzip.compress(f"graph [ {content}".encode()))
    tight = within(Limits(growth=1, growth_floor=400_000))
    with tight, pytest.raises(ValueError, match=r"gz grows beyond 400,000 bytes when read"):
        read_gml(packed)


def test_a_string_is_no_longer_than_a_line(write):
    with within(Limits(line=1000)), pytest.raises(ValueError, match="never closes"):
        read_gml(write("x.gml", 'graph [ label "' + "\n" * 2000 + '" ]'))
