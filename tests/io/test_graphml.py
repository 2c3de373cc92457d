"""GraphML: what NetworkX writes, and what nobody should."""

import gzip

import networkx as nx
import pytest

from ccassg.io.files import Limits, within
from ccassg.io.graphml import read_graphml
from ccassg.io.graphs import read_graph


def test_networkx_files_round_trip(tmp_path):
    club = nx.karate_club_graph()
    nx.set_node_attributes(club, {node: node / 2 for node in club}, "half")
    for name in ("k.graphml", "k.graphml.gz"):
        nx.write_graphml(club, tmp_path / name)
        loaded = read_graph(tmp_path / name, label_column="club")
        assert (loaded.graph.adjacency() != nx.to_scipy_sparse_array(club, dtype="float32")).nnz == 0
        assert loaded.graph.features.ravel().tolist() == [node / 2 for node in club]
        assert loaded.class_names == ("Mr. Hi", "Officer")
    nx.write_graphml(nx.DiGraph([("ä", "b"), ("b", '<c&">')]), tmp_path / "d.graphml")
    directed = read_graph(tmp_path / "d.graphml", directed=True).graph
    assert directed.node_ids.tolist() == ["ä", "b", '<c&">']
    assert directed.n_edges == 2
    assert any("is directed" in note for note in read_graph(tmp_path / "d.graphml").notes)


def test_defaults_and_isolated_nodes(tmp_path):
    body = """<key id="k" for="node" attr.name="age" attr.type="int"><default>7</default></key>
    <graph edgedefault="undirected"><node id="a"><data key="k">1</data></node><node id="b"/><node id="c"/>
    <edge source="a" target="b"/></graph>"""
    loaded = read_graph(graphml(tmp_path, body))
    assert loaded.graph.features.tolist() == [[1], [7], [7]]
    assert loaded.graph.n_isolated == 1


@pytest.mark.parametrize(
    "body",
    [
        f"""<key id="k" for="node" attr.name="x" attr.type="string"><default>{"x" * 1000}</default></key>
        <graph><node id="a"><data key="k">y</data></node>{"".join(f"<node id='{i}'/>" for i in range(1000))}EDGE</graph>""",
        f"<graph>{'<node id=_a_/>' * 5000}EDGE</graph>".replace("_", "'"),
        f"<graph>{'EDGE' * 3000}</graph>",
        f"<graph><node id='{'a' * 200_000}'/>EDGE</graph>",
    ],
)
def test_what_is_collected_stays_within_the_budget(tmp_path, body):
    tight = within(Limits(growth=1, growth_floor=400_000, line=100_000))
    packed = tmp_path / "x.graphml.gz"
    packed.write_bytes(gzip.compress(graphml(tmp_path, body.replace("EDGE", EDGE)).read_bytes()))
    with (
        tight,
        pytest.raises(ValueError, match=r"gz grows beyond 400,000 bytes when read|a tag of more than 100,000 bytes"),
    ):
        read_graphml(packed)


def graphml(folder, body, head=""):
    path = folder / "x.graphml"
    path.write_text(f'<?xml version="1.0"?>\n{head}<graphml>{body}</graphml>', encoding="utf-8")
    return path


