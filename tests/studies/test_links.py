"""Missing edges: what a run measures, and the tables of it."""

from ccassg import CCASSG
from ccassg.datasets import stochastic_block_graph
from ccassg.evaluate import links
from ccassg.experiments import Records
from studies.links import STUDY, score_links


def test_a_run_scores_as_the_package_does():
    data = stochastic_block_graph(150, 3, 8.0, 0.9, n_features=12, seed=0)
    found = score_links({"seed": 1, "strengths": [1e-4, 1.0]}, data)
    assert found["links"] == links.link_scores(CCASSG(random_state=1), data.graph, seed=1)
    assert found["strengths"]["0.0001"]["test"] == found["links"]["embedding"]["auc"]
    assert found["strengths"]["1"] != found["strengths"]["0.0001"]


def test_drawn_beside_what_was_published(tmp_path, fake):
    records, plan = Records(tmp_path), STUDY.plan(datasets=["cora"], n_seeds=2)
    names = ("embedding", "cosine", "common neighbours", "Adamic-Adar", "cosine of A^k X")
    for seed, run in enumerate(STUDY.runs(plan)):
        scores = {
            name: {"auc": 0.9 + 0.02 * seed, "average_precision": 0.8, "hits@50": None, "k": seed} for name in names
        }
        strengths = {f"{s:g}": {"val": 0.7, "test": 0.6} for s in run["strengths"]}
        records.add(fake(run) | {"result": {"links": scores, "strengths": strengths}})
    drawn = STUDY.draw(STUDY.found(records, plan), plan, tmp_path)
    assert drawn.tables["AUC"][0] == {"scored by": "embedding", "Cora": "91.0 ± 1.4"}
    assert drawn.tables["AUC"][-1] == {"scored by": "Bandana, as published", "Cora": "95.7"}
    assert drawn.tables["strength"][0] == {"strength": "1e-06", "Cora, val": "70.0 ± 0.0", "Cora, test": "60.0 ± 0.0"}
    assert "k, chosen on the 5 %, was 0 or 1 on Cora" in drawn.notes
    assert STUDY.draw({}, plan, tmp_path) is None