EDGE = '<edge source="a" target="b"/>'
KEY = '<key id="w" for="edge" attr.name="weight" attr.type="double"/>'


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("", "no <graph>"),
        ("<graph></graph>", "no edges"),
        (f"<graph>{EDGE}</graph><graph></graph>", "line 2: a second graph"),
        ('<graph><edge source="a"/></graph>', "line 2: a <edge> without 'target'"),
        (f"<graph><hyperedge/>{EDGE}</graph>", "hyperedges"),
        ("<graph><edge", "not well-formed XML"),
        (f'<graph><node id="a"/>{EDGE}</graph>', "lacks 1 of the 2 nodes"),
        (f'<graph><node id="a"/><node id="a"/><node id="b"/>{EDGE}</graph>', "'a' was there before"),
        (f"{KEY}<graph>{EDGE[:-2]}><data key='w'>x</data></edge></graph>", "'x' is not of its type double"),
        (f"{KEY}<graph>{EDGE[:-2]}><data key='w'>-1</data></edge></graph>", "-1 cannot be a weight"),
        (f"{KEY}<graph>{EDGE[:-2]}><data key='w'>nan</data></edge></graph>", "not a finite number"),
        (f"{KEY}<graph>{EDGE[:-2]}><data key='w'>1</data></edge>{EDGE}</graph>", "not every edge"),
        ("<a>" * 100, "nested more than"),
        (f"<graph>&bomb;{EDGE}</graph>", "not well-formed XML"),
    ],
)
def test_bad_files_get_their_sentence(tmp_path, body, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        read_graph(graphml(tmp_path, body))
    assert "x.graphml" in str(caught.value)


def test_entities_are_refused(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("secret")
    for declaration in ('<!ENTITY e "boom">', f'<!ENTITY e SYSTEM "file://{secret}">'):
        path = graphml(tmp_path, '<graph><node id="&e;"/></graph>', f"<!DOCTYPE g [{declaration}]>\n")
        with pytest.raises(ValueError, match="line 2: a document type"):
            read_graphml(path)
    (tmp_path / "t.graphml").write_text("a,b\n")
    with pytest.raises(ValueError, match="its content is text"):
        read_graphml(tmp_path / "t.graphml")


@pytest.mark.parametrize("version", ["1.1draft", "1.2draft"])
def test_gexf_of_networkx_round_trips(tmp_path, version):
    club = nx.karate_club_graph()
    nx.set_node_attributes(club, {node: node / 2 for node in club}, "half")
    nx.set_edge_attributes(club, "friend", "kind")
    nx.write_gexf(club, tmp_path / "k.gexf", version=version)
    loaded = read_graph(tmp_path / "k.gexf", label_column="club")
    assert (loaded.graph.adjacency() != nx.to_scipy_sparse_array(club, dtype="float32")).nnz == 0
    assert loaded.graph.features.ravel().tolist() == [node / 2 for node in club]
    assert loaded.class_names == ("Mr. Hi", "Officer")


def test_gexf_of_gephi(write):
    """Labels beside ids, defaults, attributes of nodes and edges under one number, weights of 1 left out, colours."""
    path = write(
        "g.gexf",
        """<gexf xmlns="http://gexf.net/1.3" xmlns:viz="http://gexf.net/1.3/viz"><graph defaultedgetype="directed">
        <attributes class="node"><attribute id="0" title="age" type="integer"><default>7</default></attribute></attributes>
        <attributes class="edge"><attribute id="0" title="kind" type="string"/></attributes>
        <nodes><node id="a" label="Ann"><attvalues><attvalue for="0" value="1"/></attvalues><viz:color r="1"/></node>
        <node id="b" label="Bob"/></nodes>
        <edges><edge id="0" source="a" target="b" weight="2.5"><attvalues><attvalue for="0" value="x"/></attvalues></edge>
        <edge id="1" source="b" target="a"/></edges></graph></gexf>""",
    )
    loaded = read_graph(path, directed=True, feature_columns=["age"])
    assert loaded.ids.tolist() == ["a", "b"]
    assert loaded.graph.features.tolist() == [[1], [7]]
    assert loaded.graph.adjacency().toarray().tolist() == [[0, 2.5], [1, 0]]
    assert any("is directed" in note for note in read_graph(path).notes)
    with pytest.raises(ValueError, match=r"g\.gexf, line 1: a document type"):
        read_graph(write("g.gexf", "<?xml version='1.0'?><!DOCTYPE gexf><gexf><graph></graph></gexf>"))
    with pytest.raises(ValueError, match=r"g\.gexf has no <graph>; is it GEXF\?"):
        read_graph(write("g.gexf", "<gexf></gexf>"))
